/* SPDX-License-Identifier: Apache-2.0 */
/* What findings cost that no repair prices: the gain of the fix that is named first. */
#include "inquest/account.h"
#include "inquest/analysis.h"
#include "inquest/fix.h"

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

/* One micro-batch over four stages, which loses most of a step; or eight, whose bubbles inform. */
#define ONE_BATCH "dp=1,pp=4,micro_batches=1,layers=4,steps=5,gz=0,cpu_ops=0"
#define FILLED    "dp=1,pp=4,micro_batches=8,layers=4,steps=5,gz=0,cpu_ops=0"

static struct test_synth open_run(const char *spec)
{
    static const struct inq_analysis_options options = {.predict = predict};

    return test_synth_open(spec, &options);
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

/* The fixes that help stay, the one that gains most first; of those that gain as much within 1 % of
 * a step, the one that changes the run least. */
static void prices__are_the_gain_of_the_best_fix(void **state)
{
    (void)state;
    set_gains(INQ_TIME_NONE, INQ_TIME_NONE, INQ_TIME_NONE);
    struct test_synth t = open_run(ONE_BATCH);
    const struct inq_finding *f = bubbles(t.report);
    int64_t step_ns = t.report->account->t_ns;
    const char *as_listed[3] = {f->fixes[0], f->fixes[1], f->fixes[2]};
    assert_true(f->n_fixes >= 4); /* nothing is predicted: all stay */
    assert_int_equal(f->cost_ns_per_step, -1);
    static const struct {
        int thousandths[3]; /* of the step */
        size_t n;
        int order[3];
    } cases[] = {
        {{11, 20, 100}, 3, {2, 0, 1}}, {{91, 20, 100}, 3, {0, 2, 1}},
        {{89, 20, 100}, 3, {2, 0, 1}}, {{10, 30, 100}, 3, {2, 1, 0}},
        {{-5, 95, 100}, 2, {1, 2}},    {{0, 8, 12}, 2, {1, 2}}, /* nothing gained is not as good */
        {{0, 0, 0}, 0, {0}},           {{-50, -20, -10}, 0, {0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int *of = cases[i].thousandths;
        set_gains(step_ns * of[0] / 1000, step_ns * of[1] / 1000, step_ns * of[2] / 1000);
        struct test_synth priced = open_run(ONE_BATCH);
        const struct inq_finding *finding = bubbles(priced.report);
        assert_int_equal(finding->n_fixes, cases[i].n);
        for (size_t k = 0; k < finding->n_fixes; k++) {
            assert_string_equal(finding->fixes[k], as_listed[cases[i].order[k]]);
        }
        assert_int_equal(finding->cost_ns_per_step,
                         finding->n_fixes > 0 ? step_ns * of[cases[i].order[0]] / 1000 : -1);
        test_synth_close(&priced);
    }
    test_synth_close(&t);
}

/* What gains a thousandth of a step at most is no fix, as `inquest fix` has it; where none is left,
 * the advice says what was tried. */
static void fixes__that_do_not_help_are_not_named(void **state)
{
    (void)state;
    set_gains(INQ_TIME_NONE, INQ_TIME_NONE, INQ_TIME_NONE);
    struct test_synth t = open_run(ONE_BATCH);
    int64_t noise_ns = (int64_t)(INQ_FIX_NOISE * (double)t.report->account->t_ns);
    char tried[64];
    (void)snprintf(tried, sizeof tried, "No gain is predicted for %s, %s",
                   bubbles(t.report)->fixes[0], bubbles(t.report)->fixes[1]);
    test_synth_close(&t);
    for (int above = 0; above <= 1; above++) {
        set_gains(noise_ns + above, INQ_TIME_NONE, INQ_TIME_NONE);
        struct test_synth priced = open_run(ONE_BATCH);
        const struct inq_finding *finding = bubbles(priced.report);
        assert_int_equal(finding->n_fixes, above);
        assert_int_equal(strstr(finding->advice, tried) == NULL, above);
        assert_int_equal(finding->cost_ns_per_step, -1);
        test_synth_close(&priced);
    }
}

/* Nothing is simulated for what only informs: all that may help are named. */
static void fixes__of_bubbles_that_inform_are_not_simulated(void **state)
{
    (void)state;
    set_gains(-1000, 1000000, 2000000);
    struct test_synth t = open_run(FILLED);
    const struct inq_finding *finding = bubbles(t.report);
    assert_int_equal(finding->severity, INQ_SEVERITY_INFO);
    assert_int_equal(finding->cost_ns_per_step, -1);
    assert_int_equal(finding->n_fixes, 4);
    assert_string_equal(finding->fixes[0], "microbatches:16");
    test_synth_close(&t);
}

/* What the finding of bubbles names helps, and `inquest fix` orders it alike. */
static void fixes__are_those_that_fix_says_help(void **state)
{
    (void)state;
    static const struct inq_analysis_options options = {.predict = inq_fix_predict};
    static const char *const tried[] = {"microbatches:2",      "microbatches:4",  "microbatches:8",
                                        "microbatches:16",     "microbatches:32", "schedule:zb-h1",
                                        "schedule:interleaved"};
    enum { TRIED = sizeof tried / sizeof *tried };
    struct test_synth t =
        test_synth_open("dp=1,pp=4,layers=8,micro_batches=1,gz=0,cpu_ops=0", &options);
    const struct inq_finding *finding = bubbles(t.report);
    struct inq_fix_options how = {.specs = tried, .n_specs = TRIED, .no_pairs = true};
    struct inq_fix_base *base = NULL;
    struct inq_fixes *fixes = NULL;
    size_t named = 0;
    assert_int_equal(inq_fix_base_of_run(t.report->trace, t.report, &base, NULL), INQ_OK);
    assert_int_equal(inq_fix_study(base, t.report, &how, &fixes, NULL), INQ_OK);
    assert_int_equal(fixes->n, TRIED);
    for (size_t i = 0; i < fixes->n; i++) {
        size_t k = 0;
        while (k < finding->n_fixes && strcmp(finding->fixes[k], fixes->fixes[i].spec) != 0) {
            k++;
        }
        assert_int_equal(k < finding->n_fixes, fixes->fixes[i].helps);
        named += k < finding->n_fixes;
    }
    assert_int_equal(named, finding->n_fixes);
    assert_in_range(named, 1, TRIED - 1);
    assert_string_equal(finding->fixes[0], fixes->fixes[0].spec);
    inq_fixes_free(fixes);
    inq_fix_base_free(base);
    test_synth_close(&t);
}

/* A view of where time goes has no price that is below what is worth telling: it is as severe as
 * its share. */
static void prices__of_a_view_below_a_hundredth_of_a_step_are_none(void **state)
{
    (void)state;
    set_gains(INQ_TIME_NONE, INQ_TIME_NONE, INQ_TIME_NONE);
    struct test_synth t = open_run(ONE_BATCH);
    int64_t least_ns = (t.report->account->t_ns + 99) / 100;
    test_synth_close(&t);
    for (int64_t below = 0; below <= 1; below++) {
        set_gains(least_ns - below, INQ_TIME_NONE, INQ_TIME_NONE);
        struct test_synth priced = open_run(ONE_BATCH);
        assert_int_equal(bubbles(priced.report)->cost_ns_per_step, below ? -1 : least_ns);
        test_synth_close(&priced);
    }
}

/* Over fewer than five steps a gain is supported at most. */
static void prices__of_few_steps_are_not_established(void **state)
{
    (void)state;
    set_gains(1000000, 0, 0);
    struct test_synth few = open_run("dp=1,pp=4,micro_batches=1,layers=4,steps=4,gz=0,cpu_ops=0");
    struct test_synth enough = open_run(ONE_BATCH);
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
        cmocka_unit_test(fixes__that_do_not_help_are_not_named),
        cmocka_unit_test(fixes__of_bubbles_that_inform_are_not_simulated),
        cmocka_unit_test(fixes__are_those_that_fix_says_help),
        cmocka_unit_test(prices__of_a_view_below_a_hundredth_of_a_step_are_none),
        cmocka_unit_test(prices__of_few_steps_are_not_established),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
