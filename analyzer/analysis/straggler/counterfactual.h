/* SPDX-License-Identifier: Apache-2.0 */
/* What a recorded run would have taken had some of its work taken less: the record as a graph,
 * simulated again with other durations. */
#ifndef INQ_ANALYSIS_STRAGGLER_COUNTERFACTUAL_H
#define INQ_ANALYSIS_STRAGGLER_COUNTERFACTUAL_H

#include "analysis/measure/measure.h"
#include "graph/graph.h"

/* All-zero is releasable. Arrays are by op of the graph. */
struct inq_counterfactual {
    const struct inq_trace *trace;
    struct inq_trace_graph g;
    int64_t *recorded_dur_ns, *recorded_delay_ns; /* that give the record again */
    int64_t *dur_ns, *delay_ns;                   /* to be changed */
    int64_t *end_ns;                              /* scratch */
    uint32_t first_step; /* the first judged one, into inq_trace.steps; INQ_NONE: no steps known */
    size_t n_steps;      /* judged, one after the other; 0: there is no graph */
    int32_t *step_of;    /* 0 .. n_steps - 1; -1 before the judged steps, n_steps after them */
    bool *ends_step;     /* [n_ops] a step is over when all of these are */
    int64_t *base_ns;    /* [n_steps] what each takes by the simulator, as recorded */
    int64_t *gaps_ns;    /* [n_steps] before each: steps that a reduced partial does not have */
    int64_t *ends_ns;    /* [n_steps + 1] scratch */
    int64_t begin_ns;    /* of the first judged step where nothing was recorded before it */
    bool unmatched;      /* no graph, because communication has no partner */
    const char *problem; /* why there is no graph; "" there is one */
};

/* The steps that all ranks recorded whole (`cells`), or of a large run its middle step. A record
 * that contradicts itself, or whose communication is not matched, gives no graph: n_steps is 0.
 * Fails with INQ_NOMEM. Release it on failure too. */
int inq_counterfactual_init(const struct inq_trace *trace, const struct inq_step_stats *cells,
                            struct inq_counterfactual *counterfactual, struct inq_err *err);
void inq_counterfactual_release(struct inq_counterfactual *counterfactual);
/* Forgets all changes. */
void inq_counterfactual_reset(struct inq_counterfactual *counterfactual);
/* Simulates with the changes: what each of the n_steps takes, from the end of the GPU work of the
 * step before to the end of its own, over all ranks. */
void inq_counterfactual_steps(struct inq_counterfactual *counterfactual, int64_t *step_ns);

/* Whether the op is in one of the judged steps. */
static inline bool inq_counterfactual_judged(const struct inq_counterfactual *counterfactual,
                                             size_t op)
{
    return counterfactual->step_of[op] >= 0 &&
           counterfactual->step_of[op] < (int32_t)counterfactual->n_steps;
}

#endif
