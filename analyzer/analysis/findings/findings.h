/* SPDX-License-Identifier: Apache-2.0 */
/* Findings in the making: a growing list, and the words they share. Everything lives in the
 * report's arena; a NULL text means that memory ran out and is reported once, at the end. */
#ifndef INQ_ANALYSIS_FINDINGS_FINDINGS_H
#define INQ_ANALYSIS_FINDINGS_FINDINGS_H

#include "inquest/analysis.h"

struct inq_findings {
    struct inq_report *report;
    struct inq_arena *arena;
    struct inq_finding *at;
    size_t n, cap;
    bool no_memory;
};

/* A finding of this kind with nothing else known: no ranks, cost and share not measured, severity
 * info, confidence established, texts "". Valid until the next one is
 * added; NULL without memory.
 */
struct inq_finding *inq_findings_add(struct inq_findings *findings, enum inq_finding_kind kind);

/* printf into the report; on failure "" and findings->no_memory. */
const char *inq_findings_text(struct inq_findings *findings, const char *fmt, ...) INQ_PRINTF(2, 3);

/* Sets the ranks (indices into inq_trace.ranks) and the id "kind:rank2" (or "kind" for none). */
void inq_findings_set_ranks(struct inq_findings *findings, struct inq_finding *finding,
                            const uint32_t *ranks, size_t n);
/* Room for `n` pieces of evidence; NULL without memory. */
struct inq_evidence *inq_findings_evidence(struct inq_findings *findings,
                                           struct inq_finding *finding, size_t n);

/* Sets cost and share, of the account's step or of `step_ns` where there is no account, and the
 * severity that the share asks for: low from 1 %, medium from 5 %, high from 20 %; info below. */
void inq_findings_set_cost(const struct inq_findings *findings, struct inq_finding *finding,
                           int64_t cost_ns, int64_t step_ns);
/* Share of the account's step, or of `step_ns` where there is no account; NaN: neither is known. */
double inq_findings_share(const struct inq_findings *findings, int64_t ns, int64_t step_ns);
/* "rank 2", "ranks 2 and 3", "ranks 2, 3, 4 and 9 more"; capitalised at the start of a sentence. */
const char *inq_findings_rank_list(struct inq_findings *findings, const uint32_t *ranks, size_t n,
                                   bool capital);
/* "1.23 s" into the report. */
const char *inq_findings_time(struct inq_findings *findings, int64_t ns);
/* "34 %", "2.5 %" below ten. */
const char *inq_findings_percent(struct inq_findings *findings, double share);

/* Damage that loses something; a negative duration or a GPU event without its launch does not. */
uint64_t inq_damage_losses(const struct inq_damage *damage);

/* What a finding is about, by the row of its kind; never INQ_ABOUT_COPIES. */
enum inq_finding_about inq_finding_is_about(const struct inq_finding *finding);
/* Whether its cost is what the others waited, as measured: of a cause in a recorded run that could
 * not be simulated. The gain of its repair is not known and at most that. `account` may be NULL. */
bool inq_finding_is_measured(const struct inq_account *account, const struct inq_finding *finding);
/* Adds a fix that the finding calls for; "" is none. */
void inq_findings_call_for(struct inq_findings *findings, struct inq_finding *finding,
                           const char *spec);

/* ---- what they come from; each looks at one section and does nothing when it is absent ------- */

typedef void inq_findings_from(const struct inq_trace *trace, struct inq_findings *findings);

inq_findings_from inq_findings_from_stragglers; /* attribution */
inq_findings_from inq_findings_from_time;       /* rank_times, steps */
inq_findings_from inq_findings_from_graph;      /* whatif, pipeline */
inq_findings_from inq_findings_from_training;   /* training */
inq_findings_from inq_findings_from_inputs;     /* missing ranks, damage */
inq_findings_from inq_findings_from_failure;    /* failure */

#endif
