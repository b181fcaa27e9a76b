/* SPDX-License-Identifier: Apache-2.0 */
/* The report on the terminal: the verdict first, then findings, then tables. */
#include "report/document.h"
#include "base/say.h"
#include "report/info.h"
#include "report/step_chart.h"

#include <string.h>

static void tint_verdict(const struct inq_pen *pen, const struct inq_verdict *verdict)
{
    bool fine = strcmp(verdict->cls, "healthy") == 0;
    inq_pen_tint(pen, fine ? INQ_TINT_GREEN : INQ_TINT_BOLD);
}

static const char *headline(const struct inq_report *report)
{
    const char *text = report->verdict.headline;
    return text[0] != '\0' ? text : "No verdict: the analyses that lead to one were not run.";
}

/* The first line or, with several jobs, one line for each. */
static void write_verdicts(const struct inq_document *doc, const struct inq_pen *pen)
{
    for (size_t i = 0; i < doc->n_reports; i++) {
        const struct inq_report *report = doc->reports[i];
        int column = 0;
        if (doc->n_reports > 1) {
            inq_out_printf(pen->out, "Job %zu of %zu, ", i + 1, doc->n_reports);
            column = 16 + inq_pen_text(pen, report->trace->name, 40);
            inq_out_text(pen->out, ": ");
        }
        tint_verdict(pen, &report->verdict);
        inq_pen_words(pen, headline(report), column, doc->n_reports > 1 ? 4 : 0);
        inq_pen_plain(pen);
        inq_out_text(pen->out, "\n");
    }
}

static void write_line(const struct inq_pen *pen, const char *text)
{
    if (text[0] != '\0') {
        inq_pen_wrap(pen, text, 0, 0);
    }
}

static int write_tables(const struct inq_view *view, const struct inq_pen *pen, struct inq_err *err)
{
    int code = INQ_OK;
    for (const struct inq_table_kind *kind = inq_report_tables; kind->build != NULL; kind++) {
        struct inq_table table = {.arena = view->arena};
        kind->build(view, &table);
        inq_table_trim(&table);
        code = table.code;
        if (code == INQ_OK && inq_table_rows(&table) > 0) {
            inq_out_text(pen->out, "\n");
            inq_table_print(&table, pen);
        }
        inq_table_release(&table);
        if (code != INQ_OK) {
            return inq_err_set(err, (enum inq_code)code, "no memory for a table");
        }
    }
    return code;
}

static int write_job(const struct inq_document *doc, size_t i, const struct inq_pen *pen,
                     struct inq_err *err)
{
    const struct inq_report *report = doc->reports[i];
    struct inq_view view = inq_view_of(doc->run, report->trace, report, doc->options, doc->arena);
    if (doc->n_reports > 1) {
        inq_out_text(pen->out, "\n");
        inq_pen_tint(pen, INQ_TINT_BOLD);
        inq_out_printf(pen->out, "=== Job %zu of %zu: ", i + 1, doc->n_reports);
        (void)inq_pen_text(pen, report->trace->name, pen->width - 24);
        inq_pen_plain(pen);
        inq_out_text(pen->out, "\n");
        write_line(pen, headline(report));
    }
    write_line(pen, inq_say_lost(&view));
    write_line(pen, inq_say_run(&view));
    const char *limits = inq_say_limits(&view);
    if (limits[0] != '\0') {
        write_line(pen, inq_say(view.arena, "Note: %s.", limits));
    }
    inq_text_findings(&view, pen);
    int code = inq_text_timeline(&view, pen, false, err);
    if (code == INQ_OK) {
        code = inq_text_heat_map(&view, pen, err);
    }
    return code == INQ_OK ? write_tables(&view, pen, err) : code;
}

int inq_document_text(const struct inq_document *doc, struct inq_out *out, struct inq_err *err)
{
    struct inq_pen pen = inq_pen_of(doc->options, out);
    int code = INQ_OK;
    write_verdicts(doc, &pen);
    for (size_t i = 0; i < doc->n_reports && code == INQ_OK; i++) {
        code = write_job(doc, i, &pen, err);
    }
    struct inq_table skipped = {.arena = doc->arena};
    if (code == INQ_OK && inq_table_skipped(doc->run, &skipped)) {
        code = skipped.code;
        if (code == INQ_OK) {
            inq_out_text(out, "\n");
            inq_table_print(&skipped, &pen);
        } else {
            (void)inq_err_set(err, (enum inq_code)code, "no memory for a table");
        }
    }
    inq_table_release(&skipped);
    return code;
}
