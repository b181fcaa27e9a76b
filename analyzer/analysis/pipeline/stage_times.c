/* SPDX-License-Identifier: Apache-2.0 */
/* What each stage did with the recorded step: every instant of every worker belongs to exactly one
 * kind. */
#include "analysis/pipeline/pipeline.h"
#include "base/mem.h"
#include "base/par.h"
#include "base/sort.h"

#include <string.h>

/* An instant belongs to the first of these that goes on. */
enum kind { COMPUTE, P2P, SYNC, OTHER, KINDS };

struct edge {
    int64_t at;
    int32_t kind, change; /* +1 begins, -1 ends */
};

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

static int compare_edges(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    int64_t x = ((const struct edge *)a)->at;
    int64_t y = ((const struct edge *)b)->at;
    return x < y ? -1 : x > y;
}

/* The op itself; of a transfer what comes after the last arrival. */
static size_t add_edges(const struct inq_op_model *m, uint32_t op, size_t step, struct edge *edges)
{
    size_t cell = op * m->stride + step;
    int64_t start = m->start_ns[cell];
    int64_t end = m->end_ns[cell];
    int64_t moving = end - m->dur_ns[cell];
    start = moving > start ? moving : start;
    if (end <= start) {
        return 0;
    }
    int32_t kind = (int32_t)kind_of(m->graph->op[op].type);
    edges[0] = (struct edge){start, kind, 1};
    edges[1] = (struct edge){end, kind, -1};
    return 2;
}

static void sum_edges(const struct edge *edges, size_t n, int64_t sums[KINDS])
{
    int64_t going[KINDS] = {0};
    for (size_t i = 0; i < n; i++) {
        int kind = 0;
        while (kind < KINDS && going[kind] == 0) {
            kind++;
        }
        if (kind < KINDS) {
            sums[kind] += edges[i].at - edges[i - 1].at;
        }
        going[edges[i].kind] += edges[i].change;
    }
}

static int sum_range(void *ctx, size_t range, struct inq_err *err)
{
    const struct stage_sums *s = ctx;
    const struct inq_op_model *m = s->m;
    size_t workers = m->n_dp * m->n_stages;
    int64_t *sums = s->sums + range * m->n_stages * KINDS;
    struct edge *edges = inq_mem_alloc(2 * m->graph->n_ops * sizeof *edges);
    if (edges == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu ops", m->graph->n_ops);
    }
    int code = INQ_OK;
    size_t last = m->n_steps * (range + 1) / s->n_ranges;
    for (size_t t = m->n_steps * range / s->n_ranges; code == INQ_OK && t < last; t++) {
        for (size_t w = 0; code == INQ_OK && w < workers; w++) {
            size_t n = 0;
            for (size_t k = s->worker_start[w]; k < s->worker_start[w + 1]; k++) {
                n += add_edges(m, s->op[k], t, edges + n);
            }
            code = inq_sort(edges, n, sizeof *edges, compare_edges, NULL, err);
            sum_edges(edges, n, sums + w % m->n_stages * KINDS);
        }
    }
    inq_mem_free(edges);
    return code;
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

int inq_stage_times(const struct inq_op_model *model, int jobs, struct inq_stage_time *per_stage,
                    struct inq_err *err)
{
    size_t ranges = (size_t)inq_par_threads(jobs);
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
