/* SPDX-License-Identifier: Apache-2.0 */
/* Work that is divided unevenly: between pipeline stages, or from step to step between ranks. */
#ifndef INQ_ANALYSIS_STRAGGLER_IMBALANCE_H
#define INQ_ANALYSIS_STRAGGLER_IMBALANCE_H

#include "analysis/measure/measure.h"

/* The slowest stage is mentioned when its compute is longer than the other stages' median by 1 % of
 * the step and by 4.5 times what the ranks of a stage differ by; where stages have one rank each,
 * so that this is not known, by a twentieth.
 *
 * Its GPUs are slow when the kernels that it shares with other stages take longer than there, by 1
 * % of the step, and do not have more to do: by a twentieth on a stage of one rank, as chips differ
 * by a few percent; by 2 % on each rank that is asked where there are more, which do not all differ
 * to the same side. Other kernels that a stage has are its place's, as the first one's embedding.
 *
 * Ranks' compute varies from step to step by a few tenths of a percent (clocks, temperature). From
 * 2 % on the work itself must vary: sequences of different length. The kernels of the optimizer,
 * which do not depend on the batch, vary by less than half as much then; where they are seen to, a
 * clock is no reason, and 1 % is enough: what a cause must cost to be told. */
#define INQ_STAGE_COST_SHARE   0.01
#define INQ_STAGE_RATIO        1.05
#define INQ_STAGE_RATIO_ALL    1.02
#define INQ_UNEVEN_SIGMA       0.02
#define INQ_UNEVEN_KNOWN_SIGMA 0.01
#define INQ_UNEVEN_NOISE       2.5 /* times what the noise of single kernels leaves in it */
/* Stretches of kernels of ranks that do the same tell by hundreds of samples: sigma is known to
 * some percent. */
#define INQ_UNEVEN_CLOCK                                                                           \
    0.75                        /* a clock that varies shows in the optimizer by all of it; of a   \
                                 * few steps sigma is known to a quarter */
#define INQ_UNEVEN_STRETCH 1.25 /* times what the noise of single kernels leaves in them */

struct inq_inquiry;
struct inq_candidate;

/* Appends the stages whose GPUs are slow, and what is divided unevenly; `candidates` has room for
 * one per role and two more. Ranks for which `skip` is true (they delay others for reasons of their
 * own) do not count; those of slow stages are set in it. Fails with INQ_NOMEM. */
int inq_candidates_of_imbalance(const struct inq_inquiry *inquiry, bool *skip,
                                struct inq_candidate *candidates, size_t *n, struct inq_err *err);

#endif
