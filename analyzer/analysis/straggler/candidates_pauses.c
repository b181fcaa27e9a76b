/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts that pause, as one candidate: in most of their steps (silences.c), or in turn. When every
 * rank collects its garbage in a step of its own, all wait in nearly every step, and no rank is
 * late more often than the others: only the pauses themselves stand out. */
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
 * that begin with the hosts in step, all idle; neither is a pause. A host that pauses while its GPU
 * waits for another one leaves no idle time; its calls show it: a silence beyond its usual one by
 * this part of the pauses seen is one of them. */
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
    double *idle;    /* [n_ranks * n_steps] the GPU's time without work, missing input apart; NaN */
    double *excess;  /* [n_ranks * n_steps] over the rank's usual, and over what all lose then */
    double *scratch; /* [n_ranks * n_steps + 1] */
    double *usual;   /* [n_ranks] median idle time */
    bool *known;     /* [n_ranks] its host is late, and in half of the steps or more: no pauses */
    bool *told;      /* [n_ranks] its host is a candidate already */
    bool *hidden;    /* [n_ranks] it pauses, but only while others do */
    double limit_ns;
    double *limit_then_ns;   /* [n_steps] the same in steps in which all lose at once; else 0 */
    double limit_times;      /* logarithm */
    double longest_ns;       /* largest excess */
    bool apart;              /* pauses stand out so far that the factors need not say so */
    size_t n, n_ranks;       /* pauses, ranks that have them */
    size_t n_untold;         /* of these, those that are no candidates yet */
    double sum_ns, worst_ns; /* of all pauses; of the longest of each step */
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
                (double)(cell->host_ns + cell->other_ns - cell->dependency_ns);
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
        double worst_ns = 0.0;
        for (size_t r = 0; r < cells->n_ranks; r++) {
            if (is_pause(p, r, s)) {
                p->n++;
                p->sum_ns += p->excess[at(p, r, s)];
                worst_ns = fmax(worst_ns, p->excess[at(p, r, s)]);
            }
        }
        p->worst_ns += worst_ns;
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

/* ---- pauses that others hide ----------------------------------------------------------------- */

/* The longest time without a call of each step of a rank; 0 where there is none. Time within a call
 * is none: it may wait for the GPU; nor is a wait for it that no call says. */
static void find_silences(const struct inq_trace *trace, uint32_t rank, const struct inq_busy *work,
                          int64_t *silence)
{
    const struct inq_calls *calls = &trace->ranks[rank].calls;
    size_t s = 0;

    memset(silence, 0, trace->n_steps * sizeof(*silence));
    for (size_t i = 1; i < calls->n; i++) {
        int64_t ns = calls->start_ns[i] - calls->start_ns[i - 1] - calls->dur_ns[i - 1];
        while (s < trace->n_steps && (trace->steps[s].rank_end_ns[rank] == INQ_TIME_NONE ||
                                      trace->steps[s].rank_end_ns[rank] < calls->start_ns[i])) {
            s++;
        }
        bool same = calls->lane[i] == calls->lane[i - 1] && s < trace->n_steps &&
                    trace->steps[s].rank_start_ns[rank] <= calls->start_ns[i];
        if (same && ns > silence[s] && !inq_busy_is_done(work, calls->start_ns[i])) {
            silence[s] = ns;
        }
    }
}

/* Whether a rank's calls show a pause like those that were seen, beyond what its silences vary. */
static bool pauses_unseen(const struct pauses *p, uint32_t rank, const struct inq_busy *work,
                          int64_t *silence)
{
    const struct inq_step_stats *cells = p->q->cells;
    size_t n = 0;

    find_silences(p->q->trace, rank, work, silence);
    for (size_t s = cells->first_step; s < cells->n_steps; s++) {
        p->scratch[n++] = (double)silence[s];
    }
    double usual_ns = inq_median(p->scratch, n);
    double sigma_ns = INQ_MAD_SIGMA * inq_mad(p->scratch, n, usual_ns);
    double least_ns =
        usual_ns + fmax(LIKE_PART * p->sum_ns / (double)p->n, INQ_STRAGGLER_SIGMAS * sigma_ns);
    for (size_t s = cells->first_step; s < cells->n_steps; s++) {
        if (inq_step_stat_at(cells, rank, s)->valid && (double)silence[s] >= least_ns) {
            return true;
        }
    }
    return false;
}

static int find_hidden(struct pauses *p, struct inq_err *err)
{
    const struct inq_trace *trace = p->q->trace;
    struct inq_busy work = {0};
    int64_t *silence = inq_mem_alloc((trace->n_steps + 1) * sizeof(*silence));
    int code = silence ? inq_busy_init(&work, trace, err)
                       : inq_err_set(err, INQ_NOMEM, "no memory for %zu steps", trace->n_steps);

    for (uint32_t r = 0; code == INQ_OK && r < p->q->cells->n_ranks; r++) {
        if (!p->known[r] && !pauses_ever(p, r)) {
            inq_busy_load(&work, &trace->ranks[r].events);
            p->hidden[r] = pauses_unseen(p, r, &work, silence);
            p->n_ranks += p->hidden[r];
        }
    }
    inq_mem_free(silence);
    inq_busy_release(&work);
    return code;
}

/* ---- the candidate -----------------------------------------------------------------------------
 */

static bool is_collection(const char *name)
{
    return strstr(name, "garbage") != NULL || strstr(name, "gc.collect") != NULL ||
           strstr(name, "gc_collect") != NULL;
}

/* The longest gap of the rank as evidence, and what its host was in. */
static int add_gap(const struct inq_inquiry *q, uint32_t rank, struct inq_candidate *candidate,
                   struct inq_err *err)
{
    struct inq_host_gaps gaps;
    int code = inq_host_gaps_find(q->trace, q->cells, rank, &gaps, err);

    if (code != INQ_OK || gaps.n == 0) {
        return code;
    }
    const char *running = inq_trace_str(q->trace, gaps.at[0].running);
    candidate->running = candidate->running[0] == '\0' ? running : candidate->running;
    candidate->launches_known = candidate->launches_known || gaps.at[0].launch_ns != INQ_TIME_NONE;
    if (candidate->n_evidence == INQ_HOST_GAPS) {
        return INQ_OK;
    }
    const char *what = inq_arena_asprintf(q->arena, "%s idle while its host paused",
                                          inq_rank_device(q->trace, &q->trace->ranks[rank]));
    if (what == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory");
    }
    candidate->evidence[candidate->n_evidence++] = (struct inq_evidence){
        q->trace->ranks[rank].rank, "", gaps.at[0].begin_ns, gaps.at[0].end_ns, what};
    return INQ_OK;
}

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
    candidate->own_ns = (int64_t)llround(own_ns / n);
    candidate->peers_ns = (int64_t)llround((own_ns - p->sum_ns) / n);
    candidate->late_ns = (int64_t)llround(p->sum_ns / (double)p->n);
    candidate->pauses = p->n;
    candidate->steps = steps;
    candidate->step_ns = (int64_t)llround(p->q->delays->step_ns);
    candidate->cost_ns_per_step = (int64_t)llround(p->worst_ns / (double)steps);
}

/* What nothing recorded names is taken for garbage collection where most ranks have it. That other
 * causes are not excluded then leaves a hypothesis. */
static void set_kind(const struct pauses *p, struct inq_candidate *candidate)
{
    bool named = is_collection(candidate->running);
    bool most = (double)p->n_ranks >= MOST_RANKS_PART * (double)p->q->cells->n_ranks;
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

static int make(const struct pauses *p, struct inq_candidate *candidate, struct inq_err *err)
{
    int code = init_candidate(p->q, p->n_ranks, candidate, err);

    for (uint32_t r = 0; code == INQ_OK && r < p->q->cells->n_ranks; r++) {
        if (p->hidden[r]) {
            candidate->ranks[candidate->n_ranks++] = r;
        } else if (pauses_ever(p, r)) {
            candidate->ranks[candidate->n_ranks++] = r;
            code = add_gap(p->q, r, candidate, err);
        }
    }
    set_times(p, candidate);
    set_kind(p, candidate);
    inq_arrivals_of(p->q->trace, candidate->ranks, candidate->n_ranks, &candidate->last_arrivals,
                    &candidate->waits);
    return code;
}

/* Those that were told by themselves and are among the pausing ones go. */
static size_t drop_told(const struct pauses *p, struct inq_candidate *candidates, size_t n)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        bool stays = candidates[i].kind != INQ_FINDING_LATE_HOST;
        for (size_t k = 0; !stays && k < candidates[i].n_ranks; k++) {
            uint32_t rank = candidates[i].ranks[k];
            stays = !p->hidden[rank] && !pauses_ever(p, rank);
        }
        if (stays) {
            candidates[kept++] = candidates[i];
        }
    }
    return kept;
}

static int find(struct pauses *p, struct inq_candidate *candidates, size_t *n, struct inq_err *err)
{
    struct inq_candidate candidate;
    int code = INQ_OK;

    measure(p, candidates, *n);
    if (p->n > 0) {
        code = find_hidden(p, err);
    }
    if (code != INQ_OK || (p->n_untold < FEWEST && p->n_ranks <= FEWEST)) {
        return code;
    }
    code = make(p, &candidate, err);
    if (code == INQ_OK) {
        *n = drop_told(p, candidates, *n);
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
            code = add_gap(q, r, candidate, err);
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

static int find_in_turn(const struct inq_inquiry *q, struct inq_attribution *found,
                        struct inq_err *err)
{
    size_t n_ranks = q->cells->n_ranks;
    size_t n_cells = n_ranks * q->cells->n_steps;
    struct pauses p = {.q = q};
    int code = INQ_OK;

    p.idle = inq_mem_alloc((3 * n_cells + n_ranks + q->cells->n_steps + 1) * sizeof(*p.idle));
    p.known = inq_mem_zalloc(3 * n_ranks + 1, sizeof(*p.known));
    if (!p.idle || !p.known) {
        code = inq_err_set(err, INQ_NOMEM, "no memory for the pauses of %zu ranks", n_ranks);
    } else if (!q->cells->one_step && n_ranks > 1) {
        p.excess = p.idle + n_cells;
        p.usual = p.excess + n_cells;
        p.limit_then_ns = p.usual + n_ranks;
        p.scratch = p.limit_then_ns + q->cells->n_steps;
        p.told = p.known + n_ranks;
        p.hidden = p.told + n_ranks;
        code = find(&p, found->candidates, &found->n_candidates, err);
    }
    inq_mem_free(p.idle);
    inq_mem_free(p.known);
    return code;
}

int inq_candidates_of_pauses(const struct inq_inquiry *q, struct inq_attribution *found,
                             struct inq_err *err)
{
    struct inq_silences silences;
    int code = inq_silences_find(q->trace, q->cells, q->roles, &silences, err);

    if (code == INQ_OK) {
        code = silences.everywhere ? find_everywhere(q, &silences, found, err)
                                   : find_in_turn(q, found, err);
    }
    inq_silences_release(&silences);
    return code;
}
