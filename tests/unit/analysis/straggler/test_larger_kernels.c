/* SPDX-License-Identifier: Apache-2.0 */
/* More work or a slower GPU: what the kernels themselves say, at the bounds. */
#include "analysis/measure/measure.h"

#include "support_synth.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Where grids are recorded for half of the compute they decide: it is extra compute when they grow
 * by at least half of what the time grows by. */
static void larger__grids_decide_where_they_are_known(void **state)
{
    static const struct {
        double ratio, grid_share, grid_ratio;
        bool larger;
    } rows[] = {
        {1.5, 1.0, 1.5, true},   {1.5, 1.0, 1.25, true},   {1.5, 1.0, 1.2499, false},
        {1.5, 1.0, 1.0, false},  {1.5, 0.5, 1.25, true},   {1.5, 0.5, 1.2, false},
        {1.5, 0.49, 1.5, false}, /* too few grids: kinds of kernels decide, and none is spared */
        {3.0, 0.75, 2.0, true},  {3.0, 0.75, 1.99, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct inq_kernel_comparison c = {.ratio = rows[i].ratio,
                                          .grid_share = rows[i].grid_share,
                                          .grid_ratio = rows[i].grid_ratio};
        assert_int_equal(inq_kernels_are_larger(&c), rows[i].larger);
    }
}

/* Without grids: a slow chip spares no matrix product (0.2 % of the time would tell), and it slows
 * the optimizer too. Kernels 1.75 times as long: the optimizer's are spared below 1.375, if that
 * is three standard errors off (0.25), and if not 2 % of the time are other kernels that are
 * spared, as by a clock. */
static void larger__kernels_that_are_spared_tell_it(void **state)
{
    static const struct {
        double math_spared, update_share, update_ratio, update_sigma, other_spared;
        bool larger;
    } rows[] = {
        {0.0, 0.0, 1.0, 0.0, 0.0, false},    {0.002, 0.0, 1.0, 0.0, 0.0, true},
        {0.0019, 0.0, 1.0, 0.0, 0.0, false}, {0.002, 0.0, 1.0, 0.0, 0.5, true},
        {0.0, 0.1, 1.0, 0.01, 0.0, true},    {0.0, 0.1, 1.374, 0.01, 0.0, true},
        {0.0, 0.1, 1.375, 0.01, 0.0, false}, {0.0, 0.1, 1.0, 0.25, 0.0, true},
        {0.0, 0.1, 1.0, 0.2501, 0.0, false}, {0.0, 0.1, 1.0, 0.01, 0.0199, true},
        {0.0, 0.1, 1.0, 0.01, 0.02, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct inq_kernel_comparison c = {.ratio = 1.75, .grid_ratio = (double)NAN};
        c.kind[INQ_KERNEL_MATH].spared_share = rows[i].math_spared;
        c.kind[INQ_KERNEL_UPDATE].share = rows[i].update_share;
        c.kind[INQ_KERNEL_UPDATE].ratio = rows[i].update_ratio;
        c.kind[INQ_KERNEL_UPDATE].sigma = rows[i].update_sigma;
        c.kind[INQ_KERNEL_OTHER].spared_share = rows[i].other_spared;
        assert_int_equal(inq_kernels_are_larger(&c), rows[i].larger);
    }
}

/* Noise hides which of the other kernels are spared: by their mean they are as they are with a low
 * clock below half of what all grew by, and have grown with the work from there on. */
static void larger__others_grow_with_the_work(void **state)
{
    static const struct {
        double other_ratio;
        bool larger;
    } rows[] = {{1.0, false}, {1.374, false}, {1.375, true}, {1.75, true}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct inq_kernel_comparison c = {.ratio = 1.75, .grid_ratio = (double)NAN};
        c.kind[INQ_KERNEL_UPDATE].share = 0.1;
        c.kind[INQ_KERNEL_UPDATE].ratio = 1.0;
        c.kind[INQ_KERNEL_OTHER].share = 0.1;
        c.kind[INQ_KERNEL_OTHER].ratio = rows[i].other_ratio;
        assert_int_equal(inq_kernels_are_larger(&c), rows[i].larger);
    }
}

/* A hot expert: what the rank computes longer is in a few stretches between communications, and the
 * others are as long as usual. Spread over all of them, match-work gains half of what it costs. */
static void larger__a_hot_expert_costs_where_it_is(void **state)
{
    (void)state;
    test_synth_expect_cost("dp=8,experts=1,layers=6,steps=6,gz=0,cpu_ops=0,seed=11,"
                           "fault=more_work:rank=3:factor=1.4:mode=experts",
                           4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(larger__grids_decide_where_they_are_known),
        cmocka_unit_test(larger__kernels_that_are_spared_tell_it),
        cmocka_unit_test(larger__others_grow_with_the_work),
        cmocka_unit_test(larger__a_hot_expert_costs_where_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
