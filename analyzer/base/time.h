/* SPDX-License-Identifier: Apache-2.0 */
/* Exact decimals to int64 ns. */
#ifndef INQ_BASE_TIME_H
#define INQ_BASE_TIME_H

#include "inquest/time.h"

/* Decimal text ("123", "-1.25", "1.5e3") in units of `unit_ns` (1000 = us) to ns, exactly; digits
 * below 1 ns round half away from zero. False when it is not a number or overflows. */
bool inq_time_parse_decimal(const char *text, size_t len, int64_t unit_ns, int64_t *ns);

#endif
