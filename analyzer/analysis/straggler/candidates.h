/* SPDX-License-Identifier: Apache-2.0 */
/* From delays to candidates: why a rank takes longer, how sure that is, and the evidence. */
#ifndef INQ_ANALYSIS_STRAGGLER_CANDIDATES_H
#define INQ_ANALYSIS_STRAGGLER_CANDIDATES_H

#include "analysis/measure/measure.h"
#include "analysis/straggler/slow_link.h"
#include "analysis/straggler/delays.h"
#include "base/arena.h"

/* What the search for candidates works with. */
struct inq_inquiry {
    const struct inq_trace *trace;
    const struct inq_step_stats *cells;
    const struct inq_peer_groups *roles;
    const struct inq_silences *silences;
    const struct inq_delays *delays;
    const struct inq_arrivals *arrivals;
    const struct inq_links *links;
    struct inq_arena *arena; /* of the report */
};

/* Appends the candidates that one outlying rank is: two where its GPU and its host are late, each
 * by itself, or its host and its copies. Fails with INQ_NOMEM. */
int inq_candidates_of_delay(const struct inq_inquiry *inquiry, const struct inq_delay *delay,
                            struct inq_attribution *found, struct inq_err *err);

/* Makes a candidate that is one rank all of these. Fails with INQ_NOMEM. */
int inq_candidate_set_ranks(const struct inq_inquiry *inquiry, struct inq_candidate *candidate,
                            const uint32_t *ranks, size_t n, struct inq_err *err);

/* Whether a rank is one of those found so far; links, and those that take turns, name none.
 * `for_compute`: only for what it computes, as a late host has the kernels that its peers have. */
bool inq_candidates_name(const struct inq_attribution *found, size_t rank, bool for_compute);

/* What appends the candidates of one sort to those found so far. Fails with INQ_NOMEM. */
typedef int inq_candidates_find(const struct inq_inquiry *inquiry, struct inq_attribution *found,
                                struct inq_err *err);
/* Late hosts whose peers are as late, or that have none, against those of other roles: at most one
 * per role (peer_group_hosts.c). */
inq_candidates_find inq_candidates_of_peer_group_hosts;
/* Ranks with larger kernels, at most one candidate each; stages whose GPUs are slow or whose
 * kernels are larger, at most one per role; and what is divided unevenly, at most two; among the
 * ranks that delay nobody so far. Takes out those with larger kernels by chance (imbalance.c). */
inq_candidates_find inq_candidates_of_imbalance;
/* GPUs that are slow in some steps only, which no mean tells; at most one per rank (transient.c).
 */
inq_candidates_find inq_candidates_of_transients;
/* The hosts that pause in turn, none of them often enough to stand out, or in most of their steps:
 * at most one (candidates_pauses.c). */
inq_candidates_find inq_candidates_of_pauses;
/* Slow links: one when all meet in the same ranks or leave the same host, else one per set of ranks
 * (slow_link_candidates.c). */
inq_candidates_find inq_candidates_of_links;

/* A rank's kernels against those that are usual for it. Fails with INQ_NOMEM. */
int inq_candidate_kernels(const struct inq_inquiry *inquiry, const struct inq_delay *delay,
                          struct inq_kernel_comparison *result, struct inq_err *err);

#endif
