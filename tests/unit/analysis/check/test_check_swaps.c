/* SPDX-License-Identifier: Apache-2.0 */
/* The gate on schedules: every swap of neighbors that makes a schedule longer fails, and nothing
 * that is equal does. */
#include "analysis/check/check.h"
#include "inquest/out.h"
#include "inquest/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* As a team keeps it: written and read again. */
static struct inq_baseline keep(const struct inq_snapshot *snapshot)
{
    struct inq_check_rules rules = {0};
    struct inq_out out = {0};
    struct inq_baseline baseline;
    struct inq_err err = {0};
    assert_int_equal(inq_baseline_write(snapshot, &rules, inq_out_sink(&out), &err), INQ_OK);
    if (inq_baseline_read(out.buf, out.len, &baseline, &err) != INQ_OK) {
        fail_msg("%s", err.message);
    }
    inq_out_release(&out);
    return baseline;
}

static struct inq_snapshot measure(const struct inq_schedule *schedule,
                                   const struct inq_costs *costs)
{
    struct inq_lint_options options = {.costs = *costs};
    struct inq_snapshot snapshot;
    assert_int_equal(inq_snapshot_of_schedule(schedule, &options, NULL, 0, &snapshot, NULL),
                     INQ_OK);
    return snapshot;
}

/* Whether the two entries can change places in the file: they are cells of their own. */
static bool are_cells(const struct inq_rank_actions *list, size_t i)
{
    size_t covered = 0; /* behind the last composite before i */
    for (size_t k = 0; k < i; k++) {
        covered = list->actions[k].n_sub > 0 ? k + list->actions[k].n_sub + 1 : covered;
    }
    return i >= covered && list->actions[i].n_sub == 0 && list->actions[i + 1].n_sub == 0;
}

static void swap(struct inq_rank_actions *list, size_t i)
{
    struct inq_action first = list->actions[i];
    list->actions[i] = list->actions[i + 1];
    list->actions[i + 1] = first;
}

struct counts {
    size_t longer, caught, hang, hang_caught;
};

static void try_swap(const struct inq_schedule *schedule, const struct inq_costs *costs,
                     const struct inq_baseline *baseline, int64_t makespan_ns, struct counts *n)
{
    struct inq_schedule_timing timing;
    struct inq_check check;
    struct inq_err err = {0};
    int code = inq_schedule_time(schedule, costs, &timing, &err);
    bool longer = code == INQ_OK && timing.makespan_ns > makespan_ns;
    if (code == INQ_OK) {
        inq_schedule_timing_release(&timing, schedule->n_ranks);
    }
    struct inq_snapshot now = measure(schedule, costs);
    assert_int_equal(inq_check_compare(&now, baseline, NULL, &check, &err), INQ_OK);
    n->longer += longer;
    n->caught += longer && !check.pass;
    n->hang += code == INQ_DEADLOCK;
    n->hang_caught += code == INQ_DEADLOCK && !check.pass;
    if (longer) { /* and where the order changed is said */
        assert_true(check.change.rank >= 0 && check.change.now[0] != '\0');
        assert_non_null(check.cause);
    }
    inq_check_release(&check);
    inq_snapshot_release(&now);
}

static const struct inq_costs costs_of[] = {
    {.stage = {1000000, 1000000, 1000000}},
    {.stage = {18522000, 18086000, 9337000}, .p2p_ns = 601000},
};

static void swaps__that_lengthen_any_kind_are_caught(void **state)
{
    (void)state;
    struct counts n = {0, 0, 0, 0};
    size_t n_kinds = 0;
    const struct inq_schedule_kind *kinds = inq_schedule_kinds(&n_kinds);
    for (size_t k = 0; k < n_kinds; k++) {
        for (size_t c = 0; c < 2; c++) {
            struct inq_schedule schedule;
            struct inq_schedule_timing timing;
            const struct inq_schedule_spec spec = {
                .kind = kinds[k].name, .n_ranks = 4, .n_microbatches = 8, .costs = costs_of[c]};
            assert_int_equal(inq_schedule_make(&spec, &schedule, NULL), INQ_OK);
            assert_int_equal(inq_schedule_time(&schedule, &costs_of[c], &timing, NULL), INQ_OK);
            struct inq_snapshot base = measure(&schedule, &costs_of[c]);
            struct inq_baseline baseline = keep(&base);
            for (int32_t r = 0; r < schedule.n_ranks; r++) {
                for (size_t i = 0; i + 1 < schedule.ranks[r].n; i++) {
                    if (are_cells(&schedule.ranks[r], i)) {
                        swap(&schedule.ranks[r], i);
                        try_swap(&schedule, &costs_of[c], &baseline, timing.makespan_ns, &n);
                        swap(&schedule.ranks[r], i);
                    }
                }
            }
            inq_schedule_timing_release(&timing, schedule.n_ranks);
            inq_baseline_release(&baseline);
            inq_snapshot_release(&base);
            inq_schedule_release(&schedule);
        }
    }
    print_message("%zu swaps that lengthen, %zu caught; %zu that hang, %zu caught\n", n.longer,
                  n.caught, n.hang, n.hang_caught);
    assert_true(n.longer > 200 && n.hang > 50);
    assert_int_equal(n.caught, n.longer);
    assert_int_equal(n.hang_caught, n.hang);
}

/* Ratios and large times lose nothing in the file that a baseline is. */
static void counterfactuals__that_are_equal_pass(void **state)
{
    (void)state;
    size_t n_kinds = 0;
    const struct inq_schedule_kind *kinds = inq_schedule_kinds(&n_kinds);
    uint64_t random = 7;
    for (int i = 0; i < 1000; i++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        struct inq_costs costs = {.stage = {1 + (int64_t)(random >> 34),
                                            1 + (int64_t)(random >> 40),
                                            1 + (int64_t)(random >> 38)},
                                  .p2p_ns = (int64_t)(random >> 44)};
        struct inq_schedule schedule;
        const struct inq_schedule_spec spec = {.kind = kinds[(size_t)i % n_kinds].name,
                                               .n_ranks = 2 + 2 * (i % 3),
                                               .n_microbatches = 6 + 6 * (i % 2),
                                               .costs = costs};
        assert_int_equal(inq_schedule_make(&spec, &schedule, NULL), INQ_OK);
        struct inq_snapshot now = measure(&schedule, &costs);
        struct inq_baseline baseline = keep(&now);
        struct inq_check check;
        assert_int_equal(inq_check_compare(&now, &baseline, NULL, &check, NULL), INQ_OK);
        if (!check.pass) {
            fail_msg("%s: %s", spec.kind, check.cause->message);
        }
        assert_int_equal(check.change.rank, -1);
        inq_check_release(&check);
        inq_baseline_release(&baseline);
        inq_snapshot_release(&now);
        inq_schedule_release(&schedule);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(swaps__that_lengthen_any_kind_are_caught),
        cmocka_unit_test(counterfactuals__that_are_equal_pass),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
