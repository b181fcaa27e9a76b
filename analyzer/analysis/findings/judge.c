/* SPDX-License-Identifier: Apache-2.0 */
/* The judge: every section of the report is asked for findings; the costliest come first, and a
 * verdict sums them up. */
#include "inquest/analysis.h"

#include "analysis/findings/findings.h"
#include "analysis/analysis.h"
#include "base/arena.h"
#include "base/mem.h"
#include "base/sort.h"

#include <string.h>

static inq_judge_part *const parts[] = {inq_judge_suspects, inq_judge_graph,  inq_judge_time,
                                        inq_judge_training, inq_judge_inputs, inq_judge_failure};

/* A run that died, or whose numbers are gone, has lost more than time. */
static int64_t weight(const struct inq_finding *finding)
{
    if (finding->kind == INQ_FINDING_FAILURE) {
        return INT64_MAX;
    }
    bool lost =
        finding->severity == INQ_SEVERITY_HIGH &&
        (finding->kind == INQ_FINDING_NOT_FINITE || finding->kind == INQ_FINDING_DIVERGENCE);
    return lost ? INT64_MAX - 1 : finding->cost_ns_per_step;
}

static int by_share(const struct inq_finding *x, const struct inq_finding *y)
{
    return x->share > y->share ? -1 : x->share < y->share;
}

/* Findings that ask for action before those that only inform; the costly before the cheap. */
static int worst_first(const void *a, const void *b, void *ctx)
{
    const struct inq_finding *x = a;
    const struct inq_finding *y = b;
    bool x_informs = x->severity == INQ_SEVERITY_INFO;
    bool y_informs = y->severity == INQ_SEVERITY_INFO;

    (void)ctx;
    if (x_informs != y_informs) {
        return x_informs ? 1 : -1;
    }
    if (weight(x) != weight(y)) {
        return weight(x) > weight(y) ? -1 : 1;
    }
    if (x->severity != y->severity) {
        return x->severity > y->severity ? -1 : 1;
    }
    if (by_share(x, y) != 0) {
        return by_share(x, y);
    }
    return strcmp(x->id, y->id);
}

int inq_run_judge(const struct inq_trace *trace, const struct inq_analysis_options *options,
                  struct inq_report *report, struct inq_err *err)
{
    struct inq_findings findings = {.report = report, .arena = report->arena};
    int code = INQ_OK;

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        parts[i](trace, &findings);
    }
    inq_findings_complete(&findings);
    code = inq_findings_price(&findings, options->predict, err);
    code = code != INQ_OK
               ? code
               : inq_sort(findings.at, findings.n, sizeof(*findings.at), worst_first, NULL, err);
    if (code == INQ_OK) {
        inq_findings_fill_causes(&findings);
        inq_verdict_make(trace, &findings, &report->verdict);
        report->findings = inq_arena_array(report->arena, findings.n, sizeof(*findings.at));
        findings.no_memory = findings.no_memory || !report->findings;
    }
    if (code == INQ_OK && findings.no_memory) {
        code = inq_err_set(err, INQ_NOMEM, "no memory for findings");
    }
    if (code == INQ_OK && findings.n > 0) {
        memcpy(report->findings, findings.at, findings.n * sizeof(*findings.at));
        report->n_findings = findings.n;
    }
    inq_mem_free(findings.at);
    return code;
}
