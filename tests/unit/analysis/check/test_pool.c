/* SPDX-License-Identifier: Apache-2.0 */
/* Baselines of several runs: the spread between them is measured, and a creep is told. */
#include "analysis/check/check.h"
#include "analysis/check/pool.h"
#include "inquest/out.h"
#include "inquest/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* A run whose median step takes so long, by 10 steps within 1 us. */
static struct inq_snapshot run_of(double step_ns)
{
    struct inq_snapshot s = {.subject = INQ_SUBJECT_RUN, .ranks = 4, .work = {.kernels = 100}};
    struct inq_measure m = {.value = step_ns, .low = step_ns - 1e3, .high = step_ns + 1e3, .n = 10};
    assert_int_equal(inq_snapshot_add(&s, INQ_MEASURE_STEP_TIME, NULL, &m, NULL), INQ_OK);
    return s;
}

static void pool_runs(struct inq_snapshot *pool, const double *ms, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct inq_snapshot one = run_of(ms[i] * 1e6);
        assert_int_equal(inq_snapshot_pool(pool, &one, NULL), INQ_OK);
        inq_snapshot_release(&one);
    }
}

static enum inq_check_outcome outcome_of(const struct inq_baseline *base, double ms, char *message)
{
    struct inq_snapshot now = run_of(ms * 1e6);
    struct inq_check check;
    assert_int_equal(inq_check_compare(&now, base, NULL, &check, NULL), INQ_OK);
    enum inq_check_outcome outcome = check.rows[0].outcome;
    if (message != NULL) {
        memcpy(message, check.rows[0].message, sizeof check.rows[0].message);
    }
    inq_check_release(&check);
    inq_snapshot_release(&now);
    return outcome;
}

static void pool__two_runs_do_not_tell_their_spread(void **state)
{
    (void)state;
    struct inq_baseline base = {0};
    pool_runs(&base.snapshot, (const double[]){9.0, 11.0}, 2);
    assert_true(isnan(inq_pool_allowance(&base.snapshot.measures[0], 0.2e6)));
    pool_runs(&base.snapshot, (const double[]){10.0}, 1);
    assert_true(fabs(inq_pool_allowance(&base.snapshot.measures[0], 0.2e6) - 2.5e6) < 1.0);
    assert_true(fabs(base.snapshot.measures[0].value - 10e6) < 1.0);
    inq_baseline_release(&base);
}

static void pool__the_limit_is_the_spread_and_at_least_two_percent(void **state)
{
    (void)state;
    struct inq_baseline close = {0};
    struct inq_baseline wide = {0};
    char message[512];
    pool_runs(&close.snapshot, (const double[]){10.0, 10.0, 10.0}, 3);
    assert_int_equal(outcome_of(&close, 10.199, NULL), INQ_CHECK_WITHIN);
    assert_int_equal(outcome_of(&close, 10.201, message), INQ_CHECK_REGRESSED);
    assert_non_null(strstr(message, "beyond the spread of 3 runs"));
    assert_int_equal(outcome_of(&close, 9.799, message), INQ_CHECK_IMPROVED);
    assert_non_null(strstr(message, "--update would keep the gain"));
    pool_runs(&wide.snapshot, (const double[]){9.8, 10.2, 9.8, 10.2, 10.0}, 5); /* s = 0.2 */
    assert_int_equal(outcome_of(&wide, 10.49, NULL), INQ_CHECK_WITHIN);
    assert_int_equal(outcome_of(&wide, 10.51, NULL), INQ_CHECK_REGRESSED);
    inq_baseline_release(&close);
    inq_baseline_release(&wide);
}

/* What is measured within a step has not the run's own shift in it: less is allowed, and least of a
 * rank among many. */
static void pool__ranks_and_stages_are_held_closer(void **state)
{
    (void)state;
    static const struct {
        enum inq_measure_kind kind;
        int32_t replicas;
        double within, over;
    } cases[] = {
        {INQ_MEASURE_SLOWEST_RANK, 4, 1.0119, 1.0121},
        {INQ_MEASURE_SLOWEST_RANK, 3, 1.0189, 1.0191},
        {INQ_MEASURE_STAGE_SHARE, 2, 1.0149, 1.0151},
        {INQ_MEASURE_STAGE_SHARE, 1, 1.0189, 1.0191},
        {INQ_MEASURE_COMPUTE, 4, 1.0249, 1.0251},
        {INQ_MEASURE_SLOWDOWN, 4, 1.0199, 1.0201},
    };
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        bool over = i % 2 == 1;
        double unit = cases[i / 2].kind == INQ_MEASURE_COMPUTE ? 1e9 : 1.0;
        struct inq_baseline base = {0};
        struct inq_check check;
        struct inq_measure m = {.n = 10, .n_runs = 3, .runs = {unit, unit, unit}, .who = "rank 2"};
        m.value = m.low = m.high = unit;
        pool_runs(&base.snapshot, (const double[]){10.0, 10.0, 10.0}, 3);
        base.snapshot.work.replicas = cases[i / 2].replicas;
        assert_int_equal(inq_snapshot_add(&base.snapshot, cases[i / 2].kind, NULL, &m, NULL),
                         INQ_OK);
        struct inq_snapshot now = run_of(10e6);
        m.n_runs = 0;
        m.value = unit * (over ? cases[i / 2].over : cases[i / 2].within);
        assert_int_equal(inq_snapshot_add(&now, cases[i / 2].kind, NULL, &m, NULL), INQ_OK);
        assert_int_equal(inq_check_compare(&now, &base, NULL, &check, NULL), INQ_OK);
        assert_int_equal(check.pass, !over);
        assert_true(!over || strstr(check.cause->message, "rank 2") != NULL);
        inq_check_release(&check);
        inq_snapshot_release(&now);
        inq_baseline_release(&base);
    }
}

/* A rank of two that is slower and takes its stage of four along: the two together are held to
 * 1.6 %. By half of the rank and three quarters of the stage, over 7/8, 1.19 and 1.07 % are 1.597
 * %, and 1.20 and 1.08 % are 1.611 %; a stage of which no rank stands out is the stage's own
 * matter, and runs that differ by more are held to their spread. */
static void pool__a_rank_of_two_is_seen_with_its_stage(void **state)
{
    (void)state;
    static const struct {
        double rank, stage, spread;
        int32_t replicas;
        bool over;
    } cases[] = {
        {1.0119, 1.0107, 0.0, 2, false}, {1.0120, 1.0108, 0.0, 2, true},
        {1.0180, 1.0110, 0.0, 2, true},  {1.0180, 1.0110, 0.0, 4, true}, /* by its own line */
        {1.0115, 1.0110, 0.0, 4, false}, {1.0080, 1.0138, 0.0, 2, false},
        {1.0084, 1.0138, 0.0, 2, true},  {1.0120, 1.0108, 0.008, 2, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct inq_baseline base = {0};
        struct inq_check check;
        struct inq_snapshot now = run_of(10e6);
        pool_runs(&base.snapshot, (const double[]){10.0, 10.0, 10.0}, 3);
        base.snapshot.work.replicas = now.work.replicas = cases[i].replicas;
        double spread = cases[i].spread;
        struct inq_measure m = {
            .value = 1.0, .n = 10, .n_runs = 3, .runs = {1.0 - spread, 1.0, 1.0 + spread}};
        for (int stage = 0; stage < 4; stage++) {
            char suffix[8];
            (void)snprintf(suffix, sizeof suffix, "stage%d", stage);
            bool slow = stage == 2;
            struct inq_measure rank = {
                .value = slow ? cases[i].rank : 1.0, .n = 10, .who = "rank 5"};
            struct inq_measure share = {.value = slow ? cases[i].stage : 1.0, .n = 10};
            assert_int_equal(
                inq_snapshot_add(&base.snapshot, INQ_MEASURE_SLOWEST_RANK, suffix, &m, NULL),
                INQ_OK);
            assert_int_equal(
                inq_snapshot_add(&base.snapshot, INQ_MEASURE_STAGE_SHARE, suffix, &m, NULL),
                INQ_OK);
            assert_int_equal(inq_snapshot_add(&now, INQ_MEASURE_SLOWEST_RANK, suffix, &rank, NULL),
                             INQ_OK);
            assert_int_equal(inq_snapshot_add(&now, INQ_MEASURE_STAGE_SHARE, suffix, &share, NULL),
                             INQ_OK);
        }
        assert_int_equal(inq_check_compare(&now, &base, NULL, &check, NULL), INQ_OK);
        print_message("case %zu: %s\n", i, check.pass ? "passes" : check.cause->message);
        assert_int_equal(check.pass, !cases[i].over);
        assert_true(!cases[i].over || strstr(check.cause->message, "rank 5") != NULL);
        assert_true(!cases[i].over || cases[i].replicas > 2 ||
                    strstr(check.cause->message, "with it, together beyond the spread of 3 runs"));
        inq_check_release(&check);
        inq_snapshot_release(&now);
        inq_baseline_release(&base);
    }
}

/* Half of the steps that each run has, or fewer, make no gain. */
static void pool__few_steps_are_no_gain(void **state)
{
    (void)state;
    for (uint64_t n = 5; n <= 6; n++) {
        struct inq_baseline base = {0};
        struct inq_check check;
        struct inq_snapshot now = run_of(9.7e6);
        pool_runs(&base.snapshot, (const double[]){10.0, 10.0, 10.0}, 3);
        now.measures[0].n = n;
        assert_int_equal(inq_check_compare(&now, &base, NULL, &check, NULL), INQ_OK);
        assert_int_equal(check.rows[0].outcome, n == 5 ? INQ_CHECK_WITHIN : INQ_CHECK_IMPROVED);
        assert_int_equal(strstr(check.rows[0].message, "is less, but of 5 steps") != NULL, n == 5);
        inq_check_release(&check);
        inq_snapshot_release(&now);
        inq_baseline_release(&base);
    }
}

static void pool__one_percent_a_week_is_told(void **state)
{
    (void)state;
    struct inq_baseline base = {0};
    struct inq_baseline noise = {0};
    char message[512];
    pool_runs(&base.snapshot, (const double[]){10.0, 10.1, 10.2, 10.3}, 4);
    assert_int_equal(outcome_of(&base, 10.4, NULL), INQ_CHECK_WITHIN); /* five values */
    pool_runs(&base.snapshot, (const double[]){10.4}, 1);
    assert_int_equal(outcome_of(&base, 10.5, message), INQ_CHECK_REGRESSED);
    assert_non_null(strstr(message, "1.0 % a run over 6 runs"));
    pool_runs(&noise.snapshot, (const double[]){10.0, 10.3, 10.1, 10.2, 10.0, 10.3}, 6);
    assert_int_equal(outcome_of(&noise, 10.2, NULL), INQ_CHECK_WITHIN);
    inq_baseline_release(&base);
    inq_baseline_release(&noise);
}

static void pool__is_read_as_written_and_keeps_a_year(void **state)
{
    (void)state;
    struct inq_baseline base = {0};
    struct inq_baseline again;
    struct inq_out out = {0};
    struct inq_sink sink = inq_out_sink(&out);
    struct inq_snapshot other = {.subject = INQ_SUBJECT_RUN, .ranks = 8};
    for (int i = 0; i < INQ_POOL_MOST + 3; i++) {
        pool_runs(&base.snapshot, (const double[]){10.0 + i}, 1);
    }
    const struct inq_measure *m = &base.snapshot.measures[0];
    assert_int_equal(m->n_runs, INQ_POOL_MOST);
    assert_true(fabs(m->runs[0] - 13e6) < 1.0); /* the oldest three went */
    assert_int_equal(inq_baseline_write(&base.snapshot, &base.rules, sink, NULL), INQ_OK);
    assert_int_equal(inq_baseline_read(out.buf, out.len, &again, NULL), INQ_OK);
    assert_int_equal(again.snapshot.measures[0].n_runs, INQ_POOL_MOST);
    assert_memory_equal(again.snapshot.measures[0].runs, m->runs, sizeof m->runs);
    assert_int_equal(inq_snapshot_pool(&base.snapshot, &other, NULL), INQ_UNSUPPORTED);
    inq_out_release(&out);
    inq_baseline_release(&base);
    inq_baseline_release(&again);
}

/* A finding of a step that is far off and does not recur fails only with a measure that got worse.
 */
static void pool__a_passing_outlier_makes_no_new_finding(void **state)
{
    (void)state;
    for (int outliers = 0; outliers < 2; outliers++) {
        struct inq_baseline base = {0};
        struct inq_check check;
        pool_runs(&base.snapshot, (const double[]){10.0, 10.0, 10.0}, 3);
        struct inq_snapshot now = run_of(10e6);
        now.outliers = (size_t)outliers;
        assert_int_equal(
            inq_snapshot_add_finding(&now, "late_host:rank1", INQ_SEVERITY_HIGH, "late", NULL),
            INQ_OK);
        assert_int_equal(inq_check_compare(&now, &base, NULL, &check, NULL), INQ_OK);
        assert_int_equal(check.pass, outliers == 1);
        inq_check_release(&check);
        inq_snapshot_release(&now);
        inq_baseline_release(&base);
    }
}

/* What the runs and the one after them creep by per run; 0: they do not. */
static double creep_of(const double *values, size_t n, double unit)
{
    struct inq_measure base = {.n_runs = n - 1};
    memcpy(base.runs, values, (n - 1) * sizeof *values);
    return inq_pool_creep(&base, values[n - 1], unit);
}

/* Mann and Kendall's S of n values in order is n (n - 1) / 2, and each pair in the other order
 * takes 2 of it, a tie 1. S - 1 has to exceed 2.576 deviations: 13.7 of six values, 20.8 of eight.
 */
static void pool__a_creep_is_an_order_that_chance_does_not_make(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        size_t n;
        double values[8], slope;
    } cases[] = {
        {"five values in order", 5, {100, 110, 120, 130, 140}, 0.0},
        {"six in order, S = 15", 6, {100, 110, 120, 130, 140, 150}, 10.0},
        {"a tie, S = 14", 6, {100, 100, 120, 130, 140, 150}, 0.0},
        {"a pair reversed, S = 13", 6, {110, 100, 120, 130, 140, 150}, 0.0},
        {"three of eight reversed, S = 22", 8, {110, 100, 130, 120, 150, 140, 160, 170}, 10.0},
        {"four of eight reversed, S = 20", 8, {110, 100, 130, 120, 150, 140, 170, 160}, 0.0},
        {"descending", 6, {150, 140, 130, 120, 110, 100}, 0.0},
        {"six in order, by 3.05 %", 6, {100, 100.61, 101.22, 101.83, 102.44, 103.05}, 0.61},
        {"six in order, by 2.95 %", 6, {100, 100.59, 101.18, 101.77, 102.36, 102.95}, 0.0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        print_message("%s\n", cases[i].what);
        double slope = creep_of(cases[i].values, cases[i].n, 100.0);
        assert_true(fabs(slope - cases[i].slope) < 1e-9);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pool__a_creep_is_an_order_that_chance_does_not_make),
        cmocka_unit_test(pool__two_runs_do_not_tell_their_spread),
        cmocka_unit_test(pool__the_limit_is_the_spread_and_at_least_two_percent),
        cmocka_unit_test(pool__ranks_and_stages_are_held_closer),
        cmocka_unit_test(pool__a_rank_of_two_is_seen_with_its_stage),
        cmocka_unit_test(pool__few_steps_are_no_gain),
        cmocka_unit_test(pool__one_percent_a_week_is_told),
        cmocka_unit_test(pool__is_read_as_written_and_keeps_a_year),
        cmocka_unit_test(pool__a_passing_outlier_makes_no_new_finding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
