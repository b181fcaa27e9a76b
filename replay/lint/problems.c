/* SPDX-License-Identifier: Apache-2.0 */
/* What the rules note: problems, and the story of a schedule that hangs. */
#include "lint/lint.h"

#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>

enum { MAX_PROBLEMS = 1000 }; /* after that a schedule has told what it had to tell */

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

int inq_lint_explain(struct inq_lint *lint, int32_t rank, int32_t position, struct inq_err *err,
                     const char *fmt, ...)
{
    enum { MOST = 32 }; /* lines that anybody reads */
    if (lint->n_story == MOST) {
        return INQ_OK;
    }
    int code = inq_mem_grow(&lint->story, &lint->cap_story, lint->n_story + 1, sizeof *lint->story,
                            MOST, err);
    if (code == INQ_OK) {
        va_list args;
        va_start(args, fmt);
        (void)vsnprintf(lint->story[lint->n_story++], INQ_LINT_STORY, fmt, args);
        va_end(args);
    }
    if (rank >= 0 && lint->n_stuck < INQ_LINT_STUCK) {
        lint->stuck[lint->n_stuck].rank = rank;
        lint->stuck[lint->n_stuck++].position = position;
    }
    return code;
}
