/* SPDX-License-Identifier: Apache-2.0 */
/* inquest fix PATH...: which fixes would help, and by how much. */
#include "cli/commands/schedule/schedule.h"

#include "inquest/fix.h"

enum { MAX_SPECS = 64, MOST_EXECUTED = 100000, MOST_DRAWN = 6 };

/* All that one call works with; released in one place. */
struct work {
    struct inq_cli *cli;
    struct inq_run *run;
    struct inq_report *report;
    struct inq_fix_base *base;
    struct inq_fixes *fixes;
    const char *specs[MAX_SPECS];
    size_t n_specs;
    struct inq_fix_validate_options validate; /* engine NULL: not asked for */
};

static void release(struct work *w)
{
    inq_fixes_free(w->fixes);
    inq_fix_base_free(w->base);
    inq_report_free(w->report);
    inq_run_free(w->run);
}

/* ---- what was asked for ---------------------------------------------------------------------- */

static int take_validation(struct work *w)
{
    const struct inq_cli *cli = w->cli;
    size_t n = 0;
    int64_t top = 0;
    int status = inq_cli_whole(cli, INQ_OPT_TOP, 1, MOST_EXECUTED, &top);
    if (status == INQ_EXIT_OK) {
        status = inq_cli_execution(cli, &w->validate.replay);
    }
    if (status == INQ_EXIT_OK) {
        status = inq_cli_positive(cli, INQ_OPT_SCALE, &w->validate.scale);
    }
    if (status != INQ_EXIT_OK || !cli->given[INQ_OPT_VALIDATE]) {
        return status;
    }
    /* the choices are in the order of the engines */
    w->validate.engine = &inq_engines(&n)[cli->choice[INQ_OPT_VALIDATE]];
    w->validate.top = (size_t)top;
    return INQ_EXIT_OK;
}

static int take_options(struct work *w)
{
    struct inq_err err = {0};
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
    return INQ_EXIT_OK;
}

/* ---- a run ----------------------------------------------------------------------------------- */

/* A schedule has no findings: what to try has to be said. */
static int base_of_schedule(struct work *w, const char *path)
{
    struct inq_schedule_work work = {0};
    struct inq_err err = {0};
    if (w->n_specs == 0) {
        return inq_cli_usage(w->cli, "for example --fix schedule:zb-h1",
                             "a schedule has no findings: say with --fix what to try");
    }
    int status = inq_work_load(w->cli, path, &work);
    if (status == INQ_EXIT_OK &&
        inq_fix_base_of_schedule(&work.schedule, &work.costs, &w->base, &err) != INQ_OK) {
        status = inq_cli_fail(w->cli, &err, "'inquest schedule lint' says what is wrong with it");
    }
    inq_work_release(&work);
    return status;
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
    return schedule ? base_of_schedule(w, cli->words[0])
                    : inq_cli_fix_base(w->cli, &w->run, &w->report, &w->base);
}

/* ---- the answer ------------------------------------------------------------------------------ */

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
        code = inq_fix_timeline(w->base, MOST_DRAWN, w->fixes, &err);
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
