/* SPDX-License-Identifier: Apache-2.0 */
/* Which silences between the calls of a host are pauses. */
#include "analysis/measure/measure.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define US INT64_C(1000)

enum { RANKS = 2, STEPS = 6, MOST_CALLS = 5, ROWS = STEPS * MOST_CALLS };

/* Two ranks of one role, whose hosts launch short kernels every 20 us. */
struct plan {
    size_t steps;
    size_t calls[RANKS];            /* of each step */
    int64_t pause_ns[RANKS][STEPS]; /* before the third call of the step .. */
    int64_t at_first_ns[RANKS];     /* .. and before the very first one, behind its step's mark */
    int64_t later_ns;               /* by so much the GPU is behind its host */
};

struct made {
    struct inq_rank ranks[RANKS];
    struct inq_step steps[STEPS];
    struct inq_trace trace;
    struct inq_step_stat at[RANKS * STEPS];
    struct inq_step_stats cells;
    int64_t ns[RANKS][6]
              [ROWS]; /* starts and lengths of events, of calls; begins and ends of steps */
    uint32_t ids[RANKS][4][ROWS];
    uint8_t kinds[ROWS], classes[ROWS];
    uint32_t of[RANKS];
    struct inq_peer_groups roles;
};

static void play(const struct plan *plan, struct made *m, size_t r)
{
    struct inq_rank *rank = &m->ranks[r];
    int64_t now_ns = 1000 * US;

    rank->events.start_ns = m->ns[r][0];
    rank->events.dur_ns = m->ns[r][1];
    rank->calls.start_ns = m->ns[r][2];
    rank->calls.dur_ns = m->ns[r][3];
    rank->events.kind = m->kinds; /* kernels that compute */
    rank->events.cls = m->classes;
    rank->events.call = m->ids[r][0];
    rank->events.step = m->ids[r][1];
    rank->events.lane = m->ids[r][2];
    rank->calls.lane = m->ids[r][3];
    for (size_t s = 0; s < plan->steps; s++) {
        m->steps[s].rank_start_ns[r] = now_ns;
        now_ns += s == 0 ? plan->at_first_ns[r] : 0;
        for (size_t c = 0; c < plan->calls[r]; c++) {
            size_t i = rank->calls.n++;
            now_ns += c == 2 ? plan->pause_ns[r][s] : 0;
            rank->calls.start_ns[i] = now_ns;
            rank->calls.dur_ns[i] = 5 * US;
            rank->events.start_ns[i] = now_ns + 6 * US + plan->later_ns;
            rank->events.dur_ns[i] = 5 * US;
            rank->events.call[i] = (uint32_t)i;
            rank->events.step[i] = (uint32_t)s;
            now_ns += 20 * US;
        }
        m->steps[s].rank_end_ns[r] = now_ns + plan->later_ns;
        m->at[r * plan->steps + s] =
            (struct inq_step_stat){.valid = true, .end_ns = 20000 * US, .host_ns = 500 * US};
    }
    rank->events.n = rank->calls.n;
}

/* The pauses of a rank's step; -1: others do not make the same calls. */
static int64_t pause_of(const struct plan *plan, size_t rank, size_t step)
{
    static struct made m;
    struct inq_silences silences;

    memset(&m, 0, sizeof m);
    memset(m.kinds, INQ_EVENT_KERNEL, sizeof m.kinds);
    memset(m.classes, INQ_CLASS_COMPUTE, sizeof m.classes);
    for (size_t s = 0; s < STEPS; s++) {
        m.steps[s].rank_start_ns = m.ns[0][4] + s * RANKS;
        m.steps[s].rank_end_ns = m.ns[0][5] + s * RANKS;
    }
    for (size_t r = 0; r < RANKS; r++) {
        play(plan, &m, r);
    }
    m.trace.ranks = m.ranks;
    m.trace.n_ranks = RANKS;
    m.trace.steps = m.steps;
    m.trace.n_steps = plan->steps;
    m.cells = (struct inq_step_stats){.n_ranks = RANKS, .n_steps = plan->steps, .at = m.at};
    m.roles = (struct inq_peer_groups){.of = m.of, .n = 1};
    assert_int_equal(inq_silences_find(&m.trace, &m.cells, &m.roles, &silences, NULL), INQ_OK);
    size_t k = rank * plan->steps + step;
    int64_t ns = silences.step_known[k] ? silences.step_ns[k] : -1;
    assert_int_equal(silences.step_n[k], ns > 0);
    inq_silences_release(&silences);
    return ns;
}

/* From a hundredth of a step of 20 ms on. */
static void silence__is_a_pause_beyond_what_is_usual_at_its_place(void **state)
{
    (void)state;
    struct plan plan = {.steps = STEPS, .calls = {4, 4}};

    plan.pause_ns[1][3] = 400 * US;
    assert_int_equal(pause_of(&plan, 1, 3), 400 * US);
    assert_int_equal(pause_of(&plan, 1, 2), 0);
    assert_int_equal(pause_of(&plan, 0, 3), 0);
    plan.pause_ns[1][3] = 200 * US;
    assert_int_equal(pause_of(&plan, 1, 3), 200 * US);
    plan.pause_ns[1][3] = 199 * US;
    assert_int_equal(pause_of(&plan, 1, 3), 0);
}

/* A rank that makes one call more in each of its steps is compared with itself. */
static void silence__is_compared_among_steps_of_one_program(void **state)
{
    (void)state;
    struct plan plan = {.steps = STEPS, .calls = {4, 5}};

    plan.pause_ns[0][2] = 300 * US;
    plan.pause_ns[1][4] = 400 * US;
    assert_int_equal(pause_of(&plan, 0, 2), 300 * US);
    assert_int_equal(pause_of(&plan, 1, 4), 400 * US);
}

/* Of four steps one with a pause leaves the others to tell what is usual; three are too few. */
static void silence__needs_four_steps_of_a_program(void **state)
{
    (void)state;
    struct plan plan = {.steps = 4, .calls = {4, 5}};

    plan.pause_ns[1][1] = 400 * US;
    assert_int_equal(pause_of(&plan, 1, 1), 400 * US);
    plan.steps = 3;
    assert_int_equal(pause_of(&plan, 1, 1), -1);
}

/* A host that runs ahead has made the calls of all steps before its GPU is through the first. */
static void silence__belongs_to_the_step_whose_work_is_launched(void **state)
{
    (void)state;
    struct plan plan = {.steps = STEPS, .calls = {4, 4}, .later_ns = 50000 * US};

    plan.pause_ns[0][4] = 400 * US;
    assert_int_equal(pause_of(&plan, 0, 4), 400 * US);
    assert_int_equal(pause_of(&plan, 0, 0), 0);
}

/* Before the first call that was recorded there is the mark of its step. */
static void silence__is_known_from_the_first_mark_on(void **state)
{
    (void)state;
    struct plan plan = {.steps = STEPS, .calls = {4, 4}};

    plan.at_first_ns[1] = 700 * US;
    assert_int_equal(pause_of(&plan, 1, 0), 685 * US); /* others take 15 us there */
    assert_int_equal(pause_of(&plan, 0, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(silence__is_a_pause_beyond_what_is_usual_at_its_place),
        cmocka_unit_test(silence__is_compared_among_steps_of_one_program),
        cmocka_unit_test(silence__needs_four_steps_of_a_program),
        cmocka_unit_test(silence__belongs_to_the_step_whose_work_is_launched),
        cmocka_unit_test(silence__is_known_from_the_first_mark_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
