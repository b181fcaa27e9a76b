/* SPDX-License-Identifier: Apache-2.0 */
/* The pipeline a run was: schedule, bubbles, stages, and the waterfall from its steps to the ideal.
 */
#include "analysis/pipeline/pipeline.h"

#include "analysis/analysis.h"
#include "base/arena.h"
#include "base/mem.h"
#include "base/sort.h"

#include <math.h>

struct pipeline {
    const struct inq_trace *trace;
    const struct inq_op_model *m;
    struct inq_arena *arena;
    struct inq_pipeline *p;
    int jobs;
    double *bubble;    /* [n_steps] */
    int64_t *parts_ns; /* [n_steps][causes] */
};

static int no_memory(struct inq_err *err)
{
    return inq_err_set(err, INQ_NOMEM, "out of memory for the pipeline");
}

/* Two stages at least that go forward and back. */
static bool is_pipeline(const struct inq_op_model *m)
{
    bool forward = false;
    bool backward = false;
    for (size_t i = 0; i < m->shape.n; i++) {
        forward = forward || m->shape.op[i].type == INQ_OP_FORWARD;
        backward = backward || inq_op_is_backward(m->shape.op[i].type);
    }
    return forward && backward && m->n_stages > 1;
}

/* ---- bubbles --------------------------------------------------------------------------------- */

struct span {
    int64_t first, last;
};

/* From the first forward to the last backward of each replica in a step. */
static void find_spans(const struct inq_op_model *m, size_t step, struct span *spans)
{
    for (size_t d = 0; d < m->n_dp; d++) {
        spans[d] = (struct span){INT64_MAX, INT64_MIN};
    }
    for (size_t i = 0; i < m->graph->n_ops; i++) {
        if (!inq_op_is_compute(m->graph->op[i].type)) {
            continue;
        }
        struct span *s = &spans[m->graph->op[i].dp_rank];
        int64_t start = m->start_ns[i * m->stride + step];
        int64_t end = m->end_ns[i * m->stride + step];
        s->first = start < s->first ? start : s->first;
        s->last = end > s->last ? end : s->last;
    }
}

/* What a compute op adds to the time in which its worker computes: ops may run beside each other.
 * reach_ns: latest end so far; the ops of a worker come in the order of their lane. */
static int64_t busy_ns(const struct inq_op_model *m, size_t op, size_t step, int64_t *reach_ns)
{
    int64_t start = m->start_ns[op * m->stride + step];
    int64_t end = m->end_ns[op * m->stride + step];
    int64_t from = start > *reach_ns ? start : *reach_ns;
    *reach_ns = end > *reach_ns ? end : *reach_ns;
    return end > from ? end - from : 0;
}

/* Idle share of each step and over all; each stage's busy and idle time. */
static int find_bubbles(struct pipeline *x, struct inq_err *err)
{
    const struct inq_op_model *m = x->m;
    size_t n_workers = m->n_dp * m->n_stages;
    struct span *spans = inq_mem_alloc(m->n_dp * sizeof *spans);
    int64_t *reach_ns = inq_mem_alloc(n_workers * sizeof *reach_ns);
    x->bubble = inq_arena_array(x->arena, m->n_steps, sizeof *x->bubble);
    if (spans == NULL || reach_ns == NULL || x->bubble == NULL) {
        inq_mem_free(spans);
        inq_mem_free(reach_ns);
        return no_memory(err);
    }
    double all_busy = 0.0;
    double all_span = 0.0;
    for (size_t t = 0; t < m->n_steps; t++) {
        double busy = 0.0;
        double span = 0.0;
        find_spans(m, t, spans);
        for (size_t w = 0; w < n_workers; w++) {
            reach_ns[w] = INT64_MIN;
        }
        for (size_t i = 0; i < m->graph->n_ops; i++) {
            const struct inq_graph_op *op = &m->graph->op[i];
            if (inq_op_is_compute(op->type)) {
                int64_t ns = busy_ns(m, i, t, &reach_ns[inq_op_worker(m, i)]);
                busy += (double)ns;
                x->p->per_stage[op->stage].busy_ns += ns;
            }
        }
        for (size_t d = 0; d < m->n_dp; d++) {
            int64_t ns = spans[d].last - spans[d].first;
            span += (double)ns * (double)m->n_stages;
            for (size_t s = 0; s < m->n_stages; s++) {
                x->p->per_stage[s].bubble_ns += ns;
            }
        }
        x->bubble[t] = span > 0.0 ? 1.0 - busy / span : (double)NAN;
        all_busy += busy;
        all_span += span;
    }
    inq_mem_free(spans);
    inq_mem_free(reach_ns);
    x->p->bubble_ratio = all_span > 0.0 ? 1.0 - all_busy / all_span : (double)NAN;
    return INQ_OK;
}

/* ---- stages ---------------------------------------------------------------------------------- */

static void mean_ops(struct pipeline *x)
{
    const struct inq_op_model *m = x->m;
    int64_t n = (int64_t)(m->n_dp * m->n_steps);
    int64_t per = n * x->p->microbatches;
    for (size_t i = 0; i < m->graph->n_ops; i++) {
        const struct inq_graph_op *op = &m->graph->op[i];
        struct inq_stage_time *s = &x->p->per_stage[op->stage];
        int64_t ns = inq_steps_sum(m, m->dur_ns + i * m->stride);
        s->forward_ns += op->type == INQ_OP_FORWARD ? ns : 0;
        s->backward_ns += inq_op_is_compute(op->type) && op->type != INQ_OP_FORWARD ? ns : 0;
    }
    for (size_t k = 0; k < m->n_stages; k++) {
        struct inq_stage_time *s = &x->p->per_stage[k];
        s->forward_ns = per > 0 ? s->forward_ns / per : 0;
        s->backward_ns = per > 0 ? s->backward_ns / per : 0;
        s->bubble_ns = n > 0 ? (s->bubble_ns - s->busy_ns) / n : 0;
        s->busy_ns = n > 0 ? s->busy_ns / n : 0;
    }
}

static int fill_stages(struct pipeline *x, struct inq_err *err)
{
    x->p->n_per_stage = x->m->n_stages;
    x->p->per_stage = inq_arena_array(x->arena, x->m->n_stages, sizeof *x->p->per_stage);
    if (x->p->per_stage == NULL) {
        return no_memory(err);
    }
    int code = find_bubbles(x, err);
    if (code == INQ_OK) {
        mean_ops(x);
        code = inq_stage_times(x->m, x->jobs, x->p->per_stage, err);
    }
    return code;
}

/* ---- schedule and waterfall ------------------------------------------------------------------ */

static int fill_schedule(struct pipeline *x, struct inq_err *err)
{
    struct inq_schedule_guess guess;
    int code = inq_schedule_recognise(x->m, &guess, err);
    if (code == INQ_OK) {
        x->p->schedule = guess.name;
        x->p->confidence = guess.confidence;
        x->p->source = x->m->source;
        x->p->stages = (int32_t)x->m->n_stages;
        x->p->replicas = (int32_t)x->m->n_dp;
        x->p->microbatches = guess.microbatches;
        x->p->chunks = guess.chunks;
        x->p->bubble_ratio_theory = guess.bubble_ratio;
    }
    return code;
}

/* Means that still sum exactly: of what is left after each part, rounded down. */
static int fill_waterfall(struct pipeline *x, struct inq_err *err)
{
    const struct inq_op_model *m = x->m;
    struct inq_pipeline *p = x->p;
    x->parts_ns = inq_arena_array(x->arena, m->n_steps * INQ_WATERFALL_CAUSES, sizeof *x->parts_ns);
    p->waterfall = inq_arena_array(x->arena, INQ_WATERFALL_CAUSES, sizeof *p->waterfall);
    if (x->parts_ns == NULL || p->waterfall == NULL) {
        return no_memory(err);
    }
    int code = inq_waterfall_steps(m, x->jobs, x->parts_ns, err);
    int64_t sum = 0;
    int64_t before = 0;
    for (size_t k = 0; code == INQ_OK && k < INQ_WATERFALL_CAUSES; k++) {
        for (size_t t = 0; t < m->n_steps; t++) {
            sum += x->parts_ns[t * INQ_WATERFALL_CAUSES + k];
        }
        int64_t mean = m->n_steps > 0 ? sum / (int64_t)m->n_steps : 0;
        p->waterfall[k] = (struct inq_waterfall_part){
            inq_waterfall_text((enum inq_waterfall_cause)k), mean - before};
        before = mean;
    }
    p->n_waterfall = INQ_WATERFALL_CAUSES;
    p->total_ns_per_step = before;
    return code;
}

/* Longest first; those set aside last, in the order of the record. */
static int compare_steps(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    const struct inq_pipeline_step *x = a;
    const struct inq_pipeline_step *y = b;
    if (x->warm_up || y->warm_up) {
        return x->warm_up - y->warm_up;
    }
    return x->dur_ns > y->dur_ns ? -1 : x->dur_ns < y->dur_ns;
}

static int fill_steps(struct pipeline *x, struct inq_err *err)
{
    const struct inq_op_model *m = x->m;
    struct inq_pipeline *p = x->p;
    p->n_dropped_steps = m->n_dropped;
    p->n_warm_up_steps = m->n_warm_up;
    p->n_steps = m->n_steps + m->n_warm_up;
    p->steps = inq_arena_array(x->arena, p->n_steps, sizeof *p->steps);
    if (p->steps == NULL || x->bubble == NULL) {
        return no_memory(err);
    }
    for (size_t t = 0; t < m->n_steps; t++) {
        p->steps[t] = (struct inq_pipeline_step){m->step[t], m->recorded_ns[t], x->bubble[t], false,
                                                 x->parts_ns + t * INQ_WATERFALL_CAUSES};
    }
    for (size_t t = 0; t < m->n_warm_up; t++) {
        p->steps[m->n_steps + t] =
            (struct inq_pipeline_step){m->warm_step[t], m->warm_ns[t], (double)NAN, true, NULL};
    }
    return inq_sort(p->steps, p->n_steps, sizeof *p->steps, compare_steps, NULL, err);
}

static int fill_host(struct pipeline *x, struct inq_err *err)
{
    return inq_pipeline_find_host(x->trace, x->m, x->jobs, &x->p->host, err);
}

int inq_run_pipeline(const struct inq_trace *trace, const struct inq_analysis_options *options,
                     struct inq_report *report, struct inq_err *err)
{
    static int (*const parts[])(struct pipeline *, struct inq_err *) = {
        fill_schedule, fill_stages, fill_waterfall, fill_steps, fill_host};
    const struct inq_op_model *model = NULL;
    int code = inq_op_model_shared(trace, report, &model, err);
    if (code != INQ_OK || model == NULL || !is_pipeline(model)) {
        return code;
    }
    struct pipeline x = {.trace = trace, .m = model, .arena = report->arena, .jobs = options->jobs};
    x.p = inq_arena_alloc(report->arena, sizeof *x.p);
    if (x.p == NULL) {
        return no_memory(err);
    }
    for (size_t k = 0; code == INQ_OK && k < sizeof parts / sizeof parts[0]; k++) {
        code = parts[k](&x, err);
    }
    if (code == INQ_OK) {
        report->pipeline = x.p;
    }
    return code;
}
