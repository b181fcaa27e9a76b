/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/walk.h"

#include "base/mem.h"
#include "base/sort.h"
#include "ingest/budget.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIPE_CHUNK ((size_t)1 << 20)

static int out_of_memory(struct inq_err *err)
{
    return inq_err_set(err, INQ_NOMEM, "out of memory while listing files");
}

static int add_file(struct inq_walk *walk, const char *path, uint64_t size, const char *reason,
                    struct inq_err *err)
{
    int code = inq_mem_grow(&walk->files, &walk->cap, walk->n + 1, sizeof *walk->files,
                            INQ_MAX_FILES, err);
    if (code == INQ_OK) {
        walk->files[walk->n++] = (struct inq_walk_file){path, size, reason, NULL};
    }
    return code;
}

/* Lists what cannot be read, with the system's words for it. */
static int add_failure(struct inq_walk *walk, const char *path, int error, struct inq_err *err)
{
    char text[128];
    const char *reason = inq_arena_strdup(&walk->arena, strerror_r(error, text, sizeof text));
    return reason != NULL ? add_file(walk, path, 0, reason, err) : out_of_memory(err);
}

static int add_folder(struct inq_walk_folder **list, size_t *n, size_t *cap,
                      struct inq_walk_folder folder, struct inq_err *err)
{
    int code = inq_mem_grow(list, cap, *n + 1, sizeof folder, INQ_MAX_FILES, err);
    if (code == INQ_OK) {
        (*list)[(*n)++] = folder;
    }
    return code;
}

/* True when this very folder or file was met before, by whatever path. */
static int met_before(struct inq_walk *walk, const struct stat *info, bool *met,
                      struct inq_err *err)
{
    uint64_t id[2] = {(uint64_t)info->st_dev, (uint64_t)info->st_ino};
    uint64_t key = inq_hash_bytes(id, sizeof id);
    uint32_t value;
    *met = inq_map_get(&walk->seen, key, &value);
    return *met ? INQ_OK : inq_map_put(&walk->seen, key, 0, err);
}

/* All that a pipe delivers, up to half of the memory; *bytes is the caller's. */
static int drain(int fd, char **bytes, size_t *n, struct inq_err *err)
{
    size_t cap = 0;
    size_t max = (size_t)(inq_machine_memory() / 2);
    for (;;) {
        if (*n == cap) {
            int code = inq_mem_grow(bytes, &cap, cap == 0 ? PIPE_CHUNK : cap + 1, 1, max, err);
            if (code != INQ_OK) {
                return code;
            }
        }
        ssize_t got = read(fd, *bytes + *n, cap - *n);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return got == 0 ? INQ_OK : inq_err_set(err, INQ_IO, "reading failed");
        }
        *n += (size_t)got;
    }
}

/* A pipe that the user names ("<(zstd -dc ...)", /dev/stdin). What it gave until it failed is kept.
 */
static int take_stream(struct inq_walk *walk, const char *path, struct inq_err *err)
{
    int code = inq_mem_grow(&walk->streams, &walk->cap_streams, walk->n_streams + 1,
                            sizeof *walk->streams, INQ_MAX_FILES, err);
    if (code != INQ_OK) {
        return code;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return add_failure(walk, path, errno, err);
    }
    char *bytes = NULL;
    size_t n = 0;
    struct inq_err why = {0};
    code = drain(fd, &bytes, &n, &why);
    (void)close(fd);
    if (bytes != NULL) {
        walk->streams[walk->n_streams++] = bytes;
    }
    if (code == INQ_NOMEM) {
        return out_of_memory(err);
    }
    code = add_file(walk, path, n, NULL, err);
    if (code == INQ_OK) {
        walk->files[walk->n - 1].bytes = n > 0 ? bytes : "";
    }
    return code;
}

/* Takes one path that exists: a folder is entered later, a file is listed. */
static int take(struct inq_walk *walk, struct inq_walk_folder at, bool given, struct inq_err *err)
{
    struct stat info;
    if (stat(at.path, &info) != 0) {
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
    if (pipe && given) {
        return take_stream(walk, at.path, err);
    }
    if (!S_ISREG(info.st_mode)) {
        return add_file(walk, at.path, 0, "not a regular file", err);
    }
    return add_file(walk, at.path, info.st_size > 0 ? (uint64_t)info.st_size : 0, NULL, err);
}

static int take_entry(struct inq_walk *walk, struct inq_walk_folder at, struct inq_err *err)
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
    const struct inq_walk_folder *x = a;
    const struct inq_walk_folder *y = b;
    return strcmp(x->path, y->path);
}

static int compare_files(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    const struct inq_walk_file *x = a;
    const struct inq_walk_file *y = b;
    return strcmp(x->path, y->path);
}

/* The names in a folder as paths, sorted. `list` is the caller's to free. */
static int list_folder(struct inq_walk *walk, const struct inq_walk_folder *folder, DIR *dir,
                       struct inq_walk_folder **list, size_t *n, struct inq_err *err)
{
    size_t cap = 0;
    size_t len = strlen(folder->path);
    const char *slash = len > 0 && folder->path[len - 1] == '/' ? "" : "/";
    struct dirent *entry;
    while ((entry = readdir(dir)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
            continue;
        }
        struct inq_walk_folder at = {.level = folder->level + 1};
        at.path = inq_arena_printf(&walk->arena, "%s%s%s", folder->path, slash, entry->d_name);
        int code = at.path != NULL ? add_folder(list, n, &cap, at, err) : out_of_memory(err);
        if (code != INQ_OK) {
            return code;
        }
    }
    return inq_sort(*list, *n, sizeof **list, compare_folders, NULL, err);
}

static int enter(struct inq_walk *walk, struct inq_walk_folder folder, struct inq_err *err)
{
    DIR *dir = opendir(folder.path);
    if (dir == NULL) {
        return add_failure(walk, folder.path, errno, err);
    }
    struct inq_walk_folder *list = NULL;
    size_t n = 0;
    int code = list_folder(walk, &folder, dir, &list, &n, err);
    (void)closedir(dir);
    for (size_t i = 0; i < n && code == INQ_OK; i++) {
        code = take_entry(walk, list[i], err);
    }
    inq_mem_free(list);
    return code;
}

/* Everything below the folders found so far, then what only links lead to. */
static int follow(struct inq_walk *walk, struct inq_err *err)
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
static int take_given(struct inq_walk *walk, const char *const *paths, size_t n,
                      struct inq_err *err)
{
    struct inq_walk_folder *given = inq_mem_zalloc(n, sizeof *given);
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
        } else if (stat(paths[i], &info) != 0 && (errno == ENOENT || errno == ENOTDIR)) {
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

int inq_walk_paths(const char *const *paths, size_t n, struct inq_walk *walk, struct inq_err *err)
{
    int code = take_given(walk, paths, n, err);
    if (code == INQ_OK) {
        code = follow(walk, err);
    }
    if (code == INQ_OK) {
        code = inq_sort(walk->files, walk->n, sizeof *walk->files, compare_files, NULL, err);
    }
    return code;
}

int inq_walk_add_memory(struct inq_walk *walk, const char *name, const void *bytes, size_t n,
                        struct inq_err *err)
{
    const char *path = inq_arena_strdup(&walk->arena, name);
    int code = path != NULL ? add_file(walk, path, n, NULL, err) : out_of_memory(err);
    if (code == INQ_OK) {
        walk->files[walk->n - 1].bytes = n > 0 ? bytes : "";
    }
    return code;
}

void inq_walk_release(struct inq_walk *walk)
{
    for (size_t i = 0; i < walk->n_streams; i++) {
        inq_mem_free(walk->streams[i]);
    }
    inq_mem_free(walk->streams);
    inq_mem_free(walk->files);
    inq_mem_free(walk->folders);
    inq_mem_free(walk->links);
    inq_map_release(&walk->seen);
    inq_arena_release(&walk->arena);
    *walk = (struct inq_walk){0};
}
