/* SPDX-License-Identifier: Apache-2.0 */
/* The list of analyses, and the one call that runs the chosen ones. Each may fail alone. */
#include "inquest/analysis.h"

#include "analysis/account/account.h"
#include "analysis/analysis.h"
#include "base/arena.h"
#include "base/mem.h"
#include "graph/optable/optable.h"
#include "inquest/failure.h"

#include <stdio.h>
#include <string.h>

#define ALL_ROWS (sizeof(rows) / sizeof(rows[0]))

static const struct inq_analysis rows[] = {
#define ROW(name, section, needs, reads, run, summary) {name, summary, section, needs, reads, run},
    INQ_ANALYSES(ROW)
#undef ROW
};

const struct inq_analysis *inq_analysis_rows(size_t *n)
{
    *n = ALL_ROWS;
    return rows;
}

const struct inq_analysis *inq_analyses(size_t *n)
{
    *n = ALL_ROWS - 1;
    return rows;
}

/* ---- which of them run ----------------------------------------------------------------------- */

static bool names(const struct inq_analysis_options *options, const char *name)
{
    for (size_t i = 0; i < options->n_only; i++) {
        if (strcmp(options->only[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static int check_names(const struct inq_analysis_options *options, struct inq_err *err)
{
    size_t n;
    const struct inq_analysis *offered = inq_analyses(&n);
    for (size_t i = 0; options->only && i < options->n_only; i++) {
        size_t a = 0;
        while (a < n && strcmp(offered[a].name, options->only[i]) != 0) {
            a++;
        }
        if (a == n) {
            return inq_err_set(err, INQ_USAGE, "there is no analysis named '%s'", options->only[i]);
        }
    }
    return INQ_OK;
}

/* INQ_SECTION_BIT of the sections that are wanted: those that `only` names, those that they need or
 * read, and those that every report has. */
static uint32_t wanted(const struct inq_analysis *row, size_t n_rows,
                       const struct inq_analysis_options *options)
{
    uint32_t bits = INQ_SECTION_BIT(INQ_SECTION_ACCOUNT) | INQ_SECTION_BIT(INQ_SECTION_FINDINGS);
    for (size_t i = n_rows; i-- > 0;) { /* what is read stands before what reads it */
        uint32_t own = INQ_SECTION_BIT(row[i].section);
        if (!options->only || names(options, row[i].name) || (bits & own) != 0) {
            bits |= own | row[i].needs | row[i].reads;
        }
    }
    return bits;
}

/* ---- one of them fails ----------------------------------------------------------------------- */

static const char *next_step(int code)
{
    switch (code) {
    case INQ_NOMEM:
        return "allow it more memory, or analyze a part of the run with -s or --time";
    case INQ_LIMIT:
        return "analyze a part of the run: -s or --time cut traces, other inputs by giving fewer "
               "files";
    default:
        return "'inquest info' says what was read of each file; the other sections hold";
    }
}

/* Says why a section is not available, in room that was made before memory could run out. */
static void say_why(struct inq_report *report, enum inq_section section, int code,
                    const struct inq_err *why)
{
    char *room = report->reasons[section];
    (void)snprintf(room, sizeof report->reasons[section], "%s",
                   why->message[0] != '\0' ? why->message : inq_code_text(code));
    report->sections[section].reason = room;
    report->sections[section].next = next_step(code);
}

/* Puts the report back to what it was before the row ran, but for its mark. */
static void mark_failed(const struct inq_analysis *row, int code, const struct inq_err *why,
                        const struct inq_report *before, struct inq_report *report)
{
    struct inq_op_model *model = report->op_model; /* made by whoever needed it first */

    *report = *before;
    report->op_model = model;
    report->arena->failed = false;
    say_why(report, row->section, code, why);
}

/* The first section that the row cannot do without and that failed; INQ_SECTION_COUNT: none. */
static enum inq_section lacks(const struct inq_analysis *row, const struct inq_report *report)
{
    int s = 0;
    while (s < INQ_SECTION_COUNT &&
           ((row->needs & INQ_SECTION_BIT(s)) == 0 || report->sections[s].reason == NULL)) {
        s++;
    }
    return (enum inq_section)s;
}

static void run_row(const struct inq_analysis *row, const struct inq_trace *trace,
                    const struct inq_analysis_options *options, struct inq_report *report)
{
    struct inq_report before = *report;
    struct inq_err why = {0};
    enum inq_section missing = lacks(row, report);
    int code = missing == INQ_SECTION_COUNT
                   ? row->run(trace, options, report, &why)
                   : inq_err_set(&why, INQ_NOT_FOUND, "it needs %s, and that is not available",
                                 inq_section_key(missing));

    if (code != INQ_OK) {
        mark_failed(row, code, &why, &before, report);
    }
}

/* ---- the verdict ----------------------------------------------------------------------------- */

/* That a run died comes before where its time went. */
static void verdict_of_failure(struct inq_report *report)
{
    const struct inq_failure *failure = report->failure;
    if (failure->cls == INQ_FAILURE_NONE && report->n_rank_times > 0) {
        return;
    }
    report->verdict = (struct inq_verdict){.headline = failure->headline,
                                           .why = "",
                                           .next = "",
                                           .sure = "",
                                           .cls = inq_failure_class_text(failure->cls),
                                           .lost_ns_per_step = -1,
                                           .confidence = failure->confidence};
}

/* A verdict that lacks a part, or rests on a record that contradicts itself, is told with less
 * confidence. */
static void qualify(struct inq_report *report)
{
    struct inq_verdict *verdict = &report->verdict;
    if (report->sections[INQ_SECTION_FINDINGS].reason != NULL && report->failure == NULL) {
        verdict->headline = "No verdict: the findings are not available.";
        verdict->cls = "not_available";
    }
    for (int s = 0; s < INQ_SECTION_COUNT; s++) {
        if (s != INQ_SECTION_METHOD && report->sections[s].reason != NULL) {
            verdict->without |= INQ_SECTION_BIT(s);
        }
    }
    bool contradicts = report->critical_path != NULL && report->critical_path->contradictions > 0;
    if ((verdict->without != 0 || contradicts) &&
        verdict->confidence == INQ_CONFIDENCE_ESTABLISHED) {
        verdict->confidence = INQ_CONFIDENCE_SUPPORTED;
    }
}

/* An account that contradicts itself is not shown. */
static void check(struct inq_report *report)
{
    struct inq_err why = {0};
    if (inq_account_check(report, &why) != INQ_OK) {
        report->account = NULL;
        say_why(report, INQ_SECTION_ACCOUNT, why.code, &why);
    }
}

static void run_all(const struct inq_analysis *row, size_t n_rows, const struct inq_trace *trace,
                    const struct inq_analysis_options *options, struct inq_report *report)
{
    uint32_t sections = wanted(row, n_rows, options);

    for (size_t i = 0; i < n_rows; i++) {
        if ((sections & INQ_SECTION_BIT(row[i].section)) != 0) {
            run_row(&row[i], trace, options, report);
        } else {
            report->sections[row[i].section].left_out = true;
        }
    }
    check(report);
    if (report->failure != NULL) {
        verdict_of_failure(report);
    }
    qualify(report);
}

int inq_analyze_rows(const struct inq_analysis *row, size_t n_rows, const struct inq_trace *trace,
                     const struct inq_analysis_options *options, struct inq_report **report,
                     struct inq_err *err)
{
    static const struct inq_analysis_options defaults;

    *report = NULL;
    if (!options) {
        options = &defaults;
    }
    int code = check_names(options, err);
    if (code != INQ_OK) {
        return code;
    }
    struct inq_arena *arena = inq_mem_zalloc(1, sizeof(*arena));
    struct inq_report *made = arena ? inq_arena_alloc(arena, sizeof(*made)) : NULL;
    char(*reasons)[INQ_REASON_BYTES] =
        made ? inq_arena_alloc(arena, INQ_SECTION_COUNT * sizeof *reasons) : NULL;
    if (!reasons) {
        if (arena) {
            inq_arena_release(arena);
        }
        inq_mem_free(arena);
        return inq_err_set(err, INQ_NOMEM, "no memory for a report");
    }
    made->arena = arena;
    made->reasons = reasons;
    made->trace = trace;
    made->method = options->method;
    made->step_ns_median = -1;
    made->verdict = (struct inq_verdict){.headline = "",
                                         .why = "",
                                         .next = "",
                                         .sure = "",
                                         .cls = "nothing_to_judge",
                                         .lost_ns_per_step = -1,
                                         .confidence = INQ_CONFIDENCE_HYPOTHESIS};
    run_all(row, n_rows, trace, options, made);
    *report = made;
    return INQ_OK;
}

int inq_analyze(const struct inq_trace *trace, const struct inq_analysis_options *options,
                struct inq_report **report, struct inq_err *err)
{
    return inq_analyze_rows(rows, ALL_ROWS, trace, options, report, err);
}

bool inq_report_is_void(const struct inq_report *r)
{
    bool failed = false;
    for (int s = 0; s < INQ_SECTION_COUNT; s++) {
        failed = failed || r->sections[s].reason != NULL;
    }
    return failed && !r->step_ns && r->n_rank_times == 0 && !r->collectives && !r->pipeline &&
           !r->whatif && !r->critical_path && !r->attribution && !r->failure && !r->training &&
           !r->reference && !r->kernels && r->n_findings == 0;
}

void inq_report_free(struct inq_report *report)
{
    if (!report) {
        return;
    }
    inq_op_model_free(report->op_model);
    struct inq_arena *arena = report->arena; /* holds the report itself */
    inq_arena_release(arena);
    inq_mem_free(arena);
}

/* ---- words for methods and sections: part of the JSON, so they never change meaning ------------
 */

const char *inq_method_text(enum inq_method method)
{
    switch (method) {
    case INQ_METHOD_INQUEST:
        return "inquest";
    case INQ_METHOD_HTA:
        return "hta";
    case INQ_METHOD_TRACELENS:
        return "tracelens";
    }
    return "unknown";
}

#define SECTION_KEY(name, key, title)   (key),
#define SECTION_TITLE(name, key, title) (title),

const char *inq_section_key(enum inq_section section)
{
    static const char *const keys[] = {INQ_SECTIONS(SECTION_KEY)};

    return (unsigned)section < INQ_SECTION_COUNT ? keys[section] : "unknown";
}

const char *inq_section_title(enum inq_section section)
{
    static const char *const titles[] = {INQ_SECTIONS(SECTION_TITLE)};

    return (unsigned)section < INQ_SECTION_COUNT ? titles[section] : "Unknown";
}
