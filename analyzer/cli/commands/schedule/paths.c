/* SPDX-License-Identifier: Apache-2.0 */
/* The files that words mean: schedules, several in one call, and folders of them. */
#include "cli/commands/schedule/schedule.h"

#include "inquest/memory.h"

#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_PATHS = 100000, MAX_DEPTH = 16 };

int inq_paths_add(struct inq_paths *paths, struct inq_err *err, const char *fmt, ...)
{
    char path[4096];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(path, sizeof path, fmt, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof path) {
        return inq_err_set(err, INQ_LIMIT, "a path is too long");
    }
    int code =
        inq_mem_grow(&paths->at, &paths->cap, paths->n + 1, sizeof *paths->at, MAX_PATHS, err);
    char *copy = code == INQ_OK ? inq_mem_alloc((size_t)n + 1) : NULL;
    if (code == INQ_OK && copy == NULL) {
        code = inq_err_set(err, INQ_NOMEM, "out of memory for paths");
    }
    if (code == INQ_OK) {
        memcpy(copy, path, (size_t)n + 1);
        paths->at[paths->n++] = copy;
    }
    return code;
}

void inq_paths_release(struct inq_paths *paths)
{
    for (size_t i = 0; i < paths->n; i++) {
        inq_mem_free(paths->at[i]);
    }
    inq_mem_free(paths->at);
    *paths = (struct inq_paths){0};
}

static bool is_csv(const char *path)
{
    size_t len = strlen(path);
    return len > 4 && strcmp(path + len - 4, ".csv") == 0;
}

/* CSV files below a folder, by name; nothing is followed out of it. */
static int add_folder(const char *folder, int depth, struct inq_paths *paths, struct inq_err *err)
{
    struct dirent **entries = NULL;
    int n = depth < MAX_DEPTH ? scandir(folder, &entries, NULL, alphasort) : 0;
    size_t len = strlen(folder);
    int code = INQ_OK;
    for (int i = 0; i < n; i++) {
        const char *name = entries[i]->d_name;
        struct inq_paths one = {0};
        struct stat info;
        if (code == INQ_OK && name[0] != '.') {
            code =
                inq_paths_add(&one, err, "%s%s%s", folder, folder[len - 1] == '/' ? "" : "/", name);
        }
        bool there = one.n == 1 && lstat(one.at[0], &info) == 0;
        if (there && S_ISDIR(info.st_mode)) {
            code = add_folder(one.at[0], depth + 1, paths, err);
        } else if (there && is_csv(name)) {
            code = inq_paths_add(paths, err, "%s", one.at[0]);
        }
        inq_paths_release(&one);
        free(entries[i]); /* scandir's */
    }
    free(entries);
    return code;
}

/* A folder of traces may hold a table or two: one of schedules holds a schedule. */
static bool holds_schedules(const struct inq_cli *cli, const struct inq_paths *paths, size_t first)
{
    for (size_t i = first; i < paths->n; i++) {
        if (inq_cli_is_schedule(cli, paths->at[i])) {
            return true;
        }
    }
    return false;
}

int inq_work_files(const struct inq_cli *cli, const char *const *words, size_t n,
                   struct inq_paths *paths, bool *schedules, struct inq_err *err)
{
    int code = INQ_OK;
    *schedules = true;
    for (size_t i = 0; code == INQ_OK && i < n; i++) {
        struct stat info;
        size_t before = paths->n;
        bool folder = stat(words[i], &info) == 0 && S_ISDIR(info.st_mode);
        if (folder) {
            code = add_folder(words[i], 0, paths, err);
        }
        if (folder && code == INQ_OK && holds_schedules(cli, paths, before)) {
            continue;
        }
        while (paths->n > before) {
            inq_mem_free(paths->at[--paths->n]);
        }
        if (code == INQ_OK) {
            code = inq_paths_add(paths, err, "%s", words[i]);
        }
        *schedules = *schedules && !folder && (is_csv(words[i]) || strcmp(words[i], "-") == 0);
    }
    return code;
}
