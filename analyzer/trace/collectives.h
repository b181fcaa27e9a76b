/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INQ_TRACE_COLLECTIVES_H
#define INQ_TRACE_COLLECTIVES_H

#include "inquest/trace.h"

/* Sorts the collectives by their latest start, after times have changed. */
int inq_collectives_sort(struct inq_trace *trace, struct inq_err *err);
/* Fills every collective's ends_disagree, after the clocks were aligned (or not). */
void inq_collectives_check_ends(struct inq_trace *trace);

/* A mark for each event of each rank, none set: marks[rank][event], one block that is the caller's
 * to free. NULL: no memory. */
uint8_t **inq_marks_new(const struct inq_trace *trace);

#endif
