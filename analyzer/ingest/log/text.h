/* SPDX-License-Identifier: Apache-2.0 */
/* The text of an event, and of a part of it. */
#ifndef INQ_INGEST_LOG_TEXT_H
#define INQ_INGEST_LOG_TEXT_H

#include "ingest/log/patterns.h"

/* The line as it is, without escape sequences, control characters and tags of pieces; behind an
 * exception that ends with a colon its next line. */
void inq_log_copy_text(const struct inq_log_line *line, struct inq_log_names *names,
                       struct inq_log_event *event);
/* From p up to the end of the sentence or of what is quoted; of code in ticks only the name. */
void inq_log_copy_sentence(const char *p, const char *end, char *to, size_t size);
/* "0, 3, 5-7" or "0 1 2" up to what is no number: the event's ranks, in the names' room. */
void inq_log_read_ranks(const char *p, const char *end, struct inq_log_names *names,
                        struct inq_log_event *event);

#endif
