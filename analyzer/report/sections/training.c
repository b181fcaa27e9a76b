/* SPDX-License-Identifier: Apache-2.0 */
/* Tables on the training output. */
#include "inquest/training.h"
#include "base/arena_text.h"
#include "report/sections/tables.h"

#include <inttypes.h>

static void build_training(const struct inq_context *context, struct inq_table *table)
{
    const struct inq_training *t = context->report->training;
    if (t == NULL) {
        return;
    }
    table->title = "Training output";
    table->note = inq_arena_printf(
        context->arena, "from %.200s%s%s", t->file,
        t->numbered ? "" : "; it prints no steps: rows are counted",
        t->sampled ? "; a long log: after its first rows only stretches of it were read" : "");
    inq_table_columns(table, INQ_COLUMN_RIGHT,
                      (const char *const[]){"rows", "steps", "restarts", "first loss", "least",
                                            "last", "step s", "throughput", NULL});
    inq_table_count(table, (int64_t)t->n_rows);
    inq_table_printf(table, "%" PRId64 "-%" PRId64, t->first_step, t->last_step);
    inq_table_count(table, (int64_t)t->n_restarts);
    inq_table_real(table, t->loss_first, 4);
    inq_table_real(table, t->loss_least, 4);
    inq_table_real(table, t->loss_last, 4);
    inq_table_real(table, t->step_s, 3);
    inq_table_real(table, t->throughput, 1);
}

static void build_training_events(const struct inq_context *context, struct inq_table *table)
{
    const struct inq_training *t = context->report->training;
    if (t == NULL || t->n_events == 0) {
        return;
    }
    table->title = "Where training went wrong";
    table->note =
        t->n_left_out == 0
            ? "against what was usual in the 50 rows before"
            : inq_arena_printf(context->arena,
                               "against what was usual in the 50 rows before; limit: %zu more that "
                               "weigh less are left out",
                               t->n_left_out);
    inq_table_columns(table, INQ_COLUMN_RIGHT,
                      (const char *const[]){"from step", "to step", "line", NULL});
    inq_table_column(table, INQ_COLUMN_LEFT, "kind");
    inq_table_column(table, INQ_COLUMN_RIGHT, "measured");
    inq_table_column(table, INQ_COLUMN_RIGHT, "expected");
    for (size_t i = 0; i < t->n_events; i++) {
        const struct inq_training_event *event = &t->events[i];
        inq_table_count(table, event->first_step);
        inq_table_count(table, event->last_step);
        inq_table_count(table, (int64_t)event->line);
        inq_table_words(table, inq_training_event_text(event->kind));
        inq_table_real(table, event->measured, 4);
        inq_table_real(table, event->expected, 4);
    }
}

const struct inq_table_kind inq_tables_training[] = {
    {build_training, false, true, INQ_SECTION_TRAINING},
    {build_training_events, false, true, INQ_SECTION_TRAINING},
    {NULL, false, false, INQ_SECTION_COUNT},
};
