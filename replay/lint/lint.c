/* SPDX-License-Identifier: Apache-2.0 */
/* Lint: runs the rules in order and keeps what they find. */
#include "lint/lint.h"

#include "base/mem.h"
#include "base/sort.h"
#include "schedule/schedule.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Lint rule R6 for runtimes that walk all rows step by step: in step j a rank runs cell j, then
 * sends its result and receives what its neighbors computed in their cell j, in one batch. All
 * batches of a step belong together, so they cannot block; but a result that its consumer needs in
 * the same or an earlier step is never received. */

struct steps {
    const struct inq_schedule *schedule;
    struct inq_lint *lint;
    struct inq_err *err;
    int32_t *forward, *backward; /* [n_stages * n_microbatches] step of F, of B or I; -1: none */
};

static int32_t *slot_of(const struct steps *s, int32_t stage, int32_t microbatch, bool forward)
{
    size_t cell = (size_t)stage * (size_t)s->schedule->n_microbatches + (size_t)microbatch;
    return forward ? &s->forward[cell] : &s->backward[cell];
}

static int check_action(const struct steps *s, int32_t rank, const struct inq_action *a,
                        int32_t step)
{
    bool forward = a->kind == INQ_ACTION_F;
    if (!inq_action_computes(a) || a->kind == INQ_ACTION_W) {
        return INQ_OK;
    }
    int32_t from = forward ? inq_schedule_previous(s->schedule, a->stage)
                           : inq_schedule_next(s->schedule, a->stage);
    int32_t peer = from < 0 ? rank : s->schedule->stage_rank[from];
    int32_t made = from < 0 ? -1 : *slot_of(s, from, a->microbatch, forward);
    if (peer == rank || made < step) {
        return INQ_OK;
    }
    return inq_lint_add(
        s->lint, INQ_LINT_RENDEZVOUS, true, rank, inq_lint_position(a, 0), a, s->err,
        "needs what rank %" PRId32 " computes in step %" PRId32 ", but stands in step %" PRId32
        " itself: with one batch of sends and receives a step it is not received "
        "yet; put %" PRId32 " empty cells before it",
        peer, made + 1, step + 1, made - step + 1);
}

/* Visits every action with the step of its cell: composites are one cell. */
static int walk_steps(const struct steps *s, bool checks)
{
    int code = INQ_OK;
    for (int32_t r = 0; r < s->schedule->n_ranks; r++) {
        const struct inq_rank_actions *list = &s->schedule->ranks[r];
        int32_t step = -1;
        size_t parts = 0;
        for (size_t i = 0; code == INQ_OK && i < list->n; i++) {
            const struct inq_action *a = &list->actions[i];
            bool starts_cell = parts == 0;
            parts = starts_cell ? a->n_sub : parts - 1;
            step += starts_cell;
            if (checks) {
                code = check_action(s, r, a, step);
            } else if (inq_action_computes(a) && a->kind != INQ_ACTION_W) {
                *slot_of(s, a->stage, a->microbatch, a->kind == INQ_ACTION_F) = step;
            }
        }
    }
    return code;
}

/* R6 for runtimes that send and receive step by step, on a compute-only schedule. */
static int lint_steps(const struct inq_schedule *schedule, struct inq_lint *lint,
                      struct inq_err *err)
{
    size_t cells = (size_t)schedule->n_stages * (size_t)schedule->n_microbatches;
    struct steps s = {.schedule = schedule, .lint = lint, .err = err};
    s.forward = inq_mem_zalloc(cells, sizeof *s.forward);
    s.backward = inq_mem_zalloc(cells, sizeof *s.backward);
    int code = INQ_OK;
    if (s.forward == NULL || s.backward == NULL) {
        code = inq_err_set(err, INQ_NOMEM, "out of memory for linting");
    } else {
        (void)walk_steps(&s, false);
        code = walk_steps(&s, true);
    }
    inq_mem_free(s.forward);
    inq_mem_free(s.backward);
    return code;
}

const char *inq_lint_rule_text(enum inq_lint_rule rule)
{
    static const char *const text[] = {
#define RULE_TEXT(name, id, what) id,
        INQ_LINT_RULES(RULE_TEXT)
#undef RULE_TEXT
    };
    return rule < INQ_LINT_RULE_COUNT ? text[rule] : "R?";
}

const char *inq_lint_rule_what(enum inq_lint_rule rule)
{
    static const char *const text[] = {
#define RULE_WHAT(name, id, what) what,
        INQ_LINT_RULES(RULE_WHAT)
#undef RULE_WHAT
    };
    return rule < INQ_LINT_RULE_COUNT ? text[rule] : "";
}

void inq_lint_release(struct inq_lint *lint)
{
    inq_mem_free(lint->story);
    inq_mem_free(lint->problems);
    *lint = (struct inq_lint){0};
}

/* R1: text that is no schedule. */
static int lint_fault(const struct inq_csv_fault *fault, struct inq_lint *lint, struct inq_err *err)
{
    int code = inq_lint_add(lint, INQ_LINT_FORMAT, true, fault->rank, fault->cell, NULL, err, "%s",
                            fault->message);
    if (code == INQ_OK) {
        struct inq_lint_problem *p = &lint->problems[0];
        p->line = fault->line;
        p->column = fault->column;
        memcpy(p->action, fault->text, sizeof p->action);
    }
    return code;
}

/* R1: the letters and the lines of the file. */
static int lint_format(const struct inq_csv_info *csv, struct inq_lint *lint, struct inq_err *err)
{
    int code = INQ_OK;
    if (csv != NULL && !csv->dialect_certain) {
        code = inq_lint_add(lint, INQ_LINT_FORMAT, false, -1, -1, NULL, err,
                            "B without I or W: read as full backward; if the file is from 2024 and "
                            "B means input gradient, give --dialect 2024");
        if (code == INQ_OK) {
            lint->problems[lint->n - 1].granted = true;
        }
    }
    if (code == INQ_OK && csv != NULL && csv->blank_lines > 0) {
        code = inq_lint_add(lint, INQ_LINT_FORMAT, false, -1, -1, NULL, err,
                            "%zu blank %s, the first is line %" PRId32
                            ": no rank here, but PyTorch's loader counts it as one",
                            csv->blank_lines, csv->blank_lines == 1 ? "line" : "lines",
                            csv->first_blank_line);
    }
    return code;
}

/* Whether some rank has stages of several replicas of the model. */
static bool keeps_two_replicas(const struct inq_schedule *s)
{
    int32_t stages = s->n_stages / s->n_pipelines;
    for (int32_t r = 0; s->n_pipelines > 1 && r < s->n_ranks; r++) {
        int32_t replica = -1;
        for (size_t i = 0; i < s->ranks[r].n; i++) {
            int32_t stage = s->ranks[r].actions[i].stage;
            if (stage >= 0 && replica >= 0 && stage / stages != replica) {
                return true;
            }
            replica = stage >= 0 ? stage / stages : replica;
        }
    }
    return false;
}

static void ignore(void *ctx, int32_t rank)
{
    (void)ctx;
    (void)rank;
}

/* R5: replicas that all-reduce their stages in different orders. */
static int lint_reductions(const struct inq_schedule *schedule, struct inq_lint *lint,
                           struct inq_err *err)
{
    struct inq_reductions reductions;
    struct inq_err own = {0};
    int code = inq_reductions_find(schedule, 1, &reductions, err);
    for (int32_t r = 0; code == INQ_OK && reductions.n > 0 && r < schedule->n_ranks; r++) {
        for (size_t i = 0; i < schedule->ranks[r].n; i++) {
            const struct inq_action *a = &schedule->ranks[r].actions[i];
            if (a->kind == INQ_ACTION_REDUCE_GRAD && a->stage >= 0) {
                inq_reductions_issue(&reductions, r, a->stage, 0, ignore, NULL);
            }
        }
    }
    if (code == INQ_OK && inq_reductions_check(&reductions, &own) != INQ_OK) {
        code = inq_lint_add(lint, INQ_LINT_CYCLE, true, -1, -1, NULL, err, "%s", own.message);
    }
    inq_reductions_release(&reductions);
    return code;
}

/* R11, and R5 with the ops that wait for each other. */
static int lint_times(const struct inq_schedule *schedule, const struct inq_lint_options *options,
                      struct inq_lint *lint, struct inq_err *err)
{
    struct inq_schedule_timing timing;
    struct inq_err own = {0};
    int code = inq_schedule_time(schedule, &options->costs, &timing, &own);
    if (code == INQ_DEADLOCK || code == INQ_FORMAT) {
        return inq_lint_add(lint, INQ_LINT_CYCLE, true, -1, -1, NULL, err, "%s", own.message);
    }
    if (code != INQ_OK) {
        return inq_err_set(err, (enum inq_code)code, "%s", own.message);
    }
    if (options->has_baseline &&
        timing.bubble_ratio > options->baseline_bubble + options->tolerance + 1e-12) {
        code = inq_lint_add(lint, INQ_LINT_BASELINE, true, -1, -1, NULL, err,
                            "bubble ratio %.4f, the baseline's is %.4f (allowed: %.4f more)",
                            timing.bubble_ratio, options->baseline_bubble, options->tolerance);
    }
    inq_schedule_timing_release(&timing, schedule->n_ranks);
    return code;
}

/* Most that a rank holds: a matter of its order, not of times; *at the op that takes it there. */
static double peak_of(const struct inq_rank_actions *list, const struct inq_costs *costs,
                      size_t *at)
{
    double held = 0.0;
    double peak = 0.0;
    for (size_t i = 0; i < list->n; i++) {
        held += inq_memory_change(costs, list->actions[i].kind, list->actions[i].stage);
        *at = held > peak ? i : *at;
        peak = held > peak ? held : peak;
    }
    return peak;
}

/* R8, R9. */
static int lint_memory(const struct inq_schedule *schedule, const struct inq_lint_options *options,
                       struct inq_lint *lint, struct inq_err *err)
{
    enum inq_memory_unit unit = options->costs.memory_unit;
    char held[48];
    char limit[48];
    int code = INQ_OK;
    lint->peak_memory = 0.0;
    for (int32_t r = 0; code == INQ_OK && r < schedule->n_ranks; r++) {
        size_t at = 0;
        double peak = peak_of(&schedule->ranks[r], &options->costs, &at);
        lint->peak_memory = peak > lint->peak_memory ? peak : lint->peak_memory;
        if (options->memory_limit > 0.0 && peak > options->memory_limit) {
            const struct inq_action *action = &schedule->ranks[r].actions[at];
            code = inq_lint_add(
                lint, INQ_LINT_MEMORY, true, r, inq_lint_position(action, at), action, err,
                "holds %s at its peak, the limit is %s; fewer warm-up forwards "
                "or earlier weight gradients lower it",
                inq_memory_format(unit, peak, held, sizeof held),
                inq_memory_format(unit, options->memory_limit, limit, sizeof limit));
        }
    }
    if (code == INQ_OK && keeps_two_replicas(schedule)) {
        code = inq_lint_add(lint, INQ_LINT_WEIGHTS, false, -1, -1, NULL, err,
                            "every rank keeps the weights of two model replicas");
    }
    return code;
}

static int lint_calls(const struct inq_schedule *schedule, const struct inq_lint_options *options,
                      struct inq_lint *lint, struct inq_err *err)
{
    if (schedule->has_comms) {
        return inq_lint_comms(schedule, options->grouping, lint, err);
    }
    if (options->grouping == INQ_GROUPING_STEP) {
        return lint_steps(schedule, lint, err);
    }
    struct inq_schedule lowered;
    struct inq_err own = {0};
    int code = inq_schedule_lower(schedule, &lowered, &own);
    if (code == INQ_DEADLOCK) {
        return lint_times(schedule, options, lint, err);
    }
    if (code != INQ_OK) {
        return inq_err_set(err, (enum inq_code)code, "%s", own.message);
    }
    code = inq_lint_comms(&lowered, options->grouping, lint, err);
    inq_schedule_release(&lowered);
    return code;
}

static int compare_problems(const void *a, const void *b, void *ctx)
{
    const struct inq_lint_problem *x = a;
    const struct inq_lint_problem *y = b;
    (void)ctx;
    if (x->rule != y->rule) {
        return x->rule < y->rule ? -1 : 1;
    }
    if (x->rank != y->rank) {
        return x->rank < y->rank ? -1 : 1;
    }
    return x->position == y->position ? 0 : x->position < y->position ? -1 : 1;
}

/* Where the problem stands in the file. */
static void place(const struct inq_schedule *schedule, struct inq_lint_problem *p)
{
    if (p->rank < 0 || p->rank >= schedule->n_ranks) {
        return;
    }
    const struct inq_rank_actions *list = &schedule->ranks[p->rank];
    p->line = list->line;
    for (size_t i = 0; p->position >= 0 && p->column == 0 && i < list->n; i++) {
        p->column = list->actions[i].column == p->position ? list->actions[i].begins : 0;
    }
}

static int sort_problems(struct inq_lint *lint, struct inq_err *err)
{
    return inq_sort(lint->problems, lint->n, sizeof *lint->problems, compare_problems, NULL, err);
}

/* ---- a schedule without sends that hangs ------------------------------------------------------*/

/* What is done of a schedule that is stepped through, every rank as far as it gets. */
struct walk {
    const struct inq_schedule *schedule;
    uint8_t *done; /* [n_stages * n_microbatches] bits of what is done: F, I or B */
    size_t *at;    /* [n_ranks] */
};

enum { DONE_F = 1, DONE_B = 2 };

static uint8_t *cell_of(const struct walk *w, int32_t stage, int32_t microbatch)
{
    return &w->done[(size_t)stage * (size_t)w->schedule->n_microbatches + (size_t)microbatch];
}

/* The stage whose result the action still lacks; -1: none. *bit says which result. */
static int32_t lacks(const struct walk *w, const struct inq_action *a, uint8_t *bit)
{
    int32_t previous = inq_schedule_previous(w->schedule, a->stage);
    int32_t next = inq_schedule_next(w->schedule, a->stage);
    *bit = a->kind == INQ_ACTION_F ? DONE_F : DONE_B;
    int32_t from = a->kind == INQ_ACTION_F ? previous : a->kind == INQ_ACTION_W ? -1 : next;
    if (!inq_action_computes(a) || from < 0) {
        return -1;
    }
    return (*cell_of(w, from, a->microbatch) & *bit) == 0 ? from : -1;
}

static void step_through(struct walk *w)
{
    bool moved = true;
    while (moved) {
        moved = false;
        for (int32_t r = 0; r < w->schedule->n_ranks; r++) {
            const struct inq_rank_actions *list = &w->schedule->ranks[r];
            uint8_t bit = 0;
            while (w->at[r] < list->n && lacks(w, &list->actions[w->at[r]], &bit) < 0) {
                const struct inq_action *a = &list->actions[w->at[r]++];
                moved = true;
                if (inq_action_computes(a) && a->kind != INQ_ACTION_W) {
                    *cell_of(w, a->stage, a->microbatch) |=
                        a->kind == INQ_ACTION_F ? DONE_F : DONE_B;
                }
            }
        }
    }
}

/* The cell of the rank that makes what is lacking; -1 when it has none. */
static int32_t maker_of(const struct inq_schedule *s, int32_t stage, int32_t microbatch,
                        uint8_t bit, const struct inq_action **maker)
{
    const struct inq_rank_actions *list = &s->ranks[s->stage_rank[stage]];
    for (size_t i = 0; i < list->n; i++) {
        const struct inq_action *a = &list->actions[i];
        bool makes = bit == DONE_F ? a->kind == INQ_ACTION_F
                                   : a->kind == INQ_ACTION_I || a->kind == INQ_ACTION_B;
        if (makes && a->stage == stage && a->microbatch == microbatch) {
            *maker = a;
            return inq_lint_position(a, i);
        }
    }
    return -1;
}

/* Who waits for whom when the order of the ranks contradicts the flow of data. */
static int explain_cycle(const struct walk *w, struct inq_lint *lint, struct inq_err *err)
{
    int code = INQ_OK;
    for (int32_t r = 0; code == INQ_OK && r < w->schedule->n_ranks; r++) {
        const struct inq_rank_actions *list = &w->schedule->ranks[r];
        const struct inq_action *maker = NULL;
        uint8_t bit = 0;
        if (w->at[r] >= list->n) {
            continue;
        }
        const struct inq_action *a = &list->actions[w->at[r]];
        int32_t stage = lacks(w, a, &bit);
        int32_t theirs = stage < 0 || w->schedule->stage_rank[stage] < 0
                             ? -1
                             : maker_of(w->schedule, stage, a->microbatch, bit, &maker);
        int32_t own = inq_lint_position(a, w->at[r]);
        char mine[48];
        char other[48];
        if (theirs >= 0 && maker != NULL) {
            code = inq_lint_explain(
                lint, r, own, err,
                "rank %" PRId32 " waits at its cell %" PRId32 ", %s, until rank %" PRId32
                " comes to its cell %" PRId32 ", %s",
                r, own + 1, inq_action_format(a, mine, sizeof mine), w->schedule->stage_rank[stage],
                theirs + 1, inq_action_format(maker, other, sizeof other));
        }
    }
    return code;
}

static int explain_order(const struct inq_schedule *schedule, struct inq_lint *lint,
                         struct inq_err *err)
{
    size_t cells = (size_t)schedule->n_stages * (size_t)schedule->n_microbatches;
    struct walk w = {.schedule = schedule,
                     .done = inq_mem_zalloc(cells + 1, 1),
                     .at = inq_mem_zalloc((size_t)schedule->n_ranks, sizeof(size_t))};
    int code = w.done != NULL && w.at != NULL
                   ? INQ_OK
                   : inq_err_set(err, INQ_NOMEM, "out of memory for linting");
    if (code == INQ_OK) {
        step_through(&w);
        code = explain_cycle(&w, lint, err);
    }
    inq_mem_free(w.done);
    inq_mem_free(w.at);
    return code;
}

/* ---- all rules -------------------------------------------------------------------------------*/

static int examine(const struct inq_schedule *schedule, const struct inq_csv_info *csv,
                   const struct inq_lint_options *options, struct inq_lint *lint,
                   struct inq_err *err)
{
    *lint =
        (struct inq_lint){.buffer_depth = -1, .peak_memory = (double)NAN, .remedy = {.rank = -1}};
    if (csv != NULL && csv->fault.message[0] != '\0') {
        return lint_fault(&csv->fault, lint, err);
    }
    int code = lint_format(csv, lint, err);
    if (code == INQ_OK) {
        code = inq_lint_order(schedule, lint, err);
    }
    /* later rules rest on earlier ones: a missing op would only be reported again as a circle */
    if (code == INQ_OK && lint->n_errors == 0) {
        code = lint_calls(schedule, options, lint, err);
    }
    if (code == INQ_OK && lint->n_errors == 0) {
        code = lint_reductions(schedule, lint, err);
    }
    if (code == INQ_OK && lint->n_errors == 0) {
        code = lint_memory(schedule, options, lint, err);
    }
    if (code == INQ_OK && lint->n_errors == 0 && options->has_baseline) {
        code = lint_times(schedule, options, lint, err);
    }
    if (code == INQ_OK) {
        code = sort_problems(lint, err);
    }
    for (size_t i = 0; code == INQ_OK && i < lint->n; i++) {
        place(schedule, &lint->problems[i]);
    }
    if (code != INQ_OK) {
        inq_lint_release(lint);
    }
    return code;
}

/* ---- what would mend it ----------------------------------------------------------------------*/

/* Swaps of two cells of a rank, the nearest first, each examined as a whole. */
struct mender {
    struct inq_schedule *schedule; /* a copy's ranks are swapped and swapped back */
    const struct inq_lint_options *options;
    struct inq_lint *lint;
    struct inq_err *err;
    int64_t left; /* cells that may still be looked at */
};

enum { FARTHEST = 4, WINDOW = 24 };
static const int64_t MOST_CELLS = 20000000; /* about two seconds */

/* Whether entry `i` is a cell of its own, no composite or part of one. */
static bool is_plain_cell(const struct inq_rank_actions *list, size_t i)
{
    for (size_t k = i < UINT8_MAX ? 0 : i - UINT8_MAX; k <= i; k++) {
        if (list->actions[k].n_sub > 0 && k + list->actions[k].n_sub >= i) {
            return false;
        }
    }
    return true;
}

static void swap_cells(struct inq_rank_actions *list, size_t i, size_t k)
{
    struct inq_action first = list->actions[i];
    list->actions[i] = list->actions[k];
    list->actions[k] = first;
}

static int try_swap(struct mender *m, int32_t rank, size_t i, size_t k, bool *mends)
{
    struct inq_rank_actions *list = &m->schedule->ranks[rank];
    struct inq_lint trial;
    *mends = false;
    if (!is_plain_cell(list, i) || !is_plain_cell(list, k)) {
        return INQ_OK;
    }
    for (int32_t r = 0; r < m->schedule->n_ranks; r++) {
        m->left -= (int64_t)m->schedule->ranks[r].n;
    }
    swap_cells(list, i, k);
    int code = examine(m->schedule, NULL, m->options, &trial, m->err);
    swap_cells(list, i, k);
    if (code == INQ_OK) {
        *mends = trial.n_errors == 0;
        inq_lint_release(&trial);
    }
    if (*mends) {
        struct inq_lint_remedy *remedy = &m->lint->remedy;
        remedy->rank = rank;
        remedy->first = inq_lint_position(&list->actions[i], i);
        remedy->second = inq_lint_position(&list->actions[k], k);
        inq_action_format(&list->actions[i], remedy->actions[0], sizeof remedy->actions[0]);
        inq_action_format(&list->actions[k], remedy->actions[1], sizeof remedy->actions[1]);
        (void)snprintf(remedy->text, sizeof remedy->text,
                       "swap cells %" PRId32 " and %" PRId32 " of rank %" PRId32
                       " (%s and %s): with that it runs",
                       remedy->first + 1, remedy->second + 1, rank, remedy->actions[0],
                       remedy->actions[1]);
    }
    return code;
}

/* Around one cell, near ones first. */
static int mend_around(struct mender *m, int32_t rank, size_t pivot, size_t distance)
{
    size_t n = m->schedule->ranks[rank].n;
    bool mends = false;
    int code = INQ_OK;
    for (size_t off = 0; code == INQ_OK && !mends && off <= (size_t)2 * WINDOW && m->left > 0;
         off++) {
        size_t away = (off + 1) / 2;
        bool before = off % 2 == 1;
        if ((before && away > pivot) || pivot + (before ? 0 : away) + distance >= n ||
            (before && pivot - away + distance >= n)) {
            continue;
        }
        size_t i = before ? pivot - away : pivot + away;
        code = try_swap(m, rank, i, i + distance, &mends);
    }
    return code;
}

static size_t index_of(const struct inq_rank_actions *list, int32_t position)
{
    for (size_t i = 0; i < list->n; i++) {
        if (inq_lint_position(&list->actions[i], i) == position) {
            return i;
        }
    }
    return position >= 0 && (size_t)position < list->n ? (size_t)position : 0;
}

/* What another order of cells may mend. */
static bool is_of_order(enum inq_lint_rule rule)
{
    return rule == INQ_LINT_ORDER || rule == INQ_LINT_CYCLE || rule == INQ_LINT_RENDEZVOUS ||
           rule == INQ_LINT_NEIGHBOR;
}

/* The places where ranks are stuck, then those of other errors. */
static int mend(struct mender *m)
{
    struct inq_lint *lint = m->lint;
    int code = INQ_OK;
    for (size_t distance = 1; distance <= FARTHEST; distance++) {
        for (size_t i = 0; code == INQ_OK && lint->remedy.rank < 0 && i < lint->n_stuck; i++) {
            int32_t rank = lint->stuck[i].rank;
            code = mend_around(
                m, rank, index_of(&m->schedule->ranks[rank], lint->stuck[i].position), distance);
        }
        for (size_t i = 0; code == INQ_OK && lint->remedy.rank < 0 && i < lint->n; i++) {
            const struct inq_lint_problem *p = &lint->problems[i];
            if (p->error && p->rank >= 0 && p->position >= 0 && is_of_order(p->rule)) {
                code = mend_around(m, p->rank, index_of(&m->schedule->ranks[p->rank], p->position),
                                   distance);
            }
        }
    }
    return code;
}

/* Whether it fails by its order: what is missing or too large no swap mends. */
static bool fails_by_order(const struct inq_lint *lint)
{
    bool any = false;
    for (size_t i = 0; i < lint->n; i++) {
        enum inq_lint_rule rule = lint->problems[i].rule;
        if (lint->problems[i].error && !is_of_order(rule)) {
            return false;
        }
        any = any || lint->problems[i].error;
    }
    return any;
}

/* The caller's schedule stays as it is: only the lists of actions are copied. */
static int find_remedy(const struct inq_schedule *schedule, const struct inq_lint_options *options,
                       struct inq_lint *lint, struct inq_err *err)
{
    struct inq_schedule copy = *schedule;
    struct mender m = {&copy, options, lint, err, MOST_CELLS};
    size_t n = 0;
    size_t at = 0;
    for (int32_t r = 0; r < schedule->n_ranks; r++) {
        n += schedule->ranks[r].n;
    }
    struct inq_action *actions = inq_mem_alloc((n + 1) * sizeof *actions);
    copy.ranks = inq_mem_zalloc((size_t)schedule->n_ranks, sizeof *copy.ranks);
    int code = actions != NULL && copy.ranks != NULL
                   ? INQ_OK
                   : inq_err_set(err, INQ_NOMEM, "out of memory for linting");
    for (int32_t r = 0; code == INQ_OK && r < schedule->n_ranks; r++) {
        const struct inq_rank_actions *list = &schedule->ranks[r];
        memcpy(actions + at, list->actions, list->n * sizeof *actions);
        copy.ranks[r] = *list;
        copy.ranks[r].actions = actions + at;
        at += list->n;
    }
    if (code == INQ_OK) {
        code = mend(&m);
    }
    inq_mem_free(actions);
    inq_mem_free(copy.ranks);
    return code;
}

/* A circle is told where its story begins. */
static void place_circles(const struct inq_schedule *schedule, struct inq_lint *lint)
{
    for (size_t i = 0; lint->n_stuck > 0 && i < lint->n; i++) {
        struct inq_lint_problem *p = &lint->problems[i];
        if (p->error && p->rule == INQ_LINT_CYCLE && p->rank < 0) {
            const struct inq_rank_actions *list = &schedule->ranks[lint->stuck[0].rank];
            p->rank = lint->stuck[0].rank;
            p->position = lint->stuck[0].position;
            inq_action_format(&list->actions[index_of(list, p->position)], p->action,
                              sizeof p->action);
            place(schedule, p);
        }
    }
}

int inq_lint_schedule(const struct inq_schedule *schedule, const struct inq_csv_info *csv,
                      const struct inq_lint_options *options, struct inq_lint *lint,
                      struct inq_err *err)
{
    int code = examine(schedule, csv, options, lint, err);
    if (code != INQ_OK || !fails_by_order(lint)) {
        return code;
    }
    bool circle = false;
    for (size_t i = 0; i < lint->n; i++) {
        circle = circle || (lint->problems[i].error && lint->problems[i].rule == INQ_LINT_CYCLE);
    }
    if (lint->n_story == 0 && circle) {
        code = explain_order(schedule, lint, err);
        place_circles(schedule, lint);
    }
    if (code == INQ_OK) {
        code = find_remedy(schedule, options, lint, err);
    }
    if (code != INQ_OK) {
        inq_lint_release(lint);
    }
    return code;
}
