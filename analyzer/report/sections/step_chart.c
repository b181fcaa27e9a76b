/* SPDX-License-Identifier: Apache-2.0 */
/* Which step is drawn, of which ranks, and what is in it. */
#include "report/sections/step_chart.h"

#include "analysis/account/account.h"
#include "base/mem.h"
#include "base/sort.h"
#include "graph/optable/optable.h"
#include "inquest/account.h"
#include "report/sections/tables.h"

/* ---- which step ------------------------------------------------------------------------------ */

static int by_length(const void *a, const void *b, void *ctx)
{
    const int64_t *length_ns = ctx;
    int64_t x = length_ns[*(const uint32_t *)a];
    int64_t y = length_ns[*(const uint32_t *)b];
    return (x > y) - (x < y);
}

/* Index of the step of median length. */
static int median_of(const int64_t *length_ns, size_t n, size_t *index, struct inq_err *err)
{
    uint32_t *order = inq_mem_alloc((n + 1) * sizeof *order);
    int64_t *lengths = inq_mem_alloc((n + 1) * sizeof *lengths);
    int code = order != NULL && lengths != NULL
                   ? INQ_OK
                   : inq_err_set(err, INQ_NOMEM, "no memory for a chart");
    for (uint32_t i = 0; code == INQ_OK && i < n; i++) {
        order[i] = i;
        lengths[i] = length_ns[i];
    }
    if (code == INQ_OK) {
        code = inq_sort(order, n, sizeof *order, by_length, lengths, err);
    }
    if (code == INQ_OK) {
        *index = order[(n - 1) / 2];
    }
    inq_mem_free(order);
    inq_mem_free(lengths);
    return code;
}

/* ---- a pipeline's step ----------------------------------------------------------------------- */

static bool is_drawn(uint8_t type)
{
    return inq_op_is_compute(type) || type == INQ_OP_OPTIMIZER;
}

static int by_start(const void *a, const void *b, void *ctx)
{
    const struct inq_chart_block *x = a;
    const struct inq_chart_block *y = b;
    (void)ctx;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* Blocks of each shown worker in step `t` of the model: row_of[worker], SIZE_MAX not shown. */
static int fill_blocks(const struct inq_context *context, const struct inq_op_model *m, size_t t,
                       const size_t *row_of, struct inq_step_chart *chart, struct inq_err *err)
{
    for (size_t i = 0; i < m->graph->n_ops; i++) {
        size_t row = row_of[inq_op_worker(m, i)];
        if (row != SIZE_MAX && is_drawn(m->graph->op[i].type)) {
            chart->rows[row].n++;
        }
    }
    for (size_t r = 0; r < chart->n_rows; r++) {
        struct inq_chart_row *row = &chart->rows[r];
        row->blocks = inq_arena_array(context->arena, row->n, sizeof *row->blocks);
        row->n = 0;
        if (row->blocks == NULL) {
            return inq_err_set(err, INQ_NOMEM, "no memory for a chart");
        }
    }
    for (size_t i = 0; i < m->graph->n_ops; i++) {
        const struct inq_graph_op *op = &m->graph->op[i];
        size_t row = row_of[inq_op_worker(m, i)];
        if (row == SIZE_MAX || !is_drawn(op->type)) {
            continue;
        }
        chart->rows[row].blocks[chart->rows[row].n++] = (struct inq_chart_block){
            m->origin_ns[t] + m->start_ns[i * m->stride + t],
            m->origin_ns[t] + m->end_ns[i * m->stride + t], op->micro_batch, op->type};
    }
    int code = INQ_OK;
    for (size_t r = 0; r < chart->n_rows && code == INQ_OK; r++) {
        struct inq_chart_row *row = &chart->rows[r];
        code = inq_sort(row->blocks, row->n, sizeof *row->blocks, by_start, NULL, err);
        for (size_t i = 1; i < row->n; i++) { /* times are rounded */
            if (row->blocks[i - 1].end_ns > row->blocks[i].start_ns) {
                row->blocks[i - 1].end_ns = row->blocks[i].start_ns;
            }
        }
    }
    return code;
}

/* Begin and end of all that is drawn. */
static void find_extent(struct inq_step_chart *chart)
{
    bool any = false;
    for (size_t r = 0; r < chart->n_rows; r++) {
        const struct inq_chart_row *row = &chart->rows[r];
        for (size_t i = 0; i < row->n; i++) {
            const struct inq_chart_block *b = &row->blocks[i];
            chart->start_ns = any && chart->start_ns < b->start_ns ? chart->start_ns : b->start_ns;
            chart->end_ns = any && chart->end_ns > b->end_ns ? chart->end_ns : b->end_ns;
            any = true;
        }
    }
}

/* Of the steps of the model, the one with this number; n_steps: set aside, or not recorded. */
static size_t step_numbered(const struct inq_op_model *m, int64_t number)
{
    size_t t = 0;
    while (t < m->n_steps && m->step[t] != number) {
        t++;
    }
    return t;
}

static int draw_pipeline(const struct inq_context *context, size_t t, const bool *picked,
                         struct inq_step_chart *chart, struct inq_err *err)
{
    const struct inq_op_model *m = context->report->op_model;
    size_t workers = m->n_dp * m->n_stages;
    size_t *row_of = inq_arena_array(context->arena, workers, sizeof *row_of);
    chart->rows = inq_arena_array(context->arena, workers, sizeof *chart->rows);
    if (row_of == NULL || chart->rows == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for a chart");
    }
    for (size_t w = 0; w < workers; w++) {
        row_of[w] = picked[m->worker_rank[w]] ? chart->n_rows : SIZE_MAX;
        if (row_of[w] != SIZE_MAX) {
            chart->rows[chart->n_rows++] =
                (struct inq_chart_row){.rank = m->worker_rank[w],
                                       .stage = m->stage_number[w % m->n_stages],
                                       .dp_rank = m->dp_number[w / m->n_stages]};
        }
    }
    chart->pipeline = true;
    chart->step = m->step[t];
    int code = fill_blocks(context, m, t, row_of, chart, err);
    find_extent(chart);
    return code;
}

static bool has_pipeline(const struct inq_context *context)
{
    return context->report->pipeline != NULL && context->report->op_model != NULL;
}

int inq_step_chart_pipeline(const struct inq_context *context, int64_t step, const bool *picked,
                            struct inq_step_chart *chart, struct inq_err *err)
{
    const struct inq_op_model *m = context->report->op_model;
    *chart = (struct inq_step_chart){.step = step};
    size_t t = has_pipeline(context) ? step_numbered(m, step) : 0;
    return has_pipeline(context) && t < m->n_steps ? draw_pipeline(context, t, picked, chart, err)
                                                   : INQ_OK;
}

static int pipeline_step(const struct inq_context *context, const bool *picked,
                         struct inq_step_chart *chart, struct inq_err *err)
{
    const struct inq_critical_path *path = context->report->critical_path;
    const struct inq_op_model *m = context->report->op_model;
    size_t median = 0;
    int code = median_of(m->recorded_ns, m->n_steps, &median, err);
    size_t t = path != NULL ? step_numbered(m, path->step) : m->n_steps;
    return code == INQ_OK ? draw_pipeline(context, t < m->n_steps ? t : median, picked, chart, err)
                          : code;
}

/* ---- any other run's step -------------------------------------------------------------------- */

static void widen(struct inq_step_chart *chart, bool *any, int64_t start_ns, int64_t end_ns)
{
    chart->start_ns = *any && chart->start_ns < start_ns ? chart->start_ns : start_ns;
    chart->end_ns = *any && chart->end_ns > end_ns ? chart->end_ns : end_ns;
    *any = true;
}

/* From the first start to the last end of the step's GPU work over all ranks. */
static void find_work(const struct inq_trace *trace, uint32_t step, struct inq_step_chart *chart)
{
    bool any = false;
    for (size_t r = 0; r < trace->n_ranks; r++) {
        const struct inq_events *e = &trace->ranks[r].events;
        struct inq_interval span;
        for (size_t i = 0; i < e->n && step != INQ_NONE; i++) {
            bool work = e->kind[i] == INQ_EVENT_KERNEL || e->kind[i] == INQ_EVENT_MEMCPY ||
                        e->kind[i] == INQ_EVENT_MEMSET || e->kind[i] == INQ_EVENT_OP;
            if (e->step[i] == step && work) {
                widen(chart, &any, e->start_ns[i], e->start_ns[i] + e->dur_ns[i]);
            }
        }
        if (step == INQ_NONE && inq_rank_work_span(&trace->ranks[r], &span)) {
            widen(chart, &any, span.start, span.end);
        }
    }
}

static int plain_step(const struct inq_context *context, const bool *picked,
                      struct inq_step_chart *chart, struct inq_err *err)
{
    const struct inq_trace *trace = context->trace;
    const struct inq_critical_path *path = context->report->critical_path;
    uint32_t step = INQ_NONE;
    int code = INQ_OK;
    chart->rows = inq_arena_array(context->arena, trace->n_ranks, sizeof *chart->rows);
    if (chart->rows == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for a chart");
    }
    if (trace->n_steps > 0 && context->report->account != NULL) {
        step = inq_account_median_step(context->report->account);
        for (uint32_t s = 0; s < trace->n_steps && path != NULL; s++) {
            step = trace->steps[s].number == path->step ? s : step;
        }
        chart->step = step != INQ_NONE ? trace->steps[step].number : -1;
        chart->apart = step != INQ_NONE && inq_step_is_apart(trace, step);
    }
    find_work(trace, step, chart);
    for (uint32_t i = 0; i < context->report->n_rank_times; i++) {
        uint32_t r = context->report->rank_times[i].rank;
        if (picked[r]) {
            chart->rows[chart->n_rows++] =
                (struct inq_chart_row){.rank = r, .stage = trace->ranks[r].stage, .dp_rank = -1};
        }
    }
    return code;
}

int inq_step_chart_make(const struct inq_context *context, size_t most,
                        struct inq_step_chart *chart, struct inq_err *err)
{
    const struct inq_report *report = context->report;
    *chart = (struct inq_step_chart){.step = -1};
    bool pipeline = has_pipeline(context);
    if (!pipeline && report->n_rank_times == 0) {
        return INQ_OK;
    }
    const bool *picked = inq_pick_ranks(context, most, &chart->left_out);
    if (picked == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for a chart");
    }
    int code = pipeline ? pipeline_step(context, picked, chart, err)
                        : plain_step(context, picked, chart, err);
    if (chart->end_ns <= chart->start_ns) {
        chart->n_rows = 0;
    }
    return code;
}

int inq_step_chart_line(const struct inq_context *context, const struct inq_step_chart *chart,
                        const struct inq_chart_row *row, size_t columns, char *line,
                        struct inq_err *err)
{
    struct inq_interval *windows = inq_mem_zalloc(columns + 1, sizeof *windows);
    struct inq_rank_time *times = inq_mem_zalloc(columns + 1, sizeof *times);
    int64_t span_ns = chart->end_ns - chart->start_ns;
    int code = windows != NULL && times != NULL
                   ? INQ_OK
                   : inq_err_set(err, INQ_NOMEM, "no memory for a chart");
    size_t n = 0;
    for (size_t c = 0; c < columns && code == INQ_OK; c++) {
        int64_t end_ns =
            c + 1 == columns
                ? chart->end_ns
                : chart->start_ns + (int64_t)((double)span_ns / (double)columns * (double)(c + 1));
        int64_t start_ns = n > 0 ? windows[n - 1].end : chart->start_ns;
        if (end_ns > start_ns) { /* a step may have fewer nanoseconds than there are columns */
            windows[n++] = (struct inq_interval){start_ns, end_ns};
        }
    }
    if (code == INQ_OK) {
        code = inq_rank_time_windows(&context->trace->ranks[row->rank], windows, n, times, err);
    }
    for (size_t c = 0; c < n && code == INQ_OK; c++) {
        const int64_t parts_ns[] = {times[c].compute_ns, times[c].exposed_comm_ns,
                                    times[c].exposed_memcpy_ns, times[c].idle_ns};
        int best = 0;
        for (int p = 1; p < 4; p++) {
            best = parts_ns[p] > parts_ns[best] ? p : best;
        }
        line[c] = "#=-."[best];
    }
    line[n] = '\0';
    inq_mem_free(windows);
    inq_mem_free(times);
    return code;
}
