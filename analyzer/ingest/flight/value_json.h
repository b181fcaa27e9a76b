/* SPDX-License-Identifier: Apache-2.0 */
/* JSON into the values of pickle.h, with integers exact to 64 bits; thread-safe. */
#ifndef INQ_INGEST_FLIGHT_VALUE_JSON_H
#define INQ_INGEST_FLIGHT_VALUE_JSON_H

#include "ingest/flight/pickle.h"

/* As inq_pickle_decode. A malformed document keeps what was whole before the bad byte. */
int inq_value_json(const char *text, size_t n, const struct inq_pickle_limits *limits,
                   struct inq_arena *arena, struct inq_value **root, bool *complete,
                   struct inq_err *err);

#endif
