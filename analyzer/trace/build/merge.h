/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks of several shards under one string table and one list of groups. */
#ifndef INQ_TRACE_BUILD_MERGE_H
#define INQ_TRACE_BUILD_MERGE_H

#include "trace/build/shard.h"

/* Makes trace->names and trace->groups of the shards' (in this order), and moves the shards' ranks
 * into trace->ranks, one shard behind the other, with their ids translated. trace->arena and room
 * for the ranks are there. Does not depend on `jobs`. On failure nothing has moved. Fails with
 * INQ_NOMEM, INQ_LIMIT. */
int inq_merge_shards(struct inq_trace *trace, struct inq_shard *const *shards, size_t n, int jobs,
                     struct inq_err *err);

#endif
