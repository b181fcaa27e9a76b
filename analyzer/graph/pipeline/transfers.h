/* SPDX-License-Identifier: Apache-2.0 */
/* The transfers of a recorded pipeline: who is at the other end, and which way they go. */
#ifndef INQ_GRAPH_PIPELINE_TRANSFERS_H
#define INQ_GRAPH_PIPELINE_TRANSFERS_H

#include "graph/pipeline/pipeline.h"

/* Sets the partners of the items of all ranks, which way they went, by the kernels or else by
 * their streams, if `streams`, and run->has_direction. A receive that was posted in the step before
 * its send joins the step of the send. Fails with INQ_NOMEM. */
int inq_pipe_find_partners(struct inq_pipe_run *run, bool streams, struct inq_err *err);

#endif
