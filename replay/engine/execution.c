/* SPDX-License-Identifier: Apache-2.0 */
/* What an execution leaves: times of the median repeat, and whether they kept the plan. */
#include "engine/engine.h"

#include "base/mem.h"
#include "base/stats.h"

#include <inttypes.h>
#include <string.h>

/* ---- options --------------------------------------------------------------------------------- */

int inq_replay_warmup(const struct inq_replay_options *options)
{
    int warmup = options != NULL ? options->warmup : 0;
    return warmup == 0 ? 1 : warmup < 0 ? 0 : warmup;
}

int inq_replay_repeats(const struct inq_replay_options *options)
{
    return options != NULL && options->repeats > 0 ? options->repeats : 5;
}

int64_t inq_replay_timeout_ns(const struct inq_plan *plan, const struct inq_replay_options *options)
{
    /* recorded work takes what it takes here: the simulated time bounds nothing, a minute does */
    bool recorded = options != NULL && options->work == INQ_WORK_RECORDED;
    const int64_t least_ns = (int64_t)(recorded ? 60 : 10) * 1000 * 1000 * 1000;
    if (options != NULL && options->timeout_ns > 0) {
        return options->timeout_ns;
    }
    if (plan->simulated_ns > INT64_MAX / 40) {
        return INT64_MAX / 4;
    }
    return plan->simulated_ns * 10 > least_ns ? plan->simulated_ns * 10 : least_ns;
}

const char *inq_op_timing_text(enum inq_op_timing timing)
{
    static const char *const texts[] = {[INQ_TIMING_GIVEN] = "given",
                                        [INQ_TIMING_CALIBRATED] = "calibrated",
                                        [INQ_TIMING_MEASURED] = "measured"};
    return timing < INQ_TIMING_COUNT ? texts[timing] : "";
}

/* ---- repeats --------------------------------------------------------------------------------- */

int inq_recorder_init(struct inq_recorder *recorder, size_t n_ops, size_t n_repeats,
                      struct inq_err *err)
{
    struct inq_recorder r = {.n_ops = n_ops, .n_repeats = n_repeats};
    size_t row = n_ops > 0 ? n_ops : 1;
    bool fits = n_repeats > 0 && n_repeats <= SIZE_MAX / row / sizeof(int64_t);
    r.start_ns = fits ? inq_mem_zalloc(n_repeats * row, sizeof *r.start_ns) : NULL;
    r.end_ns = fits ? inq_mem_zalloc(n_repeats * row, sizeof *r.end_ns) : NULL;
    r.makespan_ns = fits ? inq_mem_zalloc(n_repeats, sizeof *r.makespan_ns) : NULL;
    if (r.start_ns == NULL || r.end_ns == NULL || r.makespan_ns == NULL) {
        inq_recorder_release(&r);
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu repeats of %zu ops", n_repeats,
                           n_ops);
    }
    *recorder = r;
    return INQ_OK;
}

void inq_recorder_release(struct inq_recorder *recorder)
{
    inq_mem_free(recorder->start_ns);
    inq_mem_free(recorder->end_ns);
    inq_mem_free(recorder->makespan_ns);
    *recorder = (struct inq_recorder){0};
}

int64_t *inq_recorder_start(struct inq_recorder *recorder)
{
    return recorder->start_ns + recorder->n * recorder->n_ops;
}

int64_t *inq_recorder_end(struct inq_recorder *recorder)
{
    return recorder->end_ns + recorder->n * recorder->n_ops;
}

int64_t inq_recorder_next(struct inq_recorder *recorder)
{
    int64_t *start_ns = inq_recorder_start(recorder);
    int64_t *end_ns = inq_recorder_end(recorder);
    int64_t first = recorder->n_ops > 0 ? start_ns[0] : 0;
    int64_t last = recorder->n_ops > 0 ? end_ns[0] : 0;
    for (size_t i = 1; i < recorder->n_ops; i++) {
        first = start_ns[i] < first ? start_ns[i] : first;
        last = end_ns[i] > last ? end_ns[i] : last;
    }
    for (size_t i = 0; i < recorder->n_ops; i++) {
        start_ns[i] -= first;
        end_ns[i] -= first;
    }
    recorder->makespan_ns[recorder->n++] = last - first;
    return last - first;
}

static int64_t *copy_row(const int64_t *rows, size_t row, size_t n_ops)
{
    int64_t *copy = inq_mem_alloc((n_ops > 0 ? n_ops : 1) * sizeof *copy);
    if (copy != NULL && n_ops > 0) {
        memcpy(copy, rows + row * n_ops, n_ops * sizeof *copy);
    }
    return copy;
}

int inq_recorder_finish(struct inq_recorder *recorder, struct inq_execution *out,
                        struct inq_err *err)
{
    size_t n = recorder->n;
    int64_t *sorted = copy_row(recorder->makespan_ns, 0, n);
    if (sorted == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu repeats", n);
    }
    out->n_ops = recorder->n_ops;
    out->n_repeats = n;
    out->median_ns = inq_median_i64(sorted, n);
    inq_mem_free(sorted);
    size_t row = 0;
    while (row + 1 < n && recorder->makespan_ns[row] != out->median_ns) {
        row++;
    }
    out->start_ns = copy_row(recorder->start_ns, row, recorder->n_ops);
    out->end_ns = copy_row(recorder->end_ns, row, recorder->n_ops);
    if (out->start_ns == NULL || out->end_ns == NULL) {
        inq_execution_release(out);
        return inq_err_set(err, INQ_NOMEM, "out of memory for the times of %zu ops",
                           recorder->n_ops);
    }
    out->makespan_ns = recorder->makespan_ns;
    recorder->makespan_ns = NULL;
    inq_recorder_release(recorder);
    return INQ_OK;
}

void inq_execution_release(struct inq_execution *execution)
{
    inq_mem_free(execution->start_ns);
    inq_mem_free(execution->end_ns);
    inq_mem_free(execution->makespan_ns);
    inq_mem_free(execution->timing);
    *execution = (struct inq_execution){0};
}

/* ---- check ----------------------------------------------------------------------------------- */

struct check {
    const struct inq_plan *plan;
    const struct inq_execution *x;
    int64_t slack_ns;
    struct inq_err *err;
};

/* `after` must not be before `before_ns`, which `before` gave. */
static int check_order(const struct check *c, uint32_t before, uint32_t after, int64_t at_ns,
                       const char *what)
{
    int64_t before_ns = c->x->end_ns[before];
    if (at_ns + c->slack_ns >= before_ns) {
        return INQ_OK;
    }
    char a[96];
    char b[96];
    return inq_err_set(c->err, INQ_FORMAT, "%s %s %" PRId64 " ns before %s had ended",
                       inq_graph_op_text(&c->plan->graph->op[after], a, sizeof a), what,
                       before_ns - at_ns,
                       inq_graph_op_text(&c->plan->graph->op[before], b, sizeof b));
}

/* When an op of a lane began: one in no lane order of the graph may be posted early, and begins
 * when its group transfers. */
static int64_t begin_of(const struct check *c, uint32_t op)
{
    const struct inq_graph *g = c->plan->graph;
    int64_t begin = c->x->start_ns[op];
    uint32_t n = 1;
    uint32_t first = inq_graph_group_of(g, op, &n);
    for (uint32_t k = first; g->op[op].lane == INQ_NONE && k < first + n; k++) {
        begin = c->x->start_ns[k] > begin ? c->x->start_ns[k] : begin;
    }
    return begin;
}

static int check_lanes(const struct check *c)
{
    for (size_t k = 0; k < c->plan->n_lanes; k++) {
        const struct inq_plan_lane *lane = &c->plan->lanes[k];
        for (size_t i = 1; i < lane->n; i++) {
            int code = check_order(c, lane->ops[i - 1], lane->ops[i], begin_of(c, lane->ops[i]),
                                   "started on its lane");
            if (code != INQ_OK) {
                return code;
            }
        }
    }
    return INQ_OK;
}

static int check_deps(const struct check *c)
{
    const struct inq_graph *g = c->plan->graph;
    for (uint32_t i = 0; i < g->n_ops; i++) {
        for (uint32_t d = g->dep_start[i]; d < g->dep_start[i + 1]; d++) {
            int code = check_order(c, g->deps[d], i, c->x->start_ns[i], "started");
            if (code != INQ_OK) {
                return code;
            }
        }
    }
    return INQ_OK;
}

static int check_groups(const struct check *c)
{
    const struct inq_graph *g = c->plan->graph;
    for (uint32_t i = 0; i < g->n_ops; i += g->members[i]) {
        uint32_t last = i;
        for (uint32_t k = i; k < i + g->members[i]; k++) {
            last = c->x->start_ns[k] > c->x->start_ns[last] ? k : last;
        }
        for (uint32_t k = i; k < i + g->members[i]; k++) {
            if (c->x->end_ns[k] + c->slack_ns < c->x->start_ns[last]) {
                char a[96];
                char b[96];
                return inq_err_set(c->err, INQ_FORMAT, "%s ended %" PRId64 " ns before %s arrived",
                                   inq_graph_op_text(&g->op[k], a, sizeof a),
                                   c->x->start_ns[last] - c->x->end_ns[k],
                                   inq_graph_op_text(&g->op[last], b, sizeof b));
            }
        }
    }
    return INQ_OK;
}

int inq_execution_check(const struct inq_plan *plan, const struct inq_execution *execution,
                        int64_t slack_ns, struct inq_err *err)
{
    struct check c = {plan, execution, slack_ns, err};
    if (execution->n_ops != plan->graph->n_ops) {
        return inq_err_set(err, INQ_FORMAT, "%zu ops were executed, the plan has %zu",
                           execution->n_ops, plan->graph->n_ops);
    }
    int code = check_deps(&c);
    if (code == INQ_OK) {
        code = check_lanes(&c);
    }
    return code == INQ_OK ? check_groups(&c) : code;
}
