/* SPDX-License-Identifier: Apache-2.0 */
/* The graph of a schedule says the same as the timing of the schedule, cell by cell. */
#include "support_plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct inq_costs all_costs = {
    .stage = {1000, 1100, 700}, .p2p_ns = 130, .reduce_ns = 900, .update_ns = 350};

static void assert_same_times(const struct inq_schedule *schedule, const struct inq_costs *costs,
                              const char *name)
{
    struct inq_schedule_timing timing = {0};
    struct inq_schedule_graph graph = {0};
    struct inq_err err = {0};
    assert_int_equal(inq_schedule_time(schedule, costs, &timing, &err), INQ_OK);
    if (inq_schedule_graph_make(schedule, costs, &graph, &err) != INQ_OK) {
        fail_msg("%s: %s", name, err.message);
    }
    size_t n = graph.graph->n_ops;
    int64_t *start_ns = calloc(n, sizeof *start_ns);
    int64_t *end_ns = calloc(n, sizeof *end_ns);
    assert_true(start_ns != NULL && end_ns != NULL);
    if (inq_simulate(graph.graph, NULL, NULL, start_ns, end_ns) != timing.makespan_ns) {
        fail_msg("%s: the makespan differs", name);
    }
    for (int32_t r = 0; r < schedule->n_ranks; r++) {
        for (size_t i = 0; i < schedule->ranks[r].n; i++) {
            uint32_t op = graph.op[r][i];
            if (op != INQ_NONE && graph.graph->op[op].cls == INQ_CLASS_COMPUTE) {
                assert_int_equal(start_ns[op], timing.start_ns[r][i]);
                assert_int_equal(end_ns[op], timing.end_ns[r][i]);
            } else if (op != INQ_NONE) { /* a reduction: its rank may have been there before all */
                assert_int_equal(end_ns[op], timing.end_ns[r][i]);
            }
        }
    }
    free(start_ns);
    free(end_ns);
    inq_schedule_graph_release(&graph);
    inq_schedule_timing_release(&timing, schedule->n_ranks);
}

static void schedule_graph__agrees_with_the_timing_of_every_kind(void **state)
{
    (void)state;
    size_t n = 0;
    const struct inq_schedule_kind *kinds = inq_schedule_kinds(&n);
    size_t made = 0;
    for (size_t k = 0; k < n; k++) {
        for (int32_t ranks = 1; ranks <= 8; ranks++) {
            const struct inq_schedule_spec spec = {.kind = kinds[k].name,
                                                   .n_ranks = ranks,
                                                   .n_microbatches = 2 * ranks,
                                                   .costs = all_costs};
            struct inq_schedule schedule = {0};
            if (inq_schedule_make(&spec, &schedule, NULL) == INQ_OK) {
                assert_same_times(&schedule, &all_costs, kinds[k].name);
                made++;
            }
            inq_schedule_release(&schedule);
        }
    }
    assert_true(made > 3 * n);
}

static void schedule_graph__agrees_with_the_timing_of_random_schedules(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct dice dice = {seed};
        struct inq_schedule schedule = {0};
        struct inq_costs costs = all_costs;
        costs.p2p_ns = (int64_t)dice_roll(&dice, 3) * 200;
        random_schedule_make(&schedule, seed);
        assert_same_times(&schedule, &costs, "random");
        inq_schedule_release(&schedule);
    }
}

/* The last bucket's all-reduce cannot hide behind anything: it adds to the step in full. */
static void schedule_graph__puts_all_reduces_beside_the_compute(void **state)
{
    (void)state;
    const struct inq_schedule_spec spec = {.kind = "dp", .n_ranks = 2, .n_microbatches = 2};
    struct inq_schedule schedule = {0};
    struct inq_schedule_graph graph = {0};
    assert_int_equal(inq_schedule_make(&spec, &schedule, NULL), INQ_OK);
    assert_int_equal(inq_schedule_graph_make(&schedule, &all_costs, &graph, NULL), INQ_OK);
    /* two chunks: 2 F, 2 B, of which the first hides one all-reduce, then one more, then update */
    int64_t end_ns[14];
    assert_int_equal(graph.graph->n_ops, 14);
    assert_int_equal(inq_simulate(graph.graph, NULL, NULL, NULL, end_ns),
                     2 * 1000 + 2 * 1800 + 900 + 350);
    assert_int_equal(graph.graph->n_groups, 2);
    inq_schedule_graph_release(&graph);
    inq_schedule_release(&schedule);
}

/* ---- beside the compute ---------------------------------------------------------------------- */

static struct inq_schedule read_text(const char *text)
{
    struct inq_schedule schedule = {0};
    struct inq_csv_info info;
    struct inq_err err = {0};
    if (inq_schedule_read_csv(text, strlen(text), INQ_CSV_DETECT, &schedule, &info, &err) !=
        INQ_OK) {
        fail_msg("%s", err.message);
    }
    return schedule;
}

/* All-gathers of two stages follow each other while the rank has nothing to compute; the second
 * runs beside the first stage's forward. Gradients are reduced behind the last backward. */
static void schedule_graph__gathers_beside_the_compute(void **state)
{
    (void)state;
    const struct inq_costs costs = {
        .stage = {10, 10, 10}, .reduce_ns = 7, .update_ns = 3, .unshard_ns = 8};
    struct inq_schedule s =
        read_text("0UNSHARD,1UNSHARD,0F0,1F0,1B0,1RESHARD,1REDUCE_GRAD,0B0,0RESHARD,0REDUCE_GRAD");
    struct inq_schedule_timing timing;
    assert_int_equal(inq_schedule_time(&s, &costs, &timing, NULL), INQ_OK);
    const int64_t start[] = {0, 8, 8, 18, 28, 48, 48, 48, 68, 68};
    const int64_t end[] = {8, 16, 18, 28, 48, 48, 55, 68, 68, 75};
    assert_memory_equal(timing.start_ns[0], start, sizeof start);
    assert_memory_equal(timing.end_ns[0], end, sizeof end);
    assert_int_equal(timing.makespan_ns, 75);
    inq_schedule_timing_release(&timing, s.n_ranks);
    assert_same_times(&s, &costs, "all-gathers");
    inq_schedule_release(&s);
}

/* Compute on a stage whose all-gather is not through waits for it. */
static void schedule_graph__compute_waits_for_its_all_gather(void **state)
{
    (void)state;
    const struct inq_costs costs = {.stage = {10, 10, 10}, .p2p_ns = 1, .unshard_ns = 25};
    struct inq_schedule s = read_text("0UNSHARD,2UNSHARD,0F0,0F1,2F0,2F1,2B0,2B1,0B0,0B1\n"
                                      "1UNSHARD,1F0,1F1,1B0,1B1");
    struct inq_schedule_timing timing;
    assert_int_equal(inq_schedule_time(&s, &costs, &timing, NULL), INQ_OK);
    assert_int_equal(timing.start_ns[0][2], 25); /* 0F0 */
    assert_int_equal(timing.start_ns[1][1], 36); /* 1F0 */
    assert_int_equal(timing.start_ns[0][4], 50); /* 2F0: its input is there at 47 */
    inq_schedule_timing_release(&timing, s.n_ranks);
    assert_same_times(&s, &costs, "late all-gather");
    inq_schedule_release(&s);
}

/* Two replicas that reduce their stages in different orders wait for each other. */
static void schedule_graph__crossed_all_reduces_are_a_deadlock(void **state)
{
    (void)state;
    const struct inq_costs costs = {.stage = {10, 10, 10}, .reduce_ns = 5};
    struct inq_schedule s = read_text("0F0,1F0,1B0,0B0,0REDUCE_GRAD,1REDUCE_GRAD\n"
                                      "2F1,3F1,3B1,2B1,3REDUCE_GRAD,2REDUCE_GRAD");
    struct inq_schedule_timing timing;
    struct inq_schedule_graph graph;
    struct inq_err err = {0};
    assert_int_equal(s.n_pipelines, 2);
    assert_int_equal(inq_schedule_time(&s, &costs, &timing, &err), INQ_DEADLOCK);
    assert_non_null(strstr(err.message, "rank 0"));
    assert_non_null(strstr(err.message, "rank 1"));
    assert_int_equal(inq_schedule_graph_make(&s, &costs, &graph, NULL), INQ_DEADLOCK);
    inq_schedule_release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schedule_graph__agrees_with_the_timing_of_every_kind),
        cmocka_unit_test(schedule_graph__agrees_with_the_timing_of_random_schedules),
        cmocka_unit_test(schedule_graph__puts_all_reduces_beside_the_compute),
        cmocka_unit_test(schedule_graph__gathers_beside_the_compute),
        cmocka_unit_test(schedule_graph__compute_waits_for_its_all_gather),
        cmocka_unit_test(schedule_graph__crossed_all_reduces_are_a_deadlock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
