/* SPDX-License-Identifier: Apache-2.0 */
/* ZB-1p and ZB-2p: the Zero Bubble paper's greedy heuristic. It places one op after the other by
 * the times and the memory limit given, under eight combinations of three choices; the shortest
 * result counts. */
#include "schedule/schedule.h"

#include "base/mem.h"

#include <string.h>

/* The three choices. */
enum { EARLY_BUBBLE = 1, BACKWARD_FIRST = 2, FILL_ANY_GAP = 4, CHOICES = 8 };

enum { OP_F, OP_I, OP_W, OPS };

struct stage {
    struct inq_stage_cost cost;
    int32_t done[OPS];
    int32_t wanted; /* forwards to place in this round */
    int64_t end_ns, first_ns, bubble_ns;
    double held;
    int64_t *f_end, *i_end; /* [m] */
    uint8_t *order;         /* [3 m] kinds in the order placed */
};

struct greedy {
    int32_t p, m;
    const struct inq_costs *costs;
    double change[OPS]; /* of held memory */
    double limit;
    unsigned choice;
    int64_t worst_bubble_ns;
    struct stage *stages;
};

static int64_t cost_of(const struct stage *s, int kind)
{
    return kind == OP_F ? s->cost.f_ns : kind == OP_I ? s->cost.b_ns : s->cost.w_ns;
}

/* When the next op of this kind has its input; its producer must be placed. */
static int64_t arrival(const struct greedy *g, int32_t j, int kind)
{
    const struct stage *s = &g->stages[j];
    if (kind == OP_F && j > 0) {
        return g->stages[j - 1].f_end[s->done[OP_F]] + inq_transfer_ns(g->costs, j - 1, j);
    }
    if (kind == OP_I && j + 1 < g->p) {
        return g->stages[j + 1].i_end[s->done[OP_I]] + inq_transfer_ns(g->costs, j, j + 1);
    }
    return 0;
}

static void place(struct greedy *g, int32_t j, int kind)
{
    struct stage *s = &g->stages[j];
    int64_t ready = arrival(g, j, kind);
    int64_t start = ready > s->end_ns ? ready : s->end_ns;
    int32_t nth = s->done[kind];
    if (s->done[OP_F] > 0) {
        s->bubble_ns += start - s->end_ns;
        g->worst_bubble_ns = s->bubble_ns > g->worst_bubble_ns ? s->bubble_ns : g->worst_bubble_ns;
    } else {
        s->first_ns = start;
    }
    s->end_ns = start + cost_of(s, kind);
    s->held += g->change[kind];
    s->order[s->done[OP_F] + s->done[OP_I] + s->done[OP_W]] = (uint8_t)kind;
    if (kind != OP_W) {
        (kind == OP_F ? s->f_end : s->i_end)[nth] = s->end_ns;
    }
    s->done[kind] = nth + 1;
}

static bool has_weight(const struct stage *s)
{
    return s->done[OP_W] < s->done[OP_I];
}

static bool fits(const struct greedy *g, double held, int kind)
{
    /* a hair of slack: sums of fractions of an activation */
    return held + g->change[kind] <= g->limit * (1.0 + 1e-9);
}

/* Places an F or I of stage j, weight gradients before it where memory or a gap asks for them.
 * False when memory cannot be found. */
static bool place_filled(struct greedy *g, int32_t j, int kind)
{
    struct stage *s = &g->stages[j];
    while (!fits(g, s->held, kind)) {
        if (!has_weight(s)) {
            return false;
        }
        place(g, j, OP_W);
    }
    int64_t ready = arrival(g, j, kind);
    while (has_weight(s) && s->end_ns + s->cost.w_ns <= ready) {
        place(g, j, OP_W);
    }
    if (has_weight(s) && s->end_ns < ready) {
        bool cheap = ready - s->end_ns <= g->worst_bubble_ns - s->bubble_ns;
        if (!cheap || (g->choice & FILL_ANY_GAP) != 0) {
            place(g, j, OP_W);
        }
    }
    while (j == 0 && kind == OP_I && s->done[OP_F] == g->m && has_weight(s)) {
        place(g, j, OP_W);
    }
    place(g, j, kind);
    return true;
}

/* ---- first round ----------------------------------------------------------------------------- */

/* How many forwards more fit on stage j before its first gradient arrives at `gradient_ns`; *end_ns
 * is when the last of them ends. */
static int32_t count_warm_up(const struct greedy *g, int32_t j, int64_t gradient_ns,
                             int64_t *end_ns)
{
    const struct stage *s = &g->stages[j];
    double held = s->held;
    int32_t n = 0;
    *end_ns = s->end_ns;
    while (s->done[OP_F] + n < g->m && fits(g, held, OP_F)) {
        bool late = (g->choice & EARLY_BUBBLE) != 0 ? *end_ns + s->cost.f_ns > gradient_ns
                                                    : *end_ns >= gradient_ns;
        if (late) {
            break;
        }
        held += g->change[OP_F];
        *end_ns += s->cost.f_ns;
        n++;
    }
    return n;
}

static bool first_round(struct greedy *g)
{
    for (int32_t j = 0; j < g->p; j++) {
        if (!fits(g, 0.0, OP_F)) {
            return false;
        }
        place(g, j, OP_F);
    }
    int64_t gradient_ns = 0;
    for (int32_t j = g->p - 1; j >= 0; j--) {
        struct stage *s = &g->stages[j];
        int64_t end_ns = s->end_ns;
        s->wanted = j == g->p - 1 ? 0 : count_warm_up(g, j, gradient_ns, &end_ns);
        int64_t start = end_ns > gradient_ns ? end_ns : gradient_ns;
        gradient_ns = start + s->cost.b_ns + inq_transfer_ns(g->costs, j, j > 0 ? j - 1 : j);
    }
    for (int32_t j = 1; j < g->p; j++) {
        struct stage *s = &g->stages[j];
        while (s->wanted > 0 && s->wanted >= s[-1].wanted && s->done[OP_F] + s->wanted < g->m) {
            s->wanted--;
        }
    }
    for (int32_t j = 0; j < g->p; j++) {
        while (g->stages[j].wanted-- > 0) {
            place(g, j, OP_F);
        }
    }
    for (int32_t j = g->p - 1; j >= 0; j--) {
        place(g, j, OP_I);
    }
    return true;
}

/* ---- later rounds ---------------------------------------------------------------------------- */

/* Whether stage j should let its next forward wait so that the next stage keeps up. */
static bool holds_back(const struct greedy *g, int32_t j)
{
    const struct stage *s = &g->stages[j];
    if ((g->choice & BACKWARD_FIRST) == 0 || j + 1 >= g->p || s->done[OP_F] < s[1].done[OP_F] + 2) {
        return false;
    }
    int64_t next_ns =
        s[1].end_ns + s[1].cost.f_ns + s[1].cost.b_ns + inq_transfer_ns(g->costs, j, j + 1);
    if (s->end_ns >= next_ns) {
        return true;
    }
    int64_t end_ns = s->end_ns + s->cost.f_ns;
    double held = s->held;
    int32_t weights = s->done[OP_I] - s->done[OP_W];
    while (!fits(g, held, OP_F) && weights-- > 0) {
        held += g->change[OP_W];
        end_ns += s->cost.w_ns;
    }
    return end_ns > next_ns && next_ns - s->end_ns <= g->worst_bubble_ns - s->bubble_ns;
}

static bool round_of(struct greedy *g)
{
    for (int32_t j = 0; j < g->p; j++) {
        g->stages[j].wanted = g->stages[j].done[OP_F] < g->m && !holds_back(g, j);
    }
    for (int32_t j = g->p - 2; j >= 0; j--) {
        struct stage *s = &g->stages[j];
        s->wanted = s[1].wanted < s->wanted ? s[1].wanted : s->wanted;
    }
    bool ok = true;
    for (int32_t j = 0; ok && j < g->p; j++) {
        ok = g->stages[j].wanted == 0 || place_filled(g, j, OP_F);
    }
    for (int32_t j = g->p - 1; ok && j >= 0; j--) {
        ok = place_filled(g, j, OP_I);
    }
    return ok;
}

/* Runs the heuristic under g->choice; the span it takes, or -1 when memory does not do. */
static int64_t run(struct greedy *g)
{
    g->worst_bubble_ns = 0;
    for (int32_t j = 0; j < g->p; j++) {
        struct stage *s = &g->stages[j];
        memset(s->done, 0, sizeof s->done);
        s->end_ns = s->first_ns = s->bubble_ns = 0;
        s->held = 0.0;
    }
    bool ok = first_round(g);
    for (int32_t i = 1; ok && i < g->m; i++) {
        ok = round_of(g);
    }
    int64_t span = 0;
    for (int32_t j = 0; ok && j < g->p; j++) {
        struct stage *s = &g->stages[j];
        while (s->done[OP_W] < g->m) {
            place(g, j, OP_W);
        }
        span = s->end_ns - s->first_ns > span ? s->end_ns - s->first_ns : span;
    }
    return ok ? span : -1;
}

/* ---- the schedule ---------------------------------------------------------------------------- */

static void release(struct greedy *g)
{
    for (int32_t j = 0; g->stages != NULL && j < g->p; j++) {
        inq_mem_free(g->stages[j].f_end);
        inq_mem_free(g->stages[j].i_end);
        inq_mem_free(g->stages[j].order);
    }
    inq_mem_free(g->stages);
}

static int init(struct greedy *g, const struct inq_schedule_spec *spec, struct inq_err *err)
{
    *g = (struct greedy){.p = spec->n_ranks, .m = spec->n_microbatches, .costs = &spec->costs};
    static const uint8_t kinds[OPS] = {INQ_ACTION_F, INQ_ACTION_I, INQ_ACTION_W};
    for (int k = 0; k < OPS; k++) {
        g->change[k] = inq_memory_change(&spec->costs, kinds[k], 0);
    }
    size_t m = (size_t)g->m;
    g->stages = inq_mem_zalloc((size_t)g->p, sizeof *g->stages);
    bool ok = g->stages != NULL;
    for (int32_t j = 0; ok && j < g->p; j++) {
        struct stage *s = &g->stages[j];
        s->cost = *inq_stage_cost_of(&spec->costs, j);
        s->f_end = inq_mem_alloc(m * sizeof *s->f_end);
        s->i_end = inq_mem_alloc(m * sizeof *s->i_end);
        s->order = inq_mem_alloc(m * OPS);
        ok = s->f_end != NULL && s->i_end != NULL && s->order != NULL;
    }
    return ok ? INQ_OK : inq_err_set(err, INQ_NOMEM, "out of memory for a schedule");
}

static int write(const struct greedy *g, struct inq_schedule *schedule, struct inq_err *err)
{
    static const enum inq_action_kind kinds[OPS] = {INQ_ACTION_F, INQ_ACTION_I, INQ_ACTION_W};
    int code = INQ_OK;
    for (int32_t j = 0; code == INQ_OK && j < g->p; j++) {
        int32_t done[OPS] = {0};
        schedule->stage_rank[j] = j;
        for (int32_t i = 0; code == INQ_OK && i < OPS * g->m; i++) {
            int kind = g->stages[j].order[i];
            code = inq_schedule_append(schedule, j, kinds[kind], j, done[kind]++, err);
        }
    }
    return code;
}

static int search(struct greedy *g, struct inq_schedule *schedule, struct inq_err *err)
{
    int64_t best_span = -1;
    unsigned best = 0;
    for (g->choice = 0; g->choice < CHOICES; g->choice++) {
        int64_t span = run(g);
        if (span >= 0 && (best_span < 0 || span < best_span)) {
            best_span = span;
            best = g->choice;
        }
    }
    if (best_span < 0) {
        return inq_err_set(err, INQ_USAGE,
                           "a memory limit of %.6g holds no schedule: one forward takes %.6g, and "
                           "what its backward frees must let the next one in",
                           g->limit, g->change[OP_F]);
    }
    if (best != CHOICES - 1) {
        g->choice = best;
        (void)run(g);
    }
    return write(g, schedule, err);
}

static int make(const struct inq_schedule_spec *spec, double activations,
                struct inq_schedule *schedule, struct inq_err *err)
{
    int code =
        inq_schedule_start(spec->n_ranks, spec->n_ranks, spec->n_microbatches, schedule, err);
    if (code != INQ_OK || spec->n_microbatches == 0) {
        return code;
    }
    struct greedy g;
    code = init(&g, spec, err);
    g.limit = spec->memory_limit > 0.0 ? spec->memory_limit : activations * g.change[OP_F];
    if (code == INQ_OK) {
        code = search(&g, schedule, err);
    }
    release(&g);
    return code;
}

static int make_zb_1p(const struct inq_schedule_spec *spec, struct inq_schedule *schedule,
                      struct inq_err *err)
{
    return make(spec, (double)spec->n_ranks, schedule, err);
}

static int make_zb_2p(const struct inq_schedule_spec *spec, struct inq_schedule *schedule,
                      struct inq_err *err)
{
    return make(spec, 2.0 * (double)spec->n_ranks, schedule, err);
}

int inq_make_zb_greedy(const struct inq_schedule_spec *spec, struct inq_schedule *schedule,
                       struct inq_err *err)
{
    static const struct inq_schedule_generator generators[] = {
        {"zb-1p", make_zb_1p},
        {"zb-2p", make_zb_2p},
    };
    return inq_schedule_generate(generators, sizeof generators / sizeof *generators, spec, schedule,
                                 err);
}
