/* SPDX-License-Identifier: Apache-2.0 */
/* Ops of one replica in one step, ordered into lanes, with the dependencies inside a stage and the
 * groups that span replicas. Transfers between stages are graph/optable/p2p.c's. */
#include "graph/optable/template.h"

#include "base/mem.h"
#include "base/sort.h"

#include <string.h>

void inq_op_template_release(struct inq_op_template *t)
{
    inq_mem_free(t->op);
    inq_mem_free(t->stage_start);
    inq_mem_free(t->lane);
    inq_mem_free(t->edges);
    inq_mem_free(t->group);
    inq_mem_free(t->dp_sync);
    *t = (struct inq_op_template){0};
}

/* ---- order ----------------------------------------------------------------------------------- */

static enum inq_op_lane lane_of(uint8_t type)
{
    switch ((enum inq_op_type)type) {
    case INQ_OP_FORWARD:
    case INQ_OP_BACKWARD:
    case INQ_OP_BACKWARD_INPUT:
    case INQ_OP_BACKWARD_WEIGHT:
        return INQ_OP_LANE_COMPUTE;
    case INQ_OP_FORWARD_SEND:
        return INQ_OP_LANE_FORWARD_SEND;
    case INQ_OP_FORWARD_RECV:
        return INQ_OP_LANE_FORWARD_RECV;
    case INQ_OP_BACKWARD_SEND:
        return INQ_OP_LANE_BACKWARD_SEND;
    case INQ_OP_BACKWARD_RECV:
        return INQ_OP_LANE_BACKWARD_RECV;
    case INQ_OP_PARAMS_ALL_GATHER:
    case INQ_OP_GRADS_REDUCE_SCATTER:
        return INQ_OP_LANE_DP;
    case INQ_OP_SEPARATE_GRADS_ALL_REDUCE:
    case INQ_OP_LAYERNORM_GRADS_ALL_REDUCE:
    case INQ_OP_EMBEDDING_GRADS_ALL_REDUCE:
    case INQ_OP_OPTIMIZER_CLIP:
    case INQ_OP_OPTIMIZER:
    case INQ_OP_GC:
    case INQ_OP_NONE:
    case INQ_OP_TYPE_COUNT:
        break;
    }
    return INQ_OP_LANE_LAST;
}

/* Place in the chain after the last backward: the order in which a step ends. */
static int last_place(uint8_t type)
{
    static const uint8_t chain[] = {INQ_OP_GC,
                                    INQ_OP_LAYERNORM_GRADS_ALL_REDUCE,
                                    INQ_OP_EMBEDDING_GRADS_ALL_REDUCE,
                                    INQ_OP_SEPARATE_GRADS_ALL_REDUCE,
                                    INQ_OP_OPTIMIZER_CLIP,
                                    INQ_OP_OPTIMIZER};
    int place = 0;
    while (place < (int)sizeof chain && chain[place] != type) {
        place++;
    }
    return place;
}

static int compare_i64(int64_t x, int64_t y)
{
    return x < y ? -1 : x > y;
}

/* By stage; what ends the step last, in the order of its chain; all else by start, seq, type. */
static int compare_ops(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    const struct inq_step_op *x = a;
    const struct inq_step_op *y = b;
    if (x->stage != y->stage) {
        return x->stage < y->stage ? -1 : 1;
    }
    bool last_x = lane_of(x->type) == INQ_OP_LANE_LAST;
    bool last_y = lane_of(y->type) == INQ_OP_LANE_LAST;
    if (last_x != last_y) {
        return last_x ? 1 : -1;
    }
    int order =
        last_x ? last_place(x->type) - last_place(y->type) : compare_i64(x->start_ns, y->start_ns);
    if (order == 0) {
        order = compare_i64(x->seq, y->seq);
    }
    return order != 0 ? order
                      : strcmp(inq_op_type_text((enum inq_op_type)x->type),
                               inq_op_type_text((enum inq_op_type)y->type));
}

/* ---- inside a stage -------------------------------------------------------------------------- */

struct stage {
    struct inq_op_template *t;
    size_t from, to;
};

/* Op of a type with the lowest (sign < 0) or highest seq; t->n when there is none. */
static size_t extreme_seq(const struct stage *s, uint8_t type, int sign)
{
    size_t best = s->t->n;
    for (size_t i = s->from; i < s->to; i++) {
        const struct inq_step_op *op = &s->t->op[i];
        if (op->type == type &&
            (best == s->t->n || compare_i64(op->seq, s->t->op[best].seq) == sign)) {
            best = i;
        }
    }
    return best;
}

/* The compute op that ends last; with `type` and `chunk` >= 0 among those only. t->n: none. */
static size_t last_compute(const struct stage *s, int chunk)
{
    size_t best = s->t->n;
    for (size_t i = s->from; i < s->to; i++) {
        const struct inq_step_op *op = &s->t->op[i];
        bool fits = chunk < 0 ? inq_op_is_compute(op->type)
                              : inq_op_is_compute(op->type) && op->type != INQ_OP_FORWARD &&
                                    (op->chunk < 0 ? 0 : op->chunk) == chunk;
        if (fits && (best == s->t->n || op->end_ns > s->t->op[best].end_ns)) {
            best = i;
        }
    }
    return best;
}

static int chunk_of(const struct inq_step_op *op)
{
    return op->chunk < 0 ? 0 : op->chunk;
}

/* The first forward of each chunk waits for the last parameter gather of that chunk. */
static int gather_before_forward(const struct stage *s, struct inq_err *err)
{
    struct inq_op_template *t = s->t;
    int code = INQ_OK;
    for (int chunk = 0; code == INQ_OK && chunk < (int)t->n_chunks; chunk++) {
        size_t gather = t->n;
        size_t forward = t->n;
        for (size_t i = s->from; i < s->to; i++) {
            const struct inq_step_op *op = &t->op[i];
            if (chunk_of(op) != chunk) {
                continue;
            }
            if (op->type == INQ_OP_PARAMS_ALL_GATHER &&
                (gather == t->n || op->seq > t->op[gather].seq)) {
                gather = i;
            }
            if (op->type == INQ_OP_FORWARD && forward == t->n) {
                forward = i; /* ops are in order of start */
            }
        }
        if (gather < t->n && forward < t->n) {
            code = inq_template_edge(t, gather, forward, err);
        }
    }
    return code;
}

/* Overlapped gradient sync: the first scatter of each chunk waits for the chunk's last backward. */
static int backward_before_scatter(const struct stage *s, struct inq_err *err)
{
    struct inq_op_template *t = s->t;
    int code = INQ_OK;
    for (int chunk = 0; code == INQ_OK && chunk < (int)t->n_chunks; chunk++) {
        size_t scatter = t->n;
        for (size_t i = s->from; i < s->to; i++) {
            if (t->op[i].type == INQ_OP_GRADS_REDUCE_SCATTER && chunk_of(&t->op[i]) == chunk &&
                (scatter == t->n || t->op[i].seq < t->op[scatter].seq)) {
                scatter = i;
            }
        }
        size_t backward = last_compute(s, chunk);
        if (scatter < t->n && backward < t->n) {
            code = inq_template_edge(t, backward, scatter, err);
        }
    }
    return code;
}

/* Puts the reduce-scatters, by seq, between `before` and what comes next; returns the last. */
static int chain_scatters(const struct stage *s, size_t *before, struct inq_err *err)
{
    struct inq_op_template *t = s->t;
    int64_t seq = INT64_MIN;
    for (;;) {
        size_t next = t->n;
        for (size_t i = s->from; i < s->to; i++) {
            if (t->op[i].type == INQ_OP_GRADS_REDUCE_SCATTER && t->op[i].seq > seq &&
                (next == t->n || t->op[i].seq < t->op[next].seq)) {
                next = i;
            }
        }
        if (next == t->n) {
            return INQ_OK;
        }
        int code = *before < t->n ? inq_template_edge(t, *before, next, err) : INQ_OK;
        if (code != INQ_OK) {
            return code;
        }
        seq = t->op[next].seq;
        *before = next;
    }
}

/* From the compute that ends last through the chain that ends the step. */
static int end_of_step(const struct stage *s, bool overlapped, struct inq_err *err)
{
    struct inq_op_template *t = s->t;
    size_t before = last_compute(s, -1);
    size_t scatter = extreme_seq(s, INQ_OP_GRADS_REDUCE_SCATTER, 1);
    bool scattered = scatter == t->n;
    int code = INQ_OK;
    for (size_t i = s->from; code == INQ_OK && i < s->to; i++) {
        if (t->lane[i] != INQ_OP_LANE_LAST) {
            continue;
        }
        int place = last_place(t->op[i].type);
        bool joins = overlapped ? place >= last_place(INQ_OP_LAYERNORM_GRADS_ALL_REDUCE)
                                : place >= last_place(INQ_OP_SEPARATE_GRADS_ALL_REDUCE);
        if (joins && !scattered) {
            scattered = true;
            code = overlapped ? inq_template_edge(t, scatter, i, err)
                              : chain_scatters(s, &before, err);
        }
        if (code == INQ_OK && before < t->n) {
            code = inq_template_edge(t, before, i, err);
        }
        before = i;
    }
    if (code == INQ_OK && !scattered && !overlapped) {
        code = chain_scatters(s, &before, err);
    }
    return code;
}

/* Backward transfers may start early, but not before the second-last forward of the warm-up. */
static int first_backward_transfers(const struct stage *s, struct inq_err *err)
{
    struct inq_op_template *t = s->t;
    size_t back[2] = {t->n, t->n}; /* the two compute ops before */
    for (size_t i = s->from; i < s->to; i++) {
        if (!inq_op_is_compute(t->op[i].type)) {
            continue;
        }
        if (t->op[i].type != INQ_OP_FORWARD) {
            break;
        }
        back[1] = back[0];
        back[0] = i;
    }
    if (back[1] == t->n) {
        return INQ_OK;
    }
    int code = INQ_OK;
    const uint8_t types[] = {INQ_OP_BACKWARD_RECV, INQ_OP_BACKWARD_SEND};
    for (int k = 0; code == INQ_OK && k < 2; k++) {
        size_t first = extreme_seq(s, types[k], -1);
        if (first < t->n) {
            code = inq_template_edge(t, back[1], first, err);
        }
    }
    return code;
}

static bool has_type(const struct inq_op_template *t, uint8_t type)
{
    for (size_t i = 0; i < t->n; i++) {
        if (t->op[i].type == type) {
            return true;
        }
    }
    return false;
}

static int add_stage_edges(struct inq_op_template *t, struct inq_err *err)
{
    bool overlapped = has_type(t, INQ_OP_SEPARATE_GRADS_ALL_REDUCE);
    int code = INQ_OK;
    for (size_t k = 0; code == INQ_OK && k < t->n_stages; k++) {
        struct stage s = {t, t->stage_start[k], t->stage_start[k + 1]};
        /* with the turn of a V on the last stage there is no such warm-up */
        code = t->v_shaped ? INQ_OK : first_backward_transfers(&s, err);
        if (code == INQ_OK) {
            code = gather_before_forward(&s, err);
        }
        if (code == INQ_OK && overlapped) {
            code = backward_before_scatter(&s, err);
        }
        if (code == INQ_OK) {
            code = end_of_step(&s, overlapped, err);
        }
    }
    return code;
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* Ops that all replicas do together, and the two groups over stages. */
static void make_groups(struct inq_op_template *t)
{
    uint32_t embedding = INQ_NONE;
    uint32_t clip = INQ_NONE;
    for (size_t i = 0; i < t->n; i++) {
        uint8_t type = t->op[i].type;
        if (type == INQ_OP_PARAMS_ALL_GATHER || type == INQ_OP_GRADS_REDUCE_SCATTER ||
            type == INQ_OP_SEPARATE_GRADS_ALL_REDUCE) {
            t->group[i] = (uint32_t)t->n_groups++;
            t->dp_sync[i] = 1;
        } else if (type == INQ_OP_EMBEDDING_GRADS_ALL_REDUCE) {
            embedding = embedding == INQ_NONE ? (uint32_t)t->n_groups++ : embedding;
            t->group[i] = embedding;
        } else if (type == INQ_OP_OPTIMIZER_CLIP) {
            clip = clip == INQ_NONE ? (uint32_t)t->n_groups++ : clip;
            t->group[i] = clip;
            t->dp_sync[i] = 1;
        }
    }
}

/* ---- all together ---------------------------------------------------------------------------- */

static int alloc_template(const struct inq_step_op *rows, size_t n, size_t n_stages,
                          struct inq_op_template *t, struct inq_err *err)
{
    t->n = n;
    t->n_stages = n_stages;
    t->op = inq_mem_alloc(n * sizeof *t->op);
    t->stage_start = inq_mem_zalloc(n_stages + 1, sizeof *t->stage_start);
    t->lane = inq_mem_zalloc(n, sizeof *t->lane);
    t->group = inq_mem_alloc(n * sizeof *t->group);
    t->dp_sync = inq_mem_zalloc(n, sizeof *t->dp_sync);
    if (t->op == NULL || t->stage_start == NULL || t->lane == NULL || t->group == NULL ||
        t->dp_sync == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu ops", n);
    }
    memcpy(t->op, rows, n * sizeof *rows);
    return inq_sort(t->op, n, sizeof *t->op, compare_ops, NULL, err);
}

int inq_op_template_make(const struct inq_step_op *rows, size_t n, size_t n_stages,
                         struct inq_op_template *out, struct inq_err *err)
{
    struct inq_op_template *t = out;
    int code = alloc_template(rows, n, n_stages, t, err);
    if (code != INQ_OK) {
        return code;
    }
    t->n_chunks = 1;
    for (size_t i = 0; i < n; i++) {
        t->lane[i] = (uint8_t)lane_of(t->op[i].type);
        t->group[i] = INQ_NONE;
        t->stage_start[t->op[i].stage + 1]++;
        t->has_p2p = t->has_p2p || inq_op_is_p2p(t->op[i].type);
        if (inq_op_is_compute(t->op[i].type) && t->op[i].chunk >= (int32_t)t->n_chunks) {
            t->n_chunks = (size_t)t->op[i].chunk + 1;
        }
    }
    for (size_t s = 0; s < n_stages; s++) {
        t->stage_start[s + 1] += t->stage_start[s];
    }
    make_groups(t);
    code = t->has_p2p ? inq_template_p2p(t, err) : inq_template_direct(t, err);
    return code == INQ_OK ? add_stage_edges(t, err) : code;
}

/* ---- to a graph ------------------------------------------------------------------------------ */

static int add_ops(const struct inq_op_template *t, size_t n_dp, struct inq_graph_builder *b,
                   struct inq_err *err)
{
    for (size_t d = 0; d < n_dp; d++) {
        for (size_t i = 0; i < t->n; i++) {
            const struct inq_step_op *row = &t->op[i];
            struct inq_graph_op op = inq_graph_op_init();
            op.rank = (int32_t)(d * t->n_stages + row->stage);
            op.lane = t->lane[i] == INQ_OP_LANE_LAST ? INQ_NONE : t->lane[i];
            op.stage = (int32_t)row->stage;
            op.dp_rank = (int32_t)d;
            op.micro_batch = row->micro_batch;
            op.chunk = row->chunk;
            op.source = (uint32_t)i;
            op.type = row->type;
            op.cls = inq_op_is_comm(row->type) ? INQ_CLASS_COMM : INQ_CLASS_COMPUTE;
            int code = inq_graph_add_op(b, &op, 0, 0, NULL, err);
            if (code != INQ_OK) {
                return code;
            }
        }
    }
    return INQ_OK;
}

static int add_edges(const struct inq_op_template *t, size_t n_dp, struct inq_graph_builder *b,
                     struct inq_err *err)
{
    for (size_t d = 0; d < n_dp; d++) {
        uint32_t base = (uint32_t)(d * t->n);
        for (size_t e = 0; e < t->n_edges; e++) {
            int code =
                inq_graph_add_dep(b, base + t->edges[e].before, base + t->edges[e].after, err);
            if (code != INQ_OK) {
                return code;
            }
        }
    }
    return INQ_OK;
}

/* Members of each group of the template, listed by counting sort. */
struct group_index {
    size_t *start; /* [n_groups + 1] */
    uint32_t *member;
    uint32_t *ids; /* [n * n_dp] scratch */
};

static int index_groups(const struct inq_op_template *t, size_t n_dp, struct group_index *x,
                        struct inq_err *err)
{
    x->start = inq_mem_zalloc(t->n_groups + 2, sizeof *x->start);
    x->member = inq_mem_alloc(t->n * sizeof *x->member);
    x->ids = inq_mem_alloc(t->n * n_dp * sizeof *x->ids);
    if (x->start == NULL || x->member == NULL || x->ids == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu groups", t->n_groups);
    }
    for (size_t i = 0; i < t->n; i++) {
        if (t->group[i] != INQ_NONE) {
            x->start[t->group[i] + 2]++;
        }
    }
    for (size_t k = 0; k + 1 < t->n_groups + 2; k++) {
        x->start[k + 1] += x->start[k];
    }
    for (size_t i = 0; i < t->n; i++) {
        if (t->group[i] != INQ_NONE) {
            x->member[x->start[t->group[i] + 1]++] = (uint32_t)i;
        }
    }
    return INQ_OK;
}

/* One group: over all replicas at once, or one in each. */
static int add_group(const struct inq_op_template *t, size_t n_dp, const struct group_index *x,
                     size_t k, struct inq_graph_builder *b, struct inq_err *err)
{
    size_t n = 0;
    bool sync = x->start[k] < x->start[k + 1] && t->dp_sync[x->member[x->start[k]]] != 0;
    int code = INQ_OK;
    for (size_t d = 0; code == INQ_OK && d < n_dp; d++) {
        for (size_t m = x->start[k]; m < x->start[k + 1]; m++) {
            x->ids[n++] = (uint32_t)(d * t->n) + x->member[m];
        }
        if (!sync) {
            code = inq_graph_add_group(b, x->ids, n, n, err);
            n = 0;
        }
    }
    return code == INQ_OK && n > 0 ? inq_graph_add_group(b, x->ids, n, n, err) : code;
}

int inq_op_template_graph(const struct inq_op_template *t, size_t n_dp, struct inq_graph **graph,
                          struct inq_err *err)
{
    struct group_index x = {0};
    struct inq_graph_builder *b = inq_graph_builder_new();
    int code = b != NULL ? add_ops(t, n_dp, b, err)
                         : inq_err_set(err, INQ_NOMEM, "out of memory for a graph");
    if (code == INQ_OK) {
        code = add_edges(t, n_dp, b, err);
    }
    if (code == INQ_OK) {
        code = index_groups(t, n_dp, &x, err);
    }
    for (size_t k = 0; code == INQ_OK && k < t->n_groups; k++) {
        code = add_group(t, n_dp, &x, k, b, err);
    }
    if (code == INQ_OK) {
        code = inq_graph_finish(b, graph, NULL, err);
    }
    inq_mem_free(x.start);
    inq_mem_free(x.member);
    inq_mem_free(x.ids);
    inq_graph_builder_free(b);
    return code;
}
