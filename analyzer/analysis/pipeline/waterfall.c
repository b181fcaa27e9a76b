/* SPDX-License-Identifier: Apache-2.0 */
/* From the recorded step to the ideal: one cause after the other is taken away and the step is
 * simulated again; a part is what it got shorter by, so that the parts sum to the step exactly. */
#include "analysis/whatif/whatif.h"
#include "analysis/pipeline/pipeline.h"
#include "base/mem.h"
#include "base/par.h"
#include "base/stats.h"

#include <string.h>

const char *inq_waterfall_text(enum inq_waterfall_cause cause)
{
    static const char *const text[] = {
        "ideal",        "schedule",        "optimizer_and_other",  "gradient_sync",
        "p2p_transfer", "stage_imbalance", "microbatch_variation", "stragglers",
        "host_gaps",    "unexplained"};
    return cause < INQ_WATERFALL_CAUSES ? text[cause] : "";
}

struct waterfall {
    const struct inq_op_model *m;
    struct inq_op_bins workers, stages;
    size_t n_ranges;
    int64_t *parts_ns;
};

/* One step on its way down. */
struct fall {
    const struct waterfall *f;
    int64_t *dur, *delay, *end; /* [n_ops] */
    int64_t *means;             /* [n_dp + n_stages] */
    double *pace;               /* [n_dp * n_stages] */
};

static int64_t simulate(const struct fall *x)
{
    return inq_simulate(x->f->m->graph, x->dur, x->delay, NULL, x->end);
}

static int64_t bin_mean(const struct fall *x, const struct inq_op_bins *bins, size_t bin)
{
    size_t n = bins->start[bin + 1] - bins->start[bin];
    int64_t sum = 0;
    for (size_t k = bins->start[bin]; k < bins->start[bin + 1]; k++) {
        sum += x->dur[bins->op[k]];
    }
    return n > 0 ? sum / (int64_t)n : 0;
}

/* ---- taking causes away ---------------------------------------------------------------------- */

/* Delays. Where transfers were not recorded, what an op that needs another stage was delayed beyond
 * the usual gap before an op is the transfer: only the gap goes. */
static void remove_host_gaps(struct fall *x, size_t step)
{
    const struct inq_op_model *m = x->f->m;
    int64_t usual = inq_pipeline_usual_gap(m, step, step + 1, x->end);
    for (size_t i = 0; i < m->graph->n_ops; i++) {
        bool link = x->delay[i] > usual && inq_op_needs_stage(m, i);
        x->delay[i] = link ? x->delay[i] - usual : 0;
    }
}

/* Compute of each worker against the median worker of its stage (of an even number the faster). */
static void find_paces(struct fall *x)
{
    const struct inq_op_model *m = x->f->m;
    size_t workers = m->n_dp * m->n_stages;
    for (size_t w = 0; w < workers; w++) {
        const size_t *start = x->f->workers.start + w * INQ_OP_TYPE_COUNT;
        int64_t sum = 0;
        for (size_t k = start[0]; k < start[INQ_OP_TYPE_COUNT]; k++) {
            uint32_t op = x->f->workers.op[k];
            sum += inq_op_is_compute(m->graph->op[op].type) ? x->dur[op] : 0;
        }
        x->pace[w] = (double)sum;
    }
    for (size_t s = 0; s < m->n_stages; s++) {
        for (size_t d = 0; d < m->n_dp; d++) {
            x->means[d] = (int64_t)x->pace[d * m->n_stages + s];
        }
        int64_t median = inq_lower_median_i64(x->means, m->n_dp);
        for (size_t d = 0; d < m->n_dp; d++) {
            double *pace = &x->pace[d * m->n_stages + s];
            *pace = median > 0 && *pace > 0.0 ? *pace / (double)median : 1.0;
        }
    }
}

/* Workers of a stage compute at the pace of the median one. What all stages of a replica have in
 * common is the replica's data, not its workers. */
static void remove_stragglers(struct fall *x)
{
    const struct inq_op_model *m = x->f->m;
    const int64_t ppb = 1000000000;
    find_paces(x);
    for (size_t d = 0; d < m->n_dp; d++) {
        double *pace = &x->pace[d * m->n_stages];
        for (size_t s = 0; s < m->n_stages; s++) {
            x->means[s] = (int64_t)(pace[s] * (double)ppb);
        }
        double common = (double)inq_lower_median_i64(x->means, m->n_stages) / (double)ppb;
        for (size_t s = 0; s < m->n_stages; s++) {
            pace[s] = common > 0.0 ? pace[s] / common : 1.0;
        }
    }
    for (size_t i = 0; i < m->graph->n_ops; i++) {
        if (inq_op_is_compute(m->graph->op[i].type)) {
            x->dur[i] = (int64_t)((double)x->dur[i] / x->pace[inq_op_worker(m, i)] + 0.5);
        }
    }
}

/* All micro-batches of a stage take the mean. */
static void remove_variation(struct fall *x)
{
    const struct inq_op_bins *bins = &x->f->stages;
    for (size_t bin = 0; bin < bins->n; bin++) {
        if (!inq_op_is_compute((uint8_t)(bin % INQ_OP_TYPE_COUNT))) {
            continue;
        }
        int64_t mean = bin_mean(x, bins, bin);
        for (size_t k = bins->start[bin]; k < bins->start[bin + 1]; k++) {
            x->dur[bins->op[k]] = mean;
        }
    }
}

/* All stages take the time of the median one (of an even number the shorter). */
static void remove_imbalance(struct fall *x)
{
    const struct inq_op_model *m = x->f->m;
    const struct inq_op_bins *bins = &x->f->stages;
    int64_t median[INQ_OP_TYPE_COUNT] = {0};
    for (int type = 1; type < INQ_OP_TYPE_COUNT; type++) {
        size_t n = 0;
        for (size_t s = 0; s < m->n_stages; s++) {
            size_t bin = s * INQ_OP_TYPE_COUNT + (size_t)type;
            if (bins->start[bin] < bins->start[bin + 1]) {
                x->means[n++] = bin_mean(x, bins, bin);
            }
        }
        median[type] = inq_lower_median_i64(x->means, n);
    }
    for (size_t i = 0; i < m->graph->n_ops; i++) {
        uint8_t type = m->graph->op[i].type;
        if (inq_op_is_compute(type)) {
            x->dur[i] = median[type];
        }
    }
}

static bool is_p2p(uint8_t type)
{
    return inq_op_is_p2p(type);
}

static bool is_sync(uint8_t type)
{
    return inq_op_is_comm(type) && !inq_op_is_p2p(type);
}

static bool is_other(uint8_t type)
{
    return !inq_op_is_comm(type) && !inq_op_is_compute(type);
}

static void remove_types(struct fall *x, bool (*which)(uint8_t type))
{
    const struct inq_graph *g = x->f->m->graph;
    for (size_t i = 0; i < g->n_ops; i++) {
        if (which(g->op[i].type)) {
            x->dur[i] = 0;
        }
    }
}

/* Compute of the mean worker. */
static int64_t mean_compute(const struct fall *x)
{
    const struct inq_op_model *m = x->f->m;
    int64_t sum = 0;
    for (size_t i = 0; i < m->graph->n_ops; i++) {
        sum += inq_op_is_compute(m->graph->op[i].type) ? x->dur[i] : 0;
    }
    return sum / (int64_t)(m->n_dp * m->n_stages);
}

/* left[k]: what is left of the step with everything from part k on taken away. */
static void take_away(struct fall *x, size_t step, int64_t left[INQ_WATERFALL_CAUSES + 1])
{
    const struct inq_op_model *m = x->f->m;
    left[INQ_WATERFALL_CAUSES] = m->recorded_ns[step];
    left[INQ_WATERFALL_UNEXPLAINED] = simulate(x) + m->tail_ns[step]; /* the tail is a host gap */
    remove_host_gaps(x, step);
    left[INQ_WATERFALL_HOST] = simulate(x);
    remove_stragglers(x);
    left[INQ_WATERFALL_STRAGGLERS] = simulate(x);
    remove_variation(x);
    left[INQ_WATERFALL_VARIATION] = simulate(x);
    remove_imbalance(x);
    left[INQ_WATERFALL_IMBALANCE] = simulate(x);
    memset(x->delay, 0, m->graph->n_ops * sizeof *x->delay);
    remove_types(x, is_p2p);
    left[INQ_WATERFALL_P2P] = simulate(x);
    remove_types(x, is_sync);
    left[INQ_WATERFALL_SYNC] = simulate(x);
    remove_types(x, is_other);
    left[INQ_WATERFALL_OPTIMIZER] = simulate(x);
    left[INQ_WATERFALL_SCHEDULE] = mean_compute(x);
    left[INQ_WATERFALL_IDEAL] = 0;
}

/* ---- all steps ------------------------------------------------------------------------------- */

static int fall_range(void *ctx, size_t range, struct inq_err *err)
{
    const struct waterfall *f = ctx;
    const struct inq_op_model *m = f->m;
    size_t n = m->graph->n_ops;
    int64_t *space = inq_mem_alloc((3 * n + m->n_dp + m->n_stages) * sizeof *space);
    double *pace = inq_mem_alloc(m->n_dp * m->n_stages * sizeof *pace);
    if (space == NULL || pace == NULL) {
        inq_mem_free(space);
        inq_mem_free(pace);
        return inq_err_set(err, INQ_NOMEM, "out of memory for the waterfall of %zu ops", n);
    }
    struct fall x = {f, space, space + n, space + 2 * n, space + 3 * n, pace};
    size_t last = m->n_steps * (range + 1) / f->n_ranges;
    for (size_t t = m->n_steps * range / f->n_ranges; t < last; t++) {
        int64_t left[INQ_WATERFALL_CAUSES + 1];
        for (size_t i = 0; i < n; i++) {
            x.dur[i] = m->dur_ns[i * m->stride + t];
            x.delay[i] = m->delay_ns[i * m->stride + t];
        }
        take_away(&x, t, left);
        for (size_t k = 0; k < INQ_WATERFALL_CAUSES; k++) {
            f->parts_ns[t * INQ_WATERFALL_CAUSES + k] = left[k + 1] - left[k];
        }
    }
    inq_mem_free(space);
    inq_mem_free(pace);
    return INQ_OK;
}

int inq_waterfall_steps(const struct inq_op_model *model, int jobs, int64_t *parts_ns,
                        struct inq_err *err)
{
    size_t ranges = (size_t)inq_par_threads(jobs);
    ranges = ranges < model->n_steps ? ranges : model->n_steps;
    struct waterfall f = {.m = model, .n_ranges = ranges, .parts_ns = parts_ns};
    int code = inq_op_bins_by_worker(model, &f.workers, err);
    if (code == INQ_OK) {
        code = inq_op_bins_by_stage(model, &f.stages, err);
    }
    if (code == INQ_OK) {
        code = inq_par_for(ranges, jobs, fall_range, &f, err);
    }
    inq_op_bins_release(&f.workers);
    inq_op_bins_release(&f.stages);
    return code;
}
