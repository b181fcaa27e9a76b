/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules are made, executed, recorded and analyzed: what comes out is what went in. */
#include "inquest/analysis.h"
#include "inquest/fix.h"
#include "inquest/ingest.h"
#include "inquest/out.h"
#include "inquest/replay.h"

#include "support_plan.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A schedule and the run that its execution was. */
struct trip {
    const char *kind;
    struct inq_schedule schedule;
    struct inq_schedule_timing timing;
    struct inq_run *run;
    struct inq_report *report;
};

static const struct inq_costs all_costs[] = {
    {.stage = {10000000, 10000000, 10000000}},
    {.stage = {12000000, 13000000, 7000000}, .p2p_ns = 1000000},
    {.stage = {10000000, 20000000, 10000000}, .p2p_ns = 2000000},
    {.stage = {18000000, 18000000, 9000000}, .p2p_ns = 1000000, .overlap_ns = 30000000}};

static const char *const only[] = {"pipeline", "whatif"};

static void record(const struct inq_costs *costs, struct trip *t)
{
    struct inq_fix_base *base = NULL;
    struct inq_graph *graph = NULL;
    struct inq_plan *plan = NULL;
    struct inq_execution x = {0};
    const struct inq_analysis_options options = {.only = only, .n_only = 2};
    assert_int_equal(inq_fix_base_of_schedule(&t->schedule, costs, &base, NULL), INQ_OK);
    assert_int_equal(inq_fix_graph(base, NULL, &graph, NULL), INQ_OK);
    assert_int_equal(inq_plan_make(graph, NULL, &plan, NULL), INQ_OK);
    assert_int_equal(inq_engine_find("sim")->run(plan, NULL, &x, NULL), INQ_OK);
    assert_int_equal(x.median_ns, t->timing.makespan_ns);
    assert_int_equal(inq_execution_trace(plan, &x, &t->run, NULL), INQ_OK);
    assert_int_equal(inq_analyze(t->run->traces[0], &options, &t->report, NULL), INQ_OK);
    inq_execution_release(&x);
    inq_plan_free(plan);
    inq_graph_free(graph);
    inq_fix_base_free(base);
}

static struct trip go(const char *kind, int32_t p, int32_t m, const struct inq_costs *costs)
{
    struct trip t = {.kind = kind};
    const struct inq_schedule_spec spec = {
        .kind = kind, .n_ranks = p, .n_microbatches = m, .costs = *costs};
    assert_int_equal(inq_schedule_make(&spec, &t.schedule, NULL), INQ_OK);
    assert_int_equal(inq_schedule_time(&t.schedule, costs, &t.timing, NULL), INQ_OK);
    record(costs, &t);
    return t;
}

static void release(struct trip *t)
{
    inq_report_free(t->report);
    inq_run_free(t->run);
    inq_schedule_timing_release(&t->timing, t->schedule.n_ranks);
    inq_schedule_release(&t->schedule);
}

static bool runs_beside(const char *kind)
{
    return strncmp(kind, "dualpipe", 8) == 0;
}

static void check(const struct trip *t, const char *name)
{
    const struct inq_pipeline *p = t->report->pipeline;
    if (p == NULL) {
        fail_msg("%s: no pipeline", t->kind);
        return;
    }
    assert_string_equal(p->schedule, name);
    assert_int_equal(p->stages, t->schedule.n_ranks);
    assert_int_equal(p->microbatches, t->schedule.n_microbatches);
    assert_int_equal(p->total_ns_per_step, t->timing.makespan_ns);
    assert_true(fabs(p->bubble_ratio - t->timing.bubble_ratio) < 1e-9);
    /* nothing but the schedule made it wait; parts of composites wait for each other's inputs */
    const struct inq_whatif *w = t->report->whatif;
    assert_true(runs_beside(t->kind) || llabs(w->t_ns - w->recorded_ns) <= w->recorded_ns / 500);
}

/* kind, name in the report */
static const char *const names[][2] = {
    {"1f1b", "1f1b"},           {"gpipe", "gpipe"},    {"interleaved", "interleaved-1f1b"},
    {"zb-h1", "zb-h1"},         {"zb-h2", "zb-h2"},    {"zb-v", "zb-v"},
    {"v-half", "v-half"},       {"v-min", "v-min"},    {"dualpipe", "dualpipe"},
    {"dualpipev", "dualpipev"}, {"chimera", "chimera"}};

static void execution__is_recognized_with_its_bubble(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        for (size_t c = 0; c < sizeof all_costs / sizeof *all_costs; c++) {
            int32_t p = c == 1 ? 6 : 4;
            struct trip t = go(names[k][0], p, 3 * p, &all_costs[c]);
            check(&t, names[k][1]);
            release(&t);
        }
    }
}

/* Where it is neither's order, what is under way tells. */
static void execution__of_a_searched_order_is_named_by_what_it_holds(void **state)
{
    (void)state;
    struct trip t = go("zb-2p", 4, 12, &all_costs[2]);
    check(&t, "zb-2p");
    release(&t);
}

static int64_t simulate(const struct inq_graph *graph)
{
    int64_t *end_ns = calloc(graph->n_ops, sizeof *end_ns);
    assert_non_null(end_ns);
    int64_t t_ns = inq_simulate(graph, NULL, NULL, NULL, end_ns);
    free(end_ns);
    return t_ns;
}

/* A fix that changes nothing of a run: its own schedule, at the times that were recorded. */
static void fix__of_a_recorded_schedule_predicts_what_timing_says(void **state)
{
    (void)state;
    /* with two stages there is one link, whose way back is not the way round the end */
    static const struct {
        const char *kind;
        int32_t stages;
    } runs[] = {{"zb-h1", 4},    {"zb-h2", 4}, {"1f1b", 4},  {"gpipe", 4}, {"chimera", 4},
                {"dualpipe", 4}, {"gpipe", 2}, {"zb-h1", 2}, {"gpipe", 3}};
    for (size_t k = 0; k < sizeof runs / sizeof *runs; k++) {
        int32_t p = runs[k].stages;
        struct trip t = go(runs[k].kind, p, 3 * p, &all_costs[1]);
        struct trip wanted = go("1f1b", p, 3 * p, &all_costs[1]);
        struct inq_fix_base *base = NULL;
        struct inq_graph *graph = NULL;
        struct inq_err err = {0};
        assert_int_equal(inq_fix_base_of_run(t.run->traces[0], t.report, &base, NULL), INQ_OK);
        assert_string_equal(inq_fix_base_info(base)->schedule, runs[k].kind);
        if (inq_fix_graph(base, "schedule:1f1b", &graph, &err) != INQ_OK) {
            fail_msg("%s: %s", runs[k].kind, err.message);
        }
        assert_int_equal(simulate(graph), wanted.timing.makespan_ns);
        inq_graph_free(graph);
        inq_fix_base_free(base);
        release(&wanted);
        release(&t);
    }
}

/* A plain pipeline never sends from its last rank to its first; an interleaved one does, and pays
 * for it what the others take. */
static void fix__pays_for_a_link_that_was_not_measured(void **state)
{
    (void)state;
    for (int32_t p = 2; p <= 4; p++) {
        const struct inq_costs whole = {.stage = {12000000, 14000000, 8000000}, .p2p_ns = 3000000};
        const struct inq_costs half = {.stage = {6000000, 7000000, 4000000}, .p2p_ns = 3000000};
        struct trip t = go("1f1b", p, 3 * p, &whole);
        struct trip wanted = go("interleaved", p, 3 * p, &half);
        struct inq_fix_base *base = NULL;
        struct inq_fixes *fixes = NULL;
        const char *spec = "schedule:interleaved:chunks=2";
        struct inq_fix_options options = {.specs = &spec, .n_specs = 1};
        assert_int_equal(inq_fix_base_of_run(t.run->traces[0], t.report, &base, NULL), INQ_OK);
        assert_int_equal(inq_fix_study(base, NULL, &options, &fixes, NULL), INQ_OK);
        assert_int_equal(fixes->fixes[0].t_ns, wanted.timing.makespan_ns);
        /* of two ranks each is the other's neighbor both ways: that link was measured */
        bool told = strstr(fixes->fixes[0].what, "is recorded: it is taken as the median of the "
                                                 "other links, 3.00 ms") != NULL;
        assert_int_equal(told, p > 2);
        inq_fixes_free(fixes);
        inq_fix_base_free(base);
        release(&wanted);
        release(&t);
    }
}

/* ---- Chakra graphs --------------------------------------------------------------------------- */

enum { MOST_RANKS = 8 };

/* The graph files of a plan, in memory. */
struct graph_files {
    size_t n;
    char names[MOST_RANKS][16];
    struct inq_out bytes[MOST_RANKS];
};

static int open_graph(void *ctx, int32_t rank, struct inq_sink *sink, struct inq_err *err)
{
    struct graph_files *files = ctx;
    (void)err;
    assert_true(files->n < MOST_RANKS);
    (void)snprintf(files->names[files->n], sizeof files->names[0], "g.%d.et", (int)rank);
    *sink = inq_out_sink(&files->bytes[files->n++]);
    return INQ_OK;
}

static int close_graph(void *ctx, int code, struct inq_err *err)
{
    (void)ctx;
    (void)err;
    return code;
}

static struct inq_run *read_graphs(const struct graph_files *files)
{
    struct inq_ingest_blob blobs[MOST_RANKS];
    struct inq_run *run = NULL;
    struct inq_err err = {0};
    for (size_t i = 0; i < files->n; i++) {
        blobs[i] = (struct inq_ingest_blob){
            .name = files->names[i], .bytes = files->bytes[i].buf, .n = files->bytes[i].len};
    }
    if (inq_ingest_memory(blobs, files->n, NULL, &run, &err) != INQ_OK) {
        fail_msg("%s", err.message);
    }
    return run;
}

/* Compute of all ranks, to be compared. */
struct placed {
    size_t n;
    struct {
        int64_t rank, start_ns, end_ns;
    } ops[2048];
};

static void place(struct placed *to, int64_t rank, int64_t start_ns, int64_t end_ns)
{
    assert_true(to->n < sizeof to->ops / sizeof *to->ops);
    to->ops[to->n].rank = rank;
    to->ops[to->n].start_ns = start_ns;
    to->ops[to->n++].end_ns = end_ns;
}

static int by_place(const void *a, const void *b)
{
    const int64_t *x = a;
    const int64_t *y = b;
    for (int i = 0; i < 3; i++) {
        if (x[i] != y[i]) {
            return x[i] < y[i] ? -1 : 1;
        }
    }
    return 0;
}

/* From the first start of all. */
static void arrange(struct placed *of)
{
    int64_t first_ns = INT64_MAX;
    for (size_t i = 0; i < of->n; i++) {
        first_ns = of->ops[i].start_ns < first_ns ? of->ops[i].start_ns : first_ns;
    }
    for (size_t i = 0; i < of->n; i++) {
        of->ops[i].start_ns -= first_ns;
        of->ops[i].end_ns -= first_ns;
    }
    qsort(of->ops, of->n, sizeof *of->ops, by_place);
}

static void place_trace(const struct inq_trace *trace, struct placed *to)
{
    for (size_t r = 0; r < trace->n_ranks; r++) {
        const struct inq_events *e = &trace->ranks[r].events;
        for (size_t k = 0; k < e->n; k++) {
            if (e->cls[k] == INQ_CLASS_COMPUTE) {
                place(to, trace->ranks[r].rank, e->start_ns[k], e->start_ns[k] + e->dur_ns[k]);
            }
        }
    }
}

static void compare_graphs(const struct inq_graph *graph, struct placed *want, struct placed *got)
{
    struct inq_plan *plan = NULL;
    struct inq_execution x = {0};
    struct graph_files files = {0};
    const struct inq_rank_files ranks = {open_graph, close_graph, &files};
    assert_int_equal(inq_plan_make(graph, NULL, &plan, NULL), INQ_OK);
    assert_int_equal(inq_engine_find("sim")->run(plan, NULL, &x, NULL), INQ_OK);
    assert_int_equal(inq_execution_chakra(plan, &x, &ranks, NULL), INQ_OK);
    struct inq_run *run = read_graphs(&files);
    assert_int_equal(run->n_traces, 1);
    place_trace(run->traces[0], got);
    for (size_t i = 0; i < graph->n_ops; i++) {
        if (graph->op[i].cls == INQ_CLASS_COMPUTE) {
            place(want, graph->op[i].rank, x.start_ns[i], x.end_ns[i]);
        }
    }
    arrange(want);
    arrange(got);
    inq_run_free(run);
    for (size_t i = 0; i < files.n; i++) {
        inq_out_release(&files.bytes[i]);
    }
    inq_execution_release(&x);
    inq_plan_free(plan);
}

/* Everything that a graph says is read again: lanes, dependencies inside ranks and across them,
 * groups, delays and nanoseconds give each op the time that it was simulated at; as kernels on two
 * lanes, and as the ops of a schedule on one. */
static void graphs__that_are_written_are_read_as_they_were(void **state)
{
    (void)state;
    struct placed *want = calloc(2, sizeof *want);
    assert_non_null(want);
    for (uint64_t seed = 1; seed <= 16; seed++) {
        struct random_graph spec = {.n_ranks = 4,
                                    .n_lanes = seed % 2 == 0 ? 1 : 2,
                                    .n_steps = 120,
                                    .max_dur_ns = 50000000,
                                    .max_delay_ns = 9000000};
        struct inq_graph *graph = random_graph_make(&spec, seed);
        assert_non_null(graph);
        for (size_t i = 0; i < graph->n_ops; i++) { /* a transfer takes all members as long */
            uint32_t n = 0;
            graph->dur_ns[i] = graph->dur_ns[inq_graph_group_of(graph, (uint32_t)i, &n)];
            graph->op[i].type = seed % 2 == 0 ? graph->op[i].type : INQ_OP_NONE;
        }
        want[0].n = want[1].n = 0;
        compare_graphs(graph, &want[0], &want[1]);
        assert_int_equal(want[0].n, want[1].n);
        assert_memory_equal(want[0].ops, want[1].ops, want[0].n * sizeof *want[0].ops);
        inq_graph_free(graph);
    }
    free(want);
}

/* Ops beside each other were faster than alone; a schedule without has them alone again. */
static void fix__of_a_schedule_with_ops_beside_each_other(void **state)
{
    (void)state;
    const struct inq_costs *costs = &all_costs[3];
    const struct inq_schedule_spec spec = {
        .kind = "dualpipe", .n_ranks = 4, .n_microbatches = 12, .costs = *costs};
    struct inq_schedule schedule;
    struct inq_fix_base *base = NULL;
    struct inq_graph *graph = NULL;
    struct trip wanted = go("1f1b", 4, 12, costs);
    assert_int_equal(inq_schedule_make(&spec, &schedule, NULL), INQ_OK);
    assert_int_equal(inq_fix_base_of_schedule(&schedule, costs, &base, NULL), INQ_OK);
    assert_int_equal(inq_fix_graph(base, "schedule:1f1b", &graph, NULL), INQ_OK);
    assert_true(llabs(simulate(graph) - wanted.timing.makespan_ns) < 100); /* rounding */
    inq_graph_free(graph);
    inq_fix_base_free(base);
    inq_schedule_release(&schedule);
    release(&wanted);
}

/* Gathers before and all-reduces after stay what they are when the order in between changes. */
static void fix__of_a_schedule_with_cells_besides_its_compute(void **state)
{
    (void)state;
    struct inq_costs costs = all_costs[1];
    struct trip wanted = go("zb-h1", 4, 12, &costs);
    const struct inq_schedule_spec spec = {
        .kind = "1f1b", .n_ranks = 4, .n_microbatches = 12, .costs = costs};
    struct inq_schedule schedule;
    struct inq_fix_base *base = NULL;
    struct inq_graph *graph = NULL;
    struct inq_err err = {0};
    costs.reduce_ns = 50000000;
    assert_int_equal(inq_schedule_make(&spec, &schedule, NULL), INQ_OK);
    for (int32_t r = 0; r < 4; r++) {
        assert_int_equal(inq_schedule_append(&schedule, r, INQ_ACTION_REDUCE_GRAD, r, -1, NULL),
                         INQ_OK);
    }
    assert_int_equal(inq_fix_base_of_schedule(&schedule, &costs, &base, NULL), INQ_OK);
    if (inq_fix_graph(base, "schedule:zb-h1", &graph, &err) != INQ_OK) {
        fail_msg("%s", err.message);
    }
    assert_int_equal(simulate(graph), wanted.timing.makespan_ns + costs.reduce_ns);
    inq_graph_free(graph);
    assert_int_equal(inq_fix_graph(base, "microbatches:24", &graph, NULL), INQ_OK);
    assert_true(simulate(graph) > costs.reduce_ns + 12 * 32000000);
    inq_graph_free(graph);
    inq_fix_base_free(base);
    inq_schedule_release(&schedule);
    release(&wanted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(execution__is_recognized_with_its_bubble),
        cmocka_unit_test(execution__of_a_searched_order_is_named_by_what_it_holds),
        cmocka_unit_test(fix__of_a_recorded_schedule_predicts_what_timing_says),
        cmocka_unit_test(fix__pays_for_a_link_that_was_not_measured),
        cmocka_unit_test(fix__of_a_schedule_with_ops_beside_each_other),
        cmocka_unit_test(graphs__that_are_written_are_read_as_they_were),
        cmocka_unit_test(fix__of_a_schedule_with_cells_besides_its_compute),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
