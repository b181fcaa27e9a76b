/* SPDX-License-Identifier: Apache-2.0 */
/* inquest replay PATH|SCHEDULE: executes a step again, by one of the engines. */
#include "cli/commands/schedule/schedule.h"

#include "inquest/fix.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_STEPS = 100000 };

/* All that one call works with; released in one place. */
struct work {
    struct inq_cli *cli;
    const struct inq_engine *engine;
    struct inq_replay_options options;
    double scale;
    size_t steps;
    char fix[1024]; /* all --fix, joined by '+' */
    char what[256]; /* what is executed, in words */
    struct inq_run *run;
    struct inq_report *report;
    struct inq_schedule_work schedule;
    struct inq_fix_base *base;
    struct inq_graph *graph;
    struct inq_plan *plan;
    struct inq_replay replay;
    int64_t recorded_ns;
};

static void release(struct work *w)
{
    inq_replay_release(&w->replay);
    inq_plan_free(w->plan);
    inq_graph_free(w->graph);
    inq_fix_base_free(w->base);
    inq_work_release(&w->schedule);
    inq_report_free(w->report);
    inq_run_free(w->run);
}

/* ---- what was asked for ---------------------------------------------------------------------- */

static int join_fixes(struct work *w)
{
    struct inq_err err = {0};
    size_t at = 0;
    size_t len = 0;
    for (const char *spec; (spec = inq_cli_next_value(w->cli, INQ_OPT_FIX, &at)) != NULL;) {
        if (inq_fix_check(spec, &err) != INQ_OK) {
            return inq_cli_usage(w->cli, "'inquest list' names the fixes", "--fix '%s': %s", spec,
                                 err.message);
        }
        int n = snprintf(w->fix + len, sizeof w->fix - len, "%s%s", len > 0 ? "+" : "", spec);
        len += n > 0 ? (size_t)n : 0;
        if (len >= sizeof w->fix) {
            return inq_cli_usage(w->cli, NULL, "too many fixes");
        }
    }
    return INQ_EXIT_OK;
}

static int take_options(struct work *w)
{
    const struct inq_cli *cli = w->cli;
    int64_t steps = 1;
    size_t n = 0;
    w->engine = &inq_engines(&n)[cli->given[INQ_OPT_ENGINE] ? cli->choice[INQ_OPT_ENGINE] : 1];
    w->scale = 1.0;
    int status = inq_cli_execution(cli, &w->options);
    if (status == INQ_EXIT_OK) {
        status = inq_cli_whole(cli, INQ_OPT_STEPS, 1, MOST_STEPS, &steps);
    }
    if (status == INQ_EXIT_OK) {
        status = inq_cli_positive(cli, INQ_OPT_SCALE, &w->scale);
    }
    if (status == INQ_EXIT_OK) {
        status = join_fixes(w);
    }
    w->steps = (size_t)steps;
    return status;
}

/* ---- the step -------------------------------------------------------------------------------- */

/* Explicit calls are made first, as the communication library makes them: an order that blocks is
 * said before any time is measured. */
static int make_calls(struct work *w)
{
    const struct inq_rendezvous_options options = {.ungrouped = w->cli->choice[INQ_OPT_GROUPING] ==
                                                                INQ_GROUPING_NONE};
    const struct inq_schedule *s = &w->schedule.schedule;
    struct inq_err err = {0};
    bool executes = strcmp(w->engine->name, "sim") != 0 && s->has_comms;
    int code = executes ? inq_schedule_execute(s, &options, &err) : INQ_OK;
    return code == INQ_OK
               ? INQ_EXIT_OK
               : inq_cli_fail(w->cli, &err, "'inquest schedule lint' says what is wrong with it");
}

static int base_of_schedule(struct work *w, const char *path)
{
    struct inq_err err = {0};
    int status = inq_work_load(w->cli, path, &w->schedule);
    if (status != INQ_EXIT_OK) {
        return status;
    }
    const struct inq_schedule *s = &w->schedule.schedule;
    (void)snprintf(w->what, sizeof w->what,
                   "%s, %" PRId32 " rank%s, %" PRId32 " stage%s, %" PRId32 " micro-batch%s",
                   path == NULL ? s->kind : "the schedule", s->n_ranks, s->n_ranks == 1 ? "" : "s",
                   s->n_stages, s->n_stages == 1 ? "" : "s", s->n_microbatches,
                   s->n_microbatches == 1 ? "" : "es");
    int code = inq_fix_base_of_schedule(s, &w->schedule.costs, &w->base, &err);
    return code == INQ_OK
               ? make_calls(w)
               : inq_cli_fail(w->cli, &err, "'inquest schedule lint' says what is wrong with it");
}

static int base_of_run(struct work *w)
{
    int status = inq_cli_fix_base(w->cli, &w->run, &w->report, &w->base);
    if (status != INQ_EXIT_OK) {
        return status;
    }
    const struct inq_fix_base_info *info = inq_fix_base_info(w->base);
    char step[64] = "the whole capture, host calls included";
    if (info->step >= 0) {
        (void)snprintf(step, sizeof step, "step %" PRId64 " (of median length)", info->step);
    }
    (void)snprintf(w->what, sizeof w->what, "%s, %zu rank%s, %zu op%s", step, info->n_ranks,
                   info->n_ranks == 1 ? "" : "s", info->n_ops, info->n_ops == 1 ? "" : "s");
    return INQ_EXIT_OK;
}

static int take_base(struct work *w)
{
    const struct inq_cli *cli = w->cli;
    bool made = cli->value[INQ_OPT_MAKE] != NULL;
    if (made == (cli->n_words > 0)) {
        return inq_cli_usage(cli, "inquest replay run/, or inquest replay --make 1f1b -p 4 -m 8",
                             "'inquest replay' takes a run, or a schedule as a CSV file or by "
                             "--make");
    }
    if (made) {
        return base_of_schedule(w, NULL);
    }
    bool schedule = cli->n_words == 1 && inq_cli_is_schedule(cli, cli->words[0]);
    return schedule ? base_of_schedule(w, cli->words[0]) : base_of_run(w);
}

/* What was recorded of what is executed; -1 where it cannot be compared. No op stands for what
 * comes before the first op of the step, nor for what follows its last. */
static void find_recorded(struct work *w)
{
    const struct inq_fix_base_info *info = inq_fix_base_info(w->base);
    if (info->ops_ns > 0 && w->steps == 1 && w->fix[0] == '\0') {
        w->recorded_ns = llround((double)info->ops_ns * w->scale);
    }
}

static int make_plan(struct work *w)
{
    struct inq_err err = {0};
    int code = inq_fix_plan(w->base, w->fix, w->steps, w->scale, &w->graph, &w->plan, &err);
    if (code == INQ_USAGE || code == INQ_UNSUPPORTED) {
        return inq_cli_usage(w->cli, NULL, "--fix: %s", err.message);
    }
    return code == INQ_OK ? INQ_EXIT_OK : inq_cli_fail(w->cli, &err, NULL);
}

/* ---- the result ------------------------------------------------------------------------------ */

/* The executed step as a trace that viewers and 'inquest analyze' read. */
static int write_trace(struct work *w, struct inq_sink sink, struct inq_err *err)
{
    struct inq_run *run = NULL;
    struct inq_report *report = NULL;
    struct inq_analysis_options how = {.jobs = w->cli->jobs, .predict = inq_fix_predict};
    struct inq_report_options options = inq_cli_report_options(w->cli);
    int code = inq_execution_trace(w->plan, &w->replay.execution, &run, err);
    if (code == INQ_OK) {
        code = inq_analyze(run->traces[0], &how, &report, err);
    }
    if (code == INQ_OK) {
        code = inq_report_write(run, &report, 1, &options, sink, err);
    }
    inq_report_free(report);
    inq_run_free(run);
    return code;
}

static int write_result(const struct work *w, struct inq_sink sink, enum inq_format format,
                        struct inq_err *err)
{
    struct inq_report_options options = inq_cli_report_options(w->cli);
    const struct inq_replay_view view = {.replay = &w->replay,
                                         .plan = w->plan,
                                         .what = w->what,
                                         .fix = w->fix,
                                         .work = w->replay.work == INQ_WORK_RECORDED ? "recorded"
                                                                                     : "timed",
                                         .steps = w->steps,
                                         .recorded_ns = w->recorded_ns};
    options.format = format;
    return inq_replay_report(&view, &options, sink, err);
}

/* The trace goes to its file; what there is to say, to stdout. */
static int say_beside_trace(const struct work *w, struct inq_err *err)
{
    struct inq_out text = {0};
    struct inq_sink sink = inq_out_sink(&text);
    const char *path = w->cli->value[INQ_OPT_OUTPUT];
    int code = INQ_OK;
    if (path != NULL && strcmp(path, "-") != 0) {
        code = write_result(w, sink, INQ_FORMAT_TEXT, err);
        if (code == INQ_OK) {
            code = inq_cli_stdout(w->cli, text.buf, text.len, false, err);
        }
    }
    inq_out_release(&text);
    return code;
}

static int write_all(struct work *w)
{
    struct inq_err err = {0};
    struct inq_cli_output output;
    bool graphs = w->cli->format == INQ_FORMAT_CHAKRA;
    bool trace = graphs || w->cli->format == INQ_FORMAT_PERFETTO;
    int code = graphs ? inq_cli_write_chakra(w->cli, w->plan, &w->replay.execution, &err)
                      : inq_cli_output_open(w->cli, &output, &err);
    if (code == INQ_OK && !graphs) {
        struct inq_sink sink = inq_cli_output_sink(&output);
        code = trace ? write_trace(w, sink, &err) : write_result(w, sink, w->cli->format, &err);
        code = inq_cli_output_close(&output, code, &err);
    }
    if (code == INQ_OK && trace) {
        code = say_beside_trace(w, &err);
    }
    return code == INQ_OK ? INQ_EXIT_OK : inq_cli_fail(w->cli, &err, NULL);
}

static int execute(struct work *w)
{
    struct inq_err err = {0};
    int code = inq_replay_run(w->engine, w->plan, &w->options, &w->replay, &err);
    if (code == INQ_OK) {
        return INQ_EXIT_OK;
    }
    return inq_cli_fail(w->cli, &err,
                        code == INQ_UNSUPPORTED ? "--engine host executes on the CPU"
                        : code == INQ_LIMIT ? "--engine host --work timed holds any number of ranks"
                                            : NULL);
}

int inq_cmd_replay(struct inq_cli *cli)
{
    struct work w = {.cli = cli, .recorded_ns = -1};
    int status = take_options(&w);
    if (status == INQ_EXIT_OK) {
        status = take_base(&w);
    }
    if (status == INQ_EXIT_OK) {
        status = make_plan(&w);
    }
    if (status == INQ_EXIT_OK) {
        find_recorded(&w);
        status = execute(&w);
    }
    if (status == INQ_EXIT_OK) {
        status = write_all(&w);
    }
    release(&w);
    return status;
}
