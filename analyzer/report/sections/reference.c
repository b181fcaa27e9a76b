/* SPDX-License-Identifier: Apache-2.0 */
/* The peers' own numbers, in their units and rounding (--method hta, --method tracelens). */
#include "report/sections/tables.h"

#include <inttypes.h>

enum { ROWS_SHOWN = 24 };

static const struct inq_reference *peers_of(const struct inq_context *context,
                                            enum inq_method method)
{
    return context->report->method == method ? context->report->reference : NULL;
}

static size_t limit(const struct inq_context *context, size_t n)
{
    return context->options->verbose || n < ROWS_SHOWN ? n : ROWS_SHOWN;
}

static void build_hta_times(const struct inq_context *context, struct inq_table *table)
{
    const struct inq_reference *peers = peers_of(context, INQ_METHOD_HTA);
    size_t left_out;
    const bool *picked =
        inq_pick_ranks(context, inq_rows_shown(context, context->trace->n_ranks), &left_out);
    if (peers == NULL || peers->n_rank_times == 0 || picked == NULL) {
        return;
    }
    table->title = "HTA: temporal breakdown and communication overlap";
    table->note = "as HolisticTraceAnalysis prints them, in us; its definitions are not ours";
    inq_table_column(table, INQ_COLUMN_RANK, "rank");
    inq_table_columns(table, INQ_COLUMN_RIGHT,
                      (const char *const[]){"idle us", "compute us", "non-compute us", "kernel us",
                                            "idle %", "compute %", "non-comp. %", "overlap %",
                                            NULL});
    for (size_t i = 0; i < peers->n_rank_times; i++) {
        const struct inq_reference_rank_time *t = &peers->rank_times[i];
        if (!picked[t->rank]) {
            continue;
        }
        inq_table_text(table, inq_context_rank(context, t->rank));
        inq_table_count(table, t->hta_idle_us);
        inq_table_count(table, t->hta_compute_us);
        inq_table_count(table, t->hta_non_compute_us);
        inq_table_count(table, t->hta_kernel_us);
        inq_table_real(table, t->hta_idle_pct, 2);
        inq_table_real(table, t->hta_compute_pct, 2);
        inq_table_real(table, t->hta_non_compute_pct, 2);
        inq_table_real(table, t->hta_overlap_pct, 2);
    }
    inq_table_left_out(table, left_out);
}

static void add_streams(const struct inq_context *context, struct inq_table *table,
                        const struct inq_reference_rank_time *t)
{
    for (size_t s = 0; s < t->n_streams; s++) {
        const struct inq_reference_idle *idle = &t->streams[s];
        inq_table_text(table, inq_context_rank(context, t->rank));
        inq_table_count(table, idle->stream);
        inq_table_real(table, idle->host_wait_us, 3);
        inq_table_real(table, idle->kernel_wait_us, 3);
        inq_table_real(table, idle->other_us, 3);
        inq_table_real(table, idle->host_wait_ratio, 2);
        inq_table_real(table, idle->kernel_wait_ratio, 2);
        inq_table_real(table, idle->other_ratio, 2);
    }
}

static void build_hta_idle(const struct inq_context *context, struct inq_table *table)
{
    const struct inq_reference *peers = peers_of(context, INQ_METHOD_HTA);
    size_t left_out;
    const bool *picked =
        inq_pick_ranks(context, inq_rows_shown(context, context->trace->n_ranks), &left_out);
    if (peers == NULL || peers->n_rank_times == 0 || picked == NULL) {
        return;
    }
    table->title = "HTA: idle time breakdown per stream";
    table->note = "threshold 30 us; N/A where HTA has no row";
    inq_table_column(table, INQ_COLUMN_RANK, "rank");
    inq_table_columns(table, INQ_COLUMN_RIGHT,
                      (const char *const[]){"stream", "host us", "kernel us", "other us", "host",
                                            "kernel", "other", NULL});
    for (size_t i = 0; i < peers->n_rank_times; i++) {
        if (picked[peers->rank_times[i].rank]) {
            add_streams(context, table, &peers->rank_times[i]);
        }
    }
    inq_table_left_out(table, left_out);
}

static void build_hta_kernels(const struct inq_context *context, struct inq_table *table)
{
    const struct inq_reference *peers = peers_of(context, INQ_METHOD_HTA);
    if (peers == NULL || peers->n_kernel_types == 0) {
        return;
    }
    table->title = "HTA: kernel types, all ranks";
    inq_table_column(table, INQ_COLUMN_LEFT, "kernel type");
    inq_table_column(table, INQ_COLUMN_RIGHT, "sum us");
    inq_table_column(table, INQ_COLUMN_RIGHT, "%");
    for (size_t i = 0; i < peers->n_kernel_types; i++) {
        inq_table_text(table, peers->kernel_types[i].type);
        inq_table_count(table, peers->kernel_types[i].sum_us);
        inq_table_real(table, peers->kernel_types[i].pct, 1);
    }
}

static void build_tl_times(const struct inq_context *context, struct inq_table *table)
{
    const struct inq_reference *peers = peers_of(context, INQ_METHOD_TRACELENS);
    size_t left_out;
    const bool *picked =
        inq_pick_ranks(context, inq_rows_shown(context, context->trace->n_ranks), &left_out);
    if (peers == NULL || peers->n_rank_times == 0 || picked == NULL) {
        return;
    }
    table->title = "TraceLens: GPU timeline";
    table->note = "as TraceLens prints it, in us; its definitions are not ours";
    inq_table_column(table, INQ_COLUMN_RANK, "rank");
    inq_table_columns(table, INQ_COLUMN_RIGHT,
                      (const char *const[]){"computation us", "exp. comm us", "exp. memcpy us",
                                            "idle us", "total us", NULL});
    for (size_t i = 0; i < peers->n_rank_times; i++) {
        const struct inq_reference_rank_time *t = &peers->rank_times[i];
        if (!picked[t->rank]) {
            continue;
        }
        inq_table_text(table, inq_context_rank(context, t->rank));
        inq_table_real(table, t->tl_computation_us, 3);
        inq_table_real(table, t->tl_exposed_comm_us, 3);
        inq_table_real(table, t->tl_exposed_memcpy_us, 3);
        inq_table_real(table, t->tl_idle_us, 3);
        inq_table_real(table, t->tl_total_us, 3);
    }
    inq_table_left_out(table, left_out);
}

static void build_tl_stragglers(const struct inq_context *context, struct inq_table *table)
{
    const struct inq_reference *peers = peers_of(context, INQ_METHOD_TRACELENS);
    size_t left_out;
    const bool *picked =
        inq_pick_ranks(context, inq_rows_shown(context, context->trace->n_ranks), &left_out);
    if (peers == NULL || peers->n_stragglers == 0 || picked == NULL) {
        return;
    }
    table->title = "TraceLens: straggler summary";
    table->note = "the first row waited least";
    inq_table_column(table, INQ_COLUMN_RANK, "rank");
    inq_table_columns(table, INQ_COLUMN_RIGHT,
                      (const char *const[]){"total wait us", "mean wait us", "last", "first",
                                            "collectives", "last %", "total dur us", NULL});
    for (size_t i = 0; i < peers->n_stragglers; i++) {
        const struct inq_tl_straggler *s = &peers->stragglers[i];
        if (!picked[s->rank]) {
            continue;
        }
        inq_table_text(table, inq_context_rank(context, s->rank));
        inq_table_real(table, s->total_wait_us, 1);
        inq_table_real(table, s->mean_wait_us, 1);
        inq_table_count(table, (int64_t)s->last);
        inq_table_count(table, (int64_t)s->first);
        inq_table_count(table, (int64_t)s->collectives);
        inq_table_real(table, s->last_pct, 1);
        inq_table_real(table, s->total_dur_us, 1);
    }
    inq_table_left_out(table, left_out);
}

static void build_tl_summary(const struct inq_context *context, struct inq_table *table)
{
    const struct inq_reference *peers = peers_of(context, INQ_METHOD_TRACELENS);
    if (peers == NULL || peers->n_summaries == 0) {
        return;
    }
    size_t n = limit(context, peers->n_summaries);
    table->title = "TraceLens: collectives alike";
    table->note = "means; GB/s are GiB/s there; deviations are in the JSON";
    inq_table_column(table, INQ_COLUMN_STRETCH, "collective");
    inq_table_column(table, INQ_COLUMN_LEFT, "dtype");
    inq_table_columns(table, INQ_COLUMN_RIGHT,
                      (const char *const[]){"in elements", "ranks", "count", "MiB", "latency us",
                                            "skew us", "alg GB/s", "bus GB/s", NULL});
    for (size_t i = 0; i < n; i++) {
        const struct inq_tl_summary *s = &peers->summaries[i];
        inq_table_text(table, s->name);
        inq_table_text(table, s->dtype);
        inq_table_count(table, s->in_elems);
        inq_table_count(table, s->group_size);
        inq_table_count(table, (int64_t)s->count);
        inq_table_real(table, s->full_mb, 3);
        inq_table_real(table, s->latency_mean, 3);
        inq_table_real(table, s->skew_start_mean, 3);
        inq_table_real(table, s->algbw_mean, 2);
        inq_table_real(table, s->busbw_mean, 2);
    }
    inq_table_left_out(table, peers->n_summaries - n);
}

static void build_tl_collectives(const struct inq_context *context, struct inq_table *table)
{
    const struct inq_reference *peers = peers_of(context, INQ_METHOD_TRACELENS);
    if (peers == NULL || peers->n_collectives == 0) {
        return;
    }
    size_t n = limit(context, peers->n_collectives);
    table->title = "TraceLens: collectives";
    inq_table_column(table, INQ_COLUMN_LEFT, "id");
    inq_table_column(table, INQ_COLUMN_STRETCH, "collective");
    inq_table_columns(table, INQ_COLUMN_RIGHT,
                      (const char *const[]){"ranks", "MiB", "latency us", "start skew us",
                                            "mean wait us", "end skew us", "bus GB/s", NULL});
    for (size_t i = 0; i < n; i++) {
        const struct inq_tl_collective *c = &peers->collectives[i];
        inq_table_text(table, c->id);
        inq_table_text(table, c->name);
        inq_table_count(table, c->group_size);
        inq_table_real(table, c->full_mb, 3);
        inq_table_real(table, c->latency_us, 3);
        inq_table_real(table, c->skew_start_us, 3);
        inq_table_real(table, c->avg_wait_us, 3);
        inq_table_real(table, c->skew_end_us, 3);
        inq_table_real(table, c->busbw, 2);
    }
    inq_table_left_out(table, peers->n_collectives - n);
}

const struct inq_table_kind inq_tables_reference[] = {
    {build_hta_times, false, true, INQ_SECTION_METHOD},
    {build_hta_idle, true, true, INQ_SECTION_METHOD},
    {build_hta_kernels, false, true, INQ_SECTION_METHOD},
    {build_tl_times, false, true, INQ_SECTION_METHOD},
    {build_tl_stragglers, false, true, INQ_SECTION_METHOD},
    {build_tl_summary, true, true, INQ_SECTION_METHOD},
    {build_tl_collectives, true, true, INQ_SECTION_METHOD},
    {NULL, false, false, INQ_SECTION_COUNT},
};
