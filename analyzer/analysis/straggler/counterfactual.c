/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/straggler/counterfactual.h"

#include "base/mem.h"
#include "base/sort.h"
#include "trace/trace.h"

#include <math.h>
#include <string.h>

/* A run of more rows is asked by its middle step. */
static const size_t most_rows = (size_t)1 << 21;
/* Communication without its partners has its waits in its length, and so have silences of hosts
 * that waited: when that is more than this part of all, nothing can be asked. */
static const double most_alone = 0.02;

void inq_counterfactual_release(struct inq_counterfactual *counterfactual)
{
    inq_trace_graph_release(&counterfactual->g);
    inq_mem_free(counterfactual->recorded_dur_ns);
    inq_mem_free(counterfactual->step_of);
    inq_mem_free(counterfactual->ends_step);
    inq_mem_free(counterfactual->base_ns);
    *counterfactual = (struct inq_counterfactual){0};
}

static size_t count_rows(const struct inq_trace *trace)
{
    size_t n = 0;
    for (size_t r = 0; r < trace->n_ranks; r++) {
        n += trace->ranks[r].events.n + trace->ranks[r].calls.n;
    }
    return n;
}

static int alloc_times(struct inq_counterfactual *x, struct inq_err *err)
{
    size_t n = x->g.graph->n_ops;
    x->recorded_dur_ns = inq_mem_alloc(5 * (n + 1) * sizeof *x->recorded_dur_ns);
    x->step_of = inq_mem_zalloc(n + 1, sizeof *x->step_of);
    x->ends_step = inq_mem_zalloc(n + 1, sizeof *x->ends_step);
    if (x->recorded_dur_ns == NULL || x->step_of == NULL || x->ends_step == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for a run of %zu ops", n);
    }
    x->recorded_delay_ns = x->recorded_dur_ns + n;
    x->dur_ns = x->recorded_delay_ns + n;
    x->delay_ns = x->dur_ns + n;
    x->end_ns = x->delay_ns + n;
    return INQ_OK;
}

/* Durations, of members of a group from the last arrival on, and delays after what an op waits for,
 * that give the recorded times again. */
static void take_times(struct inq_counterfactual *x)
{
    const struct inq_graph *g = x->g.graph;
    int64_t origin = INT64_MAX;
    for (size_t i = 0; i < g->n_ops; i++) {
        origin = x->g.start_ns[i] < origin ? x->g.start_ns[i] : origin;
    }
    for (size_t i = 0; i < g->n_ops; i += g->members[i]) {
        size_t next = i + g->members[i];
        int64_t arrival = INT64_MIN;
        for (size_t k = i; k < next; k++) {
            arrival = x->g.start_ns[k] > arrival ? x->g.start_ns[k] : arrival;
        }
        for (size_t k = i; k < next; k++) {
            int64_t ready = g->dep_start[k] == g->dep_start[k + 1] ? origin : INT64_MIN;
            for (uint32_t d = g->dep_start[k]; d < g->dep_start[k + 1]; d++) {
                int64_t end = x->g.end_ns[g->deps[d]];
                ready = end > ready ? end : ready;
            }
            x->recorded_dur_ns[k] = x->g.end_ns[k] - arrival;
            x->recorded_delay_ns[k] = x->g.start_ns[k] - ready;
        }
    }
}

/* ---- the judged steps ------------------------------------------------------------------------ */

/* Whether all ranks that have any whole step have this one. */
static bool is_whole(const struct inq_step_stats *cells, size_t step)
{
    for (size_t r = 0; r < cells->n_ranks; r++) {
        bool any = false;
        for (size_t s = 0; s < cells->n_steps; s++) {
            any = any || inq_step_stat_at(cells, r, s)->valid;
        }
        if (any && !inq_step_stat_at(cells, r, step)->valid) {
            return false;
        }
    }
    return true;
}

/* The steps [from, to) that all ranks recorded whole; false: all that there is counts. */
static bool find_steps(const struct inq_step_stats *cells, size_t *from, size_t *to)
{
    *from = cells->first_step;
    *to = cells->one_step ? *from : cells->n_steps;
    while (*from < *to && !is_whole(cells, *from)) {
        ++*from;
    }
    while (*to > *from && !is_whole(cells, *to - 1)) {
        --*to;
    }
    return *from < *to;
}

/* By rank, when the judged steps are over, ascending: a rank has ended a step when it has ended a
 * later one. NULL: no memory. */
static int64_t *sort_step_ends(const struct inq_counterfactual *x)
{
    const struct inq_step *steps = x->trace->steps + x->first_step;
    int64_t *over = inq_mem_alloc((x->trace->n_ranks * x->n_steps + 1) * sizeof *over);
    for (size_t r = 0; over != NULL && r < x->trace->n_ranks; r++) {
        int64_t last = INT64_MIN;
        for (size_t s = 0; s < x->n_steps; s++) {
            int64_t end = steps[s].rank_end_ns[r];
            last = end != INQ_TIME_NONE && end > last ? end : last;
            over[r * x->n_steps + s] = last;
        }
    }
    return over;
}

/* The judged step in which a rank was at a time: a step is over when the next one begins. */
static int32_t step_at(const struct inq_counterfactual *x, const int64_t *over, uint32_t rank,
                       int64_t at)
{
    const struct inq_step *first = x->trace->steps + x->first_step;
    if (first->rank_start_ns[rank] != INQ_TIME_NONE && at < first->rank_start_ns[rank]) {
        return -1;
    }
    return (int32_t)inq_first_from_i64(over + rank * x->n_steps, 0, x->n_steps, at);
}

/* GPU work is in the step that launched it; a host call in that in which its rank makes it, and so
 * is work that no step launched. */
static int mark_steps(struct inq_counterfactual *x, struct inq_err *err)
{
    int64_t *over = sort_step_ends(x);
    if (over == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu steps", x->n_steps);
    }
    for (size_t i = 0; i < x->g.graph->n_ops; i++) {
        const struct inq_trace_op *what = &x->g.ops[i];
        uint32_t step = what->host ? INQ_NONE : x->trace->ranks[what->rank].events.step[what->row];
        if (step == INQ_NONE) {
            x->step_of[i] = step_at(x, over, what->rank, x->g.end_ns[i]);
        } else if (step < x->first_step) {
            x->step_of[i] = -1;
        } else {
            size_t ordinal = step - x->first_step;
            x->step_of[i] = (int32_t)(ordinal < x->n_steps ? ordinal : x->n_steps);
        }
    }
    inq_mem_free(over);
    return INQ_OK;
}

static bool is_transfer(const struct inq_counterfactual *x, size_t op)
{
    const struct inq_trace_op *what = &x->g.ops[op];
    return inq_row_is_p2p(&x->trace->ranks[what->rank], what->row);
}

/* What hosts do after their last launch delays nobody: only GPU work ends a step. And a receive
 * that is posted early ends when another stage is in the next step: transfers end none that has
 * other work. */
static int mark_ends(struct inq_counterfactual *x, struct inq_err *err)
{
    size_t n_ops = x->g.graph->n_ops;
    bool *other = inq_mem_zalloc(x->n_steps + 1, sizeof *other); /* [0]: before the judged steps */
    if (other == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu steps", x->n_steps);
    }
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < n_ops; i++) {
            if (x->g.ops[i].host || x->step_of[i] >= (int32_t)x->n_steps) {
                continue;
            }
            bool *has_other = &other[x->step_of[i] + 1];
            bool transfer = x->first_step != INQ_NONE && is_transfer(x, i);
            x->ends_step[i] = !transfer || !*has_other;
            *has_other = *has_other || !transfer;
        }
    }
    inq_mem_free(other);
    return INQ_OK;
}

void inq_counterfactual_steps(struct inq_counterfactual *counterfactual, int64_t *step_ns)
{
    int64_t *ends = counterfactual->ends_ns; /* ends[0]: of what came before the judged steps */
    ends[0] = counterfactual->begin_ns;
    for (size_t s = 1; s <= counterfactual->n_steps; s++) {
        ends[s] = INT64_MIN;
    }
    (void)inq_simulate(counterfactual->g.graph, counterfactual->dur_ns, counterfactual->delay_ns,
                       NULL, counterfactual->end_ns);
    for (size_t i = 0; i < counterfactual->g.graph->n_ops; i++) {
        int64_t *end = &ends[counterfactual->step_of[i] + 1];
        if (counterfactual->ends_step[i] && counterfactual->end_ns[i] > *end) {
            *end = counterfactual->end_ns[i];
        }
    }
    for (size_t s = 0; s < counterfactual->n_steps; s++) {
        int64_t begin_ns = ends[s] + counterfactual->gaps_ns[s];
        ends[s + 1] = ends[s + 1] > begin_ns ? ends[s + 1] : begin_ns;
        step_ns[s] = ends[s + 1] - begin_ns;
    }
}

/* When the first judged step began, mean over the ranks, counted from the first op; 0 where work is
 * recorded that came before it. */
static int64_t begin_of(const struct inq_counterfactual *x, const struct inq_step_stats *cells,
                        size_t step)
{
    int64_t origin = INT64_MAX;
    double sum_ns = 0.0;
    double n = 0.0;
    for (size_t i = 0; i < x->g.graph->n_ops; i++) {
        origin = x->g.start_ns[i] < origin ? x->g.start_ns[i] : origin;
        if (!x->g.ops[i].host && x->step_of[i] < 0) {
            return 0;
        }
    }
    for (size_t r = 0; r < cells->n_ranks; r++) {
        const struct inq_step_stat *cell = inq_step_stat_at(cells, r, step);
        sum_ns += cell->valid ? (double)(cell->start_ns - origin) : 0.0;
        n += cell->valid;
    }
    return n > 0.0 ? (int64_t)llround(sum_ns / n) : 0;
}

/* From the first start in the judged steps to the last end, as recorded. */
static int64_t length(const struct inq_counterfactual *x)
{
    int64_t from = INT64_MAX;
    int64_t to = INT64_MIN;
    for (size_t i = 0; i < x->g.graph->n_ops; i++) {
        if (!x->g.ops[i].host && inq_counterfactual_judged(x, i)) {
            from = x->g.start_ns[i] < from ? x->g.start_ns[i] : from;
            to = x->g.end_ns[i] > to ? x->g.end_ns[i] : to;
        }
    }
    return from < to ? to - from : 0;
}

/* Whether the judged steps' communication is understood: who waited for whom. */
static bool is_matched(const struct inq_counterfactual *x)
{
    const struct inq_graph *g = x->g.graph;
    double alone = 0.0;
    double all = 0.0;
    for (size_t i = 0; i < g->n_ops; i++) {
        const struct inq_trace_op *what = &x->g.ops[i];
        bool comm = !what->host && inq_counterfactual_judged(x, i) &&
                    x->trace->ranks[what->rank].events.cls[what->row] == INQ_CLASS_COMM;
        double ns = comm ? (double)(x->g.end_ns[i] - x->g.start_ns[i]) : 0.0;
        all += ns;
        alone += g->members[i] == 1 && !what->batch ? ns : 0.0;
    }
    return alone <= most_alone * all;
}

/* ---- waits that nobody recorded -------------------------------------------------------------- */

/* By rank; the arrays are parts of two. */
static void sort_work(const struct inq_counterfactual *x, struct inq_busy *of)
{
    size_t n_ranks = x->trace->n_ranks;
    size_t n_ops = x->g.graph->n_ops;
    for (size_t i = 0; i < n_ops; i++) {
        of[x->g.ops[i].rank].n += !x->g.ops[i].host;
    }
    for (size_t r = 1; r < n_ranks; r++) {
        of[r].starts = of[r - 1].starts + of[r - 1].n;
        of[r].ends = of[r - 1].ends + of[r - 1].n;
    }
    for (size_t r = 0; r < n_ranks; r++) {
        of[r].n = 0;
    }
    for (size_t i = 0; i < n_ops; i++) {
        struct inq_busy *work = &of[x->g.ops[i].rank];
        if (!x->g.ops[i].host) {
            work->starts[work->n] = x->g.start_ns[i];
            work->ends[work->n++] = x->g.end_ns[i];
        }
    }
    for (size_t r = 0; r < n_ranks; r++) {
        inq_sort_i64(of[r].starts, of[r].n);
        inq_sort_i64(of[r].ends, of[r].n);
    }
}

/* How long the host had been idle when its GPU finished all that it had just before this call: it
 * had waited for the GPU without a call that says so. */
static int64_t silent_wait(const struct inq_counterfactual *x, size_t op,
                           const struct inq_busy *work)
{
    int64_t start = x->g.start_ns[op];
    int64_t idle_from = start - x->recorded_delay_ns[op];
    int64_t end =
        x->recorded_delay_ns[op] > INQ_PROMPT_NS ? inq_busy_until(work, start) : INQ_TIME_NONE;
    return end != INQ_TIME_NONE && end > idle_from ? end - idle_from : 0;
}

/* Whether hosts wait for their GPUs unrecorded for so long that faster work would seem to leave
 * them waiting. */
static int find_silent(const struct inq_counterfactual *x, bool *silent, struct inq_err *err)
{
    size_t n_ranks = x->trace->n_ranks;
    size_t n_ops = x->g.graph->n_ops;
    struct inq_busy *of = inq_mem_zalloc(n_ranks + 1, sizeof *of);
    int64_t *times = inq_mem_alloc((2 * n_ops + 1) * sizeof *times);
    double waited = 0.0;
    int code = of != NULL && times != NULL
                   ? INQ_OK
                   : inq_err_set(err, INQ_NOMEM, "out of memory for %zu ranks", n_ranks);
    if (code == INQ_OK) {
        of[0].starts = times;
        of[0].ends = times + n_ops;
        sort_work(x, of);
    }
    for (size_t i = 0; code == INQ_OK && i < n_ops; i++) {
        if (x->g.ops[i].host && !x->g.ops[i].sync && inq_counterfactual_judged(x, i)) {
            waited += (double)silent_wait(x, i, &of[x->g.ops[i].rank]);
        }
    }
    *silent = waited > most_alone * (double)n_ranks * (double)length(x);
    inq_mem_free(of);
    inq_mem_free(times);
    return code;
}

/* ---- all together ---------------------------------------------------------------------------- */

/* Whether waits can be followed; the problem is told otherwise. */
static int check(struct inq_counterfactual *x, struct inq_err *err)
{
    bool silent = false;
    int code = INQ_OK;
    x->unmatched = !is_matched(x);
    if (x->unmatched) {
        x->problem = "too much of the communication has no partner in the traces";
    } else {
        take_times(x);
        code = find_silent(x, &silent, err);
        x->problem = silent ? "hosts wait for their GPUs without a call that says so" : "";
    }
    return code;
}

/* In a reduced trace, what lies between the end of a step and the beginning of the next one that is
 * there: as long after any repair, because nothing is known of it. */
static void find_gaps(struct inq_counterfactual *x, const struct inq_step_stats *cells)
{
    for (size_t s = 1; s < x->n_steps && x->trace->reduced != NULL; s++) {
        const struct inq_step *step = &x->trace->steps[x->first_step + s];
        int64_t end_ns = INT64_MIN;
        int64_t begin_ns = INT64_MIN;
        for (size_t r = 0; r < cells->n_ranks; r++) {
            const struct inq_step_stat *before = inq_step_stat_at(cells, r, x->first_step + s - 1);
            const struct inq_step_stat *cell = inq_step_stat_at(cells, r, x->first_step + s);
            end_ns = before->valid && before->end_ns > end_ns ? before->end_ns : end_ns;
            begin_ns = cell->valid && cell->start_ns > begin_ns ? cell->start_ns : begin_ns;
        }
        if (step->number != step[-1].number + 1 && end_ns != INT64_MIN && begin_ns > end_ns) {
            x->gaps_ns[s] = begin_ns - end_ns;
        }
    }
}

static int choose_steps(struct inq_counterfactual *x, const struct inq_step_stats *cells,
                        bool large, struct inq_err *err)
{
    size_t from = 0;
    size_t to = 0;
    x->n_steps = 1;
    if (!large && x->trace->n_steps > 0 && find_steps(cells, &from, &to)) {
        x->first_step = (uint32_t)from;
        x->n_steps = to - from;
        int code = mark_steps(x, err);
        if (code != INQ_OK) {
            return code;
        }
    }
    x->base_ns = inq_mem_zalloc(3 * x->n_steps + 1, sizeof *x->base_ns);
    if (x->base_ns == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu steps", x->n_steps);
    }
    x->gaps_ns = x->base_ns + x->n_steps;
    x->ends_ns = x->gaps_ns + x->n_steps;
    find_gaps(x, cells);
    return mark_ends(x, err);
}

/* The first judged step as a column of the cells. */
static size_t first_cell(const struct inq_counterfactual *x, const struct inq_step_stats *cells)
{
    return x->first_step != INQ_NONE ? x->first_step : cells->one_step ? 0 : cells->n_steps / 2;
}

int inq_counterfactual_init(const struct inq_trace *trace, const struct inq_step_stats *cells,
                            struct inq_counterfactual *counterfactual, struct inq_err *err)
{
    *counterfactual =
        (struct inq_counterfactual){.trace = trace, .first_step = INQ_NONE, .problem = ""};
    bool large = count_rows(trace) > most_rows && trace->n_steps > 0;
    uint32_t step = large ? (uint32_t)(trace->n_steps / 2) : INQ_NONE;
    int code = inq_trace_graph_make(trace, step, &counterfactual->g, err);
    if (code != INQ_OK) {
        return code;
    }
    if (counterfactual->g.graph->n_ops == 0) {
        counterfactual->problem = "no GPU work is recorded";
        return INQ_OK;
    }
    code = alloc_times(counterfactual, err);
    if (code == INQ_OK) {
        code = choose_steps(counterfactual, cells, large, err);
    }
    if (code == INQ_OK) {
        code = check(counterfactual, err);
    }
    if (code == INQ_OK && counterfactual->problem[0] == '\0') {
        inq_counterfactual_reset(counterfactual);
        counterfactual->begin_ns =
            begin_of(counterfactual, cells, first_cell(counterfactual, cells));
        inq_counterfactual_steps(counterfactual, counterfactual->base_ns);
    } else {
        counterfactual->n_steps = 0;
    }
    return code;
}

void inq_counterfactual_reset(struct inq_counterfactual *counterfactual)
{
    size_t size = counterfactual->g.graph->n_ops * sizeof *counterfactual->dur_ns;
    memcpy(counterfactual->dur_ns, counterfactual->recorded_dur_ns, size);
    memcpy(counterfactual->delay_ns, counterfactual->recorded_delay_ns, size);
}
