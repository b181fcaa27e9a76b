/* SPDX-License-Identifier: Apache-2.0 */
/* Logs whose every line is a JSON object around a line of text: what Docker keeps of a container,
 * journalctl -o json, programs that log so. */
#ifndef INQ_INGEST_LOG_WRAP_H
#define INQ_INGEST_LOG_WRAP_H

#include <stdbool.h>
#include <stddef.h>

/* Whether a text with these first bytes is such a log. */
bool inq_log_is_wrapped(const char *head, size_t n);
/* Puts time, host and text of the object in [start, end) in its place, carriage returns between its
 * lines and up to the end. Leaves what is none of its kind, or holds a loss, as it is. */
void inq_log_unwrap(char *start, char *end);

#endif
