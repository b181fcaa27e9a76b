/* SPDX-License-Identifier: Apache-2.0 */
/* The handle: a simulated run, its files, its truth. */
#include "synth/run.h"

#include "inquest/out.h"
#include "base/mem.h"

#include <inttypes.h>
#include <string.h>

enum { GZIP_LEVEL = 5, FIRST_PID = 4000 };

static char *file_name(struct inq_synth *synth, int32_t rank)
{
    const struct inq_synth_spec *spec = &synth->spec;
    const char *suffix = spec->gz ? ".gz" : "";
    if (spec->names == INQ_SYNTH_NAMES_HANDLER) {
        return inq_arena_printf(
            &synth->arena,
            "node-%02" PRId32 "_%" PRId32 ".17684640%02" PRId32 "000000000.pt.trace.json%s",
            rank / spec->gpus_per_host, FIRST_PID + rank % spec->gpus_per_host, rank % 100, suffix);
    }
    return inq_arena_printf(&synth->arena, "rank-%" PRId32 ".pt.trace.json%s", rank, suffix);
}

static int list_files(struct inq_synth *synth, struct inq_err *err)
{
    size_t world = (size_t)synth->sim.plan.world;
    synth->files = inq_arena_array(&synth->arena, world, sizeof *synth->files);
    if (synth->files == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory");
    }
    for (size_t rank = 0; rank < world; rank++) {
        struct synth_file *file = &synth->files[synth->n_files];
        if (!inq_synth_missing(&synth->spec, (int32_t)rank)) {
            file->rank = (int32_t)rank;
            file->name = file_name(synth, (int32_t)rank);
            if (file->name == NULL) {
                return inq_err_set(err, INQ_NOMEM, "out of memory");
            }
            synth->n_files++;
        }
    }
    return INQ_OK;
}

int inq_synth_new(const struct inq_synth_spec *spec, struct inq_synth **synth, struct inq_err *err)
{
    *synth = NULL;
    struct inq_synth *made = inq_mem_zalloc(1, sizeof *made);
    if (made == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory");
    }
    made->spec = *spec;
    int code = inq_synth_spec_check(&made->spec, err);
    if (code == INQ_OK) {
        uint64_t all = ((uint64_t)1 << made->spec.n_faults) - 1;
        code = inq_synth_simulate(&made->sim, &made->spec, all, err);
    }
    if (code == INQ_OK) {
        code = list_files(made, err);
    }
    if (code == INQ_OK) {
        code = inq_synth_find_truth(made, err);
    }
    if (code != INQ_OK) {
        inq_synth_free(made);
        return code;
    }
    *synth = made;
    return INQ_OK;
}

void inq_synth_free(struct inq_synth *synth)
{
    if (synth != NULL) {
        inq_synth_sim_release(&synth->sim);
        inq_arena_release(&synth->arena);
        inq_mem_free(synth);
    }
}

const struct inq_synth_truth *inq_synth_truth(const struct inq_synth *synth)
{
    return &synth->truth;
}

size_t inq_synth_files(const struct inq_synth *synth)
{
    return synth->n_files;
}

const char *inq_synth_file_name(const struct inq_synth *synth, size_t file)
{
    return synth->files[file].name;
}

int32_t inq_synth_file_rank(const struct inq_synth *synth, size_t file)
{
    return synth->files[file].rank;
}

/* The part of `n` bytes that is left of a cut file. */
static size_t left_of(const struct inq_synth *synth, int32_t rank, size_t n)
{
    double left = (double)n * inq_synth_cut(&synth->spec, rank);
    return left < (double)n ? (size_t)left : n;
}

int inq_synth_file_write(const struct inq_synth *synth, size_t file, struct inq_sink sink,
                         struct inq_err *err)
{
    int32_t rank = synth->files[file].rank;
    struct inq_out text = {0};
    struct inq_out packed = {0};
    inq_synth_emit(&synth->sim, rank, &text);
    int code = text.code;
    if (code == INQ_OK && synth->spec.gz) {
        code = inq_gzip_write(&packed, text.buf, text.len, GZIP_LEVEL, err);
    }
    const struct inq_out *whole = synth->spec.gz ? &packed : &text;
    if (code == INQ_OK) {
        code = sink.write(sink.ctx, whole->buf, left_of(synth, rank, whole->len));
    }
    inq_out_release(&packed);
    inq_out_release(&text);
    if (code != INQ_OK) {
        return inq_err_set(err, (enum inq_code)code, "could not write %s", synth->files[file].name);
    }
    return INQ_OK;
}
