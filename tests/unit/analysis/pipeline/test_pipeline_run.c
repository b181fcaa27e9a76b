/* SPDX-License-Identifier: Apache-2.0 */
/* Pipelines of recorded runs (synthetic Kineto traces): structure recognized, and planted causes in
 * the right part of the waterfall, within 5 % of what they cost. */
#include "inquest/account.h"
#include "inquest/analysis.h"
#include "inquest/ingest.h"
#include "inquest/synth.h"

#include "support_read.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct made {
    struct inq_synth *synth;
    struct inq_run *run;
    struct inq_report *report;
};

static void make(const char *text, struct made *m)
{
    struct inq_synth_spec spec;
    struct inq_err err = {0};
    const char *only[] = {"pipeline", "whatif"};
    struct inq_analysis_options options = {.only = only, .n_only = 2};
    inq_synth_spec_init(&spec);
    if (inq_synth_spec_parse(text, &spec, &err) != INQ_OK ||
        inq_synth_new(&spec, &m->synth, &err) != INQ_OK ||
        inq_synth_ingest(m->synth, true, 1, &m->run, &err) != INQ_OK ||
        inq_analyze(m->run->traces[0], &options, &m->report, &err) != INQ_OK) {
        fail_msg("%s: %s", text, err.message);
    }
}

static void done(struct made *m)
{
    inq_report_free(m->report);
    inq_run_free(m->run);
    inq_synth_free(m->synth);
}

static int64_t part(const struct inq_pipeline *p, const char *cause)
{
    for (size_t k = 0; k < p->n_waterfall; k++) {
        if (strcmp(p->waterfall[k].cause, cause) == 0) {
            return p->waterfall[k].ns_per_step;
        }
    }
    fail_msg("no part named %s", cause);
    return 0;
}

static void check_sum(const struct inq_pipeline *p)
{
    int64_t sum = 0;
    for (size_t k = 0; k < p->n_waterfall; k++) {
        sum += p->waterfall[k].ns_per_step;
    }
    assert_int_equal(sum, p->total_ns_per_step);
}

static void run__is_recognized_with_and_without_annotations(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *schedule, *source;
        int p, m, v, dp;
    } cases[] = {
        {"pp=4,dp=1,steps=3,labels=1", "1f1b", "annotations", 4, 8, 1, 1},
        {"pp=4,dp=2,steps=3,labels=0", "1f1b", "inferred", 4, 8, 1, 2},
        {"pp=2,dp=2,steps=3,labels=1", "1f1b", "annotations", 2, 4, 1, 2},
        {"pp=2,dp=2,steps=3,labels=0", "1f1b", "inferred", 2, 4, 1, 2},
        {"pp=4,dp=1,chunks=2,steps=3,labels=1", "interleaved-1f1b", "annotations", 4, 8, 2, 1},
        {"pp=4,dp=1,chunks=2,steps=3,labels=0", "interleaved-1f1b", "inferred", 4, 8, 2, 1},
        /* what the last of two stages sends to the first are gradients, too */
        {"pp=2,dp=2,chunks=2,micro_batches=8,steps=3", "interleaved-1f1b", "inferred", 2, 8, 2, 2},
        {"pp=2,dp=1,tp=2,chunks=3,micro_batches=4,steps=3", "interleaved-1f1b", "inferred", 2, 4, 3,
         2},
        /* receives posted early, some of them in the step before */
        {"pp=4,dp=2,steps=3,labels=0,early_recv=1", "1f1b", "inferred", 4, 8, 1, 2},
        {"pp=4,dp=1,steps=3,labels=0,early_recv=2", "1f1b", "inferred", 4, 8, 1, 1},
        {"pp=2,dp=2,steps=3,labels=0,early_recv=1", "1f1b", "inferred", 2, 4, 1, 2},
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        struct made m = {0};
        make(cases[k].spec, &m);
        const struct inq_pipeline *p = m.report->pipeline;
        assert_non_null(p);
        assert_string_equal(p->schedule, cases[k].schedule);
        assert_string_equal(p->source, cases[k].source);
        assert_int_equal(p->stages, cases[k].p);
        assert_int_equal(p->microbatches, cases[k].m);
        assert_int_equal(p->chunks, cases[k].v);
        assert_int_equal(p->replicas, cases[k].dp);
        assert_true(p->confidence > 0.99);
        /* the mean of the ranks, whose steps end within a microsecond */
        assert_true(llabs(part(p, "unexplained")) < 1000);
        assert_true(part(p, "host_gaps") < p->total_ns_per_step / 50); /* none was planted */
        check_sum(p);
        done(&m);
    }
}

/* Where kernels do not say which way a transfer went, receives that were posted in the step before
 * tell: the stages stand in the same order, and wait as long, as with directions. */
static void run__receives_posted_ahead_tell_directions(void **state)
{
    (void)state;
    static const char *const shapes[] = {"pp=2,dp=2,layers=4,micro_batches=1",
                                         "pp=4,dp=1,layers=4,micro_batches=1"};
    for (size_t k = 0; k < sizeof shapes / sizeof shapes[0]; k++) {
        struct made said = {0};
        struct made bare = {0};
        char text[96];
        (void)snprintf(text, sizeof text, "%s,steps=4,early_recv=2,p2p=args", shapes[k]);
        make(text, &said);
        (void)snprintf(text, sizeof text, "%s,steps=4,early_recv=2,p2p=bare", shapes[k]);
        make(text, &bare);
        assert_non_null(said.report->pipeline);
        assert_non_null(bare.report->pipeline);
        print_message("%s: bubbles %.4f, without directions %.4f\n", shapes[k],
                      said.report->pipeline->bubble_ratio, bare.report->pipeline->bubble_ratio);
        assert_true(fabs(said.report->pipeline->bubble_ratio -
                         bare.report->pipeline->bubble_ratio) < 0.001);
        done(&said);
        done(&bare);
    }
}

/* Windows are cut elsewhere on each rank, and hosts run ahead: annotations of launches are recorded
 * of some ranks only (or of single steps), or the transfers of no two steps are alike. */
static void run__is_recognized_where_windows_cut_it(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *source;
        int p, dp;
    } cases[] = {
        {"dp=3,pp=4,layers=8,micro_batches=1,p2p=batched,labels=1,gpus_per_host=4,steps=6,sync=0,"
         "window=ragged,seed=749899",
         "inferred", 4, 3},
        {"tp=2,dp=1,pp=2,layers=4,micro_batches=1,p2p=batched,labels=1,gpus_per_host=2,steps=11,"
         "sync=0,args=old,window=ragged,link_sigma=0.08,seed=195982",
         "inferred", 2, 2},
        {"dp=4,pp=2,layers=2,micro_batches=1,p2p=args,early_recv=2,labels=1,steps=5,args=seq,"
         "clock=1ms,window=ragged,ts=abs,sigma=0.04,seed=546770",
         "annotations", 2, 4},
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        struct made m = {0};
        make(cases[k].spec, &m);
        const struct inq_pipeline *p = m.report->pipeline;
        print_message("%s\n", cases[k].spec);
        assert_non_null(p);
        assert_string_equal(p->source, cases[k].source);
        assert_string_equal(p->schedule, "1f1b");
        assert_int_equal(p->stages, cases[k].p);
        assert_int_equal(p->microbatches, 1);
        assert_int_equal(p->replicas, cases[k].dp);
        done(&m);
    }
}

/* A step has one length, the account's: receives that are posted in the step before, and steps that
 * are not judged, do not count. */
static void run__steps_are_the_accounts(void **state)
{
    (void)state;
    static const char *const specs[] = {
        "dp=4,pp=3,chunks=2,micro_batches=6,layers=6,p2p=bare,early_recv=1,steps=10,"
        "gpus_per_host=4,cpu_ops=0,sync=0,seed=61029",
        "dp=2,tp=2,pp=8,micro_batches=2,layers=8,p2p=bare,early_recv=2,steps=4,gpus_per_host=8,"
        "drift=20,cpu_ops=0,sync=4,seed=62130",
        "dp=4,pp=2,micro_batches=2,layers=2,early_recv=2,p2p_group=world,labels=1,steps=6,"
        "gpus_per_host=4,sync=0,seed=61076,fault=gc:every=6:delay=4ms",
    };
    for (size_t k = 0; k < sizeof specs / sizeof specs[0]; k++) {
        struct made m = {0};
        make(specs[k], &m);
        const struct inq_pipeline *p = m.report->pipeline;
        const struct inq_account *account = m.report->account;
        assert_non_null(p);
        assert_int_equal(p->n_steps, account->steps_judged);
        assert_true(llabs(p->total_ns_per_step - account->t_ns) <= 1); /* rounded each time */
        for (size_t i = 0; i < p->n_per_stage; i++) {
            const struct inq_stage_time *s = &p->per_stage[i];
            int64_t sum = s->compute_ns + s->p2p_ns + s->sync_ns + s->other_ns + s->idle_ns;
            assert_true(llabs(sum - account->t_ns) <= 1);
            assert_true(s->idle_ns >= 0);
        }
        check_sum(p);
        done(&m);
    }
}

/* Of an op table, too: what comes before the first forward pass, of a type of its own, is in both.
 */
static void op_table__steps_begin_with_their_data_loading(void **state)
{
    (void)state;
    char folder[TEST_PATH];
    char path[TEST_PATH + 16];
    char text[2048] = "step,stage,micro_batch,op,duration_ms\n";
    for (int step = 0; step < 3; step++) {
        size_t n = strlen(text);
        (void)snprintf(text + n, sizeof text - n,
                       "%d,0,0,data-loading,5\n%d,0,0,F,10\n%d,0,0,B,20\n"
                       "%d,1,0,F,10\n%d,1,0,B,20\n",
                       step, step, step, step, step);
    }
    test_make_folder(folder);
    (void)snprintf(path, sizeof path, "%s/ops.csv", folder);
    test_write(path, text, strlen(text));
    const char *paths[] = {path};
    const char *only[] = {"pipeline"};
    struct inq_analysis_options options = {.only = only, .n_only = 1};
    struct inq_err err = {0};
    struct made m = {0};
    assert_int_equal(inq_ingest(paths, 1, NULL, &m.run, &err), INQ_OK);
    assert_int_equal(inq_analyze(m.run->traces[0], &options, &m.report, &err), INQ_OK);
    assert_int_equal(m.report->account->t_ns, 65000000);
    assert_int_equal(m.report->pipeline->total_ns_per_step, 65000000);
    assert_int_equal(part(m.report->pipeline, "host_gaps"), 5000000);
    check_sum(m.report->pipeline);
    done(&m);
    test_remove_folder(folder);
}

static void run__without_a_pipeline_has_none(void **state)
{
    (void)state;
    struct made m = {0};
    make("dp=4,steps=3", &m);
    assert_null(m.report->pipeline);
    assert_null(m.report->whatif);
    done(&m);
}

static void waterfall__finds_what_was_planted(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *cause;
    } cases[] = {
        {"pp=4,dp=2,steps=4,labels=1,fault=slow_gpu:rank=3:factor=1.4", "stragglers"},
        {"pp=2,dp=2,steps=4,labels=1,fault=slow_gpu:rank=2:factor=1.6", "stragglers"},
        {"pp=4,dp=2,steps=4,labels=1,fault=uneven_seq:sigma=0.4", "microbatch_variation"},
        {"pp=4,dp=1,steps=4,labels=0,fault=uneven_seq:sigma=0.3", "microbatch_variation"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        struct made m = {0};
        make(cases[k].spec, &m);
        assert_non_null(m.report->pipeline);
        int64_t cost = inq_synth_truth(m.synth)->faults[0].cost_ns_per_step;
        int64_t found = part(m.report->pipeline, cases[k].cause);
        print_message("%s: planted %.3f ms, %s %.3f ms\n", cases[k].spec, (double)cost / 1e6,
                      cases[k].cause, (double)found / 1e6);
        assert_true(llabs(found - cost) * 20 <= cost);
        check_sum(m.report->pipeline);
        done(&m);
    }
}

/* What a repair gains is one number: the finding's and the waterfall's. They differ by what the
 * waterfall took away before. A stage whose workers all are slow has none to be compared with. */
static void waterfall__loses_to_a_cause_what_its_finding_says(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *part;
        enum inq_finding_kind kind;
    } cases[] = {
        {"pp=4,dp=2,steps=4,labels=1,fault=long_last_stage:factor=1.5", "stage_imbalance",
         INQ_FINDING_SLOW_LAST_STAGE},
        {"pp=4,dp=2,steps=4,labels=0,fault=long_last_stage:factor=1.3", "stage_imbalance",
         INQ_FINDING_SLOW_LAST_STAGE},
        {"pp=4,dp=1,layers=8,steps=5,labels=1,fault=long_last_stage:factor=1.2", "stage_imbalance",
         INQ_FINDING_SLOW_LAST_STAGE},
        {"pp=4,dp=1,layers=8,steps=5,fault=slow_gpu:rank=1:factor=1.2", "stragglers",
         INQ_FINDING_SLOW_GPU},
        {"pp=2,dp=4,layers=8,steps=5,fault=slow_gpu:rank=0:last=3:factor=1.2", "stragglers",
         INQ_FINDING_SLOW_GPU},
        {"pp=4,dp=2,layers=8,steps=5,fault=more_work:rank=2:factor=1.3", "stragglers",
         INQ_FINDING_MORE_WORK},
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        struct made m = {0};
        struct inq_err err = {0};
        struct inq_report *whole = NULL;
        make(cases[k].spec, &m);
        assert_int_equal(inq_analyze(m.run->traces[0], NULL, &whole, &err), INQ_OK);
        assert_true(whole->n_findings > 0);
        assert_int_equal(whole->findings[0].kind, cases[k].kind);
        int64_t told_ns = whole->findings[0].cost_ns_per_step;
        int64_t found_ns = part(whole->pipeline, cases[k].part);
        print_message("%s: finding %.3f ms, waterfall %.3f ms\n", cases[k].spec,
                      (double)told_ns / 1e6, (double)found_ns / 1e6);
        assert_true(llabs(found_ns - told_ns) * 100 <= whole->pipeline->total_ns_per_step);
        /* and the same when only the pipeline was asked for */
        assert_int_equal(part(m.report->pipeline, cases[k].part), found_ns);
        check_sum(whole->pipeline);
        inq_report_free(whole);
        done(&m);
    }
}

static void whatif__names_the_cause_of_a_run(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *cause;
    } cases[] = {
        {"pp=4,dp=2,steps=4,labels=1,fault=long_last_stage:factor=1.5", "last_stage"},
        {"pp=4,dp=2,steps=4,labels=1,fault=slow_gpu:rank=3:factor=1.4", "worker"},
        {"pp=4,dp=2,steps=4,labels=1,fault=uneven_seq:sigma=0.4", "sequence_imbalance"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        struct made m = {0};
        make(cases[k].spec, &m);
        assert_non_null(m.report->whatif);
        assert_true(m.report->whatif->n_causes > 0);
        assert_string_equal(m.report->whatif->causes[0].kind, cases[k].cause);
        assert_true(m.report->whatif->causes[0].fits);
        done(&m);
    }
}

/* Hosts that run far ahead launched all of a short capture before it: whom the stages exchanged
 * with, and their kernels, tell their passes as launches do. */
static void run__is_recognized_without_launches(void **state)
{
    (void)state;
    static const char *const specs[] = {
        "pp=4,dp=2,layers=4,steps=4,micro_batches=1",
        "pp=2,dp=2,layers=2,steps=4,micro_batches=1,p2p=bare",
        "pp=2,dp=2,layers=4,steps=4,p2p=fused",
        "pp=4,dp=2,layers=8,steps=4,p2p=batched",
        "pp=4,dp=2,tp=2,layers=8,steps=6,p2p=args",
        "pp=4,dp=1,layers=8,steps=4,p2p=fused,micro_batches=16",
    };
    for (size_t k = 0; k < sizeof specs / sizeof specs[0]; k++) {
        struct made m = {0};
        struct inq_err err = {0};
        struct inq_report *blind = NULL;
        const char *only[] = {"pipeline"};
        struct inq_analysis_options options = {.only = only, .n_only = 1};
        make(specs[k], &m);
        struct inq_trace *trace = m.run->traces[0];
        for (size_t r = 0; r < trace->n_ranks; r++) {
            for (size_t i = 0; i < trace->ranks[r].events.n; i++) {
                trace->ranks[r].events.call[i] = INQ_NONE;
            }
            trace->ranks[r].calls.n = 0;
        }
        assert_int_equal(inq_analyze(trace, &options, &blind, &err), INQ_OK);
        assert_non_null(m.report->pipeline);
        assert_non_null(blind->pipeline);
        print_message("%s: bubbles %.4f, without launches %.4f\n", specs[k],
                      m.report->pipeline->bubble_ratio, blind->pipeline->bubble_ratio);
        assert_string_equal(blind->pipeline->schedule, "1f1b");
        assert_int_equal(blind->pipeline->microbatches, m.report->pipeline->microbatches);
        assert_true(fabs(blind->pipeline->bubble_ratio - m.report->pipeline->bubble_ratio) < 0.001);
        inq_report_free(blind);
        done(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(run__is_recognized_with_and_without_annotations),
        cmocka_unit_test(run__is_recognized_without_launches),
        cmocka_unit_test(run__receives_posted_ahead_tell_directions),
        cmocka_unit_test(run__is_recognized_where_windows_cut_it),
        cmocka_unit_test(run__steps_are_the_accounts),
        cmocka_unit_test(op_table__steps_begin_with_their_data_loading),
        cmocka_unit_test(run__without_a_pipeline_has_none),
        cmocka_unit_test(waterfall__finds_what_was_planted),
        cmocka_unit_test(waterfall__loses_to_a_cause_what_its_finding_says),
        cmocka_unit_test(whatif__names_the_cause_of_a_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
