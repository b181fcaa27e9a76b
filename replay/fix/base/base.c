/* SPDX-License-Identifier: Apache-2.0 */
/* Bases of fixes: of a run, or of a schedule. */
#include "fix/base/base.h"
#include "fix/fix.h"

#include "analysis/whatif/whatif.h"
#include "base/mem.h"
#include "base/stats.h"

#include <string.h>

void inq_fix_base_free(struct inq_fix_base *base)
{
    if (base != NULL) {
        inq_fix_job_release(&base->job);
        inq_study_release(base->study);
        inq_mem_free(base->study);
        inq_mem_free(base);
    }
}

const struct inq_fix_base_info *inq_fix_base_info(const struct inq_fix_base *base)
{
    return &base->info;
}

int inq_fix_median_step(const int64_t *length_ns, size_t n, size_t *step, struct inq_err *err)
{
    int64_t *sorted = inq_mem_alloc((n + 1) * sizeof *sorted);
    if (sorted == NULL) {
        return inq_fix_no_memory(err);
    }
    for (size_t i = 0; i < n; i++) {
        sorted[i] = length_ns[i];
    }
    int64_t median = inq_lower_median_i64(sorted, n);
    *step = 0;
    while (*step + 1 < n && length_ns[*step] != median) {
        (*step)++;
    }
    inq_mem_free(sorted);
    return INQ_OK;
}

/* What the base takes by the simulator. */
static int measure(struct inq_fix_base *base, struct inq_err *err)
{
    struct fix_job *job = &base->job;
    int64_t t_ns = 0;
    int64_t without_ns = 0;
    int code = inq_fix_job_time(job, true, &t_ns, err);
    if (code == INQ_OK) {
        code = inq_fix_job_time(job, false, &without_ns, err);
    }
    base->info.t_ns = t_ns + base->tail_ns;
    base->info.without_gaps_ns = without_ns;
    base->info.n_steps = 1;
    base->info.mean_t_ns = base->info.t_ns;
    base->info.mean_recorded_ns = base->info.recorded_ns;
    base->info.base_ns = base->info.t_ns;
    if (base->study->run.n_steps > 0) {
        base->info.n_steps = base->study->run.n_steps;
        base->info.mean_t_ns = inq_study_step_ns(base->study);
        base->info.mean_recorded_ns = inq_study_recorded_ns(base->study);
        base->info.base_ns = base->info.mean_recorded_ns;
    }
    base->info.n_ops = job->n_ops;
    base->info.n_ranks = job->n_ranks;
    base->info.n_stages = job->n_stages;
    base->info.n_dp = job->n_dp;
    base->info.n_microbatches = job->n_microbatches;
    base->info.schedule = job->schedule;
    base->info.connected = job->connected;
    return code;
}

static int new_base(struct inq_fix_base **base, struct inq_err *err)
{
    *base = inq_mem_zalloc(1, sizeof **base);
    if (*base != NULL) {
        (*base)->study = inq_mem_zalloc(1, sizeof *(*base)->study);
    }
    if (*base == NULL || (*base)->study == NULL) {
        inq_mem_free(*base);
        *base = NULL;
        return inq_fix_no_memory(err);
    }
    (*base)->info = (struct inq_fix_base_info){.source = "", .step = -1, .recorded_ns = -1};
    return INQ_OK;
}

static int finish(struct inq_fix_base **base, int code, struct inq_err *err)
{
    if (code == INQ_OK) {
        code = measure(*base, err);
    }
    if (code != INQ_OK) {
        inq_fix_base_free(*base);
        *base = NULL;
    }
    return code;
}

int inq_fix_base_of_run(const struct inq_trace *trace, struct inq_report *report,
                        struct inq_fix_base **base, struct inq_err *err)
{
    const struct inq_op_model *model = NULL;
    int code = new_base(base, err);
    if (code == INQ_OK) {
        code = inq_op_model_shared(trace, report, &model, err);
    }
    if (code == INQ_OK) {
        code = model != NULL ? inq_fix_base_model(trace, report, model, *base, err)
                             : inq_fix_base_trace(trace, report, *base, err);
    }
    bool labelled = model != NULL && strcmp(model->source, "labels") == 0;
    if (code == INQ_OK && !labelled && report->account == NULL) {
        code = inq_err_set(err, INQ_UNSUPPORTED,
                           "no step of this run can be measured: nothing to compare a fix with");
    }
    if (code == INQ_OK && !labelled) {
        code = inq_study_init((*base)->study, trace, report, err);
    }
    if (code == INQ_OK && !labelled) {
        code = inq_study_simulate((*base)->study, err);
    }
    return finish(base, code, err);
}

int inq_fix_base_of_schedule(const struct inq_schedule *schedule, const struct inq_costs *costs,
                             struct inq_fix_base **base, struct inq_err *err)
{
    int code = new_base(base, err);
    if (code == INQ_OK) {
        (*base)->info.source = "schedule";
        code = inq_fix_job_of_schedule(schedule, costs, &(*base)->job, err);
    }
    return finish(base, code, err);
}

int inq_fix_graph(const struct inq_fix_base *base, const char *spec, struct inq_graph **graph,
                  struct inq_err *err)
{
    struct fix_job job;
    struct fix_said said = {0};
    *graph = NULL;
    int code = inq_fix_job_copy(&base->job, &job, err);
    if (code == INQ_OK) {
        code = inq_fix_apply(&job, spec, &said, err);
        if (code == INQ_OK) {
            code = inq_fix_job_graph(&job, graph, err);
        }
        inq_fix_job_release(&job);
    }
    return code;
}

/* ---- the plan -------------------------------------------------------------------------------- */

/* What the record says that a transfer does; INQ_WORK_COUNT: nothing, or nothing that can be done
 * again. A fused send and receive exchanges. */
static uint8_t recorded_work(const struct fix_op *op)
{
    static const uint8_t works[INQ_COLL_KIND_COUNT] = {
        [INQ_COLL_UNKNOWN] = INQ_WORK_COUNT,
        [INQ_COLL_ALLREDUCE] = INQ_WORK_ALL_REDUCE,
        [INQ_COLL_ALLGATHER] = INQ_WORK_ALL_GATHER,
        [INQ_COLL_REDUCE_SCATTER] = INQ_WORK_REDUCE_SCATTER,
        [INQ_COLL_ALLTOALL] = INQ_WORK_ALL_TO_ALL,
        [INQ_COLL_ALLTOALLV] = INQ_WORK_ALL_TO_ALL,
        [INQ_COLL_BROADCAST] = INQ_WORK_BROADCAST,
        [INQ_COLL_REDUCE] = INQ_WORK_REDUCE,
        [INQ_COLL_GATHER] = INQ_WORK_NOTHING,
        [INQ_COLL_SCATTER] = INQ_WORK_NOTHING,
        [INQ_COLL_BARRIER] = INQ_WORK_NOTHING,
        [INQ_COLL_SEND] = INQ_WORK_COUNT,
        [INQ_COLL_RECV] = INQ_WORK_COUNT,
        [INQ_COLL_SENDRECV] = INQ_WORK_ALL_TO_ALL,
        [INQ_COLL_COALESCED] = INQ_WORK_COUNT};
    bool typed = op->op.type != INQ_OP_NONE;
    return typed || op->group == INQ_NONE || op->coll >= INQ_COLL_KIND_COUNT ? INQ_WORK_COUNT
                                                                             : works[op->coll];
}

/* The plan of a graph of the job's ops, or of several steps in a row of the graph of one. */
static int plan_of(const struct fix_job *job, const struct inq_graph *one,
                   const struct inq_graph *graph, double scale, struct inq_plan **plan,
                   struct inq_err *err)
{
    uint8_t *work = inq_mem_zalloc(graph->n_ops + 1, sizeof *work);
    int64_t *bytes = inq_mem_zalloc(graph->n_ops + 1, sizeof *bytes);
    const struct inq_plan_options options = {.scale = scale, .work = work, .bytes = bytes};
    int code = work != NULL && bytes != NULL ? INQ_OK : inq_fix_no_memory(err);
    for (size_t i = 0; code == INQ_OK && i < graph->n_ops; i++) {
        uint32_t in_step = (uint32_t)(graph->id_of[i] % one->n_ops);
        const struct fix_op *op = &job->ops[one == graph ? in_step : one->id_of[in_step]];
        work[i] = recorded_work(op);
        bytes[i] = op->bytes;
        /* alone it has nobody to exchange with */
        uint32_t n = 1;
        (void)inq_graph_group_of(graph, (uint32_t)i, &n);
        work[i] = n < 2 ? INQ_WORK_COUNT : work[i];
    }
    if (code == INQ_OK) {
        code = inq_plan_make(graph, &options, plan, err);
    }
    inq_mem_free(work);
    inq_mem_free(bytes);
    return code;
}

int inq_fix_job_plan(const struct fix_job *job, size_t n_steps, double scale,
                     struct inq_graph **graph, struct inq_plan **plan, struct inq_err *err)
{
    struct inq_graph *one = NULL;
    *graph = NULL;
    int code = inq_fix_job_graph(job, &one, err);
    if (code == INQ_OK && n_steps > 1) {
        code = inq_graph_repeat(one, n_steps, graph, err);
    } else if (code == INQ_OK) {
        *graph = one;
    }
    if (code == INQ_OK) {
        code = plan_of(job, one, *graph, scale, plan, err);
    }
    if (one != *graph) {
        inq_graph_free(one);
    }
    if (code != INQ_OK) {
        inq_graph_free(*graph);
        *graph = NULL;
    }
    return code;
}

int inq_fix_plan(const struct inq_fix_base *base, const char *spec, size_t n_steps, double scale,
                 struct inq_graph **graph, struct inq_plan **plan, struct inq_err *err)
{
    struct fix_job job;
    struct fix_said said = {0};
    *graph = NULL;
    *plan = NULL;
    int code = inq_fix_job_copy(&base->job, &job, err);
    if (code == INQ_OK) {
        code = inq_fix_apply(&job, spec, &said, err);
        if (code == INQ_OK) {
            code = inq_fix_job_plan(&job, n_steps, scale, graph, plan, err);
        }
        inq_fix_job_release(&job);
    }
    return code;
}
