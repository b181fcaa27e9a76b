/* SPDX-License-Identifier: Apache-2.0 */
/* From candidates to findings: what an engineer on call reads. */
#include "analysis/findings/findings.h"
#include "base/arena.h"
#include "base/mem.h"
#include "base/arena_text.h"
#include "base/stats.h"
#include "inquest/account.h"
#include "inquest/telemetry.h"
#include "trace/trace.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* What GPUs said of themselves, as evidence for or against a slow one. */

/* A clock is low when it is below the others by more than this: GPUs of one kind under one load
 * boost to clocks that differ by one or two steps of 15 MHz, about one percent each. */
static const double LOW_CLOCK = 0.03;

/* Calls that take this many times as long as elsewhere are slow themselves: those of equal hosts
 * have medians within some ten percent. */
static const double SLOW_CALLS = 1.3;

static bool is_one_of(const uint32_t *ranks, size_t n, size_t rank)
{
    for (size_t i = 0; i < n; i++) {
        if (ranks[i] == rank) {
            return true;
        }
    }
    return false;
}

/* Median of a metric over the ranks named, or over all others; NaN where none reports it. */
static double median_of(struct inq_findings *f, const uint32_t *ranks, size_t n, bool others,
                        enum inq_gpu_metric metric)
{
    const struct inq_trace *trace = f->report->trace;
    double *values = inq_mem_alloc((trace->n_ranks + 1) * sizeof *values);
    size_t found = 0;
    if (values == NULL) {
        f->no_memory = true;
        return (double)NAN;
    }
    for (size_t r = 0; r < trace->n_ranks; r++) {
        double value = trace->gpu_states[r].median[metric];
        if (is_one_of(ranks, n, r) != others && !isnan(value)) {
            values[found++] = value;
        }
    }
    double median = inq_median(values, found);
    inq_mem_free(values);
    return median;
}

/* "1,170" */
static const char *thousands(struct inq_findings *f, double value)
{
    long long whole = llround(value);
    return whole >= 1000 ? inq_findings_text(f, "%lld,%03lld", whole / 1000, whole % 1000)
                         : inq_findings_text(f, "%lld", whole);
}

/* ", HW thermal slowdown active in 98 % of the samples" */
static const char *slowdowns(struct inq_findings *f, const struct inq_gpu_state *state)
{
    static const struct {
        uint32_t bit;
        const char *text;
    } reasons[] = {
#define INQ_SLOWDOWN_ROW(bit, text) {bit, text},
        INQ_GPU_SLOWDOWNS(INQ_SLOWDOWN_ROW)
#undef INQ_SLOWDOWN_ROW
    };
    const char *list = "";
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        if ((state->slowdown & reasons[i].bit) != 0) {
            list = inq_findings_text(f, "%s%s%s", list, list[0] != '\0' ? " and " : "",
                                     reasons[i].text);
        }
    }
    return list[0] == '\0' ? ""
                           : inq_findings_text(f, ", %s active in %s of the samples", list,
                                               inq_findings_percent(f, state->slowdown_share));
}

static const char *about_temperature(struct inq_findings *f, const uint32_t *ranks, size_t n)
{
    double own = median_of(f, ranks, n, false, INQ_GPU_TEMPERATURE_C);
    double peers = median_of(f, ranks, n, true, INQ_GPU_TEMPERATURE_C);
    return isnan(own) || isnan(peers)
               ? ""
               : inq_findings_text(f, "; %.0f C, its peers' %.0f C", own, peers);
}

/* " Its SM clock is 1,170 MHz, its peers' 1,980 MHz, ..."; "" where it is not known. */
static const char *about_clock(struct inq_findings *f, const uint32_t *ranks, size_t n,
                               enum inq_gpu_metric metric, const char *name)
{
    const struct inq_gpu_state *state = &f->report->trace->gpu_states[ranks[0]];
    double own = median_of(f, ranks, n, false, metric);
    double peers = median_of(f, ranks, n, true, metric);
    if (isnan(own) || isnan(peers)) {
        return "";
    }
    if (own < (1.0 - LOW_CLOCK) * peers) {
        return inq_findings_text(f, " Its %s clock is %s MHz, its peers' %s MHz%s%s.", name,
                                 thousands(f, own), thousands(f, peers), slowdowns(f, state),
                                 about_temperature(f, ranks, n));
    }
    return metric == INQ_GPU_SM_MHZ
               ? inq_findings_text(
                     f,
                     " Its %s clock (%s MHz) is that of its peers (%s MHz): the clock is not "
                     "the reason.",
                     name, thousands(f, own), thousands(f, peers))
               : "";
}

/* What the GPUs of the ranks (indices into inq_trace.ranks) said of themselves, sentences with a
 * blank in front: whether their clocks are low, and why. "" where nothing is known. */
static const char *findings_about_gpu(struct inq_findings *f, const uint32_t *ranks, size_t n)
{
    const struct inq_gpu_state *states = f->report->trace->gpu_states;
    if (states == NULL || n == 0 || states[ranks[0]].samples == 0) {
        return "";
    }
    double errors = median_of(f, ranks, n, false, INQ_GPU_ECC_ERRORS);
    const char *ecc = errors > 0.0
                          ? inq_findings_text(f, " It counts %.0f uncorrected ECC error%s.", errors,
                                              errors == 1.0 ? "" : "s")
                          : "";
    return inq_findings_text(f, "%s%s%s", about_clock(f, ranks, n, INQ_GPU_SM_MHZ, "SM"),
                             about_clock(f, ranks, n, INQ_GPU_MEMORY_MHZ, "memory"), ecc);
}

/* "and delays the other 3 ranks"; each of those that are slow in turn delays the others of them,
 * too. */
static const char *delays(struct inq_findings *f, const struct inq_candidate *candidate)
{
    if (candidate->n_turns > 0) {
        return "delay all others";
    }
    size_t others = f->report->trace->n_ranks - candidate->n_ranks;
    const char *whom = others == 0   ? "all ranks"
                       : others == 1 ? "the other rank"
                                     : inq_findings_text(f, "the other %zu ranks", others);

    return inq_findings_text(f, "%s %s", candidate->n_ranks == 1 ? "delays" : "delay", whom);
}

/* " in 3 of 5 steps"; "" in every step. */
static const char *in_steps(struct inq_findings *f, const struct inq_candidate *candidate)
{
    if (candidate->steps_seen >= candidate->steps || candidate->steps_seen == 0) {
        return "";
    }
    return inq_findings_text(f, " in %llu of %llu steps", (unsigned long long)candidate->steps_seen,
                             (unsigned long long)candidate->steps);
}

/* The same of a rank's time, which is not known by steps in every capture. */
static const char *how_often(struct inq_findings *f, const struct inq_candidate *candidate)
{
    if (f->report->attribution->one_step) {
        return " over the whole capture";
    }
    if (candidate->steps == 1) {
        return " in the one step captured";
    }
    return in_steps(f, candidate);
}

/* By how many percentage points slow GPUs differ that are not told by their mean: more than equal
 * chips do, which are within 5 % of each other. */
#define APART_POINTS 5.0
/* Below this many times the least of them they are about as slow: the mean is told, and the least
 * and the most as how well it is known. */
#define ABOUT_AS_SLOW 1.25

/* What computes on the candidate's ranks. */
static const char *device_of(const struct inq_findings *f, const struct inq_candidate *candidate)
{
    const struct inq_trace *trace = f->report->trace;
    return candidate->n_ranks > 0 ? inq_rank_device(trace, &trace->ranks[candidate->ranks[0]])
                                  : "GPU";
}

/* "rank 9's GPU", "the hosts of ranks 2 and 3": what is to be repaired; NULL: no other cause. */
static const char *thing_of(struct inq_findings *f, const struct inq_candidate *cause)
{
    if (cause == NULL) {
        return NULL;
    }
    const char *ranks = inq_findings_rank_list(f, cause->ranks, cause->n_ranks, false);
    const char *thing = device_of(f, cause);
    switch ((int)cause->kind) {
    case INQ_FINDING_SEQUENCE_IMBALANCE:
        return cause->of_experts ? "the experts' unequal work" : "the uneven sequences";
    case INQ_FINDING_STAGE_IMBALANCE:
    case INQ_FINDING_SLOW_LAST_STAGE:
        return inq_findings_text(f, "stage %d", cause->stage);
    case INQ_FINDING_SLOW_LINK:
        return inq_findings_text(f, "the link of %s", ranks);
    case INQ_FINDING_MORE_WORK:
        return inq_findings_text(f, "the work of %s", ranks);
    case INQ_FINDING_LATE_HOST:
    case INQ_FINDING_UNPLANNED_GC:
        thing = "host";
        break;
    default:
        break;
    }
    return cause->n_ranks == 1 ? inq_findings_text(f, "%s's %s", ranks, thing)
                               : inq_findings_text(f, "the %ss of %s", thing, ranks);
}

/* What is gained by its repair, and the fix that predicts as much. */
static void set_gain(struct inq_findings *f, const struct inq_candidate *candidate,
                     struct inq_finding *finding)
{
    int64_t most_ns =
        candidate->in_order_ns > candidate->joint_ns ? candidate->in_order_ns : candidate->joint_ns;
    enum inq_severity later = inq_severity_of(inq_findings_share(f, most_ns, candidate->step_ns));
    if (later > finding->severity) { /* another cause hides it */
        finding->severity = later;
    }
    finding->in_order_ns = candidate->in_order_ns;
    finding->hidden_by = thing_of(f, candidate->hidden_by);
    finding->joint_with = thing_of(f, candidate->hides);
    finding->joint_ns = candidate->joint_ns;
    finding->joint_fix = candidate->joint_fix;
    finding->low_ns = candidate->low_ns;
    finding->high_ns = candidate->high_ns;
    if (candidate->fix[0] != '\0') {
        inq_findings_call_for(f, finding, candidate->fix);
    }
    if (candidate->joint_ns >= 0) {
        inq_findings_call_for(f, finding, candidate->joint_fix);
    }
    if (candidate->kind == INQ_FINDING_UNPLANNED_GC) { /* every rank keeps its own */
        inq_findings_call_for(f, finding, "plan-gc");
    }
}

/* "Rank 5's GPU is", "The GPUs of ranks 2 and 3 are", "The GPUs of host node-1 (ranks 8-15) are".
 */
static const char *whose(struct inq_findings *f, const struct inq_candidate *candidate,
                         const char *thing, const char *verb, const char *verbs)
{
    if (candidate->n_ranks == 1) {
        return inq_findings_text(f, "%s's %s %s",
                                 inq_findings_rank_list(f, candidate->ranks, 1, true), thing, verb);
    }
    const char *ranks = inq_findings_rank_list(f, candidate->ranks, candidate->n_ranks, false);
    if (candidate->host[0] != '\0') {
        bool host = strcmp(thing, "host") == 0; /* no "hosts of a host" */
        return inq_findings_text(f, "The %s of host %s (%s) %s",
                                 host ? "processes" : inq_findings_text(f, "%ss", thing),
                                 candidate->host, ranks, verbs);
    }
    return inq_findings_text(f, "The %ss of %s %s", thing, ranks, verbs);
}

static bool is_cpu(const struct inq_findings *f, const struct inq_candidate *candidate)
{
    const struct inq_trace *trace = f->report->trace;
    return candidate->n_ranks > 0 && inq_rank_on_cpu(trace, &trace->ranks[candidate->ranks[0]]);
}

static const char *work_of(const struct inq_findings *f, const struct inq_candidate *candidate)
{
    return is_cpu(f, candidate) ? "operators" : "kernels";
}

/* Of several ranks "8 to 35 %", where the mean would be none of theirs; "201 % (191 to 210 %)". */
static const char *slower_by(struct inq_findings *f, const struct inq_candidate *candidate)
{
    double percent = 100.0 * (candidate->ratio - 1.0);
    double least = 100.0 * (candidate->least_ratio - 1.0);
    double most = 100.0 * (candidate->most_ratio - 1.0);

    if (!(candidate->least_ratio > 0.0) || most - least < APART_POINTS) {
        return inq_findings_text(f, "%.0f %%", percent);
    }
    return most < ABOUT_AS_SLOW * least
               ? inq_findings_text(f, "%.0f %% (%.0f to %.0f %%)", percent, least, most)
               : inq_findings_text(f, "%.0f to %.0f %%", least, most);
}

/* Whom the candidate is compared with: a stage that one rank makes up has no peers. */
static const char *peers_of(const struct inq_candidate *candidate)
{
    return candidate->of_other_roles ? "the other ranks"
           : candidate->n_ranks == 1 ? "its peers"
                                     : "their peers";
}

/* What copies take longer in a step in which they do: the mean is over all steps. */
static const char *longer_copies(struct inq_findings *f, const struct inq_candidate *candidate)
{
    double extra_ns = (double)(candidate->own_ns - candidate->peers_ns);
    double seen = candidate->steps_seen > 0 ? (double)candidate->steps_seen : 1.0;
    bool always = candidate->steps_seen == 0 || candidate->steps_seen >= candidate->steps;

    return inq_findings_time(
        f, (int64_t)llround(always ? extra_ns : extra_ns * (double)candidate->steps / seen));
}

/* "once", "1.5 times": each of its hosts pauses in a step. */
static const char *often(struct inq_findings *f, const struct inq_candidate *candidate)
{
    double times = (double)candidate->pauses / (double)(candidate->n_ranks * candidate->steps);
    const char *text = inq_findings_text(f, "%.2g", times);

    return strcmp(text, "1") == 0 ? "once" : inq_findings_text(f, "%s times", text);
}

/* What sets the candidate apart: the subject of its sentence. */
static const char *fault(struct inq_findings *f, const struct inq_candidate *candidate)
{
    bool always = candidate->steps_seen >= candidate->steps || candidate->steps_seen == 0;
    const char *extra =
        inq_findings_time(f, always ? candidate->own_ns - candidate->peers_ns : candidate->late_ns);
    const char *peers = peers_of(candidate);
    const char *who = inq_findings_rank_list(f, candidate->ranks, candidate->n_ranks, true);
    const char *has = candidate->n_ranks == 1 ? "has" : "have";

    if (candidate->kind == INQ_FINDING_SLOW_GPU) {
        return inq_findings_text(
            f, "%s%s %s slower than %s", whose(f, candidate, device_of(f, candidate), "is", "are"),
            candidate->n_turns > 0 ? " in turn" : "", slower_by(f, candidate), peers);
    }
    if (candidate->kind == INQ_FINDING_SLOW_WORKER) {
        return inq_findings_text(f, "%s %.2f times as long as that of %s",
                                 whose(f, candidate, "compute", "takes", "take"), candidate->ratio,
                                 peers);
    }
    if (candidate->kind == INQ_FINDING_MORE_WORK && isfinite(candidate->ratio)) {
        return inq_findings_text(f, "%s %s %.2f times as many %s to run (%s more compute)", who,
                                 has, candidate->ratio, work_of(f, candidate), extra);
    }
    if (candidate->kind == INQ_FINDING_MORE_WORK) {
        return inq_findings_text(f, "%s %s larger %s to run (%s more compute)", who, has,
                                 work_of(f, candidate), extra);
    }
    if (candidate->kind == INQ_FINDING_EXPOSED_COPY) {
        return inq_findings_text(f, "%s for %s longer than %s",
                                 whose(f, candidate, device_of(f, candidate), "copies", "copy"),
                                 longer_copies(f, candidate), peers);
    }
    if (candidate->everywhere) {
        return inq_findings_text(
            f, "%s at random, %s per step for %s%s,",
            whose(f, candidate, "host", "pauses", "pause"), often(f, candidate),
            inq_findings_time(f, candidate->late_ns),
            candidate->kind == INQ_FINDING_UNPLANNED_GC ? ", as they do to collect garbage" : "");
    }
    if (candidate->rotates) {
        return inq_findings_text(
            f, "%s in turn, %llu times for %s%s,", whose(f, candidate, "host", "pauses", "pause"),
            (unsigned long long)candidate->pauses, inq_findings_time(f, candidate->late_ns),
            candidate->kind == INQ_FINDING_UNPLANNED_GC ? ", as they do to collect garbage" : "");
    }
    if (candidate->comm_only) {
        return inq_findings_text(f, "%s %s %s longer outside communication than %s", who,
                                 candidate->n_ranks == 1 ? "stays" : "stay", extra, peers);
    }
    if (!candidate->launches_known) {
        return inq_findings_text(f, "%s idle for %s longer than %s (launches are not recorded)",
                                 whose(f, candidate, device_of(f, candidate), "is", "are"), extra,
                                 peers);
    }
    if (isfinite(candidate->ratio)) {
        return inq_findings_text(f, "%s %.2f times as many %s to launch (%s late)",
                                 whose(f, candidate, "host", "has", "have"), candidate->ratio,
                                 work_of(f, candidate), extra);
    }
    return inq_findings_text(f, "%s %s late", whose(f, candidate, "host", "launches", "launch"),
                             extra);
}

/* What shows the state of the candidate's device, in parentheses; "": nothing that is known. NULL:
 * NVIDIA's, whose tool the finding's own advice names. */
static const char *tool_of(const struct inq_findings *f, const struct inq_candidate *candidate)
{
    static const struct {
        const char *device, *word; /* word: in the name of the device; "": any */
        const char *tool;
    } tools[] = {{"NPU", "", " (npu-smi info -t common)"},
                 {"TPU", "", " (tpu-info)"},
                 {"HPU", "", " (hl-smi)"},
                 {"MLU", "", " (cnmon)"},
                 {"MTIA", "", ""},
                 {"GPU", "gfx", " (amd-smi metric)"},
                 {"GPU", "AMD", " (amd-smi metric)"},
                 {"GPU", "MTT", " (mthreads-gmi -q)"},
                 {"GPU", "Intel", " (xpu-smi stats)"}};
    const struct inq_trace *trace = f->report->trace;
    const char *device = device_of(f, candidate);
    const char *name = candidate->n_ranks > 0
                           ? inq_trace_str(trace, trace->ranks[candidate->ranks[0]].device_name)
                           : "";
    for (size_t i = 0; i < sizeof tools / sizeof *tools; i++) {
        if (strcmp(tools[i].device, device) == 0 && strstr(name, tools[i].word) != NULL) {
            return tools[i].tool;
        }
    }
    return NULL;
}

/* A host that is behind all the way: because each call takes it longer than others, or because it
 * has as much to launch as it can. */
static const char *about_launches(struct inq_findings *f, const struct inq_candidate *candidate)
{
    if (candidate->call_ratio >= SLOW_CALLS) {
        return inq_findings_text(
            f,
            "Launch calls are %.1f times as long as on %s: compare CPU frequency and governor, "
            "cores shared with other processes, NUMA placement, and whether a profiler records "
            "stacks only here.",
            candidate->call_ratio, peers_of(candidate));
    }
    return inq_findings_text(
        f,
        "No one gap holds most of it: between its launches the host is slow all the way. Launch "
        "less and larger work there (CUDA graphs, torch.compile, larger batches), and compare the "
        "cores with those of %s (frequency, other processes, NUMA placement).",
        peers_of(candidate));
}

/* A host that does one thing in its longest gap. */
static const char *about_call(struct inq_findings *f, const struct inq_candidate *candidate)
{
    const char *in = inq_arena_name(f->arena, candidate->running);

    switch (inq_host_kind_of(candidate->running)) {
    case INQ_HOST_DATA:
        return inq_findings_text(
            f,
            "The host waits in %s: compare storage, loader workers and samples "
            "with those of %s.",
            in, peers_of(candidate));
    case INQ_HOST_MEMORY:
        return inq_findings_text(
            f,
            "The host is in %s: compare the memory in use with that of %s, and "
            "let the allocator keep what it has (less memory in use, equal "
            "shapes in all steps, expandable segments).",
            in, peers_of(candidate));
    case INQ_HOST_SYNCHRONIZE:
    case INQ_HOST_COLLECTION:
    case INQ_HOST_COPY:
    case INQ_HOST_LAUNCH:
    case INQ_HOST_OTHER:
        break;
    }
    return inq_findings_text(f,
                             "Find out what keeps the host in %s: data loading, garbage "
                             "collection, checkpoints, other processes on its cores.",
                             in);
}

/* What to try, where more is known than the kind; else "". */
static const char *advice(struct inq_findings *f, const struct inq_candidate *candidate)
{
    if (candidate->kind == INQ_FINDING_SLOW_GPU && is_cpu(f, candidate)) {
        return "Compare frequency, load and NUMA placement of this rank's cores with the others', "
               "and the sizes of its batches where operators have no input sizes in the trace "
               "(record_shapes).";
    }
    if (candidate->n_turns > 0 && candidate->host[0] != '\0') {
        const char *tool = tool_of(f, candidate);
        return inq_findings_text(
            f,
            "Compare power, temperature and clocks of the %ss of host %s over time%s: a power "
            "budget or cooling that they share may slow one after the other; else each has a "
            "fault of its own.",
            device_of(f, candidate), candidate->host,
            tool != NULL ? tool : " (nvidia-smi -q -d POWER,TEMPERATURE,PERFORMANCE)");
    }
    if (candidate->memory_ratio > 0.0) {
        const char *tool = tool_of(f, candidate);
        return inq_findings_text(
            f,
            "Compare the memory with that of healthy %ss%s: ECC errors, remapped rows, memory "
            "clock and temperature (HBM is throttled when hot); take what differs out of the job.",
            device_of(f, candidate),
            tool != NULL ? tool : " (nvidia-smi -q -d ECC,ROW_REMAPPER,CLOCK,TEMPERATURE)");
    }
    if (candidate->kind == INQ_FINDING_SLOW_GPU && tool_of(f, candidate) != NULL) {
        return inq_findings_text(f,
                                 "Compare clocks, temperature, power cap and ECC state with those "
                                 "of healthy %ss%s; take what differs out of the job.",
                                 device_of(f, candidate), tool_of(f, candidate));
    }
    if (candidate->kind == INQ_FINDING_EXPOSED_COPY && in_steps(f, candidate)[0] != '\0') {
        return "Look at what is copied in these steps. A checkpoint delays the others less when it "
               "is written asynchronously (pinned memory, a stream of its own) or sharded over the "
               "ranks.";
    }
    if (candidate->comm_only) {
        return "Trace this rank and one of its peers with a profiler that records kernels and "
               "launches: only communication is recorded here, so its GPU or its host may be "
               "late.";
    }
    if (candidate->kind == INQ_FINDING_LATE_HOST && isfinite(candidate->ratio)) {
        return "Look at how the work is divided, and launch less and larger work: fused or "
               "compiled kernels, larger batches.";
    }
    if (candidate->kind == INQ_FINDING_LATE_HOST && candidate->everywhere &&
        candidate->running[0] == '\0') {
        return "Look at what stops the processes now and then: garbage collection (gc.freeze, or "
               "gc.disable and collecting at chosen steps), memory allocation, data loading in the "
               "same process, other processes on their cores.";
    }
    if (candidate->kind == INQ_FINDING_LATE_HOST && candidate->spread) {
        return about_launches(f, candidate);
    }
    if (candidate->kind == INQ_FINDING_LATE_HOST && candidate->running[0]) {
        return about_call(f, candidate);
    }
    return "";
}

static void set_measure(struct inq_findings *f, const struct inq_candidate *candidate,
                        struct inq_finding *finding)
{
    const char *what = "compute";

    if (candidate->silences) {
        what = "pauses of a host,";
    } else if (candidate->kind == INQ_FINDING_LATE_HOST ||
               candidate->kind == INQ_FINDING_UNPLANNED_GC) {
        what = candidate->comm_only ? "time outside communication"
                                    : inq_findings_text(f, "%s idle", device_of(f, candidate));
    } else if (candidate->kind == INQ_FINDING_EXPOSED_COPY) {
        what = "exposed copies";
    }
    finding->measured =
        inq_findings_text(f, "%s %s %s", what, inq_findings_time(f, candidate->own_ns),
                          inq_account_per(f->report->account));
    finding->expected =
        candidate->silences
            ? "none"
            : inq_findings_text(f, "%s, %s%s", inq_findings_time(f, candidate->peers_ns),
                                candidate->rotates ? "without the pauses" : "the median of ",
                                candidate->rotates ? "" : peers_of(candidate));
}

static const char *detail(struct inq_findings *f, const struct inq_candidate *candidate,
                          const struct inq_finding *finding)
{
    const char *waits = "";

    if (candidate->waits > 0 && candidate->last_arrivals > 0) {
        bool all = candidate->last_arrivals == candidate->waits;
        const char *share =
            all ? "all" : inq_findings_text(f, "%" PRIu64 " of the", candidate->last_arrivals);
        waits = inq_findings_text(
            f, " %s arrived last at %s %" PRIu64 " collectives in which others waited.",
            candidate->n_ranks == 1 ? "It" : "One of them", share, candidate->waits);
        if (candidate->waits == 1) {
            waits = all ? " Another rank waited for it in one collective." : "";
        }
    }
    return inq_findings_text(f, "Measured %s; expected %s.%s", finding->measured, finding->expected,
                             waits);
}

/* "" where nothing was recorded: an inferred group's name is ours. */
static const char *group_name(struct inq_findings *f, uint32_t group)
{
    const struct inq_trace *trace = f->report->trace;

    if (group >= trace->n_groups || trace->groups[group].name == 0 ||
        trace->groups[group].inferred) {
        return "";
    }
    return inq_findings_text(f, " in group %s", inq_trace_str(trace, trace->groups[group].name));
}

/* What all findings of candidates begin with: the ranks, if it names some, cost, confidence,
 * fixes and evidence. NULL: no memory. */
static struct inq_finding *begin(struct inq_findings *f, const struct inq_candidate *candidate)
{
    struct inq_finding *finding = inq_findings_add(f, candidate->kind);

    if (!finding) {
        return NULL;
    }
    if (candidate->n_ranks > 0) {
        inq_findings_set_ranks(f, finding, candidate->ranks, candidate->n_ranks);
    }
    inq_findings_set_cost(f, finding, candidate->cost_ns_per_step, candidate->step_ns);
    finding->confidence = candidate->confidence;
    set_gain(f, candidate, finding);
    finding->n_evidence = candidate->n_evidence;
    finding->evidence = candidate->evidence;
    return finding;
}

/* A slow link is between ranks, nobody's work. */
static void add_link(struct inq_findings *f, const struct inq_candidate *candidate)
{
    struct inq_finding *finding = begin(f, candidate);
    const char *what = inq_coll_kind_text(candidate->coll);

    if (!finding) {
        return;
    }
    finding->measured =
        inq_findings_text(f, "%s per %s transfer%s", inq_findings_time(f, candidate->own_ns), what,
                          group_name(f, candidate->group));
    finding->expected = inq_findings_text(f, "%s, as the same transfer takes among other ranks",
                                          inq_findings_time(f, candidate->peers_ns));
    finding->title = inq_findings_text(
        f, "The link%s of %s %s slow%s: transfers take %.2f times as long as among other ranks",
        candidate->to_others ? "s" : "",
        inq_findings_rank_list(f, candidate->ranks, candidate->n_ranks, false),
        candidate->to_others ? "to other hosts are" : "is", in_steps(f, candidate),
        candidate->ratio);
    finding->detail = inq_findings_text(
        f,
        "Measured %s; expected %s; %llu transfers compared, each from the arrival of its last "
        "member on.",
        finding->measured, finding->expected, (unsigned long long)candidate->waits);
}

/* Which kernels of a GPU are slow, where not all are; a sentence with a blank in front. */
static const char *about_memory(struct inq_findings *f, const struct inq_candidate *candidate)
{
    return candidate->memory_ratio <= 0.0
               ? ""
               : inq_findings_text(
                     f,
                     " Matrix products take as long as on %s, all other kernels, which wait for "
                     "memory, %.2f times as long: %s memory is slow.",
                     peers_of(candidate), candidate->memory_ratio,
                     candidate->n_ranks == 1 ? "its" : "their");
}

/* Which of the GPUs was slow when, where they were in turn; a sentence with a blank in front. */
static const char *about_turns(struct inq_findings *f, const struct inq_candidate *candidate)
{
    enum { MOST_TURNS = 8 }; /* a host's GPUs, once each */
    size_t shown = candidate->n_turns < MOST_TURNS ? candidate->n_turns : MOST_TURNS;
    const char *list = "";

    for (size_t i = 0; i < shown; i++) {
        const struct inq_turn *turn = &candidate->turns[i];
        const char *last = turn->last_step > turn->first_step
                               ? inq_findings_text(f, " to %" PRId64, turn->last_step)
                               : "";
        list = inq_findings_text(f, "%s%s%s in step%s %" PRId64 "%s", list, i > 0 ? ", " : "",
                                 inq_findings_rank_list(f, &turn->rank, 1, false),
                                 last[0] != '\0' ? "s" : "", turn->first_step, last);
    }
    if (shown < candidate->n_turns) {
        list = inq_findings_text(f, "%s, and %zu more turns", list, candidate->n_turns - shown);
    }
    return shown > 0 ? inq_findings_text(f, " Slow in turn: %s.", list) : "";
}

static void add_candidate(struct inq_findings *f, const struct inq_candidate *candidate)
{
    struct inq_finding *finding = begin(f, candidate);

    if (!finding) {
        return;
    }
    set_measure(f, candidate, finding);
    finding->title = inq_findings_text(f, "%s%s and %s", fault(f, candidate),
                                       how_often(f, candidate), delays(f, candidate));
    const char *gpu = candidate->kind == INQ_FINDING_SLOW_GPU
                          ? findings_about_gpu(f, candidate->ranks, candidate->n_ranks)
                          : "";
    finding->detail = inq_findings_text(f, "%s%s%s%s", detail(f, candidate, finding),
                                        about_turns(f, candidate), about_memory(f, candidate), gpu);
    finding->advice = advice(f, candidate);
}

/* Of an op table the what-if analysis knows better what a worker costs: it simulated the run
 * without it. */
static void ask_whatif(const struct inq_trace *trace, const struct inq_whatif *whatif,
                       struct inq_candidate *candidate)
{
    for (size_t i = 0; whatif && candidate->n_ranks == 1 && i < whatif->n_causes; i++) {
        const struct inq_whatif_cause *cause = &whatif->causes[i];
        if (cause->fits && cause->rank >= 0 &&
            cause->rank == trace->ranks[candidate->ranks[0]].rank) {
            candidate->cost_ns_per_step = cause->saved_ns;
            candidate->step_ns = whatif->t_ns;
            candidate->confidence = INQ_CONFIDENCE_ESTABLISHED;
        }
    }
}

/* Work that is divided unevenly: nobody delays anybody by a fault of its own. */
static void add_uneven(struct inq_findings *f, const struct inq_candidate *candidate)
{
    struct inq_finding *finding = begin(f, candidate);

    if (!finding) {
        return;
    }
    finding->measured = inq_findings_text(
        f, "compute per step varies by %s from rank to rank, another one each step%s",
        inq_findings_percent(f, candidate->ratio),
        candidate->of_experts ? ", in the kernels of experts only" : "");
    finding->expected = "equal work on all ranks";
    finding->title =
        candidate->of_experts
            ? "Experts have unequal work, which differs from step to step and rank to rank"
            : "Work differs from step to step and rank to rank, as with sequences of "
              "different length";
    if (candidate->of_experts) {
        finding->advice = "Send the experts equally many tokens: a stronger balancing loss or "
                          "bias, a capacity limit, other placement of the experts that most "
                          "tokens go to, or copies of them. What the fix predicts is equal work on "
                          "all ranks.";
    }
    finding->detail =
        inq_findings_text(f,
                          "Measured: %s. The slowest rank of a step computes %s "
                          "longer than the mean one, and the others wait.",
                          finding->measured, inq_findings_time(f, candidate->cost_ns_per_step));
}

static void add_stage(struct inq_findings *f, const struct inq_candidate *candidate)
{
    struct inq_finding *finding = begin(f, candidate);

    if (!finding) {
        return;
    }
    finding->stages = inq_arena_alloc(f->arena, sizeof(*finding->stages));
    if (!finding->stages) {
        f->no_memory = true;
        return;
    }
    finding->stages[0] = candidate->stage;
    finding->n_stages = 1;
    finding->measured =
        inq_findings_text(f, "compute %s %s on stage %d", inq_findings_time(f, candidate->own_ns),
                          inq_account_per(f->report->account), candidate->stage);
    finding->expected = inq_findings_text(f, "%s, the median of the other stages",
                                          inq_findings_time(f, candidate->peers_ns));
    finding->title = inq_findings_text(
        f, "Stage %d%s takes %.0f %% longer to compute than the other stages, which wait for it",
        candidate->stage, candidate->kind == INQ_FINDING_SLOW_LAST_STAGE ? ", the last one," : "",
        100 * (candidate->ratio - 1));
    finding->detail = inq_findings_text(
        f, "Measured %s; expected %s. A pipeline runs at its slowest stage's pace.",
        finding->measured, finding->expected);
}

void inq_findings_from_stragglers(const struct inq_trace *trace, struct inq_findings *findings)
{
    const struct inq_attribution *blame = findings->report->attribution;

    for (size_t i = 0; blame && i < blame->n_candidates; i++) {
        if (blame->op_table) {
            ask_whatif(trace, findings->report->whatif, &blame->candidates[i]);
        }
        const struct inq_candidate *candidate = &blame->candidates[i];
        if (candidate->kind == INQ_FINDING_SLOW_LINK) {
            add_link(findings, candidate);
        } else if (candidate->kind == INQ_FINDING_SEQUENCE_IMBALANCE) {
            add_uneven(findings, candidate);
        } else if (candidate->kind == INQ_FINDING_SLOW_LAST_STAGE ||
                   candidate->kind == INQ_FINDING_STAGE_IMBALANCE) {
            add_stage(findings, candidate);
        } else {
            add_candidate(findings, candidate);
        }
    }
}
