/* SPDX-License-Identifier: Apache-2.0 */
/* The GPU work of a rank in order of time: its lanes, each already sorted, merged as they are read.
 */
#ifndef INQ_ANALYSIS_MEASURE_ROW_MERGE_H
#define INQ_ANALYSIS_MEASURE_ROW_MERGE_H

#include "inquest/trace.h"
#include "trace/trace.h"

struct inq_run_head {
    int64_t start_ns;
    uint32_t row, end; /* next row of this lane's run, and where the run ends */
};

struct inq_row_merge {
    const struct inq_events *events;
    struct inq_run_head *heap; /* smallest (start, row) first */
    size_t n;
};

/* The class a row of GPU work counts as. */
static inline enum inq_op_class inq_row_class(const struct inq_events *events, size_t row)
{
    uint8_t cls = events->cls[row];

    return cls == INQ_CLASS_OTHER ? INQ_CLASS_COMPUTE : (enum inq_op_class)cls;
}

/* Starts over all rows of GPU work. Fails with INQ_NOMEM. Release also after a failure. */
int inq_row_merge_init(struct inq_row_merge *merge, const struct inq_events *events,
                       struct inq_err *err);
/* The next row in order of (start, row); false at the end. */
bool inq_row_merge_next(struct inq_row_merge *merge, uint32_t *row);
void inq_row_merge_release(struct inq_row_merge *merge);

#endif
