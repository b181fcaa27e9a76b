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

/* Whom ranks wait for: one list for all that wait in one op. */
struct inq_state_others {
    uint32_t n;
    uint32_t *at;        /* [n]; a rank that is among them does not wait for itself */
    uint32_t longest[2]; /* the two that wait longest, INQ_NONE none */
};

struct inq_state_node {
    enum inq_state_end end;
    uint32_t op;        /* the pending op that holds it; INQ_NONE none */
    bool unstarted;     /* on the GPU: its peers have started the op, but not finished it */
    uint32_t first;     /* for whom it waits; INQ_NONE nobody */
    uint32_t others;    /* whom it waits for, index into the solution's; INQ_NONE nobody */
    uint32_t waiter;    /* of those that wait for it the one that waits longest; INQ_NONE nobody */
    uint32_t waiter_op; /* its op */
};

struct inq_solution {
    struct inq_state_node *nodes; /* [model->n_ranks] */
    size_t n_others;
    struct inq_state_others *others;
};

/* Fills the graph, in the model's arena. Fails with INQ_NOMEM. */
int inq_state_solve(const struct inq_state *model, struct inq_solution *waits, struct inq_err *err);
/* Whether others wait for it, and it for nobody: known to be stuck. */
bool inq_state_is_blocked(const struct inq_state_node *node);
/* Marks all ranks from which a marked rank can be reached. Fails with INQ_NOMEM. */
int inq_state_reach(const struct inq_state *model, const struct inq_solution *waits, bool *marked,
                    struct inq_err *err);

#endif
