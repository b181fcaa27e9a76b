/* SPDX-License-Identifier: Apache-2.0 */
/* Tables on time: per rank, idle by cause, steps. */
#include "inquest/account.h"
#include "report/sections/tables.h"

#include "base/arena_text.h"
#include "base/sort.h"

#include <inttypes.h>
#include <math.h>

enum { BAR = 20, STEPS_SHOWN = 12 };

/* Four parts of a whole as '#', '=', '-' and '.', BAR characters in all. */
static void add_bar(struct inq_table *table, const int64_t parts_ns[4], int64_t whole_ns)
{
    char bar[BAR + 1] = "";
    int64_t sum_ns = 0;
    int at = 0;
    for (int p = 0; p < 4 && whole_ns > 0; p++) {
        sum_ns += parts_ns[p];
        int end = (int)lround((double)sum_ns * BAR / (double)whole_ns);
        for (; at < end && at < BAR; at++) {
            bar[at] = "#=-."[p];
        }
    }
    bar[at] = '\0';
    inq_table_text(table, bar);
}

static void add_stage(const struct inq_context *context, struct inq_table *table, uint32_t r)
{
    inq_table_count(table, context->trace->ranks[r].stage);
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

/* Parts shown of a class. */
enum { PARTS_SHOWN = 3 };

/* "rank 5 2.54 ms, rank 1 0.10 ms": the largest parts of a class. */
static const char *parts_of(const struct inq_context *context, enum inq_account_class cls)
{
    const struct inq_account *account = context->report->account;
    int64_t cells = (int64_t)(account->ranks_judged * account->steps_judged);
    const char *list = "";
    size_t n = 0;
    for (size_t i = 0; i < account->n_parts && n < PARTS_SHOWN; i++) {
        const struct inq_account_part *part = &account->parts[i];
        if (part->cls == cls) {
            list = inq_arena_printf(context->arena, "%s%s%.60s %s", list, n > 0 ? ", " : "",
                                    part->what, inq_context_ns(context, part->total_ns / cells));
            n++;
        }
    }
    return list;
}

static void build_account(const struct inq_context *context, struct inq_table *table)
{
    const struct inq_account *account = context->report->account;
    if (account == NULL || account->t_ns <= 0) {
        return;
    }
    table->title = account->one_interval ? "Where the capture goes" : "Where a step goes";
    const char *judged = account->one_interval
                             ? inq_arena_printf(context->arena, "; %s", account->one_interval_why)
                             : inq_arena_printf(context->arena, "; %zu of %zu steps judged",
                                                account->steps_judged, account->n_steps);
    table->note = inq_arena_printf(
        context->arena, "%s; every nanosecond is in one class%s",
        account->ranks_judged == 1 ? "of one rank"
        : account->one_interval
            ? inq_arena_printf(context->arena, "mean of %zu ranks", account->ranks_judged)
            : inq_arena_printf(context->arena, "per rank and step, mean of %zu ranks",
                               account->ranks_judged),
        judged);
    inq_table_unit(table, account->t_ns);
    inq_table_column(table, INQ_COLUMN_LEFT, "class");
    inq_table_column_ns(table, "time");
    inq_table_column(table, INQ_COLUMN_RIGHT, "%");
    inq_table_column(table, INQ_COLUMN_WRAP, "mostly");
    for (int c = 0; c < INQ_ACCOUNT_CLASS_COUNT; c++) {
        if (account->total_ns[c] > 0) {
            inq_table_text(table, inq_account_class_words((enum inq_account_class)c));
            inq_table_ns(table, account->class_ns[c]);
            inq_table_real(table,
                           100.0 * (double)account->total_ns[c] / (double)account->rank_time_ns, 1);
            inq_table_text(table, parts_of(context, (enum inq_account_class)c));
        }
    }
}

/* ---- the ranks' shares of the account -------------------------------------------------------- */

/* Columns of the rank table: a class, or several that read as one there. */
static const struct rank_column {
    const char *title;
    int bar; /* which part of the bar */
    uint32_t classes;
    const char *note; /* what the title does not say */
} rank_columns[] = {
    {"compute", 0, 1U << INQ_ACCOUNT_COMPUTE, NULL},
    {"unclassified", 0, 1U << INQ_ACCOUNT_UNCLASSIFIED, "kernels of unknown purpose"},
    {"transfer", 1, 1U << INQ_ACCOUNT_TRANSFER, NULL},
    {"wait", 1, 1U << INQ_ACCOUNT_WAIT, "for other ranks to arrive"},
    {"comm.", 1, 1U << INQ_ACCOUNT_COMM, "communication (wait and transfer not separable)"},
    {"copy", 2, 1U << INQ_ACCOUNT_COPY, NULL},
    {"host", 3, 1U << INQ_ACCOUNT_HOST, "idle because the launch came late"},
    {"input", 3, 1U << INQ_ACCOUNT_DEPENDENCY, "idle, waiting for another stage"},
    {"other", 3, 1U << INQ_ACCOUNT_IDLE, NULL},
};
enum { RANK_COLUMNS = sizeof rank_columns / sizeof *rank_columns };

static int64_t column_ns(const struct rank_column *column, const int64_t *class_ns)
{
    int64_t sum_ns = 0;
    for (int c = 0; c < INQ_ACCOUNT_CLASS_COUNT; c++) {
        sum_ns += (column->classes & (1U << c)) != 0 ? class_ns[c] : 0;
    }
    return sum_ns;
}

static size_t steps_judged(const struct inq_account *account, uint32_t rank)
{
    size_t n = 0;
    for (size_t s = 0; s < account->n_steps; s++) {
        n += inq_account_cell_at(account, rank, s)->judged;
    }
    return n;
}

/* What the others waited for each rank in all, by index; NULL: nobody waited. */
static const int64_t *waited_for(const struct inq_context *context)
{
    const struct inq_account *account = context->report->account;
    int64_t *waited_ns =
        inq_arena_array(context->arena, context->trace->n_ranks, sizeof *waited_ns);
    int64_t sum_ns = 0;
    for (size_t i = 0; waited_ns != NULL && i < account->n_waits; i++) {
        const struct inq_account_wait *wait = &account->waits[i];
        if (wait->waited_for < context->trace->n_ranks) {
            waited_ns[wait->waited_for] += wait->end_ns - wait->start_ns;
            sum_ns += wait->end_ns - wait->start_ns;
        }
    }
    return sum_ns > 0 ? waited_ns : NULL;
}

/* A class that takes less than this of every rank's time is one of the others. */
static const double SMALL_SHARE = 0.005;

/* Which columns some picked rank has enough of; the last one, the others, always. */
static uint32_t columns_shown(const struct inq_context *context, const bool *picked)
{
    const struct inq_account *account = context->report->account;
    uint32_t shown = 1U << (RANK_COLUMNS - 1);
    for (size_t r = 0; r < context->trace->n_ranks; r++) {
        const int64_t *class_ns = &account->rank_ns[r * INQ_ACCOUNT_CLASS_COUNT];
        int64_t whole_ns = 0;
        for (int c = 0; c < INQ_ACCOUNT_CLASS_COUNT; c++) {
            whole_ns += class_ns[c];
        }
        for (int c = 0; picked[r] && c < RANK_COLUMNS; c++) {
            int64_t ns = column_ns(&rank_columns[c], class_ns);
            shown |= (double)ns > SMALL_SHARE * (double)whole_ns ? 1U << c : 0;
        }
    }
    return shown;
}

/* One rank's means over its judged steps. */
static void add_rank_account(const struct inq_context *context, struct inq_table *table, uint32_t r,
                             uint32_t shown, const int64_t *waited_ns)
{
    const struct inq_account *account = context->report->account;
    const int64_t *class_ns = &account->rank_ns[(size_t)r * INQ_ACCOUNT_CLASS_COUNT];
    int64_t n = (int64_t)steps_judged(account, r);
    int64_t mean_ns[RANK_COLUMNS] = {0};
    int64_t bar_ns[4] = {0};
    int64_t whole_ns = 0;
    for (int c = 0; c < RANK_COLUMNS; c++) {
        int64_t ns = column_ns(&rank_columns[c], class_ns);
        mean_ns[(shown & (1U << c)) != 0 ? c : RANK_COLUMNS - 1] += n > 0 ? ns / n : 0;
        bar_ns[rank_columns[c].bar] += ns;
        whole_ns += ns;
    }
    inq_table_ns_known(table, n > 0 ? whole_ns / n : -1);
    for (int c = 0; c < RANK_COLUMNS; c++) {
        if ((shown & (1U << c)) != 0) {
            inq_table_ns_known(table, n > 0 ? mean_ns[c] : -1);
        }
    }
    if (waited_ns == NULL) {
        inq_table_text(table, "");
    } else {
        inq_table_ns(table, waited_ns[r] / (int64_t)account->steps_judged);
    }
    add_bar(table, bar_ns, whole_ns);
}

static void build_rank_account(const struct inq_context *context, struct inq_table *table)
{
    const struct inq_account *account = context->report->account;
    size_t left_out;
    const bool *picked =
        inq_pick_ranks(context, inq_rows_shown(context, context->trace->n_ranks), &left_out);
    if (account == NULL || account->t_ns <= 0 || picked == NULL) {
        return;
    }
    const int64_t *waited_ns = waited_for(context);
    uint32_t shown = columns_shown(context, picked);
    table->title = account->one_interval ? "Ranks" : "Ranks, mean of their judged steps";
    const char *note = "";
    for (int c = 0; c < RANK_COLUMNS; c++) {
        if ((shown & (1U << c)) != 0 && rank_columns[c].note != NULL) {
            bool host = rank_columns[c].classes == 1U << INQ_ACCOUNT_HOST;
            note = inq_arena_printf(context->arena, "%s%s: %s; ", note, rank_columns[c].title,
                                    host && account->op_table ? "idle while the host was at work"
                                                              : rank_columns[c].note);
        }
    }
    table->note = inq_arena_printf(
        context->arena, "%s%sshare: compute, communication, copies, idle", note,
        waited_ns != NULL ? "delays: how long all others together waited directly for this rank; "
                          : "");
    inq_table_unit(table, account->t_ns);
    inq_table_column(table, INQ_COLUMN_RANK, "rank");
    bool stages = inq_table_stage_column(context, table);
    inq_table_column_ns(table, account->one_interval ? "time" : "step");
    for (int c = 0; c < RANK_COLUMNS; c++) {
        if ((shown & (1U << c)) != 0) {
            inq_table_column_ns(table, rank_columns[c].title);
        }
    }
    inq_table_column_ns(table, "delays");
    inq_table_column(table, INQ_COLUMN_BAR, "share");
    for (uint32_t r = 0; r < context->trace->n_ranks; r++) {
        if (!picked[r]) {
            continue;
        }
        inq_table_text(table, inq_context_rank(context, r));
        if (stages) {
            add_stage(context, table, r);
        }
        add_rank_account(context, table, r, shown, waited_ns);
    }
    inq_table_left_out(table, left_out);
}

static void build_rank_times(const struct inq_context *context, struct inq_table *table)
{
    const struct inq_report *report = context->report;
    size_t left_out;
    const bool *picked =
        inq_pick_ranks(context, inq_rows_shown(context, context->trace->n_ranks), &left_out);
    if (report->n_rank_times == 0 || picked == NULL) {
        return;
    }
    table->title = "Where each rank's time went";
    table->note = "share: from the left compute, exposed communication, exposed copy, idle; all of "
                  "the span from the first to the last work";
    inq_table_unit(table, longest_span(report));
    inq_table_column(table, INQ_COLUMN_RANK, "rank");
    bool stages = inq_table_stage_column(context, table);
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
        inq_table_text(table, inq_context_rank(context, t->rank));
        if (stages) {
            add_stage(context, table, t->rank);
        }
        inq_table_ns(table, t->span_ns);
        inq_table_ns(table, t->compute_ns);
        inq_table_ns(table, t->exposed_comm_ns);
        inq_table_ns(table, t->exposed_memcpy_ns);
        inq_table_ns(table, t->idle_ns);
        inq_table_real(table, t->overlap_pct, 1);
        const int64_t parts_ns[] = {t->compute_ns, t->exposed_comm_ns, t->exposed_memcpy_ns,
                                    t->idle_ns};
        add_bar(table, parts_ns, t->span_ns);
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

static void build_idle(const struct inq_context *context, struct inq_table *table)
{
    const struct inq_report *report = context->report;
    size_t left_out;
    const bool *picked =
        inq_pick_ranks(context, inq_rows_shown(context, context->trace->n_ranks), &left_out);
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
            inq_table_text(table, inq_context_rank(context, t->rank));
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
static uint32_t *pick_steps(const struct inq_context *context, size_t *n)
{
    const struct inq_report *report = context->report;
    size_t all = context->trace->n_steps;
    uint32_t *order = inq_arena_array(context->arena, all, sizeof *order);
    for (size_t s = 0; order != NULL && s < all; s++) {
        order[s] = (uint32_t)s;
    }
    *n = all;
    if (order == NULL || context->options->verbose || all <= STEPS_SHOWN) {
        return order;
    }
    if (inq_sort(order, all, sizeof *order, by_length, report->step_ns, NULL) != INQ_OK) {
        return NULL;
    }
    *n = STEPS_SHOWN;
    (void)inq_sort(order, *n, sizeof *order, by_index, NULL, NULL);
    return order;
}

static void add_step(const struct inq_context *context, struct inq_table *table, uint32_t s)
{
    const struct inq_report *report = context->report;
    int64_t step_ns = report->step_ns[s];
    double median_ns = (double)report->step_ns_median;
    bool known = step_ns >= 0 && median_ns > 0;
    inq_table_count(table, context->trace->steps[s].number);
    inq_table_text(table, inq_context_at(context, report->step_start_ns[s]));
    if (step_ns >= 0) {
        inq_table_ns(table, step_ns);
    } else {
        inq_table_na(table);
    }
    inq_table_real(table, known ? 100 * (double)step_ns / median_ns : (double)NAN, 1);
    if (report->account == NULL) {
        inq_table_na(table);
    } else {
        const struct inq_account_step *step = &report->account->steps[s];
        inq_table_text(table, step->judged ? "yes"
                                           : inq_arena_printf(context->arena, "no: %s", step->why));
    }
}

static void build_steps(const struct inq_context *context, struct inq_table *table)
{
    const struct inq_report *report = context->report;
    const struct inq_trace *trace = context->trace;
    size_t n = 0;
    if (trace->n_steps == 0 || report->step_ns == NULL) {
        return;
    }
    const uint32_t *steps = pick_steps(context, &n);
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
        table->note = inq_arena_printf(context->arena, "the %zu longest of %zu; -v shows all", n,
                                       trace->n_steps);
    }
    inq_table_unit(table, longest_ns);
    inq_table_column(table, INQ_COLUMN_RIGHT, "step");
    inq_table_column(table, INQ_COLUMN_RIGHT, "start s");
    inq_table_column_ns(table, "length");
    inq_table_column(table, INQ_COLUMN_RIGHT, "of median %");
    inq_table_column(table, INQ_COLUMN_LEFT, "judged");
    for (size_t i = 0; i < n; i++) {
        add_step(context, table, steps[i]);
    }
}

const struct inq_table_kind inq_tables_time[] = {
    {build_account, false, false, INQ_SECTION_ACCOUNT},
    {build_rank_account, false, true, INQ_SECTION_ACCOUNT},
    {build_steps, true, false, INQ_SECTION_ACCOUNT},
    {build_rank_times, false, false, INQ_SECTION_RANKS},
    {build_idle, true, false, INQ_SECTION_RANKS},
    {NULL, false, false, INQ_SECTION_COUNT},
};
