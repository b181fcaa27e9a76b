/* SPDX-License-Identifier: Apache-2.0 */
/* Transfers that name no peer: who may exchange with whom, by all else that was recorded (the peers
 * that transfers name, and the groups in which two ranks work on one tensor), and which of them are
 * the two ends of one. */
#ifndef INQ_TRACE_PAIRING_H
#define INQ_TRACE_PAIRING_H

#include "base/hash.h"
#include "base/mem.h"
#include "trace/comm_rows.h"
#include "trace/partners.h"

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

/* What behaves otherwise, captures' ends among it, is less than a fifth. */
static inline bool inq_is_nearly_all(size_t part, size_t all)
{
    return part * 5 >= all * 4;
}

/* A kernel that names its peer, which has none for it that does. */
struct inq_leftover {
    uint32_t rank;
    const struct inq_comm_row *row;
    bool taken; /* by one that names no peer */
};

/* A kernel that exchanged with a peer that is not known, or (`left`) with one that it names but
 * that has no such kernel. */
struct inq_open_row {
    uint32_t rank;
    const struct inq_comm_row *row;
    struct inq_leftover *left; /* NULL: its peer is not known */
};

/* The exchanges of one channel. */
struct inq_open {
    const struct inq_pairing *pairing;
    const struct inq_clock *clocks; /* by source */
    size_t n;
    struct inq_open_row *open;
    struct inq_exchange *all; /* by end; `row` is an index into `open` */
    bool convincing;          /* pairs of ranks explain nearly all of them */
};

/* Finds the partners of the rows of a channel's sides, among each other and among those of `left`
 * that are not taken. Fails with INQ_NOMEM; release in any case. */
int inq_open_pair(struct inq_open *open, const struct inq_side *sides, size_t n_sides,
                  struct inq_leftover *left, size_t n_left, struct inq_err *err);
static inline void inq_open_release(struct inq_open *open)
{
    inq_mem_free(open->open);
    inq_mem_free(open->all);
}

#endif
