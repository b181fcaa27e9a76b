/* SPDX-License-Identifier: Apache-2.0 */
/* HTA 0.6.1's temporal breakdown, overlap, idle time breakdown and kernel types, from its rows. */
#include "analysis/reference/hta.h"

#include "analysis/analysis.h"
#include "analysis/measure/measure.h"
#include "base/arena.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/par.h"
#include "base/sort.h"
#include "base/strtab.h"
#include "inquest/trace.h"

#include <math.h>
#include <string.h>

/* Reading a trace the way HTA 0.6.1 does. */

struct hta_row {
    int64_t stream;
    int64_t ts, end;   /* us; rounding can put the end one before the start */
    int64_t launch_ts; /* us; INQ_TIME_NONE: no launch known */
    uint8_t type;      /* enum inq_hta_type */
    bool counts_idle;  /* kernels, copies and sets; not synchronization records */
};

/* How the whole trace is read. */
struct hta_view {
    const struct inq_trace *trace;
    uint8_t *types;  /* [names] enum inq_hta_type */
    bool by_step;    /* two or more profiler steps: only work launched in them counts */
    bool whole_last; /* the last step counts too */
};

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

static int hta_view_init(struct hta_view *view, const struct inq_trace *trace, bool whole_last,
                         struct inq_err *err)
{
    size_t names = trace->names ? inq_strtab_count(trace->names) : 0;

    *view = (struct hta_view){.trace = trace, .whole_last = whole_last};
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

static void hta_view_release(struct hta_view *view)
{
    inq_mem_free(view->types);
    *view = (struct hta_view){0};
}

/* ---- rounding: inwards, when any time in the file had a fraction ----------------------------- */

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

static int64_t ts_us(const struct inq_rank *rank, int64_t start_ns)
{
    int64_t raw_ns = inq_reference_raw_ns(rank, start_ns);

    return rank->fractional_us ? (int64_t)ceil(inq_reference_us(raw_ns)) : floor_div(raw_ns, 1000);
}

static int64_t end_us(const struct inq_rank *rank, int64_t start_ns, int64_t dur_ns)
{
    int64_t raw_ns = inq_reference_raw_ns(rank, start_ns);

    return rank->fractional_us ? (int64_t)floor(inq_reference_us(raw_ns) + inq_reference_us(dur_ns))
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
static struct limits find_limits(const struct hta_view *view, const struct inq_rank *rank)
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
static uint32_t make_row(const struct hta_view *view, const struct inq_rank *rank,
                         const struct launches *launches, size_t i, struct hta_row *row)
{
    const struct inq_events *events = &rank->events;
    uint32_t call = events->call[i];
    const struct launch *launch =
        call < rank->calls.n ? &launches->at[launches->of_call[call]] : NULL;

    *row = (struct hta_row){
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
        row->launch_ts = rank->fractional_us ? (int64_t)ceil(inq_reference_us(row0_ns))
                                             : floor_div(row0_ns, 1000);
    }
    return 1;
}

static int compare_rows(const void *a, const void *b, void *ctx)
{
    const struct hta_row *x = a;
    const struct hta_row *y = b;

    (void)ctx;
    if (x->ts != y->ts) {
        return x->ts < y->ts ? -1 : 1;
    }
    return (x->end > y->end) - (x->end < y->end);
}

/* The rows of one rank, on any stream but -1, in order of (ts, end, place in the trace). *rows is
 * the caller's (inq_mem_free). */
static int hta_rows(const struct hta_view *view, const struct inq_rank *rank, struct hta_row **rows,
                    size_t *n, struct inq_err *err)
{
    struct limits limits = find_limits(view, rank);
    struct launches launches;
    size_t cap = 0;
    int code = find_launches(rank, &limits, &launches, err);

    *rows = NULL;
    *n = 0;
    for (size_t i = 0; code == INQ_OK && i < rank->events.n; i++) {
        struct hta_row row;
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

enum { IDLE_HOST, IDLE_KERNEL, IDLE_OTHER, IDLE_KINDS };
enum { TYPES = 3, STATES = 1 << TYPES, KERNEL_DELAY_US = 30 };

struct idle_sum {
    int64_t stream;
    int64_t us[IDLE_KINDS];
    bool seen[IDLE_KINDS];
};

struct rank_result {
    bool any;
    struct inq_reference_rank_time time; /* without its streams */
    struct idle_sum *idle;
    size_t n_idle, cap_idle;
    int64_t state_us[STATES]; /* by the types that ran at the same time, bit = 1 << type */
};

/* ---- merged intervals: as recorded ones they can end one before they start ------------------- */

struct span {
    int64_t ts, end;
};

struct spans {
    struct span *at;
    size_t n;
};

/* The rows of the types in `mask` (rows are in order), one span for all that touch. */
static int merge_rows(const struct hta_row *rows, size_t n, unsigned mask, struct spans *spans,
                      struct inq_err *err)
{
    spans->n = 0;
    spans->at = inq_mem_alloc(n * sizeof(*spans->at));
    if (!spans->at) {
        return inq_err_set(err, INQ_NOMEM, "no memory for %zu intervals", n);
    }
    for (size_t i = 0; i < n; i++) {
        if (!(mask >> rows[i].type & 1)) {
            continue;
        }
        struct span *last = spans->n > 0 ? &spans->at[spans->n - 1] : NULL;
        if (last && rows[i].ts <= last->end) {
            last->end = rows[i].end > last->end ? rows[i].end : last->end;
        } else {
            spans->at[spans->n++] = (struct span){rows[i].ts, rows[i].end};
        }
    }
    return INQ_OK;
}

static int64_t total_us(const struct spans *spans)
{
    int64_t us = 0;

    for (size_t i = 0; i < spans->n; i++) {
        us += spans->at[i].end - spans->at[i].ts;
    }
    return us;
}

struct edge {
    int64_t time;
    int change;
};

static int compare_edges(const void *a, const void *b, void *ctx)
{
    const struct edge *x = a;
    const struct edge *y = b;

    (void)ctx;
    return (x->time > y->time) - (x->time < y->time);
}

/* Adds to state_us the time during which the spans' weights (1, 2, 4: powers of two) sum to each
 * state. */
static int sweep_states(const struct spans *spans, size_t n_spans, int64_t *state_us,
                        struct inq_err *err)
{
    size_t n = 0;
    int running = 0;

    for (size_t t = 0; t < n_spans; t++) {
        n += 2 * spans[t].n;
    }
    struct edge *edges = inq_mem_alloc(n * sizeof(*edges));
    if (!edges) {
        return inq_err_set(err, INQ_NOMEM, "no memory for %zu edges", n);
    }
    n = 0;
    for (size_t t = 0; t < n_spans; t++) {
        for (size_t i = 0; i < spans[t].n; i++) {
            edges[n++] = (struct edge){spans[t].at[i].ts, 1 << t};
            edges[n++] = (struct edge){spans[t].at[i].end, -(1 << t)};
        }
    }
    int code = inq_sort(edges, n, sizeof(*edges), compare_edges, NULL, err);
    for (size_t i = 0; code == INQ_OK && i + 1 < n; i++) {
        running += edges[i].change;
        if (running > 0) {
            state_us[running] += edges[i + 1].time - edges[i].time;
        }
    }
    inq_mem_free(edges);
    return code;
}

/* ---- one rank ------------------------------------------------------------------------------- */

static double percent(int64_t part, int64_t whole)
{
    return inq_reference_round(100.0 * ((double)part / (double)whole), 2);
}

static int fill_time(const struct hta_row *rows, size_t n, struct rank_result *result,
                     struct inq_err *err)
{
    struct inq_reference_rank_time *time = &result->time;
    struct spans all = {0};
    struct spans by_type[TYPES] = {{0}};
    int64_t both_us[1 << 2] = {0};
    int code = merge_rows(rows, n, ~0u, &all, err);

    for (unsigned t = 0; code == INQ_OK && t < TYPES; t++) {
        code = merge_rows(rows, n, 1u << t, &by_type[t], err);
    }
    if (code == INQ_OK) {
        code = sweep_states(by_type, TYPES, result->state_us, err);
    }
    if (code == INQ_OK) {
        code = sweep_states(by_type, 2, both_us, err);
    }
    if (code == INQ_OK) {
        time->hta_kernel_us = all.at[all.n - 1].end - all.at[0].ts;
        time->hta_idle_us = time->hta_kernel_us - total_us(&all);
        time->hta_compute_us = total_us(&by_type[INQ_HTA_COMPUTATION]);
        time->hta_non_compute_us = time->hta_kernel_us - time->hta_idle_us - time->hta_compute_us;
        time->hta_idle_pct = percent(time->hta_idle_us, time->hta_kernel_us);
        time->hta_compute_pct = percent(time->hta_compute_us, time->hta_kernel_us);
        time->hta_non_compute_pct = percent(time->hta_non_compute_us, time->hta_kernel_us);
        time->hta_overlap_pct =
            percent(both_us[3], total_us(&by_type[INQ_HTA_COMMUNICATION])); /* 0/0: NaN */
    }
    inq_mem_free(all.at);
    for (unsigned t = 0; t < TYPES; t++) {
        inq_mem_free(by_type[t].at);
    }
    return code;
}

static int compare_streams(const void *a, const void *b, void *ctx)
{
    const struct hta_row *x = a;
    const struct hta_row *y = b;

    (void)ctx;
    return (x->stream > y->stream) - (x->stream < y->stream);
}

/* The gap between two neighbors on a stream; it may be negative and counts as it is. The first of
 * a stream has none and is "other". */
static void add_gap(struct idle_sum *sum, const struct hta_row *before, const struct hta_row *row)
{
    int kind = IDLE_OTHER;
    int64_t gap_us = 0;

    if (before) {
        gap_us = row->ts - before->end;
        if (row->launch_ts != INQ_TIME_NONE && row->launch_ts > before->end) {
            kind = IDLE_HOST;
        } else if (gap_us < KERNEL_DELAY_US) {
            kind = IDLE_KERNEL;
        }
    }
    if (__builtin_add_overflow(sum->us[kind], gap_us, &sum->us[kind])) {
        sum->us[kind] = gap_us < 0 ? INT64_MIN : INT64_MAX; /* only of made-up durations */
    }
    sum->seen[kind] = true;
}

/* Reorders the rows by stream. */
static int fill_idle(struct hta_row *rows, size_t n, struct rank_result *result,
                     struct inq_err *err)
{
    int code = inq_sort(rows, n, sizeof(*rows), compare_streams, NULL, err);
    const struct hta_row *before = NULL;

    for (size_t i = 0; code == INQ_OK && i < n; i++) {
        if (!rows[i].counts_idle) {
            continue;
        }
        if (!before || before->stream != rows[i].stream) {
            before = NULL;
            code = inq_mem_grow(&result->idle, &result->cap_idle, result->n_idle + 1,
                                sizeof(*result->idle), n, err);
            if (code != INQ_OK) {
                return code;
            }
            result->idle[result->n_idle++] = (struct idle_sum){.stream = rows[i].stream};
        }
        add_gap(&result->idle[result->n_idle - 1], before, &rows[i]);
        before = &rows[i];
    }
    return code;
}

struct hta {
    struct hta_view view;
    struct rank_result *ranks; /* [n_ranks] */
};

static int one_rank(void *ctx, size_t r, struct inq_err *err)
{
    struct hta *hta = ctx;
    struct rank_result *result = &hta->ranks[r];
    struct hta_row *rows;
    size_t n;
    int code = hta_rows(&hta->view, &hta->view.trace->ranks[r], &rows, &n, err);

    result->time.rank = (uint32_t)r;
    if (code == INQ_OK && n > 0) {
        result->any = true;
        code = fill_time(rows, n, result, err);
        if (code == INQ_OK) {
            code = fill_idle(rows, n, result, err);
        }
    }
    inq_mem_free(rows);
    return code;
}

/* ---- the report ----------------------------------------------------------------------------- */

static double or_nan(const struct idle_sum *sum, int kind)
{
    return sum->seen[kind] ? (double)sum->us[kind] : (double)NAN;
}

static double ratio(const struct idle_sum *sum, int kind)
{
    double all_us =
        (double)sum->us[IDLE_HOST] + (double)sum->us[IDLE_KERNEL] + (double)sum->us[IDLE_OTHER];

    return inq_reference_round(or_nan(sum, kind) / all_us, 2);
}

static int publish_rank(struct inq_arena *arena, const struct rank_result *result,
                        struct inq_reference_rank_time *time, struct inq_err *err)
{
    *time = result->time;
    time->n_streams = result->n_idle;
    time->streams = inq_arena_array(arena, result->n_idle, sizeof(*time->streams));
    if (!time->streams) {
        return inq_err_set(err, INQ_NOMEM, "no memory for %zu streams", result->n_idle);
    }
    for (size_t i = 0; i < result->n_idle; i++) {
        const struct idle_sum *sum = &result->idle[i];
        time->streams[i] = (struct inq_reference_idle){
            .stream = sum->stream,
            .host_wait_us = or_nan(sum, IDLE_HOST),
            .kernel_wait_us = or_nan(sum, IDLE_KERNEL),
            .other_us = or_nan(sum, IDLE_OTHER),
            .host_wait_ratio = ratio(sum, IDLE_HOST),
            .kernel_wait_ratio = ratio(sum, IDLE_KERNEL),
            .other_ratio = ratio(sum, IDLE_OTHER),
        };
    }
    return INQ_OK;
}

static int compare_types(const void *a, const void *b, void *ctx)
{
    const struct inq_reference_kernel_type *x = a;
    const struct inq_reference_kernel_type *y = b;

    (void)ctx;
    return (x->sum_us < y->sum_us) - (x->sum_us > y->sum_us);
}

static int publish_types(struct inq_arena *arena, const int64_t *state_us,
                         struct inq_reference *peers, struct inq_err *err)
{
    static const char *const names[STATES] = {
        "",
        "COMPUTATION",
        "COMMUNICATION",
        "COMPUTATION overlapping COMMUNICATION",
        "MEMORY",
        "COMPUTATION overlapping MEMORY",
        "COMMUNICATION overlapping MEMORY",
        "COMPUTATION overlapping COMMUNICATION overlapping MEMORY",
    };
    int64_t all_us = 0;

    peers->kernel_types = inq_arena_array(arena, STATES, sizeof(*peers->kernel_types));
    if (!peers->kernel_types) {
        return inq_err_set(err, INQ_NOMEM, "no memory for kernel types");
    }
    for (size_t i = 1; i < STATES; i++) {
        all_us += state_us[i];
        if (state_us[i] != 0) {
            peers->kernel_types[peers->n_kernel_types++] =
                (struct inq_reference_kernel_type){names[i], state_us[i], 0};
        }
    }
    for (size_t i = 0; i < peers->n_kernel_types; i++) {
        struct inq_reference_kernel_type *type = &peers->kernel_types[i];
        type->pct = inq_reference_round((double)type->sum_us / (double)all_us * 100.0, 1);
    }
    return inq_sort(peers->kernel_types, peers->n_kernel_types, sizeof(*peers->kernel_types),
                    compare_types, NULL, err);
}

static int publish(const struct hta *hta, struct inq_report *report, struct inq_err *err)
{
    size_t n = hta->view.trace->n_ranks;
    int64_t state_us[STATES] = {0};
    struct inq_reference *peers = inq_arena_alloc(report->arena, sizeof(*peers));

    if (peers) {
        peers->rank_times = inq_arena_array(report->arena, n, sizeof(*peers->rank_times));
    }
    if (!peers || !peers->rank_times) {
        return inq_err_set(err, INQ_NOMEM, "no memory for the times of %zu ranks", n);
    }
    for (size_t r = 0; r < n; r++) {
        if (!hta->ranks[r].any) {
            continue;
        }
        int code = publish_rank(report->arena, &hta->ranks[r],
                                &peers->rank_times[peers->n_rank_times], err);
        if (code != INQ_OK) {
            return code;
        }
        peers->n_rank_times++;
        for (size_t i = 0; i < STATES; i++) {
            state_us[i] += hta->ranks[r].state_us[i];
        }
    }
    report->reference = peers;
    return publish_types(report->arena, state_us, peers, err);
}

int inq_run_method_hta(const struct inq_trace *trace, const struct inq_analysis_options *options,
                       struct inq_report *report, struct inq_err *err)
{
    struct hta hta = {0};
    int code;

    if (options->method != INQ_METHOD_HTA) {
        return INQ_OK;
    }
    code = hta_view_init(&hta.view, trace, options->hta_include_last_step, err);
    if (code != INQ_OK) {
        goto out;
    }
    hta.ranks = inq_mem_zalloc(trace->n_ranks, sizeof(*hta.ranks));
    if (!hta.ranks) {
        code = inq_err_set(err, INQ_NOMEM, "no memory for %zu ranks", trace->n_ranks);
        goto out;
    }
    code = inq_par_for(trace->n_ranks, options->jobs, one_rank, &hta, err);
    if (code == INQ_OK) {
        code = publish(&hta, report, err);
    }
out:
    for (size_t r = 0; hta.ranks && r < trace->n_ranks; r++) {
        inq_mem_free(hta.ranks[r].idle);
    }
    inq_mem_free(hta.ranks);
    hta_view_release(&hta.view);
    return code;
}
