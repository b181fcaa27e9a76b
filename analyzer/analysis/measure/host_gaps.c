/* SPDX-License-Identifier: Apache-2.0 */
/* Idle gaps of one rank: one walk over its GPU work in order of start. */
#include "analysis/measure/host_gaps.h"

#include "analysis/measure/row_merge.h"

#include "trace/trace.h"

/* A range must fill this part of a gap to be named as what the host did. */
#define FILLS 0.5

/* ---- all gaps -------------------------------------------------------------------------------- */

static struct inq_host_gap gap_before(const struct inq_rank *rank, int64_t begin_ns, uint32_t row)
{
    const struct inq_calls *calls = &rank->calls;
    uint32_t call = rank->events.call[row];
    bool known = call < calls->n;

    return (struct inq_host_gap){.begin_ns = begin_ns,
                                 .end_ns = rank->events.start_ns[row],
                                 .launch_ns = known ? calls->start_ns[call] : INQ_TIME_NONE,
                                 .lane = known ? calls->lane[call] : rank->events.lane[row],
                                 .late = known &&
                                         calls->start_ns[call] + calls->dur_ns[call] > begin_ns};
}

/* ---- the longest ones ------------------------------------------------------------------------ */

struct walk {
    const struct inq_rank *rank;
    const struct inq_step_stat *cells; /* the rank's, by step */
    size_t n_steps, first_step;
    size_t step; /* cells before it lie behind the walk */
    struct inq_host_gaps *gaps;
    size_t steps[INQ_HOST_GAPS]; /* in which each kept gap lies */
    size_t late_step;            /* of the late gaps walked last, and the longest of them there */
    int64_t late_ns;
};

static int64_t overlap_ns(int64_t a, int64_t b, int64_t c, int64_t d)
{
    int64_t from = a > c ? a : c;
    int64_t to = b < d ? b : d;

    return to > from ? to - from : 0;
}

/* The step whose window holds the end of the gap; n_steps when none does. */
static size_t step_of(struct walk *w, int64_t end_ns)
{
    while (w->step < w->n_steps &&
           (!w->cells[w->step].valid || w->cells[w->step].end_ns < end_ns)) {
        w->step++;
    }
    bool inside =
        w->step < w->n_steps && w->step >= w->first_step && w->cells[w->step].start_ns < end_ns;
    return inside ? w->step : w->n_steps;
}

static int64_t length_of(const struct inq_host_gap *gap)
{
    return gap->end_ns - gap->begin_ns;
}

/* Keeps the longest gap of each step, and of these the longest; the order is that of the steps. */
static void keep(struct walk *w, const struct inq_host_gap *gap, size_t step)
{
    struct inq_host_gaps *gaps = w->gaps;
    size_t drop = gaps->n;

    if (gaps->n > 0 && w->steps[gaps->n - 1] == step) {
        drop = gaps->n - 1;
    } else if (gaps->n == INQ_HOST_GAPS) {
        drop = 0;
        for (size_t i = 1; i < gaps->n; i++) {
            drop = length_of(&gaps->at[i]) < length_of(&gaps->at[drop]) ? i : drop;
        }
    }
    if (drop < gaps->n) {
        if (length_of(&gaps->at[drop]) >= length_of(gap)) {
            return;
        }
        for (size_t i = drop; i + 1 < gaps->n; i++) {
            gaps->at[i] = gaps->at[i + 1];
            w->steps[i] = w->steps[i + 1];
        }
        gaps->n--;
    }
    w->steps[gaps->n] = step;
    gaps->at[gaps->n++] = *gap;
}

/* Keeps the longest late gap of each step; past the last one with a step that there is not. */
static void sum_longest(struct walk *w, int64_t late_ns, size_t step)
{
    if (step != w->late_step) {
        w->gaps->longest_ns += w->late_ns;
        w->late_ns = 0;
        w->late_step = step;
    }
    w->late_ns = late_ns > w->late_ns ? late_ns : w->late_ns;
}

static void take_gap(struct walk *w, const struct inq_host_gap *gap)
{
    size_t step = step_of(w, gap->end_ns);

    if (step == w->n_steps) {
        return;
    }
    w->gaps->idle_ns += length_of(gap);
    w->gaps->late_ns += gap->late ? length_of(gap) : 0;
    sum_longest(w, gap->late ? length_of(gap) : 0, step);
    keep(w, gap, step);
}

/* Calls of one sort that together fill most of a gap: an allocator that is out of memory frees all
 * that it keeps, segment by segment. Launches are what any host does. */
static inq_str what_repeats(const struct inq_trace *trace, const struct inq_rank *rank,
                            const struct inq_host_gap *gap, int64_t least_ns)
{
    const struct inq_calls *calls = &rank->calls;
    int64_t sum_ns[INQ_HOST_LAUNCH + 1] = {0};
    int64_t longest_ns[INQ_HOST_LAUNCH + 1] = {0};
    inq_str longest[INQ_HOST_LAUNCH + 1] = {0};

    for (size_t i = 0; i < calls->n && calls->start_ns[i] < gap->end_ns; i++) {
        int64_t ns = overlap_ns(calls->start_ns[i], calls->start_ns[i] + calls->dur_ns[i],
                                gap->begin_ns, gap->end_ns);
        if (ns == 0) {
            continue;
        }
        enum inq_host_kind kind = inq_host_kind_of(inq_trace_str(trace, calls->name[i]));
        sum_ns[kind] += ns;
        if (ns > longest_ns[kind]) {
            longest_ns[kind] = ns;
            longest[kind] = calls->name[i];
        }
    }
    for (int kind = INQ_HOST_DATA; kind < INQ_HOST_LAUNCH; kind++) {
        if (sum_ns[kind] > least_ns) {
            return longest[kind];
        }
    }
    return 0;
}

inq_str inq_host_gap_running(const struct inq_trace *trace, const struct inq_rank *rank,
                             const struct inq_host_gap *gap)
{
    int64_t to_ns = gap->launch_ns > gap->begin_ns ? gap->launch_ns : gap->end_ns;
    int64_t least_ns = (int64_t)((double)(to_ns - gap->begin_ns) * FILLS);
    int64_t best_ns = 0;
    inq_str best = 0;

    for (size_t i = 0; i < rank->n_notes && rank->notes[i].start_ns < to_ns; i++) {
        const struct inq_note *note = &rank->notes[i];
        int64_t in_ns =
            overlap_ns(note->start_ns, note->start_ns + note->dur_ns, gap->begin_ns, to_ns);
        if (!note->on_gpu && note->kind != INQ_NOTE_STEP && in_ns > least_ns &&
            (best == 0 || note->dur_ns < best_ns)) {
            best = note->name;
            best_ns = note->dur_ns;
        }
    }
    for (size_t i = 0; i < rank->calls.n && rank->calls.start_ns[i] < gap->end_ns; i++) {
        int64_t end_ns = rank->calls.start_ns[i] + rank->calls.dur_ns[i];
        if (overlap_ns(rank->calls.start_ns[i], end_ns, gap->begin_ns, gap->end_ns) > least_ns &&
            (best == 0 || rank->calls.dur_ns[i] < best_ns)) {
            best = rank->calls.name[i];
            best_ns = rank->calls.dur_ns[i];
        }
    }
    return best != 0 ? best : what_repeats(trace, rank, gap, least_ns);
}

static void sort_longest_first(struct inq_host_gaps *gaps)
{
    for (size_t i = 1; i < gaps->n; i++) {
        struct inq_host_gap moved = gaps->at[i];
        size_t k = i;
        while (k > 0 && length_of(&gaps->at[k - 1]) < length_of(&moved)) {
            gaps->at[k] = gaps->at[k - 1];
            k--;
        }
        gaps->at[k] = moved;
    }
}

/* All gaps after `reach_ns`, in order of time. */
static int walk_gaps(struct walk *w, int64_t reach_ns, struct inq_err *err)
{
    const struct inq_events *events = &w->rank->events;
    struct inq_row_merge merge;
    uint32_t row;
    int code = inq_row_merge_init(&merge, events, err);

    while (code == INQ_OK && inq_row_merge_next(&merge, &row)) {
        int64_t end_ns = events->start_ns[row] + events->dur_ns[row];
        if (reach_ns != INQ_TIME_NONE && events->start_ns[row] > reach_ns) {
            struct inq_host_gap gap = gap_before(w->rank, reach_ns, row);
            take_gap(w, &gap);
        }
        reach_ns = reach_ns == INQ_TIME_NONE || end_ns > reach_ns ? end_ns : reach_ns;
    }
    inq_row_merge_release(&merge);
    sum_longest(w, 0, w->n_steps);
    return code;
}

int inq_host_gaps_find(const struct inq_trace *trace, const struct inq_step_stats *cells,
                       uint32_t rank, struct inq_host_gaps *gaps, struct inq_err *err)
{
    struct walk w = {.rank = &trace->ranks[rank],
                     .cells = inq_step_stat_at(cells, rank, 0),
                     .n_steps = cells->n_steps,
                     .first_step = cells->first_step,
                     .gaps = gaps};

    *gaps = (struct inq_host_gaps){0};
    int code = walk_gaps(&w, cells->n_steps > 0 ? w.cells[0].start_ns : INQ_TIME_NONE, err);
    sort_longest_first(gaps);
    return code;
}
