/* SPDX-License-Identifier: Apache-2.0 */
/* The spec as the simulation asks it: who is where, which faults act, what they do. A fault that is
 * switched off (a counterfactual) changes no draw of the others. */
#ifndef INQ_SYNTH_PLAN_H
#define INQ_SYNTH_PLAN_H

#include "inquest/synth.h"

#include <stdbool.h>

/* Groups of ranks that communicate. */
enum synth_role {
    SYNTH_WORLD, /* all ranks */
    SYNTH_DP,    /* same stage and TP rank */
    SYNTH_TP,    /* same stage and replica */
    SYNTH_MP,    /* all ranks of a replica: gradient norm */
    SYNTH_PP,    /* same replica and TP rank: the pipeline */
    SYNTH_ROLE_COUNT
};

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

/* ---- who is where ---------------------------------------------------------------------------- */

int32_t inq_synth_stage(const struct inq_synth_spec *spec, int32_t rank);
int32_t inq_synth_dp_rank(const struct inq_synth_spec *spec, int32_t rank);
int32_t inq_synth_tp_rank(const struct inq_synth_spec *spec, int32_t rank);
/* The rank on another stage with the same replica and TP rank. */
int32_t inq_synth_on_stage(const struct inq_synth_spec *spec, int32_t rank, int32_t stage);
int32_t inq_synth_group_size(const struct inq_synth_spec *spec, enum synth_role role);
/* Index of the rank's group among those of its role, from 0. */
int32_t inq_synth_group_of(const struct inq_synth_spec *spec, enum synth_role role, int32_t rank);
/* Number of groups of the role. */
int32_t inq_synth_group_count(const struct inq_synth_spec *spec, enum synth_role role);
/* The i-th member (ascending) of the rank's group. */
int32_t inq_synth_group_member(const struct inq_synth_spec *spec, enum synth_role role,
                               int32_t rank, int32_t i);
/* First and one past the last layer of a virtual stage (chunk * pp + stage). */
int32_t inq_synth_first_layer(const struct inq_synth_spec *spec, int32_t virtual_stage);

/* ---- what the faults do ---------------------------------------------------------------------- */

/* Factor on all kernels of the rank: slow GPU and the rank's healthy spread. */
double inq_synth_rank_factor(const struct synth_plan *plan, int32_t rank, int32_t step);
/* Noise of one kernel, by its ordinal in the step. */
double inq_synth_kernel_noise(const struct synth_plan *plan, int32_t rank, int32_t step,
                              uint64_t ordinal);
/* More work, as factors on the size of kernels and on their number. */
double inq_synth_size_factor(const struct synth_plan *plan, int32_t rank, int32_t step);
double inq_synth_count_factor(const struct synth_plan *plan, int32_t rank, int32_t step);
double inq_synth_last_stage_factor(const struct synth_plan *plan, int32_t step);
/* Relative length of a micro-batch. */
double inq_synth_sequence(const struct synth_plan *plan, int32_t step, int32_t dp_rank,
                          int32_t micro_batch);
/* Factor on transfers between the members of the rank's group, or from `rank` to `peer` (>= 0). */
double inq_synth_link_factor(const struct synth_plan *plan, enum synth_role role, int32_t rank,
                             int32_t peer, int32_t step);
double inq_synth_launch_factor(const struct synth_plan *plan, int32_t rank, int32_t step);
/* Delay at the start of the step, and pause inside its forward. */
int64_t inq_synth_step_delay(const struct synth_plan *plan, int32_t rank, int32_t step);
int64_t inq_synth_pause(const struct synth_plan *plan, int32_t rank, int32_t step);

/* Clock of the rank's host: local = t + offset + t * ppb / 1e9. */
struct synth_clock {
    int64_t offset_ns, drift_ppb;
};
struct synth_clock inq_synth_clock(const struct inq_synth_spec *spec, int32_t rank);
bool inq_synth_missing(const struct inq_synth_spec *spec, int32_t rank);
/* Part of the file that is left; 1 when it is whole. */
double inq_synth_cut(const struct inq_synth_spec *spec, int32_t rank);

#endif
