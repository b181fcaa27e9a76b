/* SPDX-License-Identifier: Apache-2.0 */
/* What is behind the public handle. */
#ifndef INQ_REPLAY_SYNTH_RUN_H
#define INQ_REPLAY_SYNTH_RUN_H

#include "base/arena.h"
#include "synth/step.h"

struct synth_file {
    char *name;
    int32_t rank;
};

struct inq_synth {
    struct inq_synth_spec spec;
    struct synth_sim sim;
    struct inq_synth_truth truth;
    size_t n_files;
    struct synth_file *files;
    struct inq_arena arena; /* files, truth */
};

/* Fills the truth: simulates the run again without each fault. */
int inq_synth_find_truth(struct inq_synth *synth, struct inq_err *err);

#endif
