/* SPDX-License-Identifier: Apache-2.0 */
/* Making, timing and linting a large pipeline schedule.
 * Usage: bench_schedule [RANKS [MICROBATCHES [KIND]]] (default 1024 4096 1f1b). */
#include "base/time.h"
#include "inquest/lint.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

static double since(int64_t *from_ns)
{
    int64_t now_ns = inq_time_now_ns();
    double seconds = (double)(now_ns - *from_ns) / 1e9;
    *from_ns = now_ns;
    return seconds;
}

static double cpu_seconds(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

int main(int argc, char **argv)
{
    struct inq_schedule_spec spec = {
        .kind = argc > 3 ? argv[3] : "1f1b",
        .n_ranks = argc > 1 ? (int32_t)strtol(argv[1], NULL, 10) : 1024,
        .n_microbatches = argc > 2 ? (int32_t)strtol(argv[2], NULL, 10) : 4096,
        .costs = {.stage = {1000000, 1000000, 1000000}, .p2p_ns = 10000}};
    struct inq_schedule schedule = {0};
    struct inq_schedule_timing timing = {0};
    struct inq_lint lint = {0};
    struct inq_err err = {0};
    int64_t at_ns = inq_time_now_ns();
    int code = inq_schedule_make(&spec, &schedule, &err);
    double make_s = since(&at_ns);
    double made_cpu_s = cpu_seconds();
    if (code == INQ_OK) {
        code = inq_schedule_time(&schedule, &spec.costs, &timing, &err);
    }
    double time_s = since(&at_ns);
    inq_schedule_timing_release(&timing, schedule.n_ranks);
    if (code == INQ_OK) {
        struct inq_lint_options options = {.costs = spec.costs};
        code = inq_lint_schedule(&schedule, NULL, &options, &lint, &err);
    }
    double lint_s = since(&at_ns);
    if (code != INQ_OK) {
        (void)fprintf(stderr, "bench_schedule: %s\n", err.message);
        return 1;
    }
    size_t actions = 0;
    for (int32_t r = 0; r < schedule.n_ranks; r++) {
        actions += schedule.ranks[r].n;
    }
    double cpu_s = cpu_seconds() - made_cpu_s;
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    (void)printf("%s, %d ranks x %d micro-batches, %zu actions: make %.2f s, simulate %.2f s, lint "
                 "%.2f s (%zu errors); simulate and lint %.2f s, CPU %.2f s; peak memory %ld MiB\n",
                 spec.kind, (int)spec.n_ranks, (int)spec.n_microbatches, actions, make_s, time_s,
                 lint_s, lint.n_errors, time_s + lint_s, cpu_s, usage.ru_maxrss / 1024);
    inq_lint_release(&lint);
    inq_schedule_release(&schedule);
    return 0;
}
