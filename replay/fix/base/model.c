/* SPDX-License-Identifier: Apache-2.0 */
/* The base of a run with labelled ops: the median step of the op model. */
#include "fix/base/base.h"
#include "fix/fix.h"

#include "analysis/whatif/whatif.h"
#include "base/mem.h"
#include "base/sort.h"
#include "inquest/schedule.h"

#include <stdio.h>
#include <string.h>

/* The kind of inq_schedule_kinds that the pipeline analysis recognised; "" none of them. */
static const char *kind_of(const char *schedule)
{
    size_t n = 0;
    const struct inq_schedule_kind *kinds = inq_schedule_kinds(&n);
    const char *name = strcmp(schedule, "interleaved-1f1b") == 0 ? "interleaved" : schedule;
    for (size_t i = 0; i < n; i++) {
        if (strcmp(name, kinds[i].name) == 0) {
            return kinds[i].name;
        }
    }
    return "";
}

static int take_ranks(const struct inq_trace *trace, const struct inq_op_model *m,
                      struct fix_job *job, struct inq_err *err)
{
    job->n_ranks = m->n_dp * m->n_stages;
    job->ranks = inq_mem_zalloc(job->n_ranks, sizeof *job->ranks);
    if (job->ranks == NULL) {
        return inq_fix_no_memory(err);
    }
    for (size_t w = 0; w < job->n_ranks; w++) {
        job->ranks[w] = (struct fix_rank){trace->ranks[m->worker_rank[w]].rank,
                                          (int32_t)(w % m->n_stages), (int32_t)(w / m->n_stages)};
    }
    return INQ_OK;
}

/* Mean over the steps. */
static int64_t mean_of(const struct inq_op_model *m, size_t op)
{
    return inq_steps_mean(m, m->dur_ns + op * m->stride);
}

static int32_t number_of(const struct fix_op *op, const struct inq_op_model *m)
{
    const struct inq_step_op *row = &m->shape.op[op->op.source];
    return row->micro_batch >= 0 ? row->micro_batch : row->seq;
}

/* Whether forwards and backwards say whose they are. Where they do not, each type is counted. */
static bool are_labelled(const struct inq_op_model *m)
{
    bool all = true;
    for (size_t i = 0; all && i < m->shape.n; i++) {
        all = !inq_op_is_compute(m->shape.op[i].type) || m->shape.op[i].micro_batch >= 0;
    }
    return all;
}

/* The different recorded numbers of a type, or of all forwards and backwards (INQ_OP_NONE),
 * ascending; how many. */
static size_t list_numbers(const struct inq_op_model *m, const struct fix_job *job, uint8_t type,
                           int64_t *numbers)
{
    size_t n = 0;
    for (size_t i = 0; i < job->n_ops; i++) {
        uint8_t own = job->ops[i].op.type;
        if (type == INQ_OP_NONE ? inq_op_is_compute(own) : own == type) {
            numbers[n++] = number_of(&job->ops[i], m);
        }
    }
    return inq_sort_distinct_i64(numbers, n);
}

/* Micro-batches are numbered from 0 by their recorded numbers. */
static int number_microbatches(const struct inq_op_model *m, struct fix_job *job,
                               struct inq_err *err)
{
    static const uint8_t types[] = {INQ_OP_FORWARD, INQ_OP_BACKWARD, INQ_OP_BACKWARD_INPUT,
                                    INQ_OP_BACKWARD_WEIGHT};
    bool labelled = are_labelled(m);
    int64_t *numbers = inq_mem_alloc((job->n_ops + 1) * sizeof *numbers);
    if (numbers == NULL) {
        return inq_fix_no_memory(err);
    }
    for (size_t k = 0; k < sizeof types; k++) {
        size_t kept = list_numbers(m, job, labelled ? INQ_OP_NONE : types[k], numbers);
        for (size_t i = 0; i < job->n_ops; i++) {
            struct fix_op *op = &job->ops[i];
            if (op->op.type == types[k]) {
                op->op.micro_batch =
                    (int32_t)inq_first_from_i64(numbers, 0, kept, number_of(op, m));
                job->split = job->split || types[k] == INQ_OP_BACKWARD_WEIGHT;
            }
        }
        job->n_microbatches = kept > job->n_microbatches ? kept : job->n_microbatches;
    }
    inq_mem_free(numbers);
    return INQ_OK;
}

static int take_step(const struct inq_op_model *m, size_t step, struct fix_job *job,
                     struct inq_err *err)
{
    size_t n = m->graph->n_ops;
    bool launches = strcmp(m->source, "labels") != 0;
    int64_t *dur_ns = inq_mem_alloc(2 * n * sizeof *dur_ns);
    if (dur_ns == NULL) {
        return inq_fix_no_memory(err);
    }
    for (size_t i = 0; i < n; i++) {
        dur_ns[i] = m->dur_ns[i * m->stride + step];
        /* An op table has no launches: what an op waited for besides its data may be another rank,
         * so that it would not wait in a faster step. */
        dur_ns[n + i] = launches ? m->delay_ns[i * m->stride + step] : 0;
    }
    int code = inq_fix_job_take(job, m->graph, dur_ns, dur_ns + n, err);
    inq_mem_free(dur_ns);
    for (size_t i = 0; code == INQ_OK && i < n; i++) {
        struct fix_op *op = &job->ops[i];
        op->slot = op->op.source;
        op->mean_ns = mean_of(m, i);
        op->op.chunk = op->op.chunk < 0 ? 0 : op->op.chunk;
        op->op.step = (int32_t)m->step[step];
    }
    return code;
}

int inq_fix_base_model(const struct inq_trace *trace, const struct inq_report *report,
                       const struct inq_op_model *model, struct inq_fix_base *base,
                       struct inq_err *err)
{
    struct fix_job *job = &base->job;
    size_t step = 0;
    int code = inq_fix_median_step(model->recorded_ns, model->n_steps, &step, err);
    if (code == INQ_OK) {
        code = take_ranks(trace, model, job, err);
    }
    if (code == INQ_OK) {
        code = take_step(model, step, job, err);
    }
    if (code == INQ_OK) {
        job->n_stages = model->n_stages;
        job->n_dp = model->n_dp;
        job->n_chunks = model->shape.n_chunks;
        job->v_shaped = model->shape.v_shaped;
        job->two_way = model->shape.two_way;
        job->n_slots = model->shape.n;
        job->connected = true;
        (void)snprintf(job->schedule, sizeof job->schedule, "%s",
                       report->pipeline != NULL ? kind_of(report->pipeline->schedule) : "");
        code = number_microbatches(model, job, err);
    }
    if (code == INQ_OK) {
        base->tail_ns = model->tail_ns[step];
        base->info.source = model->source;
        base->info.step = model->step[step];
        base->info.recorded_ns = model->recorded_ns[step];
    }
    return code;
}
