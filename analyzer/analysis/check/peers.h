/* SPDX-License-Identifier: Apache-2.0 */
/* A rank against its peers and a stage against the others, in the same step: what all of them have
 * in common cancels. */
#ifndef INQ_ANALYSIS_CHECK_PEERS_H
#define INQ_ANALYSIS_CHECK_PEERS_H

#include "analysis/measure/measure.h"
#include "analysis/record/record.h"
#include "inquest/check.h"

/* GPU compute of a rank, in each step that counts a multiple of the median of the other ranks of
 * its role (INQ_NONE: all of them, each against its own role): that of the rank with the largest
 * typical one, whose index is *rank. measure->n == 0: no rank has peers. Fails with INQ_NOMEM. */
int inq_measure_of_peers(const struct inq_run_record *record, const struct inq_roles *roles,
                         uint32_t role, struct inq_measure *measure, size_t *rank,
                         struct inq_err *err);

/* Mean GPU compute of the ranks of a role, in each step that counts a multiple of the median of the
 * other roles'. measure->n == 0: there is no other. Fails with INQ_NOMEM. */
int inq_measure_of_stage(const struct inq_run_record *record, const struct inq_roles *roles,
                         uint32_t role, struct inq_measure *measure, struct inq_err *err);

#endif
