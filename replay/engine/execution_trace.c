/* SPDX-License-Identifier: Apache-2.0 */
/* An execution as a recorded run, and as Chakra graphs. In a run, ops whose type is known become
 * labeled ops, as a pipeline's op table has them; others become kernels on the streams that their
 * lanes were, with their collectives matched by the groups of the plan. In Chakra graphs
 * (MLCommons; et_def.proto) they are nodes with durations and dependencies, one graph a rank. */
#include "inquest/replay.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/sort.h"
#include "trace/build/build.h"

#include <inttypes.h>
#include <stdio.h>
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

/* ---- lanes of labeled ops: those of an op table
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

static int add_labeled(struct tracer *t, uint32_t i)
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
        sorted[k] = t->shard.ranks[rank_of(t, first + k)].rank;
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
            code = g->op[i].type != INQ_OP_NONE ? add_labeled(t, i) : add_kernel(t, i, &shared);
        }
    }
    return code;
}

/* ---- what runs and graphs share ---------------------------------------------------------------
 */

static int start(struct tracer *t)
{
    const struct inq_plan *plan = t->plan;
    t->shard.file = (struct inq_file){.path = "executed plan",
                                      .format = "op-table",
                                      .reason = "",
                                      .events = plan->graph->n_ops,
                                      .events_kept = plan->graph->n_ops,
                                      .read = true};
    t->rank_of_lane = inq_mem_zalloc(plan->n_lanes + 1, sizeof *t->rank_of_lane);
    t->number = inq_mem_zalloc(plan->n_lanes + 1, sizeof *t->number);
    t->stage = inq_mem_zalloc(plan->n_lanes + 1, sizeof *t->stage);
    t->seq = inq_mem_zalloc(plan->graph->n_ops + 1, sizeof *t->seq);
    int code = t->rank_of_lane != NULL && t->number != NULL && t->stage != NULL && t->seq != NULL
                   ? add_ranks(t)
                   : inq_err_set(t->err, INQ_NOMEM, "out of memory for an executed plan");
    if (code == INQ_OK) {
        find_stages(t);
        number_ops(t);
        code = number_chunks(t);
    }
    return code;
}

static void release(struct tracer *t)
{
    inq_shard_release(&t->shard);
    inq_mem_free(t->rank_of_lane);
    inq_mem_free(t->number);
    inq_mem_free(t->stage);
    inq_mem_free(t->seq);
    inq_map_release(&t->stages);
    inq_map_release(&t->seqs);
}

/* ---- the run --------------------------------------------------------------------------------- */

int inq_execution_trace(const struct inq_plan *plan, const struct inq_execution *execution,
                        struct inq_run **run, struct inq_err *err)
{
    struct tracer t = {.plan = plan, .x = execution, .err = err};
    *run = NULL;
    int code = start(&t);
    if (code == INQ_OK) {
        code = add_ops(&t);
    }
    if (code == INQ_OK) {
        code = inq_shard_finalize(&t.shard, err);
    }
    if (code == INQ_OK) {
        code = inq_assemble(&t.shard, 1, false, 1, run, err);
    }
    release(&t);
    return code;
}

/* ---- Chakra graphs ----------------------------------------------------------------------------
 */

/* A node that is written into the file of a rank: op `op`, or (`from` is an op) the sending of what
 * `op`, of another rank, waits for. */
struct entry {
    uint32_t op, from;
};

struct graphs {
    struct tracer t;
    size_t n_ranks;
    size_t *first; /* [n_ranks + 1] of a rank's entries, in the order of the ops that wait */
    struct entry *entries;
    uint32_t *group;  /* [n_ops] process group; INQ_NONE: meets nobody */
    uint64_t *id;     /* [n_ops] of the op's node */
    uint64_t next_id; /* in the file at hand; 0 is the node of process groups */
    struct inq_out node, attr, file;
};

/* Fields of et_def.proto, with the type of the wire in front of which they stand. */
enum { VARINT = 0, BYTES = 2 };
enum { META_VERSION = 1 };
enum { NODE_ID = 1, NODE_NAME, NODE_TYPE, NODE_CTRL_DEPS, NODE_DATA_DEPS };
enum { NODE_DURATION = 7, NODE_INPUTS = 8, NODE_ATTR = 10, IO_VALUES = 1, ATTR_NAME = 1 };
enum { ATTR_INT32 = 7, ATTR_INT64 = 9, ATTR_UINT64 = 13, ATTR_BOOL = 27, ATTR_STRING = 29 };
enum { TYPE_METADATA = 1, TYPE_COMPUTE = 4, TYPE_SEND = 5, TYPE_RECV = 6, TYPE_COLLECTIVE = 7 };

static void put_varint(struct inq_out *out, uint64_t value)
{
    char bytes[10];
    size_t n = 0;
    do {
        bytes[n++] = (char)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        value >>= 7;
    } while (value > 0);
    inq_out_bytes(out, bytes, n);
}

static void put_number(struct inq_out *out, unsigned field, uint64_t value)
{
    put_varint(out, field << 3 | VARINT);
    put_varint(out, value);
}

static void put_bytes(struct inq_out *out, unsigned field, const char *bytes, size_t n)
{
    put_varint(out, field << 3 | BYTES);
    put_varint(out, n);
    inq_out_bytes(out, bytes, n);
}

static void put_text(struct inq_out *out, unsigned field, const char *text)
{
    put_bytes(out, field, text, strlen(text));
}

/* Moves a message that is complete into the field of another; its buffer is kept. */
static void put_message(struct inq_out *out, unsigned field, struct inq_out *message)
{
    put_bytes(out, field, message->buf, message->len);
    message->len = 0;
}

static void put_attr(struct graphs *g, const char *name, unsigned field, uint64_t value)
{
    put_text(&g->attr, ATTR_NAME, name);
    put_number(&g->attr, field, value);
    put_message(&g->node, NODE_ATTR, &g->attr);
}

/* A number that may not be given. */
static void put_known(struct graphs *g, const char *name, unsigned field, int64_t value)
{
    if (value >= 0) {
        put_attr(g, name, field, (uint64_t)value);
    }
}

/* Begins a node; returns its id. Durations are in microseconds, and exact in an attribute. */
static uint64_t open_node(struct graphs *g, const char *name, unsigned type, int64_t dur_ns)
{
    enum { NS = 1000 };
    uint64_t id = g->next_id++;
    put_number(&g->node, NODE_ID, id);
    put_text(&g->node, NODE_NAME, name);
    put_number(&g->node, NODE_TYPE, type);
    put_number(&g->node, NODE_DURATION, (uint64_t)(dur_ns + NS / 2) / NS);
    if (dur_ns % NS != 0) {
        put_attr(g, "duration_nanos", ATTR_INT64, (uint64_t)dur_ns);
    }
    return id;
}

/* Every message has its length in front. */
static void close_node(struct graphs *g)
{
    put_varint(&g->file, g->node.len);
    inq_out_bytes(&g->file, g->node.buf, g->node.len);
    g->node.len = 0;
}

static void put_dep(struct graphs *g, uint64_t id)
{
    put_number(&g->node, NODE_DATA_DEPS, id);
}

static void put_place(struct graphs *g, bool host, int64_t number)
{
    put_attr(g, "is_cpu_op", ATTR_BOOL, host);
    put_attr(g, host ? "tid" : "stream", ATTR_INT64, (uint64_t)number);
}

/* ---- what each op is --------------------------------------------------------------------------
 */

static bool is_host(const struct graphs *g, uint32_t op)
{
    const struct inq_graph_op *o = &g->t.plan->graph->op[op];
    return o->type == INQ_OP_NONE && o->cls == INQ_CLASS_OTHER;
}

static bool crosses(const struct graphs *g, uint32_t from, uint32_t to)
{
    const struct inq_graph_op *op = g->t.plan->graph->op;
    return op[from].rank != op[to].rank;
}

static int32_t number_of(const struct graphs *g, uint32_t op)
{
    return g->t.shard.ranks[rank_of(&g->t, op)].rank;
}

static int64_t delay_of(const struct graphs *g, uint32_t op)
{
    return g->t.plan->delay_ns != NULL ? g->t.plan->delay_ns[op] : 0;
}

/* What it took without waiting for others. */
static int64_t dur_of(const struct graphs *g, uint32_t op)
{
    const struct inq_execution *x = g->t.x;
    uint32_t n = 0;
    uint32_t first = inq_graph_group_of(g->t.plan->graph, op, &n);
    int64_t start_ns = x->start_ns[first];
    for (uint32_t k = first; k < first + n; k++) {
        start_ns = x->start_ns[k] > start_ns ? x->start_ns[k] : start_ns;
    }
    return x->end_ns[op] > start_ns ? x->end_ns[op] - start_ns : 0;
}

/* A transfer that the receiver alone has: what it waits for on the other rank is sent. */
static bool is_receive(const struct graphs *g, uint32_t op)
{
    const struct inq_graph *graph = g->t.plan->graph;
    uint32_t far = 0;
    for (uint32_t k = graph->dep_start[op]; k < graph->dep_start[op + 1]; k++) {
        far += crosses(g, graph->deps[k], op);
    }
    return graph->op[op].cls == INQ_CLASS_COMM && graph->members[op] == 1 && far == 1 &&
           delay_of(g, op) == 0;
}

static bool is_pair(const struct graphs *g, uint32_t op)
{
    uint8_t work = g->t.plan->work[op];
    uint32_t n = 0;
    (void)inq_graph_group_of(g->t.plan->graph, op, &n);
    return n == 2 && (work == INQ_WORK_SEND || work == INQ_WORK_RECV);
}

/* ---- nodes ------------------------------------------------------------------------------------
 */

/* What schedules know of their ops, which Chakra has no fields for. */
static void put_label(struct graphs *g, uint32_t op)
{
    const struct inq_graph_op *o = &g->t.plan->graph->op[op];
    uint32_t rank = rank_of(&g->t, op);
    uint32_t chunk = 0;
    bool known = o->stage >= 0 &&
                 inq_map_get(&g->t.stages, (uint64_t)rank << 32 | (uint32_t)o->stage, &chunk);
    if (o->type == INQ_OP_NONE) {
        return;
    }
    put_known(g, "stage", ATTR_INT32, g->t.stage[rank] >= 0 ? g->t.stage[rank] : 0);
    put_known(g, "chunk", ATTR_INT32, o->chunk >= 0 ? o->chunk : known ? (int32_t)chunk : -1);
    put_known(g, "micro_batch", ATTR_INT32, o->micro_batch);
    put_known(g, "step", ATTR_INT32, o->step >= 0 ? o->step : 0);
    put_known(g, "dp_rank", ATTR_INT32, o->dp_rank);
    put_known(g, "seq_id", ATTR_INT32, g->t.seq[op]);
}

/* Where it is on its rank: on a lane of op tables, else on the stream that its lane was. */
static int64_t stream_of(const struct graphs *g, uint32_t op)
{
    const struct inq_graph_op *o = &g->t.plan->graph->op[op];
    return o->type != INQ_OP_NONE ? (int64_t)role_of(o)
                                  : (int64_t)g->t.number[g->t.plan->lane_of[op]];
}

/* Begins one side of a message: what `op` waits for goes from `from`'s rank to its own. Of those
 * that a transfer of the graph stands for, the receiving side is that op; others only order the
 * ranks. */
static uint64_t open_message(struct graphs *g, uint32_t op, uint32_t from, bool send)
{
    bool transfer = is_receive(g, op);
    int64_t dur_ns = transfer ? dur_of(g, op) : 0;
    enum inq_op_type type = (enum inq_op_type)g->t.plan->graph->op[op].type;
    const char *name = send                              ? "send"
                       : transfer && type != INQ_OP_NONE ? inq_op_type_text(type)
                                                         : "recv";
    uint64_t id = open_node(g, name, send ? TYPE_SEND : TYPE_RECV, dur_ns);
    put_place(g, false, stream_of(g, send ? from : op));
    put_attr(g, "comm_src", ATTR_INT32, (uint64_t)number_of(g, from));
    put_attr(g, "comm_dst", ATTR_INT32, (uint64_t)number_of(g, op));
    put_attr(g, "comm_tag", ATTR_INT32, op & INT32_MAX);
    put_known(g, "comm_size", ATTR_INT64, transfer ? g->t.plan->bytes[op] : -1);
    if (transfer && !send) {
        put_label(g, op);
    }
    return id;
}

/* In the order of CollectiveCommType. */
static unsigned comm_type_of(enum inq_work work)
{
    static const uint8_t order[] = {
        INQ_WORK_ALL_REDUCE, INQ_WORK_REDUCE,    INQ_WORK_ALL_GATHER, INQ_WORK_COUNT,
        INQ_WORK_COUNT,      INQ_WORK_BROADCAST, INQ_WORK_ALL_TO_ALL, INQ_WORK_REDUCE_SCATTER};
    enum { ALL_TO_ALL = 6 }; /* sends and receives in one call are one, too */
    for (unsigned i = 0; i < sizeof order; i++) {
        if (order[i] == work) {
            return i;
        }
    }
    return ALL_TO_ALL;
}

static void open_collective(struct graphs *g, uint32_t op, const char *name)
{
    char group[16];
    g->id[op] = open_node(g, name, TYPE_COLLECTIVE, dur_of(g, op));
    put_attr(g, "comm_type", ATTR_INT64, comm_type_of((enum inq_work)g->t.plan->work[op]));
    put_known(g, "comm_size", ATTR_INT64, g->t.plan->bytes[op]);
    (void)snprintf(group, sizeof group, "%" PRIu32, g->group[op]);
    put_text(&g->attr, ATTR_NAME, "pg_name");
    put_text(&g->attr, ATTR_STRING, group);
    put_message(&g->node, NODE_ATTR, &g->attr);
}

static void open_pair(struct graphs *g, uint32_t op, const char *name)
{
    uint32_t n = 0;
    uint32_t first = inq_graph_group_of(g->t.plan->graph, op, &n);
    uint32_t peer = first == op ? first + 1 : first;
    bool send = g->t.plan->work[op] == INQ_WORK_SEND;
    g->id[op] = open_node(g, name, send ? TYPE_SEND : TYPE_RECV, dur_of(g, op));
    put_attr(g, "comm_src", ATTR_INT32, (uint64_t)number_of(g, send ? op : peer));
    put_attr(g, "comm_dst", ATTR_INT32, (uint64_t)number_of(g, send ? peer : op));
    put_attr(g, "comm_tag", ATTR_INT32, first & INT32_MAX);
    put_known(g, "comm_size", ATTR_INT64, g->t.plan->bytes[op]);
}

static void open_compute(struct graphs *g, uint32_t op, const char *name)
{
    const struct inq_product *p = g->t.plan->product != NULL ? &g->t.plan->product[op] : NULL;
    g->id[op] = open_node(g, name, TYPE_COMPUTE, dur_of(g, op));
    if (p != NULL && p->m > 0) {
        double flops = 2.0 * p->m * p->n * p->k * p->batch;
        put_attr(g, "num_ops", ATTR_INT64, flops < 9e18 ? (uint64_t)flops : INT64_MAX);
    }
    put_known(g, "tensor_size", ATTR_UINT64, g->t.plan->bytes[op]);
}

/* Names by which kernels are recognized as what they are. */
static const char *name_of(const struct graphs *g, uint32_t op, char buf[64])
{
    const struct inq_graph_op *o = &g->t.plan->graph->op[op];
    enum inq_work work = (enum inq_work)g->t.plan->work[op];
    if (o->type != INQ_OP_NONE) {
        return inq_op_type_text((enum inq_op_type)o->type);
    }
    if (o->cls == INQ_CLASS_COPY) {
        return "Memcpy";
    }
    (void)snprintf(buf, 64, "%s%s", o->cls == INQ_CLASS_COMM ? "nccl:" : "",
                   o->cls == INQ_CLASS_OTHER ? "host" : inq_work_text(work));
    return buf;
}

/* The ids of what an op depends on, those of other ranks by what is received of them. */
struct needs {
    size_t n, cap;
    uint64_t *ids;
    bool device, host; /* of these; whether one is the device's, and one the host's */
    uint64_t host_id;
};

static int need(struct graphs *g, struct needs *needs, uint64_t id, bool device)
{
    int code = inq_mem_grow(&needs->ids, &needs->cap, needs->n + 1, sizeof *needs->ids, INQ_NONE,
                            g->t.err);
    if (code == INQ_OK) {
        needs->ids[needs->n++] = id;
        needs->device = needs->device || device;
        needs->host_id = device ? needs->host_id : id;
        needs->host = needs->host || !device;
    }
    return code;
}

static void put_needs(struct graphs *g, const struct needs *needs)
{
    for (size_t i = 0; i < needs->n; i++) {
        put_dep(g, needs->ids[i]);
    }
}

static int find_needs(struct graphs *g, uint32_t op, bool receives, struct needs *needs)
{
    const struct inq_graph *graph = g->t.plan->graph;
    int code = INQ_OK;
    for (uint32_t k = graph->dep_start[op]; code == INQ_OK && k < graph->dep_start[op + 1]; k++) {
        uint32_t from = graph->deps[k];
        if (!crosses(g, from, op)) {
            code = need(g, needs, g->id[from], !is_host(g, from));
        } else if (!receives) {
            uint64_t id = open_message(g, op, from, false);
            close_node(g);
            code = need(g, needs, id, true);
        }
    }
    return code;
}

/* The host waits for the device in a node of its own, and an op that begins later than it could is
 * held back by one of the host's: replaces what is needed by that node. */
static int put_host(struct graphs *g, struct needs *needs, const char *name, int64_t dur_ns,
                    uint32_t op)
{
    uint64_t id = open_node(g, name, TYPE_COMPUTE, dur_ns);
    put_place(g, true, g->t.number[g->t.plan->lane_of[op]]);
    put_needs(g, needs);
    close_node(g);
    needs->n = 0;
    needs->device = false;
    return need(g, needs, id, false);
}

static int put_op(struct graphs *g, uint32_t op)
{
    bool receives = is_receive(g, op);
    bool host = is_host(g, op);
    bool launched = false;
    char name[64];
    struct needs needs = {0};
    int code = find_needs(g, op, receives, &needs);
    uint64_t launch = needs.host_id;
    launched = needs.host && !host;
    if (code == INQ_OK && needs.device && (host || delay_of(g, op) > 0)) {
        code = put_host(g, &needs, "Synchronize", 0, op);
    }
    if (code == INQ_OK && delay_of(g, op) > 0) {
        code = put_host(g, &needs, "delay", delay_of(g, op), op);
    }
    if (code == INQ_OK && receives) {
        uint32_t from = INQ_NONE;
        const struct inq_graph *graph = g->t.plan->graph;
        for (uint32_t k = graph->dep_start[op]; k < graph->dep_start[op + 1]; k++) {
            from = crosses(g, graph->deps[k], op) ? graph->deps[k] : from;
        }
        g->id[op] = open_message(g, op, from, false);
    } else if (code == INQ_OK) {
        const char *text = name_of(g, op, name);
        if (is_pair(g, op)) {
            open_pair(g, op, text);
        } else if (g->group[op] != INQ_NONE) {
            open_collective(g, op, text);
        } else {
            open_compute(g, op, text);
        }
        put_place(g, host, stream_of(g, op));
        put_label(g, op);
    }
    if (code == INQ_OK) {
        put_needs(g, &needs);
        if (launched) {
            put_number(&g->node, NODE_CTRL_DEPS, launch);
        }
        close_node(g);
    }
    inq_mem_free(needs.ids);
    return code;
}

/* ---- files ------------------------------------------------------------------------------------
 */

/* PyTorch's profiler has the groups in the inputs of such a node, and simulators look for them
 * there: a Python list of one string that holds JSON. */
static void put_groups(struct graphs *g)
{
    struct inq_out inputs = {0};
    struct inq_out values = {0};
    inq_out_text(&values, "['[");
    for (size_t k = 0; k < g->t.shard.n_groups; k++) {
        const struct inq_group *group = &g->t.shard.groups[k];
        inq_out_printf(&values, "%s{\"pg_name\": \"%zu\", \"ranks\": [", k > 0 ? ", " : "", k);
        for (uint32_t r = 0; r < group->n_ranks; r++) {
            inq_out_printf(&values, "%s%" PRId32, r > 0 ? ", " : "", group->ranks[r]);
        }
        inq_out_printf(&values, "], \"group_size\": %" PRIu32 "}", group->n_ranks);
    }
    inq_out_text(&values, "]']");
    put_message(&inputs, IO_VALUES, &values);
    (void)open_node(g, "## process_group:init ##", TYPE_METADATA, 0);
    put_message(&g->node, NODE_INPUTS, &inputs);
    close_node(g);
    inq_out_release(&inputs);
    inq_out_release(&values);
}

static int put_rank(struct graphs *g, size_t rank)
{
    int code = INQ_OK;
    g->next_id = 0;
    put_text(&g->node, META_VERSION, "0.0.4");
    close_node(g);
    if (g->t.shard.n_groups > 0) {
        put_groups(g);
    }
    for (size_t e = g->first[rank]; code == INQ_OK && e < g->first[rank + 1]; e++) {
        const struct entry *entry = &g->entries[e];
        if (entry->from == INQ_NONE) {
            code = put_op(g, entry->op);
        } else {
            (void)open_message(g, entry->op, entry->from, true);
            put_dep(g, g->id[entry->from]);
            close_node(g);
        }
    }
    return code;
}

/* Counts a rank's entries (fill == false), or lists them; first[] is where the next one goes. */
static void each_entry(struct graphs *g, bool fill)
{
    const struct inq_graph *graph = g->t.plan->graph;
    for (uint32_t i = 0; i < graph->n_ops; i++) {
        for (uint32_t k = graph->dep_start[i]; k < graph->dep_start[i + 1]; k++) {
            if (crosses(g, graph->deps[k], i)) {
                size_t *at = &g->first[rank_of(&g->t, graph->deps[k])];
                if (fill) {
                    g->entries[*at] = (struct entry){i, graph->deps[k]};
                }
                ++*at;
            }
        }
        size_t *at = &g->first[rank_of(&g->t, i)];
        if (fill) {
            g->entries[*at] = (struct entry){i, INQ_NONE};
        }
        ++*at;
    }
}

static int list_entries(struct graphs *g)
{
    each_entry(g, false);
    size_t n = 0;
    for (size_t r = 0; r <= g->n_ranks; r++) {
        size_t own = g->first[r];
        g->first[r] = n;
        n += own;
    }
    g->entries = inq_mem_zalloc(n + 1, sizeof *g->entries);
    if (g->entries == NULL) {
        return inq_err_set(g->t.err, INQ_NOMEM, "out of memory for graphs of %zu nodes", n);
    }
    each_entry(g, true);
    for (size_t r = g->n_ranks; r > 0; r--) { /* each has moved to where the next begins */
        g->first[r] = g->first[r - 1];
    }
    g->first[0] = 0;
    return INQ_OK;
}

static int find_groups(struct graphs *g)
{
    const struct inq_graph *graph = g->t.plan->graph;
    int code = INQ_OK;
    for (uint32_t i = 0; code == INQ_OK && i < graph->n_ops;) {
        uint32_t n = graph->members[i];
        uint32_t group = INQ_NONE;
        if (n > 1 && !is_pair(g, i)) {
            code = group_of(&g->t, i, n, &group);
        }
        for (uint32_t next = i + n; i < next; i++) {
            g->group[i] = group;
        }
    }
    return code;
}

static int prepare(struct graphs *g)
{
    size_t n_ops = g->t.plan->graph->n_ops;
    int code = start(&g->t);
    if (code != INQ_OK) {
        return code;
    }
    g->n_ranks = g->t.shard.n_ranks;
    g->first = inq_mem_zalloc(g->n_ranks + 2, sizeof *g->first);
    g->group = inq_mem_zalloc(n_ops + 1, sizeof *g->group);
    g->id = inq_mem_zalloc(n_ops + 1, sizeof *g->id);
    if (g->first == NULL || g->group == NULL || g->id == NULL) {
        return inq_err_set(g->t.err, INQ_NOMEM, "out of memory for graphs of %zu ops", n_ops);
    }
    code = list_entries(g);
    return code == INQ_OK ? find_groups(g) : code;
}

int inq_execution_chakra(const struct inq_plan *plan, const struct inq_execution *execution,
                         const struct inq_rank_files *files, struct inq_err *err)
{
    struct graphs g = {.t = {.plan = plan, .x = execution, .err = err}};
    int code = prepare(&g);
    for (size_t r = 0; code == INQ_OK && r < g.n_ranks; r++) {
        struct inq_sink sink = {0};
        code = files->open(files->ctx, g.t.shard.ranks[r].rank, &sink, err);
        if (code != INQ_OK) {
            break;
        }
        g.file = (struct inq_out){.write = sink.write, .ctx = sink.ctx};
        code = put_rank(&g, r);
        code = code == INQ_OK ? g.node.code : code;
        code = inq_out_end(&g.file, code, "a Chakra graph", err);
        code = files->close(files->ctx, code, err);
    }
    inq_out_release(&g.node);
    inq_out_release(&g.attr);
    inq_mem_free(g.first);
    inq_mem_free(g.entries);
    inq_mem_free(g.group);
    inq_mem_free(g.id);
    release(&g.t);
    return code;
}
