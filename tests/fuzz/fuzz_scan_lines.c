/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of text: what is handed over must be what a plain loop over the whole text finds, however
 * the source is cut and by however many cores.
 *
 * The input's first byte chooses the separator. Cores parse a few bytes at once, so that short
 * texts are of many pieces, and short lines too long. */
#include "ingest/scan/scan.h"
#include "trace/build/build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PIECE = 16, MAX_LINE = 8 * PIECE, MAX_INPUT = 4096 };

struct text {
    char *p;
    size_t n;
    char separator;
};

/* What is handed over of a text, or should be. */
struct found {
    struct inq_line *lines;
    size_t n, cap;
    uint64_t bad, too_long;
};

static void add(struct found *found, const struct inq_line *line)
{
    if (found->n == found->cap) {
        found->cap = 2 * found->cap + 64;
        found->lines = realloc(found->lines, found->cap * sizeof *found->lines);
        if (found->lines == NULL) {
            abort();
        }
    }
    found->lines[found->n++] = *line;
}

/* By its first bytes a source may be taken for compressed: those are a line of their own. */
static struct text text_of(const uint8_t *data, size_t size)
{
    static const char separators[] = {0, ',', '\t', ';'};
    struct text text = {malloc(size + 2), 2, separators[size > 0 ? data[0] % 4 : 0]};
    if (text.p == NULL) {
        abort();
    }
    text.p[0] = '#';
    text.p[1] = '\n';
    for (size_t i = 1; i < size; i++) {
        text.p[text.n++] = (char)data[i];
    }
    return text;
}

/* ---- the plain loop -------------------------------------------------------------------------- */

/* Behind the field in quotes that begins at `at`; SIZE_MAX: it is not closed in front of `end`. */
static size_t behind_quotes(const struct text *text, size_t at, size_t end)
{
    for (at++; at < end; at++) {
        if (text->p[at] == '"' && (at + 1 == end || text->p[at + 1] != '"')) {
            return at + 1;
        }
        at += text->p[at] == '"';
    }
    return SIZE_MAX;
}

/* Where the line's break is, or `end`; SIZE_MAX: a quote of it is not closed. */
static size_t break_of(const struct text *text, size_t at, size_t end)
{
    bool starts = true;
    while (at < end && text->p[at] != '\n') {
        if (starts && text->separator != 0 && text->p[at] == '"') {
            at = behind_quotes(text, at, end);
            starts = false;
            continue;
        }
        starts = text->p[at++] == text->separator;
    }
    return at;
}

static struct found expected_of(const struct text *text)
{
    struct found found = {0};
    for (size_t at = 0; at < text->n;) {
        size_t room = text->n - at < MAX_LINE ? text->n - at : MAX_LINE;
        size_t stop = break_of(text, at, at + room);
        bool ends = stop < at + room || (stop == text->n && room < MAX_LINE);
        if (!ends || stop == SIZE_MAX) {
            bool breaks = memchr(text->p + at, '\n', room) != NULL;
            const char *next = memchr(text->p + at, '\n', text->n - at);
            found.bad += breaks || room < MAX_LINE;
            found.too_long += !breaks && room == MAX_LINE;
            at = next != NULL ? (size_t)(next - text->p) + 1 : text->n;
            continue;
        }
        struct inq_line line = {text->p + at, stop - at, (int64_t)at, stop == text->n};
        line.n -= line.n > 0 && line.p[line.n - 1] == '\r';
        if (line.n > 0) {
            add(&found, &line);
        }
        at = stop + 1;
    }
    return found;
}

/* ---- what is handed over --------------------------------------------------------------------- */

static void parse(const void *ctx, const struct inq_line *line, void *row)
{
    const struct text *text = ctx;
    size_t at = (size_t)line->offset;
    bool *same = row;
    *same = at <= text->n && line->n <= text->n - at && memcmp(text->p + at, line->p, line->n) == 0;
}

struct taking {
    struct text text;
    struct found found;
};

static int take(void *ctx, const struct inq_line *line, void *row, struct inq_err *err)
{
    struct taking *taking = ctx;
    const bool *same = row;
    (void)err;
    if (!*same) {
        fprintf(stderr, "line at %lld: not the text there\n", (long long)line->offset);
        abort();
    }
    add(&taking->found, line);
    return INQ_OK;
}

static void compare(const struct text *text, const struct found *expected, int jobs, size_t chunk)
{
    struct taking taking = {.text = *text};
    struct inq_damage damage = {0};
    struct inq_source *source = NULL;
    struct inq_err err = {0};
    struct inq_source_options options = {.chunk_size = chunk};
    struct inq_lines lines = {.jobs = jobs,
                              .piece_bytes = PIECE,
                              .ctx = &taking,
                              .row_size = sizeof(bool),
                              .parse = parse,
                              .take = take,
                              .separator = text->separator,
                              .damage = &damage};
    if (inq_source_open_memory(text->p, text->n, &options, &source, &err) != INQ_OK ||
        inq_lines_read(source, &lines, &err) != INQ_OK) {
        abort();
    }
    inq_source_close(source);
    const struct found *found = &taking.found;
    bool same = found->n == expected->n && damage.count[INQ_DAMAGE_BAD_EVENT] == expected->bad &&
                damage.count[INQ_DAMAGE_LIMIT] == expected->too_long;
    for (size_t i = 0; same && i < found->n; i++) {
        same = found->lines[i].offset == expected->lines[i].offset &&
               found->lines[i].n == expected->lines[i].n &&
               found->lines[i].cut == expected->lines[i].cut;
    }
    if (!same) {
        fprintf(stderr, "%d jobs, chunks of %zu: %zu lines instead of %zu\n", jobs, chunk, found->n,
                expected->n);
        abort();
    }
    free(taking.found.lines);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > MAX_INPUT) {
        return 0;
    }
    struct text text = text_of(data, size);
    struct found expected = expected_of(&text);
    compare(&text, &expected, 1, 0);
    compare(&text, &expected, 2, 7);
    free(expected.lines);
    free(text.p);
    return 0;
}
