/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens go to their experts in an all-to-all and come back in another one. Longer sequences make
 * all of a model's kernels longer, what was sent to experts only those between the two. */
#include "analysis/measure/experts.h"

#include "analysis/measure/row_merge.h"
#include "base/mem.h"
#include "trace/trace.h"

#include <math.h>
#include <string.h>

/* Where work between all-to-alls varies by so many times what the rest does, the rest is steady:
 * sequences that vary show in both by their shares of a layer, and dense layers are hardly less
 * than half of one. */
#define EXPERTS_TIMES 2.0

/* Ranks that are looked at. */
enum { MOST_ASKED = 32 };

static bool is_exchange(const struct inq_rank *rank, size_t i)
{
    uint32_t c = rank->events.comm[i];
    return c < rank->n_comms &&
           (rank->comms[c].kind == INQ_COLL_ALLTOALL || rank->comms[c].kind == INQ_COLL_ALLTOALLV);
}

static bool is_compute(const struct inq_trace *trace, const struct inq_events *events, size_t i)
{
    return inq_row_class(events, i) == INQ_CLASS_COMPUTE &&
           inq_kernel_kind_of(inq_trace_str(trace, events->name[i])) != INQ_KERNEL_UPDATE;
}

/* What the rank computes in each step after every other all-to-all, in ns[n_steps + step], and
 * before them, in ns[step]. All-to-alls without work between them count as one. */
static int sum_up(const struct inq_trace *trace, const struct inq_rank *rank, size_t n_steps,
                  double *ns, struct inq_err *err)
{
    const struct inq_events *events = &rank->events;
    struct inq_row_merge merge;
    uint32_t step = INQ_NONE;
    bool inside = false;
    bool worked = false;
    uint32_t i;
    int code = inq_row_merge_init(&merge, events, err);

    memset(ns, 0, 2 * n_steps * sizeof *ns);
    while (code == INQ_OK && inq_row_merge_next(&merge, &i)) {
        bool exchange = is_exchange(rank, i);
        if (events->step[i] >= n_steps || !(exchange || is_compute(trace, events, i))) {
            continue;
        }
        if (events->step[i] != step) {
            step = events->step[i];
            inside = false;
            worked = true; /* the first all-to-all of a step sends, whatever was before it */
        }
        if (exchange) {
            inside = inside != worked;
            worked = false;
        } else {
            ns[(inside ? n_steps : 0) + step] += (double)events->dur_ns[i];
            worked = true;
        }
    }
    inq_row_merge_release(&merge);
    return code;
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
            code = sum_up(trace, &trace->ranks[r], cells->n_steps, ns, err);
            squares[0] += deviations(cells, r, ns);
            squares[1] += deviations(cells, r, ns + cells->n_steps);
            n++;
        }
    }
    inq_mem_free(ns);
    *vary = squares[1] > 0.0 && squares[1] >= EXPERTS_TIMES * EXPERTS_TIMES * squares[0];
    return code;
}
