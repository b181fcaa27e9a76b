/* SPDX-License-Identifier: Apache-2.0 */
/* Where each rank's GPU time went, over all that was captured of it: the account's sweep without
 * the account's knowledge of other ranks. */
#include "analysis/account/time_breakdown.h"

#include "analysis/account/sweep.h"
#include "analysis/measure/measure.h"
#include "analysis/analysis.h"
#include "base/arena.h"
#include "base/mem.h"
#include "base/par.h"

#include <math.h>

static int64_t min2(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t max2(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static double overlap_of(int64_t overlap_ns, int64_t comm_ns)
{
    return comm_ns > 0 ? 100.0 * (double)overlap_ns / (double)comm_ns : (double)NAN;
}

static void fill_time(const struct inq_rank *rank, const struct inq_interval *window,
                      const struct inq_sweep_sum *sum, struct inq_rank_time *out)
{
    const int64_t *ns = sum->ns;
    *out = (struct inq_rank_time){
        .rank = out->rank,
        .span_ns = window->end - window->start,
        .compute_ns = ns[INQ_ACCOUNT_COMPUTE] + ns[INQ_ACCOUNT_UNCLASSIFIED],
        .exposed_comm_ns = ns[INQ_ACCOUNT_TRANSFER] + ns[INQ_ACCOUNT_WAIT] + ns[INQ_ACCOUNT_COMM],
        .exposed_memcpy_ns = ns[INQ_ACCOUNT_COPY],
        .idle_ns = ns[INQ_ACCOUNT_HOST] + ns[INQ_ACCOUNT_DEPENDENCY] + ns[INQ_ACCOUNT_IDLE],
        .comm_ns = sum->comm_ns,
        .comm_overlap_ns = sum->comm_overlap_ns,
        .overlap_pct = overlap_of(sum->comm_overlap_ns, sum->comm_ns),
        .idle_causes_known = rank->calls.n > 0,
        .idle_host_ns = ns[INQ_ACCOUNT_HOST],
        .idle_kernel_ns = sum->idle_kernel_ns,
        .idle_other_ns = ns[INQ_ACCOUNT_DEPENDENCY] + ns[INQ_ACCOUNT_IDLE] - sum->idle_kernel_ns,
        .host_late_ns = sum->host_late_ns,
        .host_gaps = sum->host_gaps,
        .kernels = sum->work};
}

int inq_rank_time_windows(const struct inq_rank *rank, const struct inq_interval *windows, size_t n,
                          struct inq_rank_time *out, struct inq_err *err)
{
    struct inq_sweep_sum *sums = inq_mem_alloc((n + 1) * sizeof(*sums));
    struct inq_sweep_job job = {.rank = rank, .windows = windows, .n = n};
    int code = sums != NULL ? inq_sweep(&job, sums, err)
                            : inq_err_set(err, INQ_NOMEM, "no memory for %zu windows", n);
    for (size_t w = 0; w < n && code == INQ_OK; w++) {
        fill_time(rank, &windows[w], &sums[w], &out[w]);
    }
    inq_mem_free(sums);
    return code;
}

bool inq_rank_work_span(const struct inq_rank *rank, struct inq_interval *span)
{
    const struct inq_events *events = &rank->events;
    bool any = false;

    for (size_t i = 0; events->kind != NULL && i < events->n; i++) {
        if (!inq_row_is_work(events, i)) {
            continue;
        }
        int64_t start = events->start_ns[i];
        int64_t end = start + events->dur_ns[i];
        span->start = any ? min2(span->start, start) : start;
        span->end = any ? max2(span->end, end) : end;
        any = true;
    }
    return any;
}

/* The stretches of a rank's work of which all rows are there, into at[n_steps + 1]: all of it or,
 * of a reduced rank, steps of which one follows the other. */
static size_t find_stretches(const struct inq_trace *trace, const struct inq_rank *rank,
                             struct inq_interval *at)
{
    const struct inq_events *e = &rank->events;
    size_t n = 0;

    if (!rank->reduced) {
        return inq_rank_work_span(rank, at) ? 1 : 0;
    }
    for (size_t s = 0; s < trace->n_steps; s++) {
        at[s] = (struct inq_interval){INT64_MAX, INT64_MIN};
    }
    for (size_t i = 0; i < e->n; i++) {
        if (e->step[i] < trace->n_steps && inq_row_is_work(e, i)) {
            struct inq_interval *span = &at[e->step[i]];
            span->start = min2(span->start, e->start_ns[i]);
            span->end = max2(span->end, e->start_ns[i] + e->dur_ns[i]);
        }
    }
    for (size_t s = 0; s < trace->n_steps; s++) {
        bool follows = s > 0 && trace->steps[s].number == trace->steps[s - 1].number + 1;
        if (at[s].start > at[s].end) {
            continue;
        }
        if (n > 0 && (follows || at[s].start <= at[n - 1].end)) {
            at[n - 1].end = max2(at[n - 1].end, at[s].end);
        } else {
            at[n++] = at[s];
        }
    }
    return n;
}

static void add_time(struct inq_rank_time *sum, const struct inq_rank_time *t)
{
    sum->span_ns += t->span_ns;
    sum->compute_ns += t->compute_ns;
    sum->exposed_comm_ns += t->exposed_comm_ns;
    sum->exposed_memcpy_ns += t->exposed_memcpy_ns;
    sum->idle_ns += t->idle_ns;
    sum->comm_ns += t->comm_ns;
    sum->comm_overlap_ns += t->comm_overlap_ns;
    sum->overlap_pct = overlap_of(sum->comm_overlap_ns, sum->comm_ns);
    sum->idle_causes_known = t->idle_causes_known;
    sum->idle_host_ns += t->idle_host_ns;
    sum->idle_kernel_ns += t->idle_kernel_ns;
    sum->idle_other_ns += t->idle_other_ns;
    sum->host_late_ns += t->host_late_ns;
    sum->host_gaps += t->host_gaps;
    sum->kernels += t->kernels;
}

int inq_rank_time_all(const struct inq_trace *trace, const struct inq_rank *rank,
                      struct inq_rank_time *out, bool *any, struct inq_err *err)
{
    size_t most = rank->reduced ? trace->n_steps + 1 : 1;
    struct inq_interval *at = inq_mem_alloc(most * sizeof(*at));
    struct inq_rank_time *times = inq_mem_zalloc(most, sizeof(*times));
    size_t n = at != NULL ? find_stretches(trace, rank, at) : 0;
    int code = at != NULL && times != NULL
                   ? inq_rank_time_windows(rank, at, n, times, err)
                   : inq_err_set(err, INQ_NOMEM, "no memory for %zu stretches", most);

    *any = code == INQ_OK && n > 0;
    for (size_t i = 0; *any && i < n; i++) {
        add_time(out, &times[i]);
    }
    inq_mem_free(at);
    inq_mem_free(times);
    return code;
}

struct all_ranks {
    const struct inq_trace *trace;
    struct inq_rank_time *times; /* [n_ranks], zero */
    bool *any;
};

static int one_rank(void *ctx, size_t r, struct inq_err *err)
{
    struct all_ranks *all = ctx;

    all->times[r].rank = (uint32_t)r;
    return inq_rank_time_all(all->trace, &all->trace->ranks[r], &all->times[r], &all->any[r], err);
}

int inq_run_time_breakdown(const struct inq_trace *trace,
                           const struct inq_analysis_options *options, struct inq_report *report,
                           struct inq_err *err)
{
    size_t n = trace->n_ranks;
    struct all_ranks all = {trace, inq_arena_array(report->arena, n, sizeof(*all.times)),
                            inq_mem_zalloc(n, sizeof(*all.any))};
    int code;

    if (!all.times || !all.any) {
        code = inq_err_set(err, INQ_NOMEM, "no memory for the times of %zu ranks", n);
        goto out;
    }
    code = inq_par_for(n, options->jobs, one_rank, &all, err);
    if (code != INQ_OK) {
        goto out;
    }
    report->rank_times = all.times;
    for (size_t r = 0; r < n; r++) { /* ranks without GPU work have no row */
        if (all.any[r]) {
            all.times[report->n_rank_times++] = all.times[r];
        }
    }
out:
    inq_mem_free(all.any);
    return code;
}
