/* SPDX-License-Identifier: Apache-2.0 */
/* Pipeline schedules of every kind on the cuda engine: none is refused, none needs more than two
 * queues per rank and direction, and every execution keeps its plan, as a graph and by streams.
 *   sweep [short]    p = 2 to 32 and m = 4 to 128 in powers of two; short: the corners
 * The stand-in needs so many SMs: INQ_STANDIN=sms=64,queues=8. Exit 77: there is no GPU. */
#include "inquest/replay.h"
#include "inquest/schedule.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define US INT64_C(1000)

/* Directions of a rank's transfers: to and from its neighbors. */
enum { LOOSE_LANES = 4, MOST_P = 32, MOST_M = 128 };

static struct {
    size_t n, n_missing, n_failed;
} counts;

static void fail(const struct inq_schedule_spec *spec, const char *what, const char *why)
{
    counts.n_failed++;
    printf("FAILED: %s of %d ranks, %d micro-batches: %s: %s\n", spec->kind, (int)spec->n_ranks,
           (int)spec->n_microbatches, what, why);
    (void)fflush(stdout);
}

static void count_lanes(const struct inq_schedule_spec *spec, const struct inq_plan *plan)
{
    size_t n = 0;
    for (size_t k = 0; k < plan->n_lanes; k++) {
        n = k > 0 && plan->lanes[k].rank == plan->lanes[k - 1].rank ? n : 0;
        n += plan->graph->op[plan->lanes[k].ops[0]].lane == INQ_NONE;
        if (n == LOOSE_LANES + 1) {
            fail(spec, "queues", "more than two per direction");
        }
    }
}

static void execute(const struct inq_schedule_spec *spec, const struct inq_plan *plan, bool graph)
{
    /* short ops bring what overlaps closest together; a busy machine may take its time */
    const struct inq_replay_options o = {
        .warmup = -1, .repeats = 1, .no_graph = !graph, .timeout_ns = 300 * 1000 * 1000 * US};
    struct inq_execution x = {0};
    struct inq_err err = {0};
    int code = inq_engine_find("cuda")->run(plan, &o, &x, &err);
    if (code == INQ_OK) {
        code = inq_execution_check(plan, &x, x.resolution_ns, &err);
    }
    if (code == INQ_OK && graph && strstr(x.note, "streams, no graph") != NULL) {
        code = inq_err_set(&err, INQ_DEVICE, "%s", x.note);
    }
    if (code != INQ_OK) {
        fail(spec, graph ? "as a graph" : "by streams", err.message);
    }
    counts.n++;
    inq_execution_release(&x);
}

static void sweep_one(const char *kind, int32_t p, int32_t m)
{
    const struct inq_schedule_spec spec = {
        .kind = kind,
        .n_ranks = p,
        .n_microbatches = m,
        .costs = {.stage = {20 * US, 22 * US, 18 * US}, .p2p_ns = 4 * US}};
    struct inq_schedule schedule = {0};
    struct inq_schedule_graph graph = {0};
    struct inq_plan *plan = NULL;
    struct inq_err err = {0};
    if (inq_schedule_make(&spec, &schedule, NULL) != INQ_OK) {
        counts.n_missing++; /* does not exist for these numbers */
        return;
    }
    int code = inq_schedule_graph_make(&schedule, &spec.costs, &graph, &err);
    if (code == INQ_OK) {
        code = inq_plan_make(graph.graph, NULL, &plan, &err);
    }
    if (code == INQ_OK) {
        count_lanes(&spec, plan);
        execute(&spec, plan, true);
        execute(&spec, plan, false);
    } else {
        fail(&spec, "plan", err.message);
    }
    inq_plan_free(plan);
    inq_schedule_graph_release(&graph);
    inq_schedule_release(&schedule);
}

static bool is_there(void)
{
    struct inq_schedule_spec spec = {.kind = "1f1b", .n_ranks = 1, .n_microbatches = 1};
    spec.costs.stage = (struct inq_stage_cost){US, US, US};
    struct inq_schedule schedule = {0};
    struct inq_schedule_graph graph = {0};
    struct inq_plan *plan = NULL;
    struct inq_execution x = {0};
    int code = inq_schedule_make(&spec, &schedule, NULL);
    code = code == INQ_OK ? inq_schedule_graph_make(&schedule, &spec.costs, &graph, NULL) : code;
    code = code == INQ_OK ? inq_plan_make(graph.graph, NULL, &plan, NULL) : code;
    code = code == INQ_OK ? inq_engine_find("cuda")->run(plan, NULL, &x, NULL) : code;
    inq_execution_release(&x);
    inq_plan_free(plan);
    inq_schedule_graph_release(&graph);
    inq_schedule_release(&schedule);
    return code != INQ_UNSUPPORTED;
}

int main(int argc, char **argv)
{
    bool brief = argc > 1 && strcmp(argv[1], "short") == 0;
    size_t n_kinds = 0;
    const struct inq_schedule_kind *kinds = inq_schedule_kinds(&n_kinds);
    if (!is_there()) {
        printf("there is no GPU\n");
        return 77;
    }
    for (int32_t p = 2; p <= (brief ? 8 : MOST_P); p *= brief ? 4 : 2) {
        for (int32_t m = 4; m <= (brief ? 16 : MOST_M); m *= brief ? 4 : 2) {
            for (size_t i = 0; i < n_kinds; i++) {
                sweep_one(kinds[i].name, p, m);
            }
        }
        printf("p = %d: %zu executions, %zu schedules do not exist, %zu failed\n", (int)p, counts.n,
               counts.n_missing, counts.n_failed);
        (void)fflush(stdout);
    }
    return counts.n_failed > 0;
}
