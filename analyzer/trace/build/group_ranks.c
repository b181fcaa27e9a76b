/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/build/group_ranks.h"

#include "base/limits.h"
#include "base/mem.h"
#include "trace/build/shard.h"

#include <string.h>

/* Lists of few ranks are not worth a lock. */
enum { WORTH_SHARING = 32 };

int inq_rank_runs_add(struct inq_rank_runs *runs, int32_t rank, struct inq_err *err)
{
    struct inq_rank_run *last = runs->n > 0 ? &runs->rows[runs->n - 1] : NULL;
    runs->n_ranks++;
    if (last != NULL && last->n == 1) {
        last->stride = rank - last->first;
    }
    if (last != NULL && rank == last->first + last->stride * last->n) {
        last->n++;
        return INQ_OK;
    }
    int code =
        inq_mem_grow(&runs->rows, &runs->cap, runs->n + 1, sizeof *runs->rows, INQ_MAX_RANKS, err);
    if (code == INQ_OK) {
        runs->rows[runs->n++] = (struct inq_rank_run){.first = rank, .n = 1};
    }
    return code;
}

static void list_ranks(const struct inq_rank_runs *runs, int32_t *ranks)
{
    for (size_t i = 0; i < runs->n; i++) {
        const struct inq_rank_run *run = &runs->rows[i];
        for (int64_t k = 0; k < run->n; k++) {
            *ranks++ = (int32_t)(run->first + run->stride * k);
        }
    }
}

/* Where the list of the runs with this number is noted; NULL when memory is out. */
static int32_t **list_at(struct inq_rank_lists *shared, uint32_t id)
{
    if (id >= shared->cap_lists) {
        size_t cap = 2 * (size_t)id + 8;
        int32_t **lists = inq_arena_array(&shared->arena, cap, sizeof *lists);
        if (lists == NULL) {
            return NULL;
        }
        if (shared->cap_lists > 0) {
            memcpy(lists, shared->lists, shared->cap_lists * sizeof *lists);
        }
        shared->lists = lists;
        shared->cap_lists = cap;
    }
    return &shared->lists[id];
}

/* The list of the runs, which are looked up and not the ranks: of a file among 16,384 that would
 * be 64 KB. */
static const int32_t *share_runs(struct inq_rank_lists *shared, const struct inq_rank_runs *runs)
{
    uint32_t id = 0;
    (void)pthread_mutex_lock(&shared->adding);
    int code = inq_strtab_add(&shared->runs, (const char *)runs->rows, runs->n * sizeof *runs->rows,
                              &id, NULL);
    int32_t **list = code == INQ_OK ? list_at(shared, id) : NULL;
    if (list != NULL && *list == NULL) {
        *list = inq_arena_array(&shared->arena, runs->n_ranks, sizeof **list);
        if (*list != NULL) {
            list_ranks(runs, *list);
        }
    }
    const int32_t *kept = list != NULL ? *list : NULL;
    (void)pthread_mutex_unlock(&shared->adding);
    return kept;
}

int inq_shard_keep_runs(struct inq_shard *shard, const struct inq_rank_runs *runs,
                        struct inq_group *group, struct inq_err *err)
{
    if (shard->shared != NULL && runs->n_ranks >= WORTH_SHARING) {
        group->ranks = share_runs(shard->shared, runs);
    } else {
        int32_t *copy = inq_arena_array(&shard->arena, runs->n_ranks, sizeof *copy);
        if (copy != NULL) {
            list_ranks(runs, copy);
        }
        group->ranks = copy;
    }
    group->n_ranks = group->ranks != NULL ? (uint32_t)runs->n_ranks : 0;
    return group->ranks != NULL ? INQ_OK
                                : inq_err_set(err, INQ_NOMEM, "out of memory for a process group");
}

int inq_shard_keep_ranks(struct inq_shard *shard, const int32_t *ranks, uint32_t n,
                         struct inq_group *group, struct inq_err *err)
{
    struct inq_rank_runs runs = {0};
    int code = INQ_OK;
    for (uint32_t i = 0; i < n && code == INQ_OK; i++) {
        code = inq_rank_runs_add(&runs, ranks[i], err);
    }
    if (code == INQ_OK) {
        code = inq_shard_keep_runs(shard, &runs, group, err);
    }
    inq_mem_free(runs.rows);
    return code;
}
