/* SPDX-License-Identifier: Apache-2.0 */
/* What executions in turns show besides their lengths: whether each kept its plan, and which kinds
 * of ops of the original take longer or shorter than planned. */
#include "engine/engine.h"

#include <stdio.h>
#include <string.h>

static const char gaps[] = "launch gaps";

static const char *kind_of(const struct inq_plan *plan, uint32_t op)
{
    uint8_t type = plan->graph->op[op].type;
    enum inq_work work = (enum inq_work)plan->work[op];
    return type != INQ_OP_NONE        ? inq_op_type_text((enum inq_op_type)type)
           : work == INQ_WORK_NOTHING ? "host and other"
                                      : inq_work_text(work);
}

static struct inq_kind_time *row_of(struct inq_witness *w, const char *kind)
{
    size_t i = 0;
    while (i < w->n_kinds && w->kinds[i].kind != kind && strcmp(w->kinds[i].kind, kind) != 0) {
        i++;
    }
    if (i == w->n_kinds) {
        w->kinds[w->n_kinds++] = (struct inq_kind_time){.kind = kind};
    }
    return &w->kinds[i];
}

/* When all that an op waits for had ended; INT64_MIN where it waits for nothing. */
static int64_t ready_at(const struct inq_plan *plan, uint32_t op, const struct inq_execution *x)
{
    const struct inq_graph *g = plan->graph;
    uint32_t place = plan->place_of[op];
    int64_t ready = INT64_MIN;
    if (place > 0) {
        ready = x->end_ns[plan->lanes[plan->lane_of[op]].ops[place - 1]];
    }
    for (uint32_t d = g->dep_start[op]; d < g->dep_start[op + 1]; d++) {
        int64_t end = x->end_ns[g->deps[d]];
        ready = end > ready ? end : ready;
    }
    return ready;
}

static void add_times(struct inq_witness *w, const struct inq_plan *plan,
                      const struct inq_execution *x)
{
    const struct inq_graph *g = plan->graph;
    for (uint32_t i = 0; i < g->n_ops; i += g->members[i]) {
        int64_t arrival = x->start_ns[i];
        for (uint32_t k = i; k < i + g->members[i]; k++) {
            arrival = x->start_ns[k] > arrival ? x->start_ns[k] : arrival;
        }
        for (uint32_t k = i; k < i + g->members[i]; k++) {
            struct inq_kind_time *row = row_of(w, kind_of(plan, k));
            row->n++;
            row->planned_ns += plan->dur_ns[k];
            row->executed_ns += x->end_ns[k] - arrival;
            int64_t ready = ready_at(plan, k, x);
            if (ready == INT64_MIN) {
                continue; /* the execution begins when it does */
            }
            /* in no lane order it may be posted before its queue is free */
            int64_t gap = x->start_ns[k] - ready;
            row = row_of(w, gaps);
            row->n++;
            row->planned_ns += plan->delay_ns != NULL ? plan->delay_ns[k] : 0;
            row->executed_ns += g->op[k].lane == INQ_NONE && gap < 0 ? 0 : gap;
        }
    }
}

void inq_witness_take(struct inq_witness *witness, const struct inq_plan *plan, bool base,
                      const struct inq_execution *execution, int64_t slack_ns)
{
    struct inq_err err = {0};
    witness->n++;
    if (inq_execution_check(plan, execution, slack_ns, &err) != INQ_OK) {
        if (witness->n_broken++ == 0) {
            (void)snprintf(witness->broken, sizeof witness->broken, "%.*s",
                           (int)sizeof witness->broken - 1, err.message);
        }
        return;
    }
    if (base) {
        witness->n_base++;
        add_times(witness, plan, execution);
    }
}
