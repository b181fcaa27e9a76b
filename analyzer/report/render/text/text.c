/* SPDX-License-Identifier: Apache-2.0 */
/* The report on the terminal: the verdict first, then findings, then tables. */
#include "report/report.h"

#include "base/say.h"
#include "report/info/info.h"
#include "report/sections/sections.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

/* ---- Findings on the terminal: what, by how much, where to look, what to try ----------------- */

enum { INDENT = 5, FINDINGS_SHOWN = 10, EVIDENCE_SHOWN = 4, LANE_COLUMNS = 24 };
/* On the first screen: the first finding with its evidence, the next ones in short. */
enum { BRIEF_FINDINGS = 5, BRIEF_EVIDENCE = 2 };

static void tint_severity(const struct inq_pen *pen, enum inq_severity severity)
{
    switch (severity) {
    case INQ_SEVERITY_HIGH:
        inq_pen_tint(pen, INQ_TINT_RED);
        break;
    case INQ_SEVERITY_MEDIUM:
        inq_pen_tint(pen, INQ_TINT_YELLOW);
        break;
    case INQ_SEVERITY_LOW:
        inq_pen_tint(pen, INQ_TINT_CYAN);
        break;
    case INQ_SEVERITY_INFO:
        break;
    }
}

/* "HIGH": the severity is readable without colours. */
static void write_severity(const struct inq_pen *pen, enum inq_severity severity)
{
    char word[16];
    size_t i = 0;
    const char *text = inq_severity_text(severity);
    for (; i + 1 < sizeof word && text[i] != '\0'; i++) {
        word[i] = (char)toupper((unsigned char)text[i]);
    }
    word[i] = '\0';
    tint_severity(pen, severity);
    inq_out_text(pen->out, word);
    if (severity != INQ_SEVERITY_INFO) {
        inq_pen_plain(pen);
    }
}

static void indented(const struct inq_pen *pen, const char *label, const char *text)
{
    if (text == NULL || text[0] == '\0') {
        return;
    }
    inq_out_printf(pen->out, "%*s%s", INDENT, "", label);
    inq_pen_wrap(pen, text, INDENT + (int)strlen(label), INDENT + (int)strlen(label));
}

static void write_evidence(const struct inq_view *view, const struct inq_pen *pen,
                           const struct inq_evidence *evidence)
{
    const char *when = inq_say_when(view, evidence);
    int column = INDENT + 2;
    inq_out_printf(pen->out, "%*s- ", INDENT - 2 + 2, "");
    if (evidence->rank >= 0) {
        const char *rank = inq_say(view->arena, "rank %" PRId32 "  ", evidence->rank);
        column += inq_pen_text(pen, rank, INQ_PEN_NO_LIMIT);
    }
    if (evidence->lane != NULL && evidence->lane[0] != '\0') {
        column += inq_pen_text(pen, evidence->lane, LANE_COLUMNS);
        inq_out_text(pen->out, "  ");
        column += 2;
    }
    if (when[0] != '\0') {
        inq_out_printf(pen->out, "%s  ", when);
        column += (int)strlen(when) + 2;
    }
    inq_pen_wrap(pen, evidence->what != NULL ? evidence->what : "", column, INDENT + 2);
}

static void write_all_evidence(const struct inq_view *view, const struct inq_pen *pen,
                               const struct inq_finding *finding)
{
    size_t most = view->options->verbose    ? SIZE_MAX
                  : inq_view_is_brief(view) ? (size_t)BRIEF_EVIDENCE
                                            : (size_t)EVIDENCE_SHOWN;
    size_t n = finding->n_evidence < most ? finding->n_evidence : most;
    for (size_t i = 0; i < n; i++) {
        write_evidence(view, pen, &finding->evidence[i]);
    }
    if (n < finding->n_evidence) {
        inq_out_printf(pen->out, "%*s  and %zu more (-v shows all)\n", INDENT, "",
                       finding->n_evidence - n);
    }
}

static void write_finding(const struct inq_view *view, const struct inq_pen *pen, size_t number,
                          const struct inq_finding *finding)
{
    bool told = inq_say_told(view, finding);
    bool whole = number == 1 || !inq_view_is_brief(view);
    inq_out_printf(pen->out, "%2zu.  ", number);
    write_severity(pen, finding->severity);
    inq_out_text(pen->out, "  ");
    int column = INDENT + (int)strlen(inq_severity_text(finding->severity)) + 2;
    inq_pen_wrap(pen, inq_say_title(view, finding), column, INDENT);
    indented(pen, "", inq_say_numbers(view, finding));
    if (whole) {
        indented(pen, "", told ? "" : finding->detail);
        write_all_evidence(view, pen, finding);
        indented(pen, "Try: ", told ? "" : finding->advice);
    }
    indented(pen, "Fix: ", inq_say_fixes(view, finding));
}

/* Views of where time goes that ask for nothing have a place of their own, below what has a cost.
 */
static bool only_informs(const struct inq_finding *finding)
{
    return finding->severity == INQ_SEVERITY_INFO && finding->cost_ns_per_step < 0;
}

static void write_head(const struct inq_pen *pen, const char *head, const char *order)
{
    inq_out_text(pen->out, "\n");
    inq_pen_tint(pen, INQ_TINT_BOLD);
    inq_out_text(pen->out, head);
    inq_pen_plain(pen);
    inq_out_text(pen->out, order);
}

static void text_findings(const struct inq_view *view, const struct inq_pen *pen)
{
    size_t shown = 0;
    size_t wanted = inq_count_findings(view);
    size_t most = view->options->verbose    ? SIZE_MAX
                  : inq_view_is_brief(view) ? (size_t)BRIEF_FINDINGS
                                            : (size_t)FINDINGS_SHOWN;
    if (wanted == 0) {
        return;
    }
    bool informs = false;
    for (size_t i = 0; i < view->report->n_findings; i++) {
        const struct inq_finding *finding = &view->report->findings[i];
        if (!inq_lists_finding(view, finding)) {
            continue;
        }
        if (shown >= most) {
            break;
        }
        if (only_informs(finding) && !informs) {
            write_head(pen, "For information", ", no cost of its own\n");
        } else if (shown == 0) {
            write_head(pen, "Findings", ", most costly first\n");
        }
        informs = only_informs(finding);
        write_finding(view, pen, ++shown, finding);
    }
    if (shown < wanted) {
        inq_out_printf(pen->out, "     %zu more finding%s not shown (-v shows all)\n",
                       wanted - shown, wanted - shown == 1 ? " is" : "s are");
    }
}

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
                   inq_say(view->arena, "More tables: -v shows all, --only NAME one: %s.", names));
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
    write_named(pen, "Basis:", inq_say_sure(&view));
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
    text_findings(&view, pen);
    write_charts(&view, pen);
    const struct inq_table_writer writer = {write_table, write_missing, pen};
    inq_tables_write(&view, &writer);
    write_more(&view, pen);
}

int inq_document_text(const struct inq_document *doc, struct inq_out *out, struct inq_err *err)
{
    (void)err;
    struct inq_pen pen = inq_pen_of(doc->options, out);
    write_verdicts(doc, &pen);
    for (size_t i = 0; i < doc->n_reports; i++) {
        write_job(doc, i, &pen);
    }
    const struct inq_table_writer writer = {write_table, write_missing, &pen};
    struct inq_table skipped = {.arena = doc->arena};
    (void)inq_table_skipped(doc->run, &skipped);
    inq_table_write(&skipped, true, &writer);
    return INQ_OK;
}
