/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INQ_INGEST_SCAN_WINDOW_H
#define INQ_INGEST_SCAN_WINDOW_H

#include "ingest/source/source.h"

/* The part of a source that is in memory. */
struct inq_window {
    struct inq_source *source;
    char *p, *end;       /* unread text; INQ_SOURCE_PADDING bytes behind `end` are readable */
    bool ended;          /* nothing will follow `end` */
    uint64_t end_offset; /* of `end` in the document */
    const void *note;    /* what work told of the chunk at its end, until more is had; or NULL */
    char *tail;          /* [HEADROOM + PADDING] what is left of a chunk while the next is had */
    char *big;           /* for text longer than that */
    size_t big_cap;
};

/* An empty window at the start of a source, which it borrows; inq_window_more does the same to one
 * that is all-zero but for its source. Release in any case. Fails with INQ_NOMEM. */
int inq_window_init(struct inq_window *window, struct inq_source *source, struct inq_err *err);
/* Keeps [p, end) and adds at least `want` bytes behind it, unless the source ends. Pointers into
 * the text move. Fails with what the source does and INQ_NOMEM. */
int inq_window_more(struct inq_window *window, size_t want, struct inq_err *err);
/* The rest of the source, `most` bytes of it at most; *cut: there is more. Fails as
 * inq_window_more does. */
int inq_window_all(struct inq_window *window, size_t most, bool *cut, struct inq_err *err);
static inline int64_t inq_window_offset(const struct inq_window *window, const char *p)
{
    return (int64_t)window->end_offset - (window->end - p);
}
void inq_window_release(struct inq_window *window);

#endif
