/* SPDX-License-Identifier: Apache-2.0 */
/* The timeline of one step and the heat map of workers, in characters: blocks where there is UTF-8,
 * and nothing that only a color tells. */
#include "report/sections/sections.h"

#include "base/mem.h"
#include "base/arena_text.h"
#include "graph/optable/optable.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MIN_CHART = 20, MAX_CHART = 400, ROWS = 16, LABEL = 20 };

static void title(const struct inq_terminal *terminal, const char *text, const char *note)
{
    inq_out_text(terminal->out, "\n");
    inq_terminal_tint(terminal, INQ_TINT_BOLD);
    inq_out_text(terminal->out, text);
    inq_terminal_plain(terminal);
    inq_out_text(terminal->out, "\n  ");
    inq_terminal_wrap(terminal, note, 2, 2);
}

/* ---- the timeline ---------------------------------------------------------------------------- */

struct drawing {
    const struct inq_context *context;
    const struct inq_terminal *terminal;
    const struct inq_step_chart *chart;
    bool plain;
    int label, columns;
};

static const char *row_label(const struct drawing *d, const struct inq_chart_row *row)
{
    const struct inq_rank *rank = &d->context->trace->ranks[row->rank];
    const char *name = d->plain && rank->rank < 0
                           ? inq_arena_printf(d->context->arena, "#%" PRIu32, row->rank)
                           : inq_context_rank(d->context, row->rank);
    return row->stage >= 0 ? inq_arena_printf(d->context->arena, "rank %.200s, stage %" PRId32,
                                              name, row->stage)
                           : inq_arena_printf(d->context->arena, "rank %.200s", name);
}

static int column_of(const struct drawing *d, int64_t at_ns)
{
    double share =
        (double)(at_ns - d->chart->start_ns) / (double)(d->chart->end_ns - d->chart->start_ns);
    return (int)(share * d->columns + 0.5);
}

/* What tells the kinds of blocks apart: a mark behind the number and the filling. */
struct look {
    const char *mark, *fill, *blocks;
    enum inq_tint tint;
};

static struct look look_of(uint8_t type)
{
    static const struct look forward = {"", "-", "\xe2\x96\x92", INQ_TINT_CYAN};
    static const struct look backward = {"\"", "=", "\xe2\x96\x93", INQ_TINT_GREEN};
    static const struct look input = {"'", "=", "\xe2\x96\x93", INQ_TINT_GREEN};
    static const struct look weight = {"w", "~", "\xe2\x96\x91", INQ_TINT_YELLOW};
    static const struct look other = {"o", "+", "+", INQ_TINT_DIM};
    return type == INQ_OP_FORWARD           ? forward
           : type == INQ_OP_BACKWARD        ? backward
           : type == INQ_OP_BACKWARD_INPUT  ? input
           : type == INQ_OP_BACKWARD_WEIGHT ? weight
                                            : other;
}

static void draw_block(const struct drawing *d, const struct inq_chart_block *block, int columns)
{
    struct look look = look_of(block->type);
    char label[24] = "";
    if (block->micro_batch >= 0) {
        (void)snprintf(label, sizeof label, "%" PRId32 "%s", block->micro_batch, look.mark);
    } else {
        (void)snprintf(label, sizeof label, "%s", look.mark);
    }
    int len = (int)strlen(label);
    if (len > columns) { /* half a number is a wrong number */
        len = 0;
    }
    inq_terminal_tint(d->terminal, look.tint);
    inq_out_printf(d->terminal->out, "%.*s", len, label);
    for (int i = len; i < columns; i++) {
        inq_out_text(d->terminal->out, d->terminal->utf8 ? look.blocks : look.fill);
    }
    inq_terminal_plain(d->terminal);
}

static void draw_gap(const struct drawing *d, int from, int to)
{
    for (int i = from; i < to; i++) {
        inq_out_text(d->terminal->out, d->terminal->utf8 ? "\xc2\xb7" : ".");
    }
}

static void draw_pipeline_row(const struct drawing *d, const struct inq_chart_row *row)
{
    int at = 0;
    for (size_t i = 0; i < row->n; i++) {
        int from = column_of(d, row->blocks[i].start_ns);
        int to = column_of(d, row->blocks[i].end_ns);
        if (to > at) { /* else narrower than a column */
            from = from < at ? at : from;
            draw_gap(d, at, from);
            draw_block(d, &row->blocks[i], to - from);
            at = to;
        }
    }
    draw_gap(d, at, d->columns);
}

static int draw_plain_row(const struct drawing *d, const struct inq_chart_row *row,
                          struct inq_err *err)
{
    static const char *const blocks[] = {"\xe2\x96\x88", "\xe2\x96\x93", "\xe2\x96\x92",
                                         "\xe2\x96\x91"}; /* as in the bars of the tables */
    static const char marks[] = "#=-.";
    char line[MAX_CHART + 1];
    int code = inq_step_chart_line(d->context, d->chart, row, (size_t)d->columns, line, err);
    for (const char *p = line; code == INQ_OK && *p != '\0'; p++) {
        if (d->terminal->utf8) {
            inq_out_text(d->terminal->out, blocks[strchr(marks, *p) - marks]);
        } else {
            inq_out_bytes(d->terminal->out, p, 1);
        }
    }
    return code;
}

static int draw_rows(const struct drawing *d, struct inq_err *err)
{
    int code = INQ_OK;
    for (size_t r = 0; r < d->chart->n_rows && code == INQ_OK; r++) {
        const struct inq_chart_row *row = &d->chart->rows[r];
        int used = inq_terminal_text(d->terminal, row_label(d, row), d->label);
        inq_out_printf(d->terminal->out, "%*s", d->label - used + 1, "");
        if (d->chart->pipeline) {
            draw_pipeline_row(d, row);
        } else {
            code = draw_plain_row(d, row, err);
        }
        inq_out_text(d->terminal->out, "\n");
    }
    if (d->chart->left_out > 0) {
        inq_out_printf(d->terminal->out, "  %zu more ranks are not shown (-v shows all)\n",
                       d->chart->left_out);
    }
    return code;
}

static const char *timeline_note(const struct drawing *d)
{
    const struct inq_step_chart *chart = d->chart;
    int64_t span_ns = chart->end_ns - chart->start_ns;
    const char *what =
        chart->pipeline ? "number: micro-batch; plain forward, \" full backward, ' input "
                          "gradient, w weight gradient, o optimizer; dots: idle"
                        : "# compute, = exposed communication, - exposed copy, . idle: what took "
                          "most of each column";
    if (!chart->pipeline && d->terminal->utf8) {
        what = "\xe2\x96\x88 compute, \xe2\x96\x93 exposed communication, \xe2\x96\x92 exposed "
               "copy, \xe2\x96\x91 idle: what took most of each column";
    }
    return inq_arena_printf(
        d->context->arena, "starts at %s s, %s %s, %s per column; %s",
        inq_context_at(d->context, chart->start_ns), inq_context_ns(d->context, span_ns),
        chart->apart ? "from the first rank's begin to the last one's end" : "long",
        inq_context_ns(d->context, span_ns / d->columns), what);
}

int inq_text_timeline(const struct inq_context *context, const struct inq_terminal *terminal,
                      bool plain, struct inq_err *err)
{
    struct inq_step_chart chart;
    struct drawing d = {.context = context, .terminal = terminal, .chart = &chart, .plain = plain};
    int code =
        inq_step_chart_make(context, context->options->verbose ? SIZE_MAX : ROWS, &chart, err);
    if (code != INQ_OK || chart.n_rows == 0) {
        return code;
    }
    for (size_t r = 0; r < chart.n_rows; r++) {
        int columns = inq_terminal_columns(terminal, row_label(&d, &chart.rows[r]));
        columns = columns > LABEL ? LABEL : columns;
        d.label = columns > d.label ? columns : d.label;
    }
    d.columns = terminal->width - d.label - 1;
    d.columns = d.columns < MIN_CHART ? MIN_CHART : d.columns > MAX_CHART ? MAX_CHART : d.columns;
    title(terminal,
          chart.step >= 0
              ? inq_arena_printf(context->arena, "Timeline of step %" PRId64, chart.step)
              : "Timeline",
          timeline_note(&d));
    return draw_rows(&d, err);
}

/* ---- the heat map ---------------------------------------------------------------------------- */

/* Slowdowns of workers by DP rank (down) and stage (across). */
struct heat {
    size_t n_dp, n_stages;
    int32_t *dp, *stage; /* as recorded, ascending */
    double *slowdown;    /* [n_dp][n_stages]; NaN: no such worker */
    double *row_worst;   /* [n_dp] */
    double worst;
};

static void add_number(int32_t *numbers, size_t *n, int32_t number)
{
    size_t at = *n;
    while (at > 0 && numbers[at - 1] > number) {
        at--;
    }
    if (at > 0 && numbers[at - 1] == number) {
        return;
    }
    memmove(&numbers[at + 1], &numbers[at], (*n - at) * sizeof *numbers);
    numbers[at] = number;
    (*n)++;
}

static size_t place_of(const int32_t *numbers, size_t n, int32_t number)
{
    size_t low = 0;
    while (low < n && numbers[low] < number) {
        low++;
    }
    return low;
}

static int make_heat(const struct inq_context *context, struct heat *heat, struct inq_err *err)
{
    const struct inq_whatif *w = context->report->whatif;
    *heat = (struct heat){0};
    heat->dp = inq_arena_array(context->arena, w->n_by_worker + 1, sizeof *heat->dp);
    heat->stage = inq_arena_array(context->arena, w->n_by_worker + 1, sizeof *heat->stage);
    if (heat->dp == NULL || heat->stage == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for a heat map");
    }
    for (size_t i = 0; i < w->n_by_worker; i++) {
        const struct inq_named_ratio *worker = &w->by_worker[i];
        if (worker->stage >= 0 && worker->dp_rank >= 0) {
            add_number(heat->dp, &heat->n_dp, worker->dp_rank);
            add_number(heat->stage, &heat->n_stages, worker->stage);
        }
    }
    size_t n = heat->n_dp * heat->n_stages; /* not many more than there are workers */
    if (n > 64 * (w->n_by_worker + 1)) {
        heat->n_dp = 0;
        return INQ_OK;
    }
    heat->slowdown = inq_arena_array(context->arena, n, sizeof *heat->slowdown);
    heat->row_worst = inq_arena_array(context->arena, heat->n_dp, sizeof *heat->row_worst);
    if (heat->slowdown == NULL || heat->row_worst == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for a heat map");
    }
    for (size_t i = 0; i < n; i++) {
        heat->slowdown[i] = (double)NAN;
    }
    for (size_t i = 0; i < w->n_by_worker; i++) {
        const struct inq_named_ratio *worker = &w->by_worker[i];
        if (worker->stage >= 0 && worker->dp_rank >= 0) {
            size_t row = place_of(heat->dp, heat->n_dp, worker->dp_rank);
            size_t column = place_of(heat->stage, heat->n_stages, worker->stage);
            heat->slowdown[row * heat->n_stages + column] = worker->slowdown;
            if (worker->slowdown > heat->row_worst[row]) {
                heat->row_worst[row] = worker->slowdown;
            }
            heat->worst = worker->slowdown > heat->worst ? worker->slowdown : heat->worst;
        }
    }
    return INQ_OK;
}

/* Five shades from none to the worst; below one percent nothing is shaded. */
static int shade_of(const struct heat *heat, double slowdown)
{
    enum { SHADES = 5 };
    double most = heat->worst - 1 > 0.01 ? heat->worst - 1 : 0.01;
    int shade = (int)((slowdown - 1) / most * (SHADES - 1) + 0.5);
    return !(slowdown > 1.01) ? 0 : shade < 1 ? 1 : shade >= SHADES ? SHADES - 1 : shade;
}

static void draw_cell(const struct inq_terminal *terminal, const struct heat *heat, double slowdown,
                      bool numbers)
{
    static const char *const blocks[] = {" ", "\xe2\x96\x91", "\xe2\x96\x92", "\xe2\x96\x93",
                                         "\xe2\x96\x88"};
    static const char *const marks[] = {" ", ".", ":", "+", "#"};
    if (!isfinite(slowdown)) {
        inq_out_text(terminal->out, numbers ? "     N/A" : " -");
        return;
    }
    int shade = shade_of(heat, slowdown);
    inq_out_text(terminal->out, " ");
    if (shade >= 3) {
        inq_terminal_tint(terminal, INQ_TINT_RED);
    }
    inq_out_text(terminal->out, terminal->utf8 ? blocks[shade] : marks[shade]);
    if (numbers) {
        inq_out_printf(terminal->out, " %5.3f", slowdown);
    }
    if (shade >= 3) {
        inq_terminal_plain(terminal);
    }
}

/* Whether at least ROWS DP ranks have a slower worker, or one as slow and come before it. */
static bool is_left_out(const struct heat *heat, size_t row)
{
    size_t worse = 0;
    for (size_t other = 0; other < heat->n_dp && worse < ROWS; other++) {
        bool slower = heat->row_worst[other] > heat->row_worst[row];
        bool alike = !(heat->row_worst[other] < heat->row_worst[row]);
        worse += slower || (alike && other < row);
    }
    return worse >= ROWS;
}

static void draw_heat(const struct inq_context *context, const struct inq_terminal *terminal,
                      const struct heat *heat)
{
    enum { HEAD = 8, WIDE = 8, NARROW = 2 };
    bool numbers = HEAD + heat->n_stages * WIDE <= (size_t)terminal->width;
    size_t fit = ((size_t)terminal->width - HEAD) / NARROW;
    size_t columns = numbers || heat->n_stages <= fit ? heat->n_stages : fit;
    size_t left_out = 0;
    if (numbers) {
        inq_out_printf(terminal->out, "%*s", HEAD, "");
        for (size_t s = 0; s < columns; s++) {
            inq_out_printf(terminal->out, "%*s", WIDE,
                           inq_arena_printf(context->arena, "PP %" PRId32, heat->stage[s]));
        }
        inq_out_text(terminal->out, "\n");
    }
    for (size_t row = 0; row < heat->n_dp; row++) {
        if (!context->options->verbose && heat->n_dp > ROWS && is_left_out(heat, row)) {
            left_out++;
            continue;
        }
        inq_out_printf(terminal->out, "%-*s", HEAD,
                       inq_arena_printf(context->arena, "DP %" PRId32, heat->dp[row]));
        for (size_t s = 0; s < columns; s++) {
            draw_cell(terminal, heat, heat->slowdown[row * heat->n_stages + s], numbers);
        }
        inq_out_text(terminal->out, "\n");
    }
    if (left_out > 0) {
        inq_out_printf(terminal->out,
                       "  %zu DP ranks with faster workers are not shown (-v shows all)\n",
                       left_out);
    }
    if (columns < heat->n_stages) {
        size_t more = heat->n_stages - columns;
        inq_out_printf(terminal->out, "  %zu more stage%s not fit\n", more,
                       more == 1 ? " does" : "s do");
    }
}

int inq_text_heat_map(const struct inq_context *context, const struct inq_terminal *terminal,
                      struct inq_err *err)
{
    const struct inq_whatif *w = context->report->whatif;
    struct heat heat;
    if (w == NULL || w->n_by_worker < 2) {
        return INQ_OK;
    }
    int code = make_heat(context, &heat, err);
    if (code != INQ_OK || heat.n_dp * heat.n_stages < 2) {
        return code;
    }
    title(terminal, "Slowdown of every worker",
          inq_arena_printf(
              context->arena,
              "S of each: DP ranks down, pipeline stages across; the darker (%s) the slower, "
              "blank within 1 %% of the ideal",
              terminal->utf8 ? "\xe2\x96\x91 \xe2\x96\x92 \xe2\x96\x93 \xe2\x96\x88" : ". : + #"));
    draw_heat(context, terminal, &heat);
    return INQ_OK;
}
