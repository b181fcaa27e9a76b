/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/check/peers.h"

#include "analysis/check/check.h"
#include "base/mem.h"
#include "base/sort.h"
#include "base/stats.h"

#include <math.h>
#include <string.h>

struct peers {
    const struct inq_run_record *record;
    const struct inq_roles *roles;
    double *ratios;  /* [ranks * steps], a rank's together; NaN: not in the step, or alone */
    double *own;     /* [ranks] compute in the step at hand */
    double *sorted;  /* [ranks] of one role */
    double *scratch; /* [steps] */
};

static double compute_ns(const struct peers *p, size_t rank, size_t step)
{
    const struct inq_account_cell *cell =
        inq_account_cell_at(p->record->report->account, rank, step);
    return inq_run_record_counts(p->record, rank, step)
               ? (double)(cell->ns[INQ_ACCOUNT_COMPUTE] + cell->ns[INQ_ACCOUNT_UNCLASSIFIED])
               : (double)NAN;
}

/* Median of n sorted values without one of them, which is `own`. */
static double median_without(const double *sorted, size_t n, double own)
{
    size_t low = (n - 2) / 2;
    size_t high = (n - 1) / 2;
    bool below = own <= sorted[low]; /* equal ones stand for each other */
    bool between = own <= sorted[high];
    return (sorted[below ? low + 1 : low] + sorted[between ? high + 1 : high]) / 2.0;
}

static void add_step(struct peers *p, uint32_t role, size_t step)
{
    size_t n = 0;
    for (size_t r = 0; r < p->record->n_ranks; r++) {
        if (p->roles->of[r] == role) {
            p->own[r] = compute_ns(p, r, step);
            p->sorted[n] = p->own[r];
            n += isfinite(p->own[r]);
        }
    }
    if (n < 2) {
        return;
    }
    inq_sort_double(p->sorted, n);
    for (size_t r = 0; r < p->record->n_ranks; r++) {
        if (p->roles->of[r] == role && isfinite(p->own[r])) {
            double others = median_without(p->sorted, n, p->own[r]);
            p->ratios[r * p->record->n_account_steps + step] =
                others > 0.0 ? p->own[r] / others : (double)NAN;
        }
    }
}

/* The rank's finite ratios to the scratch. */
static size_t collect(const struct peers *p, size_t rank)
{
    size_t steps = p->record->n_account_steps;
    size_t n = 0;
    for (size_t s = 0; s < steps; s++) {
        p->scratch[n] = p->ratios[rank * steps + s];
        n += isfinite(p->scratch[n]);
    }
    return n;
}

static void find_leader(const struct peers *p, uint32_t role, struct inq_measure *measure,
                        size_t *rank)
{
    double most = 0.0;
    for (size_t r = 0; r < p->record->n_ranks; r++) {
        size_t n = role == INQ_NONE || p->roles->of[r] == role ? collect(p, r) : 0;
        double typical = n > 0 ? inq_median(p->scratch, n) : 0.0;
        if (typical > most) {
            most = typical;
            *rank = r;
        }
    }
    if (most > 0.0) {
        *measure = inq_measure_of_ratios(p->scratch, collect(p, *rank));
    }
}

static int make_room(struct peers *p, struct inq_err *err)
{
    size_t ranks = p->record->n_ranks;
    size_t steps = p->record->n_account_steps;
    p->ratios = inq_mem_alloc((ranks * steps + 1) * sizeof *p->ratios);
    p->own = inq_mem_zalloc(ranks + 1, sizeof *p->own);
    p->sorted = inq_mem_zalloc(ranks + 1, sizeof *p->sorted);
    p->scratch = inq_mem_zalloc(steps + 1, sizeof *p->scratch);
    if (p->ratios == NULL || p->own == NULL || p->sorted == NULL || p->scratch == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory to compare %zu ranks", ranks);
    }
    for (size_t i = 0; i < ranks * steps; i++) {
        p->ratios[i] = (double)NAN;
    }
    return INQ_OK;
}

int inq_measure_of_peers(const struct inq_run_record *record, const struct inq_roles *roles,
                         uint32_t role, struct inq_measure *measure, size_t *rank,
                         struct inq_err *err)
{
    struct peers p = {.record = record, .roles = roles};
    *measure = (struct inq_measure){.value = (double)NAN, .low = (double)NAN, .high = (double)NAN};
    int code = make_room(&p, err);
    for (uint32_t k = 0; code == INQ_OK && k < roles->n; k++) {
        for (size_t s = 0; (role == INQ_NONE || role == k) && s < record->n_account_steps; s++) {
            add_step(&p, k, s);
        }
    }
    if (code == INQ_OK) {
        find_leader(&p, role, measure, rank);
    }
    inq_mem_free(p.ratios);
    inq_mem_free(p.own);
    inq_mem_free(p.sorted);
    inq_mem_free(p.scratch);
    return code;
}

/* ---- stages ---------------------------------------------------------------------------------- */

/* Mean compute of the ranks of each role in a step; NaN: a role has none. */
static void stages_of_step(const struct peers *p, size_t step, double *mean, double *ranks)
{
    for (uint32_t k = 0; k < p->roles->n; k++) {
        mean[k] = ranks[k] = 0.0;
    }
    for (size_t r = 0; r < p->record->n_ranks; r++) {
        double ns = compute_ns(p, r, step);
        mean[p->roles->of[r]] += isfinite(ns) ? ns : 0.0;
        ranks[p->roles->of[r]] += isfinite(ns) ? 1.0 : 0.0;
    }
    for (uint32_t k = 0; k < p->roles->n; k++) {
        mean[k] = ranks[k] > 0.0 ? mean[k] / ranks[k] : (double)NAN;
    }
}

/* NaN: it is not in the step, or alone there. */
static double stage_ratio(const double *mean, size_t n, uint32_t role, double *others)
{
    size_t kept = 0;
    for (size_t k = 0; k < n; k++) {
        others[kept] = mean[k];
        kept += k != role && isfinite(mean[k]);
    }
    double middle = inq_median(others, kept);
    return middle > 0.0 ? mean[role] / middle : (double)NAN;
}

int inq_measure_of_stage(const struct inq_run_record *record, const struct inq_roles *roles,
                         uint32_t role, struct inq_measure *measure, struct inq_err *err)
{
    struct peers p = {.record = record, .roles = roles};
    double *room = inq_mem_zalloc(3 * roles->n + record->n_account_steps + 1, sizeof *room);
    double *ratios = room + 3 * roles->n;
    size_t n = 0;
    if (room == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory to compare %zu stages", roles->n);
    }
    for (size_t s = 0; s < record->n_account_steps; s++) {
        stages_of_step(&p, s, room, room + roles->n);
        ratios[n] = stage_ratio(room, roles->n, role, room + 2 * roles->n);
        n += isfinite(ratios[n]);
    }
    *measure = inq_measure_of_ratios(ratios, n);
    inq_mem_free(room);
    return INQ_OK;
}
