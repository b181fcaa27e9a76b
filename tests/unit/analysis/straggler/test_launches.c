/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts that launch slower than others where launches are the bottleneck and ranks wait for each
 * other after every few of them: the last one's GPU idles, and all others hide what they do. */
#include "inquest/analysis.h"
#include "inquest/synth.h"

#include "support_synth.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define LAUNCHES "layers=8,steps=8,layer=20us,launch=60us,gz=0,"

/* How many late hosts are told that do not pause in turn; the last of them in *rank. */
static size_t late_hosts(const struct test_synth *t, uint32_t *rank)
{
    const struct inq_attribution *blame = t->report->attribution;
    size_t n = 0;

    for (size_t i = 0; i < blame->n_candidates; i++) {
        if (blame->candidates[i].kind == INQ_FINDING_LATE_HOST && !blame->candidates[i].rotates) {
            *rank = blame->candidates[i].ranks[0];
            n++;
        }
    }
    return n;
}

static void expect_late(const char *spec, size_t n, uint32_t expected)
{
    struct test_synth t = test_synth_open(spec, NULL);
    uint32_t rank = expected;

    assert_int_equal(late_hosts(&t, &rank), n);
    assert_int_equal(rank, expected);
    test_synth_close(&t);
}

/* Half of the role or a part of it waits for the late rank in each layer and idles little, the
 * others idle for what their own last one lacks: by that alone no rank stands out. */
static void launches__of_one_rank_that_its_group_waits_for(void **state)
{
    (void)state;
    static const char *const specs[] = {
        "dp=2,tp=4," LAUNCHES "fault=late_host:rank=1:mode=launch:factor=1.3",
        "dp=2,tp=4," LAUNCHES "fault=late_host:rank=6:mode=launch:factor=1.1",
        "dp=2,tp=2," LAUNCHES "fault=late_host:rank=1:mode=launch:factor=1.3",
        "dp=2,tp=4,pp=2," LAUNCHES "fault=late_host:rank=1:mode=launch:factor=1.3"};

    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        test_synth_expect_cost(specs[i], 5);
    }
}

/* Launches that take 1 % of the step longer are told, half of that is not. */
static void launches__count_from_one_percent_of_the_step(void **state)
{
    (void)state;
    expect_late("dp=2,tp=4," LAUNCHES "host_sigma=0.02,"
                "fault=late_host:rank=1:mode=launch:factor=1.005",
                0, 1);
    expect_late("dp=2,tp=4," LAUNCHES "host_sigma=0.02,"
                "fault=late_host:rank=1:mode=launch:factor=1.02",
                1, 1);
}

/* By how hosts vary one rank is the last again and again, and its GPU idles for half of the step;
 * its launches take what those of all others do. */
static void launches__as_fast_as_others_are_not_late(void **state)
{
    (void)state;
    expect_late("dp=2,tp=4," LAUNCHES "seed=1", 0, 0);
    expect_late("dp=2,tp=4," LAUNCHES "seed=11", 0, 0);
    expect_late("dp=2,tp=4,pp=2," LAUNCHES "seed=1", 0, 0);
}

/* Of two in one group only the later one costs anything; behind enough work of the GPU, none. */
static void launches__that_nobody_waits_for_are_not_told(void **state)
{
    (void)state;
    expect_late("dp=2,tp=4," LAUNCHES "fault=late_host:rank=1:mode=launch:factor=1.3,"
                "fault=late_host:rank=2:mode=launch:factor=1.2",
                1, 1);
    expect_late("dp=2,tp=4," LAUNCHES "layer=1ms,fault=late_host:rank=1:mode=launch:factor=1.3", 0,
                1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launches__of_one_rank_that_its_group_waits_for),
        cmocka_unit_test(launches__count_from_one_percent_of_the_step),
        cmocka_unit_test(launches__as_fast_as_others_are_not_late),
        cmocka_unit_test(launches__that_nobody_waits_for_are_not_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
