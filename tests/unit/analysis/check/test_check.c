/* SPDX-License-Identifier: Apache-2.0 */
/* The gate's parts: rules, the baseline's file, the comparison, its reports. */
#include "analysis/check/check.h"
#include "base/json.h"
#include "inquest/lint.h"
#include "inquest/report.h"
#include "support_report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* ---- rules -----------------------------------------------------------------------------------*/

static void rules__read_what_people_write(void **state)
{
    (void)state;
    struct inq_check_rules r = {0};
    assert_int_equal(inq_check_tolerance_parse("5%", &r, NULL), INQ_OK);
    assert_true(r.tolerance == 0.05);
    assert_int_equal(inq_check_tolerance_parse("0.5 %", &r, NULL), INQ_OK);
    assert_true(r.tolerance == 0.005);
    assert_int_equal(inq_check_tolerance_parse("0.02", &r, NULL), INQ_OK);
    assert_true(r.tolerance == 0.02);
    assert_int_equal(inq_check_tolerance_parse("1000000%", &r, NULL), INQ_OK);
    assert_int_equal(inq_check_rule_parse("step_time=10%", &r, NULL), INQ_OK);
    assert_int_equal(r.of[INQ_MEASURE_STEP_TIME].kind, INQ_RULE_TOLERANCE);
    assert_int_equal(inq_check_rule_parse("worst-wait=12.5ms", &r, NULL), INQ_OK);
    assert_true(r.of[INQ_MEASURE_WORST_WAIT].value == 12500000.0);
    assert_int_equal(inq_check_rule_parse("makespan_ns=off", &r, NULL), INQ_OK);
    assert_int_equal(r.of[INQ_MEASURE_MAKESPAN].kind, INQ_RULE_OFF);
    assert_int_equal(inq_check_rule_parse("bubble_ratio=0.3", &r, NULL), INQ_OK);
    assert_int_equal(r.of[INQ_MEASURE_BUBBLE_RATIO].kind, INQ_RULE_LIMIT);
    assert_int_equal(inq_check_rule_parse("new_findings=high", &r, NULL), INQ_OK);
    assert_true(r.has_severity && r.severity == INQ_SEVERITY_HIGH);
    assert_int_equal(inq_check_rule_parse("lint_problems=2", &r, NULL), INQ_OK);
}

static void rules__refuse_the_rest_and_say_what_may_stand_there(void **state)
{
    (void)state;
    static const char *const bad[] = {"step_time",
                                      "step_time=",
                                      "step_time=12",
                                      "step_time=-5%",
                                      "step_time=5%%",
                                      "step_tim=5%",
                                      "=5%",
                                      "bubble_ratio=nan",
                                      "new_findings=5%",
                                      "new_findings=info",
                                      "lint_problems=5%",
                                      "slowdown=1e999",
                                      "compute=0x10ms",
                                      "step_time=inf%",
                                      "step_time.x=5%"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct inq_check_rules r = {0};
        struct inq_err err = {0};
        if (inq_check_rule_parse(bad[i], &r, &err) != INQ_USAGE || err.message[0] == '\0') {
            fail_msg("accepted: %s", bad[i]);
        }
    }
    static const char *const tolerances[] = {"",   "%",    "-1%",   "3",
                                             "x%", "nan%", "5 % x", "1000001%"};
    for (size_t i = 0; i < sizeof tolerances / sizeof *tolerances; i++) {
        struct inq_check_rules r = {0};
        struct inq_err err = {0};
        assert_int_equal(inq_check_tolerance_parse(tolerances[i], &r, &err), INQ_USAGE);
    }
}

/* ---- the file --------------------------------------------------------------------------------*/

static void add(struct inq_snapshot *s, enum inq_measure_kind kind, const char *suffix,
                double value, double low, double high)
{
    struct inq_measure m = {.value = value, .low = low, .high = high, .n = isnan(low) ? 0 : 9};
    assert_int_equal(inq_snapshot_add(s, kind, suffix, &m, NULL), INQ_OK);
}

static struct inq_snapshot run_snapshot(double step, double low, double high)
{
    struct inq_snapshot s = {.subject = INQ_SUBJECT_RUN, .ranks = 8};
    add(&s, INQ_MEASURE_STEP_TIME, NULL, step, low, high);
    return s;
}

static void drop(struct inq_check *check, struct inq_snapshot *base, struct inq_snapshot *now)
{
    inq_check_release(check);
    inq_snapshot_release(base);
    inq_snapshot_release(now);
}

static struct inq_out written(const struct inq_snapshot *s, const struct inq_check_rules *rules)
{
    struct inq_out out = {0};
    struct inq_sink sink = inq_out_sink(&out);
    assert_int_equal(inq_baseline_write(s, rules, sink, NULL), INQ_OK);
    return out;
}

static void baseline__reads_back_what_it_wrote(void **state)
{
    (void)state;
    struct inq_snapshot s = run_snapshot(61514915.0, 61341281.0, 61860009.0);
    struct inq_check_rules rules = {0};
    add(&s, INQ_MEASURE_COMPUTE, "stage3", 38709368.0, 38364157.0, 39021169.0);
    add(&s, INQ_MEASURE_BUBBLE_RATIO, NULL, 0.354594053, 0.35, 0.36);
    assert_int_equal(inq_snapshot_add_finding(&s, HOSTILE_HIDDEN, INQ_SEVERITY_HIGH, "title", NULL),
                     INQ_OK);
    assert_int_equal(inq_check_tolerance_parse("4.5%", &rules, NULL), INQ_OK);
    assert_int_equal(inq_check_rule_parse("worst_wait=12.5ms", &rules, NULL), INQ_OK);
    assert_int_equal(inq_check_rule_parse("bubble_ratio=0.3", &rules, NULL), INQ_OK);
    assert_int_equal(inq_check_rule_parse("slowdown=7%", &rules, NULL), INQ_OK);
    assert_int_equal(inq_check_rule_parse("exposed_comm=off", &rules, NULL), INQ_OK);
    assert_int_equal(inq_check_rule_parse("new_findings=low", &rules, NULL), INQ_OK);
    struct inq_out first = written(&s, &rules);
    struct inq_baseline read;
    struct inq_err err = {0};
    if (inq_baseline_read(first.buf, first.len, &read, &err) != INQ_OK) {
        fail_msg("%s", err.message);
    }
    assert_int_equal(read.snapshot.n, 3);
    assert_string_equal(read.snapshot.measures[1].name, "compute_ns.stage3");
    assert_true(read.snapshot.measures[1].high == 39021169.0);
    struct inq_out second = written(&read.snapshot, &read.rules);
    assert_int_equal(first.len, second.len);
    assert_memory_equal(first.buf, second.buf, first.len);
    inq_out_release(&first);
    inq_out_release(&second);
    inq_baseline_release(&read);
    inq_snapshot_release(&s);
}

#define HALF_A_SCHEDULE                                                                            \
    "{\"schema\":\"inquest-baseline/1\",\"subject\":\"schedule\",\"ranks\":2,\"stages\":2,"        \
    "\"microbatches\":4"
#define HEAD "{\"schema\":\"inquest-baseline/1\",\"subject\":\"run\",\"ranks\":2"

static void baseline__refuses_what_it_cannot_trust(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "[]",
        "{\"schema\":\"inquest-baseline/2\"}",
        HEAD "}",
        HEAD ",\"measures\":[]}",
        HEAD ",\"measures\":{\"step_tim_ns\":{\"value\":1}}}",
        HEAD ",\"measures\":{\"new_findings\":{\"value\":1}}}",
        HEAD ",\"measures\":{\"compute_ns.\xff\":{\"value\":1}}}",
        HEAD ",\"measures\":{\"compute_ns.stage\":{\"value\":1}}}",
        HEAD ",\"measures\":{\"compute_ns.stage1x\":{\"value\":1}}}",
        HEAD ",\"measures\":{\"compute_ns.\":{\"value\":1}}}",
        HEAD ",\"measures\":{\"step_time_ns.stage1\":{\"value\":1}}}",
        HEAD ",\"measures\":{\"step_time_ns\":1}}",
        HEAD ",\"measures\":{\"step_time_ns\":{}}}",
        HEAD ",\"measures\":{\"step_time_ns\":{\"value\":-1}}}",
        HEAD ",\"measures\":{\"step_time_ns\":{\"value\":1e300}}}",
        HEAD ",\"measures\":{\"step_time_ns\":{\"value\":5,\"low\":6,\"high\":7,\"n\":9}}}",
        HEAD ",\"measures\":{\"step_time_ns\":{\"value\":5,\"low\":4,\"n\":9}}}",
        HEAD ",\"measures\":{\"step_time_ns\":{\"value\":5,\"max\":4}}}",
        HEAD ",\"measures\":{\"step_time_ns\":{\"value\":5},\"step_time_ns\":{\"value\":6}}}",
        HEAD ",\"measures\":{},\"rulez\":{}}",
        HEAD ",\"measures\":{},\"rules\":{\"step_time\":5}}",
        HEAD ",\"measures\":{},\"rules\":{\"step_time\":\"5\"}}",
        HEAD ",\"measures\":{},\"findings\":[{\"id\":\"x\"}]}",
        HEAD ",\"measures\":{},\"findings\":[{\"id\":\"x\",\"severity\":\"dire\"}]}",
        HEAD ",\"ranks\":3,\"measures\":{}}",
        HALF_A_SCHEDULE ",\"times_ns\":[1,2,3],\"measures\":{}}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct inq_baseline baseline;
        struct inq_err err = {0};
        if (inq_baseline_read(bad[i], strlen(bad[i]), &baseline, &err) != INQ_FORMAT ||
            err.message[0] == '\0') {
            fail_msg("accepted: %s", bad[i]);
        }
        inq_baseline_release(&baseline);
    }
}

/* ---- the comparison --------------------------------------------------------------------------*/

static struct inq_check compare(const struct inq_snapshot *now, const struct inq_snapshot *base,
                                const char *rule)
{
    struct inq_baseline baseline = {.snapshot = *base};
    struct inq_check_rules rules = {0};
    struct inq_check check;
    struct inq_err err = {0};
    if (rule != NULL) {
        assert_int_equal(inq_check_rule_parse(rule, &rules, &err), INQ_OK);
    }
    if (inq_check_compare(now, &baseline, &rules, &check, &err) != INQ_OK) {
        fail_msg("%s", err.message);
    }
    return check;
}

/* The outcome of a step time of 100 [96, 103] becoming `value` [low, high]. */
static enum inq_check_outcome outcome(double value, double low, double high, const char *rule)
{
    struct inq_snapshot base = run_snapshot(100e6, 96e6, 103e6);
    struct inq_snapshot now = run_snapshot(value * 1e6, low * 1e6, high * 1e6);
    struct inq_check check = compare(&now, &base, rule);
    enum inq_check_outcome result = check.rows[0].outcome;
    bool fails = result == INQ_CHECK_REGRESSED || result == INQ_CHECK_GONE;
    assert_int_equal(check.pass, !fails);
    assert_int_equal(check.n_failed, fails);
    drop(&check, &base, &now);
    return result;
}

static const struct inq_check_row *row_of(const struct inq_check *check, const char *name)
{
    for (size_t i = 0; i < check->n; i++) {
        if (strcmp(check->rows[i].now.name, name) == 0) {
            return &check->rows[i];
        }
    }
    fail_msg("no row %s", name);
    return &check->rows[0];
}

static void compare__knows_noise(void **state)
{
    (void)state;
    /* 3 % and hypot(3, 4) = 5: the line is at 108 */
    assert_int_equal(outcome(107.9, 103.9, 130, NULL), INQ_CHECK_WITHIN);
    assert_int_equal(outcome(108.1, 104.1, 130, NULL), INQ_CHECK_REGRESSED);
    assert_int_equal(outcome(108.1, 103.0, 130, NULL), INQ_CHECK_WITHIN);
    /* better: 3 % and hypot(4, 3) */
    assert_int_equal(outcome(92.1, 90, 95.1, NULL), INQ_CHECK_WITHIN);
    assert_int_equal(outcome(91.9, 90, 94.9, NULL), INQ_CHECK_IMPROVED);
    assert_int_equal(outcome(108.1, 104.1, 130, "step_time=4%"), INQ_CHECK_WITHIN);
    assert_int_equal(outcome(200, 200, 200, "step_time=off"), INQ_CHECK_OFF);
    assert_int_equal(outcome(105, 101, 106, "step_time=102ms"), INQ_CHECK_WITHIN);
    assert_int_equal(outcome(105, 102.5, 106, "step_time=102ms"), INQ_CHECK_REGRESSED);
    assert_int_equal(outcome(103.1, (double)NAN, (double)NAN, NULL), INQ_CHECK_WITHIN);
    assert_int_equal(outcome(106.1, (double)NAN, (double)NAN, NULL), INQ_CHECK_REGRESSED);
}

/* What passes over its limit says why, with the interval that explains it: the run's, else the
 * baseline's. */
static void compare__noise_is_told_with_its_interval(void **state)
{
    (void)state;
    static const struct {
        double low, high;
        const char *says;
    } cases[] = {{33.5e6, 34.9e6, "is over the limit, within its noise (33.5 ms to 34.9 ms)"},
                 {(double)NAN, (double)NAN,
                  "is over the limit, within the baseline's noise (32.2 ms to 33.9 ms)"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct inq_snapshot base = run_snapshot(33e6, 32.2e6, 33.9e6);
        struct inq_snapshot now = run_snapshot(34.2e6, cases[i].low, cases[i].high);
        struct inq_check check = compare(&now, &base, NULL); /* the limit is at 33.99 ms */
        assert_true(check.pass && check.rows[0].pass && check.rows[0].noisy);
        assert_non_null(strstr(check.rows[0].message, cases[i].says));
        drop(&check, &base, &now);
    }
}

/* What is held against its peers, with noise of 0.3 and 0.4 %: a rank at hypot(1.75 %, 0.5 %), the
 * line is at 1.01820; one of few, hypot(2.25 %, 0.5 %), at 1.02305. */
static void compare__ranks_may_fall_back_by_less(void **state)
{
    (void)state;
    static const struct {
        int32_t replicas;
        double value;
        bool pass;
    } cases[] = {{4, 1.0181, true}, {4, 1.0183, false}, {3, 1.0230, true}, {3, 1.0231, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double value = cases[i].value;
        struct inq_snapshot base = run_snapshot(100e6, 99e6, 101e6);
        struct inq_snapshot now = run_snapshot(100e6, 99e6, 101e6);
        base.work.replicas = now.work.replicas = cases[i].replicas;
        add(&base, INQ_MEASURE_SLOWEST_RANK, "stage2", 1.0, 0.99, 1.004);
        add(&now, INQ_MEASURE_SLOWEST_RANK, "stage2", value, value - 0.003, 1.05);
        struct inq_check check = compare(&now, &base, NULL);
        assert_int_equal(check.pass, cases[i].pass);
        drop(&check, &base, &now);
    }
}

/* One of 4 stages. Of normal values one of four is above 2.968 deviations in 6 of 1,000. A stage
 * of one rank varies from run to run by sqrt(2) 0.4 %, a variance of 0.32 (of 1 % squared); the
 * mean of three others by 0.107, of which the share 0.107 / (0.107 + 0.667) = 0.138 is known from
 * what the runs shift by: 0.412 together, and the line is at 1.905 %. It falls by 0.138 % where the
 * others are 1 % slower, and rises by as much where they are faster, and by no more for more than 2
 * %. With intervals of +-0.5 %, 0.2 % each in deviations, it is 0.487, and the line at 2.070 %;
 * where the stage alone has them, it is 0.459, and the line at 2.010 %. Of two steps
 * nothing is known: 0.5 % from step to step is 0.333, and the line at 2.514 %. Two ranks: 1.7 %. */
static void compare__a_stage_is_held_to_what_noise_explains(void **state)
{
    (void)state;
    static const struct {
        int32_t replicas;
        double half, others, line;
        bool alone; /* the other stages' intervals have no width */
    } cases[] = {
        {1, 0.0, 0.0, 0.01905, false},         {1, 0.0, 0.01, 0.01767, false},
        {1, 0.0, -0.01, 0.02043, false},       {1, 0.0, 0.04, 0.01629, false},
        {1, 0.005, 0.0, 0.02070, false},       {1, 0.005, 0.0, 0.02010, true},
        {1, (double)NAN, 0.0, 0.02514, false}, {2, 0.0, 0.0, 0.017, false},
        {8, 0.0, 0.0, 0.017, false},
    };
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        double line = cases[i / 2].line;
        double value = 1.0 + line + (i % 2 == 0 ? -0.00002 : 0.00002);
        double half = cases[i / 2].half;
        double own = 50e6 * (value + cases[i / 2].others);
        struct inq_snapshot base = run_snapshot(100e6, 99e6, 101e6);
        struct inq_snapshot now = run_snapshot(100e6, 99e6, 101e6);
        base.work.replicas = now.work.replicas = cases[i / 2].replicas;
        add(&base, INQ_MEASURE_COMPUTE, "stage3", 50e6, 45e6, 55e6);
        add(&now, INQ_MEASURE_COMPUTE, "stage3", own, 45e6, 55e6);
        for (int k = 0; k < 4; k++) {
            char suffix[8];
            double changed = k == 3 ? value : 1.0;
            half = k < 3 && cases[i / 2].alone ? 0.0 : cases[i / 2].half;
            (void)snprintf(suffix, sizeof suffix, "stage%d", k);
            add(&base, INQ_MEASURE_STAGE_SHARE, suffix, 1.0, 1.0 - half, 1.0 + half);
            add(&now, INQ_MEASURE_STAGE_SHARE, suffix, changed, changed * (1.0 - half),
                changed * (1.0 + half));
            base.measures[base.n - 1].n = now.measures[now.n - 1].n = isfinite(half) ? 9 : 2;
        }
        struct inq_check check = compare(&now, &base, NULL);
        const struct inq_check_row *row = row_of(&check, "stage_share.stage3");
        if (row->pass != (i % 2 == 0)) {
            fail_msg("case %zu: %.5f, limit %.5f", i / 2, value, row->limit);
        }
        drop(&check, &base, &now);
    }
}

/* What a team tolerates of a stage by a rule is held as of everything else: beyond chance. */
static void compare__a_rule_of_a_stage_is_as_any_other(void **state)
{
    (void)state;
    for (int over = 0; over < 2; over++) {
        double value = over ? 1.0402 : 1.0398; /* 3 %, and two intervals of 0.6 and 0.8 % */
        struct inq_snapshot base = run_snapshot(100e6, 99e6, 101e6);
        struct inq_snapshot now = run_snapshot(100e6, 99e6, 101e6);
        add(&base, INQ_MEASURE_STAGE_SHARE, "stage1", 1.0, 0.99, 1.006);
        add(&now, INQ_MEASURE_STAGE_SHARE, "stage1", value, value - 0.008, 1.05);
        struct inq_check check = compare(&now, &base, "stage_share=3%");
        assert_int_equal(check.pass, !over);
        drop(&check, &base, &now);
    }
}

/* A stage is slower than those that changed alike: of four, one that got 20 % faster makes no other
 * one slow, and two that are 8 % slower do not hide each other behind their mean. A change of up to
 * 4 % is noise of the others, and their mean is what counts. */
static void compare__stages_are_held_against_those_that_changed_alike(void **state)
{
    (void)state;
    static const struct {
        double parts[5]; /* compute of each stage, equal before */
        bool worse[5];
    } cases[] = {
        {{1.0, 1.0, 1.0, 1.0, 0.8}, {false, false, false, false, false}},
        {{1.0, 1.0, 1.0, 1.1, 1.1}, {false, false, false, true, true}},
        {{1.0, 1.0, 1.0, 1.0, 1.03}, {false, false, false, false, true}},
        {{1.0, 1.0, 1.0, 1.0, 0.97}, {false, false, false, false, false}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct inq_snapshot base = run_snapshot(100e6, 99e6, 101e6);
        struct inq_snapshot now = run_snapshot(100e6, 99e6, 101e6);
        double sum = 0.0;
        for (int k = 0; k < 5; k++) {
            sum += cases[i].parts[k];
        }
        for (int k = 0; k < 5; k++) {
            char suffix[8];
            double value = 4.0 * cases[i].parts[k] / (sum - cases[i].parts[k]);
            (void)snprintf(suffix, sizeof suffix, "stage%d", k);
            add(&base, INQ_MEASURE_STAGE_SHARE, suffix, 1.0, 1.0, 1.0);
            add(&now, INQ_MEASURE_STAGE_SHARE, suffix, value, value, value);
        }
        base.work.replicas = now.work.replicas = 2;
        struct inq_check check = compare(&now, &base, NULL);
        for (int k = 0; k < 5; k++) {
            char name[32];
            (void)snprintf(name, sizeof name, "stage_share.stage%d", k);
            const struct inq_check_row *row = row_of(&check, name);
            assert_int_equal(row->outcome == INQ_CHECK_REGRESSED, cases[i].worse[k]);
            assert_true(!cases[i].worse[k] || fabs(row->change - cases[i].parts[k] + 1.0) < 1e-3);
        }
        drop(&check, &base, &now);
    }
}

/* Of two stages the one that did not get faster is no slower: its own compute has to grow by a
 * third of what it fell back, or the others to be faster by no more than two runs shift, with their
 * noise: 2.4 %. */
static void compare__who_falls_back_takes_longer_itself(void **state)
{
    (void)state;
    static const struct {
        double share, own;
        bool slower;
    } cases[] = {{1.06, 1.0, false},
                 {1.06, 1.0199, false},
                 {1.06, 1.0201, true},
                 {1.03, 1.0059, false},
                 {1.03, 1.0061, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double share = cases[i].share;
        double own = cases[i].own * 50e6;
        struct inq_snapshot base = run_snapshot(100e6, 99e6, 101e6);
        struct inq_snapshot now = run_snapshot(100e6, 99e6, 101e6);
        base.work.replicas = now.work.replicas = 8;
        add(&base, INQ_MEASURE_COMPUTE, "stage1", 50e6, 50e6, 50e6);
        add(&base, INQ_MEASURE_STAGE_SHARE, "stage1", 1.0, 1.0, 1.0);
        add(&now, INQ_MEASURE_COMPUTE, "stage1", own, own, own);
        add(&now, INQ_MEASURE_STAGE_SHARE, "stage1", share, share, share);
        struct inq_check check = compare(&now, &base, NULL);
        assert_int_equal(check.pass, !cases[i].slower);
        assert_int_equal(strstr(row_of(&check, "stage_share.stage1")->message,
                                "because others got faster") != NULL,
                         !cases[i].slower);
        drop(&check, &base, &now);
    }
}

static void compare__measures_that_come_and_go(void **state)
{
    (void)state;
    struct inq_snapshot base = run_snapshot(100e6, 99e6, 101e6);
    struct inq_snapshot now = run_snapshot(100e6, 99e6, 101e6);
    add(&base, INQ_MEASURE_BUBBLE_RATIO, NULL, 0.3, 0.29, 0.31);
    add(&now, INQ_MEASURE_SLOWDOWN, NULL, 1.1, 1.0, 1.2);
    struct inq_check check = compare(&now, &base, NULL);
    assert_int_equal(check.n, 4);
    assert_int_equal(check.rows[1].outcome, INQ_CHECK_GONE);
    assert_int_equal(check.rows[2].outcome, INQ_CHECK_ADDED);
    assert_int_equal(check.n_failed, 1);
    drop(&check, &base, &now);
}

/* A part of the step may be small: it grows by a part of the step, not of itself. */
static void compare__parts_of_a_step_grow_by_the_step(void **state)
{
    (void)state;
    struct inq_snapshot base = run_snapshot(100e6, 100e6, 100e6);
    struct inq_snapshot now = run_snapshot(100e6, 100e6, 100e6);
    add(&base, INQ_MEASURE_EXPOSED_COMM, NULL, 1e6, 1e6, 1e6);
    add(&now, INQ_MEASURE_EXPOSED_COMM, NULL, 3.9e6, 3.9e6, 3.9e6);
    struct inq_check check = compare(&now, &base, NULL);
    assert_true(check.pass);
    inq_check_release(&check);
    now.measures[1].value = now.measures[1].low = now.measures[1].high = 4.1e6;
    check = compare(&now, &base, NULL);
    assert_false(check.pass);
    drop(&check, &base, &now);
}

/* The step's time says through what it grew: by the rank that fell behind, where one did; a part
 * that grew by less than half says nothing. */
static void compare__a_longer_step_says_through_what(void **state)
{
    (void)state;
    static const struct {
        double compute, comm;
        const char *says;
    } cases[] = {
        {98e6, 11e6, "; mostly compute (+8.00 ms), rank 3"},
        {94.1e6, 4e6, NULL}, /* 4.1 of 8.3, but the limit is at half */
        {90e6, 17e6, "; mostly exposed communication (+7.00 ms)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct inq_snapshot base = run_snapshot(100e6, 100e6, 100e6);
        struct inq_snapshot now = run_snapshot(108.3e6, 108.3e6, 108.3e6);
        add(&base, INQ_MEASURE_COMPUTE, NULL, 90e6, 90e6, 90e6);
        add(&base, INQ_MEASURE_SLOWEST_RANK, NULL, 1.0, 1.0, 1.0);
        add(&base, INQ_MEASURE_EXPOSED_COMM, NULL, 10e6, 10e6, 10e6);
        add(&now, INQ_MEASURE_COMPUTE, NULL, cases[i].compute, cases[i].compute, cases[i].compute);
        add(&now, INQ_MEASURE_SLOWEST_RANK, NULL, 1.1, 1.1, 1.1);
        (void)snprintf(now.measures[2].who, sizeof now.measures[2].who, "rank 3");
        add(&now, INQ_MEASURE_EXPOSED_COMM, NULL, cases[i].comm, cases[i].comm, cases[i].comm);
        struct inq_check check = compare(&now, &base, NULL);
        const char *mostly = strstr(check.cause->message, "; mostly");
        if (cases[i].says == NULL) {
            assert_null(mostly);
        } else {
            assert_non_null(mostly);
            assert_string_equal(mostly, cases[i].says);
        }
        drop(&check, &base, &now);
    }
}

static void compare__new_findings(void **state)
{
    (void)state;
    struct inq_snapshot base = run_snapshot(1e6, 1e6, 1e6);
    struct inq_snapshot now = run_snapshot(1e6, 1e6, 1e6);
    (void)inq_snapshot_add_finding(&base, "a", INQ_SEVERITY_LOW, NULL, NULL);
    (void)inq_snapshot_add_finding(&now, "a", INQ_SEVERITY_MEDIUM, "one step up", NULL);
    (void)inq_snapshot_add_finding(&now, "b", INQ_SEVERITY_LOW, "low", NULL);
    struct inq_check check = compare(&now, &base, NULL);
    assert_true(check.pass);
    inq_check_release(&check);
    check = compare(&now, &base, "new_findings=low");
    assert_false(check.pass);
    assert_int_equal(check.n_new, 1);
    assert_string_equal(check.fresh[0].id, "b");
    inq_check_release(&check);
    now.findings[0].severity = INQ_SEVERITY_HIGH;
    check = compare(&now, &base, NULL);
    assert_false(check.pass);
    assert_string_equal(check.fresh[0].title, "one step up");
    inq_check_release(&check);
    check = compare(&now, &base, "new_findings=off");
    assert_true(check.pass);
    drop(&check, &base, &now);
}

/* An id made of a file's name may be no UTF-8, which a baseline cannot hold as it is. */
static void compare__a_finding_with_a_hostile_name_is_known_again(void **state)
{
    (void)state;
    struct inq_snapshot now = run_snapshot(1e6, 1e6, 1e6);
    struct inq_check_rules rules = {0};
    struct inq_baseline baseline;
    struct inq_check check;
    (void)inq_snapshot_add_finding(&now, HOSTILE_NAME, INQ_SEVERITY_HIGH, HOSTILE_NAME, NULL);
    struct inq_out out = written(&now, &rules);
    assert_int_equal(inq_baseline_read(out.buf, out.len, &baseline, NULL), INQ_OK);
    assert_int_equal(inq_check_compare(&now, &baseline, NULL, &check, NULL), INQ_OK);
    assert_true(check.pass);
    inq_check_release(&check);
    inq_baseline_release(&baseline);
    inq_out_release(&out);
    inq_snapshot_release(&now);
}

static void compare__refuses_what_does_not_compare(void **state)
{
    (void)state;
    struct inq_snapshot now = {.subject = INQ_SUBJECT_SCHEDULE, .ranks = 4, .stages = 4};
    struct inq_baseline base[4] = {
        {.snapshot = now}, {.snapshot = now}, {.snapshot = now}, {.snapshot = now}};
    base[0].snapshot.subject = INQ_SUBJECT_RUN;
    base[1].snapshot.ranks = 8;
    base[2].snapshot.microbatches = 9;
    base[3].snapshot.times_ns[2] = 1;
    for (size_t i = 0; i < 4; i++) {
        struct inq_check check;
        struct inq_err err = {0};
        assert_int_equal(inq_check_compare(&now, &base[i], NULL, &check, &err), INQ_UNSUPPORTED);
        inq_check_release(&check);
    }
}

/* A step longer by what all stages take longer, by three quarters of the most at least, is no
 * matter of the one that happens to lead. */
static void compare__what_all_stages_have_in_common_is_no_stages_matter(void **state)
{
    (void)state;
    static const struct {
        double other;
        const char *says;
    } cases[] = {{57.6e6, "; mostly compute of all stages (+10.0 ms)"},
                 {57.4e6, "; mostly compute of stage 1 (+10.0 ms)"}};
    for (size_t i = 0; i < 2; i++) {
        struct inq_snapshot base = run_snapshot(100e6, 100e6, 100e6);
        struct inq_snapshot now = run_snapshot(112e6, 112e6, 112e6);
        add(&base, INQ_MEASURE_COMPUTE, "stage0", 50e6, 50e6, 50e6);
        add(&base, INQ_MEASURE_COMPUTE, "stage1", 50e6, 50e6, 50e6);
        add(&now, INQ_MEASURE_COMPUTE, "stage0", cases[i].other, cases[i].other, cases[i].other);
        add(&now, INQ_MEASURE_COMPUTE, "stage1", 60e6, 60e6, 60e6);
        struct inq_check check = compare(&now, &base, NULL);
        assert_non_null(strstr(check.cause->message, cases[i].says));
        drop(&check, &base, &now);
    }
}

/* Another GPU is the reason for whatever got better or worse; where one is not recorded, nothing is
 * said of it. */
static void compare__another_gpu_is_told_and_not_its_numbers(void **state)
{
    (void)state;
    static const char *const gpus[] = {"NVIDIA A100", "NVIDIA H100", ""};
    for (size_t i = 0; i < 3; i++) {
        struct inq_snapshot base = run_snapshot(100e6, 99e6, 101e6);
        struct inq_snapshot now = run_snapshot(100e6, 99e6, 101e6);
        struct inq_baseline baseline = {.snapshot = base};
        struct inq_snapshot pool = {0};
        struct inq_check check;
        struct inq_err err = {0};
        (void)snprintf(baseline.snapshot.gpu, sizeof base.gpu, "%s", gpus[0]);
        (void)snprintf(now.gpu, sizeof now.gpu, "%s", gpus[i]);
        int code = i == 1 ? INQ_UNSUPPORTED : INQ_OK;
        assert_int_equal(inq_check_compare(&now, &baseline, NULL, &check, &err), code);
        assert_int_equal(strstr(err.message, "NVIDIA H100") != NULL, i == 1);
        inq_check_release(&check);
        assert_int_equal(inq_snapshot_pool(&pool, &baseline.snapshot, NULL), INQ_OK);
        assert_int_equal(inq_snapshot_pool(&pool, &now, NULL), code);
        assert_string_equal(pool.gpu, gpus[0]);
        inq_snapshot_release(&pool);
        inq_snapshot_release(&base);
        inq_snapshot_release(&now);
    }
}

/* ---- schedules -------------------------------------------------------------------------------*/

static struct inq_snapshot of_schedule(const char *kind, int64_t p2p_ns)
{
    const int64_t ms = 1000000;
    struct inq_lint_options options = {
        .costs = {.stage = {18 * ms, 18 * ms, 9 * ms}, .p2p_ns = p2p_ns}};
    struct inq_schedule_spec spec = {
        .kind = kind, .n_ranks = 4, .n_microbatches = 7, .costs = options.costs};
    struct inq_schedule schedule;
    struct inq_snapshot snapshot;
    struct inq_err err = {0};
    assert_int_equal(inq_schedule_make(&spec, &schedule, &err), INQ_OK);
    assert_int_equal(inq_snapshot_of_schedule(&schedule, &options, NULL, 0, &snapshot, &err),
                     INQ_OK);
    inq_schedule_release(&schedule);
    return snapshot;
}

static void schedule__regressions_and_gains(void **state)
{
    (void)state;
    struct inq_snapshot gpipe = of_schedule("gpipe", 0);
    struct inq_snapshot one = of_schedule("1f1b", 0);
    struct inq_snapshot zb = of_schedule("zb-h1", 0);
    struct inq_check check = compare(&one, &gpipe, NULL);
    assert_true(check.pass);
    assert_int_equal(row_of(&check, "peak_activations")->outcome, INQ_CHECK_IMPROVED);
    inq_check_release(&check);
    check = compare(&gpipe, &one, NULL);
    assert_int_equal(row_of(&check, "peak_activations")->outcome, INQ_CHECK_REGRESSED);
    assert_int_equal(row_of(&check, "makespan_ns")->outcome, INQ_CHECK_WITHIN);
    inq_check_release(&check);
    check = compare(&one, &zb, NULL);
    assert_int_equal(row_of(&check, "makespan_ns")->outcome, INQ_CHECK_REGRESSED);
    assert_int_equal(row_of(&check, "bubble_ratio")->outcome, INQ_CHECK_REGRESSED);
    inq_check_release(&check);
    inq_snapshot_release(&gpipe);
    inq_snapshot_release(&one);
    inq_snapshot_release(&zb);
}

/* A value over its limit is not told as equal to it, and by how much has a digit that counts. */
static void schedule__hardly_worse_is_told_with_its_digits(void **state)
{
    (void)state;
    struct inq_snapshot base = of_schedule("1f1b", 0);
    struct inq_snapshot now = of_schedule("1f1b", 0);
    for (size_t i = 0; i < base.n; i++) { /* 450 ms, 0.3 */
        base.measures[i].value -= base.measures[i].kind == INQ_MEASURE_MAKESPAN       ? 24576.0
                                  : base.measures[i].kind == INQ_MEASURE_BUBBLE_RATIO ? 0.00003
                                                                                      : 0.0;
    }
    struct inq_check check = compare(&now, &base, NULL);
    assert_string_equal(
        row_of(&check, "makespan_ns")->message,
        "makespan got worse by 0.005 %: 450.00 ms, was 449.98 ms (limit 449.98 ms)");
    assert_string_equal(row_of(&check, "bubble_ratio")->message,
                        "bubble ratio got worse by 0.01 %: 0.30000, was 0.29997 (limit 0.29997)");
    drop(&check, &base, &now);
}

/* The same of times in every unit: as many digits more as show the difference, none of a ns. */
static void schedule__hardly_worse_in_every_unit(void **state)
{
    (void)state;
    static const struct {
        double now, less;
        const char *says;
    } rows[] = {
        {2500000000.0, 1000000.0, ": 2.500 s, was 2.499 s (limit 2.499 s)"},
        {1000000000.0, 100000.0, ": 1.0 s, was 999.9 ms (limit 999.9 ms)"},
        {12500000.0, 1000.0, ": 12.500 ms, was 12.499 ms (limit 12.499 ms)"},
        {1000000.0, 90.0, ": 1.0 ms, was 999.9 us (limit 999.9 us)"},
        {12500.0, 4.0, ": 12.500 us, was 12.496 us (limit 12.496 us)"},
        {1000.0, 0.5, ": 1.00 us, was 999 ns (limit 999 ns)"},
        {999.0, 0.25, ": 999 ns, was 998 ns (limit 998 ns)"},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        struct inq_snapshot base = of_schedule("1f1b", 0);
        struct inq_snapshot now = of_schedule("1f1b", 0);
        for (size_t i = 0; i < base.n; i++) {
            if (base.measures[i].kind == INQ_MEASURE_MAKESPAN) {
                now.measures[i].value = rows[k].now;
                base.measures[i].value = rows[k].now - rows[k].less;
            }
        }
        struct inq_check check = compare(&now, &base, NULL);
        const char *message = row_of(&check, "makespan_ns")->message;
        assert_string_equal(strchr(message, ':'), rows[k].says);
        drop(&check, &base, &now);
    }
}

/* The text of a baseline has fewer digits than a ratio: no tolerance must not see that. */
static void schedule__equal_passes_without_tolerance(void **state)
{
    (void)state;
    struct inq_snapshot now = of_schedule("1f1b", 77);
    struct inq_check_rules rules = {.has_tolerance = true, .tolerance = 0.0};
    struct inq_out out = written(&now, &rules);
    struct inq_baseline baseline;
    struct inq_check check;
    assert_int_equal(inq_baseline_read(out.buf, out.len, &baseline, NULL), INQ_OK);
    assert_int_equal(inq_check_compare(&now, &baseline, NULL, &check, NULL), INQ_OK);
    for (size_t i = 0; i < check.n; i++) {
        assert_int_equal(check.rows[i].outcome, INQ_CHECK_WITHIN);
    }
    inq_check_release(&check);
    inq_baseline_release(&baseline);
    inq_out_release(&out);
    inq_snapshot_release(&now);
}

static void schedule__that_hangs_fails_and_says_why(void **state)
{
    (void)state;
    static const char csv[] = "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
                              "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1\n";
    struct inq_lint_options options = {.costs = {.stage = {1, 1, 1}}};
    struct inq_schedule schedule;
    struct inq_csv_info info;
    struct inq_snapshot fine;
    struct inq_snapshot hangs;
    assert_int_equal(
        inq_schedule_read_csv(csv, strlen(csv), INQ_CSV_DETECT, &schedule, &info, NULL), INQ_OK);
    assert_int_equal(inq_snapshot_of_schedule(&schedule, &options, NULL, 0, &fine, NULL), INQ_OK);
    options.grouping = INQ_GROUPING_NONE;
    assert_int_equal(inq_snapshot_of_schedule(&schedule, &options, NULL, 0, &hangs, NULL), INQ_OK);
    struct inq_check check = compare(&hangs, &fine, NULL);
    assert_false(check.pass);
    assert_non_null(strstr(row_of(&check, "lint_problems")->message, "R6"));
    assert_int_equal(row_of(&check, "makespan_ns")->outcome, INQ_CHECK_GONE);
    inq_check_release(&check);
    inq_snapshot_release(&fine);
    inq_snapshot_release(&hangs);
    inq_schedule_release(&schedule);
}

/* Of any size: nothing of it is known. */
static void schedule__that_does_not_parse_fails_against_any_baseline(void **state)
{
    (void)state;
    static const char *const csv[] = {"0F0,0B0\n1F0,1B0\n", "0F0,0B0\n1F0,zz\n"};
    struct inq_lint_options options = {.costs = {.stage = {1, 1, 1}}};
    struct inq_schedule schedule;
    struct inq_csv_info info;
    struct inq_snapshot fine;
    struct inq_snapshot faulty;
    assert_int_equal(
        inq_schedule_read_csv(csv[0], strlen(csv[0]), INQ_CSV_DETECT, &schedule, &info, NULL),
        INQ_OK);
    assert_int_equal(inq_snapshot_of_schedule(&schedule, &options, NULL, 0, &fine, NULL), INQ_OK);
    inq_schedule_release(&schedule);
    assert_int_equal(
        inq_schedule_read_csv(csv[1], strlen(csv[1]), INQ_CSV_DETECT, &schedule, &info, NULL),
        INQ_FORMAT);
    assert_int_equal(inq_snapshot_of_fault(&info, &faulty, NULL), INQ_OK);
    struct inq_check check = compare(&faulty, &fine, NULL);
    assert_false(check.pass);
    assert_string_equal(check.cause->now.name, "lint_problems");
    assert_non_null(strstr(check.cause->message, "R1, expected STAGE KIND"));
    assert_int_equal(row_of(&check, "makespan_ns")->outcome, INQ_CHECK_GONE);
    inq_check_release(&check);
    inq_snapshot_release(&fine);
    inq_snapshot_release(&faulty);
}

/* ---- reports ---------------------------------------------------------------------------------*/

static struct inq_out report(enum inq_format format)
{
    struct inq_snapshot base = run_snapshot(100e6, 99e6, 101e6);
    struct inq_snapshot now = run_snapshot(120e6, 119e6, 121e6);
    struct inq_report_options options = {.format = format};
    struct inq_out out = {0};
    struct inq_sink sink = inq_out_sink(&out);
    (void)inq_snapshot_add_finding(&now, HOSTILE_NAME, INQ_SEVERITY_HIGH, HOSTILE_NAME, NULL);
    (void)inq_snapshot_add_finding(&now, HOSTILE_HIDDEN, INQ_SEVERITY_HIGH, "a, b: 5 %\n::error",
                                   NULL);
    struct inq_check check = compare(&now, &base, NULL);
    struct inq_err err = {0};
    if (inq_check_report(&check, HOSTILE_NAME, HOSTILE_HIDDEN, &options, sink, &err) != INQ_OK) {
        fail_msg("%s", err.message);
    }
    inq_out_bytes(&out, "", 1);
    drop(&check, &base, &now);
    return out;
}

/* A gain is in the first line, with what keeps it; not where something else got worse, and a stage
 * that has a smaller part of a longer step gained nothing. */
static void report__a_gain_is_told_first(void **state)
{
    (void)state;
    static const struct inq_report_options options = {.format = INQ_FORMAT_TEXT};
    static const char says[] = "Passes: step time improved by 10.0 %: 90.0 ms, was 100 ms; "
                               "--update would keep "
                               "the gain.";
    for (int worse = 0; worse < 2; worse++) {
        struct inq_out out = {0};
        struct inq_err err = {0};
        struct inq_snapshot base = run_snapshot(100e6, 100e6, 100e6);
        struct inq_snapshot now = run_snapshot(90e6, 90e6, 90e6);
        add(&base, INQ_MEASURE_STAGE_SHARE, "stage0", 1.0, 1.0, 1.0);
        add(&base, INQ_MEASURE_STAGE_SHARE, "stage1", 1.0, 1.0, 1.0);
        add(&now, INQ_MEASURE_STAGE_SHARE, "stage0", worse ? 0.8 : 1.0, (double)NAN, (double)NAN);
        add(&now, INQ_MEASURE_STAGE_SHARE, "stage1", worse ? 1.25 : 1.0, (double)NAN, (double)NAN);
        struct inq_check check = compare(&now, &base, NULL);
        assert_int_equal(
            inq_check_report(&check, "now", "base", &options, inq_out_sink(&out), &err), INQ_OK);
        inq_out_bytes(&out, "", 1);
        assert_int_equal(row_of(&check, "step_time_ns")->outcome, INQ_CHECK_IMPROVED);
        assert_int_equal(row_of(&check, "stage_share.stage0")->outcome, INQ_CHECK_WITHIN);
        assert_int_equal(check.pass, !worse);
        assert_int_equal(strncmp(out.buf, says, sizeof says - 1) == 0, !worse);
        assert_int_equal(strstr(out.buf, "would") == NULL, worse);
        inq_out_release(&out);
        drop(&check, &base, &now);
    }
}

/* Reads one tag at `p`; checks attributes and the order of closing. Returns behind it. */
static const char *one_tag(const char *p, char stack[16][32], int *depth)
{
    bool closes = p[1] == '/';
    const char *name = p + 1 + closes;
    size_t len = strcspn(name, " />?");
    const char *end = p;
    bool quoted = false;
    while (*end != '\0' && (quoted || *end != '>')) {
        quoted ^= *end == '"';
        assert_true(end == p || *end != '<');
        end++;
    }
    assert_int_equal(*end, '>');
    if (p[1] == '?') {
        return end + 1;
    }
    if (closes) {
        assert_true(*depth > 0);
        (*depth)--;
        assert_true(strlen(stack[*depth]) == len && strncmp(stack[*depth], name, len) == 0);
    } else if (end[-1] != '/') {
        assert_true(*depth < 16 && len < 32);
        (void)snprintf(stack[(*depth)++], 32, "%.*s", (int)len, name);
    }
    return end + 1;
}

static void report__junit_is_well_formed(void **state)
{
    (void)state;
    struct inq_out out = report(INQ_FORMAT_JUNIT);
    char stack[16][32];
    int depth = 0;
    for (const char *p = out.buf; *p != '\0';) {
        if (*p == '<') {
            p = one_tag(p, stack, &depth);
            continue;
        }
        assert_true(*p != '>' && ((unsigned char)*p >= 0x20 || *p == '\n'));
        if (*p == '&') {
            assert_true(strncmp(p, "&lt;", 4) == 0 || strncmp(p, "&gt;", 4) == 0 ||
                        strncmp(p, "&amp;", 5) == 0 || strncmp(p, "&quot;", 6) == 0 ||
                        strncmp(p, "&apos;", 6) == 0);
        }
        p++;
    }
    assert_int_equal(depth, 0);
    assert_non_null(strstr(out.buf, "tests=\"2\" failures=\"2\""));
    assert_null(strstr(out.buf, "\033"));
    assert_null(strstr(out.buf, "\xff"));
    assert_null(strstr(out.buf, "<img"));
    inq_out_release(&out);
}

static void report__github_is_one_command_a_line(void **state)
{
    (void)state;
    struct inq_out out = report(INQ_FORMAT_GITHUB);
    int lines = 0;
    for (char *save = NULL, *line = strtok_r(out.buf, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save)) {
        assert_true(strncmp(line, "::error title=", 14) == 0);
        const char *text = strstr(line + 2, "::");
        assert_non_null(text);
        assert_null(memchr(line + 14, ',', (size_t)(text - line) - 14));
        assert_null(strchr(line, '\r'));
        lines++;
    }
    assert_int_equal(lines, 2); /* the cause with the first finding, and the other */
    inq_out_release(&out);
}

static void report__markdown_and_text_are_safe(void **state)
{
    (void)state;
    struct inq_out out = report(INQ_FORMAT_MARKDOWN);
    assert_null(strstr(out.buf, "<img"));
    assert_null(strstr(out.buf, "@team"));
    assert_null(strchr(out.buf, '\033'));
    inq_out_release(&out);
    out = report(INQ_FORMAT_TEXT);
    assert_null(strchr(out.buf, '\033'));
    assert_true(strncmp(out.buf, "Fails: step time got worse", 26) == 0); /* the cause */
    inq_out_release(&out);
}

static void report__json_is_the_contract(void **state)
{
    (void)state;
    struct inq_out out = report(INQ_FORMAT_JSON);
    struct cJSON *root = NULL;
    assert_int_equal(inq_json_parse(out.buf, out.len - 1, &root, NULL), INQ_OK);
    assert_string_equal(inq_json_text(inq_json_get(root, "schema"), ""), "inquest-check/1");
    const struct cJSON *checks = inq_json_get(root, "checks");
    assert_int_equal(inq_json_count(checks), 2);
    const struct cJSON *first = inq_json_first(checks);
    assert_string_equal(inq_json_text(inq_json_get(first, "name"), ""), "step_time_ns");
    assert_int_equal(inq_json_integer(inq_json_get(first, "baseline"), 0), 100000000);
    assert_int_equal(inq_json_integer(inq_json_get(first, "value"), 0), 120000000);
    assert_int_equal(inq_json_integer(inq_json_get(first, "limit"), 0), 103000000);
    assert_non_null(inq_json_get(first, "pass"));
    assert_int_equal(inq_json_count(inq_json_get(root, "new_findings")), 2);
    inq_json_free(root);
    inq_out_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules__read_what_people_write),
        cmocka_unit_test(rules__refuse_the_rest_and_say_what_may_stand_there),
        cmocka_unit_test(baseline__reads_back_what_it_wrote),
        cmocka_unit_test(baseline__refuses_what_it_cannot_trust),
        cmocka_unit_test(compare__knows_noise),
        cmocka_unit_test(compare__noise_is_told_with_its_interval),
        cmocka_unit_test(compare__ranks_may_fall_back_by_less),
        cmocka_unit_test(compare__a_stage_is_held_to_what_noise_explains),
        cmocka_unit_test(compare__a_rule_of_a_stage_is_as_any_other),
        cmocka_unit_test(compare__stages_are_held_against_those_that_changed_alike),
        cmocka_unit_test(compare__who_falls_back_takes_longer_itself),
        cmocka_unit_test(compare__measures_that_come_and_go),
        cmocka_unit_test(compare__parts_of_a_step_grow_by_the_step),
        cmocka_unit_test(compare__a_longer_step_says_through_what),
        cmocka_unit_test(compare__new_findings),
        cmocka_unit_test(compare__a_finding_with_a_hostile_name_is_known_again),
        cmocka_unit_test(compare__refuses_what_does_not_compare),
        cmocka_unit_test(compare__what_all_stages_have_in_common_is_no_stages_matter),
        cmocka_unit_test(compare__another_gpu_is_told_and_not_its_numbers),
        cmocka_unit_test(schedule__regressions_and_gains),
        cmocka_unit_test(schedule__hardly_worse_is_told_with_its_digits),
        cmocka_unit_test(schedule__hardly_worse_in_every_unit),
        cmocka_unit_test(schedule__equal_passes_without_tolerance),
        cmocka_unit_test(schedule__that_hangs_fails_and_says_why),
        cmocka_unit_test(schedule__that_does_not_parse_fails_against_any_baseline),
        cmocka_unit_test(report__junit_is_well_formed),
        cmocka_unit_test(report__github_is_one_command_a_line),
        cmocka_unit_test(report__markdown_and_text_are_safe),
        cmocka_unit_test(report__json_is_the_contract),
        cmocka_unit_test(report__a_gain_is_told_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
