/* SPDX-License-Identifier: Apache-2.0 */
/* A graph of recorded GPU work and the host calls behind it, over all ranks, in a window of time.
 */
#ifndef INQ_GRAPH_FROM_TRACE_H
#define INQ_GRAPH_FROM_TRACE_H

#include "inquest/graph.h"

/* What an op of the graph was. `source` in the graph is an index into this. */
struct inq_trace_op {
    uint32_t rank; /* into inq_trace.ranks */
    uint32_t row;  /* of the rank's events, or calls when `host` */
    bool host;
    bool sync;  /* a host call that waits for the GPU */
    bool batch; /* a kernel of transfers with several ranks: in no group, starts with their last */
};

/* All-zero is releasable. Times are on the trace's clock, by op index of the graph. */
struct inq_trace_graph {
    struct inq_graph *graph;
    struct inq_trace_op *ops;
    int64_t *start_ns, *end_ns;
    size_t contradictions; /* circles of the record that were cut */
    size_t n_receives;     /* of a pipeline */
    size_t n_loose;        /* of them: ran beside compute and feed nothing that is known */
};

/* Everything of step `step` (index into trace->steps), or of the whole trace when INQ_NONE.
 *
 * An op waits for: the op before it on its stream or thread; its launch; where none of those
 * explains its start, the op of another stream of its rank that ended last before it; and in a
 * matched collective nobody transfers before all have arrived. A kernel that transfers to or from
 * several ranks at once (batch_isend_irecv) waits for what each of them waits for, and its start is
 * the last of their arrivals; it is in no group. Communication also waits for the compute launched
 * last before it, if its stream always did, and a pipeline's pass for its receive. A host call
 * waits for the call before it on its thread, or on another thread of the rank when that ended
 * later (the backward thread is started by the main thread); a call that waits for the GPU also
 * waits for the GPU work that ended last before it returned, and so does a first call that comes
 * soon after the GPU had gone idle; a call that returns with a copy of its own is two ops, its
 * launch and its return, and the return waits for the copy; a call that a thread makes just when
 * communication ends that it launched before a long silence waited for that. Where kernels seem to
 * start before they were launched, the rank's host clock is behind its GPU's: host times are moved
 * back by as much (up to 1 ms). Where the record says that ops waited for each other in a circle,
 * the weakest link is cut. Fails with INQ_NOMEM, INQ_LIMIT. Release on failure too. */
int inq_trace_graph_make(const struct inq_trace *trace, uint32_t step, struct inq_trace_graph *out,
                         struct inq_err *err);
void inq_trace_graph_release(struct inq_trace_graph *graph);

#endif
