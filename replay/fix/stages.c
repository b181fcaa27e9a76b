/* SPDX-License-Identifier: Apache-2.0 */
/* Fixes that share work out differently: layers between stages, sequences between micro-batches. */
#include "fix/spec.h"

#include "base/mem.h"
#include "base/stats.h"
#include "graph/optable/optable.h"

#include <math.h>
#include <stdio.h>

/* ---- stages ---------------------------------------------------------------------------------- */

/* Mean time of one micro-batch on each stage. */
struct stage_costs {
    size_t n;
    double *type_ns; /* [n][INQ_OP_TYPE_COUNT] per micro-batch */
    double *total_ns;
};

static void release_costs(struct stage_costs *c)
{
    inq_mem_free(c->type_ns);
    inq_mem_free(c->total_ns);
}

/* Workers of one stage count alike; the median worker's mean, so that a straggler is not taken for
 * a long stage. */
static int find_costs(const struct fix_step *job, struct stage_costs *c, struct inq_err *err)
{
    size_t cells = job->n_ranks * INQ_OP_TYPE_COUNT;
    c->n = job->n_stages;
    c->type_ns = inq_mem_zalloc(c->n * INQ_OP_TYPE_COUNT, sizeof *c->type_ns);
    c->total_ns = inq_mem_zalloc(c->n, sizeof *c->total_ns);
    double *sum = inq_mem_zalloc(cells, sizeof *sum);
    double *values = inq_mem_zalloc(job->n_ranks, sizeof *values);
    if (c->type_ns == NULL || c->total_ns == NULL || sum == NULL || values == NULL) {
        inq_mem_free(sum);
        inq_mem_free(values);
        return inq_fix_no_memory(err);
    }
    for (size_t i = 0; i < job->n_ops; i++) {
        const struct fix_op *op = &job->ops[i];
        if (inq_op_is_compute(op->op.type)) {
            sum[(size_t)op->op.rank * INQ_OP_TYPE_COUNT + op->op.type] += (double)op->dur_ns;
        }
    }
    for (size_t cell = 0; cell < c->n * INQ_OP_TYPE_COUNT; cell++) {
        size_t stage = cell / INQ_OP_TYPE_COUNT;
        size_t n = 0;
        for (size_t r = 0; r < job->n_ranks; r++) {
            if (job->ranks[r].stage == (int32_t)stage) {
                values[n++] = sum[r * INQ_OP_TYPE_COUNT + cell % INQ_OP_TYPE_COUNT] /
                              (double)job->n_microbatches;
            }
        }
        c->type_ns[cell] = n > 0 ? inq_median(values, n) : 0.0;
        c->total_ns[stage] += c->type_ns[cell];
    }
    inq_mem_free(sum);
    inq_mem_free(values);
    return INQ_OK;
}

/* What a layer's time is made of: the stage of median length is nothing but layers. */
static void layer_mix(const struct stage_costs *c, double mix[INQ_OP_TYPE_COUNT], double *layer_ns)
{
    size_t middle = 0;
    for (size_t s = 0; s < c->n; s++) {
        size_t before = 0; /* in order of length */
        for (size_t k = 0; k < c->n; k++) {
            before +=
                c->total_ns[k] < c->total_ns[s] || (k < s && c->total_ns[k] <= c->total_ns[s]);
        }
        middle = before == (c->n - 1) / 2 ? s : middle;
    }
    for (size_t type = 0; type < INQ_OP_TYPE_COUNT; type++) {
        double ns = c->type_ns[middle * INQ_OP_TYPE_COUNT + type];
        mix[type] = c->total_ns[middle] > 0.0 ? ns / c->total_ns[middle] : 0.0;
    }
    *layer_ns = c->total_ns[middle];
}

/* Rounds what each stage gives away to whole layers; those that rounding makes or loses go where
 * they fit best. */
static void whole_layers(double *moves, size_t n)
{
    double rest = 0.0; /* given away, and taken by nobody */
    for (size_t s = 0; s < n; s++) {
        rest += round(moves[s]);
    }
    while (fabs(rest) > 0.5) {
        double sign = rest > 0.0 ? 1.0 : -1.0;
        size_t best = 0;
        for (size_t s = 1; s < n; s++) {
            /* rounded up the furthest gives one less */
            bool better =
                sign * (round(moves[s]) - moves[s]) > sign * (round(moves[best]) - moves[best]);
            best = better ? s : best;
        }
        moves[best] = round(moves[best]) - sign;
        rest -= sign;
    }
    for (size_t s = 0; s < n; s++) {
        moves[s] = round(moves[s]);
    }
}

/* Time per micro-batch that each stage gives away (negative: takes). */
static void find_moves(const struct stage_costs *c, double share, int64_t layers, double layer_ns,
                       double *moves)
{
    double mean = 0.0;
    double one = layers > 0 ? layer_ns * (double)c->n / (double)layers : 0.0; /* layer */
    for (size_t s = 0; s < c->n; s++) {
        mean += c->total_ns[s] / (double)c->n;
    }
    for (size_t s = 0; s < c->n; s++) {
        moves[s] = (c->total_ns[s] - mean) * share / (one > 0.0 ? one : 1.0);
    }
    if (one > 0.0) {
        whole_layers(moves, c->n);
        for (size_t s = 0; s < c->n; s++) {
            moves[s] *= one;
        }
    }
}

static void move_layers(struct fix_step *job, const struct stage_costs *c, const double *moves,
                        const double mix[INQ_OP_TYPE_COUNT])
{
    for (size_t i = 0; i < job->n_ops; i++) {
        struct fix_op *op = &job->ops[i];
        if (!inq_op_is_compute(op->op.type) || op->op.stage < 0) {
            continue;
        }
        size_t stage = (size_t)op->op.stage;
        double own = c->type_ns[stage * INQ_OP_TYPE_COUNT + op->op.type];
        double left = own - moves[stage] * mix[op->op.type];
        if (own > 0.0) {
            op->dur_ns = inq_fix_scaled(op->dur_ns, left > 0.0 ? left / own : 0.0);
        }
    }
}

static void say_moves(const struct stage_costs *c, const double *moves, struct fix_notes *said)
{
    size_t from = 0;
    size_t to = 0;
    for (size_t s = 0; s < c->n; s++) {
        from = moves[s] > moves[from] ? s : from;
        to = moves[s] < moves[to] ? s : to;
    }
    if (!(moves[from] > 0.0)) {
        inq_fix_note(said, "no layers move: the stages are as even as they get");
        return;
    }
    inq_fix_note(said, "stage %zu gives away %.0f %% of its work: %s instead of %s per micro-batch",
                 from, 100.0 * moves[from] / c->total_ns[from],
                 inq_fix_time(llround(c->total_ns[from] - moves[from])).text,
                 inq_fix_time(llround(c->total_ns[from])).text);
    if (moves[to] < 0.0 && c->total_ns[to] > 0.0) {
        (void)snprintf(said->memory, sizeof said->memory,
                       "parameters and activations move with the layers: stage %zu holds about "
                       "%.0f %% more, stage %zu %.0f %% less",
                       to, -100.0 * moves[to] / c->total_ns[to], from,
                       100.0 * moves[from] / c->total_ns[from]);
    }
}

int inq_fix_rebalance(struct fix_step *job, const struct fix_args *args, struct fix_notes *said,
                      struct inq_err *err)
{
    double share = 1.0;
    int64_t layers = 0;
    struct stage_costs c = {0};
    double *moves = NULL;
    int code = inq_fix_number(args, "share", 0.0, 1.0, &share, err);
    if (code == INQ_OK) {
        code = inq_fix_integer(args, "layers", 1, 100000, &layers, err);
    }
    if (code == INQ_OK && (job->n_stages < 2 || job->n_stages > 256 || job->n_microbatches == 0)) {
        code = inq_err_set(err, INQ_UNSUPPORTED, "there are no pipeline stages to share layers");
    }
    if (code == INQ_OK) {
        code = find_costs(job, &c, err);
    }
    moves = inq_mem_zalloc(job->n_stages + 1, sizeof *moves);
    if (code == INQ_OK && moves == NULL) {
        code = inq_fix_no_memory(err);
    }
    if (code == INQ_OK) {
        double mix[INQ_OP_TYPE_COUNT];
        double layer_ns = 0.0;
        layer_mix(&c, mix, &layer_ns);
        find_moves(&c, share, layers, layer_ns, moves);
        move_layers(job, &c, moves, mix);
        say_moves(&c, moves, said);
    }
    inq_mem_free(moves);
    release_costs(&c);
    return code;
}

/* ---- sequences ------------------------------------------------------------------------------- */

/* Length of a piece of data against the mean, from what its ops take. */
struct lengths {
    size_t n_dp, n_pieces; /* pieces: micro-batch (and chunk and direction are alike in it) */
    double *factor;        /* [n_dp][n_pieces] */
};

/* Micro-batch of a compute op of a pipeline; false for anything else. */
static bool piece_of(const struct fix_step *job, const struct fix_op *op, size_t *dp, size_t *piece)
{
    if (!inq_op_is_compute(op->op.type) || op->op.micro_batch < 0 || op->op.dp_rank < 0 ||
        (size_t)op->op.micro_batch >= job->n_microbatches) {
        return false;
    }
    *dp = (size_t)op->op.dp_rank;
    *piece = (size_t)op->op.micro_batch;
    return true;
}

/* sums[(dp * pieces + piece) * n_stages + stage]: compute of the piece on each stage. */
static void sum_pieces(const struct fix_step *job, double *sums, double *stage_mean)
{
    for (size_t i = 0; i < job->n_ops; i++) {
        size_t dp = 0;
        size_t piece = 0;
        if (piece_of(job, &job->ops[i], &dp, &piece)) {
            size_t stage = (size_t)job->ops[i].op.stage;
            double ns = (double)job->ops[i].dur_ns;
            sums[(dp * job->n_microbatches + piece) * job->n_stages + stage] += ns;
            stage_mean[stage] += ns / (double)(job->n_dp * job->n_microbatches);
        }
    }
}

/* A long sequence takes longer on every stage: its length is the median over the stages of what it
 * takes against the stage's mean, so that one slow worker makes no sequence long. */
static int find_lengths(const struct fix_step *job, struct lengths *x, struct inq_err *err)
{
    size_t cells = job->n_dp * job->n_microbatches;
    double *sums = inq_mem_zalloc(cells * job->n_stages, sizeof *sums);
    double *stage_mean = inq_mem_zalloc(job->n_stages, sizeof *stage_mean);
    double *ratio = inq_mem_zalloc(job->n_stages, sizeof *ratio);
    *x = (struct lengths){job->n_dp, job->n_microbatches, NULL};
    x->factor = inq_mem_zalloc(cells, sizeof *x->factor);
    if (sums == NULL || stage_mean == NULL || ratio == NULL || x->factor == NULL) {
        inq_mem_free(sums);
        inq_mem_free(stage_mean);
        inq_mem_free(ratio);
        return inq_fix_no_memory(err);
    }
    sum_pieces(job, sums, stage_mean);
    double mean = 0.0;
    for (size_t k = 0; k < cells; k++) {
        for (size_t s = 0; s < job->n_stages; s++) {
            ratio[s] = stage_mean[s] > 0.0 ? sums[k * job->n_stages + s] / stage_mean[s] : 1.0;
        }
        x->factor[k] = inq_median(ratio, job->n_stages);
        mean += x->factor[k] / (double)cells;
    }
    for (size_t k = 0; k < cells; k++) {
        x->factor[k] = mean > 0.0 ? x->factor[k] / mean : 1.0;
    }
    inq_mem_free(sums);
    inq_mem_free(stage_mean);
    inq_mem_free(ratio);
    return INQ_OK;
}

static int balance_pieces(struct fix_step *job, struct fix_notes *said, struct inq_err *err)
{
    struct lengths x;
    double shortest = (double)INFINITY;
    double longest = 0.0;
    int code = find_lengths(job, &x, err);
    for (size_t i = 0; code == INQ_OK && i < job->n_ops; i++) {
        size_t dp = 0;
        size_t piece = 0;
        if (!piece_of(job, &job->ops[i], &dp, &piece)) {
            continue;
        }
        double factor = x.factor[dp * x.n_pieces + piece];
        shortest = factor < shortest ? factor : shortest;
        longest = factor > longest ? factor : longest;
        if (factor > 0.0) {
            job->ops[i].dur_ns = inq_fix_scaled(job->ops[i].dur_ns, 1.0 / factor);
        }
    }
    if (code == INQ_OK) {
        inq_fix_note(said, "micro-batches took %.2f to %.2f times their mean, now all the same",
                     isfinite(shortest) ? shortest : 1.0, longest);
    }
    inq_mem_free(x.factor);
    return code;
}

static bool is_rank_compute(const struct fix_op *op)
{
    return op->place == FIX_PLACE_GPU && op->op.cls == INQ_CLASS_COMPUTE;
}

/* Without a pipeline: every rank computes as long as the mean one. */
static int balance_ranks(struct fix_step *job, struct fix_notes *said, struct inq_err *err)
{
    double *sum = inq_mem_zalloc(job->n_ranks + 1, sizeof *sum);
    double mean = 0.0;
    double least = (double)INFINITY;
    double most = 0.0;
    if (sum == NULL) {
        return inq_fix_no_memory(err);
    }
    for (size_t i = 0; i < job->n_ops; i++) {
        sum[job->ops[i].op.rank] +=
            is_rank_compute(&job->ops[i]) ? (double)job->ops[i].dur_ns : 0.0;
    }
    for (size_t r = 0; r < job->n_ranks; r++) {
        mean += sum[r] / (double)job->n_ranks;
        least = sum[r] < least ? sum[r] : least;
        most = sum[r] > most ? sum[r] : most;
    }
    for (size_t i = 0; i < job->n_ops; i++) {
        double own = sum[job->ops[i].op.rank];
        if (is_rank_compute(&job->ops[i]) && own > 0.0) {
            job->ops[i].dur_ns = inq_fix_scaled(job->ops[i].dur_ns, mean / own);
        }
    }
    inq_mem_free(sum);
    inq_fix_note(said, "every rank computes %s per step instead of %s to %s",
                 inq_fix_time(llround(mean)).text, inq_fix_time(llround(least)).text,
                 inq_fix_time(llround(most)).text);
    return INQ_OK;
}

int inq_fix_balance_sequences(struct fix_step *job, const struct fix_args *args,
                              struct fix_notes *said, struct inq_err *err)
{
    (void)args;
    if (job->n_stages > 0 && job->n_dp * job->n_microbatches > 1) {
        return balance_pieces(job, said, err);
    }
    if (job->n_stages == 0 && job->n_ranks > 1) {
        return balance_ranks(job, said, err);
    }
    return inq_err_set(err, INQ_UNSUPPORTED, "there is nothing to share the sequences out over");
}
