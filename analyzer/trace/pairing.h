/* SPDX-License-Identifier: Apache-2.0 */
/* Who may exchange with whom, by all else that was recorded: the peers that transfers name, and the
 * groups in which two ranks work on one tensor. */
#ifndef INQ_TRACE_PAIRING_H
#define INQ_TRACE_PAIRING_H

#include "base/hash.h"
#include "base/mem.h"
#include "trace/comm_rows.h"

/* A group's collectives on one rank. */
struct inq_peer_share {
    uint32_t channel;
    size_t n;
};

struct inq_pairing {
    const struct inq_trace *trace;
    size_t *first;                 /* [n_ranks + 1] into shares; the next three lie behind it */
    size_t *exchanges;             /* [n_ranks] transfers of a rank, named and bare */
    uint32_t *first_lane;          /* [n_ranks + 1] lanes of the ranks before it */
    bool *named;                   /* [n_ranks] some of its transfers name their peers */
    struct inq_map pairs;          /* by rank numbers: who is named */
    struct inq_peer_share *shares; /* of one rank by channel */
};

/* Fails with INQ_NOMEM; release in any case. */
int inq_pairing_init(struct inq_pairing *p, const struct inq_trace *trace,
                     const struct inq_comm_rows *rows, struct inq_err *err);
static inline void inq_pairing_release(struct inq_pairing *p)
{
    inq_map_release(&p->pairs);
    inq_mem_free(p->first);
    inq_mem_free(p->shares);
}

/* Whether two ranks (indexes) may have exchanged something that names no peer. Those that name
 * peers elsewhere have no others. Ranks that are in collectives together as often as they transfer
 * share a tensor: the neighbors of a pipeline meet once or twice a step. */
bool inq_may_pair(const struct inq_pairing *p, uint32_t a, uint32_t b);

#endif
