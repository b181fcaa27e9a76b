/* SPDX-License-Identifier: Apache-2.0 */
/* Shards built row by row in memory, as readers would fill them. Everything fails the test when it
 * cannot. */
#ifndef INQ_TEST_SUPPORT_SHARD_H
#define INQ_TEST_SUPPORT_SHARD_H

#include "trace/build/shard.h"

/* An empty shard of a Kineto file with one rank (-1: unknown); the path is borrowed. */
void made_shard(struct inq_shard *shard, const char *path, int32_t rank, int32_t world_size);
inq_str made_name(struct inq_shard *shard, const char *text);
/* A process group; ranks may be NULL. */
uint32_t made_group(struct inq_shard *shard, const char *name, int32_t size, const int32_t *ranks,
                    uint32_t n_ranks);

/* A kernel of rank 0 of the shard on a stream; its class goes by its name. launch_ns: start of its
 * launch, INQ_TIME_NONE for none. comm: INQ_NONE for none. */
void made_kernel(struct inq_shard *shard, const char *name, int64_t stream, int64_t start_ns,
                 int64_t dur_ns, int64_t launch_ns, uint32_t comm);
/* A host call with a correlation id of the caller's, and a kernel that refers to one. */
void made_call(struct inq_shard *shard, int64_t start_ns, int64_t dur_ns, int64_t correlation);
void made_work(struct inq_shard *shard, const char *name, int64_t stream, int64_t start_ns,
               int64_t dur_ns, uint32_t correlation);
uint32_t made_comm(struct inq_shard *shard, const struct inq_comm *comm);
/* A note of the host (of the GPU: on_gpu), classified by its name. */
void made_note(struct inq_shard *shard, const char *name, int64_t start_ns, int64_t dur_ns,
               bool on_gpu);
/* A labeled op of rank `index` of the shard. */
void made_op(struct inq_shard *shard, uint32_t index, const struct inq_label *label,
             int64_t start_ns, int64_t dur_ns);

/* Seals and assembles; the shards are released. */
struct inq_run *made_run(struct inq_shard *shards, size_t n, bool align);

#endif
