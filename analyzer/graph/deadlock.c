/* SPDX-License-Identifier: Apache-2.0 */
/* Why a set of ops can never run: walks from a blocked op to what it waits for until it meets
 * itself, or a member that is nowhere. */
#include "base/mem.h"
#include "graph/graph.h"

#include <stdio.h>
#include <string.h>

/* Waits named in the message; the rest is counted. */
enum { MAX_NAMED = 6 };

void inq_deadlock_release(struct inq_deadlock *deadlock)
{
    inq_mem_free(deadlock->waits);
    *deadlock = (struct inq_deadlock){0};
}

struct walk {
    const struct inq_graph_builder *b;
    const struct inq_order *order;
    uint32_t *in_start, *in; /* blocked ops' edges, by the op that waits */
    size_t n, cap;
    struct inq_deadlock_wait *waits;
};

static bool is_blocked(const struct walk *w, uint32_t id)
{
    return w->order->index_of[id] == INQ_NONE;
}

/* Edges from blocked ops, by the op that waits, in the order in which they were added. */
static int index_waits(struct walk *w, struct inq_err *err)
{
    const struct inq_graph_builder *b = w->b;
    w->in_start = inq_mem_zalloc(b->n_ops + 1, sizeof *w->in_start);
    w->in = inq_mem_alloc(b->n_edges * sizeof *w->in);
    if (w->in_start == NULL || w->in == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for explaining a deadlock");
    }
    for (size_t e = 0; e < b->n_edges; e++) {
        w->in_start[b->edges[e].after + 1] += is_blocked(w, b->edges[e].before);
    }
    for (size_t i = 0; i < b->n_ops; i++) {
        w->in_start[i + 1] += w->in_start[i];
    }
    for (size_t e = 0; e < b->n_edges; e++) {
        if (is_blocked(w, b->edges[e].before)) {
            w->in[w->in_start[b->edges[e].after]++] = b->edges[e].before;
        }
    }
    for (size_t i = b->n_ops; i > 0; i--) {
        w->in_start[i] = w->in_start[i - 1];
    }
    w->in_start[0] = 0;
    return INQ_OK;
}

static bool waits_for_an_op(const struct walk *w, uint32_t id)
{
    return w->in_start[id + 1] > w->in_start[id];
}

/* What a blocked op waits for: an op it depends on, else another member of its group. */
static struct inq_deadlock_wait wait_of(const struct walk *w, uint32_t id)
{
    const struct inq_graph_builder *b = w->b;
    if (waits_for_an_op(w, id)) {
        uint32_t on = w->in[w->in_start[id]];
        const struct inq_graph_op *x = &b->ops[id];
        const struct inq_graph_op *y = &b->ops[on];
        bool lane = x->lane != INQ_NONE && x->rank == y->rank && x->lane == y->lane;
        return (struct inq_deadlock_wait){id, on, lane ? INQ_WAIT_LANE : INQ_WAIT_DATA};
    }
    uint32_t group = b->group[id];
    if (b->missing[group] > 0) {
        return (struct inq_deadlock_wait){id, INQ_NONE, INQ_WAIT_MISSING};
    }
    uint32_t m = b->group_start[group];
    while (!waits_for_an_op(w, b->members[m])) {
        m++;
    }
    return (struct inq_deadlock_wait){id, b->members[m], INQ_WAIT_GROUP};
}

/* Follows waits from the first blocked op; place[id] is 1 + where id's wait is in w->waits. */
static int walk_waits(struct walk *w, uint32_t *place, struct inq_err *err)
{
    uint32_t id = 0;
    while (!is_blocked(w, id)) {
        id++;
    }
    while (id != INQ_NONE && place[id] == 0) {
        int code =
            inq_mem_grow(&w->waits, &w->cap, w->n + 1, sizeof *w->waits, INQ_GRAPH_MAX_OPS, err);
        if (code != INQ_OK) {
            return code;
        }
        w->waits[w->n++] = wait_of(w, id);
        place[id] = (uint32_t)w->n;
        id = w->waits[w->n - 1].on;
    }
    if (id != INQ_NONE && w->waits != NULL) { /* the way into the cycle is not part of it */
        size_t skip = place[id] - 1;
        w->n -= skip;
        memmove(w->waits, w->waits + skip, w->n * sizeof *w->waits);
    }
    return INQ_OK;
}

static size_t append(char *text, size_t size, size_t len, const char *more)
{
    int n = snprintf(text + len, size - len, "%s", more);
    return n < 0 ? len : len + (size_t)n < size ? len + (size_t)n : size - 1;
}

static void describe(const struct walk *w, size_t n_blocked, struct inq_err *err)
{
    static const char *const verbs[] = {" waits for the result of ", " waits on its lane for ",
                                        " waits in its transfer for "};
    char text[440];
    char name[96];
    size_t len = 0;
    size_t named = w->n < MAX_NAMED ? w->n : MAX_NAMED;
    for (size_t i = 0; i < named; i++) {
        const struct inq_deadlock_wait *wait = &w->waits[i];
        len = append(text, sizeof text, len, i > 0 ? "; " : "");
        (void)inq_graph_op_text(&w->b->ops[wait->op], name, sizeof name);
        len = append(text, sizeof text, len, name);
        if (wait->kind == INQ_WAIT_MISSING) {
            len = append(text, sizeof text, len, " waits for a peer that never comes");
            continue;
        }
        len = append(text, sizeof text, len, verbs[wait->kind]);
        (void)inq_graph_op_text(&w->b->ops[wait->on], name, sizeof name);
        len = append(text, sizeof text, len, name);
    }
    if (named < w->n) {
        (void)snprintf(name, sizeof name, "; and %zu more", w->n - named);
        (void)append(text, sizeof text, len, name);
    }
    (void)inq_err_set(err, INQ_DEADLOCK, "%zu ops never finish: %s", n_blocked, text);
}

int inq_deadlock_explain(const struct inq_graph_builder *b, const struct inq_order *order,
                         struct inq_deadlock *deadlock, struct inq_err *err)
{
    struct walk w = {.b = b, .order = order};
    uint32_t *place = inq_mem_zalloc(b->n_ops, sizeof *place);
    if (place == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for explaining a deadlock");
    }
    int code = index_waits(&w, err);
    if (code == INQ_OK) {
        code = walk_waits(&w, place, err);
    }
    if (code == INQ_OK) {
        size_t n_blocked = b->n_ops - order->n_placed;
        describe(&w, n_blocked, err);
        code = INQ_DEADLOCK;
        if (deadlock != NULL) {
            *deadlock = (struct inq_deadlock){n_blocked, w.n, w.waits};
            w.waits = NULL;
        }
    }
    inq_mem_free(w.in_start);
    inq_mem_free(w.in);
    inq_mem_free(w.waits);
    inq_mem_free(place);
    return code;
}
