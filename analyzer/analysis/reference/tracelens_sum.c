/* SPDX-License-Identifier: Apache-2.0 */
/* TraceLens 1.0's summaries over its collectives: by name, type and size, and by rank. */
#include "analysis/reference/tracelens.h"
#include "analysis/measure/measure.h"
#include "base/arena.h"
#include "base/mem.h"
#include "base/sort.h"

#include <math.h>
#include <string.h>

/* ---- collectives alike ---------------------------------------------------------------------- */

struct moments { /* Welford's running mean and squared deviation */
    double mean, squares;
};

static void observe(struct moments *m, double x, uint64_t count)
{
    double delta = x - m->mean;

    m->mean += delta / (double)count;
    m->squares += delta * (x - m->mean);
}

static double deviation(const struct moments *m, uint64_t count)
{
    return count > 1 ? sqrt(m->squares / (double)(count - 1)) : (double)NAN;
}

static int compare_alike(const void *a, const void *b, void *ctx)
{
    const struct inq_tl_collective *all = ctx;
    const struct inq_tl_collective *x = &all[*(const uint32_t *)a];
    const struct inq_tl_collective *y = &all[*(const uint32_t *)b];
    int order = strcmp(x->name, y->name);

    if (order == 0) {
        order = strcmp(x->dtype, y->dtype);
    }
    return order != 0 ? order : (x->in_elems > y->in_elems) - (x->in_elems < y->in_elems);
}

static void summarise(const struct inq_tl_collective *all, const uint32_t *alike, size_t n,
                      struct inq_tl_summary *s)
{
    struct moments latency = {0}, start = {0}, end = {0}, algbw = {0}, busbw = {0};
    double total_us = 0;

    for (uint64_t i = 0; i < n; i++) {
        const struct inq_tl_collective *c = &all[alike[i]];
        observe(&latency, c->latency_us, i + 1);
        observe(&start, c->skew_start_us, i + 1);
        observe(&end, c->skew_end_us, i + 1);
        observe(&algbw, c->algbw, i + 1);
        observe(&busbw, c->busbw, i + 1);
        total_us += c->latency_us;
    }
    const struct inq_tl_collective *first = &all[alike[0]];
    *s = (struct inq_tl_summary){
        .name = first->name,
        .dtype = first->dtype,
        .group = first->group,
        .in_elems = first->in_elems,
        .group_size = first->group_size,
        .full_mb = first->full_mb,
        .latency_mean = latency.mean,
        .latency_std = deviation(&latency, n),
        .skew_start_mean = start.mean,
        .skew_start_std = deviation(&start, n),
        .skew_end_mean = end.mean,
        .skew_end_std = deviation(&end, n),
        .algbw_mean = algbw.mean,
        .algbw_std = deviation(&algbw, n),
        .busbw_mean = busbw.mean,
        .busbw_std = deviation(&busbw, n),
        .count = n,
        .total_latency_ms = total_us / 1000.0,
    };
}

static int compare_total(const void *a, const void *b, void *ctx)
{
    const struct inq_tl_summary *x = a;
    const struct inq_tl_summary *y = b;

    (void)ctx;
    return (x->total_latency_ms < y->total_latency_ms) -
           (x->total_latency_ms > y->total_latency_ms);
}

int inq_tl_summaries(struct inq_arena *arena, struct inq_peers *peers, struct inq_err *err)
{
    size_t n = peers->n_collectives;
    uint32_t *order = inq_mem_alloc(n * sizeof(*order));

    peers->summaries = inq_arena_array(arena, n, sizeof(*peers->summaries));
    if (!order || !peers->summaries) {
        inq_mem_free(order);
        return inq_err_set(err, INQ_NOMEM, "no memory for the summary of %zu collectives", n);
    }
    for (size_t i = 0; i < n; i++) {
        order[i] = (uint32_t)i;
    }
    int code = inq_sort(order, n, sizeof(*order), compare_alike, peers->collectives, err);
    for (size_t i = 0; code == INQ_OK && i < n;) {
        size_t end = i + 1;
        while (end < n && compare_alike(&order[i], &order[end], peers->collectives) == 0) {
            end++;
        }
        summarise(peers->collectives, &order[i], end - i, &peers->summaries[peers->n_summaries++]);
        i = end;
    }
    inq_mem_free(order);
    return code != INQ_OK ? code
                          : inq_sort(peers->summaries, peers->n_summaries,
                                     sizeof(*peers->summaries), compare_total, NULL, err);
}

/* ---- ranks ---------------------------------------------------------------------------------- */

static int compare_waiting(const void *a, const void *b, void *ctx)
{
    const struct inq_tl_straggler *x = a;
    const struct inq_tl_straggler *y = b;

    (void)ctx;
    return (x->total_wait_us > y->total_wait_us) - (x->total_wait_us < y->total_wait_us);
}

/* Adds one collective to the rows [rank]; mean_wait_us counts the rank's collectives meanwhile. */
static void add_collective(const struct inq_tl_collective *c, struct inq_tl_straggler *rows)
{
    const struct inq_tl_member *last = &c->members[0];

    for (size_t i = 0; i < c->n_members; i++) {
        const struct inq_tl_member *m = &c->members[i];
        rows[m->rank].total_wait_us += m->wait_us;
        rows[m->rank].mean_wait_us += 1;
        if (m->wait_us < last->wait_us) {
            last = m;
        }
    }
    rows[last->rank].last++;
    rows[c->earliest_rank].first++;
}

int inq_tl_stragglers(struct inq_arena *arena, size_t n_ranks, const double *dur_us,
                      struct inq_peers *peers, struct inq_err *err)
{
    struct inq_tl_straggler *rows = inq_arena_array(arena, n_ranks, sizeof(*rows));
    size_t kept = 0;

    if (!rows) {
        return inq_err_set(err, INQ_NOMEM, "no memory for %zu ranks", n_ranks);
    }
    for (size_t i = 0; i < peers->n_collectives; i++) {
        add_collective(&peers->collectives[i], rows);
    }
    for (size_t r = 0; r < n_ranks; r++) {
        struct inq_tl_straggler row = rows[r];
        if (row.mean_wait_us < 1) { /* in no collective */
            continue;
        }
        row.rank = (uint32_t)r;
        row.collectives = peers->n_collectives;
        row.mean_wait_us = inq_peer_round(row.total_wait_us / row.mean_wait_us, 1);
        row.total_wait_us = inq_peer_round(row.total_wait_us, 1);
        row.last_pct = inq_peer_round(100.0 * (double)row.last / (double)row.collectives, 1);
        row.total_dur_us = inq_peer_round(dur_us[r], 1);
        rows[kept++] = row;
    }
    peers->stragglers = rows;
    peers->n_stragglers = kept;
    return inq_sort(rows, kept, sizeof(*rows), compare_waiting, NULL, err);
}
