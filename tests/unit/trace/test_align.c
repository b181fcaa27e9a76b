/* SPDX-License-Identifier: Apache-2.0 */
/* Two members' rows of one channel, paired. */
#include "trace/align.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

/* Work that repeats every 25 rows, 38 ms, with ends that are 40 us off now and then: on b in other
 * rows than on a, so that at their narrowest intervals fit better one period off. */
static int64_t end_of(size_t i, bool of_a)
{
    int64_t end_ns = 0;
    for (size_t k = 0; k <= i; k++) {
        end_ns += INT64_C(1000000) + INT64_C(43000) * (int64_t)((k * 7) % 25);
    }
    bool late = of_a ? i % 3 == 2 : i % 3 == 1;
    bool early = of_a && i % 6 == 3;
    return end_ns + (late ? INT64_C(40000) : 0) - (early ? INT64_C(40000) : 0);
}

static struct inq_align_row row_of(size_t i, bool of_a)
{
    return (struct inq_align_row){.end_ns = end_of(i, of_a),
                                  .step = -1,
                                  .number = -1,
                                  .size = 4096,
                                  .family = 1,
                                  .syncs = true};
}

enum { ROWS = 130, CUT = 40 };

static size_t count_right(int64_t ahead_ns, bool one_clock)
{
    struct inq_align_row a[ROWS];
    struct inq_align_row b[ROWS - CUT];
    uint32_t match[ROWS - CUT];
    for (size_t i = 0; i < ROWS; i++) {
        a[i] = row_of(i, true);
        a[i].end_ns += ahead_ns;
    }
    for (size_t j = 0; j < ROWS - CUT; j++) {
        b[j] = row_of(CUT + j, ahead_ns != 0);
    }
    struct inq_alignment pair = {
        .a = a, .b = b, .n = ROWS, .m = ROWS - CUT, .one_clock = one_clock, .match = match};
    inq_align(&pair);
    size_t right = 0;
    for (size_t j = 0; j < ROWS - CUT; j++) {
        right += match[j] == CUT + j;
    }
    return right;
}

static void repeats__on_one_clock_what_is_near_comes_first(void **state)
{
    (void)state;
    assert_int_equal(count_right(0, true), ROWS - CUT);
}

/* Clocks that were taken for one and are not: what fits nearly everywhere is right, however far. */
static void repeats__what_fits_throughout_may_be_far(void **state)
{
    (void)state;
    assert_int_equal(count_right(INT64_C(5000000000), true), ROWS - CUT);
}

/* A pipeline's transfers, one a step: a sends at 5 ms of each, b posts its receive in the step
 * before, and the window cuts b's first one off. */
static void few__transfers_of_equal_counts_may_be_one_off(void **state)
{
    (void)state;
    enum { SENT = 3 };
    static const int64_t jitter_ns[SENT + 1] = {0, 150000, 10000, 250000};
    const int64_t step_ns = 23000000;
    struct inq_align_row a[SENT];
    struct inq_align_row b[SENT];
    uint32_t match[SENT];
    for (int64_t i = 0; i < SENT; i++) {
        struct inq_align_row row = {.step = i, .number = -1, .size = 4096, .family = 1};
        a[i] = b[i] = row;
        a[i].end_ns = i * step_ns + jitter_ns[i];
        b[i].end_ns = (i + 1) * step_ns + jitter_ns[i + 1] + 1000;
    }
    struct inq_alignment pair = {
        .a = a, .b = b, .n = SENT, .m = SENT, .one_clock = true, .match = match};
    inq_align(&pair);
    assert_int_equal(match[0], 1);
    assert_int_equal(match[1], 2);
    assert_int_equal(match[2], INQ_NONE);
    for (int i = 0; i < SENT; i++) { /* a sender that is done before its receiver is no other */
        b[i].end_ns = a[i].end_ns + 7000000;
    }
    inq_align(&pair);
    for (uint32_t i = 0; i < SENT; i++) {
        assert_int_equal(match[i], i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(repeats__on_one_clock_what_is_near_comes_first),
        cmocka_unit_test(repeats__what_fits_throughout_may_be_far),
        cmocka_unit_test(few__transfers_of_equal_counts_may_be_one_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
