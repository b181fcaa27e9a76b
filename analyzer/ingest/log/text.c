/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/log/text.h"

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
        if (p < end && *p != '\r') {
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
    for (const char *p = line->outer; p < line->end && n + 1 < sizeof names->text;) {
        if (*p == 0x1b) {
            const char *next = inq_log_blank(p, line->end);
            p = next > p ? next : p + 1;
            continue;
        }
        const char *tag = p > line->outer && *p == '[' ? stream_tag_end(p, line->end) : p;
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
    if (n > 0 && names->text[n - 1] == ':' && event->kind == INQ_LOG_PYTHON_ERROR) {
        append_message(line, names->text, n, sizeof names->text);
    }
}
