/* SPDX-License-Identifier: Apache-2.0 */
/* A device's line of HLO ops, as accelerators without streams record it. */
#ifndef INQ_INGEST_XLA_OPS_H
#define INQ_INGEST_XLA_OPS_H

#include "ingest/xla/device.h"

/* Adds the ops of a line to the rank. Ops that only hold others (loops, calls) become notes; the
 * two halves of an asynchronous op become one row, from its start to its end, on a lane of its own.
 * `beside`: the line is of asynchronous ops as a whole; `halves`: there is such a line, so halves
 * on this one are notes. Fails with INQ_NOMEM, INQ_LIMIT. */
struct inq_xla_ops_line {
    const struct inq_xla_plane *plane;
    const struct inq_xla_line *line;
    uint32_t rank; /* of the shard */
    int32_t ordinal;
    bool beside, halves;
};
int inq_xla_read_ops(struct inq_xla_file *file, const struct inq_xla_ops_line *of,
                     struct inq_err *err);

/* What HLO says of communication: kind, elements, replica groups (the first of several alike).
 * Fails with INQ_NOMEM, INQ_LIMIT. */
int inq_xla_describe_comm(struct inq_shard *shard, const struct inq_hlo *hlo, struct inq_comm *comm,
                          struct inq_err *err);
/* Each row that names one of several groups alike gets the one that its rank is in. After the ranks
 * have their numbers, and again when they change. Fails with INQ_NOMEM. */
int inq_xla_settle_groups(struct inq_shard *shard, struct inq_err *err);
/* Without the copy's number ("replica_4/dense/MatMul"): every rank has the op. */
struct inq_hlo_text inq_xla_op_name(struct inq_hlo_text name);

#endif
