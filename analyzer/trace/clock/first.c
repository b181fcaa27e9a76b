/* SPDX-License-Identifier: Apache-2.0 */
/* First estimate of the clocks, before anything is matched. Members of a synchronizing collective
 * end together, so that the ends of one channel's rows, aligned by order, tell the difference of
 * two clocks over the whole capture. A forest over the clocks connects each with one that is known
 * through the channel that tells most. */
#include "base/hash.h"
#include "base/mem.h"
#include "base/par.h"
#include "base/sort.h"
#include "trace/clock/clock.h"
#include "trace/clock/exchanges.h"
#include "trace/trace.h"

#include <stdlib.h>
#include <string.h>

/* Few rows of one channel tell little: captures that are cut anywhere hold as many by chance, and
 * two or three intervals fit somewhere. But all channels of two hosts see the same two clocks, so
 * that every two rows which can be one operation vote for what lies between their ends: the truth
 * has a vote of nearly every operation that both recorded, anything else has those that fall there
 * by chance. Parts of the clocks join what is known one by one, the clearest first. */

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
    uint32_t n_wholes;    /* so far */
    uint32_t *whole;    /* [parts->n] which parts are known against each other; INQ_NONE: not yet */
    struct ends *known; /* [n_channels] of the parts that have joined */
    struct ends own;    /* of the part that is looked at */
    size_t n_votes, cap; /* by how much what is known ended later */
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
    v->whole[part] = v->n_wholes - 1;
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
            if (v->whole[p] == INQ_NONE) {
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
        if (v->whole[p] == INQ_NONE && (best == INQ_NONE || v->n_rows[p] > v->n_rows[best])) {
            best = p;
        }
    }
    return best;
}

static int join_all(struct vote *v)
{
    int code = INQ_OK;
    for (uint32_t p = largest(v); p != INQ_NONE && code == INQ_OK; p = largest(v)) {
        v->n_wholes++;
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

/* Moves the parts against each other to where most of what their ranks did together ended together,
 * where that is clearly more than as they stand. A clock that is a part by itself becomes a
 * constant; parts of several clocks move as a whole. The parts become those that have joined. Fails
 * with INQ_NOMEM. */
static int clock_vote(const struct inq_trace *trace, const struct inq_comm_rows *rows,
                      struct inq_clock_parts *parts, struct inq_clocks *clocks, struct inq_err *err)
{
    struct vote v = {.trace = trace, .rows = rows, .parts = parts, .clocks = clocks, .err = err};
    v.n_sources = inq_mem_zalloc(parts->n + 1, sizeof *v.n_sources);
    v.n_rows = inq_mem_zalloc(parts->n + 1, sizeof *v.n_rows);
    v.whole = inq_mem_alloc((parts->n + 1) * sizeof *v.whole);
    v.known = inq_mem_zalloc(rows->n_channels + 1, sizeof *v.known);
    v.first = inq_mem_zalloc(parts->n + 1, sizeof *v.first);
    v.places = inq_mem_alloc((rows->first_side[rows->n_channels] + 1) * sizeof *v.places);
    size_t *next = inq_mem_alloc((parts->n + 1) * sizeof *next);
    bool ok = v.n_sources != NULL && v.n_rows != NULL && v.whole != NULL && v.known != NULL &&
              v.first != NULL && v.places != NULL && next != NULL;
    int code = ok ? INQ_OK : inq_err_set(err, INQ_NOMEM, "out of memory for %zu clocks", clocks->n);
    if (code == INQ_OK) {
        memset(v.whole, 0xff, parts->n * sizeof *v.whole); /* INQ_NONE */
        count_parts(&v);
        memcpy(next, v.first, parts->n * sizeof *next);
        sort_sides(&v, next);
        code = join_all(&v);
    }
    for (size_t i = 0; i < clocks->n && code == INQ_OK; i++) {
        parts->of_source[i] = v.whole[parts->of_source[i]];
    }
    parts->n = code == INQ_OK ? v.n_wholes : parts->n;
    for (size_t c = 0; v.known != NULL && c < rows->n_channels; c++) {
        inq_mem_free(v.known[c].at);
    }
    inq_mem_free(v.known);
    inq_mem_free(v.own.at);
    inq_mem_free(v.votes_ns);
    inq_mem_free(v.n_sources);
    inq_mem_free(v.n_rows);
    inq_mem_free(v.whole);
    inq_mem_free(v.first);
    inq_mem_free(v.places);
    inq_mem_free(next);
    return code;
}

/* ---- who reads which clock ------------------------------------------------------------------- */

/* A key of the rank's clock: its host, else its file where that holds several ranks. "localhost" is
 * every host's name. */
static uint64_t clock_key(const struct inq_trace *trace, size_t r, const uint32_t *ranks_of_file)
{
    const struct inq_rank *rank = &trace->ranks[r];
    bool named = rank->host != 0 && strcmp(inq_trace_str(trace, rank->host), "localhost") != 0;
    bool shared = rank->file < trace->n_files && ranks_of_file[rank->file] > 1;
    uint64_t kind = named ? 0 : shared ? 1 : 2;
    uint64_t id = named ? rank->host : shared ? rank->file : r;
    return kind << 62 | id;
}

static int find_sources(struct inq_trace *trace, size_t *n_sources, struct inq_err *err)
{
    struct inq_map sources = {0};
    uint32_t *ranks_of_file = inq_mem_zalloc(trace->n_files + 1, sizeof *ranks_of_file);
    int code =
        ranks_of_file == NULL ? inq_err_set(err, INQ_NOMEM, "out of memory for clocks") : INQ_OK;
    *n_sources = 0;
    for (size_t r = 0; code == INQ_OK && r < trace->n_ranks; r++) {
        if (trace->ranks[r].file < trace->n_files) {
            ranks_of_file[trace->ranks[r].file]++;
        }
    }
    for (size_t r = 0; code == INQ_OK && r < trace->n_ranks; r++) {
        uint64_t key = clock_key(trace, r, ranks_of_file);
        uint32_t *source = &trace->ranks[r].clock.source;
        if (!inq_map_get(&sources, key, source)) {
            *source = (uint32_t)(*n_sources)++;
            code = inq_map_put(&sources, key, *source, err);
        }
    }
    inq_map_release(&sources);
    inq_mem_free(ranks_of_file);
    return code;
}

/* How often channels that have no record are replaced. */
enum { MAX_ROUNDS = 4 };

/* ---- the forest ------------------------------------------------------------------------------ */

/* A channel by what it reports clocks. */
struct candidate {
    uint32_t channel;
    uint32_t hub; /* the side with the most rows, index into inq_comm_rows.sides */
    int trust;    /* 0: named collectives that end together; 1: others; 2: bare exchanges */
    size_t rows;
    bool orders;        /* its rows; bare exchanges of more than two ranks are of any two of them */
    bool tells_nothing; /* of some clock that it should connect */
};

/* What `known` (a side of a clock) reports the clock of `other`. */
struct edge {
    const struct inq_side *known, *other;
    struct candidate *through;
    bool failed;
    bool sure; /* so many ends agree that chance is out of the question */
};

struct first {
    const struct inq_trace *trace;
    const struct inq_comm_rows *rows;
    size_t n_sources;
    struct inq_clock *clocks;
    struct candidate *candidates;
    size_t n_candidates;
    uint32_t *parent; /* [n_sources] union-find */
    struct edge *edges;
    size_t n_edges;
    uint8_t *reached; /* [n_sources] */
};

static uint32_t source_of(const struct first *f, const struct inq_side *side)
{
    return f->trace->ranks[side->rank].clock.source;
}

static uint32_t root_of(struct first *f, uint32_t source)
{
    while (f->parent[source] != source) {
        f->parent[source] = f->parent[f->parent[source]];
        source = f->parent[source];
    }
    return source;
}

static struct candidate describe(const struct inq_comm_rows *rows, uint32_t channel)
{
    size_t from = rows->first_side[channel];
    struct candidate c = {.channel = channel, .hub = (uint32_t)from};
    size_t total = 0;
    for (size_t s = from; s < rows->first_side[channel + 1]; s++) {
        total += rows->sides[s].n;
        c.hub = rows->sides[s].n > rows->sides[c.hub].n ? (uint32_t)s : c.hub;
    }
    const struct inq_side *hub = &rows->sides[c.hub];
    size_t syncing = 0;
    for (size_t i = 0; i < hub->n; i++) {
        syncing += hub->rows[i].syncs;
    }
    c.trust = rows->channels[channel].bare != 0 ? 2 : syncing > 0 ? 0 : 1;
    c.orders = c.trust < 2 || rows->first_side[channel + 1] - from <= 2;
    c.rows = total / (rows->first_side[channel + 1] - from);
    c.rows = c.trust == 0 && syncing < c.rows ? syncing : c.rows;
    return c;
}

static int compare_candidates(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    const struct candidate *x = a;
    const struct candidate *y = b;
    if (x->trust != y->trust) {
        return x->trust - y->trust;
    }
    return x->rows > y->rows ? -1 : x->rows < y->rows;
}

static int list_candidates(struct first *f, struct inq_err *err)
{
    const struct inq_comm_rows *rows = f->rows;
    for (uint32_t c = 0; c < rows->n_channels; c++) {
        bool several = false;
        for (size_t s = rows->first_side[c]; s < rows->first_side[c + 1]; s++) {
            several = several || source_of(f, &rows->sides[s]) !=
                                     source_of(f, &rows->sides[rows->first_side[c]]);
        }
        if (several) {
            f->candidates[f->n_candidates++] = describe(rows, c);
        }
    }
    return inq_sort(f->candidates, f->n_candidates, sizeof *f->candidates, compare_candidates, NULL,
                    err);
}

/* Connects all clocks that a channel has, unless a better one did. */
static void connect(struct first *f, struct candidate *c)
{
    const struct inq_side *hub = &f->rows->sides[c->hub];
    for (size_t s = f->rows->first_side[c->channel]; s < f->rows->first_side[c->channel + 1]; s++) {
        const struct inq_side *side = &f->rows->sides[s];
        uint32_t x = root_of(f, source_of(f, hub));
        uint32_t y = root_of(f, source_of(f, side));
        if (x != y) {
            f->parent[x > y ? x : y] = x > y ? y : x;
            f->edges[f->n_edges++] = (struct edge){hub, side, c, false, false};
        }
    }
}

/* ---- one edge -------------------------------------------------------------------------------- */

/* The rows in the time of `clock`; NULL: as they are. */
static void take_rows(const struct inq_side *side, const struct inq_clock *clock,
                      struct inq_align_row *rows)
{
    for (size_t i = 0; i < side->n; i++) {
        const struct inq_comm_row *row = &side->rows[i];
        int64_t start_ns =
            clock != NULL ? inq_clock_common_ns(clock, row->start_ns) : row->start_ns;
        int64_t end_ns = start_ns + (row->end_ns - row->start_ns);
        rows[i] = inq_comm_align_row(row, end_ns);
    }
}

/* Ends that agree with each straight piece of a clock; fewer fit somewhere by chance. */
enum { SURE_ENDS = 24 };
/* Ends of one operation differ by no more (align.c's second narrowest). */
static const int64_t AGREE_NS = 100000;

static bool is_sure(const struct inq_clock *clock, const struct inq_clock_point *points, size_t n)
{
    size_t agree = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t add_ns = inq_clock_common_ns(clock, points[i].raw_ns) - points[i].raw_ns;
        agree += llabs(points[i].add_ns - add_ns) <= AGREE_NS;
    }
    return agree >= SURE_ENDS * (clock->n_later + 1);
}

static int fit_edge(struct edge *edge, const struct inq_alignment *pair, struct inq_clock *clock,
                    struct inq_err *err)
{
    struct inq_clock_point *points = inq_mem_alloc((pair->m + 1) * sizeof *points);
    if (points == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu ends", pair->m);
    }
    size_t n = 0;
    for (size_t j = 0; j < pair->m; j++) {
        if (pair->match[j] != INQ_NONE && (edge->through->trust != 0 || pair->b[j].syncs)) {
            points[n++] = (struct inq_clock_point){
                edge->other->rows[j].start_ns, pair->a[pair->match[j]].end_ns - pair->b[j].end_ns};
        }
    }
    bool possible = false;
    int code = n > 0 ? inq_clock_fit(points, n, clock, &possible, err) : INQ_OK;
    edge->failed = !possible;
    edge->sure = possible && edge->through->orders && is_sure(clock, points, n);
    inq_mem_free(points);
    return code;
}

static int estimate_edge(void *ctx, size_t i, struct inq_err *err)
{
    const struct first *f = ctx;
    struct edge *edge = &f->edges[i];
    const struct inq_side *known = edge->known;
    const struct inq_side *other = edge->other;
    if (f->reached[source_of(f, known)] != 1 || f->reached[source_of(f, other)] != 2) {
        return INQ_OK;
    }
    struct inq_align_row *a = inq_mem_alloc((known->n + 1) * sizeof *a);
    struct inq_align_row *b = inq_mem_alloc((other->n + 1) * sizeof *b);
    uint32_t *match = inq_mem_alloc((other->n + 1) * sizeof *match);
    int code = INQ_OK;
    if (a == NULL || b == NULL || match == NULL) {
        code = inq_err_set(err, INQ_NOMEM, "out of memory for aligning clocks");
    } else {
        take_rows(known, &f->clocks[source_of(f, known)], a);
        take_rows(other, NULL, b);
        struct inq_alignment pair = {.a = a, .b = b, .n = known->n, .m = other->n, .match = match};
        inq_align(&pair);
        code = fit_edge(edge, &pair, &f->clocks[source_of(f, other)], err);
    }
    inq_mem_free(a);
    inq_mem_free(b);
    inq_mem_free(match);
    return code;
}

/* Turns the edges away from what is known and marks what they reach next (2). */
static bool next_ring(struct first *f)
{
    bool any = false;
    for (size_t i = 0; i < f->n_edges; i++) {
        struct edge *edge = &f->edges[i];
        if (f->reached[source_of(f, edge->known)] != 1) {
            const struct inq_side *swap = edge->known;
            edge->known = edge->other;
            edge->other = swap;
        }
        uint8_t *other = &f->reached[source_of(f, edge->other)];
        if (f->reached[source_of(f, edge->known)] == 1 && *other == 0) {
            *other = 2;
            any = true;
        }
    }
    return any;
}

static int walk_forest(struct first *f, int jobs, struct inq_err *err)
{
    int code = INQ_OK;
    for (uint32_t s = 0; s < f->n_sources; s++) {
        f->reached[s] = root_of(f, s) == s;
    }
    while (code == INQ_OK && next_ring(f)) {
        code = inq_par_for(f->n_edges, jobs, estimate_edge, f, err);
        for (size_t s = 0; s < f->n_sources; s++) {
            f->reached[s] = f->reached[s] != 0;
        }
    }
    return code;
}

static int connect_all(struct first *f, int jobs, struct inq_err *err)
{
    f->n_edges = 0;
    for (uint32_t s = 0; s < f->n_sources; s++) {
        f->parent[s] = s;
        inq_mem_free(f->clocks[s].later);
        f->clocks[s] = (struct inq_clock){0};
    }
    for (size_t c = 0; c < f->n_candidates; c++) {
        if (!f->candidates[c].tells_nothing) {
            connect(f, &f->candidates[c]);
        }
    }
    return walk_forest(f, jobs, err);
}

/* Channels whose rows cannot be aligned are left out, and others take their place. */
static int estimate(struct first *f, int jobs, struct inq_err *err)
{
    f->candidates = inq_mem_alloc((f->rows->n_channels + 1) * sizeof *f->candidates);
    f->parent = inq_mem_alloc((f->n_sources + 1) * sizeof *f->parent);
    f->edges = inq_mem_alloc((f->n_sources + 1) * sizeof *f->edges);
    f->reached = inq_mem_zalloc(f->n_sources + 1, sizeof *f->reached);
    if (f->candidates == NULL || f->parent == NULL || f->edges == NULL || f->reached == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu clocks", f->n_sources);
    }
    int code = list_candidates(f, err);
    bool again = code == INQ_OK;
    for (int round = 0; again && round < MAX_ROUNDS; round++) {
        code = connect_all(f, jobs, err);
        again = false;
        for (size_t i = 0; code == INQ_OK && i < f->n_edges; i++) {
            again = again || f->edges[i].failed;
            f->edges[i].through->tells_nothing |= f->edges[i].failed;
        }
    }
    return code;
}

/* The parts that sure edges make. A root is the least of its part. */
static bool find_parts(struct first *f, struct inq_clock_parts *parts)
{
    bool all_sure = true;
    for (uint32_t s = 0; s < f->n_sources; s++) {
        f->parent[s] = s;
    }
    for (size_t i = 0; i < f->n_edges; i++) {
        uint32_t x = root_of(f, source_of(f, f->edges[i].known));
        uint32_t y = root_of(f, source_of(f, f->edges[i].other));
        all_sure = all_sure && f->edges[i].sure;
        if (f->edges[i].sure) {
            f->parent[x > y ? x : y] = x > y ? y : x;
        }
    }
    for (uint32_t s = 0; s < f->n_sources; s++) {
        uint32_t root = root_of(f, s);
        parts->of_source[s] = root == s ? (uint32_t)parts->n++ : parts->of_source[root];
    }
    return all_sure;
}

/* Where an edge is not sure, all channels together say how the clocks that it should connect stand
 * to each other; what then is not connected may be so by transfers of which no peer is known. */
static int join_parts(struct first *f, struct inq_clocks *clocks, struct inq_err *err)
{
    struct inq_clock_parts parts = {0};
    parts.of_source = inq_mem_alloc((f->n_sources + 1) * sizeof *parts.of_source);
    if (parts.of_source == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu clocks", f->n_sources);
    }
    int code = find_parts(f, &parts) ? INQ_OK : clock_vote(f->trace, f->rows, &parts, clocks, err);
    if (code == INQ_OK) {
        code = inq_clock_join_exchanges(f->trace, f->rows, &parts, clocks, err);
    }
    inq_mem_free(parts.of_source);
    return code;
}

int inq_clock_first(struct inq_trace *trace, const struct inq_comm_rows *rows, int jobs,
                    struct inq_clocks *clocks, struct inq_err *err)
{
    int code = find_sources(trace, &clocks->n, err);
    clocks->at = inq_mem_zalloc(clocks->n + 1, sizeof *clocks->at);
    if (code == INQ_OK && clocks->at == NULL) {
        code = inq_err_set(err, INQ_NOMEM, "out of memory for %zu clocks", clocks->n);
    }
    struct first f = {.trace = trace, .rows = rows, .n_sources = clocks->n, .clocks = clocks->at};
    if (code == INQ_OK && clocks->n > 1) {
        code = estimate(&f, jobs, err);
        code = code == INQ_OK ? join_parts(&f, clocks, err) : code;
    }
    inq_mem_free(f.candidates);
    inq_mem_free(f.parent);
    inq_mem_free(f.edges);
    inq_mem_free(f.reached);
    return code;
}
