/* SPDX-License-Identifier: Apache-2.0 */
/* Python's exceptions: the name at the head of a message, and the frames in front of it. */
#ifndef INQ_INGEST_LOG_EXCEPTION_H
#define INQ_INGEST_LOG_EXCEPTION_H

#include "ingest/log/patterns.h"

/* "torch.cuda.OutOfMemoryError: ..." around the word that ends at `behind`: the name stands alone
 * or a colon follows, and nothing but prefixes is in front. Or "Traceback (most recent call last):"
 * whose exception, set out again behind its frames, has a name of no usual form ("queue.Empty");
 * `line` becomes the exception's. Or "Fatal Python error", with faulthandler's frames behind it.
 * False when it is none. */
bool inq_log_read_exception(struct inq_log_line *line, const char *behind,
                            struct inq_log_names *names, struct inq_log_event *event);

#endif
