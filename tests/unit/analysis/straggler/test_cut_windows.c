/* SPDX-License-Identifier: Apache-2.0 */
/* Captures that open and close anywhere, on each rank at another time: hosts may be a thousand
 * launches ahead of their GPUs by then. */
#include "inquest/analysis.h"
#include "inquest/synth.h"

#include "support_synth.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Launches of the first steps are lacking, or wait for the GPU in a call that began before the
 * window. */
static void cut_windows__cost_of_hosts_that_run_ahead(void **state)
{
    (void)state;
    test_synth_expect_cost(
        "dp=8,layers=4,steps=8,gpus_per_host=4,clock=20ms,args=seq,gz=0,cpu_ops=0,sync=0,"
        "seed=33042,window=ragged,fault=more_work:rank=3:factor=1.3:mode=count",
        4);
    test_synth_expect_cost(
        "dp=4,layers=4,steps=8,drift=50,gz=0,cpu_ops=0,sync=4,seed=34030,window=ragged,"
        "fault=low_clock:rank=0:factor=1.3",
        4);
    test_synth_expect_cost(
        "dp=1,pp=3,chunks=2,layers=6,micro_batches=3,steps=5,p2p=args,labels=1,ts=abs,"
        "gz=0,cpu_ops=0,sync=4,seed=22029,window=ragged,fault=slow_gpu:rank=2:factor=1.3",
        4);
    /* the steps without launches lose their time where the others do */
    test_synth_expect_cost("dp=1,tp=4,layers=6,steps=8,gz=0,cpu_ops=0,sync=4,seed=3,window=ragged,"
                           "fault=more_work:rank=2:factor=1.3:mode=count",
                           4);
    /* nor are any recorded of a rank that does more than its peers in every step */
    test_synth_expect_cost(
        "dp=2,tp=2,layers=4,micro_batches=1,steps=6,sync=0,window=ragged,seed=711,gz=0,"
        "cpu_ops=0,fault=more_work:rank=1:factor=1.4",
        4);
    /* the queue was full before the window opened: launches wait for the GPU */
    test_synth_expect_cost(
        "dp=1,pp=4,layers=4,micro_batches=16,p2p=args,early_recv=0,steps=8,sync=0,"
        "window=ragged,seed=13308,gz=0,cpu_ops=0,fault=slow_link:links=pp:rank=1:factor=16",
        4);
    /* the only peer ran ahead: its host is not in the window until the last steps */
    test_synth_expect_cost(
        "dp=2,pp=2,micro_batches=6,layers=2,p2p=fused,early_recv=0,p2p_group=world,"
        "gpus_per_host=2,steps=9,sync=4,wait=item,window=ragged,ts=split,lean=1,"
        "rank_sigma=0.004,seed=310494,gz=0,fault=late_host:mode=launch:rank=1:factor=16",
        4);
    /* all of them ran ahead, past the last judged step */
    test_synth_expect_cost(
        "dp=8,layers=2,micro_batches=2,sharded=1,gpus_per_host=2,steps=7,sync=0,window=ragged,"
        "ts=abs,step_sigma=0.006,seed=48777,gz=0,cpu_ops=0,"
        "fault=late_host:mode=launch:rank=0:factor=16",
        4);
    /* receives of the next step are posted in the last judged one, several in one record */
    test_synth_expect_cost(
        "dp=2,pp=2,micro_batches=6,layers=2,p2p=bare,early_recv=2,p2p_group=world,labels=1,steps=7,"
        "wait=item,args=seq,clock=1ms,window=ragged,ts=split,step_sigma=0.006,seed=45248,gz=0,"
        "fault=late_host:mode=launch:rank=1:factor=16",
        4);
}

/* Where no launch of a rank is recorded, in which part of its steps it lost the time is inferred:
 * what taking it away gains is not established. */
static void cut_windows__work_of_which_no_launch_is_known(void **state)
{
    (void)state;
    static const char spec[] = "dp=2,tp=4,layers=6,steps=8,gz=0,sync=0,seed=41037,window=ragged,"
                               "fault=more_work:rank=0:factor=1.3:mode=count";
    struct test_synth t = test_synth_open(spec, NULL);

    assert_string_equal(t.report->verdict.cls, "more_work");
    assert_int_equal(t.report->findings[0].ranks[0], 0);
    assert_int_equal(t.report->verdict.confidence, INQ_CONFIDENCE_SUPPORTED);
    test_synth_close(&t);
}

static void cut_windows__nothing_in_healthy_ones(void **state)
{
    (void)state;
    test_synth_expect("dp=3,tp=4,layers=4,micro_batches=4,sharded=1,steps=3,gz=0,cpu_ops=0,sync=4,"
                      "seed=31007,window=ragged",
                      "healthy");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cut_windows__cost_of_hosts_that_run_ahead),
        cmocka_unit_test(cut_windows__work_of_which_no_launch_is_known),
        cmocka_unit_test(cut_windows__nothing_in_healthy_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
