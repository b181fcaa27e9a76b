/* SPDX-License-Identifier: Apache-2.0 */
/* What fixes assume, measured on an engine whose costs are known; and what becomes of a prediction
 * whose assumption the device does not share. */
#include "support_plan.h"

#include "engine/engine.h"
#include "fix/validate/validate.h"

#include "base/mem.h"
#include "inquest/ingest.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SAMPLES INQ_SOURCE_DIR "/sample-traces"

/* A device: collectives take a latency and their bytes, compute a fixed part and the rest, W more
 * than I, and compute with a transfer beside it longer. */
struct device {
    double latency_ns, bytes_per_ns, fixed_ns, weight, contention;
    bool refuses; /* recorded work */
};
static struct device device;

static double length_of(const struct inq_plan *plan, uint32_t op)
{
    double dur_ns = (double)plan->dur_ns[op];
    uint8_t type = plan->graph->op[op].type;
    if (plan->work[op] == INQ_WORK_ALL_REDUCE) {
        return device.latency_ns + (double)plan->bytes[op] / device.bytes_per_ns;
    }
    if (plan->work[op] == INQ_WORK_COPY) {
        return dur_ns;
    }
    double beside = 1.0;
    for (size_t k = 0; k < plan->n_lanes; k++) { /* a copy that waits for the same op */
        for (size_t i = 0; i < plan->lanes[k].n; i++) {
            uint32_t other = plan->lanes[k].ops[i];
            const struct inq_graph *g = plan->graph;
            bool same = plan->work[other] == INQ_WORK_COPY &&
                        g->dep_start[op] < g->dep_start[op + 1] &&
                        g->deps[g->dep_start[other + 1] - 1] == g->deps[g->dep_start[op]];
            beside = same ? 1.0 + device.contention : beside;
        }
    }
    double share = type == INQ_OP_BACKWARD_WEIGHT ? 2.0 * device.weight : 1.0;
    return (device.fixed_ns + dur_ns) * share * beside;
}

static int device_run(const struct inq_plan *plan, const struct inq_replay_options *options,
                      struct inq_execution *out, struct inq_err *err)
{
    size_t n = plan->graph->n_ops;
    struct inq_recorder recorder = {0};
    if (options->work != INQ_WORK_RECORDED) {
        return inq_engine_find("sim")->run(plan, options, out, err);
    }
    if (device.refuses) {
        return inq_err_set(err, INQ_UNSUPPORTED, "no work here");
    }
    *out = (struct inq_execution){0};
    int64_t *dur_ns = inq_mem_zalloc(n + 1, sizeof *dur_ns);
    assert_non_null(dur_ns);
    for (uint32_t i = 0; i < n; i++) {
        dur_ns[i] = llround(length_of(plan, i));
    }
    assert_int_equal(inq_recorder_init(&recorder, n, 1, err), INQ_OK);
    (void)inq_simulate(plan->graph, dur_ns, NULL, inq_recorder_start(&recorder),
                       inq_recorder_end(&recorder));
    (void)inq_recorder_next(&recorder);
    inq_mem_free(dur_ns);
    return inq_recorder_finish(&recorder, out, err);
}

static const struct inq_engine engine = {
    .name = "device", .summary = "", .built = true, .executes = true, .run = device_run};

static struct fix_need measured(enum fix_cost cost, int64_t dur_ns, double share)
{
    struct fix_needs needs = {.n = 1};
    const struct inq_replay_options options = {0};
    needs.at[0] = (struct fix_need){.cost = cost,
                                    .dur_ns = dur_ns,
                                    .share = share,
                                    .bytes = 25 << 20,
                                    .members = 4,
                                    .measured = (double)NAN};
    assert_int_equal(inq_fix_measure(&engine, &options, &needs, NULL), INQ_OK);
    assert_true(needs.measured);
    return needs.at[0];
}

static void measure__finds_what_a_device_takes(void **state)
{
    (void)state;
    device = (struct device){.latency_ns = 35000,
                             .bytes_per_ns = 3.0,
                             .fixed_ns = 400000,
                             .weight = 0.4,
                             .contention = 0.25};
    /* smaller and larger buckets, of links that are ten times slower than the recorded ones */
    assert_true(fabs(measured(FIX_COST_LATENCY, 900000, 0.5).measured - 35.0) < 0.1);
    assert_true(fabs(measured(FIX_COST_LATENCY, 900000, 4.0).measured - 35.0) < 0.1);
    /* 0.4 ms of 4.4 ms */
    assert_true(fabs(measured(FIX_COST_FIXED, 4000000, 0.5).measured - 0.4 / 4.4) < 1e-3);
    assert_true(fabs(measured(FIX_COST_CONTENTION, 4000000, 1.0).measured - 0.25) < 1e-3);
    device.fixed_ns = 0;
    assert_true(fabs(measured(FIX_COST_SPLIT, 4000000, 0.5).measured - 0.4) < 1e-3);
    struct fix_need pace = measured(FIX_COST_PACE, 4000000, 0.8);
    assert_true(fabs(pace.measured - 1.0) < 1e-3);
    assert_true(pace.ci95[0] <= pace.measured && pace.measured <= pace.ci95[1]);
}

static void measure__leaves_open_what_the_device_cannot_do(void **state)
{
    (void)state;
    device = (struct device){.refuses = true};
    assert_true(isnan(measured(FIX_COST_LATENCY, 900000, 0.5).measured));
    /* a simulator measures nothing */
    struct fix_needs needs = {.n = 1};
    const struct inq_replay_options options = {0};
    needs.at[0] = (struct fix_need){.cost = FIX_COST_PACE, .measured = (double)NAN};
    assert_int_equal(inq_fix_measure(inq_engine_find("sim"), &options, &needs, NULL), INQ_OK);
    assert_true(isnan(needs.at[0].measured));
}

/* ---- a fix, judged --------------------------------------------------------------------------- */

struct studied {
    struct inq_run *run;
    struct inq_report *report;
    struct inq_fix_base *base;
    struct inq_fixes *fixes;
};

static struct studied validated(const char *sample, const char *spec)
{
    struct studied s = {0};
    struct inq_err err = {0};
    const struct inq_ingest_options ingest = {.jobs = 1};
    const struct inq_analysis_options analysis = {.jobs = 1};
    const struct inq_fix_options options = {.specs = &spec, .n_specs = 1, .jobs = 1};
    const struct inq_fix_validate_options how = {.engine = &engine, .top = 1, .scale = 1.0};
    if (inq_ingest(&sample, 1, &ingest, &s.run, &err) != INQ_OK ||
        inq_analyze(s.run->traces[0], &analysis, &s.report, &err) != INQ_OK ||
        inq_fix_base_of_run(s.run->traces[0], s.report, &s.base, &err) != INQ_OK ||
        inq_fix_study(s.base, s.report, &options, &s.fixes, &err) != INQ_OK ||
        inq_fix_validate(s.base, &how, s.fixes, &err) != INQ_OK) {
        fail_msg("%s", err.message);
    }
    return s;
}

static void done(struct studied *s)
{
    inq_fixes_free(s->fixes);
    inq_fix_base_free(s->base);
    inq_report_free(s->report);
    inq_run_free(s->run);
}

/* A device that shares the assumption confirms, one whose collectives start ten times as slowly
 * refutes and says what it found. */
static void validation__refutes_a_wrong_assumption(void **state)
{
    (void)state;
    device = (struct device){.latency_ns = 20000, .bytes_per_ns = 30.0, .weight = 0.5};
    struct studied s = validated(SAMPLES "/slow_gpu_dp8", "bucket-size:factor=0.5");
    const struct inq_fix *fix = &s.fixes->fixes[0];
    assert_int_equal(fix->executed.order.judgment, INQ_CONFIRMED);
    assert_int_equal(fix->executed.cost.judgment, INQ_CONFIRMED);
    assert_int_equal(fix->n_assumptions, 1);
    assert_true(fabs(fix->assumptions[0].measured - 20.0) < 0.5);
    done(&s);
    device.latency_ns = 200000;
    s = validated(SAMPLES "/slow_gpu_dp8", "bucket-size:factor=0.5");
    fix = &s.fixes->fixes[0];
    assert_int_equal(fix->executed.order.judgment, INQ_CONFIRMED);
    assert_int_equal(fix->executed.cost.judgment, INQ_REFUTED);
    assert_non_null(strstr(fix->executed.cost.why, "collective latency 200 us"));
    assert_true(fix->executed.measured_speedup < fix->executed.predicted_speedup);
    done(&s);
}

static void validation__measures_micro_batches_by_length(void **state)
{
    (void)state;
    /* 10 % of an op of 4 ms, 5 % of one of 8 ms */
    device = (struct device){.fixed_ns = 300000, .weight = 0.5, .bytes_per_ns = 30.0};
    struct studied s = validated(SAMPLES "/pipeline_pp4_long_last", "microbatches:16");
    const struct inq_fix *fix = &s.fixes->fixes[0];
    assert_int_equal(fix->n_assumptions, 2);
    assert_true(fix->assumptions[0].measured > fix->assumptions[1].measured);
    assert_true(fix->executed.cost.judgment != INQ_NOT_EXECUTED);
    done(&s);
}

/* Of many assumptions whole ones are named, up to the room that there is. */
static void validation__names_assumptions_whole(void **state)
{
    (void)state;
    device = (struct device){.latency_ns = 20000, .bytes_per_ns = 30.0, .weight = 0.5};
    struct studied s = validated(SAMPLES "/pipeline_pp4_long_last",
                                 "rebalance-stages+microbatches:16+schedule:zb-h1");
    const struct inq_fix *fix = &s.fixes->fixes[0];
    const char *why = fix->executed.cost.why;
    assert_true(fix->n_assumptions >= 4);
    const char *last = strrchr(why, ';');
    assert_non_null(last);
    const char *assumed = strstr(last, ", assumed ");
    assert_non_null(assumed);
    assert_true(strtod(assumed + strlen(", assumed "), NULL) > 0.0);
    done(&s);
}

static void validation__says_what_no_device_shows(void **state)
{
    (void)state;
    device = (struct device){.bytes_per_ns = 30.0, .weight = 0.5};
    struct studied s = validated(SAMPLES "/slow_gpu_dp8", "link:factor=0.5");
    const struct inq_validation *v = &s.fixes->fixes[0].executed;
    assert_int_equal(v->order.judgment, INQ_CONFIRMED);
    assert_int_equal(v->cost.judgment, INQ_INCONCLUSIVE);
    assert_non_null(strstr(v->cost.why, "transfers over the other links"));
    done(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measure__finds_what_a_device_takes),
        cmocka_unit_test(measure__leaves_open_what_the_device_cannot_do),
        cmocka_unit_test(validation__refutes_a_wrong_assumption),
        cmocka_unit_test(validation__measures_micro_batches_by_length),
        cmocka_unit_test(validation__names_assumptions_whole),
        cmocka_unit_test(validation__says_what_no_device_shows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
