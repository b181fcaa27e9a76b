/* SPDX-License-Identifier: Apache-2.0 */
/* Where one rank's GPU time went, over its whole span or cut into windows (steps, for instance). */
#ifndef INQ_ANALYSIS_ACCOUNT_TIME_BREAKDOWN_H
#define INQ_ANALYSIS_ACCOUNT_TIME_BREAKDOWN_H

#include "analysis/measure/measure.h"
#include "inquest/analysis.h"

/* Fills out[n], one per window, by the definitions of struct inq_rank_time; the span of each is its
 * window's length (out[].rank is left alone). The windows are ascending and do not overlap. Time
 * before the first and after the last op of a window is idle and belongs to the op that ends the
 * gap, even if that lies in a later window; after the last op of all it counts as not launched.
 * Linear in events and windows. Fails with INQ_NOMEM. */
int inq_rank_time_windows(const struct inq_rank *rank, const struct inq_interval *windows, size_t n,
                          struct inq_rank_time *out, struct inq_err *err);

/* The span of a rank's GPU work, first start to last end; false when it has none. */
bool inq_rank_work_span(const struct inq_rank *rank, struct inq_interval *span);

/* Why nothing ran in a gap; the text above struct inq_rank_time has the rules. */
enum inq_gap_cause { INQ_GAP_HOST, INQ_GAP_KERNEL, INQ_GAP_OTHER };

/* As above, added to *out, over the whole span of the rank's GPU work; of a reduced rank over the
 * stretches of steps that have all rows: what is not recorded is no idle time. *any is false when
 * there is no work. */
int inq_rank_time_all(const struct inq_trace *trace, const struct inq_rank *rank,
                      struct inq_rank_time *out, bool *any, struct inq_err *err);

#endif
