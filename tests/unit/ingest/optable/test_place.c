/* SPDX-License-Identifier: Apache-2.0 */
/* Op tables without starts: what each op waits for gives its place. Starts are worked out by hand.
 */
#include "support_read.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

static struct inq_shard read_text(const char *text)
{
    struct inq_shard shard;
    struct inq_err err = {0};
    int code = test_read_bytes(text, strlen(text), 0, &shard, &err);
    if (code != INQ_OK) {
        fail_msg("%s", err.message);
    }
    assert_string_equal(shard.file.format, "op-table");
    return shard;
}

/* Starts of the rank's events in ms, in the order of its rows. */
static void assert_starts(const struct inq_shard *shard, int32_t number, const int64_t *ms,
                          size_t n)
{
    const struct inq_rank *rank = test_rank(shard, number);
    assert_int_equal(rank->events.n, n);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(rank->events.start_ns[i], ms[i] * 1000000);
    }
}

static void place__rows_pass_by_pass_run_as_1f1b(void **state)
{
    (void)state;
    struct inq_shard shard = read_text("step,stage,micro_batch,op,duration_ms\n"
                                       "0,0,0,F,1\n0,0,1,F,1\n0,0,2,F,1\n"
                                       "0,0,0,B,2\n0,0,1,B,2\n0,0,2,B,2\n"
                                       "0,1,0,F,1\n0,1,1,F,1\n0,1,2,F,1\n"
                                       "0,1,0,B,2\n0,1,1,B,2\n0,1,2,B,2\n");
    /* stage 1: F0 1, B0 2..4, F1 4..5, B1 5..7, F2 7..8, B2 8..10; stage 0 runs F2 after B0 */
    assert_starts(&shard, 0, (const int64_t[]){0, 1, 6, 4, 7, 10}, 6);
    assert_starts(&shard, 1, (const int64_t[]){1, 4, 7, 2, 5, 8}, 6);
    assert_non_null(strstr(shard.file.reason, "placed as 1F1B"));
    inq_shard_release(&shard);
}

static void place__mixed_rows_run_as_listed(void **state)
{
    (void)state;
    /* stage 0 lists all but one forward pass first, stage 1 as 1F1B; W waits for nothing */
    struct inq_shard shard = read_text("stage,micro_batch,op_type,duration_ms\n"
                                       "0,0,fwd,1\n0,1,fwd,1\n0,0,bwd,2\n0,2,fwd,1\n"
                                       "0,1,bwd,2\n0,2,bwd,2\n"
                                       "1,0,fwd,1\n1,0,dgrad,1\n1,0,wgrad,1\n1,1,fwd,1\n"
                                       "1,1,dgrad,1\n1,2,fwd,1\n1,2,dgrad,1\n");
    /* stage 1: F0 1, I0 2, W0 3, F1 4, I1 5; stage 0: B0 3..5, F2 5..6, B1 6..8; F2 6, I2 7 */
    assert_starts(&shard, 1, (const int64_t[]){1, 2, 3, 4, 5, 6, 7}, 7);
    assert_starts(&shard, 0, (const int64_t[]){0, 1, 3, 5, 6, 8}, 6);
    assert_non_null(strstr(shard.file.reason, "in the order of its rows"));
    inq_shard_release(&shard);
}

/* Micro-batches in any order, not from 0 on; of a pass that is there twice the last counts. */
static void place__passes_are_found_whatever_their_order(void **state)
{
    (void)state;
    struct inq_shard shard = read_text("stage,micro_batch,op_type,duration_ms\n"
                                       "0,7,fwd,1\n0,5,fwd,1\n0,5,fwd,2\n"
                                       "1,5,fwd,1\n1,7,fwd,1\n1,9,fwd,1\n");
    /* stage 0 ends F7 at 1, F5 at 2 and again at 4 */
    assert_starts(&shard, 0, (const int64_t[]){0, 1, 2}, 3);
    assert_starts(&shard, 1, (const int64_t[]){4, 5, 6}, 3);
    inq_shard_release(&shard);
}

static void place__a_chunk_follows_the_last_stage_of_the_one_before_it(void **state)
{
    (void)state;
    struct inq_shard shard = read_text("stage,micro_batch,chunk,op_type,duration_ms\n"
                                       "0,0,0,F,1\n0,0,1,F,1\n0,0,1,B,1\n0,0,0,B,1\n"
                                       "1,0,0,F,1\n1,0,1,F,1\n1,0,1,B,1\n1,0,0,B,1\n");
    assert_starts(&shard, 0, (const int64_t[]){0, 2, 5, 7}, 4);
    assert_starts(&shard, 1, (const int64_t[]){1, 3, 4, 6}, 4);
    inq_shard_release(&shard);
}

static void place__replicas_and_steps_do_not_wait_for_each_other(void **state)
{
    (void)state;
    struct inq_shard shard = read_text("step,dp,stage,micro_batch,op_type,duration_ms\n"
                                       "0,0,0,0,F,5\n0,1,0,0,F,1\n0,0,1,0,F,1\n0,1,1,0,F,1\n"
                                       "1,1,0,0,F,2\n1,1,1,0,F,1\n");
    /* workers are numbered by stage, then DP rank; the second step has an origin of its own */
    assert_starts(&shard, 2, (const int64_t[]){5}, 1);
    assert_starts(&shard, 3, (const int64_t[]){1, 2}, 2);
    inq_shard_release(&shard);
}

static void place__rows_that_never_could_run_wait_for_nothing(void **state)
{
    (void)state;
    /* each stage lists first what needs the other's second */
    struct inq_shard shard = read_text("stage,micro_batch,op_type,duration_ms\n"
                                       "0,0,B,1\n0,0,F,1\n1,0,F,1\n1,0,B,1\n");
    assert_starts(&shard, 0, (const int64_t[]){0, 1}, 2);
    assert_starts(&shard, 1, (const int64_t[]){2, 3}, 2);
    assert_non_null(strstr(shard.file.reason, "; 1 ops that this order lets never run"));
    inq_shard_release(&shard);
}

static void place__without_stage_or_micro_batch_a_start_is_needed(void **state)
{
    (void)state;
    static const char *const heads[] = {"stage,op_type,duration\n0,F,1\n",
                                        "rank,micro_batch,op_type,duration\n0,0,F,1\n",
                                        "stage,micro_batch,op_type,end\n0,0,F,1\n"};
    for (size_t i = 0; i < 3; i++) {
        struct inq_shard shard;
        struct inq_err err = {0};
        assert_int_equal(test_read_bytes(heads[i], strlen(heads[i]), 0, &shard, &err),
                         INQ_UNSUPPORTED);
        assert_non_null(strstr(err.message, "start"));
        inq_shard_release(&shard);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(place__rows_pass_by_pass_run_as_1f1b),
        cmocka_unit_test(place__mixed_rows_run_as_listed),
        cmocka_unit_test(place__passes_are_found_whatever_their_order),
        cmocka_unit_test(place__a_chunk_follows_the_last_stage_of_the_one_before_it),
        cmocka_unit_test(place__replicas_and_steps_do_not_wait_for_each_other),
        cmocka_unit_test(place__rows_that_never_could_run_wait_for_nothing),
        cmocka_unit_test(place__without_stage_or_micro_batch_a_start_is_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
