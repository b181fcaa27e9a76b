/* SPDX-License-Identifier: Apache-2.0 */
/* The report as a document for a ticket or a wiki: verdict, findings with evidence, tables. */
#include "report/render/markdown/markdown.h"

#include "base/say.h"
#include "inquest/version.h"
#include "report/info/info.h"
#include "report/sections/sections.h"

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
        if (inq_lists_finding(view, &view->report->findings[i])) {
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

static void write_any_table(void *ctx, const struct inq_table *table, bool folded)
{
    write_table(table, folded || inq_table_rows(table) > LONG_TABLE, ctx);
}

static void write_missing(void *ctx, const char *title, const char *problem)
{
    paragraph(ctx, "## ", title);
    paragraph(ctx, "", problem);
}

static void write_if_missing(struct inq_out *out, const char *title, const char *problem)
{
    if (problem[0] != '\0') {
        write_missing(out, title, problem);
    }
}

static void write_charts(const struct inq_view *view, struct inq_out *out)
{
    struct inq_err err = {0};
    bool wanted = inq_step_chart_wanted(view);
    const char *problem = wanted ? inq_say_lacks(view, INQ_STEP_CHART_SECTIONS) : "";
    if (wanted && problem[0] == '\0' && inq_markdown_chart(view, false, out, &err) != INQ_OK) {
        problem = inq_say_chart_problem(view, &err);
    }
    write_if_missing(out, "Timeline", problem);
    err = (struct inq_err){0};
    if (inq_view_wants(view, INQ_SECTION_WHATIF) &&
        inq_markdown_chart(view, true, out, &err) != INQ_OK) {
        write_missing(out, "Slowdown of every worker", inq_say_chart_problem(view, &err));
    }
}

static void write_job(const struct inq_document *doc, size_t i, struct inq_out *out)
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
    paragraph(out, "**Why:** ", inq_say_why(&view));
    paragraph(out, "**Next:** ", report->verdict.next);
    paragraph(out, "**Sure:** ", inq_say_sure(&view));
    paragraph(out, "", inq_say_where(&view));
    paragraph(out, "", inq_say_run(&view));
    paragraph(out, "> Note: ", inq_say_limits(&view));
    write_if_missing(out, inq_section_title(INQ_SECTION_BLAME),
                     inq_view_unavailable(&view, INQ_SECTION_BLAME));
    write_if_missing(out, inq_section_title(INQ_SECTION_FINDINGS),
                     inq_view_unavailable(&view, INQ_SECTION_FINDINGS));
    write_findings(&view, out);
    write_charts(&view, out);
    const struct inq_table_writer writer = {write_any_table, write_missing, out};
    inq_tables_write(&view, &writer);
}

void inq_document_markdown(const struct inq_document *doc, struct inq_out *out)
{
    for (size_t i = 0; i < doc->n_reports; i++) {
        write_job(doc, i, out);
    }
    const struct inq_table_writer writer = {write_any_table, write_missing, out};
    struct inq_table skipped = {.arena = doc->arena};
    (void)inq_table_skipped(doc->run, &skipped);
    inq_table_write(&skipped, true, &writer);
    inq_out_text(out, "---\nWritten by inquest " INQ_VERSION_STRING
                      "; every number is explained in `man inquest-report`.\n");
}
