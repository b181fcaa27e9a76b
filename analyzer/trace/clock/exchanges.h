/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks that no collective connects, by the transfers between their ranks. */
#ifndef INQ_TRACE_CLOCK_EXCHANGES_H
#define INQ_TRACE_CLOCK_EXCHANGES_H

#include "trace/clock/clock.h"

/* Clocks of one part are known against each other. */
struct inq_clock_parts {
    size_t n;
    uint32_t *of_source; /* [clocks->n] */
};

/* Moves parts against each other to where the sends and receives that name no peer end in pairs,
 * one of each part, where that is clearly more than anywhere else. Which one of those that are
 * joined stays is not said. Fails with INQ_NOMEM. */
int inq_clock_join_exchanges(const struct inq_trace *trace, const struct inq_comm_rows *rows,
                             const struct inq_clock_parts *parts, struct inq_clocks *clocks,
                             struct inq_err *err);

#endif
