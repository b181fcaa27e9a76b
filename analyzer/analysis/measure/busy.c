/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/measure/busy.h"

#include "base/mem.h"
#include "base/sort.h"
#include "trace/trace.h"

int inq_busy_init(struct inq_busy *work, const struct inq_trace *trace, struct inq_err *err)
{
    size_t most = 0;

    for (size_t r = 0; r < trace->n_ranks; r++) {
        most = trace->ranks[r].events.n > most ? trace->ranks[r].events.n : most;
    }
    *work = (struct inq_busy){.starts = inq_mem_alloc((2 * most + 1) * sizeof(*work->starts))};
    work->ends = work->starts ? work->starts + most : NULL;
    return work->starts ? INQ_OK : inq_err_set(err, INQ_NOMEM, "no memory for %zu events", most);
}

void inq_busy_load(struct inq_busy *work, const struct inq_events *events)
{
    work->n = 0;
    for (size_t i = 0; i < events->n; i++) {
        if (inq_row_is_work(events, i)) {
            work->starts[work->n] = events->start_ns[i];
            work->ends[work->n++] = events->start_ns[i] + events->dur_ns[i];
        }
    }
    inq_sort_i64(work->starts, work->n);
    inq_sort_i64(work->ends, work->n);
}

void inq_busy_release(struct inq_busy *work)
{
    inq_mem_free(work->starts);
    *work = (struct inq_busy){0};
}

bool inq_busy_is_done(const struct inq_busy *work, int64_t ns)
{
    size_t ended = inq_first_from_i64(work->ends, 0, work->n, ns + 1);
    bool idle = ended > 0 && inq_first_from_i64(work->starts, 0, work->n, ns) <= ended;
    return idle && ns - work->ends[ended - 1] <= INQ_PROMPT_NS;
}
