/* SPDX-License-Identifier: Apache-2.0 */
/* What every command that reads traces does: ingest with a progress line. */
#include "cli/cli.h"

#include "inquest/memory.h"
#include "inquest/redact.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* choices of --align */
enum { ALIGN_AUTO, ALIGN_NONE };

/* Whether what was recorded is to be done again, for which the sizes of products, of traffic and of
 * copies count. GPUs do so unasked.
 */
static bool executes_shapes(const struct inq_cli *cli)
{
    bool fixes = strcmp(cli->command->name, "fix") == 0;
    const char *engine = fixes ? cli->value[INQ_OPT_VALIDATE] : cli->value[INQ_OPT_ENGINE];
    engine = engine == NULL && strcmp(cli->command->name, "replay") == 0 ? "host" : engine;
    bool unasked = !cli->given[INQ_OPT_WORK];
    return engine != NULL && strcmp(engine, "sim") != 0 &&
           (unasked ? strcmp(engine, "cuda") == 0 : cli->choice[INQ_OPT_WORK] == INQ_WORK_RECORDED);
}

/* Whether kernels by operator were asked for, or are needed, as to tell whether two runs do the
 * same work: to read every operator costs half the time again, or as much. */
static bool wants_operators(const struct inq_cli *cli)
{
    const char *only = cli->value[INQ_OPT_ONLY];
    const char *table = cli->value[INQ_OPT_TABLE];
    const char *command = cli->command->name;
    bool compared = strcmp(command, "check") == 0 || strcmp(command, "compare") == 0;
    bool asked = strcmp(command, "analyze") == 0 &&
                 (cli->given[INQ_OPT_VERBOSE] || cli->format == INQ_FORMAT_SQLITE ||
                  (only != NULL && strstr(only, "kernels") != NULL) ||
                  (table != NULL && strcmp(table, "kernels") == 0));
    return asked || compared || executes_shapes(cli);
}

/* ---- --redact: names out of a run before anything is said of it ------------------------------ */

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

/* A redaction where --redact or an option that goes with it was given, else NULL. */
static int begin_redaction(struct inq_cli *cli, struct inq_redaction **redaction,
                           struct inq_err *err)
{
    char *key = NULL;
    size_t n = 0;
    *redaction = NULL;
    if (!cli->given[INQ_OPT_REDACT] && !cli->given[INQ_OPT_REDACT_KEY] &&
        !cli->given[INQ_OPT_REDACT_MAP]) {
        return INQ_OK;
    }
    int code = read_key(cli, &key, &n, err);
    code = code == INQ_OK ? inq_redaction_new(key, n, redaction, err) : code;
    inq_mem_free(key);
    return code;
}

/* Writes the map that was asked for and says how many names were replaced; `code` as the work
 * ended.
 */
static int end_redaction(struct inq_cli *cli, struct inq_redaction *redaction, int code,
                         struct inq_err *err)
{
    if (redaction != NULL && code == INQ_OK) {
        code = write_map(cli, redaction, err);
    }
    if (redaction != NULL && code == INQ_OK) {
        count_names(cli, redaction);
        inq_cli_note(cli, "redacted: %s; operators, annotations and process groups are as recorded",
                     cli->redacted);
    }
    inq_redaction_free(redaction);
    return code;
}

/* Takes the names out of the run where that was asked for. Returns an exit status. */
static int redact(struct inq_cli *cli, struct inq_run *run)
{
    struct inq_err err = {0};
    struct inq_redaction *redaction = NULL;
    int code = begin_redaction(cli, &redaction, &err);
    if (redaction != NULL && code == INQ_OK) {
        code = inq_redaction_apply(redaction, run, &err);
    }
    code = end_redaction(cli, redaction, code, &err);
    return code == INQ_OK ? INQ_EXIT_OK : inq_cli_fail(cli, &err, NULL);
}

int inq_cli_partials(struct inq_cli *cli, struct inq_ingest_options *options,
                     struct inq_partials *partials, struct inq_err *err)
{
    int code = begin_redaction(cli, &options->redaction, err);
    if (code == INQ_OK) {
        code = cli->reading->partials(cli, cli->value[INQ_OPT_FOLDER], options, partials, err);
    }
    return end_redaction(cli, options->redaction, code, err);
}

static int keep_input(const struct inq_cli *cli, const char *path, struct inq_err *err)
{
    struct stat info;
    if (stat(path, &info) != 0) { /* a stream, or gone by now */
        return INQ_OK;
    }
    struct inq_cli_inputs *inputs = cli->inputs;
    int code = inq_mem_grow(&inputs->files, &inputs->cap, inputs->n + 1, sizeof *inputs->files,
                            SIZE_MAX / sizeof *inputs->files, err);
    if (code == INQ_OK) {
        inputs->files[inputs->n++] =
            (struct inq_cli_input){(uint64_t)info.st_dev, (uint64_t)info.st_ino};
    }
    return code;
}

/* Remembers the files of the run, but not those that were not understood (a report of an earlier
 * call in the folder): output over one of them is refused. Fails with INQ_NOMEM. */
static int keep_inputs(const struct inq_cli *cli, const struct inq_run *run, struct inq_err *err)
{
    int code = INQ_OK;
    for (size_t t = 0; t < run->n_traces; t++) {
        const struct inq_trace *trace = run->traces[t];
        for (size_t i = 0; i < trace->n_files && code == INQ_OK; i++) {
            code = keep_input(cli, trace->files[i].path, err);
        }
    }
    return code;
}

int inq_cli_ingest(struct inq_cli *cli, struct inq_run **run)
{
    struct inq_cli_progress progress;
    struct inq_err err = {0};
    if (cli->n_words == 0) {
        return inq_cli_usage(cli, NULL, "'inquest %s' needs a file or folder", cli->command->name);
    }
    inq_cli_progress_init(cli, &progress);
    struct inq_ingest_options options = {
        .jobs = cli->jobs,
        .align = cli->choice[INQ_OPT_ALIGN] == ALIGN_NONE ? INQ_ALIGN_NONE : INQ_ALIGN_AUTO,
        .operators = wants_operators(cli),
        .temp_dir = getenv("TMPDIR"),
        .progress = inq_cli_progress_tick,
        .progress_ctx = &progress,
    };
    int code = cli->reading->run(cli, &options, run, &err);
    inq_cli_progress_clear(&progress);
    if (code != INQ_OK) {
        return inq_cli_fail(cli, &err, NULL);
    }
    if ((*run)->n_traces == 0 && (*run)->n_skipped == 0) {
        inq_run_free(*run);
        *run = NULL;
        (void)inq_err_at(&err, INQ_NOT_FOUND, cli->words[0], -1, "there is no file in it");
        return inq_cli_fail(cli, &err, "give a folder that holds traces, or the files themselves");
    }
    code = keep_inputs(cli, *run, &err);
    return code == INQ_OK ? redact(cli, *run) : inq_cli_fail(cli, &err, NULL);
}

int inq_cli_no_trace(const struct inq_cli *cli, const struct inq_run *run)
{
    struct inq_err err = {.code = INQ_FORMAT, .offset = -1};
    const struct inq_file *first = &run->skipped[0];
    (void)snprintf(err.message, sizeof err.message, "no trace among %zu file%s; %.200s: %.200s",
                   run->n_skipped, run->n_skipped == 1 ? "" : "s", first->path, first->reason);
    return inq_cli_fail(cli, &err,
                        "'inquest info' lists each file with the reason; "
                        "'inquest list' names the formats");
}

int inq_cli_one_job(const struct inq_cli *cli, const char *path, const struct inq_run *run,
                    struct inq_trace **trace)
{
    struct inq_err err = {0};
    int64_t number = 0;
    if (run->n_traces == 0) {
        return inq_cli_no_trace(cli, run);
    }
    int status = inq_cli_whole(cli, INQ_OPT_JOB, 1, (int64_t)run->n_traces, &number);
    if (status != INQ_EXIT_OK) {
        return status;
    }
    if (number == 0 && run->n_traces > 1) {
        (void)inq_err_at(&err, INQ_UNSUPPORTED, path, -1, "%zu jobs are here; '%s' takes one",
                         run->n_traces, cli->command->name);
        return inq_cli_fail(cli, &err, "--job N picks one, numbered as 'inquest info' lists them");
    }
    *trace = run->traces[number > 0 ? number - 1 : 0];
    return INQ_EXIT_OK;
}

int inq_cli_fix_base(struct inq_cli *cli, struct inq_run **run, struct inq_report **report,
                     struct inq_fix_base **base)
{
    struct inq_err err = {0};
    struct inq_analysis_options options = {.jobs = cli->jobs, .predict = inq_fix_predict};
    struct inq_trace *trace = NULL;
    int status = inq_cli_ingest(cli, run);
    if (status == INQ_EXIT_OK) {
        status = inq_cli_one_job(cli, cli->words[0], *run, &trace);
    }
    if (status != INQ_EXIT_OK) {
        return status;
    }
    int code = inq_cli_keep_steps(cli, trace, &err);
    code = code == INQ_OK ? inq_analyze(trace, &options, report, &err) : code;
    code = code == INQ_OK ? inq_fix_base_of_run(trace, *report, base, &err) : code;
    if (code == INQ_OK) {
        return INQ_EXIT_OK;
    }
    if (err.path[0] == '\0') {
        (void)snprintf(err.path, sizeof err.path, "%s", cli->words[0]);
    }
    return inq_cli_fail(cli, &err,
                        code == INQ_NOT_FOUND     ? "'inquest info' lists the steps that are there"
                        : code == INQ_UNSUPPORTED ? "'inquest analyze' says what is in this input; "
                                                    "inquest-recording(7) has what to record"
                                                  : NULL);
}
