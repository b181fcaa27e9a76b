/* SPDX-License-Identifier: Apache-2.0 */
/* What every command that reads traces does: ingest with a progress line. */
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* choices of --align */
enum { ALIGN_AUTO, ALIGN_NONE };

/* Whether kernels by operator were asked for: to read every operator takes several times as long.
 */
static bool wants_operators(const struct inq_cli *cli)
{
    const char *only = cli->value[INQ_OPT_ONLY];
    const char *table = cli->value[INQ_OPT_TABLE];
    return strcmp(cli->command->name, "analyze") == 0 &&
           (cli->given[INQ_OPT_VERBOSE] || cli->format == INQ_FORMAT_SQLITE ||
            (only != NULL && strstr(only, "kernels") != NULL) ||
            (table != NULL && strcmp(table, "kernels") == 0));
}

int inq_cli_ingest(struct inq_cli *cli, struct inq_run **run)
{
    struct inq_cli_progress progress;
    struct inq_err err = {0};
    if (cli->n_words == 0) {
        return inq_cli_usage(cli, NULL, "'inquest %s' needs a file or folder", cli->command->name);
    }
    inq_cli_progress_init(cli, &progress);
    struct inq_ingest_options options = {
        .jobs = cli->jobs,
        .align = cli->choice[INQ_OPT_ALIGN] == ALIGN_NONE ? INQ_ALIGN_NONE : INQ_ALIGN_AUTO,
        .operators = wants_operators(cli),
        .temp_dir = getenv("TMPDIR"),
        .progress = inq_cli_progress_tick,
        .progress_ctx = &progress,
    };
    int code = inq_ingest(cli->words, cli->n_words, &options, run, &err);
    inq_cli_progress_clear(&progress);
    if (code != INQ_OK) {
        return inq_cli_fail(cli, &err, NULL);
    }
    if ((*run)->n_traces == 0 && (*run)->n_skipped == 0) {
        inq_run_free(*run);
        *run = NULL;
        (void)inq_err_at(&err, INQ_NOT_FOUND, cli->words[0], -1, "there is no file in it");
        return inq_cli_fail(cli, &err, "give a folder that holds traces, or the files themselves");
    }
    code = inq_cli_keep_inputs(cli, *run, &err);
    return code == INQ_OK ? inq_cli_redact(cli, *run) : inq_cli_fail(cli, &err, NULL);
}

int inq_cli_no_trace(const struct inq_cli *cli, const struct inq_run *run)
{
    struct inq_err err = {.code = INQ_FORMAT, .offset = -1};
    const struct inq_file *first = &run->skipped[0];
    (void)snprintf(err.message, sizeof err.message, "no trace among %zu file%s; %.200s: %.200s",
                   run->n_skipped, run->n_skipped == 1 ? "" : "s", first->path, first->reason);
    return inq_cli_fail(cli, &err,
                        "'inquest info' lists each file with the reason; "
                        "'inquest list' names the formats");
}

int inq_cli_one_job(const struct inq_cli *cli, const char *path, const struct inq_run *run,
                    struct inq_trace **trace)
{
    struct inq_err err = {0};
    int64_t number = 0;
    if (run->n_traces == 0) {
        return inq_cli_no_trace(cli, run);
    }
    int status = inq_cli_whole(cli, INQ_OPT_JOB, 1, (int64_t)run->n_traces, &number);
    if (status != INQ_EXIT_OK) {
        return status;
    }
    if (number == 0 && run->n_traces > 1) {
        (void)inq_err_at(&err, INQ_UNSUPPORTED, path, -1, "%zu jobs are here; '%s' takes one",
                         run->n_traces, cli->command->name);
        return inq_cli_fail(cli, &err, "--job N picks one, numbered as 'inquest info' lists them");
    }
    *trace = run->traces[number > 0 ? number - 1 : 0];
    return INQ_EXIT_OK;
}
