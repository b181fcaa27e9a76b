/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INQ_REPLAY_FIX_BASE_BASE_H
#define INQ_REPLAY_FIX_BASE_BASE_H

#include "analysis/straggler/straggler.h"
#include "fix/fix.h"

struct inq_fix_base {
    struct fix_step job;
    struct inq_fix_base_info info;
    int64_t lead_ns;         /* of the recorded step, before its first op */
    int64_t tail_ns;         /* of it, after its last op: the same with every fix */
    int64_t pauses_ns;       /* of the mean step: what hosts pause beyond the one step */
    struct inq_study *study; /* of a recorded run; run.n_steps 0: nothing to simulate */
};

/* The product, the traffic or the copied bytes of a kernel, by the operator that launched it, into
 * `op` (whose dur_ns is the recorded one); nothing where that does not tell. */
void inq_fix_take_shapes(const struct inq_trace *trace, const struct inq_launch *launch,
                         const char *kernel, struct fix_op *op);

/* The job (`n_steps` of it in a row) as a graph and its plan, whose transfers have the recorded
 * kinds, groups and bytes. Both are the caller's. */
int inq_fix_step_plan(const struct fix_step *job, size_t n_steps, double scale,
                      struct inq_graph **graph, struct inq_plan **plan, struct inq_err *err);

#endif
