/* SPDX-License-Identifier: Apache-2.0 */
/* inquest fix PATH...: which fixes would help, and by how much. */
#include "cli/cli.h"

#include "base/mem.h"
#include "inquest/fix.h"
#include "inquest/lint.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { MAX_SPECS = 64, MOST_REPEATS = 100000, MOST_DRAWN = 6 };

/* All that one call works with; released in one place. */
struct work {
    struct inq_cli *cli;
    struct inq_run *run;
    struct inq_report *report;
    struct inq_fix_base *base;
    struct inq_fixes *fixes;
    struct inq_range *steps;
    size_t n_steps;
    const char *specs[MAX_SPECS];
    size_t n_specs;
    struct inq_fix_validate_options validate; /* engine NULL: not asked for */
};

static void release(struct work *w)
{
    inq_fixes_free(w->fixes);
    inq_fix_base_free(w->base);
    inq_report_free(w->report);
    inq_mem_free(w->steps);
    inq_run_free(w->run);
}

/* ---- what was asked for ------------------------------------------------------------------------
 */

static int read_count(const struct inq_cli *cli, enum inq_option_id id, long *value)
{
    const char *text = cli->value[id];
    char *end = NULL;
    errno = 0;
    *value = text != NULL ? strtol(text, &end, 10) : 0;
    if (text != NULL &&
        (errno != 0 || end == text || *end != '\0' || *value < 1 || *value > MOST_REPEATS)) {
        return inq_cli_usage(cli, NULL, "--%s takes a number from 1 to %d, not '%s'",
                             inq_cli_option(id)->name, MOST_REPEATS, text);
    }
    return INQ_EXIT_OK;
}

static int read_scale(struct work *w)
{
    const char *text = w->cli->value[INQ_OPT_SCALE];
    char *end = NULL;
    w->validate.scale = text != NULL ? strtod(text, &end) : 0.0;
    if (text != NULL &&
        (end == text || *end != '\0' || !isfinite(w->validate.scale) || w->validate.scale <= 0.0)) {
        return inq_cli_usage(w->cli, "--scale 0.01 executes in a hundredth of the time",
                             "--scale takes a positive number, not '%s'", text);
    }
    return INQ_EXIT_OK;
}

static int take_validation(struct work *w)
{
    const struct inq_cli *cli = w->cli;
    size_t n = 0;
    long top = 0;
    long repeats = 0;
    int status = read_count(cli, INQ_OPT_TOP, &top);
    if (status == INQ_EXIT_OK) {
        status = read_count(cli, INQ_OPT_REPEATS, &repeats);
    }
    if (status == INQ_EXIT_OK) {
        status = read_scale(w);
    }
    if (status != INQ_EXIT_OK || !cli->given[INQ_OPT_VALIDATE]) {
        return status;
    }
    /* the choices are in the order of the engines */
    w->validate.engine = &inq_engines(&n)[cli->choice[INQ_OPT_VALIDATE]];
    w->validate.top = (size_t)top;
    w->validate.replay =
        (struct inq_replay_options){.repeats = (int)repeats,
                                    .work = (enum inq_work_mode)cli->choice[INQ_OPT_WORK],
                                    .no_graph = cli->given[INQ_OPT_NO_GRAPH],
                                    .realtime = cli->given[INQ_OPT_REALTIME],
                                    .interrupted = inq_cli_wants_stop};
    return INQ_EXIT_OK;
}

static int take_options(struct work *w)
{
    struct inq_err err = {0};
    const char *steps = w->cli->value[INQ_OPT_STEP];
    size_t at = 0;
    for (const char *spec; (spec = inq_cli_next_value(w->cli, INQ_OPT_FIX, &at)) != NULL;) {
        if (w->n_specs == MAX_SPECS) {
            return inq_cli_usage(w->cli, NULL, "more than %d fixes", MAX_SPECS);
        }
        if (inq_fix_check(spec, &err) != INQ_OK) {
            return inq_cli_usage(w->cli, "'inquest list' names the fixes", "--fix '%s': %s", spec,
                                 err.message);
        }
        w->specs[w->n_specs++] = spec;
    }
    if (steps != NULL && inq_cli_ranges(steps, &w->steps, &w->n_steps, &err) != INQ_OK) {
        return inq_cli_usage(w->cli, NULL, "-s: %s", err.message);
    }
    if (w->n_steps > 1) {
        return inq_cli_usage(w->cli, "give one range, such as 10..20",
                             "-s takes one range of steps");
    }
    return INQ_EXIT_OK;
}

/* ---- a run -------------------------------------------------------------------------------------
 */

static int keep_steps(struct work *w)
{
    struct inq_err err = {0};
    int code = w->n_steps > 0 ? inq_trace_keep_steps(w->run->traces[0], w->steps[0], &err) : INQ_OK;
    if (code == INQ_NOT_FOUND) {
        return inq_cli_usage(w->cli, "'inquest info' lists the steps that are there",
                             "there are no steps %s", w->cli->value[INQ_OPT_STEP]);
    }
    return code == INQ_OK ? INQ_EXIT_OK : inq_cli_fail(w->cli, &err, NULL);
}

/* A schedule has no findings: what to try has to be said. */
static int base_of_schedule(struct work *w, const char *path)
{
    struct inq_schedule schedule = {0};
    struct inq_lint_options lint;
    struct inq_err err = {0};
    if (w->n_specs == 0) {
        return inq_cli_usage(w->cli, "for example --fix schedule:zb-h1",
                             "a schedule has no findings: say with --fix what to try");
    }
    int status = inq_cli_schedule(w->cli, path, &schedule, &lint);
    if (status != INQ_EXIT_OK) {
        inq_schedule_release(&schedule);
        return status;
    }
    int code = inq_fix_base_of_schedule(&schedule, &lint.costs, &w->base, &err);
    inq_schedule_release(&schedule);
    return code == INQ_OK
               ? INQ_EXIT_OK
               : inq_cli_fail(w->cli, &err, "'inquest schedule lint' says what is wrong with it");
}

static int base_of_run(struct work *w)
{
    struct inq_err err = {0};
    struct inq_analysis_options options = {.jobs = w->cli->jobs};
    int status = inq_cli_ingest(w->cli, &w->run);
    if (status != INQ_EXIT_OK) {
        return status;
    }
    status = inq_cli_one_job(w->cli, w->run);
    if (status == INQ_EXIT_OK) {
        status = keep_steps(w);
    }
    if (status != INQ_EXIT_OK) {
        return status;
    }
    int code = inq_analyze(w->run->traces[0], &options, &w->report, &err);
    if (code == INQ_OK) {
        code = inq_fix_base_of_run(w->run->traces[0], w->report, &w->base, &err);
    }
    return code == INQ_OK ? INQ_EXIT_OK : inq_cli_fail(w->cli, &err, NULL);
}

static int take_base(struct work *w)
{
    const struct inq_cli *cli = w->cli;
    bool made = cli->value[INQ_OPT_MAKE] != NULL;
    if (made && cli->n_words > 0) {
        return inq_cli_usage(cli, NULL, "either files or --make, not both");
    }
    if (made) {
        return base_of_schedule(w, NULL);
    }
    bool schedule = cli->n_words == 1 && inq_cli_is_schedule(cli, cli->words[0]);
    return schedule ? base_of_schedule(w, cli->words[0]) : base_of_run(w);
}

/* ---- the answer --------------------------------------------------------------------------------
 */

static int study(struct work *w)
{
    struct inq_err err = {0};
    struct inq_fix_options options = {
        .specs = w->specs, .n_specs = w->n_specs, .jobs = w->cli->jobs};
    int code = inq_fix_study(w->base, w->report, &options, &w->fixes, &err);
    if (code == INQ_OK && w->validate.engine != NULL) {
        code = inq_fix_validate(w->base, &w->validate, w->fixes, &err);
    }
    if (code == INQ_OK && w->cli->format == INQ_FORMAT_HTML) {
        code = inq_fix_draw(w->base, MOST_DRAWN, w->fixes, &err);
    }
    return code == INQ_OK
               ? INQ_EXIT_OK
               : inq_cli_fail(w->cli, &err,
                              code == INQ_UNSUPPORTED ? "--validate host executes on the CPU"
                                                      : NULL);
}

static int write_fixes(struct work *w)
{
    struct inq_err err = {0};
    struct inq_cli_output output;
    struct inq_report_options options = inq_cli_report_options(w->cli);
    int code = inq_cli_output_open(w->cli, &output, &err);
    if (code == INQ_OK) {
        code = inq_fix_report(w->fixes, &options, inq_cli_output_sink(&output), &err);
        code = inq_cli_output_close(&output, code, &err);
    }
    return code == INQ_OK ? INQ_EXIT_OK : inq_cli_fail(w->cli, &err, NULL);
}

int inq_cmd_fix(struct inq_cli *cli)
{
    struct work w = {.cli = cli};
    int status = take_options(&w);
    if (status == INQ_EXIT_OK) {
        status = take_validation(&w);
    }
    if (status == INQ_EXIT_OK) {
        status = take_base(&w);
    }
    if (status == INQ_EXIT_OK) {
        status = study(&w);
    }
    if (status == INQ_EXIT_OK) {
        status = write_fixes(&w);
    }
    release(&w);
    return status;
}
