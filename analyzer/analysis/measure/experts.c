/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens go to their experts in an all-to-all and come back in another one. Longer sequences make
 * all of a model's kernels longer, what was sent to experts only those between the two. */
#include "analysis/measure/experts.h"

#include "analysis/measure/row_merge.h"
#include "base/mem.h"
#include "base/sort.h"
#include "trace/trace.h"

#include <math.h>
#include <string.h>

/* Where work between all-to-alls varies by so many times what the rest does, the rest is steady:
 * sequences that vary show in both by their shares of a layer, and dense layers are hardly less
 * than half of one. */
#define EXPERTS_TIMES 2.0

/* Ranks that are looked at. */
enum { MOST_ASKED = 32 };

/* A rank's compute kernels and all-to-alls, to be put in the order of their starts. */
struct piece {
    int64_t start_ns;
    int64_t dur_ns; /* of a kernel; -1: an all-to-all */
    uint32_t step;
};

static int by_start(const void *a, const void *b, void *ctx)
{
    const struct piece *x = a;
    const struct piece *y = b;

    (void)ctx;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static bool is_exchange(const struct inq_rank *rank, size_t i)
{
    uint32_t c = rank->events.comm[i];
    return c < rank->n_comms &&
           (rank->comms[c].kind == INQ_COLL_ALLTOALL || rank->comms[c].kind == INQ_COLL_ALLTOALLV);
}

static size_t collect(const struct inq_trace *trace, const struct inq_rank *rank, size_t n_steps,
                      struct piece *pieces)
{
    const struct inq_events *events = &rank->events;
    size_t n = 0;

    for (size_t i = 0; i < events->n; i++) {
        bool exchange = is_exchange(rank, i);
        bool compute =
            !exchange && inq_row_is_work(events, i) &&
            inq_row_class(events, i) == INQ_CLASS_COMPUTE &&
            inq_kernel_kind_of(inq_trace_str(trace, events->name[i])) != INQ_KERNEL_UPDATE;
        if (events->step[i] < n_steps && (exchange || compute)) {
            pieces[n++] = (struct piece){events->start_ns[i], exchange ? -1 : events->dur_ns[i],
                                         events->step[i]};
        }
    }
    return n;
}

/* What the rank computes in each step after every other all-to-all, in ns[n_steps + step], and
 * before them, in ns[step]. All-to-alls without work between them count as one. */
static void sum_up(const struct piece *pieces, size_t n, size_t n_steps, double *ns)
{
    bool inside = false;
    bool worked = false;

    memset(ns, 0, 2 * n_steps * sizeof *ns);
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || pieces[i].step != pieces[i - 1].step) {
            inside = false;
            worked = true; /* the first all-to-all of a step sends, whatever was before it */
        }
        if (pieces[i].dur_ns < 0) {
            inside = inside != worked;
            worked = false;
        } else {
            ns[(inside ? n_steps : 0) + pieces[i].step] += (double)pieces[i].dur_ns;
            worked = true;
        }
    }
}

/* Squared deviations from the rank's own mean over its judged steps. */
static double deviations(const struct inq_step_stats *cells, size_t r, const double *ns)
{
    double sum = 0.0;
    double squares = 0.0;
    double n = 0.0;

    for (size_t s = cells->first_step; s < cells->n_steps; s++) {
        bool valid = inq_step_stat_at(cells, r, s)->valid;
        sum += valid ? ns[s] : 0.0;
        squares += valid ? ns[s] * ns[s] : 0.0;
        n += valid;
    }
    return n > 0.0 ? fmax(squares - sum * sum / n, 0.0) : 0.0;
}

static int ask_rank(const struct inq_trace *trace, const struct inq_step_stats *cells, size_t r,
                    double *ns, double squares[2], struct inq_err *err)
{
    const struct inq_rank *rank = &trace->ranks[r];
    struct piece *pieces = inq_mem_alloc((rank->events.n + 1) * sizeof *pieces);

    if (pieces == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for %zu kernels", rank->events.n);
    }
    size_t n = collect(trace, rank, cells->n_steps, pieces);
    int code = inq_sort(pieces, n, sizeof *pieces, by_start, NULL, err);
    if (code == INQ_OK) {
        sum_up(pieces, n, cells->n_steps, ns);
        squares[0] += deviations(cells, r, ns);
        squares[1] += deviations(cells, r, ns + cells->n_steps);
    }
    inq_mem_free(pieces);
    return code;
}

int inq_experts_vary(const struct inq_trace *trace, const struct inq_step_stats *cells,
                     const bool *skip, bool *vary, struct inq_err *err)
{
    double *ns = inq_mem_alloc((2 * cells->n_steps + 1) * sizeof *ns);
    double squares[2] = {0.0, 0.0};
    size_t n = 0;
    int code = ns != NULL ? INQ_OK
                          : inq_err_set(err, INQ_NOMEM, "no memory for %zu steps", cells->n_steps);

    for (size_t r = 0; code == INQ_OK && r < cells->n_ranks && n < MOST_ASKED; r++) {
        if (!skip[r]) {
            code = ask_rank(trace, cells, r, ns, squares, err);
            n++;
        }
    }
    inq_mem_free(ns);
    *vary = squares[1] > 0.0 && squares[1] >= EXPERTS_TIMES * EXPERTS_TIMES * squares[0];
    return code;
}
