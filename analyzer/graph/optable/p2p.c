/* SPDX-License-Identifier: Apache-2.0 */
/* Dependencies between stages: which compute op each transfer belongs to and which transfers form a
 * pair; or, where no transfers were recorded, straight edges from stage to stage. */
#include "base/mem.h"
#include "base/sort.h"
#include "graph/optable/template.h"

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
        return inq_template_edge(t, d->compute[k], transfer, err);
    }
    int code = inq_template_edge(t, transfer, d->compute[k], err);
    size_t before = t->recv_in_order ? compute_before(d, d->compute[k]) : SIZE_MAX;
    if (before == SIZE_MAX || !follows(t, before, transfer)) {
        before = k > 0 ? d->compute[k - 1] : SIZE_MAX;
    }
    return code == INQ_OK && before != SIZE_MAX && follows(t, before, transfer)
               ? inq_template_edge(t, before, transfer, err)
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
            code = inq_template_edge(d->t, from, i, err);
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

int inq_template_direct(struct inq_op_template *t, struct inq_err *err)
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
static int add_labelled(const struct direct *d, struct inq_map *sent, struct inq_err *err)
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
            code = inq_template_edge(t, send ? compute : i, send ? i : compute, err);
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

static bool transfers_are_labelled(const struct inq_op_template *t)
{
    for (size_t i = 0; i < t->n; i++) {
        if (inq_op_is_p2p(t->op[i].type) && (t->op[i].micro_batch < 0 || t->op[i].chunk < 0)) {
            return false;
        }
    }
    return true;
}

int inq_template_p2p(struct inq_op_template *t, struct inq_err *err)
{
    struct direct down;
    struct direct vee;
    struct inq_map sent = {0};
    int code = find_layout(t, &down, &vee, err);
    if (code == INQ_OK && t->v_shaped && transfers_are_labelled(t)) {
        code = add_labelled(&vee, &sent, err);
    } else if (code == INQ_OK) {
        t->v_shaped = t->two_way = false;
        code = match_in_order(t, err);
    }
    inq_map_release(&down.place);
    inq_map_release(&vee.place);
    inq_map_release(&sent);
    return code;
}
