/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/rerun.h"

#include "base/mem.h"
#include "base/sort.h"

#include <string.h>

/* A run of more rows is asked by its middle step. */
static const size_t most_rows = (size_t)1 << 21;
/* Communication without its partners has its waits in its length, and so have silences of hosts
 * that waited: when that is more than this part of all, nothing can be asked. */
static const double most_alone = 0.02;
/* Who waits goes on this soon. */
static const int64_t prompt_ns = 100000;

void inq_rerun_release(struct inq_rerun *rerun)
{
    inq_trace_graph_release(&rerun->g);
    inq_mem_free(rerun->recorded_dur_ns);
    inq_mem_free(rerun->zone);
    *rerun = (struct inq_rerun){0};
}

static size_t count_rows(const struct inq_trace *trace)
{
    size_t n = 0;
    for (size_t r = 0; r < trace->n_ranks; r++) {
        n += trace->ranks[r].events.n + trace->ranks[r].calls.n;
    }
    return n;
}

static int alloc_times(struct inq_rerun *x, struct inq_err *err)
{
    size_t n = x->g.graph->n_ops;
    x->recorded_dur_ns = inq_mem_alloc(5 * (n + 1) * sizeof *x->recorded_dur_ns);
    x->zone = inq_mem_alloc(n + 1);
    if (x->recorded_dur_ns == NULL || x->zone == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for a run of %zu ops", n);
    }
    x->recorded_delay_ns = x->recorded_dur_ns + n;
    x->dur_ns = x->recorded_delay_ns + n;
    x->delay_ns = x->dur_ns + n;
    x->end_ns = x->delay_ns + n;
    memset(x->zone, 1, n);
    return INQ_OK;
}

/* Durations, of members of a group from the last arrival on, and delays after what an op waits for,
 * that give the recorded times again. */
static void take_times(struct inq_rerun *x)
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
static bool is_whole(const struct inq_cells *cells, size_t step)
{
    for (size_t r = 0; r < cells->n_ranks; r++) {
        bool any = false;
        for (size_t s = 0; s < cells->n_steps; s++) {
            any = any || inq_cell_at(cells, r, s)->valid;
        }
        if (any && !inq_cell_at(cells, r, step)->valid) {
            return false;
        }
    }
    return true;
}

/* The steps [from, to) that all ranks recorded whole; false: all that there is counts. */
static bool find_steps(const struct inq_cells *cells, size_t *from, size_t *to)
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

static uint8_t zone_of(int64_t at, int64_t from, int64_t to)
{
    return at < from ? 0 : at < to ? 1 : 2;
}

/* GPU work is in the step that launched it, a host call in that in which its rank makes it; what is
 * in no step, before or after those that are, by its rank's time. */
static void mark_zones(struct inq_rerun *x, size_t from, size_t to)
{
    const struct inq_step *steps = x->trace->steps;
    for (size_t i = 0; i < x->g.graph->n_ops; i++) {
        const struct inq_trace_op *what = &x->g.ops[i];
        uint32_t step = what->host ? INQ_NONE : x->trace->ranks[what->rank].events.step[what->row];
        int64_t end = steps[to - 1].rank_end_ns[what->rank];
        bool known = steps[from].rank_start_ns[what->rank] != INQ_TIME_NONE;
        x->zone[i] = step != INQ_NONE ? zone_of(step, (int64_t)from, (int64_t)to)
                     : known ? zone_of(x->g.end_ns[i], steps[from].rank_start_ns[what->rank],
                                       end != INQ_TIME_NONE ? end + 1 : INT64_MAX)
                             : 1;
    }
}

/* Ends of the GPU work before the judged steps and of theirs. What hosts do after their last launch
 * holds nobody up. */
static void simulate(const struct inq_rerun *x, int64_t ends_ns[2])
{
    ends_ns[0] = 0;
    ends_ns[1] = 0;
    (void)inq_simulate(x->g.graph, x->dur_ns, x->delay_ns, NULL, x->end_ns);
    for (size_t i = 0; i < x->g.graph->n_ops; i++) {
        uint8_t zone = x->zone[i];
        if (!x->g.ops[i].host && zone < 2 && x->end_ns[i] > ends_ns[zone]) {
            ends_ns[zone] = x->end_ns[i];
        }
    }
}

/* From the first start in the judged steps to the last end. */
static int64_t length(const struct inq_rerun *x)
{
    int64_t from = INT64_MAX;
    int64_t to = INT64_MIN;
    for (size_t i = 0; i < x->g.graph->n_ops; i++) {
        if (!x->g.ops[i].host && x->zone[i] == 1) {
            from = x->g.start_ns[i] < from ? x->g.start_ns[i] : from;
            to = x->g.end_ns[i] > to ? x->g.end_ns[i] : to;
        }
    }
    return from < to ? to - from : 0;
}

/* Whether the judged steps' communication is understood: who waited for whom. */
static bool is_matched(const struct inq_rerun *x)
{
    const struct inq_graph *g = x->g.graph;
    double alone = 0.0;
    double all = 0.0;
    for (size_t i = 0; i < g->n_ops; i++) {
        const struct inq_trace_op *what = &x->g.ops[i];
        bool comm = !what->host && x->zone[i] == 1 &&
                    x->trace->ranks[what->rank].events.cls[what->row] == INQ_CLASS_COMM;
        double ns = comm ? (double)(x->g.end_ns[i] - x->g.start_ns[i]) : 0.0;
        all += ns;
        alone += g->members[i] == 1 ? ns : 0.0;
    }
    return alone <= most_alone * all;
}

/* ---- waits that nobody recorded -------------------------------------------------------------- */

/* Ends of the GPU work of each rank, ascending: ends[start[r]] to ends[start[r + 1]]. */
static void sort_ends(const struct inq_rerun *x, size_t *start, int64_t *ends)
{
    size_t n_ranks = x->trace->n_ranks;
    size_t n_ops = x->g.graph->n_ops;
    for (size_t i = 0; i < n_ops; i++) {
        start[x->g.ops[i].rank + 2] += !x->g.ops[i].host;
    }
    for (size_t r = 0; r < n_ranks; r++) {
        start[r + 2] += start[r + 1];
    }
    for (size_t i = 0; i < n_ops; i++) {
        if (!x->g.ops[i].host) {
            ends[start[x->g.ops[i].rank + 1]++] = x->g.end_ns[i];
        }
    }
    for (size_t r = 0; r < n_ranks; r++) {
        inq_sort_i64(ends + start[r], start[r + 1] - start[r]);
    }
}

/* The last of n ends at or before `at`; INT64_MIN for none. */
static int64_t last_end(const int64_t *ends, size_t n, int64_t at)
{
    size_t low = 0;
    while (low < n) {
        size_t mid = low + (n - low) / 2;
        if (ends[mid] <= at) {
            low = mid + 1;
        } else {
            n = mid;
        }
    }
    return low > 0 ? ends[low - 1] : INT64_MIN;
}

/* How long the host had been idle when its GPU finished just before this call: it had waited for
 * the GPU without a call that says so. */
static int64_t silent_wait(const struct inq_rerun *x, size_t op, const int64_t *ends, size_t n)
{
    int64_t start = x->g.start_ns[op];
    int64_t idle_from = start - x->recorded_delay_ns[op];
    int64_t end = x->recorded_delay_ns[op] > prompt_ns ? last_end(ends, n, start) : INT64_MIN;
    return end > idle_from && start - end <= prompt_ns ? end - idle_from : 0;
}

/* Whether hosts wait for their GPUs unrecorded for so long that faster work would seem to leave
 * them waiting. */
static int find_silent(const struct inq_rerun *x, bool *silent, struct inq_err *err)
{
    size_t n_ranks = x->trace->n_ranks;
    size_t *start = inq_mem_zalloc(n_ranks + 2, sizeof *start);
    int64_t *ends = inq_mem_alloc((x->g.graph->n_ops + 1) * sizeof *ends);
    double waited = 0.0;
    int code = start != NULL && ends != NULL
                   ? INQ_OK
                   : inq_err_set(err, INQ_NOMEM, "out of memory for %zu ranks", n_ranks);
    if (code == INQ_OK) {
        sort_ends(x, start, ends);
    }
    for (size_t i = 0; code == INQ_OK && i < x->g.graph->n_ops; i++) {
        size_t r = x->g.ops[i].rank;
        if (x->g.ops[i].host && !x->g.ops[i].sync && inq_rerun_judged(x, i)) {
            waited += (double)silent_wait(x, i, ends + start[r], start[r + 1] - start[r]);
        }
    }
    *silent = waited > most_alone * (double)n_ranks * (double)length(x);
    inq_mem_free(start);
    inq_mem_free(ends);
    return code;
}

/* ---- all together ---------------------------------------------------------------------------- */

int inq_rerun_init(const struct inq_trace *trace, const struct inq_cells *cells,
                   struct inq_rerun *rerun, struct inq_err *err)
{
    *rerun = (struct inq_rerun){.trace = trace, .first_step = INQ_NONE};
    bool large = count_rows(trace) > most_rows && trace->n_steps > 0;
    uint32_t step = large ? (uint32_t)(trace->n_steps / 2) : INQ_NONE;
    int code = inq_trace_graph_make(trace, step, &rerun->g, err);
    if (code != INQ_OK || !rerun->g.grouped || rerun->g.graph->n_ops == 0) {
        return code;
    }
    code = alloc_times(rerun, err);
    size_t from = 0;
    size_t to = 0;
    if (code == INQ_OK && !large && trace->n_steps > 0 && find_steps(cells, &from, &to)) {
        rerun->first_step = (uint32_t)from;
        mark_zones(rerun, from, to);
    }
    bool silent = true;
    if (code == INQ_OK && is_matched(rerun)) {
        take_times(rerun);
        code = find_silent(rerun, &silent, err);
    }
    if (code == INQ_OK && !silent) {
        inq_rerun_reset(rerun);
        simulate(rerun, rerun->ends_ns);
        rerun->t_ns = length(rerun);
    }
    return code;
}

void inq_rerun_reset(struct inq_rerun *rerun)
{
    size_t size = rerun->g.graph->n_ops * sizeof *rerun->dur_ns;
    memcpy(rerun->dur_ns, rerun->recorded_dur_ns, size);
    memcpy(rerun->delay_ns, rerun->recorded_delay_ns, size);
}

double inq_rerun_saved(const struct inq_rerun *rerun)
{
    int64_t ends_ns[2];
    simulate(rerun, ends_ns);
    int64_t saved_ns = rerun->ends_ns[1] - ends_ns[1] - (rerun->ends_ns[0] - ends_ns[0]);
    return saved_ns > 0 ? (double)saved_ns / (double)rerun->t_ns : 0.0;
}
