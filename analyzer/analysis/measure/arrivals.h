/* SPDX-License-Identifier: Apache-2.0 */
/* Who comes last to the collectives that others really wait in. */
#ifndef INQ_ANALYSIS_MEASURE_ARRIVALS_H
#define INQ_ANALYSIS_MEASURE_ARRIVALS_H

#include "base/mem.h"
#include "inquest/analysis.h"

/* Shorter skews are launch noise. */
#define INQ_REAL_WAIT_NS 20000

#define INQ_WORST_WAITS 3

/* First and last arrival of a matched collective. */
struct inq_arrival_span {
    uint32_t collective; /* INQ_NONE: there is none */
    uint32_t first_rank, last_rank;
    int64_t first_ns, last_ns;
};

/* One rank. Only synchronizing collectives count in which somebody waited longer than noise and
 * than the clocks of first and last are known to disagree. */
struct inq_arrival {
    uint64_t last, waits; /* times last; collectives that it took part in */
    struct inq_arrival_span worst[INQ_WORST_WAITS]; /* it was last in, longest wait first */
};

struct inq_arrivals {
    struct inq_arrival *at; /* [n_ranks] */
};

int inq_arrivals_count(const struct inq_trace *trace, struct inq_arrivals *arrivals,
                       struct inq_err *err);
/* Collectives in which somebody waited and one of these ranks (ascending) takes part: *waits, and
 * those of them that one of these came to last: *last. */
void inq_arrivals_of(const struct inq_trace *trace, const uint32_t *ranks, size_t n, uint64_t *last,
                     uint64_t *waits);
static inline void inq_arrivals_release(struct inq_arrivals *arrivals)
{
    inq_mem_free(arrivals->at);
    *arrivals = (struct inq_arrivals){0};
}

#endif
