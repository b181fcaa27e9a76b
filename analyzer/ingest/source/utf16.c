/* SPDX-License-Identifier: Apache-2.0 */
/* Text in UTF-16, as PowerShell and other programs of Windows write it, read as UTF-8: with a mark
 * of byte order, or without one where every other byte of the beginning is zero. */
#include "base/mem.h"
#include "ingest/source/codec.h"

#include <string.h>

/* Fewer bytes without a mark are no text to be sure of. */
enum { BUFFER = 4096, REPLACEMENT = 0xfffd, LEAST = 8 };

struct utf16 {
    struct inq_codec_input input;
    bool big;
    bool marked; /* the mark itself is not read yet */
    bool ended;
    uint64_t offset; /* of the next read */
    const unsigned char *bytes;
    size_t n, used;
    unsigned char buffer[BUFFER];
    unsigned char out[4]; /* the rest of a character */
    size_t out_n, out_used;
    int32_t ahead; /* a unit that was read behind half a pair; -1 none */
    struct inq_damage damage;
};

/* Printable ASCII, a tab or a line end. */
static bool is_plain(unsigned char c)
{
    return (c >= ' ' && c < 0x7f) || c == '\t' || c == '\r' || c == '\n';
}

static bool has_mark(const unsigned char *bytes, size_t n, bool *big)
{
    *big = n >= 2 && bytes[0] == 0xfe && bytes[1] == 0xff;
    bool wide = n >= 4 && bytes[2] == 0 && bytes[3] == 0; /* UTF-32's mark begins alike */
    return *big || (n >= 2 && bytes[0] == 0xff && bytes[1] == 0xfe && !wide);
}

/* Without a mark: ASCII, and each second byte zero, over all that is looked at. */
static bool is_bare(const unsigned char *bytes, size_t n, bool *big)
{
    *big = n > 0 && bytes[0] == 0;
    for (size_t i = 0; i + 1 < n; i += 2) {
        if (bytes[i + !*big] != 0 || !is_plain(bytes[i + *big])) {
            return false;
        }
    }
    return n >= LEAST;
}

static bool recognize(const unsigned char *bytes, size_t n)
{
    bool big = false;
    return has_mark(bytes, n, &big) || is_bare(bytes, n, &big);
}

static int open_utf16(const struct inq_codec_input *input, const unsigned char *head, size_t n,
                      void **state, struct inq_err *err)
{
    struct utf16 *u = inq_mem_zalloc(1, sizeof *u);
    if (u == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for text in UTF-16");
    }
    u->input = *input;
    u->ahead = -1;
    u->marked = has_mark(head, n, &u->big);
    (void)(u->marked || is_bare(head, n, &u->big));
    *state = u;
    return INQ_OK;
}

/* *byte below 0 at the end. */
static int next_byte(struct utf16 *u, int *byte, struct inq_err *err)
{
    *byte = -1;
    if (u->used == u->n && !u->ended) {
        int code = u->input.read(u->input.ctx, u->offset, u->buffer, sizeof u->buffer, &u->bytes,
                                 &u->n, err);
        if (code != INQ_OK) {
            u->n = u->used = 0;
            return code;
        }
        u->used = 0;
        u->offset += u->n;
        u->ended = u->n == 0;
    }
    if (u->used < u->n) {
        *byte = u->bytes[u->used++];
    }
    return INQ_OK;
}

/* *unit below 0 at the end; half a unit there is a character that was lost. */
static int next_unit(struct utf16 *u, int32_t *unit, struct inq_err *err)
{
    int first = -1;
    int second = -1;
    *unit = u->ahead;
    u->ahead = -1;
    if (*unit >= 0) {
        return INQ_OK;
    }
    int code = next_byte(u, &first, err);
    code = code == INQ_OK && first >= 0 ? next_byte(u, &second, err) : code;
    if (code == INQ_OK && first >= 0) {
        *unit = second < 0 ? REPLACEMENT : u->big ? first << 8 | second : second << 8 | first;
    }
    return code;
}

static bool is_high(int32_t unit)
{
    return unit >= 0xd800 && unit < 0xdc00;
}

static bool is_low(int32_t unit)
{
    return unit >= 0xdc00 && unit < 0xe000;
}

/* Encodes one character in `out`. */
static void encode(struct utf16 *u, uint32_t c)
{
    unsigned char *out = u->out;
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char marks[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = n; i-- > 1;) {
        out[i] = (unsigned char)(0x80 | (c & 0x3f));
        c >>= 6;
    }
    out[0] = (unsigned char)(marks[n] | c);
    u->out_n = n;
    u->out_used = 0;
}

/* The next character; nothing at the end. */
static int next_character(struct utf16 *u, struct inq_err *err)
{
    int32_t unit = -1;
    int32_t low = -1;
    int code = next_unit(u, &unit, err);
    if (code == INQ_OK && u->marked) {
        u->marked = false;
        code = next_unit(u, &unit, err);
    }
    u->out_n = u->out_used = 0;
    if (code != INQ_OK || unit < 0) {
        return code;
    }
    if (is_high(unit)) {
        code = next_unit(u, &low, err);
        if (code != INQ_OK) {
            return code;
        }
        u->ahead = is_low(low) ? -1 : low;
    }
    uint32_t c = (uint32_t)unit;
    if (is_low(unit) || (is_high(unit) && !is_low(low))) {
        c = REPLACEMENT;
    } else if (is_high(unit)) {
        c = 0x10000 + (((uint32_t)unit & 0x3ff) << 10 | ((uint32_t)low & 0x3ff));
    }
    encode(u, c);
    return INQ_OK;
}

static int read_utf16(void *state, unsigned char *out, size_t cap, size_t *n,
                      struct inq_spans *spans, struct inq_err *err)
{
    (void)spans;
    struct utf16 *u = state;
    *n = 0;
    while (*n < cap) {
        if (u->out_used == u->out_n) {
            int code = next_character(u, err);
            if (code != INQ_OK || u->out_n == 0) {
                return code;
            }
        }
        out[(*n)++] = u->out[u->out_used++];
    }
    return INQ_OK;
}

static uint64_t consumed(const void *state)
{
    const struct utf16 *u = state;
    return u->offset - (u->n - u->used);
}

static const struct inq_damage *damage(const void *state)
{
    return &((const struct utf16 *)state)->damage;
}

const struct inq_codec inq_codec_utf16 = {
    .recognize = recognize,
    .open = open_utf16,
    .read = read_utf16,
    .consumed = consumed,
    .damage = damage,
    .close = inq_mem_free,
};
