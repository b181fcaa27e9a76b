/* SPDX-License-Identifier: Apache-2.0 */
/* Validation on the host, end to end: what the verdicts on fixes are, and whether an assumption
 * that this machine does not share is refuted.   bench_validate PATH...
 * For each run: its first fixes as 'inquest fix --validate host' judges them, at real-time priority
 * where the system allows it. Then two planted ones:
 *   latency   bucket-size:factor=0.5 with collectives that start ten times as slowly as it assumes
 *   fixed     of pipelines: twice the micro-batches, with nine tenths of an op's time assumed not
 * to depend on its size; on the host hardly any of it is so A fix that gains nothing on a run
 * whatever it assumes says nothing there, and the row says so. Exit 1: the order of a fix was not
 * confirmed, a planted assumption was confirmed, or costs were judged and none of a run's planted
 * assumptions was refuted. On a busy machine costs are not judged: then the table says so. */
#include "inquest/fix.h"
#include "inquest/ingest.h"

#include <stdbool.h>
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

/* What is done to see it refuted. */
struct plant {
    const char *name; /* NULL: nothing */
    const char *spec;
    int64_t latency_ns;
};

/* How often a planted assumption was judged at all, refuted, and not as it must be. */
struct counts {
    int judged, refuted, bad;
};

/* Why the verdict is what it is. */
static const char *reason(const struct inq_validation *v, bool planted)
{
    bool none = v->predicted_speedup > 0.999 && v->predicted_speedup < 1.001;
    return v->order.judgment != INQ_CONFIRMED ? v->order.why
           : planted && none ? "does not apply: the fix gains nothing here, whatever it assumes"
                             : v->cost.why;
}

static void count(const struct inq_validation *v, bool planted, struct counts *counts)
{
    bool alike = v->base_error <= INQ_BASE_ERROR_LIMIT && v->base_error >= -INQ_BASE_ERROR_LIMIT;
    bool none = v->predicted_speedup > 0.999 && v->predicted_speedup < 1.001;
    counts->bad += v->order.judgment != INQ_CONFIRMED;
    counts->bad += planted && v->cost.judgment == INQ_CONFIRMED;
    counts->judged += planted && alike && !none;
    counts->refuted += planted && v->cost.judgment == INQ_REFUTED;
}

/* Verdicts by fix. */
static int score_run(const struct studied *s, const char *path, const struct plant *plant,
                     struct counts *counts, struct inq_err *err)
{
    const struct inq_fix_options options = {.specs = plant->name != NULL ? &plant->spec : NULL,
                                            .n_specs = plant->name != NULL,
                                            .jobs = 2};
    const struct inq_fix_validate_options how = {
        .engine = inq_engine_find("host"),
        .replay = {.realtime = true, .latency_ns = plant->latency_ns}};
    struct inq_fixes *fixes = NULL;
    int code = inq_fix_study(s->base, s->report, &options, &fixes, err);
    if (code == INQ_OK) {
        code = inq_fix_validate(s->base, &how, fixes, err);
    }
    const char *name = strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path;
    for (size_t i = 0; code == INQ_OK && i < fixes->n; i++) {
        const struct inq_fix *fix = &fixes->fixes[i];
        const struct inq_validation *v = &fix->executed;
        bool planted = plant->name != NULL;
        if (v->order.judgment == INQ_NOT_EXECUTED) {
            continue;
        }
        count(v, planted, counts);
        printf("%-24s %-40s %-8s %+7.2f %+7.2f %+7.2f  %-15s %s\n", name, fix->spec,
               planted ? plant->name : "", 100.0 * (v->predicted_speedup - 1.0),
               100.0 * (v->measured_speedup - 1.0), 100.0 * (v->speedup - 1.0),
               inq_validation_text(v), reason(v, planted));
        (void)fflush(stdout);
    }
    inq_fixes_free(fixes);
    return code;
}

static int score_plants(const struct studied *s, const char *path, struct counts *counts,
                        struct inq_err *err)
{
    const struct inq_fix_base_info *info = inq_fix_base_info(s->base);
    char more[64];
    (void)snprintf(more, sizeof more, "microbatches:%zu:fixed=0.9", 2 * info->n_microbatches);
    const struct plant plants[] = {
        {NULL, NULL, 0}, {"latency", "bucket-size:factor=0.5", PLANTED_NS}, {"fixed", more, 0}};
    size_t n = info->n_stages > 0 && info->n_microbatches > 0 ? 3 : 2;
    int code = INQ_OK;
    for (size_t i = 0; code == INQ_OK && i < n; i++) {
        code = score_run(s, path, &plants[i], counts, err);
    }
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
        struct counts counts = {0};
        if (code == INQ_OK) {
            code = score_plants(&s, argv[i], &counts, &err);
        }
        if (code == INQ_OK && counts.judged > 0 && counts.refuted == 0) {
            printf("%s: no planted assumption was refuted\n", argv[i]);
            counts.bad++;
        }
        n_bad += counts.bad;
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
