/* SPDX-License-Identifier: Apache-2.0 */
#include "report/terminal/escape.h"

#include "report/terminal/writer.h"

#include <string.h>

/* How a character is written; NULL: as it is. XML 1.0 has no control characters at all, not even
 * escaped. */
static const char *entity_of(uint32_t point)
{
    switch (point) {
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '&':
        return "&amp;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    case '\n':
    case '\t':
        return NULL;
    default:
        return inq_utf8_unsafe(point) || (point >= 0xfffd && point <= 0xffff) ? "\xef\xbf\xbd"
                                                                              : NULL;
    }
}

void inq_markup_text(struct inq_out *out, const char *text)
{
    size_t left = strlen(text);
    while (left > 0) {
        uint32_t point;
        size_t len = inq_utf8_next(text, left, &point);
        const char *as = entity_of(point);
        inq_out_bytes(out, as != NULL ? as : text, as != NULL ? strlen(as) : len);
        text += len;
        left -= len;
    }
}
