/* SPDX-License-Identifier: Apache-2.0 */
/* Validation: both plans are executed alternately, so that what drifts on the machine hits both,
 * and the predicted gain is judged by what was measured. */
#include "engine.h"

#include "base/mem.h"
#include "base/sort.h"
#include "base/stats.h"

#include <math.h>
#include <stdio.h>

/* ---- intervals ------------------------------------------------------------------------------- */

/* The median lies between the k-th smallest and the k-th largest of n values with probability
 * 1 - 2 P(Bin(n, 1/2) < k), whatever the distribution (David and Nagaraja, Order Statistics, 3rd
 * ed., 7.1). The largest k for which that is at least 95 %, from 1; 0: there is none. */
static size_t rank_of_interval(size_t n)
{
    double term = pow(0.5, (double)n); /* P(Bin = 0); 0 for n > 1074, where k is found by normal */
    double below = 0.0;
    if (n > 1000) {
        double k = floor(((double)n - 1.959964 * sqrt((double)n)) / 2.0);
        return (size_t)k;
    }
    size_t k = 0;
    while (k < n && 2.0 * (below + term) <= 0.05) {
        below += term;
        k++;
        term *= (double)(n - k + 1) / (double)k;
    }
    return k;
}

struct inq_sample inq_sample_make(int64_t *values_ns, size_t n)
{
    struct inq_sample sample = {.n = n};
    if (n > 0) {
        size_t k = rank_of_interval(n);
        k = k > 0 ? k : 1;
        sample.median_ns = inq_median_i64(values_ns, n);
        inq_sort_i64(values_ns, n);
        sample.ci95_ns[0] = values_ns[k - 1];
        sample.ci95_ns[1] = values_ns[n - k];
    }
    return sample;
}

static void speedups(const int64_t *base_ns, const int64_t *fixed_ns, size_t n, double *ratios,
                     struct inq_validation *v)
{
    for (size_t i = 0; i < n; i++) {
        ratios[i] = fixed_ns[i] > 0 ? (double)base_ns[i] / (double)fixed_ns[i] : 1.0;
    }
    size_t k = rank_of_interval(n);
    k = k > 0 ? k : 1;
    v->speedup = inq_median(ratios, n);
    inq_sort_double(ratios, n);
    v->speedup_ci95[0] = ratios[k - 1];
    v->speedup_ci95[1] = ratios[n - k];
}

/* ---- the rule -------------------------------------------------------------------------------- */

static const size_t least_pairs = 6;
static const double least_gain = 0.001;
static const double engine_error = 0.02;
static const double gain_tolerance = 0.2;

static double percent(double speedup)
{
    return 100.0 * (speedup - 1.0);
}

static void say(struct inq_validation *v, enum inq_judgement judgement, const char *what)
{
    v->judgement = judgement;
    (void)snprintf(v->why, sizeof v->why,
                   "%s: speed %+.2f %% predicted, %+.2f %% executed (95 %%: %+.2f to %+.2f)", what,
                   percent(v->predicted_speedup), percent(v->speedup), percent(v->speedup_ci95[0]),
                   percent(v->speedup_ci95[1]));
}

static void judge(struct inq_validation *v)
{
    double gain = v->predicted_speedup - 1.0;
    double low = v->speedup_ci95[0] - 1.0;
    double high = v->speedup_ci95[1] - 1.0;
    double own_error = fabs(v->fidelity - 1.0);
    if (v->base.n < least_pairs) {
        v->judgement = INQ_INCONCLUSIVE;
        (void)snprintf(v->why, sizeof v->why, "%zu pairs give no 95 %% interval, at least %zu do",
                       v->base.n, least_pairs);
    } else if (gain < least_gain) {
        say(v, INQ_INCONCLUSIVE, "no gain to confirm");
    } else if (own_error > gain && own_error > engine_error) {
        v->judgement = INQ_INCONCLUSIVE;
        (void)snprintf(v->why, sizeof v->why,
                       "the original executes %+.2f %% off its simulation, more than the gain of "
                       "%.2f %% that is to be judged",
                       percent(v->fidelity), 100.0 * gain);
    } else if (high < 0.0) {
        say(v, INQ_REFUTED, "slower");
    } else if (high < gain / 2.0) {
        say(v, INQ_REFUTED, "less than half of the gain");
    } else if (low <= 0.0) {
        say(v, INQ_INCONCLUSIVE, "the interval does not rule out that nothing is gained");
    } else if (high < gain * (1.0 - gain_tolerance)) {
        say(v, INQ_INCONCLUSIVE, "gains, but less than predicted");
    } else if (low > gain * (1.0 + gain_tolerance)) {
        say(v, INQ_INCONCLUSIVE, "gains more than predicted");
    } else {
        say(v, INQ_CONFIRMED, "the gain is there");
    }
}

const char *inq_judgement_text(enum inq_judgement judgement)
{
    static const char *const texts[] = {[INQ_NOT_EXECUTED] = "not_executed",
                                        [INQ_CONFIRMED] = "confirmed",
                                        [INQ_REFUTED] = "refuted",
                                        [INQ_INCONCLUSIVE] = "inconclusive"};
    size_t i = (size_t)judgement;
    return i < sizeof texts / sizeof *texts ? texts[i] : "";
}

/* ---- executions ------------------------------------------------------------------------------ */

struct runs {
    const struct inq_engine *engine;
    const struct inq_plan *plans[2]; /* base, fixed */
    const struct inq_replay_options *options;
    size_t warmup, repeats;
    uint8_t *order;       /* [2 * (warmup + repeats)] which plan */
    int64_t *makespan_ns; /* [same] */
    int64_t *of[2];       /* [repeats] of each plan, pair by pair */
    double *ratios;       /* [repeats] */
};

/* Pairs, each in an order drawn anew (splitmix64: Steele, Lea, Flood, OOPSLA 2014). */
static void draw_order(struct runs *runs)
{
    uint64_t state = runs->options != NULL ? runs->options->seed : 0;
    for (size_t i = 0; i < runs->warmup + runs->repeats; i++) {
        state += 0x9e3779b97f4a7c15u;
        uint64_t x = state;
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
        x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
        uint8_t first = (uint8_t)((x ^ (x >> 31)) & 1);
        runs->order[2 * i] = first;
        runs->order[2 * i + 1] = !first;
    }
}

static int execute_singly(struct runs *runs, struct inq_execution *device, struct inq_err *err)
{
    struct inq_replay_options once = {0};
    if (runs->options != NULL) {
        once = *runs->options;
    }
    once.warmup = -1;
    once.repeats = 1;
    int code = INQ_OK;
    for (size_t i = 0; code == INQ_OK && i < 2 * (runs->warmup + runs->repeats); i++) {
        inq_execution_release(device);
        code = runs->engine->run(runs->plans[runs->order[i]], &once, device, err);
        runs->makespan_ns[i] = device->median_ns;
    }
    return code;
}

static int execute(struct runs *runs, struct inq_validation *v, struct inq_err *err)
{
    struct inq_execution device = {0};
    size_t n = 2 * (runs->warmup + runs->repeats);
    int code = runs->engine->alternate != NULL
                   ? runs->engine->alternate(runs->plans, runs->order, n, runs->options,
                                             runs->makespan_ns, &device, err)
                   : execute_singly(runs, &device, err);
    (void)snprintf(v->device, sizeof v->device, "%s", device.device);
    (void)snprintf(v->note, sizeof v->note, "%s", device.note);
    inq_execution_release(&device);
    for (size_t i = 0; code == INQ_OK && i < runs->repeats; i++) {
        size_t at = 2 * (runs->warmup + i);
        runs->of[runs->order[at]][i] = runs->makespan_ns[at];
        runs->of[runs->order[at + 1]][i] = runs->makespan_ns[at + 1];
    }
    return code;
}

static bool allocate(struct runs *runs)
{
    size_t n = 2 * (runs->warmup + runs->repeats);
    runs->order = inq_mem_zalloc(n, sizeof *runs->order);
    runs->makespan_ns = inq_mem_zalloc(n, sizeof *runs->makespan_ns);
    runs->of[0] = inq_mem_zalloc(runs->repeats, sizeof *runs->of[0]);
    runs->of[1] = inq_mem_zalloc(runs->repeats, sizeof *runs->of[1]);
    runs->ratios = inq_mem_zalloc(runs->repeats, sizeof *runs->ratios);
    return runs->order != NULL && runs->makespan_ns != NULL && runs->of[0] != NULL &&
           runs->of[1] != NULL && runs->ratios != NULL;
}

static void conclude(struct runs *runs, struct inq_validation *v)
{
    v->base_simulated_ns = runs->plans[0]->simulated_ns;
    v->fixed_simulated_ns = runs->plans[1]->simulated_ns;
    v->predicted_speedup = v->fixed_simulated_ns > 0
                               ? (double)v->base_simulated_ns / (double)v->fixed_simulated_ns
                               : 1.0;
    speedups(runs->of[0], runs->of[1], runs->repeats, runs->ratios, v);
    v->base = inq_sample_make(runs->of[0], runs->repeats);
    v->fixed = inq_sample_make(runs->of[1], runs->repeats);
    v->fidelity =
        v->base_simulated_ns > 0 ? (double)v->base.median_ns / (double)v->base_simulated_ns : 1.0;
    judge(v);
}

int inq_validate(const struct inq_engine *engine, const struct inq_plan *base,
                 const struct inq_plan *fixed, const struct inq_replay_options *options,
                 struct inq_validation *out, struct inq_err *err)
{
    bool told = options != NULL && options->repeats > 0;
    struct runs runs = {.engine = engine,
                        .plans = {base, fixed},
                        .options = options,
                        .warmup = (size_t)inq_replay_warmup(options),
                        .repeats = told ? (size_t)options->repeats : 15};
    *out = (struct inq_validation){0};
    int code = allocate(&runs) ? INQ_OK
                               : inq_err_set(err, INQ_NOMEM, "out of memory for %zu executions",
                                             2 * runs.repeats);
    if (code == INQ_OK) {
        draw_order(&runs);
        code = execute(&runs, out, err);
    }
    if (code == INQ_OK) {
        conclude(&runs, out);
    }
    inq_mem_free(runs.order);
    inq_mem_free(runs.makespan_ns);
    inq_mem_free(runs.of[0]);
    inq_mem_free(runs.of[1]);
    inq_mem_free(runs.ratios);
    return code;
}
