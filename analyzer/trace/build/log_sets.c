/* SPDX-License-Identifier: Apache-2.0 */
/* Logs into the run: into its only trace, or into a trace of their own. */
#include "trace/build/log.h"

#include "base/mem.h"
#include "base/sort.h"
#include "trace/build/assemble.h"
#include "trace/trace.h"

#include <string.h>

static int no_memory(struct inq_err *err)
{
    return inq_err_set(err, INQ_NOMEM, "out of memory for logs");
}

static int by_path(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    return strcmp((*(struct inq_shard *const *)a)->file.path,
                  (*(struct inq_shard *const *)b)->file.path);
}

static int add_logs(struct inq_trace *trace, struct inq_shard **shards, size_t n,
                    struct inq_err *err)
{
    trace->logs = inq_arena_array(trace->arena, n, sizeof(struct inq_log *));
    int code = trace->logs != NULL ? inq_trace_reserve_files(trace, n, err) : no_memory(err);
    for (size_t i = 0; i < n && code == INQ_OK; i++) {
        struct inq_log *log = shards[i]->log;
        log->file = (uint32_t)trace->n_files;
        for (size_t e = 0; e < log->n_events; e++) {
            log->events[e].file = (uint32_t)trace->n_files;
        }
        code = inq_trace_keep_file(trace, &shards[i]->file, err);
        if (code == INQ_OK) {
            trace->logs[trace->n_logs++] = log;
            shards[i]->log = NULL;
        }
    }
    return code;
}

/* The file's name, or the folder that all are in. */
static const char *name_of(struct inq_trace *trace, struct inq_shard *const *shards, size_t n)
{
    const char *path = shards[0]->file.path;
    const char *last = shards[n - 1]->file.path; /* sorted: what these share, all do */
    size_t end = 0;
    for (size_t i = 0; path[i] != '\0' && path[i] == last[i] && n > 1; i++) {
        end = path[i] == '/' ? i : end;
    }
    if (n == 1) {
        const char *slash = strrchr(path, '/');
        return inq_arena_strdup(trace->arena, slash != NULL ? slash + 1 : path);
    }
    size_t start = end;
    while (start > 0 && path[start - 1] != '/') {
        start--;
    }
    bool nameless = end == start || (end - start == 1 && path[start] == '.');
    return nameless ? "logs" : inq_arena_strndup(trace->arena, path + start, end - start);
}

static int make_trace(struct inq_run *run, struct inq_shard **shards, size_t n, struct inq_err *err)
{
    struct inq_trace **traces =
        inq_arena_array(run->arena, run->n_traces + 1, sizeof(struct inq_trace *));
    struct inq_trace *trace = inq_arena_alloc(run->arena, sizeof *trace);
    if (traces == NULL || trace == NULL) {
        return no_memory(err);
    }
    if (run->n_traces > 0) {
        memcpy(traces, run->traces, run->n_traces * sizeof(struct inq_trace *));
    }
    run->traces = traces;
    trace->name = "";
    trace->world_size = -1;
    trace->arena = inq_mem_zalloc(1, sizeof *trace->arena);
    trace->names = inq_mem_zalloc(1, sizeof *trace->names);
    run->traces[run->n_traces++] = trace;
    if (trace->arena == NULL || trace->names == NULL) {
        return no_memory(err);
    }
    trace->ranks = inq_arena_array(trace->arena, 0, sizeof *trace->ranks);
    trace->missing = inq_arena_array(trace->arena, 0, sizeof *trace->missing);
    const char *name = name_of(trace, shards, n);
    if (trace->ranks == NULL || trace->missing == NULL || name == NULL) {
        return no_memory(err);
    }
    trace->name = name;
    return add_logs(trace, shards, n, err);
}

int inq_assemble_logs(struct inq_run *run, struct inq_shard *shards, size_t n, struct inq_err *err)
{
    if (n == 0) {
        return INQ_OK;
    }
    struct inq_shard **order = inq_mem_zalloc(n, sizeof(struct inq_shard *));
    if (order == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0; i < n; i++) {
        order[i] = &shards[i];
    }
    int code = inq_sort(order, n, sizeof(struct inq_shard *), by_path, NULL, err);
    if (code == INQ_OK) {
        code = run->n_traces == 1 ? add_logs(run->traces[0], order, n, err)
                                  : make_trace(run, order, n, err);
    }
    inq_mem_free(order);
    return code;
}
