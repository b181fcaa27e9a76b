/* SPDX-License-Identifier: Apache-2.0 */
/* Op graphs: building one, one from a trace, and its critical path. Here: what a graph is made of
 * before it is ordered. */
#ifndef INQ_GRAPH_GRAPH_H
#define INQ_GRAPH_GRAPH_H

#include "base/hash.h"
#include "graph/critical_path.h"
#include "graph/from_trace.h"
#include "inquest/graph.h"

/* Sums of durations and delays stay below this, so that no sum of starts and durations overflows.
 */
#define INQ_GRAPH_MAX_TOTAL_NS ((uint64_t)INT64_MAX / 4)

static inline uint64_t inq_graph_magnitude(int64_t ns)
{
    return ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
}

struct inq_edge {
    uint32_t before, after;
};

struct inq_graph_builder {
    size_t n_ops, cap_ops, cap_dur, cap_delay, cap_group;
    struct inq_graph_op *ops;
    int64_t *dur_ns;
    int64_t *delay_ns;
    uint32_t *group; /* of each op, or INQ_NONE */
    bool has_delay;
    uint64_t total_ns; /* of all |durations| and |delays| */
    size_t n_edges, cap_edges, cap_inferred;
    struct inq_edge *edges;
    bool *inferred;           /* of each edge: concluded, not recorded */
    struct inq_map lane_last; /* (rank, lane) to the last op added */
    size_t n_groups, cap_group_start, cap_missing;
    uint32_t *group_start; /* [n_groups + 1] into members */
    uint32_t *missing;     /* per group: members that are nowhere */
    size_t n_members, cap_members;
    uint32_t *members;
};

/* Units are what the order is made of: a group, or an op that is in none. */
struct inq_order {
    size_t n_placed;     /* ops */
    uint32_t *index_of;  /* [n_ops] place in the order; INQ_NONE where blocked */
    uint32_t *out_start; /* [n_ops + 1] into out */
    uint32_t *out;       /* edges by the op that is waited for */
    uint32_t *need;      /* per unit: edges not yet satisfied; groups first */
    size_t n_queued;     /* all of them placed */
    uint32_t *queue;     /* of units */
};

/* Unit of an op. */
static inline uint32_t inq_unit_of(const struct inq_graph_builder *b, uint32_t id)
{
    return b->group[id] != INQ_NONE ? b->group[id] : (uint32_t)b->n_groups + id;
}

/* Why the order is not complete: fills `deadlock` (may be NULL) and the message; returns
 * INQ_DEADLOCK, or INQ_NOMEM. */
int inq_deadlock_explain(const struct inq_graph_builder *b, const struct inq_order *order,
                         struct inq_deadlock *deadlock, struct inq_err *err);

#endif
