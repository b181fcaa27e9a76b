/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict: all findings in one sentence. */
#ifndef INQ_ANALYSIS_FINDINGS_VERDICT_H
#define INQ_ANALYSIS_FINDINGS_VERDICT_H

#include "analysis/findings/findings.h"

/* The headline, from the findings in their final order. */
void inq_verdict_make(const struct inq_trace *trace, struct inq_findings *findings,
                      struct inq_verdict *verdict);

#endif
