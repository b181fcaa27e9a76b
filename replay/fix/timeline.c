/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a study, before and after each fix, laid in time by the simulator: to be drawn. */
#include "fix/base/base.h"
#include "fix/spec.h"

#include "base/mem.h"

/* Ranks as recorded: a plan counts them from 0. */
static void name_ranks(const struct fix_step *job, struct inq_trace *trace)
{
    for (size_t r = 0; r < trace->n_ranks; r++) {
        struct inq_rank *rank = &trace->ranks[r];
        if (rank->rank >= 0 && (size_t)rank->rank < job->n_ranks) {
            rank->rank = job->ranks[rank->rank].number;
        }
    }
}

static int simulate(const struct inq_graph *graph, struct inq_execution *execution,
                    struct inq_err *err)
{
    execution->n_ops = graph->n_ops;
    execution->start_ns = inq_mem_alloc((graph->n_ops + 1) * sizeof *execution->start_ns);
    execution->end_ns = inq_mem_alloc((graph->n_ops + 1) * sizeof *execution->end_ns);
    if (execution->start_ns == NULL || execution->end_ns == NULL) {
        return inq_fix_no_memory(err);
    }
    (void)inq_simulate(graph, NULL, graph->delay_ns, execution->start_ns, execution->end_ns);
    return INQ_OK;
}

static int draw(const struct inq_fix_base *base, const char *spec, struct inq_run **run,
                struct inq_err *err)
{
    const struct inq_plan_options as_is = {.scale = 1.0};
    struct inq_graph *graph = NULL;
    struct inq_plan *plan = NULL;
    struct inq_execution execution = {0};
    int code = inq_fix_graph(base, spec, &graph, err);
    if (code == INQ_OK) {
        code = inq_plan_make(graph, &as_is, &plan, err);
    }
    if (code == INQ_OK) {
        code = simulate(graph, &execution, err);
    }
    if (code == INQ_OK) {
        code = inq_execution_trace(plan, &execution, run, err);
    }
    if (code == INQ_OK) {
        name_ranks(&base->job, (*run)->traces[0]);
    }
    inq_execution_release(&execution);
    inq_plan_free(plan);
    inq_graph_free(graph);
    return code;
}

int inq_fix_timeline(const struct inq_fix_base *base, size_t most, struct inq_fixes *fixes,
                     struct inq_err *err)
{
    size_t n = 0;
    int code = fixes->drawn == NULL ? draw(base, NULL, &fixes->drawn, err) : INQ_OK;
    for (size_t i = 0; i < fixes->n && code == INQ_OK; i++) {
        struct inq_fix *fix = &fixes->fixes[i];
        bool executed = fix->executed.order.judgment != INQ_NOT_EXECUTED;
        if (fix->step_t_ns < 0 || fix->drawn != NULL || (n >= most && !executed)) {
            continue;
        }
        code = draw(base, fix->spec, &fix->drawn, err);
        n++;
    }
    return code;
}
