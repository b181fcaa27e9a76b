/* SPDX-License-Identifier: Apache-2.0 */
/* What one channel cannot tell of clocks, told by all of them together. */
#ifndef INQ_TRACE_CLOCK_VOTE_H
#define INQ_TRACE_CLOCK_VOTE_H

#include "trace/clock/clock.h"

/* Clocks, in parts: those of one part are known against each other. */
struct inq_clock_parts {
    size_t n;
    uint32_t *of_source; /* [clocks->n] */
};

/* Moves the parts against each other to where most of what their ranks did together ended together,
 * where that is clearly more than as they stand. A clock that is a part by itself becomes a
 * constant; parts of several clocks move as a whole. Fails with INQ_NOMEM. */
int inq_clock_vote(const struct inq_trace *trace, const struct inq_comm_rows *rows,
                   const struct inq_clock_parts *parts, struct inq_clocks *clocks,
                   struct inq_err *err);

#endif
