/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/totals.h"

#include "trace/classify.h"

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

static void take_end(struct inq_step_total *total, const struct inq_events *e, size_t i)
{
    if (total->last_start_ns == INQ_TIME_NONE ||
        e->start_ns[i] + e->dur_ns[i] > total->last_start_ns + total->last_dur_ns) {
        total->last_start_ns = e->start_ns[i];
        total->last_dur_ns = e->dur_ns[i];
    }
}

/* Adds up the rank's point-to-point transfers, or (`p2p` false, before them) all other work. */
static void add_work(const struct inq_rank *rank, size_t n, bool p2p,
                     struct inq_step_total totals[])
{
    const struct inq_events *e = &rank->events;
    for (size_t i = 0; i < e->n; i++) {
        if (e->step[i] >= n || !inq_row_is_work(e, i) || inq_row_is_p2p(rank, i) != p2p) {
            continue;
        }
        struct inq_step_total *total = &totals[e->step[i]];
        total->work++;
        total->class_ns[e->cls[i]] += e->dur_ns[i];
        if (!p2p || total->kept != INQ_STEP_SAMPLED) {
            take_end(total, e, i);
        }
    }
}

void inq_rank_sum_steps(const struct inq_rank *rank, const struct inq_step *steps, size_t n,
                        struct inq_step_total totals[])
{
    for (size_t s = 0; s < n; s++) {
        totals[s] =
            (struct inq_step_total){.number = steps[s].number, .last_start_ns = INQ_TIME_NONE};
    }
    add_work(rank, n, false, totals);
    for (size_t s = 0; s < n; s++) { /* for the transfers: an end is known */
        bool any = totals[s].last_start_ns != INQ_TIME_NONE;
        totals[s].kept = any ? INQ_STEP_SAMPLED : INQ_STEP_REDUCED;
    }
    add_work(rank, n, true, totals);
    for (size_t s = 0; s < n; s++) {
        totals[s].kept = INQ_STEP_REDUCED;
    }
}
