/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/log/seek.h"

#include "inquest/log.h"

#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

const char *inq_log_escape(const char *p, const char *end)
{
    if (p >= end || *p != 0x1b) {
        return p;
    }
    p++;
    if (p < end && *p == '[') {
        p++;
        while (p < end && ((*p >= '0' && *p <= '?') || *p == ' ')) {
            p++;
        }
    }
    return p < end ? p + 1 : p;
}

/* Past blanks, line ends and escape sequences. */
static const char *skip_loose(const char *p, const char *end)
{
    for (;;) {
        const char *from = p;
        while (p < end && is_blank(*p)) {
            p++;
        }
        p = inq_log_escape(p, end);
        if (p == from) {
            return p;
        }
    }
}

const char *inq_log_blank(const char *p, const char *end)
{
    for (;;) {
        const char *from = p;
        while (p < end && (*p == ' ' || *p == '\t' || *p == '\r')) {
            p++;
        }
        p = inq_log_escape(p, end);
        if (p == from) {
            return p;
        }
    }
}

const char *inq_log_match(const char *p, const char *end, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == ' ') {
            continue;
        }
        if (p < end && *p != *text) {
            p = skip_loose(p, end);
        }
        if (p >= end || *p != *text) {
            return NULL;
        }
        p++;
    }
    return p;
}

const char *inq_log_seek(const char *p, const char *end, const char *text)
{
    const char *from = p;
    bool apart = *text == ' ';
    text +=
        strspn(text, " "); /* what is looked for is no blank: text may have long runs of those */
    while (p < end) {
        p = memchr(p, *text, (size_t)(end - p));
        if (p == NULL) {
            return NULL;
        }
        bool escape = *text == '[' && p > from && p[-1] == 0x1b;
        bool begins = !apart || (p > from && is_blank(p[-1]));
        const char *behind = escape || !begins ? NULL : inq_log_match(p, end, text);
        if (behind != NULL) {
            return behind;
        }
        p++;
    }
    return NULL;
}

const char *inq_log_number(const char *p, const char *end, int64_t *value)
{
    p = skip_loose(p, end);
    bool minus = p < end && *p == '-';
    p += minus;
    if (p >= end || !is_digit(*p)) {
        return NULL;
    }
    uint64_t sum = 0;
    for (; p < end && is_digit(*p); p++) {
        sum = sum < UINT64_MAX / 100 ? sum * 10 + (uint64_t)(*p - '0') : sum;
    }
    sum = sum > INT64_MAX ? INT64_MAX : sum;
    *value = minus ? -(int64_t)sum : (int64_t)sum;
    return p;
}

void inq_log_copy_word(const char *p, const char *end, const char *stops, char *to, size_t size)
{
    size_t n = 0;
    p = inq_log_blank(p, end);
    while (p < end && (unsigned char)*p > ' ' && strchr(stops, *p) == NULL && n + 1 < size) {
        to[n++] = *p++;
    }
    to[n] = '\0';
}

/* ---- PCI addresses --------------------------------------------------------------------------- */

static int hex(char c)
{
    return is_digit(c)            ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static const char *read_hex(const char *p, const char *end, uint64_t *value)
{
    const char *from = p;
    *value = 0;
    while (p < end && hex(*p) >= 0 && p - from < 8) {
        *value = *value << 4 | (uint64_t)hex(*p);
        p++;
    }
    return p > from ? p : NULL;
}

uint64_t inq_log_bus(const char *p, const char *end)
{
    uint64_t parts[3] = {0};
    size_t n = 0;
    const char *behind = inq_log_match(p, end, "PCI:");
    p = inq_log_blank(behind != NULL ? behind : p, end);
    for (const char *next = p; n < 3; n++) {
        next = read_hex(next, end, &parts[n]);
        if (next == NULL) {
            break;
        }
        bool colon = next < end && *next == ':';
        next += colon;
        if (!colon) {
            n++;
            break;
        }
    }
    switch (n) {
    case 1: /* NCCL: device and function are its last three digits */
        return parts[0] >> 12 << 8 | (parts[0] >> 4 & 0xff);
    case 2:
        return parts[0] << 8 | parts[1];
    case 3:
        return parts[0] << 16 | parts[1] << 8 | parts[2];
    default:
        return INQ_LOG_NO_BUS;
    }
}
