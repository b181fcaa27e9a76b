/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/critical_path.h"

#include "base/mem.h"

void inq_path_release(struct inq_path *path)
{
    inq_mem_free(path->pieces);
    *path = (struct inq_path){0};
}

/* Adds the stretch from `from_ns` to *at, if there is any, and goes on at its beginning. */
static int add_piece(struct inq_path *path, uint32_t op, bool delay, int64_t from_ns, int64_t *at,
                     struct inq_err *err)
{
    if (from_ns >= *at) {
        return INQ_OK;
    }
    int code = inq_mem_grow(&path->pieces, &path->cap, path->n + 1, sizeof *path->pieces,
                            2 * INQ_GRAPH_MAX_OPS, err);
    if (code == INQ_OK) {
        path->pieces[path->n++] = (struct inq_path_piece){op, delay, from_ns, *at};
        *at = from_ns;
    }
    return code;
}

/* The member of the group of `op` that arrived last (of several the first). */
static uint32_t last_arriver(const struct inq_graph *g, const int64_t *start_ns, uint32_t op)
{
    uint32_t n = 0;
    uint32_t first = inq_graph_group_of(g, op, &n);
    uint32_t last = op; /* nobody was later: the op itself */
    for (uint32_t k = first; k < first + n; k++) {
        if (start_ns[k] > start_ns[last]) {
            last = k;
        }
    }
    return last;
}

/* What `op` waited for last; INQ_NONE when it waited for nothing. */
static uint32_t last_input(const struct inq_graph *g, const struct inq_timing *timing, uint32_t op)
{
    uint32_t last = INQ_NONE;
    for (uint32_t d = g->dep_start[op]; d < g->dep_start[op + 1]; d++) {
        if (last == INQ_NONE || timing->end_ns[g->deps[d]] > timing->end_ns[last]) {
            last = g->deps[d];
        }
    }
    return last;
}

/* As last_input, or what it followed in time where that ended later. */
static uint32_t last_before(const struct inq_graph *g, const struct inq_timing *timing, uint32_t op)
{
    uint32_t last = last_input(g, timing, op);
    uint32_t before = timing->before != NULL ? timing->before[op] : INQ_NONE;
    bool later =
        before != INQ_NONE && (last == INQ_NONE || timing->end_ns[before] > timing->end_ns[last]);
    return later ? before : last;
}

int inq_path_find(const struct inq_graph *graph, const struct inq_timing *timing, uint32_t last,
                  int64_t origin_ns, struct inq_path *path, struct inq_err *err)
{
    int64_t at = timing->end_ns[last];
    int code = INQ_OK;
    size_t visits = 0; /* clocks that disagree could lead in a circle */
    uint32_t op = last;
    for (; code == INQ_OK && op != INQ_NONE && at > origin_ns && visits <= 2 * graph->n_ops;
         visits++) {
        uint32_t from = last_arriver(graph, timing->start_ns, op);
        int64_t begin = timing->start_ns[from];
        code = add_piece(path, op, false, begin > origin_ns ? begin : origin_ns, &at, err);
        op = from;
        uint32_t input = last_before(graph, timing, op);
        begin = input != INQ_NONE ? timing->end_ns[input] : origin_ns;
        if (code == INQ_OK) {
            code = add_piece(path, op, true, begin > origin_ns ? begin : origin_ns, &at, err);
        }
        op = input;
    }
    for (size_t i = 0; i < path->n / 2; i++) { /* found from the end */
        struct inq_path_piece swap = path->pieces[i];
        path->pieces[i] = path->pieces[path->n - 1 - i];
        path->pieces[path->n - 1 - i] = swap;
    }
    return code;
}

/* Hands the room of one op on to what it waited for. */
static void limit_inputs(const struct inq_graph *g, const struct inq_timing *timing, uint32_t op,
                         int64_t latest_start, int64_t *latest_end)
{
    uint32_t input = last_input(g, timing, op);
    int64_t delay = input != INQ_NONE ? timing->start_ns[op] - timing->end_ns[input] : 0;
    int64_t limit = latest_start - (delay > 0 ? delay : 0);
    for (uint32_t d = g->dep_start[op]; d < g->dep_start[op + 1]; d++) {
        uint32_t dep = g->deps[d];
        latest_end[dep] = limit < latest_end[dep] ? limit : latest_end[dep];
    }
}

/* A group, or an op alone: `first` .. `end` - 1. */
static void pass_unit(const struct inq_graph *g, const struct inq_timing *timing, size_t first,
                      size_t end, int64_t *latest_end)
{
    int64_t room = INT64_MAX; /* all members may come this much later */
    int64_t arrival = INT64_MIN;
    for (size_t k = first; k < end; k++) {
        int64_t own = latest_end[k] - timing->end_ns[k];
        room = own < room ? own : room;
        arrival = timing->start_ns[k] > arrival ? timing->start_ns[k] : arrival;
    }
    room = room > 0 ? room : 0;
    for (size_t k = first; k < end; k++) {
        /* an early member has the time until the last one comes on top */
        limit_inputs(g, timing, (uint32_t)k, arrival + room, latest_end);
    }
}

void inq_slack_find(const struct inq_graph *graph, const struct inq_timing *timing,
                    int64_t *slack_ns)
{
    int64_t last = 0;
    for (size_t i = 0; i < graph->n_ops; i++) {
        last = i == 0 || timing->end_ns[i] > last ? timing->end_ns[i] : last;
    }
    for (size_t i = 0; i < graph->n_ops; i++) {
        slack_ns[i] = last; /* the latest allowed end, until all is passed */
    }
    for (size_t end = graph->n_ops; end > 0;) {
        size_t first = end - 1;
        while (graph->members[first] == 0) {
            first--;
        }
        pass_unit(graph, timing, first, end, slack_ns);
        end = first;
    }
    for (size_t i = 0; i < graph->n_ops; i++) {
        int64_t room = slack_ns[i] - timing->end_ns[i];
        slack_ns[i] = room > 0 ? room : 0;
    }
}
