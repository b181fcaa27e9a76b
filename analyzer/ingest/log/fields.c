/* SPDX-License-Identifier: Apache-2.0 */
/* Reading what a line of a known kind says. */
#include "ingest/log/patterns.h"

#include "ingest/log/level.h"
#include "ingest/log/special.h"
#include "ingest/log/text.h"

#include "trace/build/build.h"

#include <stdio.h>
#include <string.h>

/* Counters of works not yet enqueued are printed as garbage. */
#define MAX_COUNTER ((int64_t)1 << 31)
/* Bytes of a paragraph or box below a line: Megascale's digests and MPICH's box are of 10 lines at
 * most, each with what a collector puts in front of it. */
#define BELOW 800

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c);
}

static int64_t product(const char *p, const char *end)
{
    int64_t all = 1;
    int64_t size = 0;
    const char *next = p < end && *p == '[' ? inq_log_number(p + 1, end, &size) : NULL;
    while (next != NULL) {
        all = size > 0 && all > INT64_MAX / size ? INT64_MAX : all * (size > 0 ? size : 0);
        next = next < end && *next == ',' ? inq_log_number(next + 1, end, &size) : NULL;
    }
    return all;
}

/* Where the name begins that stands before p; not before `start`. */
static const char *name_start(const char *start, const char *p)
{
    while (p > start && is_name(p[-1])) {
        p--;
    }
    return p;
}

/* "node-3:" in front of what is said of it. */
static void trim_colon(char *name)
{
    size_t n = strlen(name);
    name[n > 0 && name[n - 1] == ':' ? n - 1 : n] = '\0';
}

/* What stands at p, in a text that begins at `start`. True when there was something to read. */
static bool read_text(enum inq_log_slot slot, const char *start, const char *p, const char *end,
                      struct inq_log_names *names, struct inq_log_event *event)
{
    switch ((int)slot) {
    case INQ_LOG_OP:
        inq_log_copy_word(p, end, ",()[]", names->op, sizeof names->op);
        event->op = names->op;
        return names->op[0] != '\0';
    case INQ_LOG_SENTENCE:
        p = p < end && *p == '_' ? name_start(start, p) : p; /* the head of a constant's name */
        inq_log_copy_sentence(p, end, names->op, sizeof names->op);
        event->op = names->op;
        return names->op[0] != '\0';
    case INQ_LOG_PEER:
        p = inq_log_blank(p, end);
        p += p < end && *p == '[';
        inq_log_copy_word(p, end, ",)]", names->peer, sizeof names->peer);
        event->peer = names->peer;
        trim_colon(names->peer);
        if (strcmp(names->peer, "all") == 0 || strcmp(names->peer, "remote") == 0) {
            names->peer[0] = '\0'; /* "failed to connect to all addresses", "to remote host" */
        }
        return names->peer[0] != '\0';
    case INQ_LOG_HOST:
        inq_log_copy_word(p, end, ",)]:;", names->host, sizeof names->host);
        event->host = names->host;
        return names->host[0] != '\0';
    case INQ_LOG_RANKS:
        inq_log_read_ranks(p, end, names, event);
        return event->n_ranks > 0;
    case INQ_LOG_SHAPE:
        event->numel_in = product(inq_log_blank(p, end), end);
        return true;
    case INQ_LOG_BUS_ID:
        event->bus = inq_log_bus(p, end);
        return event->bus != INQ_LOG_NO_BUS;
    default:
        return false;
    }
}

static void set_number(enum inq_log_slot slot, int64_t value, struct inq_log_event *event)
{
    int64_t counter = value < MAX_COUNTER && value >= 0 ? value : -1;
    switch ((int)slot) {
    case INQ_LOG_SEQ:
        event->seq = counter;
        break;
    case INQ_LOG_ENQUEUED:
        event->enqueued = counter;
        break;
    case INQ_LOG_COMPLETED:
        event->completed = counter;
        break;
    case INQ_LOG_NUMEL_IN:
        event->numel_in = value;
        break;
    case INQ_LOG_NUMEL_OUT:
        event->numel_out = value;
        break;
    case INQ_LOG_TIMEOUT:
        event->timeout_ms = value;
        break;
    case INQ_LOG_RAN:
        event->ran_ms = value;
        break;
    case INQ_LOG_CODE:
        event->code = value;
        break;
    case INQ_LOG_SIGNAL:
        event->code = value > 0 && value < 65 ? 128 + value : -1;
        break;
    case INQ_LOG_RANK:
        event->rank = inq_log_small(value);
        break;
    case INQ_LOG_LOCAL_RANK:
        event->local_rank = inq_log_small(value);
        break;
    case INQ_LOG_DEVICE:
        event->device = inq_log_small(value);
        break;
    case INQ_LOG_PID:
        event->pid = value;
        break;
    case INQ_LOG_NRANKS:
        event->nranks = value;
        break;
    default:
        event->peer_rank = value;
        break;
    }
}

static bool is_text_slot(enum inq_log_slot slot)
{
    return slot == INQ_LOG_OP || slot == INQ_LOG_SENTENCE || slot == INQ_LOG_PEER ||
           slot == INQ_LOG_HOST || slot == INQ_LOG_RANKS || slot == INQ_LOG_SHAPE ||
           slot == INQ_LOG_BUS_ID;
}

/* "9", "SIGKILL"; -1 for none that is known. */
static int64_t read_signal(const char *p, const char *end)
{
    static const struct {
        const char *name;
        int64_t number;
    } known[] = {{"SIGKILL", 9},  {"SIGSEGV", 11}, {"SIGABRT", 6}, {"SIGBUS", 7},
                 {"SIGTERM", 15}, {"SIGILL", 4},   {"SIGFPE", 8}};
    int64_t number = -1;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        number = inq_log_match(p, end, known[i].name) != NULL ? known[i].number : number;
    }
    return number > 0 || inq_log_number(p, end, &number) != NULL ? number : -1;
}

static bool read_field(const struct inq_log_field *field, const char *start, const char *end,
                       struct inq_log_names *names, struct inq_log_event *event)
{
    for (const char *p = inq_log_seek(start, end, field->key); p != NULL;
         p = inq_log_seek(p, end, field->key)) {
        int64_t value = field->slot == INQ_LOG_SIGNAL ? read_signal(p, end) : -1;
        bool text = is_text_slot(field->slot);
        if (text && read_text(field->slot, start, p, end, names, event)) {
            return true;
        }
        if (!text && (value > 0 || inq_log_number(p, end, &value) != NULL)) {
            set_number(field->slot, value, event);
            return true;
        }
    }
    return false;
}

/* Each slot from the line itself, else from the lines that go on with it; what an exception of C++
 * says always stands behind its name. NCCL's own rank is one of a communicator: of the process only
 * when the communicator is the world, so not taken here. */
static void read_fields(const struct inq_log_pattern *pattern, const struct inq_log_line *line,
                        struct inq_log_names *names, struct inq_log_event *event)
{
    uint32_t done = 0;
    int passes = pattern->fields == NULL ? 0 : line->more > line->end ? 2 : 1;
    for (int pass = 0; pass < passes; pass++) {
        for (const struct inq_log_field *f = pattern->fields; f->key != NULL; f++) {
            uint32_t bit = UINT32_C(1) << f->slot;
            bool behind = pass > 0 || strcmp(f->key, "what():") == 0;
            const char *end = behind ? line->more : line->end;
            if ((done & bit) == 0 && read_field(f, line->start, end, names, event)) {
                done |= bit;
            }
        }
    }
}

/* "[PG 0 (default_pg) Rank 3]", "[PG ID 2 PG GUID 7(tp) Rank 1]", "[PG 1 Rank 0]": name in
 * brackets, else the id that is the same on all ranks, else the one there is. */
static void read_group(const struct inq_log_line *line, struct inq_log_names *names,
                       struct inq_log_event *event)
{
    const char *p = inq_log_seek(line->start, line->more, "[PG ");
    const char *close = p != NULL ? memchr(p, ']', (size_t)(line->more - p)) : NULL;
    if (close == NULL) {
        return;
    }
    const char *guid = inq_log_seek(p, close, "PG GUID ");
    char id[64];
    char desc[64] = "";
    const char *open = memchr(p, '(', (size_t)(close - p));
    inq_log_copy_word(guid != NULL ? guid : p, close, "(]", id, sizeof id);
    if (open != NULL) {
        inq_log_copy_word(open + 1, close, ")", desc, sizeof desc);
    }
    bool named = desc[0] != '\0' && strcmp(desc, "undefined") != 0;
    (void)snprintf(names->group, sizeof names->group, "%s%s%s%s", id, named ? " (" : "",
                   named ? desc : "", named ? ")" : "");
    event->group = names->group;
}

/* "*** JOB 12 ON node-3 CANCELLED AT 2026-03-14T10:03:50 DUE TO ..." */
static void read_cancelled(const struct inq_log_line *line, const char *behind,
                           struct inq_log_names *names, struct inq_log_event *event)
{
    const char *on = inq_log_seek(line->start, line->at, " ON ");
    if (event->clock == INQ_LOG_CLOCK_NONE) {
        (void)inq_log_stamp(inq_log_blank(behind, line->end), line->end, event);
    }
    if (on != NULL && event->host[0] == '\0') {
        inq_log_copy_word(on, line->at, "", names->host, sizeof names->host);
        event->host = names->host;
    }
}

/* "-> 6" or "-> 6 [Proxy Thread]": no channel between two ranks. */
static bool ends_line(const struct inq_log_line *line, const char *behind)
{
    const char *next = inq_log_blank(behind, line->end);
    return next == line->end || (next > behind && *next == '[');
}

/* Where the lines below a line end that are of its paragraph; a name that is cut is none. */
static const char *end_below(const struct inq_log_line *line)
{
    if (line->hi - line->end <= BELOW) {
        return line->hi;
    }
    const char *last = memrchr(line->end, '\n', BELOW + 1);
    return last != NULL ? last : line->end;
}

bool inq_log_read(const struct inq_log_pattern *pattern, struct inq_log_line *line,
                  struct inq_log_names *names, struct inq_log_event *event)
{
    const char *behind = inq_log_match(line->at, line->more, pattern->needle);
    if (behind == NULL || (pattern->special == INQ_LOG_RESULT && !ends_line(line, behind))) {
        return false;
    }
    if (pattern->also != NULL) {
        bool unwanted = pattern->also[0] == '!';
        bool there = inq_log_seek(line->start, line->more, pattern->also + unwanted) != NULL;
        if (there == unwanted) {
            return false;
        }
    }
    inq_log_event_init(event);
    event->kind = pattern->kind;
    event->code = pattern->code;
    event->level = inq_log_level_of(inq_log_blank(line->start, line->end), line->end);
    event->writer = inq_log_writer(line->start, line->end);
    inq_log_prefix(line, event, names->host, sizeof names->host);
    if (strncmp(pattern->needle, "CANCELLED AT", 12) == 0) {
        read_cancelled(line, behind, names, event);
    }
    if (pattern->special == INQ_LOG_BELOW || pattern->special == INQ_LOG_BOX) {
        line->more = end_below(line);
    }
    if (event->kind == INQ_LOG_WORKER_LOST) {
        event->pid = -1; /* whoever tells it is not the one that was lost */
    }
    read_fields(pattern, line, names, event);
    read_group(line, names, event);
    bool below = pattern->special == INQ_LOG_WRAPPED; /* its code may stand in the next line */
    if (event->kind == INQ_LOG_EXIT && (event->code == -1 || event->code == 0) && !below) {
        return false;
    }
    if (!inq_log_read_special(pattern, line, behind, names, event)) {
        return false;
    }
    inq_log_copy_text(line, names, event);
    return true;
}
