/* SPDX-License-Identifier: Apache-2.0 */
/* A timed schedule as text: a chart with one row a rank, then its figures. */
#include "report/schedule_parts.h"

#include "base/time.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LABEL_COLUMNS = 9, MIN_CHART = 20, MAX_CHART = 400 };

/* How an action looks: without colour the case and the sign tell the kinds apart. */
static void cell_label(const struct inq_action *a, char *label, size_t size)
{
    const char *mark = a->kind == INQ_ACTION_F   ? ""
                       : a->kind == INQ_ACTION_I ? "'"
                       : a->kind == INQ_ACTION_W ? "w"
                                                 : "\"";
    (void)snprintf(label, size, "%" PRId32 "%s", a->microbatch, mark);
}

static enum inq_tint tint_of(uint8_t kind)
{
    return kind == INQ_ACTION_F   ? INQ_TINT_CYAN
           : kind == INQ_ACTION_W ? INQ_TINT_YELLOW
                                  : INQ_TINT_GREEN;
}

struct chart {
    const struct inq_pen *pen;
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
        inq_out_text(chart->pen->out, ".");
    }
}

/* The label, cut to the columns that the op has, the rest filled. */
static void draw_op(const struct chart *chart, const struct inq_action *a, int columns)
{
    char label[24];
    cell_label(a, label, sizeof label);
    int len = (int)strlen(label);
    int shown = len < columns ? len : columns;
    inq_pen_tint(chart->pen, tint_of(a->kind));
    /* a label that does not fit keeps its last characters: they change from op to op */
    inq_out_printf(chart->pen->out, "%.*s", shown, label + (len - shown));
    for (int i = shown; i < columns; i++) {
        inq_out_text(chart->pen->out, a->kind == INQ_ACTION_F ? "-" : "=");
    }
    inq_pen_plain(chart->pen);
}

static void draw_rank(const struct chart *chart, const struct inq_schedule *schedule, int32_t r,
                      const struct inq_schedule_timing *timing)
{
    const struct inq_rank_actions *list = &schedule->ranks[r];
    inq_out_printf(chart->pen->out, "rank %3" PRId32 " ", r);
    int at = 0;
    for (size_t i = 0; i < list->n; i++) {
        int from = column_of(chart, timing->start_ns[r][i]);
        int to = column_of(chart, timing->end_ns[r][i]);
        if (!inq_action_computes(&list->actions[i]) || to <= at) {
            continue; /* takes no time, shares a composite's, or is narrower than a column */
        }
        from = from < at ? at : from;
        draw_gap(chart, at, from);
        draw_op(chart, &list->actions[i], to - from);
        at = to;
    }
    draw_gap(chart, at, chart->columns);
    inq_out_text(chart->pen->out, "\n");
}

static void draw_chart(const struct inq_pen *pen, const struct inq_schedule *schedule,
                       const struct inq_schedule_timing *timing)
{
    enum { MOST_RANKS = 64 };
    int columns = pen->width - LABEL_COLUMNS;
    columns = columns < MIN_CHART ? MIN_CHART : columns > MAX_CHART ? MAX_CHART : columns;
    struct chart chart = {pen, timing->makespan_ns, columns};
    for (int32_t r = 0; timing->makespan_ns > 0 && r < schedule->n_ranks && r < MOST_RANKS; r++) {
        draw_rank(&chart, schedule, r, timing);
    }
    if (schedule->n_ranks > MOST_RANKS) {
        inq_out_printf(pen->out, "         and %" PRId32 " more ranks\n",
                       schedule->n_ranks - MOST_RANKS);
    }
    inq_out_text(pen->out,
                 "  number: micro-batch; plain forward, \" full backward, ' input gradient, "
                 "w weight gradient, . idle\n");
}

static void figures(const struct inq_pen *pen, const struct inq_schedule *schedule,
                    const struct inq_schedule_timing *timing)
{
    char makespan[32];
    inq_out_printf(pen->out,
                   "%s: %" PRId32 " ranks, %" PRId32 " stages, %" PRId32 " micro-batches\n",
                   schedule->kind, schedule->n_ranks, schedule->n_stages, schedule->n_microbatches);
    inq_out_printf(pen->out,
                   "makespan %s; bubble ratio %.4f (idle share of all ranks' makespan); "
                   "bubble_rate_zb %.4f; peak %.6g activations\n",
                   inq_time_format(timing->makespan_ns, makespan, sizeof makespan),
                   timing->bubble_ratio, timing->bubble_rate_zb, timing->peak_memory);
}

static void rank_table(const struct inq_pen *pen, const struct inq_schedule *schedule,
                       const struct inq_schedule_timing *timing)
{
    enum { MOST_ROWS = 32 };
    inq_out_text(pen->out, "\nrank        busy        idle  peak activations\n");
    for (int32_t r = 0; r < schedule->n_ranks && r < MOST_ROWS; r++) {
        char busy[32];
        char idle[32];
        const struct inq_schedule_rank_time *row = &timing->ranks[r];
        inq_out_printf(pen->out, "%4" PRId32 "  %10s  %10s  %16.6g\n", r,
                       inq_time_format(row->busy_ns, busy, sizeof busy),
                       inq_time_format(row->idle_ns, idle, sizeof idle), row->peak_memory);
    }
}

void inq_schedule_text(const struct inq_schedule *schedule,
                       const struct inq_schedule_timing *timing, const struct inq_pen *pen)
{
    figures(pen, schedule, timing);
    inq_out_text(pen->out, "\n");
    draw_chart(pen, schedule, timing);
    rank_table(pen, schedule, timing);
}

void inq_schedule_text_at(const struct inq_schedule *schedule,
                          const struct inq_schedule_timing *timing, int64_t at_ns,
                          struct inq_out *out)
{
    char text[48];
    inq_out_printf(out, "at %s\n", inq_time_format(at_ns, text, sizeof text));
    for (int32_t r = 0; r < schedule->n_ranks; r++) {
        const struct inq_rank_actions *list = &schedule->ranks[r];
        const char *doing = "idle";
        for (size_t i = 0; i < list->n; i++) {
            /* an op owns its start: at the end of one op the next is what is done */
            bool now = inq_action_computes(&list->actions[i]) && timing->start_ns[r][i] <= at_ns &&
                       at_ns < timing->end_ns[r][i];
            if (now) {
                doing = inq_action_format(&list->actions[i], text, sizeof text);
                break;
            }
        }
        inq_out_printf(out, "rank %3" PRId32 "  %s\n", r, doing);
    }
}
