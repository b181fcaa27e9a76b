/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds of schedules side by side: under a memory limit, and for micro-batches of several sizes. */
#include "schedule/schedule.h"

#include "base/mem.h"
#include "base/sort.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- one schedule ---------------------------------------------------------------------------- */

static int64_t share(int64_t ns, double factor)
{
    return (int64_t)llround((double)ns * factor);
}

/* Costs of each of `n_stages` stages, when `stages` of them hold the model that p ranks' costs are
 * of; *own_stages is the caller's. */
static int stage_costs(const struct inq_costs *costs, int32_t p, int32_t stages, int32_t n_stages,
                       struct inq_costs *own, struct inq_stage_cost **own_stages,
                       struct inq_err *err)
{
    double factor = (double)p / (double)stages;
    *own = *costs;
    *own_stages = NULL;
    own->per_stage = NULL;
    own->memory_per_stage = NULL; /* told of stages, and here every kind has its own */
    own->p2p_per_stage = NULL;
    own->stage.f_ns = share(costs->stage.f_ns, factor);
    own->stage.b_ns = share(costs->stage.b_ns, factor);
    own->stage.w_ns = share(costs->stage.w_ns, factor);
    own->overlap_ns = share(costs->overlap_ns, factor);
    own->reduce_ns = share(costs->reduce_ns, factor);
    own->unshard_ns = share(costs->unshard_ns, factor);
    own->memory_f = inq_memory_change(costs, INQ_ACTION_F, -1) * factor;
    own->memory_b = inq_memory_change(costs, INQ_ACTION_I, -1) * factor;
    own->memory_w = inq_memory_change(costs, INQ_ACTION_W, -1) * factor;
    if (costs->per_stage == NULL) {
        return INQ_OK;
    }
    if (n_stages > INQ_MAX_SCHEDULE_RANKS * 16) {
        return inq_err_set(err, INQ_LIMIT, "%" PRId32 " stages are too many", n_stages);
    }
    size_t told = costs->n_per_stage > 0 ? costs->n_per_stage : (size_t)p;
    *own_stages = inq_mem_zalloc((size_t)n_stages, sizeof **own_stages);
    int code =
        *own_stages == NULL
            ? inq_err_set(err, INQ_NOMEM, "out of memory for the times of stages")
            : inq_stage_costs_recut(costs->per_stage, told, (size_t)stages, *own_stages, err);
    for (int32_t s = stages; code == INQ_OK && s < n_stages; s++) {
        (*own_stages)[s] = (*own_stages)[s % stages]; /* of the model's other replicas */
    }
    own->per_stage = *own_stages;
    return code;
}

/* A segment of a sequence takes its part of what the micro-batch takes, and holds and sends it. */
static void cut_into_segments(struct inq_costs *costs, struct inq_stage_cost *stages, size_t n,
                              int32_t segments)
{
    double part = 1.0 / (double)segments;
    for (size_t s = 0; s <= n && segments > 1; s++) {
        struct inq_stage_cost *cost = s < n ? &stages[s] : &costs->stage;
        cost->f_ns = share(cost->f_ns, part);
        cost->b_ns = share(cost->b_ns, part);
        cost->w_ns = share(cost->w_ns, part);
    }
    if (segments > 1) {
        costs->p2p_ns = share(costs->p2p_ns, part);
        costs->overlap_ns = share(costs->overlap_ns, part);
        costs->memory_f *= part;
        costs->memory_b *= part;
        costs->memory_w *= part;
    }
}

static int32_t replicas_of_rank(const struct inq_schedule *s)
{
    int32_t stages = s->n_stages / s->n_pipelines;
    int32_t most = 1;
    for (int32_t r = 0; s->n_pipelines == 2 && most < 2 && r < s->n_ranks; r++) {
        bool first = false;
        bool second = false;
        for (size_t i = 0; i < s->ranks[r].n; i++) {
            int32_t stage = s->ranks[r].actions[i].stage;
            first = first || (stage >= 0 && stage < stages);
            second = second || stage >= stages;
        }
        most = first && second ? 2 : most;
    }
    return most;
}

static void fill_row(const struct inq_schedule *schedule, const struct inq_schedule_timing *timing,
                     double memory_limit, struct inq_schedule_row *row)
{
    for (int32_t r = 0; r < schedule->n_ranks; r++) {
        int64_t idle = timing->ranks[r].idle_ns;
        row->worst_idle_ns = idle > row->worst_idle_ns ? idle : row->worst_idle_ns;
    }
    row->makespan_ns = timing->makespan_ns;
    row->bubble_ratio = timing->bubble_ratio;
    row->bubble_rate_zb = timing->bubble_rate_zb;
    row->peak_memory = timing->peak_memory;
    row->memory_unit = timing->memory_unit;
    row->weights = replicas_of_rank(schedule);
    row->fits = memory_limit <= 0.0 || timing->peak_memory <= memory_limit * (1.0 + 1e-9);
}

int inq_schedule_measure(const struct inq_schedule *schedule, const struct inq_costs *costs,
                         double memory_limit, struct inq_schedule_row *row, struct inq_err *err)
{
    struct inq_schedule_timing timing;
    struct inq_err own = {0};
    struct inq_costs scaled;
    struct inq_stage_cost *stages = NULL;
    *row =
        (struct inq_schedule_row){.n_ranks = schedule->n_ranks,
                                  .n_stages = schedule->n_stages,
                                  .n_microbatches = schedule->n_microbatches / schedule->n_segments,
                                  .microbatch_size = 1,
                                  .weights = 1};
    (void)snprintf(row->name, sizeof row->name, "%s", schedule->kind);
    int code = stage_costs(costs, schedule->n_ranks, schedule->n_stages / schedule->n_pipelines,
                           schedule->n_stages, &scaled, &stages, &own);
    if (code == INQ_OK) {
        cut_into_segments(&scaled, stages, stages != NULL ? (size_t)schedule->n_stages : 0,
                          schedule->n_segments);
        code = inq_schedule_time(schedule, &scaled, &timing, &own);
    }
    inq_mem_free(stages);
    if (code == INQ_NOMEM) {
        return inq_err_set(err, INQ_NOMEM, "%.239s", own.message);
    }
    if (code != INQ_OK) {
        (void)snprintf(row->problem, sizeof row->problem, "%.239s", own.message);
        return INQ_OK;
    }
    fill_row(schedule, &timing, memory_limit, row);
    inq_schedule_timing_release(&timing, schedule->n_ranks);
    return INQ_OK;
}

static int32_t chunks_of(const struct inq_schedule_spec *spec)
{
    size_t n = 0;
    const struct inq_schedule_kind *kinds = inq_schedule_kinds(&n);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(kinds[i].name, spec->kind) == 0 && kinds[i].chunks > 0) {
            return kinds[i].chunks;
        }
    }
    return spec->n_chunks > 0 ? spec->n_chunks : 2;
}

int inq_schedule_measure_kind(const struct inq_schedule_spec *spec, struct inq_schedule_row *row,
                              struct inq_err *err)
{
    struct inq_schedule schedule;
    struct inq_schedule_spec own_spec = *spec;
    struct inq_err own = {0};
    bool data_parallel = strcmp(spec->kind, "dp") == 0; /* each rank has the whole model */
    int32_t stages = chunks_of(spec) * (data_parallel ? 1 : spec->n_ranks);
    struct inq_stage_cost *told = NULL;
    *row = (struct inq_schedule_row){.n_ranks = spec->n_ranks,
                                     .n_microbatches = spec->n_microbatches,
                                     .microbatch_size = 1,
                                     .weights = 1};
    (void)snprintf(row->name, sizeof row->name, "%s", spec->kind);
    stages = stages > 0 ? stages : 1;
    int code =
        stage_costs(&spec->costs, spec->n_ranks, stages, stages, &own_spec.costs, &told, &own);
    if (code == INQ_OK) {
        code = inq_schedule_make(&own_spec, &schedule, &own);
    }
    inq_mem_free(told);
    if (code == INQ_USAGE) {
        (void)snprintf(row->problem, sizeof row->problem, "%.239s", own.message);
        return INQ_OK;
    }
    if (code != INQ_OK) {
        return inq_err_set(err, (enum inq_code)code, "%.239s", own.message);
    }
    code = inq_schedule_measure(&schedule, &spec->costs, spec->memory_limit, row, err);
    inq_schedule_release(&schedule);
    return code;
}

/* ---- all kinds ------------------------------------------------------------------------------- */

/* What fits first, then weights kept once, then the shortest. */
static int compare_rows(const void *a, const void *b, void *ctx)
{
    const struct inq_schedule_row *x = a;
    const struct inq_schedule_row *y = b;
    (void)ctx;
    bool x_made = x->problem[0] == '\0';
    bool y_made = y->problem[0] == '\0';
    if (x_made != y_made) {
        return x_made ? -1 : 1;
    }
    if (x->fits != y->fits) {
        return x->fits ? -1 : 1;
    }
    if (x->makespan_ns != y->makespan_ns) {
        return x->makespan_ns < y->makespan_ns ? -1 : 1;
    }
    return x->weights != y->weights          ? (x->weights < y->weights ? -1 : 1)
           : x->peak_memory < y->peak_memory ? -1
                                             : x->peak_memory > y->peak_memory;
}

/* One kind; a limit lets those that search place ops under it. */
static int try_kind(const struct inq_schedule_spec *spec, const char *kind, int32_t chunks,
                    struct inq_schedule_row *rows, size_t *n, struct inq_err *err)
{
    struct inq_schedule_spec own = *spec;
    struct inq_schedule_row *row = &rows[*n];
    own.kind = kind;
    own.n_chunks = chunks;
    int code = inq_schedule_measure_kind(&own, row, err);
    if (code == INQ_OK) {
        bool told = chunks > 0;
        bool searched =
            spec->memory_limit > 0.0 && (strcmp(kind, "zb-1p") == 0 || strcmp(kind, "v-half") == 0);
        if (told) {
            (void)snprintf(row->name, sizeof row->name, "%s, %" PRId32 " chunks", kind, chunks);
        } else if (searched) {
            (void)snprintf(row->name, sizeof row->name, "%s to the limit", kind);
        }
        ++*n;
    }
    return code;
}

int inq_schedule_search_kinds(const struct inq_schedule_spec *spec, struct inq_schedule_row *rows,
                              size_t *n, struct inq_err *err)
{
    enum { MOST_CHUNKS = 4 };
    size_t n_kinds = 0;
    const struct inq_schedule_kind *kinds = inq_schedule_kinds(&n_kinds);
    int code = INQ_OK;
    *n = 0;
    for (size_t i = 0; code == INQ_OK && i < n_kinds; i++) {
        bool limited = spec->memory_limit > 0.0;
        bool same = strcmp(kinds[i].name, "zb-2p") == 0 || strcmp(kinds[i].name, "v-min") == 0;
        bool other = strcmp(kinds[i].name, "dp") == 0 || strcmp(kinds[i].name, "seq1f1b") == 0;
        if (other || (limited && same)) {
            continue; /* no pipeline, or of segments; what another kind is under the same limit */
        }
        int32_t first = kinds[i].chunks > 0 ? 0 : spec->n_chunks > 0 ? spec->n_chunks : 2;
        int32_t last = kinds[i].chunks > 0 || spec->n_chunks > 0 ? first : MOST_CHUNKS;
        for (int32_t v = first; code == INQ_OK && v <= last; v++) {
            code = try_kind(spec, kinds[i].name, v, rows, n, err);
        }
    }
    return code == INQ_OK ? inq_sort(rows, *n, sizeof *rows, compare_rows, NULL, err) : code;
}

/* ---- sizes of micro-batches ------------------------------------------------------------------ */

static int64_t between(int64_t low, int64_t high, double where)
{
    return low + (int64_t)llround((double)(high - low) * where);
}

/* Times of a size within the range given; whether they had to be interpolated. */
static struct inq_stage_cost cost_of_size(const struct inq_microbatch_size *sizes, size_t n,
                                          int32_t size, bool *interpolated)
{
    size_t i = 0;
    while (i + 1 < n && sizes[i + 1].size <= size) {
        i++;
    }
    *interpolated = sizes[i].size != size;
    if (!*interpolated) {
        return sizes[i].cost;
    }
    const struct inq_microbatch_size *low = &sizes[i];
    const struct inq_microbatch_size *high = &sizes[i + 1];
    double where = (double)(size - low->size) / (double)(high->size - low->size);
    return (struct inq_stage_cost){between(low->cost.f_ns, high->cost.f_ns, where),
                                   between(low->cost.b_ns, high->cost.b_ns, where),
                                   between(low->cost.w_ns, high->cost.w_ns, where)};
}

static int best_of_size(const struct inq_schedule_spec *spec, int32_t size,
                        struct inq_schedule_row *row, struct inq_err *err)
{
    struct inq_schedule_row all[INQ_SCHEDULE_MAX_ROWS];
    struct inq_schedule_spec own = *spec;
    size_t n = 0;
    own.n_microbatches = spec->n_microbatches / size;
    own.memory_limit = spec->memory_limit / size; /* activations grow with the size */
    int code = inq_schedule_search_kinds(&own, all, &n, err);
    if (code == INQ_OK && n > 0) {
        *row = all[0];
        row->microbatch_size = size;
        row->peak_memory *= size;
    }
    return code;
}

int inq_schedule_search_sizes(const struct inq_schedule_spec *spec,
                              const struct inq_microbatch_size *sizes, size_t n_sizes,
                              struct inq_schedule_row *rows, size_t *n, struct inq_err *err)
{
    *n = 0;
    for (size_t i = 0; i < n_sizes; i++) {
        if (sizes[i].size < 1 || (i > 0 && sizes[i].size <= sizes[i - 1].size)) {
            return inq_err_set(err, INQ_USAGE, "sizes of micro-batches start at 1 and ascend");
        }
    }
    int32_t last = n_sizes > 0 ? sizes[n_sizes - 1].size : 0;
    last = last < spec->n_microbatches ? last : spec->n_microbatches;
    for (int32_t size = n_sizes > 0 ? sizes[0].size : 1; size <= last; size++) {
        if (spec->n_microbatches % size != 0) {
            continue;
        }
        struct inq_schedule_spec own = *spec;
        bool interpolated = false;
        own.costs.stage = cost_of_size(sizes, n_sizes, size, &interpolated);
        int code = best_of_size(&own, size, &rows[*n], err);
        if (code != INQ_OK) {
            return code;
        }
        rows[(*n)++].interpolated = interpolated;
    }
    return *n > 0 ? INQ_OK
                  : inq_err_set(err, INQ_USAGE, "none of the sizes divides %" PRId32 " samples",
                                spec->n_microbatches);
}
