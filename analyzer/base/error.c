/* SPDX-License-Identifier: Apache-2.0 */
#include "inquest/version.h"

#include "base/mem.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* What the last allocation that failed in this thread would have needed; 0: told already. */
static _Thread_local uint64_t needed_bytes, allowed_bytes;

void inq_err_note_shortage(uint64_t needed, uint64_t allowed)
{
    needed_bytes = needed;
    allowed_bytes = allowed;
}

/* How much memory was missing, if that is known. */
static void add_shortage(struct inq_err *err)
{
    char needed[32];
    char allowed[32];
    size_t used = strlen(err->message);
    if (needed_bytes > 0) {
        (void)snprintf(
            err->message + used, sizeof err->message - used,
            ": at least %s are needed, %s may be used",
            inq_size_format((double)needed_bytes, INQ_SIZE_DECIMAL, needed, sizeof needed),
            inq_size_format((double)allowed_bytes, INQ_SIZE_DECIMAL, allowed, sizeof allowed));
    }
    needed_bytes = 0;
}

void inq_err_record(struct inq_err *err, enum inq_code code, const char *path, int64_t offset,
                    const char *fmt, ...)
{
    if (err == NULL || err->code != INQ_OK) {
        return;
    }
    err->code = code;
    err->offset = offset;
    (void)snprintf(err->path, sizeof err->path, "%s", path != NULL ? path : "");
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(err->message, sizeof err->message, fmt, args);
    va_end(args);
    if (code == INQ_NOMEM) {
        add_shortage(err);
    }
}

void inq_err_prefix(struct inq_err *err, const char *fmt, ...)
{
    if (err == NULL || err->code == INQ_OK) {
        return;
    }
    char joined[sizeof err->message];
    va_list args;
    va_start(args, fmt);
    int written = vsnprintf(joined, sizeof joined, fmt, args);
    va_end(args);
    size_t used = written < 0 ? 0 : (size_t)written;
    if (used >= sizeof joined) {
        used = sizeof joined - 1;
    }
    /* a message that does not fit is cut: its beginning says what matters */
    int room = (int)(sizeof joined - used) - 3;
    (void)snprintf(joined + used, sizeof joined - used, ": %.*s", room > 0 ? room : 0,
                   err->message);
    memcpy(err->message, joined, sizeof joined);
}

void inq_err_text(const struct inq_err *err, char *text, size_t n)
{
    const char *said = err->message[0] != '\0' ? err->message : inq_code_text(err->code);
    char place[32] = "";

    if (err->path[0] != '\0' && err->offset > 0) {
        (void)snprintf(place, sizeof place, " (byte %" PRId64 ")", err->offset);
    }
    /* most messages name the file themselves */
    bool named = err->path[0] == '\0' || strstr(said, err->path) != NULL;
    (void)snprintf(text, n, "%s%s%s%s", named ? "" : err->path, named ? "" : ": ", said, place);
    for (; n > 0 && *text != '\0'; text++) {
        if ((unsigned char)*text < 0x20 || *text == 0x7f) {
            *text = '?';
        }
    }
}

const char *inq_version(void)
{
    return INQ_VERSION_STRING;
}

const char *inq_code_text(int code)
{
    switch (code) {
#define CASE_TEXT(name, value, text)                                                               \
    case (value):                                                                                  \
        return text;
        INQ_CODES(CASE_TEXT)
#undef CASE_TEXT
    default:
        return "unknown error";
    }
}
