/* SPDX-License-Identifier: Apache-2.0 */
/* One time line for op tables whose clock begins anew in every step. */
#include "trace/assemble.h"

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
};

/* The step of an event by its label, or -1. */
static int32_t labelled_step(const struct inq_rank *rank, size_t event)
{
    uint32_t label = rank->events.label[event];
    return label == INQ_NONE ? -1 : rank->labels[label].step;
}

static bool has_own_origins(const struct inq_rank *rank)
{
    return !rank->has_clock_epoch && rank->events.label != NULL && rank->events.n > 0;
}

static int add_to_span(struct spans *spans, int32_t step, int64_t start, int64_t end,
                       struct inq_err *err)
{
    uint32_t index;
    if (!inq_map_get(&spans->by_number, (uint64_t)step, &index)) {
        int code = inq_mem_grow(&spans->rows, &spans->cap, spans->n + 1, sizeof *spans->rows,
                                INT32_MAX, err);
        if (code == INQ_OK) {
            code = inq_map_put(&spans->by_number, (uint64_t)step, (uint32_t)spans->n, err);
        }
        if (code != INQ_OK) {
            return code;
        }
        spans->rows[spans->n++] =
            (struct span){.number = step, .first_start = start, .first_end = end, .last_end = end};
        return INQ_OK;
    }
    struct span *span = &spans->rows[index];
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
            int32_t step = labelled_step(rank, i);
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

/* Puts `n` elements of `size` bytes in the order of `perm`. */
static void permute(void *column, size_t n, size_t size, const uint32_t *perm, void *scratch)
{
    unsigned char *bytes = column;
    unsigned char *copy = scratch;
    memcpy(copy, bytes, n * size);
    for (size_t i = 0; i < n; i++) {
        memcpy(bytes + i * size, copy + perm[i] * size, size);
    }
}

/* One lane's events, [first, first + n), back into the order of their starts. */
static int reorder_lane(struct inq_events *events, size_t first, size_t n, uint32_t *perm,
                        void *scratch, struct inq_err *err)
{
    int code = inq_sort_order_i64(events->start_ns + first, n, perm, err);
    if (code != INQ_OK) {
        return code;
    }
    uint32_t *narrow[] = {events->name, events->lane, events->call,
                          events->comm, events->step, events->label};
    permute(events->start_ns + first, n, sizeof(int64_t), perm, scratch);
    permute(events->dur_ns + first, n, sizeof(int64_t), perm, scratch);
    for (size_t i = 0; i < sizeof narrow / sizeof narrow[0]; i++) {
        if (narrow[i] != NULL) {
            permute(narrow[i] + first, n, sizeof(uint32_t), perm, scratch);
        }
    }
    permute(events->kind + first, n, 1, perm, scratch);
    permute(events->cls + first, n, 1, perm, scratch);
    return INQ_OK;
}

static int reorder(struct inq_events *events, struct inq_err *err)
{
    uint32_t *perm = inq_mem_alloc((events->n + 1) * sizeof *perm);
    int64_t *scratch = inq_mem_alloc((events->n + 1) * sizeof *scratch);
    int code = INQ_OK;
    if (perm == NULL || scratch == NULL) {
        code = inq_err_set(err, INQ_NOMEM, "out of memory");
    }
    for (size_t first = 0; first < events->n && code == INQ_OK;) {
        size_t end = first;
        bool sorted = true;
        while (end < events->n && events->lane[end] == events->lane[first]) {
            sorted = sorted && (end == first || events->start_ns[end - 1] <= events->start_ns[end]);
            end++;
        }
        if (!sorted) {
            code = reorder_lane(events, first, end - first, perm, scratch, err);
        }
        first = end;
    }
    inq_mem_free(perm);
    inq_mem_free(scratch);
    return code;
}

static int shift_rank(struct inq_rank *rank, const struct spans *spans, struct inq_err *err)
{
    struct inq_events *events = &rank->events;
    rank->first_ns = INT64_MAX;
    rank->last_ns = INT64_MIN;
    for (size_t i = 0; i < events->n; i++) {
        int32_t step = labelled_step(rank, i);
        uint32_t index;
        if (step >= 0 && inq_map_get(&spans->by_number, (uint64_t)step, &index)) {
            events->start_ns[i] += spans->rows[index].shift;
        }
        int64_t end = events->start_ns[i] + events->dur_ns[i];
        rank->first_ns =
            events->start_ns[i] < rank->first_ns ? events->start_ns[i] : rank->first_ns;
        rank->last_ns = end > rank->last_ns ? end : rank->last_ns;
    }
    return reorder(events, err);
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

int inq_steps_lay(struct inq_trace *trace, struct inq_err *err)
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
