/* SPDX-License-Identifier: Apache-2.0 */
/* A schedule and a cost model become an op graph: what timing, replay and fixes all stand on. */
#include "inquest/replay.h"

#include "base/hash.h"
#include "base/mem.h"
#include "schedule/schedule.h"

#include <inttypes.h>
#include <string.h>

struct builder {
    const struct inq_schedule *schedule;
    const struct inq_costs *costs;
    struct inq_graph_builder *graph;
    uint32_t **op; /* [n_ranks][n actions] graph op of the cell; INQ_NONE: takes no time */
    /* [n_stages * n_microbatches] graph op of F, of B or I, of W; INQ_NONE: not in the schedule */
    uint32_t *forward, *backward, *weight;
    uint32_t *reduce; /* [n_stages] op of its gradients' all-reduce, or INQ_NONE */
    uint32_t last;    /* op of the rank at hand that computed last, or INQ_NONE */
    uint32_t last_reduce;
    uint32_t *gather;       /* [n_stages] op of the all-gather that it computes by, or INQ_NONE */
    struct inq_map reduces; /* (rank, stage in its replica) to the all-reduce */
    struct inq_err *err;
};

static size_t cell_of(const struct inq_schedule *schedule, const struct inq_action *action)
{
    return (size_t)action->stage * (size_t)schedule->n_microbatches + (size_t)action->microbatch;
}

static int64_t duration(const struct builder *b, const struct inq_action *action)
{
    if (action->kind == INQ_ACTION_UPDATE) {
        return b->costs->update_ns;
    }
    if (!inq_action_computes(action)) {
        return 0;
    }
    const struct inq_stage_cost *cost = inq_stage_cost_of(b->costs, action->stage);
    const int64_t by_kind[INQ_ACTION_KIND_COUNT] = {
        [INQ_ACTION_F] = cost->f_ns,
        [INQ_ACTION_I] = cost->b_ns,
        [INQ_ACTION_W] = cost->w_ns,
        [INQ_ACTION_B] = cost->b_ns + cost->w_ns,
    };
    return by_kind[action->kind];
}

/* Where the op of a compute action is remembered for those that depend on it. */
static uint32_t *slot_of(struct builder *b, const struct inq_action *action)
{
    uint32_t *table = action->kind == INQ_ACTION_F   ? b->forward
                      : action->kind == INQ_ACTION_W ? b->weight
                                                     : b->backward;
    return &table[cell_of(b->schedule, action)];
}

/* ---- ops ------------------------------------------------------------------------------------- */

static int add_op(struct builder *b, int32_t rank, size_t i, const struct inq_action *first,
                  int64_t dur_ns)
{
    static const uint8_t types[INQ_ACTION_KIND_COUNT] = {
        [INQ_ACTION_F] = INQ_OP_FORWARD,         [INQ_ACTION_I] = INQ_OP_BACKWARD_INPUT,
        [INQ_ACTION_W] = INQ_OP_BACKWARD_WEIGHT, [INQ_ACTION_B] = INQ_OP_BACKWARD,
        [INQ_ACTION_UPDATE] = INQ_OP_OPTIMIZER,
    };
    struct inq_graph_op op = inq_graph_op_init();
    op.rank = rank;
    op.lane = 0;
    op.stage = first->stage;
    op.micro_batch = first->microbatch;
    op.type = types[first->kind];
    op.cls = INQ_CLASS_COMPUTE;
    op.source = (uint32_t)i;
    int code = inq_graph_add_op(b->graph, &op, dur_ns, 0, &b->op[rank][i], b->err);
    b->last = b->op[rank][i];
    return code;
}

static int32_t stages_of_replica(const struct inq_schedule *schedule)
{
    return schedule->n_stages / (schedule->n_pipelines > 0 ? schedule->n_pipelines : 1);
}

/* The all-reduce of a stage's gradients is issued behind the compute before it and runs beside what
 * follows, in a lane of its own. A rank that holds the stage in two replicas takes part once. */
static int add_reduce(struct builder *b, int32_t rank, size_t i, const struct inq_action *action)
{
    int32_t place = action->stage % stages_of_replica(b->schedule);
    uint64_t key = (uint64_t)(uint32_t)rank << 32 | (uint32_t)place;
    uint32_t id = INQ_NONE;
    int code = INQ_OK;
    if (!inq_map_get(&b->reduces, key, &id)) {
        struct inq_graph_op op = inq_graph_op_init();
        op.rank = rank;
        op.lane = 1;
        op.stage = action->stage;
        op.cls = INQ_CLASS_COMM;
        op.source = (uint32_t)i;
        code = inq_graph_add_op(b->graph, &op, b->costs->reduce_ns, 0, &id, b->err);
        code = code == INQ_OK ? inq_map_put(&b->reduces, key, id, b->err) : code;
        b->reduce[action->stage] = id;
        b->last_reduce = id;
    }
    b->op[rank][i] = id;
    return code == INQ_OK && b->last != INQ_NONE ? inq_graph_add_dep(b->graph, b->last, id, b->err)
                                                 : code;
}

/* The all-gather of a stage's parameters, in a lane of its own too. */
static int add_gather(struct builder *b, int32_t rank, size_t i, const struct inq_action *action)
{
    struct inq_graph_op op = inq_graph_op_init();
    op.rank = rank;
    op.lane = 2;
    op.stage = action->stage;
    op.type = INQ_OP_PARAMS_ALL_GATHER;
    op.cls = INQ_CLASS_COMM;
    op.source = (uint32_t)i;
    int code = inq_graph_add_op(b->graph, &op, b->costs->unshard_ns, 0, &b->op[rank][i], b->err);
    b->gather[action->stage] = b->op[rank][i];
    return code == INQ_OK && b->last != INQ_NONE
               ? inq_graph_add_dep(b->graph, b->last, b->op[rank][i], b->err)
               : code;
}

/* What takes time beside the compute, if the cell is that. */
static int add_beside(struct builder *b, int32_t rank, size_t i, const struct inq_action *action)
{
    if (action->stage < 0) {
        return INQ_OK;
    }
    if (action->kind == INQ_ACTION_REDUCE_GRAD && b->costs->reduce_ns > 0) {
        return add_reduce(b, rank, i, action);
    }
    bool gathers = action->kind == INQ_ACTION_UNSHARD && b->costs->unshard_ns > 0 &&
                   b->schedule->stage_rank[action->stage] == rank;
    return gathers ? add_gather(b, rank, i, action) : INQ_OK;
}

static int claim_slot(struct builder *b, const struct inq_action *action, uint32_t op)
{
    uint32_t *slot = slot_of(b, action);
    if (*slot != INQ_NONE) {
        char text[48];
        return inq_err_set(b->err, INQ_FORMAT, "%s appears twice",
                           inq_action_format(action, text, sizeof text));
    }
    *slot = op;
    return INQ_OK;
}

/* The op of one cell; returns the number of list entries it takes up through *used. */
static int add_cell(struct builder *b, int32_t rank, size_t i, size_t *used)
{
    const struct inq_rank_actions *list = &b->schedule->ranks[rank];
    const struct inq_action *head = &list->actions[i];
    bool composite = head->kind == INQ_ACTION_OVERLAP_F_B;
    size_t first = i + (composite ? 1 : 0);
    size_t n = composite ? head->n_sub : 1;
    *used = n + (composite ? 1 : 0);
    int64_t sum = 0;
    bool computes = false;
    for (size_t k = first; k < first + n && k < list->n; k++) {
        computes = computes || inq_action_computes(&list->actions[k]) ||
                   (list->actions[k].kind == INQ_ACTION_UPDATE && b->costs->update_ns > 0);
        sum += duration(b, &list->actions[k]);
    }
    if (!computes) {
        return add_beside(b, rank, i, head);
    }
    int64_t dur_ns = composite && b->costs->overlap_ns > 0 ? b->costs->overlap_ns : sum;
    int code = add_op(b, rank, i, &list->actions[first], dur_ns);
    for (size_t k = first; code == INQ_OK && k < first + n && k < list->n; k++) {
        b->op[rank][k] = b->op[rank][i];
        if (inq_action_computes(&list->actions[k])) {
            uint32_t gather = b->gather[list->actions[k].stage];
            code = claim_slot(b, &list->actions[k], b->op[rank][i]);
            code = code == INQ_OK && gather != INQ_NONE
                       ? inq_graph_add_dep(b->graph, gather, b->op[rank][i], b->err)
                       : code;
        }
    }
    bool updates = list->actions[first].kind == INQ_ACTION_UPDATE && b->last_reduce != INQ_NONE;
    return code == INQ_OK && updates
               ? inq_graph_add_dep(b->graph, b->last_reduce, b->op[rank][i], b->err)
               : code;
}

static int add_ops(struct builder *b)
{
    int code = INQ_OK;
    for (int32_t r = 0; code == INQ_OK && r < b->schedule->n_ranks; r++) {
        size_t used = 1;
        b->last = b->last_reduce = INQ_NONE;
        for (size_t i = 0; code == INQ_OK && i < b->schedule->ranks[r].n; i += used) {
            code = add_cell(b, r, i, &used);
        }
    }
    return code;
}

/* The replicas of a stage reduce their gradients together. */
static int add_groups(struct builder *b)
{
    const struct inq_schedule *schedule = b->schedule;
    int32_t stages = stages_of_replica(schedule);
    uint32_t *ids = inq_mem_alloc(((size_t)schedule->n_stages + 1) * sizeof *ids);
    int code =
        ids == NULL ? inq_err_set(b->err, INQ_NOMEM, "out of memory for a schedule") : INQ_OK;
    for (int32_t place = 0; code == INQ_OK && place < stages; place++) {
        size_t n = 0;
        for (int32_t stage = place; stage < schedule->n_stages; stage += stages) {
            if (b->reduce[stage] != INQ_NONE) {
                ids[n++] = b->reduce[stage];
            }
        }
        code = inq_graph_add_group(b->graph, ids, n, n, b->err);
    }
    inq_mem_free(ids);
    return code;
}

/* ---- edges ----------------------------------------------------------------------------------- */

/* `to` needs the result of `from`, which stands on `from_stage`. */
static int add_edge(struct builder *b, uint32_t from, int32_t from_stage,
                    const struct inq_action *to_action, uint32_t to)
{
    const int32_t *rank_of = b->schedule->stage_rank;
    if (from == to) {
        return INQ_OK; /* parts of one composite */
    }
    bool crosses = rank_of[from_stage] != rank_of[to_action->stage];
    int64_t transfer_ns = inq_transfer_ns(b->costs, from_stage, to_action->stage);
    if (!crosses || transfer_ns == 0) {
        return inq_graph_add_dep(b->graph, from, to, b->err);
    }
    struct inq_graph_op transfer = inq_graph_op_init();
    transfer.rank = rank_of[to_action->stage];
    transfer.stage = to_action->stage;
    transfer.micro_batch = to_action->microbatch;
    transfer.type = to_action->kind == INQ_ACTION_F ? INQ_OP_FORWARD_RECV : INQ_OP_BACKWARD_RECV;
    transfer.cls = INQ_CLASS_COMM;
    uint32_t id = 0;
    int code = inq_graph_add_op(b->graph, &transfer, transfer_ns, 0, &id, b->err);
    if (code == INQ_OK) {
        code = inq_graph_add_dep(b->graph, from, id, b->err);
    }
    return code == INQ_OK ? inq_graph_add_dep(b->graph, id, to, b->err) : code;
}

static int need(struct builder *b, const uint32_t *table, int32_t stage, const char *what,
                const struct inq_action *action, uint32_t op)
{
    struct inq_action producer = {.stage = stage, .microbatch = action->microbatch};
    uint32_t from = table[cell_of(b->schedule, &producer)];
    if (from == INQ_NONE) {
        char text[48];
        return inq_err_set(b->err, INQ_FORMAT,
                           "%s needs the %s of stage %" PRId32 ", which is in no rank's list",
                           inq_action_format(action, text, sizeof text), what, stage);
    }
    return add_edge(b, from, stage, action, op);
}

static int add_edges_of(struct builder *b, const struct inq_action *action, uint32_t op)
{
    int32_t previous = inq_schedule_previous(b->schedule, action->stage);
    int32_t next = inq_schedule_next(b->schedule, action->stage);
    if (action->kind == INQ_ACTION_F) {
        return previous < 0 ? INQ_OK : need(b, b->forward, previous, "forward", action, op);
    }
    if (action->kind == INQ_ACTION_W) {
        return need(b, b->backward, action->stage, "input gradient", action, op);
    }
    int code = need(b, b->forward, action->stage, "forward", action, op);
    if (code == INQ_OK && next >= 0) {
        code = need(b, b->backward, next, "backward", action, op);
    }
    return code;
}

static int add_edges(struct builder *b)
{
    for (int32_t r = 0; r < b->schedule->n_ranks; r++) {
        const struct inq_rank_actions *list = &b->schedule->ranks[r];
        for (size_t i = 0; i < list->n; i++) {
            const struct inq_action *action = &list->actions[i];
            int code = inq_action_computes(action) ? add_edges_of(b, action, b->op[r][i]) : INQ_OK;
            if (code != INQ_OK) {
                return code;
            }
        }
    }
    return INQ_OK;
}

/* ---- the graph ------------------------------------------------------------------------------- */

static uint32_t *table_of_none(size_t n)
{
    uint32_t *table = inq_mem_alloc(n * sizeof *table);
    if (table != NULL) {
        memset(table, 0xff, n * sizeof *table);
    }
    return table;
}

static bool allocate(struct builder *b)
{
    const struct inq_schedule *schedule = b->schedule;
    size_t cells = (size_t)schedule->n_stages * (size_t)schedule->n_microbatches;
    b->graph = inq_graph_builder_new();
    b->forward = table_of_none(cells);
    b->backward = table_of_none(cells);
    b->weight = table_of_none(cells);
    b->reduce = table_of_none((size_t)schedule->n_stages);
    b->gather = table_of_none((size_t)schedule->n_stages);
    b->op = inq_mem_zalloc((size_t)schedule->n_ranks, sizeof *b->op);
    bool ok = b->graph != NULL && b->forward != NULL && b->backward != NULL && b->weight != NULL &&
              b->reduce != NULL && b->gather != NULL && b->op != NULL;
    for (int32_t r = 0; ok && r < schedule->n_ranks; r++) {
        b->op[r] = table_of_none(schedule->ranks[r].n);
        ok = b->op[r] != NULL;
    }
    return ok;
}

/* From the builder's ids to the graph's indices. */
static void number_cells(struct builder *b, const struct inq_graph *graph)
{
    for (int32_t r = 0; r < b->schedule->n_ranks; r++) {
        for (size_t i = 0; i < b->schedule->ranks[r].n; i++) {
            uint32_t id = b->op[r][i];
            b->op[r][i] = id == INQ_NONE ? INQ_NONE : graph->index_of[id];
        }
    }
}

void inq_schedule_graph_release(struct inq_schedule_graph *graph)
{
    for (int32_t r = 0; graph->op != NULL && r < graph->n_ranks; r++) {
        inq_mem_free(graph->op[r]);
    }
    inq_mem_free(graph->op);
    inq_graph_free(graph->graph);
    *graph = (struct inq_schedule_graph){0};
}

int inq_schedule_graph_make(const struct inq_schedule *schedule, const struct inq_costs *costs,
                            struct inq_schedule_graph *out, struct inq_err *err)
{
    struct builder b = {.schedule = schedule, .costs = costs, .err = err};
    *out = (struct inq_schedule_graph){.n_ranks = schedule->n_ranks};
    int code = allocate(&b)
                   ? add_ops(&b)
                   : inq_err_set(err, INQ_NOMEM, "out of memory for the graph of a schedule");
    if (code == INQ_OK && costs->reduce_ns > 0) {
        code = add_groups(&b);
    }
    if (code == INQ_OK) {
        code = add_edges(&b);
    }
    if (code == INQ_OK) {
        code = inq_graph_finish(b.graph, &out->graph, NULL, err);
    }
    if (code == INQ_OK) {
        number_cells(&b, out->graph);
    }
    out->op = b.op;
    inq_mem_free(b.forward);
    inq_mem_free(b.backward);
    inq_mem_free(b.weight);
    inq_mem_free(b.reduce);
    inq_mem_free(b.gather);
    inq_map_release(&b.reduces);
    inq_graph_builder_free(b.graph);
    if (code != INQ_OK) {
        inq_schedule_graph_release(out);
    }
    return code;
}
