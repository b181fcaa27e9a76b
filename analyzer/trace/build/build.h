/* SPDX-License-Identifier: Apache-2.0 */
/* Building traces: shards of events, the job assembled from them, sets of dumps and of logs. */
#ifndef INQ_TRACE_BUILD_BUILD_H
#define INQ_TRACE_BUILD_BUILD_H

#include "trace/build/assemble.h"
#include "trace/build/flight.h"
#include "trace/build/log.h"
#include "trace/build/reduce.h"
#include "trace/build/shard.h"

#endif
