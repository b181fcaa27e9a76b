/* SPDX-License-Identifier: Apache-2.0 */
/* The event scanner: one trace event of JSON text in memory to its fields. Lenient where exporters
 * are known to err, exact where numbers matter; every way of being wrong is told apart. */
#ifndef INQ_INGEST_SCAN_SCAN_H
#define INQ_INGEST_SCAN_SCAN_H

#include "base/limits.h"
#include "base/strtab.h"
#include "ingest/source/source.h"

#include <string.h>

/* The bytes between two quotes, as written (escapes not resolved). */
struct inq_text {
    const char *p;
    uint32_t n;
};

enum inq_scan_result {
    INQ_SCAN_OK,
    INQ_SCAN_MORE, /* the text ends before the value does */
    INQ_SCAN_BAD   /* malformed; `resync` says from where to look for the next event */
};

/* A cursor over text in memory. */
struct inq_scan {
    const char *p, *end;
    const char *resync;
};

/* ---- text and numbers ------------------------------------------------------------------------ */

/* Skips blanks; returns the byte found, or -1 at the end. */
static inline int inq_scan_blank(struct inq_scan *scan)
{
    for (; scan->p < scan->end; scan->p++) {
        unsigned char c = (unsigned char)*scan->p;
        if (c > ' ' || (c != ' ' && c != '\n' && c != '\r' && c != '\t')) {
            return c;
        }
    }
    return -1;
}
/* At the opening quote of a key: reads it and the colon after it. */
enum inq_scan_result inq_scan_key(struct inq_scan *scan, struct inq_text *key);
/* At the opening quote of a value. An unescaped quote inside is taken as part of the text as long
 * as what follows it cannot follow a string. */
enum inq_scan_result inq_scan_string(struct inq_scan *scan, struct inq_text *text);
/* A number or bare word (true, null, NaN): the run of its characters. */
enum inq_scan_result inq_scan_bare(struct inq_scan *scan, struct inq_text *text);
/* Any value, unread. */
enum inq_scan_result inq_scan_skip(struct inq_scan *scan);

/* Inside an object: the next member's key, and the first byte of its value, at which the cursor is;
 * *first is 0 at the closing brace, which is passed. */
enum inq_scan_result inq_scan_member(struct inq_scan *scan, struct inq_text *key, int *first);
/* The same in a list: the first byte of the next element, 0 at the closing bracket. */
enum inq_scan_result inq_scan_element(struct inq_scan *scan, int *first);

/* Whether the text, as written, is this word: where it is a literal, its length and bytes are the
 * compiler's. */
static inline bool inq_text_is(struct inq_text text, const char *word)
{
    size_t n = strlen(word);
    return text.n == n && memcmp(text.p, word, n) == 0;
}
/* Whole and decimal numbers; false when the text is none or does not fit. */
bool inq_scan_int(const char *p, size_t n, int64_t *value);
/* Microseconds to nanoseconds, exactly; *fraction reports a decimal point or exponent. */
bool inq_scan_time(const char *p, size_t n, int64_t *ns, bool *fraction);

struct inq_scan_decoded {
    size_t n;
    bool cut;      /* longer than `cap` */
    bool bad_utf8; /* something was replaced */
};
/* Resolves escapes into `out`, replaces invalid UTF-8 by U+FFFD and control characters by blanks,
 * cuts at `cap` bytes (never inside a character). */
struct inq_scan_decoded inq_scan_decode(struct inq_text text, char *out, size_t cap);
/* Decoded, as a name of the table, cut at INQ_SCAN_MAX_STRING bytes. Fails with INQ_NOMEM,
 * INQ_LIMIT. */
int inq_scan_name(struct inq_text text, struct inq_strtab *names, uint32_t *id,
                  struct inq_err *err);

/* ---- events ---------------------------------------------------------------------------------- */

/* Fields that an event can have; bit numbers in inq_scan_event.has. */
enum inq_scan_field {
    INQ_FIELD_PH,
    INQ_FIELD_CAT,
    INQ_FIELD_NAME,
    INQ_FIELD_PID,
    INQ_FIELD_TID,
    INQ_FIELD_TS,
    INQ_FIELD_DUR,
    /* of args: */
    INQ_FIELD_CORRELATION,
    INQ_FIELD_EXTERNAL_ID,
    INQ_FIELD_DEVICE,
    INQ_FIELD_STREAM,
    INQ_FIELD_ARG_NAME,
    INQ_FIELD_COLLECTIVE,
    INQ_FIELD_DTYPE,
    INQ_FIELD_GROUP_NAME,
    INQ_FIELD_GROUP_DESC,
    INQ_FIELD_GROUP_RANKS,
    INQ_FIELD_GROUP_ID,
    INQ_FIELD_GROUP_SIZE,
    INQ_FIELD_IN_ELEMS,
    INQ_FIELD_OUT_ELEMS,
    INQ_FIELD_SEQ,
    INQ_FIELD_RANK,
    INQ_FIELD_SRC_RANK,
    INQ_FIELD_DST_RANK,
    INQ_FIELD_STEP,
    INQ_FIELD_CHUNK,
    INQ_FIELD_MICRO_BATCH,
    INQ_FIELD_SEQ_ID,
    INQ_FIELD_GRID, /* lists, as written with their brackets */
    INQ_FIELD_BLOCK,
    INQ_FIELD_DIMS,
    INQ_FIELD_TYPES,
    INQ_FIELD_TASK_TYPE, /* of an Ascend device's task */
    INQ_FIELD_ALGORITHM, /* of a collective of HCCL */
    INQ_FIELD_BYTES,     /* of a copy */
    INQ_FIELD_COUNT
};

#define INQ_HAS(event, field) (((event)->has >> INQ_FIELD_##field & 1) != 0)

/* What an event's text says. A field is valid when its bit is set in `has`; texts point into the
 * text that was scanned. pid and tid are numbers when `text` of them is NULL. */
struct inq_scan_event {
    uint64_t has;
    int64_t number[INQ_FIELD_COUNT];       /* TS, DUR in ns */
    struct inq_text text[INQ_FIELD_COUNT]; /* of string values; p == NULL for numbers */
    char ph;
    bool fraction;         /* `ts` was written with a decimal point */
    bool has_args;         /* "args" is there */
    uint32_t bad_numbers;  /* fields whose number could not be read; not in `has` */
    const char *bad_where; /* the first of them */
};

/* Reads the event whose opening brace is at the cursor; on INQ_SCAN_OK the cursor is behind its
 * closing brace, else where it was. */
enum inq_scan_result inq_scan_event_read(struct inq_scan *scan, struct inq_scan_event *event);

/* Whether an event or a top-level member may start at p: `{` or `,`-led blanks are the caller's. */
enum inq_scan_start { INQ_START_NONE, INQ_START_MORE, INQ_START_EVENT, INQ_START_MEMBER };
/* Looks from the cursor for the next thing that looks like an event or like a member of the
 * document (INQ_START_MEMBER: the cursor is at its key's quote). INQ_START_NONE: there is none up
 * to the end; the cursor is where the search has to go on when there is more text. `last`: there is
 * none (and INQ_START_MORE is not given). */
enum inq_scan_start inq_scan_resync(struct inq_scan *scan, bool last);

/* of the same door; it stands on what is above */
#include "ingest/scan/layout.h"
#include "ingest/scan/csv.h"
#include "ingest/scan/lines.h"
#include "ingest/scan/shape.h"
#include "ingest/scan/window.h"

#endif
