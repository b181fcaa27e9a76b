/* SPDX-License-Identifier: Apache-2.0 */
/* One matched collective in numbers; the definitions are those above struct inq_wait. */
#ifndef INQ_ANALYSIS_COMM_COMM_H
#define INQ_ANALYSIS_COMM_COMM_H

#include "inquest/analysis.h"

struct inq_coll_figures {
    int64_t first_start_ns, last_start_ns, first_end_ns, last_end_ns;
    uint32_t first_rank, last_rank; /* arrivals; index into inq_trace.ranks */
    int64_t skew_ns;
    int64_t wait_ns;       /* summed over members; 0 when their ends disagree */
    int64_t transfer_ns;   /* median over members; of a batch's the shortest */
    int64_t bytes;         /* nccl-tests size S; -1 unknown */
    inq_str algorithm;     /* of the first member that knows; 0 unknown */
    int32_t channels;      /* the same */
    int64_t spread_ns;     /* of the ends; -1: kind does not synchronize, or not complete */
    int64_t raw_spread_ns; /* the same before the clocks were aligned */
};

/* Wait of one member, given when the last one came. */
int64_t inq_coll_wait_ns(const struct inq_trace *trace, const struct inq_collective *collective,
                         const struct inq_member *member, int64_t last_start_ns);

/* Whether the member's kernel runs other transfers besides this one (batch_isend_irecv). */
static inline bool inq_coll_is_batched(const struct inq_trace *trace,
                                       const struct inq_member *member)
{
    const struct inq_rank *rank = &trace->ranks[member->rank];
    uint32_t c = rank->events.comm ? rank->events.comm[member->event] : INQ_NONE;

    return c < rank->n_comms && rank->comms[c].batch != INQ_NONE;
}

/* `scratch` is the caller's, [n_members]. The collective has at least one member. */
void inq_coll_figures(const struct inq_trace *trace, const struct inq_collective *collective,
                      int64_t *scratch, struct inq_coll_figures *figures);

#endif
