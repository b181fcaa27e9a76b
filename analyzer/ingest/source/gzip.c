/* SPDX-License-Identifier: Apache-2.0 */
/* The only door to zlib and ISA-L. Headers and trailers are read here, so that both engines inflate
 * bare deflate data and damage is counted in one place. ISA-L is the fast path; a member in which
 * it finds damage is inflated again by zlib, whose verdict counts, so that both engines deliver the
 * same bytes. */
#include "ingest/source/codec.h"

#include "base/mem.h"

#include <limits.h>
#include <string.h>
#define ZLIB_CONST
#include <zlib.h>
#ifdef INQ_HAVE_ISAL
#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>
#endif

enum { INPUT_SIZE = 128 << 10 };

enum { FLAG_HCRC = 2, FLAG_EXTRA = 4, FLAG_NAME = 8, FLAG_COMMENT = 16, FLAG_RESERVED = 0xe0 };

enum state { AT_HEADER, IN_DATA, AT_TRAILER, SEARCHING, AT_END };

/* What one call into an engine did. */
enum step { STEP_MORE, STEP_FINISHED, STEP_CORRUPT, STEP_CUT };

struct gzip {
    struct inq_codec_input input;
    unsigned char *buffer;     /* [INPUT_SIZE] */
    const unsigned char *next; /* unread input */
    size_t left;
    uint64_t offset; /* of `next` in the input */
    bool input_ended;

    enum state state;
    bool use_isal;
    bool with_isal;        /* for the member at hand */
    uint64_t data_offset;  /* where its deflate data starts */
    uint64_t member_out;   /* bytes of it delivered */
    uint64_t skip;         /* bytes of it that the first engine has delivered already */
    uint64_t member_total; /* bytes that the engine at hand has made of it */
    uint32_t crc;
    bool left_to_reader; /* `crc` stays as it is: the member's spans give the rest */
    uint64_t members;
    uint64_t delivered;
    struct inq_damage damage;

    /* of the call at hand: */
    const unsigned char *out;
    struct inq_spans *spans;

    z_stream zlib;
    bool zlib_ready;
#ifdef INQ_HAVE_ISAL
    struct inflate_state *isal;
#endif
};

static bool recognize(const unsigned char *bytes, size_t n)
{
    return n >= 3 && bytes[0] == 0x1f && bytes[1] == 0x8b && bytes[2] == 8;
}

/* ---- input ----------------------------------------------------------------------------------- */

static int refill(struct gzip *gzip, struct inq_err *err)
{
    if (gzip->left > 0 || gzip->input_ended) {
        return INQ_OK;
    }
    gzip->next = gzip->buffer;
    int code = gzip->input.read(gzip->input.ctx, gzip->offset, gzip->buffer, INPUT_SIZE,
                                &gzip->next, &gzip->left, err);
    gzip->input_ended = code == INQ_OK && gzip->left == 0;
    return code;
}

static void seek_to(struct gzip *gzip, uint64_t offset)
{
    gzip->offset = offset;
    gzip->left = 0;
    gzip->input_ended = false;
}

/* The next byte of input, -1 at its end, less on failure. */
static int next_byte(struct gzip *gzip, struct inq_err *err)
{
    int code = refill(gzip, err);
    if (code != INQ_OK) {
        return code - 1;
    }
    if (gzip->left == 0) {
        return -1;
    }
    gzip->left--;
    gzip->offset++;
    return *gzip->next++;
}

static void note_damage(struct gzip *gzip, enum inq_damage_kind kind)
{
    if (gzip->damage.count[kind]++ == 0) {
        gzip->damage.first_offset[kind] = (int64_t)gzip->delivered;
    }
}

/* ---- engines --------------------------------------------------------------------------------- */

static enum step step_zlib(struct gzip *gzip, unsigned char *out, size_t cap, size_t *made)
{
    z_stream *z = &gzip->zlib;
    z->next_in = gzip->next;
    z->avail_in = (uInt)(gzip->left < UINT_MAX ? gzip->left : UINT_MAX);
    z->next_out = out;
    z->avail_out = (uInt)(cap < UINT_MAX ? cap : UINT_MAX);
    uInt in = z->avail_in;
    uInt room = z->avail_out;
    int result = inflate(z, Z_NO_FLUSH);
    size_t used = in - z->avail_in;
    gzip->next += used;
    gzip->left -= used;
    gzip->offset += used;
    *made = room - z->avail_out;
    if (result == Z_STREAM_END) {
        return STEP_FINISHED;
    }
    return result == Z_OK || result == Z_BUF_ERROR ? STEP_MORE : STEP_CORRUPT;
}

static int start_zlib(struct gzip *gzip, struct inq_err *err)
{
    int result = gzip->zlib_ready ? inflateReset(&gzip->zlib) : inflateInit2(&gzip->zlib, -15);
    gzip->zlib_ready = result == Z_OK;
    return result == Z_OK ? INQ_OK : inq_err_set(err, INQ_NOMEM, "out of memory to decompress");
}

#ifdef INQ_HAVE_ISAL

static enum step step_isal(struct gzip *gzip, unsigned char *out, size_t cap, size_t *made)
{
    struct inflate_state *s = gzip->isal;
    size_t in = gzip->left < INPUT_SIZE ? gzip->left : INPUT_SIZE;
    uint32_t room = (uint32_t)(cap < INT_MAX ? cap : INT_MAX);
    memcpy(&s->next_in, &gzip->next, sizeof s->next_in); /* read only, but declared writable */
    s->avail_in = (uint32_t)in;
    s->next_out = out;
    s->avail_out = room;
    int result = isal_inflate(s);
    if (result < 0 || s->avail_in > in) { /* zlib will have to judge, and starts anew */
        *made = 0;                        /* what it made may hold more than what is sound */
        return STEP_CORRUPT;
    }
    size_t used = in - s->avail_in;
    gzip->next += used;
    gzip->left -= used;
    gzip->offset += used;
    *made = room - s->avail_out;
    return s->block_state == ISAL_BLOCK_FINISH ? STEP_FINISHED : STEP_MORE;
}

static int start_isal(struct gzip *gzip, struct inq_err *err)
{
    if (gzip->isal == NULL) {
        gzip->isal = inq_mem_alloc(sizeof *gzip->isal);
    }
    if (gzip->isal == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory to decompress");
    }
    isal_inflate_init(gzip->isal);
    gzip->isal->crc_flag = ISAL_DEFLATE;
    return INQ_OK;
}

#endif

uint32_t inq_gzip_sum(uint32_t sum, const void *bytes, size_t n, bool no_isal)
{
#ifdef INQ_HAVE_ISAL
    if (!no_isal) {
        return crc32_gzip_refl(sum, bytes, n);
    }
#else
    (void)no_isal;
#endif
    return (uint32_t)crc32_z(sum, bytes, n);
}

static size_t max_spans(const struct inq_spans *spans)
{
    return sizeof spans->of / sizeof *spans->of;
}

/* Leaves the sum of the member, of which bytes follow at `out`, to the reader of the call at hand,
 * as long as nothing of it is made twice and there is room to tell. */
static void leave_to_reader(struct gzip *gzip, const unsigned char *out)
{
    struct inq_spans *spans = gzip->spans;
    if (spans == NULL || gzip->skip > 0 || spans->n == max_spans(spans)) {
        return;
    }
    size_t at = (size_t)(out - gzip->out);
    spans->of[spans->n++] =
        (struct inq_span){.from = at, .to = at, .first = !gzip->left_to_reader, .sum = gzip->crc};
    gzip->left_to_reader = true;
}

static int start_data(struct gzip *gzip, bool with_isal, struct inq_err *err)
{
    gzip->with_isal = with_isal;
    gzip->member_total = 0;
    gzip->crc = 0;
    gzip->left_to_reader = false;
    gzip->state = IN_DATA;
#ifdef INQ_HAVE_ISAL
    if (with_isal) {
        return start_isal(gzip, err);
    }
#endif
    return start_zlib(gzip, err);
}

/* ---- members --------------------------------------------------------------------------------- */

/* Skips a NUL-terminated field. Returns the last byte read as next_byte does. */
static int skip_text(struct gzip *gzip, struct inq_err *err)
{
    int byte = next_byte(gzip, err);
    while (byte > 0) {
        byte = next_byte(gzip, err);
    }
    return byte;
}

static int skip_bytes(struct gzip *gzip, int n, struct inq_err *err)
{
    int byte = 0;
    while (n-- > 0 && byte >= 0) {
        byte = next_byte(gzip, err);
    }
    return byte;
}

/* The optional fields after the first ten bytes; 0 or the negative result of next_byte. */
static int skip_fields(struct gzip *gzip, int flags, struct inq_err *err)
{
    int byte = 0;
    if (flags & FLAG_EXTRA) {
        int low = next_byte(gzip, err);
        int high = low < 0 ? low : next_byte(gzip, err);
        byte = high < 0 ? high : skip_bytes(gzip, low + 256 * high, err);
    }
    if (byte >= 0 && (flags & FLAG_NAME)) {
        byte = skip_text(gzip, err);
    }
    if (byte >= 0 && (flags & FLAG_COMMENT)) {
        byte = skip_text(gzip, err);
    }
    if (byte >= 0 && (flags & FLAG_HCRC)) {
        byte = skip_bytes(gzip, 2, err);
    }
    return byte < 0 ? byte : 0;
}

/* Ends the input here: cleanly, cut short, or because reading failed. */
static int end_at(struct gzip *gzip, int byte, bool clean)
{
    if (byte < -1) {
        return byte + 1;
    }
    if (!clean) {
        note_damage(gzip, INQ_DAMAGE_TRUNCATED_GZIP);
    }
    gzip->state = AT_END;
    return INQ_OK;
}

static int start_member(struct gzip *gzip, struct inq_err *err)
{
    gzip->members++;
    gzip->data_offset = gzip->offset;
    gzip->member_out = 0;
    gzip->skip = 0;
    return start_data(gzip, gzip->use_isal, err);
}

/* Reads a member's header, after any zero padding. */
static int read_header(struct gzip *gzip, struct inq_err *err)
{
    if (gzip->input.deflated != NULL) { /* the archive has told what a header would */
        return start_member(gzip, err);
    }
    int byte = next_byte(gzip, err);
    while (byte == 0 && gzip->members > 0) {
        byte = next_byte(gzip, err);
    }
    if (byte < 0) {
        return end_at(gzip, byte, gzip->members > 0);
    }
    int head[10] = {byte};
    for (int i = 1; i < 10; i++) {
        head[i] = next_byte(gzip, err);
        if (head[i] < 0) {
            return end_at(gzip, head[i], false);
        }
        if (i == 3 && (head[0] != 0x1f || head[1] != 0x8b || head[2] != 8 ||
                       (head[3] & FLAG_RESERVED) != 0)) {
            note_damage(gzip, INQ_DAMAGE_CORRUPT_GZIP);
            gzip->state = SEARCHING;
            return INQ_OK;
        }
    }
    byte = skip_fields(gzip, head[3], err);
    return byte < 0 ? end_at(gzip, byte, false) : start_member(gzip, err);
}

/* After damage: looks for what can only be the header of another member. */
static int search(struct gzip *gzip, struct inq_err *err)
{
    unsigned char window[10] = {0};
    uint64_t seen = 0;
    for (;;) {
        int byte = next_byte(gzip, err);
        if (byte < 0) {
            return end_at(gzip, byte, true);
        }
        memmove(window, window + 1, 9);
        window[9] = (unsigned char)byte;
        seen++;
        if (seen >= 10 && recognize(window, 10) && (window[3] & FLAG_RESERVED) == 0 &&
            (window[8] == 0 || window[8] == 2 || window[8] == 4) &&
            (window[9] <= 13 || window[9] == 255)) {
            seek_to(gzip, gzip->offset - 10);
            gzip->state = AT_HEADER;
            return INQ_OK;
        }
    }
}

/* The trailer starts with the whole bytes that ISA-L has read ahead. */
static size_t unread_of_isal(struct gzip *gzip, unsigned char bytes[8])
{
    size_t n = 0;
#ifdef INQ_HAVE_ISAL
    if (gzip->with_isal) {
        uint64_t bits = gzip->isal->read_in >> (gzip->isal->read_in_length % 8);
        n = (size_t)gzip->isal->read_in_length / 8;
        for (size_t i = 0; i < n; i++) {
            bytes[i] = (unsigned char)(bits >> (8 * i));
        }
    }
#else
    (void)gzip;
    (void)bytes;
#endif
    return n;
}

/* Compares what came out with what should have, or has the reader do it. */
static void verify(struct gzip *gzip, uint32_t crc, uint32_t size)
{
    bool left = gzip->left_to_reader;
    if (size != (uint32_t)gzip->member_total || (!left && crc != gzip->crc)) {
        note_damage(gzip, INQ_DAMAGE_CORRUPT_GZIP);
    } else if (left) {
        struct inq_span *span = &gzip->spans->of[gzip->spans->n - 1];
        span->last = true;
        span->right = crc;
    }
    gzip->left_to_reader = false;
}

static int read_trailer(struct gzip *gzip, struct inq_err *err)
{
    const struct inq_deflated *deflated = gzip->input.deflated;
    if (deflated != NULL) {
        if (deflated->known) {
            verify(gzip, deflated->crc, (uint32_t)deflated->size);
        }
        gzip->state = AT_END;
        return INQ_OK;
    }
    unsigned char trailer[8] = {0};
    for (size_t i = unread_of_isal(gzip, trailer); i < 8; i++) {
        int byte = next_byte(gzip, err);
        if (byte < 0) {
            return end_at(gzip, byte, false);
        }
        trailer[i] = (unsigned char)byte;
    }
    uint64_t word = 0;
    for (int i = 7; i >= 0; i--) {
        word = word << 8 | trailer[i];
    }
    verify(gzip, (uint32_t)word, (uint32_t)(word >> 32));
    gzip->state = AT_HEADER;
    return INQ_OK;
}

/* Damage in the deflate data: ISA-L's finding is handed to zlib, zlib's counts. */
static int on_damage(struct gzip *gzip, enum inq_damage_kind kind, struct inq_err *err)
{
    if (gzip->with_isal) {
        if (gzip->left_to_reader) {
            gzip->spans->n--; /* it is summed anew, and here */
        }
        gzip->skip = gzip->member_out;
        seek_to(gzip, gzip->data_offset);
        return start_data(gzip, false, err);
    }
    note_damage(gzip, kind);
    bool last = kind == INQ_DAMAGE_TRUNCATED_GZIP || gzip->input.deflated != NULL;
    gzip->state = last ? AT_END : SEARCHING;
    return INQ_OK;
}

/* Accounts for `made` fresh bytes at `out`, dropping those already delivered. */
static size_t account(struct gzip *gzip, unsigned char *out, size_t made)
{
    if (gzip->left_to_reader) {
        gzip->spans->of[gzip->spans->n - 1].to += made;
    } else {
        gzip->crc = inq_gzip_sum(gzip->crc, out, made, !gzip->use_isal);
    }
    gzip->member_total += made;
    size_t drop = gzip->skip < made ? (size_t)gzip->skip : made;
    gzip->skip -= drop;
    if (drop > 0 && drop < made) {
        memmove(out, out + drop, made - drop);
    }
    gzip->member_out += made - drop;
    gzip->delivered += made - drop;
    return made - drop;
}

/* One call into the engine; *n gets the bytes put at `out`. */
static int inflate_some(struct gzip *gzip, unsigned char *out, size_t cap, size_t *n,
                        struct inq_err *err)
{
    int code = refill(gzip, err);
    if (code != INQ_OK) {
        return code;
    }
    size_t before = gzip->left;
    size_t made = 0;
#ifdef INQ_HAVE_ISAL
    enum step step =
        gzip->with_isal ? step_isal(gzip, out, cap, &made) : step_zlib(gzip, out, cap, &made);
#else
    enum step step = step_zlib(gzip, out, cap, &made);
#endif
    if (step == STEP_MORE && made == 0 && gzip->left == before) { /* no way on */
        step = gzip->left == 0 ? STEP_CUT : STEP_CORRUPT;
    }
    *n = account(gzip, out, made);
    switch (step) {
    case STEP_MORE:
        break;
    case STEP_FINISHED:
        gzip->state = AT_TRAILER;
        break;
    case STEP_CORRUPT:
        code = on_damage(gzip, INQ_DAMAGE_CORRUPT_GZIP, err);
        break;
    case STEP_CUT:
        code = on_damage(gzip, INQ_DAMAGE_TRUNCATED_GZIP, err);
        break;
    }
    return code;
}

static int read_gzip(void *state, unsigned char *out, size_t cap, size_t *n,
                     struct inq_spans *spans, struct inq_err *err)
{
    struct gzip *gzip = state;
    int code = INQ_OK;
    *n = 0;
    gzip->out = out;
    gzip->spans = spans;
    if (gzip->left_to_reader) {
        leave_to_reader(gzip, out);
    }
    while (code == INQ_OK && *n < cap && gzip->state != AT_END) {
        size_t got = 0;
        switch (gzip->state) {
        case AT_HEADER:
            code = read_header(gzip, err);
            break;
        case IN_DATA:
            if (!gzip->left_to_reader) {
                leave_to_reader(gzip, out + *n);
            }
            code = inflate_some(gzip, out + *n, cap - *n, &got, err);
            break;
        case AT_TRAILER:
            code = read_trailer(gzip, err);
            break;
        case SEARCHING:
            code = search(gzip, err);
            break;
        case AT_END:
            break;
        }
        *n += got;
    }
    return code;
}

/* ---- life ------------------------------------------------------------------------------------ */

static int open_gzip(const struct inq_codec_input *input, const unsigned char *head, size_t n,
                     void **state, struct inq_err *err)
{
    (void)head;
    (void)n;
    struct gzip *fresh = inq_mem_zalloc(1, sizeof *fresh);
    unsigned char *buffer = inq_mem_alloc(INPUT_SIZE);
    if (fresh == NULL || buffer == NULL) {
        inq_mem_free(fresh);
        inq_mem_free(buffer);
        return inq_err_set(err, INQ_NOMEM, "out of memory to decompress");
    }
    fresh->input = *input;
    fresh->buffer = buffer;
    fresh->next = buffer;
#ifdef INQ_HAVE_ISAL
    fresh->use_isal = !input->no_isal && input->seekable;
#endif
    *state = fresh;
    return INQ_OK;
}

static uint64_t consumed(const void *state)
{
    return ((const struct gzip *)state)->offset;
}

static const struct inq_damage *damage_of(const void *state)
{
    return &((const struct gzip *)state)->damage;
}

static void close_gzip(void *state)
{
    struct gzip *gzip = state;
    if (gzip->zlib_ready) {
        (void)inflateEnd(&gzip->zlib);
    }
#ifdef INQ_HAVE_ISAL
    inq_mem_free(gzip->isal);
#endif
    inq_mem_free(gzip->buffer);
    inq_mem_free(gzip);
}

const struct inq_codec inq_codec_gzip = {
    .recognize = recognize,
    .open = open_gzip,
    .read = read_gzip,
    .consumed = consumed,
    .damage = damage_of,
    .close = close_gzip,
};
