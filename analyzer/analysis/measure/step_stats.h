/* SPDX-License-Identifier: Apache-2.0 */
/* What every rank did in every step: the table on which ranks are compared. Only durations on one
 * rank's own clock are in it, so that clocks that disagree cannot make a straggler. */
#ifndef INQ_ANALYSIS_MEASURE_STEP_STATS_H
#define INQ_ANALYSIS_MEASURE_STEP_STATS_H

#include "base/mem.h"
#include "inquest/analysis.h"

/* One rank in one step, as the account has it. compute + comm + copy + host + other == end - start.
 */
struct inq_step_stat {
    bool valid; /* judged */
    int64_t start_ns, end_ns;
    int64_t compute_ns;
    int64_t comm_ns;       /* exposed communication: mostly waiting for others */
    int64_t copy_ns;       /* exposed copies */
    int64_t host_ns;       /* idle because the host launched late */
    int64_t other_ns;      /* idle otherwise */
    int64_t dependency_ns; /* of that, because the input of another stage was missing */
    uint64_t work;         /* pieces of GPU work launched in the step */
};

struct inq_step_stats {
    size_t n_ranks, n_steps;
    struct inq_step_stat *at; /* [n_ranks * n_steps], rank by rank */
    bool one_step;            /* the capture is one interval */
    bool op_table;            /* labeled ops: what is idle was not recorded, only left over */
    bool between_comm;        /* own time is what lies between operations: see comm_only.h */
    size_t first_step;        /* the first that is judged */
};

/* Fills *cells; release it also after a failure. Fails with INQ_NOT_FOUND without an account,
 * INQ_NOMEM. */
int inq_step_stats_build(const struct inq_account *account, struct inq_step_stats *cells,
                         struct inq_err *err);
static inline void inq_step_stats_release(struct inq_step_stats *cells)
{
    inq_mem_free(cells->at);
    *cells = (struct inq_step_stats){0};
}

/* Mean length of all judged cells; 0: there are none. */
double inq_step_stats_mean_ns(const struct inq_step_stats *cells);

static inline const struct inq_step_stat *inq_step_stat_at(const struct inq_step_stats *cells,
                                                           size_t rank, size_t step)
{
    return &cells->at[rank * cells->n_steps + step];
}

/* The time in which the GPU had nothing to do and nobody to wait for; none in an op table. */
static inline int64_t inq_step_stat_idle_ns(const struct inq_step_stats *cells,
                                            const struct inq_step_stat *cell)
{
    return cells->op_table ? 0 : cell->host_ns + cell->other_ns;
}

/* The time that the rank itself took, waiting for nobody: all but exposed communication and missing
 * input; in an op table also without what is idle. */
static inline int64_t inq_step_stat_own_ns(const struct inq_step_stats *cells,
                                           const struct inq_step_stat *cell)
{
    int64_t idle_ns = cells->op_table ? 0 : cell->host_ns + cell->other_ns - cell->dependency_ns;
    return cell->compute_ns + cell->copy_ns + idle_ns;
}

/* The time in which it may have waited for others. */
static inline int64_t inq_step_stat_wait_ns(const struct inq_step_stats *cells,
                                            const struct inq_step_stat *cell)
{
    int64_t idle_ns = cells->op_table ? cell->host_ns + cell->other_ns : cell->dependency_ns;
    return cell->comm_ns + idle_ns;
}

#endif
