/* SPDX-License-Identifier: Apache-2.0 */
/* Every way of compressing gives the same bytes, alone, in several frames and on top of another,
 * and what is damaged costs what is damaged. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "ingest/source/source.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#ifdef INQ_HAVE_ZSTD
#include <zstd.h>
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

enum { PLAIN_SIZE = 300000, ROOM = 400000 };

static unsigned char plain[PLAIN_SIZE];

/* Text that compresses as traces do. */
static int make_plain(void **state)
{
    (void)state;
    uint64_t x = 88172645463325252;
    for (size_t i = 0; i < PLAIN_SIZE; i++) {
        if (i % 16 == 0) {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
        }
        char digit = (char)('0' + (x >> (4 * (i % 16)) & 7));
        plain[i] = (unsigned char)(i % 16 < 4 ? digit : "\"ts\": 17, \"dur\""[i % 16]);
    }
    return 0;
}

static size_t pack_gzip(const unsigned char *in, size_t n, unsigned char *out)
{
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (unsigned char *)(uintptr_t)in;
    z.avail_in = (uInt)n;
    z.next_out = out;
    z.avail_out = ROOM;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    assert_int_equal(deflateEnd(&z), Z_OK);
    return ROOM - z.avail_out;
}

#ifdef INQ_HAVE_ZSTD
static size_t pack_zstd(const unsigned char *in, size_t n, unsigned char *out)
{
    size_t made = ZSTD_compress(out, ROOM, in, n, 3);
    assert_int_equal(ZSTD_isError(made), 0);
    return made;
}
#endif

#ifdef INQ_HAVE_LZ4
static size_t pack_lz4(const unsigned char *in, size_t n, unsigned char *out)
{
    LZ4F_preferences_t how = {.frameInfo = {.contentChecksumFlag = LZ4F_contentChecksumEnabled}};
    size_t made = LZ4F_compressFrame(out, ROOM, in, n, &how);
    assert_int_equal(LZ4F_isError(made), 0);
    return made;
}
#endif

#ifdef INQ_HAVE_LZMA
static size_t pack_xz(const unsigned char *in, size_t n, unsigned char *out)
{
    size_t made = 0;
    assert_int_equal(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC32, NULL, in, n, out, &made, ROOM),
                     LZMA_OK);
    return made;
}
#endif

#ifdef INQ_HAVE_BZIP2
static size_t pack_bzip2(const unsigned char *in, size_t n, unsigned char *out)
{
    unsigned made = ROOM;
    assert_int_equal(
        BZ2_bzBuffToBuffCompress((char *)out, &made, (char *)(uintptr_t)in, (unsigned)n, 1, 0, 0),
        BZ_OK);
    return made;
}
#endif

typedef size_t pack(const unsigned char *in, size_t n, unsigned char *out);

static pack *const packs[] = {
    pack_gzip,
#ifdef INQ_HAVE_ZSTD
    pack_zstd,
#endif
#ifdef INQ_HAVE_LZ4
    pack_lz4,
#endif
#ifdef INQ_HAVE_LZMA
    pack_xz,
#endif
#ifdef INQ_HAVE_BZIP2
    pack_bzip2,
#endif
};
enum { N_PACKS = sizeof packs / sizeof packs[0] };

/* Decompresses into `out` of `room` bytes; bytes past those are only counted. */
static size_t unpack(const unsigned char *in, size_t n, size_t chunk, unsigned char *out,
                     size_t room, struct inq_damage *damage)
{
    struct inq_source_options options = {.chunk_size = chunk, .threaded = chunk == 0};
    struct inq_source *source = NULL;
    struct inq_err err = {0};
    assert_int_equal(inq_source_open_memory(in, n, &options, &source, &err), INQ_OK);
    size_t got = 0;
    const char *bytes = NULL;
    size_t m = 0;
    for (;;) {
        assert_int_equal(inq_source_next(source, &bytes, &m, &err), INQ_OK);
        if (m == 0) {
            break;
        }
        if (got < room) {
            memcpy(out + got, bytes, m < room - got ? m : room - got);
        }
        got += m;
    }
    *damage = *inq_source_damage(source);
    inq_source_close(source);
    return got;
}

static unsigned char packed[2 * ROOM + 64];
static unsigned char twice[ROOM];
static unsigned char out[2 * ROOM];

static void codec__any_gives_the_bytes_back(void **state)
{
    (void)state;
    static const size_t chunks[] = {0, 1, 997, 1 << 20};
    for (size_t k = 0; k < N_PACKS; k++) {
        size_t n = packs[k](plain, PLAIN_SIZE, packed);
        for (size_t c = 0; c < sizeof chunks / sizeof *chunks; c++) {
            struct inq_damage damage;
            assert_int_equal(unpack(packed, n, chunks[c], out, sizeof out, &damage), PLAIN_SIZE);
            assert_memory_equal(out, plain, PLAIN_SIZE);
            assert_int_equal(inq_damage_total(&damage), 0);
        }
    }
}

static void codec__frames_and_zeros_may_follow(void **state)
{
    (void)state;
    for (size_t k = 0; k < N_PACKS; k++) {
        size_t n = packs[k](plain, 100000, packed);
        memset(packed + n, 0, 8);
        n += 8;
        n += packs[k](plain + 100000, 1, packed + n); /* a very short one */
        n += packs[k](plain + 100001, 0, packed + n);
        n += packs[k](plain + 100001, PLAIN_SIZE - 100001, packed + n);
        struct inq_damage damage;
        assert_int_equal(unpack(packed, n, 4096, out, sizeof out, &damage), PLAIN_SIZE);
        assert_memory_equal(out, plain, PLAIN_SIZE);
        assert_int_equal(inq_damage_total(&damage), 0);
    }
}

static void codec__on_top_of_another(void **state)
{
    (void)state;
    for (size_t k = 0; k < N_PACKS; k++) {
        for (size_t j = 0; j < N_PACKS; j++) {
            size_t n = packs[k](plain, PLAIN_SIZE, packed);
            n = packs[j](packed, n, twice);
            struct inq_damage damage;
            assert_int_equal(unpack(twice, n, 5000, out, sizeof out, &damage), PLAIN_SIZE);
            assert_memory_equal(out, plain, PLAIN_SIZE);
            assert_int_equal(inq_damage_total(&damage), 0);
        }
    }
}

/* Whatever is cut off, what comes out is the beginning, and the cut is counted. */
static void codec__cut_short_keeps_the_beginning(void **state)
{
    (void)state;
    for (size_t k = 0; k < N_PACKS; k++) {
        size_t n = packs[k](plain, PLAIN_SIZE, packed);
        size_t most = 0;
        for (size_t cut = 20; cut < n; cut += n / 40) {
            struct inq_damage damage;
            size_t got = unpack(packed, cut, 4096, out, sizeof out, &damage);
            assert_true(got >= most && got <= PLAIN_SIZE);
            assert_memory_equal(out, plain, got);
            assert_int_equal(damage.count[INQ_DAMAGE_TRUNCATED_GZIP], 1);
            assert_int_equal(inq_damage_total(&damage), 1);
            most = got;
        }
        assert_true(most > 0);
    }
}

static void codec__corrupt_frame_costs_itself(void **state)
{
    (void)state;
    for (size_t k = 0; k < N_PACKS; k++) {
        size_t first = packs[k](plain, PLAIN_SIZE / 2, packed);
        for (size_t i = first / 2; i < first / 2 + 24; i++) {
            packed[i] ^= 0xff;
        }
        size_t n = first + packs[k](plain + PLAIN_SIZE / 2, PLAIN_SIZE / 2, packed + first);
        struct inq_damage damage;
        size_t got = unpack(packed, n, 4096, out, sizeof out, &damage);
        assert_true(damage.count[INQ_DAMAGE_CORRUPT_GZIP] >= 1);
        assert_true(got >= PLAIN_SIZE / 2);
        assert_memory_equal(out + got - PLAIN_SIZE / 2, plain + PLAIN_SIZE / 2, PLAIN_SIZE / 2);
    }
}

static void codec__text_that_looks_like_one_is_text(void **state)
{
    (void)state;
    static const char text[] = "BZh9 is how bzip2 begins, and this line of a log as well\n";
    struct inq_damage damage;
    assert_int_equal(unpack((const unsigned char *)text, sizeof text, 0, out, sizeof out, &damage),
                     sizeof text);
    assert_memory_equal(out, text, sizeof text);
    assert_int_equal(inq_damage_total(&damage), 0);
}

#ifdef INQ_HAVE_ZSTD
/* A frame of `blocks` blocks that say "128 KiB of zeros" in four bytes each. */
static size_t make_bomb(unsigned char *bomb, size_t blocks)
{
    memcpy(bomb, "\x28\xb5\x2f\xfd\x00\x38", 6); /* a window of 128 KiB, no size, no checksum */
    size_t n = 6;
    for (size_t i = 0; i < blocks; i++) {
        uint32_t head = (uint32_t)(128 << 10) << 3 | 1U << 1 | (i + 1 == blocks ? 1U : 0U);
        bomb[n++] = (unsigned char)head;
        bomb[n++] = (unsigned char)(head >> 8);
        bomb[n++] = (unsigned char)(head >> 16);
        bomb[n++] = 0;
    }
    return n;
}

static void codec__bombs_are_ended(void **state)
{
    (void)state;
    const size_t always = (size_t)256 << 20;
    struct inq_damage damage;
    /* as much as is always allowed, and not a block more than what the ratio allows on top */
    size_t n = make_bomb(packed, always >> 17);
    assert_int_equal(unpack(packed, n, 1 << 20, out, 0, &damage), always);
    assert_int_equal(inq_damage_total(&damage), 0);
    n = make_bomb(packed, (always >> 17) * 2);
    size_t got = unpack(packed, n, 1 << 20, out, 0, &damage);
    assert_true(got > always && got < always + 4096 * (n + 1) + (1 << 20));
    assert_int_equal(damage.count[INQ_DAMAGE_LIMIT], 1);
}
#endif

/* What a source of these bytes delivers, as a string. */
static const char *deliver(const char *bytes, size_t n, size_t chunk_size)
{
    static char all[64];
    struct inq_source *source = NULL;
    struct inq_err err = {0};
    const struct inq_source_options options = {.chunk_size = chunk_size};
    const char *chunk = NULL;
    size_t got = 0;
    size_t len = 0;
    assert_int_equal(inq_source_open_memory(bytes, n, &options, &source, &err), INQ_OK);
    while (inq_source_next(source, &chunk, &got, &err) == INQ_OK && got > 0) {
        assert_true(len + got < sizeof all);
        memcpy(all + len, chunk, got);
        len += got;
    }
    all[len] = '\0';
    inq_source_close(source);
    return all;
}

static void codec__utf16_becomes_utf8(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t n;
        const char *text;
    } rows[] = {
        {"\xff\xfe"
         "s\0t\0e\0p\0",
         10, "step"},
        {"\xfe\xff\0s\0t\0e\0p", 10, "step"},
        {"s\0t\0e\0p\0", 8, "step"}, /* the least that is clear without a mark */
        {"\0s\0t\0e\0p", 8, "step"},
        {"\xff\xfe\xe9\0\xac\x20\x3d\xd8\x00\xde", 10, "\u00e9\u20ac\U0001f600"},
        {"\xff\xfe\x3d\xd8"
         "a\0",
         6,
         "\ufffd"
         "a"}, /* half a pair */
        {"\xff\xfe\x00\xde"
         "a\0",
         6,
         "\ufffd"
         "a"}, /* the other half */
        {"\xff\xfe"
         "a\0b",
         5, "a\ufffd"}, /* half a unit */
        {"\xff\xfe"
         "a\0\x3d\xd8",
         6, "a\ufffd"}, /* half a pair at the end */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_string_equal(deliver(rows[i].bytes, rows[i].n, 0), rows[i].text);
        assert_string_equal(deliver(rows[i].bytes, rows[i].n, 1), rows[i].text);
    }
}

static void codec__little_or_mixed_is_no_utf16(void **state)
{
    (void)state;
    assert_memory_equal(deliver("s\0t\0e\0", 6, 0), "s\0t\0e\0", 6);
    assert_memory_equal(deliver("s\0t\0e\1p\0", 8, 0), "s\0t\0e\1p\0", 8);
    assert_memory_equal(deliver("s\0t\0e\0\1\0", 8, 0), "s\0t\0e\0\1\0", 8);
    assert_memory_equal(deliver("\xff\xfe\0\0s\0\0\0", 8, 0), "\xff\xfe\0\0s\0\0\0",
                        8); /* UTF-32 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codec__any_gives_the_bytes_back),
        cmocka_unit_test(codec__frames_and_zeros_may_follow),
        cmocka_unit_test(codec__on_top_of_another),
        cmocka_unit_test(codec__cut_short_keeps_the_beginning),
        cmocka_unit_test(codec__corrupt_frame_costs_itself),
        cmocka_unit_test(codec__text_that_looks_like_one_is_text),
        cmocka_unit_test(codec__utf16_becomes_utf8),
        cmocka_unit_test(codec__little_or_mixed_is_no_utf16),
#ifdef INQ_HAVE_ZSTD
        cmocka_unit_test(codec__bombs_are_ended),
#endif
    };
    return cmocka_run_group_tests(tests, make_plain, NULL);
}
