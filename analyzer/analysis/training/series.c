/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of training output into series: one wording, each step once, attempts with their past. */
#include "analysis/training/series.h"

#include "base/arena_text.h"
#include "base/sort.h"
#include "base/stats.h"

#include <inttypes.h>
#include <math.h>

/* A stretch of a long log that was not read is longer. */
enum { MANY_LINES = 2000 };

/* Rows of other ranks stand this close; wordings that are told apart. */
enum { NEAR = 64, WORDINGS = 32 };

/* ---- which rows ------------------------------------------------------------------------------ */

/* The wording of the most rows, the first of equals: sums of an epoch or of the whole run, and
 * parts of the loss on lines of their own, are fewer or come later. */
static uint32_t usual_wording(const struct inq_log *log)
{
    uint32_t words[WORDINGS] = {0};
    size_t counts[WORDINGS] = {0};
    size_t n = 0;
    size_t best = 0;
    for (size_t i = 0; i < log->n_metrics; i++) {
        size_t k = 0;
        while (k < n && words[k] != log->metrics[i].wording) {
            k++;
        }
        if (k == n && n < WORDINGS) {
            words[n++] = log->metrics[i].wording;
        }
        counts[k < n ? k : n - 1]++;
    }
    for (size_t k = 1; k < n; k++) {
        best = counts[k] > counts[best] ? k : best;
    }
    return words[best];
}

/* How many rows most steps have: of a run that was resumed some have two, of ranks that print in
 * turn all have several. */
static size_t rows_a_step(const struct inq_log *log, uint32_t wording, double *space)
{
    size_t n = 0;
    for (size_t i = 0; i < log->n_metrics; i++) {
        const struct inq_log_metric *row = &log->metrics[i];
        if (row->wording == wording && row->step >= 0) {
            space[n++] = (double)row->step;
        }
    }
    inq_sort_double(space, n);
    size_t steps = 0;
    for (size_t i = 0, from = 0; i < n; i++) {
        if (i + 1 == n || space[i + 1] > space[i]) {
            space[steps++] = (double)(i + 1 - from);
            from = i + 1;
        }
    }
    double median = inq_median(space, steps);
    return median >= 2.0 ? (size_t)median : 1;
}

/* Whether steps are counted anew each epoch, or only epochs tell how far the run is. */
static bool counts_epochs(const struct inq_log *log, uint32_t wording)
{
    const struct inq_log_metric *last = NULL;
    size_t numbered = 0;
    size_t told = 0;
    bool anew = false;
    for (size_t i = 0; i < log->n_metrics; i++) {
        const struct inq_log_metric *row = &log->metrics[i];
        if (row->wording == wording) {
            anew = anew || (last != NULL && row->step < last->step && row->epoch > last->epoch);
            numbered += row->step >= 0;
            told += row->epoch >= 0.0;
            last = row;
        }
    }
    return anew || (numbered == 0 && told > 0);
}

static int64_t place_of(const struct inq_log_metric *row, bool by_epoch, size_t i)
{
    double epoch = row->epoch >= 0.0 && row->epoch < 1e6 ? row->epoch : 0.0;
    if (by_epoch) {
        return (int64_t)(epoch * 1e12) + (row->step >= 0 ? row->step : 0);
    }
    return row->step >= 0 ? row->step : (int64_t)i + 1;
}

/* The row of this place among the last `near` ones; n: none. */
static size_t same_step(const struct inq_training_series *s, int64_t place, size_t near)
{
    for (size_t i = s->n; i > 0 && i + near > s->n; i--) {
        if (s->place[i - 1] == place) {
            return i - 1;
        }
    }
    return s->n;
}

/* Adds to a mean of `count` values; one that is not told changes nothing. */
static void join(double *mean, double value, size_t count)
{
    if (isnan(*mean) || isnan(value)) {
        *mean = isnan(*mean) ? value : *mean;
    } else {
        *mean += (value - *mean) / (double)count;
    }
}

/* A time of a step that can be one: to 30 years. */
static double time_of(const struct inq_log_metric *row)
{
    return row->step_s > 0.0 && row->step_s < 1e9 ? row->step_s : (double)NAN;
}

static void set_row(struct inq_training_series *s, size_t i, const struct inq_log_metric *row,
                    bool by_epoch)
{
    s->step[i] = row->step >= 0 ? row->step : (int64_t)i + 1;
    s->place[i] = place_of(row, by_epoch, i);
    s->line[i] = row->line;
    s->loss[i] = row->loss;
    s->norm[i] = row->grad_norm;
    s->rate[i] = row->throughput > 0.0 ? row->throughput : (double)NAN;
    s->time[i] = time_of(row);
}

static void join_row(struct inq_training_series *s, size_t i, const struct inq_log_metric *row,
                     size_t count)
{
    s->loss[i] += (row->loss - s->loss[i]) / (double)count; /* NaN of one rank is NaN */
    join(&s->norm[i], row->grad_norm, count);
    join(&s->rate[i], row->throughput > 0.0 ? row->throughput : (double)NAN, count);
    join(&s->time[i], time_of(row), count);
}

/* Leaves out steps of which most ranks' rows are not here: their mean is of other ranks. */
static void drop_parts(struct inq_training_series *s, const uint32_t *counts, size_t several)
{
    size_t to = 0;
    for (size_t i = 0; i < s->n; i++) {
        if ((size_t)counts[i] * 2 >= several || !isfinite(s->loss[i])) {
            s->step[to] = s->step[i];
            s->place[to] = s->place[i];
            s->line[to] = s->line[i];
            s->loss[to] = s->loss[i];
            s->norm[to] = s->norm[i];
            s->rate[to] = s->rate[i];
            s->time[to++] = s->time[i];
        }
    }
    s->n = to > 0 ? to : s->n;
}

static bool take_rows(struct inq_training_series *s, const struct inq_log *log)
{
    uint32_t wording = usual_wording(log);
    size_t several = rows_a_step(log, wording, s->space);
    bool by_epoch = counts_epochs(log, wording);
    uint32_t *counts = inq_arena_array(s->scratch, log->n_metrics, sizeof *counts);
    if (counts == NULL) {
        return false;
    }
    for (size_t i = 0; i < log->n_metrics; i++) {
        const struct inq_log_metric *row = &log->metrics[i];
        if (row->wording != wording) {
            continue;
        }
        s->training->numbered = s->training->numbered || row->step >= 0;
        s->rewarded = s->rewarded || row->rewarded;
        size_t near = row->step < 0 ? 0 : several > 1 ? NEAR : 2;
        size_t at = same_step(s, place_of(row, by_epoch, s->n), near);
        if (at < s->n) {
            join_row(s, at, row, ++counts[at]);
        } else {
            counts[s->n] = 1;
            set_row(s, s->n++, row, by_epoch);
        }
    }
    drop_parts(s, counts, several);
    return true;
}

/* ---- times ----------------------------------------------------------------------------------- */

/* A time that only grows is one since the start: its differences are those of the steps. */
static void undo_sums(struct inq_training_series *s)
{
    size_t n = 0;
    size_t more = 0;
    double first = (double)NAN;
    double last = (double)NAN;
    for (size_t i = 0; i < s->n; i++) {
        if (!isnan(s->time[i])) {
            more += s->time[i] > last;
            n++;
            last = s->time[i];
            first = n == 1 ? last : first;
        }
    }
    if (n < INQ_TRAINING_LEAST || more * 50 < n * 49 - 50 || !(last > 5.0 * first)) {
        return;
    }
    for (size_t i = s->n; i-- > 0;) {
        double before = i > 0 ? s->time[i - 1] : (double)NAN;
        int64_t steps = i > 0 ? s->step[i] - s->step[i - 1] : 0;
        s->time[i] =
            steps > 0 && s->time[i] > before ? (s->time[i] - before) / (double)steps : (double)NAN;
    }
}

/* Where no time is told, that of a unit of throughput. */
static void fill_times(struct inq_training_series *s)
{
    size_t told = 0;
    for (size_t i = 0; i < s->n; i++) {
        told += isnan(s->time[i]) ? 0 : 1;
    }
    for (size_t i = 0; i < s->n && told == 0; i++) {
        s->time[i] = 1.0 / s->rate[i];
    }
}

/* ---- attempts -------------------------------------------------------------------------------- */

/* Median of up to LEAST finite losses in [from, to). */
static double level(struct inq_training_series *s, size_t from, size_t to)
{
    size_t n = 0;
    for (size_t i = from; i < to && n < INQ_TRAINING_LEAST; i++) {
        if (isfinite(s->loss[i])) {
            s->space[n++] = s->loss[i];
        }
    }
    return inq_median(s->space, n);
}

/* Whether the loss from row `at` on goes on where it stood: nearer to the last rows than to those
 * with which the attempt before began. */
static bool goes_on(struct inq_training_series *s, size_t begin, size_t at, size_t end)
{
    size_t from = at > begin + INQ_TRAINING_LEAST ? at - INQ_TRAINING_LEAST : begin;
    double now = level(s, at, end);
    double last = level(s, from, at);
    double first = level(s, begin, at);
    return now <= last || fabs(now - last) < fabs(now - first);
}

/* For each row the nearest in front of it that is not further on, and that is less far; the row
 * itself: none. */
struct fronts {
    size_t *not_after, *before;
};

static bool find_fronts(const struct inq_training_series *s, struct fronts *fronts)
{
    fronts->not_after = inq_arena_array(s->scratch, s->n, sizeof *fronts->not_after);
    fronts->before = inq_arena_array(s->scratch, s->n, sizeof *fronts->before);
    if (fronts->not_after == NULL || fronts->before == NULL) {
        return false;
    }
    for (size_t i = 0; i < s->n; i++) {
        size_t at = i > 0 ? i - 1 : i;
        while (at != i && s->place[at] > s->place[i]) {
            at = fronts->not_after[at] != at ? fronts->not_after[at] : i;
        }
        fronts->not_after[i] = at;
        bool same = at != i && s->place[at] == s->place[i];
        size_t before = same ? fronts->before[at] : at;
        fronts->before[i] = same && before == at ? i : before;
    }
    return true;
}

/* Rows that lead to the attempt [from, to): the last printed of each step in front of it. */
static size_t take_past(const struct fronts *fronts, size_t from, size_t *out)
{
    size_t n = 0;
    for (size_t at = from, next = fronts->before[from]; next != at && n < INQ_TRAINING_WINDOW;) {
        out[n++] = next;
        at = next;
        next = fronts->not_after[at];
    }
    for (size_t i = 0; i < n / 2; i++) {
        size_t swap = out[i];
        out[i] = out[n - 1 - i];
        out[n - 1 - i] = swap;
    }
    return n;
}

static bool add_span(struct inq_training_series *s, const struct fronts *fronts, size_t from,
                     size_t to)
{
    size_t *rows = inq_arena_array(s->scratch, to - from + INQ_TRAINING_WINDOW, sizeof *rows);
    if (rows == NULL) {
        return false;
    }
    size_t past = take_past(fronts, from, rows);
    for (size_t i = from; i < to; i++) {
        rows[past + i - from] = i;
    }
    s->spans[s->n_spans++] =
        (struct inq_training_span){.n = past + to - from, .past = past, .row = rows};
    return true;
}

static bool take_spans(struct inq_training_series *s)
{
    s->spans = inq_arena_array(s->scratch, s->n, sizeof *s->spans);
    size_t begin = 0; /* of the span */
    size_t run = 0;   /* of the count of steps */
    struct fronts fronts;
    bool ok = s->spans != NULL && find_fronts(s, &fronts);
    for (size_t i = 1; i <= s->n && ok; i++) {
        if (i < s->n && s->place[i] >= s->place[i - 1]) {
            continue;
        }
        size_t end = i + 1;
        while (end < s->n && s->place[end] >= s->place[end - 1]) {
            end++;
        }
        bool anew = i < s->n && s->place[i] <= s->place[begin];
        s->training->n_restarts += i < s->n;
        if (i == s->n || !anew || !goes_on(s, run, i, end < s->n ? end : s->n)) {
            ok = add_span(s, &fronts, begin, i);
            begin = i;
        }
        run = i;
    }
    return ok;
}

bool inq_training_take(struct inq_training_series *s, const struct inq_log *log)
{
    size_t n = log->n_metrics;
    s->step = inq_arena_array(s->scratch, n, sizeof *s->step);
    s->place = inq_arena_array(s->scratch, n, sizeof *s->place);
    s->line = inq_arena_array(s->scratch, n, sizeof *s->line);
    s->loss = inq_arena_array(s->scratch, n, sizeof *s->loss);
    s->norm = inq_arena_array(s->scratch, n, sizeof *s->norm);
    s->time = inq_arena_array(s->scratch, n, sizeof *s->time);
    s->rate = inq_arena_array(s->scratch, n, sizeof *s->rate);
    s->space = inq_arena_array(s->scratch, 2 * n, sizeof *s->space);
    if (s->step == NULL || s->place == NULL || s->line == NULL || s->loss == NULL ||
        s->norm == NULL || s->time == NULL || s->rate == NULL || s->space == NULL ||
        !take_rows(s, log)) {
        return false;
    }
    undo_sums(s);
    fill_times(s);
    return take_spans(s);
}

double inq_training_median(const double *values, size_t n)
{
    double copy[INQ_TRAINING_WINDOW];
    for (size_t i = 0; i < n; i++) {
        copy[i] = values[i];
    }
    return inq_median(copy, n);
}

struct inq_training_event *inq_training_add(struct inq_training_series *s,
                                            enum inq_training_event_kind kind, size_t first,
                                            size_t last, const char *what)
{
    struct inq_training *t = s->training;
    if (t->n_events == s->cap_events) {
        size_t cap = s->cap_events * 2 + 16;
        struct inq_training_event *more = inq_arena_array(s->scratch, cap, sizeof *more);
        if (more == NULL) {
            return NULL;
        }
        for (size_t i = 0; i < t->n_events; i++) {
            more[i] = t->events[i];
        }
        t->events = more;
        s->cap_events = cap;
    }
    struct inq_training_event *event = &t->events[t->n_events++];
    *event = (struct inq_training_event){.kind = kind,
                                         .first_step = s->step[first],
                                         .last_step = s->step[last],
                                         .line = s->line[first],
                                         .to_end = last + 1 == s->n,
                                         .measured = (double)NAN,
                                         .expected = (double)NAN};
    const char *unread = "";
    if (t->sampled && first > 0 && s->line[first] - s->line[first - 1] > MANY_LINES) {
        unread = inq_arena_printf(s->arena,
                                  "; it began after step %" PRId64 ", the last one read in front",
                                  s->step[first - 1]);
    }
    if (first == last) {
        event->what =
            inq_arena_printf(s->arena, "%s at step %" PRId64 "%s", what, event->first_step, unread);
    } else if (event->to_end) {
        event->what = inq_arena_printf(s->arena, "%s from step %" PRId64 " to the end%s", what,
                                       event->first_step, unread);
    } else {
        event->what = inq_arena_printf(s->arena, "%s from step %" PRId64 " to %" PRId64 "%s", what,
                                       event->first_step, event->last_step, unread);
    }
    return event;
}
