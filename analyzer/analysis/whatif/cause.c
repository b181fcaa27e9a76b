/* SPDX-License-Identifier: Apache-2.0 */
/* Root causes of a slowdown: each is taken away from the recorded durations and the steps are
 * simulated again; what that saves is its share. A cause also has a test of its own, because
 * removing one slow worker helps as much as evening out its whole stage. */
#include "analysis/whatif/op_bins.h"
#include "analysis/whatif/whatif.h"
#include "base/arena.h"
#include "base/mem.h"
#include "base/sort.h"
#include "base/stats.h"
#include "base/time.h"

#include <math.h>
#include <string.h>

/* A worker or stage this much slower than its peers is slow: GPUs of one kind differ by less.
 */
static const double slow_factor = 1.05;
/* Forward and backward of a micro-batch go together this well when the sequence length rules: the
 * rule of the published what-if analysis. */
static const double sequence_correlation = 0.9;
/* Causes that do not fit and save less are not told: no more than evening out noise saves. */
static const double least_share = 0.02;
/* An op this many times its worker's median is a pause, if it takes a millisecond more, too:
 * shorter collections exist, but so does noise of that size in ops of a few hundred microseconds.
 */
static const double pause_factor = 1.5;
static const int64_t pause_floor_ns = 1000000;

struct causes {
    const struct inq_op_study *study;
    const struct inq_op_model *m;
    struct inq_report *report;
    struct inq_arena *arena, *scratch;
    const uint8_t *worst;
    struct inq_op_bins bins; /* by worker */
    double *compute;         /* [workers] mean compute of a step */
    double *compute_median;  /* [stages] over replicas, lower middle */
    int64_t *even, *trim;    /* matrices */
    size_t n_pauses, n_paused_workers;
};

static int no_memory(struct inq_err *err)
{
    return inq_err_set(err, INQ_NOMEM, "out of memory for finding causes");
}

/* ---- what workers do ------------------------------------------------------------------------- */

static int measure_compute(struct causes *c, struct inq_err *err)
{
    const struct inq_op_model *m = c->m;
    size_t workers = m->n_dp * m->n_stages;
    double *space = inq_arena_array(c->scratch, m->n_dp, sizeof *space);
    c->compute = inq_arena_array(c->scratch, workers, sizeof *c->compute);
    c->compute_median = inq_arena_array(c->scratch, m->n_stages, sizeof *c->compute_median);
    if (space == NULL || c->compute == NULL || c->compute_median == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0; i < m->graph->n_ops; i++) {
        if (inq_op_is_compute(m->graph->op[i].type)) {
            c->compute[inq_op_worker(m, i)] +=
                (double)inq_steps_sum(m, m->dur_ns + i * m->stride) / (double)m->n_steps;
        }
    }
    for (size_t s = 0; s < m->n_stages; s++) {
        for (size_t d = 0; d < m->n_dp; d++) {
            space[d] = c->compute[d * m->n_stages + s];
        }
        inq_sort_double(space, m->n_dp);
        c->compute_median[s] =
            space[(m->n_dp - 1) / 2]; /* of two the faster: not half a slow one */
    }
    return INQ_OK;
}

/* Own compute against the median of the other workers of the stage; 0 without peers. */
static double against_peers(const struct causes *c, size_t worker, double *space)
{
    const struct inq_op_model *m = c->m;
    size_t n = 0;
    for (size_t d = 0; d < m->n_dp; d++) {
        size_t other = d * m->n_stages + worker % m->n_stages;
        if (other != worker) {
            space[n++] = c->compute[other];
        }
    }
    double median = inq_median(space, n);
    return median > 0.0 ? c->compute[worker] / median : 0.0;
}

/* A stage's median worker against the median of the other stages'; 0 when it is the only one. */
static double against_stages(const struct causes *c, size_t stage, double *space)
{
    size_t n = 0;
    for (size_t s = 0; s < c->m->n_stages; s++) {
        if (s != stage) {
            space[n++] = c->compute_median[s];
        }
    }
    double median = inq_median(space, n);
    return median > 0.0 ? c->compute_median[stage] / median : 0.0;
}

/* ---- changed durations ---------------------------------------------------------------------- */

/* Every forward or backward of a worker takes the mean of its kind over steps and micro-batches. */
static void make_even(struct causes *c, size_t bin)
{
    const struct inq_op_model *m = c->m;
    int64_t sum = 0;
    int64_t n = 0;
    for (size_t k = c->bins.start[bin]; k < c->bins.start[bin + 1]; k++, n += (int64_t)m->n_steps) {
        sum += inq_steps_sum(m, m->dur_ns + c->bins.op[k] * m->stride);
    }
    for (size_t k = c->bins.start[bin]; k < c->bins.start[bin + 1]; k++) {
        for (size_t t = 0; t < m->n_steps; t++) {
            c->even[c->bins.op[k] * m->stride + t] = sum / n;
        }
    }
}

/* Every forward that took far longer than the worker's usual takes the usual. */
static void make_trim(struct causes *c, size_t bin, int64_t *space)
{
    const struct inq_op_model *m = c->m;
    size_t n = 0;
    for (size_t k = c->bins.start[bin]; k < c->bins.start[bin + 1]; k++) {
        for (size_t t = 0; t < m->n_steps; t++) {
            space[n++] = m->dur_ns[c->bins.op[k] * m->stride + t];
        }
    }
    int64_t usual = inq_lower_median_i64(space, n);
    size_t before = c->n_pauses;
    for (size_t k = c->bins.start[bin]; k < c->bins.start[bin + 1]; k++) {
        for (size_t t = 0; t < m->n_steps; t++) {
            int64_t *cell = &c->trim[c->bins.op[k] * m->stride + t];
            if (*cell > usual + pause_floor_ns && (double)*cell > pause_factor * (double)usual) {
                *cell = usual;
                c->n_pauses++;
            }
        }
    }
    c->n_paused_workers += c->n_pauses > before;
}

static int change_durations(struct causes *c, struct inq_err *err)
{
    const struct inq_op_model *m = c->m;
    size_t cells = m->graph->n_ops * m->stride;
    int64_t *space = inq_mem_alloc(cells * sizeof *space);
    c->even = inq_mem_alloc(cells * sizeof *c->even);
    c->trim = inq_mem_alloc(cells * sizeof *c->trim);
    if (space == NULL || c->even == NULL || c->trim == NULL) {
        inq_mem_free(space);
        return no_memory(err);
    }
    memcpy(c->even, m->dur_ns, cells * sizeof *c->even);
    memcpy(c->trim, m->dur_ns, cells * sizeof *c->trim);
    for (size_t bin = 0; bin < c->bins.n; bin++) {
        uint8_t type = (uint8_t)(bin % INQ_OP_TYPE_COUNT);
        if (c->bins.start[bin] == c->bins.start[bin + 1]) {
            continue;
        }
        if (inq_op_is_compute(type)) {
            make_even(c, bin);
        }
        if (type == INQ_OP_FORWARD || type == INQ_OP_GC) {
            make_trim(c, bin, space);
        }
    }
    inq_mem_free(space);
    return INQ_OK;
}

/* ---- sequence lengths ------------------------------------------------------------------------ */

static uint64_t micro_batch_key(const struct inq_step_op *op)
{
    bool known = op->micro_batch >= 0;
    uint32_t chunk = known && op->chunk > 0 ? (uint32_t)op->chunk & 0xfff : 0;
    uint32_t id = known ? (uint32_t)op->micro_batch : (uint32_t)op->seq;
    return (uint64_t)(op->stage & 0xfffff) << 44 | (uint64_t)chunk << 32 | id;
}

/* Ops of the shape: each forward with its backward; *n gets the number of pairs. */
static int pair_ops(const struct inq_op_template *shape, uint32_t (*pairs)[2], size_t *n,
                    struct inq_err *err)
{
    struct inq_map forward = {0};
    int code = INQ_OK;
    *n = 0;
    for (size_t i = 0; code == INQ_OK && i < shape->n; i++) {
        if (shape->op[i].type == INQ_OP_FORWARD) {
            code = inq_map_put(&forward, micro_batch_key(&shape->op[i]), (uint32_t)i, err);
        }
    }
    for (size_t i = 0; code == INQ_OK && i < shape->n; i++) {
        uint32_t f = 0;
        if (inq_op_is_backward(shape->op[i].type) &&
            inq_map_get(&forward, micro_batch_key(&shape->op[i]), &f)) {
            pairs[*n][0] = f;
            pairs[(*n)++][1] = (uint32_t)i;
        }
    }
    inq_map_release(&forward);
    return code;
}

/* Relative to the worker's own mean, so that slow workers and long stages do not count. */
static double relative(const struct causes *c, size_t op, size_t t)
{
    int64_t mean = c->even[op * c->m->stride + t];
    return mean > 0 ? (double)c->m->dur_ns[op * c->m->stride + t] / (double)mean : 1.0;
}

/* Pearson's; NaN for n < 2 or a constant side. */
static double correlation(const double *x, const double *y, size_t n)
{
    double mean_x = inq_mean(x, n);
    double mean_y = inq_mean(y, n);
    double xx = 0.0;
    double yy = 0.0;
    double xy = 0.0;
    for (size_t i = 0; i < n; i++) {
        double dx = x[i] - mean_x;
        double dy = y[i] - mean_y;
        xx += dx * dx;
        yy += dy * dy;
        xy += dx * dy;
    }
    return n < 2 || !(xx > 0.0) || !(yy > 0.0) ? (double)NAN : xy / sqrt(xx * yy);
}

static int correlate(struct causes *c, struct inq_err *err)
{
    const struct inq_op_model *m = c->m;
    c->report->whatif->forward_backward_correlation = (double)NAN;
    size_t n_pairs = 0;
    uint32_t(*pairs)[2] = inq_arena_array(c->scratch, m->shape.n, sizeof *pairs);
    int code = pairs != NULL ? pair_ops(&m->shape, pairs, &n_pairs, err) : no_memory(err);
    size_t n = n_pairs * m->n_dp * m->n_steps;
    double *xy = inq_mem_alloc(2 * n * sizeof *xy);
    if (code != INQ_OK || xy == NULL) {
        inq_mem_free(xy);
        return code != INQ_OK ? code : no_memory(err);
    }
    size_t k = 0;
    for (size_t d = 0; d < m->n_dp; d++) {
        for (size_t p = 0; p < n_pairs; p++) {
            size_t f = m->graph->index_of[d * m->shape.n + pairs[p][0]];
            size_t b = m->graph->index_of[d * m->shape.n + pairs[p][1]];
            for (size_t t = 0; t < m->n_steps; t++, k++) {
                xy[k] = relative(c, f, t);
                xy[n + k] = relative(c, b, t);
            }
        }
    }
    c->report->whatif->forward_backward_correlation = correlation(xy, xy + n, n);
    inq_mem_free(xy);
    return INQ_OK;
}

/* ---- the causes ------------------------------------------------------------------------------ */

enum { WORKER, SEQUENCES, COMMUNICATION, PAUSES, STAGES };

static const uint32_t comm_types =
    INQ_TYPE_BIT(INQ_OP_FORWARD_SEND) | INQ_TYPE_BIT(INQ_OP_FORWARD_RECV) |
    INQ_TYPE_BIT(INQ_OP_BACKWARD_SEND) | INQ_TYPE_BIT(INQ_OP_BACKWARD_RECV) |
    INQ_TYPE_BIT(INQ_OP_PARAMS_ALL_GATHER) | INQ_TYPE_BIT(INQ_OP_GRADS_REDUCE_SCATTER) |
    INQ_TYPE_BIT(INQ_OP_SEPARATE_GRADS_ALL_REDUCE) |
    INQ_TYPE_BIT(INQ_OP_LAYERNORM_GRADS_ALL_REDUCE) |
    INQ_TYPE_BIT(INQ_OP_EMBEDDING_GRADS_ALL_REDUCE) | INQ_TYPE_BIT(INQ_OP_OPTIMIZER_CLIP);

static int simulate_causes(struct causes *c, int64_t *t_ns, struct inq_err *err)
{
    const struct inq_op_model *m = c->m;
    size_t n = STAGES + m->n_stages;
    struct inq_op_case *cases = inq_arena_array(c->scratch, n, sizeof *cases);
    if (cases == NULL) {
        return no_memory(err);
    }
    for (size_t k = 0; k < n; k++) {
        cases[k] = (struct inq_op_case){inq_op_filter_all(), NULL, m->dur_ns};
    }
    cases[WORKER].filter.workers = c->worst;
    cases[SEQUENCES].in = c->even;
    cases[COMMUNICATION].filter.types = comm_types;
    cases[PAUSES].in = c->trim;
    for (size_t s = 0; s < m->n_stages; s++) {
        cases[STAGES + s].filter.stage = (int64_t)s;
    }
    return inq_op_cases_run(c->study, cases, n, t_ns, err);
}

/* The slowest of the workers that M_W takes out. */
static size_t worst_worker(const struct causes *c)
{
    size_t best = SIZE_MAX;
    const struct inq_named_ratio *by = c->report->whatif->by_worker;
    for (size_t k = 0; k < c->m->n_dp * c->m->n_stages; k++) {
        if (c->worst[k] && (best == SIZE_MAX || by[k].slowdown > by[best].slowdown)) {
            best = k;
        }
    }
    return best;
}

static void word_worker(struct causes *c, struct inq_whatif_cause *cause, double *space)
{
    size_t worst = worst_worker(c);
    const struct inq_named_ratio *by = &c->report->whatif->by_worker[worst];
    double factor = against_peers(c, worst, space);
    cause->kind = "worker";
    cause->rank = by->rank;
    cause->stage = by->stage;
    cause->dp_rank = by->dp_rank;
    cause->fits = factor >= slow_factor;
    const char *peers = factor > 0.0
                            ? inq_arena_asprintf(c->arena,
                                                 "computes %.2f times as long as the other "
                                                 "workers of its stage",
                                                 factor)
                            : "costs most and has no peers in its stage to compare with";
    cause->what = inq_arena_asprintf(c->arena, "One worker, rank %s (DP rank %d, stage %d), %s",
                                     by->name, by->dp_rank, by->stage, peers);
}

static void word_stage(struct causes *c, struct inq_whatif_cause *cause, size_t s, double *space)
{
    double factor = against_stages(c, s, space);
    bool last = s + 1 == c->m->n_stages;
    cause->kind = last ? "last_stage" : "stage";
    cause->stage = c->m->stage_number[s];
    cause->fits = factor >= slow_factor;
    cause->what = inq_arena_asprintf(
        c->arena, "Stage %d%s takes %.0f %% longer to compute than the other stages", cause->stage,
        last ? ", the last one," : "", 100 * (factor - 1));
}

static void word_others(struct causes *c, struct inq_whatif_cause *cause, size_t k)
{
    double r = c->report->whatif->forward_backward_correlation;
    if (k == SEQUENCES) {
        cause->kind = "sequence_imbalance";
        cause->fits = r >= sequence_correlation;
        cause->what = inq_arena_asprintf(
            c->arena, "Micro-batches differ in length (forward and backward correlate with %.2f)",
            isnan(r) ? 0.0 : r);
    } else if (k == COMMUNICATION) {
        cause->kind = "communication";
        cause->fits = true;
        cause->what = inq_arena_asprintf(c->arena, "Some transfers took longer than usual");
    } else {
        cause->kind = "garbage_collection";
        /* pauses hit any worker at any time and forwards only: a slow worker is slow always */
        cause->fits = c->n_paused_workers > 1 && !(r >= sequence_correlation);
        cause->what = inq_arena_asprintf(
            c->arena,
            "Forwards paused %zu times on %zu workers, as in unplanned garbage collection",
            c->n_pauses, c->n_paused_workers);
    }
}

/* Those that fit first, then the largest share. */
static int compare_causes(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    const struct inq_whatif_cause *x = a;
    const struct inq_whatif_cause *y = b;
    if (x->fits != y->fits) {
        return x->fits ? -1 : 1;
    }
    return x->share > y->share ? -1 : x->share < y->share;
}

static int word_causes(struct causes *c, const int64_t *t_ns, struct inq_err *err)
{
    const struct inq_op_model *m = c->m;
    struct inq_whatif *w = c->report->whatif;
    size_t n = STAGES + m->n_stages;
    double *space = inq_arena_array(c->scratch, m->n_dp + m->n_stages, sizeof *space);
    w->causes = inq_arena_array(c->arena, n, sizeof *w->causes);
    if (space == NULL || w->causes == NULL) {
        return no_memory(err);
    }
    int64_t lost = w->t_ns - w->t_ideal_ns;
    for (size_t k = 0; k < n; k++) {
        int64_t mean = inq_steps_mean(m, t_ns + k * m->stride);
        struct inq_whatif_cause *cause = &w->causes[w->n_causes];
        *cause = (struct inq_whatif_cause){.saved_ns = w->t_ns - mean,
                                           .share = (double)(w->t_ns - mean) / (double)lost,
                                           .stage = -1,
                                           .dp_rank = -1,
                                           .rank = -1};
        if (cause->saved_ns <= 0) {
            continue; /* taking it away does not help */
        }
        if (k == WORKER) {
            word_worker(c, cause, space);
        } else if (k >= STAGES) {
            word_stage(c, cause, k - STAGES, space);
        } else {
            word_others(c, cause, k);
        }
        if (cause->what == NULL) {
            return no_memory(err);
        }
        /* what does not fit is worth a line when it is one of the known causes and not nothing */
        w->n_causes += cause->fits || (k < STAGES && cause->share >= least_share);
    }
    return inq_sort(w->causes, w->n_causes, sizeof *w->causes, compare_causes, NULL, err);
}

int inq_whatif_find_causes(const struct inq_op_study *study, struct inq_report *report,
                           const uint8_t *worst_workers, struct inq_err *err)
{
    struct inq_arena scratch = {0};
    struct causes c = {.study = study,
                       .m = study->model,
                       .report = report,
                       .arena = report->arena,
                       .scratch = &scratch,
                       .worst = worst_workers};
    size_t n = (STAGES + c.m->n_stages) * c.m->stride;
    int64_t *t_ns = inq_arena_array(&scratch, n, sizeof *t_ns);
    int code = t_ns != NULL ? inq_op_bins_sort(c.m, true, &c.bins, err) : no_memory(err);
    if (code == INQ_OK) {
        code = measure_compute(&c, err);
    }
    if (code == INQ_OK) {
        code = change_durations(&c, err);
    }
    if (code == INQ_OK) {
        code = correlate(&c, err);
    }
    if (code == INQ_OK && report->whatif->t_ns > report->whatif->t_ideal_ns) {
        code = simulate_causes(&c, t_ns, err);
        if (code == INQ_OK) {
            code = word_causes(&c, t_ns, err);
        }
    }
    inq_mem_free(c.even);
    inq_mem_free(c.trim);
    inq_op_bins_release(&c.bins);
    inq_arena_release(&scratch);
    return code;
}
