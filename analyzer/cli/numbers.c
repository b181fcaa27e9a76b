/* SPDX-License-Identifier: Apache-2.0 */
/* Options that take one number. */
#include "cli/cli.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

int inq_cli_whole(const struct inq_cli *cli, enum inq_option_id id, int64_t least, int64_t most,
                  int64_t *value)
{
    const char *text = cli->value[id];
    if (text == NULL) {
        return INQ_EXIT_OK;
    }
    char *end = NULL;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || number < least || number > most) {
        const char *name = inq_cli_option(id)->name;
        return least == 1 && most >= INT32_MAX
                   ? inq_cli_usage(cli, NULL, "--%s takes a positive number, not '%s'", name, text)
                   : inq_cli_usage(cli, NULL,
                                   "--%s takes a number from %" PRId64 " to %" PRId64 ", not '%s'",
                                   name, least, most, text);
    }
    *value = number;
    return INQ_EXIT_OK;
}

int inq_cli_positive(const struct inq_cli *cli, enum inq_option_id id, double *value)
{
    const char *text = cli->value[id];
    if (text == NULL) {
        return INQ_EXIT_OK;
    }
    char *end = NULL;
    double number = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(number) || !(number > 0.0)) {
        return inq_cli_usage(cli, NULL, "--%s takes a positive number, not '%s'",
                             inq_cli_option(id)->name, text);
    }
    *value = number;
    return INQ_EXIT_OK;
}
