/* SPDX-License-Identifier: Apache-2.0 */
/* The schedule of a recorded run, as the command line names the run and the step. */
#include "cli/commands/schedule/schedule.h"

#include "inquest/time.h"

#include <stdlib.h>

/* False: --step is no number. */
static bool choose_step(const struct inq_cli *cli, struct inq_recorded_step *which)
{
    const char *at = cli->value[INQ_OPT_AT];
    const char *step = cli->value[INQ_OPT_STEP];
    char *end = NULL;
    *which = (struct inq_recorded_step){.by = INQ_STEP_MEDIAN};
    if (at != NULL && inq_time_parse(at, 1000000, &which->value)) {
        which->by = INQ_STEP_AT;
    } else if (step != NULL) {
        which->by = INQ_STEP_NUMBER;
        which->value = strtoll(step, &end, 10);
    }
    return end == NULL || (end != step && *end == '\0');
}

static int take_trace(const struct inq_trace *trace, const struct inq_recorded_step *which,
                      struct inq_schedule_work *work, bool *found, struct inq_err *err)
{
    struct inq_recorded_schedule recorded = {0};
    int code = inq_recorded_schedule_of(trace, which, &recorded, found, err);
    work->schedule = recorded.schedule;
    work->recorded = recorded.timing;
    work->times.recorded = recorded.costs;
    work->times.costs = recorded.costs.costs;
    work->has_at = which->by == INQ_STEP_AT;
    work->at_ns = recorded.at_ns;
    return code;
}

/* Of one job, or of the first that has a pipeline. */
static int take_run(const struct inq_cli *cli, const struct inq_run *run,
                    struct inq_schedule_work *work)
{
    struct inq_recorded_step which;
    struct inq_trace *one = NULL;
    struct inq_err err = {0};
    bool found = false;
    if (!choose_step(cli, &which)) {
        return inq_cli_usage(cli, "for example --step 5; 'inquest info' lists the steps",
                             "--step takes the number of one step here, not '%s'",
                             cli->value[INQ_OPT_STEP]);
    }
    int code = INQ_OK;
    int status = cli->given[INQ_OPT_JOB] || run->n_traces == 0
                     ? inq_cli_one_job(cli, cli->words[1], run, &one)
                     : INQ_EXIT_OK;
    for (size_t i = 0; status == INQ_EXIT_OK && code == INQ_OK && !found && i < run->n_traces;
         i++) {
        if (one == NULL || one == run->traces[i]) {
            code = take_trace(run->traces[i], &which, work, &found, &err);
        }
    }
    if (status == INQ_EXIT_OK && code == INQ_OK && !found) {
        code = inq_err_set(&err, INQ_NOT_FOUND,
                           "no pipeline is recognized in it: no two steps or replicas agree on "
                           "the forwards and backwards of a step");
    }
    return code == INQ_OK ? status
                          : inq_cli_fail(cli, &err, "'inquest analyze' says what there is");
}

int inq_work_record(struct inq_cli *cli, struct inq_schedule_work *work)
{
    struct inq_cli behind_verb = *cli;
    struct inq_run *run = NULL;
    behind_verb.words++;
    behind_verb.n_words--;
    int status = inq_cli_ingest(&behind_verb, &run);
    if (status == INQ_EXIT_OK) {
        status = take_run(cli, run, work);
    }
    inq_run_free(run);
    return status;
}
