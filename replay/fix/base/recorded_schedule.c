/* SPDX-License-Identifier: Apache-2.0 */
/* The schedule of a recorded run: the order of the forwards and backwards of one step of its first
 * replica, with the times that they took. */
#include "inquest/replay.h"

#include "base/mem.h"
#include "base/sort.h"
#include "base/time.h"
#include "graph/optable/optable.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* One forward or backward of the step. */
struct recorded_op {
    int32_t rank; /* dense stage: the rank of the pipeline */
    int32_t stage, microbatch;
    uint8_t kind; /* enum inq_action_kind */
    int64_t start_ns, end_ns;
};

struct recorded {
    const struct inq_op_model *model;
    size_t step; /* of the model */
    size_t n;
    struct recorded_op *ops; /* by rank and start */
    int64_t *numbers;        /* [n_numbers] micro-batches as recorded, ascending */
    size_t n_numbers;
    int64_t first_ns; /* start of the first op */
    struct inq_err *err;
};

/* ---- which step ------------------------------------------------------------------------------ */

static int compare_step(const void *a, const void *b, void *ctx)
{
    const struct inq_op_model *m = ctx;
    int64_t x = m->recorded_ns[*(const size_t *)a];
    int64_t y = m->recorded_ns[*(const size_t *)b];
    return x < y ? -1 : x > y;
}

/* The step of median length. */
static int median_step(struct recorded *r)
{
    const struct inq_op_model *m = r->model;
    size_t *order = inq_mem_alloc(m->n_steps * sizeof *order);
    if (order == NULL) {
        return inq_err_set(r->err, INQ_NOMEM, "out of memory for steps");
    }
    for (size_t i = 0; i < m->n_steps; i++) {
        order[i] = i;
    }
    /* the context is only read */
    int code =
        inq_sort(order, m->n_steps, sizeof *order, compare_step, (void *)(uintptr_t)m, r->err);
    r->step = order[(m->n_steps - 1) / 2];
    inq_mem_free(order);
    return code;
}

/* --at 1.25s counts from the start of the first step that is known; *at_ns gets it from the start
 * of the step that it falls into. */
static int step_at(struct recorded *r, int64_t *at_ns)
{
    const struct inq_op_model *m = r->model;
    int64_t first = m->origin_ns[0];
    int64_t last = m->origin_ns[0];
    for (size_t i = 0; i < m->n_steps; i++) {
        first = m->origin_ns[i] < first ? m->origin_ns[i] : first;
        int64_t end = m->origin_ns[i] + m->recorded_ns[i];
        last = end > last ? end : last;
    }
    for (size_t i = 0; i < m->n_steps; i++) {
        int64_t since = *at_ns - (m->origin_ns[i] - first);
        if (since >= 0 && since < m->recorded_ns[i]) {
            r->step = i;
            *at_ns = since;
            return INQ_OK;
        }
    }
    char text[32];
    return inq_err_set(r->err, INQ_USAGE,
                       "no step that is known runs then; the steps take %s from the first's start",
                       inq_time_format(last - first, text, sizeof text));
}

static int numbered_step(struct recorded *r, int64_t number)
{
    for (size_t i = 0; i < r->model->n_steps; i++) {
        if (r->model->step[i] == number) {
            r->step = i;
            return INQ_OK;
        }
    }
    return inq_err_set(r->err, INQ_USAGE,
                       "step '%" PRId64 "' is not among the %zu steps whose schedule is known",
                       number, r->model->n_steps);
}

/* ---- its ops --------------------------------------------------------------------------------- */

static int compare_ops(const void *a, const void *b, void *ctx)
{
    const struct recorded_op *x = a;
    const struct recorded_op *y = b;
    (void)ctx;
    if (x->rank != y->rank) {
        return x->rank < y->rank ? -1 : 1;
    }
    return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

static uint8_t kind_of(uint8_t type)
{
    return type == INQ_OP_FORWARD           ? INQ_ACTION_F
           : type == INQ_OP_BACKWARD_INPUT  ? INQ_ACTION_I
           : type == INQ_OP_BACKWARD_WEIGHT ? INQ_ACTION_W
                                            : INQ_ACTION_B;
}

static void number_microbatches(struct recorded *r)
{
    for (size_t i = 0; i < r->n; i++) {
        r->numbers[i] = r->ops[i].microbatch;
    }
    inq_sort_i64(r->numbers, r->n);
    for (size_t i = 0; i < r->n; i++) {
        if (r->n_numbers == 0 || r->numbers[r->n_numbers - 1] != r->numbers[i]) {
            r->numbers[r->n_numbers++] = r->numbers[i];
        }
    }
    for (size_t i = 0; i < r->n; i++) {
        size_t low = 0;
        for (size_t high = r->n_numbers; low < high;) {
            size_t middle = (low + high) / 2;
            bool less = r->numbers[middle] < r->ops[i].microbatch;
            low = less ? middle + 1 : low;
            high = less ? high : middle;
        }
        r->ops[i].microbatch = (int32_t)low;
    }
}

static int list_ops(struct recorded *r)
{
    const struct inq_op_model *m = r->model;
    r->ops = inq_mem_alloc((m->graph->n_ops + 1) * sizeof *r->ops);
    r->numbers = inq_mem_alloc((m->graph->n_ops + 1) * sizeof *r->numbers);
    if (r->ops == NULL || r->numbers == NULL) {
        return inq_err_set(r->err, INQ_NOMEM, "out of memory for a schedule");
    }
    r->first_ns = INT64_MAX;
    for (size_t i = 0; i < m->graph->n_ops; i++) {
        const struct inq_graph_op *op = &m->graph->op[i];
        if (op->dp_rank != 0 || !inq_op_is_compute(op->type)) {
            continue;
        }
        const struct inq_step_op *of = &m->shape.op[op->source];
        r->ops[r->n] =
            (struct recorded_op){.rank = op->stage,
                                 .stage = inq_op_virtual_stage(m, op->stage, of->chunk),
                                 .microbatch = of->micro_batch >= 0 ? of->micro_batch : of->seq,
                                 .kind = kind_of(op->type),
                                 .start_ns = m->start_ns[i * m->stride + r->step],
                                 .end_ns = m->end_ns[i * m->stride + r->step]};
        r->first_ns = r->ops[r->n].start_ns < r->first_ns ? r->ops[r->n].start_ns : r->first_ns;
        r->n++;
    }
    if (r->n == 0) {
        return inq_err_set(r->err, INQ_NOT_FOUND, "no forward or backward is labeled in it");
    }
    number_microbatches(r);
    return inq_sort(r->ops, r->n, sizeof *r->ops, compare_ops, NULL, r->err);
}

/* ---- the schedule ---------------------------------------------------------------------------- */

static int fill_times(const struct recorded *r, struct inq_recorded_schedule *out)
{
    struct inq_schedule *s = &out->schedule;
    struct inq_schedule_timing *t = &out->timing;
    size_t n_ranks = (size_t)s->n_ranks;
    t->ranks = inq_mem_zalloc(n_ranks, sizeof *t->ranks);
    t->start_ns = inq_mem_zalloc(n_ranks, sizeof *t->start_ns);
    t->end_ns = inq_mem_zalloc(n_ranks, sizeof *t->end_ns);
    bool ok = t->ranks != NULL && t->start_ns != NULL && t->end_ns != NULL;
    size_t op = 0;
    for (size_t rank = 0; ok && rank < n_ranks; rank++) {
        size_t n = s->ranks[rank].n;
        t->start_ns[rank] = inq_mem_zalloc(n, sizeof **t->start_ns);
        t->end_ns[rank] = inq_mem_zalloc(n, sizeof **t->end_ns);
        ok = t->start_ns[rank] != NULL && t->end_ns[rank] != NULL;
        for (size_t i = 0; ok && i < n; i++, op++) {
            t->start_ns[rank][i] = r->ops[op].start_ns - r->first_ns;
            t->end_ns[rank][i] = r->ops[op].end_ns - r->first_ns;
        }
    }
    if (!ok) {
        return inq_err_set(r->err, INQ_NOMEM, "out of memory for the times of a schedule");
    }
    const struct inq_costs none = {0};
    inq_schedule_timing_sum(s, &none, t);
    return INQ_OK;
}

static int build(const struct recorded *r, struct inq_recorded_schedule *out)
{
    int32_t stages = 0;
    struct inq_schedule *s = &out->schedule;
    for (size_t i = 0; i < r->n; i++) {
        stages = r->ops[i].stage >= stages ? r->ops[i].stage + 1 : stages;
    }
    int code =
        inq_schedule_start((int32_t)r->model->n_stages, stages, (int32_t)r->n_numbers, s, r->err);
    s->n_pipelines = r->model->shape.two_way ? 2 : 1;
    for (size_t i = 0; code == INQ_OK && i < r->n; i++) {
        const struct recorded_op *op = &r->ops[i];
        s->stage_rank[op->stage] = op->rank;
        code = inq_schedule_append(s, op->rank, (enum inq_action_kind)op->kind, op->stage,
                                   op->microbatch, r->err);
    }
    (void)snprintf(s->kind, sizeof s->kind, "recorded step %" PRId64, r->model->step[r->step]);
    return code == INQ_OK ? fill_times(r, out) : code;
}

static int choose_step(struct recorded *r, const struct inq_recorded_step *which, int64_t *at_ns)
{
    if (which->by == INQ_STEP_AT) {
        *at_ns = which->value;
        return step_at(r, at_ns);
    }
    return which->by == INQ_STEP_NUMBER ? numbered_step(r, which->value) : median_step(r);
}

int inq_recorded_schedule_of(const struct inq_trace *trace, const struct inq_recorded_step *which,
                             struct inq_recorded_schedule *out, bool *found, struct inq_err *err)
{
    struct inq_op_model *model = NULL;
    int code = inq_op_model_make(trace, &model, err);
    struct recorded r = {.model = model, .err = err};
    *found = code == INQ_OK && model != NULL && model->n_steps > 0;
    if (*found) {
        code = choose_step(&r, which, &out->at_ns);
    }
    if (*found && code == INQ_OK) {
        code = list_ops(&r);
    }
    if (*found && code == INQ_OK) {
        code = build(&r, out);
        code = code == INQ_OK ? inq_recorded_costs_of(trace, &out->costs, err) : code;
        out->at_ns -= which->by == INQ_STEP_AT ? r.first_ns : 0; /* times count from the first op */
    }
    inq_mem_free(r.ops);
    inq_mem_free(r.numbers);
    inq_op_model_free(model);
    return code;
}
