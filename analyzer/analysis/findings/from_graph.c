/* SPDX-License-Identifier: Apache-2.0 */
/* Findings from the op graph: root causes that the what-if analysis tested by taking them away, and
 * the bubbles of a pipeline. */
#include "analysis/findings/findings.h"
#include "analysis/straggler/straggler.h"

#include "base/arena.h"

#include <math.h>
#include <string.h>

/* Below this slowdown there is nothing to take apart: noise of ops alone makes a step of many ranks
 * some percent longer than one of their means. */
#define SLOW_ENOUGH 1.03
/* Below this part of what is lost a cause is not the one; from half on it is more than all others
 * together. */
#define CAUSE_PART 0.25
#define MOST_OF_IT 0.5
/* From here on whole percents say 100. */
#define ALL_OF_IT 0.995
/* From this part of the step on a finding asks for action. */
#define CAUSE_SHARE 0.01
/* A pipeline that is filled well (m = 20 p) has fewer bubbles. */
#define BUBBLE_SHARE 0.05
/* From this part of the step on the schedule loses more than belongs to a pipeline: as much as the
 * work takes. */
#define SCHEDULE_LOW 0.5

static const struct {
    const char *kind;
    enum inq_finding_kind finding;
} causes[] = {
    {"worker", INQ_FINDING_SLOW_WORKER},
    {"stage", INQ_FINDING_STAGE_IMBALANCE},
    {"last_stage", INQ_FINDING_SLOW_LAST_STAGE},
    {"sequence_imbalance", INQ_FINDING_SEQUENCE_IMBALANCE},
    {"communication", INQ_FINDING_SLOW_LINK},
    {"garbage_collection", INQ_FINDING_UNPLANNED_GC},
};

static size_t row_of(const char *kind)
{
    size_t i = 0;

    while (i < sizeof(causes) / sizeof(causes[0]) && strcmp(causes[i].kind, kind) != 0) {
        i++;
    }
    return i;
}

/* The ranks of a stage, or the one with this number. */
static void set_ranks(const struct inq_trace *trace, struct inq_findings *f,
                      struct inq_finding *finding, const struct inq_whatif_cause *cause)
{
    uint32_t *ranks = inq_arena_array(f->arena, trace->n_ranks, sizeof(*ranks));
    size_t n = 0;

    if (!ranks) {
        f->no_memory = true;
        return;
    }
    for (size_t r = 0; r < trace->n_ranks; r++) {
        bool is_it = cause->rank >= 0 ? trace->ranks[r].rank == cause->rank
                                      : cause->stage >= 0 && trace->ranks[r].stage == cause->stage;
        if (is_it) {
            ranks[n++] = (uint32_t)r;
        }
    }
    if (n > 0) {
        inq_findings_set_ranks(f, finding, ranks, n);
    }
}

static void set_stage(struct inq_findings *f, struct inq_finding *finding, int32_t stage)
{
    finding->stages = inq_arena_alloc(f->arena, sizeof(*finding->stages));
    if (!finding->stages) {
        f->no_memory = true;
        return;
    }
    finding->stages[0] = stage;
    finding->n_stages = 1;
    if (finding->n_ranks == 0) {
        finding->id =
            inq_findings_text(f, "%s:stage%d", inq_finding_kind_text(finding->kind), stage);
    }
}

/* Whether a finding already says so: of the same kind, or on the same rank. */
static bool is_known(const struct inq_findings *f, const struct inq_whatif_cause *cause, size_t row)
{
    for (size_t i = 0; i < f->n; i++) {
        if (f->at[i].kind == causes[row].finding) {
            return true;
        }
        for (size_t k = 0; cause->rank >= 0 && k < f->at[i].n_ranks; k++) {
            if (f->at[i].ranks[k] == cause->rank) {
                return true;
            }
        }
    }
    return false;
}

static void add_cause(const struct inq_trace *trace, struct inq_findings *f,
                      const struct inq_whatif_cause *cause, size_t row)
{
    const struct inq_whatif *w = f->report->whatif;
    struct inq_finding *finding = inq_findings_add(f, causes[row].finding);

    if (!finding) {
        return;
    }
    if (cause->rank >= 0 || cause->stage >= 0) {
        set_ranks(trace, f, finding, cause);
    }
    if (cause->stage >= 0 && cause->rank < 0) {
        set_stage(f, finding, cause->stage);
    }
    inq_findings_set_cost(f, finding, cause->saved_ns, w->t_ns);
    finding->confidence =
        cause->share >= MOST_OF_IT ? INQ_CONFIDENCE_ESTABLISHED : INQ_CONFIDENCE_SUPPORTED;
    if (finding->kind == INQ_FINDING_SLOW_LINK) { /* of no link in particular */
        finding->confidence = INQ_CONFIDENCE_HYPOTHESIS;
        finding->advice =
            "Look for links that are slow at times: error counters, congestion, other jobs.";
    }
    finding->title = cause->what;
    finding->measured =
        inq_findings_text(f, "a simulated step of %s", inq_findings_time(f, w->t_ns));
    finding->expected = inq_findings_text(f, "%s without this cause, %s with all ops ideal",
                                          inq_findings_time(f, w->t_ns - cause->saved_ns),
                                          inq_findings_time(f, w->t_ideal_ns));
    /* ops of a kind are ideal at their mean, which a slow stage raises: without it a step may be
     * shorter than ideal */
    bool all = cause->share >= ALL_OF_IT;
    finding->detail = inq_findings_text(
        f,
        "Simulated with and without it on the recorded ops: it explains %s what the job loses "
        "against ideal ops (S = %.2f).",
        all ? "all of" : inq_findings_text(f, "%s of", inq_findings_percent(f, cause->share)),
        w->slowdown);
}

/* Only of op tables: of a recorded run the kernels, launches and transfers themselves were
 * compared, which tells causes apart that look alike in ops (a late host makes a forward longer,
 * too). */
static void from_whatif(const struct inq_trace *trace, struct inq_findings *f)
{
    const struct inq_whatif *w =
        f->report->attribution && !f->report->attribution->op_table ? NULL : f->report->whatif;
    bool found[sizeof(causes) / sizeof(causes[0])] = {false};

    if (!w || !(w->slowdown >= SLOW_ENOUGH)) {
        return;
    }
    for (size_t i = 0; i < w->n_causes; i++) {
        const struct inq_whatif_cause *cause = &w->causes[i];
        size_t row = row_of(cause->kind);
        bool counts = cause->fits && cause->share >= CAUSE_PART && w->t_ns > 0 &&
                      (double)cause->saved_ns >= CAUSE_SHARE * (double)w->t_ns;
        if (counts && row < sizeof(causes) / sizeof(causes[0]) && !found[row] &&
            !is_known(f, cause, row)) {
            add_cause(trace, f, cause, row);
            found[row] = true;
        }
    }
}

/* What the schedule itself loses of a step by the waterfall: what is left when all other causes are
 * taken away; -1: not measured. */
static int64_t schedule_ns(const struct inq_pipeline *p)
{
    for (size_t i = 0; i < p->n_waterfall; i++) {
        if (strcmp(p->waterfall[i].cause, "schedule") == 0) {
            return p->waterfall[i].ns_per_step;
        }
    }
    return -1;
}

/* More micro-batches per stage leave less than a ninth of bubbles under 1F1B: not worth smaller
 * ones. */
enum { MOST_BATCHES = 8 };

/* A pipeline idles by its schedule: fewer bubbles, or more to do between them. */
static void call_for_schedules(struct inq_findings *f, struct inq_finding *finding,
                               const struct inq_pipeline *p)
{
    /* Each is tried, and the one that gains most comes first. None holds more activations than the
     * run does, but for interleaved: micro-batches of the same batch get smaller. */
    int32_t m = p->microbatches;
    for (int32_t n = 2 * m; m > 0 && m < 4096 && (n == 2 * m || n <= MOST_BATCHES * p->stages);
         n *= 2) {
        inq_findings_call_for(f, finding, inq_findings_text(f, "microbatches:%d", n));
    }
    inq_findings_call_for(f, finding, "schedule:zb-h1");
    if (p->chunks <= 1) {
        inq_findings_call_for(f, finding, "schedule:interleaved");
    }
}

/* Some bubbles belong to a pipeline: they inform. Where the schedule takes as much as the work, or
 * where fewer micro-batches than stages never fill the pipeline, they ask for action. */
static void from_bubbles(struct inq_findings *f)
{
    const struct inq_pipeline *p = f->report->pipeline;

    if (!p || !(p->bubble_ratio >= BUBBLE_SHARE)) {
        return;
    }
    struct inq_finding *finding = inq_findings_add(f, INQ_FINDING_PIPELINE_BUBBLE);
    if (!finding) {
        return;
    }
    int64_t ns = schedule_ns(p);
    if (ns >= 0) {
        finding->share = inq_findings_share(f, ns, p->total_ns_per_step);
    }
    if (finding->share >= SCHEDULE_LOW || p->microbatches < p->stages) {
        finding->severity = INQ_SEVERITY_LOW;
    }
    if (!isfinite(p->bubble_ratio_theory)) { /* that its ops are what they seem is not confirmed */
        finding->confidence = INQ_CONFIDENCE_SUPPORTED;
    }
    finding->measured = inq_findings_text(f, "bubble ratio %.3f", p->bubble_ratio);
    finding->expected =
        isfinite(p->bubble_ratio_theory)
            ? inq_findings_text(f, "%.3f for %s with %d stages and %d micro-batch%s",
                                p->bubble_ratio_theory, p->schedule, p->stages, p->microbatches,
                                p->microbatches == 1 ? "" : "es")
            : "";
    finding->title = inq_findings_text(
        f, "%s of the pipeline's time is bubbles: %d micro-batch%s over %d stages",
        inq_findings_percent(f, p->bubble_ratio), p->microbatches, p->microbatches == 1 ? "" : "es",
        p->stages);
    finding->detail = inq_findings_text(
        f,
        "Measured %s; expected %s. The schedule itself loses %s of a step: the rest of the bubbles "
        "has causes of its own.",
        finding->measured, finding->expected[0] ? finding->expected : "not known",
        finding->share >= 0.0 ? inq_findings_percent(f, finding->share) : "N/A");
    call_for_schedules(f, finding, p);
}

void inq_findings_from_graph(const struct inq_trace *trace, struct inq_findings *findings)
{
    from_whatif(trace, findings);
    from_bubbles(findings);
}
