/* SPDX-License-Identifier: Apache-2.0 */
/* The failure in words: headline, evidence, moments, victims, what else it could be, what to do. */
#include "analysis/failure/logs/logs.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/arena_text.h"
#include "base/sort.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    MAX_EVIDENCE = 32,
    MAX_ROOT_LINES = 12,
    MAX_VICTIM_LINES = 8,
    MAX_TIMELINE_EVENTS = 48,
    MAX_PLACES = 64
};

static const char *say_signal(int64_t code)
{
    switch (inq_log_signal(code)) {
    case 4:
        return " (SIGILL)";
    case 6:
        return " (SIGABRT)";
    case 7:
        return " (SIGBUS)";
    case 8:
        return " (SIGFPE)";
    case 9:
        return " (SIGKILL)";
    case 11:
        return " (SIGSEGV)";
    case 15:
        return " (SIGTERM)";
    default:
        return "";
    }
}

/* What a line reports a process, GPU, switch or peer that is named in front of it. */
static const char *say_of_place(struct inq_log_case *c, const struct inq_attributed_line *mark)
{
    const struct inq_log_event *e = mark->event;
    switch ((int)e->kind) {
    case INQ_LOG_XID:
        return inq_arena_printf(c->arena, "Xid %" PRId64 " (%s)", e->code, inq_xid_name(e->code));
    case INQ_LOG_SXID:
        return inq_arena_printf(c->arena, "SXid %" PRId64, e->code);
    case INQ_LOG_FALLEN_OFF:
        return "fell off the bus";
    case INQ_LOG_NCCL_IB:
        return inq_arena_printf(c->arena, "%s with status %" PRId64 " (%s)",
                                inq_log_kind_text(e->kind), e->code, inq_log_ib_status(e->code));
    case INQ_LOG_PEER_CLOSED:
    case INQ_LOG_NCCL_CONNECT:
        return inq_log_kind_text(e->kind);
    default:
        return NULL;
    }
}

/* What a line tells, with the numbers that matter. */
static const char *say_line(struct inq_log_case *c, const struct inq_attributed_line *mark)
{
    const struct inq_log_event *e = mark->event;
    const char *kind = inq_log_kind_text(e->kind);
    const char *bus = inq_log_bus_text(c, e->bus);
    switch ((int)e->kind) {
    case INQ_LOG_XID:
        return inq_arena_printf(c->arena, "%s on GPU %s", say_of_place(c, mark), bus);
    case INQ_LOG_SXID:
        return inq_arena_printf(c->arena, "%s on switch %s", say_of_place(c, mark), bus);
    case INQ_LOG_FALLEN_OFF:
        return bus[0] != '\0' ? inq_arena_printf(c->arena, "GPU %s %s", bus, say_of_place(c, mark))
                              : kind;
    case INQ_LOG_EXIT_ROW:
        return inq_arena_printf(
            c->arena, "a process ended with exit code %" PRId64 "%s, as the launcher sums up",
            e->code, say_signal(e->code));
    case INQ_LOG_EXIT:
    case INQ_LOG_SLURM_EXIT:
        return inq_arena_printf(c->arena, "%s with exit code %" PRId64 "%s", kind, e->code,
                                say_signal(e->code));
    case INQ_LOG_PYTHON_ERROR:
        return inq_arena_printf(c->arena, "%.120s%s%.180s", e->op, e->peer[0] != '\0' ? " at " : "",
                                e->peer);
    case INQ_LOG_CUDA_ERROR:
        if (e->code > 0) {
            kind = strcmp(mark->means.sub, "assert") == 0 ? "an assertion on the GPU failed"
                                                          : "an illegal memory access";
        }
        return e->op[0] != '\0' ? inq_arena_printf(c->arena, "%s: %.120s", kind, e->op) : kind;
    case INQ_LOG_NCCL_CUDA_ERROR:
    case INQ_LOG_NCCL_IB_ASYNC:
        return inq_arena_printf(c->arena, "%s: %.120s", kind, e->op);
    case INQ_LOG_NCCL_IB:
        return inq_arena_printf(c->arena, "%s, peer %.100s", say_of_place(c, mark), e->peer);
    case INQ_LOG_NCCL_RESULT:
    case INQ_LOG_NCCL_ERROR:
        return e->code >= 0 ? inq_arena_printf(c->arena, "%s (%" PRId64 ")", kind, e->code) : kind;
    case INQ_LOG_NCCL_SERVICE:
        return inq_arena_printf(c->arena, "%s (%" PRId64 ")", kind, e->peer_rank);
    case INQ_LOG_WATCHDOG_TIMEOUT:
        return inq_arena_printf(c->arena, "%s: %.40s %" PRId64 " after %" PRId64 " ms", kind, e->op,
                                e->seq, e->ran_ms);
    default:
        break;
    }
    if (e->enqueued >= 0 || e->completed >= 0) {
        return inq_arena_printf(c->arena, "%s: enqueued %" PRId64 ", completed %" PRId64, kind,
                                e->enqueued, e->completed);
    }
    if (e->peer[0] != '\0') {
        return inq_arena_printf(c->arena, "%s: %.120s", kind, e->peer);
    }
    return kind;
}

/* ---- evidence -------------------------------------------------------------------------------- */

static void add_evidence(struct inq_log_case *c, struct inq_failure *f,
                         const struct inq_attributed_line *mark)
{
    for (size_t i = 0; i < f->n_evidence; i++) { /* a line may tell two things */
        const struct inq_failure_evidence *other = &f->evidence[i];
        if (other->line == mark->event->line && other->rank == mark->rank &&
            strcmp(other->file, inq_log_path(c, mark->event)) == 0) {
            return;
        }
    }
    if (f->n_evidence < MAX_EVIDENCE) {
        f->evidence[f->n_evidence++] = (struct inq_failure_evidence){
            .rank = mark->rank,
            .file = inq_log_path(c, mark->event),
            .what = say_line(c, mark),
            .line = mark->event->line,
            .text = mark->event->text,
        };
    }
}

static void explain_evidence(struct inq_log_case *c, struct inq_failure *f)
{
    f->evidence = inq_arena_array(c->arena, MAX_EVIDENCE, sizeof *f->evidence);
    if (f->evidence == NULL) {
        c->no_memory = true;
        return;
    }
    if (c->cause != NULL) {
        add_evidence(c, f, c->cause);
    }
    if (c->confirm != NULL) {
        add_evidence(c, f, c->confirm);
    }
    for (size_t i = 0; i < c->n_marks && f->n_evidence < MAX_ROOT_LINES; i++) {
        if (c->marks[i].root) {
            add_evidence(c, f, &c->marks[i]);
        }
    }
    const struct inq_log_hang *hang = &c->hang;
    if (hang->said != NULL) {
        add_evidence(c, f, hang->said);
    }
    for (int pass = 0; pass < 2; pass++) { /* the suspected' counters, then those of others */
        size_t left = MAX_VICTIM_LINES;
        for (size_t i = 0; i < hang->n_progress && left > 0; i++) {
            const struct inq_rank_progress *row = &hang->progress[i];
            bool suspected = false;
            for (size_t k = 0; k < hang->n_suspected; k++) {
                suspected = suspected || hang->suspected[k] == row->rank;
            }
            if (suspected == (pass == 0) && row->mark != NULL) {
                add_evidence(c, f, row->mark);
                left--;
            }
        }
    }
    size_t left = MAX_VICTIM_LINES;
    for (size_t i = 0; i < c->n_marks && left > 0 && c->cause == NULL && hang->first == NULL; i++) {
        if (c->marks[i].means.role == INQ_LOG_VICTIM) {
            add_evidence(c, f, &c->marks[i]);
            left--;
        }
    }
}

/* ---- victims --------------------------------------------------------------------------------- */

static int by_lines(const void *a, const void *b, void *ctx)
{
    const struct inq_failure_victims *x = a;
    const struct inq_failure_victims *y = b;
    (void)ctx;
    return (x->count < y->count) - (x->count > y->count);
}

static bool is_victim(const struct inq_attributed_line *mark)
{
    return mark->means.role == INQ_LOG_VICTIM || mark->means.role == INQ_LOG_TEARDOWN ||
           (mark->means.role == INQ_LOG_CAUSE && mark->late);
}

static int victims_of(struct inq_log_case *c, enum inq_log_kind kind, bool *seen,
                      struct inq_failure_victims *group, struct inq_err *err)
{
    size_t n = 0;
    memset(seen, 0, (size_t)c->world * sizeof *seen);
    *group = (struct inq_failure_victims){.what = inq_log_kind_text(kind)};
    for (size_t i = 0; i < c->n_marks; i++) {
        const struct inq_attributed_line *mark = &c->marks[i];
        if (mark->event->kind != kind || !is_victim(mark)) {
            continue;
        }
        if (group->text == NULL) {
            group->text = mark->event->text;
            group->line = mark->event->line;
            group->file = inq_log_path(c, mark->event);
        }
        group->count += mark->event->count;
        if (mark->rank >= 0 && mark->rank < c->world && !seen[mark->rank]) {
            seen[mark->rank] = true;
            n++;
        }
    }
    group->ranks = inq_arena_array(c->arena, n, sizeof *group->ranks);
    if (group->ranks == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for ranks");
    }
    for (int32_t r = 0; r < c->world; r++) {
        if (seen[r]) {
            group->ranks[group->n_ranks++] = r;
        }
    }
    return INQ_OK;
}

static void explain_victims(struct inq_log_case *c, struct inq_failure *f)
{
    bool *seen = inq_mem_zalloc((size_t)c->world + 1, sizeof *seen);
    f->victim_lines = inq_arena_array(c->arena, INQ_LOG_KIND_COUNT, sizeof *f->victim_lines);
    bool there[INQ_LOG_KIND_COUNT] = {false};
    if (seen == NULL || f->victim_lines == NULL) {
        c->no_memory = true;
        inq_mem_free(seen);
        return;
    }
    for (size_t i = 0; i < c->n_marks; i++) {
        there[c->marks[i].event->kind] |= is_victim(&c->marks[i]);
    }
    for (int kind = 0; kind < INQ_LOG_KIND_COUNT && !c->no_memory; kind++) {
        if (there[kind]) {
            struct inq_failure_victims *group = &f->victim_lines[f->n_victim_lines++];
            c->no_memory = victims_of(c, (enum inq_log_kind)kind, seen, group, NULL) != INQ_OK;
        }
    }
    if (!c->no_memory) {
        c->no_memory = inq_sort(f->victim_lines, f->n_victim_lines, sizeof *f->victim_lines,
                                by_lines, NULL, NULL) != INQ_OK;
    }
    inq_mem_free(seen);
}

/* ---- moments --------------------------------------------------------------------------------- */

static enum inq_failure_phase phase_of(const struct inq_log_case *c,
                                       const struct inq_attributed_line *mark)
{
    if (mark == c->cause) {
        return INQ_PHASE_CAUSE;
    }
    if (mark->survived) {
        return INQ_PHASE_CONTEXT;
    }
    switch (mark->means.role) {
    case INQ_LOG_CAUSE:
        return INQ_PHASE_SPREAD;
    case INQ_LOG_TEARDOWN:
        return INQ_PHASE_ABORT;
    case INQ_LOG_VICTIM:
        break;
    case INQ_LOG_CONTEXT:
    case INQ_LOG_FACT:
        return INQ_PHASE_CONTEXT;
    }
    enum inq_log_kind kind = mark->event->kind;
    bool ends = inq_log_is_end(kind) || kind == INQ_LOG_WATCHDOG_ENDED;
    return ends ? INQ_PHASE_ABORT : INQ_PHASE_DETECTION;
}

static int by_time(const void *a, const void *b, void *ctx)
{
    const struct inq_timeline_event *x = a;
    const struct inq_timeline_event *y = b;
    (void)ctx;
    bool wall_x = x->time_ns != INQ_TIME_NONE && !x->since_boot;
    bool wall_y = y->time_ns != INQ_TIME_NONE && !y->since_boot;
    if (wall_x != wall_y) {
        return wall_x ? -1 : 1;
    }
    if (wall_x && x->time_ns != y->time_ns) {
        return x->time_ns < y->time_ns ? -1 : 1;
    }
    return 0;
}

static void add_moment(struct inq_failure *f, const struct inq_timeline_event *moment)
{
    if (f->n_moments < MAX_TIMELINE_EVENTS) {
        f->moments[f->n_moments++] = *moment;
    }
}

static bool worth_a_moment(const struct inq_attributed_line *mark)
{
    enum inq_log_kind kind = mark->event->kind;
    return mark->means.role != INQ_LOG_FACT && kind != INQ_LOG_NCCL_RESULT &&
           (mark->means.role != INQ_LOG_CONTEXT || kind == INQ_LOG_NFS_OK ||
            kind == INQ_LOG_LINK_UP || kind == INQ_LOG_XID);
}

/* The first line of each kind on each side, the first cause, T0. */
static void explain_timeline(struct inq_log_case *c, struct inq_failure *f)
{
    bool told[INQ_LOG_KIND_COUNT][INQ_PHASE_COUNT];
    memset(told, 0, sizeof told);
    f->moments = inq_arena_array(c->arena, MAX_TIMELINE_EVENTS, sizeof *f->moments);
    if (f->moments == NULL) {
        c->no_memory = true;
        return;
    }
    if (c->hang.start_ns != INQ_TIME_NONE && c->hang.first != NULL) {
        const char *op = c->hang.op[0] != '\0' ? c->hang.op : "the collective";
        add_moment(f, &(struct inq_timeline_event){
                          .phase = INQ_PHASE_HANG_START,
                          .time_ns = c->hang.start_ns,
                          .dated = c->dated,
                          .rank = c->hang.first->rank,
                          .file = inq_log_path(c, c->hang.first->event),
                          .line = c->hang.first->event->line,
                          .what = inq_arena_printf(c->arena,
                                                   "%.40s %" PRId64
                                                   " begins that then timed out (timeout line "
                                                   "less its \"ran for\")",
                                                   op, c->hang.seq),
                      });
    }
    for (size_t i = 0; i < c->n_marks; i++) {
        const struct inq_attributed_line *mark = &c->marks[i];
        enum inq_failure_phase phase = phase_of(c, mark);
        if (!worth_a_moment(mark) || told[mark->event->kind][phase]) {
            continue;
        }
        told[mark->event->kind][phase] = true;
        bool boot = mark->event->clock == INQ_LOG_CLOCK_BOOT;
        add_moment(f, &(struct inq_timeline_event){
                          .phase = phase,
                          .time_ns = boot ? mark->event->time_ns : mark->time_ns,
                          .since_boot = boot,
                          .dated = c->dated,
                          .rank = mark->rank,
                          .file = inq_log_path(c, mark->event),
                          .line = mark->event->line,
                          .what = say_line(c, mark),
                      });
    }
    c->no_memory = c->no_memory || inq_sort(f->moments, f->n_moments, sizeof *f->moments, by_time,
                                            NULL, NULL) != INQ_OK;
}

/* ---- places ---------------------------------------------------------------------------------- */

static bool same_place(const struct inq_failure_place *a, const struct inq_failure_place *b)
{
    if (a->rank >= 0 && b->rank >= 0) {
        return a->rank == b->rank;
    }
    return a->rank == b->rank && a->pid == b->pid && strcmp(a->host, b->host) == 0 &&
           strcmp(a->bus, b->bus) == 0 && strcmp(a->peer, b->peer) == 0;
}

static void add_place(struct inq_failure *f, const struct inq_failure_place *place)
{
    for (size_t i = 0; i < f->n_places; i++) {
        if (same_place(&f->places[i], place)) {
            return;
        }
    }
    bool known = place->rank >= 0 || place->pid >= 0 || place->host[0] != '\0' ||
                 place->bus[0] != '\0' || place->peer[0] != '\0';
    if (known && f->n_places < MAX_PLACES) {
        f->places[f->n_places++] = *place;
    }
}

static void explain_places(struct inq_log_case *c, struct inq_failure *f)
{
    f->places = inq_arena_array(c->arena, MAX_PLACES, sizeof *f->places);
    if (f->places == NULL) {
        c->no_memory = true;
        return;
    }
    for (size_t i = 0; i < c->n_marks; i++) {
        const struct inq_attributed_line *mark = &c->marks[i];
        bool peer = f->cls == INQ_FAILURE_PEER_DIED || f->cls == INQ_FAILURE_NETWORK;
        bool tells = mark->event->kind == INQ_LOG_PEER_CLOSED ||
                     mark->event->kind == INQ_LOG_NCCL_IB ||
                     mark->event->kind == INQ_LOG_NCCL_CONNECT;
        bool of_root = mark->rank < 0;
        for (size_t k = 0; k < f->n_roots; k++) {
            of_root = of_root || f->root_ranks[k] == mark->rank;
        }
        const char *bus = inq_log_bus_text(c, mark->event->bus);
        const char *said = bus[0] != '\0' || tells ? say_of_place(c, mark) : NULL;
        said = said != NULL ? said : say_line(c, mark);
        if (mark->root && of_root && f->cls != INQ_FAILURE_UNKNOWN) {
            add_place(f, &(struct inq_failure_place){mark->rank, mark->host, mark->event->pid, bus,
                                                     "", said});
        } else if (peer && tells && mark->event->peer[0] != '\0' && c->cause == NULL) {
            add_place(f, &(struct inq_failure_place){-1, "", -1, "", mark->event->peer, said});
        }
    }
    for (size_t i = 0; i < f->n_roots; i++) {
        add_place(f, &(struct inq_failure_place){f->root_ranks[i], "", -1, "", "",
                                                 "what the others wait for"});
    }
}

static bool is_listed(const int32_t *ranks, size_t n, int32_t rank)
{
    for (size_t i = 0; i < n; i++) {
        if (ranks[i] == rank) {
            return true;
        }
    }
    return false;
}

/* Whether a rank that was named holds the others: what ranks print of their counters may also be of
 * a hang that came of it, or of none. */
static bool waits_for_named(const struct inq_log_hang *hang, const struct inq_failure *f)
{
    for (size_t w = 0; w < hang->n_waits; w++) {
        const struct inq_failure_wait *wait = &hang->waits[w];
        for (size_t i = 0; i < wait->n_others; i++) {
            if (is_listed(f->root_ranks, f->n_roots, wait->others[i]) ||
                is_listed(f->suspected_ranks, f->n_suspected, wait->others[i])) {
                return true;
            }
        }
    }
    return false;
}

/* ---- set aside --------------------------------------------------------------------------------
 */

/* Why a line of an error is not what the run is said to have died of. */
static const char *why_aside(const struct inq_log_case *c, const struct inq_attributed_line *mark)
{
    return mark->survived ? "the run went on after it"
           : mark->late   ? "it came after the first failure"
           : c->cause != NULL && mark->means.cls == c->cause->means.cls
               ? "the same failure is told by a line that is earlier or says more"
           : mark->means.weight < INQ_LOG_FAIR ? "it names no cause"
                                               : "another line is stronger or earlier";
}

/* No error goes unmentioned: what is neither the cause nor only suffered is listed with the reason.
 */
static void explain_set_aside(struct inq_log_case *c, struct inq_failure *f)
{
    enum { MOST = 6 };
    f->set_aside = inq_arena_array(c->arena, MOST, sizeof(const char *));
    c->no_memory = c->no_memory || f->set_aside == NULL;
    for (size_t i = 0; i < c->n_marks && f->set_aside != NULL && f->n_set_aside < MOST; i++) {
        const struct inq_attributed_line *mark = &c->marks[i];
        bool own = mark->means.role == INQ_LOG_CAUSE && !inq_log_is_end(mark->event->kind) &&
                   mark->event->kind != INQ_LOG_NCCL_WARNING;
        if (own && !mark->root && mark != c->cause && mark != c->confirm &&
            mark->event->count > 0) {
            f->set_aside[f->n_set_aside++] = inq_arena_printf(
                c->arena, "%s (%.120s:%" PRIu64 "): %s", inq_log_quote(c, mark->event->text, true),
                inq_log_path(c, mark->event), mark->event->line, why_aside(c, mark));
        }
    }
}

void inq_log_explain(struct inq_log_case *c, struct inq_failure *failure)
{
    explain_evidence(c, failure);
    explain_victims(c, failure);
    explain_timeline(c, failure);
    explain_places(c, failure);
    inq_log_compose(c, failure);
    explain_set_aside(c, failure);
    failure->sizes = "";
    failure->matches = NULL;
    failure->stacks = NULL;
    if (waits_for_named(&c->hang, failure)) {
        failure->n_waits = c->hang.n_waits;
        failure->waits = c->hang.waits;
    }
}
