/* SPDX-License-Identifier: Apache-2.0 */
/* Counting last arrivals. */
#include "analysis/measure/arrivals.h"

#include "base/mem.h"
#include "trace/trace.h"

bool inq_arrival_span(const struct inq_trace *trace, const struct inq_collective *collective,
                      struct inq_arrival_span *span)
{
    for (uint32_t m = 0; m < collective->n_members; m++) {
        const struct inq_member *member = &trace->members[collective->first_member + m];
        int64_t start_ns = trace->ranks[member->rank].events.start_ns[member->event];
        if (m == 0 || start_ns < span->first_ns) {
            span->first_ns = start_ns;
            span->first_rank = member->rank;
        }
        if (m == 0 || start_ns > span->last_ns) {
            span->last_ns = start_ns;
            span->last_rank = member->rank;
        }
    }
    return collective->n_members > 1;
}

static void keep_worst(struct inq_arrival *arrival, uint32_t collective, int64_t wait_ns)
{
    for (size_t i = 0; i < INQ_WORST_WAITS; i++) {
        if (wait_ns > arrival->worst_ns[i]) {
            for (size_t j = INQ_WORST_WAITS - 1; j > i; j--) {
                arrival->worst[j] = arrival->worst[j - 1];
                arrival->worst_ns[j] = arrival->worst_ns[j - 1];
            }
            arrival->worst[i] = collective;
            arrival->worst_ns[i] = wait_ns;
            return;
        }
    }
}

int inq_arrivals_count(const struct inq_trace *trace, struct inq_arrivals *arrivals,
                       struct inq_err *err)
{
    arrivals->at = inq_mem_zalloc(trace->n_ranks + 1, sizeof(*arrivals->at));
    if (!arrivals->at) {
        return inq_err_set(err, INQ_NOMEM, "no memory for %zu ranks", trace->n_ranks);
    }
    for (size_t r = 0; r < trace->n_ranks; r++) {
        for (size_t i = 0; i < INQ_WORST_WAITS; i++) {
            arrivals->at[r].worst[i] = INQ_NONE;
        }
    }
    for (size_t c = 0; c < trace->n_collectives; c++) {
        const struct inq_collective *collective = &trace->collectives[c];
        struct inq_arrival_span span;
        if (!inq_coll_synchronises(collective->kind) || collective->ends_disagree ||
            !inq_arrival_span(trace, collective, &span)) {
            continue;
        }
        int64_t skew_ns = span.last_ns - span.first_ns;
        int64_t doubt_ns = inq_clock_doubt_ns(trace, span.first_rank, span.last_rank);
        int64_t later_ns = inq_arrival_doubt_ns(trace, collective, span.last_rank, span.last_ns);
        if (skew_ns < INQ_REAL_WAIT_NS || skew_ns < doubt_ns || skew_ns < later_ns) {
            continue;
        }
        for (uint32_t m = 0; m < collective->n_members; m++) {
            arrivals->at[trace->members[collective->first_member + m].rank].waits++;
        }
        arrivals->at[span.last_rank].last++;
        keep_worst(&arrivals->at[span.last_rank], (uint32_t)c, skew_ns);
    }
    return INQ_OK;
}
