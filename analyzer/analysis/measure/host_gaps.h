/* SPDX-License-Identifier: Apache-2.0 */
/* Where a rank's GPU stood idle, and what its host did meanwhile: the evidence for a late host. */
#ifndef INQ_ANALYSIS_MEASURE_HOST_GAPS_H
#define INQ_ANALYSIS_MEASURE_HOST_GAPS_H

#include "analysis/measure/step_stats.h"

#define INQ_HOST_GAPS 3

struct inq_host_gap {
    int64_t begin_ns, end_ns;
    int64_t launch_ns; /* when the call began that ended it; INQ_TIME_NONE: not recorded */
    uint32_t lane;     /* of the call; else of the op that ended the gap */
    bool late;         /* the op was launched, or its launching call returned, after it had begun */
};

struct inq_host_gaps {
    size_t n; /* longest first */
    struct inq_host_gap at[INQ_HOST_GAPS];
    int64_t late_ns; /* of all idle time: that whose op was launched late */
    int64_t idle_ns;
    int64_t longest_ns; /* of all steps, the longest late gap of each */
};

/* The rank's longest gaps in its judged steps, no two in one step unless there are too few steps.
 */
int inq_host_gaps_find(const struct inq_trace *trace, const struct inq_step_stats *cells,
                       uint32_t rank, struct inq_host_gaps *gaps, struct inq_err *err);
/* What the host did between the beginning of the gap and the launch: the shortest annotation or
 * driver call that fills most of it, else calls of one sort that do; 0 none. */
inq_str inq_host_gap_running(const struct inq_trace *trace, const struct inq_rank *rank,
                             const struct inq_host_gap *gap);

#endif
