/* SPDX-License-Identifier: Apache-2.0 */
/* A rank among its peers and a stage among the others, in the same step: what noise explains. */
#ifndef INQ_ANALYSIS_CHECK_WITHIN_H
#define INQ_ANALYSIS_CHECK_WITHIN_H

#include "inquest/check.h"

/* Runs shift as a whole by up to 1 %, evenly: two are up to this much apart. */
#define INQ_MOST_SHIFT 0.02

/* As parts of the baseline, which has to be above zero. */
struct inq_within_step {
    bool holds;          /* the measure is held against peers of the same step */
    double above, below; /* how far it may be from one run's: above NaN, that is not known */
    double least;        /* how far above several runs' at least */
    double stage;        /* by how much the stage of the slowest of few ranks grew, where the rank,
                          * its growth and its stage's taken together, is beyond the spread of several
                          * runs; else 0 */
};

/* A stage in row->now becomes a multiple of those stages alone that changed alike. */
struct inq_within_step inq_within_step(struct inq_check_row *row, const struct inq_snapshot *now,
                                       const struct inq_snapshot *base);

#endif
