/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives, kernels, findings and ranks of the two runs, side by side. */
#include "analysis/compare/compare.h"

#include "base/arena.h"
#include "base/sort.h"

#include <math.h>
#include <string.h>

static int no_memory(struct inq_err *err)
{
    return inq_err_set(err, INQ_NOMEM, "no memory for a comparison");
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

int inq_compare_colls(struct inq_comparison *c, const struct inq_run_record *p, struct inq_err *err)
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
int inq_compare_kernels(struct inq_comparison *c, const struct inq_run_record *p,
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

int inq_compare_findings(struct inq_comparison *c, const struct inq_run_record *p,
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

int inq_compare_ranks(struct inq_comparison *c, const struct inq_run_record *p, struct inq_err *err)
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
