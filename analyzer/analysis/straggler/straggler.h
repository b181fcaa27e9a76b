/* SPDX-License-Identifier: Apache-2.0 */
/* The counterfactual study of a recorded run: the judged steps as one graph, causes repaired in it,
 * and simulated again. Analyses and `inquest fix` ask the same study, so that what a finding costs
 * is what its fix is predicted to gain. */
#ifndef INQ_ANALYSIS_STRAGGLER_STRAGGLER_H
#define INQ_ANALYSIS_STRAGGLER_STRAGGLER_H

#include "analysis/measure/measure.h"
#include "analysis/straggler/counterfactual.h"
#include "analysis/straggler/slow_link.h"
#include "inquest/analysis.h"

#include <math.h>

/* What sets a straggler apart. The reasons:
 * - A cost below 1 % of the step is not worth anyone's night, and kernels of one chip differ from
 *   run to run by that much. With two or three ranks the natural spread between chips cannot be
 *   told from a fault, so it takes twice as much.
 * - 4.5 sigma: under chance alone one run in a thousand of 64 ranks would name a rank (one-sided
 *   p = 3.4e-6 per rank, five properties); with few steps sigma itself is poorly known, and the
 *   limit rises like Student's t (see inq_straggler_limit).
 * - A host that pauses now and then hardly shows in own time, which varies with every kernel; idle
 *   time varies little. A slow GPU hardly shows in the own time of two ranks of which the other's
 *   host pauses now and then; compute does not vary with that. So both are tested by themselves
 *   too, where own time is in excess by half as much.
 * - Idle time of ranks that wait for each other all the time varies by who is last, not by how slow
 *   hosts are. There the pace of launches is tested for idle time, by the same limits.
 * - Repeated steps seldom agree better than a quarter of a percent: sigma is not taken for less. */
#define INQ_STRAGGLER_COST_SHARE  0.01
#define INQ_STRAGGLER_COST_FEW    0.02
#define INQ_STRAGGLER_FEW_RANKS   3
#define INQ_STRAGGLER_HANDFUL     7
#define INQ_STRAGGLER_APART       4.0 /* times as far off as any other rank of a handful */
#define INQ_STRAGGLER_SIGMAS      4.5
#define INQ_STRAGGLER_SIGMA_SHARE 0.0025
/* The score that chance hardly reaches: 4.5 when sigma is known well, more when it was estimated
 * from few values. 4/d follows Student's t where d is 6 or more; below, the floor under sigma and
 * the minimum cost do the rest. */
static inline double inq_straggler_limit(double freedom)
{
    return freedom > 0.0 ? INQ_STRAGGLER_SIGMAS * (1.0 + 4.0 / freedom) : (double)INFINITY;
}
/* One step says nothing about chance: only a large cost is mentioned, as a hypothesis. */
#define INQ_STRAGGLER_ONE_STEP_SHARE 0.05
/* What a rank's cost must reach to be mentioned, as a share of the step. */
static inline double inq_straggler_min_share(size_t ranks, size_t steps)
{
    if (steps < 2) {
        return INQ_STRAGGLER_ONE_STEP_SHARE;
    }
    return ranks <= INQ_STRAGGLER_FEW_RANKS ? INQ_STRAGGLER_COST_FEW : INQ_STRAGGLER_COST_SHARE;
}

/* What can be repaired. A rank's usual is the median of the ranks of its role that are not repaired
 * with it, step by step; where there are none, of all ranks and steps of its role. */
enum inq_repair_kind {
    INQ_REPAIR_GPU,       /* compute and copies of the ranks take no longer than is usual; without
                           * others in their role, kernels take what they take on other ranks */
    INQ_REPAIR_HOST,      /* the longest pauses of their hosts are cut until these take no longer */
    INQ_REPAIR_LINK,      /* slow transfers among sets of ranks that have all these in them (or one
                           * of them, where none has all) take what the same transfers take among
                           * other ranks */
    INQ_REPAIR_SEQUENCES, /* what differs beyond chance between ranks and micro-batches is evened
                           * out: the sum of the work stays (see even.h) */
    INQ_REPAIR_STAGES,    /* work moves until all stages compute equally long: its sum stays */
    INQ_REPAIR_PAUSES     /* pauses of all hosts come in the same step: each keeps its own */
};

struct inq_repair {
    enum inq_repair_kind kind;
    size_t n_ranks;
    const uint32_t *ranks; /* indices into inq_trace.ranks; none: all */
    /* HOST: by how much the pauses are cut in each step, [n_ranks * run.n_steps], rank by rank;
     * NULL: to what is usual. */
    const int64_t *host_by_ns;
    /* GPU: what is left of the ranks' compute and of their copies in each step, [2 * n_ranks *
     * run.n_steps], rank by rank; NULL: what is usual. */
    const double *gpu_left;
};

/* Means per judged step. */
struct inq_gain {
    bool applies;            /* there was something to repair */
    bool spread;             /* evenly over steps of which it is not known where they lost it */
    int64_t gain_ns;         /* simulated base - simulated with the repairs */
    int64_t low_ns, high_ns; /* 95 % of it, by bootstrap over the steps; INQ_TIME_NONE: too few */
    int64_t removed_ns;      /* of ops, over all ranks: what the repairs took away */
    int64_t host_ns;         /* of the repaired hosts: all that they took between waits for a GPU */
    size_t steps_seen; /* that get shorter by 1 % of the mean step and 10 % of the best's gain */
};

/* All-zero is releasable. */
struct inq_study {
    const struct inq_trace *trace;
    struct inq_step_stats cells;
    struct inq_peer_groups roles;
    struct inq_silences silences;
    struct inq_links links;
    struct inq_counterfactual
        run;              /* n_steps 0: no graph, run.problem says why; NULL: not asked for yet */
    bool *chosen;         /* [n_ranks] scratch */
    bool *faulty;         /* [n_ranks] compute longer by a fault of their own: see below */
    int64_t *step_ns;     /* [run.n_steps] scratch */
    int64_t simulated_ns; /* mean judged step by the simulator, as recorded; 0: none */
    int64_t recorded_ns;  /* mean recorded length of the same, over all ranks' cells */
};

/* Steps below which no interval is given: fewer say too little about the next one. */
#define INQ_GAIN_LEAST_STEPS 5
/* A step is mentioned when it loses this part of the mean one. */
#define INQ_GAIN_SEEN_SHARE 0.01
/* It is not one of those that the cause was in when it gains less than this part of what the best
 * one gains: steps differ by some percent anyway, one with the fault by most of it. */
#define INQ_GAIN_SEEN_OF_MOST 0.1

/* What a step must gain for it to be seen in it. `mean_ns`: of a step. */
static inline double inq_gain_least_seen(const int64_t *gains_ns, size_t n, int64_t mean_ns)
{
    double least_ns = INQ_GAIN_SEEN_SHARE * (double)mean_ns;

    for (size_t s = 0; s < n; s++) {
        double part_ns = INQ_GAIN_SEEN_OF_MOST * (double)gains_ns[s];
        least_ns = part_ns > least_ns ? part_ns : least_ns;
    }
    return least_ns;
}

/* In how many steps the gain is seen. */
static inline size_t inq_gain_steps_seen(const int64_t *gains_ns, size_t n, int64_t mean_ns)
{
    double least_ns = inq_gain_least_seen(gains_ns, n, mean_ns);
    size_t seen = 0;

    for (size_t s = 0; s < n; s++) {
        seen += (double)gains_ns[s] >= least_ns;
    }
    return seen;
}

/* Cells, roles, silences and links, from the report's account; its op model is used and made. Fails
 * with INQ_NOT_FOUND without an account, INQ_NOMEM. Release it on failure too. */
int inq_study_init(struct inq_study *study, const struct inq_trace *trace,
                   struct inq_report *report, struct inq_err *err);
/* Makes the graph, once; study->run.n_steps says whether there is one that gives the record again.
 * Fails with INQ_NOMEM. */
int inq_study_simulate(struct inq_study *study, struct inq_err *err);
void inq_study_release(struct inq_study *study);
/* The ranks to which these candidates attribute longer compute do not tell what work their stage
 * has. Needs a graph. */
void inq_study_know_faults(struct inq_study *study, const struct inq_attribution *found);

/* What a step gains by these repairs together. Needs a graph. Fails with INQ_NOMEM. */
int inq_study_gain(struct inq_study *study, const struct inq_repair *repairs, size_t n,
                   struct inq_gain *gain, struct inq_err *err);

/* The account's step that a judged step of the graph is, 0 .. run.n_steps - 1. */
static inline size_t inq_study_step(const struct inq_study *study, size_t ordinal)
{
    const struct inq_step_stats *cells = &study->cells;
    size_t first = study->run.first_step != INQ_NONE ? study->run.first_step
                   : cells->one_step                 ? 0
                                                     : cells->n_steps / 2; /* a large run's */
    return first + ordinal;
}

/* The cell of a rank in it. */
static inline const struct inq_step_stat *inq_study_step_stat(const struct inq_study *study,
                                                              size_t rank, size_t ordinal)
{
    return inq_step_stat_at(&study->cells, rank, inq_study_step(study, ordinal));
}

/* repair.c: applies one repair to study->run, and adds to *gain what it did. */
int inq_repair_apply(struct inq_study *study, const struct inq_repair *repair,
                     struct inq_gain *gain, struct inq_err *err);

#endif
