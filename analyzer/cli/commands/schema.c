/* SPDX-License-Identifier: Apache-2.0 */
/* inquest schema [NAME]: the JSON Schema of a document, or which documents there are. */
#include "cli/cli.h"

#include "inquest/contract.h"

static void list_documents(struct inq_out *out)
{
    const struct inq_contract *contract;
    for (size_t i = 0; (contract = inq_contract(i)) != NULL; i++) {
        inq_out_printf(out, "%-30s%s\n", contract->schema, contract->text);
    }
}

int inq_cmd_schema(struct inq_cli *cli)
{
    struct inq_out out = {0};
    struct inq_err err = {0};
    const struct inq_contract *contract = NULL;
    int code = INQ_OK;
    if (cli->n_words > 1) {
        return inq_cli_usage(cli, NULL, "'inquest schema' takes one document at a time");
    }
    if (cli->n_words == 1) {
        contract = inq_contract_find(cli->words[0]);
        if (contract == NULL) {
            return inq_cli_usage(cli, "'inquest schema' lists the documents",
                                 "there is no document '%s'", cli->words[0]);
        }
    }
    if (contract != NULL) {
        code = inq_contract_schema(contract, inq_out_sink(&out), &err);
    } else {
        list_documents(&out);
        code = out.code != INQ_OK ? inq_err_set(&err, INQ_NOMEM, "no memory for the list") : INQ_OK;
    }
    code = code == INQ_OK ? inq_cli_stdout(cli, out.buf, out.len, false, &err) : code;
    inq_out_release(&out);
    return code == INQ_OK ? INQ_EXIT_OK : inq_cli_fail(cli, &err, NULL);
}
