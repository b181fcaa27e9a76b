/* SPDX-License-Identifier: Apache-2.0 */
/* Faults that a stage's ranks have together, and links that are slow now and then: nobody among the
 * peers, nor the middle of all steps, is as it should be. */
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

/* The first finding is the first fault, of all its ranks if `all`, with `text` in its title, and
 * costs what the run simulated without it gains, give or take `percent`. */
static void expect(const char *spec, bool all, int64_t percent, const char *text)
{
    struct test_synth t = test_synth_open(spec, NULL);
    const struct inq_synth_truth_fault *truth = &inq_synth_truth(t.synth)->faults[0];
    const struct inq_finding *finding = &t.report->findings[0];

    assert_string_equal(t.report->verdict.cls, truth->finding);
    if (strstr(finding->title, text) == NULL) {
        fail_msg("no \"%s\" in: %s", text, finding->title);
    }
    assert_in_range(finding->cost_ns_per_step, truth->cost_ns_per_step * (100 - percent) / 100,
                    truth->cost_ns_per_step * (100 + percent) / 100);
    assert_int_equal(all ? finding->n_ranks : truth->n_ranks, truth->n_ranks);
    for (size_t i = 0; all && i < truth->n_ranks; i++) {
        assert_int_equal(finding->ranks[i], truth->ranks[i]);
    }
    test_synth_close(&t);
}

static void expect_verdict(const char *spec, const char *cls)
{
    struct test_synth t = test_synth_open(spec, NULL);

    assert_string_equal(t.report->verdict.cls, cls);
    test_synth_close(&t);
}

/* Half the job on one machine, which has whole stages: kernels of the other stages tell. */
static void whole_stages__slow_gpus_of_a_host(void **state)
{
    (void)state;
    expect("dp=4,pp=4,micro_batches=12,layers=4,steps=8,seed=62006,gz=0,cpu_ops=0,"
           "fault=low_clock:rank=0:last=7:factor=1.08",
           true, 3, "The GPUs of host node-00 ");
    expect("dp=2,tp=2,pp=2,micro_batches=6,layers=2,steps=8,gpus_per_host=4,seed=61008,gz=0,"
           "cpu_ops=0,fault=slow_gpu:host=1:factor=1.15",
           true, 3, "The GPUs of host node-01 ");
    /* no send or receive of rank 3 says its stage: the pipeline does */
    expect("dp=2,pp=4,micro_batches=4,layers=4,p2p=batched,gpus_per_host=2,steps=11,sync=0,"
           "clock=1ms,drift=20,window=ragged,seed=102129,gz=0,fault=slow_gpu:host=1:factor=1.3",
           true, 3, "The GPUs of host node-01 ");
    /* each alone gains nothing, both stages together do */
    expect("dp=1,tp=2,pp=8,micro_batches=24,layers=8,p2p=batched,labels=1,steps=6,args=old,"
           "seed=61094,gz=0,cpu_ops=0,fault=low_clock:rank=0:last=7:factor=1.08",
           true, 3, "The GPUs of host node-00 ");
}

/* More kernels are extra compute, not a slower chip; 2 % are the limit, chips differ by less. */
static void whole_stages__work_is_no_slow_gpu(void **state)
{
    (void)state;
    expect_verdict("dp=2,pp=4,micro_batches=12,layers=4,steps=8,seed=62010,gz=0,cpu_ops=0,"
                   "fault=long_last_stage:factor=1.4",
                   "slow_last_stage");
    expect_verdict("dp=4,pp=4,micro_batches=24,layers=4,steps=8,layer=2000,pp_gbps=200,seed=62011,"
                   "gz=0,cpu_ops=0,rank_sigma=0.0005,step_sigma=0.001,"
                   "fault=slow_gpu:rank=0:last=7:factor=1.017",
                   "healthy");
    expect_verdict("dp=4,pp=4,micro_batches=24,layers=4,steps=8,layer=2000,pp_gbps=200,seed=62011,"
                   "gz=0,cpu_ops=0,rank_sigma=0.0005,step_sigma=0.001,"
                   "fault=slow_gpu:rank=0:last=7:factor=1.023",
                   "slow_gpu");
}

/* The hosts of one stage and of half the next: only together is anything gained. */
static void whole_stages__late_hosts(void **state)
{
    (void)state;
    expect("dp=2,pp=3,micro_batches=1,layers=3,steps=6,seed=61069,gz=0,cpu_ops=0,"
           "fault=late_host:rank=0:last=2:mode=step:delay=2ms",
           true, 5, "The hosts of ranks 0, 1 and 2 launch");
    expect("dp=2,pp=4,micro_batches=4,layers=4,steps=8,seed=62001,gz=0,cpu_ops=0,"
           "fault=late_host:rank=0:last=3:mode=pause:delay=4ms",
           true, 5, "The hosts of ranks 0, 1, 2 and 3 launch");
    expect_verdict("dp=2,pp=4,micro_batches=4,layers=4,steps=8,seed=62001,gz=0,cpu_ops=0",
                   "healthy");
}

static size_t count(const struct inq_report *report, enum inq_finding_kind kind)
{
    size_t n = 0;
    for (size_t i = 0; i < report->n_findings; i++) {
        n += report->findings[i].kind == kind;
    }
    return n;
}

/* The first stage loads the data of every step, which is its place's work up to a twentieth of it.
 */
static void whole_stages__data_of_the_first_stage(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        size_t hosts;
    } cases[] = {
        {"dp=3,tp=2,pp=8,micro_batches=2,layers=8,early_recv=2,labels=1,steps=8,gpus_per_host=4,"
         "clock=20ms,cpu_ops=0,seed=61058,gz=0",
         0},
        {"dp=2,pp=4,micro_batches=4,layers=4,steps=8,seed=62001,gz=0,cpu_ops=0,"
         "fault=late_host:rank=0:last=1:mode=step:delay=800us",
         0},
        {"dp=2,pp=4,micro_batches=4,layers=4,steps=8,seed=62001,gz=0,cpu_ops=0,"
         "fault=late_host:rank=0:last=1:mode=step:delay=1400us",
         1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct test_synth t = test_synth_open(cases[i].spec, NULL);
        assert_int_equal(count(t.report, INQ_FINDING_LATE_HOST), cases[i].hosts);
        test_synth_close(&t);
    }
}

/* Where most transfers have no partner, stages that wait for others look idle: a longer last stage
 * made the first host 22 % late. */
static void whole_stages__idle_where_nothing_is_matched(void **state)
{
    (void)state;
    struct test_synth t = test_synth_open(
        "dp=4,pp=4,micro_batches=4,layers=4,p2p=bare,steps=8,gpus_per_host=8,args=old,"
        "window=ragged,seed=63023,gz=0,fault=long_last_stage:factor=1.4",
        NULL);
    for (size_t i = 0; i < t.report->n_findings; i++) {
        assert_true(t.report->findings[i].kind != INQ_FINDING_LATE_HOST ||
                    t.report->findings[i].n_ranks == 1);
    }
    test_synth_close(&t);
}

/* Many links meet in one rank and are slow beside each other: what they cost, where it cannot be
 * simulated, is no more than their steps are longer. */
static void links__cost_no_more_than_their_steps(void **state)
{
    (void)state;
    struct test_synth t = test_synth_open(
        "dp=1,tp=4,pp=4,micro_batches=12,layers=4,p2p=args,early_recv=2,steps=4,window=ragged,"
        "seed=61138,gz=0,fault=slow_link:rank=6:factor=10:links=all:from=2,"
        "fault=missing_rank:rank=15",
        NULL);
    const struct inq_finding *finding = &t.report->findings[0];

    assert_int_equal(finding->kind, INQ_FINDING_SLOW_LINK);
    assert_int_equal(finding->in_order_ns, -1);
    /* 40 % are lost; 114 % were said */
    assert_in_range(finding->cost_ns_per_step * 100, t.report->account->t_ns * 35,
                    t.report->account->t_ns * 45);
    test_synth_close(&t);
}

static void links__slow_in_some_steps(void **state)
{
    (void)state;
    expect("dp=2,pp=4,micro_batches=12,layers=4,steps=8,p2p=args,seed=62004,gz=0,cpu_ops=0,"
           "fault=slow_link:rank=5:factor=10:links=pp:from=1:every=3",
           true, 3, "The link of rank 5 is slow in 3 of 8 steps: ");
    expect("dp=2,pp=4,micro_batches=12,layers=4,steps=8,p2p=batched,seed=61086,gz=0,cpu_ops=0,"
           "fault=slow_link:rank=5:factor=10:links=pp:from=1:every=3",
           true, 3, "The link of rank 5 is slow in 3 of 8 steps: ");
    /* in half of them, where a median says nothing and all transfers vary */
    expect("dp=4,tp=2,pp=3,chunks=2,micro_batches=6,layers=6,steps=8,sync=4,seed=61016,gz=0,"
           "cpu_ops=0,fault=slow_link:rank=1:factor=10:links=dp:from=4",
           false, 3, "The link of ranks 1, 3, 5 and 7 is slow in 4 of 8 steps: ");
}

/* A quarter longer, and two transfers. */
static void links__limits_in_some_steps(void **state)
{
    (void)state;
    expect_verdict("dp=2,pp=2,micro_batches=4,layers=2,steps=8,pp_gbps=5,seed=62020,gz=0,cpu_ops=0,"
                   "fault=slow_link:rank=1:factor=1.2:links=pp:from=1:every=3",
                   "exposed_comm");
    expect_verdict("dp=2,pp=2,micro_batches=4,layers=2,steps=8,pp_gbps=5,seed=62020,gz=0,cpu_ops=0,"
                   "fault=slow_link:rank=1:factor=1.3:links=pp:from=1:every=3",
                   "slow_link");
    expect_verdict("dp=4,tp=2,layers=4,bucket_layers=4,steps=8,seed=62021,gz=0,cpu_ops=0,"
                   "fault=slow_link:rank=1:factor=6:links=dp:from=3:to=3",
                   "step_outlier");
    expect_verdict("dp=4,tp=2,layers=4,bucket_layers=4,steps=8,seed=62021,gz=0,cpu_ops=0,"
                   "fault=slow_link:rank=1:factor=6:links=dp:from=3:to=4",
                   "slow_link");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_stages__slow_gpus_of_a_host),
        cmocka_unit_test(whole_stages__work_is_no_slow_gpu),
        cmocka_unit_test(whole_stages__late_hosts),
        cmocka_unit_test(whole_stages__data_of_the_first_stage),
        cmocka_unit_test(whole_stages__idle_where_nothing_is_matched),
        cmocka_unit_test(links__cost_no_more_than_their_steps),
        cmocka_unit_test(links__slow_in_some_steps),
        cmocka_unit_test(links__limits_in_some_steps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
