/* SPDX-License-Identifier: Apache-2.0 */
/* Error codes and the caller-owned error record that every fallible function fills. */
#ifndef INQUEST_ERROR_H
#define INQUEST_ERROR_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, value, text): one row per code; negative values are failures. */
#define INQ_CODES(X)                                                                               \
    X(OK, 0, "done")                                                                               \
    X(NOMEM, -1, "out of memory")                                                                  \
    X(IO, -2, "input or output failed")                                                            \
    X(FORMAT, -3, "malformed input")                                                               \
    X(LIMIT, -4, "a safety limit was reached")                                                     \
    X(USAGE, -5, "wrong usage")                                                                    \
    X(UNSUPPORTED, -6, "not supported")                                                            \
    X(NOT_FOUND, -7, "not found")                                                                  \
    X(DEADLOCK, -8, "deadlock")                                                                    \
    X(DEVICE, -9, "device failed")                                                                 \
    X(CANCELLED, -10, "interrupted")

enum inq_code {
#define INQ_CODE_ENUM(name, value, text) INQ_##name = (value),
    INQ_CODES(INQ_CODE_ENUM)
#undef INQ_CODE_ENUM
};

/* Where and why something failed. Zero-initialize; owned by the caller; no allocation. */
struct inq_err {
    enum inq_code code;
    int64_t offset;    /* byte offset in `path`; -1 if it has none */
    char path[256];    /* file concerned, "" if none */
    char message[512]; /* one sentence for the user */
};

#if defined(__GNUC__)
#define INQ_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define INQ_PRINTF(fmt, args)
#endif

/* Symbols of the shared library; everything else stays hidden. */
#if defined(__GNUC__)
#define INQ_API __attribute__((visibility("default")))
#else
#define INQ_API
#endif

/* inq_err_set(err, code, fmt, ...) records `code` with a message unless `err` already holds a
 * failure (first cause wins); inq_err_at(err, code, path, offset, fmt, ...) also the file and byte
 * offset (NULL and -1: none). `err` may be NULL. Both return `code`, so that callers can write
 * `return inq_err_set(...)`; they are macros so that static analysis sees that they do. */
#define inq_err_set(err, code, ...)                                                                \
    inq_code_of((inq_err_record((err), (code), NULL, -1, __VA_ARGS__), (code)))
#define inq_err_at(err, code, path, offset, ...)                                                   \
    inq_code_of((inq_err_record((err), (code), (path), (offset), __VA_ARGS__), (code)))

INQ_API void inq_err_record(struct inq_err *err, enum inq_code code, const char *path,
                            int64_t offset, const char *fmt, ...) INQ_PRINTF(5, 6);

static inline int inq_code_of(int code)
{
    return code;
}

/* Puts context in front of an already recorded message ("context: message"). */
INQ_API void inq_err_prefix(struct inq_err *err, const char *fmt, ...) INQ_PRINTF(2, 3);

/* The whole error as one line in `text` of `n` bytes, cut to fit: "PATH: message (byte N)", without
 * the path where the message names it. Control characters of an input become '?'. */
INQ_API void inq_err_text(const struct inq_err *err, char *text, size_t n);

/* The fixed text of a code, never NULL. */
INQ_API const char *inq_code_text(int code);

#ifdef __cplusplus
}
#endif

#endif
