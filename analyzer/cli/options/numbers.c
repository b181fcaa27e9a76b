/* SPDX-License-Identifier: Apache-2.0 */
/* Options that take one number, and what several of them say together. */
#include "cli/cli.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

static bool wants_stop(void *ctx)
{
    (void)ctx;
    return inq_cli_interrupted() != 0;
}

int inq_cli_execution(const struct inq_cli *cli, struct inq_replay_options *options)
{
    enum { MOST_REPEATS = 100000 };
    int64_t repeats = 0;
    int status = inq_cli_whole(cli, INQ_OPT_REPEATS, 1, MOST_REPEATS, &repeats);
    *options = (struct inq_replay_options){
        .repeats = (int)repeats,
        .work = cli->given[INQ_OPT_WORK] ? (enum inq_work_mode)cli->choice[INQ_OPT_WORK]
                                         : INQ_WORK_OPEN,
        .no_graph = cli->given[INQ_OPT_NO_GRAPH],
        .realtime = cli->given[INQ_OPT_REALTIME],
        .interrupted = wants_stop};
    return status;
}

bool inq_cli_size(const char *text, size_t len, double *value, bool *has_unit)
{
    static const char letters[] = "KMGTP";
    char one[64];
    char *end = NULL;
    if (len == 0 || len >= sizeof one) {
        return false;
    }
    memcpy(one, text, len);
    one[len] = '\0';
    *value = strtod(one, &end);
    if (end == one || !isfinite(*value)) {
        return false;
    }
    const char *number_end = end;
    const char *letter = *end != '\0' ? strchr(letters, *end) : NULL;
    bool binary = letter != NULL && end[1] == 'i';
    for (const char *l = letters; letter != NULL && l <= letter; l++) {
        *value *= binary ? 1024.0 : 1000.0;
    }
    end += letter != NULL ? 1 + binary : 0;
    end += *end == 'B';
    *has_unit = end > number_end;
    return *end == '\0';
}

int inq_cli_positive(const struct inq_cli *cli, enum inq_option_id id, double *value)
{
    const char *text = cli->value[id];
    if (text == NULL) {
        return INQ_EXIT_OK;
    }
    double number = 0.0;
    bool has_unit = false;
    if (!inq_cli_size(text, strlen(text), &number, &has_unit) || !(number > 0.0)) {
        return inq_cli_usage(cli, NULL, "--%s takes a positive number, not '%s'",
                             inq_cli_option(id)->name, text);
    }
    *value = number;
    return INQ_EXIT_OK;
}
