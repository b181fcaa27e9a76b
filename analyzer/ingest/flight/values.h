/* SPDX-License-Identifier: Apache-2.0 */
/* Decoded values into a Flight Recorder dump. */
#ifndef INQ_INGEST_FLIGHT_VALUES_H
#define INQ_INGEST_FLIGHT_VALUES_H

#include "ingest/flight/pickle.h"
#include "trace/build/build.h"

/* Whether the document has the keys of a dump. */
bool inq_flight_is_dump(const struct inq_value *root);
/* Fills an empty dump (version, groups, entries, status); entries that are not whole are left out,
 * and `damage` counts what was neither that nor fits. Fails with INQ_NOMEM, and INQ_LIMIT when the
 * dump would hold too much (what fits is kept). */
int inq_flight_fill(struct inq_flight_dump *dump, const struct inq_value *root,
                    struct inq_damage *damage, struct inq_err *err);
/* Gives members of a batch the state of their batch, and reopens what an abort ended. Fails with
 * INQ_NOMEM. */
int inq_flight_settle_states(struct inq_flight_dump *dump, struct inq_err *err);

#endif
