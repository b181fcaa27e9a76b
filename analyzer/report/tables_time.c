/* SPDX-License-Identifier: Apache-2.0 */
/* Tables on time: per rank, idle by cause, steps. */
#include "report/tables.h"

#include "base/say.h"
#include "base/sort.h"

#include <inttypes.h>
#include <math.h>

enum { BAR = 20, STEPS_SHOWN = 12 };

/* The four shares of the span as '#', '=', '-' and '.', BAR characters in all. */
static void add_bar(struct inq_table *table, const struct inq_rank_time *t)
{
    const int64_t parts_ns[] = {t->compute_ns, t->exposed_comm_ns, t->exposed_memcpy_ns,
                                t->idle_ns};
    char bar[BAR + 1] = "";
    int64_t sum_ns = 0;
    int at = 0;
    for (int p = 0; p < 4 && t->span_ns > 0; p++) {
        sum_ns += parts_ns[p];
        int end = (int)lround((double)sum_ns * BAR / (double)t->span_ns);
        for (; at < end && at < BAR; at++) {
            bar[at] = "#=-."[p];
        }
    }
    bar[at] = '\0';
    inq_table_text(table, bar);
}

static void add_stage(const struct inq_view *view, struct inq_table *table, uint32_t r)
{
    inq_table_count(table, view->trace->ranks[r].stage);
}

static int64_t longest_span(const struct inq_report *report)
{
    int64_t longest_ns = 0;
    for (size_t i = 0; i < report->n_rank_times; i++) {
        int64_t span_ns = report->rank_times[i].span_ns;
        longest_ns = span_ns > longest_ns ? span_ns : longest_ns;
    }
    return longest_ns;
}

void inq_table_rank_times(const struct inq_view *view, struct inq_table *table)
{
    const struct inq_report *report = view->report;
    size_t left_out;
    const bool *picked = inq_pick_ranks(view, &left_out);
    if (report->n_rank_times == 0 || picked == NULL) {
        return;
    }
    table->title = "Where each rank's GPU time went";
    table->note = "share: from the left compute, exposed communication, exposed copy, idle; all of "
                  "the span from the first to the last GPU work";
    inq_table_unit(table, longest_span(report));
    inq_table_column(table, INQ_COLUMN_RANK, "rank");
    bool stages = inq_table_stage_column(view, table);
    inq_table_column_ns(table, "span");
    inq_table_column_ns(table, "compute");
    inq_table_column_ns(table, "exp.comm");
    inq_table_column_ns(table, "exp.copy");
    inq_table_column_ns(table, "idle");
    inq_table_column(table, INQ_COLUMN_RIGHT, "overlap %");
    inq_table_column(table, INQ_COLUMN_BAR, "share");
    for (size_t i = 0; i < report->n_rank_times; i++) {
        const struct inq_rank_time *t = &report->rank_times[i];
        if (!picked[t->rank]) {
            continue;
        }
        inq_table_text(table, inq_view_rank(view, t->rank));
        if (stages) {
            add_stage(view, table, t->rank);
        }
        inq_table_ns(table, t->span_ns);
        inq_table_ns(table, t->compute_ns);
        inq_table_ns(table, t->exposed_comm_ns);
        inq_table_ns(table, t->exposed_memcpy_ns);
        inq_table_ns(table, t->idle_ns);
        inq_table_real(table, t->overlap_pct, 1);
        add_bar(table, t);
    }
    inq_table_left_out(table, left_out);
}

static bool any_causes(const struct inq_report *report)
{
    for (size_t i = 0; i < report->n_rank_times; i++) {
        if (report->rank_times[i].idle_causes_known) {
            return true;
        }
    }
    return false;
}

static void add_idle(struct inq_table *table, const struct inq_rank_time *t)
{
    inq_table_ns(table, t->idle_ns);
    if (!t->idle_causes_known) {
        for (int i = 0; i < 5; i++) {
            inq_table_na(table);
        }
        return;
    }
    inq_table_ns(table, t->idle_host_ns);
    inq_table_ns(table, t->idle_kernel_ns);
    inq_table_ns(table, t->idle_other_ns);
    inq_table_count(table, (int64_t)t->host_gaps);
    inq_table_ns(table, t->host_late_ns);
}

void inq_table_idle(const struct inq_view *view, struct inq_table *table)
{
    const struct inq_report *report = view->report;
    size_t left_out;
    const bool *picked = inq_pick_ranks(view, &left_out);
    if (!any_causes(report) || picked == NULL) {
        return;
    }
    table->title = "Idle time by cause";
    table->note = "host: the launch came after the gap had begun; kernel: launched in time, gap "
                  "under 30 us; other: launched in time, waited for another stream or rank";
    inq_table_unit(table, longest_span(report));
    inq_table_column(table, INQ_COLUMN_RANK, "rank");
    inq_table_column_ns(table, "idle");
    inq_table_column_ns(table, "host");
    inq_table_column_ns(table, "kernel");
    inq_table_column_ns(table, "other");
    inq_table_column(table, INQ_COLUMN_RIGHT, "late launches");
    inq_table_column_ns(table, "late by");
    for (size_t i = 0; i < report->n_rank_times; i++) {
        const struct inq_rank_time *t = &report->rank_times[i];
        if (picked[t->rank]) {
            inq_table_text(table, inq_view_rank(view, t->rank));
            add_idle(table, t);
        }
    }
    inq_table_left_out(table, left_out);
}

static int by_length(const void *a, const void *b, void *ctx)
{
    const int64_t *step_ns = ctx;
    int64_t left_ns = step_ns[*(const uint32_t *)a];
    int64_t right_ns = step_ns[*(const uint32_t *)b];
    return (left_ns < right_ns) - (left_ns > right_ns);
}

static int by_index(const void *a, const void *b, void *ctx)
{
    uint32_t left = *(const uint32_t *)a;
    uint32_t right = *(const uint32_t *)b;
    (void)ctx;
    return (left > right) - (left < right);
}

/* The steps to show, in order: all, or the longest. */
static uint32_t *pick_steps(const struct inq_view *view, size_t *n)
{
    const struct inq_report *report = view->report;
    size_t all = view->trace->n_steps;
    uint32_t *order = inq_arena_array(view->arena, all, sizeof *order);
    for (size_t s = 0; order != NULL && s < all; s++) {
        order[s] = (uint32_t)s;
    }
    *n = all;
    if (order == NULL || view->options->verbose || all <= STEPS_SHOWN) {
        return order;
    }
    if (inq_sort(order, all, sizeof *order, by_length, report->step_ns, NULL) != INQ_OK) {
        return NULL;
    }
    *n = STEPS_SHOWN;
    (void)inq_sort(order, *n, sizeof *order, by_index, NULL, NULL);
    return order;
}

void inq_table_steps(const struct inq_view *view, struct inq_table *table)
{
    const struct inq_report *report = view->report;
    const struct inq_trace *trace = view->trace;
    size_t n = 0;
    if (trace->n_steps == 0 || report->step_ns == NULL) {
        return;
    }
    const uint32_t *steps = pick_steps(view, &n);
    if (steps == NULL) {
        table->code = INQ_NOMEM;
        return;
    }
    int64_t longest_ns = 0;
    for (size_t s = 0; s < trace->n_steps; s++) {
        longest_ns = report->step_ns[s] > longest_ns ? report->step_ns[s] : longest_ns;
    }
    table->title =
        trace->steps_inferred ? "Steps (inferred from repetition, not recorded)" : "Steps";
    if (n < trace->n_steps) {
        table->note =
            inq_say(view->arena, "the %zu longest of %zu; -v shows all", n, trace->n_steps);
    }
    inq_table_unit(table, longest_ns);
    inq_table_column(table, INQ_COLUMN_RIGHT, "step");
    inq_table_column(table, INQ_COLUMN_RIGHT, "start s");
    inq_table_column_ns(table, "length");
    inq_table_column(table, INQ_COLUMN_RIGHT, "of median %");
    for (size_t i = 0; i < n; i++) {
        int64_t step_ns = report->step_ns[steps[i]];
        double median_ns = (double)report->step_ns_median;
        inq_table_count(table, trace->steps[steps[i]].number);
        inq_table_text(table, inq_view_at(view, trace->steps[steps[i]].start_ns));
        inq_table_ns(table, step_ns);
        inq_table_real(table, median_ns > 0 ? 100 * (double)step_ns / median_ns : (double)NAN, 1);
    }
}
