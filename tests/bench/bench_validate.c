/* SPDX-License-Identifier: Apache-2.0 */
/* Validation on the host, end to end: what the verdicts on fixes are, and whether an assumption
 * that this machine does not share is refuted.   bench_validate PATH... For each run: its first
 * fixes as 'inquest fix --validate host' judges them, at real-time priority where the system allows
 * it; then bucket-size:factor=0.5 with collectives that start ten times as slowly as it assumes.
 * Exit 1: the order of a fix was not confirmed, or the planted assumption was confirmed. On a busy
 * machine costs are not judged: then the table says so. */
#include "inquest/fix.h"
#include "inquest/ingest.h"

#include <stdio.h>
#include <string.h>

#define PLANTED_NS (10 * 20000) /* ten times the 20 us that bucket-size assumes */

struct studied {
    struct inq_run *run;
    struct inq_report *report;
    struct inq_fix_base *base;
};

static int read_run(const char *path, struct studied *s, struct inq_err *err)
{
    const struct inq_ingest_options ingest = {.jobs = 2};
    const struct inq_analysis_options analysis = {.jobs = 2};
    int code = inq_ingest(&path, 1, &ingest, &s->run, err);
    if (code == INQ_OK) {
        code = inq_analyze(s->run->traces[0], &analysis, &s->report, err);
    }
    return code == INQ_OK ? inq_fix_base_of_run(s->run->traces[0], s->report, &s->base, err) : code;
}

/* Verdicts by fix; *n_bad counts those that are not as they must be. */
static int score_run(const struct studied *s, const char *path, const char *spec,
                     int64_t latency_ns, int *n_bad, struct inq_err *err)
{
    const struct inq_fix_options options = {
        .specs = spec != NULL ? &spec : NULL, .n_specs = spec != NULL, .jobs = 2};
    const struct inq_fix_validate_options how = {
        .engine = inq_engine_find("host"), .replay = {.realtime = true, .latency_ns = latency_ns}};
    struct inq_fixes *fixes = NULL;
    int code = inq_fix_study(s->base, s->report, &options, &fixes, err);
    if (code == INQ_OK) {
        code = inq_fix_validate(s->base, &how, fixes, err);
    }
    const char *name = strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path;
    for (size_t i = 0; code == INQ_OK && i < fixes->n; i++) {
        const struct inq_fix *fix = &fixes->fixes[i];
        const struct inq_validation *v = &fix->executed;
        if (v->order.judgement == INQ_NOT_EXECUTED) {
            continue;
        }
        bool planted = latency_ns > 0;
        *n_bad += v->order.judgement != INQ_CONFIRMED;
        *n_bad += planted && v->cost.judgement == INQ_CONFIRMED;
        printf("%-24s %-40s %-8s %+7.2f %+7.2f %+7.2f  %-15s %s\n", name, fix->spec,
               planted ? "planted" : "", 100.0 * (v->predicted_speedup - 1.0),
               100.0 * (v->measured_speedup - 1.0), 100.0 * (v->speedup - 1.0),
               inq_validation_text(v), v->cost.why);
    }
    inq_fixes_free(fixes);
    return code;
}

int main(int argc, char **argv)
{
    int n_bad = 0;
    printf("%-24s %-40s %-8s %7s %7s %7s  %s\n", "run", "fix", "", "pred %", "meas %", "exec %",
           "verdict");
    for (int i = 1; i < argc; i++) {
        struct studied s = {0};
        struct inq_err err = {0};
        int code = read_run(argv[i], &s, &err);
        if (code == INQ_OK) {
            code = score_run(&s, argv[i], NULL, 0, &n_bad, &err);
        }
        if (code == INQ_OK) {
            code = score_run(&s, argv[i], "bucket-size:factor=0.5", PLANTED_NS, &n_bad, &err);
        }
        if (code != INQ_OK) {
            printf("%s: %s\n", argv[i], err.message);
            n_bad++;
        }
        inq_fix_base_free(s.base);
        inq_report_free(s.report);
        inq_run_free(s.run);
    }
    printf("%d not as they must be\n", n_bad);
    return n_bad > 0;
}
