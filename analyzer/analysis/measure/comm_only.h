/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of which only communication is recorded: what a rank does of its own is what it takes from
 * the operations it had to wait for to the next one. */
#ifndef INQ_ANALYSIS_MEASURE_COMM_ONLY_H
#define INQ_ANALYSIS_MEASURE_COMM_ONLY_H

#include "analysis/measure/peer_groups.h"
#include "analysis/measure/step_stats.h"

/* Whether the rank's traces hold nothing but communication: what else it did is not known then. */
static inline bool inq_knows_comm_only(const struct inq_events *events)
{
    size_t i = 0;

    while (i < events->n && events->cls[i] == INQ_CLASS_COMM) {
        i++;
    }
    return i > 0 && i == events->n;
}

/* Where a rank computes beside a collective, that is not seen: the ranks of an early replica, whose
 * gradients wait for the late replica's, would seem to do less than all others, and those of the
 * late one more, whoever it is that is late. But a rank that begins another operation while it is
 * in the first has gone on. So the communicator that goes on is found, and those beside it; an
 * operation of these is waited for by the first operation that no rank begins before its end, in
 * any step. The cells' own time becomes what lies between: of roles whose ranks do the same in all
 * steps, and of which only communication is recorded. Fails with INQ_NOMEM. */
int inq_comm_only_own(const struct inq_trace *trace, const struct inq_peer_groups *roles,
                      struct inq_step_stats *cells, struct inq_err *err);

#endif
