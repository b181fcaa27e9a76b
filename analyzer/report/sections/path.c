/* SPDX-License-Identifier: Apache-2.0 */
/* Tables on the critical path: by kind, by rank, its longest segments. */
#include "report/sections/tables.h"

#include "base/arena_text.h"

#include <inttypes.h>
#include <math.h>

enum { SEGMENTS_SHOWN = 12 };

static double percent(int64_t part_ns, int64_t whole_ns)
{
    return whole_ns > 0 ? 100 * (double)part_ns / (double)whole_ns : (double)NAN;
}

static void add_parts(struct inq_table *table, const char *by,
                      const struct inq_waterfall_part *parts, size_t n, int64_t whole_ns)
{
    for (size_t i = 0; i < n; i++) {
        inq_table_text(table, by);
        inq_table_text(table, parts[i].cause);
        inq_table_ns(table, parts[i].ns_per_step);
        inq_table_real(table, percent(parts[i].ns_per_step, whole_ns), 1);
    }
}

static void build_path(const struct inq_context *context, struct inq_table *table)
{
    const struct inq_critical_path *path = context->report->critical_path;
    if (path == NULL) {
        return;
    }
    table->title = "Critical path";
    if (path->step >= 0) {
        table->note = inq_arena_printf(context->arena,
                                       "of step %" PRId64 ", from %s s on, %s long: the chain of "
                                       "work over all ranks that made it as long as it was",
                                       path->step, inq_context_at(context, path->start_ns),
                                       inq_context_ns(context, path->length_ns));
    } else {
        table->note = inq_arena_printf(context->arena, "%s long, from %s s on",
                                       inq_context_ns(context, path->length_ns),
                                       inq_context_at(context, path->start_ns));
    }
    inq_table_unit(table, path->length_ns);
    inq_table_column(table, INQ_COLUMN_LEFT, "by");
    inq_table_column(table, INQ_COLUMN_STRETCH, "what");
    inq_table_column_ns(table, "on path");
    inq_table_column(table, INQ_COLUMN_RIGHT, "of path %");
    add_parts(table, "kind", path->by_kind, path->n_by_kind, path->length_ns);
    add_parts(table, "stage", path->by_stage, path->n_by_stage, path->length_ns);
}

static void build_path_ranks(const struct inq_context *context, struct inq_table *table)
{
    const struct inq_critical_path *path = context->report->critical_path;
    size_t left_out;
    const bool *picked =
        inq_pick_ranks(context, inq_rows_shown(context, context->trace->n_ranks), &left_out);
    if (path == NULL || path->n_slack == 0 || picked == NULL) {
        return;
    }
    table->title = "Critical path by rank";
    table->note = "slack: by how much the rank's other ops could end later without a longer step";
    inq_table_unit(table, path->length_ns);
    inq_table_column(table, INQ_COLUMN_RANK, "rank");
    inq_table_column_ns(table, "on path");
    inq_table_column(table, INQ_COLUMN_RIGHT, "of path %");
    inq_table_column_ns(table, "least slack");
    inq_table_column_ns(table, "median slack");
    for (size_t i = 0; i < path->n_slack; i++) {
        const struct inq_rank_slack *s = &path->slack[i];
        if (picked[s->rank]) {
            inq_table_text(table, inq_context_rank(context, s->rank));
            inq_table_ns(table, s->on_path_ns);
            inq_table_real(table, percent(s->on_path_ns, path->length_ns), 1);
            inq_table_ns_known(table, s->min_ns);
            inq_table_ns_known(table, s->median_ns);
        }
    }
    inq_table_left_out(table, left_out);
}

static void build_path_segments(const struct inq_context *context, struct inq_table *table)
{
    const struct inq_critical_path *path = context->report->critical_path;
    size_t shown = 0;
    size_t left_out = 0;
    if (path == NULL || path->n_segments == 0) {
        return;
    }
    table->title = "Longest segments of the critical path";
    if (path->n_segments_left_out > 0) {
        table->note =
            inq_arena_printf(context->arena, "limit: %zu shorter ones, %s in all, are left out",
                             path->n_segments_left_out, inq_context_ns(context, path->left_out_ns));
    }
    inq_table_unit(table, path->length_ns);
    inq_table_column(table, INQ_COLUMN_RANK, "rank");
    inq_table_column(table, INQ_COLUMN_LEFT, "kind");
    inq_table_column_ns(table, "length");
    inq_table_column(table, INQ_COLUMN_RIGHT, "start s");
    inq_table_column(table, INQ_COLUMN_RIGHT, "end s");
    inq_table_column(table, INQ_COLUMN_STRETCH, "what");
    for (size_t i = 0; i < path->n_segments; i++) {
        const struct inq_path_segment *s = &path->segments[i];
        if (s->rank >= 0 && !inq_context_shows(context, s->rank)) {
            continue;
        }
        if (shown++ >= SEGMENTS_SHOWN && !context->options->verbose) {
            left_out++;
            continue;
        }
        if (s->rank >= 0) {
            inq_table_count(table, s->rank);
        } else {
            inq_table_na(table);
        }
        inq_table_text(table, s->kind);
        inq_table_ns(table, s->end_ns - s->start_ns);
        inq_table_text(table, inq_context_at(context, s->start_ns));
        inq_table_text(table, inq_context_at(context, s->end_ns));
        inq_table_text(table, s->what);
    }
    inq_table_left_out(table, left_out);
}

const struct inq_table_kind inq_tables_path[] = {
    {build_path, false, false, INQ_SECTION_CRITICAL_PATH},
    {build_path_ranks, true, false, INQ_SECTION_CRITICAL_PATH},
    {build_path_segments, true, false, INQ_SECTION_CRITICAL_PATH},
    {NULL, false, false, INQ_SECTION_COUNT},
};
