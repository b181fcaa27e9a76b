/* SPDX-License-Identifier: Apache-2.0 */
/* inquest check PATH|SCHEDULE --baseline FILE: the gate for CI. */
#include "cli/schedule_work.h"

#include "base/mem.h"
#include "inquest/check.h"

#include <stdio.h>
#include <string.h>

static const size_t MAX_BASELINE = (size_t)32 << 20;

struct gate {
    struct inq_cli *cli;
    const char *path; /* of the baseline */
    struct inq_check_rules rules;
    struct inq_snapshot now;
    struct inq_baseline base;
    struct inq_check check;
    bool has_base;
    char name[256]; /* of what is checked */
};

/* ---- what was asked for ----------------------------------------------------------------------*/

static int take_rules(struct gate *g)
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

static int take_arguments(struct gate *g)
{
    const struct inq_cli *cli = g->cli;
    bool made = cli->value[INQ_OPT_MAKE] != NULL;
    g->path = cli->value[INQ_OPT_BASELINE];
    if (g->path == NULL || strcmp(g->path, "-") == 0) {
        return inq_cli_usage(cli, "inquest check run/ --baseline perf.json",
                             "'inquest check' needs --baseline FILE");
    }
    if (made == (cli->n_words > 0)) {
        return inq_cli_usage(cli, "inquest check run/ --baseline perf.json",
                             "'inquest check' takes a run, or a schedule as a CSV file or by "
                             "--make");
    }
    (void)snprintf(g->name, sizeof g->name, "%s", made ? cli->value[INQ_OPT_MAKE] : cli->words[0]);
    return take_rules(g);
}

/* ---- measuring -------------------------------------------------------------------------------*/

static int measure_schedule(struct gate *g, const char *path)
{
    struct inq_schedule_work work = {0};
    struct inq_costs *steps = NULL;
    struct inq_err err = {0};
    size_t n_steps = 0;
    int status = inq_work_load(g->cli, path, &work);
    if (status == INQ_EXIT_OK) {
        status = inq_work_steps(g->cli, &work, &steps, &n_steps);
    }
    if (status == INQ_EXIT_OK) {
        struct inq_lint_options options = inq_work_lint_options(g->cli, &work);
        int code =
            inq_snapshot_of_schedule(&work.schedule, &options, steps, n_steps, &g->now, &err);
        status =
            code == INQ_OK
                ? INQ_EXIT_OK
                : inq_cli_fail(g->cli, &err, "'inquest schedule lint' says what is wrong with it");
    }
    inq_mem_free(steps);
    inq_work_release(&work);
    return status;
}

static int measure_trace(struct gate *g, struct inq_trace *trace)
{
    struct inq_analysis_options options = {.jobs = g->cli->jobs};
    struct inq_report *report = NULL;
    struct inq_err err = {0};
    int code = inq_cli_keep_steps(g->cli, trace, &err);
    code = code == INQ_OK ? inq_analyze(trace, &options, &report, &err) : code;
    code = code == INQ_OK ? inq_snapshot_of_report(report, g->cli->jobs, &g->now, &err) : code;
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
    struct inq_run *run = NULL;
    int status = inq_cli_ingest(g->cli, &run);
    struct inq_trace *trace = NULL;
    if (status == INQ_EXIT_OK) {
        status = inq_cli_one_job(g->cli, g->cli->words[0], run, &trace);
    }
    if (status == INQ_EXIT_OK) {
        status = measure_trace(g, trace);
    }
    inq_run_free(run);
    return status;
}

static int measure(struct gate *g)
{
    if (g->cli->n_words == 0) {
        return measure_schedule(g, NULL);
    }
    if (g->cli->n_words == 1 && inq_cli_is_schedule(g->cli, g->cli->words[0])) {
        return measure_schedule(g, g->cli->words[0]);
    }
    return measure_run(g);
}

/* ---- the baseline ----------------------------------------------------------------------------*/

static int read_baseline(struct gate *g)
{
    struct inq_err err = {0};
    char *text = NULL;
    size_t len = 0;
    bool update = g->cli->given[INQ_OPT_UPDATE];
    int code = inq_cli_read_file(g->path, MAX_BASELINE, &text, &len, &err);
    if (code == INQ_OK) {
        code = inq_baseline_read(text, len, &g->base, &err);
        if (code != INQ_OK) {
            (void)snprintf(err.path, sizeof err.path, "%s", g->path);
        }
    } else if (code == INQ_NOT_FOUND && update) {
        inq_mem_free(text);
        return INQ_EXIT_OK;
    }
    inq_mem_free(text);
    g->has_base = code == INQ_OK;
    if (code == INQ_NOT_FOUND) {
        struct inq_err missing = {0};
        (void)inq_err_at(&missing, INQ_NOT_FOUND, g->path, -1, "there is no baseline '%s' yet",
                         g->path);
        return inq_cli_fail(g->cli, &missing,
                            "add --update to write it from this run, and commit it");
    }
    return code == INQ_OK ? INQ_EXIT_OK
                          : inq_cli_fail(g->cli, &err,
                                         "'man inquest-baseline' says how it must look; to start "
                                         "over, delete it and use --update");
}

/* Through the same door as results: a file that appears only when complete. */
static int write_baseline(struct gate *g, struct inq_err *err)
{
    struct inq_cli to = *g->cli;
    struct inq_cli_output output;
    struct inq_check_rules rules = g->base.rules;
    to.value[INQ_OPT_OUTPUT] = g->path;
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
    if (g->now.problem[0] != '\0') {
        return inq_err_set(err, INQ_UNSUPPORTED, "a schedule with errors is no baseline; %.400s",
                           g->now.problem);
    }
    int code = g->has_base ? inq_check_compare(&g->now, &g->base, &g->rules, &g->check, &other)
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

static int report(struct gate *g, struct inq_err *err)
{
    struct inq_report_options options = inq_cli_report_options(g->cli);
    struct inq_cli_output output;
    int code = inq_cli_output_open(g->cli, &output, err);
    if (code == INQ_OK) {
        code = inq_check_report(&g->check, g->name, g->path, &options, inq_cli_output_sink(&output),
                                err);
        code = inq_cli_output_close(&output, code, err);
    }
    return code;
}

static int judge(struct gate *g)
{
    struct inq_err err = {0};
    bool updates = g->cli->given[INQ_OPT_UPDATE];
    int code = updates ? update(g, &err)
                       : inq_check_compare(&g->now, &g->base, &g->rules, &g->check, &err);
    if (code == INQ_UNSUPPORTED) {
        return inq_cli_fail(g->cli, &err,
                            updates ? "'inquest schedule lint' says what is wrong with it"
                                    : "if that is meant, write a new baseline with --update; "
                                      "'inquest compare' compares runs of different sizes");
    }
    if (code == INQ_OK) {
        code = report(g, &err);
    }
    if (code != INQ_OK) {
        return inq_cli_fail(g->cli, &err, NULL);
    }
    return g->check.pass ? INQ_EXIT_OK : INQ_EXIT_FINDING;
}

int inq_cmd_check(struct inq_cli *cli)
{
    struct gate g = {.cli = cli};
    int (*const steps[])(struct gate *) = {take_arguments, read_baseline, measure, judge};
    int status = INQ_EXIT_OK;
    for (size_t i = 0; status == INQ_EXIT_OK && i < sizeof steps / sizeof *steps; i++) {
        status = steps[i](&g);
    }
    inq_snapshot_release(&g.now);
    inq_baseline_release(&g.base);
    inq_check_release(&g.check);
    return status;
}
