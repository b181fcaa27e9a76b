/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of each kind of finding beforehand, a row a kind: what it is about, what to try,
 * and which fixes it calls for, as specs for `inquest fix --fix`. */
#include "analysis/findings/findings.h"

#include "base/arena.h"
#include "inquest/out.h"

/* More micro-batches per stage leave less than a ninth of bubbles under 1F1B: not worth smaller
 * ones. */
enum { MOST_BATCHES = 8 };
enum { MOST_FIXES = 16, MOST_RANKS = 256 };

void inq_findings_call_for(struct inq_findings *f, struct inq_finding *finding, const char *spec)
{
    if (!finding->fixes) {
        finding->fixes = inq_arena_array(f->arena, MOST_FIXES, sizeof(*finding->fixes));
    }
    if (!finding->fixes) {
        f->no_memory = true;
    } else if (finding->n_fixes < MOST_FIXES && spec[0]) {
        finding->fixes[finding->n_fixes++] = spec;
    }
}

/* "replace-rank:2,5"; nothing when no rank is named, or a rank's number is not known. */
static void call_for_ranks(struct inq_findings *f, struct inq_finding *finding, const char *name)
{
    struct inq_out out = {0};
    bool known = finding->n_ranks > 0 && finding->n_ranks <= MOST_RANKS;

    inq_out_text(&out, name);
    for (size_t i = 0; known && i < finding->n_ranks; i++) {
        known = finding->ranks[i] >= 0;
        inq_out_printf(&out, "%c%d", i == 0 ? ':' : ',', finding->ranks[i]);
    }
    if (known) {
        inq_findings_call_for(f, finding,
                              inq_findings_text(f, "%.*s", (int)out.len, out.buf ? out.buf : ""));
    }
    f->no_memory = f->no_memory || out.code != INQ_OK;
    inq_out_release(&out);
}

/* A pipeline idles by its schedule: fewer bubbles, or more to do between them. */
static void call_for_schedules(struct inq_findings *f, struct inq_finding *finding)
{
    const struct inq_pipeline *p = f->report->pipeline;

    /* Each is tried, and the one that gains most comes first. None holds more activations than the
     * run does, but for interleaved: micro-batches of the same batch get smaller. */
    int32_t m = p ? p->microbatches : 0;
    for (int32_t n = 2 * m; m > 0 && m < 4096 && (n == 2 * m || n <= MOST_BATCHES * p->stages);
         n *= 2) {
        inq_findings_call_for(f, finding, inq_findings_text(f, "microbatches:%d", n));
    }
    inq_findings_call_for(f, finding, "schedule:zb-h1");
    if (p && p->chunks <= 1) {
        inq_findings_call_for(f, finding, "schedule:interleaved");
    }
}

static void call_for_transfers(struct inq_findings *f, struct inq_finding *finding)
{
    if (f->report->pipeline) {
        inq_findings_call_for(f, finding, "overlap-grads");
    } else {
        inq_findings_call_for(f, finding, "bucket-size:factor=0.5");
        inq_findings_call_for(f, finding, "bucket-size:factor=2");
    }
}

/* Where there is no device, no graph of its launches can be recorded. */
static void call_for_graphs(struct inq_findings *f, struct inq_finding *finding)
{
    if (!inq_rank_on_cpu(f->report->trace, &f->report->trace->ranks[0])) {
        inq_findings_call_for(f, finding, "cuda-graphs");
    }
}

static const struct kind {
    enum inq_finding_about about;
    const char *advice;   /* NULL: it depends on the case */
    const char *rank_fix; /* of the finding's ranks: NAME:RANKS */
    const char *fix;      /* of the whole job */
    void (*call_for)(struct inq_findings *f, struct inq_finding *finding); /* by the run */
} kinds[INQ_FINDING_KIND_COUNT] = {
    [INQ_FINDING_SLOW_GPU] =
        {INQ_ABOUT_CAUSE,
         "Compare clocks, temperature, power cap and ECC state of this GPU with its neighbors "
         "(nvidia-smi -q); take it out of the job if they differ.",
         "replace-rank", NULL, NULL},
    [INQ_FINDING_SLOW_WORKER] =
        {INQ_ABOUT_CAUSE,
         "Look at this worker's GPU clocks and host load; move the job off it and compare.",
         "replace-rank", NULL, NULL},
    [INQ_FINDING_MORE_WORK] = {INQ_ABOUT_CAUSE,
                               "Look at how the work is divided: batch and sequence lengths, "
                               "experts, embedding tables, layers per rank.",
                               "match-work", NULL, NULL},
    [INQ_FINDING_LATE_HOST] = {INQ_ABOUT_CAUSE,
                               "Look at what this rank's process does then: data loading, garbage "
                               "collection, checkpoints, other processes on its cores, CPU "
                               "frequency.",
                               "repair-host", NULL, NULL},
    [INQ_FINDING_SLOW_LINK] = {INQ_ABOUT_CAUSE,
                               "Check this link: negotiated width and speed, error counters, "
                               "congestion, the network interface and NUMA node that the ranks "
                               "use.",
                               "repair-link", NULL, NULL},
    [INQ_FINDING_EXPOSED_COPY] =
        {INQ_ABOUT_COPIES,
         "Look at pageable or larger host copies on this rank, and at its PCIe link.",
         "replace-rank", NULL, NULL},
    [INQ_FINDING_SLOW_LAST_STAGE] = {INQ_ABOUT_CAUSE,
                                     "Give the last stage fewer layers: the output layer and the "
                                     "loss are work of their own.",
                                     NULL, "rebalance-stages", NULL},
    [INQ_FINDING_STAGE_IMBALANCE] = {INQ_ABOUT_CAUSE, "Move layers from this stage to the others.",
                                     NULL, "rebalance-stages", NULL},
    [INQ_FINDING_SEQUENCE_IMBALANCE] = {INQ_ABOUT_CAUSE,
                                        "Pack or sort sequences so that micro-batches take equally "
                                        "long on all ranks.",
                                        NULL, "balance-sequences", NULL},
    [INQ_FINDING_UNPLANNED_GC] =
        {INQ_ABOUT_CAUSE, "Collect garbage on all ranks in the same step, every so many steps.",
         NULL, "plan-gc", NULL},
    [INQ_FINDING_PIPELINE_BUBBLE] = {INQ_ABOUT_CAUSE,
                                     "More micro-batches per step, or a schedule with fewer "
                                     "bubbles (interleaved, zero-bubble).",
                                     NULL, NULL, call_for_schedules},
    [INQ_FINDING_EXPOSED_COMM] = {INQ_ABOUT_TIME,
                                  "Overlap it with compute (bucket sizes, prefetch, asynchronous "
                                  "collectives), or send less.",
                                  NULL, NULL, call_for_transfers},
    [INQ_FINDING_HOST_BOUND] = {INQ_ABOUT_TIME,
                                "Launch less and larger work: CUDA graphs, compiled or fused "
                                "kernels, larger batches, fewer synchronizations.",
                                NULL, NULL, call_for_graphs},
    [INQ_FINDING_STEP_OUTLIER] = {INQ_ABOUT_TIME,
                                  "Look for checkpoints, evaluation, garbage collection or data "
                                  "loading in these steps.",
                                  NULL, NULL, NULL},
    [INQ_FINDING_MISSING_RANK] = {INQ_ABOUT_INPUT,
                                  "Collect their traces, or find out why they wrote none: a rank "
                                  "that died first often left nothing.",
                                  NULL, NULL, NULL},
    [INQ_FINDING_UNREAD_INPUT] = {INQ_ABOUT_INPUT,
                                  "Make the files readable (rights, disk, number of open files: "
                                  "ulimit -n) or copy them again, and repeat the call.",
                                  NULL, NULL, NULL},
    [INQ_FINDING_DAMAGED_INPUT] = {INQ_ABOUT_INPUT,
                                   "Copy the files again, or let the profiler finish writing "
                                   "before the job is stopped.",
                                   NULL, NULL, NULL},
    [INQ_FINDING_NOT_FINITE] =
        {INQ_ABOUT_TRAINING,
         "Go back to the checkpoint before this step; look at the learning rate, the loss scale, "
         "the batch of this step, and one rank's gradients alone: a GPU that computes wrong shows "
         "on one rank only.",
         NULL, NULL, NULL},
    [INQ_FINDING_LOSS_SPIKE] =
        {INQ_ABOUT_TRAINING,
         "Look at the data of this step and the gradient norm; clip, or skip the batch.", NULL,
         NULL, NULL},
    [INQ_FINDING_DIVERGENCE] = {INQ_ABOUT_TRAINING,
                                "Go back to the checkpoint before this step with a lower learning "
                                "rate or without its data.",
                                NULL, NULL, NULL},
    [INQ_FINDING_GRADIENT] = {INQ_ABOUT_TRAINING,
                              "Look at the gradient norm of each layer and at the learning rate; "
                              "clipping holds the weights, not the cause.",
                              NULL, NULL, NULL},
    [INQ_FINDING_THROUGHPUT_DROP] = {INQ_ABOUT_TRAINING,
                                     "Trace a few steps now and compare them with a trace from "
                                     "before: inquest compare.",
                                     NULL, NULL, NULL},
    [INQ_FINDING_FAILURE] = {INQ_ABOUT_END, NULL, NULL, NULL, NULL},
};

enum inq_finding_about inq_finding_is_about(const struct inq_finding *finding)
{
    enum inq_finding_about about = kinds[finding->kind].about;
    bool of_ranks = finding->n_ranks > 0; /* else it says where everybody's time goes */
    return about != INQ_ABOUT_COPIES ? about : of_ranks ? INQ_ABOUT_CAUSE : INQ_ABOUT_TIME;
}

static void call_for_fixes(struct inq_findings *f, struct inq_finding *finding)
{
    const struct kind *kind = &kinds[finding->kind];
    if (kind->rank_fix != NULL) {
        call_for_ranks(f, finding, kind->rank_fix);
    }
    if (kind->fix != NULL) {
        inq_findings_call_for(f, finding, kind->fix);
    }
    if (kind->call_for != NULL) {
        kind->call_for(f, finding);
    }
}

void inq_findings_complete(struct inq_findings *findings)
{
    for (size_t i = 0; i < findings->n; i++) {
        struct inq_finding *finding = &findings->at[i];
        const char *advice = kinds[finding->kind].advice;
        if (finding->advice[0] == '\0' && advice != NULL) {
            finding->advice = advice;
        }
        if (finding->n_fixes == 0) {
            call_for_fixes(findings, finding);
        }
    }
}
