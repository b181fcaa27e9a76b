/* SPDX-License-Identifier: Apache-2.0 */
/* Own time where only communication is recorded: whoever is late, not who hides less. */
#include "analysis/measure/comm_only.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS = 4, STEPS = 5, PER_STEP = 8, MOST = 64, MAIN = 0, OTHER = 1 };

#define US INT64_C(1000)
#define MS INT64_C(1000000)

/* Two communicators a rank: replicas {0, 1} and {2, 3} by the first, {0, 2} and {1, 3} by the
 * other, or all ranks by both. */
struct run {
    struct inq_trace trace;
    struct inq_rank ranks[RANKS];
    struct inq_comm comms[RANKS][2];
    struct inq_step_stat cell[RANKS * STEPS];
    uint32_t of[RANKS];
    int64_t start_ns[RANKS][2 * MOST], dur_ns[RANKS][2 * MOST];
    uint32_t lane[RANKS][2 * MOST], comm[RANKS][2 * MOST];
    uint8_t kind[RANKS][2 * MOST], cls[RANKS][2 * MOST];
    size_t n[RANKS][2]; /* the other communicator's rows are from MOST on, until finish */
};

static void add(struct run *run, int rank, int lane, int64_t start_ns, int64_t end_ns)
{
    size_t i = (size_t)lane * MOST + run->n[rank][lane]++;
    run->start_ns[rank][i] = start_ns;
    run->dur_ns[rank][i] = end_ns - start_ns;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void finish(struct run *run, bool of_all)
{
    for (int r = 0; r < RANKS; r++) {
        size_t n = run->n[r][MAIN];
        for (size_t i = 0; i < run->n[r][OTHER]; i++) {
            run->start_ns[r][n + i] = run->start_ns[r][MOST + i];
            run->dur_ns[r][n + i] = run->dur_ns[r][MOST + i];
        }
        for (size_t i = 0; i < n + run->n[r][OTHER]; i++) {
            run->lane[r][i] = run->comm[r][i] = i < n ? MAIN : OTHER;
            run->kind[r][i] = INQ_EVENT_KERNEL;
            run->cls[r][i] = INQ_CLASS_COMM;
        }
        for (int l = 0; l < 2; l++) {
            run->comms[r][l].kind = INQ_COLL_ALLREDUCE;
            run->comms[r][l].group_size = of_all ? RANKS : 2;
            run->comms[r][l].seq = -1;
            run->comms[r][l].group = (uint32_t)(of_all ? l : l == MAIN ? r / 2 : RANKS / 2 + r % 2);
        }
        run->ranks[r].comms = run->comms[r];
        run->ranks[r].n_comms = run->ranks[r].n_lanes = 2;
        run->ranks[r].events = (struct inq_events){.n = n + run->n[r][OTHER],
                                                   .start_ns = run->start_ns[r],
                                                   .dur_ns = run->dur_ns[r],
                                                   .lane = run->lane[r],
                                                   .comm = run->comm[r],
                                                   .kind = run->kind[r],
                                                   .cls = run->cls[r]};
    }
    run->trace = (struct inq_trace){.n_ranks = RANKS, .ranks = run->ranks};
}

static bool measure(struct run *run, struct inq_step_stats *cells)
{
    struct inq_peer_groups roles = {.of = run->of, .n = 1};
    struct inq_err err = {0};
    *cells = (struct inq_step_stats){
        .n_ranks = RANKS, .n_steps = STEPS, .at = run->cell, .first_step = 1};
    assert_int_equal(inq_comm_only_own(&run->trace, &roles, cells, &err), INQ_OK);
    return cells->between_comm;
}

static int64_t own_ns(const struct run *run, int rank)
{
    int64_t ns = 0;
    for (int s = 1; s < STEPS; s++) {
        ns += run->cell[rank * STEPS + s].other_ns;
    }
    return ns / (STEPS - 1);
}

/* Tensor parallel over pairs, gradients over replicas behind the last four layers, an optimizer
 * that waits for these. `late_ns`: rank 1, before the first layer of each step. */
static void train(struct run *run, int64_t late_ns)
{
    int64_t now[RANKS] = {0};
    int64_t reduced[RANKS] = {0};

    for (int s = 0; s < STEPS; s++) {
        int64_t from[RANKS];
        memcpy(from, now, sizeof from);
        for (int k = 0; k < PER_STEP; k++) {
            int64_t start[RANKS];
            for (int r = 0; r < RANKS; r++) {
                start[r] = now[r] + MS + (k == 0 && r == 1 ? late_ns : 0);
            }
            for (int r = 0; r < RANKS; r++) {
                now[r] = later(start[r], start[r ^ 1]) + 100 * US;
                add(run, r, MAIN, start[r], now[r]);
            }
            for (int r = 0; r < RANKS && k >= PER_STEP / 2; r++) {
                start[r] = later(now[r] + 200 * US, reduced[r]);
            }
            for (int r = 0; r < RANKS && k >= PER_STEP / 2; r++) {
                reduced[r] = later(start[r], start[r ^ 2]) + 300 * US;
                add(run, r, OTHER, start[r], reduced[r]);
            }
        }
        for (int r = 0; r < RANKS; r++) {
            now[r] = reduced[r] + 500 * US;
            run->cell[r * STEPS + s] = (struct inq_step_stat){.valid = s > 0,
                                                              .start_ns = from[r],
                                                              .end_ns = reduced[r],
                                                              .comm_ns = reduced[r] - from[r]};
        }
    }
}

static void comm_only__partner_of_a_late_rank_is_not_late(void **state)
{
    (void)state;
    struct run run = {0};
    struct inq_step_stats cells;
    train(&run, 3 * MS);
    finish(&run, false);
    assert_true(measure(&run, &cells));
    assert_in_range(own_ns(&run, 1) - own_ns(&run, 0), 3 * MS - 1, 3 * MS + 1);
    assert_in_range(own_ns(&run, 0) - own_ns(&run, 2) + 1, 0, 2);
    assert_in_range(own_ns(&run, 2), PER_STEP * MS, PER_STEP * MS + MS);
    const struct inq_step_stat *cell = inq_step_stat_at(&cells, 1, 2);
    assert_int_equal(cell->other_ns + cell->comm_ns, cell->end_ns - cell->start_ns);
}

/* 40 operations, of which 36 are nine tenths. */
static void comm_only__ends_may_be_missing(void **state)
{
    (void)state;
    for (size_t cut = 4; cut <= 5; cut++) {
        struct run run = {0};
        struct inq_step_stats cells;
        train(&run, 3 * MS);
        run.n[3][MAIN] -= cut;
        finish(&run, false);
        assert_int_equal(measure(&run, &cells), cut == 4);
        int64_t late = cut == 4 ? own_ns(&run, 1) - own_ns(&run, 0) : own_ns(&run, 1);
        assert_int_equal(late > 2 * MS, cut == 4);
    }
}

/* All ranks are in both communicators: those that wait for rank 1 in the other one take as long as
 * it does until their next operation, and have not computed for it. */
static void comm_only__who_keeps_step_has_waited(void **state)
{
    (void)state;
    struct run run = {0};
    struct inq_step_stats cells;
    int64_t now = 0;
    for (int s = 0; s < STEPS; s++) {
        int64_t from = now;
        for (int k = 0; k < PER_STEP; k++) {
            int64_t met = now + MS + (k == 3 ? 2 * MS : 0);
            for (int r = 0; r < RANKS; r++) {
                int64_t start = r == 1 ? met : now + MS + r * US;
                if (k % 4 == 3) {
                    add(&run, r, OTHER, start, met + 100 * US);
                }
                add(&run, r, MAIN, met + MS, met + MS + 100 * US);
            }
            now = met + MS + 100 * US;
        }
        for (int r = 0; r < RANKS; r++) {
            run.cell[r * STEPS + s] =
                (struct inq_step_stat){.valid = s > 0, .start_ns = from, .end_ns = now};
        }
    }
    finish(&run, true);
    for (int i = 0; i < RANKS * STEPS; i++) {
        run.cell[i].comm_ns = run.cell[i].end_ns - run.cell[i].start_ns;
    }
    assert_true(measure(&run, &cells));
    assert_in_range(own_ns(&run, 1) - own_ns(&run, 0), 2 * MS - 10 * US, 2 * MS + 10 * US);
}

/* Whether the ranks of the second replica, which are `wait_ns` longer in the other communicator,
 * are taken to have gone on: ranks differ by 10 us anyway. Squared, the one rule leaves four times
 * (10 us)^2, the other that and wait_ns^2: four times less when wait_ns is beyond 34.6 us. */
static bool hides(int64_t wait_ns)
{
    struct run run = {0};
    struct inq_step_stats cells;
    for (int r = 0; r < RANKS; r++) {
        int64_t now = 0;
        for (int s = 0; s < STEPS; s++) {
            int64_t from = now;
            for (int k = 0; k < PER_STEP; k++) {
                int64_t start = now + MS + (r % 2 == 0 ? 10 : -10) * US;
                if (k == 4) {
                    add(&run, r, OTHER, now + 200 * US, now + 300 * US + (r >= 2 ? wait_ns : 0));
                }
                add(&run, r, MAIN, start, now + MS + 100 * US);
                now += MS + 100 * US;
            }
            run.cell[r * STEPS + s] = (struct inq_step_stat){
                .valid = s > 0, .start_ns = from, .end_ns = now, .comm_ns = now - from};
        }
    }
    finish(&run, false);
    assert_true(measure(&run, &cells));
    return own_ns(&run, 2) == own_ns(&run, 0);
}

static void comm_only__what_ranks_agree_in_is_their_own(void **state)
{
    (void)state;
    assert_false(hides(34 * US));
    assert_true(hides(36 * US));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comm_only__partner_of_a_late_rank_is_not_late),
        cmocka_unit_test(comm_only__ends_may_be_missing),
        cmocka_unit_test(comm_only__who_keeps_step_has_waited),
        cmocka_unit_test(comm_only__what_ranks_agree_in_is_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
