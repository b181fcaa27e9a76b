/* SPDX-License-Identifier: Apache-2.0 */
/* A rank's windows: filling them, and finding the one that an event belongs to. */
#include "trace/steps/steps.h"

#include "base/mem.h"

void inq_windows_release(struct inq_windows *windows)
{
    inq_mem_free(windows->rows);
    inq_mem_free(windows->gpu);
    *windows = (struct inq_windows){0};
}

/* The one of rows[n] that holds a time, or INQ_NONE. What falls between two steps of consecutive
 * numbers belongs to the first of them. */
static uint32_t window_at(const struct inq_window *rows, size_t n, int64_t time_ns)
{
    size_t low = 0;
    size_t high = n;
    while (low < high) { /* the first that starts later */
        size_t middle = low + (high - low) / 2;
        if (rows[middle].start_ns <= time_ns) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == 0) {
        return INQ_NONE;
    }
    const struct inq_window *window = &rows[low - 1];
    bool followed = low < n && window[1].number == window->number + 1;
    return time_ns < window->end_ns || followed ? (uint32_t)(low - 1) : INQ_NONE;
}

uint32_t inq_windows_find(const struct inq_windows *windows, const struct inq_rank *rank,
                          size_t event)
{
    const struct inq_events *e = &rank->events;
    if (windows->time == INQ_WINDOW_GPU) {
        return window_at(windows->rows, windows->n, e->start_ns[event]);
    }
    uint32_t call = e->call[event];
    return call != INQ_NONE ? window_at(windows->rows, windows->n, rank->calls.start_ns[call])
                            : INQ_NONE;
}

int64_t inq_windows_number(const struct inq_windows *windows, const struct inq_rank *rank,
                           size_t event)
{
    uint32_t window = inq_windows_find(windows, rank, event);
    if (window != INQ_NONE) {
        return windows->rows[window].number;
    }
    window = window_at(windows->gpu, windows->n_gpu, rank->events.start_ns[event]);
    if (window == INQ_NONE) {
        return -1;
    }
    bool launched = rank->events.call[event] != INQ_NONE;
    return launched && windows->gpu[window].on_host ? -1 : windows->gpu[window].number;
}
