/* SPDX-License-Identifier: Apache-2.0 */
/* A pipeline laid out in the order of a schedule. */
#include "fix/pipeline.h"
#include "fix/spec.h"
#include "schedule/schedule.h"

#include "base/mem.h"
#include "graph/optable/optable.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct lay {
    const struct fix_pipe *pipe;
    const struct inq_schedule *schedule;
    double weight_share;
    struct fix_step *to;
    /* of one replica: [n_stages * n_microbatches] op of F, of B or I, of W; INQ_NONE: not there */
    uint32_t *forward, *backward, *weight;
    /* [3][same] the first and the last op of the composite that it is a part of, else itself: parts
     * start when all of their inputs are there, and hand on when all are done */
    uint32_t *head, *tail;
    uint32_t start;         /* first op of the replica */
    uint32_t *first, *last; /* [n_dp * n_ranks] compute op of each rank; INQ_NONE: none */
    struct inq_err *err;
};

/* Which of the pipe's virtual stages a schedule's stage is. */
static size_t virtual_of(const struct inq_schedule *schedule, int32_t stage)
{
    return (size_t)(stage % (schedule->n_stages / schedule->n_pipelines));
}

static size_t place(const struct lay *l, int32_t stage, int32_t microbatch)
{
    return (size_t)stage * (size_t)l->schedule->n_microbatches + (size_t)microbatch;
}

/* ---- compute --------------------------------------------------------------------------------- */

static const struct fix_cell *cell_of(const struct lay *l, size_t dp, const struct inq_action *a)
{
    size_t stage = virtual_of(l->schedule, a->stage);
    return &l->pipe->cells[(dp * l->pipe->n_virtual + stage) * l->pipe->n_microbatches +
                           (size_t)a->microbatch];
}

static int64_t duration(const struct lay *l, const struct fix_cell *c, uint8_t kind)
{
    int64_t full = c->i_ns + c->w_ns;
    int64_t weight = l->pipe->split ? c->w_ns : inq_fix_scaled(full, l->weight_share);
    return kind == INQ_ACTION_F   ? c->f_ns
           : kind == INQ_ACTION_B ? full
           : kind == INQ_ACTION_W ? weight
                                  : full - weight;
}

/* Where the op of a compute action is kept, as an index into forward, head and tail. */
static size_t slot_of(const struct lay *l, uint8_t kind, int32_t stage, int32_t microbatch)
{
    const uint32_t *table = kind == INQ_ACTION_F   ? l->forward
                            : kind == INQ_ACTION_W ? l->weight
                                                   : l->backward;
    return (size_t)(table - l->forward) + place(l, stage, microbatch);
}

static int add_compute(struct lay *l, size_t dp, int32_t rank, const struct inq_action *a)
{
    static const uint8_t types[INQ_ACTION_KIND_COUNT] = {
        [INQ_ACTION_F] = INQ_OP_FORWARD,
        [INQ_ACTION_I] = INQ_OP_BACKWARD_INPUT,
        [INQ_ACTION_W] = INQ_OP_BACKWARD_WEIGHT,
        [INQ_ACTION_B] = INQ_OP_BACKWARD,
    };
    const struct fix_cell *c = cell_of(l, dp, a);
    size_t cells = (size_t)l->schedule->n_stages * (size_t)l->schedule->n_microbatches;
    size_t at = slot_of(l, a->kind, a->stage, a->microbatch);
    uint32_t *slot = &l->forward[at];
    struct fix_op op = {
        .op = inq_graph_op_init(), .mean_ns = INQ_TIME_NONE, .group = INQ_NONE, .bytes = -1};
    if (*slot != INQ_NONE) {
        char text[48];
        return inq_err_set(l->err, INQ_FORMAT, "%s appears twice",
                           inq_action_format(a, text, sizeof text));
    }
    op.op.rank = (int32_t)(dp * (size_t)l->schedule->n_ranks) + rank;
    op.op.lane = INQ_OP_LANE_COMPUTE;
    op.op.stage = rank;
    op.op.dp_rank = (int32_t)dp;
    op.op.micro_batch = a->microbatch;
    op.op.chunk = a->stage / l->schedule->n_ranks;
    op.op.type = types[a->kind];
    op.op.cls = INQ_CLASS_COMPUTE;
    op.dur_ns = duration(l, c, a->kind);
    op.delay_ns = a->kind == INQ_ACTION_F   ? c->f_delay_ns
                  : a->kind == INQ_ACTION_W ? 0
                                            : c->b_delay_ns;
    op.slot =
        (uint32_t)(l->to->n_slots + (size_t)op.op.type * cells + place(l, a->stage, a->microbatch));
    int code = inq_fix_step_add(l->to, &op, slot, l->err);
    size_t own = (size_t)op.op.rank;
    l->head[at] = l->tail[at] = *slot;
    if (code == INQ_OK) {
        l->first[own] = l->first[own] == INQ_NONE ? *slot : l->first[own];
        l->last[own] = *slot;
        l->to->split = l->to->split || a->kind == INQ_ACTION_W;
    }
    return code;
}

/* Ops from `first` on run beside each other: they share what that takes. */
static void share_time(struct lay *l, uint32_t first)
{
    double factor = l->pipe->beside > 0.0 ? l->pipe->beside : 1.0;
    int64_t before_ns = 0; /* of the parts so far, one by one */
    for (size_t i = first; i < l->to->n_ops; i++) {
        struct fix_op *op = &l->to->ops[i];
        int64_t from_ns = inq_fix_scaled(before_ns, factor);
        before_ns += op->dur_ns;
        op->beside = true;
        op->dur_ns = inq_fix_scaled(before_ns, factor) - from_ns;
    }
}

/* A cell that stands at `i` of a rank's list; *used gets its entries. */
static int add_cell(struct lay *l, size_t dp, int32_t rank, size_t i, size_t *used)
{
    const struct inq_rank_actions *list = &l->schedule->ranks[rank];
    size_t end = i + list->actions[i].n_sub + 1;
    uint32_t first = (uint32_t)l->to->n_ops;
    int code = INQ_OK;
    end = end < list->n ? end : list->n;
    for (size_t k = i; code == INQ_OK && k < end; k++) {
        code = inq_action_computes(&list->actions[k]) ? add_compute(l, dp, rank, &list->actions[k])
                                                      : INQ_OK;
    }
    if (code == INQ_OK && list->actions[i].kind == INQ_ACTION_OVERLAP_F_B) {
        share_time(l, first);
    }
    for (size_t k = i; code == INQ_OK && k < end; k++) {
        const struct inq_action *a = &list->actions[k];
        if (inq_action_computes(a)) {
            size_t at = slot_of(l, a->kind, a->stage, a->microbatch);
            l->head[at] = first;
            l->tail[at] = (uint32_t)l->to->n_ops - 1;
        }
    }
    *used = end - i;
    return code;
}

/* ---- edges and transfers --------------------------------------------------------------------- */

/* A transfer between ranks: nobody begins before both are there. */
static int add_transfer(struct lay *l, size_t dp, uint32_t from, uint32_t to, int32_t stage,
                        const struct inq_action *a)
{
    const struct inq_graph_op sender = l->to->ops[from].op;
    const struct inq_graph_op receiver = l->to->ops[to].op;
    bool forward = a->kind == INQ_ACTION_F;
    struct fix_op op = {.op = sender, .mean_ns = INQ_TIME_NONE, .slot = INQ_NONE, .bytes = -1};
    uint32_t send = 0;
    uint32_t recv = 0;
    (void)inq_fix_pipe_transfer(l->pipe, dp, sender.stage, receiver.stage, &op.dur_ns);
    op.group = (uint32_t)l->to->n_groups++;
    op.op.lane = INQ_NONE;
    op.op.cls = INQ_CLASS_COMM;
    op.op.micro_batch = a->microbatch; /* `from` and `to` may be other parts of composites */
    op.op.chunk = stage / l->schedule->n_ranks;
    op.op.type = forward ? INQ_OP_FORWARD_SEND : INQ_OP_BACKWARD_SEND;
    int code = inq_fix_step_add(l->to, &op, &send, l->err);
    op.op.rank = receiver.rank;
    op.op.stage = receiver.stage;
    op.op.chunk = a->stage / l->schedule->n_ranks;
    op.op.type = forward ? INQ_OP_FORWARD_RECV : INQ_OP_BACKWARD_RECV;
    if (code == INQ_OK) {
        code = inq_fix_step_add(l->to, &op, &recv, l->err);
    }
    if (code == INQ_OK) {
        code = inq_fix_step_edge(l->to, from, send, l->err);
    }
    /* the compute ops of a rank follow each other in the list */
    if (code == INQ_OK && l->pipe->in_order && to > 0 &&
        l->to->ops[to - 1].op.rank == receiver.rank && to - 1 >= l->start) {
        code = inq_fix_step_edge(l->to, to - 1, recv, l->err);
    }
    return code == INQ_OK ? inq_fix_step_edge(l->to, recv, to, l->err) : code;
}

/* The action needs what `kind` makes of its micro-batch on `stage`. */
static int need(struct lay *l, size_t dp, uint8_t kind, int32_t stage, const struct inq_action *a)
{
    size_t producer = slot_of(l, kind, stage, a->microbatch);
    size_t own = slot_of(l, a->kind, a->stage, a->microbatch);
    uint32_t from = l->tail[producer];
    uint32_t op = l->head[own];
    if (l->forward[producer] == INQ_NONE) {
        char text[48];
        return inq_err_set(l->err, INQ_FORMAT,
                           "%s needs stage %" PRId32 ", which has no such micro-batch",
                           inq_action_format(a, text, sizeof text), stage);
    }
    if (l->head[producer] == op) {
        return INQ_OK; /* parts of one composite */
    }
    bool crosses = l->to->ops[from].op.rank != l->to->ops[op].op.rank;
    return crosses && l->pipe->transfers ? add_transfer(l, dp, from, op, stage, a)
                                         : inq_fix_step_edge(l->to, from, op, l->err);
}

static int add_edges(struct lay *l, size_t dp, const struct inq_action *a)
{
    int32_t previous = inq_schedule_previous(l->schedule, a->stage);
    int32_t next = inq_schedule_next(l->schedule, a->stage);
    if (a->kind == INQ_ACTION_F) {
        return previous < 0 ? INQ_OK : need(l, dp, INQ_ACTION_F, previous, a);
    }
    if (a->kind == INQ_ACTION_W) {
        return need(l, dp, INQ_ACTION_I, a->stage, a);
    }
    int code = need(l, dp, INQ_ACTION_F, a->stage, a);
    return code == INQ_OK && next >= 0 ? need(l, dp, INQ_ACTION_B, next, a) : code;
}

static int lay_replica(struct lay *l, size_t dp)
{
    const struct inq_schedule *s = l->schedule;
    size_t bytes = (size_t)s->n_stages * (size_t)s->n_microbatches * sizeof *l->forward;
    int code = INQ_OK;
    l->start = (uint32_t)l->to->n_ops;
    memset(l->forward, 0xff, bytes);
    memset(l->backward, 0xff, bytes);
    memset(l->weight, 0xff, bytes);
    for (int32_t r = 0; code == INQ_OK && r < s->n_ranks; r++) {
        size_t used = 1;
        for (size_t i = 0; code == INQ_OK && i < s->ranks[r].n; i += used) {
            code = add_cell(l, dp, r, i, &used);
        }
    }
    for (int32_t r = 0; code == INQ_OK && r < s->n_ranks; r++) {
        for (size_t i = 0; code == INQ_OK && i < s->ranks[r].n; i++) {
            const struct inq_action *a = &s->ranks[r].actions[i];
            code = inq_action_computes(a) ? add_edges(l, dp, a) : INQ_OK;
        }
    }
    return code;
}

/* ---- replicas: all are laid out alike, and only the first is kept as a list -------------------
 */

/* The first is laid out; room for the times of all. */
static int start_replicas(struct lay *l)
{
    struct fix_step *to = l->to;
    struct fix_replicas *x = &to->replicas;
    size_t n = l->pipe->n_dp;
    if (to->n_ops > INQ_GRAPH_MAX_OPS / n || to->n_edges > (INQ_GRAPH_MAX_EDGES - 1) / n) {
        return inq_err_set(l->err, INQ_LIMIT, "more than %zu ops or %zu edges in a step",
                           INQ_GRAPH_MAX_OPS, INQ_GRAPH_MAX_EDGES - 1);
    }
    *x = (struct fix_replicas){
        .n = n, .n_ops = to->n_ops, .n_edges = to->n_edges, .n_groups = to->n_groups};
    while (x->n_delayed < to->n_ops && inq_op_is_compute(to->ops[x->n_delayed].op.type)) {
        x->n_delayed++;
    }
    x->dur_ns = inq_mem_alloc((n * x->n_ops + 1) * sizeof *x->dur_ns);
    x->delay_ns = inq_mem_alloc((n * x->n_delayed + 1) * sizeof *x->delay_ns);
    return x->dur_ns != NULL && x->delay_ns != NULL ? INQ_OK : inq_fix_no_memory(l->err);
}

/* Takes the times of the replica that was laid out last; after the first only those are kept. */
static void keep_times(struct lay *l, size_t dp)
{
    struct fix_step *to = l->to;
    struct fix_replicas *x = &to->replicas;
    size_t n_ranks = (size_t)l->schedule->n_ranks;
    const struct fix_op *ops = to->ops + l->start;
    for (size_t i = 0; i < x->n_ops; i++) {
        x->dur_ns[dp * x->n_ops + i] = ops[i].dur_ns;
    }
    for (size_t i = 0; i < x->n_delayed; i++) {
        x->delay_ns[dp * x->n_delayed + i] = ops[i].delay_ns;
    }
    for (size_t r = dp * n_ranks; dp > 1 && r < (dp + 1) * n_ranks; r++) {
        uint32_t more = (uint32_t)((dp - 1) * x->n_ops); /* it was laid out as the second one */
        l->first[r] += l->first[r] != INQ_NONE ? more : 0;
        l->last[r] += l->last[r] != INQ_NONE ? more : 0;
    }
    to->n_ops = x->n_ops;
    to->n_edges = x->n_edges;
    to->n_groups = x->n_groups;
}

static int lay_replicas(struct lay *l)
{
    int code = lay_replica(l, 0);
    if (code == INQ_OK && l->pipe->n_dp > 1) {
        code = start_replicas(l);
    }
    for (size_t dp = 0; code == INQ_OK && l->pipe->n_dp > 1 && dp < l->pipe->n_dp; dp++) {
        code = dp > 0 ? lay_replica(l, dp) : INQ_OK;
        if (code == INQ_OK) {
            keep_times(l, dp);
        }
    }
    return code;
}

/* ---- what is neither ------------------------------------------------------------------------- */

static bool stays(const struct fix_op *op)
{
    return !inq_op_is_compute(op->op.type) && !inq_op_is_p2p(op->op.type);
}

/* An edge of the old job between what stays, or between it and the compute: then before the first
 * or after the last of the rank. */
static int keep_edge(struct lay *l, const struct fix_step *from, const uint32_t *index,
                     const struct inq_edge *edge)
{
    uint32_t before = index[edge->before];
    uint32_t after = index[edge->after];
    if (before == INQ_NONE && after == INQ_NONE) {
        return INQ_OK;
    }
    if (before == INQ_NONE && from->ops[edge->after].op.type == INQ_OP_PARAMS_ALL_GATHER) {
        return INQ_OK; /* parameters come before the first compute, not after the last */
    }
    if (before == INQ_NONE) {
        before = l->last[from->ops[edge->before].op.rank];
    }
    if (after == INQ_NONE) {
        bool compute = inq_op_is_compute(from->ops[edge->after].op.type);
        after = compute ? l->first[from->ops[edge->after].op.rank] : INQ_NONE;
    }
    return before != INQ_NONE && after != INQ_NONE ? inq_fix_step_edge(l->to, before, after, l->err)
                                                   : INQ_OK;
}

static int keep_rest(struct lay *l, const struct fix_step *from)
{
    const struct fix_replicas *x = &l->to->replicas;
    size_t unlisted = x->n > 0 ? (x->n - 1) * x->n_ops : 0; /* edges count them */
    uint32_t *index = inq_mem_alloc((from->n_ops + 1) * sizeof *index);
    uint32_t *group = inq_mem_alloc((from->n_groups + 1) * sizeof *group);
    int code = index != NULL && group != NULL ? INQ_OK : inq_fix_no_memory(l->err);
    if (code == INQ_OK) {
        memset(index, 0xff, (from->n_ops + 1) * sizeof *index);
        memset(group, 0xff, (from->n_groups + 1) * sizeof *group);
    }
    for (size_t i = 0; code == INQ_OK && i < from->n_ops; i++) {
        struct fix_op op = from->ops[i];
        if (!stays(&op)) {
            continue;
        }
        if (op.group != INQ_NONE) {
            uint32_t *own = &group[op.group];
            *own = *own == INQ_NONE ? (uint32_t)l->to->n_groups++ : *own;
            op.group = *own;
        }
        code = inq_fix_step_add(l->to, &op, &index[i], l->err);
        index[i] += (uint32_t)unlisted;
    }
    for (size_t e = 0; code == INQ_OK && e < from->n_edges; e++) {
        code = keep_edge(l, from, index, &from->edges[e]);
    }
    inq_mem_free(index);
    inq_mem_free(group);
    return code;
}

/* ---- all together ---------------------------------------------------------------------------- */

static int start_job(struct lay *l, const struct fix_step *from)
{
    const struct inq_schedule *s = l->schedule;
    struct fix_step *to = l->to;
    *to = (struct fix_step){.n_ranks = l->pipe->n_dp * (size_t)s->n_ranks,
                            .n_stages = (size_t)s->n_ranks,
                            .n_dp = l->pipe->n_dp,
                            .n_chunks = (size_t)(s->n_stages / s->n_ranks),
                            .n_microbatches = (size_t)s->n_microbatches,
                            .n_slots = from != NULL ? from->n_slots : 0,
                            .weight_share = from != NULL ? from->weight_share : 0.0,
                            .beside = l->pipe->beside,
                            .connected = true};
    to->v_shaped =
        s->n_stages > s->n_ranks && s->stage_rank[s->n_ranks] == s->n_ranks - 1 && s->n_ranks > 1;
    to->two_way = to->v_shaped && s->n_pipelines == 2;
    /* what its segments are called would be lost: micro-batches in the order that was laid out */
    (void)snprintf(to->schedule, sizeof to->schedule, "%s", s->n_segments > 1 ? "" : s->kind);
    to->ranks = inq_mem_zalloc(to->n_ranks + 1, sizeof *to->ranks);
    size_t cells = (size_t)s->n_stages * (size_t)s->n_microbatches + 1;
    l->forward = inq_mem_alloc(9 * cells * sizeof *l->forward);
    l->first = inq_mem_alloc(2 * (to->n_ranks + 1) * sizeof *l->first);
    if (to->ranks == NULL || l->forward == NULL || l->first == NULL) {
        return inq_fix_no_memory(l->err);
    }
    l->backward = l->forward + cells;
    l->weight = l->backward + cells;
    l->head = l->weight + cells;
    l->tail = l->head + 3 * cells;
    l->last = l->first + to->n_ranks + 1;
    memset(l->first, 0xff, 2 * (to->n_ranks + 1) * sizeof *l->first);
    for (size_t r = 0; r < to->n_ranks; r++) {
        to->ranks[r] = from != NULL
                           ? from->ranks[r]
                           : (struct fix_rank){(int32_t)r, (int32_t)(r % (size_t)s->n_ranks),
                                               (int32_t)(r / (size_t)s->n_ranks)};
    }
    return INQ_OK;
}

/* Gives back what a list does not use. */
static void trim(void **list, size_t *cap, size_t n, size_t size)
{
    void *less = inq_mem_realloc(*list, n * size);
    if (less != NULL) {
        *list = less;
        *cap = n;
    }
}

/* Leaves ops that stay and what they have edges with: of many micro-batches that is little, and the
 * old job is there until the new one is. */
static int strip(struct fix_step *job, struct inq_err *err)
{
    uint32_t *index = inq_mem_zalloc(job->n_ops + 1, sizeof *index);
    size_t n = 0;
    if (index == NULL) {
        return inq_fix_no_memory(err);
    }
    for (size_t e = 0; e < job->n_edges; e++) {
        struct inq_edge edge = job->edges[e];
        if (stays(&job->ops[edge.before]) || stays(&job->ops[edge.after])) {
            index[edge.before] = index[edge.after] = 1;
            job->edges[n++] = edge;
        }
    }
    job->n_edges = n;
    n = 0;
    for (size_t i = 0; i < job->n_ops; i++) {
        if (index[i] != 0 || stays(&job->ops[i])) {
            index[i] = (uint32_t)n;
            job->ops[n++] = job->ops[i];
        }
    }
    job->n_ops = n;
    for (size_t e = 0; e < job->n_edges; e++) {
        job->edges[e] = (struct inq_edge){index[job->edges[e].before], index[job->edges[e].after]};
    }
    inq_mem_free(index);
    void *ops = job->ops;
    void *edges = job->edges;
    trim(&ops, &job->cap_ops, job->n_ops, sizeof *job->ops);
    trim(&edges, &job->cap_edges, job->n_edges, sizeof *job->edges);
    job->ops = ops;
    job->edges = edges;
    return INQ_OK;
}

int inq_fix_relayout(const struct fix_pipe *pipe, const struct inq_schedule *schedule,
                     double weight_share, struct fix_step *from, struct fix_step *to,
                     struct inq_err *err)
{
    struct lay l = {
        .pipe = pipe, .schedule = schedule, .weight_share = weight_share, .to = to, .err = err};
    int code = start_job(&l, from);
    if (code == INQ_OK && from != NULL) {
        code = strip(from, err);
    }
    if (code == INQ_OK) {
        code = lay_replicas(&l);
    }
    if (code == INQ_OK && from != NULL) {
        code = keep_rest(&l, from);
    }
    to->n_slots +=
        (size_t)INQ_OP_TYPE_COUNT * (size_t)schedule->n_stages * (size_t)schedule->n_microbatches;
    inq_mem_free(l.forward);
    inq_mem_free(l.first);
    if (code != INQ_OK) {
        inq_fix_step_release(to);
    }
    return code;
}
