/* SPDX-License-Identifier: Apache-2.0 */
/* One step of one data-parallel replica: its ops and what they depend on. All steps and all
 * replicas of a job share it. The dependency model is that of the OSDI'25 what-if analysis. */
#ifndef INQ_GRAPH_OPTABLE_TEMPLATE_H
#define INQ_GRAPH_OPTABLE_TEMPLATE_H

#include "graph/graph.h"
#include "graph/optable/rows.h"

/* Lanes of a worker. */
enum inq_op_lane {
    INQ_OP_LANE_COMPUTE,
    INQ_OP_LANE_FORWARD_SEND,
    INQ_OP_LANE_FORWARD_RECV,
    INQ_OP_LANE_BACKWARD_SEND,
    INQ_OP_LANE_BACKWARD_RECV,
    INQ_OP_LANE_DP,   /* parameter gather, gradient scatter */
    INQ_OP_LANE_LAST, /* what follows the last backward */
};

/* All-zero is releasable. */
struct inq_op_template {
    size_t n, n_stages, n_chunks;
    struct inq_step_op *op; /* [n] by stage; in a stage by lane order */
    size_t *stage_start;    /* [n_stages + 1] into op */
    uint8_t *lane;          /* [n] enum inq_op_lane */
    bool has_p2p;
    /* Set before inq_op_template_make: a receive is posted when the compute before its own is over,
     * if the pattern step says so (streams that wait for each other), rather than as early as can
     * be. */
    bool recv_in_order;
    bool v_shaped; /* chunks run down and up the stages, not down each time */
    bool two_way;  /* v_shaped, and each chunk has micro-batches of its own: two pipelines that run
                      through the same ranks from either end */
    size_t n_edges, cap_edges;
    struct inq_edge *edges; /* besides lane order */
    size_t n_groups;
    uint32_t *group;  /* [n] group within the replica, or INQ_NONE */
    uint8_t *dp_sync; /* [n] its group spans all replicas */
};

/* Takes `rows` (copied): all of one step and replica. Fails with INQ_NOMEM, INQ_LIMIT. Release on
 * failure too. */
int inq_op_template_make(const struct inq_step_op *rows, size_t n, size_t n_stages,
                         struct inq_op_template *out, struct inq_err *err);
void inq_op_template_release(struct inq_op_template *t);

/* The graph of one step with `n_dp` replicas; id of op `i` of replica `d` is d * n + i. Op labels:
 * stage and dp_rank dense, source = i; rank = d * n_stages + stage. */
int inq_op_template_graph(const struct inq_op_template *t, size_t n_dp, struct inq_graph **graph,
                          struct inq_err *err);

#endif
