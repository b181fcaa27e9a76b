/* SPDX-License-Identifier: Apache-2.0 */
/* Work that differs between ranks, stages and steps: what is named, and what it costs. */
#include "inquest/analysis.h"
#include "inquest/synth.h"

#include "support_synth.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void expect_verdict(const char *spec, const char *cls)
{
    struct test_synth t = test_synth_open(spec, NULL);

    assert_string_equal(t.report->verdict.cls, cls);
    test_synth_close(&t);
}

/* Chips differ by 0.6 %, so that 2 % more among six ranks is no fault of the GPU; larger grids are
 * known to the block. They are told from 1 % of the step on: 0.92 % is less. */
static void imbalance__larger_kernels_are_told_by_their_grids(void **state)
{
#define SIX                                                                                        \
    "dp=6,layers=4,micro_batches=1,sharded=1,steps=6,rank_sigma=0.006,gz=0,cpu_ops=0,"             \
    "fault=more_work:mode=size:rank=2:factor="
    (void)state;
    test_synth_expect_loss(SIX "1.03,seed=6", "more_work");
    expect_verdict(SIX "1.03,seed=6,lean=1", "healthy"); /* no grids recorded */
    expect_verdict(SIX "1.02,seed=1", "healthy");
#undef SIX
}

/* One rank drew longer sequences in sum over few steps: 2 % of the step, in larger grids. */
static void imbalance__larger_kernels_by_chance_are_nobodys(void **state)
{
    (void)state;
    expect_verdict("dp=2,layers=2,micro_batches=2,steps=3,seed=12,gz=0,cpu_ops=0,"
                   "fault=uneven_seq:sigma=0.03",
                   "healthy");
    expect_verdict("dp=2,layers=2,micro_batches=2,steps=5,seed=2,gz=0,cpu_ops=0,"
                   "fault=uneven_seq:sigma=0.03",
                   "healthy");
}

/* The same where a rank stands out: it had longer ones in most of three steps. */
static void imbalance__longer_sequences_in_most_steps_are_uneven_ones(void **state)
{
    (void)state;
    test_synth_expect_loss("dp=3,layers=2,micro_batches=2,steps=3,seed=3,gz=0,cpu_ops=0,"
                           "fault=uneven_seq:sigma=0.02",
                           "sequence_imbalance");
    expect_verdict("dp=2,layers=2,micro_batches=2,steps=3,seed=2,gz=0,cpu_ops=0,"
                   "fault=uneven_seq:sigma=0.03",
                   "healthy"); /* 0.6 % are lost; 1.8 % were said to be rank 1's */
    test_synth_expect_loss("dp=2,layers=2,micro_batches=2,steps=3,seed=3,gz=0,cpu_ops=0,"
                           "fault=more_work:mode=size:rank=1:factor=1.05",
                           "more_work");
}

/* With few micro-batches each stage waits for the one before it: moving work of the longest one
 * gains nothing, and its larger kernels are told. With many it is told as work to be moved, once.
 */
static void imbalance__a_stage_has_larger_kernels_or_work_to_move(void **state)
{
#define STAGES                                                                                     \
    "dp=1,pp=4,layers=4,steps=6,seed=5,gz=0,cpu_ops=0,fault=more_work:mode=size:rank=1:"           \
    "factor=1.1,micro_batches="
    (void)state;
    struct test_synth few = test_synth_open(STAGES "2", NULL);
    const struct inq_finding *first = &few.report->findings[0];

    assert_int_equal(first->kind, INQ_FINDING_MORE_WORK);
    assert_int_equal(first->n_ranks, 1);
    assert_int_equal(first->ranks[0], 1);
    assert_true(first->share > test_synth_lost_share(&few) - 0.005);
    assert_true(first->share < test_synth_lost_share(&few) + 0.005);
    test_synth_close(&few);

    struct test_synth many = test_synth_open(STAGES "16", NULL);
    assert_string_equal(many.report->verdict.cls, "stage_imbalance");
    for (size_t i = 0; i < many.report->n_findings; i++) {
        assert_int_not_equal(many.report->findings[i].kind, INQ_FINDING_MORE_WORK);
    }
    test_synth_close(&many);
#undef STAGES
}

/* Where the window cuts a step of some ranks, single stretches are like no other: what came to them
 * by chance was taken for what they always take, and 1.6 points of the loss were not told. */
static void imbalance__one_stretch_of_a_kind_does_not_say_what_is_usual(void **state)
{
    (void)state;
    test_synth_expect_loss(
        "dp=8,layers=2,micro_batches=2,gpus_per_host=2,steps=6,sync=4,wait=item,args=old,"
        "window=ragged,seed=798156,gz=0,cpu_ops=0,fault=uneven_seq:sigma=0.1",
        "sequence_imbalance");
}

/* A kernel that sends and receives takes the larger of both, whose sizes are not recorded: 1.4
 * points of the loss were not told. */
static void imbalance__two_transfers_in_one_kernel_take_the_longer_time(void **state)
{
    (void)state;
    test_synth_expect_loss("dp=2,pp=4,micro_batches=8,layers=4,p2p=fused,steps=5,seed=532261,gz=0,"
                           "cpu_ops=0,fault=uneven_seq:sigma=0.5",
                           "sequence_imbalance");
}

/* Only what experts run between two all-to-alls differs; longer sequences make all kernels of the
 * same model longer. */
static void imbalance__experts_are_told_from_sequences(void **state)
{
#define EXPERTS "dp=4,layers=2,experts=1,steps=5,seed=3,gz=0,cpu_ops=0,fault="
    (void)state;
    struct test_synth experts = test_synth_open(EXPERTS "uneven_experts:sigma=0.3", NULL);
    assert_string_equal(experts.report->verdict.cls, "sequence_imbalance");
    assert_non_null(strstr(experts.report->verdict.headline, "Experts have unequal work"));
    assert_non_null(strstr(experts.report->findings[0].advice, "tokens"));
    test_synth_close(&experts);

    struct test_synth sequences = test_synth_open(EXPERTS "uneven_seq:sigma=0.3", NULL);
    assert_string_equal(sequences.report->verdict.cls, "sequence_imbalance");
    assert_non_null(strstr(sequences.report->verdict.headline, "sequences of different length"));
    test_synth_close(&sequences);
#undef EXPERTS
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(imbalance__larger_kernels_are_told_by_their_grids),
        cmocka_unit_test(imbalance__larger_kernels_by_chance_are_nobodys),
        cmocka_unit_test(imbalance__experts_are_told_from_sequences),
        cmocka_unit_test(imbalance__longer_sequences_in_most_steps_are_uneven_ones),
        cmocka_unit_test(imbalance__a_stage_has_larger_kernels_or_work_to_move),
        cmocka_unit_test(imbalance__two_transfers_in_one_kernel_take_the_longer_time),
        cmocka_unit_test(imbalance__one_stretch_of_a_kind_does_not_say_what_is_usual),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
