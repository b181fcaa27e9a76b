/* SPDX-License-Identifier: Apache-2.0 */
/* All-reduces of gradients over the replicas of a model, as a schedule is timed: one begins when
 * every rank that takes part has issued it and is through with those that it issued before. */
#ifndef INQ_REPLAY_SCHEDULE_REDUCTIONS_H
#define INQ_REPLAY_SCHEDULE_REDUCTIONS_H

#include "schedule/schedule.h"

#include "base/hash.h"

/* One rank's part in the all-reduce of one stage of a replica; a rank that holds the stage in two
 * replicas takes part once. */
struct inq_reduction_part {
    int32_t rank, place; /* place: stage within its replica */
    size_t to_issue;     /* cells that it has not come to */
    int64_t ready_ns, end_ns;
};

/* All-zero is releasable and has no all-reduces. */
struct inq_reductions {
    const struct inq_schedule *schedule;
    int64_t dur_ns;
    size_t n;
    struct inq_reduction_part *parts; /* [n] by rank, in the order in which it issues them first */
    size_t *head;                     /* [n_ranks] first part that has not ended */
    size_t *end;                      /* [n_ranks] past the rank's last part */
    size_t *first_of, *of;            /* [places + 1] into of[n]: the parts of each place */
    int64_t *free_ns;                 /* [n_ranks] end of the rank's last all-reduce */
    struct inq_map part_of;           /* (rank, place) to the part */
    int32_t *work;                    /* [n + 1] places to look at */
};

/* Finds the all-reduces of a schedule; none where they take no time. Fails with INQ_NOMEM. */
int inq_reductions_find(const struct inq_schedule *schedule, int64_t dur_ns,
                        struct inq_reductions *out, struct inq_err *err);
void inq_reductions_release(struct inq_reductions *reductions);

/* The rank has come to its REDUCE_GRAD of `stage` at `now_ns`. Calls `ended` for every rank one of
 * whose all-reduces has got an end by that. */
void inq_reductions_issue(struct inq_reductions *reductions, int32_t rank, int32_t stage,
                          int64_t now_ns, void (*ended)(void *ctx, int32_t rank), void *ctx);
/* Whether the rank has issued an all-reduce whose end is not known. */
static inline bool inq_reductions_pending(const struct inq_reductions *x, int32_t rank)
{
    for (size_t k = x->n > 0 ? x->head[rank] : 0; x->n > 0 && k < x->end[rank]; k++) {
        if (x->parts[k].to_issue == 0) {
            return true;
        }
    }
    return false;
}
/* End of the rank's all-reduce of `stage`; -1: not known, or none. */
int64_t inq_reductions_end(const struct inq_reductions *reductions, int32_t rank, int32_t stage);
/* INQ_DEADLOCK, with the ranks that issue them in different orders, when one never began. */
int inq_reductions_check(const struct inq_reductions *reductions, struct inq_err *err);

#endif
