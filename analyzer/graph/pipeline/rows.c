/* SPDX-License-Identifier: Apache-2.0 */
/* A recorded pipeline run as rows of labeled ops. */
#include "base/hash.h"
#include "base/mem.h"
#include "graph/pipeline/pipeline.h"
#include "trace/build/build.h"
#include "trace/trace.h"

#include <string.h>

/* Stages from transfers: the first transfer that a rank completes in a step comes from the stage
 * before it; for the first stage it goes to the second. */

struct links {
    struct inq_pipe_run *run;
    size_t n;
    uint32_t *link;  /* [n] the rank's first partner, INQ_NONE for none */
    int64_t *before; /* [n] compute done before that transfer ended, over all steps */
    uint32_t *child; /* [n] rank whose link this one is, besides a mutual partner */
    uint8_t *forks;  /* [n] more than one such rank */
};

/* The partner of the first transfer to end in a step; *end_ns when. */
static uint32_t first_partner(const struct inq_pipe_rank *rank, size_t step, int64_t *end_ns)
{
    uint32_t partner = INQ_NONE;
    *end_ns = INT64_MAX;
    for (size_t i = rank->step_start[step]; i < rank->step_start[step + 1]; i++) {
        const struct inq_pipe_item *item = &rank->items[i];
        if (item->kind == INQ_ITEM_P2P && item->end_ns < *end_ns) {
            *end_ns = item->end_ns;
            partner = item->partner;
        }
    }
    return partner;
}

static int64_t compute_until(const struct inq_pipe_rank *rank, size_t step, int64_t until_ns)
{
    int64_t sum = 0;
    for (size_t i = rank->step_start[step]; i < rank->step_start[step + 1]; i++) {
        const struct inq_pipe_item *item = &rank->items[i];
        if (item->kind == INQ_ITEM_COMPUTE && item->end_ns <= until_ns) {
            sum += item->end_ns - item->start_ns;
        }
    }
    return sum;
}

/* Most frequent first partner over the steps. */
static int find_link(struct links *x, uint32_t r, struct inq_err *err)
{
    struct inq_map votes = {0};
    uint32_t most = 0;
    int code = INQ_OK;
    x->link[r] = INQ_NONE;
    for (size_t step = 0; code == INQ_OK && step < x->run->n_steps; step++) {
        int64_t end_ns = 0;
        uint32_t partner = first_partner(&x->run->ranks[r], step, &end_ns);
        if (partner == INQ_NONE) {
            continue;
        }
        uint32_t seen = 0;
        (void)inq_map_get(&votes, partner, &seen);
        code = inq_map_put(&votes, partner, seen + 1, err);
        if (seen + 1 > most) {
            most = seen + 1;
            x->link[r] = partner;
        }
        x->before[r] += compute_until(&x->run->ranks[r], step, end_ns);
    }
    inq_map_release(&votes);
    return code;
}

/* Who follows whom. A mutual pair is the first two stages of a pipeline. */
static void find_children(struct links *x)
{
    for (uint32_t r = 0; r < x->n; r++) {
        uint32_t parent = x->link[r];
        if (parent == INQ_NONE || x->link[parent] == r) {
            continue;
        }
        x->forks[parent] = x->child[parent] != INQ_NONE;
        x->child[parent] = r;
    }
}

/* The first stage of a mutual pair; INQ_NONE when it cannot be told. */
static uint32_t first_of_pair(const struct links *x, uint32_t a, uint32_t b)
{
    bool after_a = x->child[a] != INQ_NONE;
    bool after_b = x->child[b] != INQ_NONE;
    if (after_a && after_b) {
        return INQ_NONE;
    }
    if (after_a || after_b) {
        return after_a ? b : a;
    }
    return x->before[a] >= x->before[b] ? a : b; /* the first one had to compute before it sent */
}

/* Numbers the ranks of the pipeline that begins at `first`; its length. */
static uint32_t number_chain(struct links *x, uint32_t first, uint32_t replica)
{
    uint32_t stage = 0;
    uint32_t r = first;
    while (r != INQ_NONE && stage < x->n) {
        if (x->forks[r]) {
            return 0;
        }
        x->run->ranks[r].stage = stage++;
        x->run->ranks[r].replica = replica;
        r = r == first ? x->link[first] : x->child[r];
    }
    return stage;
}

static int alloc_links(struct links *x, struct inq_err *err)
{
    x->link = inq_mem_alloc(x->n * sizeof *x->link);
    x->before = inq_mem_zalloc(x->n, sizeof *x->before);
    x->child = inq_mem_alloc(x->n * sizeof *x->child);
    x->forks = inq_mem_zalloc(x->n, sizeof *x->forks);
    if (x->link == NULL || x->before == NULL || x->child == NULL || x->forks == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu ranks", x->n);
    }
    for (size_t r = 0; r < x->n; r++) {
        x->child[r] = INQ_NONE;
    }
    return INQ_OK;
}

/* All pipelines must be equally long and hold every rank. */
static void number_all(struct links *x)
{
    uint32_t stages = 0;
    uint32_t replicas = 0;
    for (uint32_t r = 0; r < x->n; r++) {
        uint32_t other = x->link[r];
        if (other == INQ_NONE || x->link[other] != r || first_of_pair(x, r, other) != r) {
            continue;
        }
        uint32_t length = number_chain(x, r, replicas);
        if (length < 2 || (replicas > 0 && length != stages)) {
            return;
        }
        stages = length;
        replicas++;
    }
    if (stages > 0 && (size_t)stages * replicas == x->n) {
        x->run->n_stages = stages;
        x->run->n_replicas = replicas;
    }
}

/* ---- rings ----------------------------------------------------------------------------------- */

/* What all replicas send: to the next stage, to the one before, from the last to the first and from
 * the first to the last. */
struct sent {
    double down, up, around, back;
};

static void add_sent(const struct inq_pipe_run *run, const struct inq_comm *comm, uint32_t from,
                     uint32_t to, struct sent *sent)
{
    double elems = comm->in_elems > 0 ? (double)comm->in_elems : 1.0;
    sent->down += to == from + 1 ? elems : 0.0;
    sent->up += from == to + 1 ? elems : 0.0;
    sent->around += from + 1 == run->n_stages && to == 0 ? elems : 0.0;
    sent->back += from == 0 && to + 1 == run->n_stages ? elems : 0.0;
}

/* Ranks that pass blocks around (ring attention), in either direction: all send to the next one,
 * the last as much to the first, and none sends back. A pipeline's gradients go back; what the last
 * stage of one that only goes forward sends to the first (tokens) is less. Two ranks are no ring
 * that can be told. */
static int is_ring(const struct inq_pipe_run *run, bool *ring, struct inq_err *err)
{
    const struct inq_trace *trace = run->trace;
    struct inq_map stage_of = {0};
    struct sent sent = {0};
    int code = INQ_OK;
    for (size_t r = 0; code == INQ_OK && r < trace->n_ranks; r++) {
        code = inq_map_put(&stage_of, (uint32_t)trace->ranks[r].rank, run->ranks[r].stage, err);
    }
    for (size_t r = 0; code == INQ_OK && r < trace->n_ranks; r++) {
        const struct inq_rank *rank = &trace->ranks[r];
        for (size_t i = 0; i < rank->n_comms; i++) {
            const struct inq_comm *comm = &rank->comms[i];
            uint32_t to = INQ_NONE;
            if (comm->kind == INQ_COLL_SEND && comm->peer >= 0 &&
                inq_map_get(&stage_of, (uint32_t)comm->peer, &to)) {
                add_sent(run, comm, run->ranks[r].stage, to, &sent);
            }
        }
    }
    double links = run->n_stages - 1;
    bool down = sent.down > 0.0 && sent.up <= 0.0 && sent.around * links >= sent.down;
    bool up = sent.up > 0.0 && sent.down <= 0.0 && sent.back * links >= sent.up;
    *ring = run->n_stages > 2 && (down || up);
    inq_map_release(&stage_of);
    return code;
}

/* Stages and replicas; n_stages stays 0 when the ranks form no pipelines. */
static int find_stages(struct inq_pipe_run *run, struct inq_err *err)
{
    struct links x = {.run = run, .n = run->trace->n_ranks};
    int code = alloc_links(&x, err);
    for (uint32_t r = 0; code == INQ_OK && r < x.n; r++) {
        code = find_link(&x, r, err);
    }
    if (code == INQ_OK) {
        find_children(&x);
        number_all(&x);
    }
    inq_mem_free(x.link);
    inq_mem_free(x.before);
    inq_mem_free(x.child);
    inq_mem_free(x.forks);
    return code;
}

/* ---- chunks of an interleaved schedule without labels ---------------------------------------- */

static bool is_of_first_stage(const struct inq_pipe_run *run, int32_t number)
{
    for (size_t r = 0; r < run->trace->n_ranks; r++) {
        if (run->trace->ranks[r].rank == number) {
            return run->ranks[r].stage == 0;
        }
    }
    return false;
}

/* How much an item sends to the first stage: one transfer or none, of a batch several. */
static size_t sends_to_first(const struct inq_pipe_run *run, size_t r,
                             const struct inq_pipe_item *item)
{
    const struct inq_rank *rank = &run->trace->ranks[r];
    uint32_t comm = rank->events.comm[item->event];
    uint32_t batch = comm != INQ_NONE ? rank->comms[comm].batch : INQ_NONE;
    size_t n = 0;
    if (batch == INQ_NONE) {
        return item->dir == INQ_COLL_SEND && item->partner != INQ_NONE &&
               run->ranks[item->partner].stage == 0;
    }
    for (; batch != INQ_NONE; batch = rank->comms[batch].batch) {
        n += rank->comms[batch].kind == INQ_COLL_SEND &&
             is_of_first_stage(run, rank->comms[batch].peer);
    }
    return n;
}

/* Micro-batches per step: forwards of the first rank of the last stage without what it sends to the
 * first stage, which are (v - 1) m activations; of two stages it also sends it all v m gradients.
 */
static int32_t count_micro_batches(const struct inq_pipe_run *run, size_t *forwards)
{
    size_t wraps = 0;
    *forwards = 0;
    for (size_t r = 0; r < run->trace->n_ranks; r++) {
        const struct inq_pipe_rank *rank = &run->ranks[r];
        if (rank->replica != 0 || rank->stage + 1 != run->n_stages) {
            continue;
        }
        uint32_t step = rank->n_ops > 0 ? rank->ops[0].step : 0;
        for (size_t i = 0; i < rank->n_ops; i++) {
            *forwards += rank->ops[i].step == step && rank->ops[i].type == INQ_OP_FORWARD;
        }
        for (size_t i = 0; i < rank->n_items; i++) {
            const struct inq_pipe_item *item = &rank->items[i];
            if (item->kind == INQ_ITEM_P2P && item->step == step) {
                wraps += sends_to_first(run, r, item);
            }
        }
    }
    size_t gradients = run->n_stages == 2 ? *forwards : 0;
    return wraps >= gradients && wraps - gradients < *forwards
               ? (int32_t)(*forwards + gradients - wraps)
               : 0;
}

/* Rounds of p micro-batches, chunk by chunk: the k-th pass of a rank. */
static void number_interleaved(struct inq_pipe_run *run)
{
    size_t forwards = 0;
    int32_t m = count_micro_batches(run, &forwards);
    int32_t p = (int32_t)run->n_stages;
    if (m <= 0 || (size_t)m == forwards || forwards % (size_t)m != 0 || m % p != 0) {
        return;
    }
    int32_t v = (int32_t)(forwards / (size_t)m);
    for (size_t r = 0; r < run->trace->n_ranks; r++) {
        for (size_t i = 0; i < run->ranks[r].n_ops; i++) {
            struct inq_pipe_op *op = &run->ranks[r].ops[i];
            int32_t k = op->micro_batch;
            int32_t chunk = k % (p * v) / p;
            op->chunk = op->type == INQ_OP_FORWARD ? chunk : v - 1 - chunk;
            op->micro_batch = k / (p * v) * p + k % p;
        }
    }
}

/* ---- rows ------------------------------------------------------------------------------------ */

struct rows {
    struct inq_pipe_run *run;
    struct inq_op_rows *out;
    bool p2p, sync, clip, optimizer; /* which kinds of rows are made */
    uint32_t *next; /* [INQ_OP_TYPE_COUNT] seq of the next op of a step, per type */
};

static int add_row(struct rows *x, uint32_t rank, const struct inq_step_op *row,
                   struct inq_err *err)
{
    int code = inq_mem_grow(&x->out->row, &x->out->cap, x->out->n + 1, sizeof *x->out->row,
                            INQ_MAX_ROWS, err);
    if (code == INQ_OK) {
        struct inq_step_op *out = &x->out->row[x->out->n++];
        *out = *row;
        out->rank = rank;
        out->stage = x->run->ranks[rank].stage;
        out->dp = x->run->ranks[rank].replica;
        out->seq = (int32_t)x->next[row->type]++;
    }
    return code;
}

/* ---- transfers ------------------------------------------------------------------------------- */

/* Type of a transfer by its annotation, else by where it goes; INQ_OP_NONE: unknown. */
static uint8_t type_of_transfer(const struct inq_pipe_run *run, const struct inq_pipe_rank *rank,
                                const struct inq_pipe_item *item)
{
    if (item->partner == INQ_NONE || item->dir == INQ_COLL_SENDRECV) {
        return INQ_OP_NONE;
    }
    uint32_t p = run->n_stages;
    uint32_t other = run->ranks[item->partner].stage;
    bool send = item->dir == INQ_COLL_SEND;
    bool down = other == (rank->stage + 1) % p; /* to or from the next stage */
    bool up = rank->stage == (other + 1) % p;
    if (down && up) { /* two stages: the next one is also the one before */
        down = other > rank->stage;
    } else if (!down && !up) {
        return INQ_OP_NONE;
    }
    bool forward = down == send;
    return (uint8_t)(forward ? (send ? INQ_OP_FORWARD_SEND : INQ_OP_FORWARD_RECV)
                             : (send ? INQ_OP_BACKWARD_SEND : INQ_OP_BACKWARD_RECV));
}

/* First start of a forward of the second chunk on the ranks of a stage. */
static int64_t second_chunk_starts(const struct inq_pipe_run *run, uint32_t stage)
{
    int64_t first = INT64_MAX;
    for (size_t r = 0; r < run->trace->n_ranks; r++) {
        const struct inq_pipe_rank *rank = &run->ranks[r];
        for (size_t i = 0; rank->stage == stage && i < rank->n_ops; i++) {
            const struct inq_pipe_op *op = &rank->ops[i];
            bool counts = op->type == INQ_OP_FORWARD && op->chunk == 1;
            first = counts && op->start_ns < first ? op->start_ns : first;
        }
    }
    return first;
}

/* Chunks that run down and up the stages: a transfer to the next stage may be a forward's or a
 * backward's. */
static bool chunks_turn(const struct inq_pipe_run *run)
{
    return second_chunk_starts(run, run->n_stages - 1) < second_chunk_starts(run, 0);
}

/* Transfers count when all of them are understood. */
static bool transfers_are_known(const struct inq_pipe_run *run)
{
    bool chunks = false;
    for (size_t r = 0; r < run->trace->n_ranks; r++) {
        const struct inq_pipe_rank *rank = &run->ranks[r];
        for (size_t i = 0; i < rank->n_ops; i++) {
            chunks = chunks || rank->ops[i].chunk > 0;
        }
        for (size_t i = 0; i < rank->n_items; i++) {
            if (rank->items[i].kind == INQ_ITEM_P2P &&
                type_of_transfer(run, rank, &rank->items[i]) == INQ_OP_NONE) {
                return false;
            }
        }
    }
    return run->has_direction && !(chunks && (run->n_stages == 2 || chunks_turn(run)));
}

/* ---- one rank in one step -------------------------------------------------------------------- */

struct window {
    size_t op, op_end;      /* its forwards and backwards */
    int64_t last_launch_ns; /* of those */
    int64_t last_end_ns;
};

/* What comes after the last backward: gradient sync within the stages, a collective over the stages
 * (the gradients' norm), the optimizer. Exposed sync begins when the backward is over, even where
 * it overlapped it before. */
struct part {
    int64_t start_ns, end_ns;
};

struct tail {
    struct part sync, clip, optimizer;
};

static void widen(struct part *part, const struct inq_pipe_item *item)
{
    part->start_ns = item->start_ns < part->start_ns ? item->start_ns : part->start_ns;
    part->end_ns = item->end_ns > part->end_ns ? item->end_ns : part->end_ns;
}

static bool is_after(const struct inq_pipe_item *item, uint32_t step, const struct window *w)
{
    if (item->step != step || item->note != INQ_NONE || item->launch_ns <= w->last_launch_ns) {
        return item->step == step && item->kind == INQ_ITEM_SYNC && item->end_ns > w->last_end_ns;
    }
    return item->end_ns > w->last_end_ns;
}

static void find_tail(const struct inq_pipe_rank *rank, uint32_t step, const struct window *w,
                      struct tail *t)
{
    const struct part none = {INT64_MAX, INT64_MIN};
    *t = (struct tail){none, none, none};
    for (size_t i = rank->step_start[step]; i < rank->step_start[step + 1]; i++) {
        const struct inq_pipe_item *item = &rank->items[i];
        if (item->kind == INQ_ITEM_SYNC && item->wide && is_after(item, step, w)) {
            widen(&t->clip, item);
        }
    }
    int64_t from = t->clip.end_ns > w->last_end_ns ? t->clip.start_ns : w->last_end_ns;
    for (size_t i = rank->step_start[step]; i < rank->step_start[step + 1]; i++) {
        const struct inq_pipe_item *item = &rank->items[i];
        if (!is_after(item, step, w)) {
            continue;
        }
        if (item->kind == INQ_ITEM_COMPUTE && item->start_ns >= from) {
            widen(&t->optimizer, item);
        } else if (item->kind == INQ_ITEM_SYNC && !item->wide) {
            widen(&t->sync, item);
        }
    }
    if (t->sync.start_ns < w->last_end_ns) {
        t->sync.start_ns = w->last_end_ns;
    }
}

/* A rank without the part gets one of no length: all replicas are alike. */
static int add_part(struct rows *x, uint32_t r, struct inq_step_op *row, const struct part *part,
                    int64_t *at, struct inq_err *err)
{
    bool there = part->end_ns > *at;
    row->start_ns = there && part->start_ns > *at ? part->start_ns : *at;
    row->end_ns = there ? part->end_ns : *at;
    *at = row->end_ns;
    return add_row(x, r, row, err);
}

static int add_tail(struct rows *x, uint32_t r, uint32_t step, const struct window *w,
                    struct inq_err *err)
{
    struct tail t;
    find_tail(&x->run->ranks[r], step, w, &t);
    struct inq_step_op row = {.step = step, .event = INQ_NONE, .micro_batch = -1, .chunk = -1};
    int64_t at = w->last_end_ns;
    int code = INQ_OK;
    if (x->sync) {
        row.type = INQ_OP_GRADS_REDUCE_SCATTER;
        code = add_part(x, r, &row, &t.sync, &at, err);
    }
    if (code == INQ_OK && x->clip) {
        row.type = INQ_OP_OPTIMIZER_CLIP;
        code = add_part(x, r, &row, &t.clip, &at, err);
    }
    if (code == INQ_OK && x->optimizer) {
        row.type = INQ_OP_OPTIMIZER;
        code = add_part(x, r, &row, &t.optimizer, &at, err);
    }
    return code;
}

/* The ops of one step; *next is where the following step's begin. */
static struct window find_window(const struct inq_pipe_rank *rank, uint32_t step, size_t *next)
{
    struct window w = {.op = *next, .last_launch_ns = INT64_MIN, .last_end_ns = INT64_MIN};
    size_t i = *next;
    for (; i < rank->n_ops && rank->ops[i].step == step; i++) {
        const struct inq_pipe_op *op = &rank->ops[i];
        w.last_launch_ns = op->launch_ns > w.last_launch_ns ? op->launch_ns : w.last_launch_ns;
        w.last_end_ns = op->end_ns > w.last_end_ns ? op->end_ns : w.last_end_ns;
    }
    w.op_end = i;
    *next = i;
    return w;
}

static int add_step(struct rows *x, uint32_t r, uint32_t step, const struct window *w,
                    struct inq_err *err)
{
    const struct inq_pipe_rank *rank = &x->run->ranks[r];
    int code = INQ_OK;
    memset(x->next, 0, INQ_OP_TYPE_COUNT * sizeof *x->next);
    for (size_t i = w->op; code == INQ_OK && i < w->op_end; i++) {
        const struct inq_pipe_op *op = &rank->ops[i];
        struct inq_step_op row = {.start_ns = op->start_ns,
                                  .end_ns = op->end_ns,
                                  .event = op->event,
                                  .step = step,
                                  .micro_batch = op->micro_batch,
                                  .chunk = op->chunk,
                                  .type = op->type};
        code = add_row(x, r, &row, err);
    }
    size_t end = x->p2p ? rank->step_start[step + 1] : 0;
    for (size_t i = rank->step_start[step]; code == INQ_OK && i < end; i++) {
        const struct inq_pipe_item *item = &rank->items[i];
        if (item->kind == INQ_ITEM_P2P) {
            int64_t origin_ns = x->out->origin_ns[step];
            bool before = item->start_ns < origin_ns && origin_ns <= item->end_ns;
            struct inq_step_op row = {.start_ns = before ? origin_ns : item->start_ns,
                                      .end_ns = item->end_ns,
                                      .event = item->event,
                                      .step = step,
                                      .micro_batch = -1,
                                      .chunk = -1,
                                      .type = type_of_transfer(x->run, rank, item)};
            code = add_row(x, r, &row, err);
        }
    }
    return code == INQ_OK ? add_tail(x, r, step, w, err) : code;
}

/* ---- all steps ------------------------------------------------------------------------------- */

/* Which of the two there are on any rank. */
static void find_tail_kinds(struct rows *x)
{
    for (size_t r = 0; r < x->run->trace->n_ranks; r++) {
        const struct inq_pipe_rank *rank = &x->run->ranks[r];
        size_t next = 0;
        while (next < rank->n_ops) {
            uint32_t step = rank->ops[next].step;
            struct window w = find_window(rank, step, &next);
            struct tail t;
            find_tail(rank, step, &w, &t);
            x->sync = x->sync || t.sync.end_ns > w.last_end_ns;
            x->clip = x->clip || t.clip.end_ns > w.last_end_ns;
            x->optimizer = x->optimizer || t.optimizer.end_ns > w.last_end_ns;
        }
    }
}

static int add_ranks(struct rows *x, struct inq_err *err)
{
    int code = INQ_OK;
    for (uint32_t r = 0; code == INQ_OK && r < x->run->trace->n_ranks; r++) {
        const struct inq_pipe_rank *rank = &x->run->ranks[r];
        size_t next = 0;
        while (code == INQ_OK && next < rank->n_ops) {
            uint32_t step = rank->ops[next].step;
            struct window w = find_window(rank, step, &next);
            code = add_step(x, r, step, &w, err);
        }
    }
    return code;
}

/* A receive may be posted in the step before: it begins none. */
static bool may_begin_step(const struct inq_pipe_item *item)
{
    return item->kind != INQ_ITEM_P2P || item->dir != INQ_COLL_RECV;
}

/* Steps on the GPUs' time line: from the first work of a step to that of the next one. */
static void find_lengths(const struct rows *x)
{
    const struct inq_pipe_run *run = x->run;
    struct inq_op_rows *out = x->out;
    int64_t last = INT64_MIN;
    for (size_t s = 0; s < run->n_steps; s++) {
        out->origin_ns[s] = INT64_MAX;
        out->step_number[s] = run->trace->n_steps > 0 ? (int32_t)run->trace->steps[s].number : 0;
    }
    for (size_t r = 0; r < run->trace->n_ranks; r++) {
        for (size_t i = 0; i < run->ranks[r].n_items; i++) {
            const struct inq_pipe_item *item = &run->ranks[r].items[i];
            int64_t *origin = &out->origin_ns[item->step];
            bool first = may_begin_step(item) && item->start_ns < *origin;
            *origin = first ? item->start_ns : *origin;
            last = item->end_ns > last ? item->end_ns : last;
        }
    }
    for (size_t s = 0; s < run->n_steps; s++) {
        int64_t end = s + 1 < run->n_steps ? out->origin_ns[s + 1] : last;
        out->length_ns[s] =
            out->origin_ns[s] < end && end < INT64_MAX ? end - out->origin_ns[s] : 0;
    }
}

static int alloc_rows(struct rows *x, struct inq_err *err)
{
    struct inq_op_rows *out = x->out;
    out->n_steps = x->run->n_steps;
    out->n_stages = x->run->n_stages;
    out->n_dp = x->run->n_replicas;
    out->step_number = inq_mem_zalloc(out->n_steps, sizeof *out->step_number);
    out->stage_number = inq_mem_zalloc(out->n_stages, sizeof *out->stage_number);
    out->dp_number = inq_mem_zalloc(out->n_dp, sizeof *out->dp_number);
    out->origin_ns = inq_mem_zalloc(out->n_steps, sizeof *out->origin_ns);
    out->length_ns = inq_mem_zalloc(out->n_steps, sizeof *out->length_ns);
    x->next = inq_mem_zalloc(INQ_OP_TYPE_COUNT, sizeof *x->next);
    if (out->step_number == NULL || out->stage_number == NULL || out->dp_number == NULL ||
        out->origin_ns == NULL || out->length_ns == NULL || x->next == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu steps", out->n_steps);
    }
    for (size_t k = 0; k < out->n_stages; k++) {
        out->stage_number[k] = (int32_t)k;
    }
    for (size_t k = 0; k < out->n_dp; k++) {
        out->dp_number[k] = (int32_t)k;
    }
    return INQ_OK;
}

/* Marks collectives whose groups have ranks of several stages. */
static int mark_wide(struct inq_pipe_run *run, struct inq_err *err)
{
    const struct inq_trace *trace = run->trace;
    struct inq_map stage_of = {0};
    uint8_t *wide = inq_mem_zalloc(trace->n_groups, sizeof *wide);
    int code = wide != NULL ? INQ_OK : inq_err_set(err, INQ_NOMEM, "out of memory for groups");
    for (size_t r = 0; code == INQ_OK && r < trace->n_ranks; r++) {
        code = inq_map_put(&stage_of, (uint32_t)trace->ranks[r].rank, run->ranks[r].stage, err);
    }
    for (size_t g = 0; code == INQ_OK && g < trace->n_groups; g++) {
        uint32_t first = INQ_NONE;
        for (uint32_t k = 0; k < trace->groups[g].n_ranks; k++) {
            uint32_t stage = INQ_NONE;
            bool known = inq_map_get(&stage_of, (uint32_t)trace->groups[g].ranks[k], &stage);
            wide[g] = wide[g] || (known && first != INQ_NONE && stage != first);
            first = known && first == INQ_NONE ? stage : first;
        }
    }
    for (size_t r = 0; code == INQ_OK && r < trace->n_ranks; r++) {
        const struct inq_rank *rank = &trace->ranks[r];
        for (size_t i = 0; i < run->ranks[r].n_items; i++) {
            struct inq_pipe_item *item = &run->ranks[r].items[i];
            uint32_t comm = rank->events.comm[item->event];
            uint32_t group = comm != INQ_NONE ? rank->comms[comm].group : INQ_NONE;
            item->wide = item->kind == INQ_ITEM_SYNC && group != INQ_NONE && wide[group];
        }
    }
    inq_map_release(&stage_of);
    inq_mem_free(wide);
    return code;
}

static int make_rows(struct inq_pipe_run *run, bool transfers, struct inq_op_rows *rows,
                     struct inq_err *err)
{
    struct rows x = {.run = run, .out = rows};
    int code = alloc_rows(&x, err);
    if (code == INQ_OK) {
        code = mark_wide(run, err);
    }
    if (code == INQ_OK) {
        x.p2p = transfers && transfers_are_known(run);
        find_tail_kinds(&x);
        find_lengths(&x);
        code = add_ranks(&x, err);
    }
    inq_mem_free(x.next);
    rows->source = run->has_notes ? "annotations" : "inferred";
    return code;
}

/* A run with transfers between ranks; most have none. */
static bool has_transfers(const struct inq_trace *trace)
{
    for (size_t r = 0; r < trace->n_ranks; r++) {
        const struct inq_rank *rank = &trace->ranks[r];
        for (size_t i = 0; i < rank->n_comms; i++) {
            enum inq_coll_kind kind = rank->comms[i].kind;
            if (inq_coll_may_be_p2p(kind)) {
                return true;
            }
        }
    }
    return false;
}

static void release_run(struct inq_pipe_run *run)
{
    for (size_t r = 0; run->ranks != NULL && r < run->trace->n_ranks; r++) {
        inq_mem_free(run->ranks[r].items);
        inq_mem_free(run->ranks[r].step_start);
        inq_mem_free(run->ranks[r].ops);
    }
    inq_mem_free(run->ranks);
    *run = (struct inq_pipe_run){0};
}

int inq_op_rows_from_run(const struct inq_trace *trace, bool transfers, struct inq_op_rows *rows,
                         struct inq_err *err)
{
    if (trace->n_ranks < 2 || !has_transfers(trace)) {
        return INQ_OK;
    }
    struct inq_pipe_run run = {0};
    bool found = false;
    int code = inq_pipe_collect(trace, transfers, &run, err);
    if (code == INQ_OK) {
        code = find_stages(&run, err);
    }
    bool ring = false;
    if (code == INQ_OK && run.n_stages > 1) {
        code = is_ring(&run, &ring, err);
    }
    rows->pipelines = run.n_stages > 1 && !ring;
    if (code == INQ_OK && rows->pipelines) {
        code = inq_pipe_find_ops(&run, &found, err);
    }
    if (code == INQ_OK && found && !run.has_notes) {
        number_interleaved(&run);
    }
    if (code == INQ_OK && found) {
        code = make_rows(&run, transfers, rows, err);
    }
    release_run(&run);
    return code;
}
