/* SPDX-License-Identifier: Apache-2.0 */
/* Which line is the first cause: those that the run survived and those that only followed are set
 * aside, then the strongest and earliest counts. */
#include "analysis/failure/logs/logs.h"

#include "base/hash.h"

#include <string.h>

#define SECOND INT64_C(1000000000)

/* Clocks of machines, and what is found late, differ by about this. */
#define SKEW (60 * SECOND)
/* How long before a hang a fault that runs often survive may have led to it. */
#define BEFORE (120 * SECOND)
/* A fault that ends a run does not let it go on for this long. */
#define GOES_ON (300 * SECOND)
/* Time zones are apart by multiples of this. */
#define QUARTER (900 * SECOND)
/* Time zones are less apart. */
#define ZONES (54000 * SECOND)
/* Training lines that are looked at for each fault. */
#define MAX_PROGRESS 4096
/* New starts that are looked at; launchers allow few. */
#define MAX_RESTARTS 256
/* The same on several ranks within this is one incident. */
#define AT_ONCE (5 * SECOND)

/* A fault of a kind that a run often survives. */
static bool is_transient(enum inq_log_kind kind)
{
    return kind == INQ_LOG_NCCL_IB_ASYNC || kind == INQ_LOG_SOFT_LOCKUP ||
           kind == INQ_LOG_HUNG_TASK || kind == INQ_LOG_NFS_DOWN || kind == INQ_LOG_LINK_DOWN ||
           kind == INQ_LOG_NOT_FINITE || kind == INQ_LOG_DISK || kind == INQ_LOG_MACHINE_CHECK ||
           kind == INQ_LOG_SXID || kind == INQ_LOG_ERROR_LINE || kind == INQ_LOG_NCCL_WARNING ||
           kind == INQ_LOG_PORT_TAKEN || kind == INQ_LOG_FABRIC_SETUP;
}

static bool timed(const struct inq_log_mark *mark)
{
    return mark->time_ns != INQ_TIME_NONE;
}

/* Whether both stand in one file as it was written. */
static bool same_part(const struct inq_log_mark *a, const struct inq_log_mark *b)
{
    return a->event->file == b->event->file && a->part_end == b->part_end;
}

/* Whether one process wrote both, in this order: between processes the order of lines proves
 * nothing. Lines that name no process are of one, unless the file has others that do. */
static bool one_writer(const struct inq_log_mark *a, const struct inq_log_mark *b)
{
    const struct inq_log_event *x = a->event;
    const struct inq_log_event *y = b->event;
    return same_part(a, b) && a->rank == b->rank && x->local_rank == y->local_rank &&
           x->task == y->task && (x->pid == y->pid || a->rank >= 0);
}

/* Lines of two writers in one file, of which the later tells an earlier time: it was flushed late.
 * Further apart than this, they may be of two time zones. */
static bool is_denied(const struct inq_log_mark *a, const struct inq_log_mark *b)
{
    int64_t apart_ns = timed(a) && timed(b) ? a->time_ns - b->time_ns : 0;
    return a->event->writer != b->event->writer &&
           apart_ns > a->event->coarse_ns + b->event->coarse_ns && apart_ns < QUARTER;
}

/* Whether b is behind a, as far as that can be known. */
static bool behind(const struct inq_log_mark *a, const struct inq_log_mark *b)
{
    /* a kernel's log and a program's in one file were written as two */
    bool joined = inq_log_of_host(a->event->kind) != inq_log_of_host(b->event->kind);
    if (timed(a) && timed(b) && (joined || !same_part(a, b))) {
        return b->time_ns > a->time_ns + a->event->coarse_ns + b->event->coarse_ns;
    }
    return same_part(a, b) && b->event->line > a->event->line && !is_denied(a, b);
}

/* ---- survived -------------------------------------------------------------------------------- */

/* The training output behind the line is of before it, by its times. */
static bool is_flushed_late(const struct inq_log_case *c, const struct inq_log_mark *mark)
{
    for (size_t i = 0; i < c->n_progress; i++) {
        const struct inq_log_mark *other = &c->marks[c->progress[i]];
        if (other->event->file == mark->event->file && other->event->line > mark->event->line) {
            return is_denied(mark, other);
        }
    }
    return false;
}

/* The end of a process that a line names. */
static bool is_named_end(const struct inq_log_mark *mark)
{
    return inq_log_is_end(mark->event->kind) &&
           (mark->rank >= 0 || mark->event->n_ranks > 0 || mark->event->local_rank >= 0);
}

/* The launcher started the workers again, behind this line. */
static bool was_restarted(const struct inq_log_case *c, const struct inq_log_mark *mark)
{
    for (size_t i = 0; i < c->n_restarts; i++) {
        if (behind(mark, &c->marks[c->restarts[i]])) {
            return true;
        }
    }
    return false;
}

/* As was_restarted, and the workers then made steps; by times, as lines of several processes prove
 * nothing by their order. */
static bool has_recovered(const struct inq_log_case *c, const struct inq_log_mark *mark)
{
    for (size_t i = 0; i < c->n_restarts && timed(mark); i++) {
        const struct inq_log_mark *restart = &c->marks[c->restarts[i]];
        if (!timed(restart) || !behind(mark, restart)) {
            continue;
        }
        for (size_t k = 0; k < c->n_progress; k++) {
            const struct inq_log_mark *step = &c->marks[c->progress[k]];
            if (timed(step) && behind(restart, step)) {
                return true;
            }
        }
    }
    return false;
}

/* The run went on behind a fault: training lines, or the fault's own end. */
static void find_survived(struct inq_log_case *c, struct inq_log_mark *mark)
{
    bool raised = mark->fatal;
    bool transient = is_transient(mark->event->kind) || raised;
    size_t n = 0;
    bool long_after = false;
    for (size_t i = 0; i < c->n_progress; i++) {
        const struct inq_log_mark *other = &c->marks[c->progress[i]];
        bool own = !raised || (other->event->writer == mark->event->writer &&
                               other->event->file == mark->event->file);
        if (behind(mark, other)) {
            n += own;
            bool both = timed(mark) && timed(other);
            long_after = long_after || (both && other->time_ns - mark->time_ns > GOES_ON);
        }
    }
    if (is_named_end(mark)) { /* only its launcher or time can say that the run survived it */
        mark->survived = long_after || was_restarted(c, mark);
        return;
    }
    mark->by_order = mark->went_on && !is_flushed_late(c, mark);
    mark->survived = mark->by_order || long_after || (transient ? n > 0 : n >= 3 && !timed(mark));
    mark->by_order = mark->survived && !long_after;
    bool hangs = c->hang.start_ns != INQ_TIME_NONE && timed(mark);
    if (transient && !raised && hangs) {
        bool near =
            mark->time_ns >= c->hang.start_ns - BEFORE && mark->time_ns <= c->hang.start_ns + SKEW;
        mark->survived = mark->survived || !near;
    }
}

/* A machine's fault of long before any of the run's logs began: of another run. */
static bool is_of_before(const struct inq_log_case *c, const struct inq_log_mark *mark)
{
    int64_t began_ns = INQ_TIME_NONE;
    for (size_t l = 0; l < c->trace->n_logs; l++) {
        const struct inq_log *log = c->trace->logs[l];
        bool tells = log->n_metrics > 0 && log->began_ns != INQ_TIME_NONE;
        bool sooner = began_ns == INQ_TIME_NONE || log->began_ns < began_ns;
        began_ns = tells && sooner ? log->began_ns : began_ns;
    }
    return inq_log_of_host(mark->event->kind) && timed(mark) && began_ns != INQ_TIME_NONE &&
           began_ns - mark->time_ns > ZONES;
}

static bool answers(const struct inq_log_event *fault, const struct inq_log_event *end)
{
    if (fault->kind == INQ_LOG_NFS_DOWN) {
        return end->kind == INQ_LOG_NFS_OK && strcmp(fault->peer, end->peer) == 0;
    }
    return (fault->kind == INQ_LOG_LINK_DOWN && end->kind == INQ_LOG_LINK_UP) ||
           (fault->kind == INQ_LOG_POD_FAILED && end->kind == INQ_LOG_POD_STARTED);
}

/* A server that answered, a link that came up again before anything hung. */
static void find_ended(struct inq_log_case *c, struct inq_log_mark *mark)
{
    for (size_t i = 0; i < c->n_ends && !mark->survived; i++) {
        const struct inq_log_mark *end = &c->marks[c->ends[i]];
        if (!answers(mark->event, end->event) || !behind(mark, end)) {
            continue;
        }
        bool before = c->hang.start_ns == INQ_TIME_NONE || !timed(end)
                          ? c->hang.first == NULL || behind(end, c->hang.first)
                          : end->time_ns + SECOND < c->hang.start_ns;
        mark->survived = before;
    }
}

/* ---- late ------------------------------------------------------------------------------------ */

/* What the launcher and Slurm sum up is printed last, whenever it happened. */
static bool summed_up(enum inq_log_kind kind)
{
    return kind == INQ_LOG_EXIT || kind == INQ_LOG_EXIT_ROW || kind == INQ_LOG_SLURM_EXIT ||
           kind == INQ_LOG_KILLED || kind == INQ_LOG_SLURM_OOM || kind == INQ_LOG_POD_OOM;
}

/* The ways in which processes learn that others are gone. */
static bool is_symptom(const struct inq_log_mark *mark)
{
    enum inq_log_kind kind = mark->event->kind;
    return kind == INQ_LOG_WATCHDOG_TIMEOUT || kind == INQ_LOG_WORK_FAILED ||
           kind == INQ_LOG_BLOCKING_WAIT || kind == INQ_LOG_PEER_CLOSED ||
           kind == INQ_LOG_GLOO_CLOSED || kind == INQ_LOG_GLOO_TIMEOUT ||
           kind == INQ_LOG_REMOTE_ERROR;
}

/* What a process may also show because it is torn down after a timeout; memory errors, a full disk
 * or a NaN it does not. */
static bool may_follow(const struct inq_log_mark *mark)
{
    enum inq_log_kind kind = mark->event->kind;
    enum inq_failure_class cls = mark->means.cls;
    bool hardware = cls == INQ_FAILURE_GPU_HARDWARE && mark->means.sub[0] != '\0';
    return (kind == INQ_LOG_PYTHON_ERROR || kind == INQ_LOG_CUDA_ERROR ||
            kind == INQ_LOG_NCCL_CUDA_ERROR || kind == INQ_LOG_SEGFAULT ||
            kind == INQ_LOG_BUS_ERROR || kind == INQ_LOG_LOADER_DIED) &&
           !hardware && cls != INQ_FAILURE_CUDA_OOM && cls != INQ_FAILURE_NUMERICAL;
}

static bool is_loss(enum inq_log_kind kind)
{
    return kind == INQ_LOG_PEER_CLOSED || kind == INQ_LOG_GLOO_CLOSED ||
           kind == INQ_LOG_GLOO_TIMEOUT;
}

static void find_late(const struct inq_log_case *c, struct inq_log_mark *mark,
                      const struct inq_log_mark *first)
{
    enum inq_log_kind kind = mark->event->kind;
    bool of_host = inq_log_of_host(kind);
    if (first == NULL || summed_up(kind)) {
        return;
    }
    if (timed(mark) && c->hang.start_ns != INQ_TIME_NONE) {
        int64_t end_ns = of_host ? c->hang.detected_ns : c->hang.start_ns;
        bool elsewhere = kind == INQ_LOG_PYTHON_ERROR && mark->rank >= 0 &&
                         !inq_log_waited(c, mark->rank); /* it is not among those that waited */
        bool follows = kind != INQ_LOG_MISMATCH && kind != INQ_LOG_GIL && !elsewhere;
        mark->late = follows && mark->time_ns > end_ns + SKEW;
        return;
    }
    if (timed(mark) && timed(first)) {
        /* collectors stamp when they read; an exception of one's own is no answer to a timeout */
        bool own = of_host || kind == INQ_LOG_PYTHON_ERROR;
        mark->late = mark->time_ns > first->time_ns + (own ? SKEW : 2 * SECOND);
        return;
    }
    /* a process ends once: an exception behind another process's loss of a peer, without labels, is
     * of a third */
    bool other = mark->fatal && mark->event->writer == 0 && is_loss(first->event->kind);
    mark->late = may_follow(mark) && !other && one_writer(mark, first) &&
                 mark->event->line > first->event->line;
}

/* The launcher started the workers again between the two: what comes later is of others. */
static bool is_of_earlier_start(const struct inq_log_case *c, const struct inq_log_mark *a,
                                const struct inq_log_mark *b)
{
    for (size_t i = 0; i < c->n_restarts; i++) {
        const struct inq_log_mark *restart = &c->marks[c->restarts[i]];
        if (behind(a, restart) && behind(restart, b)) {
            return true;
        }
    }
    return false;
}

static size_t count_restarts(const struct inq_log_case *c, const struct inq_log_mark *mark)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n_restarts; i++) {
        n += behind(&c->marks[c->restarts[i]], mark);
    }
    return n;
}

static const struct inq_log_mark *first_symptom(const struct inq_log_case *c,
                                                const struct inq_log_mark *like)
{
    const struct inq_log_mark *first = NULL;
    for (size_t i = 0; i < c->n_marks; i++) {
        const struct inq_log_mark *mark = &c->marks[i];
        bool comparable = one_writer(mark, like) || (timed(mark) && timed(like));
        if (is_symptom(mark) && comparable && (first == NULL || behind(mark, first)) &&
            !is_of_earlier_start(c, mark, like)) {
            first = mark;
        }
    }
    return first;
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
        struct inq_log_mark *mark = &c->marks[i];
        const struct inq_log_event *event = mark->event;
        uint32_t value = 0;
        bool killed = (event->kind == INQ_LOG_EXIT || event->kind == INQ_LOG_EXIT_ROW) &&
                      inq_log_signal(event->code) == 9;
        if (killed && event->pid >= 0 && inq_map_get(&told, (uint64_t)event->pid, &value)) {
            mark->means.role = INQ_LOG_VICTIM;
            mark->means.weight = 0;
        }
    }
    inq_map_release(&told);
    return code;
}

/* Marks that are asked for again and again. */
static int index_marks(struct inq_log_case *c, struct inq_err *err)
{
    c->progress = inq_arena_array(c->arena, c->n_marks, sizeof *c->progress);
    c->ends = inq_arena_array(c->arena, c->n_marks, sizeof *c->ends);
    c->restarts = inq_arena_array(c->arena, MAX_RESTARTS, sizeof *c->restarts);
    if (c->progress == NULL || c->ends == NULL || c->restarts == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for lines of logs");
    }
    for (size_t i = 0; i < c->n_marks; i++) {
        enum inq_log_kind kind = c->marks[i].event->kind;
        if (kind == INQ_LOG_PROGRESS && c->n_progress < MAX_PROGRESS) {
            c->progress[c->n_progress++] = (uint32_t)i;
        }
        if (kind == INQ_LOG_RESTARTED && c->n_restarts < MAX_RESTARTS) {
            c->restarts[c->n_restarts++] = (uint32_t)i;
        }
        if (kind == INQ_LOG_NFS_OK || kind == INQ_LOG_LINK_UP || kind == INQ_LOG_POD_STARTED) {
            c->ends[c->n_ends++] = (uint32_t)i;
        }
    }
    return INQ_OK;
}

/* ---- choosing -------------------------------------------------------------------------------- */

/* 3: speaks for itself; 2: fits; 1: a hint. The end of an allotted time may be the end of a hang.
 */
static int tier(const struct inq_log_mark *mark)
{
    int weight = mark->means.weight;
    bool waits = mark->means.cls == INQ_FAILURE_SCHEDULER;
    return weight >= INQ_LOG_STRONG && !waits ? 3 : weight >= INQ_LOG_FAIR ? 2 : weight > 0;
}

static bool better(const struct inq_log_mark *a, const struct inq_log_mark *b)
{
    int by_tier = tier(a) - tier(b);
    bool both = timed(a) && timed(b);
    int64_t apart = both ? a->time_ns - b->time_ns : 0;
    if (by_tier != 0) {
        bool terminal = !is_transient(a->event->kind) && !is_transient(b->event->kind);
        bool long_ago =
            both && terminal && tier(a) > 1 && tier(b) > 1 && (apart > SKEW || apart < -SKEW);
        return long_ago ? apart < 0 : by_tier > 0;
    }
    int64_t coarse = a->event->coarse_ns + b->event->coarse_ns;
    if (both && (apart > coarse || apart < -coarse)) {
        return apart < 0;
    }
    if (a->means.weight != b->means.weight) {
        return a->means.weight > b->means.weight;
    }
    return a->event->file == b->event->file && a->event->line < b->event->line;
}

static bool stands(const struct inq_log_mark *mark)
{
    return mark->means.role == INQ_LOG_CAUSE && !mark->survived && !mark->late &&
           mark->means.weight > 0;
}

/* A context switch that times out (109) follows a program's fault (13, 31) on the same GPU. */
static void excuse_follow_ups(struct inq_log_case *c)
{
    enum { CONTEXT_SWITCH = 109 };
    for (size_t i = 0; i < c->n_marks; i++) {
        struct inq_log_mark *mark = &c->marks[i];
        bool late = mark->event->kind == INQ_LOG_XID && mark->event->code == CONTEXT_SWITCH;
        for (size_t k = 0; k < c->n_marks && late; k++) {
            const struct inq_log_mark *first = &c->marks[k];
            bool fault =
                first->event->kind == INQ_LOG_XID && first->means.cls == INQ_FAILURE_CUDA_ERROR &&
                first->event->bus == mark->event->bus && first->event->file == mark->event->file &&
                first->event->line < mark->event->line;
            if (fault) {
                mark->means.role = INQ_LOG_VICTIM;
                mark->means.weight = 0;
                late = false;
            }
        }
    }
}

/* One mechanism, at once: one incident. */
static void find_roots(struct inq_log_case *c)
{
    const struct inq_log_mark *cause = c->cause;
    for (size_t i = 0; i < c->n_marks; i++) {
        struct inq_log_mark *mark = &c->marks[i];
        bool follows =
            (mark->event->kind == INQ_LOG_SXID && cause->event->kind != INQ_LOG_SXID) ||
            (mark->event->kind == INQ_LOG_XID && mark->event->seq > 0 && cause->event->seq < 0);
        bool same = mark->means.cls == cause->means.cls && tier(mark) >= 2 && !follows &&
                    (mark->event->kind != INQ_LOG_PYTHON_ERROR ||
                     strcmp(mark->event->op, cause->event->op) == 0);
        bool apart = timed(mark) && timed(cause) && mark->time_ns > cause->time_ns + AT_ONCE;
        mark->root = mark == cause || (stands(mark) && same && !apart && tier(cause) >= 2);
    }
}

/* The kernel's word for what a process saw, or the other way round. */
static void find_confirmation(struct inq_log_case *c)
{
    const struct inq_log_mark *cause = c->cause;
    bool of_host = inq_log_of_host(cause->event->kind);
    for (size_t i = 0; i < c->n_marks && c->confirm == NULL; i++) {
        const struct inq_log_mark *mark = &c->marks[i];
        bool other = inq_log_of_host(mark->event->kind) != of_host;
        bool near =
            !timed(mark) || !timed(cause) ||
            (mark->time_ns - cause->time_ns < GOES_ON && cause->time_ns - mark->time_ns < GOES_ON);
        bool same_class = mark->means.role == INQ_LOG_CAUSE && mark->means.cls == cause->means.cls;
        bool killed = cause->means.cls == INQ_FAILURE_HOST &&
                      strcmp(mark->means.sub, "killed") == 0 &&
                      strcmp(cause->means.sub, "memory") == 0;
        bool gpu = cause->means.cls == INQ_FAILURE_GPU_HARDWARE &&
                   mark->means.cls == INQ_FAILURE_CUDA_ERROR;
        bool elsewhere = mark->rank >= 0 && cause->rank >= 0 && mark->rank != cause->rank;
        c->confirm = other && near && !elsewhere && (same_class || killed || gpu) &&
                             mark->means.role == INQ_LOG_CAUSE
                         ? mark
                         : NULL;
    }
}

static bool is_suspect(const struct inq_log_hang *hang, int32_t rank)
{
    bool found = hang->n_suspects == 0;
    for (size_t i = 0; i < hang->n_suspects; i++) {
        found = found || hang->suspects[i] == rank;
    }
    return found;
}

/* A fault of a machine that nothing but its clock sets aside: time zones and clocks differ, and
 * nothing else is left. */
static void take_from_other_clock(struct inq_log_case *c)
{
    for (size_t i = 0; i < c->n_marks && c->hang.detected_ns != INQ_TIME_NONE; i++) {
        struct inq_log_mark *mark = &c->marks[i];
        bool fault = mark->late && !mark->survived && timed(mark) &&
                     mark->means.weight >= INQ_LOG_STRONG && inq_log_of_host(mark->event->kind) &&
                     c->hang.first != NULL && mark->event->file != c->hang.first->event->file;
        if (fault && mark->time_ns - c->hang.detected_ns < ZONES &&
            is_suspect(&c->hang, mark->rank) && (c->cause == NULL || better(mark, c->cause))) {
            c->cause = mark;
            c->other_clock = true;
        }
    }
    if (c->other_clock) {
        c->cause->late = false;
    }
}

/* ---- how the run ended ----------------------------------------------------------------------- */

/* What only a run that died leaves. */
static bool is_bad_end(const struct inq_log_mark *mark)
{
    enum inq_log_kind kind = mark->event->kind;
    bool killed = kind == INQ_LOG_EXIT_ROW || kind == INQ_LOG_KILLED || kind == INQ_LOG_MPI_ABORT ||
                  kind == INQ_LOG_SEGFAULT || kind == INQ_LOG_ABORTED || kind == INQ_LOG_POD_OOM ||
                  kind == INQ_LOG_SLURM_TIME_LIMIT || kind == INQ_LOG_SLURM_OOM ||
                  kind == INQ_LOG_MPI_TIME_LIMIT || kind == INQ_LOG_TIME_LIMIT ||
                  kind == INQ_LOG_MEMORY_LIMIT;
    bool given_up = kind == INQ_LOG_PYTHON_ERROR && strstr(mark->event->op, "ChildFailed") != NULL;
    return killed || given_up || (kind == INQ_LOG_SLURM_EXIT && mark->event->code != 0) ||
           kind == INQ_LOG_EXIT;
}

static void find_ending(struct inq_log_case *c)
{
    bool ends = false;
    bool gave_up = false;
    bool again = false; /* the scheduler starts the job once more, and says so when it ends it */
    for (size_t i = 0; i < c->n_marks; i++) {
        const struct inq_log_event *event = c->marks[i].event;
        c->ended_well = c->ended_well || event->kind == INQ_LOG_ENDED_WELL;
        again = again ||
                (event->kind == INQ_LOG_SLURM_PREEMPTED && strstr(event->text, "REQUEUE") != NULL);
    }
    for (size_t i = 0; i < c->n_marks; i++) {
        const struct inq_log_mark *mark = &c->marks[i];
        bool stopped = mark->event->kind == INQ_LOG_SLURM_EXIT &&
                       inq_log_signal(mark->event->code) == 15 && again;
        ends = ends || is_bad_end(mark);
        gave_up = gave_up || (is_bad_end(mark) && mark->event->kind != INQ_LOG_EXIT && !stopped);
    }
    /* a launcher that starts its workers again has told of their ends before, without a summary */
    c->ended_badly = c->ended_well ? gave_up : ends;
}

/* The run says that it is complete, and nothing that ended says otherwise: whatever came before,
 * it was survived. What one process writes after its own completion is its own. A warning counts
 * only in a run that ended badly. */
static bool was_ended_well(const struct inq_log_case *c, const struct inq_log_mark *mark)
{
    if (mark->means.warned && !c->ended_badly) {
        return true;
    }
    if (!c->ended_well || c->ended_badly) {
        return false;
    }
    bool uncaught = mark->event->kind == INQ_LOG_PYTHON_ERROR && mark->means.role == INQ_LOG_CAUSE;
    for (size_t i = 0; i < c->n_marks && uncaught; i++) {
        const struct inq_log_mark *end = &c->marks[i];
        if (end->event->kind == INQ_LOG_ENDED_WELL && one_writer(end, mark) &&
            end->event->line < mark->event->line) {
            return false;
        }
    }
    return true;
}

/* Nothing explains the end but what only the order of lines had set aside: of that the last. A run
 * that went on for long afterwards must have ended badly for it to count. */
static void readmit(struct inq_log_case *c)
{
    struct inq_log_mark *best = NULL;
    for (size_t i = 0; i < c->n_marks; i++) {
        struct inq_log_mark *mark = &c->marks[i];
        bool own = mark->means.role == INQ_LOG_CAUSE && mark->survived && mark->by_order &&
                   mark->means.weight >= INQ_LOG_FAIR && !was_ended_well(c, mark) &&
                   (c->ended_badly || (mark->fatal && !mark->went_on));
        bool later = best == NULL || best->event->file != mark->event->file ||
                     mark->event->line > best->event->line;
        best = own && later ? mark : best;
    }
    if (best != NULL) {
        best->survived = false;
        c->cause = best;
    }
}

int inq_log_find_cause(struct inq_log_case *c, struct inq_err *err)
{
    int code = excuse(c, err);
    excuse_follow_ups(c);
    code = code == INQ_OK ? inq_log_find_absent(c, err) : code;
    code = code == INQ_OK ? index_marks(c, err) : code;
    if (code != INQ_OK) {
        return code;
    }
    const struct inq_log_mark *first = NULL; /* of the file or, with times, of all */
    const struct inq_log_mark *like = NULL;  /* that `first` was looked for */
    find_ending(c);
    for (size_t i = 0; i < c->n_marks; i++) {
        struct inq_log_mark *mark = &c->marks[i];
        if (mark->means.role != INQ_LOG_CAUSE || mark->means.weight == 0) {
            mark->survived = mark->went_on || was_ended_well(c, mark) || has_recovered(c, mark);
            continue;
        }
        bool same = like != NULL && one_writer(like, mark) && timed(like) == timed(mark) &&
                    c->n_restarts == 0;
        first = same ? first : first_symptom(c, mark);
        like = mark;
        find_survived(c, mark);
        mark->survived = mark->survived || was_ended_well(c, mark) || is_of_before(c, mark) ||
                         has_recovered(c, mark);
        find_ended(c, mark);
        find_late(c, mark, first);
        if (stands(mark) && (c->cause == NULL || better(mark, c->cause))) {
            c->cause = mark;
        }
    }
    if (c->cause == NULL) {
        take_from_other_clock(c);
    }
    if (c->cause == NULL || c->cause->means.weight < INQ_LOG_FAIR) {
        readmit(c);
    }
    if (c->cause != NULL) {
        c->n_earlier = count_restarts(c, c->cause);
        find_roots(c);
        find_confirmation(c);
    }
    return INQ_OK;
}
