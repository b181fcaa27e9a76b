/* SPDX-License-Identifier: Apache-2.0 */
/* A failure as a finding: the first of the report, high, so that --fail-on stops at it. */
#include "analysis/findings/findings.h"
#include "inquest/failure.h"

#include <inttypes.h>
#include <string.h>

enum { EVIDENCE = 8 };

static void add_evidence(struct inq_findings *f, struct inq_finding *finding,
                         const struct inq_failure *failure)
{
    size_t n = failure->n_evidence < EVIDENCE ? failure->n_evidence : EVIDENCE;
    struct inq_evidence *evidence = inq_findings_evidence(f, finding, n);
    for (size_t i = 0; evidence != NULL && i < n; i++) {
        const struct inq_failure_evidence *from = &failure->evidence[i];
        const char *what = from->text != NULL ? from->text : from->what;
        bool placed = from->line > 0;
        evidence[finding->n_evidence++] =
            (struct inq_evidence){.rank = from->rank,
                                  .lane = "",
                                  .start_ns = INQ_TIME_NONE,
                                  .end_ns = INQ_TIME_NONE,
                                  .what = placed ? inq_findings_text(f, "%s:%" PRIu64 ": %s",
                                                                     from->file, from->line, what)
                                                 : what};
    }
}

static const char *say_victims(struct inq_findings *f, const struct inq_failure *failure)
{
    size_t n = failure->n_victims;
    return n == 0 ? "" : inq_findings_text(f, "%zu other rank%s affected.", n, n > 1 ? "s" : "");
}

void inq_findings_from_failure(const struct inq_trace *trace, struct inq_findings *findings)
{
    const struct inq_failure *failure = findings->report->failure;
    (void)trace;
    if (failure == NULL || failure->cls == INQ_FAILURE_NONE) {
        return;
    }
    struct inq_finding *finding = inq_findings_add(findings, INQ_FINDING_FAILURE);
    if (finding == NULL) {
        return;
    }
    size_t len = strlen(failure->headline);
    len -= len > 0 && failure->headline[len - 1] == '.';
    finding->id = inq_findings_text(findings, "failure:%s", inq_failure_class_text(failure->cls));
    finding->severity = INQ_SEVERITY_HIGH;
    finding->confidence = failure->confidence;
    finding->title = inq_findings_text(findings, "%.*s", (int)len, failure->headline);
    finding->detail = say_victims(findings, failure);
    finding->advice = failure->advice;
    finding->n_ranks = failure->n_roots;
    finding->ranks = failure->root_ranks;
    add_evidence(findings, finding, failure);
}
