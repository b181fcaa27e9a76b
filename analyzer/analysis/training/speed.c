/* SPDX-License-Identifier: Apache-2.0 */
/* Stretches in which steps take longer, or the gradient norm is many times as large. */
#include "analysis/training/series.h"

#include "base/arena_text.h"
#include "base/stats.h"

#include <math.h>

enum { L = INQ_TRAINING_LEAST, W = INQ_TRAINING_WINDOW, SCALES = 4 };

/* A tenth is more than clocks and neighbors on a network do to the median of ten steps. */
static const double SLOW_SHARE = 0.10;
/* Norms of healthy runs vary two- to threefold from batch to batch. */
static const double GRADIENT_TIMES = 5.0;
/* Of ten rows all must be higher than nearly all before: noise alone does that once in many
 * millions of rows. */
static const double IN_ORDER = 0.95;
/* What takes long in turn (a checkpoint, an evaluation) takes half a step more, at least; three
 * equal gaps are no chance. */
static const double LONG_TIMES = 1.5;
enum { PERIODS = 3 };
/* Rows whose mean is one value: noise that is large by the row is small by their mean, and what
 * comes every few steps is in each. */
static const size_t scales[SCALES] = {1, 8, 64, 512};

/* Values of units of `per` rows; what is a logarithm has a share as a difference. */
struct levels {
    size_t n, per;
    double *at;   /* [n] */
    size_t *row;  /* [n] the first row of a unit, into the series */
    size_t *last; /* [n] its last one: rows between two units may be of neither */
    double least; /* how much higher is high */
};

struct stretch {
    size_t first, last; /* units */
    double before, during;
    bool to_end;
};

/* The share of pairs, one after and one before, in which the one after is higher: 1/2 where
 * nothing changed, whatever the noise. */
static double in_order(const double *before, size_t n_before, const double *after, size_t n_after)
{
    size_t higher = 0;
    for (size_t i = 0; i < n_after; i++) {
        for (size_t k = 0; k < n_before; k++) {
            higher += after[i] > before[k];
        }
    }
    return (double)higher / (double)(n_before * n_after);
}

/* Units of `usual` values, the last W of them. */
struct past {
    size_t n;
    double at[W];
};

static void remember(struct past *past, double value)
{
    if (past->n == W) {
        for (size_t i = 1; i < W; i++) {
            past->at[i - 1] = past->at[i];
        }
        past->n--;
    }
    past->at[past->n++] = value;
}

/* Where the next values are nearer to before: the end of a stretch that begins at k. */
static size_t end_of(const struct levels *v, size_t k, double middle)
{
    size_t end = k + 1;
    while (end < v->n) {
        size_t len = v->n - end < L ? v->n - end : L;
        if (v->at[end] <= middle && inq_training_median(v->at + end, len) <= middle &&
            (len == L || end > k + L)) {
            return end;
        }
        end++;
    }
    return v->n;
}

/* Stretches of at least L values that are higher than those before; at the end half as many. */
static size_t find_stretches(const struct levels *v, size_t at_end, struct stretch *out)
{
    struct past past = {0};
    size_t n = 0;
    for (size_t k = 0; k + at_end <= v->n; k++) {
        size_t len = v->n - k < L ? v->n - k : L;
        double before = past.n >= L ? inq_training_median(past.at, past.n) : (double)NAN;
        bool high = past.n >= L && v->at[k] - before > v->least / 2.0 &&
                    inq_training_median(v->at + k, len) - before > v->least &&
                    in_order(past.at, past.n, v->at + k, len) >= IN_ORDER;
        if (!high) {
            remember(&past, v->at[k]);
            continue;
        }
        double during = inq_training_median(v->at + k, len);
        size_t end = end_of(v, k, (before + during) / 2.0);
        out[n++] = (struct stretch){k, end - 1, before, during, end == v->n};
        k = end - 1;
    }
    return n;
}

/* ---- times ----------------------------------------------------------------------------------- */

/* Means of `per` values each of a span, without its warm-up, as logarithms. */
static void take_levels(const struct inq_training_series *s, const struct inq_training_span *span,
                        const double *values, struct levels *v)
{
    double sum = 0.0;
    size_t n = 0;
    size_t first = 0;
    v->n = 0;
    size_t warm = 0; /* rows since steps were counted anew */
    for (size_t i = span->past; i < span->n; i++) {
        size_t row = span->row[i];
        double value = values[row];
        warm = i > span->past && s->step[row] < s->step[row - 1] ? 0 : warm;
        if (warm++ < INQ_TRAINING_WARM_UP || !(value > 0.0) || isinf(value)) {
            continue;
        }
        first = n == 0 ? row : first;
        sum += value;
        if (++n == v->per) {
            v->at[v->n] = log(sum / (double)n);
            v->last[v->n] = row;
            v->row[v->n++] = first;
            sum = 0.0;
            n = 0;
        }
    }
}

static bool make_levels(const struct inq_training_series *s, size_t n, struct levels *v)
{
    v->at = inq_arena_array(s->scratch, n, sizeof *v->at);
    v->row = inq_arena_array(s->scratch, n, sizeof *v->row);
    v->last = inq_arena_array(s->scratch, n, sizeof *v->last);
    return v->at != NULL && v->row != NULL && v->last != NULL;
}

/* Median of told values in rows [from, to). */
static double median_in(const struct inq_training_series *s, const double *values, size_t from,
                        size_t to)
{
    size_t n = 0;
    for (size_t i = from; i < to; i++) {
        if (values[i] > 0.0) {
            s->space[n++] = values[i];
        }
    }
    return inq_median(s->space, n);
}

static double mean_in(const double *values, size_t from, size_t to)
{
    double sum = 0.0;
    size_t n = 0;
    for (size_t i = from; i < to; i++) {
        if (values[i] > 0.0) {
            sum += values[i];
            n++;
        }
    }
    return sum / (double)n;
}

/* Of rows [from, to) the one from which on the times' sum exceeds `middle` a row by most. */
static size_t first_of(const double *values, size_t from, size_t to, double middle)
{
    double sum = 0.0;
    double most = 0.0;
    size_t first = to;
    for (size_t i = to; i-- > from;) {
        sum += values[i] > 0.0 ? values[i] - middle : 0.0;
        if (sum > most) {
            most = sum;
            first = i;
        }
    }
    return first < to ? first : from;
}

/* Times that rise slowly left their level before they are a tenth above it. */
static size_t foot_of(const struct levels *v, const struct stretch *stretch)
{
    size_t from = stretch->first > W ? stretch->first - W : 0;
    size_t half = (stretch->first - from) / 2;
    size_t at = stretch->first;
    if (half < L) {
        return at;
    }
    double base = inq_training_median(v->at + from, half);
    double copy[W];
    for (size_t i = 0; i < half; i++) {
        copy[i] = v->at[from + i];
    }
    double limit = base + fmax(0.03, INQ_MAD_SIGMA * inq_mad(copy, half, base));
    while (at > from && v->at[at - 1] > limit) {
        at--;
    }
    return at;
}

struct slow {
    size_t first, last; /* rows */
    size_t per;         /* as precisely as first is told */
    double before, during;
    bool to_end;
};

static void to_rows(const struct inq_training_series *s, const struct levels *v,
                    const struct stretch *stretch, const struct inq_training_span *span,
                    struct slow *slow)
{
    double before = exp(stretch->before);
    double during = exp(stretch->during);
    size_t foot = foot_of(v, stretch);
    size_t from = v->row[foot > 0 ? foot - 1 : 0];
    *slow = (struct slow){.first = v->row[stretch->first],
                          .last = stretch->to_end ? span->row[span->n - 1] : v->last[stretch->last],
                          .per = v->per,
                          .to_end = stretch->to_end};
    if (v->per > 1) {
        size_t to = v->row[foot + 1 < v->n ? foot + 1 : foot];
        slow->first = first_of(s->time, from, to, (before + during) / 2.0);
    }
    bool by_row = v->per == 1;
    size_t past = slow->first > W * v->per ? slow->first - W * v->per : 0;
    past = past > span->row[span->past] ? past : span->row[span->past];
    past += slow->first - past > W / 2 ? INQ_TRAINING_WARM_UP : 0;
    slow->during = by_row ? median_in(s, s->time, slow->first, slow->last + 1)
                          : mean_in(s->time, slow->first, slow->last + 1);
    slow->before =
        by_row ? median_in(s, s->time, past, slow->first) : mean_in(s->time, past, slow->first);
}

/* Mean of 1 / rate in rows [from, to). */
static double mean_cost(const struct inq_training_series *s, size_t from, size_t to)
{
    double sum = 0.0;
    size_t n = 0;
    for (size_t i = from; i < to; i++) {
        if (s->rate[i] > 0.0) {
            sum += 1.0 / s->rate[i];
            n++;
        }
    }
    return sum / (double)n;
}

/* Whether the throughput, where it is told beside the time, kept up: a larger batch is no fault. */
static bool keeps_up(const struct inq_training_series *s, const struct slow *slow)
{
    size_t len = slow->last + 1 - slow->first;
    size_t from = slow->first > len + L ? slow->first - len : L;
    double more = mean_cost(s, slow->first, slow->last + 1) / mean_cost(s, from, slow->first);
    return more - 1.0 < (slow->during / slow->before - 1.0) / 4.0;
}

/* The one of n that `slow` overlaps, or n. */
static size_t find_overlap(const struct slow *all, size_t n, const struct slow *slow)
{
    size_t i = 0;
    while (i < n && (slow->first > all[i].last + W || all[i].first > slow->last + W)) {
        i++;
    }
    return i;
}

/* Whether it begins where rows are left out: then it truly began somewhere in between. */
static bool begins_at_gap(const struct inq_training_series *s, const struct slow *slow)
{
    size_t end = slow->first + 2 * slow->per < s->n ? slow->first + 2 * slow->per : s->n;
    for (size_t i = slow->first > 2 ? slow->first : 2; i < end; i++) {
        if (s->step[i] - s->step[i - 1] > L * (s->step[i - 1] - s->step[i - 2])) {
            return true;
        }
    }
    return false;
}

static size_t find_slow(struct inq_training_series *s, const struct inq_training_span *span,
                        struct levels *v, struct stretch *stretches, struct slow *out)
{
    size_t n = 0;
    for (size_t k = 0; k < SCALES; k++) {
        size_t known = n;
        v->per = scales[k];
        take_levels(s, span, s->time, v);
        size_t found = find_stretches(v, L, stretches);
        for (size_t i = 0; i < found; i++) {
            to_rows(s, v, &stretches[i], span, &out[n]);
            if (!(out[n].during > out[n].before * (1.0 + SLOW_SHARE)) || keeps_up(s, &out[n])) {
                continue;
            }
            size_t same = find_overlap(out, known, &out[n]);
            if (same == known) {
                n++;
            } else if (out[n].first < out[same].first && begins_at_gap(s, &out[same])) {
                out[same] = out[n];
            }
        }
    }
    return n;
}

/* Every how many rows one takes long, from some row on to the end: 0 none, else *first gets the
 * first of them. What did so from the start on is how this run is. */
static size_t find_period(struct inq_training_series *s, const struct inq_training_span *span,
                          size_t *first, size_t *last)
{
    size_t begin = span->past + INQ_TRAINING_WARM_UP;
    double usual = begin < span->n ? median_in(s, s->time, span->row[begin], span->row[span->n - 1])
                                   : (double)NAN;
    double *gaps = s->space;
    size_t n = 0;
    *first = span->n;
    *last = 0;
    for (size_t i = begin; i < span->n; i++) {
        if (s->time[span->row[i]] > LONG_TIMES * usual) {
            gaps[n] = (double)(i - *last);
            n += *first < span->n;
            *first = *first < span->n ? *first : i;
            *last = i;
        }
    }
    double sorted = n >= PERIODS ? inq_median(gaps, n) : 0.0;
    size_t period = (size_t)sorted;
    size_t same = 0;
    for (size_t i = 0; i < n; i++) {
        same += fabs(gaps[i] - sorted) <= 0.2 * sorted;
    }
    bool anew = *first > begin + PERIODS * period && *last + 2 * period >= span->n;
    return period > 1 && anew && same * 10 >= n * 8 ? period : 0;
}

static void explain_period(struct inq_training_series *s, const struct inq_training_span *span)
{
    size_t first;
    size_t last;
    size_t period = find_period(s, span, &first, &last);
    if (period == 0) {
        return;
    }
    size_t row = span->row[first];
    size_t from = span->row[span->past + INQ_TRAINING_WARM_UP];
    double before = mean_in(s->time, from, row);
    double during = mean_in(s->time, row, span->row[last]);
    struct slow slow = {.first = row, .last = span->row[last], .before = before, .during = during};
    if (!(during > before * (1.0 + SLOW_SHARE)) || keeps_up(s, &slow)) {
        return;
    }
    struct inq_training_event *event = inq_training_add(
        s, INQ_TRAINING_SLOWER, row, span->row[span->n - 1],
        inq_arena_printf(s->arena,
                         "one in %zu steps takes long: all of them %.2f times as long as before",
                         period, during / before));
    if (event != NULL) {
        event->measured = during;
        event->expected = before;
    }
}

static void explain_slow(struct inq_training_series *s, const struct slow *slow, size_t n)
{
    enum { FEW = 3 };
    size_t one = n > FEW ? n : 1;
    for (size_t i = 0; i < n; i += one) {
        double times = slow[i].during / slow[i].before;
        size_t last = slow[i].last;
        for (size_t k = i; k < i + one; k++) {
            last = slow[k].last > last ? slow[k].last : last;
        }
        const char *often = one > 1 ? inq_arena_printf(s->arena, " in %zu stretches", n) : "";
        struct inq_training_event *event = inq_training_add(
            s, INQ_TRAINING_SLOWER, slow[i].first, last,
            inq_arena_printf(s->arena, "steps take %.2f times as long as before%s", times, often));
        if (event == NULL) {
            return;
        }
        event->measured = slow[i].during;
        event->expected = slow[i].before;
    }
}

static void find_slower_steps(struct inq_training_series *s)
{
    struct levels v = {.least = log(1.0 + SLOW_SHARE)};
    struct stretch *stretches = inq_arena_array(s->scratch, s->n, sizeof *stretches);
    /* of all scales: means of 8, 64 and 512 rows are fewer */
    struct slow *slow = inq_arena_array(s->scratch, 2 * s->n + 1, sizeof *slow);
    if (stretches == NULL || slow == NULL || !make_levels(s, s->n, &v)) {
        return;
    }
    for (size_t k = 0; k < s->n_spans; k++) {
        size_t n = find_slow(s, &s->spans[k], &v, stretches, slow);
        explain_slow(s, slow, n);
        if (n == 0) {
            explain_period(s, &s->spans[k]);
        }
    }
}

/* ---- gradient norm --------------------------------------------------------------------------- */

/* Whether the loss tells as much: an event of it that begins no later. */
static bool loss_tells(const struct inq_training_series *s, uint64_t line, uint64_t near)
{
    const struct inq_training *t = s->training;
    for (size_t i = 0; i < t->n_events; i++) {
        uint64_t at = t->events[i].line;
        if (t->events[i].kind != INQ_TRAINING_SLOWER && at <= near &&
            (at >= line || t->events[i].to_end)) {
            return true;
        }
    }
    return false;
}

static void find_gradients(struct inq_training_series *s)
{
    struct levels v = {.per = 1, .least = log(GRADIENT_TIMES)};
    struct stretch *stretches = inq_arena_array(s->scratch, s->n, sizeof *stretches);
    if (stretches == NULL || !make_levels(s, s->n, &v)) {
        return;
    }
    for (size_t k = 0; k < s->n_spans; k++) {
        take_levels(s, &s->spans[k], s->norm, &v);
        size_t n = find_stretches(&v, INQ_TRAINING_TO_END, stretches);
        for (size_t i = 0; i < n; i++) {
            size_t first = v.row[stretches[i].first];
            size_t last = v.row[stretches[i].last];
            size_t near = first + L < s->n ? first + L : s->n - 1;
            if (loss_tells(s, s->line[first > L ? first - L : 0], s->line[near])) {
                continue;
            }
            double before = exp(stretches[i].before);
            double during = median_in(s, s->norm, first, last + 1);
            struct inq_training_event *event = inq_training_add(
                s, INQ_TRAINING_GRADIENT, first, last,
                inq_arena_printf(s->arena, "the gradient norm goes from %.3g to %.3g", before,
                                 during));
            if (event != NULL) {
                event->measured = during;
                event->expected = before;
            }
        }
    }
}

void inq_training_find_levels(struct inq_training_series *s)
{
    find_gradients(s);
    find_slower_steps(s);
}
