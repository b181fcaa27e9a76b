/* SPDX-License-Identifier: Apache-2.0 */
/* Dump sets: who waits for whom, and what the entries of ranks have in common. */
#ifndef INQ_ANALYSIS_FAILURE_DUMPS_DUMPS_H
#define INQ_ANALYSIS_FAILURE_DUMPS_DUMPS_H

#include "analysis/failure/dumps/match.h"
#include "analysis/failure/dumps/waits.h"

#endif
