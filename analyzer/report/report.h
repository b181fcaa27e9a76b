/* SPDX-License-Identifier: Apache-2.0 */
/* The documents, one function per format; and the sentences that text and Markdown share. */
#ifndef INQ_REPORT_REPORT_H
#define INQ_REPORT_REPORT_H

#include "base/json.h"
#include "report/terminal/terminal.h"
#include "report/sections/sections.h"

/* All reports of one run. */
struct inq_document {
    const struct inq_run *run;
    struct inq_report *const *reports;
    size_t n_reports;
    const struct inq_report_options *options;
    struct inq_arena *arena;
};

int inq_document_text(const struct inq_document *doc, struct inq_out *out, struct inq_err *err);
int inq_document_markdown(const struct inq_document *doc, struct inq_out *out, struct inq_err *err);
/* Only where D3 was found (INQ_HAVE_HTML). */
int inq_document_html(const struct inq_document *doc, struct inq_out *out, struct inq_err *err);
int inq_document_perfetto(const struct inq_document *doc, struct inq_out *out, struct inq_err *err);
void inq_document_json(const struct inq_document *doc, struct inq_out *out, bool compact);

/* ---- what text and Markdown both say ---- */

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
/* Missing ranks, damaged files, selected ranks: what limits the answer; "" if nothing. */
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
/* "replace-rank:5, rebalance-stages (see 'inquest fix')"; "" for none. */
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

void inq_json_failure(struct inq_json *json, const struct inq_context *context);
void inq_json_account(struct inq_json *json, const struct inq_context *context);

#endif
