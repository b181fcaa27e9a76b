/* SPDX-License-Identifier: Apache-2.0 */
/* The SEND and RECV cells of a schedule, paired: what the rules on them share. */
#ifndef INQ_REPLAY_LINT_COMMS_H
#define INQ_REPLAY_LINT_COMMS_H

#include "lint/lint.h"

#define INQ_NO_CALL UINT32_MAX

/* One SEND or RECV cell. */
struct inq_call {
    int32_t rank, peer;
    uint32_t index;   /* in the rank's list */
    uint32_t partner; /* the other half, INQ_NO_CALL when there is none */
    uint32_t nth;     /* n-th of its (sender, receiver), counted on its own side */
    uint32_t pair;    /* sends: number of its (sender, receiver) */
    bool sends, forward;
};

struct inq_calls {
    const struct inq_schedule *schedule;
    struct inq_lint *lint;
    struct inq_err *err;
    size_t n, n_pairs;
    struct inq_call *calls; /* rank by rank, in list order */
    size_t *first;          /* [n_ranks + 1] into calls */
};

static inline const struct inq_action *inq_call_action(const struct inq_calls *c,
                                                       const struct inq_call *call)
{
    return &c->schedule->ranks[call->rank].actions[call->index];
}

#endif
