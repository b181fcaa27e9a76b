/* SPDX-License-Identifier: Apache-2.0 */
/* The first line of a failure that logs report, composed of facts by its row of the table; what to
 * do, and what else it could be. */
#include "analysis/failure/logs/logs.h"

#include "base/say.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SECOND INT64_C(1000000000)

enum { HEADLINE = 900 };

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
        return inq_say(c->arena, "%.80s ... %s", e->op, inq_log_quote(c, inner, false));
    }
    return at != NULL ? inq_log_quote(c, at, false) : e->op;
}

/* The frame of the exception that the line is, or is the message of. */
static const char *say_frame(struct inq_log_case *c)
{
    const struct inq_log_mark *mark = c->cause;
    for (size_t i = 0; i < c->n_marks && mark->event->kind != INQ_LOG_PYTHON_ERROR; i++) {
        mark = c->marks[i].twin == c->cause ? &c->marks[i] : mark;
    }
    bool framed = mark->event->kind == INQ_LOG_PYTHON_ERROR || mark->event->kind == INQ_LOG_ABORTED;
    const char *frame = framed ? mark->event->peer : "";
    return frame[0] != '\0' ? inq_say(c->arena, " at %.150s", frame) : "";
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
            return inq_say(c->arena, ": %s%s",
                           inq_log_quote(c, inq_say(c->arena, "%.*s", (int)(n + 1), first), false),
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
        const struct inq_log_mark *mark = &c->marks[i];
        if (mark->root && mark->host[0] != '\0') {
            several = several || (host[0] != '\0' && strcmp(host, mark->host) != 0);
            host = mark->host;
        }
    }
    return host[0] != '\0' && !several ? inq_say(c->arena, " on %.80s", host) : "";
}

static const struct inq_log_mark *find(const struct inq_log_case *c, enum inq_log_kind kind)
{
    for (size_t i = 0; i < c->n_marks; i++) {
        if (c->marks[i].event->kind == kind && !c->marks[i].survived) {
            return &c->marks[i];
        }
    }
    return NULL;
}

/* What a line names where no rank is a root or a suspect. */
static const char *say_process(struct inq_log_case *c)
{
    const struct inq_log_event *e = c->cause->event;
    const char *host = say_host(c);
    if (c->cause->rank >= 0) { /* it speaks, and may have been hit by another */
        return inq_say(c->arena, "rank %" PRId32 "%s", c->cause->rank, host);
    }
    if (e->n_ranks > 0 && e->kind != INQ_LOG_STALLED_RANKS) {
        return inq_say(c->arena, "task %" PRId32 "%s", e->ranks[0], host);
    }
    if (e->local_rank >= 0) {
        return inq_say(c->arena, "local rank %" PRId32 "%s", e->local_rank, host);
    }
    if (e->pid >= 0 && e->kind != INQ_LOG_LOADER_DIED) { /* there it is the worker's */
        return inq_say(c->arena, "process %" PRId64 "%s", e->pid, host);
    }
    const struct inq_log_mark *loader =
        e->kind == INQ_LOG_SLURM_OOM ? find(c, INQ_LOG_LOADER_DIED) : NULL;
    if (loader != NULL && loader->event->pid >= 0) {
        return inq_say(c->arena, "data loader worker %" PRId64 "%s", loader->event->pid, host);
    }
    bool kernel = e->kind == INQ_LOG_VERSION_MISMATCH && strstr(e->text, "NVRM: ") != NULL;
    bool node = (inq_log_of_host(e->kind) || kernel) && e->kind != INQ_LOG_SLURM_OOM &&
                e->kind != INQ_LOG_KERNEL_OOM && !inq_log_is_end(e->kind);
    if (host[0] != '\0') {
        return node ? host + 4 : inq_say(c->arena, "a process%s", host);
    }
    return node ? "a node" : "a process";
}

/* Whether what a machine or scheduler tells of several ranks is all of one host. */
static bool are_together(const struct inq_log_case *c)
{
    const char *host = c->cause != NULL ? c->cause->host : "";
    bool together = c->cause != NULL && inq_log_of_host(c->cause->event->kind);
    for (size_t i = 0; i < c->n_marks && together; i++) {
        const struct inq_log_mark *mark = &c->marks[i];
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
        f->n_roots > 0 ? inq_say_ranks(c->arena, f->root_ranks, f->n_roots, false) : "";
    if (bus[0] != '\0') {
        return inq_say(c->arena, "GPU %s%s%s%s", bus, ranks[0] != '\0' ? " of " : "", ranks,
                       say_host(c));
    }
    if (ranks[0] != '\0') {
        return inq_say(c->arena, "%s%s", ranks,
                       f->n_roots == 1 || are_together(c) ? say_host(c) : "");
    }
    if (f->n_suspects > 0) {
        return inq_say_ranks(c->arena, f->suspect_ranks, f->n_suspects, false);
    }
    return c->cause != NULL ? say_process(c) : "a process";
}

static const char *say_hang(struct inq_log_case *c)
{
    const struct inq_log_hang *hang = &c->hang;
    const char *group =
        hang->group[0] != '\0' ? inq_say(c->arena, " of group %.60s", hang->group) : "";
    const char *size =
        hang->numel > 1 ? inq_say(c->arena, " (%" PRId64 " elements)", hang->numel) : "";
    const struct inq_log_event *said = hang->said != NULL ? hang->said->event : NULL;
    return hang->seq >= 0
               ? inq_say(c->arena, "%.40s %" PRId64 "%s%s",
                         hang->op[0] != '\0' ? hang->op : "collective", hang->seq, size, group)
           : said != NULL && said->kind == INQ_LOG_BARRIER_RANKS
               ? "the barrier that the others wait in"
           : said != NULL && said->kind == INQ_LOG_STALLED_RANKS && said->op[0] != '\0'
               ? inq_say(c->arena, "what the others wait in (%s)",
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
    return s > 0 ? inq_say(c->arena, ", %" PRId64 " s after the last step", s) : "";
}

/* A line that names the process at the other end. */
static const struct inq_log_mark *find_peer(const struct inq_log_case *c)
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
    const struct inq_log_mark *mark = find_peer(c);
    return mark != NULL ? inq_say(c->arena, "%.120s", mark->event->peer) : "the peer";
}

static const char *say_network(struct inq_log_case *c)
{
    const struct inq_log_mark *mark = find(c, INQ_LOG_NCCL_IB);
    if (mark != NULL) {
        const struct inq_log_event *e = mark->event;
        return inq_say(
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
    char *who = inq_arena_printf(c->arena, "%s", say_who(c, f));
    if (who != NULL && who[0] >= 'a' && who[0] <= 'z' && strncmp(who, "node", 4) != 0) {
        who[0] = (char)(who[0] - ('a' - 'A'));
    }
    return who != NULL ? who : "";
}

/* "GPU 0000:dd:00.0 of rank 3", "The GPU of node-3" */
static const char *say_device(struct inq_log_case *c, const struct inq_failure *f)
{
    bool bus = c->cause != NULL && inq_log_bus_text(c, c->cause->event->bus)[0] != '\0';
    return bus ? say_who(c, f) : inq_say(c->arena, "The GPU of %s", say_who(c, f));
}

static const char *say_text(struct inq_log_case *c, const struct inq_failure *f)
{
    const char *said =
        f->cls == INQ_FAILURE_NETWORK && c->cause == NULL ? say_network(c) : say_message(c);
    const struct inq_log_mark *victim = said[0] == '\0' ? inq_log_telling_victim(c) : NULL;
    return victim != NULL ? inq_log_quote(c, victim->event->text, true) : said;
}

static const char *say_other_end(struct inq_log_case *c)
{
    return find_peer(c) != NULL ? inq_say(c->arena, " (%s)", say_peer(c)) : "";
}

static const char *say_op(struct inq_log_case *c)
{
    const struct inq_log_event *e = c->cause->event;
    return e->op[0] != '\0' ? inq_log_quote(c, e->op, false) : say_message(c);
}

static const char *say_node(struct inq_log_case *c)
{
    const struct inq_log_event *e = c->cause->event;
    return e->peer[0] != '\0' ? inq_say(c->arena, " (%.80s)", e->peer) : "";
}

static const char *say_named_peer(struct inq_log_case *c)
{
    return c->cause->event->peer;
}

static const char *say_code(struct inq_log_case *c)
{
    return inq_say(c->arena, "%" PRId64, c->cause->event->code);
}

static const char *say_xid(struct inq_log_case *c)
{
    int64_t code = c->cause->event->code;
    return inq_say(c->arena, "Xid %" PRId64 " (%s)", code, inq_xid_name(code));
}

static const char *say_sizes(struct inq_log_case *c)
{
    const struct inq_log_event *e = c->cause->event;
    return e->numel_in >= 0 && e->numel_out >= 0
               ? inq_say(c->arena, " (%" PRId64 " and %" PRId64 " bytes)", e->numel_in,
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
    return op[0] != '\0' ? inq_say(c->arena, " %s", inq_log_quote(c, op, false)) : "";
}

/* The line itself, where no rank is known to name. */
static const char *say_quoted(struct inq_log_case *c, const struct inq_failure *f)
{
    return f->n_roots == 0 ? inq_say(c->arena, " (%s)", say_message(c)) : "";
}

/* " for rank 7", of those that a line says to be waited for; else who waited. */
static const char *say_awaited(struct inq_log_case *c, const struct inq_failure *f)
{
    const struct inq_log_mark *mark = c->cause;
    const char *peer = mark->event->peer;
    return f->n_roots > 0    ? inq_say(c->arena, " for %s",
                                       inq_say_ranks(c->arena, f->root_ranks, f->n_roots, false))
           : peer[0] != '\0' ? inq_say(c->arena, " for %.80s", peer)
           : mark->event->peer_rank >= 0
               ? inq_say(c->arena, " for rank %" PRId64, (int64_t)mark->event->peer_rank)
           : mark->rank >= 0 ? inq_say(c->arena, ", as rank %" PRId32 " noticed", mark->rank)
                             : "";
}

static const char *say_was(struct inq_log_case *c, const struct inq_failure *f)
{
    (void)c;
    return f->n_roots > 1 || (f->n_roots == 0 && f->n_suspects > 1) ? "were" : "was";
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
            ? inq_say(c->arena, " of %s", inq_say_ranks(c->arena, f->root_ranks, f->n_roots, false))
            : "";
    return inq_say(c->arena, "process %" PRId64 " (%.60s)%s%s", e->pid, e->op, rank, say_host(c));
}

static const char *say_versions(struct inq_log_case *c)
{
    return inq_say(c->arena, "%s and %s", c->version, c->other_version);
}

/* Of a process that ended on a code: what it printed last, which sys.exit("...") leaves alone. */
static const char *say_words(struct inq_log_case *c, const struct inq_failure *f)
{
    int32_t rank = f->n_roots == 1 ? f->root_ranks[0] : c->cause->rank;
    const struct inq_log_mark *words = NULL;
    for (size_t i = 0; i < c->n_marks && rank >= 0; i++) {
        const struct inq_log_mark *mark = &c->marks[i];
        bool own = mark->event->kind == INQ_LOG_LAST_WORDS && mark->rank == rank;
        words = own ? mark : words;
    }
    return words != NULL ? inq_say(c->arena, "its last words are \"%s\"",
                                   inq_log_quote(c, words->event->text, true))
                         : "its own error message is not in these logs";
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

static const char *fill(struct inq_log_case *c, const struct inq_failure *f, const char *format)
{
    char line[HEADLINE];
    size_t n = 0;
    while (*format != '\0' && n + 1 < sizeof line) {
        const char *close = *format == '{' ? strchr(format, '}') : NULL;
        if (close == NULL) {
            line[n++] = *format++;
            continue;
        }
        const char *value = say_field(c, f, format + 1, (size_t)(close - format) - 1);
        size_t len = strnlen(value, sizeof line - 1 - n);
        memcpy(line + n, value, len);
        n += len;
        format = close + 1;
    }
    line[n] = '\0';
    const char *other = f->n_roots + f->n_suspects > 0 ? "other " : "";
    const char *victims = f->n_victims == 0
                              ? ""
                              : inq_say(c->arena, "; %zu %srank%s affected", f->n_victims, other,
                                        f->n_victims == 1 ? "" : "s");
    const char *again = c->n_earlier == 0 ? ""
                                          : inq_say(c->arena, "; it was start %zu of the workers",
                                                    c->n_earlier + 1);
    return inq_say(c->arena, "%s%s%s.", line, victims, again);
}

/* A line that says itself what differs: two ranks, two ops. */
static const char *headline_of_mismatch(struct inq_log_case *c, const struct inq_failure *f)
{
    const struct inq_log_event *e = c->cause != NULL ? c->cause->event : NULL;
    if (e != NULL && e->kind == INQ_LOG_MISMATCH && e->peer_rank >= 0 && e->op[0] != '\0') {
        const char *number = e->seq >= 0 ? inq_say(c->arena, " %" PRId64, e->seq) : "";
        return inq_say(c->arena,
                       "Rank %" PRId32 " entered %.40s%s where rank %" PRId64
                       " entered %.40s%s: mismatched collectives.",
                       e->rank, e->op, number, e->peer_rank,
                       e->peer[0] != '\0' ? e->peer : "another", number);
    }
    const struct inq_log_standing *odd = NULL;
    const struct inq_log_standing *usual = NULL;
    for (size_t i = 0; i < c->hang.n_standing; i++) {
        const struct inq_log_standing *row = &c->hang.standing[i];
        bool suspect = f->n_roots > 0 && row->rank == f->root_ranks[0];
        bool differs = odd == NULL || strcmp(row->op, odd->op) != 0 || row->numel != odd->numel;
        odd = suspect ? row : odd;
        usual = !suspect && row->op[0] != '\0' && differs ? row : usual;
    }
    if (odd != NULL && usual != NULL && odd->op[0] != '\0') {
        return inq_say(c->arena,
                       "%s entered %.40s %" PRId64 " with %" PRId64 " elements where rank %" PRId32
                       " entered %.40s with %" PRId64 ": mismatched collectives.",
                       inq_say_ranks(c->arena, f->root_ranks, f->n_roots, true), odd->op,
                       c->hang.seq, odd->numel, usual->rank, usual->op, usual->numel);
    }
    if (e != NULL && f->n_roots == 0) {
        return inq_say(c->arena, "Ranks did not enter the same collective: %s.", say_message(c));
    }
    return fill(c, f, inq_failure_class_rule(INQ_FAILURE_MISMATCH)->headline);
}

/* Whoever started a worker says that it died, and which it was. */
static const char *headline_of_lost_worker(struct inq_log_case *c, const struct inq_log_mark *mark,
                                           const char *said)
{
    const struct inq_log_event *e = mark->event;
    return inq_say(c->arena,
                   "A worker died without telling why%s%s%s%s: its own log or the kernel log of "
                   "its node should name the cause.",
                   e->pid >= 0 ? inq_say(c->arena, ": process %" PRId64, e->pid) : "",
                   e->peer[0] != '\0' ? inq_say(c->arena, " on %.60s", e->peer) : "",
                   mark->rank >= 0 ? inq_say(c->arena, ", rank %" PRId32, mark->rank) : "",
                   e->pid < 0 && e->peer[0] == '\0' ? inq_say(c->arena, " (%s)", said) : "");
}

/* Nobody tells of an error: whoever stopped the processes may be named. */
static const char *headline_of_end(struct inq_log_case *c)
{
    for (size_t i = 0; i < c->n_marks; i++) {
        const struct inq_log_mark *end = &c->marks[i];
        if (end->means.role == INQ_LOG_TEARDOWN && !end->survived) {
            bool hangup = strstr(end->event->text, "eceived 1 death signal") != NULL;
            return inq_say(c->arena, "Stopped from outside%s: %s; no line says by whom or why.",
                           hangup ? " by SIGHUP, as when the launcher's terminal or session ends"
                                  : "",
                           inq_log_quote(c, end->event->text, true));
        }
    }
    return "Cause unknown: processes were aborted or stopped, and no line here says why.";
}

/* NCCL's exception only says that it failed, where a warning of its own says why. */
static bool is_told_by_nccl(const struct inq_log_case *c, const struct inq_log_mark *victim)
{
    return c->floor != NULL && c->floor->event->kind == INQ_LOG_NCCL_WARNING &&
           strstr(victim->event->text, "NCCL error in") != NULL;
}

/* No line names a cause, nor where ranks wait. */
static const char *headline_of_victims(struct inq_log_case *c, const struct inq_failure *f)
{
    if (find(c, INQ_LOG_XID) != NULL) {
        return "Cause unknown: GPU errors that follow another one are here, that one is not.";
    }
    if (find(c, INQ_LOG_WATCHDOG_STUCK) != NULL) {
        return "Cause unknown: NCCL's watchdog itself was stuck, in a CUDA call or waiting for a "
               "lock; no line here names what held it.";
    }
    const struct inq_log_mark *mark = inq_log_telling_victim(c);
    mark = mark == NULL || is_told_by_nccl(c, mark) ? c->floor : mark;
    const char *said =
        mark == NULL                           ? ""
        : mark->event->kind == INQ_LOG_NCCL_IB ? say_network(c)
        : mark->event->kind == INQ_LOG_ABORTED && strchr(mark->event->op, ' ') != NULL
            ? inq_log_quote(c, mark->event->op, false)
            : inq_log_quote(c, mark->event->text, true);
    if (f->n_roots + f->n_suspects > 0) {
        bool root = f->n_roots > 0;
        return inq_say(c->arena,
                       "The others lost or waited for %s, whose log should name the cause%s%s.",
                       inq_say_ranks(c->arena, root ? f->root_ranks : f->suspect_ranks,
                                     root ? f->n_roots : f->n_suspects, false),
                       said[0] != '\0' ? ": " : "", said);
    }
    if (mark != NULL && mark->event->kind == INQ_LOG_WORKER_LOST) {
        return headline_of_lost_worker(c, mark, said);
    }
    if (mark != NULL) {
        const char *who = mark->rank >= 0 ? inq_say(c->arena, "rank %" PRId32, mark->rank)
                          : mark->host[0] != '\0'
                              ? inq_say(c->arena, "a process on %.80s", mark->host)
                              : "a process";
        return inq_say(c->arena,
                       mark == c->floor /* it accuses nobody */
                           ? "Cause unknown: the last error that %s tells is \"%s\"."
                           : "Cause unknown: %s noticed that a peer failed or did not join (%s); "
                             "the log of that peer is not here, or names no cause.",
                       who, said);
    }
    return headline_of_end(c);
}

static const char *headline_unknown(struct inq_log_case *c, const struct inq_failure *f)
{
    const struct inq_log_mark *cause = c->cause;
    if (cause != NULL) {
        const char *own = cause->means.rule->headline;
        return fill(c, f, own != NULL ? own : inq_failure_class_rule(f->cls)->headline);
    }
    if (c->hang.how == INQ_LOG_NO_HANG) {
        return headline_of_victims(c, f);
    }
    if (f->n_suspects > 0) {
        return fill(c, f, "The run hangs in {hang}: all other ranks report it, but not {who}");
    }
    if (c->hang.how == INQ_LOG_ALL_DONE) {
        return "The run hangs, but not in a collective of the group whose counters are here: all "
               "of these are finished.";
    }
    const char *first =
        c->hang.first != NULL && c->hang.first->rank >= 0
            ? inq_say(c->arena, " (rank %" PRId32 " timed out first)", c->hang.first->rank)
            : "";
    const char *op = c->hang.op[0] != '\0' ? inq_log_quote(c, c->hang.op, false) : "a collective";
    return inq_say(c->arena,
                   "The run hangs in %s%s; the logs are of ranks that wait, not of the one that "
                   "they wait for.",
                   c->hang.seq >= 0 ? say_hang(c) : op, first);
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
    return own >= 0 && own < other
               ? inq_say(c->arena,
                         "; the last step printed there is %" PRId64 ", by the others %" PRId64,
                         own, other)
               : "";
}

/* All but some ranks say that a peer is gone or late. */
static const char *headline_of_absent(struct inq_log_case *c, const struct inq_failure *f)
{
    if (c->hang.how == INQ_LOG_SILENT) {
        return inq_say(c->arena,
                       "%s printed no error, while all other ranks waited in vain in %s%s.",
                       inq_say_ranks(c->arena, f->root_ranks, f->n_roots, true), say_hang(c),
                       say_behind(c, f));
    }
    const struct inq_log_mark *mark = inq_log_telling_victim(c);
    const struct inq_log_mark *named = find(c, INQ_LOG_TASK_LOST);
    if (named != NULL && named->event->n_ranks > 0) {
        return inq_say(c->arena, "%s did not join while others waited: %s.",
                       inq_say_ranks(c->arena, f->root_ranks, f->n_roots, true),
                       inq_log_quote(c, named->event->text, true));
    }
    return inq_say(c->arena,
                   "%s printed no error, while the other ranks lost the connection or waited in "
                   "vain: %s.",
                   inq_say_ranks(c->arena, f->root_ranks, f->n_roots, true),
                   mark != NULL ? inq_log_quote(c, mark->event->text, true) : "");
}

/* The task that was lost connected again, as a process of its own. */
static bool has_restarted(const struct inq_log_case *c)
{
    const struct inq_log_mark *mark = find(c, INQ_LOG_TASK_LOST);
    return mark != NULL && strstr(mark->event->text, "incarnation") != NULL;
}

static const char *headline(struct inq_log_case *c, const struct inq_failure *f)
{
    const struct inq_failure_rule *rule = c->cause != NULL ? c->cause->means.rule : NULL;
    if (f->cls == INQ_FAILURE_UNKNOWN) {
        return headline_unknown(c, f);
    }
    if (f->cls == INQ_FAILURE_MISMATCH && (rule == NULL || rule->headline == NULL)) {
        return headline_of_mismatch(c, f);
    }
    if (f->cls == INQ_FAILURE_PEER_DIED && f->n_roots > 0 && has_restarted(c)) {
        return fill(c, f,
                    "{Who} restarted on its own: it came back to the coordination service as "
                    "another process (different incarnation)");
    }
    if (f->cls == INQ_FAILURE_PEER_DIED && f->n_roots > 0) {
        return fill(c, f,
                    "{Who} {was} lost: the others no longer heard from it (heartbeat timeout)");
    }
    if (f->cls == INQ_FAILURE_CPU_STALL && f->subclass != NULL &&
        strcmp(f->subclass, "absent") == 0) {
        return headline_of_absent(c, f);
    }
    if (f->cls == INQ_FAILURE_CPU_STALL && c->hang.how == INQ_LOG_ALL_DONE) {
        return "Ranks wait on the CPU, in a barrier or for a store: all collectives on the GPUs "
               "are finished, and the logs do not name the rank that did not join.";
    }
    if (f->cls == INQ_FAILURE_HOST && rule != NULL && strcmp(rule->sub, "killed") == 0) {
        return fill(
            c, f,
            "{Who} {was} killed (SIGKILL) after its peers had waited long for it, as happens "
            "when host memory runs out");
    }
    if (rule != NULL && rule->cls == f->cls && rule->headline != NULL) {
        return fill(c, f, rule->headline);
    }
    if (f->cls == INQ_FAILURE_NETWORK && f->confidence == INQ_CONFIDENCE_HYPOTHESIS) {
        return fill(c, f, "The network or the process at its other end failed{to}: {text}");
    }
    return fill(c, f, inq_failure_class_rule(f->cls)->headline);
}

/* ---- what to do, and what else it could be --------------------------------------------------- */

static const char *advice(struct inq_log_case *c, const struct inq_failure *f)
{
    const struct inq_failure_rule *rule = c->cause != NULL ? c->cause->means.rule : NULL;
    const char *frame = c->cause != NULL ? say_frame(c) : "";
    if (f->cls == INQ_FAILURE_APPLICATION && frame[0] != '\0') {
        return inq_say(c->arena, "Look at %.200s.", frame + 4);
    }
    bool own = rule != NULL && (rule->cls == f->cls || rule->cls == INQ_FAILURE_UNKNOWN);
    if (own && rule->advice != NULL) {
        return rule->advice;
    }
    if (f->cls == INQ_FAILURE_UNKNOWN && c->hang.how != INQ_LOG_NO_HANG) {
        return "Turn Flight Recorder on (TORCH_NCCL_TRACE_BUFFER_SIZE) and collect the logs of all "
               "ranks.";
    }
    return inq_failure_class_rule(f->cls)->advice;
}

static void add(struct inq_log_case *c, struct inq_failure *f, const char *text)
{
    enum { MOST = 8 };
    if (f->alternatives == NULL) {
        f->alternatives = inq_arena_array(c->arena, MOST, sizeof(const char *));
        c->no_memory = c->no_memory || f->alternatives == NULL;
    }
    if (text != NULL && f->alternatives != NULL && f->n_alternatives < MOST) {
        f->alternatives[f->n_alternatives++] = text;
    }
}

static void ask_unknown(struct inq_log_case *c, struct inq_failure *f)
{
    for (size_t i = 0; c->cause != NULL && i < INQ_RULE_NEXT; i++) {
        add(c, f, c->cause->means.rule->next[i]);
    }
    if (f->n_alternatives > 0) {
        return;
    }
    if (find_peer(c) != NULL) {
        add(c, f,
            inq_say(c->arena, "the process or node at %s failed first: check its log",
                    say_peer(c)));
        add(c, f,
            inq_say(c->arena,
                    "the network: link, port or switch on the way to %s; check the error counters "
                    "of both network cards",
                    say_peer(c)));
        return;
    }
    if (c->hang.how == INQ_LOG_NO_HANG) {
        add(c, f,
            "a failure that these logs do not show: check the stderr of every rank and the nodes' "
            "kernel logs");
        return;
    }
    add(c, f,
        inq_say(c->arena,
                "a rank that did not join %s: the counters of the other ranks (their dump-signal "
                "lines or Flight Recorder dumps) would name it",
                say_hang(c)));
    add(c, f,
        "ranks that enter different collectives: Flight Recorder dumps with stacks would tell");
    add(c, f, "a GPU or link fault: check the nodes' kernel logs (Xid)");
}

static bool roots_wait(const struct inq_log_case *c, const struct inq_failure *f)
{
    for (size_t i = 0; i < c->hang.n_suspects; i++) {
        for (size_t k = 0; k < f->n_roots; k++) {
            if (c->hang.suspects[i] == f->root_ranks[k]) {
                return false;
            }
        }
    }
    return c->hang.n_suspects > 0 && c->hang.how != INQ_LOG_SILENT;
}

static void ask(struct inq_log_case *c, struct inq_failure *f)
{
    const struct inq_failure_rule *rule = c->cause != NULL ? c->cause->means.rule : NULL;
    const struct inq_failure_rule *cls = inq_failure_class_rule(f->cls);
    bool own = rule != NULL && rule->cls == f->cls;
    if (c->other_clock) {
        int64_t minutes = (c->cause->time_ns - c->hang.detected_ns) / (60 * SECOND);
        add(c, f,
            inq_say(c->arena,
                    "as printed, that line is %" PRId64 " min after the hang: unless the clock or "
                    "the time zone of its machine differs, it is not its cause",
                    minutes));
    }
    for (size_t i = 0; own && i < INQ_RULE_NEXT && c->confirm == NULL; i++) {
        add(c, f, rule->next[i]);
    }
    for (size_t i = 0; (!own || f->n_alternatives == 0) && i < INQ_RULE_NEXT; i++) {
        add(c, f, cls->next[i]);
    }
    if (f->cls == INQ_FAILURE_GPU_STALL && inq_log_other_op(&c->hang)) {
        add(c, f,
            "ranks that took different paths, so that their counts no longer match: compare the "
            "stacks of both sides");
    }
    if (f->cls == INQ_FAILURE_HOST && f->confidence == INQ_CONFIDENCE_HYPOTHESIS) {
        add(c, f,
            "killed from outside (scheduler, health check, operator), or for another limit: check "
            "the node's kernel log (oom-kill) and the scheduler's record");
    }
    if (c->cause != NULL && roots_wait(c, f)) {
        add(c, f,
            inq_say(c->arena, "by the counters, the others wait for %s: check its log",
                    inq_say_ranks(c->arena, c->hang.suspects, c->hang.n_suspects, false)));
    }
}

void inq_log_compose(struct inq_log_case *c, struct inq_failure *f)
{
    f->headline = headline(c, f);
    f->advice = advice(c, f);
    if (f->cls == INQ_FAILURE_UNKNOWN) {
        ask_unknown(c, f);
    } else {
        ask(c, f);
    }
}
