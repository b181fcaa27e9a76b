/* SPDX-License-Identifier: Apache-2.0 */
/* Faults by their names, and a spec as text. */
#ifndef INQ_REPLAY_SYNTH_SPEC_H
#define INQ_REPLAY_SYNTH_SPEC_H

#include "inquest/synth.h"

struct synth_fault_info {
    const char *text, *finding, *what;
};

extern const struct synth_fault_info inq_synth_fault_infos[INQ_SYNTH_FAULT_COUNT];

/* The whole spec as text into `out`. */
struct inq_out;
void inq_synth_spec_text(const struct inq_synth_spec *spec, struct inq_out *out);

#endif
