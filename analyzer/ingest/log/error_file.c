/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/log/error_file.h"

#include <string.h>

/* The value of the last "key" in the text: a string, its quotes left out. */
static const char *last_string(const char *text, const char *end, const char *key, size_t *n)
{
    const char *found = NULL;
    size_t len = strlen(key);
    for (const char *p = text; (p = memmem(p, (size_t)(end - p), key, len)) != NULL; p += len) {
        const char *value = inq_log_match(p + len, end, ":\"");
        if (value != NULL) {
            found = value;
        }
    }
    *n = 0;
    while (found != NULL && found + *n < end && found[*n] != '"') {
        *n += found[*n] == '\\' && found + *n + 1 < end ? 2 : 1;
    }
    return found;
}

bool inq_log_read_error_file(const char *text, const char *end, struct inq_log_names *names,
                             struct inq_log_event *event)
{
    size_t n = 0;
    size_t n_time = 0;
    const char *message = last_string(text, end, "\"message\"", &n);
    const char *time = last_string(text, end, "\"timestamp\"", &n_time);
    int64_t seconds = 0;
    if (message == NULL || message + n > end) {
        return false;
    }
    inq_log_event_init(event);
    size_t name = 0;
    while (name < n && name + 1 < sizeof names->op && message[name] != ':' &&
           (unsigned char)message[name] > ' ') {
        names->op[name] = message[name];
        name++;
    }
    names->op[name] = '\0';
    n = n < sizeof names->text - 1 ? n : sizeof names->text - 1;
    memcpy(names->text, message, n);
    names->text[n] = '\0';
    event->kind = strstr(names->text, "CUDA out of memory") != NULL ? INQ_LOG_CUDA_OOM
                  : strstr(names->text, "CUDA error") != NULL       ? INQ_LOG_CUDA_ERROR
                                                                    : INQ_LOG_PYTHON_ERROR;
    event->op = names->op;
    event->text = names->text;
    event->line = 1;
    if (time == NULL) {
        time = inq_log_seek(text, end, "\"timestamp\":");
    }
    if (time != NULL && inq_log_number(time, end, &seconds) != NULL && seconds > 0 &&
        seconds < INT64_C(8000000000)) {
        event->clock = INQ_LOG_CLOCK_WALL;
        event->year_known = true;
        event->time_ns = seconds * INT64_C(1000000000);
        event->coarse_ns = INT64_C(1000000000);
    }
    return true;
}
