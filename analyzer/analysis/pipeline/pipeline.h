/* SPDX-License-Identifier: Apache-2.0 */
/* Pipeline structure and waterfall, from an op model. */
#ifndef INQ_ANALYSIS_PIPELINE_PIPELINE_H
#define INQ_ANALYSIS_PIPELINE_PIPELINE_H

#include "analysis/whatif/whatif.h"

/* Parts of the waterfall, in the order of the report (reverse order of removal). */
enum inq_waterfall_cause {
    INQ_WATERFALL_IDEAL,
    INQ_WATERFALL_SCHEDULE,
    INQ_WATERFALL_OPTIMIZER,
    INQ_WATERFALL_SYNC,
    INQ_WATERFALL_P2P,
    INQ_WATERFALL_IMBALANCE,
    INQ_WATERFALL_VARIATION,
    INQ_WATERFALL_STRAGGLERS,
    INQ_WATERFALL_HOST,
    INQ_WATERFALL_UNEXPLAINED,
    INQ_WATERFALL_CAUSES
};

/* The schedule that the order of the ops fits best: name, share of ops in its place, chunks,
 * micro-batches, and the theoretical bubble ratio. */
struct inq_schedule_guess {
    const char *name;
    double confidence;
    int32_t microbatches, chunks;
    double bubble_ratio; /* NaN: no closed form */
};

int inq_schedule_recognize(const struct inq_op_model *model, struct inq_schedule_guess *guess,
                           struct inq_err *err);

#endif
