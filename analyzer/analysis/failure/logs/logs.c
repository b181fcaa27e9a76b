/* SPDX-License-Identifier: Apache-2.0 */
/* From what logs tell to a class, roots and victims. */
#include "analysis/failure/logs/logs.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static bool barrier_like(const struct inq_log_hang *hang)
{
    return hang->numel == 1 || strstr(hang->op, "BARRIER") != NULL;
}

/* ---- the class without a cause line ---------------------------------------------------------- */

static const struct inq_attributed_line *find_kind(const struct inq_log_case *c,
                                                   enum inq_log_kind kind, int64_t code)
{
    for (size_t i = 0; i < c->n_marks; i++) {
        const struct inq_log_event *event = c->marks[i].event;
        bool fits = event->kind == kind && (code < 0 || event->code == code);
        if (fits && !c->marks[i].survived) {
            return &c->marks[i];
        }
    }
    return NULL;
}

/* The process had only just started NCCL, and made no progress since. */
static bool at_start(const struct inq_log_case *c, const struct inq_attributed_line *mark)
{
    bool started = false;
    for (size_t i = 0; i < c->n_marks && &c->marks[i] != mark; i++) {
        const struct inq_log_event *event = c->marks[i].event;
        if (event->file != mark->event->file) {
            continue;
        }
        bool own = event->pid == mark->event->pid || event->pid < 0;
        started = event->kind == INQ_LOG_PROGRESS            ? false
                  : event->kind == INQ_LOG_NCCL_START && own ? true
                                                             : started;
    }
    return started;
}

/* "10.0.0.4<5543>" or a name other than the writer's own. */
static bool is_elsewhere(const struct inq_attributed_line *mark)
{
    const char *peer = mark->event->peer;
    const char *host = mark->host;
    size_t n = strcspn(peer, "<:. ");
    bool address = peer[0] >= '0' && peer[0] <= '9';
    if (strncmp(peer, "localhost", 9) == 0 || strncmp(peer, "127.", 4) == 0) {
        return false;
    }
    if (peer[0] == '\0' || host[0] == '\0') {
        return peer[0] != '\0' && host[0] == '\0';
    }
    return address ? strncmp(peer, host, strcspn(peer, "<")) != 0
                   : strncmp(peer, host, n) != 0 || (host[n] != '\0' && host[n] != '.');
}

static const struct inq_attributed_line *find_peer(const struct inq_log_case *c)
{
    for (size_t i = 0; i < c->n_marks; i++) {
        const struct inq_attributed_line *mark = &c->marks[i];
        bool closed =
            mark->event->kind == INQ_LOG_PEER_CLOSED || mark->event->kind == INQ_LOG_GLOO_CLOSED;
        if (closed && !mark->survived && is_elsewhere(mark)) {
            return mark;
        }
    }
    return NULL;
}

static void set(struct inq_failure *f, enum inq_failure_class cls, const char *sub,
                enum inq_confidence confidence)
{
    f->cls = cls;
    f->subclass = sub;
    f->confidence = confidence;
}

/* Whether a port of a network card reported an event that may have to do with the end: other
 * processes' lines behind it do not say that the run went on. */
static bool has_port_event(const struct inq_log_case *c)
{
    for (size_t i = 0; i < c->n_marks; i++) {
        const struct inq_attributed_line *mark = &c->marks[i];
        if (mark->event->kind == INQ_LOG_NCCL_IB_ASYNC && (!mark->survived || mark->by_order)) {
            return true;
        }
    }
    return false;
}

/* Of a failing link: whether it is the network or the process behind it, the other end decides;
 * when nothing ever went over it, the network does. */
static bool by_network(struct inq_log_case *c, struct inq_failure *f)
{
    const struct inq_attributed_line *ib = find_kind(c, INQ_LOG_NCCL_IB, 12);
    ib = ib != NULL ? ib : find_kind(c, INQ_LOG_NCCL_IB, 13);
    const struct inq_attributed_line *connect = find_kind(c, INQ_LOG_NCCL_CONNECT, -1);
    if (ib != NULL && c->hang.how != INQ_LOG_NO_HANG) {
        set(f, INQ_FAILURE_NETWORK, "link", INQ_CONFIDENCE_HYPOTHESIS);
        return true;
    }
    if (ib != NULL && (connect != NULL || at_start(c, ib) || has_port_event(c))) {
        set(f, INQ_FAILURE_NETWORK, "link", INQ_CONFIDENCE_SUPPORTED);
        return true;
    }
    if (ib == NULL && connect != NULL) {
        set(f, INQ_FAILURE_NETWORK, "connect", INQ_CONFIDENCE_HYPOTHESIS);
        return true;
    }
    static const int64_t own[] = {4, 9, 10, 11};
    for (size_t i = 0; i < sizeof own / sizeof own[0] && ib == NULL; i++) {
        if (find_kind(c, INQ_LOG_NCCL_IB, own[i]) != NULL) {
            set(f, INQ_FAILURE_NETWORK, "access", INQ_CONFIDENCE_HYPOTHESIS);
            return true;
        }
    }
    return false;
}

/* Whether what a rank printed is here: its own file, or its lines beside those of one that waits.
 */
static bool is_heard(const struct inq_log_case *c, int32_t rank)
{
    for (size_t i = 0; i < c->trace->n_logs; i++) {
        if (c->trace->logs[i]->rank == rank && c->trace->logs[i]->lines > 0) {
            return true;
        }
    }
    for (size_t i = 0; i < c->n_marks; i++) {
        const struct inq_log_event *event = c->marks[i].event;
        bool own = c->marks[i].rank == rank && !inq_log_of_host(event->kind) &&
                   !inq_log_is_end(event->kind) && event->kind != INQ_LOG_SIGTERM_SENT;
        for (size_t k = 0; k < c->hang.n_progress && own; k++) {
            const struct inq_attributed_line *waits = c->hang.progress[k].mark;
            if (waits != NULL && waits->event->file == event->file) {
                return true;
            }
        }
    }
    return false;
}

static bool all_heard(const struct inq_log_case *c)
{
    bool all = c->hang.n_suspected > 0;
    for (size_t i = 0; i < c->hang.n_suspected && all; i++) {
        all = is_heard(c, c->hang.suspected[i]);
    }
    return all;
}

static void by_hang(const struct inq_log_case *c, struct inq_failure *f)
{
    const struct inq_log_hang *hang = &c->hang;
    bool on_cpu = find_kind(c, INQ_LOG_GLOO_TIMEOUT, -1) != NULL ||
                  find_kind(c, INQ_LOG_STORE_TIMEOUT, -1) != NULL;
    switch (hang->how) {
    case INQ_LOG_DIFFERENT:
        set(f, INQ_FAILURE_MISMATCH, NULL, INQ_CONFIDENCE_SUPPORTED);
        break;
    case INQ_LOG_NOT_FINISHED:
        set(f, INQ_FAILURE_GPU_STALL, NULL,
            inq_log_other_op(hang) ? INQ_CONFIDENCE_HYPOTHESIS : INQ_CONFIDENCE_SUPPORTED);
        break;
    case INQ_LOG_NOT_JOINED:
        set(f, barrier_like(hang) ? INQ_FAILURE_UNEVEN : INQ_FAILURE_CPU_STALL, NULL,
            INQ_CONFIDENCE_SUPPORTED);
        break;
    case INQ_LOG_SILENT: /* its own watchdog would have told, had it entered */
        if (barrier_like(hang)) {
            set(f, INQ_FAILURE_UNEVEN, NULL, INQ_CONFIDENCE_HYPOTHESIS);
        } else if (all_heard(c)) {
            set(f, INQ_FAILURE_CPU_STALL, "absent", INQ_CONFIDENCE_HYPOTHESIS);
        } else {
            set(f, INQ_FAILURE_UNKNOWN, NULL, INQ_CONFIDENCE_HYPOTHESIS);
        }
        break;
    case INQ_LOG_ALL_WAIT:
        set(f, INQ_FAILURE_COMMUNICATION, NULL, INQ_CONFIDENCE_HYPOTHESIS);
        break;
    case INQ_LOG_ALL_DONE:
        set(f, on_cpu ? INQ_FAILURE_CPU_STALL : INQ_FAILURE_UNKNOWN, NULL,
            INQ_CONFIDENCE_HYPOTHESIS);
        break;
    case INQ_LOG_NO_HANG:
    case INQ_LOG_HANG_UNCLEAR:
        set(f, INQ_FAILURE_UNKNOWN, NULL, INQ_CONFIDENCE_HYPOTHESIS);
        break;
    }
}

static bool names_suspected(const struct inq_log_hang *hang)
{
    return hang->how == INQ_LOG_DIFFERENT || hang->how == INQ_LOG_NOT_FINISHED ||
           hang->how == INQ_LOG_NOT_JOINED;
}

/* A line that only says that something went wrong. */
static bool is_floor(const struct inq_attributed_line *mark)
{
    return mark != NULL && mark->means.cls == INQ_FAILURE_UNKNOWN &&
           !inq_log_is_end(mark->event->kind) && mark->event->kind != INQ_LOG_KILLED;
}

/* An error line of the process that then says in an exception which peer or store it lost. */
static bool is_told_better(const struct inq_log_case *c)
{
    const struct inq_attributed_line *victim = inq_log_telling_victim(c);
    const struct inq_attributed_line *floor = c->cause;
    return floor->event->kind == INQ_LOG_ERROR_LINE && victim != NULL &&
           floor->event->file == victim->event->file && floor->rank == victim->rank &&
           floor->event->writer == victim->event->writer && victim->event->op[0] != '\0' &&
           victim->event->kind == INQ_LOG_PYTHON_ERROR;
}

/* A hint alone: a killed process, a lock that could not be had. */
static bool by_hint(struct inq_log_case *c, struct inq_failure *f)
{
    struct inq_attributed_line *cause = c->cause;
    if (cause == NULL) {
        return false;
    }
    bool killed = strcmp(cause->means.sub, "killed") == 0;
    if (killed && c->hang.first != NULL) {
        /* others waited for long before it was killed: memory that runs out is slow */
        set(f, INQ_FAILURE_HOST, "memory", INQ_CONFIDENCE_HYPOTHESIS);
        return true;
    }
    set(f, cause->means.cls, cause->means.sub[0] != '\0' ? cause->means.sub : NULL,
        INQ_CONFIDENCE_HYPOTHESIS);
    return true;
}

/* What NCCL warns of when it sets up its sockets: the line of its caller only says that it failed.
 */
static bool warns_of_network(const struct inq_log_case *c)
{
    static const char *const words[] = {"NET/", "ootstrap : ", "interface", "No route to host"};
    for (size_t i = 0; i < c->n_marks; i++) {
        const struct inq_attributed_line *mark = &c->marks[i];
        for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
            if (mark->event->kind == INQ_LOG_NCCL_WARNING && !mark->survived &&
                strstr(mark->event->text, words[k]) != NULL) {
                return true;
            }
        }
    }
    return false;
}

/* Whether a hint speaks of a rank that the others lost, where it is known which those are. */
static bool fits_absent(const struct inq_log_case *c)
{
    bool exit = strcmp(c->cause->means.sub, "exit") == 0;
    bool fits = c->n_absent == 0 || !exit || c->cause->rank < 0;
    for (size_t i = 0; i < c->n_absent; i++) {
        fits = fits || c->absent[i] == c->cause->rank;
    }
    return fits;
}

/* A line of a coordination service that names the task whose heartbeats stopped. */
static const struct inq_attributed_line *lost_task(const struct inq_log_case *c)
{
    for (size_t i = 0; i < c->n_marks; i++) {
        const struct inq_attributed_line *mark = &c->marks[i];
        bool named = mark->event->peer_rank >= 0 || mark->event->n_ranks > 0;
        bool lost =
            mark->event->kind == INQ_LOG_REMOTE_ERROR || mark->event->kind == INQ_LOG_TASK_LOST;
        if (named && lost && !mark->survived &&
            (strstr(mark->event->text, "heartbeat") != NULL ||
             strstr(mark->event->text, "disconnected") != NULL ||
             strstr(mark->event->text, "incarnation") != NULL ||
             strstr(mark->event->text, "lame workers") != NULL ||
             strstr(mark->event->text, "imed out node") != NULL)) {
            return mark;
        }
    }
    return NULL;
}

static void by_cause(struct inq_log_case *c, struct inq_failure *f)
{
    const struct inq_log_meaning *means = &c->cause->means;
    bool sure = means->weight >= INQ_LOG_STRONG || c->confirm != NULL;
    set(f, means->cls, means->sub[0] != '\0' ? means->sub : NULL,
        c->other_clock ? INQ_CONFIDENCE_HYPOTHESIS
        : sure         ? INQ_CONFIDENCE_ESTABLISHED
                       : INQ_CONFIDENCE_SUPPORTED);
}

static void by_suspected(struct inq_log_case *c, struct inq_failure *f)
{
    by_hang(c, f);
    bool gil = c->cause != NULL && c->cause->event->kind == INQ_LOG_GIL;
    if (gil && (f->cls == INQ_FAILURE_CPU_STALL || f->cls == INQ_FAILURE_UNEVEN)) {
        set(f, INQ_FAILURE_CPU_STALL, "gil", INQ_CONFIDENCE_SUPPORTED);
    }
}

/* What proves nothing gives way to what ranks waited for, and the exit of one that lost a peer to
 * the one that was lost. */
static void drop_weak_cause(struct inq_log_case *c, struct inq_failure *f)
{
    bool lost = lost_task(c) != NULL ||
                (find_kind(c, INQ_LOG_TASK_LOST, -1) != NULL && c->n_absent > 0); /* named so */
    if (is_floor(c->cause) &&
        (c->hang.how != INQ_LOG_NO_HANG || by_network(c, f) ||
         c->cause->event->kind == INQ_LOG_NCCL_WARNING || is_told_better(c) || lost)) {
        c->floor = c->cause;
        for (size_t i = 0; i < c->n_marks; i++) {
            c->marks[i].root = false;
        }
        c->cause = NULL;
    }
    if (c->cause != NULL && c->hang.how == INQ_LOG_NO_HANG && !fits_absent(c)) {
        c->cause = NULL;
    }
}

/* The launcher itself could not reach the store of its rendezvous: no worker had begun. */
static bool lost_store(const struct inq_log_case *c)
{
    const struct inq_attributed_line *victim = inq_log_telling_victim(c);
    return victim != NULL && strstr(victim->event->op, "RendezvousConnection") != NULL;
}

static void by_loss(struct inq_log_case *c, struct inq_failure *f)
{
    bool peer = find_peer(c) != NULL || find_kind(c, INQ_LOG_NCCL_SERVICE, -1) != NULL;
    if (lost_task(c) != NULL) {
        set(f, INQ_FAILURE_PEER_DIED, NULL, INQ_CONFIDENCE_SUPPORTED);
    } else if (c->n_absent > 0) {
        set(f, INQ_FAILURE_CPU_STALL, "absent", INQ_CONFIDENCE_HYPOTHESIS);
    } else if (peer && find_kind(c, INQ_LOG_NCCL_IB, -1) == NULL) {
        set(f, INQ_FAILURE_PEER_DIED, NULL, INQ_CONFIDENCE_HYPOTHESIS);
    } else if (find_kind(c, INQ_LOG_NCCL_IB, 13) != NULL || warns_of_network(c)) {
        set(f, INQ_FAILURE_NETWORK, "setup", INQ_CONFIDENCE_HYPOTHESIS);
    } else if (lost_store(c)) {
        set(f, INQ_FAILURE_NETWORK, "connect", INQ_CONFIDENCE_HYPOTHESIS);
    }
}

static void classify(struct inq_log_case *c, struct inq_failure *f)
{
    if (c->cause != NULL && c->cause->means.weight >= INQ_LOG_FAIR) {
        by_cause(c, f);
        return;
    }
    if (names_suspected(&c->hang)) {
        by_suspected(c, f);
        return;
    }
    drop_weak_cause(c, f);
    if (by_hint(c, f) || by_network(c, f)) {
        return;
    }
    by_hang(c, f);
    if (c->hang.how == INQ_LOG_NO_HANG) {
        by_loss(c, f);
    }
}

/* ---- ranks ----------------------------------------------------------------------------------- */

/* Ranks whose process was killed by a signal that no launcher sent. */
static bool was_killed(const struct inq_attributed_line *mark)
{
    return mark->means.role == INQ_LOG_CAUSE && strcmp(mark->means.sub, "killed") == 0 &&
           mark->rank >= 0;
}

static bool gpu_class(enum inq_failure_class cls)
{
    return cls == INQ_FAILURE_GPU_HARDWARE || cls == INQ_FAILURE_DRIVER ||
           cls == INQ_FAILURE_CUDA_ERROR;
}

static bool mark_rank(const struct inq_log_case *c, bool *marked, int32_t rank)
{
    bool known = rank >= 0 && rank < c->world;
    if (known) {
        marked[rank] = true;
    }
    return known;
}

/* Two ranks that differ: which of them is wrong, the line does not tell. */
static bool is_pair(const struct inq_attributed_line *mark)
{
    return mark->event->kind == INQ_LOG_MISMATCH && mark->event->peer_rank >= 0;
}

/* The one process that ended by itself, with the code of a program that gave up or by a signal of
 * its own: whose line it was that names no rank. One that was killed need not have said anything.
 * -1: none, or several. */
static int32_t gave_up(const struct inq_log_case *c)
{
    int32_t rank = -1;
    for (size_t i = 0; i < c->n_marks; i++) {
        const struct inq_attributed_line *mark = &c->marks[i];
        bool other =
            strcmp(mark->means.sub, "killed") == 0 || strcmp(mark->means.sub, "terminated") == 0;
        if (mark->means.role != INQ_LOG_CAUSE || !inq_log_is_end(mark->event->kind) || other) {
            continue;
        }
        if (mark->rank < 0 || (rank >= 0 && rank != mark->rank)) {
            return -1;
        }
        rank = mark->rank;
    }
    return rank;
}

/* Whether every rank was killed, so that none of them stands out. */
static bool all_killed(const struct inq_log_case *c)
{
    int32_t n = 0;
    int32_t last = -1;
    for (int32_t r = 0; r < c->world; r++) {
        for (size_t i = 0; i < c->n_marks && last != r; i++) {
            last = c->marks[i].rank == r && was_killed(&c->marks[i]) ? r : last;
        }
        n += last == r;
    }
    return n > 1 && n == c->world;
}

/* Lines that go with a cause whose own names no rank. */
static bool goes_with(const struct inq_log_case *c, const struct inq_failure *f,
                      const struct inq_attributed_line *mark)
{
    bool memory =
        f->cls == INQ_FAILURE_HOST && f->subclass != NULL && strcmp(f->subclass, "memory") == 0;
    return (memory && was_killed(mark) && !inq_log_waited(c, mark->rank) && !all_killed(c)) ||
           (gpu_class(f->cls) && mark->means.role == INQ_LOG_CAUSE && gpu_class(mark->means.cls) &&
            !mark->late && !mark->survived);
}

/* srun's tasks, where they are the ranks. */
static bool mark_tasks(const struct inq_log_case *c, bool *roots,
                       const struct inq_attributed_line *mark)
{
    bool of_tasks =
        mark->event->kind == INQ_LOG_SLURM_EXIT || mark->event->kind == INQ_LOG_SLURM_OOM;
    bool any = false;
    for (size_t k = 0; k < mark->event->n_ranks && of_tasks && c->tasks_are_ranks; k++) {
        any |= mark_rank(c, roots, mark->event->ranks[k]);
    }
    return any;
}

/* The roots that lines name: those of the cause, or those that go with it. */
static bool mark_by_lines(const struct inq_log_case *c, const struct inq_failure *f, bool *roots)
{
    bool any = false;
    for (int pass = 0; pass < 2 && !any; pass++) {
        for (size_t i = 0; i < c->n_marks; i++) {
            const struct inq_attributed_line *mark = &c->marks[i];
            bool hint = mark->means.weight < INQ_LOG_FAIR && inq_log_waited(c, mark->rank);
            if (pass == 0 ? mark->root && !hint && !is_pair(mark) : goes_with(c, f, mark)) {
                any |= mark_rank(c, roots, mark->rank);
                any |= mark_tasks(c, roots, mark);
            }
        }
    }
    bool of_process = c->cause != NULL && !inq_log_of_host(c->cause->event->kind);
    return any || (of_process && c->cause->means.weight >= INQ_LOG_FAIR && !is_pair(c->cause) &&
                   mark_rank(c, roots, gave_up(c)));
}

/* Tasks that a coordination service has lost. */
static void mark_lost(const struct inq_log_case *c, bool *roots)
{
    const struct inq_attributed_line *mark = lost_task(c);
    if (mark == NULL) {
        return;
    }
    (void)mark_rank(c, roots, (int32_t)mark->event->peer_rank);
    for (size_t k = 0; k < mark->event->n_ranks; k++) {
        (void)mark_rank(c, roots, mark->event->ranks[k]);
    }
}

/* Whom a collective of HCCL waited for in vain, where the lines say so. */
static void mark_awaited(const struct inq_log_case *c, bool *roots)
{
    for (size_t i = 0; i < c->n_marks; i++) {
        const struct inq_attributed_line *mark = &c->marks[i];
        if (mark->event->kind == INQ_LOG_NPU_TIMEOUT && !mark->survived) {
            (void)mark_rank(c, roots, (int32_t)mark->event->peer_rank);
        }
    }
}

/* The one rank that ended as nobody else did: where it began, whatever the reason. */
static void mark_ended(const struct inq_log_case *c, bool *roots)
{
    int32_t only = c->cause->rank;
    for (size_t i = 0; i < c->n_marks; i++) {
        const struct inq_attributed_line *mark = &c->marks[i];
        bool same = mark->root && inq_log_is_end(mark->event->kind);
        only = same && mark->rank != only ? -1 : only;
    }
    (void)mark_rank(c, roots, only);
}

/* Another one that a victim's line says to have failed; -1 none. */
static int64_t accused(const struct inq_attributed_line *mark)
{
    enum inq_log_kind kind = mark->event->kind;
    static const char words[] = "[Proxy Service ";
    const char *service = strstr(mark->event->text, words);
    /* a rank's own service tells what that rank asked for */
    bool own =
        service != NULL && strtoll(service + sizeof words - 1, NULL, 10) == mark->event->peer_rank;
    bool accuses = kind == INQ_LOG_REMOTE_ERROR || (kind == INQ_LOG_PEER_CLOSED && !own);
    return accuses ? mark->event->peer_rank : -1;
}

/* The one rank that all lines accuse which accuse any, and that itself reports nobody else's
 * failure; -1 none. */
static int64_t only_accused(const struct inq_log_case *c)
{
    int64_t only = -1;
    for (size_t i = 0; i < c->n_marks; i++) {
        int64_t rank = c->marks[i].survived ? -1 : accused(&c->marks[i]);
        if (rank >= 0 && only >= 0 && rank != only) {
            return -1;
        }
        only = rank >= 0 ? rank : only;
    }
    for (size_t i = 0; i < c->n_marks && only >= 0; i++) {
        const struct inq_attributed_line *mark = &c->marks[i];
        only = mark->rank == only && mark->means.role == INQ_LOG_VICTIM ? -1 : only;
    }
    return only;
}

/* Of an unknown cause: who ended as nobody else did, whom the last error line is about, or whom
 * all others accuse. */
static void mark_of_unknown(const struct inq_log_case *c, bool *roots)
{
    if (c->cause != NULL && inq_log_is_end(c->cause->event->kind)) {
        mark_ended(c, roots);
    } else if (c->cause != NULL && c->cause->event->kind == INQ_LOG_ERROR_LINE) {
        (void)mark_rank(c, roots, (int32_t)c->cause->event->peer_rank);
    } else if (c->cause == NULL && c->hang.how == INQ_LOG_NO_HANG) {
        (void)mark_rank(c, roots, (int32_t)only_accused(c));
    }
}

/* Local protection errors are of the side that reports them. */
static void mark_reporters(const struct inq_log_case *c, const struct inq_failure *f, bool *roots)
{
    const struct inq_attributed_line *own = find_kind(c, INQ_LOG_NCCL_IB, 4);
    if (f->cls == INQ_FAILURE_NETWORK && c->cause == NULL && own != NULL) {
        (void)mark_rank(c, roots, own->rank);
    }
}

/* Marks the roots by number: those of the cause's lines; when these name none, those of lines that
 * go with them; else those that the others waited for. */
static void mark_roots(const struct inq_log_case *c, const struct inq_failure *f, bool *roots)
{
    bool by_cause =
        c->cause != NULL && (c->cause->means.weight >= INQ_LOG_FAIR || !names_suspected(&c->hang));
    if (f->cls == INQ_FAILURE_PEER_DIED) {
        mark_lost(c, roots);
        if (c->cause != NULL && c->cause->event->kind == INQ_LOG_LEADER_LOST) {
            (void)mark_rank(c, roots, 0);
        }
        return;
    }
    if (c->cause != NULL && c->cause->event->kind == INQ_LOG_NPU_TIMEOUT) {
        mark_awaited(c, roots);
        return;
    }
    if (f->cls == INQ_FAILURE_UNKNOWN) {
        mark_of_unknown(c, roots);
        return;
    }
    if (c->cause != NULL && c->cause->event->kind == INQ_LOG_LAUNCH_FAILED) {
        (void)mark_rank(c, roots, c->cause->rank); /* of no rank, unless the line says so */
        return;
    }
    for (size_t i = 0; i < c->n_absent && f->subclass != NULL && c->cause == NULL &&
                       strcmp(f->subclass, "absent") == 0;
         i++) {
        (void)mark_rank(c, roots, c->absent[i]);
    }
    mark_reporters(c, f, roots);
    bool any = by_cause && mark_by_lines(c, f, roots);
    bool take = !by_cause || (!any && gpu_class(f->cls));
    for (size_t i = 0; i < c->hang.n_suspected && take; i++) {
        (void)mark_rank(c, roots, c->hang.suspected[i]);
    }
}

/* A process that ended in a way that nobody else caused, as far as is known. */
static bool stands_out(const struct inq_attributed_line *mark)
{
    return mark->root && mark->event->kind != INQ_LOG_NPU_TIMEOUT && /* it waited for another */
           ((mark->means.weight > 0 && mark->means.weight < INQ_LOG_FAIR) || is_pair(mark));
}

static bool suffers(const struct inq_attributed_line *mark)
{
    return !mark->survived &&
           (mark->means.role == INQ_LOG_VICTIM || mark->means.role == INQ_LOG_TEARDOWN ||
            mark->event->kind == INQ_LOG_DUMP_SIGNAL || mark->event->kind == INQ_LOG_NPU_TIMEOUT);
}

static int list(struct inq_log_case *c, const bool *marked, int32_t **ranks, size_t *n,
                struct inq_err *err)
{
    size_t count = 0;
    for (int32_t r = 0; r < c->world; r++) {
        count += marked[r];
    }
    *ranks = inq_arena_array(c->arena, count, sizeof **ranks);
    if (*ranks == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for a list of ranks");
    }
    *n = 0;
    for (int32_t r = 0; r < c->world; r++) {
        if (marked[r]) {
            (*ranks)[(*n)++] = r;
        }
    }
    return INQ_OK;
}

/* Marks the suspected by number: processes that ended by themselves, both sides of a mismatch; and,
 * of an unknown cause, those that others accuse or wait for. */
static void mark_suspected(const struct inq_log_case *c, const struct inq_failure *f,
                           const bool *roots, bool *suspected)
{
    bool unknown = f->cls == INQ_FAILURE_UNKNOWN;
    for (size_t i = 0; i < c->n_marks; i++) {
        const struct inq_attributed_line *mark = &c->marks[i];
        bool known = mark->rank >= 0 && mark->rank < c->world;
        if (known && stands_out(mark) && !roots[mark->rank]) {
            suspected[mark->rank] = true;
            int64_t other = is_pair(mark) ? mark->event->peer_rank : -1;
            (void)mark_rank(c, suspected, other < c->world ? (int32_t)other : -1);
        }
        if (unknown && accused(mark) >= 0 && accused(mark) < c->world) {
            suspected[accused(mark)] = true;
        }
    }
    for (size_t i = 0; i < c->hang.n_suspected && unknown; i++) {
        (void)mark_rank(c, suspected, c->hang.suspected[i]);
    }
}

static int list_ranks(struct inq_log_case *c, struct inq_failure *f, struct inq_err *err)
{
    size_t world = c->world > 0 ? (size_t)c->world : 1;
    bool *roots = inq_mem_zalloc(3 * world, sizeof *roots);
    if (roots == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for lists of ranks");
    }
    bool *victims = roots + world;
    bool *suspected = victims + world;
    mark_roots(c, f, roots);
    for (size_t i = 0; i < c->n_marks; i++) {
        int32_t rank = c->marks[i].rank;
        if (suffers(&c->marks[i]) && rank >= 0 && rank < c->world && !roots[rank]) {
            victims[rank] = true;
        }
    }
    mark_suspected(c, f, roots, suspected);
    for (size_t r = 0; r < world; r++) {
        victims[r] = victims[r] && !suspected[r];
    }
    int code = list(c, roots, &f->root_ranks, &f->n_roots, err);
    code = code == INQ_OK ? list(c, victims, &f->victim_ranks, &f->n_victims, err) : code;
    code = code == INQ_OK ? list(c, suspected, &f->suspected_ranks, &f->n_suspected, err) : code;
    if (code == INQ_OK) {
        f->missing_ranks = inq_arena_array(c->arena, 0, sizeof *f->missing_ranks);
    }
    inq_mem_free(roots);
    return code;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* What NCCL says of connections that end, as they do behind training, too. */
static bool is_farewell(const struct inq_attributed_line *mark)
{
    enum inq_log_kind kind = mark->event->kind;
    return (kind == INQ_LOG_NCCL_SERVICE || kind == INQ_LOG_NCCL_RESULT) &&
           mark->log->n_metrics > 0;
}

/* Whether anything went wrong that the run did not survive. */
static bool tells_of_failure(const struct inq_log_case *c)
{
    for (size_t i = 0; i < c->n_marks; i++) {
        const struct inq_attributed_line *mark = &c->marks[i];
        bool wrong = mark->means.role == INQ_LOG_CAUSE || mark->means.role == INQ_LOG_VICTIM ||
                     mark->means.role == INQ_LOG_TEARDOWN;
        if ((wrong && !mark->survived && !is_farewell(mark)) ||
            mark->event->kind == INQ_LOG_DUMP_SIGNAL) {
            return true;
        }
    }
    return c->hang.how != INQ_LOG_NO_HANG;
}

int inq_failure_from_logs(struct inq_log_case *c, struct inq_failure *failure, bool *found,
                          struct inq_err *err)
{
    int code = inq_log_find_cause(c, err);
    *found = code == INQ_OK && tells_of_failure(c);
    if (!*found) {
        return code;
    }
    classify(c, failure);
    failure->seq = c->hang.seq;
    failure->group = c->hang.group;
    failure->op = c->hang.op;
    code = list_ranks(c, failure, err);
    if (code == INQ_OK) {
        inq_log_explain(c, failure);
        code = c->no_memory || c->arena->failed
                   ? inq_err_set(err, INQ_NOMEM, "no memory for a failure")
                   : INQ_OK;
    }
    return code;
}
