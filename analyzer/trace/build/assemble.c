/* SPDX-License-Identifier: Apache-2.0 */
/* From shards to traces: one trace per job, then its steps, collectives and clocks. */
#include "trace/build/assemble.h"

#include "base/arena.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/sort.h"
#include "trace/build/jobs.h"
#include "trace/build/merge.h"
#include "trace/clock/clock.h"
#include "trace/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The shards of one job, by path. */
struct job {
    struct inq_shard **shards; /* [n], then copies of other files */
    size_t n, n_copies;
    struct inq_shard **copy_of; /* [n_copies] */
    bool align;
    int jobs;
};

/* ---- files ----------------------------------------------------------------------------------- */

static int keep_copy(struct inq_trace *trace, const struct inq_shard *copy,
                     const struct inq_shard *of, struct inq_err *err)
{
    int code = inq_trace_keep_file(trace, &copy->file, err);
    if (code != INQ_OK) {
        return code;
    }
    struct inq_file *file = &trace->files[trace->n_files - 1];
    file->read = false;
    file->events_kept = 0;
    const char *path = of->file.path != NULL ? of->file.path : "another file";
    if (copy->file.events < of->file.events) { /* what it lacks is not lost */
        file->damage = (struct inq_damage){0};
        file->reason = inq_arena_printf(trace->arena, "the beginning of %s, not counted", path);
    } else {
        file->reason =
            inq_arena_printf(trace->arena, "holds the same events as %s, counted once", path);
    }
    return file->reason != NULL ? INQ_OK : inq_err_set(err, INQ_NOMEM, "out of memory for a file");
}

/* The files of the job in the order of the shards; copies of others behind them. */
static int keep_files(struct inq_trace *trace, const struct job *job, struct inq_err *err)
{
    int code = inq_trace_reserve_files(trace, job->n + job->n_copies, err);
    for (size_t i = 0; i < job->n && code == INQ_OK; i++) {
        code = inq_trace_keep_file(trace, &job->shards[i]->file, err);
        for (size_t r = 0; r < job->shards[i]->n_ranks; r++) {
            job->shards[i]->ranks[r].file = (uint32_t)i;
        }
    }
    for (size_t i = 0; i < job->n_copies && code == INQ_OK; i++) {
        code = keep_copy(trace, job->shards[job->n + i], job->copy_of[i], err);
    }
    return code;
}

/* ---- ranks ----------------------------------------------------------------------------------- */

/* By rank; those of one number stay in the order of their files. */
static int compare_ranks(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    int32_t x = ((const struct inq_rank *)a)->rank;
    int32_t y = ((const struct inq_rank *)b)->rank;
    return (x > y) - (x < y);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* What reports call a rank: its number, else its host and process (as the profiler names its file),
 * else its file's name (and place, if that has several). */
static int label_rank(struct inq_trace *trace, size_t r, size_t place, struct inq_err *err)
{
    struct inq_rank *rank = &trace->ranks[r];
    char text[280];
    const char *file = base_name(trace->files[rank->file].path);
    const char *host = inq_trace_str(trace, rank->host);
    if (rank->rank >= 0) {
        (void)snprintf(text, sizeof text, "%d", (int)rank->rank);
    } else if (host[0] != '\0' && rank->pid >= 0) {
        (void)snprintf(text, sizeof text, "%.200s_%" PRId64, host, rank->pid);
    } else if (place > 0) {
        (void)snprintf(text, sizeof text, "%.255s#%zu", file, place);
    } else {
        (void)snprintf(text, sizeof text, "%.255s", file);
    }
    return inq_strtab_add(trace->names, text, strlen(text), &rank->label, err);
}

static int label_ranks(struct inq_trace *trace, struct inq_err *err)
{
    int code = INQ_OK;
    size_t place = 0;
    for (size_t r = 0; r < trace->n_ranks && code == INQ_OK; r++) {
        const struct inq_rank *rank = &trace->ranks[r];
        bool same = r > 0 && rank[-1].rank == rank->rank && rank[-1].file == rank->file;
        place = same ? place + 1 : 0;
        code = label_rank(trace, r, place, err);
    }
    return code;
}

/* Ranks below the world size that no file is of; which they are is not known when a file may be of
 * any. */
static int list_missing(struct inq_trace *trace, struct inq_err *err)
{
    bool all_named = true;
    for (size_t r = 0; r < trace->n_ranks; r++) {
        int32_t size = trace->ranks[r].world_size;
        trace->world_size = size > trace->world_size ? size : trace->world_size;
        all_named = all_named && trace->ranks[r].rank >= 0;
    }
    if (!all_named || trace->world_size <= 0 || (size_t)trace->world_size > INQ_MAX_RANKS) {
        return INQ_OK;
    }
    size_t n = (size_t)trace->world_size;
    trace->missing = inq_arena_array(trace->arena, n, sizeof *trace->missing);
    if (trace->missing == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu missing ranks", n);
    }
    size_t r = 0;
    for (int32_t number = 0; number < trace->world_size; number++) {
        while (r < trace->n_ranks && trace->ranks[r].rank < number) {
            r++;
        }
        if (r == trace->n_ranks || trace->ranks[r].rank != number) {
            trace->missing[trace->n_missing++] = number;
        }
    }
    return INQ_OK;
}

/* ---- name ------------------------------------------------------------------------------------ */

/* The folder that all files of the job are in; the file's own name when it is one. */
static const char *name_after_paths(struct inq_trace *trace)
{
    const char *first = trace->n_files > 0 ? trace->files[0].path : "";
    size_t len = strlen(first);
    for (size_t i = 1; i < trace->n_files; i++) {
        size_t same = 0;
        while (same < len && trace->files[i].path[same] == first[same]) {
            same++;
        }
        len = same;
    }
    if (trace->n_files == 1) {
        return base_name(first);
    }
    while (len > 0 && first[len - 1] != '/') {
        len--;
    }
    while (len > 0 && first[len - 1] == '/') {
        len--;
    }
    size_t start = len;
    while (start > 0 && first[start - 1] != '/') {
        start--;
    }
    bool nameless = len == start || (len - start == 1 && first[start] == '.');
    return nameless ? base_name(first)
                    : inq_arena_strndup(trace->arena, first + start, len - start);
}

static int name_trace(struct inq_trace *trace, struct inq_err *err)
{
    const char *job = "";
    for (size_t r = 0; r < trace->n_ranks && job[0] == '\0'; r++) {
        job = inq_trace_str(trace, trace->ranks[r].job);
    }
    trace->name = job[0] != '\0' ? inq_arena_strdup(trace->arena, job) : name_after_paths(trace);
    return trace->name != NULL ? INQ_OK : inq_err_set(err, INQ_NOMEM, "out of memory for a name");
}

/* ---- one trace ------------------------------------------------------------------------------- */

static int derive(struct inq_trace *trace, bool align, int jobs, struct inq_err *err)
{
    struct inq_clocks clocks = {0};
    int code = inq_steps_lay(trace, err);
    if (code == INQ_OK) {
        code = inq_match_collectives(trace, jobs, &clocks, err);
    }
    int aligned = inq_clock_align(trace, &clocks, align && code == INQ_OK, jobs, err);
    code = code == INQ_OK ? aligned : code;
    if (code == INQ_OK) {
        inq_collectives_check_ends(trace);
        code = inq_steps_assign(trace, err); /* inferred ones are compared across ranks by time */
    }
    return code;
}

static int fill_trace(struct inq_trace *trace, const struct job *job, struct inq_err *err)
{
    size_t n_ranks = 0;
    for (size_t i = 0; i < job->n; i++) {
        n_ranks += job->shards[i]->n_ranks;
    }
    trace->ranks = inq_arena_array(trace->arena, n_ranks, sizeof *trace->ranks);
    if (trace->ranks == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu ranks", n_ranks);
    }
    int code = keep_files(trace, job, err);
    if (code == INQ_OK) {
        code = inq_merge_shards(trace, job->shards, job->n, job->jobs, err);
    }
    if (code == INQ_OK) {
        code =
            inq_sort(trace->ranks, trace->n_ranks, sizeof *trace->ranks, compare_ranks, NULL, err);
    }
    if (code == INQ_OK) {
        code = label_ranks(trace, err);
    }
    if (code == INQ_OK) {
        code = list_missing(trace, err);
    }
    if (code == INQ_OK) {
        code = name_trace(trace, err);
    }
    return code == INQ_OK ? derive(trace, job->align, job->jobs, err) : code;
}

static int make_trace(struct inq_run *run, const struct job *job, struct inq_err *err)
{
    struct inq_trace *trace = inq_arena_alloc(run->arena, sizeof *trace);
    if (trace == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for a trace");
    }
    trace->world_size = -1;
    trace->name = "";
    trace->arena = inq_mem_zalloc(1, sizeof *trace->arena);
    trace->names = inq_mem_zalloc(1, sizeof *trace->names);
    run->traces[run->n_traces++] = trace;
    if (trace->arena == NULL || trace->names == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for a trace");
    }
    return fill_trace(trace, job, err);
}

/* ---- the run --------------------------------------------------------------------------------- */

static int by_path(const void *a, const void *b, void *ctx)
{
    const struct inq_shard *shards = ctx;
    const char *x = shards[*(const uint32_t *)a].file.path;
    const char *y = shards[*(const uint32_t *)b].file.path;
    return strcmp(x != NULL ? x : "", y != NULL ? y : "");
}

static int by_job(const void *a, const void *b, void *ctx)
{
    const struct inq_jobs *found = ctx;
    uint32_t i = *(const uint32_t *)a;
    uint32_t j = *(const uint32_t *)b;
    if (found->job_of[i] != found->job_of[j]) {
        return found->job_of[i] < found->job_of[j] ? -1 : 1;
    }
    int x = found->same_as[i] != INQ_NONE;
    int y = found->same_as[j] != INQ_NONE;
    return x - y;
}

/* One job after the other; in each its files by path, copies last. */
static int make_traces(struct inq_run *run, struct inq_shard *shards, size_t n,
                       const struct inq_jobs *found, const struct job *settings,
                       struct inq_err *err)
{
    uint32_t *order = inq_mem_alloc((n + 1) * sizeof *order);
    struct inq_shard **row = inq_mem_alloc(2 * (n + 1) * sizeof(struct inq_shard *));
    int code = order != NULL && row != NULL ? INQ_OK : inq_err_set(err, INQ_NOMEM, "out of memory");
    for (uint32_t i = 0; code == INQ_OK && i < n; i++) {
        order[i] = i;
    }
    if (code == INQ_OK) {
        code = inq_sort(order, n, sizeof *order, by_path, shards, err);
    }
    if (code == INQ_OK) {
        struct inq_jobs known = *found;
        code = inq_sort(order, n, sizeof *order, by_job, &known, err);
    }
    for (size_t lo = 0, hi = 0; code == INQ_OK && lo < n; lo = hi) {
        struct job job = *settings;
        job.shards = row;
        job.copy_of = row + n;
        for (; hi < n && found->job_of[order[hi]] == found->job_of[order[lo]]; hi++) {
            uint32_t same_as = found->same_as[order[hi]];
            row[hi - lo] = &shards[order[hi]];
            if (same_as == INQ_NONE) {
                job.n++;
            } else {
                job.copy_of[job.n_copies++] = &shards[same_as];
            }
        }
        code = make_trace(run, &job, err);
    }
    inq_mem_free(order);
    inq_mem_free(row);
    return code;
}

static int64_t first_time(const struct inq_trace *trace)
{
    int64_t first_ns = INT64_MAX;
    for (size_t r = 0; r < trace->n_ranks; r++) {
        int64_t own_ns = trace->ranks[r].first_ns;
        first_ns = own_ns != INQ_TIME_NONE && own_ns < first_ns ? own_ns : first_ns;
    }
    return first_ns;
}

static int compare_traces(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    const struct inq_trace *x = *(struct inq_trace *const *)a;
    const struct inq_trace *y = *(struct inq_trace *const *)b;
    int64_t first_x = first_time(x);
    int64_t first_y = first_time(y);
    if (first_x != first_y) {
        return first_x < first_y ? -1 : 1;
    }
    int by_name = strcmp(x->name, y->name);
    return by_name != 0 || x->n_files == 0 || y->n_files == 0
               ? by_name
               : strcmp(x->files[0].path, y->files[0].path);
}

/* Jobs of one name are numbered in the order of their times. */
static int number_traces(struct inq_run *run, struct inq_err *err)
{
    struct inq_map count = {0};
    struct inq_map turn = {0};
    int code = INQ_OK;
    for (size_t t = 0; t < run->n_traces && code == INQ_OK; t++) {
        uint64_t key = inq_hash_bytes(run->traces[t]->name, strlen(run->traces[t]->name));
        uint32_t n = 0;
        (void)inq_map_get(&count, key, &n);
        code = inq_map_put(&count, key, n + 1, err);
    }
    for (size_t t = 0; t < run->n_traces && code == INQ_OK; t++) {
        struct inq_trace *trace = run->traces[t];
        uint64_t key = inq_hash_bytes(trace->name, strlen(trace->name));
        uint32_t n = 0;
        uint32_t before = 0;
        (void)inq_map_get(&count, key, &n);
        (void)inq_map_get(&turn, key, &before);
        code = inq_map_put(&turn, key, before + 1, err);
        if (code == INQ_OK && n > 1) {
            trace->name = inq_arena_printf(trace->arena, "%s #%u", trace->name, before + 1);
            code = trace->name != NULL ? INQ_OK : inq_err_set(err, INQ_NOMEM, "out of memory");
        }
    }
    inq_map_release(&count);
    inq_map_release(&turn);
    return code;
}

static int fill_run(struct inq_run *run, struct inq_shard *shards, size_t n,
                    const struct job *settings, struct inq_err *err)
{
    struct inq_jobs found = {0};
    run->arena = inq_mem_zalloc(1, sizeof *run->arena);
    if (run->arena == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for a run");
    }
    int code = inq_jobs_find(shards, n, &found, err);
    if (code == INQ_OK) {
        run->traces = inq_arena_array(run->arena, found.n_jobs, sizeof(struct inq_trace *));
        code = run->traces != NULL ? make_traces(run, shards, n, &found, settings, err)
                                   : inq_err_set(err, INQ_NOMEM, "out of memory for a run");
    }
    inq_jobs_release(&found);
    if (code == INQ_OK) {
        code = inq_sort(run->traces, run->n_traces, sizeof(struct inq_trace *), compare_traces,
                        NULL, err);
    }
    return code == INQ_OK ? number_traces(run, err) : code;
}

int inq_assemble(struct inq_shard *shards, size_t n, bool align, int jobs, struct inq_run **run,
                 struct inq_err *err)
{
    struct job settings = {.align = align, .jobs = jobs};
    *run = NULL;
    struct inq_run *made = inq_mem_zalloc(1, sizeof *made);
    if (made == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for a run");
    }
    int code = fill_run(made, shards, n, &settings, err);
    if (code != INQ_OK) {
        inq_run_free(made);
        return code;
    }
    *run = made;
    return INQ_OK;
}
