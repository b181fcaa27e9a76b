/* SPDX-License-Identifier: Apache-2.0 */
/* The formats of a schedule. */
#ifndef INQ_REPORT_SCHEDULE_SCHEDULE_H
#define INQ_REPORT_SCHEDULE_SCHEDULE_H

#include "base/json.h"
#include "inquest/schedule.h"
#include "report/terminal/terminal.h"

/* A timed schedule to be shown. */
struct inq_schedule_view {
    const struct inq_schedule *schedule;
    const struct inq_schedule_timing *timing;
    const struct inq_schedule_theory *theory; /* NULL: none */
    const uint8_t *chunk; /* [n_stages] which of its rank's stages it is, from 0 */
};

/* ---- cells: what all formats draw ------------------------------------------------------------ */

/* One thing that a rank does: an action, or a composite with its parts. */
struct inq_schedule_cell {
    size_t first, n;               /* list entries: its parts */
    const struct inq_action *head; /* first part */
    int64_t start_ns, end_ns;
    int32_t rank;
    bool composite;
    bool beside; /* runs beside the compute: all-reduces, all-gathers */
};

/* The next cell that is shown (computes, all-reduces or updates) at or behind list[*at], which
 * moves past it; false at the end. */
bool inq_schedule_next_cell(const struct inq_schedule_view *view, int32_t rank, size_t *at,
                            struct inq_schedule_cell *cell);
/* "forward of micro-batch 7 (stage 0)" of one action, into buf. */
char *inq_action_words(const struct inq_action *action, char *buf, size_t size);

/* ---- formats --------------------------------------------------------------------------------- */

/* Writes a schedule in one format. Fails with INQ_NOMEM. */
typedef int inq_schedule_format(const struct inq_schedule_view *view,
                                const struct inq_report_options *options, struct inq_out *out,
                                struct inq_err *err);
inq_schedule_format inq_schedule_text, inq_schedule_svg;

#endif
