/* SPDX-License-Identifier: Apache-2.0 */
/* Where GPU time went by kernel, by operator, by module and by line of the user's code. */
#ifndef INQUEST_KERNELS_H
#define INQUEST_KERNELS_H

#include "inquest/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Everything of one name. Times are durations of kernels, copies and sets of all ranks, summed:
 * what ran side by side counts twice, and a communication kernel's time holds its waiting. */
struct inq_kernel_row {
    inq_str name;
    enum inq_op_class cls; /* of kernels and copies; of a group: that of most of its time */
    uint64_t count;
    int64_t total_ns, min_ns, max_ns;
    double share;                   /* of inq_kernels.total_ns */
    size_t n_ranks;                 /* that have any of it */
    uint32_t rank_least, rank_most; /* indices into inq_trace.ranks: with least, most of it */
    int64_t rank_least_ns, rank_most_ns;
    size_t n_launches; /* distinct launch configurations that were recorded of it */
    uint32_t launch;   /* of these the one with most time (index into inq_trace.launches); 0 none */
    int64_t launch_ns; /* its time */
};

enum inq_kernels_by {
    INQ_KERNELS_BY_NAME,
    INQ_KERNELS_BY_OPERATOR, /* the innermost operator that launched it */
    INQ_KERNELS_BY_MODULE,   /* the innermost nn.Module */
    INQ_KERNELS_BY_SOURCE,   /* the user's line */
    INQ_KERNELS_BY_COUNT
};

struct inq_kernel_table {
    size_t n; /* most time first; what no name is known of is in no row */
    struct inq_kernel_row *rows;
    int64_t named_ns; /* sum of the rows' total_ns */
};

struct inq_kernels {
    uint64_t count;
    int64_t total_ns;
    struct inq_kernel_table by[INQ_KERNELS_BY_COUNT]; /* n 0: not recorded, or not read */
};

#ifdef __cplusplus
}
#endif

#endif
