/* SPDX-License-Identifier: Apache-2.0 */
/* A graph laid out for execution: scaled durations, what each op does, and the queue it is in. */
#include "engine/engine.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/sort.h"

#include <inttypes.h>
#include <math.h>

/* Scaled sums stay below this, so that no sum of starts and durations overflows. */
static const double max_total_ns = (double)(INT64_MAX / 4);

/* ---- durations ------------------------------------------------------------------------------- */

/* Nothing real takes less than no time: negative values (clock error) count as 0. */
static int scale_times(const int64_t *from_ns, size_t n, double scale, int64_t *to_ns,
                       struct inq_err *err)
{
    double total = 0.0;
    for (size_t i = 0; i < n; i++) {
        double scaled = from_ns[i] > 0 ? (double)from_ns[i] * scale : 0.0;
        total += scaled;
        if (total > max_total_ns) {
            return inq_err_set(err, INQ_USAGE, "scaled by %g the durations do not fit", scale);
        }
        to_ns[i] = scale == 1.0 && from_ns[i] > 0 ? from_ns[i] : llround(scaled);
    }
    return INQ_OK;
}

static int fill_times(struct inq_plan *plan, const struct inq_plan_options *options,
                      struct inq_err *err)
{
    const struct inq_graph *g = plan->graph;
    const int64_t *dur_ns = options->dur_ns != NULL ? options->dur_ns : g->dur_ns;
    const int64_t *delay_ns = options->delay_ns != NULL ? options->delay_ns : g->delay_ns;
    int code = scale_times(dur_ns, g->n_ops, plan->scale, plan->dur_ns, err);
    if (code == INQ_OK && delay_ns != NULL) {
        code = scale_times(delay_ns, g->n_ops, plan->scale, plan->delay_ns, err);
    }
    return code;
}

/* ---- work ------------------------------------------------------------------------------------ */

static const uint8_t work_of_type[INQ_OP_TYPE_COUNT] = {
    [INQ_OP_FORWARD] = INQ_WORK_COMPUTE,
    [INQ_OP_BACKWARD] = INQ_WORK_COMPUTE,
    [INQ_OP_BACKWARD_INPUT] = INQ_WORK_COMPUTE,
    [INQ_OP_BACKWARD_WEIGHT] = INQ_WORK_COMPUTE,
    [INQ_OP_FORWARD_SEND] = INQ_WORK_SEND,
    [INQ_OP_FORWARD_RECV] = INQ_WORK_RECV,
    [INQ_OP_BACKWARD_SEND] = INQ_WORK_SEND,
    [INQ_OP_BACKWARD_RECV] = INQ_WORK_RECV,
    [INQ_OP_PARAMS_ALL_GATHER] = INQ_WORK_ALL_GATHER,
    [INQ_OP_GRADS_REDUCE_SCATTER] = INQ_WORK_REDUCE_SCATTER,
    [INQ_OP_SEPARATE_GRADS_ALL_REDUCE] = INQ_WORK_ALL_REDUCE,
    [INQ_OP_LAYERNORM_GRADS_ALL_REDUCE] = INQ_WORK_ALL_REDUCE,
    [INQ_OP_EMBEDDING_GRADS_ALL_REDUCE] = INQ_WORK_ALL_REDUCE,
    [INQ_OP_OPTIMIZER] = INQ_WORK_COMPUTE,
    [INQ_OP_OPTIMIZER_CLIP] = INQ_WORK_COMPUTE,
};

const char *inq_work_text(enum inq_work work)
{
    static const char *const texts[] = {
#define WORK_TEXT(name, text) [INQ_WORK_##name] = (text),
        INQ_WORKS(WORK_TEXT)
#undef WORK_TEXT
    };
    return (size_t)work < INQ_WORK_COUNT ? texts[work] : "";
}

static uint8_t work_of_class(const struct inq_graph_op *op)
{
    switch ((enum inq_op_class)op->cls) {
    case INQ_CLASS_COMPUTE:
        return INQ_WORK_COMPUTE;
    case INQ_CLASS_COPY:
        return INQ_WORK_COPY;
    case INQ_CLASS_COMM:
        return INQ_WORK_ALL_REDUCE;
    case INQ_CLASS_OTHER:
    case INQ_CLASS_COUNT:
        break;
    }
    return INQ_WORK_NOTHING;
}

/* What it does, and what is left of that for an op that is in no group. */
static uint8_t work_of(const struct inq_graph_op *op, uint32_t members)
{
    uint8_t work = op->type < INQ_OP_TYPE_COUNT ? work_of_type[op->type] : INQ_WORK_NOTHING;
    if (work == INQ_WORK_NOTHING && op->type == INQ_OP_NONE) {
        work = work_of_class(op);
    }
    bool pairs = work == INQ_WORK_SEND || work == INQ_WORK_RECV;
    bool groups = pairs || work == INQ_WORK_ALL_REDUCE || work == INQ_WORK_REDUCE_SCATTER ||
                  work == INQ_WORK_ALL_GATHER;
    if (groups && members < 2) {
        /* a transfer on its own brings data to where it is; a call without its peers moves none */
        return op->lane == INQ_NONE ? INQ_WORK_COPY : INQ_WORK_NOTHING;
    }
    return pairs && members != 2 ? INQ_WORK_NOTHING : work;
}

static void fill_work(struct inq_plan *plan, const struct inq_plan_options *options)
{
    const struct inq_graph *g = plan->graph;
    for (size_t i = 0; i < g->n_ops;) {
        uint32_t members = g->members[i];
        for (uint32_t k = 0; k < members; k++, i++) {
            bool given = options->work != NULL && options->work[i] < INQ_WORK_COUNT;
            plan->work[i] = given ? options->work[i] : work_of(&g->op[i], members);
            plan->bytes[i] = options->bytes != NULL ? options->bytes[i] : -1;
            if (plan->product != NULL && plan->work[i] == INQ_WORK_COMPUTE) {
                plan->product[i] = options->product[i];
            }
            bool shorter = plan->dur_ns[i] > 0 &&
                           (plan->shortest_ns == 0 || plan->dur_ns[i] < plan->shortest_ns);
            if (plan->work[i] == INQ_WORK_COMPUTE && shorter) {
                plan->shortest_ns = plan->dur_ns[i];
            }
        }
    }
}

/* ---- lanes ----------------------------------------------------------------------------------- */

struct queue {
    int32_t rank;
    uint32_t number; /* for a stable order of the lanes of a rank */
    size_t n;
    int64_t end_ns; /* simulated end of the last op; loose lanes only */
    int64_t last_dur_ns;
};

struct layout {
    struct inq_plan *plan;
    const int32_t *numbers; /* of ranks; NULL: as in the graph */
    struct inq_err *err;
    int64_t *start_ns, *end_ns; /* [n_ops] simulated */
    int64_t *key_ns;            /* [n_loose] */
    uint32_t *loose;            /* [n_loose] ops in no lane order */
    uint32_t *perm;             /* [n_loose] */
    size_t n_loose;
    size_t n, cap;
    struct queue *queues;
    size_t n_loose_queues, cap_loose_queues;
    uint32_t *next_loose; /* by queue: the next loose queue of the rank */
    struct inq_map by_lane, first_loose;
};

static int add_queue(struct layout *l, int32_t rank, uint32_t *queue)
{
    if (l->n >= INQ_NONE - 1) {
        return inq_err_set(l->err, INQ_LIMIT, "too many lanes");
    }
    int code = inq_mem_grow(&l->queues, &l->cap, l->n + 1, sizeof *l->queues, INQ_NONE, l->err);
    if (code == INQ_OK) {
        code = inq_mem_grow(&l->next_loose, &l->cap_loose_queues, l->n + 1, sizeof *l->next_loose,
                            INQ_NONE, l->err);
    }
    if (code == INQ_OK) {
        *queue = (uint32_t)l->n;
        l->queues[l->n] = (struct queue){.rank = rank, .number = *queue};
        l->next_loose[l->n++] = INQ_NONE;
    }
    return code;
}

/* An op of the graph's own lanes goes to the end of its lane: the index order is the lane order. */
static int place_in_lane(struct layout *l, uint32_t i)
{
    const struct inq_graph_op *op = &l->plan->graph->op[i];
    uint64_t key = (uint64_t)(uint32_t)op->rank << 32 | op->lane;
    uint32_t queue = 0;
    int code = INQ_OK;
    if (!inq_map_get(&l->by_lane, key, &queue)) {
        code = add_queue(l, op->rank, &queue);
        if (code == INQ_OK) {
            code = inq_map_put(&l->by_lane, key, queue, l->err);
        }
    }
    l->plan->lane_of[i] = queue;
    return code;
}

/* A loose op goes to the queue of its rank that has been free for longest when its group begins to
 * transfer: before that an op that was posted early only waits, which it can do behind others. Some
 * reserve, so that an execution a little off the simulation is not delayed by the queue. */
static int place_loose(struct layout *l, uint32_t i, int64_t arrival_ns)
{
    const struct inq_graph_op *op = &l->plan->graph->op[i];
    uint64_t key = (uint32_t)op->rank;
    uint32_t first = INQ_NONE;
    uint32_t best = INQ_NONE;
    (void)inq_map_get(&l->first_loose, key, &first);
    for (uint32_t q = first; q != INQ_NONE; q = l->next_loose[q]) {
        if (best == INQ_NONE || l->queues[q].end_ns < l->queues[best].end_ns) {
            best = q;
        }
    }
    int code = INQ_OK;
    if (best == INQ_NONE || l->queues[best].end_ns + l->queues[best].last_dur_ns > arrival_ns) {
        code = add_queue(l, op->rank, &best);
        if (code == INQ_OK) {
            l->next_loose[best] = first;
            code = inq_map_put(&l->first_loose, key, best, l->err);
        }
    }
    if (code == INQ_OK) {
        l->queues[best].end_ns = l->end_ns[i];
        l->queues[best].last_dur_ns = l->end_ns[i] - arrival_ns;
        l->plan->lane_of[i] = best;
    }
    return code;
}

/* Loose ops in order of when their group begins to transfer: dependencies and queues then agree, so
 * that no queue can make ops wait in a circle. */
static int place_all(struct layout *l)
{
    const struct inq_graph *g = l->plan->graph;
    int code = INQ_OK;
    for (size_t i = 0; i < g->n_ops;) {
        size_t next = i + g->members[i];
        int64_t arrival = 0;
        for (size_t k = i; k < next; k++) {
            arrival = l->start_ns[k] > arrival ? l->start_ns[k] : arrival;
        }
        for (; code == INQ_OK && i < next; i++) {
            if (g->op[i].lane != INQ_NONE) {
                code = place_in_lane(l, (uint32_t)i);
            } else {
                l->key_ns[l->n_loose] = arrival;
                l->loose[l->n_loose++] = (uint32_t)i;
            }
        }
        if (code != INQ_OK) {
            return code;
        }
    }
    code = inq_sort_order_i64(l->key_ns, l->n_loose, l->perm, l->err);
    for (size_t k = 0; code == INQ_OK && k < l->n_loose; k++) {
        code = place_loose(l, l->loose[l->perm[k]], l->key_ns[l->perm[k]]);
    }
    return code;
}

static int compare_queues(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    const struct queue *x = a;
    const struct queue *y = b;
    if (x->rank != y->rank) {
        return x->rank < y->rank ? -1 : 1;
    }
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Sorted lanes, each with its ops: first the graph's own order, then the loose ones'. */
static int make_lanes(struct layout *l)
{
    struct inq_plan *plan = l->plan;
    size_t n_ops = plan->graph->n_ops;
    for (size_t i = 0; i < n_ops; i++) {
        l->queues[plan->lane_of[i]].n++;
    }
    int code = inq_sort(l->queues, l->n, sizeof *l->queues, compare_queues, NULL, l->err);
    plan->lanes = inq_mem_zalloc(l->n + 1, sizeof *plan->lanes);
    if (code == INQ_OK && plan->lanes == NULL) {
        code = inq_err_set(l->err, INQ_NOMEM, "out of memory for a plan of %zu lanes", l->n);
    }
    for (size_t k = 0; code == INQ_OK && k < l->n; k++) {
        struct inq_plan_lane *lane = &plan->lanes[k];
        plan->n_lanes = k + 1;
        lane->rank = l->queues[k].rank;
        lane->number = l->numbers != NULL ? l->numbers[lane->rank] : lane->rank;
        lane->ops = inq_mem_alloc(l->queues[k].n * sizeof *lane->ops);
        l->next_loose[l->queues[k].number] = (uint32_t)k; /* from here on: queue to lane */
        if (lane->ops == NULL) {
            code = inq_err_set(l->err, INQ_NOMEM, "out of memory for a plan of %zu ops", n_ops);
        }
    }
    for (size_t k = 0; code == INQ_OK && k < n_ops; k++) {
        bool in_lane = plan->graph->op[k].lane != INQ_NONE;
        if (in_lane) {
            struct inq_plan_lane *lane = &plan->lanes[l->next_loose[plan->lane_of[k]]];
            lane->ops[lane->n++] = (uint32_t)k;
        }
    }
    for (size_t k = 0; code == INQ_OK && k < l->n_loose; k++) {
        uint32_t op = l->loose[l->perm[k]];
        struct inq_plan_lane *lane = &plan->lanes[l->next_loose[plan->lane_of[op]]];
        lane->ops[lane->n++] = op;
    }
    return code;
}

static void number_ops(struct inq_plan *plan)
{
    for (size_t k = 0; k < plan->n_lanes; k++) {
        for (size_t i = 0; i < plan->lanes[k].n; i++) {
            plan->lane_of[plan->lanes[k].ops[i]] = (uint32_t)k;
            plan->place_of[plan->lanes[k].ops[i]] = (uint32_t)i;
        }
    }
}

static int64_t simulate(struct layout *l)
{
    const struct inq_plan *plan = l->plan;
    int64_t end = inq_simulate(plan->graph, plan->dur_ns, plan->delay_ns, l->start_ns, l->end_ns);
    int64_t first = plan->graph->n_ops > 0 ? INT64_MAX : 0;
    for (size_t i = 0; i < plan->graph->n_ops; i++) {
        first = l->start_ns[i] < first ? l->start_ns[i] : first;
    }
    return end - first;
}

static int lay_out(struct inq_plan *plan, const int32_t *numbers, struct inq_err *err)
{
    size_t n = plan->graph->n_ops;
    struct layout l = {.plan = plan, .numbers = numbers, .err = err};
    l.start_ns = inq_mem_alloc(n * sizeof *l.start_ns);
    l.end_ns = inq_mem_alloc(n * sizeof *l.end_ns);
    l.key_ns = inq_mem_alloc(n * sizeof *l.key_ns);
    l.loose = inq_mem_alloc(n * sizeof *l.loose);
    l.perm = inq_mem_alloc(n * sizeof *l.perm);
    int code = INQ_OK;
    if (l.start_ns == NULL || l.end_ns == NULL || l.key_ns == NULL || l.loose == NULL ||
        l.perm == NULL) {
        code = inq_err_set(err, INQ_NOMEM, "out of memory for a plan of %zu ops", n);
    } else {
        plan->simulated_ns = simulate(&l);
        code = place_all(&l);
    }
    if (code == INQ_OK) {
        code = make_lanes(&l);
    }
    if (code == INQ_OK) {
        number_ops(plan);
    }
    inq_mem_free(l.start_ns);
    inq_mem_free(l.end_ns);
    inq_mem_free(l.key_ns);
    inq_mem_free(l.loose);
    inq_mem_free(l.perm);
    inq_mem_free(l.queues);
    inq_mem_free(l.next_loose);
    inq_map_release(&l.by_lane);
    inq_map_release(&l.first_loose);
    return code;
}

/* ---- the plan -------------------------------------------------------------------------------- */

static int alloc_plan(struct inq_plan *plan, bool has_delay, bool has_products, struct inq_err *err)
{
    size_t n = plan->graph->n_ops;
    plan->product = has_products ? inq_mem_zalloc(n, sizeof *plan->product) : NULL;
    plan->dur_ns = inq_mem_zalloc(n, sizeof *plan->dur_ns);
    plan->delay_ns = has_delay ? inq_mem_zalloc(n, sizeof *plan->delay_ns) : NULL;
    plan->work = inq_mem_zalloc(n, sizeof *plan->work);
    plan->bytes = inq_mem_zalloc(n, sizeof *plan->bytes);
    plan->lane_of = inq_mem_zalloc(n, sizeof *plan->lane_of);
    plan->place_of = inq_mem_zalloc(n, sizeof *plan->place_of);
    bool ok = (!has_products || plan->product != NULL) && plan->dur_ns != NULL &&
              (!has_delay || plan->delay_ns != NULL) && plan->work != NULL && plan->bytes != NULL &&
              plan->lane_of != NULL && plan->place_of != NULL;
    return ok ? INQ_OK : inq_err_set(err, INQ_NOMEM, "out of memory for a plan of %zu ops", n);
}

int inq_plan_make(const struct inq_graph *graph, const struct inq_plan_options *options,
                  struct inq_plan **plan, struct inq_err *err)
{
    static const struct inq_plan_options defaults = {0};
    const struct inq_plan_options *o = options != NULL ? options : &defaults;
    *plan = NULL;
    double scale = o->scale == 0.0 ? 1.0 : o->scale;
    if (!isfinite(scale) || scale < 0.0) {
        return inq_err_set(err, INQ_USAGE, "a scale is a positive number");
    }
    struct inq_plan *p = inq_mem_zalloc(1, sizeof *p);
    if (p == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for a plan");
    }
    p->graph = graph;
    p->scale = scale;
    int code =
        alloc_plan(p, o->delay_ns != NULL || graph->delay_ns != NULL, o->product != NULL, err);
    if (code == INQ_OK) {
        code = fill_times(p, o, err);
    }
    if (code == INQ_OK) {
        fill_work(p, o);
        code = lay_out(p, o->numbers, err);
    }
    if (code != INQ_OK) {
        inq_plan_free(p);
        return code;
    }
    *plan = p;
    return INQ_OK;
}

size_t inq_plan_ranks(const struct inq_plan *plan)
{
    size_t n = 0;
    for (size_t k = 0; k < plan->n_lanes; k++) {
        n += k == 0 || plan->lanes[k].rank != plan->lanes[k - 1].rank;
    }
    return n;
}

void inq_plan_free(struct inq_plan *plan)
{
    if (plan == NULL) {
        return;
    }
    for (size_t k = 0; k < plan->n_lanes; k++) {
        inq_mem_free(plan->lanes[k].ops);
    }
    inq_mem_free(plan->lanes);
    inq_mem_free(plan->dur_ns);
    inq_mem_free(plan->delay_ns);
    inq_mem_free(plan->work);
    inq_mem_free(plan->bytes);
    inq_mem_free(plan->product);
    inq_mem_free(plan->lane_of);
    inq_mem_free(plan->place_of);
    inq_mem_free(plan);
}
