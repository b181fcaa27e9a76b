/* SPDX-License-Identifier: Apache-2.0 */
/* Sentences in an arena, and lists of numbers in words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/arena_text.h"

#include <string.h>

static void list__joins_runs_of_three_and_more(void **state)
{
    static const int32_t numbers[] = {0, 1, 2, 3, 7, 8, 12, INT32_MAX};
    struct inq_arena arena = {0};
    (void)state;
    assert_string_equal(inq_arena_list(&arena, numbers, 8), "0-3,7,8,12,2147483647");
    assert_string_equal(inq_arena_list(&arena, numbers, 0), "");
    inq_arena_release(&arena);
}

static void list__counts_what_it_leaves_out(void **state)
{
    int32_t numbers[64];
    struct inq_arena arena = {0};
    (void)state;
    for (int32_t i = 0; i < 64; i++) {
        numbers[i] = -1000000000 - 2 * (63 - i);
    }
    const char *text = inq_arena_list(&arena, numbers, 64);
    assert_non_null(strstr(text, ",... (64)"));
    assert_true(strlen(text) < 80);
    inq_arena_release(&arena);
}

static void ranks__agree_in_number(void **state)
{
    static const int32_t ranks[] = {3, 5};
    struct inq_arena arena = {0};
    (void)state;
    assert_string_equal(inq_arena_ranks(&arena, ranks, 1, true), "Rank 3");
    assert_string_equal(inq_arena_ranks(&arena, ranks, 2, false), "ranks 3 and 5");
    inq_arena_release(&arena);
}

static void name__is_one_thing_in_a_sentence(void **state)
{
    struct inq_arena arena = {0};
    (void)state;
    assert_string_equal(inq_arena_name(&arena, "cudaMalloc"), "cudaMalloc");
    assert_string_equal(inq_arena_name(&arena, "# forward pass"), "\"# forward pass\"");
    assert_string_equal(inq_arena_name(&arena, "data loading"), "data loading");
    char name[96];
    memset(name, 'k', sizeof name);
    name[80] = '\0';
    assert_string_equal(inq_arena_name(&arena, name), name);
    memcpy(name + 80, "_end", 5);
    const char *text = inq_arena_name(&arena, name);
    assert_int_equal(strlen(text), 80);
    assert_string_equal(text + strlen(text) - 4, "_end");
    assert_non_null(strstr(text, "k..k"));
    inq_arena_release(&arena);
}

static void name__is_not_cut_in_a_character(void **state)
{
    struct inq_arena arena = {0};
    char name[3 * 50 + 2] = "";
    (void)state;
    for (size_t shift = 0; shift < 3; shift++) {
        memset(name, 'a', shift);
        for (size_t i = 0; i < 49; i++) {
            memcpy(name + shift + 3 * i, "\u2502", 4);
        }
        const char *text = inq_arena_name(&arena, name);
        const char *dots = strstr(text, "..");
        assert_non_null(dots);
        assert_int_equal((size_t)(dots - text - (ptrdiff_t)shift) % 3, 0);
        assert_int_equal(strlen(dots + 2) % 3, 0);
    }
    inq_arena_release(&arena);
}

static void say__is_empty_and_remembered_without_memory(void **state)
{
    struct inq_arena arena = {0};
    (void)state;
    inq_mem_fail_after(1);
    assert_string_equal(inq_arena_printf(&arena, "%d", 7), "");
    inq_mem_fail_after(0);
    assert_true(arena.failed);
    assert_string_equal(inq_arena_printf(&arena, "%d", 7), "7");
    assert_true(arena.failed);
    inq_arena_release(&arena);
    assert_false(arena.failed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(list__joins_runs_of_three_and_more),
        cmocka_unit_test(list__counts_what_it_leaves_out),
        cmocka_unit_test(ranks__agree_in_number),
        cmocka_unit_test(name__is_one_thing_in_a_sentence),
        cmocka_unit_test(name__is_not_cut_in_a_character),
        cmocka_unit_test(say__is_empty_and_remembered_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
