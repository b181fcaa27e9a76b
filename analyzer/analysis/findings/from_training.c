/* SPDX-License-Identifier: Apache-2.0 */
/* Findings of the training output: losses that are not finite, spikes, divergence, slower steps. */
#include "analysis/findings/findings.h"
#include "inquest/training.h"

#include <inttypes.h>

static const struct {
    enum inq_finding_kind finding;
    enum inq_severity severity, passed; /* to the end; and where it went back */
} rules[] = {
    [INQ_TRAINING_NOT_FINITE] = {INQ_FINDING_NOT_FINITE, INQ_SEVERITY_HIGH, INQ_SEVERITY_MEDIUM},
    [INQ_TRAINING_LOSS_SPIKE] = {INQ_FINDING_LOSS_SPIKE, INQ_SEVERITY_MEDIUM, INQ_SEVERITY_LOW},
    [INQ_TRAINING_DIVERGENCE] = {INQ_FINDING_DIVERGENCE, INQ_SEVERITY_HIGH, INQ_SEVERITY_MEDIUM},
    [INQ_TRAINING_GRADIENT] = {INQ_FINDING_GRADIENT, INQ_SEVERITY_MEDIUM, INQ_SEVERITY_LOW},
    [INQ_TRAINING_SLOWER] = {INQ_FINDING_THROUGHPUT_DROP, INQ_SEVERITY_MEDIUM, INQ_SEVERITY_LOW},
};

static void add(struct inq_findings *f, const struct inq_training *t,
                const struct inq_training_event *event)
{
    struct inq_finding *finding = inq_findings_add(f, rules[event->kind].finding);
    if (finding == NULL) {
        return;
    }
    const char *kind = inq_finding_kind_text(finding->kind);
    finding->id = inq_findings_text(f, "%s:step%" PRId64, kind, event->first_step);
    finding->severity = event->to_end ? rules[event->kind].severity : rules[event->kind].passed;
    finding->confidence = event->kind == INQ_TRAINING_NOT_FINITE ? INQ_CONFIDENCE_ESTABLISHED
                                                                 : INQ_CONFIDENCE_SUPPORTED;
    finding->title = inq_findings_text(f, "%c%s", event->what[0] - ('a' - 'A'), event->what + 1);
    finding->detail = inq_findings_text(f, "First in %s, line %" PRIu64 ".", t->file, event->line);
    if (event->measured == event->measured) {
        const char *unit = event->kind == INQ_TRAINING_SLOWER && t->step_s > 0.0 ? " s" : "";
        finding->measured = inq_findings_text(f, "%.4g%s", event->measured, unit);
        finding->expected = inq_findings_text(f, "%.4g%s", event->expected, unit);
    }
    if (event->kind == INQ_TRAINING_SLOWER && t->step_s > 0.0) {
        finding->cost_ns_per_step = (int64_t)((event->measured - event->expected) * 1e9);
        finding->share = (event->measured - event->expected) / event->measured;
    }
}

void inq_findings_from_training(const struct inq_trace *trace, struct inq_findings *findings)
{
    const struct inq_training *t = findings->report->training;
    (void)trace;
    for (size_t i = 0; t != NULL && i < t->n_events; i++) {
        add(findings, t, &t->events[i]);
    }
}
