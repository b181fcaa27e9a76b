/* SPDX-License-Identifier: Apache-2.0 */
/* Rows far outside the capture that the others are of. */
#include "support_shard.h"

#include "trace/build/outliers.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#define S  INT64_C(1000000000)
#define MS INT64_C(1000000)

/* A rank with `n` kernels of 5 ms, one after the other on stream 7, 10 ms apart from 100 s on. */
static void made_capture(struct inq_shard *shard, int n)
{
    made_shard(shard, "a", 0, 1);
    for (int i = 0; i < n; i++) {
        made_kernel(shard, "gemm", 7, 100 * S + i * 10 * MS, 5 * MS, INQ_TIME_NONE, INQ_NONE);
    }
}

/* Seals, releases; how many were set aside. */
static size_t set_aside(struct inq_shard *shard)
{
    size_t before = shard->ranks[0].events.n + shard->ranks[0].calls.n + shard->ranks[0].n_notes;
    assert_int_equal(inq_shard_finalize(shard, NULL), INQ_OK);
    const struct inq_rank *rank = &shard->ranks[0];
    size_t n = before - rank->events.n - rank->calls.n - rank->n_notes;
    assert_int_equal(shard->file.damage.count[INQ_DAMAGE_OUTLIER], n);
    for (size_t i = 0; i < rank->events.n; i++) { /* rows stay whole */
        assert_true(rank->events.dur_ns[i] > 0);
        assert_string_equal(inq_strtab_get(&shard->names, rank->events.name[i]), "gemm");
    }
    inq_shard_release(shard);
    return n;
}

/* One kernel more, on a stream of its own. */
static size_t with_kernel(int n, int64_t start_ns, int64_t dur_ns)
{
    struct inq_shard shard;
    made_capture(&shard, n);
    made_kernel(&shard, "gemm", 9, start_ns, dur_ns, INQ_TIME_NONE, INQ_NONE);
    return set_aside(&shard);
}

static void outliers__start_ten_captures_away(void **state)
{
    (void)state;
    /* 51 kernels span 0.5 s, which count as 1 s; the outermost may be outliers themselves */
    assert_int_equal(with_kernel(51, 111 * S, MS), 1);
    assert_int_equal(with_kernel(51, 110 * S, MS), 0);
    assert_int_equal(with_kernel(51, 89 * S, MS), 1);
    assert_int_equal(with_kernel(51, 91 * S, MS), 0);
    assert_int_equal(with_kernel(51, 4000000 * S, MS), 1);
    /* 3 s span 30 s more */
    assert_int_equal(with_kernel(301, 131 * S, MS), 0);
    assert_int_equal(with_kernel(301, 134 * S, MS), 1);
}

static void outliers__need_others_beside_them(void **state)
{
    (void)state;
    assert_int_equal(with_kernel(7, 4000000 * S, MS), 1);
    assert_int_equal(with_kernel(6, 4000000 * S, MS), 0);
}

static size_t with_many(int n, int far)
{
    struct inq_shard shard;
    made_capture(&shard, n);
    for (int i = 0; i < far; i++) {
        made_kernel(&shard, "gemm", 9, (5000 + i) * S, MS, INQ_TIME_NONE, INQ_NONE);
    }
    return set_aside(&shard);
}

/* Half of a run that follows after an hour is no misread time. */
static void outliers__are_few(void **state)
{
    (void)state;
    assert_int_equal(with_many(130, 3), 3);
    assert_int_equal(with_many(130, 4), 0);
    assert_int_equal(with_many(2000, INQ_MAX_OUTLIERS), INQ_MAX_OUTLIERS);
    assert_int_equal(with_many(2000, INQ_MAX_OUTLIERS + 1), 0);
}

/* A kernel that waits for a stalled rank lasts far beyond the others; so do the call and the step
 * that wait for it. */
static void outliers__waits_are_none(void **state)
{
    (void)state;
    struct inq_shard shard;
    made_capture(&shard, 51);
    made_kernel(&shard, "gemm", 9, 100 * S, 1000 * S, INQ_TIME_NONE, INQ_NONE);
    made_call(&shard, 100 * S + MS, 1000 * S, 7);
    assert_int_equal(set_aside(&shard), 0);
}

static void outliers__reach_beyond_all_others(void **state)
{
    (void)state;
    assert_int_equal(with_kernel(51, 100 * S, 1000 * S), 1);
    assert_int_equal(with_kernel(51, 100 * S, 100 * S), 0);
    assert_int_equal(with_kernel(51, 100 * S, 101 * S), 1);
}

/* A stream runs one kernel at a time. */
static void outliers__are_overtaken(void **state)
{
    (void)state;
    struct inq_shard shard;
    made_capture(&shard, 51);
    shard.ranks[0].events.dur_ns[20] = 2 * S;
    assert_int_equal(set_aside(&shard), 1);
    made_capture(&shard, 51);
    shard.ranks[0].events.dur_ns[20] = S; /* not beyond the capture by its length */
    assert_int_equal(set_aside(&shard), 0);
    made_capture(&shard, 51);
    shard.ranks[0].events.dur_ns[50] = 2 * S; /* the last one of its stream */
    assert_int_equal(set_aside(&shard), 0);
}

static void outliers__are_calls_and_ranges_too(void **state)
{
    (void)state;
    struct inq_shard shard;
    made_capture(&shard, 200);
    made_call(&shard, 4000000 * S, MS, 7);
    made_note(&shard, "ProfilerStep#3", 4000001 * S, MS, false);
    made_kernel(&shard, "gemm", 7, -4000000 * S, MS, INQ_TIME_NONE, INQ_NONE);
    assert_int_equal(set_aside(&shard), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outliers__start_ten_captures_away),
        cmocka_unit_test(outliers__need_others_beside_them),
        cmocka_unit_test(outliers__are_few),
        cmocka_unit_test(outliers__waits_are_none),
        cmocka_unit_test(outliers__reach_beyond_all_others),
        cmocka_unit_test(outliers__are_overtaken),
        cmocka_unit_test(outliers__are_calls_and_ranges_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
