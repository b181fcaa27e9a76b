/* SPDX-License-Identifier: Apache-2.0 */
/* inquest info PATH...: what is here. */
#include "cli/cli.h"

int inq_cmd_info(struct inq_cli *cli)
{
    struct inq_run *run = NULL;
    int status = inq_cli_ingest(cli, &run);
    if (status != INQ_EXIT_OK) {
        return status;
    }
    struct inq_err err = {0};
    struct inq_cli_output output;
    int code = inq_cli_output_open(cli, &output, &err);
    if (code == INQ_OK) {
        struct inq_report_options options = inq_cli_report_options(cli);
        code = inq_info_write(run, &options, inq_cli_output_sink(&output), &err);
        code = inq_cli_output_close(&output, code, &err);
    }
    inq_run_free(run);
    return code == INQ_OK ? INQ_EXIT_OK : inq_cli_fail(cli, &err, NULL);
}
