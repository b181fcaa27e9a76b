/* SPDX-License-Identifier: Apache-2.0 */
/* Times as text: exact decimals to int64 ns, and ns to what people read. */
#ifndef INQ_BASE_TIME_H
#define INQ_BASE_TIME_H

#include "inquest/error.h"

#include <stdbool.h>

/* Decimal text ("123", "-1.25", "1.5e3") in units of `unit_ns` (1000 = us) to ns, exactly; digits
 * below 1 ns round half away from zero. False when it is not a number or overflows. */
bool inq_time_parse_decimal(const char *text, size_t len, int64_t unit_ns, int64_t *ns);

/* A duration with a unit ("1.25s", "300ms", "5us", "12ns", "2min"); a bare number is in
 * `default_unit_ns`. */
bool inq_time_parse(const char *text, int64_t default_unit_ns, int64_t *ns);

/* "1.234 s", "56.7 ms", "8.90 us", "12 ns" into buf (at least 32 bytes); returns buf. */
char *inq_time_format(int64_t ns, char *buf, size_t size);

/* Monotonic clock. */
int64_t inq_time_now_ns(void);

#endif
