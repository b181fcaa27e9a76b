/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/totals.h"

const struct inq_step_total *inq_rank_total(const struct inq_rank *rank, int64_t number)
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

bool inq_rank_step_is_whole(const struct inq_rank *rank, int64_t number)
{
    const struct inq_step_total *total = inq_rank_total(rank, number);
    return !rank->reduced || (total != NULL && total->kept != INQ_STEP_REDUCED);
}

static int64_t end_of(const struct inq_step_total *total)
{
    return total != NULL && total->last_start_ns != INQ_TIME_NONE
               ? total->last_start_ns + total->last_dur_ns
               : INQ_TIME_NONE;
}

int64_t inq_rank_step_before_ns(const struct inq_rank *rank, int64_t number)
{
    return number > 0 ? end_of(inq_rank_total(rank, number - 1)) : INQ_TIME_NONE;
}

int64_t inq_rank_step_length_ns(const struct inq_rank *rank, int64_t number)
{
    int64_t before_ns = inq_rank_step_before_ns(rank, number);
    int64_t end_ns = end_of(inq_rank_total(rank, number));
    return before_ns != INQ_TIME_NONE && end_ns > before_ns ? end_ns - before_ns : -1;
}
