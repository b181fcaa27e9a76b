/* SPDX-License-Identifier: Apache-2.0 */
/* The base of a recorded run without labels: GPU work and host calls of the median step. It lasts
 * from the end of the GPU work of the step before to the end of its own, over all ranks. */
#include "fix/base/base.h"
#include "fix/fix.h"

#include "base/hash.h"
#include "base/mem.h"
#include "graph/graph.h"

#include <string.h>

/* A step with more ops is not worth its memory. */
static const size_t max_ops = (size_t)1 << 22;

struct step {
    const struct inq_trace *trace;
    struct inq_trace_graph g;
    int64_t origin_ns, end_ns;
    uint8_t *keep;   /* [n_ops] */
    uint32_t *place; /* [n_ops] of those kept */
};

/* ---- the window ------------------------------------------------------------------------------ */

/* Latest end of the GPU work of a step over all ranks; INT64_MIN for none. */
static int64_t gpu_end(const struct inq_trace *trace, uint32_t step)
{
    int64_t end = INT64_MIN;
    for (size_t r = 0; r < trace->n_ranks; r++) {
        const struct inq_events *e = &trace->ranks[r].events;
        for (size_t i = 0; i < e->n; i++) {
            bool work = e->kind[i] != INQ_EVENT_SYNC && e->kind[i] != INQ_EVENT_SLICE;
            int64_t own = e->start_ns[i] + e->dur_ns[i];
            end = work && e->step[i] == step && own > end ? own : end;
        }
    }
    return end;
}

static void find_window(struct step *s, uint32_t step)
{
    int64_t first = INT64_MAX;
    s->end_ns = INT64_MIN;
    for (size_t i = 0; i < s->g.graph->n_ops; i++) {
        first = s->g.start_ns[i] < first ? s->g.start_ns[i] : first;
        bool later = !s->g.ops[i].host && s->g.end_ns[i] > s->end_ns;
        s->end_ns = later ? s->g.end_ns[i] : s->end_ns;
    }
    for (size_t r = 0; step != INQ_NONE && r < s->trace->n_ranks; r++) {
        int64_t begin = s->trace->steps[step].rank_start_ns[r];
        first = begin != INQ_TIME_NONE && begin < first ? begin : first;
    }
    int64_t before = step != INQ_NONE && step > 0 ? gpu_end(s->trace, step - 1) : INT64_MIN;
    s->origin_ns = before != INT64_MIN && before < s->end_ns ? before : first;
}

/* launches[first[rank] + lane]: the thread launched work of the step. A thread that only looks
 * after others (a watchdog) delays nobody. */
static void find_launching(const struct step *s, const size_t *first, uint8_t *launches)
{
    const struct inq_graph *g = s->g.graph;
    for (size_t i = 0; i < g->n_ops; i++) {
        for (uint32_t d = g->dep_start[i]; !s->g.ops[i].host && d < g->dep_start[i + 1]; d++) {
            uint32_t dep = g->deps[d];
            if (s->g.ops[dep].host) {
                launches[first[s->g.ops[dep].rank] + g->op[dep].lane] = 1;
            }
        }
    }
}

/* Keeps GPU work, and host calls of launching threads that it waited for: what the host does after
 * the last launch is of no step. */
static int find_kept(struct step *s, struct inq_err *err)
{
    const struct inq_graph *g = s->g.graph;
    size_t *first = inq_mem_zalloc(s->trace->n_ranks + 1, sizeof *first);
    s->keep = inq_mem_zalloc(g->n_ops + 1, 1);
    if (s->keep == NULL || first == NULL) {
        inq_mem_free(first);
        return inq_fix_no_memory(err);
    }
    for (size_t r = 0; r < s->trace->n_ranks; r++) {
        first[r + 1] = first[r] + s->trace->ranks[r].n_lanes;
    }
    uint8_t *launches = inq_mem_zalloc(first[s->trace->n_ranks] + 1, 1);
    if (launches == NULL) {
        inq_mem_free(first);
        return inq_fix_no_memory(err);
    }
    find_launching(s, first, launches);
    for (size_t i = g->n_ops; i-- > 0;) {
        bool host = s->g.ops[i].host;
        bool idle = host && !launches[first[s->g.ops[i].rank] + g->op[i].lane];
        s->keep[i] = (s->keep[i] || !host) && !idle;
        for (uint32_t d = g->dep_start[i]; s->keep[i] && d < g->dep_start[i + 1]; d++) {
            s->keep[g->deps[d]] = 1;
        }
    }
    inq_mem_free(first);
    inq_mem_free(launches);
    return INQ_OK;
}

static int64_t within(const struct step *s, int64_t ns)
{
    return ns < s->origin_ns ? 0 : ns - s->origin_ns;
}

/* Durations and delays by op, from when things happened. */
static void find_times(const struct step *s, int64_t *dur_ns, int64_t *delay_ns)
{
    const struct inq_graph *g = s->g.graph;
    for (size_t i = 0; i < g->n_ops; i += g->members[i]) {
        size_t next = i + g->members[i];
        int64_t arrival = INT64_MIN;
        for (size_t k = i; k < next; k++) {
            int64_t start = within(s, s->g.start_ns[k]);
            arrival = start > arrival ? start : arrival;
        }
        for (size_t k = i; k < next; k++) {
            int64_t ready = INT64_MIN;
            for (uint32_t d = g->dep_start[k]; d < g->dep_start[k + 1]; d++) {
                int64_t end = within(s, s->g.end_ns[g->deps[d]]);
                ready = s->keep[g->deps[d]] && end > ready ? end : ready;
            }
            ready = ready == INT64_MIN ? 0 : ready;
            dur_ns[k] = within(s, s->g.end_ns[k]) - arrival;
            delay_ns[k] = within(s, s->g.start_ns[k]) - ready;
        }
    }
}

/* ---- slots ----------------------------------------------------------------------------------- */

/* The rank's how many-th thread it is. */
static uint64_t thread_ordinal(const struct inq_rank *rank, uint32_t lane)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < lane && i < rank->n_lanes; i++) {
        n += rank->lanes[i].kind == INQ_LANE_THREAD;
    }
    return n;
}

/* What an op is called on any rank: where it runs and its name. */
static uint64_t name_key(const struct step *s, size_t i)
{
    const struct inq_trace_op *what = &s->g.ops[i];
    const struct inq_rank *rank = &s->trace->ranks[what->rank];
    uint32_t lane = s->g.graph->op[i].lane;
    inq_str name = what->host ? rank->calls.name[what->row] : rank->events.name[what->row];
    uint64_t where = what->host ? thread_ordinal(rank, lane) : (uint64_t)rank->lanes[lane].id;
    uint64_t key = inq_hash_u64(where * 2 + what->host);
    return inq_hash_u64(key ^ (uint64_t)name << 1);
}

/* Numbers the ops that are the n-th of their name and place on each rank alike. `job` holds the
 * kept ops; from[i]: op of the graph. */
static int find_slots(struct step *s, struct fix_job *job, const uint32_t *from,
                      struct inq_err *err)
{
    struct inq_map count = {0};
    struct inq_map slots = {0};
    int code = INQ_OK;
    for (size_t i = 0; code == INQ_OK && i < job->n_ops; i++) {
        uint64_t key = name_key(s, from[i]);
        uint64_t own = inq_hash_u64(key + (uint64_t)(job->ops[i].op.rank + 1));
        uint32_t nth = 0;
        uint32_t slot = 0;
        (void)inq_map_get(&count, own, &nth);
        code = inq_map_put(&count, own, nth + 1, err);
        uint64_t place = inq_hash_u64(key * 31 + nth);
        if (code == INQ_OK && !inq_map_get(&slots, place, &slot)) {
            slot = (uint32_t)job->n_slots++;
            code = inq_map_put(&slots, place, slot, err);
        }
        job->ops[i].slot = slot;
    }
    inq_map_release(&count);
    inq_map_release(&slots);
    return code;
}

/* ---- all together ---------------------------------------------------------------------------- */

/* Drops the ops that are not kept. from[i] gets the graph's op of each that stays. */
static void close_up(const struct step *s, struct fix_job *job, uint32_t *from)
{
    size_t n = 0;
    uint32_t *to = s->place;
    for (size_t i = 0; i < job->n_ops; i++) {
        if (s->keep[i]) {
            to[i] = (uint32_t)n;
            from[n] = (uint32_t)i;
            job->ops[n++] = job->ops[i];
        }
    }
    job->n_ops = n;
    n = 0;
    for (size_t e = 0; e < job->n_edges; e++) {
        struct inq_edge edge = job->edges[e];
        if (s->keep[edge.before] && s->keep[edge.after]) {
            job->edges[n++] = (struct inq_edge){to[edge.before], to[edge.after]};
        }
    }
    job->n_edges = n;
}

/* What is known of a transfer. */
static void take_comm(const struct step *s, const struct inq_trace_op *what, struct fix_op *op)
{
    const struct inq_rank *rank = &s->trace->ranks[what->rank];
    uint32_t comm = what->host ? INQ_NONE : rank->events.comm[what->row];
    if (comm == INQ_NONE) {
        return;
    }
    const struct inq_comm *c = &rank->comms[comm];
    int64_t elems = c->in_elems > c->out_elems ? c->in_elems : c->out_elems;
    bool known = elems > 0 && c->dtype_bytes > 0 && elems <= INT64_MAX / 64;
    op->coll = (uint8_t)c->kind;
    op->bytes = known ? elems * (int64_t)c->dtype_bytes : -1;
}

static int take_ops(struct step *s, struct fix_job *job, struct inq_err *err)
{
    size_t n = s->g.graph->n_ops;
    int64_t *times = inq_mem_alloc(2 * (n + 1) * sizeof *times);
    uint32_t *from = inq_mem_alloc((n + 1) * sizeof *from);
    s->place = inq_mem_alloc((n + 1) * sizeof *s->place);
    int code = times != NULL && from != NULL && s->place != NULL ? find_kept(s, err)
                                                                 : inq_fix_no_memory(err);
    if (code == INQ_OK) {
        find_times(s, times, times + n);
        code = inq_fix_job_take(job, s->g.graph, times, times + n, err);
    }
    for (size_t i = 0; code == INQ_OK && i < n; i++) {
        const struct inq_trace_op *what = &s->g.ops[i];
        job->ops[i].place = what->sync   ? FIX_PLACE_HOST_SYNC
                            : what->host ? FIX_PLACE_HOST
                                         : FIX_PLACE_GPU;
        job->ops[i].op.stage = -1;
        take_comm(s, what, &job->ops[i]);
    }
    if (code == INQ_OK) {
        close_up(s, job, from);
        code = find_slots(s, job, from, err);
    }
    inq_mem_free(times);
    inq_mem_free(from);
    return code;
}

static int take_ranks(const struct inq_trace *trace, struct fix_job *job, struct inq_err *err)
{
    job->n_ranks = trace->n_ranks;
    job->ranks = inq_mem_zalloc(trace->n_ranks + 1, sizeof *job->ranks);
    if (job->ranks == NULL) {
        return inq_fix_no_memory(err);
    }
    for (size_t r = 0; r < trace->n_ranks; r++) {
        job->ranks[r] = (struct fix_rank){trace->ranks[r].rank, -1, -1};
    }
    return INQ_OK;
}

static bool too_large(const struct inq_trace *trace)
{
    size_t n = 0;
    for (size_t r = 0; r < trace->n_ranks; r++) {
        n += trace->ranks[r].events.n + trace->ranks[r].calls.n;
    }
    return n / (trace->n_steps > 0 ? trace->n_steps : 1) > max_ops;
}

/* The step of median length; the first one only where there is no other: what came before it is not
 * known. */
static int choose_step(const struct inq_trace *trace, const struct inq_report *report,
                       uint32_t *step, struct inq_err *err)
{
    size_t index = 0;
    size_t skip = trace->n_steps > 1 ? 1 : 0;
    *step = INQ_NONE;
    if (trace->n_steps == 0 || report->step_ns == NULL) {
        return INQ_OK;
    }
    int code = inq_fix_median_step(report->step_ns + skip, trace->n_steps - skip, &index, err);
    *step = (uint32_t)(index + skip);
    return code;
}

int inq_fix_base_trace(const struct inq_trace *trace, const struct inq_report *report,
                       struct inq_fix_base *base, struct inq_err *err)
{
    struct step s = {.trace = trace};
    uint32_t step = INQ_NONE;
    if (too_large(trace)) {
        return inq_err_set(err, INQ_UNSUPPORTED, "a step has too many ops to be simulated");
    }
    int code = choose_step(trace, report, &step, err);
    if (code == INQ_OK) {
        code = inq_trace_graph_make(trace, step, &s.g, err);
    }
    if (code == INQ_OK) {
        find_window(&s, step);
        if (s.end_ns == INT64_MIN) {
            code = inq_err_set(err, INQ_UNSUPPORTED, "no GPU work is recorded: nothing to fix");
        }
    }
    if (code == INQ_OK) {
        code = take_ranks(trace, &base->job, err);
    }
    if (code == INQ_OK) {
        code = take_ops(&s, &base->job, err);
    }
    if (code == INQ_OK) {
        base->job.connected = base->job.n_groups > 0;
        base->info.source = "trace";
        base->info.contradictions = s.g.contradictions;
        base->info.step = step != INQ_NONE ? trace->steps[step].number : -1;
        base->info.recorded_ns = s.end_ns - s.origin_ns;
    }
    inq_mem_free(s.keep);
    inq_mem_free(s.place);
    inq_trace_graph_release(&s.g);
    return code;
}
