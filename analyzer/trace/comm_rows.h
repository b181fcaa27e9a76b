/* SPDX-License-Identifier: Apache-2.0 */
/* The communication kernels of all ranks as rows, sorted into channels: what must happen in the
 * same order on every member. Shared by matching and by the first estimate of the clocks. */
#ifndef INQ_TRACE_COMM_ROWS_H
#define INQ_TRACE_COMM_ROWS_H

#include "trace/align.h"

struct inq_comm_row {
    uint32_t event;   /* index into the rank's events */
    uint32_t channel; /* index into inq_comm_rows.channels */
    int64_t start_ns, end_ns;
    int64_t seq;    /* recorded, rising with the rows of a side and alike on all; or -1 */
    uint32_t call;  /* place among the kernels of one recorded number */
    int64_t step;   /* by the profiler's marks, or -1 */
    uint64_t size;  /* of what must agree on all members; 0 unknown */
    uint8_t family; /* kinds that different versions name differently fall together */
    bool nameless;  /* only a kernel's name says what it is, and it says just "send or receive" */
    bool syncs;     /* its members end together */
};

/* One order: the collectives of a process group, its bare exchanges (which need not concern all of
 * its members), or one direction of a P2P pair. Collectives on several streams whose launches were
 * not all recorded have an order only among their kind. */
struct inq_channel {
    uint32_t group;
    int32_t from, to; /* P2P: global ranks; -1 else */
    uint32_t bare;    /* 1: kernels of which only "send or receive" is known */
    uint32_t family;  /* of the rows, + 1; 0: of all kinds */
};

/* One rank's rows of a channel. */
struct inq_side {
    uint32_t rank; /* index into inq_trace.ranks */
    size_t n;
    struct inq_comm_row *rows; /* in the order in which the rank issued them */
};

struct inq_comm_rows {
    size_t n_channels, cap_channels;
    struct inq_channel *channels;
    size_t n_ranks;
    size_t *n_rows;             /* [n_ranks] */
    struct inq_comm_row **rows; /* [n_ranks][n_rows], sorted by (channel, order) */
    size_t *first_side;         /* [n_channels + 1] into sides */
    struct inq_side *sides;     /* of one channel by rank */
    uint64_t unplaced;          /* P2P kernels whose peer is not known */
};

/* Collects the rows of a trace. Where no group was recorded, groups are inferred (and appended to
 * trace->groups; groups.h). Does not depend on `jobs`. Fails
 * with INQ_NOMEM, INQ_LIMIT; release in any case. */
int inq_comm_rows_collect(struct inq_trace *trace, int jobs, struct inq_comm_rows *rows,
                          struct inq_err *err);
void inq_comm_rows_release(struct inq_comm_rows *rows);

/* The row for an alignment, with its end in whatever time. */
struct inq_align_row inq_comm_align_row(const struct inq_comm_row *row, int64_t end_ns);

#endif
