/* SPDX-License-Identifier: Apache-2.0 */
/* An execution as a recorded run. Ops whose type is known become labelled ops, as a pipeline's op
 * table has them; others become kernels on the streams that their lanes were, with their
 * collectives matched by the groups of the plan. */
#include "inquest/replay.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/sort.h"
#include "trace/build/build.h"

#include <string.h>

struct tracer {
    const struct inq_plan *plan;
    const struct inq_execution *x;
    struct inq_shard shard;
    uint32_t *rank_of_lane; /* [n_lanes] index of the shard's rank */
    uint32_t *number;       /* [n_lanes] place among the lanes of its rank */
    int32_t *seq;           /* [n_ops] place among the same of its rank and step; -1 none */
    int32_t *stage;         /* [n shard ranks] smallest stage it holds, -1 none */
    struct inq_map stages;  /* (rank, stage) to the place of the stage among the rank's own */
    struct inq_map seqs;    /* process group to the number of its collectives so far */
    struct inq_err *err;
};

static uint32_t rank_of(const struct tracer *t, uint32_t op)
{
    return t->rank_of_lane[t->plan->lane_of[op]];
}

/* ---- lanes of labelled ops: those of an op table
 * --------------------------------------------------
 */

enum role { COMPUTE, DP_COMM, FORWARD_SEND, FORWARD_RECV, BACKWARD_SEND, BACKWARD_RECV, ROLES };

static enum role role_of(const struct inq_graph_op *op)
{
    static const uint8_t p2p[INQ_OP_TYPE_COUNT] = {[INQ_OP_FORWARD_SEND] = FORWARD_SEND,
                                                   [INQ_OP_FORWARD_RECV] = FORWARD_RECV,
                                                   [INQ_OP_BACKWARD_SEND] = BACKWARD_SEND,
                                                   [INQ_OP_BACKWARD_RECV] = BACKWARD_RECV};
    enum role role = (enum role)p2p[op->type];
    return role != COMPUTE ? role : op->cls == INQ_CLASS_COMM ? DP_COMM : COMPUTE;
}

static int add_rank(struct tracer *t, uint32_t *index)
{
    static const char *const names[ROLES] = {"compute",      "dp-comm",       "forward-send",
                                             "forward-recv", "backward-send", "backward-recv"};
    int code = inq_shard_add_rank(&t->shard, index, t->err);
    for (int64_t role = 0; code == INQ_OK && role < ROLES; role++) {
        uint32_t lane = 0;
        inq_str name = 0;
        code = inq_rank_lane(&t->shard.ranks[*index], INQ_LANE_OPS, -1, role, &lane, t->err);
        if (code == INQ_OK) {
            code = inq_strtab_add(&t->shard.names, names[role], strlen(names[role]), &name, t->err);
            t->shard.ranks[*index].lanes[lane].name = name;
        }
    }
    return code;
}

/* ---- ranks ----------------------------------------------------------------------------------- */

static int add_ranks(struct tracer *t)
{
    const struct inq_plan *plan = t->plan;
    int32_t largest = -1;
    int code = INQ_OK;
    for (size_t k = 0; code == INQ_OK && k < plan->n_lanes; k++) {
        bool same = k > 0 && plan->lanes[k].rank == plan->lanes[k - 1].rank;
        uint32_t index = same ? t->rank_of_lane[k - 1] : 0;
        if (!same) {
            code = add_rank(t, &index);
        }
        if (code == INQ_OK) {
            t->rank_of_lane[k] = index;
            t->number[k] = same ? t->number[k - 1] + 1 : 0;
            t->shard.ranks[index].rank = plan->lanes[k].number;
            largest = plan->lanes[k].number > largest ? plan->lanes[k].number : largest;
            t->shard.ranks[index].has_clock_epoch = true; /* one clock for all ranks and steps */
        }
    }
    for (size_t r = 0; code == INQ_OK && r < t->shard.n_ranks; r++) {
        /* of a part of the ranks nobody knows how many there are */
        t->shard.ranks[r].world_size =
            (size_t)largest < t->shard.n_ranks ? (int32_t)t->shard.n_ranks : -1;
        t->stage[r] = -1;
    }
    return code;
}

/* A rank's stage in the pipeline is the first that it holds, its chunks are counted from there. */
static void find_stages(struct tracer *t)
{
    const struct inq_graph *g = t->plan->graph;
    for (uint32_t i = 0; i < g->n_ops; i++) {
        struct inq_rank *rank = &t->shard.ranks[rank_of(t, i)];
        int32_t *stage = &t->stage[rank_of(t, i)];
        bool computes = g->op[i].cls == INQ_CLASS_COMPUTE && g->op[i].stage >= 0;
        if (computes && (*stage < 0 || g->op[i].stage < *stage)) {
            *stage = g->op[i].stage;
        }
        if (g->op[i].type != INQ_OP_NONE) {
            rank->dp_rank = g->op[i].dp_rank >= 0 ? g->op[i].dp_rank : 0;
        }
    }
    for (size_t r = 0; r < t->shard.n_ranks; r++) {
        t->shard.ranks[r].stage = t->stage[r];
    }
}

/* Chunks are numbered by the stages that a rank holds, ascending. */
static int number_chunks(struct tracer *t)
{
    const struct inq_graph *g = t->plan->graph;
    int64_t *keys = inq_mem_alloc((g->n_ops + 1) * sizeof *keys);
    size_t n = 0;
    if (keys == NULL) {
        return inq_err_set(t->err, INQ_NOMEM, "out of memory for an executed plan");
    }
    for (uint32_t i = 0; i < g->n_ops; i++) {
        if (g->op[i].cls == INQ_CLASS_COMPUTE && g->op[i].stage >= 0) {
            keys[n++] = (int64_t)rank_of(t, i) << 32 | g->op[i].stage;
        }
    }
    inq_sort_i64(keys, n);
    uint32_t chunk = 0;
    int code = INQ_OK;
    for (size_t i = 0; code == INQ_OK && i < n; i++) {
        bool same_rank = i > 0 && keys[i] >> 32 == keys[i - 1] >> 32;
        bool same = i > 0 && keys[i] == keys[i - 1];
        chunk = !same_rank ? 0 : same ? chunk : chunk + 1;
        code = inq_map_put(&t->stages, (uint64_t)keys[i], chunk, t->err);
    }
    inq_mem_free(keys);
    return code;
}

/* Forwards, and backwards, are numbered as each rank runs them: of several chunks that is not the
 * order of the micro-batches. */
static void number_ops(struct tracer *t)
{
    const struct inq_graph *g = t->plan->graph;
    for (size_t i = 0; i < g->n_ops; i++) {
        t->seq[i] = -1;
    }
    for (size_t k = 0; k < t->plan->n_lanes; k++) {
        const struct inq_plan_lane *lane = &t->plan->lanes[k];
        int32_t n[2] = {0, 0};
        for (size_t i = 0; i < lane->n; i++) {
            const struct inq_graph_op *op = &g->op[lane->ops[i]];
            bool forward = op->type == INQ_OP_FORWARD;
            bool backward = op->type == INQ_OP_BACKWARD || op->type == INQ_OP_BACKWARD_INPUT;
            if (i > 0 && op->step != g->op[lane->ops[i - 1]].step) {
                n[0] = n[1] = 0;
            }
            if (forward || backward) {
                t->seq[lane->ops[i]] = n[forward ? 0 : 1]++;
            }
        }
    }
}

/* ---- ops ------------------------------------------------------------------------------------- */

static int intern(struct tracer *t, const char *text, inq_str *id)
{
    return inq_strtab_add(&t->shard.names, text, strlen(text), id, t->err);
}

/* A receive in no lane is posted as early as can be and waits: what is recorded is its transfer. */
static int64_t start_of(const struct tracer *t, uint32_t i)
{
    int64_t start = t->x->start_ns[i];
    uint32_t n = 0;
    uint32_t first = inq_graph_group_of(t->plan->graph, i, &n);
    for (uint32_t k = first; t->plan->graph->op[i].lane == INQ_NONE && k < first + n; k++) {
        start = t->x->start_ns[k] > start ? t->x->start_ns[k] : start;
    }
    return start < t->x->end_ns[i] ? start : t->x->end_ns[i];
}

static int add_labelled(struct tracer *t, uint32_t i)
{
    const struct inq_graph_op *op = &t->plan->graph->op[i];
    uint32_t rank = rank_of(t, i);
    uint32_t chunk = 0;
    uint64_t key = (uint64_t)rank << 32 | (uint32_t)op->stage;
    bool known = op->stage >= 0 && inq_map_get(&t->stages, key, &chunk);
    const char *name = inq_op_type_text((enum inq_op_type)op->type);
    struct inq_label label = {.type = (enum inq_op_type)op->type,
                              .step = op->step >= 0 ? op->step : 0,
                              .stage = t->stage[rank],
                              .dp_rank = op->dp_rank >= 0 ? op->dp_rank : 0,
                              .micro_batch = op->micro_batch,
                              .chunk = op->chunk >= 0 ? op->chunk
                                       : known        ? (int32_t)chunk
                                                      : -1,
                              .seq = t->seq[i]};
    struct inq_event_row row = {.start_ns = start_of(t, i),
                                .dur_ns = t->x->end_ns[i] - start_of(t, i),
                                .lane = (uint32_t)role_of(op),
                                .call = INQ_NONE,
                                .comm = INQ_NONE,
                                .kind = INQ_EVENT_OP,
                                .cls = (enum inq_op_class)op->cls};
    struct inq_rank *to = &t->shard.ranks[rank];
    int code = intern(t, name, &row.name);
    if (code == INQ_OK) {
        code = inq_rank_add_label(to, &label, &row.label, t->err);
    }
    return code == INQ_OK ? inq_rank_add_event(to, &row, t->err) : code;
}

static enum inq_coll_kind coll_of(enum inq_work work)
{
    return work == INQ_WORK_ALL_REDUCE       ? INQ_COLL_ALLREDUCE
           : work == INQ_WORK_REDUCE_SCATTER ? INQ_COLL_REDUCE_SCATTER
           : work == INQ_WORK_ALL_GATHER     ? INQ_COLL_ALLGATHER
           : work == INQ_WORK_BROADCAST      ? INQ_COLL_BROADCAST
           : work == INQ_WORK_REDUCE         ? INQ_COLL_REDUCE
           : work == INQ_WORK_ALL_TO_ALL     ? INQ_COLL_ALLTOALL
                                             : INQ_COLL_UNKNOWN;
}

/* The process group of a plan's group is its set of ranks. */
static int group_of(struct tracer *t, uint32_t first, uint32_t n, uint32_t *group)
{
    int32_t *ranks = inq_mem_alloc((n + 1) * sizeof *ranks);
    int64_t *sorted = inq_mem_alloc((n + 1) * sizeof *sorted);
    int code = ranks != NULL && sorted != NULL
                   ? INQ_OK
                   : inq_err_set(t->err, INQ_NOMEM, "out of memory for an executed plan");
    for (uint32_t k = 0; code == INQ_OK && k < n; k++) {
        sorted[k] = t->plan->graph->op[first + k].rank;
    }
    if (code == INQ_OK) {
        inq_sort_i64(sorted, n);
        for (uint32_t k = 0; k < n; k++) {
            ranks[k] = (int32_t)sorted[k];
        }
        code = inq_shard_add_group(&t->shard, 0, 0, (int32_t)n, ranks, n, group, t->err);
    }
    inq_mem_free(ranks);
    inq_mem_free(sorted);
    return code;
}

/* What the members of a group share. */
struct shared {
    uint32_t n, group, seq;
};

static int add_comm(struct tracer *t, uint32_t i, inq_str name, const struct shared *shared,
                    uint32_t *comm)
{
    struct inq_comm row;
    inq_comm_init(&row);
    row.kind = coll_of((enum inq_work)t->plan->work[i]);
    row.op_name = name;
    row.group = shared->group;
    row.group_size = (int32_t)shared->n;
    row.seq = shared->seq;
    if (t->plan->bytes[i] >= 0) {
        row.in_elems = row.out_elems = t->plan->bytes[i];
        row.dtype_bytes = 1;
    }
    return inq_rank_add_comm(&t->shard.ranks[rank_of(t, i)], &row, comm, t->err);
}

/* As a kernel; what the host did (class OTHER) is no GPU work and left out. */
static int add_kernel(struct tracer *t, uint32_t i, const struct shared *shared)
{
    const struct inq_graph_op *op = &t->plan->graph->op[i];
    if (op->cls == INQ_CLASS_OTHER) {
        return INQ_OK;
    }
    uint32_t rank = rank_of(t, i);
    struct inq_event_row row = {.start_ns = t->x->start_ns[i],
                                .dur_ns = t->x->end_ns[i] - t->x->start_ns[i],
                                .call = INQ_NONE,
                                .comm = INQ_NONE,
                                .label = INQ_NONE,
                                .kind =
                                    op->cls == INQ_CLASS_COPY ? INQ_EVENT_MEMCPY : INQ_EVENT_KERNEL,
                                .cls = (enum inq_op_class)op->cls};
    int64_t stream = t->number[t->plan->lane_of[i]];
    int code = intern(t, inq_work_text((enum inq_work)t->plan->work[i]), &row.name);
    if (code == INQ_OK) {
        code = inq_rank_lane(&t->shard.ranks[rank], INQ_LANE_STREAM, 0, stream, &row.lane, t->err);
    }
    if (code == INQ_OK && op->cls == INQ_CLASS_COMM && shared->n > 1) {
        code = add_comm(t, i, row.name, shared, &row.comm);
    }
    return code == INQ_OK ? inq_rank_add_event(&t->shard.ranks[rank], &row, t->err) : code;
}

static int add_ops(struct tracer *t)
{
    const struct inq_graph *g = t->plan->graph;
    int code = INQ_OK;
    for (uint32_t i = 0; code == INQ_OK && i < g->n_ops;) {
        uint32_t next = i + g->members[i];
        struct shared shared = {.n = g->members[i], .group = INQ_NONE};
        if (shared.n > 1) {
            code = group_of(t, i, shared.n, &shared.group);
            (void)inq_map_get(&t->seqs, shared.group, &shared.seq);
            code =
                code == INQ_OK ? inq_map_put(&t->seqs, shared.group, shared.seq + 1, t->err) : code;
        }
        for (; code == INQ_OK && i < next; i++) {
            code = g->op[i].type != INQ_OP_NONE ? add_labelled(t, i) : add_kernel(t, i, &shared);
        }
    }
    return code;
}

/* ---- the run --------------------------------------------------------------------------------- */

int inq_execution_trace(const struct inq_plan *plan, const struct inq_execution *execution,
                        struct inq_run **run, struct inq_err *err)
{
    struct tracer t = {.plan = plan, .x = execution, .err = err};
    *run = NULL;
    t.shard.file = (struct inq_file){.path = "executed plan",
                                     .format = "op-table",
                                     .reason = "",
                                     .events = plan->graph->n_ops,
                                     .events_kept = plan->graph->n_ops,
                                     .read = true};
    t.rank_of_lane = inq_mem_zalloc(plan->n_lanes + 1, sizeof *t.rank_of_lane);
    t.number = inq_mem_zalloc(plan->n_lanes + 1, sizeof *t.number);
    t.stage = inq_mem_zalloc(plan->n_lanes + 1, sizeof *t.stage);
    t.seq = inq_mem_zalloc(plan->graph->n_ops + 1, sizeof *t.seq);
    int code = t.rank_of_lane != NULL && t.number != NULL && t.stage != NULL && t.seq != NULL
                   ? add_ranks(&t)
                   : inq_err_set(err, INQ_NOMEM, "out of memory for an executed plan");
    if (code == INQ_OK) {
        find_stages(&t);
        number_ops(&t);
        code = number_chunks(&t);
    }
    if (code == INQ_OK) {
        code = add_ops(&t);
    }
    if (code == INQ_OK) {
        code = inq_shard_finalize(&t.shard, err);
    }
    if (code == INQ_OK) {
        code = inq_assemble(&t.shard, 1, false, 1, run, err);
    }
    inq_shard_release(&t.shard);
    inq_mem_free(t.rank_of_lane);
    inq_mem_free(t.number);
    inq_mem_free(t.stage);
    inq_mem_free(t.seq);
    inq_map_release(&t.stages);
    inq_map_release(&t.seqs);
    return code;
}
