/* SPDX-License-Identifier: Apache-2.0 */
/* Theory beside what is measured, schedules side by side, the search under a memory limit, and
 * sizes of micro-batches. */
#include "schedule/schedule.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

static int64_t draw(uint32_t *random, int64_t low, int64_t high)
{
    *random = *random * 1664525u + 1013904223u;
    return low + (int64_t)(*random >> 8) % (high - low + 1);
}

/* ---- theory ---------------------------------------------------------------------------------- */

static int64_t worst_bubble(const struct inq_schedule *s, const struct inq_schedule_timing *t)
{
    /* formulas of schedules with two directions count a rank's idle from the start to the end */
    bool both_ways = strncmp(s->kind, "dual", 4) == 0 || strcmp(s->kind, "chimera") == 0;
    int64_t busiest = 0;
    for (int32_t r = 0; r < s->n_ranks; r++) {
        busiest = t->ranks[r].busy_ns > busiest ? t->ranks[r].busy_ns : busiest;
    }
    return (both_ways ? t->makespan_ns : t->span_ns) - busiest;
}

static void theory__is_what_is_measured_for_random_sizes_and_times(void **state)
{
    (void)state;
    static const char *const kinds[] = {"gpipe",    "1f1b",      "interleaved", "zb-h1",
                                        "zb-h2",    "zb-v",      "v-half",      "v-min",
                                        "dualpipe", "dualpipev", "chimera",     "dp"};
    uint32_t random = 1;
    size_t with_bubble = 0;
    for (size_t round = 0; round < 600; round++) {
        const char *kind = kinds[round % (sizeof kinds / sizeof *kinds)];
        bool even = strcmp(kind, "dualpipe") == 0 || strcmp(kind, "chimera") == 0;
        int32_t p = (int32_t)draw(&random, 1, 8);
        p = even ? p + p % 2 : p;
        struct inq_schedule_spec spec = {.kind = kind, .n_ranks = p};
        spec.n_microbatches = p * (int32_t)draw(&random, 1, 5);
        spec.n_chunks = (int32_t)draw(&random, 2, 4);
        spec.n_microbatches = even && spec.n_microbatches < 2 ? 2 : spec.n_microbatches;
        int64_t f = draw(&random, 500, 1000);
        bool equal = draw(&random, 0, 1) == 1;
        spec.costs.stage = (struct inq_stage_cost){f, f, equal ? f : draw(&random, 1, f)};
        if (strcmp(kind, "chimera") == 0) {
            spec.costs.stage = (struct inq_stage_cost){2 * f, f, f};
        }
        struct inq_schedule s;
        struct inq_schedule_timing t;
        struct inq_err err = {0};
        assert_int_equal(inq_schedule_make(&spec, &s, &err), INQ_OK);
        assert_int_equal(inq_schedule_time(&s, &spec.costs, &t, &err), INQ_OK);
        struct inq_schedule_theory theory = inq_schedule_theory_of(&s, &spec.costs);
        int64_t bubble = worst_bubble(&s, &t);
        bool bound = strstr(theory.condition, "at most") != NULL;
        bool holds =
            !theory.has_bubble || (bound ? bubble <= theory.bubble_ns : bubble == theory.bubble_ns);
        bool peak = !theory.has_peak || (theory.at_most ? t.peak_memory <= theory.peak + 1e-9
                                                        : fabs(t.peak_memory - theory.peak) < 1e-9);
        if (!holds || !peak) {
            fail_msg("%s p=%d m=%d v=%d f=%d w=%d: bubble %lld, theory %lld; peak %g, theory %g",
                     kind, p, spec.n_microbatches, spec.n_chunks, (int)f,
                     (int)spec.costs.stage.w_ns, (long long)bubble, (long long)theory.bubble_ns,
                     t.peak_memory, theory.peak);
        }
        with_bubble += theory.has_bubble;
        inq_schedule_timing_release(&t, s.n_ranks);
        inq_schedule_release(&s);
    }
    assert_true(with_bubble > 300);
}

static void theory__is_silent_where_it_does_not_hold(void **state)
{
    (void)state;
    struct inq_schedule_spec spec = {.kind = "zb-v", .n_ranks = 4, .n_microbatches = 8};
    struct inq_stage_cost stages[8] = {{1, 1, 1}};
    struct inq_schedule s;
    spec.costs.stage = (struct inq_stage_cost){2, 1, 1};
    assert_int_equal(inq_schedule_make(&spec, &s, NULL), INQ_OK);
    assert_false(inq_schedule_theory_of(&s, &spec.costs).has_bubble);
    assert_true(inq_schedule_theory_of(&s, &spec.costs).has_peak);
    spec.costs.per_stage = stages;
    assert_false(inq_schedule_theory_of(&s, &spec.costs).has_peak);
    inq_schedule_release(&s);
}

/* ---- side by side ---------------------------------------------------------------------------- */

/* A rank's times are shared out over its chunks, so that kinds can be compared. */
static void measure__chunks_share_the_times_of_a_rank(void **state)
{
    (void)state;
    static const char *const kinds[] = {"1f1b", "interleaved", "zb-v", "dualpipe", "v-half", "dp"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct inq_schedule_spec spec = {
            .kind = kinds[i], .n_ranks = 4, .n_microbatches = 8, .n_chunks = 2};
        struct inq_schedule_row row;
        spec.costs.stage = (struct inq_stage_cost){1200, 1200, 1200};
        assert_int_equal(inq_schedule_measure_kind(&spec, &row, NULL), INQ_OK);
        assert_string_equal(row.problem, "");
        int64_t work = 8 * 3600;
        int64_t least = row.makespan_ns - row.worst_idle_ns;
        assert_int_equal(least, work);
    }
}

/* Ranks that differ: a kind with several chunks cuts the same model, layers evenly over each rank;
 * what the last takes more than the median stays at the end of the model. */
static void measure__cuts_ranks_that_differ(void **state)
{
    (void)state;
    static const char *const kinds[] = {"1f1b", "interleaved", "zb-v", "dualpipe", "v-half", "dp"};
    const struct inq_stage_cost ranks[4] = {
        {400, 400, 400}, {400, 400, 400}, {400, 400, 400}, {900, 600, 400}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct inq_schedule_spec spec = {
            .kind = kinds[i], .n_ranks = 4, .n_microbatches = 8, .n_chunks = 2};
        struct inq_schedule_row row;
        spec.costs.per_stage = ranks;
        assert_int_equal(inq_schedule_measure_kind(&spec, &row, NULL), INQ_OK);
        assert_string_equal(row.problem, "");
        /* all of the work is there: idle time of all ranks is what is left of them */
        int64_t work = 8 * (4 * 1200 + 700);
        double idle = row.bubble_ratio * (double)row.makespan_ns * 4.0;
        assert_true(fabs(idle - (double)(4 * row.makespan_ns - work)) < 8.0);
    }
    struct inq_stage_cost cut[8];
    assert_int_equal(inq_stage_costs_recut(ranks, 4, 8, cut, NULL), INQ_OK);
    assert_int_equal(cut[0].f_ns, 200);
    assert_int_equal(cut[6].f_ns, 200);
    assert_int_equal(cut[7].f_ns, 700);
    assert_int_equal(cut[7].b_ns, 400);
    assert_int_equal(cut[7].w_ns, 200);
    assert_int_equal(inq_stage_costs_recut(ranks, 4, 4, cut, NULL), INQ_OK);
    assert_memory_equal(cut, ranks, sizeof ranks);
}

static void search__the_best_that_fits_comes_first(void **state)
{
    (void)state;
    uint32_t random = 5;
    for (int round = 0; round < 40; round++) {
        struct inq_schedule_spec spec = {.n_ranks = (int32_t)draw(&random, 2, 6)};
        struct inq_schedule_row rows[INQ_SCHEDULE_MAX_ROWS];
        struct inq_err err = {0};
        size_t n = 0;
        spec.n_microbatches = spec.n_ranks * (int32_t)draw(&random, 2, 4);
        spec.costs.stage = (struct inq_stage_cost){draw(&random, 60, 120), draw(&random, 60, 120),
                                                   draw(&random, 60, 120)};
        spec.costs.p2p_ns = draw(&random, 0, 5);
        spec.memory_limit = (double)draw(&random, 1, 14);
        assert_int_equal(inq_schedule_search_kinds(&spec, rows, &n, &err), INQ_OK);
        assert_true(n > 8);
        bool fitting = true;
        for (size_t i = 0; i < n; i++) {
            bool fits = rows[i].problem[0] == '\0' && rows[i].fits;
            assert_true(!fits || rows[i].peak_memory <= spec.memory_limit + 1e-9);
            assert_true(fitting || !fits); /* none that fits behind one that does not */
            assert_true(i == 0 || !fits || rows[i].makespan_ns >= rows[i - 1].makespan_ns);
            fitting = fits;
        }
    }
}

/* The same limit, whatever is searched: half of 1F1B's memory is enough for V-Half. */
static void search__a_limit_below_1f1b_still_has_an_answer(void **state)
{
    (void)state;
    struct inq_schedule_spec spec = {.n_ranks = 8, .n_microbatches = 32, .memory_limit = 5};
    struct inq_schedule_row rows[INQ_SCHEDULE_MAX_ROWS];
    size_t n = 0;
    spec.costs.stage = (struct inq_stage_cost){100, 100, 100};
    assert_int_equal(inq_schedule_search_kinds(&spec, rows, &n, NULL), INQ_OK);
    assert_true(rows[0].fits && rows[0].problem[0] == '\0');
    assert_non_null(strstr(rows[0].name, "v-half"));
}

/* Below V-Min's memory the blocks of a V come less often: still far better than one chunk a rank,
 * whose last rank waits for a whole round trip of each of the few micro-batches. */
static void search__memory_for_a_single_micro_batch_will_do(void **state)
{
    (void)state;
    static const int32_t ranks[] = {2, 3, 5, 10, 16};
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
        int64_t before_ns = INT64_MAX / 2;
        for (int32_t chunks = 2; chunks <= 2 * ranks[i]; chunks++) {
            struct inq_schedule_spec spec = {.kind = "v-half",
                                             .n_ranks = ranks[i],
                                             .n_microbatches = 20,
                                             .memory_limit = chunks / 2.0,
                                             .costs = {.stage = {100, 100, 100}}};
            struct inq_schedule_row vee;
            struct inq_schedule_row straight;
            assert_int_equal(inq_schedule_measure_kind(&spec, &vee, NULL), INQ_OK);
            spec.kind = "zb-1p";
            assert_int_equal(inq_schedule_measure_kind(&spec, &straight, NULL), INQ_OK);
            assert_string_equal(vee.problem, "");
            assert_true(vee.fits);
            assert_true(chunks > ranks[i] / 2 || straight.problem[0] != '\0' ||
                        vee.makespan_ns <= straight.makespan_ns);
            assert_true(vee.makespan_ns <= before_ns);
            before_ns = vee.makespan_ns < before_ns ? vee.makespan_ns : before_ns;
        }
    }
}

static void sizes__are_interpolated_between_those_given(void **state)
{
    (void)state;
    struct inq_schedule_spec spec = {.n_ranks = 4, .n_microbatches = 24};
    /* whole ns for every number of chunks that is tried */
    const struct inq_microbatch_size sizes[] = {{1, {252000, 252000, 252000}},
                                                {3, {504000, 504000, 504000}}};
    struct inq_schedule_row rows[INQ_SCHEDULE_MAX_ROWS];
    struct inq_err err = {0};
    size_t n = 0;
    assert_int_equal(inq_schedule_search_sizes(&spec, sizes, 2, rows, &n, &err), INQ_OK);
    assert_int_equal(n, 3);
    for (size_t i = 0; i < 3; i++) {
        int32_t size = (int32_t)i + 1;
        assert_int_equal(rows[i].microbatch_size, size);
        assert_int_equal(rows[i].n_microbatches, 24 / size);
        assert_int_equal(rows[i].interpolated, size == 2);
        /* compute of a rank: as many micro-batches of 252, 378, 504 us */
        int64_t work = 3 * (int64_t)(126000 + 126000 * size) * (24 / size);
        assert_int_equal(rows[i].makespan_ns - rows[i].worst_idle_ns, work);
    }
    const struct inq_microbatch_size wrong[] = {{3, {1, 1, 1}}, {2, {1, 1, 1}}};
    assert_int_equal(inq_schedule_search_sizes(&spec, wrong, 2, rows, &n, &err), INQ_USAGE);
    const struct inq_microbatch_size odd[] = {{5, {1, 1, 1}}, {7, {1, 1, 1}}};
    assert_int_equal(inq_schedule_search_sizes(&spec, odd, 2, rows, &n, NULL), INQ_OK);
    assert_int_equal(n, 1); /* 6 */
}

/* All divisors of a number that has many. */
static void sizes__are_all_that_divide(void **state)
{
    (void)state;
    struct inq_schedule_spec spec = {.n_ranks = 1, .n_microbatches = 10080};
    const struct inq_microbatch_size sizes[] = {{1, {1000, 1000, 1000}},
                                                {10080, {9000, 9000, 9000}}};
    struct inq_schedule_row rows[INQ_SCHEDULE_MAX_ROWS];
    struct inq_err err = {0};
    size_t n = 0;
    assert_int_equal(inq_schedule_search_sizes(&spec, sizes, 2, rows, &n, &err), INQ_OK);
    assert_int_equal(n, 72);
    assert_int_equal(rows[n - 1].microbatch_size, 10080);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(theory__is_what_is_measured_for_random_sizes_and_times),
        cmocka_unit_test(theory__is_silent_where_it_does_not_hold),
        cmocka_unit_test(measure__chunks_share_the_times_of_a_rank),
        cmocka_unit_test(measure__cuts_ranks_that_differ),
        cmocka_unit_test(search__the_best_that_fits_comes_first),
        cmocka_unit_test(search__a_limit_below_1f1b_still_has_an_answer),
        cmocka_unit_test(search__memory_for_a_single_micro_batch_will_do),
        cmocka_unit_test(sizes__are_interpolated_between_those_given),
        cmocka_unit_test(sizes__are_all_that_divide),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
