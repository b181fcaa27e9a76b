/* SPDX-License-Identifier: Apache-2.0 */
/* Times of a failure's timeline in words. */
#ifndef INQ_REPORT_TERMINAL_MOMENT_H
#define INQ_REPORT_TERMINAL_MOMENT_H

#include "inquest/failure.h"

enum { INQ_MOMENT_TEXT = 48 };

/* "2025-01-21 04:41:44.283", "12-13 17:24:49.082" when the year is not known, "boot + 1843.308145
 * s"; "" without a stamp. Returns buf. */
const char *inq_moment_text(const struct inq_failure_moment *moment, char *buf, size_t size);

#endif
