/* SPDX-License-Identifier: Apache-2.0 */
/* Forwards and backwards of a recorded run: by annotation, or by the thread that launched them (the
 * backward pass has its own) and the transfers between them. */
#include "base/hash.h"
#include "base/mem.h"
#include "base/sort.h"
#include "graph/pipeline/pipeline.h"

#include <string.h>

static int add_op(struct inq_pipe_rank *rank, const struct inq_pipe_item *item, uint8_t type,
                  int32_t micro_batch, int32_t chunk, struct inq_err *err)
{
    int code = inq_mem_grow(&rank->ops, &rank->cap_ops, rank->n_ops + 1, sizeof *rank->ops,
                            (size_t)1 << 28, err);
    if (code == INQ_OK) {
        rank->ops[rank->n_ops++] =
            (struct inq_pipe_op){item->start_ns, item->end_ns, item->launch_ns, item->step,
                                 item->event,    micro_batch,  chunk,           type};
    }
    return code;
}

static void widen(struct inq_pipe_op *op, const struct inq_pipe_item *item)
{
    op->start_ns = item->start_ns < op->start_ns ? item->start_ns : op->start_ns;
    op->end_ns = item->end_ns > op->end_ns ? item->end_ns : op->end_ns;
}

/* ---- by annotation --------------------------------------------------------------------------- */

static int ops_from_notes(const struct inq_trace *trace, const struct inq_rank *source,
                          struct inq_pipe_rank *rank, struct inq_err *err)
{
    uint32_t *op_of = inq_mem_alloc(source->n_notes * sizeof *op_of);
    if (op_of == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu annotations", source->n_notes);
    }
    memset(op_of, 0xff, source->n_notes * sizeof *op_of);
    int code = INQ_OK;
    for (size_t i = 0; code == INQ_OK && i < rank->n_items; i++) {
        const struct inq_pipe_item *item = &rank->items[i];
        struct inq_pipe_action action;
        if (item->kind != INQ_ITEM_COMPUTE || item->note == INQ_NONE) {
            continue;
        }
        if (op_of[item->note] != INQ_NONE) {
            widen(&rank->ops[op_of[item->note]], item);
            continue;
        }
        (void)inq_pipe_action(inq_trace_str(trace, source->notes[item->note].name), &action);
        op_of[item->note] = (uint32_t)rank->n_ops;
        /* the stage in the chunk's place until all of the rank's are known */
        code = add_op(rank, item, (uint8_t)action.type, action.micro_batch, action.stage, err);
    }
    inq_mem_free(op_of);
    return code;
}

static int32_t chunk_among(const int64_t *stages, size_t n, int64_t stage)
{
    size_t k = 0;
    while (k < n && stages[k] != stage) {
        k++;
    }
    return (int32_t)k;
}

/* Stages of "PP:2F3" to chunks: the rank's stages in ascending order. */
static int chunks_from_stages(struct inq_pipe_rank *rank, struct inq_err *err)
{
    int64_t *stages = inq_mem_alloc(rank->n_ops * sizeof *stages);
    if (stages == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu ops", rank->n_ops);
    }
    size_t n = 0;
    for (size_t i = 0; i < rank->n_ops; i++) {
        if (chunk_among(stages, n, rank->ops[i].chunk) == (int32_t)n) {
            stages[n++] = rank->ops[i].chunk;
        }
    }
    inq_sort_i64(stages, n);
    for (size_t i = 0; i < rank->n_ops; i++) {
        rank->ops[i].chunk = chunk_among(stages, n, rank->ops[i].chunk);
    }
    inq_mem_free(stages);
    return INQ_OK;
}

static uint64_t pass_key(const struct inq_pipe_op *op)
{
    return (uint64_t)op->type << 56 | (uint64_t)(op->step & 0xffffff) << 32 |
           (uint32_t)op->micro_batch;
}

/* "Forward 3" several times in a step: the chunks one after the other, backwards the other way. */
static int chunks_from_repeats(struct inq_pipe_rank *rank, struct inq_err *err)
{
    struct inq_map seen = {0};
    uint32_t chunks = 1;
    int code = INQ_OK;
    for (size_t i = 0; code == INQ_OK && i < rank->n_ops; i++) {
        uint32_t before = 0;
        (void)inq_map_get(&seen, pass_key(&rank->ops[i]), &before);
        rank->ops[i].chunk = (int32_t)before;
        code = inq_map_put(&seen, pass_key(&rank->ops[i]), before + 1, err);
        chunks = before + 1 > chunks ? before + 1 : chunks;
    }
    for (size_t i = 0; i < rank->n_ops; i++) {
        if (rank->ops[i].type != INQ_OP_FORWARD) {
            rank->ops[i].chunk = (int32_t)chunks - 1 - rank->ops[i].chunk;
        }
    }
    inq_map_release(&seen);
    return code;
}

/* ---- by thread ------------------------------------------------------------------------------- */

/* Thread of the step's first kernel: it runs the forward pass. */
static uint32_t main_thread(const struct inq_pipe_rank *rank)
{
    for (size_t i = 0; i < rank->n_items; i++) {
        if (rank->items[i].thread != INQ_NONE) {
            return rank->items[i].thread;
        }
    }
    return INQ_NONE;
}

/* Whether work that was launched after this receive began before it was done: it was posted early,
 * for a later pass. */
static bool is_early(const struct inq_pipe_rank *rank, size_t i)
{
    const struct inq_pipe_item *item = &rank->items[i];
    if (item->kind != INQ_ITEM_P2P || item->dir != INQ_COLL_RECV) {
        return false;
    }
    for (size_t k = i + 1; k < rank->n_items; k++) {
        if (rank->items[k].kind == INQ_ITEM_COMPUTE) {
            return rank->items[k].start_ns < item->end_ns;
        }
    }
    return false;
}

/* When the receives that were posted early were done, in order of time. */
static int find_arrivals(const struct inq_pipe_rank *rank, int64_t **arrivals, size_t *n,
                         struct inq_err *err)
{
    *n = 0;
    *arrivals = inq_mem_alloc((rank->n_items + 1) * sizeof **arrivals);
    if (*arrivals == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu transfers", rank->n_items);
    }
    for (size_t i = 0; i < rank->n_items; i++) {
        if (is_early(rank, i)) {
            (*arrivals)[(*n)++] = rank->items[i].end_ns;
        }
    }
    inq_sort_i64(*arrivals, *n);
    return INQ_OK;
}

/* Runs of kernels of one thread between transfers. A receive that was posted early parts two passes
 * when it is done, if the GPU waited for it. */
static int ops_from_threads(struct inq_pipe_rank *rank, struct inq_err *err)
{
    uint32_t forward = main_thread(rank);
    int64_t *arrivals = NULL;
    int64_t busy_ns = INT64_MIN; /* until when kernels ran */
    size_t n = 0;
    size_t next = 0;
    bool open = false;
    int code = find_arrivals(rank, &arrivals, &n, err);
    for (size_t i = 0; code == INQ_OK && i < rank->n_items; i++) {
        const struct inq_pipe_item *item = &rank->items[i];
        if (item->kind != INQ_ITEM_COMPUTE) {
            open = open && (item->kind != INQ_ITEM_P2P || is_early(rank, i));
            continue;
        }
        for (; next < n && arrivals[next] <= item->start_ns; next++) {
            open = open && arrivals[next] < busy_ns;
        }
        busy_ns = item->end_ns > busy_ns ? item->end_ns : busy_ns;
        uint8_t type = item->thread == forward ? INQ_OP_FORWARD : INQ_OP_BACKWARD;
        struct inq_pipe_op *last = rank->n_ops > 0 ? &rank->ops[rank->n_ops - 1] : NULL;
        if (open && last != NULL && last->type == type && last->step == item->step) {
            widen(last, item);
        } else {
            code = add_op(rank, item, type, -1, 0, err);
            open = true;
        }
    }
    inq_mem_free(arrivals);
    return code;
}

/* What the main thread launches after the last backward is the optimizer's; what it launches before
 * its first transfer and is not followed by one of its own is preparation. */
static void drop_strangers(struct inq_pipe_rank *rank, size_t from, size_t to)
{
    size_t forwards = 0;
    size_t backwards = 0;
    size_t last = to;
    for (size_t i = from; i < to; i++) {
        forwards += rank->ops[i].type == INQ_OP_FORWARD;
        backwards += rank->ops[i].type == INQ_OP_BACKWARD;
        last = rank->ops[i].type == INQ_OP_BACKWARD ? i : last;
    }
    for (size_t i = last + 1; last < to && i < to; i++) {
        rank->ops[i].type = INQ_OP_NONE;
        forwards--;
    }
    if (forwards == backwards + 1 && rank->ops[from].type == INQ_OP_FORWARD) {
        rank->ops[from].type = INQ_OP_NONE;
    }
}

static void number_runs(struct inq_pipe_rank *rank)
{
    for (size_t from = 0; from < rank->n_ops;) {
        size_t to = from;
        while (to < rank->n_ops && rank->ops[to].step == rank->ops[from].step) {
            to++;
        }
        drop_strangers(rank, from, to);
        int32_t next[2] = {0, 0};
        for (size_t i = from; i < to; i++) {
            bool backward = rank->ops[i].type == INQ_OP_BACKWARD;
            if (rank->ops[i].type != INQ_OP_NONE) {
                rank->ops[i].micro_batch = next[backward]++;
            }
        }
        from = to;
    }
    size_t kept = 0;
    for (size_t i = 0; i < rank->n_ops; i++) {
        if (rank->ops[i].type != INQ_OP_NONE) {
            rank->ops[kept++] = rank->ops[i];
        }
    }
    rank->n_ops = kept;
}

/* ---- chunks of an interleaved schedule without labels ---------------------------------------- */

/* Forwards and backwards that the first rank of each end of the pipeline has per step, and how many
 * transfers go from the last stage to the first: (v - 1) m each way. */
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
            bool to_first = item->partner != INQ_NONE && run->n_stages > 2 &&
                            run->ranks[item->partner].stage == 0;
            wraps += item->kind == INQ_ITEM_P2P && item->step == step &&
                     item->dir == INQ_COLL_SEND && to_first;
        }
    }
    return wraps < *forwards ? (int32_t)(*forwards - wraps) : 0;
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

/* ---- all ranks ------------------------------------------------------------------------------- */

static int find_rank_ops(struct inq_pipe_run *run, size_t r, struct inq_err *err)
{
    struct inq_pipe_rank *rank = &run->ranks[r];
    if (!run->has_notes) {
        int code = ops_from_threads(rank, err);
        number_runs(rank);
        return code;
    }
    int code = ops_from_notes(run->trace, &run->trace->ranks[r], rank, err);
    bool stages = rank->n_ops > 0 && rank->ops[0].chunk >= 0;
    if (code != INQ_OK) {
        return code;
    }
    return stages ? chunks_from_stages(rank, err) : chunks_from_repeats(rank, err);
}

/* As many backwards as forwards on every rank. */
static bool makes_sense(const struct inq_pipe_rank *rank)
{
    size_t forwards = 0;
    size_t backwards = 0;
    for (size_t i = 0; i < rank->n_ops; i++) {
        forwards += rank->ops[i].type == INQ_OP_FORWARD;
        backwards += inq_op_is_backward(rank->ops[i].type);
    }
    return forwards > 0 && backwards > 0;
}

int inq_pipe_find_ops(struct inq_pipe_run *run, bool *found, struct inq_err *err)
{
    int code = INQ_OK;
    *found = true;
    for (size_t r = 0; code == INQ_OK && r < run->trace->n_ranks; r++) {
        code = find_rank_ops(run, r, err);
        *found = *found && makes_sense(&run->ranks[r]);
    }
    if (code == INQ_OK && *found && !run->has_notes) {
        number_interleaved(run);
    }
    return code;
}
