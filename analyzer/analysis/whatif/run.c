/* SPDX-License-Identifier: Apache-2.0 */
/* Running scenarios over the op model: durations by selection, many steps side by side. */
#include "analysis/whatif/whatif.h"
#include "base/mem.h"
#include "base/stats.h"
#include "inquest/account.h"

#define B INQ_SIM_BATCH

/* Of a recorded run the model's steps are the account's, as are their lengths; a model of other
 * steps only is none. */
static int take_steps(struct inq_report *report, struct inq_err *err)
{
    const struct inq_account *account = report->account;
    struct inq_op_model_step *steps = inq_mem_alloc((account->n_steps + 1) * sizeof *steps);
    bool any = false;
    size_t n = 0;
    if (steps == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu steps", account->n_steps);
    }
    for (size_t s = 0; s < account->n_steps; s++) {
        if (account->steps[s].judged) {
            steps[n++] =
                (struct inq_op_model_step){account->steps[s].number, account->steps[s].length_ns};
        }
    }
    int code = inq_op_model_set_steps(report->op_model, steps, n, &any, err);
    if (code == INQ_OK && !any) {
        inq_op_model_free(report->op_model);
        report->op_model = NULL;
    }
    inq_mem_free(steps);
    return code;
}

int inq_op_model_shared(const struct inq_trace *trace, struct inq_report *report,
                        const struct inq_op_model **model, struct inq_err *err)
{
    int code = INQ_OK;
    if (report->op_model == NULL) {
        code = inq_op_model_make(trace, &report->op_model, err);
        const struct inq_account *account = report->account;
        bool recorded = account != NULL && !account->op_table && !account->one_interval;
        if (code == INQ_OK && report->op_model != NULL && recorded) {
            code = take_steps(report, err);
        }
    }
    *model = report->op_model;
    return code;
}

/* ---- scenarios ------------------------------------------------------------------------------- */

struct inq_op_filter inq_op_filter_all(void)
{
    return (struct inq_op_filter){.types = INQ_ALL_TYPES, .stage = -1, .dp = -1};
}

struct run {
    const struct inq_op_study *study;
    const struct inq_op_case *cases;
};

static void fill_row(int64_t *to, const int64_t *from, int64_t constant)
{
    for (int s = 0; s < B; s++) {
        to[s] = from != NULL ? from[s] : constant;
    }
}

/* Scenario number = case * stride + step; a batch lies within one case. */
static void fill_case(void *ctx, size_t first, size_t n, int64_t *dur_ns)
{
    (void)n;
    const struct run *run = ctx;
    const struct inq_op_model *m = run->study->model;
    const struct inq_op_case *c = &run->cases[first / m->stride];
    size_t step = first % m->stride;
    for (size_t i = 0; i < m->graph->n_ops; i++) {
        const int64_t *matrix = inq_op_selected(m, &c->filter, i) ? c->in : c->out;
        fill_row(dur_ns + i * B, matrix != NULL ? matrix + i * m->stride + step : NULL,
                 run->study->ideal_ns[m->graph->op[i].type]);
    }
}

int inq_op_cases_run(const struct inq_op_study *study, const struct inq_op_case *cases,
                     size_t n_cases, int64_t *t_ns, struct inq_err *err)
{
    struct run run = {study, cases};
    return inq_simulate_many(study->model->graph, n_cases * study->model->stride, fill_case, &run,
                             study->jobs, t_ns, err);
}

struct replicas {
    const struct inq_op_study *study;
    struct inq_graph *pair; /* one replica chosen, one for all ideal ones */
};

/* The chosen replica keeps its durations; the other one is ideal. */
static void fill_replica(void *ctx, size_t first, size_t n, int64_t *dur_ns)
{
    (void)n;
    const struct replicas *r = ctx;
    const struct inq_op_model *m = r->study->model;
    size_t chosen = first / m->stride;
    size_t step = first % m->stride;
    for (size_t i = 0; i < r->pair->n_ops; i++) {
        const struct inq_graph_op *op = &r->pair->op[i];
        size_t own = m->graph->index_of[chosen * m->shape.n + op->source];
        fill_row(dur_ns + i * B, op->dp_rank == 0 ? m->dur_ns + own * m->stride + step : NULL,
                 r->study->ideal_ns[op->type]);
    }
}

int inq_op_replicas_run(const struct inq_op_study *study, int64_t *t_ns, struct inq_err *err)
{
    const struct inq_op_model *m = study->model;
    struct replicas r = {.study = study};
    size_t n_dp = m->n_dp < 2 ? m->n_dp : 2;
    int code = inq_op_template_graph(&m->shape, n_dp, &r.pair, err);
    if (code == INQ_OK) {
        code = inq_simulate_many(r.pair, m->n_dp * m->stride, fill_replica, &r, study->jobs, t_ns,
                                 err);
        inq_graph_free(r.pair);
    }
    return code;
}

int64_t inq_steps_sum(const struct inq_op_model *model, const int64_t *t_ns)
{
    int64_t sum = 0;
    for (size_t t = 0; t < model->n_steps; t++) {
        sum += t_ns[t];
    }
    return sum;
}

int64_t inq_steps_mean(const struct inq_op_model *model, const int64_t *t_ns)
{
    int64_t n = (int64_t)model->n_steps; /* a model has at least one step */
    int64_t sum = inq_steps_sum(model, t_ns);
    return n == 0 ? 0 : (sum + (sum < 0 ? -n / 2 : n / 2)) / n;
}
