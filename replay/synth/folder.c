/* SPDX-License-Identifier: Apache-2.0 */
/* A run written to disk: each file under a temporary name first. */
#include "synth/synth.h"

#include "inquest/out.h"
#include "base/par.h"

#include <limits.h>
#include <stdio.h>

/* One file of the run: a trace, or the truth. */
struct content {
    const struct inq_synth *synth;
    bool truth;
    size_t file;
};

static int fill(void *ctx, struct inq_out *out, struct inq_err *err)
{
    const struct content *content = ctx;
    struct inq_sink sink = inq_out_sink(out);
    return content->truth ? inq_synth_truth_write(content->synth, sink, err)
                          : inq_synth_file_write(content->synth, content->file, sink, err);
}

static int write_file(const char *dir, const char *name, struct content *content,
                      struct inq_err *err)
{
    char path[PATH_MAX];
    int len = snprintf(path, sizeof path, "%s/%s", dir, name);
    return len >= 0 && len < PATH_MAX ? inq_out_file(path, fill, content, err)
                                      : inq_err_at(err, INQ_USAGE, dir, -1, "the path is too long");
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

int inq_synth_write_dir(const struct inq_synth *synth, const char *dir, int jobs,
                        struct inq_err *err)
{
    struct folder folder = {.synth = synth, .dir = dir};
    struct content truth = {.synth = synth, .truth = true};
    int code = inq_par_for(inq_synth_files(synth), jobs, write_one, &folder, err);
    return code == INQ_OK ? write_file(dir, "truth.json", &truth, err) : code;
}
