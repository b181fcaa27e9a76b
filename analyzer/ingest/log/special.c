/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/log/special.h"

#include "ingest/log/exception.h"
#include "ingest/log/sniff.h"
#include "ingest/log/text.h"

#include <stdio.h>
#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
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
        const char *start = joined ? line->start : inq_log_line_before(line, end);
        if (start == NULL) {
            return;
        }
        const char *rank = inq_log_seek(start, end, "rank :");
        const char *local = inq_log_seek(start, end, "(local_rank:");
        const char *host = inq_log_seek(start, end, "host :");
        const char *time = inq_log_seek(start, end, "time :");
        if (rank != NULL && inq_log_number(rank, end, &value) != NULL) {
            event->rank = inq_log_small(value);
        }
        if (local != NULL && inq_log_number(local, end, &value) != NULL) {
            event->local_rank = inq_log_small(value);
        }
        if (host != NULL) {
            inq_log_copy_word(host, end, "", names->host, sizeof names->host);
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
    inq_log_copy_sentence(text, line->end > text ? line->end : line->more, names->op, 48);
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
        start = inq_log_line_before(line, start);
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
                {"Terminated", 143},         {"Bus error", 135}, {"Illegal instruction", 132},
                {"Floating point", 136}};
    const char *host = inq_log_seek(line->start, line->end, "error:");
    const char *tasks = host != NULL ? inq_log_seek(host, line->end, "task") : NULL;
    if (tasks == NULL) {
        return false;
    }
    inq_log_copy_word(host, line->end, ":", names->host, sizeof names->host);
    event->host = names->host;
    tasks += tasks < line->end && *tasks == 's';
    inq_log_read_ranks(tasks, line->end, names, event);
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
        const char *start = inq_log_line_before(line, end);
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

/* "ALLREDUCE"; where both sides say the same, with what they pass: "ALLREDUCE of [8, 512] Float".
 */
static void copy_entered(const char *op, const char *end, bool tensors, char *to, size_t size)
{
    const char *shape = inq_log_seek(op, end, "TensorShape=");
    const char *type = inq_log_seek(op, end, "TensorDtypes=");
    char name[40];
    char dtype[32] = "";
    inq_log_copy_word(op, end, ",()[]", name, sizeof name);
    const char *close = shape != NULL ? memchr(shape, ']', (size_t)(end - shape)) : NULL;
    if (!tensors || close == NULL) {
        (void)snprintf(to, size, "%s", name);
        return;
    }
    if (type != NULL) {
        inq_log_copy_word(type, end, ",()[]", dtype, sizeof dtype);
    }
    size_t n = (size_t)(close + 1 - shape) < 64 ? (size_t)(close + 1 - shape) : 64;
    (void)snprintf(to, size, "%s of %.*s%s%s", name, (int)n, shape, dtype[0] != '\0' ? " " : "",
                   dtype);
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
        event->rank = inq_log_small(value);
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
        copy_entered(op, but, false, names->op, sizeof names->op);
        event->op = names->op;
    }
    if (other != NULL) {
        copy_entered(other, line->more, false, names->peer, sizeof names->peer);
        event->peer = names->peer;
    }
    if (op != NULL && other != NULL && strcmp(names->op, names->peer) == 0) {
        copy_entered(op, but, true, names->op, sizeof names->op);
        copy_entered(other, line->more, true, names->peer, sizeof names->peer);
    }
}

/* The end of the message, digits left out, by which lines that tell the same are known. */
static void copy_pattern(const char *p, const char *end, char *to, size_t size)
{
    size_t n = 0;
    for (; p < end && n + 1 < size; p++) {
        bool repeats = is_digit(*p) && n > 0 && to[n - 1] == '#';
        if (*p != 0x1b && !repeats) {
            to[n++] = is_digit(*p) ? '#' : (unsigned char)*p < ' ' ? ' ' : *p;
        }
    }
    to[n] = '\0';
}

/* Part of a traceback that a logger writes line by line: the exception at its end tells. A line of
 * source that it quotes is set in behind the place that logged it. */
static bool is_of_traceback(const struct inq_log_line *line)
{
    const char *head = inq_log_message(line->start, line->end);
    const char *place = inq_log_seek(head, line->end, ".py:"); /* "[core.py:459]" */
    const char *close = place != NULL ? memchr(place, ']', (size_t)(line->end - place)) : NULL;
    if (close != NULL && close - place < 8) {
        bool set_in = line->end - close > 3 && memcmp(close + 1, "   ", 3) == 0;
        head = inq_log_blank(close + 1, line->end);
        if (set_in && head < line->end) {
            return true;
        }
    }
    return inq_log_match(head, line->end, "File \"") != NULL ||
           inq_log_match(head, line->end, "Traceback (most") != NULL ||
           inq_log_match(head, line->end, "^^") != NULL ||
           inq_log_match(head, line->end, "~~") != NULL;
}

/* "Error: failed to run ...": the word begins the message, and no number follows; "Error in f(x) :"
 * of R, "Error using f (line 8)" of MATLAB. */
static bool is_heading_word(const struct inq_log_line *line)
{
    const char *behind = inq_log_match(line->at, line->end, "Error:");
    if (inq_log_message(line->start, line->end) == line->at &&
        (inq_log_match(line->at, line->end, "Error in ") != NULL ||
         inq_log_match(line->at, line->end, "Error using ") != NULL)) {
        return true;
    }
    int64_t number;
    return behind != NULL && inq_log_message(line->start, line->end) == line->at &&
           inq_log_number(behind, line->end, &number) == NULL;
}

/* "rank 12 has not confirmed its shard": the rank that the message is about, by what is said behind
 * its number; who only waits for others, or lost them, is not. -1: none. */
static int32_t subject_rank(const char *p, const char *end)
{
    static const char *const verbs[] = {" has not ", " did not ", " does not ", " is ",
                                        " was ",     " never ",   " failed",    " died",
                                        " exited",   " crashed",  " stopped",   " returned "};
    static const char *const suffers[] = {"onnect", "peer", "wait", "imed out", "imeout", "lost "};
    for (size_t i = 0; i < sizeof suffers / sizeof *suffers; i++) {
        if (memmem(p, (size_t)(end - p), suffers[i], strlen(suffers[i])) != NULL) {
            return -1;
        }
    }
    for (const char *at = p; (at = inq_log_seek(at, end, "ank ")) != NULL;) {
        int64_t rank = 0;
        const char *behind = inq_log_number(at, end, &rank);
        for (size_t i = 0; behind != NULL && i < sizeof verbs / sizeof *verbs; i++) {
            size_t n = strlen(verbs[i]);
            if ((size_t)(end - behind) > n && memcmp(behind, verbs[i], n) == 0) {
                return inq_log_small(rank);
            }
        }
    }
    return -1;
}

/* Any line that says itself that it is an error. */
static bool read_severe(const struct inq_log_line *line, struct inq_log_names *names,
                        struct inq_log_event *event)
{
    bool warned = event->kind == INQ_LOG_NCCL_WARNING;
    bool ends = inq_log_match(line->at, line->end, "job.exception") != NULL &&
                inq_log_seek(line->at, line->end, "severity=0") != NULL; /* Flux ends the job */
    bool titled = line->at[0] == 'E' && line->at[1] == 'r';
    bool heading = titled && is_heading_word(line);
    bool severe = event->level >= INQ_LOG_LEVEL_ERROR || heading;
    if (!warned && !ends && (!severe || is_of_traceback(line))) {
        return false;
    }
    if (titled && !heading) {
        return false;
    }
    const char *message = inq_log_message(line->start, line->end);
    copy_pattern(message, line->end, names->op, 96);
    event->op = names->op;
    event->peer_rank = warned ? event->peer_rank : subject_rank(message, line->end);
    return true;
}

/* "Killed", "Killed python train.py" after a number and a script's name; no sentence. */
static bool read_alone(const struct inq_log_line *line, const char *behind)
{
    const char *head = inq_log_message(line->start, line->end);
    const char *rest = inq_log_blank(behind, line->end);
    bool shell = line->at - head > 6 && (memcmp(head, "bash:", 5) == 0 || is_digit(line->at[-2]) ||
                                         inq_log_seek(head, line->at, "line ") != NULL);
    bool command = rest > behind + 3 || (rest < line->end && *rest == '(');
    return (head == line->at && (rest == line->end || command)) || (shell && head < line->at);
}

/* Where the next line begins: what a collector's record left behind a line is blank. */
static const char *line_behind(const struct inq_log_line *line)
{
    const char *end = memchr(line->end, '\n', (size_t)(line->hi - line->end));
    return end != NULL ? end + 1 : line->hi;
}

/* "Missing ranks:", and behind it "3: [allreduce.x]", a line for each. */
static void read_stalled(const struct inq_log_line *line, const char *rest,
                         struct inq_log_names *names, struct inq_log_event *event)
{
    if (inq_log_blank(rest, line->end) < line->end) {
        return; /* they stand in the line itself */
    }
    event->n_ranks = 0; /* what a label in front of the next line says */
    const char *p = line_behind(line) - (line_behind(line) < line->hi);
    while (event->n_ranks < INQ_LOG_MAX_RANKS && p < line->hi) {
        const char *end = memchr(p + 1, '\n', (size_t)(line->hi - p) - 1);
        end = end != NULL ? end : line->hi;
        uint32_t writer;
        const char *head = inq_log_body(p + 1, end, &writer);
        head = writer != 0 && writer == event->writer ? head : p + 1; /* "2: " may be a label */
        struct inq_log_event stamp;
        const char *behind = inq_log_stamp(inq_log_blank(head, end), end, &stamp);
        int64_t rank = 0;
        head = behind != NULL ? behind : head;
        const char *next = inq_log_number(head, end, &rank);
        if (next == NULL || rank < 0 || rank >= INT32_MAX || next >= end || *next != ':') {
            break;
        }
        if (event->op[0] == '\0') { /* the tensors of the first */
            next = inq_log_blank(next + 1, end);
            next += next < end && *next == '[';
            const char *close = memchr(next, ']', (size_t)(end - next));
            inq_log_copy_sentence(next, close != NULL ? close : end, names->op, sizeof names->op);
            event->op = names->op;
        }
        names->ranks[event->n_ranks++] = (int32_t)rank;
        event->ranks = names->ranks;
        p = end;
    }
    bool ran_out = p >= line->hi && (size_t)(line->hi - line->at) >= INQ_LOG_AHEAD;
    event->list_cut = ran_out || event->n_ranks == INQ_LOG_MAX_RANKS;
}

/* Behind a heading: the end of the lines that are nothing but names of tasks. */
static const char *end_of_names(const struct inq_log_line *line)
{
    const char *end = line->end;
    while (line->hi - end > 1 && end[1] == '/') {
        const char *stop = memchr(end + 1, '\n', (size_t)(line->hi - end) - 1);
        end = stop != NULL ? stop : line->hi;
    }
    return end;
}

/* "/job:jax_worker/replica:0/task:6" in the lines behind. */
static void read_tasks(const struct inq_log_line *line, struct inq_log_names *names,
                       struct inq_log_event *event)
{
    enum { FAR = 4096, NEXT = 128 }; /* the lists are short, and what comes later is of others */
    const char *end = line->hi - line->at > FAR ? line->at + FAR : line->hi;
    const char *names_them = inq_log_seek(line->at, end, "ask names:"); /* behind who came first */
    const char *p = names_them != NULL ? names_them : line->at;
    const char *silent = inq_log_seek(line->at, line->end, "stopped sending heartbeats");
    if (silent != NULL) {
        p = silent;
        end = end_of_names(line);
    }
    int64_t task = 0;
    const char *last = NULL;
    while (event->n_ranks < INQ_LOG_MAX_RANKS && (p = inq_log_seek(p, end, "/task:")) != NULL) {
        last = p;
        if (inq_log_number(p, end, &task) != NULL && task >= 0 && task < INT32_MAX) {
            names->ranks[event->n_ranks++] = (int32_t)task;
        }
    }
    const char *near = last != NULL && line->hi - last > NEXT ? last + NEXT : line->hi;
    event->ranks = names->ranks;
    event->list_cut = last != NULL && end < line->hi && inq_log_seek(last, near, "/task:") != NULL;
}

/* Whether nothing but prefixes, or a colon, a bracket or a quote, is in front of the words. */
static bool begins_clause(const struct inq_log_line *line, enum inq_log_level level)
{
    const char *head = inq_log_message(line->start, line->end);
    const char *p = line->at;
    while (p > line->start && (p[-1] == ' ' || p[-1] == '\t')) {
        p--;
    }
    return level >= INQ_LOG_LEVEL_ERROR || p <= head ||
           strchr(":([{\"'`>|]=-*#;!", p[-1]) != NULL || (unsigned char)p[-1] >= 0x80 ||
           p[-1] == '\n' || p[-1] == '\r' || p[-1] == 0x1b || (is_digit(p[-1]) && p < line->at);
}

/* The end of a process is a bad one when its code says so, and the line is no remark of a program
 * that goes on. */
static bool read_outcome(const struct inq_log_event *event)
{
    bool remark = event->level == INQ_LOG_LEVEL_DEBUG || event->level == INQ_LOG_LEVEL_INFO ||
                  event->level == INQ_LOG_LEVEL_WARNING;
    return !remark && (event->kind != INQ_LOG_EXIT || event->code > 0);
}

/* "=   PID 3312 RUNNING AT c-09\n=   EXIT CODE: 9": of a process that a signal ended, MPICH's code
 * is that signal. */
static void read_box(struct inq_log_event *event)
{
    static const int64_t signals[] = {4, 6, 7, 8, 9, 11, 15};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        event->code = event->code == signals[i] ? 128 + signals[i] : event->code;
    }
}

/* "    Reason: OOMKilled", "    Exit Code: 139" of `kubectl describe pod`: the pod's name stands in
 * front, where a line begins. */
static void read_described(const struct inq_log_line *line, struct inq_log_names *names,
                           struct inq_log_event *event)
{
    enum { LINES = 100 };
    const char *end = *line->outer == ' ' && event->host[0] == '\0' ? line->outer : NULL;
    for (int i = 0; i < LINES && end != NULL; i++) {
        const char *start = inq_log_line_before(line, end);
        if (start != NULL && *start == 'N' && end - start > 5 && memcmp(start, "Name:", 5) == 0) {
            inq_log_copy_word(start + 5, end, "", names->host, sizeof names->host);
            event->host = names->host;
            return;
        }
        end = start;
    }
}

/* "mpirun noticed that process rank 2 ... exited on" at the end of a line: the signal begins the
 * next one, behind whatever a collector put in front of it. */
static bool read_wrapped(const struct inq_log_line *line, struct inq_log_event *event)
{
    const char *start = line_behind(line);
    const char *end = memchr(start, '\n', (size_t)(line->hi - start));
    end = end != NULL ? end : line->hi;
    const char *number = event->code <= 0 ? inq_log_seek(start, end, "signal ") : NULL;
    int64_t signal = 0;
    if (number != NULL && inq_log_number(number, end, &signal) != NULL && signal > 0 &&
        signal < 65) {
        event->code = 128 + signal;
    }
    return event->code > 0;
}

/* "  Remote daemon: [[27407,0],1] on node d23n02", some lines behind. */
static void read_daemon(const struct inq_log_line *line, struct inq_log_names *names,
                        struct inq_log_event *event)
{
    enum { BOX = 600 }; /* bytes: the box's lines up to the daemon's */
    const char *end = line->hi - line->end > BOX ? line->end + BOX : line->hi;
    const char *daemon = inq_log_seek(line->end, end, "Remote daemon");
    const char *stop = daemon != NULL ? memchr(daemon, '\n', (size_t)(end - daemon)) : NULL;
    const char *node = stop != NULL ? inq_log_seek(daemon, stop, "on node ") : NULL;
    if (node != NULL) {
        inq_log_copy_word(node, stop, "", names->peer, sizeof names->peer);
        event->peer = names->peer;
    }
}

/* The line behind, as what is said; one that only says how to learn more is not it. */
static void read_next_line(const struct inq_log_line *line, struct inq_log_names *names,
                           struct inq_log_event *event)
{
    const char *start = line_behind(line);
    const char *end = memchr(start, '\n', (size_t)(line->hi - start));
    end = end != NULL ? end : line->hi;
    start = inq_log_message(start, end);
    if (inq_log_match(start, end, "note:") == NULL && inq_log_match(start, end, "stack") == NULL) {
        inq_log_copy_sentence(start, end, names->op, sizeof names->op);
        event->op = names->op;
    }
}

/* ---- headings -------------------------------------------------------------------------------- */

/* "===== rank 2 stderr =====", "--- rank_3.log ---", "==> logs/rank3.err <==" of tail: a heading in
 * a file that was put together from several. *rank gets whose the lines behind it are; it stays as
 * it is where the heading does not say. */
static bool is_heading(const char *start, const char *end, int32_t *rank)
{
    enum { MOST = 160 };
    uint32_t writer;
    const char *p = inq_log_body(start, end, &writer); /* behind a collector's stamps and colors */
    int64_t number = 0;
    start = p;
    for (const char *last = NULL; end > p && end != last;) {
        const char *escape = memrchr(p, 0x1b, (size_t)(end - p));
        last = end;
        end = escape != NULL && inq_log_escape(escape, end) == end ? escape : end;
        end -= end > p && (end[-1] == '\r' || end[-1] == ' ');
    }
    while (p < end && strchr("=-#*>", *p) != NULL) {
        p++;
    }
    if (p - start < 3 || end - p < 3 || end - p > MOST || *p != ' ') {
        return false;
    }
    for (const char *at = p; (at = inq_log_seek(at, end, "ank")) != NULL;) {
        while (at < end && strchr(" _-=:.[", *at) != NULL) {
            at++;
        }
        bool digit = at < end && *at >= '0' && *at <= '9';
        if (digit && inq_log_number(at, end, &number) != NULL && number < INT32_MAX) {
            *rank = (int32_t)number;
            return true;
        }
    }
    return p - start == 3 && p[-1] == '>' && end[-1] == '=' && end[-3] == '<';
}

/* ---- all of them ----------------------------------------------------------------------------- */

bool inq_log_read_special(const struct inq_log_pattern *pattern, struct inq_log_line *line,
                          const char *behind, struct inq_log_names *names,
                          struct inq_log_event *event)
{
    switch (pattern->special) {
    case INQ_LOG_EXCEPTION:
    case INQ_LOG_TRACEBACK:
    case INQ_LOG_WHAT:
        return inq_log_read_exception(line, behind, names, event);
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
    case INQ_LOG_IDENTITY:
        return event->rank >= 0 && event->pid > 0;
    case INQ_LOG_STALLED:
        read_stalled(line, behind, names, event);
        return true;
    case INQ_LOG_TASKS:
        read_tasks(line, names, event);
        return true;
    case INQ_LOG_CLAUSE:
        return begins_clause(line, event->level);
    case INQ_LOG_ALONE:
        return read_alone(line, behind);
    case INQ_LOG_OUTCOME:
        if (!read_outcome(event)) {
            return false;
        }
        read_described(line, names, event);
        return true;
    case INQ_LOG_DESCRIBED:
        read_described(line, names, event);
        return true;
    case INQ_LOG_BOX:
        read_box(event);
        return event->code > 0;
    case INQ_LOG_WRAPPED:
        return read_wrapped(line, event);
    case INQ_LOG_DAEMON:
        read_daemon(line, names, event);
        return true;
    case INQ_LOG_NEXT_LINE:
        read_next_line(line, names, event);
        return true;
    case INQ_LOG_HEADING:
        return line->start == line->outer && event->writer == 0 &&
               is_heading(line->start, line->end, &event->rank);
    case INQ_LOG_SEVERE:
        return read_severe(line, names, event);
    case INQ_LOG_METRICS:
    case INQ_LOG_NORM:
        return false;
    case INQ_LOG_FINGERPRINTS:
        read_fingerprints(line, names, event);
        return true;
    case INQ_LOG_BELOW:
    case INQ_LOG_RESULT:
    case INQ_LOG_PLAIN:
        break;
    }
    return true;
}
