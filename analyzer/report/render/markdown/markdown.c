/* SPDX-License-Identifier: Apache-2.0 */
/* The report as a document for a ticket or a wiki: verdict, findings with evidence, tables. */
#include "report/render/markdown/markdown.h"

#include "base/arena_text.h"
#include "report/info/info.h"
#include "report/sections/sections.h"
#include "inquest/version.h"

#include <inttypes.h>
#include <stdio.h>

/* Charts in what GitHub and GitLab draw: a small pipeline step as a Mermaid Gantt chart, everything
 * else as characters in a block of code. Nothing in either comes from an input but numbers. */

enum { GANTT_ROWS = 8, GANTT_BLOCKS = 256, TEXT_COLUMNS = 100 };

/* Nanoseconds that a millisecond of the chart stands for: Mermaid knows no shorter ones. */
static int64_t scale_of(int64_t span_ns, const char **unit)
{
    bool seconds = span_ns >= INT64_C(1000000000);
    bool millis = span_ns >= INT64_C(1000000);
    *unit = seconds ? "s" : millis ? "ms" : "us";
    return seconds ? 1000000 : millis ? 1000 : 1;
}

static const char *action_of(uint8_t type, const char **tag)
{
    bool forward = type == INQ_OP_FORWARD;
    bool weight = type == INQ_OP_BACKWARD_WEIGHT;
    *tag = forward ? "active, " : weight || type == INQ_OP_OPTIMIZER ? "" : "done, ";
    return forward                         ? "F"
           : type == INQ_OP_BACKWARD       ? "B"
           : type == INQ_OP_BACKWARD_INPUT ? "I"
           : weight                        ? "W"
                                           : "O";
}

static void write_blocks(const struct inq_step_chart *chart, const struct inq_chart_row *row,
                         int64_t scale_ns, struct inq_out *out)
{
    for (size_t i = 0; i < row->n; i++) {
        const struct inq_chart_block *b = &row->blocks[i];
        const char *tag;
        const char *action = action_of(b->type, &tag);
        int64_t start = (b->start_ns - chart->start_ns) / scale_ns;
        int64_t length = (b->end_ns - chart->start_ns) / scale_ns - start;
        inq_out_printf(out, "    %s", action);
        if (b->micro_batch >= 0) {
            inq_out_printf(out, "%" PRId32, b->micro_batch);
        }
        inq_out_printf(out, " :%s%" PRId64 ", %" PRId64 "ms\n", tag, start,
                       length > 0 ? length : 1);
    }
}

static void write_gantt(const struct inq_context *context, const struct inq_step_chart *chart,
                        struct inq_out *out)
{
    const char *unit;
    int64_t scale_ns = scale_of(chart->end_ns - chart->start_ns, &unit);
    inq_out_printf(
        out,
        "```mermaid\n---\ndisplayMode: compact\nconfig:\n  gantt:\n    leftPadding: 140\n"
        "---\ngantt\n    title step %" PRId64 ", in %s from %s s on\n"
        "    dateFormat x\n    axisFormat %%s.%%L\n    todayMarker off\n",
        chart->step, unit, inq_context_at(context, chart->start_ns));
    for (size_t r = 0; r < chart->n_rows; r++) {
        const struct inq_chart_row *row = &chart->rows[r];
        inq_out_printf(out, "    section stage %" PRId32, row->stage);
        if (row->dp_rank >= 0) {
            inq_out_printf(out, ", DP rank %" PRId32, row->dp_rank);
        }
        inq_out_text(out, "\n");
        write_blocks(chart, row, scale_ns, out);
    }
    inq_out_text(out, "```\n\nF: forward, B: full backward, I: input gradient, W: weight "
                      "gradient, with the number of the micro-batch; O: optimizer.");
    if (chart->left_out > 0) {
        inq_out_printf(out, " %zu more ranks are not shown.", chart->left_out);
    }
    inq_out_text(out, "\n\n");
}

static size_t count_blocks(const struct inq_step_chart *chart)
{
    size_t n = 0;
    for (size_t r = 0; r < chart->n_rows; r++) {
        n += chart->rows[r].n;
    }
    return n;
}

/* A chart in characters, in a block of code. */
static int write_text(const struct inq_context *context, struct inq_out *out, bool heat,
                      struct inq_err *err)
{
    struct inq_out text = {0};
    struct inq_terminal terminal = {.out = &text, .width = TEXT_COLUMNS, .utf8 = true};
    int code = heat ? inq_text_heat_map(context, &terminal, err)
                    : inq_text_timeline(context, &terminal, true, err);
    if (code == INQ_OK && text.code != INQ_OK) {
        code = inq_err_set(err, INQ_NOMEM, "no memory for a chart");
    }
    if (code == INQ_OK && text.len > 1) {
        inq_out_text(out, "```text");
        inq_out_bytes(out, text.buf, text.len); /* begins with a newline */
        inq_out_text(out, "```\n\n");
    }
    inq_out_release(&text);
    return code;
}

int inq_markdown_chart(const struct inq_context *context, bool heat, struct inq_out *out,
                       struct inq_err *err)
{
    struct inq_step_chart chart;
    if (heat) {
        return write_text(context, out, true, err);
    }
    int code = inq_step_chart_make(context, GANTT_ROWS, &chart, err);
    if (code != INQ_OK) {
        return code;
    }
    if (chart.n_rows > 0) {
        inq_out_text(out, "## Timeline\n\n");
    }
    if (chart.pipeline && chart.n_rows > 0 && count_blocks(&chart) <= GANTT_BLOCKS) {
        write_gantt(context, &chart, out);
        return INQ_OK;
    }
    return write_text(context, out, false, err);
}

/* Longer tables are folded. */
enum { LONG_TABLE = 16 };

static void paragraph(struct inq_out *out, const char *before, const char *text)
{
    if (text != NULL && text[0] != '\0') {
        inq_out_text(out, before);
        inq_markdown_text(out, text, INQ_TERMINAL_NO_LIMIT);
        inq_out_text(out, "\n\n");
    }
}

static void write_evidence(const struct inq_context *context, const struct inq_finding *finding,
                           struct inq_out *out)
{
    struct inq_table table = {.arena = context->arena};
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
        inq_table_text(&table, inq_sentence_when(context, e));
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

static void write_finding(const struct inq_context *context, size_t number,
                          const struct inq_finding *finding, struct inq_out *out)
{
    bool told = inq_sentence_told(context, finding);
    char head[64];
    (void)snprintf(head, sizeof head, "### %zu. [%s] ", number,
                   inq_severity_text(finding->severity));
    paragraph(out, head, inq_sentence_title(context, finding));
    paragraph(out, "", inq_sentence_numbers(context, finding));
    paragraph(out, "", told ? "" : finding->detail);
    write_evidence(context, finding, out);
    paragraph(out, "**Try:** ", told ? "" : finding->advice);
    paragraph(out, "**Fix:** ", inq_sentence_fixes(context, finding));
}

static void write_findings(const struct inq_context *context, struct inq_out *out)
{
    size_t number = 0;
    if (inq_count_findings(context) == 0) {
        return;
    }
    inq_out_text(out, "## Findings\n\nMost costly first; times count from the first event of the "
                      "run, as `inquest analyze --time` takes them.\n\n");
    for (size_t i = 0; i < context->report->n_findings; i++) {
        if (inq_lists_finding(context, &context->report->findings[i])) {
            write_finding(context, ++number, &context->report->findings[i], out);
        }
    }
}

static void write_table(const struct inq_table *table, bool folded, struct inq_out *out)
{
    if (folded) {
        inq_out_text(out, "<details><summary>");
        inq_markdown_text(out, table->title, INQ_TERMINAL_NO_LIMIT);
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

static void write_charts(const struct inq_context *context, struct inq_out *out)
{
    struct inq_err err = {0};
    bool wanted = inq_step_chart_wanted(context);
    const char *problem = wanted ? inq_sentence_lacks(context, INQ_STEP_CHART_SECTIONS) : "";
    if (wanted && problem[0] == '\0' && inq_markdown_chart(context, false, out, &err) != INQ_OK) {
        problem = inq_sentence_chart_problem(context, &err);
    }
    write_if_missing(out, "Timeline", problem);
    err = (struct inq_err){0};
    if (inq_context_wants(context, INQ_SECTION_WHATIF) &&
        inq_markdown_chart(context, true, out, &err) != INQ_OK) {
        write_missing(out, "Slowdown of every worker", inq_sentence_chart_problem(context, &err));
    }
}

static void write_job(const struct inq_document *doc, size_t i, struct inq_out *out)
{
    const struct inq_report *report = doc->reports[i];
    struct inq_context context =
        inq_context_of(doc->run, report->trace, report, doc->options, doc->arena);
    const char *headline = report->verdict.headline;
    if (headline[0] == '\0') {
        headline = "No verdict: the analyses that lead to one were not run.";
    }
    paragraph(out, "# ", headline);
    if (doc->n_reports > 1) {
        paragraph(out, "",
                  inq_arena_printf(context.arena, "Job %zu of %zu: %.400s", i + 1, doc->n_reports,
                                   report->trace->name));
    } else {
        paragraph(out, "Run: ", report->trace->name);
    }
    paragraph(out, "**Why:** ", inq_sentence_why(&context));
    paragraph(out, "**Next:** ", report->verdict.next);
    paragraph(out, "**Basis:** ", inq_sentence_sure(&context));
    paragraph(out, "", inq_sentence_where(&context));
    paragraph(out, "", inq_sentence_run(&context));
    paragraph(out, "> Note: ", inq_sentence_limits(&context));
    write_if_missing(out, inq_section_title(INQ_SECTION_BLAME),
                     inq_context_unavailable(&context, INQ_SECTION_BLAME));
    write_if_missing(out, inq_section_title(INQ_SECTION_FINDINGS),
                     inq_context_unavailable(&context, INQ_SECTION_FINDINGS));
    write_findings(&context, out);
    write_charts(&context, out);
    const struct inq_table_writer writer = {write_any_table, write_missing, out};
    inq_tables_write(&context, UINT32_MAX, &writer);
}

int inq_document_markdown(const struct inq_document *doc, struct inq_out *out, struct inq_err *err)
{
    (void)err;
    for (size_t i = 0; i < doc->n_reports; i++) {
        write_job(doc, i, out);
    }
    const struct inq_table_writer writer = {write_any_table, write_missing, out};
    struct inq_table skipped = {.arena = doc->arena};
    (void)inq_table_skipped(doc->run, &skipped);
    inq_table_write(&skipped, true, &writer);
    inq_out_text(out, "---\nWritten by inquest " INQ_VERSION_STRING
                      "; every number is explained in `man inquest-report`.\n");
    return INQ_OK;
}
