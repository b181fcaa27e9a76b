/* SPDX-License-Identifier: Apache-2.0 */
/* Bases of fixes: of a run, or of a schedule. */
#include "fix/base/base.h"

#include "analysis/whatif/whatif.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/sort.h"
#include "base/stats.h"
#include "fix/fix.h"
#include "graph/graph.h"
#include "graph/optable/optable.h"
#include "inquest/account.h"
#include "inquest/schedule.h"
#include "schedule/schedule.h"

#include <stdio.h>
#include <string.h>

/* Index of the step of median length (of an even number the shorter of the middle two). */
static int fix_median_step(const int64_t *length_ns, size_t n, size_t *step, struct inq_err *err)
{
    int64_t *sorted = inq_mem_alloc((n + 1) * sizeof *sorted);
    if (sorted == NULL) {
        return inq_fix_no_memory(err);
    }
    for (size_t i = 0; i < n; i++) {
        sorted[i] = length_ns[i];
    }
    int64_t median = inq_lower_median_i64(sorted, n);
    *step = 0;
    while (*step + 1 < n && length_ns[*step] != median) {
        (*step)++;
    }
    inq_mem_free(sorted);
    return INQ_OK;
}

/* ---- The base of a run with labeled ops: the median step of the op model -------------------- */

/* The kind of inq_schedule_kinds that the pipeline analysis recognized; "" none of them. */
static const char *kind_of(const char *schedule)
{
    size_t n = 0;
    const struct inq_schedule_kind *kinds = inq_schedule_kinds(&n);
    const char *name = strcmp(schedule, "interleaved-1f1b") == 0 ? "interleaved" : schedule;
    for (size_t i = 0; i < n; i++) {
        if (strcmp(name, kinds[i].name) == 0) {
            return kinds[i].name;
        }
    }
    return "";
}

static int ranks_of_model(const struct inq_trace *trace, const struct inq_op_model *m,
                          struct fix_step *job, struct inq_err *err)
{
    job->n_ranks = m->n_dp * m->n_stages;
    job->ranks = inq_mem_zalloc(job->n_ranks, sizeof *job->ranks);
    if (job->ranks == NULL) {
        return inq_fix_no_memory(err);
    }
    for (size_t w = 0; w < job->n_ranks; w++) {
        job->ranks[w] = (struct fix_rank){trace->ranks[m->worker_rank[w]].rank,
                                          (int32_t)(w % m->n_stages), (int32_t)(w / m->n_stages)};
    }
    return INQ_OK;
}

/* Mean over the steps. */
static int64_t mean_of(const struct inq_op_model *m, size_t op)
{
    return inq_steps_mean(m, m->dur_ns + op * m->stride);
}

static int32_t number_of(const struct fix_op *op, const struct inq_op_model *m)
{
    const struct inq_step_op *row = &m->shape.op[op->op.source];
    return row->micro_batch >= 0 ? row->micro_batch : row->seq;
}

/* Whether forwards and backwards say whose they are. Where they do not, each type is counted. */
static bool are_labeled(const struct inq_op_model *m)
{
    bool all = true;
    for (size_t i = 0; all && i < m->shape.n; i++) {
        all = !inq_op_is_compute(m->shape.op[i].type) || m->shape.op[i].micro_batch >= 0;
    }
    return all;
}

/* The different recorded numbers of a type, or of all forwards and backwards (INQ_OP_NONE),
 * ascending; how many. */
static size_t list_numbers(const struct inq_op_model *m, const struct fix_step *job, uint8_t type,
                           int64_t *numbers)
{
    size_t n = 0;
    for (size_t i = 0; i < job->n_ops; i++) {
        uint8_t own = job->ops[i].op.type;
        if (type == INQ_OP_NONE ? inq_op_is_compute(own) : own == type) {
            numbers[n++] = number_of(&job->ops[i], m);
        }
    }
    return inq_sort_distinct_i64(numbers, n);
}

/* Micro-batches are numbered from 0 by their recorded numbers. */
static int number_microbatches(const struct inq_op_model *m, struct fix_step *job,
                               struct inq_err *err)
{
    static const uint8_t types[] = {INQ_OP_FORWARD, INQ_OP_BACKWARD, INQ_OP_BACKWARD_INPUT,
                                    INQ_OP_BACKWARD_WEIGHT};
    bool labeled = are_labeled(m);
    int64_t *numbers = inq_mem_alloc((job->n_ops + 1) * sizeof *numbers);
    if (numbers == NULL) {
        return inq_fix_no_memory(err);
    }
    for (size_t k = 0; k < sizeof types; k++) {
        size_t kept = list_numbers(m, job, labeled ? INQ_OP_NONE : types[k], numbers);
        for (size_t i = 0; i < job->n_ops; i++) {
            struct fix_op *op = &job->ops[i];
            if (op->op.type == types[k]) {
                op->op.micro_batch =
                    (int32_t)inq_first_from_i64(numbers, 0, kept, number_of(op, m));
                job->split = job->split || types[k] == INQ_OP_BACKWARD_WEIGHT;
            }
        }
        job->n_microbatches = kept > job->n_microbatches ? kept : job->n_microbatches;
    }
    inq_mem_free(numbers);
    return INQ_OK;
}

static int take_step(const struct inq_op_model *m, size_t step, struct fix_step *job,
                     struct inq_err *err)
{
    size_t n = m->graph->n_ops;
    bool launches = strcmp(m->source, "labels") != 0;
    int64_t *dur_ns = inq_mem_alloc(2 * n * sizeof *dur_ns);
    if (dur_ns == NULL) {
        return inq_fix_no_memory(err);
    }
    for (size_t i = 0; i < n; i++) {
        dur_ns[i] = m->dur_ns[i * m->stride + step];
        /* An op table has no launches: what an op waited for besides its data may be another rank,
         * so that it would not wait in a faster step. */
        dur_ns[n + i] = launches ? m->delay_ns[i * m->stride + step] : 0;
    }
    int code = inq_fix_step_take(job, m->graph, dur_ns, dur_ns + n, err);
    inq_mem_free(dur_ns);
    for (size_t i = 0; code == INQ_OK && i < n; i++) {
        struct fix_op *op = &job->ops[i];
        op->slot = op->op.source;
        op->mean_ns = mean_of(m, i);
        op->op.chunk = op->op.chunk < 0 ? 0 : op->op.chunk;
        op->op.step = (int32_t)m->step[step];
    }
    return code;
}

/* When the first op of the step starts: delays are relative to what an op waits for, and the first
 * one waits for nothing. */
static int64_t first_start(const struct inq_op_model *m, const struct fix_step *job, size_t step)
{
    const struct inq_graph *g = m->graph;
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < g->n_ops; i++) {
        int64_t own = job->ops[i].delay_ns;
        first = g->dep_start[i] == g->dep_start[i + 1] && own < first ? own : first;
    }
    return first < m->recorded_ns[step] ? first : 0;
}

static int fix_base_model(const struct inq_trace *trace, const struct inq_report *report,
                          const struct inq_op_model *model, struct inq_fix_base *base,
                          struct inq_err *err)
{
    struct fix_step *job = &base->job;
    size_t step = 0;
    int code = fix_median_step(model->recorded_ns, model->n_steps, &step, err);
    if (code == INQ_OK) {
        code = ranks_of_model(trace, model, job, err);
    }
    if (code == INQ_OK) {
        code = take_step(model, step, job, err);
    }
    if (code == INQ_OK) {
        job->n_stages = model->n_stages;
        job->n_dp = model->n_dp;
        job->n_chunks = model->shape.n_chunks;
        job->v_shaped = model->shape.v_shaped;
        job->two_way = model->shape.two_way;
        job->n_slots = model->shape.n;
        job->connected = true;
        (void)snprintf(job->schedule, sizeof job->schedule, "%s",
                       report->pipeline != NULL ? kind_of(report->pipeline->schedule) : "");
        code = number_microbatches(model, job, err);
    }
    if (code == INQ_OK) {
        base->lead_ns = first_start(model, job, step);
        base->tail_ns = model->tail_ns[step];
        base->info.source = model->source;
        base->info.step = model->step[step];
        base->info.recorded_ns = model->recorded_ns[step];
    }
    return code;
}

/* The base of a recorded run without labels: GPU work and host calls of the median step. It lasts
 * from the end of the GPU work of the step before to the end of its own, over all ranks. */

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

/* When the first kept op starts, by the record: in a graph that was cut the simulated start of an
 * op whose dependency is gone says nothing. */
static int64_t first_kept(const struct step *s)
{
    int64_t first = s->end_ns - s->origin_ns;
    for (size_t i = 0; i < s->g.graph->n_ops; i++) {
        int64_t own = within(s, s->g.start_ns[i]);
        first = s->keep[i] && own < first ? own : first;
    }
    return first;
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
static int find_slots(struct step *s, struct fix_step *job, const uint32_t *from,
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
static void close_up(const struct step *s, struct fix_step *job, uint32_t *from)
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

/* What a kernel works on. */
static void take_shapes(const struct step *s, const struct inq_trace_op *what, struct fix_op *op)
{
    const struct inq_rank *rank = &s->trace->ranks[what->rank];
    if (!what->host && (op->op.cls == INQ_CLASS_COMPUTE || op->op.cls == INQ_CLASS_COPY)) {
        const char *kernel = inq_trace_str(s->trace, rank->events.name[what->row]);
        inq_fix_take_shapes(s->trace, inq_trace_launch(s->trace, rank, what->row), kernel, op);
    }
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

static int take_ops(struct step *s, struct fix_step *job, struct inq_err *err)
{
    size_t n = s->g.graph->n_ops;
    int64_t *times = inq_mem_alloc(2 * (n + 1) * sizeof *times);
    uint32_t *from = inq_mem_alloc((n + 1) * sizeof *from);
    s->place = inq_mem_alloc((n + 1) * sizeof *s->place);
    int code = times != NULL && from != NULL && s->place != NULL ? find_kept(s, err)
                                                                 : inq_fix_no_memory(err);
    if (code == INQ_OK) {
        find_times(s, times, times + n);
        code = inq_fix_step_take(job, s->g.graph, times, times + n, err);
    }
    for (size_t i = 0; code == INQ_OK && i < n; i++) {
        const struct inq_trace_op *what = &s->g.ops[i];
        job->ops[i].place = what->sync   ? FIX_PLACE_HOST_SYNC
                            : what->host ? FIX_PLACE_HOST
                                         : FIX_PLACE_GPU;
        job->ops[i].op.stage = -1;
        take_comm(s, what, &job->ops[i]);
        take_shapes(s, what, &job->ops[i]);
    }
    if (code == INQ_OK) {
        close_up(s, job, from);
        code = find_slots(s, job, from, err);
    }
    inq_mem_free(times);
    inq_mem_free(from);
    return code;
}

static int ranks_of_trace(const struct inq_trace *trace, struct fix_step *job, struct inq_err *err)
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
    int code = fix_median_step(report->step_ns + skip, trace->n_steps - skip, &index, err);
    *step = (uint32_t)(index + skip);
    return code;
}

static int fix_base_trace(const struct inq_trace *trace, const struct inq_report *report,
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
        code = ranks_of_trace(trace, &base->job, err);
    }
    if (code == INQ_OK) {
        code = take_ops(&s, &base->job, err);
    }
    if (code == INQ_OK) {
        base->job.connected = base->job.n_groups > 0;
        base->lead_ns = first_kept(&s);
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

void inq_fix_base_free(struct inq_fix_base *base)
{
    if (base != NULL) {
        inq_fix_step_release(&base->job);
        inq_study_release(base->study);
        inq_mem_free(base->study);
        inq_mem_free(base);
    }
}

const struct inq_fix_base_info *inq_fix_base_info(const struct inq_fix_base *base)
{
    return &base->info;
}

/* For how long a host keeps its GPU waiting in a step, on the rank where that is longest. */
static int64_t host_ns_in(const struct inq_account *account, size_t step)
{
    int64_t most_ns = 0;
    for (size_t r = 0; r < account->n_ranks; r++) {
        const struct inq_account_cell *cell = &account->cells[r * account->n_steps + step];
        int64_t ns = cell->judged ? cell->ns[INQ_ACCOUNT_HOST] : 0;
        most_ns = ns > most_ns ? ns : most_ns;
    }
    return most_ns;
}

/* What the mean step holds of hosts' pauses that the one step does not. Op tables do not tell what
 * hosts do. */
static int64_t pauses_beyond(const struct inq_account *account, int64_t number)
{
    int64_t sum_ns = 0;
    int64_t own_ns = -1;
    for (size_t s = 0; !account->op_table && s < account->n_steps; s++) {
        if (account->steps[s].judged) {
            int64_t ns = host_ns_in(account, s);
            sum_ns += ns;
            own_ns = account->steps[s].number == number ? ns : own_ns;
        }
    }
    int64_t beyond_ns = own_ns >= 0 ? sum_ns / (int64_t)account->steps_judged - own_ns : 0;
    return beyond_ns > 0 ? beyond_ns : 0;
}

/* Predictions are told of the account's mean step, as findings are. Where the judged steps cannot
 * be simulated as a whole, the one step stands for them, in proportion. */
static void set_mean(struct inq_fix_base *base, const struct inq_account *account)
{
    struct inq_fix_base_info *info = &base->info;
    bool known = account != NULL && account->t_ns > 0 && info->recorded_ns > 0;

    info->n_steps = known ? account->steps_judged : 1;
    info->mean_t_ns = info->t_ns;
    info->mean_recorded_ns = known ? account->t_ns : info->recorded_ns;
    info->base_ns = known ? account->t_ns : info->t_ns;
    int64_t longer_ns = info->base_ns - info->t_ns;
    base->pauses_ns = known && longer_ns > 0 ? pauses_beyond(account, info->step) : 0;
    base->pauses_ns = base->pauses_ns < longer_ns || longer_ns <= 0 ? base->pauses_ns : longer_ns;
    if (base->study->simulated_ns > 0) { /* also where it is too far off to predict by */
        info->n_simulated = info->n_steps;
        info->mean_t_ns = base->study->simulated_ns;
    } else if (known) {
        info->mean_t_ns =
            inq_fix_scaled(account->t_ns, (double)info->t_ns / (double)info->recorded_ns);
    }
}

/* What the base takes by the simulator. */
static int measure(struct inq_fix_base *base, const struct inq_account *account,
                   struct inq_err *err)
{
    struct fix_step *job = &base->job;
    int64_t t_ns = 0;
    int64_t without_ns = 0;
    int code = inq_fix_step_time(job, true, &t_ns, err);
    if (code == INQ_OK) {
        code = inq_fix_step_time(job, false, &without_ns, err);
    }
    base->info.t_ns = t_ns + base->tail_ns;
    base->info.without_gaps_ns = without_ns;
    base->info.ops_ns =
        base->info.recorded_ns > 0 ? base->info.recorded_ns - base->lead_ns - base->tail_ns : -1;
    set_mean(base, account);
    base->info.n_ops = job->n_ops;
    base->info.n_ranks = job->n_ranks;
    base->info.n_stages = job->n_stages;
    base->info.n_dp = job->n_dp;
    base->info.n_microbatches = job->n_microbatches;
    base->info.schedule = job->schedule;
    base->info.connected = job->connected;
    return code;
}

static int new_base(struct inq_fix_base **base, struct inq_err *err)
{
    *base = inq_mem_zalloc(1, sizeof **base);
    if (*base != NULL) {
        (*base)->study = inq_mem_zalloc(1, sizeof *(*base)->study);
    }
    if (*base == NULL || (*base)->study == NULL) {
        inq_mem_free(*base);
        *base = NULL;
        return inq_fix_no_memory(err);
    }
    (*base)->info =
        (struct inq_fix_base_info){.source = "", .step = -1, .recorded_ns = -1, .ops_ns = -1};
    return INQ_OK;
}

static int finish(struct inq_fix_base **base, const struct inq_account *account, int code,
                  struct inq_err *err)
{
    if (code == INQ_OK) {
        code = measure(*base, account, err);
    }
    if (code != INQ_OK) {
        inq_fix_base_free(*base);
        *base = NULL;
    }
    return code;
}

int inq_fix_base_of_run(const struct inq_trace *trace, struct inq_report *report,
                        struct inq_fix_base **base, struct inq_err *err)
{
    const struct inq_op_model *model = NULL;
    int code = new_base(base, err);
    if (code == INQ_OK) {
        code = inq_op_model_shared(trace, report, &model, err);
    }
    if (code == INQ_OK) {
        code = model != NULL ? fix_base_model(trace, report, model, *base, err)
                             : fix_base_trace(trace, report, *base, err);
    }
    bool labeled = model != NULL && strcmp(model->source, "labels") == 0;
    if (code == INQ_OK && !labeled && report->account == NULL) {
        code = inq_err_set(err, INQ_UNSUPPORTED,
                           "no step of this run can be measured: nothing to compare a fix with");
    }
    if (code == INQ_OK && !labeled) {
        code = inq_study_init((*base)->study, trace, report, err);
    }
    if (code == INQ_OK && !labeled) {
        code = inq_study_simulate((*base)->study, err);
    }
    if (code == INQ_OK && !labeled && report->attribution != NULL) {
        inq_study_know_faults((*base)->study, report->attribution);
    }
    return finish(base, report->account, code, err);
}

/* ---- the base of a schedule ------------------------------------------------------------------ */

/* Whether each replica of the model is spread over all ranks. */
static bool are_pipelines(const struct inq_schedule *s)
{
    int32_t stages = s->n_stages / s->n_pipelines;
    bool whole = true;
    for (int32_t r = 0; whole && r < s->n_ranks; r++) {
        whole = false;
        for (int32_t stage = 0; !whole && stage < stages; stage++) {
            whole = s->stage_rank[stage] == r;
        }
    }
    return whole;
}

/* What a job of a schedule's graph needs to be laid out again. */
static void take_sizes(const struct inq_schedule *schedule, const struct inq_costs *costs,
                       struct fix_step *job)
{
    const struct inq_stage_cost *c = costs->per_stage != NULL ? costs->per_stage : &costs->stage;
    double backward = (double)c->b_ns + (double)c->w_ns;
    job->n_virtual = (size_t)(schedule->n_stages / schedule->n_pipelines);
    job->n_microbatches = (size_t)schedule->n_microbatches;
    job->n_chunks = (size_t)(schedule->n_stages / schedule->n_ranks);
    job->weight_share = backward > 0.0 ? (double)c->w_ns / backward : 0.0;
    (void)snprintf(job->schedule, sizeof job->schedule, "%s", schedule->kind);
    for (size_t i = 0; i < job->n_ops; i++) {
        job->split = job->split || job->ops[i].op.type == INQ_OP_BACKWARD_WEIGHT;
    }
}

/* Not a pipeline, or one with cells besides its compute: its graph as it is. */
static int take_graph(const struct inq_schedule *schedule, const struct inq_costs *costs,
                      struct fix_step *job, struct inq_err *err)
{
    struct inq_schedule_graph made = {0};
    int code = inq_schedule_graph_make(schedule, costs, &made, err);
    if (code == INQ_OK) {
        code = inq_fix_step_take(job, made.graph, made.graph->dur_ns, made.graph->delay_ns, err);
    }
    inq_schedule_graph_release(&made);
    for (size_t i = 0; code == INQ_OK && i < job->n_ops; i++) {
        struct fix_op *op = &job->ops[i];
        bool reduces = op->op.cls == INQ_CLASS_COMM && op->op.type == INQ_OP_NONE;
        op->coll = (uint8_t)(reduces ? INQ_COLL_ALLREDUCE : op->coll);
    }
    job->n_ranks = (size_t)schedule->n_ranks;
    job->connected = true;
    job->ranks = inq_mem_zalloc(job->n_ranks + 1, sizeof *job->ranks);
    if (code == INQ_OK && job->ranks == NULL) {
        code = inq_fix_no_memory(err);
    }
    for (size_t r = 0; code == INQ_OK && r < job->n_ranks; r++) {
        job->ranks[r] = (struct fix_rank){(int32_t)r, -1, -1};
    }
    if (schedule->n_pipelines <= 2 && are_pipelines(schedule)) {
        take_sizes(schedule, costs, job);
    }
    return code;
}

/* Whether all that takes time is forward and backward of whole pipelines. */
static bool is_plain(const struct inq_schedule *schedule, const struct inq_costs *costs)
{
    bool plain = schedule->n_pipelines <= 2 && are_pipelines(schedule);
    for (int32_t r = 0; r < schedule->n_ranks; r++) {
        for (size_t i = 0; i < schedule->ranks[r].n; i++) {
            uint8_t kind = schedule->ranks[r].actions[i].kind;
            plain = plain && !(kind == INQ_ACTION_UPDATE && costs->update_ns > 0) &&
                    !(kind == INQ_ACTION_REDUCE_GRAD && costs->reduce_ns > 0) &&
                    !(kind == INQ_ACTION_UNSHARD && costs->unshard_ns > 0) &&
                    !(kind == INQ_ACTION_OVERLAP_F_B && costs->overlap_ns > 0 &&
                      costs->per_stage != NULL);
        }
    }
    return plain;
}

static int job_of_schedule(const struct inq_schedule *schedule, const struct inq_costs *costs,
                           struct fix_step *job, struct inq_err *err)
{
    if (!is_plain(schedule, costs)) {
        return take_graph(schedule, costs, job, err);
    }
    size_t n_virtual = (size_t)(schedule->n_stages / schedule->n_pipelines);
    size_t m = (size_t)schedule->n_microbatches;
    int64_t alone_ns = costs->stage.f_ns + costs->stage.b_ns + costs->stage.w_ns;
    double backward = 0.0;
    double weight = 0.0;
    struct fix_pipe pipe = {.n_dp = 1,
                            .n_ranks = (size_t)schedule->n_ranks,
                            .n_virtual = n_virtual,
                            .n_microbatches = m,
                            .transfers = costs->p2p_ns > 0,
                            .split = true,
                            .beside =
                                alone_ns > 0 ? (double)costs->overlap_ns / (double)alone_ns : 0.0};
    pipe.cells = inq_mem_zalloc(n_virtual * m + 1, sizeof *pipe.cells);
    pipe.p2p_ns = inq_mem_zalloc(pipe.n_ranks * 2 + 1, sizeof *pipe.p2p_ns);
    int code = pipe.cells != NULL && pipe.p2p_ns != NULL ? INQ_OK : inq_fix_no_memory(err);
    for (size_t k = 0; code == INQ_OK && k < n_virtual * m; k++) {
        const struct inq_stage_cost *c =
            costs->per_stage != NULL ? &costs->per_stage[k / m] : &costs->stage;
        pipe.cells[k] = (struct fix_cell){c->f_ns, c->b_ns, c->w_ns, 0, 0};
        backward += (double)c->b_ns + (double)c->w_ns;
        weight += (double)c->w_ns;
    }
    for (size_t k = 0; code == INQ_OK && k < pipe.n_ranks * 2; k++) {
        pipe.p2p_ns[k] = costs->p2p_ns;
    }
    pipe.usual_p2p_ns = costs->p2p_ns;
    if (code == INQ_OK) {
        code = inq_fix_relayout(&pipe, schedule, 0.0, NULL, job, err);
        job->weight_share = code == INQ_OK && backward > 0.0 ? weight / backward : 0.0;
    }
    inq_fix_pipe_release(&pipe);
    return code;
}

int inq_fix_base_of_schedule(const struct inq_schedule *schedule, const struct inq_costs *costs,
                             struct inq_fix_base **base, struct inq_err *err)
{
    int code = new_base(base, err);
    if (code == INQ_OK) {
        (*base)->info.source = "schedule";
        code = job_of_schedule(schedule, costs, &(*base)->job, err);
    }
    return finish(base, NULL, code, err);
}

/* A copy of the base's job with the fix in it; to be released when this succeeds. */
static int fixed_job(const struct inq_fix_base *base, const char *spec, struct fix_step *job,
                     struct inq_err *err)
{
    struct fix_notes said = {0};
    int code = inq_fix_step_copy(&base->job, job, err);
    if (code != INQ_OK) {
        return code;
    }
    code = inq_fix_apply(job, spec, &said, err);
    code = code == INQ_OK ? inq_fix_step_expand(job, err) : code;
    if (code != INQ_OK) {
        inq_fix_step_release(job);
    }
    return code;
}

int inq_fix_graph(const struct inq_fix_base *base, const char *spec, struct inq_graph **graph,
                  struct inq_err *err)
{
    struct fix_step job;
    *graph = NULL;
    int code = fixed_job(base, spec, &job, err);
    if (code == INQ_OK) {
        code = inq_fix_step_graph(&job, graph, err);
        inq_fix_step_release(&job);
    }
    return code;
}

/* ---- the plan -------------------------------------------------------------------------------- */

/* What the record says that a transfer does; INQ_WORK_COUNT: nothing, or nothing that can be done
 * again. A fused send and receive exchanges. */
static uint8_t recorded_work(const struct fix_op *op)
{
    static const uint8_t works[INQ_COLL_KIND_COUNT] = {[INQ_COLL_UNKNOWN] = INQ_WORK_COUNT,
                                                       [INQ_COLL_ALLREDUCE] = INQ_WORK_ALL_REDUCE,
                                                       [INQ_COLL_ALLGATHER] = INQ_WORK_ALL_GATHER,
                                                       [INQ_COLL_REDUCE_SCATTER] =
                                                           INQ_WORK_REDUCE_SCATTER,
                                                       [INQ_COLL_ALLTOALL] = INQ_WORK_ALL_TO_ALL,
                                                       [INQ_COLL_ALLTOALLV] = INQ_WORK_ALL_TO_ALL,
                                                       [INQ_COLL_BROADCAST] = INQ_WORK_BROADCAST,
                                                       [INQ_COLL_REDUCE] = INQ_WORK_REDUCE,
                                                       [INQ_COLL_GATHER] = INQ_WORK_NOTHING,
                                                       [INQ_COLL_SCATTER] = INQ_WORK_NOTHING,
                                                       [INQ_COLL_BARRIER] = INQ_WORK_NOTHING,
                                                       [INQ_COLL_SEND] = INQ_WORK_SEND,
                                                       [INQ_COLL_RECV] = INQ_WORK_RECV,
                                                       [INQ_COLL_SENDRECV] = INQ_WORK_ALL_TO_ALL,
                                                       [INQ_COLL_COALESCED] = INQ_WORK_COUNT};
    bool typed = op->op.type != INQ_OP_NONE;
    return typed || op->group == INQ_NONE || op->coll >= INQ_COLL_KIND_COUNT ? INQ_WORK_COUNT
                                                                             : works[op->coll];
}

/* The recorded numbers of the ranks; false: not all of them are known. */
static bool take_numbers(const struct fix_step *job, int32_t *numbers)
{
    for (size_t r = 0; r < job->n_ranks; r++) {
        if (job->ranks == NULL || job->ranks[r].number < 0) {
            return false;
        }
        numbers[r] = job->ranks[r].number;
    }
    return job->n_ranks > 0;
}

/* The job's op of an op of the graph, which is `one` or several of it in a row. */
static const struct fix_op *op_behind(const struct fix_step *job, const struct inq_graph *one,
                                      const struct inq_graph *graph, uint32_t i)
{
    uint32_t in_step = (uint32_t)(graph->id_of[i] % one->n_ops);
    return &job->ops[one == graph ? in_step : one->id_of[in_step]];
}

/* What the op is to do. Alone it has nobody to exchange with, and a send needs its receive. */
static uint8_t planned_work(const struct fix_step *job, const struct inq_graph *one,
                            const struct inq_graph *graph, uint32_t i)
{
    const struct fix_op *op = op_behind(job, one, graph, i);
    uint32_t n = 1;
    uint32_t first = inq_graph_group_of(graph, i, &n);
    uint8_t work = recorded_work(op);
    if (n < 2) {
        return op->copy != 0 ? op->copy : INQ_WORK_COUNT;
    }
    if (work == INQ_WORK_SEND || work == INQ_WORK_RECV) {
        uint8_t other = recorded_work(op_behind(job, one, graph, first + (i == first)));
        bool pair = n == 2 && other == (work == INQ_WORK_SEND ? INQ_WORK_RECV : INQ_WORK_SEND);
        return pair ? work : INQ_WORK_COUNT;
    }
    return work;
}

/* The plan of a graph of the job's ops, or of several steps in a row of the graph of one. */
static int plan_of(const struct fix_step *job, const struct inq_graph *one,
                   const struct inq_graph *graph, double scale, struct inq_plan **plan,
                   struct inq_err *err)
{
    uint8_t *work = inq_mem_zalloc(graph->n_ops + 1, sizeof *work);
    int64_t *bytes = inq_mem_zalloc(graph->n_ops + 1, sizeof *bytes);
    struct inq_product *product = inq_mem_zalloc(graph->n_ops + 1, sizeof *product);
    int32_t *numbers = inq_mem_zalloc(job->n_ranks + 1, sizeof *numbers);
    struct inq_plan_options options = {
        .scale = scale, .work = work, .bytes = bytes, .product = product};
    int code = work != NULL && bytes != NULL && product != NULL && numbers != NULL
                   ? INQ_OK
                   : inq_fix_no_memory(err);
    options.numbers = code == INQ_OK && take_numbers(job, numbers) ? numbers : NULL;
    for (size_t i = 0; code == INQ_OK && i < graph->n_ops; i++) {
        const struct fix_op *op = op_behind(job, one, graph, (uint32_t)i);
        bool comm = op->op.cls == INQ_CLASS_COMM;
        bool same = comm || op->shaped_ns == op->dur_ns;
        work[i] = planned_work(job, one, graph, (uint32_t)i);
        bytes[i] = same ? op->bytes : -1;
        product[i] = same ? op->product : (struct inq_product){0};
    }
    if (code == INQ_OK) {
        code = inq_plan_make(graph, &options, plan, err);
    }
    inq_mem_free(work);
    inq_mem_free(bytes);
    inq_mem_free(product);
    inq_mem_free(numbers);
    return code;
}

int inq_fix_step_plan(const struct fix_step *job, size_t n_steps, double scale,
                      struct inq_graph **graph, struct inq_plan **plan, struct inq_err *err)
{
    struct inq_graph *one = NULL;
    *graph = NULL;
    int code = inq_fix_step_graph(job, &one, err);
    if (code == INQ_OK && n_steps > 1) {
        code = inq_graph_unroll(one, n_steps, graph, err);
    } else if (code == INQ_OK) {
        *graph = one;
    }
    if (code == INQ_OK) {
        code = plan_of(job, one, *graph, scale, plan, err);
    }
    if (one != *graph) {
        inq_graph_free(one);
    }
    if (code != INQ_OK) {
        inq_graph_free(*graph);
        *graph = NULL;
    }
    return code;
}

int inq_fix_plan(const struct inq_fix_base *base, const char *spec, size_t n_steps, double scale,
                 struct inq_graph **graph, struct inq_plan **plan, struct inq_err *err)
{
    struct fix_step job;
    *graph = NULL;
    *plan = NULL;
    int code = fixed_job(base, spec, &job, err);
    if (code == INQ_OK) {
        code = inq_fix_step_plan(&job, n_steps, scale, graph, plan, err);
        inq_fix_step_release(&job);
    }
    return code;
}
