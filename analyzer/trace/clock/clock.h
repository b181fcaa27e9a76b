/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks: which ranks read the same one, what each shows against the others, and how sure that is.
 */
#ifndef INQ_TRACE_CLOCK_CLOCK_H
#define INQ_TRACE_CLOCK_CLOCK_H

#include "inquest/trace.h"

struct inq_comm_rows;

/* Whether a moment is further from zero than readers let pass, or two clocks are further apart than
 * clocks are: one that counts from 1970 and one that counts from when it was switched on are 73
 * years apart in 2043. Sums of four of what is not too far fit. */
static inline bool inq_clock_too_far(int64_t ns)
{
    return ns > INT64_MAX / 4 || ns < -(INT64_MAX / 4);
}

/* What has to be added to a clock at a moment that it shows. */
struct inq_clock_point {
    int64_t raw_ns, add_ns;
};

/* Common time of what the clock shows. */
int64_t inq_clock_common_ns(const struct inq_clock *clock, int64_t raw_ns);
/* The line through the points (n > 0, sorted here by time): straight pieces that follow the drift,
 * broken where the clock was set. Constant where nothing speaks for more. clock->later is the
 * caller's to free. *possible: a clock can do what the points say; one that is set at every turn or
 * runs a thousandth too fast is none, and the ends are not of the same operations: `clock` stays.
 * Fails with INQ_NOMEM. */
int inq_clock_fit(struct inq_clock_point *points, size_t n, struct inq_clock *clock, bool *possible,
                  struct inq_err *err);

/* The clocks of a trace, by what ranks call clock.source. */
struct inq_clocks {
    size_t n;
    struct inq_clock *at; /* [n] */
};

/* Tells the clocks apart (fills every rank's clock.source: ranks of one host read one clock, so do
 * those of one file; a rank of which neither is known has its own) and makes a first estimate of
 * each, before anything is matched: from the one channel with the most collectives that connects it
 * with a clock that is known; zero where nothing tells. *clocks (zeroed) goes to inq_clock_align.
 * Does not depend on `jobs`. Fails with INQ_NOMEM. */
int inq_clock_first(struct inq_trace *trace, const struct inq_comm_rows *rows, int jobs,
                    struct inq_clocks *clocks, struct inq_err *err);

/* Estimates each clock from the ends of the matched synchronizing collectives, starting from
 * `clocks`, and shifts the columns, steps (if there) included, of its ranks; only frees `clocks`
 * unless `align`. Times that were aligned before they were written stay. Does not depend on `jobs`.
 * Fails with INQ_NOMEM. */
int inq_clock_align(struct inq_trace *trace, struct inq_clocks *clocks, bool align, int jobs,
                    struct inq_err *err);

#endif
