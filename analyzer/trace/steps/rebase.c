/* SPDX-License-Identifier: Apache-2.0 */
/* One time line for op tables whose clock begins anew in every step. */
#include "trace/build/build.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/par.h"
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
    uint32_t last; /* row used last */
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

/* The place of a step's span; it is made when there is none. */
static int find_span(struct spans *spans, int64_t number, uint32_t *place, struct inq_err *err)
{
    static const struct span none = {
        .first_start = INT64_MAX, .first_end = INT64_MAX, .last_end = INT64_MIN};
    int code = INQ_OK;
    if ((spans->n == 0 || spans->rows[spans->last].number != number) &&
        !inq_map_get(&spans->by_number, (uint64_t)number, &spans->last)) {
        code = inq_mem_grow(&spans->rows, &spans->cap, spans->n + 1, sizeof *spans->rows, INT32_MAX,
                            err);
        if (code == INQ_OK) {
            spans->last = (uint32_t)spans->n;
            spans->rows[spans->n] = none;
            spans->rows[spans->n++].number = number;
            code = inq_map_put(&spans->by_number, (uint64_t)number, spans->last, err);
        }
    }
    *place = spans->last;
    return code;
}

static void widen(struct span *span, const struct span *by)
{
    span->first_start = by->first_start < span->first_start ? by->first_start : span->first_start;
    span->first_end = by->first_end < span->first_end ? by->first_end : span->first_end;
    span->last_end = by->last_end > span->last_end ? by->last_end : span->last_end;
}

/* Of one rank: */
struct own {
    struct spans spans;
    uint32_t *place; /* [events] of each event's step: first among its own spans, then among those
                        of all ranks; INQ_NONE: no step */
};

struct rebase {
    struct inq_trace *trace;
    struct own *own; /* [ranks] */
    struct spans all;
};

static int collect_rank(void *ctx, size_t r, struct inq_err *err)
{
    const struct rebase *x = ctx;
    const struct inq_rank *rank = &x->trace->ranks[r];
    const struct inq_events *e = &rank->events;
    struct own *own = &x->own[r];
    if (!has_own_origins(rank)) {
        return INQ_OK;
    }
    own->place = inq_mem_alloc(e->n * sizeof *own->place);
    if (own->place == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu ops", e->n);
    }
    int code = INQ_OK;
    for (size_t i = 0; code == INQ_OK && i < e->n; i++) {
        int32_t step = labeled_step(rank, i);
        int64_t end = e->start_ns[i] + e->dur_ns[i];
        own->place[i] = INQ_NONE;
        if (step >= 0) {
            code = find_span(&own->spans, step, &own->place[i], err);
        }
        if (code == INQ_OK && step >= 0) {
            struct span op = {step, e->start_ns[i], end, end, 0};
            widen(&own->spans.rows[own->place[i]], &op);
        }
    }
    return code;
}

static int add_to_all(struct rebase *x, const struct own *own, struct inq_err *err)
{
    int code = INQ_OK;
    for (size_t k = 0; code == INQ_OK && k < own->spans.n; k++) {
        uint32_t place;
        code = find_span(&x->all, own->spans.rows[k].number, &place, err);
        if (code == INQ_OK) {
            widen(&x->all.rows[place], &own->spans.rows[k]);
        }
    }
    return code;
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
    const uint32_t *place; /* [events] of each event's step among the spans */
    uint32_t *counts;      /* [spans + 1] */
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

/* Its places become those among all spans, which are sorted. */
static void shift_events(struct inq_rank *rank, struct own *own, const struct spans *spans)
{
    struct inq_events *events = &rank->events;
    rank->first_ns = INT64_MAX;
    rank->last_ns = INT64_MIN;
    for (size_t k = 0; k < own->spans.n; k++) { /* its number gives way to its place among all */
        struct span *span = &own->spans.rows[k];
        uint32_t place = 0;
        (void)inq_map_get(&spans->by_number, (uint64_t)span->number, &place);
        span->number = place;
    }
    for (size_t i = 0; i < events->n; i++) {
        if (own->place[i] != INQ_NONE) {
            own->place[i] = (uint32_t)own->spans.rows[own->place[i]].number;
            events->start_ns[i] += spans->rows[own->place[i]].shift;
        }
        int64_t end = events->start_ns[i] + events->dur_ns[i];
        rank->first_ns =
            events->start_ns[i] < rank->first_ns ? events->start_ns[i] : rank->first_ns;
        rank->last_ns = end > rank->last_ns ? end : rank->last_ns;
    }
}

static int shift_rank(void *ctx, size_t r, struct inq_err *err)
{
    const struct rebase *x = ctx;
    struct inq_rank *rank = &x->trace->ranks[r];
    size_t n = rank->events.n;
    if (x->own[r].place == NULL) {
        return INQ_OK;
    }
    struct move move = {
        .spans = &x->all,
        .place = x->own[r].place,
        .counts = inq_mem_alloc((x->all.n + 1) * sizeof *move.counts),
        .order = {.perm = inq_mem_alloc((n + 1) * sizeof *move.order.perm),
                  .scratch = inq_mem_alloc((n + 1) * sizeof *move.order.scratch)},
    };
    int code = INQ_OK;
    if (move.counts == NULL || move.order.perm == NULL || move.order.scratch == NULL) {
        code = inq_err_set(err, INQ_NOMEM, "out of memory for %zu ops", n);
    } else {
        shift_events(rank, &x->own[r], &x->all);
        code = reorder(&rank->events, &move, err);
    }
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

int inq_steps_rebase(struct inq_trace *trace, int jobs, struct inq_err *err)
{
    struct rebase x = {.trace = trace, .own = inq_mem_zalloc(trace->n_ranks + 1, sizeof *x.own)};
    if (x.own == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu ranks", trace->n_ranks);
    }
    int code = inq_par_for(trace->n_ranks, jobs, collect_rank, &x, err);
    for (size_t r = 0; code == INQ_OK && r < trace->n_ranks; r++) {
        code = add_to_all(&x, &x.own[r], err);
    }
    if (code == INQ_OK) {
        code = index_spans(&x.all, err);
    }
    if (code == INQ_OK && !follow_each_other(&x.all) && plan_shifts(&x.all)) {
        code = inq_par_for(trace->n_ranks, jobs, shift_rank, &x, err);
    }
    for (size_t r = 0; r < trace->n_ranks; r++) {
        inq_mem_free(x.own[r].place);
        inq_mem_free(x.own[r].spans.rows);
        inq_map_release(&x.own[r].spans.by_number);
    }
    inq_mem_free(x.own);
    inq_mem_free(x.all.rows);
    inq_map_release(&x.all.by_number);
    return code;
}
