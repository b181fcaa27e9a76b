/* SPDX-License-Identifier: Apache-2.0 */
/* Compute between two communications, in the order of launches. Ranks of a role have the same
 * stretches; where they wait for each other after each one, it matters in which a rank takes
 * longer. */
#ifndef INQ_ANALYSIS_STRAGGLER_STRETCHES_H
#define INQ_ANALYSIS_STRAGGLER_STRETCHES_H

#include "analysis/straggler/repair.h"

struct inq_stretch {
    int64_t compute_ns;
    uint32_t kernels;
    double factor; /* for what uses the stretches; 0 at first */
};

struct inq_stretches {
    size_t *start; /* [n_ranks * n_steps + 1] first stretch of each rank's step */
    int64_t *call; /* by stretch: the last one in it; INT64_MAX: the step ends it */
    struct inq_stretch *at;
    bool by_waits; /* compute that waits for another stage begins a stretch, too */
    bool *blind;   /* [n_ranks * n_steps] some work's launch was not recorded: nor is its stretch */
    bool by_begin; /* of some ranks' steps it was inferred from when communication began */
    uint32_t *of;  /* [n_ops] stretch of compute, INQ_NONE: by its launch; NULL: all are */
};

/* `by_waits`: so that no stretch holds work of two micro-batches whose receives were posted early;
 * who waits may differ between ranks. Fails with INQ_NOMEM; release it on failure too. */
int inq_stretches_find(const struct inq_repairing *x, bool by_waits, struct inq_stretches *t,
                       struct inq_err *err);
void inq_stretches_release(struct inq_stretches *t);
/* Index of the stretch that a judged piece of compute or a copy is in: the first whose end was
 * launched after it. */
size_t inq_stretch_of(const struct inq_repairing *x, const struct inq_stretches *t, size_t op);

#endif
