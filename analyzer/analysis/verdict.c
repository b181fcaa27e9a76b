/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict: one sentence for the engineer on call. */
#include "analysis/findings.h"
#include "inquest/training.h"

#include "base/mem.h"
#include "base/stats.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>

/* Findings on the input tell what is missing, not where time was lost. */
static bool is_about_time(const struct inq_finding *finding)
{
    return finding->kind != INQ_FINDING_MISSING_RANK && finding->kind != INQ_FINDING_DAMAGED_INPUT;
}

static double usual_share(const struct inq_report *report, size_t field)
{
    double *shares = inq_mem_alloc((report->n_rank_times + 1) * sizeof(*shares));
    size_t n = 0;

    for (size_t i = 0; shares && i < report->n_rank_times; i++) {
        const struct inq_rank_time *t = &report->rank_times[i];
        if (t->span_ns > 0) {
            int64_t ns = *(const int64_t *)(const void *)((const char *)t + field);
            shares[n++] = (double)ns / (double)t->span_ns;
        }
    }
    double share = n > 0 ? inq_median(shares, n) : (double)NAN;
    inq_mem_free(shares);
    return share;
}

static const char *say_shares(struct inq_findings *f, double compute, double comm, double copy,
                              double idle)
{
    return inq_findings_text(
        f, "compute %s, exposed communication %s, exposed copies %s, idle %s of the GPU time",
        inq_findings_percent(f, compute), inq_findings_percent(f, comm),
        inq_findings_percent(f, copy), inq_findings_percent(f, idle));
}

/* "compute 80 %, exposed communication 12 %, ..." of the usual step, or of the whole span. */
static const char *where_time_goes(struct inq_findings *f)
{
    const struct inq_report *report = f->report;

    if (report->blame && report->blame->usual.step_ns > 0) {
        const struct inq_usual_step *u = &report->blame->usual;
        double whole = (double)u->step_ns;
        return say_shares(f, (double)u->compute_ns / whole, (double)u->comm_ns / whole,
                          (double)u->copy_ns / whole, (double)(u->host_ns + u->other_ns) / whole);
    }
    if (report->n_rank_times == 0) {
        return "";
    }
    return say_shares(f, usual_share(report, offsetof(struct inq_rank_time, compute_ns)),
                      usual_share(report, offsetof(struct inq_rank_time, exposed_comm_ns)),
                      usual_share(report, offsetof(struct inq_rank_time, exposed_memcpy_ns)),
                      usual_share(report, offsetof(struct inq_rank_time, idle_ns)));
}

static bool has_gpu_work(const struct inq_trace *trace)
{
    for (size_t r = 0; r < trace->n_ranks; r++) {
        if (trace->ranks[r].events.n > 0) {
            return true;
        }
    }
    return false;
}

/* Why ranks could not be compared; NULL when they were. */
static const char *what_is_missing(const struct inq_trace *trace, const struct inq_report *report)
{
    if (trace->n_ranks == 0) {
        return trace->n_logs > 0
                   ? "no line of the logs tells of a failure, and there is no trace of any rank"
                   : "there is no trace of any rank";
    }
    if (!has_gpu_work(trace)) {
        return "there is no GPU work in the traces";
    }
    if (trace->n_ranks == 1) {
        return "there is only one rank, so nobody can be told to hold others up";
    }
    if (!report->blame) {
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

static void say_nothing_to_judge(struct inq_findings *f, const char *missing,
                                 struct inq_verdict *verdict)
{
    const char *where = where_time_goes(f);

    verdict->cls = "nothing_to_judge";
    verdict->confidence = INQ_CONFIDENCE_HYPOTHESIS;
    verdict->lost_ns_per_step = -1;
    verdict->headline =
        inq_findings_text(f, "Nothing to judge: %s%s%s.", missing, where[0] ? "; " : "", where);
}

static void say_healthy(struct inq_findings *f, const char *missing, struct inq_verdict *verdict)
{
    const struct inq_report *report = f->report;
    bool sure = !missing && report->blame->steps_judged >= 3;
    const char *step = "";

    if (report->step_ns_median > 0) {
        step =
            inq_findings_text(f, "steps take %s; ", inq_findings_time(f, report->step_ns_median));
    }
    verdict->cls = "healthy";
    verdict->confidence = sure ? INQ_CONFIDENCE_ESTABLISHED : INQ_CONFIDENCE_SUPPORTED;
    verdict->lost_ns_per_step = 0;
    verdict->headline = inq_findings_text(f, "No straggler: %s%s.", step, where_time_goes(f));
}

static void say_findings(struct inq_findings *f, size_t n_serious, struct inq_verdict *verdict)
{
    const struct inq_finding *first = &f->at[0];
    const char *next = "";

    if (n_serious > 1) {
        next = inq_findings_text(f, "; then: %s", f->at[1].title);
    }
    verdict->cls = inq_finding_kind_text(first->kind);
    verdict->confidence = first->confidence;
    verdict->lost_ns_per_step = first->cost_ns_per_step;
    verdict->headline = inq_findings_text(f, "%s%s.", first->title, next);
}

void inq_verdict_make(const struct inq_trace *trace, struct inq_findings *findings,
                      struct inq_verdict *verdict)
{
    const char *missing = what_is_missing(trace, findings->report);
    size_t serious = 0;
    bool about_time = false;

    for (size_t i = 0; i < findings->n; i++) {
        if (findings->at[i].severity >= INQ_SEVERITY_LOW) {
            serious++;
            about_time = about_time || is_about_time(&findings->at[i]);
        }
    }
    if (about_time || (serious > 0 && !missing)) {
        say_findings(findings, serious, verdict);
    } else if (missing && findings->report->training != NULL && trace->n_ranks == 0) {
        say_training(findings, verdict);
    } else if (missing) {
        say_nothing_to_judge(findings, missing, verdict);
    } else {
        say_healthy(findings, missing, verdict);
    }
}
