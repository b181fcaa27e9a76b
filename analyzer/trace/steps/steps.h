/* SPDX-License-Identifier: Apache-2.0 */
/* Internal to steps*.c: the stretches of host time that are a rank's steps. */
#ifndef INQ_TRACE_STEPS_STEPS_H
#define INQ_TRACE_STEPS_STEPS_H

#include "inquest/trace.h"

/* Which time a window is in: that of the launching calls, or (where launches are not recorded) that
 * of the GPU events themselves. */
enum inq_window_time { INQ_WINDOW_HOST, INQ_WINDOW_GPU };

/* [start, end) of one step. */
struct inq_window {
    int64_t number, start_ns, end_ns;
    bool on_host; /* of a mark on the GPU: the host's mark of this number is there, too */
};

/* One rank's windows by start. All-zero is empty; inq_windows_release makes it so. */
struct inq_windows {
    size_t n, cap;
    struct inq_window *rows;
    enum inq_window_time time;
    /* in host time: the marks as the GPU saw them, for work whose launch, or the mark
     * around it, was not recorded */
    size_t n_gpu;
    struct inq_window *gpu;
    uint64_t dropped; /* marks past the most that are kept */
};

void inq_windows_release(struct inq_windows *windows);

/* The rank's recorded steps: the profiler's marks on the host, and their projection onto the GPU,
 * which stands alone where there are no others. *windows (empty) is the caller's. Fails with
 * INQ_NOMEM. */
int inq_windows_recorded(const struct inq_rank *rank, struct inq_windows *windows,
                         struct inq_err *err);
/* The window that a GPU event of the rank belongs to, by its launch where those are recorded;
 * INQ_NONE: none. */
uint32_t inq_windows_find(const struct inq_windows *windows, const struct inq_rank *rank,
                          size_t event);
/* The number of that window; where the launch or the mark around it was not recorded, that of the
 * mark on the GPU which holds the event's start. -1: none. */
int64_t inq_windows_number(const struct inq_windows *windows, const struct inq_rank *rank,
                           size_t event);

/* trace/steps/repeat.c: times at which something begins anew in the launches of a rank. */
struct inq_repeats {
    size_t n, cap;
    int64_t
        *begin_ns;   /* ascending; the last one is where the last whole period ends. The caller's */
    uint64_t marker; /* what each period holds once, and how many launches it begins before that: */
    int64_t shift;   /* the same on other ranks where they can be; 0 none found */
    bool
        by_update; /* the marker is an optimizer's: each period is a step, whatever else is in it */
    enum inq_window_time time;
};
/* Finds alike periods in a rank's GPU work; *repeats (empty) stays so when there are no two.
 * Marker and shift of `like` are tried before any other. Fails with INQ_NOMEM. */
int inq_repeats_find(const struct inq_trace *trace, size_t rank, const struct inq_repeats *like,
                     struct inq_repeats *repeats, struct inq_err *err);

#endif
