/* SPDX-License-Identifier: Apache-2.0 */
/* Building a graph: ops, edges and groups in, one ordered read-only graph out. */
#include "inquest/graph.h"

#include "base/mem.h"
#include "graph/graph.h"

#include <stdio.h>
#include <string.h>

/* The topological order: first come, first served over ops and whole groups. Nothing that waits for
 * one member of a group can come before another member, so a group is one thing to order. */

/* Orders all ops as far as possible. With `n_cut` the order is completed where it stops at circles:
 * the weakest link is taken out of each, edge or member of a group, inferred before recorded ones;
 * *n_cut gets how many. Fails with INQ_NOMEM, and then with INQ_DEADLOCK where a group lacks a
 * member. Release with order_release, on failure too. */
static void order_release(struct inq_order *order)
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
        order->out[start[b->edges[e].before]++] = (uint32_t)e;
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
        uint32_t unit = inq_unit_of(b, b->edges[order->out[k]].after);
        if (--order->need[unit] == 0) {
            order->queue[tail++] = unit;
        }
    }
    return tail;
}

static void order_ops(const struct inq_graph_builder *b, struct inq_order *order)
{
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
    order->n_queued = tail;
}

/* ---- circles -----------------------------------------------------------------------------------
 *
 * What was recorded cannot have waited for itself, so that something in each circle of a record is
 * wrong. The weakest link is taken out, until the order is complete. */

/* How little a link is to be believed: what was concluded from times goes before membership in a
 * matched transfer, and that before what was recorded. */
enum strength { INFERRED, MEMBER, RECORDED };

/* One link of a walk from an op back to what it waits for. */
struct link {
    uint32_t op;   /* waits .. */
    uint32_t edge; /* .. by this edge; */
    uint32_t exit; /* and this member of its group is waited for */
};

struct cutter {
    struct inq_graph_builder *b;
    struct inq_order *order;
    uint32_t *in_start, *in; /* edges by the op that waits */
    bool *gone;              /* [n_edges] taken out */
    uint32_t *walk_of;       /* [units] the walk that was there last */
    uint32_t *place;         /* [units] where in the walk */
    size_t n, cap;
    struct link *walk;
    size_t head, tail; /* of the order's queue */
    size_t n_cut;
    uint64_t steps; /* walked so far: bounded, however the record is made */
};

static bool is_open(const struct cutter *c, uint32_t edge)
{
    return !c->gone[edge] && c->order->index_of[c->b->edges[edge].before] == INQ_NONE;
}

static int index_edges(struct cutter *c, struct inq_err *err)
{
    const struct inq_graph_builder *b = c->b;
    size_t units = b->n_groups + b->n_ops;
    c->in_start = inq_mem_zalloc(b->n_ops + 2, sizeof *c->in_start);
    c->in = inq_mem_alloc(b->n_edges * sizeof *c->in);
    c->gone = inq_mem_zalloc(b->n_edges, sizeof *c->gone);
    c->walk_of = inq_mem_zalloc(units, sizeof *c->walk_of);
    c->place = inq_mem_alloc(units * sizeof *c->place);
    if (c->in_start == NULL || c->in == NULL || c->gone == NULL || c->walk_of == NULL ||
        c->place == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for the circles of %zu ops", b->n_ops);
    }
    for (size_t e = 0; e < b->n_edges; e++) {
        c->in_start[b->edges[e].after + 2]++;
    }
    for (size_t i = 0; i <= b->n_ops; i++) {
        c->in_start[i + 1] += c->in_start[i];
    }
    for (size_t e = 0; e < b->n_edges; e++) {
        c->in[c->in_start[b->edges[e].after + 1]++] = (uint32_t)e;
    }
    return INQ_OK;
}

/* An edge that an op of the unit still waits for; false when there is none. */
static bool open_edge(const struct cutter *c, uint32_t unit, struct link *link)
{
    const struct inq_graph_builder *b = c->b;
    bool grouped = unit < b->n_groups;
    uint32_t from = grouped ? b->group_start[unit] : 0;
    uint32_t to = grouped ? b->group_start[unit + 1] : 1;
    for (uint32_t m = from; m < to; m++) {
        uint32_t op = grouped ? b->members[m] : unit - (uint32_t)b->n_groups;
        if (inq_unit_of(b, op) != unit) {
            continue; /* taken out of the group */
        }
        for (uint32_t k = c->in_start[op]; k < c->in_start[op + 1]; k++) {
            if (is_open(c, c->in[k])) {
                link->op = op;
                link->edge = c->in[k];
                return true;
            }
        }
    }
    return false;
}

/* Walks from `unit` back until it comes to where it was: *first is where in the walk the circle
 * begins. */
static int find_circle(struct cutter *c, uint32_t unit, uint32_t number, size_t *first,
                       struct inq_err *err)
{
    uint32_t exit = INQ_NONE;
    c->n = 0;
    while (c->walk_of[unit] != number) {
        struct link link = {.exit = exit};
        int code =
            inq_mem_grow(&c->walk, &c->cap, c->n + 1, sizeof *c->walk, INQ_GRAPH_MAX_OPS, err);
        if (code != INQ_OK) {
            return code;
        }
        if (!open_edge(c, unit, &link)) {
            return inq_err_set(err, INQ_DEADLOCK, "a transfer lacks a member");
        }
        c->walk_of[unit] = number;
        c->place[unit] = (uint32_t)c->n;
        c->walk[c->n++] = link;
        exit = c->b->edges[link.edge].before;
        unit = inq_unit_of(c->b, exit);
    }
    *first = c->place[unit];
    c->walk[*first].exit = exit; /* the circle enters there, the walk came from elsewhere */
    c->steps += c->n;
    return INQ_OK;
}

static enum strength edge_strength(const struct cutter *c, const struct link *link)
{
    return c->b->inferred[link->edge] ? INFERRED : RECORDED;
}

static bool through_group(const struct link *link)
{
    return link->exit != INQ_NONE && link->exit != link->op;
}

static void satisfy(struct cutter *c, uint32_t unit)
{
    if (--c->order->need[unit] == 0) {
        c->order->queue[c->tail++] = unit;
    }
}

static void cut_edge(struct cutter *c, uint32_t edge)
{
    c->gone[edge] = true;
    c->n_cut++;
    satisfy(c, inq_unit_of(c->b, c->b->edges[edge].after));
}

/* The op leaves its group and waits for its own edges alone. */
static void leave_group(struct cutter *c, uint32_t op)
{
    uint32_t group = c->b->group[op];
    uint32_t own = 0;
    for (uint32_t k = c->in_start[op]; k < c->in_start[op + 1]; k++) {
        own += is_open(c, c->in[k]);
    }
    c->b->group[op] = INQ_NONE;
    c->order->need[inq_unit_of(c->b, op)] = own;
    c->order->need[group] -= own - 1; /* the last one is counted off by satisfy */
    c->n_cut++;
    satisfy(c, group);
}

/* Takes the weakest link out of the circle that begins at `first`; of equal ones the last walked,
 * which is the earliest in the order of waiting. */
static void cut_circle(struct cutter *c, size_t first)
{
    size_t weakest = first;
    enum strength least = RECORDED;
    bool leave = false;
    for (size_t i = first; i < c->n; i++) {
        enum strength own = edge_strength(c, &c->walk[i]);
        bool member = own > MEMBER && through_group(&c->walk[i]);
        own = member ? MEMBER : own;
        if (own <= least) {
            weakest = i;
            least = own;
            leave = member;
        }
    }
    if (leave) {
        leave_group(c, c->walk[weakest].op);
    } else {
        cut_edge(c, c->walk[weakest].edge);
    }
}

static void place_op(struct cutter *c, uint32_t op)
{
    c->order->index_of[op] = (uint32_t)c->order->n_placed++;
}

static void release_after(struct cutter *c, uint32_t op)
{
    const struct inq_order *order = c->order;
    for (uint32_t k = order->out_start[op]; k < order->out_start[op + 1]; k++) {
        uint32_t edge = order->out[k];
        if (!c->gone[edge]) {
            satisfy(c, inq_unit_of(c->b, c->b->edges[edge].after));
        }
    }
}

/* Orders what is free now. */
static void go_on(struct cutter *c)
{
    const struct inq_graph_builder *b = c->b;
    while (c->head < c->tail) {
        uint32_t unit = c->order->queue[c->head++];
        if (unit >= b->n_groups) {
            place_op(c, unit - (uint32_t)b->n_groups);
            release_after(c, unit - (uint32_t)b->n_groups);
            continue;
        }
        for (uint32_t m = b->group_start[unit]; m < b->group_start[unit + 1]; m++) {
            if (b->group[b->members[m]] == unit) {
                place_op(c, b->members[m]);
            }
        }
        for (uint32_t m = b->group_start[unit]; m < b->group_start[unit + 1]; m++) {
            if (b->group[b->members[m]] == unit) {
                release_after(c, b->members[m]);
            }
        }
    }
}

/* All that the unit still waits for: where circles are too many to look for each. */
static void cut_all(struct cutter *c, uint32_t unit)
{
    struct link link;
    while (open_edge(c, unit, &link)) {
        cut_edge(c, link.edge);
    }
}

/* The builder without what was taken out. */
static void compact(struct cutter *c)
{
    struct inq_graph_builder *b = c->b;
    size_t n = 0;
    for (size_t e = 0; e < b->n_edges; e++) {
        if (!c->gone[e]) {
            b->edges[n++] = b->edges[e];
        }
    }
    b->n_edges = n;
    size_t members = 0;
    uint32_t from = 0;
    for (uint32_t k = 0; k < b->n_groups; k++) {
        uint32_t to = b->group_start[k + 1];
        b->group_start[k] = (uint32_t)members;
        for (uint32_t m = from; m < to; m++) {
            if (b->group[b->members[m]] == k) {
                b->members[members++] = b->members[m];
            }
        }
        from = to;
    }
    b->n_members = members;
    if (b->n_groups > 0) {
        b->group_start[b->n_groups] = (uint32_t)members;
    }
}

static int cut_circles(struct inq_graph_builder *builder, struct inq_order *order, size_t *n_cut,
                       struct inq_err *err)
{
    struct cutter c = {.b = builder, .order = order};
    uint64_t most_steps = 64 * (uint64_t)(builder->n_ops + builder->n_edges);
    c.head = c.tail = order->n_queued;
    int code = index_edges(&c, err);
    uint32_t number = 0;
    for (uint32_t op = 0; code == INQ_OK && op < builder->n_ops; op++) {
        while (code == INQ_OK && order->index_of[op] == INQ_NONE) {
            size_t first = 0;
            if (c.steps > most_steps) {
                cut_all(&c, inq_unit_of(builder, op));
            } else {
                code = find_circle(&c, inq_unit_of(builder, op), ++number, &first, err);
                if (code == INQ_OK) {
                    cut_circle(&c, first);
                }
            }
            go_on(&c);
        }
    }
    if (code == INQ_OK) {
        compact(&c);
        *n_cut = c.n_cut;
    }
    inq_mem_free(c.in_start);
    inq_mem_free(c.in);
    inq_mem_free(c.gone);
    inq_mem_free(c.walk_of);
    inq_mem_free(c.place);
    inq_mem_free(c.walk);
    return code;
}

/* Orders all ops as far as possible. With `n_cut` the order is completed where it stops at circles:
 * the weakest link is taken out of each, edge or member of a group, inferred before recorded ones;
 * *n_cut gets how many. Fails with INQ_NOMEM, and then with INQ_DEADLOCK where a group lacks a
 * member. Release with order_release, on failure too. */
static int order_find(struct inq_graph_builder *b, struct inq_order *order, size_t *n_cut,
                      struct inq_err *err)
{
    int code = alloc_order(b, order, err);
    if (code != INQ_OK) {
        return code;
    }
    count_needs(b, order);
    order_ops(b, order);
    return n_cut != NULL && order->n_placed < b->n_ops ? cut_circles(b, order, n_cut, err) : INQ_OK;
}

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
    uint64_t dur = inq_graph_magnitude(dur_ns);
    uint64_t delay = inq_graph_magnitude(delay_ns);
    if (dur > INQ_GRAPH_MAX_TOTAL_NS || delay > INQ_GRAPH_MAX_TOTAL_NS ||
        b->total_ns + dur + delay > INQ_GRAPH_MAX_TOTAL_NS) {
        return inq_err_set(err, INQ_FORMAT, /* to give less of it would not help */
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
    int code = order_find(builder, &order, NULL, err);
    if (code == INQ_OK && order.n_placed < builder->n_ops) {
        code = inq_deadlock_explain(builder, &order, deadlock, err);
    }
    code = code == INQ_OK ? deliver(builder, &order, graph, err) : code;
    order_release(&order);
    return code;
}

int inq_graph_finish_cut(struct inq_graph_builder *builder, struct inq_graph **graph, size_t *n_cut,
                         struct inq_err *err)
{
    struct inq_order order = {0};
    *n_cut = 0;
    int code = order_find(builder, &order, n_cut, err);
    code = code == INQ_OK ? deliver(builder, &order, graph, err) : code;
    order_release(&order);
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
