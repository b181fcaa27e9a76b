/* SPDX-License-Identifier: Apache-2.0 */
/* Process groups: nodes of communication name theirs, and one node in front has all members. */
#ifndef INQ_INGEST_CHAKRA_GROUPS_H
#define INQ_INGEST_CHAKRA_GROUPS_H

#include "ingest/chakra/node.h"
#include "trace/build/build.h"

/* The group of this name, which has no members until they are read. Fails with INQ_NOMEM,
 * INQ_LIMIT. */
int inq_chakra_group(struct inq_shard *shard, inq_str name, uint32_t *index, struct inq_err *err);
/* Gives groups their members from the inputs of "## process_group:init ##", which PyTorch's
 * profiler fills with its pg_config: a list of objects inside quotes. Also the world's size. Fails
 * with INQ_NOMEM, INQ_LIMIT. */
int inq_chakra_read_groups(struct inq_shard *shard, const struct inq_chakra_node *node,
                           struct inq_err *err);

#endif
