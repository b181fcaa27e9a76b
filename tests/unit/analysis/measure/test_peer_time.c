/* SPDX-License-Identifier: Apache-2.0 */
/* Times before alignment, as other tools count them. */
#include "analysis/measure/peer_time.h"
#include "trace/clock/clock.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#define S  INT64_C(1000000000)
#define MS INT64_C(1000000)

/* Set by 7 ms at 20 s and back by 3 ms at 40 s; drifts differently on each stretch. */
static struct inq_clock_piece later[] = {{120 * S, 12 * MS, -20000}, {140 * S, 9 * MS, 50000}};

static struct inq_rank rank_with(size_t n_later)
{
    return (struct inq_rank){.clock = {.aligned = true,
                                       .offset_ns = 5 * MS,
                                       .drift_ppb = 10000,
                                       .ref_ns = 100 * S,
                                       .n_later = n_later,
                                       .later = later}};
}

/* Drift is rounded to nanoseconds: two moments may share one aligned time. */
static void same(int64_t raw_ns, int64_t expected_ns)
{
    assert_in_range(raw_ns - expected_ns + 1, 0, 2);
}

static void unaligned__every_piece_is_known(void **state)
{
    (void)state;
    static const int64_t raws[] = {100 * S,      105 * S + 3, 120 * S - 1, 120 * S,
                                   130 * S + 17, 139 * S,     140 * S + S, 170 * S};
    struct inq_rank rank = rank_with(2);
    for (size_t i = 0; i < sizeof raws / sizeof *raws; i++) {
        int64_t aligned = inq_clock_common_ns(&rank.clock, raws[i]);
        same(inq_reference_raw_ns(&rank, aligned), raws[i]);
    }
}

/* Aligned times never go back: what two pieces lead to was shown by the earlier one. */
static void unaligned__of_two_pieces_the_earlier(void **state)
{
    (void)state;
    struct inq_rank rank = rank_with(2);
    int64_t aligned = inq_clock_common_ns(&rank.clock, 140 * S - MS);
    same(inq_reference_raw_ns(&rank, aligned), 140 * S - MS);
}

static void unaligned__one_piece(void **state)
{
    (void)state;
    struct inq_rank rank = rank_with(0);
    same(inq_reference_raw_ns(&rank, inq_clock_common_ns(&rank.clock, 150 * S)), 150 * S);
    rank.clock.aligned = false;
    assert_int_equal(inq_reference_raw_ns(&rank, 150 * S), 150 * S);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unaligned__every_piece_is_known),
        cmocka_unit_test(unaligned__of_two_pieces_the_earlier),
        cmocka_unit_test(unaligned__one_piece),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
