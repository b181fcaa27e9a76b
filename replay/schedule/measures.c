/* SPDX-License-Identifier: Apache-2.0 */
/* A schedule in a handful of measures: what lint says, how long it takes, what it holds. */
#include "inquest/check.h"

#include "analysis/check/check.h"
#include "base/mem.h"
#include "inquest/out.h"
#include "inquest/lint.h"
#include "schedule/schedule.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static int add_exact(struct inq_snapshot *snapshot, enum inq_measure_kind kind, double value,
                     struct inq_err *err)
{
    struct inq_measure values = {.value = value, .low = (double)NAN, .high = (double)NAN};
    return inq_snapshot_add(snapshot, kind, NULL, &values, err);
}

/* Keeps what lint objects to, errors first. */
static int take_problems(const struct inq_lint *lint, struct inq_snapshot *snapshot,
                         struct inq_err *err)
{
    snapshot->problems = inq_mem_zalloc(lint->n + 1, sizeof *snapshot->problems);
    if (snapshot->problems == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for what lint finds");
    }
    for (int error = 1; error >= 0; error--) {
        for (size_t i = 0; i < lint->n; i++) {
            if (lint->problems[i].error == (error == 1)) {
                snapshot->problems[snapshot->n_problems++] = lint->problems[i];
            }
        }
    }
    snapshot->remedy = lint->remedy;
    const struct inq_lint_problem *first = snapshot->problems;
    if (snapshot->n_problems > 0 && first->error) {
        (void)snprintf(snapshot->problem, sizeof snapshot->problem, "%s, %.380s",
                       inq_lint_rule_text(first->rule), first->message);
    }
    return INQ_OK;
}

static int collect(void *ctx, const char *bytes, size_t n)
{
    inq_out_bytes(ctx, bytes, n);
    return INQ_OK;
}

/* Where the cells of a row, as the CSV writer has them, begin in their line; NULL: no memory. */
static int32_t *begins_of(const struct inq_rank_actions *list)
{
    int32_t *begins = inq_mem_zalloc(list->n + 1, sizeof *begins);
    size_t n = 0;
    for (size_t i = 0; begins != NULL && i < list->n; i++) {
        const struct inq_action *a = &list->actions[i];
        if (a->kind != INQ_ACTION_SPLIT && a->kind != INQ_ACTION_UPDATE) {
            begins[n++] = a->begins;
            i += a->n_sub;
        }
    }
    return begins;
}

/* The cells of every rank, so that a later check can say where the order changed. */
static int take_order(const struct inq_schedule *schedule, struct inq_snapshot *snapshot,
                      struct inq_err *err)
{
    enum { MAX_ORDER = 1 << 20 }; /* bytes: a baseline is to be read and reviewed */
    struct inq_out text = {0};
    int code = inq_schedule_write_csv(schedule, (struct inq_sink){collect, &text}, err);
    snapshot->order = inq_mem_zalloc((size_t)schedule->n_ranks, sizeof *snapshot->order);
    snapshot->lines = inq_mem_zalloc((size_t)schedule->n_ranks, sizeof *snapshot->lines);
    snapshot->begins = inq_mem_zalloc((size_t)schedule->n_ranks, sizeof *snapshot->begins);
    if (code == INQ_OK &&
        (snapshot->order == NULL || snapshot->lines == NULL || snapshot->begins == NULL)) {
        code = inq_err_set(err, INQ_NOMEM, "out of memory for an order");
    }
    const char *at = text.buf;
    const char *end = text.buf + text.len;
    for (int32_t r = 0; code == INQ_OK && text.len <= MAX_ORDER && r < schedule->n_ranks; r++) {
        const char *line = memchr(at, '\n', (size_t)(end - at));
        size_t n = line != NULL ? (size_t)(line - at) : 0;
        char *row = inq_mem_zalloc(n + 1, 1);
        int32_t *begins = begins_of(&schedule->ranks[r]);
        if (row == NULL || begins == NULL) {
            code = inq_err_set(err, INQ_NOMEM, "out of memory for an order");
            inq_mem_free(row);
            inq_mem_free(begins);
            break;
        }
        memcpy(row, at, n);
        snapshot->lines[r] = schedule->ranks[r].line;
        snapshot->begins[r] = begins;
        snapshot->order[snapshot->n_order++] = row;
        at += n + 1;
    }
    inq_out_release(&text);
    return code;
}

/* What a schedule was timed to, by each of `n` costs. */
struct samples {
    double *bubble;
    int64_t *makespan_ns;
    size_t n;
    double peak;
    enum inq_memory_unit unit; /* of the peak */
};

static int take_sample(const struct inq_schedule *schedule, const struct inq_costs *costs,
                       struct samples *samples, struct inq_err *err)
{
    struct inq_schedule_timing timing = {0};
    int code = inq_schedule_time(schedule, costs, &timing, err);
    if (code == INQ_OK) {
        samples->bubble[samples->n] = timing.bubble_ratio;
        samples->makespan_ns[samples->n++] = timing.makespan_ns;
        samples->peak = timing.peak_memory; /* a matter of the order alone */
        samples->unit = timing.memory_unit;
    }
    inq_schedule_timing_release(&timing, schedule->n_ranks);
    return code;
}

/* One sample is exact; several have a median and its interval. */
static int add_samples(const struct samples *samples, struct inq_snapshot *snapshot,
                       struct inq_err *err)
{
    struct inq_measure bubble = {
        .value = samples->bubble[0], .low = (double)NAN, .high = (double)NAN};
    struct inq_measure makespan = bubble;
    int code = INQ_OK;
    makespan.value = (double)samples->makespan_ns[0];
    if (samples->n > 1) {
        bubble = inq_measure_of_ratios(samples->bubble, samples->n);
        code = inq_measure_of_steps(samples->makespan_ns, samples->n, &makespan, err);
    }
    if (code == INQ_OK) {
        code = inq_snapshot_add(snapshot, INQ_MEASURE_BUBBLE_RATIO, NULL, &bubble, err);
    }
    if (code == INQ_OK) {
        code = inq_snapshot_add(snapshot, INQ_MEASURE_MAKESPAN, NULL, &makespan, err);
    }
    enum inq_measure_kind kind =
        samples->unit == INQ_MEMORY_BYTES ? INQ_MEASURE_PEAK_MEMORY : INQ_MEASURE_PEAK_ACTIVATIONS;
    return code == INQ_OK ? add_exact(snapshot, kind, samples->peak, err) : code;
}

static int add_times(const struct inq_schedule *schedule, const struct inq_costs *costs, size_t n,
                     struct inq_snapshot *snapshot, struct inq_err *err)
{
    struct samples samples = {.bubble = inq_mem_zalloc(n, sizeof *samples.bubble),
                              .makespan_ns = inq_mem_zalloc(n, sizeof *samples.makespan_ns)};
    int code = samples.bubble != NULL && samples.makespan_ns != NULL
                   ? INQ_OK
                   : inq_err_set(err, INQ_NOMEM, "out of memory for %zu steps", n);
    for (size_t i = 0; code == INQ_OK && i < n; i++) {
        code = take_sample(schedule, &costs[i], &samples, err);
    }
    if (code == INQ_OK) {
        code = add_samples(&samples, snapshot, err);
    }
    inq_mem_free(samples.bubble);
    inq_mem_free(samples.makespan_ns);
    return code;
}

/* Up to the last stage that differs from the one before it. */
static int note_stages(const struct inq_schedule *schedule, const struct inq_costs *costs,
                       struct inq_snapshot *snapshot, struct inq_err *err)
{
    size_t n = costs->per_stage != NULL ? (size_t)schedule->n_stages : 0;
    while (n > 1 && memcmp(&costs->per_stage[n - 1], &costs->per_stage[n - 2],
                           sizeof *costs->per_stage) == 0) {
        n--;
    }
    n = n > 1 ? n : 0;
    snapshot->stage_times_ns = inq_mem_zalloc(3 * n + 1, sizeof *snapshot->stage_times_ns);
    if (snapshot->stage_times_ns == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for the times of stages");
    }
    for (size_t s = 0; s < n; s++) {
        const struct inq_stage_cost *c = &costs->per_stage[s];
        snapshot->stage_times_ns[3 * s] = c->f_ns;
        snapshot->stage_times_ns[3 * s + 1] = c->b_ns;
        snapshot->stage_times_ns[3 * s + 2] = c->w_ns;
    }
    snapshot->n_stage_times = n;
    return INQ_OK;
}

int inq_snapshot_of_schedule(const struct inq_schedule *schedule,
                             const struct inq_lint_options *options, const struct inq_costs *steps,
                             size_t n_steps, struct inq_snapshot *snapshot, struct inq_err *err)
{
    const struct inq_costs *costs = &options->costs;
    const struct inq_stage_cost *stage = inq_stage_cost_of(costs, 0);
    struct inq_lint lint = {0};
    *snapshot = (struct inq_snapshot){
        .subject = INQ_SUBJECT_SCHEDULE,
        .ranks = schedule->n_ranks,
        .stages = schedule->n_stages,
        .microbatches = schedule->n_microbatches,
        .times_ns = {stage->f_ns, stage->b_ns, stage->w_ns, costs->p2p_ns, costs->reduce_ns,
                     costs->update_ns, costs->unshard_ns, costs->overlap_ns},
        .times_of_run = n_steps > 0};
    int code = inq_lint_schedule(schedule, NULL, options, &lint, err);
    if (code != INQ_OK) {
        return code;
    }
    size_t errors = lint.n_errors;
    code = take_problems(&lint, snapshot, err);
    inq_lint_release(&lint);
    if (code == INQ_OK) {
        code = take_order(schedule, snapshot, err);
    }
    if (code == INQ_OK) {
        code = note_stages(schedule, costs, snapshot, err);
    }
    if (code == INQ_OK && errors == 0) {
        code = n_steps > 0 ? add_times(schedule, steps, n_steps, snapshot, err)
                           : add_times(schedule, costs, 1, snapshot, err);
    }
    return code == INQ_OK ? add_exact(snapshot, INQ_MEASURE_LINT_PROBLEMS, (double)errors, err)
                          : code;
}

int inq_snapshot_of_fault(const struct inq_csv_info *csv, struct inq_snapshot *snapshot,
                          struct inq_err *err)
{
    static const struct inq_schedule none = {0};
    static const struct inq_lint_options options = {0};
    struct inq_lint lint = {0};
    *snapshot = (struct inq_snapshot){.subject = INQ_SUBJECT_SCHEDULE};
    int code = inq_lint_schedule(&none, csv, &options, &lint, err);
    if (code == INQ_OK) {
        code = take_problems(&lint, snapshot, err);
    }
    if (code == INQ_OK) {
        code = add_exact(snapshot, INQ_MEASURE_LINT_PROBLEMS, (double)lint.n_errors, err);
    }
    inq_lint_release(&lint);
    return code;
}
