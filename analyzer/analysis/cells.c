/* SPDX-License-Identifier: Apache-2.0 */
/* The table of ranks and steps: windows from the ends of GPU work, and what filled them. */
#include "analysis/cells.h"

#include "analysis/row_merge.h"
#include "analysis/time_breakdown.h"
#include "base/mem.h"
#include "base/par.h"
#include "base/stats.h"

#include <string.h>

/* A cell whose number of pieces of work is off by more than this part of what the rank and the step
 * let expect was not captured whole. */
#define WHOLE_TOLERANCE 0.1

void inq_cells_release(struct inq_cells *cells)
{
    inq_mem_free(cells->at);
    *cells = (struct inq_cells){0};
}

/* Ranks began a step together when it is equally long on all of them, but for this part. */
#define TOGETHER 0.01

struct builder {
    const struct inq_trace *trace;
    struct inq_cells *cells;
    int64_t from_ns, to_ns; /* one_step: the time that all ranks captured */
};

/* First start and last end of the rank's work in each step, INQ_TIME_NONE where it has none, and
 * how much there is. */
static void find_step_ends(const struct inq_rank *rank, struct inq_cell *row, size_t n_steps)
{
    const struct inq_events *events = &rank->events;

    for (size_t s = 0; s < n_steps; s++) {
        row[s].start_ns = INQ_TIME_NONE;
        row[s].end_ns = INQ_TIME_NONE;
    }
    for (size_t i = 0; i < events->n; i++) {
        if (events->step[i] >= n_steps || !inq_row_is_work(events, i)) {
            continue;
        }
        struct inq_cell *cell = &row[events->step[i]];
        int64_t end_ns = events->start_ns[i] + events->dur_ns[i];
        cell->work++;
        if (cell->start_ns == INQ_TIME_NONE || events->start_ns[i] < cell->start_ns) {
            cell->start_ns = events->start_ns[i];
        }
        if (cell->end_ns == INQ_TIME_NONE || end_ns > cell->end_ns) {
            cell->end_ns = end_ns;
        }
    }
}

/* Makes windows that follow each other of the steps' first starts and last ends: a step begins
 * where the one before ended, or where the host began it when none was captured before. */
static void set_step_windows(const struct inq_trace *trace, size_t r, struct inq_cell *row)
{
    int64_t before_ns = INQ_TIME_NONE;
    int64_t number = 0;

    for (size_t s = 0; s < trace->n_steps; s++) {
        const struct inq_step *step = &trace->steps[s];
        struct inq_cell *cell = &row[s];
        if (cell->end_ns == INQ_TIME_NONE) {
            continue;
        }
        int64_t host_ns = step->rank_start_ns ? step->rank_start_ns[r] : INQ_TIME_NONE;
        bool follows = before_ns != INQ_TIME_NONE && step->number == number + 1;
        int64_t start_ns = cell->start_ns;
        if (follows) {
            start_ns = before_ns;
        } else if (host_ns != INQ_TIME_NONE && host_ns < start_ns) {
            start_ns = host_ns;
        }
        if (before_ns != INQ_TIME_NONE && start_ns < before_ns) {
            start_ns = before_ns;
        }
        cell->start_ns = start_ns;
        cell->valid = cell->end_ns > start_ns;
        if (cell->valid) {
            before_ns = cell->end_ns;
            number = step->number;
        }
    }
}

/* Steps of an op table lie one after the other and are the same for all ranks. */
static void set_shared_windows(const struct inq_trace *trace, struct inq_cell *row)
{
    int64_t before_ns = INQ_TIME_NONE;

    for (size_t s = 0; s < trace->n_steps; s++) {
        const struct inq_step *step = &trace->steps[s];
        bool worked = row[s].end_ns != INQ_TIME_NONE;
        row[s].start_ns = step->start_ns;
        row[s].end_ns = step->end_ns;
        row[s].valid = worked && step->end_ns > step->start_ns &&
                       (before_ns == INQ_TIME_NONE || step->start_ns >= before_ns);
        before_ns = step->end_ns;
    }
}

static int fill_row(const struct inq_rank *rank, struct inq_cell *row, size_t n_steps,
                    struct inq_err *err)
{
    struct inq_interval *windows = inq_mem_alloc((n_steps + 1) * sizeof(*windows));
    struct inq_rank_time *times = inq_mem_zalloc(n_steps + 1, sizeof(*times));
    size_t n = 0;
    int code = INQ_OK;

    if (!windows || !times) {
        code = inq_err_set(err, INQ_NOMEM, "no memory for %zu steps", n_steps);
    }
    for (size_t s = 0; code == INQ_OK && s < n_steps; s++) {
        if (row[s].valid) {
            windows[n++] = (struct inq_interval){row[s].start_ns, row[s].end_ns};
        }
    }
    if (code == INQ_OK && n > 0) {
        code = inq_rank_time_windows(rank, windows, n, times, err);
    }
    n = 0;
    for (size_t s = 0; code == INQ_OK && s < n_steps; s++) {
        if (row[s].valid) {
            const struct inq_rank_time *t = &times[n++];
            row[s].compute_ns = t->compute_ns;
            row[s].comm_ns = t->exposed_comm_ns;
            row[s].copy_ns = t->exposed_memcpy_ns;
            row[s].host_ns = t->idle_causes_known ? t->idle_host_ns : 0;
            row[s].other_ns = t->idle_ns - row[s].host_ns;
        }
    }
    inq_mem_free(windows);
    inq_mem_free(times);
    return code;
}

static int build_rank(void *ctx, size_t r, struct inq_err *err)
{
    struct builder *b = ctx;
    struct inq_cells *cells = b->cells;
    struct inq_cell *row = &cells->at[r * cells->n_steps];
    struct inq_interval span;

    if (cells->one_step) {
        *row = (struct inq_cell){.start_ns = b->from_ns, .end_ns = b->to_ns};
        row->valid = inq_rank_work_span(&b->trace->ranks[r], &span) && b->to_ns > b->from_ns;
    } else {
        find_step_ends(&b->trace->ranks[r], row, cells->n_steps);
        if (cells->op_table) {
            set_shared_windows(b->trace, row);
        } else {
            set_step_windows(b->trace, r, row);
        }
    }
    return fill_row(&b->trace->ranks[r], row, cells->n_steps, err);
}

static void find_common_span(struct builder *b)
{
    struct inq_interval span;
    bool any = false;

    for (size_t r = 0; r < b->trace->n_ranks; r++) {
        if (!inq_rank_work_span(&b->trace->ranks[r], &span)) {
            continue;
        }
        b->from_ns = !any || span.start > b->from_ns ? span.start : b->from_ns;
        b->to_ns = !any || span.end < b->to_ns ? span.end : b->to_ns;
        any = true;
    }
}

/* A rank's usual amount of work: median over its steps. */
static double usual_work(const struct inq_cells *cells, size_t r, double *scratch)
{
    size_t n = 0;

    for (size_t s = 0; s < cells->n_steps; s++) {
        const struct inq_cell *cell = inq_cell_at(cells, r, s);
        if (cell->valid) {
            scratch[n++] = (double)cell->work;
        }
    }
    return n > 0 ? inq_median(scratch, n) : 0.0;
}

/* Drops cells that were cut: compared with what is usual for the rank, and with how much the step
 * differs from the usual on the other ranks (an evaluation step is another step on all of them). */
static int drop_cut_cells(struct inq_cells *cells, struct inq_err *err)
{
    size_t most = cells->n_ranks > cells->n_steps ? cells->n_ranks : cells->n_steps;
    double *usual = inq_mem_alloc((cells->n_ranks + 1) * sizeof(*usual));
    double *scratch = inq_mem_alloc((most + 1) * sizeof(*scratch));
    int code = INQ_OK;

    if (!usual || !scratch) {
        code = inq_err_set(err, INQ_NOMEM, "no memory for %zu ranks", cells->n_ranks);
    }
    for (size_t r = 0; code == INQ_OK && r < cells->n_ranks; r++) {
        usual[r] = usual_work(cells, r, scratch);
    }
    for (size_t s = 0; code == INQ_OK && s < cells->n_steps; s++) {
        size_t n = 0;
        for (size_t r = 0; r < cells->n_ranks; r++) {
            if (inq_cell_at(cells, r, s)->valid && usual[r] > 0.0) {
                scratch[n++] = (double)inq_cell_at(cells, r, s)->work / usual[r];
            }
        }
        double step_ratio = n > 0 ? inq_median(scratch, n) : 1.0;
        for (size_t r = 0; r < cells->n_ranks; r++) {
            struct inq_cell *cell = &cells->at[r * cells->n_steps + s];
            double off = (double)cell->work - usual[r] * step_ratio;
            double limit = WHOLE_TOLERANCE * usual[r] * step_ratio;
            cell->valid = cell->valid && off <= limit && off >= -limit;
        }
    }
    inq_mem_free(usual);
    inq_mem_free(scratch);
    return code;
}

/* Whether the first step can be judged like the others: all ranks began it together, as their steps
 * being equally long shows, and it does not bear the profiler's start. */
static int judge_first_step(struct inq_cells *cells, struct inq_err *err)
{
    size_t room = cells->n_ranks * cells->n_steps + 1;
    int64_t *lengths = inq_mem_alloc(room * sizeof(*lengths));
    int64_t shortest = INT64_MAX;
    int64_t longest = 0;
    size_t n = 0;

    if (!lengths) {
        return inq_err_set(err, INQ_NOMEM, "no memory for %zu steps", cells->n_steps);
    }
    for (size_t r = 0; r < cells->n_ranks; r++) {
        for (size_t s = 0; s < cells->n_steps; s++) {
            const struct inq_cell *cell = inq_cell_at(cells, r, s);
            int64_t length = cell->end_ns - cell->start_ns;
            if (cell->valid && s > 0) {
                lengths[n++] = length;
            } else if (cell->valid) {
                shortest = length < shortest ? length : shortest;
                longest = length > longest ? length : longest;
            }
        }
    }
    double usual = (double)inq_median_i64(lengths, n);
    bool together = (double)(longest - shortest) <= TOGETHER * usual;
    cells->first_step = together && (double)longest <= (1.0 + WHOLE_TOLERANCE) * usual ? 0 : 1;
    inq_mem_free(lengths);
    return INQ_OK;
}

static bool has_labels(const struct inq_trace *trace)
{
    for (size_t r = 0; r < trace->n_ranks; r++) {
        if (trace->ranks[r].events.label) {
            return true;
        }
    }
    return false;
}

int inq_cells_build(const struct inq_trace *trace, int jobs, struct inq_cells *cells,
                    struct inq_err *err)
{
    struct builder b = {.trace = trace, .cells = cells};

    *cells = (struct inq_cells){.n_ranks = trace->n_ranks, .n_steps = trace->n_steps};
    cells->op_table = has_labels(trace);
    if (trace->n_steps == 0) {
        cells->n_steps = 1;
        cells->one_step = true;
        find_common_span(&b);
    }
    cells->at = inq_mem_zalloc(cells->n_ranks * cells->n_steps + 1, sizeof(*cells->at));
    if (!cells->at) {
        return inq_err_set(err, INQ_NOMEM, "no memory for %zu ranks in %zu steps", cells->n_ranks,
                           cells->n_steps);
    }
    int code = inq_par_for(trace->n_ranks, jobs, build_rank, &b, err);
    if (code == INQ_OK && !cells->one_step) {
        code = drop_cut_cells(cells, err);
    }
    if (code == INQ_OK && cells->n_steps >= 3 && !cells->op_table) {
        code = judge_first_step(cells, err);
    }
    return code;
}
