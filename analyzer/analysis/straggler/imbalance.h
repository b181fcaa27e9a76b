/* SPDX-License-Identifier: Apache-2.0 */
/* Work that is divided unevenly: between pipeline stages, or from step to step between ranks. */
#ifndef INQ_ANALYSIS_STRAGGLER_IMBALANCE_H
#define INQ_ANALYSIS_STRAGGLER_IMBALANCE_H

#include "analysis/measure/measure.h"

/* The slowest stage is mentioned when its compute is longer than the other stages' median by 1 % of
 * the step and by a twentieth, and by 4.5 times what the ranks of a stage differ by.
 *
 * Ranks' compute varies from step to step by a few tenths of a percent (clocks, temperature). From
 * 2 % on the work itself must vary: sequences of different length. The kernels of the optimizer,
 * which do not depend on the batch, vary by less than half as much then. */
#define INQ_STAGE_COST_SHARE 0.01
#define INQ_STAGE_RATIO      1.05
#define INQ_UNEVEN_SIGMA     0.02
#define INQ_UNEVEN_NOISE     2.5 /* times what the noise of single kernels leaves in a stretch */

struct inq_imbalance {
    bool stage_found;
    uint32_t role;              /* of the slowest stage */
    bool last;                  /* it is the last one */
    double stage_ns, stages_ns; /* compute per step: its own, the other stages' median */
    double stage_cost_ns;

    bool uneven;         /* the work of a rank's step varies */
    double sigma;        /* by this part, one sigma */
    double cost_ns;      /* per step: slowest rank's compute over the mean */
    bool constant_known; /* some kernels did not vary: it is the work, not the clock */
};

/* Ranks for which `skip` is true (they delay others for reasons of their own) do not count. */
int inq_imbalance_find(const struct inq_trace *trace, const struct inq_cells *cells,
                       const struct inq_roles *roles, const bool *skip,
                       struct inq_imbalance *imbalance, struct inq_err *err);

#endif
