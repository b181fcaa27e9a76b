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
 * stand in front of most lines. */
bool inq_log_is_log(const char *head, size_t n, const char *path);

/* Why a text is no log, whatever words of failures stand in it: by its name code, configuration, a
 * document or data, or a program by its lines. NULL: it may be one. */
const char *inq_log_other_text(const char *head, size_t n, const char *path);
/* Whether a line has the shape of a log's: a time, a severity, a rank's tag, a traceback. */
bool inq_log_is_shaped(const char *start, const char *end);

/* A line behind all training output that says that something ended or could not be done, and
 * nothing of success, nor of what may be. A verb that begins the line is what a program did itself:
 * "Killed 3% of weights". Of a log without training `output` only a line counts that begins with
 * what could not be done. */
bool inq_log_is_last_word(const char *p, const char *end, bool output);

/* "all epochs done, artifacts pushed": that the whole work is done, in whatever words. */
bool inq_log_is_completion(const char *p, const char *end);

/* "===== rank 2 stderr =====", "--- rank_3.log ---", "==> logs/rank3.err <==" of tail: a heading in
 * a file that was put together from several. *rank gets whose the lines behind it are; it stays as
 * it is where the heading does not say. */
bool inq_log_is_heading(const char *start, const char *end, int32_t *rank);

#endif
