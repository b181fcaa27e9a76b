/* SPDX-License-Identifier: Apache-2.0 */
/* What findings cost that no repair prices: the gain of the fix that is named first. */
#include "inquest/account.h"
#include "inquest/analysis.h"

#include "support_synth.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* What the k-th fix of a finding gains. */
static int64_t gains[16];

static int predict(const struct inq_trace *trace, struct inq_report *report,
                   const char *const *specs, size_t n, int64_t *gain_ns, struct inq_err *err)
{
    (void)trace;
    (void)report;
    (void)specs;
    (void)err;
    for (size_t i = 0; i < n; i++) {
        gain_ns[i] = i < sizeof gains / sizeof *gains ? gains[i] : INQ_TIME_NONE;
    }
    return INQ_OK;
}

/* The finding of bubbles; the test fails when there is none. */
static const struct inq_finding *bubbles(const struct inq_report *report)
{
    static const struct inq_finding none;

    for (size_t i = 0; i < report->n_findings; i++) {
        if (report->findings[i].kind == INQ_FINDING_PIPELINE_BUBBLE) {
            return &report->findings[i];
        }
    }
    fail();
    return &none;
}

/* One micro-batch over four stages. */
static struct test_synth open_run(int steps)
{
    static const struct inq_analysis_options options = {.predict = predict};
    struct test_synth t = test_synth_open(steps < 5 ? "dp=1,pp=4,micro_batches=1,layers=4,steps=4,"
                                                      "gz=0,cpu_ops=0"
                                                    : "dp=1,pp=4,micro_batches=1,layers=4,steps=5,"
                                                      "gz=0,cpu_ops=0",
                                          &options);
    assert_true(bubbles(t.report)->n_fixes >= 4);
    return t;
}

static void set_gains(int64_t first, int64_t second, int64_t third)
{
    for (size_t i = 0; i < sizeof gains / sizeof *gains; i++) {
        gains[i] = INQ_TIME_NONE;
    }
    gains[0] = first;
    gains[1] = second;
    gains[2] = third;
}

/* The fix that gains most comes first and the others keep their order; of those that gain as much
 * within 1 % of a step, the one that changes the run least. */
static void prices__are_the_gain_of_the_best_fix(void **state)
{
    (void)state;
    set_gains(INQ_TIME_NONE, INQ_TIME_NONE, INQ_TIME_NONE);
    struct test_synth t = open_run(5);
    const struct inq_finding *f = bubbles(t.report);
    int64_t step_ns = t.report->account->t_ns;
    const char *as_listed[3] = {f->fixes[0], f->fixes[1], f->fixes[2]};
    assert_int_equal(f->cost_ns_per_step, -1);
    static const struct {
        int thousandths[3]; /* of the step */
        int first;          /* -1: no cost */
    } cases[] = {
        {{10, 20, 100}, 2}, {{91, 20, 100}, 0}, {{89, 20, 100}, 2},
        {{-5, 95, 100}, 1}, {{0, 0, 0}, -1},    {{-50, -20, -10}, -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int *of = cases[i].thousandths;
        set_gains(step_ns * of[0] / 1000, step_ns * of[1] / 1000, step_ns * of[2] / 1000);
        struct test_synth priced = open_run(5);
        const struct inq_finding *finding = bubbles(priced.report);
        int first = cases[i].first;
        if (first < 0) {
            assert_int_equal(finding->cost_ns_per_step, -1);
            first = 0;
        } else {
            assert_int_equal(finding->cost_ns_per_step, step_ns * of[first] / 1000);
        }
        assert_string_equal(finding->fixes[0], as_listed[first]);
        for (int k = 0, at = 1; k < 3; k++) {
            if (k != first) {
                assert_string_equal(finding->fixes[at++], as_listed[k]);
            }
        }
        test_synth_close(&priced);
    }
    test_synth_close(&t);
}

/* A view of where time goes has no price that is below what is worth telling: it is as severe as
 * its share. */
static void prices__of_a_view_below_a_hundredth_of_a_step_are_none(void **state)
{
    (void)state;
    set_gains(INQ_TIME_NONE, INQ_TIME_NONE, INQ_TIME_NONE);
    struct test_synth t = open_run(5);
    int64_t least_ns = (t.report->account->t_ns + 99) / 100;
    test_synth_close(&t);
    for (int64_t below = 0; below <= 1; below++) {
        set_gains(least_ns - below, INQ_TIME_NONE, INQ_TIME_NONE);
        struct test_synth priced = open_run(5);
        assert_int_equal(bubbles(priced.report)->cost_ns_per_step, below ? -1 : least_ns);
        test_synth_close(&priced);
    }
}

/* Over fewer than five steps a gain is supported at most. */
static void prices__of_few_steps_are_not_established(void **state)
{
    (void)state;
    set_gains(1000000, 0, 0);
    struct test_synth few = open_run(4);
    struct test_synth enough = open_run(5);
    assert_int_equal(bubbles(few.report)->confidence, INQ_CONFIDENCE_SUPPORTED);
    assert_int_equal(bubbles(enough.report)->confidence, INQ_CONFIDENCE_ESTABLISHED);
    test_synth_close(&few);
    test_synth_close(&enough);
}

/* A network that is slow for everybody leaves no rank to compare with: from half of the time on the
 * bandwidth of the longest transfers is told, as the collectives' table has it. */
static void transfers__of_a_slow_network_say_their_bandwidth(void **state)
{
    (void)state;
    for (int slow = 0; slow < 2; slow++) {
        struct test_synth t = test_synth_open(
            slow ? "dp=8,layers=4,gpus_per_host=4,gz=0,cpu_ops=0,fault=slow_link:host=1:factor=10"
                 : "dp=8,layers=4,gpus_per_host=4,gz=0,cpu_ops=0",
            NULL);
        const struct inq_finding *finding = &t.report->findings[0];
        const struct inq_coll_stat *op = &t.report->collectives->by_op[0];
        char rate[64];
        (void)snprintf(rate, sizeof rate, "at a bus bandwidth of %.3g GB/s.", op->busbw_gbps);
        assert_int_equal(finding->kind, INQ_FINDING_EXPOSED_COMM);
        assert_int_equal(strstr(finding->detail, rate) != NULL, slow);
        assert_int_equal(strstr(finding->advice, "nccl-tests") != NULL, slow);
        test_synth_close(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transfers__of_a_slow_network_say_their_bandwidth),
        cmocka_unit_test(prices__are_the_gain_of_the_best_fix),
        cmocka_unit_test(prices__of_a_view_below_a_hundredth_of_a_step_are_none),
        cmocka_unit_test(prices__of_few_steps_are_not_established),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
