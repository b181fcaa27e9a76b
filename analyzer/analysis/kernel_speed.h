/* SPDX-License-Identifier: Apache-2.0 */
/* Why a rank computes longer than its peers: the same kernels run slower, or there are more or
 * other kernels. */
#ifndef INQ_ANALYSIS_KERNEL_SPEED_H
#define INQ_ANALYSIS_KERNEL_SPEED_H

#include "analysis/cells.h"

/* The compute kernels of one rank in the judged steps, by name. All-zero is releasable. */
struct inq_kernel_stats {
    size_t n; /* ascending by name id */
    struct inq_kernel_stat {
        inq_str name;
        uint64_t count;
        double mean_ns;  /* of the middle 80 % of the durations */
        double sigma_ns; /* of that mean, from the spread of the durations */
    } * at;
    size_t steps; /* over which they were counted */
};

int inq_kernel_stats_build(const struct inq_trace *trace, const struct inq_cells *cells,
                           uint32_t rank, struct inq_kernel_stats *stats, struct inq_err *err);
void inq_kernel_stats_release(struct inq_kernel_stats *stats);

/* A rank's kernels against those of its peers. Times in ns per step. */
struct inq_kernel_comparison {
    double ratio;     /* duration of kernels that both have, weighted by the peers' time */
    double slower_ns; /* what the longer durations cost */
    double more_ns;   /* what more kernels, or kernels that the peers lack, cost */
    /* By enum inq_kernel_kind: part of the common time, ratio and its standard error. */
    struct inq_kernel_kind_ratio {
        double share, ratio, sigma;
        double spared_share; /* of the common time: names that are surely not slower */
    } kind[3];
    size_t common;                   /* names that both have */
    uint64_t kernels, peers_kernels; /* per step */
};

/* `peers` [n_peers]: compared with the median peer, name by name. */
int inq_kernel_compare(const struct inq_trace *trace, const struct inq_kernel_stats *own,
                       const struct inq_kernel_stats *peers, size_t n_peers,
                       struct inq_kernel_comparison *result, struct inq_err *err);

#endif
