/* SPDX-License-Identifier: Apache-2.0 */
/* Small synchronous jobs in memory: every rank computes, then all meet in an all-reduce, step after
 * step. What each rank does can be set; when it happens follows. */
#ifndef INQ_TEST_SUPPORT_LOCKSTEP_H
#define INQ_TEST_SUPPORT_LOCKSTEP_H

#include "inquest/trace.h"

enum {
    LOCKSTEP_RANKS = 16,
    LOCKSTEP_STEPS = 12,
    LOCKSTEP_KERNELS = 20,
    LOCKSTEP_MORE = 64,
    LOCKSTEP_NAMES = 4
};

struct lockstep_plan {
    int ranks, steps;
    int64_t kernel_ns;   /* usual length of a kernel */
    int64_t transfer_ns; /* of the all-reduce */
    /* What a rank does otherwise in a step: */
    double slower[LOCKSTEP_RANKS][LOCKSTEP_STEPS];   /* all kernels: 1 + this times as long */
    double larger[LOCKSTEP_RANKS];                   /* the same for the first two kernels only */
    int more[LOCKSTEP_RANKS];                        /* kernels more than the usual 20, up to 64 */
    double longer;                                   /* these: 1 + this times as long */
    int64_t late_ns[LOCKSTEP_RANKS][LOCKSTEP_STEPS]; /* host pause before the 6th launch */
    int64_t copy_ns[LOCKSTEP_RANKS][LOCKSTEP_STEPS]; /* copy to the host behind the all-reduce; the
                                                      * host waits for it without a call */
    int64_t clock_ns[LOCKSTEP_RANKS];                /* added to all its times */
    const char *pause_name;                          /* annotation around the pause; NULL: none */
    bool no_calls;
};

/* Everything usual: `ranks` ranks, `steps` steps, kernels of 1 ms, transfers of 2 ms. */
void lockstep_init(struct lockstep_plan *plan, int ranks, int steps);
/* The trace is the caller's (lockstep_free). Aborts without memory. */
struct inq_trace *lockstep_trace(const struct lockstep_plan *plan);
void lockstep_free(struct inq_trace *trace);

#endif
