/* SPDX-License-Identifier: Apache-2.0 */
/* inquest: the program of one process. */
#include "cli/cli.h"

static int read_run(const struct inq_cli *cli, const struct inq_ingest_options *options,
                    struct inq_run **run, struct inq_err *err)
{
    return inq_ingest(cli->words, cli->n_words, options, run, err);
}

static int write_partials(const struct inq_cli *cli, const char *folder,
                          const struct inq_ingest_options *options, struct inq_partials *partials,
                          struct inq_err *err)
{
    return inq_ingest_partials(cli->words, cli->n_words, folder, options, partials, err);
}

int main(int argc, char **argv)
{
    static const struct inq_cli_reading alone = {.run = read_run, .partials = write_partials};
    return inq_cli_main(argc, argv, &alone);
}
