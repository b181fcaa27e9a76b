/* SPDX-License-Identifier: Apache-2.0 */
/* Totals of a rank's steps: what a reduced partial knows of steps whose rows it does not have. */
#ifndef INQ_TRACE_TOTALS_H
#define INQ_TRACE_TOTALS_H

#include "inquest/trace.h"

/* Totals of a rank's `n` steps (by number, events assigned), none of them kept. As the account has
 * it, a step ends with its last work; point-to-point transfers bound it only where there is nothing
 * else. */
void inq_rank_sum_steps(const struct inq_rank *rank, const struct inq_step *steps, size_t n,
                        struct inq_step_total totals[]);
/* What is known of the step with this number; NULL: nothing. */
static inline const struct inq_step_total *inq_rank_total(const struct inq_rank *rank,
                                                          int64_t number)
{
    size_t low = 0;
    size_t high = rank->n_totals;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (rank->totals[middle].number < number) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < rank->n_totals && rank->totals[low].number == number ? &rank->totals[low] : NULL;
}

/* Whether all rows of the step with this number that the rank recorded are there. */
static inline bool inq_rank_step_is_whole(const struct inq_rank *rank, int64_t number)
{
    const struct inq_step_total *total = inq_rank_total(rank, number);
    return !rank->reduced || (total != NULL && total->kept != INQ_STEP_REDUCED);
}

/* Whether steps that were recorded before step `s` of the trace are left out of it: in front of the
 * first one those in which recording began, between others those without rows. */
static inline bool inq_steps_left_out(const struct inq_trace *trace, size_t s)
{
    return trace->reduced != NULL &&
           (s == 0 || trace->steps[s].number != trace->steps[s - 1].number + 1);
}

/* When the GPU work of the step before that with this number ended, by the totals. INQ_TIME_NONE:
 * they do not say. */
int64_t inq_rank_step_before_ns(const struct inq_rank *rank, int64_t number);
/* From then to the end of the step's own; -1: not known. */
int64_t inq_rank_step_length_ns(const struct inq_rank *rank, int64_t number);

#endif
