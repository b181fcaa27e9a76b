/* SPDX-License-Identifier: Apache-2.0 */
/* What the lint rules share. */
#ifndef INQ_REPLAY_LINT_LINT_H
#define INQ_REPLAY_LINT_LINT_H

#include "inquest/lint.h"

/* Notes a problem at an action of a rank (rank or position -1: none). Fails with INQ_NOMEM. */
int inq_lint_add(struct inq_lint *lint, enum inq_lint_rule rule, bool error, int32_t rank,
                 int32_t position, const struct inq_action *action, struct inq_err *err,
                 const char *fmt, ...) INQ_PRINTF(8, 9);

/* Goes on with the story of a schedule that hangs: what a rank waits at, and for what. Fails with
 * INQ_NOMEM; what is too long to be told is not. */
int inq_lint_explain(struct inq_lint *lint, int32_t rank, int32_t position, struct inq_err *err,
                     const char *fmt, ...) INQ_PRINTF(5, 6);

/* Position of an action for messages: its cell in a file, else its place in the list. */
int32_t inq_lint_position(const struct inq_action *action, size_t index);

/* R2, R3, R10: what can be seen on one rank, and counts over all. */
int inq_lint_order(const struct inq_schedule *schedule, struct inq_lint *lint, struct inq_err *err);
/* R4, R6, R7, R12 on a schedule with explicit SEND and RECV cells. */
int inq_lint_comms(const struct inq_schedule *schedule, enum inq_grouping grouping,
                   struct inq_lint *lint, struct inq_err *err);

#endif
