/* SPDX-License-Identifier: Apache-2.0 */
/* The documents, one function per format. */
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

void inq_json_failure(struct inq_json *json, const struct inq_context *context);
void inq_json_account(struct inq_json *json, const struct inq_context *context);

#endif
