/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a trace the way HTA 0.6.1 does. */
#include "analysis/reference/hta_rows.h"

#include "analysis/measure/measure.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/sort.h"
#include "base/strtab.h"

#include <math.h>
#include <string.h>

/* Repeated ids multiply rows; a hostile file could make it any number. */
#define MAX_HTA_ROWS ((size_t)1 << 28)

static const char step_prefix[] = "ProfilerStep";

/* ---- kernel types: the first that fits ------------------------------------------------------ */

static bool starts(const char *name, const char *prefix)
{
    return strncmp(name, prefix, strlen(prefix)) == 0;
}

static bool starts_with_any(const char *name, const char *const *prefixes)
{
    for (; *prefixes; prefixes++) {
        if (starts(name, *prefixes)) {
            return true;
        }
    }
    return false;
}

static bool is_no_computation(const char *name)
{
    static const char *const prefixes[] = {"nccl",        "Stream Wait Event",
                                           "runFunction", "hip",
                                           "job_exe",     "packet",
                                           "pe_exe",      "cpum_exe_subgraph",
                                           "hccl",        "collective_subgraph_execution",
                                           NULL};

    return starts_with_any(name, prefixes) || strstr(name, "Memcpy") || strstr(name, "Memset") ||
           strstr(name, "dma") || strstr(name, "Sync") ||
           (starts(name, "cuda") && strstr(name + 4, "LaunchKernel"));
}

enum inq_hta_type inq_hta_type_of(const char *name)
{
    static const char *const comm[] = {"nccl", "hip", "hccl", NULL};
    static const char *const memory[] = {"Memcpy", "Memset", "dma", NULL};

    if (starts_with_any(name, comm) || strstr(name, "ncclKernel")) {
        return INQ_HTA_COMMUNICATION;
    }
    if (starts_with_any(name, memory)) {
        return INQ_HTA_MEMORY;
    }
    return is_no_computation(name) ? INQ_HTA_OTHER : INQ_HTA_COMPUTATION;
}

/* ---- the view of a trace -------------------------------------------------------------------- */

static bool is_step(const struct inq_trace *trace, const struct inq_note *note)
{
    return starts(inq_strtab_get(trace->names, note->name), step_prefix);
}

/* Whether two different profiler steps occur anywhere. */
static bool has_two_steps(const struct inq_trace *trace)
{
    inq_str first = 0;

    for (size_t r = 0; r < trace->n_ranks; r++) {
        const struct inq_rank *rank = &trace->ranks[r];
        for (size_t i = 0; i < rank->n_notes; i++) {
            const struct inq_note *note = &rank->notes[i];
            if (!is_step(trace, note)) {
                continue;
            }
            if (first != 0 && note->name != first) {
                return true;
            }
            first = note->name;
        }
    }
    return false;
}

int inq_hta_view_init(struct inq_hta_view *view, const struct inq_trace *trace, bool whole_last,
                      struct inq_err *err)
{
    size_t names = trace->names ? inq_strtab_count(trace->names) : 0;

    *view = (struct inq_hta_view){.trace = trace, .whole_last = whole_last};
    view->types = inq_mem_alloc(names);
    if (!view->types) {
        return inq_err_set(err, INQ_NOMEM, "no memory for the types of %zu names", names);
    }
    for (size_t i = 0; i < names; i++) {
        view->types[i] = (uint8_t)inq_hta_type_of(inq_strtab_get(trace->names, (inq_str)i));
    }
    view->by_step = has_two_steps(trace);
    return INQ_OK;
}

void inq_hta_view_release(struct inq_hta_view *view)
{
    inq_mem_free(view->types);
    *view = (struct inq_hta_view){0};
}

/* ---- rounding: inwards, when any time in the file had a fraction ----------------------------- */

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

static int64_t ts_us(const struct inq_rank *rank, int64_t start_ns)
{
    int64_t raw_ns = inq_peer_raw_ns(rank, start_ns);

    return rank->fractional_us ? (int64_t)ceil(inq_peer_us(raw_ns)) : floor_div(raw_ns, 1000);
}

static int64_t end_us(const struct inq_rank *rank, int64_t start_ns, int64_t dur_ns)
{
    int64_t raw_ns = inq_peer_raw_ns(rank, start_ns);

    return rank->fractional_us ? (int64_t)floor(inq_peer_us(raw_ns) + inq_peer_us(dur_ns))
                               : floor_div(raw_ns, 1000) + dur_ns / 1000;
}

/* ---- launches ------------------------------------------------------------------------------- */

/* For the calls of one correlation id: how many lie in the steps that count (GPU work is repeated
 * for each), and when the last of all began. */
struct launch {
    uint32_t kept;
    int64_t ts; /* INQ_TIME_NONE: the last is not kept */
};

struct launches {
    uint32_t *of_call; /* [calls] index into `at` */
    struct launch *at;
    struct inq_map by_id;
};

struct limits {
    bool all;
    int64_t last; /* us; calls that start before it count; one that starts at it: `with_last` */
    bool with_last;
};

static bool keeps(const struct limits *limits, int64_t ts)
{
    return limits->all || ts < limits->last || (limits->with_last && ts == limits->last);
}

/* The calls that count end with the last profiler step, or begin before it when it is dropped. */
static struct limits find_limits(const struct inq_hta_view *view, const struct inq_rank *rank)
{
    struct limits limits = {!view->by_step, INT64_MIN, view->whole_last};

    if (limits.all) {
        return limits;
    }
    for (size_t i = 0; i < rank->n_notes; i++) {
        const struct inq_note *note = &rank->notes[i];
        if (is_step(view->trace, note)) {
            int64_t at = view->whole_last ? end_us(rank, note->start_ns, note->dur_ns)
                                          : ts_us(rank, note->start_ns);
            limits.last = at > limits.last ? at : limits.last;
        }
    }
    limits.all = limits.last == INT64_MIN && view->whole_last; /* no step on this rank */
    return limits;
}

static void release_launches(struct launches *launches)
{
    inq_mem_free(launches->of_call);
    inq_mem_free(launches->at);
    inq_map_release(&launches->by_id);
}

static int find_launches(const struct inq_rank *rank, const struct limits *limits,
                         struct launches *launches, struct inq_err *err)
{
    const struct inq_calls *calls = &rank->calls;
    uint32_t n = 0;

    *launches = (struct launches){0};
    launches->of_call = inq_mem_alloc(calls->n * sizeof(*launches->of_call));
    launches->at = inq_mem_zalloc(calls->n, sizeof(*launches->at));
    if (!launches->of_call || !launches->at) {
        return inq_err_set(err, INQ_NOMEM, "no memory for %zu launches", calls->n);
    }
    for (size_t i = 0; i < calls->n; i++) {
        uint64_t id = (uint64_t)calls->correlation[i];
        uint32_t place = n;
        if (!inq_map_get(&launches->by_id, id, &place)) {
            int code = inq_map_put(&launches->by_id, id, n, err);
            if (code != INQ_OK) {
                return code;
            }
            place = n++;
        }
        int64_t ts = ts_us(rank, calls->start_ns[i]);
        bool kept = keeps(limits, ts);
        launches->of_call[i] = place;
        launches->at[place].kept += kept;
        launches->at[place].ts = kept ? ts : INQ_TIME_NONE;
    }
    return INQ_OK;
}

/* ---- rows ----------------------------------------------------------------------------------- */

static bool in_view(const struct inq_rank *rank, size_t i)
{
    const struct inq_events *events = &rank->events;

    return events->kind[i] <= INQ_EVENT_SYNC &&
           rank->lanes[events->lane[i]].kind == INQ_LANE_STREAM &&
           rank->lanes[events->lane[i]].id >= 0;
}

/* Row `i` of the events, and how often it occurs in the view: once for each launching call that
 * counts; without steps just once, and then the file's very first event passes for a launch that is
 * not there. */
static uint32_t make_row(const struct inq_hta_view *view, const struct inq_rank *rank,
                         const struct launches *launches, size_t i, struct inq_hta_row *row)
{
    const struct inq_events *events = &rank->events;
    uint32_t call = events->call[i];
    const struct launch *launch =
        call < rank->calls.n ? &launches->at[launches->of_call[call]] : NULL;

    *row = (struct inq_hta_row){
        .stream = rank->lanes[events->lane[i]].id,
        .ts = ts_us(rank, events->start_ns[i]),
        .end = end_us(rank, events->start_ns[i], events->dur_ns[i]),
        .launch_ts = launch ? launch->ts : INQ_TIME_NONE,
        .type = view->types[events->name[i]],
        .counts_idle = events->kind[i] != INQ_EVENT_SYNC,
    };
    if (view->by_step) {
        return launch ? launch->kept : 0;
    }
    if (!launch && rank->has_row0) {
        int64_t row0_ns = rank->row0_ns - rank->base_ns;
        row->launch_ts =
            rank->fractional_us ? (int64_t)ceil(inq_peer_us(row0_ns)) : floor_div(row0_ns, 1000);
    }
    return 1;
}

static int compare_rows(const void *a, const void *b, void *ctx)
{
    const struct inq_hta_row *x = a;
    const struct inq_hta_row *y = b;

    (void)ctx;
    if (x->ts != y->ts) {
        return x->ts < y->ts ? -1 : 1;
    }
    return (x->end > y->end) - (x->end < y->end);
}

int inq_hta_rows(const struct inq_hta_view *view, const struct inq_rank *rank,
                 struct inq_hta_row **rows, size_t *n, struct inq_err *err)
{
    struct limits limits = find_limits(view, rank);
    struct launches launches;
    size_t cap = 0;
    int code = find_launches(rank, &limits, &launches, err);

    *rows = NULL;
    *n = 0;
    for (size_t i = 0; code == INQ_OK && i < rank->events.n; i++) {
        struct inq_hta_row row;
        if (!in_view(rank, i)) {
            continue;
        }
        uint32_t times = make_row(view, rank, &launches, i, &row);
        code = inq_mem_grow(rows, &cap, *n + times, sizeof(**rows), MAX_HTA_ROWS, err);
        for (uint32_t k = 0; code == INQ_OK && k < times; k++) {
            (*rows)[(*n)++] = row;
        }
    }
    if (code == INQ_OK) {
        code = inq_sort(*rows, *n, sizeof(**rows), compare_rows, NULL, err);
    }
    release_launches(&launches);
    if (code != INQ_OK) {
        inq_mem_free(*rows);
        *rows = NULL;
        *n = 0;
    }
    return code;
}
