/* SPDX-License-Identifier: Apache-2.0 */
/* A timed schedule as text: its figures, a chart with one row a rank, and the
 * order of events. */
#include "report/schedule/schedule.h"

#include "base/sort.h"
#include "base/time.h"
#include "inquest/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LABEL_COLUMNS = 9, MIN_CHART = 20, MAX_CHART = 400 };

/* How an action looks: without color the sign behind the number tells the kinds apart. */
static const char *mark_of(uint8_t kind)
{
    return kind == INQ_ACTION_I   ? "'"
           : kind == INQ_ACTION_W ? "w"
           : kind == INQ_ACTION_B ? "\""
                                  : "";
}

static void part_label(const struct inq_action *a, char *label, size_t size)
{
    if (a->kind == INQ_ACTION_UPDATE) {
        (void)snprintf(label, size, "U");
    } else {
        (void)snprintf(label, size, "%" PRId32 "%s", a->microbatch, mark_of(a->kind));
    }
}

/* "7", or "7&3\"" of a forward beside a backward. */
static void cell_label(const struct inq_schedule_view *view, const struct inq_schedule_cell *cell,
                       char *label, size_t size)
{
    size_t used = 0;
    label[0] = '\0';
    for (size_t i = 0; i < cell->n && used + 1 < size; i++) {
        char one[24];
        part_label(&view->schedule->ranks[cell->rank].actions[cell->first + i], one, sizeof one);
        int n = snprintf(label + used, size - used, "%s%s", i > 0 ? "&" : "", one);
        used += n > 0 ? (size_t)n : 0;
    }
}

static enum inq_tint tint_of(const struct inq_schedule_cell *cell)
{
    uint8_t kind = cell->head->kind;
    return cell->composite             ? INQ_TINT_BOLD
           : kind == INQ_ACTION_F      ? INQ_TINT_CYAN
           : kind == INQ_ACTION_W      ? INQ_TINT_YELLOW
           : kind == INQ_ACTION_UPDATE ? INQ_TINT_RED
                                       : INQ_TINT_GREEN;
}

struct chart {
    const struct inq_terminal *terminal;
    const struct inq_schedule_view *view;
    int64_t makespan_ns;
    int columns;
};

static int column_of(const struct chart *chart, int64_t at_ns)
{
    double share = (double)at_ns / (double)chart->makespan_ns;
    return (int)(share * chart->columns + 0.5);
}

static void draw_gap(const struct chart *chart, int from, int to)
{
    for (int i = from; i < to; i++) {
        inq_out_text(chart->terminal->out, ".");
    }
}

/* What fills an op behind its label: forwards and backwards, first chunk and others differ. */
static const char *filling(const struct chart *chart, const struct inq_schedule_cell *cell)
{
    bool forward = cell->head->kind == INQ_ACTION_F;
    bool first = cell->head->stage < 0 || chart->view->chunk[cell->head->stage] == 0;
    return cell->composite ? "+" : forward ? (first ? "-" : "~") : first ? "=" : "#";
}

/* The label, cut to the columns that the op has, the rest filled. */
static void draw_op(const struct chart *chart, const struct inq_schedule_cell *cell, int columns)
{
    char label[48];
    cell_label(chart->view, cell, label, sizeof label);
    int len = (int)strlen(label);
    int shown = len < columns ? len : columns;
    inq_terminal_tint(chart->terminal, tint_of(cell));
    /* a label that does not fit keeps its last characters: they change from op to op */
    inq_out_printf(chart->terminal->out, "%.*s", shown, label + (len - shown));
    for (int i = shown; i < columns; i++) {
        inq_out_text(chart->terminal->out, filling(chart, cell));
    }
    inq_terminal_plain(chart->terminal);
}

static void draw_rank(const struct chart *chart, int32_t r)
{
    struct inq_schedule_cell cell;
    inq_out_printf(chart->terminal->out, "rank %3" PRId32 " ", r);
    int drawn = 0;
    for (size_t at = 0; inq_schedule_next_cell(chart->view, r, &at, &cell);) {
        int from = column_of(chart, cell.start_ns);
        int to = column_of(chart, cell.end_ns);
        if (cell.beside || to <= drawn) {
            continue; /* runs beside the compute, takes no time, or is narrower than a column */
        }
        from = from < drawn ? drawn : from;
        draw_gap(chart, drawn, from);
        draw_op(chart, &cell, to - from);
        drawn = to;
    }
    draw_gap(chart, drawn, chart->columns);
    inq_out_text(chart->terminal->out, "\n");
}

/* The row of a rank's all-reduces or all-gathers, where it has any that take time. */
static void draw_beside(const struct chart *chart, int32_t r, uint8_t kind)
{
    bool reduces = kind == INQ_ACTION_REDUCE_GRAD;
    struct inq_schedule_cell cell;
    int drawn = 0;
    for (size_t at = 0; inq_schedule_next_cell(chart->view, r, &at, &cell);) {
        int from = column_of(chart, cell.start_ns);
        int to = column_of(chart, cell.end_ns);
        if (cell.head->kind != kind || cell.end_ns <= cell.start_ns || to <= drawn) {
            continue;
        }
        inq_out_text(chart->terminal->out, drawn > 0 ? "" : reduces ? "  reduce " : "  gather ");
        from = from < drawn ? drawn : from;
        draw_gap(chart, drawn, from);
        for (int i = from; i < to; i++) {
            inq_out_text(chart->terminal->out, i > from ? "_" : reduces ? "r" : "g");
        }
        drawn = to;
    }
    if (drawn > 0) {
        draw_gap(chart, drawn, chart->columns);
        inq_out_text(chart->terminal->out, "\n");
    }
}

static bool any_of_kind(const struct inq_schedule *s, uint8_t kind)
{
    for (int32_t r = 0; r < s->n_ranks; r++) {
        for (size_t i = 0; i < s->ranks[r].n; i++) {
            if (s->ranks[r].actions[i].kind == kind) {
                return true;
            }
        }
    }
    return false;
}

static void draw_legend(const struct inq_schedule_view *view, const struct inq_terminal *terminal)
{
    const struct inq_schedule *s = view->schedule;
    inq_out_text(terminal->out,
                 "  number: micro-batch; plain forward, \" full backward, ' input gradient, "
                 "w weight gradient, . idle\n");
    if (s->n_stages > s->n_ranks) {
        inq_out_printf(terminal->out, "  - = first stage of the rank, ~ # others%s\n",
                       any_of_kind(s, INQ_ACTION_OVERLAP_F_B)
                           ? "; 7&3\" + forward of 7 overlapped with backward of 3"
                           : "");
    }
    if (any_of_kind(s, INQ_ACTION_UPDATE)) {
        inq_out_text(terminal->out,
                     "  reduce: all-reduces overlapped with the compute; U update\n");
    }
}

static void draw_chart(const struct inq_terminal *terminal, const struct inq_schedule_view *view)
{
    enum { MOST_RANKS = 64 };
    const struct inq_schedule *schedule = view->schedule;
    int columns = terminal->width - LABEL_COLUMNS;
    columns = columns < MIN_CHART ? MIN_CHART : columns > MAX_CHART ? MAX_CHART : columns;
    struct chart chart = {terminal, view, view->timing->makespan_ns, columns};
    for (int32_t r = 0; chart.makespan_ns > 0 && r < schedule->n_ranks && r < MOST_RANKS; r++) {
        draw_rank(&chart, r);
        draw_beside(&chart, r, INQ_ACTION_UNSHARD);
        draw_beside(&chart, r, INQ_ACTION_REDUCE_GRAD);
    }
    if (schedule->n_ranks > MOST_RANKS) {
        int32_t more = schedule->n_ranks - MOST_RANKS;
        inq_out_printf(terminal->out, "         and %" PRId32 " more rank%s\n", more,
                       more == 1 ? "" : "s");
    }
    draw_legend(view, terminal);
}

static void theory_line(const struct inq_terminal *terminal, const struct inq_schedule_view *view)
{
    const struct inq_schedule_theory *theory = view->theory;
    char bubble[32];
    if (theory == NULL || (!theory->has_bubble && !theory->has_peak)) {
        return;
    }
    inq_out_text(terminal->out, "theory");
    if (theory->has_bubble) {
        inq_out_printf(terminal->out, ": bubble %s = %s, rate %.4f", theory->bubble,
                       inq_time_format(theory->bubble_ns, bubble, sizeof bubble),
                       theory->bubble_rate);
    }
    if (theory->has_peak) {
        inq_out_printf(terminal->out, "%s peak %s%s = %.6g", theory->has_bubble ? ";" : ":",
                       theory->at_most ? "at most " : "", theory->peak_formula, theory->peak);
    }
    inq_out_printf(terminal->out, " (transfers free%s%s)\n",
                   theory->condition[0] != '\0' ? ", " : "", theory->condition);
}

static void figures(const struct inq_terminal *terminal, const struct inq_schedule_view *view)
{
    char makespan[32];
    char peak[48];
    const struct inq_schedule *schedule = view->schedule;
    const struct inq_schedule_timing *timing = view->timing;
    int32_t microbatches = schedule->n_microbatches / schedule->n_segments;
    inq_out_printf(
        terminal->out, "%s: %" PRId32 " rank%s, %" PRId32 " stage%s, %" PRId32 " micro-batch%s",
        schedule->kind, schedule->n_ranks, schedule->n_ranks == 1 ? "" : "s", schedule->n_stages,
        schedule->n_stages == 1 ? "" : "s", microbatches, microbatches == 1 ? "" : "es");
    if (schedule->n_segments > 1) {
        inq_out_printf(terminal->out, " of %" PRId32 " segments", schedule->n_segments);
    }
    inq_out_text(terminal->out, "\n");
    inq_out_printf(terminal->out,
                   "makespan %s; bubble ratio %.4f (idle share of all ranks' makespan); "
                   "bubble_rate_zb %.4f; peak %s\n",
                   inq_time_format(timing->makespan_ns, makespan, sizeof makespan),
                   timing->bubble_ratio, timing->bubble_rate_zb,
                   inq_memory_format(timing->memory_unit, timing->peak_memory, peak, sizeof peak));
    theory_line(terminal, view);
}

static void rank_table(const struct inq_terminal *terminal, const struct inq_schedule_view *view)
{
    enum { MOST_ROWS = 32 };
    bool bytes = view->timing->memory_unit == INQ_MEMORY_BYTES;
    inq_out_printf(terminal->out, "\nrank        busy        idle  %16s\n",
                   bytes                                                 ? "peak memory"
                   : view->timing->memory_unit == INQ_MEMORY_ACTIVATIONS ? "peak activations"
                                                                         : "peak units");
    for (int32_t r = 0; r < view->schedule->n_ranks && r < MOST_ROWS; r++) {
        char busy[32];
        char idle[32];
        char peak[48];
        const struct inq_schedule_rank_time *row = &view->timing->ranks[r];
        if (bytes) {
            (void)inq_size_format(row->peak_memory, INQ_SIZE_BINARY, peak, sizeof peak);
        } else {
            (void)snprintf(peak, sizeof peak, "%.6g", row->peak_memory);
        }
        inq_out_printf(terminal->out, "%4" PRId32 "  %10s  %10s  %16s\n", r,
                       inq_time_format(row->busy_ns, busy, sizeof busy),
                       inq_time_format(row->idle_ns, idle, sizeof idle), peak);
    }
}

/* ---- the order of events --------------------------------------------------------------------- */

static int compare_cells(const void *a, const void *b, void *ctx)
{
    const struct inq_schedule_cell *x = a;
    const struct inq_schedule_cell *y = b;
    (void)ctx;
    if (x->start_ns != y->start_ns) {
        return x->start_ns < y->start_ns ? -1 : 1;
    }
    return x->rank == y->rank ? 0 : x->rank < y->rank ? -1 : 1;
}

static void write_event(const struct inq_schedule_view *view, const struct inq_terminal *terminal,
                        const struct inq_schedule_cell *cell, bool first)
{
    char text[192] = "";
    size_t used = 0;
    for (size_t i = 0; i < cell->n && used + 1 < sizeof text; i++) {
        char words[96];
        const struct inq_action *a = &view->schedule->ranks[cell->rank].actions[cell->first + i];
        int n = snprintf(text + used, sizeof text - used, "%s%s", i > 0 ? " overlapped with " : "",
                         inq_action_words(a, words, sizeof words));
        used += n > 0 ? (size_t)n : 0;
    }
    char start[32];
    inq_out_printf(terminal->out, "  %10s  rank %" PRId32 "  %s\n",
                   first ? inq_time_format(cell->start_ns, start, sizeof start) : "", cell->rank,
                   text);
}

/* What happens when, one line a moment: for schedules small enough to be read. */
static int write_events(const struct inq_schedule_view *view, const struct inq_terminal *terminal,
                        struct inq_err *err)
{
    enum { MOST_EVENTS = 32 };
    struct inq_schedule_cell cells[MOST_EVENTS];
    size_t n = 0;
    for (int32_t r = 0; r < view->schedule->n_ranks; r++) {
        struct inq_schedule_cell cell;
        for (size_t at = 0; inq_schedule_next_cell(view, r, &at, &cell);) {
            if (n == MOST_EVENTS) {
                return INQ_OK;
            }
            cells[n++] = cell;
        }
    }
    int code = inq_sort(cells, n, sizeof *cells, compare_cells, NULL, err);
    inq_out_text(terminal->out, "\nOrder of events\n");
    for (size_t i = 0; code == INQ_OK && i < n; i++) {
        bool first = i == 0 || cells[i].start_ns != cells[i - 1].start_ns;
        write_event(view, terminal, &cells[i], first);
    }
    return code;
}

/* ---- all of it ------------------------------------------------------------------------------- */

int inq_schedule_text(const struct inq_schedule_view *view,
                      const struct inq_report_options *options, struct inq_out *out,
                      struct inq_err *err)
{
    struct inq_terminal terminal = inq_terminal_of(options, out);
    figures(&terminal, view);
    inq_out_text(out, "\n");
    draw_chart(&terminal, view);
    rank_table(&terminal, view);
    return write_events(view, &terminal, err);
}
