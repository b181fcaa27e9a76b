/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/straggler/stretches.h"

#include "base/mem.h"
#include "base/sort.h"

void inq_stretches_release(struct inq_stretches *t)
{
    inq_mem_free(t->start);
    inq_mem_free(t->call);
    inq_mem_free(t->at);
    inq_mem_free(t->blind);
    inq_mem_free(t->of);
    *t = (struct inq_stretches){0};
}

static uint32_t call_of(const struct inq_repairing *x, size_t op)
{
    const struct inq_trace_op *what = &x->run->g.ops[op];
    return x->study->trace->ranks[what->rank].events.call[what->row];
}

size_t inq_stretch_of(const struct inq_repairing *x, const struct inq_stretches *t, size_t op)
{
    if (t->of != NULL && t->of[op] != INQ_NONE) {
        return t->of[op];
    }
    size_t place = inq_repairing_place(x, op);
    return inq_first_from_i64(t->call, t->start[place], t->start[place + 1] - 1, call_of(x, op));
}

/* A transfer between two ranks, or one that may be. */
static bool is_pairs(const struct inq_repairing *x, const struct inq_trace_op *what)
{
    const struct inq_rank *rank = &x->study->trace->ranks[what->rank];
    uint32_t comm = what->host || rank->events.cls[what->row] != INQ_CLASS_COMM
                        ? INQ_NONE
                        : rank->events.comm[what->row];
    enum inq_coll_kind kind = comm != INQ_NONE ? rank->comms[comm].kind : INQ_COLL_UNKNOWN;
    return inq_coll_may_be_p2p(kind);
}

/* Whether a piece of compute waits for a transfer from another stage: a pass of a pipeline for a
 * receive that was posted before the pass ahead of it. */
static bool waits_for_pass(const struct inq_repairing *x, size_t op)
{
    const struct inq_graph *g = x->run->g.graph;
    bool waits = false;
    for (uint32_t d = g->dep_start[op]; d < g->dep_start[op + 1] && !waits; d++) {
        const struct inq_trace_op *on = &x->run->g.ops[g->deps[d]];
        waits = on->rank == x->run->g.ops[op].rank && is_pairs(x, on);
    }
    return waits;
}

/* Whether a stretch ends with the op, or just before it, which is `waits`. */
static bool ends_stretch(const struct inq_repairing *x, const struct inq_stretches *t, size_t op,
                         bool *waits)
{
    *waits = t->by_waits && inq_repairing_is(x, op, INQ_CLASS_COMPUTE) && waits_for_pass(x, op);
    return *waits || inq_repairing_is(x, op, INQ_CLASS_COMM);
}

/* What the ends of stretches are told by, of an op that ends one, or that one ends before. */
typedef int64_t mark(const struct inq_repairing *x, size_t op, bool before);

static int64_t last_call(const struct inq_repairing *x, size_t op, bool before)
{
    uint32_t call = call_of(x, op);
    return before && call > 0 ? call - 1 : call;
}

static int64_t begin_ns(const struct inq_repairing *x, size_t op, bool before)
{
    return x->run->g.start_ns[op] - before;
}

/* The marks of what ends the stretches of each place, ascending, INT64_MAX last. */
static int sort_marks(const struct inq_repairing *x, const struct inq_stretches *t, mark *mark_of,
                      int64_t *marks, struct inq_err *err)
{
    size_t n_places = x->n_ranks * x->n_steps;
    size_t *used = inq_mem_zalloc(n_places + 1, sizeof *used);
    if (used == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu ops", x->n_ops);
    }
    for (size_t i = 0; i < x->n_ops; i++) {
        bool waits = false;
        if (ends_stretch(x, t, i, &waits)) {
            size_t place = inq_repairing_place(x, i);
            marks[t->start[place] + used[place]++] = mark_of(x, i, waits);
        }
    }
    for (size_t k = 0; k < n_places; k++) {
        marks[t->start[k] + used[k]] = INT64_MAX;
        inq_sort_i64(marks + t->start[k], used[k]);
    }
    inq_mem_free(used);
    return INQ_OK;
}

/* ---- steps without launches ------------------------------------------------------------------ */

/* Compute of each place in the order of its rank's lanes: op[start[place]] on. */
struct orders {
    size_t *start; /* [n_places + 1] */
    uint32_t *op;
};

static int compare_rows(const void *a, const void *b, void *ctx)
{
    const struct inq_trace_op *ops = ctx;
    uint32_t x = ops[*(const uint32_t *)a].row;
    uint32_t y = ops[*(const uint32_t *)b].row;
    return (x > y) - (x < y);
}

static int find_orders(const struct inq_repairing *x, struct orders *o, struct inq_err *err)
{
    size_t n_places = x->n_ranks * x->n_steps;
    o->start = inq_mem_zalloc(n_places + 2, sizeof *o->start);
    o->op = inq_mem_alloc((x->n_ops + 1) * sizeof *o->op);
    if (o->start == NULL || o->op == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu ops", x->n_ops);
    }
    for (size_t i = 0; i < x->n_ops; i++) {
        if (inq_repairing_is(x, i, INQ_CLASS_COMPUTE)) {
            o->start[inq_repairing_place(x, i) + 2]++;
        }
    }
    for (size_t k = 0; k < n_places; k++) {
        o->start[k + 2] += o->start[k + 1];
    }
    for (size_t i = 0; i < x->n_ops; i++) {
        if (inq_repairing_is(x, i, INQ_CLASS_COMPUTE)) {
            o->op[o->start[inq_repairing_place(x, i) + 1]++] = (uint32_t)i;
        }
    }
    int code = INQ_OK;
    for (size_t k = 0; code == INQ_OK && k < n_places; k++) {
        code = inq_sort(o->op + o->start[k], o->start[k + 1] - o->start[k], sizeof *o->op,
                        compare_rows, x->run->g.ops, err);
    }
    return code;
}

static inq_str name_of(const struct inq_repairing *x, uint32_t op)
{
    const struct inq_trace_op *what = &x->run->g.ops[op];
    return x->study->trace->ranks[what->rank].events.name[what->row];
}

/* Whether two places have the same work, kernel by kernel, and as many communications. */
static bool is_like(const struct inq_repairing *x, const struct inq_stretches *t,
                    const struct orders *o, size_t a, size_t b)
{
    size_t n = o->start[a + 1] - o->start[a];
    bool same = o->start[b + 1] - o->start[b] == n &&
                t->start[b + 1] - t->start[b] == t->start[a + 1] - t->start[a];
    for (size_t i = 0; same && i < n; i++) {
        same = name_of(x, o->op[o->start[a] + i]) == name_of(x, o->op[o->start[b] + i]);
    }
    return same;
}

/* A step of the rank that has the same work and all its launches, else one of a rank that has its
 * role; `place` itself: none. `known`: all that have their launches, by rank. */
static size_t find_like(const struct inq_repairing *x, const struct inq_stretches *t,
                        const struct orders *o, const size_t *known, size_t n, size_t place)
{
    const uint32_t *role = x->study->roles.of;
    size_t rank = place / x->n_steps;
    size_t like = place;
    for (size_t i = 0; i < n; i++) {
        size_t other = known[i] / x->n_steps;
        bool better = other == rank || (like == place && role[other] == role[rank]);
        if (better && is_like(x, t, o, known[i], place)) {
            like = known[i];
        }
        if (like != place && (like / x->n_steps == rank || other > rank)) {
            break;
        }
    }
    return like;
}

/* A rank that does other work than its peers has no step to borrow from: its kernels are in the
 * stretch that the communication ends which begins next. The others wait for such a rank, so that
 * its communication begins as soon as its compute lets it. */
static int order_by_begin(const struct inq_repairing *x, struct inq_stretches *t,
                          const struct orders *o, struct inq_err *err)
{
    size_t n_places = x->n_ranks * x->n_steps;
    size_t place = 0;
    while (place < n_places && !(t->blind[place] && x->study->chosen[place / x->n_steps])) {
        place++;
    }
    if (place == n_places) {
        return INQ_OK;
    }
    int64_t *begins = inq_mem_alloc((t->start[n_places] + 1) * sizeof *begins);
    int code = begins != NULL ? sort_marks(x, t, begin_ns, begins, err)
                              : inq_err_set(err, INQ_NOMEM, "out of memory for %zu ops", x->n_ops);
    for (; code == INQ_OK && place < n_places; place++) {
        if (!t->blind[place] || !x->study->chosen[place / x->n_steps]) {
            continue;
        }
        for (size_t k = o->start[place]; k < o->start[place + 1]; k++) {
            int64_t after_ns = x->run->g.start_ns[o->op[k]] + 1;
            t->of[o->op[k]] = (uint32_t)inq_first_from_i64(begins, t->start[place],
                                                           t->start[place + 1] - 1, after_ns);
        }
        t->blind[place] = false;
        t->by_begin = true;
    }
    inq_mem_free(begins);
    return code;
}

/* A rank does the same work in each step, and ranks of a role do the same: where launches are
 * lacking, as hosts that run ahead made them before the window, kernels are in the stretches that
 * they are in in a step of which all is known. */
static int borrow(const struct inq_repairing *x, struct inq_stretches *t, struct inq_err *err)
{
    struct orders o = {0};
    int code = find_orders(x, &o, err);
    size_t n_places = x->n_ranks * x->n_steps;
    size_t *known = inq_mem_alloc((n_places + 1) * sizeof *known);
    size_t n_known = 0;
    t->of = inq_mem_alloc((x->n_ops + 1) * sizeof *t->of);
    if (code == INQ_OK && (t->of == NULL || known == NULL)) {
        code = inq_err_set(err, INQ_NOMEM, "out of memory for %zu ops", x->n_ops);
    }
    for (size_t i = 0; code == INQ_OK && i < x->n_ops; i++) {
        t->of[i] = INQ_NONE;
    }
    for (size_t place = 0; code == INQ_OK && place < n_places; place++) {
        if (!t->blind[place]) {
            known[n_known++] = place;
        }
    }
    for (size_t place = 0; code == INQ_OK && place < n_places; place++) {
        size_t like = t->blind[place] ? find_like(x, t, &o, known, n_known, place) : place;
        size_t n = like != place ? o.start[place + 1] - o.start[place] : 0;
        for (size_t i = 0; i < n; i++) {
            size_t k = inq_stretch_of(x, t, o.op[o.start[like] + i]) - t->start[like];
            t->of[o.op[o.start[place] + i]] = (uint32_t)(t->start[place] + k);
        }
        t->blind[place] = t->blind[place] && n == 0;
    }
    if (code == INQ_OK) {
        code = order_by_begin(x, t, &o, err);
    }
    inq_mem_free(known);
    inq_mem_free(o.start);
    inq_mem_free(o.op);
    return code;
}

int inq_stretches_find(const struct inq_repairing *x, bool by_waits, struct inq_stretches *t,
                       struct inq_err *err)
{
    size_t n_places = x->n_ranks * x->n_steps;
    *t = (struct inq_stretches){.start = inq_mem_zalloc(n_places + 1, sizeof *t->start),
                                .blind = inq_mem_zalloc(n_places + 1, sizeof *t->blind),
                                .by_waits = by_waits};
    if (t->start == NULL || t->blind == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu steps", n_places);
    }
    bool blind = false;
    for (size_t i = 0; i < x->n_ops; i++) {
        bool waits = false;
        bool ends = ends_stretch(x, t, i, &waits);
        if (ends || inq_repairing_is(x, i, INQ_CLASS_COMPUTE)) {
            size_t place = inq_repairing_place(x, i);
            t->start[place + 1] += ends;
            t->blind[place] = t->blind[place] || call_of(x, i) == INQ_NONE;
            blind = blind || t->blind[place];
        }
    }
    for (size_t k = 0; k < n_places; k++) { /* one stretch more than ends */
        t->start[k + 1] += t->start[k] + 1;
    }
    t->call = inq_mem_alloc((t->start[n_places] + 1) * sizeof *t->call);
    t->at = inq_mem_zalloc(t->start[n_places] + 1, sizeof *t->at);
    if (t->call == NULL || t->at == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu ops", x->n_ops);
    }
    int code = sort_marks(x, t, last_call, t->call, err);
    if (code == INQ_OK && blind) {
        code = borrow(x, t, err);
    }
    for (size_t i = 0; code == INQ_OK && i < x->n_ops; i++) {
        if (inq_repairing_is(x, i, INQ_CLASS_COMPUTE)) {
            struct inq_stretch *at = &t->at[inq_stretch_of(x, t, i)];
            at->compute_ns += x->run->recorded_dur_ns[i];
            at->kernels++;
        }
    }
    return code;
}
