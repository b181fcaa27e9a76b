/* SPDX-License-Identifier: Apache-2.0 */
/* Reports as a page. What matters most is written as plain HTML too, for readers that run no
 * scripts. */
#include "report/render/html/html.h"

#include "base/arena_text.h"

/* The verdict and the findings of all jobs. */
static void write_plain(const void *ctx, struct inq_out *out)
{
    const struct inq_document *doc = ctx;
    for (size_t i = 0; i < doc->n_reports; i++) {
        const struct inq_report *report = doc->reports[i];
        struct inq_context context =
            inq_context_of(doc->run, report->trace, report, doc->options, doc->arena);
        inq_html_element(out, i == 0 ? "h1" : "h2", report->verdict.headline);
        inq_html_element(out, "p", inq_sentence_why(&context));
        inq_html_element(out, "p", report->verdict.next);
        inq_html_element(out, "p", inq_sentence_sure(&context));
        inq_html_element(out, "p", inq_sentence_where(&context));
        inq_html_element(out, "p", inq_sentence_run(&context));
        for (int s = 0; s < INQ_SECTION_COUNT; s++) {
            const char *problem = inq_context_unavailable(&context, (enum inq_section)s);
            if (problem[0] != '\0' && inq_context_wants(&context, (enum inq_section)s)) {
                inq_html_element(out, "h3", inq_section_title((enum inq_section)s));
                inq_html_element(out, "p", problem);
            }
        }
        for (size_t f = 0; f < report->n_findings; f++) {
            const struct inq_finding *finding = &report->findings[f];
            if (inq_context_shows_finding(&context, finding)) {
                bool told = inq_sentence_told(&context, finding);
                inq_html_element(out, "h3", inq_sentence_title(&context, finding));
                inq_html_element(out, "p", inq_sentence_numbers(&context, finding));
                inq_html_element(out, "p", told ? "" : finding->detail);
                inq_html_element(out, "p", told ? "" : finding->advice);
            }
        }
    }
}

static int write_report(const void *ctx, struct inq_out *out, struct inq_err *err)
{
    (void)err;
    inq_document_json(ctx, out, true);
    return INQ_OK;
}

static int write_timelines(const void *ctx, struct inq_out *out, struct inq_err *err)
{
    const struct inq_document *doc = ctx;
    struct inq_json json;
    int code = INQ_OK;
    inq_json_init(&json, out, true);
    inq_json_array(&json, NULL);
    for (size_t i = 0; i < doc->n_reports && code == INQ_OK; i++) {
        const struct inq_report *report = doc->reports[i];
        struct inq_context context =
            inq_context_of(doc->run, report->trace, report, doc->options, doc->arena);
        struct inq_html_windows windows;
        inq_html_find_windows(&context, doc->n_reports, &windows);
        code = inq_html_timeline(&context, &windows, &json, err);
    }
    inq_json_end_array(&json);
    return code;
}

int inq_document_html(const struct inq_document *doc, struct inq_out *out, struct inq_err *err)
{
    const char *title = doc->n_reports > 0 ? doc->reports[0]->trace->name : "nothing";
    if (doc->n_reports > 1) {
        title = inq_arena_printf(doc->arena, "%s and %zu more", title, doc->n_reports - 1);
    }
    const struct inq_html_content content = {.title = title,
                                             .ctx = doc,
                                             .plain = write_plain,
                                             .report = write_report,
                                             .timeline = write_timelines};
    return inq_html_page_write(&content, out, err);
}
