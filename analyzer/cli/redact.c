/* SPDX-License-Identifier: Apache-2.0 */
/* --redact: names out of a run before anything is said of it. */
#include "cli/cli.h"

#include "inquest/memory.h"
#include "inquest/redact.h"

#include <stdio.h>
#include <string.h>

/* "hosts 2, paths 17, users 1, kernels 40, modules 0" */
static void count_names(struct inq_cli *cli, const struct inq_redaction *redaction)
{
    size_t n = 0;
    for (int k = 0; k < INQ_REDACT_KIND_COUNT && n < sizeof cli->redacted; k++) {
        int written = snprintf(cli->redacted + n, sizeof cli->redacted - n, "%s%ss %zu",
                               k > 0 ? ", " : "", inq_redact_kind_text((enum inq_redact_kind)k),
                               inq_redaction_count(redaction, (enum inq_redact_kind)k));
        n += written > 0 ? (size_t)written : 0;
    }
}

/* NULL *key: none was given. */
static int read_key(const struct inq_cli *cli, char **key, size_t *n, struct inq_err *err)
{
    enum { MOST = 1 << 20 }; /* a key is no trace given by mistake */
    const char *path = cli->value[INQ_OPT_REDACT_KEY];
    if (path == NULL) {
        return INQ_OK;
    }
    int code = inq_cli_read_file(path, MOST, key, n, err);
    if (code == INQ_OK && *n == 0) {
        code = inq_err_at(err, INQ_USAGE, path, -1, "there is no secret in '%s'", path);
    }
    return code;
}

static int write_map(const struct inq_cli *cli, const struct inq_redaction *redaction,
                     struct inq_err *err)
{
    struct inq_cli_output output;
    const char *path = cli->value[INQ_OPT_REDACT_MAP];
    int code = path != NULL ? inq_cli_output_open_path(cli, path, &output, err) : INQ_OK;
    if (path != NULL && code == INQ_OK) {
        code = inq_redaction_map(redaction, inq_cli_output_sink(&output), err);
        code = inq_cli_output_close(&output, code, err);
    }
    return code;
}

int inq_cli_redact(struct inq_cli *cli, struct inq_run *run)
{
    struct inq_err err = {0};
    struct inq_redaction *redaction = NULL;
    char *key = NULL;
    size_t n = 0;
    if (!cli->given[INQ_OPT_REDACT] && !cli->given[INQ_OPT_REDACT_KEY] &&
        !cli->given[INQ_OPT_REDACT_MAP]) {
        return INQ_EXIT_OK;
    }
    int code = read_key(cli, &key, &n, &err);
    if (code == INQ_OK) {
        code = inq_redaction_new(key, n, &redaction, &err);
    }
    if (code == INQ_OK) {
        code = inq_redaction_apply(redaction, run, &err);
    }
    if (code == INQ_OK) {
        code = write_map(cli, redaction, &err);
    }
    if (code == INQ_OK) {
        count_names(cli, redaction);
        inq_cli_note(cli, "redacted: %s; operators, annotations and process groups are as recorded",
                     cli->redacted);
    }
    inq_redaction_free(redaction);
    inq_mem_free(key);
    return code == INQ_OK ? INQ_EXIT_OK : inq_cli_fail(cli, &err, NULL);
}
