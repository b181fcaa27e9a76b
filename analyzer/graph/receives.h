/* SPDX-License-Identifier: Apache-2.0 */
/* What a pipeline's receives feed, where the record does not show it. */
#ifndef INQ_GRAPH_RECEIVES_H
#define INQ_GRAPH_RECEIVES_H

#include "graph/graph.h"
#include "inquest/trace.h"

/* One rank of a graph that is being built. */
struct inq_receives {
    const struct inq_rank *rank;
    const uint32_t *event_id; /* [events.n] builder ids; INQ_NONE: not in the graph */
    const int32_t *matched;   /* [events.n] rank at the other end of a matched transfer, or -1;
                               * NULL: the rank receives nothing */
    const bool *early; /* [n_lanes] whether transfers on it begin before the compute launched ahead
                        * of them has ended: no send does */
    uint32_t *feeds;   /* [events.n] the work that began when it ended and was seen to wait
                        * for it; INQ_NONE: none. Those that are found are added. */
};

/* A receive that was posted early and had arrived before its pass began shows no edge; that pass
 * could not have begun before it, though. What comes from one neighbor feeds what goes to the
 * other, in order; at the last stage, what goes back: those edges are added to `builder`. Adds the
 * receives to *n, and to *n_loose those that ran beside compute and feed nothing that is known.
 * Fails with INQ_NOMEM, INQ_LIMIT. */
int inq_receives_connect(const struct inq_receives *of, struct inq_graph_builder *builder,
                         size_t *n, size_t *n_loose, struct inq_err *err);

#endif
