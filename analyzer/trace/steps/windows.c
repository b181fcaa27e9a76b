/* SPDX-License-Identifier: Apache-2.0 */
/* A rank's windows: filling them, and finding the one that an event belongs to. */
#include "trace/steps/steps.h"

#include "base/mem.h"

int inq_windows_add(struct inq_windows *windows, int64_t number, int64_t start_ns, int64_t end_ns,
                    struct inq_err *err)
{
    int code = inq_mem_grow(&windows->rows, &windows->cap, windows->n + 1, sizeof *windows->rows,
                            SIZE_MAX / 64, err);
    if (code == INQ_OK) {
        windows->rows[windows->n++] = (struct inq_window){number, start_ns, end_ns};
    }
    return code;
}

/* The window that holds a time, or INQ_NONE. What falls between two steps of consecutive numbers
 * belongs to the first of them. */
static uint32_t window_at(const struct inq_windows *windows, int64_t time_ns)
{
    size_t low = 0;
    size_t high = windows->n;
    while (low < high) { /* the first that starts later */
        size_t middle = low + (high - low) / 2;
        if (windows->rows[middle].start_ns <= time_ns) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == 0) {
        return INQ_NONE;
    }
    const struct inq_window *window = &windows->rows[low - 1];
    bool followed = low < windows->n && window[1].number == window->number + 1;
    return time_ns < window->end_ns || followed ? (uint32_t)(low - 1) : INQ_NONE;
}

uint32_t inq_windows_find(const struct inq_windows *windows, const struct inq_rank *rank,
                          size_t event)
{
    const struct inq_events *e = &rank->events;
    if (windows->time == INQ_WINDOW_GPU) {
        return window_at(windows, e->start_ns[event]);
    }
    uint32_t call = e->call[event];
    return call != INQ_NONE ? window_at(windows, rank->calls.start_ns[call]) : INQ_NONE;
}
