/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of times as sorted, disjoint intervals; exact, linear in the number of intervals. */
#ifndef INQ_ANALYSIS_MEASURE_INTERVAL_H
#define INQ_ANALYSIS_MEASURE_INTERVAL_H

#include "inquest/error.h"

/* [start, end), never empty. */
struct inq_interval {
    int64_t start, end;
};

/* Ascending, with a gap between neighbors. All-zero is the empty set. */
struct inq_intervals {
    struct inq_interval *at;
    size_t n, cap;
};

void inq_intervals_release(struct inq_intervals *set);

/* Adds [start, end) to a set that is built in order of start: `start` must not be less than that of
 * the last one added. Overlapping and touching intervals become one; an empty one is ignored. */
int inq_intervals_push(struct inq_intervals *set, int64_t start, int64_t end, struct inq_err *err);

int64_t inq_intervals_length(const struct inq_intervals *set);

/* *out (an empty set, not one of the inputs) becomes a + b. */
int inq_intervals_union(const struct inq_intervals *a, const struct inq_intervals *b,
                        struct inq_intervals *out, struct inq_err *err);

/* Length of a & b, without building it. */
int64_t inq_intervals_common(const struct inq_intervals *a, const struct inq_intervals *b);

#endif
