/* SPDX-License-Identifier: Apache-2.0 */
/* A failure as each source tells it. */
#ifndef INQ_ANALYSIS_FAILURE_JOIN_H
#define INQ_ANALYSIS_FAILURE_JOIN_H

#include "base/arena.h"
#include "inquest/failure.h"

/* Fills `failure` (with seq -1 and empty texts) from Flight Recorder dumps. Fails with INQ_NOMEM.
 */
int inq_failure_from_dumps(const struct inq_trace *trace, struct inq_arena *arena,
                           struct inq_failure *failure, struct inq_err *err);

#endif
