/* SPDX-License-Identifier: Apache-2.0 */
/* A measure against those of several runs. */
#ifndef INQ_ANALYSIS_CHECK_POOL_H
#define INQ_ANALYSIS_CHECK_POOL_H

#include "inquest/check.h"

/* By how much a new value may be above (or below) the mean of the runs of `base`: 2.5 of their
 * standard deviations, and at least `least`. NaN: too few runs to know. */
double inq_pool_allowance(const struct inq_measure *base, double least);

/* By which the measure grew from run to run, `now` the last: the median slope of all pairs, where
 * growth is significant and adds up to more than 3 % of `unit`; 0: it does not creep. */
double inq_pool_creep(const struct inq_measure *base, double now, double unit);

#endif
