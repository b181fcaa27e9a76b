/* SPDX-License-Identifier: Apache-2.0 */
/* Sources deliver the same bytes whatever the compression, the engine, the chunk size and the
 * thread, and count what was lost the same way. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "ingest/source/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

struct bytes {
    unsigned char *p;
    size_t n;
};

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Text that compresses as traces do: repeated phrases with numbers. */
static struct bytes make_text(size_t n, uint64_t seed)
{
    struct bytes text = {malloc(n + 128), 0};
    assert_non_null(text.p);
    while (text.n < n) {
        text.n += (size_t)snprintf(
            (char *)text.p + text.n, 128, "{\"name\": \"kernel_%u\", \"ts\": %llu},\n",
            (unsigned)(next_random(&seed) % 50), (unsigned long long)next_random(&seed));
    }
    text.n = n;
    return text;
}

static struct bytes compress_gzip(struct bytes plain, int level)
{
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    size_t cap = deflateBound(&z, plain.n) + 64;
    struct bytes out = {malloc(cap), 0};
    assert_non_null(out.p);
    z.next_in = plain.p;
    z.avail_in = (uInt)plain.n;
    z.next_out = out.p;
    z.avail_out = (uInt)cap;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    out.n = cap - z.avail_out;
    assert_int_equal(deflateEnd(&z), Z_OK);
    return out;
}

static struct bytes join(struct bytes a, struct bytes b)
{
    struct bytes out = {malloc(a.n + b.n + 1), a.n + b.n};
    assert_non_null(out.p);
    memcpy(out.p, a.p, a.n);
    memcpy(out.p + a.n, b.p, b.n);
    return out;
}

static struct bytes read_all(struct inq_source *source, struct inq_damage *damage)
{
    struct bytes out = {malloc(1), 0};
    size_t cap = 1;
    for (;;) {
        const char *chunk = NULL;
        size_t n = 0;
        struct inq_err err = {0};
        assert_int_equal(inq_source_next(source, &chunk, &n, &err), INQ_OK);
        if (n == 0) {
            break;
        }
        if (out.n + n > cap) {
            cap = (out.n + n) * 2;
            out.p = realloc(out.p, cap);
            assert_non_null(out.p);
        }
        memcpy(out.p + out.n, chunk, n);
        out.n += n;
    }
    assert_int_equal(inq_source_delivered(source), out.n);
    *damage = *inq_source_damage(source);
    return out;
}

static struct bytes read_memory(struct bytes input, struct inq_source_options options,
                                struct inq_damage *damage)
{
    struct inq_source *source = NULL;
    struct inq_err err = {0};
    assert_int_equal(inq_source_open_memory(input.p, input.n, &options, &source, &err), INQ_OK);
    struct bytes out = read_all(source, damage);
    inq_source_close(source);
    return out;
}

static void assert_same(struct bytes a, struct bytes b)
{
    assert_int_equal(a.n, b.n);
    assert_memory_equal(a.p, b.p, b.n);
}

static void assert_undamaged(const struct inq_damage *damage)
{
    for (int kind = 0; kind < INQ_DAMAGE_KIND_COUNT; kind++) {
        assert_int_equal(damage->count[kind], 0);
    }
}

static const size_t chunk_sizes[] = {0, 1, 7, 1000, 70000};

/* Reads `input` in every way there is; all must give `expected` and the same damage. */
static void assert_reads_as(struct bytes input, struct bytes expected, struct inq_damage *damage)
{
    bool first = true;
    for (int way = 0; way < 4 * 5; way++) {
        struct inq_source_options options = {.threaded = (way & 1) != 0,
                                             .no_isal = (way & 2) != 0,
                                             .chunk_size = chunk_sizes[way / 4]};
        if (options.threaded && options.chunk_size == 1 && input.n > 3000) {
            continue; /* a hand-over per byte is slow */
        }
        struct inq_damage found;
        struct bytes out = read_memory(input, options, &found);
        assert_same(out, expected);
        free(out.p);
        if (first) {
            *damage = found;
        }
        assert_memory_equal(&found, damage, sizeof found);
        first = false;
    }
}

static void source__plain_and_gzip_give_the_same_bytes(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 17, 65536, 65537, 300000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct bytes plain = make_text(sizes[i], 1 + i);
        struct bytes packed = compress_gzip(plain, 6);
        struct inq_damage damage;
        assert_reads_as(plain, plain, &damage);
        assert_undamaged(&damage);
        assert_reads_as(packed, plain, &damage);
        assert_undamaged(&damage);
        free(plain.p);
        free(packed.p);
    }
}

static void source__stored_and_best_compression(void **state)
{
    (void)state;
    struct bytes plain = make_text(200000, 3);
    for (int level = 0; level <= 9; level += 9) {
        struct bytes packed = compress_gzip(plain, level);
        struct inq_damage damage;
        assert_reads_as(packed, plain, &damage);
        assert_undamaged(&damage);
        free(packed.p);
    }
    free(plain.p);
}

static void source__concatenated_members(void **state)
{
    (void)state;
    struct bytes a = make_text(100000, 5);
    struct bytes b = make_text(3, 6);
    struct bytes c = make_text(90000, 7);
    struct bytes ga = compress_gzip(a, 6);
    struct bytes gb = compress_gzip(b, 1);
    struct bytes gc = compress_gzip(c, 9);
    struct bytes ab = join(a, b);
    struct bytes abc = join(ab, c);
    struct bytes gab = join(ga, gb);
    struct bytes gabc = join(gab, gc);
    struct inq_damage damage;
    assert_reads_as(gabc, abc, &damage);
    assert_undamaged(&damage);
    struct bytes zeros = {calloc(1, 512), 512};
    struct bytes padded = join(gabc, zeros);
    assert_reads_as(padded, abc, &damage);
    assert_undamaged(&damage);
    struct bytes *all[] = {&a, &b, &c, &ga, &gb, &gc, &ab, &abc, &gab, &gabc, &zeros, &padded};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        free(all[i]->p);
    }
}

static void source__header_fields(void **state)
{
    (void)state;
    struct bytes plain = make_text(1000, 8);
    struct bytes packed = compress_gzip(plain, 6);
    struct bytes full = {malloc(packed.n + 64), 0};
    memcpy(full.p, packed.p, 10);
    full.p[3] = 2 | 4 | 8 | 16;
    static const char fields[] = "\x05\x00"
                                 "extra"
                                 "trace.json\0"
                                 "a comment\0"
                                 "\x12\x34";
    memcpy(full.p + 10, fields, sizeof fields - 1);
    memcpy(full.p + 10 + sizeof fields - 1, packed.p + 10, packed.n - 10);
    full.n = packed.n + sizeof fields - 1;
    struct inq_damage damage;
    assert_reads_as(full, plain, &damage);
    assert_undamaged(&damage);
    full.n = 20; /* cut in the header */
    struct bytes nothing = {plain.p, 0};
    assert_reads_as(full, nothing, &damage);
    assert_int_equal(damage.count[INQ_DAMAGE_TRUNCATED_GZIP], 1);
    free(full.p);
    free(plain.p);
    free(packed.p);
}

/* Every way gives the same prefix of the text and one count of what happened. */
static void check_damaged(struct bytes input, struct bytes plain, bool cut)
{
    struct inq_damage first_damage;
    struct bytes first =
        read_memory(input, (struct inq_source_options){.no_isal = true}, &first_damage);
    if (cut) {
        assert_true(first.n <= plain.n);
        assert_memory_equal(first.p, plain.p, first.n);
        assert_int_equal(first_damage.count[INQ_DAMAGE_TRUNCATED_GZIP], 1);
        assert_int_equal(first_damage.count[INQ_DAMAGE_CORRUPT_GZIP], 0);
    }
    struct inq_damage damage;
    struct bytes other = read_memory(
        input, (struct inq_source_options){.threaded = true, .chunk_size = 4096}, &damage);
    assert_same(other, first);
    assert_memory_equal(&damage, &first_damage, sizeof damage);
    free(first.p);
    free(other.p);
}

static void source__a_cut_stream_gives_what_is_there(void **state)
{
    (void)state;
    struct bytes plain = make_text(150000, 9);
    struct bytes packed = compress_gzip(plain, 6);
    uint64_t seed = 42;
    for (int i = 0; i < 200; i++) {
        struct bytes cut = {packed.p, 1 + next_random(&seed) % (packed.n - 1)};
        if (cut.n >= 3) {
            check_damaged(cut, plain, true);
        }
    }
    for (size_t left = 1; left <= 9; left++) { /* in the trailer: nothing of the text is lost */
        struct bytes cut = {packed.p, packed.n - left};
        check_damaged(cut, plain, true);
    }
    free(plain.p);
    free(packed.p);
}

static void source__a_flipped_byte_is_the_same_for_both_engines(void **state)
{
    (void)state;
    struct bytes plain = make_text(60000, 10);
    struct bytes packed = compress_gzip(plain, 6);
    uint64_t seed = 77;
    for (int i = 0; i < 400; i++) {
        size_t at = 4 + next_random(&seed) % (packed.n - 4);
        unsigned char old = packed.p[at];
        packed.p[at] ^= (unsigned char)(1 + next_random(&seed) % 255);
        check_damaged(packed, plain, false);
        packed.p[at] = old;
    }
    free(plain.p);
    free(packed.p);
}

static void source__finds_the_member_after_a_corrupt_one(void **state)
{
    (void)state;
    struct bytes a = make_text(80000, 11);
    struct bytes b = make_text(5000, 12);
    struct bytes ga = compress_gzip(a, 6);
    struct bytes gb = compress_gzip(b, 6);
    memset(ga.p + ga.n / 2, 0xff, 16);
    struct bytes both = join(ga, gb);
    struct inq_damage damage;
    struct bytes out = read_memory(both, (struct inq_source_options){0}, &damage);
    assert_true(out.n > b.n);
    assert_memory_equal(out.p + out.n - b.n, b.p, b.n);
    assert_true(damage.count[INQ_DAMAGE_CORRUPT_GZIP] >= 1);
    struct bytes *all[] = {&a, &b, &ga, &gb, &both, &out};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        free(all[i]->p);
    }
}

static void source__garbage_behind_the_stream_is_counted(void **state)
{
    (void)state;
    struct bytes plain = make_text(1000, 13);
    struct bytes packed = compress_gzip(plain, 6);
    struct bytes garbage = {malloc(16), 16};
    memcpy(garbage.p, "not a gzip file!", 16);
    struct bytes both = join(packed, garbage);
    struct inq_damage damage;
    assert_reads_as(both, plain, &damage);
    assert_int_equal(damage.count[INQ_DAMAGE_CORRUPT_GZIP], 1);
    assert_int_equal(damage.first_offset[INQ_DAMAGE_CORRUPT_GZIP], plain.n);
    free(plain.p);
    free(packed.p);
    free(garbage.p);
    free(both.p);
}

static void source__a_wrong_checksum_is_counted_and_the_text_kept(void **state)
{
    (void)state;
    struct bytes plain = make_text(5000, 14);
    struct bytes packed = compress_gzip(plain, 6);
    packed.p[packed.n - 6] ^= 1;
    struct inq_damage damage;
    assert_reads_as(packed, plain, &damage);
    assert_int_equal(damage.count[INQ_DAMAGE_CORRUPT_GZIP], 1);
    free(plain.p);
    free(packed.p);
}

/* More of them in a chunk than the consumer checks, and fewer. */
static void source__each_of_many_members_is_checked(void **state)
{
    (void)state;
    enum { MEMBERS = 14 };
    struct bytes plain = {malloc(1), 0};
    struct bytes packed = {malloc(1), 0};
    size_t end[MEMBERS], packed_end[MEMBERS];
    for (size_t i = 0; i < MEMBERS; i++) {
        struct bytes text = make_text(i % 5 * 97, 20 + i); /* some are empty */
        struct bytes member = compress_gzip(text, 6);
        struct bytes more = join(plain, text);
        struct bytes packed_more = join(packed, member);
        struct bytes *gone[] = {&text, &member, &plain, &packed};
        for (size_t k = 0; k < sizeof gone / sizeof gone[0]; k++) {
            free(gone[k]->p);
        }
        plain = more;
        packed = packed_more;
        end[i] = plain.n;
        packed_end[i] = packed.n;
    }
    for (size_t i = 0; i < MEMBERS; i++) {
        struct inq_damage damage;
        packed.p[packed_end[i] - 7] ^= 0x10;
        assert_reads_as(packed, plain, &damage);
        assert_int_equal(damage.count[INQ_DAMAGE_CORRUPT_GZIP], 1);
        assert_int_equal(damage.first_offset[INQ_DAMAGE_CORRUPT_GZIP], end[i]);
        packed.p[packed_end[i] - 7] ^= 0x10;
    }
    struct inq_damage damage;
    packed.p[packed_end[1] - 7] ^= 1;
    packed.p[packed_end[MEMBERS - 2] - 7] ^= 1;
    assert_reads_as(packed, plain, &damage);
    assert_int_equal(damage.count[INQ_DAMAGE_CORRUPT_GZIP], 2);
    assert_int_equal(damage.first_offset[INQ_DAMAGE_CORRUPT_GZIP], end[1]);
    free(plain.p);
    free(packed.p);
}

static void source__peek_shows_the_start_and_takes_nothing(void **state)
{
    (void)state;
    struct bytes plain = make_text(200000, 15);
    struct bytes packed = compress_gzip(plain, 6);
    for (size_t i = 0; i < sizeof chunk_sizes / sizeof chunk_sizes[0]; i++) {
        struct inq_source_options options = {.chunk_size = chunk_sizes[i]};
        struct inq_source *source = NULL;
        assert_int_equal(inq_source_open_memory(packed.p, packed.n, &options, &source, NULL),
                         INQ_OK);
        assert_true(inq_source_compressed(source));
        uint64_t size_bytes = 0;
        assert_false(inq_source_is_file(source, &size_bytes));
        assert_int_equal(size_bytes, packed.n);
        for (int again = 0; again < 2; again++) {
            const char *head = NULL;
            size_t n = 0;
            assert_int_equal(inq_source_peek(source, &head, &n, NULL), INQ_OK);
            assert_int_equal(n, 65536);
            assert_memory_equal(head, plain.p, n);
        }
        struct inq_damage damage;
        struct bytes out = read_all(source, &damage);
        assert_same(out, plain);
        free(out.p);
        assert_int_equal(inq_source_consumed(source), packed.n);
        inq_source_close(source);
    }
    free(plain.p);
    free(packed.p);
}

/* However far ahead the thread is that decompresses. */
static void source__consumed_is_of_what_was_delivered(void **state)
{
    (void)state;
    enum { SIZE = 2000000, CHUNK = 40960 };
    struct bytes plain = make_text(SIZE, 15);
    struct bytes packed = compress_gzip(plain, 6);
    for (int way = 0; way < 4; way++) {
        struct bytes input = way / 2 == 0 ? plain : packed;
        struct inq_source_options options = {.chunk_size = CHUNK, .threaded = way % 2 == 1};
        struct inq_source *source = NULL;
        assert_int_equal(inq_source_open_memory(input.p, input.n, &options, &source, NULL), INQ_OK);
        assert_int_equal(inq_source_consumed(source), 0);
        const char *bytes = NULL;
        size_t n = 0;
        do {
            assert_int_equal(inq_source_next(source, &bytes, &n, NULL), INQ_OK);
            if (options.threaded) {
                (void)usleep(1000); /* for it to fill its 12 chunks, of 49 */
            }
            double delivered = (double)inq_source_delivered(source) / SIZE;
            double consumed = (double)inq_source_consumed(source) / (double)input.n;
            /* ISA-L is up to 32 KiB of text ahead of what it gives, a sixtieth of all */
            assert_float_equal(consumed, delivered, 0.02);
        } while (n > 0);
        inq_source_close(source);
    }
    free(plain.p);
    free(packed.p);
}

static void source__room_around_a_chunk_is_the_consumers(void **state)
{
    (void)state;
    struct bytes plain = make_text(900000, 16);
    struct bytes packed = compress_gzip(plain, 6);
    struct inq_source_options options = {.threaded = true, .chunk_size = 10000};
    struct inq_source *source = NULL;
    assert_int_equal(inq_source_open_memory(packed.p, packed.n, &options, &source, NULL), INQ_OK);
    size_t at = 0;
    for (;;) {
        char *chunk = NULL;
        size_t n = 0;
        const void *note = NULL;
        assert_int_equal(inq_source_take(source, &chunk, &n, &note, NULL), INQ_OK);
        if (n == 0) {
            break;
        }
        assert_memory_equal(chunk, plain.p + at, n);
        memset(chunk - INQ_SOURCE_HEADROOM, '#', INQ_SOURCE_HEADROOM);
        unsigned sum = 0;
        for (size_t i = 0; i < INQ_SOURCE_PADDING; i++) {
            sum += (unsigned char)chunk[n + i]; /* a sanitizer sees if it is not ours */
        }
        assert_true(sum < 256 * INQ_SOURCE_PADDING);
        at += n;
    }
    assert_int_equal(at, plain.n);
    inq_source_close(source);
    free(plain.p);
    free(packed.p);
}

static void source__may_be_closed_early(void **state)
{
    (void)state;
    struct bytes plain = make_text(2000000, 17);
    struct bytes packed = compress_gzip(plain, 1);
    for (int taken = 0; taken < 4; taken++) {
        struct inq_source_options options = {.threaded = true, .chunk_size = 4096};
        struct inq_source *source = NULL;
        assert_int_equal(inq_source_open_memory(packed.p, packed.n, &options, &source, NULL),
                         INQ_OK);
        for (int i = 0; i < taken; i++) {
            const char *chunk = NULL;
            size_t n = 0;
            assert_int_equal(inq_source_next(source, &chunk, &n, NULL), INQ_OK);
            assert_true(n > 0);
        }
        inq_source_close(source);
    }
    free(plain.p);
    free(packed.p);
}

/* Of a chunk: its size, and its first and last byte. */
struct noted {
    size_t n;
    unsigned char first, last;
};

static void note_ends(const char *bytes, size_t n, void *note)
{
    *(struct noted *)note = (struct noted){n, (unsigned char)bytes[0], (unsigned char)bytes[n - 1]};
}

/* Reads all, with work from the second chunk on; returns the chunks with a note. */
static size_t read_noted(struct bytes input, struct bytes expected, bool threaded)
{
    struct inq_source_options options = {.threaded = threaded, .chunk_size = 4096};
    struct inq_source *source = NULL;
    size_t n_noted = 0;
    size_t at = 0;
    assert_int_equal(inq_source_open_memory(input.p, input.n, &options, &source, NULL), INQ_OK);
    for (int i = 0;; i++) {
        char *chunk = NULL;
        size_t n = 0;
        const void *note = NULL;
        assert_int_equal(inq_source_take(source, &chunk, &n, &note, NULL), INQ_OK);
        const struct noted *noted = note;
        if (n == 0) {
            assert_null(noted);
            break;
        }
        assert_memory_equal(chunk, expected.p + at, n);
        at += n;
        if (noted != NULL) {
            assert_int_equal(noted->n, n);
            assert_int_equal(noted->first, expected.p[at - n]);
            assert_int_equal(noted->last, expected.p[at - 1]);
            n_noted++;
        }
        if (i == 1) {
            assert_int_equal(inq_source_work_ahead(source, note_ends, sizeof(struct noted), NULL),
                             INQ_OK);
        }
    }
    assert_int_equal(at, expected.n);
    inq_source_close(source);
    return n_noted;
}

/* Whoever fills a chunk, its note is the one that is had with it. */
static void source__work_ahead_is_had_with_its_chunk(void **state)
{
    (void)state;
    struct bytes plain = make_text(1000000, 20);
    struct bytes packed = compress_gzip(plain, 1);
    assert_int_equal(read_noted(plain, plain, false), 0);
    assert_true(read_noted(plain, plain, true) > 200); /* of 245; some were full before */
    assert_true(read_noted(packed, plain, true) > 200);
    free(plain.p);
    free(packed.p);
}

static int tick_with(void *ctx, struct inq_err *err)
{
    int *calls = ctx;
    if (++*calls < 4) {
        return INQ_OK;
    }
    return *calls < 100 ? INQ_LIMIT : inq_err_set(err, INQ_CANCELLED, "enough");
}

static void source__its_owner_can_end_it(void **state)
{
    (void)state;
    struct bytes plain = make_text(100000, 18);
    int calls = 0;
    struct inq_source_options options = {.chunk_size = 1000, .tick = tick_with, .tick_ctx = &calls};
    struct inq_damage damage;
    struct bytes out = read_memory(plain, options, &damage);
    assert_int_equal(out.n, 3000);
    assert_int_equal(damage.count[INQ_DAMAGE_LIMIT], 1);
    assert_int_equal(damage.first_offset[INQ_DAMAGE_LIMIT], 3000);
    free(out.p);

    calls = 100;
    struct inq_source *source = NULL;
    assert_int_equal(inq_source_open_memory(plain.p, plain.n, &options, &source, NULL), INQ_OK);
    const char *chunk = NULL;
    size_t n = 0;
    struct inq_err err = {0};
    assert_int_equal(inq_source_next(source, &chunk, &n, &err), INQ_CANCELLED);
    assert_string_equal(err.message, "enough");
    inq_source_close(source);
    free(plain.p);
}

static void write_file(struct bytes bytes, char *path)
{
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes.p, bytes.n), bytes.n);
    assert_int_equal(close(fd), 0);
}

/* Long enough to be read ahead in several stretches; damage leads back to one that is gone. */
static void source__a_long_file_is_read_ahead(void **state)
{
    (void)state;
    struct bytes plain = make_text(8000000, 18);
    struct bytes packed = compress_gzip(plain, 1);
    assert_true(packed.n > (size_t)1 << 20);
    for (int damaged = 0; damaged < 2; damaged++) {
        struct inq_damage expected_damage;
        struct bytes expected =
            read_memory(packed, (struct inq_source_options){0}, &expected_damage);
        size_t at = packed.n / 8 * 7;
        while (damaged && expected.n >= plain.n) { /* not every byte makes the rest unreadable */
            packed.p[at++] ^= 0x55;
            free(expected.p);
            expected = read_memory(packed, (struct inq_source_options){0}, &expected_damage);
        }
        assert_int_equal(expected_damage.count[INQ_DAMAGE_CORRUPT_GZIP] > 0, damaged);
        char path[] = "test_source_XXXXXX";
        write_file(packed, path);
        for (int way = 0; way < 4; way++) {
            struct inq_source_options options = {
                .threaded = true, .no_isal = (way & 1) != 0, .chunk_size = way & 2 ? 20000 : 0};
            struct inq_source *source = NULL;
            struct inq_err err = {0};
            assert_int_equal(inq_source_open(path, &options, &source, &err), INQ_OK);
            struct inq_damage damage;
            struct bytes out = read_all(source, &damage);
            assert_same(out, expected);
            assert_memory_equal(&damage, &expected_damage, sizeof damage);
            free(out.p);
            inq_source_close(source);
        }
        assert_int_equal(unlink(path), 0);
        free(expected.p);
    }
    free(plain.p);
    free(packed.p);
}

static void source__files_read_as_memory_does(void **state)
{
    (void)state;
    struct bytes plain = make_text(700000, 19);
    struct bytes packed = compress_gzip(plain, 6);
    char path[] = "test_source_XXXXXX";
    write_file(packed, path);
    for (int threaded = 0; threaded < 2; threaded++) {
        struct inq_source_options options = {.threaded = threaded != 0};
        struct inq_source *source = NULL;
        struct inq_err err = {0};
        assert_int_equal(inq_source_open(path, &options, &source, &err), INQ_OK);
        assert_string_equal(inq_source_path(source), path);
        struct inq_damage damage;
        struct bytes out = read_all(source, &damage);
        assert_same(out, plain);
        assert_undamaged(&damage);
        free(out.p);
        inq_source_close(source);
    }
    assert_int_equal(unlink(path), 0);
    struct inq_source *none = NULL;
    struct inq_err err = {0};
    assert_int_equal(inq_source_open(path, NULL, &none, &err), INQ_NOT_FOUND);
    assert_null(none);
    assert_string_equal(err.path, path);
    struct inq_err folder = {0};
    assert_int_equal(inq_source_open(".", NULL, &none, &folder), INQ_IO);
    inq_source_close(NULL);
    free(plain.p);
    free(packed.p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(source__plain_and_gzip_give_the_same_bytes),
        cmocka_unit_test(source__stored_and_best_compression),
        cmocka_unit_test(source__concatenated_members),
        cmocka_unit_test(source__header_fields),
        cmocka_unit_test(source__a_cut_stream_gives_what_is_there),
        cmocka_unit_test(source__a_flipped_byte_is_the_same_for_both_engines),
        cmocka_unit_test(source__finds_the_member_after_a_corrupt_one),
        cmocka_unit_test(source__garbage_behind_the_stream_is_counted),
        cmocka_unit_test(source__a_wrong_checksum_is_counted_and_the_text_kept),
        cmocka_unit_test(source__each_of_many_members_is_checked),
        cmocka_unit_test(source__peek_shows_the_start_and_takes_nothing),
        cmocka_unit_test(source__consumed_is_of_what_was_delivered),
        cmocka_unit_test(source__room_around_a_chunk_is_the_consumers),
        cmocka_unit_test(source__may_be_closed_early),
        cmocka_unit_test(source__work_ahead_is_had_with_its_chunk),
        cmocka_unit_test(source__its_owner_can_end_it),
        cmocka_unit_test(source__a_long_file_is_read_ahead),
        cmocka_unit_test(source__files_read_as_memory_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
