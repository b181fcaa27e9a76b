/* SPDX-License-Identifier: Apache-2.0 */
/* Headline, advice and open questions of a failure that logs tell of. */
#include "analysis/log_words.h"

#include "base/say.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Where it began: ranks, else a GPU, a process or a host. */
static const char *say_where(struct inq_log_case *c, const struct inq_failure *f)
{
    const struct inq_log_mark *cause = c->cause;
    const char *host =
        cause != NULL && cause->host[0] != '\0' ? inq_say(c->arena, " on %.80s", cause->host) : "";
    const char *bus = cause != NULL ? inq_log_bus_text(c, cause->event->bus) : "";
    const char *gpu = bus[0] != '\0' ? inq_say(c->arena, "GPU %s", bus) : "";
    if (f->n_roots > 0) {
        const char *ranks = inq_say_ranks(c->arena, f->root_ranks, f->n_roots, false);
        return inq_say(c->arena, "%s%s%s%s", ranks, gpu[0] != '\0' ? " on " : "", gpu, host);
    }
    if (gpu[0] != '\0') {
        return inq_say(c->arena, "%s%s", gpu, host);
    }
    if (cause != NULL && cause->event->n_ranks > 0) {
        return inq_say(c->arena, "task %" PRId32 "%s", cause->event->ranks[0], host);
    }
    if (cause != NULL && cause->event->pid >= 0) {
        return inq_say(c->arena, "process %" PRId64 "%s", cause->event->pid, host);
    }
    return host[0] != '\0' ? host + 4 : "a rank that the logs do not name";
}

static const char *say_op(struct inq_log_case *c)
{
    const struct inq_log_hang *hang = &c->hang;
    const char *group =
        hang->group[0] != '\0' ? inq_say(c->arena, " of group %.60s", hang->group) : "";
    return hang->seq >= 0 ? inq_say(c->arena, "%.40s %" PRId64 "%s",
                                    hang->op[0] != '\0' ? hang->op : "collective", hang->seq, group)
                          : "what the others wait in";
}

static const char *say_victims(struct inq_log_case *c, const struct inq_failure *f)
{
    size_t n = f->n_victims;
    return n == 0 ? ""
                  : inq_say(c->arena, "; %zu other rank%s only suffered", n, n == 1 ? "" : "s");
}

static const char *headline_of_hang(struct inq_log_case *c, const struct inq_failure *f)
{
    const char *where = say_where(c, f);
    const char *victims = say_victims(c, f);
    switch ((int)f->cls) {
    case INQ_FAILURE_GPU_STALL:
        return inq_say(c->arena,
                       "The GPU of %s does not finish what the others have finished: stuck "
                       "before %s%s.",
                       where, say_op(c), victims);
    case INQ_FAILURE_CPU_STALL:
        if (c->hang.how == INQ_LOG_ALL_DONE) {
            return "Ranks wait on the CPU, in a barrier or for a store: all collectives on the "
                   "GPUs are finished, and the logs do not name the one that does not come.";
        }
        return inq_say(c->arena, "The process of %s is stuck: it never enqueued %s%s.", where,
                       say_op(c), victims);
    case INQ_FAILURE_UNEVEN:
        return inq_say(c->arena,
                       "Uneven data or work: %s never joined %s, which all others wait in%s.",
                       where, say_op(c), victims);
    case INQ_FAILURE_MISMATCH:
        return f->n_roots > 0
                   ? inq_say(c->arena,
                             "Ranks do not enter the same collective: %s differs at %s%s.", where,
                             say_op(c), victims)
                   : "Ranks do not enter the same collective; which of them is wrong is open.";
    default:
        return inq_say(c->arena,
                       "All ranks that tell anything joined %s, and none finished: the "
                       "network or one member's GPU%s.",
                       say_op(c), victims);
    }
}

static bool has_kind(const struct inq_log_case *c, enum inq_log_kind kind)
{
    for (size_t i = 0; i < c->n_marks; i++) {
        if (c->marks[i].event->kind == kind) {
            return true;
        }
    }
    return false;
}

/* Any victim's line but those of a process's end. */
static bool tells_of_peer(const struct inq_log_case *c)
{
    for (size_t i = 0; i < c->n_marks; i++) {
        enum inq_log_kind kind = c->marks[i].event->kind;
        bool end = kind == INQ_LOG_EXIT || kind == INQ_LOG_EXIT_ROW || kind == INQ_LOG_SLURM_EXIT;
        bool summary = kind == INQ_LOG_PYTHON_ERROR &&
                       (strstr(c->marks[i].event->op, "ChildFailed") != NULL ||
                        strstr(c->marks[i].event->op, "SignalException") != NULL);
        if (c->marks[i].means.role == INQ_LOG_VICTIM && !end && !summary) {
            return true;
        }
    }
    return false;
}

/* No line tells of a cause, nor of where ranks wait. */
static const char *headline_of_victims(struct inq_log_case *c, const struct inq_failure *f)
{
    if (f->n_suspects > 0) {
        return inq_say(c->arena, "Cause unknown: others lost %s, whose log tells why.",
                       inq_say_ranks(c->arena, f->suspect_ranks, f->n_suspects, false));
    }
    if (has_kind(c, INQ_LOG_XID)) {
        return "Cause unknown: GPU errors that follow another one are here, that one is not.";
    }
    if (has_kind(c, INQ_LOG_WATCHDOG_STUCK)) {
        return "Cause unknown: NCCL's watchdog itself was stuck, in a CUDA call or behind a lock; "
               "nothing here tells what held it.";
    }
    if (has_kind(c, INQ_LOG_STORE_TIMEOUT)) {
        return "Cause unknown: a process waited for the store or for others to join it, and they "
               "did not come.";
    }
    if (!tells_of_peer(c)) {
        return "Cause unknown: processes were aborted or stopped, and no line here tells why.";
    }
    return "Cause unknown: the logs are of processes that lost a peer, not of the one that failed.";
}

static const char *headline_unknown(struct inq_log_case *c, const struct inq_failure *f)
{
    const struct inq_log_mark *cause = c->cause;
    if (cause != NULL && strcmp(cause->means.sub, "killed") == 0) {
        return inq_say(c->arena,
                       "Cause unknown: %s was killed (SIGKILL), and nothing here tells by "
                       "whom.",
                       f->n_suspects > 0
                           ? inq_say_ranks(c->arena, f->suspect_ranks, f->n_suspects, false)
                           : say_where(c, f));
    }
    if (cause != NULL) {
        return inq_say(
            c->arena, "Cause unknown: %s ended with exit code %" PRId64 " and left no reason here.",
            f->n_suspects > 0 ? inq_say_ranks(c->arena, f->suspect_ranks, f->n_suspects, false)
                              : say_where(c, f),
            cause->event->code);
    }
    if (c->hang.how == INQ_LOG_NO_HANG) {
        return headline_of_victims(c, f);
    }
    if (f->n_suspects > 0) {
        return inq_say(c->arena, "The run hangs in %s; %s tells nothing while all others wait.",
                       say_op(c), inq_say_ranks(c->arena, f->suspect_ranks, f->n_suspects, false));
    }
    if (c->hang.how == INQ_LOG_ALL_DONE) {
        return "The run hangs, but not in a collective of the group whose counters are here: all "
               "of these are finished.";
    }
    return inq_say(c->arena,
                   "The run hangs%s%s; the logs are of ranks that wait, not of the one that they "
                   "wait for.",
                   c->hang.seq >= 0 ? " in " : "", c->hang.seq >= 0 ? say_op(c) : "");
}

/* What the cause tells beside `where`, which may name its GPU already. */
static const char *say_what(struct inq_log_case *c, const char *where)
{
    if (c->cause == NULL) {
        return "";
    }
    const struct inq_log_event *e = c->cause->event;
    bool named = strstr(where, inq_log_bus_text(c, e->bus)) != NULL;
    if (named && e->kind == INQ_LOG_XID) {
        return inq_say(c->arena, "Xid %" PRId64 " (%s)", e->code, inq_xid_name(e->code));
    }
    return named && e->kind == INQ_LOG_FALLEN_OFF ? "off the bus, as Xid 79 tells"
                                                  : inq_log_what(c, c->cause);
}

const char *inq_log_headline(struct inq_log_case *c, const struct inq_failure *f)
{
    const char *where = say_where(c, f);
    const char *victims = say_victims(c, f);
    const char *what = say_what(c, where);
    switch ((int)f->cls) {
    case INQ_FAILURE_UNKNOWN:
        return headline_unknown(c, f);
    case INQ_FAILURE_PEER_DIED:
        return inq_say(c->arena, "A process elsewhere ended (%s): these logs are of its victims%s.",
                       f->n_places > 0 && f->places[0].peer[0] != '\0' ? f->places[0].peer
                                                                       : "its peers lost it",
                       victims);
    case INQ_FAILURE_GPU_HARDWARE:
        return inq_say(c->arena, "GPU hardware%s%s: %s, %s%s.", f->subclass != NULL ? ", " : "",
                       f->subclass != NULL ? f->subclass : "", where, what, victims);
    case INQ_FAILURE_DRIVER:
        return inq_say(c->arena, "GPU driver or firmware: %s, %s%s.", where, what, victims);
    case INQ_FAILURE_NETWORK:
        return inq_say(c->arena, "The network: %s%s.",
                       c->cause != NULL ? what : "transfers to a peer fail", victims);
    case INQ_FAILURE_HOST:
        return inq_say(c->arena, "The host%s%s%s: %s, %s%s.", f->subclass != NULL ? " (" : "",
                       f->subclass != NULL ? f->subclass : "", f->subclass != NULL ? ")" : "",
                       where, what, victims);
    case INQ_FAILURE_SCHEDULER:
        return inq_say(c->arena, "Ended by the scheduler: %s%s.", what, victims);
    case INQ_FAILURE_CUDA_ERROR:
        return inq_say(c->arena, "A CUDA error of the program on %s: %s%s.", where, what, victims);
    case INQ_FAILURE_CUDA_OOM:
        return inq_say(c->arena, "No GPU memory left on %s%s.", where, victims);
    case INQ_FAILURE_APPLICATION:
        return inq_say(c->arena, "The program failed on %s: %s%s.", where, what, victims);
    case INQ_FAILURE_NUMERICAL:
        return inq_say(c->arena, "Training diverged: %s%s.", what, victims);
    default:
        return headline_of_hang(c, f);
    }
}

/* ---- what to do ------------------------------------------------------------------------------ */

static const char *advice_of_host(const struct inq_failure *f)
{
    const char *sub = f->subclass != NULL ? f->subclass : "";
    if (strcmp(sub, "memory") == 0) {
        return "Find what grows in host memory (data loader workers, pinned buffers, checkpoints), "
               "or raise the job's memory limit.";
    }
    if (strcmp(sub, "storage") == 0) {
        return "Check the file system and the servers behind it for the time of the failure.";
    }
    return "Drain the node and read its kernel log and its hardware's event log.";
}

static const char *advice_of_exception(struct inq_log_case *c)
{
    const char *frame = c->cause != NULL ? c->cause->event->peer : "";
    bool is_frame = c->cause != NULL && c->cause->event->kind == INQ_LOG_PYTHON_ERROR;
    if (c->cause != NULL && strcmp(c->cause->means.sub, "segfault") == 0) {
        return "Take the stack of the fault (core file, PYTHONFAULTHANDLER=1); timeouts of others "
               "are its consequence.";
    }
    return is_frame && frame[0] != '\0'
               ? inq_say(c->arena, "Look at %.200s.", frame)
               : "Read the traceback of this rank; timeouts of others are its consequence.";
}

const char *inq_log_advice(struct inq_log_case *c, const struct inq_failure *f)
{
    switch ((int)f->cls) {
    case INQ_FAILURE_GPU_HARDWARE:
        return f->subclass != NULL && strcmp(f->subclass, "nvlink") == 0
                   ? "Drain the node and test its NVLinks; reset the GPUs and their fabric."
                   : "Drain the node, reset or replace the GPU, and restart from the last "
                     "checkpoint elsewhere.";
    case INQ_FAILURE_DRIVER:
        return "Drain the node and reset the GPU; update driver and firmware if it comes back.";
    case INQ_FAILURE_NETWORK:
        return "Check links, ports and switches between the named nodes, and the counters of their "
               "network cards.";
    case INQ_FAILURE_HOST:
        return advice_of_host(f);
    case INQ_FAILURE_SCHEDULER:
        return "Ask for more time or save checkpoints before the end; restart from the last one.";
    case INQ_FAILURE_CUDA_ERROR:
        return "Run the failing rank with CUDA_LAUNCH_BLOCKING=1 or compute-sanitizer to find the "
               "kernel; the timeouts of other ranks need no look.";
    case INQ_FAILURE_CUDA_OOM:
        return "Lower this rank's micro-batch or sequence length, or shard and recompute more; "
               "compare its memory with that of other ranks.";
    case INQ_FAILURE_APPLICATION:
        return advice_of_exception(c);
    case INQ_FAILURE_UNEVEN:
        return "Give every rank the same number of batches (drop the last, or Join), and let work "
               "of one rank alone end before the others' timeout, or raise that.";
    case INQ_FAILURE_NUMERICAL:
        return "Look at the data and the gradients of the step at which it began.";
    case INQ_FAILURE_PEER_DIED:
        return "Read the log of the process at the named address: it failed first.";
    case INQ_FAILURE_MISMATCH:
        return "Compare the program's path on both sides: a branch depends on the rank.";
    case INQ_FAILURE_CPU_STALL:
        return "Take the stack of the stuck process (py-spy dump) next time, and read its stderr.";
    case INQ_FAILURE_GPU_STALL:
        return "Read the kernel log of this rank's node for Xid lines.";
    case INQ_FAILURE_COMMUNICATION:
        return "Check links and network cards of the members' nodes for the time of the hang.";
    default:
        break;
    }
    if (c->cause != NULL && strcmp(c->cause->means.sub, "killed") == 0) {
        return "Read the node's kernel log and the scheduler's record for the time of the kill.";
    }
    return c->hang.how != INQ_LOG_NO_HANG
               ? "Switch Flight Recorder on (TORCH_NCCL_TRACE_BUFFER_SIZE) and collect the logs of "
                 "all ranks."
               : "Collect the logs of all ranks and the kernel logs of their nodes.";
}

/* ---- what else it could be ------------------------------------------------------------------- */

static void add(struct inq_log_case *c, struct inq_failure *f, const char *text)
{
    enum { MOST = 6 };
    if (f->alternatives == NULL) {
        f->alternatives = inq_arena_array(c->arena, MOST, sizeof(const char *));
        c->no_memory = c->no_memory || f->alternatives == NULL;
    }
    if (f->alternatives != NULL && f->n_alternatives < MOST) {
        f->alternatives[f->n_alternatives++] = text;
    }
}

static const char *peer_of(struct inq_log_case *c, enum inq_log_kind kind)
{
    for (size_t i = 0; i < c->n_marks; i++) {
        const struct inq_log_event *event = c->marks[i].event;
        if (event->kind == kind && event->peer[0] != '\0') {
            return inq_say(c->arena, "%.120s", event->peer);
        }
    }
    return "the peer";
}

static void ask_unknown(struct inq_log_case *c, struct inq_failure *f)
{
    if (c->cause != NULL && strcmp(c->cause->means.sub, "killed") == 0) {
        add(c, f,
            "host memory ran out: an oom-kill line of this process in the node's kernel log, "
            "or the control group's count of them, decides");
        add(c, f,
            "killed from outside (scheduler, health check, operator): the scheduler's record "
            "decides");
        return;
    }
    if (has_kind(c, INQ_LOG_NCCL_IB)) {
        add(c, f,
            inq_say(c->arena,
                    "the network: link, port or switch on the way to %s; error counters "
                    "of both network cards decide",
                    peer_of(c, INQ_LOG_NCCL_IB)));
        add(c, f,
            inq_say(c->arena, "the process or node at %s failed first: its log decides",
                    peer_of(c, INQ_LOG_NCCL_IB)));
        return;
    }
    if (has_kind(c, INQ_LOG_PEER_CLOSED) || has_kind(c, INQ_LOG_GLOO_CLOSED)) {
        add(c, f,
            inq_say(c->arena,
                    "the process at %s ended first: which one it was, and its log, "
                    "decide",
                    peer_of(c, INQ_LOG_PEER_CLOSED)));
        add(c, f, "the network between them: kernel logs and link counters of both nodes decide");
        return;
    }
    if (c->hang.how == INQ_LOG_NO_HANG) {
        add(c, f,
            "a failure that these logs do not show: the stderr of every rank and the nodes' "
            "kernel logs decide");
        return;
    }
    add(c, f,
        inq_say(c->arena,
                "a rank that did not join %s: the counters of the other ranks (their "
                "dump-signal lines or Flight Recorder dumps) decide which",
                say_op(c)));
    add(c, f, "ranks that enter different collectives: Flight Recorder dumps with stacks decide");
    add(c, f, "a GPU or link fault: the nodes' kernel logs (Xid) decide");
}

static void ask_hang(struct inq_log_case *c, struct inq_failure *f)
{
    switch ((int)f->cls) {
    case INQ_FAILURE_CPU_STALL:
    case INQ_FAILURE_UNEVEN:
        add(c, f,
            "an exception, a held GIL, a data loader, a checkpoint or work of this rank alone: "
            "its stack and stderr decide");
        add(c, f, "its process or node is gone: the launcher's summary and the kernel log decide");
        break;
    case INQ_FAILURE_GPU_STALL:
        add(c, f,
            "a GPU or NVLink fault, or a kernel that never ends: the node's kernel log (Xid) "
            "decides");
        if (inq_log_other_op(&c->hang)) {
            add(c, f,
                "ranks that took different paths, so that their counts no longer match: stacks of "
                "both sides decide");
        }
        break;
    case INQ_FAILURE_MISMATCH:
        add(c, f, "one rank skipped or repeated a collective earlier: stacks of both sides decide");
        break;
    case INQ_FAILURE_COMMUNICATION:
        add(c, f, "a link or network card: the logs of NCCL and of the network decide");
        add(c, f, "one member's GPU hangs inside the kernel: the nodes' kernel logs (Xid) decide");
        break;
    default:
        break;
    }
}

static void ask_cause(struct inq_log_case *c, struct inq_failure *f)
{
    const char *sub = f->subclass != NULL ? f->subclass : "";
    if (c->other_clock) {
        int64_t minutes = (c->cause->time_ns - c->hang.detected_ns) / INT64_C(60000000000);
        add(c, f,
            inq_say(c->arena,
                    "as printed, that line is %" PRId64 " min behind the hang: unless the clock "
                    "or the time zone of its machine is another, it is none of its cause",
                    minutes));
    }
    if (f->cls == INQ_FAILURE_HOST && f->confidence == INQ_CONFIDENCE_HYPOTHESIS) {
        add(c, f,
            "killed from outside (scheduler, health check, operator), or for another limit: "
            "the node's kernel log (oom-kill) and the scheduler's record decide");
    }
    if (f->cls == INQ_FAILURE_CUDA_ERROR && c->confirm == NULL) {
        add(c, f,
            "a fault of the GPU: Xid 48, 74, 79, 94 or 95 for it in the node's kernel log "
            "decides");
    }
    if (f->cls == INQ_FAILURE_GPU_HARDWARE && c->confirm == NULL && sub[0] == '\0') {
        add(c, f,
            "an error of the program that shows as one of the GPU: the node's kernel log "
            "decides");
    }
    if (f->cls == INQ_FAILURE_NETWORK) {
        add(c, f, "the process or node at the other end failed first: its log decides");
    }
    if (f->cls == INQ_FAILURE_PEER_DIED) {
        add(c, f, "the network between them: kernel logs and link counters of both nodes decide");
    }
    if (f->cls == INQ_FAILURE_APPLICATION && strcmp(sub, "segfault") == 0) {
        add(c, f,
            "a driver, library or memory fault of the node: the core file and the kernel log "
            "decide");
    }
    bool behind = c->hang.n_suspects > 0 && c->hang.how != INQ_LOG_SILENT;
    bool same = false;
    for (size_t i = 0; i < c->hang.n_suspects; i++) {
        for (size_t k = 0; k < f->n_roots; k++) {
            same = same || c->hang.suspects[i] == f->root_ranks[k];
        }
    }
    if (c->cause != NULL && behind && !same) {
        add(c, f,
            inq_say(c->arena, "by the counters, the others wait for %s: its log decides",
                    inq_say_ranks(c->arena, c->hang.suspects, c->hang.n_suspects, false)));
    }
}

void inq_log_alternatives(struct inq_log_case *c, struct inq_failure *f)
{
    if (f->cls == INQ_FAILURE_UNKNOWN) {
        ask_unknown(c, f);
    } else if (c->cause == NULL || c->cause->means.weight < INQ_LOG_FAIR) {
        ask_hang(c, f);
        ask_cause(c, f);
    } else {
        ask_cause(c, f);
    }
}
