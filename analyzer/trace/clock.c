/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks: every rank's offset (and drift, where it shows) from the ends of matched synchronising
 * collectives. All members of one end together, so the median of the members' ends is taken for the
 * true end, each rank moves by the median of its disagreement, and this repeats until it rests. */
#include "trace/assemble.h"

#include "base/mem.h"
#include "base/sort.h"
#include "base/stats.h"
#include "trace/classify.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_ROUNDS = 40, MIN_DRIFT_ANCHORS = 24 };

/* What is not an offset: a few tens of us between hosts lie within the skew of the ends themselves;
 * ranks of one host read one clock, so only gross disagreement counts there. */
static const int64_t OTHER_HOST_NS = 50000;
static const int64_t SAME_HOST_NS = 1000000;
static const int64_t REST_NS = 100;
static const int64_t MIN_DRIFT_SPAN_NS = 1000000000;
static const int64_t MIN_DRIFT_NS = 20000; /* at the end of the span */

struct anchor {
    uint32_t collective; /* index into `ends` */
    int64_t end_ns;      /* raw */
};

struct clocks {
    struct inq_trace *trace;
    size_t n_ends;
    int64_t *end_ns;      /* [n_ends] consensus, in common time */
    uint32_t *collective; /* [n_ends] */
    size_t *start;        /* [n_ranks + 1] into anchors */
    struct anchor *anchors;
    int64_t *scratch;        /* [largest of anchors, members, ranks] */
    struct inq_clock *clock; /* [n_ranks] estimates */
};

static int64_t to_common(const struct inq_clock *clock, int64_t raw_ns)
{
    int64_t drifted = (int64_t)((double)(raw_ns - clock->ref_ns) * (double)clock->drift_ppb / 1e9);
    return raw_ns + clock->offset_ns + drifted;
}

static bool is_anchor(const struct inq_trace *trace, const struct inq_collective *c)
{
    (void)trace;
    return c->n_members >= 2 && inq_coll_synchronises(c->kind);
}

static int64_t raw_end(const struct inq_trace *trace, struct inq_member member)
{
    const struct inq_events *e = &trace->ranks[member.rank].events;
    return e->start_ns[member.event] + e->dur_ns[member.event];
}

/* ---- set-up ---------------------------------------------------------------------------------- */

static void count_anchors(struct clocks *k, size_t *largest)
{
    const struct inq_trace *trace = k->trace;
    for (size_t i = 0; i < trace->n_collectives; i++) {
        const struct inq_collective *c = &trace->collectives[i];
        if (!is_anchor(trace, c)) {
            continue;
        }
        k->collective[k->n_ends++] = (uint32_t)i;
        for (uint32_t j = 0; j < c->n_members; j++) {
            k->start[trace->members[c->first_member + j].rank + 1]++;
        }
        *largest = c->n_members > *largest ? c->n_members : *largest;
    }
    for (size_t r = 0; r < trace->n_ranks; r++) {
        *largest = k->start[r + 1] > *largest ? k->start[r + 1] : *largest;
        k->start[r + 1] += k->start[r];
    }
}

static void fill_anchors(struct clocks *k, size_t *next)
{
    const struct inq_trace *trace = k->trace;
    for (size_t e = 0; e < k->n_ends; e++) {
        const struct inq_collective *c = &trace->collectives[k->collective[e]];
        for (uint32_t j = 0; j < c->n_members; j++) {
            struct inq_member member = trace->members[c->first_member + j];
            k->anchors[next[member.rank]++] = (struct anchor){(uint32_t)e, raw_end(trace, member)};
        }
    }
}

static int set_up(struct clocks *k, const int64_t *offset_ns, struct inq_err *err)
{
    const struct inq_trace *trace = k->trace;
    size_t n = trace->n_ranks;
    size_t largest = n > 0 ? n : 1;
    k->start = inq_mem_zalloc(n + 1, sizeof *k->start);
    k->collective = inq_mem_alloc(trace->n_collectives * sizeof *k->collective);
    k->clock = inq_mem_zalloc(n, sizeof *k->clock);
    size_t *next = inq_mem_alloc((n + 1) * sizeof *next);
    bool ok = k->start != NULL && k->collective != NULL && k->clock != NULL && next != NULL;
    if (ok) {
        count_anchors(k, &largest);
        memcpy(next, k->start, (n + 1) * sizeof *next);
        k->end_ns = inq_mem_zalloc(k->n_ends, sizeof *k->end_ns);
        k->anchors = inq_mem_alloc(k->start[n] * sizeof *k->anchors);
        k->scratch = inq_mem_alloc(largest * sizeof *k->scratch);
        ok = k->end_ns != NULL && k->anchors != NULL && k->scratch != NULL;
    }
    for (size_t r = 0; ok && r < n; r++) {
        k->clock[r].offset_ns = offset_ns == NULL ? 0 : offset_ns[r];
        k->clock[r].ref_ns =
            trace->ranks[r].first_ns == INQ_TIME_NONE ? 0 : trace->ranks[r].first_ns;
    }
    if (ok) {
        fill_anchors(k, next);
    }
    inq_mem_free(next);
    return ok ? INQ_OK : inq_err_set(err, INQ_NOMEM, "out of memory for %zu clocks", n);
}

static void release(struct clocks *k)
{
    inq_mem_free(k->end_ns);
    inq_mem_free(k->collective);
    inq_mem_free(k->start);
    inq_mem_free(k->anchors);
    inq_mem_free(k->scratch);
    inq_mem_free(k->clock);
}

/* ---- estimation ------------------------------------------------------------------------------ */

static void find_consensus(struct clocks *k)
{
    const struct inq_trace *trace = k->trace;
    for (size_t e = 0; e < k->n_ends; e++) {
        const struct inq_collective *c = &trace->collectives[k->collective[e]];
        for (uint32_t j = 0; j < c->n_members; j++) {
            struct inq_member member = trace->members[c->first_member + j];
            k->scratch[j] = to_common(&k->clock[member.rank], raw_end(trace, member));
        }
        k->end_ns[e] = inq_median_i64(k->scratch, c->n_members);
    }
}

/* Median disagreement of a rank with the consensus over anchors [from, to). */
static int64_t disagreement(struct clocks *k, size_t rank, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        const struct anchor *a = &k->anchors[i];
        k->scratch[i - from] = k->end_ns[a->collective] - to_common(&k->clock[rank], a->end_ns);
    }
    return inq_median_i64(k->scratch, to - from);
}

/* Median distance from the consensus: what alignment leaves. */
static int64_t residual(struct clocks *k, size_t rank)
{
    size_t from = k->start[rank];
    size_t n = k->start[rank + 1] - from;
    for (size_t i = 0; i < n; i++) {
        const struct anchor *a = &k->anchors[from + i];
        k->scratch[i] = llabs(k->end_ns[a->collective] - to_common(&k->clock[rank], a->end_ns));
    }
    return n == 0 ? -1 : inq_median_i64(k->scratch, n);
}

static void estimate_offsets(struct clocks *k)
{
    for (int round = 0; round < MAX_ROUNDS; round++) {
        int64_t moved = 0;
        find_consensus(k);
        for (size_t r = 0; r < k->trace->n_ranks; r++) {
            int64_t step = disagreement(k, r, k->start[r], k->start[r + 1]);
            k->clock[r].offset_ns += step;
            moved = llabs(step) > moved ? llabs(step) : moved;
        }
        if (moved <= REST_NS) {
            return;
        }
    }
}

/* Drift shows when a rank's disagreement in the first third of its anchors differs from that in the
 * last third by more than noise. */
static bool estimate_drift(struct clocks *k, size_t rank)
{
    size_t from = k->start[rank];
    size_t to = k->start[rank + 1];
    size_t third = (to - from) / 3;
    if (to - from < MIN_DRIFT_ANCHORS) {
        return false;
    }
    int64_t early_ns = k->anchors[from + third / 2].end_ns;
    int64_t late_ns = k->anchors[to - 1 - third / 2].end_ns;
    int64_t change =
        disagreement(k, rank, to - third, to) - disagreement(k, rank, from, from + third);
    int64_t noise = residual(k, rank);
    if (late_ns - early_ns < MIN_DRIFT_SPAN_NS || llabs(change) < MIN_DRIFT_NS ||
        llabs(change) < noise / 2) {
        return false;
    }
    double ppb = (double)change / (double)(late_ns - early_ns) * 1e9;
    k->clock[rank].drift_ppb += (int64_t)ppb;
    return true;
}

static void estimate_drifts(struct clocks *k)
{
    enum { DRIFT_ROUNDS = 8 };
    for (int round = 0; round < DRIFT_ROUNDS; round++) {
        bool any = false;
        for (size_t r = 0; r < k->trace->n_ranks; r++) {
            any = estimate_drift(k, r) || any;
        }
        if (!any) {
            return;
        }
        estimate_offsets(k);
    }
}

/* ---- decision -------------------------------------------------------------------------------- */

static bool same_host(const struct inq_trace *trace)
{
    for (size_t r = 0; r < trace->n_ranks; r++) {
        if (trace->ranks[r].host == 0 || trace->ranks[r].host != trace->ranks[0].host) {
            return false;
        }
    }
    return true;
}

/* Most ranks should not move: the median offset becomes zero. */
static void center(struct clocks *k)
{
    size_t n = 0;
    for (size_t r = 0; r < k->trace->n_ranks; r++) {
        if (k->start[r + 1] > k->start[r]) {
            k->scratch[n++] = k->clock[r].offset_ns;
        }
    }
    int64_t middle = inq_median_i64(k->scratch, n);
    for (size_t r = 0; r < k->trace->n_ranks; r++) {
        k->clock[r].offset_ns -= middle;
    }
}

static void shift_column(int64_t *column, size_t n, const struct inq_clock *clock)
{
    for (size_t i = 0; i < n; i++) {
        column[i] = to_common(clock, column[i]);
    }
}

static void shift_rank(struct inq_trace *trace, size_t r, const struct inq_clock *clock)
{
    struct inq_rank *rank = &trace->ranks[r];
    shift_column(rank->events.start_ns, rank->events.n, clock);
    shift_column(rank->calls.start_ns, rank->calls.n, clock);
    for (size_t i = 0; i < rank->n_notes; i++) {
        rank->notes[i].start_ns = to_common(clock, rank->notes[i].start_ns);
    }
    if (rank->first_ns != INQ_TIME_NONE) {
        rank->first_ns = to_common(clock, rank->first_ns);
        rank->last_ns = to_common(clock, rank->last_ns);
    }
    for (size_t s = 0; s < trace->n_steps; s++) {
        struct inq_step *step = &trace->steps[s];
        if (step->rank_start_ns[r] != INQ_TIME_NONE) {
            step->rank_start_ns[r] = to_common(clock, step->rank_start_ns[r]);
            step->rank_end_ns[r] = to_common(clock, step->rank_end_ns[r]);
        }
    }
}

static void widen_steps(struct inq_trace *trace)
{
    for (size_t s = 0; s < trace->n_steps; s++) {
        struct inq_step *step = &trace->steps[s];
        bool any = false;
        for (size_t r = 0; r < trace->n_ranks; r++) {
            if (step->rank_start_ns[r] == INQ_TIME_NONE) {
                continue;
            }
            bool earlier = !any || step->rank_start_ns[r] < step->start_ns;
            bool later = !any || step->rank_end_ns[r] > step->end_ns;
            step->start_ns = earlier ? step->rank_start_ns[r] : step->start_ns;
            step->end_ns = later ? step->rank_end_ns[r] : step->end_ns;
            any = true;
        }
    }
}

/* Whether the evidence for this clock beats the noise. */
static bool worth_shifting(struct clocks *k, size_t r, bool one_host)
{
    const struct inq_clock *clock = &k->clock[r];
    int64_t floor_ns = one_host ? SAME_HOST_NS : OTHER_HOST_NS;
    int64_t noise_ns = residual(k, r);
    int64_t least = floor_ns > 4 * noise_ns ? floor_ns : 4 * noise_ns;
    return noise_ns >= 0 && (llabs(clock->offset_ns) > least || clock->drift_ppb != 0);
}

static void decide(struct clocks *k)
{
    struct inq_trace *trace = k->trace;
    bool one_host = same_host(trace);
    for (size_t r = 0; r < trace->n_ranks; r++) {
        bool shift = worth_shifting(k, r, one_host);
        if (!shift) {
            k->clock[r].offset_ns = 0;
            k->clock[r].drift_ppb = 0;
        }
    }
    find_consensus(k);
    for (size_t r = 0; r < trace->n_ranks; r++) {
        struct inq_clock *clock = &k->clock[r];
        clock->aligned = true;
        clock->anchors = (uint32_t)(k->start[r + 1] - k->start[r]);
        clock->residual_ns = residual(k, r);
        trace->ranks[r].clock = *clock;
    }
    for (size_t r = 0; r < trace->n_ranks; r++) {
        if (k->clock[r].offset_ns != 0 || k->clock[r].drift_ppb != 0) {
            shift_rank(trace, r, &k->clock[r]);
        }
    }
    widen_steps(trace);
}

/* Whether all times were aligned before they were written into the files. */
static bool is_aligned(const struct inq_trace *trace)
{
    for (size_t r = 0; r < trace->n_ranks; r++) {
        if (!trace->ranks[r].clock.aligned) {
            return false;
        }
    }
    return true;
}

int inq_clock_align(struct inq_trace *trace, const int64_t *offset_ns, struct inq_err *err)
{
    if (is_aligned(trace)) {
        return INQ_OK;
    }
    struct clocks k = {.trace = trace};
    int code = set_up(&k, offset_ns, err);
    if (code == INQ_OK && k.n_ends > 0) {
        estimate_offsets(&k);
        if (!same_host(trace)) {
            estimate_drifts(&k);
        }
        center(&k);
        find_consensus(&k); /* it moves along */
        decide(&k);
        code = inq_collectives_sort(trace, err);
    }
    release(&k);
    return code;
}
