/* SPDX-License-Identifier: Apache-2.0 */
/* Workers of a pipeline job and their labeled ops: what the readers of op tables have in common.
 */
#ifndef INQ_INGEST_OPTABLE_OPTABLE_H
#define INQ_INGEST_OPTABLE_OPTABLE_H

#include "trace/build/build.h"

/* The lanes of a worker, by id: those of the what-if paper (OSDI'25). Ops of one lane run in order.
 */
enum inq_op_role {
    INQ_ROLE_COMPUTE, /* and what the host does between: optimizer, gc */
    INQ_ROLE_DP_COMM,
    INQ_ROLE_FORWARD_SEND,
    INQ_ROLE_FORWARD_RECV,
    INQ_ROLE_BACKWARD_SEND,
    INQ_ROLE_BACKWARD_RECV,
    INQ_ROLE_COUNT
};

struct inq_ops_row {
    int64_t start_ns, dur_ns; /* as recorded: per-step origins are laid out later (assemble.h) */
    inq_str name;
    enum inq_op_role role;
    enum inq_op_class cls;
    struct inq_label label;
};

/* The type that a name means: as inq_op_type_text has it, or as schedules and frameworks write it
 * ("F", "fwd", "recv_forward"; case, '_' and blanks do not matter). INQ_OP_NONE: none. */
enum inq_op_type inq_op_type_read(const char *name, size_t len);
/* Where an op belongs and what it is, by its type; for INQ_OP_NONE by words in its name. */
enum inq_op_role inq_op_role(enum inq_op_type type, const char *name);
enum inq_op_class inq_op_class(enum inq_op_type type, const char *name);

/* Appends a rank with its six lanes (index = role). */
int inq_ops_add_worker(struct inq_shard *shard, uint32_t *index, struct inq_err *err);
/* Appends an op to worker `index` of the shard. */
int inq_ops_add(struct inq_shard *shard, uint32_t index, const struct inq_ops_row *row,
                struct inq_err *err);

#endif
