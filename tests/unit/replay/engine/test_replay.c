/* SPDX-License-Identifier: Apache-2.0 */
/* One replay: its figures, several steps in a row, and the executed plan as a run that can be
 * analyzed like any other. */
#include "support_plan.h"

#include "inquest/analysis.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const struct inq_costs costs = {.stage = {1000000, 1100000, 900000}, .p2p_ns = 50000};

struct made {
    struct inq_schedule schedule;
    struct inq_schedule_graph one;
    struct inq_graph *graph; /* of all steps */
    struct inq_plan *plan;
};

static struct made make(const char *kind, int32_t n_ranks, int32_t n_microbatches, size_t n_steps)
{
    struct made m = {0};
    const struct inq_schedule_spec spec = {
        .kind = kind, .n_ranks = n_ranks, .n_microbatches = n_microbatches, .costs = costs};
    assert_int_equal(inq_schedule_make(&spec, &m.schedule, NULL), INQ_OK);
    assert_int_equal(inq_schedule_graph_make(&m.schedule, &costs, &m.one, NULL), INQ_OK);
    assert_int_equal(inq_graph_unroll(m.one.graph, n_steps, &m.graph, NULL), INQ_OK);
    assert_int_equal(inq_plan_make(m.graph, NULL, &m.plan, NULL), INQ_OK);
    return m;
}

static void release(struct made *m)
{
    inq_plan_free(m->plan);
    inq_graph_free(m->graph);
    inq_schedule_graph_release(&m->one);
    inq_schedule_release(&m->schedule);
}

static void replay__counts_what_the_timing_counts(void **state)
{
    (void)state;
    struct made m = make("zb-h1", 4, 8, 1);
    struct inq_schedule_timing timing = {0};
    struct inq_replay replay = {0};
    assert_int_equal(inq_schedule_time(&m.schedule, &costs, &timing, NULL), INQ_OK);
    assert_int_equal(inq_replay_run(inq_engine_find("sim"), m.plan, NULL, &replay, NULL), INQ_OK);
    assert_int_equal(replay.sample.median_ns, timing.makespan_ns);
    assert_int_equal(replay.simulated_ns, timing.makespan_ns);
    assert_true(replay.error > -1e-12 && replay.error < 1e-12);
    assert_int_equal(replay.n_ranks, 4);
    for (size_t r = 0; r < 4; r++) {
        assert_int_equal(replay.ranks[r].rank, r);
        assert_int_equal(replay.ranks[r].busy_ns, timing.ranks[r].busy_ns);
        assert_int_equal(replay.ranks[r].idle_ns, timing.ranks[r].idle_ns);
        assert_int_equal(replay.ranks[r].simulated_idle_ns, timing.ranks[r].idle_ns);
    }
    inq_replay_release(&replay);
    inq_schedule_timing_release(&timing, 4);
    release(&m);
}

static int turn_round(const struct inq_plan *plan, const struct inq_replay_options *options,
                      struct inq_execution *out, struct inq_err *err)
{
    int code = inq_engine_find("sim")->run(plan, options, out, err);
    for (size_t i = 0; i < out->n_ops; i++) {
        int64_t start = out->start_ns[i];
        out->start_ns[i] = out->median_ns - out->end_ns[i];
        out->end_ns[i] = out->median_ns - start;
    }
    return code;
}

static void replay__does_not_believe_an_engine_that_broke_the_plan(void **state)
{
    (void)state;
    const struct inq_engine engine = {"backwards", "", true, true, turn_round, NULL, NULL};
    struct made m = make("1f1b", 2, 2, 1);
    struct inq_replay replay = {0};
    struct inq_err err = {0};
    assert_int_equal(inq_replay_run(&engine, m.plan, NULL, &replay, &err), INQ_FORMAT);
    assert_memory_equal(err.message, "the execution did not keep the plan: rank", 41);
    assert_null(replay.ranks);
    release(&m);
}

static size_t two_gpus(const struct inq_replay_options *options)
{
    (void)options;
    return 2;
}

static enum inq_work_mode asked_of_sim;

static int note_work(const struct inq_plan *plan, const struct inq_replay_options *options,
                     struct inq_execution *out, struct inq_err *err)
{
    asked_of_sim = options->work;
    return inq_engine_find("sim")->run(plan, NULL, out, err);
}

/* Where nobody says, GPUs do what was recorded if they can do it again as it was: each rank has
 * one, the times are the recorded ones, and something but those is known; else it is said why. */
static void work__is_recorded_where_it_can_be_done_again(void **state)
{
    (void)state;
    const struct inq_engine gpus = {"gpus", "", true, true, note_work, NULL, two_gpus};
    const struct inq_engine none = {"host", "", true, true, note_work, NULL, NULL};
    static const struct {
        int32_t n_ranks;
        double scale;
        bool known;
        enum inq_work_mode asked, want;
        const char *why;
    } cases[] = {{2, 1.0, true, INQ_WORK_OPEN, INQ_WORK_RECORDED, ""},
                 {3, 1.0, true, INQ_WORK_OPEN, INQ_WORK_TIMED, "ranks share a GPU"},
                 {2, 0.5, true, INQ_WORK_OPEN, INQ_WORK_TIMED, "times are scaled"},
                 {2, 1.0, false, INQ_WORK_OPEN, INQ_WORK_TIMED, "nothing is recorded"},
                 {3, 0.5, false, INQ_WORK_RECORDED, INQ_WORK_RECORDED, ""},
                 {2, 1.0, true, INQ_WORK_TIMED, INQ_WORK_TIMED, ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct made m = make("1f1b", cases[i].n_ranks, 2, 1);
        const struct inq_replay_options options = {.work = cases[i].asked};
        struct inq_replay replay = {0};
        const char *why = NULL;
        m.plan->scale = cases[i].scale;
        for (size_t k = 0; k < m.graph->n_ops; k++) { /* one transfer is enough */
            bool moves = m.plan->work[k] == INQ_WORK_COPY;
            m.plan->bytes[k] = cases[i].known && moves ? 4096 : -1;
        }
        assert_int_equal(inq_replay_work(&gpus, m.plan, &options, &why), cases[i].want);
        assert_memory_equal(why, cases[i].why, strlen(cases[i].why));
        assert_int_equal(inq_replay_run(&gpus, m.plan, &options, &replay, NULL), INQ_OK);
        assert_int_equal(asked_of_sim, cases[i].want);
        assert_int_equal(replay.work, cases[i].want);
        assert_string_equal(replay.execution.note, why);
        inq_replay_release(&replay);
        if (cases[i].asked == INQ_WORK_OPEN) { /* without GPUs nobody expects it */
            assert_int_equal(inq_replay_work(&none, m.plan, &options, &why), INQ_WORK_TIMED);
            assert_string_equal(why, "");
        }
        release(&m);
    }
}

static void repeat__puts_steps_in_a_row(void **state)
{
    (void)state;
    struct made m = make("dp", 2, 2, 3);
    const struct inq_graph *one = m.one.graph;
    int64_t end_ns[16];
    assert_true(one->n_ops <= 16);
    int64_t once = inq_simulate(one, NULL, NULL, NULL, end_ns);
    assert_int_equal(m.graph->n_ops, 3 * one->n_ops);
    assert_int_equal(m.graph->n_groups, 3 * one->n_groups);
    size_t of_step[3] = {0};
    for (size_t i = 0; i < m.graph->n_ops; i++) {
        of_step[m.graph->op[i].step]++;
    }
    assert_int_equal(of_step[0], one->n_ops);
    assert_int_equal(of_step[2], one->n_ops);
    assert_int_equal(m.plan->simulated_ns, 3 * once); /* both ranks do the same */
    release(&m);
}

static void repeat__keeps_groups_together(void **state)
{
    (void)state;
    const struct random_graph shape = {
        .n_ranks = 4, .n_lanes = 2, .n_steps = 60, .max_dur_ns = 1000, .max_delay_ns = 100};
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct inq_graph *one = random_graph_make(&shape, seed);
        struct inq_graph *twice = NULL;
        assert_non_null(one);
        assert_int_equal(inq_graph_unroll(one, 2, &twice, NULL), INQ_OK);
        size_t members[2] = {0, 0};
        for (size_t i = 0; i < one->n_ops; i++) {
            members[0] += one->members[i] > 1 ? one->members[i] : 0;
        }
        for (size_t i = 0; i < twice->n_ops; i++) {
            members[1] += twice->members[i] > 1 ? twice->members[i] : 0;
            for (uint32_t k = 1; k < twice->members[i]; k++) {
                assert_int_equal(twice->op[i].step, twice->op[i + k].step);
            }
        }
        assert_int_equal(members[1], 2 * members[0]);
        inq_graph_free(twice);
        inq_graph_free(one);
    }
}

static struct inq_run *run_of(const struct made *m)
{
    struct inq_execution x = {0};
    struct inq_run *run = NULL;
    struct inq_err err = {0};
    assert_int_equal(inq_engine_find("sim")->run(m->plan, NULL, &x, NULL), INQ_OK);
    if (inq_execution_trace(m->plan, &x, &run, &err) != INQ_OK) {
        fail_msg("%s", err.message);
    }
    inq_execution_release(&x);
    assert_int_equal(run->n_traces, 1);
    return run;
}

static void trace__of_an_execution_is_recognized_as_its_schedule(void **state)
{
    (void)state;
    static const char *const kinds[][2] = {{"1f1b", "1f1b"},   {"gpipe", "gpipe"},
                                           {"zb-h1", "zb-h1"}, {"interleaved", "interleaved-1f1b"},
                                           {"zb-v", "zb-v"},   {"v-half", "v-half"},
                                           {"v-min", "v-min"}};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        struct made m = make(kinds[k][0], 4, 8, 3);
        struct inq_run *run = run_of(&m);
        struct inq_report *report = NULL;
        assert_int_equal(run->traces[0]->n_ranks, 4);
        assert_int_equal(run->traces[0]->n_steps, 3);
        assert_int_equal(inq_analyze(run->traces[0], NULL, &report, NULL), INQ_OK);
        assert_non_null(report->pipeline);
        assert_string_equal(report->pipeline->schedule, kinds[k][1]);
        assert_int_equal(report->pipeline->stages, 4);
        assert_int_equal(report->pipeline->microbatches, 8);
        assert_int_equal(report->whatif->replayed_ns, report->whatif->recorded_ns);
        assert_true(report->pipeline->bubble_ratio > 0.0 && report->pipeline->bubble_ratio < 0.5);
        inq_report_free(report);
        inq_run_free(run);
        release(&m);
    }
}

static void trace__of_an_execution_matches_its_collectives(void **state)
{
    (void)state;
    const struct inq_schedule_spec spec = {.kind = "dp", .n_ranks = 4, .n_microbatches = 8};
    struct inq_costs with = costs;
    struct made m = {0};
    with.reduce_ns = 500000;
    assert_int_equal(inq_schedule_make(&spec, &m.schedule, NULL), INQ_OK);
    assert_int_equal(inq_schedule_graph_make(&m.schedule, &with, &m.one, NULL), INQ_OK);
    assert_int_equal(inq_plan_make(m.one.graph, NULL, &m.plan, NULL), INQ_OK);
    struct inq_run *run = run_of(&m);
    assert_int_equal(run->traces[0]->n_collectives, 2);
    assert_int_equal(run->traces[0]->collectives[0].n_members, 4);
    inq_run_free(run);
    release(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replay__counts_what_the_timing_counts),
        cmocka_unit_test(replay__does_not_believe_an_engine_that_broke_the_plan),
        cmocka_unit_test(work__is_recorded_where_it_can_be_done_again),
        cmocka_unit_test(repeat__puts_steps_in_a_row),
        cmocka_unit_test(repeat__keeps_groups_together),
        cmocka_unit_test(trace__of_an_execution_is_recognized_as_its_schedule),
        cmocka_unit_test(trace__of_an_execution_matches_its_collectives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
