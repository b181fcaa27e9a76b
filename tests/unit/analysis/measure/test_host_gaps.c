/* SPDX-License-Identifier: Apache-2.0 */
/* What a host did while its GPU stood idle. */
#include "analysis/measure/measure.h"
#include "support_shard.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define US INT64_C(1000)

static void add_call(struct inq_shard *shard, const char *name, int64_t start_ns, int64_t dur_ns)
{
    struct inq_rank *rank = &shard->ranks[0];
    uint32_t lane = INQ_NONE;
    inq_str id = made_name(shard, name);
    assert_int_equal(inq_rank_lane(rank, INQ_LANE_THREAD, -1, 7, &lane, NULL), INQ_OK);
    assert_int_equal(
        inq_rank_add_call(rank, start_ns, dur_ns, id, lane, 100 + (int64_t)rank->calls.n, NULL),
        INQ_OK);
}

/* What is named for a gap of 1,000 us with five calls in it that take `us` each. */
static void expect_named(const char *call, int64_t us, const char *name)
{
    struct inq_shard shard;
    struct inq_host_gaps gaps;
    struct inq_step_stat cell = {.valid = true};
    struct inq_step_stats cells = {.n_ranks = 1, .n_steps = 1, .at = &cell};
    made_shard(&shard, "g/0", 0, 1);
    made_kernel(&shard, "sm80_xmma_gemm_bf16", 7, 1000 * US, 500 * US, 990 * US, INQ_NONE);
    for (int i = 0; i < 5; i++) {
        add_call(&shard, call, (1500 + 190 * i) * US, us * US);
    }
    made_kernel(&shard, "sm80_xmma_gemm_bf16", 7, 2500 * US, 500 * US, 2480 * US, INQ_NONE);
    struct inq_run *run = made_run(&shard, 1, false);
    const struct inq_trace *trace = run->traces[0];
    cell.start_ns = trace->ranks[0].events.start_ns[0];
    cell.end_ns = cell.start_ns + 3000 * US;
    assert_int_equal(inq_host_gaps_find(trace, &cells, 0, &gaps, NULL), INQ_OK);
    assert_int_equal(gaps.n, 1);
    inq_str running = inq_host_gap_running(trace, &trace->ranks[0], &gaps.at[0]);
    assert_string_equal(running == 0 ? "" : inq_trace_str(trace, running), name);
    inq_run_free(run);
}

/* The gap lasts 980 us up to the launch: more than half of it is 491 us of calls. */
static void gap__is_named_for_calls_of_one_sort_that_fill_it(void **state)
{
    (void)state;
    expect_named("cudaFree", 99, "cudaFree");
    expect_named("cudaFree", 98, "");
    expect_named("cudaLaunchKernel", 180, ""); /* any host launches */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gap__is_named_for_calls_of_one_sort_that_fill_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
