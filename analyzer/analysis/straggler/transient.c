/* SPDX-License-Identifier: Apache-2.0 */
/* Slow steps of a rank, by its own other steps and by what other ranks take in the same step: both
 * are the same whatever stage the ranks are of, so that a rank needs no peers for it. */
#include "analysis/straggler/transient.h"

#include "analysis/straggler/candidates.h"
#include "analysis/straggler/straggler.h"
#include "base/mem.h"
#include "base/sort.h"
#include "base/stats.h"

#include <math.h>
#include <string.h>

/* Of two steps neither is the usual one. */
enum { LEAST_STEPS = 3 };
/* Ratios are sorted as whole numbers. */
#define PPB 1e9

struct transients {
    const struct inq_step_stats *cells;
    double *usual_ns; /* [n_ranks] median over the steps; NaN: too few of them */
    int64_t *ratio;   /* [n_ranks * n_steps] compute over what is usual for the rank, in ppb */
    double *off;      /* [n_ranks * n_steps] beyond what other ranks take of their usual in the
                       * step; NaN: not known */
    int64_t *sorted;  /* [n_ranks] scratch */
    double *scratch;  /* [n_ranks * n_steps] */
};

static void transients_release(struct transients *t)
{
    inq_mem_free(t->usual_ns);
    inq_mem_free(t->ratio);
    inq_mem_free(t->off);
    inq_mem_free(t->sorted);
    inq_mem_free(t->scratch);
}

static int transients_init(struct transients *t, const struct inq_step_stats *cells,
                           struct inq_err *err)
{
    size_t n = cells->n_ranks * cells->n_steps;

    *t = (struct transients){.cells = cells};
    t->usual_ns = inq_mem_alloc((cells->n_ranks + 1) * sizeof(*t->usual_ns));
    t->ratio = inq_mem_alloc((n + 1) * sizeof(*t->ratio));
    t->off = inq_mem_alloc((n + 1) * sizeof(*t->off));
    t->sorted = inq_mem_alloc((cells->n_ranks + 1) * sizeof(*t->sorted));
    t->scratch = inq_mem_alloc((n + 1) * sizeof(*t->scratch));
    bool all = t->usual_ns && t->ratio && t->off && t->sorted && t->scratch;
    return all ? INQ_OK
               : inq_err_set(err, INQ_NOMEM, "no memory to compare the steps of %zu ranks",
                             cells->n_ranks);
}

static double usual_compute(struct transients *t, size_t r)
{
    size_t n = 0;

    for (size_t s = t->cells->first_step; s < t->cells->n_steps; s++) {
        const struct inq_step_stat *cell = inq_step_stat_at(t->cells, r, s);
        if (cell->valid) {
            t->scratch[n++] = (double)cell->compute_ns;
        }
    }
    double usual_ns = n >= LEAST_STEPS ? inq_median(t->scratch, n) : 0.0;
    return usual_ns > 0.0 ? usual_ns : (double)NAN;
}

static bool is_known(const struct transients *t, size_t r, size_t s)
{
    return !isnan(t->usual_ns[r]) && inq_step_stat_at(t->cells, r, s)->valid;
}

/* How far each rank is beyond the others in the step. */
static void compare_in_step(struct transients *t, size_t s)
{
    size_t n_steps = t->cells->n_steps;
    size_t n = 0;

    for (size_t r = 0; r < t->cells->n_ranks; r++) {
        if (is_known(t, r, s)) {
            double ns = (double)inq_step_stat_at(t->cells, r, s)->compute_ns;
            t->ratio[r * n_steps + s] = (int64_t)llround(PPB * ns / t->usual_ns[r]);
            t->sorted[n++] = t->ratio[r * n_steps + s];
        }
    }
    inq_sort_i64(t->sorted, n);
    for (size_t r = 0; r < t->cells->n_ranks; r++) {
        bool known = n > 1 && is_known(t, r, s);
        int64_t own = known ? t->ratio[r * n_steps + s] : 0;
        int64_t others = known ? inq_median_of_others_i64(t->sorted, n, own) : 0;
        t->off[r * n_steps + s] = others > 0 ? (double)own / (double)others - 1.0 : (double)NAN;
    }
}

/* Sigma of the deviations from the usual, where few of them do not sway it; *n: how many. */
static double sigma_of(struct transients *t, size_t first, size_t end, size_t *n)
{
    *n = 0;
    for (size_t i = first; i < end; i++) {
        if (!isnan(t->off[i])) {
            t->scratch[(*n)++] = fabs(t->off[i]);
        }
    }
    return *n > 0 ? INQ_MAD_SIGMA * inq_median(t->scratch, *n) : 0.0;
}

/* A rank's slow steps: beyond what chance explains of all ranks' steps and of its own, and fewer
 * than half, as no other step would be the usual one. */
static void mark(struct transients *t, size_t r, double sigma, double freedom, double *usual_part)
{
    const double *off = &t->off[r * t->cells->n_steps];
    size_t n = 0;
    double own_sigma = sigma_of(t, r * t->cells->n_steps, (r + 1) * t->cells->n_steps, &n);
    double least = inq_straggler_limit(freedom) * fmax(sigma, own_sigma);
    size_t slow = 0;

    least = fmax(least, INQ_TRANSIENT_RATIO - 1.0);
    for (size_t s = 0; s < t->cells->n_steps; s++) {
        slow += off[s] >= least ? 1 : 0;
    }
    for (size_t s = 0; 2 * slow < n && s < t->cells->n_steps; s++) {
        usual_part[r * t->cells->n_steps + s] = off[s] >= least ? 1.0 / (1.0 + off[s]) : 1.0;
    }
}

int inq_transients_find(const struct inq_step_stats *cells, double *usual_part, struct inq_err *err)
{
    size_t n_cells = cells->n_ranks * cells->n_steps;
    struct transients t;
    size_t compared = 0;
    size_t n = 0;
    int code = transients_init(&t, cells, err);

    for (size_t i = 0; i < n_cells; i++) {
        usual_part[i] = 1.0;
    }
    for (size_t r = 0; code == INQ_OK && r < cells->n_ranks; r++) {
        t.usual_ns[r] = usual_compute(&t, r);
        compared += isnan(t.usual_ns[r]) ? 0 : 1;
    }
    for (size_t s = 0; code == INQ_OK && s < cells->n_steps; s++) {
        compare_in_step(&t, s);
    }
    if (code == INQ_OK && compared > 1) {
        double sigma = fmax(sigma_of(&t, 0, n_cells, &n), INQ_STRAGGLER_SIGMA_SHARE);
        double freedom = (double)(compared - 1) * ((double)n / (double)compared - 1.0);
        for (size_t r = 0; r < cells->n_ranks; r++) {
            mark(&t, r, sigma, freedom, usual_part);
        }
    }
    transients_release(&t);
    return code;
}

/* ---- candidates ------------------------------------------------------------------------------ */

/* The rank against what it computes in its other steps. */
static struct inq_delay delay_of(const struct inq_inquiry *q, uint32_t rank, const double *part,
                                 bool *steps)
{
    struct inq_delay d = {
        .rank = rank, .step_ns = q->delays->step_ns, .computes = true, .in_steps = steps};
    double extra_ns = 0.0;
    double compute_ns = 0.0;
    double seen_ns = 0.0;

    for (size_t s = q->cells->first_step; s < q->cells->n_steps; s++) {
        const struct inq_step_stat *cell = inq_step_stat_at(q->cells, rank, s);
        steps[s] = cell->valid && part[s] < 1.0;
        d.steps += cell->valid;
        d.seen += steps[s];
        compute_ns += cell->valid ? (double)cell->compute_ns : 0.0;
        extra_ns += steps[s] ? (1.0 - part[s]) * (double)cell->compute_ns : 0.0;
        seen_ns += steps[s] ? part[s] * (double)cell->compute_ns : 0.0;
    }
    double n = d.steps > 0 ? (double)d.steps : 1.0;
    double n_seen = d.seen > 0 ? (double)d.seen : 1.0;
    d.compute.ns = d.cost_ns = extra_ns / n;
    d.late_ns = extra_ns / n_seen;
    d.peers_compute_ns = d.seen > 0 ? seen_ns / n_seen : compute_ns / n;
    return d;
}

int inq_candidates_of_transients(const struct inq_inquiry *q, struct inq_attribution *found,
                                 struct inq_err *err)
{
    size_t n = q->cells->n_ranks * q->cells->n_steps;
    double least_ns = INQ_STRAGGLER_COST_SHARE * q->delays->step_ns;
    double *usual_part = inq_mem_alloc((n + 1) * sizeof(*usual_part));
    bool *steps = inq_mem_zalloc(q->cells->n_steps + 1, sizeof(*steps));
    int code = usual_part && steps
                   ? inq_transients_find(q->cells, usual_part, err)
                   : inq_err_set(err, INQ_NOMEM, "no memory for %zu steps", q->cells->n_steps);

    for (uint32_t r = 0; code == INQ_OK && r < q->cells->n_ranks; r++) {
        struct inq_delay d = delay_of(q, r, &usual_part[r * q->cells->n_steps], steps);
        if (d.cost_ns >= least_ns && !inq_candidates_name(found, r, false)) {
            code = inq_candidates_of_delay(q, &d, found, err);
        }
    }
    inq_mem_free(usual_part);
    inq_mem_free(steps);
    return code;
}
