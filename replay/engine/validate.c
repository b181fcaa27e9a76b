/* SPDX-License-Identifier: Apache-2.0 */
/* Validation: both plans are executed alternately, so that what drifts on the machine hits both,
 * and the predicted gain is judged by what was measured. */
#include "engine/engine.h"

#include "base/mem.h"
#include "base/sort.h"
#include "base/stats.h"
#include "base/time.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    inq_select_double(ratios, n, k - 1);
    v->speedup_ci95[0] = ratios[k - 1];
    inq_select_double(ratios, n, n - k);
    v->speedup_ci95[1] = ratios[n - k];
}

/* ---- the rules ------------------------------------------------------------------------------- */

static const size_t least_pairs = INQ_CI95_LEAST;
static const double least_gain = 0.001;
static const double gain_tolerance = 0.2;
static const double widest =
    0.5; /* an interval that reaches farther from the gain tells too little */

/* Kinds of ops named where the original is off. */
enum { NAMED_KINDS = 3 };

static double percent(double speedup)
{
    return 100.0 * (speedup - 1.0);
}

static void say(struct inq_validation *v, enum inq_judgment judgment, const char *what)
{
    v->cost.judgment = judgment;
    (void)snprintf(v->cost.why, sizeof v->cost.why,
                   "%s: speed %+.2f %% predicted, %+.2f %% executed (95 %%: %+.2f to %+.2f)", what,
                   percent(v->predicted_speedup), percent(v->speedup), percent(v->speedup_ci95[0]),
                   percent(v->speedup_ci95[1]));
}

static bool base_is_off(const struct inq_validation *v)
{
    return fabs(v->base_error) > INQ_BASE_ERROR_LIMIT;
}

/* Which ops make the original differ, per rank and execution. */
static void say_base_error(struct inq_validation *v)
{
    char text[32];
    size_t len = (size_t)snprintf(
        v->cost.why, sizeof v->cost.why,
        "the executed original is %+.1f %% off the expected step, more than %.0f %%; per rank",
        100.0 * v->base_error, 100.0 * INQ_BASE_ERROR_LIMIT);
    for (size_t i = 0; i < v->n_kinds && i < NAMED_KINDS && len < sizeof v->cost.why; i++) {
        int64_t more = v->kinds[i].executed_ns - v->kinds[i].planned_ns;
        int n = snprintf(v->cost.why + len, sizeof v->cost.why - len, "%s %s %s%s",
                         i > 0 ? "," : "", v->kinds[i].kind, more < 0 ? "-" : "+",
                         inq_time_format(more < 0 ? -more : more, text, sizeof text));
        len += n > 0 ? (size_t)n : 0;
    }
}

/* The cost, when it can be judged: `low` and `high` relative to the predicted gain or loss. */
static void verify_gain(struct inq_validation *v)
{
    double gain = v->predicted_speedup - 1.0;
    double a = (v->speedup_ci95[0] - 1.0) / gain;
    double b = (v->speedup_ci95[1] - 1.0) / gain;
    double low = a < b ? a : b;
    double high = a < b ? b : a;
    if (high < 0.0) {
        say(v, INQ_REFUTED, gain > 0.0 ? "slower" : "faster");
    } else if (high < 1.0 - gain_tolerance) {
        say(v, INQ_REFUTED, gain > 0.0 ? "gains less than predicted" : "loses less than predicted");
    } else if (low > 1.0 + gain_tolerance) {
        say(v, INQ_REFUTED, gain > 0.0 ? "gains more than predicted" : "loses more than predicted");
    } else if (low < 1.0 - widest || high > 1.0 + widest) {
        say(v, INQ_INCONCLUSIVE, "the interval is too wide for the predicted gain");
    } else {
        say(v, INQ_CONFIRMED, gain > 0.0 ? "the gain is there" : "the loss is there");
    }
}

static void verify_cost(struct inq_validation *v, const struct inq_validate_options *o)
{
    v->cost.judgment = INQ_INCONCLUSIVE;
    if (v->order.judgment != INQ_CONFIRMED && base_is_off(v)) {
        say_base_error(v);
    } else if (v->order.judgment != INQ_CONFIRMED) {
        (void)snprintf(v->cost.why, sizeof v->cost.why, "the order is not confirmed");
    } else if (v->base.n < least_pairs) {
        (void)snprintf(v->cost.why, sizeof v->cost.why,
                       "%zu pairs give no 95 %% interval, at least %zu do", v->base.n, least_pairs);
    } else if (o->unmeasured != NULL) {
        (void)snprintf(v->cost.why, sizeof v->cost.why, "not measured on this device: %s",
                       o->unmeasured);
    } else if (fabs(v->predicted_speedup - 1.0) < least_gain) {
        say(v, INQ_INCONCLUSIVE, "no gain to confirm");
    } else {
        verify_gain(v);
    }
    if (o->measured != NULL) {
        size_t len = strlen(v->cost.why);
        (void)snprintf(v->cost.why + len, sizeof v->cost.why - len, "; %s", o->measured);
    }
}

static void verify(struct inq_validation *v, const struct inq_engine *engine,
                   const struct inq_witness *witness, const struct inq_validate_options *o)
{
    v->order.judgment = INQ_INCONCLUSIVE;
    if (strstr(v->device, INQ_STANDIN_DEVICE) != NULL) {
        (void)snprintf(v->order.why, sizeof v->order.why,
                       "a " INQ_STANDIN_DEVICE " executed it: order and data are those of the "
                       "kernels, times say nothing about a GPU");
    } else if (!engine->executes) {
        (void)snprintf(v->order.why, sizeof v->order.why,
                       "simulated, not executed: the prediction agrees with itself");
    } else if (witness->n_broken > 0) {
        v->order.judgment = INQ_REFUTED;
        (void)snprintf(v->order.why, sizeof v->order.why,
                       "%zu of %zu executions did not keep the plan: %s", witness->n_broken,
                       witness->n, witness->broken);
    } else if (base_is_off(v)) {
        /* the plan was kept, but what ran is not the recorded step */
        (void)snprintf(v->order.why, sizeof v->order.why,
                       "the executed original is %+.1f %% off the expected step, more than %.0f %%",
                       100.0 * v->base_error, 100.0 * INQ_BASE_ERROR_LIMIT);
    } else {
        v->order.judgment = INQ_CONFIRMED;
        (void)snprintf(v->order.why, sizeof v->order.why,
                       "all %zu executions kept lanes, dependencies and groups", witness->n);
    }
    verify_cost(v, o);
}

const char *inq_validation_text(const struct inq_validation *validation)
{
    static const char *const texts[] = {[INQ_NOT_EXECUTED] = "not_executed",
                                        [INQ_CONFIRMED] = "confirmed",
                                        [INQ_REFUTED] = "refuted",
                                        [INQ_INCONCLUSIVE] = "inconclusive"};
    enum inq_judgment cost = validation->cost.judgment;
    enum inq_judgment order = validation->order.judgment;
    if (order == INQ_REFUTED) {
        return texts[order];
    }
    return cost == INQ_INCONCLUSIVE && order == INQ_CONFIRMED ? "order_confirmed" : texts[cost];
}

/* ---- executions ------------------------------------------------------------------------------ */

struct runs {
    const struct inq_engine *engine;
    const struct inq_plan *plans[2]; /* base, fixed */
    const struct inq_replay_options *options;
    struct inq_witness witness;
    size_t warmup, repeats;
    uint8_t *order;       /* [2 * (warmup + repeats)] which plan */
    int64_t *makespan_ns; /* [same] */
    int64_t *of[2];       /* [repeats] of each plan, pair by pair */
    double *ratios;       /* [repeats] */
    char no_room[160];    /* why the fixed plan does not fit the device's memory; "": it does */
};

/* Pairs, each in an order drawn anew (splitmix64: Steele, Lea, Flood, OOPSLA 2014). */
static void draw_order(struct runs *runs)
{
    uint64_t state = runs->options->seed;
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

/* `last` gets the plan that was executed last: of a failure, the one that failed. */
static int execute_singly(struct runs *runs, size_t *last, struct inq_execution *device,
                          struct inq_err *err)
{
    struct inq_replay_options once = *runs->options;
    once.warmup = -1;
    once.repeats = 1;
    int code = INQ_OK;
    for (size_t i = 0; code == INQ_OK && i < 2 * (runs->warmup + runs->repeats); i++) {
        inq_execution_release(device);
        *last = runs->order[i];
        code = runs->engine->run(runs->plans[runs->order[i]], &once, device, err);
        runs->makespan_ns[i] = device->median_ns;
        if (code == INQ_OK) {
            inq_witness_take(&runs->witness, runs->plans[runs->order[i]], runs->order[i] == 0,
                             device, 2 * device->resolution_ns);
        }
    }
    return code;
}

static int execute(struct runs *runs, struct inq_validation *v, struct inq_err *err)
{
    struct inq_execution device = {0};
    struct inq_err own = {0};
    size_t n = 2 * (runs->warmup + runs->repeats);
    size_t last = 0;
    bool both = runs->engine->alternate != NULL;
    int code = both ? runs->engine->alternate(runs->plans, runs->order, n, runs->options,
                                              runs->makespan_ns, &runs->witness, &device, &own)
                    : execute_singly(runs, &last, &device, &own);
    if (both && code == INQ_NOMEM) { /* no room for both at once: one after the other */
        runs->witness = (struct inq_witness){0};
        own = (struct inq_err){0};
        code = execute_singly(runs, &last, &device, &own);
    }
    if (code == INQ_NOMEM && last == 1 && runs->engine->executes) {
        (void)snprintf(runs->no_room, sizeof runs->no_room, "%.*s", (int)sizeof runs->no_room - 1,
                       own.message);
        inq_execution_release(&device);
        return INQ_OK;
    }
    if (code != INQ_OK) {
        (void)inq_err_set(err, (enum inq_code)code, "%s", own.message);
    }
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

static int farther(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    const struct inq_kind_time *x = a;
    const struct inq_kind_time *y = b;
    int64_t off_x = llabs(x->executed_ns - x->planned_ns);
    int64_t off_y = llabs(y->executed_ns - y->planned_ns);
    return off_x != off_y ? (off_x > off_y ? -1 : 1) : strcmp(x->kind, y->kind);
}

/* Means over the original's executions and its ranks. */
static int take_kinds(const struct runs *runs, struct inq_validation *v, struct inq_err *err)
{
    const struct inq_witness *w = &runs->witness;
    size_t n_ranks = inq_plan_ranks(runs->plans[0]);
    int64_t parts = (int64_t)(w->n_base * (n_ranks > 0 ? n_ranks : 1));
    for (size_t i = 0; i < w->n_kinds && parts > 0; i++) {
        const struct inq_kind_time *k = &w->kinds[i];
        v->kinds[v->n_kinds++] = (struct inq_kind_time){
            k->kind, k->n / w->n_base, k->planned_ns / parts, k->executed_ns / parts};
    }
    return inq_sort(v->kinds, v->n_kinds, sizeof *v->kinds, farther, NULL, err);
}

/* What does not fit cannot be done, whatever it would gain. */
static void refute_size(const struct runs *runs, const struct inq_validate_options *o,
                        struct inq_validation *v)
{
    v->base_simulated_ns = runs->plans[0]->simulated_ns;
    v->fixed_simulated_ns = runs->plans[1]->simulated_ns;
    v->predicted_speedup = o->predicted_speedup > 0.0 ? o->predicted_speedup : 1.0;
    v->measured_speedup = v->fixed_simulated_ns > 0
                              ? (double)v->base_simulated_ns / (double)v->fixed_simulated_ns
                              : 1.0;
    v->speedup = v->speedup_ci95[0] = v->speedup_ci95[1] = (double)NAN;
    v->order.judgment = INQ_INCONCLUSIVE;
    (void)snprintf(v->order.why, sizeof v->order.why, "the fixed step was not executed");
    v->cost.judgment = INQ_REFUTED;
    (void)snprintf(v->cost.why, sizeof v->cost.why, "it does not fit: %s", runs->no_room);
}

static int conclude(struct runs *runs, const struct inq_validate_options *o,
                    struct inq_validation *v, struct inq_err *err)
{
    v->base_simulated_ns = runs->plans[0]->simulated_ns;
    v->fixed_simulated_ns = runs->plans[1]->simulated_ns;
    v->measured_speedup = v->fixed_simulated_ns > 0
                              ? (double)v->base_simulated_ns / (double)v->fixed_simulated_ns
                              : 1.0;
    v->predicted_speedup = o->predicted_speedup > 0.0 ? o->predicted_speedup : v->measured_speedup;
    speedups(runs->of[0], runs->of[1], runs->repeats, runs->ratios, v);
    v->base = inq_sample_make(runs->of[0], runs->repeats);
    v->fixed = inq_sample_make(runs->of[1], runs->repeats);
    v->expected_ns = o->expected_ns > 0 ? o->expected_ns : v->base_simulated_ns;
    v->base_error =
        v->expected_ns > 0 ? (double)v->base.median_ns / (double)v->expected_ns - 1.0 : 0.0;
    int code = take_kinds(runs, v, err);
    verify(v, runs->engine, &runs->witness, o);
    return code;
}

int inq_validate(const struct inq_engine *engine, const struct inq_plan *base,
                 const struct inq_plan *fixed, const struct inq_validate_options *options,
                 struct inq_validation *out, struct inq_err *err)
{
    static const struct inq_validate_options defaults = {0};
    const struct inq_validate_options *o = options != NULL ? options : &defaults;
    struct runs runs = {.engine = engine,
                        .plans = {base, fixed},
                        .options = &o->replay,
                        .warmup = (size_t)inq_replay_warmup(&o->replay),
                        .repeats = o->replay.repeats > 0 ? (size_t)o->replay.repeats : 15};
    *out = (struct inq_validation){0};
    int code = allocate(&runs) ? INQ_OK
                               : inq_err_set(err, INQ_NOMEM, "out of memory for %zu executions",
                                             2 * runs.repeats);
    if (code == INQ_OK) {
        draw_order(&runs);
        code = execute(&runs, out, err);
    }
    if (code == INQ_OK && runs.no_room[0] != '\0') {
        refute_size(&runs, o, out);
    } else if (code == INQ_OK) {
        code = conclude(&runs, o, out, err);
    }
    inq_mem_free(runs.order);
    inq_mem_free(runs.makespan_ns);
    inq_mem_free(runs.of[0]);
    inq_mem_free(runs.of[1]);
    inq_mem_free(runs.ratios);
    return code;
}
