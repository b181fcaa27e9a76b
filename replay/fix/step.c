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
    if (to->ops == NULL || to->edges == NULL || to->ranks == NULL) {
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
 * while it is in the cache, instead of all of them side by side. */

struct walk {
    const struct fix_step *job;
    bool delays;
    struct group_lists groups;
    uint32_t *next;      /* [n_ops] after it on its lane; INQ_NONE: none */
    uint32_t *out_start; /* [n_ops + 2] into out */
    uint32_t *out;       /* [n_edges] what waits for an op */
    uint32_t *need;    /* [n_groups + n_ops] edges that each group, or op in none, still waits for;
                          on the stack: what is below it; INQ_NONE: walked */
    int64_t *ready_ns; /* [n_ops] latest end of what it waits for; INT64_MIN: none so far */
    uint32_t top;      /* of the stack of groups and ops that wait for nothing any more */
    size_t n_done;
    int64_t latest_ns;
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
}

static int alloc_walk(struct walk *w, struct inq_err *err)
{
    size_t n = w->job->n_ops;
    w->next = inq_mem_alloc((n + 1) * sizeof *w->next);
    w->out_start = inq_mem_zalloc(n + 2, sizeof *w->out_start);
    w->out = inq_mem_alloc((w->job->n_edges + 1) * sizeof *w->out);
    w->need = inq_mem_zalloc(w->job->n_groups + n + 1, sizeof *w->need);
    w->ready_ns = inq_mem_alloc((n + 1) * sizeof *w->ready_ns);
    if (w->next == NULL || w->out_start == NULL || w->out == NULL || w->need == NULL ||
        w->ready_ns == NULL) {
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

/* Ops of one lane mostly follow each other in the list, so that few of them are looked up. */
static int chain_lanes(struct walk *w, struct inq_err *err)
{
    const struct fix_step *job = w->job;
    struct inq_map last = {0}; /* of each lane that was left */
    uint64_t lane = 0;
    uint32_t before = INQ_NONE; /* the last op of `lane` */
    int code = INQ_OK;
    for (uint32_t i = 0; code == INQ_OK && i < job->n_ops; i++) {
        const struct inq_graph_op *op = &job->ops[i].op;
        uint64_t own = (uint64_t)(uint32_t)op->rank << 32 | op->lane;
        if (op->lane == INQ_NONE) {
            continue;
        }
        if (before == INQ_NONE || own != lane) {
            code = before != INQ_NONE ? inq_map_put(&last, lane, before, err) : INQ_OK;
            before = INQ_NONE;
            (void)inq_map_get(&last, own, &before);
            lane = own;
        }
        if (before != INQ_NONE) {
            w->next[before] = i;
            w->need[unit_of(w, i)]++;
        }
        before = i;
    }
    inq_map_release(&last);
    return code;
}

static void sort_edges(struct walk *w)
{
    const struct fix_step *job = w->job;
    for (size_t e = 0; e < job->n_edges; e++) {
        w->out_start[job->edges[e].before + 2]++;
        w->need[unit_of(w, job->edges[e].after)]++;
    }
    for (size_t i = 2; i < job->n_ops + 2; i++) {
        w->out_start[i] += w->out_start[i - 1];
    }
    for (size_t e = 0; e < job->n_edges; e++) {
        w->out[w->out_start[job->edges[e].before + 1]++] = job->edges[e].after;
    }
}

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
    int64_t ready_ns = w->ready_ns[i] != INT64_MIN ? w->ready_ns[i] : 0;
    return ready_ns + (w->delays ? w->job->ops[i].delay_ns : 0);
}

static void end_op(struct walk *w, uint32_t i, int64_t arrival_ns)
{
    int64_t end_ns = arrival_ns + w->job->ops[i].dur_ns;
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

/* From the first op on whatever waits for nothing, and then what that sets free. */
static void walk_all(struct walk *w)
{
    for (uint32_t i = 0; i < w->job->n_ops; i++) {
        uint32_t unit = unit_of(w, i);
        bool first = unit >= w->job->n_groups || w->groups.members[w->groups.start[unit]] == i;
        if (first && w->need[unit] == 0) {
            push(w, unit);
        }
        while (w->top != INQ_NONE) {
            unit = w->top;
            w->top = w->need[unit];
            w->need[unit] = INQ_NONE;
            walk_unit(w, unit);
        }
    }
}

/* Whether the durations add up to what can be walked without overflow. */
static bool is_bounded(const struct fix_step *job)
{
    uint64_t total_ns = 0;
    bool bounded = true;
    for (size_t i = 0; bounded && i < job->n_ops; i++) {
        uint64_t dur_ns = inq_graph_magnitude(job->ops[i].dur_ns);
        uint64_t delay_ns = inq_graph_magnitude(job->ops[i].delay_ns);
        bounded = dur_ns <= INQ_GRAPH_MAX_TOTAL_NS && delay_ns <= INQ_GRAPH_MAX_TOTAL_NS;
        total_ns += bounded ? dur_ns + delay_ns : 0;
        bounded = bounded && total_ns <= INQ_GRAPH_MAX_TOTAL_NS;
    }
    return bounded;
}

int inq_fix_step_time(const struct fix_step *job, bool delays, int64_t *t_ns, struct inq_err *err)
{
    struct walk w = {.job = job, .delays = delays, .top = INQ_NONE};
    int code = INQ_OK;
    bool bounded = is_bounded(job);
    if (bounded) {
        code = list_groups(job, &w.groups, err);
        code = code == INQ_OK ? alloc_walk(&w, err) : code;
        code = code == INQ_OK ? chain_lanes(&w, err) : code;
    }
    if (bounded && code == INQ_OK) {
        sort_edges(&w);
        walk_all(&w);
    }
    release_walk(&w);
    *t_ns = w.latest_ns;
    if (code == INQ_OK && w.n_done < job->n_ops) { /* its graph says why not */
        struct inq_graph *graph = NULL;
        code = inq_fix_step_graph(job, &graph, err);
        inq_graph_free(graph);
    }
    return code;
}
