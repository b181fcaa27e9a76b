/* SPDX-License-Identifier: Apache-2.0 */
/* First estimate of the clocks, before anything is matched. Members of a synchronising collective
 * end together, so for the right pairs of two ranks' rows the difference of their ends is the
 * difference of their clocks, and all right pairs vote for one value; wrong pairs scatter. */
#include "trace/comm_rows.h"

#include "base/mem.h"
#include "base/par.h"
#include "base/sort.h"
#include "base/stats.h"
#include "trace/classify.h"

#include <string.h>

enum {
    MAX_ANCHORS = 256,    /* rows of one rank that vote */
    MAX_CANDIDATES = 512, /* rows of the other that each is paired with, nearest in time */
    /* By how much a peak has to outweigh that of the pairs of one recorded step: in a regular run
     * with drift some other step fits a little better. */
    MUCH_HEAVIER = 8
};
/* Ends of one collective differ by some us, and drift moves them by tens of us in a capture. */
static const int64_t PEAK_WIDTH_NS = 100000;
/* Nothing is gained by a peak narrower than what ends differ by anyway. */
static const int64_t SHARP_NS = 10000;

struct votes {
    int64_t *diff_ns;
    size_t n, cap;
    size_t anchors;
    bool by_step; /* only rows of one recorded step are paired */
    uint32_t *bins;
    size_t cap_bins;
};

static bool synchronises(const struct inq_comm_row *row)
{
    return row->family >= INQ_COLL_KIND_COUNT ||
           inq_coll_synchronises((enum inq_coll_kind)row->family);
}

static int64_t distance(int64_t a, int64_t b)
{
    return a > b ? a - b : b - a;
}

/* Index of the row in b[0..n) whose end is nearest to `end_ns`; rows are in order of time. */
static size_t nearest(const struct inq_comm_row *b, size_t n, int64_t end_ns)
{
    size_t low = 0;
    size_t high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (b[middle].end_ns < end_ns) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool left = low == n ||
                (low > 0 && distance(b[low - 1].end_ns, end_ns) < distance(b[low].end_ns, end_ns));
    return left && low > 0 ? low - 1 : low;
}

/* Pairs one anchor with the rows of the same kind around its time. */
static int vote(struct votes *votes, const struct inq_comm_row *anchor,
                const struct inq_comm_row *b, size_t n, struct inq_err *err)
{
    size_t middle = nearest(b, n, anchor->end_ns);
    size_t from = middle > MAX_CANDIDATES / 2 ? middle - MAX_CANDIDATES / 2 : 0;
    size_t to = n - from > MAX_CANDIDATES ? from + MAX_CANDIDATES : n;
    int code = inq_mem_grow(&votes->diff_ns, &votes->cap, votes->n + (to - from),
                            sizeof *votes->diff_ns, SIZE_MAX / 16, err);
    for (size_t i = from; code == INQ_OK && i < to; i++) {
        bool same_step = anchor->step >= 0 && anchor->step == b[i].step;
        if ((same_step || !votes->by_step) && inq_comm_rows_agree(anchor, &b[i])) {
            votes->diff_ns[votes->n++] = anchor->end_ns - b[i].end_ns;
        }
    }
    votes->anchors++;
    return code;
}

/* First row of `channel` in a rank's rows, and through *n their number. */
static const struct inq_comm_row *channel_rows(const struct inq_comm_rows *rows, size_t rank,
                                               uint32_t channel, size_t *n)
{
    const struct inq_comm_row *all = rows->rows[rank];
    size_t low = 0;
    size_t high = rows->n_rows[rank];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (all[middle].channel < channel) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    size_t end = low;
    while (end < rows->n_rows[rank] && all[end].channel == channel) {
        end++;
    }
    *n = end - low;
    return all + low;
}

/* Which rows are anchors: the first that gives any votes counts. A bare send and receive may be
 * with anybody: two replicas in step make a peak anywhere. */
enum anchors { NAMED_SYNC, SYNC, ALL, ANCHOR_KINDS };

static bool is_anchor(const struct inq_comm_row *row, enum anchors anchors)
{
    return anchors == ALL || (synchronises(row) && (anchors == SYNC || !row->nameless));
}

static int collect_votes(const struct inq_comm_rows *rows, size_t a, size_t b, enum anchors anchors,
                         struct votes *votes, struct inq_err *err)
{
    size_t n_a = rows->n_rows[a];
    size_t stride = n_a / MAX_ANCHORS + 1;
    const struct inq_comm_row *other = NULL;
    size_t n_other = 0;
    uint32_t channel = INQ_NONE;
    votes->n = 0;
    votes->anchors = 0;
    int code = INQ_OK;
    for (size_t i = 0; code == INQ_OK && i < n_a; i += stride) {
        const struct inq_comm_row *anchor = &rows->rows[a][i];
        if (!is_anchor(anchor, anchors)) {
            continue;
        }
        if (anchor->channel != channel) {
            channel = anchor->channel;
            other = channel_rows(rows, b, channel, &n_other);
        }
        if (n_other > 0) {
            code = vote(votes, anchor, other, n_other, err);
        }
    }
    return code;
}

/* ---- the peak -------------------------------------------------------------------------------- */

struct peak {
    size_t votes;
    int64_t center_ns;
    int64_t spread_ns;
};

/* Many votes, close together. In a regular run all pairs that are a step apart vote for one value
 * as well, and may be more where the windows differ, but they scatter with the length of a step. */
static double weight(const struct peak *peak)
{
    double votes = (double)peak->votes;
    return votes * votes / (double)(SHARP_NS + peak->spread_ns);
}

static bool better(const struct peak *a, const struct peak *b)
{
    double weight_a = weight(a);
    double weight_b = weight(b);
    if (weight_a * 10 < weight_b * 9 || weight_b * 10 < weight_a * 9) {
        return weight_a > weight_b;
    }
    /* as good: the smaller offset, since hosts' clocks are set by NTP to far less than a step */
    return distance(a->center_ns, 0) < distance(b->center_ns, 0);
}

/* The best window of PEAK_WIDTH_NS over the sorted votes. */
static struct peak find_peak(const struct votes *votes)
{
    struct peak best = {0};
    size_t from = 0;
    for (size_t to = 0; to < votes->n; to++) {
        while (votes->diff_ns[to] - votes->diff_ns[from] > PEAK_WIDTH_NS) {
            from++;
        }
        size_t n = to - from + 1;
        const int64_t *window = votes->diff_ns + from;
        struct peak peak = {.votes = n,
                            .center_ns = window[(n - 1) / 2],
                            .spread_ns = window[n * 3 / 4] - window[n / 4]};
        if (best.votes == 0 || better(&peak, &best)) {
            best = peak;
        }
    }
    return best;
}

/* ---- thinning -------------------------------------------------------------------------------- */

enum { MAX_BINS = 1 << 20, FEWER = 8 };

/* Votes in the bin and in its busier neighbour: no window that reaches into the bin has more. */
static uint32_t crowd(const uint32_t *bins, size_t n_bins, size_t bin)
{
    uint32_t left = bin > 0 ? bins[bin - 1] : 0;
    uint32_t right = bin + 1 < n_bins ? bins[bin + 1] : 0;
    return bins[bin] + (left > right ? left : right);
}

/* Drops the votes that can be in no peak before they are sorted: weight() falls with the square of
 * the votes and rises by at most 1 + PEAK_WIDTH_NS / SHARP_NS = 11 with their sharpness, so that a
 * window with an eighth of the busiest one's votes is never better. */
static int thin(struct votes *votes, struct inq_err *err)
{
    int64_t low = INT64_MAX;
    int64_t high = INT64_MIN;
    for (size_t i = 0; i < votes->n; i++) {
        low = votes->diff_ns[i] < low ? votes->diff_ns[i] : low;
        high = votes->diff_ns[i] > high ? votes->diff_ns[i] : high;
    }
    uint64_t n_bins =
        votes->n == 0 ? 0 : ((uint64_t)high - (uint64_t)low) / (uint64_t)PEAK_WIDTH_NS + 1;
    if (n_bins <= 2 || n_bins > MAX_BINS) {
        return INQ_OK;
    }
    int code =
        inq_mem_grow(&votes->bins, &votes->cap_bins, n_bins, sizeof *votes->bins, MAX_BINS, err);
    if (code != INQ_OK) {
        return code;
    }
    memset(votes->bins, 0, n_bins * sizeof *votes->bins);
    for (size_t i = 0; i < votes->n; i++) {
        votes->bins[(votes->diff_ns[i] - low) / PEAK_WIDTH_NS]++;
    }
    uint32_t most = 0;
    for (size_t bin = 0; bin < n_bins; bin++) {
        uint32_t n = crowd(votes->bins, n_bins, bin);
        most = n > most ? n : most;
    }
    size_t kept = 0;
    for (size_t i = 0; i < votes->n; i++) {
        size_t bin = (size_t)((votes->diff_ns[i] - low) / PEAK_WIDTH_NS);
        if (crowd(votes->bins, n_bins, bin) * (uint64_t)FEWER >= most) {
            votes->diff_ns[kept++] = votes->diff_ns[i];
        }
    }
    votes->n = kept;
    return INQ_OK;
}

/* The peak of the pairs of two ranks; without votes where there are none. */
static int vote_for_peak(const struct inq_comm_rows *rows, size_t a, size_t b, struct votes *votes,
                         struct peak *peak, struct inq_err *err)
{
    int code = INQ_OK;
    *peak = (struct peak){0};
    votes->n = 0;
    for (int anchors = 0; code == INQ_OK && votes->n == 0 && anchors < ANCHOR_KINDS; anchors++) {
        code = collect_votes(rows, a, b, (enum anchors)anchors, votes, err);
    }
    if (code == INQ_OK) {
        code = thin(votes, err);
    }
    if (code != INQ_OK || votes->n == 0) {
        return code;
    }
    inq_sort_i64(votes->diff_ns, votes->n);
    *peak = find_peak(votes);
    return INQ_OK;
}

static int find_offset(const struct inq_comm_rows *rows, size_t a, size_t b, struct votes *votes,
                       int64_t *offset_ns, struct inq_err *err)
{
    struct peak of_step;
    struct peak peak = {0};
    votes->by_step = true;
    int code = vote_for_peak(rows, a, b, votes, &of_step, err);
    bool clear = of_step.votes >= 3 && of_step.votes * 4 >= votes->anchors * 3;
    if (code == INQ_OK && !clear) {
        votes->by_step = false;
        code = vote_for_peak(rows, a, b, votes, &peak, err);
    }
    if (of_step.votes >= 3 && weight(&peak) <= weight(&of_step) * MUCH_HEAVIER) {
        peak = of_step;
    }
    /* one pair alone proves nothing, unless there is no more to compare */
    bool enough = peak.votes >= 3 || peak.votes * 2 > votes->anchors;
    *offset_ns = enough ? peak.center_ns : 0;
    return code;
}

/* Pairs of one rank with others. */
struct pairs {
    const struct inq_comm_rows *rows;
    size_t rank;
    const uint32_t *others;
    int64_t *between_ns;
};

static int estimate_pair(void *ctx, size_t i, struct inq_err *err)
{
    const struct pairs *pairs = ctx;
    struct votes votes = {0};
    pairs->between_ns[i] = 0;
    int code =
        find_offset(pairs->rows, pairs->rank, pairs->others[i], &votes, &pairs->between_ns[i], err);
    inq_mem_free(votes.diff_ns);
    inq_mem_free(votes.bins);
    return code;
}

/* ---- from pairs to all ranks ----------------------------------------------------------------- */

/* Ranks that have rows in each channel, to walk from rank to rank through what they share. */
struct membership {
    size_t *start;   /* [n_channels + 1] into ranks */
    uint32_t *ranks; /* ascending within a channel */
};

static void for_each_channel(const struct inq_comm_rows *rows, size_t rank,
                             void (*visit)(void *ctx, size_t rank, uint32_t channel), void *ctx)
{
    uint32_t last = INQ_NONE;
    for (size_t i = 0; i < rows->n_rows[rank]; i++) {
        if (rows->rows[rank][i].channel != last) {
            last = rows->rows[rank][i].channel;
            visit(ctx, rank, last);
        }
    }
}

static void count_member(void *ctx, size_t rank, uint32_t channel)
{
    (void)rank;
    struct membership *m = ctx;
    m->start[channel + 1]++;
}

struct fill {
    struct membership *m;
    size_t *next;
};

static void fill_member(void *ctx, size_t rank, uint32_t channel)
{
    struct fill *fill = ctx;
    fill->m->ranks[fill->next[channel]++] = (uint32_t)rank;
}

static int membership_init(struct membership *m, const struct inq_comm_rows *rows,
                           struct inq_err *err)
{
    m->start = inq_mem_zalloc(rows->n_channels + 1, sizeof *m->start);
    size_t *next = inq_mem_zalloc(rows->n_channels + 1, sizeof *next);
    int code = m->start == NULL || next == NULL ? INQ_NOMEM : INQ_OK;
    for (size_t r = 0; code == INQ_OK && r < rows->n_ranks; r++) {
        for_each_channel(rows, r, count_member, m);
    }
    for (size_t c = 0; code == INQ_OK && c < rows->n_channels; c++) {
        m->start[c + 1] += m->start[c];
        next[c] = m->start[c];
    }
    if (code == INQ_OK) {
        m->ranks = inq_mem_alloc(m->start[rows->n_channels] * sizeof *m->ranks);
        code = m->ranks == NULL ? INQ_NOMEM : INQ_OK;
    }
    struct fill fill = {m, next};
    for (size_t r = 0; code == INQ_OK && r < rows->n_ranks; r++) {
        for_each_channel(rows, r, fill_member, &fill);
    }
    inq_mem_free(next);
    return code == INQ_OK ? INQ_OK : inq_err_set(err, INQ_NOMEM, "out of memory for channels");
}

/* Breadth first from rank to rank. */
struct walk {
    const struct inq_comm_rows *rows;
    const struct membership *members;
    int jobs;
    int64_t *offset_ns, *between_ns; /* [n_ranks]; between: of the ranks at the queue's end */
    uint8_t *reached, *channel_done;
    bool named_only; /* leaves out channels of bare sends and receives */
    uint32_t *queue;
    size_t head, tail;
    int code;
    struct inq_err *err;
};

/* Whether the channel begins, on this rank, with a bare send or receive. */
static bool is_bare(const struct inq_comm_rows *rows, size_t rank, uint32_t channel)
{
    size_t n = 0;
    const struct inq_comm_row *first = channel_rows(rows, rank, channel, &n);
    return n > 0 && first->nameless;
}

/* Reaches everyone who shares this channel with `rank`. */
static void spread(void *ctx, size_t rank, uint32_t channel)
{
    struct walk *w = ctx;
    if (w->channel_done[channel] || w->code != INQ_OK ||
        (w->named_only && is_bare(w->rows, rank, channel))) {
        return;
    }
    w->channel_done[channel] = 1;
    size_t first = w->tail;
    for (size_t i = w->members->start[channel]; i < w->members->start[channel + 1]; i++) {
        uint32_t other = w->members->ranks[i];
        if (!w->reached[other]) {
            w->reached[other] = 1;
            w->queue[w->tail++] = other;
        }
    }
    struct pairs pairs = {w->rows, rank, w->queue + first, w->between_ns};
    w->code = inq_par_for(w->tail - first, w->jobs, estimate_pair, &pairs, w->err);
    for (size_t i = first; i < w->tail; i++) {
        w->offset_ns[w->queue[i]] = w->offset_ns[rank] + w->between_ns[i - first];
    }
}

static void walk_all(struct walk *w)
{
    for (size_t root = 0; root < w->rows->n_ranks; root++) {
        if (w->reached[root]) {
            continue;
        }
        w->reached[root] = 1;
        size_t first = w->tail;
        w->queue[w->tail++] = (uint32_t)root;
        for (int pass = 0; pass < 2; pass++) {
            w->named_only = pass == 0;
            w->head = first;
            while (w->head < w->tail && w->code == INQ_OK) {
                for_each_channel(w->rows, w->queue[w->head++], spread, w);
            }
        }
    }
}

int inq_clock_first_offsets(const struct inq_trace *trace, const struct inq_comm_rows *rows,
                            int jobs, int64_t *offset_ns, struct inq_err *err)
{
    size_t n = trace->n_ranks;
    memset(offset_ns, 0, n * sizeof *offset_ns);
    struct membership members = {0};
    int code = membership_init(&members, rows, err);
    struct walk w = {
        .rows = rows, .members = &members, .jobs = jobs, .offset_ns = offset_ns, .err = err};
    w.between_ns = inq_mem_zalloc(n, sizeof *w.between_ns);
    w.reached = inq_mem_zalloc(n, 1);
    w.channel_done = inq_mem_zalloc(rows->n_channels, 1);
    w.queue = inq_mem_alloc(n * sizeof *w.queue);
    if (code == INQ_OK &&
        (w.between_ns == NULL || w.reached == NULL || w.channel_done == NULL || w.queue == NULL)) {
        code = inq_err_set(err, INQ_NOMEM, "out of memory for %zu clocks", n);
    }
    if (code == INQ_OK) {
        walk_all(&w);
        code = w.code;
    }
    inq_mem_free(w.reached);
    inq_mem_free(w.channel_done);
    inq_mem_free(w.queue);
    inq_mem_free(w.between_ns);
    inq_mem_free(members.start);
    inq_mem_free(members.ranks);
    return code;
}
