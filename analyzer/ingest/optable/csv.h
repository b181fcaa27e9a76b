/* SPDX-License-Identifier: Apache-2.0 */
/* Records of a CSV source (RFC 4180): quoted fields, CR LF, a byte-order mark; any separator,
 * blanks around it. */
#ifndef INQ_INGEST_OPTABLE_CSV_H
#define INQ_INGEST_OPTABLE_CSV_H

#include "base/limits.h"
#include "ingest/source/source.h"

struct inq_csv_field {
    const char *text; /* unquoted, not terminated */
    size_t len;
};

/* All-zero with `source` and `separator` set is ready. */
struct inq_csv {
    struct inq_source *source;
    char separator;
    struct inq_damage *damage; /* records that were none, an unterminated quote; may be NULL */
    /* the current record */
    struct inq_csv_field *fields;
    size_t n_fields, cap_fields;
    uint64_t offset; /* uncompressed, of its first byte */
    bool cut;        /* it ended with the source, not with a line break */
    /* the rest is the reader's own: a window of the source */
    char *window;
    size_t cap, begin, end;
    const char *chunk; /* what of the source's chunk is not in the window yet */
    size_t chunk_left;
    uint64_t next_offset;
    bool at_end;
    bool skipping; /* the rest of a line that was dropped */
};

/* Reads the next record that is not blank; *got is false at the end. Fields are valid until the
 * next call. A record that never ends (a stray quote, no line break) costs its first line only and
 * is counted as BAD_EVENT. Fails with INQ_NOMEM or what the source fails with. */
int inq_csv_next(struct inq_csv *csv, bool *got, struct inq_err *err);
void inq_csv_release(struct inq_csv *csv);

#endif
