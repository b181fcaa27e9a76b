/* SPDX-License-Identifier: Apache-2.0 */
/* Whose each line is: lines that name a rank together with a process, a GPU's bus id or a local
 * rank tell it for those that name only the latter. And when: years that some stamps lack. */
#include "analysis/failure/logs/logs.h"

#include "base/hash.h"
#include "base/arena_text.h"

#include <ctype.h>
#include <string.h>

#define DAY  (INT64_C(86400) * 1000000000)
#define YEAR (365 * DAY)
#define MANY UINT32_MAX /* the key is of several ranks */

struct joins {
    struct inq_map pids, buses, locals; /* key -> rank + 1, or MANY */
    struct inq_map in_file;             /* local rank in a file -> rank + 1, or MANY */
    struct inq_map tasks;               /* srun's task -> hash of its host */
    bool tasks_clash;                   /* one task on two hosts: logs of several jobs */
    bool tasks_are_ranks, tasks_known;
    bool launcher;   /* a task starts the processes, so there are several in each */
    bool many_tasks; /* more than one */
    bool one_host;
    const char *host; /* the first that is named */
    int64_t nranks;   /* of the largest communicator */
    int32_t offset;   /* rank - local rank, where all lines agree; -1 not known, -2 they differ */
};

const char *inq_log_path(const struct inq_log_case *c, const struct inq_log_event *event)
{
    return event->file < c->trace->n_files ? c->trace->files[event->file].path : "";
}

/* "node-3.cluster.org" and "node-3" are one. */
static size_t host_len(const char *host)
{
    const char *dot = strchr(host, '.');
    bool address = host[0] >= '0' && host[0] <= '9';
    return dot != NULL && !address ? (size_t)(dot - host) : strlen(host);
}

static uint64_t key_of(const char *host, uint64_t number)
{
    return inq_hash_u64(number * 31 + inq_hash_bytes(host, host_len(host)));
}

static int learn(struct inq_map *map, const char *host, uint64_t number, int32_t rank,
                 struct inq_err *err)
{
    int code = INQ_OK;
    const char *hosts[] = {"", host};
    for (size_t i = 0; i < (host[0] != '\0' ? 2 : 1) && code == INQ_OK; i++) {
        uint32_t known = 0;
        uint64_t key = key_of(hosts[i], number);
        bool there = inq_map_get(map, key, &known);
        uint32_t value = (uint32_t)rank + 1;
        code = inq_map_put(map, key, there && known != value ? MANY : value, err);
    }
    return code;
}

static int32_t ask(const struct inq_map *map, const char *host, uint64_t number)
{
    uint32_t value = 0;
    bool there = inq_map_get(map, key_of(host, number), &value);
    if (!there && host[0] != '\0') {
        there = inq_map_get(map, key_of("", number), &value);
    }
    return there && value != MANY ? (int32_t)(value - 1) : -1;
}

/* A local rank as what the lines of one file say of it: a node's log has ranks of that node. */
static uint64_t of_file(const struct inq_log_event *event)
{
    return (uint64_t)event->file << 32 | (uint32_t)event->local_rank;
}

/* What the rank of a line is by itself. */
static int32_t own_rank(const struct inq_attributed_line *mark, const struct joins *joins)
{
    const struct inq_log_event *event = mark->event;
    if (event->kind == INQ_LOG_NCCL_INIT && event->nranks == joins->nranks &&
        event->peer_rank >= 0 && event->peer_rank < event->nranks) {
        return (int32_t)event->peer_rank;
    }
    return event->rank;
}

static int learn_task(struct joins *joins, int32_t task, const char *host, struct inq_err *err)
{
    uint32_t known = 0;
    uint32_t value = (uint32_t)key_of(host, 0) | 1;
    bool there = inq_map_get(&joins->tasks, (uint64_t)(uint32_t)task, &known);
    joins->tasks_clash = joins->tasks_clash || (there && known != value);
    return inq_map_put(&joins->tasks, (uint64_t)(uint32_t)task, value, err);
}

static void learn_host(struct joins *joins, const char *host)
{
    if (host[0] != '\0') {
        joins->host = joins->host != NULL ? joins->host : host;
        bool same = host_len(host) == host_len(joins->host) &&
                    memcmp(host, joins->host, host_len(host)) == 0;
        joins->one_host = joins->one_host && same;
    }
}

static int learn_from(struct joins *joins, const struct inq_attributed_line *mark,
                      struct inq_err *err)
{
    const struct inq_log_event *event = mark->event;
    int32_t rank = own_rank(mark, joins);
    int code = INQ_OK;
    joins->launcher = joins->launcher || event->local_rank >= 0 ||
                      event->kind == INQ_LOG_EXIT_ROW || event->kind == INQ_LOG_SIGTERM_SENT;
    bool of_tasks = event->kind == INQ_LOG_SLURM_EXIT || event->kind == INQ_LOG_SLURM_OOM;
    for (size_t k = 0; k < event->n_ranks && of_tasks && code == INQ_OK; k++) {
        joins->many_tasks = event->ranks[k] > 0 || joins->many_tasks;
        code = learn_task(joins, event->ranks[k], event->host, err);
    }
    learn_host(joins, event->host);
    if (rank < 0 || code != INQ_OK) {
        return code;
    }
    if (event->pid >= 0 && !inq_log_of_host(event->kind)) {
        code = learn(&joins->pids, event->host, (uint64_t)event->pid, rank, err);
    }
    if (code == INQ_OK && event->kind == INQ_LOG_NCCL_INIT && event->bus != INQ_LOG_NO_BUS) {
        code = learn(&joins->buses, event->host, event->bus, rank, err);
    }
    if (code == INQ_OK && event->local_rank >= 0) {
        code = learn(&joins->locals, event->host, (uint64_t)event->local_rank, rank, err);
        if (code == INQ_OK) {
            code = learn(&joins->in_file, "", of_file(event), rank, err);
        }
        int32_t offset = rank - event->local_rank;
        joins->offset = joins->offset == -1 || joins->offset == offset ? offset : -2;
    }
    if (event->task >= 0) {
        joins->tasks_are_ranks =
            event->task == rank && (joins->tasks_are_ranks || !joins->tasks_known);
        joins->tasks_known = true;
    }
    return code;
}

/* ---- what a line means by itself ----------------------------------------------------------------
 */

/* Lines of the machine and of schedulers report faults at whatever severity. */
static bool counts_at_any_level(enum inq_log_kind kind)
{
    return inq_log_of_host(kind) || inq_log_is_end(kind) || kind == INQ_LOG_NCCL_RESULT ||
           kind == INQ_LOG_NCCL_SERVICE || kind == INQ_LOG_SIGTERM_SENT ||
           kind == INQ_LOG_STOPPED || kind == INQ_LOG_POD_OOM || kind == INQ_LOG_VERSION_MISMATCH;
}

/* What whoever wrote the line did about it: the run went on. */
static bool is_handled(const char *text)
{
    static const char *const words[] = {"etrying",      "will retry",   " recovered",
                                        "skipping",     "Skipping",     "gnoring",
                                        "falling back", "Falling back", "Recovered"};
    static const char *const denied[] = {"not recovered", "never recovered", "be recovered"};
    for (size_t i = 0; i < sizeof denied / sizeof *denied; i++) {
        if (strstr(text, denied[i]) != NULL) {
            return false;
        }
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strstr(text, words[i]) != NULL) {
            return true;
        }
    }
    return false;
}

static struct inq_log_meaning meaning_of(const struct inq_log_event *event)
{
    const struct inq_failure_rule *rule = inq_failure_rule_of(event);
    struct inq_log_meaning means = {rule->role, rule->cls, rule->sub, rule->weight, false, rule};
    bool told = (rule->role == INQ_LOG_CAUSE || rule->role == INQ_LOG_VICTIM) &&
                strstr(event->text, "NCCL WARN") == NULL; /* its word for an error */
    if (!told || counts_at_any_level(event->kind)) {
        return means;
    }
    /* whoever wrote it did not take it for an error, or went on behind it */
    bool harmless = event->level == INQ_LOG_LEVEL_DEBUG || event->level == INQ_LOG_LEVEL_INFO ||
                    is_handled(event->text);
    /* NCCL and its plugins have no severity above it */
    bool fabric = event->kind == INQ_LOG_FABRIC_SETUP || event->kind == INQ_LOG_FABRIC_ERROR;
    if (harmless) {
        means.role = INQ_LOG_CONTEXT;
        means.weight = 0;
    } else if (event->level == INQ_LOG_LEVEL_WARNING && rule->role == INQ_LOG_CAUSE && !fabric) {
        means.warned = true;
        means.weight = means.weight < INQ_LOG_WARNED ? means.weight : INQ_LOG_WARNED;
    } else if (event->level == INQ_LOG_LEVEL_FATAL && event->kind == INQ_LOG_ERROR_LINE) {
        means.weight += 10;
    }
    return means;
}

/* ---- filling --------------------------------------------------------------------------------- */

/* A kind of its own tells more of a line than its exception's name does. */
static bool tells_more(const struct inq_attributed_line *mark)
{
    enum inq_log_kind kind = mark->event->kind;
    return mark->means.role == INQ_LOG_CAUSE && kind != INQ_LOG_PYTHON_ERROR &&
           kind != INQ_LOG_ERROR_LINE && mark->means.weight >= INQ_LOG_FAIR;
}

/* Takes the weight from exceptions whose line has a kind of its own. */
static void join_twins(struct inq_log_case *c)
{
    for (size_t i = 0; i + 1 < c->n_marks; i++) {
        struct inq_attributed_line *a = &c->marks[i];
        struct inq_attributed_line *b = &c->marks[i + 1];
        if (a->event->file != b->event->file || a->event->line != b->event->line) {
            continue;
        }
        struct inq_attributed_line *general = a->event->kind == INQ_LOG_PYTHON_ERROR ? a : b;
        const struct inq_attributed_line *special = general == a ? b : a;
        if (general->event->kind == INQ_LOG_PYTHON_ERROR && tells_more(special)) {
            general->means.role = INQ_LOG_FACT;
            general->means.weight = 0;
            general->twin = special;
            (general == a ? b : a)->raised = true;
        }
    }
}

/* Training output behind a line that tells that the run went on: steps, or rows that are not
 * numbered; and the rows in which the last step is looked for. */
enum { MORE_STEPS = 5, MORE_ROWS = 20, FEW_ROWS = 16 };
/* Rows that a process may have printed before what stands in front of them: its output is held back
 * in blocks of 8 KiB when it goes to a file or pipe, and errors are not. */
enum { HELD_BACK = 64 };
/* The furthest step among some rows of training output in [row, to). */
static int64_t furthest(const struct inq_log *log, size_t row, size_t to)
{
    int64_t step = -1;
    for (size_t i = row; i < to && i < row + FEW_ROWS; i++) {
        step = log->metrics[i].step > step ? log->metrics[i].step : step;
    }
    return step;
}

/* The first row behind the line. */
static size_t first_behind(const struct inq_log *log, uint64_t line)
{
    size_t from = 0;
    size_t to = log->n_metrics;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        bool behind_it = log->metrics[middle].line > line;
        from = behind_it ? from : middle + 1;
        to = behind_it ? middle : to;
    }
    return from;
}

/* Rows of training output of the process that raised an exception, in [from, to). */
static size_t count_own(const struct inq_attributed_line *mark, size_t from, size_t to)
{
    const struct inq_log *log = mark->log;
    size_t n = 0;
    for (size_t i = from; i < to && n < MORE_STEPS; i++) {
        n += log->metrics[i].writer == mark->event->writer;
    }
    return n;
}

/* NCCL's word, without a time, for what its communicator does not survive: whose rows those behind
 * it are, and whether they are later, nobody knows. */
static bool ends_connection(const struct inq_attributed_line *mark)
{
    const struct inq_log_event *event = mark->event;
    bool lost = event->kind == INQ_LOG_PEER_CLOSED || event->kind == INQ_LOG_NCCL_IB ||
                event->kind == INQ_LOG_PROCESS_LIMIT;
    return lost && event->pid >= 0 && event->clock == INQ_LOG_CLOCK_NONE;
}

static bool ends_process(const struct inq_attributed_line *mark)
{
    enum inq_log_kind kind = mark->event->kind;
    return mark->raised || kind == INQ_LOG_PYTHON_ERROR || kind == INQ_LOG_ABORTED ||
           kind == INQ_LOG_SEGFAULT || kind == INQ_LOG_BUS_ERROR || kind == INQ_LOG_PANICKED ||
           kind == INQ_LOG_STORE_LOST;
}

/* Rows of training output of one labeled process behind a line. */
struct rows {
    uint32_t writer; /* 0 none */
    size_t n;
};

/* Whether what is behind a labeled line proves nothing of its process: all rows there are of other
 * labeled processes, and none of these printed more than may have been held back. Between
 * processes the order of lines is no order of time. */
static bool is_beside(const struct inq_attributed_line *mark)
{
    enum { WRITERS = 16 }; /* more than these share the last place, which only counts too much */
    const struct inq_log *log = mark->log;
    size_t to = first_behind(log, mark->part_end);
    struct rows rows[WRITERS] = {{0, 0}};
    size_t most = 0;
    if (mark->event->writer == 0) {
        return false;
    }
    for (size_t i = first_behind(log, mark->event->line); i < to && most < HELD_BACK; i++) {
        uint32_t writer = log->metrics[i].writer;
        if (writer == 0 || writer == mark->event->writer) {
            return false;
        }
        size_t at = 0;
        while (at + 1 < WRITERS && rows[at].writer != 0 && rows[at].writer != writer) {
            at++;
        }
        rows[at].writer = writer;
        most = ++rows[at].n > most ? rows[at].n : most;
    }
    return most < HELD_BACK;
}

/* The next sign of progress in the mark's file, in front of it or behind it; NULL: none near. */
static const struct inq_attributed_line *progress_near(const struct inq_log_case *c, size_t i,
                                                       int way)
{
    enum { NEAR = 256 };
    for (size_t k = 1; k < NEAR; k++) {
        bool there = way < 0 ? i >= k : i + k < c->n_marks;
        const struct inq_attributed_line *mark = there ? &c->marks[way < 0 ? i - k : i + k] : NULL;
        if (mark == NULL || mark->event->file != c->marks[i].event->file) {
            return NULL;
        }
        if (mark->event->kind == INQ_LOG_PROGRESS) {
            return mark;
        }
    }
    return NULL;
}

/* Whether the rows behind an exception that no label gives to a process are of another file, put
 * behind this one: they go back in time or, without times, never come further than those in front
 * of it. */
static bool is_put_behind(const struct inq_log_case *c, size_t i)
{
    const struct inq_attributed_line *mark = &c->marks[i];
    const struct inq_log *log = mark->log;
    size_t from = first_behind(log, mark->event->line);
    size_t to = first_behind(log, mark->part_end);
    if (!mark->fatal || mark->event->writer != 0 || from == 0 || from == to) {
        return false;
    }
    const struct inq_attributed_line *before = progress_near(c, i, -1);
    const struct inq_attributed_line *next = progress_near(c, i, 1);
    if (before != NULL && next != NULL && before->time_ns != INQ_TIME_NONE &&
        next->time_ns != INQ_TIME_NONE) {
        return next->time_ns < before->time_ns;
    }
    int64_t front = furthest(log, from > FEW_ROWS ? from - FEW_ROWS : 0, from);
    int64_t back = furthest(log, to - from > FEW_ROWS ? to - FEW_ROWS : from, to);
    return back >= 0 && back <= front;
}

/* Whether the output that the line stands in reports more steps behind it than processes that are
 * still alive can make alone. */
static bool went_on(const struct inq_attributed_line *mark)
{
    const struct inq_log *log = mark->log;
    size_t from = first_behind(log, mark->event->line);
    size_t to = first_behind(log, mark->part_end);
    size_t n = to - from;
    bool warned = mark->event->level == INQ_LOG_LEVEL_WARNING;
    if (from == 0 && n > 0 && warned && mark->event->kind == INQ_LOG_NCCL_CONNECT) {
        return true; /* it tried again: without the connection there is no step */
    }
    bool alone = mark->event->kind == INQ_LOG_ERROR_LINE && n >= HELD_BACK && !mark->fatal;
    if (from == 0 && mark->event->kind != INQ_LOG_RECLAIMED && !alone) {
        return false; /* all rows after it: they were flushed when the process ended */
    }
    if (mark->beside) {
        return false;
    }
    if (mark->fatal && count_own(mark, from, to) < MORE_STEPS) {
        return false;
    }
    if (ends_connection(mark) && n < HELD_BACK) {
        return false;
    }
    int64_t last = furthest(log, to > FEW_ROWS ? to - FEW_ROWS : 0, to);
    int64_t next = n > 0 ? log->metrics[from].step : -1;
    return next >= 0 && last >= 0 ? n >= MORE_STEPS && last >= next + MORE_STEPS : n >= MORE_ROWS;
}

/* Which part of a file that was put together from several each line of one log stands in. */
static void find_parts(struct inq_attributed_line *marks, size_t n)
{
    int32_t rank = -1;
    uint64_t end = UINT64_MAX;
    for (size_t i = 0; i < n; i++) {
        bool heading = marks[i].event->kind == INQ_LOG_PART;
        rank = heading ? marks[i].event->rank : rank;
        marks[i].part_rank = rank;
    }
    for (size_t i = n; i > 0; i--) {
        marks[i - 1].part_end = end;
        end = marks[i - 1].event->kind == INQ_LOG_PART ? marks[i - 1].event->line : end;
    }
}

static int gather(struct inq_log_case *c, struct inq_err *err)
{
    size_t n = 0;
    for (size_t l = 0; l < c->trace->n_logs; l++) {
        n += c->trace->logs[l]->n_events;
    }
    c->marks = inq_arena_array(c->arena, n, sizeof *c->marks);
    if (c->marks == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for %zu lines of logs", n);
    }
    for (size_t l = 0; l < c->trace->n_logs; l++) {
        const struct inq_log *log = c->trace->logs[l];
        size_t first = c->n_marks;
        for (size_t e = 0; e < log->n_events; e++) {
            const struct inq_log_event *event = &log->events[e];
            c->marks[c->n_marks++] = (struct inq_attributed_line){
                .event = event,
                .log = log,
                .means = meaning_of(event),
                .rank = event->rank,
                .host = event->host,
                .time_ns = event->clock == INQ_LOG_CLOCK_WALL ? event->time_ns : INQ_TIME_NONE,
            };
        }
        find_parts(c->marks + first, c->n_marks - first);
    }
    join_twins(c);
    for (size_t i = 0; i < c->n_marks; i++) {
        c->marks[i].fatal = ends_process(&c->marks[i]);
        c->marks[i].beside = is_beside(&c->marks[i]) || is_put_behind(c, i);
        c->marks[i].went_on = went_on(&c->marks[i]);
    }
    return INQ_OK;
}

/* Stamps without a year get the one that brings them next to one that has it. */
static void date(struct inq_log_case *c)
{
    int64_t known_ns = INQ_TIME_NONE;
    int64_t last_ns = INQ_TIME_NONE;
    uint32_t file = INQ_NONE;
    for (size_t i = 0; i < c->n_marks; i++) {
        const struct inq_log_event *event = c->marks[i].event;
        bool use = c->marks[i].time_ns != INQ_TIME_NONE && event->year_known;
        known_ns = use && (known_ns == INQ_TIME_NONE || event->time_ns > known_ns) ? event->time_ns
                                                                                   : known_ns;
    }
    for (size_t l = 0; l < c->trace->n_logs; l++) {
        int64_t began_ns = c->trace->logs[l]->began_ns;
        known_ns = began_ns != INQ_TIME_NONE && (known_ns == INQ_TIME_NONE || began_ns > known_ns)
                       ? began_ns
                       : known_ns;
    }
    c->dated = known_ns != INQ_TIME_NONE;
    for (size_t i = 0; i < c->n_marks; i++) {
        struct inq_attributed_line *mark = &c->marks[i];
        if (mark->time_ns == INQ_TIME_NONE || mark->event->year_known) {
            continue;
        }
        if (c->dated) {
            int64_t years = (known_ns - mark->time_ns + YEAR / 2) / YEAR;
            int64_t leap_days = (years + 1) / 4; /* since 1970, up to that year */
            leap_days += years % 4 == 2 && mark->time_ns >= 59 * DAY;
            mark->time_ns += years * YEAR + leap_days * DAY;
        } else if (file == mark->event->file && last_ns != INQ_TIME_NONE &&
                   last_ns - mark->time_ns > YEAR / 2) {
            mark->time_ns += YEAR; /* past New Year's Eve */
        }
        file = mark->event->file;
        last_ns = mark->time_ns;
    }
}

/* The host of a kernel log whose file is named after it. */
static const char *host_of_file(const struct inq_log_case *c, const char *path)
{
    const char *best = "";
    for (size_t i = 0; i < c->n_marks; i++) {
        const char *host = c->marks[i].event->host;
        size_t len = host_len(host);
        if (len < 2 || len <= host_len(best) || c->marks[i].event->kind != INQ_LOG_NCCL_INIT) {
            continue;
        }
        const char *found = memmem(path, strlen(path), host, len);
        bool whole = found != NULL && isalnum((unsigned char)found[len]) == 0 &&
                     (found == path || isalnum((unsigned char)found[-1]) == 0);
        best = whole ? host : best;
    }
    return best;
}

/* Whether srun's tasks are the ranks. */
static bool is_plain(const struct joins *joins)
{
    return joins->tasks_known ? joins->tasks_are_ranks : !joins->launcher && !joins->tasks_clash;
}

/* By the file that a process' line stands in, or its task. */
static int32_t rank_of_log(const struct joins *joins, const struct inq_attributed_line *mark,
                           const struct inq_log *log)
{
    const struct inq_log_event *event = mark->event;
    int32_t rank = mark->part_rank >= 0 ? mark->part_rank : log->rank;
    rank = rank < 0 && log->local_rank >= 0 && joins->one_host ? log->local_rank : rank;
    return rank < 0 && event->task >= 0 && is_plain(joins) ? event->task : rank;
}

static int32_t rank_of(const struct joins *joins, const struct inq_attributed_line *mark,
                       const struct inq_log *log)
{
    const struct inq_log_event *event = mark->event;
    int32_t rank = own_rank(mark, joins);
    bool of_process = !inq_log_of_host(event->kind);
    bool of_launcher = event->kind == INQ_LOG_EXIT || event->kind == INQ_LOG_SIGTERM_SENT ||
                       event->kind == INQ_LOG_EXIT_ROW;
    if (rank < 0 && event->bus != INQ_LOG_NO_BUS && event->kind != INQ_LOG_SXID) {
        rank = ask(&joins->buses, mark->host, event->bus);
    }
    if (rank < 0 && event->pid >= 0) {
        rank = ask(&joins->pids, mark->host, (uint64_t)event->pid);
    }
    if (rank < 0 && event->local_rank >= 0) {
        rank = ask(&joins->in_file, "", of_file(event));
        rank = rank >= 0 ? rank : ask(&joins->locals, mark->host, (uint64_t)event->local_rank);
        bool plain = rank < 0 && joins->one_host && joins->offset != -2;
        rank = plain ? event->local_rank + (joins->offset > 0 ? joins->offset : 0) : rank;
    }
    bool of_task = event->kind == INQ_LOG_SLURM_EXIT || event->kind == INQ_LOG_SLURM_OOM;
    if (rank < 0 && of_task && event->n_ranks == 1 && is_plain(joins)) {
        rank = event->ranks[0];
    }
    return rank < 0 && of_process && !of_launcher ? rank_of_log(joins, mark, log) : rank;
}

static void count_rank(struct inq_log_case *c, int64_t rank)
{
    c->world = rank >= c->world && rank < (1 << 20) ? (int32_t)rank + 1 : c->world;
}

static void count_world(struct inq_log_case *c, const struct joins *joins)
{
    c->world = c->trace->world_size > 0 ? c->trace->world_size : 0;
    if (joins->nranks > c->world && joins->nranks < (1 << 20)) {
        c->world = (int32_t)joins->nranks;
    }
    for (size_t i = 0; i < c->trace->n_logs; i++) { /* those whose log has no record, too */
        count_rank(c, c->trace->logs[i]->rank);
    }
    for (size_t i = 0; i < c->n_marks; i++) {
        const struct inq_log_event *event = c->marks[i].event;
        bool of_ranks =
            event->kind == INQ_LOG_BARRIER_RANKS || event->kind == INQ_LOG_RAS_MISSING ||
            event->kind == INQ_LOG_TASK_LOST || event->kind == INQ_LOG_STALLED_RANKS ||
            (event->kind >= INQ_LOG_DESYNC_NEVER && event->kind <= INQ_LOG_DESYNC_STARTED);
        count_rank(c, c->marks[i].rank);
        for (size_t k = 0; k < event->n_ranks && of_ranks; k++) {
            count_rank(c, event->ranks[k]);
        }
        if (event->kind == INQ_LOG_MISMATCH || event->kind == INQ_LOG_REMOTE_ERROR ||
            event->kind == INQ_LOG_PEER_CLOSED || event->kind == INQ_LOG_ERROR_LINE) {
            count_rank(c, event->peer_rank);
        }
    }
}

/* CANN's report of an error: its first line names the rank, those behind it the reason. */
static int32_t rank_of_report(const struct inq_log_case *c, size_t i)
{
    enum { LINES = 4 };
    const struct inq_log_event *event = c->marks[i].event;
    const struct inq_log_event *head = i > 0 ? c->marks[i - 1].event : NULL;
    bool reason = event->kind == INQ_LOG_NPU_SETUP || event->kind == INQ_LOG_NPU_TIMEOUT ||
                  event->kind == INQ_LOG_NPU_FAULT;
    bool same = reason && head != NULL && head->kind == INQ_LOG_NPU_ERROR &&
                head->file == event->file && head->writer == event->writer &&
                event->line - head->line <= LINES;
    return same ? head->rank : -1;
}

static void join(struct inq_log_case *c, const struct joins *joins)
{
    const char *host = "";
    uint32_t file = INQ_NONE;
    size_t i = 0;
    for (size_t l = 0; l < c->trace->n_logs; l++) {
        const struct inq_log *log = c->trace->logs[l];
        for (size_t e = 0; e < log->n_events; e++, i++) {
            struct inq_attributed_line *mark = &c->marks[i];
            if (mark->host[0] == '\0' && inq_log_of_host(mark->event->kind)) {
                host = file == mark->event->file ? host
                                                 : host_of_file(c, inq_log_path(c, mark->event));
                file = mark->event->file;
                mark->host = host;
            }
            mark->rank = rank_of(joins, mark, log);
            mark->rank = mark->rank >= 0 ? mark->rank : rank_of_report(c, i);
        }
    }
}

/* NCCL's version as a line has it, "2.21.5"; its length, 0 none. */
static size_t version_in(const char *text, const char **version)
{
    static const char words[] = "NCCL version ";
    const char *at = strstr(text, words);
    *version = at != NULL ? at + sizeof words - 1 : "";
    return strspn(*version, "0123456789.");
}

/* Processes of different versions of NCCL do not agree on the sizes of their messages. */
static void find_versions(struct inq_log_case *c)
{
    const char *first = NULL;
    size_t n_first = 0;
    for (size_t i = 0; i < c->n_marks && c->other_version == NULL; i++) {
        const char *version;
        size_t n = version_in(c->marks[i].event->text, &version);
        bool differs = first != NULL && n > 0 && (n != n_first || memcmp(first, version, n) != 0);
        if (differs) {
            c->version = inq_arena_printf(c->arena, "%.*s", (int)n_first, first);
            c->other_version = inq_arena_printf(c->arena, "%.*s", (int)n, version);
        } else if (n > 0) {
            first = version;
            n_first = n;
        }
    }
    for (size_t i = 0; i < c->n_marks && c->other_version != NULL; i++) {
        struct inq_attributed_line *mark = &c->marks[i];
        if (mark->event->kind == INQ_LOG_MISMATCH && mark->means.role == INQ_LOG_CAUSE &&
            strstr(mark->event->text, "essage truncated") != NULL) {
            const struct inq_failure_rule *rule =
                inq_failure_situation_rule(INQ_SITUATION_NCCL_VERSIONS);
            mark->means = (struct inq_log_meaning){rule->role,   rule->cls, rule->sub,
                                                   rule->weight, false,     rule};
        }
    }
}

/* The end of a process that no line names tells less than any line that names one. */
static void weaken_nameless(struct inq_log_case *c)
{
    enum { LESS = 14 }; /* below all other ends, above an NCCL warning */
    for (size_t i = 0; i < c->n_marks; i++) {
        struct inq_attributed_line *mark = &c->marks[i];
        const struct inq_log_event *event = mark->event;
        bool nameless = mark->rank < 0 && event->local_rank < 0 && event->pid < 0 &&
                        event->n_ranks == 0 && event->kind == INQ_LOG_EXIT;
        if (nameless && mark->means.weight > LESS && mark->means.weight < INQ_LOG_FAIR) {
            mark->means.weight = LESS;
        }
    }
}

int inq_log_facts(struct inq_log_case *c, struct inq_err *err)
{
    struct joins joins = {.one_host = true, .offset = -1, .nranks = -1};
    int code = gather(c, err);
    for (size_t i = 0; code == INQ_OK && i < c->n_marks; i++) {
        const struct inq_log_event *event = c->marks[i].event;
        bool tells = event->kind == INQ_LOG_NCCL_INIT || event->kind == INQ_LOG_PROCESS;
        joins.nranks = tells && event->nranks > joins.nranks ? event->nranks : joins.nranks;
    }
    for (size_t i = 0; code == INQ_OK && i < c->n_marks; i++) {
        code = learn_from(&joins, &c->marks[i], err);
    }
    joins.one_host = joins.one_host && !(joins.launcher && joins.many_tasks);
    if (code == INQ_OK) {
        date(c);
        c->tasks_are_ranks = is_plain(&joins);
        join(c, &joins);
        count_world(c, &joins);
        weaken_nameless(c);
        find_versions(c);
    }
    inq_map_release(&joins.tasks);
    inq_map_release(&joins.pids);
    inq_map_release(&joins.buses);
    inq_map_release(&joins.locals);
    inq_map_release(&joins.in_file);
    return code;
}

const char *inq_log_bus_text(struct inq_log_case *c, uint64_t bus)
{
    if (bus == INQ_LOG_NO_BUS) {
        return "";
    }
    return inq_arena_printf(c->arena, "%04x:%02x:%02x.0", (unsigned)(bus >> 16 & 0xffffffff),
                            (unsigned)(bus >> 8 & 0xff), (unsigned)(bus & 0xff));
}
