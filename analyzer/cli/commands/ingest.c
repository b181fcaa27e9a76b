/* SPDX-License-Identifier: Apache-2.0 */
/* inquest ingest PATH... -o DIR: partials. */
#include "cli/cli.h"
#include "inquest/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int print(const struct inq_cli *cli, const struct inq_partials *p, const char *dir)
{
    struct inq_out out = {0};
    struct inq_err err = {0};
    size_t all = p->written + p->as_they_are + p->kept;
    char partials[32];
    char input[32];
    inq_out_printf(&out, "%zu partial%s in %s: %zu made of traces", all, all == 1 ? "" : "s", dir,
                   p->written);
    if (p->as_they_are > 0) {
        inq_out_printf(&out, ", %zu cop%s of other files", p->as_they_are,
                       p->as_they_are == 1 ? "y" : "ies");
    }
    if (p->kept > 0) {
        inq_out_printf(&out, ", %zu kept since %s not changed", p->kept,
                       p->kept == 1 ? "its file has" : "their files have");
    }
    inq_out_printf(
        &out, "; %s for %s of input\n",
        inq_size_format((double)p->bytes_out, INQ_SIZE_DECIMAL, partials, sizeof partials),
        inq_size_format((double)p->bytes_in, INQ_SIZE_DECIMAL, input, sizeof input));
    if (p->withheld > 0) {
        inq_out_printf(&out, "%zu file%s left out: names cannot be replaced in what is no trace\n",
                       p->withheld, p->withheld == 1 ? "" : "s");
    }
    if (p->not_read > 0) {
        inq_out_printf(&out, "%zu file%s could not be read: 'inquest info' says why\n", p->not_read,
                       p->not_read == 1 ? "" : "s");
    }
    int code = out.code != INQ_OK ? inq_err_set(&err, INQ_NOMEM, "no memory for the text")
                                  : inq_cli_stdout(cli, out.buf, out.len, false, &err);
    inq_out_release(&out);
    return code == INQ_OK ? INQ_EXIT_OK : inq_cli_fail(cli, &err, NULL);
}

/* "I/N": share I, counted from 0, of N. */
static bool read_share(const char *text, struct inq_ingest_options *options)
{
    enum { MOST_DIGITS = 9 };
    static const char digits[] = "0123456789";
    size_t first = strspn(text, digits);
    const char *second = text + first + (text[first] == '/');
    size_t n = strspn(second, digits);
    if (first == 0 || first > MOST_DIGITS || text[first] != '/' || n == 0 || n > MOST_DIGITS ||
        second[n] != '\0') {
        return false;
    }
    options->share = strtoul(text, NULL, 10);
    options->n_shares = strtoul(second, NULL, 10);
    return options->share < options->n_shares;
}

/* Steps that stay whole; 0: all. */
static int read_steps(const struct inq_cli *cli, struct inq_ingest_options *options)
{
    enum { MOST_STEPS = 100000 };
    int64_t steps = INQ_REDUCED_STEPS;
    if (cli->given[INQ_OPT_STEPS] && !cli->given[INQ_OPT_REDUCED]) {
        return inq_cli_usage(cli, NULL, "--steps says how many steps --reduced keeps");
    }
    int status = inq_cli_whole(cli, INQ_OPT_STEPS, 1, MOST_STEPS, &steps);
    options->reduced_steps = cli->given[INQ_OPT_REDUCED] ? (size_t)steps : 0;
    return status;
}

int inq_cmd_ingest(struct inq_cli *cli)
{
    const char *dir = cli->value[INQ_OPT_FOLDER];
    struct inq_partials partials;
    struct inq_cli_progress progress;
    struct inq_err err = {0};
    if (cli->n_words == 0 || dir == NULL) {
        return inq_cli_usage(cli, NULL, "'inquest ingest' takes files or folders and -o DIR");
    }
    struct inq_ingest_options options = {
        .jobs = cli->jobs,
        .temp_dir = getenv("TMPDIR"),
        .progress = inq_cli_progress_tick,
        .progress_ctx = &progress,
    };
    const char *share = cli->value[INQ_OPT_SHARE];
    if (share != NULL && !read_share(share, &options)) {
        return inq_cli_usage(
            cli, "for example --share $SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT",
            "'%.100s' is no share like 0/16, the first of 16, to 15/16, the last", share);
    }
    int status = read_steps(cli, &options);
    if (status != INQ_EXIT_OK) {
        return status;
    }
    inq_cli_progress_init(cli, &progress);
    int code = inq_cli_partials(cli, &options, &partials, &err);
    inq_cli_progress_clear(&progress);
    if (code != INQ_OK) {
        return inq_cli_fail(cli, &err, NULL);
    }
    return cli->given[INQ_OPT_QUIET] ? INQ_EXIT_OK : print(cli, &partials, dir);
}
