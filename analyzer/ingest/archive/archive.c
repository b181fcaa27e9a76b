/* SPDX-License-Identifier: Apache-2.0 */
/* A tar is a chain of headers of one block each, a zip has its directory at the end. Both are read
 * where they lie, whatever is between the headers; when a link of the chain or the directory is
 * damaged, what can only be a header is looked for. */
#include "ingest/archive/archive.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK = 512, WINDOW = 128 << 10 };
/* Headers lie far apart, so that more than a few of them is seldom wanted. */
enum { LEAST_READ = 8 << 10 };
/* Names and extended headers longer than this are no archiver's. */
#define LONGEST_HEADER ((uint64_t)1 << 20)

struct listing {
    struct inq_source_part whole; /* with its size, and a descriptor if it is a file */
    uint64_t size;
    unsigned char *window; /* [WINDOW] of a file, from window_at on */
    uint64_t window_at;
    size_t window_n;
    size_t most;
    struct inq_arena *arena;
    struct inq_archive *archive;
    struct inq_err *err;
};

/* ---- bytes ----------------------------------------------------------------------------------- */

static int load_window(struct listing *listing, uint64_t at, size_t n)
{
    ssize_t got;
    n = n > LEAST_READ ? n : LEAST_READ;
    do {
        got = pread(listing->whole.fd, listing->window, n, (off_t)(listing->whole.offset + at));
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
        return inq_err_set(listing->err, INQ_IO, "cannot read the archive: %s", strerror(errno));
    }
    listing->window_at = at;
    listing->window_n = (size_t)got;
    return INQ_OK;
}

/* `n` bytes (at most a WINDOW) from `at` on, valid until the next call; NULL with *code == INQ_OK
 * when the archive ends before. */
static const unsigned char *bytes_at(struct listing *listing, uint64_t at, size_t n, int *code)
{
    *code = INQ_OK;
    if (at > listing->size || listing->size - at < n) {
        return NULL;
    }
    if (listing->whole.bytes != NULL) {
        return (const unsigned char *)listing->whole.bytes + listing->whole.offset + at;
    }
    bool inside = at >= listing->window_at && at - listing->window_at <= listing->window_n &&
                  listing->window_n - (size_t)(at - listing->window_at) >= n;
    if (!inside) {
        *code = load_window(listing, at, n);
        if (*code != INQ_OK || listing->window_n < n) {
            return NULL;
        }
    }
    return listing->window + (at - listing->window_at);
}

static uint64_t little(const unsigned char *p, size_t n)
{
    uint64_t value = 0;
    while (n-- > 0) {
        value = value << 8 | p[n];
    }
    return value;
}

static int out_of_memory(struct listing *listing)
{
    return inq_err_set(listing->err, INQ_NOMEM, "out of memory while listing an archive");
}

/* Lists one more member; a folder's name ends with a slash. */
static int add(struct listing *listing, const char *name, size_t len, struct inq_source_part part,
               const char *reason)
{
    struct inq_archive *archive = listing->archive;
    while (len > 0 && (name[0] == '/' || (len > 1 && name[0] == '.' && name[1] == '/'))) {
        size_t skip = name[0] == '/' ? 1 : 2;
        name += skip;
        len -= skip;
    }
    len = strnlen(name, len);
    if (len == 0 || name[len - 1] == '/') {
        return INQ_OK;
    }
    int code = inq_mem_grow(&archive->members, &archive->cap, archive->n + 1,
                            sizeof *archive->members, listing->most, listing->err);
    if (code != INQ_OK) {
        return code;
    }
    const char *copy = inq_arena_strndup(listing->arena, name, len);
    if (copy == NULL) {
        return out_of_memory(listing);
    }
    archive->members[archive->n++] = (struct inq_archive_member){copy, part, reason};
    return INQ_OK;
}

/* ---- tar ------------------------------------------------------------------------------------- */

/* What headers before a member's own say of it. */
struct ahead {
    const char *name;
    bool has_size;
    uint64_t size;
};

/* Octal digits, or base 256 if the first bit is set; false: neither. */
static bool tar_number(const unsigned char *p, size_t n, uint64_t *value)
{
    *value = 0;
    size_t i = 0;
    if ((p[0] & 0x80) != 0) {
        *value = p[0] & 0x3f;
        for (i = 1; i < n; i++) {
            if (*value >> 55 != 0) {
                return false;
            }
            *value = *value << 8 | p[i];
        }
        return (p[0] & 0x40) == 0;
    }
    while (i < n && p[i] == ' ') {
        i++;
    }
    size_t start = i;
    for (; i < n && p[i] >= '0' && p[i] <= '7'; i++) {
        *value = *value << 3 | (uint64_t)(p[i] - '0');
    }
    return i > start && (i == n || p[i] == '\0' || p[i] == ' ');
}

static bool is_tar_header(const unsigned char block[BLOCK])
{
    uint64_t told;
    uint64_t sum = 0;
    if (!tar_number(block + 148, 8, &told)) {
        return false;
    }
    for (size_t i = 0; i < BLOCK; i++) {
        sum += i >= 148 && i < 156 ? (unsigned char)' ' : block[i];
    }
    return sum == told && sum > 8 * (uint64_t)' ';
}

static bool has_tar_magic(const unsigned char block[BLOCK])
{
    return memcmp(block + 257, "ustar", 5) == 0;
}

/* The text that follows a header; NULL with INQ_OK when it is not all there. */
static int tar_text(struct listing *listing, uint64_t at, uint64_t size, char **text)
{
    *text = NULL;
    if (size > LONGEST_HEADER || at > listing->size || listing->size - at < size) {
        return INQ_OK;
    }
    char *copy = inq_arena_alloc(listing->arena, (size_t)size + 1);
    if (copy == NULL) {
        return out_of_memory(listing);
    }
    for (uint64_t done = 0; done < size;) {
        size_t part = size - done < WINDOW ? (size_t)(size - done) : WINDOW;
        int code = INQ_OK;
        const unsigned char *bytes = bytes_at(listing, at + done, part, &code);
        if (bytes == NULL) {
            return code;
        }
        memcpy(copy + done, bytes, part);
        done += part;
    }
    *text = copy;
    return INQ_OK;
}

/* Records "LENGTH KEY=VALUE\n" of a POSIX extended header. */
static void read_pax(char *text, size_t n, struct ahead *ahead)
{
    size_t at = 0;
    while (at < n) {
        size_t len = 0;
        size_t i = at;
        for (; i < n && text[i] >= '0' && text[i] <= '9' && len < n; i++) {
            len = len * 10 + (size_t)(text[i] - '0');
        }
        if (i == at || i >= n || text[i] != ' ' || len <= i + 1 - at || len > n - at) {
            return;
        }
        char *record = text + i + 1;
        char *end = text + at + len - 1;
        *end = '\0';
        if (strncmp(record, "path=", 5) == 0) {
            ahead->name = record + 5;
        } else if (strncmp(record, "size=", 5) == 0) {
            ahead->size = 0;
            ahead->has_size = true;
            for (const char *p = record + 5; *p >= '0' && *p <= '9' && ahead->size >> 58 == 0;
                 p++) {
                ahead->size = ahead->size * 10 + (uint64_t)(*p - '0');
            }
        }
        at += len;
    }
}

static int add_tar_member(struct listing *listing, const unsigned char block[BLOCK],
                          const struct ahead *ahead, uint64_t at, uint64_t size)
{
    char name[BLOCK];
    size_t len = 0;
    if (ahead->name == NULL && memcmp(block + 257, "ustar\0", 6) == 0 && block[345] != '\0') {
        len = strnlen((const char *)block + 345, 155);
        memcpy(name, block + 345, len);
        name[len++] = '/';
    }
    size_t rest = strnlen((const char *)block, 100);
    memcpy(name + len, block, rest);
    len += rest;
    struct inq_source_part part = listing->whole;
    uint64_t begin = at < listing->size ? at : listing->size; /* its header may promise more */
    part.offset += begin;
    part.size = listing->size - begin;
    listing->archive->cut = listing->archive->cut || part.size < size;
    part.size = part.size < size ? part.size : size;
    const char *given = ahead->name != NULL ? ahead->name : name;
    const char *reason =
        block[156] == 'S' ? "a sparse file in a tar archive: unpack it first" : NULL;
    return add(listing, given, ahead->name != NULL ? strlen(ahead->name) : len, part, reason);
}

/* One header at `*at`, which is moved behind what belongs to it. */
static int take_tar_header(struct listing *listing, const unsigned char *bytes, uint64_t *at,
                           struct ahead *ahead)
{
    unsigned char block[BLOCK];
    memcpy(block, bytes, sizeof block);
    char type = (char)block[156];
    bool is_file = type == '0' || type == '\0' || type == '7' || type == 'S';
    uint64_t size = 0;
    (void)tar_number(block + 124, 12, &size);
    if (is_file && ahead->has_size) {
        size = ahead->size;
    }
    uint64_t data = *at + BLOCK;
    int code = INQ_OK;
    if (type == 'x' || type == 'L') {
        char *text = NULL;
        code = tar_text(listing, data, size, &text);
        if (text != NULL && type == 'x') {
            read_pax(text, (size_t)size, ahead);
        } else if (text != NULL) {
            ahead->name = text;
        }
    } else {
        if (is_file) {
            code = add_tar_member(listing, block, ahead, data, size);
        }
        *ahead = (struct ahead){0};
    }
    /* links and devices have none, whatever they say */
    uint64_t held = type >= '1' && type <= '6' ? 0 : size;
    bool beyond = data > listing->size || held > listing->size - data;
    *at = beyond ? listing->size : data + (held + BLOCK - 1) / BLOCK * BLOCK;
    listing->archive->cut = listing->archive->cut || beyond;
    return code;
}

static bool is_zero(const unsigned char *bytes, size_t n)
{
    return bytes[0] == 0 && memcmp(bytes, bytes + 1, n - 1) == 0;
}

static int list_tar(struct listing *listing)
{
    struct ahead ahead = {0};
    uint64_t at = 0;
    bool ended = false; /* a block of zeros: there may be another archive behind it */
    while (at < listing->size) {
        int code = INQ_OK;
        const unsigned char *block = bytes_at(listing, at, BLOCK, &code);
        if (code != INQ_OK) {
            return code;
        }
        if (block == NULL) {
            listing->archive->cut = listing->archive->cut || !ended;
            return INQ_OK;
        }
        if (is_tar_header(block)) {
            ended = false;
            code = take_tar_header(listing, block, &at, &ahead);
            if (code != INQ_OK) {
                return code;
            }
            continue;
        }
        ended = is_zero(block, BLOCK);
        listing->archive->skipped += ended ? 0 : BLOCK;
        at += BLOCK;
    }
    listing->archive->cut = listing->archive->cut || !ended;
    return INQ_OK;
}

/* ---- zip ------------------------------------------------------------------------------------- */

enum { LOCAL_SIZE = 30, CENTRAL_SIZE = 46, END_SIZE = 22, LOCATOR_SIZE = 20, END64_SIZE = 56 };
enum { STORED = 0, DEFLATED = 8, BZIP2 = 12, ZSTD = 93, XZ = 95 };
enum { FLAG_ENCRYPTED = 1, FLAG_SIZES_FOLLOW = 8 };
#define UNKNOWN32 UINT64_C(0xffffffff)

static bool has_magic(const unsigned char *bytes, const char *magic)
{
    return memcmp(bytes, magic, 4) == 0;
}

/* What a header says of a member, with its sizes in full. */
struct zip_member {
    uint64_t flags, method, packed, size, local;
    uint32_t crc;
};

/* The sizes of the zip64 field, for those that did not fit. */
static void read_zip64(const unsigned char *extra, size_t n, struct zip_member *member)
{
    for (size_t at = 0; n - at >= 4;) {
        size_t len = (size_t)little(extra + at + 2, 2);
        const unsigned char *p = extra + at + 4;
        if (len > n - at - 4) {
            return;
        }
        if (little(extra + at, 2) == 1) {
            uint64_t *fields[] = {&member->size, &member->packed, &member->local};
            for (size_t i = 0; i < 3; i++) {
                if (*fields[i] == UNKNOWN32 && len >= 8) {
                    *fields[i] = little(p, 8);
                    p += 8;
                    len -= 8;
                }
            }
            return;
        }
        at += 4 + len;
    }
}

static const char *why_not(struct listing *listing, const struct zip_member *member)
{
    if ((member->flags & FLAG_ENCRYPTED) != 0) {
        return "encrypted in a zip archive";
    }
    switch (member->method) {
    case STORED:
    case DEFLATED:
    case BZIP2:
    case ZSTD:
    case XZ:
        return NULL;
    default:
        return inq_arena_asprintf(listing->arena,
                                  "packed in a zip archive with method %u: unpack it first",
                                  (unsigned)member->method);
    }
}

/* With the member's data at `data`. */
static int add_zip_member(struct listing *listing, const char *name, size_t len,
                          const struct zip_member *member, uint64_t data, bool known)
{
    struct inq_source_part part = listing->whole;
    uint64_t begin = data < listing->size ? data : listing->size; /* names may promise more */
    uint64_t left = listing->size - begin;
    part.offset += begin;
    part.size = member->packed < left ? member->packed : left;
    part.is_deflated = member->method == DEFLATED;
    part.deflated = (struct inq_deflated){known, member->crc, member->size};
    listing->archive->cut = listing->archive->cut || part.size < member->packed;
    return add(listing, name, len, part, why_not(listing, member));
}

/* Where the member's data begin: behind its own header, which has a length of its own. */
static int find_data(struct listing *listing, uint64_t local, uint64_t *data)
{
    int code = INQ_OK;
    const unsigned char *bytes = bytes_at(listing, local, LOCAL_SIZE, &code);
    *data = UINT64_MAX;
    if (bytes != NULL && has_magic(bytes, "PK\3\4")) {
        *data = local + LOCAL_SIZE + little(bytes + 26, 2) + little(bytes + 28, 2);
    }
    return code;
}

/* One entry of the directory at `*at`, which is moved to the next; *more: there is one here. */
static int take_central(struct listing *listing, uint64_t *at, bool *more)
{
    int code = INQ_OK;
    const unsigned char *bytes = bytes_at(listing, *at, CENTRAL_SIZE, &code);
    *more = bytes != NULL && has_magic(bytes, "PK\1\2");
    if (!*more) {
        return code;
    }
    struct zip_member member = {.flags = little(bytes + 8, 2),
                                .method = little(bytes + 10, 2),
                                .crc = (uint32_t)little(bytes + 16, 4),
                                .packed = little(bytes + 20, 4),
                                .size = little(bytes + 24, 4),
                                .local = little(bytes + 42, 4)};
    size_t name_n = (size_t)little(bytes + 28, 2);
    size_t extra_n = (size_t)little(bytes + 30, 2);
    uint64_t text_at = *at + CENTRAL_SIZE;
    *at = text_at + name_n + extra_n + little(bytes + 32, 2);
    char *name = inq_arena_alloc(listing->arena, name_n + 1);
    if (name == NULL) {
        return out_of_memory(listing);
    }
    bytes = bytes_at(listing, text_at, name_n, &code);
    if (bytes == NULL) {
        return code;
    }
    memcpy(name, bytes, name_n);
    bytes = bytes_at(listing, text_at + name_n, extra_n, &code);
    if (bytes == NULL) {
        return code;
    }
    read_zip64(bytes, extra_n, &member);
    uint64_t data;
    code = find_data(listing, member.local, &data);
    if (code != INQ_OK) {
        return code;
    }
    if (data == UINT64_MAX) {
        listing->archive->skipped += member.packed < listing->size ? member.packed : 0;
        return INQ_OK;
    }
    return add_zip_member(listing, name, name_n, &member, data, true);
}

/* The directory's place, from the record at the archive's end. */
static int find_directory(struct listing *listing, uint64_t *directory, uint64_t *count)
{
    int code = INQ_OK;
    uint64_t at = listing->size >= END_SIZE ? listing->size - END_SIZE : 0;
    uint64_t lowest = at > 0xffff ? at - 0xffff : 0; /* a comment may follow it */
    const unsigned char *end = NULL;
    *directory = UINT64_MAX;
    if (bytes_at(listing, lowest, (size_t)(listing->size - lowest), &code) == NULL) { /* at once */
        return code;
    }
    for (uint64_t tried = at + 1; tried-- > lowest;) {
        end = bytes_at(listing, tried, END_SIZE, &code);
        if (end == NULL) {
            return code;
        }
        if (has_magic(end, "PK\5\6")) {
            at = tried;
            break;
        }
        end = NULL;
    }
    if (end == NULL) {
        return INQ_OK;
    }
    *count = little(end + 10, 2);
    *directory = little(end + 16, 4);
    if (at < LOCATOR_SIZE || (*directory != UNKNOWN32 && *count != 0xffff)) {
        return INQ_OK;
    }
    const unsigned char *locator = bytes_at(listing, at - LOCATOR_SIZE, LOCATOR_SIZE, &code);
    if (locator == NULL || !has_magic(locator, "PK\6\7")) {
        return code;
    }
    const unsigned char *end64 = bytes_at(listing, little(locator + 8, 8), END64_SIZE, &code);
    if (end64 != NULL && has_magic(end64, "PK\6\6")) {
        *count = little(end64 + 32, 8);
        *directory = little(end64 + 48, 8);
    }
    return code;
}

/* The next header of any kind from `at` on, or the archive's end. */
static int find_header(struct listing *listing, uint64_t at, uint64_t *found)
{
    *found = listing->size;
    while (at < listing->size && listing->size - at >= 4) {
        size_t n = listing->size - at < WINDOW ? (size_t)(listing->size - at) : WINDOW;
        int code = INQ_OK;
        const unsigned char *bytes = bytes_at(listing, at, n, &code);
        if (bytes == NULL) {
            return code;
        }
        for (size_t i = 0; i + 4 <= n; i++) {
            if (has_magic(bytes + i, "PK\3\4") || has_magic(bytes + i, "PK\1\2")) {
                *found = at + i;
                return INQ_OK;
            }
        }
        at += n - 3;
    }
    return INQ_OK;
}

/* One member by its own header at `*at`, which is moved behind it. */
static int take_local(struct listing *listing, const unsigned char *bytes, uint64_t *at)
{
    struct zip_member member = {.flags = little(bytes + 6, 2),
                                .method = little(bytes + 8, 2),
                                .crc = (uint32_t)little(bytes + 14, 4),
                                .packed = little(bytes + 18, 4),
                                .size = little(bytes + 22, 4)};
    size_t name_n = (size_t)little(bytes + 26, 2);
    size_t extra_n = (size_t)little(bytes + 28, 2);
    uint64_t data = *at + LOCAL_SIZE + name_n + extra_n;
    char *name = inq_arena_alloc(listing->arena, name_n + 1);
    if (name == NULL) {
        return out_of_memory(listing);
    }
    int code = INQ_OK;
    const unsigned char *text = bytes_at(listing, *at + LOCAL_SIZE, name_n, &code);
    if (text == NULL) {
        *at = listing->size;
        return code;
    }
    memcpy(name, text, name_n);
    text = bytes_at(listing, *at + LOCAL_SIZE + name_n, extra_n, &code);
    if (text == NULL) {
        *at = listing->size;
        return code;
    }
    read_zip64(text, extra_n, &member);
    bool known = (member.flags & FLAG_SIZES_FOLLOW) == 0;
    if (known) {
        *at = member.packed > listing->size - data || data > listing->size ? listing->size
                                                                           : data + member.packed;
    } else {
        code = find_header(listing, data, at);
        member.packed = *at - data;
    }
    return code == INQ_OK ? add_zip_member(listing, name, name_n, &member, data, known) : code;
}

/* Without a directory: member by member, as they were written. */
static int list_zip_locals(struct listing *listing)
{
    uint64_t at = 0;
    listing->archive->cut = true;
    while (at < listing->size) {
        int code = INQ_OK;
        const unsigned char *bytes = bytes_at(listing, at, LOCAL_SIZE, &code);
        if (bytes == NULL || has_magic(bytes, "PK\1\2")) {
            return code;
        }
        uint64_t from = at;
        if (has_magic(bytes, "PK\3\4")) {
            code = take_local(listing, bytes, &at);
        } else {
            code = find_header(listing, at + 1, &at);
            listing->archive->skipped += at - from;
        }
        if (code != INQ_OK) {
            return code;
        }
    }
    return INQ_OK;
}

/* Files of other programs that happen to be zip archives: their members are nobody's traces. */
static const char *other_kind(const struct inq_archive *archive)
{
    size_t arrays = 0;
    for (size_t i = 0; i < archive->n; i++) {
        const char *name = archive->members[i].name;
        size_t len = strlen(name);
        if (len > 9 && strcmp(name + len - 9, "/data.pkl") == 0) {
            return "not a trace: a PyTorch checkpoint";
        }
        arrays += len > 4 && strcmp(name + len - 4, ".npy") == 0;
    }
    return arrays > 0 && arrays == archive->n ? "not a trace: NumPy arrays" : NULL;
}

static int list_zip(struct listing *listing)
{
    uint64_t at = 0;
    uint64_t count = 0;
    int code = find_directory(listing, &at, &count);
    if (code == INQ_OK && at == UINT64_MAX) {
        code = list_zip_locals(listing);
    } else {
        uint64_t taken = 0;
        bool more = true;
        while (code == INQ_OK && more && taken < count) {
            code = take_central(listing, &at, &more);
            taken += more;
        }
        if (code == INQ_OK &&
            taken < count) { /* it lies elsewhere than it is said to, or in part */
            listing->archive->n = 0;
            code = list_zip_locals(listing);
        }
    }
    listing->archive->reason = other_kind(listing->archive);
    return code;
}

/* ---- all together ---------------------------------------------------------------------------- */

static bool is_zip(const unsigned char *head, size_t n)
{
    return n >= 4 && (has_magic(head, "PK\3\4") || has_magic(head, "PK\5\6"));
}

bool inq_archive_recognize(const char *head, size_t n)
{
    const unsigned char *bytes = (const unsigned char *)head;
    return is_zip(bytes, n) || (n >= BLOCK && (is_tar_header(bytes) || has_tar_magic(bytes)));
}

int inq_archive_list(const struct inq_source_part *whole, size_t most, struct inq_arena *arena,
                     struct inq_archive *archive, struct inq_err *err)
{
    struct listing listing = {.whole = *whole,
                              .size = whole->size,
                              .most = most,
                              .arena = arena,
                              .archive = archive,
                              .err = err};
    bool opened = whole->bytes == NULL && whole->fd < 0;
    int code = INQ_OK;
    if (opened) {
        listing.whole.fd = open(whole->path, O_RDONLY | O_CLOEXEC);
    }
    struct stat info;
    if (whole->bytes == NULL) {
        listing.window = inq_mem_alloc(WINDOW);
        if (listing.window == NULL) {
            code = out_of_memory(&listing);
        } else if (listing.whole.fd < 0 || fstat(listing.whole.fd, &info) != 0) {
            code = inq_err_set(err, INQ_IO, "cannot open the archive: %s", strerror(errno));
        } else {
            uint64_t all = info.st_size > 0 ? (uint64_t)info.st_size : 0;
            uint64_t left = whole->offset < all ? all - whole->offset : 0;
            listing.size = listing.size < left ? listing.size : left;
        }
    }
    const unsigned char *head = code == INQ_OK ? bytes_at(&listing, 0, 4, &code) : NULL;
    if (head != NULL) {
        code = is_zip(head, 4) ? list_zip(&listing) : list_tar(&listing);
    }
    for (size_t i = 0; i < archive->n && opened; i++) {
        archive->members[i].part.fd = -1; /* whoever reads it opens the file again */
    }
    if (opened && listing.whole.fd >= 0) {
        (void)close(listing.whole.fd);
    }
    inq_mem_free(listing.window);
    return code;
}
