/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of a few ranks whose every figure follows from how long each rank computes in each step. */
#ifndef INQ_TEST_SUPPORT_STEPS_H
#define INQ_TEST_SUPPORT_STEPS_H

#include "inquest/trace.h"

enum { MADE_RANKS = 8, MADE_STEPS = 12, MADE_TRANSFER_MS = 3 };

struct made_steps {
    int ranks;
    int64_t compute_ns[MADE_RANKS][MADE_STEPS];
};

/* Each of `ranks` ranks computes so long in each step. */
void made_steps_init(struct made_steps *plan, int ranks, int64_t compute_ns);
/* One rank does in all steps. */
void made_steps_set(struct made_steps *plan, int rank, int64_t compute_ns);
/* A step is that compute in one kernel and, where there is more than one rank, an all-reduce that
 * ends on all of them MADE_TRANSFER_MS after the last began it. */
struct inq_run *made_steps_run(const struct made_steps *plan);

#endif
