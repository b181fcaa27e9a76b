/* SPDX-License-Identifier: Apache-2.0 */
/* A step as lists: its length is that of its graph. */
#include "fix/step.h"

#include "base/mem.h"
#include "support_plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct fix_op op_on(int32_t rank, uint32_t lane, int64_t dur_ns, int64_t delay_ns)
{
    struct fix_op op = {.op = inq_graph_op_init(),
                        .dur_ns = dur_ns,
                        .delay_ns = delay_ns,
                        .slot = INQ_NONE,
                        .group = INQ_NONE};
    op.op.rank = rank;
    op.op.lane = lane;
    return op;
}

static void add(struct fix_step *job, struct fix_op op, uint32_t group)
{
    op.group = group;
    assert_int_equal(inq_fix_step_add(job, &op, NULL, NULL), INQ_OK);
}

static int64_t time_of(const struct fix_step *job, bool delays)
{
    int64_t t_ns = -1;
    assert_int_equal(inq_fix_step_time(job, delays, &t_ns, NULL), INQ_OK);
    return t_ns;
}

static void time__is_what_the_graph_takes(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct random_graph spec = {.n_ranks = 1 + (int32_t)(seed % 9),
                                    .n_lanes = 1 + (int32_t)(seed % 3),
                                    .n_steps = 1 + seed % 200,
                                    .max_dur_ns = 1000,
                                    .max_delay_ns = seed % 2 == 0 ? 500 : 0};
        struct inq_graph *graph = random_graph_make(&spec, seed);
        assert_non_null(graph);
        struct fix_step job = {0};
        int64_t *end_ns = calloc(graph->n_ops + 1, sizeof *end_ns);
        assert_non_null(end_ns);
        assert_int_equal(inq_fix_step_take(&job, graph, graph->dur_ns, graph->delay_ns, NULL),
                         INQ_OK);
        assert_true(time_of(&job, true) ==
                    inq_simulate(graph, NULL, graph->delay_ns, NULL, end_ns));
        assert_true(time_of(&job, false) == inq_simulate(graph, NULL, NULL, NULL, end_ns));
        free(end_ns);
        inq_fix_step_release(&job);
        inq_graph_free(graph);
    }
}

/* ---- replicas */

enum { REPLICAS = 3, RANKS = 2, LANES = 2, OWN = 8, OTHERS = 6, COMPUTE = 6 };

static uint32_t below(uint64_t *state, uint32_t n)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % n;
}

/* Three replicas of two ranks, with ops before them, after them, and on their lanes. `halfway`: one
 * waits for an op that waits for another replica. */
static void make_replicas(struct fix_step *job, uint64_t seed, bool halfway)
{
    struct fix_replicas *x = &job->replicas;
    uint64_t state = seed;
    *job = (struct fix_step){.n_ranks = (size_t)REPLICAS * RANKS};
    job->ranks = inq_mem_zalloc(job->n_ranks, sizeof *job->ranks);
    assert_non_null(job->ranks);
    for (uint32_t i = 0; i < OWN; i++) {
        bool grouped = i >= COMPUTE;
        struct fix_op op =
            op_on((int32_t)(i % RANKS), grouped ? INQ_NONE : i / RANKS % LANES, 0, 0);
        op.op.dp_rank = 0;
        add(job, op, grouped ? 0 : INQ_NONE);
    }
    job->n_groups = 1;
    for (uint32_t e = 0; e < OWN; e++) {
        uint32_t after = 1 + below(&state, COMPUTE - 1);
        assert_int_equal(inq_fix_step_edge(job, below(&state, after), after, NULL), INQ_OK);
    }
    assert_int_equal(inq_fix_step_edge(job, 1, COMPUTE, NULL), INQ_OK);
    *x = (struct fix_replicas){
        .n = REPLICAS, .n_ops = OWN, .n_edges = job->n_edges, .n_groups = 1, .n_delayed = COMPUTE};
    x->dur_ns = inq_mem_zalloc((size_t)REPLICAS * OWN, sizeof *x->dur_ns);
    x->delay_ns = inq_mem_zalloc((size_t)REPLICAS * COMPUTE, sizeof *x->delay_ns);
    assert_non_null(x->dur_ns);
    assert_non_null(x->delay_ns);
    for (size_t i = 0; i < (size_t)REPLICAS * OWN; i++) {
        x->dur_ns[i] = below(&state, 1000);
        job->ops[i % OWN].dur_ns = i < OWN ? x->dur_ns[i] : job->ops[i % OWN].dur_ns;
    }
    for (size_t i = 0; i < (size_t)REPLICAS * COMPUTE; i++) {
        x->delay_ns[i] = below(&state, 100);
        job->ops[i % COMPUTE].delay_ns =
            i < COMPUTE ? x->delay_ns[i] : job->ops[i % COMPUTE].delay_ns;
    }
    /* the first two come before replicas, the next two after them in a group, two on lanes */
    job->n_groups = 2;
    for (uint32_t i = 0; i < OTHERS; i++) {
        uint32_t rank = below(&state, REPLICAS * RANKS);
        add(job,
            op_on((int32_t)rank, i < 4 ? INQ_NONE : below(&state, LANES), below(&state, 1000), 3),
            i == 2 || i == 3 ? 1 : INQ_NONE);
    }
    for (uint32_t k = 0; k < REPLICAS; k++) {
        uint32_t first = k * OWN;
        uint32_t others = REPLICAS * OWN;
        assert_int_equal(inq_fix_step_edge(job, others + k % 2, first + below(&state, OWN), NULL),
                         INQ_OK);
        assert_int_equal(
            inq_fix_step_edge(job, first + below(&state, OWN), others + 2 + k % 2, NULL), INQ_OK);
    }
    if (halfway) { /* the last replica before the first */
        assert_int_equal(inq_fix_step_edge(job, (REPLICAS - 1) * OWN, REPLICAS * OWN, NULL),
                         INQ_OK);
        job->edges[job->n_edges - 7].before = REPLICAS * OWN; /* which it did wait for */
        job->edges[job->n_edges - 3].before = REPLICAS * OWN + 1;
    }
}

static void time__of_replicas_is_that_of_all_their_ops(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 400; seed++) {
        struct fix_step job;
        make_replicas(&job, seed, seed % 4 == 0);
        int64_t with_ns = time_of(&job, true);
        int64_t without_ns = time_of(&job, false);
        assert_int_equal(inq_fix_step_expand(&job, NULL), INQ_OK);
        assert_int_equal(job.n_ops, REPLICAS * OWN + OTHERS);
        assert_int_equal(job.n_groups, REPLICAS + 1);
        assert_int_equal(job.ops[2 * OWN + 1].op.rank, 2 * RANKS + 1);
        assert_int_equal(job.ops[2 * OWN + 1].op.dp_rank, 2);
        assert_int_equal(job.ops[2 * OWN + COMPUTE].group, 2);
        assert_int_equal(job.ops[REPLICAS * OWN + 2].group, REPLICAS);
        assert_true(time_of(&job, true) == with_ns);
        assert_true(time_of(&job, false) == without_ns);
        struct inq_graph *graph = NULL;
        assert_int_equal(inq_fix_step_graph(&job, &graph, NULL), INQ_OK);
        int64_t *end_ns = calloc(graph->n_ops + 1, sizeof *end_ns);
        assert_non_null(end_ns);
        assert_true(inq_simulate(graph, NULL, graph->delay_ns, NULL, end_ns) == with_ns);
        free(end_ns);
        inq_graph_free(graph);
        inq_fix_step_release(&job);
    }
}

static void time__of_a_knot_among_replicas_says_who_waits(void **state)
{
    (void)state;
    struct fix_step job;
    struct inq_err err = {0};
    int64_t t_ns = 0;
    make_replicas(&job, 1, false);
    uint32_t other = REPLICAS * OWN; /* waits for what it is waited for by */
    assert_int_equal(inq_fix_step_edge(&job, OWN + 4, other, NULL), INQ_OK);
    assert_int_equal(inq_fix_step_edge(&job, other, OWN, NULL), INQ_OK);
    assert_int_equal(inq_fix_step_time(&job, true, &t_ns, &err), INQ_DEADLOCK);
    inq_fix_step_release(&job);
}

static void time__of_replicas_is_bounded(void **state)
{
    (void)state;
    struct fix_step job;
    int64_t t_ns = 0;
    make_replicas(&job, 1, false);
    job.replicas.dur_ns[REPLICAS * OWN - 1] = (int64_t)INQ_GRAPH_MAX_TOTAL_NS;
    assert_int_equal(inq_fix_step_time(&job, true, &t_ns, NULL), INQ_FORMAT);
    inq_fix_step_release(&job);
}

/* Lanes that take turns in the list, a group whose first member waits for nothing, one member that
 * ends before it began by a wrong clock. */
static void time__of_lanes_and_a_group(void **state)
{
    (void)state;
    struct fix_step job = {.n_groups = 1};
    add(&job, op_on(0, 0, 5, 0), 0);
    add(&job, op_on(1, 0, 10, 2), INQ_NONE);
    add(&job, op_on(0, 1, 100, 0), INQ_NONE);
    add(&job, op_on(1, 0, -3, 1), 0);
    add(&job, op_on(0, 0, 50, 0), INQ_NONE);
    add(&job, op_on(1, 0, 200, 0), INQ_NONE);
    assert_int_equal(time_of(&job, true), 13 - 3 + 200);
    assert_int_equal(time_of(&job, false), 10 - 3 + 200);
    job.ops[5].dur_ns = 0;
    assert_int_equal(inq_fix_step_edge(&job, 4, 2, NULL), INQ_OK);
    assert_int_equal(time_of(&job, true), 13 + 5 + 50 + 100);
    inq_fix_step_release(&job);
}

static void time__of_a_knot_says_who_waits(void **state)
{
    (void)state;
    struct fix_step job = {0};
    struct inq_err err = {0};
    int64_t t_ns = 0;
    add(&job, op_on(0, 0, 5, 0), INQ_NONE);
    add(&job, op_on(0, 0, 5, 0), INQ_NONE);
    assert_int_equal(inq_fix_step_edge(&job, 1, 0, NULL), INQ_OK);
    assert_int_equal(inq_fix_step_time(&job, true, &t_ns, &err), INQ_DEADLOCK);
    assert_non_null(strstr(err.message, "rank 0"));
    inq_fix_step_release(&job);
}

static void time__is_bounded(void **state)
{
    (void)state;
    int64_t most_ns = (int64_t)INQ_GRAPH_MAX_TOTAL_NS;
    struct fix_step job = {0};
    int64_t t_ns = 0;
    add(&job, op_on(0, 0, most_ns - 1, 0), INQ_NONE);
    add(&job, op_on(0, 0, 0, 1), INQ_NONE);
    assert_true(time_of(&job, true) == most_ns);
    job.ops[1].dur_ns = 1;
    assert_int_equal(inq_fix_step_time(&job, true, &t_ns, NULL), INQ_FORMAT);
    job.ops[1].dur_ns = INT64_MIN;
    assert_int_equal(inq_fix_step_time(&job, true, &t_ns, NULL), INQ_FORMAT);
    inq_fix_step_release(&job);
}

static void time__survives_every_failing_allocation(void **state)
{
    (void)state;
    struct fix_step job;
    int code = INQ_NOMEM;
    make_replicas(&job, 4, true); /* which is listed in the end */
    for (long n = 1; code != INQ_OK; n++) {
        int64_t t_ns = 0;
        assert_true(n < 100);
        (void)inq_mem_fail_after(n);
        code = inq_fix_step_time(&job, true, &t_ns, NULL);
        (void)inq_mem_fail_after(0);
        assert_true(code == INQ_OK || code == INQ_NOMEM);
    }
    inq_fix_step_release(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time__is_what_the_graph_takes),
        cmocka_unit_test(time__of_replicas_is_that_of_all_their_ops),
        cmocka_unit_test(time__of_a_knot_among_replicas_says_who_waits),
        cmocka_unit_test(time__of_replicas_is_bounded),
        cmocka_unit_test(time__of_lanes_and_a_group),
        cmocka_unit_test(time__of_a_knot_says_who_waits),
        cmocka_unit_test(time__is_bounded),
        cmocka_unit_test(time__survives_every_failing_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
