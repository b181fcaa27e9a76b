/* SPDX-License-Identifier: Apache-2.0 */
/* Bench of the host engine: every schedule that can be made for up to 8 ranks is executed on the
 * CPU's clock with ops of about a millisecond, and compared with the simulation. Meant for idle
 * cores: what else runs on the machine is in the figures, unless its threads may have real-time
 * priority.
 *
 *   bench_host [RANKS [REPEATS [realtime]]]
 */
#include "inquest/replay.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const int64_t ms = 1000000;

struct totals {
    size_t n, within;
    double worst;
};

static int run_one(const char *kind, int32_t n_ranks, int32_t n_microbatches,
                   const struct inq_replay_options *options, struct totals *totals)
{
    struct inq_schedule_spec spec = {
        .kind = kind,
        .n_ranks = n_ranks,
        .n_microbatches = n_microbatches,
        .costs = {.stage = {ms, ms * 11 / 10, ms * 9 / 10}, .p2p_ns = ms / 5}};
    struct inq_schedule schedule = {0};
    struct inq_schedule_graph graph = {0};
    struct inq_plan *plan = NULL;
    struct inq_execution x = {0};
    struct inq_err err = {0};
    int code = inq_schedule_make(&spec, &schedule, &err);
    if (code == INQ_USAGE) {
        return INQ_OK; /* does not exist for these numbers */
    }
    if (code == INQ_OK) {
        code = inq_schedule_graph_make(&schedule, &spec.costs, &graph, &err);
    }
    if (code == INQ_OK) {
        code = inq_plan_make(graph.graph, NULL, &plan, &err);
    }
    if (code == INQ_OK) {
        code = inq_engine_find("host")->run(plan, options, &x, &err);
    }
    if (code == INQ_OK) {
        code = inq_execution_check(plan, &x, 0, &err);
    }
    if (code == INQ_OK) {
        double error =
            100.0 * (double)(x.median_ns - plan->simulated_ns) / (double)plan->simulated_ns;
        printf("%-14s %5d %5d %6zu %6zu %14.3f %13.3f %+8.2f\n", kind, n_ranks, n_microbatches,
               x.n_ops, plan->n_lanes, (double)plan->simulated_ns / 1e6, (double)x.median_ns / 1e6,
               error);
        totals->n++;
        totals->within += fabs(error) <= 2.0;
        totals->worst = fabs(error) > totals->worst ? fabs(error) : totals->worst;
    } else {
        printf("%-14s %5d %5d failed: %s\n", kind, n_ranks, n_microbatches, err.message);
    }
    inq_execution_release(&x);
    inq_plan_free(plan);
    inq_schedule_graph_release(&graph);
    inq_schedule_release(&schedule);
    return code;
}

int main(int argc, char **argv)
{
    const int32_t most_ranks = argc > 1 ? (int32_t)strtol(argv[1], NULL, 10) : 8;
    const int repeats = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 5;
    const struct inq_replay_options options = {.repeats = repeats, .realtime = argc > 3};
    size_t n = 0;
    const struct inq_schedule_kind *kinds = inq_schedule_kinds(&n);
    struct totals totals = {0};
    int failed = 0;
    printf("F 1.0 ms, B 1.1 ms, W 0.9 ms, between ranks 0.2 ms; median of %d executions\n\n",
           repeats);
    printf("%-14s %5s %5s %6s %6s %14s %13s %8s\n", "schedule", "ranks", "m", "ops", "lanes",
           "simulated ms", "executed ms", "error %");
    for (size_t k = 0; k < n; k++) {
        for (int32_t ranks = 2; ranks <= most_ranks; ranks *= 2) {
            failed += run_one(kinds[k].name, ranks, 2 * ranks, &options, &totals) != INQ_OK;
        }
    }
    printf("\n%zu of %zu within 2 %%, worst %.2f %%\n", totals.within, totals.n, totals.worst);
    return failed > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
