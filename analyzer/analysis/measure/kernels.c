/* SPDX-License-Identifier: Apache-2.0 */
/* Top kernels: durations summed by kernel, operator, module and source line. */
#include "inquest/kernels.h"

#include "analysis/analysis.h"
#include "base/arena.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/sort.h"

#include <string.h>

static const size_t MAX_PAIRS = (size_t)1 << 26;

/* A kernel's name with one launch configuration: nothing finer is ever asked for. */
struct pair {
    inq_str name;
    uint32_t launch;
    uint8_t cls;
    uint64_t count;
    int64_t total_ns, min_ns, max_ns;
    int64_t rank_ns; /* on the rank at hand */
};

struct pairs {
    size_t n, cap;
    struct pair *row;
    struct inq_map by_key;
    size_t n_seen, cap_seen; /* those with rank_ns > 0 or counted on the rank at hand */
    uint32_t *seen;
    uint64_t last_key;
    uint32_t last;
};

/* Rows of one table while ranks are added. */
struct group {
    size_t n, cap;
    struct inq_kernel_row *row;
    int64_t *rank_ns; /* [cap] on the rank at hand; -1: nothing of it yet */
    size_t cap_rank;
    struct inq_map by_name;
};

/* ---- pairs ----------------------------------------------------------------------------------- */

static int find_pair(struct pairs *p, inq_str name, uint32_t launch, uint8_t cls, uint32_t *index,
                     struct inq_err *err)
{
    uint64_t key = (uint64_t)name << 32 | launch;
    if (p->n > 0 && key == p->last_key) {
        *index = p->last;
        return INQ_OK;
    }
    int code = INQ_OK;
    if (!inq_map_get(&p->by_key, key, index)) {
        code = inq_mem_grow(&p->row, &p->cap, p->n + 1, sizeof *p->row, MAX_PAIRS, err);
        if (code == INQ_OK) {
            *index = (uint32_t)p->n;
            p->row[p->n++] = (struct pair){
                .name = name, .launch = launch, .cls = cls, .min_ns = INT64_MAX, .rank_ns = -1};
            code = inq_map_put(&p->by_key, key, *index, err);
        }
    }
    p->last_key = key;
    p->last = *index;
    return code;
}

static int add_event(struct pairs *p, const struct inq_events *e, size_t i, struct inq_err *err)
{
    uint32_t index = 0;
    int code =
        find_pair(p, e->name[i], e->launch != NULL ? e->launch[i] : 0, e->cls[i], &index, err);
    if (code != INQ_OK) {
        return code;
    }
    struct pair *pair = &p->row[index];
    int64_t dur_ns = e->dur_ns[i];
    pair->count++;
    pair->total_ns += dur_ns;
    pair->min_ns = dur_ns < pair->min_ns ? dur_ns : pair->min_ns;
    pair->max_ns = dur_ns > pair->max_ns ? dur_ns : pair->max_ns;
    if (pair->rank_ns >= 0) {
        pair->rank_ns += dur_ns;
        return INQ_OK;
    }
    pair->rank_ns = dur_ns;
    code = inq_mem_grow(&p->seen, &p->cap_seen, p->n_seen + 1, sizeof *p->seen, MAX_PAIRS, err);
    if (code == INQ_OK) {
        p->seen[p->n_seen++] = index;
    }
    return code;
}

static void pairs_release(struct pairs *p)
{
    inq_mem_free(p->row);
    inq_mem_free(p->seen);
    inq_map_release(&p->by_key);
}

/* ---- groups ---------------------------------------------------------------------------------- */

static inq_str name_in(const struct inq_trace *trace, const struct pair *pair,
                       enum inq_kernels_by by)
{
    static const struct inq_launch unknown = {0};
    const struct inq_launch *launch =
        pair->launch < trace->n_launches ? &trace->launches[pair->launch] : &unknown;
    switch (by) {
    case INQ_KERNELS_BY_NAME:
        return pair->name;
    case INQ_KERNELS_BY_OPERATOR:
        return launch->op;
    case INQ_KERNELS_BY_MODULE:
        return launch->module;
    case INQ_KERNELS_BY_SOURCE:
        return launch->source;
    case INQ_KERNELS_BY_COUNT:
        break;
    }
    return 0;
}

static int find_row(struct group *g, inq_str name, uint32_t *index, struct inq_err *err)
{
    if (inq_map_get(&g->by_name, name, index)) {
        return INQ_OK;
    }
    int code = inq_mem_grow(&g->row, &g->cap, g->n + 1, sizeof *g->row, MAX_PAIRS, err);
    if (code == INQ_OK) {
        code =
            inq_mem_grow(&g->rank_ns, &g->cap_rank, g->n + 1, sizeof *g->rank_ns, MAX_PAIRS, err);
    }
    if (code == INQ_OK) {
        *index = (uint32_t)g->n;
        g->rank_ns[g->n] = -1;
        g->row[g->n++] = (struct inq_kernel_row){.name = name, .min_ns = INT64_MAX};
        code = inq_map_put(&g->by_name, name, *index, err);
    }
    return code;
}

/* What the rank at hand has of each pair goes to the rows; only rows that it has any of change. */
static int add_rank(const struct inq_trace *trace, const struct pairs *p, uint32_t rank,
                    enum inq_kernels_by by, struct group *g, struct inq_err *err)
{
    int code = INQ_OK;
    for (size_t i = 0; i < p->n_seen && code == INQ_OK; i++) {
        const struct pair *pair = &p->row[p->seen[i]];
        inq_str name = name_in(trace, pair, by);
        uint32_t row = 0;
        code = name != 0 ? find_row(g, name, &row, err) : INQ_OK;
        if (code == INQ_OK && name != 0) {
            g->rank_ns[row] = (g->rank_ns[row] < 0 ? 0 : g->rank_ns[row]) + pair->rank_ns;
        }
    }
    for (size_t i = 0; i < g->n && code == INQ_OK; i++) {
        struct inq_kernel_row *row = &g->row[i];
        int64_t ns = g->rank_ns[i];
        g->rank_ns[i] = -1;
        if (ns < 0) {
            continue;
        }
        if (row->n_ranks == 0 || ns < row->rank_least_ns) {
            row->rank_least = rank;
            row->rank_least_ns = ns;
        }
        if (row->n_ranks == 0 || ns > row->rank_most_ns) {
            row->rank_most = rank;
            row->rank_most_ns = ns;
        }
        row->n_ranks++;
    }
    return code;
}

/* Sums of all ranks. */
static int add_pairs(const struct inq_trace *trace, const struct pairs *p, enum inq_kernels_by by,
                     struct group *g, struct inq_err *err)
{
    int code = INQ_OK;
    for (size_t i = 0; i < p->n && code == INQ_OK; i++) {
        const struct pair *pair = &p->row[i];
        inq_str name = name_in(trace, pair, by);
        uint32_t index = 0;
        if (name == 0) {
            continue;
        }
        code = find_row(g, name, &index, err);
        struct inq_kernel_row *row = code == INQ_OK ? &g->row[index] : NULL;
        if (row == NULL) {
            break;
        }
        row->count += pair->count;
        row->total_ns += pair->total_ns;
        row->min_ns = pair->min_ns < row->min_ns ? pair->min_ns : row->min_ns;
        row->max_ns = pair->max_ns > row->max_ns ? pair->max_ns : row->max_ns;
        row->n_launches += pair->launch != 0;
        if (pair->total_ns > row->launch_ns || row->count == pair->count) {
            row->cls = (enum inq_op_class)pair->cls;
            row->launch = pair->launch;
            row->launch_ns = pair->total_ns;
        }
    }
    return code;
}

static int most_time_first(const void *a, const void *b, void *ctx)
{
    const struct inq_kernel_row *x = a;
    const struct inq_kernel_row *y = b;
    if (x->total_ns != y->total_ns) {
        return x->total_ns > y->total_ns ? -1 : 1;
    }
    return strcmp(inq_trace_str(ctx, x->name), inq_trace_str(ctx, y->name));
}

static int finish_table(const struct inq_trace *trace, struct group *g, int64_t total_ns,
                        struct inq_report *report, struct inq_kernel_table *out,
                        struct inq_err *err)
{
    struct inq_trace *names = (struct inq_trace *)(uintptr_t)trace; /* only read */
    int code = inq_sort(g->row, g->n, sizeof *g->row, most_time_first, names, err);
    out->rows = inq_arena_array(report->arena, g->n, sizeof *out->rows);
    if (code != INQ_OK || out->rows == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for %zu kernels", g->n);
    }
    for (size_t i = 0; i < g->n; i++) {
        out->rows[i] = g->row[i];
        out->rows[i].share = total_ns > 0 ? (double)g->row[i].total_ns / (double)total_ns : 0.0;
        out->named_ns += g->row[i].total_ns;
    }
    out->n = g->n;
    return INQ_OK;
}

/* ---- the analysis ---------------------------------------------------------------------------- */

static bool counts(const struct inq_events *e, size_t i)
{
    return e->kind[i] == INQ_EVENT_KERNEL || e->kind[i] == INQ_EVENT_MEMCPY ||
           e->kind[i] == INQ_EVENT_MEMSET;
}

/* One rank into the pairs and the tables. */
static int measure_rank(const struct inq_trace *trace, uint32_t r, struct pairs *p,
                        struct group *groups, struct inq_err *err)
{
    const struct inq_events *e = &trace->ranks[r].events;
    int code = INQ_OK;
    for (size_t i = 0; i < e->n && code == INQ_OK; i++) {
        code = counts(e, i) ? add_event(p, e, i, err) : INQ_OK;
    }
    for (int by = 0; by < INQ_KERNELS_BY_COUNT && code == INQ_OK; by++) {
        code = add_rank(trace, p, r, (enum inq_kernels_by)by, &groups[by], err);
    }
    for (size_t i = 0; i < p->n_seen; i++) {
        p->row[p->seen[i]].rank_ns = -1;
    }
    p->n_seen = 0;
    return code;
}

static int fill(const struct inq_trace *trace, const struct pairs *p, struct group *groups,
                struct inq_report *report, struct inq_err *err)
{
    struct inq_kernels *kernels = inq_arena_array(report->arena, 1, sizeof *kernels);
    if (kernels == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for kernels");
    }
    *kernels = (struct inq_kernels){0};
    for (size_t i = 0; i < p->n; i++) {
        kernels->count += p->row[i].count;
        kernels->total_ns += p->row[i].total_ns;
    }
    int code = INQ_OK;
    for (int by = 0; by < INQ_KERNELS_BY_COUNT && code == INQ_OK; by++) {
        code = add_pairs(trace, p, (enum inq_kernels_by)by, &groups[by], err);
        if (code == INQ_OK) {
            code =
                finish_table(trace, &groups[by], kernels->total_ns, report, &kernels->by[by], err);
        }
    }
    report->kernels = code == INQ_OK && p->n > 0 ? kernels : NULL;
    return code;
}

int inq_run_kernels(const struct inq_trace *trace, const struct inq_analysis_options *options,
                    struct inq_report *report, struct inq_err *err)
{
    (void)options;
    struct pairs pairs = {0};
    struct group groups[INQ_KERNELS_BY_COUNT] = {{0}};
    int code = INQ_OK;
    for (size_t r = 0; r < trace->n_ranks && code == INQ_OK; r++) {
        code = measure_rank(trace, (uint32_t)r, &pairs, groups, err);
    }
    if (code == INQ_OK) {
        code = fill(trace, &pairs, groups, report, err);
    }
    pairs_release(&pairs);
    for (int by = 0; by < INQ_KERNELS_BY_COUNT; by++) {
        inq_mem_free(groups[by].row);
        inq_mem_free(groups[by].rank_ns);
        inq_map_release(&groups[by].by_name);
    }
    return code;
}
