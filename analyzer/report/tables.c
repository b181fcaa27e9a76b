/* SPDX-License-Identifier: Apache-2.0 */
#include "report/tables.h"

#include "base/say.h"
#include "base/sort.h"

const struct inq_table_kind inq_report_tables[] = {
    {inq_table_failure, false},
    {inq_table_failure_moments, false},
    {inq_table_failure_evidence, false},
    {inq_table_failure_victims, false},
    {inq_table_failure_groups, true},
    {inq_table_failure_stacks, true},
    {inq_table_training, false},
    {inq_table_training_events, false},
    {inq_table_hta_times, false},
    {inq_table_hta_idle, true},
    {inq_table_hta_kernels, false},
    {inq_table_tl_times, false},
    {inq_table_tl_stragglers, false},
    {inq_table_tl_summary, true},
    {inq_table_tl_collectives, true},
    {inq_table_waterfall, false},
    {inq_table_stages, false},
    {inq_table_pipeline_steps, true},
    {inq_table_whatif, false},
    {inq_table_causes, false},
    {inq_table_whatif_parts, true},
    {inq_table_workers, true},
    {inq_table_scenarios, false},
    {inq_table_rank_times, false},
    {inq_table_idle, true},
    {inq_table_waits, false},
    {inq_table_collectives, false},
    {inq_table_worst, true},
    {inq_table_path, false},
    {inq_table_path_ranks, true},
    {inq_table_path_segments, true},
    {inq_table_steps, true},
    {inq_table_clocks, true},
    {inq_table_files, true},
    {NULL, false},
};

bool inq_table_stage_column(const struct inq_view *view, struct inq_table *table)
{
    for (size_t r = 0; r < view->trace->n_ranks; r++) {
        if (view->trace->ranks[r].stage >= 0) {
            inq_table_column(table, INQ_COLUMN_RIGHT, "stage");
            return true;
        }
    }
    return false;
}

/* Index of the rank with this number, or n_ranks. */
static size_t find_rank(const struct inq_trace *trace, int32_t number)
{
    size_t r = 0;
    while (r < trace->n_ranks && trace->ranks[r].rank != number) {
        r++;
    }
    return r;
}

/* Takes rank r when it is wanted and there is room; returns 1 if it did. */
static size_t pick(const struct inq_view *view, bool *picked, size_t r, size_t room)
{
    if (room == 0 || r >= view->trace->n_ranks || picked[r] ||
        !inq_view_shows(view, view->trace->ranks[r].rank)) {
        return 0;
    }
    picked[r] = true;
    return 1;
}

static size_t pick_named(const struct inq_view *view, bool *picked, size_t room)
{
    size_t taken = 0;
    for (size_t f = 0; f < view->report->n_findings; f++) {
        const struct inq_finding *finding = &view->report->findings[f];
        for (size_t i = 0; i < finding->n_ranks; i++) {
            taken += pick(view, picked, find_rank(view->trace, finding->ranks[i]), room - taken);
        }
    }
    return taken;
}

static int by_last_arrivals(const void *a, const void *b, void *ctx)
{
    const struct inq_wait *left = *(const struct inq_wait *const *)a;
    const struct inq_wait *right = *(const struct inq_wait *const *)b;
    (void)ctx;
    return (left->last_arrivals < right->last_arrivals) -
           (left->last_arrivals > right->last_arrivals);
}

static size_t pick_late(const struct inq_view *view, bool *picked, size_t room)
{
    const struct inq_collectives *coll = view->report->collectives;
    if (coll == NULL) {
        return 0;
    }
    const struct inq_wait **order = inq_arena_array(view->arena, coll->n_waits, sizeof(void *));
    for (size_t i = 0; order != NULL && i < coll->n_waits; i++) {
        order[i] = &coll->waits[i];
    }
    if (order == NULL ||
        inq_sort(order, coll->n_waits, sizeof(void *), by_last_arrivals, NULL, NULL) != INQ_OK) {
        return 0;
    }
    size_t taken = 0;
    for (size_t i = 0; i < coll->n_waits && taken < room; i++) {
        taken += pick(view, picked, order[i]->rank, room - taken);
    }
    return taken;
}

const bool *inq_pick_ranks(const struct inq_view *view, size_t *left_out)
{
    return inq_pick_most_ranks(view, view->options->verbose ? SIZE_MAX : INQ_TABLE_ROWS, left_out);
}

const bool *inq_pick_most_ranks(const struct inq_view *view, size_t most, size_t *left_out)
{
    size_t n = view->trace->n_ranks;
    size_t wanted = 0;
    bool *picked = inq_arena_array(view->arena, n, sizeof *picked);
    *left_out = 0;
    if (picked == NULL) {
        return NULL;
    }
    for (size_t r = 0; r < n; r++) {
        wanted += inq_view_shows(view, view->trace->ranks[r].rank);
    }
    size_t room = wanted < most ? wanted : most;
    *left_out = wanted - room;
    if (*left_out > 0) {
        room -= pick_named(view, picked, room);
        room -= pick_late(view, picked, room);
    }
    for (size_t r = 0; r < n && room > 0; r++) {
        room -= pick(view, picked, r, room);
    }
    return picked;
}
