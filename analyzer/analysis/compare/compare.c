/* SPDX-License-Identifier: Apache-2.0 */
/* What the new run's step should take, what it takes, and why. */
#include "analysis/compare/compare.h"

#include "analysis/check/check.h"
#include "base/arena.h"
#include "base/mem.h"
#include "base/sort.h"
#include "base/stats.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static int no_memory(struct inq_err *err)
{
    return inq_err_set(err, INQ_NOMEM, "no memory for a comparison");
}

/* ---- the runs --------------------------------------------------------------------------------*/

/* Around the mean of whole periods: how many of the long steps that recur a recording holds is
 * chance, too. */
static int set_interval(const struct inq_run_record *p, struct inq_compared_run *run,
                        struct inq_err *err)
{
    size_t period;
    struct inq_measure median;
    struct inq_measure mean = inq_measure_of_mean(p->step_ns, p->step_at, p->n_steps, &period);
    int code = inq_measure_of_steps(p->step_ns, p->n_steps, &median, err);
    run->median_ns = code == INQ_OK && p->n_steps > 0 ? (int64_t)median.value : 0;
    run->step_low = isfinite(mean.low) ? fmin(mean.low, (double)run->step_ns) : mean.low;
    run->step_high = isfinite(mean.high) ? fmax(mean.high, (double)run->step_ns) : mean.high;
    return code;
}

/* Waiting and transfers are the sums over the classes as they are shown: rounded down one by one,
 * so that all tables add up. */
static int fill_run(const struct inq_run_record *p, struct inq_compared_run *run,
                    struct inq_err *err)
{
    const struct inq_trace *trace = p->report->trace;
    run->name = trace->name;
    run->ranks = p->world;
    for (size_t r = 0; r < p->n_ranks; r++) {
        run->ranks_seen += p->ranks[r].steps > 0;
    }
    run->steps = p->n_steps;
    run->warm_up = p->n_warm_up;
    run->outliers = p->n_outliers;
    run->damaged = p->n_damaged;
    run->missing = p->n_missing;
    if (p->report->trace->reduced != NULL) {
        run->kept = (struct inq_kept_steps){p->report->trace->reduced->n_whole,
                                            p->report->trace->reduced->n_steps};
    }
    run->device = p->device;
    for (int part = 0; part < INQ_STEP_PART_COUNT; part++) {
        run->part_ns[part] = inq_per_cell(p, p->part_ns[part]);
    }
    run->part_ns[INQ_PART_TRANSFER] = 0;
    run->part_ns[INQ_PART_WAITING] = 0;
    for (size_t i = 0; i < p->n_classes; i++) {
        run->part_ns[INQ_PART_TRANSFER] += inq_per_cell(p, p->classes[i].exposed_ns);
        run->part_ns[INQ_PART_WAITING] += inq_per_cell(p, p->classes[i].wait_ns);
    }
    run->step_ns = 0;
    for (int part = 0; part < INQ_STEP_PART_COUNT; part++) {
        run->step_ns += run->part_ns[part];
    }
    return set_interval(p, run, err);
}

/* ---- the work --------------------------------------------------------------------------------*/

/* Compute within this factor of what a kind of scaling lets expect is that kind. */
static const double NEAR = 1.2;

static bool is_near(double ratio, double expected)
{
    return ratio <= expected * NEAR && ratio >= expected / NEAR;
}

static void infer_work(struct inq_comparison *c)
{
    double n1 = c->run[0].ranks;
    double n2 = c->run[1].ranks;
    double base = (double)c->run[0].part_ns[INQ_PART_COMPUTE];
    double ratio = base > 0.0 ? (double)c->run[1].part_ns[INQ_PART_COMPUTE] / base : (double)NAN;
    double strong = n1 / n2;
    bool weak_is_nearer = fabs(log(ratio)) <= fabs(log(ratio / strong));
    if (isfinite(ratio) && is_near(ratio, weak_is_nearer ? 1.0 : strong)) {
        c->scaling = weak_is_nearer ? INQ_SCALING_WEAK : INQ_SCALING_STRONG;
        c->work = weak_is_nearer ? 1.0 : strong;
        c->work_how = inq_arena_asprintf(
            c->arena,
            weak_is_nearer
                ? "Traces do not say how many samples a step has. Each rank computes %.2f times as "
                  "long as before, so the same work per rank was taken for granted (weak scaling)."
                : "Traces do not say how many samples a step has. Each rank computes %.2f times as "
                  "long as before, so the same work in all was taken for granted (strong scaling).",
            ratio);
        return;
    }
    c->scaling = INQ_SCALING_OTHER;
    c->work = isfinite(ratio) ? ratio : 1.0;
    c->work_how = inq_arena_asprintf(
        c->arena,
        "Traces do not say how many samples a step has. Each rank computes %.2f times as long as "
        "before, which is neither weak nor strong scaling; that much work per rank was taken for "
        "granted, so that compute cannot show a loss. --samples would tell.",
        ratio);
}

/* The kind of scaling when a step has `more` times the samples. */
static enum inq_scaling scaling_of(double more, double n1, double n2)
{
    static const double same = 1e-6;
    bool strong = fabs(more - 1.0) < same;
    bool weak = fabs(more * n1 / n2 - 1.0) < same;
    return strong && weak ? INQ_SCALING_SAME
           : weak         ? INQ_SCALING_WEAK
           : strong       ? INQ_SCALING_STRONG
                          : INQ_SCALING_OTHER;
}

static void set_work(struct inq_comparison *c, const struct inq_run_record *p,
                     const struct inq_compare_options *options)
{
    char other[400];
    double n1 = c->run[0].ranks;
    double n2 = c->run[1].ranks;
    bool given = options->samples[0] > 0.0 && options->samples[1] > 0.0;
    c->work_given = given;
    c->other_work = "";
    if (given) {
        c->work = options->samples[1] / options->samples[0] * n1 / n2;
        c->scaling = scaling_of(options->samples[1] / options->samples[0], n1, n2);
        c->work_how = inq_arena_asprintf(
            c->arena, "Steps of %.10g and %.10g samples: %.4g times the work per rank.",
            options->samples[0], options->samples[1], c->work);
    } else if (c->run[0].ranks == c->run[1].ranks) {
        c->scaling = INQ_SCALING_SAME;
        c->work = 1.0;
        bool all_ranks = c->run[0].missing == 0 && c->run[1].missing == 0;
        bool whole = all_ranks && c->run[0].damaged == 0 && c->run[1].damaged == 0;
        c->work_how =
            whole ? "The number of ranks is the same: the work of a step is taken to be the same."
                  : "The number of ranks is the same: the work of a step is taken to be the same, "
                    "since "
                    "files are damaged or missing.";
        /* a rank without a trace does its work; steps that lack work are other steps, also where a
         * damaged file is why */
        if (all_ranks && inq_workload_differs(&p[1].work, &p[0].work, other, sizeof other)) {
            c->work_how = "The number of ranks is the same, but the work is not.";
            c->other_work = inq_arena_strdup(c->arena, other);
        }
    } else {
        infer_work(c);
    }
}

/* ---- losses ----------------------------------------------------------------------------------*/

static int64_t part_loss(const struct inq_comparison *c, enum inq_step_part part)
{
    return c->run[1].part_ns[part] - c->ideal_part_ns[part];
}

/* The parts of communication that collectives explain come from their classes. */
static void sum_losses(struct inq_comparison *c)
{
    c->loss_ns[INQ_LOSS_COMPUTE] = part_loss(c, INQ_PART_COMPUTE);
    c->loss_ns[INQ_LOSS_COMM_OTHER] = part_loss(c, INQ_PART_COMM_OTHER);
    c->loss_ns[INQ_LOSS_BUBBLE] = part_loss(c, INQ_PART_BUBBLE);
    c->loss_ns[INQ_LOSS_P2P] = part_loss(c, INQ_PART_P2P);
    c->loss_ns[INQ_LOSS_COPY] = part_loss(c, INQ_PART_COPY);
    c->loss_ns[INQ_LOSS_HOST] = part_loss(c, INQ_PART_HOST);
    c->loss_ns[INQ_LOSS_IDLE] = part_loss(c, INQ_PART_IDLE);
    for (size_t i = 0; i < c->n_colls; i++) {
        for (int loss = 0; loss < INQ_LOSS_COUNT; loss++) {
            c->loss_ns[loss] += c->colls[i].loss_ns[loss];
        }
    }
    c->loss_total_ns = 0;
    for (int loss = 0; loss < INQ_LOSS_COUNT; loss++) {
        c->loss_total_ns += c->loss_ns[loss];
    }
}

/* The ideal of transfers and waiting is that of the classes, rounded one by one like they are. */
static void set_ideal(struct inq_comparison *c)
{
    for (int part = 0; part < INQ_STEP_PART_COUNT; part++) {
        c->ideal_part_ns[part] = inq_ideal_ns(c, c->run[0].part_ns[part]);
    }
    c->ideal_part_ns[INQ_PART_TRANSFER] = 0;
    c->ideal_part_ns[INQ_PART_WAITING] = 0;
    for (size_t i = 0; i < c->n_colls; i++) {
        c->ideal_part_ns[INQ_PART_TRANSFER] += inq_ideal_ns(c, c->colls[i].exposed_ns[0]);
        c->ideal_part_ns[INQ_PART_WAITING] += inq_ideal_ns(c, c->colls[i].wait_ns[0]);
    }
    c->ideal_ns = 0;
    for (int part = 0; part < INQ_STEP_PART_COUNT; part++) {
        c->ideal_ns += c->ideal_part_ns[part];
    }
}

/* By how much one step of a run differs from its mean by chance, as its interval has it; of fewer
 * than three steps, which have none, by how much they differ. */
static double chance_of_step(const struct inq_run_record *p, const struct inq_compared_run *run)
{
    bool two = p->n_steps == 2;
    return isfinite(run->step_low)
               ? (run->step_high - run->step_low) / 2.0 * sqrt((double)p->n_steps)
           : two ? fabs((double)(p->step_ns[0] - p->step_ns[1]))
                 : 0.0;
}

/* What chance explains if nothing changed: then both runs are as steady as the steadier of the two.
 * Steps that only one of them loses are how it is, not chance. */
static double chance_of(const struct inq_comparison *c, const struct inq_run_record *p)
{
    double base = c->work * chance_of_step(&p[0], &c->run[0]);
    double now = chance_of_step(&p[1], &c->run[1]);
    return fmin(base, now) * sqrt(1.0 / (double)p[0].n_steps + 1.0 / (double)p[1].n_steps);
}

static void set_speeds(struct inq_comparison *c, const struct inq_run_record *p)
{
    double n = (double)c->run[1].ranks / (double)c->run[0].ranks;
    double t1 = (double)c->run[0].step_ns;
    double t2 = (double)c->run[1].step_ns;
    c->ideal_speedup = n;
    c->speedup = t2 > 0.0 ? c->work * n * t1 / t2 : (double)NAN;
    c->efficiency = t2 > 0.0 ? (double)c->ideal_ns / t2 : (double)NAN;
    c->chance_ns = chance_of(c, p);
}

/* Equal jobs differ by so much from run to run: what two runs cannot measure. A change of less is
 * told where the work itself changed, or where few ranks did by far more than that. */
static const double BETWEEN_RUNS = 0.03;
static const double LEAST_CHANGE = 0.01;
static const double FAR_MORE = 0.05;

/* Whether ranks run more or fewer kernels, or collectives move more or fewer bytes. */
static bool other_work(const struct inq_comparison *c)
{
    for (size_t i = 0; i < c->n_colls; i++) {
        const double *bytes = c->colls[i].bytes;
        const double *count = c->colls[i].count;
        bool more = isfinite(bytes[0]) && isfinite(bytes[1]) &&
                    fabs(bytes[1] - bytes[0]) > LEAST_CHANGE * fmax(bytes[0], bytes[1]);
        if (more || fabs(count[1] - count[0]) > LEAST_CHANGE * fmax(count[0], count[1])) {
            return true;
        }
    }
    double kernels[2] = {0.0, 0.0};
    for (size_t i = 0; i < c->n_kernels; i++) {
        kernels[0] += c->kernels[i].count[0];
        kernels[1] += c->kernels[i].count[1];
    }
    return fabs(kernels[1] - kernels[0]) > LEAST_CHANGE * fmax(kernels[0], kernels[1]);
}

/* Whether the main cause is of few ranks, and large. */
static bool stands_out(const struct inq_comparison *c)
{
    const struct inq_compared_cause *first = c->n_causes > 0 ? &c->causes[0] : NULL;
    return first != NULL && first->n_ranks > 0 && first->part > FAR_MORE;
}

static void decide_change(struct inq_comparison *c)
{
    double part = fabs((double)c->loss_total_ns) / (double)c->ideal_ns;
    bool chance = fabs((double)c->loss_total_ns) <= c->chance_ns;
    c->changed = !chance &&
                 (part > BETWEEN_RUNS || (part > LEAST_CHANGE && (other_work(c) || stands_out(c))));
}

static int64_t magnitude(int64_t ns)
{
    return ns < 0 ? -ns : ns;
}

/* ---- collectives -----------------------------------------------------------------------------*/

/* The first fifth of the compute is forward whatever the model: what is there moves no gradients.
 */
static const double LATE = 0.2;
static const double LARGE_BYTES = 1e6;

/* Whether every size is known; of a kind that does not occur there is none to know. */
static bool all_sized(const struct inq_record_coll *cls)
{
    return cls->sized == cls->count;
}

static bool are_gradients(const struct inq_record_coll *cls, double bytes_per_step)
{
    return (cls->kind == INQ_COLL_ALLREDUCE || cls->kind == INQ_COLL_REDUCE_SCATTER) &&
           strstr(cls->role, "TP") == NULL && cls->earliest > LATE &&
           (!all_sized(cls) || bytes_per_step > LARGE_BYTES);
}

static void fill_side(struct inq_compared_coll *coll, int side, const struct inq_record_coll *cls,
                      const struct inq_run_record *p)
{
    double n = (double)p->n_cells;
    coll->group_size[side] = cls->group_size;
    coll->count[side] = (double)cls->count / n;
    coll->bytes[side] = all_sized(cls) ? cls->bytes / n : (double)NAN;
    coll->busbw_gbps[side] = all_sized(cls) && cls->transfer_ns > 0
                                 ? cls->bus_bytes / (double)cls->transfer_ns
                                 : (double)NAN;
    coll->transfer_ns[side] = inq_per_cell(p, cls->transfer_ns);
    coll->exposed_ns[side] = inq_per_cell(p, cls->exposed_ns);
    coll->wait_ns[side] = inq_per_cell(p, cls->wait_ns);
}

/* X1 * V2/V1: the base's transfers if they moved the new run's bytes at the base's bandwidth. Where
 * only one of the runs has such collectives, all of it is bytes. */
static int64_t moved_ns(const struct inq_compared_coll *coll, const struct inq_record_coll *base,
                        const struct inq_record_coll *now, const struct inq_run_record *p)
{
    double v1 = base != NULL ? base->bus_bytes / (double)p[0].n_cells : 0.0;
    double v2 = now != NULL ? now->bus_bytes / (double)p[1].n_cells : 0.0;
    if (base == NULL || !(v1 > 0.0)) {
        return coll->transfer_ns[1];
    }
    return (int64_t)llround((double)coll->transfer_ns[0] * (v2 / v1));
}

static void fill_losses(const struct inq_comparison *c, struct inq_compared_coll *coll,
                        const struct inq_record_coll *base, const struct inq_record_coll *now,
                        const struct inq_run_record *p)
{
    bool sized = (base == NULL || all_sized(base)) && (now == NULL || all_sized(now));
    int64_t grown_ns = coll->exposed_ns[1] - inq_ideal_ns(c, coll->exposed_ns[0]);
    if (sized) {
        int64_t moved = moved_ns(coll, base, now, p);
        coll->loss_ns[INQ_LOSS_BYTES] = moved - inq_ideal_ns(c, coll->transfer_ns[0]);
        coll->loss_ns[INQ_LOSS_BANDWIDTH] = coll->transfer_ns[1] - moved;
        coll->loss_ns[INQ_LOSS_OVERLAP] =
            grown_ns - coll->loss_ns[INQ_LOSS_BYTES] - coll->loss_ns[INQ_LOSS_BANDWIDTH];
    } else {
        coll->loss_ns[INQ_LOSS_UNSIZED] = grown_ns;
    }
    coll->loss_ns[INQ_LOSS_WAITING] = coll->wait_ns[1] - inq_ideal_ns(c, coll->wait_ns[0]);
    coll->total_loss_ns = grown_ns + coll->loss_ns[INQ_LOSS_WAITING];
}

static const struct inq_record_coll *find_class(const struct inq_run_record *p,
                                                const struct inq_record_coll *like)
{
    for (size_t i = 0; i < p->n_classes; i++) {
        if (p->classes[i].kind == like->kind && strcmp(p->classes[i].role, like->role) == 0) {
            return &p->classes[i];
        }
    }
    return NULL;
}

/* `like` is the one of the two that is there. */
static int add_coll(struct inq_comparison *c, const struct inq_record_coll *like,
                    const struct inq_record_coll *base, const struct inq_record_coll *now,
                    const struct inq_run_record *p, struct inq_err *err)
{
    struct inq_compared_coll *coll = &c->colls[c->n_colls++];
    *coll = (struct inq_compared_coll){
        .name =
            inq_arena_asprintf(c->arena, "%s over %s", inq_coll_kind_text(like->kind), like->role),
        .group_size = {-1, -1},
        .bytes = {0.0, 0.0},
        .busbw_gbps = {(double)NAN, (double)NAN}};
    if (coll->name == NULL) {
        return no_memory(err);
    }
    if (base != NULL) {
        fill_side(coll, 0, base, &p[0]);
    }
    if (now != NULL) {
        fill_side(coll, 1, now, &p[1]);
    }
    coll->gradients = (base == NULL || are_gradients(base, coll->bytes[0])) &&
                      (now == NULL || are_gradients(now, coll->bytes[1]));
    fill_losses(c, coll, base, now, p);
    return INQ_OK;
}

static int by_coll_loss(const void *a, const void *b, void *ctx)
{
    int64_t x = magnitude(((const struct inq_compared_coll *)a)->total_loss_ns);
    int64_t y = magnitude(((const struct inq_compared_coll *)b)->total_loss_ns);
    (void)ctx;
    return (x < y) - (x > y);
}

static int compare_colls(struct inq_comparison *c, const struct inq_run_record *p,
                         struct inq_err *err)
{
    size_t most = p[0].n_classes + p[1].n_classes;
    int code = INQ_OK;
    c->colls = inq_arena_array(c->arena, most, sizeof *c->colls);
    if (c->colls == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0; code == INQ_OK && i < p[1].n_classes; i++) {
        code = add_coll(c, &p[1].classes[i], find_class(&p[0], &p[1].classes[i]), &p[1].classes[i],
                        p, err);
    }
    for (size_t i = 0; code == INQ_OK && i < p[0].n_classes; i++) {
        if (find_class(&p[1], &p[0].classes[i]) == NULL) {
            code = add_coll(c, &p[0].classes[i], &p[0].classes[i], NULL, p, err);
        }
    }
    return code == INQ_OK
               ? inq_sort(c->colls, c->n_colls, sizeof *c->colls, by_coll_loss, NULL, err)
               : code;
}

/* ---- kernels ---------------------------------------------------------------------------------*/

static void fill_kernel(struct inq_compared_kernel *kernel, int side,
                        const struct inq_record_kernel *cls, const struct inq_run_record *p)
{
    kernel->count[side] = (double)cls->count / (double)p->n_cells;
    kernel->ns[side] = inq_per_cell(p, cls->ns);
}

static int by_kernel_loss(const void *a, const void *b, void *ctx)
{
    int64_t x = magnitude(((const struct inq_compared_kernel *)a)->loss_ns);
    int64_t y = magnitude(((const struct inq_compared_kernel *)b)->loss_ns);
    (void)ctx;
    return (x < y) - (x > y);
}

/* Both lists are sorted by name. */
static int compare_kernels(struct inq_comparison *c, const struct inq_run_record *p,
                           struct inq_err *err)
{
    size_t most = p[0].n_kernels + p[1].n_kernels;
    c->kernels = inq_arena_array(c->arena, most, sizeof *c->kernels);
    if (c->kernels == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0, k = 0; i < p[0].n_kernels || k < p[1].n_kernels;) {
        int order = i == p[0].n_kernels   ? 1
                    : k == p[1].n_kernels ? -1
                                          : strcmp(p[0].kernels[i].name, p[1].kernels[k].name);
        struct inq_compared_kernel *kernel = &c->kernels[c->n_kernels++];
        kernel->name = order <= 0 ? p[0].kernels[i].name : p[1].kernels[k].name;
        if (order <= 0) {
            fill_kernel(kernel, 0, &p[0].kernels[i++], &p[0]);
        }
        if (order >= 0) {
            fill_kernel(kernel, 1, &p[1].kernels[k++], &p[1]);
        }
        kernel->loss_ns = kernel->ns[1] - inq_ideal_ns(c, kernel->ns[0]);
    }
    return inq_sort(c->kernels, c->n_kernels, sizeof *c->kernels, by_kernel_loss, NULL, err);
}

/* ---- findings --------------------------------------------------------------------------------*/

/* A cost that changes by less than this part of a step is the same. */
static const double SAME_SHARE = 0.01;

static const struct inq_finding *find_finding(const struct inq_report *report, const char *id)
{
    for (size_t i = 0; i < report->n_findings; i++) {
        if (strcmp(report->findings[i].id, id) == 0) {
            return &report->findings[i];
        }
    }
    return NULL;
}

static void add_finding(struct inq_comparison *c, enum inq_change change,
                        const struct inq_finding *base, const struct inq_finding *now)
{
    c->findings[c->n_findings++] =
        (struct inq_compared_finding){.change = change, .base = base, .now = now};
}

static void add_known(struct inq_comparison *c, const struct inq_finding *base,
                      const struct inq_finding *now)
{
    double more = now->share >= 0.0 && base->share >= 0.0 ? now->share - base->share : 0.0;
    if (now->severity > base->severity || more > SAME_SHARE) {
        add_finding(c, INQ_CHANGE_WORSE, base, now);
    } else if (now->severity < base->severity || more < -SAME_SHARE) {
        add_finding(c, INQ_CHANGE_BETTER, base, now);
    }
}

static int compare_findings(struct inq_comparison *c, const struct inq_run_record *p,
                            struct inq_err *err)
{
    const struct inq_report *base = p[0].report;
    const struct inq_report *now = p[1].report;
    c->findings =
        inq_arena_array(c->arena, base->n_findings + now->n_findings, sizeof *c->findings);
    if (c->findings == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0; i < now->n_findings; i++) {
        const struct inq_finding *known = find_finding(base, now->findings[i].id);
        if (known == NULL) {
            add_finding(c, INQ_CHANGE_NEW, NULL, &now->findings[i]);
        } else {
            add_known(c, known, &now->findings[i]);
        }
    }
    for (size_t i = 0; i < base->n_findings; i++) {
        if (find_finding(now, base->findings[i].id) == NULL) {
            add_finding(c, INQ_CHANGE_GONE, &base->findings[i], NULL);
        }
    }
    return INQ_OK;
}

/* ---- ranks ----------------------------------------------------------------------------------
 *
 * Who computes longer: rank by rank where both runs have the same ranks, else stage by stage. */

static int by_loss(const void *a, const void *b, void *ctx)
{
    int64_t x = ((const struct inq_compared_rank *)a)->loss_ns;
    int64_t y = ((const struct inq_compared_rank *)b)->loss_ns;
    (void)ctx;
    x = x < 0 ? -x : x;
    y = y < 0 ? -y : y;
    return (x < y) - (x > y);
}

static void add_rank(struct inq_comparison *c, int32_t rank, int32_t stage, int64_t base_ns,
                     int64_t now_ns)
{
    c->compared[c->n_compared++] =
        (struct inq_compared_rank){.rank = rank,
                                   .stage = stage,
                                   .ns = {base_ns, now_ns},
                                   .loss_ns = now_ns - inq_ideal_ns(c, base_ns)};
}

/* Compute per step that counts; -1: none does. */
static int64_t compute_ns(const struct inq_record_rank *rank)
{
    return rank->steps > 0 ? rank->part_ns[INQ_PART_COMPUTE] / (int64_t)rank->steps : -1;
}

/* Ranks of a trace are sorted by number. */
static void by_rank(struct inq_comparison *c, const struct inq_run_record *p)
{
    size_t i = 0;
    for (size_t k = 0; k < p[1].n_ranks; k++) {
        const struct inq_record_rank *now = &p[1].ranks[k];
        while (i < p[0].n_ranks && p[0].ranks[i].rank < now->rank) {
            i++;
        }
        if (i < p[0].n_ranks && p[0].ranks[i].rank == now->rank && now->rank >= 0 &&
            p[0].ranks[i].steps > 0 && now->steps > 0) {
            add_rank(c, now->rank, now->stage, compute_ns(&p[0].ranks[i]), compute_ns(now));
        }
    }
}

/* Mean of the stage's ranks; -1: it has none. */
static int64_t stage_ns(const struct inq_run_record *p, int32_t stage)
{
    int64_t sum = 0;
    int64_t n = 0;
    for (size_t r = 0; r < p->n_ranks; r++) {
        bool of_it = p->ranks[r].stage == stage && p->ranks[r].steps > 0;
        sum += of_it ? compute_ns(&p->ranks[r]) : 0;
        n += of_it;
    }
    return n > 0 ? sum / n : -1;
}

static int32_t n_stages(const struct inq_run_record *p)
{
    int32_t last = -1;
    for (size_t r = 0; r < p->n_ranks; r++) {
        last = p->ranks[r].stage > last ? p->ranks[r].stage : last;
    }
    return last + 1;
}

static void by_stage(struct inq_comparison *c, const struct inq_run_record *p, int32_t stages)
{
    for (int32_t s = 0; s < stages; s++) {
        int64_t base_ns = stage_ns(&p[0], s);
        int64_t now_ns = stage_ns(&p[1], s);
        if (base_ns >= 0 && now_ns >= 0) {
            add_rank(c, -1, s, base_ns, now_ns);
        }
    }
}

static int compare_ranks(struct inq_comparison *c, const struct inq_run_record *p,
                         struct inq_err *err)
{
    int32_t stages = n_stages(&p[0]);
    bool same_ranks = c->run[0].ranks == c->run[1].ranks;
    bool same_stages = stages > 1 && stages == n_stages(&p[1]);
    size_t most = p[1].n_ranks + (size_t)stages;
    c->compared = inq_arena_array(c->arena, most, sizeof *c->compared);
    if (c->compared == NULL) {
        return no_memory(err);
    }
    if (same_ranks) {
        by_rank(c, p);
    } else if (same_stages) {
        by_stage(c, p, stages);
    }
    return inq_sort(c->compared, c->n_compared, sizeof *c->compared, by_loss, NULL, err);
}

/* ---- all -------------------------------------------------------------------------------------*/

static int fill(struct inq_comparison *c, const struct inq_run_record *p,
                struct inq_report *const reports[2], const struct inq_compare_options *options,
                struct inq_err *err)
{
    int code = INQ_OK;
    for (int i = 0; code == INQ_OK && i < 2; i++) {
        code = fill_run(&p[i], &c->run[i], err);
    }
    set_work(c, p, options);
    code = code == INQ_OK ? compare_colls(c, p, err) : code;
    if (code != INQ_OK) {
        return code;
    }
    set_ideal(c);
    sum_losses(c);
    set_speeds(c, p);
    code = compare_kernels(c, p, err);
    code = code == INQ_OK ? compare_ranks(c, p, err) : code;
    code = code == INQ_OK ? compare_findings(c, p, err) : code;
    code = code == INQ_OK ? inq_compare_causes(c, p, reports, err) : code;
    if (code == INQ_OK) {
        decide_change(c);
        if (c->other_work != NULL) {
            inq_compare_sentence(c);
        }
        if (c->headline == NULL || c->reason == NULL || c->work_how == NULL) {
            code = no_memory(err);
        }
    }
    return code;
}

int inq_compare_runs(struct inq_report *base, struct inq_report *now,
                     const struct inq_compare_options *options, struct inq_comparison **comparison,
                     struct inq_err *err)
{
    static const struct inq_compare_options defaults;
    const struct inq_compare_options *how = options != NULL ? options : &defaults;
    struct inq_report *const reports[2] = {base, now};
    struct inq_run_record record[2] = {{0}, {0}};
    struct inq_arena *arena = inq_mem_zalloc(1, sizeof *arena);
    struct inq_comparison *made = arena != NULL ? inq_arena_alloc(arena, sizeof *made) : NULL;
    *comparison = NULL;
    if (made == NULL) {
        inq_mem_free(arena);
        return inq_err_set(err, INQ_NOMEM, "no memory for a comparison");
    }
    made->arena = arena;
    int code = inq_run_record_build(base, &record[0], err);
    if (code == INQ_OK) {
        code = inq_run_record_build(now, &record[1], err);
    }
    if (code == INQ_OK) {
        code = fill(made, record, reports, how, err);
    }
    inq_run_record_release(&record[0]);
    inq_run_record_release(&record[1]);
    if (code != INQ_OK) {
        inq_comparison_free(made);
        return code;
    }
    *comparison = made;
    return INQ_OK;
}

void inq_comparison_free(struct inq_comparison *comparison)
{
    if (comparison == NULL) {
        return;
    }
    struct inq_arena *arena = comparison->arena; /* holds the comparison itself */
    inq_arena_release(arena);
    inq_mem_free(arena);
}
