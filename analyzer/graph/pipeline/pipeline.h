/* SPDX-License-Identifier: Apache-2.0 */
/* Labeled ops from a recorded run that has no labels of its own: forwards and backwards from
 * annotations or from threads and transfers, stages from who talks to whom. */
#ifndef INQ_GRAPH_PIPELINE_PIPELINE_H
#define INQ_GRAPH_PIPELINE_PIPELINE_H

#include "graph/optable/optable.h"

enum inq_pipe_item_kind {
    INQ_ITEM_COMPUTE, /* a kernel or copy */
    INQ_ITEM_P2P,
    INQ_ITEM_SYNC /* any other communication */
};

/* One piece of GPU work of a rank. */
struct inq_pipe_item {
    int64_t launch_ns, start_ns, end_ns;
    uint32_t event, thread; /* thread: lane of the launching call, INQ_NONE unknown */
    uint32_t note;          /* pipeline annotation around the launch, INQ_NONE for none */
    uint32_t partner;       /* P2P: index of the other rank, INQ_NONE unknown */
    uint32_t step;          /* 0 where the trace has no steps */
    uint8_t kind;           /* enum inq_pipe_item_kind */
    bool wide;              /* SYNC: its group has ranks of several stages */
    uint8_t dir;            /* P2P: INQ_COLL_SEND, INQ_COLL_RECV, or INQ_COLL_SENDRECV: unknown */
};

/* A forward or backward of one micro-batch (and chunk) in one step. */
struct inq_pipe_op {
    int64_t start_ns, end_ns, launch_ns;
    uint32_t step, event;
    int32_t micro_batch, chunk;
    uint8_t type; /* enum inq_op_type */
};

struct inq_pipe_rank {
    size_t n_items;
    struct inq_pipe_item *items; /* by step, in order of launch */
    size_t *step_start;          /* [n_steps + 1] into items */
    size_t n_ops, cap_ops;
    struct inq_pipe_op *ops; /* in order of launch */
    uint32_t stage, replica;
    uint32_t main_thread; /* that runs the forward pass; INQ_NONE: not known */
};

struct inq_pipe_run {
    const struct inq_trace *trace;
    struct inq_pipe_rank *ranks; /* [n_ranks] */
    size_t n_steps;              /* at least 1 */
    uint32_t n_stages, n_replicas;
    bool has_notes;     /* forwards and backwards are annotated */
    bool has_direction; /* every P2P transfer says which way it went */
};

/* Items of all ranks; `streams` tell which way transfers went where kernels do not. The caller
 * frees what `run` holds, after a failure, too. */
int inq_pipe_collect(const struct inq_trace *trace, bool streams, struct inq_pipe_run *run,
                     struct inq_err *err);
/* Forwards and backwards of every rank; *found says whether they make sense. */
int inq_pipe_find_ops(struct inq_pipe_run *run, bool *found, struct inq_err *err);

#endif
