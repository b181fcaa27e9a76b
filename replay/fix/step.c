/* SPDX-License-Identifier: Apache-2.0 */
#include "fix/step.h"

#include "base/mem.h"
#include "graph/optable/optable.h"

#include <math.h>
#include <string.h>

void inq_fix_step_release(struct fix_step *job)
{
    inq_mem_free(job->ops);
    inq_mem_free(job->edges);
    inq_mem_free(job->ranks);
    inq_mem_free(job->replicas.dur_ns);
    inq_mem_free(job->replicas.delay_ns);
    *job = (struct fix_step){0};
}

static void *copy_of(const void *from, size_t n, size_t size)
{
    void *to = inq_mem_zalloc(n > 0 ? n : 1, size);
    if (to != NULL && n > 0) {
        memcpy(to, from, n * size);
    }
    return to;
}

int inq_fix_step_copy(const struct fix_step *from, struct fix_step *to, struct inq_err *err)
{
    *to = *from;
    to->cap_ops = from->n_ops;
    to->cap_edges = from->n_edges;
    to->ops = copy_of(from->ops, from->n_ops, sizeof *to->ops);
    to->edges = copy_of(from->edges, from->n_edges, sizeof *to->edges);
    to->ranks = copy_of(from->ranks, from->n_ranks, sizeof *to->ranks);
    const struct fix_replicas *x = &from->replicas;
    to->replicas.dur_ns = copy_of(x->dur_ns, x->n * x->n_ops, sizeof *x->dur_ns);
    to->replicas.delay_ns = copy_of(x->delay_ns, x->n * x->n_delayed, sizeof *x->delay_ns);
    if (to->ops == NULL || to->edges == NULL || to->ranks == NULL || to->replicas.dur_ns == NULL ||
        to->replicas.delay_ns == NULL) {
        inq_fix_step_release(to);
        return inq_err_set(err, INQ_NOMEM, "out of memory for a step of %zu ops", from->n_ops);
    }
    return INQ_OK;
}

int inq_fix_step_add(struct fix_step *job, const struct fix_op *op, uint32_t *index,
                     struct inq_err *err)
{
    int code = inq_mem_grow(&job->ops, &job->cap_ops, job->n_ops + 1, sizeof *job->ops,
                            INQ_GRAPH_MAX_OPS, err);
    if (code == INQ_OK) {
        if (index != NULL) {
            *index = (uint32_t)job->n_ops;
        }
        job->ops[job->n_ops++] = *op;
    }
    return code;
}

int inq_fix_step_edge(struct fix_step *job, uint32_t before, uint32_t after, struct inq_err *err)
{
    int code = inq_mem_grow(&job->edges, &job->cap_edges, job->n_edges + 1, sizeof *job->edges,
                            INQ_GRAPH_MAX_EDGES - 1, err);
    if (code == INQ_OK) {
        job->edges[job->n_edges++] = (struct inq_edge){before, after};
    }
    return code;
}

int64_t inq_fix_scaled(int64_t ns, double factor)
{
    return (int64_t)llround((double)ns * factor);
}

/* ---- replicas -------------------------------------------------------------------------------- */

static void take_replica(struct fix_step *job, size_t k, size_t n_ranks)
{
    const struct fix_replicas *x = &job->replicas;
    for (size_t i = 0; i < x->n_ops; i++) {
        struct fix_op *op = &job->ops[k * x->n_ops + i];
        *op = job->ops[i];
        op->op.rank += (int32_t)(k * n_ranks);
        op->op.dp_rank += (int32_t)k;
        op->group += op->group != INQ_NONE ? (uint32_t)(k * x->n_groups) : 0;
        op->dur_ns = x->dur_ns[k * x->n_ops + i];
        op->delay_ns = i < x->n_delayed ? x->delay_ns[k * x->n_delayed + i] : 0;
    }
    for (size_t e = 0; e < x->n_edges; e++) {
        uint32_t first = (uint32_t)(k * x->n_ops);
        struct inq_edge edge = job->edges[e];
        job->edges[k * x->n_edges + e] = (struct inq_edge){first + edge.before, first + edge.after};
    }
}

int inq_fix_step_expand(struct fix_step *job, struct inq_err *err)
{
    struct fix_replicas *x = &job->replicas;
    if (x->n == 0) {
        return INQ_OK;
    }
    size_t more = x->n - 1;
    int code = inq_mem_grow(&job->ops, &job->cap_ops, job->n_ops + more * x->n_ops,
                            sizeof *job->ops, INQ_GRAPH_MAX_OPS, err);
    if (code == INQ_OK) {
        code = inq_mem_grow(&job->edges, &job->cap_edges, job->n_edges + more * x->n_edges,
                            sizeof *job->edges, INQ_GRAPH_MAX_EDGES - 1, err);
    }
    if (code != INQ_OK) {
        return code;
    }
    struct fix_op *others = job->ops + x->n * x->n_ops;
    size_t n_others = job->n_ops - x->n_ops;
    memmove(others, job->ops + x->n_ops, n_others * sizeof *others);
    for (size_t i = 0; i < n_others; i++) {
        others[i].group += others[i].group != INQ_NONE ? (uint32_t)(more * x->n_groups) : 0;
    }
    memmove(job->edges + x->n * x->n_edges, job->edges + x->n_edges,
            (job->n_edges - x->n_edges) * sizeof *job->edges);
    for (size_t k = 1; k < x->n; k++) {
        take_replica(job, k, job->n_ranks / x->n);
    }
    job->n_ops += more * x->n_ops;
    job->n_edges += more * x->n_edges;
    job->n_groups += more * x->n_groups;
    inq_mem_free(x->dur_ns);
    inq_mem_free(x->delay_ns);
    *x = (struct fix_replicas){0};
    return INQ_OK;
}

/* ---- from a graph ---------------------------------------------------------------------------- */

static bool same_lane(const struct inq_graph_op *a, const struct inq_graph_op *b)
{
    return a->lane != INQ_NONE && a->lane == b->lane && a->rank == b->rank;
}

int inq_fix_step_take(struct fix_step *job, const struct inq_graph *graph, const int64_t *dur_ns,
                      const int64_t *delay_ns, struct inq_err *err)
{
    int code = INQ_OK;
    uint32_t group = INQ_NONE;
    size_t group_end = 0;
    for (size_t i = 0; code == INQ_OK && i < graph->n_ops; i++) {
        if (i >= group_end) {
            group = graph->members[i] > 1 ? (uint32_t)job->n_groups++ : INQ_NONE;
            group_end = i + graph->members[i];
        }
        struct fix_op op = {.op = graph->op[i],
                            .dur_ns = dur_ns[i],
                            .delay_ns = delay_ns != NULL ? delay_ns[i] : 0,
                            .mean_ns = INQ_TIME_NONE,
                            .slot = INQ_NONE,
                            .group = group,
                            .coll = INQ_COLL_UNKNOWN,
                            .bytes = -1};
        code = inq_fix_step_add(job, &op, NULL, err);
    }
    for (size_t i = 0; code == INQ_OK && i < graph->n_ops; i++) {
        for (uint32_t d = graph->dep_start[i]; code == INQ_OK && d < graph->dep_start[i + 1]; d++) {
            uint32_t before = graph->deps[d];
            if (!same_lane(&graph->op[before], &graph->op[i])) { /* the lane says so again */
                code = inq_fix_step_edge(job, before, (uint32_t)i, err);
            }
        }
    }
    return code;
}

/* ---- to a graph ------------------------------------------------------------------------------ */

struct group_lists {
    size_t *start;     /* [n_groups + 2] */
    uint32_t *members; /* [n_ops] */
};

static int list_groups(const struct fix_step *job, struct group_lists *x, struct inq_err *err)
{
    x->start = inq_mem_zalloc(job->n_groups + 2, sizeof *x->start);
    x->members = inq_mem_alloc((job->n_ops + 1) * sizeof *x->members);
    if (x->start == NULL || x->members == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu groups", job->n_groups);
    }
    for (size_t i = 0; i < job->n_ops; i++) {
        if (job->ops[i].group != INQ_NONE) {
            x->start[job->ops[i].group + 2]++;
        }
    }
    for (size_t g = 2; g < job->n_groups + 2; g++) {
        x->start[g] += x->start[g - 1];
    }
    for (size_t i = 0; i < job->n_ops; i++) {
        if (job->ops[i].group != INQ_NONE) {
            x->members[x->start[job->ops[i].group + 1]++] = (uint32_t)i;
        }
    }
    return INQ_OK;
}

static int build(const struct fix_step *job, struct inq_graph_builder *b,
                 const struct group_lists *groups, struct inq_err *err)
{
    int code = INQ_OK;
    for (size_t i = 0; code == INQ_OK && i < job->n_ops; i++) {
        const struct fix_op *op = &job->ops[i];
        code = inq_graph_add_op(b, &op->op, op->dur_ns, op->delay_ns, NULL, err);
    }
    for (size_t e = 0; code == INQ_OK && e < job->n_edges; e++) {
        code = inq_graph_add_dep(b, job->edges[e].before, job->edges[e].after, err);
    }
    for (size_t g = 0; code == INQ_OK && g < job->n_groups; g++) {
        size_t n = groups->start[g + 1] - groups->start[g];
        if (n > 1) {
            code = inq_graph_add_group(b, groups->members + groups->start[g], n, n, err);
        }
    }
    return code;
}

int inq_fix_step_graph(const struct fix_step *job, struct inq_graph **graph, struct inq_err *err)
{
    struct group_lists groups = {0};
    struct inq_graph_builder *b = inq_graph_builder_new();
    int code = b != NULL ? list_groups(job, &groups, err)
                         : inq_err_set(err, INQ_NOMEM, "out of memory for a graph");
    if (code == INQ_OK) {
        code = build(job, b, &groups, err);
    }
    if (code == INQ_OK) {
        code = inq_graph_finish(b, graph, NULL, err);
    }
    inq_mem_free(groups.start);
    inq_mem_free(groups.members);
    inq_graph_builder_free(b);
    return code;
}

/* ---- its length ------------------------------------------------------------------------------
 *
 * The latest end does not depend on the order in which ops are walked. So no graph is made, which
 * would take twice the job's memory again, and what an op sets free is walked at once: a replica
 * while it is in the cache, instead of all of them side by side. Replicas that are not listed are
 * walked one by one, in the memory of the first, after what they wait for. */

/* What joins an op of a replica and one that is in none. */
struct crossing {
    uint32_t replica, own, other; /* `other` is a place in the list */
    bool enters;                  /* the replica's op waits for the other one */
};

struct walk {
    const struct fix_step *job;
    bool delays;
    struct group_lists groups;
    uint32_t *next;      /* [n_ops] after it on its lane; INQ_NONE: none */
    uint32_t *out_start; /* [n_ops + 2] into out */
    uint32_t *out;       /* [n_edges] what waits for an op */
    uint32_t *need;    /* [n_groups + n_ops] edges that each group, or op in none, still waits for;
                          on the stack: what is below it; INQ_NONE: walked */
    int64_t *ready_ns; /* [n_ops] latest end of what it waits for; INT64_MIN: none so far; of what
                          was walked: its own end */
    uint32_t top;      /* of the stack of groups and ops that wait for nothing any more */
    size_t n_done;
    int64_t latest_ns;
    /* with replicas */
    size_t n_crossings, cap_crossings;
    struct crossing *crossings; /* by replica: */
    size_t *crossing_start;     /* [replicas + 2] */
    uint32_t *fresh;            /* of one replica: need of its groups, then of its ops */
    size_t replica;             /* that is being walked */
};

static void release_walk(struct walk *w)
{
    inq_mem_free(w->groups.start);
    inq_mem_free(w->groups.members);
    inq_mem_free(w->next);
    inq_mem_free(w->out_start);
    inq_mem_free(w->out);
    inq_mem_free(w->need);
    inq_mem_free(w->ready_ns);
    inq_mem_free(w->crossings);
    inq_mem_free(w->crossing_start);
    inq_mem_free(w->fresh);
}

static int alloc_walk(struct walk *w, struct inq_err *err)
{
    const struct fix_replicas *x = &w->job->replicas;
    size_t n = w->job->n_ops;
    w->next = inq_mem_alloc((n + 1) * sizeof *w->next);
    w->out_start = inq_mem_zalloc(n + 2, sizeof *w->out_start);
    w->out = inq_mem_alloc((w->job->n_edges + 1) * sizeof *w->out);
    w->need = inq_mem_zalloc(w->job->n_groups + n + 1, sizeof *w->need);
    w->ready_ns = inq_mem_alloc((n + 1) * sizeof *w->ready_ns);
    w->crossing_start = inq_mem_zalloc(x->n + 2, sizeof *w->crossing_start);
    w->fresh = inq_mem_alloc((x->n_groups + x->n_ops + 1) * sizeof *w->fresh);
    if (w->next == NULL || w->out_start == NULL || w->out == NULL || w->need == NULL ||
        w->ready_ns == NULL || w->crossing_start == NULL || w->fresh == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for simulating %zu ops", n);
    }
    memset(w->next, 0xff, (n + 1) * sizeof *w->next);
    for (size_t i = 0; i < n; i++) {
        w->ready_ns[i] = INT64_MIN;
    }
    return INQ_OK;
}

static uint32_t unit_of(const struct walk *w, uint32_t i)
{
    uint32_t group = w->job->ops[i].group;
    return group != INQ_NONE ? group : (uint32_t)w->job->n_groups + i;
}

static int add_crossing(struct walk *w, const struct crossing *crossing, struct inq_err *err)
{
    int code = inq_mem_grow(&w->crossings, &w->cap_crossings, w->n_crossings + 1,
                            sizeof *w->crossings, SIZE_MAX, err);
    if (code == INQ_OK) {
        w->crossings[w->n_crossings++] = *crossing;
        w->crossing_start[crossing->replica + 2]++;
        if (!crossing->enters) {
            w->need[unit_of(w, crossing->other)]++;
        }
    }
    return code;
}

/* ---- what waits for what */

static uint64_t lane_key(int32_t rank, uint32_t lane)
{
    return (uint64_t)(uint32_t)rank << 32 | lane;
}

/* The op in no replica is the first of those on its lane: after the last one of its replica. */
static int chain_replica(struct walk *w, uint32_t i, const struct inq_map *in_replica,
                         struct inq_err *err)
{
    const struct inq_graph_op *op = &w->job->ops[i].op;
    size_t n = w->job->replicas.n;
    int32_t n_ranks = n > 0 ? (int32_t)(w->job->n_ranks / n) : 1;
    struct crossing c = {.replica = (uint32_t)(op->rank / n_ranks), .other = i};
    bool found =
        c.replica < n && inq_map_get(in_replica, lane_key(op->rank % n_ranks, op->lane), &c.own);
    return found ? add_crossing(w, &c, err) : INQ_OK;
}

/* Chains the ops [from, to); `last` gets the last op of each lane. Ops of one lane mostly follow
 * each other in the list, so that few of them are looked up. */
static int chain_lanes(struct walk *w, size_t from, size_t to, struct inq_map *last,
                       const struct inq_map *in_replica, struct inq_err *err)
{
    const struct fix_step *job = w->job;
    uint64_t lane = 0;
    uint32_t before = INQ_NONE; /* the last op of `lane` */
    int code = INQ_OK;
    for (uint32_t i = (uint32_t)from; code == INQ_OK && i < to; i++) {
        const struct inq_graph_op *op = &job->ops[i].op;
        uint64_t own = lane_key(op->rank, op->lane);
        if (op->lane == INQ_NONE) {
            continue;
        }
        if (before == INQ_NONE || own != lane) {
            code = before != INQ_NONE ? inq_map_put(last, lane, before, err) : INQ_OK;
            before = INQ_NONE;
            (void)inq_map_get(last, own, &before);
            lane = own;
        }
        if (before != INQ_NONE) {
            w->next[before] = i;
            w->need[unit_of(w, i)]++;
        } else if (code == INQ_OK && in_replica != NULL) {
            code = chain_replica(w, i, in_replica, err);
        }
        before = i;
    }
    return code == INQ_OK && before != INQ_NONE ? inq_map_put(last, lane, before, err) : code;
}

static int chain_all(struct walk *w, struct inq_err *err)
{
    size_t n_own = w->job->replicas.n_ops;
    struct inq_map in_replica = {0};
    struct inq_map last = {0};
    int code = chain_lanes(w, 0, n_own, &in_replica, NULL, err);
    if (code == INQ_OK) {
        code = chain_lanes(w, n_own, w->job->n_ops, &last, n_own > 0 ? &in_replica : NULL, err);
    }
    inq_map_release(&in_replica);
    inq_map_release(&last);
    return code;
}

/* Whether both ends of an edge are in the list, whose places they get; else it is a crossing. */
static bool list_edge(const struct fix_step *job, size_t e, struct inq_edge *edge,
                      struct crossing *crossing)
{
    const struct fix_replicas *x = &job->replicas;
    *edge = job->edges[e];
    if (e < x->n_edges || x->n == 0) {
        return true;
    }
    size_t n = x->n * x->n_ops; /* ops of replicas are numbered before the others */
    size_t unlisted = (x->n - 1) * x->n_ops;
    crossing->enters = edge->after < n;
    if (edge->before >= n && edge->after >= n) {
        edge->before -= (uint32_t)unlisted;
        edge->after -= (uint32_t)unlisted;
        return true;
    }
    size_t own = crossing->enters ? edge->after : edge->before;
    size_t other = crossing->enters ? edge->before : edge->after;
    crossing->replica = (uint32_t)(own / x->n_ops);
    crossing->own = (uint32_t)(own % x->n_ops);
    crossing->other = (uint32_t)(other - unlisted);
    return false;
}

static int sort_edges(struct walk *w, struct inq_err *err)
{
    const struct fix_step *job = w->job;
    struct inq_edge edge;
    struct crossing crossing;
    int code = INQ_OK;
    for (size_t e = 0; code == INQ_OK && e < job->n_edges; e++) {
        if (list_edge(job, e, &edge, &crossing)) {
            w->out_start[edge.before + 2]++;
            w->need[unit_of(w, edge.after)]++;
        } else {
            code = add_crossing(w, &crossing, err);
        }
    }
    for (size_t i = 2; i < job->n_ops + 2; i++) {
        w->out_start[i] += w->out_start[i - 1];
    }
    for (size_t e = 0; e < job->n_edges; e++) {
        if (list_edge(job, e, &edge, &crossing)) {
            w->out[w->out_start[edge.before + 1]++] = edge.after;
        }
    }
    return code;
}

/* Puts the crossings of each replica side by side. */
static int sort_crossings(struct walk *w, struct inq_err *err)
{
    struct crossing *sorted = inq_mem_alloc((w->n_crossings + 1) * sizeof *sorted);
    if (sorted == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu edges", w->n_crossings);
    }
    for (size_t k = 2; k < w->job->replicas.n + 2; k++) {
        w->crossing_start[k] += w->crossing_start[k - 1];
    }
    for (size_t c = 0; c < w->n_crossings; c++) {
        sorted[w->crossing_start[w->crossings[c].replica + 1]++] = w->crossings[c];
    }
    inq_mem_free(w->crossings);
    w->crossings = sorted;
    return INQ_OK;
}

/* ---- walking */

static void push(struct walk *w, uint32_t unit)
{
    w->need[unit] = w->top;
    w->top = unit;
}

static void satisfy(struct walk *w, uint32_t op, int64_t end_ns)
{
    uint32_t unit = unit_of(w, op);
    w->ready_ns[op] = end_ns > w->ready_ns[op] ? end_ns : w->ready_ns[op];
    if (--w->need[unit] == 0) {
        push(w, unit);
    }
}

static int64_t start_of(const struct walk *w, uint32_t i)
{
    const struct fix_replicas *x = &w->job->replicas;
    int64_t ready_ns = w->ready_ns[i] != INT64_MIN ? w->ready_ns[i] : 0;
    int64_t delay_ns = i >= x->n_ops      ? w->job->ops[i].delay_ns
                       : i < x->n_delayed ? x->delay_ns[w->replica * x->n_delayed + i]
                                          : 0;
    return ready_ns + (w->delays ? delay_ns : 0);
}

static void end_op(struct walk *w, uint32_t i, int64_t arrival_ns)
{
    const struct fix_replicas *x = &w->job->replicas;
    int64_t dur_ns = i < x->n_ops ? x->dur_ns[w->replica * x->n_ops + i] : w->job->ops[i].dur_ns;
    int64_t end_ns = arrival_ns + dur_ns;
    w->ready_ns[i] = end_ns;
    w->latest_ns = end_ns > w->latest_ns ? end_ns : w->latest_ns;
    w->n_done++;
    for (uint32_t k = w->out_start[i]; k < w->out_start[i + 1]; k++) {
        satisfy(w, w->out[k], end_ns);
    }
    if (w->next[i] != INQ_NONE) {
        satisfy(w, w->next[i], end_ns);
    }
}

static void walk_unit(struct walk *w, uint32_t unit)
{
    uint32_t lone = unit - (uint32_t)w->job->n_groups;
    bool grouped = unit < w->job->n_groups;
    const uint32_t *members = grouped ? w->groups.members + w->groups.start[unit] : &lone;
    size_t n = grouped ? w->groups.start[unit + 1] - w->groups.start[unit] : 1;
    int64_t arrival_ns = INT64_MIN;
    for (size_t k = 0; k < n; k++) {
        int64_t start_ns = start_of(w, members[k]);
        arrival_ns = start_ns > arrival_ns ? start_ns : arrival_ns;
    }
    for (size_t k = 0; k < n; k++) {
        end_op(w, members[k], arrival_ns);
    }
}

static void walk_stack(struct walk *w)
{
    while (w->top != INQ_NONE) {
        uint32_t unit = w->top;
        w->top = w->need[unit];
        w->need[unit] = INQ_NONE;
        walk_unit(w, unit);
    }
}

/* From the first of these ops on whatever waits for nothing, and then what that sets free. */
static void walk_ops(struct walk *w, size_t from, size_t to)
{
    for (uint32_t i = (uint32_t)from; i < to; i++) {
        uint32_t unit = unit_of(w, i);
        bool first = unit >= w->job->n_groups || w->groups.members[w->groups.start[unit]] == i;
        if (first && w->need[unit] == 0) {
            push(w, unit);
        }
        walk_stack(w);
    }
}

/* A replica is entered when all that its ops wait for from outside has ended, and left when all of
 * them have; one that another needs halfway is not walked here. */
static void walk_replica(struct walk *w, size_t replica)
{
    const struct fix_replicas *x = &w->job->replicas;
    const struct crossing *first = w->crossings + w->crossing_start[replica];
    const struct crossing *end = w->crossings + w->crossing_start[replica + 1];
    size_t n_done = w->n_done;
    memcpy(w->need, w->fresh, x->n_groups * sizeof *w->need);
    memcpy(w->need + w->job->n_groups, w->fresh + x->n_groups, x->n_ops * sizeof *w->need);
    for (size_t i = 0; i < x->n_ops; i++) {
        w->ready_ns[i] = INT64_MIN;
    }
    for (const struct crossing *c = first; c < end; c++) {
        if (c->enters && w->need[unit_of(w, c->other)] != INQ_NONE) {
            return;
        }
        if (c->enters && w->ready_ns[c->other] > w->ready_ns[c->own]) {
            w->ready_ns[c->own] = w->ready_ns[c->other];
        }
    }
    w->replica = replica;
    walk_ops(w, 0, x->n_ops);
    for (const struct crossing *c = first; c < end && w->n_done - n_done == x->n_ops; c++) {
        if (!c->enters) {
            satisfy(w, c->other, w->ready_ns[c->own]);
        }
    }
    walk_stack(w);
}

static void walk_all(struct walk *w)
{
    const struct fix_replicas *x = &w->job->replicas;
    memcpy(w->fresh, w->need, x->n_groups * sizeof *w->need);
    memcpy(w->fresh + x->n_groups, w->need + w->job->n_groups, x->n_ops * sizeof *w->need);
    walk_ops(w, x->n_ops, w->job->n_ops);
    for (size_t k = 0; k < x->n; k++) {
        walk_replica(w, k);
    }
}

static bool add_bounded(uint64_t *total_ns, int64_t ns)
{
    uint64_t magnitude = inq_graph_magnitude(ns);
    if (magnitude > INQ_GRAPH_MAX_TOTAL_NS) {
        return false;
    }
    *total_ns += magnitude;
    return *total_ns <= INQ_GRAPH_MAX_TOTAL_NS;
}

/* Whether the durations add up to what can be walked without overflow. */
static bool is_bounded(const struct fix_step *job)
{
    const struct fix_replicas *x = &job->replicas;
    uint64_t total_ns = 0;
    bool bounded = true;
    for (size_t i = 0; bounded && i < x->n * x->n_ops; i++) {
        bounded = add_bounded(&total_ns, x->dur_ns[i]);
    }
    for (size_t i = 0; bounded && i < x->n * x->n_delayed; i++) {
        bounded = add_bounded(&total_ns, x->delay_ns[i]);
    }
    for (size_t i = x->n_ops; bounded && i < job->n_ops; i++) {
        bounded = add_bounded(&total_ns, job->ops[i].dur_ns) &&
                  add_bounded(&total_ns, job->ops[i].delay_ns);
    }
    return bounded;
}

/* *whole: all ops were walked. */
static int find_length(const struct fix_step *job, bool delays, int64_t *t_ns, bool *whole,
                       struct inq_err *err)
{
    const struct fix_replicas *x = &job->replicas;
    struct walk w = {.job = job, .delays = delays, .top = INQ_NONE};
    int code = INQ_OK;
    bool bounded = is_bounded(job);
    if (bounded) {
        code = list_groups(job, &w.groups, err);
        code = code == INQ_OK ? alloc_walk(&w, err) : code;
        code = code == INQ_OK ? chain_all(&w, err) : code;
        code = code == INQ_OK ? sort_edges(&w, err) : code;
        code = code == INQ_OK ? sort_crossings(&w, err) : code;
    }
    if (bounded && code == INQ_OK) {
        walk_all(&w);
    }
    release_walk(&w);
    *t_ns = w.latest_ns;
    *whole = w.n_done == job->n_ops + (x->n > 0 ? x->n - 1 : 0) * x->n_ops;
    return code;
}

int inq_fix_step_time(const struct fix_step *job, bool delays, int64_t *t_ns, struct inq_err *err)
{
    struct fix_step all = {0};
    bool whole = false;
    int code = find_length(job, delays, t_ns, &whole, err);
    if (code != INQ_OK || whole) {
        return code;
    }
    code = inq_fix_step_copy(job, &all, err);
    if (code == INQ_OK) {
        code = inq_fix_step_expand(&all, err);
        if (code == INQ_OK && job->replicas.n > 0) { /* a replica that another needs halfway */
            code = find_length(&all, delays, t_ns, &whole, err);
        }
        if (code == INQ_OK && !whole) { /* its graph says why not */
            struct inq_graph *graph = NULL;
            code = inq_fix_step_graph(&all, &graph, err);
            inq_graph_free(graph);
        }
        inq_fix_step_release(&all);
    }
    return code;
}
