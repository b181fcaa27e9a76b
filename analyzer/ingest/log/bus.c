/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/log/bus.h"

#include "ingest/log/line.h"

#include <stdbool.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

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
