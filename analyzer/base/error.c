/* SPDX-License-Identifier: Apache-2.0 */
#include "inquest/error.h"

#include "base/mem.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* "1.5 GB", "380.0 MB". */
static const char *format_bytes(uint64_t bytes, char *text, size_t size)
{
    bool giga = bytes >= UINT64_C(1000000000);
    (void)snprintf(text, size, giga ? "%.1f GB" : "%.1f MB",
                   (double)bytes / (giga ? 1e9 : 1e6));
    return text;
}

/* How much was missing, if it is known. */
static void add_shortage(struct inq_err *err)
{
    char needed[32];
    char allowed[32];
    struct inq_mem_shortage shortage = inq_mem_last_shortage();
    size_t used = strlen(err->message);
    if (shortage.needed_bytes > 0) {
        (void)snprintf(err->message + used, sizeof err->message - used,
                       ": at least %s are needed, %s may be used",
                       format_bytes(shortage.needed_bytes, needed, sizeof needed),
                       format_bytes(shortage.allowed_bytes, allowed, sizeof allowed));
    }
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
