/* SPDX-License-Identifier: Apache-2.0 */
/* The spec as the simulation asks it: which faults act, what they do. A fault that is
 * switched off (a counterfactual) changes no draw of the others. */
#ifndef INQ_REPLAY_SYNTH_PLAN_H
#define INQ_REPLAY_SYNTH_PLAN_H

#include "synth/layout.h"

#include <stdbool.h>

struct synth_plan {
    const struct inq_synth_spec *spec;
    uint64_t active; /* bit i: fault i acts */
    int32_t world;
    double *sequence; /* [steps][dp][micro_batches]: relative lengths; NULL: all 1 */
};

/* Fails with INQ_NOMEM. Release with inq_synth_plan_release. */
int inq_synth_plan_init(struct synth_plan *plan, const struct inq_synth_spec *spec, uint64_t active,
                        struct inq_err *err);
void inq_synth_plan_release(struct synth_plan *plan);

/* ---- what the faults do ---------------------------------------------------------------------- */

/* What the faults do to a rank in a step: factors on what it does, and delays. */
struct synth_factors {
    double gpu;            /* all kernels: a slow GPU, and the rank's healthy spread */
    double clock;          /* kernels that compute, beyond that: a low SM clock */
    double size;           /* extra compute: the size of kernels */
    double count;          /* extra compute: their number */
    double launch;         /* all that the host does */
    double last_stage;     /* what the last stage has beyond its layers */
    int64_t data_delay_ns; /* in the data loading */
    int64_t step_delay_ns; /* after it */
    int64_t pause_ns;      /* inside the forward */
};
struct synth_factors inq_synth_factors(const struct synth_plan *plan, int32_t rank, int32_t step);
/* Noise of one kernel, by its ordinal in the step. */
double inq_synth_kernel_noise(const struct synth_plan *plan, int32_t rank, int32_t step,
                              uint64_t ordinal);
/* Relative length of a micro-batch. */
double inq_synth_sequence(const struct synth_plan *plan, int32_t step, int32_t dp_rank,
                          int32_t micro_batch);
/* Factor on transfers between the members of the rank's group, or from `rank` to `peer` (>= 0). */
double inq_synth_link_factor(const struct synth_plan *plan, enum synth_role role, int32_t rank,
                             int32_t peer, int32_t step);
/* Relative number of tokens of the rank's experts in one layer. */
double inq_synth_expert_load(const struct synth_plan *plan, int32_t rank, int32_t step,
                             int32_t layer, int32_t micro_batch);
/* Whether the fault is about the rank. */
bool inq_synth_concerns(const struct inq_synth_spec *spec, const struct inq_synth_fault *fault,
                        int32_t rank);

/* Clock of the rank's host: local = t + offset + t * ppb / 1e9. */
struct synth_clock {
    int64_t offset_ns, drift_ppb;
};
struct synth_clock inq_synth_clock(const struct inq_synth_spec *spec, int32_t rank);

#endif
