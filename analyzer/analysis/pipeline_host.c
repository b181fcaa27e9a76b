/* SPDX-License-Identifier: Apache-2.0 */
/* The host that holds a pipeline up. Stages of one replica have no peers to be compared with, and a
 * host that pauses now and then is on time in most steps; but an op that begins long after all that
 * it waits for, a transfer after its partner has begun, too, was launched late. */
#include "analysis/pipeline.h"

#include "analysis/straggler.h"
#include "base/mem.h"
#include "base/stats.h"

struct hosts {
    const struct inq_trace *trace;
    const struct inq_op_model *m;
    int64_t usual_ns;           /* gap before an op */
    int64_t *dur, *delay, *end; /* [n_ops] of the step at hand */
    int64_t *gaps;              /* [n_dp * n_stages] sums beyond the usual */
    bool *seen;                 /* [n_dp * n_stages] */
    size_t worker;              /* the suspect */
    struct inq_pipeline_host *found;
};

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

/* Median over the ops of compute that follow one of their own worker. */
static int64_t usual_gap(const struct hosts *h, int64_t *space)
{
    const struct inq_op_model *m = h->m;
    size_t n = 0;
    for (size_t i = 0; i < m->graph->n_ops; i++) {
        bool follows = m->graph->dep_start[i] < m->graph->dep_start[i + 1];
        for (size_t t = 0; follows && inq_op_is_compute(m->graph->op[i].type) && t < m->n_steps;
             t++) {
            space[n] = late_by(h, i, t);
            n += !inq_op_needs_stage(m, i);
        }
    }
    return inq_median_i64(space, n);
}

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
            h->gaps[worker] += gap_of(h, i, t);
        }
    }
    return told == m->n_dp * m->n_stages;
}

/* The worker whose gaps stand out; false when none does. */
static bool find_worker(struct hosts *h)
{
    size_t n = h->m->n_dp * h->m->n_stages;
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
    return (double)h->gaps[h->worker] > INQ_STRAGGLER_APART * (double)second;
}

/* Keeps the longest gaps, longest first. */
static void note_gap(struct inq_pipeline_host *found, int64_t start_ns, int64_t end_ns)
{
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
        int64_t ns = inq_op_worker(m, i) == h->worker ? gap_of(h, i, t) : 0;
        int64_t end_ns = m->origin_ns[t] + m->start_ns[i * m->stride + t];
        h->delay[i] -= ns;
        if (ns * 100 >= m->recorded_ns[t]) {
            note_gap(h->found, end_ns - ns, end_ns);
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

int inq_pipeline_find_host(const struct inq_trace *trace, const struct inq_op_model *model,
                           struct inq_pipeline_host *found, struct inq_err *err)
{
    size_t n = model->graph->n_ops;
    size_t n_workers = model->n_dp * model->n_stages;
    *found = (struct inq_pipeline_host){.rank = INQ_NONE};
    if (model->n_steps < 2) {
        return INQ_OK;
    }
    int64_t *space = inq_mem_alloc((n * model->n_steps + 1) * sizeof *space);
    struct hosts h = {.trace = trace, .m = model, .found = found};
    h.dur = inq_mem_alloc(3 * n * sizeof *h.dur);
    h.gaps = inq_mem_zalloc(n_workers, sizeof *h.gaps);
    h.seen = inq_mem_zalloc(n_workers, sizeof *h.seen);
    int code = INQ_OK;
    if (space == NULL || h.dur == NULL || h.gaps == NULL || h.seen == NULL) {
        code = inq_err_set(err, INQ_NOMEM, "out of memory for the gaps of %zu ops", n);
    } else {
        h.delay = h.dur + n;
        h.end = h.delay + n;
        h.usual_ns = usual_gap(&h, space);
        if (find_worker(&h)) {
            weigh(&h);
        }
    }
    inq_mem_free(space);
    inq_mem_free(h.dur);
    inq_mem_free(h.gaps);
    inq_mem_free(h.seen);
    return code;
}
