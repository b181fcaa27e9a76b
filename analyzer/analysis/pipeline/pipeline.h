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

/* Median gap before an op of compute that follows one of its own worker, in the steps [from, to).
 * `space` has room for n_ops * (to - from). */
int64_t inq_pipeline_usual_gap(const struct inq_op_model *model, size_t from, size_t to,
                               int64_t *space);

/* The worker whose host launches late by far more than any other's, and what a step gains without;
 * found->rank is INQ_NONE where no such stands out. Fails with INQ_NOMEM. */
int inq_pipeline_find_host(const struct inq_trace *trace, const struct inq_op_model *model,
                           int jobs, struct inq_pipeline_host *found, struct inq_err *err);

/* The schedule that the order of the ops fits best: name, share of ops in its place, chunks,
 * micro-batches, and the theoretical bubble ratio. */
struct inq_schedule_guess {
    const char *name;
    double confidence;
    int32_t microbatches, chunks;
    double bubble_ratio; /* NaN: no closed form */
};

int inq_schedule_recognise(const struct inq_op_model *model, struct inq_schedule_guess *guess,
                           struct inq_err *err);

#endif
