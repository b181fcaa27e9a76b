/* SPDX-License-Identifier: Apache-2.0 */
/* Stragglers that hide each other, that come and go, and what they cost: the same runs without the
 * fault say what is true. */
#include "inquest/account.h"
#include "inquest/analysis.h"
#include "inquest/fix.h"
#include "inquest/synth.h"

#include "base/mem.h"

#include "support_synth.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct inq_analysis_options repaired = {.predict = inq_fix_predict};

/* Adds slow GPUs of ranks from .. to to a spec. */
static void slow(char *spec, size_t size, int from, int to, double factor)
{
    for (int rank = from; rank <= to; rank++) {
        size_t n = strlen(spec);
        (void)snprintf(spec + n, size - n, ",fault=slow_gpu:rank=%d:factor=%.2f", rank, factor);
    }
}

/* What all faults together cost a step, by the same run without them; the first step apart. */
static double true_share(const struct test_synth *t)
{
    const struct inq_synth_truth *truth = inq_synth_truth(t->synth);
    double with = 0.0;
    double without = 0.0;

    for (size_t s = 1; s < truth->n_steps; s++) {
        with += (double)truth->step_ns[s];
        without += (double)truth->step_ns_healthy[s];
    }
    return (with - without) / with;
}

/* The first finding names exactly ranks from .. to, and costs what is true within a point. */
static double expect_ranks(const struct test_synth *t, int from, int to)
{
    const struct inq_finding *first = &t->report->findings[0];

    assert_true(t->report->n_findings > 0);
    assert_string_equal(inq_finding_kind_text(first->kind), "slow_gpu");
    assert_int_equal(first->n_ranks, to - from + 1);
    assert_int_equal(first->ranks[0], from);
    assert_int_equal(first->ranks[first->n_ranks - 1], to);
    double off = first->share - true_share(t);
    assert_true(off < 0.01 && off > -0.01);
    return first->share;
}

static void alike__a_slow_host_is_one_finding_and_costs_more_the_slower_it_is(void **state)
{
    (void)state;
    static const double factors[] = {1.12, 1.15, 1.30};
    double before = 0.0;

    for (size_t i = 0; i < 3; i++) {
        char spec[1024] = "dp=32,gpus_per_host=8,layers=4,steps=6,seed=3,gz=0,cpu_ops=0,lean=1";
        slow(spec, sizeof(spec), 8, 15, factors[i]);
        struct test_synth t = test_synth_open(spec, &repaired);
        double share = expect_ranks(&t, 8, 15);
        assert_true(share > before);
        before = share;
        test_synth_close(&t);
    }
}

/* Adds slow GPUs of ranks from .. to, in steps first .. last only. */
static void slow_in(char *spec, size_t size, int from, int to, int first, int last)
{
    for (int rank = from; rank <= to; rank++) {
        size_t n = strlen(spec);
        (void)snprintf(spec + n, size - n, ",fault=slow_gpu:rank=%d:factor=1.3:from=%d:to=%d", rank,
                       first, last);
    }
}

static const char in_turn_spec[] = "dp=8,gpus_per_host=4,layers=4,steps=12,seed=1,gz=0,cpu_ops=0";

/* The first cause names the GPUs of the second host; returns in how many turns they are slow. */
static size_t expect_host(const struct test_synth *t, enum inq_confidence confidence)
{
    const struct inq_candidate *first = &t->report->attribution->candidates[0];

    (void)expect_ranks(t, 4, 7);
    assert_string_equal(first->host, "node-01");
    assert_int_equal(first->confidence, confidence);
    assert_true((strstr(t->report->findings[0].title, "in turn") != NULL) == (first->n_turns > 0));
    return first->n_turns;
}

/* Each step has one slow GPU, in each part of the run another one of the host. */
static void turns__of_a_hosts_gpus_are_named_and_not_established(void **state)
{
    (void)state;
    char spec[1024];
    (void)snprintf(spec, sizeof(spec), "%s", in_turn_spec);
    for (int k = 0; k < 4; k++) {
        slow_in(spec, sizeof(spec), 4 + k, 4 + k, 3 * k, 3 * k + 2);
    }
    struct test_synth t = test_synth_open(spec, &repaired);
    assert_int_equal(expect_host(&t, INQ_CONFIDENCE_SUPPORTED), 4);
    const struct inq_candidate *first = &t.report->attribution->candidates[0];
    int64_t step = first->turns[0].first_step;
    for (int k = 0; k < 4; k++, step += 3) {
        assert_int_equal(first->turns[k].rank, 4 + k);
        assert_int_equal(first->turns[k].first_step, step);
        assert_int_equal(first->turns[k].last_step, step + 2);
    }
    assert_true(first->ratio > 1.28 && first->ratio < 1.32);
    assert_non_null(strstr(t.report->findings[0].detail, ", rank 5 in steps "));
    test_synth_close(&t);
}

/* Another GPU in each step: as many turns as steps. */
static void turns__of_one_step_each(void **state)
{
    (void)state;
    char spec[2048];
    (void)snprintf(spec, sizeof(spec), "%s", in_turn_spec);
    for (int s = 0; s < 12; s++) {
        slow_in(spec, sizeof(spec), 4 + s % 4, 4 + s % 4, s, s);
    }
    struct test_synth t = test_synth_open(spec, &repaired);
    assert_int_equal(expect_host(&t, INQ_CONFIDENCE_SUPPORTED), 12);
    assert_non_null(strstr(t.report->findings[0].detail, "and 4 more turns"));
    test_synth_close(&t);
}

/* Two of four at a time are in turn, three of four are slow together. */
static void turns__end_where_more_than_half_are_slow(void **state)
{
    (void)state;
    for (int at_once = 2; at_once <= 3; at_once++) {
        char spec[2048] = "dp=16,gpus_per_host=4,layers=4,steps=12,seed=1,gz=0,cpu_ops=0";
        for (int part = 0; part < 6; part++) {
            for (int k = 0; k < at_once; k++) {
                int rank = 4 + (part + k) % 4;
                slow_in(spec, sizeof(spec), rank, rank, 2 * part, 2 * part + 1);
            }
        }
        struct test_synth t = test_synth_open(spec, &repaired);
        size_t n =
            expect_host(&t, at_once == 2 ? INQ_CONFIDENCE_SUPPORTED : INQ_CONFIDENCE_ESTABLISHED);
        assert_true((n > 0) == (at_once == 2));
        test_synth_close(&t);
    }
}

/* All of a host's GPUs in every step, or in the same few: that is the host. */
static void turns__are_not_where_gpus_are_slow_together(void **state)
{
    (void)state;
    for (int some = 0; some < 2; some++) {
        char spec[1024];
        (void)snprintf(spec, sizeof(spec), "%s", in_turn_spec);
        slow_in(spec, sizeof(spec), 4, 7, some ? 6 : 0, some ? 8 : 11);
        struct test_synth t = test_synth_open(spec, &repaired);
        assert_int_equal(expect_host(&t, INQ_CONFIDENCE_ESTABLISHED), 0);
        test_synth_close(&t);
    }
}

/* In the group of all ranks the place of a rank is no stage: there would be no peers. */
static void alike__a_slow_replica_is_found_where_sends_run_in_the_group_of_all(void **state)
{
    (void)state;
    struct test_synth t =
        test_synth_open("dp=2,pp=4,layers=8,p2p_group=world,steps=6,seed=7,gz=0,cpu_ops=0,"
                        "fault=slow_gpu:rank=0:last=7:stride=2:factor=1.2",
                        &repaired);
    const struct inq_finding *first = &t.report->findings[0];

    assert_true(t.report->n_findings > 0);
    assert_int_equal(first->kind, INQ_FINDING_SLOW_GPU);
    assert_int_equal(first->n_ranks, 4);
    for (size_t i = 0; i < first->n_ranks; i++) {
        assert_int_equal(first->ranks[i], 2 * (int)i);
    }
    double off = first->share - true_share(&t);
    assert_true(off < 0.01 && off > -0.01);
    test_synth_close(&t);
}

/* The median rank is a slow one; the kernels of the others tell. */
static void alike__most_gpus_are_slow(void **state)
{
    (void)state;
    double before = 0.0;
    for (int last = 4; last <= 5; last++) {
        char spec[1024] = "dp=8,layers=4,steps=7,seed=9,gz=0,cpu_ops=0";
        slow(spec, sizeof(spec), 0, last, 1.2);
        struct test_synth t = test_synth_open(spec, &repaired);
        double share = expect_ranks(&t, 0, last);
        assert_true(share >= before - 0.005);
        before = share;
        test_synth_close(&t);
    }
}

/* Two of eight with less to do do not make the others have more than is usual. */
static void alike__what_most_have_to_do_is_usual(void **state)
{
    (void)state;
    struct test_synth t = test_synth_open("dp=8,layers=4,steps=7,seed=9,gz=0,cpu_ops=0,"
                                          "fault=more_work:mode=size:rank=0:last=5:factor=1.2",
                                          &repaired);
    for (size_t i = 0; i < t.report->n_findings; i++) {
        assert_int_not_equal(t.report->findings[i].kind, INQ_FINDING_SLOW_GPU);
        assert_int_not_equal(t.report->findings[i].kind, INQ_FINDING_MORE_WORK);
    }
    test_synth_close(&t);
}

/* Every rank is late as seldom as any other: only the pauses stand out, and all of them cost. */
static void alike__hosts_that_pause_in_turn_are_one_finding(void **state)
{
    (void)state;
    struct test_synth t =
        test_synth_open("dp=8,steps=10,seed=5,gz=0,fault=gc:every=5:delay=8ms", &repaired);
    const struct inq_finding *first = &t.report->findings[0];

    assert_true(t.report->n_findings > 0);
    assert_int_equal(first->kind, INQ_FINDING_UNPLANNED_GC);
    assert_int_equal(first->n_ranks, 8);
    assert_string_equal(first->fixes[0], "repair-host:0-7");
    double off = first->share - true_share(&t);
    assert_true(off < 0.015 && off > -0.015);
    assert_true(t.report->account->unexplained_wait_ns * 100 < t.report->account->t_ns);
    test_synth_close(&t);
}

/* Noise of hosts alone is no pause. */
static void alike__noisy_hosts_do_not_pause_in_turn(void **state)
{
    (void)state;
    struct test_synth t = test_synth_open("dp=8,steps=10,seed=5,gz=0,host_sigma=0.4", &repaired);

    for (size_t i = 0; i < t.report->n_findings; i++) {
        assert_true(t.report->findings[i].kind != INQ_FINDING_UNPLANNED_GC);
        assert_true(t.report->findings[i].kind != INQ_FINDING_LATE_HOST);
    }
    test_synth_close(&t);
}

static void alike__half_of_a_job_is_found(void **state)
{
    (void)state;
    char spec[1024] = "dp=8,seed=3,gz=0,cpu_ops=0";

    slow(spec, sizeof(spec), 0, 3, 1.2);
    struct test_synth t = test_synth_open(spec, &repaired);
    (void)expect_ranks(&t, 0, 3);
    test_synth_close(&t);
}

static void alike__two_slow_gpus_are_found_together(void **state)
{
    (void)state;
    char spec[1024] = "dp=8,seed=4,gz=0,cpu_ops=0";

    slow(spec, sizeof(spec), 5, 6, 1.15);
    struct test_synth t = test_synth_open(spec, &repaired);
    (void)expect_ranks(&t, 5, 6);
    test_synth_close(&t);
}

/* Some steps only: not a little slower all the time. */
static void alike__a_fault_now_and_then_keeps_its_weight(void **state)
{
    (void)state;
    struct test_synth t = test_synth_open("dp=4,steps=10,seed=3,gz=0,cpu_ops=0,"
                                          "fault=slow_gpu:rank=2:factor=1.3:from=4:to=4,"
                                          "fault=slow_gpu:rank=2:factor=1.3:from=9:to=9",
                                          &repaired);
    (void)expect_ranks(&t, 2, 2);
    assert_non_null(strstr(t.report->findings[0].title, "in 2 of "));
    for (size_t i = 0; i < t.report->n_findings; i++) { /* not told twice */
        assert_int_not_equal(t.report->findings[i].kind, INQ_FINDING_STEP_OUTLIER);
    }
    test_synth_close(&t);
}

/* A second fault that the first one hides shows once the first is repaired. */
static void alike__a_hidden_fault_is_told_in_order(void **state)
{
    (void)state;
    struct test_synth t =
        test_synth_open("dp=8,seed=3,gz=0,cpu_ops=0,fault=slow_gpu:rank=2:factor=1.3,"
                        "fault=late_host:rank=6:mode=step:delay=4ms",
                        &repaired);
    bool second = false;

    assert_string_equal(t.report->findings[0].id, "slow_gpu:rank2");
    for (size_t i = 0; i < t.report->attribution->n_candidates; i++) {
        const struct inq_candidate *s = &t.report->attribution->candidates[i];
        second = second || (s->kind == INQ_FINDING_LATE_HOST && s->in_order_ns > 0 &&
                            s->in_order_ns > s->cost_ns_per_step);
    }
    assert_true(second);
    test_synth_close(&t);
}

/* A finding with this id, title and so many points of a step that it gains in order. */
static void expect_told(const struct test_synth *t, const char *id, const char *title,
                        double points)
{
    for (size_t i = 0; i < t->report->n_findings; i++) {
        const struct inq_finding *f = &t->report->findings[i];
        if (strcmp(f->id, id) == 0) {
            double off = 100.0 * (double)f->in_order_ns / (double)t->report->account->t_ns - points;
            assert_non_null(strstr(f->title, title));
            assert_true(off < 1.0 && off > -1.0);
            return;
        }
    }
    fail_msg("no finding %s", id);
}

/* What the fourth of them gains beside the others would not be told by itself. */
static void alike__a_gpu_as_slow_as_others_is_named_with_them(void **state)
{
    (void)state;
    struct test_synth t =
        test_synth_open("dp=2,pp=4,layers=8,steps=8,sync=0,p2p_group=world,seed=1115,gz=0,"
                        "fault=slow_gpu:rank=0:last=7:stride=2:factor=1.05",
                        &repaired);
    expect_told(&t, "slow_gpu:rank0,2,4,6", "5 % slower", 4.0);
    test_synth_close(&t);
}

/* One rank of the stage is as usual: the others are compared with it, not with each other. */
static void alike__a_late_host_where_one_peer_is_left(void **state)
{
    (void)state;
    struct test_synth t =
        test_synth_open("dp=2,tp=2,pp=2,micro_batches=4,layers=2,steps=6,seed=3,cpu_ops=0,gz=0,"
                        "fault=slow_gpu:rank=0:last=7:stride=2:factor=1.2,"
                        "fault=late_host:mode=pause:rank=1:delay=2ms",
                        &repaired);
    expect_told(&t, "slow_gpu:rank0,2,4,6", "20 % slower", 11.0);
    expect_told(&t, "late_host:rank1", "launches 2.", 9.5);
    test_synth_close(&t);
    t = test_synth_open("dp=3,pp=2,micro_batches=4,layers=4,steps=6,seed=5,cpu_ops=0,gz=0,"
                        "fault=slow_gpu:rank=2:factor=1.2,fault=late_host:rank=1:delay=2ms",
                        &repaired);
    expect_told(&t, "slow_gpu:rank2", "20 % slower", 2.9);
    expect_told(&t, "late_host:rank1", "launches 2.00 ms late", 6.4);
    test_synth_close(&t);
}

/* Of two ranks one idles longer in all steps: that is no noise. */
static void alike__a_late_host_of_two_that_has_a_slow_gpu_too(void **state)
{
    (void)state;
    struct test_synth t =
        test_synth_open("dp=2,pp=2,micro_batches=4,layers=4,steps=9,seed=461071,cpu_ops=0,gz=0,"
                        "fault=late_host:rank=1:delay=1ms,"
                        "fault=slow_gpu:rank=1:last=3:factor=1.15:stride=2",
                        &repaired);
    expect_told(&t, "late_host:rank1", "launches 1.06 ms late", 3.3);
    expect_told(&t, "slow_gpu:rank3", "15 % slower", 4.8);
    expect_told(&t, "slow_gpu:rank1", "15 % slower", 6.5);
    test_synth_close(&t);
}

/* A GPU that gains in one step only, as others hide it in the rest, is as slow as in the rest; and
 * one whose only peer has a late host is compared with its kernels. */
static void alike__how_slow_a_gpu_is_beside_a_late_host(void **state)
{
    (void)state;
    struct test_synth t =
        test_synth_open("dp=2,tp=2,pp=2,micro_batches=4,layers=4,steps=12,seed=551630,cpu_ops=0,"
                        "gz=0,fault=late_host:mode=pause:from=3:to=3:rank=3:delay=40ms,"
                        "fault=slow_gpu:rank=0:last=7:stride=2:factor=1.1",
                        &repaired);
    expect_told(&t, "slow_gpu:rank0,2,4,6", "are 10 % slower", 6.5);
    expect_told(&t, "late_host:rank3", "40.0 ms late in 1 of 12 steps", 9.3);
    test_synth_close(&t);
    t = test_synth_open("dp=2,pp=2,micro_batches=4,layers=4,steps=8,seed=520261,cpu_ops=0,gz=0,"
                        "fault=slow_gpu:rank=1:factor=1.05,"
                        "fault=late_host:mode=launch:rank=0:factor=8",
                        &repaired);
    expect_told(&t, "slow_gpu:rank1", "is 5 % slower", 2.4);
    test_synth_close(&t);
}

/* In the steps in which it is slow, also where its host is late in all of them; and in which it
 * gains, where pauses of all hosts hide it in the others. */
static void alike__how_slow_a_gpu_is_in_some_steps(void **state)
{
    (void)state;
    struct test_synth t = test_synth_open("dp=8,steps=10,layers=4,seed=5,cpu_ops=0,gz=0,"
                                          "fault=slow_gpu:every=5:rank=3:factor=1.3,"
                                          "fault=late_host:rank=3:delay=2ms",
                                          &repaired);
    expect_told(&t, "slow_gpu:rank3", "is 30 % slower than its peers in 2 of 10 steps", 4.0);
    expect_told(&t, "late_host:rank3", "launches 2.03 ms late", 13.8);
    test_synth_close(&t);
    t = test_synth_open("dp=8,steps=10,layers=4,seed=5,cpu_ops=0,gz=0,"
                        "fault=gc:every=5:delay=8ms,fault=slow_gpu:rank=3:factor=1.1",
                        &repaired);
    expect_told(&t, "slow_gpu:rank3", "is 10 % slower", 5.2);
    test_synth_close(&t);
    /* of two that hide each other, each was measured over other steps */
    t = test_synth_open("dp=8,layers=4,steps=10,seed=6,cpu_ops=0,gz=0,"
                        "fault=slow_gpu:every=5:rank=1:last=3:stride=2:factor=2",
                        &repaired);
    expect_told(&t, "slow_gpu:rank1,3", "are 101 % slower than their peers in 2 of 10 steps", 14.5);
    test_synth_close(&t);
}

/* One rank of the host has a late host, too: its kernels tell that its GPU is as slow. */
static void alike__a_host_with_slow_gpus_and_a_late_rank(void **state)
{
    (void)state;
    struct test_synth t =
        test_synth_open("dp=4,pp=4,gpus_per_host=8,layers=4,micro_batches=8,steps=6,seed=5,"
                        "cpu_ops=0,gz=0,fault=slow_gpu:host=1:factor=1.2,"
                        "fault=late_host:rank=14:delay=2ms",
                        &repaired);
    expect_told(&t, "slow_gpu:rank8,9,10,11,12,13,14,15", "20 % slower", 10.9);
    test_synth_close(&t);
}

/* ---- what grids say -------------------------------------------------------------------------- */

static struct inq_launch launches[3] = {
    {.grid = {0, 0, 0}}, {.grid = {100, 1, 1}, .block = {256, 1, 1}}, {.grid = {130, 1, 1}}};

/* Analyzes the run with grids of 100 blocks on all ranks but rank 2, whose launches are `row`. */
static struct inq_report *with_grids(struct inq_trace *trace, uint32_t row)
{
    struct inq_report *report = NULL;
    struct inq_err err = {0};

    trace->launches = launches;
    trace->n_launches = 3;
    for (size_t r = 0; r < trace->n_ranks; r++) {
        struct inq_events *events = &trace->ranks[r].events;
        events->launch = inq_mem_alloc((events->n + 1) * sizeof(*events->launch));
        assert_non_null(events->launch);
        for (size_t i = 0; i < events->n; i++) {
            events->launch[i] = r == 2 ? row : 1;
        }
    }
    assert_int_equal(inq_analyze(trace, NULL, &report, &err), INQ_OK);
    return report;
}

static void expect_by_grids(uint32_t row, const char *kind)
{
    struct test_synth t = test_synth_open("dp=4,seed=5,steps=6,gz=0,cpu_ops=0,"
                                          "fault=more_work:rank=2:factor=1.3:mode=size",
                                          &repaired);
    struct inq_report *report = with_grids(t.run->traces[0], row);

    assert_true(report->n_findings > 0);
    assert_string_equal(inq_finding_kind_text(report->findings[0].kind), kind);
    inq_report_free(report);
    test_synth_close(&t);
}

/* A low clock slows products of matrices and spares what waits for memory, as extra compute does;
 * but the grids stay as they are. */
static void grids__that_are_equal_tell_of_a_slower_device(void **state)
{
    (void)state;
    expect_by_grids(1, "slow_gpu");
    expect_by_grids(2, "more_work");
    expect_by_grids(0, "more_work"); /* not recorded: by the kernels that are spared */
}

/* ---- schedules --------------------------------------------------------------------------------
 */

/* One micro-batch over four stages: the schedule loses most, and more micro-batches are tried. */
static void schedule__that_loses_most_is_the_verdict(void **state)
{
    (void)state;
    struct test_synth t = test_synth_open(
        "pp=4,dp=1,micro_batches=1,layers=8,labels=1,seed=3,gz=0,cpu_ops=0", &repaired);
    const struct inq_finding *first = &t.report->findings[0];
    int n = 0;

    assert_string_equal(t.report->verdict.cls, "pipeline_bubble");
    assert_int_equal(first->severity, INQ_SEVERITY_HIGH);
    assert_true(first->share > 0.4); /* what enough micro-batches gain, not the whole bubble */
    assert_int_equal(t.report->verdict.lost_ns_per_step, first->cost_ns_per_step);
    assert_int_equal(sscanf(first->fixes[0], "microbatches:%d", &n), 1);
    assert_true(n >= 4);
    assert_non_null(strstr(t.report->verdict.next, first->fixes[0]));
    test_synth_close(&t);
    t = test_synth_open("pp=4,dp=1,micro_batches=12,layers=8,labels=1,seed=3,gz=0,cpu_ops=0",
                        &repaired);
    assert_string_equal(t.report->verdict.cls, "healthy");
    test_synth_close(&t);
}

/* Hosts that run ahead launched the first steps of some ranks before their windows: whose threads
 * ran the forward passes is known from the other steps, and which pass a rank's window cuts. */
static void schedule__is_known_where_launches_came_before_the_window(void **state)
{
    (void)state;
    struct test_synth t =
        test_synth_open("dp=2,pp=2,micro_batches=1,layers=4,steps=8,sync=4,window=ragged,seed=3,"
                        "gz=0,cpu_ops=0",
                        &repaired);

    assert_string_equal(t.report->verdict.cls, "pipeline_bubble");
    assert_non_null(strstr(t.report->verdict.headline, "1 micro-batch over 2 stages"));
    test_synth_close(&t);
}

/* ---- one number ------------------------------------------------------------------------------ */

/* Every finding whose cost was simulated costs what its first fix is predicted to gain. */
static void expect_same_numbers(const char *spec)
{
    struct test_synth t = test_synth_open(spec, &repaired);
    struct inq_fix_base *base = NULL;
    struct inq_err err = {0};
    size_t seen = 0;

    assert_int_equal(inq_fix_base_of_run(t.run->traces[0], t.report, &base, &err), INQ_OK);
    for (size_t i = 0; i < t.report->n_findings; i++) {
        const struct inq_finding *finding = &t.report->findings[i];
        if (finding->n_ranks == 0 || finding->n_fixes == 0) {
            continue;
        }
        struct inq_fix_options options = {.specs = &finding->fixes[0], .n_specs = 1};
        struct inq_fixes *fixes = NULL;
        assert_int_equal(inq_fix_study(base, t.report, &options, &fixes, &err), INQ_OK);
        assert_int_equal(fixes->fixes[0].gain_ns, finding->cost_ns_per_step);
        inq_fixes_free(fixes);
        seen++;
    }
    assert_true(seen > 0);
    inq_fix_base_free(base);
    test_synth_close(&t);
}

static void cost__is_what_its_fix_is_predicted_to_gain(void **state)
{
    (void)state;
    expect_same_numbers("dp=4,seed=5,gz=0,cpu_ops=0,fault=slow_gpu:rank=2:factor=1.2");
    expect_same_numbers("dp=4,seed=5,gz=0,cpu_ops=0,fault=late_host:rank=1:mode=step:delay=5ms");
    expect_same_numbers("dp=4,tp=2,seed=5,gz=0,cpu_ops=0,"
                        "fault=slow_link:rank=2:factor=4:links=tp");
    expect_same_numbers("dp=4,tp=2,seed=5,gz=0,cpu_ops=0,fault=more_work:rank=3:factor=1.3");
}

/* The gain that fix predicts for one spec. */
static int64_t gain_of(const struct test_synth *t, const char *spec)
{
    struct inq_fix_base *base = NULL;
    struct inq_fixes *fixes = NULL;
    struct inq_fix_options options = {.specs = &spec, .n_specs = 1};
    struct inq_err err = {0};

    assert_int_equal(inq_fix_base_of_run(t->run->traces[0], t->report, &base, &err), INQ_OK);
    assert_int_equal(inq_fix_study(base, t->report, &options, &fixes, &err), INQ_OK);
    int64_t gain_ns = fixes->fixes[0].gain_ns;
    inq_fixes_free(fixes);
    inq_fix_base_free(base);
    return gain_ns;
}

/* Two of eight ranks of a tensor-parallel group are slow, as in Megatron with TP 8: either alone
 * repaired gains next to nothing, both together what is lost. No finding says of one of them that
 * it costs what only both cost. */
static void cost__of_two_ranks_of_a_tensor_group_is_no_ones_alone(void **state)
{
    (void)state;
    struct test_synth t = test_synth_open("dp=1,tp=8,layers=4,steps=6,seed=5,gz=0,cpu_ops=0,"
                                          "fault=slow_gpu:rank=2:factor=1.2,"
                                          "fault=slow_gpu:rank=6:factor=1.2",
                                          &repaired);
    const struct inq_account *a = t.report->account;
    const struct inq_finding *first = &t.report->findings[0];

    assert_true(gain_of(&t, "replace-rank:6") < a->t_ns / 50);
    assert_true(gain_of(&t, "replace-rank:2") < a->t_ns / 50);
    assert_int_equal(first->n_ranks, 2);
    assert_int_equal(first->ranks[0], 2);
    assert_int_equal(first->ranks[1], 6);
    assert_int_equal(first->cost_ns_per_step, gain_of(&t, "replace-rank:2,6"));
    double off = first->share - true_share(&t);
    assert_true(off < 0.01 && off > -0.01);
    for (size_t i = 1; i < t.report->n_findings; i++) {
        assert_true(t.report->findings[i].n_ranks == 0 ||
                    t.report->findings[i].cost_ns_per_step <= first->cost_ns_per_step);
        assert_int_not_equal(t.report->findings[i].n_ranks, 1);
    }
    test_synth_close(&t);
}

/* ---- the account ------------------------------------------------------------------------------
 */

/* Waits by root sum to the waits measured, and gains in order, ideal and residual to T. */
static void account__adds_up_to_waits_and_to_t(void **state)
{
    (void)state;
    struct test_synth t =
        test_synth_open("dp=8,seed=3,gz=0,cpu_ops=0,fault=slow_gpu:rank=2:factor=1.3,"
                        "fault=late_host:rank=6:mode=step:delay=4ms",
                        &repaired);
    const struct inq_account *a = t.report->account;
    int64_t wait_ns = a->class_ns[INQ_ACCOUNT_WAIT] + a->class_ns[INQ_ACCOUNT_DEPENDENCY];
    int64_t sum_ns = a->unexplained_wait_ns;
    int64_t t_ns = a->ideal_ns + a->residual_ns;

    assert_int_equal(a->n_causes, 2);
    for (size_t i = 0; i < a->n_causes; i++) {
        sum_ns += a->causes[i].ns;
        t_ns += a->causes[i].gain_in_order_ns;
        assert_true(a->causes[i].gain_alone_ns <= a->t_ns - a->ideal_ns);
    }
    assert_in_range(sum_ns, wait_ns - 4, wait_ns + 4); /* rounded down, one by one */
    assert_int_equal(t_ns, a->t_ns);
    assert_int_equal(a->causes[1].n_overlaps, 1); /* hidden by the first */
    assert_string_equal(a->causes[1].overlaps[0], a->causes[0].id);
    test_synth_close(&t);
}

static bool has_uneven_work(const char *spec)
{
    struct test_synth t = test_synth_open(spec, &repaired);
    bool found = false;

    for (size_t i = 0; i < t.report->n_findings; i++) {
        found = found || t.report->findings[i].kind == INQ_FINDING_SEQUENCE_IMBALANCE;
    }
    test_synth_close(&t);
    return found;
}

/* Whoever is compared with the others hides the other fault. */
static void alike__three_of_four_by_two_causes(void **state)
{
    (void)state;
    struct test_synth t = test_synth_open(
        "dp=4,layers=8,micro_batches=1,sharded=1,gpus_per_host=2,steps=6,sigma=0.04,"
        "seed=240895,gz=0,lean=1,fault=late_host:mode=pause:rank=0:delay=4ms,"
        "fault=low_clock:host=1:factor=1.2",
        &repaired);
    expect_told(&t, "late_host:rank0", "Rank 0's host launches", 13.3);
    expect_told(&t, "slow_gpu:rank2,3", "18 % slower", 11.9);
    test_synth_close(&t);
}

/* One of two on a host is slower by one percent, as chips differ: it is no part of what the two
 * slow ones have in common, nor is its host. */
static void alike__a_gpu_slower_as_chips_are_is_not_named_with_slow_ones(void **state)
{
    (void)state;
    struct test_synth t = test_synth_open(
        "dp=6,layers=6,micro_batches=2,gpus_per_host=2,steps=8,wait=item,args=old,clock=1ms,"
        "drift=20,lean=1,rank_sigma=0.004,seed=290499,gz=0,"
        "fault=slow_gpu:rank=3:last=5:factor=1.15:stride=2",
        &repaired);
    expect_told(&t, "slow_gpu:rank3,5", "are 15 % slower", 11.9);
    test_synth_close(&t);
}

/* Experts draw other tokens in each layer, which a step's sum hides: stretches of kernels tell.
 * Noise of single kernels, and clocks that vary from step to step, do not make work uneven. */
static void uneven__experts_tell_within_a_step(void **state)
{
    (void)state;
    static const char run[] = "dp=8,experts=1,layers=4,steps=8,gz=0,cpu_ops=0,seed=5102";
    char spec[200];

    (void)snprintf(spec, sizeof spec, "%s,fault=uneven_experts:sigma=0.05", run);
    assert_true(has_uneven_work(spec));
    (void)snprintf(spec, sizeof spec, "%s,fault=jitter:sigma=0.08", run);
    assert_false(has_uneven_work(spec));
    (void)snprintf(spec, sizeof spec, "%s,step_sigma=0.015", run);
    assert_false(has_uneven_work(spec));
}

/* Kernels that vary by themselves leave their part in the optimizer's, too, and keep it when the
 * work is evened out; those of one name that are always longer in one place than in another are no
 * uneven work. */
static void uneven__noise_of_kernels_is_neither_taken_for_a_clock_nor_repaired(void **state)
{
    (void)state;
    static const char *const specs[] = {
        "dp=8,experts=1,layers=4,steps=8,gz=0,cpu_ops=0,sigma=0.04,seed=2,"
        "fault=uneven_experts:sigma=0.05",
        "dp=8,experts=1,layers=4,steps=8,gz=0,cpu_ops=0,sigma=0.04,seed=2,"
        "fault=uneven_experts:sigma=0.1",
    };

    for (size_t i = 0; i < 2; i++) {
        struct test_synth t = test_synth_open(specs[i], &repaired);
        const struct inq_finding *first = &t.report->findings[0];
        assert_true(t.report->n_findings > 0);
        assert_int_equal(first->kind, INQ_FINDING_SEQUENCE_IMBALANCE);
        double off = first->share - true_share(&t);
        assert_true(off < 0.005 && off > -0.005);
        test_synth_close(&t);
    }
}

/* Hosts that run ahead made the launches of most ranks' steps before the window: which kernels lie
 * between which collectives is known from a rank whose window began earlier. */
static void uneven__experts_of_ranks_without_launches_are_evened_like_their_peers(void **state)
{
    (void)state;
    struct test_synth t =
        test_synth_open("dp=8,experts=1,layers=4,micro_batches=1,steps=6,sync=0,window=ragged,"
                        "gz=0,cpu_ops=0,seed=2,fault=uneven_experts:sigma=0.2",
                        &repaired);
    const struct inq_finding *first = &t.report->findings[0];

    assert_true(t.report->n_findings > 0);
    assert_int_equal(first->kind, INQ_FINDING_SEQUENCE_IMBALANCE);
    double off = first->share - true_share(&t);
    assert_true(off < 0.01 && off > -0.01);
    test_synth_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alike__a_slow_host_is_one_finding_and_costs_more_the_slower_it_is),
        cmocka_unit_test(alike__half_of_a_job_is_found),
        cmocka_unit_test(turns__of_a_hosts_gpus_are_named_and_not_established),
        cmocka_unit_test(turns__of_one_step_each),
        cmocka_unit_test(turns__end_where_more_than_half_are_slow),
        cmocka_unit_test(turns__are_not_where_gpus_are_slow_together),
        cmocka_unit_test(alike__a_slow_replica_is_found_where_sends_run_in_the_group_of_all),
        cmocka_unit_test(alike__most_gpus_are_slow),
        cmocka_unit_test(alike__what_most_have_to_do_is_usual),
        cmocka_unit_test(alike__hosts_that_pause_in_turn_are_one_finding),
        cmocka_unit_test(alike__noisy_hosts_do_not_pause_in_turn),
        cmocka_unit_test(alike__two_slow_gpus_are_found_together),
        cmocka_unit_test(alike__a_fault_now_and_then_keeps_its_weight),
        cmocka_unit_test(alike__a_hidden_fault_is_told_in_order),
        cmocka_unit_test(alike__a_gpu_as_slow_as_others_is_named_with_them),
        cmocka_unit_test(alike__a_late_host_where_one_peer_is_left),
        cmocka_unit_test(alike__a_late_host_of_two_that_has_a_slow_gpu_too),
        cmocka_unit_test(alike__how_slow_a_gpu_is_beside_a_late_host),
        cmocka_unit_test(alike__how_slow_a_gpu_is_in_some_steps),
        cmocka_unit_test(alike__a_host_with_slow_gpus_and_a_late_rank),
        cmocka_unit_test(alike__three_of_four_by_two_causes),
        cmocka_unit_test(alike__a_gpu_slower_as_chips_are_is_not_named_with_slow_ones),
        cmocka_unit_test(uneven__experts_tell_within_a_step),
        cmocka_unit_test(uneven__experts_of_ranks_without_launches_are_evened_like_their_peers),
        cmocka_unit_test(uneven__noise_of_kernels_is_neither_taken_for_a_clock_nor_repaired),
        cmocka_unit_test(grids__that_are_equal_tell_of_a_slower_device),
        cmocka_unit_test(schedule__that_loses_most_is_the_verdict),
        cmocka_unit_test(schedule__is_known_where_launches_came_before_the_window),
        cmocka_unit_test(account__adds_up_to_waits_and_to_t),
        cmocka_unit_test(cost__is_what_its_fix_is_predicted_to_gain),
        cmocka_unit_test(cost__of_two_ranks_of_a_tensor_group_is_no_ones_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
