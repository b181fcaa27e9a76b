/* SPDX-License-Identifier: Apache-2.0 */
/* The board on which ops find their times and note when they ran, and what launching cost. */
#include "cuda/session.h"

#include "base/mem.h"
#include "base/sort.h"

int inq_gpu_program_put_op(struct inq_gpu_program *program, uint32_t lane, uint32_t op,
                           uint32_t does, struct inq_err *err)
{
    const struct inq_gpu_calls *calls = program->session->calls;
    const struct inq_plan *plan = program->plan;
    uint32_t gpu = program->layout->spots[plan->lanes[lane].rank].gpu;
    struct inq_gpu_op_args args = {
        .board = inq_gpu_board_of(program, gpu), .op = op, .first = op, .n = 1, .does = does};
    if (op < plan->graph->n_ops) {
        args.first = inq_graph_group_of(plan->graph, op, &args.n);
    }
    const struct inq_gpu_launch launch = {INQ_KERNEL_OP, 1, 1, &args, sizeof args};
    return calls->launch(calls->self, program->stream[lane], &launch, err);
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

/* Of the values [from, to); 0: there are none. */
static int64_t mean_of(const int64_t *values, size_t from, size_t to)
{
    int64_t sum = 0;
    for (size_t i = from; i < to; i++) {
        sum += values[i];
    }
    return to > from ? sum / (int64_t)(to - from) : 0;
}

/* Mean of all but what was held up: a path adds up whole ops, late ones included (their mean is a
 * quarter above that of the middle half, H100), and a median is no finer than the timer's step.
 * Held up, by a page or by another process, is what is so many times the mean of the middle half:
 * the latest launches of an idle H100 are 3 to 4 times. */
#define HELD_UP 8
static int64_t mean_of_usual(int64_t *values, size_t n)
{
    inq_sort_i64(values, n);
    int64_t middle = mean_of(values, n / 4, n - n / 4);
    while (n > 0 && values[n - 1] > HELD_UP * middle) {
        n--;
    }
    int64_t mean = mean_of(values, 0, n);
    return mean > 0 ? mean : 0;
}

static enum inq_gpu_launch_kind launch_kind(const struct inq_plan *plan, uint32_t op)
{
    const struct inq_graph *g = plan->graph;
    bool waits = false;
    for (uint32_t d = g->dep_start[op]; d < g->dep_start[op + 1]; d++) {
        waits |= plan->lane_of[g->deps[d]] != plan->lane_of[op];
    }
    bool member = g->members[op] != 1;
    return waits ? (member ? INQ_GPU_MEMBER_WAITS : INQ_GPU_WAITS)
                 : (member ? INQ_GPU_MEMBER_FOLLOWS : INQ_GPU_FOLLOWS);
}

/* Of the ops of one kind; `late` [n_ops] is scratch. */
static void find_launch_gap(const struct inq_plan *plan, const uint64_t *start, const uint64_t *end,
                            enum inq_gpu_launch_kind kind, struct inq_gpu_gaps *gaps, int64_t *late)
{
    size_t n = 0;
    for (uint32_t i = 0; i < plan->graph->n_ops; i++) {
        uint64_t ready = launch_kind(plan, i) == kind ? ready_at(plan, i, end) : 0;
        if (ready > 0) {
            late[n++] = (int64_t)(start[i] - ready) - delay_of(plan, i);
        }
    }
    gaps->n[kind] = n;
    gaps->launch_ns[kind] = mean_of_usual(late, n);
}

int inq_gpu_gaps_find(const struct inq_plan *plan, const uint64_t *start, const uint64_t *end,
                      struct inq_gpu_gaps *gaps, struct inq_err *err)
{
    size_t n_ops = plan->graph->n_ops;
    *gaps = (struct inq_gpu_gaps){0};
    int64_t *late = inq_mem_alloc((n_ops + 1) * sizeof *late);
    if (late == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for the gaps of %zu ops", n_ops);
    }
    for (int kind = 0; kind < INQ_GPU_LAUNCH_KIND_COUNT; kind++) {
        find_launch_gap(plan, start, end, (enum inq_gpu_launch_kind)kind, gaps, late);
    }
    size_t n_over = 0;
    for (uint32_t i = 0; i < n_ops; i++) {
        if (plan->dur_ns[i] > 0) {
            late[n_over++] = (int64_t)(end[i] - last_start(plan, i, start)) - plan->dur_ns[i];
        }
    }
    gaps->hold_ns = mean_of_usual(late, n_over);
    inq_mem_free(late);
    return INQ_OK;
}

void inq_gpu_gaps_take(const struct inq_plan *plan, const struct inq_gpu_gaps *gaps,
                       int64_t *delay_ns, int64_t *dur_ns)
{
    for (uint32_t i = 0; i < plan->graph->n_ops; i++) {
        bool first =
            plan->graph->dep_start[i + 1] == plan->graph->dep_start[i] && plan->place_of[i] == 0;
        int64_t gap = gaps->hold_ns + (first ? 0 : gaps->launch_ns[launch_kind(plan, i)]);
        int64_t delay = delay_of(plan, i);
        int64_t of_delay = gap < delay ? gap : delay;
        delay_ns[i] = delay - of_delay;
        int64_t dur = plan->dur_ns[i] - (gap - of_delay);
        dur_ns[i] = dur > 0 ? dur : 0;
    }
}
