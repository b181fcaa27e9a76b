/* SPDX-License-Identifier: Apache-2.0 */
/* A failure as each source tells it. */
#ifndef INQ_ANALYSIS_FAILURE_JOIN_H
#define INQ_ANALYSIS_FAILURE_JOIN_H

#include "analysis/failure/state/state.h"
#include "base/arena.h"
#include "inquest/failure.h"

/* Fills `failure` (with seq -1 and empty texts) from the state of ranks x groups. Fails with
 * INQ_NOMEM. */
int inq_failure_from_state(const struct inq_trace *trace, const struct inq_state_records *records,
                           struct inq_arena *arena, struct inq_failure *failure,
                           struct inq_err *err);

#endif
