/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/optable/model.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/sort.h"
#include "base/stats.h"
#include "trace/build/build.h"
#include "trace/trace.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Clocks of peers disagree: what ends this much before its last member arrived took no time. */
static const int64_t clock_limit_ns = 10000000;

/* ---- labeled ops of a whole trace as one table of rows ----------------------------------------
 */

static void release_rows(struct inq_op_rows *rows)
{
    inq_mem_free(rows->row);
    inq_mem_free(rows->step_number);
    inq_mem_free(rows->stage_number);
    inq_mem_free(rows->dp_number);
    inq_mem_free(rows->origin_ns);
    inq_mem_free(rows->length_ns);
    *rows = (struct inq_op_rows){0};
}

/* Sequence number of a row that has none: forward and backward of one micro-batch and chunk are
 * unique among their type; the first of anything else is all there is. */
static int32_t seq_of(const struct inq_label *label)
{
    const int32_t chunk_shift = 20;
    if (label->seq >= 0) {
        return label->seq;
    }
    int32_t micro_batch = label->micro_batch >= 0 ? label->micro_batch : 0;
    int32_t chunk = label->chunk > 0 && label->chunk < 1024 ? label->chunk : 0;
    return (chunk << chunk_shift) + (micro_batch & ((1 << chunk_shift) - 1));
}

/* The label of a rank's event; NULL: it has none, or times whose differences could overflow. */
static const struct inq_label *label_of(const struct inq_rank *rank, size_t event)
{
    const int64_t far = (int64_t)1 << 60;
    const struct inq_events *e = &rank->events;
    bool near = e->start_ns[event] >= -far && e->start_ns[event] <= far &&
                e->dur_ns[event] >= -far && e->dur_ns[event] <= far;
    return near && e->label[event] != INQ_NONE ? &rank->labels[e->label[event]] : NULL;
}

/* ---- recorded numbers to dense indices ---------------------------------------------------- */

/* The numbers of a column in the order in which they come. */
struct numbers {
    int32_t *number;
    size_t n, cap;
    struct inq_map place;
    uint32_t last; /* place of the number asked for last */
};

/* The number's place. */
static int place_of(struct numbers *numbers, int32_t number, uint32_t *place, struct inq_err *err)
{
    int code = INQ_OK;
    if ((numbers->n == 0 || numbers->number[numbers->last] != number) &&
        !inq_map_get(&numbers->place, (uint32_t)number, &numbers->last)) {
        code = inq_mem_grow(&numbers->number, &numbers->cap, numbers->n + 1,
                            sizeof *numbers->number, INQ_MAX_ROWS, err);
        if (code == INQ_OK) {
            numbers->last = (uint32_t)numbers->n;
            numbers->number[numbers->n++] = number;
            code = inq_map_put(&numbers->place, (uint32_t)number, numbers->last, err);
        }
    }
    *place = numbers->last;
    return code;
}

static int compare_i32(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a;
    int32_t y = *(const int32_t *)b;
    return x < y ? -1 : x > y;
}

static bool ascend(const struct numbers *numbers)
{
    size_t i = 1;
    while (i < numbers->n && numbers->number[i - 1] < numbers->number[i]) {
        i++;
    }
    return i >= numbers->n;
}

/* The numbers ascending, and with them the places in the rows, whose column begins `offset` bytes
 * into a row. */
static int put_in_order(struct numbers *numbers, struct inq_op_rows *rows, size_t offset,
                        struct inq_err *err)
{
    if (ascend(numbers)) {
        return INQ_OK;
    }
    int32_t *came = inq_mem_alloc(numbers->n * sizeof *came);
    uint32_t *place = inq_mem_alloc(numbers->n * sizeof *place);
    if (came == NULL || place == NULL) {
        inq_mem_free(came);
        inq_mem_free(place);
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu numbers", numbers->n);
    }
    memcpy(came, numbers->number, numbers->n * sizeof *came);
    qsort(numbers->number, numbers->n, sizeof *numbers->number, compare_i32);
    for (size_t k = 0; k < numbers->n; k++) {
        const int32_t *at = bsearch(&came[k], numbers->number, numbers->n, sizeof *at, compare_i32);
        place[k] = (uint32_t)(at - numbers->number);
    }
    for (size_t i = 0; i < rows->n; i++) {
        uint32_t *cell = (uint32_t *)(void *)((char *)&rows->row[i] + offset);
        *cell = place[*cell];
    }
    inq_mem_free(came);
    inq_mem_free(place);
    return INQ_OK;
}

/* ---- rows ------------------------------------------------------------------------------------ */

struct labeled {
    struct inq_op_rows *rows;
    struct numbers steps, stages, dps;
    bool has_other; /* something of no type is recorded in a step, too */
};

static int add_row(struct labeled *x, const struct inq_rank *rank, const struct inq_label *label,
                   struct inq_step_op row, struct inq_err *err)
{
    int32_t stage = label->stage >= 0 ? label->stage : rank->stage;
    int32_t dp = label->dp_rank >= 0 ? label->dp_rank : rank->dp_rank;
    int code = place_of(&x->steps, label->step, &row.step, err);
    if (code == INQ_OK) {
        code = place_of(&x->stages, stage >= 0 ? stage : 0, &row.stage, err);
    }
    if (code == INQ_OK) {
        code = place_of(&x->dps, dp >= 0 ? dp : 0, &row.dp, err);
    }
    row.seq = seq_of(label);
    row.micro_batch = label->micro_batch;
    row.chunk = label->chunk;
    row.type = (uint8_t)label->type;
    x->rows->row[x->rows->n++] = row; /* there is room for all events */
    return code;
}

static int add_rank(struct labeled *x, const struct inq_trace *trace, uint32_t rank,
                    struct inq_err *err)
{
    const struct inq_rank *r = &trace->ranks[rank];
    const struct inq_events *e = &r->events;
    int code = INQ_OK;
    for (size_t i = 0; code == INQ_OK && e->label != NULL && i < e->n; i++) {
        const struct inq_label *label = label_of(r, i);
        x->has_other = x->has_other || (label != NULL && label->type == INQ_OP_NONE);
        if (label != NULL && label->type != INQ_OP_NONE && label->type < INQ_OP_TYPE_COUNT) {
            struct inq_step_op row = {.start_ns = e->start_ns[i],
                                      .end_ns = e->start_ns[i] + e->dur_ns[i],
                                      .rank = rank,
                                      .event = (uint32_t)i};
            code = add_row(x, r, label, row, err);
        }
    }
    return code;
}

/* Widens the steps by what the rank recorded in them besides the rows: data loading comes before
 * the first forward pass. */
static bool widen_steps(const struct inq_rank *rank, struct inq_op_rows *rows)
{
    bool wider = false;
    for (size_t i = 0; rows->n_steps > 0 && rank->events.label != NULL && i < rank->events.n; i++) {
        const struct inq_label *label = label_of(rank, i);
        const int32_t *number = label == NULL
                                    ? NULL
                                    : bsearch(&label->step, rows->step_number, rows->n_steps,
                                              sizeof label->step, compare_i32);
        if (number == NULL) {
            continue;
        }
        size_t step = (size_t)(number - rows->step_number);
        int64_t start_ns = rank->events.start_ns[i];
        int64_t end_ns = start_ns + rank->events.dur_ns[i];
        wider = wider || label->type == INQ_OP_NONE;
        rows->origin_ns[step] = start_ns < rows->origin_ns[step] ? start_ns : rows->origin_ns[step];
        /* the ends, until all are known */
        rows->length_ns[step] = end_ns > rows->length_ns[step] ? end_ns : rows->length_ns[step];
    }
    return wider;
}

/* When each step began and how long it took, where ops of other types are recorded in them. */
static int find_steps(const struct inq_trace *trace, struct inq_op_rows *rows, struct inq_err *err)
{
    bool wider = false;
    rows->origin_ns = inq_mem_alloc((rows->n_steps + 1) * sizeof *rows->origin_ns);
    rows->length_ns = inq_mem_alloc((rows->n_steps + 1) * sizeof *rows->length_ns);
    if (rows->origin_ns == NULL || rows->length_ns == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu steps", rows->n_steps);
    }
    for (size_t s = 0; s < rows->n_steps; s++) {
        rows->origin_ns[s] = INT64_MAX;
        rows->length_ns[s] = INT64_MIN;
    }
    for (size_t r = 0; r < trace->n_ranks; r++) {
        wider = widen_steps(&trace->ranks[r], rows) || wider;
    }
    for (size_t s = 0; wider && s < rows->n_steps; s++) {
        rows->length_ns[s] -= rows->origin_ns[s];
    }
    if (!wider) { /* the rows themselves tell */
        inq_mem_free(rows->origin_ns);
        inq_mem_free(rows->length_ns);
        rows->origin_ns = NULL;
        rows->length_ns = NULL;
    }
    return INQ_OK;
}

/* Gives the rows what is dense. */
static int finish_rows(struct labeled *x, struct inq_err *err)
{
    struct inq_op_rows *rows = x->rows;
    int code = put_in_order(&x->steps, rows, offsetof(struct inq_step_op, step), err);
    if (code == INQ_OK) {
        code = put_in_order(&x->stages, rows, offsetof(struct inq_step_op, stage), err);
    }
    if (code == INQ_OK) {
        code = put_in_order(&x->dps, rows, offsetof(struct inq_step_op, dp), err);
    }
    rows->step_number = x->steps.number;
    rows->n_steps = x->steps.n;
    rows->stage_number = x->stages.number;
    rows->n_stages = x->stages.n;
    rows->dp_number = x->dps.number;
    rows->n_dp = x->dps.n;
    return code;
}

/* The ops of an op table: every event with a label. None is a success with n == 0. Fails with
 * INQ_NOMEM, INQ_LIMIT. Release on failure too. */
static int rows_from_labels(const struct inq_trace *trace, struct inq_op_rows *rows,
                            struct inq_err *err)
{
    struct labeled x = {.rows = rows};
    size_t n = 0;
    for (uint32_t r = 0; r < trace->n_ranks; r++) {
        n += trace->ranks[r].events.label != NULL ? trace->ranks[r].events.n : 0;
    }
    int code = inq_mem_grow(&rows->row, &rows->cap, n, sizeof *rows->row, INQ_MAX_ROWS, err);
    rows->source = "labels";
    for (uint32_t r = 0; code == INQ_OK && r < trace->n_ranks; r++) {
        code = add_rank(&x, trace, r, err);
    }
    int finished = finish_rows(&x, err);
    code = code == INQ_OK ? finished : code;
    inq_map_release(&x.steps.place);
    inq_map_release(&x.stages.place);
    inq_map_release(&x.dps.place);
    return code == INQ_OK && x.has_other ? find_steps(trace, rows, err) : code;
}

/* ---- the model ------------------------------------------------------------------------------- */

void inq_op_model_free(struct inq_op_model *model)
{
    if (model == NULL) {
        return;
    }
    inq_op_template_release(&model->shape);
    inq_graph_free(model->graph);
    inq_mem_free(model->step);
    inq_mem_free(model->origin_ns);
    inq_mem_free(model->recorded_ns);
    inq_mem_free(model->tail_ns);
    inq_mem_free(model->warm_step);
    inq_mem_free(model->warm_ns);
    inq_mem_free(model->stage_number);
    inq_mem_free(model->dp_number);
    inq_mem_free(model->worker_rank);
    inq_mem_free(model->start_ns);
    inq_mem_free(model->end_ns);
    inq_mem_free(model->dur_ns);
    inq_mem_free(model->delay_ns);
    inq_mem_free(model->event);
    inq_mem_free(model);
}

/* ---- which step is the pattern -------------------------------------------------------------- */

/* Number of rows of the pattern step: the commonest, of equally common ones the largest. Reorders
 * `count`. */
static int64_t commonest(int64_t *count, size_t n)
{
    int64_t best = 0;
    size_t best_votes = 0;
    inq_sort_i64(count, n);
    for (size_t i = 0; i < n;) {
        size_t from = i;
        while (i < n && count[i] == count[from]) {
            i++;
        }
        if (i - from >= best_votes) {
            best = count[from];
            best_votes = i - from;
        }
    }
    return best;
}

/* The first step of the commonest size; its rows of the first replica become the shape. */
static int make_shape(const struct inq_op_rows *rows, struct inq_op_model *m, struct inq_err *err)
{
    int64_t *count = inq_mem_zalloc(2 * rows->n_steps, sizeof *count);
    struct inq_step_op *own = inq_mem_alloc(rows->n * sizeof *own);
    int code = INQ_OK;
    if (count == NULL || own == NULL) {
        code = inq_err_set(err, INQ_NOMEM, "out of memory for %zu ops", rows->n);
        goto out;
    }
    for (size_t i = 0; i < rows->n; i++) {
        count[rows->row[i].step]++;
    }
    int64_t *sorted = count + rows->n_steps;
    memcpy(sorted, count, rows->n_steps * sizeof *count);
    int64_t size = commonest(sorted, rows->n_steps);
    size_t pattern = 0;
    while (count[pattern] != size) {
        pattern++;
    }
    size_t n = 0;
    for (size_t i = 0; i < rows->n; i++) {
        if (rows->row[i].step == pattern && rows->row[i].dp == 0) {
            own[n++] = rows->row[i];
        }
    }
    m->shape.recv_in_order = rows->length_ns != NULL;
    code = inq_op_template_make(own, n, rows->n_stages, &m->shape, err);
out:
    inq_mem_free(count);
    inq_mem_free(own);
    return code;
}

/* ---- filling the matrices -------------------------------------------------------------------- */

static uint64_t op_key(const struct inq_step_op *row)
{
    return (uint64_t)row->type << 56 | (uint64_t)(row->stage & 0xffffff) << 32 | (uint32_t)row->seq;
}

static int alloc_steps(const struct inq_op_rows *rows, struct inq_op_model *m, struct inq_err *err)
{
    size_t n = rows->n_steps;
    m->n_steps = n;
    m->stride = (n + INQ_SIM_BATCH - 1) / INQ_SIM_BATCH * INQ_SIM_BATCH;
    size_t cells = m->graph->n_ops * m->stride;
    m->step = inq_mem_zalloc(n, sizeof *m->step);
    m->origin_ns = inq_mem_zalloc(n, sizeof *m->origin_ns);
    m->recorded_ns = inq_mem_zalloc(n, sizeof *m->recorded_ns);
    m->tail_ns = inq_mem_zalloc(n, sizeof *m->tail_ns);
    m->worker_rank = inq_mem_zalloc(m->n_dp * m->n_stages, sizeof *m->worker_rank);
    m->start_ns = inq_mem_zalloc(cells, sizeof *m->start_ns);
    m->end_ns = inq_mem_zalloc(cells, sizeof *m->end_ns);
    m->dur_ns = inq_mem_zalloc(cells, sizeof *m->dur_ns);
    m->delay_ns = inq_mem_zalloc(cells, sizeof *m->delay_ns);
    m->event = inq_mem_zalloc(cells, sizeof *m->event);
    if (m->step == NULL || m->origin_ns == NULL || m->recorded_ns == NULL || m->tail_ns == NULL ||
        m->worker_rank == NULL || m->start_ns == NULL || m->end_ns == NULL || m->dur_ns == NULL ||
        m->delay_ns == NULL || m->event == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu steps of %zu ops", n,
                           m->graph->n_ops);
    }
    return INQ_OK;
}

/* Puts each row into its cell; filled[step] counts the cells, SIZE_MAX marks a step with a row that
 * has no place or no place left. */
static int place_rows(const struct inq_op_rows *rows, struct inq_op_model *m, size_t *filled,
                      struct inq_err *err)
{
    struct inq_map place = {0};
    int code = INQ_OK;
    for (size_t i = 0; code == INQ_OK && i < m->shape.n; i++) {
        code = inq_map_put(&place, op_key(&m->shape.op[i]), (uint32_t)i, err);
    }
    memset(m->event, 0xff, m->graph->n_ops * m->stride * sizeof *m->event); /* INQ_NONE */
    for (size_t i = 0; code == INQ_OK && i < rows->n; i++) {
        const struct inq_step_op *row = &rows->row[i];
        uint32_t own = 0;
        if (filled[row->step] == SIZE_MAX) {
            continue;
        }
        size_t cell = 0;
        bool fits = inq_map_get(&place, op_key(row), &own);
        if (fits) {
            cell = (size_t)m->graph->index_of[row->dp * m->shape.n + own] * m->stride + row->step;
            fits = m->event[cell] == INQ_NONE;
        }
        if (!fits) {
            filled[row->step] = SIZE_MAX;
            continue;
        }
        m->start_ns[cell] = row->start_ns;
        m->end_ns[cell] = row->end_ns;
        m->event[cell] = row->event != INQ_NONE ? row->event : INQ_NONE - 1; /* placed */
        m->worker_rank[row->dp * m->n_stages + row->stage] = row->rank;
        filled[row->step]++;
    }
    inq_map_release(&place);
    return code;
}

/* Closes up the columns of the steps that stay. */
static void keep_steps(struct inq_op_model *m, const uint8_t *keep)
{
    size_t kept = 0;
    for (size_t t = 0; t < m->n_steps; t++) {
        if (!keep[t]) {
            continue;
        }
        for (size_t i = 0; kept != t && i < m->graph->n_ops; i++) {
            size_t row = i * m->stride;
            m->start_ns[row + kept] = m->start_ns[row + t];
            m->end_ns[row + kept] = m->end_ns[row + t];
            m->dur_ns[row + kept] = m->dur_ns[row + t];
            m->delay_ns[row + kept] = m->delay_ns[row + t];
            m->event[row + kept] = m->event[row + t];
        }
        m->step[kept] = m->step[t];
        m->recorded_ns[kept] = m->recorded_ns[t];
        m->tail_ns[kept] = m->tail_ns[t];
        m->origin_ns[kept++] = m->origin_ns[t];
    }
    m->n_steps = kept;
}

/* Each step's begin and its length. What a recorded step took beyond its last op is its tail. An op
 * that began before its step (a receive posted in the step before) begins none. */
static int find_origins(const struct inq_op_rows *rows, struct inq_op_model *m, struct inq_err *err)
{
    int64_t *first = inq_mem_alloc(2 * (m->n_steps + 1) * sizeof *first);
    if (first == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu steps", m->n_steps);
    }
    int64_t *last = first + m->n_steps;
    for (size_t t = 0; t < m->n_steps; t++) {
        first[t] = INT64_MAX;
        last[t] = INT64_MIN;
    }
    for (size_t i = 0; i < m->graph->n_ops; i++) {
        for (size_t t = 0; t < m->n_steps; t++) {
            size_t cell = i * m->stride + t;
            first[t] = m->start_ns[cell] < first[t] ? m->start_ns[cell] : first[t];
            last[t] = m->end_ns[cell] > last[t] ? m->end_ns[cell] : last[t];
        }
    }
    for (size_t t = 0; t < m->n_steps; t++) {
        bool known = rows->origin_ns != NULL && m->origin_ns[t] < last[t];
        m->origin_ns[t] = known ? m->origin_ns[t] : first[t];
        int64_t length = last[t] - m->origin_ns[t];
        m->tail_ns[t] = known && m->recorded_ns[t] > length ? m->recorded_ns[t] - length : 0;
        m->recorded_ns[t] = length + m->tail_ns[t];
    }
    inq_mem_free(first);
    return INQ_OK;
}

/* Times from each step's origin. */
static void shift_to_origins(struct inq_op_model *m)
{
    for (size_t i = 0; i < m->graph->n_ops; i++) {
        for (size_t t = 0; t < m->stride; t++) {
            size_t cell = i * m->stride + t;
            int64_t start_ns = t < m->n_steps ? m->start_ns[cell] - m->origin_ns[t] : 0;
            int64_t end_ns = t < m->n_steps ? m->end_ns[cell] - m->origin_ns[t] : 0;
            m->start_ns[cell] = start_ns > 0 ? start_ns : 0;
            m->end_ns[cell] = end_ns > 0 ? end_ns : 0;
        }
    }
}

/* `keep` is scratch [n_steps]. */
static int set_warm_up_aside(struct inq_op_model *m, uint8_t *keep, struct inq_err *err)
{
    m->warm_step = inq_mem_zalloc(m->n_steps, sizeof *m->warm_step);
    m->warm_ns = inq_mem_alloc(m->n_steps * sizeof *m->warm_ns);
    if (m->warm_step == NULL || m->warm_ns == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu steps", m->n_steps);
    }
    size_t n = inq_warm_up_steps(m->recorded_ns, m->n_steps, m->warm_ns);
    for (size_t t = 0; t < m->n_steps; t++) {
        keep[t] = t >= n;
    }
    memcpy(m->warm_step, m->step, n * sizeof *m->step);
    memcpy(m->warm_ns, m->recorded_ns, n * sizeof *m->warm_ns);
    m->n_warm_up = n;
    keep_steps(m, keep);
    return INQ_OK;
}

static int64_t above_limit(int64_t ns)
{
    return ns <= -clock_limit_ns ? 0 : ns;
}

/* Durations of the members of a group (or of an op alone) that begins at op `first`. */
static void find_durations(struct inq_op_model *m, size_t first, bool grouped)
{
    size_t end = first + m->graph->members[first];
    for (size_t t = 0; t < m->n_steps; t++) {
        int64_t arrival = INT64_MIN;
        for (size_t k = first; k < end; k++) {
            int64_t start = m->start_ns[k * m->stride + t];
            arrival = start > arrival ? start : arrival;
        }
        for (size_t k = first; k < end; k++) {
            int64_t took = m->end_ns[k * m->stride + t] - arrival;
            m->dur_ns[k * m->stride + t] = grouped ? above_limit(took) : took;
        }
    }
}

/* How long an op waited for nothing recorded. */
static void find_delays(struct inq_op_model *m, size_t i)
{
    const struct inq_graph *g = m->graph;
    for (size_t t = 0; t < m->n_steps; t++) {
        int64_t ready = g->dep_start[i] == g->dep_start[i + 1] ? 0 : INT64_MIN;
        for (uint32_t d = g->dep_start[i]; d < g->dep_start[i + 1]; d++) {
            int64_t end = m->end_ns[(size_t)g->deps[d] * m->stride + t];
            ready = end > ready ? end : ready;
        }
        m->delay_ns[i * m->stride + t] = above_limit(m->start_ns[i * m->stride + t] - ready);
    }
}

/* Sums over all ops and steps must stay far from overflow, whatever the record says, and so must
 * times within a step (INQ_OP_MODEL_MOST_NS). */
static bool sums_are_safe(const struct inq_op_model *m)
{
    const uint64_t most = (uint64_t)1 << 60;
    uint64_t sum = 0;
    for (size_t i = 0; i < m->graph->n_ops * m->stride; i++) {
        int64_t dur = m->dur_ns[i];
        int64_t delay = m->delay_ns[i];
        uint64_t more = (uint64_t)(dur < 0 ? -dur : dur) + (uint64_t)(delay < 0 ? -delay : delay);
        sum += more;
        if (more > most || sum > most || m->end_ns[i] > INQ_OP_MODEL_MOST_NS) {
            return false;
        }
    }
    return true;
}

static void fill_durations(struct inq_op_model *m)
{
    const struct inq_graph *g = m->graph;
    for (size_t i = 0; i < g->n_ops; i += g->members[i]) {
        find_durations(m, i, m->shape.group[g->op[i].source] != INQ_NONE);
    }
    for (size_t i = 0; i < g->n_ops; i++) {
        find_delays(m, i);
    }
    if (!sums_are_safe(m)) {
        m->n_dropped += m->n_steps;
        m->n_steps = 0;
    }
}

static int fill_model(const struct inq_op_rows *rows, struct inq_op_model *m, struct inq_err *err)
{
    size_t *filled = inq_mem_zalloc(rows->n_steps, sizeof *filled);
    uint8_t *keep = inq_mem_zalloc(rows->n_steps, sizeof *keep);
    if (filled == NULL || keep == NULL) {
        inq_mem_free(filled);
        inq_mem_free(keep);
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu steps", rows->n_steps);
    }
    int code = alloc_steps(rows, m, err);
    if (code == INQ_OK) {
        code = place_rows(rows, m, filled, err);
    }
    if (code == INQ_OK) {
        for (size_t t = 0; t < m->n_steps; t++) {
            m->step[t] = rows->step_number[t];
            m->origin_ns[t] = rows->origin_ns != NULL ? rows->origin_ns[t] : 0;
            m->recorded_ns[t] = rows->length_ns != NULL ? rows->length_ns[t] : 0;
            keep[t] = filled[t] == m->graph->n_ops;
        }
        keep_steps(m, keep);
        m->n_dropped = rows->n_steps - m->n_steps;
        code = find_origins(rows, m, err);
    }
    if (code == INQ_OK) {
        code = set_warm_up_aside(m, keep, err);
    }
    if (code == INQ_OK) {
        shift_to_origins(m);
        fill_durations(m);
    }
    inq_mem_free(filled);
    inq_mem_free(keep);
    return code;
}

/* Of rows, which are consumed. */
static int model_of_rows(struct inq_op_rows *rows, struct inq_op_model **model, struct inq_err *err)
{
    *model = NULL;
    if (rows->n == 0) {
        return INQ_OK;
    }
    struct inq_op_model *m = inq_mem_zalloc(1, sizeof *m);
    if (m == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for the op model");
    }
    m->n_stages = rows->n_stages;
    m->n_dp = rows->n_dp;
    m->source = rows->source;
    m->stage_number = rows->stage_number;
    m->dp_number = rows->dp_number;
    rows->stage_number = NULL;
    rows->dp_number = NULL;
    int code = make_shape(rows, m, err);
    /* a complete step has every op of every replica */
    bool possible = m->shape.n >= m->n_stages && m->n_dp <= rows->n / (m->shape.n + 1) + 1 &&
                    m->shape.n * m->n_dp <= rows->n;
    if (code == INQ_OK && m->shape.n > 0 && possible) {
        struct inq_err own = {0};
        code = inq_op_template_graph(&m->shape, m->n_dp, &m->graph, &own);
        if (code == INQ_DEADLOCK) { /* the labels contradict themselves: there is no model */
            code = INQ_OK;
        } else if (code != INQ_OK && err != NULL) {
            *err = own;
        }
    }
    if (code == INQ_OK && m->graph != NULL) {
        code = fill_model(rows, m, err);
    }
    if (code != INQ_OK || m->n_steps == 0) {
        inq_op_model_free(m);
        return code;
    }
    *model = m;
    return INQ_OK;
}

/* What the last op of a step leaves of `length_ns`. */
static int64_t tail_of(const struct inq_op_model *m, size_t t, int64_t length_ns)
{
    int64_t last_ns = 0;
    for (size_t i = 0; i < m->graph->n_ops; i++) {
        int64_t end_ns = m->end_ns[i * m->stride + t];
        last_ns = end_ns > last_ns ? end_ns : last_ns;
    }
    return length_ns > last_ns ? length_ns - last_ns : 0;
}

int inq_op_model_set_steps(struct inq_op_model *m, const struct inq_op_model_step *steps, size_t n,
                           bool *any, struct inq_err *err)
{
    uint8_t *keep = inq_mem_zalloc(m->n_steps + 1, sizeof *keep);
    if (keep == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu steps", m->n_steps);
    }
    size_t k = 0;
    size_t kept = 0;
    for (size_t t = 0; t < m->n_steps; t++) { /* both ascend */
        while (k < n && steps[k].number < m->step[t]) {
            k++;
        }
        keep[t] = k < n && steps[k].number == m->step[t];
        kept += keep[t];
    }
    *any = kept > 0;
    if (*any) {
        m->n_dropped += m->n_steps - kept;
        keep_steps(m, keep);
    }
    k = 0;
    for (size_t t = 0; *any && t < m->n_steps; t++) {
        while (steps[k].number < m->step[t]) {
            k++;
        }
        m->recorded_ns[t] = steps[k].length_ns;
        m->tail_ns[t] = tail_of(m, t, steps[k].length_ns);
    }
    inq_mem_free(keep);
    return INQ_OK;
}

/* Of a recorded run. Steps must have the same rows to be one model; where windows cut them, or
 * receives were posted in the step before, transfers are not the same in most: then passes
 * alone may be, with the ways that kernels themselves tell. */
static int model_of_run(const struct inq_trace *trace, struct inq_op_model **model,
                        struct inq_err *err)
{
    struct inq_op_rows rows = {0};
    struct inq_op_model *passes = NULL;
    int code = inq_op_rows_from_run(trace, true, &rows, err);
    size_t half = rows.n_steps / 2;
    bool pipelines = rows.pipelines;
    code = code == INQ_OK ? model_of_rows(&rows, model, err) : code;
    release_rows(&rows);
    if (code != INQ_OK || !pipelines || (*model != NULL && (*model)->n_steps > half)) {
        return code;
    }
    code = inq_op_rows_from_run(trace, false, &rows, err);
    code = code == INQ_OK ? model_of_rows(&rows, &passes, err) : code;
    release_rows(&rows);
    if (passes != NULL && (*model == NULL || passes->n_steps > (*model)->n_steps)) {
        inq_op_model_free(*model);
        *model = passes;
    } else {
        inq_op_model_free(passes);
    }
    return code;
}

int inq_op_model_make(const struct inq_trace *trace, struct inq_op_model **model,
                      struct inq_err *err)
{
    struct inq_op_rows rows = {0};
    *model = NULL;
    int code = rows_from_labels(trace, &rows, err);
    if (code == INQ_OK) {
        code = rows.n > 0 ? model_of_rows(&rows, model, err) : model_of_run(trace, model, err);
    }
    release_rows(&rows);
    return code;
}
