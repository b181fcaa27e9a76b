/* SPDX-License-Identifier: Apache-2.0 */
/* Buffered output with a sticky error: writers write on and ask once at the end. It collects a
 * document in memory, or stands in front of a sink. */
#ifndef INQUEST_OUT_H
#define INQUEST_OUT_H

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

#ifdef __cplusplus
extern "C" {
#endif

INQ_API void inq_out_bytes(struct inq_out *out, const char *bytes, size_t n);
INQ_API void inq_out_text(struct inq_out *out, const char *text);
INQ_API void inq_out_printf(struct inq_out *out, const char *fmt, ...) INQ_PRINTF(2, 3);
/* `text` in double quotes, its own doubled (RFC 4180, 2.7). */
INQ_API void inq_out_quoted(struct inq_out *out, const char *text);
/* Hands buffered bytes to `write` (no-op in memory mode); returns `code`. */
INQ_API int inq_out_flush(struct inq_out *out, struct inq_err *err);
/* Ends a document that was written with `code`: hands over what is buffered, or says that `what`
 * cannot be written (unless `err` has its cause already); releases. Returns the code to return. */
INQ_API int inq_out_end(struct inq_out *out, int code, const char *what, struct inq_err *err);
/* Writes into `out`, which must outlive the sink. */
INQ_API struct inq_sink inq_out_sink(struct inq_out *out);
/* Writes the file at `path` whole or not at all: `fill` writes into `out`, under a temporary name
 * beside it that is synced and renamed. Folders around it are made. Fails with INQ_IO, INQ_USAGE
 * (the path is too long) and as `fill` does. */
INQ_API int inq_out_file(const char *path,
                         int (*fill)(void *ctx, struct inq_out *out, struct inq_err *err),
                         void *ctx, struct inq_err *err);
/* Frees the buffer (memory mode: the collected bytes too). */
INQ_API void inq_out_release(struct inq_out *out);
/* Compresses `n` bytes as one gzip member, reproducible (no time, no name), and appends it to
 * `out`. The bytes depend on the version of zlib only. Fails with INQ_NOMEM or what `out` met. */
INQ_API int inq_gzip_write(struct inq_out *out, const char *bytes, size_t n, int level,
                           struct inq_err *err);

#ifdef __cplusplus
}
#endif

#endif
