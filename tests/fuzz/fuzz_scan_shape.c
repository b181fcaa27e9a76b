/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of events, fed with valid JSON: what the matchers give must be what the general reader
 * gives, to the last column.
 *
 * The input is a plan of a document. Its first byte is the layout; then one line a member:
 *     key=value    a number, true, false, null as such; anything else, or what a quote leads, text
 *     {key  [key   opens an object or an array
 *     }            closes the innermost one
 *     ;            ends the event
 * Every event is written four times: the first is learned, the others are matched with other digits
 * and longer texts, then with the same again. */
#include "support_trace.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_INPUT = 4096, MAX_NESTING = 40, COPIES = 4, MAX_LINE = 512 };

static const struct layout {
    const char *before_event, *before_member, *colon, *comma, *before_close;
} layouts[] = {
    {"\n  ", "\n    ", ": ", ",", "\n  "},
    {"", "", ":", ",", ""},
    {" ", "", ": ", ", ", ""},
    {"\n\t", "\n\t\t", ": ", ",", "\n\t"},
    {"\r\n  ", "\r\n    ", ": ", ",", "\r\n  "},
    {"\n", "", ":", ",", ""},
};

struct document {
    char *p;
    size_t n, cap;
    const struct layout *layout;
    char open[MAX_NESTING]; /* the brackets that close what is open in the event */
    size_t depth;
    bool first; /* no member since the last bracket */
};

static void put(struct document *d, const char *text, size_t n)
{
    if (d->n + n > d->cap) {
        d->cap = 2 * (d->n + n) + 4096;
        d->p = realloc(d->p, d->cap);
        if (d->p == NULL) {
            abort();
        }
    }
    memcpy(d->p + d->n, text, n);
    d->n += n;
}

static void put_text(struct document *d, const char *text)
{
    put(d, text, strlen(text));
}

static void put_string(struct document *d, const char *text, size_t n, unsigned longer)
{
    put(d, "\"", 1);
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        char escape[8];
        if (c < 0x20 || c == '"' || c == '\\') {
            (void)snprintf(escape, sizeof escape, "\\u%04x", (unsigned)c);
            put_text(d, escape);
        } else {
            put(d, &text[i], 1);
        }
    }
    for (unsigned i = 0; i < longer; i++) {
        put(d, "x", 1);
    }
    put(d, "\"", 1);
}

/* Whether the text is a number as JSON has it. */
static bool is_number(const char *text, size_t n)
{
    size_t i = n > 0 && text[0] == '-';
    size_t from = i;
    for (; i < n && isdigit((unsigned char)text[i]); i++) {
    }
    if (i == from || (text[from] == '0' && i > from + 1)) {
        return false;
    }
    if (i < n && text[i] == '.') {
        from = ++i;
        for (; i < n && isdigit((unsigned char)text[i]); i++) {
        }
        if (i == from) {
            return false;
        }
    }
    if (i < n && (text[i] == 'e' || text[i] == 'E')) {
        i++;
        i += i < n && (text[i] == '-' || text[i] == '+');
        from = i;
        for (; i < n && isdigit((unsigned char)text[i]); i++) {
        }
        return i == n && i > from;
    }
    return i == n;
}

static void put_value(struct document *d, bool kind, const char *text, size_t n, unsigned copy)
{
    unsigned change = copy % (COPIES - 1); /* the last one is as the first */
    if (n > 0 && text[0] == '"') {
        put_string(d, text + 1, n - 1, 0);
    } else if (is_number(text, n)) {
        char last = (char)('0' + (unsigned)(text[n - 1] - '0' + (int)change) % 10);
        put(d, text, n - 1);
        put(d, &last, 1);
    } else if ((n == 4 && memcmp(text, "true", n) == 0) ||
               (n == 4 && memcmp(text, "null", n) == 0) ||
               (n == 5 && memcmp(text, "false", n) == 0)) {
        put(d, text, n);
    } else { /* names grow, kinds of events stay */
        put_string(d, text, n, kind ? 0 : change * 40);
    }
}

/* What comes before a member: a comma, a line, its key if it stands in an object. */
static void begin_member(struct document *d, const char *key, size_t n)
{
    put_text(d, d->first ? "" : d->layout->comma);
    put_text(d, d->layout->before_member);
    d->first = false;
    if (d->open[d->depth - 1] == '}') {
        put_string(d, key, n, 0);
        put_text(d, d->layout->colon);
    }
}

static void put_line(struct document *d, const char *line, size_t n, unsigned copy)
{
    if (n == 0) {
        return;
    }
    if (line[0] == '}') {
        if (d->depth > 1) {
            put(d, &d->open[--d->depth], 1);
            d->first = false;
        }
        return;
    }
    if (line[0] == '{' || line[0] == '[') {
        if (d->depth < MAX_NESTING) {
            begin_member(d, line + 1, n - 1);
            put(d, line, 1);
            d->open[d->depth++] = line[0] == '{' ? '}' : ']';
            d->first = true;
        }
        return;
    }
    const char *equals = memchr(line, '=', n);
    size_t key = equals != NULL ? (size_t)(equals - line) : n;
    begin_member(d, line, key);
    bool kind =
        (key == 2 && memcmp(line, "ph", 2) == 0) || (key == 3 && memcmp(line, "cat", 3) == 0);
    size_t value = key + (equals != NULL);
    put_value(d, kind, line + value, n - value, copy);
}

static void put_event(struct document *d, const char *text, size_t n, unsigned copy)
{
    d->open[0] = '}';
    d->depth = 1;
    d->first = true;
    put_text(d, d->layout->before_event);
    put(d, "{", 1);
    for (size_t at = 0; at < n;) {
        const char *end = memchr(text + at, '\n', n - at);
        size_t len = end != NULL ? (size_t)(end - text) - at : n - at;
        put_line(d, text + at, len < MAX_LINE ? len : MAX_LINE, copy);
        at += len + 1;
    }
    while (d->depth > 1) {
        put(d, &d->open[--d->depth], 1);
    }
    put_text(d, d->layout->before_close);
    put(d, "}", 1);
}

static struct test_text write_document(const char *plan, size_t size)
{
    size_t n_layouts = sizeof layouts / sizeof layouts[0];
    struct document d = {.layout = &layouts[size > 0 ? (unsigned char)plan[0] % n_layouts : 0]};
    put_text(&d, "{\"schemaVersion\": 1, \"traceEvents\": [");
    size_t at = size > 0;
    bool first = true;
    while (at < size) {
        const char *end = plan + at;
        while (end < plan + size && *end != ';') {
            end++;
        }
        for (unsigned copy = 0; copy < COPIES; copy++) {
            put_text(&d, first ? "" : ",");
            first = false;
            put_event(&d, plan + at, (size_t)(end - plan) - at, copy);
        }
        at = (size_t)(end - plan) + 1;
    }
    put_text(&d, "\n], \"traceName\": \"a name that is longer than one step of the matcher, for "
                 "the last event too\"}");
    return (struct test_text){d.p, d.n};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > MAX_INPUT) {
        return 0;
    }
    struct test_text text = write_document((const char *)data, size);
    struct inq_shard general;
    int code = test_read_trace(text, (struct test_way){.level = -1}, &general);
    for (int level = INQ_SHAPE_PLAIN; level <= (int)inq_shape_level(); level++) {
        struct inq_shard shard;
        int own = test_read_trace(text, (struct test_way){.level = level}, &shard);
        const char *difference = test_shard_difference(&general, &shard);
        if (own != code || difference[0] != '\0') {
            fprintf(stderr, "level %d: %d instead of %d, %s\n%.*s\n", level, own, code, difference,
                    (int)text.n, text.p);
            abort();
        }
        inq_shard_release(&shard);
    }
    inq_shard_release(&general);
    free(text.p);
    return 0;
}
