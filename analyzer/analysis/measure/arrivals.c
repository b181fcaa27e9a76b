/* SPDX-License-Identifier: Apache-2.0 */
/* Counting last arrivals. */
#include "analysis/measure/arrivals.h"

#include "base/mem.h"
#include "trace/trace.h"

/* False when it has fewer than two members. */
static bool span_of(const struct inq_trace *trace, const struct inq_collective *collective,
                    struct inq_arrival_span *span)
{
    span->collective = (uint32_t)(collective - trace->collectives);
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

static int64_t wait_of(const struct inq_arrival_span *span)
{
    return span->collective != INQ_NONE ? span->last_ns - span->first_ns : 0;
}

static void keep_worst(struct inq_arrival *arrival, const struct inq_arrival_span *span)
{
    for (size_t i = 0; i < INQ_WORST_WAITS; i++) {
        if (wait_of(span) > wait_of(&arrival->worst[i])) {
            for (size_t j = INQ_WORST_WAITS - 1; j > i; j--) {
                arrival->worst[j] = arrival->worst[j - 1];
            }
            arrival->worst[i] = *span;
            return;
        }
    }
}

/* Whether somebody waited for longer than the clocks are in doubt. */
static bool is_real_wait(const struct inq_trace *trace, const struct inq_collective *collective,
                         struct inq_arrival_span *span)
{
    if (!inq_coll_synchronizes(collective->kind) || collective->ends_disagree ||
        !span_of(trace, collective, span)) {
        return false;
    }
    int64_t skew_ns = span->last_ns - span->first_ns;
    return skew_ns >= INQ_REAL_WAIT_NS &&
           skew_ns >= inq_clock_doubt_ns(trace, span->first_rank, span->last_rank) &&
           skew_ns >= inq_arrival_doubt_ns(trace, collective, span->last_rank, span->last_ns);
}

/* `ranks` ascend. */
static bool is_one_of(const uint32_t *ranks, size_t n, uint32_t rank)
{
    size_t low = 0;
    size_t high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ranks[middle] < rank) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < n && ranks[low] == rank;
}

void inq_arrivals_of(const struct inq_trace *trace, const uint32_t *ranks, size_t n, uint64_t *last,
                     uint64_t *waits)
{
    *last = 0;
    *waits = 0;
    for (size_t c = 0; c < trace->n_collectives; c++) {
        const struct inq_collective *collective = &trace->collectives[c];
        struct inq_arrival_span span;
        bool takes_part = false;
        for (uint32_t m = 0; !takes_part && m < collective->n_members; m++) {
            takes_part = is_one_of(ranks, n, trace->members[collective->first_member + m].rank);
        }
        if (takes_part && is_real_wait(trace, collective, &span)) {
            *last += is_one_of(ranks, n, span.last_rank);
            (*waits)++;
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
            arrivals->at[r].worst[i].collective = INQ_NONE;
        }
    }
    for (size_t c = 0; c < trace->n_collectives; c++) {
        const struct inq_collective *collective = &trace->collectives[c];
        struct inq_arrival_span span;
        if (!is_real_wait(trace, collective, &span)) {
            continue;
        }
        for (uint32_t m = 0; m < collective->n_members; m++) {
            arrivals->at[trace->members[collective->first_member + m].rank].waits++;
        }
        arrivals->at[span.last_rank].last++;
        keep_worst(&arrivals->at[span.last_rank], &span);
    }
    return INQ_OK;
}
