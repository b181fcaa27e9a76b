/* SPDX-License-Identifier: Apache-2.0 */
/* Findings on where the time of all ranks goes: exposed communication, copies, waiting for hosts,
 * steps out of line. They name no rank. */
#include "analysis/findings.h"

#include "base/mem.h"
#include "base/stats.h"

#include <math.h>
#include <stddef.h>

/* Every job has some of it: below this share of the step it is not mentioned. */
#define MENTIONED_SHARE 0.05
/* A step is out of line when it is longer than the median by this part of it, and by 5 sigma. */
#define OUTLIER_SHARE  0.2
#define OUTLIER_SIGMAS 5.0

/* Share of the time that a part has: of the usual step where ranks were compared, else the median
 * over the ranks' whole spans. NaN when there is neither. */
static double usual_share(const struct inq_report *report, size_t in_step, size_t in_rank)
{
    if (report->blame && report->blame->usual.step_ns > 0) {
        const char *usual = (const char *)&report->blame->usual;
        int64_t ns = *(const int64_t *)(const void *)(usual + in_step);
        return (double)ns / (double)report->blame->usual.step_ns;
    }
    double *shares = inq_mem_alloc((report->n_rank_times + 1) * sizeof(*shares));
    size_t n = 0;
    for (size_t i = 0; shares && i < report->n_rank_times; i++) {
        const struct inq_rank_time *t = &report->rank_times[i];
        bool known =
            in_rank != offsetof(struct inq_rank_time, idle_host_ns) || t->idle_causes_known;
        if (t->span_ns > 0 && known) {
            int64_t ns = *(const int64_t *)(const void *)((const char *)t + in_rank);
            shares[n++] = (double)ns / (double)t->span_ns;
        }
    }
    double share = n > 0 ? inq_median(shares, n) : (double)NAN;
    inq_mem_free(shares);
    return share;
}

/* What waiting for suspects costs, as a share of the step: that part of the communication is their
 * fault and not the network's. */
static double suspects_share(const struct inq_report *report)
{
    double share = 0.0;

    for (size_t i = 0; report->blame && i < report->blame->n_suspects; i++) {
        const struct inq_suspect *s = &report->blame->suspects[i];
        share += s->step_ns > 0 ? (double)s->cost_ns_per_step / (double)s->step_ns : 0.0;
    }
    return share;
}

struct wide {
    enum inq_finding_kind kind;
    size_t in_step, in_rank; /* where the time stands */
    bool less_suspects;
    double low, medium; /* share from which on it is worth work on the job itself */
    const char *title, *expected, *advice;
};

/* Exposed communication belongs to the shape of a job, up to half of it. A GPU that waits for its
 * own host, or for copies, is never meant to be. */
static const struct wide wides[] = {
    {INQ_FINDING_EXPOSED_COMM, offsetof(struct inq_usual_step, comm_ns),
     offsetof(struct inq_rank_time, exposed_comm_ns), true, 0.5, 0.7,
     "communication not covered by compute", "communication covered by compute",
     "Overlap it with compute (bucket sizes, prefetch, asynchronous collectives), or send less."},
    {INQ_FINDING_HOST_BOUND, offsetof(struct inq_usual_step, host_ns),
     offsetof(struct inq_rank_time, idle_host_ns), false, 0.3, 0.5,
     "the GPUs wait for their hosts to launch work", "hosts that run ahead of their GPUs",
     "Launch less and larger work: CUDA graphs, compiled or fused kernels, larger batches, fewer "
     "synchronisations."},
    {INQ_FINDING_EXPOSED_COPY, offsetof(struct inq_usual_step, copy_ns),
     offsetof(struct inq_rank_time, exposed_memcpy_ns), false, 0.2, 0.4,
     "copies not covered by compute", "copies covered by compute",
     "Copy from pinned memory on a stream of its own, ahead of use."},
};

static void judge_wide(struct inq_findings *f, const struct wide *wide)
{
    const struct inq_report *report = f->report;
    double share = usual_share(report, wide->in_step, wide->in_rank);

    if (wide->less_suspects) {
        share -= suspects_share(report);
    }
    if (!(share >= MENTIONED_SHARE)) {
        return;
    }
    struct inq_finding *finding = inq_findings_add(f, wide->kind);
    if (!finding) {
        return;
    }
    bool informs = wide->kind == INQ_FINDING_EXPOSED_COMM && report->pipeline;
    finding->share = share;
    if (report->step_ns_median > 0) {
        finding->cost_ns_per_step = (int64_t)llround(share * (double)report->step_ns_median);
    }
    if (!informs && share >= wide->low) {
        finding->severity = share >= wide->medium ? INQ_SEVERITY_MEDIUM : INQ_SEVERITY_LOW;
    }
    const char *percent = inq_findings_percent(f, share);
    finding->title = inq_findings_text(f, "%s of the time: %s", percent, wide->title);
    finding->measured = inq_findings_text(
        f, report->n_rank_times > 1 ? "%s of a step, median rank" : "%s of the time", percent);
    finding->expected = wide->expected;
    finding->detail = inq_findings_text(
        f, "Measured: %s%s.", finding->measured,
        wide->less_suspects ? "; what waiting for single ranks and slow links costs is not counted"
                            : "");
    finding->advice = wide->advice;
}

static int64_t outlier_limit(const struct inq_report *report, size_t n)
{
    double *steps = inq_mem_alloc((n + 1) * sizeof(*steps));

    if (!steps) {
        return INT64_MAX;
    }
    for (size_t s = 0; s < n; s++) {
        steps[s] = (double)report->step_ns[s];
    }
    double middle = inq_median(steps, n);
    double sigma = 1.4826 * inq_mad(steps, n, middle);
    inq_mem_free(steps);
    return (int64_t)(middle + fmax(OUTLIER_SHARE * middle, OUTLIER_SIGMAS * sigma));
}

/* Steps much longer than the others. The first one bears the profiler's start and is left out. */
static void judge_steps(const struct inq_trace *trace, struct inq_findings *f)
{
    const struct inq_report *report = f->report;
    size_t n = trace->n_steps;
    size_t out = 0;
    int64_t lost_ns = 0;

    if (n < 4 || !report->step_ns) {
        return;
    }
    int64_t limit_ns = outlier_limit(report, n);
    for (size_t s = 1; s < n; s++) {
        if (report->step_ns[s] > limit_ns) {
            lost_ns += report->step_ns[s] - report->step_ns_median;
            out++;
        }
    }
    if (out == 0) {
        return;
    }
    struct inq_finding *finding = inq_findings_add(f, INQ_FINDING_STEP_OUTLIER);
    struct inq_evidence *evidence = finding ? inq_findings_evidence(f, finding, out) : NULL;
    if (!evidence) {
        return;
    }
    for (size_t s = 1; s < n; s++) {
        if (report->step_ns[s] > limit_ns) {
            evidence[finding->n_evidence++] = (struct inq_evidence){
                -1, "", trace->steps[s].start_ns, trace->steps[s].end_ns,
                inq_findings_text(f, "step %lld took %s", (long long)trace->steps[s].number,
                                  inq_findings_time(f, report->step_ns[s]))};
        }
    }
    inq_findings_set_cost(finding, lost_ns / (int64_t)n, report->step_ns_median);
    if (finding->severity > INQ_SEVERITY_LOW) {
        finding->severity = INQ_SEVERITY_LOW;
    }
    finding->measured =
        inq_findings_text(f, "%zu of %zu steps above %s", out, n, inq_findings_time(f, limit_ns));
    finding->expected =
        inq_findings_text(f, "%s, the median", inq_findings_time(f, report->step_ns_median));
    finding->title =
        inq_findings_text(f, "%zu of %zu steps took much longer than the others", out, n);
    finding->detail =
        inq_findings_text(f, "Measured %s; expected %s.", finding->measured, finding->expected);
    finding->advice = "Look for checkpoints, evaluation, garbage collection or data loading in "
                      "these steps.";
}

void inq_judge_time(const struct inq_trace *trace, struct inq_findings *findings)
{
    for (size_t i = 0; i < sizeof(wides) / sizeof(wides[0]); i++) {
        judge_wide(findings, &wides[i]);
    }
    judge_steps(trace, findings);
}
