/* SPDX-License-Identifier: Apache-2.0 */
/* First estimate of the clocks, before anything is matched. Members of a synchronising collective
 * end together, so that the ends of one channel's rows, aligned by order, tell the difference of
 * two clocks over the whole capture. A forest over the clocks connects each with one that is known
 * through the channel that tells most. */
#include "trace/clock/clock.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/par.h"
#include "base/sort.h"
#include "trace/clock/vote.h"
#include "trace/trace.h"

#include <stdlib.h>
#include <string.h>

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

/* How often channels that tell nothing are replaced. */
enum { MAX_ROUNDS = 4 };

/* ---- the forest ------------------------------------------------------------------------------ */

/* A channel by what it tells of clocks. */
struct candidate {
    uint32_t channel;
    uint32_t hub; /* the side with the most rows, index into inq_comm_rows.sides */
    int trust;    /* 0: named collectives that end together; 1: others; 2: bare exchanges */
    size_t rows;
    bool tells_nothing; /* of some clock that it should connect */
};

/* What `known` (a side of a clock) tells of the clock of `other`. */
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
    edge->sure = possible && is_sure(clock, points, n);
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

/* Where an edge is not sure, all channels together say how the clocks that it should connect stand
 * to each other. */
static int ask_all_channels(struct first *f, struct inq_clocks *clocks, struct inq_err *err)
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
    if (all_sure) {
        return INQ_OK;
    }
    struct inq_clock_parts parts = {0};
    parts.of_source = inq_mem_alloc((f->n_sources + 1) * sizeof *parts.of_source);
    if (parts.of_source == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu clocks", f->n_sources);
    }
    for (uint32_t s = 0; s < f->n_sources; s++) { /* a root is the least of its part */
        uint32_t root = root_of(f, s);
        parts.of_source[s] = root == s ? (uint32_t)parts.n++ : parts.of_source[root];
    }
    int code = inq_clock_vote(f->trace, f->rows, &parts, clocks, err);
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
        code = code == INQ_OK ? ask_all_channels(&f, clocks, err) : code;
    }
    inq_mem_free(f.candidates);
    inq_mem_free(f.parent);
    inq_mem_free(f.edges);
    inq_mem_free(f.reached);
    return code;
}
