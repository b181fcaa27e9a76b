/* SPDX-License-Identifier: Apache-2.0 */
/* The graph of waiting as it is shown: a row for all ranks that wait in one op for the same others.
 */
#ifndef INQ_ANALYSIS_FAILURE_STATE_WAIT_ROWS_H
#define INQ_ANALYSIS_FAILURE_STATE_WAIT_ROWS_H

#include "analysis/failure/state/solve.h"
#include "inquest/failure.h"

/* "TENSOR_MODEL_PARALLEL_GROUP [8-11]" */
const char *inq_state_group_text(const struct inq_state *model, uint32_t team);
/* "all_gather (_all_gather_base)"; "" of no entry */
const char *inq_state_op_text(const struct inq_state *model, const struct inq_flight_entry *entry);
/* Lists the waits in the model's arena, in the order of their first ranks. Fails with INQ_NOMEM. */
int inq_state_list_waits(const struct inq_state *model, const struct inq_solution *solution,
                         struct inq_failure_wait **waits, size_t *n, struct inq_err *err);

#endif
