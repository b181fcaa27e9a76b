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
/* Its annotation, "nccl:all_reduce", into `text`. */
void inq_synth_comm_note(const struct synth_emitter *e, const struct synth_comm *comm, char *text,
                         size_t size);
/* The document's distributedInfo, and the arguments of one communication (", ..." in front). */
void inq_synth_emit_distributed(struct synth_emitter *e);
void inq_synth_emit_comm_args(struct synth_emitter *e, const struct synth_comm *comm, bool kernel);

/* ---- one event (emit_event.c) ---------------------------------------------------------------- */

struct synth_event {
    const char *cat, *name;
    int64_t number; /* after the name; -1 none */
    int32_t pid, tid;
    int64_t start_ns, end_ns; /* simulation time */
};

/* A moment of the simulation on the clock of the rank's host, as stamps count. */
int64_t inq_synth_local_ns(const struct synth_emitter *e, int64_t t);
/* The opening of an event up to and with its phase; the text goes on inside a string. */
void inq_synth_begin_event(struct synth_emitter *e, const char *phase);
/* A whole event up to and with `"args": {`; false, and nothing written, when it is outside the
 * capture window. Close it with inq_synth_end_event. */
bool inq_synth_put_event(struct synth_emitter *e, const struct synth_event *event);
void inq_synth_end_event(struct synth_emitter *e);
/* One end of the arrow from a launch ("s") to its kernel ("f"). */
void inq_synth_put_flow(struct synth_emitter *e, const char *phase, const struct synth_event *event,
                        int64_t id);

void inq_synth_put_arg(struct synth_emitter *e, const char *key, int64_t value);
void inq_synth_put_us(const struct synth_emitter *e, int64_t ns);
void inq_synth_put_int(struct inq_out *out, int64_t value);
void inq_synth_put_text(struct inq_out *out, const char *text);

#endif
