/* SPDX-License-Identifier: Apache-2.0 */
/* Planes of an XSpace into ranks: devices, and the host that launched their work. */
#ifndef INQ_INGEST_XLA_DEVICE_H
#define INQ_INGEST_XLA_DEVICE_H

#include "ingest/xla/plane.h"
#include "ingest/ingest.h"

/* One file while it is read. All-zero but for shard and source is valid. */
struct inq_xla_file {
    struct inq_shard *shard;
    struct inq_source *source;
    int64_t base_ns;                /* wall clock at time 0 of the file; 0 unknown */
    struct inq_map ranks_by_launch; /* correlation id -> rank */
    bool full;                      /* no more may be kept */
    uint64_t lost_names;            /* events whose name the file no longer has */
    uint64_t idle_copies;           /* of devices that ran no kernel .. */
    uint32_t idle_devices;          /* .. and how many */
};

/* The device's number in the name of a plane ("/device:GPU:4"); -1: it is none. */
int32_t inq_xla_device_of(struct inq_hlo_text name);

/* Adds a rank with what ran on the device, unless nothing but copies did. Fails with INQ_NOMEM,
 * INQ_LIMIT. */
int inq_xla_read_device(struct inq_xla_file *file, const struct inq_xla_plane *plane,
                        int32_t ordinal, struct inq_err *err);

/* Start and duration of an event, wall clock where that is known. False: it is none (counted), or
 * its times are impossible (damage). Counts it as seen. */
bool inq_xla_times(struct inq_xla_file *file, const struct inq_xla_line *line,
                   const struct inq_xla_event *event, int64_t *start_ns, int64_t *dur_ns);

#endif
