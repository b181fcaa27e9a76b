/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of text, each told by itself, read by several cores: what a line says is found out on any
 * of them, and taken in the order of the file. */
#ifndef INQ_INGEST_SCAN_LINES_H
#define INQ_INGEST_SCAN_LINES_H

#include "ingest/source/source.h"

struct inq_line {
    char *p; /* the line's own to write to */
    size_t n;
    int64_t offset; /* in the document */
    bool cut;       /* the document ends in it, without a line break */
};

struct inq_lines {
    int jobs;           /* cores that parse; 0: 1 */
    size_t piece_bytes; /* that a core parses at once; 0: 128 KiB, which its cache holds */
    void *ctx;
    size_t row_size;
    /* What the line says, into an all-zero row. Runs on any thread, beside `take`, which must not
     * change what this reads of `ctx`. */
    void (*parse)(const void *ctx, const struct inq_line *line, void *row);
    /* Called for one line after the other. What it changes in `ctx` is seen by `parse` from the
     * next block on, which begins anywhere. */
    int (*take)(void *ctx, const struct inq_line *line, void *row, struct inq_err *err);
    /* Of fields that may be quoted, with line breaks in them (RFC 4180); 0: quotes mean nothing. */
    char separator;
    struct inq_damage *damage; /* lines that are too long, quotes that are not closed */
};

/* Hands over the lines that are not empty, without their line breaks. A line as long as
 * eight pieces (1 MiB) is passed over and counted as LIMIT; a quote that is not closed within as
 * much costs its line only, counted as BAD_EVENT. Fails as `take` and the source do, and with
 * INQ_NOMEM. */
int inq_lines_read(struct inq_source *source, const struct inq_lines *lines, struct inq_err *err);

#endif
