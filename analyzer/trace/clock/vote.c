/* SPDX-License-Identifier: Apache-2.0 */
/* Few rows of one channel tell little: captures that are cut anywhere hold as many by chance, and
 * two or three intervals fit somewhere. But all channels of two hosts see the same two clocks, so
 * that every two rows which can be one operation vote for what lies between their ends: the truth
 * has a vote of nearly every operation that both recorded, anything else has those that fall there
 * by chance. Parts of the clocks join what is known one by one, the clearest first. */
#include "trace/clock/vote.h"

#include "base/mem.h"
#include "base/sort.h"
#include "trace/trace.h"

#include <string.h>

enum {
    DRIFT_PART = 5000,    /* 200 ppm: how fast two clocks part, at most */
    LEAST_VOTES = 3,      /* two intervals that fit: as few as an alignment takes for any */
    CLEARLY_MORE = 2,     /* than elsewhere: one may be there by chance */
    TWICE = 2,            /* as many as elsewhere: beyond doubt */
    MOST_OPS = 4096,      /* of one channel on one side: more tell by their order */
    MOST_VOTES = 1 << 18, /* of one channel */
    SWEEPS = 8            /* over the parts that are left */
};
/* Ends of one operation differ by no more (align.c's second narrowest). */
static const int64_t TOGETHER_NS = 100000;

/* Operations of a channel in common time, by their ends. */
struct ends {
    size_t n, cap;
    struct inq_align_row *at;
};

/* A side of a channel, among those of its part. */
struct place {
    uint32_t channel, side; /* indexes into the rows' channels and sides */
};

struct vote {
    const struct inq_trace *trace;
    const struct inq_comm_rows *rows;
    const struct inq_clock_parts *parts;
    struct inq_clocks *clocks;
    size_t *n_sources;    /* [parts->n] clocks of a part */
    size_t *n_rows;       /* [parts->n] */
    size_t *first;        /* [parts->n + 1] into places */
    struct place *places; /* by part, then channel */
    bool *joined;         /* [parts->n] */
    struct ends *known;   /* [n_channels] of the parts that have joined */
    struct ends own;      /* of the part that is looked at */
    size_t n_votes, cap;  /* by how much what is known ended later */
    int64_t *votes_ns;
    struct inq_err *err;
};

/* What the votes say. */
struct poll {
    size_t stay; /* votes for the clocks as they are */
    size_t best, second;
    int64_t add_ns; /* where the most are */
};

static uint32_t part_of(const struct vote *v, const struct inq_side *side)
{
    return v->parts->of_source[v->trace->ranks[side->rank].clock.source];
}

/* ---- operations ------------------------------------------------------------------------------ */

static int compare_ends(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    const struct inq_align_row *x = a;
    const struct inq_align_row *y = b;
    return x->end_ns < y->end_ns ? -1 : x->end_ns > y->end_ns;
}

/* Whether two rows can be one operation, by all but their time. */
static bool can_be_one(const struct inq_align_row *a, const struct inq_align_row *b)
{
    bool other_step = a->step >= 0 && b->step >= 0 && a->step != b->step;
    bool other_number =
        a->number >= 0 && b->number >= 0 && (a->number != b->number || a->call != b->call);
    return !other_step && !other_number && inq_align_agree(a, b);
}

/* Each operation once: ranks of one part have recorded it together. */
static void merge_ends(struct ends *e)
{
    size_t n = 0;
    for (size_t i = 0; i < e->n; i++) {
        bool again = false;
        for (size_t k = n; k > 0 && e->at[i].end_ns - e->at[k - 1].end_ns <= TOGETHER_NS && !again;
             k--) {
            again = can_be_one(&e->at[i], &e->at[k - 1]);
        }
        if (!again) {
            e->at[n++] = e->at[i];
        }
    }
    e->n = n;
}

static int add_side(struct vote *v, const struct inq_side *side, bool raw, struct ends *ends)
{
    const struct inq_clock *clock = &v->clocks->at[v->trace->ranks[side->rank].clock.source];
    int code = INQ_OK;
    for (size_t i = 0; i < side->n && ends->n < MOST_OPS && code == INQ_OK; i++) {
        const struct inq_comm_row *row = &side->rows[i];
        if (!row->syncs) {
            continue;
        }
        int64_t start_ns = raw ? row->start_ns : inq_clock_common_ns(clock, row->start_ns);
        code = inq_mem_grow(&ends->at, &ends->cap, ends->n + 1, sizeof *ends->at, INQ_NONE, v->err);
        if (code == INQ_OK) {
            ends->at[ends->n++] = inq_comm_align_row(row, start_ns + row->end_ns - row->start_ns);
        }
    }
    return code;
}

/* The places of a part from `at` on that are in one channel. */
static size_t in_channel(const struct vote *v, uint32_t part, size_t at)
{
    size_t to = at;
    while (to < v->first[part + 1] && v->places[to].channel == v->places[at].channel) {
        to++;
    }
    return to;
}

/* Appends what a part did in a channel, the one of its places [from, to). */
static int add_part(struct vote *v, size_t from, size_t to, bool raw, struct ends *ends)
{
    size_t before = ends->n;
    int code = INQ_OK;
    for (size_t i = from; i < to && code == INQ_OK; i++) {
        code = add_side(v, &v->rows->sides[v->places[i].side], raw, ends);
    }
    if (code == INQ_OK && ends->n > before) {
        code = inq_sort(ends->at, ends->n, sizeof *ends->at, compare_ends, NULL, v->err);
        merge_ends(ends);
    }
    return code;
}

/* ---- votes ----------------------------------------------------------------------------------- */

static int vote_in(struct vote *v, const struct ends *known, const struct ends *own)
{
    if (known->n * own->n > MOST_VOTES) {
        return INQ_OK;
    }
    int code = inq_mem_grow(&v->votes_ns, &v->cap, v->n_votes + known->n * own->n + 1,
                            sizeof *v->votes_ns, SIZE_MAX / 64, v->err);
    for (size_t i = 0; i < own->n && code == INQ_OK; i++) {
        for (size_t k = 0; k < known->n; k++) {
            if (can_be_one(&known->at[k], &own->at[i])) {
                v->votes_ns[v->n_votes++] = known->at[k].end_ns - own->at[i].end_ns;
            }
        }
    }
    return code;
}

/* All votes on a part; *span_ns: the time from its first end to its last. */
static int collect_votes(struct vote *v, uint32_t part, bool raw, int64_t *span_ns)
{
    int64_t first_ns = INT64_MAX;
    int64_t last_ns = INT64_MIN;
    int code = INQ_OK;
    v->n_votes = 0;
    size_t to = 0;
    for (size_t i = v->first[part]; i < v->first[part + 1] && code == INQ_OK; i = to) {
        const struct ends *known = &v->known[v->places[i].channel];
        to = in_channel(v, part, i);
        if (known->n == 0) {
            continue;
        }
        v->own.n = 0;
        code = add_part(v, i, to, raw, &v->own);
        if (code == INQ_OK && v->own.n > 0) {
            int64_t from_ns = v->own.at[0].end_ns;
            int64_t to_ns = v->own.at[v->own.n - 1].end_ns;
            first_ns = from_ns < first_ns ? from_ns : first_ns;
            last_ns = to_ns > last_ns ? to_ns : last_ns;
            code = vote_in(v, known, &v->own);
        }
    }
    *span_ns = last_ns > first_ns ? last_ns - first_ns : 0;
    inq_sort_i64(v->votes_ns, v->n_votes);
    return code;
}

static size_t count_near(const struct vote *v, int64_t at_ns, int64_t within_ns)
{
    return inq_first_from_i64(v->votes_ns, 0, v->n_votes, at_ns + within_ns + 1) -
           inq_first_from_i64(v->votes_ns, 0, v->n_votes, at_ns - within_ns);
}

static struct poll count_votes(const struct vote *v, int64_t within_ns)
{
    struct poll poll = {.stay = count_near(v, 0, within_ns)};
    size_t from = 0;
    for (size_t lo = 0, hi = 0; lo < v->n_votes; lo++) {
        while (hi < v->n_votes && v->votes_ns[hi] - v->votes_ns[lo] <= 2 * within_ns) {
            hi++;
        }
        if (hi - lo > poll.best) {
            poll.best = hi - lo;
            from = lo;
        }
    }
    if (poll.best == 0) {
        return poll;
    }
    poll.add_ns = v->votes_ns[from + (poll.best - 1) / 2];
    for (size_t lo = 0, hi = 0; lo < v->n_votes; lo++) {
        while (hi < v->n_votes && v->votes_ns[hi] - v->votes_ns[lo] <= 2 * within_ns) {
            hi++;
        }
        bool apart = hi <= from || lo >= from + poll.best;
        poll.second = apart && hi - lo > poll.second ? hi - lo : poll.second;
    }
    return poll;
}

static int hold_poll(struct vote *v, uint32_t part, bool raw, struct poll *poll)
{
    int64_t span_ns;
    int code = collect_votes(v, part, raw, &span_ns);
    *poll = count_votes(v, TOGETHER_NS + span_ns / DRIFT_PART);
    return code;
}

/* ---- joining --------------------------------------------------------------------------------- */

static void move(struct vote *v, uint32_t part, bool raw, int64_t add_ns)
{
    for (size_t s = 0; s < v->clocks->n; s++) {
        struct inq_clock *clock = &v->clocks->at[s];
        if (v->parts->of_source[s] != part) {
            continue;
        }
        if (raw) {
            inq_mem_free(clock->later);
            *clock = (struct inq_clock){.offset_ns = add_ns};
            continue;
        }
        clock->offset_ns += add_ns;
        for (size_t i = 0; i < clock->n_later; i++) {
            clock->later[i].offset_ns += add_ns;
        }
    }
}

static int join(struct vote *v, uint32_t part)
{
    int code = INQ_OK;
    size_t to = 0;
    for (size_t i = v->first[part]; i < v->first[part + 1] && code == INQ_OK; i = to) {
        uint32_t channel = v->places[i].channel;
        to = in_channel(v, part, i);
        if (v->rows->channels[channel].bare == 0) {
            code = add_part(v, i, to, false, &v->known[channel]);
        }
    }
    v->joined[part] = true;
    return code;
}

/* A part joins where its votes say. `least` more votes than elsewhere, and `times` as many, are
 * asked for. */
static int try_part(struct vote *v, uint32_t part, size_t least, size_t times, bool *any)
{
    struct poll poll;
    struct poll raw_poll = {0};
    int code = hold_poll(v, part, false, &poll);
    size_t stay = poll.stay;
    if (code == INQ_OK && v->n_sources[part] == 1) {
        code = hold_poll(v, part, true, &raw_poll);
    }
    bool raw = raw_poll.best >= poll.best + CLEARLY_MORE;
    poll = raw ? raw_poll : poll;
    if (code != INQ_OK || poll.best < LEAST_VOTES || poll.best < poll.second * times ||
        poll.best < poll.second + least) {
        return code;
    }
    if (poll.best >= stay + CLEARLY_MORE) {
        move(v, part, raw, poll.add_ns);
    }
    *any = true;
    return join(v, part);
}

static int join_clear(struct vote *v, size_t least, size_t times)
{
    bool any = true;
    int code = INQ_OK;
    for (int sweep = 0; any && sweep < SWEEPS && code == INQ_OK; sweep++) {
        any = false;
        for (uint32_t p = 0; p < v->parts->n && code == INQ_OK; p++) {
            if (!v->joined[p]) {
                code = try_part(v, p, least, times, &any);
            }
        }
    }
    return code;
}

/* The part with the most rows that is left. */
static uint32_t largest(const struct vote *v)
{
    uint32_t best = INQ_NONE;
    for (uint32_t p = 0; p < v->parts->n; p++) {
        if (!v->joined[p] && (best == INQ_NONE || v->n_rows[p] > v->n_rows[best])) {
            best = p;
        }
    }
    return best;
}

static int join_all(struct vote *v)
{
    int code = INQ_OK;
    for (uint32_t p = largest(v); p != INQ_NONE && code == INQ_OK; p = largest(v)) {
        code = join(v, p);
        if (code == INQ_OK) {
            code = join_clear(v, CLEARLY_MORE, TWICE);
        }
        if (code == INQ_OK) {
            code = join_clear(v, CLEARLY_MORE, 1);
        }
    }
    return code;
}

static void count_parts(struct vote *v)
{
    for (size_t s = 0; s < v->clocks->n; s++) {
        v->n_sources[v->parts->of_source[s]]++;
    }
    for (size_t s = 0; s < v->rows->first_side[v->rows->n_channels]; s++) {
        uint32_t part = part_of(v, &v->rows->sides[s]);
        v->n_rows[part] += v->rows->sides[s].n;
        v->first[part + 1]++;
    }
    for (size_t p = 0; p < v->parts->n; p++) {
        v->first[p + 1] += v->first[p];
    }
}

/* Sides by part: every part is looked at again and again, and is in few of the channels. `next`:
 * [parts->n] copy of v->first. */
static void sort_sides(struct vote *v, size_t *next)
{
    for (uint32_t c = 0; c < v->rows->n_channels; c++) {
        for (size_t s = v->rows->first_side[c]; s < v->rows->first_side[c + 1]; s++) {
            v->places[next[part_of(v, &v->rows->sides[s])]++] = (struct place){c, (uint32_t)s};
        }
    }
}

int inq_clock_vote(const struct inq_trace *trace, const struct inq_comm_rows *rows,
                   const struct inq_clock_parts *parts, struct inq_clocks *clocks,
                   struct inq_err *err)
{
    struct vote v = {.trace = trace, .rows = rows, .parts = parts, .clocks = clocks, .err = err};
    v.n_sources = inq_mem_zalloc(parts->n + 1, sizeof *v.n_sources);
    v.n_rows = inq_mem_zalloc(parts->n + 1, sizeof *v.n_rows);
    v.joined = inq_mem_zalloc(parts->n + 1, sizeof *v.joined);
    v.known = inq_mem_zalloc(rows->n_channels + 1, sizeof *v.known);
    v.first = inq_mem_zalloc(parts->n + 1, sizeof *v.first);
    v.places = inq_mem_alloc((rows->first_side[rows->n_channels] + 1) * sizeof *v.places);
    size_t *next = inq_mem_alloc((parts->n + 1) * sizeof *next);
    bool ok = v.n_sources != NULL && v.n_rows != NULL && v.joined != NULL && v.known != NULL &&
              v.first != NULL && v.places != NULL && next != NULL;
    int code = ok ? INQ_OK : inq_err_set(err, INQ_NOMEM, "out of memory for %zu clocks", clocks->n);
    if (code == INQ_OK) {
        count_parts(&v);
        memcpy(next, v.first, parts->n * sizeof *next);
        sort_sides(&v, next);
        code = join_all(&v);
    }
    for (size_t c = 0; v.known != NULL && c < rows->n_channels; c++) {
        inq_mem_free(v.known[c].at);
    }
    inq_mem_free(v.known);
    inq_mem_free(v.own.at);
    inq_mem_free(v.votes_ns);
    inq_mem_free(v.n_sources);
    inq_mem_free(v.n_rows);
    inq_mem_free(v.joined);
    inq_mem_free(v.first);
    inq_mem_free(v.places);
    inq_mem_free(next);
    return code;
}
