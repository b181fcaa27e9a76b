/* SPDX-License-Identifier: Apache-2.0 */
/* How the inside of a rank's steps varies: the same stretch of kernels, step against step. */
#ifndef INQ_ANALYSIS_MEASURE_INTRA_STEP_H
#define INQ_ANALYSIS_MEASURE_INTRA_STEP_H

#include "analysis/measure/step_stats.h"

/* Relative deviations, one sigma. 0: not known (fewer than two steps with equally many kernels). */
struct inq_intra_step {
    double kernel;        /* of single kernels */
    double block;         /* of stretches of `length` kernels that follow each other */
    double update;        /* of all kernels of the optimizer in a step */
    double chance;        /* of all kernels of a step, if single ones varied independently .. */
    double block_chance;  /* .. of a stretch: the median one .. */
    double update_chance; /* .. and of the optimizer's */
    size_t length;
};

/* The steps of the rank that have as many compute kernels as most are laid side by side. Fails with
 * INQ_NOMEM. */
int inq_intra_step_find(const struct inq_trace *trace, const struct inq_step_stats *cells,
                        uint32_t rank, struct inq_intra_step *variance, struct inq_err *err);

#endif
