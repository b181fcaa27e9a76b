/* SPDX-License-Identifier: Apache-2.0 */
/* Fixes of the gradient sync: beside the backward, in buckets of another size. */
#include "fix/spec.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/stats.h"
#include "graph/optable/optable.h"

#include <inttypes.h>
#include <string.h>

/* What a collective costs whatever its size. */
static const double usual_latency_us = 20.0;

struct grads {
    struct fix_step *job;
    int64_t buckets;
    double contention, latency_us;
    uint32_t *last;  /* [n_ops] of a sync: last compute op of its stage; INQ_NONE */
    uint32_t *syncs; /* [n_ops] of a compute op: how many syncs have it as last */
    uint32_t *parts; /* [n_ops] */
    uint32_t *first; /* [n_ops] */
    struct inq_err *err;
};

/* ---- costs ----------------------------------------------------------------------------------- */

/* ---- cutting --------------------------------------------------------------------------------- */

/* Group of the k-th part: parts of one group follow each other. */
static int number_groups(const struct fix_step *job, const uint32_t *parts, uint32_t *group,
                         size_t *n_groups, struct inq_err *err)
{
    uint32_t *n_parts = inq_mem_zalloc(job->n_groups + 1, sizeof *n_parts);
    if (n_parts == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for a fix");
    }
    for (size_t i = 0; i < job->n_ops; i++) {
        if (job->ops[i].group != INQ_NONE) {
            uint32_t *own = &n_parts[job->ops[i].group];
            *own = parts[i] > *own ? parts[i] : *own;
        }
    }
    *n_groups = 0;
    for (size_t g = 0; g < job->n_groups; g++) {
        group[g] = (uint32_t)*n_groups;
        *n_groups += n_parts[g];
    }
    inq_mem_free(n_parts);
    return INQ_OK;
}

static int cut_op(struct fix_step *to, const struct fix_op *whole, uint32_t n, uint32_t group,
                  struct inq_err *err)
{
    int code = INQ_OK;
    for (uint32_t k = 0; code == INQ_OK && k < n; k++) {
        struct fix_op part = *whole;
        int64_t parts = (int64_t)n;
        part.dur_ns = whole->dur_ns * (int64_t)(k + 1) / parts - whole->dur_ns * (int64_t)k / parts;
        part.delay_ns = k == 0 ? whole->delay_ns : 0;
        part.group = whole->group != INQ_NONE ? group + k : INQ_NONE;
        part.bytes = whole->bytes > 0 ? whole->bytes / parts : whole->bytes;
        part.slot = n > 1 ? INQ_NONE : whole->slot;
        code = inq_fix_step_add(to, &part, NULL, err);
        /* where no lane orders them */
        if (code == INQ_OK && k > 0 && part.op.lane == INQ_NONE) {
            code = inq_fix_step_edge(to, (uint32_t)to->n_ops - 2, (uint32_t)to->n_ops - 1, err);
        }
    }
    return code;
}

/* Cuts op i into parts[i] ops one after the other (1: as it is) that share its time evenly; members
 * of a group are cut alike, and the k-th parts form a group. What waited for the op waits for its
 * last part; the first waits for what the op waited for. first[i] gets the index of its first part.
 */
static int cut_ops(struct fix_step *job, const uint32_t *parts, uint32_t *first,
                   struct inq_err *err)
{
    struct fix_step to = *job;
    uint32_t *group = inq_mem_zalloc(job->n_groups + 1, sizeof *group);
    to.ops = NULL;
    to.edges = NULL;
    to.n_ops = to.cap_ops = to.n_edges = to.cap_edges = 0;
    int code = group != NULL ? number_groups(job, parts, group, &to.n_groups, err)
                             : inq_err_set(err, INQ_NOMEM, "out of memory for a fix");
    for (size_t i = 0; code == INQ_OK && i < job->n_ops; i++) {
        const struct fix_op *op = &job->ops[i];
        first[i] = (uint32_t)to.n_ops;
        code = cut_op(&to, op, parts[i], op->group != INQ_NONE ? group[op->group] : INQ_NONE, err);
    }
    for (size_t e = 0; code == INQ_OK && e < job->n_edges; e++) {
        struct inq_edge edge = job->edges[e];
        code = inq_fix_step_edge(&to, first[edge.before] + parts[edge.before] - 1,
                                 first[edge.after], err);
    }
    inq_mem_free(group);
    inq_mem_free(code == INQ_OK ? job->ops : to.ops);
    inq_mem_free(code == INQ_OK ? job->edges : to.edges);
    if (code == INQ_OK) {
        *job = to;
    }
    return code;
}

/* Median of the ops for which `counts`; 0: there are none. */
static int median_of(const struct fix_step *job, bool (*counts)(const struct fix_op *op),
                     bool bytes, int64_t *median, struct inq_err *err)
{
    int64_t *values = inq_mem_alloc((job->n_ops + 1) * sizeof *values);
    size_t n = 0;
    if (values == NULL) {
        return inq_fix_no_memory(err);
    }
    for (size_t i = 0; i < job->n_ops; i++) {
        if (counts(&job->ops[i])) {
            values[n++] = bytes ? job->ops[i].bytes : job->ops[i].dur_ns;
        }
    }
    *median = n > 0 ? inq_lower_median_i64(values, n) : 0;
    inq_mem_free(values);
    return INQ_OK;
}

/* What a gradient collective takes whatever its size, by one of the usual size and `share` of it.
 */
static int find_latency(struct grads *g, bool (*counts)(const struct fix_op *op), double share)
{
    struct fix_step *job = g->job;
    struct fix_need need = {.cost = FIX_COST_LATENCY, .assumed = g->latency_us, .share = share};
    uint32_t group = INQ_NONE;
    for (size_t i = 0; i < job->n_ops; i++) {
        const struct fix_op *op = &job->ops[i];
        group = group == INQ_NONE && counts(op) ? op->group : group;
        need.members += group != INQ_NONE && op->group == group;
    }
    int code = median_of(job, counts, false, &need.dur_ns, g->err);
    if (code == INQ_OK) {
        code = median_of(job, counts, true, &need.bytes, g->err);
    }
    if (code == INQ_OK && need.dur_ns > 0 && need.members > 1) {
        g->latency_us = inq_fix_assume(job, &need);
    }
    return code;
}

static bool is_last_backward(const struct fix_op *op)
{
    return op->op.type == INQ_OP_BACKWARD || op->op.type == INQ_OP_BACKWARD_WEIGHT ||
           op->op.type == INQ_OP_BACKWARD_INPUT;
}

static int find_contention(struct grads *g)
{
    struct fix_need need = {
        .cost = FIX_COST_CONTENTION, .assumed = g->contention, .share = 1.0, .bytes = -1};
    int code = median_of(g->job, is_last_backward, false, &need.dur_ns, g->err);
    if (code == INQ_OK && need.dur_ns > 0) {
        g->contention = inq_fix_assume(g->job, &need);
    }
    return code;
}

/* ---- overlapped ------------------------------------------------------------------------------ */

/* Labeled, or known by its group, kind and stage: that of a schedule. */
static bool is_grads(const struct fix_op *op)
{
    bool reduces = op->coll == INQ_COLL_ALLREDUCE || op->coll == INQ_COLL_REDUCE_SCATTER;
    return op->op.type == INQ_OP_GRADS_REDUCE_SCATTER ||
           (op->op.type == INQ_OP_NONE && reduces && op->group != INQ_NONE && op->op.stage >= 0);
}

/* Whether a rank computes on when it has issued a sync: then that is overlapped. */
static int find_overlapped(const struct fix_step *job, bool *overlapped, struct inq_err *err)
{
    uint32_t *last = inq_mem_zalloc(job->n_ranks + 1, sizeof *last); /* compute of the rank */
    if (last == NULL) {
        return inq_fix_no_memory(err);
    }
    *overlapped = false;
    for (size_t i = 0; i < job->n_ops; i++) {
        const struct fix_op *op = &job->ops[i];
        last[op->op.rank] = inq_op_is_compute(op->op.type) ? (uint32_t)i : last[op->op.rank];
        /* of a step whose gradients are reduced beside the backward */
        *overlapped = *overlapped || op->op.type == INQ_OP_SEPARATE_GRADS_ALL_REDUCE;
    }
    for (size_t e = 0; e < job->n_edges; e++) {
        uint32_t before = job->edges[e].before;
        const struct fix_op *sync = &job->ops[job->edges[e].after];
        bool untyped = is_grads(sync) && sync->op.type == INQ_OP_NONE;
        *overlapped = *overlapped || (untyped && inq_op_is_compute(job->ops[before].op.type) &&
                                      before < last[sync->op.rank]);
    }
    inq_mem_free(last);
    return INQ_OK;
}

static int check(const struct fix_step *job, struct inq_err *err)
{
    size_t n = 0;
    bool labeled = false;
    bool overlapped = false;
    int code = find_overlapped(job, &overlapped, err);
    for (size_t i = 0; code == INQ_OK && i < job->n_ops; i++) {
        labeled = labeled || inq_op_is_compute(job->ops[i].op.type);
        n += is_grads(&job->ops[i]);
    }
    if (code != INQ_OK) {
        return code;
    }
    if (!labeled) {
        return inq_err_set(err, INQ_UNSUPPORTED,
                           "only labeled ops show where the backward begins; bucket-size "
                           "changes the collectives that there are");
    }
    if (overlapped) {
        return inq_err_set(err, INQ_UNSUPPORTED, "the gradient sync is overlapped already");
    }
    return n > 0 ? INQ_OK : inq_err_set(err, INQ_UNSUPPORTED, "no gradient sync is recorded");
}

static uint64_t key_of(const struct fix_op *op)
{
    return (uint64_t)(uint32_t)op->op.rank << 32 | (uint32_t)op->op.stage;
}

/* What each sync waits for: the last compute of its stage. */
static int find_last(struct grads *g)
{
    struct inq_map of_stage = {0};
    int code = INQ_OK;
    memset(g->last, 0xff, g->job->n_ops * sizeof *g->last);
    memset(g->syncs, 0, g->job->n_ops * sizeof *g->syncs);
    for (size_t i = 0; code == INQ_OK && i < g->job->n_ops; i++) {
        const struct fix_op *op = &g->job->ops[i];
        if (inq_op_is_compute(op->op.type)) {
            code = inq_map_put(&of_stage, key_of(op), (uint32_t)i, g->err);
        }
    }
    for (size_t i = 0; code == INQ_OK && i < g->job->n_ops; i++) {
        if (is_grads(&g->job->ops[i]) &&
            inq_map_get(&of_stage, key_of(&g->job->ops[i]), &g->last[i])) {
            g->syncs[g->last[i]]++;
        }
    }
    inq_map_release(&of_stage);
    return code;
}

/* How many syncs a rank has; all ranks alike, or 0. */
static size_t syncs_per_rank(const struct fix_step *job)
{
    size_t n = 0;
    for (size_t i = 0; i < job->n_ops; i++) {
        n += is_grads(&job->ops[i]);
    }
    return n % job->n_ranks == 0 ? n / job->n_ranks : 0;
}

/* The chain that a sync stood in closes behind it. */
static int bridge(struct fix_step *job, uint32_t sync_first, uint32_t sync_last, size_t n_edges,
                  struct inq_err *err)
{
    int code = INQ_OK;
    for (size_t a = 0; code == INQ_OK && a < n_edges; a++) {
        if (job->edges[a].after != sync_first) {
            continue;
        }
        uint32_t before = job->edges[a].before;
        for (size_t b = 0; code == INQ_OK && b < n_edges; b++) {
            if (job->edges[b].before == sync_last) {
                code = inq_fix_step_edge(job, before, job->edges[b].after, err);
            }
        }
    }
    return code;
}

/* Drops the edges into the first part of every sync. `is_first[op]`: it is one. */
static void free_syncs(struct fix_step *job, const uint8_t *is_first)
{
    size_t n = 0;
    for (size_t e = 0; e < job->n_edges; e++) {
        if (!is_first[job->edges[e].after]) {
            job->edges[n++] = job->edges[e];
        }
    }
    job->n_edges = n;
}

/* After the cut: part k of each sync waits for part k of its rank's last compute. */
static int reconnect(struct grads *g, size_t n_before, struct inq_err *err)
{
    struct fix_step *job = g->job;
    uint8_t *is_first = inq_mem_zalloc(job->n_ops + 1, 1);
    uint32_t *nth = inq_mem_zalloc(n_before + 1, sizeof *nth);
    int code = is_first != NULL && nth != NULL ? INQ_OK : inq_fix_no_memory(err);
    size_t n_edges = job->n_edges;
    for (size_t i = 0; code == INQ_OK && i < n_before; i++) {
        uint32_t from = g->first[i];
        if (is_grads(&job->ops[from])) {
            is_first[from] = 1;
            code = bridge(job, from, from + g->parts[i] - 1, n_edges, err);
        }
    }
    if (code == INQ_OK) {
        free_syncs(job, is_first);
    }
    for (size_t i = 0; code == INQ_OK && i < n_before; i++) {
        uint32_t from = g->first[i];
        uint32_t last = g->last[i];
        if (last == INQ_NONE) {
            continue;
        }
        job->ops[from].delay_ns = 0;
        for (uint32_t k = 0; code == INQ_OK && k < g->parts[i]; k++) {
            uint32_t part = nth[last]++;
            part = part < g->parts[last] ? part : g->parts[last] - 1;
            job->ops[from + k].dur_ns +=
                k > 0 ? (int64_t)(g->latency_us * 1000.0) : 0; /* one more collective */
            code = inq_fix_step_edge(job, g->first[last] + part, from + k, err);
        }
    }
    inq_mem_free(is_first);
    inq_mem_free(nth);
    return code;
}

/* All of the last backward after its first part shares the GPU with the sync. */
static void slow_down(const struct grads *g, size_t n_before)
{
    for (size_t i = 0; i < n_before; i++) {
        for (uint32_t k = 1; g->syncs[i] > 0 && k < g->parts[i]; k++) {
            struct fix_op *op = &g->job->ops[g->first[i] + k];
            op->dur_ns = inq_fix_scaled(op->dur_ns, 1.0 + g->contention);
        }
    }
}

/* Several syncs of a stage are its buckets; one is divided into them. */
static int overlap(struct grads *g)
{
    struct fix_step *job = g->job;
    size_t n_before = job->n_ops;
    int code = find_last(g);
    for (size_t i = 0; code == INQ_OK && i < job->n_ops; i++) {
        uint32_t syncs = g->last[i] != INQ_NONE ? g->syncs[g->last[i]] : g->syncs[i];
        bool cut = g->last[i] != INQ_NONE ? syncs == 1 : syncs > 0;
        g->parts[i] = !cut ? 1 : syncs > 1 ? syncs : (uint32_t)g->buckets;
    }
    if (code == INQ_OK) {
        code = cut_ops(job, g->parts, g->first, g->err);
    }
    if (code == INQ_OK) {
        code = reconnect(g, n_before, g->err);
    }
    if (code == INQ_OK) {
        slow_down(g, n_before);
    }
    return code;
}

static int alloc_grads(struct grads *g)
{
    g->last = inq_mem_alloc((g->job->n_ops + g->job->n_ranks + 1) * sizeof *g->last);
    g->syncs = inq_mem_alloc((g->job->n_ops + 1) * sizeof *g->syncs);
    g->parts = inq_mem_alloc((g->job->n_ops + 1) * sizeof *g->parts);
    g->first = inq_mem_alloc((g->job->n_ops + 1) * sizeof *g->first);
    return g->last != NULL && g->syncs != NULL && g->parts != NULL && g->first != NULL
               ? INQ_OK
               : inq_fix_no_memory(g->err);
}

static void release_grads(struct grads *g)
{
    inq_mem_free(g->last);
    inq_mem_free(g->syncs);
    inq_mem_free(g->parts);
    inq_mem_free(g->first);
}

int inq_fix_overlap_grads(struct fix_step *job, const struct fix_args *args, struct fix_notes *said,
                          struct inq_err *err)
{
    struct grads g = {
        .job = job, .buckets = 8, .contention = 0.05, .latency_us = usual_latency_us, .err = err};
    int code = inq_fix_integer(args, "buckets", 1, 1024, &g.buckets, err);
    if (code == INQ_OK) {
        code = inq_fix_number(args, "contention", 0.0, 10.0, &g.contention, err);
    }
    if (code == INQ_OK) {
        code = inq_fix_number(args, "latency", 0.0, 1e6, &g.latency_us, err);
    }
    if (code == INQ_OK) {
        code = check(job, err);
    }
    if (code == INQ_OK && g.buckets == 1) {
        inq_fix_note(said, "one bucket is ready when the backward is: nothing overlaps");
        return INQ_OK;
    }
    if (code == INQ_OK) {
        size_t syncs = syncs_per_rank(job);
        code = find_contention(&g);
        if (code == INQ_OK) {
            code = find_latency(&g, is_grads, 1.0 / (double)(syncs > 1 ? 2 : g.buckets));
        }
        if (code != INQ_OK) {
            return code;
        }
        code = syncs > 0 ? alloc_grads(&g)
                         : inq_err_set(err, INQ_UNSUPPORTED,
                                       "the ranks' gradient syncs are not alike in number");
        if (code == INQ_OK) {
            code = overlap(&g);
            inq_fix_note(said,
                         "gradients reduced in %" PRId64
                         " buckets overlapped with the last backward, which "
                         "takes %.0f %% longer then",
                         syncs > 1 ? (int64_t)syncs : g.buckets, 100.0 * g.contention);
        }
    }
    release_grads(&g);
    return code;
}

/* ---- bucket size ----------------------------------------------------------------------------- */

/* Collectives of one kind that follow each other on a lane of a rank. */
static bool same_run(const struct fix_op *a, const struct fix_op *b)
{
    return a->op.rank == b->op.rank && a->op.lane == b->op.lane && a->coll == b->coll &&
           a->op.type == b->op.type;
}

static bool reduces(const struct fix_op *op)
{
    return op->coll == INQ_COLL_ALLREDUCE || op->coll == INQ_COLL_REDUCE_SCATTER;
}

static bool is_bucket(const struct fix_op *op)
{
    return op->group != INQ_NONE && op->place == FIX_PLACE_GPU && !op->early &&
           (reduces(op) || is_grads(op));
}

static bool is_compute(const struct fix_op *op)
{
    return op->place == FIX_PLACE_GPU && op->coll == INQ_COLL_UNKNOWN && op->group == INQ_NONE &&
           op->copy == 0;
}

/* A rank whose reductions among the same ranks begin in the first fifth of its compute, which is
 * forward whatever the model, reduces activations: they are what the next layer waits for, and
 * cannot be joined or divided. */
static int mark_early(struct fix_step *job, struct inq_err *err)
{
    static const double FORWARD = 0.2;
    struct inq_map known = {0};
    uint64_t *among = inq_mem_zalloc(job->n_groups + 1, sizeof *among);
    int64_t *left_ns = inq_mem_zalloc(2 * job->n_ranks + 1, sizeof *left_ns);
    int64_t *all_ns = left_ns != NULL ? left_ns + job->n_ranks : NULL;
    int code = among != NULL && left_ns != NULL ? INQ_OK : inq_fix_no_memory(err);
    for (size_t i = 0; code == INQ_OK && i < job->n_ops; i++) {
        const struct fix_op *op = &job->ops[i];
        left_ns[op->op.rank] += is_compute(op) ? op->dur_ns : 0;
        all_ns[op->op.rank] = left_ns[op->op.rank];
        if (op->group != INQ_NONE) {
            among[op->group] += inq_hash_u64((uint64_t)op->op.rank);
        }
    }
    for (size_t i = 0; code == INQ_OK && i < job->n_ops; i++) {
        struct fix_op *op = &job->ops[i];
        int32_t r = op->op.rank;
        uint32_t early = 0;
        left_ns[r] -= is_compute(op) ? op->dur_ns : 0;
        if (op->group != INQ_NONE && reduces(op)) {
            uint64_t key = inq_hash_u64(among[op->group] + ((uint64_t)(uint32_t)r << 8) + op->coll);
            if (!inq_map_get(&known, key, &early)) {
                early = (double)left_ns[r] > (1.0 - FORWARD) * (double)all_ns[r];
                code = inq_map_put(&known, key, early, err);
            }
        }
        op->early = early != 0;
    }
    inq_map_release(&known);
    inq_mem_free(among);
    inq_mem_free(left_ns);
    return code;
}

/* The buckets of a job in order; *n gets their number. NULL when memory is out. */
static uint32_t *list_buckets(const struct fix_step *job, size_t *n)
{
    uint32_t *list = inq_mem_alloc((job->n_ops + 1) * sizeof *list);
    *n = 0;
    for (size_t i = 0; list != NULL && i < job->n_ops; i++) {
        if (is_bucket(&job->ops[i])) {
            list[(*n)++] = (uint32_t)i;
        }
    }
    return list;
}

/* Each run of `times` collectives waits for the last one's data and takes the time of all, less the
 * latencies saved. */
static int merge(struct fix_step *job, int64_t times, int64_t latency_ns, size_t *merged,
                 struct inq_err *err)
{
    size_t n = 0;
    uint32_t *list = list_buckets(job, &n);
    uint8_t *taken = inq_mem_zalloc(n + 1, 1);
    for (size_t i = 0; list != NULL && taken != NULL && i < n; i++) {
        int64_t sum = 0;
        int64_t got = 0;
        uint32_t into = list[i];
        for (size_t k = i; !taken[i] && k < n && got < times; k++) {
            struct fix_op *op = &job->ops[list[k]];
            if (taken[k] || !same_run(&job->ops[list[i]], op)) {
                continue;
            }
            int64_t saved = k == i ? 0 : latency_ns;
            sum += op->dur_ns > saved ? op->dur_ns - saved : 0;
            *merged += k > i;
            taken[k] = k > i;
            into = list[k];
            op->dur_ns = 0;
            got++;
        }
        if (got > 0) {
            job->ops[into].dur_ns = sum;
        }
    }
    int code = list != NULL && taken != NULL ? INQ_OK : inq_fix_no_memory(err);
    inq_mem_free(list);
    inq_mem_free(taken);
    return code;
}

/* GPU compute that each op waited for, the latest in the list; INQ_NONE. */
static void find_producers(const struct fix_step *job, uint32_t *producer)
{
    memset(producer, 0xff, job->n_ops * sizeof *producer);
    for (size_t e = 0; e < job->n_edges; e++) {
        uint32_t before = job->edges[e].before;
        uint32_t *own = &producer[job->edges[e].after];
        bool counts =
            job->ops[before].op.cls == INQ_CLASS_COMPUTE && job->ops[before].place == FIX_PLACE_GPU;
        *own = counts && (*own == INQ_NONE || before > *own) ? before : *own;
    }
}

/* The compute op after which 1/n, 2/n .. of what came since the collective before is done. */
static uint32_t done_at(const struct fix_step *job, uint32_t from, uint32_t to, int64_t k,
                        int64_t n)
{
    int64_t total = 0;
    int64_t sum = 0;
    for (uint32_t i = from + 1; i <= to; i++) {
        bool same = job->ops[i].op.rank == job->ops[to].op.rank &&
                    job->ops[i].op.lane == job->ops[to].op.lane;
        total += same ? job->ops[i].dur_ns : 0;
    }
    for (uint32_t i = from + 1; i <= to; i++) {
        bool same = job->ops[i].op.rank == job->ops[to].op.rank &&
                    job->ops[i].op.lane == job->ops[to].op.lane;
        sum += same ? job->ops[i].dur_ns : 0;
        if (same && sum * n >= total * k) {
            return i;
        }
    }
    return to;
}

/* ready[i * n + k]: what part k of collective i waits for, INQ_NONE where that is not known. */
static void find_ready(const struct fix_step *job, int64_t n, const uint32_t *producers,
                       uint32_t *ready, uint32_t *before)
{
    memset(before, 0xff, job->n_ranks * sizeof *before);
    for (uint32_t i = 0; i < job->n_ops; i++) {
        const struct fix_op *op = &job->ops[i];
        if (!is_bucket(op)) {
            continue;
        }
        uint32_t producer = producers[i];
        uint32_t from = before[op->op.rank];
        for (int64_t k = 0; k < n; k++) {
            bool known = producer != INQ_NONE && from != INQ_NONE && from < producer;
            ready[i * (size_t)n + (size_t)k] =
                known ? done_at(job, from, producer, k + 1, n) : producer;
        }
        before[op->op.rank] = producer != INQ_NONE ? producer : from;
    }
}

/* What a collective waited for, its last part waits for now; the parts before wait for their own
 * share of the compute. */
static int wait_for_shares(struct grads *g, const uint32_t *ready, size_t n_before)
{
    struct fix_step *job = g->job;
    size_t n = (size_t)g->buckets;
    uint32_t *old = inq_mem_alloc((job->n_ops + 1) * sizeof *old);
    if (old == NULL) {
        return inq_fix_no_memory(g->err);
    }
    memset(old, 0xff, (job->n_ops + 1) * sizeof *old);
    for (size_t i = 0; i < n_before; i++) {
        old[g->first[i]] = g->parts[i] > 1 ? (uint32_t)i : INQ_NONE;
    }
    for (size_t e = 0; e < job->n_edges; e++) {
        struct inq_edge *edge = &job->edges[e];
        bool first = old[edge->after] != INQ_NONE && edge->before + 1 != edge->after;
        if (first && ready[(size_t)old[edge->after] * n] != INQ_NONE) {
            edge->after += (uint32_t)n - 1;
        }
    }
    int code = INQ_OK;
    for (size_t i = 0; code == INQ_OK && i < n_before; i++) {
        for (size_t k = 0; code == INQ_OK && g->parts[i] > 1 && k < n; k++) {
            uint32_t at = g->first[i] + (uint32_t)k;
            uint32_t wait = ready[i * n + k];
            job->ops[at].dur_ns += k > 0 ? (int64_t)(g->latency_us * 1000.0) : 0;
            if (wait != INQ_NONE) {
                code = inq_fix_step_edge(job, g->first[wait] + g->parts[wait] - 1, at, g->err);
            }
        }
    }
    inq_mem_free(old);
    return code;
}

static int split(struct grads *g, size_t *n_split)
{
    struct fix_step *job = g->job;
    size_t n = (size_t)g->buckets;
    size_t n_before = job->n_ops;
    uint32_t *ready = inq_mem_alloc((n_before * n + 1) * sizeof *ready);
    int code = ready != NULL ? alloc_grads(g) : inq_fix_no_memory(g->err);
    if (code == INQ_OK) {
        find_producers(job, g->first);
        find_ready(job, (int64_t)n, g->first, ready, g->last);
        for (size_t i = 0; i < n_before; i++) {
            g->parts[i] = is_bucket(&job->ops[i]) ? (uint32_t)n : 1;
            *n_split += g->parts[i] > 1;
        }
        code = cut_ops(job, g->parts, g->first, g->err);
    }
    if (code == INQ_OK) {
        code = wait_for_shares(g, ready, n_before);
    }
    inq_mem_free(ready);
    release_grads(g);
    return code;
}

int inq_fix_bucket_size(struct fix_step *job, const struct fix_args *args, struct fix_notes *said,
                        struct inq_err *err)
{
    struct grads g = {.job = job, .latency_us = usual_latency_us, .err = err};
    double factor = 1.0;
    size_t changed = 0;
    int code = inq_fix_number(args, "factor", 1.0 / 64.0, 64.0, &factor, err);
    if (code == INQ_OK) {
        code = inq_fix_number(args, "latency", 0.0, 1e6, &g.latency_us, err);
    }
    int64_t times = (int64_t)(factor >= 1.0 ? factor + 0.5 : 1.0 / factor + 0.5);
    if (code != INQ_OK || times == 1) {
        inq_fix_note(said, "buckets of the size they have");
        return code;
    }
    g.buckets = times;
    code = mark_early(job, err);
    if (code != INQ_OK) {
        return code;
    }
    code = find_latency(&g, is_bucket, factor > 1.0 ? (double)times : 1.0 / (double)times);
    if (code != INQ_OK) {
        return code;
    }
    if (factor > 1.0) {
        code = merge(job, times, (int64_t)(g.latency_us * 1000.0), &changed, err);
    } else {
        code = split(&g, &changed);
    }
    if (code == INQ_OK && changed == 0) {
        code = inq_err_set(err, INQ_UNSUPPORTED, "there are no matched gradient collectives to %s",
                           factor > 1.0 ? "join" : "divide");
    }
    if (code == INQ_OK) {
        inq_fix_note(said, "buckets of %g times the size, %g us for each collective", factor,
                     g.latency_us);
    }
    return code;
}
