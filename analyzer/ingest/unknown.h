/* SPDX-License-Identifier: Apache-2.0 */
/* What to call a file that no reader takes. */
#ifndef INQ_INGEST_UNKNOWN_H
#define INQ_INGEST_UNKNOWN_H

#include <stdbool.h>
#include <stddef.h>

/* Why a file with these first bytes is no trace, and what to do if something can be done; a
 * constant text. */
const char *inq_unknown_reason(const char *head, size_t n);
/* Whether they are text of no known form. */
bool inq_unknown_is_plain(const char *head, size_t n);

#endif
