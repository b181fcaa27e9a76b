/* SPDX-License-Identifier: Apache-2.0 */
/* inquest help [COMMAND] */
#include "cli/cli.h"

int inq_cmd_help(struct inq_cli *cli)
{
    const struct inq_command *about = NULL;
    if (cli->n_words > 1) {
        return inq_cli_usage(cli, NULL, "'inquest help' explains one command at a time");
    }
    if (cli->n_words == 1) {
        about = inq_command_find(cli->words[0]);
        if (about == NULL) {
            return inq_cli_usage(cli, "'inquest help' lists the commands",
                                 "there is no command '%s'", cli->words[0]);
        }
    }
    struct inq_out out = {0};
    struct inq_err err = {0};
    inq_cli_help(about, &out);
    int code = out.code != INQ_OK ? inq_err_set(&err, INQ_NOMEM, "no memory for the help")
                                  : inq_cli_stdout(cli, out.buf, out.len, false, &err);
    inq_out_release(&out);
    return code == INQ_OK ? INQ_EXIT_OK : inq_cli_fail(cli, &err, NULL);
}
