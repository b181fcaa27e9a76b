/* SPDX-License-Identifier: Apache-2.0 */
/* The report on the terminal: the verdict first, then findings, then tables. */
#include "report/report.h"

#include "base/arena_text.h"
#include "report/info/info.h"
#include "report/render/text/text.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

/* ---- Findings on the terminal: what, by how much, where to look, what to try ----------------- */

enum { INDENT = 5, FINDINGS_SHOWN = 10, EVIDENCE_SHOWN = 4, LANE_COLUMNS = 24 };
/* On the first screen: the first finding with its evidence, the next ones in short. */
enum { BRIEF_FINDINGS = 5, BRIEF_EVIDENCE = 2 };

static void tint_severity(const struct inq_terminal *terminal, enum inq_severity severity)
{
    switch (severity) {
    case INQ_SEVERITY_HIGH:
        inq_terminal_tint(terminal, INQ_TINT_RED);
        break;
    case INQ_SEVERITY_MEDIUM:
        inq_terminal_tint(terminal, INQ_TINT_YELLOW);
        break;
    case INQ_SEVERITY_LOW:
        inq_terminal_tint(terminal, INQ_TINT_CYAN);
        break;
    case INQ_SEVERITY_INFO:
        break;
    }
}

/* "HIGH": the severity is readable without colors. */
static void write_severity(const struct inq_terminal *terminal, enum inq_severity severity)
{
    char word[16];
    size_t i = 0;
    const char *text = inq_severity_text(severity);
    for (; i + 1 < sizeof word && text[i] != '\0'; i++) {
        word[i] = (char)toupper((unsigned char)text[i]);
    }
    word[i] = '\0';
    tint_severity(terminal, severity);
    inq_out_text(terminal->out, word);
    if (severity != INQ_SEVERITY_INFO) {
        inq_terminal_plain(terminal);
    }
}

static void indented(const struct inq_terminal *terminal, const char *label, const char *text)
{
    if (text == NULL || text[0] == '\0') {
        return;
    }
    inq_out_printf(terminal->out, "%*s%s", INDENT, "", label);
    inq_terminal_wrap(terminal, text, INDENT + (int)strlen(label), INDENT + (int)strlen(label));
}

static void write_evidence(const struct inq_context *context, const struct inq_terminal *terminal,
                           const struct inq_evidence *evidence)
{
    const char *when = inq_sentence_when(context, evidence);
    int column = INDENT + 2;
    inq_out_printf(terminal->out, "%*s- ", INDENT - 2 + 2, "");
    if (evidence->rank >= 0) {
        const char *rank = inq_arena_printf(context->arena, "rank %" PRId32 "  ", evidence->rank);
        column += inq_terminal_text(terminal, rank, INQ_TERMINAL_NO_LIMIT);
    }
    if (evidence->lane != NULL && evidence->lane[0] != '\0') {
        column += inq_terminal_text(terminal, evidence->lane, LANE_COLUMNS);
        inq_out_text(terminal->out, "  ");
        column += 2;
    }
    if (when[0] != '\0') {
        inq_out_printf(terminal->out, "%s  ", when);
        column += (int)strlen(when) + 2;
    }
    inq_terminal_wrap(terminal, evidence->what != NULL ? evidence->what : "", column, INDENT + 2);
}

static void write_all_evidence(const struct inq_context *context,
                               const struct inq_terminal *terminal,
                               const struct inq_finding *finding)
{
    size_t most = context->options->verbose       ? SIZE_MAX
                  : inq_context_is_brief(context) ? (size_t)BRIEF_EVIDENCE
                                                  : (size_t)EVIDENCE_SHOWN;
    size_t n = finding->n_evidence < most ? finding->n_evidence : most;
    for (size_t i = 0; i < n; i++) {
        write_evidence(context, terminal, &finding->evidence[i]);
    }
    if (n < finding->n_evidence) {
        inq_out_printf(terminal->out, "%*s  and %zu more (-v shows all)\n", INDENT, "",
                       finding->n_evidence - n);
    }
}

static void write_finding(const struct inq_context *context, const struct inq_terminal *terminal,
                          size_t number, const struct inq_finding *finding)
{
    bool told = inq_sentence_told(context, finding);
    bool whole = number == 1 || !inq_context_is_brief(context);
    inq_out_printf(terminal->out, "%2zu.  ", number);
    write_severity(terminal, finding->severity);
    inq_out_text(terminal->out, "  ");
    int column = INDENT + (int)strlen(inq_severity_text(finding->severity)) + 2;
    inq_terminal_wrap(terminal, inq_sentence_title(context, finding), column, INDENT);
    indented(terminal, "", inq_sentence_numbers(context, finding));
    if (whole) {
        indented(terminal, "", told ? "" : finding->detail);
        write_all_evidence(context, terminal, finding);
        indented(terminal, "Try: ", told ? "" : finding->advice);
    }
    indented(terminal, "Fix: ", inq_sentence_fixes(context, finding));
}

/* Views of where time goes that ask for nothing have a place of their own, below what has a cost.
 */
static bool only_informs(const struct inq_finding *finding)
{
    return finding->severity == INQ_SEVERITY_INFO && finding->cost_ns_per_step < 0;
}

static void write_head(const struct inq_terminal *terminal, const char *head, const char *order)
{
    inq_out_text(terminal->out, "\n");
    inq_terminal_tint(terminal, INQ_TINT_BOLD);
    inq_out_text(terminal->out, head);
    inq_terminal_plain(terminal);
    inq_out_text(terminal->out, order);
}

static void text_findings(const struct inq_context *context, const struct inq_terminal *terminal)
{
    size_t shown = 0;
    size_t wanted = inq_count_findings(context);
    size_t most = context->options->verbose       ? SIZE_MAX
                  : inq_context_is_brief(context) ? (size_t)BRIEF_FINDINGS
                                                  : (size_t)FINDINGS_SHOWN;
    if (wanted == 0) {
        return;
    }
    bool informs = false;
    for (size_t i = 0; i < context->report->n_findings; i++) {
        const struct inq_finding *finding = &context->report->findings[i];
        if (!inq_lists_finding(context, finding)) {
            continue;
        }
        if (shown >= most) {
            break;
        }
        if (only_informs(finding) && !informs) {
            write_head(terminal, "For information", ", no cost of its own\n");
        } else if (shown == 0) {
            write_head(terminal, "Findings", ", most costly first\n");
        }
        informs = only_informs(finding);
        write_finding(context, terminal, ++shown, finding);
    }
    if (shown < wanted) {
        inq_out_printf(terminal->out, "     %zu more finding%s not shown (-v shows all)\n",
                       wanted - shown, wanted - shown == 1 ? " is" : "s are");
    }
}

static void tint_verdict(const struct inq_terminal *terminal, const struct inq_verdict *verdict)
{
    bool fine = strcmp(verdict->cls, "healthy") == 0;
    inq_terminal_tint(terminal, fine ? INQ_TINT_GREEN : INQ_TINT_BOLD);
}

static const char *headline(const struct inq_report *report)
{
    const char *text = report->verdict.headline;
    return text[0] != '\0' ? text : "No verdict: the analyses that lead to one were not run.";
}

/* The first line or, with several jobs, one line for each. */
static void write_verdicts(const struct inq_document *doc, const struct inq_terminal *terminal)
{
    for (size_t i = 0; i < doc->n_reports; i++) {
        const struct inq_report *report = doc->reports[i];
        int column = 0;
        if (doc->n_reports > 1) {
            inq_out_printf(terminal->out, "Job %zu of %zu, ", i + 1, doc->n_reports);
            column = 16 + inq_terminal_text(terminal, report->trace->name, 40);
            inq_out_text(terminal->out, ": ");
        }
        tint_verdict(terminal, &report->verdict);
        inq_terminal_words(terminal, headline(report), column, doc->n_reports > 1 ? 4 : 0);
        inq_terminal_plain(terminal);
        inq_out_text(terminal->out, "\n");
    }
}

static void write_line(const struct inq_terminal *terminal, const char *text)
{
    if (text[0] != '\0') {
        inq_terminal_wrap(terminal, text, 0, 0);
    }
}

/* "Why:   ..." with what follows indented below it. */
static void write_named(const struct inq_terminal *terminal, const char *name, const char *text)
{
    enum { COLUMN = 7 };
    if (text[0] != '\0') {
        inq_out_printf(terminal->out, "%-*s", COLUMN, name);
        inq_terminal_words(terminal, text, COLUMN, COLUMN);
        inq_out_text(terminal->out, "\n");
    }
}

static void write_table(void *ctx, const struct inq_table *table, bool folded)
{
    const struct inq_terminal *terminal = ctx;
    (void)folded;
    inq_out_text(terminal->out, "\n");
    inq_table_print(table, terminal);
}

static void write_missing(void *ctx, const char *title, const char *problem)
{
    const struct inq_terminal *terminal = ctx;
    inq_out_text(terminal->out, "\n");
    inq_terminal_tint(terminal, INQ_TINT_BOLD);
    inq_out_text(terminal->out, title);
    inq_terminal_plain(terminal);
    inq_out_text(terminal->out, "\n");
    inq_terminal_wrap(terminal, problem, 0, 0);
}

static void write_if_missing(struct inq_terminal *terminal, const char *title, const char *problem)
{
    if (problem[0] != '\0') {
        write_missing(terminal, title, problem);
    }
}

static void write_charts(const struct inq_context *context, struct inq_terminal *terminal)
{
    struct inq_err err = {0};
    bool wanted = inq_step_chart_wanted(context);
    const char *problem = wanted ? inq_sentence_lacks(context, INQ_STEP_CHART_SECTIONS) : "";
    if (wanted && problem[0] == '\0' &&
        inq_text_timeline(context, terminal, false, &err) != INQ_OK) {
        problem = inq_sentence_chart_problem(context, &err);
    }
    write_if_missing(terminal, "Timeline", problem);
    err = (struct inq_err){0};
    if (!inq_context_is_brief(context) && inq_context_wants(context, INQ_SECTION_WHATIF) &&
        inq_text_heat_map(context, terminal, &err) != INQ_OK) {
        write_missing(terminal, "Slowdown of every worker",
                      inq_sentence_chart_problem(context, &err));
    }
}

/* What the first screen leaves out, and how to see it. */
static void write_more(const struct inq_context *context, const struct inq_terminal *terminal)
{
    size_t n;
    const struct inq_analysis *all = inq_analyses(&n);
    uint32_t kept_back = inq_tables_kept_back(context);
    const char *names = "";
    for (size_t i = 0; i < n; i++) {
        uint32_t own = INQ_SECTION_BIT(all[i].section);
        if ((kept_back & own) != 0) {
            names = inq_arena_printf(context->arena, "%s%s%s", names, names[0] != '\0' ? ", " : "",
                                     all[i].name);
            kept_back &= ~own;
        }
    }
    if (names[0] != '\0') {
        inq_out_text(terminal->out, "\n");
        write_line(terminal,
                   inq_arena_printf(context->arena,
                                    "More tables: -v shows all, --only NAME one: %s.", names));
    }
}

static void write_job(const struct inq_document *doc, size_t i, struct inq_terminal *terminal)
{
    const struct inq_report *report = doc->reports[i];
    struct inq_context context =
        inq_context_of(doc->run, report->trace, report, doc->options, doc->arena);
    if (doc->n_reports > 1) {
        inq_out_text(terminal->out, "\n");
        inq_terminal_tint(terminal, INQ_TINT_BOLD);
        inq_out_printf(terminal->out, "=== Job %zu of %zu: ", i + 1, doc->n_reports);
        (void)inq_terminal_text(terminal, report->trace->name, terminal->width - 24);
        inq_terminal_plain(terminal);
        inq_out_text(terminal->out, "\n");
        write_line(terminal, headline(report));
    }
    write_named(terminal, "Why:", inq_sentence_why(&context));
    write_named(terminal, "Next:", report->verdict.next);
    write_named(terminal, "Basis:", inq_sentence_sure(&context));
    inq_out_text(terminal->out, "\n");
    write_line(terminal, inq_sentence_where(&context));
    write_line(terminal, inq_sentence_run(&context));
    const char *limits = inq_sentence_limits(&context);
    if (limits[0] != '\0') {
        write_line(terminal, inq_arena_printf(context.arena, "Note: %s.", limits));
    }
    write_if_missing(terminal, inq_section_title(INQ_SECTION_BLAME),
                     inq_context_unavailable(&context, INQ_SECTION_BLAME));
    write_if_missing(terminal, inq_section_title(INQ_SECTION_FINDINGS),
                     inq_context_unavailable(&context, INQ_SECTION_FINDINGS));
    text_findings(&context, terminal);
    write_charts(&context, terminal);
    const struct inq_table_writer writer = {write_table, write_missing, terminal};
    inq_tables_write(&context, UINT32_MAX, &writer);
    write_more(&context, terminal);
}

int inq_document_text(const struct inq_document *doc, struct inq_out *out, struct inq_err *err)
{
    (void)err;
    struct inq_terminal terminal = inq_terminal_of(doc->options, out);
    write_verdicts(doc, &terminal);
    for (size_t i = 0; i < doc->n_reports; i++) {
        write_job(doc, i, &terminal);
    }
    const struct inq_table_writer writer = {write_table, write_missing, &terminal};
    struct inq_table skipped = {.arena = doc->arena};
    (void)inq_table_skipped(doc->run, &skipped);
    inq_table_write(&skipped, true, &writer);
    return INQ_OK;
}
