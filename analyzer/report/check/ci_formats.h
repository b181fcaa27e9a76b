/* SPDX-License-Identifier: Apache-2.0 */
/* What reviewers see beside the lines of a merge request: notices with a place in a file, as the
 * annotations of a GitHub workflow, GitLab's code quality report, SARIF or JUnit XML. */
#ifndef INQ_REPORT_CHECK_CI_FORMATS_H
#define INQ_REPORT_CHECK_CI_FORMATS_H

#include "inquest/lint.h"
#include "inquest/report.h"
#include "report/terminal/terminal.h"

struct inq_arena;

enum inq_notice_level { INQ_NOTICE_ERROR, INQ_NOTICE_NOTE, INQ_NOTICE_PASSED, INQ_NOTICE_SKIPPED };

struct inq_notice {
    enum inq_notice_level level;
    const char *suite;     /* what was examined: a file, a run */
    const char *reference; /* what it was held against; NULL: nothing */
    const char *rule;      /* "R6", "makespan_ns" */
    const char *what;      /* the rule as a sentence; NULL: its name says it */
    const char *type;      /* of a failure, for JUnit: "regressed" */
    const char *message;
    const char *details;  /* more lines, for JUnit; NULL: none */
    const char *file;     /* NULL: in no file */
    int32_t line, column; /* of the text, from 1; 0: none */
    bool headline;        /* of its suite: for GitHub only */
};

/* All-zero is empty; texts are borrowed. */
struct inq_notices {
    size_t n, cap;
    struct inq_notice *rows;
    const char *tool; /* "inquest check" */
    int code;         /* 0, or the first failure to keep one */
};

/* What lint objects to: "rank 2, cell 8 (2RECV_F2): nobody sends it; swap cells ..."; the file and
 * the line stand beside it. `remedy`: NULL none. "" when memory is out, which the arena says. */
const char *inq_notice_text(struct inq_arena *arena, const struct inq_lint_problem *problem,
                            const struct inq_lint_remedy *remedy);

void inq_notices_add(struct inq_notices *notices, const struct inq_notice *notice);
/* As JUnit, GitHub, GitLab or SARIF, and releases them. INQ_UNSUPPORTED for other formats. */
int inq_notices_write(struct inq_notices *notices, enum inq_format format, struct inq_out *out);

#endif
