/* SPDX-License-Identifier: Apache-2.0 */
/* TraceLens 1.0's numbers: the GPU timeline of each rank, and its collectives across ranks. */
#ifndef INQ_ANALYSIS_REFERENCE_TRACELENS_H
#define INQ_ANALYSIS_REFERENCE_TRACELENS_H

#include "inquest/analysis.h"

/* Whether TraceLens takes a kernel or a memory set of this name for communication. */
bool inq_tl_is_comm(const char *name);

#endif
