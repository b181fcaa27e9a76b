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
    struct fix_step job = {.n_groups = 1};
    int code = INQ_NOMEM;
    add(&job, op_on(0, 0, 5, 0), 0);
    add(&job, op_on(1, 0, 5, 0), 0);
    add(&job, op_on(0, 0, 5, 0), INQ_NONE);
    assert_int_equal(inq_fix_step_edge(&job, 0, 2, NULL), INQ_OK);
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
        cmocka_unit_test(time__of_lanes_and_a_group),
        cmocka_unit_test(time__of_a_knot_says_who_waits),
        cmocka_unit_test(time__is_bounded),
        cmocka_unit_test(time__survives_every_failing_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
