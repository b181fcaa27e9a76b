/* SPDX-License-Identifier: Apache-2.0 */
/* Reducing a shard: which steps keep their rows, what is kept of the others, what stays whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "trace/build/build.h"
#include "trace/totals.h"

#include <stdio.h>
#include <string.h>

enum { FIRST = 10, STEP_NS = 1000000, LATE_NS = 10000 };

static uint32_t intern(struct inq_shard *shard, const char *text)
{
    uint32_t id = 0;
    assert_int_equal(inq_strtab_add(&shard->names, text, strlen(text), &id, NULL), INQ_OK);
    return id;
}

static void add_work(struct inq_shard *shard, const char *name, int64_t start_ns, int64_t dur_ns,
                     bool comm)
{
    struct inq_rank *rank = &shard->ranks[0];
    uint32_t row = INQ_NONE;
    int64_t number = (int64_t)rank->calls.n + 1; /* 0 is no correlation */
    if (comm) {
        struct inq_comm of;
        inq_comm_init(&of);
        of.kind = INQ_COLL_ALLREDUCE;
        assert_int_equal(inq_rank_add_comm(rank, &of, &row, NULL), INQ_OK);
    }
    const struct inq_event_row event = {.start_ns = start_ns,
                                        .dur_ns = dur_ns,
                                        .name = intern(shard, name),
                                        .call = (uint32_t)number,
                                        .comm = row,
                                        .label = INQ_NONE,
                                        .kind = INQ_EVENT_KERNEL,
                                        .cls = comm ? INQ_CLASS_COMM : INQ_CLASS_COMPUTE};
    assert_int_equal(inq_rank_add_event(rank, &event, NULL), INQ_OK);
    assert_int_equal(
        inq_rank_add_call(rank, start_ns - LATE_NS, 1000, intern(shard, "launch"), 1, number, NULL),
        INQ_OK);
}

/* Steps of a millisecond, one behind the other, each of two kernels and an all-reduce that ends it;
 * step number `odd` takes `odd_ns`. */
static void fill(struct inq_shard *shard, int n, int odd, int64_t odd_ns)
{
    uint32_t index = 0;
    int64_t at_ns = STEP_NS;
    memset(shard, 0, sizeof *shard);
    assert_int_equal(inq_shard_add_rank(shard, &index, NULL), INQ_OK);
    struct inq_rank *rank = &shard->ranks[0];
    assert_int_equal(inq_rank_lane(rank, INQ_LANE_STREAM, 0, 7, &index, NULL), INQ_OK);
    assert_int_equal(inq_rank_lane(rank, INQ_LANE_THREAD, -1, 1, &index, NULL), INQ_OK);
    for (int s = 0; s < n; s++) {
        int64_t ns = s == odd ? odd_ns : STEP_NS;
        char name[32];
        (void)snprintf(name, sizeof name, "ProfilerStep#%d", FIRST + s);
        const struct inq_note note = {.start_ns = at_ns - 2 * LATE_NS,
                                      .dur_ns = ns - 1000,
                                      .name = intern(shard, name),
                                      .lane = 1,
                                      .number = FIRST + s,
                                      .kind = INQ_NOTE_STEP};
        assert_int_equal(inq_rank_add_note(rank, &note, NULL), INQ_OK);
        add_work(shard, "gemm_a", at_ns, ns / 4, false);
        add_work(shard, "gemm_b", at_ns + ns / 4, ns / 4, false);
        add_work(shard, "ncclDevKernel_AllReduce", at_ns + ns / 2, ns - ns / 2, true);
        at_ns += ns;
    }
    assert_int_equal(inq_shard_finalize(shard, NULL), INQ_OK);
}

static size_t count_kept(const struct inq_rank *rank, enum inq_step_kept kept)
{
    size_t n = 0;
    for (size_t s = 0; s < rank->n_totals; s++) {
        n += rank->totals[s].kept == (uint8_t)kept;
    }
    return n;
}

static void reduce__keeps_rows_of_some_steps_and_all_communication(void **state)
{
    (void)state;
    struct inq_shard shard;
    fill(&shard, 12, -1, 0);
    assert_int_equal(inq_shard_reduce(&shard, 3, NULL), INQ_OK);
    const struct inq_rank *rank = &shard.ranks[0];
    assert_true(rank->reduced);
    assert_int_equal(rank->n_totals, 12);
    assert_int_equal(count_kept(rank, INQ_STEP_SAMPLED), 3);
    assert_int_equal(count_kept(rank, INQ_STEP_STANDS_OUT), 0);
    assert_int_equal(rank->totals[0].kept, INQ_STEP_REDUCED); /* nothing says when it began */
    assert_int_equal(rank->events.n, 12 + 3 * 2);
    /* theirs, and the next step's first one: made before their end */
    assert_int_equal(rank->calls.n, 12 + 3 * 2 + 3);
    assert_int_equal(rank->n_notes, 12);
    for (size_t i = 0; i < rank->events.n; i++) { /* each still has its own launch */
        assert_true(rank->events.call[i] < rank->calls.n);
        assert_int_equal(rank->calls.start_ns[rank->events.call[i]],
                         rank->events.start_ns[i] - LATE_NS);
    }
    for (size_t s = 0; s < 12; s++) {
        const struct inq_step_total *total = &rank->totals[s];
        assert_int_equal(total->number, FIRST + (int)s);
        assert_int_equal(total->work, 3);
        assert_int_equal(total->class_ns[INQ_CLASS_COMPUTE], STEP_NS / 2);
        assert_int_equal(total->class_ns[INQ_CLASS_COMM], STEP_NS / 2);
        assert_int_equal(inq_rank_step_length_ns(rank, total->number), s == 0 ? -1 : STEP_NS);
    }
    inq_shard_release(&shard);
}

static void reduce__a_step_a_fifth_longer_stands_out(void **state)
{
    (void)state;
    for (int over = 0; over < 2; over++) {
        struct inq_shard shard;
        fill(&shard, 12, 7, STEP_NS + STEP_NS / 5 + over);
        assert_int_equal(inq_shard_reduce(&shard, 1, NULL), INQ_OK);
        const struct inq_rank *rank = &shard.ranks[0];
        bool sampled = rank->totals[7].kept == INQ_STEP_SAMPLED;
        assert_false(sampled);
        assert_int_equal(count_kept(rank, INQ_STEP_STANDS_OUT), over);
        assert_int_equal(rank->totals[7].kept, over ? INQ_STEP_STANDS_OUT : INQ_STEP_REDUCED);
        inq_shard_release(&shard);
    }
}

static void reduce__leaves_a_warm_up_out(void **state)
{
    (void)state;
    struct inq_shard shard;
    fill(&shard, 12, 1, STEP_NS * 2); /* the first of which the length is known */
    assert_int_equal(inq_shard_reduce(&shard, 10, NULL), INQ_OK);
    assert_false(shard.ranks[0].reduced); /* ten are left behind the warm-up: all of them */
    assert_int_equal(inq_shard_reduce(&shard, 9, NULL), INQ_OK);
    assert_true(shard.ranks[0].reduced);
    assert_int_equal(shard.ranks[0].totals[1].kept, INQ_STEP_REDUCED);
    inq_shard_release(&shard);
}

static void reduce__few_steps_stay_whole(void **state)
{
    (void)state;
    struct inq_shard shard;
    fill(&shard, 4, -1, 0);
    assert_int_equal(inq_shard_reduce(&shard, 3, NULL), INQ_OK);
    const struct inq_rank *rank = &shard.ranks[0];
    assert_false(rank->reduced);
    assert_int_equal(rank->n_totals, 0);
    assert_int_equal(rank->events.n, 12);
    assert_true(inq_rank_step_is_whole(rank, FIRST));
    assert_int_equal(inq_shard_reduce(&shard, 2, NULL), INQ_OK);
    assert_true(rank->reduced);
    assert_int_equal(inq_shard_reduce(&shard, 1, NULL), INQ_OK); /* once */
    assert_int_equal(count_kept(rank, INQ_STEP_SAMPLED), 2);
    inq_shard_release(&shard);
}

/* Captures that begin at different steps keep the same ones where both have them. */
static void reduce__choice_is_by_number(void **state)
{
    (void)state;
    struct inq_shard longer;
    struct inq_shard shorter;
    fill(&longer, 40, -1, 0);
    fill(&shorter, 38, -1, 0);
    assert_int_equal(inq_shard_reduce(&longer, 4, NULL), INQ_OK);
    assert_int_equal(inq_shard_reduce(&shorter, 4, NULL), INQ_OK);
    size_t same = 0;
    for (size_t s = 0; s < 38; s++) {
        same += longer.ranks[0].totals[s].kept != INQ_STEP_REDUCED &&
                shorter.ranks[0].totals[s].kept != INQ_STEP_REDUCED;
    }
    assert_true(same >= 3);
    inq_shard_release(&longer);
    inq_shard_release(&shorter);
}

static void totals__say_nothing_of_steps_that_are_not_there(void **state)
{
    (void)state;
    struct inq_rank rank = {.reduced = true};
    assert_null(inq_rank_total(&rank, 3));
    assert_false(inq_rank_step_is_whole(&rank, 3)); /* its total was lost */
    assert_int_equal(inq_rank_step_length_ns(&rank, 3), -1);
    assert_true(inq_rank_step_before_ns(&rank, 3) == INQ_TIME_NONE);
    rank.reduced = false;
    assert_true(inq_rank_step_is_whole(&rank, 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reduce__keeps_rows_of_some_steps_and_all_communication),
        cmocka_unit_test(reduce__a_step_a_fifth_longer_stands_out),
        cmocka_unit_test(reduce__leaves_a_warm_up_out),
        cmocka_unit_test(reduce__few_steps_stay_whole),
        cmocka_unit_test(reduce__choice_is_by_number),
        cmocka_unit_test(totals__say_nothing_of_steps_that_are_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
