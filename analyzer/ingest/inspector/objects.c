/* SPDX-License-Identifier: Apache-2.0 */
/* Files of JSON objects, a line each or in an array, which may be cut and damaged anywhere. */
#include "ingest/inspector/inspector.h"

#include "trace/trace.h"

#include <string.h>

int inq_nccl_algorithm(struct inq_strtab *names, struct inq_text algorithm,
                       struct inq_text protocol, inq_str *name, struct inq_err *err)
{
    enum { MOST = 32 }; /* bytes of either: "COLLNET_DIRECT" */
    char text[2 * MOST + 1];
    uint32_t n = 0;
    *name = 0;
    if (algorithm.n > MOST || protocol.n > MOST || algorithm.n + protocol.n == 0) {
        return INQ_OK;
    }
    for (uint32_t i = 0; i < algorithm.n; i++) {
        text[n++] = algorithm.p[i];
    }
    if (algorithm.n > 0 && protocol.n > 0) {
        text[n++] = ' ';
    }
    for (uint32_t i = 0; i < protocol.n; i++) {
        text[n++] = protocol.p[i];
    }
    return inq_scan_name((struct inq_text){text, n}, names, name, err);
}

/* Passes over what is no object, up to the next line. */
static int pass_line(struct inq_window *w, struct inq_err *err)
{
    int code = INQ_OK;
    for (bool found = false; code == INQ_OK && !found;) {
        char *stop = memchr(w->p, '\n', (size_t)(w->end - w->p));
        found = stop != NULL || w->ended;
        w->p = stop != NULL ? stop + 1 : w->end;
        if (!found) {
            code = inq_window_more(w, 1, err);
        }
    }
    return code;
}

/* At a byte that is no blank. */
static int read_object(const struct inq_nccl_objects *objects, struct inq_window *w,
                       struct inq_err *err)
{
    struct inq_scan scan = {w->p, w->end, NULL};
    size_t have = (size_t)(w->end - w->p);
    int64_t offset = inq_window_offset(w, w->p);
    int code = INQ_OK;
    enum inq_scan_result result =
        *w->p == '{' ? objects->read(objects->ctx, &scan, offset, &code, err) : INQ_SCAN_BAD;
    if (result == INQ_SCAN_MORE && !w->ended && have < objects->most_bytes) {
        return inq_window_more(w, have, err);
    }
    if (result == INQ_SCAN_OK) {
        w->p = (char *)(uintptr_t)scan.p;
        return code;
    }
    bool cut = result == INQ_SCAN_MORE && w->ended && memchr(w->p, '\n', have) == NULL;
    inq_damage_add(objects->damage, cut ? INQ_DAMAGE_TRUNCATED : INQ_DAMAGE_BAD_EVENT, 1, offset);
    return pass_line(w, err);
}

int inq_nccl_read_objects(struct inq_source *source, const struct inq_nccl_objects *objects,
                          struct inq_err *err)
{
    struct inq_window w = {0};
    int code = inq_window_init(&w, source, err);
    while (code == INQ_OK) {
        while (w.p < w.end && strchr(" \t\r\n,[]", *w.p) != NULL && *w.p != '\0') {
            w.p++;
        }
        if (w.p < w.end) {
            code = read_object(objects, &w, err);
        } else if (w.ended) {
            break;
        } else {
            code = inq_window_more(&w, 1, err);
        }
    }
    inq_window_release(&w);
    return code;
}
