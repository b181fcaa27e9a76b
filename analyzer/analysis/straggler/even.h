/* SPDX-License-Identifier: Apache-2.0 */
/* Uneven work, evened out: its sum stays. */
#ifndef INQ_ANALYSIS_STRAGGLER_EVEN_H
#define INQ_ANALYSIS_STRAGGLER_EVEN_H

#include "analysis/straggler/repair.h"

/* For INQ_REPAIR_STAGES each role computes as long as the mean one, with and without ranks that
 * have faults of their own, whichever moves less. For INQ_REPAIR_SEQUENCES each stretch of compute
 * takes what its kernels take on the mean of the role's ranks and steps, but for what chips, clocks
 * and single kernels deviate by without any uneven work: the optimizer's kernels, which do not
 * depend on the batch, tell how much longer the rank's step is, and how much single kernels vary.
 * Transfers take their mean time without what their largest part adds, unless all are recorded to
 * be of one size. Fails with INQ_NOMEM. */
int inq_repair_evenly(struct inq_repairing *x, enum inq_repair_kind kind, struct inq_err *err);

#endif
