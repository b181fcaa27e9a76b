/* SPDX-License-Identifier: Apache-2.0 */
/* Laying the steps of a rank side by side, kernel by kernel. */
#include "analysis/measure/intra_step.h"

#include "trace/trace.h"
#include "analysis/measure/row_merge.h"
#include "base/mem.h"
#include "base/stats.h"

#include <math.h>

enum { BLOCKS = 64, SHORTEST_BLOCK = 8, MAX_STEPS = 32 };

struct samples {
    const struct inq_trace *trace;
    const struct inq_events *events;
    size_t n_steps;  /* laid side by side, at most MAX_STEPS */
    size_t n_rows;   /* kernels of each */
    double *dur;     /* [n_steps][n_rows] */
    bool *update;    /* [n_rows] of the first step laid down */
    double *scratch; /* [n_steps * n_rows] */
};

static bool is_compute(const struct inq_events *events, size_t row)
{
    return inq_row_is_work(events, row) && inq_row_class(events, row) == INQ_CLASS_COMPUTE;
}

/* Number of compute kernels that most judged steps have. */
static size_t usual_count(const struct inq_step_stats *cells, const struct inq_events *events,
                          uint32_t rank, int64_t *count)
{
    size_t n = 0;

    for (size_t i = 0; i < events->n; i++) {
        if (events->step[i] < cells->n_steps && is_compute(events, i)) {
            count[events->step[i]]++;
        }
    }
    int64_t *sorted = count + cells->n_steps;
    for (size_t s = cells->first_step; s < cells->n_steps; s++) {
        if (inq_step_stat_at(cells, rank, s)->valid) {
            sorted[n++] = count[s];
        }
    }
    return n > 0 ? (size_t)inq_lower_median_i64(sorted, n) : 0;
}

static int lay_out(struct samples *t, const struct inq_step_stats *cells, uint32_t rank,
                   const int64_t *count, size_t *place, struct inq_err *err)
{
    struct inq_row_merge merge;
    uint32_t row;

    for (size_t s = 0; s < cells->n_steps; s++) {
        bool fits = s >= cells->first_step && inq_step_stat_at(cells, rank, s)->valid &&
                    (size_t)count[s] == t->n_rows && t->n_steps < MAX_STEPS;
        place[s] = fits ? t->n_steps++ * t->n_rows : SIZE_MAX;
    }
    t->dur = inq_mem_alloc((t->n_steps * t->n_rows + 1) * sizeof(double));
    t->scratch = inq_mem_alloc((t->n_steps * t->n_rows + 1) * sizeof(double));
    t->update = inq_mem_zalloc(t->n_rows + 1, sizeof(bool));
    if (!t->dur || !t->scratch || !t->update) {
        return inq_err_set(err, INQ_NOMEM, "no memory for %zu kernels", t->n_rows);
    }
    int code = inq_row_merge_init(&merge, t->events, err);
    while (code == INQ_OK && inq_row_merge_next(&merge, &row)) {
        uint32_t s = t->events->step[row];
        if (s < cells->n_steps && place[s] != SIZE_MAX && is_compute(t->events, row)) {
            if (place[s] < t->n_rows) {
                const char *name = inq_trace_str(t->trace, t->events->name[row]);
                t->update[place[s]] = inq_kernel_kind_of(name) == INQ_KERNEL_UPDATE;
            }
            t->dur[place[s]++] = (double)t->events->dur_ns[row];
        }
    }
    inq_row_merge_release(&merge);
    return code;
}

/* Adds the deviations of one stretch, a sum in each step, from its mean over the steps. Returns how
 * many. */
static size_t add_deviations(const struct samples *t, const double *sums, double *deviations)
{
    double mean = inq_mean(sums, t->n_steps);

    for (size_t s = 0; mean > 0.0 && s < t->n_steps; s++) {
        deviations[s] = fabs(sums[s] / mean - 1.0);
    }
    return mean > 0.0 ? t->n_steps : 0;
}

/* Sigma of stretches of `length` kernels; what is left of a mean of few steps is made up for. */
static double sigma_of(const struct samples *t, size_t length)
{
    double sums[MAX_STEPS];
    size_t n = 0;

    for (size_t first = 0; first + length <= t->n_rows; first += length) {
        for (size_t s = 0; s < t->n_steps; s++) {
            sums[s] = 0.0;
            for (size_t k = first; k < first + length; k++) {
                sums[s] += t->dur[s * t->n_rows + k];
            }
        }
        n += add_deviations(t, sums, t->scratch + n);
    }
    double steps = (double)t->n_steps;
    return n > 0 ? 1.4826 * inq_median(t->scratch, n) * sqrt(steps / (steps - 1.0)) : 0.0;
}

static double sigma_of_update(const struct samples *t)
{
    double sums[MAX_STEPS];

    for (size_t s = 0; s < t->n_steps; s++) {
        sums[s] = 0.0;
        for (size_t k = 0; k < t->n_rows; k++) {
            sums[s] += t->update[k] ? t->dur[s * t->n_rows + k] : 0.0;
        }
    }
    double steps = (double)t->n_steps;
    size_t n = add_deviations(t, sums, t->scratch);
    return n > 0 ? 1.4826 * inq_median(t->scratch, n) * sqrt(steps / (steps - 1.0)) : 0.0;
}

/* Of the kernels [from, to) together, or of those of them that are the optimizer's, where one of
 * them varies by `kernel`. Long kernels count more: what varies independently adds up by squares.
 */
static double sigma_by_chance(const struct samples *t, size_t from, size_t to, bool all,
                              double kernel)
{
    double sum = 0.0;
    double squares = 0.0;

    for (size_t k = from; k < to; k++) {
        double ns = all || t->update[k] ? t->dur[k] : 0.0;
        sum += ns;
        squares += ns * ns;
    }
    return sum > 0.0 ? kernel * sqrt(squares) / sum : 0.0;
}

static double median_by_chance(const struct samples *t, size_t length, double kernel)
{
    size_t n = 0;

    for (size_t first = 0; first + length <= t->n_rows; first += length) {
        t->scratch[n++] = sigma_by_chance(t, first, first + length, true, kernel);
    }
    return n > 0 ? inq_median(t->scratch, n) : 0.0;
}

int inq_intra_step_find(const struct inq_trace *trace, const struct inq_step_stats *cells,
                        uint32_t rank, struct inq_intra_step *variance, struct inq_err *err)
{
    struct samples t = {.trace = trace, .events = &trace->ranks[rank].events};
    int64_t *count = inq_mem_zalloc(2 * cells->n_steps + 1, sizeof(*count));
    size_t *place = inq_mem_zalloc(cells->n_steps + 1, sizeof(*place));
    int code = INQ_OK;

    *variance = (struct inq_intra_step){0};
    if (!count || !place) {
        code = inq_err_set(err, INQ_NOMEM, "no memory for %zu steps", cells->n_steps);
    } else {
        t.n_rows = usual_count(cells, t.events, rank, count);
        code = t.n_rows > 0 ? lay_out(&t, cells, rank, count, place, err) : INQ_OK;
    }
    if (code == INQ_OK && t.n_steps > 1 && t.n_rows >= SHORTEST_BLOCK) {
        variance->length = t.n_rows / BLOCKS > SHORTEST_BLOCK ? t.n_rows / BLOCKS : SHORTEST_BLOCK;
        variance->kernel = sigma_of(&t, 1);
        variance->block = sigma_of(&t, variance->length);
        variance->update = sigma_of_update(&t);
        variance->chance = sigma_by_chance(&t, 0, t.n_rows, true, variance->kernel);
        variance->update_chance = sigma_by_chance(&t, 0, t.n_rows, false, variance->kernel);
        variance->block_chance = median_by_chance(&t, variance->length, variance->kernel);
    }
    inq_mem_free(count);
    inq_mem_free(place);
    inq_mem_free(t.dur);
    inq_mem_free(t.scratch);
    inq_mem_free(t.update);
    return code;
}
