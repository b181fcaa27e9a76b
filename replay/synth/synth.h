/* SPDX-License-Identifier: Apache-2.0 */
/* Made-up runs: what is behind the public handle, programs, and the random numbers of both. */
#ifndef INQ_SYNTH_SYNTH_H
#define INQ_SYNTH_SYNTH_H

#include "base/arena.h"
#include "synth/random.h"
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

#endif
