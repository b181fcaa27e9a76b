/* SPDX-License-Identifier: Apache-2.0 */
/* Tables on what-if: what a step would take if parts of the job were ideal. */
#include "report/tables.h"

#include <inttypes.h>

static const struct inq_whatif *whatif_of(const struct inq_view *view)
{
    return view->report->whatif;
}

void inq_table_whatif(const struct inq_view *view, struct inq_table *table)
{
    const struct inq_whatif *w = whatif_of(view);
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
    inq_table_column(table, INQ_COLUMN_RIGHT, "S");
    inq_table_column(table, INQ_COLUMN_RIGHT, "launch S");
    inq_table_column(table, INQ_COLUMN_RIGHT, "M_W");
    inq_table_column(table, INQ_COLUMN_RIGHT, "M_S");
    inq_table_column(table, INQ_COLUMN_RIGHT, "fwd-bwd corr.");
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

void inq_table_causes(const struct inq_view *view, struct inq_table *table)
{
    const struct inq_whatif *w = whatif_of(view);
    if (w == NULL || w->n_causes == 0) {
        return;
    }
    table->title = "Known root causes, tested by taking each away";
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
        inq_table_real(table, 100 * c->share, 1);
        inq_table_text(table, c->fits ? "yes" : "no");
        inq_table_text(table, c->what);
    }
}

static void add_ratios(struct inq_table *table, const char *of, const struct inq_named_ratio *rows,
                       size_t n)
{
    for (size_t i = 0; i < n; i++) {
        inq_table_text(table, of);
        inq_table_text(table, rows[i].name);
        inq_table_real(table, rows[i].slowdown, 4);
    }
}

void inq_table_whatif_parts(const struct inq_view *view, struct inq_table *table)
{
    const struct inq_whatif *w = whatif_of(view);
    enum { MOST = 64 };
    if (w == NULL || w->n_by_op_type + w->n_by_stage + w->n_by_dp_rank == 0) {
        return;
    }
    size_t stages = w->n_by_stage < MOST || view->options->verbose ? w->n_by_stage : MOST;
    size_t replicas = w->n_by_dp_rank < MOST || view->options->verbose ? w->n_by_dp_rank : MOST;
    table->title = "Slowdown by part";
    table->note =
        "S of a part: the step with this part as recorded and all else ideal, over T ideal";
    inq_table_column(table, INQ_COLUMN_LEFT, "by");
    inq_table_column(table, INQ_COLUMN_STRETCH, "part");
    inq_table_column(table, INQ_COLUMN_RIGHT, "S");
    add_ratios(table, "op type", w->by_op_type, w->n_by_op_type);
    add_ratios(table, "stage", w->by_stage, stages);
    add_ratios(table, "DP rank", w->by_dp_rank, replicas);
    inq_table_left_out(view, table, w->n_by_stage - stages + w->n_by_dp_rank - replicas);
}

void inq_table_workers(const struct inq_view *view, struct inq_table *table)
{
    const struct inq_whatif *w = whatif_of(view);
    if (w == NULL || w->n_by_worker == 0) {
        return;
    }
    size_t shown = 0;
    size_t left_out = 0;
    table->title = "Slowdown by worker";
    inq_table_column(table, INQ_COLUMN_LEFT, "worker");
    inq_table_column(table, INQ_COLUMN_RIGHT, "stage");
    inq_table_column(table, INQ_COLUMN_RIGHT, "DP rank");
    inq_table_column(table, INQ_COLUMN_RIGHT, "S");
    for (size_t i = 0; i < w->n_by_worker; i++) {
        const struct inq_named_ratio *worker = &w->by_worker[i];
        if (worker->rank >= 0 && !inq_view_shows(view, worker->rank)) {
            continue;
        }
        if (shown++ >= INQ_TABLE_ROWS && !view->options->verbose) {
            left_out++;
            continue;
        }
        inq_table_text(table, worker->name);
        inq_table_count(table, worker->stage);
        inq_table_count(table, worker->dp_rank);
        inq_table_real(table, worker->slowdown, 4);
    }
    inq_table_left_out(view, table, left_out);
}

void inq_table_scenarios(const struct inq_view *view, struct inq_table *table)
{
    const struct inq_whatif *w = whatif_of(view);
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
