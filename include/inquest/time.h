/* SPDX-License-Identifier: Apache-2.0 */
/* Durations as people write and read them. */
#ifndef INQUEST_TIME_H
#define INQUEST_TIME_H

#include "inquest/error.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A duration with a unit ("1.25s", "300ms", "5us", "12ns", "2min"); a bare number is in
 * `default_unit_ns`. False when it is none or overflows. */
INQ_API bool inq_time_parse(const char *text, int64_t default_unit_ns, int64_t *ns);

/* "1.234 s", "56.7 ms", "8.90 us", "12 ns" into buf (at least 32 bytes); returns buf. */
INQ_API char *inq_time_format(int64_t ns, char *buf, size_t size);

/* Monotonic clock. */
INQ_API int64_t inq_time_now_ns(void);

#ifdef __cplusplus
}
#endif

#endif
