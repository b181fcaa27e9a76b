/* SPDX-License-Identifier: Apache-2.0 */
/* What-if analysis of stragglers: T, T_ideal, S and its decompositions, as the OSDI'25 analysis
 * defines them. */
#include "analysis/whatif/whatif.h"

#include "analysis/analysis.h"
#include "base/arena.h"
#include "base/mem.h"
#include "base/sort.h"
#include "base/stats.h"

#include <math.h>

/* One part of the job that keeps its durations while all else is ideal. */
struct part {
    const char *name;
    uint32_t types; /* 0: the part is a stage */
    size_t stage;
};

struct whatif {
    const struct inq_op_study *study;
    const struct inq_op_model *m;
    struct inq_arena *arena; /* the report's */
    struct inq_arena *scratch;
    struct inq_whatif *w;
    size_t n_parts, n_types;
    struct part *parts; /* types, then stages */
    int64_t *t_ns;      /* [2 + n_parts][stride]: original, ideal, parts */
    int64_t *dp_ns;     /* [n_dp][stride] */
    int64_t *end_ns;    /* [3][n_ops] ends, durations, delays of a replay */
    int64_t *replay_ns; /* [stride] */
    uint8_t *worst;     /* [n_dp * n_stages] the slowest workers */
};

static int no_memory(struct inq_err *err)
{
    return inq_err_set(err, INQ_NOMEM, "out of memory for the what-if analysis");
}

/* ---- parts ----------------------------------------------------------------------------------- */

static bool has_type(const struct inq_op_model *m, uint32_t types)
{
    for (size_t i = 0; i < m->shape.n; i++) {
        if ((types & INQ_TYPE_BIT(m->shape.op[i].type)) != 0) {
            return true;
        }
    }
    return false;
}

/* Sends and receives of one direction are one part. */
static int list_parts(struct whatif *x, struct inq_err *err)
{
    const struct inq_op_model *m = x->m;
    x->parts = inq_arena_array(x->scratch, INQ_OP_TYPE_COUNT + m->n_stages, sizeof *x->parts);
    if (x->parts == NULL) {
        return no_memory(err);
    }
    for (uint32_t type = 1; type < INQ_OP_TYPE_COUNT; type++) {
        struct part part = {inq_op_type_text((enum inq_op_type)type), INQ_TYPE_BIT(type), 0};
        if (type == INQ_OP_FORWARD_RECV || type == INQ_OP_BACKWARD_RECV) {
            continue;
        }
        if (type == INQ_OP_FORWARD_SEND) {
            part.name = "forward-pp-comm";
            part.types |= INQ_TYPE_BIT(INQ_OP_FORWARD_RECV);
        } else if (type == INQ_OP_BACKWARD_SEND) {
            part.name = "backward-pp-comm";
            part.types |= INQ_TYPE_BIT(INQ_OP_BACKWARD_RECV);
        }
        if (has_type(m, part.types)) {
            x->parts[x->n_parts++] = part;
        }
    }
    x->n_types = x->n_parts;
    for (size_t s = 0; s < m->n_stages; s++) {
        const char *name = inq_arena_asprintf(x->arena, "%d", m->stage_number[s]);
        if (name == NULL) {
            return no_memory(err);
        }
        x->parts[x->n_parts++] = (struct part){name, 0, s};
    }
    return INQ_OK;
}

static int run_parts(struct whatif *x, struct inq_err *err)
{
    size_t n = 2 + x->n_parts;
    struct inq_op_case *cases = inq_arena_array(x->scratch, n, sizeof *cases);
    x->t_ns = inq_arena_array(x->scratch, n * x->m->stride, sizeof *x->t_ns);
    x->dp_ns = inq_arena_array(x->scratch, x->m->n_dp * x->m->stride, sizeof *x->dp_ns);
    if (cases == NULL || x->t_ns == NULL || x->dp_ns == NULL) {
        return no_memory(err);
    }
    cases[0] = (struct inq_op_case){inq_op_filter_all(), x->m->dur_ns, NULL};
    cases[1] = (struct inq_op_case){inq_op_filter_all(), NULL, NULL};
    for (size_t k = 0; k < x->n_parts; k++) {
        struct inq_op_filter filter = inq_op_filter_all();
        if (x->parts[k].types != 0) {
            filter.types = x->parts[k].types;
        } else {
            filter.stage = (int64_t)x->parts[k].stage;
        }
        cases[2 + k] = (struct inq_op_case){filter, x->m->dur_ns, NULL};
    }
    int code = inq_op_cases_run(x->study, cases, n, x->t_ns, err);
    return code == INQ_OK ? inq_op_replicas_run(x->study, x->dp_ns, err) : code;
}

/* ---- results --------------------------------------------------------------------------------- */

static double ratio(int64_t a, int64_t b)
{
    return b != 0 ? (double)a / (double)b : (double)NAN;
}

static int fill_ratio(struct whatif *x, const int64_t *t_ns, struct inq_named_ratio *out,
                      struct inq_err *err)
{
    const struct inq_op_model *m = x->m;
    const int64_t *ideal = x->t_ns + m->stride;
    out->slowdown = ratio(inq_steps_sum(m, t_ns), inq_steps_sum(m, ideal));
    out->t_ns = inq_steps_mean(m, t_ns);
    out->stage = -1;
    out->dp_rank = -1;
    out->rank = -1;
    out->per_step = inq_arena_array(x->arena, m->n_steps, sizeof *out->per_step);
    if (out->per_step == NULL) {
        return no_memory(err);
    }
    for (size_t t = 0; t < m->n_steps; t++) {
        out->per_step[t] = ratio(t_ns[t], ideal[t]);
    }
    return INQ_OK;
}

static int fill_parts(struct whatif *x, struct inq_err *err)
{
    const struct inq_op_model *m = x->m;
    struct inq_whatif *w = x->w;
    struct inq_named_ratio *all = inq_arena_array(x->arena, x->n_parts + m->n_dp, sizeof *all);
    if (all == NULL) {
        return no_memory(err);
    }
    w->n_by_op_type = x->n_types;
    w->by_op_type = all;
    w->n_by_stage = m->n_stages;
    w->by_stage = all + x->n_types;
    w->n_by_dp_rank = m->n_dp;
    w->by_dp_rank = all + x->n_parts;
    for (size_t k = 0; k < x->n_parts; k++) {
        int code = fill_ratio(x, x->t_ns + (2 + k) * m->stride, &all[k], err);
        if (code != INQ_OK) {
            return code;
        }
        all[k].name = x->parts[k].name;
        all[k].stage = x->parts[k].types == 0 ? m->stage_number[x->parts[k].stage] : -1;
    }
    for (size_t d = 0; d < m->n_dp; d++) {
        struct inq_named_ratio *out = &w->by_dp_rank[d];
        int code = fill_ratio(x, x->dp_ns + d * m->stride, out, err);
        out->name = inq_arena_asprintf(x->arena, "%d", m->dp_number[d]);
        if (code != INQ_OK || out->name == NULL) {
            return code != INQ_OK ? code : no_memory(err);
        }
        out->dp_rank = m->dp_number[d];
    }
    return INQ_OK;
}

static int fill_steps(struct whatif *x, struct inq_err *err)
{
    const struct inq_op_model *m = x->m;
    struct inq_whatif *w = x->w;
    w->n_by_step = m->n_steps;
    w->by_step = inq_arena_array(x->arena, m->n_steps, sizeof *w->by_step);
    w->steps = inq_arena_array(x->arena, m->n_steps, sizeof *w->steps);
    if (w->by_step == NULL || w->steps == NULL) {
        return no_memory(err);
    }
    for (size_t t = 0; t < m->n_steps; t++) {
        int64_t own = x->t_ns[t];
        int64_t ideal = x->t_ns[m->stride + t];
        const char *name = inq_arena_asprintf(x->arena, "%lld", (long long)m->step[t]);
        if (name == NULL) {
            return no_memory(err);
        }
        w->steps[t] =
            (struct inq_whatif_step){m->step[t], m->recorded_ns[t], own,
                                     ideal,      ratio(own, ideal), ratio(m->recorded_ns[t], own)};
        w->by_step[t] = (struct inq_named_ratio){name, ratio(own, ideal), own, -1, -1, -1, NULL};
    }
    return INQ_OK;
}

/* Mean step with the recorded launch delays too: what the model itself makes of the record. */
static int64_t replay(struct whatif *x)
{
    const struct inq_op_model *m = x->m;
    size_t n = m->graph->n_ops;
    int64_t *dur = x->end_ns + n;
    int64_t *delay = x->end_ns + 2 * n;
    for (size_t t = 0; t < m->n_steps; t++) {
        for (size_t i = 0; i < n; i++) {
            dur[i] = m->dur_ns[i * m->stride + t];
            delay[i] = m->delay_ns[i * m->stride + t];
        }
        x->replay_ns[t] = inq_simulate(m->graph, dur, delay, NULL, x->end_ns) + m->tail_ns[t];
    }
    return inq_steps_mean(m, x->replay_ns);
}

static int fill_totals(struct whatif *x, struct inq_err *err)
{
    const struct inq_op_model *m = x->m;
    struct inq_whatif *w = x->w;
    const int64_t *ideal = x->t_ns + m->stride;
    x->end_ns = inq_arena_array(x->scratch, 3 * m->graph->n_ops, sizeof *x->end_ns);
    x->replay_ns = inq_arena_array(x->scratch, m->stride, sizeof *x->replay_ns);
    if (x->end_ns == NULL || x->replay_ns == NULL) {
        return no_memory(err);
    }
    w->t_ns = inq_steps_mean(m, x->t_ns);
    w->t_ideal_ns = inq_steps_mean(m, ideal);
    w->recorded_ns = inq_steps_mean(m, m->recorded_ns);
    w->replayed_ns = replay(x);
    w->slowdown = ratio(inq_steps_sum(m, x->t_ns), inq_steps_sum(m, ideal));
    w->launch_slowdown = ratio(inq_steps_sum(m, m->recorded_ns), inq_steps_sum(m, x->t_ns));
    w->n_dropped_steps = m->n_dropped;
    w->n_warm_up_steps = m->n_warm_up;
    return INQ_OK;
}

/* ---- workers --------------------------------------------------------------------------------- */

static int32_t rank_of_worker(const struct whatif *x, size_t worker)
{
    const struct inq_trace *trace = x->study->trace;
    return trace->ranks[x->m->worker_rank[worker]].rank;
}

/* S of a worker is the smaller of its replica's and its stage's. */
static int fill_workers(struct whatif *x, struct inq_err *err)
{
    const struct inq_op_model *m = x->m;
    struct inq_whatif *w = x->w;
    w->n_by_worker = m->n_dp * m->n_stages;
    w->by_worker = inq_arena_array(x->arena, w->n_by_worker, sizeof *w->by_worker);
    if (w->by_worker == NULL) {
        return no_memory(err);
    }
    for (size_t k = 0; k < w->n_by_worker; k++) {
        const struct inq_named_ratio *dp = &w->by_dp_rank[k / m->n_stages];
        const struct inq_named_ratio *stage = &w->by_stage[k % m->n_stages];
        int32_t rank = rank_of_worker(x, k);
        const char *name =
            rank >= 0 ? inq_arena_asprintf(x->arena, "%d", rank)
                      : inq_arena_asprintf(x->arena, "dp %d stage %d", dp->dp_rank, stage->stage);
        if (name == NULL) {
            return no_memory(err);
        }
        double s = dp->slowdown < stage->slowdown ? dp->slowdown : stage->slowdown;
        w->by_worker[k] =
            (struct inq_named_ratio){name, s, -1, stage->stage, dp->dp_rank, rank, NULL};
    }
    return INQ_OK;
}

/* Whether worker a goes before worker b: higher score first, of equal ones the smaller rank. */
static bool slower(const struct inq_whatif *w, size_t a, size_t b)
{
    const struct inq_named_ratio *x = &w->by_worker[a];
    const struct inq_named_ratio *y = &w->by_worker[b];
    if (x->slowdown > y->slowdown) {
        return true;
    }
    if (x->slowdown < y->slowdown) {
        return false;
    }
    return x->rank != y->rank ? x->rank < y->rank : a < b;
}

static int compare_workers(const void *a, const void *b, void *ctx)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return slower(ctx, x, y) ? -1 : slower(ctx, y, x);
}

/* M_W: the slowest 3 % of the workers ideal; M_S: the last stage. */
static int fill_m(struct whatif *x, struct inq_err *err)
{
    const struct inq_op_model *m = x->m;
    struct inq_whatif *w = x->w;
    size_t n = w->n_by_worker;
    uint32_t *order = inq_arena_array(x->scratch, n, sizeof *order);
    int64_t *t_ns = inq_arena_array(x->scratch, 2 * m->stride, sizeof *t_ns);
    x->worst = inq_arena_array(x->scratch, n, sizeof *x->worst);
    if (order == NULL || t_ns == NULL || x->worst == NULL) {
        return no_memory(err);
    }
    for (size_t k = 0; k < n; k++) {
        order[k] = (uint32_t)k;
    }
    int code = inq_sort(order, n, sizeof *order, compare_workers, w, err);
    for (size_t k = 0; k < (3 * n + 99) / 100; k++) {
        x->worst[order[k]] = 1;
    }
    struct inq_op_case cases[2] = {{inq_op_filter_all(), NULL, m->dur_ns},
                                   {inq_op_filter_all(), NULL, m->dur_ns}};
    cases[0].filter.workers = x->worst;
    cases[1].filter.stage = (int64_t)m->n_stages - 1;
    if (code == INQ_OK) {
        code = inq_op_cases_run(x->study, cases, 2, t_ns, err);
    }
    if (code != INQ_OK) {
        return code;
    }
    int64_t t = inq_steps_sum(m, x->t_ns);
    int64_t lost = t - inq_steps_sum(m, x->t_ns + m->stride);
    w->m_w = lost > 0 ? ratio(t - inq_steps_sum(m, t_ns), lost) : (double)NAN;
    w->m_s = lost > 0 ? ratio(t - inq_steps_sum(m, t_ns + m->stride), lost) : (double)NAN;
    w->m_w_t_ns = inq_steps_mean(m, t_ns);
    w->m_s_t_ns = inq_steps_mean(m, t_ns + m->stride);
    return INQ_OK;
}

/* ---- ideals ---------------------------------------------------------------------------------- */

static int64_t ideal_of(const struct inq_op_model *m, uint8_t type, int64_t *space)
{
    size_t n = 0;
    int64_t sum = 0;
    for (size_t i = 0; i < m->graph->n_ops; i++) {
        if (m->graph->op[i].type != type) {
            continue;
        }
        for (size_t t = 0; t < m->n_steps; t++) {
            space[n] = m->dur_ns[i * m->stride + t];
            sum += space[n++];
        }
    }
    if (n == 0) {
        return 0;
    }
    int64_t count = (int64_t)n;
    int64_t half = sum < 0 ? -count / 2 : count / 2;
    return inq_op_is_comm(type) ? inq_median_i64(space, n) : (sum + half) / count;
}

static int study_init(struct inq_op_study *study, const struct inq_trace *trace,
                      const struct inq_op_model *model, int jobs, struct inq_err *err)
{
    *study = (struct inq_op_study){.trace = trace, .model = model, .jobs = jobs};
    int64_t *space = inq_mem_alloc(model->graph->n_ops * model->n_steps * sizeof *space);
    if (space == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu durations",
                           model->graph->n_ops * model->n_steps);
    }
    for (int type = 1; type < INQ_OP_TYPE_COUNT; type++) {
        study->ideal_ns[type] = ideal_of(model, (uint8_t)type, space);
    }
    inq_mem_free(space);
    return INQ_OK;
}

/* ---- all together ---------------------------------------------------------------------------- */

int inq_run_whatif(const struct inq_trace *trace, const struct inq_analysis_options *options,
                   struct inq_report *report, struct inq_err *err)
{
    static int (*const parts[])(struct whatif *, struct inq_err *) = {
        list_parts, run_parts, fill_totals, fill_parts, fill_steps, fill_workers, fill_m,
    };
    const struct inq_op_model *model = NULL;
    struct inq_op_study study;
    int code = inq_op_model_shared(trace, report, &model, err);
    if (code != INQ_OK || model == NULL) {
        return code;
    }
    code = study_init(&study, trace, model, options->jobs, err);
    if (code != INQ_OK) {
        return code;
    }
    struct inq_arena scratch = {0};
    struct whatif x = {.study = &study, .m = model, .arena = report->arena, .scratch = &scratch};
    x.w = inq_arena_alloc(report->arena, sizeof *x.w);
    if (x.w == NULL) {
        return no_memory(err);
    }
    for (size_t k = 0; code == INQ_OK && k < sizeof parts / sizeof parts[0]; k++) {
        code = parts[k](&x, err);
    }
    if (code == INQ_OK) {
        report->whatif = x.w;
        code = inq_whatif_find_causes(&study, report, x.worst, err);
    }
    if (code == INQ_OK) {
        code = inq_whatif_answer(&study, options, report, err);
    }
    inq_arena_release(&scratch);
    return code;
}
