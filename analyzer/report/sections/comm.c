/* SPDX-License-Identifier: Apache-2.0 */
/* Tables on communication: who waited and who arrived last, collectives alike, the worst ones. */
#include "report/sections/tables.h"

#include "base/sort.h"

#include <math.h>

enum { ROWS_SHOWN = 16, WORST_SHOWN = 10 };

static int by_lateness(const void *a, const void *b, void *ctx)
{
    const struct inq_wait *left = a;
    const struct inq_wait *right = b;
    (void)ctx;
    if (left->last_arrivals != right->last_arrivals) {
        return left->last_arrivals < right->last_arrivals ? 1 : -1;
    }
    return (left->wait_ns > right->wait_ns) - (left->wait_ns < right->wait_ns);
}

/* The picked rows, most last arrivals first. */
static struct inq_wait *sorted_waits(const struct inq_context *context, size_t *n, size_t *left_out)
{
    const struct inq_collectives *coll = context->report->collectives;
    const bool *picked =
        inq_pick_ranks(context, inq_rows_shown(context, context->trace->n_ranks), left_out);
    struct inq_wait *waits = inq_arena_array(context->arena, coll->n_waits, sizeof *waits);
    *n = 0;
    if (picked == NULL || waits == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < coll->n_waits; i++) {
        if (picked[coll->waits[i].rank]) {
            waits[(*n)++] = coll->waits[i];
        }
    }
    return inq_sort(waits, *n, sizeof *waits, by_lateness, NULL, NULL) == INQ_OK ? waits : NULL;
}

static void build_waits(const struct inq_context *context, struct inq_table *table)
{
    const struct inq_collectives *coll = context->report->collectives;
    size_t n;
    size_t left_out;
    if (coll == NULL || coll->n_waits == 0 || coll->matched == 0) {
        return;
    }
    const struct inq_wait *waits = sorted_waits(context, &n, &left_out);
    if (waits == NULL) {
        table->code = INQ_NOMEM;
        return;
    }
    int64_t longest_ns = 0;
    for (size_t i = 0; i < coll->n_waits; i++) {
        longest_ns = coll->waits[i].wait_ns > longest_ns ? coll->waits[i].wait_ns : longest_ns;
    }
    table->title = "Who waited for whom in collectives";
    table->note = "last: how often the rank arrived last, that is, the others waited for it; wait: "
                  "its own waiting for the last arrival, summed";
    inq_table_unit(table, longest_ns);
    inq_table_column(table, INQ_COLUMN_RANK, "rank");
    bool stages = inq_table_stage_column(context, table);
    inq_table_columns(table, INQ_COLUMN_RIGHT,
                      (const char *const[]){"collectives", "last", "first", NULL});
    inq_table_column_ns(table, "wait");
    for (size_t i = 0; i < n; i++) {
        inq_table_text(table, inq_context_rank(context, waits[i].rank));
        if (stages) {
            inq_table_count(table, context->trace->ranks[waits[i].rank].stage);
        }
        inq_table_count(table, (int64_t)waits[i].collectives);
        inq_table_count(table, (int64_t)waits[i].last_arrivals);
        inq_table_count(table, (int64_t)waits[i].first_arrivals);
        inq_table_ns(table, waits[i].wait_ns);
    }
    inq_table_left_out(table, left_out);
}

/* Whether NCCL's Inspector, or a profiler like it, recorded how some of them ran. */
static bool has_algorithms(const struct inq_collectives *coll)
{
    bool any = false;
    for (size_t i = 0; i < coll->n_by_op; i++) {
        any = any || coll->by_op[i].algorithm != 0 || coll->by_op[i].channels > 0;
    }
    return any;
}

static void add_algorithm(const struct inq_context *context, struct inq_table *table,
                          const struct inq_coll_stat *s)
{
    if (s->algorithm != 0) {
        inq_table_text(table, inq_trace_str(context->trace, s->algorithm));
    } else {
        inq_table_na(table);
    }
    if (s->channels > 0) {
        inq_table_count(table, s->channels);
    } else {
        inq_table_na(table);
    }
}

static void add_stat(const struct inq_context *context, struct inq_table *table,
                     const struct inq_coll_stat *s)
{
    inq_table_text(table, inq_coll_kind_text(s->kind));
    inq_table_text(table, inq_context_group(context, s->group));
    if (s->group_size > 0) {
        inq_table_count(table, s->group_size);
    } else {
        inq_table_na(table);
    }
    inq_table_count(table, (int64_t)s->count);
    inq_table_real(table, s->bytes >= 0 ? (double)s->bytes / 1e6 : (double)NAN, 3);
    inq_table_ns_known(table, s->transfer_ns_median);
    inq_table_ns_known(table, s->skew_ns_median);
    inq_table_ns_known(table, s->wait_ns);
    inq_table_real(table, s->algbw_gbps, 2);
    inq_table_real(table, s->busbw_gbps, 2);
}

static void build_collectives(const struct inq_context *context, struct inq_table *table)
{
    const struct inq_collectives *coll = context->report->collectives;
    if (coll == NULL || coll->n_by_op == 0) {
        return;
    }
    size_t n = context->options->verbose || coll->n_by_op < ROWS_SHOWN ? coll->n_by_op : ROWS_SHOWN;
    int64_t longest_ns = 0;
    int64_t transfer_ns = 0;
    for (size_t i = 0; i < coll->n_by_op; i++) {
        const struct inq_coll_stat *s = &coll->by_op[i];
        longest_ns = s->wait_ns > longest_ns ? s->wait_ns : longest_ns;
        transfer_ns = s->transfer_ns_median > transfer_ns ? s->transfer_ns_median : transfer_ns;
        transfer_ns = s->skew_ns_median > transfer_ns ? s->skew_ns_median : transfer_ns;
    }
    table->title = "Collectives";
    table->note = "transfer: from the last arrival to the end, median; skew: last minus first "
                  "arrival, median; wait: summed over ranks; GB = 1e9 bytes, bandwidth as in "
                  "nccl-tests";
    inq_table_unit(table, transfer_ns);
    inq_table_column(table, INQ_COLUMN_LEFT, "op");
    inq_table_column(table, INQ_COLUMN_STRETCH, "group");
    inq_table_columns(table, INQ_COLUMN_RIGHT, (const char *const[]){"ranks", "count", "MB", NULL});
    inq_table_column_ns(table, "transfer");
    inq_table_column_ns(table, "skew");
    inq_table_unit(table, longest_ns);
    inq_table_column_ns(table, "wait");
    inq_table_column(table, INQ_COLUMN_RIGHT, "alg GB/s");
    inq_table_column(table, INQ_COLUMN_RIGHT, "bus GB/s");
    bool algorithms = has_algorithms(coll);
    if (algorithms) {
        inq_table_column(table, INQ_COLUMN_LEFT, "algorithm");
        inq_table_column(table, INQ_COLUMN_RIGHT, "channels");
    }
    for (size_t i = 0; i < n; i++) {
        add_stat(context, table, &coll->by_op[i]);
        if (algorithms) {
            add_algorithm(context, table, &coll->by_op[i]);
        }
    }
    inq_table_left_out(table, coll->n_by_op - n);
}

static void build_worst(const struct inq_context *context, struct inq_table *table)
{
    const struct inq_collectives *coll = context->report->collectives;
    if (coll == NULL || coll->n_worst == 0) {
        return;
    }
    size_t n =
        context->options->verbose || coll->n_worst < WORST_SHOWN ? coll->n_worst : WORST_SHOWN;
    table->title = "Collectives that were waited for longest";
    table->note = "wait: summed over ranks; times count from the first event of the run";
    int64_t transfer_ns = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t ns = coll->worst[i].transfer_ns;
        transfer_ns = ns > transfer_ns ? ns : transfer_ns;
    }
    inq_table_unit(table, coll->worst[0].wait_ns);
    inq_table_column(table, INQ_COLUMN_LEFT, "op");
    inq_table_column(table, INQ_COLUMN_STRETCH, "group");
    inq_table_column(table, INQ_COLUMN_RIGHT, "number");
    inq_table_column(table, INQ_COLUMN_RANK, "last rank");
    inq_table_column_ns(table, "skew");
    inq_table_column_ns(table, "wait");
    inq_table_unit(table, transfer_ns);
    inq_table_column_ns(table, "transfer");
    inq_table_column(table, INQ_COLUMN_RIGHT, "start s");
    inq_table_column(table, INQ_COLUMN_RIGHT, "end s");
    for (size_t i = 0; i < n; i++) {
        const struct inq_coll_worst *w = &coll->worst[i];
        const struct inq_collective *c = &context->trace->collectives[w->collective];
        inq_table_text(table, inq_coll_kind_text(c->kind));
        inq_table_text(table, inq_context_group(context, c->group));
        inq_table_count(table, c->seq);
        inq_table_text(table, inq_context_rank(context, w->last_rank));
        inq_table_ns(table, w->skew_ns);
        inq_table_ns(table, w->wait_ns);
        inq_table_ns(table, w->transfer_ns);
        inq_table_text(table, inq_context_at(context, w->start_ns));
        inq_table_text(table, inq_context_at(context, w->end_ns));
    }
    inq_table_left_out(table, coll->n_worst - n);
}

const struct inq_table_kind inq_tables_comm[] = {
    {build_waits, false, false, INQ_SECTION_COLLECTIVES},
    {build_collectives, false, false, INQ_SECTION_COLLECTIVES},
    {build_worst, true, false, INQ_SECTION_COLLECTIVES},
    {NULL, false, false, INQ_SECTION_COUNT},
};
