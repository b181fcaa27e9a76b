/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/optable/csv.h"

#include "base/mem.h"
#include "trace/build/build.h"

#include <string.h>

#define WINDOW ((size_t)256 << 10)

/* Unread bytes to the front, then more of the source behind them. */
static int refill(struct inq_csv *csv, struct inq_err *err)
{
    size_t kept = csv->end - csv->begin;
    if (csv->window == NULL || kept == csv->cap) {
        size_t wanted = csv->window == NULL ? WINDOW : INQ_CSV_MAX_RECORD;
        int code = inq_mem_grow(&csv->window, &csv->cap, wanted, 1, INQ_CSV_MAX_RECORD, err);
        if (code != INQ_OK) {
            return code;
        }
    }
    if (csv->begin > 0 && kept > 0) {
        memmove(csv->window, csv->window + csv->begin, kept);
    }
    csv->begin = 0;
    csv->end = kept;
    while (csv->end < csv->cap && !csv->at_end) {
        if (csv->chunk_left == 0) {
            int code = inq_source_next(csv->source, &csv->chunk, &csv->chunk_left, err);
            if (code != INQ_OK) {
                return code;
            }
            csv->at_end = csv->chunk_left == 0;
        }
        size_t room = csv->cap - csv->end;
        size_t n = csv->chunk_left < room ? csv->chunk_left : room;
        if (n > 0) {
            memcpy(csv->window + csv->end, csv->chunk, n);
            csv->chunk += n;
        }
        csv->end += n;
        csv->chunk_left -= n;
    }
    return INQ_OK;
}

/* Where a quoted field ends: the place of its closing quote, or NULL. `p` is behind the opening. */
static const char *closing_quote(const char *p, const char *end)
{
    while ((p = memchr(p, '"', (size_t)(end - p))) != NULL) {
        if (p + 1 == end || p[1] != '"') {
            return p;
        }
        p += 2;
    }
    return NULL;
}

/* Where the record that begins at `p` ends: its line break, or `end` when the source ends there.
 * NULL: not in the window. A quote counts only at the start of a field. */
static const char *record_end(const struct inq_csv *csv, const char *p, const char *end)
{
    const char *line = memchr(p, '\n', (size_t)(end - p));
    const char *stop = line != NULL ? line : end;
    if (memchr(p, '"', (size_t)(stop - p)) == NULL) {
        return line != NULL || csv->at_end ? stop : NULL;
    }
    for (bool start = true; p < end && *p != '\n'; p++) {
        if (start && *p == '"') {
            p = closing_quote(p + 1, end);
            /* a quote at the very end of the window may be the first half of a doubled one */
            if (p == NULL || (p + 1 == end && !csv->at_end)) {
                return NULL;
            }
        }
        start = *p == csv->separator;
    }
    return p < end || csv->at_end ? p : NULL;
}

/* Unquotes in place. Bytes between the closing quote and the separator belong to the field: better
 * than losing them. Returns where the field ends. */
static char *quoted_field(char *p, const char *end, char separator, struct inq_csv_field *field)
{
    char *out = ++p;
    field->text = out;
    while (p < end && (*p != '"' || (p + 1 < end && p[1] == '"'))) {
        p += *p == '"';
        *out++ = *p++;
    }
    for (p += p < end; p < end && *p != separator; p++) {
        *out++ = *p;
    }
    field->len = (size_t)(out - field->text);
    return p;
}

/* "a, b": people write tables so. */
static void trim(struct inq_csv_field *field)
{
    while (field->len > 0 && *field->text == ' ') {
        field->text++;
        field->len--;
    }
    while (field->len > 0 && field->text[field->len - 1] == ' ') {
        field->len--;
    }
}

static int split(struct inq_csv *csv, char *p, const char *end, struct inq_err *err)
{
    const char separator = csv->separator;
    csv->n_fields = 0;
    for (;;) {
        int code = inq_mem_grow(&csv->fields, &csv->cap_fields, csv->n_fields + 1,
                                sizeof *csv->fields, INQ_CSV_MAX_RECORD + 1, err);
        if (code != INQ_OK) {
            return code;
        }
        struct inq_csv_field *field = &csv->fields[csv->n_fields++];
        if (p < end && *p == '"') {
            p = quoted_field(p, end, separator, field);
        } else {
            field->text = p;
            while (p < end && *p != separator) {
                p++;
            }
            field->len = (size_t)(p - field->text);
            trim(field);
        }
        if (p == end) {
            return INQ_OK;
        }
        p++;
    }
}

static void advance(struct inq_csv *csv, size_t n)
{
    csv->begin += n;
    csv->next_offset += n;
}

/* Takes the record that ends at `stop`; *got is false for a blank line. */
static int take(struct inq_csv *csv, const char *stop, bool *got, struct inq_err *err)
{
    char *first = csv->window + csv->begin;
    const char *last = stop;
    csv->offset = csv->next_offset;
    csv->cut = stop == csv->window + csv->end;
    advance(csv, (size_t)(stop - first) + (csv->cut ? 0 : 1));
    if (csv->offset == 0 && last - first >= 3 && memcmp(first, "\xef\xbb\xbf", 3) == 0) {
        first += 3;
    }
    if (last > first && last[-1] == '\r') {
        last--;
    }
    *got = first != last;
    return *got ? split(csv, first, last, err) : INQ_OK;
}

/* No record can be made of what is in the window: goes on behind its first line. */
static void drop_line(struct inq_csv *csv)
{
    const char *first = csv->window + csv->begin;
    size_t n = csv->end - csv->begin;
    const char *line = memchr(first, '\n', n);
    if (csv->damage != NULL) {
        inq_damage_add(csv->damage, INQ_DAMAGE_BAD_EVENT, 1, (int64_t)csv->next_offset);
    }
    csv->skipping = line == NULL;
    advance(csv, line != NULL ? (size_t)(line - first) + 1 : n);
}

/* The rest of a line that was dropped: it is no record of its own. */
static void skip_rest(struct inq_csv *csv)
{
    const char *first = csv->window + csv->begin;
    size_t n = csv->end - csv->begin;
    const char *line = memchr(first, '\n', n);
    csv->skipping = line == NULL;
    advance(csv, line != NULL ? (size_t)(line - first) + 1 : n);
}

int inq_csv_next(struct inq_csv *csv, bool *got, struct inq_err *err)
{
    *got = false;
    for (;;) {
        const char *stop = NULL;
        if (csv->skipping && csv->begin < csv->end) {
            skip_rest(csv);
            continue;
        }
        if (csv->begin < csv->end) {
            stop = record_end(csv, csv->window + csv->begin, csv->window + csv->end);
        } else if (csv->at_end) {
            return INQ_OK;
        }
        if (stop != NULL) {
            int code = take(csv, stop, got, err);
            if (code != INQ_OK || *got) {
                return code;
            }
        } else if (csv->at_end || csv->end - csv->begin == INQ_CSV_MAX_RECORD) {
            drop_line(csv);
        } else {
            int code = refill(csv, err);
            if (code != INQ_OK) {
                return code;
            }
        }
    }
}

void inq_csv_release(struct inq_csv *csv)
{
    inq_mem_free(csv->window);
    inq_mem_free(csv->fields);
    *csv = (struct inq_csv){0};
}
