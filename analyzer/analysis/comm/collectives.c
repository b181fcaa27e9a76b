/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives matched across ranks: who waited, who arrived last, how fast the transfers were. */
#include "analysis/comm/comm.h"

#include "analysis/analysis.h"
#include "base/arena.h"
#include "base/mem.h"
#include "base/par.h"
#include "base/sort.h"
#include "base/stats.h"
#include "trace/trace.h"

#include <math.h>

enum { WORST = 10, CHUNK = 512 };

static int64_t add(int64_t a, int64_t b)
{
    int64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* ---- figures of every collective, in chunks side by side ------------------------------------- */

struct all_figures {
    const struct inq_trace *trace;
    struct inq_coll_figures *figures; /* [n_collectives] */
};

static int one_chunk(void *ctx, size_t chunk, struct inq_err *err)
{
    struct all_figures *all = ctx;
    size_t from = chunk * CHUNK;
    size_t to = from + CHUNK < all->trace->n_collectives ? from + CHUNK : all->trace->n_collectives;
    uint32_t most = 1;

    for (size_t i = from; i < to; i++) {
        uint32_t n = all->trace->collectives[i].n_members;
        most = n > most ? n : most;
    }
    int64_t *scratch = inq_mem_alloc(most * sizeof(*scratch));
    if (!scratch) {
        return inq_err_set(err, INQ_NOMEM, "no memory for a collective of %u members", most);
    }
    for (size_t i = from; i < to; i++) {
        if (all->trace->collectives[i].n_members > 0) {
            inq_coll_figures(all->trace, &all->trace->collectives[i], scratch, &all->figures[i]);
        }
    }
    inq_mem_free(scratch);
    return INQ_OK;
}

/* ---- by rank -------------------------------------------------------------------------------- */

static void add_waits(const struct inq_trace *trace, const struct inq_collective *collective,
                      const struct inq_coll_figures *figures, struct inq_wait *waits)
{
    if (collective->n_members < 2 || collective->ends_disagree) {
        return;
    }
    for (uint32_t i = 0; i < collective->n_members; i++) {
        const struct inq_member *member = &trace->members[collective->first_member + i];
        struct inq_wait *wait = &waits[member->rank];
        wait->wait_ns =
            add(wait->wait_ns, inq_coll_wait_ns(trace, collective, member, figures->last_start_ns));
        wait->collectives++;
    }
    waits[figures->last_rank].last_arrivals++;
    waits[figures->first_rank].first_arrivals++;
}

/* One row for each rank that takes part in a collective. */
static int fill_waits(const struct all_figures *all, struct inq_arena *arena,
                      struct inq_collectives *out, struct inq_err *err)
{
    const struct inq_trace *trace = all->trace;
    struct inq_wait *waits = inq_arena_array(arena, trace->n_ranks, sizeof(*waits));

    if (!waits) {
        return inq_err_set(err, INQ_NOMEM, "no memory for the waits of %zu ranks", trace->n_ranks);
    }
    for (size_t i = 0; i < trace->n_collectives; i++) {
        add_waits(trace, &trace->collectives[i], &all->figures[i], waits);
    }
    out->waits = waits;
    for (size_t r = 0; r < trace->n_ranks; r++) {
        if (waits[r].collectives > 0) {
            waits[out->n_waits] = waits[r];
            waits[out->n_waits++].rank = (uint32_t)r;
        }
    }
    return INQ_OK;
}

/* ---- by operation and group ------------------------------------------------------------------ */

static int compare_ops(const void *a, const void *b, void *ctx)
{
    const struct inq_trace *trace = ctx;
    const struct inq_collective *x = &trace->collectives[*(const uint32_t *)a];
    const struct inq_collective *y = &trace->collectives[*(const uint32_t *)b];

    if (x->group != y->group) {
        return x->group < y->group ? -1 : 1;
    }
    return (x->kind > y->kind) - (x->kind < y->kind);
}

static int32_t group_size(const struct inq_trace *trace, const struct inq_collective *collective)
{
    if (collective->group < trace->n_groups && trace->groups[collective->group].size > 0) {
        return trace->groups[collective->group].size;
    }
    return (int32_t)collective->n_members;
}

/* What most of the collectives ran with, of those that are known; of equals the first. A job uses a
 * few: what comes later than MOST others is not counted. */
static inq_str usual_algorithm(const struct all_figures *all, const uint32_t *order, size_t n)
{
    enum { MOST = 16 };
    inq_str names[MOST];
    size_t counts[MOST] = {0};
    size_t n_names = 0;
    size_t best = 0;
    for (size_t i = 0; i < n; i++) {
        inq_str name = all->figures[order[i]].algorithm;
        size_t k = 0;
        while (k < n_names && names[k] != name) {
            k++;
        }
        if (name != 0 && k < MOST) {
            names[k] = name;
            n_names = k == n_names ? n_names + 1 : n_names;
            counts[k]++;
        }
    }
    for (size_t k = 1; k < n_names; k++) {
        best = counts[k] > counts[best] ? k : best;
    }
    return n_names > 0 ? names[best] : 0;
}

static int32_t usual_channels(const struct all_figures *all, const uint32_t *order, size_t n,
                              int64_t *column)
{
    size_t n_known = 0;
    for (size_t i = 0; i < n; i++) {
        int32_t channels = all->figures[order[i]].channels;
        if (channels > 0) {
            column[n_known++] = channels;
        }
    }
    return n_known > 0 ? (int32_t)inq_median_i64(column, n_known) : -1;
}

/* The collectives in order[0 .. n): one row. `column` is scratch, [n]. */
static void fill_row(const struct all_figures *all, const uint32_t *order, size_t n,
                     int64_t *column, struct inq_coll_stat *row)
{
    const struct inq_collective *first = &all->trace->collectives[order[0]];
    int64_t sized_bytes = 0;
    int64_t sized_ns = 0;
    size_t n_sized = 0;

    *row = (struct inq_coll_stat){.kind = first->kind,
                                  .group = first->group,
                                  .group_size = group_size(all->trace, first),
                                  .count = n,
                                  .bytes = -1};
    for (size_t i = 0; i < n; i++) {
        const struct inq_coll_figures *f = &all->figures[order[i]];
        row->wait_ns = add(row->wait_ns, f->wait_ns);
        if (f->bytes >= 0) {
            sized_bytes = add(sized_bytes, f->bytes);
            sized_ns = add(sized_ns, f->transfer_ns);
            column[n_sized++] = f->bytes;
        }
    }
    if (n_sized > 0) {
        row->bytes = inq_median_i64(column, n_sized);
    }
    row->algorithm = usual_algorithm(all, order, n);
    row->channels = usual_channels(all, order, n, column);
    row->algbw_gbps = sized_bytes > 0 && sized_ns > 0 ? (double)sized_bytes / (double)sized_ns
                                                      : (double)NAN; /* bytes/ns = GB/s */
    row->busbw_gbps = row->algbw_gbps * inq_coll_bus_factor(row->kind, row->group_size);
    for (size_t i = 0; i < n; i++) {
        column[i] = all->figures[order[i]].transfer_ns;
    }
    row->transfer_ns_median = inq_median_i64(column, n);
    for (size_t i = 0; i < n; i++) {
        column[i] = all->figures[order[i]].skew_ns;
    }
    row->skew_ns_median = inq_median_i64(column, n);
}

/* Most waiting first; then as they come by group and kind. */
static int compare_rows(const void *a, const void *b, void *ctx)
{
    const struct inq_coll_stat *x = a;
    const struct inq_coll_stat *y = b;

    (void)ctx;
    return (x->wait_ns < y->wait_ns) - (x->wait_ns > y->wait_ns);
}

static int fill_by_op(const struct all_figures *all, struct inq_arena *arena, uint32_t *order,
                      int64_t *column, struct inq_collectives *out, struct inq_err *err)
{
    struct inq_trace unowned = *all->trace; /* the comparison takes no const */
    size_t n = all->trace->n_collectives;
    size_t rows = 0;
    int code = inq_sort(order, n, sizeof(*order), compare_ops, &unowned, err);

    if (code != INQ_OK) {
        return code;
    }
    for (size_t i = 0; i < n; i++) {
        rows += i == 0 || compare_ops(&order[i - 1], &order[i], &unowned) != 0;
    }
    out->by_op = inq_arena_array(arena, rows, sizeof(*out->by_op));
    if (!out->by_op) {
        return inq_err_set(err, INQ_NOMEM, "no memory for %zu kinds of collectives", rows);
    }
    for (size_t i = 0; i < n;) {
        size_t end = i + 1;
        while (end < n && compare_ops(&order[i], &order[end], &unowned) == 0) {
            end++;
        }
        fill_row(all, &order[i], end - i, column, &out->by_op[out->n_by_op++]);
        i = end;
    }
    return inq_sort(out->by_op, out->n_by_op, sizeof(*out->by_op), compare_rows, NULL, err);
}

/* ---- the worst ------------------------------------------------------------------------------ */

/* Keeps the WORST by waiting, most first, the earlier of equals first. */
static int fill_worst(const struct all_figures *all, struct inq_arena *arena,
                      struct inq_collectives *out, struct inq_err *err)
{
    out->worst = inq_arena_array(arena, WORST, sizeof(*out->worst));
    if (!out->worst) {
        return inq_err_set(err, INQ_NOMEM, "no memory for the worst collectives");
    }
    for (size_t i = 0; i < all->trace->n_collectives; i++) {
        const struct inq_coll_figures *f = &all->figures[i];
        size_t place = out->n_worst;
        while (place > 0 && f->wait_ns > out->worst[place - 1].wait_ns) {
            place--;
        }
        if (place == WORST || f->wait_ns <= 0) {
            continue;
        }
        out->n_worst += out->n_worst < WORST;
        for (size_t k = out->n_worst - 1; k > place; k--) {
            out->worst[k] = out->worst[k - 1];
        }
        out->worst[place] = (struct inq_coll_worst){
            .collective = (uint32_t)i,
            .last_rank = f->last_rank,
            .start_ns = f->first_start_ns,
            .end_ns = f->last_end_ns,
            .wait_ns = f->wait_ns,
            .transfer_ns = f->transfer_ns,
            .skew_ns = f->skew_ns,
        };
    }
    return INQ_OK;
}

/* ---- all of it ------------------------------------------------------------------------------ */

static void fill_totals(const struct all_figures *all, struct inq_collectives *out)
{
    out->matched = all->trace->n_collectives;
    out->unmatched = all->trace->unmatched_comms;
    out->ends_spread_ns_max = -1;
    out->raw_ends_spread_ns_max = -1;
    for (size_t i = 0; i < all->trace->n_collectives; i++) {
        const struct inq_coll_figures *f = &all->figures[i];
        out->uneven += all->trace->collectives[i].ends_disagree;
        if (f->spread_ns > out->ends_spread_ns_max) {
            out->ends_spread_ns_max = f->spread_ns;
        }
        if (f->raw_spread_ns > out->raw_ends_spread_ns_max) {
            out->raw_ends_spread_ns_max = f->raw_spread_ns;
        }
    }
}

static int fill(struct all_figures *all, struct inq_arena *arena, struct inq_collectives *out,
                struct inq_err *err)
{
    size_t n = all->trace->n_collectives;
    uint32_t *order = inq_mem_alloc(n * sizeof(*order));
    int64_t *column = inq_mem_alloc(n * sizeof(*column));
    int code;

    if (!order || !column) {
        code = inq_err_set(err, INQ_NOMEM, "no memory for %zu collectives", n);
        goto out;
    }
    for (size_t i = 0; i < n; i++) {
        order[i] = (uint32_t)i;
    }
    fill_totals(all, out);
    code = fill_waits(all, arena, out, err);
    if (code == INQ_OK) {
        code = fill_by_op(all, arena, order, column, out, err);
    }
    if (code == INQ_OK) {
        code = fill_worst(all, arena, out, err);
    }
out:
    inq_mem_free(order);
    inq_mem_free(column);
    return code;
}

int inq_run_collectives(const struct inq_trace *trace, const struct inq_analysis_options *options,
                        struct inq_report *report, struct inq_err *err)
{
    size_t n = trace->n_collectives;

    if (n == 0 && trace->unmatched_comms == 0) {
        return INQ_OK;
    }
    struct inq_collectives *out = inq_arena_alloc(report->arena, sizeof(*out));
    struct all_figures all = {trace, inq_mem_zalloc(n, sizeof(*all.figures))};
    int code;

    if (!out || !all.figures) {
        code = inq_err_set(err, INQ_NOMEM, "no memory for %zu collectives", n);
        goto out;
    }
    code = inq_par_for((n + CHUNK - 1) / CHUNK, options->jobs, one_chunk, &all, err);
    if (code == INQ_OK) {
        code = fill(&all, report->arena, out, err);
    }
    if (code == INQ_OK) {
        report->collectives = out;
    }
out:
    inq_mem_free(all.figures);
    return code;
}
