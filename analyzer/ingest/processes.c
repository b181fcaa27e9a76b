/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks of processes whose files do not say them. */
#include "ingest/ingest.h"

#include "base/sort.h"

#include <string.h>

static int by_process(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    const struct inq_shard *x = *(struct inq_shard *const *)a;
    const struct inq_shard *y = *(struct inq_shard *const *)b;
    int order = strverscmp(inq_strtab_get(&x->names, x->ranks[0].host),
                           inq_strtab_get(&y->names, y->ranks[0].host));
    order = order != 0 ? order
                       : (x->ranks[0].pid > y->ranks[0].pid) - (x->ranks[0].pid < y->ranks[0].pid);
    return order != 0 ? order : strcmp(x->file.path, y->file.path);
}

static int say(struct inq_shard *shard, const char *why, struct inq_err *err)
{
    const char *so_far = shard->file.reason;
    bool first = so_far == NULL || so_far[0] == '\0';
    shard->file.reason = inq_arena_asprintf(&shard->arena, "%s%snumbered by host and process: %s",
                                            first ? "" : so_far, first ? "" : "; ", why);
    return shard->file.reason != NULL ? INQ_OK : inq_err_set(err, INQ_NOMEM, "out of memory");
}

int inq_number_processes(struct inq_shard **shards, size_t n, const char *why, struct inq_err *err)
{
    int code = inq_sort(shards, n, sizeof *shards, by_process, NULL, err);
    for (size_t i = 0; i < n && code == INQ_OK; i++) {
        shards[i]->ranks[0].rank = (int32_t)i;
        code = n > 1 ? say(shards[i], why, err) : INQ_OK;
    }
    return code;
}
