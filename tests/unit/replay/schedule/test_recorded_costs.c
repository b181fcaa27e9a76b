/* SPDX-License-Identifier: Apache-2.0 */
/* What the stages of a recorded pipeline cost. */
#include "inquest/replay.h"
#include "support_ops.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#define MS 1000000

enum { STAGES = 2, STEPS = 5, BATCHES = 3 };

static struct inq_label label(enum inq_op_type type, int32_t step, int32_t stage, int32_t batch)
{
    struct inq_label l = {.type = type,
                          .step = step,
                          .stage = stage,
                          .dp_rank = 0,
                          .micro_batch = batch,
                          .chunk = 0,
                          .seq = batch};
    return l;
}

/* One after the other: stage 0 forwards, stage 1 forward and backward, stage 0 backward, per
 * micro-batch; step `slow` takes ten times the time on stage 1. */
static struct ops_trace *two_stages(int32_t slow)
{
    struct ops_trace *ops = ops_trace_new(STAGES);
    int64_t t = 0;
    for (int32_t step = 0; step < STEPS; step++) {
        int64_t times = step == slow ? 10 : 1;
        for (int32_t b = 0; b < BATCHES; b++) {
            struct inq_label l = label(INQ_OP_FORWARD, step, 0, b);
            ops_trace_add(ops, 0, &l, t, (2 + b) * MS); /* 2, 3, 4: 3 in the mean */
            t += (2 + b) * MS;
            l = label(INQ_OP_FORWARD, step, 1, b);
            ops_trace_add(ops, 1, &l, t, times * 5 * MS);
            t += times * 5 * MS;
            l = label(INQ_OP_BACKWARD, step, 1, b);
            ops_trace_add(ops, 1, &l, t, times * 8 * MS);
            t += times * 8 * MS;
            l = label(INQ_OP_BACKWARD, step, 0, b);
            ops_trace_add(ops, 0, &l, t, 6 * MS);
            t += 6 * MS;
        }
        t += MS;
    }
    return ops;
}

static void recorded__means_of_a_step_medians_of_the_run(void **state)
{
    (void)state;
    struct ops_trace *ops = two_stages(3);
    struct inq_recorded_costs costs;
    struct inq_err err = {0};
    assert_int_equal(inq_recorded_costs_of(ops_trace_get(ops), &costs, &err), INQ_OK);
    assert_int_equal(costs.n_stages, STAGES);
    assert_int_equal(costs.n_steps, STEPS);
    assert_false(costs.split);
    assert_int_equal(costs.median[0].f_ns, 3 * MS);
    assert_int_equal(costs.median[0].b_ns, 3 * MS);
    assert_int_equal(costs.median[0].w_ns, 3 * MS);
    assert_int_equal(costs.median[1].f_ns, 5 * MS); /* the slow step is not in it */
    assert_int_equal(costs.median[1].b_ns + costs.median[1].w_ns, 8 * MS);
    assert_int_equal(costs.steps[3 * STAGES + 1].f_ns, 50 * MS);
    assert_ptr_equal(costs.costs.per_stage, costs.median);
    assert_int_equal(costs.costs.n_per_stage, STAGES);
    inq_recorded_costs_release(&costs);
    ops_trace_free(ops);
}

static void recorded__no_pipeline_is_said(void **state)
{
    (void)state;
    struct ops_trace *ops = ops_trace_new(1);
    struct inq_recorded_costs costs;
    struct inq_err err = {0};
    assert_int_equal(inq_recorded_costs_of(ops_trace_get(ops), &costs, &err), INQ_NOT_FOUND);
    assert_true(err.message[0] != '\0');
    inq_recorded_costs_release(&costs);
    ops_trace_free(ops);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded__means_of_a_step_medians_of_the_run),
        cmocka_unit_test(recorded__no_pipeline_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
