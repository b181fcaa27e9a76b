/* SPDX-License-Identifier: Apache-2.0 */
/* Archives are walked like folders: every member is found and gives its bytes, and damage costs
 * what is damaged. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/mem.h"
#include "ingest/archive/archive.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { ROOM = 1 << 16, BLOCK = 512 };

struct bytes {
    unsigned char p[ROOM];
    size_t n;
};

static void put(struct bytes *to, const void *p, size_t n)
{
    assert_true(to->n + n <= ROOM);
    memcpy(to->p + to->n, p, n);
    to->n += n;
}

static void put_number(struct bytes *to, uint64_t value, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        put(to, &(unsigned char){(unsigned char)(value >> (8 * i))}, 1);
    }
}

/* A member of a tar, its text padded to whole blocks. */
static void put_tar(struct bytes *tar, const char *prefix, const char *name, char type,
                    const char *text)
{
    char block[BLOCK] = {0};
    size_t n = strlen(text);
    (void)snprintf(block, 100, "%s", name);
    (void)snprintf(block + 100, 8, "%07o", 0644U);
    (void)snprintf(block + 124, 12, "%07o", (unsigned)n);
    block[156] = type;
    memcpy(block + 257, "ustar\00000", 8);
    (void)snprintf(block + 345, 155, "%s", prefix);
    memset(block + 148, ' ', 8);
    unsigned sum = 0;
    for (size_t i = 0; i < BLOCK; i++) {
        sum += (unsigned char)block[i];
    }
    (void)snprintf(block + 148, 8, "%06o", sum);
    put(tar, block, BLOCK);
    put(tar, text, n);
    static const char zeros[BLOCK];
    put(tar, zeros, (BLOCK - n % BLOCK) % BLOCK);
}

static void end_tar(struct bytes *tar)
{
    static const char zeros[2 * BLOCK];
    put(tar, zeros, sizeof zeros);
}

/* A member's own header and data, and what the directory at the end says of it. */
static void put_zip(struct bytes *zip, struct bytes *directory, const char *name, const char *text,
                    bool deflated, bool sizes_follow)
{
    unsigned char data[ROOM];
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (unsigned char *)(uintptr_t)text;
    z.avail_in = (uInt)strlen(text);
    z.next_out = data;
    z.avail_out = ROOM;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    size_t packed = deflated ? ROOM - z.avail_out : strlen(text);
    (void)deflateEnd(&z);
    uint64_t crc = crc32(0, (const unsigned char *)text, (uInt)strlen(text));
    uint64_t local = zip->n;
    put(zip, "PK\3\4\24\0", 6);
    put_number(zip, sizes_follow ? 8 : 0, 2);
    put_number(zip, deflated ? 8 : 0, 2);
    put_number(zip, 0, 4);
    put_number(zip, sizes_follow ? 0 : crc, 4);
    put_number(zip, sizes_follow ? 0 : packed, 4);
    put_number(zip, sizes_follow ? 0 : strlen(text), 4);
    put_number(zip, strlen(name), 2);
    put_number(zip, 5, 2); /* an extra field that the directory does not have */
    put(zip, name, strlen(name));
    put(zip, "UT\1\0x", 5);
    put(zip, deflated ? (const void *)data : text, packed);
    put(directory, "PK\1\2\24\0\24\0", 8);
    put_number(directory, 0, 2);
    put_number(directory, deflated ? 8 : 0, 2);
    put_number(directory, 0, 4);
    put_number(directory, crc, 4);
    put_number(directory, packed, 4);
    put_number(directory, strlen(text), 4);
    put_number(directory, strlen(name), 2);
    put_number(directory, 0, 8);
    put_number(directory, 0, 4);
    put_number(directory, local, 4);
    put(directory, name, strlen(name));
}

static void end_zip(struct bytes *zip, const struct bytes *directory, size_t count)
{
    uint64_t at = zip->n;
    put(zip, directory->p, directory->n);
    put(zip, "PK\5\6\0\0\0\0", 8);
    put_number(zip, count, 2);
    put_number(zip, count, 2);
    put_number(zip, directory->n, 4);
    put_number(zip, at, 4);
    put_number(zip, 3, 2);
    put(zip, "bye", 3);
}

struct listed {
    struct inq_arena arena;
    struct inq_archive archive;
};

static void list(struct listed *listed, const struct bytes *bytes, size_t n)
{
    struct inq_source_part whole = {.bytes = bytes->p, .fd = -1, .size = n};
    struct inq_err err = {0};
    *listed = (struct listed){0};
    assert_int_equal(inq_archive_list(&whole, 100, &listed->arena, &listed->archive, &err), INQ_OK);
}

static void release(struct listed *listed)
{
    inq_mem_free(listed->archive.members);
    inq_arena_release(&listed->arena);
}

static void assert_member(const struct listed *listed, size_t i, const char *name, const char *text)
{
    assert_true(i < listed->archive.n);
    const struct inq_archive_member *member = &listed->archive.members[i];
    assert_string_equal(member->name, name);
    assert_null(member->reason);
    struct inq_source *source = NULL;
    struct inq_err err = {0};
    assert_int_equal(inq_source_open_part(name, &member->part, NULL, &source, &err), INQ_OK);
    const char *bytes = NULL;
    size_t n = 0;
    assert_int_equal(inq_source_next(source, &bytes, &n, &err), INQ_OK);
    assert_int_equal(n, strlen(text));
    assert_memory_equal(bytes, text, n);
    assert_int_equal(inq_source_next(source, &bytes, &n, &err), INQ_OK);
    assert_int_equal(n, 0);
    assert_int_equal(inq_damage_total(inq_source_damage(source)), 0);
    inq_source_close(source);
}

static void make_tar(struct bytes *tar)
{
    char long_name[200];
    memset(long_name, 'n', sizeof long_name);
    long_name[sizeof long_name - 1] = '\0';
    tar->n = 0;
    put_tar(tar, "", "./job/", '5', "");
    put_tar(tar, "", "./job/a.json", '0', "first");
    put_tar(tar, "deep/folder", "b.json", '\0', "");
    put_tar(tar, "", "././@LongLink", 'L', long_name);
    put_tar(tar, "", "nnn", '0', "third");
    put_tar(tar, "", "PaxHeader", 'x', "20 path=/pax/x.json\n");
    put_tar(tar, "", "cut", '0', "fourth");
    put_tar(tar, "", "link", '2', "");
}

static void assert_tar_members(const struct listed *listed)
{
    assert_member(listed, 0, "job/a.json", "first");
    assert_string_equal(listed->archive.members[1].name, "deep/folder/b.json");
    assert_int_equal(strlen(listed->archive.members[2].name), 199);
    assert_int_equal(listed->archive.members[2].part.size, 5);
    assert_member(listed, 3, "pax/x.json", "fourth");
    assert_int_equal(listed->archive.n, 4);
}

static void archive__tar_members_are_found(void **state)
{
    (void)state;
    static struct bytes tar;
    make_tar(&tar);
    end_tar(&tar);
    assert_true(inq_archive_recognize((const char *)tar.p, tar.n));
    assert_false(inq_archive_recognize((const char *)tar.p, BLOCK - 1));
    struct listed listed;
    list(&listed, &tar, tar.n);
    assert_tar_members(&listed);
    assert_false(listed.archive.cut);
    assert_int_equal(listed.archive.skipped, 0);
    release(&listed);
}

static void archive__tar_in_a_file_is_as_one_in_memory(void **state)
{
    (void)state;
    static struct bytes tar;
    make_tar(&tar);
    end_tar(&tar);
    char path[] = "/tmp/inquest-test-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, tar.p, tar.n, 100), tar.n); /* as a member of something else */
    struct inq_source_part whole = {.fd = -1, .path = path, .offset = 100, .size = UINT64_MAX};
    struct listed listed = {0};
    struct inq_err err = {0};
    assert_int_equal(inq_archive_list(&whole, 100, &listed.arena, &listed.archive, &err), INQ_OK);
    assert_tar_members(&listed);
    assert_false(listed.archive.cut);
    release(&listed);
    listed = (struct listed){0};
    assert_int_equal(inq_archive_list(&whole, 3, &listed.arena, &listed.archive, &err), INQ_LIMIT);
    release(&listed);
    (void)close(fd);
    (void)unlink(path);
}

static void archive__damaged_tar_header_costs_its_member(void **state)
{
    (void)state;
    static struct bytes tar;
    make_tar(&tar);
    end_tar(&tar);
    tar.p[BLOCK + 3] ^= 0x40; /* in the header of "./job/a.json" */
    struct listed listed;
    list(&listed, &tar, tar.n);
    assert_int_equal(listed.archive.n, 3);
    assert_string_equal(listed.archive.members[0].name, "deep/folder/b.json");
    assert_int_equal(listed.archive.skipped, 2 * BLOCK); /* the header and the text */
    release(&listed);
}

static void archive__cut_tar_keeps_what_is_there(void **state)
{
    (void)state;
    static struct bytes tar;
    make_tar(&tar);
    size_t whole = tar.n;
    end_tar(&tar);
    for (size_t n = 0; n <= tar.n; n += 64) {
        struct listed listed;
        list(&listed, &tar, n);
        assert_true(listed.archive.n <= 4);
        assert_true(n < 3 * BLOCK || listed.archive.n >= 1);
        assert_int_equal(listed.archive.cut, n > 0 && n < whole + BLOCK);
        for (size_t i = 0; i < listed.archive.n; i++) {
            const struct inq_source_part *part = &listed.archive.members[i].part;
            assert_true(part->offset + part->size <= n);
        }
        release(&listed);
    }
}

static void make_zip(struct bytes *zip, bool sizes_follow)
{
    static struct bytes directory;
    zip->n = 0;
    directory.n = 0;
    put_zip(zip, &directory, "job/", "", false, false);
    put_zip(zip, &directory, "job/a.json", "stored text", false, false);
    put_zip(zip, &directory, "job/b.json", "deflated deflated deflated deflated text", true,
            sizes_follow);
    end_zip(zip, &directory, 3);
}

static void archive__zip_members_are_found(void **state)
{
    (void)state;
    static struct bytes zip;
    for (int follow = 0; follow < 2; follow++) {
        make_zip(&zip, follow == 1);
        assert_true(inq_archive_recognize((const char *)zip.p, 4));
        struct listed listed;
        list(&listed, &zip, zip.n);
        assert_int_equal(listed.archive.n, 2);
        assert_member(&listed, 0, "job/a.json", "stored text");
        assert_member(&listed, 1, "job/b.json", "deflated deflated deflated deflated text");
        assert_false(listed.archive.cut);
        release(&listed);
    }
}

/* Without its directory a zip is read from its beginning. */
static void archive__cut_zip_keeps_what_is_there(void **state)
{
    (void)state;
    static struct bytes zip;
    for (int follow = 0; follow < 2; follow++) {
        make_zip(&zip, follow == 1);
        for (size_t n = 4; n + 3 < zip.n; n++) {
            struct listed listed;
            list(&listed, &zip, n);
            assert_true(listed.archive.cut);
            assert_true(listed.archive.n <= 2);
            for (size_t i = 0; i < listed.archive.n; i++) {
                const struct inq_source_part *part = &listed.archive.members[i].part;
                assert_true(part->offset + part->size <= n);
            }
            if (n + 25 >= zip.n) { /* only the end's record is cut */
                assert_int_equal(listed.archive.n, 2);
                assert_member(&listed, 1, "job/b.json", "deflated deflated deflated deflated text");
            }
            release(&listed);
        }
    }
}

static void archive__wrong_content_of_a_zip_member_is_counted(void **state)
{
    (void)state;
    static struct bytes zip;
    static struct bytes directory;
    zip.n = 0;
    directory.n = 0;
    put_zip(&zip, &directory, "a", "some text", true, false);
    directory.p[16] ^= 1; /* its checksum */
    end_zip(&zip, &directory, 1);
    struct listed listed;
    list(&listed, &zip, zip.n);
    struct inq_source *source = NULL;
    struct inq_err err = {0};
    assert_int_equal(
        inq_source_open_part("a", &listed.archive.members[0].part, NULL, &source, &err), INQ_OK);
    const char *bytes = NULL;
    size_t n = 0;
    do {
        assert_int_equal(inq_source_next(source, &bytes, &n, &err), INQ_OK);
    } while (n > 0);
    assert_int_equal(inq_source_damage(source)->count[INQ_DAMAGE_CORRUPT_GZIP], 1);
    inq_source_close(source);
    release(&listed);
}

static void archive__checkpoints_are_called_so(void **state)
{
    (void)state;
    static struct bytes zip;
    static struct bytes directory;
    zip.n = 0;
    directory.n = 0;
    put_zip(&zip, &directory, "model/data.pkl", "x", false, false);
    put_zip(&zip, &directory, "model/data/0", "x", false, false);
    end_zip(&zip, &directory, 2);
    struct listed listed;
    list(&listed, &zip, zip.n);
    assert_string_equal(listed.archive.reason, "not a trace: a PyTorch checkpoint");
    release(&listed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(archive__tar_members_are_found),
        cmocka_unit_test(archive__tar_in_a_file_is_as_one_in_memory),
        cmocka_unit_test(archive__damaged_tar_header_costs_its_member),
        cmocka_unit_test(archive__cut_tar_keeps_what_is_there),
        cmocka_unit_test(archive__zip_members_are_found),
        cmocka_unit_test(archive__cut_zip_keeps_what_is_there),
        cmocka_unit_test(archive__wrong_content_of_a_zip_member_is_counted),
        cmocka_unit_test(archive__checkpoints_are_called_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
