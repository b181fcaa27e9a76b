/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/log/wrap.h"

#include "ingest/log/line.h"
#include "base/hash.h"
#include "ingest/scan/scan.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

/* Objects in a record that may hold its text: Google Cloud's "jsonPayload" and its like. */
enum { LINE = 8192, PREFIX = 96, DEPTH = 2 };

/* What a member can be. */
enum part { TEXT, STACK, TIME, HOST, SOURCE, RANK, LEVEL, PARTS, NUMBERS, NESTED, OTHER };

struct wrapped {
    struct inq_text parts[PARTS]; /* p NULL: not there */
    struct inq_text key;          /* of the text */
    bool epoch;                   /* the time is a number */
    bool numbers;                 /* a line of training output */
    bool aside;                   /* in a member that may be of anything */
};

static const struct {
    const char *key;
    enum part part;
} members[] = {
    {"log", TEXT},
    {"MESSAGE", TEXT},
    {"message", TEXT},
    {"msg", TEXT},
    {"textPayload", TEXT},
    {"event", TEXT},
    {"body", TEXT},
    {"exc_info", STACK},
    {"error", STACK},
    {"exception", STACK},
    {"stack_trace", STACK},
    {"__REALTIME_TIMESTAMP", TIME},
    {"time", TIME},
    {"timestamp", TIME},
    {"@timestamp", TIME},
    {"asctime", TIME},
    {"ts", TIME},
    {"_HOSTNAME", HOST},
    {"hostname", HOST},
    {"SYSLOG_IDENTIFIER", SOURCE},
    {"rank", RANK},
    {"global_rank", RANK},
    {"level", LEVEL},
    {"levelname", LEVEL},
    {"severity", LEVEL},
    {"log_level", LEVEL},
    {"log.level", LEVEL},
    {"lvl", LEVEL},
    {"jsonPayload", NESTED},
    {"record", NESTED},
    {"fields", NESTED},
    {"extra", NESTED},
    {"labels", NESTED},
    {"loss", NUMBERS},
};

static enum part part_of(struct inq_text key)
{
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        if (inq_text_is(key, members[i].key)) {
            return members[i].part;
        }
    }
    return OTHER;
}

static bool is_number(struct inq_text text)
{
    for (uint32_t i = 0; i < text.n; i++) {
        if ((text.p[i] < '0' || text.p[i] > '9') && text.p[i] != '.') {
            return false;
        }
    }
    return text.n > 0;
}

/* A member that names what happened where no other one says it. */
static bool is_vague(struct inq_text key)
{
    return inq_text_is(key, "event") || inq_text_is(key, "body");
}

static bool read_members(struct inq_scan *scan, struct wrapped *w, int depth);

/* The value behind a key. */
static bool read_value(struct inq_scan *scan, struct inq_text key, struct wrapped *w, int depth)
{
    enum part part = part_of(key);
    struct inq_text value = {NULL, 0};
    int c = inq_scan_blank(scan);
    if ((part == NESTED || part == OTHER || part == STACK) && c == '{' && depth < DEPTH) {
        bool aside = w->aside;
        w->aside = aside || part != NESTED;
        bool read = read_members(scan, w, depth + 1);
        w->aside = aside;
        return read;
    }
    if (w->aside) { /* of such only what happened is of use */
        part = part == TEXT && !is_vague(key) ? STACK : OTHER;
    }
    bool bare = (part == TIME || part == RANK) && c >= '0' && c <= '9';
    enum inq_scan_result result = c == '"' ? inq_scan_string(scan, &value)
                                  : bare   ? inq_scan_bare(scan, &value)
                                           : inq_scan_skip(scan);
    w->numbers = w->numbers || part == NUMBERS;
    bool first = part < PARTS &&
                 (w->parts[part].p == NULL || (part == TEXT && is_vague(w->key) && !is_vague(key)));
    if (result == INQ_SCAN_OK && first && value.p != NULL) {
        w->parts[part] = value;
        w->key = part == TEXT ? key : w->key;
        w->epoch = part == TIME ? is_number(value) : w->epoch;
    }
    return result == INQ_SCAN_OK;
}

/* From the brace at `scan` to behind the one that closes it. */
static bool read_members(struct inq_scan *scan, struct wrapped *w, int depth)
{
    do {
        struct inq_text key;
        scan->p++;
        if (depth > 0 && inq_scan_blank(scan) == '}') {
            break; /* an empty object */
        }
        if (inq_scan_blank(scan) != '"' || inq_scan_key(scan, &key) != INQ_SCAN_OK ||
            !read_value(scan, key, w, depth)) {
            return false;
        }
    } while (inq_scan_blank(scan) == ',');
    bool closed = inq_scan_blank(scan) == '}';
    scan->p += closed;
    return closed;
}

/* The object in [p, end), with nothing around it but the color that a terminal shows it in, and in
 * front of it what collectors and launchers write there; *at gets where it begins. */
static bool read_object(const char *p, const char *end, struct wrapped *w, const char **at)
{
    uint32_t writer;
    *at = inq_log_blank(inq_log_body(p, end, &writer), end);
    struct inq_scan scan = {.p = *at, .end = end};
    *w = (struct wrapped){.epoch = false};
    if (scan.p >= end || *scan.p != '{' || !read_members(&scan, w, 0)) {
        return false;
    }
    return inq_log_blank(scan.p, end) >= end && w->parts[TEXT].p != NULL &&
           w->parts[TIME].p != NULL;
}

static bool is_wrapped(const char *head, size_t n)
{
    struct wrapped w;
    const char *stop = head + n;
    const char *end = memchr(head, '\n', n);
    end = end != NULL ? end : stop;
    const char *at;
    if (!read_object(head, end, &w, &at)) {
        return false;
    }
    /* a single {"message": ..., "timestamp": ...} is what a worker leaves for its launcher; that
     * has no level */
    const char *next = end + 1 < stop ? inq_log_blank(end + 1, stop) : stop;
    return !inq_text_is(w.key, "message") || w.parts[LEVEL].p != NULL || at > head ||
           (next < stop && *next == '{');
}

/* ---- rewriting ---------------------------------------------------------------------------------
 */

/* "\u001b[31m": behind the color at p; NULL: there is none. */
static const char *escaped_color(const char *p, const char *end)
{
    bool escape = end - p > 7 && memcmp(p, "\\u001", 5) == 0 && (p[5] == 'b' || p[5] == 'B');
    if (!escape || p[6] != '[') {
        return NULL;
    }
    for (p += 7; p < end && ((*p >= '0' && *p <= '9') || *p == ';'); p++) {
    }
    return p < end && *p == 'm' ? p + 1 : NULL;
}

/* Appends a decoded text to the n bytes of `line`, a carriage return for each end of line, without
 * what colors it. */
static size_t append(char *line, size_t n, struct inq_text text)
{
    const char *end = text.p + text.n;
    const char *from = text.p;
    while (from < end && n + 4 < LINE) {
        const char *stop = from;
        const char *color = NULL;
        while (stop + 1 < end && !(stop[0] == '\\' && stop[1] == 'n')) {
            color = escaped_color(stop, end);
            if (color != NULL) {
                break;
            }
            stop += *stop == '\\' ? 2 : 1;
        }
        bool broken = color == NULL && stop + 1 < end;
        stop = broken || color != NULL ? stop : end;
        struct inq_text piece = {from, (uint32_t)(stop - from)};
        n += inq_scan_decode(piece, line + n, LINE - 4 - n).n;
        from = color != NULL ? color : stop + (broken ? 2 : 0);
        if (broken && from < end) {
            line[n++] = '\r';
        }
    }
    return n;
}

/* Leaves the sequences out that color the text; how many bytes stay. */
static size_t uncolor(char *line, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n;) {
        const char *behind = inq_log_escape(line + i, line + n);
        if (behind > line + i) {
            i = (size_t)(behind - line);
        } else {
            line[kept++] = line[i++];
        }
    }
    return kept;
}

/* "@1741086130.1": microseconds, or seconds with a fraction. */
static size_t append_epoch(char *line, size_t n, struct inq_text time)
{
    bool micros = memchr(time.p, '.', time.n) == NULL && time.n > 12;
    uint32_t whole = micros ? time.n - 6 : time.n;
    line[n++] = '@';
    memcpy(line + n, time.p, whole);
    n += whole;
    if (micros) {
        line[n++] = '.';
        memcpy(line + n, time.p + whole, 6);
        n += 6;
    }
    return n;
}

/* "[rank3]: 2025-03-04T11:02:10Z ERROR ", "2025-03-04T11:02:10Z gpu-17 kernel: ": a host only where
 * system logs say it, too. */
static size_t write_prefix(const struct wrapped *w, char *line)
{
    const struct inq_text *time = &w->parts[TIME];
    const struct inq_text *host = &w->parts[HOST];
    const struct inq_text *rank = &w->parts[RANK];
    const struct inq_text *level = &w->parts[LEVEL];
    static const struct inq_text open = {"[rank", 5};
    static const struct inq_text close = {"]: ", 3};
    size_t n = 0;
    if (rank->n > 0 && rank->n < 8 && is_number(*rank)) {
        n = append(line, append(line, append(line, 0, open), *rank), close);
    }
    if (time->n < PREFIX / 3) {
        n = w->epoch ? append_epoch(line, n, *time) : append(line, n, *time);
        line[n++] = ' ';
    }
    if (inq_text_is(w->parts[SOURCE], "kernel") && host->p != NULL && host->n < PREFIX / 3) {
        static const struct inq_text kernel = {" kernel: ", 9};
        n = append(line, append(line, n, *host), kernel);
    }
    if (level->n > 0 && level->n < 40 && !is_number(*level)) { /* with its color */
        size_t end = append(line, n, *level);
        for (; n < end; n++) { /* in lower case it may be a word of the text; a color ends with m */
            bool letter = line[n] >= 'a' && line[n] <= 'z' && line[n] != 'm';
            line[n] = (char)(letter ? line[n] - ('a' - 'A') : line[n]);
        }
        line[n++] = ' ';
    }
    return n;
}

/* Takes one object's text out; false where there is none. */
static bool unwrap_once(char *start, char *end)
{
    struct wrapped w;
    char line[LINE];
    const char *at;
    if (!read_object(start, end, &w, &at) || w.numbers) {
        return false;
    }
    size_t n = (size_t)(at - start) < PREFIX ? (size_t)(at - start) : 0;
    memcpy(line, start, n); /* whose line it is */
    n += write_prefix(&w, line + n);
    n = append(line, n, w.parts[TEXT]);
    if (w.parts[STACK].p != NULL && n < LINE - 4) {
        line[n++] = '\r';
        n = append(line, n, w.parts[STACK]);
    }
    n = uncolor(line, n);
    size_t room = (size_t)(end - start);
    n = n < room ? n : room;
    memcpy(start, line, n);
    memset(start + n, '\r', room - n);
    return true;
}

static void unwrap(char *start, char *end)
{
    /* a collector's record may hold a logger's */
    for (int depth = 0; depth < DEPTH && unwrap_once(start, end); depth++) {
        while (end > start && end[-1] == '\r') {
            end--;
        }
    }
}

/* ---- labels ---------------------------------------------------------------------------------- */

/* The name in [p, p + n), and where the text behind it begins. */
struct label {
    const char *p;
    size_t n;
    const char *text;
};

/* Whether the name is one of the words and what counts it; `letters` of its n bytes are letters. */
static bool is_counted(const char *p, size_t n, size_t letters, const char *const *words)
{
    for (; *words != NULL; words++) {
        size_t len = strlen(*words);
        if (n > len && letters == len && strncasecmp(p, *words, len) == 0) {
            return true;
        }
    }
    return false;
}

/* A machine or pod: letters and a digit, as in "gpu-01" and "n2.cluster", or an address; not
 * "RuntimeError", "INFO", "step_1200", "rank3" and "GPU0". */
static bool is_host(const char *p, size_t n)
{
    static const char *const counters[] = {"rank", "step", "iter", "epoch", NULL};
    static const char *const parts[] = {"gpu", "layer", "cuda", NULL}; /* "gpu10" may be a host */
    size_t digits = 0;
    size_t letters = 0;
    size_t dots = 0;
    for (size_t i = 0; i < n; i++) {
        digits += isdigit((unsigned char)p[i]) != 0;
        letters += isalpha((unsigned char)p[i]) != 0;
        dots += p[i] == '.';
    }
    bool part = digits < 2 && digits + letters == n && is_counted(p, n, letters, parts);
    return !part && !is_counted(p, n, letters, counters) && digits > 0 &&
           (letters > 0 || dots == 3) && isalnum((unsigned char)p[0]) != 0;
}

static size_t name_length(const char *p, const char *end)
{
    enum { LONGEST = 80 };
    size_t n = 0;
    while (p + n < end && n < LONGEST &&
           (isalnum((unsigned char)p[n]) != 0 || p[n] == '-' || p[n] == '.' || p[n] == '_')) {
        n++;
    }
    return n;
}

static bool read_label(enum inq_log_wrapping labels, const char *p, const char *end,
                       struct label *label)
{
    static const char pod[] = "[pod/";
    size_t skipped = labels == INQ_LOG_PODS ? sizeof pod - 1 : 0;
    if ((size_t)(end - p) <= skipped || memcmp(p, pod, skipped) != 0) {
        return false;
    }
    label->p = p + skipped;
    label->n = name_length(label->p, end);
    const char *behind = label->p + label->n;
    if (label->n == 0 || behind >= end || !is_host(label->p, label->n)) {
        return false;
    }
    if (labels == INQ_LOG_HOSTS) {
        label->text = behind + 1 + (behind + 1 < end && behind[1] == ' ');
        return *behind == ':' && (behind + 1 == end || behind[1] == ' ');
    }
    if (labels == INQ_LOG_PODS) {
        const char *close = *behind == '/' ? memchr(behind, ']', (size_t)(end - behind)) : NULL;
        label->text = close == NULL ? NULL : close + 1 + (close + 1 < end && close[1] == ' ');
        return close != NULL;
    }
    while (behind < end && *behind == ' ') {
        behind++;
    }
    label->text = behind + 1 + (behind + 1 < end && behind[1] == ' ');
    return behind < end && *behind == '|' && behind > label->p + label->n;
}

/* Whether the lines have labels of this form. */
static bool have_labels(enum inq_log_wrapping labels, const char *head, size_t n)
{
    /* Fewer lines may be anything; the launcher's own have no name; each name comes again. */
    enum { LEAST = 8, MOST_OF_4 = 3, EACH = 4, NAMES = 256, LINES = 2000 };
    uint64_t names[NAMES];
    size_t n_names = 0;
    size_t lines = 0;
    size_t labeled = 0;
    const char *end = memchr(head, '\n', n);
    for (const char *p = head; end != NULL && lines < LINES; lines++) {
        struct label label;
        if (read_label(labels, p, end, &label)) {
            uint64_t name = inq_hash_bytes(label.p, label.n);
            size_t i = 0;
            while (i < n_names && names[i] != name) {
                i++;
            }
            if (i == n_names && n_names < NAMES) {
                names[n_names++] = name;
            }
            labeled++;
        }
        p = end + 1;
        end = memchr(p, '\n', (size_t)(head + n - p));
    }
    return labeled >= LEAST && labeled * 4 >= lines * MOST_OF_4 && labeled >= n_names * EACH;
}

static enum inq_log_wrapping labels_of(const char *head, size_t n)
{
    for (int form = INQ_LOG_HOSTS; form <= INQ_LOG_CONTAINERS; form++) {
        if (have_labels((enum inq_log_wrapping)form, head, n)) {
            return (enum inq_log_wrapping)form;
        }
    }
    return INQ_LOG_BARE;
}

static void mark_label(enum inq_log_wrapping labels, char *start, char *end)
{
    struct label label;
    if (!read_label(labels, start, end, &label)) {
        return;
    }
    size_t name = (size_t)(label.p - start);
    size_t text = (size_t)(label.text - start);
    size_t room = (size_t)(end - start);
    if (text < label.n + 2) { /* "n02:" alone */
        return;
    }
    memmove(start + 1, start + name, label.n);
    *start = INQ_LOG_MARK_FRONT;
    start[label.n + 1] = INQ_LOG_MARK_BACK;
    memmove(start + label.n + 2, start + text, room - text);
    size_t gone = text - label.n - 2;
    memset(end - gone, '\r', gone);
}

/* ---- both ------------------------------------------------------------------------------------ */

enum inq_log_wrapping inq_log_wrapping_of(const char *head, size_t n)
{
    return is_wrapped(head, n) ? INQ_LOG_OBJECTS : labels_of(head, n);
}

void inq_log_unwrap(enum inq_log_wrapping wrapping, char *start, char *end)
{
    if (wrapping == INQ_LOG_OBJECTS) {
        unwrap(start, end);
    } else if (wrapping != INQ_LOG_BARE) {
        mark_label(wrapping, start, end);
    }
}
