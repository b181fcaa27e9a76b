/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/whatif/op_bins.h"

#include "base/mem.h"

void inq_op_bins_release(struct inq_op_bins *bins)
{
    inq_mem_free(bins->start);
    inq_mem_free(bins->op);
    *bins = (struct inq_op_bins){0};
}

static size_t bin_of(const struct inq_op_model *m, size_t op, bool by_worker)
{
    size_t owner = by_worker ? inq_op_worker(m, op) : (size_t)m->graph->op[op].stage;
    return owner * INQ_OP_TYPE_COUNT + m->graph->op[op].type;
}

int inq_op_bins_sort(const struct inq_op_model *m, bool by_worker, struct inq_op_bins *bins,
                     struct inq_err *err)
{
    size_t n_ops = m->graph->n_ops;
    size_t owners = by_worker ? m->n_dp * m->n_stages : m->n_stages;
    bins->n = owners * INQ_OP_TYPE_COUNT;
    bins->start = inq_mem_zalloc(bins->n + 2, sizeof *bins->start);
    bins->op = inq_mem_alloc(n_ops * sizeof *bins->op);
    if (bins->start == NULL || bins->op == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu bins of ops", bins->n);
    }
    for (size_t i = 0; i < n_ops; i++) {
        bins->start[bin_of(m, i, by_worker) + 2]++;
    }
    for (size_t b = 1; b < bins->n + 2; b++) {
        bins->start[b] += bins->start[b - 1];
    }
    for (size_t i = 0; i < n_ops; i++) {
        bins->op[bins->start[bin_of(m, i, by_worker) + 1]++] = (uint32_t)i;
    }
    return INQ_OK;
}
