/* SPDX-License-Identifier: Apache-2.0 */
/* Who waits for whom: a graph over ranks, and what is at the ends of its chains. */
#ifndef INQ_ANALYSIS_FAILURE_STATE_SOLVE_H
#define INQ_ANALYSIS_FAILURE_STATE_SOLVE_H

#include "analysis/failure/state/model.h"

enum inq_state_end {
    INQ_END_IDLE,    /* nothing pending, nobody waits for it */
    INQ_END_WAITS,   /* for others */
    INQ_END_ON_CPU,  /* did not enqueue what others wait for; nothing pending that explains it */
    INQ_END_ON_GPU,  /* its GPU does not finish, or start, what its peers have */
    INQ_END_JOINED,  /* all members have joined its oldest op */
    INQ_END_UNKNOWN, /* others wait for it; there is no (whole) dump, or it waits for who knows
                      */
    INQ_END_CIRCLE   /* waits for a rank that waits for it */
};

struct inq_state_edge {
    uint32_t to;
    uint32_t op; /* index into the rank's pending */
};

struct inq_state_node {
    enum inq_state_end end;
    uint32_t op;    /* the pending op that holds it; INQ_NONE none */
    bool unstarted; /* on the GPU: its peers have started the op, but not finished it */
    uint32_t n_edges;
    struct inq_state_edge *edges;
    uint32_t n_waiters;
    uint32_t waiter, waiter_op; /* one that waits for it, and its op; INQ_NONE none */
};

struct inq_solution {
    struct inq_state_node *nodes; /* [model->n_ranks] */
};

/* Fills the graph, in the model's arena. Fails with INQ_NOMEM. */
int inq_state_solve(const struct inq_state *model, struct inq_solution *waits, struct inq_err *err);
/* Whether others wait for it, and it for nobody: known to be stuck. */
bool inq_state_is_stuck(const struct inq_state_node *node);
/* Marks all ranks from which a marked rank can be reached. Fails with INQ_NOMEM. */
int inq_state_reach(const struct inq_state *model, const struct inq_solution *waits, bool *marked,
                    struct inq_err *err);

#endif
