/* SPDX-License-Identifier: Apache-2.0 */
/* What-if questions to the op model: which ops take which durations, and what the steps take then.
 */
#ifndef INQ_ANALYSIS_WHATIF_WHATIF_H
#define INQ_ANALYSIS_WHATIF_WHATIF_H

#include "analysis/whatif/op_bins.h"
#include "graph/optable/optable.h"
#include "inquest/analysis.h"

#define INQ_ALL_TYPES      UINT32_MAX
#define INQ_TYPE_BIT(type) ((uint32_t)1 << (type))

/* Which ops: those for which everything given holds. All-zero with types = INQ_ALL_TYPES and stage
 * and dp = -1 is all. */
struct inq_op_filter {
    uint32_t types;         /* bits of enum inq_op_type */
    int64_t stage, dp;      /* dense; -1: any */
    const uint8_t *workers; /* [n_dp * n_stages] non-zero: chosen; NULL: any */
};

/* One scenario: selected ops take `in`, all others `out`; matrices like the model's dur_ns, or NULL
 * for the ideal of each op's type. */
struct inq_op_case {
    struct inq_op_filter filter;
    const int64_t *in, *out;
};

/* What the analyses of the op graph share. */
struct inq_op_study {
    const struct inq_trace *trace;
    const struct inq_op_model *model;
    int jobs;
    int64_t ideal_ns[INQ_OP_TYPE_COUNT]; /* 0: no op of this type */
};

/* The model of the report's trace, made on first use; NULL in *model when the trace has none. */
int inq_op_model_shared(const struct inq_trace *trace, struct inq_report *report,
                        const struct inq_op_model **model, struct inq_err *err);

/* The filter that selects all ops. */
struct inq_op_filter inq_op_filter_all(void);
static inline bool inq_op_selected(const struct inq_op_model *model,
                                   const struct inq_op_filter *filter, size_t op)
{
    const struct inq_graph_op *o = &model->graph->op[op];

    return (filter->types & INQ_TYPE_BIT(o->type)) != 0 &&
           (filter->stage < 0 || filter->stage == o->stage) &&
           (filter->dp < 0 || filter->dp == o->dp_rank) &&
           (filter->workers == NULL || filter->workers[inq_op_worker(model, op)] != 0);
}

/* Steps of each case into t_ns[n_cases][stride] (by step). */
int inq_op_cases_run(const struct inq_op_study *study, const struct inq_op_case *cases,
                     size_t n_cases, int64_t *t_ns, struct inq_err *err);
/* The same for "all ideal but replica d", d = 0 .. n_dp - 1, into t_ns[n_dp][stride]: ideal
 * replicas are alike, so that one stands for all. */
int inq_op_replicas_run(const struct inq_op_study *study, int64_t *t_ns, struct inq_err *err);

/* Sum and mean (rounded) over the model's steps. */
int64_t inq_steps_sum(const struct inq_op_model *model, const int64_t *t_ns);
int64_t inq_steps_mean(const struct inq_op_model *model, const int64_t *t_ns);

/* The parts of whatif.c: root causes (analysis/whatif/cause.c) and the user's questions
 * (analysis/whatif/ask.c). */
int inq_whatif_find_causes(const struct inq_op_study *study, struct inq_report *report,
                           const uint8_t *worst_workers, struct inq_err *err);
int inq_whatif_answer(const struct inq_op_study *study, const struct inq_analysis_options *options,
                      struct inq_report *report, struct inq_err *err);

#endif
