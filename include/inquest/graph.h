/* SPDX-License-Identifier: Apache-2.0 */
/* The op graph: what depended on what. Ops sit on (rank, lane); a lane runs its ops in the order in
 * which they were added; data edges say what else an op waits for; a group is a transfer that no
 * member begins before all have arrived. It is made from a trace or from a schedule with a cost
 * model, and one simulator answers every "what would it have taken".
 *
 * Semantics: start = latest end of what it waits for (0 if nothing) + its delay;
 *            end   = start + duration, or in a group: latest start in the group + own duration.
 *
 * Limits: ops, edges and the sum of all durations are bounded (INQ_LIMIT), so that sums of int64
 * nanoseconds cannot overflow. */
#ifndef INQUEST_GRAPH_H
#define INQUEST_GRAPH_H

#include "inquest/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

#define INQ_GRAPH_MAX_OPS   ((size_t)1 << 30)
#define INQ_GRAPH_MAX_EDGES ((size_t)1 << 32)

/* What is known of one op. -1 or INQ_NONE: not given. */
struct inq_graph_op {
    int32_t rank;  /* dense: 0 .. n_ranks - 1; from a trace: index into inq_trace.ranks */
    uint32_t lane; /* of the rank, any numbering; INQ_NONE: in no lane order */
    int32_t step, stage, dp_rank, micro_batch, chunk;
    uint32_t source; /* whatever the builder's user wants; from a trace: the rank's event row */
    uint8_t type;    /* enum inq_op_type */
    uint8_t cls;     /* enum inq_op_class */
};

/* An op with nothing known, of class OTHER. */
INQ_API struct inq_graph_op inq_graph_op_init(void);

/* A short name for messages, "rank 2 forward-compute micro-batch 3", into buf; returns buf. */
INQ_API const char *inq_graph_op_text(const struct inq_graph_op *op, char *buf, size_t size);

/* ---- building ---------------------------------------------------------------------------- */

struct inq_graph_builder;

/* NULL when memory is out. Free with inq_graph_builder_free; NULL is fine there. */
INQ_API struct inq_graph_builder *inq_graph_builder_new(void);
INQ_API void inq_graph_builder_free(struct inq_graph_builder *builder);

/* Appends an op and, unless its lane is INQ_NONE, orders it after the op added before it to the
 * same (rank, lane). *id counts from 0. Durations may be negative only in groups (clock error).
 * Fails with INQ_NOMEM, INQ_LIMIT; INQ_FORMAT when durations add up to more than 73 years. */
INQ_API int inq_graph_add_op(struct inq_graph_builder *builder, const struct inq_graph_op *op,
                             int64_t dur_ns, int64_t delay_ns, uint32_t *id, struct inq_err *err);
/* `after` does not start before `before` has ended. Either may be added to a lane before or after
 * the other. Fails with INQ_USAGE on an unknown id, INQ_NOMEM, INQ_LIMIT. */
INQ_API int inq_graph_add_dep(struct inq_graph_builder *builder, uint32_t before, uint32_t after,
                              struct inq_err *err);
/* The same where it was concluded from times, not recorded: what inq_graph_finish_cut cuts first.
 */
INQ_API int inq_graph_add_inferred(struct inq_graph_builder *builder, uint32_t before,
                                   uint32_t after, struct inq_err *err);
/* Makes a group of `n` ops, of which `expected` (>= n) must arrive: more than n means that some are
 * known to be missing, and the group can never complete. Fails with INQ_USAGE on an unknown id or
 * one that is in a group already, INQ_NOMEM, INQ_LIMIT. */
INQ_API int inq_graph_add_group(struct inq_graph_builder *builder, const uint32_t *ids, size_t n,
                                size_t expected, struct inq_err *err);
INQ_API size_t inq_graph_builder_count(const struct inq_graph_builder *builder);

/* ---- deadlocks ----------------------------------------------------------------------------- */

enum inq_wait_kind {
    INQ_WAIT_DATA,   /* waits for the end of an op it depends on */
    INQ_WAIT_LANE,   /* waits for the end of the op before it on its lane */
    INQ_WAIT_GROUP,  /* has arrived in its group, or could, and waits for another member */
    INQ_WAIT_MISSING /* its group lacks a member that is nowhere in the graph */
};

/* `op` cannot end because of `on` (builder ids; `on` is INQ_NONE for MISSING). */
struct inq_deadlock_wait {
    uint32_t op, on;
    enum inq_wait_kind kind;
};

/* Ops that wait for each other: waits[i].on == waits[i + 1].op, and the last waits on the first;
 * or a chain that ends in a MISSING. All-zero is releasable. */
struct inq_deadlock {
    size_t n_blocked; /* ops that never start or never end */
    size_t n_waits;
    struct inq_deadlock_wait *waits;
};

INQ_API void inq_deadlock_release(struct inq_deadlock *deadlock);

/* ---- the graph ----------------------------------------------------------------------------- */

/* Read-only once built. Ops are numbered in a topological order that is found once: everything an
 * op waits for has a smaller index, and the members of a group are neighbors. */
struct inq_graph {
    size_t n_ops, n_deps, n_groups, n_ranks;
    int64_t *dur_ns;         /* [n_ops] as added */
    int64_t *delay_ns;       /* [n_ops]; NULL when all are 0 */
    struct inq_graph_op *op; /* [n_ops] */
    uint32_t *dep_start;     /* [n_ops + 1] into deps */
    uint32_t *deps;          /* [n_deps]; in the order in which they were added, lane order first */
    uint32_t *members;       /* [n_ops]; of the group that begins here; 1: none; 0: inside one */
    uint32_t *id_of;         /* [n_ops]; the builder's id of each op */
    uint32_t *index_of;      /* [n_ops]; the inverse */
};

/* Makes the graph and empties the builder (still to be freed). A cycle, or a group that cannot
 * complete, fails with INQ_DEADLOCK: the message names the ops, `deadlock` (may be NULL; release
 * it) gets them, and the builder keeps its content so that the ids can be looked up. */
INQ_API int inq_graph_finish(struct inq_graph_builder *builder, struct inq_graph **graph,
                             struct inq_deadlock *deadlock, struct inq_err *err);
/* The same of a record, which may contradict itself but did run: circles are cut at their weakest
 * link (inferred edges, then members of groups, then recorded edges); *n_cut gets the number of
 * cuts. INQ_DEADLOCK only where a group lacks a member. */
INQ_API int inq_graph_finish_cut(struct inq_graph_builder *builder, struct inq_graph **graph,
                                 size_t *n_cut, struct inq_err *err);
INQ_API void inq_graph_free(struct inq_graph *graph);

/* First op of the group that `op` is in (itself when in none); *n gets the number of members. */
INQ_API uint32_t inq_graph_group_of(const struct inq_graph *graph, uint32_t op, uint32_t *n);

/* ---- simulation ---------------------------------------------------------------------------- */

/* Simulates once. `dur_ns` NULL: the graph's; `delay_ns` NULL: no delays; `start_ns` may be NULL.
 * Arrays are the caller's, [n_ops], by op index. Allocates nothing, cannot fail. Returns the
 * latest end (0 for an empty graph). */
INQ_API int64_t inq_simulate(const struct inq_graph *graph, const int64_t *dur_ns,
                             const int64_t *delay_ns, int64_t *start_ns, int64_t *end_ns);

/* Scenarios that are simulated side by side, so that the graph is walked once for all. */
#define INQ_SIM_BATCH 8

/* `dur_ns` and `end_ns` are [n_ops][INQ_SIM_BATCH]; no delays; makespan_ns gets the latest ends. */
INQ_API void inq_simulate_batch(const struct inq_graph *graph, const int64_t *dur_ns,
                                int64_t *end_ns, int64_t makespan_ns[INQ_SIM_BATCH]);

/* Fills the durations of scenarios first .. first + n - 1 (n <= INQ_SIM_BATCH) into
 * dur_ns[n_ops][INQ_SIM_BATCH]; called from several threads at once. */
typedef void (*inq_sim_fill)(void *ctx, size_t first, size_t n, int64_t *dur_ns);

/* Simulates `n` scenarios over one graph, in parallel; makespan_ns[n] does not depend on `jobs`.
 * Fails with INQ_NOMEM. */
INQ_API int inq_simulate_many(const struct inq_graph *graph, size_t n, inq_sim_fill fill, void *ctx,
                              int jobs, int64_t *makespan_ns, struct inq_err *err);

#ifdef __cplusplus
}
#endif

#endif
