/* SPDX-License-Identifier: Apache-2.0 */
/* Pauses of hosts within their steps, by the silences between their calls. */
#ifndef INQ_ANALYSIS_STRAGGLER_SILENCES_H
#define INQ_ANALYSIS_STRAGGLER_SILENCES_H

#include "analysis/measure/measure.h"
#include "analysis/measure/peer_groups.h"

/* All-zero is releasable. */
struct inq_silences {
    size_t *first;     /* [n_ranks + 1] of each rank's calls among all */
    int64_t *pause_ns; /* by call: how much longer the host paused before it than it usually does
                        * there; 0: not at all */
    bool *known;       /* [n_ranks * n_steps] compared: as many calls as most steps have */
    bool everywhere;   /* half of the ranks or more pause in most of their steps */
};

/* The calls of one step are compared, each with the call at the same place of the other steps of
 * the rank and its peers. Release it also after a failure. Fails with INQ_NOMEM. */
int inq_silences_find(const struct inq_trace *trace, const struct inq_step_stats *cells,
                      const struct inq_peer_groups *roles, struct inq_silences *silences,
                      struct inq_err *err);
void inq_silences_release(struct inq_silences *silences);

/* The rank's pauses in a step, all together; *n: so many. */
int64_t inq_silences_in_step(const struct inq_silences *silences, const struct inq_trace *trace,
                             uint32_t rank, size_t step, size_t *n);

/* Starts and ends of a rank's GPU work, each ascending. All-zero is releasable. */
struct inq_busy {
    int64_t *starts, *ends;
    size_t n;
};

/* With room for that of any rank. Fails with INQ_NOMEM. */
int inq_busy_init(struct inq_busy *work, const struct inq_trace *trace, struct inq_err *err);
void inq_busy_load(struct inq_busy *work, const struct inq_events *events);
void inq_busy_release(struct inq_busy *work);

/* Whether the GPU finished all that it had just before: the host had waited for it. One that has
 * other work to do ends some of it before any call. */
bool inq_busy_is_done(const struct inq_busy *work, int64_t ns);

#endif
