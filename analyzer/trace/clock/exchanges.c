/* SPDX-License-Identifier: Apache-2.0 */
/* In a pipeline whose groups were not recorded, nothing but its transfers may connect the clocks of
 * two stages, and who had a transfer with whom is not known before the clocks are. Both ends of one
 * end within microseconds; so every two ends, one of each part, vote for what lies between them.
 * Replicas of a stage end theirs nearly together, so that votes alone count those many times: of
 * the differences with the most votes that one is taken at which every rank has another whose ends
 * are where its own are. */
#include "trace/clock/exchanges.h"

#include "base/mem.h"
#include "base/sort.h"
#include "trace/trace.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST_PARTS = 32, /* every two are compared: 496 times */
    MOST_LINES = 48, /* of a part that vote: replicas say the same */
    LEAST_LINES = 4, /* of a part that is larger: fewer may all be of ranks at one end of it */
    MOST_LOOKED_AT = 1 << 16, /* lines that are compared with one another */
    MOST_ENDS = 24,           /* of a line that vote: four times what it takes to be believed */
    LEAST_PAIRS = 2,          /* one pairs with one of any other line, wherever that is */
    CANDIDATES = 16,          /* work that repeats ends together one repetition off as well */
    LEAST_WEIGHT = 6,         /* more than anywhere else: a few end together by chance */
    MOST_OF_PARTS = 9, /* of PARTNER_PARTS: of a stream's ends that pair: half, but for a few */
    PARTNER_PARTS = 20
};
/* Ends of one transfer differ by no more: both wait for the last byte, and clocks drift apart by
 * microseconds while they are recorded. */
static const int64_t TOGETHER_NS = 8000;
/* Replicas are no further apart; a difference that is off by as much is no other one. */
static const int64_t ELSEWHERE_NS = 100000;

struct end {
    int64_t end_ns, step;
};

/* Ends on one stream of a rank, in one channel: as a rule what it has with one other rank. */
struct line {
    uint32_t channel, lane;
    size_t n, cap;
    struct end *at;
};

/* A part's lines. */
struct part {
    size_t n, cap;
    struct line *lines;
    uint32_t whole; /* the same of all that it is joined with */
    int64_t add_ns;
};

/* By how much the ends of part `x` are later than those of part `y`. */
struct edge {
    uint32_t x, y;
    size_t weight;
    int64_t later_ns;
};

/* By how much one line may end later than another, and how many of its ends say so. */
struct candidate {
    int64_t later_ns;
    size_t votes;
};

struct join {
    const struct inq_trace *trace;
    const struct inq_clock_parts *parts;
    struct inq_clocks *clocks;
    struct part *of; /* [parts->n] */
    size_t n_votes;
    int64_t *votes_ns;
    int64_t *apart_ns; /* of the pairs that end together */
    size_t n_apart;
    size_t longest;  /* line */
    size_t *line_of; /* [lanes] the line added last for it; there may be as many lanes as ends */
    size_t n_edges;
    struct edge *edges;
    struct inq_err *err;
};

/* ---- ends ------------------------------------------------------------------------------------ */

static int compare_ends(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    const struct end *x = a;
    const struct end *y = b;
    return x->end_ns < y->end_ns ? -1 : x->end_ns > y->end_ns;
}

/* The line of a stream among those of the part from `from` on. */
static int find_line(struct join *j, struct part *part, size_t from, const struct line *like,
                     struct line **line)
{
    size_t at = j->line_of[like->lane]; /* perhaps of another rank or part */
    if (at >= from && at < part->n && part->lines[at].lane == like->lane) {
        *line = &part->lines[at];
        return INQ_OK;
    }
    int code =
        inq_mem_grow(&part->lines, &part->cap, part->n + 1, sizeof *part->lines, INQ_NONE, j->err);
    if (code == INQ_OK) {
        j->line_of[like->lane] = part->n;
        *line = &part->lines[part->n++];
        **line = *like;
    }
    return code;
}

static int add_side(struct join *j, uint32_t channel, const struct inq_side *side)
{
    const struct inq_rank *rank = &j->trace->ranks[side->rank];
    const struct inq_clock *clock = &j->clocks->at[rank->clock.source];
    struct part *part = &j->of[j->parts->of_source[rank->clock.source]];
    size_t from = part->n;
    int code = INQ_OK;
    for (size_t i = 0; i < side->n && code == INQ_OK; i++) {
        const struct inq_comm_row *row = &side->rows[i];
        struct line like = {channel, rank->events.lane[row->event], 0, 0, NULL};
        struct line *line = NULL;
        int64_t start_ns = inq_clock_common_ns(clock, row->start_ns);
        int64_t end_ns = start_ns + row->end_ns - row->start_ns;
        if (inq_clock_too_far(end_ns)) {
            continue;
        }
        code = find_line(j, part, from, &like, &line);
        if (code == INQ_OK) {
            code = inq_mem_grow(&line->at, &line->cap, line->n + 1, sizeof *line->at, INQ_NONE,
                                j->err);
        }
        if (code == INQ_OK) {
            line->at[line->n++] = (struct end){end_ns, row->step};
            j->longest = line->n > j->longest ? line->n : j->longest;
        }
    }
    for (size_t i = from; i < part->n && code == INQ_OK; i++) {
        code = inq_sort(part->lines[i].at, part->lines[i].n, sizeof *part->lines[i].at,
                        compare_ends, NULL, j->err);
    }
    return code;
}

static int list_lines(struct join *j, const struct inq_comm_rows *rows)
{
    size_t n_lanes = 0;
    for (size_t r = 0; r < j->trace->n_ranks; r++) {
        n_lanes = j->trace->ranks[r].n_lanes > n_lanes ? j->trace->ranks[r].n_lanes : n_lanes;
    }
    j->line_of = inq_mem_zalloc(n_lanes + 1, sizeof *j->line_of);
    int code = j->line_of != NULL
                   ? INQ_OK
                   : inq_err_set(j->err, INQ_NOMEM, "out of memory for %zu streams", n_lanes);
    for (uint32_t c = 0; code == INQ_OK && c < rows->n_channels; c++) {
        for (size_t s = rows->first_side[c];
             rows->channels[c].bare != 0 && s < rows->first_side[c + 1] && code == INQ_OK; s++) {
            code = add_side(j, c, &rows->sides[s]);
        }
    }
    return code;
}

/* ---- one difference -------------------------------------------------------------------------- */

/* A receive may be posted in the step before its send. */
static bool same_step(const struct end *a, const struct end *b)
{
    return a->step < 0 || b->step < 0 || llabs(a->step - b->step) <= 1;
}

/* How many ends of two lines pair where those of `x` are so much later; notes by how much in `at`.
 */
static size_t count_pairs(const struct line *x, const struct line *y, int64_t later_ns, int64_t *at)
{
    size_t n = 0;
    for (size_t i = 0, k = 0; i < x->n && k < y->n;) {
        int64_t apart_ns = x->at[i].end_ns - y->at[k].end_ns;
        bool pair = llabs(apart_ns - later_ns) <= TOGETHER_NS && same_step(&x->at[i], &y->at[k]);
        if (pair) {
            at[n++] = apart_ns;
        }
        bool first = apart_ns < later_ns;
        i += pair || first;
        k += pair || !first;
    }
    return n;
}

/* Every how manyth line of `x` votes on how far it is from `y`; 0: too many would have to. Odd,
 * since ranks have as many streams each, and take their turns with them. */
static size_t stride_of(const struct join *j, const struct part *x, const struct part *y)
{
    size_t twos = j->parts->n * (j->parts->n - 1) / 2;
    size_t most = y->n > 0 ? MOST_LOOKED_AT / twos / y->n : 0;
    most = most < MOST_LINES ? most : MOST_LINES;
    size_t stride = most > 0 ? (x->n + most - 1) / most : 0;
    return most < LEAST_LINES ? 0 : stride | 1;
}

/* Ends of a line that the other was recorded at, too. */
static size_t count_meanwhile(const struct line *x, const struct line *y, int64_t later_ns)
{
    size_t n = 0;
    for (size_t i = 0; i < x->n; i++) {
        int64_t at_ns = x->at[i].end_ns - later_ns;
        n +=
            at_ns >= y->at[0].end_ns - TOGETHER_NS && at_ns <= y->at[y->n - 1].end_ns + TOGETHER_NS;
    }
    return n;
}

/* Of `n` ends of two lines that pair: that many times which part they are of those of the line that
 * has fewer meanwhile. None where the lines are of others: partners' pair, or every second one
 * where a stream serves two neighbors. */
static size_t weigh(const struct line *x, const struct line *y, size_t n, int64_t later_ns)
{
    size_t a = count_meanwhile(x, y, later_ns);
    size_t b = count_meanwhile(y, x, -later_ns);
    size_t fewer = a < b ? a : b;
    size_t half =
        (x->n < y->n ? x->n : y->n) / 2; /* what was recorded together is chance if less */
    bool partners = n >= LEAST_PAIRS && fewer >= half && n * PARTNER_PARTS >= fewer * MOST_OF_PARTS;
    return partners ? n * n / fewer : 0;
}

/* The weight of all that pairs if `x` is so much later; notes by how much it is in apart_ns. */
static size_t weigh_all(struct join *j, const struct part *x, const struct part *y,
                        int64_t later_ns)
{
    size_t stride = stride_of(j, x, y);
    size_t sum = 0;
    j->n_apart = 0;
    for (size_t a = 0; a < x->n; a += stride) {
        size_t most = 0;
        size_t best = 0;
        for (size_t b = 0; b < y->n; b++) {
            bool one = x->lines[a].channel == y->lines[b].channel;
            int64_t *room = j->apart_ns + j->n_apart + most;
            size_t n = one ? count_pairs(&x->lines[a], &y->lines[b], later_ns, room) : 0;
            if (n > most) {
                memmove(room - most, room, n * sizeof *room);
                most = n;
                best = b;
            }
        }
        size_t weight = weigh(&x->lines[a], &y->lines[best], most, later_ns);
        j->n_apart += weight > 0 ? most : 0;
        sum += weight;
    }
    return sum;
}

/* ---- two parts ------------------------------------------------------------------------------- */

/* Whether a difference is another than that of `but`; NULL: in any case. */
static bool is_elsewhere(int64_t later_ns, const struct candidate *but)
{
    return but == NULL || llabs(later_ns - but->later_ns) > ELSEWHERE_NS;
}

/* What lies between the ends of two lines, of some of the one and all of the other. */
static void collect_votes(struct join *j, const struct line *x, const struct line *y,
                          const struct candidate *but)
{
    size_t stride = (x->n + MOST_ENDS - 1) / MOST_ENDS;
    j->n_votes = 0;
    for (size_t i = 0; i < x->n; i += stride) {
        for (size_t k = 0; k < y->n; k++) {
            int64_t apart_ns = x->at[i].end_ns - y->at[k].end_ns;
            if (same_step(&x->at[i], &y->at[k]) && is_elsewhere(apart_ns, but)) {
                j->votes_ns[j->n_votes++] = apart_ns;
            }
        }
    }
    inq_sort_i64(j->votes_ns, j->n_votes);
}

/* Where most votes are. */
static struct candidate most_voted(const struct join *j)
{
    struct candidate best = {0};
    for (size_t lo = 0, hi = 0; lo < j->n_votes; lo++) {
        while (hi < j->n_votes && j->votes_ns[hi] - j->votes_ns[lo] <= 2 * TOGETHER_NS) {
            hi++;
        }
        if (hi - lo > best.votes) {
            best = (struct candidate){j->votes_ns[lo + (hi - lo - 1) / 2], hi - lo};
        }
    }
    return best;
}

/* Keeps those with the most votes, none near another. */
static void keep_candidate(struct candidate *of, size_t *n, struct candidate own)
{
    size_t at = *n;
    size_t least = 0;
    for (size_t k = 0; k < *n; k++) {
        at = llabs(of[k].later_ns - own.later_ns) <= TOGETHER_NS ? k : at;
        least = of[k].votes < of[least].votes ? k : least;
    }
    at = at == CANDIDATES ? least : at;
    if (at == *n || of[at].votes < own.votes) {
        *n += at == *n;
        of[at] = own;
    }
}

/* What two lines each say first; of what is elsewhere than `but`. */
static size_t find_candidates(struct join *j, const struct part *x, const struct part *y,
                              const struct candidate *but, struct candidate *of)
{
    size_t stride = stride_of(j, x, y);
    size_t n = 0;
    for (size_t a = 0; a < x->n && stride > 0; a += stride) {
        for (size_t b = 0; b < y->n; b++) {
            if (x->lines[a].channel == y->lines[b].channel) {
                collect_votes(j, &x->lines[a], &y->lines[b], but);
                keep_candidate(of, &n, most_voted(j));
            }
        }
    }
    return n;
}

/* The difference with the most weight, of those elsewhere than `but`; 0: none has any. */
static size_t find_heaviest(struct join *j, const struct part *x, const struct part *y,
                            const struct candidate *but, struct candidate *best)
{
    struct candidate of[CANDIDATES];
    size_t n = find_candidates(j, x, y, but, of);
    size_t most = 0;
    for (size_t k = 0; k < n; k++) {
        size_t weight = weigh_all(j, x, y, of[k].later_ns);
        if (weight > most) {
            most = weight;
            *best = of[k];
        }
    }
    return most;
}

/* How far two parts are apart, if their ends tell. Two lines name only what they say first, which
 * where work repeats may be one repetition off: all are asked again for anything else. */
static void compare_two(struct join *j, uint32_t x, uint32_t y)
{
    struct candidate best = {0};
    struct candidate other = {0};
    size_t most = find_heaviest(j, &j->of[x], &j->of[y], NULL, &best);
    if (most >= LEAST_WEIGHT &&
        most >= find_heaviest(j, &j->of[x], &j->of[y], &best, &other) + LEAST_WEIGHT) {
        (void)weigh_all(j, &j->of[x], &j->of[y], best.later_ns);
        inq_sort_i64(j->apart_ns, j->n_apart);
        j->edges[j->n_edges++] = (struct edge){x, y, most, j->apart_ns[j->n_apart / 2]};
    }
}

/* ---- all of them ----------------------------------------------------------------------------- */

static int compare_edges(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    const struct edge *x = a;
    const struct edge *y = b;
    if (x->weight != y->weight) {
        return x->weight > y->weight ? -1 : 1;
    }
    return x->x != y->x ? (x->x < y->x ? -1 : 1) : (x->y > y->y) - (x->y < y->y);
}

/* Whether some part of the whole would be too far from the one it is joined with. */
static bool moves_too_far(const struct join *j, uint32_t whole, int64_t more_ns)
{
    bool far = inq_clock_too_far(more_ns);
    for (uint32_t p = 0; p < j->parts->n && !far; p++) {
        far = j->of[p].whole == whole && inq_clock_too_far(j->of[p].add_ns + more_ns);
    }
    return far;
}

/* What is to be added to each part, along the edges with the most weight. */
static void follow_edges(const struct join *j)
{
    for (size_t e = 0; e < j->n_edges; e++) {
        const struct edge *edge = &j->edges[e];
        uint32_t from = j->of[edge->y].whole;
        uint32_t to = j->of[edge->x].whole;
        if (from == to || inq_clock_too_far(edge->later_ns)) {
            continue;
        }
        int64_t more_ns = edge->later_ns + j->of[edge->x].add_ns - j->of[edge->y].add_ns;
        bool far = moves_too_far(j, from, more_ns);
        for (uint32_t p = 0; p < j->parts->n && !far; p++) {
            struct part *part = &j->of[p];
            part->add_ns += part->whole == from ? more_ns : 0;
            part->whole = part->whole == from ? to : part->whole;
        }
    }
}

static void move(struct inq_clock *clock, int64_t add_ns)
{
    clock->offset_ns += add_ns;
    for (size_t i = 0; i < clock->n_later; i++) {
        clock->later[i].offset_ns += add_ns;
    }
}

static int join_all(struct join *j)
{
    for (uint32_t x = 0; x < j->parts->n; x++) {
        j->of[x].whole = x;
        for (uint32_t y = x + 1; y < j->parts->n; y++) {
            compare_two(j, x, y);
        }
    }
    int code = inq_sort(j->edges, j->n_edges, sizeof *j->edges, compare_edges, NULL, j->err);
    if (code == INQ_OK) {
        follow_edges(j);
    }
    for (size_t s = 0; s < j->clocks->n && code == INQ_OK; s++) {
        move(&j->clocks->at[s], j->of[j->parts->of_source[s]].add_ns);
    }
    return code;
}

int inq_clock_join_exchanges(const struct inq_trace *trace, const struct inq_comm_rows *rows,
                             const struct inq_clock_parts *parts, struct inq_clocks *clocks,
                             struct inq_err *err)
{
    struct part of[MOST_PARTS] = {0};
    struct edge edges[MOST_PARTS * MOST_PARTS / 2];
    struct join j = {
        .trace = trace, .parts = parts, .clocks = clocks, .of = of, .edges = edges, .err = err};
    if (parts->n < 2 || parts->n > MOST_PARTS) {
        return INQ_OK;
    }
    int code = list_lines(&j, rows);
    size_t room = j.longest * (MOST_LINES + 1) + 1; /* of each that votes, and of one more */
    j.votes_ns = inq_mem_alloc((j.longest * MOST_ENDS + 1) * sizeof *j.votes_ns);
    j.apart_ns = inq_mem_alloc(room * sizeof *j.apart_ns);
    if (code == INQ_OK && (j.votes_ns == NULL || j.apart_ns == NULL)) {
        code = inq_err_set(err, INQ_NOMEM, "out of memory for clocks");
    }
    code = code == INQ_OK ? join_all(&j) : code;
    for (size_t p = 0; p < parts->n; p++) {
        for (size_t i = 0; i < of[p].n; i++) {
            inq_mem_free(of[p].lines[i].at);
        }
        inq_mem_free(of[p].lines);
    }
    inq_mem_free(j.line_of);
    inq_mem_free(j.votes_ns);
    inq_mem_free(j.apart_ns);
    return code;
}
