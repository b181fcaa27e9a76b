/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks of a dump's entries. A program enqueues from a few places: entries share their stacks. */
#ifndef INQ_INGEST_FLIGHT_FRAMES_H
#define INQ_INGEST_FLIGHT_FRAMES_H

#include "base/hash.h"
#include "ingest/flight/pickle.h"
#include "inquest/flight.h"

struct inq_flight_stacks {
    struct inq_flight_dump *dump;
    struct inq_map by_value; /* address of a frame's value -> frame */
    struct inq_flight_frame *frames;
    size_t n_frames, cap_frames;
    struct inq_map by_hash; /* of a stack's frames -> the entry that has them */
};

/* Reads a list of frames into the entry, the dump's `index`-th. Fails with INQ_NOMEM, INQ_LIMIT. */
int inq_flight_read_stack(struct inq_flight_stacks *stacks, const struct inq_value *list,
                          struct inq_flight_entry *entry, size_t index, struct inq_err *err);
void inq_flight_stacks_release(struct inq_flight_stacks *stacks);

#endif
