/* SPDX-License-Identifier: Apache-2.0 */
/* What text and Markdown both say in words. */
#ifndef INQ_REPORT_TERMINAL_SENTENCES_H
#define INQ_REPORT_TERMINAL_SENTENCES_H

#include "report/terminal/context.h"

/* The verdict's evidence, with where to look: "Measured ...; expected .... See rank 5, 0.1s~0.2s.";
 * "" none. */
const char *inq_sentence_why(const struct inq_context *context);
/* "8 of 8 ranks, 5 of 5 steps judged, simulation +0.0 % off the record; confidence: established.";
 * "" none. */
const char *inq_sentence_sure(const struct inq_context *context);
/* "Where a step of 14.2 ms goes: 9.95 ms compute, 2.54 ms waiting for rank 5, ..."; "" without an
 * account. */
const char *inq_sentence_where(const struct inq_context *context);
/* "4 of 4 ranks, 3 steps of 1.06 s (median), 30 collectives matched." */
const char *inq_sentence_run(const struct inq_context *context);
/* What reduced partials leave unknown; "" where there are none. */
const char *inq_sentence_reduced(const struct inq_context *context);
/* Missing ranks, damaged files, reduced partials, selected ranks: what limits the answer; "" if
 * nothing. */
const char *inq_sentence_limits(const struct inq_context *context);
/* Whether the verdict has said what the finding says: a report says nothing twice. */
bool inq_sentence_told(const struct inq_context *context, const struct inq_finding *finding);
/* The finding's title, or where its own would repeat the headline, that it is above. */
const char *inq_sentence_title(const struct inq_context *context,
                               const struct inq_finding *finding);
/* "costs 5.1 ms per step (4.2 %); confidence: supported"; measured and expected where the detail
 * does not say them. */
const char *inq_sentence_numbers(const struct inq_context *context,
                                 const struct inq_finding *finding);
/* "replace-rank:5, rebalance-stages (see 'inquest fix')"; "" for none. Those of what only informs
 * are not simulated, and said to be so. */
const char *inq_sentence_fixes(const struct inq_context *context,
                               const struct inq_finding *finding);
/* "1.234567s~1.334567s", as --time takes it; "" without a time range. */
const char *inq_sentence_when(const struct inq_context *context,
                              const struct inq_evidence *evidence);
/* "not available: it is drawn from ..." of what needs several sections (INQ_SECTION_BIT), when one
 * of them failed; "" if none did. */
const char *inq_sentence_lacks(const struct inq_context *context, uint32_t sections);
/* "not available: ...", of a chart that could not be drawn. */
const char *inq_sentence_chart_problem(const struct inq_context *context,
                                       const struct inq_err *err);
/* Whether text and Markdown list it: of those asked for, all but the failure, which has a section.
 */
bool inq_lists_finding(const struct inq_context *context, const struct inq_finding *finding);
/* Number of findings that are listed. */
size_t inq_count_findings(const struct inq_context *context);

#endif
