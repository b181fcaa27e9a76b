/* SPDX-License-Identifier: Apache-2.0 */
/* Several steps in a row, as one graph. */
#include "inquest/replay.h"

#include "base/mem.h"

static bool same_lane(const struct inq_graph_op *a, const struct inq_graph_op *b)
{
    return a->lane != INQ_NONE && a->lane == b->lane && a->rank == b->rank;
}

/* The last op of each rank's compute in the graph's order, or of whatever the rank does. */
static void find_last(const struct inq_graph *g, uint32_t *last)
{
    for (uint32_t r = 0; r < g->n_ranks; r++) {
        last[r] = INQ_NONE;
    }
    for (uint32_t i = 0; i < g->n_ops; i++) {
        const struct inq_graph_op *op = &g->op[i];
        uint32_t *own = op->rank >= 0 ? &last[op->rank] : NULL;
        if (own != NULL && (*own == INQ_NONE || g->op[*own].cls != INQ_CLASS_COMPUTE ||
                            op->cls == INQ_CLASS_COMPUTE)) {
            *own = i;
        }
    }
}

/* An op that waits for nothing and is in no lane (a posted receive) waits for its rank's step
 * before; others for their lane. INQ_NONE: nothing to add. */
static uint32_t step_before(const struct inq_graph *g, uint32_t i, const uint32_t *last)
{
    const struct inq_graph_op *op = &g->op[i];
    bool free_to_go = op->lane == INQ_NONE && g->dep_start[i] == g->dep_start[i + 1];
    return free_to_go && op->rank >= 0 ? last[op->rank] : INQ_NONE;
}

/* Op i of the graph becomes first + i: the builder orders lanes by itself, groups follow. */
static int add_step(const struct inq_graph *g, int32_t step, struct inq_graph_builder *b,
                    uint32_t *ids, const uint32_t *last, struct inq_err *err)
{
    uint32_t first = (uint32_t)inq_graph_builder_count(b);
    int code = INQ_OK;
    for (uint32_t i = 0; code == INQ_OK && i < g->n_ops; i++) {
        struct inq_graph_op op = g->op[i];
        op.step = step;
        code = inq_graph_add_op(b, &op, g->dur_ns[i], g->delay_ns != NULL ? g->delay_ns[i] : 0,
                                NULL, err);
        for (uint32_t d = g->dep_start[i]; code == INQ_OK && d < g->dep_start[i + 1]; d++) {
            if (!same_lane(&g->op[g->deps[d]], &g->op[i])) {
                code = inq_graph_add_dep(b, first + g->deps[d], first + i, err);
            }
        }
    }
    for (uint32_t i = 0; code == INQ_OK && step > 0 && i < g->n_ops; i++) {
        uint32_t before = step_before(g, i, last);
        if (before != INQ_NONE) {
            code = inq_graph_add_dep(b, first - (uint32_t)g->n_ops + before, first + i, err);
        }
    }
    for (uint32_t i = 0; code == INQ_OK && i < g->n_ops; i += g->members[i]) {
        for (uint32_t k = 0; k < g->members[i]; k++) {
            ids[k] = first + i + k;
        }
        if (g->members[i] > 1) {
            code = inq_graph_add_group(b, ids, g->members[i], g->members[i], err);
        }
    }
    return code;
}

int inq_graph_unroll(const struct inq_graph *graph, size_t n, struct inq_graph **out,
                     struct inq_err *err)
{
    *out = NULL;
    if (n > INT32_MAX || (n > 0 && graph->n_ops > INQ_GRAPH_MAX_OPS / n)) {
        return inq_err_set(err, INQ_LIMIT, "%zu steps of %zu ops are too many", n, graph->n_ops);
    }
    struct inq_graph_builder *b = inq_graph_builder_new();
    uint32_t *ids = inq_mem_alloc((graph->n_ops + 1) * sizeof *ids);
    uint32_t *last = inq_mem_alloc((graph->n_ranks + 1) * sizeof *last);
    int code = b != NULL && ids != NULL && last != NULL
                   ? INQ_OK
                   : inq_err_set(err, INQ_NOMEM, "out of memory for %zu steps", n);
    if (code == INQ_OK) {
        find_last(graph, last);
    }
    for (size_t step = 0; code == INQ_OK && step < n; step++) {
        code = add_step(graph, (int32_t)step, b, ids, last, err);
    }
    if (code == INQ_OK) {
        code = inq_graph_finish(b, out, NULL, err);
    }
    inq_mem_free(ids);
    inq_mem_free(last);
    inq_graph_builder_free(b);
    return code;
}
