/* SPDX-License-Identifier: Apache-2.0 */
/* Level three of the account: what each cause costs, found by repairing it in the one simulator:
 * alone, together with those alike, and one after the other. */
#ifndef INQ_ANALYSIS_STRAGGLER_GAINS_H
#define INQ_ANALYSIS_STRAGGLER_GAINS_H

#include "analysis/straggler/straggler.h"
#include "base/arena.h"

/* GPUs that are slower by at least this part of what others are, are as slow: chips of one kind
 * differ by some percent themselves. */
#define INQ_AS_SLOW_PART 0.5

/* Sets the costs of candidates, joins those that cost only together, and puts the costliest first.
 * Where the record allows no graph the candidates' own estimates stay and in_order_ns is -1. *n
 * falls where candidates are joined. Texts go into the arena. Fails with INQ_NOMEM. */
int inq_gains_find(struct inq_study *study, struct inq_arena *arena,
                   struct inq_candidate *candidates, size_t *n, struct inq_err *err);

#endif
