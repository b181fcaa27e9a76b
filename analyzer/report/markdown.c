/* SPDX-License-Identifier: Apache-2.0 */
/* The report as a document for a ticket or a wiki: verdict, findings with evidence, tables. */
#include "report/markdown.h"

#include "base/say.h"
#include "inquest/version.h"
#include "report/info.h"
#include "report/step_chart.h"

#include <inttypes.h>
#include <stdio.h>

/* Longer tables are folded. */
enum { LONG_TABLE = 16 };

static void paragraph(struct inq_out *out, const char *before, const char *text)
{
    if (text != NULL && text[0] != '\0') {
        inq_out_text(out, before);
        inq_markdown_text(out, text, INQ_PEN_NO_LIMIT);
        inq_out_text(out, "\n\n");
    }
}

static void write_evidence(const struct inq_view *view, const struct inq_finding *finding,
                           struct inq_out *out)
{
    struct inq_table table = {.arena = view->arena};
    inq_table_column(&table, INQ_COLUMN_RIGHT, "rank");
    inq_table_column(&table, INQ_COLUMN_LEFT, "lane");
    inq_table_column(&table, INQ_COLUMN_CODE, "--time");
    inq_table_column(&table, INQ_COLUMN_LEFT, "evidence");
    for (size_t i = 0; i < finding->n_evidence; i++) {
        const struct inq_evidence *e = &finding->evidence[i];
        if (e->rank >= 0) {
            inq_table_count(&table, e->rank);
        } else {
            inq_table_text(&table, "");
        }
        inq_table_text(&table, e->lane != NULL ? e->lane : "");
        inq_table_text(&table, inq_say_when(view, e));
        inq_table_text(&table, e->what != NULL ? e->what : "");
    }
    inq_table_trim(&table);
    if (table.code != INQ_OK) {
        out->code = table.code;
    } else if (inq_table_rows(&table) > 0) {
        inq_markdown_table(out, &table);
        inq_out_text(out, "\n");
    }
    inq_table_release(&table);
}

static void write_finding(const struct inq_view *view, size_t number,
                          const struct inq_finding *finding, struct inq_out *out)
{
    char head[64];
    (void)snprintf(head, sizeof head, "### %zu. [%s] ", number,
                   inq_severity_text(finding->severity));
    paragraph(out, head, finding->title);
    paragraph(out, "", inq_say_numbers(view, finding));
    paragraph(out, "", finding->detail);
    write_evidence(view, finding, out);
    paragraph(out, "**Try:** ", finding->advice);
    paragraph(out, "**Fix:** ", inq_say_fixes(view, finding));
}

static void write_findings(const struct inq_view *view, struct inq_out *out)
{
    size_t number = 0;
    if (inq_count_findings(view) == 0) {
        return;
    }
    inq_out_text(out, "## Findings\n\nMost costly first; times count from the first event of the "
                      "run, as `inquest analyze --time` takes them.\n\n");
    for (size_t i = 0; i < view->report->n_findings; i++) {
        if (inq_view_shows_finding(view, &view->report->findings[i])) {
            write_finding(view, ++number, &view->report->findings[i], out);
        }
    }
}

static void write_table(const struct inq_table *table, bool folded, struct inq_out *out)
{
    if (folded) {
        inq_out_text(out, "<details><summary>");
        inq_markdown_text(out, table->title, INQ_PEN_NO_LIMIT);
        inq_out_text(out, "</summary>\n\n");
    } else {
        paragraph(out, "## ", table->title);
    }
    paragraph(out, "", table->note);
    inq_markdown_table(out, table);
    inq_out_text(out, "\n");
    paragraph(out, "", table->more);
    if (folded) {
        inq_out_text(out, "</details>\n\n");
    }
}

static int write_tables(const struct inq_view *view, struct inq_out *out, struct inq_err *err)
{
    int code = INQ_OK;
    for (const struct inq_table_kind *kind = inq_report_tables; kind->build != NULL; kind++) {
        struct inq_table table = {.arena = view->arena};
        kind->build(view, &table);
        inq_table_trim(&table);
        code = table.code;
        if (code == INQ_OK && inq_table_rows(&table) > 0) {
            write_table(&table, kind->folded || inq_table_rows(&table) > LONG_TABLE, out);
        }
        inq_table_release(&table);
        if (code != INQ_OK) {
            return inq_err_set(err, (enum inq_code)code, "no memory for a table");
        }
    }
    return code;
}

static int write_job(const struct inq_document *doc, size_t i, struct inq_out *out,
                     struct inq_err *err)
{
    const struct inq_report *report = doc->reports[i];
    struct inq_view view = inq_view_of(doc->run, report->trace, report, doc->options, doc->arena);
    const char *headline = report->verdict.headline;
    if (headline[0] == '\0') {
        headline = "No verdict: the analyses that lead to one were not run.";
    }
    paragraph(out, "# ", headline);
    if (doc->n_reports > 1) {
        paragraph(out, "",
                  inq_say(view.arena, "Job %zu of %zu: %.400s", i + 1, doc->n_reports,
                          report->trace->name));
    } else {
        paragraph(out, "Run: ", report->trace->name);
    }
    paragraph(out, "", inq_say_lost(&view));
    paragraph(out, "", inq_say_run(&view));
    paragraph(out, "> Note: ", inq_say_limits(&view));
    write_findings(&view, out);
    int code = inq_markdown_charts(&view, out, err);
    return code == INQ_OK ? write_tables(&view, out, err) : code;
}

int inq_document_markdown(const struct inq_document *doc, struct inq_out *out, struct inq_err *err)
{
    int code = INQ_OK;
    for (size_t i = 0; i < doc->n_reports && code == INQ_OK; i++) {
        code = write_job(doc, i, out, err);
    }
    struct inq_table skipped = {.arena = doc->arena};
    if (code == INQ_OK && inq_table_skipped(doc->run, &skipped)) {
        code = skipped.code;
        if (code == INQ_OK) {
            write_table(&skipped, true, out);
        } else {
            (void)inq_err_set(err, (enum inq_code)code, "no memory for a table");
        }
    }
    inq_table_release(&skipped);
    inq_out_text(out, "---\nWritten by inquest " INQ_VERSION_STRING
                      "; every number is explained in `man inquest-report`.\n");
    return code;
}
