/* SPDX-License-Identifier: Apache-2.0 */
/* Order statistics and robust spread. Inputs that are reordered say so. */
#ifndef INQ_BASE_STATS_H
#define INQ_BASE_STATS_H

#include "inquest/error.h"

#include <math.h>
#include <stdbool.h>

/* Sigma of a normal distribution over its median absolute deviation. */
#define INQ_MAD_SIGMA 1.4826

/* Median (of an even count the mean of the two middle values, rounded down). Reorders `values`.
 * 0 when n == 0. */
int64_t inq_median_i64(int64_t *values, size_t n);
/* The same of ascending values, which it leaves as they are. */
int64_t inq_median_of_sorted_i64(const int64_t *sorted, size_t n);
/* The same of the others: of sorted[n >= 2], ascending, without one value `own` that is in it. */
int64_t inq_median_of_others_i64(const int64_t *sorted, size_t n, int64_t own);
/* The lower of the two middle values of an even count: one of the values, where their mean would be
 * none of what was measured (two clusters of clock offsets). Reorders. 0 when n == 0. */
int64_t inq_lower_median_i64(int64_t *values, size_t n);
/* Median (mean of the two middle values). Reorders. NaN when n == 0. */
double inq_median(double *values, size_t n);
/* Linear-interpolated quantile, q in [0, 1] (type 7). Reorders. NaN when n == 0. */
double inq_quantile(double *values, size_t n, double q);
/* Median absolute deviation around `center`, unscaled. Reorders and overwrites. */
double inq_mad(double *values, size_t n, double center);
double inq_mean(const double *values, size_t n);

/* Whether one of n values lies within `within` of the given one. */
static inline bool inq_is_near_any(const int64_t *values, size_t n, int64_t value, double within)
{
    size_t i = 0;
    while (i < n && fabs((double)(values[i] - value)) > within) {
        i++;
    }
    return i < n;
}
/* Steps at the beginning that are a warm-up (compilation, allocation, first connections), of n in
 * order by their lengths, negative ones not known: each takes more than 1.5 times the median, and
 * none of them comes again later, within a tenth of the median: that would be a fault that shows
 * now and then. At most half of the steps, and none of fewer than four. space: [n]. */
size_t inq_warm_up_steps(const int64_t *lengths_ns, size_t n, int64_t *space);

#endif
