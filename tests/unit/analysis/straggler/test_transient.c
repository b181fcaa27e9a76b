/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs that are slow in a few of their steps: what a mean over all steps hardly shows. */
#include "analysis/straggler/transient.h"
#include "inquest/account.h"
#include "inquest/analysis.h"
#include "inquest/fix.h"
#include "inquest/synth.h"

#include "support_synth.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* ---- which steps are slow -------------------------------------------------------------------- */

enum { RANKS = 8, STEPS = 9, USUAL_NS = 1000000 };

struct table {
    struct inq_step_stat at[RANKS * STEPS];
    struct inq_step_stats cells;
    double part[RANKS * STEPS];
};

/* Ranks of different stages compute 1, 2, .. 8 ms per step, give or take a few parts in ten
 * thousand. */
static void fill(struct table *t, size_t n_ranks, size_t n_steps)
{
    memset(t, 0, sizeof *t);
    t->cells = (struct inq_step_stats){.n_ranks = n_ranks, .n_steps = n_steps, .at = t->at};
    for (size_t i = 0; i < n_ranks * n_steps; i++) {
        int64_t usual_ns = USUAL_NS * (int64_t)(1 + i / n_steps);
        t->at[i].valid = true;
        t->at[i].compute_ns = usual_ns + usual_ns / 10000 * (int64_t)(i * 7 % 11);
    }
}

static void slow_down(struct table *t, size_t rank, size_t step, double factor)
{
    struct inq_step_stat *cell = &t->at[rank * t->cells.n_steps + step];
    cell->compute_ns = (int64_t)((double)cell->compute_ns * factor);
}

/* Steps that are found slow, of all ranks. */
static size_t count(struct table *t)
{
    size_t n = 0;
    assert_int_equal(inq_transients_find(&t->cells, t->part, NULL), INQ_OK);
    for (size_t i = 0; i < t->cells.n_ranks * t->cells.n_steps; i++) {
        n += t->part[i] < 1.0 ? 1 : 0;
    }
    return n;
}

static void transient__a_slow_step_is_told_from_how_clocks_wander(void **state)
{
    (void)state;
    struct table t;
    fill(&t, RANKS, STEPS);
    assert_int_equal(count(&t), 0);
    slow_down(&t, 2, 4, 1.045);
    assert_int_equal(count(&t), 0);
    fill(&t, RANKS, STEPS);
    slow_down(&t, 2, 4, 1.055);
    assert_int_equal(count(&t), 1);
    double off = t.part[2 * STEPS + 4] * 1.055 - 1.0;
    assert_true(off < 0.002 && off > -0.002);
}

static void transient__a_step_that_is_slow_on_all_ranks_is_nobodys(void **state)
{
    (void)state;
    struct table t;
    fill(&t, RANKS, STEPS);
    for (size_t r = 0; r < RANKS; r++) {
        slow_down(&t, r, 4, 1.3);
    }
    assert_int_equal(count(&t), 0);
}

/* Of nine steps four may be slow; with five the slow ones are the usual ones. */
static void transient__what_is_slow_in_half_of_the_steps_is_usual(void **state)
{
    (void)state;
    struct table t;
    fill(&t, RANKS, STEPS);
    for (size_t s = 0; s < 4; s++) {
        slow_down(&t, 2, 2 * s, 1.3);
    }
    assert_int_equal(count(&t), 4);
    slow_down(&t, 2, 8, 1.3);
    assert_int_equal(count(&t), 0);
}

static void transient__two_steps_or_one_rank_tell_nothing(void **state)
{
    (void)state;
    struct table t;
    fill(&t, RANKS, 2);
    slow_down(&t, 2, 1, 1.5);
    assert_int_equal(count(&t), 0);
    fill(&t, 1, STEPS);
    slow_down(&t, 0, 4, 1.5);
    assert_int_equal(count(&t), 0);
    fill(&t, 2, STEPS);
    slow_down(&t, 0, 4, 1.5);
    assert_int_equal(count(&t), 1);
}

/* Where all steps of a rank vary, none stands out. */
static void transient__beyond_the_noise_of_the_rank_itself(void **state)
{
    (void)state;
    struct table t;
    fill(&t, RANKS, STEPS);
    for (size_t s = 0; s < STEPS; s++) {
        slow_down(&t, 3, s, 1.0 + 0.02 * (double)(s * 5 % 9));
    }
    assert_int_equal(count(&t), 0);
}

/* Noise of -d, 0 and d in turn: what ranks take is their usual, and that of the others in each
 * step, exactly. Two of three cells are off by d, which makes sigma 1.4826 d. */
static void fill_in_turn(struct table *t, size_t n_ranks, size_t n_steps, double d)
{
    fill(t, n_ranks, n_steps);
    for (size_t i = 0; i < n_ranks * n_steps; i++) {
        size_t turn = (i / n_steps + i % n_steps) % 3;
        t->at[i].compute_ns = USUAL_NS * (int64_t)(1 + i / n_steps);
        slow_down(t, i / n_steps, i % n_steps, 1.0 + d * ((double)turn - 1.0));
    }
}

/* 4.5 (1 + 4 / f) sigma, of f = (8 - 1) (9 - 1) = 56: 7.148 d, which is more than 5 %. */
static void transient__the_limit_is_that_of_students_t(void **state)
{
    (void)state;
    struct table t;
    double d = 0.01;
    fill_in_turn(&t, RANKS, STEPS, d);
    assert_int_equal(count(&t), 0);
    slow_down(&t, 1, 4, 1.0714 / (1.0 + d));
    assert_int_equal(count(&t), 0);
    fill_in_turn(&t, RANKS, STEPS, d);
    slow_down(&t, 1, 4, 1.0716 / (1.0 + d));
    assert_int_equal(count(&t), 1);
    assert_true(t.part[STEPS + 4] < 1.0);
}

/* Of the steps of a rank that varies twice as much the limit is twice that of the others. */
static void transient__a_rank_that_varies_more_has_a_limit_of_its_own(void **state)
{
    (void)state;
    struct table t;
    double d = 0.01;
    for (size_t found = 0; found < 2; found++) {
        fill_in_turn(&t, RANKS, STEPS, d);
        for (size_t s = 0; s < STEPS; s++) {
            size_t turn = (1 + s) % 3;
            slow_down(&t, 1, s,
                      (1.0 + 2.0 * d * ((double)turn - 1.0)) / (1.0 + d * ((double)turn - 1.0)));
        }
        slow_down(&t, 1, 4, (found ? 1.1432 : 1.1427) / (1.0 + 2.0 * d));
        assert_int_equal(count(&t), found);
    }
}

/* Neither which steps are slow nor how far off they must be: of ranks with two steps nothing is
 * known, and of those that computed nothing. */
static void transient__ranks_of_which_nothing_is_known_change_nothing(void **state)
{
    (void)state;
    const size_t known = 6;
    const size_t few = 3;
    struct table t;
    double d = 0.01; /* f = (6 - 1) (3 - 1) = 10: 6.3 sigma, 9.34 d */
    for (size_t found = 0; found < 2; found++) {
        fill_in_turn(&t, RANKS, few, d);
        t.at[known * few].valid = false;
        for (size_t s = 0; s < few; s++) {
            t.at[(known + 1) * few + s].compute_ns = 0;
        }
        assert_int_equal(count(&t), 0);
        slow_down(&t, 1, 1, (found ? 1.0936 : 1.0932) / (1.0 + d));
        assert_int_equal(count(&t), found);
    }
}

/* Of three steps one is slow; a step that was not recorded is none of them. */
static void transient__three_steps_tell_one_of_them(void **state)
{
    (void)state;
    struct table t;
    fill(&t, RANKS, 4);
    for (size_t r = 0; r < RANKS; r++) {
        t.at[r * 4].valid = false;
        t.at[r * 4].compute_ns = (int64_t)90 * USUAL_NS;
    }
    slow_down(&t, 2, 1, 1.5);
    assert_int_equal(count(&t), 1);
    assert_true(t.part[2 * 4 + 1] < 1.0);
    for (size_t r = 0; r < RANKS; r++) {
        t.at[r * 4 + 3].valid = false;
    }
    assert_int_equal(count(&t), 0);
}

/* ---- in runs --------------------------------------------------------------------------------- */

static const struct inq_analysis_options repaired = {.predict = inq_fix_predict};

/* The finding of the kind about the one rank; it costs what the same run without the fault says, to
 * a point of the step. */
static void expect_rank(const char *spec, enum inq_finding_kind kind, int rank)
{
    struct test_synth t = test_synth_open(spec, &repaired);
    const struct inq_synth_truth *truth = inq_synth_truth(t.synth);
    const struct inq_finding *found = NULL;
    double with = 0.0;
    double without = 0.0;

    for (size_t s = 0; s < truth->n_steps; s++) {
        with += (double)truth->step_ns[s];
        without += (double)truth->step_ns_healthy[s];
    }
    for (size_t i = 0; i < t.report->n_findings; i++) {
        found = t.report->findings[i].kind == kind ? &t.report->findings[i] : found;
    }
    if (found == NULL) {
        fail_msg("not found: %s", t.report->verdict.headline);
        return;
    }
    assert_int_equal(found->n_ranks, 1);
    assert_int_equal(found->ranks[0], rank);
    assert_non_null(strstr(found->title, " in 2 of "));
    double off = found->share - (with - without) / with;
    assert_true(off < 0.01 && off > -0.01);
    test_synth_close(&t);
}

static void transient__one_slow_step_of_a_replica(void **state)
{
    (void)state;
    expect_rank("dp=8,layers=6,micro_batches=1,gpus_per_host=4,steps=9,sync=0,args=seq,clock=1ms,"
                "rank_sigma=0.004,seed=237181,gz=0,fault=slow_gpu:every=5:rank=0:factor=1.3",
                INQ_FINDING_SLOW_GPU, 0);
}

/* Nobody else does what a rank does that is alone in its stage. */
static void transient__one_slow_step_of_a_stage_of_one_rank(void **state)
{
    (void)state;
    expect_rank("pp=8,micro_batches=16,layers=8,p2p=fused,p2p_group=world,steps=7,clock=20ms,"
                "flows=1,seed=757383,gz=0,fault=slow_gpu:every=5:rank=5:factor=1.5",
                INQ_FINDING_SLOW_GPU, 5);
}

/* Larger kernels in one step are no slower device. */
static void transient__more_work_in_one_step(void **state)
{
    (void)state;
    expect_rank("dp=8,layers=6,steps=7,seed=11,gz=0,fault=more_work:mode=size:every=5:"
                "rank=3:factor=1.3",
                INQ_FINDING_MORE_WORK, 3);
}

/* Throttling: slower from step to step, in the last three of six. Two ranks do not tell by their
 * differences whose noise it is. */
static void transient__gpu_that_slows_down_more_and_more(void **state)
{
    (void)state;
    static const char ramp[] = "fault=slow_gpu:rank=1:factor=1.4:from=4,"
                               "fault=slow_gpu:rank=1:factor=1.3:from=5,"
                               "fault=slow_gpu:rank=1:factor=1.2:from=6";
    static const char *const runs[] = {"dp=2,layers=8", "dp=8,layers=8"};
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        char spec[256];
        (void)snprintf(spec, sizeof spec, "%s,steps=7,gz=0,cpu_ops=0,%s", runs[i], ramp);
        test_synth_expect_loss(spec, "slow_gpu");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transient__a_slow_step_is_told_from_how_clocks_wander),
        cmocka_unit_test(transient__a_step_that_is_slow_on_all_ranks_is_nobodys),
        cmocka_unit_test(transient__what_is_slow_in_half_of_the_steps_is_usual),
        cmocka_unit_test(transient__two_steps_or_one_rank_tell_nothing),
        cmocka_unit_test(transient__beyond_the_noise_of_the_rank_itself),
        cmocka_unit_test(transient__the_limit_is_that_of_students_t),
        cmocka_unit_test(transient__a_rank_that_varies_more_has_a_limit_of_its_own),
        cmocka_unit_test(transient__ranks_of_which_nothing_is_known_change_nothing),
        cmocka_unit_test(transient__three_steps_tell_one_of_them),
        cmocka_unit_test(transient__one_slow_step_of_a_replica),
        cmocka_unit_test(transient__one_slow_step_of_a_stage_of_one_rank),
        cmocka_unit_test(transient__more_work_in_one_step),
        cmocka_unit_test(transient__gpu_that_slows_down_more_and_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
