/* SPDX-License-Identifier: Apache-2.0 */
/* What dumps, logs and traces report one failure, put together: a line that names a cause leads;
 * where logs only show who waited, the dumps do. */
#include "analysis/failure/join.h"

#include "analysis/failure/logs/logs.h"
#include "analysis/analysis.h"

#include <inttypes.h>
#include <string.h>

static int no_memory(struct inq_err *err)
{
    return inq_err_set(err, INQ_NOMEM, "no memory for a failure");
}

/* Classes that only say where ranks wait. */
static bool is_wait(enum inq_failure_class cls)
{
    return cls == INQ_FAILURE_NONE || cls == INQ_FAILURE_GPU_STALL ||
           cls == INQ_FAILURE_CPU_STALL || cls == INQ_FAILURE_ORDERING ||
           cls == INQ_FAILURE_COMMUNICATION || cls == INQ_FAILURE_UNKNOWN ||
           cls == INQ_FAILURE_PEER_DIED || cls == INQ_FAILURE_UNEVEN;
}

static bool share_a_rank(const int32_t *a, size_t n_a, const int32_t *b, size_t n_b)
{
    for (size_t i = 0, k = 0; i < n_a && k < n_b;) {
        if (a[i] == b[k]) {
            return true;
        }
        bool first = a[i] < b[k];
        i += first;
        k += !first;
    }
    return false;
}

static bool has_rank(const int32_t *ranks, size_t n, int32_t rank)
{
    return share_a_rank(ranks, n, &rank, 1);
}

/* Takes out of a list what is in another. */
static void subtract(int32_t *ranks, size_t *n, const int32_t *out, size_t n_out)
{
    size_t kept = 0;
    for (size_t i = 0; i < *n; i++) {
        if (!has_rank(out, n_out, ranks[i])) {
            ranks[kept++] = ranks[i];
        }
    }
    *n = kept;
}

static int unite(struct inq_arena *arena, int32_t **ranks, size_t *n, const int32_t *more,
                 size_t n_more, struct inq_err *err)
{
    int32_t *all = inq_arena_array(arena, *n + n_more, sizeof *all);
    size_t count = 0;
    if (all == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0, k = 0; i < *n || k < n_more;) {
        bool left = k >= n_more || (i < *n && (*ranks)[i] <= more[k]);
        int32_t rank = left ? (*ranks)[i++] : more[k++];
        if (count == 0 || all[count - 1] != rank) {
            all[count++] = rank;
        }
    }
    *ranks = all;
    *n = count;
    return INQ_OK;
}

static int append_evidence(struct inq_arena *arena, struct inq_failure *f,
                           const struct inq_failure_evidence *more, size_t n, struct inq_err *err)
{
    struct inq_failure_evidence *all = inq_arena_array(arena, f->n_evidence + n, sizeof *all);
    if (all == NULL) {
        return no_memory(err);
    }
    if (f->n_evidence > 0) {
        memcpy(all, f->evidence, f->n_evidence * sizeof *all);
    }
    if (n > 0) {
        memcpy(all + f->n_evidence, more, n * sizeof *all);
    }
    f->evidence = all;
    f->n_evidence += n;
    return INQ_OK;
}

static int add_alternative(struct inq_arena *arena, struct inq_failure *f, const char *text,
                           struct inq_err *err)
{
    const char **all = inq_arena_array(arena, f->n_alternatives + 1, sizeof(const char *));
    if (all == NULL || text == NULL) {
        return no_memory(err);
    }
    if (f->n_alternatives > 0) {
        memcpy(all, f->alternatives, f->n_alternatives * sizeof(const char *));
    }
    all[f->n_alternatives++] = text;
    f->alternatives = all;
    return INQ_OK;
}

/* ---- dumps and logs -------------------------------------------------------------------------- */

/* The logs lead; the dumps say where the waiting was. */
static int lead_by_logs(struct inq_arena *arena, struct inq_failure *f,
                        const struct inq_failure *dumps, struct inq_err *err)
{
    bool agree =
        share_a_rank(f->root_ranks, f->n_roots, dumps->root_ranks, dumps->n_roots) ||
        share_a_rank(f->root_ranks, f->n_roots, dumps->suspected_ranks, dumps->n_suspected);
    int code = INQ_OK;
    f->n_missing = dumps->n_missing;
    f->missing_ranks = dumps->missing_ranks;
    f->n_stacks = dumps->n_stacks;
    f->stacks = dumps->stacks;
    f->n_matches = dumps->n_matches;
    f->matches = dumps->matches;
    f->n_waits = dumps->n_waits;
    f->waits = dumps->waits;
    if (dumps->group[0] != '\0') {
        f->group = dumps->group;
        f->seq = dumps->seq;
        f->op = dumps->op;
        f->sizes = dumps->sizes;
    }
    if (f->n_roots + f->n_suspected == 0) {
        f->n_suspected = dumps->n_suspected;
        f->suspected_ranks = dumps->suspected_ranks;
    }
    if (f->n_roots == 0 && dumps->n_roots > 0) {
        f->n_roots = dumps->n_roots;
        f->root_ranks = dumps->root_ranks;
    } else if (agree) {
        f->confidence = INQ_CONFIDENCE_ESTABLISHED;
    } else if (dumps->n_roots > 0) {
        code = add_alternative(arena, f,
                               inq_arena_asprintf(arena,
                                                  "by the dumps, the others wait for rank %" PRId32
                                                  "%s: to confirm, check its log",
                                                  dumps->root_ranks[0],
                                                  dumps->n_roots > 1 ? " and others" : ""),
                               err);
    }
    if (code == INQ_OK) {
        code = unite(arena, &f->victim_ranks, &f->n_victims, dumps->victim_ranks, dumps->n_victims,
                     err);
    }
    if (code == INQ_OK) {
        subtract(f->victim_ranks, &f->n_victims, f->root_ranks, f->n_roots);
        code = append_evidence(arena, f, dumps->evidence, dumps->n_evidence, err);
    }
    return code;
}

/* Whether the dumps show a hang that what the logs name can only have followed: a scheduler ends a
 * job that hangs, and a program that waited with all others had not failed yet. */
static bool came_later(const struct inq_failure *logs, const struct inq_failure *dumps)
{
    bool stall = dumps->cls == INQ_FAILURE_CPU_STALL || dumps->cls == INQ_FAILURE_GPU_STALL;
    bool waited = logs->cls == INQ_FAILURE_APPLICATION && logs->n_roots > 0;
    for (size_t i = 0; i < logs->n_roots; i++) {
        waited = waited && has_rank(dumps->victim_ranks, dumps->n_victims, logs->root_ranks[i]);
    }
    return stall && dumps->n_roots > 0 && dumps->confidence != INQ_CONFIDENCE_HYPOTHESIS &&
           (waited || logs->cls == INQ_FAILURE_SCHEDULER);
}

/* The dumps lead; the logs add times, victims and, where the dumps leave it open, ranks. */
static int lead_by_dumps(struct inq_arena *arena, struct inq_failure *f,
                         const struct inq_failure *logs, struct inq_err *err)
{
    f->set_aside = logs->set_aside;
    f->n_set_aside = logs->n_set_aside;
    f->moments = logs->moments;
    f->n_moments = logs->n_moments;
    f->victim_lines = logs->victim_lines;
    f->n_victim_lines = logs->n_victim_lines;
    f->places = logs->places;
    f->n_places =
        f->n_roots == 0 || share_a_rank(f->root_ranks, f->n_roots, logs->root_ranks, logs->n_roots)
            ? logs->n_places
            : 0;
    bool same = f->cls == logs->cls &&
                share_a_rank(f->root_ranks, f->n_roots, logs->root_ranks, logs->n_roots);
    f->subclass = same ? logs->subclass : NULL;
    bool open = f->cls == INQ_FAILURE_UNKNOWN || f->cls == INQ_FAILURE_NONE;
    if (open && logs->n_roots > 0) {
        f->cls = logs->cls;
        f->subclass = logs->subclass;
        f->headline = logs->headline;
        f->advice = logs->advice;
        f->n_roots = logs->n_roots;
        f->root_ranks = logs->root_ranks;
        f->confidence = logs->confidence;
    }
    int code =
        unite(arena, &f->victim_ranks, &f->n_victims, logs->victim_ranks, logs->n_victims, err);
    if (code == INQ_OK) {
        subtract(f->victim_ranks, &f->n_victims, f->root_ranks, f->n_roots);
        subtract(f->victim_ranks, &f->n_victims, f->suspected_ranks, f->n_suspected);
        code = append_evidence(arena, f, logs->evidence, logs->n_evidence, err);
    }
    return code;
}

/* ---- traces ---------------------------------------------------------------------------------- */

static int64_t last_end(const struct inq_rank *rank, size_t *event)
{
    int64_t end_ns = INQ_TIME_NONE;
    for (size_t i = 0; i < rank->events.n; i++) {
        int64_t own_ns = rank->events.start_ns[i] + rank->events.dur_ns[i];
        bool work =
            rank->events.kind[i] != INQ_EVENT_SYNC && rank->events.kind[i] != INQ_EVENT_SLICE;
        if (work && (end_ns == INQ_TIME_NONE || own_ns > end_ns)) {
            end_ns = own_ns;
            *event = i;
        }
    }
    return end_ns;
}

/* The last piece of GPU work that the trace of a root has, and when that was. */
static int add_last_work(const struct inq_trace *trace, struct inq_arena *arena,
                         struct inq_failure *f, struct inq_err *err)
{
    enum { MOST = 4 };
    size_t event = 0;
    size_t n = 0;
    int64_t latest_ns = INQ_TIME_NONE;
    struct inq_failure_evidence found[MOST];
    for (size_t r = 0; r < trace->n_ranks; r++) {
        int64_t end_ns = last_end(&trace->ranks[r], &event);
        latest_ns = end_ns > latest_ns ? end_ns : latest_ns;
    }
    for (size_t r = 0; r < trace->n_ranks && n < MOST; r++) {
        const struct inq_rank *rank = &trace->ranks[r];
        int64_t end_ns = last_end(rank, &event);
        bool named = has_rank(f->root_ranks, f->n_roots, rank->rank) ||
                     has_rank(f->suspected_ranks, f->n_suspected, rank->rank);
        if (end_ns == INQ_TIME_NONE || !named) {
            continue;
        }
        const char *what = inq_arena_asprintf(
            arena,
            "the last GPU work in its trace is %.120s; it ended %" PRId64
            " ms before the last of any rank",
            inq_trace_str(trace, rank->events.name[event]), (latest_ns - end_ns) / 1000000);
        if (what == NULL) {
            return no_memory(err);
        }
        found[n++] = (struct inq_failure_evidence){
            .rank = rank->rank, .file = trace->files[rank->file].path, .what = what};
    }
    return append_evidence(arena, f, found, n, err);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static bool has_dump(const struct inq_trace *trace, int32_t rank)
{
    for (size_t d = 0; d < trace->n_dumps; d++) {
        if (trace->dumps[d]->rank == rank) {
            return true;
        }
    }
    return false;
}

/* The dumps, and what ranks without one printed. */
static int list_records(struct inq_log_case *logs, struct inq_state_records *records,
                        struct inq_err *err)
{
    const struct inq_trace *trace = logs->trace;
    struct inq_flight_dump *printed = NULL;
    size_t n = 0;
    int code = inq_log_records(logs, NULL, &printed, &n, err);
    records->of = inq_arena_array(logs->arena, trace->n_dumps + n, sizeof *records->of);
    if (code != INQ_OK || records->of == NULL) {
        return no_memory(err);
    }
    for (; records->n_dumps < trace->n_dumps; records->n_dumps++) {
        records->of[records->n_dumps] = trace->dumps[records->n_dumps];
    }
    for (size_t i = 0; i < n; i++) {
        if (!has_dump(trace, printed[i].rank)) {
            records->of[records->n_dumps + records->n_printed++] = &printed[i];
        }
    }
    return INQ_OK;
}

static void clear(struct inq_failure *f)
{
    f->seq = -1;
    f->headline = f->advice = f->group = f->op = f->sizes = "";
}

/* Both report a failure: a line that names a cause leads, unless it can only have followed. */
static int choose(struct inq_arena *arena, struct inq_failure *dumps, struct inq_failure *logs,
                  struct inq_failure **lead, struct inq_err *err)
{
    bool later = came_later(logs, dumps);
    bool by_logs = !is_wait(logs->cls) && logs->confidence != INQ_CONFIDENCE_HYPOTHESIS && !later;
    *lead = by_logs || dumps->cls == INQ_FAILURE_NONE ? logs : dumps;
    int code = INQ_OK;
    if (later) {
        code = add_alternative(arena, dumps,
                               inq_arena_asprintf(arena,
                                                  "by the logs, which may cover a later time: %s",
                                                  logs->headline),
                               err);
    }
    return code != INQ_OK  ? code
           : *lead == logs ? lead_by_logs(arena, logs, dumps, err)
                           : lead_by_dumps(arena, dumps, logs, err);
}

int inq_run_failure(const struct inq_trace *trace, const struct inq_analysis_options *options,
                    struct inq_report *report, struct inq_err *err)
{
    (void)options;
    if (trace->n_dumps == 0 && trace->n_logs == 0) {
        return INQ_OK;
    }
    struct inq_failure *both = inq_arena_array(report->arena, 2, sizeof *both);
    if (both == NULL) {
        return no_memory(err);
    }
    struct inq_failure *dumps = &both[0];
    struct inq_failure *logs = &both[1];
    struct inq_log_case c = {.trace = trace, .arena = report->arena};
    struct inq_state_records records = {0};
    bool told = false;
    clear(dumps);
    clear(logs);
    int code = inq_log_find_hang(&c, err);
    if (code == INQ_OK && trace->n_dumps > 0) {
        code = list_records(&c, &records, err);
        code = code == INQ_OK ? inq_failure_from_state(trace, &records, report->arena, dumps, err)
                              : code;
    }
    if (code == INQ_OK && trace->n_logs > 0) {
        code = inq_failure_from_logs(&c, logs, &told, err);
    }
    if (code != INQ_OK || (trace->n_dumps == 0 && !told)) {
        return code;
    }
    struct inq_failure *lead = told && trace->n_dumps == 0 ? logs : dumps;
    if (told && trace->n_dumps > 0) {
        code = choose(report->arena, dumps, logs, &lead, err);
    }
    report->failure = lead;
    return code == INQ_OK ? add_last_work(trace, report->arena, lead, err) : code;
}
