/* SPDX-License-Identifier: Apache-2.0 */
/* The pieces of a comparison; each fills its part of *c from the two records [2]. */
#ifndef INQ_ANALYSIS_COMPARE_COMPARE_H
#define INQ_ANALYSIS_COMPARE_COMPARE_H

#include "analysis/record/record.h"

#include <math.h>

/* After the collectives and the kernels. */
int inq_compare_causes(struct inq_comparison *c, const struct inq_run_record *p,
                       struct inq_report *const reports[2], struct inq_err *err);
/* How much of a cause's own time the other run did not have. */
struct inq_cause_swap {
    bool whole;       /* all that its ranks have otherwise than those of the other run, but for: */
    double common_ns; /* by what all ranks differ (new less base); not whole: only this */
    bool varies;      /* not the sums of steps differ, but how they are spread */
};

/* swap.c: simulates each cause of the comparison [n_causes] with the other run's part in its place,
 * and puts the causes that matter most first. Fails with INQ_NOMEM. */
int inq_compare_swap(struct inq_comparison *c, const struct inq_run_record *p,
                     struct inq_report *const reports[2], const struct inq_cause_swap *swaps,
                     struct inq_err *err);
/* Headline and reason; NULL when memory is out. */
void inq_compare_sentence(struct inq_comparison *c);

/* What this much of the base's step should be in the new run. */
static inline int64_t inq_ideal_ns(const struct inq_comparison *c, int64_t base_ns)
{
    return c->scaling == INQ_SCALING_SAME && !c->work_given
               ? base_ns
               : (int64_t)llround(c->work * (double)base_ns);
}

/* A cell's own time of a kind: compute, host or copies; else idle time. */
static inline double inq_own_ns(const struct inq_account_cell *cell, enum inq_loss loss)
{
    int64_t ns = loss == INQ_LOSS_COMPUTE ? cell->ns[INQ_ACCOUNT_COMPUTE]
                 : loss == INQ_LOSS_HOST  ? cell->ns[INQ_ACCOUNT_HOST]
                 : loss == INQ_LOSS_COPY  ? cell->ns[INQ_ACCOUNT_COPY]
                                          : cell->ns[INQ_ACCOUNT_IDLE];
    return (double)(ns + (loss == INQ_LOSS_COMPUTE ? cell->ns[INQ_ACCOUNT_UNCLASSIFIED] : 0));
}

/* Whether a rank is held against this one of the other run: the same rank where the runs have the
 * same ranks, else one of its stage. */
static inline bool inq_is_peer(const struct inq_comparison *c, const struct inq_record_rank *other,
                               const struct inq_record_rank *rank)
{
    bool same_ranks = c->run[0].ranks == c->run[1].ranks;
    return other->steps > 0 &&
           (same_ranks ? other->rank == rank->rank : other->stage == rank->stage);
}

#endif
