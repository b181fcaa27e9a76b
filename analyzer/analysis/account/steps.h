/* SPDX-License-Identifier: Apache-2.0 */
/* Which (rank, step) cells are judged, and where each begins and ends: the one place that says so.
 */
#ifndef INQ_ANALYSIS_ACCOUNT_STEPS_H
#define INQ_ANALYSIS_ACCOUNT_STEPS_H

#include "inquest/account.h"

struct inq_arena;
struct inq_op_model;

/* Fills steps, cells (but for their classes), rank_judged and the counts of an account whose trace
 * is set. `model`: see inq_account_measure. Fails with INQ_NOMEM. */
int inq_account_rebase_steps(struct inq_account *account, const struct inq_op_model *model,
                             int jobs, struct inq_arena *arena, struct inq_err *err);

#endif
