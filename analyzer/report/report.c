/* SPDX-License-Identifier: Apache-2.0 */
/* All reports of a run as one document. */
#include "report/report.h"
#include "report/data/data.h"

#include "inquest/out.h"

int inq_report_write(const struct inq_run *run, struct inq_report *const *reports, size_t n_reports,
                     const struct inq_report_options *options, struct inq_sink sink,
                     struct inq_err *err)
{
    static const struct inq_report_options defaults;
    struct inq_arena arena = {0};
    struct inq_out out = {.write = sink.write, .ctx = sink.ctx};
    struct inq_document doc = {run, reports, n_reports, options != NULL ? options : &defaults,
                               &arena};
    int code = INQ_OK;
    switch (doc.options->format) {
    case INQ_FORMAT_TEXT:
        inq_document_text(&doc, &out);
        break;
    case INQ_FORMAT_JSON:
        inq_document_json(&doc, &out, false);
        break;
    case INQ_FORMAT_MARKDOWN:
        inq_document_markdown(&doc, &out);
        break;
    case INQ_FORMAT_HTML:
#ifdef INQ_HAVE_HTML
        code = inq_document_html(&doc, &out, err);
#else
        code = inq_err_set(err, INQ_UNSUPPORTED, "this inquest was built without D3 and HTML");
#endif
        break;
    case INQ_FORMAT_PERFETTO:
        code = inq_document_perfetto(&doc, &out, err);
        break;
    case INQ_FORMAT_CSV:
        code = inq_document_csv(&doc, &out, err);
        break;
    case INQ_FORMAT_SQLITE:
#ifdef INQ_HAVE_SQLITE
        code = inq_document_sqlite(&doc, &out, err);
#else
        code = inq_err_set(err, INQ_UNSUPPORTED, "this inquest was built without SQLite");
#endif
        break;
    case INQ_FORMAT_JUNIT:
    case INQ_FORMAT_GITHUB:
    case INQ_FORMAT_GITLAB:
    case INQ_FORMAT_SARIF:
    case INQ_FORMAT_SVG:
    case INQ_FORMAT_COUNT:
        code = INQ_UNSUPPORTED;
        break;
    }
    code = code == INQ_OK && arena.failed ? INQ_NOMEM : code; /* a sentence is not there */
    inq_arena_release(&arena);
    return inq_out_end(&out, code, "a report", err);
}
