/* SPDX-License-Identifier: Apache-2.0 */
#include "base/out.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>

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
