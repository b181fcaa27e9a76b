/* SPDX-License-Identifier: Apache-2.0 */
/* Ops of the model sorted into bins: by worker and type, or by stage and type. */
#ifndef INQ_ANALYSIS_WHATIF_OP_BINS_H
#define INQ_ANALYSIS_WHATIF_OP_BINS_H

#include "graph/optable/optable.h"

/* All-zero is releasable. Bin b holds op[start[b]] .. op[start[b + 1] - 1], in graph order. */
struct inq_op_bins {
    size_t n;
    size_t *start;
    uint32_t *op;
};

/* Bin = worker * INQ_OP_TYPE_COUNT + type (n_dp * n_stages workers). Fails with INQ_NOMEM. */
int inq_op_bins_by_worker(const struct inq_op_model *model, struct inq_op_bins *bins,
                          struct inq_err *err);
/* Bin = stage * INQ_OP_TYPE_COUNT + type. */
int inq_op_bins_by_stage(const struct inq_op_model *model, struct inq_op_bins *bins,
                         struct inq_err *err);
void inq_op_bins_release(struct inq_op_bins *bins);

#endif
