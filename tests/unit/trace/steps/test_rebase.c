/* SPDX-License-Identifier: Apache-2.0 */
/* Steps with clocks of their own on one time line. */
#include "trace/build/assemble.h"

#include "base/arena.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

struct op {
    int64_t rank, lane, step, start_ns, dur_ns;
};

/* A sealed shard with the ops on the ranks that they name, and a trace that borrows its ranks. */
static void build(const struct op *ops, size_t n, struct inq_shard *shard, struct inq_trace *trace)
{
    struct inq_err err = {0};
    *shard = (struct inq_shard){0};
    for (size_t i = 0; i < n; i++) {
        while (shard->n_ranks <= (size_t)ops[i].rank) {
            uint32_t index;
            assert_int_equal(inq_shard_add_rank(shard, &index, &err), INQ_OK);
            shard->ranks[index].rank = (int32_t)index;
        }
        struct inq_rank *rank = &shard->ranks[ops[i].rank];
        struct inq_label label = {.type = INQ_OP_FORWARD, .step = (int32_t)ops[i].step};
        struct inq_event_row row = {.start_ns = ops[i].start_ns,
                                    .dur_ns = ops[i].dur_ns,
                                    .call = INQ_NONE,
                                    .comm = INQ_NONE,
                                    .kind = INQ_EVENT_OP};
        assert_int_equal(inq_rank_lane(rank, INQ_LANE_OPS, -1, ops[i].lane, &row.lane, &err), 0);
        assert_int_equal(inq_rank_add_label(rank, &label, &row.label, &err), INQ_OK);
        assert_int_equal(inq_rank_add_event(rank, &row, &err), INQ_OK);
    }
    assert_int_equal(inq_shard_finalize(shard, &err), INQ_OK);
    *trace = (struct inq_trace){.n_ranks = shard->n_ranks, .ranks = shard->ranks};
}

static void check(const struct inq_rank *rank, size_t i, int64_t step, int64_t start_ns,
                  int64_t dur_ns)
{
    assert_int_equal(rank->labels[rank->events.label[i]].step, step);
    assert_int_equal(rank->events.start_ns[i], start_ns);
    assert_int_equal(rank->events.dur_ns[i], dur_ns);
}

#define COUNT(ops) (sizeof(ops) / sizeof *(ops))

static void lay_steps__follow_each_other_over_all_ranks(void **state)
{
    (void)state;
    /* recorded out of order; step 7 comes before step 20 */
    static const struct op ops[] = {
        {0, 0, 20, 10, 5}, {0, 0, 7, 0, 8},  {0, 0, 7, 10, 2},
        {1, 0, 7, 5, 95},  {1, 0, 20, 3, 4}, {1, 1, 20, 1, 2},
    };
    struct inq_shard shard;
    struct inq_trace trace;
    struct inq_err err = {0};
    build(ops, COUNT(ops), &shard, &trace);
    assert_int_equal(inq_steps_rebase(&trace, 2, &err), INQ_OK);
    /* step 7 ends at 100 on rank 1: there step 20 has its zero, on both */
    check(&shard.ranks[0], 0, 7, 0, 8);
    check(&shard.ranks[0], 1, 7, 10, 2);
    check(&shard.ranks[0], 2, 20, 110, 5);
    check(&shard.ranks[1], 0, 7, 5, 95);
    check(&shard.ranks[1], 1, 20, 103, 4);
    check(&shard.ranks[1], 2, 20, 101, 2);
    assert_int_equal(shard.ranks[0].first_ns, 0);
    assert_int_equal(shard.ranks[0].last_ns, 115);
    assert_int_equal(shard.ranks[1].last_ns, 107);
    inq_shard_release(&shard);
}

static void lay_steps__negative_times_do_not_overlap(void **state)
{
    (void)state;
    static const struct op ops[] = {{0, 0, 1, 0, 50}, {0, 0, 2, -20, 5}, {0, 0, 2, 10, 5}};
    struct inq_shard shard;
    struct inq_trace trace;
    struct inq_err err = {0};
    build(ops, COUNT(ops), &shard, &trace);
    assert_int_equal(inq_steps_rebase(&trace, 2, &err), INQ_OK);
    check(&shard.ranks[0], 0, 1, 0, 50);
    check(&shard.ranks[0], 1, 2, 50, 5);
    check(&shard.ranks[0], 2, 2, 80, 5);
    inq_shard_release(&shard);
}

static void lay_steps__leave_a_common_clock_alone(void **state)
{
    (void)state;
    static const struct op ops[] = {{0, 0, 1, 1000, 50}, {0, 0, 2, 1100, 50}, {1, 0, 2, 1060, 99}};
    struct inq_shard shard;
    struct inq_trace trace;
    struct inq_err err = {0};
    build(ops, COUNT(ops), &shard, &trace);
    assert_int_equal(inq_steps_rebase(&trace, 2, &err), INQ_OK);
    check(&shard.ranks[0], 0, 1, 1000, 50);
    check(&shard.ranks[0], 1, 2, 1100, 50);
    check(&shard.ranks[1], 0, 2, 1060, 99);
    /* nor a wall clock, whatever the times */
    shard.ranks[0].events.start_ns[1] = 1000;
    shard.ranks[0].has_clock_epoch = shard.ranks[1].has_clock_epoch = true;
    assert_int_equal(inq_steps_rebase(&trace, 2, &err), INQ_OK);
    check(&shard.ranks[0], 1, 2, 1000, 50);
    inq_shard_release(&shard);
}

static void lay_steps__ops_without_a_step_stay(void **state)
{
    (void)state;
    static const struct op ops[] = {
        {0, 0, 1, 0, 50}, {0, 0, 2, 0, 50}, {0, 0, -1, 60, 5}, {0, 0, 2, 55, 1}, {0, 1, -1, 3, 4}};
    struct inq_shard shard;
    struct inq_trace trace;
    struct inq_err err = {0};
    build(ops, COUNT(ops), &shard, &trace);
    assert_int_equal(inq_steps_rebase(&trace, 2, &err), INQ_OK);
    check(&shard.ranks[0], 0, 1, 0, 50);
    check(&shard.ranks[0], 1, 2, 50, 50);
    check(&shard.ranks[0], 2, -1, 60, 5);
    check(&shard.ranks[0], 3, 2, 105, 1);
    check(&shard.ranks[0], 4, -1, 3, 4);
    inq_shard_release(&shard);
}

/* More steps than ops on a lane: sorted, not counted. */
static void lay_steps__lanes_with_few_ops(void **state)
{
    (void)state;
    struct op ops[40];
    for (int64_t i = 0; i < 40; i++) {
        ops[i] = (struct op){0, i % 20, 39 - i, i % 7, 10};
    }
    struct inq_shard shard;
    struct inq_trace trace;
    struct inq_err err = {0};
    build(ops, COUNT(ops), &shard, &trace);
    assert_int_equal(inq_steps_rebase(&trace, 2, &err), INQ_OK);
    const struct inq_events *events = &shard.ranks[0].events;
    for (size_t i = 1; i < events->n; i++) {
        assert_true(events->lane[i] > events->lane[i - 1] ||
                    events->start_ns[i] >= events->start_ns[i - 1]);
    }
    inq_shard_release(&shard);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lay_steps__follow_each_other_over_all_ranks),
        cmocka_unit_test(lay_steps__negative_times_do_not_overlap),
        cmocka_unit_test(lay_steps__leave_a_common_clock_alone),
        cmocka_unit_test(lay_steps__ops_without_a_step_stay),
        cmocka_unit_test(lay_steps__lanes_with_few_ops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
