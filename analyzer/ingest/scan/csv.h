/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of values that commas divide. */
#ifndef INQ_INGEST_SCAN_CSV_H
#define INQ_INGEST_SCAN_CSV_H

#include "ingest/scan/scan.h"

struct inq_damage;

/* The next field of the line from *at on, without its quotes and the blanks around it (what is
 * doubled inside stays so); false behind the last. */
bool inq_csv_field(const char **at, const char *end, struct inq_text *field);
/* Hands over the lines of the window that are not empty, and where each begins; what is too long
 * for a line is counted. Fails as `take` and inq_window_more do. */
typedef int (*inq_csv_line)(void *ctx, const char *line, size_t n, int64_t offset,
                            struct inq_err *err);
int inq_csv_lines(struct inq_window *window, inq_csv_line take, void *ctx,
                  struct inq_damage *damage, struct inq_err *err);

#endif
