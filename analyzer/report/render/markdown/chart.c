/* SPDX-License-Identifier: Apache-2.0 */
/* Charts in what GitHub and GitLab draw: a small pipeline step as a Mermaid Gantt chart, everything
 * else as characters in a block of code. Nothing in either comes from an input but numbers. */
#include "report/render/markdown/markdown.h"

#include "report/sections/sections.h"

#include <inttypes.h>

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

static void write_gantt(const struct inq_view *view, const struct inq_step_chart *chart,
                        struct inq_out *out)
{
    const char *unit;
    int64_t scale_ns = scale_of(chart->end_ns - chart->start_ns, &unit);
    inq_out_printf(
        out,
        "```mermaid\n---\ndisplayMode: compact\nconfig:\n  gantt:\n    leftPadding: 140\n"
        "---\ngantt\n    title step %" PRId64 ", in %s from %s s on\n"
        "    dateFormat x\n    axisFormat %%s.%%L\n    todayMarker off\n",
        chart->step, unit, inq_view_at(view, chart->start_ns));
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
static int write_text(const struct inq_view *view, struct inq_out *out, bool heat,
                      struct inq_err *err)
{
    struct inq_out text = {0};
    struct inq_pen pen = {.out = &text, .width = TEXT_COLUMNS, .utf8 = true};
    int code = heat ? inq_text_heat_map(view, &pen, err) : inq_text_timeline(view, &pen, true, err);
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

int inq_markdown_chart(const struct inq_view *view, bool heat, struct inq_out *out,
                       struct inq_err *err)
{
    struct inq_step_chart chart;
    if (heat) {
        return write_text(view, out, true, err);
    }
    int code = inq_step_chart_make(view, GANTT_ROWS, &chart, err);
    if (code != INQ_OK) {
        return code;
    }
    if (chart.n_rows > 0) {
        inq_out_text(out, "## Timeline\n\n");
    }
    if (chart.pipeline && chart.n_rows > 0 && count_blocks(&chart) <= GANTT_BLOCKS) {
        write_gantt(view, &chart, out);
        return INQ_OK;
    }
    return write_text(view, out, false, err);
}
