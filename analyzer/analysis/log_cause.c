/* SPDX-License-Identifier: Apache-2.0 */
/* Which line is the first cause: those that the run survived and those that only followed are set
 * aside, then the strongest and earliest counts. */
#include "analysis/log_case.h"

#include "base/hash.h"

#include <string.h>

#define SECOND INT64_C(1000000000)

/* Clocks of machines, and what is found late, differ by about this. */
#define SKEW (60 * SECOND)
/* How long before a hang a fault that runs often survive may have led to it. */
#define BEFORE (120 * SECOND)
/* A fault that ends a run does not let it go on for this long. */
#define GOES_ON (300 * SECOND)
/* Time zones are less apart. */
#define ZONES (54000 * SECOND)
/* Training lines that are looked at for each fault. */
#define MAX_PROGRESS 4096
/* Training output behind a line that tells that the run went on: steps, or rows that are not
 * numbered; and the rows in which the last step is looked for. */
enum { MORE_STEPS = 5, MORE_ROWS = 20, FEW_ROWS = 16 };
/* The same on several ranks within this is one incident. */
#define AT_ONCE (5 * SECOND)

static bool timed(const struct inq_log_mark *mark)
{
    return mark->time_ns != INQ_TIME_NONE;
}

/* Whether b is behind a, as far as that can be known. */
static bool behind(const struct inq_log_mark *a, const struct inq_log_mark *b)
{
    if (timed(a) && timed(b) && a->event->file != b->event->file) {
        return b->time_ns > a->time_ns + a->event->coarse_ns + b->event->coarse_ns;
    }
    return a->event->file == b->event->file && b->event->line > a->event->line;
}

/* ---- survived -------------------------------------------------------------------------------- */

/* The furthest step among some rows of training output from `row` on. */
static int64_t furthest(const struct inq_log *log, size_t row)
{
    int64_t step = -1;
    for (size_t i = row; i < log->n_metrics && i < row + FEW_ROWS; i++) {
        step = log->metrics[i].step > step ? log->metrics[i].step : step;
    }
    return step;
}

/* Whether the output that the line stands in tells of more steps behind it than processes that are
 * still alive can make alone. */
static bool went_on(const struct inq_log_mark *mark)
{
    const struct inq_log *log = mark->log;
    size_t from = 0;
    size_t to = log->n_metrics;
    while (from < to) { /* the first row behind the line */
        size_t middle = from + (to - from) / 2;
        bool behind_it = log->metrics[middle].line > mark->event->line;
        from = behind_it ? from : middle + 1;
        to = behind_it ? middle : to;
    }
    size_t n = log->n_metrics - from;
    int64_t last = furthest(log, log->n_metrics > FEW_ROWS ? log->n_metrics - FEW_ROWS : 0);
    int64_t next = n > 0 ? log->metrics[from].step : -1;
    return next >= 0 && last >= 0 ? n >= MORE_STEPS && last >= next + MORE_STEPS : n >= MORE_ROWS;
}

/* The run went on behind a fault: training lines, or the fault's own end. */
static void find_survived(struct inq_log_case *c, struct inq_log_mark *mark)
{
    bool transient = inq_log_transient(mark->event->kind);
    size_t n = 0;
    bool long_after = false;
    for (size_t i = 0; i < c->n_progress; i++) {
        const struct inq_log_mark *other = &c->marks[c->progress[i]];
        if (behind(mark, other)) {
            n++;
            bool both = timed(mark) && timed(other);
            long_after = long_after || (both && other->time_ns - mark->time_ns > GOES_ON);
        }
    }
    mark->survived = went_on(mark) || (transient ? n > 0 : long_after || (n >= 3 && !timed(mark)));
    bool hangs = c->hang.start_ns != INQ_TIME_NONE && timed(mark);
    if (transient && hangs) {
        bool near =
            mark->time_ns >= c->hang.start_ns - BEFORE && mark->time_ns <= c->hang.start_ns + SKEW;
        mark->survived = mark->survived || !near;
    }
}

static bool answers(const struct inq_log_event *fault, const struct inq_log_event *end)
{
    if (fault->kind == INQ_LOG_NFS_DOWN) {
        return end->kind == INQ_LOG_NFS_OK && strcmp(fault->peer, end->peer) == 0;
    }
    return fault->kind == INQ_LOG_LINK_DOWN && end->kind == INQ_LOG_LINK_UP;
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
        bool follows = kind != INQ_LOG_MISMATCH && kind != INQ_LOG_GIL;
        mark->late = follows && mark->time_ns > end_ns + SKEW;
        return;
    }
    if (timed(mark) && timed(first)) {
        mark->late = mark->time_ns > first->time_ns + (of_host ? SKEW : 2 * SECOND);
        return;
    }
    mark->late = may_follow(mark) && mark->event->file == first->event->file &&
                 mark->event->line > first->event->line;
}

static const struct inq_log_mark *first_symptom(const struct inq_log_case *c,
                                                const struct inq_log_mark *like)
{
    const struct inq_log_mark *first = NULL;
    for (size_t i = 0; i < c->n_marks; i++) {
        const struct inq_log_mark *mark = &c->marks[i];
        bool comparable = mark->event->file == like->event->file || (timed(mark) && timed(like));
        if (is_symptom(mark) && comparable && (first == NULL || behind(mark, first))) {
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
            mark->means = (struct inq_log_meaning){INQ_LOG_VICTIM, INQ_FAILURE_UNKNOWN, "", 0};
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
    if (c->progress == NULL || c->ends == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for lines of logs");
    }
    for (size_t i = 0; i < c->n_marks; i++) {
        enum inq_log_kind kind = c->marks[i].event->kind;
        if (kind == INQ_LOG_PROGRESS && c->n_progress < MAX_PROGRESS) {
            c->progress[c->n_progress++] = (uint32_t)i;
        }
        if (kind == INQ_LOG_NFS_OK || kind == INQ_LOG_LINK_UP) {
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
        bool terminal = !inq_log_transient(a->event->kind) && !inq_log_transient(b->event->kind);
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

int inq_log_find_cause(struct inq_log_case *c, struct inq_err *err)
{
    int code = excuse(c, err);
    code = code == INQ_OK ? index_marks(c, err) : code;
    if (code != INQ_OK) {
        return code;
    }
    const struct inq_log_mark *first = NULL; /* of the file or, with times, of all */
    uint32_t file = INQ_NONE;
    bool was_timed = false;
    for (size_t i = 0; i < c->n_marks; i++) {
        struct inq_log_mark *mark = &c->marks[i];
        if (mark->means.role != INQ_LOG_CAUSE || mark->means.weight == 0) {
            mark->survived = went_on(mark);
            continue;
        }
        if (file != mark->event->file || was_timed != timed(mark)) {
            first = first_symptom(c, mark);
            file = mark->event->file;
            was_timed = timed(mark);
        }
        find_survived(c, mark);
        find_ended(c, mark);
        find_late(c, mark, first);
        if (stands(mark) && (c->cause == NULL || better(mark, c->cause))) {
            c->cause = mark;
        }
    }
    if (c->cause == NULL) {
        take_from_other_clock(c);
    }
    if (c->cause != NULL) {
        find_roots(c);
        find_confirmation(c);
    }
    return INQ_OK;
}
