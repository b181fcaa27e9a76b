/* SPDX-License-Identifier: Apache-2.0 */
/* The list of analyses, and the one call that runs the chosen ones and the judge after them. */
#include "inquest/analysis.h"

#include "analysis/parts.h"
#include "base/arena.h"
#include "base/mem.h"
#include "base/stats.h"
#include "graph/op_model.h"
#include "inquest/failure.h"

#include <string.h>

/* In the order they run: what comes later may read what came before. The last row ends the list. */
static const struct inq_analysis analyses[] = {
    {"time_breakdown", "where each rank's GPU time went: compute, exposed communication, idle",
     inq_run_time_breakdown},
    {"collectives", "who waited for whom in matched collectives, transfers and bandwidth",
     inq_run_collectives},
    {"pipeline", "the pipeline: schedule, bubbles, stages, and where a step's time went",
     inq_run_pipeline},
    {"whatif", "what stragglers cost: the step with them, without them, and by what part",
     inq_run_whatif},
    {"critical_path",
     "the chain of work and waits over all ranks that made a step as long as it was",
     inq_run_critical_path},
    {"blame", "who holds whom up, and why: own time compared step by step", inq_run_blame},
    {"failure", "what stopped the run: roots and victims, from Flight Recorder dumps and logs",
     inq_run_failure},
    {"training", "loss, gradient norm and speed in the training output: where each went wrong",
     inq_run_training},
    {"hta", "the numbers HolisticTraceAnalysis prints (--method hta)", inq_run_method_hta},
    {"tracelens", "the numbers TraceLens prints (--method tracelens)", inq_run_method_tracelens},
    {NULL, NULL, NULL},
};

const struct inq_analysis *inq_analyses(size_t *n)
{
    *n = sizeof(analyses) / sizeof(analyses[0]) - 1;
    return analyses;
}

static bool chosen(const struct inq_analysis_options *options, const char *name)
{
    if (!options->only) {
        return true;
    }
    for (size_t i = 0; i < options->n_only; i++) {
        if (strcmp(options->only[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static int check_names(const struct inq_analysis_options *options, struct inq_err *err)
{
    for (size_t i = 0; options->only && i < options->n_only; i++) {
        size_t a = 0;
        while (analyses[a].name && strcmp(analyses[a].name, options->only[i]) != 0) {
            a++;
        }
        if (!analyses[a].name) {
            return inq_err_set(err, INQ_USAGE, "there is no analysis named '%s'", options->only[i]);
        }
    }
    return INQ_OK;
}

static int fill_steps(const struct inq_trace *trace, struct inq_report *report, struct inq_err *err)
{
    report->step_ns_median = -1;
    if (trace->n_steps == 0) {
        return INQ_OK;
    }
    report->step_ns = inq_arena_array(report->arena, trace->n_steps, sizeof(*report->step_ns));
    int64_t *sorted = inq_mem_alloc(trace->n_steps * sizeof(*sorted));
    if (!report->step_ns || !sorted) {
        inq_mem_free(sorted);
        return inq_err_set(err, INQ_NOMEM, "no memory for %zu steps", trace->n_steps);
    }
    for (size_t s = 0; s < trace->n_steps; s++) {
        report->step_ns[s] = inq_step_ns(trace, s);
        if (report->step_ns[s] < 0) {
            inq_mem_free(sorted);
            return inq_err_set(err, INQ_NOMEM, "no memory for the length of a step");
        }
        sorted[s] = report->step_ns[s];
    }
    report->step_ns_median = inq_median_i64(sorted, trace->n_steps);
    inq_mem_free(sorted);
    return INQ_OK;
}

/* That a run died comes before where its time went. */
static void judge_failure(struct inq_report *report)
{
    const struct inq_failure *failure = report->failure;
    if (failure->cls == INQ_FAILURE_NONE && report->n_rank_times > 0) {
        return;
    }
    report->verdict = (struct inq_verdict){failure->headline, inq_failure_class_text(failure->cls),
                                           -1, failure->confidence};
}

static int run_all(const struct inq_trace *trace, const struct inq_analysis_options *options,
                   struct inq_report *report, struct inq_err *err)
{
    int code = fill_steps(trace, report, err);

    for (size_t i = 0; code == INQ_OK && analyses[i].name; i++) {
        if (chosen(options, analyses[i].name)) {
            code = analyses[i].run(trace, options, report, err);
        }
    }
    code = code == INQ_OK ? inq_run_judge(trace, options, report, err) : code;
    if (code == INQ_OK && report->failure != NULL) {
        judge_failure(report);
    }
    return code;
}

int inq_analyze(const struct inq_trace *trace, const struct inq_analysis_options *options,
                struct inq_report **report, struct inq_err *err)
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
    if (!made) {
        inq_mem_free(arena);
        return inq_err_set(err, INQ_NOMEM, "no memory for a report");
    }
    made->arena = arena;
    made->trace = trace;
    made->method = options->method;
    made->verdict = (struct inq_verdict){"", "nothing_to_judge", -1, INQ_CONFIDENCE_HYPOTHESIS};
    code = run_all(trace, options, made, err);
    if (code != INQ_OK) {
        inq_report_free(made);
        return code;
    }
    *report = made;
    return INQ_OK;
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
