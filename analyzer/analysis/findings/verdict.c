/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict: one sentence for the engineer on call. */
#include "analysis/findings/causes.h"
#include "analysis/findings/findings.h"
#include "analysis/findings/verdict.h"
#include "inquest/account.h"
#include "inquest/training.h"

#include "base/arena.h"
#include "base/mem.h"

#include <inttypes.h>
#include <math.h>

/* A class below this share of the rank-time is not named. */
#define MENTIONED 0.005
/* Waiting that nothing explains: above this part of the rank-time no run is healthy. */
#define MOST_UNEXPLAINED 0.03

/* "80 % compute, 12 % transfer, ...", of the rank-time: what makes up half a percent or more. */
static const char *where_time_goes(struct inq_findings *f)
{
    const struct inq_account *a = f->report->account;
    const char *text = "";

    for (int c = 0; a != NULL && a->t_ns > 0 && c < INQ_ACCOUNT_CLASS_COUNT; c++) {
        double share = (double)a->class_ns[c] / (double)a->t_ns;
        if (share >= MENTIONED) {
            text = inq_findings_text(f, "%s%s%s %s", text, text[0] ? ", " : "",
                                     inq_findings_percent(f, share),
                                     inq_account_class_words((enum inq_account_class)c));
        }
    }
    return text;
}

/* Slices of a profiler unknown here may be anything; a synchronization is no work. */
static bool has_device_work(const struct inq_trace *trace)
{
    for (size_t r = 0; r < trace->n_ranks; r++) {
        const struct inq_events *e = &trace->ranks[r].events;
        for (size_t i = 0; i < e->n; i++) {
            /* rows without a kind were not read as events: they are ops */
            bool is_op = e->kind == NULL || (e->label != NULL && e->label[i] != INQ_NONE);
            if (is_op || (e->kind[i] != INQ_EVENT_SLICE && e->kind[i] != INQ_EVENT_SYNC)) {
                return true;
            }
        }
    }
    return false;
}

/* Why nothing can be said of a run without findings; NULL when it can. */
static const char *what_is_missing(const struct inq_trace *trace, const struct inq_report *report)
{
    if (report->sections[INQ_SECTION_FAILURE].reason) {
        return "what stopped the run, if anything did, is not available";
    }
    if (trace->n_ranks == 0) {
        return trace->n_logs > 0
                   ? "no line of the logs reports a failure, and there is no trace from any rank"
                   : "there is no trace of any rank";
    }
    if (!has_device_work(trace)) {
        return "no device work is recognized in the traces";
    }
    if (trace->n_ranks == 1) {
        return "there is only one rank, so none can be said to delay others";
    }
    if (report->sections[INQ_SECTION_BLAME].reason) {
        return "the comparison of the ranks is not available";
    }
    if (report->sections[INQ_SECTION_BLAME].left_out) {
        return "the ranks were not compared";
    }
    if (!report->attribution) {
        return "no two ranks have a whole step in common";
    }
    return NULL;
}

/* Only the training output is there, and nothing is wrong with it. */
static void say_training(struct inq_findings *f, struct inq_verdict *verdict)
{
    const struct inq_training *t = f->report->training;

    verdict->cls = "healthy";
    verdict->confidence = INQ_CONFIDENCE_SUPPORTED;
    verdict->lost_ns_per_step = -1;
    verdict->headline =
        inq_findings_text(f,
                          "Nothing wrong in the training output of steps %" PRId64 " to %" PRId64
                          ": the loss is %.4g, and there is no trace to say where the time goes.",
                          t->first_step, t->last_step, t->loss_last);
}

/* What could not be read is said before what follows from it. */
static const char *unread_first(struct inq_findings *f)
{
    for (size_t i = 0; i < f->n; i++) {
        if (f->at[i].kind == INQ_FINDING_UNREAD_INPUT) {
            return inq_findings_text(f, "%s. ", f->at[i].title);
        }
    }
    return "";
}

static void say_no_judged_step(struct inq_findings *f, const char *missing,
                               struct inq_verdict *verdict)
{
    const char *where = where_time_goes(f);

    verdict->cls = "nothing_to_judge";
    verdict->confidence = INQ_CONFIDENCE_HYPOTHESIS;
    verdict->lost_ns_per_step = -1;
    verdict->headline = inq_findings_text(f, "%sNothing to judge: %s%s%s.", unread_first(f),
                                          missing, where[0] ? "; " : "", where);
}

/* Ranks that took part: those with a trace, and those that left none. */
static size_t count_ranks(const struct inq_trace *trace)
{
    return trace->world_size > 0 ? (size_t)trace->world_size : trace->n_ranks;
}

/* What the confidence rests on: "8 of 8 ranks, 5 of 6 steps judged, simulation +0.1 % off." */
static const char *say_sure(struct inq_findings *f)
{
    const struct inq_account *a = f->report->account;
    const struct inq_trace *trace = f->report->trace;

    if (a == NULL || a->t_ns <= 0) {
        return "";
    }
    size_t all = count_ranks(trace);
    const char *text =
        inq_findings_text(f, "%zu of %zu rank%s", a->ranks_judged, all, all == 1 ? "" : "s");
    text = a->one_interval
               ? inq_findings_text(f, "%s, the whole capture as one interval", text)
               : inq_findings_text(f, "%s, %zu of %zu step%s judged", text, a->steps_judged,
                                   a->n_steps, a->n_steps == 1 ? "" : "s");
    if (!isnan(a->base_error)) {
        text = inq_findings_text(f, "%s, simulation %+.1f %% off the record", text,
                                 100.0 * a->base_error);
    }
    if (a->gains_problem[0] != '\0' &&
        !a->op_table) { /* op tables have a simulation of their own */
        text = inq_findings_text(f, "%s; gains are not simulated: %s", text, a->gains_problem);
    }
    return inq_findings_text(f, "%s.", text);
}

/* "replace-rank:5 would shorten the step from 14.1 ms to 11.6 ms (simulated; 2.54 ms to 2.61 ms
 * less)." */
static const char *say_fix(struct inq_findings *f, const struct inq_finding *finding)
{
    const struct inq_account *a = f->report->account;
    bool joint = finding->joint_with != NULL && finding->joint_fix[0] != '\0';
    int64_t gain_ns = joint ? finding->joint_ns : finding->cost_ns_per_step;
    const char *interval = "";

    if (finding->n_fixes == 0 || gain_ns <= 0 || a == NULL || a->t_ns <= 0) {
        return "";
    }
    if (!joint && finding->low_ns != INQ_TIME_NONE && finding->low_ns <= 0) {
        interval = /* it is seen in few steps: by chance in none */
            inq_findings_text(f, "; up to %s less", inq_findings_time(f, finding->high_ns));
    } else if (!joint && finding->low_ns != INQ_TIME_NONE) {
        interval = inq_findings_text(f, "; %s to %s less", inq_findings_time(f, finding->low_ns),
                                     inq_findings_time(f, finding->high_ns));
    }
    const char *fix = joint ? finding->joint_fix : finding->fixes[0];
    const char *what = a->one_interval ? "capture" : "step";
    const char *before = inq_findings_time(f, a->t_ns);
    const char *after = inq_findings_time(f, a->t_ns - gain_ns);
    return inq_finding_is_measured(f->report->account, finding)
               ? inq_findings_text(
                     f, "%s would shorten the %s from %s to %s at best (measured, not simulated). ",
                     fix, what, before, after)
               : inq_findings_text(f, "%s would shorten the %s from %s to %s (simulated%s). ", fix,
                                   what, before, after, interval);
}

/* Communication that cannot be parted may hide as much waiting. */
static bool may_hide_waiting(const struct inq_account *a)
{
    return (double)a->class_ns[INQ_ACCOUNT_COMM] > MOST_UNEXPLAINED * (double)a->t_ns;
}

/* Where ranks of a pipeline wait for each other as its schedule has it: for how much of a step. */
static const char *say_schedule(struct inq_findings *f)
{
    const struct inq_account *a = f->report->account;
    const struct inq_pipeline *p = f->report->pipeline;
    double waits =
        a != NULL && a->t_ns > 0 ? (double)a->class_ns[INQ_ACCOUNT_WAIT] / (double)a->t_ns : 0.0;

    for (size_t i = 0; p != NULL && waits > MOST_UNEXPLAINED && i < f->n; i++) {
        if (f->at[i].kind == INQ_FINDING_PIPELINE_BUBBLE && f->at[i].share > 0.0) {
            return inq_findings_text(f,
                                     "Ranks of a pipeline wait for each other: its schedule of %d "
                                     "micro-batches over %d stages idles for %s of a step.",
                                     p->microbatches, p->stages,
                                     inq_findings_percent(f, f->at[i].share));
        }
    }
    return "";
}

/* Established takes three steps of all ranks; supported, that no more waiting can hide than a
 * healthy run may have. */
static void say_healthy(struct inq_findings *f, const char *missing, struct inq_verdict *verdict)
{
    const struct inq_report *report = f->report;
    const struct inq_account *a = report->account;
    size_t all = count_ranks(report->trace);
    bool some = a && a->ranks_judged > 0 && a->ranks_judged < all;
    bool sure = !missing && report->attribution->steps_judged >= 3 && !some;
    const char *among = "";
    const char *step = "";

    if (a && a->t_ns > 0 && !a->one_interval) {
        step = inq_findings_text(f, ". A step takes %s", inq_findings_time(f, a->t_ns));
    }
    if (some) {
        among = inq_findings_text(f, " among %zu of %zu ranks", a->ranks_judged, all);
    }
    verdict->cls = "healthy";
    verdict->confidence = sure ? INQ_CONFIDENCE_ESTABLISHED : INQ_CONFIDENCE_SUPPORTED;
    if (a && a->t_ns > 0 && may_hide_waiting(a)) {
        verdict->confidence = INQ_CONFIDENCE_HYPOTHESIS;
    }
    verdict->lost_ns_per_step = 0;
    verdict->headline =
        inq_findings_text(f, "No straggler%s%s: %s.", among, step, where_time_goes(f));
    verdict->why = say_schedule(f);
    verdict->sure = say_sure(f);
}

/* The first piece of evidence that has a time, as the verdict's own. */
static const struct inq_evidence *first_seen(struct inq_findings *f,
                                             const struct inq_finding *finding)
{
    for (size_t i = 0; i < finding->n_evidence; i++) {
        if (finding->evidence[i].start_ns != INQ_TIME_NONE) {
            struct inq_evidence *see = inq_arena_alloc(f->arena, sizeof(*see));
            f->no_memory = f->no_memory || see == NULL;
            if (see != NULL) {
                *see = finding->evidence[i];
            }
            return see;
        }
    }
    return NULL;
}

static void say_findings(struct inq_findings *f, struct inq_verdict *verdict)
{
    const struct inq_finding *first = &f->at[0];

    verdict->cls = inq_finding_kind_text(first->kind);
    verdict->confidence = first->confidence;
    verdict->lost_ns_per_step = first->cost_ns_per_step;
    verdict->headline = inq_findings_text(f, "%s.", first->title);
    verdict->why = first->detail;
    verdict->see = first_seen(f, first);
    verdict->next = inq_findings_text(f, "%s%s", say_fix(f, first), first->advice);
    if (first->share >= 0.0) {
        verdict->sure = say_sure(f);
    }
}

/* ---- waiting that nothing explains ----------------------------------------------------------- */

/* A rank that more than half of the waiting is for is named in the headline. */
#define MOST_FOR_ONE 0.5

/* The rank that is waited for longest, and for how long of all waiting. */
static uint32_t most_waited_for(const struct inq_account *a, double *part)
{
    int64_t *sum_ns = inq_mem_zalloc(a->n_ranks + 1, sizeof(*sum_ns));
    int64_t all_ns = 0;
    uint32_t most = INQ_NONE;

    for (size_t i = 0; sum_ns && i < a->n_waits; i++) {
        const struct inq_account_wait *w = &a->waits[i];
        all_ns += w->end_ns - w->start_ns;
        if (w->waited_for < a->n_ranks) {
            sum_ns[w->waited_for] += w->end_ns - w->start_ns;
            most = most == INQ_NONE || sum_ns[w->waited_for] > sum_ns[most] ? w->waited_for : most;
        }
    }
    *part = most != INQ_NONE && all_ns > 0 ? (double)sum_ns[most] / (double)all_ns : 0.0;
    inq_mem_free(sum_ns);
    return most;
}

static bool is_unexplained(const struct inq_report *report)
{
    const struct inq_account *a = report->account;

    return a != NULL && a->t_ns > 0 &&
           (double)a->unexplained_wait_ns > MOST_UNEXPLAINED * (double)a->t_ns;
}

static void say_unexplained(struct inq_findings *f, struct inq_verdict *verdict)
{
    const struct inq_account *a = f->report->account;
    double part = 0.0;
    uint32_t rank = most_waited_for(a, &part);

    verdict->cls = "waiting_unexplained";
    verdict->confidence = INQ_CONFIDENCE_HYPOTHESIS;
    verdict->lost_ns_per_step = -1;
    const char *time = inq_findings_time(f, a->unexplained_wait_ns);
    const char *share = inq_findings_percent(f, (double)a->unexplained_wait_ns / (double)a->t_ns);
    const char *whom = rank != INQ_NONE ? inq_findings_rank_list(f, &rank, 1, false) : "";
    const char *per = inq_account_per(a);
    verdict->headline =
        part >= MOST_FOR_ONE
            ? inq_findings_text(f,
                                "Ranks wait %s %s (%s), most of it for %s, and no cause was found.",
                                time, per, share, whom)
            : inq_findings_text(f, "Ranks wait %s %s (%s) for each other, and no cause was found.",
                                time, per, share);
    if (rank != INQ_NONE) {
        verdict->why = inq_findings_text(f, "The largest part of the waiting, %s, is for %s; %s.",
                                         inq_findings_percent(f, part), whom, where_time_goes(f));
    }
    verdict->next = "Record more steps, on all ranks, with shapes (record_shapes=True) and host "
                    "calls: what differs between the ranks is not in these traces.";
    verdict->sure = say_sure(f);
}

/* Half of the time is spent on what may be either, on ranks that could tell. */
#define MOSTLY_OPEN 0.5

static bool is_open(const struct inq_report *report)
{
    const struct inq_account *a = report->account;

    return a != NULL && a->t_ns > 0 && report->trace->n_ranks > 1 &&
           (double)a->class_ns[INQ_ACCOUNT_COMM] >= MOSTLY_OPEN * (double)a->t_ns;
}

static void say_open(struct inq_findings *f, struct inq_verdict *verdict)
{
    const struct inq_account *a = f->report->account;
    double share = (double)a->class_ns[INQ_ACCOUNT_COMM] / (double)a->t_ns;

    verdict->cls = "waiting_unexplained";
    verdict->confidence = INQ_CONFIDENCE_HYPOTHESIS;
    verdict->lost_ns_per_step = -1;
    verdict->headline =
        inq_findings_text(f,
                          "%s of the time is exposed communication of which the traces do not tell "
                          "waiting from transfer.",
                          inq_findings_percent(f, share));
    verdict->why = inq_findings_text(f, "%s.", where_time_goes(f));
    verdict->next = "Record all ranks over the same steps, with what PyTorch 2.4 and later say of "
                    "collectives and transfers (record_param_comms).";
    verdict->sure = say_sure(f);
}

void inq_verdict_make(const struct inq_trace *trace, struct inq_findings *findings,
                      struct inq_verdict *verdict)
{
    const char *missing = what_is_missing(trace, findings->report);
    bool serious = false;
    bool about_time = false;

    for (size_t i = 0; i < findings->n; i++) {
        if (findings->at[i].severity >= INQ_SEVERITY_LOW) {
            serious = true;
            about_time = about_time || inq_finding_is_about(&findings->at[i]) != INQ_ABOUT_INPUT;
        }
    }
    if (about_time || (serious && !missing)) {
        say_findings(findings, verdict);
    } else if (missing && findings->report->training != NULL && trace->n_ranks == 0) {
        say_training(findings, verdict);
    } else if (missing) {
        say_no_judged_step(findings, missing, verdict);
    } else if (is_unexplained(findings->report)) {
        say_unexplained(findings, verdict);
    } else if (is_open(findings->report)) {
        say_open(findings, verdict);
    } else {
        say_healthy(findings, missing, verdict);
    }
}
