/* SPDX-License-Identifier: Apache-2.0 */
/* Process groups of communication that was recorded without any. */
#ifndef INQ_TRACE_GROUPS_H
#define INQ_TRACE_GROUPS_H

#include "inquest/trace.h"

static inline bool inq_is_comm_kernel(const struct inq_events *e, size_t i)
{
    return e->cls[i] == INQ_CLASS_COMM && e->kind[i] == INQ_EVENT_KERNEL && e->comm[i] != INQ_NONE;
}

/* Gives communication kernels without a group an inferred one and appends those to trace->groups:
 * one per communication stream, of all ranks, or, where its kernels end together only within sets
 * of ranks that are equally large, one per set. Collectives of a stream that does not tell keep
 * none where another stream told of such sets. Fails with INQ_NOMEM. */
int inq_groups_infer(struct inq_trace *trace, struct inq_err *err);

#endif
