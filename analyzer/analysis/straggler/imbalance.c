/* SPDX-License-Identifier: Apache-2.0 */
/* Work that is divided unevenly: between pipeline stages, or from step to step between ranks, by
 * the compute of every rank in every step. */
#include "analysis/straggler/candidates.h"

#include "analysis/measure/measure.h"
#include "base/arena.h"
#include "base/mem.h"
#include "base/stats.h"
#include "trace/trace.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* The slowest stage is mentioned when its compute is longer than the other stages' median by 1 % of
 * the step and by 4.5 times what the ranks of a stage differ by; where stages have one rank each,
 * so that this is not known, by a twentieth.
 *
 * Its GPUs are slow when the kernels that it shares with other stages take longer than there, by 1
 * % of the step, and do not have more to do: by a twentieth on a stage of one rank, as chips differ
 * by a few percent; by 2 % on each rank that is asked where there are more, which do not all differ
 * to the same side. Other kernels that a stage has are its place's, as the first one's embedding.
 *
 * Ranks' compute varies from step to step by a few tenths of a percent (clocks, temperature). From
 * 2 % on the work itself must vary: sequences of different length. The kernels of the optimizer,
 * which do not depend on the batch, vary by less than half as much then; where they are seen to, a
 * clock is no reason, and 1 % is enough: what a cause must cost to be told.
 *
 * Where grids are recorded, larger ones are known to the block, as nothing that chips differ by is:
 * a rank's larger kernels are told from 1 % of the step on, however little they stand out among
 * what its peers take. Ranks that draw another batch each step have larger ones by chance in some
 * steps. A stage has larger kernels, and not only some larger layers, when the grids behind most of
 * its time are larger. */
#define STAGE_COST_SHARE   0.01
#define STAGE_RATIO        1.05
#define STAGE_RATIO_ALL    1.02
#define UNEVEN_SIGMA       0.02
#define UNEVEN_KNOWN_SIGMA 0.01
#define UNEVEN_NOISE       2.5 /* times what the noise of single kernels leaves in it */
/* Stretches of kernels of ranks that do the same tell by hundreds of samples: sigma is known to
 * some percent. */
#define UNEVEN_CLOCK                                                                               \
    0.75                    /* a clock that varies shows in the optimizer by all of it; of a       \
                             * few steps sigma is known to a quarter */
#define UNEVEN_STRETCH 1.25 /* times what the noise of single kernels leaves in them */

#define STAGE_SIGMAS 4.5
/* A rank of a slow stage is slow when it is so by this part of what the stage is. */
#define OWN_PART 0.5
/* Ranks of a stage that are asked for their kernels: all of them must be slower. */
enum { ASKED = 4 };

#define LARGER_SHARE 0.5

/* Ranks whose optimizer kernels are looked at. */
enum { MAX_WITNESSES = 32 };

struct inq_imbalance {
    bool stage_found;
    uint32_t role;              /* of the slowest stage */
    bool last;                  /* it is the last one */
    double stage_ns, stages_ns; /* compute per step: its own, the other stages' median */
    double stage_cost_ns;

    bool uneven;         /* the work of a rank's step varies */
    double sigma;        /* by this part, one sigma */
    double cost_ns;      /* per step: slowest rank's compute over the mean */
    bool constant_known; /* some kernels did not vary: it is the work, not the clock */
    bool of_experts;     /* those of experts vary, the others do not */
};

struct look {
    const struct inq_inquiry *q;
    const struct inq_trace *trace;
    const struct inq_step_stats *cells;
    const struct inq_peer_groups *roles;
    bool *skip;       /* they delay others for reasons of their own: these do not count */
    double *scratch;  /* [n_ranks * n_steps + 1] */
    double *relative; /* [n_ranks * n_steps] compute over the role's median in the step, less what
                       * is usual for the rank; NaN: not judged */
    double *stage_ns, *stage_sigma; /* [roles] */
    struct inq_attribution *found;  /* so far, with room for more */
};

static double compute_at(const struct look *l, size_t r, size_t s)
{
    const struct inq_step_stat *cell = inq_step_stat_at(l->cells, r, s);

    return cell->valid ? (double)cell->compute_ns : (double)NAN;
}

static double rank_compute(const struct look *l, size_t r)
{
    size_t n = 0;

    for (size_t s = l->cells->first_step; s < l->cells->n_steps; s++) {
        double ns = compute_at(l, r, s);
        if (!isnan(ns)) {
            l->scratch[n++] = ns;
        }
    }
    return n > 0 ? inq_median(l->scratch, n) : (double)NAN;
}

/* ---- stages ---------------------------------------------------------------------------------- */

static void describe_stage(struct look *l, uint32_t role, double *values)
{
    size_t n = 0;

    for (size_t r = 0; r < l->cells->n_ranks; r++) {
        double ns = l->roles->of[r] == role && !l->skip[r] ? rank_compute(l, r) : (double)NAN;
        if (!isnan(ns)) {
            values[n++] = ns;
        }
    }
    l->stage_ns[role] = n > 0 ? inq_median(values, n) : (double)NAN;
    l->stage_sigma[role] = n > 1 ? 1.4826 * inq_mad(values, n, l->stage_ns[role]) : 0.0;
}

static bool is_last_stage(const struct inq_peer_groups *roles, uint32_t role)
{
    for (size_t k = 0; k < roles->n; k++) {
        if (roles->stage[k] > roles->stage[role]) {
            return false;
        }
    }
    return roles->stage[role] > 0;
}

/* Fills stage_ns and stage_sigma; false: somebody's stage is not known. */
static bool describe_stages(struct look *l, double *values)
{
    for (uint32_t k = 0; k < l->roles->n; k++) {
        describe_stage(l, k, values);
        if (l->roles->stage[k] < 0) {
            return false;
        }
    }
    return true;
}

/* Of those that have ranks to compare and are not `told`, if that is given, the stage that computes
 * longest; INQ_NONE: there are not two. */
static uint32_t slowest_stage(const struct look *l, const bool *told)
{
    uint32_t slowest = INQ_NONE;
    size_t n = 0;

    for (uint32_t k = 0; k < l->roles->n; k++) {
        bool counts = !isnan(l->stage_ns[k]);
        bool first = slowest == INQ_NONE || l->stage_ns[k] > l->stage_ns[slowest];
        n += counts;
        slowest = counts && first && (!told || !told[k]) ? k : slowest;
    }
    return n > 1 ? slowest : INQ_NONE;
}

static double median_of_other_stages(const struct look *l, uint32_t stage, double *values)
{
    size_t n = 0;

    for (uint32_t k = 0; k < l->roles->n; k++) {
        if (k != stage && !isnan(l->stage_ns[k])) {
            values[n++] = l->stage_ns[k];
        }
    }
    return inq_median(values, n);
}

static void find_stage(struct look *l, double step_ns, double *values, struct inq_imbalance *out)
{
    uint32_t slowest = describe_stages(l, values) ? slowest_stage(l, NULL) : INQ_NONE;
    double sigma = 0.0;

    if (slowest == INQ_NONE) {
        return;
    }
    for (uint32_t k = 0; k < l->roles->n; k++) {
        sigma = fmax(sigma, l->stage_sigma[k]);
    }
    double others_ns = median_of_other_stages(l, slowest, values);
    double more_ns = l->stage_ns[slowest] - others_ns;
    out->stage_found = more_ns >= STAGE_COST_SHARE * step_ns && more_ns >= STAGE_SIGMAS * sigma &&
                       (sigma > 0.0 || l->stage_ns[slowest] >= STAGE_RATIO * others_ns);
    out->role = slowest;
    out->last = is_last_stage(l->roles, slowest);
    out->stage_ns = l->stage_ns[slowest];
    out->stages_ns = others_ns;
    out->stage_cost_ns = more_ns;
}

/* ---- stages with slow GPUs -------------------------------------------------------------------
 *
 * Where a fault is a host's, whole stages have it, and their ranks are as slow as their peers. The
 * same kernels on other stages tell. */

/* Some ranks of the stage that are not skipped, evenly chosen. */
static size_t choose_ranks(const struct look *l, uint32_t stage, uint32_t chosen[ASKED])
{
    size_t all = 0;
    size_t seen = 0;
    size_t n = 0;

    for (uint32_t r = 0; r < l->cells->n_ranks; r++) {
        all += l->roles->of[r] == stage && !l->skip[r];
    }
    size_t most = all < ASKED ? all : ASKED;
    for (uint32_t r = 0; n < most && r < l->cells->n_ranks; r++) {
        if (l->roles->of[r] == stage && !l->skip[r] && seen++ == n * all / most) {
            chosen[n++] = r;
        }
    }
    return n;
}

/* Whether grids say that all the work of the kernels is larger. */
static bool is_larger_work(const struct inq_kernel_comparison *c)
{
    return c->larger_share >= LARGER_SHARE && c->grid_ratio > 1.0 && inq_kernels_are_larger(c);
}

/* What the stage loses because its ranks run the kernels that they share with the others slower,
 * or larger ones: that of the rank that loses least. 0: they do not. */
struct stage_kernels {
    double slower_ns, larger_ns;
};

static int ask_kernels(const struct look *l, uint32_t stage, const struct inq_delay *like,
                       struct stage_kernels *lost, struct inq_err *err)
{
    uint32_t chosen[ASKED];
    size_t n = choose_ranks(l, stage, chosen);
    double least = n > 1 ? STAGE_RATIO_ALL : STAGE_RATIO;
    int code = INQ_OK;

    lost->slower_ns = lost->larger_ns = n > 0 ? (double)INFINITY : 0.0;
    for (size_t i = 0; code == INQ_OK && i < n; i++) {
        struct inq_kernel_comparison c;
        code = inq_kernels_against(l->trace, l->cells, chosen[i], NULL, like->others,
                                   like->n_others, &c, err);
        bool slower = code == INQ_OK && c.ratio >= least && !inq_kernels_are_larger(&c);
        bool larger = code == INQ_OK && c.ratio > 1.0 && is_larger_work(&c);
        lost->slower_ns = slower ? fmin(lost->slower_ns, c.slower_ns) : 0.0;
        lost->larger_ns = larger ? fmin(lost->larger_ns, c.slower_ns) : 0.0;
    }
    return code;
}

/* The stage's ranks, as they are against the other stages; `like`: with what they are compared. */
static struct inq_delay delay_of(struct look *l, uint32_t stage, double slower_ns,
                                 const struct inq_delay *like)
{
    struct inq_delay d = *like;

    d.role = stage;
    d.compute.ns = d.cost_ns = d.late_ns = slower_ns;
    d.peers_compute_ns = l->stage_ns[stage] - slower_ns;
    d.step_ns = l->q->delays->step_ns;
    d.steps = d.seen = l->cells->n_steps - l->cells->first_step;
    d.computes = true;
    return d;
}

/* The ranks that make the stage slow become a candidate, and are skipped from here on if `skip`. */
static int add_slow_stage(struct look *l, struct inq_delay *d, double others_ns, bool skip,
                          struct inq_err *err)
{
    uint32_t *ranks = inq_mem_alloc((l->cells->n_ranks + 1) * sizeof(*ranks));
    double least_ns = OWN_PART * (l->stage_ns[d->role] - others_ns);
    size_t at = l->found->n_candidates;
    size_t n = 0;

    if (!ranks) {
        return inq_err_set(err, INQ_NOMEM, "no memory for %zu ranks", l->cells->n_ranks);
    }
    for (uint32_t r = 0; r < l->cells->n_ranks; r++) {
        bool own = l->roles->of[r] == d->role && !l->skip[r];
        if (own && rank_compute(l, r) - others_ns >= least_ns) {
            ranks[n++] = r;
            l->skip[r] = skip;
        }
    }
    d->rank = ranks[0];
    int code = inq_candidates_of_delay(l->q, d, l->found, err);
    if (code == INQ_OK) {
        struct inq_candidate *candidate = &l->found->candidates[at];
        code = inq_candidate_set_ranks(l->q, candidate, ranks, n, err);
        if (candidate->confidence > INQ_CONFIDENCE_SUPPORTED) { /* no peer tells it as well */
            candidate->confidence = INQ_CONFIDENCE_SUPPORTED;
        }
    }
    inq_mem_free(ranks);
    return code;
}

static size_t list_others(const struct look *l, uint32_t stage, uint32_t *others)
{
    size_t n = 0;

    for (uint32_t r = 0; r < l->cells->n_ranks; r++) {
        if (l->roles->of[r] != stage && !l->skip[r]) {
            others[n++] = r;
        }
    }
    return n;
}

/* Slowest first, until one is not longer than the rest. Where a stage's kernels are larger, its
 * work may be moved, too: the stage is still looked at by its length (see inq_gains_find). */
static int find_slow_stages(struct look *l, double step_ns, double *values, struct inq_err *err)
{
    uint32_t *others = inq_mem_alloc((l->cells->n_ranks + 1) * sizeof(*others));
    bool *told = inq_mem_zalloc(l->roles->n + 1, sizeof(*told));
    int code = others && told
                   ? INQ_OK
                   : inq_err_set(err, INQ_NOMEM, "no memory for %zu stages", l->roles->n);

    for (size_t round = 0; code == INQ_OK && round < l->roles->n; round++) {
        uint32_t stage = describe_stages(l, values) ? slowest_stage(l, told) : INQ_NONE;
        double others_ns = stage != INQ_NONE ? median_of_other_stages(l, stage, values) : 0.0;
        double more_ns = stage != INQ_NONE ? l->stage_ns[stage] - others_ns : 0.0;
        struct stage_kernels lost;
        if (more_ns < STAGE_COST_SHARE * step_ns || more_ns <= 0.0) {
            break;
        }
        struct inq_delay like = {.others = others, .n_others = list_others(l, stage, others)};
        told[stage] = true;
        code = ask_kernels(l, stage, &like, &lost, err);
        double lost_ns = fmax(lost.slower_ns, lost.larger_ns);
        if (code == INQ_OK && lost_ns >= STAGE_COST_SHARE * step_ns) {
            struct inq_delay delay = delay_of(l, stage, lost_ns, &like);
            code = add_slow_stage(l, &delay, others_ns, lost.slower_ns > 0.0, err);
        }
    }
    inq_mem_free(others);
    inq_mem_free(told);
    return code;
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* One role in one step: ratios to the median; adds what the slowest loses against the mean. */
static void add_step(struct look *l, uint32_t role, size_t s, double *cost_ns, size_t *n_costs)
{
    double sum = 0.0;
    double most = 0.0;
    size_t n = 0;

    for (size_t r = 0; r < l->cells->n_ranks; r++) {
        double ns = l->roles->of[r] == role && !l->skip[r] ? compute_at(l, r, s) : (double)NAN;
        if (!isnan(ns)) {
            l->scratch[n++] = ns;
            sum += ns;
            most = fmax(most, ns);
        }
    }
    if (n < 2) {
        return;
    }
    double middle = inq_median(l->scratch, n);
    for (size_t r = 0; middle > 0.0 && r < l->cells->n_ranks; r++) {
        if (l->roles->of[r] == role && !l->skip[r]) {
            l->relative[r * l->cells->n_steps + s] = compute_at(l, r, s) / middle - 1.0;
        }
    }
    *cost_ns += most - sum / (double)n;
    (*n_costs)++;
}

/* Takes each rank's own usual ratio off. */
static void center_ranks(struct look *l)
{
    size_t n_steps = l->cells->n_steps;

    for (size_t r = 0; r < l->cells->n_ranks; r++) {
        double *row = &l->relative[r * n_steps];
        size_t n = 0;
        for (size_t s = 0; s < n_steps; s++) {
            if (!isnan(row[s])) {
                l->scratch[n++] = row[s];
            }
        }
        double usual = n > 0 ? inq_median(l->scratch, n) : 0.0;
        for (size_t s = 0; s < n_steps; s++) {
            row[s] = n > 1 ? row[s] - usual : (double)NAN;
        }
    }
}

static double sigma_of(struct look *l)
{
    size_t n = 0;

    for (size_t i = 0; i < l->cells->n_ranks * l->cells->n_steps; i++) {
        if (!isnan(l->relative[i])) {
            l->scratch[n++] = fabs(l->relative[i]);
        }
    }
    return n > 0 ? 1.4826 * inq_median(l->scratch, n) : 0.0;
}

/* How the rank's optimizer kernels follow its work: sums of products and squares of the deviations
 * of both, over its steps. */
static int follow(struct look *l, size_t r, double *products, double *squares, struct inq_err *err)
{
    const struct inq_events *events = &l->trace->ranks[r].events;
    size_t n_steps = l->cells->n_steps;
    double *update = inq_mem_zalloc(n_steps + 1, sizeof(*update));
    inq_str last = 0;
    bool last_is = false;
    double mean = 0.0;
    size_t n = 0;

    if (!update) {
        return inq_err_set(err, INQ_NOMEM, "no memory for %zu steps", n_steps);
    }
    for (size_t i = 0; i < events->n; i++) {
        if (events->name[i] != last) {
            last = events->name[i];
            last_is = inq_kernel_kind_of(inq_trace_str(l->trace, last)) == INQ_KERNEL_UPDATE;
        }
        if (last_is && events->step[i] < n_steps && inq_row_is_work(events, i) &&
            inq_row_class(events, i) == INQ_CLASS_COMPUTE) {
            update[events->step[i]] += (double)events->dur_ns[i];
        }
    }
    for (size_t s = 0; s < n_steps; s++) {
        bool counts = !isnan(l->relative[r * n_steps + s]) && update[s] > 0.0;
        mean += counts ? update[s] : 0.0;
        n += counts;
    }
    mean /= n > 0 ? (double)n : 1.0;
    for (size_t s = 0; s < n_steps; s++) {
        double x = l->relative[r * n_steps + s];
        if (!isnan(x) && update[s] > 0.0) {
            *products += x * (update[s] / mean - 1.0);
            *squares += x * x;
        }
    }
    inq_mem_free(update);
    return INQ_OK;
}

/* Whether the optimizer's kernels stay the same while the rest varies; *known: there are any. */
static int ask_optimizer(struct look *l, bool *stays, bool *known, struct inq_err *err)
{
    double products = 0.0;
    double squares = 0.0;
    size_t n = 0;
    int code = INQ_OK;

    for (size_t r = 0; code == INQ_OK && r < l->cells->n_ranks && n < MAX_WITNESSES; r++) {
        if (!l->skip[r]) {
            code = follow(l, r, &products, &squares, err);
            n++;
        }
    }
    *known = squares > 0.0;
    *stays = *known && products < 0.5 * squares;
    return code;
}

/* How much the noise of single kernels lets a rank's step vary; the median of the ranks looked at.
 */
static int find_chance(const struct look *l, double *chance, struct inq_err *err)
{
    double sigmas[MAX_WITNESSES];
    int code = INQ_OK;
    size_t n = 0;

    for (uint32_t r = 0; code == INQ_OK && r < l->cells->n_ranks && n < MAX_WITNESSES; r++) {
        struct inq_intra_step t;
        if (!l->skip[r]) {
            code = inq_intra_step_find(l->trace, l->cells, r, &t, err);
            sigmas[n++] = code == INQ_OK ? t.chance : 0.0;
        }
    }
    *chance = n > 0 ? inq_median(sigmas, n) : 0.0;
    return code;
}

static int find_uneven(struct look *l, struct inq_imbalance *out, struct inq_err *err)
{
    double most_ns = 0.0;
    double chance = 0.0;
    bool stays;
    bool known;

    for (uint32_t k = 0; k < l->roles->n; k++) {
        double cost_ns = 0.0;
        size_t n = 0;
        for (size_t s = l->cells->first_step; s < l->cells->n_steps; s++) {
            add_step(l, k, s, &cost_ns, &n);
        }
        most_ns = n > 0 ? fmax(most_ns, cost_ns / (double)n) : most_ns;
    }
    center_ranks(l);
    out->sigma = sigma_of(l);
    out->cost_ns = most_ns;
    if (out->sigma < UNEVEN_KNOWN_SIGMA) {
        return INQ_OK;
    }
    int code = find_chance(l, &chance, err);
    if (code != INQ_OK || out->sigma < UNEVEN_NOISE * chance) {
        return code;
    }
    code = ask_optimizer(l, &stays, &known, err);
    out->constant_known = known && stays;
    out->uneven = out->constant_known || (!known && out->sigma >= UNEVEN_SIGMA);
    return code;
}

/* Largest of n standard normal values, on average. */
static double expected_largest(size_t n)
{
    static const double few[] = {0.0, 0.0, 0.56, 0.85, 1.03, 1.16, 1.27, 1.35, 1.42};

    return n < sizeof(few) / sizeof(few[0]) ? few[n] : sqrt(2.0 * log((double)n)) - 0.6;
}

/* What is left of a deviation without the part that single kernels' noise explains. */
static double beyond_chance(double sigma, double chance)
{
    return sqrt(fmax(0.0, sigma * sigma - chance * chance));
}

/* Whether stretches of kernels vary beyond the noise of single ones. In a pipeline by far: what a
 * stage does at a time depends on the others. Among replicas little is enough where the optimizer's
 * kernels, which do not depend on the batch, vary by less. */
static bool varies_inside(bool pipeline, const struct inq_intra_step *t)
{
    if (pipeline) {
        double noise = t->kernel / sqrt((double)t->length);
        return t->block >= UNEVEN_SIGMA && t->block >= UNEVEN_NOISE * noise;
    }
    double beyond = beyond_chance(t->block, t->block_chance);
    bool clock =
        t->update <= 0.0 || beyond_chance(t->update, t->update_chance) >= UNEVEN_CLOCK * beyond;
    return beyond >= UNEVEN_KNOWN_SIGMA && !clock && t->block >= UNEVEN_STRETCH * t->block_chance;
}

/* Those who wait for each other within a step: the stages of a pipeline, else the ranks of a role.
 */
static size_t count_in_step(const struct look *l)
{
    return l->roles->pipeline ? l->roles->n : l->cells->n_ranks / l->roles->n;
}

/* What ranks that can be looked at show of the inside of their steps. */
struct witnesses {
    struct inq_intra_step of[MAX_WITNESSES];
    size_t n;
    double compute_ns; /* their sum */
};

static int ask_witnesses(const struct look *l, struct witnesses *w, struct inq_err *err)
{
    w->n = 0;
    w->compute_ns = 0.0;
    for (uint32_t r = 0; r < l->cells->n_ranks && w->n < MAX_WITNESSES; r++) {
        double ns = l->skip[r] ? (double)NAN : rank_compute(l, r);
        if (isnan(ns)) {
            continue;
        }
        int code = inq_intra_step_find(l->trace, l->cells, r, &w->of[w->n], err);
        if (code != INQ_OK) {
            return code;
        }
        if (w->of[w->n].length > 0) {
            w->compute_ns += ns;
            w->n++;
        }
    }
    return INQ_OK;
}

/* Medians over the witnesses: a few steps of one rank tell little of how its optimizer varies. */
static struct inq_intra_step pool(const struct witnesses *w)
{
    static const size_t values[] = {
        offsetof(struct inq_intra_step, kernel),
        offsetof(struct inq_intra_step, block),
        offsetof(struct inq_intra_step, update),
        offsetof(struct inq_intra_step, chance),
        offsetof(struct inq_intra_step, block_chance),
        offsetof(struct inq_intra_step, update_chance),
    };
    struct inq_intra_step all = {.length = w->of[0].length};
    double sigmas[MAX_WITNESSES];

    for (size_t v = 0; v < sizeof(values) / sizeof(values[0]); v++) {
        for (size_t i = 0; i < w->n; i++) {
            memcpy(&sigmas[i], (const char *)&w->of[i] + values[v], sizeof(double));
        }
        double middle = inq_median(sigmas, w->n);
        memcpy((char *)&all + values[v], &middle, sizeof(double));
    }
    return all;
}

/* Whether the witnesses vary inside their steps: replicas, which do the same, as one; the stages of
 * a pipeline each for itself, and most of them. */
static bool vary_inside(const struct look *l, const struct witnesses *w,
                        const struct inq_intra_step *all)
{
    size_t n = 0;

    for (size_t i = 0; i < w->n; i++) {
        n += varies_inside(l->roles->pipeline, &w->of[i]);
    }
    return l->roles->pipeline ? 2 * n >= w->n : varies_inside(false, all);
}

/* Micro-batches may differ while their sum does not, and experts draw other tokens in each layer.
 * Stretches of kernels that follow each other then differ from step to step by more than single
 * kernels' noise would leave in them. Who works at another micro-batch or expert at a time, and is
 * slowest, sets the pace. */
static int find_uneven_inside(struct look *l, struct inq_imbalance *out, struct inq_err *err)
{
    struct witnesses w;
    size_t n_constant = 0;
    int code = ask_witnesses(l, &w, err);

    if (code != INQ_OK || w.n == 0) {
        return code;
    }
    struct inq_intra_step all = pool(&w);
    if (!vary_inside(l, &w, &all)) {
        return INQ_OK;
    }
    for (size_t i = 0; i < w.n; i++) {
        n_constant += w.of[i].update > 0.0 && w.of[i].update < 0.5 * w.of[i].block;
    }
    double largest = expected_largest(count_in_step(l));
    out->uneven = true;
    out->constant_known = 2 * n_constant >= w.n;
    out->sigma = all.block;
    out->cost_ns = fmax(out->cost_ns, w.compute_ns / (double)w.n * all.block * largest);
    return INQ_OK;
}

/* Between steps, inside them, and whose work it is. */
static int find_uneven_work(struct look *l, struct inq_imbalance *out, struct inq_err *err)
{
    int code = find_uneven(l, out, err);

    if (code == INQ_OK && (l->roles->pipeline || !out->uneven) && !l->cells->one_step) {
        code = find_uneven_inside(l, out, err);
    }
    if (code == INQ_OK && out->uneven && !l->cells->one_step) {
        code = inq_experts_vary(l->trace, l->cells, l->skip, &out->of_experts, err);
    }
    return code;
}

static int find_imbalance(struct look l, struct inq_imbalance *imbalance, struct inq_err *err)
{
    const struct inq_step_stats *cells = l.cells;
    const struct inq_peer_groups *roles = l.roles;
    size_t n = cells->n_ranks * cells->n_steps;
    int code = INQ_OK;

    l.scratch = inq_mem_alloc((n + 1) * sizeof(double));
    l.relative = inq_mem_alloc((n + 1) * sizeof(double));
    l.stage_ns = inq_mem_alloc((3 * cells->n_ranks + 1) * sizeof(double));
    l.skip = inq_mem_zalloc(cells->n_ranks + 1, sizeof(bool));
    if (!l.scratch || !l.relative || !l.stage_ns || !l.skip) {
        code = inq_err_set(err, INQ_NOMEM, "no memory to compare %zu ranks", cells->n_ranks);
    } else {
        l.stage_sigma = l.stage_ns + cells->n_ranks;
        for (size_t r = 0; r < cells->n_ranks; r++) {
            l.skip[r] = inq_candidates_name(l.found, r, true);
        }
        for (size_t i = 0; i < n; i++) {
            l.relative[i] = (double)NAN;
        }
        size_t n_lengths = 0;
        for (size_t i = 0; i < n; i++) {
            if (cells->at[i].valid) {
                l.scratch[n_lengths++] = (double)(cells->at[i].end_ns - cells->at[i].start_ns);
            }
        }
        double step_ns = n_lengths > 0 ? inq_median(l.scratch, n_lengths) : 0.0;
        code = find_uneven_work(&l, imbalance, err);
        double *values = l.stage_ns + 2 * cells->n_ranks;
        bool stages = code == INQ_OK && roles->n > 1 && step_ns > 0.0;
        if (stages && !cells->one_step && !imbalance->uneven) { /* else kernels differ anyway */
            code = find_slow_stages(&l, step_ns, values, err);
        }
        if (stages && code == INQ_OK) {
            find_stage(&l, step_ns, values, imbalance);
        }
    }
    inq_mem_free(l.scratch);
    inq_mem_free(l.relative);
    inq_mem_free(l.stage_ns);
    inq_mem_free(l.skip);
    return code;
}

/* ---- candidates --------------------------------------------------------------------------------
 */

static struct inq_candidate blank(const struct inq_inquiry *q, enum inq_finding_kind kind,
                                  double cost_ns)
{
    size_t steps = q->cells->n_steps - q->cells->first_step;
    struct inq_candidate candidate = {
        .kind = kind, .group = INQ_NONE, .stage = -1, .ratio = (double)NAN, .running = ""};

    candidate.confidence = q->cells->one_step || steps < 2 ? INQ_CONFIDENCE_HYPOTHESIS
                           : steps < 3                     ? INQ_CONFIDENCE_SUPPORTED
                                                           : INQ_CONFIDENCE_ESTABLISHED;
    candidate.cost_ns_per_step = (int64_t)llround(cost_ns);
    candidate.step_ns = (int64_t)llround(q->delays->step_ns);
    candidate.steps = steps;
    candidate.steps_seen = steps;
    return candidate;
}

static int stage_candidate(const struct inq_inquiry *q, const struct inq_imbalance *found,
                           struct inq_candidate *candidate, struct inq_err *err)
{
    size_t n_ranks = q->trace->n_ranks;
    uint32_t *ranks = inq_arena_array(q->arena, n_ranks, sizeof(*ranks));

    *candidate = blank(q, found->last ? INQ_FINDING_SLOW_LAST_STAGE : INQ_FINDING_STAGE_IMBALANCE,
                       found->stage_cost_ns);
    if (!ranks) {
        return inq_err_set(err, INQ_NOMEM, "no memory for a candidate");
    }
    candidate->ranks = ranks;
    for (uint32_t r = 0; r < n_ranks; r++) {
        if (q->roles->of[r] == found->role) {
            ranks[candidate->n_ranks++] = r;
        }
    }
    candidate->stage = q->roles->stage[found->role];
    candidate->own_ns = (int64_t)llround(found->stage_ns);
    candidate->peers_ns = (int64_t)llround(found->stages_ns);
    candidate->ratio = found->stage_ns / found->stages_ns;
    return INQ_OK;
}

static struct inq_candidate uneven_candidate(const struct inq_inquiry *q,
                                             const struct inq_imbalance *found)
{
    struct inq_candidate candidate = blank(q, INQ_FINDING_SEQUENCE_IMBALANCE, found->cost_ns);

    candidate.ratio = found->sigma;
    candidate.of_experts = found->of_experts;
    if (candidate.confidence > INQ_CONFIDENCE_SUPPORTED || !found->constant_known) {
        candidate.confidence =
            found->constant_known ? INQ_CONFIDENCE_SUPPORTED : INQ_CONFIDENCE_HYPOTHESIS;
    }
    return candidate;
}

/* Whether the rank is one of the candidate's. */
static bool has_rank(const struct inq_candidate *candidate, size_t rank)
{
    size_t i = 0;

    while (i < candidate->n_ranks && candidate->ranks[i] != rank) {
        i++;
    }
    return i < candidate->n_ranks;
}

/* By how much the candidate's ranks compute longer than the others of their roles in a step; NaN:
 * there are none. */
static double excess_at(const struct look *l, const struct inq_candidate *candidate, size_t s)
{
    double own = 0.0;
    double peers = 0.0;
    size_t n_own = 0;
    size_t n_peers = 0;

    for (size_t r = 0; r < l->cells->n_ranks; r++) {
        double ns = compute_at(l, r, s);
        bool in_role = false;
        for (size_t i = 0; i < candidate->n_ranks && !in_role; i++) {
            in_role = l->roles->of[r] == l->roles->of[candidate->ranks[i]];
        }
        if (in_role && !isnan(ns)) {
            bool is_own = has_rank(candidate, r);
            *(is_own ? &own : &peers) += ns;
            *(is_own ? &n_own : &n_peers) += 1;
        }
    }
    return n_own > 0 && n_peers > 0 ? own / (double)n_own / (peers / (double)n_peers) - 1.0
                                    : (double)NAN;
}

/* Whether the candidate's excess varies from step to step by `least_sigma` or more, and its mean is
 * not so many standard errors off that chance hardly reaches it: some rank draws larger kernels in
 * most of few steps by chance. */
static bool is_chance(const struct look *l, const struct inq_candidate *candidate,
                      double least_sigma)
{
    double sum = 0.0;
    double squares = 0.0;
    double n = 0.0;

    for (size_t s = l->cells->first_step; s < l->cells->n_steps; s++) {
        double excess = excess_at(l, candidate, s);
        sum += isnan(excess) ? 0.0 : excess;
        squares += isnan(excess) ? 0.0 : excess * excess;
        n += !isnan(excess);
    }
    if (n < 2.0) {
        return n > 0.0;
    }
    double sigma = sqrt(fmax(squares - sum * sum / n, 0.0) / (n - 1.0));
    return sigma >= least_sigma && sum < inq_straggler_limit(n - 1.0) * sigma * sqrt(n);
}

/* By work that varies: clocks do by less. */
static bool is_by_chance(const struct look *l, const struct inq_candidate *candidate)
{
    return candidate->kind == INQ_FINDING_MORE_WORK && is_chance(l, candidate, UNEVEN_KNOWN_SIGMA);
}

/* Whether it has larger kernels in most steps, and by chance. What is larger in fewer is told by
 * these (see transient.h), and what has more kernels by their number. */
static bool is_larger_by_chance(const struct look *l, const struct inq_candidate *candidate)
{
    return l->cells->n_steps > l->cells->first_step + 1 && isnan(candidate->ratio) &&
           2 * candidate->steps_seen >= candidate->steps && is_by_chance(l, candidate);
}

static void leave_out(const struct look *l,
                      bool (*test)(const struct look *, const struct inq_candidate *))
{
    size_t kept = 0;

    for (size_t i = 0; i < l->found->n_candidates; i++) {
        if (!test(l, &l->found->candidates[i])) {
            l->found->candidates[kept++] = l->found->candidates[i];
        }
    }
    l->found->n_candidates = kept;
}

/* Whether its peers' grids explain why a rank that is no outlier computes longer, in all steps
 * alike. */
static int has_larger_kernels(const struct look *l, const struct inq_delay *delay, double least_ns,
                              bool *larger, struct inq_err *err)
{
    uint32_t rank = delay->rank;
    struct inq_candidate probe = {.ranks = &rank, .n_ranks = 1};
    struct inq_kernel_comparison c;

    *larger = false;
    if (delay->outlier || inq_candidates_name(l->found, rank, false) ||
        delay->compute.ns < least_ns || is_chance(l, &probe, 0.0)) {
        return INQ_OK;
    }
    int code = inq_candidate_kernels(l->q, delay, &c, err);
    *larger = code == INQ_OK && is_larger_work(&c) &&
              (c.grid_ratio - 1.0) * delay->peers_compute_ns >= least_ns;
    return code;
}

static int find_larger_kernels(const struct look *l, double least_ns, struct inq_err *err)
{
    int code = INQ_OK;

    for (size_t i = 0; code == INQ_OK && !l->cells->one_step && i < l->q->delays->n; i++) {
        struct inq_delay delay = l->q->delays->at[i];
        bool larger = false;
        code = has_larger_kernels(l, &delay, least_ns, &larger, err);
        if (larger) {
            delay.computes = true;
            delay.idles = false;
            delay.idle.ns = delay.copy_ns = 0.0;
            code = inq_candidates_of_delay(l->q, &delay, l->found, err);
        }
    }
    return code;
}

int inq_candidates_of_imbalance(const struct inq_inquiry *q, struct inq_attribution *found,
                                struct inq_err *err)
{
    struct look l = {
        .q = q, .trace = q->trace, .cells = q->cells, .roles = q->roles, .found = found};
    struct inq_imbalance imbalance = {0};
    double least_ns = STAGE_COST_SHARE * q->delays->step_ns;

    leave_out(&l, is_larger_by_chance);
    int code = find_larger_kernels(&l, least_ns, err);

    if (code == INQ_OK) {
        code = find_imbalance(l, &imbalance, err);
    }
    if (code == INQ_OK && imbalance.stage_found) {
        code = stage_candidate(q, &imbalance, &found->candidates[found->n_candidates], err);
        found->n_candidates += code == INQ_OK;
    }
    if (code == INQ_OK && imbalance.uneven && imbalance.cost_ns >= least_ns) {
        leave_out(&l, is_by_chance);
        found->candidates[found->n_candidates++] = uneven_candidate(q, &imbalance);
    }
    return code;
}
