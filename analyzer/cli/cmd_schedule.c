/* SPDX-License-Identifier: Apache-2.0 */
/* inquest schedule show|make|lint|convert: pipeline schedules. */
#include "cli/cli.h"

#include "base/mem.h"
#include "base/time.h"
#include "inquest/lint.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const size_t MAX_CSV = (size_t)1 << 31;

/* ---- arguments
 * ------------------------------------------------------------------------------------ */

static int read_count(const struct inq_cli *cli, enum inq_option_id id, int32_t *value)
{
    const char *text = cli->value[id];
    if (text == NULL) {
        return INQ_EXIT_OK;
    }
    char *end = NULL;
    errno = 0;
    long number = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || number < 1 || number > INT32_MAX) {
        return inq_cli_usage(cli, NULL, "--%s takes a positive number, not '%s'",
                             inq_cli_option(id)->name, text);
    }
    *value = (int32_t)number;
    return INQ_EXIT_OK;
}

/* "F,B,W,P2P" in ms or with units; what is left out keeps its default. */
static int read_times(const struct inq_cli *cli, struct inq_costs *costs)
{
    const int64_t ms = 1000000;
    costs->stage = (struct inq_stage_cost){ms, ms, ms};
    const char *text = cli->value[INQ_OPT_TIMES];
    int64_t *fields[] = {&costs->stage.f_ns, &costs->stage.b_ns, &costs->stage.w_ns,
                         &costs->p2p_ns};
    for (size_t i = 0; text != NULL && *text != '\0'; i++) {
        char one[64];
        size_t len = strcspn(text, ",");
        (void)snprintf(one, sizeof one, "%.*s", len < 60 ? (int)len : 60, text);
        if (i >= sizeof fields / sizeof *fields || !inq_time_parse(one, ms, fields[i]) ||
            *fields[i] < 0) {
            return inq_cli_usage(cli, "for example --times 18.5,18.1,9.3,0.6",
                                 "--times takes F,B,W,P2P, not '%s'", cli->value[INQ_OPT_TIMES]);
        }
        text += len + (text[len] == ',' ? 1 : 0);
    }
    return INQ_EXIT_OK;
}

static int read_limit(const struct inq_cli *cli, double *limit)
{
    const char *text = cli->value[INQ_OPT_MEMORY_LIMIT];
    char *end = NULL;
    *limit = text == NULL ? 0.0 : strtod(text, &end);
    if (text != NULL && (end == text || *end != '\0' || !(*limit > 0.0))) {
        return inq_cli_usage(cli, NULL, "--memory-limit takes a positive number, not '%s'", text);
    }
    return INQ_EXIT_OK;
}

/* ---- the schedule
 * ---------------------------------------------------------------------------------- */

struct work {
    struct inq_schedule schedule;
    struct inq_csv_info csv;
    bool from_file;
    struct inq_costs costs;
    double memory_limit;
};

static int read_csv(const struct inq_cli *cli, const char *path, struct work *work,
                    struct inq_err *err)
{
    char *text = NULL;
    size_t len = 0;
    int code = inq_cli_read_file(path, MAX_CSV, &text, &len, err);
    if (code == INQ_OK) {
        code = inq_schedule_read_csv(text, len, (enum inq_csv_dialect)cli->choice[INQ_OPT_DIALECT],
                                     &work->schedule, &work->csv, err);
        (void)snprintf(err->path, sizeof err->path, "%s", code == INQ_OK ? "" : path);
    }
    inq_mem_free(text);
    work->from_file = true;
    return code;
}

static int load(const struct inq_cli *cli, const char *path, struct work *work)
{
    struct inq_err err = {0};
    int code = read_csv(cli, path, work, &err);
    return code == INQ_OK
               ? INQ_EXIT_OK
               : inq_cli_fail(cli, &err,
                              "a schedule is a torch.distributed.pipelining CSV: one row "
                              "a rank, cells such as 0F0, 1SEND_B2");
}

static int make(const struct inq_cli *cli, struct work *work)
{
    struct inq_schedule_spec spec = {.kind = cli->value[INQ_OPT_MAKE], .costs = work->costs};
    int status = read_count(cli, INQ_OPT_STAGES, &spec.n_ranks);
    if (status == INQ_EXIT_OK) {
        status = read_count(cli, INQ_OPT_MICROBATCHES, &spec.n_microbatches);
    }
    if (status == INQ_EXIT_OK) {
        status = read_count(cli, INQ_OPT_CHUNKS, &spec.n_chunks);
    }
    if (status != INQ_EXIT_OK) {
        return status;
    }
    if (spec.n_ranks == 0 || spec.n_microbatches == 0) {
        return inq_cli_usage(cli, "for example --make 1f1b -p 4 -m 8",
                             "--make needs --stages and --microbatches");
    }
    struct inq_err err = {0};
    int code = inq_schedule_make(&spec, &work->schedule, &err);
    return code == INQ_OK ? INQ_EXIT_OK : inq_cli_fail(cli, &err, NULL);
}

static int add_comms(const struct inq_cli *cli, struct work *work)
{
    struct inq_schedule lowered;
    struct inq_err err = {0};
    if (!cli->given[INQ_OPT_COMMS] || work->schedule.has_comms) {
        return INQ_EXIT_OK;
    }
    if (inq_schedule_lower(&work->schedule, &lowered, &err) != INQ_OK) {
        return inq_cli_fail(cli, &err, "'inquest schedule lint' says what is wrong with it");
    }
    (void)snprintf(lowered.kind, sizeof lowered.kind, "%s", work->schedule.kind);
    inq_schedule_release(&work->schedule);
    work->schedule = lowered;
    return INQ_EXIT_OK;
}

static int prepare(const struct inq_cli *cli, struct work *work)
{
    *work = (struct work){0};
    bool made = cli->value[INQ_OPT_MAKE] != NULL;
    if (made == (cli->n_words == 2)) {
        return inq_cli_usage(cli,
                             "inquest schedule show s.csv, or inquest schedule show --make 1f1b "
                             "-p 4 -m 8",
                             "'inquest schedule %s' takes one FILE or --make KIND", cli->words[0]);
    }
    int status = read_times(cli, &work->costs);
    if (status == INQ_EXIT_OK) {
        status = read_limit(cli, &work->memory_limit);
    }
    if (status == INQ_EXIT_OK) {
        status = made ? make(cli, work) : load(cli, cli->words[1], work);
    }
    return status == INQ_EXIT_OK ? add_comms(cli, work) : status;
}

/* ---- for other commands
 * ---------------------------------------------------------------------------- */

bool inq_cli_is_schedule(const struct inq_cli *cli, const char *path)
{
    size_t len = strlen(path);
    struct work work = {0};
    struct inq_err err = {0};
    bool is = strcmp(path, "-") != 0 && len > 4 && strcmp(path + len - 4, ".csv") == 0 &&
              read_csv(cli, path, &work, &err) == INQ_OK;
    inq_schedule_release(&work.schedule);
    return is;
}

int inq_cli_schedule(const struct inq_cli *cli, const char *path, struct inq_schedule *schedule,
                     struct inq_lint_options *options)
{
    struct work work = {0};
    int status = read_times(cli, &work.costs);
    if (status == INQ_EXIT_OK) {
        status = path == NULL ? make(cli, &work) : load(cli, path, &work);
    }
    *schedule = work.schedule;
    *options = (struct inq_lint_options){
        .grouping = (enum inq_grouping)cli->choice[INQ_OPT_GROUPING], .costs = work.costs};
    return status;
}

/* ---- show, make, convert
 * ---------------------------------------------------------------------------- */

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
static bool find_event(const struct work *work, const struct inq_schedule_timing *timing,
                       const char *text, int64_t *at_ns)
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

static int write_timed(const struct inq_cli *cli, const struct work *work,
                       const struct inq_schedule_timing *timing, struct inq_err *err)
{
    int64_t at_ns = 0;
    const char *at = cli->value[INQ_OPT_AT];
    if (at != NULL && !inq_time_parse(at, 1000000, &at_ns) &&
        !find_event(work, timing, at, &at_ns)) {
        return inq_err_set(
            err, INQ_USAGE,
            "--at takes a time (12.5ms) or an op that is there (S3:F1:end), not '%s'", at);
    }
    struct inq_cli_output output;
    int code = inq_cli_output_open(cli, &output, err);
    if (code == INQ_OK) {
        struct inq_report_options options = inq_cli_report_options(cli);
        struct inq_sink sink = inq_cli_output_sink(&output);
        code = at != NULL ? inq_schedule_report_at(&work->schedule, timing, at_ns, sink, err)
                          : inq_schedule_report(&work->schedule, timing, &options, sink, err);
        code = inq_cli_output_close(&output, code, err);
    }
    return code;
}

static int show(struct inq_cli *cli, const struct work *work)
{
    struct inq_err err = {0};
    struct inq_schedule_timing timing = {0};
    int code = inq_schedule_time(&work->schedule, &work->costs, &timing, &err);
    if (code == INQ_OK) {
        code = write_timed(cli, work, &timing, &err);
    }
    inq_schedule_timing_release(&timing, work->schedule.n_ranks);
    return code == INQ_OK
               ? INQ_EXIT_OK
               : inq_cli_fail(cli, &err, "'inquest schedule lint' says what is wrong with it");
}

static int write_csv(struct inq_cli *cli, const struct work *work)
{
    if (!cli->given[INQ_OPT_FORMAT] && cli->format == INQ_FORMAT_TEXT) {
        cli->format = INQ_FORMAT_CSV;
    }
    return cli->format == INQ_FORMAT_CSV
               ? show(cli, work)
               : inq_cli_usage(cli, "'inquest schedule show' writes text and JSON",
                               "'inquest schedule %s' writes CSV", cli->words[0]);
}

/* ---- lint
 * -------------------------------------------------------------------------------------------- */

static int lint(struct inq_cli *cli, const struct work *work)
{
    struct inq_lint_options options = {.grouping = (enum inq_grouping)cli->choice[INQ_OPT_GROUPING],
                                       .memory_limit = work->memory_limit,
                                       .costs = work->costs};
    struct inq_lint result = {0};
    struct inq_err err = {0};
    struct inq_cli_output output;
    int code = inq_lint_schedule(&work->schedule, work->from_file ? &work->csv : NULL, &options,
                                 &result, &err);
    bool failed = result.n_errors > 0;
    if (code == INQ_OK) {
        code = inq_cli_output_open(cli, &output, &err);
        if (code == INQ_OK) {
            struct inq_report_options format = inq_cli_report_options(cli);
            code = inq_lint_report(&result, &format, inq_cli_output_sink(&output), &err);
            code = inq_cli_output_close(&output, code, &err);
        }
        inq_lint_release(&result);
    }
    if (code != INQ_OK) {
        return inq_cli_fail(cli, &err, NULL);
    }
    return failed ? INQ_EXIT_FINDING : INQ_EXIT_OK;
}

int inq_cmd_schedule(struct inq_cli *cli)
{
    static const struct {
        const char *name;
        int (*run)(struct inq_cli *cli, const struct work *work);
    } verbs[] = {{"show", show}, {"make", write_csv}, {"lint", lint}, {"convert", write_csv}};
    for (size_t i = 0; cli->n_words > 0 && i < sizeof verbs / sizeof *verbs; i++) {
        if (strcmp(cli->words[0], verbs[i].name) == 0) {
            struct work work;
            int status = prepare(cli, &work);
            if (status == INQ_EXIT_OK) {
                status = verbs[i].run(cli, &work);
            }
            inq_schedule_release(&work.schedule);
            return status;
        }
    }
    return inq_cli_usage(cli, "one of show, make, lint, convert", "what to do with the schedule?");
}
