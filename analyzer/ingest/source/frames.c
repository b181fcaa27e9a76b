/* SPDX-License-Identifier: Apache-2.0 */
/* zstd, lz4, xz and bzip2, and the only door to their libraries. What is common stands here once:
 * frames that follow each other, what lies between them, damage, and the bound on what a few bytes
 * may become. */
#include "ingest/source/codec.h"

#include "base/mem.h"

#include <string.h>
#ifdef INQ_HAVE_ZSTD
#include <zstd.h>
#include <zstd_errors.h>
#endif
#ifdef INQ_HAVE_LZ4
#include <lz4frame.h>
#endif
#ifdef INQ_HAVE_LZMA
#include <lzma.h>
#endif
#ifdef INQ_HAVE_BZIP2
#include <bzlib.h>
#endif

/* A call into a decoder always has room for OUTPUT_SIZE, a block of zstd: what comes out before
 * damage depends on the room, and must not depend on how much the reader asks for. */
enum { INPUT_SIZE = 128 << 10, OUTPUT_SIZE = 128 << 10 };
/* What a decoder may have read past damage: bzip2's blocks, the largest, have 900 kB. */
#define READ_AHEAD ((uint64_t)1 << 20)
/* Traces and logs pack 5 to 50 times, the most repetitive a few hundred: past this the stream is a
 * bomb, and is ended. gzip cannot do more than 1032. Small streams may be what they like. */
#define MOST_RATIO     4096
#define ALWAYS_ALLOWED ((uint64_t)256 << 20)
/* What `xz -9` needs is 65 MiB. */
#define XZ_MEMORY ((uint64_t)256 << 20)

enum state { AT_FRAME, IN_FRAME, SEARCHING, AT_END };

/* What one call into a decoder did. */
enum step { STEP_MORE, STEP_FINISHED, STEP_CORRUPT, STEP_NOMEM, STEP_TOO_LARGE };

struct span {
    const unsigned char *p;
    size_t n;
};

struct engine {
    const char *name, *remedy; /* of what needs more memory than is given */
    bool (*starts)(const unsigned char *bytes, size_t n);
    /* Begins a frame, in the decoder of the one before if there is one. */
    bool (*begin)(void **decoder);
    /* Moves `in` past what was read. *hint gets how many bytes end the block at hand. */
    enum step (*step)(void *decoder, struct span *in, unsigned char *out, size_t cap, size_t *made,
                      size_t *hint);
    void (*end)(void *decoder);
};

struct frames {
    struct inq_codec_input input;
    const struct engine *engine;
    void *decoder;
    unsigned char *buffer; /* [INPUT_SIZE], and behind it [OUTPUT_SIZE] for output */
    struct span in;        /* unread input */
    struct span out;       /* output that is not handed on yet */
    uint64_t offset;       /* behind what was read, `head` included */
    bool input_ended;
    unsigned char head[INQ_CODEC_HEAD]; /* between frames: bytes read ahead */
    size_t head_n;
    struct span pending; /* of head: goes into the decoder before `in` */
    /* A call that finds damage says nothing of what it made before, so that one is given no more
     * than a block, and none before the last has come out whole. */
    size_t hint; /* 0: not known */
    bool flushing;

    enum state state;
    uint64_t frames, frame_offset, delivered;
    struct inq_damage damage;
};

#if defined INQ_HAVE_ZSTD || defined INQ_HAVE_LZ4 || defined INQ_HAVE_LZMA || defined INQ_HAVE_BZIP2
static bool begins_with(const unsigned char *bytes, size_t n, const char *magic, size_t len)
{
    return n >= len && memcmp(bytes, magic, len) == 0;
}
#endif

/* ---- the libraries --------------------------------------------------------------------------- */

#ifdef INQ_HAVE_ZSTD
static bool zstd_starts(const unsigned char *bytes, size_t n)
{
    /* a skippable frame is how pzstd and seekable archives begin */
    return begins_with(bytes, n, "\x28\xb5\x2f\xfd", 4) ||
           (n >= 4 && (bytes[0] & 0xf0) == 0x50 && memcmp(bytes + 1, "\x2a\x4d\x18", 3) == 0);
}

static bool zstd_begin(void **decoder)
{
    if (*decoder == NULL) {
        *decoder = ZSTD_createDStream();
    }
    return *decoder != NULL && ZSTD_isError(ZSTD_initDStream(*decoder)) == 0;
}

static enum step zstd_step(void *decoder, struct span *in, unsigned char *out, size_t cap,
                           size_t *made, size_t *hint)
{
    ZSTD_inBuffer from = {in->p, in->n, 0};
    ZSTD_outBuffer to = {out, cap, 0};
    size_t result = ZSTD_decompressStream(decoder, &to, &from);
    in->p += from.pos;
    in->n -= from.pos;
    *made = to.pos;
    if (ZSTD_isError(result) == 0) {
        *hint = result;
        return result == 0 ? STEP_FINISHED : STEP_MORE;
    }
    switch ((int)ZSTD_getErrorCode(result)) {
    case ZSTD_error_memory_allocation:
        return STEP_NOMEM;
    case ZSTD_error_frameParameter_windowTooLarge:
        return STEP_TOO_LARGE;
    default:
        return STEP_CORRUPT;
    }
}

static void zstd_end(void *decoder)
{
    (void)ZSTD_freeDStream(decoder);
}
#endif

#ifdef INQ_HAVE_LZ4
static bool lz4_starts(const unsigned char *bytes, size_t n)
{
    return begins_with(bytes, n, "\x04\x22\x4d\x18", 4);
}

static bool lz4_begin(void **decoder)
{
    LZ4F_dctx *fresh = *decoder;
    if (fresh == NULL && LZ4F_isError(LZ4F_createDecompressionContext(&fresh, LZ4F_VERSION)) != 0) {
        return false;
    }
    LZ4F_resetDecompressionContext(fresh);
    *decoder = fresh;
    return true;
}

static enum step lz4_step(void *decoder, struct span *in, unsigned char *out, size_t cap,
                          size_t *made, size_t *hint)
{
    size_t used = in->n;
    *made = cap;
    size_t result = LZ4F_decompress(decoder, out, made, in->p, &used, NULL);
    if (LZ4F_isError(result) != 0) {
        *made = 0;
        return STEP_CORRUPT;
    }
    in->p += used;
    in->n -= used;
    *hint = result;
    return result == 0 ? STEP_FINISHED : STEP_MORE;
}

static void lz4_end(void *decoder)
{
    (void)LZ4F_freeDecompressionContext(decoder);
}
#endif

#ifdef INQ_HAVE_LZMA
static bool xz_starts(const unsigned char *bytes, size_t n)
{
    return begins_with(bytes, n,
                       "\xfd"
                       "7zXZ\0",
                       6);
}

static bool xz_begin(void **decoder)
{
    if (*decoder == NULL) {
        *decoder = inq_mem_alloc(sizeof(lzma_stream));
        if (*decoder != NULL) {
            *(lzma_stream *)*decoder = (lzma_stream)LZMA_STREAM_INIT;
        }
    }
    return *decoder != NULL && lzma_stream_decoder(*decoder, XZ_MEMORY, 0) == LZMA_OK;
}

static enum step xz_step(void *decoder, struct span *in, unsigned char *out, size_t cap,
                         size_t *made, size_t *hint)
{
    (void)hint; /* what came out before damage is told */
    lzma_stream *s = decoder;
    s->next_in = in->p;
    s->avail_in = in->n;
    s->next_out = out;
    s->avail_out = cap;
    lzma_ret result = lzma_code(s, LZMA_RUN);
    in->p += in->n - s->avail_in;
    in->n = s->avail_in;
    *made = cap - s->avail_out;
    switch ((int)result) {
    case LZMA_OK:
    case LZMA_BUF_ERROR:
        return STEP_MORE;
    case LZMA_STREAM_END:
        return STEP_FINISHED;
    case LZMA_MEM_ERROR:
        return STEP_NOMEM;
    case LZMA_MEMLIMIT_ERROR:
        return STEP_TOO_LARGE;
    default:
        return STEP_CORRUPT;
    }
}

static void xz_end(void *decoder)
{
    lzma_end(decoder);
    inq_mem_free(decoder);
}
#endif

#ifdef INQ_HAVE_BZIP2
static bool bzip2_starts(const unsigned char *bytes, size_t n)
{
    /* the head, and that of a block or of the end: "BZh" alone may begin a text */
    return begins_with(bytes, n, "BZh", 3) && n >= 10 && bytes[3] >= '1' && bytes[3] <= '9' &&
           (memcmp(bytes + 4, "\x31\x41\x59\x26\x53\x59", 6) == 0 ||
            memcmp(bytes + 4, "\x17\x72\x45\x38\x50\x90", 6) == 0);
}

static bool bzip2_begin(void **decoder)
{
    if (*decoder == NULL) {
        *decoder = inq_mem_zalloc(1, sizeof(bz_stream));
    } else {
        (void)BZ2_bzDecompressEnd(*decoder);
    }
    return *decoder != NULL && BZ2_bzDecompressInit(*decoder, 0, 0) == BZ_OK;
}

static enum step bzip2_step(void *decoder, struct span *in, unsigned char *out, size_t cap,
                            size_t *made, size_t *hint)
{
    (void)hint; /* what came out before damage is told */
    bz_stream *s = decoder;
    unsigned cap_now = cap < INPUT_SIZE ? (unsigned)cap : INPUT_SIZE;
    memcpy(&s->next_in, &in->p, sizeof s->next_in); /* read only, but declared writable */
    s->avail_in = (unsigned)in->n;
    s->next_out = (char *)out;
    s->avail_out = cap_now;
    int result = BZ2_bzDecompress(s);
    in->p += in->n - s->avail_in;
    in->n = s->avail_in;
    *made = cap_now - s->avail_out;
    switch (result) {
    case BZ_OK:
        return STEP_MORE;
    case BZ_STREAM_END:
        return STEP_FINISHED;
    case BZ_MEM_ERROR:
        return STEP_NOMEM;
    default:
        return STEP_CORRUPT;
    }
}

static void bzip2_end(void *decoder)
{
    (void)BZ2_bzDecompressEnd(decoder);
    inq_mem_free(decoder);
}
#endif

static const struct engine engines[] = {
#ifdef INQ_HAVE_ZSTD
    {"zstd", "zstd -d --long=31", zstd_starts, zstd_begin, zstd_step, zstd_end},
#endif
#ifdef INQ_HAVE_LZ4
    {"lz4", "lz4 -d", lz4_starts, lz4_begin, lz4_step, lz4_end},
#endif
#ifdef INQ_HAVE_LZMA
    {"xz", "xz -d", xz_starts, xz_begin, xz_step, xz_end},
#endif
#ifdef INQ_HAVE_BZIP2
    {"bzip2", "bzip2 -d", bzip2_starts, bzip2_begin, bzip2_step, bzip2_end},
#endif
    {0}, /* a table needs a row */
};

static const struct engine *find_engine(const unsigned char *bytes, size_t n)
{
    for (const struct engine *engine = engines; engine->name != NULL; engine++) {
        if (engine->starts(bytes, n)) {
            return engine;
        }
    }
    return NULL;
}

/* ---- input ----------------------------------------------------------------------------------- */

static int refill(struct frames *frames, struct inq_err *err)
{
    if (frames->in.n > 0 || frames->input_ended) {
        return INQ_OK;
    }
    frames->in.p = frames->buffer;
    int code = frames->input.read(frames->input.ctx, frames->offset, frames->buffer, INPUT_SIZE,
                                  &frames->in.p, &frames->in.n, err);
    frames->offset += frames->in.n;
    frames->input_ended = code == INQ_OK && frames->in.n == 0;
    return code;
}

/* Fills the head as far as the input goes. */
static int fill_head(struct frames *frames, struct inq_err *err)
{
    int code = INQ_OK;
    while (frames->head_n < sizeof frames->head && !frames->input_ended && code == INQ_OK) {
        code = refill(frames, err);
        size_t room = sizeof frames->head - frames->head_n;
        size_t part = frames->in.n < room ? frames->in.n : room;
        memcpy(frames->head + frames->head_n, frames->in.p, part);
        frames->head_n += part;
        frames->in.p += part;
        frames->in.n -= part;
    }
    return code;
}

static void drop_byte_of_head(struct frames *frames)
{
    frames->head_n--;
    memmove(frames->head, frames->head + 1, frames->head_n);
}

static void seek_to(struct frames *frames, uint64_t offset)
{
    frames->offset = offset;
    frames->in.n = 0;
    frames->head_n = 0;
    frames->input_ended = false;
}

static void note_damage(struct frames *frames, enum inq_damage_kind kind)
{
    if (frames->damage.count[kind]++ == 0) {
        frames->damage.first_offset[kind] = (int64_t)frames->delivered;
    }
}

/* ---- frames ---------------------------------------------------------------------------------- */

/* With the head filled: the next frame, after any zero padding. */
static int begin_frame(struct frames *frames, struct inq_err *err)
{
    int code = fill_head(frames, err);
    while (code == INQ_OK && frames->frames > 0 && frames->head_n > 0 && frames->head[0] == 0) {
        drop_byte_of_head(frames);
        code = fill_head(frames, err);
    }
    if (code != INQ_OK) {
        return code;
    }
    if (frames->head_n == 0) {
        frames->state = AT_END;
    } else if (!frames->engine->starts(frames->head, frames->head_n)) {
        note_damage(frames, INQ_DAMAGE_CORRUPT_GZIP);
        frames->state = SEARCHING;
    } else if (!frames->engine->begin(&frames->decoder)) {
        return inq_err_set(err, INQ_NOMEM, "out of memory to decompress");
    } else {
        frames->frame_offset = frames->offset - frames->in.n - frames->head_n;
        frames->pending = (struct span){frames->head, frames->head_n};
        frames->head_n = 0;
        frames->frames++;
        frames->hint = 0;
        frames->flushing = false;
        frames->state = IN_FRAME;
    }
    return INQ_OK;
}

/* After damage: looks for what can only be the start of another frame. */
static int search(struct frames *frames, struct inq_err *err)
{
    int code = fill_head(frames, err);
    while (code == INQ_OK && frames->head_n > 0 &&
           !frames->engine->starts(frames->head, frames->head_n)) {
        drop_byte_of_head(frames);
        code = fill_head(frames, err);
    }
    frames->state = code == INQ_OK ? AT_FRAME : SEARCHING;
    return code;
}

/* Where the search goes on: decoders read blocks as a whole, and a damaged length may have led one
 * past the frames that follow. */
static void on_corrupt(struct frames *frames)
{
    note_damage(frames, INQ_DAMAGE_CORRUPT_GZIP);
    frames->state = SEARCHING;
    uint64_t at = frames->offset - frames->in.n;
    uint64_t back = frames->frame_offset + 1;
    if (frames->input.seekable && at > back) {
        seek_to(frames, at > back + READ_AHEAD ? at - READ_AHEAD : back);
    }
}

/* One call into the decoder; *made bytes were put at `out`, which has room for OUTPUT_SIZE. */
static int decode_some(struct frames *frames, unsigned char *out, size_t *made, struct inq_err *err)
{
    bool head = frames->pending.n > 0;
    int code = head ? INQ_OK : refill(frames, err);
    if (code != INQ_OK) {
        return code;
    }
    struct span *in = head ? &frames->pending : &frames->in;
    size_t most = frames->flushing ? 0 : frames->hint > 0 ? frames->hint : in->n;
    struct span fed = {in->p, in->n < most ? in->n : most};
    enum step step =
        frames->engine->step(frames->decoder, &fed, out, OUTPUT_SIZE, made, &frames->hint);
    size_t used = (size_t)(fed.p - in->p);
    in->p += used;
    in->n -= used;
    frames->delivered += *made;
    bool flushed = frames->flushing;
    frames->flushing = *made == OUTPUT_SIZE;
    if (step == STEP_MORE && *made == 0 && used == 0 && !flushed) { /* no way on */
        if (in->n == 0 && frames->input_ended) {
            note_damage(frames, INQ_DAMAGE_TRUNCATED_GZIP);
            frames->state = AT_END;
            return INQ_OK;
        }
        step = STEP_CORRUPT;
    }
    switch (step) {
    case STEP_MORE:
        break;
    case STEP_FINISHED:
        memcpy(frames->head, frames->pending.p, frames->pending.n); /* a very short frame */
        frames->head_n = frames->pending.n;
        frames->pending.n = 0;
        frames->state = AT_FRAME;
        break;
    case STEP_CORRUPT:
        frames->pending.n = 0;
        on_corrupt(frames);
        break;
    case STEP_NOMEM:
        return inq_err_set(err, INQ_NOMEM, "out of memory to decompress");
    case STEP_TOO_LARGE:
        return inq_err_set(err, INQ_UNSUPPORTED,
                           "compressed with %s so that it takes too much memory to decompress: "
                           "decompress it first (%s)",
                           frames->engine->name, frames->engine->remedy);
    }
    if (frames->delivered > ALWAYS_ALLOWED &&
        (frames->delivered - ALWAYS_ALLOWED) / MOST_RATIO > frames->offset) {
        note_damage(frames, INQ_DAMAGE_LIMIT);
        frames->state = AT_END;
    }
    return INQ_OK;
}

/* Hands on what waits. */
static size_t take_output(struct frames *frames, unsigned char *to, size_t cap)
{
    size_t part = frames->out.n < cap ? frames->out.n : cap;
    memcpy(to, frames->out.p, part);
    frames->out.p += part;
    frames->out.n -= part;
    return part;
}

static int read_frames(void *state, unsigned char *out, size_t cap, size_t *n,
                       struct inq_spans *spans, struct inq_err *err)
{
    (void)spans;
    struct frames *frames = state;
    int code = INQ_OK;
    *n = take_output(frames, out, cap);
    while (code == INQ_OK && *n < cap && frames->state != AT_END) {
        size_t got = 0;
        if (frames->state == AT_FRAME) {
            code = begin_frame(frames, err);
        } else if (frames->state == SEARCHING) {
            code = search(frames, err);
        } else if (cap - *n >= OUTPUT_SIZE) {
            code = decode_some(frames, out + *n, &got, err);
        } else {
            frames->out.p = frames->buffer + INPUT_SIZE;
            code = decode_some(frames, frames->buffer + INPUT_SIZE, &frames->out.n, err);
            got = take_output(frames, out + *n, cap - *n);
        }
        *n += got;
    }
    return code;
}

/* ---- life ------------------------------------------------------------------------------------ */

static bool recognize(const unsigned char *bytes, size_t n)
{
    return find_engine(bytes, n) != NULL;
}

static int open_frames(const struct inq_codec_input *input, const unsigned char *head, size_t n,
                       void **state, struct inq_err *err)
{
    struct frames *fresh = inq_mem_zalloc(1, sizeof *fresh);
    unsigned char *buffer = inq_mem_alloc(INPUT_SIZE + OUTPUT_SIZE);
    if (fresh == NULL || buffer == NULL) {
        inq_mem_free(fresh);
        inq_mem_free(buffer);
        return inq_err_set(err, INQ_NOMEM, "out of memory to decompress");
    }
    fresh->input = *input;
    fresh->engine = find_engine(head, n);
    fresh->buffer = buffer;
    fresh->in.p = buffer;
    fresh->out.p = buffer + INPUT_SIZE;
    fresh->pending.p = fresh->head;
    *state = fresh;
    return INQ_OK;
}

static uint64_t consumed(const void *state)
{
    const struct frames *frames = state;
    return frames->offset - frames->in.n;
}

static const struct inq_damage *damage_of(const void *state)
{
    return &((const struct frames *)state)->damage;
}

static void close_frames(void *state)
{
    struct frames *frames = state;
    if (frames->decoder != NULL) {
        frames->engine->end(frames->decoder);
    }
    inq_mem_free(frames->buffer);
    inq_mem_free(frames);
}

const struct inq_codec inq_codec_frames = {
    .recognize = recognize,
    .open = open_frames,
    .read = read_frames,
    .consumed = consumed,
    .damage = damage_of,
    .close = close_frames,
};
