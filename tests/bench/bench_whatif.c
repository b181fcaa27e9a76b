/* SPDX-License-Identifier: Apache-2.0 */
/* The what-if analysis of a production job, from the compressed op table to all decompositions.
 * Usage: bench_whatif [FILE [JOBS]] (default: the 64-GPU job of the shared test data, all cores).
 */
#include "base/stats.h"
#include "base/time.h"
#include "inquest/analysis.h"
#include "inquest/ingest.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 9 };

struct times {
    int64_t load[ROUNDS], analyze[ROUNDS], all[ROUNDS], cpu[ROUNDS];
};

static int run_once(const char *path, int jobs, struct times *times, int round)
{
    static const char *const only[] = {"whatif"};
    struct inq_ingest_options ingest = {.jobs = jobs};
    struct inq_analysis_options options = {.jobs = jobs, .only = only, .n_only = 1};
    struct inq_run *run = NULL;
    struct inq_report *report = NULL;
    struct inq_err err = {0};
    clock_t cpu = clock();
    int64_t begin = inq_time_now_ns();
    int code = inq_ingest(&path, 1, &ingest, &run, &err);
    int64_t loaded = inq_time_now_ns();
    if (code == INQ_OK && run->n_traces > 0) {
        code = inq_analyze(run->traces[0], &options, &report, &err);
    }
    int64_t end = inq_time_now_ns();
    times->cpu[round] = (int64_t)(clock() - cpu) * (1000000000 / CLOCKS_PER_SEC);
    bool good = code == INQ_OK && report != NULL && report->whatif != NULL;
    if (!good) {
        (void)fprintf(stderr, "bench_whatif: %s: %s\n", path, err.message);
    } else if (round == 0) {
        (void)printf("%s: %zu workers, %zu steps, S %.4f\n", path, report->whatif->n_by_worker,
                     report->whatif->n_by_step, report->whatif->slowdown);
    }
    times->load[round] = loaded - begin;
    times->analyze[round] = end - loaded;
    times->all[round] = end - begin;
    inq_report_free(report);
    inq_run_free(run);
    return good ? 0 : 1;
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : INQ_SHARED_DATA "/whatif/AR/trace-AR.csv.gz";
    int jobs = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 0;
    struct times times;
    for (int round = 0; round < ROUNDS; round++) {
        if (run_once(path, jobs, &times, round) != 0) {
            return 1;
        }
    }
    (void)printf("medians of %d: load %.1f ms, analysis %.1f ms, together %.1f ms; %.1f ms "
                 "of CPU\n",
                 ROUNDS, (double)inq_median_i64(times.load, ROUNDS) / 1e6,
                 (double)inq_median_i64(times.analyze, ROUNDS) / 1e6,
                 (double)inq_median_i64(times.all, ROUNDS) / 1e6,
                 (double)inq_median_i64(times.cpu, ROUNDS) / 1e6);
    return 0;
}
