/* SPDX-License-Identifier: Apache-2.0 */
/* Slow links: which of them, and what they cost. */
#include "inquest/analysis.h"

#include "support_synth.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void links__of_a_group(void **state)
{
    (void)state;
    struct test_synth t = test_synth_open(
        "dp=4,tp=2,layers=4,gz=0,cpu_ops=0,fault=slow_link:rank=5:factor=4:links=tp", NULL);

    assert_string_equal(t.report->verdict.cls, "slow_link");
    assert_int_equal(t.report->findings[0].n_ranks, 2);
    assert_int_equal(t.report->findings[0].ranks[0], 4);
    assert_int_equal(t.report->findings[0].ranks[1], 5);
    test_synth_close(&t);
}

static void links__that_meet_in_one_rank(void **state)
{
    (void)state;
    struct test_synth t = test_synth_open(
        "dp=4,tp=4,layers=4,gz=0,cpu_ops=0,fault=slow_link:rank=6:factor=4:links=all", NULL);

    assert_string_equal(t.report->verdict.cls, "slow_link");
    assert_int_equal(t.report->findings[0].n_ranks, 1);
    assert_int_equal(t.report->findings[0].ranks[0], 6);
    test_synth_close(&t);
}

/* Ranks of the first finding, which is the links of one host to others, with `stages` of
 * `replicas`, a host each; 0: there is no finding. */
static size_t ranks_of_slow_host(int stages, int replicas, const char *factor)
{
    char spec[400];
    (void)snprintf(spec, sizeof spec,
                   "dp=%d,pp=%d,layers=8,micro_batches=8,steps=3,gpus_per_host=%d,gz=0,cpu_ops=0,"
                   "fault=slow_link:links=pp:host=1:factor=%s",
                   replicas, stages, replicas, factor);
    struct test_synth t = test_synth_open(spec, NULL);
    bool any = strcmp(t.report->verdict.cls, "slow_link") == 0;
    size_t n = any ? t.report->findings[0].n_ranks : 0;

    for (size_t i = 0; i < n; i++) {
        assert_int_equal(t.report->findings[0].ranks[i], replicas + (int)i);
    }
    if (any) { /* all of what it costs, not what one of the links does */
        assert_true(t.report->findings[0].cost_ns_per_step >
                    t.report->attribution->candidates[0].step_ns / 25);
    }
    test_synth_close(&t);
    return n;
}

/* A host in two of the three links between stages makes the usual link a slow one. */
static void links__of_a_host_that_is_in_most(void **state)
{
    (void)state;
    assert_int_equal(ranks_of_slow_host(4, 4, "4"), 4);
    assert_int_equal(ranks_of_slow_host(4, 4, "1.2"), 0); /* a quarter parts two sets */
}

/* Transfers that name no peer are now and then matched with the wrong one: such a link, too small
 * for a finding, does not keep the others from having a host in common. */
static void links__of_a_host_and_one_that_is_mistaken(void **state)
{
    (void)state;
    assert_int_equal(ranks_of_slow_host(4, 4, "1.6,p2p=bare,steps=4,clock=1ms,drift=20,seed=7"), 4);
}

/* Ranks of the first finding, which is a slow link. */
static size_t ranks_of(const char *faults)
{
    char spec[400];
    (void)snprintf(spec, sizeof spec,
                   "dp=1,pp=4,layers=8,micro_batches=8,steps=6,gpus_per_host=2,gz=0,cpu_ops=0,"
                   "link_sigma=0,%s",
                   faults);
    struct test_synth t = test_synth_open(spec, NULL);
    size_t n = t.report->findings[0].n_ranks;

    assert_string_equal(t.report->verdict.cls, "slow_link");
    assert_true(t.report->findings[0].ranks[n - 1] == 1);
    test_synth_close(&t);
    return n;
}

/* The only link between two hosts, and the way back of interleaved stages, have no like: they are
 * slow with another link of the same rank that takes as long, give or take a quarter. */
static void links__without_their_like(void **state)
{
    (void)state;
    test_synth_expect_loss(
        "dp=1,pp=4,layers=8,micro_batches=8,steps=8,gpus_per_host=2,gz=0,cpu_ops=0,"
        "fault=slow_link:links=pp:rank=1:factor=16",
        "slow_link");
    test_synth_expect_loss("dp=1,pp=4,layers=8,micro_batches=4,chunks=2,steps=8,gz=0,cpu_ops=0,"
                           "fault=slow_link:links=pp:rank=0:factor=16",
                           "slow_link");
    assert_int_equal(ranks_of("fault=slow_link:links=pp:rank=1:peer=0:factor=10,"
                              "fault=slow_link:links=pp:rank=1:peer=2:factor=8.1"),
                     1);
    assert_int_equal(ranks_of("fault=slow_link:links=pp:rank=1:peer=0:factor=10,"
                              "fault=slow_link:links=pp:rank=1:peer=2:factor=7.9"),
                     2);
    assert_int_equal(ranks_of("fault=slow_link:links=pp:rank=1:peer=0:factor=10"), 2);
}

/* Replicas in step, whose transfers say nothing but that they send or receive: they are told apart
 * by their ends, on clocks that the named collectives align. */
static void links__of_transfers_that_name_no_peer(void **state)
{
    (void)state;
    static const char *const records[] = {"args", "bare", "fused", "batched"};

    for (size_t k = 0; k < sizeof(records) / sizeof(records[0]); k++) {
        char spec[256];
        (void)snprintf(spec, sizeof spec,
                       "dp=2,tp=2,pp=2,layers=4,p2p=%s,gz=0,cpu_ops=0,"
                       "fault=slow_link:links=pp:rank=7:factor=20",
                       records[k]);
        struct test_synth t = test_synth_open(spec, NULL);
        int64_t truth_ns = inq_synth_truth(t.synth)->faults[0].cost_ns_per_step;
        const struct inq_finding *finding = &t.report->findings[0];

        assert_string_equal(t.report->verdict.cls, "slow_link");
        assert_int_equal(finding->n_ranks, 2);
        assert_int_equal(finding->ranks[0], 3);
        assert_int_equal(finding->ranks[1], 7);
        assert_in_range(finding->cost_ns_per_step, truth_ns * 90 / 100, truth_ns * 110 / 100);
        assert_null(strstr(finding->detail, "inferred")); /* our name for a group is nobody's */
        /* ends that fall together by chance cost few */
        assert_true(t.run->traces[0]->unmatched_comms * 100 <= t.run->traces[0]->n_collectives);
        test_synth_close(&t);
    }
}

/* A capture that begins where the host is steps ahead has kernels whose launches, and with them
 * their peers, lie before it; their partners name them. */
static void links__of_transfers_launched_before_the_capture(void **state)
{
    (void)state;
    struct test_synth t = test_synth_open(
        "dp=4,pp=2,micro_batches=1,layers=2,p2p=batched,gpus_per_host=4,steps=12,sync=4,wait=item,"
        "clock=1ms,window=ragged,sigma=0.04,seed=393826,gz=0,"
        "fault=slow_link:links=pp:rank=2:factor=16",
        NULL);

    assert_string_equal(t.report->verdict.cls, "slow_link");
    assert_in_range((int64_t)(t.report->findings[0].share * 1000.0), 590, 610); /* true: 60.1 % */
    /* kernels whose partners began later */
    assert_true(t.run->traces[0]->unmatched_comms <= 5);
    test_synth_close(&t);
}

/* Two stages that send on streams of their own have no order but the ends. */
static void links__of_two_stages_that_name_no_peer(void **state)
{
    (void)state;
    struct test_synth t =
        test_synth_open("dp=1,pp=2,layers=4,p2p=bare,gz=0,cpu_ops=0,link_sigma=0", NULL);
    const struct inq_trace *trace = t.run->traces[0];
    for (size_t i = 0; i < trace->n_collectives; i++) {
        const struct inq_collective *c = &trace->collectives[i];
        int64_t end_ns[2];
        for (uint32_t m = 0; m < 2; m++) {
            const struct inq_member *member = &trace->members[c->first_member + m];
            const struct inq_events *e = &trace->ranks[member->rank].events;
            end_ns[m] = e->start_ns[member->event] + e->dur_ns[member->event];
        }
        assert_in_range(end_ns[0] - end_ns[1] + 10000, 0, 20000);
    }
    assert_int_equal(trace->unmatched_comms, 0);
    test_synth_close(&t);
}

/* Ranks of a tensor group end their transfers together on one clock, better than partners do on two
 * that drift: they are none, and no link costs more than its transfers take. */
static void links__are_not_between_ranks_that_share_a_tensor(void **state)
{
    (void)state;
    struct test_synth t = test_synth_open(
        "dp=2,tp=2,pp=4,micro_batches=4,layers=8,p2p=batched,gpus_per_host=2,steps=11,args=old,"
        "clock=1ms,drift=20,window=ragged,step_sigma=0.006,seed=104918,gz=0,cpu_ops=0,"
        "fault=slow_link:links=pp:rank=12:factor=4",
        NULL);
    double sum = 0.0;
    for (size_t i = 0; i < t.report->n_findings; i++) {
        const struct inq_finding *f = &t.report->findings[i];
        bool link = f->kind == INQ_FINDING_SLOW_LINK;
        assert_false(link && f->n_ranks == 2 && f->ranks[0] / 2 == f->ranks[1] / 2);
        sum += link && f->cost_ns_per_step > 0 ? (double)f->cost_ns_per_step : 0.0;
    }
    assert_true(sum <= (double)inq_synth_truth(t.synth)->mean_step_ns / 2.0);
    test_synth_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(links__of_a_group),
        cmocka_unit_test(links__that_meet_in_one_rank),
        cmocka_unit_test(links__of_a_host_that_is_in_most),
        cmocka_unit_test(links__of_a_host_and_one_that_is_mistaken),
        cmocka_unit_test(links__without_their_like),
        cmocka_unit_test(links__of_transfers_that_name_no_peer),
        cmocka_unit_test(links__of_transfers_launched_before_the_capture),
        cmocka_unit_test(links__of_two_stages_that_name_no_peer),
        cmocka_unit_test(links__are_not_between_ranks_that_share_a_tensor),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
