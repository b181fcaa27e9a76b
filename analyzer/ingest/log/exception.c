/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/log/exception.h"

#include "ingest/log/text.h"

#include <stdio.h>
#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c);
}

/* Lines of a traceback, from its end on: how many are looked at, those of other writers too. */
enum { TRACEBACK_LINES = 400 };

/* Where a file's name ends: at the quote, or at the colon in front of a number and " in". */
static const char *name_end(const char *file, const char *end)
{
    if (file[-1] == '"') {
        return memchr(file, '"', (size_t)(end - file));
    }
    for (const char *p = file; p + 1 < end && (*p > ' ' || *p == 0x1b); p++) {
        int64_t at;
        const char *behind = *p == ':' ? inq_log_number(p + 1, end, &at) : NULL;
        if (behind != NULL && inq_log_match(behind, end, " in") != NULL) {
            return p;
        }
        p = *p == 0x1b ? inq_log_escape(p, end) - 1 : p;
    }
    return NULL;
}

/* Takes the color out of a text, which gets shorter. */
static void uncolor(char *text)
{
    const char *end = text + strlen(text);
    char *to = text;
    for (const char *p = text; p < end;) {
        const char *behind = inq_log_escape(p, end);
        *to = *p;
        to += behind == p;
        p = behind > p ? behind : p + 1;
    }
    *to = '\0';
}

/* `File "train.py", line 96, in forward` or `train.py:96 in forward` at `file`: its place goes to
 * `peer`. */
static bool copy_frame(const char *file, const char *end, char *peer, size_t size)
{
    const char *close = name_end(file, end);
    bool quoted = close != NULL && *close == '"';
    const char *number = quoted          ? inq_log_seek(close, end, "line")
                         : close != NULL ? close + 1
                                         : NULL;
    int64_t at = 0;
    if (number == NULL || inq_log_number(number, end, &at) == NULL) {
        return false;
    }
    const char *in = inq_log_seek(number, end, ", in");
    in = in != NULL ? in : inq_log_seek(number, end, " in"); /* of faulthandler, and Rich */
    char name[64] = "";
    size_t len = (size_t)(close - file) < 110 ? (size_t)(close - file) : 110;
    if (in != NULL) {
        inq_log_copy_word(in, end, "", name, sizeof name);
    }
    (void)snprintf(peer, size, "%.*s:%lld%s%s", (int)len, close - len, (long long)at,
                   name[0] != '\0' ? " in " : "", name);
    uncolor(peer);
    return true;
}

/* Behind "│ " in a box of Rich's, where a file's name may stand: "│ /w/train.py:77 in main │". */
static const char *boxed(const char *start, const char *end)
{
    static const char *const walls[] = {"\xe2\x94\x82", "\xe2\x95\x91", "|"};
    const char *behind = NULL;
    for (size_t i = 0; i < sizeof walls / sizeof *walls && behind == NULL; i++) {
        behind = inq_log_match(start, end, walls[i]);
    }
    behind = behind != NULL ? inq_log_blank(behind, end) : NULL;
    return behind != NULL && name_end(behind, end) != NULL ? behind : NULL;
}

/* Not the user's code. */
static bool is_library(const char *file, const char *end)
{
    static const char *const parts[] = {"site-packages/", "dist-packages/", "/lib/python",
                                        "/lib64/python",  "<frozen",        "<string>"};
    const char *close = name_end(file, end);
    for (size_t i = 0; i < sizeof parts / sizeof *parts && close != NULL; i++) {
        if (memmem(file, (size_t)(close - file), parts[i], strlen(parts[i])) != NULL) {
            return true;
        }
    }
    return false;
}

/* Where the name of a frame's file begins, in a line of a traceback: of several, which a record of
 * a collector may hold, the last one of the user's code, else the last one. NULL: it reports none.
 */
static const char *frame_in(const char *start, const char *end)
{
    const char *best = boxed(start, end);
    bool user = false;
    for (const char *file = start; (file = inq_log_seek(file, end, "File \"")) != NULL;) {
        bool own = !is_library(file, end);
        best = own || !user ? file : best;
        user = user || own;
    }
    return best;
}

/* "-- Process 1 terminated with the following error:" in front of a traceback: of which of the
 * spawned processes it is, that is the local rank. */
static void read_spawned(const struct inq_log_line *line, const char *traceback,
                         struct inq_log_event *event)
{
    const char *end = traceback;
    for (int i = 0; i < 2 && event->local_rank < 0; i++) {
        const char *start = inq_log_line_before(line, end);
        const char *process = start != NULL ? inq_log_seek(start, end, "-- Process ") : NULL;
        int64_t number = 0;
        if (process != NULL && inq_log_number(process, end, &number) != NULL && number >= 0 &&
            number < 65536 && inq_log_seek(process, end, "terminated with") != NULL) {
            event->local_rank = (int32_t)number;
        }
        end = start != NULL ? start : end;
    }
}

/* The lines of one writer behind a line, those of others left out. */
struct behind {
    const struct inq_log_line *line;
    uint32_t writer;
    int left;                      /* lines that are still looked at, of whomever */
    const char *text, *head, *end; /* of the current one: behind its label, behind blanks too */
};

static struct behind lines_behind(const struct inq_log_line *line)
{
    return (struct behind){.line = line,
                           .writer = inq_log_writer(line->outer, line->end),
                           .left = TRACEBACK_LINES,
                           .end = line->end};
}

static bool next_line(struct behind *b)
{
    const char *hi = b->line->hi;
    while (b->left-- > 0 && hi - b->end >= 2) {
        const char *start = b->end + 1;
        const char *end = memchr(start, '\n', (size_t)(hi - start));
        uint32_t writer;
        b->end = end != NULL ? end : hi;
        b->text = inq_log_body(start, b->end, &writer);
        b->head = inq_log_blank(b->text, b->end);
        if (writer == b->writer) {
            return true;
        }
    }
    return false;
}

static bool begins(const struct behind *b, const char *words)
{
    return inq_log_match(b->head, b->end, words) != NULL;
}

/* An exception of a library that others were raised from: where the user's code called it stands in
 * their tracebacks, behind its own. */
static void read_chained(const struct inq_log_line *line, struct inq_log_names *names,
                         struct inq_log_event *event)
{
    struct behind b = lines_behind(line);
    bool chained = false;
    bool found = false;
    size_t apart = 0; /* lines between the exception and the sentence */
    while (next_line(&b)) {
        if (!chained) {
            chained = begins(&b, "The above exception was the direct cause") ||
                      begins(&b, "During handling of the above exception");
            if (!chained && ++apart > 8) {
                return;
            }
            continue;
        }
        const char *file = inq_log_match(b.head, b.end, "File \"");
        if (file != NULL && !is_library(file, b.end)) {
            found = copy_frame(file, b.end, names->peer, sizeof names->peer) || found;
        } else if (file == NULL && b.head == b.text && b.head < b.end && *b.head != '\r' &&
                   !begins(&b, "Traceback (most")) { /* the next exception */
            if (found) {
                event->peer = names->peer;
                event->own_frame = false;
                return;
            }
            chained = false;
            apart = 0;
        }
    }
}

/* "  what():  message" behind "terminate called after throwing an instance of ...", where a
 * collector's stamps make a line of its own of it. */
static void read_what(const struct inq_log_line *line, struct inq_log_names *names,
                      struct inq_log_event *event)
{
    enum { NEAR = 3, ALL = 64 }; /* lines of its own, and with those of others */
    struct behind b = lines_behind(line);
    b.left = ALL;
    for (int own = 0; own < NEAR && strchr(event->op, ' ') == NULL && next_line(&b); own++) {
        const char *said = inq_log_match(b.head, b.end, "what():");
        if (said != NULL) {
            inq_log_copy_sentence(said, b.end, names->op, sizeof names->op);
            event->op = names->op;
            return;
        }
    }
}

/* What faulthandler writes behind "Fatal Python error: ...", the latest call first: the first frame
 * of the user's code goes to `peer`, or where there is none, the first one. */
static void read_stack(const struct inq_log_line *line, struct inq_log_names *names,
                       struct inq_log_event *event)
{
    struct behind b = lines_behind(line);
    bool current = false;
    while (!current && next_line(&b)) {
        current = begins(&b, "Current thread");
    }
    bool placed = false;
    while (!placed && next_line(&b)) {
        const char *file = inq_log_match(b.head, b.end, "File \"");
        if (file == NULL) {
            return;
        }
        placed = !is_library(file, b.end);
        if ((placed || event->peer[0] == '\0') &&
            copy_frame(file, b.end, names->peer, sizeof names->peer)) {
            event->peer = names->peer;
        }
    }
}

/* Where the exception came from: the last frame of the user's code, or where there is none, the
 * last one. */
static void read_frame(const struct inq_log_line *line, struct inq_log_names *names,
                       struct inq_log_event *event)
{
    const char *end = line->outer;
    uint32_t writer = inq_log_writer(line->outer, line->end);
    bool found = false;
    bool placed = false;
    for (int i = 0; i < TRACEBACK_LINES; i++) {
        const char *start = inq_log_line_before(line, end);
        if (start == NULL) {
            return;
        }
        bool other = writer != 0 && inq_log_writer(start, end) != writer;
        const char *file = other || placed ? NULL : frame_in(start, end);
        bool user = file != NULL && !is_library(file, end);
        if (file != NULL && (user || !found) &&
            copy_frame(file, end, names->peer, sizeof names->peer)) {
            event->own_frame = user && !found;
            found = true;
            event->peer = names->peer;
        }
        placed = placed || user;
        if (!other && inq_log_seek(start, end, "Traceback (most") != NULL) {
            read_spawned(line, start, event);
            if (found && !placed) {
                read_chained(line, names, event);
            }
            return;
        }
        end = start;
    }
}

/* "Exception ignored in: ..." in front of the traceback: nothing came of it. */
static bool is_ignored(const struct inq_log_line *line)
{
    const char *end = line->outer;
    const char *start = inq_log_line_before(line, end);
    for (int i = 0; i < 40 && start != NULL; i++) {
        const char *before = inq_log_line_before(line, start);
        if (inq_log_seek(start, end, "Traceback (most") != NULL) {
            return before != NULL && inq_log_seek(before, start, "Exception ignored in") != NULL;
        }
        end = start;
        start = before;
    }
    return false;
}

/* "worker-1: " in front of a message, as launchers over several machines have it. */
static bool is_place(const char *head, const char *start)
{
    bool digit = false;
    if (start - head < 3 || start[-1] != ' ' || start[-2] != ':') {
        return false;
    }
    for (; head < start - 2; head++) {
        digit = digit || is_digit(*head);
        if (!is_name(*head) && *head != '-' && *head != '.' && *head != '/') {
            return false;
        }
    }
    return digit;
}

/* `Exception in thread "feeder-4" ` of Java, "Unhandled exception. " of .NET, in front of the name.
 */
static bool is_thread(const char *head, const char *start, const char *end)
{
    const char *name = inq_log_match(head, end, "Exception in thread \"");
    const char *unhandled = inq_log_match(head, end, "Unhandled exception.");
    return (name != NULL && name < start && start[-1] == ' ' && start[-2] == '"') ||
           (unhandled != NULL && inq_log_blank(unhandled, end) == start);
}

/* "** (RuntimeError) message" of Elixir, "run.rb:88:in `fetch': message (KeyError)" of Ruby: the
 * name stands in brackets. */
static bool is_bracketed(const char *head, const char *start, const char *name_end, const char *end)
{
    if (start - head < 4 || start[-1] != '(' || name_end >= end || *name_end != ')') {
        return false;
    }
    const char *ruby = inq_log_seek(head, start, ".rb:");
    return memcmp(start - 4, "** (", 4) == 0 ||
           (ruby != NULL && inq_log_seek(ruby, start, ":in ") != NULL &&
            inq_log_blank(name_end + 1, end) == end);
}

/* "ERROR ", "CRITICAL - ": a severity in front of the name. */
static bool is_level(const char *head, const char *start)
{
    bool upper = start - head > 3 && start - head < 14 && start[-1] == ' ';
    for (; head < start && upper; head++) {
        upper = (*head >= 'A' && *head <= 'Z') || strchr(" -:|", *head) != NULL;
    }
    return upper;
}

/* Behind the color that begins in front of the name at p, of which its last letters were taken for
 * a part; or p. */
static const char *behind_color(const char *lo, const char *p, const char *end)
{
    enum { LONGEST = 16 };
    size_t n = p - lo < LONGEST ? (size_t)(p - lo) : LONGEST;
    const char *escape = memrchr(p - n, 0x1b, n);
    const char *behind = escape != NULL ? inq_log_escape(escape, end) : p;
    return behind > p ? behind : p;
}

/* In front of the color that ends at p, or p. */
static const char *before_color(const char *lo, const char *p)
{
    const char *escape = p > lo && p[-1] == 'm' ? memrchr(lo, 0x1b, (size_t)(p - lo)) : NULL;
    return escape != NULL && inq_log_escape(escape, p) == p ? escape : p;
}

/* `"message": "RendezvousConnectionError: ...` at the head of a line: of what torchelastic prints
 * of its error file. */
static bool is_member(const char *head, const char *end, const char *start)
{
    const char *value = inq_log_match(head, end, "\"message\": \"");
    return value != NULL && value == start;
}

/* "exc=ZeroDivisionError('float division by zero')": the value of a name for exceptions. */
static bool is_shown(const struct inq_log_line *line, const char *start, const char *end)
{
    static const char *const keys[] = {"exc", "exc_info", "exception", "error", "err"};
    const char *lo = line->start;
    const char *p = start > lo && (start[-1] == '"' || start[-1] == '\'') ? start - 1 : start;
    p = before_color(lo, p);
    if (p == lo || p[-1] != '=' || end >= line->end || strchr("(:\"'", *end) == NULL) {
        return false;
    }
    p = before_color(lo, p - 1);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        size_t n = strlen(keys[i]);
        const char *key = (size_t)(p - lo) > n ? p - n : NULL;
        bool apart = key != NULL && (!is_name(key[-1]) || before_color(lo, key) < key);
        if (apart && memcmp(key, keys[i], n) == 0) {
            return true;
        }
    }
    return false;
}

/* "UserExceptionMessage: ...", "ErrorCode: ...": a field of somebody's report, by what stands
 * behind "Exception" or "Error". */
static bool is_field(const char *behind, const char *end)
{
    static const char *const parts[] = {"Message", "Code", "Type", "Info", "Detail", "Reason"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        size_t n = strlen(parts[i]);
        if ((size_t)(end - behind) >= n && memcmp(behind, parts[i], n) == 0) {
            return true;
        }
    }
    return false;
}

/* "torch.cuda.OutOfMemoryError: ...": the name stands alone or a colon follows, and nothing but
 * prefixes is in front. */
static bool read_named(const struct inq_log_line *line, const char *behind,
                       struct inq_log_names *names, struct inq_log_event *event)
{
    const char *start = line->at;
    const char *end = behind;
    while (start > line->start && (is_name(start[-1]) || start[-1] == '.')) {
        start--;
    }
    start = behind_color(line->start, start, line->at);
    while (end < line->end && is_name(*end)) {
        end++;
    }
    if (is_field(behind, end)) {
        return false;
    }
    bool alone = end == line->end || *end == ':' || *end == '[' || *end == '\r' || *end == 0x1b;
    const char *head = inq_log_message(line->start, line->end);
    bool shown = is_shown(line, start, end) || /* by a logger of structured lines */
                 is_member(head, line->end, start);
    alone = alone || shown || is_bracketed(head, start, end, line->end);
    start = start < head && head <= line->at ? head : start; /* letters of an escape sequence */
    bool boxed = start - line->start > 1 && start[-1] == ' ' && strchr(")]|", start[-2]) != NULL &&
                 head < start;
    bool lower =
        *start >= 'a' && *start <= 'z' && memchr(start, '.', (size_t)(end - start)) == NULL;
    if (!alone || lower || (start == line->at && behind - start < 9) ||
        (start != head && !boxed && !shown && !is_place(head, start) && !is_level(head, start) &&
         !is_thread(head, start, line->end) && !is_bracketed(head, start, end, line->end)) ||
        (size_t)(end - start) >= sizeof names->op) {
        return false;
    }
    if (behind - start == 5 || *start == '.') {
        return false;
    }
    memcpy(names->op, start, (size_t)(end - start));
    names->op[end - start] = '\0';
    event->op = names->op;
    read_frame(line, names, event);
    return !is_ignored(line);
}

/* The name in front of ':' at p, of a class with or without modules; 0: none. */
static size_t class_name(const char *p, const char *end)
{
    size_t n = 0;
    while (p + n < end && (is_name(p[n]) || p[n] == '.')) {
        n++;
    }
    bool ends = p + n == end || p[n] == ':' || p[n] == '\r' || p[n] == 0x1b;
    bool named = n > 2 && !is_digit(*p) && p[n - 1] != '.';
    return ends && named ? n : 0;
}

/* Whether patterns of their own find the exception. */
static bool is_usual_name(const char *p, size_t n)
{
    static const char *const parts[] = {"Error", "Exception", "Interrupt", "SystemExit",
                                        "StopIteration"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (memmem(p, n, parts[i], strlen(parts[i])) != NULL) {
            return true;
        }
    }
    return false;
}

/* "Traceback (most recent call last):" and, behind lines that are set in, "queue.Empty". Where
 * something unknown stands in front of it, the same stands in front of its other lines, and hides a
 * usual name too. */
static bool read_traceback(struct inq_log_line *line, struct inq_log_names *names,
                           struct inq_log_event *event)
{
    uint32_t writer;
    const char *front = inq_log_body(line->outer, line->end, &writer);
    size_t n_front = line->at > front ? (size_t)(line->at - front) : 0;
    n_front = inq_log_message(front, line->end) < line->at ? n_front : 0;
    const char *p = line->end;
    for (int i = 0; i < TRACEBACK_LINES && p < line->hi; i++) {
        const char *start = p + 1;
        const char *end = start < line->hi ? memchr(start, '\n', (size_t)(line->hi - start)) : NULL;
        if (end == NULL) {
            return false;
        }
        p = end;
        uint32_t other;
        const char *text = inq_log_body(start, end, &other);
        if ((size_t)(end - text) <= n_front || memcmp(text, front, n_front) != 0) {
            continue;
        }
        text += n_front;
        if (other != writer || text == end || (unsigned char)*text <= ' ' || *text == '|' ||
            *text == '+') {
            continue;
        }
        size_t n = class_name(text, end);
        if (n == 0 || n >= sizeof names->op || (n_front == 0 && is_usual_name(text, n))) {
            return false;
        }
        memcpy(names->op, text, n);
        names->op[n] = '\0';
        event->op = names->op;
        line->outer = line->start = start; /* the text of the event */
        line->end = end;
        read_frame(line, names, event);
        return true;
    }
    return false;
}

bool inq_log_read_exception(struct inq_log_line *line, const char *behind,
                            struct inq_log_names *names, struct inq_log_event *event)
{
    if (event->kind == INQ_LOG_ABORTED && *line->at == 't') { /* "terminate called" */
        read_what(line, names, event);
        return true;
    }
    if (event->kind == INQ_LOG_ABORTED) {
        read_stack(line, names, event);
        return true;
    }
    bool traceback = behind != NULL && *line->at == 'T' && behind[-1] == 't';
    return traceback ? read_traceback(line, names, event) : read_named(line, behind, names, event);
}
