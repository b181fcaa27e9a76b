/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/log/text.h"

#include <ctype.h>
#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Behind "[1,3]<stderr>:" at p, or p. */
static const char *stream_tag_end(const char *p, const char *end)
{
    size_t room = (size_t)(end - p);
    const char *close = memchr(p, ']', room < 40 ? room : 40);
    bool tag = close != NULL && is_digit(p[1]) && end - close > 9 && memcmp(close, "]<std", 5) == 0;
    return tag ? close + 9 + (close[9] == ':') : p;
}

/* "2 root error(s) found." of TensorFlow: they stand in the lines behind. */
static bool opens_list(const char *start, const char *end)
{
    static const char words[] = "root error(s) found.";
    size_t n = sizeof words - 1;
    return (size_t)(end - start) >= n && memcmp(end - n, words, n) == 0;
}

/* The next line that is not empty, of a message that ends with a colon. */
static void append_message(const struct inq_log_line *line, char *text, size_t n, size_t size)
{
    uint32_t writer = inq_log_writer(line->outer, line->end);
    const char *end = line->end;
    for (int i = 0; i < 3 && end < line->hi; i++) {
        const char *start = end + 1;
        const char *stop =
            start < line->hi ? memchr(start, '\n', (size_t)(line->hi - start)) : NULL;
        end = stop != NULL ? stop : line->hi;
        uint32_t other;
        const char *p = inq_log_blank(inq_log_body(start, end, &other), end);
        p = other == writer ? p : end;
        if (p < end && *p != '\r' && !opens_list(p, end)) {
            text[n++] = ' ';
            for (; p < end && n + 1 < size; p++) {
                text[n++] = (unsigned char)*p < ' ' ? ' ' : *p;
            }
            text[n] = '\0';
            return;
        }
    }
}

void inq_log_copy_text(const struct inq_log_line *line, struct inq_log_names *names,
                       struct inq_log_event *event)
{
    size_t n = 0;
    const char *from = line->outer + line->label;
    for (const char *p = from; p < line->end && n + 1 < sizeof names->text;) {
        if (*p == 0x1b) {
            const char *next = inq_log_blank(p, line->end);
            p = next > p ? next : p + 1;
            continue;
        }
        const char *tag = p > from && *p == '[' ? stream_tag_end(p, line->end) : p;
        if (tag > p) { /* mpirun writes its tag anew for each piece of a line */
            p = tag;
            continue;
        }
        unsigned char c = (unsigned char)*p++;
        names->text[n++] = c < ' ' || c == 127 ? ' ' : (char)c;
    }
    while (n > 0 && names->text[n - 1] == ' ') {
        n--;
    }
    names->text[n] = '\0';
    event->text = names->text;
    bool opens = n > 0 && (names->text[n - 1] == ':' || opens_list(names->text, names->text + n));
    if (opens && event->kind == INQ_LOG_PYTHON_ERROR) {
        append_message(line, names->text, n, sizeof names->text);
    }
}

/* "`cublasSgemm( handle, ...)`" at *p: the name at its head, in ticks; how many bytes that takes.
 * *p moves to the tick that closes it, or where there is none, to the last byte. */
static size_t copy_ticked(const char **p, const char *end, char *to, size_t size)
{
    const char *close = *p + 1;
    while (close < end && (isalnum((unsigned char)*close) != 0 || *close == '_' || *close == ':')) {
        close++;
    }
    size_t n = (size_t)(close - *p);
    const char *tick = memchr(close, '`', (size_t)(end - close));
    bool room = n + 2 <= size;
    if (room) {
        memcpy(to, *p, n);
        to[n] = '`';
    }
    *p = room && tick != NULL ? tick : end - 1;
    return room ? n + 1 : 0;
}

void inq_log_copy_sentence(const char *p, const char *end, char *to, size_t size)
{
    size_t n = 0;
    p = inq_log_blank(p, end);
    bool ticked = p < end && *p == '`';
    p += p < end && (*p == '`' || *p == '\'');
    for (; p < end && n + 1 < size; p++) {
        if (*p == '`' && !ticked) {
            n += copy_ticked(&p, end, to + n, size - n);
            continue;
        }
        bool stop = *p == '\n' || *p == 0x1b || *p == '\'' || *p == '`' ||
                    (*p == '.' && (p + 1 == end || p[1] == ' ' || p[1] == '\r' || p[1] == '\n'));
        if (stop) {
            break;
        }
        to[n++] = (unsigned char)*p < ' ' ? ' ' : *p;
    }
    bool opened = memchr(to, '[', n) != NULL;
    while (n > 0 && (to[n - 1] == ' ' || (to[n - 1] == ']' && !opened))) {
        n--;
    }
    to[n] = '\0';
}

void inq_log_read_ranks(const char *p, const char *end, struct inq_log_names *names,
                        struct inq_log_event *event)
{
    const size_t cap = INQ_LOG_MAX_RANKS;
    size_t n = 0;
    int64_t first = 0;
    for (const char *next; (next = inq_log_number(p, end, &first)) != NULL;) {
        int64_t last = first;
        if (first < 0 || first >= (int64_t)INT32_MAX) {
            break;
        }
        if (next < end && *next == '-' && next + 1 < end && is_digit(next[1])) {
            next = inq_log_number(next + 1, end, &last);
        }
        for (; first <= last && n < cap; first++) {
            names->ranks[n++] = (int32_t)first;
        }
        if (first <= last) {
            event->list_cut = true;
            break;
        }
        p = inq_log_blank(next, end);
        p += p < end && *p == ',';
        const char *last_one = inq_log_match(p, end, "and ");
        p = last_one != NULL ? last_one : p;
    }
    event->ranks = names->ranks;
    event->n_ranks = n;
}
