/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks x groups: who waits for whom, and what the entries of ranks have in common. */
#ifndef INQ_ANALYSIS_FAILURE_STATE_STATE_H
#define INQ_ANALYSIS_FAILURE_STATE_STATE_H

#include "analysis/failure/state/match.h"
#include "analysis/failure/state/solve.h"
#include "analysis/failure/state/wait_rows.h"

#endif
