/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INQ_REPLAY_FIX_BASE_BASE_H
#define INQ_REPLAY_FIX_BASE_BASE_H

#include "analysis/straggler/straggler.h"
#include "fix/fix.h"

struct inq_fix_base {
    struct fix_job job;
    struct inq_fix_base_info info;
    int64_t tail_ns;         /* of the recorded step, after its last op: the same with every fix */
    struct inq_study *study; /* of a recorded run; run.n_steps 0: nothing to simulate */
};

/* The parts: fix/base/model.c, fix/base/trace.c. */
struct inq_op_model;
int inq_fix_base_model(const struct inq_trace *trace, const struct inq_report *report,
                       const struct inq_op_model *model, struct inq_fix_base *base,
                       struct inq_err *err);
int inq_fix_base_trace(const struct inq_trace *trace, const struct inq_report *report,
                       struct inq_fix_base *base, struct inq_err *err);

/* The job (`n_steps` of it in a row) as a graph and its plan, whose transfers have the recorded
 * kinds, groups and bytes. Both are the caller's. */
int inq_fix_job_plan(const struct fix_job *job, size_t n_steps, double scale,
                     struct inq_graph **graph, struct inq_plan **plan, struct inq_err *err);

/* Index of the step of median length (of an even number the shorter of the middle two). */
int inq_fix_median_step(const int64_t *length_ns, size_t n, size_t *step, struct inq_err *err);

#endif
