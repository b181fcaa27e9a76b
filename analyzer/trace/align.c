/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/align.h"

#include <stdlib.h>

/* Two clocks run apart by no more than this part of the time (200 ppm: twice the worst crystal). */
enum { DRIFT_PART = 5000 };
/* By how much the same interval may differ on two members, the narrowest that fits: ends of one
 * collective differ by microseconds where its members leave together, by more where they do not. */
static const int64_t JITTER_NS[] = {25000, 100000, 400000, 1600000};
enum { N_JITTERS = sizeof JITTER_NS / sizeof *JITTER_NS };
/* Intervals that are looked at to judge one shift, first a few, then more. */
enum { FEW_SAMPLES = 8, SAMPLES = 64 };
/* Parts of a thousand of them that fit: where rows are in place nearly all do; where a hole parts
 * them still most. */
enum { IN_PLACE = 900, MOSTLY = 600, ALIKE = 50 };
/* With fewer intervals than this any shift may fit by chance; where neither count nor clock tells
 * anything, two that fit closely are better than nothing. */
enum { LEAST_INTERVALS = 4, BARE_LEAST = 2 };
/* How far the partner of a row is sought behind a hole, and how many intervals confirm it. */
enum { LOOK_AHEAD = 1024, CONFIRM = 4 };
/* Ends of one operation that no other fits better differ by no more than this on one clock. A
 * sender may end long before its receiver; where rows are missing, that is no reason to pair. */
static const int64_t SYNC_TOLERANCE_NS = 20000000;
static const int64_t LOOSE_TOLERANCE_NS = 1000000000;

/* A part of both sequences that is aligned by itself. */
struct window {
    const struct inq_align_row *a, *b;
    size_t n, m;
    bool timed; /* what a's clock is ahead of b's is known: */
    int64_t ahead_ns;
    bool by_step;   /* rows of different recorded steps are different operations */
    uint32_t first; /* of a in its sequence */
    uint32_t *match;
    int64_t jitter_ns;
};

static int64_t ahead(const struct window *w, size_t i, size_t j)
{
    return w->a[i].end_ns - w->b[j].end_ns;
}

static bool agree(const struct window *w, size_t i, size_t j)
{
    const struct inq_align_row *a = &w->a[i];
    const struct inq_align_row *b = &w->b[j];
    bool other_step = w->by_step && a->step >= 0 && b->step >= 0 && a->step != b->step;
    return !other_step && inq_align_agree(a, b);
}

/* A sender may end long before its receiver; what is left between steps that are whole is no reason
 * to think so. */
static int64_t tolerance(const struct window *w, size_t j)
{
    return w->b[j].syncs || w->by_step ? SYNC_TOLERANCE_NS : LOOSE_TOLERANCE_NS;
}

/* ---- one shift for all ----------------------------------------------------------------------- */

/* Whether rows (i, j) and the ones behind them can be the same two operations. */
static bool same_interval(const struct window *w, size_t i, size_t j, int64_t jitter_ns)
{
    int64_t own_ns = w->b[j + 1].end_ns - w->b[j].end_ns;
    int64_t apart_ns = w->a[i + 1].end_ns - w->a[i].end_ns - own_ns;
    return llabs(apart_ns) <= jitter_ns + llabs(own_ns) / DRIFT_PART && agree(w, i, j) &&
           agree(w, i + 1, j + 1);
}

/* Rows j of b from *lo up to *hi have a partner j + shift in a. */
static void overlap(const struct window *w, ptrdiff_t shift, size_t *lo, size_t *hi)
{
    *lo = shift < 0 ? (size_t)-shift : 0;
    ptrdiff_t most = (ptrdiff_t)w->n - shift;
    *hi = most < (ptrdiff_t)w->m ? (most > 0 ? (size_t)most : 0) : w->m;
}

/* Parts of a thousand intervals that fit with b moved by `shift`, of at most `samples`; fewer where
 * little of the two overlaps. -1: too little to say. */
static int score(const struct window *w, ptrdiff_t shift, int64_t jitter_ns, size_t samples)
{
    size_t lo;
    size_t hi;
    overlap(w, shift, &lo, &hi);
    if (hi < lo + 2) {
        return -1;
    }
    size_t n = hi - lo - 1;
    size_t taken = n < samples ? n : samples;
    size_t fit = 0;
    for (size_t k = 0; k < taken; k++) {
        size_t j = lo + n * k / taken;
        fit += same_interval(w, (size_t)((ptrdiff_t)j + shift), j, jitter_ns);
    }
    size_t half = (w->n < w->m ? w->n : w->m) / 2;
    size_t part = half > 0 && hi - lo < half ? (hi - lo) * 1000 / half : 1000;
    return taken > 0 ? (int)(fit * part / taken) : -1;
}

/* Where in a the row lies that ended nearest to `end_ns`. */
static size_t nearest(const struct window *w, int64_t end_ns)
{
    size_t low = 0;
    size_t high = w->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (w->a[middle].end_ns < end_ns) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool left =
        low == w->n || (low > 0 && end_ns - w->a[low - 1].end_ns < w->a[low].end_ns - end_ns);
    return left && low > 0 ? low - 1 : low;
}

enum { MAX_GUESSES = 6 };

/* Shifts that are likely, the likeliest first. */
static size_t guess(const struct window *w, ptrdiff_t *guesses)
{
    size_t n = 0;
    if (!w->timed && w->n == w->m) {
        guesses[n++] = 0;
    }
    for (size_t part = 1; part <= 3; part++) { /* by time, at three places */
        size_t j = w->m * (part == 1 ? 2 : part == 2 ? 1 : 3) / 4;
        size_t i = nearest(w, w->b[j].end_ns + w->ahead_ns);
        guesses[n++] = (ptrdiff_t)i - (ptrdiff_t)j;
    }
    guesses[n++] = 0;
    guesses[n++] = (ptrdiff_t)w->n - (ptrdiff_t)w->m;
    return n;
}

static bool few(const struct window *w)
{
    return w->n <= LEAST_INTERVALS || w->m <= LEAST_INTERVALS;
}

/* Whether rows that are `shift` apart ended near each other, by what is known of the clocks. */
static bool is_near(const struct window *w, size_t lo, size_t hi, ptrdiff_t shift)
{
    size_t j = lo + (hi - lo) / 2;
    return llabs(ahead(w, (size_t)((ptrdiff_t)j + shift), j) - w->ahead_ns) <= tolerance(w, j);
}

/* The shift that most intervals fit, `fit` parts of a thousand at least; only of rows that ended
 * near each other, if `near`. */
static bool search(const struct window *w, ptrdiff_t likeliest, int fit, bool near,
                   ptrdiff_t *found)
{
    size_t least = few(w) ? BARE_LEAST : LEAST_INTERVALS;
    int best = fit - 1;
    for (ptrdiff_t shift = 1 - (ptrdiff_t)w->m; shift < (ptrdiff_t)w->n; shift++) {
        size_t lo;
        size_t hi;
        overlap(w, shift, &lo, &hi);
        if (hi < lo + least + 1 || (near && !is_near(w, lo, hi, shift)) ||
            score(w, shift, w->jitter_ns, FEW_SAMPLES) < fit - ALIKE) {
            continue;
        }
        int here = score(w, shift, w->jitter_ns, SAMPLES);
        bool nearer = labs(shift - likeliest) < labs(*found - likeliest);
        if (here > best + ALIKE || (best >= fit && here >= best - ALIKE && nearer) ||
            (best < fit && here > best)) {
            *found = shift;
            best = here > best ? here : best;
        }
    }
    return best >= fit;
}

/* How far b lies behind a, and how much its intervals differ. Where clocks are known, work that
 * repeats fits a period off as well: then most intervals of rows that ended far apart count only
 * where nothing near does. False: nothing fits. */
static bool find_shift(struct window *w, ptrdiff_t *shift)
{
    ptrdiff_t guesses[MAX_GUESSES];
    size_t n = guess(w, guesses);
    for (size_t level = 0; level < (few(w) ? 1 : N_JITTERS); level++) {
        w->jitter_ns = JITTER_NS[level];
        for (size_t g = 0; g < n; g++) {
            if (score(w, guesses[g], w->jitter_ns, SAMPLES) >= IN_PLACE) {
                *shift = guesses[g];
                return true;
            }
        }
        if ((w->timed && search(w, guesses[0], MOSTLY, true, shift)) ||
            search(w, guesses[0], w->timed ? IN_PLACE : MOSTLY, false, shift)) {
            return true;
        }
    }
    for (size_t level = 0; w->timed && level < (few(w) ? 1 : N_JITTERS); level++) {
        w->jitter_ns = JITTER_NS[level];
        if (search(w, guesses[0], MOSTLY, false, shift)) {
            return true;
        }
    }
    return false;
}

/* ---- row by row ------------------------------------------------------------------------------ */

/* Where a walk stands: the next rows, which way it goes, and what a's clock was ahead last. */
struct walk {
    ptrdiff_t i, j;
    int way;
    int64_t ahead_ns, last_ns;
};

static bool inside(const struct window *w, ptrdiff_t i, ptrdiff_t j)
{
    return i >= 0 && j >= 0 && i < (ptrdiff_t)w->n && j < (ptrdiff_t)w->m;
}

static bool fits(const struct window *w, const struct walk *at, ptrdiff_t i, ptrdiff_t j)
{
    int64_t apart_ns = ahead(w, (size_t)i, (size_t)j) - at->ahead_ns;
    int64_t drift_ns = llabs(w->b[j].end_ns - at->last_ns) / DRIFT_PART;
    return llabs(apart_ns) <= 2 * w->jitter_ns + drift_ns && agree(w, (size_t)i, (size_t)j);
}

/* The next two rows, across a hole on either side, that ended together. */
static bool seek(const struct window *w, const struct walk *at, ptrdiff_t *i, ptrdiff_t *j)
{
    for (int n = 0; n < LOOK_AHEAD && inside(w, *i, *j); n++) {
        if (fits(w, at, *i, *j)) {
            return true;
        }
        bool a_first = at->way * (ahead(w, (size_t)*i, (size_t)*j) - at->ahead_ns) < 0;
        *(a_first ? i : j) += at->way;
    }
    return false;
}

/* Whether the intervals behind two rows are the same. */
static bool goes_on(const struct window *w, ptrdiff_t i, ptrdiff_t j, int way)
{
    int n = 0;
    for (; n < CONFIRM && inside(w, i + way, j + way); n++, i += way, j += way) {
        size_t first = (size_t)(way > 0 ? i : i - 1);
        size_t other = (size_t)(way > 0 ? j : j - 1);
        if (!same_interval(w, first, other, w->jitter_ns)) {
            return false;
        }
    }
    return n > 0;
}

static void take(const struct window *w, struct walk *at, bool on_time)
{
    w->match[at->j] = w->first + (uint32_t)at->i;
    if (on_time && w->b[at->j].syncs) {
        at->ahead_ns = ahead(w, (size_t)at->i, (size_t)at->j);
        at->last_ns = w->b[at->j].end_ns;
    }
    at->i += at->way;
    at->j += at->way;
}

/* Whether as many rows are left on both sides: then none is missing. */
static bool as_many_left(const struct window *w, const struct walk *at)
{
    return at->way > 0 ? (ptrdiff_t)w->n - at->i == (ptrdiff_t)w->m - at->j : at->i == at->j;
}

/* Two next rows that did not end together: a hole, a clock that was set, or members that leave on
 * their own. */
static void step_over(const struct window *w, struct walk *at)
{
    ptrdiff_t i = at->i;
    ptrdiff_t j = at->j;
    bool hole = seek(w, at, &i, &j);
    bool same = agree(w, (size_t)at->i, (size_t)at->j);
    bool in_order = same && goes_on(w, at->i, at->j, at->way);
    if (hole && !(in_order && as_many_left(w, at)) && (!in_order || goes_on(w, i, j, at->way))) {
        at->i = i;
        at->j = j;
        take(w, at, true);
        return;
    }
    if (in_order) {
        take(w, at, true);
        return;
    }
    int64_t apart_ns = ahead(w, (size_t)at->i, (size_t)at->j) - at->ahead_ns;
    if (same && llabs(apart_ns) <= tolerance(w, (size_t)at->j)) {
        take(w, at, false);
        return;
    }
    *(at->way * apart_ns < 0 ? &at->i : &at->j) += at->way;
}

static void walk(const struct window *w, struct walk at)
{
    while (inside(w, at.i, at.j)) {
        if (fits(w, &at, at.i, at.j)) {
            take(w, &at, true);
        } else {
            step_over(w, &at);
        }
    }
}

/* The middle of the longest stretch in which all intervals fit. */
static size_t find_anchor(const struct window *w, ptrdiff_t shift)
{
    size_t lo;
    size_t hi;
    overlap(w, shift, &lo, &hi);
    size_t best = lo;
    size_t longest = 0;
    size_t run = 0;
    for (size_t j = lo; j + 1 < hi; j++) {
        run = same_interval(w, (size_t)((ptrdiff_t)j + shift), j, w->jitter_ns) ? run + 1 : 0;
        if (run > longest) {
            longest = run;
            best = j + 1 - run / 2;
        }
    }
    return best;
}

/* ---- one window ------------------------------------------------------------------------------ */

static bool all_agree(const struct window *w)
{
    for (size_t j = 0; w->n == w->m && j < w->m; j++) {
        if (!agree(w, j, j)) {
            return false;
        }
    }
    return w->n == w->m;
}

static void match_all(const struct window *w)
{
    for (size_t j = 0; j < w->m; j++) {
        w->match[j] = w->first + (uint32_t)j;
    }
}

/* Whether most two rows ended together, as far as one clock can tell; some may have been recorded
 * just when it was set. */
static bool most_near(const struct window *w)
{
    size_t near = 0;
    for (size_t j = 0; j < w->m; j++) {
        near += llabs(ahead(w, j, j) - w->ahead_ns) <= tolerance(w, j);
    }
    return near * 2 >= w->m;
}

/* Whether row j of b ended together with one of a: with row j, in place, or with the nearest. */
static bool is_together(const struct window *w, size_t j, bool in_place)
{
    size_t i = in_place ? j : nearest(w, w->b[j].end_ns + w->ahead_ns);
    return i < w->n && agree(w, i, j) && llabs(ahead(w, i, j) - w->ahead_ns) <= 2 * w->jitter_ns;
}

static size_t count_together(const struct window *w, bool in_place)
{
    size_t together = 0;
    for (size_t j = 0; j < w->m; j++) {
        together += is_together(w, j, in_place);
    }
    return together;
}

/* Whether rows that ended together are out of place. Of those that may end long before their
 * partner some end beside another row by chance, but not half of them. */
static bool are_moved(const struct window *w)
{
    size_t elsewhere = count_together(w, false);
    return elsewhere > count_together(w, true) && (w->b[0].syncs || 2 * elsewhere >= w->m);
}

/* From the first two rows that ended together, both ways; else in order. */
static void walk_few(const struct window *w)
{
    size_t j = 0;
    while (j < w->m && !is_together(w, j, false)) {
        j++;
    }
    size_t i = j < w->m ? nearest(w, w->b[j].end_ns + w->ahead_ns) : 0;
    j = j < w->m ? j : 0;
    walk(w, (struct walk){(ptrdiff_t)i, (ptrdiff_t)j, 1, w->ahead_ns, w->b[j].end_ns});
    walk(w, (struct walk){(ptrdiff_t)i - 1, (ptrdiff_t)j - 1, -1, w->ahead_ns, w->b[j].end_ns});
}

/* Too few rows, or nothing fits: what little there is. As many on both sides go by order, unless
 * one clock tells that captures which were cut elsewhere have as many by chance: near is not
 * together. */
static void align_few(struct window *w)
{
    w->jitter_ns = JITTER_NS[1];
    bool whole = all_agree(w);
    if (whole && (!w->timed || (most_near(w) && !are_moved(w)))) {
        match_all(w);
    } else if (w->timed) {
        walk_few(w);
    }
}

static void align_window(struct window *w)
{
    ptrdiff_t shift = 0;
    size_t fewer = w->n < w->m ? w->n : w->m;
    if (fewer == 0) {
        return;
    }
    bool known = few(w) && (w->timed || w->n == w->m || fewer <= BARE_LEAST);
    if (known || !find_shift(w, &shift)) {
        align_few(w);
        return;
    }
    if (shift == 0 && all_agree(w)) {
        match_all(w);
        return;
    }
    size_t j = find_anchor(w, shift);
    ptrdiff_t i = (ptrdiff_t)j + shift;
    int64_t ahead_ns = ahead(w, (size_t)i, j);
    walk(w, (struct walk){i, (ptrdiff_t)j, 1, ahead_ns, w->b[j].end_ns});
    walk(w, (struct walk){i - 1, (ptrdiff_t)j - 1, -1, ahead_ns, w->b[j].end_ns});
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* The place of a row among the recorded steps: within one, or behind it. */
static int64_t place_of(const struct inq_align_row *row, int64_t before)
{
    if (row->step >= 0) {
        return 2 * row->step;
    }
    return before == INT64_MIN ? before : before | 1;
}

/* Whether the rows have recorded steps, in order. */
static bool has_steps(const struct inq_align_row *rows, size_t n)
{
    int64_t place = INT64_MIN;
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        int64_t here = place_of(&rows[i], place);
        if (here < place) {
            return false;
        }
        any = any || rows[i].step >= 0;
        place = here;
    }
    return any;
}

/* The rows of one place, from `lo` on. */
static size_t end_of_place(const struct inq_align_row *rows, size_t n, size_t lo, int64_t place)
{
    size_t hi = lo;
    while (hi < n && place_of(&rows[hi], place) == place) {
        hi++;
    }
    return hi;
}

/* What a's clock is ahead of b's near row `j`, by what is matched; false: nothing is. */
static bool ahead_near(const struct inq_alignment *pair, size_t j, int64_t *ahead_ns)
{
    for (size_t far = 0; far < pair->m; far++) {
        for (int way = 0; way < 2; way++) {
            size_t k = way == 0 ? j - far : j + far;
            if (k < pair->m && pair->match[k] != INQ_NONE) {
                *ahead_ns = pair->a[pair->match[k]].end_ns - pair->b[k].end_ns;
                return true;
            }
        }
    }
    return false;
}

/* Steps of which both have as many rows. False: there is none. */
static bool align_steps(const struct inq_alignment *pair)
{
    int64_t place_a = INT64_MIN;
    int64_t place_b = INT64_MIN;
    bool any = false;
    size_t i = 0;
    size_t j = 0;
    while (i < pair->n && j < pair->m) {
        place_a = place_of(&pair->a[i], place_a);
        place_b = place_of(&pair->b[j], place_b);
        size_t i_end = end_of_place(pair->a, pair->n, i, place_a);
        size_t j_end = end_of_place(pair->b, pair->m, j, place_b);
        struct window w = {.a = pair->a + i,
                           .b = pair->b + j,
                           .n = i_end - i,
                           .m = j_end - j,
                           .first = (uint32_t)i,
                           .match = pair->match + j};
        if (place_a == place_b && place_a != INT64_MIN && (place_a & 1) == 0 && all_agree(&w)) {
            match_all(&w);
            any = true;
        }
        i = place_a <= place_b ? i_end : i;
        j = place_b <= place_a ? j_end : j;
    }
    return any;
}

/* What lies between those steps: steps that the captures cut, and rows outside of any. */
static void align_rest(const struct inq_alignment *pair)
{
    size_t i = 0;
    for (size_t j = 0, hi; j < pair->m; j = hi) {
        if (pair->match[j] != INQ_NONE) {
            i = pair->match[j] + 1;
            hi = j + 1;
            continue;
        }
        for (hi = j; hi < pair->m && pair->match[hi] == INQ_NONE;) {
            hi++;
        }
        size_t i_end = hi < pair->m ? pair->match[hi] : pair->n;
        struct window w = {.a = pair->a + i,
                           .b = pair->b + j,
                           .n = i_end - i,
                           .m = hi - j,
                           .by_step = true,
                           .first = (uint32_t)i,
                           .match = pair->match + j};
        w.timed = pair->one_clock || ahead_near(pair, j, &w.ahead_ns);
        align_window(&w);
    }
}

/* ---- numbers --------------------------------------------------------------------------------- */

static int compare_numbers(const struct inq_align_row *a, const struct inq_align_row *b)
{
    if (a->number != b->number) {
        return a->number < b->number ? -1 : 1;
    }
    return a->call < b->call ? -1 : a->call > b->call;
}

static void align_numbers(const struct inq_alignment *pair)
{
    size_t i = 0;
    size_t j = 0;
    while (i < pair->n && j < pair->m) {
        int order = compare_numbers(&pair->a[i], &pair->b[j]);
        if (order == 0 && inq_align_agree(&pair->a[i], &pair->b[j])) {
            pair->match[j] = (uint32_t)i;
        }
        i += order <= 0;
        j += order >= 0;
    }
}

/* ---- all ------------------------------------------------------------------------------------- */

static void start_over(const struct inq_alignment *pair)
{
    for (size_t j = 0; j < pair->m; j++) {
        pair->match[j] = INQ_NONE;
    }
}

static void align_whole(const struct inq_alignment *pair)
{
    struct window w = {.a = pair->a,
                       .b = pair->b,
                       .n = pair->n,
                       .m = pair->m,
                       .timed = pair->one_clock,
                       .match = pair->match};
    align_window(&w);
}

/* Pairs that ended together, on one clock. */
static size_t count_paired_together(const struct inq_alignment *pair)
{
    size_t together = 0;
    for (size_t j = 0; j < pair->m; j++) {
        together += pair->match[j] != INQ_NONE &&
                    llabs(pair->a[pair->match[j]].end_ns - pair->b[j].end_ns) <= JITTER_NS[1];
    }
    return together;
}

/* A receive may be posted in the step before its send: then the steps have equal counts and their
 * rows are one off. On one clock the ends tell: the steps count only where they do not disagree. */
static void align_by_steps(const struct inq_alignment *pair)
{
    size_t fewer = pair->n < pair->m ? pair->n : pair->m;
    align_rest(pair);
    size_t together = pair->one_clock ? count_paired_together(pair) : fewer;
    if (together * 1000 >= fewer * IN_PLACE) {
        return;
    }
    start_over(pair);
    align_whole(pair);
    if (count_paired_together(pair) <= together) {
        start_over(pair);
        (void)align_steps(pair);
        align_rest(pair);
    }
}

void inq_align(const struct inq_alignment *pair)
{
    start_over(pair);
    if (pair->n > 0 && pair->m > 0 && pair->a[0].number >= 0 && pair->b[0].number >= 0) {
        align_numbers(pair);
    } else if (has_steps(pair->a, pair->n) && has_steps(pair->b, pair->m) && align_steps(pair)) {
        align_by_steps(pair);
    } else {
        align_whole(pair);
    }
}
