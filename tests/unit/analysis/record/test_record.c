/* SPDX-License-Identifier: Apache-2.0 */
/* The record of a run in figures that follow from how the run was made: which steps count, what
 * collectives, kernels and ranks are counted with. */
#include "support_shard.h"

#include "analysis/record/record.h"
#include "inquest/analysis.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#define US INT64_C(1000)
#define MS INT64_C(1000000)

static const char GEMM[] = "ampere_sgemm_128x64_nn";
static const char NORM[] = "vectorized_layer_norm_kernel";
static const char ALL_REDUCE[] = "ncclDevKernel_AllReduce_Sum_f32_RING_LL";

struct recorded {
    struct inq_run *run;
    struct inq_report *report;
    struct inq_run_record record;
};

static struct recorded record_of(struct inq_shard *shards, size_t n)
{
    struct recorded r = {.run = made_run(shards, n, false)};
    struct inq_err err = {0};
    assert_int_equal(r.run->n_traces, 1);
    assert_int_equal(inq_analyze(r.run->traces[0], NULL, &r.report, &err), INQ_OK);
    if (inq_run_record_build(r.report, &r.record, &err) != INQ_OK) {
        fail_msg("%s", err.message);
    }
    return r;
}

static void release(struct recorded *r)
{
    inq_run_record_release(&r->record);
    inq_report_free(r->report);
    inq_run_free(r->run);
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* One rank that computes without a gap in steps of these lengths. */
static struct recorded steps_of(const int64_t *lengths_ns, size_t n)
{
    struct inq_shard shard;
    int64_t at_ns = 0;
    made_shard(&shard, "a", 0, 1);
    for (size_t s = 0; s < n; s++) {
        char mark[32];
        (void)snprintf(mark, sizeof mark, "ProfilerStep#%zu", s);
        made_note(&shard, mark, at_ns, lengths_ns[s], false);
        for (int k = 0; k < 10; k++) {
            made_kernel(&shard, GEMM, 7, at_ns + k * (lengths_ns[s] / 10), lengths_ns[s] / 10,
                        at_ns + k * 10 * US, INQ_NONE);
        }
        at_ns += lengths_ns[s];
    }
    return record_of(&shard, 1);
}

/* `n` steps: by turns `spread_ns` shorter and longer than 8 ms, the middle one of 8 ms, and `n_odd`
 * near the end that are `odd_ns` longer than that. */
static void expect_outliers(size_t n, int64_t spread_ns, size_t n_odd, int64_t odd_ns,
                            size_t outliers)
{
    int64_t lengths_ns[32];
    for (size_t s = 0; s < n; s++) {
        lengths_ns[s] = 8 * MS + (s % 2 == 0 ? -spread_ns : spread_ns);
    }
    lengths_ns[n / 2] = 8 * MS;
    for (size_t i = 0; i < n_odd; i++) {
        lengths_ns[n - 2 - 3 * i] = 8 * MS + odd_ns;
    }
    struct recorded r = steps_of(lengths_ns, n);
    print_message("%zu steps, %zu by %lld us: %zu outliers\n", n, n_odd, (long long)(odd_ns / US),
                  r.record.n_outliers);
    assert_int_equal(r.record.n_outliers, outliers);
    size_t judged = n < 16 ? n : n - 1; /* of 16 and more the first has no beginning */
    assert_int_equal(r.record.n_set_aside, n - judged);
    assert_int_equal(r.record.n_steps, judged - outliers);
    assert_int_equal(r.record.n_cells, judged - outliers);
    assert_int_equal(r.record.ranks[0].steps, judged - outliers);
    for (size_t i = 0; i < r.record.n_steps; i++) {
        size_t s = r.record.step_at[i];
        assert_int_equal(r.record.use[s], INQ_STEP_COUNTS);
        assert_int_equal(r.record.step_ns[i], lengths_ns[s]);
    }
    release(&r);
}

static void steps__that_are_far_from_the_median_do_not_count(void **state)
{
    (void)state;
    /* where the others are equal, 5 % from the median */
    expect_outliers(12, 0, 1, 400 * US, 0);
    expect_outliers(12, 0, 1, 401 * US, 1);
    expect_outliers(12, 0, 1, -400 * US, 0);
    expect_outliers(12, 0, 1, -401 * US, 1);
    /* where they differ by 0.1 ms, 6 x 1.4826 x 0.1 ms = 0.8896 ms */
    expect_outliers(13, 100 * US, 1, 889 * US, 0);
    expect_outliers(13, 100 * US, 1, 890 * US, 1);
}

static void steps__that_recur_count(void **state)
{
    (void)state;
    expect_outliers(12, 0, 2, 3 * MS, 0); /* one of ten may be odd */
    expect_outliers(20, 0, 2, 3 * MS, 0); /* 19 that are judged */
    expect_outliers(21, 0, 2, 3 * MS, 2);
    expect_outliers(5, 0, 1, 3 * MS, 1); /* of five steps one may be, of four none is known */
    expect_outliers(4, 0, 1, 3 * MS, 0);
}

/* ---- collectives and kernels ----------------------------------------------------------------- */

enum { STEPS = 6, ELEMS = 1000000 };

static void add_all_reduce(struct inq_shard *shard, int64_t seq, int64_t start_ns, int64_t end_ns)
{
    static const int32_t ranks[] = {0, 1, 2, 3};
    struct inq_comm comm;
    inq_comm_init(&comm);
    comm.kind = INQ_COLL_ALLREDUCE;
    comm.group = made_group(shard, "0", 4, ranks, 4);
    comm.group_size = 4;
    comm.seq = seq;
    comm.in_elems = comm.out_elems = ELEMS;
    comm.dtype_bytes = 4;
    made_kernel(shard, ALL_REDUCE, 20, start_ns, end_ns - start_ns, start_ns - 1 * US,
                made_comm(shard, &comm));
}

/* Each step of 10 ms on four ranks: a product of 3 ms (rank 1: 5 ms) from 0 on, an all-reduce of 4
 * MB from there to 8 ms, and below its last millisecond and the two after it 3 ms of a norm. */
static struct recorded four_ranks(void)
{
    struct inq_shard shards[4];
    for (int r = 0; r < 4; r++) {
        made_shard(&shards[r], r == 0 ? "a" : r == 1 ? "b" : r == 2 ? "c" : "d", r, 4);
        for (int s = 0; s < STEPS; s++) {
            char mark[32];
            int64_t at_ns = s * 10 * MS;
            int64_t product_ns = (r == 1 ? 5 : 3) * MS;
            (void)snprintf(mark, sizeof mark, "ProfilerStep#%d", s);
            made_note(&shards[r], mark, at_ns, 10 * MS, false);
            made_kernel(&shards[r], GEMM, 7, at_ns, product_ns, at_ns, INQ_NONE);
            add_all_reduce(&shards[r], s + 1, at_ns + product_ns, at_ns + 8 * MS);
            made_kernel(&shards[r], NORM, 7, at_ns + 7 * MS, 3 * MS, at_ns + 10 * US, INQ_NONE);
        }
    }
    return record_of(shards, 4);
}

static void collectives__have_the_times_and_bytes_of_all_members(void **state)
{
    (void)state;
    struct recorded r = four_ranks();
    const double members = 4.0 * STEPS;
    assert_int_equal(r.record.n_steps, STEPS);
    assert_int_equal(r.record.n_cells, 4 * STEPS);
    assert_int_equal(r.record.n_classes, 1);
    const struct inq_record_coll *c = &r.record.classes[0];
    assert_int_equal(c->kind, INQ_COLL_ALLREDUCE);
    assert_string_equal(c->role, "all ranks");
    assert_int_equal(c->count, 4 * STEPS);
    assert_int_equal(c->sized, 4 * STEPS);
    /* the last arrives after 5 ms and all end after 8; the norm covers the last of these */
    assert_int_equal(c->transfer_ns, 4 * STEPS * 3 * MS);
    assert_int_equal(c->exposed_ns, 4 * STEPS * 2 * MS);
    assert_int_equal(c->wait_ns, 3 * STEPS * 2 * MS);
    assert_int_equal(c->unsure_ns, 0);
    assert_true(c->bytes == members * 4.0 * ELEMS);
    assert_true(fabs(c->bus_bytes / (members * 4.0 * ELEMS * 1.5) - 1.0) < 1e-12); /* 2 (n-1)/n */
    /* 3 of 6 ms of compute are done before it; 5 of 8 on rank 1 */
    assert_true(fabs(c->earliest - 0.5) < 1e-12);
    for (size_t i = 0; i < r.run->traces[0]->n_collectives; i++) {
        assert_int_equal(r.record.class_of[i], 0);
    }
    release(&r);
}

static void parts__are_those_of_each_rank(void **state)
{
    (void)state;
    struct recorded r = four_ranks();
    for (size_t i = 0; i < 4; i++) {
        const int64_t *ns = r.record.ranks[i].part_ns;
        assert_int_equal(r.record.ranks[i].steps, STEPS);
        assert_int_equal(r.record.ranks[i].kernels, 2 * STEPS);
        assert_int_equal(ns[INQ_PART_COMPUTE], STEPS * (i == 1 ? 8 : 6) * MS);
        assert_int_equal(ns[INQ_PART_TRANSFER], STEPS * 2 * MS);
        assert_int_equal(ns[INQ_PART_WAITING], i == 1 ? 0 : STEPS * 2 * MS);
        assert_int_equal(ns[INQ_PART_IDLE] + ns[INQ_PART_HOST] + ns[INQ_PART_BUBBLE], 0);
    }
    assert_int_equal(r.record.part_ns[INQ_PART_COMPUTE], STEPS * (3 * 6 + 8) * MS);
    assert_int_equal(r.record.part_ns[INQ_PART_WAITING], STEPS * 3 * 2 * MS);
    release(&r);
}

static void kernels__are_counted_by_name(void **state)
{
    (void)state;
    struct recorded r = four_ranks();
    assert_int_equal(r.record.n_kernels, 2);
    assert_string_equal(r.record.kernels[0].name, GEMM); /* by name */
    assert_int_equal(r.record.kernels[0].count, 4 * STEPS);
    assert_int_equal(r.record.kernels[0].ns, STEPS * (3 * 3 + 5) * MS);
    assert_string_equal(r.record.kernels[1].name, NORM);
    assert_int_equal(r.record.kernels[1].count, 4 * STEPS);
    assert_int_equal(r.record.kernels[1].ns, STEPS * 4 * 3 * MS);
    const struct inq_workload *work = &r.record.work;
    assert_int_equal(work->kernels, 4 * 3); /* of a step, on all ranks, communication too */
    assert_int_equal(work->math, 4);
    assert_int_equal(work->passes, 1);
    assert_int_equal(work->replicas, 4);
    assert_true(work->even);
    assert_int_equal(work->n, 2);
    assert_string_equal(work->items[0].what, GEMM); /* the most time first: 14 of 26 ms */
    assert_int_equal(work->items[0].count, 4);
    assert_true(work->items[0].math && !work->items[1].math);
    assert_true(fabs(work->items[0].share - 14.0 / 26.0) < 1e-12);
    assert_true(fabs(work->items[1].share - 12.0 / 26.0) < 1e-12);
    release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps__that_are_far_from_the_median_do_not_count),
        cmocka_unit_test(steps__that_recur_count),
        cmocka_unit_test(collectives__have_the_times_and_bytes_of_all_members),
        cmocka_unit_test(parts__are_those_of_each_rank),
        cmocka_unit_test(kernels__are_counted_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
