/* SPDX-License-Identifier: Apache-2.0 */
/* What NCCL's profiler plugins write: places in communicators, not ranks, until all files are read.
 */
#ifndef INQ_INGEST_INSPECTOR_H
#define INQ_INGEST_INSPECTOR_H

#include "ingest/ingest.h"
#include "ingest/scan/scan.h"

/* The formats, as files are told to have them. */
#define INQ_FORMAT_INSPECTOR     "nccl-inspector"
#define INQ_FORMAT_NCCL_PROFILER "nccl-profiler"

/* 2100: later ends would overflow when durations are added. */
#define INQ_NCCL_MAX_TIME_NS ((int64_t)4102444800 * 1000000000)
/* The wall clock in 2001: what is below is the device's own counter, or counts from a start. */
#define INQ_NCCL_MIN_EPOCH_NS ((int64_t)1000000000 * 1000000000)

/* JSON objects, one after the other: `read` scans the next one and, where it is whole, takes it and
 * sets *code. What is longer than most_bytes, cut or no object is damage, and costs its line. */
struct inq_nccl_objects {
    enum inq_scan_result (*read)(void *ctx, struct inq_scan *scan, int64_t offset, int *code,
                                 struct inq_err *err);
    void *ctx;
    size_t most_bytes;
    struct inq_damage *damage;
};
int inq_nccl_read_objects(struct inq_source *source, const struct inq_nccl_objects *objects,
                          struct inq_err *err);

/* Of both readers: a shard has one rank, whose communicators' lists hold its own place. Joins the
 * files of one process, and gives the places of the processes that ran together their ranks. */
int inq_inspector_join(struct inq_shard *shards, size_t n, struct inq_err *err);

/* "RING SIMPLE" of an algorithm and a protocol, either of which may be missing (n == 0); 0: both.
 * Fails as inq_scan_name. */
int inq_nccl_algorithm(struct inq_strtab *names, struct inq_text algorithm,
                       struct inq_text protocol, inq_str *name, struct inq_err *err);

#endif
