/* SPDX-License-Identifier: Apache-2.0 */
/* Where each rank's GPU time went. One sweep over the GPU work in order of start: between two
 * starts the state of the GPU is given by how far each class reaches. */
#include "analysis/time_breakdown.h"

#include "analysis/parts.h"
#include "analysis/row_merge.h"
#include "base/arena.h"
#include "base/mem.h"
#include "base/par.h"

#include <math.h>

enum { C = INQ_CLASS_COMPUTE, K = INQ_CLASS_COMM, M = INQ_CLASS_COPY, CLASSES = 3 };
_Static_assert(C < CLASSES && K < CLASSES && M < CLASSES, "the sweep indexes by class");

/* A gap whose cause is not settled until all ops that end it are known. */
struct gap {
    int64_t begin_ns, end_ns;
    int64_t launch_ns; /* earliest of the ops that end it; INQ_TIME_NONE: none recorded */
};

struct sweep {
    const struct inq_rank *rank;
    const struct inq_interval *windows;
    struct inq_rank_time *out;
    size_t n;
    size_t first;              /* windows before it lie behind the sweep */
    int64_t at;                /* everything before this is accounted for */
    int64_t reach_ns[CLASSES]; /* end of the class's work seen so far */
    struct gap gap;            /* begin < end: one is open */
    inq_gap_visit visit;       /* NULL: nobody wants to see the gaps */
    void *ctx;
    int code; /* what `visit` returned */
};

static int64_t min2(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t max2(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t clamp(int64_t x, int64_t low, int64_t high)
{
    return max2(low, min2(x, high));
}

/* Adds the part of [from, to) that lies in each window to the field at `offset` of its result. */
static void credit(struct sweep *s, int64_t from, int64_t to, size_t offset)
{
    if (from >= to) {
        return;
    }
    for (size_t w = s->first; w < s->n && s->windows[w].start < to; w++) {
        int64_t ns = min2(to, s->windows[w].end) - max2(from, s->windows[w].start);
        if (ns > 0) {
            *(int64_t *)(void *)((char *)&s->out[w] + offset) += ns;
        }
    }
}

#define CREDIT(s, from, to, field) credit(s, from, to, offsetof(struct inq_rank_time, field))

/* Windows that end at or before `ns` get nothing any more. */
static void leave_windows(struct sweep *s, int64_t ns)
{
    while (s->first < s->n && s->windows[s->first].end <= ns) {
        s->first++;
    }
}

/* The window that holds the moment before `ns`. */
static struct inq_rank_time *window_of(struct sweep *s, int64_t ns)
{
    for (size_t w = s->first; w < s->n && s->windows[w].start < ns; w++) {
        if (ns <= s->windows[w].end) {
            return &s->out[w];
        }
    }
    return NULL;
}

static enum inq_gap_cause cause_of(const struct gap *gap)
{
    if (gap->launch_ns != INQ_TIME_NONE && gap->launch_ns > gap->begin_ns) {
        return INQ_GAP_HOST;
    }
    return gap->end_ns - gap->begin_ns < INQ_KERNEL_GAP_NS ? INQ_GAP_KERNEL : INQ_GAP_OTHER;
}

static void settle_gap(struct sweep *s)
{
    struct gap *gap = &s->gap;

    if (gap->begin_ns >= gap->end_ns) {
        return;
    }
    enum inq_gap_cause cause = cause_of(gap);
    CREDIT(s, gap->begin_ns, gap->end_ns, idle_ns);
    if (s->visit && s->code == INQ_OK) {
        s->code = s->visit(s->ctx, gap->begin_ns, gap->end_ns, cause);
    }
    if (cause == INQ_GAP_HOST) {
        CREDIT(s, gap->begin_ns, gap->end_ns, idle_host_ns);
        struct inq_rank_time *in = window_of(s, gap->end_ns); /* counted once, where it ends */
        if (in) {
            in->host_gaps++;
            in->host_late_ns += min2(gap->launch_ns, gap->end_ns) - gap->begin_ns;
        }
    } else if (cause == INQ_GAP_KERNEL) {
        CREDIT(s, gap->begin_ns, gap->end_ns, idle_kernel_ns);
    } else {
        CREDIT(s, gap->begin_ns, gap->end_ns, idle_other_ns);
    }
    gap->begin_ns = gap->end_ns;
}

/* Accounts for [s->at, to), during which nothing starts; what no class covers opens a gap. */
static void advance(struct sweep *s, int64_t to)
{
    int64_t from = s->at;
    int64_t c = clamp(s->reach_ns[C], from, to);
    int64_t k = clamp(s->reach_ns[K], from, to);
    int64_t m = clamp(s->reach_ns[M], from, to);
    int64_t ck = max2(c, k);
    int64_t busy = max2(ck, m);

    CREDIT(s, from, c, compute_ns);
    CREDIT(s, from, k, comm_ns);
    CREDIT(s, from, min2(c, k), comm_overlap_ns);
    CREDIT(s, c, k, exposed_comm_ns);
    CREDIT(s, ck, m, exposed_memcpy_ns);
    if (busy < to) {
        s->gap = (struct gap){busy, to, INQ_TIME_NONE};
    }
    s->at = to;
}

static int64_t launch_of(const struct inq_rank *rank, uint32_t row)
{
    uint32_t call = rank->events.call ? rank->events.call[row] : INQ_NONE;

    return call < rank->calls.n ? rank->calls.start_ns[call] : INQ_TIME_NONE;
}

static void take(struct sweep *s, uint32_t row)
{
    const struct inq_events *events = &s->rank->events;
    int64_t start = events->start_ns[row];
    int64_t end = start + events->dur_ns[row];

    if (start > s->at) {
        settle_gap(s);
        leave_windows(s, s->at);
        advance(s, start);
    }
    int64_t launch = launch_of(s->rank, row);
    if (launch != INQ_TIME_NONE &&
        (s->gap.launch_ns == INQ_TIME_NONE || launch < s->gap.launch_ns)) {
        s->gap.launch_ns = launch;
    }
    enum inq_op_class cls = inq_row_class(events, row);
    s->reach_ns[cls] = max2(s->reach_ns[cls], end);
    struct inq_rank_time *in = window_of(s, start + 1);
    if (!in && end == start) { /* an instant at the very end of the window is still in it */
        in = window_of(s, start);
    }
    if (in) {
        in->kernels++;
    }
}

static void finish_window(const struct inq_rank *rank, const struct inq_interval *window,
                          struct inq_rank_time *out)
{
    out->span_ns = window->end - window->start;
    out->idle_causes_known = rank->calls.n > 0;
    out->overlap_pct = out->comm_ns > 0
                           ? 100.0 * (double)out->comm_overlap_ns / (double)out->comm_ns
                           : (double)NAN;
}

/* Sweeps over all of the rank's work; the sweep has its rank, windows and results. */
static int sweep_rank(struct sweep *s, struct inq_err *err)
{
    struct inq_row_merge merge;
    int code = inq_row_merge_init(&merge, &s->rank->events, err);
    if (code == INQ_OK) {
        uint32_t row;
        s->at = s->windows[0].start;
        s->gap.launch_ns = INQ_TIME_NONE;
        for (int cls = 0; cls < CLASSES; cls++) { /* a class that has not been seen */
            s->reach_ns[cls] = INT64_MIN;
        }
        while (inq_row_merge_next(&merge, &row)) {
            take(s, row);
        }
        settle_gap(s);
        leave_windows(s, s->at);
        advance(s, max2(s->at, s->windows[s->n - 1].end));
        settle_gap(s);
    }
    inq_row_merge_release(&merge);
    return code;
}

int inq_rank_time_windows(const struct inq_rank *rank, const struct inq_interval *windows, size_t n,
                          struct inq_rank_time *out, struct inq_err *err)
{
    for (size_t w = 0; w < n; w++) {
        out[w] = (struct inq_rank_time){.rank = out[w].rank};
    }
    if (n == 0) {
        return INQ_OK;
    }
    struct sweep s = {.rank = rank, .windows = windows, .out = out, .n = n};
    int code = sweep_rank(&s, err);
    for (size_t w = 0; w < n && code == INQ_OK; w++) {
        finish_window(rank, &windows[w], &out[w]);
    }
    return code;
}

bool inq_rank_work_span(const struct inq_rank *rank, struct inq_interval *span)
{
    const struct inq_events *events = &rank->events;
    bool any = false;

    for (size_t i = 0; i < events->n; i++) {
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

int inq_rank_gaps(const struct inq_rank *rank, inq_gap_visit visit, void *ctx, struct inq_err *err)
{
    struct inq_interval span;
    struct inq_rank_time sums = {0};
    struct sweep s = {
        .rank = rank, .windows = &span, .out = &sums, .n = 1, .visit = visit, .ctx = ctx};
    int code = inq_rank_work_span(rank, &span) ? sweep_rank(&s, err) : INQ_OK;
    return code == INQ_OK ? s.code : code;
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
