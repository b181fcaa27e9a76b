/* SPDX-License-Identifier: Apache-2.0 */
#include "support_plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const struct random_graph shape = {
    .n_ranks = 6, .n_lanes = 3, .n_steps = 200, .max_dur_ns = 1000, .max_delay_ns = 300};

static uint32_t add(struct inq_graph_builder *b, int32_t rank, uint32_t lane, uint8_t type,
                    int64_t dur_ns)
{
    struct inq_graph_op op = inq_graph_op_init();
    uint32_t id = 0;
    op.rank = rank;
    op.lane = lane;
    op.type = type;
    op.cls = lane == INQ_NONE ? INQ_CLASS_COMM : INQ_CLASS_COMPUTE;
    assert_int_equal(inq_graph_add_op(b, &op, dur_ns, 0, &id, NULL), INQ_OK);
    return id;
}

static struct inq_graph *finish(struct inq_graph_builder *b)
{
    struct inq_graph *graph = NULL;
    assert_int_equal(inq_graph_finish(b, &graph, NULL, NULL), INQ_OK);
    inq_graph_builder_free(b);
    return graph;
}

/* Every op is in exactly one lane of its rank, where it says it is, and lanes go by rank. */
static void assert_laid_out(const struct inq_plan *plan)
{
    size_t n = 0;
    for (size_t k = 0; k < plan->n_lanes; k++) {
        const struct inq_plan_lane *lane = &plan->lanes[k];
        assert_true(k == 0 || plan->lanes[k - 1].rank <= lane->rank);
        assert_true(lane->n > 0);
        for (size_t i = 0; i < lane->n; i++, n++) {
            assert_int_equal(plan->lane_of[lane->ops[i]], k);
            assert_int_equal(plan->place_of[lane->ops[i]], i);
            assert_int_equal(plan->graph->op[lane->ops[i]].rank, lane->rank);
        }
    }
    assert_int_equal(n, plan->graph->n_ops);
}

/* The simulator's own times with the lanes as edges: lanes of loose ops delay nothing. */
static void plan__lays_out_random_graphs_without_holding_ops_up(void **state)
{
    (void)state;
    const struct inq_engine *sim = inq_engine_find("sim");
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct inq_graph *graph = random_graph_make(&shape, seed);
        assert_non_null(graph);
        struct inq_plan *plan = NULL;
        struct inq_execution x = {0};
        struct inq_err err = {0};
        assert_int_equal(inq_plan_make(graph, NULL, &plan, &err), INQ_OK);
        assert_laid_out(plan);
        assert_int_equal(sim->run(plan, NULL, &x, &err), INQ_OK);
        if (inq_execution_check(plan, &x, 0, &err) != INQ_OK) {
            fail_msg("seed %d: %s", (int)seed, err.message);
        }
        assert_int_equal(x.median_ns, plan->simulated_ns);
        inq_execution_release(&x);
        inq_plan_free(plan);
        inq_graph_free(graph);
    }
}

static void plan__gives_transfers_that_overlap_lanes_of_their_own(void **state)
{
    (void)state;
    struct inq_graph_builder *b = inq_graph_builder_new();
    uint32_t a = add(b, 0, 0, INQ_OP_FORWARD, 10);
    uint32_t c = add(b, 0, 0, INQ_OP_FORWARD, 10);
    uint32_t late = add(b, 0, 0, INQ_OP_FORWARD, 500);
    uint32_t t1 = add(b, 1, INQ_NONE, INQ_OP_NONE, 100);
    uint32_t t2 = add(b, 1, INQ_NONE, INQ_OP_NONE, 100);
    uint32_t t3 = add(b, 1, INQ_NONE, INQ_OP_NONE, 100);
    (void)inq_graph_add_dep(b, a, t1, NULL);
    (void)inq_graph_add_dep(b, c, t2, NULL);
    (void)inq_graph_add_dep(b, late, t3, NULL);
    struct inq_graph *graph = finish(b);
    struct inq_plan *plan = NULL;
    assert_int_equal(inq_plan_make(graph, NULL, &plan, NULL), INQ_OK);
    assert_laid_out(plan);
    assert_int_equal(plan->n_lanes, 3);
    uint32_t lane1 = plan->lane_of[graph->index_of[t1]];
    assert_int_not_equal(lane1, plan->lane_of[graph->index_of[t2]]);
    assert_int_equal(lane1, plan->lane_of[graph->index_of[t3]]);
    assert_int_equal(plan->work[graph->index_of[t1]], INQ_WORK_COPY);
    assert_int_equal(plan->work[graph->index_of[a]], INQ_WORK_COMPUTE);
    assert_int_equal(plan->shortest_ns, 10);
    assert_int_equal(plan->simulated_ns, 620);
    inq_plan_free(plan);
    inq_graph_free(graph);
}

/* Lanes of ops in no lane order that a rank has at most. */
static size_t most_loose_lanes(const struct inq_plan *plan)
{
    size_t most = 0;
    size_t n = 0;
    for (size_t k = 0; k < plan->n_lanes; k++) {
        n = k > 0 && plan->lanes[k].rank == plan->lanes[k - 1].rank ? n : 0;
        n += plan->graph->op[plan->lanes[k].ops[0]].lane == INQ_NONE;
        most = n > most ? n : most;
    }
    return most;
}

/* A receive that is posted long before its data comes only waits: one lane takes all of them. */
static void plan__puts_receives_that_were_posted_early_into_one_lane(void **state)
{
    (void)state;
    struct inq_graph_builder *b = inq_graph_builder_new();
    enum { MICRO_BATCHES = 32 };
    for (int m = 0; m < MICRO_BATCHES; m++) {
        uint32_t f = add(b, 0, 0, INQ_OP_FORWARD, 100);
        uint32_t pair[2] = {add(b, 0, INQ_NONE, INQ_OP_FORWARD_SEND, 10),
                            add(b, 1, INQ_NONE, INQ_OP_FORWARD_RECV, 10)};
        (void)inq_graph_add_dep(b, f, pair[0], NULL);
        (void)inq_graph_add_group(b, pair, 2, 2, NULL);
        uint32_t next = add(b, 1, 0, INQ_OP_FORWARD, 100);
        (void)inq_graph_add_dep(b, pair[1], next, NULL);
    }
    struct inq_graph *graph = finish(b);
    struct inq_plan *plan = NULL;
    assert_int_equal(inq_plan_make(graph, NULL, &plan, NULL), INQ_OK);
    assert_laid_out(plan);
    assert_int_equal(most_loose_lanes(plan), 1);
    inq_plan_free(plan);
    inq_graph_free(graph);
}

/* GPUs have 8 or 32 hardware queues, and streams that share one wait for each other. */
static void plan__takes_two_lanes_at_most_for_each_direction(void **state)
{
    (void)state;
    const int64_t ms = 1000000;
    size_t n_kinds = 0;
    const struct inq_schedule_kind *kinds = inq_schedule_kinds(&n_kinds);
    for (int32_t p = 2; p <= 16; p *= 2) {
        for (size_t i = 0; i < n_kinds; i++) {
            struct inq_schedule_spec spec = {
                .kind = kinds[i].name,
                .n_ranks = p,
                .n_microbatches = 32,
                .costs = {.stage = {ms, ms * 11 / 10, ms * 9 / 10}, .p2p_ns = ms / 5}};
            struct inq_schedule schedule = {0};
            struct inq_schedule_graph graph = {0};
            struct inq_plan *plan = NULL;
            if (inq_schedule_make(&spec, &schedule, NULL) != INQ_OK) {
                continue; /* does not exist for these numbers */
            }
            assert_int_equal(inq_schedule_graph_make(&schedule, &spec.costs, &graph, NULL), INQ_OK);
            assert_int_equal(inq_plan_make(graph.graph, NULL, &plan, NULL), INQ_OK);
            if (most_loose_lanes(plan) > 4) {
                fail_msg("%s of %d ranks: %zu lanes", spec.kind, (int)p, most_loose_lanes(plan));
            }
            inq_plan_free(plan);
            inq_schedule_graph_release(&graph);
            inq_schedule_release(&schedule);
        }
    }
}

static void plan__scales_and_says_what_moves(void **state)
{
    (void)state;
    struct inq_graph_builder *b = inq_graph_builder_new();
    uint32_t s = add(b, 0, 1, INQ_OP_FORWARD_SEND, 100);
    uint32_t r = add(b, 1, 1, INQ_OP_FORWARD_RECV, 100);
    uint32_t g0 = add(b, 0, 2, INQ_OP_GRADS_REDUCE_SCATTER, -50);
    uint32_t g1 = add(b, 1, 2, INQ_OP_GRADS_REDUCE_SCATTER, 33);
    uint32_t alone = add(b, 1, 3, INQ_OP_PARAMS_ALL_GATHER, 10);
    const uint32_t pair[] = {s, r};
    const uint32_t group[] = {g0, g1};
    (void)inq_graph_add_group(b, pair, 2, 2, NULL);
    (void)inq_graph_add_group(b, group, 2, 2, NULL);
    struct inq_graph *graph = finish(b);
    struct inq_plan *plan = NULL;
    struct inq_plan_options options = {.scale = 0.5};
    assert_int_equal(inq_plan_make(graph, &options, &plan, NULL), INQ_OK);
    assert_int_equal(plan->work[graph->index_of[s]], INQ_WORK_SEND);
    assert_int_equal(plan->work[graph->index_of[r]], INQ_WORK_RECV);
    assert_int_equal(plan->work[graph->index_of[g0]], INQ_WORK_REDUCE_SCATTER);
    assert_int_equal(plan->work[graph->index_of[alone]], INQ_WORK_NOTHING);
    assert_int_equal(plan->dur_ns[graph->index_of[s]], 50);
    assert_int_equal(plan->dur_ns[graph->index_of[g0]], 0); /* clock error */
    assert_int_equal(plan->dur_ns[graph->index_of[g1]], 17);
    assert_int_equal(plan->bytes[graph->index_of[s]], -1);
    inq_plan_free(plan);
    struct inq_err err = {0};
    options.scale = -1.0;
    assert_int_equal(inq_plan_make(graph, &options, &plan, &err), INQ_USAGE);
    options.scale = 1e30;
    assert_int_equal(inq_plan_make(graph, &options, &plan, NULL), INQ_USAGE);
    assert_null(plan);
    inq_graph_free(graph);
}

static void execution__check_names_what_was_broken(void **state)
{
    (void)state;
    struct inq_graph_builder *b = inq_graph_builder_new();
    uint32_t a = add(b, 0, 0, INQ_OP_FORWARD, 10);
    uint32_t c = add(b, 1, 0, INQ_OP_BACKWARD, 10);
    (void)inq_graph_add_dep(b, a, c, NULL);
    uint32_t g0 = add(b, 0, 1, INQ_OP_GRADS_REDUCE_SCATTER, 5);
    uint32_t g1 = add(b, 1, 1, INQ_OP_GRADS_REDUCE_SCATTER, 5);
    const uint32_t group[] = {g0, g1};
    (void)inq_graph_add_group(b, group, 2, 2, NULL);
    struct inq_graph *graph = finish(b);
    struct inq_plan *plan = NULL;
    struct inq_execution x = {0};
    struct inq_err err = {0};
    assert_int_equal(inq_plan_make(graph, NULL, &plan, NULL), INQ_OK);
    assert_int_equal(inq_engine_find("sim")->run(plan, NULL, &x, NULL), INQ_OK);
    uint32_t later = graph->index_of[c];
    x.start_ns[later] -= 3;
    assert_int_equal(inq_execution_check(plan, &x, 3, &err), INQ_OK);
    assert_int_equal(inq_execution_check(plan, &x, 2, &err), INQ_FORMAT);
    assert_string_equal(err.message, "rank 1 backward-compute started 3 ns before "
                                     "rank 0 forward-compute had ended");
    x.start_ns[later] += 3;
    x.end_ns[graph->index_of[g0]] = x.start_ns[graph->index_of[g1]] - 1;
    err = (struct inq_err){0};
    assert_int_equal(inq_execution_check(plan, &x, 0, &err), INQ_FORMAT);
    assert_non_null(strstr(err.message, "ended 1 ns before"));
    x.n_ops--;
    assert_int_equal(inq_execution_check(plan, &x, 0, NULL), INQ_FORMAT);
    inq_execution_release(&x);
    inq_plan_free(plan);
    inq_graph_free(graph);
}

static void engine__is_found_by_name(void **state)
{
    (void)state;
    size_t n = 0;
    const struct inq_engine *engines = inq_engines(&n);
    assert_int_equal(n, 3);
    for (size_t i = 0; i < n; i++) {
        assert_ptr_equal(inq_engine_find(engines[i].name), &engines[i]);
        assert_non_null(engines[i].run);
    }
    assert_null(inq_engine_find("gpu"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plan__lays_out_random_graphs_without_holding_ops_up),
        cmocka_unit_test(plan__gives_transfers_that_overlap_lanes_of_their_own),
        cmocka_unit_test(plan__puts_receives_that_were_posted_early_into_one_lane),
        cmocka_unit_test(plan__takes_two_lanes_at_most_for_each_direction),
        cmocka_unit_test(plan__scales_and_says_what_moves),
        cmocka_unit_test(execution__check_names_what_was_broken),
        cmocka_unit_test(engine__is_found_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
