/* SPDX-License-Identifier: Apache-2.0 */
/* Which line is the first cause: those that the run survived and those that only followed are set
 * aside, then the strongest and earliest counts. */
#include "analysis/failure/logs/logs.h"

#include "base/hash.h"
#include "base/mem.h"

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

static bool timed(const struct inq_attributed_line *mark)
{
    return mark->time_ns != INQ_TIME_NONE;
}

/* Whether both stand in one file as it was written. */
static bool same_part(const struct inq_attributed_line *a, const struct inq_attributed_line *b)
{
    return a->event->file == b->event->file && a->part_end == b->part_end;
}

/* Whether one process wrote both, in this order: between processes the order of lines proves
 * nothing. Lines that name no process are of one, unless the file has others that do. */
static bool one_writer(const struct inq_attributed_line *a, const struct inq_attributed_line *b)
{
    const struct inq_log_event *x = a->event;
    const struct inq_log_event *y = b->event;
    return same_part(a, b) && a->rank == b->rank && x->local_rank == y->local_rank &&
           x->task == y->task && (x->pid == y->pid || a->rank >= 0);
}

/* Lines of two writers in one file, of which the later tells an earlier time: it was flushed late,
 * or its file was put behind the other's; those without a label may be of any writer. Further apart
 * than this, they may be of two time zones. */
static bool is_denied(const struct inq_attributed_line *a, const struct inq_attributed_line *b)
{
    int64_t apart_ns = timed(a) && timed(b) ? a->time_ns - b->time_ns : 0;
    bool may_be_two = a->event->writer != b->event->writer || a->event->writer == 0;
    return may_be_two && apart_ns > a->event->coarse_ns + b->event->coarse_ns && apart_ns < QUARTER;
}

/* Whether b is behind a, as far as that can be known. */
static bool behind(const struct inq_attributed_line *a, const struct inq_attributed_line *b)
{
    /* a kernel's log and a program's in one file were written as two */
    bool joined = inq_log_of_host(a->event->kind) != inq_log_of_host(b->event->kind);
    if (timed(a) && timed(b) && (joined || !same_part(a, b))) {
        return b->time_ns > a->time_ns + a->event->coarse_ns + b->event->coarse_ns;
    }
    return same_part(a, b) && b->event->line > a->event->line && !is_denied(a, b);
}

/* ---- training lines -------------------------------------------------------------------------- */

/* The latest times of two parts of files: one of them is not the part that is asked for. */
struct latest {
    const struct inq_attributed_line *of[2];
    int64_t ns[2];
};

/* What is asked of the training lines for every fault; there may be as many as faults. */
struct trained {
    const struct inq_log_case *c;
    int64_t *after_ns;    /* [n_progress + 1] the latest time from this line to its part's end */
    struct latest any;    /* of all */
    struct latest surely; /* of all, less what the stamps leave open */
    struct inq_map index; /* hash of file and writer -> its place */
    size_t n_writers, cap_writers;
    struct latest *writers; /* the same as `surely`, of one writer in one file */
    struct inq_map last;    /* hash of file, part and writer -> its last line, of progress */
};

static void take_time(struct latest *latest, const struct inq_attributed_line *mark, int64_t ns)
{
    size_t own = latest->of[0] == NULL || same_part(latest->of[0], mark) ? 0 : 1;
    if (latest->of[own] == NULL || ns > latest->ns[own]) {
        latest->of[own] = mark;
        latest->ns[own] = ns;
    }
    if (own == 1 && latest->ns[1] > latest->ns[0]) {
        *latest = (struct latest){{latest->of[1], latest->of[0]}, {latest->ns[1], latest->ns[0]}};
    }
}

/* The latest time outside the mark's part, INQ_TIME_NONE none; of all for a line of a machine,
 * which is in no part with those of programs. */
static int64_t time_elsewhere(const struct latest *latest, const struct inq_attributed_line *mark)
{
    bool own = latest->of[0] != NULL && same_part(latest->of[0], mark) &&
               !inq_log_of_host(mark->event->kind);
    size_t other = own ? 1 : 0;
    return latest->of[other] != NULL ? latest->ns[other] : INQ_TIME_NONE;
}

static uint64_t writer_key(const struct inq_attributed_line *mark, uint64_t part_end)
{
    uint64_t key[] = {mark->event->file, mark->event->writer, part_end};
    return inq_hash_bytes(key, sizeof key);
}

/* The latest of one writer in one file; NULL: none. */
static struct latest *of_writer(const struct trained *t, const struct inq_attributed_line *mark)
{
    uint32_t at = 0;
    return inq_map_get(&t->index, writer_key(mark, 0), &at) ? &t->writers[at] : NULL;
}

static int take_writer(struct trained *t, uint32_t i, struct inq_err *err)
{
    const struct inq_attributed_line *mark = t->c->progress.at[i];
    int code = inq_map_put(&t->last, writer_key(mark, mark->part_end), i, err);
    if (code == INQ_OK && timed(mark) && of_writer(t, mark) == NULL) {
        code = inq_mem_grow(&t->writers, &t->cap_writers, t->n_writers + 1, sizeof *t->writers,
                            UINT32_MAX, err);
        if (code == INQ_OK) {
            t->writers[t->n_writers] = (struct latest){.of = {NULL}};
            code = inq_map_put(&t->index, writer_key(mark, 0), (uint32_t)t->n_writers++, err);
        }
    }
    struct latest *own = of_writer(t, mark);
    if (code == INQ_OK && own != NULL && timed(mark)) {
        int64_t surely_ns = mark->time_ns - mark->event->coarse_ns;
        take_time(&t->any, mark, mark->time_ns);
        take_time(&t->surely, mark, surely_ns);
        take_time(own, mark, surely_ns);
    }
    return code;
}

static int begin_trained(struct trained *t, const struct inq_log_case *c, struct inq_err *err)
{
    *t = (struct trained){.c = c};
    t->after_ns = inq_arena_array(c->arena, c->progress.n + 1, sizeof *t->after_ns);
    if (t->after_ns == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for lines of logs");
    }
    const struct inq_attributed_line *next = NULL;
    for (size_t i = c->progress.n; i-- > 0;) {
        const struct inq_attributed_line *mark = c->progress.at[i];
        bool goes_on = next != NULL && same_part(mark, next);
        int64_t behind_ns = goes_on ? t->after_ns[i + 1] : INQ_TIME_NONE;
        bool later = timed(mark) && (behind_ns == INQ_TIME_NONE || mark->time_ns > behind_ns);
        t->after_ns[i] = later ? mark->time_ns : behind_ns;
        next = mark;
    }
    int code = INQ_OK;
    for (uint32_t i = 0; i < c->progress.n && code == INQ_OK; i++) {
        code = take_writer(t, i, err);
    }
    return code;
}

static void end_trained(struct trained *t)
{
    inq_map_release(&t->index);
    inq_map_release(&t->last);
    inq_mem_free(t->writers);
}

/* The first training line of the mark's file behind it; n_progress: none. */
static size_t next_trained(const struct trained *t, const struct inq_attributed_line *mark)
{
    size_t lo = 0;
    size_t hi = t->c->progress.n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        const struct inq_log_event *event = t->c->progress.at[mid]->event;
        bool before = event->file != mark->event->file ? event->file < mark->event->file
                                                       : event->line <= mark->event->line;
        lo = before ? mid + 1 : lo;
        hi = before ? hi : mid;
    }
    bool found = lo < t->c->progress.n && t->c->progress.at[lo]->event->file == mark->event->file;
    return found ? lo : t->c->progress.n;
}

/* Whether any is certainly this much later than the mark. */
static bool trained_later(const struct trained *t, const struct inq_attributed_line *mark)
{
    size_t at = next_trained(t, mark);
    bool own = at < t->c->progress.n && same_part(mark, t->c->progress.at[at]);
    int64_t own_ns = own ? t->after_ns[at] : INQ_TIME_NONE;
    int64_t other_ns = time_elsewhere(&t->any, mark);
    /* stamps are coarse by a second at most, which is less */
    return timed(mark) && ((own_ns != INQ_TIME_NONE && own_ns - mark->time_ns > GOES_ON) ||
                           (other_ns != INQ_TIME_NONE && other_ns - mark->time_ns > GOES_ON));
}

/* How many are behind the mark, at most `most`; by its own writer alone: whether any is. */
static size_t count_trained(const struct trained *t, const struct inq_attributed_line *mark,
                            bool own, size_t most)
{
    const struct latest *latest = own ? of_writer(t, mark) : &t->surely;
    int64_t other_ns = latest != NULL ? time_elsewhere(latest, mark) : INQ_TIME_NONE;
    if (timed(mark) && other_ns != INQ_TIME_NONE &&
        other_ns > mark->time_ns + mark->event->coarse_ns) {
        return most;
    }
    if (own) {
        uint32_t last = 0;
        return inq_map_get(&t->last, writer_key(mark, mark->part_end), &last) &&
               behind(mark, t->c->progress.at[last]);
    }
    size_t n = 0;
    for (size_t i = next_trained(t, mark); i < t->c->progress.n && n < most; i++) {
        const struct inq_attributed_line *other = t->c->progress.at[i];
        if (!same_part(mark, other)) {
            break;
        }
        n += behind(mark, other);
    }
    return n;
}

/* The ways in which processes learn that others are gone. */
static bool is_symptom(const struct inq_attributed_line *mark)
{
    enum inq_log_kind kind = mark->event->kind;
    return kind == INQ_LOG_WATCHDOG_TIMEOUT || kind == INQ_LOG_WORK_FAILED ||
           kind == INQ_LOG_BLOCKING_WAIT || kind == INQ_LOG_PEER_CLOSED ||
           kind == INQ_LOG_GLOO_CLOSED || kind == INQ_LOG_GLOO_TIMEOUT ||
           kind == INQ_LOG_REMOTE_ERROR;
}

/* ---- marks that are asked for again and again -------------------------------------------------
 */

struct judging {
    struct inq_log_case *c;
    struct trained trained;
    struct inq_attributed_lines symptoms; /* of which the first counts */
    struct inq_attributed_lines restarts; /* of the workers */
    struct inq_attributed_lines
        recovered;                    /* those of them after which there were steps, by times */
    struct inq_attributed_lines well; /* processes that say that they are complete */
    struct inq_attributed_lines ends; /* of transient faults */
    int64_t began_ns;                 /* of the first log with training; INQ_TIME_NONE unknown */
};

static bool is_restart(const struct inq_attributed_line *mark)
{
    return mark->event->kind == INQ_LOG_RESTARTED;
}

static bool is_well(const struct inq_attributed_line *mark)
{
    return mark->event->kind == INQ_LOG_ENDED_WELL;
}

static bool is_end_of_fault(const struct inq_attributed_line *mark)
{
    enum inq_log_kind kind = mark->event->kind;
    return kind == INQ_LOG_NFS_OK || kind == INQ_LOG_LINK_UP || kind == INQ_LOG_POD_STARTED;
}

static bool is_progress(const struct inq_attributed_line *mark)
{
    return mark->event->kind == INQ_LOG_PROGRESS;
}

/* The marks of a kind. */
static int list_marks(struct inq_log_case *c,
                      bool (*of_kind)(const struct inq_attributed_line *mark),
                      struct inq_attributed_lines *marks, struct inq_err *err)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n_marks; i++) {
        n += of_kind(&c->marks[i]);
    }
    *marks = (struct inq_attributed_lines){.at = inq_arena_array(c->arena, n, sizeof(void *))};
    if (marks->at == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for lines of logs");
    }
    for (size_t i = 0; i < c->n_marks; i++) {
        if (of_kind(&c->marks[i])) {
            marks->at[marks->n++] = &c->marks[i];
        }
    }
    return INQ_OK;
}

/* The restarts with steps behind them. */
static int list_recovered(struct judging *j, struct inq_err *err)
{
    const struct inq_log_case *c = j->c;
    j->recovered.at = inq_arena_array(c->arena, j->restarts.n, sizeof(void *));
    if (j->recovered.at == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for lines of logs");
    }
    for (size_t i = 0; i < j->restarts.n; i++) {
        const struct inq_attributed_line *restart = j->restarts.at[i];
        bool stepped = false;
        for (size_t k = c->progress.n; k > 0 && timed(restart) && !stepped; k--) {
            stepped = timed(c->progress.at[k - 1]) && behind(restart, c->progress.at[k - 1]);
        }
        if (stepped) {
            j->recovered.at[j->recovered.n++] = restart;
        }
    }
    return INQ_OK;
}

static int begin_judging(struct judging *j, struct inq_log_case *c, struct inq_err *err)
{
    const struct {
        bool (*of_kind)(const struct inq_attributed_line *mark);
        struct inq_attributed_lines *marks;
    } lists[] = {{is_progress, &c->progress},
                 {is_symptom, &j->symptoms},
                 {is_restart, &j->restarts},
                 {is_well, &j->well},
                 {is_end_of_fault, &j->ends}};
    int code = INQ_OK;
    *j = (struct judging){.c = c, .began_ns = INQ_TIME_NONE};
    for (size_t i = 0; i < sizeof lists / sizeof *lists && code == INQ_OK; i++) {
        code = list_marks(c, lists[i].of_kind, lists[i].marks, err);
    }
    for (size_t l = 0; l < c->trace->n_logs; l++) {
        const struct inq_log *log = c->trace->logs[l];
        bool tells = log->n_metrics > 0 && log->began_ns != INQ_TIME_NONE;
        bool sooner = j->began_ns == INQ_TIME_NONE || log->began_ns < j->began_ns;
        j->began_ns = tells && sooner ? log->began_ns : j->began_ns;
    }
    code = code == INQ_OK ? list_recovered(j, err) : code;
    return code == INQ_OK ? begin_trained(&j->trained, c, err) : code;
}

/* ---- survived -------------------------------------------------------------------------------- */

/* The training output behind the line is of before it, by its times. */
static bool is_flushed_late(const struct trained *t, const struct inq_attributed_line *mark)
{
    size_t next = next_trained(t, mark);
    return next < t->c->progress.n && is_denied(mark, t->c->progress.at[next]);
}

/* The end of a process that a line names. */
static bool is_named_end(const struct inq_attributed_line *mark)
{
    bool end = inq_log_is_end(mark->event->kind) || mark->event->kind == INQ_LOG_SLURM_OOM;
    return end && (mark->rank >= 0 || mark->event->n_ranks > 0 || mark->event->local_rank >= 0);
}

/* The launcher started the workers again, behind this line. */
static bool was_restarted(const struct judging *j, const struct inq_attributed_line *mark)
{
    for (size_t i = j->restarts.n; i > 0; i--) { /* the last is behind most lines */
        if (behind(mark, j->restarts.at[i - 1])) {
            return true;
        }
    }
    return false;
}

/* As was_restarted, and the workers then made steps; by times, as order proves nothing. */
static bool has_recovered(const struct judging *j, const struct inq_attributed_line *mark)
{
    for (size_t i = j->recovered.n; i > 0 && timed(mark); i--) {
        if (behind(mark, j->recovered.at[i - 1])) {
            return true;
        }
    }
    return false;
}

/* The run went on behind a fault: training lines, or the fault's own end. */
static void find_survived(const struct judging *j, struct inq_attributed_line *mark)
{
    enum { FEW = 3 };
    const struct trained *t = &j->trained;
    const struct inq_log_case *c = j->c;
    bool raised = mark->fatal;
    bool transient = is_transient(mark->event->kind) || raised;
    bool long_after = trained_later(t, mark);
    if (is_named_end(mark)) { /* only its launcher or time can say that the run survived it */
        mark->survived = long_after || was_restarted(j, mark);
        return;
    }
    bool proves = !mark->beside || timed(mark);
    size_t n = proves ? count_trained(t, mark, raised, transient ? 1 : FEW) : 0;
    mark->by_order = mark->went_on && !is_flushed_late(t, mark);
    mark->survived = mark->by_order || long_after || (transient ? n > 0 : n == FEW && !timed(mark));
    mark->by_order = mark->survived && !long_after;
    bool hangs = c->hang.start_ns != INQ_TIME_NONE && timed(mark);
    if (transient && !raised && hangs) {
        bool near =
            mark->time_ns >= c->hang.start_ns - BEFORE && mark->time_ns <= c->hang.start_ns + SKEW;
        mark->survived = mark->survived || !near;
    }
}

/* A machine's fault of long before any of the run's logs began: of another run. */
static bool is_of_before(const struct judging *j, const struct inq_attributed_line *mark)
{
    return inq_log_of_host(mark->event->kind) && timed(mark) && j->began_ns != INQ_TIME_NONE &&
           j->began_ns - mark->time_ns > ZONES;
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
static void find_ended(const struct judging *j, struct inq_attributed_line *mark)
{
    const struct inq_log_case *c = j->c;
    for (size_t i = 0; i < j->ends.n && !mark->survived; i++) {
        const struct inq_attributed_line *end = j->ends.at[i];
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

/* What a process may also show because it is torn down after a timeout; memory errors, a full disk
 * or a NaN it does not. */
static bool may_follow(const struct inq_attributed_line *mark)
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

static void find_late(const struct inq_log_case *c, struct inq_attributed_line *mark,
                      const struct inq_attributed_line *first)
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
static bool is_of_earlier_start(const struct judging *j, const struct inq_attributed_line *a,
                                const struct inq_attributed_line *b)
{
    for (size_t i = 0; i < j->restarts.n; i++) {
        const struct inq_attributed_line *restart = j->restarts.at[i];
        if (behind(a, restart) && behind(restart, b)) {
            return true;
        }
    }
    return false;
}

/* Starts of the workers before a line. That the job was queued again, and then cancelled for it, is
 * one event. */
static size_t count_restarts(const struct judging *j, const struct inq_attributed_line *mark)
{
    size_t n = 0;
    bool queued = false; /* by the last of them */
    for (size_t i = 0; i < j->restarts.n; i++) {
        if (behind(j->restarts.at[i], mark)) {
            queued = strstr(j->restarts.at[i]->event->text, "equeued") != NULL;
            n++;
        }
    }
    return n - (queued && mark->event->kind == INQ_LOG_SLURM_PREEMPTED);
}

static const struct inq_attributed_line *first_symptom(const struct judging *j,
                                                       const struct inq_attributed_line *like)
{
    const struct inq_attributed_line *first = NULL;
    for (size_t i = 0; i < j->symptoms.n; i++) {
        const struct inq_attributed_line *mark = j->symptoms.at[i];
        bool comparable = one_writer(mark, like) || (timed(mark) && timed(like));
        if (comparable && (first == NULL || behind(mark, first)) &&
            !is_of_earlier_start(j, mark, like)) {
            first = mark;
        }
    }
    return first;
}

/* ---- choosing -------------------------------------------------------------------------------- */

/* 3: speaks for itself; 2: fits; 1: a hint. The end of an allotted time may be the end of a hang.
 */
static int tier(const struct inq_attributed_line *mark)
{
    int weight = mark->means.weight;
    bool waits = mark->means.cls == INQ_FAILURE_SCHEDULER;
    return weight >= INQ_LOG_STRONG && !waits ? 3 : weight >= INQ_LOG_FAIR ? 2 : weight > 0;
}

static bool better(const struct inq_attributed_line *a, const struct inq_attributed_line *b)
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
    /* what one process raises while it handles another exception is of one moment */
    bool chained = a->event->kind == INQ_LOG_PYTHON_ERROR || a->raised;
    chained = chained && (b->event->kind == INQ_LOG_PYTHON_ERROR || b->raised) && a->rank >= 0 &&
              one_writer(a, b);
    coarse = chained && coarse < SECOND ? SECOND : coarse;
    if (both && (apart > coarse || apart < -coarse)) {
        return apart < 0;
    }
    if (a->means.weight != b->means.weight) {
        return a->means.weight > b->means.weight;
    }
    return a->event->file == b->event->file && a->event->line < b->event->line;
}

static bool stands(const struct inq_attributed_line *mark)
{
    return mark->means.role == INQ_LOG_CAUSE && !mark->survived && !mark->late &&
           mark->means.weight > 0;
}

/* One mechanism, at once: one incident. */
static void find_roots(struct inq_log_case *c)
{
    const struct inq_attributed_line *cause = c->cause;
    for (size_t i = 0; i < c->n_marks; i++) {
        struct inq_attributed_line *mark = &c->marks[i];
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
    const struct inq_attributed_line *cause = c->cause;
    bool of_host = inq_log_of_host(cause->event->kind);
    for (size_t i = 0; i < c->n_marks && c->confirm == NULL; i++) {
        const struct inq_attributed_line *mark = &c->marks[i];
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

static bool is_suspected(const struct inq_log_hang *hang, int32_t rank)
{
    bool found = hang->n_suspected == 0;
    for (size_t i = 0; i < hang->n_suspected; i++) {
        found = found || hang->suspected[i] == rank;
    }
    return found;
}

/* A fault of a machine that nothing but its clock sets aside: time zones and clocks differ, and
 * nothing else is left. */
static void take_from_other_clock(struct inq_log_case *c)
{
    for (size_t i = 0; i < c->n_marks && c->hang.detected_ns != INQ_TIME_NONE; i++) {
        struct inq_attributed_line *mark = &c->marks[i];
        bool fault = mark->late && !mark->survived && timed(mark) &&
                     mark->means.weight >= INQ_LOG_STRONG && inq_log_of_host(mark->event->kind) &&
                     c->hang.first != NULL && mark->event->file != c->hang.first->event->file;
        if (fault && mark->time_ns - c->hang.detected_ns < ZONES &&
            is_suspected(&c->hang, mark->rank) && (c->cause == NULL || better(mark, c->cause))) {
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
static bool is_bad_end(const struct inq_attributed_line *mark)
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

/* The launcher tells that a worker failed after its training was complete: while it saved, say. */
static bool ends_after(const struct inq_attributed_line *well,
                       const struct inq_attributed_line *mark)
{
    return well != NULL && mark->event->kind == INQ_LOG_EXIT && mark->event->local_rank >= 0 &&
           inq_log_signal(mark->event->code) != 15 && same_part(well, mark);
}

static void find_ending(struct inq_log_case *c)
{
    bool ends = false;
    bool gave_up = false;
    bool after = false; /* completion, and without another start */
    bool again = false; /* the scheduler starts the job once more, and says so when it ends it */
    for (size_t i = 0; i < c->n_marks; i++) {
        const struct inq_log_event *event = c->marks[i].event;
        bool queued = strstr(event->text, "REQUEUE") != NULL;
        c->ended_well = c->ended_well || is_well(&c->marks[i]);
        again = again || (event->kind == INQ_LOG_SLURM_PREEMPTED && queued);
    }
    const struct inq_attributed_line *well = NULL; /* the last word of completion */
    for (size_t i = 0; i < c->n_marks; i++) {
        const struct inq_attributed_line *mark = &c->marks[i];
        bool stopped = mark->event->kind == INQ_LOG_SLURM_EXIT &&
                       inq_log_signal(mark->event->code) == 15 && again;
        ends = ends || is_bad_end(mark);
        gave_up = gave_up || (is_bad_end(mark) && mark->event->kind != INQ_LOG_EXIT && !stopped);
        after = (after || ends_after(well, mark)) && !is_restart(mark);
        well = is_well(mark) ? mark : well;
    }
    /* a launcher that starts its workers again has told of their ends before, without a summary */
    c->ended_badly = c->ended_well ? gave_up || after : ends;
}

/* The run says that it is complete, and nothing that ended says otherwise: whatever came before,
 * it was survived. What one process writes after its own completion is its own. A warning counts
 * only in a run that ended badly. */
static bool was_ended_well(const struct judging *j, const struct inq_attributed_line *mark)
{
    const struct inq_log_case *c = j->c;
    if (mark->means.warned && !c->ended_badly) {
        return true;
    }
    if (!c->ended_well || c->ended_badly) {
        return false;
    }
    bool uncaught = mark->event->kind == INQ_LOG_PYTHON_ERROR && mark->means.role == INQ_LOG_CAUSE;
    for (size_t i = 0; i < j->well.n && uncaught; i++) {
        const struct inq_attributed_line *end = j->well.at[i];
        if (one_writer(end, mark) && end->event->line < mark->event->line) {
            return false;
        }
    }
    return true;
}

/* Nothing explains the end but what only the order of lines had set aside: of that the last. A run
 * that went on for long afterwards must have ended badly for it to count. */
static void readmit(const struct judging *j)
{
    struct inq_log_case *c = j->c;
    struct inq_attributed_line *best = NULL;
    for (size_t i = 0; i < c->n_marks; i++) {
        struct inq_attributed_line *mark = &c->marks[i];
        bool own = mark->means.role == INQ_LOG_CAUSE && mark->survived && mark->by_order &&
                   mark->means.weight >= INQ_LOG_FAIR && !was_ended_well(j, mark) &&
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

/* What ends a C++ program is printed twice: with its writer's label by who noticed it, and without
 * one by the runtime ("what():"). Where only the order of lines set the first aside, both stand. */
static void take_labeled(struct inq_log_case *c)
{
    const char *words = strstr(c->cause->event->text, "what():");
    words = words != NULL && c->cause->rank < 0 ? words + strlen("what():") : "";
    words += strspn(words, " ");
    for (size_t i = 0; i < c->n_marks && *words != '\0'; i++) {
        struct inq_attributed_line *mark = &c->marks[i];
        if (mark->survived && mark->by_order && mark->rank >= 0 &&
            mark->means.cls == c->cause->means.cls && strstr(mark->event->text, words) != NULL) {
            mark->survived = false;
            c->cause = mark;
            return;
        }
    }
}

static void choose_cause(const struct judging *j)
{
    struct inq_log_case *c = j->c;
    const struct inq_attributed_line *first = NULL; /* of the file or, with times, of all */
    const struct inq_attributed_line *like = NULL;  /* that `first` was looked for */
    for (size_t i = 0; i < c->n_marks; i++) {
        struct inq_attributed_line *mark = &c->marks[i];
        if (mark->means.role != INQ_LOG_CAUSE || mark->means.weight == 0) {
            mark->survived = mark->went_on || was_ended_well(j, mark) || has_recovered(j, mark);
            continue;
        }
        bool same = like != NULL && one_writer(like, mark) && timed(like) == timed(mark) &&
                    j->restarts.n == 0;
        first = same ? first : first_symptom(j, mark);
        like = mark;
        find_survived(j, mark);
        mark->survived = mark->survived || was_ended_well(j, mark) || is_of_before(j, mark) ||
                         has_recovered(j, mark);
        find_ended(j, mark);
        find_late(c, mark, first);
        if (stands(mark) && (c->cause == NULL || better(mark, c->cause))) {
            c->cause = mark;
        }
    }
    if (c->cause == NULL) {
        take_from_other_clock(c);
    }
    if (c->cause == NULL || c->cause->means.weight < INQ_LOG_FAIR) {
        readmit(j);
    }
    if (c->cause != NULL) {
        take_labeled(c);
        c->n_earlier = count_restarts(j, c->cause);
        find_roots(c);
        find_confirmation(c);
    }
}

int inq_log_find_cause(struct inq_log_case *c, struct inq_err *err)
{
    struct judging j;
    int code = begin_judging(&j, c, err);
    code = code == INQ_OK ? inq_log_find_absent(c, err) : code;
    if (code == INQ_OK) {
        find_ending(c);
        choose_cause(&j);
    }
    end_trained(&j.trained);
    return code;
}
