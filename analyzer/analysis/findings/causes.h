/* SPDX-License-Identifier: Apache-2.0 */
/* Findings as causes of the account: what each costs, and the waiting that has it as its root. */
#ifndef INQ_ANALYSIS_FINDINGS_CAUSES_H
#define INQ_ANALYSIS_FINDINGS_CAUSES_H

#include "analysis/findings/findings.h"

/* Ends the titles of causes with what they cost. Levels two and three of the account: a cause for
 * each finding that was simulated, the waiting that has it as its root, and what is left
 *. */
void inq_findings_fill_causes(struct inq_findings *findings);

#endif
