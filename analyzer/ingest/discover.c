/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/discover.h"

#include "base/mem.h"
#include "base/sort.h"
#include "ingest/archive/archive.h"
#include "ingest/ingest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define PIPE_CHUNK ((size_t)1 << 20)

static int out_of_memory(struct inq_err *err)
{
    return inq_err_set(err, INQ_NOMEM, "out of memory while listing files");
}

/* Files that may still be added; one place is for the word on what was left out. */
static size_t room_of(const struct inq_discovery *walk)
{
    size_t most = walk->most > 0 ? walk->most : INQ_MAX_FILES - 1;
    return walk->n < most ? most - walk->n : 0;
}

/* The caller has looked whether there is room. */
static int add_place(struct inq_discovery *walk, const char *path, uint64_t size,
                     const char *reason, struct inq_err *err)
{
    int code = inq_mem_grow(&walk->files, &walk->cap, walk->n + 1, sizeof *walk->files,
                            INQ_MAX_FILES, err);
    if (code == INQ_OK) {
        walk->files[walk->n++] = (struct inq_discovered_file){
            .path = path,
            .size = size,
            .reason = reason,
            .part = {.fd = -1, .path = path, .size = UINT64_MAX},
        };
    }
    return code;
}

/* A file, or only its number. */
static int add_file(struct inq_discovery *walk, const char *path, uint64_t size, const char *reason,
                    struct inq_err *err)
{
    if (room_of(walk) == 0) {
        walk->left_out++;
        return INQ_OK;
    }
    return add_place(walk, path, size, reason, err);
}

static int explain_left_out(struct inq_discovery *walk, const char *path, struct inq_err *err)
{
    if (walk->left_out == 0) {
        return INQ_OK;
    }
    const char *reason = inq_arena_asprintf(
        &walk->arena,
        "%llu more files are not looked at: one call takes %zu; give it fewer folders, or reduce "
        "them in parts with 'inquest ingest'",
        (unsigned long long)walk->left_out, walk->n);
    return reason != NULL ? add_place(walk, path, 0, reason, err) : out_of_memory(err);
}

static void set_bytes(struct inq_discovered_file *file, const void *bytes, size_t n)
{
    file->part.bytes = n > 0 ? bytes : "";
    file->part.size = n;
}

/* Lists what cannot be read, with the system's words for it. */
static int add_failure(struct inq_discovery *walk, const char *path, int error, struct inq_err *err)
{
    char text[128];
    const char *reason = inq_arena_strdup(&walk->arena, strerror_r(error, text, sizeof text));
    return reason != NULL ? add_file(walk, path, 0, reason, err) : out_of_memory(err);
}

static int add_folder(struct inq_discovered_folder **list, size_t *n, size_t *cap,
                      struct inq_discovered_folder folder, struct inq_err *err)
{
    int code = inq_mem_grow(list, cap, *n + 1, sizeof folder, INQ_MAX_FILES, err);
    if (code == INQ_OK) {
        (*list)[(*n)++] = folder;
    }
    return code;
}

/* True when this very folder or file was met before, by whatever path. */
static int met_before(struct inq_discovery *walk, const struct stat *info, bool *met,
                      struct inq_err *err)
{
    uint64_t id[2] = {(uint64_t)info->st_dev, (uint64_t)info->st_ino};
    uint64_t key = inq_hash_bytes(id, sizeof id);
    uint32_t value;
    *met = inq_map_get(&walk->seen, key, &value);
    return *met ? INQ_OK : inq_map_put(&walk->seen, key, 0, err);
}

/* What a pipe has delivered, and who is told. */
struct stream {
    const char *path;
    int fd;
    char *bytes; /* the caller's */
    size_t n;
};

/* Waits until something can be read from the pipe or its last writer is gone. A pipe to which
 * nobody writes is waited for as long as the caller likes. */
static int await(const struct inq_discovery *walk, const struct stream *stream, struct inq_err *err)
{
    enum { TELL_EVERY_MS = 100 };
    const struct inq_ingest_options *options = walk->options;
    struct inq_progress progress = {.bytes_done = stream->n, .pipe = stream->path};
    struct pollfd ready = {.fd = stream->fd, .events = POLLIN};
    int n = 0;
    do {
        if (options != NULL && options->progress != NULL &&
            options->progress(options->progress_ctx, &progress) != 0) {
            return inq_err_set(err, INQ_CANCELLED, "interrupted");
        }
        n = poll(&ready, 1, TELL_EVERY_MS);
    } while (n == 0 || (n < 0 && errno == EINTR));
    return INQ_OK;
}

/* All that a pipe delivers, up to half of the memory. */
static int drain(const struct inq_discovery *walk, struct stream *stream, struct inq_err *err)
{
    size_t cap = 0;
    size_t max = (size_t)(inq_mem_available() / 2);
    for (;;) {
        int code = INQ_OK;
        if (stream->n == cap) {
            code = inq_mem_grow(&stream->bytes, &cap, cap == 0 ? PIPE_CHUNK : cap + 1, 1, max, err);
        }
        code = code == INQ_OK ? await(walk, stream, err) : code;
        if (code != INQ_OK) {
            return code;
        }
        ssize_t got = read(stream->fd, stream->bytes + stream->n, cap - stream->n);
        if (got < 0 && (errno == EINTR || errno == EAGAIN)) {
            continue;
        }
        if (got <= 0) {
            return got == 0 ? INQ_OK : inq_err_set(err, INQ_IO, "reading failed");
        }
        stream->n += (size_t)got;
    }
}

static bool is_stdin(const char *path)
{
    return strcmp(path, "-") == 0;
}

/* A pipe that the user names ("<(zstd -dc ...)", /dev/stdin). What it gave until it failed is kept.
 */
static int take_stream(struct inq_discovery *walk, const char *path, struct inq_err *err)
{
    int code = inq_mem_grow(&walk->streams, &walk->cap_streams, walk->n_streams + 1,
                            sizeof *walk->streams, INQ_MAX_FILES, err);
    if (code != INQ_OK) {
        return code;
    }
    /* to open a pipe for reading would else wait for a writer without a word */
    struct stream stream = {.path = path,
                            .fd = is_stdin(path) ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                                                 : open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)};
    if (stream.fd < 0) {
        return add_failure(walk, path, errno, err);
    }
    struct inq_err why = {0};
    code = drain(walk, &stream, &why);
    (void)close(stream.fd);
    if (stream.bytes != NULL) {
        walk->streams[walk->n_streams++] = stream.bytes;
    }
    if (code == INQ_NOMEM || code == INQ_CANCELLED) {
        return inq_err_set(err, (enum inq_code)code, "%s", why.message);
    }
    const char *cut = NULL;
    if (code != INQ_OK) {
        cut = code == INQ_LIMIT
                  ? inq_arena_asprintf(&walk->arena,
                                       "the pipe gave more than half of the memory there is: its "
                                       "first %zu MB are read; write it to a file instead",
                                       stream.n >> 20)
                  : inq_arena_asprintf(&walk->arena, "after %zu bytes: %s", stream.n, why.message);
        if (cut == NULL) {
            return out_of_memory(err);
        }
    }
    if (room_of(walk) == 0) {
        walk->left_out++;
        return INQ_OK;
    }
    code = add_place(walk, path, stream.n, NULL, err);
    if (code == INQ_OK) {
        struct inq_discovered_file *file = &walk->files[walk->n - 1];
        set_bytes(file, stream.bytes, stream.n);
        file->cut = cut;
    }
    return code;
}

/* Takes one path that exists: a folder is entered later, a file is listed. */
static int take(struct inq_discovery *walk, struct inq_discovered_folder at, bool given,
                struct inq_err *err)
{
    struct stat info;
    int failed = given && is_stdin(at.path) ? fstat(STDIN_FILENO, &info) : stat(at.path, &info);
    if (failed != 0) {
        return add_failure(walk, at.path, errno, err);
    }
    bool met = false;
    int code = met_before(walk, &info, &met, err);
    if (code != INQ_OK || met) {
        return code;
    }
    if (S_ISDIR(info.st_mode)) {
        if (at.level > INQ_MAX_LEVELS) {
            return add_file(walk, at.path, 0, "folders nested too deep", err);
        }
        return add_folder(&walk->folders, &walk->n_folders, &walk->cap_folders, at, err);
    }
    /* one that lies about in a folder might block forever */
    bool pipe = S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode);
    if (given && (pipe || is_stdin(at.path))) {
        return take_stream(walk, at.path, err);
    }
    if (!S_ISREG(info.st_mode)) {
        return add_file(walk, at.path, 0, "not a regular file", err);
    }
    return add_file(walk, at.path, info.st_size > 0 ? (uint64_t)info.st_size : 0, NULL, err);
}

static int take_entry(struct inq_discovery *walk, struct inq_discovered_folder at,
                      struct inq_err *err)
{
    struct stat info;
    if (lstat(at.path, &info) != 0) {
        return add_failure(walk, at.path, errno, err);
    }
    if (S_ISLNK(info.st_mode)) {
        return add_folder(&walk->links, &walk->n_links, &walk->cap_links, at, err);
    }
    if (S_ISDIR(info.st_mode) && strrchr(at.path, '/')[1] == '.') {
        return add_file(walk, at.path, 0, "hidden folder, not entered", err);
    }
    return take(walk, at, false, err);
}

static int compare_folders(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    const struct inq_discovered_folder *x = a;
    const struct inq_discovered_folder *y = b;
    return strcmp(x->path, y->path);
}

static int compare_files(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    const struct inq_discovered_file *x = a;
    const struct inq_discovered_file *y = b;
    return strcmp(x->path, y->path);
}

/* The names in a folder as paths, sorted. `list` is the caller's to free. */
static int list_folder(struct inq_discovery *walk, const struct inq_discovered_folder *folder,
                       DIR *dir, struct inq_discovered_folder **list, size_t *n,
                       struct inq_err *err)
{
    size_t cap = 0;
    size_t len = strlen(folder->path);
    const char *slash = len > 0 && folder->path[len - 1] == '/' ? "" : "/";
    struct dirent *entry;
    while ((entry = readdir(dir)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
            continue;
        }
        struct inq_discovered_folder at = {.level = folder->level + 1};
        at.path = inq_arena_asprintf(&walk->arena, "%s%s%s", folder->path, slash, entry->d_name);
        if (*n == INQ_MAX_FILES) {
            walk->left_out++;
            continue;
        }
        int code = at.path != NULL ? add_folder(list, n, &cap, at, err) : out_of_memory(err);
        if (code != INQ_OK) {
            return code;
        }
    }
    return inq_sort(*list, *n, sizeof **list, compare_folders, NULL, err);
}

static int enter(struct inq_discovery *walk, struct inq_discovered_folder folder,
                 struct inq_err *err)
{
    DIR *dir = opendir(folder.path);
    if (dir == NULL) {
        return add_failure(walk, folder.path, errno, err);
    }
    struct inq_discovered_folder *list = NULL;
    size_t n = 0;
    int code = list_folder(walk, &folder, dir, &list, &n, err);
    (void)closedir(dir);
    if (code == INQ_OK && n == 0 && inq_rank_from_name(folder.path) >= 0) {
        code = add_file(walk, folder.path, 0, "an empty folder, not a file", err);
    }
    for (size_t i = 0; i < n && code == INQ_OK; i++) {
        code = take_entry(walk, list[i], err);
    }
    inq_mem_free(list);
    return code;
}

/* Everything below the folders found so far, then what only links lead to. */
static int follow(struct inq_discovery *walk, struct inq_err *err)
{
    size_t entered = 0;
    size_t followed = 0;
    size_t sorted = 0;
    int code = INQ_OK;
    while (code == INQ_OK && (entered < walk->n_folders || followed < walk->n_links)) {
        if (entered < walk->n_folders) {
            code = enter(walk, walk->folders[entered++], err);
            continue;
        }
        if (sorted < walk->n_links) {
            sorted = walk->n_links;
            code = inq_sort(walk->links + followed, sorted - followed, sizeof *walk->links,
                            compare_folders, NULL, err);
        }
        if (code == INQ_OK) {
            code = take(walk, walk->links[followed++], false, err);
        }
    }
    return code;
}

/* The given paths, sorted, without slashes at their ends. */
static int take_given(struct inq_discovery *walk, const char *const *paths, size_t n,
                      struct inq_err *err)
{
    struct inq_discovered_folder *given = inq_mem_zalloc(n, sizeof *given);
    if (given == NULL) {
        return out_of_memory(err);
    }
    int code = INQ_OK;
    for (size_t i = 0; i < n && code == INQ_OK; i++) {
        size_t len = strlen(paths[i]);
        while (len > 1 && paths[i][len - 1] == '/') {
            len--;
        }
        given[i].path = inq_arena_strndup(&walk->arena, paths[i], len);
        struct stat info;
        if (given[i].path == NULL) {
            code = out_of_memory(err);
        } else if (!is_stdin(paths[i]) && stat(paths[i], &info) != 0 &&
                   (errno == ENOENT || errno == ENOTDIR)) {
            code = inq_err_at(err, INQ_NOT_FOUND, paths[i], -1, "no such file or folder");
        }
    }
    if (code == INQ_OK) {
        code = inq_sort(given, n, sizeof *given, compare_folders, NULL, err);
    }
    for (size_t i = 0; i < n && code == INQ_OK; i++) {
        code = take(walk, given[i], true, err);
    }
    inq_mem_free(given);
    return code;
}

int inq_discover_paths(const char *const *paths, size_t n, struct inq_discovery *walk,
                       struct inq_err *err)
{
    int code = take_given(walk, paths, n, err);
    if (code == INQ_OK) {
        code = follow(walk, err);
    }
    if (code == INQ_OK) {
        code = explain_left_out(walk, paths[0], err);
    }
    if (code == INQ_OK) {
        code = inq_sort(walk->files, walk->n, sizeof *walk->files, compare_files, NULL, err);
    }
    return code;
}

int inq_discovery_add_memory(struct inq_discovery *walk, const char *name, const void *bytes,
                             size_t n, struct inq_err *err)
{
    const char *path = inq_arena_strdup(&walk->arena, name);
    int code = path != NULL ? add_place(walk, path, n, NULL, err) : out_of_memory(err);
    if (code == INQ_OK) {
        set_bytes(&walk->files[walk->n - 1], bytes, n);
    }
    return code;
}

/* ---- archives -------------------------------------------------------------------------------- */

static int open_spool(struct inq_discovery *walk, const char *temp, struct inq_err *err)
{
    if (walk->has_spool) {
        return INQ_OK;
    }
    char *path =
        inq_arena_asprintf(&walk->arena, "%s/inquest-XXXXXX", temp != NULL ? temp : "/tmp");
    if (path == NULL) {
        return out_of_memory(err);
    }
    walk->spool_fd = mkostemp(path, O_CLOEXEC);
    if (walk->spool_fd < 0) {
        return inq_err_set(err, INQ_IO, "cannot decompress it to %s: %s",
                           temp != NULL ? temp : "/tmp", strerror(errno));
    }
    (void)unlink(path);
    walk->has_spool = true;
    return INQ_OK;
}

/* INQ_IO when the disk does not take it. */
static int append(struct inq_discovery *walk, const char *bytes, size_t n, struct inq_err *err)
{
    while (n > 0) {
        ssize_t put = pwrite(walk->spool_fd, bytes, n, (off_t)walk->spool_size);
        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put <= 0) {
            return inq_err_set(err, INQ_IO, "no room to decompress the rest: %s", strerror(errno));
        }
        bytes += put;
        n -= (size_t)put;
        walk->spool_size += (uint64_t)put;
    }
    return INQ_OK;
}

/* Decompresses all of the source; *part gets its place. What there was room for stays on failure
 * with INQ_IO. */
static int spool(struct inq_discovery *walk, struct inq_source *source, const char *temp,
                 struct inq_source_part *part, struct inq_err *err)
{
    int code = open_spool(walk, temp, err);
    if (code != INQ_OK) {
        return code;
    }
    struct statvfs disk;
    uint64_t room = 0;
    if (fstatvfs(walk->spool_fd, &disk) == 0) {
        room = (uint64_t)disk.f_bavail * disk.f_frsize / 2;
    }
    *part = (struct inq_source_part){.fd = walk->spool_fd, .offset = walk->spool_size};
    const char *bytes = NULL;
    size_t n = 0;
    while ((code = inq_source_next(source, &bytes, &n, err)) == INQ_OK && n > 0) {
        if (walk->spool_size - part->offset + n > room) {
            code = inq_err_set(err, INQ_IO,
                               "no room to decompress the rest: set TMPDIR to a folder "
                               "with more, or unpack it first");
            break;
        }
        code = append(walk, bytes, n, err);
        if (code != INQ_OK) {
            break;
        }
    }
    part->size = walk->spool_size - part->offset;
    return code;
}

/* A folder of the archive that begins with a dot. */
static bool is_hidden(const char *name)
{
    for (const char *slash; (slash = strchr(name, '/')) != NULL; name = slash + 1) {
        if (name[0] == '.' && slash - name > 2) {
            return true;
        }
    }
    return false;
}

static int add_members(struct inq_discovery *walk, size_t file, const struct inq_archive *archive,
                       struct inq_err *err)
{
    int code = INQ_OK;
    for (size_t i = 0; i < archive->n && code == INQ_OK; i++) {
        const struct inq_archive_member *member = &archive->members[i];
        const char *path =
            inq_arena_asprintf(&walk->arena, "%s/%s", walk->files[file].path, member->name);
        const char *reason =
            is_hidden(member->name) ? "hidden folder, not entered" : member->reason;
        code = path != NULL ? add_place(walk, path, member->part.size, reason, err)
                            : out_of_memory(err);
        if (code == INQ_OK) {
            struct inq_discovered_file *added = &walk->files[walk->n - 1];
            added->part = member->part;
            added->level = (uint8_t)(walk->files[file].level + 1);
        }
    }
    return code;
}

/* What is to be said of an archive that was listed; `why`: what went wrong before. */
static const char *describe(struct inq_discovery *walk, const struct inq_archive *archive,
                            const struct inq_damage *damage, const char *why)
{
    if (archive->reason != NULL) {
        return archive->reason;
    }
    const char *rest = archive->n > 0 ? "; the files found in it are read" : "";
    if (why[0] != '\0') {
        return inq_arena_asprintf(&walk->arena, "an archive: %s%s", why, rest);
    }
    if (inq_damage_total(damage) > 0) {
        return inq_arena_asprintf(&walk->arena, "an archive in a damaged compressed stream%s",
                                  rest);
    }
    if (archive->skipped > 0) {
        return inq_arena_asprintf(&walk->arena, "a damaged archive, %llu bytes skipped%s",
                                  (unsigned long long)archive->skipped, rest);
    }
    if (archive->cut) {
        return inq_arena_asprintf(&walk->arena, "an archive that was cut short%s", rest);
    }
    return archive->n > 0 ? "" : "an empty archive";
}

int inq_discovery_open_archive(struct inq_discovery *walk, size_t file, const char *temp,
                               const struct inq_source_options *options, struct inq_err *err)
{
    walk->files[file].is_archive = true;
    if (walk->files[file].level >= INQ_MAX_ARCHIVE_LEVELS) {
        walk->files[file].reason = "archives nested too deep";
        return INQ_OK;
    }
    struct inq_source *source = NULL;
    struct inq_archive archive = {0};
    struct inq_damage damage = {0};
    struct inq_err why = {0};
    struct inq_source_part part = walk->files[file].part;
    int code = inq_source_open_part(walk->files[file].path, &part, options, &source, &why);
    if (code == INQ_OK && inq_source_compressed(source)) {
        code = spool(walk, source, temp, &part, &why);
        damage = *inq_source_damage(source);
    }
    inq_source_close(source);
    if (code == INQ_OK || code == INQ_IO) {
        size_t room = room_of(walk);
        int listed = inq_archive_list(&part, room, &walk->arena, &archive, &why);
        code = listed != INQ_OK ? listed : code;
        if (listed == INQ_LIMIT) {
            why = (struct inq_err){0};
            (void)inq_err_set(&why, INQ_LIMIT,
                              "more files than one call takes, %zu of them are read: unpack it and "
                              "give its folders one by one",
                              room);
        }
    }
    bool lasting = code == INQ_NOMEM || code == INQ_CANCELLED;
    if (lasting) {
        (void)inq_err_set(err, (enum inq_code)code, "%s", why.message);
    } else {
        code = archive.reason == NULL ? add_members(walk, file, &archive, err) : INQ_OK;
        walk->files[file].reason = describe(walk, &archive, &damage, why.message);
    }
    if (code == INQ_OK && walk->files[file].reason == NULL) {
        code = out_of_memory(err);
    }
    inq_mem_free(archive.members);
    return code;
}

void inq_discovery_release(struct inq_discovery *walk)
{
    for (size_t i = 0; i < walk->n_streams; i++) {
        inq_mem_free(walk->streams[i]);
    }
    inq_mem_free(walk->streams);
    inq_mem_free(walk->files);
    inq_mem_free(walk->folders);
    inq_mem_free(walk->links);
    if (walk->has_spool) {
        (void)close(walk->spool_fd);
    }
    inq_map_release(&walk->seen);
    inq_arena_release(&walk->arena);
    *walk = (struct inq_discovery){0};
}
