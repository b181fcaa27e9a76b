/* SPDX-License-Identifier: Apache-2.0 */
/* Ingest: files and folders in, a run of one or more jobs out. */
#ifndef INQUEST_INGEST_H
#define INQUEST_INGEST_H

#include "inquest/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

enum inq_align { INQ_ALIGN_AUTO, INQ_ALIGN_NONE };

struct inq_progress {
    uint64_t bytes_done, bytes_total; /* on disk */
    uint64_t events;
    uint32_t files_done, files_total;
    const char *pipe; /* read into memory before all else: bytes_done of it are there; else NULL */
};

/* A file that is in memory, as one on disk might be. */
struct inq_ingest_blob {
    const char *name; /* as its path would be */
    const void *bytes;
    size_t n;
};

/* Zero-initialized options are the defaults. */
struct inq_ingest_options {
    int jobs; /* threads; 0: all cores */
    enum inq_align align;
    bool operators; /* which operator launched what, with its input shapes: takes time to read */
    uint64_t memory_limit; /* bytes of model; 0: three quarters of what the system allows */
    const char *temp_dir;  /* for what archives must be decompressed to; NULL: /tmp */
    /* Functions that make partials take only every n_shares-th file, from file number `share` on,
     * in the order of their paths; an archive is one file. 0 shares: all. */
    size_t share, n_shares;
    /* inq_ingest reads these instead of the files that they are named after and were made of by
     * inq_ingest_traces. Borrowed; sorted by name as strcmp does. */
    const struct inq_ingest_blob *partials;
    size_t n_partials;
    /* inq_ingest_partials writes reduced partials (inquest-ingest(1)): so many steps of each rank
     * keep all their rows; 0: all steps do. */
    size_t reduced_steps;
    /* inq_ingest_partials replaces the names in what it writes; NULL: they stay. */
    struct inq_redaction *redaction;
    /* Called now and then, from one thread at a time; non-zero return cancels. May be NULL. */
    int (*progress)(void *ctx, const struct inq_progress *progress);
    void *progress_ctx;
};

/* Reads every file under `paths` (files or folders, recursive, any mix; "-" is standard input),
 * compressed or not and in tar and zip archives as in folders, recognizes each by content, tells
 * jobs apart, aligns clocks, finds steps and matches collectives. Damage is counted in the files,
 * not an error. On success *run is the caller's (inq_run_free). Fails with INQ_NOT_FOUND when a
 * path does not exist, INQ_CANCELLED, INQ_NOMEM. A run with no readable trace is a success with
 * n_traces == 0. */
INQ_API int inq_ingest(const char *const *paths, size_t n_paths,
                       const struct inq_ingest_options *options, struct inq_run **run,
                       struct inq_err *err);

/* Name and one line about the i-th format that is read; false past the last. */
INQ_API bool inq_ingest_format(size_t i, const char **name, const char **summary);

/* A column of an op table, by its name, by others that are understood ("op|optype"; NULL none) and
 * what it holds; case does not matter, and blanks and signs count as '_'. */
struct inq_op_column_info {
    const char *name, *others;
    const char *what;
};

/* The i-th column that is understood; NULL past the last. */
INQ_API const struct inq_op_column_info *inq_op_column_at(size_t i);

/* A safety limit of reading: `value` of `unit` ("bytes", or "" things). */
struct inq_limit_info {
    int64_t value;
    const char *unit, *what;
};

/* The i-th of them; NULL past the last. */
INQ_API const struct inq_limit_info *inq_limit_at(size_t i);

/* As inq_ingest over files that are borrowed from memory. */
INQ_API int inq_ingest_memory(const struct inq_ingest_blob *blobs, size_t n_blobs,
                              const struct inq_ingest_options *options, struct inq_run **run,
                              struct inq_err *err);

/* How many steps a reduced partial keeps whole where nobody says: enough for a median, and of the
 * usual twenty steps or more less than a sixth. */
#define INQ_REDUCED_STEPS 3

/* What became of the files that inq_ingest_partials met. */
struct inq_partials {
    size_t written;     /* partials of traces */
    size_t as_they_are; /* partials of other files, which are read when the partial is */
    size_t kept;        /* found made of a file that has not changed */
    size_t not_read;    /* files that could not be opened: without a partial */
    size_t withheld;    /* files that are no traces: with a redaction they are not written */
    uint64_t bytes_in, bytes_out;
};

/* Reads what inq_ingest would and writes for each file a partial (inquest-partial(5)) below
 * `folder`, under the file's path; every function that takes traces takes them instead. One that is
 * there and was made of the same file is kept. Holds one file a thread in memory. Fails as
 * inq_ingest does, with INQ_IO when a partial cannot be written, and with INQ_USAGE when there is
 * no such share. With a redaction every file is read twice, first for the names in it, all partials
 * are made anew and under redacted paths, and there are no shares. */
INQ_API int inq_ingest_partials(const char *const *paths, size_t n_paths, const char *folder,
                                const struct inq_ingest_options *options,
                                struct inq_partials *partials, struct inq_err *err);

/* Takes one partial, which is gone when it returns; what it fails with ends the ingest. */
typedef int inq_take_partial(void *ctx, const struct inq_ingest_blob *partial, struct inq_err *err);

/* Hands the partial of every trace over to `take`, one at a time, by any thread, under the name of
 * its file; options->operators says whether operators are in it. What is no trace, cannot be read
 * or is a partial already is left to inq_ingest, which takes what was handed over as
 * options->partials, and then gives the same run as without. Fails as inq_ingest does, with
 * INQ_USAGE when there is no such share, and with what `take` fails with. */
INQ_API int inq_ingest_traces(const char *const *paths, size_t n_paths,
                              const struct inq_ingest_options *options, inq_take_partial *take,
                              void *ctx, struct inq_err *err);

#ifdef __cplusplus
}
#endif

#endif
