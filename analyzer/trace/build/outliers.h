/* SPDX-License-Identifier: Apache-2.0 */
/* Rows whose times cannot be of the capture that the others are of. */
#ifndef INQ_TRACE_BUILD_OUTLIERS_H
#define INQ_TRACE_BUILD_OUTLIERS_H

#include "inquest/trace.h"

/* More of them are no outliers but a part of the capture. */
#define INQ_MAX_OUTLIERS 16

/* Indices into the lists of a rank, each list ascending. */
struct inq_outliers {
    size_t n_events, n_calls, n_notes;
    /* before it, after it, and reaching beyond it */
    uint32_t events[3 * INQ_MAX_OUTLIERS];
    uint32_t calls[3 * INQ_MAX_OUTLIERS];
    uint32_t notes[3 * INQ_MAX_OUTLIERS];
};

/* Finds the rows of a rank (events by lane and start, calls and notes by start) that lie so far
 * from all others, or reach so far beyond them, that a clock or a counter was misread. Few at most,
 * and none of a rank with a handful of rows: there nothing tells which of them is right. */
void inq_outliers_find(const struct inq_rank *rank, struct inq_outliers *found);

#endif
