/* SPDX-License-Identifier: Apache-2.0 */
/* The file in which a worker leaves its exception for the launcher (torchelastic's error.json). */
#ifndef INQ_INGEST_LOG_ERROR_FILE_H
#define INQ_INGEST_LOG_ERROR_FILE_H

#include "ingest/log/patterns.h"

/* Reads the whole text of such a file; false when it names no exception. */
bool inq_log_read_error_file(const char *text, const char *end, struct inq_log_names *names,
                             struct inq_log_event *event);

#endif
