/* SPDX-License-Identifier: Apache-2.0 */
/* Of ranks that talk to each other over sockets (Gloo, MPI, a store): who says that a peer is gone
 * or late, and who does not. Those that do not, while all others do, are what the others lost. */
#include "analysis/failure/logs/logs.h"

#include "base/hash.h"
#include "base/limits.h"
#include "base/mem.h"

#include <string.h>

/* Of each rank below the world's size: whether it says that it lost others, whether anything is of
 * it, whether its launcher told it to end. */
struct ranks {
    size_t n;
    bool *reported, *seen, *told;
};

/* A rank's word that it lost others, or waited for them in vain. */
static bool reports(const struct inq_attributed_line *mark)
{
    enum inq_log_kind kind = mark->event->kind;
    bool launcher = inq_log_is_end(kind) || strstr(mark->event->op, "ChildFailed") != NULL ||
                    strstr(mark->event->op, "SignalException") != NULL;
    return mark->means.role == INQ_LOG_VICTIM && !mark->survived && !launcher &&
           !inq_log_of_host(kind) && kind != INQ_LOG_NCCL_RESULT;
}

/* One exception is told by its own line and by kinds in it: count lines. */
static bool is_same_line(const struct inq_log_case *c, size_t i)
{
    return i > 0 && c->marks[i - 1].event->file == c->marks[i].event->file &&
           c->marks[i - 1].event->line == c->marks[i].event->line;
}

static bool has_reported(const struct ranks *ranks, int32_t rank)
{
    return rank >= 0 && (size_t)rank < ranks->n && ranks->reported[rank];
}

/* srun's word for several tasks at once, all of which say that they lost others. */
static bool all_said(const struct inq_log_case *c, const struct inq_attributed_line *mark,
                     const struct ranks *ranks)
{
    bool all = mark->event->n_ranks > 0 && c->tasks_are_ranks;
    for (size_t k = 0; k < mark->event->n_ranks && all; k++) {
        int32_t rank = mark->event->ranks[k];
        all = has_reported(ranks, rank);
    }
    return all;
}

/* Something else ended this process: it is no cause. */
static void make_victim(struct inq_attributed_line *mark)
{
    mark->means.role = INQ_LOG_VICTIM;
    mark->means.weight = 0;
}

/* "terminate called after throwing an instance of 'std::runtime_error'" and no word of what it was:
 * so the watchdog ends its process. */
static bool is_bare_abort(const struct inq_attributed_line *mark)
{
    const char *op = mark->event->op;
    return mark->event->kind == INQ_LOG_ABORTED && strchr(op, ' ') == NULL &&
           (strncmp(op, "std::", 5) == 0 || strncmp(op, "c10::", 5) == 0) &&
           strstr(op, "bad_alloc") == NULL;
}

/* "Aborted (core dumped)" of a shell, behind an abort in which the process said whom it lost. */
static void excuse_shell(struct inq_log_case *c)
{
    uint32_t file = INQ_NONE;
    for (size_t i = 0; i < c->n_marks; i++) {
        struct inq_attributed_line *mark = &c->marks[i];
        bool aborted = mark->event->kind == INQ_LOG_ABORTED;
        if (aborted && mark->means.role == INQ_LOG_VICTIM) {
            file = mark->event->file;
        } else if (aborted && file == mark->event->file && mark->event->op[0] == '\0' &&
                   strstr(mark->event->text, "Aborted") != NULL) {
            make_victim(mark);
        }
    }
}

/* Exit codes of processes that gave up because they had lost others: those of ranks that say so,
 * and where such words name no rank, all of the usual code, but for the one that mpirun names. */
static void excuse_exits(struct inq_log_case *c, const struct ranks *ranks, size_t n_unnamed)
{
    bool timed_out = false;
    for (size_t i = 0; i < c->n_marks; i++) {
        timed_out = timed_out || c->marks[i].event->kind == INQ_LOG_WATCHDOG_TIMEOUT ||
                    c->marks[i].event->kind == INQ_LOG_WORK_FAILED ||
                    c->marks[i].event->kind == INQ_LOG_WATCHDOG_ENDED;
    }
    for (size_t i = 0; i < c->n_marks; i++) {
        struct inq_attributed_line *mark = &c->marks[i];
        if (timed_out && is_bare_abort(mark)) {
            make_victim(mark);
        }
        if (!inq_log_is_end(mark->event->kind) || mark->means.role != INQ_LOG_CAUSE) {
            continue;
        }
        bool known = mark->rank >= 0 && mark->rank < c->world;
        bool gave_up = strcmp(mark->means.sub, "exit") == 0;
        bool aborted = inq_log_signal(mark->event->code) == 6;
        bool said = known ? has_reported(ranks, mark->rank) : all_said(c, mark, ranks);
        bool named = strstr(mark->event->text, "Process name") != NULL;
        bool unnamed = gave_up && mark->event->code == 1 && n_unnamed > 0 && !said && !named;
        if ((said && (gave_up || aborted)) || unnamed || (aborted && timed_out)) {
            make_victim(mark);
        }
    }
}

/* Whether a launcher told this rank's process to end: it had not failed by itself. */
static bool was_told(const struct ranks *ranks, int32_t rank)
{
    return rank >= 0 && (size_t)rank < ranks->n && ranks->told[rank];
}

static void excuse_terminated(struct inq_log_case *c, const struct ranks *ranks)
{
    bool sent = false;
    for (size_t i = 0; i < c->n_marks; i++) {
        sent = sent || c->marks[i].event->kind == INQ_LOG_SIGTERM_SENT;
    }
    for (size_t i = 0; i < c->n_marks; i++) {
        struct inq_attributed_line *mark = &c->marks[i];
        bool stopped =
            inq_log_is_end(mark->event->kind) && strcmp(mark->means.sub, "terminated") == 0;
        if (stopped && (!sent || mark->rank < 0 || was_told(ranks, mark->rank))) {
            make_victim(mark);
        }
    }
}

static int keep(struct inq_log_case *c, const struct ranks *ranks, size_t n, struct inq_err *err)
{
    c->absent = inq_arena_array(c->arena, n, sizeof *c->absent);
    if (c->absent == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for ranks");
    }
    for (size_t r = 0; r < ranks->n && c->n_absent < n; r++) {
        if (!ranks->reported[r]) {
            c->absent[c->n_absent++] = (int32_t)r;
        }
    }
    return INQ_OK;
}

/* Ranks that a barrier of a coordination service names as those that did not join. */
static int take_named(struct inq_log_case *c, struct inq_err *err)
{
    for (size_t i = 0; i < c->n_marks && c->n_absent == 0; i++) {
        const struct inq_log_event *event = c->marks[i].event;
        if (event->kind != INQ_LOG_TASK_LOST || event->n_ranks == 0 || c->marks[i].survived) {
            continue;
        }
        c->absent = inq_arena_array(c->arena, event->n_ranks, sizeof *c->absent);
        if (c->absent == NULL) {
            return inq_err_set(err, INQ_NOMEM, "no memory for ranks");
        }
        memcpy(c->absent, event->ranks, event->n_ranks * sizeof *c->absent);
        c->n_absent = event->n_ranks;
    }
    return INQ_OK;
}

/* One rank found its peers gone, and all others had waited until their time was out: it came late.
 */
static int take_latecomer(struct inq_log_case *c, struct inq_err *err)
{
    int32_t late = -1;
    size_t n_closed = 0;
    size_t n_timed_out = 0;
    for (size_t i = 0; i < c->n_marks; i++) {
        const struct inq_attributed_line *mark = &c->marks[i];
        if (mark->event->kind != INQ_LOG_PYTHON_ERROR || !reports(mark) || mark->rank < 0) {
            continue;
        }
        bool timed_out = strstr(mark->event->text, "Timed out waiting") != NULL;
        n_timed_out += timed_out;
        n_closed += !timed_out;
        late = timed_out ? late : mark->rank;
    }
    if (n_closed != 1 || n_timed_out < 2 || n_timed_out + 1 != (size_t)c->world) {
        return INQ_OK;
    }
    c->absent = inq_arena_array(c->arena, 1, sizeof *c->absent);
    if (c->absent == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for ranks");
    }
    c->absent[c->n_absent++] = late;
    return INQ_OK;
}

/* How often a process reports that names no rank. */
static size_t fill_ranks(const struct inq_log_case *c, struct ranks *ranks)
{
    size_t n_unnamed = 0;
    for (size_t i = 0; i < c->n_marks; i++) {
        const struct inq_attributed_line *mark = &c->marks[i];
        bool counts = reports(mark) && !is_same_line(c, i);
        if (counts && mark->rank < 0 && mark->event->kind == INQ_LOG_PYTHON_ERROR) {
            n_unnamed += mark->event->count;
        }
        if (mark->rank >= 0 && (size_t)mark->rank < ranks->n) {
            bool told = mark->event->kind == INQ_LOG_SIGTERM_SENT;
            ranks->reported[mark->rank] = ranks->reported[mark->rank] || counts;
            ranks->told[mark->rank] = ranks->told[mark->rank] || told;
            ranks->seen[mark->rank] = true;
        }
    }
    return n_unnamed;
}

/* ---- the launcher's own signals -------------------------------------------------------------- */

/* Killed because it did not end when it was told to. */
static int excuse(struct inq_log_case *c, struct inq_err *err)
{
    struct inq_map told = {0};
    int code = INQ_OK;
    for (size_t i = 0; i < c->n_marks && code == INQ_OK; i++) {
        const struct inq_log_event *event = c->marks[i].event;
        if (event->kind == INQ_LOG_SIGTERM_SENT && event->pid >= 0) {
            code = inq_map_put(&told, (uint64_t)event->pid, 1, err);
        }
    }
    for (size_t i = 0; i < c->n_marks && code == INQ_OK; i++) {
        struct inq_attributed_line *mark = &c->marks[i];
        const struct inq_log_event *event = mark->event;
        uint32_t value = 0;
        bool killed = (event->kind == INQ_LOG_EXIT || event->kind == INQ_LOG_EXIT_ROW) &&
                      inq_log_signal(event->code) == 9;
        if (killed && event->pid >= 0 && inq_map_get(&told, (uint64_t)event->pid, &value)) {
            make_victim(mark);
        }
    }
    inq_map_release(&told);
    return code;
}

/* A context switch that times out (109) follows a program's fault (13, 31) on the same GPU. */
static int excuse_follow_ups(struct inq_log_case *c, struct inq_err *err)
{
    enum { CONTEXT_SWITCH = 109 };
    struct inq_map first = {0}; /* hash of file and GPU -> the first such mark */
    int code = INQ_OK;
    for (uint32_t i = 0; i < c->n_marks && code == INQ_OK; i++) {
        struct inq_attributed_line *mark = &c->marks[i];
        if (mark->event->kind != INQ_LOG_XID) {
            continue;
        }
        uint64_t place[] = {mark->event->file, mark->event->bus};
        uint64_t key = inq_hash_bytes(place, sizeof place);
        uint32_t at = 0;
        bool known = inq_map_get(&first, key, &at);
        if (mark->event->code == CONTEXT_SWITCH && known &&
            c->marks[at].event->line < mark->event->line) {
            make_victim(mark);
        }
        if (mark->means.cls == INQ_FAILURE_CUDA_ERROR && !known) {
            code = inq_map_put(&first, key, i, err);
        }
    }
    inq_map_release(&first);
    return code;
}

int inq_log_find_absent(struct inq_log_case *c, struct inq_err *err)
{
    /* no rank has a number past the most: its lines would be left out */
    size_t world = c->world > 0 && c->world <= INQ_MAX_RANKS ? (size_t)c->world : 0;
    bool *flags = inq_mem_zalloc(3 * world + 1, sizeof *flags);
    if (flags == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for ranks");
    }
    int code = excuse(c, err);
    code = code == INQ_OK ? excuse_follow_ups(c, err) : code;
    if (code != INQ_OK) {
        inq_mem_free(flags);
        return code;
    }
    struct ranks ranks = {world, flags, flags + world, flags + 2 * world};
    size_t n_unnamed = fill_ranks(c, &ranks);
    size_t n = 0;
    bool seen = true;
    for (size_t r = 0; r < world; r++) {
        n += ranks.reported[r];
        seen = seen && ranks.seen[r];
    }
    excuse_exits(c, &ranks, n_unnamed);
    excuse_shell(c);
    excuse_terminated(c, &ranks);
    size_t n_absent = world - n;
    bool enough = n > 1 || (n == 1 && seen); /* of one that reports, the rest may be elsewhere */
    if (enough && n_unnamed == 0 && n_absent > 0 && n_absent <= n && world > 1) {
        code = keep(c, &ranks, n_absent, err);
    } else if (n == 0 && n_unnamed > 0) { /* nobody is named: those that had to be told to end */
        for (size_t r = 0; r < world; r++) {
            ranks.reported[r] = !ranks.told[r];
            n += ranks.reported[r];
        }
        n_absent = world - n;
        code = n_absent > 0 && n_absent <= n ? keep(c, &ranks, n_absent, err) : code;
    }
    inq_mem_free(flags);
    code = code == INQ_OK && c->n_absent == 0 ? take_latecomer(c, err) : code;
    return code == INQ_OK ? take_named(c, err) : code;
}
