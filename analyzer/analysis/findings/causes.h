/* SPDX-License-Identifier: Apache-2.0 */
/* Findings as causes of the account: what each costs, and the waiting that has it as its root. */
#ifndef INQ_ANALYSIS_FINDINGS_CAUSES_H
#define INQ_ANALYSIS_FINDINGS_CAUSES_H

#include "analysis/findings/findings.h"

/* Whether its cost is what the others waited, as measured: of a cause in a recorded run that could
 * not be simulated. The gain of its repair is not known and at most that. */
bool inq_finding_is_measured(const struct inq_findings *f, const struct inq_finding *finding);

/* Ends the titles of causes with what they cost. Levels two and three of the account: a cause for
 * each finding that was simulated, the waiting that has it as its root, and what is left
 *. */
void inq_findings_fill_causes(struct inq_findings *findings);

#endif
