/* SPDX-License-Identifier: Apache-2.0 */
/* Tables on the pipeline: the waterfall, the stages, the steps. */
#include "report/sections/tables.h"

#include "base/arena_text.h"

#include <inttypes.h>
#include <math.h>

enum { STEPS_SHOWN = 8 };

static double percent(int64_t part_ns, int64_t whole_ns)
{
    return whole_ns > 0 ? 100 * (double)part_ns / (double)whole_ns : (double)NAN;
}

static const char *count(const struct inq_context *context, int32_t n, const char *one,
                         const char *many)
{
    return inq_context_plural(context, n > 0 ? (uint64_t)n : 0, one, many);
}

static void build_waterfall(const struct inq_context *context, struct inq_table *table)
{
    const struct inq_pipeline *p = context->report->pipeline;
    if (p == NULL || p->n_waterfall == 0) {
        return;
    }
    const char *theory =
        isfinite(p->bubble_ratio_theory)
            ? inq_arena_printf(context->arena, "%.1f %%", 100 * p->bubble_ratio_theory)
            : "N/A";
    table->title = "Pipeline: what a step is made of";
    table->note = inq_arena_printf(
        context->arena,
        "schedule %s (%s, confidence %.2f), %s, %s, %s per stage, %s; bubble ratio %.1f %%, in "
        "theory %s; the parts sum to the mean recorded step",
        p->schedule, p->source, p->confidence, count(context, p->stages, "stage", "stages"),
        count(context, p->microbatches, "micro-batch", "micro-batches"),
        count(context, p->chunks, "model chunk", "model chunks"),
        count(context, p->replicas, "replica", "replicas"), 100 * p->bubble_ratio, theory);
    inq_table_unit(table, p->total_ns_per_step);
    inq_table_column(table, INQ_COLUMN_LEFT, "part");
    inq_table_column_ns(table, "per step");
    inq_table_column(table, INQ_COLUMN_RIGHT, "of step %");
    for (size_t i = 0; i < p->n_waterfall; i++) {
        inq_table_words(table, p->waterfall[i].cause);
        inq_table_ns(table, p->waterfall[i].ns_per_step);
        inq_table_real(table, percent(p->waterfall[i].ns_per_step, p->total_ns_per_step), 1);
    }
    inq_table_text(table, "step");
    inq_table_ns(table, p->total_ns_per_step);
    inq_table_real(table, percent(p->total_ns_per_step, p->total_ns_per_step), 1);
}

static void build_stages(const struct inq_context *context, struct inq_table *table)
{
    const struct inq_pipeline *p = context->report->pipeline;
    if (p == NULL || p->n_per_stage == 0) {
        return;
    }
    size_t n = inq_rows_shown(context, p->n_per_stage);
    table->title = "Pipeline stages";
    table->note = "forward, backward: mean of a micro-batch; the other columns: mean of a step and "
                  "worker, compute to idle sum to the step";
    inq_table_unit(table, p->total_ns_per_step);
    inq_table_column(table, INQ_COLUMN_RIGHT, "stage");
    inq_table_column_ns(table, "forward");
    inq_table_column_ns(table, "backward");
    inq_table_column_ns(table, "compute");
    inq_table_column_ns(table, "P2P");
    inq_table_column_ns(table, "sync");
    inq_table_column_ns(table, "other");
    inq_table_column_ns(table, "idle");
    inq_table_column_ns(table, "bubble");
    for (size_t i = 0; i < n; i++) {
        const struct inq_stage_time *s = &p->per_stage[i];
        inq_table_count(table, s->stage);
        inq_table_ns(table, s->forward_ns);
        inq_table_ns(table, s->backward_ns);
        inq_table_ns(table, s->compute_ns);
        inq_table_ns(table, s->p2p_ns);
        inq_table_ns(table, s->sync_ns);
        inq_table_ns(table, s->other_ns);
        inq_table_ns(table, s->idle_ns);
        inq_table_ns(table, s->bubble_ns);
    }
    inq_table_left_out(table, p->n_per_stage - n);
}

/* The part of the waterfall, other than the ideal, that cost this step most. */
static void add_largest_part(const struct inq_pipeline *p, const struct inq_pipeline_step *step,
                             struct inq_table *table)
{
    size_t largest = 0;
    for (size_t i = 2; i < p->n_waterfall && step->parts_ns != NULL; i++) {
        if (largest == 0 || step->parts_ns[i] > step->parts_ns[largest]) {
            largest = i;
        }
    }
    if (step->parts_ns == NULL || largest == 0) {
        inq_table_text(table, step->warm_up ? "warm-up, set aside" : "N/A");
        return;
    }
    inq_table_printf(table, "%s (%.1f %%)", p->waterfall[largest].cause,
                     percent(step->parts_ns[largest], step->dur_ns));
}

static void build_pipeline_steps(const struct inq_context *context, struct inq_table *table)
{
    const struct inq_pipeline *p = context->report->pipeline;
    if (p == NULL || p->n_steps == 0) {
        return;
    }
    size_t n = context->options->verbose || p->n_steps < STEPS_SHOWN ? p->n_steps : STEPS_SHOWN;
    int64_t longest_ns = 0;
    for (size_t i = 0; i < p->n_steps; i++) {
        longest_ns = p->steps[i].dur_ns > longest_ns ? p->steps[i].dur_ns : longest_ns;
    }
    table->title = "Pipeline steps, longest first";
    if (p->n_dropped_steps > 0) {
        table->note = inq_arena_printf(context->arena,
                                       "%zu steps whose ops differ from the others' are not "
                                       "modeled",
                                       p->n_dropped_steps);
    }
    inq_table_unit(table, longest_ns);
    inq_table_column(table, INQ_COLUMN_RIGHT, "step");
    inq_table_column_ns(table, "length");
    inq_table_column(table, INQ_COLUMN_RIGHT, "bubble %");
    inq_table_column(table, INQ_COLUMN_LEFT, "largest part above ideal and schedule");
    for (size_t i = 0; i < n; i++) {
        inq_table_count(table, p->steps[i].step);
        inq_table_ns(table, p->steps[i].dur_ns);
        inq_table_real(table, 100 * p->steps[i].bubble_ratio, 1);
        add_largest_part(p, &p->steps[i], table);
    }
    inq_table_left_out(table, p->n_steps - n);
}

const struct inq_table_kind inq_tables_pipeline[] = {
    {build_waterfall, false, false, INQ_SECTION_PIPELINE},
    {build_stages, false, false, INQ_SECTION_PIPELINE},
    {build_pipeline_steps, true, false, INQ_SECTION_PIPELINE},
    {NULL, false, false, INQ_SECTION_COUNT},
};
