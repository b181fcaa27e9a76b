/* SPDX-License-Identifier: Apache-2.0 */
/* The host that delays a pipeline. Stages of one replica have no peers to be compared with, and a
 * host that pauses now and then is on time in most steps; but an op that begins long after all that
 * it waits for, a transfer after its partner has begun, too, was launched late, and so was
 * what an op does after its GPU stood idle. */
#include "analysis/pipeline/pipeline.h"

#include "analysis/straggler/straggler.h"
#include "analysis/whatif/whatif.h"
#include "base/mem.h"
#include "base/par.h"
#include "base/sort.h"
#include "base/stats.h"

#include <string.h>

/* Within an op: the time that its GPU stood idle, and the longest gap of it. */
struct inside {
    int64_t idle_ns, longest_ns, longest_end_ns;
};

struct hosts {
    const struct inq_trace *trace;
    const struct inq_op_model *m;
    struct inq_op_bins workers;
    int64_t usual_ns;           /* gap before an op */
    struct inside *inside;      /* [n_ops][stride] */
    int64_t *usual_inside_ns;   /* [INQ_OP_TYPE_COUNT] */
    int64_t *dur, *delay, *end; /* [n_ops] of the step at hand */
    int64_t *gaps;              /* [n_dp * n_stages] sums beyond the usual */
    bool *seen;                 /* [n_dp * n_stages] */
    size_t worker;              /* the suspect */
    struct inq_pipeline_host *found;
};

static size_t count_workers(const struct inq_op_model *m)
{
    return m->n_dp * m->n_stages;
}

/* ---- gaps within ops ------------------------------------------------------------------------- */

/* One worker's ops of compute, of all steps. */
struct worker_ops {
    size_t n;
    int64_t *start_ns; /* on the trace's clock */
    size_t *cell;      /* place in the model's matrices */
    uint32_t *order;   /* by start */
};

static int worker_ops_init(const struct hosts *h, size_t worker, struct worker_ops *ops,
                           struct inq_err *err)
{
    const struct inq_op_model *m = h->m;
    const size_t *start = h->workers.start + worker * INQ_OP_TYPE_COUNT;
    size_t room = (start[INQ_OP_TYPE_COUNT] - start[0]) * m->n_steps + 1;
    *ops = (struct worker_ops){0};
    ops->start_ns = inq_mem_alloc(room * sizeof *ops->start_ns);
    ops->cell = inq_mem_alloc(room * sizeof *ops->cell);
    ops->order = inq_mem_alloc(room * sizeof *ops->order);
    if (ops->start_ns == NULL || ops->cell == NULL || ops->order == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for the gaps of a worker");
    }
    for (size_t k = start[0]; k < start[INQ_OP_TYPE_COUNT]; k++) {
        uint32_t op = h->workers.op[k];
        for (size_t t = 0; inq_op_is_compute(m->graph->op[op].type) && t < m->n_steps; t++) {
            ops->cell[ops->n] = op * m->stride + t;
            ops->start_ns[ops->n] = m->origin_ns[t] + m->start_ns[op * m->stride + t];
            ops->n++;
        }
    }
    return inq_sort_order_i64(ops->start_ns, ops->n, ops->order, err);
}

static void worker_ops_release(struct worker_ops *ops)
{
    inq_mem_free(ops->start_ns);
    inq_mem_free(ops->cell);
    inq_mem_free(ops->order);
}

static void add_inside(struct inside *inside, const struct inq_host_gap *gap)
{
    int64_t ns = gap->end_ns - gap->begin_ns;
    inside->idle_ns += ns;
    if (ns > inside->longest_ns) {
        inside->longest_ns = ns;
        inside->longest_end_ns = gap->end_ns;
    }
}

/* Each gap to the op that had begun last before it, if that ends after it. */
static int find_inside(void *ctx, size_t worker, struct inq_err *err)
{
    const struct hosts *h = ctx;
    const struct inq_op_model *m = h->m;
    struct worker_ops ops;
    struct inq_gap_walk walk = {0};
    struct inq_host_gap gap;
    size_t next = 0;
    int code = worker_ops_init(h, worker, &ops, err);
    if (code == INQ_OK) {
        code = inq_gap_walk_init(&walk, &h->trace->ranks[m->worker_rank[worker]], err);
    }
    while (code == INQ_OK && inq_gap_walk_next(&walk, &gap)) {
        while (next < ops.n && ops.start_ns[ops.order[next]] <= gap.begin_ns) {
            next++;
        }
        if (next == 0 || (gap.launch_ns != INQ_TIME_NONE && !gap.late)) {
            continue;
        }
        uint32_t at = ops.order[next - 1];
        size_t cell = ops.cell[at];
        int64_t end_ns = ops.start_ns[at] + m->end_ns[cell] - m->start_ns[cell];
        if (gap.end_ns <= end_ns) {
            add_inside(&h->inside[cell], &gap);
        }
    }
    inq_gap_walk_release(&walk);
    worker_ops_release(&ops);
    return code;
}

/* Median of each type of op. */
static void find_usual_inside(struct hosts *h, int64_t *space)
{
    const struct inq_op_model *m = h->m;
    for (int type = 0; type < INQ_OP_TYPE_COUNT; type++) {
        size_t n = 0;
        for (size_t i = 0; i < m->graph->n_ops; i++) {
            for (size_t t = 0; m->graph->op[i].type == type && t < m->n_steps; t++) {
                space[n++] = h->inside[i * m->stride + t].idle_ns;
            }
        }
        h->usual_inside_ns[type] = inq_lower_median_i64(space, n);
    }
}

static int64_t inside_of(const struct hosts *h, size_t op, size_t step)
{
    uint8_t type = h->m->graph->op[op].type;
    int64_t ns = h->inside[op * h->m->stride + step].idle_ns - h->usual_inside_ns[type];
    return ns > 0 ? ns : 0;
}

/* ---- gaps in front of ops -------------------------------------------------------------------- */

/* Of a transfer, how much later than all other members the op began. */
static int64_t last_by(const struct inq_op_model *m, size_t op, size_t step)
{
    uint32_t n = 0;
    uint32_t first = inq_graph_group_of(m->graph, (uint32_t)op, &n);
    int64_t others_ns = INT64_MIN;
    for (uint32_t i = first; i < first + n; i++) {
        int64_t ns = m->start_ns[i * m->stride + step];
        others_ns = i != op && ns > others_ns ? ns : others_ns;
    }
    return n > 1 ? m->start_ns[op * m->stride + step] - others_ns : 0;
}

/* How long before its op the launch began; INT64_MAX: not recorded. */
static int64_t launched_ahead(const struct hosts *h, size_t op, size_t step)
{
    const struct inq_op_model *m = h->m;
    const struct inq_rank *rank = &h->trace->ranks[m->worker_rank[inq_op_worker(m, op)]];
    uint32_t event = m->event[op * m->stride + step];
    if (rank->calls.n == 0 || event >= rank->events.n || rank->events.call[event] == INQ_NONE) {
        return INT64_MAX;
    }
    return rank->events.start_ns[event] - rank->calls.start_ns[rank->events.call[event]];
}

/* What the op began later than all that it waits for, where that tells of its host. Time in front
 * of an op whose transfer was not recorded is the transfer's, unless the launch came still later.
 */
static int64_t late_by(const struct hosts *h, size_t op, size_t step)
{
    const struct inq_op_model *m = h->m;
    uint8_t type = m->graph->op[op].type;
    int64_t ns = m->delay_ns[op * m->stride + step];
    if (inq_op_is_p2p(type)) {
        int64_t last_ns = last_by(m, op, step);
        return last_ns < ns ? last_ns : ns;
    }
    if (inq_op_is_compute(type) && inq_op_needs_stage(m, op)) {
        int64_t ahead_ns = launched_ahead(h, op, step);
        return ahead_ns < ns ? ns - ahead_ns : 0;
    }
    return inq_op_is_compute(type) ? ns : 0;
}

static int64_t gap_of(const struct hosts *h, size_t op, size_t step)
{
    int64_t ns = late_by(h, op, step) - h->usual_ns;
    return ns > 0 ? ns : 0;
}

int64_t inq_pipeline_usual_gap(const struct inq_op_model *m, size_t from, size_t to, int64_t *space)
{
    size_t n = 0;
    for (size_t i = 0; i < m->graph->n_ops; i++) {
        bool follows = m->graph->dep_start[i] < m->graph->dep_start[i + 1];
        if (!follows || !inq_op_is_compute(m->graph->op[i].type) || inq_op_needs_stage(m, i)) {
            continue;
        }
        for (size_t t = from; t < to; t++) {
            space[n++] = m->delay_ns[i * m->stride + t];
        }
    }
    return inq_lower_median_i64(space, n);
}

/* ---- the worker with the most of them -------------------------------------------------------- */

/* The gaps of all workers; by how much ops began too early to be true is in *against. False when a
 * worker has none to tell of, because its record is cut. */
static bool sum_gaps(struct hosts *h, int64_t *against)
{
    const struct inq_op_model *m = h->m;
    size_t told = 0;
    for (size_t i = 0; i < m->graph->n_ops; i++) {
        size_t worker = inq_op_worker(m, i);
        told += inq_op_is_compute(m->graph->op[i].type) && !h->seen[worker];
        h->seen[worker] = h->seen[worker] || inq_op_is_compute(m->graph->op[i].type);
        for (size_t t = 0; t < m->n_steps; t++) {
            int64_t ns = m->delay_ns[i * m->stride + t];
            *against -= ns < 0 ? ns : 0;
            h->gaps[worker] += gap_of(h, i, t) + inside_of(h, i, t);
        }
    }
    return told == count_workers(m);
}

/* The worker whose gaps stand out; false when none does. */
static bool find_worker(struct hosts *h)
{
    size_t n = count_workers(h->m);
    int64_t second = 0;
    if (!sum_gaps(h, &second)) {
        return false;
    }
    for (size_t w = 1; w < n; w++) {
        bool more = h->gaps[w] > h->gaps[h->worker];
        int64_t less = more ? h->gaps[h->worker] : h->gaps[w];
        second = less > second ? less : second;
        h->worker = more ? w : h->worker;
    }
    h->found->gap_ns_per_step = h->gaps[h->worker] / (int64_t)h->m->n_steps;
    h->found->others_ns_per_step = second / (int64_t)h->m->n_steps;
    return (double)h->gaps[h->worker] > INQ_STRAGGLER_APART * (double)second;
}

/* Keeps the longest gaps, longest first. */
static void note_gap(struct inq_pipeline_host *found, int64_t ns, int64_t end_ns)
{
    int64_t start_ns = end_ns - ns;
    size_t at = found->n_gaps < INQ_PIPELINE_GAPS ? found->n_gaps++ : INQ_PIPELINE_GAPS;
    while (at > 0 && end_ns - start_ns > found->gap_end_ns[at - 1] - found->gap_start_ns[at - 1]) {
        at--;
        if (at + 1 < INQ_PIPELINE_GAPS) {
            found->gap_start_ns[at + 1] = found->gap_start_ns[at];
            found->gap_end_ns[at + 1] = found->gap_end_ns[at];
        }
    }
    if (at < INQ_PIPELINE_GAPS) {
        found->gap_start_ns[at] = start_ns;
        found->gap_end_ns[at] = end_ns;
    }
}

/* Takes an op's gaps out of the step at hand; the long ones are evidence. */
static void take_gaps(struct hosts *h, size_t op, size_t t)
{
    const struct inq_op_model *m = h->m;
    const struct inside *inside = &h->inside[op * m->stride + t];
    int64_t before_ns = gap_of(h, op, t);
    h->delay[op] -= before_ns;
    h->dur[op] -= inside_of(h, op, t);
    if (before_ns * 100 >= m->recorded_ns[t]) {
        note_gap(h->found, before_ns, m->origin_ns[t] + m->start_ns[op * m->stride + t]);
    }
    if (inside->longest_ns * 100 >= m->recorded_ns[t]) {
        note_gap(h->found, inside->longest_ns, inside->longest_end_ns);
    }
}

/* What the step gains without the suspect's gaps. */
static int64_t gain(struct hosts *h, size_t t)
{
    const struct inq_op_model *m = h->m;
    for (size_t i = 0; i < m->graph->n_ops; i++) {
        h->dur[i] = m->dur_ns[i * m->stride + t];
        h->delay[i] = m->delay_ns[i * m->stride + t];
    }
    int64_t with_ns = inq_simulate(m->graph, h->dur, h->delay, NULL, h->end);
    for (size_t i = 0; i < m->graph->n_ops; i++) {
        if (inq_op_worker(m, i) == h->worker) {
            take_gaps(h, i, t);
        }
    }
    return with_ns - inq_simulate(m->graph, h->dur, h->delay, NULL, h->end);
}

static void weigh(struct hosts *h)
{
    struct inq_pipeline_host *found = h->found;
    int64_t n_steps = (int64_t)h->m->n_steps;
    found->rank = h->m->worker_rank[h->worker];
    for (size_t t = 0; t < h->m->n_steps; t++) {
        int64_t ns = gain(h, t);
        found->cost_ns_per_step += ns;
        found->steps_seen += ns * 100 >= h->m->recorded_ns[t];
    }
    found->cost_ns_per_step /= n_steps > 0 ? n_steps : 1;
}

static int hosts_init(struct hosts *h, struct inq_err *err)
{
    size_t n = h->m->graph->n_ops;
    size_t n_workers = count_workers(h->m);
    h->inside = inq_mem_zalloc(n * h->m->stride + 1, sizeof *h->inside);
    h->usual_inside_ns = inq_mem_zalloc(INQ_OP_TYPE_COUNT, sizeof *h->usual_inside_ns);
    h->dur = inq_mem_alloc(3 * n * sizeof *h->dur);
    h->gaps = inq_mem_zalloc(n_workers, sizeof *h->gaps);
    h->seen = inq_mem_zalloc(n_workers, sizeof *h->seen);
    if (h->inside == NULL || h->usual_inside_ns == NULL || h->dur == NULL || h->gaps == NULL ||
        h->seen == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for the gaps of %zu ops", n);
    }
    h->delay = h->dur + n;
    h->end = h->delay + n;
    return inq_op_bins_by_worker(h->m, &h->workers, err);
}

static void hosts_release(struct hosts *h)
{
    inq_mem_free(h->inside);
    inq_mem_free(h->usual_inside_ns);
    inq_mem_free(h->dur);
    inq_mem_free(h->gaps);
    inq_mem_free(h->seen);
    inq_op_bins_release(&h->workers);
}

/* What gaps are usual. */
static int find_usual(struct hosts *h, struct inq_err *err)
{
    const struct inq_op_model *m = h->m;
    int64_t *space = inq_mem_alloc((m->graph->n_ops * m->n_steps + 1) * sizeof *space);
    if (space == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu gaps",
                           m->graph->n_ops * m->n_steps);
    }
    h->usual_ns = inq_pipeline_usual_gap(m, 0, m->n_steps, space);
    find_usual_inside(h, space);
    inq_mem_free(space);
    return INQ_OK;
}

int inq_pipeline_find_host(const struct inq_trace *trace, const struct inq_op_model *model,
                           int jobs, struct inq_pipeline_host *found, struct inq_err *err)
{
    struct hosts h = {.trace = trace, .m = model, .found = found};
    *found = (struct inq_pipeline_host){.rank = INQ_NONE};
    if (model->n_steps < 2 || strcmp(model->source, "labels") == 0) {
        return INQ_OK; /* an op table tells of launches less than of ops */
    }
    int code = hosts_init(&h, err);
    if (code == INQ_OK) {
        code = inq_par_for(count_workers(model), jobs, find_inside, &h, err);
    }
    if (code == INQ_OK) {
        code = find_usual(&h, err);
    }
    if (code == INQ_OK && find_worker(&h)) {
        weigh(&h);
    }
    hosts_release(&h);
    return code;
}
