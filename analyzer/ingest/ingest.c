/* SPDX-License-Identifier: Apache-2.0 */
/* Paths in, a run out: lists the files, reads them in parallel, has them assembled. */
#include "inquest/ingest.h"

#include "base/arena.h"
#include "base/mem.h"
#include "base/par.h"
#include "base/sort.h"
#include "ingest/budget.h"
#include "ingest/intake.h"
#include "trace/assemble.h"
#include "trace/flight.h"
#include "trace/log.h"

#include <string.h>

/* How much a byte on disk may become in the model, gzip against plain: text packs about 8 to 1. */
#define GZIP_WEIGHT 8

/* Largest first, so that no long one is left over at the end. */
static int plan_order(const struct inq_walk *walk, uint32_t *order, struct inq_err *err)
{
    int64_t *keys = inq_mem_alloc((walk->n + 1) * sizeof *keys);
    if (keys == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory");
    }
    for (size_t i = 0; i < walk->n; i++) {
        keys[i] = -(int64_t)walk->files[i].size;
    }
    int code = inq_sort_order_i64(keys, walk->n, order, err);
    inq_mem_free(keys);
    return code;
}

static void release_shards(struct inq_intake *intake)
{
    for (size_t i = 0; i < intake->walk->n; i++) {
        inq_shard_release(&intake->shards[i]);
    }
    memset(intake->shards, 0, intake->walk->n * sizeof *intake->shards);
}

/* A fixed part of the limit for each file, by the text in it. */
static void plan_shares(const struct inq_intake *intake, uint64_t *shares)
{
    size_t n = intake->walk->n;
    double total = 0;
    for (size_t i = 0; i < n; i++) {
        const struct inq_file *file = &intake->shards[i].file;
        shares[i] = (file->bytes + 1) * (file->compressed ? GZIP_WEIGHT : 1);
        total += (double)shares[i];
    }
    for (size_t i = 0; i < n; i++) {
        shares[i] = (uint64_t)((double)shares[i] / total * (double)intake->limit);
    }
}

static int read_again(struct inq_intake *intake, uint64_t *shares, struct inq_err *err)
{
    plan_shares(intake, shares);
    release_shards(intake);
    intake->shares = shares;
    atomic_store(&intake->held, 0);
    atomic_store(&intake->events, 0);
    atomic_store(&intake->bytes_done, 0);
    atomic_store(&intake->files_done, 0);
    return inq_par_for(intake->walk->n, intake->jobs, inq_intake_file, intake, err);
}

static int read_all(struct inq_intake *intake, struct inq_err *err)
{
    size_t n = intake->walk->n;
    int code = inq_par_for(n, intake->jobs, inq_intake_file, intake, err);
    if (code == INQ_OK && atomic_load(&intake->over) && n > 1) {
        uint64_t *shares = inq_mem_alloc(n * sizeof *shares);
        code = shares != NULL ? read_again(intake, shares, err)
                              : inq_err_set(err, INQ_NOMEM, "out of memory");
        inq_mem_free(shares);
        intake->shares = NULL;
    }
    if (code == INQ_OK) {
        code = inq_intake_report(intake, err);
    }
    return code;
}

/* Copies a file's account into the run, which outlives the shard. */
static int keep_skipped(struct inq_run *run, const struct inq_file *file, struct inq_err *err)
{
    struct inq_file *kept = &run->skipped[run->n_skipped];
    *kept = *file;
    kept->path = inq_arena_strdup(run->arena, file->path);
    kept->format = inq_arena_strdup(run->arena, file->format != NULL ? file->format : "unknown");
    kept->reason = inq_arena_strdup(run->arena, file->reason != NULL ? file->reason : "");
    if (kept->path == NULL || kept->format == NULL || kept->reason == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory");
    }
    run->n_skipped++;
    return INQ_OK;
}

/* What becomes of a file: traces first, then dumps, logs, and what was not read. */
enum { PART_TRACES, PART_DUMPS, PART_LOGS, PART_OTHER, PARTS };

static int part_of(const struct inq_shard *shard)
{
    return !shard->file.read     ? PART_OTHER
           : shard->log != NULL  ? PART_LOGS
           : shard->dump != NULL ? PART_DUMPS
                                 : PART_TRACES;
}

/* Sorts the shards by part, each in path order; ends[k] is where part k ends. */
static void part(struct inq_shard *shards, size_t n, struct inq_shard *scratch, size_t ends[PARTS])
{
    size_t at = 0;
    for (int k = 0; k < PARTS; k++) {
        for (size_t i = 0; i < n; i++) {
            if (part_of(&shards[i]) == k) {
                scratch[at++] = shards[i];
            }
        }
        ends[k] = at;
    }
    memcpy(shards, scratch, n * sizeof *shards);
}

static int assemble(struct inq_intake *intake, struct inq_run **run, struct inq_err *err)
{
    size_t n = intake->walk->n;
    struct inq_shard *scratch = inq_mem_alloc((n + 1) * sizeof *scratch);
    if (scratch == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory");
    }
    size_t ends[PARTS];
    part(intake->shards, n, scratch, ends);
    inq_mem_free(scratch);
    size_t n_read = ends[PART_LOGS];
    bool align = intake->options->align == INQ_ALIGN_AUTO;
    int code = inq_intake_rows(intake->shards, ends[PART_TRACES], err);
    if (code != INQ_OK) {
        return code;
    }
    code = inq_assemble(intake->shards, ends[PART_TRACES], align, intake->jobs, run, err);
    if (code == INQ_OK) {
        code = inq_assemble_dumps(*run, intake->shards + ends[PART_TRACES],
                                  ends[PART_DUMPS] - ends[PART_TRACES], err);
    }
    if (code == INQ_OK) {
        code = inq_assemble_logs(*run, intake->shards + ends[PART_DUMPS],
                                 ends[PART_LOGS] - ends[PART_DUMPS], err);
    }
    if (code != INQ_OK) {
        return code;
    }
    (*run)->skipped = inq_arena_array((*run)->arena, n - n_read + 1, sizeof *(*run)->skipped);
    if ((*run)->skipped == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory");
    }
    for (size_t i = n_read; i < n && code == INQ_OK; i++) {
        code = keep_skipped(*run, &intake->shards[i].file, err);
    }
    return code;
}

/* With the files listed: reads and assembles them. */
static int ingest_files(const struct inq_walk *walk, const struct inq_ingest_options *options,
                        struct inq_run **run, struct inq_err *err)
{
    struct inq_intake intake = {
        .options = options,
        .jobs = inq_par_threads(options->jobs),
        .walk = walk,
        .limit = options->memory_limit > 0 ? options->memory_limit : inq_machine_memory() / 4 * 3,
        .report = PTHREAD_MUTEX_INITIALIZER,
    };
    uint32_t *order = inq_mem_alloc((walk->n + 1) * sizeof *order);
    intake.shards = inq_mem_zalloc(walk->n + 1, sizeof *intake.shards);
    intake.order = order;
    int code = INQ_OK;
    if (order == NULL || intake.shards == NULL) {
        code = inq_err_set(err, INQ_NOMEM, "out of memory");
        goto out;
    }
    for (size_t i = 0; i < walk->n; i++) {
        intake.bytes_total += walk->files[i].size;
    }
    code = plan_order(walk, order, err);
    if (code == INQ_OK) {
        code = read_all(&intake, err);
    }
    if (code == INQ_OK) {
        code = assemble(&intake, run, err);
    }
out:
    if (intake.shards != NULL) {
        release_shards(&intake);
    }
    inq_mem_free(intake.shards);
    inq_mem_free(order);
    (void)pthread_mutex_destroy(&intake.report);
    return code;
}

/* Reads what the walk lists, which `code` says has succeeded; releases the walk. */
static int ingest_walk(int code, struct inq_walk *walk, const struct inq_ingest_options *options,
                       struct inq_run **run, struct inq_err *err)
{
    static const struct inq_ingest_options defaults;
    if (code == INQ_OK) {
        code = ingest_files(walk, options != NULL ? options : &defaults, run, err);
    }
    if (code != INQ_OK) {
        inq_run_free(*run);
        *run = NULL;
    }
    inq_walk_release(walk);
    return code;
}

int inq_ingest(const char *const *paths, size_t n_paths, const struct inq_ingest_options *options,
               struct inq_run **run, struct inq_err *err)
{
    struct inq_walk walk = {0};
    *run = NULL;
    return ingest_walk(inq_walk_paths(paths, n_paths, &walk, err), &walk, options, run, err);
}

static int compare_names(const void *a, const void *b, void *ctx)
{
    const struct inq_ingest_blob *one = a;
    const struct inq_ingest_blob *other = b;
    (void)ctx;
    return strcmp(one->name, other->name);
}

int inq_ingest_memory(const struct inq_ingest_blob *blobs, size_t n_blobs,
                      const struct inq_ingest_options *options, struct inq_run **run,
                      struct inq_err *err)
{
    struct inq_walk walk = {0};
    *run = NULL;
    struct inq_ingest_blob *sorted = inq_mem_alloc((n_blobs + 1) * sizeof *sorted);
    if (sorted == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory");
    }
    if (n_blobs > 0) {
        memcpy(sorted, blobs, n_blobs * sizeof *sorted);
    }
    int code = inq_sort(sorted, n_blobs, sizeof *sorted, compare_names, NULL, err);
    for (size_t i = 0; i < n_blobs && code == INQ_OK; i++) {
        code = inq_walk_add_memory(&walk, sorted[i].name, sorted[i].bytes, sorted[i].n, err);
    }
    inq_mem_free(sorted);
    return ingest_walk(code, &walk, options, run, err);
}
