/* SPDX-License-Identifier: Apache-2.0 */
/* Repairs of causes: what ops of a recorded run would have taken without them. */
#include "analysis/straggler/repair.h"
#include "analysis/measure/measure.h"
#include "analysis/straggler/even.h"
#include "analysis/straggler/stretches.h"
#include "analysis/straggler/transient.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/sort.h"
#include "base/stats.h"
#include "trace/trace.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static int no_memory(struct inq_err *err)
{
    return inq_err_set(err, INQ_NOMEM, "out of memory for what a repair gains");
}

/* ---- GPUs ------------------------------------------------------------------------------------ */

static int64_t part_of(const struct inq_step_stat *cell, size_t field)
{
    return *(const int64_t *)(const void *)((const char *)cell + field);
}

static bool is_usual(const struct inq_repairing *x, size_t rank, uint32_t role, size_t step)
{
    return x->study->roles.of[rank] == role && !x->study->chosen[rank] &&
           inq_study_step_stat(x->study, rank, step)->valid;
}

/* Median of what ranks of the role that are not chosen spend in the step; -1: there are none. Of an
 * even number the lower of the middle two: of two the faster, not half a slow one. */
static int64_t usual(const struct inq_repairing *x, uint32_t role, size_t step, size_t field,
                     int64_t *space)
{
    size_t n = 0;
    for (size_t r = 0; r < x->n_ranks; r++) {
        if (is_usual(x, r, role, step)) {
            space[n++] = part_of(inq_study_step_stat(x->study, r, step), field);
        }
    }
    return n > 0 ? inq_lower_median_i64(space, n) : -1;
}

/* Against kernels of the same name on ranks of other roles; 1 where these say nothing. */
static int by_kernels(struct inq_repairing *x, uint32_t rank, double *factor, struct inq_err *err)
{
    struct inq_kernel_comparison c = {.common = 0};
    uint32_t *others = inq_mem_alloc((x->n_ranks + 1) * sizeof *others);
    size_t n = 0;
    if (others == NULL) {
        return no_memory(err);
    }
    for (uint32_t r = 0; r < x->n_ranks; r++) {
        if (!x->study->chosen[r]) {
            others[n++] = r;
        }
    }
    int code = n > 0 ? inq_kernels_against(x->study->trace, &x->study->cells, rank, NULL, others, n,
                                           &c, err)
                     : INQ_OK;
    *factor = c.common > 0 && c.ratio > 1.0 ? 1.0 / c.ratio : 1.0;
    inq_mem_free(others);
    return code;
}

/* What a stretch takes on the ranks that are usual. */
struct usual_stretch {
    int64_t ns;       /* median; -1: there are none */
    double sigma_ns;  /* of one of them; INFINITY: too few tell */
    uint32_t kernels; /* of the first of them */
};

/* Of their k-th stretch, where they have as many and all that is in them is known. */
static struct usual_stretch usual_stretch(const struct inq_repairing *x,
                                          const struct inq_stretches *t, size_t place, size_t k,
                                          int64_t *space)
{
    enum { LEAST_PEERS = 3 };
    struct usual_stretch usual = {.ns = -1, .sigma_ns = (double)INFINITY};
    size_t step = place % x->n_steps;
    uint32_t role = x->study->roles.of[place / x->n_steps];
    size_t n = 0;
    for (size_t r = 0; r < x->n_ranks; r++) {
        size_t other = r * x->n_steps + step;
        bool alike =
            t->start[other + 1] - t->start[other] == t->start[place + 1] - t->start[place] &&
            !t->blind[other] && !t->blind[place];
        if (alike && is_usual(x, r, role, step)) {
            const struct inq_stretch *at = &t->at[t->start[other] + k];
            usual.kernels = n == 0 ? at->kernels : usual.kernels;
            space[n++] = at->compute_ns;
        }
    }
    usual.ns = n > 0 ? inq_lower_median_i64(space, n) : -1;
    if (n >= LEAST_PEERS) {
        for (size_t i = 0; i < n; i++) {
            space[i] = llabs(space[i] - usual.ns);
        }
        usual.sigma_ns = INQ_MAD_SIGMA * (double)inq_median_i64(space, n);
    }
    return usual;
}

/* A stretch is longer for a reason of its own (a hot expert) when it is off what the rank as a
 * whole takes longer by this part of that, and by more than chance explains. */
#define OWN_PART 0.5

/* `ratio`: how many times as long as usual the rank computes. */
static bool differs(const struct inq_stretch *own, const struct usual_stretch *usual, double ratio)
{
    if (usual->ns < 0 || own->compute_ns <= 0) {
        return false;
    }
    double off_ns = fabs((double)own->compute_ns - ratio * (double)usual->ns);
    return usual->kernels != own->kernels ||
           (off_ns >= OWN_PART * (ratio - 1.0) * (double)usual->ns &&
            off_ns >= INQ_STRAGGLER_SIGMAS * ratio * usual->sigma_ns);
}

/* Stretches that differ explain why a rank computes longer if they bring it this close to its
 * target, of the way there; else kernels are in other stretches than they seem. */
#define EXPLAINED_OFF 0.5

/* Stretches that differ, by their kernels or by how long these take, take what is usual; the rest
 * of the step is scaled by one factor, so that the rank comes down to `target` of `own`. */
static void share_out(struct inq_repairing *x, struct inq_stretches *t, size_t place,
                      int64_t own_ns, int64_t target_ns, int64_t *space)
{
    bool known = false;
    int64_t rest_ns = own_ns;
    int64_t rest_target_ns = target_ns;
    for (size_t i = t->start[place]; i < t->start[place + 1]; i++) {
        struct inq_stretch *at = &t->at[i];
        struct usual_stretch usual = usual_stretch(x, t, place, i - t->start[place], space);
        bool own = differs(at, &usual, (double)own_ns / (double)target_ns);
        known = known || usual.ns >= 0;
        at->factor = own ? (double)usual.ns / (double)at->compute_ns : -1.0;
        rest_ns -= own ? at->compute_ns : 0;
        rest_target_ns -= own ? usual.ns : 0;
    }
    double factor = rest_ns > 0 && rest_target_ns > 0 && rest_target_ns < rest_ns
                        ? (double)rest_target_ns / (double)rest_ns
                        : 1.0;
    int64_t off_ns = llabs(rest_target_ns - llround(factor * (double)rest_ns));
    bool explained = (double)off_ns <= EXPLAINED_OFF * (double)(own_ns - target_ns);
    for (size_t i = t->start[place]; i < t->start[place + 1]; i++) {
        bool rest = t->at[i].factor < 0.0;
        t->at[i].factor = !explained ? (double)target_ns / (double)own_ns
                          : rest     ? factor
                                     : t->at[i].factor;
    }
    x->spread = x->spread || !known || t->by_begin;
}

static void set_factor(struct inq_stretches *t, size_t place, double factor)
{
    for (size_t i = t->start[place]; i < t->start[place + 1]; i++) {
        t->at[i].factor = factor;
    }
}

/* Factor of all compute of a rank without peers: to what its kernels take on other ranks; 1 where
 * it is slow in some steps only, of which its others tell what is usual. */
static int factor_alone(struct inq_repairing *x, uint32_t rank, const double *usual_part,
                        double *factor, struct inq_err *err)
{
    *factor = 1.0;
    for (size_t s = 0; s < x->study->cells.n_steps; s++) {
        if (usual_part[s] < 1.0) {
            return INQ_OK;
        }
    }
    return by_kernels(x, rank, factor, err);
}

/* Factors of a chosen rank's compute, and of its copies in each step. */
static int gpu_factors(struct inq_repairing *x, uint32_t rank, const double *usual_part,
                       struct inq_stretches *t, double *copies, int64_t *space, struct inq_err *err)
{
    uint32_t role = x->study->roles.of[rank];
    double alone = -1.0;
    int code = INQ_OK;
    usual_part += rank * x->study->cells.n_steps;
    for (size_t s = 0; code == INQ_OK && s < x->n_steps; s++) {
        const struct inq_step_stat *cell = inq_study_step_stat(x->study, rank, s);
        size_t place = rank * x->n_steps + s;
        int64_t copy_ns = usual(x, role, s, offsetof(struct inq_step_stat, copy_ns), space);
        int64_t ns = usual(x, role, s, offsetof(struct inq_step_stat, compute_ns), space);
        copies[place] =
            copy_ns >= 0 && copy_ns < cell->copy_ns ? (double)copy_ns / (double)cell->copy_ns : 1.0;
        set_factor(t, place, 1.0);
        if (ns < 0) {
            code = alone > 0.0 ? INQ_OK : factor_alone(x, rank, usual_part, &alone, err);
            set_factor(t, place, alone * usual_part[inq_study_step(x->study, s)]);
        } else if (ns < cell->compute_ns) {
            share_out(x, t, place, cell->compute_ns, ns, space);
        }
    }
    return code;
}

/* The same where it is told what is left: stretches with more kernels than is usual give most. */
static void share_left(struct inq_repairing *x, uint32_t rank, const double *left,
                       struct inq_stretches *t, double *copies, int64_t *space)
{
    for (size_t s = 0; s < x->n_steps; s++) {
        size_t place = rank * x->n_steps + s;
        int64_t own_ns = inq_study_step_stat(x->study, rank, s)->compute_ns;
        copies[place] = left[2 * place + 1];
        set_factor(t, place, left[2 * place]);
        if (left[2 * place] < 1.0) {
            share_out(x, t, place, own_ns, llround(left[2 * place] * (double)own_ns), space);
        }
    }
}

/* `left`: what is left of each step; NULL: what is usual. */
static int repair_gpus(struct inq_repairing *x, const double *left, struct inq_err *err)
{
    struct inq_stretches t;
    double *copies = inq_mem_zalloc(x->n_ranks * x->n_steps + 1, sizeof *copies);
    int64_t *space = inq_mem_alloc((x->n_ranks + 1) * sizeof *space);
    double *usual_part =
        inq_mem_alloc((x->n_ranks * x->study->cells.n_steps + 1) * sizeof *usual_part);
    int code = inq_stretches_find(x, false, &t, err);
    if (code == INQ_OK && (copies == NULL || space == NULL || usual_part == NULL)) {
        code = no_memory(err);
    }
    if (code == INQ_OK) {
        code = inq_transients_find(&x->study->cells, usual_part, err);
    }
    for (uint32_t r = 0; code == INQ_OK && r < x->n_ranks; r++) {
        if (x->study->chosen[r] && left != NULL) {
            share_left(x, r, left, &t, copies, space);
        } else if (x->study->chosen[r]) {
            code = gpu_factors(x, r, usual_part, &t, copies, space, err);
        }
    }
    for (size_t i = 0; code == INQ_OK && i < x->n_ops; i++) {
        if (!x->study->chosen[x->run->g.ops[i].rank]) {
            continue;
        }
        if (inq_repairing_is(x, i, INQ_CLASS_COMPUTE)) {
            inq_repairing_scale(x, i, t.at[inq_stretch_of(x, &t, i)].factor);
        } else if (inq_repairing_is(x, i, INQ_CLASS_COPY)) {
            inq_repairing_scale(x, i, copies[inq_repairing_place(x, i)]);
        }
    }
    inq_stretches_release(&t);
    inq_mem_free(copies);
    inq_mem_free(space);
    inq_mem_free(usual_part);
    return code;
}

/* ---- hosts ----------------------------------------------------------------------------------- */

/* When a rank began a judged step before which nothing was recorded: at its mark, or when its GPU
 * had ended the step before, if a total says so (what makes a host late may stand before
 * its mark). */
static int64_t begin_of_step(const struct inq_counterfactual *run, uint32_t rank, size_t s)
{
    const struct inq_step *step = &run->trace->steps[run->first_step + s];
    int64_t mark = step->rank_start_ns[rank];
    int64_t before = inq_rank_step_before_ns(&run->trace->ranks[rank], step->number);
    return before != INQ_TIME_NONE && before < mark ? before : mark;
}

/* What the host did between a call and what it waited for; before the first call, since the step
 * began, and so behind steps that a reduced partial does not have. */
static int64_t host_delay(const struct inq_counterfactual *run, size_t i)
{
    const struct inq_graph *g = run->g.graph;
    bool first = g->dep_start[i] == g->dep_start[i + 1];
    size_t s = run->first_step != INQ_NONE && run->step_of[i] > 0 ? (size_t)run->step_of[i] : 0;
    int64_t delay = first ? 0 : run->recorded_delay_ns[i];
    if (run->first_step == INQ_NONE || (!first && run->gaps_ns[s] == 0)) {
        return delay;
    }
    int64_t begin = begin_of_step(run, run->g.ops[i].rank, s);
    int64_t since = begin != INQ_TIME_NONE ? run->g.start_ns[i] - begin : 0;
    return first || since < delay ? since : delay;
}

/* Time between the ends of a host call and of what it waited for. */
static int64_t host_part(const struct inq_counterfactual *run, size_t i)
{
    if (!run->g.ops[i].host || !inq_counterfactual_judged(run, i)) {
        return 0;
    }
    int64_t ns = host_delay(run, i) + (run->g.ops[i].sync ? 0 : run->recorded_dur_ns[i]);
    return ns > 0 ? ns : 0;
}

/* The host time that is usual for the role in the step; -1: all its ranks are chosen. */
static int64_t usual_host(const struct inq_repairing *x, const int64_t *sums, uint32_t role,
                          size_t step, int64_t *space)
{
    size_t n = 0;
    for (size_t r = 0; r < x->n_ranks; r++) {
        int64_t ns = sums[r * x->n_steps + step];
        if (x->study->roles.of[r] == role && !x->study->chosen[r] && ns > 0) {
            space[n++] = ns;
        }
    }
    return n > 0 ? inq_lower_median_i64(space, n) : -1;
}

/* Whether a host of the role made calls that were recorded, though none in a judged step: it was
 * ahead of its GPU by more than these. */
static bool ran_ahead(const struct inq_repairing *x, uint32_t role)
{
    size_t r = 0;
    while (r < x->n_ranks && (x->study->roles.of[r] != role || x->study->chosen[r] ||
                              x->study->trace->ranks[r].calls.n == 0)) {
        r++;
    }
    return r < x->n_ranks;
}

/* Host times of a role over all its steps, where no other of its ranks is recorded in a step: of
 * those that are not chosen in their other steps, where they ran ahead of all of these none, so
 * that no GPU waited; else of all. */
struct usual_times {
    int64_t middle_ns; /* -1: not known */
    int64_t most_ns;   /* that chance explains */
};

static struct usual_times usual_times_of(const struct inq_repairing *x, const int64_t *sums,
                                         uint32_t role, int64_t *space)
{
    struct usual_times usual = {.middle_ns = -1};
    size_t n = 0;
    for (int all = 0; all <= 1 && n == 0; all++) {
        if (all && ran_ahead(x, role)) {
            return (struct usual_times){0, 0};
        }
        for (size_t k = 0; k < x->n_ranks * x->n_steps && x->n_steps > 1; k++) {
            size_t rank = k / x->n_steps;
            if (x->study->roles.of[rank] == role && sums[k] > 0 &&
                (all || !x->study->chosen[rank])) {
                space[n++] = sums[k];
            }
        }
    }
    if (n > 0) {
        usual.middle_ns = inq_lower_median_i64(space, n);
        for (size_t i = 0; i < n; i++) {
            space[i] = llabs(space[i] - usual.middle_ns);
        }
        double sigma_ns = INQ_MAD_SIGMA * (double)inq_median_i64(space, n);
        usual.most_ns = usual.middle_ns + (int64_t)(INQ_STRAGGLER_SIGMAS * sigma_ns);
    }
    return usual;
}

/* What is left of a step's host time: all of it where chance explains it, else what it is without
 * its longest part, if chance explains that. The longest of all ranks' times is what a step waits
 * for: one that is cut to the middle where that is no fault gains what no repair does. */
static int64_t without_pause(const struct usual_times *usual, int64_t sum_ns, int64_t longest_ns)
{
    int64_t rest_ns = sum_ns <= usual->most_ns ? sum_ns : sum_ns - longest_ns;
    return rest_ns >= usual->middle_ns && rest_ns <= usual->most_ns ? rest_ns : usual->middle_ns;
}

static int64_t idle_at(const struct inq_repairing *x, size_t rank, size_t step)
{
    const struct inq_step_stat *cell = inq_study_step_stat(x->study, rank, step);
    return cell->valid ? inq_step_stat_idle_ns(&x->study->cells, cell) : -1;
}

/* Whether nobody of the role is left as recorded, but somebody else is. */
static bool is_whole_role(const struct inq_repairing *x, uint32_t role)
{
    bool any = false;
    for (size_t r = 0; r < x->n_ranks; r++) {
        if (!x->study->chosen[r] && x->study->roles.of[r] == role) {
            return false;
        }
        any = any || !x->study->chosen[r];
    }
    return any || x->study->roles.members[role] == 1;
}

/* Where none is left, no peer tells what is usual, but other places of their own steps do. Hosts of
 * other stages that are left tell more: also what is late in every step at the same place. */
static bool is_any_left(const struct inq_repairing *x)
{
    for (size_t r = 0; r < x->n_ranks; r++) {
        if (!x->study->chosen[r]) {
            return true;
        }
    }
    return false;
}

/* Host times [n_ops]; without their pauses where all are chosen. */
static void find_parts(struct inq_repairing *x, bool alone, int64_t *left_ns)
{
    const struct inq_silences *silences = &x->study->silences;
    for (size_t i = 0; i < x->n_ops; i++) {
        const struct inq_trace_op *what = &x->run->g.ops[i];
        int64_t ns = host_part(x->run, i);
        int64_t pause_ns =
            ns > 0 && alone ? silences->pause_ns[silences->first[what->rank] + what->row] : 0;
        left_ns[i] = ns > pause_ns ? ns - pause_ns : 0;
        x->host_ns += x->study->chosen[what->rank] ? ns : 0;
    }
}

/* Whether it is known what pauses are in the rank's step. */
static bool is_compared(const struct inq_repairing *x, size_t rank, size_t step)
{
    size_t s = inq_study_step(x->study, step);
    return x->study->silences.step_known[rank * x->study->cells.n_steps + s];
}

/* Host time of a rank whose peers, if it has any, are as late: hosts of other stages launch other
 * work, so that only what its GPU idles longer than theirs is too much. */
static int64_t usual_beside_others(const struct inq_repairing *x, int64_t sum_ns, size_t rank,
                                   size_t step, int64_t *space)
{
    size_t n = 0;
    int64_t idle_ns = idle_at(x, rank, step);
    for (size_t r = 0; r < x->n_ranks; r++) {
        int64_t ns = idle_at(x, r, step);
        if (r != rank && !x->study->chosen[r] && ns >= 0) {
            space[n++] = ns;
        }
    }
    int64_t more_ns = n > 0 && idle_ns >= 0 ? idle_ns - inq_lower_median_i64(space, n) : 0;
    return more_ns > 0 ? sum_ns - more_ns : sum_ns;
}

/* The level to which the largest of `n` parts (ascending) are cut so that they sum to `target`. */
static int64_t level_of(const int64_t *part, size_t n, int64_t target)
{
    int64_t below = 0;
    for (size_t k = 0; k < n; k++) {
        int64_t rest = (int64_t)(n - k);
        if (below + part[k] * rest >= target) {
            return (target - below) / rest;
        }
        below += part[k];
    }
    return INT64_MAX;
}

static void cut(struct inq_repairing *x, size_t i, int64_t level)
{
    int64_t more = host_part(x->run, i) - level;
    if (more <= 0) {
        return;
    }
    int64_t delay = x->run->delay_ns[i] < more ? x->run->delay_ns[i] : more;
    delay = delay > 0 ? delay : 0;
    x->run->delay_ns[i] -= delay;
    x->run->dur_ns[i] -= more - delay;
    x->removed_ns += more;
    x->applies = true;
}

/* Parts of the chosen hosts by (rank, step): part[start[k]] to part[start[k + 1]]. */
static void sort_parts(const struct inq_repairing *x, const int64_t *left_ns, size_t *start,
                       int64_t *part)
{
    size_t n = x->n_ranks * x->n_steps;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < x->n_ops; i++) {
            int64_t ns = left_ns[i];
            uint32_t r = x->run->g.ops[i].rank;
            if (ns > 0 && x->study->chosen[r]) {
                size_t k = r * x->n_steps + (size_t)x->run->step_of[i];
                if (pass == 0) {
                    start[k + 2]++;
                } else {
                    part[start[k + 1]++] = ns;
                }
            }
        }
        for (size_t k = 0; pass == 0 && k < n; k++) {
            start[k + 2] += start[k + 1];
        }
    }
    for (size_t k = 0; k < n; k++) {
        inq_sort_i64(part + start[k], start[k + 1] - start[k]);
    }
}

/* The level of each chosen host in each step; INT64_MAX: nothing to cut beside its pauses. */
static void find_levels(struct inq_repairing *x, bool alone, const int64_t *sums,
                        const size_t *start, const int64_t *part, int64_t *level, int64_t *space)
{
    for (size_t r = 0; r < x->n_ranks; r++) {
        uint32_t role = x->study->roles.of[r];
        bool whole = x->study->chosen[r] && is_whole_role(x, role);
        struct usual_times usual = {.middle_ns = -1};
        if (x->study->chosen[r] && !whole) {
            usual = usual_times_of(x, sums, role, space);
            x->spread = x->spread || usual.middle_ns == 0; /* none of theirs was measured */
        }
        for (size_t s = 0; s < x->n_steps; s++) {
            size_t k = r * x->n_steps + s;
            int64_t target = !x->study->chosen[r] ? -1
                             : whole              ? usual_beside_others(x, sums[k], r, s, space)
                                                  : usual_host(x, sums, role, s, space);
            if (usual.middle_ns >= 0 && target < 0 && start[k + 1] > start[k] &&
                !(alone && is_compared(x, r, s))) {
                target = without_pause(&usual, sums[k], part[start[k + 1] - 1]);
            }
            level[k] = target >= 0 && target < sums[k]
                           ? level_of(part + start[k], start[k + 1] - start[k], target)
                           : INT64_MAX;
        }
    }
}

/* The same for hosts that are to take so much less. */
static void lower_levels(const struct inq_repairing *x, const int64_t *sums, const size_t *start,
                         const int64_t *part, const int64_t *by_ns, int64_t *level)
{
    for (size_t k = 0; k < x->n_ranks * x->n_steps; k++) {
        int64_t target = sums[k] > by_ns[k] ? sums[k] - by_ns[k] : 0;
        level[k] = by_ns[k] > 0 && x->study->chosen[k / x->n_steps]
                       ? level_of(part + start[k], start[k + 1] - start[k], target)
                       : INT64_MAX;
    }
}

struct hosts {
    bool alone;       /* all are chosen, and to take what is usual */
    int64_t *left_ns; /* [n_ops] host times without pauses */
    int64_t *part;    /* [n_ops] */
    int64_t *sums;    /* [n_ranks * n_steps], rank by rank; so are level, space */
    int64_t *level;
    int64_t *space;
    size_t *start; /* [n_ranks * n_steps + 3] */
};

static void cut_hosts(struct inq_repairing *x, const struct hosts *h, const int64_t *by_ns)
{
    find_parts(x, h->alone, h->left_ns);
    for (size_t i = 0; i < x->n_ops; i++) {
        if (h->left_ns[i] > 0) {
            h->sums[inq_repairing_place(x, i)] += h->left_ns[i];
        }
    }
    sort_parts(x, h->left_ns, h->start, h->part);
    if (by_ns == NULL) {
        find_levels(x, h->alone, h->sums, h->start, h->part, h->level, h->space);
    } else {
        lower_levels(x, h->sums, h->start, h->part, by_ns, h->level);
    }
    for (size_t i = 0; i < x->n_ops; i++) {
        if (x->study->chosen[x->run->g.ops[i].rank] && inq_counterfactual_judged(x->run, i)) {
            int64_t level = h->level[inq_repairing_place(x, i)];
            cut(x, i, level < h->left_ns[i] ? level : h->left_ns[i]);
        }
    }
}

/* Cuts the pauses of the chosen hosts, and the longest of their other times to what is usual; or
 * (`by_ns` [n_ranks * n_steps]) the longest by so much. */
static int repair_hosts(struct inq_repairing *x, const int64_t *by_ns, struct inq_err *err)
{
    size_t n = x->n_ranks * x->n_steps;
    struct hosts h = {.alone = by_ns == NULL && !is_any_left(x),
                      .left_ns = inq_mem_alloc((2 * x->n_ops + 1) * sizeof *h.left_ns),
                      .sums = inq_mem_zalloc(3 * n + 1, sizeof *h.sums),
                      .start = inq_mem_zalloc(n + 3, sizeof *h.start)};
    int code = INQ_OK;
    if (h.left_ns != NULL && h.sums != NULL && h.start != NULL) {
        h.part = h.left_ns + x->n_ops;
        h.level = h.sums + n;
        h.space = h.level + n;
        cut_hosts(x, &h, by_ns);
    } else {
        code = no_memory(err);
    }
    inq_mem_free(h.left_ns);
    inq_mem_free(h.sums);
    inq_mem_free(h.start);
    return code;
}

/* ---- links ----------------------------------------------------------------------------------- */

static uint64_t members_hash(const struct inq_trace *trace, const struct inq_collective *c)
{
    uint64_t hash = 0;
    for (uint32_t m = 0; m < c->n_members; m++) {
        hash += inq_hash_u64(trace->members[c->first_member + m].rank);
    }
    return hash;
}

/* How many of the repair's ranks take part. */
static size_t count_of(const struct inq_trace *trace, const struct inq_collective *c,
                       const struct inq_repair *repair)
{
    size_t n = 0;
    for (uint32_t m = 0; m < c->n_members; m++) {
        for (size_t k = 0; k < repair->n_ranks; k++) {
            n += trace->members[c->first_member + m].rank == repair->ranks[k];
        }
    }
    return n;
}

/* How many of them a slow link has at least that is meant: all; where none has all, as of a host's
 * ranks that each have links to other hosts, one. */
static size_t least_ranks(const struct inq_repairing *x, const struct inq_repair *repair)
{
    const struct inq_links *links = &x->study->links;
    bool all = false;
    for (size_t i = 0; !all && i < links->n; i++) {
        const struct inq_collective *first =
            &x->study->trace->collectives[links->at[i].first_collective];
        all = count_of(x->study->trace, first, repair) == repair->n_ranks;
    }
    return all ? repair->n_ranks : 1;
}

static bool is_slow_then(const struct inq_repairing *x, const struct inq_link *link,
                         const struct inq_collective *coll)
{
    uint32_t step = inq_link_step(x->study->trace, &x->study->cells, coll);
    return step != INQ_NONE && link->slow[step];
}

/* The slow link of each transfer that the repair means, in the steps in which it is slow. */
static int mark_transfers(const struct inq_repairing *x, const struct inq_repair *repair,
                          struct inq_map *link_of_event, struct inq_err *err)
{
    const struct inq_trace *trace = x->study->trace;
    const struct inq_links *links = &x->study->links;
    struct inq_map link_of = {0};
    size_t least = least_ranks(x, repair);
    int code = INQ_OK;
    for (size_t i = 0; code == INQ_OK && i < links->n; i++) {
        const struct inq_collective *first = &trace->collectives[links->at[i].first_collective];
        if (count_of(trace, first, repair) >= least) {
            code = inq_map_put(&link_of, members_hash(trace, first), (uint32_t)i, err);
        }
    }
    for (size_t i = 0; code == INQ_OK && i < trace->n_collectives; i++) {
        const struct inq_collective *coll = &trace->collectives[i];
        uint32_t link = 0;
        bool slow = inq_map_get(&link_of, members_hash(trace, coll), &link) &&
                    is_slow_then(x, &links->at[link], coll);
        for (uint32_t m = 0; slow && code == INQ_OK && m < coll->n_members; m++) {
            const struct inq_member *member = &trace->members[coll->first_member + m];
            code =
                inq_map_put(link_of_event, (uint64_t)member->rank << 32 | member->event, link, err);
        }
    }
    inq_map_release(&link_of);
    return code;
}

static int repair_links(struct inq_repairing *x, const struct inq_repair *repair,
                        struct inq_err *err)
{
    struct inq_map link_of_event = {0};
    int code = mark_transfers(x, repair, &link_of_event, err);
    for (size_t i = 0; code == INQ_OK && i < x->n_ops; i++) {
        const struct inq_trace_op *what = &x->run->g.ops[i];
        uint32_t link = 0;
        if (!what->host && inq_counterfactual_judged(x->run, i) &&
            inq_map_get(&link_of_event, (uint64_t)what->rank << 32 | what->row, &link)) {
            inq_repairing_scale(x, i, 1.0 / x->study->links.at[link].ratio);
        }
    }
    inq_map_release(&link_of_event);
    return code;
}

/* ---- one repair ------------------------------------------------------------------------------ */

int inq_repair_apply(struct inq_study *study, const struct inq_repair *repair,
                     struct inq_gain *gain, struct inq_err *err)
{
    struct inq_repairing x = {.study = study,
                              .run = &study->run,
                              .n_ops = study->run.g.graph->n_ops,
                              .n_ranks = study->trace->n_ranks,
                              .n_steps = study->run.n_steps};
    int code = INQ_OK;

    for (size_t r = 0; r < x.n_ranks; r++) {
        study->chosen[r] = repair->n_ranks == 0;
    }
    for (size_t k = 0; k < repair->n_ranks; k++) {
        study->chosen[repair->ranks[k]] = true;
    }
    switch (repair->kind) {
    case INQ_REPAIR_GPU:
        code = repair_gpus(&x, repair->gpu_left, err);
        break;
    case INQ_REPAIR_HOST:
    case INQ_REPAIR_PAUSES:
        code = repair_hosts(&x, repair->host_by_ns, err);
        break;
    case INQ_REPAIR_LINK:
        code = repair_links(&x, repair, err);
        break;
    case INQ_REPAIR_SEQUENCES:
    case INQ_REPAIR_STAGES:
        code = inq_repair_evenly(&x, repair->kind, err);
        break;
    }
    gain->applies = gain->applies || x.applies;
    gain->spread = gain->spread || x.spread;
    gain->removed_ns += x.removed_ns;
    gain->host_ns += x.host_ns;
    return code;
}
