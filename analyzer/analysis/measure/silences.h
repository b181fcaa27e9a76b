/* SPDX-License-Identifier: Apache-2.0 */
/* Pauses of hosts within their steps, by the silences between their calls. */
#ifndef INQ_ANALYSIS_MEASURE_SILENCES_H
#define INQ_ANALYSIS_MEASURE_SILENCES_H

#include "analysis/measure/step_stats.h"
#include "analysis/measure/peer_groups.h"
#include "base/mem.h"
#include "base/sort.h"

/* A host that waited for its GPU, which no call says, goes on this soon after its end. */
#define INQ_PROMPT_NS 100000

/* Starts and ends of a GPU's work, each ascending. */
struct inq_busy {
    int64_t *starts, *ends;
    size_t n;
};

/* When the GPU finished all that it had, if that was just before: the host had waited for it.
 * INQ_TIME_NONE: it was not. One that has other work to do ends some of it before any call. */
static inline int64_t inq_busy_until(const struct inq_busy *work, int64_t ns)
{
    size_t ended = inq_first_from_i64(work->ends, 0, work->n, ns + 1);
    bool idle = ended > 0 && inq_first_from_i64(work->starts, 0, work->n, ns) <= ended;
    return idle && ns - work->ends[ended - 1] <= INQ_PROMPT_NS ? work->ends[ended - 1]
                                                               : INQ_TIME_NONE;
}

/* All-zero is releasable. */
struct inq_silences {
    size_t *first;     /* [n_ranks + 1] of each rank's calls among all */
    int64_t *pause_ns; /* by call: how much longer the host paused before it than it usually does
                        * there; 0: not at all */
    int64_t *step_ns;  /* [n_ranks * n_steps] the rank's pauses in a step, all together */
    size_t *step_n;    /* [n_ranks * n_steps] so many */
    bool *step_known;  /* [n_ranks * n_steps] others make the same calls */
    int64_t *pace_ns; /* [n_ranks * n_steps] what the calls of a step take at the pace of the middle
                       * one, so without waits between a few of them; 0: not known */
    bool everywhere;  /* half of the ranks or more pause in most of their steps */
};

/* The calls of one step are compared, each with the call at the same place of the other steps of
 * the rank and its peers that make as many. No pauses where no GPU idles for as long. Release it
 * also after a failure. Fails with INQ_NOMEM. */
int inq_silences_find(const struct inq_trace *trace, const struct inq_step_stats *cells,
                      const struct inq_peer_groups *roles, struct inq_silences *silences,
                      struct inq_err *err);
static inline void inq_silences_release(struct inq_silences *silences)
{
    inq_mem_free(silences->first);
    inq_mem_free(silences->pause_ns);
    inq_mem_free(silences->step_ns);
    inq_mem_free(silences->step_n);
    inq_mem_free(silences->step_known);
    inq_mem_free(silences->pace_ns);
    *silences = (struct inq_silences){0};
}

#endif
