/* SPDX-License-Identifier: Apache-2.0 */
/* The critical path through a graph whose ops have run, and the slack of all others. */
#ifndef INQ_GRAPH_CRITICAL_PATH_H
#define INQ_GRAPH_CRITICAL_PATH_H

#include "inquest/graph.h"

/* A stretch of time on the path: the op itself, or the delay before it. */
struct inq_path_piece {
    uint32_t op;
    bool delay;
    int64_t from_ns, to_ns; /* from < to */
};

/* All-zero is releasable. */
struct inq_path {
    size_t n, cap;
    struct inq_path_piece *pieces; /* from the first to the last; each begins where one ends */
};

/* When ops ran: [n_ops] each, by op index. `before` (may be NULL) names for each op another one
 * that it followed in time without depending on it (the same worker was busy), or INQ_NONE; it must
 * have started earlier. */
struct inq_timing {
    const int64_t *start_ns, *end_ns;
    const uint32_t *before;
};

/* The chain from `origin_ns` to the end of op `last`: at every op the latest end of what it waited
 * for, at every group the last member to arrive. The pieces cover [origin_ns, end of last] without
 * a gap (times before the origin are cut off). Fails with INQ_NOMEM. Release on failure too. */
int inq_path_find(const struct inq_graph *graph, const struct inq_timing *timing, uint32_t last,
                  int64_t origin_ns, struct inq_path *path, struct inq_err *err);
void inq_path_release(struct inq_path *path);

/* By how much each op could end later without the end of the whole moving (slack_ns[n_ops]), every
 * recorded delay kept. Never negative. */
void inq_slack_find(const struct inq_graph *graph, const struct inq_timing *timing,
                    int64_t *slack_ns);

#endif
