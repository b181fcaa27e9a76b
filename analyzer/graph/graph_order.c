/* SPDX-License-Identifier: Apache-2.0 */
/* The topological order: first come, first served over ops and whole groups. Nothing that waits
 * for one member of a group can come before another member, so a group is one thing to order. */
#include "base/mem.h"
#include "graph/builder.h"

void inq_order_release(struct inq_order *order)
{
    inq_mem_free(order->index_of);
    inq_mem_free(order->out_start);
    inq_mem_free(order->out);
    inq_mem_free(order->need);
    inq_mem_free(order->queue);
    *order = (struct inq_order){0};
}

static int alloc_order(const struct inq_graph_builder *b, struct inq_order *order,
                       struct inq_err *err)
{
    size_t n_units = b->n_ops + b->n_groups;
    order->index_of = inq_mem_alloc(b->n_ops * sizeof *order->index_of);
    order->out_start = inq_mem_zalloc(b->n_ops + 1, sizeof *order->out_start);
    order->out = inq_mem_alloc(b->n_edges * sizeof *order->out);
    order->need = inq_mem_zalloc(n_units, sizeof *order->need);
    order->queue = inq_mem_alloc(n_units * sizeof *order->queue);
    if (order->index_of == NULL || order->out_start == NULL || order->out == NULL ||
        order->need == NULL || order->queue == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for ordering %zu ops", b->n_ops);
    }
    for (size_t i = 0; i < b->n_ops; i++) {
        order->index_of[i] = INQ_NONE;
    }
    return INQ_OK;
}

/* Who waits for whom, and how much each unit waits for. */
static void count_needs(const struct inq_graph_builder *b, struct inq_order *order)
{
    uint32_t *start = order->out_start;
    for (size_t e = 0; e < b->n_edges; e++) {
        start[b->edges[e].before + 1]++;
        order->need[inq_unit_of(b, b->edges[e].after)]++;
    }
    for (size_t i = 0; i < b->n_ops; i++) {
        start[i + 1] += start[i];
    }
    for (size_t e = 0; e < b->n_edges; e++) {
        order->out[start[b->edges[e].before]++] = b->edges[e].after;
    }
    for (size_t i = b->n_ops; i > 0; i--) {
        start[i] = start[i - 1];
    }
    start[0] = 0;
    for (size_t k = 0; k < b->n_groups; k++) {
        order->need[k] += b->missing[k] > 0; /* never satisfied */
    }
}

static size_t release_successors(const struct inq_graph_builder *b, struct inq_order *order,
                                 uint32_t id, size_t tail)
{
    for (uint32_t k = order->out_start[id]; k < order->out_start[id + 1]; k++) {
        uint32_t unit = inq_unit_of(b, order->out[k]);
        if (--order->need[unit] == 0) {
            order->queue[tail++] = unit;
        }
    }
    return tail;
}

int inq_order_find(const struct inq_graph_builder *b, struct inq_order *order, struct inq_err *err)
{
    int code = alloc_order(b, order, err);
    if (code != INQ_OK) {
        return code;
    }
    count_needs(b, order);
    size_t tail = 0;
    for (uint32_t id = 0; id < b->n_ops; id++) {
        uint32_t unit = inq_unit_of(b, id);
        bool first = unit >= b->n_groups || b->members[b->group_start[unit]] == id;
        if (first && order->need[unit] == 0) {
            order->queue[tail++] = unit;
        }
    }
    for (size_t head = 0; head < tail; head++) {
        uint32_t unit = order->queue[head];
        if (unit >= b->n_groups) {
            uint32_t id = unit - (uint32_t)b->n_groups;
            order->index_of[id] = (uint32_t)order->n_placed++;
            tail = release_successors(b, order, id, tail);
            continue;
        }
        for (uint32_t m = b->group_start[unit]; m < b->group_start[unit + 1]; m++) {
            order->index_of[b->members[m]] = (uint32_t)order->n_placed++;
        }
        for (uint32_t m = b->group_start[unit]; m < b->group_start[unit + 1]; m++) {
            tail = release_successors(b, order, b->members[m], tail);
        }
    }
    return INQ_OK;
}
