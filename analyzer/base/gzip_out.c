/* SPDX-License-Identifier: Apache-2.0 */
/* The door to zlib's deflate (its inflate is behind ingest/source_gzip). */
#include "base/gzip_out.h"

#include <limits.h>
#include <zlib.h>

/* A gzip wrapper (16) around the largest window (15); zlib's header has time 0 and no name. */
enum { GZIP_WINDOW = 15 + 16, MEMORY_LEVEL = 8, CHUNK = 64 << 10 };

static void *borrow(const char *bytes)
{
    union {
        const char *in;
        void *out;
    } pointer = {.in = bytes}; /* zlib's next_in is not const; deflate only reads */
    return pointer.out;
}

int inq_gzip_write(struct inq_out *out, const char *bytes, size_t n, int level, struct inq_err *err)
{
    z_stream stream = {0};
    if (deflateInit2(&stream, level, Z_DEFLATED, GZIP_WINDOW, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) !=
        Z_OK) {
        return inq_err_set(err, INQ_NOMEM, "out of memory");
    }
    unsigned char chunk[CHUNK];
    int state = Z_OK;
    while (state != Z_STREAM_END) {
        if (stream.avail_in == 0) {
            uInt part = n < INT_MAX ? (uInt)n : INT_MAX;
            stream.next_in = borrow(bytes);
            stream.avail_in = part;
            bytes += part;
            n -= part;
        }
        stream.next_out = chunk;
        stream.avail_out = CHUNK;
        state = deflate(&stream, n == 0 ? Z_FINISH : Z_NO_FLUSH);
        inq_out_bytes(out, (const char *)chunk, CHUNK - stream.avail_out);
    }
    (void)deflateEnd(&stream);
    if (out->code != INQ_OK) {
        return inq_err_set(err, (enum inq_code)out->code, "could not write compressed output");
    }
    return INQ_OK;
}

uint32_t inq_crc32(const void *bytes, size_t n)
{
    return (uint32_t)crc32_z(0, bytes, n);
}
