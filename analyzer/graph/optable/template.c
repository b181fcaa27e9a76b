/* SPDX-License-Identifier: Apache-2.0 */
/* Ops of one replica in one step, ordered into lanes, with the dependencies inside a stage,
 * the groups that span replicas, and the transfers between stages. */
#include "graph/optable/template.h"

#include "base/mem.h"
#include "base/sort.h"

#include <string.h>

static int add_edge(struct inq_op_template *t, size_t before, size_t after, struct inq_err *err)
{
    int code = inq_mem_grow(&t->edges, &t->cap_edges, t->n_edges + 1, sizeof *t->edges,
                            INQ_GRAPH_MAX_EDGES - 1, err);
    if (code == INQ_OK) {
        t->edges[t->n_edges++] = (struct inq_edge){(uint32_t)before, (uint32_t)after};
    }
    return code;
}

/* Dependencies between stages: which compute op each transfer belongs to and which transfers form a
 * pair; or, where no transfers were recorded, straight edges from stage to stage. */

/* Clocks and records disagree by less than this. */
static const int64_t clock_eps_ns = 50000;

/* One direction of one stage. */
struct direction {
    struct inq_op_template *t;
    size_t stage;
    bool forward;
    size_t n;          /* compute ops of this direction */
    uint32_t *compute; /* by seq */
    int64_t last_start_ns, first_end_ns;
};

static bool in_direction(const struct direction *d, uint8_t type)
{
    return d->forward ? type == INQ_OP_FORWARD : inq_op_is_backward(type);
}

static int compare_seq(const void *a, const void *b, void *ctx)
{
    const struct inq_step_op *op = ctx;
    int32_t x = op[*(const uint32_t *)a].seq;
    int32_t y = op[*(const uint32_t *)b].seq;
    return x < y ? -1 : x > y;
}

static int list_compute(struct direction *d, struct inq_err *err)
{
    const struct inq_op_template *t = d->t;
    d->n = 0;
    d->last_start_ns = INT64_MIN;
    d->first_end_ns = INT64_MAX;
    for (size_t i = t->stage_start[d->stage]; i < t->stage_start[d->stage + 1]; i++) {
        const struct inq_step_op *op = &t->op[i];
        if (in_direction(d, op->type)) {
            d->compute[d->n++] = (uint32_t)i;
            d->last_start_ns = op->start_ns > d->last_start_ns ? op->start_ns : d->last_start_ns;
            d->first_end_ns = op->end_ns < d->first_end_ns ? op->end_ns : d->first_end_ns;
        }
    }
    return inq_sort(d->compute, d->n, sizeof *d->compute, compare_seq, t->op, err);
}

/* Recorders write transfers that were never made: a receive after the last compute began, a send
 * before the first one ended. */
static bool never_made(const struct direction *d, const struct inq_step_op *op, bool send)
{
    return send ? op->end_ns < d->first_end_ns - clock_eps_ns
                : op->start_ns > d->last_start_ns + clock_eps_ns;
}

/* At either end of the model a chunk has nobody to talk to. */
static bool beyond_model(const struct direction *d, const struct inq_step_op *compute, bool send)
{
    int64_t chunk = compute->chunk < 0 ? 0 : compute->chunk;
    int64_t own = chunk * (int64_t)d->t->n_stages + (int64_t)d->stage;
    int64_t peer = own + (d->forward == send ? 1 : -1);
    return peer < 0 || peer >= (int64_t)(d->t->n_chunks * d->t->n_stages);
}

/* The compute op before `op` on its stage, of either direction; SIZE_MAX for none. */
static size_t compute_before(const struct direction *d, size_t op)
{
    for (size_t i = op; i > d->t->stage_start[d->stage]; i--) {
        if (inq_op_is_compute(d->t->op[i - 1].type)) {
            return i - 1;
        }
    }
    return SIZE_MAX;
}

/* Whether the record lets `after` wait for `before`. */
static bool follows(const struct inq_op_template *t, size_t before, size_t after)
{
    return t->op[after].start_ns >= t->op[before].end_ns - clock_eps_ns;
}

/* Edges of one transfer with the `k`-th compute op of its direction. */
static int match_compute(struct direction *d, size_t transfer, size_t k, bool send,
                         struct inq_err *err)
{
    struct inq_op_template *t = d->t;
    if (send) {
        return add_edge(t, d->compute[k], transfer, err);
    }
    int code = add_edge(t, transfer, d->compute[k], err);
    size_t before = t->recv_in_order ? compute_before(d, d->compute[k]) : SIZE_MAX;
    if (before == SIZE_MAX || !follows(t, before, transfer)) {
        before = k > 0 ? d->compute[k - 1] : SIZE_MAX;
    }
    return code == INQ_OK && before != SIZE_MAX && follows(t, before, transfer)
               ? add_edge(t, before, transfer, err)
               : code;
}

/* Compute ops of the direction that have somebody to talk to. */
static size_t count_talking(const struct direction *d, bool send)
{
    size_t n = 0;
    for (size_t k = 0; k < d->n; k++) {
        n += !beyond_model(d, &d->t->op[d->compute[k]], send);
    }
    return n;
}

/* All transfers of one type of a stage; real[i] says which of them have a partner. Some recorders
 * write a transfer for every compute op (but perhaps the very first receive), others only those
 * that were made. */
static int match_transfers(struct direction *d, uint8_t type, bool send, uint8_t *real,
                           struct inq_err *err)
{
    struct inq_op_template *t = d->t;
    size_t from = t->stage_start[d->stage];
    size_t to = t->stage_start[d->stage + 1];
    size_t made = 0;
    for (size_t i = from; i < to; i++) {
        made += t->op[i].type == type && !never_made(d, &t->op[i], send);
    }
    bool only_made = made != d->n && made == count_talking(d, send);
    size_t k = !send && !only_made && made + 1 == d->n && made > 0 ? 1 : 0;
    for (size_t i = from; i < to; i++) {
        if (t->op[i].type != type || never_made(d, &t->op[i], send)) {
            continue;
        }
        while (only_made && k < d->n && beyond_model(d, &t->op[d->compute[k]], send)) {
            k++;
        }
        if (k >= d->n) {
            break;
        }
        real[i] = !beyond_model(d, &t->op[d->compute[k]], send);
        int code = match_compute(d, i, k, send, err);
        if (code != INQ_OK) {
            return code;
        }
        k++;
    }
    return INQ_OK;
}

/* ---- pairs ----------------------------------------------------------------------------------- */

/* The k-th real transfer of each type of a stage, for all stages: place of (stage, type, k). */
static void pair_up(struct inq_op_template *t, uint8_t send, uint8_t recv, size_t from, size_t to,
                    const uint8_t *real)
{
    size_t r = t->stage_start[to];
    for (size_t i = t->stage_start[from]; i < t->stage_start[from + 1]; i++) {
        if (t->op[i].type != send || !real[i]) {
            continue;
        }
        while (r < t->stage_start[to + 1] && (t->op[r].type != recv || !real[r])) {
            r++;
        }
        if (r == t->stage_start[to + 1]) {
            return; /* the rest has no partner in the record */
        }
        t->group[i] = (uint32_t)t->n_groups;
        t->group[r] = (uint32_t)t->n_groups;
        t->n_groups++;
        r++;
    }
}

/* Chunks that run down the stages each time: transfers go with compute ops, and with each other, in
 * order. */
static int match_in_order(struct inq_op_template *t, struct inq_err *err)
{
    uint8_t *real = inq_mem_zalloc(t->n, sizeof *real);
    uint32_t *compute = inq_mem_alloc(t->n * sizeof *compute);
    if (real == NULL || compute == NULL) {
        inq_mem_free(real);
        inq_mem_free(compute);
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu transfers", t->n);
    }
    int code = INQ_OK;
    for (size_t s = 0; code == INQ_OK && s < t->n_stages; s++) {
        for (int way = 0; code == INQ_OK && way < 2; way++) {
            struct direction d = {.t = t, .stage = s, .forward = way == 0, .compute = compute};
            code = list_compute(&d, err);
            if (code == INQ_OK) {
                code = match_transfers(&d, way == 0 ? INQ_OP_FORWARD_SEND : INQ_OP_BACKWARD_SEND,
                                       true, real, err);
            }
            if (code == INQ_OK) {
                code = match_transfers(&d, way == 0 ? INQ_OP_FORWARD_RECV : INQ_OP_BACKWARD_RECV,
                                       false, real, err);
            }
        }
    }
    for (size_t s = 0; code == INQ_OK && s < t->n_stages && t->n_stages > 1; s++) {
        size_t next = (s + 1) % t->n_stages;
        pair_up(t, INQ_OP_FORWARD_SEND, INQ_OP_FORWARD_RECV, s, next, real);
        pair_up(t, INQ_OP_BACKWARD_SEND, INQ_OP_BACKWARD_RECV, next, s, real);
    }
    inq_mem_free(real);
    inq_mem_free(compute);
    return code;
}

/* ---- straight edges
 * ------------------------------------------------------------------------------
 */

struct direct {
    struct inq_op_template *t;
    bool v_shaped, two_way;
    struct inq_map place; /* (backward, virtual stage, micro-batch) to op */
};

/* Chunks run down the stages one after the other, or alternately down and up. */
static size_t virtual_stage(const struct direct *d, const struct inq_step_op *op)
{
    size_t chunk = op->chunk < 0 ? 0 : (size_t)op->chunk;
    bool up = d->v_shaped && chunk % 2 == 1;
    return chunk * d->t->n_stages + (up ? d->t->n_stages - 1 - op->stage : op->stage);
}

static uint64_t place_key(bool backward, size_t stage, const struct inq_step_op *op)
{
    uint32_t micro_batch = (uint32_t)(op->micro_batch >= 0 ? op->micro_batch : op->seq);
    return (uint64_t)backward << 63 | (uint64_t)stage << 32 | micro_batch;
}

static int index_places(struct direct *d, struct inq_err *err)
{
    int code = INQ_OK;
    for (size_t i = 0; code == INQ_OK && i < d->t->n; i++) {
        const struct inq_step_op *op = &d->t->op[i];
        if (op->type == INQ_OP_FORWARD || inq_op_is_backward(op->type)) {
            uint64_t key = place_key(op->type != INQ_OP_FORWARD, virtual_stage(d, op), op);
            code = inq_map_put(&d->place, key, (uint32_t)i, err);
        }
    }
    return code;
}

/* Whether nothing comes before (or, going back, after) a virtual stage. */
static bool is_end(const struct direct *d, size_t stage, bool backward)
{
    size_t n = d->t->n_stages;
    return backward ? d->two_way && stage + 1 == n : stage == 0 || (d->two_way && stage == n);
}

/* The op whose result `op` needs: the same micro-batch one virtual stage before (forward) or after
 * (backward). */
static bool needed(const struct direct *d, const struct inq_step_op *op, uint32_t *place)
{
    bool backward = inq_op_is_backward(op->type);
    size_t stage = virtual_stage(d, op);
    if ((!backward && op->type != INQ_OP_FORWARD) || is_end(d, stage, backward)) {
        return false;
    }
    return inq_map_get(&d->place, place_key(backward, backward ? stage + 1 : stage - 1, op), place);
}

/* Edges of a layout, and how many of them the record contradicts. */
struct edge_count {
    size_t all, wrong;
};

static struct edge_count count_edges(const struct direct *d)
{
    struct edge_count n = {0, 0};
    for (size_t i = 0; i < d->t->n; i++) {
        uint32_t from = 0;
        if (needed(d, &d->t->op[i], &from)) {
            n.all++;
            n.wrong += d->t->op[from].end_ns > d->t->op[i].start_ns + clock_eps_ns;
        }
    }
    return n;
}

static int add_needed(const struct direct *d, struct inq_err *err)
{
    int code = INQ_OK;
    for (size_t i = 0; code == INQ_OK && i < d->t->n; i++) {
        uint32_t from = 0;
        if (needed(d, &d->t->op[i], &from)) {
            code = add_edge(d->t, from, i, err);
        }
    }
    return code;
}

/* Where ops run: both layouts indexed, and the one that the record contradicts less is the run's.
 * Of a V nothing is handed over at the turn when its chunks are two pipelines. */
static int find_layout(struct inq_op_template *t, struct direct *down, struct direct *vee,
                       struct inq_err *err)
{
    *down = (struct direct){.t = t};
    *vee = (struct direct){.t = t, .v_shaped = true};
    int code = index_places(down, err);
    if (code == INQ_OK && t->n_chunks > 1) {
        code = index_places(vee, err);
        struct edge_count one_way = count_edges(vee);
        vee->two_way = t->n_chunks == 2;
        struct edge_count two_way = count_edges(vee);
        vee->two_way =
            vee->two_way && (two_way.all == one_way.all || two_way.wrong < one_way.wrong);
        t->v_shaped = code == INQ_OK && count_edges(vee).wrong < count_edges(down).wrong;
        t->two_way = t->v_shaped && vee->two_way;
    }
    return code;
}

static int connect_directly(struct inq_op_template *t, struct inq_err *err)
{
    struct direct down;
    struct direct vee;
    int code = find_layout(t, &down, &vee, err);
    if (code == INQ_OK) {
        code = add_needed(t->v_shaped ? &vee : &down, err);
    }
    inq_map_release(&down.place);
    inq_map_release(&vee.place);
    return code;
}

/* ---- transfers of chunks that run down and up ------------------------------------------------ */

static bool is_backward_transfer(uint8_t type)
{
    return type == INQ_OP_BACKWARD_SEND || type == INQ_OP_BACKWARD_RECV;
}

static bool is_send(uint8_t type)
{
    return type == INQ_OP_FORWARD_SEND || type == INQ_OP_BACKWARD_SEND;
}

/* The chunk at the turn is handed over on its own rank: order there says nothing, so each transfer
 * belongs to the compute op of its own chunk and micro-batch, and a send meets the receive of the
 * next virtual stage. */
static int add_labeled(const struct direct *d, struct inq_map *sent, struct inq_err *err)
{
    struct inq_op_template *t = d->t;
    int code = INQ_OK;
    for (uint32_t i = 0; code == INQ_OK && i < t->n; i++) {
        const struct inq_step_op *op = &t->op[i];
        uint32_t compute = 0;
        uint32_t peer = 0;
        if (!inq_op_is_p2p(op->type)) {
            continue;
        }
        bool backward = is_backward_transfer(op->type);
        bool send = is_send(op->type);
        size_t stage = virtual_stage(d, op);
        if (inq_map_get(&d->place, place_key(backward, stage, op), &compute)) {
            code = add_edge(t, send ? compute : i, send ? i : compute, err);
        }
        size_t from = send ? stage : backward ? stage + 1 : stage - 1;
        uint64_t key = place_key(backward, from, op);
        if (code == INQ_OK && !inq_map_get(sent, key, &peer)) {
            code = inq_map_put(sent, key, i, err);
        } else if (code == INQ_OK && is_send(t->op[peer].type) != send &&
                   t->group[peer] == INQ_NONE) {
            t->group[peer] = (uint32_t)t->n_groups;
            t->group[i] = (uint32_t)t->n_groups++;
        }
    }
    return code;
}

static bool transfers_are_labeled(const struct inq_op_template *t)
{
    for (size_t i = 0; i < t->n; i++) {
        if (inq_op_is_p2p(t->op[i].type) && (t->op[i].micro_batch < 0 || t->op[i].chunk < 0)) {
            return false;
        }
    }
    return true;
}

/* The parts, called by inq_op_template_make: */
static int connect_transfers(struct inq_op_template *t, struct inq_err *err)
{
    struct direct down;
    struct direct vee;
    struct inq_map sent = {0};
    int code = find_layout(t, &down, &vee, err);
    if (code == INQ_OK && t->v_shaped && transfers_are_labeled(t)) {
        code = add_labeled(&vee, &sent, err);
    } else if (code == INQ_OK) {
        t->v_shaped = t->two_way = false;
        code = match_in_order(t, err);
    }
    inq_map_release(&down.place);
    inq_map_release(&vee.place);
    inq_map_release(&sent);
    return code;
}

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
            code = add_edge(t, gather, forward, err);
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
            code = add_edge(t, backward, scatter, err);
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
        int code = *before < t->n ? add_edge(t, *before, next, err) : INQ_OK;
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
            code = overlapped ? add_edge(t, scatter, i, err) : chain_scatters(s, &before, err);
        }
        if (code == INQ_OK && before < t->n) {
            code = add_edge(t, before, i, err);
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
            code = add_edge(t, back[1], first, err);
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
    code = t->has_p2p ? connect_transfers(t, err) : connect_directly(t, err);
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
