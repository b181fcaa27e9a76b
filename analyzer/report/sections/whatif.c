/* SPDX-License-Identifier: Apache-2.0 */
/* Tables on what-if: what a step would take if parts of the job were ideal. */
#include "report/sections/tables.h"

#include "base/sort.h"

#include <inttypes.h>
#include <math.h>

enum { PARTS_SHOWN = 16 };

static const struct inq_whatif *whatif_of(const struct inq_context *context)
{
    return context->report->whatif;
}

static void build_whatif(const struct inq_context *context, struct inq_table *table)
{
    const struct inq_whatif *w = whatif_of(context);
    if (w == NULL) {
        return;
    }
    table->title = "What if no part were slower than its like";
    table->note =
        "T: simulated step with the recorded durations; T ideal: with every op as long as "
        "its like; S = T / T ideal; the model's error is T with launch delays against "
        "the recorded step";
    inq_table_unit(table, w->t_ns);
    inq_table_column_ns(table, "recorded");
    inq_table_column_ns(table, "replayed");
    inq_table_column_ns(table, "T");
    inq_table_column_ns(table, "T ideal");
    inq_table_columns(table, INQ_COLUMN_RIGHT,
                      (const char *const[]){"S", "launch S", "M_W", "M_S", "fwd-bwd corr.", NULL});
    inq_table_ns_known(table, w->recorded_ns);
    inq_table_ns_known(table, w->replayed_ns);
    inq_table_ns(table, w->t_ns);
    inq_table_ns(table, w->t_ideal_ns);
    inq_table_real(table, w->slowdown, 4);
    inq_table_real(table, w->launch_slowdown, 4);
    inq_table_real(table, w->m_w, 3);
    inq_table_real(table, w->m_s, 3);
    inq_table_real(table, w->forward_backward_correlation, 3);
}

static void build_causes(const struct inq_context *context, struct inq_table *table)
{
    const struct inq_whatif *w = whatif_of(context);
    if (w == NULL || w->n_causes == 0) {
        return;
    }
    table->title = "Known root causes, tested by taking each away";
    table->note =
        "saves: with its ops as long as their like, so a longer stage loses work; a finding "
        "moves the work to other stages and gains less; of loss: of what T takes longer "
        "than T ideal; 100: all of it or more";
    inq_table_unit(table, w->t_ns);
    inq_table_column(table, INQ_COLUMN_LEFT, "cause");
    inq_table_column_ns(table, "saves");
    inq_table_column(table, INQ_COLUMN_RIGHT, "of loss %");
    inq_table_column(table, INQ_COLUMN_LEFT, "fits");
    inq_table_column(table, INQ_COLUMN_WRAP, "why");
    for (size_t i = 0; i < w->n_causes; i++) {
        const struct inq_whatif_cause *c = &w->causes[i];
        inq_table_text(table, c->kind);
        inq_table_ns(table, c->saved_ns);
        inq_table_real(table, 100 * fmin(c->share, 1.0), 1);
        inq_table_text(table, c->fits ? "yes" : "no");
        inq_table_text(table, c->what);
    }
}

static int by_slowdown(const void *a, const void *b, void *ctx)
{
    const struct inq_named_ratio *left = *(const struct inq_named_ratio *const *)a;
    const struct inq_named_ratio *right = *(const struct inq_named_ratio *const *)b;
    (void)ctx;
    return (left->slowdown < right->slowdown) - (left->slowdown > right->slowdown);
}

/* The rows to show, in their order; of many the slowest, slowest first. *n: how many there are and
 * then how many are shown. NULL: none, or no memory (the table knows). */
static const struct inq_named_ratio **pick(const struct inq_context *context,
                                           struct inq_table *table,
                                           const struct inq_named_ratio *rows, size_t *n)
{
    const struct inq_named_ratio **picked = inq_arena_array(context->arena, *n, sizeof(void *));
    size_t wanted = 0;
    for (size_t i = 0; picked != NULL && i < *n; i++) {
        if (rows[i].rank < 0 || inq_context_shows(context, rows[i].rank)) {
            picked[wanted++] = &rows[i];
        }
    }
    if (picked == NULL) {
        table->code = INQ_NOMEM;
    } else if (wanted > PARTS_SHOWN && !context->options->verbose) {
        table->code = inq_sort(picked, wanted, sizeof(void *), by_slowdown, NULL, NULL);
        wanted = PARTS_SHOWN;
    }
    *n = wanted;
    return table->code == INQ_OK ? picked : NULL;
}

/* Adds the rows of one kind of part; returns how many were left out. */
static size_t add_ratios(const struct inq_context *context, struct inq_table *table, const char *of,
                         const struct inq_named_ratio *rows, size_t n)
{
    size_t shown = n;
    const struct inq_named_ratio **picked = pick(context, table, rows, &shown);
    for (size_t i = 0; picked != NULL && i < shown; i++) {
        inq_table_text(table, of);
        inq_table_text(table, picked[i]->name);
        inq_table_real(table, picked[i]->slowdown, 4);
    }
    return n - shown;
}

static void build_whatif_parts(const struct inq_context *context, struct inq_table *table)
{
    const struct inq_whatif *w = whatif_of(context);
    size_t left_out = 0;
    if (w == NULL || w->n_by_op_type + w->n_by_stage + w->n_by_dp_rank == 0) {
        return;
    }
    table->title = "Slowdown by part";
    table->note =
        "S of a part: the step with this part as recorded and all else ideal, over T ideal; of "
        "many stages or DP ranks the slowest";
    inq_table_column(table, INQ_COLUMN_LEFT, "by");
    inq_table_column(table, INQ_COLUMN_STRETCH, "part");
    inq_table_column(table, INQ_COLUMN_RIGHT, "S");
    left_out += add_ratios(context, table, "op type", w->by_op_type, w->n_by_op_type);
    left_out += add_ratios(context, table, "stage", w->by_stage, w->n_by_stage);
    left_out += add_ratios(context, table, "DP rank", w->by_dp_rank, w->n_by_dp_rank);
    inq_table_left_out(table, left_out);
}

static void add_number(struct inq_table *table, int32_t number)
{
    if (number < 0) {
        inq_table_na(table);
    } else {
        inq_table_count(table, number);
    }
}

static void build_workers(const struct inq_context *context, struct inq_table *table)
{
    const struct inq_whatif *w = whatif_of(context);
    if (w == NULL || w->n_by_worker == 0) {
        return;
    }
    size_t shown = w->n_by_worker;
    const struct inq_named_ratio **picked = pick(context, table, w->by_worker, &shown);
    table->title = "Slowdown by worker";
    table->note = "of many the slowest";
    inq_table_column(table, INQ_COLUMN_LEFT, "worker");
    inq_table_columns(table, INQ_COLUMN_RIGHT,
                      (const char *const[]){"stage", "DP rank", "S", NULL});
    for (size_t i = 0; picked != NULL && i < shown; i++) {
        inq_table_text(table, picked[i]->name);
        add_number(table, picked[i]->stage);
        add_number(table, picked[i]->dp_rank);
        inq_table_real(table, picked[i]->slowdown, 4);
    }
    inq_table_left_out(table, w->n_by_worker - shown);
}

static void build_scenarios(const struct inq_context *context, struct inq_table *table)
{
    const struct inq_whatif *w = whatif_of(context);
    if (w == NULL || w->n_scenarios == 0) {
        return;
    }
    table->title = "What-if questions";
    inq_table_unit(table, w->t_ns);
    inq_table_column(table, INQ_COLUMN_STRETCH, "question");
    inq_table_column_ns(table, "T");
    inq_table_column(table, INQ_COLUMN_RIGHT, "speed-up");
    inq_table_column(table, INQ_COLUMN_WRAP, "problem");
    for (size_t i = 0; i < w->n_scenarios; i++) {
        const struct inq_whatif_scenario *s = &w->scenarios[i];
        bool answered = s->problem == NULL || s->problem[0] == '\0';
        inq_table_text(table, s->spec);
        if (answered) {
            inq_table_ns(table, s->t_ns);
            inq_table_real(table, s->speedup, 4);
            inq_table_text(table, "");
        } else {
            inq_table_na(table);
            inq_table_na(table);
            inq_table_text(table, s->problem);
        }
    }
}

const struct inq_table_kind inq_tables_whatif[] = {
    {build_whatif, false, false, INQ_SECTION_WHATIF},
    {build_causes, false, false, INQ_SECTION_WHATIF},
    {build_whatif_parts, true, false, INQ_SECTION_WHATIF},
    {build_workers, true, false, INQ_SECTION_WHATIF},
    {build_scenarios, false, true, INQ_SECTION_WHATIF},
    {NULL, false, false, INQ_SECTION_COUNT},
};
