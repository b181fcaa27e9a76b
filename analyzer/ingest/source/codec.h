/* SPDX-License-Identifier: Apache-2.0 */
/* What is compressed, once or several times over, as a stream of the bytes inside: any number of
 * members, damage counted, not fatal. Text in UTF-16 is one more layer: inside it is UTF-8. */
#ifndef INQ_INGEST_SOURCE_CODEC_H
#define INQ_INGEST_SOURCE_CODEC_H

#include "base/limits.h"
#include "ingest/source/source.h"

/* Where compressed bytes come from. */
struct inq_codec_input {
    /* Gives bytes at `offset` (*n == 0 at the end), at most `cap` in `buffer` or, by setting
     * *bytes, any number in memory of its own, valid until the next call. */
    int (*read)(void *ctx, uint64_t offset, unsigned char *buffer, size_t cap,
                const unsigned char **bytes, size_t *n, struct inq_err *err);
    void *ctx;
    bool seekable;                       /* any offset, not only the next one */
    bool no_isal;                        /* inflate with zlib even when ISA-L is built in */
    const struct inq_deflated *deflated; /* bare deflate data; NULL: recognized by content */
};

/* Stretches of what was read, each of one member of a gzip file, whose checksum is left to the
 * reader: on another thread it costs the inflating one nothing. */
struct inq_spans {
    size_t n;
    struct inq_span {
        size_t from, to; /* bytes of what was read */
        bool first;      /* `sum` is that of what the member had before, else the sum goes on */
        bool last;       /* `right` is what it must be now */
        uint32_t sum, right;
    } of[4];
};

/* One way of compressing, or a family of them. */
struct inq_codec {
    bool (*recognize)(const unsigned char *bytes, size_t n);
    /* `head` is what was recognized; it will be read again. Fails with INQ_NOMEM. */
    int (*open)(const struct inq_codec_input *input, const unsigned char *head, size_t n,
                void **state, struct inq_err *err);
    /* Decompresses until `cap` bytes are there; less only at the end or on failure, with which *n
     * may still be above 0. `spans` (empty when called; NULL: nothing) gets what is left to the
     * reader; once given it is given on. Fails with INQ_NOMEM, INQ_UNSUPPORTED, and what the input
     * does. */
    int (*read)(void *state, unsigned char *out, size_t cap, size_t *n, struct inq_spans *spans,
                struct inq_err *err);
    uint64_t (*consumed)(const void *state);
    const struct inq_damage *(*damage)(const void *state);
    void (*close)(void *state);
};

/* The rows of the table, one per file: */
extern const struct inq_codec inq_codec_gzip;   /* gzip.c; also bare deflate data */
extern const struct inq_codec inq_codec_frames; /* frames.c: zstd, lz4, xz, bzip2 */
extern const struct inq_codec inq_codec_utf16;  /* utf16.c: text, which becomes UTF-8 */

/* The checksum of gzip (CRC-32) of `n` more bytes. */
uint32_t inq_gzip_sum(uint32_t sum, const void *bytes, size_t n, bool no_isal);

/* Enough to tell any of them by. */
enum { INQ_CODEC_HEAD = 16 };

/* All layers of compression taken off. All-zero is releasable. */
struct inq_unpack {
    struct inq_codec_input input;
    size_t n_layers; /* 0: nothing was compressed */
    struct inq_unpack_layer {
        const struct inq_codec *codec;
        void *state;
        unsigned char head[INQ_CODEC_HEAD]; /* read ahead for recognition */
        size_t head_n, head_used;
    } layers[INQ_MAX_LAYERS];
};

/* Recognizes what `input` (copied) is compressed with. Fails with INQ_NOMEM and what the codecs do.
 * inq_unpack_close in any case; `unpack` may not move before. */
int inq_unpack_open(struct inq_unpack *unpack, const struct inq_codec_input *input,
                    struct inq_err *err);
/* As a codec's read, of the innermost layer. To be called only with n_layers > 0. */
int inq_unpack_read(struct inq_unpack *unpack, unsigned char *out, size_t cap, size_t *n,
                    struct inq_spans *spans, struct inq_err *err);
void inq_unpack_close(struct inq_unpack *unpack);

#endif
