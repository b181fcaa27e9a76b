/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that take more time of their own than ranks of the same role, in step after step, beyond
 * what chance explains. */
#ifndef INQ_ANALYSIS_STRAGGLER_DELAYS_H
#define INQ_ANALYSIS_STRAGGLER_DELAYS_H

#include "analysis/straggler/straggler.h"

/* How far a rank's time is beyond that of the others, and what chance explains of it. */
struct inq_excess {
    double ns;        /* mean over the judged steps */
    double sigma_ns;  /* of one step */
    double score;     /* excess over the standard error of its mean */
    double spread_ns; /* what the excess must reach given how the role's ranks differ */
};

/* A rank against the others of its role; means over the judged steps, ns per step. Differences are
 * to the median of the others. */
struct inq_delay {
    uint32_t rank, role;
    size_t peers; /* ranks that it was compared with */
    size_t usual; /* of these, not set aside */
    double own_ns, peers_own_ns;
    struct inq_excess own;  /* own time: the sum of what follows, but for medians not adding up */
    struct inq_excess idle; /* host and other: free of the noise of compute */
    struct inq_excess compute; /* free of what hosts do now and then */
    struct inq_excess launch;  /* what its calls take: free of what its GPU waits for */
    double copy_ns;
    double peers_compute_ns, peers_idle_ns, peers_copy_ns, peers_launch_ns;
    double cost_ns;      /* its share of what the role's ranks lose by waiting for their last one */
    double step_ns;      /* length of a step on this rank */
    double late_ns;      /* its excess in the steps seen, mean of those */
    double idle_late_ns; /* the same of idle time, in the idle_seen steps */
    double limit;        /* what a score must reach */
    size_t steps;        /* judged */
    size_t idle_seen;
    size_t seen;            /* of these, steps in which its cost was worth mentioning */
    bool outlier;           /* all tests passed but the cost's: by own time, .. */
    bool computes;          /* .. by compute alone, .. */
    bool idles;             /* .. or by idle time alone, which its launches may say is its own, and
                             * not only by own time */
    const uint32_t *others; /* [n_others] ranks whose kernels are as usual; NULL: its role's */
    size_t n_others;
    const bool *in_steps; /* [n_steps] it is slow in these only; NULL: in general */
};

struct inq_delays {
    struct inq_delay *at; /* one per rank that could be compared */
    size_t n;
    double waste_ns; /* per step: what the last rank of a role costs the median one, all causes */
    double step_ns;  /* mean length of the judged steps, over all ranks: what shares are of */
};

/* Compares all ranks with those of their role. Release it also after a failure. */
int inq_delays_find(const struct inq_step_stats *cells, const struct inq_peer_groups *roles,
                    const struct inq_silences *silences, struct inq_delays *delays,
                    struct inq_err *err);
static inline void inq_delays_release(struct inq_delays *delays)
{
    inq_mem_free(delays->at);
    *delays = (struct inq_delays){0};
}

#endif
