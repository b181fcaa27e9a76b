/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks put right by the ends of matched synchronizing collectives. All members of one end
 * together, so the median of the members' ends is taken for the true end, every clock gets the line
 * through what it shows at its ranks' ends, and this repeats until it rests. What is left, as each
 * rank's median distance from the true ends, is how far its times can be believed. */
#include "trace/clock/clock.h"

#include "base/arena.h"
#include "base/mem.h"
#include "base/par.h"
#include "base/sort.h"
#include "base/stats.h"
#include "trace/build/build.h"
#include "trace/trace.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_ROUNDS = 8,
    MAX_ANCHORS = 4096, /* of one clock: more do not make its line better */
    CHUNK = 256,        /* collectives of one task */
    FEW_MEMBERS = 64,   /* whose ends fit on the stack */
    FEW_ANCHORS = 12    /* a clock that was set may hide behind the median of so few */
};

/* What is not an offset: ends of one collective may lie so far apart in the same way every time. */
static const int64_t LEAST_OFFSET_NS = 20000;
static const int64_t REST_NS = 500;

/* One member of a synchronizing collective. Its start is what was read from the clock; it ends as
 * much later as its GPU measured. */
struct anchor {
    uint32_t end;  /* index into `end_ns` */
    uint32_t rank; /* index into inq_trace.ranks */
    int64_t raw_ns, dur_ns;
};

struct clocks {
    struct inq_trace *trace;
    int jobs;
    size_t n_sources;
    struct inq_clock *clock; /* [n_sources] estimates */
    size_t n_ends;
    int64_t *end_ns;      /* [n_ends] consensus, in common time */
    uint32_t *collective; /* [n_ends] */
    bool *across;         /* [n_ends] members read several clocks */
    size_t *start;        /* [n_sources + 1] into anchors */
    struct anchor *anchors;
    int64_t *moved_ns; /* [n_sources] in the last round */
};

static bool is_anchor(const struct inq_collective *c)
{
    return c->n_members >= 2 && inq_coll_synchronizes(c->kind);
}

static uint32_t source_of(const struct inq_trace *trace, const struct inq_member *member)
{
    return trace->ranks[member->rank].clock.source;
}

static int64_t raw_start(const struct inq_trace *trace, struct inq_member member)
{
    return trace->ranks[member.rank].events.start_ns[member.event];
}

static int64_t length(const struct inq_trace *trace, struct inq_member member)
{
    return trace->ranks[member.rank].events.dur_ns[member.event];
}

/* ---- set-up ---------------------------------------------------------------------------------- */

/* Every how manyth collective will do. Counts all of them for their ranks. */
static size_t find_stride(struct clocks *k)
{
    const struct inq_trace *trace = k->trace;
    size_t most = 0;
    for (size_t i = 0; i < trace->n_collectives; i++) {
        const struct inq_collective *c = &trace->collectives[i];
        for (uint32_t j = 0; is_anchor(c) && j < c->n_members; j++) {
            const struct inq_member *member = &trace->members[c->first_member + j];
            size_t n = ++k->start[source_of(trace, member) + 1];
            most = n > most ? n : most;
            trace->ranks[member->rank].clock.anchors++;
        }
    }
    memset(k->start, 0, (k->n_sources + 1) * sizeof *k->start);
    return most / MAX_ANCHORS + 1;
}

static void choose_ends(struct clocks *k)
{
    const struct inq_trace *trace = k->trace;
    size_t stride = find_stride(k);
    size_t seen = 0;
    for (size_t i = 0; i < trace->n_collectives; i++) {
        const struct inq_collective *c = &trace->collectives[i];
        if (!is_anchor(c) || seen++ % stride != 0) {
            continue;
        }
        uint32_t first = source_of(trace, &trace->members[c->first_member]);
        bool across = false;
        for (uint32_t j = 0; j < c->n_members; j++) {
            uint32_t source = source_of(trace, &trace->members[c->first_member + j]);
            across = across || source != first;
            k->start[source + 1]++;
        }
        k->across[k->n_ends] = across;
        k->collective[k->n_ends++] = (uint32_t)i;
    }
    for (size_t s = 0; s < k->n_sources; s++) {
        k->start[s + 1] += k->start[s];
    }
}

static void fill_anchors(struct clocks *k, size_t *next)
{
    const struct inq_trace *trace = k->trace;
    for (size_t e = 0; e < k->n_ends; e++) {
        const struct inq_collective *c = &trace->collectives[k->collective[e]];
        for (uint32_t j = 0; j < c->n_members; j++) {
            struct inq_member member = trace->members[c->first_member + j];
            k->anchors[next[source_of(trace, &member)]++] = (struct anchor){
                (uint32_t)e, member.rank, raw_start(trace, member), length(trace, member)};
        }
    }
}

static int set_up(struct clocks *k, struct inq_err *err)
{
    size_t n = k->n_sources;
    k->start = inq_mem_zalloc(n + 1, sizeof *k->start);
    k->moved_ns = inq_mem_zalloc(n + 1, sizeof *k->moved_ns);
    k->collective = inq_mem_alloc((k->trace->n_collectives + 1) * sizeof *k->collective);
    k->across = inq_mem_alloc((k->trace->n_collectives + 1) * sizeof *k->across);
    size_t *next = inq_mem_alloc((n + 1) * sizeof *next);
    bool ok = k->start != NULL && k->moved_ns != NULL && k->collective != NULL &&
              k->across != NULL && next != NULL;
    if (ok) {
        choose_ends(k);
        memcpy(next, k->start, (n + 1) * sizeof *next);
        k->end_ns = inq_mem_zalloc(k->n_ends + 1, sizeof *k->end_ns);
        k->anchors = inq_mem_alloc((k->start[n] + 1) * sizeof *k->anchors);
        ok = k->end_ns != NULL && k->anchors != NULL;
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
    inq_mem_free(k->across);
    inq_mem_free(k->start);
    inq_mem_free(k->anchors);
    inq_mem_free(k->moved_ns);
}

/* ---- estimation ------------------------------------------------------------------------------ */

static int agree_on_end(struct clocks *k, size_t e, struct inq_err *err)
{
    const struct inq_trace *trace = k->trace;
    const struct inq_collective *c = &trace->collectives[k->collective[e]];
    int64_t few[FEW_MEMBERS];
    int64_t *ends = few;
    if (c->n_members > FEW_MEMBERS) {
        ends = inq_mem_alloc(c->n_members * sizeof *ends);
        if (ends == NULL) {
            return inq_err_set(err, INQ_NOMEM, "out of memory for %u ends", c->n_members);
        }
    }
    for (uint32_t j = 0; j < c->n_members; j++) {
        struct inq_member member = trace->members[c->first_member + j];
        const struct inq_clock *clock = &k->clock[source_of(trace, &member)];
        ends[j] = inq_clock_common_ns(clock, raw_start(trace, member)) + length(trace, member);
    }
    k->end_ns[e] = inq_median_i64(ends, c->n_members);
    if (ends != few) {
        inq_mem_free(ends);
    }
    return INQ_OK;
}

static int agree_on_chunk(void *ctx, size_t chunk, struct inq_err *err)
{
    struct clocks *k = ctx;
    int code = INQ_OK;
    for (size_t e = chunk * CHUNK; code == INQ_OK && e < k->n_ends && e < (chunk + 1) * CHUNK;
         e++) {
        code = agree_on_end(k, e, err);
    }
    return code;
}

static int find_consensus(struct clocks *k, struct inq_err *err)
{
    return inq_par_for(k->n_ends / CHUNK + 1, k->jobs, agree_on_chunk, k, err);
}

static int64_t disagreement(const struct clocks *k, const struct inq_clock *clock,
                            const struct anchor *a)
{
    return k->end_ns[a->end] - inq_clock_common_ns(clock, a->raw_ns) - a->dur_ns;
}

/* Puts one clock's line through the true ends of what its ranks had with others. */
static int fit_source(void *ctx, size_t s, struct inq_err *err)
{
    struct clocks *k = ctx;
    struct inq_clock *clock = &k->clock[s];
    size_t most = k->start[s + 1] - k->start[s];
    struct inq_clock_point *points = inq_mem_alloc((most + 1) * sizeof *points);
    int64_t *off_ns = inq_mem_alloc((most + 1) * sizeof *off_ns);
    struct inq_clock fitted = {0};
    bool possible = false;
    size_t n = 0;
    int code = points == NULL || off_ns == NULL
                   ? inq_err_set(err, INQ_NOMEM, "out of memory for %zu ends", most)
                   : INQ_OK;
    for (size_t i = k->start[s]; code == INQ_OK && i < k->start[s + 1]; i++) {
        const struct anchor *a = &k->anchors[i];
        if (k->across[a->end]) {
            off_ns[n] = llabs(disagreement(k, clock, a));
            points[n++] =
                (struct inq_clock_point){a->raw_ns, k->end_ns[a->end] - a->dur_ns - a->raw_ns};
        }
    }
    k->moved_ns[s] = 0;
    if (code == INQ_OK && n > 0) {
        k->moved_ns[s] = inq_lower_median_i64(off_ns, n);
        code = inq_clock_fit(points, n, &fitted, &possible, err);
    }
    if (possible) {
        inq_mem_free(clock->later);
        *clock = fitted;
    }
    inq_mem_free(points);
    inq_mem_free(off_ns);
    return code;
}

/* Until the true ends lie no closer to what the clocks show. */
static int estimate(struct clocks *k, struct inq_err *err)
{
    int64_t before_ns = INT64_MAX;
    int code = find_consensus(k, err);
    for (int round = 0; code == INQ_OK && round < MAX_ROUNDS; round++) {
        code = inq_par_for(k->n_sources, k->jobs, fit_source, k, err);
        if (code == INQ_OK) {
            code = find_consensus(k, err);
        }
        int64_t off_ns = 0;
        for (size_t s = 0; s < k->n_sources; s++) {
            off_ns = k->moved_ns[s] > off_ns ? k->moved_ns[s] : off_ns;
        }
        if (off_ns >= before_ns - REST_NS) {
            break;
        }
        before_ns = off_ns;
    }
    return code;
}

/* ---- decision -------------------------------------------------------------------------------- */

/* By what a clock differs from common time at `common_ns`, and how fast it gains on it. */
static int64_t added_at(const struct inq_clock *clock, int64_t common_ns)
{
    int64_t raw_ns = common_ns - clock->offset_ns;
    return inq_clock_common_ns(clock, raw_ns) - raw_ns;
}

static void turn(int64_t *offset_ns, int64_t *drift_ppb, int64_t from_ns, int64_t middle_ns,
                 int64_t ppb, int64_t ref_ns)
{
    double away = (double)(from_ns + *offset_ns - ref_ns) * (double)ppb / 1e9;
    *offset_ns -= middle_ns + (int64_t)away;
    *drift_ppb -= ppb;
}

/* Most ranks should not move: the median offset and the median drift become zero. */
static int center(struct clocks *k, struct inq_err *err)
{
    const struct inq_trace *trace = k->trace;
    int64_t *values = inq_mem_alloc((trace->n_ranks + 1) * sizeof *values);
    if (values == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu clocks", trace->n_ranks);
    }
    int64_t ref_ns = k->end_ns[k->n_ends / 2];
    int64_t middle[2]; /* drift, offset */
    for (int what = 0; what < 2; what++) {
        size_t n = 0;
        for (size_t r = 0; r < trace->n_ranks; r++) {
            uint32_t s = trace->ranks[r].clock.source;
            if (k->start[s + 1] > k->start[s]) {
                values[n++] = what == 0 ? k->clock[s].drift_ppb : added_at(&k->clock[s], ref_ns);
            }
        }
        middle[what] = inq_lower_median_i64(values, n);
    }
    inq_mem_free(values);
    for (size_t s = 0; s < k->n_sources; s++) {
        struct inq_clock *clock = &k->clock[s];
        for (size_t i = 0; i < clock->n_later; i++) {
            struct inq_clock_piece *piece = &clock->later[i];
            turn(&piece->offset_ns, &piece->drift_ppb, piece->from_ns, middle[1], middle[0],
                 ref_ns);
        }
        turn(&clock->offset_ns, &clock->drift_ppb, clock->ref_ns, middle[1], middle[0], ref_ns);
    }
    return find_consensus(k, err); /* it moves along */
}

/* Distances of anchors from the true ends, of those of `rank` only unless that is INQ_NONE. */
static size_t list_distances(const struct clocks *k, size_t s, uint32_t rank, bool across,
                             int64_t *distances)
{
    size_t n = 0;
    for (size_t i = k->start[s]; i < k->start[s + 1]; i++) {
        const struct anchor *a = &k->anchors[i];
        if ((rank == INQ_NONE || a->rank == rank) && (!across || k->across[a->end])) {
            distances[n++] = llabs(disagreement(k, &k->clock[s], a));
        }
    }
    return n;
}

/* What alignment leaves: the median distance from the true ends, of collectives with other clocks
 * where there are any; the largest where there are too few for a median. -1: there are none. */
static int64_t residual(const struct clocks *k, size_t s, uint32_t rank, int64_t *scratch)
{
    size_t n = list_distances(k, s, rank, true, scratch);
    n = n > 0 ? n : list_distances(k, s, rank, false, scratch);
    if (n == 0) {
        return -1;
    }
    size_t at = n < FEW_ANCHORS ? n - 1 : (n - 1) / 2;
    inq_select_i64(scratch, n, at);
    return scratch[at];
}

/* Leaves a clock as it is unless the evidence against it beats the noise. */
static void settle(struct clocks *k, size_t s, int64_t *scratch)
{
    struct inq_clock *clock = &k->clock[s];
    int64_t noise_ns = residual(k, s, INQ_NONE, scratch);
    int64_t least_ns = LEAST_OFFSET_NS > 4 * noise_ns ? LEAST_OFFSET_NS : 4 * noise_ns;
    int64_t most_ns = 0;
    for (size_t i = k->start[s]; i < k->start[s + 1]; i++) {
        int64_t raw_ns = k->anchors[i].raw_ns;
        int64_t added_ns = llabs(inq_clock_common_ns(clock, raw_ns) - raw_ns);
        most_ns = added_ns > most_ns ? added_ns : most_ns;
    }
    if (most_ns <= least_ns) {
        inq_mem_free(clock->later);
        *clock = (struct inq_clock){0};
    }
}

/* Gives every rank its clock. */
static int hand_out(struct clocks *k, int64_t *scratch, struct inq_err *err)
{
    struct inq_trace *trace = k->trace;
    struct inq_clock_piece **kept =
        inq_arena_array(trace->arena, k->n_sources, sizeof(struct inq_clock_piece *));
    if (kept == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu clocks", k->n_sources);
    }
    for (size_t s = 0; s < k->n_sources; s++) {
        struct inq_clock *clock = &k->clock[s];
        struct inq_clock_piece *later =
            inq_arena_array(trace->arena, clock->n_later, sizeof *later);
        if (later == NULL) {
            return inq_err_set(err, INQ_NOMEM, "out of memory for %zu clocks", k->n_sources);
        }
        if (clock->n_later > 0) {
            memcpy(later, clock->later, clock->n_later * sizeof *later);
        }
        kept[s] = later;
    }
    for (uint32_t r = 0; r < trace->n_ranks; r++) {
        struct inq_clock *own = &trace->ranks[r].clock;
        uint32_t source = own->source;
        uint32_t anchors = own->anchors;
        *own = k->clock[source];
        own->source = source;
        own->anchors = anchors;
        own->aligned = true;
        own->later = kept[source];
        own->residual_ns = residual(k, source, r, scratch);
    }
    return INQ_OK;
}

/* ---- shifting -------------------------------------------------------------------------------- */

/* A moment in common time, never before the one before it: what lies between the moment a clock was
 * set and the next end that shows it is shifted by the wrong piece. */
static int64_t shift(const struct inq_clock *clock, int64_t raw_ns, int64_t before_ns)
{
    int64_t common_ns = inq_clock_common_ns(clock, raw_ns);
    return common_ns > before_ns ? common_ns : before_ns;
}

static int shift_rank(void *ctx, size_t r, struct inq_err *err)
{
    (void)err;
    struct inq_trace *trace = ((struct clocks *)ctx)->trace;
    struct inq_rank *rank = &trace->ranks[r];
    const struct inq_clock *clock = &rank->clock;
    if (clock->offset_ns == 0 && clock->drift_ppb == 0 && clock->n_later == 0) {
        return INQ_OK;
    }
    int64_t before_ns = INT64_MIN;
    for (size_t i = 0; i < rank->events.n; i++) {
        bool same_lane = i > 0 && rank->events.lane[i] == rank->events.lane[i - 1];
        before_ns = same_lane ? before_ns : INT64_MIN;
        before_ns = shift(clock, rank->events.start_ns[i], before_ns);
        rank->events.start_ns[i] = before_ns;
    }
    before_ns = INT64_MIN;
    for (size_t i = 0; i < rank->calls.n; i++) {
        before_ns = shift(clock, rank->calls.start_ns[i], before_ns);
        rank->calls.start_ns[i] = before_ns;
    }
    before_ns = INT64_MIN;
    for (size_t i = 0; i < rank->n_notes; i++) {
        before_ns = shift(clock, rank->notes[i].start_ns, before_ns);
        rank->notes[i].start_ns = before_ns;
    }
    for (size_t i = 0; i < rank->n_comms; i++) {
        if (rank->comms[i].start_ns != INQ_TIME_NONE) {
            rank->comms[i].start_ns = inq_clock_common_ns(clock, rank->comms[i].start_ns);
        }
    }
    if (rank->first_ns != INQ_TIME_NONE) {
        rank->first_ns = inq_clock_common_ns(clock, rank->first_ns);
        rank->last_ns = inq_clock_common_ns(clock, rank->last_ns);
    }
    for (size_t k = 0; k < rank->n_totals; k++) {
        int64_t *last_ns = &rank->totals[k].last_start_ns;
        *last_ns = *last_ns != INQ_TIME_NONE ? inq_clock_common_ns(clock, *last_ns) : *last_ns;
    }
    for (size_t s = 0; s < trace->n_steps; s++) {
        struct inq_step *step = &trace->steps[s];
        if (step->rank_start_ns[r] != INQ_TIME_NONE) {
            step->rank_start_ns[r] = inq_clock_common_ns(clock, step->rank_start_ns[r]);
            step->rank_end_ns[r] = inq_clock_common_ns(clock, step->rank_end_ns[r]);
        }
    }
    return INQ_OK;
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

static int decide(struct clocks *k, struct inq_err *err)
{
    int64_t *scratch = inq_mem_alloc((k->start[k->n_sources] + 1) * sizeof *scratch);
    if (scratch == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu clocks", k->n_sources);
    }
    for (size_t s = 0; s < k->n_sources; s++) {
        settle(k, s, scratch);
    }
    int code = find_consensus(k, err);
    if (code == INQ_OK) {
        code = hand_out(k, scratch, err);
    }
    inq_mem_free(scratch);
    return code;
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

static int align_all(struct clocks *k, struct inq_err *err)
{
    int code = set_up(k, err);
    if (code != INQ_OK || k->n_ends == 0) {
        return code;
    }
    code = estimate(k, err);
    code = code == INQ_OK ? center(k, err) : code;
    code = code == INQ_OK ? decide(k, err) : code;
    if (code != INQ_OK) {
        return code;
    }
    (void)inq_par_for(k->trace->n_ranks, k->jobs, shift_rank, k, NULL);
    widen_steps(k->trace);
    return inq_collectives_sort(k->trace, err);
}

int inq_clock_align(struct inq_trace *trace, struct inq_clocks *clocks, bool align, int jobs,
                    struct inq_err *err)
{
    struct clocks k = {.trace = trace, .jobs = jobs, .n_sources = clocks->n, .clock = clocks->at};
    int code = align && !is_aligned(trace) ? align_all(&k, err) : INQ_OK;
    release(&k);
    for (size_t s = 0; clocks->at != NULL && s < clocks->n; s++) {
        inq_mem_free(clocks->at[s].later);
    }
    inq_mem_free(clocks->at);
    *clocks = (struct inq_clocks){0};
    return code;
}

int64_t inq_clock_doubt_ns(const struct inq_trace *trace, uint32_t a, uint32_t b)
{
    const struct inq_clock *x = &trace->ranks[a].clock;
    const struct inq_clock *y = &trace->ranks[b].clock;
    if (x->source == y->source || !x->aligned || !y->aligned) {
        return (int64_t)2 * INQ_ENDS_RESOLUTION_NS;
    }
    if (x->residual_ns < 0 || y->residual_ns < 0) {
        return INT64_MAX;
    }
    int64_t worse_ns = x->residual_ns > y->residual_ns ? x->residual_ns : y->residual_ns;
    return INQ_DOUBT_RESIDUALS * worse_ns + (int64_t)2 * INQ_ENDS_RESOLUTION_NS;
}

int64_t inq_arrival_doubt_ns(const struct inq_trace *trace, const struct inq_collective *c,
                             uint32_t last, int64_t arrival_ns)
{
    int64_t most_ns = 0;
    for (uint32_t i = 0; i < c->n_members; i++) {
        struct inq_member member = trace->members[c->first_member + i];
        int64_t doubt_ns = inq_clock_doubt_ns(trace, member.rank, last);
        if (doubt_ns == INT64_MAX) {
            return INT64_MAX;
        }
        int64_t later_ns = raw_start(trace, member) - arrival_ns + doubt_ns;
        most_ns = later_ns > most_ns ? later_ns : most_ns;
    }
    return most_ns;
}
