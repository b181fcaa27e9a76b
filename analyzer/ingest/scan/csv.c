/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/scan/csv.h"

#include "trace/build/build.h"

#include <string.h>

/* Longer lines are none: those of fused kernels have some thousand bytes of shapes. */
#define MAX_LINE ((size_t)1 << 20)

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

int inq_csv_lines(struct inq_window *w, inq_csv_line take, void *ctx, struct inq_damage *damage,
                  struct inq_err *err)
{
    int code = INQ_OK;
    while (code == INQ_OK && (w->p < w->end || !w->ended)) {
        size_t have = (size_t)(w->end - w->p);
        have = have < MAX_LINE ? have : MAX_LINE;
        const char *stop = memchr(w->p, '\n', have);
        if (stop == NULL && !w->ended && have < MAX_LINE) {
            code = inq_window_more(w, have + 1, err);
            continue;
        }
        size_t n = stop != NULL ? (size_t)(stop - w->p) : have;
        int64_t offset = inq_window_offset(w, w->p);
        if (n < MAX_LINE) {
            code = n > 0 && w->p[0] != '\r' ? take(ctx, w->p, n, offset, err) : INQ_OK;
        } else {
            inq_damage_add(damage, INQ_DAMAGE_LIMIT, 1, offset);
        }
        w->p += n + (stop != NULL);
    }
    return code;
}
