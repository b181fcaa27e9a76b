/* SPDX-License-Identifier: Apache-2.0 */
/* The folder of one process that Ascend's profiler writes: the trace is in ASCEND_PROFILER_OUTPUT/,
 * and the rank is only in the name of profiler_info_RANK.json beside that. */
#include "ingest/kineto/kineto.h"

#include "ingest/ingest.h"

#include <stdlib.h>
#include <string.h>

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* The rank in "FOLDER/profiler_info_7.json", or -1: one process alone has no number. */
static int32_t rank_of_info(const char *path)
{
    static const char prefix[] = "profiler_info_";
    const char *name = base_name(path);
    if (strncmp(name, prefix, sizeof prefix - 1) != 0) {
        return -1;
    }
    const char *digits = name + sizeof prefix - 1;
    size_t n = strspn(digits, "0123456789");
    enum { MAX_DIGITS = 6 }; /* more are no rank */
    return n > 0 && n <= MAX_DIGITS && strcmp(digits + n, ".json") == 0
               ? (int32_t)strtol(digits, NULL, 10)
               : -1;
}

/* Whether the trace is the one of the folder that the file stands in. */
static bool is_in_folder(const char *trace, const char *info)
{
    static const char output[] = "ASCEND_PROFILER_OUTPUT/";
    size_t n = (size_t)(base_name(info) - info);
    return strncmp(trace, info, n) == 0 && strncmp(trace + n, output, sizeof output - 1) == 0 &&
           strchr(trace + n + sizeof output - 1, '/') == NULL;
}

int inq_kineto_join_ascend(struct inq_shard *shards, size_t n, struct inq_err *err)
{
    (void)err;
    for (size_t i = 0; i < n; i++) {
        const char *info = shards[i].file.path;
        int32_t rank = shards[i].file.read ? -1 : rank_of_info(info);
        size_t folder = (size_t)(base_name(info) - info);
        /* in the order of paths the folder's trace is before it */
        for (size_t k = i;
             rank >= 0 && k > 0 && strncmp(shards[k - 1].file.path, info, folder) == 0; k--) {
            struct inq_shard *trace = &shards[k - 1];
            if (trace->file.read && trace->n_ranks == 1 && trace->ranks[0].rank < 0 &&
                is_in_folder(trace->file.path, info)) {
                trace->ranks[0].rank = rank;
                shards[i].file.reason = "its name says the rank of the trace in its folder";
            }
        }
    }
    return INQ_OK;
}
