/* SPDX-License-Identifier: Apache-2.0 */
/* Merging the sorted lanes of a rank with a heap of their heads. */
#include "analysis/measure/row_merge.h"

#include "base/mem.h"

_Static_assert(INQ_EVENT_KERNEL < INQ_EVENT_MEMCPY && INQ_EVENT_MEMCPY < INQ_EVENT_MEMSET &&
                   INQ_EVENT_MEMSET < INQ_EVENT_SYNC,
               "inq_row_is_work compares kinds");

static bool before(const struct inq_run_head *a, const struct inq_run_head *b)
{
    return a->start_ns != b->start_ns ? a->start_ns < b->start_ns : a->row < b->row;
}

static void sift_down(struct inq_row_merge *merge, size_t i)
{
    struct inq_run_head moved = merge->heap[i];

    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= merge->n) {
            break;
        }
        if (child + 1 < merge->n && before(&merge->heap[child + 1], &merge->heap[child])) {
            child++;
        }
        if (!before(&merge->heap[child], &moved)) {
            break;
        }
        merge->heap[i] = merge->heap[child];
        i = child;
    }
    merge->heap[i] = moved;
}

/* Moves a head on to its next row of work; false at the end of the run. */
static bool settle(const struct inq_events *events, struct inq_run_head *head)
{
    while (head->row < head->end && !inq_row_is_work(events, head->row)) {
        head->row++;
    }
    if (head->row == head->end) {
        return false;
    }
    head->start_ns = events->start_ns[head->row];
    return true;
}

static size_t count_runs(const struct inq_events *events)
{
    size_t n = events->n > 0;

    for (size_t i = 1; i < events->n; i++) {
        n += events->lane[i] != events->lane[i - 1];
    }
    return n;
}

int inq_row_merge_init(struct inq_row_merge *merge, const struct inq_events *events,
                       struct inq_err *err)
{
    size_t runs = count_runs(events);

    *merge = (struct inq_row_merge){.events = events};
    merge->heap = inq_mem_zalloc(runs, sizeof(*merge->heap));
    if (!merge->heap) {
        return inq_err_set(err, INQ_NOMEM, "no memory to merge %zu lanes", runs);
    }
    for (size_t i = 0; i < events->n;) {
        struct inq_run_head head = {.row = (uint32_t)i};
        do {
            i++;
        } while (i < events->n && events->lane[i] == events->lane[i - 1]);
        head.end = (uint32_t)i;
        if (settle(events, &head)) {
            merge->heap[merge->n++] = head;
        }
    }
    for (size_t i = merge->n / 2; i-- > 0;) {
        sift_down(merge, i);
    }
    return INQ_OK;
}

bool inq_row_merge_next(struct inq_row_merge *merge, uint32_t *row)
{
    if (merge->n == 0) {
        return false;
    }
    struct inq_run_head *head = &merge->heap[0];
    *row = head->row++;
    if (!settle(merge->events, head)) {
        *head = merge->heap[--merge->n];
    }
    if (merge->n > 0) {
        sift_down(merge, 0);
    }
    return true;
}

void inq_row_merge_release(struct inq_row_merge *merge)
{
    inq_mem_free(merge->heap);
    *merge = (struct inq_row_merge){0};
}
