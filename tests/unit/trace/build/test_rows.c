/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of events and calls: they grow, make room and shrink without losing a value. */
#include "support_shard.h"

#include "base/mem.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

/* Every column of row i has a value of its own. */
static struct inq_event_row row_of(uint32_t i, bool labeled, bool launched)
{
    return (struct inq_event_row){.start_ns = (int64_t)i << 33,
                                  .dur_ns = i + 1,
                                  .name = i + 2,
                                  .lane = i + 3,
                                  .call = i + 4,
                                  .comm = i + 5,
                                  .label = labeled ? i + 6 : INQ_NONE,
                                  .launch = launched ? i + 7 : 0,
                                  .kind = i % 2 == 0 ? INQ_EVENT_KERNEL : INQ_EVENT_MEMCPY,
                                  .cls = i % 3 == 0 ? INQ_CLASS_COMM : INQ_CLASS_COMPUTE};
}

static void add(struct inq_rank *rank, uint32_t from, uint32_t to, uint32_t first_label,
                uint32_t first_launch)
{
    for (uint32_t i = from; i < to; i++) {
        struct inq_event_row row = row_of(i, i >= first_label, i >= first_launch);
        assert_int_equal(inq_rank_add_event(rank, &row, NULL), INQ_OK);
        assert_int_equal(
            inq_rank_add_call(rank, (int64_t)i << 33, i + 1, i + 2, i + 3, (int64_t)i << 34, NULL),
            INQ_OK);
    }
}

static void assert_rows(const struct inq_rank *rank, uint32_t n, uint32_t first_label,
                        uint32_t first_launch)
{
    const struct inq_events *e = &rank->events;
    const struct inq_calls *c = &rank->calls;
    assert_int_equal(e->n, n);
    assert_int_equal(c->n, n);
    for (uint32_t i = 0; i < n; i++) {
        struct inq_event_row row = row_of(i, i >= first_label, i >= first_launch);
        assert_int_equal(e->start_ns[i], row.start_ns);
        assert_int_equal(e->dur_ns[i], row.dur_ns);
        assert_int_equal(e->name[i], row.name);
        assert_int_equal(e->lane[i], row.lane);
        assert_int_equal(e->call[i], row.call);
        assert_int_equal(e->comm[i], row.comm);
        assert_int_equal(e->kind[i], row.kind);
        assert_int_equal(e->cls[i], row.cls);
        assert_int_equal(e->label != NULL ? e->label[i] : INQ_NONE, row.label);
        assert_int_equal(e->launch != NULL ? e->launch[i] : 0, row.launch);
        assert_int_equal(c->start_ns[i], (int64_t)i << 33);
        assert_int_equal(c->dur_ns[i], i + 1);
        assert_int_equal(c->name[i], i + 2);
        assert_int_equal(c->lane[i], i + 3);
        assert_int_equal(c->correlation[i], (int64_t)i << 34);
    }
}

/* Optional columns begin anywhere: in the first row, just where the table grows (16, 24, 36, ...
 * rows), in the last row, or never. */
static void rows__keep_their_values(void **state)
{
    (void)state;
    static const uint32_t firsts[] = {0, 15, 16, 17, 24, 36, 99, UINT32_MAX};
    const size_t n = sizeof firsts / sizeof *firsts;
    for (size_t i = 0; i < n * n; i++) {
        uint32_t label = firsts[i / n];
        uint32_t launch = firsts[i % n];
        struct inq_rank rank = {0};
        add(&rank, 0, 100, label, launch);
        assert_rows(&rank, 100, label, launch);
        inq_rank_shrink(&rank);
        assert_int_equal(rank.events.cap, 100);
        assert_int_equal(rank.calls.cap, 100);
        assert_rows(&rank, 100, label, launch);
        add(&rank, 100, 130, label, launch); /* more, as files of one rank give */
        assert_rows(&rank, 130, label, launch);
        inq_rank_release(&rank);
    }
}

/* On blocks of several megabytes. */
static void rows__many_keep_their_values(void **state)
{
    (void)state;
    enum { MANY = 300000 };
    struct inq_rank rank = {0};
    add(&rank, 0, MANY / 2, 1000, UINT32_MAX);
    inq_rank_make_room(&rank, 0.5);
    add(&rank, MANY / 2, MANY, 1000, UINT32_MAX);
    assert_rows(&rank, MANY, 1000, UINT32_MAX);
    inq_rank_shrink(&rank);
    assert_rows(&rank, MANY, 1000, UINT32_MAX);
    inq_rank_release(&rank);
}

static void shrink__of_no_rows(void **state)
{
    (void)state;
    struct inq_rank rank = {0};
    inq_rank_shrink(&rank);
    assert_rows(&rank, 0, 0, 0);
    inq_rank_release(&rank);
}

/* ---- room ------------------------------------------------------------------------------------ */

/* Room in tables of `cap` rows of which `rows` are taken, after it was made. */
static size_t room_after(size_t rows, size_t cap, double progress)
{
    struct inq_rank rank = {0};
    add(&rank, 0, (uint32_t)cap, UINT32_MAX, UINT32_MAX);
    inq_rank_shrink(&rank);
    rank.events.n = rows;
    rank.calls.n = rows;
    inq_rank_make_room(&rank, progress);
    size_t room = rank.events.cap;
    assert_int_equal(rank.calls.cap, room);
    assert_rows(&rank, (uint32_t)rows, UINT32_MAX, UINT32_MAX);
    inq_rank_release(&rank);
    return room;
}

static void room__is_what_the_rest_of_the_file_takes(void **state)
{
    (void)state;
    assert_int_equal(room_after(1000, 1000, 0.25), 4250); /* and a sixteenth more */
}

static void room__is_made_when_less_than_a_quarter_is_left(void **state)
{
    (void)state;
    assert_int_equal(room_after(749, 1000, 0.25), 1000);
    assert_int_equal(room_after(750, 1000, 0.25), 3187);
}

/* Two million in any case, which take no memory until there are rows. */
static void room__is_at_most_eight_times_the_rows_or_two_million(void **state)
{
    (void)state;
    enum { FEW = 1000, MANY = 300000, ANYHOW = 2 << 20 };
    assert_int_equal(room_after(FEW, FEW, 0.001), 1062500);
    assert_int_equal(room_after(FEW, FEW, 0.0001), ANYHOW);
    assert_int_equal(room_after(ANYHOW / 8 - 1, ANYHOW / 8 - 1, 0.01), ANYHOW);
    assert_int_equal(room_after(MANY, MANY, 0.14), 2276785);
    assert_int_equal(room_after(MANY, MANY, 0.13), 8 * MANY);
}

/* A little more is not worth moving everything. */
static void room__is_made_for_a_quarter_more_at_least(void **state)
{
    (void)state;
    assert_int_equal(room_after(1000, 1000, 0.85), 1000); /* 1,250 rows */
    assert_int_equal(room_after(1000, 1000, 0.849), 1251);
}

static void room__is_not_made_without_memory(void **state)
{
    (void)state;
    for (long nth = 1; nth <= 2; nth++) { /* of the events, of the calls */
        struct inq_rank rank = {0};
        add(&rank, 0, 100, 50, 60);
        size_t before = rank.events.cap;
        inq_mem_fail_after(nth);
        inq_rank_make_room(&rank, 0.1);
        assert_int_equal(inq_mem_fail_after(0), 0);
        assert_true((rank.events.cap == before) == (nth == 1));
        assert_true((rank.calls.cap == before) == (nth == 2));
        add(&rank, 100, 200, 50, 60);
        assert_rows(&rank, 200, 50, 60);
        inq_rank_release(&rank);
    }
}

/* Memory for half as many rows again, but for no second table beside the first: rows come all the
 * same. Optional columns lie in the block, apart from it, or are missing. */
static void rows__grow_in_place_when_memory_is_short(void **state)
{
    (void)state;
    enum { FULL = 121, MORE = 130, ALL = 200 }; /* 121: rows of a full table */
    static const uint32_t firsts[] = {0, FULL - 1, UINT32_MAX};
    const size_t n = sizeof firsts / sizeof *firsts;
    for (size_t i = 0; i < n * n; i++) {
        uint32_t label = firsts[i / n];
        uint32_t launch = firsts[i % n];
        struct inq_rank rank = {0};
        uint64_t before = inq_mem_held();
        add(&rank, 0, FULL, label, launch);
        assert_int_equal(rank.events.cap, FULL);
        assert_int_equal(rank.calls.cap, FULL);
        uint64_t now = inq_mem_held();
        inq_mem_set_limit(now + (now - before) / 2);
        add(&rank, FULL, MORE, label, launch);
        inq_mem_set_limit(0);
        assert_rows(&rank, MORE, label, launch);
        add(&rank, MORE, ALL, label, launch);
        assert_rows(&rank, ALL, label, launch);
        inq_rank_release(&rank);
    }
}

/* Every allocation fails once: rows are there or not, and those that are stay. */
static void memory__runs_out_anywhere(void **state)
{
    (void)state;
    bool done = false;
    for (long nth = 1; !done; nth++) {
        struct inq_rank rank = {0};
        int code = INQ_OK;
        inq_mem_fail_after(nth);
        for (uint32_t i = 0; i < 100 && code == INQ_OK; i++) {
            struct inq_event_row row = row_of(i, i >= 20, i >= 30);
            code = inq_rank_add_event(&rank, &row, NULL);
            if (code == INQ_OK) {
                code = inq_rank_add_call(&rank, (int64_t)i << 33, i + 1, i + 2, i + 3,
                                         (int64_t)i << 34, NULL);
                rank.events.n -= code != INQ_OK;
            }
        }
        inq_rank_shrink(&rank);
        done = inq_mem_fail_after(0) > 0;
        assert_true(code == INQ_OK || code == INQ_NOMEM);
        assert_rows(&rank, (uint32_t)rank.events.n, 20, 30);
        inq_rank_release(&rank);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows__keep_their_values),
        cmocka_unit_test(rows__many_keep_their_values),
        cmocka_unit_test(shrink__of_no_rows),
        cmocka_unit_test(room__is_what_the_rest_of_the_file_takes),
        cmocka_unit_test(room__is_made_when_less_than_a_quarter_is_left),
        cmocka_unit_test(room__is_at_most_eight_times_the_rows_or_two_million),
        cmocka_unit_test(room__is_made_for_a_quarter_more_at_least),
        cmocka_unit_test(room__is_not_made_without_memory),
        cmocka_unit_test(rows__grow_in_place_when_memory_is_short),
        cmocka_unit_test(memory__runs_out_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
