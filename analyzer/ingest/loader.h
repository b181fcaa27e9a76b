/* SPDX-License-Identifier: Apache-2.0 */
/* Reading many files at once: shared state of one ingest, and what happens to each file. */
#ifndef INQ_INGEST_LOADER_H
#define INQ_INGEST_LOADER_H

#include "ingest/discover.h"
#include "inquest/ingest.h"
#include "trace/build/build.h"

#include <pthread.h>
#include <stdatomic.h>

/* Instead of keeping what was read: what becomes of every file, archives aside. Called by several
 * threads at once. */
struct inq_load_each {
    bool (*is_done)(void *ctx, size_t file); /* then it is not read */
    int (*take)(void *ctx, size_t file, struct inq_shard *shard, struct inq_err *err);
    void *ctx;
};

/* Filled by inq_ingest; the counters are shared by the threads that read. */
struct inq_loader {
    const struct inq_ingest_options *options;
    int jobs;
    struct inq_discovery *walk;
    struct inq_shard *shards; /* [walk->n], one per file */
    struct inq_rank_lists lists;
    const uint32_t *order; /* [n_order]: which file to read as the k-th */
    size_t n_order;
    uint64_t bytes_total;

    /* Memory. At first the files share the limit as they come. When it is reached, which file was
     * cut depends on timing, so everything is read again with a fixed share for each. */
    uint64_t limit;
    const uint64_t *shares; /* [walk->n]; NULL in the first pass */
    atomic_uint_fast64_t held;
    atomic_bool over; /* the limit was reached in the first pass */

    const struct inq_load_each *each; /* NULL: the shards are kept */

    atomic_int stop; /* code of the failure for which all reading ends; 0: go on */
    atomic_uint_fast64_t bytes_done, events;
    atomic_uint files_done;
    pthread_mutex_t report; /* one call of options->progress at a time */
    int64_t last_report_ns;
};

/* Reads the k-th file of the order into its shard and seals it: shard.file.read says whether it was
 * understood, shard.file.reason why not or what is missing. One that is an archive is not read, but
 * marked in the walk. Fails only for what must end the whole
 * ingest: INQ_CANCELLED. For inq_par_for: `ctx` is a struct inq_loader. */
int inq_load_file(void *ctx, size_t k, struct inq_err *err);
/* Reads all files of the walk and hands each over. Fails as inq_ingest does, and as `take`. */
int inq_load_each(struct inq_discovery *walk, const struct inq_ingest_options *options,
                  const struct inq_load_each *each, struct inq_err *err);
/* Sets why a file was not read or what is missing from it (copied), behind what is said already if
 * `append`. Fails with INQ_NOMEM. */
int inq_loader_reason(struct inq_shard *shard, const char *reason, bool append,
                      struct inq_err *err);
/* Calls options->progress now; INQ_CANCELLED when it asks for an end. */
int inq_loader_report(struct inq_loader *loader, struct inq_err *err);

#endif
