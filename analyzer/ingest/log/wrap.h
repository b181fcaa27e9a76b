/* SPDX-License-Identifier: Apache-2.0 */
/* What stands around every line of a log: a JSON object, as Docker keeps the output of a container,
 * journalctl -o json writes it and programs log; or the name of a machine or pod in front of it,
 * where launchers and collectors put the output of several into one file. */
#ifndef INQ_INGEST_LOG_WRAP_H
#define INQ_INGEST_LOG_WRAP_H

#include <stddef.h>

enum inq_log_wrapping {
    INQ_LOG_BARE,
    INQ_LOG_OBJECTS,
    INQ_LOG_HOSTS,     /* "n02: ..." of pdsh, clush and DeepSpeed */
    INQ_LOG_PODS,      /* "[pod/name/container] ..." of kubectl logs --prefix */
    INQ_LOG_CONTAINERS /* "name  | ..." of docker compose */
};

/* Of a text with these first bytes. A name alone may be a word of the message ("layer3: ..."), so
 * that its lines as a whole decide. */
enum inq_log_wrapping inq_log_wrapping_of(const char *head, size_t n);
/* In the line [start, end), puts time, host and text of the object in its place, carriage returns
 * between its lines; or the name between marks. Fills up with carriage returns. Leaves a line that
 * is none of its kind, or an object that holds a loss, as it is. */
void inq_log_unwrap(enum inq_log_wrapping wrapping, char *start, char *end);

#endif
