/* SPDX-License-Identifier: Apache-2.0 */
/* Every detector finds its planted fault in a small synthetic run, and nothing in a healthy one. */
#include "inquest/account.h"
#include "inquest/analysis.h"
#include "inquest/synth.h"

#include "support_synth.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The first finding of a kind, which there is. */
static const struct inq_finding *find(const struct inq_report *report, enum inq_finding_kind kind)
{
    size_t i = 0;
    while (i < report->n_findings && report->findings[i].kind != kind) {
        i++;
    }
    assert_true(i < report->n_findings);
    return &report->findings[i];
}

/* Ranks of a healthy pipeline wait for each other, and the verdict says why. */
static void detect__healthy_pipeline_says_why_it_waits(void **state)
{
    (void)state;
    struct test_synth t =
        test_synth_open("dp=2,pp=4,layers=8,micro_batches=8,steps=5,gz=0,cpu_ops=0", NULL);
    struct test_synth u = test_synth_open("dp=8,layers=4,steps=5,gz=0,cpu_ops=0", NULL);

    assert_string_equal(t.report->verdict.cls, "healthy");
    assert_non_null(
        strstr(t.report->verdict.why, "its schedule of 8 micro-batches over 4 stages idles for "));
    assert_string_equal(u.report->verdict.cls, "healthy");
    assert_string_equal(u.report->verdict.why, "");
    test_synth_close(&u);
    test_synth_close(&t);
}

/* Hosts that read their loss wait in the call of a copy. */
static void detect__where_the_loss_is_read(void **state)
{
    (void)state;
    test_synth_expect("dp=8,layers=4,steps=8,gz=0,wait=item", "healthy");
    test_synth_expect_loss("dp=8,layers=4,steps=8,gz=0,wait=item,fault=slow_gpu:rank=3:factor=1.2",
                           "slow_gpu");
    test_synth_expect_loss(
        "dp=8,layers=4,steps=8,gz=0,wait=item,sync=4,fault=late_host:rank=3:mode="
        "pause:delay=4ms",
        "late_host");
    /* windows that open after hosts had begun to read: the call that follows is a synchronization
     * that has nothing left to wait for */
    test_synth_expect_loss(
        "dp=12,layers=4,micro_batches=1,gpus_per_host=4,steps=11,sync=4,wait=item,"
        "clock=1ms,window=ragged,seed=775153,gz=0,fault=slow_gpu:host=1:factor=1.2",
        "slow_gpu");
}

/* Two records of one run cost the same, give or take what matching by time may miss (2 %). */
static void expect_same_cost(const char *spec, const char *other, const char *cls)
{
    struct test_synth t = test_synth_open(spec, NULL);
    struct test_synth u = test_synth_open(other, NULL);
    int64_t cost_ns = t.report->findings[0].cost_ns_per_step;

    assert_string_equal(t.report->verdict.cls, cls);
    assert_string_equal(u.report->verdict.cls, cls);
    assert_in_range(u.report->findings[0].cost_ns_per_step, cost_ns * 98 / 100,
                    cost_ns * 102 / 100);
    test_synth_close(&u);
    test_synth_close(&t);
}

static void detect__long_last_stage(void **state)
{
    (void)state;
    /* transfers that name no peer tell the same as those that do */
    expect_same_cost("dp=2,pp=4,p2p=args,layers=8,gz=0,cpu_ops=0,fault=long_last_stage:factor=1.4",
                     "dp=2,pp=4,p2p=bare,layers=8,gz=0,cpu_ops=0,fault=long_last_stage:factor=1.4",
                     "slow_last_stage");
    test_synth_expect("dp=2,pp=2,layers=4,labels=1,gz=0,cpu_ops=0,fault=long_last_stage:factor=1.3",
                      "slow_last_stage");
    test_synth_expect("dp=1,pp=4,layers=8,gz=0,cpu_ops=0,fault=long_last_stage:factor=1.3",
                      "slow_last_stage");
}

/* Evening out stages keeps the work: it gains what the same run takes longer than one with that
 * work on all stages, not what the longest stage takes longer than the others. */
static void expect_kept_work(const char *shape)
{
    char spec[256];
    (void)snprintf(spec, sizeof spec, "%s,fault=long_last_stage:factor=1.4", shape);
    struct test_synth t = test_synth_open(spec, NULL);
    (void)snprintf(spec, sizeof spec, "%s,fault=slow_gpu:rank=0:last=7:factor=1.1", shape);
    struct test_synth even = test_synth_open(spec, NULL);
    double step_ns = (double)inq_synth_truth(t.synth)->mean_step_ns;
    double even_ns = (double)inq_synth_truth(even.synth)->mean_step_ns;
    double healthy_ns = (double)inq_synth_truth(t.synth)->mean_step_ns_healthy;
    double gain = (step_ns - even_ns) / step_ns;

    assert_true(t.report->n_findings > 0);
    assert_int_equal(t.report->findings[0].n_stages, 1);
    assert_true(t.report->findings[0].share > gain - 0.01);
    assert_true(t.report->findings[0].share < gain + 0.01);
    assert_true((step_ns - healthy_ns) / step_ns > gain + 0.02); /* without the work: more */
    test_synth_close(&even);
    test_synth_close(&t);
}

/* Also where receives are posted early and no transfer says which way it goes. */
static void detect__evened_stages_keep_the_work(void **state)
{
    (void)state;
    expect_kept_work("dp=2,pp=4,layers=8,gz=0,cpu_ops=0,sigma=0");
    expect_kept_work("dp=2,pp=4,layers=8,gz=0,cpu_ops=0,sigma=0,p2p=bare,early_recv=1");
}

static void detect__uneven_sequences(void **state)
{
    (void)state;
    test_synth_expect("dp=4,layers=4,gz=0,cpu_ops=0,fault=uneven_seq:sigma=0.3",
                      "sequence_imbalance");
    test_synth_expect("dp=1,pp=4,layers=8,gz=0,cpu_ops=0,fault=uneven_seq:sigma=0.3",
                      "sequence_imbalance");
}

static void detect__cost_of_uneven_sequences_in_a_pipeline(void **state)
{
    (void)state;
    test_synth_expect_cost("dp=2,pp=4,layers=8,gz=0,cpu_ops=0,fault=uneven_seq:sigma=0.3", 15);
}

/* An all-to-all takes as long as its largest part, which evening makes the mean one. */
static void detect__cost_of_uneven_sequences_with_experts(void **state)
{
    (void)state;
    test_synth_expect_loss("dp=8,experts=1,layers=4,steps=8,dp_gbps=50,gz=0,cpu_ops=0,"
                           "fault=uneven_seq:sigma=0.3",
                           "sequence_imbalance");
}

/* Between two communications may be two passes, where receives are posted early: each is evened. */
static void detect__cost_of_uneven_sequences_with_early_receives(void **state)
{
    (void)state;
    test_synth_expect_loss("dp=4,pp=2,micro_batches=2,layers=4,early_recv=1,steps=8,seed=2,gz=0,"
                           "cpu_ops=0,fault=uneven_seq:sigma=0.5",
                           "sequence_imbalance");
}

/* The mean of few sequences that came to one place of a step is no property of the place. */
static void detect__cost_of_few_uneven_sequences(void **state)
{
    (void)state;
    test_synth_expect_loss("dp=2,pp=2,micro_batches=4,layers=4,p2p=fused,steps=5,seed=981391,gz=0,"
                           "cpu_ops=0,fault=uneven_seq:sigma=0.5",
                           "sequence_imbalance");
}

/* Of two replicas one has extra compute in most steps by chance: no cause of its own. */
static void detect__uneven_sequences_are_no_ranks_with_more_work(void **state)
{
    (void)state;
    test_synth_expect(
        "dp=2,tp=2,pp=4,micro_batches=4,layers=4,early_recv=2,steps=11,seed=495986,gz=0,"
        "cpu_ops=0,fault=uneven_seq:sigma=0.3",
        "sequence_imbalance");
}

/* Half of the ranks are slow, one of them twice: they are not alike, but apart from the others. */
static void detect__half_of_the_ranks_and_a_second_fault(void **state)
{
    (void)state;
    struct test_synth t = test_synth_open("dp=8,steps=6,seed=823062,gz=0,cpu_ops=0,"
                                          "fault=slow_gpu:rank=1:last=4:factor=1.2,"
                                          "fault=more_work:rank=4:factor=1.25:mode=size",
                                          NULL);
    const struct inq_finding *first = &t.report->findings[0];

    assert_true(t.report->n_findings > 0);
    assert_int_equal(first->kind, INQ_FINDING_SLOW_GPU);
    assert_int_equal(first->n_ranks, 4);
    assert_true(first->share > test_synth_lost_share(&t) - 0.01);
    assert_true(first->share < test_synth_lost_share(&t) + 0.01);
    test_synth_close(&t);
}

/* What single kernels, chips and clocks differ by stays when the work is evened out. */
static void detect__cost_of_uneven_work_without_the_noise(void **state)
{
    (void)state;
    test_synth_expect_cost(
        "dp=8,experts=1,layers=4,steps=8,gz=0,cpu_ops=0,fault=uneven_seq:sigma=0.1", 10);
    test_synth_expect_cost("dp=4,tp=4,layers=4,steps=8,gz=0,cpu_ops=0,fault=uneven_seq:sigma=0.1",
                           10);
    /* noise comes to another rank in each stretch, not to those whose work is longest */
    test_synth_expect_cost(
        "dp=32,layers=4,micro_batches=2,sharded=1,gpus_per_host=4,steps=5,sigma=0.04,"
        "seed=897721,gz=0,fault=uneven_seq:sigma=0.05",
        10);
}

/* Gradients wait for the backward that makes them, also where their stream was busy until later: a
 * fast rank's transfers would else begin before its compute has ended. */
static void detect__cost_of_a_slow_gpu_beside_overlapped_transfers(void **state)
{
    (void)state;
    test_synth_expect_cost("dp=16,gpus_per_host=8,layers=4,steps=8,seed=551295,gz=0,cpu_ops=0,"
                           "fault=slow_gpu:rank=11:factor=1.1",
                           3);
}

/* Hosts launch no faster than GPUs compute, and the peers of a late one wait for it in
 * communication: their GPUs idle less than their hosts take, and its own excess of idle time is
 * three times what it costs. */
static void detect__cost_of_a_late_host_where_all_are_launch_bound(void **state)
{
    (void)state;
    test_synth_expect_cost("tp=8,layers=8,steps=8,gz=0,cpu_ops=0,layer=10us,launch=60us,"
                           "fault=late_host:rank=1:mode=launch:factor=1.3",
                           4);
}

/* Own time in excess is more than what is lost: other stages, transfers and chance cost too. */
static void detect__cost_of_a_slow_rank_in_a_pipeline(void **state)
{
    (void)state;
    test_synth_expect_cost(
        "dp=1,pp=4,layers=8,pp_gbps=8,gz=0,cpu_ops=0,fault=slow_gpu:rank=1:factor=1.2", 10);
    test_synth_expect_cost(
        "dp=2,pp=4,layers=8,gz=0,cpu_ops=0,fault=late_host:rank=3:mode=step:delay=10ms", 10);
    test_synth_expect_cost(
        "dp=2,pp=2,layers=4,window=ragged,gz=0,cpu_ops=0,fault=slow_gpu:rank=1:factor=1.3", 10);
    test_synth_expect_cost(
        "dp=4,pp=2,layers=4,gz=0,cpu_ops=0,fault=slow_link:rank=5:factor=5:links=pp", 10);
    test_synth_expect_cost(
        "dp=1,pp=4,layers=8,gz=0,cpu_ops=0,fault=slow_link:rank=1:factor=5:links=pp", 10);
}

/* Stages without replicas, steps that are on time. */
static void detect__host_that_is_late_now_and_then_in_a_pipeline(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        int64_t percent;
    } faults[] = {
        {"dp=1,pp=4,layers=8,steps=8,gz=0,cpu_ops=0,fault=late_host:rank=0:mode=step:every=2:delay="
         "9ms",
         16}, /* 3 of the 7 judged steps; the truth has 4 of 8 */
        {"dp=1,pp=4,layers=8,steps=8,gz=0,cpu_ops=0,fault=late_host:rank=3:mode=step:every=2:delay="
         "9ms",
         16},
        {"dp=2,pp=4,layers=8,steps=6,gz=0,cpu_ops=0,fault=late_host:rank=3:mode=step:every=2:delay="
         "9ms",
         25},
        {"dp=2,pp=4,p2p=bare,layers=8,steps=6,gz=0,cpu_ops=0,fault=late_host:rank=3:mode=step:"
         "every=2:delay=20ms",
         25}, /* 2 of the 5 judged steps; the truth has 3 of 6 */
        /* a pause within an op is not one in front of it */
        {"dp=1,pp=4,layers=8,gz=0,cpu_ops=0,fault=late_host:rank=2:mode=gc:delay=9ms", 20},
        {"dp=1,pp=4,layers=8,calls=0,steps=8,gz=0,cpu_ops=0,fault=late_host:rank=0:mode=gc:every=2:"
         "delay=9ms",
         20},
        {"dp=2,pp=4,p2p=bare,layers=8,gz=0,cpu_ops=0,fault=late_host:rank=1:mode=gc:every=2:delay="
         "20ms",
         20},
    };
    for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
        test_synth_expect_cost(faults[i].spec, faults[i].percent);
        struct test_synth t = test_synth_open(faults[i].spec, NULL);
        const struct inq_finding *finding = &t.report->findings[0];
        assert_int_equal(finding->n_ranks, 1);
        assert_int_equal(finding->ranks[0], inq_synth_truth(t.synth)->faults[0].ranks[0]);
        assert_true(finding->n_evidence > 0);
        if (strncmp(faults[i].spec, "dp=1", 4) == 0) { /* a stage of one rank has no peers */
            assert_null(strstr(finding->expected, "its peers"));
            assert_non_null(strstr(finding->expected, "the other ranks"));
        }
        test_synth_close(&t);
    }
    /* all at once: nobody's host in particular */
    test_synth_expect(
        "dp=1,pp=2,layers=4,steps=4,gz=0,cpu_ops=0,fault=late_host:rank=0:mode=step:every=2:"
        "delay=5ms,fault=late_host:rank=1:mode=step:every=2:delay=5ms",
        "healthy");
}

/* Kernels vary by more than rare pauses add to a step; idle time does not. */
static void detect__host_that_pauses_now_and_then(void **state)
{
    (void)state;
    static const char *const specs[] = {
        "dp=4,sharded=1,layer=1600,dp_gbps=400,link=5,sigma=0.04,rank_sigma=0.004,seed=710,gz=0,"
        "cpu_ops=0,fault=late_host:rank=3:mode=gc:every=2:delay=9847us",
        "dp=4,pp=2,args=old,ts=abs,layers=4,micro_batches=4,layer=1600,pp_gbps=25,dp_gbps=150,"
        "link=15,sigma=0.005,seed=708,gz=0,cpu_ops=0,fault=late_host:rank=3:mode=gc:every=2:"
        "delay=7894us",
    };

    for (size_t i = 0; i < sizeof(specs) / sizeof(*specs); i++) {
        struct test_synth t = test_synth_open(specs[i], NULL);
        assert_string_equal(t.report->verdict.cls, "late_host");
        assert_int_equal(t.report->findings[0].n_ranks, 1);
        assert_int_equal(t.report->findings[0].ranks[0], 3);
        test_synth_close(&t);
    }
    struct test_synth t =
        test_synth_open("dp=4,layers=4,steps=8,gz=0,cpu_ops=0,fault=late_host:rank=1:mode=gc:"
                        "every=2:delay=12ms",
                        NULL);
    const struct inq_candidate *candidate = &t.report->attribution->candidates[0];
    assert_int_equal(candidate->steps_seen, 4);
    assert_in_range(candidate->late_ns, 9000000,
                    12000000); /* in one of the four, not a mean step */
    test_synth_close(&t);
}

/* What to do about a late host depends on how it is late: each launch is six times as long (the
 * annotation of the longest gap is then not the reason), it stays in data loading, or nothing is
 * recorded of it. */
static void detect__advice_for_a_late_host_follows_what_it_does(void **state)
{
    (void)state;
    static const struct {
        const char *fault, *advice;
    } hosts[] = {
        {"mode=launch:factor=6", "Launch calls are 6.0 times as long as on its peers"},
        {"mode=step:delay=9ms", "in enumerate(DataLoader)"},
        {"mode=pause:delay=9ms", "Look at what the process does then"},
    };
    for (size_t i = 0; i < sizeof(hosts) / sizeof(*hosts); i++) {
        char spec[160];
        (void)snprintf(spec, sizeof spec,
                       "dp=4,steps=6,layers=8,layer=200,seed=7,gz=0,fault=late_host:rank=1:%s",
                       hosts[i].fault);
        struct test_synth t = test_synth_open(spec, NULL);
        const struct inq_finding *finding = find(t.report, INQ_FINDING_LATE_HOST);
        assert_non_null(strstr(finding->advice, hosts[i].advice));
        test_synth_close(&t);
    }
}

/* What waits for somebody else anyway costs nothing alone, and is not said to delay anybody; it is
 * as grave as what it costs once the other is repaired. */
static void detect__slow_rank_behind_a_slower_one(void **state)
{
    (void)state;
    struct test_synth t =
        test_synth_open("dp=8,layers=4,gz=0,cpu_ops=0,fault=slow_gpu:rank=1:factor=1.2,"
                        "fault=late_host:rank=6:mode=step:delay=6ms",
                        NULL);

    assert_string_equal(t.report->verdict.cls, "late_host");
    const struct inq_finding *hidden = find(t.report, INQ_FINDING_SLOW_GPU);
    double step_ns = (double)t.report->account->t_ns;
    assert_true((double)hidden->cost_ns_per_step < 0.01 * step_ns);
    assert_true((double)hidden->in_order_ns >= 0.05 * step_ns);
    assert_int_equal(hidden->severity, INQ_SEVERITY_MEDIUM);
    assert_null(strstr(hidden->title, "holds"));
    test_synth_close(&t);
}

/* Every layer waits for its slowest rank, and one of them is the slowest anyway. */
static void detect__cost_of_a_slow_rank_among_noisy_ones(void **state)
{
    (void)state;
    test_synth_expect_cost(
        "dp=4,tp=4,layers=4,layer=1600,sigma=0.05,steps=8,gz=0,cpu_ops=0,fault=slow_gpu:"
        "rank=10:factor=1.1",
        15);
}

/* Each end counts all its sends and receives, so that their numbers differ. */
static void detect__transfers_with_sequence_numbers_match(void **state)
{
    (void)state;
    struct test_synth t =
        test_synth_open("dp=2,pp=2,layers=4,micro_batches=4,steps=3,args=seq,gz=0,cpu_ops=0", NULL);

    assert_int_equal(t.report->collectives->unmatched, 0);
    test_synth_close(&t);
}

static void detect__bare_transfers_of_replicas_make_a_pipeline(void **state)
{
    (void)state;
    static const char *const specs[] = {
        "dp=2,pp=4,p2p=bare,layers=8,gz=0,cpu_ops=0",
        "dp=2,pp=4,p2p=fused,layers=8,gz=0,cpu_ops=0",
        "dp=2,tp=2,pp=4,p2p=bare,layers=8,gz=0,cpu_ops=0",
    };

    for (size_t k = 0; k < sizeof(specs) / sizeof(specs[0]); k++) {
        struct test_synth t = test_synth_open(specs[k], NULL);
        const struct inq_trace *trace = t.run->traces[0];
        for (size_t r = 0; r < trace->n_ranks; r++) {
            assert_int_equal(trace->ranks[r].clock.offset_ns, 0); /* one host, one clock */
        }
        assert_non_null(t.report->pipeline);
        assert_int_equal(t.report->pipeline->stages, 4);
        assert_int_equal(t.report->pipeline->replicas, trace->n_ranks / 4);
        assert_string_equal(t.report->pipeline->schedule, "1f1b");
        test_synth_close(&t);
    }
}

static void detect__faults_of_one_rank(void **state)
{
    (void)state;
    test_synth_expect("dp=2,pp=2,layers=4,gz=0,cpu_ops=0,fault=slow_gpu:rank=1:factor=1.2",
                      "slow_gpu");
    test_synth_expect("dp=4,layers=4,gz=0,cpu_ops=0,fault=more_work:rank=1:factor=1.2:mode=size",
                      "more_work");
    test_synth_expect("dp=4,layers=4,gz=0,cpu_ops=0,fault=more_work:rank=1:factor=1.2:mode=count",
                      "more_work");
    test_synth_expect("dp=4,layers=4,gz=0,cpu_ops=0,fault=late_host:rank=3:mode=step:delay=3ms",
                      "late_host");
}

static void detect__no_late_host_in_records_that_are_cut(void **state)
{
    (void)state;
    struct test_synth t =
        test_synth_open("dp=1,pp=4,layers=8,micro_batches=8,layer=800,host_sigma=0.4,"
                        "seed=9102,gz=0,cpu_ops=0,fault=missing_rank:rank=3",
                        NULL);
    for (size_t i = 0; i < t.report->n_findings; i++) {
        assert_int_not_equal(t.report->findings[i].kind, INQ_FINDING_LATE_HOST);
    }
    test_synth_close(&t);
    test_synth_expect(
        "dp=1,pp=4,layers=8,pp_gbps=8,micro_batches=12,layer=800,pp_gbps=200,dp_gbps=150,link=5,"
        "sigma=0.040,args=old,ts=abs,seed=7000,gz=0,cpu_ops=0,fault=cut_file:rank=0:at=0.30",
        "damaged_input");
    test_synth_expect(
        "dp=2,pp=4,p2p=bare,layers=8,micro_batches=12,layer=500,pp_gbps=50,dp_gbps=60,link=15,"
        "sigma=0.005,step_sigma=0.006,host_sigma=0.4,seed=7000,gz=0,cpu_ops=0,fault=cut_file:"
        "rank=2:at=0.30",
        "damaged_input");
}

/* Old records of an interleaved pipeline pair few transfers rightly: that moves no clock. */
static void detect__one_clock_of_a_host_where_transfers_are_in_doubt(void **state)
{
    (void)state;
    struct test_synth t =
        test_synth_open("dp=2,pp=4,chunks=2,labels=1,layers=16,micro_batches=12,layer=500,"
                        "pp_gbps=8,dp_gbps=150,link=5,args=old,ts=abs,seed=1000,gz=0,cpu_ops=0",
                        NULL);
    const struct inq_trace *trace = t.run->traces[0];

    for (size_t r = 0; r < trace->n_ranks; r++) {
        assert_int_equal(trace->ranks[r].clock.offset_ns, 0);
    }
    for (size_t i = 0; i < t.report->n_findings; i++) {
        assert_int_not_equal(t.report->findings[i].kind, INQ_FINDING_LATE_HOST);
    }
    test_synth_close(&t);
}

/* The other of two replicas has a host that pauses now and then: the differences of the two vary
 * with that, and a GPU's compute does not. */
static void detect__slow_gpu_beside_a_host_that_pauses(void **state)
{
    (void)state;
    struct test_synth t = test_synth_open("dp=2,pp=4,layers=8,p2p=batched,steps=8,seed=311117,gz=0,"
                                          "fault=slow_gpu:rank=1:factor=1.3,"
                                          "fault=late_host:rank=0:delay=6ms:mode=pause:every=2",
                                          NULL);
    const struct inq_finding *gpu = find(t.report, INQ_FINDING_SLOW_GPU);
    const struct inq_finding *host = find(t.report, INQ_FINDING_LATE_HOST);
    int64_t t_ns = t.report->account->t_ns;

    assert_ptr_equal(gpu, &t.report->findings[0]);
    assert_int_equal(gpu->n_ranks, 1);
    assert_int_equal(gpu->ranks[0], 1);
    assert_non_null(strstr(gpu->title, "30 % slower"));
    assert_int_equal(host->n_ranks, 1);
    assert_int_equal(host->ranks[0], 0);
    assert_non_null(strstr(host->title, "in 4 of 8 steps"));
    /* both together: 8.9 % of the step, by the same run without the faults */
    assert_in_range(gpu->cost_ns_per_step + host->in_order_ns, t_ns * 79 / 1000, t_ns * 99 / 1000);
    test_synth_close(&t);
}

/* One rank's GPU is slow and its host late: two causes, that share what the rank costs. */
static void detect__gpu_and_host_of_one_rank(void **state)
{
    (void)state;
    struct test_synth t = test_synth_open("dp=4,tp=4,gpus_per_host=8,layers=4,steps=8,gz=0,"
                                          "fault=slow_gpu:rank=0:factor=1.3,"
                                          "fault=late_host:rank=0:delay=6ms:mode=pause:every=2",
                                          NULL);
    const struct inq_finding *gpu = find(t.report, INQ_FINDING_SLOW_GPU);
    const struct inq_finding *host = find(t.report, INQ_FINDING_LATE_HOST);

    assert_int_equal(gpu->n_ranks, 1);
    assert_int_equal(gpu->ranks[0], 0);
    assert_int_equal(host->n_ranks, 1);
    assert_int_equal(host->ranks[0], 0);
    assert_true(gpu->severity >= INQ_SEVERITY_MEDIUM);
    assert_true(host->severity >= INQ_SEVERITY_MEDIUM);
    test_synth_close(&t);
}

/* What is gained by evening out stages is what a run without the longer stage, but as much work on
 * all, took: also where receives were posted early and had arrived before their passes began, where
 * the record begins and ends between a receive and its pass, and where records name no peers. */
static void detect__stages_of_a_pipeline_with_early_receives(void **state)
{
    static const struct {
        const char *spec, *evenly;
        enum inq_confidence confidence;
    } cases[] = {
        {"dp=2,pp=4,layers=8,steps=5,micro_batches=8,early_recv=0,cpu_ops=0", "7:factor=1.075",
         INQ_CONFIDENCE_ESTABLISHED},
        {"dp=2,pp=4,layers=8,steps=5,micro_batches=8,early_recv=2,cpu_ops=0", "7:factor=1.075",
         INQ_CONFIDENCE_ESTABLISHED},
        {"dp=1,pp=4,layers=4,steps=8,micro_batches=12,early_recv=2,cpu_ops=0,window=ragged",
         "3:factor=1.075", INQ_CONFIDENCE_SUPPORTED},
        {"dp=2,pp=2,layers=4,steps=8,micro_batches=4,early_recv=2,args=old", "3:factor=1.15",
         INQ_CONFIDENCE_SUPPORTED},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char spec[512];
        (void)snprintf(spec, sizeof spec, "%s,gz=0,fault=slow_gpu:rank=0:last=%s", cases[i].spec,
                       cases[i].evenly);
        struct test_synth even = test_synth_open(spec, NULL);
        (void)snprintf(strstr(spec, ",fault"), 64, ",fault=long_last_stage:factor=1.3");
        struct test_synth t = test_synth_open(spec, NULL);
        const struct inq_finding *stage = find(t.report, INQ_FINDING_SLOW_LAST_STAGE);
        int64_t gain_ns = t.report->account->t_ns - even.report->account->t_ns;
        print_message("%s: %lld of %lld ns, true %lld\n", cases[i].spec,
                      (long long)stage->cost_ns_per_step, (long long)t.report->account->t_ns,
                      (long long)gain_ns);
        assert_ptr_equal(stage, &t.report->findings[0]);
        assert_true(stage->confidence >= cases[i].confidence);
        assert_true(llabs(stage->cost_ns_per_step - gain_ns) * 100 <= t.report->account->t_ns);
        test_synth_close(&even);
        test_synth_close(&t);
    }
}

/* Where the record does not say which transfers are receives, what those that ran beside compute
 * feed is not known: what evening out would gain is not established. */
static void detect__stages_of_a_pipeline_with_early_transfers_of_unknown_direction(void **state)
{
    (void)state;
    struct test_synth t =
        test_synth_open("dp=2,pp=4,layers=8,steps=8,micro_batches=8,early_recv=2,p2p=bare,"
                        "gz=0,cpu_ops=0,fault=long_last_stage:factor=1.3",
                        NULL);
    assert_int_equal(find(t.report, INQ_FINDING_SLOW_LAST_STAGE)->confidence,
                     INQ_CONFIDENCE_SUPPORTED);
    test_synth_close(&t);
}

/* So with a slow GPU in a pipeline of one replica, where the next stages hide what arrives early.
 */
static void detect__cost_of_a_slow_gpu_beside_early_receives(void **state)
{
    (void)state;
    test_synth_expect_cost(
        "dp=1,pp=8,layers=16,steps=5,micro_batches=16,early_recv=1,gz=0,cpu_ops=0,"
        "fault=slow_gpu:rank=5:factor=1.3",
        3);
    test_synth_expect_cost(
        "dp=1,pp=8,layers=16,steps=5,micro_batches=8,early_recv=2,gz=0,cpu_ops=0,"
        "fault=slow_gpu:rank=5:factor=1.3",
        3);
}

/* Two ranks alone in their role: one is slow, and the host of the other pauses every other step, so
 * that their own times are alike. Each is told, the host by how late it is and not by how much its
 * rank differs from a slow one. */
static void detect__slow_gpu_whose_only_peer_pauses(void **state)
{
    (void)state;
    struct test_synth t = test_synth_open("dp=2,pp=4,layers=8,p2p=batched,steps=8,seed=777117,gz=0,"
                                          "fault=slow_gpu:rank=1:factor=1.15,"
                                          "fault=late_host:rank=0:delay=6ms:mode=pause:every=2",
                                          NULL);
    const struct inq_synth_truth_fault *truth = inq_synth_truth(t.synth)->faults;
    const struct inq_finding *gpu = find(t.report, INQ_FINDING_SLOW_GPU);
    const struct inq_finding *host = find(t.report, INQ_FINDING_LATE_HOST);

    assert_int_equal(gpu->ranks[0], 1);
    assert_int_equal(host->ranks[0], 0);
    assert_in_range(gpu->cost_ns_per_step, truth[0].cost_ns_per_step * 97 / 100,
                    truth[0].cost_ns_per_step * 103 / 100);
    assert_in_range(host->cost_ns_per_step, truth[1].cost_ns_per_step * 97 / 100,
                    truth[1].cost_ns_per_step * 103 / 100);
    assert_ptr_equal(strstr(host->title, "Rank 0's host launches 5.9"), host->title);
    test_synth_close(&t);
}

/* A pause now and then beside small delays in every step: what is told is the pause. */
static void detect__pauses_beside_small_delays(void **state)
{
    (void)state;
    struct test_synth t = test_synth_open("dp=4,steps=9,seed=5,gz=0,"
                                          "fault=late_host:rank=3:delay=400us:mode=pause,"
                                          "fault=late_host:rank=3:delay=60ms:mode=pause:every=8",
                                          NULL);
    const struct inq_finding *host = find(t.report, INQ_FINDING_LATE_HOST);
    assert_ptr_equal(strstr(host->title, "Rank 3's host launches 60.4 ms late in 2 of 9 steps"),
                     host->title);
    test_synth_close(&t);
}

/* A host that is late because it has more kernels to launch, and one that pauses for as long. */
static void detect__hosts_that_launch_more(void **state)
{
    (void)state;
#define HOSTS_WORK "dp=4,steps=6,seed=5,gz=0,layers=4,layer=60us,op=40us,launch=10us,"
    static const struct {
        const char *spec;
        bool more;
    } cases[] = {{HOSTS_WORK "fault=more_work:rank=2:factor=6:mode=count", true},
                 {HOSTS_WORK "fault=late_host:rank=2:delay=20ms:mode=pause", false},
                 {HOSTS_WORK "fault=more_work:rank=2:factor=1.5:mode=count,"
                             "fault=late_host:rank=2:delay=20ms:mode=pause",
                  false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct test_synth t = test_synth_open(cases[i].spec, NULL);
        const struct inq_finding *host = find(t.report, INQ_FINDING_LATE_HOST);
        assert_int_equal(strstr(host->title, "times as many kernels to launch") != NULL,
                         cases[i].more);
        test_synth_close(&t);
    }
}

/* What costs nothing as long as another fault costs more says what it costs after that. */
static void detect__host_behind_a_slower_gpu(void **state)
{
    (void)state;
    struct test_synth t = test_synth_open("dp=2,pp=4,layers=8,p2p=batched,steps=8,seed=777127,gz=0,"
                                          "fault=slow_gpu:rank=5:factor=1.3,"
                                          "fault=late_host:rank=0:delay=6ms:mode=pause:every=2",
                                          NULL);
    const struct inq_finding *host = find(t.report, INQ_FINDING_LATE_HOST);

    assert_int_equal(host->severity, INQ_SEVERITY_LOW);
    assert_true(host->cost_ns_per_step * 100 < t.report->account->t_ns);
    assert_non_null(strstr(host->title, " after repair of rank 5's GPU"));
    test_synth_close(&t);
}

/* Two faults side by side in a pipeline: without either alone the other still keeps all waiting.
 * The one that hides is told with the other, however little it gains alone. */
static void detect__neither_of_two_faults_gains_alone(void **state)
{
    (void)state;
    struct test_synth t =
        test_synth_open("tp=2,pp=4,dp=2,steps=5,seed=92,gz=0,p2p=batched,micro_batches=8,"
                        "fault=slow_gpu:rank=9:factor=1.2,fault=late_host:rank=3:delay=6ms",
                        NULL);
    const struct inq_synth_truth *truth = inq_synth_truth(t.synth);
    int64_t lost_ns = truth->mean_step_ns - truth->mean_step_ns_healthy;
    const struct inq_finding *gpu = find(t.report, INQ_FINDING_SLOW_GPU);
    const struct inq_finding *host = find(t.report, INQ_FINDING_LATE_HOST);

    assert_int_equal(gpu->ranks[0], 9);
    assert_int_equal(host->ranks[0], 3);
    assert_true(gpu->cost_ns_per_step * 100 < t.report->account->t_ns);
    assert_true(host->cost_ns_per_step * 100 < t.report->account->t_ns);
    assert_in_range(gpu->joint_ns, lost_ns * 95 / 100, lost_ns * 105 / 100);
    assert_string_equal(gpu->joint_fix, "replace-rank:9+repair-host:3");
    assert_ptr_equal(gpu, &t.report->findings[0]);
    assert_non_null(strstr(gpu->title, "alone, "));
    assert_non_null(strstr(gpu->title, " together with rank 3's host"));
    assert_non_null(strstr(host->title, " after repair of rank 9's GPU"));
    assert_non_null(strstr(t.report->verdict.next, gpu->joint_fix));
    test_synth_close(&t);
}

/* Of GPUs that are told together the title has each one's part, unless they are nearly alike. */
static void detect__slow_gpus_are_not_told_by_a_mean_of_none(void **state)
{
    (void)state;
    static const struct {
        const char *faults, *title;
    } cases[] = {{"fault=slow_gpu:rank=0:factor=1.6,fault=slow_gpu:rank=10:factor=1.08",
                  "The GPUs of ranks 0 and 10 are 8 to 60 % slower"},
                 {"fault=slow_gpu:rank=0:factor=3.1,fault=slow_gpu:rank=10:factor=2.9",
                  "The GPUs of ranks 0 and 10 are 200 % (190 to 210 %) slower"},
                 {"fault=slow_gpu:rank=0:factor=1.3,fault=slow_gpu:rank=10:factor=1.28",
                  "The GPUs of ranks 0 and 10 are 29 % slower"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char spec[200];
        (void)snprintf(spec, sizeof spec, "dp=16,steps=6,seed=719830,gz=0,rank_sigma=0,%s",
                       cases[i].faults);
        struct test_synth t = test_synth_open(spec, NULL);
        assert_ptr_equal(strstr(t.report->findings[0].title, cases[i].title),
                         t.report->findings[0].title);
        test_synth_close(&t);
    }
}

/* Half of the GPUs are slow, and the host of one of the others is later still: own time falls into
 * no two parts, its compute and its idle time do. Each slow GPU alone gains nothing, and all
 * together nothing before the host is repaired: they are one cause. */
static void detect__half_of_the_gpus_beside_a_late_host(void **state)
{
    (void)state;
    struct test_synth t = test_synth_open("dp=8,steps=6,seed=5,gz=0,"
                                          "fault=slow_gpu:rank=0:last=3:factor=1.15,"
                                          "fault=late_host:rank=6:delay=4500us",
                                          NULL);
    const struct inq_synth_truth *truth = inq_synth_truth(t.synth);
    int64_t lost_ns = truth->mean_step_ns - truth->mean_step_ns_healthy;
    int64_t host_ns = truth->faults[1].cost_ns_per_step;
    const struct inq_finding *gpus = find(t.report, INQ_FINDING_SLOW_GPU);
    const struct inq_finding *host = find(t.report, INQ_FINDING_LATE_HOST);

    assert_ptr_equal(host, &t.report->findings[0]);
    assert_int_equal(host->n_ranks, 1);
    assert_int_equal(host->ranks[0], 6);
    assert_in_range(host->cost_ns_per_step, host_ns * 95 / 100, host_ns * 105 / 100);
    assert_int_equal(gpus->n_ranks, 4);
    assert_int_equal(gpus->ranks[3], 3);
    assert_true(gpus->cost_ns_per_step * 100 < t.report->account->t_ns);
    assert_in_range(gpus->in_order_ns + host->cost_ns_per_step, lost_ns * 95 / 100,
                    lost_ns * 105 / 100);
    assert_non_null(strstr(gpus->title, " after repair of rank 6's host"));
    test_synth_close(&t);
}

/* A rank without a trace holds the simulated step: what the others wait is told as a bound. */
static void detect__slow_gpu_beside_a_missing_rank(void **state)
{
    (void)state;
    struct test_synth t = test_synth_open("dp=4,tp=4,gpus_per_host=8,layers=4,steps=8,gz=0,"
                                          "fault=slow_gpu:rank=2,"
                                          "fault=missing_rank:rank=0:last=0",
                                          NULL);
    const struct inq_finding *gpu = find(t.report, INQ_FINDING_SLOW_GPU);
    int64_t truth = inq_synth_truth(t.synth)->faults[0].cost_ns_per_step;

    assert_ptr_equal(gpu, &t.report->findings[0]);
    assert_int_equal(gpu->ranks[0], 2);
    assert_int_equal(gpu->in_order_ns, -1);
    assert_true(gpu->confidence < INQ_CONFIDENCE_ESTABLISHED);
    assert_non_null(strstr(gpu->title, "up to"));
    /* the ranks of the missing one's group wait a little less than all others */
    assert_in_range(gpu->cost_ns_per_step, truth * 85 / 100, truth * 115 / 100);
    test_synth_close(&t);
}

/* Stages that talk in the group of all ranks, nobody says with whom: a rank's place among all is
 * not its stage, and its peers are not alone in theirs. */
static void detect__host_where_stages_talk_in_the_group_of_all(void **state)
{
    (void)state;
    test_synth_expect_cost(
        "dp=2,tp=2,pp=2,steps=5,seed=21004,layers=4,micro_batches=2,p2p=args,"
        "p2p_group=world,args=old,gz=0,fault=late_host:rank=6:delay=8ms:mode=step",
        4);
}

/* The stages of one replica have no peers, but their hosts do much the same: three tell which is
 * late, by how much, and in which steps. */
static void detect__late_host_among_stages_of_one_replica(void **state)
{
    (void)state;
    test_synth_expect_cost(
        "dp=1,pp=3,layers=3,micro_batches=3,steps=8,early_recv=1,p2p_group=world,clock=1ms,"
        "drift=20,seed=51010,gz=0,fault=late_host:rank=0:delay=8ms:mode=step",
        3);
    test_synth_expect_cost(
        "dp=1,pp=8,layers=8,micro_batches=16,p2p=args,early_recv=1,seed=21015,cpu_ops=0,"
        "labels=1,gz=0,fault=late_host:rank=4:delay=8ms:mode=step",
        3);
    struct test_synth t =
        test_synth_open("dp=1,pp=3,layers=3,micro_batches=3,steps=8,early_recv=1,gz=0,cpu_ops=0,"
                        "seed=5,fault=late_host:rank=0:delay=8ms:mode=pause:every=4",
                        NULL);
    const struct inq_finding *host = find(t.report, INQ_FINDING_LATE_HOST);
    assert_non_null(strstr(host->title, "Rank 0's host launches 8.08 ms late in 2 of 8 steps"));
    test_synth_close(&t);
    test_synth_expect(
        "dp=1,pp=8,layers=8,micro_batches=8,steps=8,early_recv=1,gz=0,cpu_ops=0,seed=6", "healthy");
}

/* A stage of which one forward was not told apart does not take a micro-batch from all. */
static void detect__micro_batches_of_receives_posted_a_step_ahead(void **state)
{
    (void)state;
    struct test_synth t = test_synth_open(
        "dp=2,tp=2,pp=8,steps=3,gz=0,seed=42037,layers=8,micro_batches=8,p2p=args,early_recv=2,"
        "args=old,cpu_ops=0,sync=4,gpus_per_host=2",
        NULL);
    assert_non_null(t.report->pipeline);
    assert_int_equal(t.report->pipeline->microbatches, 8);
    test_synth_close(&t);
}

/* Whether a finding of this kind names this rank alone; those of the kind name no other. */
static bool names(const char *spec, enum inq_finding_kind kind, int32_t rank)
{
    struct test_synth t = test_synth_open(spec, NULL);
    bool named = false;

    for (size_t i = 0; i < t.report->n_findings; i++) {
        const struct inq_finding *f = &t.report->findings[i];
        bool of_kind = f->kind == kind && f->severity >= INQ_SEVERITY_LOW;
        assert_true(!of_kind || (f->n_ranks == 1 && f->ranks[0] == rank));
        named = named || of_kind;
    }
    test_synth_close(&t);
    return named;
}

/* Ranks that compute for a third of the step: of a few, one is told by 2 % of what they compute
 * that makes 1 % of the step, not by 2 % of the step. */
static void detect__slow_gpu_among_few_by_what_they_compute(void **state)
{
    (void)state;
    assert_false(names("dp=3,pp=2,micro_batches=1,layers=2,steps=8,sync=4,seed=4369,gz=0,"
                       "fault=slow_gpu:rank=1:factor=1.02",
                       INQ_FINDING_SLOW_GPU, 1));
    assert_true(names("dp=3,pp=2,micro_batches=1,layers=2,steps=8,sync=4,seed=4369,gz=0,"
                      "fault=slow_gpu:rank=1:factor=1.05",
                      INQ_FINDING_SLOW_GPU, 1));
}

/* Four ranks of a stage do not tell how chips differ, but sixteen of four stages do. */
static void detect__slow_gpu_by_what_ranks_of_all_stages_differ(void **state)
{
    (void)state;
    assert_true(names("dp=4,pp=4,micro_batches=8,layers=8,p2p=batched,steps=9,sync=4,"
                      "window=ragged,seed=412807,gz=0,"
                      "fault=slow_gpu:every=5:rank=6:factor=1.2",
                      INQ_FINDING_SLOW_GPU, 6));
}

/* The first stage loads the data in every step; what comes in every second one is not its place. */
static void detect__host_of_the_first_stage_that_pauses_now_and_then(void **state)
{
    (void)state;
    assert_true(names("dp=1,pp=4,micro_batches=8,layers=8,p2p=batched,steps=10,seed=926485,gz=0,"
                      "fault=late_host:rank=0:delay=6ms:mode=pause:every=2",
                      INQ_FINDING_LATE_HOST, 0));
}

/* 1.5 % of a step: too little to be told between two ranks, but sixteen of eight stages say how
 * hosts differ. */
static void detect__late_host_by_what_ranks_of_all_stages_differ(void **state)
{
    (void)state;
    assert_true(names("dp=1,tp=2,pp=8,micro_batches=24,layers=16,p2p=args,steps=10,seed=247998,"
                      "gz=0,fault=late_host:rank=0:delay=6ms:mode=pause:every=2",
                      INQ_FINDING_LATE_HOST, 0));
}

/* Of two ranks the one is late by 3 % in every step: what they differ by is not what chance
 * explains. */
static void detect__late_host_of_two_in_every_step(void **state)
{
    (void)state;
    assert_true(names("dp=2,pp=2,micro_batches=1,layers=4,p2p=batched,labels=1,gpus_per_host=2,"
                      "steps=10,args=seq,window=ragged,ts=split,lean=1,sigma=0.04,seed=521532,gz=0,"
                      "fault=late_host:mode=launch:rank=1:factor=2",
                      INQ_FINDING_LATE_HOST, 1));
}

static void detect__nothing_in_healthy_runs(void **state)
{
    (void)state;
    test_synth_expect("dp=4,layers=4,gz=0,cpu_ops=0,fault=jitter:sigma=0.05", "healthy");
    test_synth_expect("dp=4,tp=2,layers=4,gpus_per_host=2,clock=3ms,gz=0,cpu_ops=0", "healthy");
    test_synth_expect("dp=2,pp=2,layers=4,labels=1,window=ragged,gz=0,cpu_ops=0", "healthy");
    test_synth_expect("dp=1,pp=4,layers=8,gz=0,cpu_ops=0,fault=jitter:sigma=0.1", "healthy");
    test_synth_expect("dp=2,pp=4,p2p=bare,layers=8,gz=0,cpu_ops=0,fault=jitter:sigma=0.1",
                      "healthy");
}

/* A GPU whose clock is low spares the optimizer's kernels. Among experts with uneven work, evening
 * that out gains all that the GPU costs, and more: it was told as sequences of different length. */
static void detect__low_clock_among_uneven_experts(void **state)
{
    (void)state;
    static const char *const specs[] = {
        "dp=16,experts=1,layers=4,steps=8,shapes=1,gz=0,cpu_ops=0,seed=1,"
        "fault=low_clock:rank=5:factor=1.2,fault=uneven_experts:sigma=0.05",
        "dp=16,experts=1,layers=4,steps=8,shapes=1,gz=0,cpu_ops=0,seed=3,"
        "fault=low_clock:rank=5:factor=1.3,fault=uneven_experts:sigma=0.1"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        test_synth_expect_cost(specs[i], 5);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(detect__healthy_pipeline_says_why_it_waits),
        cmocka_unit_test(detect__where_the_loss_is_read),
        cmocka_unit_test(detect__long_last_stage),
        cmocka_unit_test(detect__evened_stages_keep_the_work),
        cmocka_unit_test(detect__uneven_sequences),
        cmocka_unit_test(detect__cost_of_uneven_sequences_in_a_pipeline),
        cmocka_unit_test(detect__cost_of_uneven_sequences_with_experts),
        cmocka_unit_test(detect__cost_of_uneven_sequences_with_early_receives),
        cmocka_unit_test(detect__cost_of_few_uneven_sequences),
        cmocka_unit_test(detect__uneven_sequences_are_no_ranks_with_more_work),
        cmocka_unit_test(detect__half_of_the_ranks_and_a_second_fault),
        cmocka_unit_test(detect__cost_of_uneven_work_without_the_noise),
        cmocka_unit_test(detect__cost_of_a_slow_gpu_beside_overlapped_transfers),
        cmocka_unit_test(detect__cost_of_a_late_host_where_all_are_launch_bound),
        cmocka_unit_test(detect__cost_of_a_slow_rank_in_a_pipeline),
        cmocka_unit_test(detect__host_that_is_late_now_and_then_in_a_pipeline),
        cmocka_unit_test(detect__host_that_pauses_now_and_then),
        cmocka_unit_test(detect__advice_for_a_late_host_follows_what_it_does),
        cmocka_unit_test(detect__slow_rank_behind_a_slower_one),
        cmocka_unit_test(detect__cost_of_a_slow_rank_among_noisy_ones),
        cmocka_unit_test(detect__transfers_with_sequence_numbers_match),
        cmocka_unit_test(detect__bare_transfers_of_replicas_make_a_pipeline),
        cmocka_unit_test(detect__faults_of_one_rank),
        cmocka_unit_test(detect__no_late_host_in_records_that_are_cut),
        cmocka_unit_test(detect__one_clock_of_a_host_where_transfers_are_in_doubt),
        cmocka_unit_test(detect__slow_gpu_beside_a_host_that_pauses),
        cmocka_unit_test(detect__gpu_and_host_of_one_rank),
        cmocka_unit_test(detect__stages_of_a_pipeline_with_early_receives),
        cmocka_unit_test(detect__stages_of_a_pipeline_with_early_transfers_of_unknown_direction),
        cmocka_unit_test(detect__cost_of_a_slow_gpu_beside_early_receives),
        cmocka_unit_test(detect__slow_gpu_whose_only_peer_pauses),
        cmocka_unit_test(detect__pauses_beside_small_delays),
        cmocka_unit_test(detect__hosts_that_launch_more),
        cmocka_unit_test(detect__host_behind_a_slower_gpu),
        cmocka_unit_test(detect__neither_of_two_faults_gains_alone),
        cmocka_unit_test(detect__half_of_the_gpus_beside_a_late_host),
        cmocka_unit_test(detect__slow_gpus_are_not_told_by_a_mean_of_none),
        cmocka_unit_test(detect__slow_gpu_beside_a_missing_rank),
        cmocka_unit_test(detect__host_where_stages_talk_in_the_group_of_all),
        cmocka_unit_test(detect__late_host_among_stages_of_one_replica),
        cmocka_unit_test(detect__micro_batches_of_receives_posted_a_step_ahead),
        cmocka_unit_test(detect__slow_gpu_among_few_by_what_they_compute),
        cmocka_unit_test(detect__slow_gpu_by_what_ranks_of_all_stages_differ),
        cmocka_unit_test(detect__host_of_the_first_stage_that_pauses_now_and_then),
        cmocka_unit_test(detect__late_host_by_what_ranks_of_all_stages_differ),
        cmocka_unit_test(detect__late_host_of_two_in_every_step),
        cmocka_unit_test(detect__low_clock_among_uneven_experts),
        cmocka_unit_test(detect__nothing_in_healthy_runs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
