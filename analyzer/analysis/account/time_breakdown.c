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
        .overlap_pct = sum->comm_ns > 0
                           ? 100.0 * (double)sum->comm_overlap_ns / (double)sum->comm_ns
                           : (double)NAN,
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

int inq_rank_time_all(const struct inq_rank *rank, struct inq_rank_time *out, bool *any,
                      struct inq_err *err)
{
    struct inq_interval span;

    *any = inq_rank_work_span(rank, &span);
    return *any ? inq_rank_time_windows(rank, &span, 1, out, err) : INQ_OK;
}

struct all_ranks {
    const struct inq_trace *trace;
    struct inq_rank_time *times; /* [n_ranks] */
    bool *any;
};

static int one_rank(void *ctx, size_t r, struct inq_err *err)
{
    struct all_ranks *all = ctx;

    all->times[r].rank = (uint32_t)r;
    return inq_rank_time_all(&all->trace->ranks[r], &all->times[r], &all->any[r], err);
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
