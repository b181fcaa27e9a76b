/* SPDX-License-Identifier: Apache-2.0 */
/* Labeled ops of a whole trace as one table of rows, with dense stages, replicas and steps. */
#ifndef INQ_GRAPH_OPTABLE_ROWS_H
#define INQ_GRAPH_OPTABLE_ROWS_H

#include "inquest/trace.h"

struct inq_step_op {
    int64_t start_ns, end_ns;
    uint32_t rank, event;     /* into inq_trace.ranks; the rank's events, or INQ_NONE */
    uint32_t step, stage, dp; /* dense */
    int32_t seq;              /* tells ops of one type, stage, replica and step apart */
    int32_t micro_batch, chunk;
    uint8_t type; /* enum inq_op_type */
};

/* All-zero is releasable. */
struct inq_op_rows {
    size_t n, cap;
    struct inq_step_op *row;
    /* recorded numbers of the dense indices, ascending */
    size_t n_steps, n_stages, n_dp;
    int32_t *step_number, *stage_number, *dp_number;
    /* Of a recorded run: when each step began and how long it took; NULL: from the first start of
     * its rows to the last end. */
    int64_t *origin_ns, *length_ns;
    const char *source; /* "labels", "annotations", "inferred" */
    bool pipelines;     /* of a recorded run: its ranks form pipelines */
};

/* The pipeline of a recorded run without labels: forwards and backwards by annotation, or by thread
 * and transfers. `transfers`: they are rows, too, where all are understood, by their streams where
 * kernels do not say which way they went. n == 0 when it is no pipeline that can be recognized. */
int inq_op_rows_from_run(const struct inq_trace *trace, bool transfers, struct inq_op_rows *rows,
                         struct inq_err *err);

/* Groups of op types. */
bool inq_op_is_compute(uint8_t type);  /* forward and backward in all their parts */
bool inq_op_is_backward(uint8_t type); /* full backward, or its input part */
bool inq_op_is_p2p(uint8_t type);
/* Whether the ideal of the type is a median (communication) rather than a mean. */
bool inq_op_is_comm(uint8_t type);

#endif
