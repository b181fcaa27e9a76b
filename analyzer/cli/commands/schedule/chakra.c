/* SPDX-License-Identifier: Apache-2.0 */
/* Chakra graphs of what is executed: one file a rank, named as simulators look for them. */
#include "cli/commands/schedule/schedule.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct files {
    const struct inq_cli *cli;
    struct inq_cli_output output;
};

/* "run.et" and 3: "run.3.et"; "run.et.gz": "run.3.et.gz"; "run", which -f goes with: "run.3.et". */
static int name_of(const char *path, int32_t rank, char *name, size_t size)
{
    static const char *const ends[] = {".et.gz", ".et", ".gz"};
    size_t len = strlen(path);
    const char *end = "";
    for (size_t i = 0; i < sizeof ends / sizeof *ends && end[0] == '\0'; i++) {
        size_t n = strlen(ends[i]);
        end = len > n && strcmp(path + len - n, ends[i]) == 0 ? ends[i] : "";
    }
    int n = snprintf(name, size, "%.*s.%" PRId32 ".et%s", (int)(len - strlen(end)), path, rank,
                     inq_cli_is_gzip(path) ? ".gz" : "");
    return n > 0 && (size_t)n < size ? INQ_OK : INQ_USAGE;
}

static int open_rank(void *ctx, int32_t rank, struct inq_sink *sink, struct inq_err *err)
{
    struct files *files = ctx;
    char name[4096];
    const char *path = files->cli->value[INQ_OPT_OUTPUT];
    if (name_of(path, rank, name, sizeof name) != INQ_OK) {
        return inq_err_set(err, INQ_USAGE, "the name given with -o is too long");
    }
    int code = inq_cli_output_open_path(files->cli, name, &files->output, err);
    *sink = inq_cli_output_sink(&files->output);
    return code;
}

static int close_rank(void *ctx, int code, struct inq_err *err)
{
    struct files *files = ctx;
    return inq_cli_output_close(&files->output, code, err);
}

int inq_cli_write_chakra(const struct inq_cli *cli, const struct inq_plan *plan,
                         const struct inq_execution *execution, struct inq_err *err)
{
    struct files files = {.cli = cli};
    const struct inq_rank_files ranks = {open_rank, close_rank, &files};
    const char *path = cli->value[INQ_OPT_OUTPUT];
    if (path == NULL || strcmp(path, "-") == 0) {
        return inq_err_set(err, INQ_USAGE,
                           "Chakra graphs are one file for each rank: -o run.et names run.0.et, "
                           "run.1.et, ...");
    }
    return inq_execution_chakra(plan, execution, &ranks, err);
}
