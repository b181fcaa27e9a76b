/* SPDX-License-Identifier: Apache-2.0 */
#include "inquest/out.h"

#include "base/mem.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const size_t FLUSH_AT = (size_t)64 << 10;
static const size_t MAX_OUT = (size_t)1 << 34;

static void hand_over(struct inq_out *out)
{
    if (out->code == INQ_OK && out->write != NULL && out->len > 0) {
        out->code = out->write(out->ctx, out->buf, out->len);
    }
    if (out->write != NULL) {
        out->len = 0;
    }
}

void inq_out_bytes(struct inq_out *out, const char *bytes, size_t n)
{
    if (out->code != INQ_OK || n == 0) {
        return; /* of nothing, `bytes` may be NULL */
    }
    if (out->write != NULL && out->len + n > FLUSH_AT) {
        hand_over(out);
    }
    if (out->code == INQ_OK) {
        out->code = inq_mem_grow(&out->buf, &out->cap, out->len + n + 1, 1, MAX_OUT, NULL);
    }
    if (out->code == INQ_OK) {
        memcpy(out->buf + out->len, bytes, n);
        out->len += n;
        out->buf[out->len] = '\0';
    }
}

void inq_out_text(struct inq_out *out, const char *text)
{
    inq_out_bytes(out, text, strlen(text));
}

void inq_out_quoted(struct inq_out *out, const char *text)
{
    inq_out_bytes(out, "\"", 1);
    for (const char *p = text; *p != '\0'; p++) {
        if (*p == '"') {
            inq_out_bytes(out, "\"", 1);
        }
        inq_out_bytes(out, p, 1);
    }
    inq_out_bytes(out, "\"", 1);
}

void inq_out_printf(struct inq_out *out, const char *fmt, ...)
{
    if (out->code != INQ_OK) {
        return;
    }
    va_list args;
    va_list again;
    va_start(args, fmt);
    va_copy(again, args);
    char small[256];
    int len = vsnprintf(small, sizeof small, fmt, args);
    if (len >= 0 && (size_t)len < sizeof small) {
        inq_out_bytes(out, small, (size_t)len);
    } else if (len >= 0) {
        char *large = inq_mem_alloc((size_t)len + 1);
        if (large == NULL) {
            out->code = INQ_NOMEM;
        } else {
            (void)vsnprintf(large, (size_t)len + 1, fmt, again);
            inq_out_bytes(out, large, (size_t)len);
            inq_mem_free(large);
        }
    }
    va_end(again);
    va_end(args);
}

int inq_out_flush(struct inq_out *out, struct inq_err *err)
{
    hand_over(out);
    if (out->code != INQ_OK) {
        return inq_err_set(err, (enum inq_code)out->code, "%s",
                           out->code == INQ_NOMEM ? "out of memory for the output"
                                                  : "could not write the output");
    }
    return INQ_OK;
}

static int take(void *ctx, const char *bytes, size_t n)
{
    struct inq_out *out = ctx;
    inq_out_bytes(out, bytes, n);
    return out->code;
}

struct inq_sink inq_out_sink(struct inq_out *out)
{
    return (struct inq_sink){take, out};
}

static int write_file(void *ctx, const char *bytes, size_t n)
{
    return fwrite(bytes, 1, n, ctx) == n ? INQ_OK : INQ_IO;
}

struct inq_sink inq_sink_file(FILE *file)
{
    return (struct inq_sink){write_file, file};
}

static int make_folders_of(const char *path, struct inq_err *err)
{
    char folder[PATH_MAX];
    int len = snprintf(folder, sizeof folder, "%s", path);
    if (len < 0 || len >= PATH_MAX) {
        return inq_err_at(err, INQ_USAGE, path, -1, "the path is too long");
    }
    for (char *p = folder + (folder[0] == '/'); *p != '\0'; p++) {
        if (*p == '/') {
            *p = '\0';
            if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
                return inq_err_at(err, INQ_IO, folder, -1, "%s", strerror(errno));
            }
            *p = '/';
        }
    }
    return INQ_OK;
}

/* "folder/name" to "folder/.name.tmp"; INQ_USAGE when that does not fit. */
static int temporary_name(const char *path, char *temporary, size_t size, struct inq_err *err)
{
    const char *slash = strrchr(path, '/');
    int folder = slash != NULL ? (int)(slash + 1 - path) : 0;
    int len = snprintf(temporary, size, "%.*s.%s.tmp", folder, path, path + folder);
    return len >= 0 && (size_t)len < size
               ? INQ_OK
               : inq_err_at(err, INQ_USAGE, path, -1, "the path is too long");
}

int inq_out_file(const char *path, int (*fill)(void *ctx, struct inq_out *out, struct inq_err *err),
                 void *ctx, struct inq_err *err)
{
    char temporary[PATH_MAX];
    int code = make_folders_of(path, err);
    code = code == INQ_OK ? temporary_name(path, temporary, sizeof temporary, err) : code;
    if (code != INQ_OK) {
        return code;
    }
    FILE *file = fopen(temporary, "wb");
    if (file == NULL) {
        return inq_err_at(err, INQ_IO, temporary, -1, "%s", strerror(errno));
    }
    struct inq_out out = {.write = write_file, .ctx = file};
    code = fill(ctx, &out, err);
    code = code == INQ_OK ? inq_out_flush(&out, err) : code;
    bool synced = code == INQ_OK && fflush(file) == 0 && fsync(fileno(file)) == 0;
    bool closed = fclose(file) == 0;
    if (code == INQ_OK && (!synced || !closed || rename(temporary, path) != 0)) {
        code = inq_err_at(err, INQ_IO, path, -1, "%s", strerror(errno));
    }
    if (code != INQ_OK) {
        (void)remove(temporary);
    }
    inq_out_release(&out);
    return code;
}

void inq_out_release(struct inq_out *out)
{
    inq_mem_free(out->buf);
    *out = (struct inq_out){0};
}

int inq_out_end(struct inq_out *out, int code, const char *what, struct inq_err *err)
{
    if (code == INQ_OK) {
        code = inq_out_flush(out, err);
    } else {
        code = inq_err_set(err, (enum inq_code)code, "%s cannot be written%s: %s", what,
                           code == INQ_UNSUPPORTED ? " in this format" : "", inq_code_text(code));
    }
    inq_out_release(out);
    return code;
}
