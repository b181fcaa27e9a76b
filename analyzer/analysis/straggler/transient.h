/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs that are slow in some of their steps only: a mean over all steps hardly shows them. */
#ifndef INQ_ANALYSIS_STRAGGLER_TRANSIENT_H
#define INQ_ANALYSIS_STRAGGLER_TRANSIENT_H

#include "analysis/measure/measure.h"

/* Clocks wander with temperature by some percent; a GPU that throttles loses more. */
#define INQ_TRANSIENT_RATIO 1.05

/* usual_part[n_ranks * n_steps], rank by rank: of a rank's compute in a step, the part that it
 * takes in its other steps, where it takes far longer than in those while other ranks do not; 1
 * elsewhere. Fails with INQ_NOMEM. */
int inq_transients_find(const struct inq_step_stats *cells, double *usual_part,
                        struct inq_err *err);

#endif
