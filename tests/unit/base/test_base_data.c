/* SPDX-License-Identifier: Apache-2.0 */
/* Memory, arena, strings, maps, sorting, statistics, threads. */
#include "base/arena.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/par.h"
#include "base/sort.h"
#include "base/stats.h"
#include "base/strtab.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t next_random(uint64_t *state)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    return inq_hash_u64(*state);
}

static void mem__growth_is_capped_and_failure_keeps_the_buffer(void **state)
{
    (void)state;
    int *numbers = NULL;
    size_t cap = 0;
    struct inq_err err = {0};
    assert_int_equal(inq_mem_grow(&numbers, &cap, 5, sizeof *numbers, 40, &err), INQ_OK);
    assert_true(cap >= 5);
    numbers[4] = 44;
    int *before = numbers;
    assert_int_equal(inq_mem_grow(&numbers, &cap, 41, sizeof *numbers, 40, &err), INQ_LIMIT);
    inq_mem_fail_after(1);
    err = (struct inq_err){0};
    assert_int_equal(inq_mem_grow(&numbers, &cap, 30, sizeof *numbers, 40, &err), INQ_NOMEM);
    inq_mem_fail_after(0);
    assert_ptr_equal(numbers, before);
    assert_int_equal(numbers[4], 44);
    inq_mem_free(numbers);
}

static void arena__is_zeroed_aligned_and_survives_failure(void **state)
{
    (void)state;
    struct inq_arena arena = {0};
    for (size_t size = 0; size < 3000; size += 7) {
        unsigned char *p = inq_arena_alloc(&arena, size);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % 16, 0);
        for (size_t i = 0; i < size; i++) {
            assert_int_equal(p[i], 0);
            p[i] = 0xff;
        }
    }
    assert_string_equal(inq_arena_asprintf(&arena, "%s-%d", "rank", 7), "rank-7");
    inq_mem_fail_after(1);
    assert_null(inq_arena_alloc(&arena, (size_t)64 << 20));
    inq_mem_fail_after(0);
    assert_null(inq_arena_array(&arena, SIZE_MAX / 2, 16));
    inq_arena_release(&arena);
}

static void strtab__equal_strings_share_an_id(void **state)
{
    (void)state;
    struct inq_strtab tab = {0};
    struct inq_err err = {0};
    char text[32];
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 5000; i++) {
            uint32_t id = 0;
            int len = snprintf(text, sizeof text, "kernel_%d", i);
            assert_int_equal(inq_strtab_add(&tab, text, (size_t)len, &id, &err), INQ_OK);
            assert_int_equal(id, i + 1);
            assert_string_equal(inq_strtab_get(&tab, id), text);
        }
    }
    uint32_t empty = 9;
    assert_int_equal(inq_strtab_add(&tab, "x", 0, &empty, &err), INQ_OK);
    assert_int_equal(empty, 0);
    assert_int_equal(inq_strtab_count(&tab), 5001);
    assert_string_equal(inq_strtab_get(&tab, 999999), "");
    inq_strtab_release(&tab);
}

static void strtab__out_of_memory_leaves_it_usable(void **state)
{
    (void)state;
    for (long n = 1; n < 8; n++) {
        struct inq_strtab tab = {0};
        struct inq_err err = {0};
        uint32_t id = 0;
        inq_mem_fail_after(n);
        int code = inq_strtab_add(&tab, "name", 4, &id, &err);
        inq_mem_fail_after(0);
        assert_true(code == INQ_OK || code == INQ_NOMEM);
        assert_int_equal(inq_strtab_add(&tab, "name", 4, &id, NULL), INQ_OK);
        assert_string_equal(inq_strtab_get(&tab, id), "name");
        inq_strtab_release(&tab);
    }
}

static void map__finds_what_was_put(void **state)
{
    (void)state;
    struct inq_map map = {0};
    uint64_t random = 1;
    for (uint32_t i = 0; i < 10000; i++) {
        assert_int_equal(inq_map_put(&map, next_random(&random), i, NULL), INQ_OK);
    }
    random = 1;
    for (uint32_t i = 0; i < 10000; i++) {
        uint32_t value = 0;
        assert_true(inq_map_get(&map, next_random(&random), &value));
        assert_int_equal(value, i);
    }
    uint32_t value = 0;
    assert_false(inq_map_get(&map, 12345, &value));
    inq_map_release(&map);
}

static int compare_plain(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Patterns that are hard on one or the other way of sorting. */
static int64_t pattern(int kind, size_t i, size_t n)
{
    uint64_t mixed = (uint64_t)i * 0x9e3779b97f4a7c15U;
    const int64_t values[] = {(int64_t)i,
                              -(int64_t)i,
                              7,
                              (int64_t)(i < n / 2 ? i : n - i),
                              (int64_t)(mixed ^ (mixed >> 29)),
                              (int64_t)((mixed >> 40) % 5),
                              i % 2 == 0 ? INT64_MIN : INT64_MAX,
                              (int64_t)(i % 17 * 1000 + i / 17)};
    return values[kind];
}

static void sort__numbers_are_in_order_whatever_they_were(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 2, 3, 24, 25, 26, 100, 1000, 4097};
    static int64_t values[4097];
    static int64_t expected[4097];
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        for (int kind = 0; kind < 8; kind++) {
            for (size_t i = 0; i < sizes[s]; i++) {
                values[i] = expected[i] = pattern(kind, i, sizes[s]);
            }
            qsort(expected, sizes[s], sizeof *expected, compare_plain);
            inq_sort_i64(values, sizes[s]);
            assert_memory_equal(values, expected, sizes[s] * sizeof *values);
        }
    }
}

static void sort__places_among_distinct_values(void **state)
{
    (void)state;
    int64_t values[] = {7, -2, 7, INT64_MAX, -2, 3, INT64_MIN};
    const int64_t expected[] = {INT64_MIN, -2, 3, 7, INT64_MAX};
    assert_int_equal(inq_sort_distinct_i64(values, 7), 5);
    assert_memory_equal(values, expected, sizeof expected);
    assert_int_equal(inq_sort_distinct_i64(values, 0), 0);
    assert_int_equal(inq_first_from_i64(values, 0, 5, 3), 2);
    assert_int_equal(inq_first_from_i64(values, 0, 5, 4), 3);
    assert_int_equal(inq_first_from_i64(values, 0, 5, INT64_MIN), 0);
    assert_int_equal(inq_first_from_i64(values, 0, 4, 8), 4);
    assert_int_equal(inq_first_from_i64(values, 3, 5, 0), 3);
    assert_int_equal(inq_first_from_i64(NULL, 0, 0, 0), 0);
}

static int compare_plain_double(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void sort__doubles_are_in_order_whatever_they_were(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 2, 25, 1000, 4097};
    static double values[4097];
    static double expected[4097];
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        for (int kind = 0; kind < 8; kind++) {
            for (size_t i = 0; i < sizes[s]; i++) {
                double scale = i % 3 == 0 ? 1e-300 : i % 3 == 1 ? -0.37 : 1e12;
                values[i] = expected[i] = (double)pattern(kind, i, sizes[s]) * scale;
            }
            qsort(expected, sizes[s], sizeof *expected, compare_plain_double);
            inq_sort_double(values, sizes[s]);
            for (size_t i = 0; i < sizes[s]; i++) {
                assert_true(values[i] == expected[i]);
            }
        }
    }
    double odd[] = {1.0, (double)INFINITY, -0.0, (double)NAN, -(double)INFINITY, -2.0};
    inq_sort_double(odd, 6);
    assert_true(odd[0] < -2.0 && odd[1] == -2.0 && odd[2] == 0.0 && odd[3] == 1.0);
    assert_true(odd[4] > 1.0 && isnan(odd[5]));
}

/* Around one place as sorted, whatever it is and whatever order they come in. */
static void sort__selects_as_sorting_does(void **state)
{
    (void)state;
    static double values[1200], sorted[1200], other[1200];
    uint64_t random = 9;
    for (int round = 0; round < 3000; round++) {
        size_t n = round < 60 ? (size_t)round / 2 + 1 : 1 + next_random(&random) % 1200;
        size_t at = next_random(&random) % n;
        uint64_t kinds = next_random(&random) % 3 == 0 ? 3 : 5000; /* many that are equal */
        for (size_t i = 0; i < n; i++) {
            double number = (double)(next_random(&random) % kinds) - (double)(kinds / 2);
            values[i] = round % 4 == 1 ? (double)i : round % 4 == 2 ? -(double)i : number;
        }
        memcpy(sorted, values, n * sizeof *values);
        inq_sort_double(sorted, n);
        inq_select_double(values, n, at);
        assert_true(values[at] == sorted[at]);
        assert_true(at + 1 == n || values[at + 1] == sorted[at + 1]);
        for (size_t i = 0; i < n; i++) {
            assert_true(i < at ? values[i] <= values[at] : values[i] >= values[at]);
        }
        memcpy(other, values, n * sizeof *values); /* none is lost */
        inq_sort_double(other, n);
        assert_memory_equal(other, sorted, n * sizeof *values);
    }
}

static void sort__order_is_stable_at_every_size(void **state)
{
    (void)state;
    static int64_t keys[60000];
    static uint32_t perm[60000];
    const size_t sizes[] = {0, 1, 2, 3, 17, 1000, 19999, 20000, 60000};
    uint64_t random = 7;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        for (size_t i = 0; i < sizes[s]; i++) {
            keys[i] = (int64_t)(next_random(&random) % 500) - 250;
        }
        if (sizes[s] > 2) {
            keys[0] = INT64_MAX;
            keys[1] = INT64_MIN;
        }
        assert_int_equal(inq_sort_order_i64(keys, sizes[s], perm, NULL), INQ_OK);
        for (size_t i = 1; i < sizes[s]; i++) {
            int64_t a = keys[perm[i - 1]];
            int64_t b = keys[perm[i]];
            assert_true(a < b || (a == b && perm[i - 1] < perm[i]));
        }
    }
}

/* A few runs are merged, many are not; ties and keys that overlap in all degrees. */
static void sort__order_of_runs_is_stable(void **state)
{
    (void)state;
    enum { N = 30011 };
    static int64_t keys[N];
    static uint32_t perm[N];
    static bool seen[N];
    const size_t runs[] = {1, 2, 3, 7, 64, 1023, 1024, 1025, 9000};
    const uint64_t spreads[] = {1, 100, 100000, 100000000};
    uint64_t random = 11;
    for (size_t r = 0; r < sizeof runs / sizeof *runs; r++) {
        for (size_t s = 0; s < sizeof spreads / sizeof *spreads; s++) {
            for (size_t i = 0; i < N; i++) {
                bool begins = i % (N / runs[r] + 1) == 0;
                keys[i] = begins ? (int64_t)(next_random(&random) % spreads[s]) + (int64_t)i * 3
                                 : keys[i - 1] + (int64_t)(next_random(&random) % 4);
            }
            memset(seen, 0, sizeof seen);
            assert_int_equal(inq_sort_order_i64(keys, N, perm, NULL), INQ_OK);
            for (size_t i = 0; i < N; i++) {
                assert_in_range(perm[i], 0, N - 1);
                assert_false(seen[perm[i]]);
                seen[perm[i]] = true;
                assert_true(i == 0 || keys[perm[i - 1]] < keys[perm[i]] ||
                            (keys[perm[i - 1]] == keys[perm[i]] && perm[i - 1] < perm[i]));
            }
        }
    }
}

static void stats__known_values(void **state)
{
    (void)state;
    int64_t whole[] = {5, 1, 4, 2};
    assert_int_equal(inq_median_i64(whole, 4), 3); /* of 2 and 4 */
    int64_t far[] = {INT64_MIN, INT64_MAX};
    assert_int_equal(inq_median_i64(far, 2), -1);
    int64_t below[] = {-3, -2};
    assert_int_equal(inq_median_i64(below, 2), -3);
    const int64_t sorted[] = {1, 2, 4, 9, 9};
    assert_int_equal(inq_median_of_others_i64(sorted, 2, 1), 2);
    assert_int_equal(inq_median_of_others_i64(sorted, 2, 2), 1);
    assert_int_equal(inq_median_of_others_i64(sorted, 4, 1), 4);
    assert_int_equal(inq_median_of_others_i64(sorted, 4, 9), 2);
    assert_int_equal(inq_median_of_others_i64(sorted, 5, 1), 6); /* of 4 and 9 */
    assert_int_equal(inq_median_of_others_i64(sorted, 5, 9), 3); /* of 2 and 4 */
    double values[] = {4.0, 1.0, 3.0, 2.0};
    assert_true(fabs(inq_median(values, 4) - 2.5) < 1e-12);
    assert_true(fabs(inq_quantile(values, 4, 1.0) - 4.0) < 1e-12);
    assert_true(fabs(inq_mad(values, 4, 2.5) - 1.0) < 1e-12);
    assert_true(isnan(inq_median(values, 0)));
}

static int square(void *ctx, size_t i, struct inq_err *err)
{
    size_t *cells = ctx;
    cells[i] = i * i;
    return i == 40 || i == 70 ? inq_err_set(err, INQ_FORMAT, "cell %zu", i) : INQ_OK;
}

static void par__all_run_and_the_lowest_failure_wins(void **state)
{
    (void)state;
    for (int jobs = 1; jobs <= 8; jobs *= 2) {
        size_t cells[100] = {0};
        struct inq_err err = {0};
        assert_int_equal(inq_par_for(100, jobs, square, cells, &err), INQ_FORMAT);
        assert_string_equal(err.message, "cell 40");
        for (size_t i = 0; i < 100; i++) {
            assert_int_equal(cells[i], i * i);
        }
    }
    assert_true(inq_threads(0) >= 1);
    assert_int_equal(inq_threads(3), 3);
}

enum { CALLS = 2, EACH = 2, JOBS = CALLS * EACH };

/* Counts who is there, and waits for the others: alone it would wait for ever. */
static int meet(void *ctx, size_t i, struct inq_err *err)
{
    atomic_int *present = ctx;
    struct timespec tick = {.tv_nsec = 100000};
    (void)i;
    (void)err;
    atomic_fetch_add(present, 1);
    for (int k = 0; k < 100000 && atomic_load(present) < EACH; k++) {
        (void)nanosleep(&tick, NULL);
    }
    return atomic_load(present) == EACH ? INQ_OK : INQ_LIMIT;
}

static int meet_inside(void *ctx, size_t i, struct inq_err *err)
{
    (void)ctx;
    (void)i;
    atomic_int present = 0;
    return inq_par_for(EACH, JOBS, meet, &present, err);
}

static void par__a_loop_inside_of_a_call_gets_the_idle_threads(void **state)
{
    (void)state;
    struct inq_err err = {0};
    assert_int_equal(inq_par_for(CALLS, JOBS, meet_inside, NULL, &err), INQ_OK);
    assert_int_equal(inq_par_for(1, JOBS, meet_inside, NULL, &err), INQ_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mem__growth_is_capped_and_failure_keeps_the_buffer),
        cmocka_unit_test(arena__is_zeroed_aligned_and_survives_failure),
        cmocka_unit_test(strtab__equal_strings_share_an_id),
        cmocka_unit_test(strtab__out_of_memory_leaves_it_usable),
        cmocka_unit_test(map__finds_what_was_put),
        cmocka_unit_test(sort__numbers_are_in_order_whatever_they_were),
        cmocka_unit_test(sort__places_among_distinct_values),
        cmocka_unit_test(sort__doubles_are_in_order_whatever_they_were),
        cmocka_unit_test(sort__selects_as_sorting_does),
        cmocka_unit_test(sort__order_is_stable_at_every_size),
        cmocka_unit_test(sort__order_of_runs_is_stable),
        cmocka_unit_test(stats__known_values),
        cmocka_unit_test(par__all_run_and_the_lowest_failure_wins),
        cmocka_unit_test(par__a_loop_inside_of_a_call_gets_the_idle_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
