/* SPDX-License-Identifier: Apache-2.0 */
/* When a GPU works. */
#ifndef INQ_ANALYSIS_MEASURE_BUSY_H
#define INQ_ANALYSIS_MEASURE_BUSY_H

#include "inquest/trace.h"

/* A host that waited for its GPU, which no call says, goes on this soon after its end. */
#define INQ_PROMPT_NS 100000

/* Starts and ends of a rank's GPU work, each ascending. All-zero is releasable. */
struct inq_busy {
    int64_t *starts, *ends;
    size_t n;
};

/* With room for that of any rank. Fails with INQ_NOMEM. */
int inq_busy_init(struct inq_busy *work, const struct inq_trace *trace, struct inq_err *err);
void inq_busy_load(struct inq_busy *work, const struct inq_events *events);
void inq_busy_release(struct inq_busy *work);

/* Whether the GPU finished all that it had just before: the host had waited for it. One that has
 * other work to do ends some of it before any call. */
bool inq_busy_is_done(const struct inq_busy *work, int64_t ns);

#endif
