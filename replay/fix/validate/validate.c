/* SPDX-License-Identifier: Apache-2.0 */
/* The best fixes, executed: the original and each fixed step alternately by an engine. */
#include "fix/validate/validate.h"

#include "fix/base/base.h"
#include "fix/fix.h"

#include "base/arena.h"
#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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
    size_t n_units, kept; /* replicas of a pipeline, else ranks; how many of them are executed */
    uint8_t *keep;        /* [n_ranks] */
};

/* ---- a part that stands for all -------------------------------------------------------------- */

static size_t unit_of(const struct fix_job *job, size_t rank)
{
    return job->n_stages > 0 ? (size_t)job->ranks[rank].dp : rank;
}

/* Work of each unit, on the original: those that have most to do delay the others. */
static void sum_units(const struct fix_job *job, int64_t *work)
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
    const struct fix_job *job = &v->base->job;
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
static int keep_ranks(struct fix_job *job, const uint8_t *keep, struct inq_err *err)
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
    struct fix_job job;
    struct fix_said said = {0};
    *part = (struct part){0};
    int code = inq_fix_job_copy(&v->base->job, &job, err);
    if (code != INQ_OK) {
        return code;
    }
    job.needs = needs;
    code = inq_fix_apply(&job, spec, &said, err);
    if (code == INQ_OK && v->kept < v->n_units) {
        code = keep_ranks(&job, v->keep, err);
    }
    if (code == INQ_OK) {
        code = inq_fix_job_plan(&job, 1, v->scale, &part->graph, &part->plan, err);
    }
    inq_fix_job_release(&job);
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
    const char *texts[] = {engines, part, shortest, stands};
    const char *note = "";
    for (size_t i = 0; note != NULL && i < sizeof texts / sizeof *texts; i++) {
        if (texts[i][0] != '\0') {
            note = note[0] == '\0' ? inq_arena_strdup(v->fixes->arena, texts[i])
                                   : inq_arena_printf(v->fixes->arena, "%s; %s", note, texts[i]);
        }
    }
    return note != NULL ? note : "";
}

/* What the original is expected to take: what no op stands for (before the first op, after the
 * last) and the model's own error are part of the recorded step. */
static int64_t expected_ns(const struct validate *v, const struct inq_plan *plan)
{
    const struct inq_fix_base_info *info = &v->base->info;
    double off = info->recorded_ns > 0 ? (double)(info->recorded_ns - info->t_ns) * v->scale : 0.0;
    return plan->simulated_ns + llround(off);
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

/* "collective latency 198 us (95 %: 190 to 205), assumed 20 us; ..." */
static void say_measured(const struct inq_fix *fix, char *text, size_t size)
{
    size_t len = 0;
    for (size_t i = 0; i < fix->n_assumptions && len < size; i++) {
        const struct inq_assumption *a = &fix->assumptions[i];
        const char *space = a->unit[0] != '\0' ? " " : "";
        int n = snprintf(text + len, size - len,
                         "%s%s %.3g%s%s (95 %%: %.3g to %.3g), assumed %.3g", i > 0 ? "; " : "",
                         a->name, a->measured, space, a->unit, a->ci95[0], a->ci95[1], a->assumed);
        len += n > 0 ? (size_t)n : 0;
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
            fix->assumptions[fix->n_assumptions++] = inq_fix_assumption(need);
        } else if (fixed->needs.unmeasured == NULL) {
            fixed->needs.unmeasured = inq_fix_assumption(need).name;
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
    char measured[320] = "";
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

static double choose_scale(const struct inq_fix_base *base, double asked)
{
    return asked > 0.0           ? asked
           : base->info.t_ns > 0 ? (double)usual_ns / (double)base->info.t_ns
                                 : 1.0;
}

int inq_fix_validate(const struct inq_fix_base *base,
                     const struct inq_fix_validate_options *options, struct inq_fixes *fixes,
                     struct inq_err *err)
{
    const struct fix_job *job = &base->job;
    struct validate v = {.base = base,
                         .options = options,
                         .fixes = fixes,
                         .replay = options->replay,
                         .scale = choose_scale(base, options->scale),
                         .n_units = job->n_stages > 0 ? job->n_dp : job->n_ranks};
    size_t top = options->top > 0 ? options->top : USUAL_TOP;
    int code = INQ_OK;
    v.kept = v.n_units;
    v.replay.repeats = v.replay.repeats > 0 ? v.replay.repeats : USUAL_REPEATS;
    v.keep = inq_mem_zalloc(job->n_ranks + 1, 1);
    if (v.keep == NULL) {
        return inq_fix_no_memory(err);
    }
    for (size_t i = 0; code == INQ_OK && i < fixes->n && top > 0; i++) {
        if (fixes->fixes[i].t_ns >= 0) {
            code = execute(&v, &fixes->fixes[i], err);
            top--;
        }
    }
    inq_mem_free(v.keep);
    return code;
}
