/* SPDX-License-Identifier: Apache-2.0 */
/* What a file is, by its first bytes and its name, as far as logs are concerned. */
#ifndef INQ_INGEST_LOG_SNIFF_H
#define INQ_INGEST_LOG_SNIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum inq_log_form {
    INQ_LOG_NO_TEXT,
    INQ_LOG_TEXT,      /* may tell something of a run: plain text, lines with tags or of JSON */
    INQ_LOG_ERROR_FILE /* in which a worker leaves its exception for the launcher */
};
enum inq_log_form inq_log_form_of(const char *head, size_t n);
/* Whether it is a log even when it has no record: by its name, or because stamps, tags or levels
 * stand in front of most lines. *other: why it is none, whatever words of failures stand in it: by
 * its name code, configuration, a document or data, or a program by its lines; NULL: it may be one.
 */
bool inq_log_is_log(const char *head, size_t n, const char *path, const char **other);
/* Whether a line has the shape of a log's: a time, a severity, a rank's tag, a traceback. */
bool inq_log_is_shaped(const char *start, const char *end);

/* A line behind all training output that says that something ended or could not be done, and
 * nothing of success, nor of what may be. A verb that begins the line is what a program did itself:
 * "Killed 3% of weights". Of a log without training `output` only a line counts that begins with
 * what could not be done. */
bool inq_log_is_last_word(const char *p, const char *end, bool output);

/* "all epochs done, artifacts pushed": that the whole work is done, in whatever words. */
bool inq_log_is_completion(const char *p, const char *end);

#endif
