/* SPDX-License-Identifier: Apache-2.0 */
/* One step over all ranks, to be drawn: a pipeline's forwards and backwards, or what each rank's
 * GPU was busy with. And the slowdown of every worker. */
#ifndef INQ_REPORT_SECTIONS_STEP_CHART_H
#define INQ_REPORT_SECTIONS_STEP_CHART_H

#include "report/terminal/terminal.h"

/* What the chart of a step is drawn from. */
#define INQ_STEP_CHART_SECTIONS                                                                    \
    (INQ_SECTION_BIT(INQ_SECTION_ACCOUNT) | INQ_SECTION_BIT(INQ_SECTION_RANKS) |                   \
     INQ_SECTION_BIT(INQ_SECTION_PIPELINE) | INQ_SECTION_BIT(INQ_SECTION_CRITICAL_PATH))

struct inq_chart_block {
    int64_t start_ns, end_ns;
    int32_t micro_batch; /* -1: none */
    uint8_t type;        /* enum inq_op_type */
};

struct inq_chart_row {
    uint32_t rank;          /* index into inq_trace.ranks */
    int32_t stage, dp_rank; /* as recorded; -1: none */
    size_t n;
    struct inq_chart_block *blocks; /* of a pipeline: by start, none overlaps the next */
};

struct inq_step_chart {
    bool pipeline;
    int64_t step; /* recorded number; -1: no steps, all of the recording */
    int64_t start_ns, end_ns;
    bool apart; /* ranks ran the step at different times */
    size_t n_rows, left_out;
    struct inq_chart_row *rows; /* by DP rank and stage, else by rank */
};

/* Whether it was asked for: as a picture of the pipeline, or of where the ranks' time went. */
static inline bool inq_step_chart_wanted(const struct inq_context *context)
{
    return inq_context_wants(context, INQ_SECTION_RANKS) ||
           inq_context_wants(context, INQ_SECTION_PIPELINE);
}

/* The step that the critical path is of, else the one of median length; at most `most` rows, those
 * that findings name before others. n_rows is 0 where there is nothing to draw: no GPU work, or the
 * analyses that look at it were not run. Lives in the view's arena. Fails with INQ_NOMEM. */
int inq_step_chart_make(const struct inq_context *context, size_t most,
                        struct inq_step_chart *chart, struct inq_err *err);
/* The forwards and backwards of a pipeline's step with this number, of the picked ranks: n_rows is
 * 0 where the run is no pipeline or its analysis has set the step aside. */
int inq_step_chart_pipeline(const struct inq_context *context, int64_t step, const bool *picked,
                            struct inq_step_chart *chart, struct inq_err *err);
/* What a rank's GPU did, a character a column: '#' compute, '=' exposed communication, '-' exposed
 * copy, '.' idle, whichever took most of the column's time. `line` has room for columns + 1. */
int inq_step_chart_line(const struct inq_context *context, const struct inq_step_chart *chart,
                        const struct inq_chart_row *row, size_t columns, char *line,
                        struct inq_err *err);

/* Both of them as text; nothing where they do not apply. `plain`: ranks without a number are called
 * by their place, not by the name of a file. */
int inq_text_timeline(const struct inq_context *context, const struct inq_terminal *terminal,
                      bool plain, struct inq_err *err);
int inq_text_heat_map(const struct inq_context *context, const struct inq_terminal *terminal,
                      struct inq_err *err);

#endif
