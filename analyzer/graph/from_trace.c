/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/from_trace.h"

#include "base/mem.h"
#include "base/sort.h"
#include "graph/graph.h"
#include "graph/receives.h"
#include "trace/trace.h"

#include <string.h>

/* A start is explained by an end or a launch this shortly before it. */
static const int64_t explained_ns = 10000;
/* A stream that waits for another one goes on this soon after it; or so much before it, by stamps
 * whose start and length are both rounded to a microsecond. */
static const int64_t handover_ns = 20000;
static const int64_t rounded_ns = 2000;
/* Launches that come within so much of one distance from the end of the work before them (and
 * within this part of the usual length of it) are paced by the GPU: a host that is free to run
 * ahead does not stay there. */
static const int64_t paced_ns = 50000;
enum { PACED_PARTS = 4, LEAST_PACED = 16 };
/* A GPU takes about 1,024 launches ahead; the next one blocks until work is over. Half as many are
 * asked for, because drivers differ, and not all work that a launch makes is recorded. Such a
 * launch takes far longer than the few microseconds of others and returns at once when there is
 * room. */
enum { FULL_QUEUE = 512 };
static const int64_t blocked_ns = 20000;
/* A host that goes on within this part of the time for which it was silent while its GPU worked had
 * waited for it: what it does before its next launch (a batch is loaded) takes less. */
enum { RESUMED_PARTS = 4 };
/* A host that launches communication and spins until that has told it, in its memory, how much
 * comes (dispatch of expert parallelism) makes no call meanwhile, and goes on this close to the
 * kernel's end. And within this part of its silence: a host that is silent for its own reasons
 * comes so close by chance once in 32 times. */
static const int64_t told_ns = 100000;
enum { TOLD_PARTS = 64 };
/* Clocks of host and GPU that differ by more cannot be believed. */
static const int64_t most_lead_ns = 1000000;

void inq_trace_graph_release(struct inq_trace_graph *graph)
{
    inq_graph_free(graph->graph);
    inq_mem_free(graph->ops);
    inq_mem_free(graph->start_ns);
    inq_mem_free(graph->end_ns);
    *graph = (struct inq_trace_graph){0};
}

/* ---- one rank's part of the graph ------------------------------------------------------------ */

/* One rank while its part of the graph is made. */
struct rank_part {
    const struct inq_rank *rank;
    uint32_t index;     /* into inq_trace.ranks */
    int64_t from, to;   /* window for host calls */
    uint32_t *event_id; /* [events.n] builder ids, INQ_NONE outside the window */
    int32_t *matched;   /* [events.n] rank at the other end of a matched transfer, or -1 */
    uint32_t *call_id;  /* [calls.n] what is over when the call is */
    uint32_t *launch; /* [calls.n] what launches: an op before it, if the call waits for its copy */
    uint32_t *awaited; /* [calls.n] that copy, INQ_NONE: none */
    int64_t lead_ns;   /* the host's clock is behind the GPU's by this much */
    bool threads;      /* no device: threads run what they launch */
    /* GPU work of the window by end */
    size_t n_ends;
    int64_t *end_ns; /* ascending */
    uint32_t *end_row;
};

struct make {
    const struct inq_trace *trace;
    uint32_t step;
    struct inq_graph_builder *b;
    struct rank_part *parts; /* [n_ranks] */
    size_t n, cap, cap_start, cap_end;
    struct inq_trace_op *ops; /* by builder id */
    int64_t *start_ns, *end_ns;
    uint32_t *scratch; /* members of a group */
    size_t cap_scratch;
};

static int no_memory(struct inq_err *err)
{
    return inq_err_set(err, INQ_NOMEM, "out of memory for the graph of a trace");
}

/* ---- which rows ------------------------------------------------------------------------------ */

static bool is_work(const struct inq_events *e, size_t row)
{
    return e->kind[row] != INQ_EVENT_SYNC && e->kind[row] != INQ_EVENT_SLICE;
}

static bool in_step(const struct make *m, const struct inq_events *e, size_t row)
{
    return is_work(e, row) && (m->step == INQ_NONE || e->step[row] == m->step);
}

/* Names of calls that return when the GPU has done its work. */
static bool waits_for_gpu(const char *name)
{
    return strstr(name, "Synchronize") != NULL || strcmp(name, "cudaMemcpy") == 0 ||
           strcmp(name, "hipMemcpy") == 0;
}

static int alloc_part(const struct make *m, struct rank_part *p, struct inq_err *err)
{
    const struct inq_rank *r = p->rank;
    p->event_id = inq_mem_alloc(r->events.n * sizeof *p->event_id);
    p->call_id = inq_mem_alloc(r->calls.n * sizeof *p->call_id);
    p->launch = inq_mem_alloc(r->calls.n * sizeof *p->launch);
    p->awaited = inq_mem_alloc(r->calls.n * sizeof *p->awaited);
    p->end_ns = inq_mem_alloc(r->events.n * sizeof *p->end_ns);
    p->end_row = inq_mem_alloc(r->events.n * sizeof *p->end_row);
    if (p->event_id == NULL || p->call_id == NULL || p->launch == NULL || p->awaited == NULL ||
        p->end_ns == NULL || p->end_row == NULL) {
        return no_memory(err);
    }
    memset(p->event_id, 0xff, r->events.n * sizeof *p->event_id);
    memset(p->call_id, 0xff, r->calls.n * sizeof *p->call_id);
    memset(p->launch, 0xff, r->calls.n * sizeof *p->launch);
    memset(p->awaited, 0xff, r->calls.n * sizeof *p->awaited);
    p->from = INT64_MIN;
    p->to = INT64_MAX;
    if (m->step != INQ_NONE) {
        p->from = m->trace->steps[m->step].rank_start_ns[p->index];
        p->to = m->trace->steps[m->step].rank_end_ns[p->index];
    }
    return INQ_OK;
}

static void release_parts(struct make *m)
{
    for (size_t r = 0; m->parts != NULL && r < m->trace->n_ranks; r++) {
        inq_mem_free(m->parts[r].event_id);
        inq_mem_free(m->parts[r].matched);
        inq_mem_free(m->parts[r].call_id);
        inq_mem_free(m->parts[r].launch);
        inq_mem_free(m->parts[r].awaited);
        inq_mem_free(m->parts[r].end_ns);
        inq_mem_free(m->parts[r].end_row);
    }
    inq_mem_free(m->parts);
}

/* ---- ops ------------------------------------------------------------------------------------- */

static int add_op(struct make *m, const struct rank_part *p, const struct inq_trace_op *what,
                  int64_t start_ns, int64_t end_ns, uint32_t *id, struct inq_err *err)
{
    const struct inq_rank *r = p->rank;
    struct inq_graph_op op = inq_graph_op_init();
    op.rank = (int32_t)p->index;
    op.lane = what->host ? r->calls.lane[what->row] : r->events.lane[what->row];
    op.step = m->step != INQ_NONE ? (int32_t)m->step : -1;
    op.stage = r->stage;
    op.cls = what->host ? INQ_CLASS_OTHER : r->events.cls[what->row];
    op.source = (uint32_t)m->n;
    int code = inq_mem_grow(&m->ops, &m->cap, m->n + 1, sizeof *m->ops, INQ_GRAPH_MAX_OPS, err);
    if (code == INQ_OK) {
        code = inq_mem_grow(&m->start_ns, &m->cap_start, m->n + 1, sizeof *m->start_ns,
                            INQ_GRAPH_MAX_OPS, err);
    }
    if (code == INQ_OK) {
        code = inq_mem_grow(&m->end_ns, &m->cap_end, m->n + 1, sizeof *m->end_ns, INQ_GRAPH_MAX_OPS,
                            err);
    }
    if (code == INQ_OK) {
        code = inq_graph_add_op(m->b, &op, 0, 0, id, err);
    }
    if (code == INQ_OK) {
        m->ops[m->n] = *what;
        m->start_ns[m->n] = start_ns;
        m->end_ns[m->n++] = end_ns;
    }
    return code;
}

static int add_events(struct make *m, struct rank_part *p, struct inq_err *err)
{
    const struct inq_events *e = &p->rank->events;
    for (size_t i = 0; i < e->n; i++) {
        if (!in_step(m, e, i)) {
            continue;
        }
        struct inq_trace_op what = {.rank = p->index, .row = (uint32_t)i};
        int64_t end = e->start_ns[i] + e->dur_ns[i];
        int code = add_op(m, p, &what, e->start_ns[i], end, &p->event_id[i], err);
        if (code != INQ_OK) {
            return code;
        }
        p->end_ns[p->n_ends] = end;
        p->end_row[p->n_ends++] = (uint32_t)i;
    }
    return INQ_OK;
}

/* A kernel cannot start before it was launched. */
static void measure_lead(struct rank_part *p)
{
    const struct inq_calls *c = &p->rank->calls;
    const struct inq_events *e = &p->rank->events;
    for (size_t i = 0; i < e->n; i++) {
        if (p->event_id[i] == INQ_NONE || e->call[i] == INQ_NONE) {
            continue;
        }
        int64_t lead = c->start_ns[e->call[i]] - e->start_ns[i];
        if (lead > p->lead_ns && lead <= most_lead_ns) {
            p->lead_ns = lead;
        }
    }
}

static int64_t call_start(const struct rank_part *p, size_t call)
{
    return p->rank->calls.start_ns[call] - p->lead_ns;
}

/* How fast the rank's clock drifts at an aligned time. */
static int64_t drift_at(const struct inq_clock *clock, int64_t at_ns)
{
    int64_t drift_ppb = clock->drift_ppb;
    for (size_t i = 0; i < clock->n_later; i++) {
        const struct inq_clock_piece *piece = &clock->later[i];
        drift_ppb = piece->from_ns + piece->offset_ns <= at_ns ? piece->drift_ppb : drift_ppb;
    }
    return drift_ppb;
}

/* Starts are aligned, lengths are the clock's own: by one that drifts by 20 ppm, a call of 100 ms
 * ends 2 us before the work that it waited for. */
static int64_t call_end(const struct rank_part *p, size_t call)
{
    int64_t start_ns = call_start(p, call);
    int64_t dur_ns = p->rank->calls.dur_ns[call];
    if (dur_ns >= blocked_ns) {
        double drift = (double)drift_at(&p->rank->clock, start_ns) / 1e9;
        dur_ns += (int64_t)((double)dur_ns * drift);
    }
    return start_ns + dur_ns;
}

/* When each call is over, INQ_TIME_NONE for those that have nothing to do with the window. A launch
 * is over when its kernel starts, even if the call returns later. */
static void find_call_ends(const struct rank_part *p, int64_t *over)
{
    const struct inq_calls *c = &p->rank->calls;
    const struct inq_events *e = &p->rank->events;
    for (size_t i = 0; i < c->n; i++) {
        bool inside = c->start_ns[i] >= p->from && c->start_ns[i] < p->to;
        over[i] = inside ? call_end(p, i) : INQ_TIME_NONE;
    }
    for (size_t i = 0; i < e->n; i++) {
        uint32_t call = e->call[i];
        if (p->event_id[i] == INQ_NONE || call == INQ_NONE) {
            continue;
        }
        int64_t end = call_end(p, call);
        end = over[call] != INQ_TIME_NONE && over[call] < end ? over[call] : end;
        end = e->start_ns[i] < end ? e->start_ns[i] : end;
        over[call] = end > call_start(p, call) ? end : call_start(p, call);
    }
}

/* How much GPU work had ended at `at`. */
static size_t count_ended(const struct rank_part *p, int64_t at)
{
    return inq_first_from_i64(p->end_ns, 0, p->n_ends, at + 1);
}

/* The GPU work that ended last at or before `at`; INQ_NONE when there is none. */
static uint32_t last_ended(const struct rank_part *p, int64_t at)
{
    size_t n = count_ended(p, at);
    return n > 0 ? p->end_row[n - 1] : INQ_NONE;
}

/* How much GPU work each call launched; returns how much was launched before the record. */
static size_t count_launched(const struct rank_part *p, uint32_t *launched)
{
    const struct inq_events *e = &p->rank->events;
    size_t before = 0;
    for (size_t i = 0; i < e->n; i++) {
        if (p->event_id[i] == INQ_NONE) {
            continue;
        }
        if (e->call[i] != INQ_NONE) {
            launched[e->call[i]]++;
        } else {
            before++;
        }
    }
    return before;
}

/* Whether a call that took long was over when work was, which ended at `work_end_ns`. */
static bool ends_with(const struct rank_part *p, size_t call, int64_t work_end_ns)
{
    int64_t after_ns = call_end(p, call) - work_end_ns;
    return p->rank->calls.dur_ns[call] >= blocked_ns && work_end_ns > call_start(p, call) &&
           after_ns >= 0 && after_ns <= blocked_ns;
}

/* Whether a launch blocked because the GPU's queue was full, with `ahead` pieces of work launched
 * until then. */
static bool is_blocked(const struct rank_part *p, size_t call, size_t ahead)
{
    size_t ended = count_ended(p, call_end(p, call));
    bool full = ahead >= ended + FULL_QUEUE;
    return full && ended > 0 && ends_with(p, call, p->end_ns[ended - 1]);
}

/* Copies whose calls returned when they were done, whatever the call's name promises: one between a
 * GPU and pageable memory (a loss that is printed) waits for all before it in its stream, although
 * it is called asynchronous. */
static void find_awaited(struct rank_part *p)
{
    const struct inq_events *e = &p->rank->events;
    for (uint32_t i = 0; i < e->n; i++) {
        uint32_t call = e->call[i];
        if (p->event_id[i] != INQ_NONE && call != INQ_NONE && e->kind[i] == INQ_EVENT_MEMCPY &&
            ends_with(p, call, e->start_ns[i] + e->dur_ns[i])) {
            p->awaited[call] = i;
        }
    }
}

/* A call that waits for the GPU is over when that is; what it launches before is launched at once.
 */
static int add_call(struct make *m, struct rank_part *p, size_t call, bool sync, int64_t over,
                    struct inq_err *err)
{
    struct inq_trace_op what = {.rank = p->index, .row = (uint32_t)call, .host = true};
    int64_t start = call_start(p, call);
    int code = INQ_OK;
    if (p->awaited[call] != INQ_NONE) {
        code = add_op(m, p, &what, start, start, &p->launch[call], err);
    }
    if (code == INQ_OK) {
        int64_t end = sync ? call_end(p, call) : over;
        what.sync = sync;
        code = add_op(m, p, &what, sync ? end : start, end, &p->call_id[call], err);
    }
    if (p->awaited[call] == INQ_NONE) {
        p->launch[call] = p->call_id[call];
    }
    return code;
}

/* Calls that launched work of the window, or lie in it. */
static int add_calls(struct make *m, struct rank_part *p, struct inq_err *err)
{
    const struct inq_calls *c = &p->rank->calls;
    int64_t *over = inq_mem_alloc(c->n * sizeof *over);
    uint32_t *launched = inq_mem_zalloc(c->n + 1, sizeof *launched);
    size_t ahead = 0;
    int code = over != NULL && launched != NULL ? INQ_OK : no_memory(err);
    if (code == INQ_OK) {
        find_call_ends(p, over);
        ahead = count_launched(p, launched);
        find_awaited(p);
    }
    for (size_t i = 0; code == INQ_OK && i < c->n; i++) {
        ahead += launched[i];
        if (over[i] == INQ_TIME_NONE) {
            continue;
        }
        bool sync = p->awaited[i] != INQ_NONE ||
                    waits_for_gpu(inq_trace_str(m->trace, c->name[i])) ||
                    (launched[i] > 0 && is_blocked(p, i, ahead));
        code = add_call(m, p, i, sync, over[i], err);
    }
    inq_mem_free(over);
    inq_mem_free(launched);
    return code;
}

/* ---- edges ----------------------------------------------------------------------------------- */

static int sort_ends(struct rank_part *p, struct inq_err *err)
{
    uint32_t *order = inq_mem_alloc(p->n_ends * sizeof *order);
    uint32_t *row = inq_mem_alloc(p->n_ends * sizeof *row);
    int64_t *end = inq_mem_alloc(p->n_ends * sizeof *end);
    int code = order != NULL && row != NULL && end != NULL ? INQ_OK : no_memory(err);
    if (code == INQ_OK) {
        code = inq_sort_order_i64(p->end_ns, p->n_ends, order, err);
    }
    if (code == INQ_OK) {
        for (size_t i = 0; i < p->n_ends; i++) {
            end[i] = p->end_ns[order[i]];
            row[i] = p->end_row[order[i]];
        }
        memcpy(p->end_ns, end, p->n_ends * sizeof *end);
        memcpy(p->end_row, row, p->n_ends * sizeof *row);
    }
    inq_mem_free(order);
    inq_mem_free(row);
    inq_mem_free(end);
    return code;
}

/* How long after the end of other GPU work the event was launched (before it: negative);
 * INQ_TIME_NONE where there was none. */
static int64_t launched_after(const struct rank_part *p, size_t row)
{
    const struct inq_events *e = &p->rank->events;
    uint32_t other = last_ended(p, e->start_ns[row]);
    return other == INQ_NONE ? INQ_TIME_NONE
                             : call_start(p, e->call[row]) - e->start_ns[other] - e->dur_ns[other];
}

/* Whether the host launches in step with the GPU, whatever it waits for not being recorded: nearly
 * all launches come at one distance from the end of what ran before. Then the times between its
 * launches are the GPU's, and would be shorter with a faster one. */
static int is_paced(const struct rank_part *p, bool *paced, struct inq_err *err)
{
    const struct inq_events *e = &p->rank->events;
    int64_t *after_ns = inq_mem_alloc(e->n * sizeof *after_ns);
    if (after_ns == NULL) {
        return no_memory(err);
    }
    size_t n = 0;
    int64_t work_ns = 0;
    for (size_t i = 0; i < e->n; i++) {
        if (p->event_id[i] != INQ_NONE && e->call[i] != INQ_NONE) {
            after_ns[n] = launched_after(p, i);
            work_ns += e->dur_ns[i];
            n += after_ns[n] != INQ_TIME_NONE;
        }
    }
    inq_sort_i64(after_ns, n);
    int64_t spread_ns = n > 0 ? after_ns[n - 1 - n / 20] - after_ns[n / 20] : 0;
    *paced = n >= LEAST_PACED && spread_ns <= paced_ns &&
             spread_ns <= work_ns / (int64_t)n / PACED_PARTS;
    inq_mem_free(after_ns);
    return INQ_OK;
}

/* Whether `row` may have waited for `other`, which ended last before it started. */
static bool hands_over(const struct rank_part *p, uint32_t other, size_t row)
{
    const struct inq_events *e = &p->rank->events;
    return other != INQ_NONE && e->lane[other] != e->lane[row] &&
           e->start_ns[other] < e->start_ns[row];
}

/* The op of another stream that `row` seems to have waited for, where nothing explains its start
 * after `explained`; INQ_NONE when there is none. A thread that waited does not go on at once: the
 * scheduler and the interpreter come in between. */
static uint32_t handed_over(const struct rank_part *p, size_t row, int64_t explained)
{
    const struct inq_events *e = &p->rank->events;
    int64_t start = e->start_ns[row];
    if (explained >= start - explained_ns) {
        return INQ_NONE;
    }
    uint32_t other = last_ended(p, start);
    int64_t end = other != INQ_NONE ? e->start_ns[other] + e->dur_ns[other] : INT64_MIN;
    bool recent = end > explained && (p->threads || end >= start - handover_ns);
    if (recent && hands_over(p, other, row)) {
        return other;
    }
    size_t next = count_ended(p, start);
    bool rounded = next < p->n_ends && p->end_ns[next] <= start + rounded_ns;
    return rounded && hands_over(p, p->end_row[next], row) ? p->end_row[next] : INQ_NONE;
}

/* By call: the last compute launched before it, a row of the rank's events; INQ_NONE: none. */
static void find_launched(const struct rank_part *p, uint32_t *launched)
{
    const struct inq_events *e = &p->rank->events;
    uint32_t before = INQ_NONE;
    for (size_t i = 0; i < p->rank->calls.n; i++) {
        launched[i] = INQ_NONE;
    }
    for (size_t i = 0; i < e->n; i++) {
        if (p->event_id[i] != INQ_NONE && e->call[i] != INQ_NONE &&
            e->cls[i] == INQ_CLASS_COMPUTE) {
            launched[e->call[i]] = (uint32_t)i;
        }
    }
    for (size_t i = 0; i < p->rank->calls.n; i++) {
        uint32_t own = launched[i];
        launched[i] = before;
        before = own != INQ_NONE ? own : before;
    }
}

/* The compute of another stream that was launched last before the communication of this row. */
static uint32_t compute_before(const struct rank_part *p, const uint32_t *launched, size_t row)
{
    const struct inq_events *e = &p->rank->events;
    bool comm =
        e->cls[row] == INQ_CLASS_COMM && p->event_id[row] != INQ_NONE && e->call[row] != INQ_NONE;
    uint32_t other = comm ? launched[e->call[row]] : INQ_NONE;
    return other != INQ_NONE && e->lane[other] != e->lane[row] ? other : INQ_NONE;
}

/* By lane: whether communication on it once began before the compute launched ahead of it had ended
 * (receives posted early, parameters gathered ahead). */
static void find_early(const struct rank_part *p, const uint32_t *launched, bool *early)
{
    const struct inq_events *e = &p->rank->events;
    for (size_t i = 0; i < e->n; i++) {
        uint32_t other = compute_before(p, launched, i);
        if (other != INQ_NONE && e->start_ns[other] + e->dur_ns[other] > e->start_ns[i]) {
            early[e->lane[i]] = true;
        }
    }
}

/* Communication of compute's results waits for them, also where the stream was busy until later
 * and its start does not show it. A stream that is early does not wait. */
static int connect_comm(struct make *m, struct rank_part *p, bool *early, struct inq_err *err)
{
    const struct inq_events *e = &p->rank->events;
    uint32_t *launched = inq_mem_alloc((p->rank->calls.n + 1) * sizeof *launched);
    int code = launched != NULL ? INQ_OK : no_memory(err);
    if (code == INQ_OK) {
        find_launched(p, launched);
        find_early(p, launched, early);
    }
    for (size_t i = 0; code == INQ_OK && i < e->n; i++) {
        uint32_t other = compute_before(p, launched, i);
        if (other != INQ_NONE && !early[e->lane[i]]) {
            code = inq_graph_add_inferred(m->b, p->event_id[other], p->event_id[i], err);
        }
    }
    inq_mem_free(launched);
    return code;
}

/* Launches, and streams that waited for other streams. */
static int connect_events(struct make *m, struct rank_part *p, uint32_t *feeds, struct inq_err *err)
{
    const struct inq_events *e = &p->rank->events;
    int64_t lane_end = INT64_MIN;
    uint32_t lane = INQ_NONE;
    int code = INQ_OK;
    for (size_t i = 0; code == INQ_OK && m->start_ns != NULL && i < e->n; i++) {
        if (p->event_id[i] == INQ_NONE) {
            continue;
        }
        int64_t explained = e->lane[i] == lane ? lane_end : INT64_MIN;
        lane = e->lane[i];
        lane_end = e->start_ns[i] + e->dur_ns[i];
        uint32_t launch = e->call[i] != INQ_NONE ? p->launch[e->call[i]] : INQ_NONE;
        if (launch != INQ_NONE && launch < m->n && m->start_ns[launch] <= e->start_ns[i]) {
            code = inq_graph_add_dep(m->b, launch, p->event_id[i], err);
            explained = m->end_ns[launch] > explained ? m->end_ns[launch] : explained;
        }
        uint32_t other = handed_over(p, i, explained);
        if (code == INQ_OK && other != INQ_NONE) {
            code = inq_graph_add_inferred(m->b, p->event_id[other], p->event_id[i], err);
            feeds[other] = feeds[other] == INQ_NONE ? (uint32_t)i : feeds[other];
        }
    }
    return code;
}

/* All edges between GPU work. */
static int connect_gpu(struct make *m, struct rank_part *p, struct inq_trace_graph *out,
                       struct inq_err *err)
{
    size_t n = p->rank->events.n;
    uint32_t *feeds = inq_mem_alloc((n + 1) * sizeof *feeds);
    bool *early = inq_mem_zalloc(p->rank->n_lanes + 1, sizeof *early);
    int code = feeds != NULL && early != NULL ? INQ_OK : no_memory(err);
    for (size_t i = 0; code == INQ_OK && i < n; i++) {
        feeds[i] = INQ_NONE;
    }
    if (code == INQ_OK) {
        code = connect_events(m, p, feeds, err);
    }
    if (code == INQ_OK) {
        code = connect_comm(m, p, early, err);
    }
    if (code == INQ_OK) {
        struct inq_receives of = {p->rank, p->event_id, p->matched, early, feeds};
        code = inq_receives_connect(&of, m->b, &out->n_receives, &out->n_loose, err);
    }
    inq_mem_free(feeds);
    inq_mem_free(early);
    return code;
}

static bool is_busy(const struct rank_part *p, int64_t at)
{
    const struct inq_events *e = &p->rank->events;
    for (size_t i = 0; i < e->n; i++) {
        if (p->event_id[i] != INQ_NONE && e->start_ns[i] <= at &&
            e->start_ns[i] + e->dur_ns[i] > at) {
            return true;
        }
    }
    return false;
}

/* The work that a call which waits for the GPU, until `end`, waited for; INQ_NONE: none. */
static uint32_t synced_with(const struct rank_part *p, uint32_t call, int64_t end)
{
    const struct inq_events *e = &p->rank->events;
    uint32_t work = last_ended(p, end);
    bool later = work != INQ_NONE && e->start_ns[work] + e->dur_ns[work] > call_start(p, call);
    return later ? work : INQ_NONE;
}

/* A capture that opens while the host waits for its GPU has no call that says so: the work that the
 * rank's first call seems to have waited for; INQ_NONE: none. */
static uint32_t waited_for(const struct rank_part *p, uint32_t first_call)
{
    const struct inq_events *e = &p->rank->events;
    int64_t at = call_start(p, first_call);
    uint32_t work = last_ended(p, at);
    if (work == INQ_NONE || is_busy(p, at)) {
        return INQ_NONE;
    }
    int64_t idle_ns = at - e->start_ns[work] - e->dur_ns[work];
    return idle_ns <= (at - p->end_ns[0]) / RESUMED_PARTS ? work : INQ_NONE;
}

/* For each call the GPU work that it launched (of several pieces the last), and for each thread the
 * call before. */
struct spins {
    uint32_t *work;   /* [calls.n] rows of the rank's events; INQ_NONE: none */
    uint32_t *before; /* [n_lanes] */
};

static void release_spins(struct spins *s)
{
    inq_mem_free(s->work);
    inq_mem_free(s->before);
}

static int prepare_spins(const struct rank_part *p, struct spins *s, struct inq_err *err)
{
    const struct inq_events *e = &p->rank->events;
    size_t n_calls = p->rank->calls.n + 1; /* of none there is memory too */
    size_t n_lanes = p->rank->n_lanes + 1;
    s->work = inq_mem_alloc(n_calls * sizeof *s->work);
    s->before = inq_mem_alloc(n_lanes * sizeof *s->before);
    if (s->work == NULL || s->before == NULL) {
        return no_memory(err);
    }
    memset(s->work, 0xff, n_calls * sizeof *s->work);
    memset(s->before, 0xff, n_lanes * sizeof *s->before);
    for (uint32_t i = 0; i < e->n; i++) {
        if (p->event_id[i] != INQ_NONE && e->call[i] != INQ_NONE) {
            s->work[e->call[i]] = i;
        }
    }
    return INQ_OK;
}

/* The work whose end a thread spun for between the call that launched it and call `i`; INQ_NONE:
 * none. */
static uint32_t spun_for(const struct rank_part *p, const struct spins *s, uint32_t i)
{
    const struct inq_events *e = &p->rank->events;
    uint32_t before = s->before[p->rank->calls.lane[i]];
    uint32_t work = before != INQ_NONE ? s->work[before] : INQ_NONE;
    if (work == INQ_NONE || e->cls[work] != INQ_CLASS_COMM) {
        return INQ_NONE;
    }
    int64_t at = call_start(p, i);
    int64_t silent_ns = at - call_end(p, before);
    int64_t apart_ns = e->start_ns[work] + e->dur_ns[work] - at;
    apart_ns = apart_ns < 0 ? -apart_ns : apart_ns;
    bool spun = e->start_ns[work] < at && apart_ns <= told_ns && apart_ns <= silent_ns / TOLD_PARTS;
    return spun ? work : INQ_NONE;
}

/* The work that call `i` waited for; INQ_NONE: none. */
static uint32_t work_before(const struct make *m, const struct rank_part *p, const struct spins *s,
                            uint32_t i, bool first)
{
    uint32_t id = p->call_id[i];
    if (p->awaited[i] != INQ_NONE) {
        return p->awaited[i];
    }
    uint32_t work = m->ops[id].sync ? synced_with(p, i, m->end_ns[id]) : spun_for(p, s, i);
    return work == INQ_NONE && first ? waited_for(p, i) : work;
}

/* Threads that start each other, and calls that wait for the GPU. */
static int connect_calls(struct make *m, struct rank_part *p, struct inq_err *err)
{
    const struct inq_calls *c = &p->rank->calls;
    uint32_t before = INQ_NONE; /* the call before, of any thread */
    struct spins spins = {0};
    int code = prepare_spins(p, &spins, err);
    for (uint32_t i = 0; code == INQ_OK && i < c->n; i++) {
        uint32_t id = p->call_id[i];
        if (id == INQ_NONE || m->ops == NULL) {
            continue;
        }
        if (before != INQ_NONE && c->lane[before] != c->lane[i] &&
            m->end_ns[p->call_id[before]] <= call_start(p, i)) {
            code = inq_graph_add_inferred(m->b, p->call_id[before], id, err);
        }
        uint32_t work = work_before(m, p, &spins, i, before == INQ_NONE);
        if (code == INQ_OK && work != INQ_NONE) {
            code = inq_graph_add_inferred(m->b, p->event_id[work], id, err);
        }
        before = i;
        spins.before[c->lane[i]] = i;
    }
    release_spins(&spins);
    return code;
}

/* Members of a matched collective that are in the window. */
static int add_group(struct make *m, const struct inq_collective *c, struct inq_err *err)
{
    int code = inq_mem_grow(&m->scratch, &m->cap_scratch, c->n_members, sizeof *m->scratch,
                            INQ_GRAPH_MAX_OPS, err);
    size_t n = 0;
    for (uint32_t k = 0; code == INQ_OK && k < c->n_members; k++) {
        const struct inq_member *member = &m->trace->members[c->first_member + k];
        uint32_t id = m->parts[member->rank].event_id[member->event];
        if (id != INQ_NONE) {
            m->scratch[n++] = id;
        }
    }
    if (code != INQ_OK || n < 2) {
        return code;
    }
    struct inq_err own = {0};
    code = inq_graph_add_group(m->b, m->scratch, n, n, &own);
    if (code == INQ_OK || code == INQ_USAGE) {
        return INQ_OK; /* a member of two: the first one counts */
    }
    return inq_err_set(err, (enum inq_code)code, "%s", own.message);
}

static bool is_group(const struct inq_collective *c)
{
    return !c->ends_disagree && (inq_coll_is_p2p(c->kind) || inq_coll_synchronizes(c->kind));
}

/* ---- kernels of several transfers ------------------------------------------------------------ */

/* The ops of a matched transfer of two that are both in the window. */
static bool ends_of(const struct make *m, const struct inq_collective *c, uint32_t id[2])
{
    if (c->n_members != 2 || !inq_coll_is_p2p(c->kind) || !is_group(c)) {
        return false;
    }
    for (int k = 0; k < 2; k++) {
        const struct inq_member *member = &m->trace->members[c->first_member + (uint32_t)k];
        id[k] = m->parts[member->rank].event_id[member->event];
    }
    return id[0] != INQ_NONE && id[1] != INQ_NONE && id[0] != id[1];
}

/* Kernels that stand in more than one transfer. A group would hold them to one of them, and what
 * they wait for of the other ranks would count as their own time. */
static int mark_batches(struct make *m, struct inq_err *err)
{
    uint8_t *n_of = inq_mem_zalloc(m->n + 1, 1);
    uint32_t id[2];
    if (n_of == NULL) {
        return no_memory(err);
    }
    for (size_t c = 0; c < m->trace->n_collectives; c++) {
        if (ends_of(m, &m->trace->collectives[c], id)) {
            for (int k = 0; k < 2; k++) {
                m->ops[id[k]].batch = n_of[id[k]] > 0;
                n_of[id[k]] = 1;
            }
        }
    }
    inq_mem_free(n_of);
    return INQ_OK;
}

/* Whether the transfer is one of several of either end. */
static bool is_of_batch(const struct make *m, const struct inq_collective *c, uint32_t id[2])
{
    return ends_of(m, c, id) && (m->ops[id[0]].batch || m->ops[id[1]].batch);
}

/* The other end of a transfer, in a chain of all of an op. */
struct other_end {
    uint32_t id, next;
};

/* `first`: [n ops] the chains; the ends of transfers of batches. */
static int chain_ends(struct make *m, uint32_t *first, struct other_end **ends, struct inq_err *err)
{
    size_t n = 0;
    size_t cap = 0;
    uint32_t id[2];
    int code = INQ_OK;
    for (size_t c = 0; code == INQ_OK && c < m->trace->n_collectives; c++) {
        if (!is_of_batch(m, &m->trace->collectives[c], id)) {
            continue;
        }
        code = inq_mem_grow(ends, &cap, n + 2, sizeof **ends, INQ_GRAPH_MAX_EDGES, err);
        for (int k = 0; code == INQ_OK && k < 2; k++) {
            (*ends)[n] = (struct other_end){id[1 - k], first[id[k]]};
            first[id[k]] = (uint32_t)n++;
        }
    }
    return code;
}

/* They start when the last of those has that they exchange with, also where that has one transfer
 * only. */
static void start_with_last(struct make *m, const uint32_t *first, const struct other_end *ends,
                            int64_t *start_ns)
{
    for (size_t i = 0; i < m->n; i++) {
        start_ns[i] = m->start_ns[i];
        for (uint32_t at = first[i]; at != INQ_NONE; at = ends[at].next) {
            int64_t ns = m->start_ns[ends[at].id];
            start_ns[i] = ns > start_ns[i] ? ns : start_ns[i];
            m->ops[i].batch = true;
        }
    }
    memcpy(m->start_ns, start_ns, m->n * sizeof *start_ns);
}

/* What an end waits for, the other one does. */
static int connect_batches(struct make *m, struct inq_err *err)
{
    int code = mark_batches(m, err);
    uint32_t *first = inq_mem_alloc((m->n + 1) * sizeof *first);
    int64_t *start_ns = inq_mem_alloc((m->n + 1) * sizeof *start_ns);
    struct other_end *ends = NULL;
    size_t n_edges = m->b->n_edges;
    if (code == INQ_OK && (first == NULL || start_ns == NULL)) {
        code = no_memory(err);
    }
    if (code == INQ_OK) {
        memset(first, 0xff, (m->n + 1) * sizeof *first);
        code = chain_ends(m, first, &ends, err);
    }
    for (size_t e = 0; code == INQ_OK && ends != NULL && e < n_edges; e++) {
        const struct inq_edge edge = m->b->edges[e];
        for (uint32_t at = first[edge.after]; code == INQ_OK && at != INQ_NONE;
             at = ends[at].next) {
            code = inq_graph_add_inferred(m->b, edge.before, ends[at].id, err);
        }
    }
    if (code == INQ_OK && ends != NULL) {
        start_with_last(m, first, ends, start_ns);
    }
    inq_mem_free(first);
    inq_mem_free(start_ns);
    inq_mem_free(ends);
    return code;
}

/* ---- groups ---------------------------------------------------------------------------------- */

static int add_groups(struct make *m, struct inq_err *err)
{
    int code = INQ_OK;
    for (size_t c = 0; code == INQ_OK && c < m->trace->n_collectives; c++) {
        const struct inq_collective *coll = &m->trace->collectives[c];
        uint32_t id[2];
        if (is_group(coll) && !is_of_batch(m, coll, id)) {
            code = add_group(m, coll, err);
        }
    }
    return code;
}

static bool has_receives(const struct inq_rank *rank)
{
    for (size_t i = 0; i < rank->n_comms; i++) {
        enum inq_coll_kind kind = rank->comms[i].kind;
        if (kind == INQ_COLL_RECV || kind == INQ_COLL_SENDRECV || kind == INQ_COLL_COALESCED) {
            return true;
        }
    }
    return false;
}

/* Who is at the other end of each transfer of the ranks that receive. */
static int find_matched(struct make *m, struct inq_err *err)
{
    const struct inq_trace *t = m->trace;
    for (size_t r = 0; r < t->n_ranks; r++) {
        size_t n = has_receives(&t->ranks[r]) ? t->ranks[r].events.n : 0;
        m->parts[r].matched = n > 0 ? inq_mem_alloc(n * sizeof *m->parts[r].matched) : NULL;
        if (n > 0 && m->parts[r].matched == NULL) {
            return no_memory(err);
        }
        for (size_t i = 0; i < n; i++) {
            m->parts[r].matched[i] = -1;
        }
    }
    for (size_t c = 0; c < t->n_collectives; c++) {
        const struct inq_member *of = &t->members[t->collectives[c].first_member];
        bool pair = inq_coll_is_p2p(t->collectives[c].kind) && t->collectives[c].n_members == 2;
        for (int k = 0; pair && k < 2; k++) {
            int32_t *matched = m->parts[of[k].rank].matched;
            if (matched != NULL) {
                matched[of[k].event] = t->ranks[of[1 - k].rank].rank;
            }
        }
    }
    return INQ_OK;
}

/* ---- all together ---------------------------------------------------------------------------- */

static int add_rank(struct make *m, uint32_t index, struct inq_trace_graph *out,
                    struct inq_err *err)
{
    struct rank_part *p = &m->parts[index];
    p->rank = &m->trace->ranks[index];
    p->index = index;
    p->threads = inq_rank_on_cpu(m->trace, p->rank);
    int code = alloc_part(m, p, err);
    if (code == INQ_OK) {
        code = add_events(m, p, err);
    }
    if (code == INQ_OK) {
        measure_lead(p);
        code = sort_ends(p, err);
    }
    bool paced = p->threads;
    if (code == INQ_OK && !paced) {
        code = is_paced(p, &paced, err);
    }
    if (code == INQ_OK && !paced) {
        code = add_calls(m, p, err);
    }
    if (code == INQ_OK) {
        code = connect_gpu(m, p, out, err);
    }
    return code == INQ_OK ? connect_calls(m, p, err) : code;
}

/* Puts times and sources in the order of the graph. */
static int take_results(struct make *m, struct inq_trace_graph *out, struct inq_err *err)
{
    struct inq_graph *g = out->graph;
    out->ops = inq_mem_alloc(m->n * sizeof *out->ops);
    out->start_ns = inq_mem_alloc(m->n * sizeof *out->start_ns);
    out->end_ns = inq_mem_alloc(m->n * sizeof *out->end_ns);
    if (out->ops == NULL || out->start_ns == NULL || out->end_ns == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0; i < m->n; i++) {
        uint32_t id = g->id_of[i];
        out->ops[i] = m->ops[id];
        out->start_ns[i] = m->start_ns[id];
        out->end_ns[i] = m->end_ns[id];
        g->op[i].source = (uint32_t)i;
    }
    return INQ_OK;
}

static int make_graph(struct make *m, struct inq_trace_graph *out, struct inq_err *err)
{
    int code = INQ_OK;
    m->b = inq_graph_builder_new();
    m->parts = inq_mem_zalloc(m->trace->n_ranks, sizeof *m->parts);
    if (m->b == NULL || m->parts == NULL) {
        code = no_memory(err);
    }
    code = code == INQ_OK ? find_matched(m, err) : code;
    for (uint32_t r = 0; code == INQ_OK && r < m->trace->n_ranks; r++) {
        code = add_rank(m, r, out, err);
    }
    code = code == INQ_OK ? connect_batches(m, err) : code;
    code = code == INQ_OK ? add_groups(m, err) : code;
    if (code == INQ_OK) {
        code = inq_graph_finish_cut(m->b, &out->graph, &out->contradictions, err);
    }
    if (code == INQ_OK) {
        code = take_results(m, out, err);
    }
    release_parts(m);
    inq_graph_builder_free(m->b);
    inq_mem_free(m->ops);
    inq_mem_free(m->start_ns);
    inq_mem_free(m->end_ns);
    inq_mem_free(m->scratch);
    return code;
}

int inq_trace_graph_make(const struct inq_trace *trace, uint32_t step, struct inq_trace_graph *out,
                         struct inq_err *err)
{
    struct make m = {.trace = trace, .step = step};
    *out = (struct inq_trace_graph){0};
    return make_graph(&m, out, err);
}
