/* SPDX-License-Identifier: Apache-2.0 */
/* The list of analyses: a new one gets a row here. Everything that it allocates for the report
 * lives in the report's arena. */
#ifndef INQ_ANALYSIS_ANALYSIS_H
#define INQ_ANALYSIS_ANALYSIS_H

#include "inquest/analysis.h"

typedef int inq_analysis_run(const struct inq_trace *trace,
                             const struct inq_analysis_options *options, struct inq_report *report,
                             struct inq_err *err);

/* X("name", section, sections that it cannot do without, sections that it reads where they are
 * there, run function, "summary"): all analyses in the order they run; what comes later may read
 * what came before. The last turns the filled sections into findings (most costly first) and the
 * verdict, whichever were chosen. */
#define INQ_ANALYSES(X)                                                                            \
    X("account", INQ_SECTION_ACCOUNT, 0, 0, inq_run_account,                                       \
      "the account: where rank-time goes, by class, over the judged steps")                        \
    X("time_breakdown", INQ_SECTION_RANKS, 0, 0, inq_run_time_breakdown,                           \
      "where each rank's GPU time went: compute, exposed communication, idle")                     \
    X("collectives", INQ_SECTION_COLLECTIVES, 0, 0, inq_run_collectives,                           \
      "who waited for whom in matched collectives, transfers and bandwidth")                       \
    X("blame", INQ_SECTION_BLAME, INQ_SECTION_BIT(INQ_SECTION_ACCOUNT), 0, inq_run_attribution,    \
      "who delays whom, and why: own time compared step by step")                                  \
    X("pipeline", INQ_SECTION_PIPELINE, INQ_SECTION_BIT(INQ_SECTION_ACCOUNT),                      \
      INQ_SECTION_BIT(INQ_SECTION_BLAME), inq_run_pipeline,                                        \
      "the pipeline: schedule, bubbles, stages, and where a step's time went")                     \
    X("whatif", INQ_SECTION_WHATIF, INQ_SECTION_BIT(INQ_SECTION_ACCOUNT), 0, inq_run_whatif,       \
      "what stragglers cost: the step with them, without them, and by what part")                  \
    X("critical_path", INQ_SECTION_CRITICAL_PATH, INQ_SECTION_BIT(INQ_SECTION_ACCOUNT), 0,         \
      inq_run_critical_path,                                                                       \
      "the chain of work and waits over all ranks that made a step as long as it was")             \
    X("kernels", INQ_SECTION_KERNELS, 0, 0, inq_run_kernels,                                       \
      "GPU time by kernel, operator, module and source line")                                      \
    X("failure", INQ_SECTION_FAILURE, 0, 0, inq_run_failure,                                       \
      "what stopped the run: roots and victims, from Flight Recorder dumps and logs")              \
    X("training", INQ_SECTION_TRAINING, 0, 0, inq_run_training,                                    \
      "loss, gradient norm and speed in the training output: where each went wrong")               \
    X("hta", INQ_SECTION_METHOD, 0, 0, inq_run_method_hta,                                         \
      "the numbers HolisticTraceAnalysis prints (--method hta)")                                   \
    X("tracelens", INQ_SECTION_METHOD, 0, 0, inq_run_method_tracelens,                             \
      "the numbers TraceLens prints (--method tracelens)")                                         \
    X("findings", INQ_SECTION_FINDINGS, 0, 0, inq_run_findings, "what costs most, and the verdict")

#define INQ_ANALYSIS_DECLARE(name, section, needs, reads, run, summary) inq_analysis_run run;
INQ_ANALYSES(INQ_ANALYSIS_DECLARE)
#undef INQ_ANALYSIS_DECLARE

/* All rows in the order they run; *n gets their number. The first makes the steps and the last the
 * findings: a report always has these, so inq_analyses does not offer them. */
const struct inq_analysis *inq_analysis_rows(size_t *n);

/* inq_analyze by other rows: tests let one of them fail. */
int inq_analyze_rows(const struct inq_analysis *rows, size_t n_rows, const struct inq_trace *trace,
                     const struct inq_analysis_options *options, struct inq_report **report,
                     struct inq_err *err);

#endif
