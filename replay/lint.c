/* SPDX-License-Identifier: Apache-2.0 */
/* Lint: runs the rules in order and keeps what they find. */
#include "lint.h"
#include "reductions.h"

#include "base/mem.h"
#include "base/sort.h"
#include "schedule.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MAX_PROBLEMS = 1000 }; /* after that a schedule has told what it had to tell */

const char *inq_lint_rule_text(enum inq_lint_rule rule)
{
    static const char *const text[] = {
#define RULE_TEXT(name, id, what) id,
        INQ_LINT_RULES(RULE_TEXT)
#undef RULE_TEXT
    };
    return rule < INQ_LINT_RULE_COUNT ? text[rule] : "R?";
}

const char *inq_lint_rule_what(enum inq_lint_rule rule)
{
    static const char *const text[] = {
#define RULE_WHAT(name, id, what) what,
        INQ_LINT_RULES(RULE_WHAT)
#undef RULE_WHAT
    };
    return rule < INQ_LINT_RULE_COUNT ? text[rule] : "";
}

int32_t inq_lint_position(const struct inq_action *action, size_t index)
{
    return action->column >= 0 ? action->column : (int32_t)index;
}

int inq_lint_add(struct inq_lint *lint, enum inq_lint_rule rule, bool error, int32_t rank,
                 int32_t position, const struct inq_action *action, struct inq_err *err,
                 const char *fmt, ...)
{
    lint->n_errors += error;
    if (lint->n >= MAX_PROBLEMS) {
        return INQ_OK;
    }
    int code = inq_mem_grow(&lint->problems, &lint->cap, lint->n + 1, sizeof *lint->problems,
                            MAX_PROBLEMS, err);
    if (code != INQ_OK) {
        return code;
    }
    struct inq_lint_problem *problem = &lint->problems[lint->n++];
    *problem =
        (struct inq_lint_problem){.rule = rule, .error = error, .rank = rank, .position = position};
    if (action != NULL) {
        inq_action_format(action, problem->action, sizeof problem->action);
    }
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(problem->message, sizeof problem->message, fmt, args);
    va_end(args);
    return INQ_OK;
}

void inq_lint_release(struct inq_lint *lint)
{
    inq_mem_free(lint->problems);
    *lint = (struct inq_lint){0};
}

/* R1: the letters of the file. */
static int lint_format(const struct inq_csv_info *csv, struct inq_lint *lint, struct inq_err *err)
{
    if (csv == NULL || csv->dialect_certain) {
        return INQ_OK;
    }
    return inq_lint_add(lint, INQ_LINT_FORMAT, false, -1, -1, NULL, err,
                        "B without I or W: read as full backward; if the file is from 2024 and B "
                        "means input gradient, say so");
}

/* Whether some rank has stages of several replicas of the model. */
static bool keeps_two_replicas(const struct inq_schedule *s)
{
    int32_t stages = s->n_stages / s->n_pipelines;
    for (int32_t r = 0; s->n_pipelines > 1 && r < s->n_ranks; r++) {
        int32_t replica = -1;
        for (size_t i = 0; i < s->ranks[r].n; i++) {
            int32_t stage = s->ranks[r].actions[i].stage;
            if (stage >= 0 && replica >= 0 && stage / stages != replica) {
                return true;
            }
            replica = stage >= 0 ? stage / stages : replica;
        }
    }
    return false;
}

static void ignore(void *ctx, int32_t rank)
{
    (void)ctx;
    (void)rank;
}

/* R5: replicas that all-reduce their stages in different orders. */
static int lint_reductions(const struct inq_schedule *schedule, struct inq_lint *lint,
                           struct inq_err *err)
{
    struct inq_reductions reductions;
    struct inq_err own = {0};
    int code = inq_reductions_find(schedule, 1, &reductions, err);
    for (int32_t r = 0; code == INQ_OK && reductions.n > 0 && r < schedule->n_ranks; r++) {
        for (size_t i = 0; i < schedule->ranks[r].n; i++) {
            const struct inq_action *a = &schedule->ranks[r].actions[i];
            if (a->kind == INQ_ACTION_REDUCE_GRAD && a->stage >= 0) {
                inq_reductions_issue(&reductions, r, a->stage, 0, ignore, NULL);
            }
        }
    }
    if (code == INQ_OK && inq_reductions_check(&reductions, &own) != INQ_OK) {
        code = inq_lint_add(lint, INQ_LINT_CYCLE, true, -1, -1, NULL, err, "%s", own.message);
    }
    inq_reductions_release(&reductions);
    return code;
}

/* R11, and R5 with the ops that wait for each other. */
static int lint_times(const struct inq_schedule *schedule, const struct inq_lint_options *options,
                      struct inq_lint *lint, struct inq_err *err)
{
    struct inq_schedule_timing timing;
    struct inq_err own = {0};
    int code = inq_schedule_time(schedule, &options->costs, &timing, &own);
    if (code == INQ_DEADLOCK || code == INQ_FORMAT) {
        return inq_lint_add(lint, INQ_LINT_CYCLE, true, -1, -1, NULL, err, "%s", own.message);
    }
    if (code != INQ_OK) {
        return inq_err_set(err, (enum inq_code)code, "%s", own.message);
    }
    if (options->has_baseline &&
        timing.bubble_ratio > options->baseline_bubble + options->tolerance + 1e-12) {
        code = inq_lint_add(lint, INQ_LINT_BASELINE, true, -1, -1, NULL, err,
                            "bubble ratio %.4f, the baseline's is %.4f (allowed: %.4f more)",
                            timing.bubble_ratio, options->baseline_bubble, options->tolerance);
    }
    inq_schedule_timing_release(&timing, schedule->n_ranks);
    return code;
}

/* Most that a rank holds: a matter of its order, not of times. */
static double peak_of(const struct inq_rank_actions *list, const double *change)
{
    double held = 0.0;
    double peak = 0.0;
    for (size_t i = 0; i < list->n; i++) {
        held += change[list->actions[i].kind];
        peak = held > peak ? held : peak;
    }
    return peak;
}

/* R8, R9. */
static int lint_memory(const struct inq_schedule *schedule, const struct inq_lint_options *options,
                       struct inq_lint *lint, struct inq_err *err)
{
    double change[INQ_ACTION_KIND_COUNT];
    for (int kind = 0; kind < INQ_ACTION_KIND_COUNT; kind++) {
        change[kind] = inq_memory_change(&options->costs, (uint8_t)kind);
    }
    int code = INQ_OK;
    lint->peak_memory = 0.0;
    for (int32_t r = 0; code == INQ_OK && r < schedule->n_ranks; r++) {
        double peak = peak_of(&schedule->ranks[r], change);
        lint->peak_memory = peak > lint->peak_memory ? peak : lint->peak_memory;
        if (options->memory_limit > 0.0 && peak > options->memory_limit) {
            code = inq_lint_add(lint, INQ_LINT_MEMORY, true, r, -1, NULL, err,
                                "holds %.6g at its peak, the limit is %.6g; fewer warm-up forwards "
                                "or earlier weight gradients lower it",
                                peak, options->memory_limit);
        }
    }
    if (code == INQ_OK && keeps_two_replicas(schedule)) {
        code = inq_lint_add(lint, INQ_LINT_WEIGHTS, false, -1, -1, NULL, err,
                            "every rank keeps the weights of two model replicas");
    }
    return code;
}

static int lint_calls(const struct inq_schedule *schedule, const struct inq_lint_options *options,
                      struct inq_lint *lint, struct inq_err *err)
{
    if (schedule->has_comms) {
        return inq_lint_comms(schedule, options->grouping, lint, err);
    }
    if (options->grouping == INQ_GROUPING_STEP) {
        return inq_lint_steps(schedule, lint, err);
    }
    struct inq_schedule lowered;
    struct inq_err own = {0};
    int code = inq_schedule_lower(schedule, &lowered, &own);
    if (code == INQ_DEADLOCK) {
        return lint_times(schedule, options, lint, err);
    }
    if (code != INQ_OK) {
        return inq_err_set(err, (enum inq_code)code, "%s", own.message);
    }
    code = inq_lint_comms(&lowered, options->grouping, lint, err);
    inq_schedule_release(&lowered);
    return code;
}

static int compare_problems(const void *a, const void *b, void *ctx)
{
    const struct inq_lint_problem *x = a;
    const struct inq_lint_problem *y = b;
    (void)ctx;
    if (x->rule != y->rule) {
        return x->rule < y->rule ? -1 : 1;
    }
    if (x->rank != y->rank) {
        return x->rank < y->rank ? -1 : 1;
    }
    return x->position == y->position ? 0 : x->position < y->position ? -1 : 1;
}

static int sort_problems(struct inq_lint *lint, struct inq_err *err)
{
    return inq_sort(lint->problems, lint->n, sizeof *lint->problems, compare_problems, NULL, err);
}

int inq_lint_schedule(const struct inq_schedule *schedule, const struct inq_csv_info *csv,
                      const struct inq_lint_options *options, struct inq_lint *lint,
                      struct inq_err *err)
{
    *lint = (struct inq_lint){.buffer_depth = -1, .peak_memory = -1.0};
    int code = lint_format(csv, lint, err);
    if (code == INQ_OK) {
        code = inq_lint_order(schedule, lint, err);
    }
    /* later rules rest on earlier ones: a missing op would only be reported again as a circle */
    if (code == INQ_OK && lint->n_errors == 0) {
        code = lint_calls(schedule, options, lint, err);
    }
    if (code == INQ_OK && lint->n_errors == 0) {
        code = lint_reductions(schedule, lint, err);
    }
    if (code == INQ_OK && lint->n_errors == 0) {
        code = lint_memory(schedule, options, lint, err);
    }
    if (code == INQ_OK && lint->n_errors == 0 && options->has_baseline) {
        code = lint_times(schedule, options, lint, err);
    }
    if (code == INQ_OK) {
        code = sort_problems(lint, err);
    }
    if (code != INQ_OK) {
        inq_lint_release(lint);
    }
    return code;
}
