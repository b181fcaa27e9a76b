/* SPDX-License-Identifier: Apache-2.0 */
/* Times as other tools see them: what the file says, as the double a JSON reader makes of it, and
 * their way of rounding results. */
#ifndef INQ_ANALYSIS_MEASURE_PEER_TIME_H
#define INQ_ANALYSIS_MEASURE_PEER_TIME_H

#include "inquest/trace.h"

/* The time as recorded: clock alignment and the file's base time taken off again. */
int64_t inq_reference_raw_ns(const struct inq_rank *rank, int64_t ns);

/* The double nearest to ns / 1000, as read from the decimal text. */
double inq_reference_us(int64_t ns);

/* Rounds to `decimals` as numpy does: scaled, to the nearest even integer, scaled back. */
double inq_reference_round(double value, int decimals);

#endif
