/* SPDX-License-Identifier: Apache-2.0 */
/* What no row of fields can say of a line: lists, tables, and lines around it. */
#ifndef INQ_INGEST_LOG_SPECIAL_H
#define INQ_INGEST_LOG_SPECIAL_H

#include "ingest/log/patterns.h"

/* Reads what the pattern's special asks for, `behind` being where its needle ends; false when the
 * line is none of this kind after all. */
bool inq_log_read_special(const struct inq_log_pattern *pattern, struct inq_log_line *line,
                          const char *behind, struct inq_log_names *names,
                          struct inq_log_event *event);

#endif
