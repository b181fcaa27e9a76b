/* SPDX-License-Identifier: Apache-2.0 */
/* inquest schedule show|make|lint|convert|compare|search: pipeline schedules. */
#include "cli/commands/schedule/schedule.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- show, make, convert --------------------------------------------------------------------- */

/* A number at *p, which moves past it; false when there is none. */
static bool read_number(const char **p, int32_t *value)
{
    char *end = NULL;
    if (**p < '0' || **p > '9') {
        return false;
    }
    errno = 0;
    long number = strtol(*p, &end, 10);
    if (errno != 0 || number > INT32_MAX) {
        return false;
    }
    *p = end;
    *value = (int32_t)number;
    return true;
}

/* Reads "S3:F1:end" or "S3:F1:start". */
static bool read_event(const char *text, int32_t *stage, char *kind, int32_t *microbatch, bool *end)
{
    const char *p = text;
    if (*p++ != 'S' || !read_number(&p, stage) || *p++ != ':' || *p == '\0') {
        return false;
    }
    *kind = *p++;
    if (!read_number(&p, microbatch) || *p++ != ':') {
        return false;
    }
    *end = strcmp(p, "end") == 0;
    return *end || strcmp(p, "start") == 0;
}

/* "S3:F1:end": the moment when stage 3 starts or ends its F (B, I, W) of micro-batch 1. */
static bool find_event(const struct inq_schedule_work *work,
                       const struct inq_schedule_timing *timing, const char *text, int64_t *at_ns)
{
    int32_t stage = 0;
    int32_t microbatch = 0;
    char kind = 0;
    bool end = false;
    if (!read_event(text, &stage, &kind, &microbatch, &end)) {
        return false;
    }
    for (int32_t r = 0; r < work->schedule.n_ranks; r++) {
        const struct inq_rank_actions *list = &work->schedule.ranks[r];
        for (size_t i = 0; i < list->n; i++) {
            const struct inq_action *a = &list->actions[i];
            if (inq_action_computes(a) && a->stage == stage && a->microbatch == microbatch &&
                inq_action_text((enum inq_action_kind)a->kind)[0] == kind) {
                *at_ns = end ? timing->end_ns[r][i] : timing->start_ns[r][i];
                return true;
            }
        }
    }
    return false;
}

static int write_timed(const struct inq_cli *cli, const struct inq_schedule_work *work,
                       const struct inq_schedule_timing *timing, struct inq_err *err)
{
    int64_t at_ns = 0;
    const char *at = cli->value[INQ_OPT_AT];
    bool known = at == NULL || work->has_at || inq_cli_duration(at, &at_ns) ||
                 find_event(work, timing, at, &at_ns);
    at_ns = work->has_at ? work->at_ns : at_ns;
    if (!known) {
        return inq_err_set(
            err, INQ_USAGE,
            "--at takes a time (12.5ms) or an op that is there (S3:F1:end), not '%s'", at);
    }
    struct inq_cli_output output;
    int code = inq_cli_output_open(cli, &output, err);
    if (code == INQ_OK) {
        struct inq_report_options options = inq_cli_report_options(cli);
        struct inq_sink sink = inq_cli_output_sink(&output);
        struct inq_schedule_theory theory = inq_schedule_theory_of(&work->schedule, &work->costs);
        code = at != NULL
                   ? inq_schedule_report_at(&work->schedule, timing, at_ns, &options, sink, err)
                   : inq_schedule_report(&work->schedule, timing, &theory, &options, sink, err);
        code = inq_cli_output_close(&output, code, err);
    }
    return code;
}

static int show(struct inq_cli *cli, const struct inq_schedule_work *work)
{
    struct inq_err err = {0};
    struct inq_schedule_timing timing = {0};
    int code = INQ_OK;
    if (work->recorded.ranks != NULL) { /* a run has its own times */
        code = write_timed(cli, work, &work->recorded, &err);
    } else {
        code = inq_schedule_time(&work->schedule, &work->costs, &timing, &err);
        if (code == INQ_OK) {
            code = write_timed(cli, work, &timing, &err);
        }
    }
    inq_schedule_timing_release(&timing, work->schedule.n_ranks);
    return code == INQ_OK
               ? INQ_EXIT_OK
               : inq_cli_fail(cli, &err, "'inquest schedule lint' says what is wrong with it");
}

static int write_old(const struct inq_cli *cli, const struct inq_schedule_work *work)
{
    struct inq_cli_output output;
    struct inq_err err = {0};
    int code = inq_cli_output_open(cli, &output, &err);
    if (code == INQ_OK) {
        code = inq_schedule_write_dialect(&work->schedule, INQ_CSV_2024,
                                          inq_cli_output_sink(&output), &err);
        code = inq_cli_output_close(&output, code, &err);
    }
    return code == INQ_OK ? INQ_EXIT_OK : inq_cli_fail(cli, &err, NULL);
}

static int write_csv(struct inq_cli *cli, const struct inq_schedule_work *work)
{
    enum { TO_CURRENT, TO_2024 };
    if (!cli->given[INQ_OPT_FORMAT] && cli->format == INQ_FORMAT_TEXT) {
        cli->format = INQ_FORMAT_CSV;
    }
    return cli->format == INQ_FORMAT_CSV
               ? (cli->choice[INQ_OPT_TO] == TO_2024 ? write_old(cli, work) : show(cli, work))
               : inq_cli_usage(cli, "'inquest schedule show' writes the other formats",
                               "'inquest schedule %s' writes CSV", cli->words[0]);
}

/* ---- all --------------------------------------------------------------------------------------
 */

static int with_one(struct inq_cli *cli,
                    int (*run)(struct inq_cli *cli, const struct inq_schedule_work *))
{
    struct inq_schedule_work work = {0};
    int status = inq_work_prepare(cli, &work);
    if (status == INQ_EXIT_OK) {
        status = run(cli, &work);
    }
    inq_work_release(&work);
    return status;
}

int inq_cmd_schedule(struct inq_cli *cli)
{
    static const struct {
        const char *name;
        int (*one)(struct inq_cli *cli, const struct inq_schedule_work *work);
        int (*own)(struct inq_cli *cli); /* takes its own schedules */
    } verbs[] = {{"show", show, NULL},
                 {"make", write_csv, NULL},
                 {"lint", NULL, inq_schedule_lint},
                 {"convert", write_csv, NULL},
                 {"compare", NULL, inq_schedule_compare},
                 {"search", NULL, inq_schedule_search}};
    for (size_t i = 0; cli->n_words > 0 && i < sizeof verbs / sizeof *verbs; i++) {
        if (strcmp(cli->words[0], verbs[i].name) == 0) {
            return verbs[i].own != NULL ? verbs[i].own(cli) : with_one(cli, verbs[i].one);
        }
    }
    static const char all[] = "one of show, make, lint, convert, compare, search";
    return cli->n_words > 0
               ? inq_cli_usage(cli, all, "'inquest schedule' has no verb '%s'", cli->words[0])
               : inq_cli_usage(cli, all, "what to do with the schedule?");
}
