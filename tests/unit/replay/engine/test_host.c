/* SPDX-License-Identifier: Apache-2.0 */
/* The host engine: what it executes keeps the plan, and what cannot go on is said, not hung in. No
 * test looks at how exact the times are: that is what bench_host is for. */
#include "support_plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct inq_engine *host(void)
{
    return inq_engine_find("host");
}

static struct inq_graph *finish(struct inq_graph_builder *b)
{
    struct inq_graph *graph = NULL;
    assert_int_equal(inq_graph_finish(b, &graph, NULL, NULL), INQ_OK);
    inq_graph_builder_free(b);
    return graph;
}

static uint32_t add(struct inq_graph_builder *b, int32_t rank, uint8_t type, int64_t dur_ns)
{
    struct inq_graph_op op = inq_graph_op_init();
    uint32_t id = 0;
    op.rank = rank;
    op.lane = 0;
    op.type = type;
    op.cls = INQ_CLASS_COMPUTE;
    assert_int_equal(inq_graph_add_op(b, &op, dur_ns, 0, &id, NULL), INQ_OK);
    return id;
}

/* Order, dependencies and groups held, and no op took less than its time or began at once where it
 * had to wait first. */
static void assert_kept(const struct inq_plan *plan, const struct inq_execution *x, uint64_t seed)
{
    struct inq_err err = {0};
    if (inq_execution_check(plan, x, 0, &err) != INQ_OK) {
        fail_msg("seed %d: %s", (int)seed, err.message);
    }
    const struct inq_graph *g = plan->graph;
    for (uint32_t i = 0; i < g->n_ops; i++) {
        uint32_t n = 0;
        uint32_t first = inq_graph_group_of(g, i, &n);
        int64_t from = x->start_ns[first];
        for (uint32_t k = first; k < first + n; k++) {
            from = x->start_ns[k] > from ? x->start_ns[k] : from;
        }
        assert_true(x->end_ns[i] >= from + plan->dur_ns[i]);
        int64_t ready = 0;
        for (uint32_t d = g->dep_start[i]; d < g->dep_start[i + 1]; d++) {
            int64_t end = x->end_ns[g->deps[d]];
            ready = end > ready ? end : ready;
        }
        int64_t delay = plan->delay_ns != NULL && ready > 0 ? plan->delay_ns[i] : 0;
        assert_true(x->start_ns[i] >= ready + delay);
    }
    assert_true(x->median_ns >= plan->simulated_ns);
}

static void execute_and_check(const struct inq_graph *graph, uint64_t seed)
{
    const struct inq_replay_options options = {.warmup = -1, .repeats = 1};
    struct inq_plan *plan = NULL;
    struct inq_execution x = {0};
    struct inq_err err = {0};
    assert_int_equal(inq_plan_make(graph, NULL, &plan, &err), INQ_OK);
    if (host()->run(plan, &options, &x, &err) != INQ_OK) {
        fail_msg("seed %d: %s", (int)seed, err.message);
    }
    assert_kept(plan, &x, seed);
    inq_execution_release(&x);
    inq_plan_free(plan);
}

static void host__keeps_random_graphs(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 500; seed++) {
        struct dice dice = {seed};
        const struct random_graph shape = {.n_ranks = 1 + (int32_t)dice_roll(&dice, 9),
                                           .n_lanes = 1 + (int32_t)dice_roll(&dice, 3),
                                           .n_steps = 20 + dice_roll(&dice, 100),
                                           .max_dur_ns = 1 + (int64_t)dice_roll(&dice, 3000),
                                           .max_delay_ns = (int64_t)dice_roll(&dice, 2) * 2000};
        struct inq_graph *graph = random_graph_make(&shape, seed);
        assert_non_null(graph);
        execute_and_check(graph, seed);
        inq_graph_free(graph);
    }
}

static void host__keeps_random_schedules(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 500; seed++) {
        struct dice dice = {seed};
        struct inq_schedule schedule = {0};
        struct inq_schedule_graph graph = {0};
        struct inq_err err = {0};
        const struct inq_costs costs = {.stage = {1000, 1500, (int64_t)dice_roll(&dice, 2000)},
                                        .p2p_ns = (int64_t)dice_roll(&dice, 2) * 700};
        random_schedule_make(&schedule, seed);
        if (inq_schedule_graph_make(&schedule, &costs, &graph, &err) != INQ_OK) {
            fail_msg("seed %d: %s", (int)seed, err.message);
        }
        execute_and_check(graph.graph, seed);
        inq_schedule_graph_release(&graph);
        inq_schedule_release(&schedule);
    }
}

/* More ranks than any machine has cores, each waiting for the one before. */
static void host__runs_more_ranks_than_cores(void **state)
{
    (void)state;
    struct inq_graph_builder *b = inq_graph_builder_new();
    uint32_t before = INQ_NONE;
    for (int32_t r = 0; r < 300; r++) {
        uint32_t op = add(b, r, INQ_OP_FORWARD, 2000);
        assert_true(before == INQ_NONE || inq_graph_add_dep(b, before, op, NULL) == INQ_OK);
        before = op;
    }
    struct inq_graph *graph = finish(b);
    execute_and_check(graph, 0);
    inq_graph_free(graph);
}

static void host__executes_nothing_and_single_ops(void **state)
{
    (void)state;
    struct inq_graph *empty = finish(inq_graph_builder_new());
    execute_and_check(empty, 0);
    inq_graph_free(empty);
    struct inq_graph_builder *b = inq_graph_builder_new();
    (void)add(b, 0, INQ_OP_FORWARD, 0);
    struct inq_graph *one = finish(b);
    execute_and_check(one, 1);
    inq_graph_free(one);
}

/* Rank 1 is to do its backward before its forward, but the backward needs what rank 0 makes of the
 * forward. */
static void host__names_the_circle_of_a_deadlock(void **state)
{
    (void)state;
    static const int32_t ranks[4] = {0, 1, 0, 1};
    struct inq_graph_builder *b = inq_graph_builder_new();
    struct inq_graph_op op = inq_graph_op_init();
    uint32_t ids[4];
    for (int k = 0; k < 4; k++) {
        op.rank = ranks[k];
        op.type = k < 2 ? INQ_OP_FORWARD : INQ_OP_BACKWARD;
        op.cls = INQ_CLASS_COMPUTE;
        int64_t dur_ns = k == 2 ? 9000 : 1000;
        assert_int_equal(inq_graph_add_op(b, &op, dur_ns, 0, &ids[k], NULL), INQ_OK);
        assert_true(k == 0 || inq_graph_add_dep(b, ids[k - 1], ids[k], NULL) == INQ_OK);
    }
    struct inq_graph *graph = finish(b);
    struct inq_plan *plan = NULL;
    assert_int_equal(inq_plan_make(graph, NULL, &plan, NULL), INQ_OK);
    const uint32_t forward = graph->index_of[ids[1]];
    const uint32_t backward = graph->index_of[ids[3]];
    struct inq_plan_lane *lane = &plan->lanes[plan->lane_of[forward]];
    assert_int_equal(lane->n, 2);
    lane->ops[0] = backward;
    lane->ops[1] = forward;
    plan->place_of[backward] = 0;
    plan->place_of[forward] = 1;
    struct inq_execution x = {0};
    struct inq_err err = {0};
    assert_int_equal(host()->run(plan, NULL, &x, &err), INQ_DEADLOCK);
    assert_string_equal(err.message,
                        "3 ops never finish: rank 1 forward-compute waits on its lane for rank 1 "
                        "backward-compute; rank 1 backward-compute waits for the result of rank 0 "
                        "backward-compute; rank 0 backward-compute waits for the result of rank 1 "
                        "forward-compute");
    assert_null(x.start_ns);
    inq_plan_free(plan);
    inq_graph_free(graph);
}

/* A group of which one member cannot come because the other's group comes first on its lane. */
static void host__names_groups_in_contrary_order(void **state)
{
    (void)state;
    struct inq_graph_builder *b = inq_graph_builder_new();
    uint32_t ids[4];
    for (int k = 0; k < 4; k++) {
        struct inq_graph_op op = inq_graph_op_init();
        op.rank = k % 2;
        op.lane = 0;
        op.micro_batch = k / 2;
        op.type = INQ_OP_GRADS_REDUCE_SCATTER;
        assert_int_equal(inq_graph_add_op(b, &op, 1000, 0, &ids[k], NULL), INQ_OK);
    }
    assert_int_equal(inq_graph_add_group(b, ids, 2, 2, NULL), INQ_OK);
    assert_int_equal(inq_graph_add_group(b, ids + 2, 2, 2, NULL), INQ_OK);
    struct inq_graph *graph = finish(b);
    /* the graph's own lane order on rank 1 is taken back, so that only the plan's counts */
    uint32_t last = graph->index_of[ids[3]];
    for (size_t i = last + 1; i <= graph->n_ops; i++) {
        graph->dep_start[i]--;
    }
    graph->n_deps--;
    struct inq_plan *plan = NULL;
    assert_int_equal(inq_plan_make(graph, NULL, &plan, NULL), INQ_OK);
    uint32_t lane = plan->lane_of[last];
    uint32_t first = plan->lanes[lane].ops[0];
    plan->lanes[lane].ops[0] = last;
    plan->lanes[lane].ops[1] = first;
    plan->place_of[last] = 0;
    plan->place_of[first] = 1;
    struct inq_execution x = {0};
    struct inq_err err = {0};
    assert_int_equal(host()->run(plan, NULL, &x, &err), INQ_DEADLOCK);
    assert_non_null(strstr(err.message, "4 ops never finish"));
    assert_non_null(strstr(err.message, "waits in its transfer for rank 1"));
    inq_plan_free(plan);
    inq_graph_free(graph);
}

static void host__gives_up_after_the_timeout(void **state)
{
    (void)state;
    struct inq_graph_builder *b = inq_graph_builder_new();
    (void)add(b, 0, INQ_OP_FORWARD, (int64_t)3600 * 1000000000);
    struct inq_graph *graph = finish(b);
    struct inq_plan *plan = NULL;
    struct inq_execution x = {0};
    struct inq_err err = {0};
    const struct inq_replay_options options = {.timeout_ns = 2000000};
    assert_int_equal(inq_plan_make(graph, NULL, &plan, NULL), INQ_OK);
    assert_int_equal(host()->run(plan, &options, &x, &err), INQ_LIMIT);
    assert_string_equal(err.message, "the execution did not end in 2.00 ms: 0 of 1 ops had");
    inq_plan_free(plan);
    inq_graph_free(graph);
}

static bool at_the_third_call(void *ctx)
{
    int *calls = ctx;
    return ++*calls >= 3;
}

static void host__stops_when_interrupted(void **state)
{
    (void)state;
    int calls = 0;
    struct inq_graph_builder *b = inq_graph_builder_new();
    (void)add(b, 0, INQ_OP_FORWARD, (int64_t)3600 * 1000000000);
    struct inq_graph *graph = finish(b);
    struct inq_plan *plan = NULL;
    struct inq_execution x = {0};
    const struct inq_replay_options options = {.interrupted = at_the_third_call,
                                               .interrupted_ctx = &calls};
    assert_int_equal(inq_plan_make(graph, NULL, &plan, NULL), INQ_OK);
    assert_int_equal(host()->run(plan, &options, &x, NULL), INQ_CANCELLED);
    assert_int_equal(calls, 3);
    inq_plan_free(plan);
    inq_graph_free(graph);
}

/* Recorded work is executed; what is more ranks than CPUs is refused, because it would take turns.
 */
static void host__does_recorded_work(void **state)
{
    (void)state;
    const struct inq_replay_options options = {.work = INQ_WORK_RECORDED, .repeats = 2};
    for (int32_t n_ranks = 1; n_ranks <= 4096; n_ranks += 4095) {
        struct inq_graph_builder *b = inq_graph_builder_new();
        for (int32_t r = 0; r < n_ranks; r++) {
            (void)add(b, r, INQ_OP_BACKWARD, 200000);
        }
        struct inq_graph *graph = finish(b);
        struct inq_plan *plan = NULL;
        struct inq_execution x = {0};
        assert_int_equal(inq_plan_make(graph, NULL, &plan, NULL), INQ_OK);
        assert_int_equal(host()->run(plan, &options, &x, NULL), n_ranks == 1 ? INQ_OK : INQ_LIMIT);
        if (n_ranks == 1) {
            assert_true(x.end_ns[0] > x.start_ns[0]);
        }
        inq_execution_release(&x);
        assert_int_equal(inq_engine_find("sim")->run(plan, &options, &x, NULL), INQ_UNSUPPORTED);
        inq_plan_free(plan);
        inq_graph_free(graph);
    }
}

static void host__repeats_and_keeps_the_median(void **state)
{
    (void)state;
    struct inq_graph_builder *b = inq_graph_builder_new();
    (void)add(b, 0, INQ_OP_FORWARD, 20000);
    struct inq_graph *graph = finish(b);
    struct inq_plan *plan = NULL;
    struct inq_execution x = {0};
    const struct inq_replay_options options = {.warmup = 2, .repeats = 7};
    assert_int_equal(inq_plan_make(graph, NULL, &plan, NULL), INQ_OK);
    assert_int_equal(host()->run(plan, &options, &x, NULL), INQ_OK);
    assert_int_equal(x.n_repeats, 7);
    size_t below = 0;
    size_t equal = 0;
    for (size_t i = 0; i < 7; i++) {
        below += x.makespan_ns[i] < x.median_ns;
        equal += x.makespan_ns[i] == x.median_ns;
    }
    assert_true(equal > 0 && below <= 3 && below + equal >= 4);
    assert_int_equal(x.start_ns[0], 0);
    assert_int_equal(x.end_ns[0], x.median_ns);
    assert_true(x.resolution_ns > 0);
    assert_memory_equal(x.device, "host, ", 6);
    inq_execution_release(&x);
    inq_plan_free(plan);
    inq_graph_free(graph);
}

static void host__alternates_between_two_plans(void **state)
{
    (void)state;
    struct inq_graph_builder *b = inq_graph_builder_new();
    (void)add(b, 0, INQ_OP_FORWARD, 100000);
    struct inq_graph *graph = finish(b);
    struct inq_plan *plans[2] = {NULL, NULL};
    const struct inq_plan_options longer = {.scale = 3.0};
    assert_int_equal(inq_plan_make(graph, NULL, &plans[0], NULL), INQ_OK);
    assert_int_equal(inq_plan_make(graph, &longer, &plans[1], NULL), INQ_OK);
    const struct inq_plan *const both[2] = {plans[0], plans[1]};
    const uint8_t order[5] = {1, 0, 0, 1, 1};
    int64_t makespan_ns[5] = {0};
    struct inq_witness witness = {0};
    struct inq_execution device = {0};
    assert_int_equal(host()->alternate(both, order, 5, NULL, makespan_ns, &witness, &device, NULL),
                     INQ_OK);
    assert_int_equal(witness.n, 5);
    assert_int_equal(witness.n_broken, 0);
    for (size_t i = 0; i < 5; i++) {
        assert_true(makespan_ns[i] >= (order[i] == 1 ? 300000 : 100000));
    }
    assert_memory_equal(device.device, "host, ", 6);
    inq_plan_free(plans[0]);
    inq_plan_free(plans[1]);
    inq_graph_free(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host__keeps_random_graphs),
        cmocka_unit_test(host__keeps_random_schedules),
        cmocka_unit_test(host__runs_more_ranks_than_cores),
        cmocka_unit_test(host__executes_nothing_and_single_ops),
        cmocka_unit_test(host__names_the_circle_of_a_deadlock),
        cmocka_unit_test(host__names_groups_in_contrary_order),
        cmocka_unit_test(host__gives_up_after_the_timeout),
        cmocka_unit_test(host__stops_when_interrupted),
        cmocka_unit_test(host__does_recorded_work),
        cmocka_unit_test(host__repeats_and_keeps_the_median),
        cmocka_unit_test(host__alternates_between_two_plans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
