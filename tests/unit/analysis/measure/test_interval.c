/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of times, against bitmaps of a small world. */
#include "analysis/measure/interval.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { WORLD = 64 };

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* Pushes random intervals in order of start and marks them in `bits`. */
static void fill(struct inq_intervals *set, bool *bits, uint32_t *random)
{
    memset(bits, 0, WORLD);
    int64_t start = 0;
    for (uint32_t i = next_random(random) % 12; i > 0; i--) {
        start += next_random(random) % 8;
        int64_t end = start + next_random(random) % 10;
        if (end > WORLD) {
            break;
        }
        assert_int_equal(inq_intervals_push(set, start, end, NULL), 0);
        for (int64_t t = start; t < end; t++) {
            bits[t] = true;
        }
    }
}

static void check(const struct inq_intervals *set, const bool *bits)
{
    bool seen[WORLD] = {false};
    int64_t length = 0;

    for (size_t i = 0; i < set->n; i++) {
        assert_true(set->at[i].start < set->at[i].end);
        assert_true(i == 0 || set->at[i - 1].end < set->at[i].start);
        for (int64_t t = set->at[i].start; t < set->at[i].end; t++) {
            seen[t] = true;
            length++;
        }
    }
    assert_memory_equal(seen, bits, WORLD);
    assert_int_equal(inq_intervals_length(set), length);
}

static void interval__operations_agree_with_bitmaps(void **state)
{
    (void)state;
    uint32_t random = 12345;

    for (int round = 0; round < 2000; round++) {
        struct inq_intervals a = {0};
        struct inq_intervals b = {0};
        struct inq_intervals both = {0};
        bool in_a[WORLD];
        bool in_b[WORLD];
        bool expected[WORLD];

        fill(&a, in_a, &random);
        fill(&b, in_b, &random);
        check(&a, in_a);
        assert_int_equal(inq_intervals_union(&a, &b, &both, NULL), 0);
        for (int t = 0; t < WORLD; t++) {
            expected[t] = in_a[t] || in_b[t];
        }
        check(&both, expected);
        int64_t common = 0;
        for (int t = 0; t < WORLD; t++) {
            common += in_a[t] && in_b[t];
        }
        assert_int_equal(inq_intervals_common(&a, &b), common);
        inq_intervals_release(&a);
        inq_intervals_release(&b);
        inq_intervals_release(&both);
    }
}

static void interval__touching_become_one_and_empty_vanish(void **state)
{
    (void)state;
    struct inq_intervals set = {0};

    assert_int_equal(inq_intervals_push(&set, 5, 5, NULL), 0);
    assert_int_equal(set.n, 0);
    assert_int_equal(inq_intervals_push(&set, 5, 8, NULL), 0);
    assert_int_equal(inq_intervals_push(&set, 8, 9, NULL), 0);
    assert_int_equal(inq_intervals_push(&set, 8, 8, NULL), 0);
    assert_int_equal(inq_intervals_push(&set, 10, 11, NULL), 0);
    assert_int_equal(set.n, 2);
    assert_int_equal(inq_intervals_length(&set), 5);
    inq_intervals_release(&set);
    assert_int_equal(set.n, 0);
    assert_null(set.at);
}

static void interval__out_of_memory_is_reported(void **state)
{
    (void)state;
    struct inq_intervals set = {0};
    struct inq_err err = {0};

    inq_mem_fail_after(1);
    assert_int_equal(inq_intervals_push(&set, 0, 1, &err), INQ_NOMEM);
    inq_mem_fail_after(0);
    assert_int_equal(err.code, INQ_NOMEM);
    inq_intervals_release(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(interval__operations_agree_with_bitmaps),
        cmocka_unit_test(interval__touching_become_one_and_empty_vanish),
        cmocka_unit_test(interval__out_of_memory_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
