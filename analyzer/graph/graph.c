/* SPDX-License-Identifier: Apache-2.0 */
/* Building a graph: ops, edges and groups in, one ordered read-only graph out. */
#include "inquest/graph.h"

#include "base/mem.h"
#include "graph/builder.h"

#include <stdio.h>
#include <string.h>

/* Sums of durations stay below this, so that no sum of starts and durations overflows. */
static const uint64_t max_total_ns = (uint64_t)INT64_MAX / 4;

/* ---- builder ------------------------------------------------------------------------------- */

struct inq_graph_builder *inq_graph_builder_new(void)
{
    return inq_mem_zalloc(1, sizeof(struct inq_graph_builder));
}

static void builder_release(struct inq_graph_builder *b)
{
    inq_mem_free(b->ops);
    inq_mem_free(b->dur_ns);
    inq_mem_free(b->delay_ns);
    inq_mem_free(b->group);
    inq_mem_free(b->edges);
    inq_mem_free(b->inferred);
    inq_map_release(&b->lane_last);
    inq_mem_free(b->group_start);
    inq_mem_free(b->missing);
    inq_mem_free(b->members);
    *b = (struct inq_graph_builder){0};
}

void inq_graph_builder_free(struct inq_graph_builder *builder)
{
    if (builder != NULL) {
        builder_release(builder);
        inq_mem_free(builder);
    }
}

size_t inq_graph_builder_count(const struct inq_graph_builder *builder)
{
    return builder->n_ops;
}

static uint64_t magnitude(int64_t x)
{
    return x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
}

static int add_edge(struct inq_graph_builder *b, uint32_t before, uint32_t after, bool inferred,
                    struct inq_err *err)
{
    int code = inq_mem_grow(&b->edges, &b->cap_edges, b->n_edges + 1, sizeof *b->edges,
                            INQ_GRAPH_MAX_EDGES - 1, err);
    if (code == INQ_OK) {
        code = inq_mem_grow(&b->inferred, &b->cap_inferred, b->n_edges + 1, sizeof *b->inferred,
                            INQ_GRAPH_MAX_EDGES - 1, err);
    }
    if (code == INQ_OK) {
        b->inferred[b->n_edges] = inferred;
        b->edges[b->n_edges++] = (struct inq_edge){before, after};
    }
    return code;
}

static int chain_in_lane(struct inq_graph_builder *b, const struct inq_graph_op *op, uint32_t id,
                         struct inq_err *err)
{
    if (op->lane == INQ_NONE) {
        return INQ_OK;
    }
    uint64_t key = (uint64_t)(uint32_t)op->rank << 32 | op->lane;
    uint32_t last = INQ_NONE;
    if (inq_map_get(&b->lane_last, key, &last)) {
        int code = add_edge(b, last, id, false, err);
        if (code != INQ_OK) {
            return code;
        }
    }
    return inq_map_put(&b->lane_last, key, id, err);
}

int inq_graph_add_op(struct inq_graph_builder *builder, const struct inq_graph_op *op,
                     int64_t dur_ns, int64_t delay_ns, uint32_t *id, struct inq_err *err)
{
    struct inq_graph_builder *b = builder;
    uint64_t dur = magnitude(dur_ns);
    uint64_t delay = magnitude(delay_ns);
    if (dur > max_total_ns || delay > max_total_ns || b->total_ns + dur + delay > max_total_ns) {
        return inq_err_set(err, INQ_LIMIT,
                           "durations add up to more than 73 years: times of the record are not in "
                           "the unit that its format has");
    }
    size_t need = b->n_ops + 1;
    const size_t max = INQ_GRAPH_MAX_OPS;
    int code = inq_mem_grow(&b->ops, &b->cap_ops, need, sizeof *b->ops, max, err);
    if (code == INQ_OK) {
        code = inq_mem_grow(&b->dur_ns, &b->cap_dur, need, sizeof *b->dur_ns, max, err);
    }
    if (code == INQ_OK) {
        code = inq_mem_grow(&b->delay_ns, &b->cap_delay, need, sizeof *b->delay_ns, max, err);
    }
    if (code == INQ_OK) {
        code = inq_mem_grow(&b->group, &b->cap_group, need, sizeof *b->group, max, err);
    }
    uint32_t own = (uint32_t)b->n_ops;
    if (code == INQ_OK) {
        code = chain_in_lane(b, op, own, err);
    }
    if (code != INQ_OK) {
        return code;
    }
    b->ops[own] = *op;
    b->dur_ns[own] = dur_ns;
    b->delay_ns[own] = delay_ns;
    b->has_delay = b->has_delay || delay_ns != 0;
    b->group[own] = INQ_NONE;
    b->total_ns += dur + delay;
    b->n_ops++;
    if (id != NULL) {
        *id = own;
    }
    return INQ_OK;
}

static int add_known_edge(struct inq_graph_builder *builder, uint32_t before, uint32_t after,
                          bool inferred, struct inq_err *err)
{
    if (before >= builder->n_ops || after >= builder->n_ops) {
        return inq_err_set(err, INQ_USAGE, "edge %u -> %u names an op that does not exist", before,
                           after);
    }
    return add_edge(builder, before, after, inferred, err);
}

int inq_graph_add_dep(struct inq_graph_builder *builder, uint32_t before, uint32_t after,
                      struct inq_err *err)
{
    return add_known_edge(builder, before, after, false, err);
}

int inq_graph_add_inferred(struct inq_graph_builder *builder, uint32_t before, uint32_t after,
                           struct inq_err *err)
{
    return add_known_edge(builder, before, after, true, err);
}

static int grow_groups(struct inq_graph_builder *b, size_t n_members, struct inq_err *err)
{
    const size_t max = INQ_GRAPH_MAX_OPS;
    int code = inq_mem_grow(&b->group_start, &b->cap_group_start, b->n_groups + 2,
                            sizeof *b->group_start, max + 1, err);
    if (code == INQ_OK) {
        code = inq_mem_grow(&b->missing, &b->cap_missing, b->n_groups + 1, sizeof *b->missing, max,
                            err);
    }
    if (code == INQ_OK) {
        code = inq_mem_grow(&b->members, &b->cap_members, b->n_members + n_members,
                            sizeof *b->members, max, err);
    }
    return code;
}

int inq_graph_add_group(struct inq_graph_builder *builder, const uint32_t *ids, size_t n,
                        size_t expected, struct inq_err *err)
{
    struct inq_graph_builder *b = builder;
    if (n == 0) {
        return INQ_OK;
    }
    int code = grow_groups(b, n, err);
    if (code != INQ_OK) {
        return code;
    }
    uint32_t own = (uint32_t)b->n_groups;
    for (size_t i = 0; i < n; i++) {
        if (ids[i] >= b->n_ops || b->group[ids[i]] != INQ_NONE) {
            for (size_t k = 0; k < i; k++) {
                b->group[ids[k]] = INQ_NONE;
            }
            return inq_err_set(err, INQ_USAGE, "op %u does not exist or is in a group already",
                               ids[i]);
        }
        b->group[ids[i]] = own;
        b->members[b->n_members + i] = ids[i];
    }
    b->group_start[own] = (uint32_t)b->n_members;
    b->missing[own] = expected > n ? (uint32_t)(expected - n) : 0;
    b->n_members += n;
    b->n_groups++;
    b->group_start[b->n_groups] = (uint32_t)b->n_members;
    return INQ_OK;
}

/* ---- the graph ----------------------------------------------------------------------------- */

void inq_graph_free(struct inq_graph *graph)
{
    if (graph == NULL) {
        return;
    }
    inq_mem_free(graph->dur_ns);
    inq_mem_free(graph->delay_ns);
    inq_mem_free(graph->op);
    inq_mem_free(graph->dep_start);
    inq_mem_free(graph->deps);
    inq_mem_free(graph->members);
    inq_mem_free(graph->id_of);
    inq_mem_free(graph->index_of);
    inq_mem_free(graph);
}

static int alloc_graph(const struct inq_graph_builder *b, struct inq_graph *g, struct inq_err *err)
{
    size_t n = b->n_ops;
    g->n_ops = n;
    g->n_deps = b->n_edges;
    g->n_groups = b->n_groups;
    g->dur_ns = inq_mem_alloc(n * sizeof *g->dur_ns);
    g->delay_ns = b->has_delay ? inq_mem_alloc(n * sizeof *g->delay_ns) : NULL;
    g->op = inq_mem_alloc(n * sizeof *g->op);
    g->dep_start = inq_mem_zalloc(n + 1, sizeof *g->dep_start);
    g->deps = inq_mem_alloc(g->n_deps * sizeof *g->deps);
    g->members = inq_mem_zalloc(n, sizeof *g->members);
    g->id_of = inq_mem_alloc(n * sizeof *g->id_of);
    if (g->dur_ns == NULL || (b->has_delay && g->delay_ns == NULL) || g->op == NULL ||
        g->dep_start == NULL || g->deps == NULL || g->members == NULL || g->id_of == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for a graph of %zu ops", n);
    }
    return INQ_OK;
}

/* The columns of the ops, in their order. */
static void fill_ops(const struct inq_graph_builder *b, struct inq_graph *g)
{
    for (uint32_t id = 0; id < g->n_ops; id++) {
        uint32_t i = g->index_of[id];
        g->id_of[i] = id;
        g->op[i] = b->ops[id];
        g->dur_ns[i] = b->dur_ns[id];
        if (g->delay_ns != NULL) {
            g->delay_ns[i] = b->delay_ns[id];
        }
        if (b->ops[id].rank >= 0 && (size_t)b->ops[id].rank >= g->n_ranks) {
            g->n_ranks = (size_t)b->ops[id].rank + 1;
        }
        if (b->group[id] == INQ_NONE) {
            g->members[i] = 1;
        }
    }
    for (size_t k = 0; k < b->n_groups; k++) {
        if (b->group_start[k] == b->group_start[k + 1]) {
            continue; /* all of its members were cut off */
        }
        uint32_t first = b->members[b->group_start[k]];
        g->members[g->index_of[first]] = b->group_start[k + 1] - b->group_start[k];
    }
}

static void fill_deps(const struct inq_graph_builder *b, struct inq_graph *g)
{
    for (size_t e = 0; e < b->n_edges; e++) {
        g->dep_start[g->index_of[b->edges[e].after] + 1]++;
    }
    for (size_t i = 0; i < g->n_ops; i++) {
        g->dep_start[i + 1] += g->dep_start[i];
    }
    /* filling moves each start to its end, which is the next one's start: shifted back after */
    for (size_t e = 0; e < b->n_edges; e++) {
        uint32_t after = g->index_of[b->edges[e].after];
        g->deps[g->dep_start[after]++] = g->index_of[b->edges[e].before];
    }
    for (size_t i = g->n_ops; i > 0; i--) {
        g->dep_start[i] = g->dep_start[i - 1];
    }
    g->dep_start[0] = 0;
}

static int make_graph(const struct inq_graph_builder *b, struct inq_order *order,
                      struct inq_graph **graph, struct inq_err *err)
{
    struct inq_graph *g = inq_mem_zalloc(1, sizeof *g);
    if (g == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for a graph");
    }
    int code = alloc_graph(b, g, err);
    if (code != INQ_OK) {
        inq_graph_free(g);
        return code;
    }
    g->index_of = order->index_of;
    order->index_of = NULL;
    fill_ops(b, g);
    fill_deps(b, g);
    *graph = g;
    return INQ_OK;
}

/* The ordered builder as a graph. */
static int deliver(struct inq_graph_builder *builder, struct inq_order *order,
                   struct inq_graph **graph, struct inq_err *err)
{
    int code = make_graph(builder, order, graph, err);
    if (code == INQ_OK) {
        builder_release(builder);
    }
    return code;
}

int inq_graph_finish(struct inq_graph_builder *builder, struct inq_graph **graph,
                     struct inq_deadlock *deadlock, struct inq_err *err)
{
    struct inq_order order = {0};
    if (deadlock != NULL) {
        *deadlock = (struct inq_deadlock){0};
    }
    int code = inq_order_find(builder, &order, NULL, err);
    if (code == INQ_OK && order.n_placed < builder->n_ops) {
        code = inq_deadlock_explain(builder, &order, deadlock, err);
    }
    code = code == INQ_OK ? deliver(builder, &order, graph, err) : code;
    inq_order_release(&order);
    return code;
}

int inq_graph_finish_cut(struct inq_graph_builder *builder, struct inq_graph **graph, size_t *n_cut,
                         struct inq_err *err)
{
    struct inq_order order = {0};
    *n_cut = 0;
    int code = inq_order_find(builder, &order, n_cut, err);
    code = code == INQ_OK ? deliver(builder, &order, graph, err) : code;
    inq_order_release(&order);
    return code;
}

uint32_t inq_graph_group_of(const struct inq_graph *graph, uint32_t op, uint32_t *n)
{
    while (graph->members[op] == 0) {
        op--;
    }
    *n = graph->members[op];
    return op;
}
