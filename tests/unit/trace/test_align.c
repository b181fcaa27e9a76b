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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(repeats__on_one_clock_what_is_near_comes_first),
        cmocka_unit_test(repeats__what_fits_throughout_may_be_far),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
