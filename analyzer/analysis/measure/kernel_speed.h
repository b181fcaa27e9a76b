/* SPDX-License-Identifier: Apache-2.0 */
/* Why a rank computes longer than its peers: the same kernels run slower, or there are more or
 * other kernels. */
#ifndef INQ_ANALYSIS_MEASURE_KERNEL_SPEED_H
#define INQ_ANALYSIS_MEASURE_KERNEL_SPEED_H

#include "analysis/measure/step_stats.h"
#include "trace/trace.h"

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
    double grid_share; /* of the common time: names whose grids are recorded */
    double grid_ratio; /* blocks in these grids, own over the peers', weighted by time; NaN: none */
    double larger_share; /* of the common time: names whose grids grow by half as much or more */
    size_t common;       /* names that both have */
    uint64_t kernels, peers_kernels; /* per step, of all names */
    bool others; /* of the kernels it has more of, most run in place of ones that the peers run */
};

/* The kernels of one rank in the judged steps against those of up to nine of the others, evenly
 * chosen, name by name with the median of them. `steps` (may be NULL): those of the steps marked in
 * it, [n_steps], against the rank's own in the other judged steps; others are not asked then. Fails
 * with INQ_NOMEM. */
int inq_kernels_against(const struct inq_trace *trace, const struct inq_step_stats *cells,
                        uint32_t rank, const bool *steps, const uint32_t *others, size_t n_others,
                        struct inq_kernel_comparison *result, struct inq_err *err);

/* Where grids are recorded for this part of the compute they decide. */
#define INQ_GRIDS_KNOWN 0.5
/* Kernels other than matrix products and the optimizer's: where surely this part of the common time
 * is not slower, not all kernels agree that the GPU is. */
#define INQ_SPARED_OTHER 0.02

/* Grids say how much work a kernel has: where they do not grow with the time, the device is slower.
 */
static inline bool inq_kernels_have_grids(const struct inq_kernel_comparison *comparison)
{
    return comparison->grid_share >= INQ_GRIDS_KNOWN;
}

/* Whether some kernels are longer and others are not in a way that a slow GPU does not explain. */
bool inq_kernels_are_larger(const struct inq_kernel_comparison *comparison);

/* Of what all kernels are slower on average, matrix products that are as fast as the peers' have
 * less than this part: a low clock slows them first. */
#define INQ_SPARED_MATH_PART 0.25

/* How long the kernels other than matrix products take beside the peers', where the matrix products
 * are as fast as theirs: it is the memory for which they wait that is slow. 0: it is not so, or not
 * known. */
static inline double inq_kernels_memory_ratio(const struct inq_kernel_comparison *c)
{
    const struct inq_kernel_kind_ratio *math = &c->kind[INQ_KERNEL_MATH];
    const struct inq_kernel_kind_ratio *update = &c->kind[INQ_KERNEL_UPDATE];
    const struct inq_kernel_kind_ratio *other = &c->kind[INQ_KERNEL_OTHER];
    double share = update->share + other->share;
    double ns = (update->share > 0.0 ? update->share * update->ratio : 0.0) +
                (other->share > 0.0 ? other->share * other->ratio : 0.0);

    if (math->share <= 0.0 || share <= 0.0 || c->ratio <= 1.0) {
        return 0.0;
    }
    bool as_fast = math->ratio < 1.0 + INQ_SPARED_MATH_PART * (c->ratio - 1.0);
    return as_fast ? ns / share : 0.0;
}

#endif
