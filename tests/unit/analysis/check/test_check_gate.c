/* SPDX-License-Identifier: Apache-2.0 */
/* The gate on simulated runs: noise passes, planted regressions do not. */
#include "inquest/check.h"
#include "inquest/lint.h"
#include "inquest/replay.h"
#include "inquest/synth.h"

#include "inquest/out.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RERUNS = 100, PLANTED = 5, SPEC = 512 };

/* As small as files get: only what is measured here is recorded. */
#define LEAN "gz=0,cpu_ops=0,flows=0,calls=0,"

static struct inq_snapshot measure(const char *text)
{
    struct inq_synth_spec *spec = malloc(sizeof *spec);
    struct inq_synth *synth = NULL;
    struct inq_run *run = NULL;
    struct inq_report *report = NULL;
    struct inq_snapshot snapshot;
    struct inq_err err = {0};
    assert_non_null(spec);
    if (inq_synth_spec_parse(text, spec, &err) != INQ_OK) {
        fail_msg("%s: %s", text, err.message);
    }
    assert_int_equal(inq_synth_new(spec, &synth, &err), INQ_OK);
    free(spec);
    assert_int_equal(inq_synth_ingest(synth, true, 0, &run, &err), INQ_OK);
    assert_int_equal(run->n_traces, 1);
    assert_int_equal(inq_analyze(run->traces[0], NULL, &report, &err), INQ_OK);
    assert_int_equal(inq_snapshot_of_report(report, &snapshot, &err), INQ_OK);
    inq_report_free(report);
    inq_run_free(run);
    inq_synth_free(synth);
    return snapshot;
}

/* 1F1B of 4 stages, timed by each step of the run. */
static struct inq_snapshot schedule_by(const char *text)
{
    struct inq_synth_spec *spec = malloc(sizeof *spec);
    struct inq_synth *synth = NULL;
    struct inq_run *run = NULL;
    struct inq_recorded_costs recorded;
    struct inq_costs steps[64];
    struct inq_schedule_spec kind = {.kind = "1f1b", .n_ranks = 4, .n_microbatches = 8};
    struct inq_schedule schedule;
    struct inq_snapshot snapshot;
    assert_non_null(spec);
    assert_int_equal(inq_synth_spec_parse(text, spec, NULL), INQ_OK);
    assert_int_equal(inq_synth_new(spec, &synth, NULL), INQ_OK);
    free(spec);
    assert_int_equal(inq_synth_ingest(synth, true, 0, &run, NULL), INQ_OK);
    assert_int_equal(inq_recorded_costs_of(run->traces[0], &recorded, NULL), INQ_OK);
    assert_int_equal(recorded.n_stages, 4);
    assert_in_range(recorded.n_steps, 5, 64);
    for (size_t i = 0; i < recorded.n_steps; i++) {
        steps[i] = recorded.costs;
        steps[i].per_stage = recorded.steps + i * recorded.n_stages;
    }
    struct inq_lint_options options = {.costs = recorded.costs};
    assert_int_equal(inq_schedule_make(&kind, &schedule, NULL), INQ_OK);
    assert_int_equal(
        inq_snapshot_of_schedule(&schedule, &options, steps, recorded.n_steps, &snapshot, NULL),
        INQ_OK);
    inq_schedule_release(&schedule);
    inq_recorded_costs_release(&recorded);
    inq_run_free(run);
    inq_synth_free(synth);
    return snapshot;
}

/* Through the file, as in CI. */
static struct inq_baseline baseline_of(const char *spec)
{
    struct inq_snapshot snapshot = measure(spec);
    struct inq_check_rules none = {0};
    struct inq_out out = {0};
    struct inq_sink sink = inq_out_sink(&out);
    struct inq_baseline baseline;
    assert_int_equal(inq_baseline_write(&snapshot, &none, sink, NULL), INQ_OK);
    assert_int_equal(inq_baseline_read(out.buf, out.len, &baseline, NULL), INQ_OK);
    inq_out_release(&out);
    inq_snapshot_release(&snapshot);
    return baseline;
}

static struct inq_check check_of(const char *spec, const struct inq_baseline *baseline)
{
    struct inq_snapshot now = measure(spec);
    struct inq_check check;
    struct inq_err err = {0};
    if (inq_check_compare(&now, baseline, NULL, &check, &err) != INQ_OK) {
        fail_msg("%s: %s", spec, err.message);
    }
    inq_snapshot_release(&now);
    return check;
}

static bool regressed(const struct inq_check *check, const char *name)
{
    for (size_t i = 0; i < check->n; i++) {
        if (strcmp(check->rows[i].now.name, name) == 0) {
            return !check->rows[i].pass;
        }
    }
    return false;
}

static void print_failures(const struct inq_check *check, int seed)
{
    for (size_t i = 0; i < check->n; i++) {
        if (!check->rows[i].pass) {
            print_message("  seed %d: %s\n", seed, check->rows[i].message);
        }
    }
}

/* How many of `n` runs with other seeds pass; `name` (may be NULL): of how many this check fails.
 */
static int count_passes(const char *base, const char *more, int n, const char *name, int *named)
{
    char spec[SPEC];
    (void)snprintf(spec, sizeof spec, LEAN "%s,seed=1", base);
    struct inq_baseline baseline = baseline_of(spec);
    int passed = 0;
    *named = 0;
    for (int seed = 2; seed < n + 2; seed++) {
        (void)snprintf(spec, sizeof spec, LEAN "%s,seed=%d%s", base, seed, more);
        struct inq_check check = check_of(spec, &baseline);
        passed += check.pass;
        *named += name != NULL && regressed(&check, name);
        if (name == NULL) {
            print_failures(&check, seed);
        }
        inq_check_release(&check);
    }
    inq_baseline_release(&baseline);
    return passed;
}

/* Noise of kernels, steps, ranks, hosts and transfers. */
static const char *const noisy[] = {
    "dp=2,pp=4,labels=1,layers=4,micro_batches=4,steps=10,sigma=0.05,step_sigma=0.01,rank_sigma=0."
    "003,"
    "host_sigma=0.3,link_sigma=0.1",
    "dp=4,layers=2,steps=12,sigma=0.1,step_sigma=0.02,rank_sigma=0.003,host_sigma=0.4,"
    "link_sigma=0.2",
};

/* A schedule that is judged on the costs of a run: those of another run of the same job pass, those
 * of a job whose last stage got slower do not. */
static void gate__schedule_by_the_times_of_a_run(void **state)
{
    (void)state;
    enum { SEEDS = 30, SLOW = 5 };
    char spec[SPEC];
    (void)snprintf(spec, sizeof spec, LEAN "%s,seed=1", noisy[0]);
    struct inq_baseline baseline = {.snapshot = schedule_by(spec)};
    int passed = 0;
    int caught = 0;
    for (int seed = 2; seed < SEEDS + SLOW + 2; seed++) {
        bool slow = seed >= SEEDS + 2;
        struct inq_check check;
        (void)snprintf(spec, sizeof spec, LEAN "%s,seed=%d%s", noisy[0], seed,
                       slow ? ",fault=long_last_stage:factor=1.3" : "");
        struct inq_snapshot now = schedule_by(spec);
        assert_int_equal(inq_check_compare(&now, &baseline, NULL, &check, NULL), INQ_OK);
        passed += !slow && check.pass;
        caught += slow && regressed(&check, "makespan_ns");
        inq_check_release(&check);
        inq_snapshot_release(&now);
    }
    print_message("%d of %d pass, %d of %d are caught\n", passed, SEEDS, caught, SLOW);
    assert_true(passed >= SEEDS - 1);
    assert_int_equal(caught, SLOW);
    inq_baseline_release(&baseline);
}

static void gate__passes_noisy_but_equal_runs(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof noisy / sizeof *noisy; i++) {
        int named;
        int passed = count_passes(noisy[i], "", RERUNS, NULL, &named);
        print_message("%d of %d re-runs pass: %s\n", passed, RERUNS, noisy[i]);
        assert_true(passed >= RERUNS - 1);
    }
}

static void expect_caught(const char *base, const char *fault, const char *name)
{
    int named;
    int passed = count_passes(base, fault, PLANTED, name, &named);
    print_message("%d of %d runs with %s fail, %d by %s\n", PLANTED - passed, PLANTED, fault + 1,
                  named, name);
    assert_int_equal(passed, 0);
    assert_true(named >= PLANTED - 1);
}

/* Ranks 4 and 5 are stage 2 of noisy[0]. */
static void gate__fails_when_one_stage_is_5_percent_slower(void **state)
{
    (void)state;
    expect_caught(noisy[0], ",fault=slow_gpu:rank=4:factor=1.05,fault=slow_gpu:rank=5:factor=1.05",
                  "compute_ns.stage2");
}

static void gate__fails_on_planted_regressions(void **state)
{
    (void)state;
    expect_caught(noisy[1], ",layer=920us", "step_time_ns");
    expect_caught(noisy[1], ",dp_gbps=20", "exposed_comm_ns");
    expect_caught(noisy[1], ",fault=slow_gpu:rank=3:factor=1.25", "worst_wait_ns");
    expect_caught(noisy[1], ",fault=slow_gpu:rank=3:factor=1.3", "new_findings");
    expect_caught(noisy[0], ",fault=long_last_stage:factor=1.8", "bubble_ratio");
    expect_caught(noisy[0], ",fault=long_last_stage:factor=1.8", "slowdown");
}

/* As a generator of the fault has it: five runs that shift as a whole, then one rank that is slower
 * than its peers by as little as that shift. */
static void gate__names_the_rank_that_is_3_percent_slower(void **state)
{
    (void)state;
    enum { RUNS = 5, SLOW = 10 };
    struct inq_baseline base = {0};
    char spec[SPEC];
    int found = 0;
    for (int i = 0; i < RUNS + SLOW; i++) {
        struct inq_check check;
        (void)snprintf(spec, sizeof spec,
                       LEAN "dp=8,layers=4,steps=10,sigma=0.03,step_sigma=0.005,rank_sigma=0.004,"
                            "layer=%dus,seed=%d%s",
                       796 + i * 3 % 9, i + 1,
                       i < RUNS ? "" : ",fault=slow_gpu:rank=6:factor=1.03");
        struct inq_snapshot now = measure(spec);
        if (i < RUNS) {
            assert_int_equal(inq_snapshot_pool(&base.snapshot, &now, NULL), INQ_OK);
        } else {
            assert_int_equal(inq_check_compare(&now, &base, NULL, &check, NULL), INQ_OK);
            found += !check.pass && strstr(check.cause->message, "rank 6") != NULL;
            inq_check_release(&check);
        }
        inq_snapshot_release(&now);
    }
    print_message("%d of %d slow ranks are named first\n", found, SLOW);
    assert_true(found >= SLOW - 1);
    inq_baseline_release(&base);
}

/* Hosts that run ahead wait for data only in every fourth step, which reads the loss: a slower
 * loader leaves the median as it was. */
static void gate__fails_when_only_some_steps_are_longer(void **state)
{
    (void)state;
#define AHEAD LEAN "dp=8,layers=8,steps=20,sync=4,step_sigma=0.005,"
    struct inq_baseline base = baseline_of(AHEAD "seed=1");
    for (int seed = 2; seed < 7; seed++) {
        char spec[SPEC];
        (void)snprintf(spec, sizeof spec, AHEAD "seed=%d", seed);
        struct inq_check check = check_of(spec, &base);
        if (!check.pass) {
            fail_msg("%s: %s", spec, check.cause->message);
        }
        inq_check_release(&check);
        (void)snprintf(spec, sizeof spec, AHEAD "data=3ms,seed=%d", seed); /* +4.2 % in the mean */
        check = check_of(spec, &base);
        assert_false(check.pass);
        assert_string_equal(check.rows[0].now.name, "step_time_ns");
        assert_true(check.rows[0].pass);
        assert_string_equal(check.cause->now.name, "mean_step_ns");
        assert_non_null(strstr(check.cause->message, "mostly the host (data loading)"));
        assert_non_null(strstr(check.cause->message, "recurs every 4 steps"));
        inq_check_release(&check);
    }
    inq_baseline_release(&base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gate__passes_noisy_but_equal_runs),
        cmocka_unit_test(gate__fails_when_one_stage_is_5_percent_slower),
        cmocka_unit_test(gate__schedule_by_the_times_of_a_run),
        cmocka_unit_test(gate__fails_on_planted_regressions),
        cmocka_unit_test(gate__names_the_rank_that_is_3_percent_slower),
        cmocka_unit_test(gate__fails_when_only_some_steps_are_longer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
