/* SPDX-License-Identifier: Apache-2.0 */
/* Fixes of whole runs: the samples against what was planted in them, production jobs, studies that
 * do not depend on threads, and predictions executed. */
#include "inquest/fix.h"
#include "inquest/ingest.h"
#include "inquest/report.h"
#include "inquest/synth.h"

#include "base/json.h"
#include "inquest/out.h"
#include "support_read.h"
#include "support_synth.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SAMPLES INQ_SOURCE_DIR "/sample-traces"

struct studied {
    struct inq_run *run;
    struct inq_report *report;
    struct inq_fix_base *base;
    struct inq_fixes *fixes;
};

static void done(struct studied *s)
{
    inq_fixes_free(s->fixes);
    inq_fix_base_free(s->base);
    inq_report_free(s->report);
    inq_run_free(s->run);
}

/* What the report of s->run calls for. */
static void study_report(struct studied *s, const char *name, int jobs)
{
    struct inq_err err = {0};
    struct inq_fix_options options = {.jobs = jobs};
    if (inq_fix_base_of_run(s->run->traces[0], s->report, &s->base, &err) != INQ_OK ||
        inq_fix_study(s->base, s->report, &options, &s->fixes, &err) != INQ_OK) {
        fail_msg("%s: %s", name, err.message);
    }
}

static struct studied study(const char *path, int jobs)
{
    struct studied s = {0};
    struct inq_err err = {0};
    struct inq_ingest_options ingest = {.jobs = jobs};
    struct inq_analysis_options analysis = {.jobs = jobs};
    if (inq_ingest(&path, 1, &ingest, &s.run, &err) != INQ_OK || s.run->n_traces != 1 ||
        inq_analyze(s.run->traces[0], &analysis, &s.report, &err) != INQ_OK) {
        fail_msg("%s: %s", path, err.message);
    }
    study_report(&s, path, jobs);
    return s;
}

static const struct inq_fix *find(const struct studied *s, const char *spec)
{
    for (size_t i = 0; i < s->fixes->n; i++) {
        if (strcmp(s->fixes->fixes[i].spec, spec) == 0) {
            return &s->fixes->fixes[i];
        }
    }
    return NULL;
}

/* Cost of the first planted fault in the step that the base was taken from. */
static int64_t planted_cost(const char *sample, int64_t step)
{
    char path[TEST_PATH];
    size_t n = 0;
    struct cJSON *root = NULL;
    (void)snprintf(path, sizeof path, SAMPLES "/%s/truth.json", sample);
    char *text = test_slurp(path, &n);
    assert_non_null(text);
    assert_int_equal(inq_json_parse(text, n, &root, NULL), INQ_OK);
    int64_t cost = -1;
    for (const struct cJSON *row = inq_json_first(inq_json_get(root, "steps")); row != NULL;
         row = inq_json_next(row)) {
        if (inq_json_integer(inq_json_get(row, "step"), -1) == step) {
            cost = inq_json_integer(inq_json_get(row, "dur_ns"), 0) -
                   inq_json_integer(inq_json_get(row, "healthy_ns"), 0);
        }
    }
    inq_json_free(root);
    free(text);
    return cost;
}

/* ---- samples --------------------------------------------------------------------------------- */

/* The fix of what was planted comes first, and gains what the fault costs. */
static void samples__have_the_right_fix_first(void **state)
{
    (void)state;
    static const struct {
        const char *sample, *spec;
    } cases[] = {{"slow_gpu_dp8", "replace-rank:5"}, {"late_host_dp4", "repair-host:1"}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char path[TEST_PATH];
        (void)snprintf(path, sizeof path, SAMPLES "/%s", cases[k].sample);
        struct studied s = study(path, 1);
        assert_true(s.fixes->n > 0);
        const struct inq_fix *first = &s.fixes->fixes[0];
        assert_string_equal(first->spec, cases[k].spec);
        assert_true(first->helps && first->repairs);
        double cost = (double)planted_cost(cases[k].sample, s.fixes->base.step);
        if (!(fabs((double)first->gain_ns - cost) < 0.1 * cost)) {
            fail_msg("%s gains %.3f ms, the fault costs %.3f ms", first->spec,
                     (double)first->gain_ns / 1e6, cost / 1e6);
        }
        done(&s);
    }
}

static void sample__of_a_long_last_stage_is_rebalanced(void **state)
{
    (void)state;
    struct studied s = study(SAMPLES "/pipeline_pp4_long_last", 1);
    assert_string_equal(s.fixes->fixes[0].spec, "rebalance-stages");
    assert_true(s.fixes->fixes[0].helps);
    assert_int_equal(s.fixes->base.n_stages, 4);
    assert_int_equal(s.fixes->base.n_microbatches, 8);
    assert_string_equal(s.fixes->base.schedule, "1f1b");
    done(&s);
}

static void samples__that_are_healthy_have_nothing_to_repair(void **state)
{
    (void)state;
    static const char *const samples[] = {"healthy_dp4", "clock_offset_dp4", "damaged_dp4"};
    for (size_t k = 0; k < sizeof samples / sizeof *samples; k++) {
        char path[TEST_PATH];
        (void)snprintf(path, sizeof path, SAMPLES "/%s", samples[k]);
        struct studied s = study(path, 1);
        for (size_t i = 0; i < s.fixes->n; i++) {
            assert_false(s.fixes->fixes[i].repairs);
        }
        done(&s);
    }
}

/* The replay of a recorded step with its delays takes exactly what was recorded. */
static void bases__of_samples_are_exact(void **state)
{
    (void)state;
    static const char *const samples[] = {"healthy_dp4", "slow_gpu_dp8", "late_host_dp4",
                                          "clock_offset_dp4", "pipeline_pp4_long_last"};
    for (size_t k = 0; k < sizeof samples / sizeof *samples; k++) {
        char path[TEST_PATH];
        (void)snprintf(path, sizeof path, SAMPLES "/%s", samples[k]);
        struct studied s = study(path, 1);
        assert_true(s.fixes->base.connected);
        assert_int_equal(s.fixes->base.t_ns, s.fixes->base.recorded_ns);
        done(&s);
    }
}

/* ---- production jobs ------------------------------------------------------------------------- */

static void jobs__have_the_right_fix_first(void **state)
{
    (void)state;
    static const struct {
        const char *file, *spec;
        double error; /* of the simulated step, at most */
    } cases[] = {{"whatif/ST/trace-ST.csv.gz", "rebalance-stages", 0.02},
                 {"whatif/AR/trace-AR.csv.gz", "replace-rank:0", 0.01}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char path[TEST_PATH];
        if (!test_data_path(path, INQ_SHARED_DATA, cases[k].file)) {
            skip();
        }
        struct studied s = study(path, 0);
        const struct inq_fix_base_info *b = &s.fixes->base;
        assert_true(fabs((double)(b->t_ns - b->recorded_ns)) <
                    cases[k].error * (double)b->recorded_ns);
        assert_string_equal(s.fixes->fixes[0].spec, cases[k].spec);
        assert_true(s.fixes->fixes[0].helps && s.fixes->fixes[0].repairs);
        done(&s);
    }
}

/* One slow worker in 16 (2.35 times as slow): the what-if analysis says that half of the step is
 * its; so does the fix. */
static void job__without_its_slow_worker_takes_half(void **state)
{
    (void)state;
    char path[TEST_PATH];
    if (!test_data_path(path, INQ_SHARED_DATA, "whatif/AR/trace-AR.csv.gz")) {
        skip();
    }
    struct studied s = study(path, 0);
    const struct inq_fix *fix = find(&s, "replace-rank:0");
    if (fix == NULL) {
        fail_msg("no such fix");
        return;
    }
    assert_true(fabs(fix->speedup - s.report->whatif->slowdown) < 0.1);
    done(&s);
}

/* A recorded run whose rank 2 sleeps for a second in every step: without that a step is short. */
static void job__without_its_late_host_is_several_times_as_fast(void **state)
{
    (void)state;
    char path[TEST_PATH];
    if (!test_data_path(path, INQ_SHARED_DATA, "kineto/torchrec_sleep")) {
        skip();
    }
    struct studied s = study(path, 0);
    assert_true(s.fixes->n > 0);
    assert_string_equal(s.fixes->fixes[0].spec, "repair-host:2");
    assert_true(s.fixes->fixes[0].speedup > 3.0);
    done(&s);
}

/* A late host of a pipeline: the step is simulated from its calls, but the ops that are drawn and
 * executed hold the delay. They would say that the repair gains nothing. */
static void bases__without_what_is_repaired_are_not_drawn(void **state)
{
    (void)state;
    struct test_synth t =
        test_synth_open("tp=2,pp=4,dp=2,steps=5,seed=92,gz=0,p2p=batched,micro_batches=8,"
                        "fault=late_host:rank=3:delay=12ms",
                        NULL);
    struct studied s = {.run = t.run, .report = t.report};
    study_report(&s, "a late host", 1);
    const struct inq_fix *host = find(&s, "repair-host:3");
    const struct inq_fix *schedule = find(&s, "schedule:zb-h1");
    int64_t cost_ns = inq_synth_truth(t.synth)->faults[0].cost_ns_per_step;
    if (host == NULL) {
        fail_msg("no repair of the host");
        return;
    }
    assert_in_range(host->gain_ns, cost_ns * 97 / 100, cost_ns * 103 / 100);
    assert_int_equal(host->step_t_ns, -1);
    assert_non_null(strstr(host->what, "neither drawn nor executed"));
    assert_true(schedule != NULL && schedule->step_t_ns > 0);
    inq_fixes_free(s.fixes);
    inq_fix_base_free(s.base);
    test_synth_close(&t);
}

/* Calls of hosts that run ahead lie before the step: that is said, not that they take no time. */
static void hosts__that_run_ahead_have_no_time_in_the_step(void **state)
{
    (void)state;
    struct test_synth t = test_synth_open("dp=4,layers=4,steps=6,sync=4,seed=1109,gz=0,"
                                          "fault=late_host:mode=launch:rank=1:factor=16",
                                          NULL);
    struct studied s = {.run = t.run, .report = t.report};
    study_report(&s, "a late host", 1);
    const struct inq_fix *host = find(&s, "repair-host:1");
    if (host == NULL) {
        fail_msg("no repair of the host");
        return;
    }
    assert_non_null(
        strstr(host->what, "the host of rank 1 runs ahead of the GPU as its peers' do"));
    inq_fixes_free(s.fixes);
    inq_fix_base_free(s.base);
    test_synth_close(&t);
}

/* Recorded runs whose simulation is more than 2 % off (4.3 and 12.8 %): what analyze does not price
 * fix does not predict, and what the account measured gains as much. */
static void bases__off_the_record_predict_nothing(void **state)
{
    (void)state;
    static const char *const runs[] = {"kineto/dlrm_8ranks", "kineto/megatron_tp2"};
    for (size_t k = 0; k < sizeof runs / sizeof *runs; k++) {
        char path[TEST_PATH];
        if (!test_data_path(path, INQ_SHARED_DATA, runs[k])) {
            skip();
        }
        struct studied s = study(path, 0);
        const struct inq_fix_base_info *base = &s.fixes->base;
        const struct inq_fix *graphs = find(&s, "cuda-graphs");
        assert_true((double)llabs(base->mean_t_ns - base->mean_recorded_ns) >
                    0.02 * (double)base->mean_recorded_ns);
        assert_true(graphs != NULL && graphs->t_ns < 0 && !graphs->helps &&
                    strstr(graphs->problem, "2 % off the record") != NULL);
        if (k == 1) {
            const struct inq_fix *host = find(&s, "repair-host:0");
            assert_true(host != NULL && host->gain_ns == s.report->findings[0].cost_ns_per_step);
        }
        done(&s);
    }
}

/* Of TP, whose reductions the next layer waits for, no bucket is made; of gradients beside it one
 * is.
 */
static void buckets__are_of_gradients_only(void **state)
{
    (void)state;
    static const struct {
        const char *run;
        bool apply;
    } of[] = {{"dp=1,tp=2,layers=4,steps=5,gz=0", false},
              {"dp=2,tp=2,layers=4,steps=5,gz=0", true}};
    for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
        struct test_synth t = test_synth_open(of[k].run, NULL);
        struct studied s = {.run = t.run, .report = t.report};
        struct inq_err err = {0};
        const char *const buckets = "bucket-size:factor=0.5";
        struct inq_fix_options options = {.specs = &buckets, .n_specs = 1};
        assert_int_equal(inq_fix_base_of_run(t.run->traces[0], t.report, &s.base, &err), INQ_OK);
        assert_int_equal(inq_fix_study(s.base, t.report, &options, &s.fixes, &err), INQ_OK);
        const struct inq_fix *fix = find(&s, buckets);
        assert_true(fix != NULL && (fix->t_ns > 0) == of[k].apply);
        assert_true(of[k].apply || strstr(fix->problem, "no matched gradient") != NULL);
        inq_fixes_free(s.fixes);
        inq_fix_base_free(s.base);
        test_synth_close(&t);
    }
}

/* What cuda-graphs gain in a run of one rank. */
static int64_t gain_of_graphs(const char *spec)
{
    struct test_synth t = test_synth_open(spec, NULL);
    struct studied s = {.run = t.run, .report = t.report};
    struct inq_err err = {0};
    const char *const graphs = "cuda-graphs";
    struct inq_fix_options options = {.specs = &graphs, .n_specs = 1};
    assert_int_equal(inq_fix_base_of_run(t.run->traces[0], t.report, &s.base, &err), INQ_OK);
    assert_int_equal(inq_fix_study(s.base, t.report, &options, &s.fixes, &err), INQ_OK);
    const struct inq_fix *fix = find(&s, graphs);
    int64_t gain_ns = fix != NULL ? fix->gain_ns : -1;
    inq_fixes_free(s.fixes);
    inq_fix_base_free(s.base);
    test_synth_close(&t);
    return gain_ns;
}

/* Pauses of the host in two steps of ten make the mean step three times the usual one: a graph of
 * launches gains no more by that. */
static void bases__pauses_are_not_gained_in_proportion(void **state)
{
    (void)state;
#define HOSTS_LOOP "dp=1,steps=10,seed=5,gz=0,layers=8"
    int64_t without_ns = gain_of_graphs(HOSTS_LOOP);
    int64_t with_ns =
        gain_of_graphs(HOSTS_LOOP ",fault=late_host:rank=0:delay=200ms:mode=pause:every=5");
    assert_in_range(with_ns, without_ns * 8 / 10, without_ns * 12 / 10);
}

/* ---- studies --------------------------------------------------------------------------------- */

static struct inq_out written(const struct studied *s, enum inq_format format)
{
    struct inq_out out = {0};
    struct inq_sink sink = inq_out_sink(&out);
    struct inq_report_options options = {.format = format, .verbose = true};
    assert_int_equal(inq_fix_report(s->fixes, &options, sink, NULL), INQ_OK);
    inq_out_bytes(&out, "", 1);
    return out;
}

static void studies__do_not_depend_on_threads(void **state)
{
    (void)state;
    static const char *const samples[] = {"pipeline_pp4_long_last", "slow_gpu_dp8"};
    for (size_t k = 0; k < sizeof samples / sizeof *samples; k++) {
        char path[TEST_PATH];
        (void)snprintf(path, sizeof path, SAMPLES "/%s", samples[k]);
        struct studied one = study(path, 1);
        struct studied many = study(path, 8);
        for (int f = 0; f < 3; f++) {
            static const enum inq_format formats[] = {INQ_FORMAT_TEXT, INQ_FORMAT_JSON,
                                                      INQ_FORMAT_MARKDOWN};
            struct inq_out a = written(&one, formats[f]);
            struct inq_out b = written(&many, formats[f]);
            assert_string_equal(a.buf, b.buf);
            inq_out_release(&a);
            inq_out_release(&b);
        }
        done(&one);
        done(&many);
    }
}

static void findings__name_fixes_that_can_be_read(void **state)
{
    (void)state;
    static const char *const samples[] = {"slow_gpu_dp8", "late_host_dp4", "healthy_dp4",
                                          "pipeline_pp4_long_last"};
    size_t n = 0;
    for (size_t k = 0; k < sizeof samples / sizeof *samples; k++) {
        char path[TEST_PATH];
        (void)snprintf(path, sizeof path, SAMPLES "/%s", samples[k]);
        struct studied s = study(path, 1);
        for (size_t f = 0; f < s.report->n_findings; f++) {
            for (size_t i = 0; i < s.report->findings[f].n_fixes; i++) {
                assert_int_equal(inq_fix_check(s.report->findings[f].fixes[i], NULL), INQ_OK);
                n++;
            }
        }
        done(&s);
    }
    assert_true(n >= 6);
}

/* ---- executed -------------------------------------------------------------------------------- */

/* The simulator as the engine: what it predicts agrees with itself, which confirms nothing. */
static void validation__by_the_simulator_decides_nothing(void **state)
{
    (void)state;
    struct studied s = study(SAMPLES "/pipeline_pp4_long_last", 1);
    struct inq_err err = {0};
    struct inq_fix_validate_options options = {.engine = inq_engine_find("sim"), .top = 2};
    if (inq_fix_validate(s.base, &options, s.fixes, &err) != INQ_OK) {
        fail_msg("%s", err.message);
    }
    for (size_t i = 0; i < s.fixes->n; i++) {
        enum inq_judgment wanted = i < 2 ? INQ_INCONCLUSIVE : INQ_NOT_EXECUTED;
        assert_int_equal(s.fixes->fixes[i].executed.order.judgment, wanted);
        assert_int_equal(s.fixes->fixes[i].executed.cost.judgment, wanted);
    }
    assert_string_equal(s.fixes->engine, "sim");
    assert_true(fabs(s.fixes->base_error) < 1e-3);
    assert_true(s.fixes->scale > 1.0); /* 74 ms become about 200 */
    struct inq_out text = written(&s, INQ_FORMAT_TEXT);
    assert_non_null(strstr(text.buf, "inconclusive"));
    inq_out_release(&text);
    done(&s);
}

/* An engine that holds two ranks only. */
static int small_run(const struct inq_plan *plan, const struct inq_replay_options *options,
                     struct inq_execution *out, struct inq_err *err)
{
    int32_t most = 0;
    for (size_t l = 0; l < plan->n_lanes; l++) {
        most = plan->lanes[l].rank > most ? plan->lanes[l].rank : most;
    }
    if (most > 1) {
        return inq_err_set(err, INQ_LIMIT, "%d ranks are more than two", (int)most + 1);
    }
    return inq_engine_find("sim")->run(plan, options, out, err);
}

static void validation__lets_the_slowest_stand_for_all(void **state)
{
    (void)state;
    static const struct inq_engine small = {
        .name = "small", .summary = "", .built = true, .executes = true, .run = small_run};
    struct studied s = study(SAMPLES "/slow_gpu_dp8", 1);
    struct inq_fix_validate_options options = {.engine = &small, .top = 1, .scale = 2.0};
    assert_int_equal(inq_fix_validate(s.base, &options, s.fixes, NULL), INQ_OK);
    const struct inq_validation *v = &s.fixes->fixes[0].executed;
    assert_string_equal(s.fixes->fixes[0].spec, "replace-rank:5");
    assert_int_equal(v->order.judgment, INQ_CONFIRMED);
    /* the slow rank is among the two: the gain is nearly that of all eight */
    assert_true(fabs(v->predicted_speedup - s.fixes->fixes[0].speedup) < 0.02);
    assert_non_null(strstr(s.fixes->note, "2 of 8 ranks"));
    done(&s);
}

/* ---- to be drawn ----------------------------------------------------------------------------- */

static int64_t end_of(const struct inq_run *run)
{
    int64_t end_ns = 0;
    for (size_t r = 0; r < run->traces[0]->n_ranks; r++) {
        int64_t last_ns = run->traces[0]->ranks[r].last_ns;
        end_ns = last_ns > end_ns ? last_ns : end_ns;
    }
    return end_ns;
}

/* What is drawn is what is predicted; nothing stands for the tail behind the last op. */
static void steps__are_drawn_as_predicted(void **state)
{
    (void)state;
    struct studied s = study(SAMPLES "/pipeline_pp4_long_last", 1);
    struct inq_err err = {0};
    assert_int_equal(inq_fix_timeline(s.base, 2, s.fixes, &err), INQ_OK);
    assert_non_null(s.fixes->drawn);
    int64_t tail_ns = s.fixes->base.t_ns - end_of(s.fixes->drawn);
    assert_true(tail_ns >= 0);
    for (size_t i = 0; i < 2; i++) {
        const struct inq_fix *fix = &s.fixes->fixes[i];
        assert_non_null(fix->drawn);
        assert_int_equal(end_of(fix->drawn), fix->step_t_ns - tail_ns);
    }
    assert_null(s.fixes->fixes[2].drawn);
    s.fixes->fixes[2].executed.order.judgment = INQ_REFUTED; /* shown wherever it stands */
    assert_int_equal(inq_fix_timeline(s.base, 2, s.fixes, &err), INQ_OK);
    assert_non_null(s.fixes->fixes[2].drawn);
    done(&s);
}

/* Some of a job's ranks: a plan counts them from 0, a reader knows them by their numbers. */
static void steps__keep_the_recorded_numbers_of_ranks(void **state)
{
    (void)state;
    struct studied s = study(SAMPLES "/slow_gpu_dp8/rank-5.pt.trace.json.gz", 1);
    assert_int_equal(inq_fix_timeline(s.base, 1, s.fixes, NULL), INQ_OK);
    assert_int_equal(s.fixes->drawn->traces[0]->n_ranks, 1);
    assert_int_equal(s.fixes->drawn->traces[0]->ranks[0].rank, 5);
    done(&s);
}

/* Refuted stands where confirmed would, in the first line too. */
static void headline__says_what_executing_gave(void **state)
{
    (void)state;
    static const struct {
        enum inq_judgment order, cost;
        size_t times; /* that the fixed step ran */
        const char *said;
    } cases[] = {
        {INQ_NOT_EXECUTED, INQ_NOT_EXECUTED, 0, "Predicted, not executed."},
        {INQ_CONFIRMED, INQ_CONFIRMED, 1, "Executed: order and cost confirmed."},
        {INQ_CONFIRMED, INQ_REFUTED, 1,
         "Executed: order confirmed, cost refuted: it ran 0.900 times as fast."},
        {INQ_INCONCLUSIVE, INQ_REFUTED, 0, "Not executed: it does not fit the device."},
        {INQ_CONFIRMED, INQ_INCONCLUSIVE, 1, "Executed: order confirmed, cost not judged."},
        {INQ_REFUTED, INQ_INCONCLUSIVE, 1, "Executed: the planned order was not kept."},
        {INQ_INCONCLUSIVE, INQ_INCONCLUSIVE, 1, "Executed: nothing was decided."}};
    static const enum inq_format formats[] = {
        INQ_FORMAT_TEXT,
        INQ_FORMAT_MARKDOWN,
        INQ_FORMAT_JSON,
#ifdef INQ_HAVE_HTML
        INQ_FORMAT_HTML,
#endif
    };
    struct studied s = study(SAMPLES "/slow_gpu_dp8", 1);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        s.fixes->fixes[0].executed.order.judgment = cases[k].order;
        s.fixes->fixes[0].executed.cost.judgment = cases[k].cost;
        s.fixes->fixes[0].executed.speedup = 0.9;
        s.fixes->fixes[0].executed.fixed.n = cases[k].times;
        for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
            struct inq_out text = written(&s, formats[f]);
            for (char *c = text.buf; *c != '\0'; c++) {
                *c = *c == '\n' ? ' ' : *c; /* text is wrapped */
            }
            assert_non_null(strstr(text.buf, cases[k].said));
            inq_out_release(&text);
        }
    }
    done(&s);
}

/* Analyses ask for as many as their findings call for: none goes without a price. */
static void predict__has_no_most(void **state)
{
    (void)state;
    enum { ASKED = 258 }; /* past what one study takes */
    char texts[ASKED][40];
    const char *specs[ASKED];
    int64_t gain_ns[ASKED];
    struct studied s = study(SAMPLES "/slow_gpu_dp8", 1);
    for (int i = 0; i < ASKED; i++) {
        (void)snprintf(texts[i], sizeof texts[i], "speed-rank:5:speed=1.%03d", i);
        specs[i] = texts[i];
    }
    assert_int_equal(inq_fix_predict(s.run->traces[0], s.report, specs, ASKED, gain_ns, NULL),
                     INQ_OK);
    for (int i = 0; i < ASKED; i++) {
        assert_true(gain_ns[i] != INQ_TIME_NONE);
    }
    assert_true(gain_ns[ASKED - 1] > gain_ns[1]);
    done(&s);
}

/* The step of a pipeline of one size, divided into more micro-batches: what the fix predicts it to
 * take. */
static double divided_ms(const char *shape, const char *p2p, const char *microbatches)
{
    struct studied s = {0};
    struct inq_err err = {0};
    struct inq_synth_spec spec;
    struct inq_synth *synth = NULL;
    char text[128];
    const char *fixes[] = {microbatches};
    struct inq_fix_options options = {.jobs = 1, .specs = fixes, .n_specs = 1};
    (void)snprintf(text, sizeof text, "%s,steps=6,p2p=%s", shape, p2p);
    if (inq_synth_spec_parse(text, &spec, &err) != INQ_OK ||
        inq_synth_new(&spec, &synth, &err) != INQ_OK ||
        inq_synth_ingest(synth, true, 1, &s.run, &err) != INQ_OK ||
        inq_analyze(s.run->traces[0], NULL, &s.report, &err) != INQ_OK ||
        inq_fix_base_of_run(s.run->traces[0], s.report, &s.base, &err) != INQ_OK ||
        inq_fix_study(s.base, s.report, &options, &s.fixes, &err) != INQ_OK) {
        fail_msg("%s: %s", text, err.message);
    }
    const struct inq_fix *fix = find(&s, fixes[0]);
    double ms = fix != NULL ? (double)fix->t_ns / 1e6 : -1.0;
    assert_true(ms > 0.0);
    done(&s);
    inq_synth_free(synth);
    return ms;
}

/* Whether transfers name their peers or only show as what passes wait, smaller micro-batches send
 * less each, and passes hide it; so do several at once. */
static void microbatches__divide_transfers_that_were_not_recorded(void **state)
{
    (void)state;
    static const char *const shapes[] = {"dp=2,pp=2,layers=2,micro_batches=1",
                                         "dp=1,pp=4,layers=4,micro_batches=4"};
    static const char *const fixes[] = {"microbatches:4", "microbatches:16"};
    static const char *const p2p[] = {"bare", "batched"};
    for (size_t k = 0; k < 2; k++) {
        double named_ms = divided_ms(shapes[k], "args", fixes[k]);
        for (size_t i = 0; i < 2; i++) {
            double ms = divided_ms(shapes[k], p2p[i], fixes[k]);
            print_message("named %.3f ms, %s %.3f ms\n", named_ms, p2p[i], ms);
            /* several at once wait for each other */
            assert_true(fabs(named_ms - ms) <= (i == 0 ? 0.02 : 0.06) * named_ms);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples__have_the_right_fix_first),
        cmocka_unit_test(sample__of_a_long_last_stage_is_rebalanced),
        cmocka_unit_test(samples__that_are_healthy_have_nothing_to_repair),
        cmocka_unit_test(bases__of_samples_are_exact),
        cmocka_unit_test(jobs__have_the_right_fix_first),
        cmocka_unit_test(job__without_its_slow_worker_takes_half),
        cmocka_unit_test(job__without_its_late_host_is_several_times_as_fast),
        cmocka_unit_test(bases__without_what_is_repaired_are_not_drawn),
        cmocka_unit_test(bases__off_the_record_predict_nothing),
        cmocka_unit_test(hosts__that_run_ahead_have_no_time_in_the_step),
        cmocka_unit_test(buckets__are_of_gradients_only),
        cmocka_unit_test(bases__pauses_are_not_gained_in_proportion),
        cmocka_unit_test(studies__do_not_depend_on_threads),
        cmocka_unit_test(findings__name_fixes_that_can_be_read),
        cmocka_unit_test(validation__by_the_simulator_decides_nothing),
        cmocka_unit_test(validation__lets_the_slowest_stand_for_all),
        cmocka_unit_test(steps__are_drawn_as_predicted),
        cmocka_unit_test(steps__keep_the_recorded_numbers_of_ranks),
        cmocka_unit_test(headline__says_what_executing_gave),
        cmocka_unit_test(predict__has_no_most),
        cmocka_unit_test(microbatches__divide_transfers_that_were_not_recorded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
