/* SPDX-License-Identifier: Apache-2.0 */
/* Values that commas divide (RFC 4180), read in place. */
#ifndef INQ_INGEST_SCAN_CSV_H
#define INQ_INGEST_SCAN_CSV_H

#include "ingest/scan/scan.h"

/* The next field of the line from *at on, without its quotes and the blanks around it (what is
 * doubled inside stays so); false behind the last. */
bool inq_csv_field(const char **at, const char *end, struct inq_text *field);

#endif
