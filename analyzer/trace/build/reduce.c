/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/build/reduce.h"

#include "base/mem.h"
#include "base/stats.h"
#include "trace/build/assemble.h"
#include "trace/trace.h"

/* A step this many times as long as the median stands out. Lengths of healthy steps spread by a few
 * percent; what adds less than a fifth to a few steps is no cost worth telling of all. */
static const double STANDS_OUT = 1.2;

struct reducing {
    struct inq_trace alone; /* the rank as a run of its own */
    struct inq_rank *rank;
    size_t n;                      /* steps, by number */
    struct inq_step_total *totals; /* [n] */
    int64_t *length_ns;            /* [n]; -1 not known */
    int64_t *from_ns, *to_ns;      /* [n] what is kept of the host's time; empty: nothing */
    uint32_t *moved;               /* [calls or launches] new index, or INQ_NONE */
};

/* ---- which steps ----------------------------------------------------------------------------- */

/* Multiples of the golden ratio, modulo one: the numbers with the smallest of them are spread over
 * any range with gaps of at most three sizes, follow no period that runs have (powers of two or of
 * ten), and are mostly the same for captures that overlap. */
static uint64_t order_of(int64_t number)
{
    return (uint64_t)number * UINT64_C(0x9E3779B97F4A7C15);
}

/* The best candidate that is not kept yet, or n: none. */
static size_t next_sample(const struct reducing *r, size_t first)
{
    size_t best = r->n;
    for (size_t s = first; s < r->n; s++) {
        const struct inq_step_total *total = &r->totals[s];
        bool better = best == r->n || order_of(total->number) < order_of(r->totals[best].number);
        if (total->kept == INQ_STEP_REDUCED && r->length_ns[s] >= 0 && better) {
            best = s;
        }
    }
    return best;
}

static size_t next_long(const struct reducing *r, size_t first, double median_ns)
{
    size_t best = r->n;
    for (size_t s = first; s < r->n; s++) {
        bool longer = best == r->n || r->length_ns[s] > r->length_ns[best];
        if (r->totals[s].kept == INQ_STEP_REDUCED &&
            (double)r->length_ns[s] > STANDS_OUT * median_ns && longer) {
            best = s;
        }
    }
    return best;
}

/* False when nothing would be left out. */
static bool choose(struct reducing *r, size_t n_kept, struct inq_err *err, int *code)
{
    int64_t *lengths = inq_mem_alloc((r->n + 1) * sizeof *lengths);
    size_t n = 0;
    if (lengths == NULL) {
        *code = inq_err_set(err, INQ_NOMEM, "out of memory for %zu steps", r->n);
        return false;
    }
    for (size_t s = 0; s < r->n; s++) {
        lengths[n] = r->length_ns[s];
        n += r->length_ns[s] >= 0;
    }
    double median_ns = n > 0 ? (double)inq_median_i64(lengths, n) : 0.0;
    /* the first recorded step counts as warm-up: nothing says when it began */
    size_t first = r->n > 0 ? 1 + inq_warm_up_steps(r->length_ns + 1, r->n - 1, lengths) : 0;
    inq_mem_free(lengths);
    for (size_t k = 0; k < n_kept; k++) {
        size_t s = next_sample(r, first);
        if (s == r->n) {
            return false;
        }
        r->totals[s].kept = INQ_STEP_SAMPLED;
    }
    for (size_t k = 0; k < n_kept; k++) {
        size_t s = next_long(r, first, median_ns);
        if (s == r->n) {
            break;
        }
        r->totals[s].kept = INQ_STEP_STANDS_OUT;
    }
    return next_sample(r, first) < r->n;
}

/* ---- what stays ------------------------------------------------------------------------------ */

/* Host time of a kept step: from its mark, or the end of the GPU work before it (what kept the GPU
 * idle then), to the next mark and to its own end. */
static void find_stretches(struct reducing *r)
{
    for (size_t s = 1; s < r->n; s++) {
        const struct inq_step *step = &r->alone.steps[s];
        const struct inq_step_total *total = &r->totals[s];
        if (total->kept == INQ_STEP_REDUCED) {
            continue;
        }
        int64_t before_ns = total->last_start_ns + total->last_dur_ns - r->length_ns[s];
        int64_t end_ns = total->last_start_ns + total->last_dur_ns;
        int64_t mark_ns = s + 1 < r->n && step[1].number == step->number + 1
                              ? step[1].rank_start_ns[0]
                              : step->rank_end_ns[0];
        r->from_ns[s] = before_ns < step->rank_start_ns[0] ? before_ns : step->rank_start_ns[0];
        r->to_ns[s] = end_ns > mark_ns ? end_ns : mark_ns;
    }
}

static bool in_stretch(const struct reducing *r, int64_t start_ns, int64_t dur_ns)
{
    for (size_t s = 0; s < r->n; s++) {
        if (r->totals[s].kept != INQ_STEP_REDUCED && start_ns < r->to_ns[s] &&
            start_ns + dur_ns >= r->from_ns[s]) {
            return true;
        }
    }
    return false;
}

static void reduce_events(struct reducing *r)
{
    struct inq_events *e = &r->rank->events;
    size_t kept = 0;
    for (size_t i = 0; i < e->n; i++) {
        bool whole = e->step[i] < r->n && r->totals[e->step[i]].kept != INQ_STEP_REDUCED;
        if (whole || e->comm[i] != INQ_NONE || e->cls[i] == INQ_CLASS_COMM) {
            inq_events_move(e, i, kept++);
        }
    }
    e->n = kept;
}

/* Calls that launch what is left, and those of the stretches. */
static void reduce_calls(struct reducing *r)
{
    struct inq_calls *c = &r->rank->calls;
    struct inq_events *e = &r->rank->events;
    uint32_t kept = 0;
    for (size_t i = 0; i < c->n; i++) {
        r->moved[i] = in_stretch(r, c->start_ns[i], c->dur_ns[i]) ? 0 : INQ_NONE;
    }
    for (size_t i = 0; i < e->n; i++) {
        if (e->call[i] != INQ_NONE) {
            r->moved[e->call[i]] = 0;
        }
    }
    for (size_t i = 0; i < c->n; i++) {
        if (r->moved[i] == INQ_NONE) {
            continue;
        }
        inq_calls_move(c, i, kept);
        r->moved[i] = kept++;
    }
    c->n = kept;
    for (size_t i = 0; i < e->n; i++) {
        e->call[i] = e->call[i] != INQ_NONE ? r->moved[e->call[i]] : INQ_NONE;
    }
}

/* Marks of all steps, and what stands in the stretches. */
static void reduce_notes(struct reducing *r)
{
    struct inq_rank *rank = r->rank;
    size_t kept = 0;
    for (size_t i = 0; i < rank->n_notes; i++) {
        const struct inq_note *note = &rank->notes[i];
        if (note->kind == INQ_NOTE_STEP || in_stretch(r, note->start_ns, note->dur_ns)) {
            rank->notes[kept++] = *note;
        }
    }
    rank->n_notes = kept;
}

/* ---- all ------------------------------------------------------------------------------------- */

static bool can_be_reduced(const struct inq_rank *rank)
{
    bool marked = false;
    for (size_t i = 0; i < rank->n_notes && !marked; i++) {
        marked = rank->notes[i].kind == INQ_NOTE_STEP && !rank->notes[i].on_gpu;
    }
    return marked && !rank->reduced && rank->events.label == NULL;
}

static int get_room(struct reducing *r, struct inq_err *err)
{
    r->n = r->alone.n_steps;
    r->totals = inq_mem_zalloc(r->n + 1, sizeof *r->totals);
    r->length_ns = inq_mem_zalloc(r->n + 1, sizeof *r->length_ns);
    r->from_ns = inq_mem_zalloc(r->n + 1, sizeof *r->from_ns);
    r->to_ns = inq_mem_zalloc(r->n + 1, sizeof *r->to_ns);
    r->rank->totals = r->totals; /* lengths are read from there */
    r->rank->n_totals = r->rank->cap_totals = r->totals != NULL ? r->n : 0;
    r->moved = inq_mem_alloc((r->rank->calls.n + 1) * sizeof *r->moved);
    bool got = r->totals != NULL && r->length_ns != NULL && r->from_ns != NULL &&
               r->to_ns != NULL && r->moved != NULL;
    return got ? INQ_OK : inq_err_set(err, INQ_NOMEM, "out of memory for %zu steps", r->n);
}

static int reduce_rank(struct inq_shard *shard, struct inq_rank *rank, size_t n_kept,
                       struct inq_err *err)
{
    struct reducing r = {
        .alone = {.arena = &shard->arena, .names = &shard->names, .n_ranks = 1, .ranks = rank},
        .rank = rank};
    int code = inq_steps_assign(&r.alone, err);
    code = code == INQ_OK ? get_room(&r, err) : code;
    if (code == INQ_OK) {
        inq_rank_sum_steps(rank, r.alone.steps, r.n, r.totals);
        for (size_t s = 0; s < r.n; s++) {
            r.length_ns[s] = inq_rank_step_length_ns(rank, r.totals[s].number);
        }
    }
    if (code == INQ_OK && choose(&r, n_kept, err, &code)) {
        find_stretches(&r);
        reduce_events(&r);
        reduce_calls(&r);
        reduce_notes(&r);
        rank->reduced = true;
    } else {
        inq_mem_free(r.totals);
        rank->totals = NULL;
        rank->n_totals = rank->cap_totals = 0;
    }
    inq_mem_free(r.length_ns);
    inq_mem_free(r.from_ns);
    inq_mem_free(r.to_ns);
    inq_mem_free(r.moved);
    return code;
}

/* Launches that are left of: rows that no event points to any more go. */
static int reduce_launches(struct inq_shard *shard, struct inq_err *err)
{
    struct inq_launches *launches = &shard->launches;
    uint32_t *moved = inq_mem_alloc((launches->n + 1) * sizeof *moved);
    uint32_t kept = 1; /* row 0 stays */
    if (moved == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu launches", launches->n);
    }
    for (size_t i = 0; i < launches->n; i++) {
        moved[i] = INQ_NONE;
    }
    for (size_t k = 0; k < shard->n_ranks; k++) {
        const struct inq_events *e = &shard->ranks[k].events;
        for (size_t i = 0; e->launch != NULL && i < e->n; i++) {
            moved[e->launch[i]] = 0;
        }
    }
    for (size_t i = 1; i < launches->n; i++) {
        if (moved[i] != INQ_NONE) {
            launches->rows[kept] = launches->rows[i];
            moved[i] = kept++;
        }
    }
    moved[0] = 0;
    launches->n = launches->n > 0 ? kept : 0;
    for (size_t k = 0; k < shard->n_ranks; k++) {
        const struct inq_events *e = &shard->ranks[k].events;
        for (size_t i = 0; e->launch != NULL && i < e->n; i++) {
            e->launch[i] = moved[e->launch[i]];
        }
    }
    inq_mem_free(moved);
    return INQ_OK;
}

int inq_shard_reduce(struct inq_shard *shard, size_t n, struct inq_err *err)
{
    bool any = false;
    int code = INQ_OK;
    for (size_t k = 0; k < shard->n_ranks && code == INQ_OK; k++) {
        struct inq_rank *rank = &shard->ranks[k];
        if (can_be_reduced(rank)) {
            code = reduce_rank(shard, rank, n, err);
            any = any || rank->reduced;
        }
    }
    return code == INQ_OK && any ? reduce_launches(shard, err) : code;
}
