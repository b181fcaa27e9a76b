/* SPDX-License-Identifier: Apache-2.0 */
/* When a schedule's actions happen: the schedule's graph under a cost model, simulated. */
#include "schedule.h"

#include "base/mem.h"
#include "inquest/replay.h"

/* What a timing is made of. */
struct timed {
    const struct inq_schedule *schedule;
    const struct inq_costs *costs;
    struct inq_schedule_graph graph;
    struct inq_err *err;
};

/* ---- results
 * --------------------------------------------------------------------------------------- */

static void copy_times(const struct timed *t, const int64_t *start_ns, const int64_t *end_ns,
                       struct inq_schedule_timing *timing)
{
    for (int32_t r = 0; r < t->schedule->n_ranks; r++) {
        int64_t now = 0;
        for (size_t i = 0; i < t->schedule->ranks[r].n; i++) {
            uint32_t op = t->graph.op[r][i];
            timing->start_ns[r][i] = op == INQ_NONE ? now : start_ns[op];
            timing->end_ns[r][i] = op == INQ_NONE ? now : end_ns[op];
            now = timing->end_ns[r][i];
        }
    }
}

/* Held memory after an action, by the cost model or its default (one unit an activation). */
static double memory_change(const struct inq_costs *costs, uint8_t kind)
{
    bool told = costs->memory_f != 0.0 || costs->memory_b != 0.0 || costs->memory_w != 0.0;
    double f = told ? costs->memory_f : 1.0;
    double i = told ? costs->memory_b : 0.0;
    double w = told ? costs->memory_w : -1.0;
    const double by_kind[INQ_ACTION_KIND_COUNT] = {
        [INQ_ACTION_F] = f, [INQ_ACTION_I] = i, [INQ_ACTION_W] = w, [INQ_ACTION_B] = i + w};
    return by_kind[kind];
}

static void time_rank(const struct timed *t, int32_t r, struct inq_schedule_timing *timing)
{
    const struct inq_rank_actions *list = &t->schedule->ranks[r];
    struct inq_schedule_rank_time *row = &timing->ranks[r];
    uint32_t last_op = INQ_NONE;
    double held = 0.0;
    for (size_t i = 0; i < list->n; i++) {
        held += memory_change(t->costs, list->actions[i].kind);
        row->peak_memory = held > row->peak_memory ? held : row->peak_memory;
        if (t->graph.op[r][i] == INQ_NONE || t->graph.op[r][i] == last_op) {
            continue;
        }
        if (last_op == INQ_NONE) {
            row->first_ns = timing->start_ns[r][i];
        }
        last_op = t->graph.op[r][i];
        row->last_ns = timing->end_ns[r][i];
        row->busy_ns += timing->end_ns[r][i] - timing->start_ns[r][i];
    }
    row->span_idle_ns = row->last_ns - row->first_ns - row->busy_ns;
}

static void summarise(const struct timed *t, struct inq_schedule_timing *timing)
{
    int32_t n = t->schedule->n_ranks;
    int64_t busiest = 0;
    int64_t idle = 0;
    for (int32_t r = 0; r < n; r++) {
        time_rank(t, r, timing);
        const struct inq_schedule_rank_time *row = &timing->ranks[r];
        int64_t span = row->last_ns - row->first_ns;
        timing->span_ns = span > timing->span_ns ? span : timing->span_ns;
        busiest = row->busy_ns > busiest ? row->busy_ns : busiest;
        timing->peak_memory =
            row->peak_memory > timing->peak_memory ? row->peak_memory : timing->peak_memory;
    }
    for (int32_t r = 0; r < n; r++) {
        timing->ranks[r].idle_ns = timing->makespan_ns - timing->ranks[r].busy_ns;
        idle += timing->ranks[r].idle_ns;
    }
    double total = (double)timing->makespan_ns * (double)n;
    timing->bubble_ratio = total > 0.0 ? (double)idle / total : 0.0;
    timing->bubble_rate_zb =
        timing->span_ns > 0 ? (double)(timing->span_ns - busiest) / (double)timing->span_ns : 0.0;
}

static int simulate(struct timed *t, struct inq_schedule_timing *timing)
{
    const struct inq_graph *graph = t->graph.graph;
    int64_t *start_ns = inq_mem_zalloc(graph->n_ops, sizeof *start_ns);
    int64_t *end_ns = inq_mem_zalloc(graph->n_ops, sizeof *end_ns);
    int code = INQ_OK;
    if (start_ns == NULL || end_ns == NULL) {
        code = inq_err_set(t->err, INQ_NOMEM, "out of memory for the times of a schedule");
    } else {
        timing->makespan_ns = inq_simulate(graph, NULL, NULL, start_ns, end_ns);
        copy_times(t, start_ns, end_ns, timing);
        summarise(t, timing);
    }
    inq_mem_free(start_ns);
    inq_mem_free(end_ns);
    return code;
}

/* ---- memory
 * ------------------------------------------------------------------------------------------ */

static bool allocate(const struct inq_schedule *schedule, struct inq_schedule_timing *timing)
{
    size_t n_ranks = (size_t)schedule->n_ranks;
    timing->ranks = inq_mem_zalloc(n_ranks, sizeof *timing->ranks);
    timing->start_ns = inq_mem_zalloc(n_ranks, sizeof *timing->start_ns);
    timing->end_ns = inq_mem_zalloc(n_ranks, sizeof *timing->end_ns);
    bool ok = timing->ranks != NULL && timing->start_ns != NULL && timing->end_ns != NULL;
    for (size_t r = 0; ok && r < n_ranks; r++) {
        size_t n = schedule->ranks[r].n;
        timing->start_ns[r] = inq_mem_zalloc(n, sizeof **timing->start_ns);
        timing->end_ns[r] = inq_mem_zalloc(n, sizeof **timing->end_ns);
        ok = timing->start_ns[r] != NULL && timing->end_ns[r] != NULL;
    }
    return ok;
}

void inq_schedule_timing_release(struct inq_schedule_timing *timing, int32_t n_ranks)
{
    for (int32_t r = 0; r < n_ranks; r++) {
        if (timing->start_ns != NULL) {
            inq_mem_free(timing->start_ns[r]);
        }
        if (timing->end_ns != NULL) {
            inq_mem_free(timing->end_ns[r]);
        }
    }
    inq_mem_free(timing->start_ns);
    inq_mem_free(timing->end_ns);
    inq_mem_free(timing->ranks);
    *timing = (struct inq_schedule_timing){0};
}

int inq_schedule_time(const struct inq_schedule *schedule, const struct inq_costs *costs,
                      struct inq_schedule_timing *timing, struct inq_err *err)
{
    struct timed t = {.schedule = schedule, .costs = costs, .err = err};
    *timing = (struct inq_schedule_timing){0};
    int code = inq_schedule_graph_make(schedule, costs, &t.graph, err);
    if (code == INQ_OK && !allocate(schedule, timing)) {
        code = inq_err_set(err, INQ_NOMEM, "out of memory for the times of a schedule");
    }
    if (code == INQ_OK) {
        code = simulate(&t, timing);
    }
    inq_schedule_graph_release(&t.graph);
    if (code != INQ_OK) {
        inq_schedule_timing_release(timing, schedule->n_ranks);
    }
    return code;
}
