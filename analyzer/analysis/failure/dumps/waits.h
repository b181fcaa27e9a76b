/* SPDX-License-Identifier: Apache-2.0 */
/* Who waits for whom: a graph over ranks, and what is at the ends of its chains. */
#ifndef INQ_ANALYSIS_FAILURE_DUMPS_WAITS_H
#define INQ_ANALYSIS_FAILURE_DUMPS_WAITS_H

#include "analysis/failure/dumps/model.h"

enum inq_flight_end {
    INQ_FLIGHT_IDLE,    /* nothing pending, nobody waits for it */
    INQ_FLIGHT_WAITS,   /* for others */
    INQ_FLIGHT_ON_CPU,  /* did not enqueue what others wait for; nothing pending that explains it */
    INQ_FLIGHT_ON_GPU,  /* its GPU does not finish, or start, what its peers have */
    INQ_FLIGHT_JOINED,  /* all members have joined its oldest op */
    INQ_FLIGHT_NO_DUMP, /* others wait for it; there is no (whole) dump, or it waits for who knows
                         */
    INQ_FLIGHT_CIRCLE   /* waits for a rank that waits for it */
};

struct inq_flight_edge {
    uint32_t to;
    uint32_t op; /* index into the rank's pending */
};

struct inq_flight_node {
    enum inq_flight_end end;
    uint32_t op;    /* the pending op that holds it; INQ_NONE none */
    bool unstarted; /* on the GPU: its peers have started the op, but not finished it */
    uint32_t n_edges;
    struct inq_flight_edge *edges;
    uint32_t n_waiters;
    uint32_t waiter, waiter_op; /* one that waits for it, and its op; INQ_NONE none */
};

struct inq_flight_waits {
    struct inq_flight_node *nodes; /* [model->n_ranks] */
};

/* Fills the graph, in the model's arena. Fails with INQ_NOMEM. */
int inq_flight_waits(const struct inq_flight_model *model, struct inq_flight_waits *waits,
                     struct inq_err *err);
/* Whether others wait for it, and it for nobody: known to be stuck. */
bool inq_flight_is_stuck(const struct inq_flight_node *node);
/* Marks all ranks from which a marked rank can be reached. Fails with INQ_NOMEM. */
int inq_flight_reach(const struct inq_flight_model *model, const struct inq_flight_waits *waits,
                     bool *marked, struct inq_err *err);

#endif
