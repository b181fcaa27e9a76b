/* SPDX-License-Identifier: Apache-2.0 */
/* The one simulator: a single walk over the ops in their order. */
#include "base/mem.h"
#include "base/par.h"
#include "inquest/graph.h"

/* Latest end of what op `i` waits for. */
static inline int64_t ready_at(const struct inq_graph *g, const int64_t *end_ns, size_t i)
{
    int64_t ready = 0;
    uint32_t k = g->dep_start[i];
    uint32_t to = g->dep_start[i + 1];
    if (k < to) {
        ready = end_ns[g->deps[k++]];
    }
    for (; k < to; k++) {
        int64_t end = end_ns[g->deps[k]];
        ready = end > ready ? end : ready;
    }
    return ready;
}

int64_t inq_simulate(const struct inq_graph *graph, const int64_t *dur_ns, const int64_t *delay_ns,
                     int64_t *start_ns, int64_t *end_ns)
{
    const struct inq_graph *g = graph;
    const int64_t *dur = dur_ns != NULL ? dur_ns : g->dur_ns;
    int64_t latest_end = 0;
    for (size_t i = 0; i < g->n_ops;) {
        size_t next = i + g->members[i];
        int64_t arrival = INT64_MIN;
        for (size_t k = i; k < next; k++) {
            int64_t start = ready_at(g, end_ns, k) + (delay_ns != NULL ? delay_ns[k] : 0);
            if (start_ns != NULL) {
                start_ns[k] = start;
            }
            arrival = start > arrival ? start : arrival;
        }
        for (; i < next; i++) {
            end_ns[i] = arrival + dur[i];
            latest_end = end_ns[i] > latest_end ? end_ns[i] : latest_end;
        }
    }
    return latest_end;
}

/* ---- side by side ---------------------------------------------------------------------------- */

#define B INQ_SIM_BATCH

static inline void latest_of(int64_t *into, const int64_t *other)
{
    for (int s = 0; s < B; s++) {
        into[s] = other[s] > into[s] ? other[s] : into[s];
    }
}

void inq_simulate_batch(const struct inq_graph *graph, const int64_t *dur_ns, int64_t *end_ns,
                        int64_t makespan_ns[INQ_SIM_BATCH])
{
    const struct inq_graph *g = graph;
    static const int64_t zero[B];
    int64_t latest[B] = {0};
    for (size_t i = 0; i < g->n_ops;) {
        size_t next = i + g->members[i];
        int64_t arrival[B];
        for (int s = 0; s < B; s++) {
            arrival[s] = INT64_MIN;
        }
        for (size_t k = i; k < next; k++) {
            if (g->dep_start[k] == g->dep_start[k + 1]) {
                latest_of(arrival, zero);
            }
            /* the latest start in the group is the latest end of all that its members wait for */
            for (uint32_t d = g->dep_start[k]; d < g->dep_start[k + 1]; d++) {
                latest_of(arrival, end_ns + (size_t)g->deps[d] * B);
            }
        }
        for (; i < next; i++) {
            for (int s = 0; s < B; s++) {
                end_ns[i * B + (size_t)s] = arrival[s] + dur_ns[i * B + (size_t)s];
            }
            latest_of(latest, end_ns + i * B);
        }
    }
    for (int s = 0; s < B; s++) {
        makespan_ns[s] = latest[s];
    }
}

struct many {
    const struct inq_graph *graph;
    size_t n, n_ranges;
    inq_sim_fill fill;
    void *ctx;
    int64_t *makespan_ns;
};

/* A contiguous range of batches, with one workspace for all of them. */
static int simulate_range(void *ctx, size_t range, struct inq_err *err)
{
    const struct many *m = ctx;
    size_t n_batches = (m->n + B - 1) / B;
    size_t first = n_batches * range / m->n_ranges;
    size_t last = n_batches * (range + 1) / m->n_ranges;
    size_t cells = m->graph->n_ops * B;
    int64_t *space = inq_mem_zalloc(2 * cells, sizeof *space);
    if (space == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for simulating %zu ops", m->graph->n_ops);
    }
    for (size_t batch = first; batch < last; batch++) {
        size_t from = batch * B;
        size_t n = m->n - from < B ? m->n - from : B;
        int64_t makespan[B];
        m->fill(m->ctx, from, n, space);
        inq_simulate_batch(m->graph, space, space + cells, makespan);
        for (size_t s = 0; s < n; s++) {
            m->makespan_ns[from + s] = makespan[s];
        }
    }
    inq_mem_free(space);
    return INQ_OK;
}

int inq_simulate_many(const struct inq_graph *graph, size_t n, inq_sim_fill fill, void *ctx,
                      int jobs, int64_t *makespan_ns, struct inq_err *err)
{
    size_t ranges = (size_t)inq_threads(jobs);
    size_t batches = (n + B - 1) / B;
    ranges = ranges < batches ? ranges : batches;
    struct many m = {graph, n, ranges, fill, ctx, makespan_ns};
    return inq_par_for(ranges, jobs, simulate_range, &m, err);
}
