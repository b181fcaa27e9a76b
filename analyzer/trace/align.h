/* SPDX-License-Identifier: Apache-2.0 */
/* Two members' rows of one channel, paired. Order comes first: both did the same operations in the
 * same order, so that steps (or whole captures) of equal counts pair one to one. Time decides only
 * where rows are missing, and then by the intervals between ends, which are the same on both
 * members whatever their clocks show.
 * Recorded numbers, where both members have them, decide alone. */
#ifndef INQ_TRACE_ALIGN_H
#define INQ_TRACE_ALIGN_H

#include "inquest/trace.h"

struct inq_align_row {
    int64_t end_ns;
    int64_t step;   /* by the profiler's marks, or -1 */
    int64_t number; /* recorded, in this order; or -1 */
    uint32_t call;  /* place among the kernels of one number */
    uint64_t size;  /* what must agree; 0 unknown */
    uint8_t family; /* what must agree */
    bool syncs;     /* members end together */
};

struct inq_alignment {
    const struct inq_align_row *a, *b; /* in order */
    size_t n, m;
    bool one_clock;  /* ends of both are in one time, but for what clocks cannot be put right */
    uint32_t *match; /* [m], the caller's: index into a, or INQ_NONE; ascending */
};

/* Whether two rows can be the same operation. */
static inline bool inq_align_agree(const struct inq_align_row *a, const struct inq_align_row *b)
{
    return a->family == b->family && (a->size == 0 || b->size == 0 || a->size == b->size);
}

/* Fills pair->match. */
void inq_align(const struct inq_alignment *pair);

#endif
