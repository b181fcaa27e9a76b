/* SPDX-License-Identifier: Apache-2.0 */
/* "0-7,12" and "10..20" to ranges of numbers. */
#include "cli/cli.h"

#include "inquest/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const size_t MAX_RANGES = 4096;

/* A number at *p; false when there is none. Moves *p past it. */
static bool read_number(const char **p, int64_t *value)
{
    if (**p < '0' || **p > '9') {
        return false;
    }
    char *end = NULL;
    errno = 0;
    long long number = strtoll(*p, &end, 10);
    if (errno != 0) {
        return false;
    }
    *p = end;
    *value = number;
    return true;
}

/* "A", "A-B" or "A..B" at *p. */
static bool read_range(const char **p, struct inq_range *range)
{
    if (!read_number(p, &range->first)) {
        return false;
    }
    range->last = range->first;
    if (strncmp(*p, "..", 2) == 0) {
        *p += 2;
    } else if (**p == '-') {
        *p += 1;
    } else {
        return true;
    }
    return read_number(p, &range->last) && range->last >= range->first;
}

int inq_cli_ranges(const char *text, struct inq_range **ranges, size_t *n, struct inq_err *err)
{
    struct inq_range *made = NULL;
    size_t cap = 0;
    const char *p = text;
    int code = INQ_OK;
    *n = 0;
    for (;;) {
        code = inq_mem_grow(&made, &cap, *n + 1, sizeof *made, MAX_RANGES, err);
        if (code != INQ_OK) {
            break;
        }
        if (!read_range(&p, &made[*n]) || (*p != ',' && *p != '\0')) {
            code = inq_err_set(err, INQ_USAGE, "'%s' is no list of numbers like 0-7,12 or 10..20",
                               text);
            break;
        }
        ++*n;
        if (*p == '\0') {
            *ranges = made;
            return INQ_OK;
        }
        p++;
    }
    inq_mem_free(made);
    *ranges = NULL;
    *n = 0;
    return code;
}

int inq_cli_keep_steps(const struct inq_cli *cli, struct inq_trace *trace, struct inq_err *err)
{
    const char *text = cli->value[INQ_OPT_STEP];
    struct inq_range *ranges = NULL;
    size_t n = 0;
    if (text == NULL) {
        return INQ_OK;
    }
    int code = inq_cli_ranges(text, &ranges, &n, err);
    if (code == INQ_OK) {
        code = n == 1 ? inq_trace_keep_steps(trace, ranges[0], err)
                      : inq_err_set(err, INQ_USAGE, "-s takes one range of steps");
    }
    inq_mem_free(ranges);
    return code;
}
