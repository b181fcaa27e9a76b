/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts of ranks that are alone in their role, as the stages of one replica are. Their GPUs' work
 * has no peer, but what hosts do between launches is much the same on all of them: late is who
 * leaves its GPU idle for longer than the others do. */
#include "analysis/straggler/suspects.h"
#include "base/mem.h"
#include "base/sort.h"
#include "base/stats.h"

#include <math.h>

/* With fewer of them nobody tells which is usual. */
enum { LEAST_LONE = 3 };

struct lone {
    const struct inq_inquiry *q;
    size_t n;
    uint32_t *ranks;
    struct inq_delay *delays; /* [n] */
    bool *later;              /* [n] seen in a step that is not the rank's first */
    int64_t *idle_ns;         /* [n] scratch */
    double *excess;           /* [n] scratch */
};

static void list_lone(struct lone *l)
{
    const struct inq_roles *roles = l->q->roles;
    for (uint32_t r = 0; r < l->q->trace->n_ranks; r++) {
        if (roles->members[roles->of[r]] == 1) {
            l->ranks[l->n++] = r;
        }
    }
}

/* Adds a step: each rank's GPU against the lower median of the others', where two others have it
 * whole. */
static void add_step(struct lone *l, size_t step)
{
    const struct inq_cells *cells = l->q->cells;
    double least_ns = INQ_STRAGGLER_COST_SHARE * l->q->delays->step_ns;
    size_t n = 0;
    for (size_t i = 0; i < l->n; i++) {
        const struct inq_cell *cell = inq_cell_at(cells, l->ranks[i], step);
        if (cell->valid) {
            l->idle_ns[n++] = inq_cell_idle_ns(cells, cell);
        }
    }
    inq_sort_i64(l->idle_ns, n);
    for (size_t i = 0; n >= LEAST_LONE && i < l->n; i++) {
        const struct inq_cell *cell = inq_cell_at(cells, l->ranks[i], step);
        struct inq_delay *d = &l->delays[i];
        if (!cell->valid) {
            continue;
        }
        int64_t own_ns = inq_cell_idle_ns(cells, cell);
        int64_t usual_ns = inq_lower_median_of_others_i64(l->idle_ns, n, own_ns);
        double late_ns = (double)(own_ns - usual_ns);
        l->later[i] = l->later[i] || (d->steps > 0 && late_ns >= least_ns);
        d->steps++;
        d->step_ns += (double)(cell->end_ns - cell->start_ns);
        d->peers_idle_ns += (double)usual_ns;
        d->idle.ns += late_ns;
        d->idle_seen += late_ns >= least_ns;
        d->idle_late_ns += late_ns >= least_ns ? late_ns : 0.0;
    }
}

/* Sums to means over the steps. */
static void describe(struct lone *l, size_t i)
{
    struct inq_delay *d = &l->delays[i];
    double n = d->steps > 0 ? (double)d->steps : 1.0;
    d->rank = l->ranks[i];
    d->role = l->q->roles->of[d->rank];
    d->peers = d->usual = l->n - 1;
    d->idles = true;
    d->step_ns /= n;
    d->peers_idle_ns /= n;
    d->idle.ns /= n;
    d->idle_late_ns /= d->idle_seen > 0 ? (double)d->idle_seen : 1.0;
    d->late_ns = d->idle_late_ns;
    d->seen = d->idle_seen;
    d->cost_ns = d->idle.ns;
}

/* Whether a host is late by more than the others differ from each other, and not only where its
 * record begins: what ran on the GPU then may have started before it. */
static bool is_late(struct lone *l, size_t i)
{
    const struct inq_delay *d = &l->delays[i];
    size_t n = 0;
    if (!l->later[i] || d->idle.ns < INQ_STRAGGLER_COST_SHARE * d->step_ns) {
        return false;
    }
    for (size_t k = 0; k < l->n; k++) {
        if (k != i && l->delays[k].steps > 0) {
            l->excess[n++] = l->delays[k].idle.ns;
        }
    }
    double middle = inq_median(l->excess, n);
    double spread_ns = INQ_STRAGGLER_SIGMAS * INQ_MAD_SIGMA * inq_mad(l->excess, n, middle);
    return n >= LEAST_LONE - 1 && d->idle.ns >= spread_ns;
}

int inq_suspects_of_lone_hosts(const struct inq_inquiry *inquiry, struct inq_suspect *suspects,
                               size_t *n, struct inq_err *err)
{
    struct lone l = {.q = inquiry};
    size_t room = inquiry->trace->n_ranks + 1;
    l.ranks = inq_mem_alloc(room * sizeof(*l.ranks));
    l.delays = inq_mem_zalloc(room, sizeof(*l.delays));
    l.later = inq_mem_zalloc(room, sizeof(*l.later));
    l.idle_ns = inq_mem_alloc(room * sizeof(*l.idle_ns));
    l.excess = inq_mem_alloc(room * sizeof(*l.excess));
    int code = l.ranks && l.delays && l.later && l.idle_ns && l.excess
                   ? INQ_OK
                   : inq_err_set(err, INQ_NOMEM, "no memory for %zu hosts", room - 1);
    const struct inq_cells *cells = inquiry->cells;
    if (code == INQ_OK && !cells->one_step) {
        list_lone(&l);
    }
    for (size_t s = cells->first_step; l.n >= LEAST_LONE && s < cells->n_steps; s++) {
        add_step(&l, s);
    }
    for (size_t i = 0; i < l.n; i++) {
        describe(&l, i);
    }
    for (size_t i = 0; code == INQ_OK && i < l.n; i++) {
        if (is_late(&l, i)) {
            code = inq_suspects_of_delay(inquiry, &l.delays[i], suspects, n, err);
        }
    }
    inq_mem_free(l.ranks);
    inq_mem_free(l.delays);
    inq_mem_free(l.later);
    inq_mem_free(l.idle_ns);
    inq_mem_free(l.excess);
    return code;
}
