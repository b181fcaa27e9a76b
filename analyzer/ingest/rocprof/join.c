/* SPDX-License-Identifier: Apache-2.0 */
/* Processes of one run: rocprofv3 writes a file for each, by default HOST/PID_results.json, and
 * nothing in it says the rank. */
#include "ingest/rocprof/rows.h"

#include "base/mem.h"
#include "ingest/ingest.h"

#include <stdlib.h>
#include <string.h>

/* Processes of a run: where they are recorded together. */
struct run {
    struct inq_shard **shards;
    size_t n;
};

static bool is_process(const struct inq_shard *shard)
{
    return shard->file.read && shard->n_ranks == 1 && shard->ranks[0].rank < 0 &&
           shard->ranks[0].events.n > 0 && shard->file.format != NULL &&
           strcmp(shard->file.format, INQ_ROCPROF_FORMAT) == 0 &&
           inq_rank_from_name(shard->file.path) < 0;
}

static const char *host_of(const struct inq_shard *shard)
{
    return inq_strtab_get(&shard->names, shard->ranks[0].host);
}

/* Bytes of the path of the run's folder: the file's own, or the one above where that is the host's.
 */
static size_t folder_of(const struct inq_shard *shard)
{
    const char *path = shard->file.path;
    const char *slash = strrchr(path, '/');
    size_t n = slash != NULL ? (size_t)(slash - path) : 0;
    size_t host = strlen(host_of(shard));
    bool own = host > 0 && n >= host && memcmp(path + n - host, host_of(shard), host) == 0 &&
               (n == host || path[n - host - 1] == '/');
    return own ? n - host : n + (slash != NULL);
}

/* Whether two were recorded in one folder and, where they had one clock, at one time. */
static bool are_together(const struct inq_shard *a, const struct inq_shard *b)
{
    size_t n = folder_of(a);
    if (n != folder_of(b) || memcmp(a->file.path, b->file.path, n) != 0) {
        return false;
    }
    const struct inq_rank *x = &a->ranks[0];
    const struct inq_rank *y = &b->ranks[0];
    return strcmp(host_of(a), host_of(b)) != 0 ||
           (x->first_ns <= y->last_ns && y->first_ns <= x->last_ns);
}

/* The number that the file's name begins with, or -1; the process's own says nothing. */
static int64_t number_in(const struct inq_shard *shard)
{
    enum { MAX_DIGITS = 6 };
    const char *slash = strrchr(shard->file.path, '/');
    const char *name = slash != NULL ? slash + 1 : shard->file.path;
    size_t n = strspn(name, "0123456789");
    int64_t number = n > 0 && n <= MAX_DIGITS ? strtoll(name, NULL, 10) : -1;
    return number == shard->ranks[0].pid ? -1 : number;
}

/* Whether the numbers in the names are 0 to n - 1, each once; then they are the ranks. */
static bool have_ranks(const struct run *run, uint8_t *seen)
{
    memset(seen, 0, run->n);
    for (size_t i = 0; i < run->n; i++) {
        int64_t number = number_in(run->shards[i]);
        if (number < 0 || number >= (int64_t)run->n || seen[number]) {
            return false;
        }
        seen[number] = 1;
    }
    return true;
}

static int number_run(const struct run *run, uint8_t *seen, struct inq_err *err)
{
    if (!have_ranks(run, seen)) {
        return inq_number_processes(run->shards, run->n, "rocprofv3 records no rank", err);
    }
    for (size_t i = 0; i < run->n; i++) {
        run->shards[i]->ranks[0].rank = (int32_t)number_in(run->shards[i]);
    }
    return INQ_OK;
}

int inq_rocprof_join(struct inq_shard *shards, size_t n, struct inq_err *err)
{
    struct run run = {.shards = inq_mem_alloc((n + 1) * sizeof(struct inq_shard *))};
    uint8_t *seen = inq_mem_alloc(n + 1);
    int code =
        run.shards != NULL && seen != NULL ? INQ_OK : inq_err_set(err, INQ_NOMEM, "out of memory");
    /* in the order of paths, a folder's files stand together */
    for (size_t i = 0; i < n && code == INQ_OK; i += run.n > 0 ? run.n : 1) {
        run.n = 0;
        for (size_t k = i;
             k < n && is_process(&shards[k]) && (k == i || are_together(&shards[i], &shards[k]));
             k++) {
            run.shards[run.n++] = &shards[k];
        }
        code = run.n > 1 ? number_run(&run, seen, err) : INQ_OK;
    }
    inq_mem_free((void *)run.shards);
    inq_mem_free(seen);
    return code;
}
