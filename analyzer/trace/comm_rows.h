/* SPDX-License-Identifier: Apache-2.0 */
/* The communication kernels of all ranks as rows, sorted into channels: what must happen in the
 * same order on every member. Shared by matching and by the first estimate of the clocks. */
#ifndef INQ_TRACE_COMM_ROWS_H
#define INQ_TRACE_COMM_ROWS_H

#include "inquest/trace.h"

struct inq_comm_row {
    uint32_t event;   /* index into the rank's events */
    uint32_t channel; /* index into inq_comm_rows.channels */
    int64_t start_ns, end_ns;
    int64_t seq;    /* recorded, or -1 */
    int64_t step;   /* by the profiler's marks, or -1 */
    uint64_t size;  /* of what must agree on all members; 0 unknown */
    uint8_t family; /* kinds that different versions name differently fall together */
    bool nameless;  /* only a kernel's name says what it is, and it says just "send or receive" */
};

/* One order: a process group, or one direction of a P2P pair. */
struct inq_channel {
    uint32_t group;
    int32_t from, to; /* P2P: global ranks; -1 else */
};

struct inq_comm_rows {
    size_t n_channels, cap_channels;
    struct inq_channel *channels;
    size_t n_ranks;
    size_t *n_rows;             /* [n_ranks] */
    struct inq_comm_row **rows; /* [n_ranks][n_rows], sorted by (channel, start) */
    uint64_t unplaced;          /* P2P kernels whose peer is not known */
};

/* Collects the rows of a trace. Where no group was recorded, groups are inferred (and appended to
 * trace->groups): one per communication stream, all ranks in each. Fails with INQ_NOMEM, INQ_LIMIT;
 * release in any case. */
int inq_comm_rows_collect(struct inq_trace *trace, struct inq_comm_rows *rows, struct inq_err *err);
void inq_comm_rows_release(struct inq_comm_rows *rows);

/* Whether two rows can be the same operation seen by two members. */
bool inq_comm_rows_agree(const struct inq_comm_row *a, const struct inq_comm_row *b);

/* First estimate of every rank's clock against the first rank that it is connected with: what must
 * be added to the rank's times; 0 where nothing tells. offset_ns is the caller's [n_ranks]. */
int inq_clock_first_offsets(const struct inq_trace *trace, const struct inq_comm_rows *rows,
                            int jobs, int64_t *offset_ns, struct inq_err *err);

#endif
