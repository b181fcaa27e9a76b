/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks of a source joined into one stretch of text: what is left of a chunk goes into the room in
 * front of the next one, so that nothing but the event that lies across the seam is copied. */
#include "ingest/scan/window.h"

#include "base/mem.h"

#include <string.h>

/* Makes `big` hold at least `size` bytes and padding. `keep` bytes at `from` (maybe in `big`) are
 * moved to its start. */
static int use_big(struct inq_window *window, const char *from, size_t keep, size_t size,
                   struct inq_err *err)
{
    bool inside =
        window->big != NULL && from >= window->big && from <= window->big + window->big_cap;
    if (inside && from != window->big) {
        memmove(window->big, from, keep);
    }
    if (size + INQ_SOURCE_PADDING > window->big_cap) {
        size_t cap = window->big_cap == 0 ? (size_t)1 << 20 : window->big_cap;
        while (cap < size + INQ_SOURCE_PADDING) {
            cap *= 2;
        }
        /* pages are moved, not copied, where the system can */
        char *grown = inq_mem_realloc(window->big, cap);
        if (grown == NULL) {
            return inq_err_set(err, INQ_NOMEM, "out of memory for %zu bytes of text", cap);
        }
        window->big = grown;
        window->big_cap = cap;
    }
    if (!inside) {
        memcpy(window->big, from, keep);
    }
    window->p = window->big;
    window->end = window->big + keep;
    return INQ_OK;
}

static int take(struct inq_window *window, char **bytes, size_t *n, struct inq_err *err)
{
    int code = inq_source_take(window->source, bytes, n, &window->note, err);
    window->end_offset += *n;
    window->ended = code == INQ_OK && *n == 0;
    return code;
}

/* Appends chunks to `big` until `size` bytes are there. `chunk` is the first of them. */
static int gather(struct inq_window *window, const char *from, size_t keep, size_t size,
                  char *chunk, size_t n, struct inq_err *err)
{
    size_t have = keep;
    int code = use_big(window, from, keep, keep + n, err);
    while (code == INQ_OK && n > 0) {
        code = use_big(window, window->big, have, have + n, err);
        if (code != INQ_OK) {
            break;
        }
        memcpy(window->big + have, chunk, n);
        have += n;
        window->end = window->big + have;
        if (have >= size) {
            break;
        }
        code = take(window, &chunk, &n, err);
    }
    if (code == INQ_OK) {
        memset(window->end, 0, INQ_SOURCE_PADDING);
    }
    return code;
}

int inq_window_init(struct inq_window *window, struct inq_source *source, struct inq_err *err)
{
    *window = (struct inq_window){.source = source};
    window->tail = inq_mem_alloc(INQ_SOURCE_HEADROOM + INQ_SOURCE_PADDING);
    if (window->tail == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for input buffers");
    }
    memset(window->tail, 0, INQ_SOURCE_PADDING);
    window->p = window->tail;
    window->end = window->tail;
    return INQ_OK;
}

int inq_window_more(struct inq_window *window, size_t want, struct inq_err *err)
{
    if (window->ended) {
        return INQ_OK;
    }
    int code = window->tail == NULL ? inq_window_init(window, window->source, err) : INQ_OK;
    if (code != INQ_OK) {
        return code;
    }
    size_t keep = (size_t)(window->end - window->p);
    /* The chunk is gone once the next is taken: what is left moves out of its way first. */
    if (keep <= INQ_SOURCE_HEADROOM) {
        if (keep > 0) {
            memmove(window->tail, window->p, keep);
        }
        window->p = window->tail;
        window->end = window->tail + keep;
        memset(window->end, 0, INQ_SOURCE_PADDING);
    } else {
        code = use_big(window, window->p, keep, keep, err);
        if (code != INQ_OK) {
            return code;
        }
        memset(window->end, 0, INQ_SOURCE_PADDING);
    }
    char *chunk = NULL;
    size_t n = 0;
    code = take(window, &chunk, &n, err);
    if (code != INQ_OK || n == 0) {
        return code;
    }
    if (keep <= INQ_SOURCE_HEADROOM && n >= want) {
        memcpy(chunk - keep, window->p, keep);
        window->p = chunk - keep;
        window->end = chunk + n;
        return INQ_OK;
    }
    return gather(window, window->p, keep, keep + want, chunk, n, err);
}

int inq_window_all(struct inq_window *window, size_t most, bool *cut, struct inq_err *err)
{
    int code = INQ_OK;
    while (code == INQ_OK && !window->ended && (size_t)(window->end - window->p) < most) {
        size_t have = (size_t)(window->end - window->p);
        code = inq_window_more(window, have > 65536 ? have : 65536, err);
    }
    *cut = !window->ended;
    return code;
}

void inq_window_release(struct inq_window *window)
{
    inq_mem_free(window->tail);
    inq_mem_free(window->big);
    *window = (struct inq_window){0};
}
