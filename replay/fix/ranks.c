/* SPDX-License-Identifier: Apache-2.0 */
/* Fixes of single ranks: replaced, sped up, their hosts repaired, swapped. */
#include "fix/spec.h"

#include "base/mem.h"
#include "base/stats.h"
#include "graph/optable/optable.h"

#include <stdio.h>
#include <string.h>

/* Ops of each slot, over the ranks that count as peers. */
struct peers {
    const struct fix_step *job;
    size_t *start; /* [n_slots + 2] */
    uint32_t *ops;
    int64_t *scratch; /* [n_ops] */
};

static void release_peers(struct peers *p)
{
    inq_mem_free(p->start);
    inq_mem_free(p->ops);
    inq_mem_free(p->scratch);
}

static bool is_peer(const struct fix_op *op, const uint8_t *chosen)
{
    return op->slot != INQ_NONE && !chosen[op->op.rank];
}

/* Peers are the ops of all ranks that are not chosen. */
static int list_peers(const struct fix_step *job, const uint8_t *chosen, struct peers *p,
                      struct inq_err *err)
{
    *p = (struct peers){.job = job};
    p->start = inq_mem_zalloc(job->n_slots + 2, sizeof *p->start);
    p->ops = inq_mem_alloc((job->n_ops + 1) * sizeof *p->ops);
    p->scratch = inq_mem_alloc((job->n_ops + 1) * sizeof *p->scratch);
    if (p->start == NULL || p->ops == NULL || p->scratch == NULL) {
        return inq_fix_no_memory(err);
    }
    for (size_t i = 0; i < job->n_ops; i++) {
        if (is_peer(&job->ops[i], chosen)) {
            p->start[job->ops[i].slot + 2]++;
        }
    }
    for (size_t s = 2; s < job->n_slots + 2; s++) {
        p->start[s] += p->start[s - 1];
    }
    for (size_t i = 0; i < job->n_ops; i++) {
        if (is_peer(&job->ops[i], chosen)) {
            p->ops[p->start[job->ops[i].slot + 1]++] = (uint32_t)i;
        }
    }
    return INQ_OK;
}

/* Median duration (or delay) of the slot's peers; false: it has none. Of an even number the lower
 * of the middle two. */
static bool peers_median(const struct peers *p, uint32_t slot, bool delay, int64_t *ns)
{
    size_t n = 0;
    if (slot == INQ_NONE) {
        return false;
    }
    for (size_t k = p->start[slot]; k < p->start[slot + 1]; k++) {
        const struct fix_op *op = &p->job->ops[p->ops[k]];
        p->scratch[n++] = delay ? op->delay_ns : op->dur_ns;
    }
    *ns = inq_lower_median_i64(p->scratch, n);
    return n > 0;
}

/* ---- compute of a worker against the others of its pipeline ---------------------------------- */

/* Mean duration of a type of compute on the ranks for which `chosen` is `which`; 0 for none. */
static double type_mean(const struct fix_step *job, const uint8_t *chosen, uint8_t which,
                        uint8_t type)
{
    double sum = 0.0;
    double n = 0.0;
    for (size_t i = 0; i < job->n_ops; i++) {
        if (job->ops[i].op.type == type && chosen[job->ops[i].op.rank] == which) {
            sum += (double)job->ops[i].dur_ns;
            n += 1.0;
        }
    }
    return n > 0.0 ? sum / n : 0.0;
}

/* Without replicas the other stages are all there is to compare with. */
static int replace_by_stages(struct fix_step *job, const uint8_t *chosen, struct inq_err *err)
{
    size_t changed = 0;
    for (int t = 1; t < INQ_OP_TYPE_COUNT; t++) {
        uint8_t type = (uint8_t)t;
        double own = type_mean(job, chosen, 1, type);
        double usual = type_mean(job, chosen, 0, type);
        if (!inq_op_is_compute(type) || !(own > 0.0) || !(usual > 0.0)) {
            continue;
        }
        for (size_t i = 0; i < job->n_ops; i++) {
            struct fix_op *op = &job->ops[i];
            if (op->op.type == type && chosen[op->op.rank]) {
                op->dur_ns = inq_fix_scaled(op->dur_ns, usual / own);
                changed++;
            }
        }
    }
    return changed > 0 ? INQ_OK
                       : inq_err_set(err, INQ_UNSUPPORTED, "no other rank to compare these with");
}

/* Compute of the chosen ranks, summed. */
static int64_t compute_of(const struct fix_step *job, const uint8_t *chosen)
{
    int64_t sum = 0;
    for (size_t i = 0; i < job->n_ops; i++) {
        const struct fix_op *op = &job->ops[i];
        bool counts = op->place == FIX_PLACE_GPU && op->op.cls != INQ_CLASS_COMM;
        sum += counts && chosen[op->op.rank] ? op->dur_ns : 0;
    }
    return sum;
}

static int64_t host_of(const struct fix_step *job, const uint8_t *chosen)
{
    int64_t sum = 0;
    for (size_t i = 0; i < job->n_ops; i++) {
        const struct fix_op *op = &job->ops[i];
        bool host = op->place == FIX_PLACE_HOST || job->n_stages > 0;
        sum += host && chosen[op->op.rank] && op->delay_ns > 0 ? op->delay_ns : 0;
        sum += op->place == FIX_PLACE_HOST && chosen[op->op.rank] ? op->dur_ns : 0;
    }
    return sum;
}

enum part { PART_ALL, PART_HOST };

/* Durations and delays of the chosen ranks become their peers'. A labeled op lasts from its first
 * kernel to its last, so that a late host is in its duration too; what it was delayed by before is
 * the host's only. */
static int take_medians(struct fix_step *job, const uint8_t *chosen, enum part part,
                        struct inq_err *err)
{
    struct peers p;
    size_t changed = 0;
    int code = list_peers(job, chosen, &p, err);
    for (size_t i = 0; code == INQ_OK && i < job->n_ops; i++) {
        struct fix_op *op = &job->ops[i];
        int64_t ns = 0;
        bool labeled = job->n_stages > 0;
        bool wanted =
            chosen[op->op.rank] && (part == PART_ALL || labeled || op->place == FIX_PLACE_HOST);
        if (wanted && !(labeled && op->op.cls == INQ_CLASS_COMM) &&
            peers_median(&p, op->slot, false, &ns)) {
            op->dur_ns = ns;
            changed++;
        }
        bool delayed = chosen[op->op.rank] &&
                       (part == PART_HOST ? op->place == FIX_PLACE_HOST || labeled : !labeled);
        if (delayed && peers_median(&p, op->slot, true, &ns)) {
            op->delay_ns = ns;
            changed++;
        }
    }
    release_peers(&p);
    if (code == INQ_OK && changed == 0) {
        code = job->n_stages > 1
                   ? replace_by_stages(job, chosen, err)
                   : inq_err_set(err, INQ_UNSUPPORTED, "no other rank has the same ops");
    }
    return code;
}

static int choose_ranks(const struct fix_step *job, const struct fix_args *args, uint8_t **chosen,
                        size_t *n, struct inq_err *err)
{
    *chosen = inq_mem_zalloc(job->n_ranks + 1, 1);
    if (*chosen == NULL) {
        return inq_fix_no_memory(err);
    }
    return inq_fix_ranks(job, args, *chosen, n, err);
}

/* Calls of hosts that run ahead of their GPUs lie before the step: no time of it. */
static void say_like_peers(struct fix_notes *said, enum part part, const struct fix_args *args,
                           size_t n, int64_t before_ns, int64_t after_ns)
{
    if (part == PART_HOST && before_ns > 0 && after_ns == 0) {
        inq_fix_note(said,
                     "the host%s of rank%s %.*s run%s ahead of the GPU%s as %s peers' do: no host "
                     "time in the step instead of %s",
                     n == 1 ? "" : "s", n == 1 ? "" : "s", (int)args->argument.len,
                     args->argument.at, n == 1 ? "s" : "", n == 1 ? "" : "s",
                     n == 1 ? "its" : "their", inq_fix_time(before_ns).text);
        return;
    }
    inq_fix_note(said, "%s of rank%s %.*s as %s peers': %s instead of %s per step",
                 part == PART_HOST ? "host time" : "compute", n == 1 ? "" : "s",
                 (int)args->argument.len, args->argument.at, n == 1 ? "its" : "their",
                 inq_fix_time(after_ns).text, inq_fix_time(before_ns).text);
}

static int ranks_like_peers(struct fix_step *job, const struct fix_args *args, enum part part,
                            struct fix_notes *said, struct inq_err *err)
{
    uint8_t *chosen = NULL;
    size_t n = 0;
    int code = choose_ranks(job, args, &chosen, &n, err);
    if (code == INQ_OK) {
        int64_t compute = compute_of(job, chosen);
        int64_t host = host_of(job, chosen);
        code = take_medians(job, chosen, part, err);
        int64_t before = part == PART_HOST ? host : compute;
        int64_t after = part == PART_HOST ? host_of(job, chosen) : compute_of(job, chosen);
        say_like_peers(said, part, args, n, before, after);
    }
    inq_mem_free(chosen);
    return code;
}

int inq_fix_replace_rank(struct fix_step *job, const struct fix_args *args, struct fix_notes *said,
                         struct inq_err *err)
{
    return ranks_like_peers(job, args, PART_ALL, said, err);
}

int inq_fix_repair_host(struct fix_step *job, const struct fix_args *args, struct fix_notes *said,
                        struct inq_err *err)
{
    return ranks_like_peers(job, args, PART_HOST, said, err);
}

/* ---- speed ----------------------------------------------------------------------------------- */

int inq_fix_speed_rank(struct fix_step *job, const struct fix_args *args, struct fix_notes *said,
                       struct inq_err *err)
{
    uint8_t *chosen = NULL;
    size_t n = 0;
    double speed = 1.0;
    int code = inq_fix_number(args, "speed", 0.01, 100.0, &speed, err);
    if (code == INQ_OK) {
        code = choose_ranks(job, args, &chosen, &n, err);
    }
    for (size_t i = 0; code == INQ_OK && i < job->n_ops; i++) {
        struct fix_op *op = &job->ops[i];
        if (chosen[op->op.rank] && op->place == FIX_PLACE_GPU && op->op.cls != INQ_CLASS_COMM) {
            op->dur_ns = inq_fix_scaled(op->dur_ns, 1.0 / speed);
        }
    }
    if (code == INQ_OK) {
        inq_fix_note(said, "rank%s %.*s compute%s %g times as fast", n == 1 ? "" : "s",
                     (int)args->argument.len, args->argument.at, n == 1 ? "s" : "", speed);
    }
    inq_mem_free(chosen);
    return code;
}

/* ---- swap ------------------------------------------------------------------------------------ */

/* How long a rank computes against the median of the replicas of its stage; without replicas
 * against the mean stage. */
static double pace_of(const struct fix_step *job, size_t rank, int64_t *sums)
{
    size_t n = 0;
    int64_t own = 0;
    double mean = 0.0;
    for (size_t r = 0; r < job->n_ranks; r++) {
        bool same = job->n_dp > 1 ? job->ranks[r].stage == job->ranks[rank].stage : true;
        if (!same) {
            continue;
        }
        int64_t sum = 0;
        for (size_t i = 0; i < job->n_ops; i++) {
            const struct fix_op *op = &job->ops[i];
            bool counts = op->op.rank == (int32_t)r && op->place == FIX_PLACE_GPU &&
                          op->op.cls != INQ_CLASS_COMM;
            sum += counts ? op->dur_ns : 0;
        }
        own = r == rank ? sum : own;
        mean += (double)sum;
        sums[n++] = sum;
    }
    double usual = job->n_dp > 1 || job->n_stages == 0 ? (double)inq_lower_median_i64(sums, n)
                                                       : mean / (double)n;
    return usual > 0.0 && own > 0 ? (double)own / usual : 1.0;
}

static void scale_rank(struct fix_step *job, size_t rank, double factor)
{
    for (size_t i = 0; i < job->n_ops; i++) {
        struct fix_op *op = &job->ops[i];
        if (op->op.rank == (int32_t)rank && op->place == FIX_PLACE_GPU &&
            op->op.cls != INQ_CLASS_COMM) {
            op->dur_ns = inq_fix_scaled(op->dur_ns, factor);
        }
    }
}

int inq_fix_swap_ranks(struct fix_step *job, const struct fix_args *args, struct fix_notes *said,
                       struct inq_err *err)
{
    uint8_t *chosen = NULL;
    size_t n = 0;
    int64_t *sums = inq_mem_alloc((job->n_ranks + 1) * sizeof *sums);
    int code = choose_ranks(job, args, &chosen, &n, err);
    if (sums == NULL) {
        code = inq_fix_no_memory(err);
    }
    if (code == INQ_OK && n != 2) {
        code = inq_err_set(err, INQ_USAGE, "swap-ranks takes two ranks: swap-ranks:A,B");
    }
    if (code == INQ_OK && job->n_stages < 2) {
        code = inq_err_set(err, INQ_UNSUPPORTED,
                           "without pipeline stages all places are alike: a swap changes nothing");
    }
    if (code == INQ_OK) {
        size_t a = 0;
        while (!chosen[a]) {
            a++;
        }
        size_t b = a + 1;
        while (!chosen[b]) {
            b++;
        }
        double pace_a = pace_of(job, a, sums);
        double pace_b = pace_of(job, b, sums);
        scale_rank(job, a, pace_b / pace_a);
        scale_rank(job, b, pace_a / pace_b);
        inq_fix_note(said,
                     "the GPU of rank %d (pace %.2f, stage %d) and that of rank %d (pace %.2f, "
                     "stage %d) change places",
                     job->ranks[a].number, pace_a, job->ranks[a].stage, job->ranks[b].number,
                     pace_b, job->ranks[b].stage);
    }
    inq_mem_free(sums);
    inq_mem_free(chosen);
    return code;
}
