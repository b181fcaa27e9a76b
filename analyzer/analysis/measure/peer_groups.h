/* SPDX-License-Identifier: Apache-2.0 */
/* Which ranks have the same work by design, so that a difference between them means something. */
#ifndef INQ_ANALYSIS_MEASURE_PEER_GROUPS_H
#define INQ_ANALYSIS_MEASURE_PEER_GROUPS_H

#include "graph/optable/optable.h"

struct inq_peer_groups {
    uint32_t *of;      /* [n_ranks] role of each rank, 0 .. n - 1 */
    int32_t *stage;    /* [n_ranks, of which n are set] pipeline stage of each role; -1 unknown */
    uint32_t *members; /* [n_ranks, of which n are set] ranks of each role */
    size_t n;
    bool pipeline; /* the roles are pipeline stages, or at least differ like such */
};

/* *needed: whether the stages are to be had from a model only: none is recorded, and no rank's
 * sends and receives tell its own. Fails with INQ_NOMEM. */
int inq_peer_groups_need_model(const struct inq_trace *trace, bool *needed, struct inq_err *err);

/* Ranks of one pipeline stage have one role; without a pipeline all have the same. The stage is the
 * one recorded, else the rank's place in the group in which it sends and receives, or, where that
 * is the group of all ranks, among those that it exchanges with. Where sends and
 * receives are seen but not with whom, the stage is the one in `model` (may be NULL), or ranks that
 * run the same kernels have one role, of no known stage. Release it also after a failure. Fails
 * with INQ_NOMEM. */
int inq_peer_groups_find(const struct inq_trace *trace, const struct inq_op_model *model,
                         struct inq_peer_groups *roles, struct inq_err *err);
void inq_peer_groups_release(struct inq_peer_groups *roles);

#endif
