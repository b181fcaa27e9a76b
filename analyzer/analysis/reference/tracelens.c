/* SPDX-License-Identifier: Apache-2.0 */
/* TraceLens 1.0's GPU timeline: computation, what communication and copies add to it, and idle
 * time, in the doubles that TraceLens computes with. */
#include "analysis/reference/tracelens.h"

#include "analysis/measure/measure.h"
#include "analysis/analysis.h"
#include "base/arena.h"
#include "base/mem.h"
#include "base/par.h"
#include "base/strtab.h"

#include <math.h>
#include <string.h>

/* Times become integers of 2^-20 us after the first start: finer than the doubles of any absolute
 * time, so that sums stay exact. */
#define TICKS_PER_US 1048576.0

/* ---- one rank ------------------------------------------------------------------------------- */

enum { COMPUTE, COMM, COPY, ALL, SETS };

static int64_t ticks(double us, double origin_us)
{
    double t = (us - origin_us) * TICKS_PER_US;

    return t < 4e18 ? llround(t) : (int64_t)4e18;
}

static int set_of(const struct inq_trace *trace, const struct inq_events *events, uint32_t row)
{
    if (events->kind[row] == INQ_EVENT_MEMCPY) {
        return COPY;
    }
    return inq_tl_is_comm(inq_strtab_get(trace->names, events->name[row])) ? COMM : COMPUTE;
}

static int fill_sets(const struct inq_trace *trace, const struct inq_rank *rank,
                     struct inq_row_merge *merge, struct inq_intervals *sets, int64_t *last_end,
                     struct inq_err *err)
{
    const struct inq_events *events = &rank->events;
    double origin_us = (double)NAN;
    uint32_t row;
    int code = INQ_OK;

    *last_end = 0;
    while (code == INQ_OK && inq_row_merge_next(merge, &row)) {
        if (events->kind[row] == INQ_EVENT_OP) {
            continue;
        }
        double start_us = inq_peer_us(inq_peer_raw_ns(rank, events->start_ns[row]));
        double end_us = start_us + inq_peer_us(events->dur_ns[row]);
        if (isnan(origin_us)) {
            origin_us = start_us;
        }
        int64_t start = ticks(start_us, origin_us);
        int64_t end = ticks(end_us, origin_us);
        *last_end = end > *last_end ? end : *last_end;
        code = inq_intervals_push(&sets[set_of(trace, events, row)], start, end, err);
        if (code == INQ_OK) {
            code = inq_intervals_push(&sets[ALL], start, end, err);
        }
    }
    return code;
}

static double us_of(int64_t n_ticks)
{
    return (double)n_ticks / TICKS_PER_US;
}

/* Computation, exposed communication, exposed copies, idle and total time of one rank; *any is
 * false when the rank has no GPU work. */
static int timeline_of(const struct inq_trace *trace, uint32_t rank,
                       struct inq_peer_rank_time *time, bool *any, struct inq_err *err)
{
    struct inq_intervals sets[SETS] = {{0}};
    struct inq_intervals both = {0}; /* computation and communication */
    struct inq_row_merge merge;
    int64_t last_end = 0;
    int code = inq_row_merge_init(&merge, &trace->ranks[rank].events, err);

    *any = false;
    if (code == INQ_OK) {
        code = fill_sets(trace, &trace->ranks[rank], &merge, sets, &last_end, err);
    }
    if (code == INQ_OK) {
        code = inq_intervals_union(&sets[COMPUTE], &sets[COMM], &both, err);
    }
    if (code == INQ_OK && sets[ALL].n > 0) {
        int64_t compute = inq_intervals_length(&sets[COMPUTE]);
        int64_t comm = inq_intervals_length(&both) - compute;
        int64_t copy = inq_intervals_length(&sets[COPY]) - inq_intervals_common(&sets[COPY], &both);
        *any = true;
        time->tl_computation_us = us_of(compute);
        time->tl_exposed_comm_us = us_of(comm);
        time->tl_exposed_memcpy_us = us_of(copy);
        time->tl_total_us = us_of(last_end);
        time->tl_idle_us = us_of(last_end - inq_intervals_length(&sets[ALL]));
    }
    for (int i = 0; i < SETS; i++) {
        inq_intervals_release(&sets[i]);
    }
    inq_intervals_release(&both);
    inq_row_merge_release(&merge);
    return code;
}

/* ---- all ranks ------------------------------------------------------------------------------ */

struct all_ranks {
    const struct inq_trace *trace;
    struct inq_peer_rank_time *times; /* [n_ranks] */
    bool *any;
};

static int one_rank(void *ctx, size_t r, struct inq_err *err)
{
    struct all_ranks *all = ctx;

    all->times[r].rank = (uint32_t)r;
    return timeline_of(all->trace, (uint32_t)r, &all->times[r], &all->any[r], err);
}

int inq_run_method_tracelens(const struct inq_trace *trace,
                             const struct inq_analysis_options *options, struct inq_report *report,
                             struct inq_err *err)
{
    size_t n = trace->n_ranks;
    int code;

    if (options->method != INQ_METHOD_TRACELENS) {
        return INQ_OK;
    }
    struct inq_peers *peers = inq_arena_alloc(report->arena, sizeof(*peers));
    struct all_ranks all = {
        .trace = trace,
        .times = inq_arena_array(report->arena, n, sizeof(*all.times)),
        .any = inq_mem_zalloc(n, sizeof(*all.any)),
    };
    if (!peers || !all.times || !all.any) {
        code = inq_err_set(err, INQ_NOMEM, "no memory for the times of %zu ranks", n);
        goto out;
    }
    code = inq_par_for(n, options->jobs, one_rank, &all, err);
    if (code != INQ_OK) {
        goto out;
    }
    peers->rank_times = all.times;
    for (size_t r = 0; r < n; r++) {
        if (all.any[r]) {
            peers->rank_times[peers->n_rank_times++] = all.times[r];
        }
    }
    code = inq_tl_collectives(trace, report->arena, peers, err);
    report->peers = peers;
out:
    inq_mem_free(all.any);
    return code;
}
