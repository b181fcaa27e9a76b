/* SPDX-License-Identifier: Apache-2.0 */
/* Slow links as suspects: what they have in common is to blame. */
#include "analysis/straggler/suspects.h"

#include "base/arena.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

/* Links that cost less than this part of the step take no part in finding what slow links have in
 * common. */
#define LINK_COUNTS_SHARE 0.002

static const struct inq_collective *members_of(const struct inq_inquiry *q,
                                               const struct inq_link *link)
{
    return &q->trace->collectives[link->first_collective];
}

static bool has_member(const struct inq_inquiry *q, const struct inq_link *link, uint32_t rank)
{
    const struct inq_collective *c = members_of(q, link);

    for (uint32_t m = 0; m < c->n_members; m++) {
        if (q->trace->members[c->first_member + m].rank == rank) {
            return true;
        }
    }
    return false;
}

/* Ranks that are in all of the first n links; ascending. */
static size_t common_ranks(const struct inq_inquiry *q, const struct inq_link *links, size_t n,
                           uint32_t *ranks)
{
    size_t found = 0;

    for (uint32_t r = 0; r < q->trace->n_ranks; r++) {
        bool in_all = true;
        for (size_t i = 0; in_all && i < n; i++) {
            in_all = has_member(q, &links[i], r);
        }
        if (in_all) {
            ranks[found++] = r;
        }
    }
    return found;
}

/* What the steps in which a link is slow are longer than the others, at most: transfers that run
 * beside each other do not cost twice. Without others all of them. Per judged step. */
static double most_ns(const struct inq_inquiry *q, const struct inq_link *link)
{
    const struct inq_cells *cells = q->cells;
    double sum_ns[2] = {0.0, 0.0}; /* of the cells in other steps, and in those */
    size_t n[2] = {0, 0};

    for (size_t r = 0; r < cells->n_ranks; r++) {
        for (size_t s = cells->first_step; s < cells->n_steps; s++) {
            const struct inq_cell *cell = inq_cell_at(cells, r, s);
            sum_ns[link->slow[s]] += cell->valid ? (double)(cell->end_ns - cell->start_ns) : 0.0;
            n[link->slow[s]] += cell->valid;
        }
    }
    double usual_ns = n[0] > 0 ? sum_ns[0] / (double)n[0] : 0.0;
    double more_ns = n[1] > 0 ? sum_ns[1] / (double)n[1] - usual_ns : 0.0;
    return n[1] > 0 ? fmax(0.0, more_ns) * (double)n[1] / (double)(n[0] + n[1]) : 0.0;
}

static int make(const struct inq_inquiry *q, const struct inq_link *link, const uint32_t *ranks,
                size_t n_ranks, double cost_ns, struct inq_suspect *suspect, struct inq_err *err)
{
    bool several = q->delays->n > 0 && q->cells->n_steps - q->cells->first_step >= 2;

    *suspect = (struct inq_suspect){.kind = INQ_FINDING_SLOW_LINK,
                                    .group = link->group,
                                    .stage = -1,
                                    .coll = link->coll,
                                    .n_ranks = n_ranks,
                                    .ratio = link->ratio,
                                    .waits = link->count};
    suspect->confidence = several ? INQ_CONFIDENCE_ESTABLISHED : INQ_CONFIDENCE_SUPPORTED;
    suspect->comm_only = inq_knows_comm_only(&q->trace->ranks[ranks[0]].events);
    suspect->cost_ns_per_step = (int64_t)llround(fmin(cost_ns, most_ns(q, link)));
    suspect->step_ns = (int64_t)llround(q->delays->step_ns);
    suspect->own_ns = (int64_t)llround(link->own_ns);
    suspect->peers_ns = (int64_t)llround(link->peers_ns);
    suspect->steps = q->cells->n_steps - q->cells->first_step;
    suspect->steps_seen = link->steps_slow;
    suspect->running = "";
    suspect->ranks = inq_arena_array(q->arena, n_ranks, sizeof(*suspect->ranks));
    suspect->evidence = inq_arena_alloc(q->arena, sizeof(*suspect->evidence));
    const char *what =
        inq_arena_printf(q->arena, "the slowest %s transfer", inq_coll_kind_text(link->coll));
    if (!suspect->ranks || !suspect->evidence || !what) {
        return inq_err_set(err, INQ_NOMEM, "no memory for a suspect");
    }
    memcpy(suspect->ranks, ranks, n_ranks * sizeof(*ranks));
    suspect->n_evidence = 1;
    suspect->evidence[0] = (struct inq_evidence){q->trace->ranks[ranks[0]].rank, "",
                                                 link->worst_start_ns, link->worst_end_ns, what};
    return INQ_OK;
}

int inq_suspects_of_links(const struct inq_inquiry *q, const struct inq_links *links,
                          struct inq_suspect *suspects, size_t *n, struct inq_err *err)
{
    uint32_t *ranks = inq_mem_alloc((q->trace->n_ranks + 1) * sizeof(*ranks));
    double step_ns = q->delays->step_ns;
    double least_ns = INQ_STRAGGLER_COST_SHARE * step_ns;
    double sum_ns = 0.0;
    size_t counting = 0;
    size_t common = 0;
    int code = INQ_OK;

    if (!ranks) {
        return inq_err_set(err, INQ_NOMEM, "no memory for a suspect");
    }
    while (counting < links->n && links->at[counting].cost_ns >= LINK_COUNTS_SHARE * step_ns) {
        sum_ns += links->at[counting++].cost_ns;
    }
    if (counting > 1) {
        common = common_ranks(q, links->at, counting, ranks);
    }
    if (common > 0) {
        if (sum_ns >= least_ns) {
            code = make(q, &links->at[0], ranks, common, sum_ns, &suspects[*n], err);
            *n += code == INQ_OK;
        }
        counting = 0;
    }
    for (size_t i = 0; code == INQ_OK && i < counting && links->at[i].cost_ns >= least_ns; i++) {
        size_t members = common_ranks(q, &links->at[i], 1, ranks);
        code = make(q, &links->at[i], ranks, members, links->at[i].cost_ns, &suspects[*n], err);
        *n += code == INQ_OK;
    }
    inq_mem_free(ranks);
    return code;
}
