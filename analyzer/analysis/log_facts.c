/* SPDX-License-Identifier: Apache-2.0 */
/* Whose each line is: lines that name a rank together with a process, a GPU's bus id or a local
 * rank tell it for those that name only the latter. And when: years that some stamps lack. */
#include "analysis/log_case.h"

#include "base/hash.h"

#include <ctype.h>
#include <string.h>

#define DAY  (INT64_C(86400) * 1000000000)
#define YEAR (365 * DAY)
#define MANY UINT32_MAX /* the key is of several ranks */

struct joins {
    struct inq_map pids, buses, locals; /* key -> rank + 1, or MANY */
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

/* What the rank of a line is by itself. */
static int32_t own_rank(const struct inq_log_mark *mark, const struct joins *joins)
{
    const struct inq_log_event *event = mark->event;
    if (event->kind == INQ_LOG_NCCL_INIT && event->nranks == joins->nranks &&
        event->peer_rank >= 0 && event->peer_rank < event->nranks) {
        return (int32_t)event->peer_rank;
    }
    return event->rank;
}

static int learn_from(struct joins *joins, const struct inq_log_mark *mark, struct inq_err *err)
{
    const struct inq_log_event *event = mark->event;
    int32_t rank = own_rank(mark, joins);
    int code = INQ_OK;
    joins->launcher = joins->launcher || event->local_rank >= 0 ||
                      event->kind == INQ_LOG_EXIT_ROW || event->kind == INQ_LOG_SIGTERM_SENT;
    bool of_tasks = event->kind == INQ_LOG_SLURM_EXIT || event->kind == INQ_LOG_SLURM_OOM;
    for (size_t k = 0; k < event->n_ranks && of_tasks; k++) {
        joins->many_tasks = event->ranks[k] > 0 || joins->many_tasks;
    }
    if (event->host[0] != '\0') {
        joins->host = joins->host != NULL ? joins->host : event->host;
        bool same = host_len(event->host) == host_len(joins->host) &&
                    memcmp(event->host, joins->host, host_len(event->host)) == 0;
        joins->one_host = joins->one_host && same;
    }
    if (rank < 0) {
        return INQ_OK;
    }
    if (event->pid >= 0 && !inq_log_of_host(event->kind)) {
        code = learn(&joins->pids, event->host, (uint64_t)event->pid, rank, err);
    }
    if (code == INQ_OK && event->kind == INQ_LOG_NCCL_INIT && event->bus != INQ_LOG_NO_BUS) {
        code = learn(&joins->buses, event->host, event->bus, rank, err);
    }
    if (code == INQ_OK && event->local_rank >= 0) {
        code = learn(&joins->locals, event->host, (uint64_t)event->local_rank, rank, err);
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

/* ---- filling --------------------------------------------------------------------------------- */

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
        for (size_t e = 0; e < log->n_events; e++) {
            const struct inq_log_event *event = &log->events[e];
            c->marks[c->n_marks++] = (struct inq_log_mark){
                .event = event,
                .log = log,
                .means = inq_log_meaning(event),
                .rank = event->rank,
                .host = event->host,
                .time_ns = event->clock == INQ_LOG_CLOCK_WALL ? event->time_ns : INQ_TIME_NONE,
            };
        }
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
    c->dated = known_ns != INQ_TIME_NONE;
    for (size_t i = 0; i < c->n_marks; i++) {
        struct inq_log_mark *mark = &c->marks[i];
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

static int32_t rank_of(const struct inq_log_case *c, const struct joins *joins,
                       const struct inq_log_mark *mark, const struct inq_log *log)
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
        rank = ask(&joins->locals, mark->host, (uint64_t)event->local_rank);
        bool plain = rank < 0 && joins->one_host && joins->offset != -2;
        rank = plain ? event->local_rank + (joins->offset > 0 ? joins->offset : 0) : rank;
    }
    if (rank < 0 && of_process && !of_launcher) {
        rank = log->rank;
        rank = rank < 0 && log->local_rank >= 0 && joins->one_host ? log->local_rank : rank;
        bool plain = joins->tasks_known ? joins->tasks_are_ranks : !joins->launcher;
        rank = rank < 0 && event->task >= 0 && plain ? event->task : rank;
    }
    (void)c;
    return rank;
}

static void count_world(struct inq_log_case *c, const struct joins *joins)
{
    c->world = c->trace->world_size > 0 ? c->trace->world_size : 0;
    if (joins->nranks > c->world && joins->nranks < (1 << 20)) {
        c->world = (int32_t)joins->nranks;
    }
    for (size_t i = 0; i < c->n_marks; i++) {
        int32_t rank = c->marks[i].rank;
        c->world = rank >= c->world && rank < (1 << 20) ? rank + 1 : c->world;
        const struct inq_log_event *event = c->marks[i].event;
        bool of_ranks =
            event->kind == INQ_LOG_BARRIER_RANKS || event->kind == INQ_LOG_RAS_MISSING ||
            (event->kind >= INQ_LOG_DESYNC_NEVER && event->kind <= INQ_LOG_DESYNC_STARTED);
        for (size_t k = 0; k < event->n_ranks && of_ranks; k++) {
            rank = event->ranks[k];
            c->world = rank >= c->world && rank < (1 << 20) ? rank + 1 : c->world;
        }
        bool names = event->kind == INQ_LOG_MISMATCH || event->kind == INQ_LOG_REMOTE_ERROR;
        rank = names && event->peer_rank < (1 << 20) ? (int32_t)event->peer_rank : -1;
        c->world = rank >= c->world ? rank + 1 : c->world;
    }
}

static void join(struct inq_log_case *c, const struct joins *joins)
{
    const char *host = "";
    uint32_t file = INQ_NONE;
    size_t i = 0;
    for (size_t l = 0; l < c->trace->n_logs; l++) {
        const struct inq_log *log = c->trace->logs[l];
        for (size_t e = 0; e < log->n_events; e++, i++) {
            struct inq_log_mark *mark = &c->marks[i];
            if (mark->host[0] == '\0' && inq_log_of_host(mark->event->kind)) {
                host = file == mark->event->file ? host
                                                 : host_of_file(c, inq_log_path(c, mark->event));
                file = mark->event->file;
                mark->host = host;
            }
            mark->rank = rank_of(c, joins, mark, log);
        }
    }
}

int inq_log_facts(struct inq_log_case *c, struct inq_err *err)
{
    struct joins joins = {.one_host = true, .offset = -1, .nranks = -1};
    int code = gather(c, err);
    for (size_t i = 0; code == INQ_OK && i < c->n_marks; i++) {
        const struct inq_log_event *event = c->marks[i].event;
        joins.nranks = event->nranks > joins.nranks ? event->nranks : joins.nranks;
    }
    for (size_t i = 0; code == INQ_OK && i < c->n_marks; i++) {
        code = learn_from(&joins, &c->marks[i], err);
    }
    joins.one_host = joins.one_host && !(joins.launcher && joins.many_tasks);
    if (code == INQ_OK) {
        date(c);
        join(c, &joins);
        count_world(c, &joins);
    }
    inq_map_release(&joins.pids);
    inq_map_release(&joins.buses);
    inq_map_release(&joins.locals);
    return code;
}
