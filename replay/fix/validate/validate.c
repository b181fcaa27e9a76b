/* SPDX-License-Identifier: Apache-2.0 */
/* The best fixes, executed: the original and each fixed step alternately by an engine. */
#include "fix/validate/validate.h"

#include "base/arena.h"
#include "base/mem.h"
#include "base/stats.h"
#include "fix/base/base.h"
#include "fix/fix.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Measuring what fixes take for granted: a small plan does the work of an op and of its share in
 * turns; how long the share takes of the whole says the rest. Ratios of two times on one device
 * hold for the record where the device is a faster or slower one of its kind; the whole is made to
 * take what was recorded. */

enum { PAIRS = 25, RESIZES = 3, MOST_MEMBERS = 64 };

/* Compute is made of pieces of some microseconds, whose number is rounded; longer ops than the
 * longest tell no more. */
static const int64_t shortest_compute_ns = 2000000;
static const int64_t shortest_transfer_ns = 100000;
static const int64_t longest_ns = 20000000;
/* The whole is as long as recorded to within this part. */
static const double length_tolerance = 0.1;
static const int64_t usual_bytes = 1 << 20;
static const int64_t most_bytes = (int64_t)1 << 30;

/* ---- the plan -------------------------------------------------------------------------------- */

struct probe {
    const struct fix_need *need;
    int64_t whole_ns, bytes;
    uint32_t members;
    struct inq_graph_builder *b;
    uint32_t whole[PAIRS], part[PAIRS]; /* first ops of the groups */
    size_t n;
    uint8_t *work;  /* [n] */
    int64_t *sizes; /* [n] bytes */
};

/* Room for a pair's ops: both, and one beside. */
static size_t most_ops(const struct probe *p)
{
    return (size_t)PAIRS * (2 * (size_t)p->members + 1);
}

static int add_op(struct probe *p, int32_t rank, uint32_t lane, uint8_t type, double share,
                  uint8_t work, struct inq_err *err)
{
    struct inq_graph_op op = inq_graph_op_init();
    op.rank = rank;
    op.lane = lane;
    op.type = type;
    op.cls = work == INQ_WORK_COMPUTE ? INQ_CLASS_COMPUTE : INQ_CLASS_COMM;
    p->work[p->n] = work;
    p->sizes[p->n] = work == INQ_WORK_ALL_REDUCE ? llround((double)p->bytes * share) : -1;
    p->n++;
    return inq_graph_add_op(p->b, &op, llround((double)p->whole_ns * share), 0, NULL, err);
}

/* One collective over all members; *first gets its first op. */
static int add_collective(struct probe *p, double share, uint32_t *first, struct inq_err *err)
{
    uint32_t ids[MOST_MEMBERS];
    int code = INQ_OK;
    *first = (uint32_t)p->n;
    for (uint32_t k = 0; code == INQ_OK && k < p->members; k++) {
        ids[k] = (uint32_t)p->n;
        code = add_op(p, (int32_t)k, 0, INQ_OP_NONE, share, INQ_WORK_ALL_REDUCE, err);
    }
    return code == INQ_OK ? inq_graph_add_group(p->b, ids, p->members, p->members, err) : code;
}

static int add_compute(struct probe *p, uint8_t type, double share, uint32_t *id,
                       struct inq_err *err)
{
    *id = (uint32_t)p->n;
    return add_op(p, 0, 0, type, share, INQ_WORK_COMPUTE, err);
}

/* A part with traffic beside it, which lasts longer; the next whole waits for both. */
static int add_beside(struct probe *p, size_t pair, struct inq_err *err)
{
    const double longer = 1.5;
    const uint32_t whole = p->whole[pair];
    bool first = pair == 0;
    int code = first ? INQ_OK : inq_graph_add_dep(p->b, whole - 1, whole, err);
    if (code == INQ_OK) {
        code = add_compute(p, INQ_OP_FORWARD, 1.0, &p->part[pair], err);
    }
    uint32_t traffic = (uint32_t)p->n;
    if (code == INQ_OK) {
        code = add_op(p, 0, 1, INQ_OP_NONE, longer, INQ_WORK_COPY, err);
    }
    return code == INQ_OK ? inq_graph_add_dep(p->b, whole, traffic, err) : code;
}

static int add_pair(struct probe *p, size_t i, struct inq_err *err)
{
    const struct fix_need *need = p->need;
    if (need->cost == FIX_COST_LATENCY) {
        int code = add_collective(p, 1.0, &p->whole[i], err);
        return code == INQ_OK ? add_collective(p, need->share, &p->part[i], err) : code;
    }
    bool split = need->cost == FIX_COST_SPLIT;
    int code = add_compute(p, split ? INQ_OP_BACKWARD : INQ_OP_FORWARD, 1.0, &p->whole[i], err);
    if (code != INQ_OK) {
        return code;
    }
    return need->cost == FIX_COST_CONTENTION
               ? add_beside(p, i, err)
               : add_compute(p, split ? INQ_OP_BACKWARD_WEIGHT : INQ_OP_FORWARD, need->share,
                             &p->part[i], err);
}

/* ---- executing it ---------------------------------------------------------------------------- */

/* What op `id` (or its group) took, from the last arrival. */
static int64_t length_of(const struct inq_execution *x, uint32_t id, uint32_t members)
{
    int64_t arrival = x->start_ns[id];
    int64_t end = x->end_ns[id];
    for (uint32_t k = id; k < id + members; k++) {
        arrival = x->start_ns[k] > arrival ? x->start_ns[k] : arrival;
        end = x->end_ns[k] > end ? x->end_ns[k] : end;
    }
    return end - arrival;
}

/* Plan options of the ops as the graph has them. */
static int make_plan(const struct probe *p, const struct inq_graph *graph, struct inq_plan **plan,
                     struct inq_err *err)
{
    uint8_t *work = inq_mem_zalloc(p->n + 1, sizeof *work);
    int64_t *bytes = inq_mem_zalloc(p->n + 1, sizeof *bytes);
    const struct inq_plan_options how = {.work = work, .bytes = bytes};
    int code = work != NULL && bytes != NULL
                   ? INQ_OK
                   : inq_err_set(err, INQ_NOMEM, "out of memory for measuring");
    for (size_t i = 0; code == INQ_OK && i < p->n; i++) {
        work[graph->index_of[i]] = p->work[i];
        bytes[graph->index_of[i]] = p->sizes[i];
    }
    if (code == INQ_OK) {
        code = inq_plan_make(graph, &how, plan, err);
    }
    inq_mem_free(work);
    inq_mem_free(bytes);
    return code;
}

struct lengths {
    int64_t whole_ns[PAIRS], part_ns[PAIRS];
};

static int execute_probe(const struct probe *p, const struct inq_graph *graph,
                         const struct inq_engine *engine, const struct inq_replay_options *options,
                         struct lengths *lengths, struct inq_err *err)
{
    struct inq_replay_options how = *options;
    struct inq_plan *plan = NULL;
    struct inq_execution x = {0};
    how.work = INQ_WORK_RECORDED;
    how.free_transfers = true; /* what is held to a length is not measured */
    how.warmup = 1;
    how.repeats = 3;
    int code = make_plan(p, graph, &plan, err);
    if (code == INQ_OK) {
        code = engine->run(plan, &how, &x, err);
    }
    for (size_t i = 0; code == INQ_OK && i < PAIRS; i++) {
        uint32_t n = 1;
        uint32_t first = inq_graph_group_of(graph, graph->index_of[p->whole[i]], &n);
        lengths->whole_ns[i] = length_of(&x, first, n);
        first = inq_graph_group_of(graph, graph->index_of[p->part[i]], &n);
        lengths->part_ns[i] = length_of(&x, first, n);
    }
    inq_execution_release(&x);
    inq_plan_free(plan);
    return code;
}

static int run_probe(struct probe *p, const struct inq_engine *engine,
                     const struct inq_replay_options *options, struct lengths *lengths,
                     struct inq_err *err)
{
    struct inq_graph *graph = NULL;
    size_t most = most_ops(p);
    p->n = 0;
    p->b = inq_graph_builder_new();
    p->work = inq_mem_zalloc(most, sizeof *p->work);
    p->sizes = inq_mem_zalloc(most, sizeof *p->sizes);
    int code = p->b != NULL && p->work != NULL && p->sizes != NULL
                   ? INQ_OK
                   : inq_err_set(err, INQ_NOMEM, "out of memory for measuring");
    for (size_t i = 0; code == INQ_OK && i < PAIRS; i++) {
        code = add_pair(p, i, err);
    }
    if (code == INQ_OK) {
        code = inq_graph_finish(p->b, &graph, NULL, err);
    }
    if (code == INQ_OK) {
        code = execute_probe(p, graph, engine, options, lengths, err);
    }
    inq_graph_free(graph);
    inq_graph_builder_free(p->b);
    inq_mem_free(p->work);
    inq_mem_free(p->sizes);
    return code;
}

static int64_t median_of(const int64_t *values)
{
    int64_t copy[PAIRS];
    memcpy(copy, values, sizeof copy);
    return inq_median_i64(copy, PAIRS);
}

/* Bytes with which the whole takes what was recorded: this device's links are not the record's. */
static int run_resized(struct probe *p, const struct inq_engine *engine,
                       const struct inq_replay_options *options, struct lengths *lengths,
                       struct inq_err *err)
{
    int code = run_probe(p, engine, options, lengths, err);
    for (int i = 0; code == INQ_OK && p->need->cost == FIX_COST_LATENCY && i < RESIZES; i++) {
        int64_t whole_ns = median_of(lengths->whole_ns);
        double off = whole_ns > 0 ? (double)p->whole_ns / (double)whole_ns : 1.0;
        if (fabs(off - 1.0) <= length_tolerance) {
            break;
        }
        double bytes = (double)p->bytes * off;
        p->bytes = bytes < 1024.0 ? 1024 : bytes < (double)most_bytes ? llround(bytes) : most_bytes;
        code = run_probe(p, engine, options, lengths, err);
    }
    return code;
}

/* ---- what it says ---------------------------------------------------------------------------- */

static double not_negative(double x)
{
    return x > 0.0 ? x : 0.0;
}

/* The quantity of a share that takes `ratio` of a whole of whole_ns. */
static double quantity(const struct fix_need *need, double ratio, int64_t whole_ns)
{
    double share = need->share;
    /* a + s (1 - a) = ratio */
    bool all = fabs(1.0 - share) < 1e-9;
    double constant = all ? 0.0 : not_negative((ratio - share) / (1.0 - share));
    switch (need->cost) {
    case FIX_COST_LATENCY:
        return constant * (double)whole_ns / 1e3;
    case FIX_COST_FIXED:
        return constant < 1.0 ? constant : 1.0;
    case FIX_COST_CONTENTION:
        return not_negative(ratio - 1.0);
    case FIX_COST_SPLIT:
        return ratio;
    case FIX_COST_PACE:
        break;
    }
    return share > 0.0 ? ratio / share : 1.0;
}

static void conclude(struct fix_need *need, const struct lengths *lengths)
{
    const double fine = 1e9; /* ratios as whole numbers */
    int64_t ratios[PAIRS];
    int64_t whole_ns = median_of(lengths->whole_ns);
    for (size_t i = 0; i < PAIRS; i++) {
        double whole = lengths->whole_ns[i] > 0 ? (double)lengths->whole_ns[i] : 1.0;
        ratios[i] = llround(fine * (double)lengths->part_ns[i] / whole);
    }
    struct inq_sample sample = inq_sample_make(ratios, PAIRS);
    need->measured = quantity(need, (double)sample.median_ns / fine, whole_ns);
    double a = quantity(need, (double)sample.ci95_ns[0] / fine, whole_ns);
    double b = quantity(need, (double)sample.ci95_ns[1] / fine, whole_ns);
    need->ci95[0] = a < b ? a : b;
    need->ci95[1] = a < b ? b : a;
}

/* A device that holds fewer members is asked for as many as it holds; one that cannot do the work
 * leaves the need as it is. */
static int measure_one(const struct inq_engine *engine, const struct inq_replay_options *options,
                       struct fix_need *need, struct inq_err *err)
{
    int64_t whole_ns = need->dur_ns;
    whole_ns = whole_ns > longest_ns ? longest_ns : whole_ns;
    bool groups = need->cost == FIX_COST_LATENCY;
    int64_t shortest_ns = groups ? shortest_transfer_ns : shortest_compute_ns;
    whole_ns = whole_ns < shortest_ns ? shortest_ns : whole_ns;
    uint32_t members = !groups ? 1 : need->members < MOST_MEMBERS ? need->members : MOST_MEMBERS;
    struct inq_err own = {0};
    int code = INQ_LIMIT;
    for (; code == INQ_LIMIT && members > (groups ? 1U : 0U); members /= 2) {
        struct probe p = {.need = need,
                          .whole_ns = whole_ns,
                          .bytes = need->bytes > 0 ? need->bytes : usual_bytes,
                          .members = members};
        struct lengths lengths;
        code = run_resized(&p, engine, options, &lengths, &own);
        if (code == INQ_OK) {
            conclude(need, &lengths);
        }
    }
    bool ends = code == INQ_NOMEM || code == INQ_CANCELLED;
    return ends ? inq_err_set(err, (enum inq_code)code, "%s", own.message) : INQ_OK;
}

int inq_fix_measure(const struct inq_engine *engine, const struct inq_replay_options *options,
                    struct fix_needs *needs, struct inq_err *err)
{
    int code = INQ_OK;
    for (size_t i = 0; code == INQ_OK && engine->executes && i < needs->n; i++) {
        code = measure_one(engine, options, &needs->at[i], err);
    }
    needs->measured = true;
    return code;
}

/* As a row of a report. */
static struct inq_assumption fix_assumption(const struct fix_need *need)
{
    static const char *const names[] = {
        [FIX_COST_LATENCY] = "collective latency",
        [FIX_COST_CONTENTION] = "slowdown of compute during transfers",
        [FIX_COST_FIXED] = "share of an op's time that does not depend on its size",
        [FIX_COST_SPLIT] = "weight gradient's share of a backward",
        [FIX_COST_PACE] = "time per work of shortened ops"};
    bool longer = need->cost == FIX_COST_PACE && need->share > 1.0;
    return (struct inq_assumption){.name = longer ? "time per work of lengthened ops"
                                                  : names[need->cost],
                                   .unit = need->cost == FIX_COST_LATENCY ? "us" : "",
                                   .assumed = need->assumed,
                                   .measured = need->measured,
                                   .ci95 = {need->ci95[0], need->ci95[1]}};
}

/* What an execution takes where nobody says how time is to be scaled. */
static const int64_t usual_ns = 200000000;
/* Ops shorter than this many steps of the engine's clock are not timed well. */
static const int64_t least_steps = 20;

enum { USUAL_TOP = 3, USUAL_REPEATS = 9 };

struct validate {
    const struct inq_fix_base *base;
    const struct inq_fix_validate_options *options;
    struct inq_fixes *fixes;
    struct inq_replay_options replay;
    double scale;
    const char *why_timed; /* why ops do not what was recorded; "": they do, or need not */
    size_t n_units, kept;  /* replicas of a pipeline, else ranks; how many of them are executed */
    uint8_t *keep;         /* [n_ranks] */
};

/* ---- a part that stands for all -------------------------------------------------------------- */

static size_t unit_of(const struct fix_step *job, size_t rank)
{
    return job->n_stages > 0 ? (size_t)job->ranks[rank].dp : rank;
}

/* Work of each unit, on the original: those that have most to do delay the others. */
static void sum_units(const struct fix_step *job, int64_t *work)
{
    for (size_t i = 0; i < job->n_ops; i++) {
        const struct fix_op *op = &job->ops[i];
        bool counts = op->op.cls != INQ_CLASS_COMM;
        work[unit_of(job, (size_t)op->op.rank)] +=
            counts ? op->dur_ns + (op->delay_ns > 0 ? op->delay_ns : 0) : 0;
    }
}

/* Keeps the `n` units with most work; of equal ones the first. */
static int choose_units(struct validate *v, size_t n, struct inq_err *err)
{
    const struct fix_step *job = &v->base->job;
    int64_t *work = inq_mem_zalloc(v->n_units + 1, sizeof *work);
    uint8_t *chosen = inq_mem_zalloc(v->n_units + 1, 1);
    if (work == NULL || chosen == NULL) {
        inq_mem_free(work);
        inq_mem_free(chosen);
        return inq_fix_no_memory(err);
    }
    sum_units(job, work);
    for (size_t k = 0; k < n; k++) {
        size_t best = v->n_units;
        for (size_t u = 0; u < v->n_units; u++) {
            best = !chosen[u] && (best == v->n_units || work[u] > work[best]) ? u : best;
        }
        chosen[best < v->n_units ? best : 0] = 1;
    }
    for (size_t r = 0; r < job->n_ranks; r++) {
        v->keep[r] = chosen[unit_of(job, r)];
    }
    v->kept = n;
    inq_mem_free(work);
    inq_mem_free(chosen);
    return INQ_OK;
}

/* Ops of the ranks that are kept; groups are among those. */
static int keep_ranks(struct fix_step *job, const uint8_t *keep, struct inq_err *err)
{
    uint32_t *to = inq_mem_alloc((job->n_ops + 1) * sizeof *to);
    int32_t *rank = inq_mem_zalloc(job->n_ranks + 1, sizeof *rank); /* numbered anew */
    size_t n = 0;
    if (to == NULL || rank == NULL) {
        inq_mem_free(to);
        inq_mem_free(rank);
        return inq_fix_no_memory(err);
    }
    for (size_t r = 0; r < job->n_ranks; r++) {
        rank[r + 1] = rank[r] + (keep[r] != 0);
    }
    for (size_t i = 0; i < job->n_ops; i++) {
        to[i] = keep[job->ops[i].op.rank] ? (uint32_t)n : INQ_NONE;
        if (to[i] != INQ_NONE) {
            job->ops[n] = job->ops[i];
            job->ops[n].op.rank = rank[job->ops[i].op.rank];
            n++;
        }
    }
    job->n_ops = n;
    n = 0;
    for (size_t e = 0; e < job->n_edges; e++) {
        struct inq_edge edge = {to[job->edges[e].before], to[job->edges[e].after]};
        if (edge.before != INQ_NONE && edge.after != INQ_NONE) {
            job->edges[n++] = edge;
        }
    }
    job->n_edges = n;
    inq_mem_free(to);
    inq_mem_free(rank);
    return INQ_OK;
}

/* The plan of the step with a spec, of the part that is executed. */
struct part {
    struct inq_graph *graph;
    struct inq_plan *plan;
};

static void release_part(struct part *part)
{
    inq_plan_free(part->plan);
    inq_graph_free(part->graph);
}

static int make_part(const struct validate *v, const char *spec, struct fix_needs *needs,
                     struct part *part, struct inq_err *err)
{
    struct fix_step job;
    struct fix_notes said = {0};
    *part = (struct part){0};
    int code = inq_fix_step_copy(&v->base->job, &job, err);
    if (code != INQ_OK) {
        return code;
    }
    job.needs = needs;
    code = inq_fix_apply(&job, spec, &said, err);
    code = code == INQ_OK ? inq_fix_step_expand(&job, err) : code;
    if (code == INQ_OK && v->kept < v->n_units) {
        code = keep_ranks(&job, v->keep, err);
    }
    if (code == INQ_OK) {
        code = inq_fix_step_plan(&job, 1, v->scale, &part->graph, &part->plan, err);
    }
    inq_fix_step_release(&job);
    return code;
}

/* ---- executing ------------------------------------------------------------------------------- */

/* What is to be known of the execution, besides what the engine says. */
static const char *note_of(const struct validate *v, const struct inq_plan *plan,
                           const char *engines)
{
    char part[160] = "";
    char shortest[160] = "";
    if (v->kept < v->n_units) {
        (void)snprintf(part, sizeof part, "%zu of %zu %s executed, those with most work, for all",
                       v->kept, v->n_units, v->base->job.n_stages > 0 ? "replicas" : "ranks");
    }
    if (plan->shortest_ns > 0 && plan->shortest_ns < least_steps * 1000) {
        (void)snprintf(shortest, sizeof shortest,
                       "the shortest op takes %s: too short to be timed well; a larger --scale "
                       "times it better",
                       inq_fix_time(plan->shortest_ns).text);
    }
    const char *stands = strcmp(v->options->engine->name, "host") == 0
                             ? "costs are measured with this host's arithmetic and memory traffic, "
                               "which stand for a GPU's"
                             : "";
    const char *texts[] = {engines, part, shortest, stands, v->why_timed};
    const char *note = "";
    for (size_t i = 0; note != NULL && i < sizeof texts / sizeof *texts; i++) {
        if (texts[i][0] != '\0') {
            note = note[0] == '\0' ? inq_arena_strdup(v->fixes->arena, texts[i])
                                   : inq_arena_asprintf(v->fixes->arena, "%s; %s", note, texts[i]);
        }
    }
    return note != NULL ? note : "";
}

/* What the original is expected to take: as long as its ops were recorded to take, the model's own
 * error included. */
static int64_t expected_ns(const struct validate *v, const struct inq_plan *plan)
{
    const struct inq_fix_base_info *info = &v->base->info;
    return info->ops_ns > 0 ? llround((double)info->ops_ns * v->scale) : plan->simulated_ns;
}

static void describe_base(const struct validate *v, const struct inq_plan *plan,
                          const struct inq_validation *first)
{
    struct inq_fixes *fixes = v->fixes;
    fixes->executed = first->base;
    fixes->scale = v->scale;
    fixes->expected_ns = first->expected_ns;
    fixes->base_error = first->base_error;
    fixes->n_kinds = first->n_kinds;
    memcpy(fixes->kinds, first->kinds, sizeof fixes->kinds);
    fixes->engine = v->options->engine->name;
    fixes->device = inq_arena_strdup(fixes->arena, first->device);
    fixes->device = fixes->device != NULL ? fixes->device : "";
    fixes->note = note_of(v, plan, first->note);
}

/* ---- what is measured first ------------------------------------------------------------------ */

/* "collective latency 198 us (95 %: 190 to 205), assumed 20 us; ...", as many as there is room for.
 */
static void say_measured(const struct inq_fix *fix, char *text, size_t size)
{
    size_t len = 0;
    for (size_t i = 0; i < fix->n_assumptions && len < size; i++) {
        const struct inq_assumption *a = &fix->assumptions[i];
        const char *space = a->unit[0] != '\0' ? " " : "";
        int n = snprintf(text + len, size - len,
                         "%s%s %.3g%s%s (95 %%: %.3g to %.3g), assumed %.3g", i > 0 ? "; " : "",
                         a->name, a->measured, space, a->unit, a->ci95[0], a->ci95[1], a->assumed);
        bool fits = n > 0 && (size_t)n < size - len;
        text[fits ? len + (size_t)n : len] = '\0';
        len = fits ? len + (size_t)n : size;
    }
}

/* The plan of the fix as it was predicted, what of that is measured, and the plan with that. */
struct fixed {
    struct part assumed, measured;
    struct fix_needs needs;
};

static int make_fixed(const struct validate *v, struct inq_fix *fix, struct fixed *fixed,
                      struct inq_err *err)
{
    *fixed = (struct fixed){0};
    int code = make_part(v, fix->spec, &fixed->needs, &fixed->assumed, err);
    if (code == INQ_OK) {
        code = inq_fix_measure(v->options->engine, &v->replay, &fixed->needs, err);
    }
    if (code == INQ_OK) {
        code = make_part(v, fix->spec, &fixed->needs, &fixed->measured, err);
    }
    fix->n_assumptions = 0;
    for (size_t i = 0; code == INQ_OK && i < fixed->needs.n; i++) {
        const struct fix_need *need = &fixed->needs.at[i];
        if (isfinite(need->measured)) {
            fix->assumptions[fix->n_assumptions++] = fix_assumption(need);
        } else if (fixed->needs.unmeasured == NULL) {
            fixed->needs.unmeasured = fix_assumption(need).name;
        }
    }
    return code;
}

static double speedup_of(const struct part *base, const struct part *fixed)
{
    return fixed->plan->simulated_ns > 0
               ? (double)base->plan->simulated_ns / (double)fixed->plan->simulated_ns
               : 1.0;
}

/* One fix against the original. An engine that cannot hold so many ranks gets fewer. */
static int execute(struct validate *v, struct inq_fix *fix, struct inq_err *err)
{
    struct part base = {0};
    struct fixed fixed = {0};
    struct inq_err own = {0};
    char measured[480] = "";
    int code = make_part(v, NULL, NULL, &base, &own);
    if (code == INQ_OK) {
        code = make_fixed(v, fix, &fixed, &own);
    }
    if (code == INQ_OK) {
        say_measured(fix, measured, sizeof measured);
        const struct inq_validate_options options = {
            .replay = v->replay,
            .expected_ns = expected_ns(v, base.plan),
            .predicted_speedup = speedup_of(&base, &fixed.assumed),
            .unmeasured = fixed.needs.unmeasured,
            .measured = fix->n_assumptions > 0 ? measured : NULL};
        code = inq_validate(v->options->engine, base.plan, fixed.measured.plan, &options,
                            &fix->executed, &own);
    }
    if (code == INQ_OK && v->fixes->engine[0] == '\0') {
        describe_base(v, base.plan, &fix->executed);
    }
    if (code != INQ_OK) {
        fix->executed = (struct inq_validation){0};
        fix->n_assumptions = 0;
    }
    release_part(&base);
    release_part(&fixed.assumed);
    release_part(&fixed.measured);
    if (code == INQ_LIMIT && v->kept > 1) {
        code = choose_units(v, (v->kept + 1) / 2, err);
        return code == INQ_OK ? execute(v, fix, err) : code;
    }
    if (code != INQ_OK) {
        (void)inq_err_set(err, (enum inq_code)code, "%s", own.message);
    }
    return code;
}

/* The original as it was recorded says whether that can be done again. */
static int choose_work(struct validate *v, struct inq_err *err)
{
    const struct inq_fix_validate_options *o = v->options;
    struct part base = {0};
    int code = inq_fix_step_plan(&v->base->job, 1, o->scale > 0.0 ? o->scale : 1.0, &base.graph,
                                 &base.plan, err);
    if (code == INQ_OK) {
        v->replay.work = inq_replay_work(o->engine, base.plan, &o->replay, &v->why_timed);
    }
    release_part(&base);
    return code;
}

/* What GPUs do as recorded takes the time that it takes. */
static double choose_scale(const struct inq_fix_base *base,
                           const struct inq_fix_validate_options *options, enum inq_work_mode work)
{
    bool as_recorded = work == INQ_WORK_RECORDED && options->engine->gpus != NULL;
    return options->scale > 0.0                  ? options->scale
           : base->info.t_ns > 0 && !as_recorded ? (double)usual_ns / (double)base->info.t_ns
                                                 : 1.0;
}

int inq_fix_validate(const struct inq_fix_base *base,
                     const struct inq_fix_validate_options *options, struct inq_fixes *fixes,
                     struct inq_err *err)
{
    const struct fix_step *job = &base->job;
    struct validate v = {.base = base,
                         .options = options,
                         .fixes = fixes,
                         .replay = options->replay,
                         .why_timed = "",
                         .n_units = job->n_stages > 0 ? job->n_dp : job->n_ranks};
    size_t top = options->top > 0 ? options->top : USUAL_TOP;
    int code = choose_work(&v, err);
    if (code != INQ_OK) {
        return code;
    }
    v.scale = choose_scale(base, options, v.replay.work);
    v.kept = v.n_units;
    v.replay.repeats = v.replay.repeats > 0 ? v.replay.repeats : USUAL_REPEATS;
    v.keep = inq_mem_zalloc(job->n_ranks + 1, 1);
    if (v.keep == NULL) {
        return inq_fix_no_memory(err);
    }
    for (size_t i = 0; code == INQ_OK && i < fixes->n && top > 0; i++) {
        if (fixes->fixes[i].t_ns >= 0 && fixes->fixes[i].step_t_ns >= 0) {
            code = execute(&v, &fixes->fixes[i], err);
            top--;
        }
    }
    inq_mem_free(v.keep);
    return code;
}
