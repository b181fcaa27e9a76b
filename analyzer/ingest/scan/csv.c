/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/scan/csv.h"

bool inq_csv_field(const char **at, const char *end, struct inq_text *field)
{
    const char *p = *at;
    if (p > end) {
        return false;
    }
    while (p < end && (*p == ' ' || *p == '\t')) {
        p++;
    }
    bool quoted = p < end && *p == '"';
    p += quoted;
    const char *from = p;
    while (p < end && (quoted ? *p != '"' || p[1] == '"' : *p != ',')) {
        p += quoted && *p == '"' ? 2 : 1; /* two of them are one */
    }
    p = p < end ? p : end;
    const char *to = p;
    while (p < end && *p != ',') {
        p++;
    }
    while (to > from && (to[-1] == ' ' || to[-1] == '\t' || to[-1] == '\r' || to[-1] == '\0')) {
        to--;
    }
    *at = p + 1;
    *field = (struct inq_text){from, (uint32_t)(to - from)};
    return true;
}
