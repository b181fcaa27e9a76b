/* SPDX-License-Identifier: Apache-2.0 */
/* Why an execution came to a stop: walks from an op that did not end to what it waits for, until it
 * meets itself. */
#include "engine/host.h"

#include "base/mem.h"

#include <stdio.h>

/* Waits named in the message; the rest is counted. */
enum { MAX_NAMED = 6 };

enum why { WHY_DATA, WHY_LANE, WHY_GROUP };

struct wait {
    uint32_t op, on;
    enum why why;
};

/* What blocks an op, when it has not even arrived or waits in its group. */
static struct wait wait_of(const struct host_run *run, uint32_t op)
{
    const struct inq_plan *plan = run->plan;
    const struct inq_graph *g = plan->graph;
    if (run->state[op] == HOST_ARRIVED) {
        uint32_t first = run->group[op];
        for (uint32_t k = first; k < first + g->members[first]; k++) {
            if (run->state[k] == HOST_WAITING) {
                return (struct wait){op, k, WHY_GROUP};
            }
        }
    }
    uint32_t place = plan->place_of[op];
    uint32_t before = place > 0 ? plan->lanes[plan->lane_of[op]].ops[place - 1] : op;
    for (uint32_t d = g->dep_start[op]; d < g->dep_start[op + 1]; d++) {
        if (run->state[g->deps[d]] != HOST_ENDED) {
            return (struct wait){op, g->deps[d], g->deps[d] == before ? WHY_LANE : WHY_DATA};
        }
    }
    return (struct wait){op, before, WHY_LANE};
}

/* A name that says which one it is even where the plan knows nothing of it. */
static void name_op(const struct host_run *run, uint32_t op, char *name, size_t size)
{
    const struct inq_graph_op *o = &run->plan->graph->op[op];
    (void)inq_graph_op_text(o, name, size);
    if (o->type == INQ_OP_NONE) {
        size_t lane = run->plan->lane_of[op];
        (void)snprintf(name, size, "rank %d op %u of lane %zu", o->rank, run->plan->place_of[op],
                       lane);
    }
}

static size_t append(char *text, size_t size, size_t len, const char *more)
{
    int n = snprintf(text + len, size - len, "%s", more);
    return n < 0 ? len : len + (size_t)n < size ? len + (size_t)n : size - 1;
}

static void describe(const struct host_run *run, const struct wait *waits, size_t n, char *text,
                     size_t size)
{
    static const char *const verbs[] = {" waits for the result of ", " waits on its lane for ",
                                        " waits in its transfer for "};
    char name[96];
    size_t len = 0;
    for (size_t i = 0; i < n && i < MAX_NAMED; i++) {
        len = append(text, size, len, i > 0 ? "; " : "");
        name_op(run, waits[i].op, name, sizeof name);
        len = append(text, size, len, name);
        len = append(text, size, len, verbs[waits[i].why]);
        name_op(run, waits[i].on, name, sizeof name);
        len = append(text, size, len, name);
    }
    if (n > MAX_NAMED) {
        (void)snprintf(name, sizeof name, "; and %zu more", n - MAX_NAMED);
        (void)append(text, size, len, name);
    }
}

int inq_host_explain(const struct host_run *run, struct inq_err *err)
{
    size_t n_ops = run->plan->graph->n_ops;
    struct wait *waits = inq_mem_alloc((n_ops + 1) * sizeof *waits);
    uint32_t *place = inq_mem_zalloc(n_ops + 1, sizeof *place); /* 1 + where its wait is */
    int code = INQ_DEADLOCK;
    if (waits == NULL || place == NULL) {
        code = inq_err_set(err, INQ_NOMEM, "out of memory for explaining a deadlock");
    } else {
        uint32_t op = 0;
        while (op + 1 < n_ops && run->state[op] == HOST_ENDED) {
            op++;
        }
        size_t n = 0;
        while (place[op] == 0) {
            waits[n] = wait_of(run, op);
            place[op] = (uint32_t)++n;
            op = waits[n - 1].on;
        }
        char text[420] = "";
        size_t skip = place[op] - 1; /* the way into the circle is not part of it */
        describe(run, waits + skip, n - skip, text, sizeof text);
        (void)inq_err_set(err, INQ_DEADLOCK, "%zu ops never finish: %s",
                          n_ops - (size_t)atomic_load(&run->n_ended), text);
    }
    inq_mem_free(waits);
    inq_mem_free(place);
    return code;
}
