/* SPDX-License-Identifier: Apache-2.0 */
/* Reading what a line of a known kind says. */
#include "ingest/log_patterns.h"

#include "trace/log.h"

#include <stdio.h>
#include <string.h>

/* Counters of works not yet enqueued are printed as garbage. */
#define MAX_COUNTER ((int64_t)1 << 31)

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c);
}

/* Up to a character of `stops` or a blank, cut to the room there is. */
static void copy_word(const char *p, const char *end, const char *stops, char *to, size_t size)
{
    size_t n = 0;
    p = inq_log_blank(p, end);
    while (p < end && (unsigned char)*p > ' ' && strchr(stops, *p) == NULL && n + 1 < size) {
        to[n++] = *p++;
    }
    to[n] = '\0';
}

static void copy_sentence(const char *p, const char *end, char *to, size_t size)
{
    size_t n = 0;
    p = inq_log_blank(p, end);
    p += p < end && (*p == '`' || *p == '\'');
    for (; p < end && n + 1 < size; p++) {
        bool stop = *p == '\n' || *p == 0x1b || *p == '\'' || *p == '`' ||
                    (*p == '.' && (p + 1 == end || p[1] == ' ' || p[1] == '\r' || p[1] == '\n'));
        if (stop) {
            break;
        }
        to[n++] = (unsigned char)*p < ' ' ? ' ' : *p;
    }
    while (n > 0 && (to[n - 1] == ' ' || to[n - 1] == ']')) {
        n--;
    }
    to[n] = '\0';
}

static int32_t narrow(int64_t value)
{
    return value >= 0 && value < INT32_MAX ? (int32_t)value : -1;
}

/* "0, 3, 5-7" or "0 1 2" up to what is no number. */
static void read_ranks(const char *p, const char *end, struct inq_log_names *names,
                       struct inq_log_event *event)
{
    size_t n = 0;
    size_t cap = sizeof names->ranks / sizeof names->ranks[0];
    while (n < cap) {
        int64_t first = 0;
        const char *next = inq_log_number(p, end, &first);
        if (next == NULL || first < 0 || first >= (int64_t)INT32_MAX) {
            break;
        }
        int64_t last = first;
        if (next < end && *next == '-' && next + 1 < end && is_digit(next[1])) {
            next = inq_log_number(next + 1, end, &last);
        }
        for (int64_t rank = first; rank <= last && n < cap; rank++) {
            names->ranks[n++] = (int32_t)rank;
        }
        p = inq_log_blank(next, end);
        p += p < end && *p == ',';
    }
    event->ranks = names->ranks;
    event->n_ranks = n;
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

/* True when there was something to read. */
static bool read_text(enum inq_log_slot slot, const char *p, const char *end,
                      struct inq_log_names *names, struct inq_log_event *event)
{
    switch ((int)slot) {
    case INQ_LOG_OP:
        copy_word(p, end, ",()[]", names->op, sizeof names->op);
        event->op = names->op;
        return names->op[0] != '\0';
    case INQ_LOG_SENTENCE:
        copy_sentence(p, end, names->op, sizeof names->op);
        event->op = names->op;
        return names->op[0] != '\0';
    case INQ_LOG_PEER:
        p = inq_log_blank(p, end);
        p += p < end && *p == '[';
        copy_word(p, end, ",)]", names->peer, sizeof names->peer);
        event->peer = names->peer;
        return names->peer[0] != '\0';
    case INQ_LOG_RANKS:
        read_ranks(p, end, names, event);
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
        event->rank = narrow(value);
        break;
    case INQ_LOG_LOCAL_RANK:
        event->local_rank = narrow(value);
        break;
    case INQ_LOG_DEVICE:
        event->device = narrow(value);
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
           slot == INQ_LOG_RANKS || slot == INQ_LOG_SHAPE || slot == INQ_LOG_BUS_ID;
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
        if (is_text_slot(field->slot)) {
            return read_text(field->slot, p, end, names, event);
        }
        if (value > 0 || inq_log_number(p, end, &value) != NULL) {
            set_number(field->slot, value, event);
            return true;
        }
    }
    return false;
}

/* Each slot from the line itself, else from the lines that go on with it. NCCL's own rank is one of
 * a communicator: of the process only when the communicator is the world, so not taken here. */
static void read_fields(const struct inq_log_pattern *pattern, const struct inq_log_line *line,
                        struct inq_log_names *names, struct inq_log_event *event)
{
    uint32_t done = 0;
    int passes = pattern->fields == NULL ? 0 : line->more > line->end ? 2 : 1;
    for (int pass = 0; pass < passes; pass++) {
        const char *end = pass == 0 ? line->end : line->more;
        for (const struct inq_log_field *f = pattern->fields; f->key != NULL; f++) {
            uint32_t bit = UINT32_C(1) << f->slot;
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
    copy_word(guid != NULL ? guid : p, close, "(]", id, sizeof id);
    if (open != NULL) {
        copy_word(open + 1, close, ")", desc, sizeof desc);
    }
    bool named = desc[0] != '\0' && strcmp(desc, "undefined") != 0;
    (void)snprintf(names->group, sizeof names->group, "%s%s%s%s", id, named ? " (" : "",
                   named ? desc : "", named ? ")" : "");
    event->group = names->group;
}

/* ---- specials -------------------------------------------------------------------------------- */

static const char *line_before(const struct inq_log_line *line, const char *start)
{
    if (start <= line->lo) {
        return NULL;
    }
    const char *p = start - 1;
    while (p > line->lo && p[-1] != '\n' && start - p < 4096) {
        p--;
    }
    return p;
}

/* `File "train.py", line 96, in forward` of the lines in front. */
static void read_frame(const struct inq_log_line *line, struct inq_log_names *names,
                       struct inq_log_event *event)
{
    const char *end = line->outer;
    for (int i = 0; i < 6; i++) {
        const char *start = line_before(line, end);
        if (start == NULL) {
            return;
        }
        const char *file = inq_log_seek(start, end, "File \"");
        const char *close = file != NULL ? memchr(file, '"', (size_t)(end - file)) : NULL;
        const char *number = close != NULL ? inq_log_seek(close, end, "line") : NULL;
        int64_t at = 0;
        if (number != NULL && inq_log_number(number, end, &at) != NULL) {
            const char *in = inq_log_seek(number, end, ", in");
            char name[64] = "";
            size_t len = (size_t)(close - file) < 110 ? (size_t)(close - file) : 110;
            if (in != NULL) {
                copy_word(in, end, "", name, sizeof name);
            }
            (void)snprintf(names->peer, sizeof names->peer, "%.*s:%lld%s%s", (int)len, close - len,
                           (long long)at, name[0] != '\0' ? " " : "", name);
            event->peer = names->peer;
            return;
        }
        end = start;
    }
}

/* "Exception ignored in: ..." in front of the traceback: nothing came of it. */
static bool is_ignored(const struct inq_log_line *line)
{
    const char *end = line->outer;
    const char *start = line_before(line, end);
    for (int i = 0; i < 16 && start != NULL; i++) {
        const char *before = line_before(line, start);
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

/* "torch.cuda.OutOfMemoryError: ...": the name stands alone or a colon follows, and nothing but
 * prefixes is in front. */
static bool read_exception(const struct inq_log_line *line, const char *behind,
                           struct inq_log_names *names, struct inq_log_event *event)
{
    const char *start = line->at;
    const char *end = behind;
    while (start > line->start && (is_name(start[-1]) || start[-1] == '.')) {
        start--;
    }
    while (end < line->end && is_name(*end)) {
        end++;
    }
    bool alone = end == line->end || *end == ':' || *end == '\r' || *end == 0x1b;
    const char *head = inq_log_message(line->start, line->end);
    bool boxed = start - line->start > 1 && start[-1] == ' ' && strchr(")]|", start[-2]) != NULL &&
                 head < start;
    bool lower =
        *start >= 'a' && *start <= 'z' && memchr(start, '.', (size_t)(end - start)) == NULL;
    if (!alone || lower || (start == line->at && behind - start < 9) ||
        (start != head && !boxed && !is_place(head, start)) ||
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

/* The item of the launcher's summary that the line belongs to. */
static void read_exit_item(const struct inq_log_line *line, struct inq_log_names *names,
                           struct inq_log_event *event)
{
    const char *end = line->outer;
    int64_t value = 0;
    bool joined =
        inq_log_seek(line->start, line->at, "(local_rank:") != NULL; /* one line for all */
    end = joined ? line->at : end;
    for (int i = 0; i < (joined ? 1 : 4); i++) {
        const char *start = joined ? line->start : line_before(line, end);
        if (start == NULL) {
            return;
        }
        const char *rank = inq_log_seek(start, end, "rank :");
        const char *local = inq_log_seek(start, end, "(local_rank:");
        const char *host = inq_log_seek(start, end, "host :");
        const char *time = inq_log_seek(start, end, "time :");
        if (rank != NULL && inq_log_number(rank, end, &value) != NULL) {
            event->rank = narrow(value);
        }
        if (local != NULL && inq_log_number(local, end, &value) != NULL) {
            event->local_rank = narrow(value);
        }
        if (host != NULL) {
            copy_word(host, end, "", names->host, sizeof names->host);
            event->host = names->host;
        }
        if (time != NULL) {
            (void)inq_log_stamp(inq_log_blank(time, end), end, event);
        }
        end = start;
    }
}

/* "Xid (PCI:0000:38:00): 13, pid=2924364, name=python, text" */
static bool read_kernel(const struct inq_log_line *line, struct inq_log_names *names,
                        struct inq_log_event *event)
{
    const char *open = inq_log_seek(line->at, line->more, "Xid (");
    const char *close = open != NULL ? memchr(open, ')', (size_t)(line->more - open)) : NULL;
    if (close == NULL) {
        return false;
    }
    event->bus = inq_log_bus(open, close);
    const char *colon = memchr(close, ':', (size_t)(line->more - close));
    const char *text = colon != NULL ? inq_log_number(colon + 1, line->more, &event->code) : NULL;
    if (text == NULL) {
        return false;
    }
    const char *previous = inq_log_seek(text, line->end, "previous Xid ");
    if (previous != NULL) {
        (void)inq_log_number(previous, line->end, &event->seq);
    }
    const char *pid = inq_log_seek(text, line->more, "pid=");
    const char *name = inq_log_seek(text, line->more, "name=");
    if (pid != NULL) {
        while (pid < line->more && (*pid == '\'' || *pid == '<')) {
            pid++;
        }
        (void)inq_log_number(pid, line->more, &event->pid);
    }
    text += text < line->end && *text == ',';
    if (name != NULL) {
        const char *comma = memchr(name, ',', (size_t)(line->more - name));
        text = comma != NULL ? comma + 1 : text;
    }
    copy_sentence(text, line->end > text ? line->end : line->more, names->op, 48);
    event->op = event->kind == INQ_LOG_SXID ? names->op : "";
    return true;
}

static bool read_fallen(const struct inq_log_line *line, struct inq_log_event *event)
{
    const char *start = line->outer;
    const char *end = line->end;
    for (int i = 0; i < 3 && start != NULL; i++) {
        const char *gpu = inq_log_seek(start, end, "GPU ");
        const char *at = gpu != NULL && inq_log_match(gpu, end, "at") != NULL
                             ? inq_log_match(gpu, end, "at")
                             : gpu;
        if (at != NULL && inq_log_bus(at, end) != INQ_LOG_NO_BUS) {
            event->bus = inq_log_bus(at, end);
            if (event->clock == INQ_LOG_CLOCK_NONE) {
                (void)inq_log_stamp(inq_log_blank(start, end), end, event);
            }
            return true;
        }
        end = start;
        start = line_before(line, start);
    }
    return inq_log_seek(line->outer, line->end, "GPU") != NULL;
}

/* "kernel: python[2536443]: segfault at ..." */
static void read_fault(const struct inq_log_line *line, struct inq_log_event *event)
{
    const char *close = line->at;
    while (close > line->start && *close != ']') {
        close--;
    }
    const char *open = close;
    while (open > line->start && *open != '[') {
        open--;
    }
    (void)inq_log_number(open + 1, close, &event->pid);
}

/* "srun: error: node107: tasks 0-7: ..." */
static bool read_srun(const struct inq_log_line *line, struct inq_log_names *names,
                      struct inq_log_event *event)
{
    static const struct {
        const char *word;
        int64_t code;
    } ends[] = {{"Segmentation fault", 139}, {"Aborted", 134},   {"Killed", 137},
                {"Terminated", 143},         {"Bus error", 135}, {"Illegal instruction", 132}};
    const char *host = inq_log_seek(line->start, line->end, "error:");
    const char *tasks = host != NULL ? inq_log_seek(host, line->end, "task") : NULL;
    if (tasks == NULL) {
        return false;
    }
    copy_word(host, line->end, ":", names->host, sizeof names->host);
    event->host = names->host;
    tasks += tasks < line->end && *tasks == 's';
    read_ranks(tasks, line->end, names, event);
    if (inq_log_seek(tasks, line->end, "Out Of Memory") != NULL) {
        event->kind = INQ_LOG_SLURM_OOM;
        return true;
    }
    const char *number = inq_log_seek(tasks, line->end, "exit code ");
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        event->code =
            inq_log_seek(tasks, line->end, ends[i].word) != NULL ? ends[i].code : event->code;
    }
    return event->code >= 0 ||
           (number != NULL && inq_log_number(number, line->end, &event->code) != NULL);
}

/* "#3 started ranks:" in front of "[0,1] started BROADCAST". */
static void read_started(const struct inq_log_line *line, struct inq_log_event *event)
{
    const char *end = line->outer;
    for (int i = 0; i < 8; i++) {
        const char *start = line_before(line, end);
        const char *number = start != NULL ? inq_log_seek(start, end, "#") : NULL;
        int64_t value = 0;
        if (start == NULL) {
            return;
        }
        if (number != NULL && inq_log_seek(number, end, "started ranks") != NULL &&
            inq_log_number(number, end, &value) != NULL) {
            event->seq = value;
            return;
        }
        end = start;
    }
}

/* "Rank 1 is running collective: CollectiveFingerPrint(SequenceNumber=21, OpType=BROADCAST, ...),
 * but Rank 0 is running collective: ..." */
static void read_fingerprints(const struct inq_log_line *line, struct inq_log_names *names,
                              struct inq_log_event *event)
{
    int64_t value = 0;
    const char *first = inq_log_seek(line->at, line->more, "Rank ");
    const char *but = inq_log_seek(line->at, line->more, "but Rank ");
    if (first == NULL || but == NULL || first >= but) {
        return;
    }
    if (inq_log_number(first, but, &value) != NULL) {
        event->rank = narrow(value);
    }
    if (inq_log_number(but, line->more, &value) != NULL) {
        event->peer_rank = value;
    }
    const char *seq = inq_log_seek(first, but, "SequenceNumber=");
    const char *op = inq_log_seek(first, but, "OpType=");
    const char *other = inq_log_seek(but, line->more, "OpType=");
    if (seq != NULL) {
        (void)inq_log_number(seq, but, &event->seq);
    }
    if (op != NULL) {
        copy_word(op, but, ",()[]", names->op, sizeof names->op);
        event->op = names->op;
    }
    if (other != NULL) {
        copy_word(other, line->more, ",()[]", names->peer, sizeof names->peer);
        event->peer = names->peer;
    }
}

static bool read_special(const struct inq_log_pattern *pattern, const struct inq_log_line *line,
                         const char *behind, struct inq_log_names *names,
                         struct inq_log_event *event)
{
    switch (pattern->special) {
    case INQ_LOG_EXCEPTION:
        return read_exception(line, behind, names, event);
    case INQ_LOG_EXIT_ITEM:
        read_exit_item(line, names, event);
        return true;
    case INQ_LOG_FROM_KERNEL:
        return read_kernel(line, names, event);
    case INQ_LOG_FALLEN:
        return read_fallen(line, event);
    case INQ_LOG_FAULT:
        read_fault(line, event);
        return true;
    case INQ_LOG_SRUN:
        return read_srun(line, names, event);
    case INQ_LOG_STARTED:
        read_started(line, event);
        return event->n_ranks > 0;
    case INQ_LOG_METRICS:
        return false;
    case INQ_LOG_FINGERPRINTS:
        read_fingerprints(line, names, event);
        return true;
    case INQ_LOG_RESULT:
    case INQ_LOG_PLAIN:
        break;
    }
    return true;
}

/* The line as it is, without escape sequences and control characters. */
static void copy_text(const struct inq_log_line *line, struct inq_log_names *names,
                      struct inq_log_event *event)
{
    size_t n = 0;
    for (const char *p = line->outer; p < line->end && n + 1 < sizeof names->text;) {
        if (*p == 0x1b) {
            const char *next = inq_log_blank(p, line->end);
            p = next > p ? next : p + 1;
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
}

/* "-> 6" or "-> 6 [Proxy Thread]": no channel between two ranks. */
static bool ends_line(const struct inq_log_line *line, const char *behind)
{
    const char *next = inq_log_blank(behind, line->end);
    return next == line->end || (next > behind && *next == '[');
}

bool inq_log_may_fit(const struct inq_log_pattern *pattern, const char *at, const char *end)
{
    const char *p = at + strlen(pattern->needle);
    if (p >= end) {
        return true;
    }
    switch ((int)pattern->special) {
    case INQ_LOG_RESULT:
        return (unsigned char)*p <= ' ';
    case INQ_LOG_EXCEPTION:
        return *p == ':' || (unsigned char)*p < ' ' || is_name(*p);
    default:
        return true;
    }
}

bool inq_log_read(const struct inq_log_pattern *pattern, const struct inq_log_line *line,
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
    inq_log_prefix(line, event, names->host, sizeof names->host);
    read_fields(pattern, line, names, event);
    read_group(line, names, event);
    if (event->kind == INQ_LOG_EXIT && event->code == -1) {
        return false;
    }
    if (!read_special(pattern, line, behind, names, event)) {
        return false;
    }
    copy_text(line, names, event);
    return true;
}
