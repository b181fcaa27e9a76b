/* SPDX-License-Identifier: Apache-2.0 */
/* A run written to disk: each file under a temporary name first. */
#include "synth/run.h"

#include "base/par.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static int write_bytes(void *ctx, const char *bytes, size_t n)
{
    return fwrite(bytes, 1, n, ctx) == n ? INQ_OK : INQ_IO;
}

/* What fills one file. */
struct content {
    const struct inq_synth *synth;
    bool truth;
    size_t file;
};

static int fill(const struct content *content, FILE *stream, struct inq_err *err)
{
    struct inq_sink sink = {.write = write_bytes, .ctx = stream};
    return content->truth ? inq_synth_truth_write(content->synth, sink, err)
                          : inq_synth_file_write(content->synth, content->file, sink, err);
}

static int write_file(const char *dir, const char *name, const struct content *content,
                      struct inq_err *err)
{
    char path[PATH_MAX];
    char temporary[PATH_MAX];
    int len = snprintf(path, sizeof path, "%s/%s", dir, name);
    int temporary_len = snprintf(temporary, sizeof temporary, "%s/.%s.tmp", dir, name);
    if (len < 0 || temporary_len < 0 || temporary_len >= PATH_MAX) {
        return inq_err_at(err, INQ_USAGE, dir, -1, "the path is too long");
    }
    FILE *stream = fopen(temporary, "wb");
    if (stream == NULL) {
        return inq_err_at(err, INQ_IO, temporary, -1, "%s", strerror(errno));
    }
    int code = fill(content, stream, err);
    if (fclose(stream) != 0 && code == INQ_OK) {
        code = inq_err_at(err, INQ_IO, temporary, -1, "%s", strerror(errno));
    }
    if (code == INQ_OK && rename(temporary, path) != 0) {
        code = inq_err_at(err, INQ_IO, path, -1, "%s", strerror(errno));
    }
    if (code != INQ_OK) {
        (void)remove(temporary);
    }
    return code;
}

struct folder {
    const struct inq_synth *synth;
    const char *dir;
};

static int write_one(void *ctx, size_t i, struct inq_err *err)
{
    const struct folder *folder = ctx;
    struct content content = {.synth = folder->synth, .file = i};
    return write_file(folder->dir, inq_synth_file_name(folder->synth, i), &content, err);
}

/* The folder and those around it. */
static int make_dirs(const char *dir, struct inq_err *err)
{
    char path[PATH_MAX];
    int len = snprintf(path, sizeof path, "%s", dir);
    if (len < 0 || len >= PATH_MAX) {
        return inq_err_at(err, INQ_USAGE, dir, -1, "the path is too long");
    }
    for (char *p = path + (path[0] == '/'); *p != '\0'; p++) {
        if (*p == '/') {
            *p = '\0';
            (void)mkdir(path, 0777); /* the last one says what is wrong */
            *p = '/';
        }
    }
    return mkdir(path, 0777) == 0 || errno == EEXIST
               ? INQ_OK
               : inq_err_at(err, INQ_IO, dir, -1, "%s", strerror(errno));
}

int inq_synth_write_dir(const struct inq_synth *synth, const char *dir, int jobs,
                        struct inq_err *err)
{
    struct folder folder = {.synth = synth, .dir = dir};
    struct content truth = {.synth = synth, .truth = true};
    int code = make_dirs(dir, err);
    if (code == INQ_OK) {
        code = inq_par_for(inq_synth_files(synth), jobs, write_one, &folder, err);
    }
    return code == INQ_OK ? write_file(dir, "truth.json", &truth, err) : code;
}
