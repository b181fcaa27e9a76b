/* SPDX-License-Identifier: Apache-2.0 */
/* Flight Recorder dumps among the traces. */
#ifndef INQ_TRACE_BUILD_FLIGHT_H
#define INQ_TRACE_BUILD_FLIGHT_H

#include "inquest/flight.h"
#include "trace/build/shard.h"

/* An empty dump with its arena and names; NULL without memory. */
struct inq_flight_dump *inq_flight_new(void);
/* Frees a dump and all in it; NULL is fine. */
void inq_flight_free(struct inq_flight_dump *dump);
/* The number behind "rank" in a file's name, or in that of a folder that ends with it, else the
 * decimal digits at the end of the file's name (suffixes of known formats cut off), or -1; *digits
 * gets their offset in `path`. */
int32_t inq_flight_rank(const char *path, size_t *digits);

/* Whether no member of a group can finish such a collective before all have joined. */
bool inq_flight_needs_all(enum inq_coll_kind kind);

/* A hash of a group's name and members. */
uint64_t inq_flight_group_key(const struct inq_flight_group *group);

/* Moves the dumps of `shards` (which hold nothing else) into the run: into its only trace when all
 * dumps can be of one job, else into traces of their own, told apart by folder and file name. */
int inq_assemble_dumps(struct inq_run *run, struct inq_shard *shards, size_t n,
                       struct inq_err *err);

#endif
