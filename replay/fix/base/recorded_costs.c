/* SPDX-License-Identifier: Apache-2.0 */
/* What the stages of a recorded pipeline cost, step by step, and the same model cut into another
 * number of stages. */
#include "inquest/replay.h"

#include "base/mem.h"
#include "base/stats.h"
#include "fix/fix.h"
#include "graph/optable/optable.h"

#include <string.h>

/* Of a full backward, where it was not recorded in two parts. */
static const double usual_weight_share = 0.5;

enum { PART_F, PART_B, PART_W, PARTS };

struct sums {
    const struct inq_op_model *m;
    struct inq_recorded_costs *out;
    int64_t *ns, *n; /* [n_stages][PARTS] of one step */
    int64_t *values; /* scratch of medians */
    struct inq_err *err;
};

void inq_recorded_costs_release(struct inq_recorded_costs *costs)
{
    inq_mem_free(costs->steps);
    inq_mem_free(costs->median);
    *costs = (struct inq_recorded_costs){0};
}

/* ---- forwards and backwards ------------------------------------------------------------------ */

static int part_of(uint8_t type)
{
    return type == INQ_OP_FORWARD ? PART_F : type == INQ_OP_BACKWARD_WEIGHT ? PART_W : PART_B;
}

static void add_step(struct sums *x, size_t step)
{
    const struct inq_op_model *m = x->m;
    size_t n_stages = x->out->n_stages;
    memset(x->ns, 0, n_stages * PARTS * sizeof *x->ns);
    memset(x->n, 0, n_stages * PARTS * sizeof *x->n);
    for (size_t i = 0; i < m->graph->n_ops; i++) {
        const struct inq_graph_op *op = &m->graph->op[i];
        if (inq_op_is_compute(op->type)) {
            int32_t stage = inq_op_virtual_stage(m, op->stage, m->shape.op[op->source].chunk);
            size_t k = (size_t)stage % n_stages * PARTS + (size_t)part_of(op->type);
            x->ns[k] += m->dur_ns[i * m->stride + step];
            x->n[k]++;
        }
    }
    for (size_t s = 0; s < n_stages; s++) {
        int64_t mean[PARTS];
        for (size_t part = 0; part < PARTS; part++) {
            size_t k = s * PARTS + part;
            mean[part] = x->n[k] > 0 ? x->ns[k] / x->n[k] : 0;
        }
        if (x->out->split) { /* what full backwards have besides the input gradient */
            size_t k = s * PARTS;
            int64_t full = x->n[k + PART_B] - x->n[k + PART_W];
            mean[PART_B] -= full > 0 ? mean[PART_W] * full / x->n[k + PART_B] : 0;
        } else {
            mean[PART_W] = inq_fix_scaled(mean[PART_B], usual_weight_share);
            mean[PART_B] -= mean[PART_W];
        }
        x->out->steps[step * n_stages + s] =
            (struct inq_stage_cost){mean[PART_F], mean[PART_B], mean[PART_W]};
    }
}

static int64_t median_of(struct sums *x, size_t stage, size_t part)
{
    for (size_t s = 0; s < x->out->n_steps; s++) {
        const struct inq_stage_cost *c = &x->out->steps[s * x->out->n_stages + stage];
        x->values[s] = part == PART_F ? c->f_ns : part == PART_B ? c->b_ns : c->w_ns;
    }
    return inq_lower_median_i64(x->values, x->out->n_steps);
}

/* ---- all else -------------------------------------------------------------------------------- */

static bool is_transfer(uint8_t type)
{
    return type == INQ_OP_FORWARD_RECV || type == INQ_OP_BACKWARD_RECV;
}

static bool is_reduction(uint8_t type)
{
    return type == INQ_OP_GRADS_REDUCE_SCATTER || type == INQ_OP_SEPARATE_GRADS_ALL_REDUCE;
}

static bool is_gather(uint8_t type)
{
    return type == INQ_OP_PARAMS_ALL_GATHER;
}

static bool is_update(uint8_t type)
{
    return type == INQ_OP_OPTIMIZER || type == INQ_OP_OPTIMIZER_CLIP;
}

/* Median over steps and workers of what the ops of a kind take together in a step. */
static int64_t median_sum(struct sums *x, bool (*is)(uint8_t type))
{
    const struct inq_op_model *m = x->m;
    size_t n_workers = m->n_dp * m->n_stages;
    memset(x->values, 0, n_workers * m->n_steps * sizeof *x->values);
    for (size_t i = 0; i < m->graph->n_ops; i++) {
        for (size_t s = 0; is(m->graph->op[i].type) && s < m->n_steps; s++) {
            int64_t ns = m->dur_ns[i * m->stride + s];
            x->values[inq_op_worker(m, i) * m->n_steps + s] += ns > 0 ? ns : 0;
        }
    }
    return inq_lower_median_i64(x->values, n_workers * m->n_steps);
}

static int64_t median_transfer(struct sums *x)
{
    size_t n = 0;
    for (size_t i = 0; i < x->m->graph->n_ops; i++) {
        for (size_t s = 0; is_transfer(x->m->graph->op[i].type) && s < x->m->n_steps; s++) {
            int64_t ns = x->m->dur_ns[i * x->m->stride + s];
            x->values[n++] = ns > 0 ? ns : 0;
        }
    }
    return inq_lower_median_i64(x->values, n);
}

/* ---- together -------------------------------------------------------------------------------- */

static int allocate(struct sums *x)
{
    const struct inq_op_model *m = x->m;
    size_t n = x->out->n_stages;
    x->out->steps = inq_mem_zalloc(m->n_steps * n + 1, sizeof *x->out->steps);
    x->out->median = inq_mem_zalloc(n + 1, sizeof *x->out->median);
    x->ns = inq_mem_zalloc(n * PARTS + 1, sizeof *x->ns);
    x->n = inq_mem_zalloc(n * PARTS + 1, sizeof *x->n);
    x->values = inq_mem_zalloc((m->graph->n_ops + m->n_dp * m->n_stages) * m->n_steps + 1,
                               sizeof *x->values);
    return x->out->steps != NULL && x->out->median != NULL && x->ns != NULL && x->n != NULL &&
                   x->values != NULL
               ? INQ_OK
               : inq_err_set(x->err, INQ_NOMEM, "out of memory for the times of a run");
}

static void fill(struct sums *x)
{
    struct inq_recorded_costs *out = x->out;
    int64_t chunks = (int64_t)x->m->shape.n_chunks;
    for (size_t s = 0; s < out->n_steps; s++) {
        add_step(x, s);
    }
    for (size_t k = 0; k < out->n_stages; k++) {
        out->median[k] = (struct inq_stage_cost){median_of(x, k, PART_F), median_of(x, k, PART_B),
                                                 median_of(x, k, PART_W)};
    }
    out->costs = (struct inq_costs){.stage = out->median[0],
                                    .per_stage = out->median,
                                    .n_per_stage = out->n_stages,
                                    .p2p_ns = median_transfer(x),
                                    .reduce_ns = median_sum(x, is_reduction) / chunks,
                                    .update_ns = median_sum(x, is_update),
                                    .unshard_ns = median_sum(x, is_gather) / chunks};
}

int inq_recorded_costs_of(const struct inq_trace *trace, struct inq_recorded_costs *out,
                          struct inq_err *err)
{
    struct inq_op_model *m = NULL;
    *out = (struct inq_recorded_costs){0};
    int code = inq_op_model_make(trace, &m, err);
    struct sums x = {.m = m, .out = out, .err = err};
    if (code == INQ_OK && (m == NULL || m->n_steps == 0)) {
        code = inq_err_set(err, INQ_NOT_FOUND,
                           "no pipeline is recognized in it: no two steps or replicas agree on "
                           "the forwards and backwards of a step");
    }
    if (code == INQ_OK) {
        /* pipelines from either end go through the same stages of the model */
        out->n_stages = m->n_stages * (m->shape.two_way ? 1 : m->shape.n_chunks);
        out->n_steps = m->n_steps;
        for (size_t i = 0; i < m->graph->n_ops; i++) {
            out->split = out->split || m->graph->op[i].type == INQ_OP_BACKWARD_WEIGHT;
        }
        code = allocate(&x);
    }
    if (code == INQ_OK) {
        fill(&x);
    }
    inq_mem_free(x.ns);
    inq_mem_free(x.n);
    inq_mem_free(x.values);
    inq_op_model_free(m);
    if (code != INQ_OK) {
        inq_recorded_costs_release(out);
    }
    return code;
}

/* ---- cut anew -------------------------------------------------------------------------------- */

int inq_stage_costs_recut(const struct inq_stage_cost *from, size_t n, size_t n_new,
                          struct inq_stage_cost *to, struct inq_err *err)
{
    struct fix_pipe pipe = {
        .n_dp = 1, .n_ranks = 1, .n_virtual = n, .n_microbatches = 1, .split = true};
    int32_t *rank_of = inq_mem_zalloc(n_new + 1, sizeof *rank_of);
    pipe.cells = inq_mem_zalloc(n + 1, sizeof *pipe.cells);
    pipe.rank_of = inq_mem_zalloc(n + 1, sizeof *pipe.rank_of);
    pipe.p2p_ns = inq_mem_zalloc(2, sizeof *pipe.p2p_ns);
    int code = rank_of != NULL && pipe.cells != NULL && pipe.rank_of != NULL && pipe.p2p_ns != NULL
                   ? INQ_OK
                   : inq_err_set(err, INQ_NOMEM, "out of memory for the times of stages");
    for (size_t s = 0; code == INQ_OK && s < n; s++) {
        pipe.cells[s] = (struct fix_cell){from[s].f_ns, from[s].b_ns, from[s].w_ns, 0, 0};
    }
    if (code == INQ_OK && n_new != n) {
        code = inq_fix_pipe_recut(&pipe, n_new, rank_of, err);
    }
    for (size_t s = 0; code == INQ_OK && s < n_new; s++) {
        to[s] = (struct inq_stage_cost){pipe.cells[s].f_ns, pipe.cells[s].i_ns, pipe.cells[s].w_ns};
    }
    inq_fix_pipe_release(&pipe);
    inq_mem_free(rank_of);
    return code;
}
