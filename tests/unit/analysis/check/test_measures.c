/* SPDX-License-Identifier: Apache-2.0 */
/* The measures of a recorded run, in figures that follow from how the run was made. */
#include "support_steps.h"

#include "analysis/check/check.h"
#include "inquest/analysis.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#define US INT64_C(1000)
#define MS INT64_C(1000000)

enum { RANKS = 4, STEPS = MADE_STEPS };

struct measured {
    struct inq_run *run;
    struct inq_report *report;
    struct inq_snapshot snapshot;
};

static struct measured measures_of(const struct made_steps *plan)
{
    struct measured m = {.run = made_steps_run(plan)};
    struct inq_err err = {0};
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
    struct made_steps plan;
    made_steps_init(&plan, RANKS, 6 * MS);
    made_steps_set(&plan, 1, 8 * MS);
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
        struct made_steps plan;
        made_steps_init(&plan, RANKS, 5 * MS);
        made_steps_set(&plan, 2, 5 * MS + (over ? 101 : 99) * US);
        struct measured m = measures_of(&plan);
        expect(&m, "compute_ns", over ? 5.101e6 : 5.099e6, over ? "rank 2" : "");
        release(&m);
    }
}

/* Of several that are slow nobody is picked: those within a quarter of the way from the slowest to
 * the fastest are named together. */
static void measures__name_all_that_stand_out(void **state)
{
    (void)state;
    static const struct {
        int64_t compute_us[RANKS];
        const char *who;
    } rows[] = {
        {{5000, 6000, 6000, 5000}, "ranks 1 and 2"},
        {{5000, 6000, 5750, 5000}, "ranks 1 and 2"},
        {{5000, 6000, 5749, 5000}, "rank 1"},
        {{5000, 6000, 6010, 6000}, "3 ranks, rank 2 most"},
        {{6000, 6000, 6000, 6000}, ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct made_steps plan;
        double most = 0.0;
        made_steps_init(&plan, RANKS, 5 * MS);
        for (int r = 0; r < RANKS; r++) {
            made_steps_set(&plan, r, rows[i].compute_us[r] * US);
            most = fmax(most, (double)(rows[i].compute_us[r] * US));
        }
        struct measured m = measures_of(&plan);
        expect(&m, "compute_ns", most, rows[i].who);
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
        struct made_steps plan;
        made_steps_init(&plan, rows[i].ranks, MS);
        for (int r = 0; r < rows[i].ranks; r++) {
            made_steps_set(&plan, r, rows[i].compute_ms[r] * MS);
        }
        struct measured m = measures_of(&plan);
        expect(&m, "slowest_rank", rows[i].ratio, rows[i].who);
        release(&m);
    }
    struct made_steps plan;
    made_steps_init(&plan, 2, 5 * MS);
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
        struct made_steps plan;
        made_steps_init(&plan, 1, 8 * MS);
        for (int s = 2; s < STEPS; s += 4) {
            plan.compute_ns[0][s] += rows[i].longer_ns;
        }
        struct measured m = measures_of(&plan);
        expect(&m, "step_time_ns", 8e6, "");
        expect(&m, "mean_step_ns", 8e6 + (double)rows[i].longer_ns / 4.0, rows[i].who);
        release(&m);
    }
}

/* One step that is more than 3 % longer is told with what is longer in it, whether it counts in the
 * mean (up to 5 %) or not; one that recurs is the mean's. */
static void measures__tell_of_one_long_step(void **state)
{
    (void)state;
    static const struct {
        int64_t longer_ns;
        int rank, every; /* -1: all of them */
        const char *told;
    } rows[] = {
        {4 * MS, 1, STEPS,
         "Step 7 was 36 % longer than the median step (15.0 ms, not 11.0 ms): 4.00 ms more compute "
         "on rank 1"},
        {4 * MS, -1, STEPS,
         "Step 7 was 36 % longer than the median step (15.0 ms, not 11.0 ms): 4.00 ms more compute "
         "on all ranks"},
        {331 * US, -1, STEPS,
         "Step 7 was 3 % longer than the median step (11.3 ms, not 11.0 ms): 331 us more compute "
         "on all ranks"},
        {330 * US, -1, STEPS, ""},
        {4 * MS, 1, 4, ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct made_steps plan;
        made_steps_init(&plan, RANKS, 8 * MS);
        for (int r = 0; r < RANKS; r++) {
            for (int s = 7 % rows[i].every; s < STEPS; s += rows[i].every) {
                bool longer = rows[i].rank < 0 || rows[i].rank == r;
                plan.compute_ns[r][s] += longer ? rows[i].longer_ns : 0;
            }
        }
        struct measured m = measures_of(&plan);
        assert_string_equal(m.snapshot.longest, rows[i].told);
        release(&m);
    }
}

/* As many as a long pipeline has, and each is found. */
static void measures__of_many_stages_are_kept(void **state)
{
    (void)state;
    enum { STAGES = 3000 };
    struct inq_snapshot snapshot = {0};
    char suffix[32];
    for (int i = 0; i < STAGES; i++) {
        const struct inq_measure values = {.value = i, .low = i, .high = i, .n = 1};
        (void)snprintf(suffix, sizeof suffix, "stage%d", i);
        assert_int_equal(inq_snapshot_add(&snapshot, INQ_MEASURE_COMPUTE, suffix, &values, NULL),
                         INQ_OK);
    }
    assert_int_equal(snapshot.n, STAGES);
    const struct inq_measure *last = inq_snapshot_find(&snapshot, snapshot.measures[2999].name);
    assert_ptr_equal(last, &snapshot.measures[2999]);
    assert_null(inq_snapshot_find(&snapshot, "compute_ns.stage3000"));
    inq_snapshot_release(&snapshot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measures__of_many_stages_are_kept),
        cmocka_unit_test(measures__are_of_the_slowest_or_of_all),
        cmocka_unit_test(measures__name_a_rank_that_stands_out),
        cmocka_unit_test(measures__name_all_that_stand_out),
        cmocka_unit_test(measures__hold_a_rank_against_the_median_of_its_peers),
        cmocka_unit_test(measures__tell_why_the_mean_is_above_the_median),
        cmocka_unit_test(measures__tell_of_one_long_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
