/* SPDX-License-Identifier: Apache-2.0 */
/* Candidates: what slow links have in common is the cause. */
#include "analysis/straggler/candidates.h"

#include "analysis/comm/comm.h"
#include "analysis/measure/measure.h"
#include "analysis/straggler/slow_link.h"
#include "analysis/straggler/straggler.h"
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

/* Whether all of the first n links are between this host and others. */
static bool all_leave(const struct inq_inquiry *q, const struct inq_link *links, size_t n,
                      uint32_t host)
{
    bool all = true;

    for (size_t i = 0; all && i < n; i++) {
        uint32_t inside = inq_link_on_host(q->trace, members_of(q, &links[i]), host);
        all = inside > 0 && inside < members_of(q, &links[i])->n_members;
    }
    return all;
}

/* The ranks, in any of the first n links, of the one host that all of these leave; ascending. None
 * where there is no such host, or another that could as well be it. */
static size_t ranks_of_common_host(const struct inq_inquiry *q, const struct inq_link *links,
                                   size_t n, uint32_t *ranks)
{
    const struct inq_collective *c = members_of(q, &links[0]);
    uint32_t host = INQ_NONE;
    size_t found = 0;

    for (uint32_t m = 0; m < c->n_members; m++) {
        uint32_t other = q->trace->ranks[q->trace->members[c->first_member + m].rank].clock.source;
        bool in_all = other != host && all_leave(q, links, n, other);
        if (in_all && host != INQ_NONE) {
            return 0;
        }
        host = in_all ? other : host;
    }
    for (uint32_t r = 0; host != INQ_NONE && r < q->trace->n_ranks; r++) {
        bool in_one = false;
        for (size_t i = 0; q->trace->ranks[r].clock.source == host && !in_one && i < n; i++) {
            in_one = has_member(q, &links[i], r);
        }
        if (in_one) {
            ranks[found++] = r;
        }
    }
    return found;
}

/* What the steps in which a link is slow are longer than those in which it is not, at most:
 * transfers that run beside each other do not cost twice. Without such steps all of them. Per
 * judged step. */
static double most_ns(const struct inq_inquiry *q, const struct inq_link *link)
{
    const struct inq_step_stats *cells = q->cells;
    /* of the cells in steps as usual, and in those where it is slow */
    double sum_ns[2] = {0.0, 0.0};
    size_t n[2] = {0, 0};
    size_t all = 0;

    for (size_t r = 0; r < cells->n_ranks; r++) {
        for (size_t s = cells->first_step; s < cells->n_steps; s++) {
            const struct inq_step_stat *cell = inq_step_stat_at(cells, r, s);
            bool counts = cell->valid && (link->slow[s] || link->usual[s]);
            sum_ns[link->slow[s]] += counts ? (double)(cell->end_ns - cell->start_ns) : 0.0;
            n[link->slow[s]] += counts;
            all += cell->valid;
        }
    }
    double usual_ns = n[0] > 0 ? sum_ns[0] / (double)n[0] : 0.0;
    double more_ns = n[1] > 0 ? sum_ns[1] / (double)n[1] - usual_ns : 0.0;
    return n[1] > 0 ? fmax(0.0, more_ns) * (double)n[1] / (double)all : 0.0;
}

static bool is_among(const struct inq_trace *trace, const struct inq_link *link,
                     const struct inq_collective *c)
{
    const struct inq_collective *own = &trace->collectives[link->first_collective];
    bool same = own->n_members == c->n_members;

    for (uint32_t m = 0; same && m < c->n_members; m++) { /* members are sorted by rank */
        same =
            trace->members[own->first_member + m].rank == trace->members[c->first_member + m].rank;
    }
    return same;
}

/* When slow transfers of some links ran, from their last arrivals on; each moment once. */
static int list_transfers(const struct inq_inquiry *q, const struct inq_link *links, size_t n,
                          struct inq_intervals *out, struct inq_err *err)
{
    int64_t *scratch = inq_mem_alloc((q->trace->n_ranks + 1) * sizeof(*scratch));
    int code = scratch ? INQ_OK : inq_err_set(err, INQ_NOMEM, "no memory for transfers");

    for (size_t i = 0; code == INQ_OK && i < q->trace->n_collectives; i++) {
        const struct inq_collective *c = &q->trace->collectives[i];
        uint32_t step = inq_link_step(q->trace, q->cells, c);
        bool slow = false;
        for (size_t k = 0; step != INQ_NONE && k < n && !slow; k++) {
            slow = links[k].slow[step] && is_among(q->trace, &links[k], c);
        }
        if (slow) { /* collectives are sorted by their last starts */
            struct inq_coll_figures figures;
            inq_coll_figures(q->trace, c, scratch, &figures);
            code = inq_intervals_push(out, figures.last_start_ns,
                                      figures.last_start_ns + figures.transfer_ns, err);
        }
    }
    inq_mem_free(scratch);
    return code;
}

/* What links may cost per step: not more than their transfers are longer than they should be, of
 * which no link before has the time. `taken` becomes what all have. */
static int limit_cost(const struct inq_inquiry *q, const struct inq_link *links, size_t n,
                      struct inq_intervals *taken, double *cost_ns, struct inq_err *err)
{
    struct inq_intervals own = {0};
    struct inq_intervals all = {0};
    size_t steps = q->cells->n_steps - q->cells->first_step;
    double ratio = links[0].ratio;
    int code = list_transfers(q, links, n, &own, err);

    for (size_t i = 1; i < n; i++) {
        ratio = fmax(ratio, links[i].ratio);
    }
    if (code == INQ_OK) {
        code = inq_intervals_union(taken, &own, &all, err);
    }
    if (code == INQ_OK) {
        double ns = (double)(inq_intervals_length(&all) - inq_intervals_length(taken));
        *cost_ns = fmin(*cost_ns, ns * (1.0 - 1.0 / ratio) / (double)steps);
        inq_intervals_release(taken);
        *taken = all;
        all = (struct inq_intervals){0};
    }
    inq_intervals_release(&own);
    inq_intervals_release(&all);
    return code;
}

static int make_candidate(const struct inq_inquiry *q, const struct inq_link *link,
                          const uint32_t *ranks, size_t n_ranks, double cost_ns,
                          struct inq_candidate *candidate, struct inq_err *err)
{
    bool several = q->delays->n > 0 && q->cells->n_steps - q->cells->first_step >= 2;

    *candidate = (struct inq_candidate){.kind = INQ_FINDING_SLOW_LINK,
                                        .group = link->group,
                                        .stage = -1,
                                        .coll = link->coll,
                                        .n_ranks = n_ranks,
                                        .ratio = link->ratio,
                                        .waits = link->count};
    candidate->confidence = several ? INQ_CONFIDENCE_ESTABLISHED : INQ_CONFIDENCE_SUPPORTED;
    candidate->comm_only = inq_knows_comm_only(&q->trace->ranks[ranks[0]].events);
    candidate->cost_ns_per_step = (int64_t)llround(fmin(cost_ns, most_ns(q, link)));
    candidate->step_ns = (int64_t)llround(q->delays->step_ns);
    candidate->own_ns = (int64_t)llround(link->own_ns);
    candidate->peers_ns = (int64_t)llround(link->peers_ns);
    candidate->steps = q->cells->n_steps - q->cells->first_step;
    candidate->steps_seen = link->steps_slow;
    candidate->running = "";
    candidate->ranks = inq_arena_array(q->arena, n_ranks, sizeof(*candidate->ranks));
    candidate->evidence = inq_arena_alloc(q->arena, sizeof(*candidate->evidence));
    const char *what =
        inq_arena_asprintf(q->arena, "the slowest %s transfer", inq_coll_kind_text(link->coll));
    if (!candidate->ranks || !candidate->evidence || !what) {
        return inq_err_set(err, INQ_NOMEM, "no memory for a candidate");
    }
    memcpy(candidate->ranks, ranks, n_ranks * sizeof(*ranks));
    candidate->n_evidence = 1;
    candidate->evidence[0] = (struct inq_evidence){q->trace->ranks[ranks[0]].rank, "",
                                                   link->worst_start_ns, link->worst_end_ns, what};
    return INQ_OK;
}

/* The ranks that all links have in common that cost so much, or those of the host that all leave;
 * 0: there are none. Where a link that is too small for a finding is elsewhere, as one of few
 * transfers whose ends were mistaken, those that are large enough are asked for by themselves. */
static size_t find_common(const struct inq_inquiry *q, double least_ns, uint32_t *ranks,
                          size_t *counting, bool *to_others)
{
    const struct inq_links *links = q->links;
    size_t n = 0;
    size_t common = 0;

    while (n < links->n && links->at[n].cost_ns >= least_ns) {
        n++;
    }
    *counting = n;
    *to_others = false;
    if (n > 1) {
        common = common_ranks(q, links->at, n, ranks);
        *to_others = common == 0;
    }
    if (*to_others) {
        common = ranks_of_common_host(q, links->at, n, ranks);
    }
    return common;
}

int inq_candidates_of_links(const struct inq_inquiry *q, struct inq_attribution *found,
                            struct inq_err *err)
{
    const struct inq_links *links = q->links;
    struct inq_candidate *candidates = found->candidates;
    size_t *n = &found->n_candidates;
    uint32_t *ranks = inq_mem_alloc((q->trace->n_ranks + 1) * sizeof(*ranks));
    double step_ns = q->delays->step_ns;
    double least_ns = INQ_STRAGGLER_COST_SHARE * step_ns;
    struct inq_intervals taken = {0};
    double sum_ns = 0.0;
    size_t counting = 0;
    size_t common;
    bool to_others;
    int code = INQ_OK;

    if (!ranks) {
        return inq_err_set(err, INQ_NOMEM, "no memory for a candidate");
    }
    common = find_common(q, LINK_COUNTS_SHARE * step_ns, ranks, &counting, &to_others);
    if (common == 0) {
        common = find_common(q, least_ns, ranks, &counting, &to_others);
    }
    for (size_t i = 0; i < counting; i++) {
        sum_ns += links->at[i].cost_ns;
    }
    if (common > 0) {
        code = limit_cost(q, links->at, counting, &taken, &sum_ns, err);
        if (code == INQ_OK && sum_ns >= least_ns) {
            code = make_candidate(q, &links->at[0], ranks, common, sum_ns, &candidates[*n], err);
            candidates[*n].to_others = to_others;
            *n += code == INQ_OK;
        }
        counting = 0;
    }
    for (size_t i = 0; code == INQ_OK && i < counting && links->at[i].cost_ns >= least_ns; i++) {
        size_t members = common_ranks(q, &links->at[i], 1, ranks);
        double cost_ns = links->at[i].cost_ns;
        code = limit_cost(q, &links->at[i], 1, &taken, &cost_ns, err);
        if (code == INQ_OK) {
            code = make_candidate(q, &links->at[i], ranks, members, cost_ns, &candidates[*n], err);
        }
        *n += code == INQ_OK;
    }
    inq_intervals_release(&taken);
    inq_mem_free(ranks);
    return code;
}
