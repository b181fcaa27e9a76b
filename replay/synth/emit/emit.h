/* SPDX-License-Identifier: Apache-2.0 */
/* One rank's trace as Kineto writes it. */
#ifndef INQ_REPLAY_SYNTH_EMIT_EMIT_H
#define INQ_REPLAY_SYNTH_EMIT_EMIT_H

#include "inquest/out.h"
#include "synth/emit/names.h"

struct synth_sim;

/* Writes the whole document into `out` (which keeps the first failure). */
void inq_synth_emit(const struct synth_sim *sim, int32_t rank, struct inq_out *out);

#endif
