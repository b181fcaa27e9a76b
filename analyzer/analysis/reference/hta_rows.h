/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of GPU work that HTA works on: its rounding, its choice of profiler steps, its kernel
 * types. */
#ifndef INQ_ANALYSIS_REFERENCE_HTA_ROWS_H
#define INQ_ANALYSIS_REFERENCE_HTA_ROWS_H

#include "inquest/trace.h"

enum inq_hta_type { INQ_HTA_COMPUTATION, INQ_HTA_COMMUNICATION, INQ_HTA_MEMORY, INQ_HTA_OTHER };

struct inq_hta_row {
    int64_t stream;
    int64_t ts, end;   /* us; rounding can put the end one before the start */
    int64_t launch_ts; /* us; INQ_TIME_NONE: no launch known */
    uint8_t type;      /* enum inq_hta_type */
    bool counts_idle;  /* kernels, copies and sets; not synchronisation records */
};

/* How the whole trace is read. */
struct inq_hta_view {
    const struct inq_trace *trace;
    uint8_t *types;  /* [names] enum inq_hta_type */
    bool by_step;    /* two or more profiler steps: only work launched in them counts */
    bool whole_last; /* the last step counts too */
};

enum inq_hta_type inq_hta_type_of(const char *name);

int inq_hta_view_init(struct inq_hta_view *view, const struct inq_trace *trace, bool whole_last,
                      struct inq_err *err);
void inq_hta_view_release(struct inq_hta_view *view);

/* The rows of one rank, on any stream but -1, in order of (ts, end, place in the trace). *rows is
 * the caller's (inq_mem_free). */
int inq_hta_rows(const struct inq_hta_view *view, const struct inq_rank *rank,
                 struct inq_hta_row **rows, size_t *n, struct inq_err *err);

#endif
