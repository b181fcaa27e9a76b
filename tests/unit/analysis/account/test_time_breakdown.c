/* SPDX-License-Identifier: Apache-2.0 */
/* Where the GPU time of a rank went: exact sums, priorities, causes of idle time. */
#include "analysis/account/sweep.h"
#include "analysis/account/time_breakdown.h"

#include "inquest/ingest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

enum { MAX_ROWS = 200, MAX_CALLS = 200, WORLD = 400 };

/* A rank in fixed arrays, rows given in order of (lane, start). */
struct fixture {
    int64_t start[MAX_ROWS], dur[MAX_ROWS];
    uint32_t lane[MAX_ROWS], call[MAX_ROWS], step[MAX_ROWS];
    uint8_t kind[MAX_ROWS], cls[MAX_ROWS];
    int64_t call_start[MAX_CALLS];
    struct inq_rank rank;
    struct inq_trace trace;
};

static void fixture_init(struct fixture *f)
{
    memset(f, 0, sizeof(*f));
    f->rank.events.start_ns = f->start;
    f->rank.events.dur_ns = f->dur;
    f->rank.events.lane = f->lane;
    f->rank.events.call = f->call;
    f->rank.events.step = f->step;
    f->rank.events.kind = f->kind;
    f->rank.events.cls = f->cls;
    f->rank.calls.start_ns = f->call_start;
}

/* One row; launch_ns INQ_TIME_NONE: not launched by anything recorded. */
static void add(struct fixture *f, uint32_t lane, enum inq_op_class cls, int64_t start, int64_t end,
                int64_t launch_ns)
{
    size_t i = f->rank.events.n++;

    f->lane[i] = lane;
    f->start[i] = start;
    f->dur[i] = end - start;
    f->kind[i] = cls == INQ_CLASS_COPY ? INQ_EVENT_MEMCPY : INQ_EVENT_KERNEL;
    f->cls[i] = (uint8_t)cls;
    f->call[i] = INQ_NONE;
    if (launch_ns != INQ_TIME_NONE) {
        f->call[i] = (uint32_t)f->rank.calls.n;
        f->call_start[f->rank.calls.n++] = launch_ns;
    }
}

static void assert_identity(const struct inq_rank_time *t)
{
    assert_int_equal(t->compute_ns + t->exposed_comm_ns + t->exposed_memcpy_ns + t->idle_ns,
                     t->span_ns);
    assert_int_equal(t->idle_host_ns + t->idle_kernel_ns + t->idle_other_ns, t->idle_ns);
    assert_true(t->compute_ns >= 0 && t->exposed_comm_ns >= 0 && t->exposed_memcpy_ns >= 0);
    assert_true(t->idle_host_ns >= 0 && t->idle_kernel_ns >= 0 && t->idle_other_ns >= 0);
    assert_true(t->comm_overlap_ns <= t->comm_ns);
    assert_int_equal(t->comm_ns - t->comm_overlap_ns, t->exposed_comm_ns);
}

static struct inq_rank_time whole(const struct fixture *f)
{
    struct inq_rank_time t = {.rank = 7};
    bool any = false;

    assert_int_equal(inq_rank_time_all(&f->trace, &f->rank, &t, &any, NULL), INQ_OK);
    assert_true(any);
    assert_int_equal(t.rank, 7);
    assert_identity(&t);
    return t;
}

static void breakdown__compute_hides_communication_hides_copies(void **state)
{
    (void)state;
    struct fixture f;

    fixture_init(&f);
    add(&f, 0, INQ_CLASS_COMPUTE, 0, 100, INQ_TIME_NONE);
    add(&f, 0, INQ_CLASS_COMPUTE, 200, 300, INQ_TIME_NONE);
    add(&f, 1, INQ_CLASS_COMM, 50, 150, INQ_TIME_NONE);
    add(&f, 2, INQ_CLASS_COPY, 90, 170, INQ_TIME_NONE);
    add(&f, 2, INQ_CLASS_COPY, 290, 320, INQ_TIME_NONE);
    struct inq_rank_time t = whole(&f);
    assert_int_equal(t.span_ns, 320);
    assert_int_equal(t.compute_ns, 200);
    assert_int_equal(t.exposed_comm_ns, 50);
    assert_int_equal(t.exposed_memcpy_ns, 20 + 20);
    assert_int_equal(t.idle_ns, 30);
    assert_int_equal(t.comm_ns, 100);
    assert_int_equal(t.comm_overlap_ns, 50);
    assert_true(t.overlap_pct > 49.9 && t.overlap_pct < 50.1);
    assert_int_equal(t.kernels, 5);
    assert_false(t.idle_causes_known);
}

static void breakdown__side_by_side_work_counts_once(void **state)
{
    (void)state;
    struct fixture f;

    fixture_init(&f);
    add(&f, 0, INQ_CLASS_COMPUTE, 0, 100, INQ_TIME_NONE);
    add(&f, 1, INQ_CLASS_COMPUTE, 20, 60, INQ_TIME_NONE);
    add(&f, 2, INQ_CLASS_COMPUTE, 80, 120, INQ_TIME_NONE);
    struct inq_rank_time t = whole(&f);
    assert_int_equal(t.compute_ns, 120);
    assert_int_equal(t.span_ns, 120);
    assert_true(t.overlap_pct != t.overlap_pct); /* NaN: no communication */
}

static void breakdown__sync_records_and_host_ops_are_no_work(void **state)
{
    (void)state;
    struct fixture f;

    fixture_init(&f);
    add(&f, 0, INQ_CLASS_COMPUTE, 0, 100, INQ_TIME_NONE);
    add(&f, 0, INQ_CLASS_COMPUTE, 110, 150, INQ_TIME_NONE);
    f.kind[1] = INQ_EVENT_SYNC;
    add(&f, 0, INQ_CLASS_OTHER, 160, 190, INQ_TIME_NONE);
    f.kind[2] = INQ_EVENT_OP; /* garbage collection on the host */
    add(&f, 0, INQ_CLASS_COMPUTE, 195, 198, INQ_TIME_NONE);
    f.kind[3] = INQ_EVENT_SLICE;
    add(&f, 0, INQ_CLASS_OTHER, 200, 210, INQ_TIME_NONE); /* a kernel of class other: compute */
    struct inq_rank_time t = whole(&f);
    assert_int_equal(t.compute_ns, 110);
    assert_int_equal(t.idle_ns, 100);
    assert_int_equal(t.kernels, 2);
}

static void breakdown__idle_is_split_by_cause(void **state)
{
    (void)state;
    struct fixture f;
    const int64_t us = 1000;

    fixture_init(&f);
    add(&f, 0, INQ_CLASS_COMPUTE, 0, 10 * us, 0);
    /* launched 5 us after the gap began: host late by 5 us, the gap is 9 us */
    add(&f, 0, INQ_CLASS_COMPUTE, 19 * us, 20 * us, 15 * us);
    /* launched in time, gap of 29.999 us: kernel */
    add(&f, 0, INQ_CLASS_COMPUTE, 49999, 60 * us, 20 * us);
    /* launched in time, gap of exactly 30 us: other */
    add(&f, 0, INQ_CLASS_COMPUTE, 90 * us, 100 * us, 1 * us);
    /* launch not recorded, short and long */
    add(&f, 0, INQ_CLASS_COMPUTE, 101 * us, 102 * us, INQ_TIME_NONE);
    add(&f, 0, INQ_CLASS_COMPUTE, 202 * us, 203 * us, INQ_TIME_NONE);
    struct inq_rank_time t = whole(&f);
    assert_true(t.idle_causes_known);
    assert_int_equal(t.idle_host_ns, 9 * us);
    assert_int_equal(t.host_late_ns, 5 * us);
    assert_int_equal(t.host_gaps, 1);
    assert_int_equal(t.idle_kernel_ns, 29999 + 1 * us);
    assert_int_equal(t.idle_other_ns, 130 * us);
}

static void breakdown__gap_belongs_to_the_op_launched_first(void **state)
{
    (void)state;
    struct fixture f;

    fixture_init(&f);
    add(&f, 0, INQ_CLASS_COMPUTE, 0, 100, 0);
    add(&f, 0, INQ_CLASS_COMPUTE, 500, 600, 450); /* late */
    add(&f, 1, INQ_CLASS_COMM, 500, 700, 50);     /* in time, ends the same gap */
    struct inq_rank_time t = whole(&f);
    assert_int_equal(t.idle_host_ns, 0);
    assert_int_equal(t.idle_kernel_ns, 400);
}

static void breakdown__windows_cut_everything(void **state)
{
    (void)state;
    struct fixture f;
    struct inq_interval windows[] = {{0, 100}, {100, 200}, {250, 300}};
    struct inq_rank_time t[3];

    memset(t, 0, sizeof(t));
    fixture_init(&f);
    add(&f, 0, INQ_CLASS_COMPUTE, 40, 120, 10); /* launched after the first window began */
    add(&f, 1, INQ_CLASS_COMM, 110, 260, 20);
    assert_int_equal(inq_rank_time_windows(&f.rank, windows, 3, t, NULL), INQ_OK);
    for (int w = 0; w < 3; w++) {
        assert_identity(&t[w]);
        assert_int_equal(t[w].span_ns, windows[w].end - windows[w].start);
    }
    assert_int_equal(t[0].idle_host_ns, 40);
    assert_int_equal(t[0].host_late_ns, 10);
    assert_int_equal(t[0].compute_ns, 60);
    assert_int_equal(t[1].compute_ns, 20);
    assert_int_equal(t[1].comm_ns, 90);
    assert_int_equal(t[1].comm_overlap_ns, 10);
    assert_int_equal(t[1].exposed_comm_ns, 80);
    assert_int_equal(t[2].exposed_comm_ns, 10);
    assert_int_equal(t[2].idle_ns, 40);
    assert_int_equal(t[0].kernels + t[1].kernels + t[2].kernels, 2);
}

static void breakdown__no_work_is_no_row(void **state)
{
    (void)state;
    struct fixture f;
    struct inq_rank_time t = {0};
    bool any = true;

    fixture_init(&f);
    assert_int_equal(inq_rank_time_all(&f.trace, &f.rank, &t, &any, NULL), INQ_OK);
    assert_false(any);
    add(&f, 0, INQ_CLASS_COMPUTE, 0, 10, INQ_TIME_NONE);
    f.kind[0] = INQ_EVENT_SLICE;
    assert_int_equal(inq_rank_time_all(&f.trace, &f.rank, &t, &any, NULL), INQ_OK);
    assert_false(any);
}

/* Of a reduced rank steps 3, 4 and 9 have all rows. What ran between 4 and 9 nobody knows: it is no
 * idle time, as what lies between 3 and 4 is. */
static void breakdown__steps_without_rows_are_not_idle(void **state)
{
    (void)state;
    struct inq_step steps[] = {{.number = 3}, {.number = 4}, {.number = 9}};
    static const int64_t rows[][3] = {/* step, start, end */
                                      {0, 100, 160}, {0, 170, 200}, {1, 250, 300},
                                      {1, 290, 340}, {2, 900, 950}, {2, 980, 1000}};
    struct fixture f;

    fixture_init(&f);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        f.step[i] = (uint32_t)rows[i][0];
        add(&f, 0, INQ_CLASS_COMPUTE, rows[i][1], rows[i][2], rows[i][1] - 1);
    }
    struct inq_rank_time all = whole(&f);
    assert_int_equal(all.span_ns, 1000 - 100);
    f.trace.steps = steps;
    f.trace.n_steps = 3;
    f.rank.reduced = true;
    struct inq_rank_time t = whole(&f);
    assert_int_equal(t.span_ns, (340 - 100) + (1000 - 900));
    assert_int_equal(t.idle_ns, 10 + 50 + 30);
    assert_int_equal(t.compute_ns, all.compute_ns);
    assert_int_equal(t.kernels, 6);
    f.trace.n_steps = 2; /* a row of no step that is known counts nowhere */
    t = whole(&f);
    assert_int_equal(t.span_ns, 340 - 100);
}

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void random_rank(struct fixture *f, uint32_t *random)
{
    fixture_init(f);
    for (uint32_t lane = 0; lane < 4; lane++) {
        int64_t start = 0;
        for (;;) {
            start += next_random(random) % 30;
            int64_t end = start + next_random(random) % 25;
            if (end >= WORLD || f->rank.events.n == MAX_ROWS) {
                break;
            }
            int64_t launch =
                next_random(random) % 4 ? start - next_random(random) % 40 : INQ_TIME_NONE;
            add(f, lane, (enum inq_op_class)(next_random(random) % 3), start, end, launch);
        }
    }
}

/* The same sums, moment by moment. */
static void count_moments(const struct fixture *f, int64_t from, int64_t to,
                          struct inq_rank_time *t)
{
    for (int64_t at = from; at < to; at++) {
        bool on[3] = {false};
        for (size_t i = 0; i < f->rank.events.n; i++) {
            on[f->cls[i]] |= f->start[i] <= at && at < f->start[i] + f->dur[i];
        }
        t->compute_ns += on[INQ_CLASS_COMPUTE];
        t->comm_ns += on[INQ_CLASS_COMM];
        t->comm_overlap_ns += on[INQ_CLASS_COMM] && on[INQ_CLASS_COMPUTE];
        t->exposed_comm_ns += on[INQ_CLASS_COMM] && !on[INQ_CLASS_COMPUTE];
        t->exposed_memcpy_ns += on[INQ_CLASS_COPY] && !on[INQ_CLASS_COMM] && !on[INQ_CLASS_COMPUTE];
        t->idle_ns += !on[INQ_CLASS_COPY] && !on[INQ_CLASS_COMM] && !on[INQ_CLASS_COMPUTE];
    }
}

static void assert_same_sums(const struct inq_rank_time *a, const struct inq_rank_time *b)
{
    assert_int_equal(a->compute_ns, b->compute_ns);
    assert_int_equal(a->comm_ns, b->comm_ns);
    assert_int_equal(a->comm_overlap_ns, b->comm_overlap_ns);
    assert_int_equal(a->exposed_comm_ns, b->exposed_comm_ns);
    assert_int_equal(a->exposed_memcpy_ns, b->exposed_memcpy_ns);
    assert_int_equal(a->idle_ns, b->idle_ns);
}

static void breakdown__random_ranks_agree_with_counting(void **state)
{
    (void)state;
    uint32_t random = 99;
    struct fixture f;

    for (int round = 0; round < 300; round++) {
        struct inq_interval cuts[3] = {{20, 130}, {130, 131}, {200, WORLD}};
        struct inq_interval span;
        struct inq_rank_time parts[3];
        memset(parts, 0, sizeof(parts));
        random_rank(&f, &random);
        struct inq_rank_time t = whole(&f);
        assert_true(inq_rank_work_span(&f.rank, &span));
        struct inq_rank_time counted = {0};
        count_moments(&f, span.start, span.end, &counted);
        assert_same_sums(&t, &counted);
        assert_int_equal(t.kernels, f.rank.events.n);
        assert_int_equal(inq_rank_time_windows(&f.rank, cuts, 3, parts, NULL), INQ_OK);
        for (int w = 0; w < 3; w++) {
            struct inq_rank_time part = {0};
            assert_identity(&parts[w]);
            count_moments(&f, cuts[w].start, cuts[w].end, &part);
            assert_same_sums(&parts[w], &part);
        }
    }
}

/* ---- real traces ---------------------------------------------------------------------------- */

static void check_steps(const struct inq_trace *trace, const struct inq_rank *rank, size_t r)
{
    for (size_t s = 0; s < trace->n_steps; s++) {
        struct inq_rank_time t = {0};
        struct inq_interval window = {trace->steps[s].rank_start_ns[r],
                                      trace->steps[s].rank_end_ns[r]};
        if (window.start == INQ_TIME_NONE || window.start >= window.end) {
            continue;
        }
        assert_int_equal(inq_rank_time_windows(rank, &window, 1, &t, NULL), INQ_OK);
        assert_identity(&t);
    }
}

static struct inq_report *breakdown(const struct inq_trace *trace, int jobs)
{
    const char *only[] = {"time_breakdown"};
    struct inq_analysis_options options = {.jobs = jobs, .only = only, .n_only = 1};
    struct inq_report *report = NULL;

    assert_int_equal(inq_analyze(trace, &options, &report, NULL), INQ_OK);
    return report;
}

static void breakdown__real_traces_sum_to_their_spans(void **state)
{
    (void)state;
    static const char *const folders[] = {"kineto", "chrome", "whatif", "primus", "nsys"};
    size_t ranks = 0;

    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        char path[512];
        const char *paths[] = {path};
        struct stat info;
        struct inq_run *run = NULL;
        assert_true(snprintf(path, sizeof(path), "%s/%s", INQ_SHARED_DATA, folders[i]) <
                    (int)sizeof(path));
        if (stat(path, &info) != 0) {
            print_message("skipped: there is no %s\n", path);
            skip();
        }
        assert_int_equal(inq_ingest(paths, 1, NULL, &run, NULL), INQ_OK);
        for (size_t k = 0; k < run->n_traces; k++) {
            const struct inq_trace *trace = run->traces[k];
            struct inq_report *one = breakdown(trace, 1);
            struct inq_report *many = breakdown(trace, 8);
            assert_int_equal(one->n_rank_times, many->n_rank_times);
            for (size_t t = 0; t < one->n_rank_times; t++) {
                const struct inq_rank_time *time = &one->rank_times[t];
                assert_identity(time);
                assert_same_sums(time, &many->rank_times[t]);
                assert_int_equal(time->idle_host_ns, many->rank_times[t].idle_host_ns);
                assert_int_equal(time->idle_kernel_ns, many->rank_times[t].idle_kernel_ns);
                check_steps(trace, &trace->ranks[time->rank], time->rank);
                ranks++;
            }
            inq_report_free(one);
            inq_report_free(many);
        }
        inq_run_free(run);
    }
    assert_true(ranks > 50);
}

/* Idle from 10 on until a receive begins on its stream at `recv`; the step ends at 100. The first
 * kernel's launch is at `launch_ns`. Returns what may have been communication. */
static int64_t hidden_by_posted(int64_t recv, int64_t launch_ns, enum inq_coll_kind kind)
{
    static struct fixture f;
    uint32_t comm_of[] = {INQ_NONE, INQ_NONE, 0};
    struct inq_comm comm = {.kind = kind};
    size_t first[] = {0, 0};
    struct inq_account_facts facts = {.kinds = {.all_compute = true}, .first = first};
    struct inq_interval step = {0, 100};
    struct inq_sweep_sum sum;
    fixture_init(&f);
    add(&f, 0, INQ_CLASS_COMPUTE, 0, 10, launch_ns);
    add(&f, 0, INQ_CLASS_COMPUTE, 50, 60, 45);
    add(&f, 1, INQ_CLASS_COMM, recv, recv + 5, 5);
    f.rank.events.comm = comm_of;
    f.rank.comms = &comm;
    f.rank.n_comms = 1;
    struct inq_sweep_job job = {.rank = &f.rank, .facts = &facts, .windows = &step, .n = 1};
    assert_int_equal(inq_sweep(&job, &sum, NULL), INQ_OK);
    return sum.ns[INQ_ACCOUNT_COMM];
}

/* What runs since before the record began is not in it: the GPU only seems idle. */
static void breakdown__receives_posted_before_the_record(void **state)
{
    (void)state;
    assert_int_equal(hidden_by_posted(90, INQ_TIME_NONE, INQ_COLL_RECV), 40 + 30 + 5);
    assert_int_equal(hidden_by_posted(100, INQ_TIME_NONE, INQ_COLL_RECV), 40 + 40);
    assert_int_equal(hidden_by_posted(101, INQ_TIME_NONE, INQ_COLL_RECV), 0); /* not every step */
    assert_int_equal(hidden_by_posted(90, -5, INQ_COLL_RECV), 5); /* all launches are recorded */
    assert_int_equal(hidden_by_posted(90, INQ_TIME_NONE, INQ_COLL_ALLREDUCE), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(breakdown__compute_hides_communication_hides_copies),
        cmocka_unit_test(breakdown__side_by_side_work_counts_once),
        cmocka_unit_test(breakdown__sync_records_and_host_ops_are_no_work),
        cmocka_unit_test(breakdown__idle_is_split_by_cause),
        cmocka_unit_test(breakdown__gap_belongs_to_the_op_launched_first),
        cmocka_unit_test(breakdown__windows_cut_everything),
        cmocka_unit_test(breakdown__no_work_is_no_row),
        cmocka_unit_test(breakdown__steps_without_rows_are_not_idle),
        cmocka_unit_test(breakdown__random_ranks_agree_with_counting),
        cmocka_unit_test(breakdown__receives_posted_before_the_record),
        cmocka_unit_test(breakdown__real_traces_sum_to_their_spans),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
