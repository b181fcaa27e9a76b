/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs that communicate, simulated: collectives of several groups that end together on all members,
 * as each rank's own clock and capture window would have recorded them. Every kernel remembers the
 * operation that it was a member of, so that what is matched can be held against the truth. */
#ifndef INQ_TEST_SUPPORT_JOB_H
#define INQ_TEST_SUPPORT_JOB_H

#include "inquest/trace.h"

enum { MADE_GROUPS = 80 };

struct made_op_plan {
    enum inq_coll_kind kind;
    int group;
    int64_t elems;
};

struct made_job {
    int ranks;
    int n_groups;
    const char *group_name[MADE_GROUPS];
    int group_from[MADE_GROUPS], group_step[MADE_GROUPS], group_size[MADE_GROUPS];
    int n_ops; /* executed in this order by the members of each op's group */
    struct made_op_plan (*op)(const struct made_job *job, int index);
    /* How it is recorded: */
    bool groups, sizes, seqs; /* what the kernels say besides their names */
    bool one_host;
    int per_host;      /* ranks of a host, where it is not one; 0: each has its own */
    int step_ops;      /* operations of a step that the profiler marks; 0: it marks none */
    int64_t work_ns;   /* mean time between two operations of a rank; it varies by half */
    bool steady;       /* it varies by jitter_ns only */
    int64_t jitter_ns; /* by which ends differ */
    /* Per rank, NULL: none of it. */
    const int64_t *offset_ns; /* what its clock is ahead */
    const double *ppm;        /* and how fast it runs */
    const int64_t *set_by_ns; /* and by what it is set when half the operations are over */
    const int *skip, *stop;   /* first operations not captured; captured up to (0: all) */
    const bool *missing;      /* has left no file */
    uint64_t seed;
};

/* Simulates and assembles; one trace is expected. */
struct inq_run *made_job_run(const struct made_job *job, bool align);
/* The operation that an event was a member of. */
int made_job_op(const struct inq_trace *trace, uint32_t rank, uint32_t event);
/* Members of collectives that are of another operation than the first member. */
size_t made_job_wrong(const struct inq_trace *trace);

#endif
