/* SPDX-License-Identifier: Apache-2.0 */
/* A schedule in a handful of measures: what lint says, how long it takes, what it holds. */
#include "inquest/check.h"

#include "analysis/check_measures.h"
#include "inquest/lint.h"

#include <math.h>
#include <stdio.h>

static int add_exact(struct inq_snapshot *snapshot, enum inq_measure_kind kind, double value,
                     struct inq_err *err)
{
    struct inq_measure values = {.value = value, .low = (double)NAN, .high = (double)NAN};
    return inq_snapshot_add(snapshot, kind, NULL, &values, err);
}

static void say_problem(const struct inq_lint *lint, struct inq_snapshot *snapshot)
{
    for (size_t i = 0; i < lint->n; i++) {
        const struct inq_lint_problem *p = &lint->problems[i];
        if (p->error) {
            (void)snprintf(snapshot->problem, sizeof snapshot->problem, "%s: %.380s",
                           inq_lint_rule_text(p->rule), p->message);
            return;
        }
    }
}

static int add_times(const struct inq_schedule *schedule, const struct inq_costs *costs,
                     struct inq_snapshot *snapshot, struct inq_err *err)
{
    struct inq_schedule_timing timing = {0};
    int code = inq_schedule_time(schedule, costs, &timing, err);
    if (code == INQ_OK) {
        code = add_exact(snapshot, INQ_MEASURE_BUBBLE_RATIO, timing.bubble_ratio, err);
    }
    if (code == INQ_OK) {
        code = add_exact(snapshot, INQ_MEASURE_MAKESPAN, (double)timing.makespan_ns, err);
    }
    if (code == INQ_OK) {
        code = add_exact(snapshot, INQ_MEASURE_PEAK_ACTIVATIONS, timing.peak_memory, err);
    }
    inq_schedule_timing_release(&timing, schedule->n_ranks);
    return code;
}

int inq_snapshot_of_schedule(const struct inq_schedule *schedule,
                             const struct inq_lint_options *options, struct inq_snapshot *snapshot,
                             struct inq_err *err)
{
    const struct inq_costs *costs = &options->costs;
    struct inq_lint lint = {0};
    *snapshot = (struct inq_snapshot){
        .subject = INQ_SUBJECT_SCHEDULE,
        .ranks = schedule->n_ranks,
        .stages = schedule->n_stages,
        .microbatches = schedule->n_microbatches,
        .times_ns = {costs->stage.f_ns, costs->stage.b_ns, costs->stage.w_ns, costs->p2p_ns}};
    int code = inq_lint_schedule(schedule, NULL, options, &lint, err);
    if (code != INQ_OK) {
        return code;
    }
    size_t errors = lint.n_errors;
    say_problem(&lint, snapshot);
    inq_lint_release(&lint);
    if (errors == 0) {
        code = add_times(schedule, costs, snapshot, err);
    }
    return code == INQ_OK ? add_exact(snapshot, INQ_MEASURE_LINT_PROBLEMS, (double)errors, err)
                          : code;
}
