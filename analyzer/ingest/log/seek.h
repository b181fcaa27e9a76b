/* SPDX-License-Identifier: Apache-2.0 */
/* Words, numbers and addresses in text; line ends and escape sequences may stand between. */
#ifndef INQ_INGEST_LOG_SEEK_H
#define INQ_INGEST_LOG_SEEK_H

#include <stddef.h>
#include <stdint.h>

/* Whether `text` begins at p, blanks, line ends and escape sequences left aside on both sides;
 * where it ends, or NULL. */
const char *inq_log_match(const char *p, const char *end, const char *text);
/* The end of the first such place in [p, end), or NULL; of a text that begins with a blank, the
 * first behind a blank. Takes no more than time in proportion, whatever the bytes are. */
const char *inq_log_seek(const char *p, const char *end, const char *text);
/* A whole number at p, behind blanks; where it ends, or NULL. */
const char *inq_log_number(const char *p, const char *end, int64_t *value);
/* Past an escape sequence at p; p itself when there is none. */
const char *inq_log_escape(const char *p, const char *end);
/* Past blanks (no line ends) and escape sequences. */
const char *inq_log_blank(const char *p, const char *end);
/* Up to a character of `stops` or a blank, cut to the room there is. */
void inq_log_copy_word(const char *p, const char *end, const char *stops, char *to, size_t size);
/* "0000:9b:00", "PCI:0000:9b:00.0", "9b000" at p; INQ_LOG_NO_BUS when there is none. */
uint64_t inq_log_bus(const char *p, const char *end);

#endif
