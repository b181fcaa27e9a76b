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

/* Bin = owner * INQ_OP_TYPE_COUNT + type; an owner is a worker (n_dp * n_stages) or a stage. Fails
 * with INQ_NOMEM. */
int inq_op_bins_sort(const struct inq_op_model *model, bool by_worker, struct inq_op_bins *bins,
                     struct inq_err *err);
void inq_op_bins_release(struct inq_op_bins *bins);

#endif
