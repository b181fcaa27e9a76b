/* SPDX-License-Identifier: Apache-2.0 */
/* The ranks of process groups: written and looked up as runs of equal steps, kept as lists of which
 * all shards of a run share one copy. */
#ifndef INQ_TRACE_BUILD_GROUP_RANKS_H
#define INQ_TRACE_BUILD_GROUP_RANKS_H

#include "base/strtab.h"
#include "inquest/trace.h"

#include <pthread.h>

struct inq_shard;

/* The ranks of groups, one copy for the shards of a run: each of 16,384 files lists all ranks, and
 * their own copies would be a gigabyte. All-zero but for the mutex; `runs` and `arena` are to be
 * released when the shards are. */
struct inq_rank_lists {
    pthread_mutex_t adding;
    struct inq_strtab runs; /* a list's runs are a string of their bytes */
    struct inq_arena arena;
    size_t cap_lists;
    int32_t **lists; /* [cap_lists] by the number of the string; NULL: not made yet */
};

/* Equally spaced ranks: first, first + stride, ... */
struct inq_rank_run {
    int64_t first, stride, n; /* 8 bytes each: equal runs are equal bytes */
};

/* Ranks in ascending order as few runs: the world is one, however many it has. All-zero is empty;
 * `rows` is from inq_mem. */
struct inq_rank_runs {
    size_t n, cap;
    struct inq_rank_run *rows;
    size_t n_ranks;
};
/* Appends a rank. Fails with INQ_NOMEM. */
int inq_rank_runs_add(struct inq_rank_runs *runs, int32_t rank, struct inq_err *err);

/* Gives a group of the shard its ranks: copied, or found among those shared. */
int inq_shard_keep_runs(struct inq_shard *shard, const struct inq_rank_runs *runs,
                        struct inq_group *group, struct inq_err *err);
int inq_shard_keep_ranks(struct inq_shard *shard, const int32_t *ranks, uint32_t n,
                         struct inq_group *group, struct inq_err *err);

#endif
