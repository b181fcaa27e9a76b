/* SPDX-License-Identifier: Apache-2.0 */
/* What reports once got wrong about runs of these shapes, on generated runs. */
#include "inquest/account.h"
#include "inquest/analysis.h"
#include "inquest/synth.h"

#include "support_synth.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static size_t count(const struct inq_report *report, enum inq_finding_kind kind)
{
    size_t n = 0;
    for (size_t i = 0; i < report->n_findings; i++) {
        n += report->findings[i].kind == kind;
    }
    return n;
}

static size_t asking(const struct inq_report *report)
{
    size_t n = 0;
    for (size_t i = 0; i < report->n_findings; i++) {
        n += report->findings[i].severity >= INQ_SEVERITY_LOW;
    }
    return n;
}

/* The step of the account is the run's, to 2 %. */
static void assert_step(const struct test_synth *t)
{
    int64_t truth_ns = inq_synth_truth(t->synth)->mean_step_ns;
    assert_non_null(t->report->account);
    assert_in_range(t->report->account->t_ns, truth_ns * 98 / 100, truth_ns * 102 / 100);
}

static void assert_cost(const struct test_synth *t, int64_t percent)
{
    int64_t truth_ns = inq_synth_truth(t->synth)->faults[0].cost_ns_per_step;
    assert_in_range(t->report->findings[0].cost_ns_per_step, truth_ns * (100 - percent) / 100,
                    truth_ns * (100 + percent) / 100);
}

/* A low clock with equal grids is a slow GPU, not extra compute: memory-bound kernels are spared by
 * both, and only the grids tell. */
static void low_clock__with_equal_grids_is_no_more_work(void **state)
{
    (void)state;
    struct test_synth t = test_synth_open(
        "dp=8,layers=4,steps=6,shapes=1,gz=0,fault=low_clock:rank=3:factor=1.3", NULL);
    assert_int_equal(t.report->findings[0].kind, INQ_FINDING_SLOW_GPU);
    assert_int_equal(t.report->findings[0].ranks[0], 3);
    assert_int_equal(count(t.report, INQ_FINDING_MORE_WORK), 0);
    test_synth_close(&t);
}

/* Receives posted in the step before do not begin a step, and ask for nothing. */
static void early_receives__do_not_make_steps_longer(void **state)
{
    (void)state;
    struct test_synth t =
        test_synth_open("dp=2,pp=4,layers=8,early_recv=2,steps=8,gz=0,cpu_ops=0", NULL);
    assert_step(&t);
    assert_int_equal(count(t.report, INQ_FINDING_SLOW_GPU), 0);
    assert_int_equal(count(t.report, INQ_FINDING_LATE_HOST), 0);
    assert_int_equal(count(t.report, INQ_FINDING_SLOW_LINK), 0);
    assert_int_equal(count(t.report, INQ_FINDING_STEP_OUTLIER), 0);
    test_synth_close(&t);
}

/* A receive that was posted before a capture began is not in it: the time in which it waits is no
 * idle time, and its host is not late. */
static void early_receives__before_the_capture_make_no_late_hosts(void **state)
{
    (void)state;
    static const char *const specs[] = {
        "dp=8,pp=2,steps=5,gz=0,seed=52000,layers=2,micro_batches=4,early_recv=2,gpus_per_host=8,"
        "clock=20ms,drift=5,labels=1,window=ragged",
        "dp=4,pp=8,micro_batches=1,layers=8,early_recv=2,steps=8,gpus_per_host=8,window=ragged,"
        "cpu_ops=0,seed=62147,gz=0",
        "dp=3,tp=2,pp=8,micro_batches=24,layers=8,early_recv=1,p2p_group=world,labels=1,steps=6,"
        "gpus_per_host=8,clock=1ms,window=ragged,sync=4,seed=63034,gz=0",
    };
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        struct test_synth t = test_synth_open(specs[i], NULL);
        assert_int_equal(count(t.report, INQ_FINDING_LATE_HOST), 0);
        test_synth_close(&t);
    }
}

/* They belong to sends of the next step, and wait until then: it is no transfer. */
static void early_receives__wait_for_their_sends(void **state)
{
    (void)state;
    struct test_synth in_time = test_synth_open("dp=2,pp=4,layers=8,steps=8,gz=0,cpu_ops=0", NULL);
    struct test_synth early =
        test_synth_open("dp=2,pp=4,layers=8,early_recv=2,steps=8,gz=0,cpu_ops=0", NULL);
    const struct inq_account *a = in_time.report->account;
    const struct inq_account *b = early.report->account;
    static const enum inq_account_class classes[] = {INQ_ACCOUNT_TRANSFER, INQ_ACCOUNT_WAIT};
    assert_int_equal(early.run->traces[0]->unmatched_comms, 0);
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) { /* the step is 1 ms shorter */
        assert_in_range(b->class_ns[classes[i]], a->class_ns[classes[i]] - a->t_ns / 50,
                        a->class_ns[classes[i]] + a->t_ns / 50);
    }
    test_synth_close(&in_time);
    test_synth_close(&early);
}

/* isend and irecv in batches are matched, so that what a slow rank costs is seen. */
static void batched_transfers__are_matched(void **state)
{
    (void)state;
    struct test_synth t = test_synth_open("dp=2,pp=4,layers=8,p2p=batched,steps=6,gz=0,"
                                          "fault=slow_gpu:rank=3:factor=1.3",
                                          NULL);
    assert_int_equal(t.run->traces[0]->unmatched_comms, 0);
    assert_string_equal(t.report->account->gains_problem, "");
    assert_int_equal(t.report->findings[0].kind, INQ_FINDING_SLOW_GPU);
    assert_int_equal(t.report->findings[0].ranks[0], 3);
    assert_cost(&t, 10);
    test_synth_close(&t);
}

/* Stages are places in the pipeline, also where its transfers use the default group. */
static void stages__are_no_ranks_of_the_default_group(void **state)
{
    (void)state;
    struct test_synth t =
        test_synth_open("dp=2,pp=4,layers=8,p2p_group=world,steps=6,gz=0,cpu_ops=0,"
                        "fault=long_last_stage:factor=1.4",
                        NULL);
    for (size_t i = 0; i < t.report->n_findings; i++) {
        for (size_t k = 0; k < t.report->findings[i].n_stages; k++) {
            assert_in_range(t.report->findings[i].stages[k], 0, 3);
        }
    }
    assert_non_null(t.report->pipeline);
    test_synth_close(&t);
}

/* Without the host's operators nothing says who sends to whom; the ends do. */
static void batched_transfers__are_paired_by_their_ends(void **state)
{
    (void)state;
    struct test_synth t = test_synth_open(
        "dp=2,pp=4,layers=8,p2p=batched,steps=8,gz=0,cpu_ops=0,fault=slow_gpu:rank=2", NULL);
    assert_int_equal(t.report->findings[0].kind, INQ_FINDING_SLOW_GPU);
    assert_int_equal(t.report->findings[0].confidence, INQ_CONFIDENCE_ESTABLISHED);
    assert_cost(&t, 10);
    test_synth_close(&t);
}

/* Kernels that only say "coalesced" and are paired by their ends are sends and receives: they were
 * taken for collectives of all ranks that lack all but two, so that nothing could be simulated, no
 * rank had a stage, and the first stage's data loading made late hosts. */
static void bare_transfers__are_no_collectives_of_all(void **state)
{
    (void)state;
    struct test_synth t =
        test_synth_open("dp=2,pp=4,micro_batches=2,layers=4,p2p=bare,early_recv=2,"
                        "p2p_group=world,steps=8,gpus_per_host=8,seed=63009,gz=0",
                        NULL);
    const struct inq_trace *trace = t.run->traces[0];
    for (size_t i = 0; i < trace->n_collectives; i++) {
        assert_int_not_equal(trace->collectives[i].kind, INQ_COLL_COALESCED);
    }
    assert_string_equal(t.report->account->gains_problem, "");
    assert_non_null(t.report->pipeline);
    assert_int_equal(count(t.report, INQ_FINDING_LATE_HOST), 0);
    test_synth_close(&t);
}

/* Neighbors of one stage end their transfers together, each with another rank: they are no pair.
 * Their ends made a slow link of 66 % of the step, and no pipeline was seen. */
static void bare_transfers__neighbors_are_no_partners(void **state)
{
    (void)state;
    struct test_synth cut = test_synth_open("dp=1,tp=2,pp=4,micro_batches=1,layers=4,p2p=fused,"
                                            "steps=8,gpus_per_host=8,drift=50,window=ragged,"
                                            "seed=71133,gz=0",
                                            NULL);
    assert_int_equal(count(cut.report, INQ_FINDING_SLOW_LINK), 0);
    test_synth_close(&cut);
    struct test_synth wide = test_synth_open("dp=4,tp=4,pp=2,micro_batches=4,layers=2,p2p=fused,"
                                             "p2p_group=world,labels=1,steps=8,gpus_per_host=4,"
                                             "window=ragged,seed=61095,gz=0",
                                             NULL);
    assert_non_null(wide.report->pipeline);
    assert_int_equal(wide.report->pipeline->stages, 2);
    test_synth_close(&wide);
}

/* Records without groups, whose operations cannot all be told apart: what is matched wrongly made
 * clocks that were set in every step, steps of twice their length, and pauses of hosts. */
static void unknown_groups__do_not_bend_clocks(void **state)
{
    (void)state;
    static const char *const specs[] = {
        "dp=3,pp=4,micro_batches=12,layers=4,p2p=bare,steps=8,gpus_per_host=8,args=old,clock=1ms,"
        "seed=61050,gz=0",
        "dp=2,pp=8,micro_batches=2,layers=8,p2p=fused,steps=10,gpus_per_host=8,args=old,"
        "window=ragged,cpu_ops=0,sync=0,seed=62134,gz=0",
        "dp=2,pp=4,micro_batches=1,layers=4,p2p=fused,steps=4,gpus_per_host=2,args=old,clock=20ms,"
        "sync=0,seed=62141,gz=0",
    };
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        struct test_synth t = test_synth_open(specs[i], NULL);
        assert_step(&t);
        for (size_t f = 0; f < t.report->n_findings; f++) { /* none that accuses somebody */
            assert_int_equal(t.report->findings[f].n_ranks, 0);
        }
        test_synth_close(&t);
    }
}

/* A stage boundary that crosses hosts is no slow link. */
static void hosts__that_a_pipeline_crosses_are_no_slow_link(void **state)
{
    (void)state;
    struct test_synth t =
        test_synth_open("dp=2,pp=4,layers=8,gpus_per_host=4,steps=6,gz=0,cpu_ops=0", NULL);
    assert_int_equal(count(t.report, INQ_FINDING_SLOW_LINK), 0);
    test_synth_close(&t);
}

/* NVLink inside a host, a network 3.6 times as slow between hosts: the links that cross are alike,
 * and only one that is slower than its like is slow. */
static void links__between_hosts_are_compared_with_their_like(void **state)
{
    (void)state;
    static const char *const specs[] = {
        "dp=2,pp=4,layers=8,gpus_per_host=4,names=handler,steps=6,gz=0,cpu_ops=0,"
        "fault=slow_link:host=1:links=pp:factor=3.6",
        "dp=2,pp=4,layers=8,gpus_per_host=4,names=handler,steps=6,gz=0,cpu_ops=0,"
        "fault=slow_link:host=1:links=pp:factor=3.6,fault=slow_link:rank=2:peer=4:links=pp:factor="
        "8"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        struct test_synth t = test_synth_open(specs[i], NULL);
        assert_int_equal(count(t.report, INQ_FINDING_SLOW_LINK), i);
        test_synth_close(&t);
    }
}

/* Ranks 0 and 3 share a host, the other two stages' links cross: the only link inside a host is
 * compared with those, which it should not be slower than. */
static void links__alone_inside_a_host_are_compared_with_those_that_cross(void **state)
{
    (void)state;
    static const char *const specs[] = {
        "dp=3,pp=2,micro_batches=4,layers=2,gpus_per_host=4,steps=6,gz=0,cpu_ops=0,"
        "fault=slow_link:host=1:links=pp:factor=4",
        "dp=3,pp=2,micro_batches=4,layers=2,gpus_per_host=4,steps=6,gz=0,cpu_ops=0,"
        "fault=slow_link:links=pp:rank=3:factor=4"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        struct test_synth t = test_synth_open(specs[i], NULL);
        assert_int_equal(count(t.report, INQ_FINDING_SLOW_LINK), i);
        test_synth_close(&t);
    }
}

/* Hosts run ahead where the loss is read every fourth step only. */
static void steps__are_as_long_as_the_work_where_hosts_run_ahead(void **state)
{
    (void)state;
    struct test_synth t = test_synth_open("dp=8,layers=4,sync=4,steps=12,gz=0,cpu_ops=0", NULL);
    assert_step(&t);
    assert_int_equal(asking(t.report), 0);
    test_synth_close(&t);
}

/* A step begins where the one before it ended, and the critical path of a step with it: marks are
 * set by hosts that are up to four steps ahead. */
static void steps__begin_with_the_work_where_hosts_run_ahead(void **state)
{
    (void)state;
    struct test_synth t =
        test_synth_open("dp=4,layers=4,steps=8,sync=0,gz=0,fault=slow_gpu:rank=2", NULL);
    const struct inq_report *report = t.report;
    for (size_t s = 2; s < t.run->traces[0]->n_steps; s++) {
        int64_t end_ns = report->step_start_ns[s - 1] + report->step_ns[s - 1];
        assert_in_range(report->step_start_ns[s], end_ns - report->step_ns[s] / 50,
                        end_ns + report->step_ns[s] / 50);
    }
    assert_non_null(report->critical_path);
    assert_in_range(report->critical_path->length_ns, report->step_ns_median * 98 / 100,
                    report->step_ns_median * 102 / 100);
    test_synth_close(&t);
}

/* Hosts that never wait run ahead until the launch queue is full, and are the GPU's from there on:
 * a slow link was repaired in the first steps only, and costed half of what it did. */
static void hosts__that_a_full_queue_stops_go_with_their_gpu(void **state)
{
    (void)state;
    struct test_synth t =
        test_synth_open("dp=1,pp=4,layers=8,steps=12,sync=0,gz=0,cpu_ops=0,seed=3,"
                        "fault=slow_link:links=pp:rank=2:factor=10",
                        NULL);
    assert_int_equal(t.report->findings[0].kind, INQ_FINDING_SLOW_LINK);
    assert_cost(&t, 2);
    test_synth_close(&t);
}

/* A GPU with work to do ends some of it before any call: its host did not wait for that, and what
 * half the job costs is simulated. */
static void hosts__that_run_ahead_do_not_wait_for_what_ends(void **state)
{
    (void)state;
    struct test_synth t = test_synth_open(
        "dp=4,pp=2,micro_batches=6,layers=4,p2p=fused,steps=8,sync=0,gz=0,cpu_ops=0,seed=588690,"
        "fault=slow_gpu:rank=0:last=7:stride=2:factor=1.15,"
        "fault=late_host:mode=pause:rank=4:delay=16ms",
        NULL);
    assert_int_equal(t.report->findings[0].kind, INQ_FINDING_SLOW_GPU);
    assert_int_equal(t.report->findings[0].n_ranks, 4);
    assert_string_equal(t.report->account->gains_problem, "");
    assert_cost(&t, 5);
    test_synth_close(&t);
}

/* Nothing that is priced is established while ranks are absent or nothing can be simulated, in the
 * account no more than in the findings; and what could not be simulated has no gain. */
static void absent_ranks__leave_nothing_established(void **state)
{
    (void)state;
    static const char *const specs[] = {
        "dp=8,layers=4,steps=8,gz=0,cpu_ops=0,fault=slow_gpu:rank=4,fault=missing_rank:rank=0:"
        "last=1",
        "dp=2,pp=4,layers=8,p2p=batched,steps=8,gz=0,cpu_ops=0,fault=slow_gpu:rank=2,"
        "fault=missing_rank:rank=0:last=0"};
    for (size_t s = 0; s < sizeof specs / sizeof *specs; s++) {
        struct test_synth t = test_synth_open(specs[s], NULL);
        const struct inq_account *a = t.report->account;
        assert_int_equal(t.report->findings[0].kind, INQ_FINDING_SLOW_GPU);
        assert_int_equal(t.report->findings[0].confidence, INQ_CONFIDENCE_SUPPORTED);
        assert_true(a->n_causes > 0);
        for (size_t i = 0; i < a->n_causes; i++) {
            if (a->causes[i].kind == INQ_FINDING_PIPELINE_BUBBLE) {
                continue; /* a schedule is what it is */
            }
            assert_int_not_equal(a->causes[i].confidence, INQ_CONFIDENCE_ESTABLISHED);
            assert_int_equal(a->causes[i].gain_alone_ns >= 0, a->gains_problem[0] == '\0');
        }
        bool up_to = strstr(t.report->findings[0].title, ": up to ") != NULL;
        assert_int_equal(up_to, a->gains_problem[0] != '\0');
        test_synth_close(&t);
    }
}

/* How long the others waited for a slow rank without a trace is bounded by what they communicate.
 */
static void absent_ranks__may_have_been_waited_for(void **state)
{
    (void)state;
    struct test_synth t =
        test_synth_open("dp=4,pp=2,micro_batches=4,layers=2,steps=7,calls=0,gz=0,seed=369970,"
                        "fault=slow_gpu:rank=0,fault=missing_rank:rank=0:last=0",
                        NULL);
    assert_int_equal(t.report->findings[0].kind, INQ_FINDING_MISSING_RANK);
    assert_non_null(strstr(t.report->findings[0].detail, "Up to "));
    assert_in_range(t.report->account->class_ns[INQ_ACCOUNT_COMM],
                    inq_synth_truth(t.synth)->faults[0].cost_ns_per_step, INT64_MAX);
    test_synth_close(&t);
}

/* One fault that comes and goes is one finding, with all that it costs. */
static void faults_now_and_then__are_told_once(void **state)
{
    (void)state;
    struct test_synth t = test_synth_open(
        "dp=8,layers=4,steps=10,gz=0,cpu_ops=0,fault=slow_gpu:rank=5:every=5:from=2:factor=1.5",
        NULL);
    assert_int_equal(t.report->findings[0].kind, INQ_FINDING_SLOW_GPU);
    assert_int_equal(count(t.report, INQ_FINDING_STEP_OUTLIER), 0);
    assert_cost(&t, 10);
    test_synth_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(low_clock__with_equal_grids_is_no_more_work),
        cmocka_unit_test(early_receives__do_not_make_steps_longer),
        cmocka_unit_test(early_receives__wait_for_their_sends),
        cmocka_unit_test(batched_transfers__are_matched),
        cmocka_unit_test(batched_transfers__are_paired_by_their_ends),
        cmocka_unit_test(early_receives__before_the_capture_make_no_late_hosts),
        cmocka_unit_test(bare_transfers__are_no_collectives_of_all),
        cmocka_unit_test(bare_transfers__neighbors_are_no_partners),
        cmocka_unit_test(unknown_groups__do_not_bend_clocks),
        cmocka_unit_test(stages__are_no_ranks_of_the_default_group),
        cmocka_unit_test(hosts__that_a_pipeline_crosses_are_no_slow_link),
        cmocka_unit_test(links__between_hosts_are_compared_with_their_like),
        cmocka_unit_test(links__alone_inside_a_host_are_compared_with_those_that_cross),
        cmocka_unit_test(steps__are_as_long_as_the_work_where_hosts_run_ahead),
        cmocka_unit_test(steps__begin_with_the_work_where_hosts_run_ahead),
        cmocka_unit_test(hosts__that_a_full_queue_stops_go_with_their_gpu),
        cmocka_unit_test(hosts__that_run_ahead_do_not_wait_for_what_ends),
        cmocka_unit_test(absent_ranks__leave_nothing_established),
        cmocka_unit_test(absent_ranks__may_have_been_waited_for),
        cmocka_unit_test(faults_now_and_then__are_told_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
