/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/files.h"

#include "base/arena.h"

#include <string.h>

static int no_memory(const struct inq_trace *trace, struct inq_err *err)
{
    return inq_err_set(err, INQ_NOMEM, "out of memory after %zu files", trace->n_files);
}

int inq_trace_reserve_files(struct inq_trace *trace, size_t n, struct inq_err *err)
{
    struct inq_file *files = inq_arena_array(trace->arena, trace->n_files + n, sizeof *files);
    if (files == NULL) {
        return no_memory(trace, err);
    }
    if (trace->n_files > 0) {
        memcpy(files, trace->files, trace->n_files * sizeof *files);
    }
    trace->files = files;
    return INQ_OK;
}

static const char *copy_text(struct inq_trace *trace, const char *text, const char *missing)
{
    return inq_arena_strdup(trace->arena, text != NULL ? text : missing);
}

int inq_trace_keep_file(struct inq_trace *trace, const struct inq_file *file, struct inq_err *err)
{
    struct inq_file *kept = &trace->files[trace->n_files];
    *kept = *file;
    kept->path = copy_text(trace, file->path, "");
    kept->format = copy_text(trace, file->format, "unknown");
    kept->reason = copy_text(trace, file->reason, "");
    if (kept->path == NULL || kept->format == NULL || kept->reason == NULL) {
        return no_memory(trace, err);
    }
    trace->n_files++;
    return INQ_OK;
}
