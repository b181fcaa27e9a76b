/* SPDX-License-Identifier: Apache-2.0 */
/* Dumps of several incidents told apart: old ones are often left where new ones are written. */
#ifndef INQ_TRACE_BUILD_FLIGHT_INCIDENTS_H
#define INQ_TRACE_BUILD_FLIGHT_INCIDENTS_H

#include "trace/build/flight.h"

struct inq_flight_item {
    struct inq_shard *shard;
    size_t key_len;            /* bytes of the path that name its set */
    size_t digits;             /* where the rank stands in the path */
    int64_t first_ns, last_ns; /* of all that it lists; INQ_TIME_NONE: nothing */
    int64_t timeout_ns;
    int32_t host_offset; /* added to ranks that are numbered anew in each host's folder */
    uint32_t age;        /* how many incidents are later; 0: of the latest */
    int64_t before_ns;   /* its incident ended so long before the latest */
};

/* Fills times, age and before_ns; sorts the items by their first time. An incident ends where
 * nothing happened on any rank for longer than a timeout, unless what comes after is of other ranks
 * and fits to it by its numbers: then their clocks differ. Dumps without entries count to the
 * latest. Fails with INQ_NOMEM. */
int inq_flight_tell_incidents(struct inq_flight_item *items, size_t n, struct inq_err *err);

#endif
