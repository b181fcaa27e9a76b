/* SPDX-License-Identifier: Apache-2.0 */
/* All reports of a run as one document. */
#include "report/report.h"
#include "report/data/data.h"

#include "inquest/out.h"

static int write_json(const struct inq_document *doc, struct inq_out *out, struct inq_err *err)
{
    (void)err;
    inq_document_json(doc, out, false);
    return INQ_OK;
}

/* NULL: no format of a report, or one that this build cannot write. */
static int (*const writers[INQ_FORMAT_COUNT])(const struct inq_document *doc, struct inq_out *out,
                                              struct inq_err *err) = {
    [INQ_FORMAT_TEXT] = inq_document_text,         [INQ_FORMAT_JSON] = write_json,
    [INQ_FORMAT_MARKDOWN] = inq_document_markdown,
#ifdef INQ_HAVE_HTML
    [INQ_FORMAT_HTML] = inq_document_html,
#endif
    [INQ_FORMAT_PERFETTO] = inq_document_perfetto, [INQ_FORMAT_CSV] = inq_document_csv,
#ifdef INQ_HAVE_SQLITE
    [INQ_FORMAT_SQLITE] = inq_document_sqlite,
#endif
};

static int write_document(const struct inq_document *doc, struct inq_out *out, struct inq_err *err)
{
    enum inq_format format = doc->options->format;
    if (format < INQ_FORMAT_COUNT && writers[format] != NULL) {
        return writers[format](doc, out, err);
    }
    if (format == INQ_FORMAT_HTML) {
        return inq_err_set(err, INQ_UNSUPPORTED, "this inquest was built without D3 and HTML");
    }
    if (format == INQ_FORMAT_SQLITE) {
        return inq_err_set(err, INQ_UNSUPPORTED, "this inquest was built without SQLite");
    }
    return INQ_UNSUPPORTED;
}

int inq_report_write(const struct inq_run *run, struct inq_report *const *reports, size_t n_reports,
                     const struct inq_report_options *options, struct inq_sink sink,
                     struct inq_err *err)
{
    static const struct inq_report_options defaults;
    struct inq_arena arena = {0};
    struct inq_out out = {.write = sink.write, .ctx = sink.ctx};
    struct inq_document doc = {run, reports, n_reports, options != NULL ? options : &defaults,
                               &arena};
    int code = write_document(&doc, &out, err);
    code = code == INQ_OK && arena.failed ? INQ_NOMEM : code; /* a sentence is not there */
    inq_arena_release(&arena);
    return inq_out_end(&out, code, "a report", err);
}
