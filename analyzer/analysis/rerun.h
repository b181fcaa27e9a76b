/* SPDX-License-Identifier: Apache-2.0 */
/* What a recorded run would have taken had some of its work taken less: the record as a graph,
 * simulated again with other durations. */
#ifndef INQ_ANALYSIS_RERUN_H
#define INQ_ANALYSIS_RERUN_H

#include "analysis/suspects.h"
#include "graph/from_trace.h"

/* All-zero is releasable. Arrays are by op of the graph. */
struct inq_rerun {
    const struct inq_trace *trace;
    struct inq_trace_graph g;
    int64_t *recorded_dur_ns, *recorded_delay_ns; /* that give the record again */
    int64_t *dur_ns, *delay_ns;                   /* to be changed */
    int64_t *end_ns;                              /* scratch */
    uint32_t first_step; /* the first judged one; INQ_NONE: no steps known */
    uint8_t *zone;       /* 0 before the judged steps, 1 in them, 2 after them */
    int64_t t_ns;        /* how long the judged steps took; 0: there is no graph */
    int64_t ends_ns[2];  /* of the GPU work before them, of theirs */
};

/* The steps that all ranks recorded whole (`cells`), or of a large run its middle step. A record
 * that contradicts itself gives no graph: t_ns is 0. Fails with INQ_NOMEM. Release it on failure
 * too. */
int inq_rerun_init(const struct inq_trace *trace, const struct inq_cells *cells,
                   struct inq_rerun *rerun, struct inq_err *err);
void inq_rerun_release(struct inq_rerun *rerun);
/* Forgets all changes. */
void inq_rerun_reset(struct inq_rerun *rerun);
/* The part of t_ns that the changes save, 0 .. 1. */
double inq_rerun_saved(const struct inq_rerun *rerun);

/* Sets each suspect's cost to what the run gains without it: its work at its peers' pace. What was
 * estimated from own times stays where the record allows no graph. Fails with INQ_NOMEM. */
int inq_suspects_cost(const struct inq_inquiry *inquiry, const struct inq_links *links,
                      struct inq_suspect *suspects, size_t n, struct inq_err *err);

/* Whether the op is in one of the judged steps. */
static inline bool inq_rerun_judged(const struct inq_rerun *rerun, size_t op)
{
    return rerun->zone[op] == 1;
}

#endif
