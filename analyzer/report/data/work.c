/* SPDX-License-Identifier: Apache-2.0 */
/* What ran: kernels, the pipeline and its ops, the critical path. */
#include "report/data/data.h"

#include "graph/optable/optable.h"
#include "inquest/kernels.h"

/* ---- kernels
 * ------------------------------------------------------------------------------------- */

static const struct inq_report_column kernels_columns[] = {
    INQ_DATA_JOB,
    {"grouped_by", INQ_TYPE_TEXT, "", "kernel, operator, module or source"},
    {"kernel_id", INQ_TYPE_INTEGER, "", "key; most time first"},
    {"name", INQ_TYPE_TEXT, "", "NULL: without a name"},
    {"count", INQ_TYPE_INTEGER, "", "how many ran"},
    {"total_ns", INQ_TYPE_INTEGER, "ns",
     "durations summed over all ranks; communication holds its waiting"},
    {"share", INQ_TYPE_REAL, "1", "of the time of all kernels and copies"},
    {"min_ns", INQ_TYPE_INTEGER, "ns", "shortest"},
    {"max_ns", INQ_TYPE_INTEGER, "ns", "longest"},
    {"ranks", INQ_TYPE_INTEGER, "", "ranks that have any"},
    {"least_rank", INQ_TYPE_INTEGER, "", "rank with least of it; NULL: not known"},
    {"least_rank_ns", INQ_TYPE_INTEGER, "ns", "its time"},
    {"most_rank", INQ_TYPE_INTEGER, "", "rank with most of it; NULL: not known"},
    {"most_rank_ns", INQ_TYPE_INTEGER, "ns", "its time"},
    {"shapes", INQ_TYPE_INTEGER, "", "distinct launch configurations"},
};

static void fill_kernels(const struct inq_context *context, struct inq_data_rows *rows)
{
    static const char *const by_text[INQ_KERNELS_BY_COUNT] = {"kernel", "operator", "module",
                                                              "source"};
    const struct inq_kernels *kernels = context->report->kernels;
    for (int by = 0; kernels != NULL && by < INQ_KERNELS_BY_COUNT; by++) {
        for (size_t i = 0; i < kernels->by[by].n; i++) {
            const struct inq_kernel_row *row = &kernels->by[by].rows[i];
            const struct inq_rank *ranks = context->trace->ranks;
            inq_data_text(rows, by_text[by]);
            inq_data_int(rows, (int64_t)i);
            inq_data_text(rows, inq_trace_str(context->trace, row->name));
            inq_data_int(rows, (int64_t)row->count);
            inq_data_int(rows, row->total_ns);
            inq_data_real(rows, row->share);
            inq_data_int(rows, row->min_ns);
            inq_data_int(rows, row->max_ns);
            inq_data_int(rows, (int64_t)row->n_ranks);
            inq_data_known(rows, ranks[row->rank_least].rank);
            inq_data_int(rows, row->rank_least_ns);
            inq_data_known(rows, ranks[row->rank_most].rank);
            inq_data_int(rows, row->rank_most_ns);
            inq_data_int(rows, (int64_t)row->n_launches);
        }
    }
}

/* ---- pipelines
 * ----------------------------------------------------------------------------------- */

static const struct inq_report_column pipelines_columns[] = {
    INQ_DATA_JOB,
    {"schedule", INQ_TYPE_TEXT, "", "recognized schedule"},
    {"confidence", INQ_TYPE_REAL, "1", "share of the ops that stand where this schedule has them"},
    {"source", INQ_TYPE_TEXT, "", "labels, annotations or inferred"},
    {"stages", INQ_TYPE_INTEGER, "", "pipeline stages"},
    {"microbatches", INQ_TYPE_INTEGER, "", "micro-batches per step"},
    {"chunks", INQ_TYPE_INTEGER, "", "model chunks per stage"},
    {"replicas", INQ_TYPE_INTEGER, "", "data-parallel replicas"},
    {"bubble_ratio", INQ_TYPE_REAL, "1", "idle share of the span of the pipeline"},
    {"bubble_ratio_theory", INQ_TYPE_REAL, "1",
     "of this schedule with equal ops; NULL: no closed form"},
    {"total_ns_per_step", INQ_TYPE_INTEGER, "ns", "mean recorded step; the waterfall sums to it"},
};

static void fill_pipelines(const struct inq_context *context, struct inq_data_rows *rows)
{
    const struct inq_pipeline *p = context->report->pipeline;
    if (p == NULL) {
        return;
    }
    inq_data_text(rows, p->schedule);
    inq_data_real(rows, p->confidence);
    inq_data_text(rows, p->source);
    inq_data_known(rows, p->stages);
    inq_data_known(rows, p->microbatches);
    inq_data_known(rows, p->chunks);
    inq_data_known(rows, p->replicas);
    inq_data_real(rows, p->bubble_ratio);
    inq_data_real(rows, p->bubble_ratio_theory);
    inq_data_int(rows, p->total_ns_per_step);
}

/* ---- waterfall
 * ----------------------------------------------------------------------------------- */

static const struct inq_report_column waterfall_columns[] = {
    INQ_DATA_JOB,
    {"part_id", INQ_TYPE_INTEGER, "", "key; the ideal first"},
    {"cause", INQ_TYPE_TEXT, "", "as in inquest-report(5)"},
    {"ns_per_step", INQ_TYPE_INTEGER, "ns", "may be negative"},
};

static void fill_waterfall(const struct inq_context *context, struct inq_data_rows *rows)
{
    const struct inq_pipeline *p = context->report->pipeline;
    for (size_t i = 0; p != NULL && i < p->n_waterfall; i++) {
        inq_data_int(rows, (int64_t)i);
        inq_data_text(rows, p->waterfall[i].cause);
        inq_data_int(rows, p->waterfall[i].ns_per_step);
    }
}

static const char *const waterfall_foreign[] = {"(job) REFERENCES pipelines", NULL};

/* ---- pipeline_stages
 * ----------------------------------------------------------------------------- */

static const struct inq_report_column pipeline_stages_columns[] = {
    INQ_DATA_JOB,
    {"stage", INQ_TYPE_INTEGER, "", "key"},
    {"forward_ns", INQ_TYPE_INTEGER, "ns", "mean per micro-batch"},
    {"backward_ns", INQ_TYPE_INTEGER, "ns", "mean per micro-batch"},
    {"busy_ns", INQ_TYPE_INTEGER, "ns", "forward and backward"},
    {"bubble_ns", INQ_TYPE_INTEGER, "ns", "idle in the span of the pipeline"},
    {"compute_ns", INQ_TYPE_INTEGER, "ns", "a compute kernel runs"},
    {"p2p_ns", INQ_TYPE_INTEGER, "ns", "transfers between stages"},
    {"sync_ns", INQ_TYPE_INTEGER, "ns", "parameter gathers and gradient reductions"},
    {"other_ns", INQ_TYPE_INTEGER, "ns", "optimizer and the rest"},
    {"idle_ns", INQ_TYPE_INTEGER, "ns", "compute to idle sum to the step"},
};

static void fill_pipeline_stages(const struct inq_context *context, struct inq_data_rows *rows)
{
    const struct inq_pipeline *p = context->report->pipeline;
    for (size_t i = 0; p != NULL && i < p->n_per_stage; i++) {
        const struct inq_stage_time *s = &p->per_stage[i];
        const int64_t cells_ns[] = {s->forward_ns, s->backward_ns, s->busy_ns,
                                    s->bubble_ns,  s->compute_ns,  s->p2p_ns,
                                    s->sync_ns,    s->other_ns,    s->idle_ns};
        inq_data_int(rows, s->stage);
        for (size_t k = 0; k < sizeof cells_ns / sizeof *cells_ns; k++) {
            inq_data_int(rows, cells_ns[k]);
        }
    }
}

static const char *const pipeline_stages_foreign[] = {"(job) REFERENCES pipelines", NULL};

/* ---- pipeline_ops
 * -------------------------------------------------------------------------------- */

static const struct inq_report_column pipeline_ops_columns[] = {
    INQ_DATA_JOB,
    {"step", INQ_TYPE_INTEGER, "", "number as recorded"},
    {"op_id", INQ_TYPE_INTEGER, "", "key; the same op in every step"},
    INQ_DATA_RANK,
    {"type", INQ_TYPE_TEXT, "", "forward-compute, backward-send, ..."},
    {"stage", INQ_TYPE_INTEGER, "", "pipeline stage"},
    {"dp_rank", INQ_TYPE_INTEGER, "", "rank in data parallelism"},
    {"micro_batch", INQ_TYPE_INTEGER, "", "NULL: of none"},
    {"chunk", INQ_TYPE_INTEGER, "", "model chunk; NULL: of none"},
    {"start_ns", INQ_TYPE_INTEGER, "ns", "on the aligned clock"},
    {"end_ns", INQ_TYPE_INTEGER, "ns", "on the aligned clock"},
};

static void put_op(const struct inq_context *context, struct inq_data_rows *rows, size_t t,
                   size_t op)
{
    const struct inq_op_model *m = context->report->op_model;
    const struct inq_graph_op *shape = &m->graph->op[op];
    uint32_t rank = m->worker_rank[inq_op_worker(m, op)];
    size_t cell = op * m->stride + t;
    if (!inq_context_shows_index(context, rank)) {
        return;
    }
    inq_data_int(rows, m->step[t]);
    inq_data_int(rows, (int64_t)op);
    inq_data_rank(rows, context, rank);
    inq_data_text(rows, inq_op_type_text((enum inq_op_type)shape->type));
    inq_data_int(rows, m->stage_number[shape->stage]);
    inq_data_int(rows, m->dp_number[shape->dp_rank]);
    inq_data_known(rows, shape->micro_batch);
    inq_data_known(rows, shape->chunk);
    inq_data_int(rows, m->origin_ns[t] + m->start_ns[cell]);
    inq_data_int(rows, m->origin_ns[t] + m->end_ns[cell]);
}

static void fill_pipeline_ops(const struct inq_context *context, struct inq_data_rows *rows)
{
    const struct inq_op_model *m = context->report->op_model;
    for (size_t t = 0; m != NULL && t < m->n_steps; t++) {
        for (size_t op = 0; op < m->graph->n_ops; op++) {
            put_op(context, rows, t, op);
        }
    }
}

static const char *const pipeline_ops_foreign[] = {"(job, rank_id) REFERENCES ranks", NULL};

/* ---- critical_path
 * ------------------------------------------------------------------------------- */

static const struct inq_report_column critical_path_columns[] = {
    INQ_DATA_JOB,
    {"segment_id", INQ_TYPE_INTEGER, "", "key"},
    {"step", INQ_TYPE_INTEGER, "", "number of the step; NULL: no steps"},
    {"rank", INQ_TYPE_INTEGER, "", "global rank number; NULL: not known"},
    {"kind", INQ_TYPE_TEXT, "", "compute, transfer, copy, launch, host or gap"},
    {"what", INQ_TYPE_TEXT, "", "kernel, or what came next; NULL: nothing to say"},
    {"start_ns", INQ_TYPE_INTEGER, "ns", "on the aligned clock"},
    {"end_ns", INQ_TYPE_INTEGER, "ns", "on the aligned clock"},
};

static void fill_critical_path(const struct inq_context *context, struct inq_data_rows *rows)
{
    const struct inq_critical_path *path = context->report->critical_path;
    for (size_t i = 0; path != NULL && i < path->n_segments; i++) {
        const struct inq_path_segment *s = &path->segments[i];
        if (s->rank >= 0 && !inq_context_shows(context, s->rank)) {
            continue;
        }
        inq_data_int(rows, (int64_t)i);
        inq_data_known(rows, path->step);
        inq_data_known(rows, s->rank);
        inq_data_text(rows, s->kind);
        inq_data_text(rows, s->what);
        inq_data_int(rows, s->start_ns);
        inq_data_int(rows, s->end_ns);
    }
}

static const char *const no_foreign[] = {NULL};

const struct inq_data_table inq_data_work[] = {
    {INQ_DATA_SHAPE("kernels", "GPU time by kernel, operator, module and line of the user's code",
                    "job, grouped_by, kernel_id", no_foreign, NULL, kernels_columns),
     INQ_SECTION_KERNELS, fill_kernels},
    {INQ_DATA_SHAPE("pipelines", "the pipeline of a job: at most one row per job", "job",
                    no_foreign, NULL, pipelines_columns),
     INQ_SECTION_PIPELINE, fill_pipelines},
    {INQ_DATA_SHAPE("waterfall", "what a step of the pipeline is made of", "job, part_id",
                    waterfall_foreign, NULL, waterfall_columns),
     INQ_SECTION_PIPELINE, fill_waterfall},
    {INQ_DATA_SHAPE("pipeline_stages", "means over the workers of a stage and over the steps",
                    "job, stage", pipeline_stages_foreign, NULL, pipeline_stages_columns),
     INQ_SECTION_PIPELINE, fill_pipeline_stages},
    {INQ_DATA_SHAPE("pipeline_ops", "ops of the pipeline in the steps of its model",
                    "job, step, op_id", pipeline_ops_foreign, "job, type", pipeline_ops_columns),
     INQ_SECTION_PIPELINE, fill_pipeline_ops},
    {INQ_DATA_SHAPE("critical_path", "segments of the critical path of one step, longest first",
                    "job, segment_id", no_foreign, NULL, critical_path_columns),
     INQ_SECTION_CRITICAL_PATH, fill_critical_path},
    {.fill = NULL},
};
