/* SPDX-License-Identifier: Apache-2.0 */
/* Starts for ops of which durations alone were recorded. */
#ifndef INQ_INGEST_OPTABLE_PLACE_H
#define INQ_INGEST_OPTABLE_PLACE_H

#include "trace/build/build.h"

/* Gives every op of the shard's ranks a start: the ops of a stage run one after the other, a
 * forward pass after that of the stage before it, a backward pass after that of the stage after it
 * (those of one micro-batch, chunk and DP rank). A stage's ops run in the order of its rows; where
 * these are listed pass by pass, which says nothing of the order, as 1F1B runs them. Nothing is
 * added for transfers, which have no record. Step i begins at origin_ns[i] for i < n, other steps
 * at 0. Every event needs a label. *what: the assumption, in the shard's arena. Fails with
 * INQ_NOMEM. */
int inq_ops_place(struct inq_shard *shard, const int64_t *origin_ns, size_t n, const char **what,
                  struct inq_err *err);

#endif
