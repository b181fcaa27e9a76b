/* SPDX-License-Identifier: Apache-2.0 */
/* The formats of a schedule and of what lint found in it. */
#ifndef INQ_REPORT_SCHEDULE_PARTS_H
#define INQ_REPORT_SCHEDULE_PARTS_H

#include "base/json.h"
#include "inquest/lint.h"
#include "report/pen.h"

void inq_schedule_text(const struct inq_schedule *schedule,
                       const struct inq_schedule_timing *timing, const struct inq_pen *pen);
void inq_schedule_text_at(const struct inq_schedule *schedule,
                          const struct inq_schedule_timing *timing, int64_t at_ns,
                          struct inq_out *out);
void inq_schedule_json(const struct inq_schedule *schedule,
                       const struct inq_schedule_timing *timing, struct inq_out *out);
void inq_lint_text(const struct inq_lint *lint, const struct inq_pen *pen);
void inq_lint_json(const struct inq_lint *lint, struct inq_out *out);

#endif
