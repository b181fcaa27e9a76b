/* SPDX-License-Identifier: Apache-2.0 */
/* The door: what analyses measure with. */
#ifndef INQ_ANALYSIS_MEASURE_H
#define INQ_ANALYSIS_MEASURE_H

#include "analysis/measure/arrivals.h"
#include "analysis/measure/comm_only.h"
#include "analysis/measure/step_stats.h"
#include "analysis/measure/interval.h"
#include "analysis/measure/kernel_speed.h"
#include "analysis/measure/peer_time.h"
#include "analysis/measure/peer_groups.h"
#include "analysis/measure/row_merge.h"
#include "analysis/measure/intra_step.h"
#include "analysis/measure/host_gaps.h"
#include "analysis/measure/silences.h"
#include "analysis/measure/experts.h"

#endif
