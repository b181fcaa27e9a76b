/* SPDX-License-Identifier: Apache-2.0 */
/* Text logs: of training processes, their launcher, NCCL, Slurm and the kernel, one or many of them
 * in a file. Text is searched for the words of a table; only lines that have one are looked at. */
#include "ingest/log/error_file.h"
#include "ingest/log/level.h"
#include "ingest/log/metrics.h"
#include "ingest/log/patterns.h"
#include "ingest/log/words/words.h"
#include "ingest/log/sniff.h"
#include "ingest/log/text.h"
#include "ingest/log/wrap.h"
#include "ingest/ingest.h"
#include "ingest/scan/scan.h"

#include "base/mem.h"
#include "trace/build/build.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Text kept at hand around a line: what it is read with. */
#define BEHIND_BYTES ((size_t)32 << 10)
/* How far a sign of progress is looked for. */
#define PROGRESS_BYTES ((size_t)4 << 20)
#define MAX_ERROR_FILE ((size_t)64 << 10)
/* Of lines in JSON objects, longer ones stay as they are. */
#define MAX_WRAPPED ((size_t)1 << 20)
/* Rows of training output that are taken one by one; of what follows, one stretch of text in some
 * hundreds, and the last lines. */
#define TAIL_BYTES  ((size_t)12 << 10) /* at the end of the file, read whole */
#define ALL_METRICS ((size_t)16384)
#define STRETCH     ((uint64_t)256 << 10)
#define ONE_IN      256

enum { HEADS = 256 };

/* What is looked for. Making the tables takes longer than reading a small log. */
struct words {
    const struct inq_log_pattern *patterns[INQ_LOG_WORDS];
    uint32_t n_patterns;
    struct inq_log_scan scan, quiet; /* quiet: without the words of training output */
    uint16_t first[HEADS], next[INQ_LOG_WORDS + 1]; /* rows by their first bytes; number + 1 */
};

/* What the source's thread found in a chunk. */
struct chunk {
    int64_t offset; /* in the file */
    struct inq_log_hits hits;
};

/* One file being read. */
struct reading {
    struct inq_log_book book;
    struct inq_window window;
    struct chunk chunks[2]; /* the last ones: text at hand may be of both */
    inq_source_work work;   /* that the source's thread was given; NULL none */
    const char *path;
    const struct words *words;
    bool sampled;   /* training output is */
    uint64_t lines; /* in front of `pos` */
    char *pos;      /* what was not looked at begins here */
    uint64_t told;  /* line of the last event; 0 none */
    enum inq_log_wrapping wrapping;
    int64_t unwrapped; /* up to there nothing stands around lines any more */
    size_t progress;   /* bytes in which progress is still looked for */
    int64_t row;       /* where the last line of training output that was read begins */
    struct inq_log_names names, of_progress, of_floor;
    /* a line that only says that it is an error, until it is known that it tells no more */
    struct inq_log_event floor;
    bool has_floor;
    struct inq_log_event norm; /* the first of the last gradient norms that are no numbers */
    struct inq_log_names of_norm;
    uint64_t norm_line; /* of the last of them */
    uint32_t n_norms;   /* of these on end */
    uint64_t completed; /* line that says that the run is complete; 0 none */
    bool worded;        /* the last words of processes were taken */
    size_t n_shaped;    /* events whose lines have the shape of a log's */
};

static unsigned head_of(const char *text)
{
    uint32_t head;
    memcpy(&head, text, sizeof head);
    return (head * UINT32_C(0x9e3779b1)) >> 24;
}

/* The same for every file, and read only once it is made. */
static struct words all_words;
static pthread_once_t made = PTHREAD_ONCE_INIT;       /* call_once is not seen by ThreadSanitizer */
static pthread_once_t made_quiet = PTHREAD_ONCE_INIT; /* of few logs that much is read */

static void add_words(struct words *w, const struct inq_log_pattern *rows, uint32_t n)
{
    for (uint32_t i = 0; i < n && w->n_patterns < INQ_LOG_WORDS; i++) {
        w->patterns[w->n_patterns++] = &rows[i];
    }
}

static struct inq_log_wanted wanted(const struct inq_log_pattern *row)
{
    return (struct inq_log_wanted){row->needle, row->special == INQ_LOG_RESULT};
}

static void make_words(void)
{
    struct inq_log_wanted words[INQ_LOG_WORDS];
    struct words *w = &all_words;
    uint32_t n = 0;
    const struct inq_log_pattern *rows = inq_log_system_patterns(&n);
    add_words(w, rows, n);
    rows = inq_log_patterns(&n);
    add_words(w, rows, n);
    for (uint32_t i = w->n_patterns; i-- > 0;) {
        unsigned head = head_of(w->patterns[i]->needle);
        words[i] = wanted(w->patterns[i]);
        w->next[i + 1] = w->first[head];
        w->first[head] = (uint16_t)(i + 1);
    }
    inq_log_scan_init(&w->scan, words, w->n_patterns, INQ_LOG_SCAN_AVX512);
}

/* Once there are words, and training output is sampled. */
static void make_quiet(void)
{
    struct inq_log_wanted words[INQ_LOG_WORDS];
    struct words *w = &all_words;
    uint32_t n = 0;
    for (uint32_t i = 0; i < w->n_patterns; i++) {
        if (w->patterns[i]->special != INQ_LOG_METRICS && w->patterns[i]->special != INQ_LOG_NORM) {
            words[n++] = wanted(w->patterns[i]);
        }
    }
    inq_log_scan_init(&w->quiet, words, n, INQ_LOG_SCAN_AVX512);
}

static void search_all(const char *bytes, size_t n, void *note)
{
    inq_log_search(note, &all_words.scan, bytes, n);
}

static void search_quiet(const char *bytes, size_t n, void *note)
{
    inq_log_search(note, &all_words.quiet, bytes, n);
}

/* ---- progress -------------------------------------------------------------------------------- */

/* A line of training output that says how far it came. */
static bool is_progress(const char *p, const char *end)
{
    size_t n = (size_t)(end - p);
    struct inq_log_metric metric;
    bool maybe = memmem(p, n, "loss", 4) != NULL || memmem(p, n, "Loss", 4) != NULL;
    return maybe && inq_log_read_metric(p, n, &metric) && (metric.step >= 0 || metric.epoch >= 0.0);
}

/* A line as it is: its prefix and its text. */
static void read_plain(const char *start, const char *end, struct inq_log_names *names,
                       struct inq_log_event *event)
{
    struct inq_log_line line = {
        .lo = start, .hi = end, .outer = start, .start = start, .end = end, .more = end, .at = end};
    inq_log_event_init(event);
    event->writer = inq_log_writer(start, end);
    inq_log_prefix(&line, event, names->host, sizeof names->host);
    inq_log_copy_text(&line, names, event);
}

static int add_progress(struct reading *r, const char *start, const char *end, uint64_t number,
                        struct inq_err *err)
{
    struct inq_log_event event;
    read_plain(start, end, &r->of_progress, &event);
    event.kind = INQ_LOG_PROGRESS;
    event.line = number;
    return inq_log_add(&r->book, &event, err);
}

/* The first line of training output in [from, to), the text that was searched without a find. */
static int look_for_progress(struct reading *r, const char *from, const char *to, uint64_t number,
                             struct inq_err *err)
{
    while (r->progress > 0 && from < to) {
        const char *end = memchr(from, '\n', (size_t)(to - from));
        const char *stop = end != NULL ? end : to;
        size_t n = (size_t)(stop - from) + 1;
        if (end != NULL && n < BEHIND_BYTES && is_progress(from, stop)) {
            r->progress = 0;
            return add_progress(r, from, stop, number, err);
        }
        r->progress -= r->progress < n ? r->progress : n;
        from = stop + 1;
        number++;
    }
    return INQ_OK;
}

/* The last line of training output in front of `start`, as far as text is at hand. */
static int look_back(struct reading *r, const char *start, uint64_t number, struct inq_err *err)
{
    const char *end = start;
    const char *lo = r->window.p;
    for (int i = 0; i < 64 && end > lo && number > 1; i++) {
        const char *p = end - 1;
        while (p > lo && p[-1] != '\n') {
            p--;
        }
        number--;
        if (number <= r->told) {
            return INQ_OK;
        }
        if (is_progress(p, end - 1)) {
            return add_progress(r, p, end - 1, number, err);
        }
        end = p;
    }
    return INQ_OK;
}

/* ---- training output ------------------------------------------------------------------------- */

/* Keeps the numbers of the line around a loss, each state of a progress bar for itself; after a
 * sign of failure it is one of progress, too. */
static int take_metrics(struct reading *r, const struct inq_log_line *line, struct inq_err *err)
{
    struct inq_log *log = r->book.log;
    struct inq_log_metric metric;
    int code = INQ_OK;
    int64_t offset = inq_window_offset(&r->window, line->start);
    bool taken = offset == r->row; /* a line may say "loss" more than once */
    r->row = offset;
    bool is_row =
        !taken && inq_log_read_metric(line->start, (size_t)(line->end - line->start), &metric);
    if (is_row && log->n_metrics == INQ_LOG_MAX_METRICS) {
        log->not_kept++;
    } else if (is_row) {
        inq_log_complete_metric(r->window.p, r->window.end, line->outer, &metric);
        metric.line = r->lines + 1;
        metric.writer = inq_log_writer(line->start, line->end);
        code = inq_mem_grow(&log->metrics, &log->cap_metrics, log->n_metrics + 1,
                            sizeof *log->metrics, INQ_LOG_MAX_METRICS, err);
        if (code == INQ_OK) {
            log->metrics[log->n_metrics++] = metric;
        }
    }
    if (code == INQ_OK && r->progress > 0 && is_progress(line->outer, line->end)) {
        r->progress = 0;
        code = add_progress(r, line->outer, line->end, r->lines + 1, err);
    }
    return code;
}

/* "grad_norm: nan": a name at p and its number, cut to the room there is. */
static void copy_number(const char *p, const char *end, char *to, size_t size)
{
    enum { MOST = 48 };
    size_t n = 0;
    for (; p < end && n + 1 < size && n < MOST && strchr("|,;\x1b", *p) == NULL; p++) {
        bool twice = *p == ' ' && n > 0 && to[n - 1] == ' ';
        to[n] = (unsigned char)*p < ' ' ? ' ' : *p;
        n += !twice;
    }
    while (n > 0 && to[n - 1] == ' ') {
        n--;
    }
    to[n] = '\0';
}

/* "loss scale" is no loss. */
static bool says_loss(const char *p, const char *end)
{
    while ((p = memmem(p, (size_t)(end - p), "oss", 3)) != NULL) {
        p += 3;
        if (inq_log_match(p, end, "scale") == NULL) {
            return true;
        }
    }
    return false;
}

/* Of training output that prints no loss: gradient norms that are no numbers, up to the end. */
static int take_norm(struct reading *r, const struct inq_log_line *line,
                     const struct inq_log_pattern *row)
{
    const char *value = line->at + strlen(row->needle);
    bool count = row->needle[0] == 'n'; /* how often it happened */
    size_t n = (size_t)(line->end - line->start);
    const char *loss = inq_log_seek(line->start, line->start + n, "oss:");
    if (loss != NULL || (says_loss(line->start, line->start + n) && !count)) {
        r->n_norms = 0; /* its numbers are judged as a loss is */
        return INQ_OK;
    }
    if (r->n_norms > 0 && r->norm_line == r->lines + 1) {
        return INQ_OK; /* the line says it twice */
    }
    while (value < line->end && strchr(" :='\"*|", *value) != NULL) {
        value++;
    }
    bool number = value < line->end && *value >= '0' && *value <= '9';
    bool none = count ? number && *value != '0'
                      : line->end - value >= 3 && (strncasecmp(value, "nan", 3) == 0 ||
                                                   strncasecmp(value, "inf", 3) == 0);
    r->n_norms = none ? r->n_norms + 1 : number ? 0 : r->n_norms;
    r->norm_line = r->lines + 1;
    if (none && r->n_norms == 1) {
        read_plain(line->start, line->end, &r->of_norm, &r->norm);
        r->norm.kind = INQ_LOG_NOT_FINITE;
        r->norm.line = r->lines + 1;
        copy_number(line->at, line->end, r->of_norm.op, sizeof r->of_norm.op);
        r->norm.op = r->of_norm.op;
    }
    return INQ_OK;
}

/* Two such rows are no accident of a loss scale that is being found. */
static int settle_norm(struct reading *r, struct inq_err *err)
{
    r->n_shaped += r->n_norms > 1;
    return r->n_norms > 1 ? inq_log_add(&r->book, &r->norm, err) : INQ_OK;
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Whether an event is of this line, as far as the last ones tell. */
static bool is_taken(const struct inq_log *log, uint64_t line)
{
    enum { LAST = 64 };
    for (size_t i = 0; i < log->n_events && i < LAST; i++) {
        if (log->events[log->n_events - 1 - i].line == line) {
            return true;
        }
    }
    return false;
}

/* The line [p, end), whose text begins at `body`, as the last words of whoever wrote it. */
static int keep_words(struct reading *r, const char *p, const char *end, const char *body,
                      uint64_t number, struct inq_err *err)
{
    if (*body == ' ' || *body == '\t' || is_taken(r->book.log, number) ||
        (r->has_floor && r->floor.line == number) || is_progress(p, end) ||
        inq_log_level_of(inq_log_message(p, end), end) != INQ_LOG_LEVEL_NONE ||
        inq_log_level_of(body, end) != INQ_LOG_LEVEL_NONE) {
        return INQ_OK;
    }
    struct inq_log_event event;
    read_plain(p, end, &r->of_progress, &event);
    event.kind = INQ_LOG_LAST_WORDS;
    event.line = number;
    return inq_log_add(&r->book, &event, err);
}

static uint64_t count_ends(const char *p, const char *end)
{
    uint64_t n = 0;
    for (; p < end; p++) {
        n += *p == '\n';
    }
    return n;
}

/* The last words of processes: what each of them printed last in front of `end`, line `number`, as
 * far as text is at hand, where it has no severity and no pattern took it: sys.exit("no tokens
 * left") leaves no more. Lines without a label are of a process only in a file of its own. */
static int take_words(struct reading *r, const char *end, uint64_t number, bool own,
                      struct inq_err *err)
{
    enum { LINES = 256, WRITERS = 64 };
    uint32_t seen[WRITERS];
    size_t n = 0;
    int code = INQ_OK;
    for (int i = 0; i < LINES && code == INQ_OK && end > r->window.p && number > 1; i++) {
        const char *p = end - 1;
        while (p > r->window.p && p[-1] != '\n') {
            p--;
        }
        uint32_t writer;
        const char *body = inq_log_body(p, end - 1, &writer);
        bool blank = inq_log_blank(body, end - 1) >= end - 1;
        bool known = n == WRITERS || (writer == 0 && !own) || blank;
        for (size_t k = 0; k < n; k++) {
            known = known || seen[k] == writer;
        }
        number--;
        if (!known) {
            seen[n++] = writer;
            code = keep_words(r, p, end - 1, body, number, err);
        }
        end = p;
    }
    return code;
}

/* What says nothing of a failure. */
static bool is_plain(enum inq_log_kind kind)
{
    return kind == INQ_LOG_NCCL_INIT || kind == INQ_LOG_NCCL_START || kind == INQ_LOG_NFS_OK ||
           kind == INQ_LOG_LINK_UP || kind == INQ_LOG_PROGRESS || kind == INQ_LOG_ENDED_WELL ||
           kind == INQ_LOG_RESTARTED || kind == INQ_LOG_POD_STARTED;
}

/* Adds the line that only says that it is an error, unless `line` is the same one. */
static int settle_floor(struct reading *r, uint64_t line, struct inq_err *err)
{
    bool add = r->has_floor && r->floor.line != line;
    r->has_floor = false;
    return add ? inq_log_add(&r->book, &r->floor, err) : INQ_OK;
}

/* Holds it back: the same line may tell more. */
static int hold_floor(struct reading *r, const struct inq_log_event *event, struct inq_err *err)
{
    int code = settle_floor(r, event->line, err);
    memcpy(&r->of_floor, &r->names, offsetof(struct inq_log_names, ranks));
    r->floor = *event;
    r->floor.host = event->host[0] != '\0' ? r->of_floor.host : "";
    r->floor.group = event->group[0] != '\0' ? r->of_floor.group : "";
    r->floor.op = event->op[0] != '\0' ? r->of_floor.op : "";
    r->floor.text = r->of_floor.text;
    r->has_floor = true;
    return code;
}

/* Whether only a log has such a line. Of some kinds prose speaks in the same words; a log's line
 * then says who or when. */
static bool is_of_log(const struct inq_log_event *event, const struct inq_log_line *line)
{
    static const enum inq_log_kind own_words[] = {INQ_LOG_WATCHDOG_TIMEOUT, INQ_LOG_WORK_FAILED,
                                                  INQ_LOG_DUMP_SIGNAL,      INQ_LOG_EXIT,
                                                  INQ_LOG_EXIT_ROW,         INQ_LOG_PYTHON_ERROR,
                                                  INQ_LOG_RAS_BEHIND,       INQ_LOG_RAS_MISSING,
                                                  INQ_LOG_DESYNC_NEVER,     INQ_LOG_DESYNC_BEHIND,
                                                  INQ_LOG_DESYNC_STARTED,   INQ_LOG_MISMATCH,
                                                  INQ_LOG_MPI_ABORT,        INQ_LOG_MPI_ERROR,
                                                  INQ_LOG_SLURM_EXIT,       INQ_LOG_SLURM_CANCELLED,
                                                  INQ_LOG_SLURM_TIME_LIMIT, INQ_LOG_SLURM_OOM};
    bool talk = true;
    for (size_t i = 0; i < sizeof own_words / sizeof *own_words; i++) {
        talk = talk && own_words[i] != event->kind;
    }
    return !talk || event->clock != INQ_LOG_CLOCK_NONE || event->rank >= 0 ||
           event->local_rank >= 0 || event->pid >= 0 || event->host[0] != '\0' ||
           event->bus != INQ_LOG_NO_BUS || inq_log_is_shaped(line->outer, line->end);
}

/* Whether the process said behind its last row of training output that its work is done. */
static bool was_complete(const struct reading *r, const struct inq_log_line *line)
{
    enum { LINES = 12 };
    const char *end = line->outer;
    for (int i = 0; i < LINES && end > r->window.p; i++) {
        const char *p = end - 1;
        while (p > r->window.p && p[-1] != '\n') {
            p--;
        }
        if (is_progress(p, end - 1)) {
            return false;
        }
        if (inq_log_is_completion(p, end - 1)) {
            return true;
        }
        end = p;
    }
    return false;
}

static int add_event(struct reading *r, const struct inq_log_line *line,
                     struct inq_log_event *event, struct inq_err *err)
{
    int code = INQ_OK;
    bool floor = event->kind == INQ_LOG_ERROR_LINE || event->kind == INQ_LOG_NCCL_WARNING;
    event->line = r->lines + 1;
    if (line->outer > line->at) { /* the end of a traceback */
        event->line += count_ends(line->at, line->outer);
    }
    if (floor && r->told == event->line) {
        return INQ_OK;
    }
    if (event->kind == INQ_LOG_STOPPED && was_complete(r, line)) {
        return INQ_OK; /* it was asked to leave once its work was done */
    }
    bool end = event->kind == INQ_LOG_EXIT || event->kind == INQ_LOG_SLURM_EXIT;
    if (end && !r->worded) {
        r->worded = true;
        code = take_words(r, line->outer, event->line, false, err);
    }
    if (code == INQ_OK && !is_plain(event->kind)) {
        if (r->told < event->line) {
            code = look_back(r, line->outer, event->line, err);
        }
        r->progress = PROGRESS_BYTES;
    }
    r->told = event->line;
    r->completed = event->kind == INQ_LOG_ENDED_WELL ? event->line : r->completed;
    r->n_shaped += is_of_log(event, line);
    if (code != INQ_OK || floor) {
        return code == INQ_OK ? hold_floor(r, event, err) : code;
    }
    code = settle_floor(r, event->line, err);
    return code == INQ_OK ? inq_log_add(&r->book, event, err) : code;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c);
}

/* ".cc:12]" ends the prefix of glog and c10, of all severities: whether an E or F of theirs is in
 * front of it. Of lines that have it most are none of these. */
static bool ends_severe_prefix(const char *lo, const char *at, const char *behind, const char *end)
{
    enum { PREFIX = 120 };
    while (behind < end && is_digit(*behind)) {
        behind++;
    }
    if (behind < end && *behind != ']' && *behind != ' ') {
        return false;
    }
    const char *least = at - lo > PREFIX ? at - PREFIX : lo;
    for (const char *p = at - 1; p >= least && *p != '\n'; p--) {
        bool letter = (*p == 'E' || *p == 'F') && (p[1] == ' ' || is_digit(p[1]));
        if (letter && (p == least || strchr("[\n ]m", p[-1]) != NULL)) {
            return true;
        }
    }
    return false;
}

/* Whether a line can fit, by what stands behind the needle's first word at `at`: channels between
 * ranks, and exceptions that are only talked of, are many. [lo, end) is the text at hand. */
static bool may_fit(const struct inq_log_pattern *pattern, const char *lo, const char *at,
                    const char *end)
{
    const char *p = at + strlen(pattern->needle);
    if (p >= end) {
        return true;
    }
    switch ((int)pattern->special) {
    case INQ_LOG_OUTCOME: /* "exitcode" is of launchers' tables */
        return memcmp(at, pattern->needle, (size_t)(p - at)) == 0;
    case INQ_LOG_SEVERE: /* ".cc:12]" ends a prefix, and is in many lines that are none of these */
        return *pattern->needle != '.' || (is_digit(*p) && ends_severe_prefix(lo, at, p, end));
    case INQ_LOG_EXCEPTION:
        return *p == ':' || *p == '(' || *p == '[' || *p == ')' || (unsigned char)*p < ' ' ||
               is_name(*p);
    default:
        return true;
    }
}

/* Code that a traceback shows under the place where it stands: it may hold any words. The place is
 * in the line before of the same writer; others may write between. */
static bool is_source(const struct inq_log_line *line)
{
    enum { BETWEEN = 64 };
    uint32_t writer;
    const char *body = inq_log_body(line->outer, line->end, &writer);
    const char *end = line->outer;
    for (int i = 0; i < BETWEEN && *body == ' '; i++) {
        uint32_t other;
        const char *before = inq_log_line_before(line, end);
        const char *place = before != NULL ? inq_log_body(before, end, &other) : NULL;
        if (place == NULL || other == writer) {
            return place != NULL && inq_log_match(place, end, "File \"") != NULL &&
                   inq_log_seek(place, end, "\", line ") != NULL;
        }
        end = before;
    }
    return false;
}

/* Looks at the line around the word at `at`; *next gets where to go on. */
static int take_line(struct reading *r, char *at, char **next, struct inq_err *err)
{
    struct inq_log_line line;
    bool known = false;
    *next = at + 1;
    for (uint32_t i = r->words->first[head_of(at)]; i != 0; i = r->words->next[i]) {
        const struct inq_log_pattern *row = r->words->patterns[i - 1];
        if (memcmp(at, row->needle, 4) != 0 || !may_fit(row, r->window.p, at, r->window.end)) {
            continue;
        }
        if (!known) {
            inq_log_line_around(&line, r->window.p, at, r->window.end);
            known = true;
        }
        if (line.outer + 1 < line.end && line.outer[0] == '#' && line.outer[1] == ' ') {
            return INQ_OK; /* a comment is no evidence */
        }
        if (row->special == INQ_LOG_METRICS) {
            return take_metrics(r, &line, err);
        }
        if (row->special == INQ_LOG_NORM) {
            return take_norm(r, &line, row);
        }
        struct inq_log_event event;
        if (is_source(&line)) {
            return INQ_OK;
        }
        if (inq_log_read(row, &line, &r->names, &event)) {
            event.list_cut |= line.cut && event.n_ranks > 0;
            if (row->last && line.end > at) {
                *next = at + (line.end - at);
            }
            return add_event(r, &line, &event, err);
        }
    }
    return INQ_OK;
}

/* Which words to look for at `pos`, and in *limit how far, up to the limit there is. */
static const struct inq_log_scan *scan_at(struct reading *r, char **limit)
{
    if (!r->sampled && r->book.log->n_metrics >= ALL_METRICS) {
        (void)pthread_once(&made_quiet, make_quiet);
        r->sampled = r->book.log->sampled = true;
    }
    size_t behind = (size_t)(*limit - r->pos);
    if (!r->sampled || (r->window.ended && behind <= TAIL_BYTES)) {
        return &r->words->scan;
    }
    if (r->window.ended) {
        *limit -= TAIL_BYTES;
    }
    uint64_t offset = (uint64_t)inq_window_offset(&r->window, r->pos);
    uint64_t left = STRETCH - offset % STRETCH;
    *limit = (uint64_t)(*limit - r->pos) > left ? r->pos + left : *limit;
    return offset / STRETCH % ONE_IN == 0 ? &r->words->scan : &r->words->quiet;
}

/* The next word from `pos` up to *limit, which may come nearer: from there another search goes on.
 * Words may reach beyond it. */
static const char *find_word(struct reading *r, const struct inq_log_scan *scan, char **limit)
{
    int64_t offset = inq_window_offset(&r->window, r->pos);
    for (size_t i = 0; i < sizeof r->chunks / sizeof *r->chunks; i++) {
        const struct inq_log_hits *hits = &r->chunks[i].hits;
        int64_t from = offset - r->chunks[i].offset;
        int64_t behind = from < 0 ? -from : (int64_t)hits->covered - from;
        if (hits->scan != scan || behind <= 0) {
            continue;
        }
        *limit = *limit - r->pos > behind ? r->pos + behind : *limit;
        if (from >= 0) {
            size_t to = (size_t)(from + (*limit - r->pos));
            return inq_log_find_ahead(hits, r->pos, (size_t)from, to, &r->lines);
        }
    }
    bool more = (size_t)(r->window.end - *limit) >= INQ_LOG_WORD_BYTES;
    const char *end = more ? *limit + (INQ_LOG_WORD_BYTES - 1) : r->window.end;
    const char *found = inq_log_find(scan, r->pos, end, &r->lines);
    r->lines -=
        found == NULL || found > *limit ? count_ends(*limit, found != NULL ? found : end) : 0;
    return found != NULL && found < *limit ? found : NULL;
}

/* From `pos` to `last`, a place in the window; words may reach beyond it. */
static int scan_to(struct reading *r, char *last, struct inq_err *err)
{
    while (r->pos < last) {
        char *limit = last;
        const struct inq_log_scan *scan = scan_at(r, &limit);
        const char *from = r->pos;
        uint64_t before = r->lines;
        const char *found = find_word(r, scan, &limit);
        char *at = found != NULL ? r->pos + (found - r->pos) : limit;
        int code = look_for_progress(r, from, at, before + 1, err);
        r->pos = at;
        if (code == INQ_OK && found != NULL) {
            code = take_line(r, at, &r->pos, err);
            r->lines += count_ends(at, r->pos);
        }
        if (code != INQ_OK) {
            return code;
        }
    }
    return INQ_OK;
}

/* Takes whole lines out of their JSON objects, or hits their labels; where the text that can be
 * searched ends. */
static char *unwrap(struct reading *r)
{
    struct inq_window *window = &r->window;
    if (r->wrapping == INQ_LOG_BARE) {
        return window->end;
    }
    char *from = window->end - ((int64_t)window->end_offset - r->unwrapped);
    while (from < window->end) {
        size_t left = (size_t)(window->end - from);
        char *end = memchr(from, '\n', left);
        bool last = end == NULL && (window->ended || left > MAX_WRAPPED);
        if (end == NULL && !last) {
            break;
        }
        end = last ? window->end : end;
        inq_log_unwrap(r->wrapping, from, end);
        from = last ? end : end + 1;
    }
    r->unwrapped = inq_window_offset(window, from);
    return from;
}

/* More text, and what the source's thread found in it. */
static int read_more(struct reading *r, struct inq_err *err)
{
    int code = INQ_OK;
    inq_source_work work = r->sampled ? search_quiet : search_all;
    if (r->work != work && r->wrapping == INQ_LOG_BARE) {
        r->work = work;
        code = inq_source_work_ahead(r->window.source, work, sizeof(struct inq_log_hits), err);
    }
    code = code == INQ_OK ? inq_window_more(&r->window, 1, err) : code;
    const struct inq_log_hits *hits = r->window.note;
    r->chunks[0] = r->chunks[1];
    r->chunks[1].hits.scan = NULL;
    if (hits != NULL) {
        r->chunks[1] = (struct chunk){(int64_t)(r->window.end_offset - hits->size), *hits};
    }
    return code;
}

static int scan_all(struct reading *r, struct inq_err *err)
{
    int code = read_more(r, err);
    r->pos = r->window.p;
    while (code == INQ_OK) {
        struct inq_window *window = &r->window;
        char *end = unwrap(r);
        size_t have = (size_t)(end - r->pos);
        char *limit = window->ended ? end : have > INQ_LOG_AHEAD ? end - INQ_LOG_AHEAD : r->pos;
        code = scan_to(r, limit, err);
        if (code != INQ_OK || window->ended) {
            break;
        }
        size_t past = (size_t)(r->pos - window->p);
        window->p += past > BEHIND_BYTES ? past - BEHIND_BYTES : 0;
        past = (size_t)(r->pos - window->p);
        code = read_more(r, err);
        r->pos = window->p + past;
    }
    return code;
}

/* ---- the last words ---------------------------------------------------------------------------
 */

/* When the last row of training output was printed tells what other logs' lines the run survived.
 */
static int take_last_row(struct reading *r, struct inq_err *err)
{
    const struct inq_log *log = r->book.log;
    uint64_t last = log->n_metrics > 0 ? log->metrics[log->n_metrics - 1].line : 0;
    bool open = r->window.end > r->window.p && r->window.end[-1] != '\n';
    return last > r->told ? look_back(r, r->window.end, r->lines + 1 + open, err) : INQ_OK;
}

/* Adds the first line of that kind among the last ones, where no other line tells how the run
 * ended. */
static int take_last_words(struct reading *r, struct inq_err *err)
{
    enum { LINES = 12 };
    const struct inq_log *log = r->book.log;
    const char *end = r->window.end;
    const char *lo = r->window.p;
    bool output = log->n_metrics > 0;
    uint64_t last = output ? log->metrics[log->n_metrics - 1].line : 0;
    last = r->told > last ? r->told : last;
    end -= end > lo && end[-1] == '\n';
    uint64_t number = r->lines + (end == r->window.end);
    const char *found = NULL;
    const char *found_end = NULL;
    uint64_t at = 0;
    for (int i = 0; i < LINES && end > lo && number > last && r->completed == 0; i++) {
        const char *p = end;
        while (p > lo && p[-1] != '\n') {
            p--;
        }
        if (inq_log_is_last_word(p, end, output)) {
            found = p;
            found_end = end;
            at = number;
        }
        end = p > lo ? p - 1 : lo;
        number--;
    }
    if (found == NULL) {
        return INQ_OK;
    }
    struct inq_log_event event;
    read_plain(found, found_end, &r->of_progress, &event);
    event.kind = INQ_LOG_ERROR_LINE;
    event.line = at;
    return inq_log_add(&r->book, &event, err);
}

/* ".../attempt_0/3/stderr.log": 3. */
static int32_t local_rank_of(const char *path)
{
    const char *attempt = path != NULL ? strstr(path, "attempt_") : NULL;
    const char *slash = attempt != NULL ? strchr(attempt, '/') : NULL;
    char *end = NULL;
    long number = slash != NULL ? strtol(slash + 1, &end, 10) : -1;
    return end != NULL && end != slash + 1 && *end == '/' && number >= 0 && number < 65536
               ? (int32_t)number
               : -1;
}

static int take_end(struct reading *r, struct inq_err *err)
{
    bool own = inq_rank_from_name(r->path) >= 0 || local_rank_of(r->path) >= 0;
    bool open = r->window.end > r->window.p && r->window.end[-1] != '\n';
    int code = take_last_row(r, err);
    code = code == INQ_OK ? take_last_words(r, err) : code;
    return code == INQ_OK && own && !open && !r->worded
               ? take_words(r, r->window.end, r->lines + 1, true, err)
               : code;
}

/* ---- error.json ------------------------------------------------------------------------------ */

/* The text of a member that tells the time of a line in a JSON object. */
static const char *json_time(const char *p, const char *end)
{
    static const char *const keys[] = {"time\":\"", "timestamp\":\"", "\"ts\":\""};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *behind = inq_log_seek(p, end, keys[i]);
        if (behind != NULL) {
            return behind;
        }
    }
    return NULL;
}

/* The first time with a year at the beginning of one of the first lines. */
static int64_t beginning(const char *head, size_t n)
{
    enum { LINES = 64 };
    const char *stop = head + n;
    for (int i = 0; i < LINES && head < stop; i++) {
        const char *end = memchr(head, '\n', (size_t)(stop - head));
        struct inq_log_event event;
        inq_log_event_init(&event);
        end = end != NULL ? end : stop;
        const char *p = inq_log_blank(head, end);
        const char *member = p < end && *p == '{' ? json_time(p, end) : NULL;
        p += p < end && (*p == '[' || *p == '(');
        p = member != NULL ? member : p;
        if (p < end && inq_log_stamp(p, end, &event) != NULL && event.year_known &&
            event.clock == INQ_LOG_CLOCK_WALL) {
            return event.time_ns;
        }
        head = end + 1;
    }
    return INQ_TIME_NONE;
}

/* The file in which a worker leaves its exception for the launcher. */
static int read_error_file(struct reading *r, struct inq_err *err)
{
    struct inq_log_event event;
    int code = inq_window_more(&r->window, MAX_ERROR_FILE, err);
    bool told =
        code == INQ_OK && inq_log_read_error_file(r->window.p, r->window.end, &r->names, &event);
    return told ? inq_log_add(&r->book, &event, err) : code;
}

/* ---- the reader ------------------------------------------------------------------------------ */

static int sniff(const char *head, size_t n, const char *path)
{
    (void)path;
    enum inq_log_form form = inq_log_form_of(head, n);
    return form == INQ_LOG_ERROR_FILE ? 20 : form == INQ_LOG_TEXT ? 6 : 0;
}

/* `reason`: what to call a text that has no record; NULL: it is a log all the same. */
static int finish(struct reading *r, struct inq_shard *shard, const char *reason,
                  struct inq_err *err)
{
    struct inq_log *log = r->book.log;
    if (reason != NULL && log->n_metrics == 0 && r->n_shaped == 0) {
        return inq_err_set(err, INQ_UNSUPPORTED, "%s", reason);
    }
    log->lines = r->lines;
    log->rank = inq_rank_from_name(shard->file.path);
    log->local_rank = local_rank_of(shard->file.path);
    shard->file.format = "log";
    shard->file.events = r->lines;
    shard->log = log;
    r->book.log = NULL;
    return INQ_OK;
}

static int read(struct inq_source *source, struct inq_shard *shard, struct inq_err *err)
{
    const char *head = NULL;
    size_t n = 0;
    int code = inq_source_peek(source, &head, &n, err);
    struct reading *r = code == INQ_OK ? inq_mem_zalloc(1, sizeof *r) : NULL;
    if (code != INQ_OK) {
        return code;
    }
    const char *other = NULL;
    bool is_log = inq_log_is_log(head, n, shard->file.path, &other);
    if (other != NULL) {
        inq_mem_free(r);
        return inq_err_set(err, INQ_UNSUPPORTED, "%s", other);
    }
    bool error_file = inq_log_form_of(head, n) == INQ_LOG_ERROR_FILE;
    const char *reason = is_log || error_file
                             ? NULL
                             : inq_unrecognized_reason(&shard->arena, shard->file.path, head, n);
    if (r != NULL) {
        r->row = -1;
        r->path = shard->file.path;
        r->wrapping = inq_log_wrapping_of(head, n);
        r->window.source = source;
        r->book.log = inq_log_new();
    }
    if (r != NULL && r->book.log != NULL) {
        r->book.log->began_ns = beginning(head, n);
    }
    if (r == NULL || r->book.log == NULL) {
        inq_mem_free(r);
        return inq_err_set(err, INQ_NOMEM, "out of memory for a log");
    }
    (void)pthread_once(&made, make_words);
    r->words = &all_words;
    code = inq_window_init(&r->window, source, err);
    if (code == INQ_OK) {
        code = error_file ? read_error_file(r, err) : scan_all(r, err);
    }
    int settled = settle_floor(r, 0, code == INQ_OK ? err : NULL);
    code = code == INQ_OK ? settled : code;
    code = code == INQ_OK ? settle_norm(r, err) : code;
    code = code == INQ_OK && !error_file ? take_end(r, err) : code;
    bool cut = code == INQ_LIMIT || code == INQ_IO; /* what was read is kept */
    if (code == INQ_OK || cut) {
        int kept = finish(r, shard, reason, cut ? NULL : err);
        code = code == INQ_OK ? kept : code;
    }
    inq_log_free(r->book.log);
    inq_log_book_release(&r->book);
    inq_window_release(&r->window);
    inq_mem_free(r);
    return code;
}

const struct inq_reader inq_reader_log = {
    .name = "log",
    .summary = "text logs of training processes, torchrun, NCCL, Slurm and the kernel",
    .sniff = sniff,
    .read = read,
};
