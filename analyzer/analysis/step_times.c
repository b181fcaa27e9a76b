/* SPDX-License-Identifier: Apache-2.0 */
/* How long steps took. */
#include "inquest/analysis.h"

#include "base/mem.h"
#include "base/stats.h"

/* Whether the step was built of labelled ops, which share one origin on all ranks. */
static bool has_labels(const struct inq_trace *trace)
{
    for (size_t r = 0; r < trace->n_ranks; r++) {
        if (trace->ranks[r].events.label) {
            return true;
        }
    }
    return false;
}

int64_t inq_step_ns(const struct inq_trace *trace, size_t index)
{
    const struct inq_step *step = &trace->steps[index];
    int64_t whole_ns = step->end_ns > step->start_ns ? step->end_ns - step->start_ns : 0;

    if (!step->rank_start_ns || !step->rank_end_ns || has_labels(trace)) {
        return whole_ns;
    }
    int64_t *own_ns = inq_mem_alloc((trace->n_ranks + 1) * sizeof(*own_ns));
    if (!own_ns) {
        return -1;
    }
    size_t n = 0;
    for (size_t r = 0; r < trace->n_ranks; r++) {
        if (step->rank_start_ns[r] != INQ_TIME_NONE &&
            step->rank_end_ns[r] >= step->rank_start_ns[r]) {
            own_ns[n++] = step->rank_end_ns[r] - step->rank_start_ns[r];
        }
    }
    int64_t ns = n > 0 ? inq_median_i64(own_ns, n) : whole_ns;
    inq_mem_free(own_ns);
    return ns;
}
