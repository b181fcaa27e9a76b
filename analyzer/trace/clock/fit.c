/* SPDX-License-Identifier: Apache-2.0 */
/* One clock against another: straight pieces. */
#include "trace/clock/clock.h"

#include "base/mem.h"
#include "base/sort.h"
#include "base/stats.h"

#include <stdlib.h>

enum {
    MIN_SLOPE_POINTS = 4, /* two halves whose medians make a slope */
    KNOT_POINTS = 24,     /* of one knot: its median is good to a fifth of what ends differ by */
    MAX_KNOTS = 64,
    SIDE_POINTS = 5,   /* on either side of a place where the clock may have been set */
    DRIFT_PART = 5000, /* 200 ppm: what no clock drifts */
    SLOPE_PART = 1000, /* five times that: no noise of few ends makes it seem so */
    POINTS_OF_SET = 2 * SIDE_POINTS, /* fewer between two sets: ends that do not belong together */
    CLEARLY = 4                      /* times what ends differ by anyway */
};
static const int64_t KNOT_SPAN_NS = 1000000000;
/* A clock that was set jumps by more than ends differ. */
static const int64_t LEAST_JUMP_NS = 300000;
/* Less than this over a capture is no drift. */
static const int64_t LEAST_DRIFT_NS = 20000;

struct fit {
    struct inq_clock_point *points;
    size_t n;
    int64_t *scratch; /* [n] */
    int64_t noise_ns;
    struct inq_clock_piece *pieces;
    size_t n_pieces, cap;
    size_t n_sets;   /* how often the clock seems to have been set */
    bool impossible; /* no clock does what the points say */
    struct inq_err *err;
};

int64_t inq_clock_common_ns(const struct inq_clock *clock, int64_t raw_ns)
{
    struct inq_clock_piece at = {clock->ref_ns, clock->offset_ns, clock->drift_ppb};
    size_t low = 0;
    size_t high = clock->n_later;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (clock->later[middle].from_ns <= raw_ns) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    at = low > 0 ? clock->later[low - 1] : at;
    double drifted = (double)(raw_ns - at.from_ns) * (double)at.drift_ppb / 1e9;
    return raw_ns + at.offset_ns + (int64_t)drifted;
}

static int compare_points(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    const struct inq_clock_point *x = a;
    const struct inq_clock_point *y = b;
    return x->raw_ns < y->raw_ns ? -1 : x->raw_ns > y->raw_ns;
}

/* What is added at the points, for a median. */
static int64_t *copy_adds(const struct fit *f, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        f->scratch[i - from] = f->points[i].add_ns;
    }
    return f->scratch;
}

/* One of them, also where the clock was set among them. */
static int64_t median_add(const struct fit *f, size_t from, size_t to)
{
    return inq_lower_median_i64(copy_adds(f, from, to), to - from);
}

static int64_t measure_noise(const struct fit *f)
{
    for (size_t i = 1; i < f->n; i++) {
        f->scratch[i - 1] = llabs(f->points[i].add_ns - f->points[i - 1].add_ns);
    }
    int64_t noise_ns = f->n > 1 ? inq_lower_median_i64(f->scratch, f->n - 1) : 0;
    const int64_t most_ns = INT64_MAX / 2 / CLEARLY / CLEARLY; /* absurd times; fits below */
    return noise_ns < most_ns ? noise_ns : most_ns;
}

/* Whether the clock was set between points i - 1 and i of a stretch that began at `from`. */
static bool was_set(const struct fit *f, size_t from, size_t i)
{
    int64_t jump_ns = f->points[i].add_ns - f->points[i - 1].add_ns;
    int64_t gap_ns = f->points[i].raw_ns - f->points[i - 1].raw_ns;
    int64_t least_ns = (int64_t)CLEARLY * CLEARLY * f->noise_ns;
    least_ns = (least_ns > LEAST_JUMP_NS ? least_ns : LEAST_JUMP_NS) + gap_ns / DRIFT_PART;
    if (llabs(jump_ns) <= least_ns) {
        return false;
    }
    size_t lo = i - from > SIDE_POINTS ? i - SIDE_POINTS : from;
    size_t hi = f->n - i > SIDE_POINTS ? i + SIDE_POINTS : f->n;
    int64_t change_ns = median_add(f, i, hi) - median_add(f, lo, i);
    bool enough = i - lo >= 2 && hi - i >= 2;
    return enough && llabs(change_ns - jump_ns) <= llabs(jump_ns) / 2;
}

static int add_piece(struct fit *f, struct inq_clock_point at, double slope, int64_t from_ns)
{
    int code =
        inq_mem_grow(&f->pieces, &f->cap, f->n_pieces + 1, sizeof *f->pieces, UINT32_MAX, f->err);
    if (code == INQ_OK) {
        int64_t there_ns = (int64_t)((double)(from_ns - at.raw_ns) * slope);
        f->pieces[f->n_pieces++] =
            (struct inq_clock_piece){from_ns, at.add_ns + there_ns, (int64_t)(slope * 1e9)};
    }
    return code;
}

static size_t count_knots(const struct fit *f, size_t from, size_t to)
{
    int64_t span_ns = f->points[to - 1].raw_ns - f->points[from].raw_ns;
    size_t most = (size_t)(span_ns / KNOT_SPAN_NS);
    size_t n = (to - from) / KNOT_POINTS;
    n = n < most ? n : most;
    n = n < MAX_KNOTS ? n : MAX_KNOTS;
    return n > 2 ? n : 2;
}

/* What belongs to the middle in time of the points: between two bursts of collectives that lies in
 * the middle between them. */
static int64_t middle_add(const struct fit *f, size_t from, size_t to)
{
    return inq_median_i64(copy_adds(f, from, to), to - from);
}

/* Whether a clock may run from knot to knot. Where it may not, but the ends are no further apart
 * than ends are, they report no drift; else of no clock. */
static bool may_drift(struct fit *f, const struct inq_clock_point *knots, size_t n)
{
    bool may = true;
    for (size_t k = 1; k < n; k++) {
        int64_t span_ns = knots[k].raw_ns - knots[k - 1].raw_ns;
        int64_t change_ns = llabs(knots[k].add_ns - knots[k - 1].add_ns);
        bool steep = change_ns > span_ns / SLOPE_PART;
        may = may && !steep;
        f->impossible = f->impossible || (steep && change_ns > LEAST_JUMP_NS);
    }
    return may;
}

/* Medians of equal shares of the points. */
static size_t find_knots(struct fit *f, size_t from, size_t to, struct inq_clock_point *knots)
{
    size_t n = to - from < MIN_SLOPE_POINTS ? 1 : count_knots(f, from, to);
    int64_t least_ns = INT64_MAX;
    int64_t most_ns = INT64_MIN;
    for (size_t k = 0; k < n; k++) {
        size_t lo = from + (to - from) * k / n;
        size_t hi = from + (to - from) * (k + 1) / n;
        int64_t first_ns = f->points[lo + (hi - lo - 1) / 2].raw_ns;
        int64_t other_ns = f->points[lo + (hi - lo) / 2].raw_ns;
        knots[k] =
            (struct inq_clock_point){first_ns + (other_ns - first_ns) / 2, middle_add(f, lo, hi)};
        least_ns = knots[k].add_ns < least_ns ? knots[k].add_ns : least_ns;
        most_ns = knots[k].add_ns > most_ns ? knots[k].add_ns : most_ns;
    }
    bool drifts = most_ns - least_ns >= LEAST_DRIFT_NS &&
                  most_ns - least_ns >= CLEARLY * f->noise_ns &&
                  knots[n - 1].raw_ns > knots[0].raw_ns;
    if (n > 1 && !(drifts && may_drift(f, knots, n))) {
        knots[0].add_ns = median_add(f, from, to);
        return 1;
    }
    return n;
}

/* The pieces of a stretch in which the clock was not set. */
static int fit_stretch(struct fit *f, size_t from, size_t to)
{
    struct inq_clock_point knots[MAX_KNOTS];
    size_t n = find_knots(f, from, to, knots);
    int64_t begin_ns = f->points[from].raw_ns;
    if (from > 0) {
        begin_ns -= (begin_ns - f->points[from - 1].raw_ns) / 2;
    }
    if (n == 1) {
        return add_piece(f, knots[0], 0, begin_ns);
    }
    int code = INQ_OK;
    for (size_t k = 0; k + 1 < n && code == INQ_OK; k++) {
        int64_t span_ns = knots[k + 1].raw_ns - knots[k].raw_ns;
        double slope =
            span_ns > 0 ? (double)(knots[k + 1].add_ns - knots[k].add_ns) / (double)span_ns : 0;
        code = add_piece(f, knots[k], slope, k == 0 ? begin_ns : knots[k].raw_ns);
    }
    return code;
}

static int fit_stretches(struct fit *f)
{
    int code = INQ_OK;
    for (size_t lo = 0, hi; lo < f->n && code == INQ_OK; lo = hi) {
        for (hi = lo + 1; hi < f->n && !was_set(f, lo, hi);) {
            hi++;
        }
        f->n_sets += lo > 0;
        code = fit_stretch(f, lo, hi);
    }
    f->impossible = f->impossible || f->n_sets * POINTS_OF_SET > f->n;
    return code;
}

/* Keeps the points that a clock can show; returns how many. */
static size_t keep_possible(struct inq_clock_point *points, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        points[kept] = points[i];
        kept += !inq_clock_too_far(points[i].raw_ns) && !inq_clock_too_far(points[i].add_ns);
    }
    return kept;
}

int inq_clock_fit(struct inq_clock_point *points, size_t n, struct inq_clock *clock, bool *possible,
                  struct inq_err *err)
{
    n = keep_possible(points, n);
    struct fit f = {.points = points, .n = n, .err = err};
    int code = inq_sort(points, n, sizeof *points, compare_points, NULL, err);
    f.scratch = inq_mem_alloc((n + 1) * sizeof *f.scratch);
    if (code == INQ_OK && f.scratch == NULL) {
        code = inq_err_set(err, INQ_NOMEM, "out of memory for %zu ends", n);
    }
    if (code == INQ_OK) {
        f.noise_ns = measure_noise(&f);
        code = fit_stretches(&f);
    }
    *possible = code == INQ_OK && f.n_pieces > 0 && !f.impossible;
    if (*possible) {
        clock->ref_ns = f.pieces[0].from_ns;
        clock->offset_ns = f.pieces[0].offset_ns;
        clock->drift_ppb = f.pieces[0].drift_ppb;
        clock->n_later = f.n_pieces - 1;
        for (size_t i = 0; i < clock->n_later; i++) {
            f.pieces[i] = f.pieces[i + 1];
        }
        clock->later = f.pieces;
        f.pieces = NULL;
    }
    inq_mem_free(f.pieces);
    inq_mem_free(f.scratch);
    return code;
}
