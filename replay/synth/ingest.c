/* SPDX-License-Identifier: Apache-2.0 */
/* A run read back without a disk. */
#include "inquest/ingest.h"
#include "synth/synth.h"

#include "base/mem.h"
#include "base/par.h"

/* The files of a run in memory. */
struct files {
    const struct inq_synth *synth;
    struct inq_out *bytes;
};

static int collect(void *ctx, const char *bytes, size_t n)
{
    struct inq_out *out = ctx;
    inq_out_bytes(out, bytes, n);
    return out->code;
}

static int write_one(void *ctx, size_t i, struct inq_err *err)
{
    struct files *files = ctx;
    struct inq_sink sink = {.write = collect, .ctx = &files->bytes[i]};
    return inq_synth_file_write(files->synth, i, sink, err);
}

int inq_synth_ingest(const struct inq_synth *synth, bool align, int jobs, struct inq_run **run,
                     struct inq_err *err)
{
    struct inq_ingest_options options = {.jobs = jobs,
                                         .align = align ? INQ_ALIGN_AUTO : INQ_ALIGN_NONE};
    size_t n = inq_synth_files(synth);
    struct files files = {synth, inq_mem_zalloc(n + 1, sizeof *files.bytes)};
    struct inq_ingest_blob *blobs = inq_mem_zalloc(n + 1, sizeof *blobs);
    int code = files.bytes == NULL || blobs == NULL ? inq_err_set(err, INQ_NOMEM, "out of memory")
                                                    : inq_par_for(n, jobs, write_one, &files, err);
    *run = NULL;
    for (size_t i = 0; i < n && code == INQ_OK; i++) {
        blobs[i] = (struct inq_ingest_blob){inq_synth_file_name(synth, i), files.bytes[i].buf,
                                            files.bytes[i].len};
    }
    if (code == INQ_OK) {
        code = inq_ingest_memory(blobs, n, &options, run, err);
    }
    for (size_t i = 0; i < n && files.bytes != NULL; i++) {
        inq_out_release(&files.bytes[i]);
    }
    inq_mem_free(files.bytes);
    inq_mem_free(blobs);
    return code;
}
