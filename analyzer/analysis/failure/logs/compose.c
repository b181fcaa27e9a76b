/* SPDX-License-Identifier: Apache-2.0 */
/* The first line of a failure that logs report, composed of facts by its row of the table; what to
 * do, and what else it could be. */
#include "analysis/failure/logs/logs.h"

#include "base/arena_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SECOND INT64_C(1000000000)

/* ---- facts in words -------------------------------------------------------------------------- */

static const char *say_message(struct inq_log_case *c)
{
    return c->cause != NULL ? inq_log_quote(c, c->cause->event->text, true) : "";
}

/* "KeyError: 'tokens'": the name with what follows it. */
static const char *say_exception(struct inq_log_case *c)
{
    const struct inq_log_event *e = c->cause->event;
    const char *at = e->op[0] != '\0' ? strstr(e->text, e->op) : NULL;
    const char *inner = at != NULL && strlen(at) > INQ_LOG_QUOTE ? strstr(at, "(Caused by ") : NULL;
    if (inner != NULL) { /* a long one says at its end what happened */
        return inq_arena_printf(c->arena, "%.80s ... %s", e->op, inq_log_quote(c, inner, false));
    }
    return at != NULL ? inq_log_quote(c, at, false) : e->op;
}

/* The frame of the exception that the line is, or is the message of. */
static const char *say_frame(struct inq_log_case *c)
{
    const struct inq_attributed_line *mark = c->cause;
    for (size_t i = 0; i < c->n_marks && mark->event->kind != INQ_LOG_PYTHON_ERROR; i++) {
        mark = c->marks[i].twin == c->cause ? &c->marks[i] : mark;
    }
    bool framed = mark->event->kind == INQ_LOG_PYTHON_ERROR || mark->event->kind == INQ_LOG_ABORTED;
    const char *frame = framed ? mark->event->peer : "";
    return frame[0] != '\0' ? inq_arena_printf(c->arena, " at %.150s", frame) : "";
}

/* How many of the first n bytes are whole sentences; all where there is none. */
static size_t sentences(const char *text, size_t n)
{
    size_t whole = 0;
    for (size_t i = 0; i + 1 < n; i++) {
        whole = text[i] == '.' && text[i + 1] == ' ' ? i : whole;
    }
    return whole > 0 ? whole : n;
}

/* ": tried to allocate 304.00 MiB (GPU 0": what was asked for, as the line says. */
static const char *say_allocation(struct inq_log_case *c)
{
    static const char *const words[] = {"ried to allocate", "rying to allocate", "ttempting to ",
                                        "emory space hbm",  "annot allocate",    "llocating"};
    const char *text = c->cause->event->text;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *at = strstr(text, words[i]);
        if (at != NULL) {
            size_t n = strcspn(at, ";)");
            const char *first = at > text ? at - 1 : at;
            n = n < 100 ? n : sentences(at, 100);
            const char *open = memchr(at, '(', n);
            return inq_arena_printf(
                c->arena, ": %s%s",
                inq_log_quote(c, inq_arena_printf(c->arena, "%.*s", (int)(n + 1), first), false),
                open != NULL ? ")" : "");
        }
    }
    return "";
}

/* Of the cause's line; where that names none, the one host of the incident's other lines. */
static const char *say_host(struct inq_log_case *c)
{
    const char *host = c->cause != NULL ? c->cause->host : "";
    bool several = false;
    for (size_t i = 0; i < c->n_marks && c->cause != NULL && c->cause->host[0] == '\0'; i++) {
        const struct inq_attributed_line *mark = &c->marks[i];
        if (mark->root && mark->host[0] != '\0') {
            several = several || (host[0] != '\0' && strcmp(host, mark->host) != 0);
            host = mark->host;
        }
    }
    return host[0] != '\0' && !several ? inq_arena_printf(c->arena, " on %.80s", host) : "";
}

static const struct inq_attributed_line *find(const struct inq_log_case *c, enum inq_log_kind kind)
{
    for (size_t i = 0; i < c->n_marks; i++) {
        if (c->marks[i].event->kind == kind && !c->marks[i].survived) {
            return &c->marks[i];
        }
    }
    return NULL;
}

/* What a line names where no rank is a root or a suspected. */
static const char *say_process(struct inq_log_case *c)
{
    const struct inq_log_event *e = c->cause->event;
    const char *host = say_host(c);
    if (c->cause->rank >= 0) { /* it speaks, and may have been hit by another */
        return inq_arena_printf(c->arena, "rank %" PRId32 "%s", c->cause->rank, host);
    }
    if (e->n_ranks > 0 && e->kind != INQ_LOG_STALLED_RANKS) {
        return inq_arena_printf(c->arena, "task %" PRId32 "%s", e->ranks[0], host);
    }
    if (e->local_rank >= 0) {
        return inq_arena_printf(c->arena, "local rank %" PRId32 "%s", e->local_rank, host);
    }
    if (e->pid >= 0 && e->kind != INQ_LOG_LOADER_DIED) { /* there it is the worker's */
        return inq_arena_printf(c->arena, "process %" PRId64 "%s", e->pid, host);
    }
    const struct inq_attributed_line *loader =
        e->kind == INQ_LOG_SLURM_OOM ? find(c, INQ_LOG_LOADER_DIED) : NULL;
    if (loader != NULL && loader->event->pid >= 0) {
        return inq_arena_printf(c->arena, "data loader worker %" PRId64 "%s", loader->event->pid,
                                host);
    }
    bool kernel = e->kind == INQ_LOG_VERSION_MISMATCH && strstr(e->text, "NVRM: ") != NULL;
    bool node = (inq_log_of_host(e->kind) || kernel) && e->kind != INQ_LOG_SLURM_OOM &&
                e->kind != INQ_LOG_KERNEL_OOM && !inq_log_is_end(e->kind);
    if (host[0] != '\0') {
        return node ? host + 4 : inq_arena_printf(c->arena, "a process%s", host);
    }
    return node ? "a node" : "a process";
}

/* Whether what a machine or scheduler reports several ranks is all of one host. */
static bool are_together(const struct inq_log_case *c)
{
    const char *host = c->cause != NULL ? c->cause->host : "";
    bool together = c->cause != NULL && inq_log_of_host(c->cause->event->kind);
    for (size_t i = 0; i < c->n_marks && together; i++) {
        const struct inq_attributed_line *mark = &c->marks[i];
        host = mark->root && host[0] == '\0' ? mark->host : host;
        together = !mark->root || mark->host[0] == '\0' || strcmp(mark->host, host) == 0;
    }
    return together;
}

/* Where it began: ranks, else a GPU, a process or a host. */
static const char *say_who(struct inq_log_case *c, const struct inq_failure *f)
{
    const char *bus = c->cause != NULL ? inq_log_bus_text(c, c->cause->event->bus) : "";
    const char *ranks =
        f->n_roots > 0 ? inq_arena_ranks(c->arena, f->root_ranks, f->n_roots, false) : "";
    if (bus[0] != '\0') {
        return inq_arena_printf(c->arena, "GPU %s%s%s%s", bus, ranks[0] != '\0' ? " of " : "",
                                ranks, say_host(c));
    }
    if (ranks[0] != '\0') {
        return inq_arena_printf(c->arena, "%s%s", ranks,
                                f->n_roots == 1 || are_together(c) ? say_host(c) : "");
    }
    if (f->n_suspected > 0) {
        return inq_arena_ranks(c->arena, f->suspected_ranks, f->n_suspected, false);
    }
    return c->cause != NULL ? say_process(c) : "a process";
}

static const char *say_hang(struct inq_log_case *c)
{
    const struct inq_log_hang *hang = &c->hang;
    const char *group =
        hang->group[0] != '\0' ? inq_arena_printf(c->arena, " of group %.60s", hang->group) : "";
    const char *size =
        hang->numel > 1 ? inq_arena_printf(c->arena, " (%" PRId64 " elements)", hang->numel) : "";
    const struct inq_log_event *said = hang->said != NULL ? hang->said->event : NULL;
    return hang->seq >= 0 ? inq_arena_printf(c->arena, "%.40s %" PRId64 "%s%s",
                                             hang->op[0] != '\0' ? hang->op : "collective",
                                             hang->seq, size, group)
           : said != NULL && said->kind == INQ_LOG_BARRIER_RANKS
               ? "the barrier that the others wait in"
           : said != NULL && said->kind == INQ_LOG_STALLED_RANKS && said->op[0] != '\0'
               ? inq_arena_printf(c->arena, "what the others wait in (%s)",
                                  inq_log_quote(c, said->op, false))
               : "what the others wait in";
}

/* ", 35 s after the last step" */
static const char *say_since(struct inq_log_case *c)
{
    int64_t last_ns = INQ_TIME_NONE;
    if (c->cause == NULL || c->cause->time_ns == INQ_TIME_NONE) {
        return "";
    }
    for (size_t i = 0; i < c->progress.n; i++) {
        int64_t ns = c->progress.at[i]->time_ns;
        bool before = ns != INQ_TIME_NONE && ns <= c->cause->time_ns;
        last_ns = before && (last_ns == INQ_TIME_NONE || ns > last_ns) ? ns : last_ns;
    }
    int64_t s = last_ns != INQ_TIME_NONE ? (c->cause->time_ns - last_ns) / SECOND : 0;
    return s > 0 ? inq_arena_printf(c->arena, ", %" PRId64 " s after the last step", s) : "";
}

/* A line that names the process at the other end. */
static const struct inq_attributed_line *find_peer(const struct inq_log_case *c)
{
    static const enum inq_log_kind kinds[] = {INQ_LOG_NCCL_IB, INQ_LOG_FABRIC_ERROR,
                                              INQ_LOG_NCCL_CONNECT, INQ_LOG_PEER_CLOSED,
                                              INQ_LOG_GLOO_CLOSED};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        for (size_t i = 0; i < c->n_marks; i++) {
            if (c->marks[i].event->kind == kinds[k] && c->marks[i].event->peer[0] != '\0') {
                return &c->marks[i];
            }
        }
    }
    return NULL;
}

static const char *say_peer(struct inq_log_case *c)
{
    const struct inq_attributed_line *mark = find_peer(c);
    return mark != NULL ? inq_arena_printf(c->arena, "%.120s", mark->event->peer) : "the peer";
}

static const char *say_network(struct inq_log_case *c)
{
    const struct inq_attributed_line *mark = find(c, INQ_LOG_NCCL_IB);
    if (mark != NULL) {
        const struct inq_log_event *e = mark->event;
        return inq_arena_printf(
            c->arena, "InfiniBand transfers between %s and %.100s, status %" PRId64 " (%s)",
            mark->host[0] != '\0' ? mark->host : "the reporting process",
            e->peer[0] != '\0' ? e->peer : "a peer", e->code, inq_log_ib_status(e->code));
    }
    mark = find(c, INQ_LOG_FABRIC_ERROR);
    mark = mark != NULL ? mark : find(c, INQ_LOG_NCCL_CONNECT);
    return mark != NULL ? inq_log_quote(c, mark->event->text, true) : "";
}

static const char *say_who_first(struct inq_log_case *c, const struct inq_failure *f)
{
    char *who = inq_arena_asprintf(c->arena, "%s", say_who(c, f));
    if (who != NULL && who[0] >= 'a' && who[0] <= 'z' && strncmp(who, "node", 4) != 0) {
        who[0] = (char)(who[0] - ('a' - 'A'));
    }
    return who != NULL ? who : "";
}

/* "GPU 0000:dd:00.0 of rank 3", "The GPU of node-3" */
static const char *say_device(struct inq_log_case *c, const struct inq_failure *f)
{
    bool bus = c->cause != NULL && inq_log_bus_text(c, c->cause->event->bus)[0] != '\0';
    return bus ? say_who(c, f) : inq_arena_printf(c->arena, "The GPU of %s", say_who(c, f));
}

static const char *say_text(struct inq_log_case *c, const struct inq_failure *f)
{
    const char *said =
        f->cls == INQ_FAILURE_NETWORK && c->cause == NULL ? say_network(c) : say_message(c);
    const struct inq_attributed_line *victim = said[0] == '\0' ? inq_log_telling_victim(c) : NULL;
    return victim != NULL ? inq_log_quote(c, victim->event->text, true) : said;
}

static const char *say_other_end(struct inq_log_case *c)
{
    return find_peer(c) != NULL ? inq_arena_printf(c->arena, " (%s)", say_peer(c)) : "";
}

static const char *say_op(struct inq_log_case *c)
{
    const struct inq_log_event *e = c->cause->event;
    return e->op[0] != '\0' ? inq_log_quote(c, e->op, false) : say_message(c);
}

static const char *say_node(struct inq_log_case *c)
{
    const struct inq_log_event *e = c->cause->event;
    return e->peer[0] != '\0' ? inq_arena_printf(c->arena, " (%.80s)", e->peer) : "";
}

static const char *say_named_peer(struct inq_log_case *c)
{
    return c->cause->event->peer;
}

static const char *say_code(struct inq_log_case *c)
{
    return inq_arena_printf(c->arena, "%" PRId64, c->cause->event->code);
}

static const char *say_xid(struct inq_log_case *c)
{
    int64_t code = c->cause->event->code;
    return inq_arena_printf(c->arena, "Xid %" PRId64 " (%s)", code, inq_xid_name(code));
}

static const char *say_sizes(struct inq_log_case *c)
{
    const struct inq_log_event *e = c->cause->event;
    return e->numel_in >= 0 && e->numel_out >= 0
               ? inq_arena_printf(c->arena, " (%" PRId64 " and %" PRId64 " bytes)", e->numel_in,
                                  e->numel_out)
               : "";
}

/* What NCCL last warned of in the same file before it failed; else what the exception says. */
static const char *say_warned(struct inq_log_case *c)
{
    const struct inq_log_event *cause = c->cause->event;
    const char *warned = NULL;
    for (size_t i = 0; i < c->n_marks; i++) {
        const struct inq_log_event *e = c->marks[i].event;
        bool own = e->kind == INQ_LOG_NCCL_WARNING && e->file == cause->file &&
                   (c->marks[i].rank < 0 || c->marks[i].rank == c->cause->rank);
        warned = own && e->line < cause->line ? e->text : warned;
    }
    return warned != NULL                        ? inq_log_quote(c, warned, true)
           : cause->kind == INQ_LOG_PYTHON_ERROR ? say_exception(c)
                                                 : say_op(c);
}

/* ": index out of bounds": what the line behind says. */
static const char *say_next_line(struct inq_log_case *c)
{
    const char *op = c->cause->event->op;
    return op[0] != '\0' ? inq_arena_printf(c->arena, " %s", inq_log_quote(c, op, false)) : "";
}

/* The line itself, where no rank is known to name. */
static const char *say_quoted(struct inq_log_case *c, const struct inq_failure *f)
{
    return f->n_roots == 0 ? inq_arena_printf(c->arena, " (%s)", say_message(c)) : "";
}

/* " for rank 7", of those that a line says to be waited for; else who waited. */
static const char *say_awaited(struct inq_log_case *c, const struct inq_failure *f)
{
    const struct inq_attributed_line *mark = c->cause;
    const char *peer = mark->event->peer;
    return f->n_roots > 0
               ? inq_arena_printf(c->arena, " for %s",
                                  inq_arena_ranks(c->arena, f->root_ranks, f->n_roots, false))
           : peer[0] != '\0' ? inq_arena_printf(c->arena, " for %.80s", peer)
           : mark->event->peer_rank >= 0
               ? inq_arena_printf(c->arena, " for rank %" PRId64, (int64_t)mark->event->peer_rank)
           : mark->rank >= 0
               ? inq_arena_printf(c->arena, ", as rank %" PRId32 " noticed", mark->rank)
               : "";
}

static const char *say_was(struct inq_log_case *c, const struct inq_failure *f)
{
    (void)c;
    return f->n_roots > 1 || (f->n_roots == 0 && f->n_suspected > 1) ? "were" : "was";
}

/* "process 9120 (pt_data_worker) of rank 3": whom the kernel killed, as it says. */
static const char *say_killed(struct inq_log_case *c, const struct inq_failure *f)
{
    const struct inq_log_event *e = c->cause->event;
    if (e->op[0] == '\0' || e->pid < 0) {
        return say_who(c, f);
    }
    const char *rank =
        f->n_roots > 0
            ? inq_arena_printf(c->arena, " of %s",
                               inq_arena_ranks(c->arena, f->root_ranks, f->n_roots, false))
            : "";
    return inq_arena_printf(c->arena, "process %" PRId64 " (%.60s)%s%s", e->pid, e->op, rank,
                            say_host(c));
}

static const char *say_versions(struct inq_log_case *c)
{
    return inq_arena_printf(c->arena, "%s and %s", c->version, c->other_version);
}

/* Of a process that ended on a code: what it printed last, which sys.exit("...") leaves alone. */
static const char *say_words(struct inq_log_case *c, const struct inq_failure *f)
{
    int32_t rank = f->n_roots == 1 ? f->root_ranks[0] : c->cause->rank;
    const struct inq_attributed_line *words = NULL;
    for (size_t i = 0; i < c->n_marks && rank >= 0; i++) {
        const struct inq_attributed_line *mark = &c->marks[i];
        bool own = mark->event->kind == INQ_LOG_LAST_WORDS && mark->rank == rank;
        words = own ? mark : words;
    }
    return words != NULL ? inq_arena_printf(c->arena, "its last words are \"%s\"",
                                            inq_log_quote(c, words->event->text, true))
                         : "its own error message is not in these logs";
}

/* ---- of situations --------------------------------------------------------------------------- */

/* NCCL's exception only says that it failed, where a warning of its own says why. */
static bool is_told_by_nccl(const struct inq_log_case *c, const struct inq_attributed_line *victim)
{
    return c->floor != NULL && c->floor->event->kind == INQ_LOG_NCCL_WARNING &&
           strstr(victim->event->text, "NCCL error in") != NULL;
}

/* The line that says most where none names a cause; NULL none. */
static const struct inq_attributed_line *speaker(const struct inq_log_case *c)
{
    const struct inq_attributed_line *mark = inq_log_telling_victim(c);
    return mark == NULL || is_told_by_nccl(c, mark) ? c->floor : mark;
}

static const char *say_said(struct inq_log_case *c)
{
    const struct inq_attributed_line *mark = speaker(c);
    return mark == NULL                           ? ""
           : mark->event->kind == INQ_LOG_NCCL_IB ? say_network(c)
           : mark->event->kind == INQ_LOG_ABORTED && strchr(mark->event->op, ' ') != NULL
               ? inq_log_quote(c, mark->event->op, false)
               : inq_log_quote(c, mark->event->text, true);
}

/* ": " and the same, or nothing. */
static const char *say_told_by(struct inq_log_case *c)
{
    const char *said = say_said(c);
    return said[0] != '\0' ? inq_arena_printf(c->arena, ": %s", said) : "";
}

static const char *say_speaker(struct inq_log_case *c)
{
    const struct inq_attributed_line *mark = speaker(c);
    return mark != NULL && mark->rank >= 0 ? inq_arena_printf(c->arena, "rank %" PRId32, mark->rank)
           : mark != NULL && mark->host[0] != '\0'
               ? inq_arena_printf(c->arena, "a process on %.80s", mark->host)
               : "a process";
}

/* ": process 81 on n3, rank 5": which worker was lost, as whoever started it says. */
static const char *say_worker(struct inq_log_case *c)
{
    const struct inq_attributed_line *mark = speaker(c);
    if (mark == NULL) {
        return "";
    }
    const struct inq_log_event *e = mark->event;
    return inq_arena_printf(
        c->arena, "%s%s%s%s",
        e->pid >= 0 ? inq_arena_printf(c->arena, ": process %" PRId64, e->pid) : "",
        e->peer[0] != '\0' ? inq_arena_printf(c->arena, " on %.60s", e->peer) : "",
        mark->rank >= 0 ? inq_arena_printf(c->arena, ", rank %" PRId32, mark->rank) : "",
        e->pid < 0 && e->peer[0] == '\0' ? inq_arena_printf(c->arena, " (%s)", say_said(c)) : "");
}

/* Whoever stopped the processes says so; NULL: nobody. */
static const struct inq_attributed_line *stopped(const struct inq_log_case *c)
{
    for (size_t i = 0; i < c->n_marks; i++) {
        if (c->marks[i].means.role == INQ_LOG_TEARDOWN && !c->marks[i].survived) {
            return &c->marks[i];
        }
    }
    return NULL;
}

static const char *say_end(struct inq_log_case *c)
{
    const struct inq_attributed_line *end = stopped(c);
    return end != NULL ? inq_log_quote(c, end->event->text, true) : "";
}

static const char *say_waited(struct inq_log_case *c)
{
    return c->hang.seq >= 0        ? say_hang(c)
           : c->hang.op[0] != '\0' ? inq_log_quote(c, c->hang.op, false)
                                   : "a collective";
}

/* " (rank 3 timed out first)" */
static const char *say_first(struct inq_log_case *c)
{
    const struct inq_attributed_line *first = c->hang.first;
    return first != NULL && first->rank >= 0
               ? inq_arena_printf(c->arena, " (rank %" PRId32 " timed out first)", first->rank)
               : "";
}

/* The furthest step in the logs of ranks that a list has, or has not; -1 none. */
static int64_t last_step(const struct inq_log_case *c, const int32_t *ranks, size_t n, bool of_them)
{
    int64_t last = -1;
    for (size_t i = 0; i < c->trace->n_logs; i++) {
        const struct inq_log *log = c->trace->logs[i];
        bool listed = false;
        for (size_t k = 0; k < n; k++) {
            listed = listed || log->rank == ranks[k];
        }
        if (log->rank >= 0 && listed == of_them && log->n_metrics > 0 &&
            log->metrics[log->n_metrics - 1].step > last) {
            last = log->metrics[log->n_metrics - 1].step;
        }
    }
    return last;
}

/* "; the last step printed there is 39, by the others 40" */
static const char *say_behind(struct inq_log_case *c, const struct inq_failure *f)
{
    int64_t own = last_step(c, f->root_ranks, f->n_roots, true);
    int64_t other = last_step(c, f->root_ranks, f->n_roots, false);
    return own >= 0 && own < other ? inq_arena_printf(c->arena,
                                                      "; the last step printed there is %" PRId64
                                                      ", by the others %" PRId64,
                                                      own, other)
                                   : "";
}

/* The line that names who is late. */
static const char *say_late(struct inq_log_case *c)
{
    const struct inq_attributed_line *named = find(c, INQ_LOG_TASK_LOST);
    return named != NULL ? inq_log_quote(c, named->event->text, true) : "";
}

static const char *say_victim(struct inq_log_case *c)
{
    const struct inq_attributed_line *mark = inq_log_telling_victim(c);
    return mark != NULL ? inq_log_quote(c, mark->event->text, true) : "";
}

/* A line that says itself what differs: two ranks, two ops. NULL: none. */
static const struct inq_log_event *pair_of(const struct inq_log_case *c)
{
    const struct inq_log_event *e = c->cause != NULL ? c->cause->event : NULL;
    bool pair = e != NULL && e->kind == INQ_LOG_MISMATCH && e->peer_rank >= 0 && e->op[0] != '\0';
    return pair ? e : NULL;
}

/* What two ranks of the hang wait in; NULL: nothing differs. */
struct sides {
    const struct inq_rank_progress *odd, *usual;
};

static struct sides sides_of(const struct inq_log_case *c, const struct inq_failure *f)
{
    struct sides sides = {NULL, NULL};
    for (size_t i = 0; i < c->hang.n_progress; i++) {
        const struct inq_rank_progress *row = &c->hang.progress[i];
        const struct inq_rank_progress *odd = sides.odd;
        bool suspected = f->n_roots > 0 && row->rank == f->root_ranks[0];
        bool differs = odd == NULL || strcmp(row->op, odd->op) != 0 || row->numel != odd->numel;
        sides.odd = suspected ? row : odd;
        sides.usual = !suspected && row->op[0] != '\0' && differs ? row : sides.usual;
    }
    bool both = sides.odd != NULL && sides.usual != NULL && sides.odd->op[0] != '\0';
    return both ? sides : (struct sides){NULL, NULL};
}

static const char *say_odd(struct inq_log_case *c, const struct inq_failure *f)
{
    const struct inq_log_event *e = pair_of(c);
    return e != NULL ? inq_arena_printf(c->arena, "Rank %" PRId32, e->rank)
                     : inq_arena_ranks(c->arena, f->root_ranks, f->n_roots, true);
}

static const char *say_number(struct inq_log_case *c, int64_t seq)
{
    return seq >= 0 ? inq_arena_printf(c->arena, " %" PRId64, seq) : "";
}

static const char *say_its(struct inq_log_case *c, const struct inq_failure *f)
{
    const struct inq_log_event *e = pair_of(c);
    if (e != NULL) {
        return inq_arena_printf(c->arena, "%.40s%s", e->op, say_number(c, e->seq));
    }
    const struct inq_rank_progress *odd = sides_of(c, f).odd;
    return inq_arena_printf(c->arena, "%.40s %" PRId64 " with %" PRId64 " elements", odd->op,
                            c->hang.seq, odd->numel);
}

static const char *say_rank(struct inq_log_case *c, const struct inq_failure *f)
{
    const struct inq_log_event *e = pair_of(c);
    return inq_arena_printf(c->arena, "rank %" PRId64,
                            e != NULL ? e->peer_rank : (int64_t)sides_of(c, f).usual->rank);
}

static const char *say_theirs(struct inq_log_case *c, const struct inq_failure *f)
{
    const struct inq_log_event *e = pair_of(c);
    if (e != NULL) {
        return inq_arena_printf(c->arena, "%.40s%s", e->peer[0] != '\0' ? e->peer : "another",
                                say_number(c, e->seq));
    }
    const struct inq_rank_progress *usual = sides_of(c, f).usual;
    return inq_arena_printf(c->arena, "%.40s with %" PRId64, usual->op, usual->numel);
}

static const char *say_minutes(struct inq_log_case *c)
{
    return inq_arena_printf(c->arena, "%" PRId64,
                            (c->cause->time_ns - c->hang.detected_ns) / (60 * SECOND));
}

static const char *say_suspected(struct inq_log_case *c)
{
    return inq_arena_ranks(c->arena, c->hang.suspected, c->hang.n_suspected, false);
}

/* The fields of a headline. */
static const struct {
    const char *name;
    const char *(*say)(struct inq_log_case *c);
    const char *(*say_of)(struct inq_log_case *c, const struct inq_failure *f); /* instead */
    bool of_line; /* says nothing without the line that it began with */
} fields[] = {
    {"who", NULL, say_who, false},
    {"Who", NULL, say_who_first, false},
    {"Device", NULL, say_device, false},
    {"text", NULL, say_text, false},
    {"hang", say_hang, NULL, false},
    {"since", say_since, NULL, false},
    {"on", say_host, NULL, false},
    {"to", say_other_end, NULL, false},
    {"exc", say_exception, NULL, true},
    {"at", say_frame, NULL, true},
    {"op", say_op, NULL, true},
    {"alloc", say_allocation, NULL, true},
    {"node", say_node, NULL, true},
    {"peer", say_named_peer, NULL, true},
    {"code", say_code, NULL, true},
    {"xid", say_xid, NULL, true},
    {"sizes", say_sizes, NULL, true},
    {"was", NULL, say_was, false},
    {"killed", NULL, say_killed, true},
    {"message", say_next_line, NULL, true},
    {"quoted", NULL, say_quoted, true},
    {"awaited", NULL, say_awaited, true},
    {"warned", say_warned, NULL, true},
    {"words", NULL, say_words, true},
    {"versions", say_versions, NULL, true},
    {"said", say_said, NULL, false},
    {"told", say_told_by, NULL, false},
    {"speaker", say_speaker, NULL, false},
    {"worker", say_worker, NULL, false},
    {"end", say_end, NULL, false},
    {"waited", say_waited, NULL, false},
    {"first", say_first, NULL, false},
    {"behind", NULL, say_behind, false},
    {"late", say_late, NULL, false},
    {"victim", say_victim, NULL, false},
    {"Odd", NULL, say_odd, false},
    {"its", NULL, say_its, false},
    {"rank", NULL, say_rank, false},
    {"theirs", NULL, say_theirs, false},
    {"minutes", say_minutes, NULL, true},
    {"suspected", say_suspected, NULL, false},
    {"other", say_peer, NULL, false},
};

static const char *say_field(struct inq_log_case *c, const struct inq_failure *f, const char *name,
                             size_t n)
{
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (strlen(fields[i].name) != n || memcmp(fields[i].name, name, n) != 0) {
            continue;
        }
        if (fields[i].of_line && c->cause == NULL) {
            return "";
        }
        return fields[i].say != NULL ? fields[i].say(c) : fields[i].say_of(c, f);
    }
    return "";
}

/* ---- composing ------------------------------------------------------------------------------- */

struct told {
    struct inq_log_case *c;
    const struct inq_failure *f;
};

static const char *say_told(void *ctx, const char *name, size_t n)
{
    const struct told *told = ctx;
    return say_field(told->c, told->f, name, n);
}

static const char *fill(struct inq_log_case *c, const struct inq_failure *f, const char *format)
{
    struct told told = {c, f};
    const char *line = inq_failure_fill(c->arena, format, say_told, &told);
    size_t len = strlen(format);
    if (len > 0 && format[len - 1] == '.') {
        return line;
    }
    const char *other = f->n_roots + f->n_suspected > 0 ? "other " : "";
    const char *victims = f->n_victims == 0
                              ? ""
                              : inq_arena_printf(c->arena, "; %zu %srank%s affected", f->n_victims,
                                                 other, f->n_victims == 1 ? "" : "s");
    const char *again =
        c->n_earlier == 0
            ? ""
            : inq_arena_printf(c->arena, "; it was start %zu of the workers", c->n_earlier + 1);
    return inq_arena_printf(c->arena, "%s%s%s.", line, victims, again);
}

/* No line names a cause, nor where ranks wait. */
static enum inq_failure_situation of_victims(struct inq_log_case *c, const struct inq_failure *f)
{
    const struct inq_attributed_line *mark = speaker(c);
    if (find(c, INQ_LOG_XID) != NULL) {
        return INQ_SITUATION_XID_FOLLOWS;
    }
    if (find(c, INQ_LOG_WATCHDOG_STUCK) != NULL) {
        return INQ_SITUATION_WATCHDOG_STUCK;
    }
    if (f->n_roots + f->n_suspected > 0) {
        return INQ_SITUATION_ACCUSED;
    }
    if (mark != NULL) {
        return mark->event->kind == INQ_LOG_WORKER_LOST ? INQ_SITUATION_WORKER_LOST
               : mark == c->floor                       ? INQ_SITUATION_LAST_ERROR
                                                        : INQ_SITUATION_PEER_FAILED;
    }
    const struct inq_attributed_line *end = stopped(c);
    return end == NULL                                                  ? INQ_SITUATION_UNTOLD
           : strstr(end->event->text, "eceived 1 death signal") != NULL ? INQ_SITUATION_HUNG_UP
                                                                        : INQ_SITUATION_STOPPED;
}

static enum inq_failure_situation of_unknown(struct inq_log_case *c, const struct inq_failure *f)
{
    return c->cause != NULL                  ? INQ_SITUATION_NONE
           : c->hang.how == INQ_LOG_NO_HANG  ? of_victims(c, f)
           : f->n_suspected > 0              ? INQ_SITUATION_SILENT
           : c->hang.how == INQ_LOG_ALL_DONE ? INQ_SITUATION_ALL_DONE
                                             : INQ_SITUATION_ALL_WAIT;
}

/* All but some ranks say that a peer is gone or late. */
static enum inq_failure_situation of_absent(const struct inq_log_case *c)
{
    const struct inq_attributed_line *named = find(c, INQ_LOG_TASK_LOST);
    return c->hang.how == INQ_LOG_SILENT                ? INQ_SITUATION_NO_ERROR
           : named != NULL && named->event->n_ranks > 0 ? INQ_SITUATION_NOT_JOINED
                                                        : INQ_SITUATION_NO_LOSS;
}

static enum inq_failure_situation of_mismatch(const struct inq_log_case *c,
                                              const struct inq_failure *f)
{
    const struct sides sides = sides_of(c, f);
    return pair_of(c) != NULL || sides.odd != NULL ? INQ_SITUATION_DIFFER
           : c->cause != NULL && f->n_roots == 0   ? INQ_SITUATION_DIFFER_SAID
                                                   : INQ_SITUATION_NONE;
}

/* The task that was lost connected again, as a process of its own. */
static bool has_restarted(const struct inq_log_case *c)
{
    const struct inq_attributed_line *mark = find(c, INQ_LOG_TASK_LOST);
    return mark != NULL && strstr(mark->event->text, "incarnation") != NULL;
}

static bool has_sub(const struct inq_failure *f, const char *sub)
{
    return f->subclass != NULL && strcmp(f->subclass, sub) == 0;
}

static enum inq_failure_situation situation_of(struct inq_log_case *c, const struct inq_failure *f)
{
    const struct inq_failure_rule *rule = c->cause != NULL ? c->cause->means.rule : NULL;
    bool own = rule != NULL && rule->cls == f->cls && rule->headline != NULL;
    switch ((int)f->cls) {
    case INQ_FAILURE_UNKNOWN:
        return of_unknown(c, f);
    case INQ_FAILURE_MISMATCH:
        return rule == NULL || rule->headline == NULL ? of_mismatch(c, f) : INQ_SITUATION_NONE;
    case INQ_FAILURE_PEER_DIED:
        return f->n_roots == 0    ? INQ_SITUATION_NONE
               : has_restarted(c) ? INQ_SITUATION_RESTARTED
                                  : INQ_SITUATION_NO_HEARTBEAT;
    case INQ_FAILURE_CPU_STALL:
        return has_sub(f, "absent")                      ? of_absent(c)
               : c->hang.how == INQ_LOG_ALL_DONE && !own ? INQ_SITUATION_ALL_DONE_ON_CPU
                                                         : INQ_SITUATION_NONE;
    case INQ_FAILURE_HOST:
        return rule != NULL && strcmp(rule->sub, "killed") == 0 ? INQ_SITUATION_KILLED_LATE
                                                                : INQ_SITUATION_NONE;
    case INQ_FAILURE_NETWORK:
        return !own && f->confidence == INQ_CONFIDENCE_HYPOTHESIS ? INQ_SITUATION_LINK
                                                                  : INQ_SITUATION_NONE;
    default:
        return INQ_SITUATION_NONE;
    }
}

static const char *headline(struct inq_log_case *c, const struct inq_failure *f,
                            const struct inq_failure_rule *situation)
{
    const struct inq_failure_rule *rule = c->cause != NULL ? c->cause->means.rule : NULL;
    bool own = rule != NULL && (rule->cls == f->cls || f->cls == INQ_FAILURE_UNKNOWN) &&
               rule->headline != NULL;
    return fill(c, f,
                situation->headline != NULL ? situation->headline
                : own                       ? rule->headline
                                            : inq_failure_class_rule(f->cls)->headline);
}

/* ---- what to do, and what else it could be --------------------------------------------------- */

static const char *advice(struct inq_log_case *c, const struct inq_failure *f)
{
    const struct inq_failure_rule *rule = c->cause != NULL ? c->cause->means.rule : NULL;
    if (f->cls == INQ_FAILURE_APPLICATION && c->cause != NULL && *say_frame(c) != '\0') {
        struct told told = {c, f};
        return inq_failure_fill(
            c->arena, inq_failure_situation_rule(INQ_SITUATION_OWN_FRAME)->advice, say_told, &told);
    }
    bool own = rule != NULL && (rule->cls == f->cls || rule->cls == INQ_FAILURE_UNKNOWN);
    if (own && rule->advice != NULL) {
        return rule->advice;
    }
    bool hangs = f->cls == INQ_FAILURE_UNKNOWN && c->hang.how != INQ_LOG_NO_HANG;
    return hangs ? inq_failure_situation_rule(INQ_SITUATION_ALL_WAIT)->advice
                 : inq_failure_class_rule(f->cls)->advice;
}

static void add(struct inq_log_case *c, struct inq_failure *f, const char *text)
{
    enum { MOST = 8 };
    if (f->alternatives == NULL) {
        f->alternatives = inq_arena_array(c->arena, MOST, sizeof(const char *));
        c->no_memory = c->no_memory || f->alternatives == NULL;
    }
    if (text != NULL && f->alternatives != NULL && f->n_alternatives < MOST) {
        struct told told = {c, f};
        f->alternatives[f->n_alternatives++] = inq_failure_fill(c->arena, text, say_told, &told);
    }
}

/* All that a row asks. */
static void add_row(struct inq_log_case *c, struct inq_failure *f,
                    const struct inq_failure_rule *rule)
{
    for (size_t i = 0; i < INQ_RULE_NEXT; i++) {
        add(c, f, rule->next[i]);
    }
}

static void ask_unknown(struct inq_log_case *c, struct inq_failure *f)
{
    if (c->cause != NULL) {
        add_row(c, f, c->cause->means.rule);
    }
    if (f->n_alternatives == 0) {
        add_row(c, f,
                inq_failure_situation_rule(find_peer(c) != NULL ? INQ_SITUATION_PEER_NAMED
                                           : c->hang.how == INQ_LOG_NO_HANG
                                               ? INQ_SITUATION_UNTOLD
                                               : INQ_SITUATION_ALL_WAIT));
    }
}

static bool roots_wait(const struct inq_log_case *c, const struct inq_failure *f)
{
    for (size_t i = 0; i < c->hang.n_suspected; i++) {
        for (size_t k = 0; k < f->n_roots; k++) {
            if (c->hang.suspected[i] == f->root_ranks[k]) {
                return false;
            }
        }
    }
    return c->hang.n_suspected > 0 && c->hang.how != INQ_LOG_SILENT;
}

static void ask(struct inq_log_case *c, struct inq_failure *f)
{
    const struct inq_failure_rule *rule = c->cause != NULL ? c->cause->means.rule : NULL;
    bool own = rule != NULL && rule->cls == f->cls;
    if (c->other_clock) {
        add_row(c, f, inq_failure_situation_rule(INQ_SITUATION_OTHER_CLOCK));
    }
    if (own && c->confirm == NULL) {
        add_row(c, f, rule);
    }
    if (!own || f->n_alternatives == 0) {
        add_row(c, f, inq_failure_class_rule(f->cls));
    }
    if (f->cls == INQ_FAILURE_GPU_STALL && inq_log_other_op(&c->hang)) {
        add_row(c, f, inq_failure_situation_rule(INQ_SITUATION_OTHER_OP));
    }
    if (f->cls == INQ_FAILURE_HOST && f->confidence == INQ_CONFIDENCE_HYPOTHESIS) {
        add_row(c, f, inq_failure_situation_rule(INQ_SITUATION_KILLED_LATE));
    }
    if (c->cause != NULL && roots_wait(c, f)) {
        add_row(c, f, inq_failure_situation_rule(INQ_SITUATION_COUNTERS));
    }
}

void inq_log_compose(struct inq_log_case *c, struct inq_failure *f)
{
    f->headline = headline(c, f, inq_failure_situation_rule(situation_of(c, f)));
    f->advice = advice(c, f);
    if (f->cls == INQ_FAILURE_UNKNOWN) {
        ask_unknown(c, f);
    } else {
        ask(c, f);
    }
}
