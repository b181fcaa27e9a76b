/* SPDX-License-Identifier: Apache-2.0 */
/* One repair under way: the run that it changes, and how ops are changed. */
#ifndef INQ_ANALYSIS_STRAGGLER_REPAIR_H
#define INQ_ANALYSIS_STRAGGLER_REPAIR_H

#include "analysis/straggler/straggler.h"

#include <math.h>

struct inq_repairing {
    struct inq_study *study;
    struct inq_counterfactual *run;
    size_t n_ops, n_ranks, n_steps;
    int64_t removed_ns, host_ns;
    bool applies, spread; /* as in struct inq_gain */
};

/* Whether op `i` is GPU work of this class in a judged step. */
static inline bool inq_repairing_is(const struct inq_repairing *x, size_t i, enum inq_op_class cls)
{
    const struct inq_trace_op *what = &x->run->g.ops[i];
    return inq_counterfactual_judged(x->run, i) && !what->host &&
           x->study->trace->ranks[what->rank].events.cls[what->row] == cls;
}

/* Index of the rank's step that a judged op is in. */
static inline size_t inq_repairing_place(const struct inq_repairing *x, size_t i)
{
    return x->run->g.ops[i].rank * x->n_steps + (size_t)x->run->step_of[i];
}

static inline void inq_repairing_set(struct inq_repairing *x, size_t i, int64_t dur_ns)
{
    x->removed_ns += x->run->dur_ns[i] - dur_ns;
    x->applies = x->applies || dur_ns != x->run->dur_ns[i];
    x->run->dur_ns[i] = dur_ns;
}

static inline void inq_repairing_scale(struct inq_repairing *x, size_t i, double factor)
{
    inq_repairing_set(x, i, (int64_t)llround((double)x->run->dur_ns[i] * factor));
}

#endif
