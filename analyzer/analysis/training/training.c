/* SPDX-License-Identifier: Apache-2.0 */
/* Training output: where loss and speed went wrong. Rules: inquest-report(5). */
#include "analysis/training/series.h"

#include "analysis/analysis.h"
#include "base/arena_text.h"
#include "base/sort.h"
#include "base/stats.h"
#include "base/words.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* ---- Where the loss jumps, leaves its course or is no number --------------------------------- */

enum {
    PARTS = 40,      /* of a run: a slow rise spans several, and each has a median */
    FEW_ROWS = 60,   /* three rows past the quantile at 95 % */
    MANY_ROWS = 200, /* a jump that lasts is a small part of them */
    FAR_ROWS = 400,  /* four rows past the quantile at 99 % */
    NORM_ROWS = 5,   /* a loss scaler halves its scale a few times on end in a healthy run */
    NORM_START = 32, /* at the start it comes down from 2^32 or less: one row a halving */
    SHIFT_ROWS = 3,  /* so many high rows on end are another level, no tail */
    RISING = 3,      /* last rows that may be part of the rise itself */
    FOOT_ROWS = 6    /* a rise over more rows is a drift */
};

/* Beyond 6 sigma no row of a normal distribution falls in a run of any length; a fifth is what a
 * reader of the curve would see. */
static const double LEAST_SIGMAS = 6.0, LEAST_SHARE = 0.20;
/* Rows that begin a jump, where they are how the loss is. */
static const double OFTEN = 0.03;

/* ---- no number ------------------------------------------------------------------------------- */

enum { FINITE, NO_NORM, NO_LOSS };

static int state_of(const struct inq_training_series *s, size_t row)
{
    if (!isfinite(s->loss[row])) {
        return NO_LOSS;
    }
    /* a loss of exactly 0 is what a trainer prints that filters NaN */
    return !isinf(s->norm[row])                       ? FINITE
           : s->loss[row] > 0.0 || s->loss[row] < 0.0 ? NO_NORM
                                                      : NO_LOSS;
}

/* Rows of the span on end, from i on, that have no number; *worst gets how bad, *first where the
 * worst begins, unless the norm was gone long before. */
static size_t end_of_gap(const struct inq_training_series *s, const struct inq_training_span *span,
                         size_t i, size_t *first, int *worst)
{
    *first = i;
    *worst = state_of(s, span->row[i]);
    for (i++; i < span->n && *worst != FINITE; i++) {
        int state = state_of(s, span->row[i]);
        if (state == FINITE) {
            break;
        }
        *first = state > *worst && i - *first < NORM_ROWS ? i : *first;
        *worst = state > *worst ? state : *worst;
    }
    return i;
}

static const char *gap_text(const struct inq_training_series *s, size_t row, bool risen)
{
    if (state_of(s, row) == NO_NORM) {
        return risen ? "the gradient norm is not finite while the loss rises"
                     : "the gradient norm is not finite";
    }
    return isinf(s->loss[row]) ? "the loss is infinite" : "the loss is NaN";
}

static void find_gaps(struct inq_training_series *s, const struct inq_training_span *span)
{
    for (size_t i = span->past; i < span->n; i++) {
        size_t first;
        int worst;
        size_t end = end_of_gap(s, span, i, &first, &worst);
        bool risen = end == span->n && s->loss[span->row[end - 1]] > s->loss[span->row[first]];
        size_t least = first == span->past && !risen ? NORM_START : NORM_ROWS;
        if (worst == NO_LOSS || (worst == NO_NORM && end - first >= least)) {
            size_t row = span->row[first];
            (void)inq_training_add(s, INQ_TRAINING_NOT_FINITE, row, span->row[end - 1],
                                   gap_text(s, row, risen));
        }
        i = worst == FINITE ? i : end - 1;
    }
}

/* Look for events; in this order. */
static void training_find_not_finite(struct inq_training_series *s)
{
    for (size_t k = 0; k < s->n_spans; k++) {
        find_gaps(s, &s->spans[k]);
    }
}

/* ---- what is usual --------------------------------------------------------------------------- */

/* The losses of a span, on the scale on which they are judged. */
struct course {
    struct inq_training_series *s;
    const struct inq_training_span *span;
    double *at; /* [n]; NaN: not finite */
    bool log;   /* logarithms */
    size_t begin;
    double sigmas;
};

/* What is usual in front of a row. */
struct usual {
    double level, sigma;
    double top;    /* the largest residual; not of the last rows, which may rise already */
    double recent; /* the largest of some rows before, as it is */
};

static double loss_at(const struct course *c, size_t i)
{
    return c->s->loss[c->span->row[i]];
}

static double real(const struct course *c, double value)
{
    return c->log ? exp(value) : value;
}

/* Values of up to W rows before row i, oldest first; their number. */
static size_t before(const struct course *c, size_t i, double *out)
{
    size_t n = 0;
    for (size_t k = i; k-- > 0 && n < INQ_TRAINING_WINDOW;) {
        bool warm = c->span->past > 0 || k >= INQ_TRAINING_WARM_UP;
        if (!isnan(c->at[k]) && warm) {
            out[INQ_TRAINING_WINDOW - ++n] = c->at[k];
        }
    }
    return n;
}

/* Level at row i, with the trend where it falls; false: too few rows. */
static bool usual_at(const struct course *c, size_t i, struct usual *u)
{
    double room[INQ_TRAINING_WINDOW];
    size_t n = before(c, i, room);
    double *v = room + INQ_TRAINING_WINDOW - n;
    if (n < INQ_TRAINING_LEAST) {
        return false;
    }
    size_t third = n / 3;
    u->recent = v[n - INQ_TRAINING_LEAST];
    for (size_t k = n - INQ_TRAINING_LEAST; k + RISING < n; k++) {
        u->recent = v[k] > u->recent ? v[k] : u->recent;
    }
    double slope = (inq_training_median(v + n - third, third) - inq_training_median(v, third)) /
                   (double)(n - third);
    for (size_t k = 0; k < n && slope < 0.0; k++) {
        v[k] += slope * (double)(n - k);
    }
    u->level = inq_training_median(v, n);
    u->top = 0.0;
    for (size_t k = 0; k + RISING < n; k++) {
        u->top = v[k] - u->level > u->top ? v[k] - u->level : u->top;
    }
    u->sigma = INQ_MAD_SIGMA * inq_mad(v, n, u->level) * (1.0 + 8.0 / (double)n);
    return true;
}

/* The last digit that the losses in front of row i show: their least difference. */
static double digit_at(const struct course *c, size_t i)
{
    double least = (double)INFINITY;
    for (size_t k = i; k-- > 1 && k + INQ_TRAINING_WINDOW > i;) {
        double apart = fabs(loss_at(c, k) - loss_at(c, k - 1));
        least = apart > 0.0 && apart < least ? apart : least;
    }
    return isfinite(least) ? least : 0.0;
}

static double limit_of(const struct course *c, size_t i, const struct usual *u)
{
    double level = real(c, u->level);
    double limit = u->level + c->sigmas * u->sigma;
    double share = level + LEAST_SHARE * fabs(level);
    double digits = level + 3.0 * digit_at(c, i);
    double least = share > digits ? share : digits;
    least = c->log ? log(least) : least;
    limit = limit > least ? limit : least;
    least = u->level + 1.5 * u->top;
    least = least > u->recent ? least : u->recent;
    return limit > least ? limit : least;
}

/* Where a tail that goes through two quantiles, of the shares `near` and `far`, leaves the share
 * `rare`: -ln(2 P) grows with a power of the residual (2 for a normal distribution). */
static double reach(double near, double at_near, double far, double at_far, double rare)
{
    if (!(at_near > 0.0) || !(at_far > at_near)) {
        return 0.0;
    }
    double power = log(log(2.0 * far) / log(2.0 * near)) / log(at_far / at_near);
    return at_far * pow(log(2.0 * rare) / log(2.0 * far), 1.0 / power);
}

/* How many sigmas one row in 1000 runs is above, by the tail of this run's own residuals: its
 * quantiles at 80 % and 95 %, far from its middle and not moved by a few spikes; of many rows that
 * at 99 %, too, for tails that grow heavier. */
static double tail_sigmas(struct course *c)
{
    size_t n = 0;
    size_t stride = c->span->n / 4096 + 1;
    size_t high = 0; /* of the last ones */
    double *space = c->s->space;
    for (size_t i = c->begin; i < c->span->n; i += stride) {
        struct usual u;
        if (isnan(c->at[i]) || !usual_at(c, i, &u) || !(u.sigma > 0.0)) {
            continue;
        }
        double sigmas = (c->at[i] - u.level) / u.sigma;
        if (sigmas <= LEAST_SIGMAS) {
            n -= high >= SHIFT_ROWS ? high : 0; /* no noise: the level is another */
            high = 0;
        } else {
            high++;
        }
        space[n++] = sigmas;
    }
    n -= high >= SHIFT_ROWS ? high : 0;
    if (n * stride < FEW_ROWS) {
        return LEAST_SIGMAS;
    }
    double q80 = inq_quantile(space, n, 0.80);
    double q95 = inq_quantile(space, n, 0.95);
    double rare = 0.001 / (double)c->span->n;
    double sigmas = fmax(LEAST_SIGMAS, reach(0.2, q80, 0.05, q95, rare));
    if (n * stride < MANY_ROWS) { /* a jump that lasts is a large part of them */
        return fmin(sigmas, 2.0 * LEAST_SIGMAS);
    }
    if (n * stride >= FAR_ROWS) {
        sigmas = fmax(sigmas, reach(0.05, q95, 0.01, inq_quantile(space, n, 0.99), rare));
    }
    return sigmas;
}

static bool begin_course(struct course *c)
{
    size_t n = c->span->n;
    c->at = inq_arena_array(c->s->scratch, n, sizeof *c->at);
    c->log = true;
    for (size_t i = 0; i < n; i++) {
        c->log = c->log && (loss_at(c, i) > 0.0 || !isfinite(loss_at(c, i)));
    }
    for (size_t i = 0; i < n && c->at != NULL; i++) {
        double loss = loss_at(c, i);
        c->at[i] = !isfinite(loss) ? (double)NAN : c->log ? log(loss) : loss;
    }
    c->begin = c->span->past > 0 ? c->span->past : INQ_TRAINING_WARM_UP;
    return c->at != NULL;
}

/* ---- jumps ----------------------------------------------------------------------------------- */

struct jump {
    size_t first, last;
    size_t near; /* rows that `first` is exact to */
    double level, limit, top;
};

/* The rows from `first` on that are above its limit, at most a window apart. */
static void follow(const struct course *c, struct jump *jump)
{
    jump->last = jump->first;
    jump->top = c->at[jump->first];
    for (size_t i = jump->first; i < c->span->n && i <= jump->last + INQ_TRAINING_WINDOW; i++) {
        double value = c->at[i];
        if (isnan(value) || value > jump->limit) {
            jump->last = i;
            jump->top = value > jump->top ? value : jump->top;
        }
    }
}

/* A jump over several rows begins before the row that is beyond doubt. */
static size_t foot_of(const struct course *c, size_t i, const struct usual *u)
{
    double share = real(c, u->level) + LEAST_SHARE / 2.0 * fabs(real(c, u->level));
    double limit = u->level + LEAST_SIGMAS / 2.0 * u->sigma;
    double least = c->log ? log(share) : share;
    limit = limit > least ? limit : least;
    size_t first = i;
    while (first > c->begin && i - first < FOOT_ROWS && c->at[first - 1] > limit) {
        first--;
    }
    return first;
}

/* Jumps in order of rows. */
static size_t find_jumps(const struct course *c, struct jump *jumps)
{
    size_t n = 0;
    for (size_t i = c->begin; i < c->span->n; i++) {
        struct usual u;
        bool rises = i == 0 || !(c->at[i] <= c->at[i - 1]);
        if (isnan(c->at[i]) || !rises || !usual_at(c, i, &u)) {
            continue;
        }
        double limit = limit_of(c, i, &u);
        if (c->at[i] > limit) {
            jumps[n] = (struct jump){.first = i, .level = u.level, .limit = limit};
            follow(c, &jumps[n]);
            jumps[n].first = foot_of(c, i, &u);
            i = jumps[n++].last;
        }
    }
    return n;
}

/* Rows that jump alone, again and again, are how this loss is: what is twice as high as most of
 * them is left. */
static size_t drop_usual(const struct course *c, struct jump *jumps, size_t n)
{
    if (n < 3 || (double)n < OFTEN * (double)(c->span->n - c->begin)) {
        return n;
    }
    double *space = c->s->space;
    for (size_t i = 0; i < n; i++) {
        space[i] = jumps[i].top - jumps[i].level;
    }
    double most = 2.0 * inq_median(space, n);
    size_t to = 0;
    for (size_t i = 0; i < n; i++) {
        if (jumps[i].top - jumps[i].level > most) {
            jumps[to++] = jumps[i];
        }
    }
    return to;
}

/* Whether most of the last rows are still above: it stayed there. */
static bool stays(const struct course *c, const struct jump *jump)
{
    size_t n = 0;
    size_t above = 0;
    for (size_t i = c->span->n; i > jump->first && n < INQ_TRAINING_WINDOW; i--) {
        above += isnan(c->at[i - 1]) || c->at[i - 1] > jump->limit;
        n++;
    }
    return jump->last + INQ_TRAINING_TO_END >= c->span->n && n >= INQ_TRAINING_TO_END &&
           above * 2 > n;
}

static bool add_jump(struct course *c, const struct jump *jump, bool gone)
{
    const size_t *row = c->span->row;
    double level = real(c, jump->level);
    double top = real(c, jump->top);
    struct inq_training_event *event =
        inq_training_add(c->s, gone ? INQ_TRAINING_DIVERGENCE : INQ_TRAINING_LOSS_SPIKE,
                         row[jump->first], row[gone ? c->span->n - 1 : jump->last],
                         inq_arena_printf(c->s->arena, "the loss %s from %.4g to %.4g",
                                          gone ? "leaves its course," : "jumps", level, top));
    if (event != NULL) {
        event->measured = top;
        event->expected = level;
    }
    return event != NULL;
}

/* ---- slow rises ------------------------------------------------------------------------------ */

/* Medians of equal parts of [begin, n); their number. */
static size_t part_medians(const struct course *c, size_t len, double *out)
{
    size_t n = 0;
    for (size_t from = c->begin; from + len <= c->span->n; from += len) {
        size_t k = 0;
        for (size_t i = from; i < from + len; i++) {
            if (!isnan(c->at[i])) {
                c->s->space[k++] = c->at[i];
            }
        }
        if (k > 0) {
            out[n++] = inq_median(c->s->space, k);
        }
    }
    return n;
}

/* Of the rows around `at` the one from which on they are above `middle` by most. */
static size_t step_near(const struct course *c, size_t at, size_t len, double middle)
{
    size_t from = at > c->begin + len ? at - len : c->begin;
    size_t to = at + 2 * len < c->span->n ? at + 2 * len : c->span->n;
    double sum = 0.0;
    double most = 0.0;
    for (size_t i = to; i-- > from;) {
        sum += isnan(c->at[i]) ? 0.0 : c->at[i] - middle;
        if (sum > most) {
            most = sum;
            at = i;
        }
    }
    return at;
}

/* The part of n from which on all are above `limit`; n: the loss only rose, it has no course. */
static size_t first_above(const double *parts, size_t n, double limit)
{
    size_t at = n - 1;
    while (at > 0 && parts[at - 1] > limit) {
        at--;
    }
    bool fell = at * 4 >= n;
    for (size_t i = 0; i < at; i++) {
        fell = fell || parts[i] > limit;
    }
    return fell ? at : n;
}

/* A level that rises too slowly, or in too much noise, for a jump, to the end: where it left the
 * least one; false: none. */
static bool find_drift(const struct course *c, struct jump *jump)
{
    double parts[PARTS * 2];
    double apart[PARTS * 2];
    size_t len = (c->span->n - c->begin) / PARTS;
    len = len > INQ_TRAINING_WARM_UP ? len : INQ_TRAINING_WARM_UP;
    size_t n = c->span->n > c->begin ? part_medians(c, len, parts) : 0;
    size_t least = 0;
    if (n < INQ_TRAINING_LEAST || !c->log) {
        return false;
    }
    for (size_t i = 1; i < n; i++) {
        least = i + 3 < n && parts[i] < parts[least] ? i : least;
        apart[i - 1] = fabs(parts[i] - parts[i - 1]);
    }
    double sigma = INQ_MAD_SIGMA * inq_median(apart, n - 1) / sqrt(2.0);
    double rise = fmin(parts[n - 1], fmin(parts[n - 2], parts[n - 3])) - parts[least];
    if (rise < log(1.0 + LEAST_SHARE) || rise < LEAST_SIGMAS * sigma) {
        return false;
    }
    double leaves = fmin(0.1 * rise + 3.0 * sigma, 0.5 * rise); /* the least is low by noise, too */
    size_t at = first_above(parts, n, parts[least] + leaves);
    if (at == n) {
        return false;
    }
    size_t first = c->begin + at * len - len / 2;
    if (parts[at + 1] - parts[least] > 0.6 * rise) { /* the last three are above */
        first = step_near(c, first, len, parts[least] + rise / 2.0);
    }
    *jump = (struct jump){.first = first,
                          .last = c->span->n - 1,
                          .near = 2 * len,
                          .level = parts[least],
                          .top = parts[n - 1]};
    return true;
}

static void find_in_course(struct course *c, struct jump *jumps)
{
    struct jump drift;
    c->sigmas = LEAST_SIGMAS;
    c->sigmas = tail_sigmas(c);
    bool drifts = !c->s->rewarded && find_drift(c, &drift);
    size_t n = drop_usual(c, jumps, find_jumps(c, jumps));
    for (size_t i = 0; i < n; i++) {
        bool gone = stays(c, &jumps[i]);
        bool sudden = gone && (!drifts || jumps[i].first <= drift.first + drift.near);
        drifts = drifts && !sudden;
        if (drifts && jumps[i].first >= drift.first) {
            break; /* part of the rise */
        }
        if (!add_jump(c, &jumps[i], gone)) {
            return;
        }
    }
    if (drifts) {
        (void)add_jump(c, &drift, true);
    }
}

static void training_find_losses(struct inq_training_series *s)
{
    struct jump *jumps = inq_arena_array(s->scratch, s->n, sizeof *jumps);
    for (size_t k = 0; k < s->n_spans && jumps != NULL; k++) {
        struct course c = {.s = s, .span = &s->spans[k]};
        if (begin_course(&c)) {
            find_in_course(&c, jumps);
        }
    }
}

static const char *const event_texts[] = {INQ_TRAINING_EVENTS(INQ_WORD_TEXT)};

const char *inq_training_event_text(enum inq_training_event_kind kind)
{
    return event_texts[kind];
}

static double median_told(const struct inq_training_series *s, const double *values)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (values[i] > 0.0) {
            s->space[n++] = values[i];
        }
    }
    return inq_median(s->space, n);
}

static void sum_up(const struct inq_training_series *s, bool has_times)
{
    struct inq_training *t = s->training;
    t->n_rows = s->n;
    t->first_step = s->step[0];
    t->last_step = s->step[s->n - 1];
    t->loss_first = t->loss_last = t->loss_least = (double)NAN;
    for (size_t i = 0; i < s->n; i++) {
        double loss = s->loss[i];
        if (isfinite(loss)) {
            t->loss_first = isnan(t->loss_first) ? loss : t->loss_first;
            t->loss_last = loss;
            t->loss_least = isnan(t->loss_least) || loss < t->loss_least ? loss : t->loss_least;
        }
    }
    t->step_s = has_times ? median_told(s, s->time) : (double)NAN;
    t->throughput = median_told(s, s->rate);
}

static bool tells_times(const struct inq_log *log)
{
    for (size_t i = 0; i < log->n_metrics; i++) {
        if (log->metrics[i].step_s > 0.0) {
            return true;
        }
    }
    return false;
}

/* ---- events ---------------------------------------------------------------------------------- */

/* Each is a finding: what nobody reads to its end. */
enum { MOST_EVENTS = 64 };

/* How much is wrong: what cost the run, what lasts, what passed. */
static int weight_of(const struct inq_training_event *event)
{
    bool lost = event->kind == INQ_TRAINING_NOT_FINITE || event->kind == INQ_TRAINING_DIVERGENCE;
    return !event->to_end ? 1 : lost ? 3 : 2;
}

static int by_line(const void *a, const void *b, void *ctx)
{
    const struct inq_training_event *x = a;
    const struct inq_training_event *y = b;
    (void)ctx;
    return x->line != y->line ? (x->line < y->line ? -1 : 1) : (int)x->kind - (int)y->kind;
}

static int by_weight(const void *a, const void *b, void *ctx)
{
    int less = weight_of(b) - weight_of(a);
    return less != 0 ? less : by_line(a, b, ctx);
}

/* Keeps those that weigh most, in the order of lines. */
static bool keep_events(struct inq_training *t, struct inq_arena *arena)
{
    size_t n = t->n_events < MOST_EVENTS ? t->n_events : MOST_EVENTS;
    struct inq_training_event *kept = inq_arena_array(arena, n, sizeof *kept);
    if (kept == NULL ||
        inq_sort(t->events, t->n_events, sizeof *t->events, by_weight, NULL, NULL) != INQ_OK) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        kept[i] = t->events[i];
    }
    t->n_left_out = t->n_events - n;
    t->n_events = n;
    t->events = kept;
    return inq_sort(kept, n, sizeof *kept, by_line, NULL, NULL) == INQ_OK;
}

/* ---- which log ------------------------------------------------------------------------------- */

/* What the log tells; NULL: out of memory. */
static struct inq_training *read_log(const struct inq_trace *trace, const struct inq_log *log,
                                     struct inq_arena *arena)
{
    struct inq_training *t = inq_arena_alloc(arena, sizeof *t);
    struct inq_arena scratch = {0};
    struct inq_training_series s = {.arena = arena, .scratch = &scratch, .training = t};
    bool ok = t != NULL;
    if (ok) {
        *t = (struct inq_training){.file = trace->files[log->file].path, .sampled = log->sampled};
        ok = inq_training_take(&s, log);
    }
    if (ok) {
        sum_up(&s, tells_times(log));
        training_find_not_finite(&s);
        training_find_losses(&s);
        inq_training_find_levels(&s);
        ok = keep_events(t, arena);
    }
    ok = ok && !scratch.failed && !arena->failed;
    inq_arena_release(&scratch);
    return ok ? t : NULL;
}

static int weight(const struct inq_training *t)
{
    int most = 0;
    for (size_t i = 0; i < t->n_events; i++) {
        int own = weight_of(&t->events[i]);
        most = own > most ? own : most;
    }
    return most;
}

/* Of the logs (of ranks, or of attempts) the one in which most is wrong, of equals the longest. */
int inq_run_training(const struct inq_trace *trace, const struct inq_analysis_options *options,
                     struct inq_report *report, struct inq_err *err)
{
    const struct inq_log *best = NULL;
    int most = 0;
    bool ok = true;
    (void)options;
    for (size_t i = 0; i < trace->n_logs && ok; i++) {
        const struct inq_log *log = trace->logs[i];
        struct inq_arena own = {0};
        const struct inq_training *t = log->n_metrics > 0 ? read_log(trace, log, &own) : NULL;
        ok = t != NULL || log->n_metrics == 0;
        int weighs = t != NULL ? weight(t) : -1;
        bool longer = best == NULL || log->n_metrics > best->n_metrics;
        if (t != NULL && (best == NULL || weighs > most || (weighs == most && longer))) {
            best = log;
            most = weighs;
        }
        inq_arena_release(&own);
    }
    if (ok && best != NULL) {
        report->training = read_log(trace, best, report->arena);
        ok = report->training != NULL;
    }
    return ok ? INQ_OK : inq_err_set(err, INQ_NOMEM, "out of memory for the training output");
}
