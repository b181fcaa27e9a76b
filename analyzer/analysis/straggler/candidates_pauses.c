/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts that pause, as one candidate: in most of their steps, or in turn. When every rank collects
 * its garbage in a step of its own, all wait in nearly every step, and no rank is late more often
 * than the others: only the pauses themselves stand out. They do among the silences between calls
 * (silences.c), where steps make the same calls; else, or where launching itself takes long now and
 * then, among the times for which GPUs idle. */
#include "analysis/straggler/candidates.h"

#include "analysis/straggler/straggler.h"
#include "base/arena.h"
#include "base/mem.h"
#include "base/sort.h"
#include "base/stats.h"

#include <math.h>
#include <string.h>

/* A pause is this part of a step at least: as much as a cause must cost to be told. */
#define PAUSE_SHARE INQ_STRAGGLER_COST_SHARE
/* One pause may come from anywhere; two of different ranks are the fewest that rotate. Two that are
 * told by themselves stay so, more are one cause. */
enum { FEWEST = 2 };
/* Garbage collection comes to every process. Pauses without a name are taken for it where this part
 * of the ranks has them. */
#define MOST_RANKS_PART 0.5
/* Pauses of one cause are about as long; how far hosts are ahead of their GPUs takes its part of
 * each: this part of the longest at least is left. Behind one all GPUs start late, and in steps
 * that begin with the hosts in step, all idle; neither is a pause. */
#define LIKE_PART 0.4
/* Few ranks and steps tell little of how times vary, and the pauses are among them. Pauses stand
 * out in any case when the shortest is this many times what is longest of all the rest: where times
 * have a tail of index 1.5, heavier than that of hosts, the longest three of them are that far from
 * the fourth in 1 of 10,000 runs (8 to the power of -3 x 1.5), and the longest n in as few when
 * they are 8 to the power of 3/n times as long as the next. */
#define APART 8.0
enum { FEWEST_APART = 3 };

struct pauses {
    const struct inq_inquiry *q;
    bool silent;     /* of silences, not of idle times */
    double *idle;    /* [n_ranks * n_steps] the GPU's time without work, missing input apart, or the
                      * host's pauses; NaN */
    double *excess;  /* [n_ranks * n_steps] over the rank's usual, and over what all lose then */
    double *scratch; /* [n_ranks * n_steps + 1] */
    double *usual;   /* [n_ranks] median idle time */
    bool *known;     /* [n_ranks] its host is late, and in half of the steps or more: no pauses */
    bool *told;      /* [n_ranks] its host is a candidate already */
    double limit_ns;
    double *limit_then_ns; /* [n_steps] the same in steps in which all lose at once; else 0 */
    double limit_times;    /* logarithm */
    double longest_ns;     /* largest excess */
    bool apart;            /* pauses stand out so far that the factors need not say so */
    size_t n, n_ranks;     /* pauses, ranks that have them */
    size_t n_untold;       /* of these, those that are no candidates yet */
    double sum_ns;         /* of all pauses */
};

static size_t at(const struct pauses *p, size_t rank, size_t step)
{
    return rank * p->q->cells->n_steps + step;
}

/* How many times its usual the rank's idle time was, as a logarithm. Times below what repeated
 * steps agree to are not told apart. */
static double times(const struct pauses *p, size_t rank, size_t step)
{
    double least_ns = INQ_STRAGGLER_SIGMA_SHARE * p->q->delays->step_ns;

    return log1p(fmax(p->excess[at(p, rank, step)] / (p->usual[rank] + least_ns), -0.5));
}

/* Whether it lasts as long as a pause does. Where all lose more at once (a checkpoint, a new
 * compilation), that does not take exactly as long for each: the rest is no pause. */
static bool is_long(const struct pauses *p, size_t rank, size_t step)
{
    double excess_ns = p->excess[at(p, rank, step)]; /* comparing with NaN is false */
    double lost_ns = p->idle[at(p, rank, step)] - p->usual[rank];

    return excess_ns >= p->limit_ns && excess_ns >= p->limit_then_ns[step] &&
           excess_ns >= LIKE_PART * p->longest_ns && excess_ns >= LIKE_PART * lost_ns;
}

static bool is_pause(const struct pauses *p, size_t rank, size_t step)
{
    return is_long(p, rank, step) && (p->apart || times(p, rank, step) >= p->limit_times);
}

static void find_usual(struct pauses *p, size_t rank)
{
    size_t n = 0;

    for (size_t s = p->q->cells->first_step; s < p->q->cells->n_steps; s++) {
        const struct inq_step_stat *cell = inq_step_stat_at(p->q->cells, rank, s);
        if (cell->valid) {
            p->idle[at(p, rank, s)] =
                p->silent ? (double)p->q->silences->step_ns[at(p, rank, s)]
                          : (double)(cell->host_ns + cell->other_ns - cell->dependency_ns);
            p->scratch[n++] = p->idle[at(p, rank, s)];
        }
    }
    p->usual[rank] = fmax(inq_median(p->scratch, n), 0.0);
}

/* Over the rank's own median: a host that is always slow does not pause. One that is known to be
 * slow is passed over: how its times vary says nothing of what comes to the others. */
static void subtract_usual(struct pauses *p, size_t rank)
{
    for (size_t s = 0; s < p->q->cells->n_steps; s++) {
        p->excess[at(p, rank, s)] =
            p->known[rank] ? (double)NAN : p->idle[at(p, rank, s)] - p->usual[rank];
    }
}

/* Over the median of all ranks in the step: what comes to all of them at once delays nobody. Of an
 * even number the lower of the middle two: what half of them have comes not to all. */
static void subtract_common(struct pauses *p, size_t step)
{
    size_t n_ranks = p->q->cells->n_ranks;
    size_t n = 0;

    for (size_t r = 0; r < n_ranks; r++) {
        if (!isnan(p->excess[at(p, r, step)])) {
            p->scratch[n++] = p->excess[at(p, r, step)];
        }
    }
    inq_sort_double(p->scratch, n);
    double common_ns = n > 0 ? p->scratch[(n - 1) / 2] : 0.0;
    for (size_t r = 0; common_ns > 0.0 && r < n_ranks; r++) {
        p->excess[at(p, r, step)] -= common_ns;
    }
}

/* Where most ranks pause in the same step, their median is the pause itself, and those that do not
 * lie as far below it: only what the least of them has comes to all. */
static void restore_pauses_of_most(struct pauses *p, size_t step)
{
    size_t n_ranks = p->q->cells->n_ranks;
    double least_ns = (double)INFINITY;
    double common_ns = 0.0;

    for (size_t r = 0; r < n_ranks; r++) {
        double excess_ns = p->excess[at(p, r, step)]; /* fmin passes NaN over */
        least_ns = fmin(least_ns, excess_ns);
        common_ns = fmax(common_ns, p->idle[at(p, r, step)] - p->usual[r] - excess_ns);
    }
    if (common_ns >= p->limit_ns && common_ns + least_ns < p->limit_ns) {
        for (size_t r = 0; r < n_ranks; r++) {
            p->excess[at(p, r, step)] += fmin(common_ns, -least_ns);
        }
    }
}

/* Sigmas that chance hardly reaches, of a median deviation of `n` times. What is left of times
 * after the medians of their rank and step were taken off varies less than they do: of r ranks and
 * s steps (r-1)(s-1) differences are free. And the median deviation of few misses sigma itself: it
 * is worth 0.37 of them, and 4/freedom follows Student's t as it does for single delays. */
static double chance_limit(double n, double freedom)
{
    return INQ_STRAGGLER_SIGMAS * (1.0 + 4.0 / (0.37 * freedom)) * INQ_MAD_SIGMA *
           sqrt(n / freedom);
}

static double limit_of(const struct inq_step_stats *cells)
{
    double ranks = (double)cells->n_ranks;
    double steps = (double)(cells->n_steps - cells->first_step);
    return chance_limit(ranks * steps, fmax((ranks - 1.0) * (steps - 1.0), 1.0));
}

/* In a step that begins with the hosts in step, every GPU waits for what its host does first. What
 * that takes varies from rank to rank as in no other step, so a pause must stand out of what it
 * varies by then. */
static void set_limit_then(struct pauses *p, size_t step)
{
    double least_ns = (double)INFINITY;
    size_t n = 0;

    p->limit_then_ns[step] = 0.0;
    for (size_t r = 0; r < p->q->cells->n_ranks; r++) {
        double excess_ns = p->excess[at(p, r, step)];
        if (!isnan(excess_ns)) {
            least_ns = fmin(least_ns, p->idle[at(p, r, step)] - p->usual[r]);
            p->scratch[n++] = excess_ns;
        }
    }
    if (n > 1 && least_ns >= p->limit_ns) {
        double middle_ns = inq_median(p->scratch, n);
        p->limit_then_ns[step] = middle_ns + chance_limit((double)n, (double)(n - 1)) *
                                                 inq_mad(p->scratch, n, middle_ns);
    }
}

/* What chance hardly reaches. Times of hosts vary by factors: long ones lie further from the usual
 * than short ones, and a sigma of differences takes the longest for pauses. So a pause must stand
 * out among the factors, too. */
static void set_limits(struct pauses *p)
{
    const struct inq_step_stats *cells = p->q->cells;
    size_t n_cells = cells->n_ranks * cells->n_steps;
    size_t n = 0;

    for (size_t i = 0; i < n_cells; i++) {
        if (!isnan(p->excess[i])) {
            p->scratch[n++] = p->excess[i];
        }
    }
    double middle = n > 0 ? inq_median(p->scratch, n) : 0.0;
    double limit = limit_of(cells);
    double step_ns = p->q->delays->step_ns;
    double chance_ns = n > 0 ? limit * inq_mad(p->scratch, n, middle) : 0.0;
    chance_ns = fmax(chance_ns, INQ_STRAGGLER_SIGMAS * INQ_STRAGGLER_SIGMA_SHARE * step_ns);
    p->limit_ns = middle + fmax(chance_ns, PAUSE_SHARE * step_ns);
    n = 0;
    for (size_t i = 0; i < n_cells; i++) {
        if (!isnan(p->excess[i])) {
            p->scratch[n++] = times(p, i / cells->n_steps, i % cells->n_steps);
        }
    }
    middle = n > 0 ? inq_median(p->scratch, n) : 0.0;
    p->limit_times = middle + limit * (n > 0 ? inq_mad(p->scratch, n, middle) : 0.0);
}

/* Whether what is long is far from all that is not. */
static bool are_apart(const struct pauses *p)
{
    const struct inq_step_stats *cells = p->q->cells;
    double shortest_ns = (double)INFINITY;
    double rest_ns = 0.0;
    size_t n = 0;

    for (size_t r = 0; r < cells->n_ranks; r++) {
        for (size_t s = cells->first_step; s < cells->n_steps; s++) {
            double excess_ns = p->excess[at(p, r, s)]; /* fmin and fmax pass NaN over */
            if (is_long(p, r, s)) {
                shortest_ns = fmin(shortest_ns, excess_ns);
                n++;
            } else {
                rest_ns = fmax(rest_ns, excess_ns);
            }
        }
    }
    return n >= FEWEST_APART &&
           shortest_ns >= pow(APART, (double)FEWEST_APART / (double)n) * rest_ns;
}

static void count_pauses(struct pauses *p)
{
    const struct inq_step_stats *cells = p->q->cells;

    for (size_t s = cells->first_step; s < cells->n_steps; s++) {
        for (size_t r = 0; r < cells->n_ranks; r++) {
            if (is_pause(p, r, s)) {
                p->n++;
                p->sum_ns += p->excess[at(p, r, s)];
            }
        }
    }
}

static bool pauses_ever(const struct pauses *p, size_t rank)
{
    for (size_t s = p->q->cells->first_step; s < p->q->cells->n_steps; s++) {
        if (is_pause(p, rank, s)) {
            return true;
        }
    }
    return false;
}

/* What is usual for those that a rank was compared with, the others of its role or all of other
 * roles: for those that are no candidates, if there are any. */
static double usual_of_others(const struct pauses *p, size_t rank, bool of_other_roles)
{
    const uint32_t *role = p->q->roles->of;
    size_t n = 0;

    for (int pass = 0; n == 0 && pass < 2; pass++) {
        for (size_t r = 0; r < p->q->cells->n_ranks; r++) {
            bool compared = r != rank && (role[r] != role[rank]) == of_other_roles;
            p->scratch[n] = p->usual[r];
            n += compared && (pass == 1 || !p->told[r]);
        }
    }
    return inq_median(p->scratch, n);
}

/* A host that is late now and then may be one of those that pause in turn, whatever the delays it
 * was found by: those of a stage's few ranks come with every pause of the others. One whose usual
 * step is later than the others' by a pause is late in half of its steps or more. */
static void mark_told(struct pauses *p, const struct inq_candidate *candidates, size_t n)
{
    double least_ns = PAUSE_SHARE * p->q->delays->step_ns;

    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < n; i++) {
            const struct inq_candidate *c = &candidates[i];
            for (size_t k = 0; c->kind == INQ_FINDING_LATE_HOST && k < c->n_ranks; k++) {
                uint32_t rank = c->ranks[k];
                p->told[rank] = true;
                double more_ns =
                    pass == 1 ? p->usual[rank] - usual_of_others(p, rank, c->of_other_roles) : 0.0;
                p->known[rank] = p->known[rank] || more_ns >= least_ns;
            }
        }
    }
}

static void measure(struct pauses *p, const struct inq_candidate *candidates, size_t n)
{
    const struct inq_step_stats *cells = p->q->cells;

    for (size_t i = 0; i < cells->n_ranks * cells->n_steps; i++) {
        p->idle[i] = (double)NAN;
    }
    for (size_t r = 0; r < cells->n_ranks; r++) {
        find_usual(p, r);
    }
    mark_told(p, candidates, n);
    for (size_t r = 0; r < cells->n_ranks; r++) {
        subtract_usual(p, r);
    }
    for (size_t s = cells->first_step; s < cells->n_steps; s++) {
        subtract_common(p, s);
    }
    set_limits(p);
    for (size_t s = cells->first_step; s < cells->n_steps; s++) {
        restore_pauses_of_most(p, s);
        set_limit_then(p, s);
    }
    for (size_t i = 0; i < cells->n_ranks * cells->n_steps; i++) {
        p->longest_ns = fmax(p->longest_ns, p->excess[i]); /* passes NaN over */
    }
    p->apart = are_apart(p);
    count_pauses(p);
    for (size_t r = 0; r < cells->n_ranks; r++) {
        p->n_ranks += pauses_ever(p, r);
        p->n_untold += pauses_ever(p, r) && !p->told[r];
    }
}

/* ---- the candidate -----------------------------------------------------------------------------
 */

static bool is_collection(const char *name)
{
    return strstr(name, "garbage") != NULL || strstr(name, "gc.collect") != NULL ||
           strstr(name, "gc_collect") != NULL;
}

/* A gap of the rank as evidence, and what its host was in. */
static int add_gap(const struct inq_inquiry *q, uint32_t rank, const struct inq_host_gap *gap,
                   const char *what, struct inq_candidate *candidate, struct inq_err *err)
{
    if (candidate->running[0] == '\0') {
        candidate->running =
            inq_trace_str(q->trace, inq_host_gap_running(q->trace, &q->trace->ranks[rank], gap));
    }
    candidate->launches_known = candidate->launches_known || gap->launch_ns != INQ_TIME_NONE;
    if (candidate->n_evidence == INQ_HOST_GAPS) {
        return INQ_OK;
    }
    if (what == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory");
    }
    candidate->evidence[candidate->n_evidence++] =
        (struct inq_evidence){q->trace->ranks[rank].rank, "", gap->begin_ns, gap->end_ns, what};
    return INQ_OK;
}

/* The longest time for which its GPU idled. */
static int add_idle(const struct inq_inquiry *q, uint32_t rank, struct inq_candidate *candidate,
                    struct inq_err *err)
{
    struct inq_host_gaps gaps;
    int code = inq_host_gaps_find(q->trace, q->cells, rank, &gaps, err);

    if (code != INQ_OK || gaps.n == 0) {
        return code;
    }
    const char *what = inq_arena_asprintf(q->arena, "%s idle while its host paused",
                                          inq_rank_device(q->trace, &q->trace->ranks[rank]));
    return add_gap(q, rank, &gaps.at[0], what, candidate, err);
}

/* The longest time for which its host made no call beyond what is usual there. */
static int add_silence(const struct inq_inquiry *q, uint32_t rank, struct inq_candidate *candidate,
                       struct inq_err *err)
{
    const struct inq_calls *calls = &q->trace->ranks[rank].calls;
    const int64_t *pause_ns = &q->silences->pause_ns[q->silences->first[rank]];
    size_t longest = 0;

    for (size_t i = 0; i < calls->n; i++) {
        longest = pause_ns[i] > pause_ns[longest] ? i : longest;
    }
    struct inq_host_gap gap = {.begin_ns = calls->start_ns[longest] - pause_ns[longest],
                               .end_ns = calls->start_ns[longest],
                               .launch_ns = calls->start_ns[longest],
                               .lane = calls->lane[longest]};
    return add_gap(q, rank, &gap, "its host made no call", candidate, err);
}

/* How long the GPUs of the ranks idled, or for how long their hosts paused where silences tell. */
static void set_times(const struct pauses *p, struct inq_candidate *candidate)
{
    const struct inq_step_stats *cells = p->q->cells;
    double own_ns = 0.0;
    double n = 0.0;

    for (size_t i = 0; i < candidate->n_ranks; i++) {
        for (size_t s = cells->first_step; s < cells->n_steps; s++) {
            double ns = p->idle[at(p, candidate->ranks[i], s)];
            own_ns += isnan(ns) ? 0.0 : ns;
            n += !isnan(ns);
        }
    }
    size_t steps = cells->n_steps - cells->first_step;
    own_ns = p->silent ? p->sum_ns : own_ns;
    candidate->silences = p->silent;
    candidate->own_ns = (int64_t)llround(own_ns / n);
    candidate->peers_ns = (int64_t)llround((own_ns - p->sum_ns) / n);
    candidate->late_ns = (int64_t)llround(p->sum_ns / (double)p->n);
    candidate->pauses = p->n;
    candidate->steps = steps;
    candidate->step_ns = (int64_t)llround(p->q->delays->step_ns);
}

/* What nothing recorded names is taken for garbage collection where most ranks have it. That other
 * causes are not excluded then leaves a hypothesis. */
static void set_kind(const struct pauses *p, struct inq_candidate *candidate)
{
    bool named = is_collection(candidate->running);
    bool most = (double)candidate->n_ranks >= MOST_RANKS_PART * (double)p->q->cells->n_ranks;
    bool alike = candidate->running[0] == '\0' && most;

    candidate->kind = named || alike ? INQ_FINDING_UNPLANNED_GC : INQ_FINDING_LATE_HOST;
    candidate->confidence = alike ? INQ_CONFIDENCE_HYPOTHESIS : INQ_CONFIDENCE_SUPPORTED;
}

static int init_candidate(const struct inq_inquiry *q, size_t n_ranks,
                          struct inq_candidate *candidate, struct inq_err *err)
{
    *candidate = (struct inq_candidate){
        .group = INQ_NONE, .stage = -1, .ratio = (double)NAN, .running = "", .rotates = true};
    candidate->ranks = inq_arena_array(q->arena, n_ranks, sizeof(*candidate->ranks));
    candidate->evidence = inq_arena_array(q->arena, INQ_HOST_GAPS, sizeof(*candidate->evidence));
    return candidate->ranks && candidate->evidence
               ? INQ_OK
               : inq_err_set(err, INQ_NOMEM, "no memory for a candidate");
}

/* Whether its host was silent for as long as those pause, whatever the others did then. */
static bool is_silent(const struct pauses *p, size_t rank)
{
    double least_ns = LIKE_PART * p->sum_ns / (double)p->n;

    for (size_t s = p->q->cells->first_step; s < p->q->cells->n_steps; s++) {
        if ((double)p->q->silences->step_ns[at(p, rank, s)] >= least_ns) {
            return true;
        }
    }
    return false;
}

/* What was looked at, and what of it tells the pauses: of ranks that it shows none of, the other
 * may show some. A host that pauses while its GPU waits for another one leaves no idle time, and
 * steps that no other one is like no silences. */
struct views {
    struct pauses of[2];
    const struct pauses *main, *other;
};

static bool is_among(const struct views *v, size_t rank)
{
    return pauses_ever(v->main, rank) || pauses_ever(v->other, rank) ||
           (!v->main->known[rank] && is_silent(v->main, rank));
}

/* How much longer the rank's step is than its shortest. */
static double longer_by(const struct inq_step_stats *cells, size_t rank, size_t step)
{
    const struct inq_step_stat *own = inq_step_stat_at(cells, rank, step);
    int64_t least_ns = own->end_ns - own->start_ns;

    for (size_t s = cells->first_step; s < cells->n_steps; s++) {
        const struct inq_step_stat *cell = inq_step_stat_at(cells, rank, s);
        int64_t ns = cell->valid ? cell->end_ns - cell->start_ns : least_ns;
        least_ns = ns < least_ns ? ns : least_ns;
    }
    return (double)(own->end_ns - own->start_ns - least_ns);
}

/* What the pauses cost where nothing can be simulated: the longest of each step, but for what a
 * host that is ahead of its GPU hides. That much neither the GPU idles nor the step is longer. */
static double cost_of(const struct views *v)
{
    const struct inq_step_stats *cells = v->main->q->cells;
    const struct pauses *idle = v->main->silent ? v->other : v->main;
    double sum_ns = 0.0;

    for (size_t s = cells->first_step; s < cells->n_steps; s++) {
        double worst_ns = 0.0;
        for (size_t r = 0; r < cells->n_ranks; r++) {
            if (is_pause(v->main, r, s)) {
                double seen_ns = fmax(idle->excess[at(idle, r, s)], longer_by(cells, r, s));
                worst_ns = fmax(worst_ns, fmin(v->main->excess[at(v->main, r, s)], seen_ns));
            }
        }
        sum_ns += worst_ns;
    }
    return sum_ns / (double)(cells->n_steps - cells->first_step);
}

static int make(const struct views *v, struct inq_candidate *candidate, struct inq_err *err)
{
    const struct inq_inquiry *q = v->main->q;
    int code = init_candidate(q, q->cells->n_ranks, candidate, err);

    for (uint32_t r = 0; code == INQ_OK && r < q->cells->n_ranks; r++) {
        if (is_among(v, r)) {
            candidate->ranks[candidate->n_ranks++] = r;
            code = !pauses_ever(v->main, r) ? INQ_OK
                   : v->main->silent        ? add_silence(q, r, candidate, err)
                                            : add_idle(q, r, candidate, err);
        }
    }
    set_times(v->main, candidate);
    candidate->cost_ns_per_step = (int64_t)llround(cost_of(v));
    set_kind(v->main, candidate);
    inq_arrivals_of(q->trace, candidate->ranks, candidate->n_ranks, &candidate->last_arrivals,
                    &candidate->waits);
    return code;
}

/* Those that were told by themselves and are among the pausing ones go. */
static size_t drop_told(const struct views *v, struct inq_candidate *candidates, size_t n)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        bool stays = candidates[i].kind != INQ_FINDING_LATE_HOST;
        for (size_t k = 0; !stays && k < candidates[i].n_ranks; k++) {
            stays = !is_among(v, candidates[i].ranks[k]);
        }
        if (stays) {
            candidates[kept++] = candidates[i];
        }
    }
    return kept;
}

static bool rotate(const struct pauses *p)
{
    return p->n_untold >= FEWEST || p->n_ranks > FEWEST;
}

static int find(struct views *v, struct inq_candidate *candidates, size_t *n, struct inq_err *err)
{
    struct inq_candidate candidate;

    measure(&v->of[0], candidates, *n);
    measure(&v->of[1], candidates, *n);
    bool silent = rotate(&v->of[0]) && (v->of[0].n >= v->of[1].n || !rotate(&v->of[1]));
    v->main = &v->of[silent ? 0 : 1];
    v->other = &v->of[silent ? 1 : 0];
    if (!rotate(v->main)) {
        return INQ_OK;
    }
    int code = make(v, &candidate, err);
    if (code == INQ_OK) {
        *n = drop_told(v, candidates, *n);
        candidates[(*n)++] = candidate;
    }
    return code;
}

/* ---- pauses in most steps ---------------------------------------------------------------------
 */

/* Ranks with pauses, in ascending order, and what these take of a step: the longest of each step
 * is what all wait for. */
static int count_silences(const struct inq_inquiry *q, const struct inq_silences *silences,
                          struct inq_candidate *candidate, struct inq_err *err)
{
    const struct inq_step_stats *cells = q->cells;
    size_t steps = cells->n_steps - cells->first_step;
    int64_t sum_ns = 0;
    int64_t worst_ns = 0;
    uint64_t judged = 0;
    int code = INQ_OK;

    for (size_t s = cells->first_step; s < cells->n_steps; s++) {
        int64_t most_ns = 0;
        for (uint32_t r = 0; r < cells->n_ranks; r++) {
            int64_t ns = silences->step_ns[r * cells->n_steps + s];
            candidate->pauses += silences->step_n[r * cells->n_steps + s];
            sum_ns += ns;
            most_ns = ns > most_ns ? ns : most_ns;
            judged += inq_step_stat_at(cells, r, s)->valid;
        }
        worst_ns += most_ns;
    }
    for (uint32_t r = 0; code == INQ_OK && r < cells->n_ranks; r++) {
        size_t with = 0;
        for (size_t s = cells->first_step; s < cells->n_steps && with == 0; s++) {
            with = silences->step_n[r * cells->n_steps + s];
        }
        if (with > 0) {
            candidate->ranks[candidate->n_ranks++] = r;
            code = add_silence(q, r, candidate, err);
        }
    }
    candidate->late_ns = candidate->pauses > 0 ? sum_ns / (int64_t)candidate->pauses : 0;
    candidate->own_ns =
        judged > 0 ? sum_ns / (int64_t)judged : 0; /* a host that is ahead hides some of it */
    candidate->steps = steps;
    candidate->step_ns = (int64_t)llround(q->delays->step_ns);
    candidate->cost_ns_per_step = worst_ns / (int64_t)steps;
    return code;
}

static int find_everywhere(const struct inq_inquiry *q, const struct inq_silences *silences,
                           struct inq_attribution *found, struct inq_err *err)
{
    struct inq_candidate *candidate = &found->candidates[found->n_candidates];
    int code = init_candidate(q, q->cells->n_ranks, candidate, err);

    candidate->everywhere = true;
    candidate->silences = true;
    if (code == INQ_OK) {
        code = count_silences(q, silences, candidate, err);
    }
    if (code == INQ_OK) {
        candidate->kind =
            is_collection(candidate->running) ? INQ_FINDING_UNPLANNED_GC : INQ_FINDING_LATE_HOST;
        candidate->confidence = INQ_CONFIDENCE_SUPPORTED;
        inq_arrivals_of(q->trace, candidate->ranks, candidate->n_ranks, &candidate->last_arrivals,
                        &candidate->waits);
        found->n_candidates++;
    }
    return code;
}

static int init_pauses(const struct inq_inquiry *q, bool silent, struct pauses *p,
                       struct inq_err *err)
{
    size_t n_ranks = q->cells->n_ranks;
    size_t n_cells = n_ranks * q->cells->n_steps;

    p->q = q;
    p->silent = silent;
    p->idle = inq_mem_alloc((3 * n_cells + n_ranks + q->cells->n_steps + 1) * sizeof(*p->idle));
    p->known = inq_mem_zalloc(2 * n_ranks + 1, sizeof(*p->known));
    if (!p->idle || !p->known) {
        return inq_err_set(err, INQ_NOMEM, "no memory for the pauses of %zu ranks", n_ranks);
    }
    p->excess = p->idle + n_cells;
    p->usual = p->excess + n_cells;
    p->limit_then_ns = p->usual + n_ranks;
    p->scratch = p->limit_then_ns + q->cells->n_steps;
    p->told = p->known + n_ranks;
    return INQ_OK;
}

static int find_in_turn(const struct inq_inquiry *q, struct inq_attribution *found,
                        struct inq_err *err)
{
    struct views v = {0};
    int code = INQ_OK;

    if (q->cells->one_step || q->cells->n_ranks < 2) {
        return INQ_OK;
    }
    for (int i = 0; code == INQ_OK && i < 2; i++) {
        code = init_pauses(q, i == 0, &v.of[i], err);
    }
    if (code == INQ_OK) {
        code = find(&v, found->candidates, &found->n_candidates, err);
    }
    for (int i = 0; i < 2; i++) {
        inq_mem_free(v.of[i].idle);
        inq_mem_free(v.of[i].known);
    }
    return code;
}

int inq_candidates_of_pauses(const struct inq_inquiry *q, struct inq_attribution *found,
                             struct inq_err *err)
{
    return q->silences->everywhere ? find_everywhere(q, q->silences, found, err)
                                   : find_in_turn(q, found, err);
}
