/* SPDX-License-Identifier: Apache-2.0 */
/* Whether work that varies is that of experts. */
#ifndef INQ_ANALYSIS_MEASURE_EXPERTS_H
#define INQ_ANALYSIS_MEASURE_EXPERTS_H

#include "analysis/measure/step_stats.h"

/* *vary: of the ranks that are not skipped ([n_ranks]), the kernels between two all-to-alls vary
 * from step to step, and those around them hardly do. Fails with INQ_NOMEM. */
int inq_experts_vary(const struct inq_trace *trace, const struct inq_step_stats *cells,
                     const bool *skip, bool *vary, struct inq_err *err);

#endif
