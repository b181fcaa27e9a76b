/* SPDX-License-Identifier: Apache-2.0 */
/* A source of bytes: a memory block, a file, or a part of either, plain or compressed (once or
 * several times over), decompressed on a thread of its own so that the consumer's scanning overlaps
 * with it. */
#ifndef INQ_INGEST_SOURCE_SOURCE_H
#define INQ_INGEST_SOURCE_SOURCE_H

#include "inquest/trace.h"

struct inq_source;

struct inq_source_options {
    bool threaded;     /* decompress ahead on an own thread */
    size_t chunk_size; /* bytes of one chunk; 0: 256 KiB (tests use 1) */
    bool no_isal;      /* inflate with zlib even when ISA-L is built in */
    /* Called by inq_source_next on the consumer's thread before it delivers; may be NULL. INQ_OK
     * goes on; INQ_LIMIT ends the source here as if it had ended (counted as LIMIT in
     * inq_source_damage, offset = bytes delivered); any other code makes next fail with it. */
    int (*tick)(void *ctx, struct inq_err *err);
    void *tick_ctx;
};

/* Bare deflate data, as zip archives hold it, and what it must inflate to if that is `known`. */
struct inq_deflated {
    bool known;
    uint32_t crc;
    uint64_t size;
};

/* What is read as a file: `size` bytes (or up to the end) from `offset` on, of ... */
struct inq_source_part {
    const void *bytes; /* ... this memory, or if NULL of ... */
    int fd;            /* ... this open file, or if below 0 of ... */
    const char *path;  /* ... this file */
    uint64_t offset, size;
    bool is_deflated;
    struct inq_deflated deflated;
};

/* Opens what `part` (copied; what it points to must outlive the source, as `name`) says; how it is
 * compressed is recognized by content. Fails with INQ_NOT_FOUND, INQ_IO, INQ_NOMEM,
 * INQ_UNSUPPORTED (takes too much memory to decompress). Close with inq_source_close. */
int inq_source_open_part(const char *name, const struct inq_source_part *part,
                         const struct inq_source_options *options, struct inq_source **source,
                         struct inq_err *err);
/* The same for a whole file. `path` must outlive the source. */
int inq_source_open(const char *path, const struct inq_source_options *options,
                    struct inq_source **source, struct inq_err *err);
/* The same over a borrowed memory block. */
int inq_source_open_memory(const void *bytes, size_t n, const struct inq_source_options *options,
                           struct inq_source **source, struct inq_err *err);

/* The first bytes (at most INQ_SOURCE_PEEK, less for short inputs), for recognition; they will be
 * delivered again by inq_source_next. */
#define INQ_SOURCE_PEEK ((size_t)64 << 10)
int inq_source_peek(struct inq_source *source, const char **bytes, size_t *n, struct inq_err *err);
/* The next chunk, valid until the next call; *n == 0 at the end. A damaged compressed stream ends
 * early (what could be decompressed is delivered) and is counted in inq_source_damage; after a
 * corrupt member the next one that can be found is read. Fails only with INQ_IO, INQ_NOMEM,
 * INQ_UNSUPPORTED (as opening does) and what `tick` returned. */
int inq_source_next(struct inq_source *source, const char **bytes, size_t *n, struct inq_err *err);
/* The same chunk for a consumer that joins it to what it had left over: INQ_SOURCE_HEADROOM bytes
 * in front of it are the consumer's to write, INQ_SOURCE_PADDING bytes behind it are readable (and
 * hold anything). *note gets what work told of it, valid as long as it; NULL: nothing. */
#define INQ_SOURCE_HEADROOM ((size_t)64 << 10)
#define INQ_SOURCE_PADDING  ((size_t)256)
int inq_source_take(struct inq_source *source, char **bytes, size_t *n, const void **note,
                    struct inq_err *err);

/* What can be told of a chunk by its bytes alone, written to `note`; INQ_SOURCE_PADDING bytes
 * behind them are readable. Runs on any thread. */
typedef void (*inq_source_work)(const char *bytes, size_t n, void *note);
/* From here on whoever fills a chunk of a threaded source does `work` on it; called again, it
 * changes the work. A source without a thread does none. `note_size` is the same in all calls.
 * Fails with INQ_NOMEM. */
int inq_source_work_ahead(struct inq_source *source, inq_source_work work, size_t note_size,
                          struct inq_err *err);
/* For readers that have the file read by something else, or that are behind what was delivered:
 * asks `tick` as inq_source_next does, without delivering. *stop: it wants the source to end here
 * (counted as LIMIT). `offset`: where that is in the document; -1: behind what was delivered. */
int inq_source_ask(struct inq_source *source, int64_t offset, bool *stop, struct inq_err *err);

bool inq_source_compressed(const struct inq_source *source);
/* Whether its bytes are those of the file at inq_source_path, as they are; *size gets the bytes on
 * disk in all. */
bool inq_source_is_file(const struct inq_source *source, uint64_t *size);
/* Bytes on disk that what was delivered so far was made of, and delivered bytes. */
uint64_t inq_source_consumed(const struct inq_source *source);
uint64_t inq_source_delivered(const struct inq_source *source);
/* TRUNCATED_GZIP, CORRUPT_GZIP and LIMIT found so far; complete once next has returned *n == 0. */
const struct inq_damage *inq_source_damage(const struct inq_source *source);
const char *inq_source_path(const struct inq_source *source);
/* Joins the thread and frees; NULL is fine; may be called before the end was reached. */
void inq_source_close(struct inq_source *source);

#endif
