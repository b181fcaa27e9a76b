/* SPDX-License-Identifier: Apache-2.0 */
/* The critical path of the step of median length, over all ranks: of labeled ops, else of the GPU
 * work and host calls of a recorded run. */
#include "analysis/account/account.h"
#include "analysis/analysis.h"
#include "analysis/whatif/whatif.h"
#include "base/arena.h"
#include "base/mem.h"
#include "base/sort.h"
#include "base/stats.h"
#include "graph/graph.h"
#include "graph/optable/optable.h"

#include <string.h>

/* Segments kept for the report, and ops beyond which a path is not worth its memory. */
enum { MAX_SEGMENTS = 1000 };
static const size_t max_ops = (size_t)1 << 23;

/* Recorded times of labeled ops are rounded to about this. */
static const int64_t rounding_ns = 100000;

enum kind { COMPUTE, TRANSFER, COPY, LAUNCH, HOST, GAP, KINDS };

static const char *const kind_text[] = {"compute", "transfer", "copy", "launch", "host", "gap"};

/* A graph that has run, whatever it was made of. */
struct source {
    const struct inq_trace *trace;
    const struct inq_graph *graph;
    struct inq_timing timing;
    int64_t origin_ns;                 /* of the step, on the timing's clock */
    int64_t shift_ns;                  /* from the timing's clock to the trace's */
    int64_t step;                      /* recorded number, -1 none */
    const struct inq_op_model *model;  /* labeled ops; NULL: */
    const struct inq_trace_op *events; /* recorded ones */
    /* Each rank begins when its cell of step `at` does; NULL: at the origin. */
    const struct inq_account *account;
    uint32_t at;
};

struct work {
    struct source *s;
    struct inq_report *report;
    struct inq_critical_path *out;
    struct inq_path path;
    uint8_t *on_path;  /* [n_ops] */
    int64_t *slack_ns; /* [n_ops] */
};

static int no_memory(struct inq_err *err)
{
    return inq_err_set(err, INQ_NOMEM, "out of memory for the critical path");
}

/* ---- what an op is --------------------------------------------------------------------------- */

static uint32_t rank_of(const struct source *s, uint32_t op)
{
    return s->model != NULL ? s->model->worker_rank[inq_op_worker(s->model, op)]
                            : s->events[op].rank;
}

static enum kind kind_of(const struct source *s, const struct inq_path_piece *piece)
{
    uint32_t op = piece->op;
    bool host = s->events != NULL && s->events[op].host;
    if (!piece->delay) {
        uint8_t cls = s->graph->op[op].cls;
        return host                    ? LAUNCH
               : cls == INQ_CLASS_COMM ? TRANSFER
               : cls == INQ_CLASS_COPY ? COPY
                                       : COMPUTE;
    }
    if (host) {
        return s->events[op].sync ? GAP : HOST;
    }
    uint32_t latest = INQ_NONE;
    for (uint32_t d = s->graph->dep_start[op]; d < s->graph->dep_start[op + 1]; d++) {
        uint32_t dep = s->graph->deps[d];
        latest =
            latest == INQ_NONE || s->timing.end_ns[dep] > s->timing.end_ns[latest] ? dep : latest;
    }
    bool launched = s->events != NULL && latest != INQ_NONE && s->events[latest].host;
    return launched ? LAUNCH : GAP;
}

static const char *name_of(const struct source *s, uint32_t op)
{
    if (s->model != NULL) {
        return inq_op_type_text((enum inq_op_type)s->graph->op[op].type);
    }
    const struct inq_trace_op *what = &s->events[op];
    const struct inq_rank *rank = &s->trace->ranks[what->rank];
    inq_str name = what->host ? rank->calls.name[what->row] : rank->events.name[what->row];
    return inq_trace_str(s->trace, name);
}

/* ---- sums ------------------------------------------------------------------------------------ */

static int sum_stages(struct work *w, struct inq_err *err)
{
    const struct source *s = w->s;
    size_t n = s->model != NULL ? s->model->n_stages : 0;
    w->out->n_by_stage = n;
    w->out->by_stage = inq_arena_array(w->report->arena, n, sizeof *w->out->by_stage);
    if (w->out->by_stage == NULL) {
        return no_memory(err);
    }
    for (size_t k = 0; k < n; k++) {
        w->out->by_stage[k].cause =
            inq_arena_asprintf(w->report->arena, "%d", s->model->stage_number[k]);
        if (w->out->by_stage[k].cause == NULL) {
            return no_memory(err);
        }
    }
    for (size_t i = 0; n > 0 && i < w->path.n; i++) {
        const struct inq_path_piece *p = &w->path.pieces[i];
        w->out->by_stage[s->graph->op[p->op].stage].ns_per_step += p->to_ns - p->from_ns;
    }
    return INQ_OK;
}

static int sum_path(struct work *w, struct inq_err *err)
{
    struct inq_critical_path *out = w->out;
    int64_t by_kind[KINDS] = {0};
    out->n_by_rank = w->s->trace->n_ranks;
    out->by_rank_ns = inq_arena_array(w->report->arena, out->n_by_rank, sizeof *out->by_rank_ns);
    out->by_kind = inq_arena_array(w->report->arena, KINDS, sizeof *out->by_kind);
    if (out->by_rank_ns == NULL || out->by_kind == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0; i < w->path.n; i++) {
        const struct inq_path_piece *p = &w->path.pieces[i];
        by_kind[kind_of(w->s, p)] += p->to_ns - p->from_ns;
        out->by_rank_ns[rank_of(w->s, p->op)] += p->to_ns - p->from_ns;
        out->length_ns += p->to_ns - p->from_ns;
    }
    for (int k = 0; k < KINDS; k++) {
        if (by_kind[k] > 0) {
            out->by_kind[out->n_by_kind++] = (struct inq_waterfall_part){kind_text[k], by_kind[k]};
        }
    }
    return sum_stages(w, err);
}

/* ---- segments -------------------------------------------------------------------------------- */

/* Longest first; of equally long ones the first. */
static int compare_segments(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    const struct inq_path_segment *x = a;
    const struct inq_path_segment *y = b;
    int64_t x_ns = x->end_ns - x->start_ns;
    int64_t y_ns = y->end_ns - y->start_ns;
    return x_ns > y_ns ? -1 : x_ns < y_ns;
}

/* Pieces i .. end - 1, all of one rank and kind, as one segment named after the longest. */
static int add_segment(struct work *w, size_t i, size_t end, struct inq_err *err)
{
    const struct source *s = w->s;
    size_t longest = i;
    for (size_t k = i; k < end; k++) {
        const struct inq_path_piece *p = &w->path.pieces[k];
        const struct inq_path_piece *best = &w->path.pieces[longest];
        longest = p->to_ns - p->from_ns > best->to_ns - best->from_ns ? k : longest;
    }
    const char *name = name_of(s, w->path.pieces[longest].op);
    const char *what = name;
    if (end - i > 1) {
        what = inq_arena_asprintf(w->report->arena, "%s and %zu more", name, end - i - 1);
    } else if (w->path.pieces[i].delay) {
        what = inq_arena_asprintf(w->report->arena, "before %s", name);
    }
    if (what == NULL) {
        return no_memory(err);
    }
    w->out->segments[w->out->n_segments++] = (struct inq_path_segment){
        s->trace->ranks[rank_of(s, w->path.pieces[i].op)].rank,
        kind_text[kind_of(s, &w->path.pieces[i])], what, w->path.pieces[i].from_ns + s->shift_ns,
        w->path.pieces[end - 1].to_ns + s->shift_ns};
    return INQ_OK;
}

static int list_segments(struct work *w, struct inq_err *err)
{
    struct inq_critical_path *out = w->out;
    out->segments = inq_arena_array(w->report->arena, w->path.n, sizeof *out->segments);
    int code = out->segments != NULL ? INQ_OK : no_memory(err);
    for (size_t i = 0; code == INQ_OK && i < w->path.n;) {
        const struct inq_path_piece *first = &w->path.pieces[i];
        size_t end = i + 1;
        while (end < w->path.n &&
               rank_of(w->s, w->path.pieces[end].op) == rank_of(w->s, first->op) &&
               kind_of(w->s, &w->path.pieces[end]) == kind_of(w->s, first)) {
            end++;
        }
        code = add_segment(w, i, end, err);
        i = end;
    }
    if (code == INQ_OK) {
        code = inq_sort(out->segments, out->n_segments, sizeof *out->segments, compare_segments,
                        NULL, err);
    }
    for (; out->n_segments > MAX_SEGMENTS; out->n_segments--) {
        const struct inq_path_segment *last = &out->segments[out->n_segments - 1];
        out->left_out_ns += last->end_ns - last->start_ns;
        out->n_segments_left_out++;
    }
    return code;
}

/* ---- slack ----------------------------------------------------------------------------------- */

static bool counts_for_slack(const struct work *w, uint32_t op)
{
    return !w->on_path[op] && (w->s->events == NULL || !w->s->events[op].host);
}

/* Slack of each rank's ops off the path. */
static int sum_slack(struct work *w, struct inq_err *err)
{
    const struct source *s = w->s;
    size_t n_ranks = s->trace->n_ranks;
    size_t *start = inq_mem_zalloc(n_ranks + 2, sizeof *start);
    int64_t *value = inq_mem_alloc(s->graph->n_ops * sizeof *value);
    struct inq_rank_slack *out = inq_arena_array(w->report->arena, n_ranks, sizeof *out);
    if (start == NULL || value == NULL || out == NULL) {
        inq_mem_free(start);
        inq_mem_free(value);
        return no_memory(err);
    }
    for (uint32_t i = 0; i < s->graph->n_ops; i++) {
        start[rank_of(s, i) + 2] += counts_for_slack(w, i);
    }
    for (size_t r = 1; r < n_ranks + 2; r++) {
        start[r] += start[r - 1];
    }
    for (uint32_t i = 0; i < s->graph->n_ops; i++) {
        if (counts_for_slack(w, i)) {
            value[start[rank_of(s, i) + 1]++] = w->slack_ns[i];
        }
    }
    for (uint32_t r = 0; r < n_ranks; r++) {
        size_t n = start[r + 1] - start[r];
        int64_t *own = value + start[r];
        inq_sort_i64(own, n);
        out[r] = (struct inq_rank_slack){r, w->out->by_rank_ns[r], n > 0 ? own[0] : -1,
                                         n > 0 ? inq_median_of_sorted_i64(own, n) : -1};
    }
    w->out->n_slack = n_ranks;
    w->out->slack = out;
    inq_mem_free(start);
    inq_mem_free(value);
    return INQ_OK;
}

/* ---- a path from a source -------------------------------------------------------------------- */

static uint32_t last_to_end(const struct source *s)
{
    uint32_t last = 0;
    for (uint32_t i = 0; i < s->graph->n_ops; i++) {
        bool host = s->events != NULL && s->events[i].host;
        bool later = s->timing.end_ns[i] > s->timing.end_ns[last] ||
                     (s->events != NULL && s->events[last].host);
        last = !host && later ? i : last;
    }
    return last;
}

/* When the rank on which the path begins began its step. */
static int64_t own_begin(const struct source *s, const struct inq_path *path)
{
    uint32_t rank = path->n > 0 ? rank_of(s, path->pieces[0].op) : INQ_NONE;
    if (s->account == NULL || rank >= s->account->n_ranks) {
        return s->origin_ns;
    }
    const struct inq_account_cell *cell = inq_account_cell_at(s->account, rank, s->at);
    return cell->whole && cell->start_ns > s->origin_ns ? cell->start_ns : s->origin_ns;
}

static int find_path(const struct source *s, struct inq_path *path, struct inq_err *err)
{
    uint32_t last = last_to_end(s);
    int code = inq_path_find(s->graph, &s->timing, last, s->origin_ns, path, err);
    int64_t begin_ns = code == INQ_OK ? own_begin(s, path) : s->origin_ns;
    if (begin_ns > s->origin_ns) {
        inq_path_release(path);
        *path = (struct inq_path){0};
        code = inq_path_find(s->graph, &s->timing, last, begin_ns, path, err);
    }
    return code;
}

static int report_path(struct source *s, struct inq_report *report, struct inq_err *err)
{
    struct work w = {.s = s, .report = report};
    size_t n = s->graph->n_ops;
    w.out = inq_arena_alloc(report->arena, sizeof *w.out);
    w.on_path = inq_mem_zalloc(n, sizeof *w.on_path);
    w.slack_ns = inq_mem_alloc(n * sizeof *w.slack_ns);
    int code = INQ_OK;
    if (w.out == NULL || w.on_path == NULL || w.slack_ns == NULL) {
        code = no_memory(err);
        goto out;
    }
    code = find_path(s, &w.path, err);
    if (code != INQ_OK || w.path.n == 0) {
        goto out;
    }
    w.out->step = s->step;
    w.out->start_ns = w.path.pieces[0].from_ns + s->shift_ns;
    for (size_t i = 0; i < w.path.n; i++) {
        w.on_path[w.path.pieces[i].op] = 1;
    }
    inq_slack_find(s->graph, &s->timing, w.slack_ns);
    code = sum_path(&w, err);
    if (code == INQ_OK) {
        code = list_segments(&w, err);
    }
    if (code == INQ_OK) {
        code = sum_slack(&w, err);
    }
    if (code == INQ_OK) {
        report->critical_path = w.out;
    }
out:
    inq_path_release(&w.path);
    inq_mem_free(w.on_path);
    inq_mem_free(w.slack_ns);
    return code;
}

/* ---- sources --------------------------------------------------------------------------------- */

/* The step of median length (of an even number the shorter of the middle two). */
static int median_step(const int64_t *length_ns, size_t n, size_t *step, struct inq_err *err)
{
    int64_t *sorted = inq_mem_alloc(n * sizeof *sorted);
    if (sorted == NULL) {
        return no_memory(err);
    }
    memcpy(sorted, length_ns, n * sizeof *sorted);
    int64_t median = inq_lower_median_i64(sorted, n);
    *step = 0;
    while (length_ns[*step] != median) {
        (*step)++;
    }
    inq_mem_free(sorted);
    return INQ_OK;
}

/* For each op the one of its worker that ended last before it began (or hardly after: times are
 * rounded): a receive is not posted while the worker computes something else. */
static int find_before(const struct inq_op_model *m, const int64_t *start_ns, const int64_t *end_ns,
                       uint32_t *before, struct inq_err *err)
{
    size_t n = m->graph->n_ops;
    size_t workers = m->n_dp * m->n_stages;
    uint32_t *by_end = inq_mem_alloc(n * sizeof *by_end);
    uint32_t *by_start = inq_mem_alloc(n * sizeof *by_start);
    uint32_t *last = inq_mem_alloc(workers * sizeof *last);
    uint32_t *ended = inq_mem_alloc(n * sizeof *ended); /* the one that ended before */
    bool memory = by_end != NULL && by_start != NULL && last != NULL && ended != NULL;
    int code = memory ? INQ_OK : no_memory(err);
    if (code == INQ_OK) {
        code = inq_sort_order_i64(end_ns, n, by_end, err);
    }
    if (code == INQ_OK) {
        code = inq_sort_order_i64(start_ns, n, by_start, err);
    }
    if (code == INQ_OK) {
        memset(last, 0xff, workers * sizeof *last);
        for (size_t s = 0, e = 0; s < n; s++) {
            uint32_t op = by_start[s];
            for (; e < n && end_ns[by_end[e]] <= start_ns[op] + rounding_ns; e++) {
                uint32_t *own = &last[inq_op_worker(m, by_end[e])];
                ended[by_end[e]] = *own;
                *own = by_end[e];
            }
            before[op] = last[inq_op_worker(m, op)];
            while (before[op] != INQ_NONE && start_ns[before[op]] >= start_ns[op]) {
                before[op] = ended[before[op]];
            }
        }
    }
    inq_mem_free(by_end);
    inq_mem_free(by_start);
    inq_mem_free(last);
    inq_mem_free(ended);
    return code;
}

static int path_of_model(const struct inq_trace *trace, const struct inq_op_model *m,
                         struct inq_report *report, struct inq_err *err)
{
    size_t n = m->graph->n_ops;
    size_t t = 0;
    int code = median_step(m->recorded_ns, m->n_steps, &t, err);
    int64_t *times = inq_mem_alloc(2 * n * sizeof *times);
    uint32_t *before = inq_mem_alloc(n * sizeof *before);
    if (code == INQ_OK && (times == NULL || before == NULL)) {
        code = no_memory(err);
    }
    if (code != INQ_OK) {
        goto out;
    }
    for (size_t i = 0; i < n; i++) {
        times[i] = m->start_ns[i * m->stride + t];
        times[n + i] = m->end_ns[i * m->stride + t];
    }
    code = find_before(m, times, times + n, before, err);
    if (code == INQ_OK) {
        struct source s = {.trace = trace,
                           .graph = m->graph,
                           .timing = {times, times + n, before},
                           .shift_ns = m->origin_ns[t],
                           .step = m->step[t],
                           .model = m};
        code = report_path(&s, report, err);
    }
out:
    inq_mem_free(times);
    inq_mem_free(before);
    return code;
}

static size_t count_rows(const struct inq_trace *trace)
{
    size_t n = 0;
    for (size_t r = 0; r < trace->n_ranks; r++) {
        n += trace->ranks[r].events.n + trace->ranks[r].calls.n;
    }
    return n;
}

/* The earliest begin of the trace. */
static int64_t begin_of(const struct inq_trace *trace)
{
    int64_t begin = INT64_MAX;
    for (size_t r = 0; r < trace->n_ranks; r++) {
        int64_t own = trace->ranks[r].first_ns;
        begin = own != INQ_TIME_NONE && own < begin ? own : begin;
    }
    return begin;
}

static int path_of_trace(const struct inq_trace *trace, struct inq_report *report,
                         struct inq_err *err)
{
    uint32_t step = INQ_NONE;
    if (trace->n_steps > 0 && report->account != NULL) {
        step = inq_account_median_step(report->account);
    }
    size_t steps = trace->n_steps > 0 ? trace->n_steps : 1;
    if ((step != INQ_NONE && inq_step_is_apart(trace, step)) ||
        count_rows(trace) / steps > max_ops) {
        return INQ_OK;
    }
    struct inq_trace_graph g;
    int code = inq_trace_graph_make(trace, step, &g, err);
    if (code == INQ_OK && g.graph->n_ops > 0) {
        struct source s = {.trace = trace,
                           .graph = g.graph,
                           .timing = {g.start_ns, g.end_ns, NULL},
                           .origin_ns =
                               step != INQ_NONE ? report->step_start_ns[step] : begin_of(trace),
                           .account = step != INQ_NONE ? report->account : NULL,
                           .at = step,
                           .step = step != INQ_NONE ? trace->steps[step].number : -1,
                           .events = g.ops};
        code = report_path(&s, report, err);
    }
    if (code == INQ_OK && report->critical_path != NULL) {
        report->critical_path->contradictions = g.contradictions;
    }
    inq_trace_graph_release(&g);
    return code;
}

int inq_run_critical_path(const struct inq_trace *trace, const struct inq_analysis_options *options,
                          struct inq_report *report, struct inq_err *err)
{
    (void)options;
    const struct inq_op_model *model = NULL;
    int code = inq_op_model_shared(trace, report, &model, err);
    if (code != INQ_OK) {
        return code;
    }
    return model != NULL ? path_of_model(trace, model, report, err)
                         : path_of_trace(trace, report, err);
}
