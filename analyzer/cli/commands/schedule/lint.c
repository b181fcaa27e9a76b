/* SPDX-License-Identifier: Apache-2.0 */
/* inquest schedule lint: schedules, several in one call, and folders of them. */
#include "cli/commands/schedule/schedule.h"

#include "inquest/memory.h"

#include <stdlib.h>
#include <string.h>

/* R11: the bubble ratio of another schedule by the same times, and how much more is allowed. */
static int read_baseline(const struct inq_cli *cli, const struct inq_schedule_work *work,
                         struct inq_lint_options *options)
{
    const char *path = cli->value[INQ_OPT_BASELINE];
    const char *text = cli->value[INQ_OPT_TOLERANCE];
    char *end = NULL;
    double percent = text == NULL ? 0.0 : strtod(text, &end); /* nothing here has noise */
    if (text != NULL && (end == text || strcmp(end, "%") != 0 || !(percent >= 0.0))) {
        return inq_cli_usage(cli, NULL, "--tolerance takes a share such as 3%%, not '%s'", text);
    }
    if (path == NULL) {
        return INQ_EXIT_OK;
    }
    struct inq_schedule_work other = {0};
    struct inq_schedule_timing timing = {0};
    struct inq_err err = {0};
    int status = inq_work_load(cli, path, &other);
    if (status == INQ_EXIT_OK) {
        const struct inq_schedule *s = &other.schedule;
        status = inq_times_of_stages(cli, &work->times, (size_t)s->n_stages,
                                     (size_t)(s->n_stages / s->n_pipelines), &other.costs,
                                     &other.per_stage);
    }
    if (status == INQ_EXIT_OK &&
        inq_schedule_time(&other.schedule, &other.costs, &timing, &err) != INQ_OK) {
        status = inq_cli_fail(cli, &err, "the baseline of a schedule is one that runs");
    }
    if (status == INQ_EXIT_OK) {
        options->has_baseline = true;
        options->baseline_bubble = timing.bubble_ratio;
        options->tolerance = timing.bubble_ratio * percent / 100.0;
    }
    inq_schedule_timing_release(&timing, other.schedule.n_ranks);
    inq_work_release(&other);
    return status;
}

static int lint_one(struct inq_cli *cli, const struct inq_schedule_work *work, const char *file,
                    struct inq_lint *result)
{
    struct inq_lint_options options = inq_work_lint_options(cli, work);
    struct inq_err err = {0};
    bool faulty = work->csv.fault.message[0] != '\0';
    int status = faulty ? INQ_EXIT_OK : read_baseline(cli, work, &options);
    if (status != INQ_EXIT_OK) {
        return status;
    }
    int code = inq_lint_schedule(&work->schedule, work->from_file ? &work->csv : NULL, &options,
                                 result, &err);
    result->file = file;
    return code == INQ_OK ? INQ_EXIT_OK : inq_cli_fail(cli, &err, NULL);
}

/* Writes what was found; the status says whether anything failed. */
static int write_lints(const struct inq_cli *cli, const struct inq_lint *lints, size_t n)
{
    struct inq_report_options format = inq_cli_report_options(cli);
    struct inq_cli_output output;
    struct inq_err err = {0};
    bool failed = false;
    for (size_t i = 0; i < n; i++) {
        failed = failed || lints[i].n_errors > 0;
    }
    int code = inq_cli_output_open(cli, &output, &err);
    if (code == INQ_OK) {
        code = inq_lint_report(lints, n, &format, inq_cli_output_sink(&output), &err);
        code = inq_cli_output_close(&output, code, &err);
    }
    if (code != INQ_OK) {
        return inq_cli_fail(cli, &err, NULL);
    }
    return failed ? INQ_EXIT_FINDING : INQ_EXIT_OK;
}

/* One that was made or recorded. */
static int lint_prepared(struct inq_cli *cli)
{
    struct inq_schedule_work work = {.takes_faults = true};
    struct inq_lint lint = {0};
    int status = inq_work_prepare(cli, &work);
    if (status == INQ_EXIT_OK) {
        status = lint_one(cli, &work, NULL, &lint);
    }
    if (status == INQ_EXIT_OK) {
        status = write_lints(cli, &lint, 1);
    }
    inq_lint_release(&lint);
    inq_work_release(&work);
    return status;
}

/* Files one by one: one that cannot be read does not keep the others from being examined. */
static int lint_files(struct inq_cli *cli, const struct inq_paths *paths)
{
    struct inq_lint *lints = inq_mem_zalloc(paths->n + 1, sizeof *lints);
    struct inq_err err = {0};
    size_t n = 0;
    int status = INQ_EXIT_OK;
    if (lints == NULL) {
        (void)inq_err_set(&err, INQ_NOMEM, "out of memory for %zu files", paths->n);
        return inq_cli_fail(cli, &err, NULL);
    }
    for (size_t i = 0; i < paths->n; i++) {
        struct inq_schedule_work work = {.takes_faults = true};
        const char *words[2] = {cli->words[0], paths->at[i]};
        struct inq_cli one = *cli;
        one.words = words;
        one.n_words = 2;
        int own = inq_work_prepare(&one, &work);
        if (own == INQ_EXIT_OK) {
            const char *file = strcmp(paths->at[i], "-") == 0 ? NULL : paths->at[i];
            own = lint_one(cli, &work, file, &lints[n]);
        }
        n += own == INQ_EXIT_OK;
        status = status == INQ_EXIT_OK ? own : status;
        inq_work_release(&work);
    }
    int written = n > 0 ? write_lints(cli, lints, n) : INQ_EXIT_OK;
    for (size_t i = 0; i < n; i++) {
        inq_lint_release(&lints[i]);
    }
    inq_mem_free(lints);
    return status != INQ_EXIT_OK ? status : written;
}

/* The formats of the other verbs. */
static bool draws_or_times(enum inq_format format)
{
    return format == INQ_FORMAT_CSV || format == INQ_FORMAT_PERFETTO || format == INQ_FORMAT_SVG ||
           format == INQ_FORMAT_CHAKRA;
}

int inq_schedule_lint(struct inq_cli *cli)
{
    struct inq_paths paths = {0};
    struct inq_err err = {0};
    bool schedules = false;
    if (draws_or_times(cli->format)) {
        return inq_cli_usage(cli, "'inquest schedule show' writes the other formats",
                             "'inquest schedule lint' writes text, JSON, Markdown or what CI "
                             "systems show");
    }
    if (cli->value[INQ_OPT_MAKE] != NULL || cli->n_words < 2) {
        return lint_prepared(cli);
    }
    int code = inq_work_files(cli, cli->words + 1, cli->n_words - 1, &paths, &schedules, &err);
    int status = code != INQ_OK ? inq_cli_fail(cli, &err, NULL)
                 : schedules    ? lint_files(cli, &paths)
                                : lint_prepared(cli);
    inq_paths_release(&paths);
    return status;
}
