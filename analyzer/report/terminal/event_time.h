/* SPDX-License-Identifier: Apache-2.0 */
/* Times of a failure's timeline in words. */
#ifndef INQ_REPORT_TERMINAL_EVENT_TIME_H
#define INQ_REPORT_TERMINAL_EVENT_TIME_H

#include "inquest/failure.h"

enum { INQ_EVENT_TIME_TEXT = 48 };

/* "2025-01-21 04:41:44.283", "12-13 17:24:49.082" when the year is not known, "boot + 1843.308145
 * s"; "" without a stamp. Returns buf. */
const char *inq_event_time_text(const struct inq_timeline_event *moment, char *buf, size_t size);

#endif
