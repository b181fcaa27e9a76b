/* SPDX-License-Identifier: Apache-2.0 */
/* TraceLens 1.0's numbers: the GPU timeline of each rank, and its collectives across ranks. */
#ifndef INQ_ANALYSIS_REFERENCE_TRACELENS_H
#define INQ_ANALYSIS_REFERENCE_TRACELENS_H

#include "inquest/analysis.h"

/* Whether TraceLens takes a kernel or a memory set of this name for communication. */
bool inq_tl_is_comm(const char *name);

/* Fills collectives, summaries and stragglers of `peers` from the arena. */
int inq_tl_collectives(const struct inq_trace *trace, struct inq_arena *arena,
                       struct inq_peers *peers, struct inq_err *err);

/* Parts of it: from peers->collectives, by name, type and size; and by rank, with the summed
 * duration of all communication kernels of each. */
int inq_tl_summaries(struct inq_arena *arena, struct inq_peers *peers, struct inq_err *err);
int inq_tl_stragglers(struct inq_arena *arena, size_t n_ranks, const double *dur_us,
                      struct inq_peers *peers, struct inq_err *err);

#endif
