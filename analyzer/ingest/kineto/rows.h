/* SPDX-License-Identifier: Apache-2.0 */
/* Threads, lanes and the rows on them. */
#ifndef INQ_INGEST_KINETO_ROWS_H
#define INQ_INGEST_KINETO_ROWS_H

#include "ingest/kineto/kineto.h"

/* The thread that the event's pid and tid name. */
int inq_kineto_thread(struct inq_kineto *k, const struct inq_scan_event *event, uint32_t *index);
/* Key of a stream in streams_by_key. */
static inline uint64_t inq_kineto_stream_key(int64_t device, int64_t stream)
{
    return inq_hash_u64((uint64_t)device) ^ (uint64_t)stream;
}

/* What every kept row has. */
struct inq_part {
    int64_t start_ns, dur_ns, correlation; /* -1: none */
    inq_str name;
    uint32_t lane, comm, launch;
    int64_t external_id; /* 0: none */
};

/* Lane of an event that is kept as `cat`. */
int inq_kineto_lane(struct inq_kineto *k, const struct inq_scan_event *event, enum inq_cat cat,
                    uint32_t *lane);
/* A row of GPU work or a slice; a note. */
int inq_kineto_add_row(struct inq_kineto *k, enum inq_cat cat, const struct inq_part *part);
int inq_kineto_add_note(struct inq_kineto *k, enum inq_cat cat, const struct inq_part *part);

#endif
