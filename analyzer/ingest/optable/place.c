/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/optable/place.h"

#include "base/mem.h"
#include "base/sort.h"

#include <stdio.h>
#include <string.h>

/* A sum of durations beyond this is no time: sums of two stay far from overflow. */
#define MAX_TIME_NS (INT64_MAX / 4)

/* Which op of a micro-batch: others wait for nothing and nothing waits for them. */
enum pass { PASS_NONE, PASS_FORWARD, PASS_BACKWARD };

/* Rows [first, first + n) of a rank that follow each other in one stage of one step. */
struct block {
    int32_t dp_rank, step, stage;
    uint32_t rank;
    size_t first, n;
};

struct op {
    uint32_t rank, row;
    int32_t stage;
    int32_t micro_batch, chunk; /* chunk: 0 where there is none */
    enum pass pass;
    bool is_plain; /* of a schedule of whole backward passes */
    int64_t dur_ns, end_ns;
};

/* The ops of one stage in one step, in the order in which they run; its passes by their keys. */
struct lane {
    size_t first, n, next;
    size_t n_passes, n_forward; /* forward passes have the lower keys */
    int64_t free_ns;
};

/* Which op of the step a pass is. */
struct known_pass {
    uint64_t key;
    uint32_t op;
};

struct placer {
    struct block *blocks;
    size_t n_blocks, cap_blocks;
    /* of one DP rank's step: */
    struct op *ops, *scratch;
    size_t n;
    struct lane *lanes; /* by stage */
    size_t n_lanes;
    uint32_t
        *stack; /* lanes whose next op may be ready; each op puts there one more, two if forced */
    size_t depth;
    struct known_pass *passes;   /* of each lane from its `first` on, sorted */
    uint64_t by_pass, as_listed; /* stages of a step, by the order of their ops */
    uint64_t unordered;          /* ops that no order lets run */
};

static enum pass pass_of(enum inq_op_type type)
{
    if (type == INQ_OP_FORWARD) {
        return PASS_FORWARD;
    }
    return type == INQ_OP_BACKWARD || type == INQ_OP_BACKWARD_INPUT ? PASS_BACKWARD : PASS_NONE;
}

static int compare_blocks(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    const struct block *x = a;
    const struct block *y = b;
    const int64_t keys[][2] = {{x->dp_rank, y->dp_rank},
                               {x->step, y->step},
                               {x->stage, y->stage},
                               {x->rank, y->rank},
                               {(int64_t)x->first, (int64_t)y->first}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (keys[i][0] != keys[i][1]) {
            return keys[i][0] < keys[i][1] ? -1 : 1;
        }
    }
    return 0;
}

/* Which rows belong together, by DP rank, step and stage: a block has tens of ops as a rule, so
 * that sorting blocks is a small part of what sorting ops would be. */
static int find_blocks(const struct inq_shard *shard, struct placer *placer, struct inq_err *err)
{
    int code = INQ_OK;
    for (uint32_t r = 0; r < shard->n_ranks; r++) {
        const struct inq_rank *rank = &shard->ranks[r];
        const struct inq_label *last = NULL;
        for (size_t row = 0; row < rank->events.n && code == INQ_OK; row++) {
            const struct inq_label *label = &rank->labels[rank->events.label[row]];
            if (last != NULL && last->step == label->step && last->stage == label->stage &&
                last->dp_rank == label->dp_rank) {
                placer->blocks[placer->n_blocks - 1].n++;
                continue;
            }
            last = label;
            code = inq_mem_grow(&placer->blocks, &placer->cap_blocks, placer->n_blocks + 1,
                                sizeof *placer->blocks, INQ_MAX_ROWS, err);
            if (code == INQ_OK) {
                placer->blocks[placer->n_blocks++] = (struct block){.dp_rank = label->dp_rank,
                                                                    .step = label->step,
                                                                    .stage = label->stage,
                                                                    .rank = r,
                                                                    .first = row,
                                                                    .n = 1};
            }
        }
    }
    return code == INQ_OK ? inq_sort(placer->blocks, placer->n_blocks, sizeof *placer->blocks,
                                     compare_blocks, NULL, err)
                          : code;
}

/* The first block behind those of the DP rank's step that blocks[first] is of; *n: ops of them. */
static size_t end_of_step(const struct placer *placer, size_t first, size_t *n)
{
    const struct block *block = &placer->blocks[first];
    size_t end = first;
    *n = 0;
    while (end < placer->n_blocks && placer->blocks[end].dp_rank == block->dp_rank &&
           placer->blocks[end].step == block->step) {
        *n += placer->blocks[end++].n;
    }
    return end;
}

/* Room for the ops of the largest step. */
static int make_room(struct placer *placer, struct inq_err *err)
{
    size_t most = 0;
    for (size_t first = 0, n = 0; first < placer->n_blocks;) {
        first = end_of_step(placer, first, &n);
        most = n > most ? n : most;
    }
    placer->ops = inq_mem_alloc((most + 1) * sizeof *placer->ops);
    placer->scratch = inq_mem_alloc((most + 1) * sizeof *placer->scratch);
    placer->lanes = inq_mem_alloc((most + 1) * sizeof *placer->lanes);
    placer->stack = inq_mem_alloc((3 * most + 1) * sizeof *placer->stack);
    placer->passes = inq_mem_alloc((most + 1) * sizeof *placer->passes);
    bool has_room = placer->ops != NULL && placer->scratch != NULL && placer->lanes != NULL &&
                    placer->stack != NULL && placer->passes != NULL;
    return has_room ? INQ_OK : inq_err_set(err, INQ_NOMEM, "out of memory");
}

/* The ops of a step's blocks. */
static void collect(const struct inq_shard *shard, struct placer *placer, size_t first, size_t end)
{
    placer->n = 0;
    for (const struct block *block = &placer->blocks[first]; block < &placer->blocks[end];
         block++) {
        const struct inq_rank *rank = &shard->ranks[block->rank];
        for (size_t row = block->first; row < block->first + block->n; row++) {
            const struct inq_label *label = &rank->labels[rank->events.label[row]];
            placer->ops[placer->n++] = (struct op){
                .rank = block->rank,
                .row = (uint32_t)row,
                .stage = block->stage,
                .micro_batch = label->micro_batch,
                .chunk = label->chunk > 0 ? label->chunk : 0,
                .pass = label->micro_batch >= 0 ? pass_of(label->type) : PASS_NONE,
                .is_plain = label->chunk <= 0 && label->type != INQ_OP_BACKWARD_INPUT &&
                            label->type != INQ_OP_BACKWARD_WEIGHT,
                .dur_ns = rank->events.dur_ns[row],
                .end_ns = -1,
            };
        }
    }
}

/* ---- the order of a stage's ops -------------------------------------------------------------- */

/* Whether all forward passes are listed before all backward ones, two or more of each: rows by
 * kind, which say nothing of the order. */
static bool is_listed_by_pass(const struct op *ops, size_t n)
{
    size_t forward = 0;
    size_t backward = 0;
    for (size_t i = 0; i < n; i++) {
        if (!ops[i].is_plain || (ops[i].pass == PASS_FORWARD && backward > 0)) {
            return false;
        }
        forward += ops[i].pass == PASS_FORWARD;
        backward += ops[i].pass == PASS_BACKWARD;
    }
    return forward > 1 && backward > 1;
}

static size_t find_pass(const struct op *ops, size_t n, size_t from, enum pass pass)
{
    while (from < n && ops[from].pass != pass) {
        from++;
    }
    return from;
}

/* The stage's ops as 1F1B runs them: `warm_up` forward passes, then one of each. What else a
 * micro-batch has (its data loading) runs before its forward pass, the rest at the end. */
static void order_1f1b(const struct op *ops, size_t n, size_t warm_up, struct op *out)
{
    size_t forward = find_pass(ops, n, 0, PASS_FORWARD);
    size_t backward = find_pass(ops, n, 0, PASS_BACKWARD);
    size_t other = find_pass(ops, n, 0, PASS_NONE);
    size_t ahead = 0;
    size_t k = 0;
    while (forward < n || backward < n) {
        bool runs_forward = forward < n && (ahead < warm_up || backward == n);
        if (!runs_forward) {
            out[k++] = ops[backward];
            backward = find_pass(ops, n, backward + 1, PASS_BACKWARD);
            ahead -= ahead > 0;
            continue;
        }
        while (other < n && ops[other].micro_batch >= 0 &&
               ops[other].micro_batch <= ops[forward].micro_batch) {
            out[k++] = ops[other];
            other = find_pass(ops, n, other + 1, PASS_NONE);
        }
        out[k++] = ops[forward];
        forward = find_pass(ops, n, forward + 1, PASS_FORWARD);
        ahead++;
    }
    for (; other < n; other = find_pass(ops, n, other + 1, PASS_NONE)) {
        out[k++] = ops[other];
    }
}

static void order_lane(struct placer *placer, size_t stage)
{
    struct lane *lane = &placer->lanes[stage];
    struct op *ops = &placer->ops[lane->first];
    if (!is_listed_by_pass(ops, lane->n)) {
        placer->as_listed++;
        return;
    }
    placer->by_pass++;
    order_1f1b(ops, lane->n, placer->n_lanes - stage, placer->scratch);
    memcpy(ops, placer->scratch, lane->n * sizeof *ops);
}

/* ---- one step -------------------------------------------------------------------------------- */

/* Ordered by direction, chunk, micro-batch; the latter two are not negative. */
static uint64_t key_of(enum pass pass, int32_t chunk, int32_t micro_batch)
{
    return (uint64_t)pass << 62 | (uint64_t)(uint32_t)chunk << 31 | (uint32_t)micro_batch;
}

/* The stage's op of this pass, or NULL. Nearly always micro-batch i is the i-th of its direction.
 */
static const struct op *find_op(const struct placer *placer, size_t stage, enum pass pass,
                                int32_t chunk, int32_t micro_batch)
{
    const struct lane *lane = &placer->lanes[stage];
    const struct known_pass *passes = &placer->passes[lane->first];
    uint64_t key = key_of(pass, chunk, micro_batch);
    size_t guess = (size_t)micro_batch + (pass == PASS_BACKWARD ? lane->n_forward : 0);
    size_t low = 0;
    size_t high = lane->n_passes;
    if (guess < high && passes[guess].key == key) {
        return &placer->ops[passes[guess].op];
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        bool is_behind = passes[middle].key < key;
        low = is_behind ? middle + 1 : low;
        high = is_behind ? high : middle;
    }
    bool known = low < lane->n_passes && passes[low].key == key;
    return known ? &placer->ops[passes[low].op] : NULL;
}

/* The pass of the same micro-batch that is `by` places further in its direction of flow (1: the one
 * after it, -1: the one it waits for), or NULL; its stage is put at *to. The first stage's chunk
 * follows the last stage's chunk before it. */
static const struct op *neighbor(const struct placer *placer, const struct op *op, size_t stage,
                                 int by, size_t *to)
{
    bool onward = (op->pass == PASS_FORWARD) == (by > 0);
    size_t last = placer->n_lanes - 1;
    int64_t chunk = op->chunk;
    if (onward) {
        *to = stage < last ? stage + 1 : 0;
        chunk += stage == last;
    } else {
        *to = stage > 0 ? stage - 1 : last;
        chunk -= stage == 0;
    }
    bool is_one = op->pass != PASS_NONE && chunk >= 0 && chunk <= INT32_MAX;
    const struct op *other =
        is_one ? find_op(placer, *to, op->pass, (int32_t)chunk, op->micro_batch) : NULL;
    return other != op ? other : NULL;
}

/* Places the lane's next op; false when it waits for one that has no place yet. */
static bool place_next(struct placer *placer, size_t stage, bool waits)
{
    struct lane *lane = &placer->lanes[stage];
    struct op *op = &placer->ops[lane->first + lane->next];
    size_t other = 0;
    const struct op *before = neighbor(placer, op, stage, -1, &other);
    if (before != NULL && before->end_ns < 0 && waits) {
        return false;
    }
    int64_t ready_ns = before != NULL && before->end_ns > 0 ? before->end_ns : 0;
    int64_t start_ns = ready_ns > lane->free_ns ? ready_ns : lane->free_ns;
    op->end_ns = start_ns > MAX_TIME_NS - op->dur_ns ? MAX_TIME_NS : start_ns + op->dur_ns;
    lane->free_ns = op->end_ns;
    lane->next++;
    const struct op *after = neighbor(placer, op, stage, 1, &other);
    if (after != NULL && after->end_ns < 0) {
        placer->stack[placer->depth++] = (uint32_t)other;
    }
    return true;
}

/* Runs lanes until none has an op that is ready. */
static void run(struct placer *placer)
{
    while (placer->depth > 0) {
        size_t stage = placer->stack[--placer->depth];
        const struct lane *lane = &placer->lanes[stage];
        while (lane->next < lane->n && place_next(placer, stage, true)) {
        }
    }
}

static int compare_passes(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    const struct known_pass *x = a;
    const struct known_pass *y = b;
    int by_key = (x->key > y->key) - (x->key < y->key);
    return by_key != 0 ? by_key : (x->op > y->op) - (x->op < y->op);
}

/* Appends the lane's passes of one direction to those it has; false: they are not in order. */
static bool list_passes(struct placer *placer, struct lane *lane, enum pass pass)
{
    struct known_pass *passes = &placer->passes[lane->first];
    bool sorted = true;
    for (size_t i = lane->first; i < lane->first + lane->n; i++) {
        const struct op *op = &placer->ops[i];
        if (op->pass == pass) {
            uint64_t key = key_of(pass, op->chunk, op->micro_batch);
            size_t n = lane->n_passes++;
            passes[n] = (struct known_pass){key, (uint32_t)i};
            sorted = sorted && (n == 0 || passes[n - 1].key < key);
        }
    }
    return sorted;
}

/* Of a pass that is there twice the last counts. */
static void drop_repeated(struct lane *lane, struct known_pass *passes)
{
    size_t n = 0;
    lane->n_forward = 0;
    for (size_t i = 0; i < lane->n_passes; i++) {
        if (i + 1 == lane->n_passes || passes[i + 1].key != passes[i].key) {
            lane->n_forward += passes[i].key < key_of(PASS_BACKWARD, 0, 0);
            passes[n++] = passes[i];
        }
    }
    lane->n_passes = n;
}

static int index_passes(struct placer *placer, struct inq_err *err)
{
    int code = INQ_OK;
    for (size_t stage = 0; stage < placer->n_lanes && code == INQ_OK; stage++) {
        struct lane *lane = &placer->lanes[stage];
        struct known_pass *passes = &placer->passes[lane->first];
        bool sorted = list_passes(placer, lane, PASS_FORWARD);
        lane->n_forward = lane->n_passes;
        sorted = list_passes(placer, lane, PASS_BACKWARD) && sorted;
        if (!sorted) {
            code = inq_sort(passes, lane->n_passes, sizeof *passes, compare_passes, NULL, err);
            drop_repeated(lane, passes);
        }
    }
    return code;
}

/* The ops of one DP rank's step. */
static int place_step(struct placer *placer, struct inq_err *err)
{
    placer->n_lanes = 0;
    placer->depth = 0;
    for (size_t i = 0; i < placer->n; i++) {
        bool same = i > 0 && placer->ops[i].stage == placer->ops[i - 1].stage;
        if (!same) {
            placer->lanes[placer->n_lanes++] = (struct lane){.first = i};
        }
        placer->lanes[placer->n_lanes - 1].n++;
    }
    for (size_t stage = 0; stage < placer->n_lanes; stage++) {
        order_lane(placer, stage);
        placer->stack[placer->depth++] = (uint32_t)(placer->n_lanes - 1 - stage);
    }
    int code = index_passes(placer, err);
    run(placer);
    for (size_t stage = 0; stage < placer->n_lanes && code == INQ_OK; stage++) {
        const struct lane *lane = &placer->lanes[stage];
        while (lane->next < lane->n) { /* its order and another's contradict each other */
            placer->unordered++;
            (void)place_next(placer, stage, false);
            placer->stack[placer->depth++] = (uint32_t)stage;
            run(placer);
        }
    }
    return code;
}

static void write_starts(const struct placer *placer, struct inq_shard *shard, int64_t origin_ns)
{
    for (size_t i = 0; i < placer->n; i++) {
        const struct op *op = &placer->ops[i];
        shard->ranks[op->rank].events.start_ns[op->row] = origin_ns + op->end_ns - op->dur_ns;
    }
}

static int explain(const struct placer *placer, struct inq_shard *shard, const char **what,
                   struct inq_err *err)
{
    const char *how = placer->by_pass == 0     ? "in the order of its rows"
                      : placer->as_listed == 0 ? "as 1F1B"
                                               : "as 1F1B or in the order of its rows";
    char clash[96] = "";
    if (placer->unordered > 0) {
        (void)snprintf(clash, sizeof clash,
                       "; %llu ops that this order lets never run wait for none",
                       (unsigned long long)placer->unordered);
    }
    *what = inq_arena_asprintf(&shard->arena,
                               "durations without starts: each stage's ops are placed %s, without "
                               "transfers%s",
                               how, clash);
    return *what != NULL ? INQ_OK : inq_err_set(err, INQ_NOMEM, "out of memory");
}

int inq_ops_place(struct inq_shard *shard, const int64_t *origin_ns, size_t n, const char **what,
                  struct inq_err *err)
{
    struct placer placer = {0};
    int code = find_blocks(shard, &placer, err);
    code = code == INQ_OK ? make_room(&placer, err) : code;
    *what = "";
    for (size_t first = 0; first < placer.n_blocks && code == INQ_OK;) {
        int32_t step = placer.blocks[first].step;
        size_t count = 0;
        size_t end = end_of_step(&placer, first, &count);
        collect(shard, &placer, first, end);
        code = place_step(&placer, err);
        if (code == INQ_OK) {
            write_starts(&placer, shard, step >= 0 && (size_t)step < n ? origin_ns[step] : 0);
        }
        first = end;
    }
    if (code == INQ_OK && placer.n_blocks > 0) {
        code = explain(&placer, shard, what, err);
    }
    inq_mem_free(placer.blocks);
    inq_mem_free(placer.ops);
    inq_mem_free(placer.scratch);
    inq_mem_free(placer.lanes);
    inq_mem_free(placer.stack);
    inq_mem_free(placer.passes);
    return code;
}
