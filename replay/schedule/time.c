/* SPDX-License-Identifier: Apache-2.0 */
/* When a schedule's actions happen. Each rank runs its list in order; an action starts when its
 * rank is free and what it needs has arrived. What a rank does depends on nothing but earlier ends,
 * so ranks are advanced one by one as far as they get, in time linear in the number of actions. */
#include "schedule/reductions.h"
#include "schedule/schedule.h"

#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { PENDING = -1, ABSENT = -2 }; /* instead of an end */

/* How far a rank has got. */
struct lane {
    size_t at;
    int64_t free_ns;           /* end of its last compute */
    int64_t gather_ns;         /* end of its last all-gather */
    const int64_t *blocked_on; /* the end it waits for; NULL: none */
    bool queued, started;
    double held;
};

struct sim {
    const struct inq_schedule *schedule;
    const struct inq_costs *costs;
    struct inq_schedule_timing *timing;
    int64_t *forward, *backward; /* [n_stages * n_microbatches] ends of F, of I or B */
    uint8_t *weight;             /* [same] W is in some list */
    struct lane *lanes;          /* [n_ranks] */
    int64_t *gathered;           /* [n_stages] end of the all-gather that it computes by */
    struct inq_reductions reductions;
    int32_t *previous, *next; /* [n_stages] neighbors, -1 at the ends */
    int32_t *queue;           /* ring of ranks that may have something to run */
    size_t queue_head, queue_n;
    struct inq_err *err;
};

static size_t cell_of(const struct sim *sim, int32_t stage, int32_t microbatch)
{
    return (size_t)stage * (size_t)sim->schedule->n_microbatches + (size_t)microbatch;
}

static int64_t duration(const struct sim *sim, const struct inq_action *action)
{
    if (action->kind == INQ_ACTION_UPDATE) {
        return sim->costs->update_ns;
    }
    if (!inq_action_computes(action)) {
        return 0;
    }
    const struct inq_stage_cost *cost = inq_stage_cost_of(sim->costs, action->stage);
    switch (action->kind) {
    case INQ_ACTION_F:
        return cost->f_ns;
    case INQ_ACTION_I:
        return cost->b_ns;
    case INQ_ACTION_W:
        return cost->w_ns;
    default:
        return cost->b_ns + cost->w_ns;
    }
}

/* Where the end of an action is kept for those that need it; NULL for weight gradients. */
static int64_t *slot_of(const struct sim *sim, const struct inq_action *action)
{
    if (!inq_action_computes(action) || action->kind == INQ_ACTION_W) {
        return NULL;
    }
    size_t cell = cell_of(sim, action->stage, action->microbatch);
    return action->kind == INQ_ACTION_F ? &sim->forward[cell] : &sim->backward[cell];
}

/* ---- what is there --------------------------------------------------------------------------- */

static int claim(struct sim *sim, const struct inq_action *action)
{
    int64_t *slot = slot_of(sim, action);
    bool weight = action->kind == INQ_ACTION_W && inq_action_computes(action);
    uint8_t *seen = weight ? &sim->weight[cell_of(sim, action->stage, action->microbatch)] : NULL;
    if ((slot != NULL && *slot != ABSENT) || (seen != NULL && *seen != 0)) {
        char text[48];
        return inq_err_set(sim->err, INQ_FORMAT, "%s appears twice",
                           inq_action_format(action, text, sizeof text));
    }
    if (slot != NULL) {
        *slot = PENDING;
    } else if (seen != NULL) {
        *seen = 1;
    }
    return INQ_OK;
}

/* One end that an action needs. */
struct input {
    const int64_t *end; /* NULL: nothing */
    int32_t stage;
    const char *what;
};

/* At most two. */
static void inputs_of(const struct sim *sim, const struct inq_action *action,
                      struct input inputs[2])
{
    inputs[0] = inputs[1] = (struct input){NULL, -1, NULL};
    if (!inq_action_computes(action)) {
        return;
    }
    int32_t stage = action->stage;
    int32_t i = action->microbatch;
    if (action->kind == INQ_ACTION_W) {
        inputs[0] = (struct input){&sim->backward[cell_of(sim, stage, i)], stage, "input gradient"};
        return;
    }
    int32_t other = action->kind == INQ_ACTION_F ? sim->previous[stage] : sim->next[stage];
    if (action->kind != INQ_ACTION_F) {
        inputs[0] = (struct input){&sim->forward[cell_of(sim, stage, i)], stage, "forward"};
    }
    if (other >= 0) {
        bool forward = action->kind == INQ_ACTION_F;
        inputs[1] =
            (struct input){(forward ? sim->forward : sim->backward) + cell_of(sim, other, i), other,
                           forward ? "forward" : "backward"};
    }
}

static int check_inputs(const struct sim *sim, const struct inq_action *action)
{
    struct input inputs[2];
    inputs_of(sim, action, inputs);
    for (int k = 0; k < 2; k++) {
        if (inputs[k].end != NULL && *inputs[k].end == ABSENT) {
            char text[48];
            return inq_err_set(sim->err, INQ_FORMAT,
                               "%s needs the %s of stage %" PRId32 ", which is in no rank's list",
                               inq_action_format(action, text, sizeof text), inputs[k].what,
                               inputs[k].stage);
        }
    }
    return INQ_OK;
}

/* Every action once (claims), or every input somewhere. */
static int walk(struct sim *sim, bool claims)
{
    int code = INQ_OK;
    for (int32_t r = 0; code == INQ_OK && r < sim->schedule->n_ranks; r++) {
        const struct inq_rank_actions *list = &sim->schedule->ranks[r];
        for (size_t i = 0; code == INQ_OK && i < list->n; i++) {
            code = claims ? claim(sim, &list->actions[i]) : check_inputs(sim, &list->actions[i]);
        }
    }
    return code;
}

/* ---- beside the compute ---------------------------------------------------------------------- */

static void push(struct sim *sim, int32_t rank)
{
    if (!sim->lanes[rank].queued) {
        size_t n = (size_t)sim->schedule->n_ranks;
        sim->lanes[rank].queued = true;
        sim->queue[(sim->queue_head + sim->queue_n++) % n] = rank;
    }
}

static void reduction_ended(void *ctx, int32_t rank)
{
    push(ctx, rank);
}

/* Whether it is an all-gather that takes time. */
static bool gathers(const struct sim *sim, int32_t rank, const struct inq_action *action)
{
    return action->kind == INQ_ACTION_UNSHARD && sim->costs->unshard_ns > 0 && action->stage >= 0 &&
           sim->schedule->stage_rank[action->stage] == rank;
}

/* Issued behind the compute before it, and through behind the all-gather before it. */
static void gather(struct sim *sim, int32_t rank, size_t i, int32_t stage)
{
    struct lane *lane = &sim->lanes[rank];
    int64_t start = lane->free_ns > lane->gather_ns ? lane->free_ns : lane->gather_ns;
    lane->gather_ns = start + sim->costs->unshard_ns;
    sim->gathered[stage] = lane->gather_ns;
    sim->timing->start_ns[rank][i] = start;
    sim->timing->end_ns[rank][i] = lane->gather_ns;
}

/* REDUCE_GRAD cells get the times of their all-reduce. */
static void note_reductions(struct sim *sim)
{
    for (int32_t r = 0; sim->reductions.n > 0 && r < sim->schedule->n_ranks; r++) {
        const struct inq_rank_actions *list = &sim->schedule->ranks[r];
        for (size_t i = 0; i < list->n; i++) {
            const struct inq_action *a = &list->actions[i];
            if (a->kind == INQ_ACTION_REDUCE_GRAD && a->stage >= 0) {
                int64_t end = inq_reductions_end(&sim->reductions, r, a->stage);
                sim->timing->start_ns[r][i] = end - sim->costs->reduce_ns;
                sim->timing->end_ns[r][i] = end;
            }
        }
    }
}

/* ---- running --------------------------------------------------------------------------------- */

/* The cell at list[at]: a composite with its parts, or one action. */
struct cell {
    size_t first, n; /* of its actions, the head of a composite aside */
    size_t used;     /* list entries */
    bool composite;
};

static struct cell cell_at(const struct inq_rank_actions *list, size_t at)
{
    bool composite = list->actions[at].kind == INQ_ACTION_OVERLAP_F_B;
    size_t parts = composite ? list->actions[at].n_sub : 1;
    size_t first = at + (composite ? 1 : 0);
    parts = parts < list->n - first ? parts : list->n - first;
    return (struct cell){first, parts, first + parts - at, composite};
}

/* Whether a part of the cell makes this end itself. */
static bool made_inside(const struct sim *sim, const struct inq_rank_actions *list,
                        const struct cell *cell, const int64_t *end)
{
    for (size_t k = cell->first; cell->composite && k < cell->first + cell->n; k++) {
        if (slot_of(sim, &list->actions[k]) == end) {
            return true;
        }
    }
    return false;
}

/* When a cell's inputs are there; PENDING, with lane->blocked_on, when one is not. */
static int64_t ready_of(struct sim *sim, int32_t rank, const struct cell *cell)
{
    const struct inq_rank_actions *list = &sim->schedule->ranks[rank];
    struct lane *lane = &sim->lanes[rank];
    int64_t ready = 0;
    for (size_t k = cell->first; k < cell->first + cell->n; k++) {
        struct input inputs[2];
        inputs_of(sim, &list->actions[k], inputs);
        if (inq_action_computes(&list->actions[k])) {
            int64_t gathered = sim->gathered[list->actions[k].stage];
            ready = gathered > ready ? gathered : ready;
        }
        for (int i = 0; i < 2; i++) {
            if (inputs[i].end == NULL || made_inside(sim, list, cell, inputs[i].end)) {
                continue;
            }
            if (*inputs[i].end < 0) {
                lane->blocked_on = inputs[i].end;
                return PENDING;
            }
            bool crosses = sim->schedule->stage_rank[inputs[i].stage] !=
                           sim->schedule->stage_rank[list->actions[k].stage];
            int64_t at = *inputs[i].end + (crosses ? inq_transfer_ns(sim->costs, inputs[i].stage,
                                                                     list->actions[k].stage)
                                                   : 0);
            ready = at > ready ? at : ready;
        }
    }
    if (list->actions[cell->first].kind == INQ_ACTION_UPDATE && sim->reductions.n > 0 &&
        sim->reductions.free_ns[rank] > ready) {
        ready = sim->reductions.free_ns[rank];
    }
    return ready;
}

static void wake(struct sim *sim, int32_t stage, const int64_t *end)
{
    int32_t rank = stage < 0 ? -1 : sim->schedule->stage_rank[stage];
    if (rank >= 0 && sim->lanes[rank].blocked_on == end) {
        sim->lanes[rank].blocked_on = NULL;
        push(sim, rank);
    }
}

static void note_memory(struct sim *sim, int32_t rank, const struct inq_action *action)
{
    struct inq_schedule_rank_time *row = &sim->timing->ranks[rank];
    struct lane *lane = &sim->lanes[rank];
    lane->held += inq_memory_change(sim->costs, action->kind, action->stage);
    row->peak_memory = lane->held > row->peak_memory ? lane->held : row->peak_memory;
}

static void finish_part(struct sim *sim, int32_t rank, size_t i, int64_t start, int64_t end)
{
    const struct inq_action *action = &sim->schedule->ranks[rank].actions[i];
    sim->timing->start_ns[rank][i] = start;
    sim->timing->end_ns[rank][i] = end;
    note_memory(sim, rank, action);
    int64_t *slot = slot_of(sim, action);
    if (slot != NULL) {
        *slot = end;
        wake(sim,
             action->kind == INQ_ACTION_F ? sim->next[action->stage] : sim->previous[action->stage],
             slot);
    }
}

static void run_cell(struct sim *sim, int32_t rank, const struct cell *cell, int64_t ready)
{
    const struct inq_rank_actions *list = &sim->schedule->ranks[rank];
    struct lane *lane = &sim->lanes[rank];
    struct inq_schedule_rank_time *row = &sim->timing->ranks[rank];
    int64_t sum = 0;
    bool works = false;
    for (size_t k = cell->first; k < cell->first + cell->n; k++) {
        works = works || inq_action_computes(&list->actions[k]) ||
                list->actions[k].kind == INQ_ACTION_UPDATE;
        sum += duration(sim, &list->actions[k]);
    }
    int64_t start = works && ready > lane->free_ns ? ready : lane->free_ns;
    int64_t dur_ns =
        works && cell->composite && sim->costs->overlap_ns > 0 ? sim->costs->overlap_ns : sum;
    for (size_t k = lane->at; k < cell->first + cell->n; k++) {
        finish_part(sim, rank, k, start, start + dur_ns);
    }
    if (works) {
        row->first_ns = lane->started ? row->first_ns : start;
        lane->started = true;
        row->last_ns = start + dur_ns;
        row->busy_ns += dur_ns;
        lane->free_ns = start + dur_ns;
    }
}

/* Runs a rank until it waits for something. */
static void advance(struct sim *sim, int32_t rank)
{
    const struct inq_rank_actions *list = &sim->schedule->ranks[rank];
    struct lane *lane = &sim->lanes[rank];
    while (lane->at < list->n) {
        const struct inq_action *action = &list->actions[lane->at];
        if (action->kind == INQ_ACTION_UPDATE && inq_reductions_pending(&sim->reductions, rank)) {
            return; /* the end of the last all-reduce wakes it */
        }
        if (gathers(sim, rank, action)) {
            gather(sim, rank, lane->at++, action->stage);
            continue;
        }
        struct cell cell = cell_at(list, lane->at);
        int64_t ready = ready_of(sim, rank, &cell);
        if (ready < 0) {
            return;
        }
        run_cell(sim, rank, &cell, ready);
        lane->at += cell.used;
        if (action->kind == INQ_ACTION_REDUCE_GRAD && action->stage >= 0) {
            inq_reductions_issue(&sim->reductions, rank, action->stage, lane->free_ns,
                                 reduction_ended, sim);
        }
    }
}

/* ---- deadlock -------------------------------------------------------------------------------- */

/* The rank that a stuck rank waits for, or -1; says so in text. */
static int32_t describe_wait(const struct sim *sim, int32_t rank, char *text, size_t size)
{
    const struct inq_rank_actions *list = &sim->schedule->ranks[rank];
    const struct lane *lane = &sim->lanes[rank];
    struct cell cell = cell_at(list, lane->at);
    char name[48];
    for (size_t k = cell.first; k < cell.first + cell.n; k++) {
        struct input inputs[2];
        inputs_of(sim, &list->actions[k], inputs);
        for (int i = 0; i < 2; i++) {
            if (inputs[i].end != NULL && inputs[i].end == lane->blocked_on) {
                int32_t on = sim->schedule->stage_rank[inputs[i].stage];
                (void)snprintf(text, size,
                               "rank %" PRId32 " at %s waits for the %s of micro-batch %" PRId32
                               " on stage %" PRId32 " (rank %" PRId32 ")",
                               rank, inq_action_format(&list->actions[k], name, sizeof name),
                               inputs[i].what, list->actions[k].microbatch, inputs[i].stage, on);
                return on;
            }
        }
    }
    (void)snprintf(text, size, "rank %" PRId32 " waits for an all-reduce that not all ranks get to",
                   rank);
    return -1;
}

static bool is_stuck(const struct sim *sim, int32_t rank)
{
    return rank >= 0 && sim->lanes[rank].at < sim->schedule->ranks[rank].n;
}

/* Follows who waits for whom from a stuck rank until a rank comes up again, then tells that circle
 * (at most its first ranks). */
static int explain_deadlock(const struct sim *sim, int32_t rank)
{
    enum { MOST_TOLD = 4 };
    char text[400] = "";
    char one[160];
    int32_t from = rank;
    for (int32_t i = 0; i < sim->schedule->n_ranks && is_stuck(sim, rank); i++) {
        from = rank;
        rank = describe_wait(sim, rank, one, sizeof one);
    }
    rank = is_stuck(sim, rank) ? rank : from;
    int32_t start = rank;
    size_t used = 0;
    for (int told = 0; told < MOST_TOLD && is_stuck(sim, rank); told++) {
        rank = describe_wait(sim, rank, one, sizeof one);
        int n = snprintf(text + used, sizeof text - used, "%s%s", told > 0 ? ", " : "", one);
        used += n > 0 && (size_t)n < sizeof text - used ? (size_t)n : 0;
        if (rank == start) {
            break;
        }
    }
    return inq_err_set(sim->err, INQ_DEADLOCK, "%s%s", text, rank == start ? ", in a circle" : "");
}

static int run_all(struct sim *sim)
{
    for (int32_t r = 0; r < sim->schedule->n_ranks; r++) {
        push(sim, r);
    }
    while (sim->queue_n > 0) {
        int32_t rank = sim->queue[sim->queue_head];
        sim->queue_head = (sim->queue_head + 1) % (size_t)sim->schedule->n_ranks;
        sim->queue_n--;
        sim->lanes[rank].queued = false;
        advance(sim, rank);
    }
    for (int32_t r = 0; r < sim->schedule->n_ranks; r++) {
        if (is_stuck(sim, r)) {
            int code = walk(sim, false); /* perhaps what it waits for is nowhere */
            code = code == INQ_OK ? inq_reductions_check(&sim->reductions, sim->err) : code;
            return code == INQ_OK ? explain_deadlock(sim, r) : code;
        }
    }
    return inq_reductions_check(&sim->reductions, sim->err);
}

/* ---- results --------------------------------------------------------------------------------- */

/* Sums over ranks whose own figures are there; `timing->makespan_ns` may be set already. */
static void summarize(const struct inq_schedule *schedule, const struct inq_costs *costs,
                      struct inq_schedule_timing *timing)
{
    timing->memory_unit = costs->memory_unit;
    int32_t n = schedule->n_ranks;
    int64_t busiest = 0;
    int64_t idle = 0;
    for (int32_t r = 0; r < n; r++) {
        struct inq_schedule_rank_time *row = &timing->ranks[r];
        int64_t span = row->last_ns - row->first_ns;
        row->span_idle_ns = span - row->busy_ns;
        timing->makespan_ns =
            row->last_ns > timing->makespan_ns ? row->last_ns : timing->makespan_ns;
        timing->span_ns = span > timing->span_ns ? span : timing->span_ns;
        busiest = row->busy_ns > busiest ? row->busy_ns : busiest;
        timing->peak_memory =
            row->peak_memory > timing->peak_memory ? row->peak_memory : timing->peak_memory;
    }
    for (int32_t r = 0; r < n; r++) {
        timing->ranks[r].idle_ns = timing->makespan_ns - timing->ranks[r].busy_ns;
        idle += timing->ranks[r].idle_ns;
    }
    double total = (double)timing->makespan_ns * (double)n;
    timing->bubble_ratio = total > 0.0 ? (double)idle / total : 0.0;
    timing->bubble_rate_zb =
        timing->span_ns > 0 ? (double)(timing->span_ns - busiest) / (double)timing->span_ns : 0.0;
}

void inq_schedule_timing_sum(const struct inq_schedule *schedule, const struct inq_costs *costs,
                             struct inq_schedule_timing *timing)
{
    for (int32_t r = 0; r < schedule->n_ranks; r++) {
        struct inq_schedule_rank_time *row = &timing->ranks[r];
        double held = 0.0;
        for (size_t i = 0; i < schedule->ranks[r].n; i++) {
            int64_t start = timing->start_ns[r][i];
            int64_t end = timing->end_ns[r][i];
            const struct inq_action *action = &schedule->ranks[r].actions[i];
            held += inq_memory_change(costs, action->kind, action->stage);
            row->peak_memory = held > row->peak_memory ? held : row->peak_memory;
            row->first_ns = i == 0 ? start : row->first_ns;
            row->last_ns = end > row->last_ns ? end : row->last_ns;
            row->busy_ns += end - start;
        }
    }
    summarize(schedule, costs, timing);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static int64_t *ends_absent(size_t n)
{
    int64_t *ends = inq_mem_alloc(n * sizeof *ends);
    for (size_t i = 0; ends != NULL && i < n; i++) {
        ends[i] = ABSENT;
    }
    return ends;
}

static bool allocate(struct sim *sim)
{
    const struct inq_schedule *schedule = sim->schedule;
    struct inq_schedule_timing *timing = sim->timing;
    size_t n_ranks = (size_t)schedule->n_ranks;
    size_t cells = (size_t)schedule->n_stages * (size_t)schedule->n_microbatches;
    sim->forward = ends_absent(cells);
    sim->backward = ends_absent(cells);
    sim->weight = inq_mem_zalloc(cells, sizeof *sim->weight);
    sim->lanes = inq_mem_zalloc(n_ranks, sizeof *sim->lanes);
    sim->queue = inq_mem_zalloc(n_ranks, sizeof *sim->queue);
    sim->previous = inq_mem_alloc((size_t)schedule->n_stages * sizeof *sim->previous);
    sim->next = inq_mem_alloc((size_t)schedule->n_stages * sizeof *sim->next);
    sim->gathered = inq_mem_zalloc((size_t)schedule->n_stages, sizeof *sim->gathered);
    timing->ranks = inq_mem_zalloc(n_ranks, sizeof *timing->ranks);
    timing->start_ns = inq_mem_zalloc(n_ranks, sizeof *timing->start_ns);
    timing->end_ns = inq_mem_zalloc(n_ranks, sizeof *timing->end_ns);
    bool ok = sim->forward != NULL && sim->backward != NULL && sim->weight != NULL &&
              sim->lanes != NULL && sim->queue != NULL && sim->previous != NULL &&
              sim->next != NULL && sim->gathered != NULL && timing->ranks != NULL &&
              timing->start_ns != NULL && timing->end_ns != NULL;
    for (size_t r = 0; ok && r < n_ranks; r++) {
        size_t n = schedule->ranks[r].n;
        timing->start_ns[r] = inq_mem_zalloc(n, sizeof **timing->start_ns);
        timing->end_ns[r] = inq_mem_zalloc(n, sizeof **timing->end_ns);
        ok = timing->start_ns[r] != NULL && timing->end_ns[r] != NULL;
    }
    return ok;
}

/* What every action looks up. */
static void tabulate(struct sim *sim)
{
    for (int32_t stage = 0; stage < sim->schedule->n_stages; stage++) {
        sim->previous[stage] = inq_schedule_previous(sim->schedule, stage);
        sim->next[stage] = inq_schedule_next(sim->schedule, stage);
    }
}

static void release(struct sim *sim)
{
    inq_mem_free(sim->forward);
    inq_mem_free(sim->backward);
    inq_mem_free(sim->weight);
    inq_mem_free(sim->lanes);
    inq_mem_free(sim->queue);
    inq_mem_free(sim->previous);
    inq_mem_free(sim->next);
    inq_mem_free(sim->gathered);
    inq_reductions_release(&sim->reductions);
}

void inq_schedule_timing_release(struct inq_schedule_timing *timing, int32_t n_ranks)
{
    for (int32_t r = 0; r < n_ranks; r++) {
        if (timing->start_ns != NULL) {
            inq_mem_free(timing->start_ns[r]);
        }
        if (timing->end_ns != NULL) {
            inq_mem_free(timing->end_ns[r]);
        }
    }
    inq_mem_free(timing->start_ns);
    inq_mem_free(timing->end_ns);
    inq_mem_free(timing->ranks);
    *timing = (struct inq_schedule_timing){0};
}

int inq_schedule_time(const struct inq_schedule *schedule, const struct inq_costs *costs,
                      struct inq_schedule_timing *timing, struct inq_err *err)
{
    *timing = (struct inq_schedule_timing){0};
    struct sim sim = {.schedule = schedule, .costs = costs, .timing = timing, .err = err};
    int code = allocate(&sim)
                   ? walk(&sim, true)
                   : inq_err_set(err, INQ_NOMEM, "out of memory for the times of a schedule");
    if (code == INQ_OK) {
        code = inq_reductions_find(schedule, costs->reduce_ns, &sim.reductions, err);
    }
    if (code == INQ_OK) {
        tabulate(&sim);
        code = run_all(&sim);
    }
    if (code == INQ_OK) {
        note_reductions(&sim);
        for (int32_t r = 0; r < schedule->n_ranks; r++) {
            int64_t reduced = sim.reductions.n > 0 ? sim.reductions.free_ns[r] : 0;
            int64_t end = reduced > sim.lanes[r].gather_ns ? reduced : sim.lanes[r].gather_ns;
            timing->makespan_ns = end > timing->makespan_ns ? end : timing->makespan_ns;
        }
        summarize(schedule, costs, timing);
    }
    release(&sim);
    if (code != INQ_OK) {
        inq_schedule_timing_release(timing, schedule->n_ranks);
    }
    return code;
}
