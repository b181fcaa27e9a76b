/* SPDX-License-Identifier: Apache-2.0 */
/* Who exchanged with whom, by the ends of transfers that name no peer. */
#include "trace/partners.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { US = 1000 };

/* How many of `n` have a partner; all partners are mutual and of another side. */
static size_t pair(struct inq_exchange *all, size_t n)
{
    struct inq_err err = {0};
    size_t n_paired = 0;
    size_t counted = 0;

    assert_int_equal(inq_partners_find(all, n, NULL, &n_paired, &err), INQ_OK);
    for (uint32_t i = 0; i < n; i++) {
        if (all[i].partner != INQ_NONE) {
            assert_true(all[i].partner < n);
            assert_int_equal(all[all[i].partner].partner, i);
            assert_int_not_equal(all[all[i].partner].side, all[i].side);
            counted++;
        }
    }
    assert_int_equal(counted, n_paired);
    return n_paired;
}

static void partners__ends_that_agree_are_one_transfer(void **state)
{
    (void)state;
    for (int64_t apart_ns = 0; apart_ns <= (int64_t)50 * US; apart_ns += (int64_t)10 * US) {
        struct inq_exchange all[] = {{1000 * US, 0, 0, 0}, {1000 * US + apart_ns, 1, 0, 0}};
        assert_int_equal(pair(all, 2), 2);
    }
    struct inq_exchange late[] = {{1000 * US, 0, 0, 0}, {1050 * US + 1, 1, 0, 0}};
    assert_int_equal(pair(late, 2), 0);
}

/* Sides 0 and 1 talk, and 2 and 3; the replicas are 20 us apart, so that a neighbor in time is
 * often of the other pair. */
static void partners__replicas_in_step_are_told_apart(void **state)
{
    (void)state;
    struct inq_exchange all[80];
    for (int k = 0; k < 20; k++) {
        int64_t at_ns = (int64_t)k * 5000 * US;
        all[4 * k] = (struct inq_exchange){at_ns, 0, (uint32_t)k, 0};
        all[4 * k + 1] = (struct inq_exchange){at_ns + (int64_t)3 * US, 1, (uint32_t)k, 0};
        all[4 * k + 2] = (struct inq_exchange){at_ns + (int64_t)20 * US, 2, (uint32_t)k, 0};
        all[4 * k + 3] = (struct inq_exchange){at_ns + (int64_t)22 * US, 3, (uint32_t)k, 0};
    }

    assert_int_equal(pair(all, 80), 80);
    for (uint32_t i = 0; i < 80; i++) {
        assert_int_equal(all[i].side / 2, all[all[i].partner].side / 2);
        assert_int_equal(all[i].row, all[all[i].partner].row);
    }
}

/* A stage between two others talks with either; once the ends of both transfers fall together. */
static void partners__a_stage_has_two_partners(void **state)
{
    (void)state;
    struct inq_exchange all[44];
    size_t n = 0;
    for (uint32_t k = 0; k < 10; k++) {
        int64_t at_ns = (int64_t)k * 9000 * US;
        all[n++] = (struct inq_exchange){at_ns, 0, k, 0};
        all[n++] = (struct inq_exchange){at_ns + (int64_t)2 * US, 1, k, 0};
        all[n++] = (struct inq_exchange){at_ns + (int64_t)4000 * US, 1, 100 + k, 0};
        all[n++] = (struct inq_exchange){at_ns + (int64_t)4002 * US, 2, k, 0};
    }
    all[n++] = (struct inq_exchange){(int64_t)200000 * US, 0, 50, 0};
    all[n++] = (struct inq_exchange){(int64_t)200001 * US, 1, 50, 0};
    all[n++] = (struct inq_exchange){(int64_t)200030 * US, 1, 51, 0};
    all[n++] = (struct inq_exchange){(int64_t)200031 * US, 2, 51, 0};

    assert_int_equal(pair(all, n), n);
    for (size_t i = 0; i < n; i++) {
        assert_true(all[i].row < 50 || all[i].row >= 100 || all[i].row == all[all[i].partner].row);
    }
}

/* A side that ends beside another's transfers by chance, less than a quarter as often as its own
 * partner does, is not taken for one. */
static void partners__chance_makes_no_partner(void **state)
{
    (void)state;
    for (uint32_t by_chance = 4; by_chance <= 5; by_chance++) {
        struct inq_exchange all[60];
        size_t n = 0;
        for (uint32_t k = 0; k < 20; k++) {
            int64_t at_ns = (int64_t)k * 9000 * US;
            all[n++] = (struct inq_exchange){at_ns, 0, k, 0};
            all[n++] = (struct inq_exchange){at_ns + (int64_t)2 * US, 1, k, 0};
        }
        for (uint32_t k = 0; k < by_chance; k++) {
            int64_t at_ns = (int64_t)(900 + k) * 9000 * US;
            all[n++] = (struct inq_exchange){at_ns, 0, 100 + k, 0};
            all[n++] = (struct inq_exchange){at_ns + (int64_t)2 * US, 2, 100 + k, 0};
        }

        assert_int_equal(pair(all, n), by_chance < 5 ? 40 : n);
    }
}

/* Sides 0 and 1 are partners, 2 and 3 too; 0 and 2 are of one tensor group, and once in five
 * times they end together while their partners were not recorded, and at the end always. Whether
 * they are paired then. */
static bool are_siblings_paired(int64_t siblings_ns, int64_t partners_ns)
{
    /* a third of each lies within 1; of no other two of the four sides do they lie closer */
    static const int siblings[] = {0, 1, 2, -1, -2};
    static const int partners[] = {2, 1, 0, 3, 4};
    static const int others[] = {3, 4, 5, 2, 1};
    struct inq_exchange all[180];
    size_t n = 0;
    for (uint32_t k = 0; k < 50; k++) {
        int64_t at_ns = (int64_t)k * 9000 * US;
        int64_t late_ns = at_ns + siblings[k % 5] * siblings_ns;
        all[n++] = (struct inq_exchange){at_ns, 0, k, 0};
        all[n++] = (struct inq_exchange){late_ns, 2, k, 0};
        if (k % 5 != 0 && k < 40) {
            all[n++] = (struct inq_exchange){at_ns + partners[k % 5] * partners_ns, 1, k, 0};
            all[n++] = (struct inq_exchange){late_ns + others[k % 5] * partners_ns, 3, k, 0};
        }
    }
    size_t paired = pair(all, n);
    assert_true(paired == n || paired == n - 36);
    return paired == n;
}

/* Partners are those who vary least: who varies more than six times as much, and by more than a
 * microsecond, is none. */
static void partners__siblings_that_vary_more_are_none(void **state)
{
    (void)state;
    assert_true(are_siblings_paired(6000, 1000));
    assert_false(are_siblings_paired(6001, 1000));
    assert_true(are_siblings_paired(1000, 100));
    assert_false(are_siblings_paired(1001, 100));
}

/* Side 1 ends nearer to side 2 than to its partner at times: how much two vary usually counts. */
static void partners__the_steadier_comes_before_the_nearer(void **state)
{
    (void)state;
    static const int siblings[] = {0, 5, 10, -5, -10};
    struct inq_exchange all[120];
    for (uint32_t k = 0; k < 40; k++) {
        int64_t at_ns = (int64_t)k * 9000 * US;
        all[3 * k] = (struct inq_exchange){at_ns, 0, k, 0};
        all[3 * k + 1] = (struct inq_exchange){at_ns + US + k % 2 * US, 1, k, 0};
        all[3 * k + 2] = (struct inq_exchange){at_ns + siblings[k % 5] * US, 2, k, 0};
    }
    assert_int_equal(pair(all, 120), 80);
    for (size_t i = 0; i < 120; i++) {
        assert_int_equal(all[i].partner == INQ_NONE, all[i].side == 2);
    }
}

/* One exchange of all in a ring: no two belong together, a third of them stays alone. */
static void partners__a_ring_of_three_leaves_one_alone(void **state)
{
    (void)state;
    struct inq_exchange all[60];
    for (uint32_t k = 0; k < 20; k++) {
        for (uint32_t s = 0; s < 3; s++) {
            int64_t at_ns = (int64_t)k * 9000 * US + (int64_t)((s + k) % 3) * 5 * US;
            all[3 * k + s] = (struct inq_exchange){at_ns, s, k, 0};
        }
    }

    assert_int_equal(pair(all, 60), 40);
}

static void partners__nothing_is_nothing(void **state)
{
    (void)state;
    struct inq_exchange one = {0, 0, 0, 0};

    assert_int_equal(pair(&one, 0), 0);
    assert_int_equal(pair(&one, 1), 0);
}

/* Sides 0 and 1 are partners, and 2 and 3, on two hosts whose clocks still differ by 20 us: the
 * nearest in time is on the own host, and of the other pair. */
static void partners__clocks_that_still_differ_are_allowed_for(void **state)
{
    (void)state;
    static const int64_t partners_us[] = {18, 20, 22, 24};
    static const int64_t replicas_us[] = {-9, -3, 3, 9};
    struct inq_exchange all[80];
    for (uint32_t k = 0; k < 20; k++) {
        int64_t at_ns = (int64_t)k * 5000 * US;
        int64_t other_ns = at_ns + replicas_us[k % 4] * US;
        all[4 * k] = (struct inq_exchange){at_ns, 0, k, 0};
        all[4 * k + 1] = (struct inq_exchange){at_ns + partners_us[k % 4] * US, 1, k, 0};
        all[4 * k + 2] = (struct inq_exchange){other_ns, 2, k, 0};
        all[4 * k + 3] = (struct inq_exchange){other_ns + partners_us[k / 5] * US, 3, k, 0};
    }

    assert_int_equal(pair(all, 80), 80);
    for (uint32_t i = 0; i < 80; i++) {
        assert_int_equal(all[i].side / 2, all[all[i].partner].side / 2);
    }
}

static int64_t not_of_one_half(const void *ctx, const struct inq_exchange *x,
                               const struct inq_exchange *y)
{
    (void)ctx;
    return x->side / 2 == y->side / 2 ? -1 : 0;
}

/* What rules forbid is no pair, however well the ends agree. */
static void partners__are_none_that_cannot_be(void **state)
{
    (void)state;
    struct inq_partner_rules rules = {not_of_one_half, NULL};
    struct inq_err err = {0};
    struct inq_exchange all[40];
    size_t n_paired = 0;
    for (uint32_t k = 0; k < 10; k++) {
        for (uint32_t side = 0; side < 4; side++) {
            int64_t at_ns = ((int64_t)k * 5000 + side / 2 * 10) * US;
            all[4 * k + side] = (struct inq_exchange){at_ns, side, k, 0};
        }
    }

    assert_int_equal(inq_partners_find(all, 40, &rules, &n_paired, &err), INQ_OK);
    assert_int_equal(n_paired, 40);
    for (uint32_t i = 0; i < 40; i++) {
        assert_int_not_equal(all[i].side / 2, all[all[i].partner].side / 2);
    }
}

/* In [-most_ns, most_ns], alike on every machine. */
static int64_t spread(uint32_t *state, int64_t most_ns)
{
    *state = *state * 1664525U + 1013904223U;
    return (int64_t)((uint64_t)(*state >> 8) % (uint64_t)(2 * most_ns + 1)) - most_ns;
}

/* Of sides 2i and 2i + 1, all transfers are each other's. */
static void assert_neighbors(const struct inq_exchange *all, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        assert_int_not_equal(all[i].partner, INQ_NONE);
        assert_int_equal(all[i].side / 2, all[all[i].partner].side / 2);
        assert_int_equal(all[i].row, all[all[i].partner].row);
    }
}

/* Two pairs of sides that leave each transfer within a microsecond of each other, and the pairs
 * within `apart_ns`; the hosts of the odd sides run ahead by so much more each time. */
static size_t make_siblings(struct inq_exchange *all, uint32_t times, int64_t apart_ns,
                            int64_t drift_ns)
{
    uint32_t state = 7;
    size_t n = 0;
    for (uint32_t k = 0; k < times; k++) {
        int64_t at_ns = (int64_t)k * 5000 * US;
        int64_t ahead_ns = (int64_t)k * drift_ns;
        for (uint32_t side = 0; side < 4; side += 2) {
            int64_t end_ns = at_ns + spread(&state, apart_ns);
            all[n++] = (struct inq_exchange){end_ns + spread(&state, 1000), side, k, 0};
            all[n++] =
                (struct inq_exchange){end_ns + ahead_ns + spread(&state, 1000), side + 1, k, 0};
        }
    }
    return n;
}

/* Siblings of one tensor group end so close together that one in so many would be taken for the
 * other's partner by its ends alone: partners are constant. */
static void partners__are_constant(void **state)
{
    (void)state;
    static struct inq_exchange all[4 * 300];
    size_t n = make_siblings(all, 300, 2500, 0);
    assert_int_equal(pair(all, n), n);
    assert_neighbors(all, n);
}

/* The same on two hosts whose clocks part by 20 us meanwhile. */
static void partners__are_found_beside_a_drift(void **state)
{
    (void)state;
    static struct inq_exchange all[4 * 300];
    size_t n = make_siblings(all, 300, 2500, 67);
    assert_int_equal(pair(all, n), n);
    assert_neighbors(all, n);
}

/* Sides 0 and 1 drift apart by 40 us. Beside 0 there always ends, as steadily as any, a transfer of
 * 4, which is 5's: once 0 is known to have nobody, what the drift hid is found. */
static void partners__who_has_nobody_tries_again(void **state)
{
    (void)state;
    struct inq_exchange all[4 * 40];
    size_t n = 0;
    for (uint32_t k = 0; k < 40; k++) {
        int64_t at_ns = (int64_t)k * 5000 * US;
        all[n++] = (struct inq_exchange){at_ns, 0, k, 0};
        all[n++] = (struct inq_exchange){at_ns + (int64_t)k * US, 1, k, 0};
        all[n++] = (struct inq_exchange){at_ns + (int64_t)45 * US, 4, k, 0};
        all[n++] = (struct inq_exchange){at_ns + (int64_t)45 * US, 5, k, 0};
    }
    assert_int_equal(pair(all, n), n);
    assert_neighbors(all, n);
}

/* 4 and 5 are of ranks whose partners were not recorded: they end within 50 us of each other, but
 * not as partners do. */
static void partners__are_as_steady_as_others_of_the_run(void **state)
{
    (void)state;
    static struct inq_exchange all[6 * 60];
    uint32_t random = 3;
    size_t n = make_siblings(all, 60, 2500, 0);
    for (uint32_t k = 0; k < 60; k++) {
        int64_t at_ns = (int64_t)k * 5000 * US + (int64_t)2000 * US;
        all[n++] = (struct inq_exchange){at_ns, 4, k, 0};
        all[n++] = (struct inq_exchange){at_ns + spread(&random, (int64_t)45 * US), 5, k, 0};
    }
    assert_int_equal(pair(all, n), n - 120);
    for (size_t i = 0; i < n; i++) {
        assert_true(all[i].side < 4 || all[i].partner == INQ_NONE);
    }
}

/* Stages 0 to 3; once the transfers of 0 and 1 and of 2 and 3 end so close that 1 and 2 are
 * nearest, which would leave 0 and 3 with nobody. */
static void partners__part_for_those_who_have_nobody(void **state)
{
    (void)state;
    struct inq_exchange all[6 * 10 + 4];
    size_t n = 0;
    for (uint32_t k = 0; k < 10; k++) {
        for (uint32_t side = 0; side < 3; side++) {
            int64_t at_ns = ((int64_t)k * 9 + side) * 1000 * US;
            all[n++] = (struct inq_exchange){at_ns, side, 10 * k + side, 0};
            all[n++] = (struct inq_exchange){at_ns, side + 1, 10 * k + side, 0};
        }
    }
    int64_t at_ns = (int64_t)200000 * US;
    all[n++] = (struct inq_exchange){at_ns, 0, 500, 0};
    all[n++] = (struct inq_exchange){at_ns + (int64_t)10 * US, 1, 500, 0};
    all[n++] = (struct inq_exchange){at_ns + (int64_t)11 * US, 2, 501, 0};
    all[n++] = (struct inq_exchange){at_ns + (int64_t)21 * US, 3, 501, 0};

    assert_int_equal(pair(all, n), n);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(all[i].row, all[all[i].partner].row);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(partners__ends_that_agree_are_one_transfer),
        cmocka_unit_test(partners__replicas_in_step_are_told_apart),
        cmocka_unit_test(partners__a_stage_has_two_partners),
        cmocka_unit_test(partners__chance_makes_no_partner),
        cmocka_unit_test(partners__siblings_that_vary_more_are_none),
        cmocka_unit_test(partners__the_steadier_comes_before_the_nearer),
        cmocka_unit_test(partners__a_ring_of_three_leaves_one_alone),
        cmocka_unit_test(partners__nothing_is_nothing),
        cmocka_unit_test(partners__clocks_that_still_differ_are_allowed_for),
        cmocka_unit_test(partners__are_none_that_cannot_be),
        cmocka_unit_test(partners__are_constant),
        cmocka_unit_test(partners__are_found_beside_a_drift),
        cmocka_unit_test(partners__who_has_nobody_tries_again),
        cmocka_unit_test(partners__are_as_steady_as_others_of_the_run),
        cmocka_unit_test(partners__part_for_those_who_have_nobody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
