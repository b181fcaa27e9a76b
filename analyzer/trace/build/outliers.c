/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/build/outliers.h"

enum {
    MIN_ROWS = 8,      /* fewer have no middle to be far from */
    ROWS_PER_ONE = 64, /* that one outlier needs beside it */
    FAR_START = 10,    /* capture lengths from the rest: a pause before the last rows is shorter */
    FAR_END = 100      /* capture lengths beyond it: a wait for a stalled rank is shorter */
};
/* A short capture may lie beside a pause of seconds (loading, compilation). */
static const int64_t LEAST_SPAN_NS = 1000000000;

struct search {
    const struct inq_rank *rank;
    struct inq_outliers *found;
    size_t most;
    size_t n;
    int64_t first[INQ_MAX_OUTLIERS + 1], last[INQ_MAX_OUTLIERS + 1]; /* starts, from outside in */
    int64_t from_ns, to_ns; /* the capture: of the starts that are not outliers */
    int64_t span_ns;
    int64_t end_ns; /* the last of all */
};

enum list { EVENTS, CALLS, NOTES, LISTS };

static size_t length_of(const struct inq_rank *rank, int list)
{
    return list == EVENTS ? rank->events.n : list == CALLS ? rank->calls.n : rank->n_notes;
}

static int64_t start_of(const struct inq_rank *rank, int list, size_t i)
{
    return list == EVENTS  ? rank->events.start_ns[i]
           : list == CALLS ? rank->calls.start_ns[i]
                           : rank->notes[i].start_ns;
}

static int64_t end_of(const struct inq_rank *rank, int list, size_t i)
{
    int64_t dur_ns = list == EVENTS  ? rank->events.dur_ns[i]
                     : list == CALLS ? rank->calls.dur_ns[i]
                                     : rank->notes[i].dur_ns;
    return start_of(rank, list, i) + dur_ns;
}

static void add(struct search *s, int list, size_t i)
{
    struct inq_outliers *found = s->found;
    switch (list) {
    case EVENTS:
        found->events[found->n_events++] = (uint32_t)i;
        break;
    case CALLS:
        found->calls[found->n_calls++] = (uint32_t)i;
        break;
    default:
        found->notes[found->n_notes++] = (uint32_t)i;
        break;
    }
}

/* Puts a start among the earliest (sign 1) or the latest (-1); `n` are held, at most most + 1. */
static void keep_extreme(int64_t *held, size_t n, size_t most, int64_t start_ns, int sign)
{
    if (n > most) {
        if (sign * start_ns >= sign * held[most]) {
            return;
        }
        n = most;
    }
    while (n > 0 && sign * start_ns < sign * held[n - 1]) {
        held[n] = held[n - 1];
        n--;
    }
    held[n] = start_ns;
}

static void find_extremes(struct search *s)
{
    for (int list = 0; list < LISTS; list++) {
        for (size_t i = 0; i < length_of(s->rank, list); i++) {
            int64_t start_ns = start_of(s->rank, list, i);
            int64_t end_ns = end_of(s->rank, list, i);
            keep_extreme(s->first, s->n, s->most, start_ns, 1);
            keep_extreme(s->last, s->n, s->most, start_ns, -1);
            s->end_ns = s->n == 0 || end_ns > s->end_ns ? end_ns : s->end_ns;
            s->n++;
        }
    }
}

/* The capture is what lies about the rows that remain without the `most` outermost on each side. */
static void find_capture(struct search *s)
{
    int64_t inner_from_ns = s->first[s->most];
    int64_t inner_to_ns = s->last[s->most];
    int64_t span_ns = inner_to_ns - inner_from_ns;
    span_ns = span_ns > LEAST_SPAN_NS ? span_ns : LEAST_SPAN_NS;
    s->from_ns = inner_from_ns;
    s->to_ns = inner_to_ns;
    for (size_t i = 0; i < s->most; i++) {
        bool near_first = (inner_from_ns - s->first[i]) / FAR_START <= span_ns;
        bool near_last = (s->last[i] - inner_to_ns) / FAR_START <= span_ns;
        s->from_ns = near_first && s->first[i] < s->from_ns ? s->first[i] : s->from_ns;
        s->to_ns = near_last && s->last[i] > s->to_ns ? s->last[i] : s->to_ns;
    }
    s->span_ns = s->to_ns - s->from_ns > LEAST_SPAN_NS ? s->to_ns - s->from_ns : LEAST_SPAN_NS;
}

static bool starts_inside(const struct search *s, int list, size_t i)
{
    int64_t start_ns = start_of(s->rank, list, i);
    return start_ns >= s->from_ns && start_ns <= s->to_ns;
}

/* Whether what comes next on the same stream or thread begins before half of the row is over: both
 * do one thing at a time. Ranges nest, so they do not tell. */
static bool is_overtaken(const struct inq_rank *rank, int list, size_t i)
{
    const uint32_t *lane = list == EVENTS ? rank->events.lane : rank->calls.lane;
    int64_t middle_ns = start_of(rank, list, i) / 2 + end_of(rank, list, i) / 2;
    if (list == NOTES) {
        return false;
    }
    size_t n = length_of(rank, list);
    size_t next = i + 1;
    while (list == CALLS && next < n && lane[next] != lane[i]) {
        next++;
    }
    return next < n && lane[next] == lane[i] && start_of(rank, list, next) < middle_ns;
}

/* Rows of the capture that end more than `spans` of its lengths after it. */
static size_t reaching(const struct search *s, int64_t spans)
{
    size_t n = 0;
    for (int list = 0; list < LISTS; list++) {
        for (size_t i = 0; i < length_of(s->rank, list); i++) {
            n += starts_inside(s, list, i) &&
                 (end_of(s->rank, list, i) - s->to_ns) / spans > s->span_ns;
        }
    }
    return n;
}

static bool is_outlier(const struct search *s, int list, size_t i, size_t far_ends)
{
    int64_t beyond_ns = end_of(s->rank, list, i) - s->to_ns;
    if (!starts_inside(s, list, i)) {
        return true;
    }
    if (beyond_ns <= s->span_ns) {
        return false;
    }
    /* others that last as long bear it out: the wait for it, the step it lies in */
    bool alone = far_ends == 1 && beyond_ns / FAR_END > s->span_ns;
    return alone || is_overtaken(s->rank, list, i);
}

void inq_outliers_find(const struct inq_rank *rank, struct inq_outliers *found)
{
    struct search s = {.rank = rank, .found = found};
    size_t n = rank->events.n + rank->calls.n + rank->n_notes;
    *found = (struct inq_outliers){0};
    s.most = n / ROWS_PER_ONE + 1;
    s.most = s.most < INQ_MAX_OUTLIERS ? s.most : INQ_MAX_OUTLIERS;
    if (n < MIN_ROWS) {
        return;
    }
    find_extremes(&s);
    find_capture(&s);
    if (s.first[0] == s.from_ns && s.last[0] == s.to_ns && s.end_ns - s.to_ns <= s.span_ns) {
        return; /* as nearly always */
    }
    size_t far_ends = reaching(&s, FAR_END);
    if (reaching(&s, 1) > s.most) {
        s.span_ns = INT64_MAX; /* so many are none */
    }
    for (int list = 0; list < LISTS; list++) {
        for (size_t i = 0; i < length_of(rank, list); i++) {
            if (is_outlier(&s, list, i, far_ends)) {
                add(&s, list, i);
            }
        }
    }
}
