/* SPDX-License-Identifier: Apache-2.0 */
/* Who is where: ranks, their places, their groups; and the order of work on a stage. */
#ifndef INQ_REPLAY_SYNTH_LAYOUT_H
#define INQ_REPLAY_SYNTH_LAYOUT_H

#include "inquest/synth.h"

#include <stdbool.h>

/* Groups of ranks that communicate. */
enum synth_role {
    SYNTH_WORLD, /* all ranks */
    SYNTH_DP,    /* same stage and TP rank */
    SYNTH_TP,    /* same stage and replica */
    SYNTH_MP,    /* all ranks of a replica: gradient norm */
    SYNTH_PP,    /* same replica and TP rank: the pipeline */
    SYNTH_EP,    /* as SYNTH_DP: the experts of a layer */
    SYNTH_ROLE_COUNT
};

struct synth_place {
    int32_t stage, dp, tp;
};
struct synth_place inq_synth_place(const struct inq_synth_spec *spec, int32_t rank);
int32_t inq_synth_group_size(const struct inq_synth_spec *spec, enum synth_role role);
/* Index of the rank's group among those of its role, from 0. */
int32_t inq_synth_group_of(const struct inq_synth_spec *spec, enum synth_role role, int32_t rank);
/* Number of groups of the role. */
int32_t inq_synth_group_count(const struct inq_synth_spec *spec, enum synth_role role);
/* The i-th member (ascending) of the rank's group. */
int32_t inq_synth_group_member(const struct inq_synth_spec *spec, enum synth_role role,
                               int32_t rank, int32_t i);

/* One forward or backward of a micro-batch on a stage. */
struct synth_action {
    int32_t virtual_stage, micro_batch;
    bool backward;
};
/* The i-th action of 1F1B: warm-up forwards, pairs of forward and backward, the remaining
 * backwards. */
struct synth_action inq_synth_action(const struct inq_synth_spec *spec, int32_t stage, int32_t i);

#endif
