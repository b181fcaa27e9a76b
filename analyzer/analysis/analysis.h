/* SPDX-License-Identifier: Apache-2.0 */
/* The parts that analysis/registry.c puts in order: one run function per analysis, and the judge. A
 * part that is added here gets a row in analysis/registry.c; everything it allocates for the report
 * lives in the report's arena. */
#ifndef INQ_ANALYSIS_ANALYSIS_H
#define INQ_ANALYSIS_ANALYSIS_H

#include "inquest/analysis.h"

typedef int inq_analysis_run(const struct inq_trace *trace,
                             const struct inq_analysis_options *options, struct inq_report *report,
                             struct inq_err *err);

inq_analysis_run inq_run_time_breakdown; /* time_breakdown.c: rank_times */
inq_analysis_run inq_run_account;        /* account.c: account */
inq_analysis_run inq_run_collectives;    /* collectives.c: collectives */
inq_analysis_run
    inq_run_method_hta; /* analysis/reference/hta.c: peer_times; no-op for other methods */
inq_analysis_run inq_run_method_tracelens; /* analysis/reference/tracelens.c: as above */
inq_analysis_run inq_run_pipeline;         /* pipeline.c: pipeline */
inq_analysis_run inq_run_whatif;           /* whatif.c: whatif */
inq_analysis_run inq_run_critical_path;    /* analysis/account/critical_path.c: critical_path */
inq_analysis_run inq_run_kernels;          /* analysis/measure/kernels.c: kernels */
inq_analysis_run inq_run_training;         /* training.c: training */
inq_analysis_run inq_run_failure;          /* failure.c: failure, of Flight Recorder dumps */
inq_analysis_run inq_run_blame;            /* blame.c: why last arrivers were late */

/* judge.c: turns the filled sections into findings (most costly first) and the verdict. Called
 * once, after the last analysis, whichever of them were chosen; sections not filled are not judged.
 */
inq_analysis_run inq_run_judge;

/* All rows in the order they run; *n gets their number. The first makes the steps and the last the
 * findings: a report always has these, so inq_analyses does not offer them. */
const struct inq_analysis *inq_analysis_rows(size_t *n);

/* inq_analyze by other rows: tests let one of them fail. */
int inq_analyze_rows(const struct inq_analysis *rows, size_t n_rows, const struct inq_trace *trace,
                     const struct inq_analysis_options *options, struct inq_report **report,
                     struct inq_err *err);

#endif
