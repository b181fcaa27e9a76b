/* SPDX-License-Identifier: Apache-2.0 */
/* One rank's trace as Kineto writes it. */
#ifndef INQ_SYNTH_EMIT_H
#define INQ_SYNTH_EMIT_H

#include "base/out.h"
#include "synth/build.h"

/* What the writing of one rank needs to know. */
struct synth_emitter {
    struct inq_out *out;
    const struct synth_sim *sim;
    const struct inq_synth_spec *spec;
    const struct synth_rank *rank_items;
    int32_t rank, device, pid;
    struct synth_clock clock;
    int64_t epoch_ns;          /* wall clock at time 0 of the simulation */
    int64_t base_ns;           /* subtracted from all stamps */
    int64_t from_ns, until_ns; /* capture window, simulation time */
    bool first_event;
    uint32_t p2p_seq;
};

/* Writes the whole document into `out` (which keeps the first failure). */
void inq_synth_emit(const struct synth_sim *sim, int32_t rank, struct inq_out *out);

/* ---- parts (emit_comm.c) --------------------------------------------------------------------- */

/* Name of a communication kernel, by the age of the trace. */
const char *inq_synth_comm_kernel(const struct inq_synth_spec *spec, const struct synth_comm *comm);
/* The document's distributedInfo, and the arguments of one communication (", ..." in front). */
void inq_synth_emit_distributed(struct synth_emitter *e);
void inq_synth_emit_comm_args(struct synth_emitter *e, const struct synth_comm *comm, bool kernel);

/* ---- numbers --------------------------------------------------------------------------------- */

void inq_synth_put_int(struct inq_out *out, int64_t value);
void inq_synth_put_text(struct inq_out *out, const char *text);

#endif
