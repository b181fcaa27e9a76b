/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts that are late with all their peers, or that have none: the stages of one replica, or whole
 * stages on a machine that is busy. GPUs of other roles have other work, but what hosts do between
 * launches is much the same on all of them: late is who leaves its GPU idle for longer than the
 * ranks of other roles do. */
#include "analysis/straggler/candidates.h"
#include "base/mem.h"
#include "base/sort.h"
#include "base/stats.h"

#include <math.h>

/* With fewer roles nobody tells which is usual. */
enum { LEAST_ROLES = 3 };
/* The first stage loads the data and the last computes the loss: what they idle longer than others
 * in every step is their place's work up to this part of the step. More is told, whatever it is. */
#define PLACE_SHARE 0.05
/* A rank of a late role is late when it is so by this part of what the role is. */
#define OWN_PART 0.5

struct hosts {
    const struct inq_inquiry *q;
    size_t n; /* roles */
    size_t n_steps;
    struct inq_delay *delays; /* [n] */
    bool *later;              /* [n] seen in a step that is not the role's first */
    double *late;             /* [n * n_steps] idle time above the usual; NaN: not compared */
    int64_t *usual_ns;        /* [n * n_steps] */
    int64_t *idle_ns;         /* [n] of a step; INQ_TIME_NONE: none of its ranks is judged */
    int64_t *sorted;          /* [n] scratch */
    int64_t *members;         /* [n_ranks] scratch */
    double *excess;           /* [n + n_steps] scratch */
};

/* Idle time of the middle rank of a role in a step, of an even number the one that idles less: a
 * host that is later than its peers is not the role's. */
static int64_t idle_of_role(const struct hosts *h, size_t role, size_t step)
{
    const struct inq_peer_groups *roles = h->q->roles;
    size_t n = 0;
    for (size_t r = 0; r < h->q->trace->n_ranks; r++) {
        const struct inq_step_stat *cell = inq_step_stat_at(h->q->cells, r, step);
        if (roles->of[r] == role && cell->valid) {
            h->members[n++] = inq_step_stat_idle_ns(h->q->cells, cell);
        }
    }
    return n > 0 ? inq_lower_median_i64(h->members, n) : INQ_TIME_NONE;
}

/* A step: each role against the median of the others, where two others have it whole. */
static void compare_step(struct hosts *h, size_t step)
{
    size_t n = 0;
    for (size_t k = 0; k < h->n; k++) {
        h->idle_ns[k] = idle_of_role(h, k, step);
        if (h->idle_ns[k] != INQ_TIME_NONE) {
            h->sorted[n++] = h->idle_ns[k];
        }
    }
    inq_sort_i64(h->sorted, n);
    for (size_t k = 0; k < h->n; k++) {
        size_t at = k * h->n_steps + step;
        bool known = n >= LEAST_ROLES && h->idle_ns[k] != INQ_TIME_NONE;
        h->usual_ns[at] =
            known ? inq_median_of_others_i64(h->sorted, n, h->idle_ns[k]) : INQ_TIME_NONE;
        h->late[at] = known ? (double)(h->idle_ns[k] - h->usual_ns[at]) : (double)NAN;
    }
}

/* Whether it is the first or the last stage, or may be. */
static bool is_at_an_end(const struct hosts *h, size_t role)
{
    const struct inq_peer_groups *roles = h->q->roles;
    bool first = true;
    bool last = true;
    for (size_t k = 0; k < h->n; k++) {
        first = first && roles->stage[k] >= roles->stage[role];
        last = last && roles->stage[k] <= roles->stage[role];
    }
    return first || last;
}

/* What a role idles longer than the others in every step because of its place: in three of four, as
 * what comes in every second step is none of it. */
static double place_ns(struct hosts *h, size_t role)
{
    size_t n = 0;
    for (size_t s = 0; s < h->n_steps; s++) {
        if (!isnan(h->late[role * h->n_steps + s])) {
            h->excess[n++] = h->late[role * h->n_steps + s];
        }
    }
    inq_sort_double(h->excess, n);
    double usual_ns = n > 0 ? h->excess[n / 4] : 0.0;
    bool place = is_at_an_end(h, role) && usual_ns < PLACE_SHARE * h->q->delays->step_ns;
    return place ? fmax(0.0, usual_ns) : 0.0;
}

/* Means over the steps. */
static void describe(struct hosts *h, size_t k)
{
    struct inq_delay *d = &h->delays[k];
    double least_ns = INQ_STRAGGLER_COST_SHARE * h->q->delays->step_ns;
    double own_ns = place_ns(h, k);
    for (size_t s = h->q->cells->first_step; s < h->n_steps; s++) {
        size_t at = k * h->n_steps + s;
        double late_ns = h->late[at] - own_ns;
        if (isnan(late_ns)) {
            continue;
        }
        h->later[k] = h->later[k] || (d->steps > 0 && late_ns >= least_ns);
        d->steps++;
        d->peers_idle_ns += (double)h->usual_ns[at] + own_ns;
        d->idle.ns += late_ns;
        d->idle_seen += late_ns >= least_ns;
        d->idle_late_ns += late_ns >= least_ns ? late_ns : 0.0;
    }
    double n = d->steps > 0 ? (double)d->steps : 1.0;
    d->role = (uint32_t)k;
    d->peers = d->usual = h->n - 1;
    d->idles = true;
    d->step_ns = h->q->delays->step_ns;
    d->peers_idle_ns /= n;
    d->idle.ns /= n;
    d->idle_late_ns /= d->idle_seen > 0 ? (double)d->idle_seen : 1.0;
    d->late_ns = d->idle_late_ns;
    d->seen = d->idle_seen;
    d->cost_ns = d->idle.ns;
}

/* Whether a role's hosts are late by more than the others differ from each other, and not only
 * where the record begins: what ran on the GPU then may have started before it. */
static bool is_late(struct hosts *h, size_t k)
{
    const struct inq_delay *d = &h->delays[k];
    size_t n = 0;
    if (!h->later[k] || d->idle.ns < INQ_STRAGGLER_COST_SHARE * d->step_ns) {
        return false;
    }
    for (size_t i = 0; i < h->n; i++) {
        if (i != k && h->delays[i].steps > 0) {
            h->excess[n++] = h->delays[i].idle.ns;
        }
    }
    double middle = inq_median(h->excess, n);
    double spread_ns = INQ_STRAGGLER_SIGMAS * INQ_MAD_SIGMA * inq_mad(h->excess, n, middle);
    return n >= LEAST_ROLES - 1 && d->idle.ns >= spread_ns;
}

static double mean_idle(const struct hosts *h, size_t rank)
{
    double sum = 0.0;
    size_t n = 0;
    for (size_t s = h->q->cells->first_step; s < h->q->cells->n_steps; s++) {
        const struct inq_step_stat *cell = inq_step_stat_at(h->q->cells, rank, s);
        sum += cell->valid ? (double)inq_step_stat_idle_ns(h->q->cells, cell) : 0.0;
        n += cell->valid;
    }
    return n > 0 ? sum / (double)n : 0.0;
}

/* Whether the rank is later than its peers, too, and has been named for that. */
static bool is_named(const struct inq_attribution *found, uint32_t rank)
{
    for (size_t i = 0; i < found->n_candidates; i++) {
        const struct inq_candidate *candidate = &found->candidates[i];
        bool late = candidate->kind == INQ_FINDING_LATE_HOST;
        for (size_t k = 0; late && k < candidate->n_ranks; k++) {
            if (candidate->ranks[k] == rank) {
                return true;
            }
        }
    }
    return false;
}

static int add_candidate(struct hosts *h, size_t k, struct inq_attribution *found,
                         struct inq_err *err)
{
    struct inq_delay *d = &h->delays[k];
    struct inq_candidate *candidate = &found->candidates[found->n_candidates];
    size_t n = 0;
    uint32_t *ranks = inq_mem_alloc((h->q->trace->n_ranks + 1) * sizeof(*ranks));
    if (!ranks) {
        return inq_err_set(err, INQ_NOMEM, "no memory for %zu hosts", h->q->trace->n_ranks);
    }
    for (uint32_t r = 0; r < h->q->trace->n_ranks; r++) {
        bool own = h->q->roles->of[r] == k && !is_named(found, r);
        if (own && mean_idle(h, r) - d->peers_idle_ns >= OWN_PART * d->idle.ns) {
            ranks[n++] = r;
        }
    }
    int code = INQ_OK;
    if (n > 0) {
        d->rank = ranks[0];
        code = inq_candidates_of_delay(h->q, d, found, err);
        candidate->of_other_roles = true;
        candidate->beside_roles = n > 1;
        code = code == INQ_OK ? inq_candidate_set_ranks(h->q, candidate, ranks, n, err) : code;
    }
    inq_mem_free(ranks);
    return code;
}

static int hosts_init(struct hosts *h, struct inq_err *err)
{
    size_t room = h->q->roles->n + 1;
    h->delays = inq_mem_zalloc(room, sizeof(*h->delays));
    h->later = inq_mem_zalloc(room, sizeof(*h->later));
    h->late = inq_mem_alloc((room * h->n_steps) * sizeof(*h->late));
    h->usual_ns = inq_mem_alloc((room * h->n_steps) * sizeof(*h->usual_ns));
    h->idle_ns = inq_mem_alloc(room * sizeof(*h->idle_ns));
    h->sorted = inq_mem_alloc(room * sizeof(*h->sorted));
    h->members = inq_mem_alloc((h->q->trace->n_ranks + 1) * sizeof(*h->members));
    h->excess = inq_mem_alloc((room + h->n_steps) * sizeof(*h->excess));
    if (!h->delays || !h->later || !h->late || !h->usual_ns || !h->idle_ns || !h->sorted ||
        !h->members || !h->excess) {
        return inq_err_set(err, INQ_NOMEM, "no memory for %zu roles", room);
    }
    return INQ_OK;
}

static void hosts_release(struct hosts *h)
{
    inq_mem_free(h->delays);
    inq_mem_free(h->later);
    inq_mem_free(h->late);
    inq_mem_free(h->usual_ns);
    inq_mem_free(h->idle_ns);
    inq_mem_free(h->sorted);
    inq_mem_free(h->members);
    inq_mem_free(h->excess);
}

int inq_candidates_of_peer_group_hosts(const struct inq_inquiry *inquiry,
                                       struct inq_attribution *found, struct inq_err *err)
{
    const struct inq_step_stats *cells = inquiry->cells;
    struct hosts h = {
        .q = inquiry, .n = cells->one_step ? 0 : inquiry->roles->n, .n_steps = cells->n_steps};
    if (h.n < LEAST_ROLES) {
        return INQ_OK;
    }
    int code = hosts_init(&h, err);
    for (size_t i = 0; code == INQ_OK && i < h.n * h.n_steps; i++) {
        h.late[i] = (double)NAN;
    }
    for (size_t s = cells->first_step; code == INQ_OK && s < h.n_steps; s++) {
        compare_step(&h, s);
    }
    for (size_t k = 0; code == INQ_OK && k < h.n; k++) {
        describe(&h, k);
    }
    for (size_t k = 0; code == INQ_OK && k < h.n; k++) {
        if (is_late(&h, k)) {
            code = add_candidate(&h, k, found, err);
        }
    }
    hosts_release(&h);
    return code;
}
