/* SPDX-License-Identifier: Apache-2.0 */
/* The report on the terminal: the verdict first, then findings, then tables. */
#include "report/report.h"
#include "base/say.h"
#include "report/info/info.h"
#include "report/sections/sections.h"

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

/* "Why:   ..." with what follows indented below it. */
static void write_named(const struct inq_pen *pen, const char *name, const char *text)
{
    enum { COLUMN = 7 };
    if (text[0] != '\0') {
        inq_out_printf(pen->out, "%-*s", COLUMN, name);
        inq_pen_words(pen, text, COLUMN, COLUMN);
        inq_out_text(pen->out, "\n");
    }
}

static void write_table(void *ctx, const struct inq_table *table, bool folded)
{
    const struct inq_pen *pen = ctx;
    (void)folded;
    inq_out_text(pen->out, "\n");
    inq_table_print(table, pen);
}

static void write_missing(void *ctx, const char *title, const char *problem)
{
    const struct inq_pen *pen = ctx;
    inq_out_text(pen->out, "\n");
    inq_pen_tint(pen, INQ_TINT_BOLD);
    inq_out_text(pen->out, title);
    inq_pen_plain(pen);
    inq_out_text(pen->out, "\n");
    inq_pen_wrap(pen, problem, 0, 0);
}

static void write_if_missing(struct inq_pen *pen, const char *title, const char *problem)
{
    if (problem[0] != '\0') {
        write_missing(pen, title, problem);
    }
}

static void write_charts(const struct inq_view *view, struct inq_pen *pen)
{
    struct inq_err err = {0};
    bool wanted = inq_step_chart_wanted(view);
    const char *problem = wanted ? inq_say_lacks(view, INQ_STEP_CHART_SECTIONS) : "";
    if (wanted && problem[0] == '\0' && inq_text_timeline(view, pen, false, &err) != INQ_OK) {
        problem = inq_say_chart_problem(view, &err);
    }
    write_if_missing(pen, "Timeline", problem);
    err = (struct inq_err){0};
    if (!inq_view_is_brief(view) && inq_view_wants(view, INQ_SECTION_WHATIF) &&
        inq_text_heat_map(view, pen, &err) != INQ_OK) {
        write_missing(pen, "Slowdown of every worker", inq_say_chart_problem(view, &err));
    }
}

/* What the first screen leaves out, and how to see it. */
static void write_more(const struct inq_view *view, const struct inq_pen *pen)
{
    size_t n;
    const struct inq_analysis *all = inq_analyses(&n);
    uint32_t kept_back = inq_tables_kept_back(view);
    const char *names = "";
    for (size_t i = 0; i < n; i++) {
        uint32_t own = INQ_SECTION_BIT(all[i].section);
        if ((kept_back & own) != 0) {
            names =
                inq_say(view->arena, "%s%s%s", names, names[0] != '\0' ? ", " : "", all[i].name);
            kept_back &= ~own;
        }
    }
    if (names[0] != '\0') {
        inq_out_text(pen->out, "\n");
        write_line(pen,
                   inq_say(view->arena, "More: -v shows all tables, --only NAME some: %s.", names));
    }
}

static void write_job(const struct inq_document *doc, size_t i, struct inq_pen *pen)
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
    write_named(pen, "Why:", inq_say_why(&view));
    write_named(pen, "Next:", report->verdict.next);
    write_named(pen, "Sure:", inq_say_sure(&view));
    inq_out_text(pen->out, "\n");
    write_line(pen, inq_say_where(&view));
    write_line(pen, inq_say_run(&view));
    const char *limits = inq_say_limits(&view);
    if (limits[0] != '\0') {
        write_line(pen, inq_say(view.arena, "Note: %s.", limits));
    }
    write_if_missing(pen, inq_section_title(INQ_SECTION_BLAME),
                     inq_view_unavailable(&view, INQ_SECTION_BLAME));
    write_if_missing(pen, inq_section_title(INQ_SECTION_FINDINGS),
                     inq_view_unavailable(&view, INQ_SECTION_FINDINGS));
    inq_text_findings(&view, pen);
    write_charts(&view, pen);
    const struct inq_table_writer writer = {write_table, write_missing, pen};
    inq_tables_write(&view, &writer);
    write_more(&view, pen);
}

void inq_document_text(const struct inq_document *doc, struct inq_out *out)
{
    struct inq_pen pen = inq_pen_of(doc->options, out);
    write_verdicts(doc, &pen);
    for (size_t i = 0; i < doc->n_reports; i++) {
        write_job(doc, i, &pen);
    }
    const struct inq_table_writer writer = {write_table, write_missing, &pen};
    struct inq_table skipped = {.arena = doc->arena};
    (void)inq_table_skipped(doc->run, &skipped);
    inq_table_write(&skipped, true, &writer);
}
