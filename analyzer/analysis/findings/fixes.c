/* SPDX-License-Identifier: Apache-2.0 */
/* Which fixes a finding calls for, as specs for `inquest fix --fix`. */
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

/* "replace-rank:2,5"; nothing when a rank's number is not known. */
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

static void call_for_fixes(struct inq_findings *f, struct inq_finding *finding)
{
    switch (finding->kind) {
    case INQ_FINDING_SLOW_GPU:
    case INQ_FINDING_SLOW_WORKER:
    case INQ_FINDING_EXPOSED_COPY: /* where it names no rank, nothing is called for */
        call_for_ranks(f, finding, "replace-rank");
        break;
    case INQ_FINDING_LATE_HOST:
        call_for_ranks(f, finding, "repair-host");
        break;
    case INQ_FINDING_SLOW_LINK:
        call_for_ranks(f, finding, "repair-link");
        break;
    case INQ_FINDING_MORE_WORK:
        call_for_ranks(f, finding, "match-work");
        break;
    case INQ_FINDING_SEQUENCE_IMBALANCE:
        inq_findings_call_for(f, finding, "balance-sequences");
        break;
    case INQ_FINDING_STAGE_IMBALANCE:
    case INQ_FINDING_SLOW_LAST_STAGE:
        inq_findings_call_for(f, finding, "rebalance-stages");
        break;
    case INQ_FINDING_PIPELINE_BUBBLE:
        call_for_schedules(f, finding);
        break;
    case INQ_FINDING_EXPOSED_COMM:
        call_for_transfers(f, finding);
        break;
    case INQ_FINDING_HOST_BOUND:
        if (!inq_rank_on_cpu(f->report->trace, &f->report->trace->ranks[0])) {
            inq_findings_call_for(f, finding, "cuda-graphs");
        }
        break;
    case INQ_FINDING_UNPLANNED_GC:
        inq_findings_call_for(f, finding, "plan-gc");
        break;
    case INQ_FINDING_STEP_OUTLIER:
    case INQ_FINDING_MISSING_RANK:
    case INQ_FINDING_UNREAD_INPUT:
    case INQ_FINDING_DAMAGED_INPUT:
    case INQ_FINDING_NOT_FINITE:
    case INQ_FINDING_LOSS_SPIKE:
    case INQ_FINDING_DIVERGENCE:
    case INQ_FINDING_GRADIENT:
    case INQ_FINDING_THROUGHPUT_DROP:
    case INQ_FINDING_FAILURE:
    case INQ_FINDING_KIND_COUNT:
        break;
    }
}

void inq_findings_call_for_fixes(struct inq_findings *findings)
{
    for (size_t i = 0; i < findings->n; i++) {
        if (findings->at[i].n_fixes == 0) {
            call_for_fixes(findings, &findings->at[i]);
        }
    }
}
