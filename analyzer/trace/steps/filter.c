/* SPDX-License-Identifier: Apache-2.0 */
/* A trace cut down to some of its steps or to a range of time, in place: columns only ever get
 * shorter. */
#include "inquest/trace.h"

#include "base/arena.h"
#include "base/mem.h"
#include "trace/build/build.h"
#include "trace/trace.h"

#include <string.h>

/* New index of an old one, or INQ_NONE: dropped. */
struct renumber {
    uint32_t *of;
    size_t n;
};

/* What is kept. */
struct selection {
    const struct renumber *steps;
    bool
        by_time; /* what overlaps [from_ns, to_ns), of whatever step; else what is of a step kept */
    int64_t from_ns, to_ns;
    /* NULL: `steps` is for all ranks; else room for those that a rank has whole, and the numbers of
     * all */
    struct renumber *own;
    const int64_t *numbers;
};

static int renumber_init(struct renumber *map, size_t n, struct inq_err *err)
{
    map->of = inq_mem_alloc((n + 1) * sizeof *map->of);
    map->n = n;
    return map->of != NULL ? INQ_OK : inq_err_set(err, INQ_NOMEM, "no memory to select steps");
}

static bool in_range(const struct inq_step *step, struct inq_range range)
{
    return step->number >= range.first && step->number <= range.last;
}

/* An instant at the start of the range is in it. */
static bool overlaps(int64_t start_ns, int64_t dur_ns, int64_t from_ns, int64_t to_ns)
{
    return start_ns < to_ns && (start_ns + dur_ns > from_ns || start_ns == from_ns);
}

static void keep_events(struct inq_events *e, const struct selection *what, struct renumber *moved)
{
    size_t kept = 0;
    for (size_t i = 0; i < e->n; i++) {
        uint32_t step = e->step[i] < what->steps->n ? what->steps->of[e->step[i]] : INQ_NONE;
        bool wanted = what->by_time
                          ? overlaps(e->start_ns[i], e->dur_ns[i], what->from_ns, what->to_ns)
                          : step != INQ_NONE;
        moved->of[i] = INQ_NONE;
        if (wanted) {
            moved->of[i] = (uint32_t)kept;
            inq_events_move(e, i, kept);
            if (step == INQ_NONE && e->label != NULL) {
                e->label[kept] = INQ_NONE; /* part of a step is no pipeline to be modeled */
            }
            e->step[kept++] = step;
        }
    }
    e->n = kept;
}

static void keep_notes(struct inq_rank *rank, int64_t from_ns, int64_t to_ns)
{
    size_t kept = 0;
    for (size_t i = 0; i < rank->n_notes; i++) {
        const struct inq_note *note = &rank->notes[i];
        if (note->start_ns < to_ns && note->start_ns + note->dur_ns > from_ns) {
            rank->notes[kept++] = *note;
        }
    }
    rank->n_notes = kept;
}

static void widen(struct inq_rank *rank, int64_t start_ns, int64_t end_ns)
{
    if (rank->first_ns == INQ_TIME_NONE || start_ns < rank->first_ns) {
        rank->first_ns = start_ns;
    }
    if (rank->last_ns == INQ_TIME_NONE || end_ns > rank->last_ns) {
        rank->last_ns = end_ns;
    }
}

static void find_span(struct inq_rank *rank)
{
    rank->first_ns = INQ_TIME_NONE;
    rank->last_ns = INQ_TIME_NONE;
    for (size_t i = 0; i < rank->events.n; i++) {
        int64_t start_ns = rank->events.start_ns[i];
        widen(rank, start_ns, start_ns + rank->events.dur_ns[i]);
    }
    for (size_t i = 0; i < rank->n_notes; i++) {
        int64_t start_ns = rank->notes[i].start_ns;
        widen(rank, start_ns, start_ns + rank->notes[i].dur_ns);
    }
}

/* The first and last moment of the kept steps on rank `r`; over all ranks where it lacks them. */
static void kept_window(const struct inq_trace *trace, size_t r, int64_t *from_ns, int64_t *to_ns)
{
    *from_ns = INT64_MAX;
    *to_ns = INT64_MIN;
    for (size_t s = 0; s < trace->n_steps; s++) {
        const struct inq_step *step = &trace->steps[s];
        bool own = step->rank_start_ns != NULL && step->rank_end_ns != NULL &&
                   step->rank_start_ns[r] != INQ_TIME_NONE && step->rank_end_ns[r] != INQ_TIME_NONE;
        int64_t start_ns = own ? step->rank_start_ns[r] : step->start_ns;
        int64_t end_ns = own ? step->rank_end_ns[r] : step->end_ns;
        *from_ns = start_ns < *from_ns ? start_ns : *from_ns;
        *to_ns = end_ns > *to_ns ? end_ns : *to_ns;
    }
}

/* Members whose events were dropped go; a collective that had several members and has one left
 * goes too. Collectives are sorted by time and their members are not: those are read from a copy,
 * before what stays of one collective takes the place of another's. */
static void keep_collectives(struct inq_trace *trace, const struct renumber *moved,
                             const struct inq_member *members)
{
    size_t n_members = 0;
    size_t kept = 0;
    for (size_t c = 0; c < trace->n_collectives; c++) {
        struct inq_collective coll = trace->collectives[c];
        uint32_t had = coll.n_members;
        uint32_t first = (uint32_t)n_members;
        for (uint32_t m = 0; m < had; m++) {
            struct inq_member member = members[coll.first_member + m];
            uint32_t event = moved[member.rank].of[member.event];
            if (event != INQ_NONE) {
                trace->members[n_members++] = (struct inq_member){member.rank, event};
            }
        }
        uint32_t has = (uint32_t)n_members - first;
        if (has == 0 || (has == 1 && had > 1)) {
            n_members = first;
            continue;
        }
        coll.first_member = first;
        coll.n_members = has;
        coll.complete = coll.complete && has == had;
        trace->collectives[kept++] = coll;
    }
    trace->n_collectives = kept;
    trace->n_members = n_members;
}

static void count_unmatched(struct inq_trace *trace)
{
    uint64_t comms = 0;
    for (size_t r = 0; r < trace->n_ranks; r++) {
        const struct inq_events *e = &trace->ranks[r].events;
        for (size_t i = 0; i < e->n; i++) {
            comms += e->comm[i] != INQ_NONE;
        }
    }
    trace->unmatched_comms = comms > trace->n_members ? comms - trace->n_members : 0;
}

/* Where times in reports count from: the first moment of the run, whatever is left of it. */
static int64_t origin_of(const struct inq_trace *trace)
{
    int64_t origin_ns = INQ_TIME_NONE;
    for (size_t r = 0; r < trace->n_ranks; r++) {
        int64_t own_ns = trace->ranks[r].first_ns;
        if (own_ns != INQ_TIME_NONE && (origin_ns == INQ_TIME_NONE || own_ns < origin_ns)) {
            origin_ns = own_ns;
        }
    }
    return trace->cut ? trace->origin_ns : origin_ns == INQ_TIME_NONE ? 0 : origin_ns;
}

/* A receive that was posted a step ahead of its send belongs to the step of what is sent: it stays
 * or goes with that. */
static void follow_sends(struct inq_trace *trace)
{
    for (size_t c = 0; c < trace->n_collectives; c++) {
        const struct inq_collective *coll = &trace->collectives[c];
        const struct inq_member *m = &trace->members[coll->first_member];
        if (!inq_coll_is_p2p(coll->kind) || coll->n_members != 2) {
            continue;
        }
        uint32_t *first = &trace->ranks[m[0].rank].events.step[m[0].event];
        uint32_t *second = &trace->ranks[m[1].rank].events.step[m[1].event];
        if (*first < trace->n_steps && *second < trace->n_steps) {
            *first = *second = *first > *second ? *first : *second;
        }
    }
}

static void take_whole(const struct inq_rank *rank, const struct selection *what)
{
    for (size_t s = 0; s < what->steps->n; s++) {
        bool whole = inq_rank_step_is_whole(rank, what->numbers[s]);
        what->own->of[s] = whole ? what->steps->of[s] : INQ_NONE;
    }
}

static void apply(struct inq_trace *trace, const struct selection *what, struct renumber *moved,
                  const struct inq_member *members)
{
    size_t kept = 0;
    trace->origin_ns = origin_of(trace);
    trace->cut = true;
    for (size_t s = 0; s < trace->n_steps; s++) {
        if (what->steps->of[s] != INQ_NONE) {
            trace->steps[kept++] = trace->steps[s];
        }
    }
    trace->n_steps = kept;
    for (size_t r = 0; r < trace->n_ranks; r++) {
        struct inq_rank *rank = &trace->ranks[r];
        struct selection of_rank = *what;
        if (what->own != NULL) {
            take_whole(rank, what);
            of_rank.steps = what->own;
        }
        int64_t from_ns = what->from_ns;
        int64_t to_ns = what->to_ns;
        if (!what->by_time) {
            kept_window(trace, r, &from_ns, &to_ns);
        }
        keep_events(&rank->events, &of_rank, &moved[r]);
        keep_notes(rank, from_ns, to_ns);
        find_span(rank);
    }
    bool had_comms = trace->n_members > 0 || trace->unmatched_comms > 0;
    keep_collectives(trace, moved, members);
    if (had_comms) {
        count_unmatched(trace);
    }
}

/* Cuts the trace down; `what` has everything but the room for the new numbers of its rows. */
static int cut(struct inq_trace *trace, const struct selection *what, struct inq_err *err)
{
    struct renumber *moved = inq_mem_zalloc(trace->n_ranks + 1, sizeof *moved);
    struct inq_member *members = inq_mem_alloc((trace->n_members + 1) * sizeof *members);
    int code = moved != NULL && members != NULL
                   ? INQ_OK
                   : inq_err_set(err, INQ_NOMEM, "no memory to select steps");
    for (size_t r = 0; r < trace->n_ranks && code == INQ_OK; r++) {
        code = renumber_init(&moved[r], trace->ranks[r].events.n, err);
    }
    if (code == INQ_OK) {
        if (trace->n_members > 0) {
            memcpy(members, trace->members, trace->n_members * sizeof *members);
        }
        apply(trace, what, moved, members);
    }
    for (size_t r = 0; moved != NULL && r < trace->n_ranks; r++) {
        inq_mem_free(moved[r].of);
    }
    inq_mem_free(moved);
    inq_mem_free(members);
    return code;
}

int inq_trace_keep_steps(struct inq_trace *trace, struct inq_range range, struct inq_err *err)
{
    struct renumber steps;
    int code = renumber_init(&steps, trace->n_steps, err);
    uint32_t kept = 0;
    follow_sends(trace);
    for (size_t s = 0; code == INQ_OK && s < trace->n_steps; s++) {
        steps.of[s] = in_range(&trace->steps[s], range) ? kept++ : INQ_NONE;
    }
    if (code == INQ_OK && kept == 0) {
        code = inq_err_set(err, INQ_NOT_FOUND, "the run has no such step");
    }
    if (code == INQ_OK) {
        struct selection what = {.steps = &steps};
        code = cut(trace, &what, err);
    }
    inq_mem_free(steps.of);
    return code;
}

/* Whether anything of any rank lies in the range. */
static bool any_in(const struct inq_trace *trace, int64_t from_ns, int64_t to_ns)
{
    for (size_t r = 0; r < trace->n_ranks; r++) {
        const struct inq_events *e = &trace->ranks[r].events;
        for (size_t i = 0; i < e->n; i++) {
            if (overlaps(e->start_ns[i], e->dur_ns[i], from_ns, to_ns)) {
                return true;
            }
        }
    }
    return false;
}

/* Whether all of the step lies in the range, on every rank that has it. */
static bool is_within(const struct inq_trace *trace, const struct inq_step *step, int64_t from_ns,
                      int64_t to_ns)
{
    bool within = step->start_ns >= from_ns && step->end_ns <= to_ns;
    for (size_t r = 0; r < trace->n_ranks && within && step->rank_start_ns != NULL; r++) {
        within = step->rank_start_ns[r] == INQ_TIME_NONE ||
                 (step->rank_start_ns[r] >= from_ns && step->rank_end_ns[r] <= to_ns);
    }
    return within;
}

int inq_trace_keep_time(struct inq_trace *trace, int64_t from_ns, int64_t to_ns,
                        struct inq_err *err)
{
    struct renumber steps;
    int64_t origin_ns = origin_of(trace);
    bool overflow = __builtin_add_overflow(origin_ns, from_ns, &from_ns);
    if (__builtin_add_overflow(origin_ns, to_ns, &to_ns)) {
        to_ns = INT64_MAX;
    }
    if (overflow || !any_in(trace, from_ns, to_ns)) {
        return inq_err_set(err, INQ_NOT_FOUND, "nothing was recorded in this time");
    }
    int code = renumber_init(&steps, trace->n_steps, err);
    uint32_t kept = 0;
    for (size_t s = 0; code == INQ_OK && s < trace->n_steps; s++) {
        bool within = is_within(trace, &trace->steps[s], from_ns, to_ns);
        steps.of[s] = within ? kept++ : INQ_NONE;
    }
    if (code == INQ_OK) {
        struct selection what = {
            .steps = &steps, .by_time = true, .from_ns = from_ns, .to_ns = to_ns};
        code = cut(trace, &what, err);
    }
    inq_mem_free(steps.of);
    return code;
}

/* ---- reduced partials ------------------------------------------------------------------------ */

/* On how many of the ranks that have the step it is whole, and how many those are. */
static size_t count_whole(const struct inq_trace *trace, const struct inq_step *step, size_t *have)
{
    size_t whole = 0;
    *have = 0;
    for (size_t r = 0; r < trace->n_ranks; r++) {
        bool there = step->rank_start_ns != NULL && step->rank_start_ns[r] != INQ_TIME_NONE;
        *have += there;
        whole += there && inq_rank_step_is_whole(&trace->ranks[r], step->number);
    }
    return whole;
}

/* Steps that are whole on every rank that recorded them; where there are none (captures that hardly
 * overlap), those that are on the most. Inferred steps are no recorded ones: none. */
static void choose_whole(const struct inq_trace *trace, struct renumber *steps)
{
    size_t most = 0;
    bool on_all = false;
    uint32_t kept = 0;
    for (size_t s = 0; s < trace->n_steps && !trace->steps_inferred; s++) {
        size_t have = 0;
        size_t whole = count_whole(trace, &trace->steps[s], &have);
        on_all = on_all || (whole > 0 && whole == have);
        most = whole > most ? whole : most;
    }
    for (size_t s = 0; s < trace->n_steps; s++) {
        size_t have = 0;
        size_t whole = count_whole(trace, &trace->steps[s], &have);
        bool wanted = most > 0 && (on_all ? whole == have && have > 0 : whole == most);
        steps->of[s] = wanted ? kept++ : INQ_NONE;
    }
}

/* Sums over (rank, step); `n` of them have a length. */
struct sums {
    double length_ns, class_ns[INQ_CLASS_COUNT];
    size_t n_lengths, n;
};

static void add_total(struct sums *sums, const struct inq_rank *rank,
                      const struct inq_step_total *total)
{
    int64_t length_ns = inq_rank_step_length_ns(rank, total->number);
    sums->n++;
    sums->n_lengths += length_ns >= 0;
    sums->length_ns += length_ns >= 0 ? (double)length_ns : 0.0;
    for (int c = 0; c < INQ_CLASS_COUNT; c++) {
        sums->class_ns[c] += (double)total->class_ns[c];
    }
}

static int64_t close_sums(const struct sums *sums, int64_t class_ns[INQ_CLASS_COUNT])
{
    for (int c = 0; c < INQ_CLASS_COUNT; c++) {
        class_ns[c] = sums->n > 0 ? (int64_t)(sums->class_ns[c] / (double)sums->n) : 0;
    }
    return sums->n_lengths > 0 ? (int64_t)(sums->length_ns / (double)sums->n_lengths) : -1;
}

/* What is said of the steps that go. */
static int describe(struct inq_trace *trace, const struct renumber *steps, struct inq_err *err)
{
    struct inq_reduced *reduced = inq_arena_alloc(trace->arena, sizeof *reduced);
    struct sums all = {0};
    struct sums whole = {0};
    if (reduced == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory to select steps");
    }
    *reduced = (struct inq_reduced){.n_steps = trace->n_steps};
    for (size_t s = 0; s < trace->n_steps; s++) {
        bool kept = steps->of[s] != INQ_NONE;
        bool stands_out = false;
        for (size_t r = 0; r < trace->n_ranks; r++) {
            const struct inq_rank *rank = &trace->ranks[r];
            const struct inq_step_total *total = inq_rank_total(rank, trace->steps[s].number);
            if (total == NULL) {
                continue;
            }
            add_total(&all, rank, total);
            if (kept && inq_rank_step_is_whole(rank, total->number)) {
                add_total(&whole, rank, total);
                stands_out = stands_out || total->kept == INQ_STEP_STANDS_OUT;
            }
        }
        reduced->n_whole += kept;
        reduced->n_stand_out += stands_out;
    }
    for (size_t r = 0; r < trace->n_ranks; r++) {
        reduced->n_ranks += trace->ranks[r].reduced;
    }
    reduced->mean_ns = close_sums(&all, reduced->work_ns);
    reduced->whole_ns = close_sums(&whole, reduced->whole_work_ns);
    trace->reduced = reduced;
    return INQ_OK;
}

/* Where ranks beside it are reduced, a rank that is not loses the same steps: only a total will say
 * when the step before a kept one ended. */
static int sum_up(struct inq_trace *trace, struct inq_rank *rank, struct inq_err *err)
{
    rank->totals = inq_mem_zalloc(trace->n_steps + 1, sizeof *rank->totals);
    if (rank->totals == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory to select steps");
    }
    rank->n_totals = rank->cap_totals = trace->n_steps;
    inq_rank_sum_steps(rank, trace->steps, trace->n_steps, rank->totals);
    return INQ_OK;
}

/* Launches of what goes: without their kernels they would be host work between the steps. */
static int drop_launches(struct inq_rank *rank, const struct selection *what, struct inq_err *err)
{
    enum { OTHER, DROPPED, KEPT };
    struct inq_calls *c = &rank->calls;
    struct inq_events *e = &rank->events;
    uint32_t *moved = inq_mem_zalloc(c->n + 1, sizeof *moved);
    uint32_t kept = 0;
    if (moved == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory to select steps");
    }
    take_whole(rank, what);
    for (size_t i = 0; i < e->n; i++) {
        bool wanted = e->step[i] < what->own->n && what->own->of[e->step[i]] != INQ_NONE;
        if (e->call[i] < c->n && moved[e->call[i]] != KEPT) {
            moved[e->call[i]] = wanted ? KEPT : DROPPED;
        }
    }
    for (size_t i = 0; i < c->n; i++) {
        if (moved[i] == DROPPED) {
            moved[i] = INQ_NONE;
            continue;
        }
        inq_calls_move(c, i, kept);
        moved[i] = kept++;
    }
    for (size_t i = 0; i < e->n; i++) {
        e->call[i] = e->call[i] < c->n ? moved[e->call[i]] : INQ_NONE;
    }
    c->n = kept;
    inq_mem_free(moved);
    return INQ_OK;
}

int inq_steps_keep_whole(struct inq_trace *trace, struct inq_err *err)
{
    bool any = false;
    struct renumber steps = {0};
    struct renumber own = {0};
    for (size_t r = 0; r < trace->n_ranks; r++) {
        any = any || trace->ranks[r].reduced;
    }
    if (!any) {
        return INQ_OK;
    }
    int64_t *numbers = inq_mem_alloc((trace->n_steps + 1) * sizeof *numbers);
    int code = numbers != NULL ? INQ_OK : inq_err_set(err, INQ_NOMEM, "no memory to select steps");
    code = code == INQ_OK ? renumber_init(&steps, trace->n_steps, err) : code;
    code = code == INQ_OK ? renumber_init(&own, trace->n_steps, err) : code;
    for (size_t s = 0; code == INQ_OK && s < trace->n_steps; s++) {
        numbers[s] = trace->steps[s].number;
    }
    for (size_t r = 0; code == INQ_OK && r < trace->n_ranks; r++) {
        struct inq_rank *rank = &trace->ranks[r];
        code = rank->reduced ? INQ_OK : sum_up(trace, rank, err);
    }
    if (code == INQ_OK) {
        follow_sends(trace);
        choose_whole(trace, &steps);
        code = describe(trace, &steps, err);
    }
    if (code == INQ_OK) {
        struct selection what = {.steps = &steps, .own = &own, .numbers = numbers};
        for (size_t r = 0; code == INQ_OK && r < trace->n_ranks; r++) {
            code = drop_launches(&trace->ranks[r], &what, err);
        }
        code = code == INQ_OK ? cut(trace, &what, err) : code;
    }
    inq_mem_free(numbers);
    inq_mem_free(steps.of);
    inq_mem_free(own.of);
    return code;
}
