/* SPDX-License-Identifier: Apache-2.0 */
/* Detection quality: a grid of synthetic runs with one planted fault each, and healthy controls,
 * through ingest and analysis; precision and recall per detector, how often the headline is about
 * the fault, and how far the claimed cost is from that of the same run simulated without the fault.
 *
 * Shapes, sizes, speeds and noise of the runs vary with the seed. The thresholds of the detectors
 * rest on reasons given beside them; seeds below 1000 were looked at while they were written, the
 * printed result is from seeds of 1000 and above. */
#include "evened_step.h"

#include "inquest/analysis.h"
#include "inquest/synth.h"

#include "base/sort.h"
#include "base/time.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNTS_FROM 0.03 /* faults that cost this share of the step must be found */

#define EVERYBODY "clock_offset:host=0:offset=0" /* marks a run in which all are late */

#define LEAST       0.95
#define SMOKE_LEAST 0.75 /* one in five may be missed: chance decides no build */

enum { TEXT = 1000, BASE = 600, SPECS = 2048, MAX_ERRORS = 4096 };

/* Shapes of jobs. `links`: transfers that have others to be compared with. */
struct shape {
    const char *spec;
    int ranks;
    const char *links; /* "" none */
    bool pipeline, large;
};

static const struct shape shapes[] = {
    {"dp=4", 4, "", false, false},
    {"dp=8,micro_batches=2", 8, "", false, false},
    {"dp=16,gpus_per_host=4,clock=2ms", 16, "", false, false},
    {"dp=4,sharded=1", 4, "", false, false},
    {"dp=4,tp=2", 8, "tp", false, false},
    {"dp=4,tp=4,gpus_per_host=4,clock=1ms,layers=4", 16, "all", false, false},
    {"dp=2,tp=2,pp=2,labels=1", 8, "tp", true, false},
    {"dp=2,pp=4,labels=1,layers=8", 8, "pp", true, false},
    {"dp=4,pp=2,args=seq,layers=4", 8, "pp", true, false},
    {"dp=1,pp=4,layers=8,pp_gbps=8", 4, "pp", true, false},
    {"dp=2,pp=4,chunks=2,labels=1,layers=16", 8, "pp", true, false},
    {"dp=2,pp=4,p2p=bare,layers=8", 8, "", true, false},
    {"dp=64,layers=4,gpus_per_host=8,clock=1ms,lean=1", 64, "", false, true},
    {"dp=8,tp=8,layers=2,micro_batches=1,lean=1", 64, "all", false, true},
};
enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

/* Ways to record and kinds of noise, taken in turn. */
static const char *const variants[] = {
    "",
    "window=ragged",
    "args=old,ts=abs",
    "steps=8,sigma=0.05",
    "step_sigma=0.006,host_sigma=0.4",
    "calls=0,steps=4",
    "rank_sigma=0.004,names=handler",
};
enum { VARIANTS = sizeof(variants) / sizeof(variants[0]) };

enum detector {
    SLOW_GPU,
    MORE_WORK,
    LATE_HOST,
    SLOW_LINK,
    LAST_STAGE,
    SEQUENCES,
    MISSING,
    DAMAGED,
    OTHERS, /* kinds that accuse somebody, but that no fault of the grid asks for */
    DETECTORS
};

static const char *const detector_names[DETECTORS] = {
    "slow_gpu",           "more_work",    "late_host",     "slow_link", "slow_last_stage",
    "sequence_imbalance", "missing_rank", "damaged_input", "(others)"};

/* Claimed over true cost of faults found, minus one. */
struct errors {
    size_t n;
    double of[MAX_ERRORS];
};

struct score {
    int planted, found, right_rank; /* of faults that count */
    int first;                      /* of these, the headline says so */
    int small, small_found;         /* cheaper ones */
    int false_findings;
    struct errors cost[2]; /* without and with a pipeline */
};

struct totals {
    struct score of[DETECTORS];
    int runs, healthy, healthy_clean, healthy_any;
    bool verbose;
    const char *filter;
};

static enum detector detector_of(const char *kind)
{
    for (int d = 0; d < OTHERS; d++) {
        if (strcmp(kind, detector_names[d]) == 0) {
            return (enum detector)d;
        }
    }
    return OTHERS;
}

/* What belongs to a job's shape accuses nobody. */
static bool blames(const struct inq_finding *finding)
{
    switch ((int)finding->kind) {
    case INQ_FINDING_EXPOSED_COMM:
    case INQ_FINDING_HOST_BOUND:
    case INQ_FINDING_PIPELINE_BUBBLE:
    case INQ_FINDING_STEP_OUTLIER:
        return false;
    case INQ_FINDING_EXPOSED_COPY:
        return finding->n_ranks > 0;
    default:
        return finding->severity >= INQ_SEVERITY_LOW;
    }
}

static bool names(const struct inq_finding *finding, int32_t rank)
{
    for (size_t i = 0; i < finding->n_ranks; i++) {
        if (finding->ranks[i] == rank) {
            return true;
        }
    }
    return false;
}

/* All ranks of the truth are named, and no other, but that a link may be told no better than by the
 * ranks that share it. */
static bool right_ranks(const struct inq_finding *finding,
                        const struct inq_synth_truth_fault *fault)
{
    if (fault->fault.kind == INQ_SYNTH_LONG_LAST_STAGE && finding->n_stages > 0) {
        return finding->stages[0] == fault->stage;
    }
    for (size_t i = 0; i < fault->n_ranks; i++) {
        if (!names(finding, fault->ranks[i])) {
            return false;
        }
    }
    return finding->kind == INQ_FINDING_SLOW_LINK || fault->n_ranks == 0 ||
           finding->n_ranks == fault->n_ranks;
}

/* More work on the only rank of a stage is that stage's. */
static bool right_kind(const struct inq_finding *finding, const struct inq_synth_truth_fault *fault)
{
    bool stage = finding->kind == INQ_FINDING_STAGE_IMBALANCE ||
                 finding->kind == INQ_FINDING_SLOW_LAST_STAGE;

    return strcmp(inq_finding_kind_text(finding->kind), fault->finding) == 0 ||
           (stage && fault->fault.kind == INQ_SYNTH_MORE_WORK);
}

/* What a report says of the fault that was planted (NULL: none). */
struct outcome {
    const struct inq_synth_truth_fault *fault;
    const struct inq_finding *found; /* the finding that is about it */
    bool right_rank;                 /* some finding names its ranks */
    int wrong, any;                  /* findings that accuse others; all findings of weight */
};

static void look(const struct inq_report *report, struct outcome *out, struct totals *t)
{
    for (size_t i = 0; i < report->n_findings; i++) {
        const struct inq_finding *f = &report->findings[i];
        const char *kind = inq_finding_kind_text(f->kind);
        out->any += f->severity >= INQ_SEVERITY_LOW;
        if (!blames(f)) {
            continue;
        }
        bool right = out->fault && right_ranks(f, out->fault);
        out->right_rank = out->right_rank || (right && out->fault->n_ranks > 0);
        if (right && right_kind(f, out->fault)) {
            out->found = f;
            continue;
        }
        t->of[detector_of(kind)].false_findings++;
        out->wrong++;
    }
}

static bool counts(const struct inq_synth_truth_fault *fault)
{
    return fault->fault.kind == INQ_SYNTH_MISSING_RANK || fault->fault.kind == INQ_SYNTH_CUT_FILE ||
           fault->share >= COUNTS_FROM;
}

static void add_error(struct errors *errors, const struct outcome *out)
{
    double claimed = (double)out->found->cost_ns_per_step;
    double truth = (double)out->fault->cost_ns_per_step;

    if (claimed >= 0.0 && truth > 0.0 && errors->n < MAX_ERRORS) {
        errors->of[errors->n++] = claimed / truth - 1.0;
    }
}

static void add_score(const struct inq_report *report, const struct outcome *out, bool pipeline,
                      struct totals *t)
{
    t->runs++;
    if (!out->fault) {
        t->healthy++;
        t->healthy_clean += out->wrong == 0;
        t->healthy_any += out->any > 0;
        return;
    }
    struct score *score = &t->of[detector_of(out->fault->finding)];
    if (!counts(out->fault)) {
        score->small++;
        score->small_found += out->found != NULL;
        return;
    }
    score->planted++;
    score->found += out->found != NULL;
    score->first += out->found != NULL && out->found == &report->findings[0];
    score->right_rank += out->found != NULL || out->right_rank;
    if (out->found) {
        add_error(&score->cost[pipeline], out);
    }
}

static void print_case(const struct inq_report *report, const struct outcome *out, bool bad,
                       const char *spec)
{
    const struct inq_synth_truth_fault *fault = out->fault;

    if (out->found && fault->cost_ns_per_step > 0) {
        printf("cost %+.1f %% ",
               100.0 *
                   ((double)out->found->cost_ns_per_step / (double)fault->cost_ns_per_step - 1.0));
    }
    printf("%s %s: %s share %.3f -> %s\n", bad ? "BAD " : "ok  ", spec,
           fault ? fault->kind : "healthy", fault ? fault->share : 0.0, report->verdict.headline);
    for (size_t i = 0; i < report->n_findings; i++) {
        printf("       %s %s %.4f\n", report->findings[i].id,
               inq_severity_text(report->findings[i].severity), report->findings[i].share);
    }
}

/* A longer stage costs what dividing its work evenly would gain, as the work stays. */
static struct inq_synth_truth_fault as_moved(const struct inq_synth_truth_fault *fault,
                                             const struct inq_synth_truth *truth,
                                             const struct inq_synth_spec *planted)
{
    struct inq_synth_truth_fault moved = *fault;
    double even_ns = evened_step(planted);

    moved.cost_ns_per_step = even_ns > 0.0 ? truth->mean_step_ns - (int64_t)even_ns : 0;
    moved.share = (double)moved.cost_ns_per_step / (double)truth->mean_step_ns;
    return moved;
}

static void score_run(const struct inq_report *report, const struct inq_synth *synth,
                      const struct inq_synth_spec *planted, const char *spec, struct totals *t)
{
    const struct inq_synth_truth *truth = inq_synth_truth(synth);
    struct inq_synth_truth_fault moved;
    struct outcome out = {0};

    for (size_t i = 0; i < truth->n_faults; i++) {
        out.fault = *truth->faults[i].finding ? &truth->faults[i] : out.fault;
    }
    if (out.fault != NULL && out.fault->fault.kind == INQ_SYNTH_LONG_LAST_STAGE) {
        moved = as_moved(out.fault, truth, planted);
        out.fault = &moved;
    }
    if (strstr(spec, EVERYBODY)) {
        out.fault = NULL; /* nobody in particular is the cause */
    }
    look(report, &out, t);
    add_score(report, &out, truth->ranks[truth->world_size - 1].stage > 0, t);
    bool bad = out.wrong > 0 || (out.fault && !out.found && counts(out.fault));
    if (t->verbose || (bad && t->filter)) {
        print_case(report, &out, bad, spec);
    }
}

static int fail(const char *spec, const struct inq_err *err)
{
    printf("%s: %s\n", spec, err->message);
    return 1;
}

static int run(const char *spec_text, struct totals *t)
{
    struct inq_synth_spec *spec = malloc(sizeof(*spec));
    struct inq_synth *synth = NULL;
    struct inq_run *run = NULL;
    struct inq_report *report = NULL;
    struct inq_err err = {0};

    if (!spec) {
        return 1;
    }
    int code = inq_synth_spec_parse(spec_text, spec, &err);
    if (code == INQ_OK) {
        code = inq_synth_new(spec, &synth, &err);
    }
    if (code == INQ_OK) {
        code = inq_synth_ingest(synth, true, 0, &run, &err);
    }
    if (code == INQ_OK && run->n_traces > 0) {
        code = inq_analyze(run->traces[0], NULL, &report, &err);
    }
    if (code == INQ_OK && report) {
        score_run(report, synth, spec, spec_text, t);
    }
    int failed = code != INQ_OK || !report ? fail(spec_text, &err) : 0;
    inq_report_free(report);
    inq_run_free(run);
    inq_synth_free(synth);
    free(spec);
    return failed;
}

/* Mean step of the run that a spec describes, and the cost of its first fault as a share. */
static int64_t simulate(const char *spec_text, double *share)
{
    struct inq_synth_spec *spec = malloc(sizeof(*spec));
    struct inq_synth *synth = NULL;
    struct inq_err err = {0};
    int64_t ns = 10000000;

    *share = 0.0;
    if (spec && inq_synth_spec_parse(spec_text, spec, &err) == INQ_OK &&
        inq_synth_new(spec, &synth, &err) == INQ_OK) {
        const struct inq_synth_truth *truth = inq_synth_truth(synth);
        ns = truth->mean_step_ns;
        *share = truth->n_faults > 0 ? truth->faults[0].share : 0.0;
    }
    inq_synth_free(synth);
    free(spec);
    return ns;
}

/* Hosts run ahead of their GPUs, so that part of a pause costs nothing: finds the pause that costs
 * about `part` of a step. */
static void pause_text(char text[TEXT], const char *base, int rank, const char *mode, double part)
{
    char spec[SPECS];
    double share;
    double delay_us = part * (double)simulate(base, &share) / 1000.0;

    for (int i = 0; i < 6; i++) {
        (void)snprintf(text, TEXT, "late_host:rank=%d:mode=%s:delay=%.0fus", rank, mode, delay_us);
        (void)snprintf(spec, SPECS, "%s,fault=%s", base, text);
        (void)simulate(spec, &share);
        if (share >= 0.9 * part) {
            return;
        }
        delay_us *= share < 0.3 * part ? 2.0 : part / share;
    }
}

/* Data loading or another process in each step, garbage collection, one slow step, a checkpoint
 * every other step. */
static const char *const pauses[] = {"step", "gc", "step:from=2:to=2", "step:every=2",
                                     "gc:every=2"};
enum { PAUSES = sizeof(pauses) / sizeof(pauses[0]) };

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* One fault of this kind and strength (0 .. 4) for the shape, as text; false: it does not apply. */
static bool fault_text(char text[TEXT], const struct shape *shape, enum detector kind, int strength,
                       const char *base, uint32_t *random)
{
    static const double slow[] = {1.02, 1.05, 1.1, 1.2, 1.3};
    static const double part[] = {0.015, 0.04, 0.07, 0.12, 0.2};
    static const double link[] = {1.5, 2, 3, 5, 10};
    int rank = (int)(next_random(random) % (uint32_t)shape->ranks);
    bool other = next_random(random) % 2;

    switch ((int)kind) {
    case SLOW_GPU:
        (void)snprintf(text, TEXT, "slow_gpu:rank=%d:factor=%.3f", rank, slow[strength]);
        return true;
    case MORE_WORK:
        (void)snprintf(text, TEXT, "more_work:rank=%d:factor=%.3f:mode=%s", rank,
                       1.0 + 1.5 * part[strength], other ? "count" : "size");
        return true;
    case LATE_HOST:
        pause_text(text, base, rank, pauses[next_random(random) % PAUSES], part[strength]);
        return true;
    case SLOW_LINK:
        (void)snprintf(text, TEXT, "slow_link:rank=%d:factor=%.1f:links=%s", rank, link[strength],
                       shape->links);
        /* without arguments it is not known which ranks a transfer was among */
        return *shape->links != '\0' && !strstr(base, "args=old");
    case LAST_STAGE:
        (void)snprintf(text, TEXT, "long_last_stage:factor=%.3f", 1.0 + 2.0 * part[strength]);
        return shape->pipeline && !strstr(base, "args=old"); /* nor who is the last stage */
    case SEQUENCES:
        (void)snprintf(text, TEXT, "uneven_seq:sigma=%.2f", 0.1 + 0.1 * strength);
        return true;
    case MISSING:
        (void)snprintf(text, TEXT, "missing_rank:rank=%d", rank);
        return strength == 2;
    case DAMAGED:
        (void)snprintf(text, TEXT, "cut_file:rank=%d:at=%.2f", rank, 0.3 + 0.15 * strength);
        return strength % 2 == 0;
    default:
        return false;
    }
}

/* All ranks wait for their data in one step: nobody holds anybody up. */
static bool everybody_late(char text[TEXT], const struct shape *shape)
{
    size_t n = (size_t)snprintf(text, TEXT, "%s", EVERYBODY);

    for (int rank = 0; rank < shape->ranks && n + 64 < TEXT; rank++) {
        n += (size_t)snprintf(text + n, TEXT - n,
                              ",fault=late_host:rank=%d:mode=step:delay=20ms:from=2:to=2", rank);
    }
    return shape->ranks <= 8;
}

/* Sizes, speeds and noise that no threshold was made for. */
static void settings_text(char text[TEXT], const struct shape *shape, uint32_t *random)
{
    static const int layer_us[] = {250, 500, 800, 1600, 4000};
    static const double pp_gbps[] = {8, 25, 50, 200};
    static const double dp_gbps[] = {60, 150, 400};
    static const int link_us[] = {5, 15, 40};
    static const double sigma[] = {0.005, 0.02, 0.04};
    int pp = shape->pipeline ? strstr(shape->spec, "pp=4") ? 4 : 2 : 1;
    int micro_batches =
        pp > 1 ? pp * (1 + (int)(next_random(random) % 4)) : 1 + (int)(next_random(random) % 3);

    (void)snprintf(text, TEXT,
                   ",micro_batches=%d,layer=%d,pp_gbps=%.0f,dp_gbps=%.0f,link=%d,sigma=%.3f",
                   shape->large ? 1 : micro_batches, layer_us[next_random(random) % 5],
                   pp_gbps[next_random(random) % 4], dp_gbps[next_random(random) % 3],
                   link_us[next_random(random) % 3], sigma[next_random(random) % 3]);
}

static const char *const controls[] = {
    "",
    "jitter:sigma=0.05",
    "clock_offset:host=0:offset=7ms",
    "clock_drift:host=0:ppm=60",
};
enum { CONTROLS = sizeof(controls) / sizeof(controls[0]) };

static bool wanted(const struct totals *t, const char *spec)
{
    return !t->filter || strstr(spec, t->filter);
}

/* Runs the base with the fault when it is wanted; 1 when that fails. */
static int try_fault(const char *base, const char *fault, struct totals *t)
{
    char spec[SPECS];

    (void)snprintf(spec, SPECS, "%s%s%s", base, *fault ? ",fault=" : "", fault);
    return wanted(t, spec) ? run(spec, t) : 0;
}

static int run_shape(const struct shape *shape, size_t variant, unsigned seed, bool smoke,
                     struct totals *t)
{
    char base[BASE];
    char fault[TEXT];
    char settings[TEXT];
    uint32_t random = (seed * 64u + (unsigned)(shape - shapes)) * 2654435761u + 12345u;
    int failed = 0;

    settings_text(settings, shape, &random);
    (void)snprintf(base, sizeof(base), "%s%.200s%s%s,seed=%u,gz=0,cpu_ops=0", shape->spec, settings,
                   *variants[variant] ? "," : "", variants[variant], seed);
    for (int d = 0; d < OTHERS; d++) {
        for (int strength = smoke ? 2 : 0; strength < (smoke ? 3 : 5); strength++) {
            if (shape->large && strength % 2 == 1) {
                continue;
            }
            if (fault_text(fault, shape, (enum detector)d, strength, base, &random)) {
                failed += try_fault(base, fault, t);
            }
        }
    }
    for (int c = 0; c < CONTROLS; c++) {
        failed += try_fault(base, controls[c], t);
    }
    if (everybody_late(fault, shape)) {
        failed += try_fault(base, fault, t);
    }
    return failed;
}

static double ratio(int part, int whole)
{
    return whole > 0 ? (double)part / (double)whole : 1.0;
}

/* "median 95th percentile" of the errors' size, and the median error, in percent. */
static void print_errors(struct errors *errors)
{
    double median = (double)NAN;

    if (errors->n == 0) {
        printf(" %6s %6s %6s", "-", "-", "-");
        return;
    }
    inq_sort_double(errors->of, errors->n);
    median = errors->of[errors->n / 2];
    for (size_t i = 0; i < errors->n; i++) {
        errors->of[i] = fabs(errors->of[i]);
    }
    inq_sort_double(errors->of, errors->n);
    printf(" %+6.1f %6.1f %6.1f", 100.0 * median, 100.0 * errors->of[errors->n / 2],
           100.0 * errors->of[(errors->n * 95 - 1) / 100]);
}

static void print_costs(struct totals *t)
{
    printf("\nclaimed cost against the true one, in percent: median error, median and 95th "
           "percentile of its size\n%-20s %28s %28s\n",
           "detector", "(runs) without a pipeline", "(runs) with one");
    for (int d = 0; d < MISSING; d++) {
        printf("%-20s", detector_names[d]);
        for (int pipeline = 0; pipeline < 2; pipeline++) {
            printf(" (%4zu)", t->of[d].cost[pipeline].n);
            print_errors(&t->of[d].cost[pipeline]);
        }
        printf("\n");
    }
}

/* `least`: what recall and precision must reach. */
static int print_result(struct totals *t, double seconds, double least)
{
    int below = 0;

    printf("%-20s %8s %6s %7s %6s %10s %6s %10s %14s\n", "detector", "planted", "found", "recall",
           "first", "right rank", "false", "precision", "cheaper, found");
    for (int d = 0; d < DETECTORS; d++) {
        const struct score *s = &t->of[d];
        int found = s->found + s->small_found;
        double recall = ratio(s->found, s->planted);
        double precision = ratio(found, found + s->false_findings);
        printf("%-20s %8d %6d %7.3f %6d %10d %6d %10.3f %8d/%-5d\n", detector_names[d], s->planted,
               s->found, recall, s->first, s->right_rank, s->false_findings, precision,
               s->small_found, s->small);
        below += recall < least || precision < least;
    }
    printf("healthy controls: %d, of these %d without anyone blamed, %d with any finding\n",
           t->healthy, t->healthy_clean, t->healthy_any);
    print_costs(t);
    printf("%d runs in %.1f s; a fault counts from %.0f %% of the step\n", t->runs, seconds,
           100.0 * COUNTS_FROM);
    return below > 0 || t->healthy_clean < t->healthy;
}

int main(int argc, char **argv)
{
    static struct totals t; /* large */
    bool smoke = false;
    unsigned first = 1000;
    unsigned seeds = 4;
    int failed = 0;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--smoke") == 0) {
            smoke = true;
            seeds = 1;
        } else if (strcmp(argv[i], "-v") == 0) {
            t.verbose = true;
        } else if (i + 1 < argc && strcmp(argv[i], "--first-seed") == 0) {
            first = (unsigned)strtoul(argv[++i], NULL, 10);
        } else if (i + 1 < argc && strcmp(argv[i], "--seeds") == 0) {
            seeds = (unsigned)strtoul(argv[++i], NULL, 10);
        } else if (i + 1 < argc && strcmp(argv[i], "--filter") == 0) {
            t.filter = argv[++i];
        } else if (i + 1 < argc && strcmp(argv[i], "--run") == 0) {
            t.verbose = true;
            return run(argv[++i], &t);
        } else {
            printf("usage: bench_detect [--smoke] [-v] [--first-seed N] [--seeds N]\n"
                   "                    [--filter TEXT] [--run SPEC]\n");
            return 2;
        }
    }
    int64_t begin_ns = inq_time_now_ns();
    for (unsigned seed = first; seed < first + seeds; seed++) {
        for (size_t s = 0; s < SHAPES; s++) {
            bool skip = smoke ? shapes[s].large || s % 2 == 1 : shapes[s].large && seed % 2 == 1;
            if (!skip) {
                failed += run_shape(&shapes[s], (seed + s) % VARIANTS, seed, smoke, &t);
            }
        }
    }
    int below =
        print_result(&t, (double)(inq_time_now_ns() - begin_ns) / 1e9, smoke ? SMOKE_LEAST : LEAST);
    return failed > 0 ? 1 : below ? 3 : 0;
}
