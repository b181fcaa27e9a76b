/* SPDX-License-Identifier: Apache-2.0 */
/* The pipeline a run was: schedule, bubbles, stages, and the waterfall from its steps to the ideal.
 */
#include "analysis/pipeline/pipeline.h"

#include "analysis/analysis.h"
#include "analysis/whatif/whatif.h"
#include "base/arena.h"
#include "base/mem.h"
#include "base/par.h"
#include "base/sort.h"
#include "base/stats.h"

#include <math.h>
#include <string.h>

/* From the recorded step to the ideal: one cause after the other is taken away and the step is
 * simulated again; a part is what it got shorter by, so that the parts sum to the step exactly. */

static const char *waterfall_text(enum inq_waterfall_cause cause)
{
    static const char *const text[] = {
        "ideal",        "schedule",        "optimizer_and_other",  "gradient_sync",
        "p2p_transfer", "stage_imbalance", "microbatch_variation", "stragglers",
        "host_gaps",    "unexplained"};
    return cause < INQ_WATERFALL_CAUSES ? text[cause] : "";
}

struct waterfall {
    const struct inq_op_model *m;
    const double *told; /* [n_dp * n_stages] pace of a straggler by the account; 0: it tells none */
    struct inq_op_bins workers, stages;
    size_t n_ranges;
    int64_t *parts_ns;
};

/* One step on its way down. */
struct fall {
    const struct waterfall *f;
    int64_t *dur, *delay, *end; /* [n_ops] */
    int64_t *means;             /* [n_dp + n_stages] */
    double *pace;               /* [n_dp * n_stages] */
};

static int64_t simulate(const struct fall *x)
{
    return inq_simulate(x->f->m->graph, x->dur, x->delay, NULL, x->end);
}

static int64_t bin_mean(const struct fall *x, const struct inq_op_bins *bins, size_t bin)
{
    size_t n = bins->start[bin + 1] - bins->start[bin];
    int64_t sum = 0;
    for (size_t k = bins->start[bin]; k < bins->start[bin + 1]; k++) {
        sum += x->dur[bins->op[k]];
    }
    return n > 0 ? sum / (int64_t)n : 0;
}

/* ---- taking causes away ---------------------------------------------------------------------- */

/* Median gap before an op of compute that follows one of its own worker. */
static int64_t usual_gap(const struct inq_op_model *m, size_t step, int64_t *space)
{
    size_t n = 0;
    for (size_t i = 0; i < m->graph->n_ops; i++) {
        bool follows = m->graph->dep_start[i] < m->graph->dep_start[i + 1];
        if (!follows || !inq_op_is_compute(m->graph->op[i].type) || inq_op_needs_stage(m, i)) {
            continue;
        }
        space[n++] = m->delay_ns[i * m->stride + step];
    }
    return inq_lower_median_i64(space, n);
}

/* Transfers into a stage carry the same bytes: what takes more than this many times as long as the
 * usual one is not the transfer, but a host that paused before or during it. */
enum { LONGEST_TRANSFER = 2 };

static bool has_link(const struct fall *x, size_t op, int64_t usual_ns)
{
    return x->delay[op] > usual_ns && inq_op_needs_stage(x->f->m, op);
}

/* Longest delay beyond the usual gap that is a transfer, for ops of one type on one stage. */
static int64_t longest_transfer(const struct fall *x, const struct inq_op_bins *bins, size_t bin,
                                int64_t usual_ns, int64_t *space)
{
    size_t n = 0;
    for (size_t k = bins->start[bin]; k < bins->start[bin + 1]; k++) {
        if (has_link(x, bins->op[k], usual_ns)) {
            space[n++] = x->delay[bins->op[k]] - usual_ns;
        }
    }
    return LONGEST_TRANSFER * inq_lower_median_i64(space, n);
}

/* Delays. Where transfers were not recorded, what an op that needs another stage was delayed beyond
 * the usual gap before an op is the transfer, as long as one may take: only that stays. */
static void remove_host_gaps(struct fall *x, size_t step)
{
    const struct inq_op_bins *bins = &x->f->stages;
    int64_t usual_ns = usual_gap(x->f->m, step, x->end);
    for (size_t bin = 0; bin < bins->n; bin++) {
        int64_t longest_ns = longest_transfer(x, bins, bin, usual_ns, x->end);
        for (size_t k = bins->start[bin]; k < bins->start[bin + 1]; k++) {
            uint32_t op = bins->op[k];
            int64_t beyond_ns = has_link(x, op, usual_ns) ? x->delay[op] - usual_ns : 0;
            x->delay[op] = beyond_ns < longest_ns ? beyond_ns : longest_ns;
        }
    }
}

/* Whether the account tells all workers of a stage as stragglers: none is left to compare with. */
static bool are_all_told(const struct fall *x, size_t stage)
{
    for (size_t d = 0; d < x->f->m->n_dp; d++) {
        if (x->f->told[d * x->f->m->n_stages + stage] <= 0.0) {
            return false;
        }
    }
    return true;
}

/* Compute of each worker against the median worker of its stage (of an even number the faster), or
 * by the account, which compares with other stages as well. */
static void find_paces(struct fall *x)
{
    const struct inq_op_model *m = x->f->m;
    size_t workers = m->n_dp * m->n_stages;
    for (size_t w = 0; w < workers; w++) {
        const size_t *start = x->f->workers.start + w * INQ_OP_TYPE_COUNT;
        int64_t sum = 0;
        for (size_t k = start[0]; k < start[INQ_OP_TYPE_COUNT]; k++) {
            uint32_t op = x->f->workers.op[k];
            sum += inq_op_is_compute(m->graph->op[op].type) ? x->dur[op] : 0;
        }
        x->pace[w] = (double)sum;
    }
    for (size_t s = 0; s < m->n_stages; s++) {
        for (size_t d = 0; d < m->n_dp; d++) {
            x->means[d] = (int64_t)x->pace[d * m->n_stages + s];
        }
        int64_t median = inq_lower_median_i64(x->means, m->n_dp);
        bool told = are_all_told(x, s);
        for (size_t d = 0; d < m->n_dp; d++) {
            double *pace = &x->pace[d * m->n_stages + s];
            *pace = median > 0 && *pace > 0.0 ? *pace / (double)median : 1.0;
            *pace = told ? x->f->told[d * m->n_stages + s] : *pace;
        }
    }
}

/* Workers of a stage compute at the pace of the median one. What all stages of a replica have in
 * common is the replica's data, not its workers. */
static void remove_stragglers(struct fall *x)
{
    const struct inq_op_model *m = x->f->m;
    const int64_t ppb = 1000000000;
    find_paces(x);
    for (size_t d = 0; d < m->n_dp; d++) {
        double *pace = &x->pace[d * m->n_stages];
        for (size_t s = 0; s < m->n_stages; s++) {
            x->means[s] = (int64_t)(pace[s] * (double)ppb);
        }
        double common = (double)inq_lower_median_i64(x->means, m->n_stages) / (double)ppb;
        for (size_t s = 0; s < m->n_stages; s++) {
            pace[s] = common > 0.0 ? pace[s] / common : 1.0;
        }
    }
    for (size_t i = 0; i < m->graph->n_ops; i++) {
        if (inq_op_is_compute(m->graph->op[i].type)) {
            x->dur[i] = (int64_t)((double)x->dur[i] / x->pace[inq_op_worker(m, i)] + 0.5);
        }
    }
}

/* All micro-batches of a stage take the mean. */
static void remove_variation(struct fall *x)
{
    const struct inq_op_bins *bins = &x->f->stages;
    for (size_t bin = 0; bin < bins->n; bin++) {
        if (!inq_op_is_compute((uint8_t)(bin % INQ_OP_TYPE_COUNT))) {
            continue;
        }
        int64_t mean = bin_mean(x, bins, bin);
        for (size_t k = bins->start[bin]; k < bins->start[bin + 1]; k++) {
            x->dur[bins->op[k]] = mean;
        }
    }
}

/* Work moves until all stages compute equally long, as the account's repair has it: its sum stays.
 */
static void remove_imbalance(struct fall *x)
{
    const struct inq_op_model *m = x->f->m;
    double *stage_ns = x->pace;
    double all_ns = 0.0;
    memset(stage_ns, 0, m->n_stages * sizeof *stage_ns);
    for (size_t i = 0; i < m->graph->n_ops; i++) {
        if (inq_op_is_compute(m->graph->op[i].type)) {
            stage_ns[m->graph->op[i].stage] += (double)x->dur[i];
            all_ns += (double)x->dur[i];
        }
    }
    double mean_ns = all_ns / (double)m->n_stages;
    for (size_t i = 0; i < m->graph->n_ops; i++) {
        double own_ns = stage_ns[m->graph->op[i].stage];
        if (inq_op_is_compute(m->graph->op[i].type) && own_ns > 0.0) {
            x->dur[i] = (int64_t)((double)x->dur[i] * mean_ns / own_ns + 0.5);
        }
    }
}

static bool is_sync(uint8_t type)
{
    return inq_op_is_comm(type) && !inq_op_is_p2p(type);
}

static bool is_other(uint8_t type)
{
    return !inq_op_is_comm(type) && !inq_op_is_compute(type);
}

static void remove_types(struct fall *x, bool (*which)(uint8_t type))
{
    const struct inq_graph *g = x->f->m->graph;
    for (size_t i = 0; i < g->n_ops; i++) {
        if (which(g->op[i].type)) {
            x->dur[i] = 0;
        }
    }
}

/* Compute of the mean worker. */
static int64_t mean_compute(const struct fall *x)
{
    const struct inq_op_model *m = x->f->m;
    int64_t sum = 0;
    for (size_t i = 0; i < m->graph->n_ops; i++) {
        sum += inq_op_is_compute(m->graph->op[i].type) ? x->dur[i] : 0;
    }
    return sum / (int64_t)(m->n_dp * m->n_stages);
}

/* left[k]: what is left of the step with everything from part k on taken away. */
static void take_away(struct fall *x, size_t step, int64_t left[INQ_WATERFALL_CAUSES + 1])
{
    const struct inq_op_model *m = x->f->m;
    left[INQ_WATERFALL_CAUSES] = m->recorded_ns[step];
    left[INQ_WATERFALL_UNEXPLAINED] = simulate(x) + m->tail_ns[step]; /* the tail is a host gap */
    remove_host_gaps(x, step);
    left[INQ_WATERFALL_HOST] = simulate(x);
    remove_stragglers(x);
    left[INQ_WATERFALL_STRAGGLERS] = simulate(x);
    remove_variation(x);
    left[INQ_WATERFALL_VARIATION] = simulate(x);
    remove_imbalance(x);
    left[INQ_WATERFALL_IMBALANCE] = simulate(x);
    memset(x->delay, 0, m->graph->n_ops * sizeof *x->delay);
    remove_types(x, inq_op_is_p2p);
    left[INQ_WATERFALL_P2P] = simulate(x);
    remove_types(x, is_sync);
    left[INQ_WATERFALL_SYNC] = simulate(x);
    remove_types(x, is_other);
    left[INQ_WATERFALL_OPTIMIZER] = simulate(x);
    left[INQ_WATERFALL_SCHEDULE] = mean_compute(x);
    left[INQ_WATERFALL_IDEAL] = 0;
}

/* ---- all steps ------------------------------------------------------------------------------- */

static int fall_range(void *ctx, size_t range, struct inq_err *err)
{
    const struct waterfall *f = ctx;
    const struct inq_op_model *m = f->m;
    size_t n = m->graph->n_ops;
    int64_t *space = inq_mem_alloc((3 * n + m->n_dp + m->n_stages) * sizeof *space);
    double *pace = inq_mem_alloc(m->n_dp * m->n_stages * sizeof *pace);
    if (space == NULL || pace == NULL) {
        inq_mem_free(space);
        inq_mem_free(pace);
        return inq_err_set(err, INQ_NOMEM, "out of memory for the waterfall of %zu ops", n);
    }
    struct fall x = {f, space, space + n, space + 2 * n, space + 3 * n, pace};
    size_t last = m->n_steps * (range + 1) / f->n_ranges;
    for (size_t t = m->n_steps * range / f->n_ranges; t < last; t++) {
        int64_t left[INQ_WATERFALL_CAUSES + 1];
        for (size_t i = 0; i < n; i++) {
            x.dur[i] = m->dur_ns[i * m->stride + t];
            x.delay[i] = m->delay_ns[i * m->stride + t];
        }
        take_away(&x, t, left);
        for (size_t k = 0; k < INQ_WATERFALL_CAUSES; k++) {
            f->parts_ns[t * INQ_WATERFALL_CAUSES + k] = left[k + 1] - left[k];
        }
    }
    inq_mem_free(space);
    inq_mem_free(pace);
    return INQ_OK;
}

/* Each step's parts into parts_ns[n_steps][INQ_WATERFALL_CAUSES]; they sum to the recorded step.
 * told: as in struct waterfall. */
static int waterfall_steps(const struct inq_op_model *model, const double *told, int jobs,
                           int64_t *parts_ns, struct inq_err *err)
{
    size_t ranges = (size_t)inq_threads(jobs);
    ranges = ranges < model->n_steps ? ranges : model->n_steps;
    struct waterfall f = {.m = model, .told = told, .n_ranges = ranges, .parts_ns = parts_ns};
    int code = inq_op_bins_sort(model, true, &f.workers, err);
    if (code == INQ_OK) {
        code = inq_op_bins_sort(model, false, &f.stages, err);
    }
    if (code == INQ_OK) {
        code = inq_par_for(ranges, jobs, fall_range, &f, err);
    }
    inq_op_bins_release(&f.workers);
    inq_op_bins_release(&f.stages);
    return code;
}

/* What each stage did with the recorded step: every instant of every worker belongs to exactly one
 * kind. */

/* An instant belongs to the first of these that goes on. */
enum kind { COMPUTE, P2P, SYNC, OTHER, KINDS };

/* An op begins or ends: the instant, then what it is, in one number, so that instants sort as
 * numbers. What fits beside INQ_OP_MODEL_MOST_NS. */
enum { BEGINS = 4, EDGE_BITS = 3 };

struct stage_sums {
    const struct inq_op_model *m;
    size_t *worker_start; /* [workers + 1] into op */
    uint32_t *op;         /* ops by worker */
    size_t n_ranges;
    int64_t *sums; /* [n_ranges][n_stages][KINDS] */
};

static enum kind kind_of(uint8_t type)
{
    if (inq_op_is_compute(type)) {
        return COMPUTE;
    }
    return inq_op_is_p2p(type) ? P2P : inq_op_is_comm(type) ? SYNC : OTHER;
}

/* The op itself; of a transfer what comes after the last arrival. */
static size_t add_edges(const struct inq_op_model *m, uint32_t op, size_t step, int64_t *edges)
{
    size_t cell = op * m->stride + step;
    int64_t start = m->start_ns[cell];
    int64_t end = m->end_ns[cell];
    int64_t moving = end - m->dur_ns[cell];
    start = moving > start ? moving : start;
    if (end <= start) {
        return 0;
    }
    int64_t kind = kind_of(m->graph->op[op].type);
    edges[0] = (start << EDGE_BITS) + BEGINS + kind;
    edges[1] = (end << EDGE_BITS) + kind;
    return 2;
}

/* Sorts the edges. */
static void sum_edges(int64_t *edges, size_t n, int64_t sums[KINDS])
{
    int64_t going[KINDS] = {0};
    int64_t since = 0;
    inq_sort_i64(edges, n);
    for (size_t i = 0; i < n; i++) {
        int64_t at = edges[i] >> EDGE_BITS;
        int kind = 0;
        while (kind < KINDS && going[kind] == 0) {
            kind++;
        }
        if (kind < KINDS) {
            sums[kind] += at - since;
        }
        going[edges[i] & (BEGINS - 1)] += (edges[i] & BEGINS) != 0 ? 1 : -1;
        since = at;
    }
}

static int sum_range(void *ctx, size_t range, struct inq_err *err)
{
    const struct stage_sums *s = ctx;
    const struct inq_op_model *m = s->m;
    size_t workers = m->n_dp * m->n_stages;
    int64_t *sums = s->sums + range * m->n_stages * KINDS;
    int64_t *edges = inq_mem_alloc(2 * m->graph->n_ops * sizeof *edges);
    if (edges == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu ops", m->graph->n_ops);
    }
    size_t last = m->n_steps * (range + 1) / s->n_ranges;
    for (size_t t = m->n_steps * range / s->n_ranges; t < last; t++) {
        for (size_t w = 0; w < workers; w++) {
            size_t n = 0;
            for (size_t k = s->worker_start[w]; k < s->worker_start[w + 1]; k++) {
                n += add_edges(m, s->op[k], t, edges + n);
            }
            sum_edges(edges, n, sums + w % m->n_stages * KINDS);
        }
    }
    inq_mem_free(edges);
    return INQ_OK;
}

static int sort_by_worker(struct stage_sums *s, struct inq_err *err)
{
    const struct inq_op_model *m = s->m;
    size_t workers = m->n_dp * m->n_stages;
    s->worker_start = inq_mem_zalloc(workers + 2, sizeof *s->worker_start);
    s->op = inq_mem_alloc(m->graph->n_ops * sizeof *s->op);
    s->sums = inq_mem_zalloc(s->n_ranges * m->n_stages * KINDS, sizeof *s->sums);
    if (s->worker_start == NULL || s->op == NULL || s->sums == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu workers", workers);
    }
    for (size_t i = 0; i < m->graph->n_ops; i++) {
        s->worker_start[inq_op_worker(m, i) + 2]++;
    }
    for (size_t w = 1; w < workers + 2; w++) {
        s->worker_start[w] += s->worker_start[w - 1];
    }
    for (size_t i = 0; i < m->graph->n_ops; i++) {
        s->op[s->worker_start[inq_op_worker(m, i) + 1]++] = (uint32_t)i;
    }
    return INQ_OK;
}

static void mean_of_stage(const struct stage_sums *s, size_t stage, struct inq_stage_time *out)
{
    const struct inq_op_model *m = s->m;
    int64_t sums[KINDS] = {0};
    int64_t n = (int64_t)(m->n_dp * m->n_steps);
    for (size_t r = 0; r < s->n_ranges; r++) {
        for (int k = 0; k < KINDS; k++) {
            sums[k] += s->sums[(r * m->n_stages + stage) * KINDS + (size_t)k];
        }
    }
    out->stage = m->stage_number[stage];
    out->compute_ns = sums[COMPUTE] / n;
    out->p2p_ns = sums[P2P] / n;
    out->sync_ns = sums[SYNC] / n;
    out->other_ns = sums[OTHER] / n;
    out->idle_ns = inq_steps_sum(m, m->recorded_ns) / (int64_t)m->n_steps - out->compute_ns -
                   out->p2p_ns - out->sync_ns - out->other_ns;
}

/* Time of each stage by kind, means over workers and steps; fills per_stage[n_stages]. The parts
 * sum to the mean recorded step. */
static int stage_times(const struct inq_op_model *model, int jobs, struct inq_stage_time *per_stage,
                       struct inq_err *err)
{
    size_t ranges = (size_t)inq_threads(jobs);
    struct stage_sums s = {.m = model,
                           .n_ranges = ranges < model->n_steps ? ranges : model->n_steps};
    int code = sort_by_worker(&s, err);
    if (code == INQ_OK) {
        code = inq_par_for(s.n_ranges, jobs, sum_range, &s, err);
    }
    for (size_t k = 0; code == INQ_OK && k < model->n_stages; k++) {
        mean_of_stage(&s, k, &per_stage[k]);
    }
    inq_mem_free(s.worker_start);
    inq_mem_free(s.op);
    inq_mem_free(s.sums);
    return code;
}

struct pipeline {
    const struct inq_trace *trace;
    const struct inq_op_model *m;
    const struct inq_attribution *blame; /* NULL: none */
    struct inq_arena *arena;
    struct inq_pipeline *p;
    int jobs;
    double *bubble;    /* [n_steps] */
    int64_t *parts_ns; /* [n_steps][causes] */
};

static int no_memory(struct inq_err *err)
{
    return inq_err_set(err, INQ_NOMEM, "out of memory for the pipeline");
}

/* Two stages at least that go forward and back. */
static bool is_pipeline(const struct inq_op_model *m)
{
    bool forward = false;
    bool backward = false;
    for (size_t i = 0; i < m->shape.n; i++) {
        forward = forward || m->shape.op[i].type == INQ_OP_FORWARD;
        backward = backward || inq_op_is_backward(m->shape.op[i].type);
    }
    return forward && backward && m->n_stages > 1;
}

/* ---- bubbles --------------------------------------------------------------------------------- */

struct span {
    int64_t first, last;
};

/* From the first forward to the last backward of each replica in a step. */
static void find_spans(const struct inq_op_model *m, size_t step, struct span *spans)
{
    for (size_t d = 0; d < m->n_dp; d++) {
        spans[d] = (struct span){INT64_MAX, INT64_MIN};
    }
    for (size_t i = 0; i < m->graph->n_ops; i++) {
        if (!inq_op_is_compute(m->graph->op[i].type)) {
            continue;
        }
        struct span *s = &spans[m->graph->op[i].dp_rank];
        int64_t start = m->start_ns[i * m->stride + step];
        int64_t end = m->end_ns[i * m->stride + step];
        s->first = start < s->first ? start : s->first;
        s->last = end > s->last ? end : s->last;
    }
}

/* What a compute op adds to the time in which its worker computes: ops may run beside each other.
 * reach_ns: latest end so far; the ops of a worker come in the order of their lane. */
static int64_t busy_ns(const struct inq_op_model *m, size_t op, size_t step, int64_t *reach_ns)
{
    int64_t start = m->start_ns[op * m->stride + step];
    int64_t end = m->end_ns[op * m->stride + step];
    int64_t from = start > *reach_ns ? start : *reach_ns;
    *reach_ns = end > *reach_ns ? end : *reach_ns;
    return end > from ? end - from : 0;
}

/* Idle share of each step and over all; each stage's busy and idle time. */
static int find_bubbles(struct pipeline *x, struct inq_err *err)
{
    const struct inq_op_model *m = x->m;
    size_t n_workers = m->n_dp * m->n_stages;
    struct span *spans = inq_mem_alloc(m->n_dp * sizeof *spans);
    int64_t *reach_ns = inq_mem_alloc(n_workers * sizeof *reach_ns);
    x->bubble = inq_arena_array(x->arena, m->n_steps, sizeof *x->bubble);
    if (spans == NULL || reach_ns == NULL || x->bubble == NULL) {
        inq_mem_free(spans);
        inq_mem_free(reach_ns);
        return no_memory(err);
    }
    double all_busy = 0.0;
    double all_span = 0.0;
    for (size_t t = 0; t < m->n_steps; t++) {
        double busy = 0.0;
        double span = 0.0;
        find_spans(m, t, spans);
        for (size_t w = 0; w < n_workers; w++) {
            reach_ns[w] = INT64_MIN;
        }
        for (size_t i = 0; i < m->graph->n_ops; i++) {
            const struct inq_graph_op *op = &m->graph->op[i];
            if (inq_op_is_compute(op->type)) {
                int64_t ns = busy_ns(m, i, t, &reach_ns[inq_op_worker(m, i)]);
                busy += (double)ns;
                x->p->per_stage[op->stage].busy_ns += ns;
            }
        }
        for (size_t d = 0; d < m->n_dp; d++) {
            int64_t ns = spans[d].last - spans[d].first;
            span += (double)ns * (double)m->n_stages;
            for (size_t s = 0; s < m->n_stages; s++) {
                x->p->per_stage[s].bubble_ns += ns;
            }
        }
        x->bubble[t] = span > 0.0 ? 1.0 - busy / span : (double)NAN;
        all_busy += busy;
        all_span += span;
    }
    inq_mem_free(spans);
    inq_mem_free(reach_ns);
    x->p->bubble_ratio = all_span > 0.0 ? 1.0 - all_busy / all_span : (double)NAN;
    return INQ_OK;
}

/* ---- stages ---------------------------------------------------------------------------------- */

static void mean_ops(struct pipeline *x)
{
    const struct inq_op_model *m = x->m;
    int64_t n = (int64_t)(m->n_dp * m->n_steps);
    int64_t per = n * x->p->microbatches;
    for (size_t i = 0; i < m->graph->n_ops; i++) {
        const struct inq_graph_op *op = &m->graph->op[i];
        struct inq_stage_time *s = &x->p->per_stage[op->stage];
        int64_t ns = inq_steps_sum(m, m->dur_ns + i * m->stride);
        s->forward_ns += op->type == INQ_OP_FORWARD ? ns : 0;
        s->backward_ns += inq_op_is_compute(op->type) && op->type != INQ_OP_FORWARD ? ns : 0;
    }
    for (size_t k = 0; k < m->n_stages; k++) {
        struct inq_stage_time *s = &x->p->per_stage[k];
        s->forward_ns = per > 0 ? s->forward_ns / per : 0;
        s->backward_ns = per > 0 ? s->backward_ns / per : 0;
        s->bubble_ns = n > 0 ? (s->bubble_ns - s->busy_ns) / n : 0;
        s->busy_ns = n > 0 ? s->busy_ns / n : 0;
    }
}

static int fill_stages(struct pipeline *x, struct inq_err *err)
{
    x->p->n_per_stage = x->m->n_stages;
    x->p->per_stage = inq_arena_array(x->arena, x->m->n_stages, sizeof *x->p->per_stage);
    if (x->p->per_stage == NULL) {
        return no_memory(err);
    }
    int code = find_bubbles(x, err);
    if (code == INQ_OK) {
        mean_ops(x);
        code = stage_times(x->m, x->jobs, x->p->per_stage, err);
    }
    return code;
}

/* ---- schedule and waterfall ------------------------------------------------------------------ */

static int fill_schedule(struct pipeline *x, struct inq_err *err)
{
    struct inq_schedule_guess guess;
    int code = inq_schedule_recognize(x->m, &guess, err);
    if (code == INQ_OK) {
        x->p->schedule = guess.name;
        x->p->confidence = guess.confidence;
        x->p->source = x->m->source;
        x->p->stages = (int32_t)x->m->n_stages;
        x->p->replicas = (int32_t)x->m->n_dp;
        x->p->microbatches = guess.microbatches;
        x->p->chunks = guess.chunks;
        x->p->bubble_ratio_theory = guess.bubble_ratio;
    }
    return code;
}

/* How many times as long the account's stragglers compute as their peers, by worker. */
static double *told_paces(const struct pipeline *x)
{
    const struct inq_op_model *m = x->m;
    size_t workers = m->n_dp * m->n_stages;
    double *told = inq_arena_array(x->arena, workers, sizeof *told);
    double *by_rank = inq_mem_zalloc(x->trace->n_ranks + 1, sizeof *by_rank);
    if (told == NULL || by_rank == NULL) {
        inq_mem_free(by_rank);
        return NULL;
    }
    for (size_t i = 0; x->blame != NULL && i < x->blame->n_candidates; i++) {
        const struct inq_candidate *c = &x->blame->candidates[i];
        bool computes = c->kind == INQ_FINDING_SLOW_GPU || c->kind == INQ_FINDING_MORE_WORK;
        for (size_t k = 0; computes && c->peers_ns > 0 && k < c->n_ranks; k++) {
            by_rank[c->ranks[k]] = (double)c->own_ns / (double)c->peers_ns;
        }
    }
    for (size_t w = 0; w < workers; w++) {
        told[w] = m->worker_rank[w] < x->trace->n_ranks ? by_rank[m->worker_rank[w]] : 0.0;
    }
    inq_mem_free(by_rank);
    return told;
}

/* Means that still sum exactly: of what is left after each part, rounded down. */
static int fill_waterfall(struct pipeline *x, struct inq_err *err)
{
    const struct inq_op_model *m = x->m;
    struct inq_pipeline *p = x->p;
    x->parts_ns = inq_arena_array(x->arena, m->n_steps * INQ_WATERFALL_CAUSES, sizeof *x->parts_ns);
    p->waterfall = inq_arena_array(x->arena, INQ_WATERFALL_CAUSES, sizeof *p->waterfall);
    const double *told = told_paces(x);
    if (x->parts_ns == NULL || p->waterfall == NULL || told == NULL) {
        return no_memory(err);
    }
    int code = waterfall_steps(m, told, x->jobs, x->parts_ns, err);
    int64_t sum = 0;
    int64_t before = 0;
    for (size_t k = 0; code == INQ_OK && k < INQ_WATERFALL_CAUSES; k++) {
        for (size_t t = 0; t < m->n_steps; t++) {
            sum += x->parts_ns[t * INQ_WATERFALL_CAUSES + k];
        }
        int64_t mean = m->n_steps > 0 ? sum / (int64_t)m->n_steps : 0;
        p->waterfall[k] =
            (struct inq_waterfall_part){waterfall_text((enum inq_waterfall_cause)k), mean - before};
        before = mean;
    }
    p->n_waterfall = INQ_WATERFALL_CAUSES;
    p->total_ns_per_step = before;
    return code;
}

/* Longest first; those set aside last, in the order of the record. */
static int compare_steps(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    const struct inq_pipeline_step *x = a;
    const struct inq_pipeline_step *y = b;
    if (x->warm_up || y->warm_up) {
        return x->warm_up - y->warm_up;
    }
    return x->dur_ns > y->dur_ns ? -1 : x->dur_ns < y->dur_ns;
}

static int fill_steps(struct pipeline *x, struct inq_err *err)
{
    const struct inq_op_model *m = x->m;
    struct inq_pipeline *p = x->p;
    p->n_dropped_steps = m->n_dropped;
    p->n_warm_up_steps = m->n_warm_up;
    p->n_steps = m->n_steps + m->n_warm_up;
    p->steps = inq_arena_array(x->arena, p->n_steps, sizeof *p->steps);
    if (p->steps == NULL || x->bubble == NULL) {
        return no_memory(err);
    }
    for (size_t t = 0; t < m->n_steps; t++) {
        p->steps[t] = (struct inq_pipeline_step){m->step[t], m->recorded_ns[t], x->bubble[t], false,
                                                 x->parts_ns + t * INQ_WATERFALL_CAUSES};
    }
    for (size_t t = 0; t < m->n_warm_up; t++) {
        p->steps[m->n_steps + t] =
            (struct inq_pipeline_step){m->warm_step[t], m->warm_ns[t], (double)NAN, true, NULL};
    }
    return inq_sort(p->steps, p->n_steps, sizeof *p->steps, compare_steps, NULL, err);
}

int inq_run_pipeline(const struct inq_trace *trace, const struct inq_analysis_options *options,
                     struct inq_report *report, struct inq_err *err)
{
    static int (*const parts[])(struct pipeline *, struct inq_err *) = {fill_schedule, fill_stages,
                                                                        fill_waterfall, fill_steps};
    const struct inq_op_model *model = NULL;
    int code = inq_op_model_shared(trace, report, &model, err);
    if (code != INQ_OK || model == NULL || !is_pipeline(model)) {
        return code;
    }
    struct pipeline x = {.trace = trace,
                         .m = model,
                         .blame = report->attribution,
                         .arena = report->arena,
                         .jobs = options->jobs};
    x.p = inq_arena_alloc(report->arena, sizeof *x.p);
    if (x.p == NULL) {
        return no_memory(err);
    }
    for (size_t k = 0; code == INQ_OK && k < sizeof parts / sizeof parts[0]; k++) {
        code = parts[k](&x, err);
    }
    if (code == INQ_OK) {
        report->pipeline = x.p;
    }
    return code;
}
