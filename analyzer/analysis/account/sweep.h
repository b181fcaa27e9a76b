/* SPDX-License-Identifier: Apache-2.0 */
/* One sweep over a rank's GPU work in order of time gives every instant to one class. All sums of
 * times by class come from here. */
#ifndef INQ_ANALYSIS_ACCOUNT_SWEEP_H
#define INQ_ANALYSIS_ACCOUNT_SWEEP_H

#include "analysis/account/facts.h"
#include "analysis/measure/measure.h"

/* Sums over one window; the sum of ns[] is the window's length. */
struct inq_sweep_sum {
    int64_t ns[INQ_ACCOUNT_CLASS_COUNT];
    int64_t comm_ns;         /* any communication runs */
    int64_t comm_overlap_ns; /* and compute or an unclassified kernel with it */
    int64_t idle_kernel_ns;  /* of IDLE: gaps launched in time and shorter than INQ_KERNEL_GAP_NS */
    int64_t host_late_ns;    /* from the start of HOST gaps to the launch that ended them */
    uint64_t host_gaps, work;
};

/* A stretch of one class within one window. */
struct inq_sweep_piece {
    int64_t start_ns, end_ns;
    size_t window;
    enum inq_account_class cls;
    uint32_t event; /* what ran, of several the one that ends last; idle: what ended the gap,
                     * HOST of an op table: the host's op */
    const struct inq_fact *fact; /* TRANSFER, WAIT, DEPENDENCY; else NULL */
    int64_t launch_ns;           /* HOST: the launch that ended the gap; else INQ_TIME_NONE */
    bool short_gap;              /* IDLE: counted in idle_kernel_ns */
};

typedef int (*inq_sweep_visit)(void *ctx, const struct inq_sweep_piece *piece, struct inq_err *err);

struct inq_sweep_job {
    const struct inq_rank *rank;
    uint32_t index;                        /* into inq_trace.ranks */
    const struct inq_account_facts *facts; /* NULL: no communication is separable, and every other
                                            * kernel computes */
    bool op_table;
    const struct inq_interval *windows; /* ascending, apart from each other */
    size_t n;
    inq_sweep_visit visit; /* NULL: nobody looks at the pieces */
    void *ctx;
};

/* Fills sums[n]. Time before the first and after the last op of a window is idle and belongs to the
 * op that ends the gap, even if that lies in a later window; after the last op of all nothing was
 * launched. Linear in events and windows. Fails with INQ_NOMEM or what `visit` returns. */
int inq_sweep(const struct inq_sweep_job *job, struct inq_sweep_sum *sums, struct inq_err *err);

#endif
