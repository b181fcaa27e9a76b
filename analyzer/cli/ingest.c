/* SPDX-License-Identifier: Apache-2.0 */
/* What every command that reads traces does: ingest with a progress line. */
#include "cli/cli.h"

/* choices of --align */
enum { ALIGN_AUTO, ALIGN_NONE };

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
    return INQ_EXIT_OK;
}

struct inq_report_options inq_cli_report_options(const struct inq_cli *cli)
{
    int width = inq_cli_width();
    enum { NARROWEST = 72, WIDEST = 100 };
    return (struct inq_report_options){
        .format = cli->format,
        .width = width <= 0 || width > WIDEST ? WIDEST
                 : width < NARROWEST          ? NARROWEST
                                              : width,
        .color = inq_cli_color(cli),
        .utf8 = inq_cli_utf8(),
        .verbose = cli->given[INQ_OPT_VERBOSE],
    };
}
