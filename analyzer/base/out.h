/* SPDX-License-Identifier: Apache-2.0 */
/* Buffered output with a sticky error: writers write on and ask once at the end. */
#ifndef INQ_BASE_OUT_H
#define INQ_BASE_OUT_H

#include "inquest/sink.h"

#include <stdbool.h>

/* All-zero with `write` set is ready; with `write` NULL it collects in memory. */
struct inq_out {
    int (*write)(void *ctx, const char *bytes, size_t n);
    void *ctx;
    char *buf;
    size_t len, cap;
    int code; /* 0, or the first failure */
};

void inq_out_bytes(struct inq_out *out, const char *bytes, size_t n);
void inq_out_text(struct inq_out *out, const char *text);
void inq_out_printf(struct inq_out *out, const char *fmt, ...) INQ_PRINTF(2, 3);
/* Hands buffered bytes to `write` (no-op in memory mode); returns `code`. */
int inq_out_flush(struct inq_out *out, struct inq_err *err);
/* Ends a document that was written with `code`: hands over what is buffered, or says that `what`
 * cannot be written (unless `err` has its cause already); releases. Returns the code to return. */
int inq_out_end(struct inq_out *out, int code, const char *what, struct inq_err *err);
/* Writes into `out`, which must outlive the sink. */
struct inq_sink inq_out_sink(struct inq_out *out);
/* Writes the file at `path` whole or not at all: `fill` writes into `out`, under a temporary name
 * beside it that is synced and renamed. Folders around it are made. Fails with INQ_IO, INQ_USAGE
 * (the path is too long) and as `fill` does. */
int inq_out_file(const char *path, int (*fill)(void *ctx, struct inq_out *out, struct inq_err *err),
                 void *ctx, struct inq_err *err);
/* Frees the buffer (memory mode: the collected bytes too). */
void inq_out_release(struct inq_out *out);

#endif
