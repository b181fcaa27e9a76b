/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of an execution on GPUs: payloads and buffers, durations as products, and what
 * launching costs. */
#include "cuda/layout.h"

#include "base/mem.h"
#include "base/sort.h"

#include <math.h>

/* ---- payloads -------------------------------------------------------------------------------- */

static bool moves_data(uint8_t work)
{
    return inq_gpu_receives(work) || work == INQ_WORK_SEND;
}

/* Scaled as durations are: less time, less to move. The members of a group agree on the largest. */
static int64_t bytes_of(const struct inq_plan *plan, uint32_t op, bool *guessed)
{
    uint32_t n = 1;
    uint32_t first = inq_graph_group_of(plan->graph, op, &n);
    int64_t bytes = -1;
    for (uint32_t k = first; k < first + n; k++) {
        bytes = plan->bytes[k] > bytes ? plan->bytes[k] : bytes;
    }
    *guessed = bytes < 0;
    double scaled = (double)(bytes < 0 ? INQ_GPU_SOME_BYTES : bytes) * plan->scale;
    const double most = (double)((int64_t)1 << 50);
    return scaled < most ? (int64_t)scaled : (int64_t)most;
}

uint64_t inq_gpu_buffer_bytes(const struct inq_plan *plan)
{
    uint64_t most = 0;
    bool any = false;
    for (uint32_t i = 0; i < plan->graph->n_ops; i++) {
        if (moves_data(plan->work[i])) {
            bool guessed = false;
            uint64_t bytes = (uint64_t)bytes_of(plan, i, &guessed);
            most = bytes > most ? bytes : most;
            any = true;
        }
    }
    if (!any) {
        return 0;
    }
    uint64_t size = INQ_GPU_MIN_BUFFER;
    while (size < most && size < INQ_GPU_MAX_BUFFER) {
        size *= 2;
    }
    return size;
}

struct inq_gpu_payload inq_gpu_payload_of(const struct inq_plan *plan, uint32_t op,
                                          uint64_t buffer_bytes)
{
    struct inq_gpu_payload p = {0};
    uint64_t bytes = (uint64_t)bytes_of(plan, op, &p.guessed);
    uint64_t passes = (bytes + buffer_bytes - 1) / buffer_bytes;
    passes = passes < 1 ? 1 : passes < UINT32_MAX ? passes : UINT32_MAX;
    p.passes = (uint32_t)passes;
    uint64_t each = bytes / passes;
    p.elems = (each + 15) / 16 * 4;
    p.elems = p.elems < 4 ? 4 : p.elems;
    return p;
}

int32_t inq_gpu_source_rank(const struct inq_plan *plan, uint32_t op)
{
    const struct inq_graph *g = plan->graph;
    uint32_t n = 1;
    uint32_t first = inq_graph_group_of(g, op, &n);
    for (uint32_t k = first; k < first + n; k++) {
        if (plan->work[k] == INQ_WORK_SEND) {
            return g->op[k].rank;
        }
    }
    for (uint32_t d = g->dep_start[op]; d < g->dep_start[op + 1]; d++) {
        if (g->op[g->deps[d]].rank != g->op[op].rank) {
            return g->op[g->deps[d]].rank;
        }
    }
    return g->op[op].rank;
}

/* ---- products -------------------------------------------------------------------------------- */

void inq_gpu_menu_split(const struct inq_gpu_menu *menu, int64_t dur_ns,
                        uint32_t count[INQ_GPU_SIZES])
{
    for (size_t i = 0; i < INQ_GPU_SIZES; i++) {
        count[i] = 0;
    }
    for (size_t i = menu->n; i-- > 0;) {
        if (menu->ns[i] <= 0) {
            continue;
        }
        /* what the smallest leaves over rounds to the nearest */
        int64_t n = (dur_ns + (i == 0 ? menu->ns[i] / 2 : 0)) / menu->ns[i];
        n = n < 0 ? 0 : n < UINT32_MAX ? n : UINT32_MAX;
        count[i] = (uint32_t)n;
        dur_ns -= n * menu->ns[i];
    }
}

/* ---- launching ------------------------------------------------------------------------------- */

static int64_t delay_of(const struct inq_plan *plan, uint32_t op)
{
    return plan->delay_ns != NULL ? plan->delay_ns[op] : 0;
}

/* When all that `op` waits for has ended; 0: it waits for nothing. */
static uint64_t ready_at(const struct inq_plan *plan, uint32_t op, const uint64_t *end)
{
    const struct inq_graph *g = plan->graph;
    uint64_t ready = 0;
    for (uint32_t d = g->dep_start[op]; d < g->dep_start[op + 1]; d++) {
        ready = end[g->deps[d]] > ready ? end[g->deps[d]] : ready;
    }
    uint32_t place = plan->place_of[op];
    if (place > 0) {
        uint64_t before = end[plan->lanes[plan->lane_of[op]].ops[place - 1]];
        ready = before > ready ? before : ready;
    }
    return ready;
}

static uint64_t last_start(const struct inq_plan *plan, uint32_t op, const uint64_t *start)
{
    uint32_t n = 1;
    uint32_t first = inq_graph_group_of(plan->graph, op, &n);
    uint64_t last = 0;
    for (uint32_t k = first; k < first + n; k++) {
        last = start[k] > last ? start[k] : last;
    }
    return last;
}

/* Mean of the middle half: not moved by ops that were held up, and finer than the timer's step,
 * which a median is not. */
static int64_t middle_mean(int64_t *values, size_t n)
{
    int64_t sum = 0;
    size_t from = n / 4;
    size_t to = n - n / 4;
    inq_sort_i64(values, n);
    for (size_t i = from; i < to; i++) {
        sum += values[i];
    }
    int64_t mean = to > from ? sum / (int64_t)(to - from) : 0;
    return mean > 0 ? mean : 0;
}

int inq_gpu_gaps_find(const struct inq_plan *plan, const uint64_t *start, const uint64_t *end,
                      struct inq_gpu_gaps *gaps, struct inq_err *err)
{
    size_t n_ops = plan->graph->n_ops;
    *gaps = (struct inq_gpu_gaps){0};
    int64_t *late = inq_mem_alloc((n_ops + 1) * sizeof *late);
    int64_t *over = inq_mem_alloc((n_ops + 1) * sizeof *over);
    int code = INQ_OK;
    if (late == NULL || over == NULL) {
        code = inq_err_set(err, INQ_NOMEM, "out of memory for the gaps of %zu ops", n_ops);
    }
    size_t n_late = 0;
    size_t n_over = 0;
    for (uint32_t i = 0; code == INQ_OK && i < n_ops; i++) {
        uint64_t ready = ready_at(plan, i, end);
        if (ready > 0) {
            late[n_late++] = (int64_t)(start[i] - ready) - delay_of(plan, i);
        }
        if (plan->dur_ns[i] > 0) {
            over[n_over++] = (int64_t)(end[i] - last_start(plan, i, start)) - plan->dur_ns[i];
        }
    }
    if (code == INQ_OK) {
        gaps->n = n_late;
        gaps->launch_ns = middle_mean(late, n_late);
        gaps->hold_ns = middle_mean(over, n_over);
    }
    inq_mem_free(late);
    inq_mem_free(over);
    return code;
}

void inq_gpu_gaps_take(const struct inq_plan *plan, const struct inq_gpu_gaps *gaps,
                       int64_t *delay_ns, int64_t *dur_ns)
{
    for (uint32_t i = 0; i < plan->graph->n_ops; i++) {
        bool waits =
            plan->graph->dep_start[i + 1] > plan->graph->dep_start[i] || plan->place_of[i] > 0;
        int64_t gap = gaps->hold_ns + (waits ? gaps->launch_ns : 0);
        int64_t delay = delay_of(plan, i);
        int64_t of_delay = gap < delay ? gap : delay;
        delay_ns[i] = delay - of_delay;
        int64_t dur = plan->dur_ns[i] - (gap - of_delay);
        dur_ns[i] = dur > 0 ? dur : 0;
    }
}
