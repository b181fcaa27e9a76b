/* SPDX-License-Identifier: Apache-2.0 */
/* "0-7,12" and "10..20" to ranges of numbers, "1.2s~1.4s" to a range of time. */
#include "cli/cli.h"

#include "inquest/memory.h"
#include "inquest/time.h"

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

/* A time that is there, at `text` of `len` bytes. */
static bool read_time(const char *text, size_t len, int64_t *ns)
{
    enum { SECOND_NS = 1000000000 };
    char copy[64];
    if (len >= sizeof copy) {
        return false;
    }
    memcpy(copy, text, len);
    copy[len] = '\0';
    return inq_time_parse(copy, SECOND_NS, ns) && *ns >= 0;
}

int inq_cli_time_range(const char *text, int64_t *from_ns, int64_t *to_ns, struct inq_err *err)
{
    const char *tilde = strchr(text, '~');
    *from_ns = 0;
    *to_ns = INT64_MAX;
    bool good = tilde != NULL && strlen(text) > 1;
    if (good && tilde > text) {
        good = read_time(text, (size_t)(tilde - text), from_ns);
    }
    if (good && tilde[1] != '\0') {
        good = read_time(tilde + 1, strlen(tilde + 1), to_ns);
    }
    if (!good || *from_ns >= *to_ns) {
        return inq_err_set(err, INQ_USAGE, "'%.100s' is no range of time like 1.2s~1.4s", text);
    }
    return INQ_OK;
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

bool inq_cli_duration(const char *text, int64_t *ns)
{
    return inq_time_parse(text, 1000000, ns);
}
