/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks joined by transfers that name no peer: every limit just within and just beyond it. */
#include "base/mem.h"
#include "support_trace.h"
#include "trace/clock/exchanges.h"
#include "trace/comm_rows.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#define US   INT64_C(1000)
#define MS   INT64_C(1000000)
#define HOUR (INT64_C(3600) * 1000 * MS)

enum { MOST = 128, MANY = 64, PARTS = 33 };

/* What two parts are apart, unless said. */
#define LATER_NS (INT64_C(30) * MS)

/* Parts of one clock each; every line is a rank of its own. */
struct made {
    struct inq_clock clock[PARTS];
    uint32_t of_source[PARTS];
    struct inq_rank rank[MOST];
    uint32_t lane[MOST][MANY];
    struct inq_comm_row row[MOST][MANY];
    struct inq_side side[MOST];
    struct inq_channel channel[MOST];
    size_t first_side[MOST + 1];
    size_t n_parts, n_sides, n_channels;
    int64_t step; /* of the lines to come; -1 */
    size_t lanes; /* that their ends take turns with */
    int64_t took_ns;
};

static struct made *made_parts(size_t n)
{
    struct made *made = inq_mem_zalloc(1, sizeof *made);
    assert_non_null(made);
    made->n_parts = n;
    made->step = -1;
    made->lanes = 1;
    made->took_ns = 100 * US;
    for (uint32_t p = 0; p < n; p++) {
        made->of_source[p] = p;
    }
    return made;
}

/* Adds a line of a part; channels ascend. */
static void add(struct made *made, uint32_t part, size_t channel, const int64_t *end_ns, size_t n)
{
    size_t s = made->n_sides++;
    assert_true(s < MOST && n <= MANY && channel < MOST && channel + 1 >= made->n_channels);
    while (made->n_channels <= channel) {
        made->channel[made->n_channels].bare = 1;
        made->first_side[made->n_channels++] = s;
    }
    made->rank[s].clock.source = part;
    made->rank[s].events.lane = made->lane[s];
    made->rank[s].n_lanes = made->lanes;
    made->side[s] = (struct inq_side){(uint32_t)s, n, made->row[s]};
    for (size_t i = 0; i < n; i++) {
        made->lane[s][i] = (uint32_t)(i % made->lanes);
        made->row[s][i] = (struct inq_comm_row){.event = (uint32_t)i,
                                                .channel = (uint32_t)channel,
                                                .start_ns = end_ns[i] - made->took_ns,
                                                .end_ns = end_ns[i],
                                                .step = made->step};
    }
}

/* Joins; by how much each part was moved against the first. */
static void join(struct made *made, int64_t moved_ns[PARTS])
{
    made->first_side[made->n_channels] = made->n_sides;
    struct inq_trace trace = {.n_ranks = made->n_sides, .ranks = made->rank};
    struct inq_comm_rows rows = {.n_channels = made->n_channels,
                                 .channels = made->channel,
                                 .first_side = made->first_side,
                                 .sides = made->side};
    struct inq_clock_parts parts = {made->n_parts, made->of_source};
    struct inq_clocks clocks = {made->n_parts, made->clock};
    struct inq_err err = {0};
    assert_int_equal(inq_clock_join_exchanges(&trace, &rows, &parts, &clocks, &err), INQ_OK);
    for (size_t p = 0; p < made->n_parts; p++) {
        moved_ns[p] = made->clock[p].offset_ns - made->clock[0].offset_ns;
    }
}

/* By how much the second part was moved; the first is what moves else. */
static int64_t moved(struct made *made)
{
    int64_t moved_ns[PARTS] = {0};
    join(made, moved_ns);
    inq_mem_free(made);
    return moved_ns[1];
}

/* Irregular times, 1 to 2 ms from each other. */
static void some_times(int64_t *at_ns, size_t n, uint64_t seed)
{
    uint64_t state = seed * 7919 + 1;
    int64_t now_ns = HOUR;
    for (size_t i = 0; i < n; i++) {
        now_ns += MS + (int64_t)(test_random(&state) % 1000000);
        at_ns[i] = now_ns;
    }
}

/* The same earlier. */
static void add_earlier(struct made *made, uint32_t part, size_t channel, const int64_t *end_ns,
                        size_t n, int64_t by_ns)
{
    int64_t at_ns[MANY];
    for (size_t i = 0; i < n; i++) {
        at_ns[i] = end_ns[i] - by_ns;
    }
    add(made, part, channel, at_ns, n);
}

/* A line of part 0 and one of part 1 whose ends are all those of the same transfers. */
static void add_partners(struct made *made, size_t channel, size_t n, int64_t later_ns)
{
    int64_t at_ns[MANY];
    some_times(at_ns, n, channel + 1);
    add(made, 0, channel, at_ns, n);
    add_earlier(made, 1, channel, at_ns, n, later_ns);
}

/* Is anywhere but where the other end is, and where none of the others is. */
static int64_t elsewhere_ns(size_t i)
{
    return 50 * US + (int64_t)i * 20 * US;
}

/* Two lines of `n` ends, from first to last: `pair` of them end together, one of those `off_ns`
 * apart from the others. Those that vote are among them. */
static void add_mixed(struct made *made, size_t channel, size_t n, size_t pair, int64_t later_ns,
                      int64_t off_ns)
{
    int64_t at_ns[MANY];
    some_times(at_ns, n, channel + 1);
    add(made, 0, channel, at_ns, n);
    for (size_t i = 0; i < n; i++) {
        bool together = i + 1 == n || (i % 2 == 0 && i / 2 + 1 < pair);
        at_ns[i] -= later_ns + (together ? (i == 2 ? off_ns : 0) : -elsewhere_ns(i));
    }
    add(made, 1, channel, at_ns, n);
}

/* ---- what is found --------------------------------------------------------------------------- */

static void two_parts__within_what_ends_differ_by(void **state)
{
    (void)state;
    static const int64_t later_ns[] = {0, 3 * US, -700 * US, 2500 * MS, -HOUR};
    for (size_t k = 0; k < sizeof later_ns / sizeof *later_ns; k++) {
        struct made *made = made_parts(2);
        int64_t at_ns[30];
        some_times(at_ns, 30, k);
        add(made, 0, 0, at_ns, 30);
        uint64_t dice = 5;
        for (size_t i = 0; i < 30; i++) {
            at_ns[i] -= later_ns[k] + (int64_t)(test_random(&dice) % 8001) - 4000;
        }
        add(made, 1, 0, at_ns, 30);
        assert_in_range(llabs(moved(made) - later_ns[k]), 0, 4 * US);
    }
}

/* Parts 0 and 2 have nothing with each other, in whatever order the others count. */
static void three_parts__through_one_another(void **state)
{
    (void)state;
    static const size_t ends[2][2] = {{20, 40}, {40, 20}};
    for (size_t k = 0; k < 2; k++) {
        struct made *made = made_parts(3);
        int64_t at_ns[40];
        int64_t moved_ns[PARTS];
        some_times(at_ns, ends[k][0], 1);
        add(made, 0, 0, at_ns, ends[k][0]);
        add_earlier(made, 1, 0, at_ns, ends[k][0], LATER_NS);
        some_times(at_ns, ends[k][1], 2);
        add_earlier(made, 1, 1, at_ns, ends[k][1], LATER_NS);
        add_earlier(made, 2, 1, at_ns, ends[k][1], -HOUR);
        join(made, moved_ns);
        assert_int_equal(moved_ns[1], LATER_NS);
        assert_int_equal(moved_ns[2], -HOUR);
        inq_mem_free(made);
    }
}

/* Of three differences that contradict each other the one with the least weight does not count. */
static void three_parts__least_weight_gives_way(void **state)
{
    (void)state;
    struct made *made = made_parts(3);
    int64_t at_ns[30];
    int64_t moved_ns[PARTS];
    some_times(at_ns, 20, 1);
    add(made, 0, 0, at_ns, 20);
    add_earlier(made, 1, 0, at_ns, 20, 9 * MS);
    some_times(at_ns, 30, 2);
    add(made, 0, 1, at_ns, 30);
    add_earlier(made, 2, 1, at_ns, 30, LATER_NS);
    some_times(at_ns, 25, 3);
    add(made, 1, 2, at_ns, 25);
    add_earlier(made, 2, 2, at_ns, 25, 2 * MS);
    join(made, moved_ns);
    assert_int_equal(moved_ns[2], LATER_NS);
    assert_int_equal(moved_ns[1], LATER_NS - 2 * MS);
    inq_mem_free(made);
}

static void clock__moves_with_all_its_pieces(void **state)
{
    (void)state;
    struct made *made = made_parts(2);
    struct inq_clock_piece later[2] = {{HOUR / 2, 5, 0}, {2 * HOUR, 9, 0}};
    made->clock[1].n_later = 2;
    made->clock[1].later = later;
    add_partners(made, 0, 12, LATER_NS); /* while the first piece holds: 5 ns are in its times */
    assert_int_equal(moved(made), LATER_NS - 5);
    assert_int_equal(later[0].offset_ns, LATER_NS);
    assert_int_equal(later[1].offset_ns, LATER_NS + 4);
}

/* Streams are told apart: two of one rank have a partner each. */
static void lines__are_of_one_stream(void **state)
{
    (void)state;
    struct made *made = made_parts(2);
    int64_t at_ns[8];
    int64_t half_ns[4];
    some_times(at_ns, 8, 1);
    made->lanes = 2;
    add(made, 0, 0, at_ns, 8);
    made->lanes = 1;
    for (size_t first = 0; first < 2; first++) {
        for (size_t i = 0; i < 4; i++) {
            half_ns[i] = at_ns[2 * i + first];
        }
        add_earlier(made, 1, 0, half_ns, 4, LATER_NS);
    }
    assert_int_equal(moved(made), LATER_NS);
}

/* ---- what does not tell ---------------------------------------------------------------------- */

static void nothing_moves__without_transfers(void **state)
{
    (void)state;
    assert_int_equal(moved(made_parts(2)), 0);
    struct made *made = made_parts(2);
    int64_t at_ns[30];
    some_times(at_ns, 30, 1);
    add(made, 0, 0, at_ns, 30); /* of one part only */
    assert_int_equal(moved(made), 0);
    made = made_parts(2);
    add_partners(made, 0, 30, LATER_NS);
    made->channel[0].bare = 0; /* collectives, or transfers with a peer */
    assert_int_equal(moved(made), 0);
    made = made_parts(2);
    some_times(at_ns, 30, 1);
    add(made, 0, 0, at_ns, 30); /* transfers in other channels */
    add_earlier(made, 1, 1, at_ns, 30, LATER_NS);
    assert_int_equal(moved(made), 0);
    made = made_parts(1);
    add(made, 0, 0, at_ns, 30);
    (void)moved(made);
}

static void nothing_moves__by_ends_of_others(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 20; seed++) {
        struct made *made = made_parts(2);
        int64_t at_ns[40];
        for (uint32_t r = 0; r < 16; r++) {
            some_times(at_ns, 40, seed * 16 + r);
            add_earlier(made, r % 2, 0, at_ns, 40, r % 2 * LATER_NS);
        }
        assert_int_equal(moved(made), 0);
    }
}

/* Work that repeats ends together one repetition off nearly as often. */
static void nothing_moves__where_all_repeats(void **state)
{
    (void)state;
    struct made *made = made_parts(2);
    int64_t at_ns[40];
    for (int i = 0; i < 40; i++) {
        at_ns[i] = HOUR + (int64_t)i * 10 * MS;
    }
    add(made, 0, 0, at_ns, 40);
    add_earlier(made, 1, 0, at_ns, 40, LATER_NS + MS);
    assert_int_equal(moved(made), 0);
}

/* One transfer ends together with one other wherever that is, and replicas all say so. */
static void nothing_moves__by_one_transfer_each(void **state)
{
    (void)state;
    for (size_t n = 1; n <= 2; n++) {
        struct made *made = made_parts(2);
        int64_t at_ns[2];
        some_times(at_ns, 2, 1);
        for (uint32_t r = 0; r < 16; r++) {
            add_earlier(made, r % 2, 0, at_ns, n, r % 2 * LATER_NS);
        }
        assert_int_equal(moved(made), n == 1 ? 0 : LATER_NS);
    }
}

/* ---- limits ---------------------------------------------------------------------------------- */

static void limit__weight(void **state)
{
    (void)state;
    for (size_t n = 5; n <= 6; n++) {
        struct made *made = made_parts(2);
        add_partners(made, 0, n, LATER_NS);
        assert_int_equal(moved(made), n < 6 ? 0 : LATER_NS);
    }
}

static void limit__weight_more_than_elsewhere(void **state)
{
    (void)state;
    for (size_t n = 4; n <= 5; n++) {
        struct made *made = made_parts(2);
        add_partners(made, 0, 10, LATER_NS);
        add_partners(made, 1, n, 10 * LATER_NS);
        assert_int_equal(moved(made), n > 4 ? 0 : LATER_NS);
    }
}

static void limit__elsewhere(void **state)
{
    (void)state;
    for (int sign = -1; sign <= 1; sign += 2) {
        for (int64_t more_ns = 0; more_ns <= 1; more_ns++) {
            struct made *made = made_parts(2);
            add_partners(made, 0, 10, LATER_NS);
            add_partners(made, 1, 9, LATER_NS + sign * (100 * US + more_ns));
            assert_int_equal(moved(made), more_ns > 0 ? 0 : LATER_NS);
        }
    }
}

static void limit__share_of_the_ends_that_pair(void **state)
{
    (void)state;
    for (size_t pair = 17; pair <= 18; pair++) { /* 45 % of 40 */
        struct made *made = made_parts(2);
        add_mixed(made, 0, 40, pair, LATER_NS, 0);
        assert_int_equal(moved(made), pair < 18 ? 0 : LATER_NS);
    }
}

static void limit__recorded_together(void **state)
{
    (void)state;
    int64_t at_ns[40];
    some_times(at_ns, 40, 1);
    for (size_t both = 9; both <= 10; both++) { /* of 20 */
        struct made *made = made_parts(2);
        add(made, 0, 0, at_ns, 20);
        add_earlier(made, 1, 0, at_ns + 20 - both, 20, LATER_NS);
        assert_int_equal(moved(made), both < 10 ? 0 : LATER_NS);
    }
}

/* The one that is off decides whether 45 % pair. */
static void limit__together(void **state)
{
    (void)state;
    for (int sign = -1; sign <= 1; sign += 2) {
        for (int64_t more_ns = 0; more_ns <= 1; more_ns++) {
            struct made *made = made_parts(2);
            add_mixed(made, 0, 40, 18, LATER_NS, sign * (8 * US + more_ns));
            assert_int_equal(moved(made), more_ns > 0 ? 0 : LATER_NS);
        }
    }
}

/* Votes that one difference in their middle is together with count as one. */
static void limit__votes_for_one_difference(void **state)
{
    (void)state;
    for (int64_t more_ns = 0; more_ns <= 1; more_ns++) {
        struct made *made = made_parts(2);
        int64_t at_ns[11];
        some_times(at_ns, 11, 1);
        add(made, 0, 0, at_ns, 11);
        for (int i = 0; i < 11; i++) {
            at_ns[i] -= LATER_NS + (i < 5 ? -8 * US : i > 5 ? 8 * US + more_ns : 0);
        }
        add(made, 1, 0, at_ns, 11);
        assert_int_equal(moved(made), more_ns > 0 ? 0 : LATER_NS);
    }
}

static void limit__steps_apart(void **state)
{
    (void)state;
    static const struct {
        int64_t x, y;
        bool pair;
    } rows[] = {{4, 4, true},  {4, 5, true},  {5, 4, true}, {4, 6, false},        {6, 4, false},
                {-1, 6, true}, {6, -1, true}, {0, 1, true}, {0, INT64_MAX, false}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        struct made *made = made_parts(2);
        int64_t at_ns[12];
        some_times(at_ns, 12, 1);
        made->step = rows[k].x;
        add(made, 0, 0, at_ns, 12);
        made->step = rows[k].y;
        add_earlier(made, 1, 0, at_ns, 12, LATER_NS);
        assert_int_equal(moved(made), rows[k].pair ? LATER_NS : 0);
    }
}

static void limit__parts(void **state)
{
    (void)state;
    for (size_t n = 32; n <= 33; n++) {
        struct made *made = made_parts(n);
        int64_t moved_ns[PARTS];
        int64_t at_ns[12];
        for (uint32_t p = 0; p + 1 < n; p++) { /* each with the next */
            some_times(at_ns, 12, p + 1);
            add_earlier(made, p, p, at_ns, 12, p * LATER_NS);
            add_earlier(made, p + 1, p, at_ns, 12, (p + 1) * LATER_NS);
        }
        join(made, moved_ns);
        for (uint32_t p = 0; p < n; p++) {
            assert_int_equal(moved_ns[p], n > 32 ? 0 : p * LATER_NS);
        }
        inq_mem_free(made);
    }
}

/* Of more lines every third votes, and the second is the one that knows. */
static void limit__lines_that_vote(void **state)
{
    (void)state;
    for (size_t n = 48; n <= 49; n++) {
        struct made *made = made_parts(2);
        int64_t at_ns[12];
        some_times(at_ns, 12, 1);
        for (size_t c = 0; c < n; c++) {
            add(made, 0, c, at_ns, 12);
            if (c == 1) {
                add_earlier(made, 1, c, at_ns, 12, LATER_NS);
            }
        }
        assert_int_equal(moved(made), n > 48 ? 0 : LATER_NS);
    }
}

/* Where of 32 parts one has 33 lines, four lines of any other may be compared with them. */
static void limit__lines_looked_at(void **state)
{
    (void)state;
    for (size_t n = 33; n <= 34; n++) {
        struct made *made = made_parts(32);
        int64_t at_ns[12];
        some_times(at_ns, 12, 1);
        add(made, 0, 0, at_ns, 12);
        for (size_t c = 0; c < n; c++) {
            add_earlier(made, 1, c, at_ns, 12, LATER_NS);
        }
        assert_int_equal(moved(made), n > 33 ? 0 : LATER_NS);
    }
}

/* Of more ends every second one votes, and the others are those that pair. */
static void limit__ends_that_vote(void **state)
{
    (void)state;
    for (size_t n = 24; n <= 25; n++) {
        struct made *made = made_parts(2);
        int64_t at_ns[25];
        int64_t odd_ns[12];
        some_times(at_ns, n, 1);
        for (size_t i = 0; i < 12; i++) {
            odd_ns[i] = at_ns[2 * i + 1];
        }
        add(made, 0, 0, at_ns, n);
        add_earlier(made, 1, 0, odd_ns, 12, LATER_NS);
        assert_int_equal(moved(made), n > 24 ? 0 : LATER_NS);
    }
}

/* Differences with ten votes each that lines of 24 ends do not bear out, and one with eight votes
 * that they do. The last two are as much apart as given. */
static int64_t moved_among(size_t n_wrong, int64_t last_apart_ns)
{
    struct made *made = made_parts(2);
    add_partners(made, 0, 8, LATER_NS);
    for (size_t k = 1; k <= n_wrong; k++) {
        int64_t later_ns = (int64_t)(k < n_wrong ? k : k - 1) * 10 * LATER_NS;
        add_mixed(made, k, 24, 10, later_ns + (k < n_wrong ? 0 : last_apart_ns), 0);
    }
    return moved(made);
}

static void limit__candidates(void **state)
{
    (void)state;
    assert_int_equal(moved_among(15, 10 * LATER_NS), LATER_NS);
    assert_int_equal(moved_among(16, 10 * LATER_NS), 0);
    assert_int_equal(moved_among(16, 8 * US), LATER_NS); /* the last two are one */
    assert_int_equal(moved_among(16, 8 * US + 1), 0);
}

/* ---- hostile --------------------------------------------------------------------------------- */

static void hostile__of_no_length(void **state)
{
    (void)state;
    struct made *made = made_parts(2);
    made->took_ns = 0;
    add_partners(made, 0, 12, LATER_NS);
    assert_int_equal(moved(made), LATER_NS);
}

static void hostile__all_at_once(void **state)
{
    (void)state;
    struct made *made = made_parts(2);
    int64_t at_ns[MANY] = {0};
    add(made, 0, 0, at_ns, MANY);
    add(made, 1, 0, at_ns, MANY);
    assert_int_equal(moved(made), 0);
}

/* Ends as far apart as readers let them be do not count beyond a quarter of what a number holds. */
static void hostile__furthest_times(void **state)
{
    (void)state;
    for (int64_t more_ns = 0; more_ns <= 1; more_ns++) {
        for (int sign = -1; sign <= 1; sign += 2) {
            struct made *made = made_parts(2);
            int64_t at_ns[13];
            some_times(at_ns, 12, 1);
            add(made, 0, 0, at_ns, 12);
            add_earlier(made, 1, 0, at_ns, 12, sign * (INT64_MAX / 4 - 2 * HOUR));
            for (int i = 0; i < 12; i++) {
                at_ns[i] = (i % 2 == 0 ? 1 : -1) * (INT64_MAX / 4 + more_ns);
            }
            add(made, 0, 1, at_ns, 12);
            add(made, 1, 1, at_ns + 1, 11);
            int64_t later_ns = sign * (INT64_MAX / 4 - 2 * HOUR);
            assert_int_equal(moved(made), more_ns > 0 ? later_ns : 0);
        }
    }
}

/* A chain of parts, each further from the one before than any two clocks are: what adds up along it
 * would not fit, so that each joins only where no part of the whole gets that far from another. */
static void hostile__each_part_far_from_the_next(void **state)
{
    (void)state;
    enum { CHAIN = 8 };
    const int64_t third_ns = INT64_MAX / 12;
    for (int sign = -1; sign <= 1; sign += 2) {
        struct made *made = made_parts(CHAIN);
        int64_t at_ns[20];
        int64_t moved_ns[PARTS] = {0};
        for (uint32_t p = 0; p + 1 < CHAIN; p++) {
            some_times(at_ns, 20, p);
            add(made, p, p, at_ns, 20);
            add_earlier(made, p + 1, p, at_ns, 20, sign * third_ns);
        }
        join(made, moved_ns);
        size_t n_joined = 0;
        for (size_t p = 1; p < CHAIN; p++) {
            int64_t by_ns = moved_ns[p] - moved_ns[p - 1];
            assert_true(llabs(made->clock[p].offset_ns) <= INT64_MAX / 4);
            n_joined += by_ns == sign * third_ns;
        }
        assert_in_range(n_joined, CHAIN / 2, CHAIN - 2);
        inq_mem_free(made);
    }
}

/* Two clocks as far apart as clocks can be, and by a nanosecond more. */
static void limit__furthest_clocks(void **state)
{
    (void)state;
    for (int64_t more_ns = 0; more_ns <= 1; more_ns++) {
        struct made *made = made_parts(2);
        int64_t at_ns[12];
        some_times(at_ns, 12, 1);
        add_earlier(made, 0, 0, at_ns, 12, HOUR - INT64_MAX / 8 - more_ns);
        add_earlier(made, 1, 0, at_ns, 12, HOUR + INT64_MAX / 4 - INT64_MAX / 8);
        assert_int_equal(moved(made), more_ns == 0 ? INT64_MAX / 4 : 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_parts__within_what_ends_differ_by),
        cmocka_unit_test(three_parts__through_one_another),
        cmocka_unit_test(three_parts__least_weight_gives_way),
        cmocka_unit_test(clock__moves_with_all_its_pieces),
        cmocka_unit_test(lines__are_of_one_stream),
        cmocka_unit_test(nothing_moves__without_transfers),
        cmocka_unit_test(nothing_moves__by_ends_of_others),
        cmocka_unit_test(nothing_moves__where_all_repeats),
        cmocka_unit_test(nothing_moves__by_one_transfer_each),
        cmocka_unit_test(limit__weight),
        cmocka_unit_test(limit__weight_more_than_elsewhere),
        cmocka_unit_test(limit__elsewhere),
        cmocka_unit_test(limit__share_of_the_ends_that_pair),
        cmocka_unit_test(limit__recorded_together),
        cmocka_unit_test(limit__together),
        cmocka_unit_test(limit__votes_for_one_difference),
        cmocka_unit_test(limit__steps_apart),
        cmocka_unit_test(limit__parts),
        cmocka_unit_test(limit__lines_that_vote),
        cmocka_unit_test(limit__lines_looked_at),
        cmocka_unit_test(limit__ends_that_vote),
        cmocka_unit_test(limit__candidates),
        cmocka_unit_test(hostile__of_no_length),
        cmocka_unit_test(hostile__all_at_once),
        cmocka_unit_test(hostile__furthest_times),
        cmocka_unit_test(hostile__each_part_far_from_the_next),
        cmocka_unit_test(limit__furthest_clocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
