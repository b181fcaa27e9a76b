/* SPDX-License-Identifier: Apache-2.0 */
/* Which rank the GPU work of a process belongs to. A process is one rank: the GPU on which its
 * kernels run longest is the rank's, and what it does on other GPUs (the stray copy or context on
 * GPU 0 that many jobs have) belongs to that rank too. Only a process that keeps several GPUs busy
 * with kernels is as many ranks. */
#ifndef INQ_INGEST_NSYS_HOMES_H
#define INQ_INGEST_NSYS_HOMES_H

#include "base/hash.h"

/* What a process did on a device. */
struct inq_nsys_share {
    int64_t process, device; /* device: -1 unknown */
    double kernels_ns, others_ns;
};

/* All-zero is empty and releasable. */
struct inq_nsys_homes {
    struct inq_nsys_share *shares;
    size_t n, cap;
    struct inq_map known;   /* hash of process and device -> its share */
    struct inq_map devices; /* hash of process and device -> device of the rank, + 1 */
};

/* Adds to the share of a process on a device. Fails with INQ_NOMEM, INQ_LIMIT. */
int inq_nsys_homes_add(struct inq_nsys_homes *homes, const struct inq_nsys_share *share,
                       struct inq_err *err);
/* After the last share. Fails with INQ_NOMEM. */
int inq_nsys_homes_settle(struct inq_nsys_homes *homes, struct inq_err *err);
/* Device of the rank that the work belongs to. */
int64_t inq_nsys_home(const struct inq_nsys_homes *homes, int64_t process, int64_t device);
void inq_nsys_homes_release(struct inq_nsys_homes *homes);

#endif
