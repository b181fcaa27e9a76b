/* SPDX-License-Identifier: Apache-2.0 */
/* Fixes of links and collectives: faster, repaired, hierarchical. */
#include "fix/spec.h"

#include "base/mem.h"
#include "base/stats.h"

#include <inttypes.h>

/* ---- a faster link --------------------------------------------------------------------------- */

enum which { WHICH_ALL, WHICH_P2P, WHICH_SYNC };

static int read_which(const struct fix_args *args, enum which *which, struct inq_err *err)
{
    *which = WHICH_ALL;
    for (size_t i = 0; i < args->n_keys; i++) {
        if (!inq_fix_is(args->keys[i], "type") || inq_fix_is(args->values[i], "all")) {
            continue;
        }
        if (inq_fix_is(args->values[i], "p2p")) {
            *which = WHICH_P2P;
        } else if (inq_fix_is(args->values[i], "sync")) {
            *which = WHICH_SYNC;
        } else {
            return inq_err_set(err, INQ_USAGE, "%s: type is all, p2p or sync", args->name);
        }
    }
    return INQ_OK;
}

/* Whether the op's duration is a transfer: what a lone kernel takes may be waiting. */
static bool transfers(const struct fix_step *job, const struct fix_op *op)
{
    return op->op.cls == INQ_CLASS_COMM && op->place == FIX_PLACE_GPU &&
           (op->group != INQ_NONE || job->n_stages > 0);
}

/* Communication of pairs of stages or ranks. */
static bool is_p2p(const struct fix_op *op)
{
    bool recorded = inq_coll_is_p2p((enum inq_coll_kind)op->coll);
    return op->op.cls == INQ_CLASS_COMM && (inq_op_is_p2p(op->op.type) || recorded);
}

int inq_fix_link(struct fix_step *job, const struct fix_args *args, struct fix_notes *said,
                 struct inq_err *err)
{
    double factor = 0.5;
    enum which which = WHICH_ALL;
    size_t changed = 0;
    int code = inq_fix_number(args, "factor", 0.0, 100.0, &factor, err);
    if (code == INQ_OK) {
        code = read_which(args, &which, err);
    }
    for (size_t i = 0; code == INQ_OK && i < job->n_ops; i++) {
        struct fix_op *op = &job->ops[i];
        bool chosen = which == WHICH_ALL || (which == WHICH_P2P) == is_p2p(op);
        if (chosen && transfers(job, op)) {
            op->dur_ns = inq_fix_scaled(op->dur_ns, factor);
            changed++;
        }
    }
    if (code == INQ_OK && changed == 0) {
        code = inq_err_set(err, INQ_UNSUPPORTED, "no matched transfers of that type are recorded");
    }
    if (code == INQ_OK) {
        inq_fix_note(said, "%s take%s %g times as long",
                     which == WHICH_P2P    ? "transfers between stages"
                     : which == WHICH_SYNC ? "collectives"
                                           : "all transfers",
                     "", factor);
    }
    return code;
}

/* ---- a repaired link ------------------------------------------------------------------------- */

/* Groups whose members are all among the chosen ranks. */
static void find_inside(const struct fix_step *job, const uint8_t *chosen, uint8_t *inside)
{
    for (size_t g = 0; g < job->n_groups; g++) {
        inside[g] = 1;
    }
    for (size_t i = 0; i < job->n_ops; i++) {
        const struct fix_op *op = &job->ops[i];
        if (op->group != INQ_NONE && !chosen[op->op.rank]) {
            inside[op->group] = 0;
        }
    }
}

static bool alike(const struct fix_op *a, const struct fix_op *b)
{
    return a->op.type == b->op.type && a->coll == b->coll && a->bytes == b->bytes &&
           b->op.cls == INQ_CLASS_COMM;
}

/* Median of the same transfers among other ranks; -1 none. */
static int64_t elsewhere(const struct fix_step *job, const struct fix_op *op, const uint8_t *inside,
                         int64_t *space)
{
    size_t n = 0;
    for (size_t i = 0; i < job->n_ops; i++) {
        const struct fix_op *other = &job->ops[i];
        if (other->group != INQ_NONE && !inside[other->group] && alike(op, other)) {
            space[n++] = other->dur_ns;
        }
    }
    return n > 0 ? inq_lower_median_i64(space, n) : -1;
}

static size_t repair(struct fix_step *job, const uint8_t *inside, int64_t *space, int64_t sums[2])
{
    size_t changed = 0;
    const struct fix_op *asked = NULL; /* neighbors are mostly alike */
    int64_t answer = -1;
    for (size_t i = 0; i < job->n_ops; i++) {
        struct fix_op *op = &job->ops[i];
        if (op->op.cls != INQ_CLASS_COMM || op->group == INQ_NONE || !inside[op->group]) {
            continue;
        }
        if (asked == NULL || !alike(asked, op)) {
            answer = elsewhere(job, op, inside, space);
            asked = op;
        }
        if (answer >= 0) {
            sums[0] += op->dur_ns;
            sums[1] += answer;
            op->dur_ns = answer;
            changed++;
        }
    }
    return changed;
}

int inq_fix_repair_link(struct fix_step *job, const struct fix_args *args, struct fix_notes *said,
                        struct inq_err *err)
{
    uint8_t *chosen = inq_mem_zalloc(job->n_ranks + 1, 1);
    uint8_t *inside = inq_mem_zalloc(job->n_groups + 1, 1);
    int64_t *space = inq_mem_alloc((job->n_ops + 1) * sizeof *space);
    size_t n = 0;
    int64_t sums[2] = {0};
    int code = chosen != NULL && inside != NULL && space != NULL
                   ? inq_fix_ranks(job, args, chosen, &n, err)
                   : inq_fix_no_memory(err);
    if (code == INQ_OK) {
        find_inside(job, chosen, inside);
        size_t changed = repair(job, inside, space, sums);
        if (changed == 0) {
            code = inq_err_set(err, INQ_UNSUPPORTED,
                               "no transfers among these ranks have their like among others");
        } else {
            inq_fix_note(
                said,
                "transfers among ranks %.*s as the same among others: %s instead of %s per "
                "step, summed",
                (int)args->argument.len, args->argument.at, inq_fix_time(sums[1]).text,
                inq_fix_time(sums[0]).text);
        }
    }
    inq_mem_free(chosen);
    inq_mem_free(inside);
    inq_mem_free(space);
    return code;
}

/* ---- hierarchical all-reduce ----------------------------------------------------------------- */

static bool all_reduces(const struct fix_op *op)
{
    return op->group != INQ_NONE &&
           (op->coll == INQ_COLL_ALLREDUCE || op->op.type == INQ_OP_SEPARATE_GRADS_ALL_REDUCE);
}

/* Time of a two-level all-reduce over that of a flat ring of `n` ranks: a ring moves 2(n-1)/n of
 * the data over the slowest link; two levels move 2(L-1)/L of it inside a node, which is `ratio`
 * times as fast, and 2(N-1)/N of it between the N nodes. */
static double two_levels(double n, double local, double ratio)
{
    double nodes = n / local;
    double flat = (n - 1.0) / n;
    return ((nodes - 1.0) / nodes + (local - 1.0) / local / ratio) / flat;
}

int inq_fix_hierarchical(struct fix_step *job, const struct fix_args *args, struct fix_notes *said,
                         struct inq_err *err)
{
    int64_t local = 8;
    double ratio = 4.0;
    size_t changed = 0;
    double factor = 1.0;
    int code = inq_fix_integer(args, "local", 2, 1024, &local, err);
    if (code == INQ_OK) {
        code = inq_fix_number(args, "ratio", 0.1, 1000.0, &ratio, err);
    }
    int64_t *size = inq_mem_zalloc(job->n_groups + 1, sizeof *size);
    if (code == INQ_OK && size == NULL) {
        code = inq_fix_no_memory(err);
    }
    for (size_t i = 0; code == INQ_OK && i < job->n_ops; i++) {
        size[job->ops[i].group != INQ_NONE ? job->ops[i].group : job->n_groups]++;
    }
    for (size_t i = 0; code == INQ_OK && i < job->n_ops; i++) {
        struct fix_op *op = &job->ops[i];
        if (all_reduces(op) && size[op->group] > local && size[op->group] % local == 0) {
            factor = two_levels((double)size[op->group], (double)local, ratio);
            op->dur_ns = inq_fix_scaled(op->dur_ns, factor);
            changed++;
        }
    }
    inq_mem_free(size);
    if (code == INQ_OK && changed == 0) {
        code = inq_err_set(err, INQ_UNSUPPORTED,
                           "no all-reduce spans several whole nodes of %" PRId64 " ranks", local);
    }
    if (code == INQ_OK) {
        inq_fix_note(said,
                     "all-reduces in two levels, %" PRId64
                     " ranks a node, links in a node %g times "
                     "as fast: %.2f times as long",
                     local, ratio, factor);
    }
    return code;
}
