/* SPDX-License-Identifier: Apache-2.0 */
/* What a file is, by its first bytes and its name, as far as logs are concerned. */
#ifndef INQ_INGEST_LOG_SNIFF_H
#define INQ_INGEST_LOG_SNIFF_H

#include <stdbool.h>
#include <stddef.h>

/* The file in which a worker leaves its exception for the launcher. */
bool inq_log_is_error_file(const char *head, size_t n);
/* Whether it may tell something of a run: plain text, lines with tags, lines of JSON. */
bool inq_log_is_text(const char *head, size_t n);
/* Whether it is a log even when it tells nothing: by its name, or because stamps, tags or levels
 * stand in front of most lines. */
bool inq_log_is_log(const char *head, size_t n, const char *path);

#endif
