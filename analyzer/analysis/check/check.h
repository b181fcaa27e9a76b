/* SPDX-License-Identifier: Apache-2.0 */
/* Filling a snapshot. */
#ifndef INQ_ANALYSIS_CHECK_CHECK_H
#define INQ_ANALYSIS_CHECK_CHECK_H

#include "inquest/check.h"

/* Adds a measure; `suffix` ("stage2") may be NULL. Fails with INQ_NOMEM, INQ_LIMIT. */
int inq_snapshot_add(struct inq_snapshot *snapshot, enum inq_measure_kind kind, const char *suffix,
                     const struct inq_measure *values, struct inq_err *err);
/* Copies the texts; `title` may be NULL. */
int inq_snapshot_add_finding(struct inq_snapshot *snapshot, const char *id,
                             enum inq_severity severity, const char *title, struct inq_err *err);
const struct inq_measure *inq_snapshot_find(const struct inq_snapshot *snapshot, const char *name);
/* The name of another kind's measure for the same ranks, in buf. */
const char *inq_measure_like(const struct inq_measure *of, enum inq_measure_kind kind, char *buf,
                             size_t size);
/* The kind that a name is of, "compute_ns.stage2" or, when `loose`, "compute" too; -1: none. */
int inq_measure_kind_of(const char *name, size_t len, bool loose);

/* Mean of the middle values, in the interval of their median; reorders them. n == 0 gives NaN. */
struct inq_measure inq_measure_of_ratios(double *values, size_t n);
/* Median (lower middle) and its interval in whole ns; does not reorder. Fails with INQ_NOMEM. */
int inq_measure_of_steps(const int64_t *values, size_t n, struct inq_measure *measure,
                         struct inq_err *err);

/* Mean of the steps in whole ns, with a t interval. at[i]: where step i was in the run. Where steps
 * recur with a period (*period > 1; else 1) it is the mean of the phases' means, and only what
 * differs within a phase is noise: how many long steps a recording happens to hold is not. */
struct inq_measure inq_measure_of_mean(const int64_t *steps_ns, const size_t *at, size_t n,
                                       size_t *period);

/* Where the interval of a median ends: at the k-th value from either end, and by `lambda` of the
 * way to the next. k == 0: there is none. */
struct inq_median_place {
    size_t k;
    double lambda;
};
struct inq_median_place inq_median_interval(size_t n);

#endif
