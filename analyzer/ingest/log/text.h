/* SPDX-License-Identifier: Apache-2.0 */
/* The text of an event. */
#ifndef INQ_INGEST_LOG_TEXT_H
#define INQ_INGEST_LOG_TEXT_H

#include "ingest/log/patterns.h"

/* The line as it is, without escape sequences, control characters and tags of pieces; behind an
 * exception that ends with a colon its next line. */
void inq_log_copy_text(const struct inq_log_line *line, struct inq_log_names *names,
                       struct inq_log_event *event);

#endif
