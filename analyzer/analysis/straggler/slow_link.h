/* SPDX-License-Identifier: Apache-2.0 */
/* Transfers that take longer than the same transfers elsewhere. */
#ifndef INQ_ANALYSIS_STRAGGLER_SLOW_LINK_H
#define INQ_ANALYSIS_STRAGGLER_SLOW_LINK_H

#include "analysis/measure/measure.h"
#include "base/arena.h"

/* A transfer is compared with those of the same operation, size and number of ranks among other
 * ranks. It is slow when it takes at least a tenth longer (a quarter where only one other set of
 * ranks does the same), by 4.5 standard errors, more than the sets of ranks differ anyway and more
 * than their clocks are known to disagree.
 *
 * A link may be slow in some of the steps only, as one is that others fill now and then: the median
 * over all steps is as usual then. Each step is compared by itself in that case. It has few
 * transfers to tell by, so that a quarter longer is asked for there however many sets there are,
 * and two such transfers.
 *
 * A set of ranks without its like is slow where one of its ranks is in a slow one and the same
 * transfers take as long in both. */
#define INQ_LINK_RATIO     1.10
#define INQ_LINK_RATIO_FEW 1.25
#define INQ_LINK_FEW_SETS  3

/* A set of ranks that all do the same transfers together, all kinds and sizes of them. */
struct inq_link {
    uint32_t first_collective; /* one of them: its members are the set */
    uint32_t group;
    enum inq_coll_kind coll; /* the kind that loses most */
    double cost_ns;          /* per step: what its transfers take longer, where it is exposed */
    double own_ns, peers_ns; /* a transfer of that kind: its own, the other sets' median */
    double ratio;
    uint64_t count; /* transfers compared, in the steps in which it is slow */
    bool *slow;     /* [n_steps] of the trace: whether it is, in the step */
    bool *usual;    /* [n_steps] transfers of it are known that are as they should be */
    size_t steps_slow;
    int64_t worst_start_ns, worst_end_ns; /* the slowest of them, from its last arrival on */
};

struct inq_links {
    size_t n; /* slow ones only, costliest first */
    struct inq_link *at;
    uint64_t compared; /* sets of ranks that had others to be compared with */
};

/* Release it also after a failure. */
int inq_links_find(const struct inq_trace *trace, const struct inq_step_stats *cells,
                   struct inq_links *links, struct inq_err *err);

/* How many members of a collective are on a host, by the number of its clock. */
static inline uint32_t inq_link_on_host(const struct inq_trace *trace,
                                        const struct inq_collective *c, uint32_t host)
{
    uint32_t n = 0;

    for (uint32_t m = 0; m < c->n_members; m++) {
        n += trace->ranks[trace->members[c->first_member + m].rank].clock.source == host;
    }
    return n;
}

/* Step in which a collective is judged, 0 where the capture is one interval; INQ_NONE: it is not.
 */
static inline uint32_t inq_link_step(const struct inq_trace *trace,
                                     const struct inq_step_stats *cells,
                                     const struct inq_collective *c)
{
    const struct inq_member *member = &trace->members[c->first_member];
    uint32_t step = cells->one_step ? 0 : trace->ranks[member->rank].events.step[member->event];

    return step != INQ_NONE && step >= cells->first_step && step < cells->n_steps ? step : INQ_NONE;
}

#endif
