/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/log_sniff.h"

#include "ingest/log_line.h"
#include "ingest/log_wrap.h"
#include "ingest/unknown.h"

#include <string.h>
#include <strings.h>

static size_t blanks(const char *head, size_t n)
{
    size_t i = 0;
    while (i < n && (unsigned char)head[i] <= ' ') {
        i++;
    }
    return i;
}

bool inq_log_is_error_file(const char *head, size_t n)
{
    size_t i = blanks(head, n);
    return i < n && head[i] == '{' && !inq_log_is_wrapped(head, n) &&
           memmem(head, n, "\"message\"", 9) != NULL &&
           (memmem(head, n, "py_callstack", 12) != NULL ||
            memmem(head, n, "\"timestamp\"", 11) != NULL);
}

/* {"step": 1, "loss": 2.5}, a line each. */
static bool is_metrics_lines(const char *head, size_t n)
{
    const char *end = memchr(head, '\n', n);
    size_t len = end != NULL ? (size_t)(end - head) : n;
    return memmem(head, len, "loss\"", 5) != NULL && memmem(head, n, "\"ph\"", 4) == NULL &&
           memmem(head, n, "traceEvents", 11) == NULL;
}

/* "[ 1843.308145] ...", "[2]: ...": a tag or a stamp, where in JSON no text follows a bracket. */
static bool is_tagged(const char *head, size_t n)
{
    const char *end = memchr(head, '\n', n);
    end = end != NULL ? end : head + n;
    const char *close = head < end && *head == '[' ? memchr(head, ']', (size_t)(end - head)) : NULL;
    if (close == NULL) {
        return false;
    }
    bool colon = close + 1 < end && close[1] == ':';
    const char *next = inq_log_blank(close + 1, end);
    return colon || (next < end && strchr(",]}", *next) == NULL);
}

bool inq_log_is_text(const char *head, size_t n)
{
    size_t i = blanks(head, n);
    return n > 0 && inq_unknown_is_text(head, n) &&
           (is_tagged(head + i, n - i) || inq_log_is_wrapped(head, n) ||
            is_metrics_lines(head + i, n - i) || inq_unknown_is_plain(head, n));
}

/* ---- logs that tell nothing --------------------------------------------------------------------
 */

static bool is_named(const char *path)
{
    static const char *const suffixes[] = {".log", ".out", ".err"};
    static const char *const words[] = {"stdout", "stderr", "dmesg", "syslog"};
    const char *name = path != NULL ? strrchr(path, '/') : NULL;
    name = name != NULL ? name + 1 : path != NULL ? path : "";
    size_t n = strlen(name);
    bool named = false;
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        named = named || (n > 4 && strcasecmp(name + n - 4, suffixes[i]) == 0);
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        named = named || strstr(name, words[i]) != NULL;
    }
    return named;
}

/* "INFO: ...", "[WARNING] ...", "[INFO|trainer.py:12] ..." */
static bool has_level(const char *p, const char *end)
{
    static const char *const levels[] = {"DEBUG", "INFO", "WARN", "ERROR", "CRITICAL", "FATAL"};
    p += p < end && *p == '[';
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        size_t n = strlen(levels[i]);
        bool begins = (size_t)(end - p) > n && strncasecmp(p, levels[i], n) == 0;
        n += begins && strncasecmp(p + n, "ing", 3) == 0 ? 3 : 0;
        if (begins && (size_t)(end - p) > n && strchr(":]| ", p[n]) != NULL) {
            return true;
        }
    }
    return false;
}

bool inq_log_is_log(const char *head, size_t n, const char *path)
{
    enum { LINES = 64 };
    size_t lines = 0;
    size_t marked = 0;
    const char *stop = head + n;
    if (!inq_log_is_text(head, n) || is_named(path) || inq_log_is_wrapped(head, n)) {
        return inq_log_is_text(head, n);
    }
    for (const char *p = head; p < stop && lines < LINES; p++) {
        const char *end = memchr(p, '\n', (size_t)(stop - p));
        end = end != NULL ? end : stop;
        const char *from = inq_log_blank(p, end);
        lines += from < end;
        marked += from < end && (inq_log_message(from, end) > from || has_level(from, end));
        p = end;
    }
    return marked * 2 > lines;
}
