/* SPDX-License-Identifier: Apache-2.0 */
/* One time line for op tables whose clock begins anew in every step. */
#include "trace/build/build.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/sort.h"

#include <string.h>

/* Extent of one step over all ranks, as recorded. */
struct span {
    int64_t number;
    int64_t first_start, first_end, last_end;
    int64_t shift; /* from recorded to common time */
};

struct spans {
    size_t n, cap;
    struct span *rows;
    struct inq_map by_number;
    size_t last; /* row used last */
};

/* The step of an event by its label, or -1. */
static int32_t labeled_step(const struct inq_rank *rank, size_t event)
{
    uint32_t label = rank->events.label[event];
    return label == INQ_NONE ? -1 : rank->labels[label].step;
}

static bool has_own_origins(const struct inq_rank *rank)
{
    return !rank->has_clock_epoch && rank->events.label != NULL && rank->events.n > 0;
}

static int add_span(struct spans *spans, struct span span, struct inq_err *err)
{
    int code =
        inq_mem_grow(&spans->rows, &spans->cap, spans->n + 1, sizeof *spans->rows, INT32_MAX, err);
    if (code == INQ_OK) {
        code = inq_map_put(&spans->by_number, (uint64_t)span.number, (uint32_t)spans->n, err);
    }
    if (code == INQ_OK) {
        spans->rows[spans->n++] = span;
    }
    return code;
}

/* The span of a step, or NULL. */
static struct span *find_span(struct spans *spans, int32_t step)
{
    uint32_t index = (uint32_t)spans->last;
    if (spans->n == 0) {
        return NULL;
    }
    if (spans->rows[index].number != step &&
        !inq_map_get(&spans->by_number, (uint64_t)step, &index)) {
        return NULL;
    }
    spans->last = index;
    return &spans->rows[index];
}

static int add_to_span(struct spans *spans, int32_t step, int64_t start, int64_t end,
                       struct inq_err *err)
{
    struct span *span = find_span(spans, step);
    if (span == NULL) {
        return add_span(spans, (struct span){step, start, end, end, 0}, err);
    }
    span->first_start = start < span->first_start ? start : span->first_start;
    span->first_end = end < span->first_end ? end : span->first_end;
    span->last_end = end > span->last_end ? end : span->last_end;
    return INQ_OK;
}

static int collect(const struct inq_trace *trace, struct spans *spans, struct inq_err *err)
{
    for (size_t r = 0; r < trace->n_ranks; r++) {
        const struct inq_rank *rank = &trace->ranks[r];
        for (size_t i = 0; i < rank->events.n && has_own_origins(rank); i++) {
            int64_t start = rank->events.start_ns[i];
            int32_t step = labeled_step(rank, i);
            int code = INQ_OK;
            if (step >= 0) {
                code = add_to_span(spans, step, start, start + rank->events.dur_ns[i], err);
            }
            if (code != INQ_OK) {
                return code;
            }
        }
    }
    return INQ_OK;
}

static int compare_spans(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    const struct span *x = a;
    const struct span *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

/* Steps that follow each other share a clock already: none begins before the first op of the one
 * before it has ended. */
static bool follow_each_other(const struct spans *spans)
{
    for (size_t i = 1; i < spans->n; i++) {
        const struct span *before = &spans->rows[i - 1];
        if (spans->rows[i].first_start <= before->first_start ||
            spans->rows[i].first_start < before->first_end) {
            return false;
        }
    }
    return true;
}

/* Each step's recorded zero is put where the latest op of the step before it ended. */
static bool plan_shifts(struct spans *spans)
{
    int64_t origin = 0;
    for (size_t i = 0; i < spans->n; i++) {
        struct span *span = &spans->rows[i];
        int64_t early = span->first_start < 0 ? span->first_start : 0;
        int64_t length = span->last_end > 0 ? span->last_end : 0;
        if (__builtin_sub_overflow(origin, early, &span->shift) ||
            __builtin_add_overflow(span->shift, length, &origin)) {
            return false;
        }
    }
    return true;
}

/* One lane's events, [first, first + n), and the order in which they are to stand. */
struct order {
    size_t first, n;
    uint32_t *perm;
    int64_t *scratch; /* room for the lane */
};

static void permute_times(int64_t *column, const struct order *order)
{
    int64_t *to = column + order->first;
    memcpy(order->scratch, to, order->n * sizeof *to);
    for (size_t i = 0; i < order->n; i++) {
        to[i] = order->scratch[order->perm[i]];
    }
}

static void permute_ids(uint32_t *column, const struct order *order)
{
    if (column == NULL) {
        return;
    }
    uint32_t *to = column + order->first;
    for (size_t i = 0; i < order->n; i++) {
        order->scratch[i] = to[order->perm[i]];
    }
    for (size_t i = 0; i < order->n; i++) {
        to[i] = (uint32_t)order->scratch[i];
    }
}

static void permute_kinds(uint8_t *column, const struct order *order)
{
    uint8_t *to = column + order->first;
    for (size_t i = 0; i < order->n; i++) {
        order->scratch[i] = to[order->perm[i]];
    }
    for (size_t i = 0; i < order->n; i++) {
        to[i] = (uint8_t)order->scratch[i];
    }
}

static void reorder_lane(struct inq_events *events, const struct order *order)
{
    permute_times(events->start_ns, order);
    permute_times(events->dur_ns, order);
    permute_ids(events->name, order);
    permute_ids(events->call, order);
    permute_ids(events->comm, order);
    permute_ids(events->step, order);
    permute_ids(events->label, order);
    permute_ids(events->launch, order);
    permute_kinds(events->kind, order);
    permute_kinds(events->cls, order);
}

/* What moving a rank's events takes. */
struct move {
    const struct spans *spans;
    uint32_t *place;  /* [events] of each event's step among the spans; INQ_NONE: no step */
    uint32_t *counts; /* [spans + 1] */
    struct order order;
};

/* The events of a lane stand by recorded start, so by step and recorded start is one pass. */
static bool order_by_step(struct move *move)
{
    struct order *order = &move->order;
    const uint32_t *place = move->place + order->first;
    size_t n_steps = move->spans->n;
    if (order->n < n_steps) {
        return false; /* counting would take longer than sorting */
    }
    memset(move->counts, 0, (n_steps + 1) * sizeof *move->counts);
    for (size_t i = 0; i < order->n; i++) {
        if (place[i] == INQ_NONE) {
            return false;
        }
        move->counts[place[i] + 1]++;
    }
    for (size_t k = 1; k < n_steps; k++) {
        move->counts[k] += move->counts[k - 1];
    }
    for (size_t i = 0; i < order->n; i++) {
        order->perm[move->counts[place[i]]++] = (uint32_t)i;
    }
    return true;
}

/* Back into the order of starts within each lane. */
static int reorder(struct inq_events *events, struct move *move, struct inq_err *err)
{
    struct order *order = &move->order;
    for (size_t end = 0; end < events->n;) {
        bool sorted = true;
        order->first = end;
        while (end < events->n && events->lane[end] == events->lane[order->first]) {
            sorted = sorted &&
                     (end == order->first || events->start_ns[end - 1] <= events->start_ns[end]);
            end++;
        }
        order->n = end - order->first;
        if (sorted) {
            continue;
        }
        if (!order_by_step(move)) {
            int code =
                inq_sort_order_i64(events->start_ns + order->first, order->n, order->perm, err);
            if (code != INQ_OK) {
                return code;
            }
        }
        reorder_lane(events, order);
    }
    return INQ_OK;
}

static void shift_events(struct inq_rank *rank, struct move *move)
{
    struct inq_events *events = &rank->events;
    int32_t last_step = -1;
    uint32_t place = INQ_NONE;
    rank->first_ns = INT64_MAX;
    rank->last_ns = INT64_MIN;
    for (size_t i = 0; i < events->n; i++) {
        int32_t step = labeled_step(rank, i);
        if (step != last_step) {
            last_step = step;
            if (step < 0 || !inq_map_get(&move->spans->by_number, (uint64_t)step, &place)) {
                place = INQ_NONE;
            }
        }
        move->place[i] = place;
        if (place != INQ_NONE) {
            events->start_ns[i] += move->spans->rows[place].shift;
        }
        int64_t end = events->start_ns[i] + events->dur_ns[i];
        rank->first_ns =
            events->start_ns[i] < rank->first_ns ? events->start_ns[i] : rank->first_ns;
        rank->last_ns = end > rank->last_ns ? end : rank->last_ns;
    }
}

static int shift_rank(struct inq_rank *rank, const struct spans *spans, struct inq_err *err)
{
    size_t n = rank->events.n;
    struct move move = {
        .spans = spans,
        .place = inq_mem_alloc((n + 1) * sizeof *move.place),
        .counts = inq_mem_alloc((spans->n + 1) * sizeof *move.counts),
        .order = {.perm = inq_mem_alloc((n + 1) * sizeof *move.order.perm),
                  .scratch = inq_mem_alloc((n + 1) * sizeof *move.order.scratch)},
    };
    int code = INQ_OK;
    if (move.place == NULL || move.counts == NULL || move.order.perm == NULL ||
        move.order.scratch == NULL) {
        code = inq_err_set(err, INQ_NOMEM, "out of memory for %zu ops", n);
    } else {
        shift_events(rank, &move);
        code = reorder(&rank->events, &move, err);
    }
    inq_mem_free(move.place);
    inq_mem_free(move.counts);
    inq_mem_free(move.order.perm);
    inq_mem_free(move.order.scratch);
    return code;
}

/* Sorting moves spans: the map has to follow. */
static int index_spans(struct spans *spans, struct inq_err *err)
{
    int code = inq_sort(spans->rows, spans->n, sizeof *spans->rows, compare_spans, NULL, err);
    for (size_t i = 0; i < spans->n && code == INQ_OK; i++) {
        uint64_t key = (uint64_t)spans->rows[i].number;
        code = inq_map_put(&spans->by_number, key, (uint32_t)i, err);
    }
    return code;
}

int inq_steps_rebase(struct inq_trace *trace, struct inq_err *err)
{
    struct spans spans = {0};
    int code = collect(trace, &spans, err);
    if (code == INQ_OK) {
        code = index_spans(&spans, err);
    }
    if (code == INQ_OK && !follow_each_other(&spans) && plan_shifts(&spans)) {
        for (size_t r = 0; r < trace->n_ranks && code == INQ_OK; r++) {
            if (has_own_origins(&trace->ranks[r])) {
                code = shift_rank(&trace->ranks[r], &spans, err);
            }
        }
    }
    inq_mem_free(spans.rows);
    inq_map_release(&spans.by_number);
    return code;
}
