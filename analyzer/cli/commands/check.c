/* SPDX-License-Identifier: Apache-2.0 */
/* inquest check PATH|SCHEDULE --baseline FILE: the gate for CI. */
#include "cli/commands/schedule/schedule.h"

#include "inquest/memory.h"
#include "inquest/check.h"
#include "inquest/fix.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const size_t MAX_BASELINE = (size_t)32 << 20;

/* One schedule or one run, held against one baseline. */
struct gate {
    struct inq_cli *cli;
    const char *subject;  /* path; NULL: --make */
    const char *baseline; /* path */
    bool one_word;        /* a run is this path alone, not all words */
    struct inq_check_rules rules;
    struct inq_snapshot now;
    struct inq_baseline base;
    struct inq_check check;
    bool has_base;
    const char *name;                                   /* of what is checked */
    char problem[sizeof((struct inq_err *)0)->message]; /* why it could not be */
};

/* All of one call. */
struct gates {
    struct inq_cli *cli;
    const char *path; /* of the baseline, or of the folder of baselines */
    bool folder;
    struct inq_check_rules rules;
    struct inq_paths subjects, baselines;
    size_t n;
    struct gate *gates;
};

/* ---- what was asked for ----------------------------------------------------------------------*/

static int take_rules(struct gates *g)
{
    struct inq_err err = {0};
    const char *tolerance = g->cli->value[INQ_OPT_TOLERANCE];
    size_t at = 0;
    if (tolerance != NULL && inq_check_tolerance_parse(tolerance, &g->rules, &err) != INQ_OK) {
        return inq_cli_usage(g->cli, NULL, "--tolerance: %s", err.message);
    }
    for (const char *rule; (rule = inq_cli_next_value(g->cli, INQ_OPT_RULE, &at)) != NULL;) {
        if (inq_check_rule_parse(rule, &g->rules, &err) != INQ_OK) {
            return inq_cli_usage(g->cli, NULL, "--rule: %s", err.message);
        }
    }
    return INQ_EXIT_OK;
}

static bool is_csv(const char *path, size_t len)
{
    return len > 4 && strncmp(path + len - 4, ".csv", 4) == 0;
}

/* The baselines of several: FOLDER/NAME.json, by the name of each. */
static int name_baselines(struct gates *g)
{
    struct inq_err err = {0};
    int code = INQ_OK;
    for (size_t i = 0; code == INQ_OK && i < g->subjects.n; i++) {
        const char *path = g->subjects.at[i];
        size_t len = strlen(path);
        while (len > 1 && path[len - 1] == '/') {
            len--;
        }
        size_t start = len;
        while (start > 0 && path[start - 1] != '/') {
            start--;
        }
        bool csv = is_csv(path + start, len - start);
        code = inq_paths_add(&g->baselines, &err, "%s%s%.*s.json", g->path,
                             g->path[strlen(g->path) - 1] == '/' ? "" : "/",
                             (int)(len - start - (csv ? 4 : 0)), path + start);
        for (size_t k = 0; code == INQ_OK && k < i; k++) {
            if (strcmp(g->baselines.at[k], g->baselines.at[i]) == 0) {
                return inq_cli_usage(g->cli, "baselines are found by the names of files",
                                     "'%s' and '%s' would share a baseline", g->subjects.at[k],
                                     path);
            }
        }
    }
    return code == INQ_OK ? INQ_EXIT_OK : inq_cli_fail(g->cli, &err, NULL);
}

/* A folder of baselines is one that is there, or is called like one. */
static bool is_folder(const char *path)
{
    struct stat info;
    return path[strlen(path) - 1] == '/' || (stat(path, &info) == 0 && S_ISDIR(info.st_mode));
}

/* Which subjects there are: schedules one by one; runs too where each has its own baseline. */
static int find_subjects(struct gates *g)
{
    const struct inq_cli *cli = g->cli;
    struct inq_err err = {0};
    bool schedules = false;
    int code = inq_work_files(cli, cli->words, cli->n_words, &g->subjects, &schedules, &err);
    if (code != INQ_OK) {
        return inq_cli_fail(cli, &err, NULL);
    }
    if (!schedules && !g->folder) {
        inq_paths_release(&g->subjects); /* the words together are one run */
        code = inq_paths_add(&g->subjects, &err, "%s", cli->words[0]);
    }
    if (code != INQ_OK) {
        return inq_cli_fail(cli, &err, NULL);
    }
    if (g->subjects.n > 1 && !g->folder && cli->given[INQ_OPT_UPDATE]) {
        return inq_cli_usage(cli, "for example --baseline baselines/",
                             "%zu schedules have a baseline each: --baseline names a folder",
                             g->subjects.n);
    }
    return g->folder ? name_baselines(g) : INQ_EXIT_OK;
}

static int take_arguments(struct gates *g)
{
    const struct inq_cli *cli = g->cli;
    bool made = cli->value[INQ_OPT_MAKE] != NULL;
    g->path = cli->value[INQ_OPT_BASELINE];
    if (g->path == NULL || g->path[0] == '\0' || strcmp(g->path, "-") == 0) {
        return inq_cli_usage(cli, "inquest check run/ --baseline perf.json",
                             "'inquest check' needs --baseline FILE");
    }
    if (made == (cli->n_words > 0)) {
        return inq_cli_usage(cli, "inquest check run/ --baseline perf.json",
                             "'inquest check' takes a run, or a schedule as a CSV file or by "
                             "--make");
    }
    g->folder = !made && is_folder(g->path);
    if (cli->given[INQ_OPT_ADD] && (made || g->folder || !cli->given[INQ_OPT_UPDATE])) {
        return inq_cli_usage(cli, "inquest check --baseline perf.json --update --add run1/ run2/",
                             "--add takes runs and goes with --update and a baseline's file");
    }
    int status = take_rules(g);
    if (status == INQ_EXIT_OK && !made) {
        status = find_subjects(g);
    }
    g->n = made ? 1 : g->subjects.n;
    if (status == INQ_EXIT_OK) {
        g->gates = inq_mem_zalloc(g->n + 1, sizeof *g->gates);
    }
    if (status == INQ_EXIT_OK && g->gates == NULL) {
        struct inq_err err = {0};
        (void)inq_err_set(&err, INQ_NOMEM, "out of memory for %zu checks", g->n);
        return inq_cli_fail(cli, &err, NULL);
    }
    for (size_t i = 0; status == INQ_EXIT_OK && i < g->n; i++) {
        g->gates[i] = (struct gate){.cli = g->cli,
                                    .subject = made ? NULL : g->subjects.at[i],
                                    .name = made ? cli->value[INQ_OPT_MAKE] : g->subjects.at[i],
                                    .baseline = g->folder ? g->baselines.at[i] : g->path,
                                    .one_word = g->folder,
                                    .rules = g->rules};
    }
    return status;
}

/* ---- measuring -------------------------------------------------------------------------------*/

/* The costs of each of the *n steps of the run that told the times, else none; *steps is the
 * caller's, and with it the one block that their per_stage point into. */
static int steps_of_run(const struct inq_cli *cli, const struct inq_schedule_work *work,
                        struct inq_costs **steps, size_t *n)
{
    const struct inq_recorded_costs *run = &work->times.recorded;
    const struct inq_schedule *s = &work->schedule;
    size_t n_stages = (size_t)s->n_stages;
    size_t of_replica = (size_t)(s->n_stages / s->n_pipelines);
    struct inq_err err = {0};
    *n = run->n_stages > 0 ? run->n_steps : 0;
    *steps = inq_mem_zalloc(*n + 1, sizeof **steps + n_stages * sizeof(struct inq_stage_cost));
    int code = *steps != NULL ? INQ_OK : inq_err_set(&err, INQ_NOMEM, "out of memory for steps");
    for (size_t i = 0; code == INQ_OK && i < *n; i++) {
        struct inq_stage_cost *own = (struct inq_stage_cost *)(*steps + *n + 1) + i * n_stages;
        (*steps)[i] = work->costs;
        (*steps)[i].per_stage = own;
        code = inq_stage_costs_recut(run->steps + i * run->n_stages, run->n_stages, of_replica, own,
                                     &err);
        for (size_t k = of_replica; code == INQ_OK && k < n_stages; k++) {
            own[k] = own[k % of_replica];
        }
    }
    return code == INQ_OK ? INQ_EXIT_OK : inq_cli_fail(cli, &err, NULL);
}

static int measure_schedule(struct gate *g, const char *path)
{
    struct inq_schedule_work work = {.takes_faults = true};
    struct inq_costs *steps = NULL;
    struct inq_err err = {0};
    size_t n_steps = 0;
    int status = inq_work_load(g->cli, path, &work);
    bool faulty = work.csv.fault.message[0] != '\0';
    if (status == INQ_EXIT_OK && faulty) {
        int code = inq_snapshot_of_fault(&work.csv, &g->now, &err);
        status = code == INQ_OK ? INQ_EXIT_OK : inq_cli_fail(g->cli, &err, NULL);
    } else if (status == INQ_EXIT_OK) {
        status = steps_of_run(g->cli, &work, &steps, &n_steps);
    }
    if (status == INQ_EXIT_OK && !faulty) {
        struct inq_lint_options options = inq_work_lint_options(g->cli, &work);
        int code =
            inq_snapshot_of_schedule(&work.schedule, &options, steps, n_steps, &g->now, &err);
        status =
            code == INQ_OK
                ? INQ_EXIT_OK
                : inq_cli_fail(g->cli, &err, "'inquest schedule lint' says what is wrong with it");
    }
    g->now.file = path;
    inq_mem_free(steps);
    inq_work_release(&work);
    return status;
}

static int measure_trace(struct gate *g, struct inq_trace *trace)
{
    struct inq_analysis_options options = {.jobs = g->cli->jobs, .predict = inq_fix_predict};
    struct inq_report *report = NULL;
    struct inq_err err = {0};
    int code = inq_cli_keep_steps(g->cli, trace, &err);
    code = code == INQ_OK ? inq_analyze(trace, &options, &report, &err) : code;
    code = code == INQ_OK ? inq_snapshot_of_report(report, &g->now, &err) : code;
    inq_report_free(report);
    if (code == INQ_OK && g->now.n == 0) {
        code = inq_err_set(&err, INQ_UNSUPPORTED,
                           "no steps are known in this run: there is nothing to measure");
    }
    return code == INQ_OK
               ? INQ_EXIT_OK
               : inq_cli_fail(g->cli, &err, "'inquest info' lists the steps that are there");
}

static int measure_run(struct gate *g)
{
    struct inq_cli one = *g->cli;
    struct inq_run *run = NULL;
    struct inq_trace *trace = NULL;
    if (g->one_word) {
        one.words = &g->subject;
        one.n_words = 1;
    }
    int status = inq_cli_ingest(&one, &run);
    if (status == INQ_EXIT_OK) {
        status = inq_cli_one_job(g->cli, g->subject, run, &trace);
    }
    if (status == INQ_EXIT_OK) {
        status = measure_trace(g, trace);
    }
    inq_run_free(run);
    return status;
}

/* What a team would not want to hold its runs against is written only when told to. */
static int check_fitness(struct gate *g, struct inq_err *err)
{
    if (g->now.problem[0] != '\0') {
        return inq_err_set(err, INQ_UNSUPPORTED, "a schedule with errors is no baseline: %.400s",
                           g->now.problem);
    }
    if (g->now.unfit[0] != '\0' && !g->cli->given[INQ_OPT_FORCE]) {
        return inq_err_set(err, INQ_UNSUPPORTED, "this run is no good baseline: %.400s",
                           g->now.unfit);
    }
    if (g->now.unfit[0] != '\0') {
        inq_cli_note(g->cli, "warning: the baseline is of a run with problems: %s", g->now.unfit);
    }
    return INQ_OK;
}

/* Each word is a run of its own, added to what the baseline has. */
static int measure_added(struct gate *g)
{
    struct inq_err err = {0};
    int status = INQ_EXIT_OK;
    int code = g->has_base ? inq_snapshot_pool(&g->now, &g->base.snapshot, &err) : INQ_OK;
    for (size_t i = 0; code == INQ_OK && status == INQ_EXIT_OK && i < g->cli->n_words; i++) {
        struct gate one = {.cli = g->cli, .subject = g->cli->words[i], .one_word = true};
        status = measure_run(&one);
        if (status == INQ_EXIT_OK) {
            code = check_fitness(&one, &err);
            (void)snprintf(err.path, sizeof err.path, "%s", one.subject);
        }
        if (status == INQ_EXIT_OK && code == INQ_OK) {
            code = inq_snapshot_pool(&g->now, &one.now, &err);
        }
        inq_snapshot_release(&one.now);
    }
    return code == INQ_OK ? status
                          : inq_cli_fail(g->cli, &err,
                                         "'inquest analyze' says more; --force adds it all the "
                                         "same");
}

static int measure(struct gate *g)
{
    if (g->cli->given[INQ_OPT_ADD]) {
        return measure_added(g);
    }
    /* a CSV file against the baseline of a schedule is one, if with a fault */
    bool expected = g->has_base && g->base.snapshot.subject == INQ_SUBJECT_SCHEDULE;
    return g->subject == NULL || (expected && is_csv(g->subject, strlen(g->subject))) ||
                   inq_cli_is_schedule(g->cli, g->subject)
               ? measure_schedule(g, g->subject)
               : measure_run(g);
}

/* ---- the baseline ----------------------------------------------------------------------------*/

/* What is not there has no baseline either, and --update would not help: measuring says so. */
static bool is_there(const struct gate *g)
{
    return g->subject == NULL || strcmp(g->subject, "-") == 0 || access(g->subject, F_OK) == 0;
}

static int read_baseline(struct gate *g)
{
    struct inq_err err = {0};
    char *text = NULL;
    size_t len = 0;
    bool update = g->cli->given[INQ_OPT_UPDATE];
    int code = inq_cli_read_file(g->baseline, MAX_BASELINE, &text, &len, &err);
    if (code == INQ_OK) {
        code = inq_baseline_read(text, len, &g->base, &err);
        if (code != INQ_OK) {
            (void)snprintf(err.path, sizeof err.path, "%s", g->baseline);
        }
    } else if (code == INQ_NOT_FOUND && (update || !is_there(g))) {
        inq_mem_free(text);
        return INQ_EXIT_OK;
    }
    inq_mem_free(text);
    g->has_base = code == INQ_OK;
    if (code == INQ_NOT_FOUND) {
        struct inq_err missing = {0};
        (void)inq_err_at(&missing, INQ_NOT_FOUND, g->baseline, -1, "there is no baseline '%s' yet",
                         g->baseline);
        memcpy(g->problem, missing.message, sizeof g->problem);
        return inq_cli_fail(g->cli, &missing,
                            "add --update to write it from this run, and commit it");
    }
    return code == INQ_OK ? INQ_EXIT_OK
                          : inq_cli_fail(g->cli, &err,
                                         "'man inquest-baseline' says how it must look; to start "
                                         "over, delete it and use --update");
}

/* Appends to what a baseline says of its making; what does not fit is left out. */
static void note(char *text, size_t size, const char *before, const char *what)
{
    size_t used = strlen(text);
    (void)snprintf(text + used, size - used, "%s%s%s", used > 0 ? " " : "", before, what);
}

/* How it was made, as it would be typed again. */
static int note_origin(struct gate *g, struct inq_err *err)
{
    enum { SIZE = 2048 };
    const struct inq_cli *cli = g->cli;
    g->now.command = inq_mem_zalloc(SIZE, 1);
    g->now.inputs = inq_mem_zalloc(SIZE, 1);
    if (g->now.command == NULL || g->now.inputs == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for a baseline");
    }
    note(g->now.command, SIZE, "", "inquest check");
    for (size_t i = 0; i < cli->n_words; i++) {
        note(g->now.command, SIZE, "", cli->words[i]);
        note(g->now.inputs, SIZE, "", cli->words[i]);
    }
    for (size_t i = 0; i < cli->n_said; i++) {
        const struct inq_said *said = &cli->said[i];
        if (said->id != INQ_OPT_FORMAT && said->id != INQ_OPT_OUTPUT && said->id != INQ_OPT_JOBS) {
            note(g->now.command, SIZE, "--", inq_cli_option(said->id)->name);
            if (said->value != NULL) {
                note(g->now.command, SIZE, "", said->value);
            }
        }
    }
    return INQ_OK;
}

/* Through the same door as results: a file that appears only when complete. */
static int write_baseline(struct gate *g, struct inq_err *err)
{
    struct inq_cli to = *g->cli;
    struct inq_cli_output output;
    struct inq_check_rules rules = g->base.rules;
    to.value[INQ_OPT_OUTPUT] = g->baseline;
    to.value[INQ_OPT_BASELINE] = NULL; /* it is meant to be written over */
    to.format = INQ_FORMAT_JSON;
    inq_check_rules_merge(&rules, &g->rules);
    int code = inq_cli_output_open(&to, &output, err);
    if (code == INQ_OK) {
        code = inq_baseline_write(&g->now, &rules, inq_cli_output_sink(&output), err);
        code = inq_cli_output_close(&output, code, err);
    }
    return code;
}

/* What changes: against the old baseline where there is one that compares. */
static int update(struct gate *g, struct inq_err *err)
{
    struct inq_err other = {0};
    struct inq_baseline none = {.snapshot = g->now};
    int code = check_fitness(g, err);
    if (code == INQ_OK) {
        code = note_origin(g, err);
    }
    if (code != INQ_OK) {
        return code;
    }
    code = g->has_base ? inq_check_compare(&g->now, &g->base, &g->rules, &g->check, &other)
                       : INQ_UNSUPPORTED;
    if (code == INQ_UNSUPPORTED) {
        inq_check_release(&g->check);
        none.snapshot.n = 0;
        code = inq_check_compare(&g->now, &none, &g->rules, &g->check, err);
    } else if (code != INQ_OK) {
        *err = other;
    }
    if (code == INQ_OK) {
        g->check.updated = true;
        g->check.pass = true;
        code = write_baseline(g, err);
    }
    return code;
}

static int compare_or_update(struct gate *g)
{
    struct inq_err err = {0};
    bool updates = g->cli->given[INQ_OPT_UPDATE];
    int code = updates ? update(g, &err)
                       : inq_check_compare(&g->now, &g->base, &g->rules, &g->check, &err);
    memcpy(g->problem, err.message, sizeof g->problem);
    if (code == INQ_UNSUPPORTED) {
        const char *hint = g->now.problem[0] != '\0' ? "'inquest schedule lint' says what is wrong "
                                                       "with it"
                           : updates
                               ? "'inquest analyze' says more; --force writes it all the same"
                               : "if that is meant, write a new baseline with --update; "
                                 "'inquest compare' compares runs of different sizes and GPUs";
        (void)snprintf(err.path, sizeof err.path, "%s", g->subject != NULL ? g->subject : "");
        return inq_cli_fail(g->cli, &err, hint);
    }
    return code == INQ_OK ? INQ_EXIT_OK : inq_cli_fail(g->cli, &err, NULL);
}

/* ---- all -------------------------------------------------------------------------------------*/

static int report(struct gates *g, const struct inq_check_result *results, size_t n)
{
    struct inq_report_options options = inq_cli_report_options(g->cli);
    struct inq_cli_output output;
    struct inq_err err = {0};
    int code = inq_cli_output_open(g->cli, &output, &err);
    if (code == INQ_OK) {
        code = inq_check_report_all(results, n, &options, inq_cli_output_sink(&output), &err);
        code = inq_cli_output_close(&output, code, &err);
    }
    return code == INQ_OK ? INQ_EXIT_OK : inq_cli_fail(g->cli, &err, NULL);
}

/* What is read beside a merge request, where nobody sees stderr: it says too what was not checked.
 */
static bool is_for_reviewers(enum inq_format format)
{
    return format == INQ_FORMAT_MARKDOWN || format == INQ_FORMAT_JUNIT ||
           format == INQ_FORMAT_GITHUB || format == INQ_FORMAT_GITLAB || format == INQ_FORMAT_SARIF;
}

/* One status for all: that of the first that could not be checked, else whether any fails. */
static int check_all(struct gates *g)
{
    int (*const steps[])(struct gate *) = {read_baseline, measure, compare_or_update};
    struct inq_check_result *results = inq_mem_zalloc(g->n + 1, sizeof *results);
    size_t n = 0;
    int status = INQ_EXIT_OK;
    int finding = INQ_EXIT_OK;
    if (results == NULL) {
        struct inq_err err = {0};
        (void)inq_err_set(&err, INQ_NOMEM, "out of memory for %zu checks", g->n);
        return inq_cli_fail(g->cli, &err, NULL);
    }
    for (size_t i = 0; i < g->n; i++) {
        struct gate *one = &g->gates[i];
        int own = INQ_EXIT_OK;
        for (size_t k = 0; own == INQ_EXIT_OK && k < sizeof steps / sizeof *steps; k++) {
            own = steps[k](one);
        }
        if (own == INQ_EXIT_OK) {
            results[n++] = (struct inq_check_result){&one->check, one->name, one->baseline};
            finding = one->check.pass ? finding : INQ_EXIT_FINDING;
        }
        if (own == INQ_EXIT_FAILED && is_for_reviewers(g->cli->format)) {
            inq_check_release(&one->check);
            one->check = (struct inq_check){
                .problem = one->problem[0] != '\0' ? one->problem : "the job's log says why"};
            results[n++] = (struct inq_check_result){&one->check, one->name, one->baseline};
        }
        status = status == INQ_EXIT_OK ? own : status;
    }
    if (n > 0) {
        int written = report(g, results, n);
        status = status == INQ_EXIT_OK ? written : status;
    }
    inq_mem_free(results);
    return status != INQ_EXIT_OK ? status : finding;
}

int inq_cmd_check(struct inq_cli *cli)
{
    struct gates g = {.cli = cli};
    int status = take_arguments(&g);
    if (status == INQ_EXIT_OK && g.folder && cli->given[INQ_OPT_UPDATE]) {
        (void)mkdir(g.path, 0777); /* if it cannot be made, writing into it says so */
    }
    if (status == INQ_EXIT_OK) {
        status = check_all(&g);
    }
    for (size_t i = 0; g.gates != NULL && i < g.n; i++) {
        inq_snapshot_release(&g.gates[i].now);
        inq_baseline_release(&g.gates[i].base);
        inq_check_release(&g.gates[i].check);
    }
    inq_mem_free(g.gates);
    inq_paths_release(&g.subjects);
    inq_paths_release(&g.baselines);
    return status;
}
