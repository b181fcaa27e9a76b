/* SPDX-License-Identifier: Apache-2.0 */
/* Who delays whom: planted causes are found and told apart, chance is not accused. */
#include "inquest/analysis.h"

#include "support_lockstep.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct inq_report *analyze(struct inq_trace *trace)
{
    struct inq_report *report = NULL;
    struct inq_err err = {0};

    assert_int_equal(inq_analyze(trace, NULL, &report, &err), INQ_OK);
    return report;
}

/* The trace of the plan has one candidate: this rank, for this reason, at about this cost. */
static void expect_one(const struct lockstep_plan *plan, enum inq_finding_kind kind, uint32_t rank,
                       int64_t cost_ns, int64_t within_ns)
{
    struct inq_trace *trace = lockstep_trace(plan);
    struct inq_report *report = analyze(trace);

    assert_non_null(report->attribution);
    assert_int_equal(report->attribution->n_candidates, 1);
    const struct inq_candidate *candidate = &report->attribution->candidates[0];
    assert_string_equal(inq_finding_kind_text(candidate->kind), inq_finding_kind_text(kind));
    assert_int_equal(candidate->n_ranks, 1);
    assert_int_equal(candidate->ranks[0], rank);
    assert_in_range(candidate->cost_ns_per_step, cost_ns - within_ns, cost_ns + within_ns);
    assert_true(candidate->n_evidence > 0);
    assert_int_equal(report->findings[0].kind, kind);
    assert_string_equal(report->verdict.cls, inq_finding_kind_text(kind));
    inq_report_free(report);
    lockstep_free(trace);
}

/* Nobody is named, though the others may wait. */
static void expect_nobody(const struct lockstep_plan *plan)
{
    struct inq_trace *trace = lockstep_trace(plan);
    struct inq_report *report = analyze(trace);

    assert_non_null(report->attribution);
    assert_int_equal(report->attribution->n_candidates, 0);
    assert_string_equal(report->verdict.cls, "waiting_unexplained");
    assert_int_equal(report->verdict.confidence, INQ_CONFIDENCE_HYPOTHESIS);
    inq_report_free(report);
    lockstep_free(trace);
}

static void expect_healthy(const struct lockstep_plan *plan)
{
    struct inq_trace *trace = lockstep_trace(plan);
    struct inq_report *report = analyze(trace);

    assert_non_null(report->attribution);
    assert_int_equal(report->attribution->n_candidates, 0);
    assert_string_equal(report->verdict.cls, "healthy");
    inq_report_free(report);
    lockstep_free(trace);
}

static void all_steps(double row[LOCKSTEP_STEPS], double value)
{
    for (int s = 0; s < LOCKSTEP_STEPS; s++) {
        row[s] = value;
    }
}

static void blame__healthy_run_names_nobody(void **state)
{
    (void)state;
    struct lockstep_plan plan;

    for (int ranks = 2; ranks <= 8; ranks += 2) {
        lockstep_init(&plan, ranks, 6);
        expect_healthy(&plan);
    }
}

static void blame__slow_gpu_by_a_common_factor(void **state)
{
    (void)state;
    struct lockstep_plan plan;

    lockstep_init(&plan, 4, 6);
    all_steps(plan.slower[2], 0.10);
    expect_one(&plan, INQ_FINDING_SLOW_GPU, 2, 2000000, 200000);
}

/* As when rank 0 alone writes a checkpoint: the others wait in the step after each copy, and no
 * call says that the host waited, so that the simulator cannot say what would be gained. `seen`:
 * the steps that it is told of; `in_some`: whether it is told as what comes and goes. */
static void expect_copies(const struct lockstep_plan *plan, size_t seen, bool in_some)
{
    struct inq_trace *trace = lockstep_trace(plan);
    struct inq_report *report = analyze(trace);
    int64_t all_ns = 0;

    for (int s = 0; s < plan->steps; s++) {
        all_ns += plan->copy_ns[0][s];
    }
    assert_int_equal(report->attribution->n_candidates, 1);
    const struct inq_candidate *candidate = &report->attribution->candidates[0];
    assert_int_equal(candidate->kind, INQ_FINDING_EXPOSED_COPY);
    assert_int_equal(candidate->n_ranks, 1);
    assert_int_equal(candidate->ranks[0], 0);
    assert_true(candidate->in_order_ns < 0);
    assert_int_equal(candidate->steps_seen, seen);
    assert_in_range(candidate->cost_ns_per_step, all_ns / plan->steps - 300000,
                    all_ns / plan->steps + 300000);
    assert_int_equal(strstr(report->findings[0].advice, "checkpoint") != NULL, in_some);
    inq_report_free(report);
    lockstep_free(trace);
}

static void blame__copies_between_steps_though_no_call_waits_for_them(void **state)
{
    (void)state;
    struct lockstep_plan plan;

    lockstep_init(&plan, 4, 12);
    for (int s = 2; s < 11; s += 3) {
        plan.copy_ns[0][s] = 10000000;
    }
    expect_copies(&plan, 3, true);
    plan.copy_ns[0][4] = 200000; /* of a step of 25 ms: less than one percent of it */
    expect_copies(&plan, 3, true);
    plan.copy_ns[0][4] = 300000;
    expect_copies(&plan, 4, true);
    for (int s = 0; s < 12; s++) {
        plan.copy_ns[0][s] = 10000000;
    }
    expect_copies(&plan, 11, false); /* in each that is judged: nothing says when the first began */
}

static void blame__larger_kernels_are_more_work(void **state)
{
    (void)state;
    struct lockstep_plan plan;

    lockstep_init(&plan, 4, 6);
    plan.larger[1] = 0.3;
    expect_one(&plan, INQ_FINDING_MORE_WORK, 1, 3000000, 300000);
}

static void blame__more_kernels_are_more_work(void **state)
{
    (void)state;
    struct lockstep_plan plan;

    lockstep_init(&plan, 4, 6);
    plan.more[3] = 4;
    expect_one(&plan, INQ_FINDING_MORE_WORK, 3, 4000000, 400000);
}

/* Products of other sizes under the name of the model's: extra compute, however much longer they
 * are.
 */
static void blame__longer_kernels_of_the_same_name_are_more_work(void **state)
{
    (void)state;
    struct lockstep_plan plan;

    for (int more = 1; more <= 64; more *= 8) {
        lockstep_init(&plan, 4, 6);
        plan.more[2] = more;
        plan.longer = 9.0;
        expect_one(&plan, INQ_FINDING_MORE_WORK, 2, more * INT64_C(10000000),
                   more * INT64_C(500000));
    }
}

static void blame__late_host_with_what_it_did(void **state)
{
    (void)state;
    struct lockstep_plan plan;

    lockstep_init(&plan, 4, 6);
    plan.pause_name = "load_batch";
    for (int s = 0; s < 6; s++) {
        plan.late_ns[0][s] = 3000000;
    }
    expect_one(&plan, INQ_FINDING_LATE_HOST, 0, 3000000, 400000);

    struct inq_trace *trace = lockstep_trace(&plan);
    struct inq_report *report = analyze(trace);
    assert_string_equal(report->attribution->candidates[0].running, "load_batch");
    assert_non_null(strstr(report->findings[0].advice, "load_batch"));
    inq_report_free(report);
    lockstep_free(trace);
}

static void blame__rare_pauses_are_found_at_their_mean_cost(void **state)
{
    (void)state;
    struct lockstep_plan plan;

    lockstep_init(&plan, 4, 11);
    plan.late_ns[1][3] = 10000000;
    plan.late_ns[1][8] = 10000000;
    expect_one(&plan, INQ_FINDING_LATE_HOST, 1, 2000000, 300000);
}

static void blame__clocks_that_differ_blame_nobody(void **state)
{
    (void)state;
    struct lockstep_plan plan;

    lockstep_init(&plan, 4, 6);
    plan.clock_ns[1] = 50000000;
    plan.clock_ns[2] = -3000000;
    expect_nobody(&plan); /* clocks that nobody aligned: what looks like waiting is none */
    all_steps(plan.slower[3], 0.10);
    expect_one(&plan, INQ_FINDING_SLOW_GPU, 3, 2000000, 200000);
}

/* Every step another rank is slow: that is imbalance, not a straggler. */
static void blame__turns_taken_are_nobodys_fault(void **state)
{
    (void)state;
    struct lockstep_plan plan;

    lockstep_init(&plan, 4, 12);
    for (int s = 0; s < 12; s++) {
        plan.slower[s % 4][s] = 0.05;
    }
    expect_nobody(&plan);
}

static void blame__two_slow_gpus_are_both_named(void **state)
{
    (void)state;
    struct lockstep_plan plan;

    lockstep_init(&plan, 8, 6);
    all_steps(plan.slower[2], 0.15);
    all_steps(plan.slower[5], 0.15);
    struct inq_trace *trace = lockstep_trace(&plan);
    struct inq_report *report = analyze(trace);
    size_t named = 0;
    int64_t cost_ns = 0;
    for (size_t i = 0; i < report->attribution->n_candidates; i++) {
        assert_int_equal(report->attribution->candidates[i].kind, INQ_FINDING_SLOW_GPU);
        named += report->attribution->candidates[i].n_ranks;
        cost_ns += report->attribution->candidates[i].cost_ns_per_step;
    }
    assert_int_equal(named, 2);
    assert_in_range(cost_ns, 2700000, 3300000);
    inq_report_free(report);
    lockstep_free(trace);
}

static void blame__one_step_is_a_hypothesis(void **state)
{
    (void)state;
    struct lockstep_plan plan;

    lockstep_init(&plan, 4, 1);
    all_steps(plan.slower[2], 0.03);
    expect_healthy(&plan); /* below what a single step can tell */
    all_steps(plan.slower[2], 0.3);
    struct inq_trace *trace = lockstep_trace(&plan);
    struct inq_report *report = analyze(trace);
    assert_int_equal(report->attribution->n_candidates, 1);
    assert_int_equal(report->attribution->candidates[0].confidence, INQ_CONFIDENCE_HYPOTHESIS);
    inq_report_free(report);
    lockstep_free(trace);
}

static void blame__nobody_is_surely_late_only_after_three_steps(void **state)
{
    (void)state;
    struct lockstep_plan plan;
    static const enum inq_confidence expected[] = {
        INQ_CONFIDENCE_SUPPORTED, INQ_CONFIDENCE_SUPPORTED, INQ_CONFIDENCE_ESTABLISHED};

    for (int steps = 1; steps <= 3; steps++) {
        lockstep_init(&plan, 4, steps);
        struct inq_trace *trace = lockstep_trace(&plan);
        struct inq_report *report = analyze(trace);
        assert_int_equal(report->attribution->steps_judged, steps);
        assert_string_equal(report->verdict.cls, "healthy");
        assert_int_equal(report->verdict.confidence, expected[steps - 1]);
        inq_report_free(report);
        lockstep_free(trace);
    }
}

/* Of three steps none can be told to be unlike the others. */
static void blame__a_long_step_needs_three_others(void **state)
{
    (void)state;
    struct lockstep_plan plan;

    for (int steps = 3; steps <= 5; steps++) {
        lockstep_init(&plan, 4, steps);
        for (int r = 0; r < 4; r++) {
            plan.slower[r][2] = 1.0;
        }
        struct inq_trace *trace = lockstep_trace(&plan);
        struct inq_report *report = analyze(trace);
        size_t outliers = 0;
        for (size_t i = 0; i < report->n_findings; i++) {
            outliers += report->findings[i].kind == INQ_FINDING_STEP_OUTLIER;
        }
        assert_int_equal(outliers, steps < 4 ? 0 : 1);
        inq_report_free(report);
        lockstep_free(trace);
    }
}

/* Without launches the idle GPU is all there is to see. */
static void blame__idle_without_recorded_launches(void **state)
{
    (void)state;
    struct lockstep_plan plan;

    lockstep_init(&plan, 4, 6);
    plan.no_calls = true;
    for (int s = 0; s < 6; s++) {
        plan.late_ns[3][s] = 4000000;
    }
    expect_one(&plan, INQ_FINDING_LATE_HOST, 3, 4000000, 400000);
    struct inq_trace *trace = lockstep_trace(&plan);
    struct inq_report *report = analyze(trace);
    assert_non_null(strstr(report->verdict.headline, "launches are not recorded"));
    assert_null(strstr(report->verdict.headline, "late"));
    assert_string_equal(report->findings[0].measured, "GPU idle 4.01 ms per step");
    inq_report_free(report);
    lockstep_free(trace);
}

static void blame__slices_of_an_unknown_profiler_are_no_device_work(void **state)
{
    (void)state;
    struct lockstep_plan plan;

    lockstep_init(&plan, 1, 6);
    struct inq_trace *trace = lockstep_trace(&plan);
    struct inq_events *e = &trace->ranks[0].events;
    for (size_t i = 0; i < e->n; i++) {
        e->kind[i] = INQ_EVENT_SLICE;
        e->cls[i] = INQ_CLASS_OTHER;
    }
    struct inq_report *report = analyze(trace);
    assert_non_null(strstr(report->verdict.headline, "no device work is recognized"));
    assert_null(strstr(report->verdict.headline, "one rank"));
    inq_report_free(report);
    lockstep_free(trace);
}

static void blame__one_rank_is_not_compared(void **state)
{
    (void)state;
    struct lockstep_plan plan;

    lockstep_init(&plan, 1, 6);
    struct inq_trace *trace = lockstep_trace(&plan);
    struct inq_report *report = analyze(trace);
    assert_null(report->attribution);
    assert_string_equal(report->verdict.cls, "nothing_to_judge");
    inq_report_free(report);
    lockstep_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blame__healthy_run_names_nobody),
        cmocka_unit_test(blame__slow_gpu_by_a_common_factor),
        cmocka_unit_test(blame__copies_between_steps_though_no_call_waits_for_them),
        cmocka_unit_test(blame__larger_kernels_are_more_work),
        cmocka_unit_test(blame__more_kernels_are_more_work),
        cmocka_unit_test(blame__longer_kernels_of_the_same_name_are_more_work),
        cmocka_unit_test(blame__late_host_with_what_it_did),
        cmocka_unit_test(blame__rare_pauses_are_found_at_their_mean_cost),
        cmocka_unit_test(blame__clocks_that_differ_blame_nobody),
        cmocka_unit_test(blame__turns_taken_are_nobodys_fault),
        cmocka_unit_test(blame__two_slow_gpus_are_both_named),
        cmocka_unit_test(blame__one_step_is_a_hypothesis),
        cmocka_unit_test(blame__nobody_is_surely_late_only_after_three_steps),
        cmocka_unit_test(blame__a_long_step_needs_three_others),
        cmocka_unit_test(blame__idle_without_recorded_launches),
        cmocka_unit_test(blame__slices_of_an_unknown_profiler_are_no_device_work),
        cmocka_unit_test(blame__one_rank_is_not_compared),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
