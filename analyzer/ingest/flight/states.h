/* SPDX-License-Identifier: Apache-2.0 */
/* States of the entries of a dump that do not say them. */
#ifndef INQ_INGEST_FLIGHT_STATES_H
#define INQ_INGEST_FLIGHT_STATES_H

#include "trace/build/build.h"

/* Gives members of a batch the state of their batch, and reopens what an abort ended. Fails with
 * INQ_NOMEM. */
int inq_flight_settle_states(struct inq_flight_dump *dump, struct inq_err *err);

#endif
