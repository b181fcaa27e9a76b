/* SPDX-License-Identifier: Apache-2.0 */
/* The measures of a recorded run, in figures that follow from how the run was made. */
#include "support_shard.h"

#include "analysis/check/check.h"
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
static const char ALL_REDUCE[] = "ncclDevKernel_AllReduce_Sum_f32_RING_LL";

enum { RANKS = 4, STEPS = 12 };

/* Each step of a rank: compute, then an all-reduce that ends 3 ms after the slowest came. */
struct plan {
    int ranks;
    int64_t compute_ns[RANKS][STEPS];
};

struct measured {
    struct inq_run *run;
    struct inq_report *report;
    struct inq_snapshot snapshot;
};

static void add_all_reduce(struct inq_shard *shard, int ranks, int64_t seq, int64_t start_ns,
                           int64_t end_ns)
{
    static const int32_t all[RANKS] = {0, 1, 2, 3};
    struct inq_comm comm;
    inq_comm_init(&comm);
    comm.kind = INQ_COLL_ALLREDUCE;
    comm.group = made_group(shard, "0", ranks, all, (uint32_t)ranks);
    comm.group_size = ranks;
    comm.seq = seq;
    made_kernel(shard, ALL_REDUCE, 20, start_ns, end_ns - start_ns, start_ns - 1 * US,
                made_comm(shard, &comm));
}

static void init_plan(struct plan *plan, int ranks, int64_t compute_ns)
{
    *plan = (struct plan){.ranks = ranks};
    for (int r = 0; r < ranks; r++) {
        for (int s = 0; s < STEPS; s++) {
            plan->compute_ns[r][s] = compute_ns;
        }
    }
}

static struct measured measures_of(const struct plan *plan)
{
    static const char *const files[RANKS] = {"a", "b", "c", "d"};
    struct inq_shard shards[RANKS];
    struct inq_err err = {0};
    int64_t at_ns = 0;
    for (int r = 0; r < plan->ranks; r++) {
        made_shard(&shards[r], files[r], r, plan->ranks);
    }
    for (int s = 0; s < STEPS; s++) {
        int64_t most_ns = 0;
        for (int r = 0; r < plan->ranks; r++) {
            most_ns = plan->compute_ns[r][s] > most_ns ? plan->compute_ns[r][s] : most_ns;
        }
        int64_t end_ns = at_ns + most_ns + (plan->ranks > 1 ? 3 * MS : 0);
        for (int r = 0; r < plan->ranks; r++) {
            char mark[32];
            (void)snprintf(mark, sizeof mark, "ProfilerStep#%d", s);
            made_note(&shards[r], mark, at_ns, end_ns - at_ns, false);
            made_kernel(&shards[r], GEMM, 7, at_ns, plan->compute_ns[r][s], at_ns, INQ_NONE);
            if (plan->ranks > 1) {
                add_all_reduce(&shards[r], plan->ranks, s + 1, at_ns + plan->compute_ns[r][s],
                               end_ns);
            }
        }
        at_ns = end_ns;
    }
    struct measured m = {.run = made_run(shards, (size_t)plan->ranks, false)};
    assert_int_equal(m.run->n_traces, 1);
    assert_int_equal(inq_analyze(m.run->traces[0], NULL, &m.report, &err), INQ_OK);
    if (inq_snapshot_of_report(m.report, &m.snapshot, &err) != INQ_OK) {
        fail_msg("%s", err.message);
    }
    return m;
}

static void release(struct measured *m)
{
    inq_snapshot_release(&m->snapshot);
    inq_report_free(m->report);
    inq_run_free(m->run);
}

static const struct inq_measure *find(const struct measured *m, const char *name)
{
    const struct inq_measure *found = inq_snapshot_find(&m->snapshot, name);
    if (found == NULL) {
        fail_msg("no measure '%s'", name);
    }
    return found;
}

static void expect(const struct measured *m, const char *name, double value, const char *who)
{
    const struct inq_measure *found = find(m, name);
    print_message("%s %.6g '%s'\n", name, found->value, found->who);
    assert_true(fabs(found->value - value) <= 1e-9 * fabs(value));
    assert_string_equal(found->who, who);
}

static void measures__are_of_the_slowest_or_of_all(void **state)
{
    (void)state;
    struct plan plan;
    init_plan(&plan, RANKS, 6 * MS);
    for (int s = 0; s < STEPS; s++) {
        plan.compute_ns[1][s] = 8 * MS;
    }
    struct measured m = measures_of(&plan);
    assert_int_equal(m.snapshot.ranks, RANKS);
    expect(&m, "step_time_ns", 11e6, "");
    expect(&m, "mean_step_ns", 11e6, "");
    expect(&m, "compute_ns", 8e6, "rank 1");
    expect(&m, "slowest_rank", 8.0 / 6.0, "rank 1");
    expect(&m, "exposed_comm_ns", (3 * 5e6 + 3e6) / 4, "most of it all_reduce over all ranks");
    expect(&m, "worst_wait_ns", 2e6, "");
    expect(&m, "idle_ns", 0.0, "");
    expect(&m, "damaged_files", 0.0, "");
    assert_int_equal(find(&m, "compute_ns")->n, STEPS);
    release(&m);
}

/* A rank is named whose compute is 2 % above the mean of the others. */
static void measures__name_a_rank_that_stands_out(void **state)
{
    (void)state;
    for (int over = 0; over < 2; over++) {
        struct plan plan;
        init_plan(&plan, RANKS, 5 * MS);
        for (int s = 0; s < STEPS; s++) {
            plan.compute_ns[2][s] = 5 * MS + (over ? 101 : 99) * US;
        }
        struct measured m = measures_of(&plan);
        expect(&m, "compute_ns", over ? 5.101e6 : 5.099e6, over ? "rank 2" : "");
        release(&m);
    }
}

/* The others' median is the mean of the middle two where they are even; whoever leads does so by
 * the median of its steps. */
static void measures__hold_a_rank_against_the_median_of_its_peers(void **state)
{
    (void)state;
    static const struct {
        int ranks;
        int64_t compute_ms[RANKS];
        double ratio;
        const char *who;
    } rows[] = {
        {2, {6, 5}, 6.0 / 5.0, "rank 0"},       {3, {4, 8, 6}, 8.0 / 5.0, "rank 1"},
        {4, {4, 5, 6, 8}, 8.0 / 5.0, "rank 3"}, {4, {9, 5, 6, 8}, 9.0 / 6.0, "rank 0"},
        {4, {5, 5, 6, 6}, 6.0 / 5.0, "rank 2"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct plan plan;
        init_plan(&plan, rows[i].ranks, MS);
        for (int r = 0; r < rows[i].ranks; r++) {
            for (int s = 0; s < STEPS; s++) {
                plan.compute_ns[r][s] = rows[i].compute_ms[r] * MS;
            }
        }
        struct measured m = measures_of(&plan);
        expect(&m, "slowest_rank", rows[i].ratio, rows[i].who);
        release(&m);
    }
    struct plan plan;
    init_plan(&plan, 2, 5 * MS);
    for (int s = 0; s < STEPS; s++) {
        plan.compute_ns[1][s] = s < 5 ? 9 * MS : 4 * MS;
    }
    struct measured m = measures_of(&plan);
    assert_string_equal(find(&m, "slowest_rank")->who, "rank 0"); /* 5 / 4 in seven of twelve */
    release(&m);
}

/* Every fourth step computes longer: the mean is a quarter of that above the median, and is told
 * from 1 % of itself on. */
static void measures__tell_why_the_mean_is_above_the_median(void **state)
{
    (void)state;
    static const struct {
        int64_t longer_ns;
        const char *who;
    } rows[] = {
        {2 * MS, "500 us above the median, mostly compute; recurs every 4 steps"},
        {324 * US, "81.0 us above the median, mostly compute; recurs every 4 steps"},
        {320 * US, ""}, /* 80 us of 8.08 ms */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct plan plan;
        init_plan(&plan, 1, 8 * MS);
        for (int s = 2; s < STEPS; s += 4) {
            plan.compute_ns[0][s] += rows[i].longer_ns;
        }
        struct measured m = measures_of(&plan);
        expect(&m, "step_time_ns", 8e6, "");
        expect(&m, "mean_step_ns", 8e6 + (double)rows[i].longer_ns / 4.0, rows[i].who);
        release(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measures__are_of_the_slowest_or_of_all),
        cmocka_unit_test(measures__name_a_rank_that_stands_out),
        cmocka_unit_test(measures__hold_a_rank_against_the_median_of_its_peers),
        cmocka_unit_test(measures__tell_why_the_mean_is_above_the_median),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
