/* SPDX-License-Identifier: Apache-2.0 */
/* Training output: where loss and speed went wrong. Rules: inquest/training.h. */
#include "inquest/training.h"

#include "analysis/parts.h"
#include "base/arena.h"
#include "base/mem.h"
#include "base/stats.h"
#include "inquest/log.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { WINDOW = 50, LEAST = 10, WARM_UP = 5, TO_END = 5, MAX_EVENTS = 64, SEEN = 64 };

static const double MAD_SIGMA = 1.4826; /* of a normal distribution */
static const double SPIKE_SIGMAS = 6.0, SPIKE_SHARE = 0.10;
static const double SLOW_SIGMAS = 5.0, SLOW_SHARE = 0.10;

static const char *const event_texts[] = {
#define EVENT_TEXT(name, text) text,
    INQ_TRAINING_EVENTS(EVENT_TEXT)
#undef EVENT_TEXT
};

const char *inq_training_event_text(enum inq_training_event_kind kind)
{
    return event_texts[kind];
}

/* The rows of one file, each step once. */
struct series {
    struct inq_arena *arena;
    struct inq_training *training;
    size_t n;
    const struct inq_log_metric **rows; /* [n] */
    int64_t *step;                      /* [n] as printed, or counted */
    double *time;                       /* [n] of a step, NaN where not told */
    double *space;                      /* [n] */
};

/* ---- rows --------------------------------------------------------------------------------------
 */

static const struct inq_log *longest_log(const struct inq_trace *trace)
{
    const struct inq_log *longest = NULL;
    for (size_t i = 0; i < trace->n_logs; i++) {
        const struct inq_log *log = trace->logs[i];
        if (log->n_metrics > 0 && (longest == NULL || log->n_metrics > longest->n_metrics)) {
            longest = log;
        }
    }
    return longest;
}

/* Whether one of the last rows is of this step: another rank's line. */
static bool is_repeated(const struct series *s, int64_t step)
{
    for (size_t i = s->n; step >= 0 && i > 0 && i + SEEN > s->n; i--) {
        if (s->rows[i - 1]->step == step) {
            return true;
        }
    }
    return false;
}

static double time_of(const struct inq_log_metric *row)
{
    if (row->step_s > 0.0) {
        return row->step_s;
    }
    return row->throughput > 0.0 ? 1.0 / row->throughput : (double)NAN;
}

static void take_rows(struct series *s, const struct inq_log *log)
{
    struct inq_training *t = s->training;
    for (size_t i = 0; i < log->n_metrics; i++) {
        const struct inq_log_metric *row = &log->metrics[i];
        if (is_repeated(s, row->step)) {
            continue;
        }
        bool back = s->n > 0 && row->step >= 0 && row->step < s->step[s->n - 1];
        t->n_restarts += back;
        t->numbered = t->numbered || row->step >= 0;
        s->rows[s->n] = row;
        s->time[s->n] = time_of(row);
        s->step[s->n] = row->step >= 0 ? row->step : (int64_t)s->n + 1;
        s->n++;
    }
}

static void sum_up(struct series *s)
{
    struct inq_training *t = s->training;
    t->n_rows = s->n;
    t->first_step = s->step[0];
    t->last_step = s->step[s->n - 1];
    t->loss_first = t->loss_last = t->loss_least = (double)NAN;
    size_t n_times = 0;
    for (size_t i = 0; i < s->n; i++) {
        double loss = s->rows[i]->loss;
        if (isfinite(loss)) {
            t->loss_first = isnan(t->loss_first) ? loss : t->loss_first;
            t->loss_last = loss;
            t->loss_least = isnan(t->loss_least) || loss < t->loss_least ? loss : t->loss_least;
        }
        if (s->rows[i]->step_s > 0.0) {
            s->space[n_times++] = s->rows[i]->step_s;
        }
    }
    t->step_s = inq_median(s->space, n_times);
    n_times = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (s->rows[i]->throughput > 0.0) {
            s->space[n_times++] = s->rows[i]->throughput;
        }
    }
    t->throughput = inq_median(s->space, n_times);
}

/* ---- events ------------------------------------------------------------------------------------
 */

static struct inq_training_event *add(struct series *s, enum inq_training_event_kind kind,
                                      size_t first, size_t last)
{
    struct inq_training *t = s->training;
    if (t->n_events == MAX_EVENTS) {
        return NULL;
    }
    struct inq_training_event *event = &t->events[t->n_events++];
    *event = (struct inq_training_event){.kind = kind,
                                         .first_step = s->step[first],
                                         .last_step = s->step[last],
                                         .line = s->rows[first]->line,
                                         .to_end = last + 1 == s->n,
                                         .measured = (double)NAN,
                                         .expected = (double)NAN,
                                         .what = ""};
    return event;
}

static void say(struct series *s, struct inq_training_event *event, const char *what)
{
    const char *text = what;
    if (event->to_end && event->first_step != event->last_step) {
        text = inq_arena_printf(s->arena, "%s from step %" PRId64 " to the end", what,
                                event->first_step);
    } else if (event->first_step != event->last_step) {
        text = inq_arena_printf(s->arena, "%s from step %" PRId64 " to %" PRId64, what,
                                event->first_step, event->last_step);
    } else {
        text = inq_arena_printf(s->arena, "%s at step %" PRId64, what, event->first_step);
    }
    event->what = text != NULL ? text : "";
}

static bool is_finite(const struct inq_log_metric *row, bool *loss)
{
    *loss = !isfinite(row->loss);
    /* a norm that is not told is NaN too, and says nothing; one that is infinite was printed */
    return !*loss && !isinf(row->grad_norm);
}

static void find_not_finite(struct series *s)
{
    for (size_t i = 0; i < s->n; i++) {
        bool loss;
        size_t first = i;
        if (is_finite(s->rows[i], &loss)) {
            continue;
        }
        bool again;
        while (i + 1 < s->n && !is_finite(s->rows[i + 1], &again)) {
            i++;
        }
        struct inq_training_event *event = add(s, INQ_TRAINING_NOT_FINITE, first, i);
        if (event == NULL) {
            return;
        }
        const char *value = isnan(s->rows[first]->loss) ? "NaN" : "infinite";
        say(s, event,
            loss ? inq_arena_printf(s->arena, "the loss is %s", value)
                 : "the gradient norm is infinite");
    }
}

/* Finite losses of up to `most` rows before row i, the latest first, into s->space; their number.
 */
static size_t losses_before(struct series *s, size_t i, size_t most)
{
    size_t n = 0;
    for (size_t k = i; k > WARM_UP && n < most; k--) {
        double loss = s->rows[k - 1]->loss;
        if (isfinite(loss)) {
            s->space[n++] = loss;
        }
    }
    return n;
}

static double limit_above(double median, double sigma)
{
    double share = SPIKE_SHARE * fabs(median);
    double spread = SPIKE_SIGMAS * sigma;
    return median + (spread > share ? spread : share);
}

/* Median of the rows before row i, and what is far above it; false: too few. */
static bool usual_loss(struct series *s, size_t i, double *median, double *limit)
{
    size_t n = losses_before(s, i, WINDOW);
    if (n < LEAST) {
        return false;
    }
    double level = inq_median(s->space, n);
    *median = level;
    *limit = limit_above(level, MAD_SIGMA * inq_mad(s->space, n, level));
    /* while the loss falls fast the window's median is old: the last rows, and how neighbours
     * differ, which a trend does not widen */
    (void)losses_before(s, i, WINDOW);
    level = inq_median(s->space, LEAST);
    (void)losses_before(s, i, WINDOW);
    for (size_t k = 0; k + 1 < n; k++) {
        s->space[k] -= s->space[k + 1];
    }
    double change = inq_median(s->space, n - 1);
    double near = limit_above(level, MAD_SIGMA * inq_mad(s->space, n - 1, change) / sqrt(2.0));
    if (near < *limit) {
        *median = level;
        *limit = near;
    }
    return true;
}

/* The last row of a spike that begins at `first`: rows above the limit, at most a window apart. */
static size_t spike_end(const struct series *s, size_t first, double limit, double *top)
{
    size_t last = first;
    *top = s->rows[first]->loss;
    for (size_t i = first; i < s->n && i <= last + WINDOW; i++) {
        double loss = s->rows[i]->loss;
        if (!isfinite(loss) || loss > limit) {
            last = i;
            *top = isfinite(loss) && loss > *top ? loss : *top;
        }
    }
    return last;
}

/* Whether most of the last rows are still above: it did not come back. */
static bool stays(struct series *s, size_t first, double limit)
{
    size_t n = 0;
    size_t above = 0;
    for (size_t i = s->n; i > first && n < WINDOW; i--) {
        double loss = s->rows[i - 1]->loss;
        above += !isfinite(loss) || loss > limit;
        n++;
    }
    return n >= TO_END && above * 2 > n;
}

static void find_spikes(struct series *s)
{
    for (size_t i = WARM_UP; i < s->n; i++) {
        double median;
        double limit;
        double top;
        double loss = s->rows[i]->loss;
        if (!isfinite(loss) || !usual_loss(s, i, &median, &limit) || loss <= limit) {
            continue;
        }
        size_t last = spike_end(s, i, limit, &top);
        bool gone = last + TO_END >= s->n && stays(s, i, limit);
        struct inq_training_event *event = add(
            s, gone ? INQ_TRAINING_DIVERGENCE : INQ_TRAINING_LOSS_SPIKE, i, gone ? s->n - 1 : last);
        if (event == NULL) {
            return;
        }
        event->measured = top;
        event->expected = median;
        say(s, event,
            inq_arena_printf(s->arena, "the loss %s from %.4g to %.4g",
                             gone ? "leaves its course," : "jumps", median, top));
        i = gone ? s->n : last;
    }
}

/* Median of the known times in [from, to). */
static double median_time(struct series *s, size_t from, size_t to, size_t *n)
{
    *n = 0;
    for (size_t i = from; i < to; i++) {
        if (!isnan(s->time[i])) {
            s->space[(*n)++] = s->time[i];
        }
    }
    return inq_median(s->space, *n);
}

static void find_slower(struct series *s)
{
    size_t best = 0;
    double most = 1.0 + SLOW_SHARE;
    size_t n;
    for (size_t k = WARM_UP + LEAST; k + LEAST <= s->n; k++) {
        size_t from = k > WARM_UP + WINDOW ? k - WINDOW : WARM_UP;
        size_t to = s->n - k > WINDOW ? k + WINDOW : s->n;
        double before = median_time(s, from, k, &n);
        bool enough = n >= LEAST;
        double after = median_time(s, k, to, &n);
        if (enough && n >= LEAST && after / before > most) {
            most = after / before;
            best = k;
        }
    }
    if (best == 0) {
        return;
    }
    size_t from = best > WARM_UP + WINDOW ? best - WINDOW : WARM_UP;
    double before = median_time(s, from, best, &n);
    double spread = SLOW_SIGMAS * MAD_SIGMA * inq_mad(s->space, n, before);
    /* the row that parts best may lie a few beside the first that is slower */
    double between = before * (1.0 + SLOW_SHARE / 2);
    while (best + LEAST < s->n && !(s->time[best] > between)) {
        best++;
    }
    while (best > from && s->time[best - 1] > between) {
        best--;
    }
    double after = median_time(s, best, s->n, &n);
    double share = before * SLOW_SHARE;
    if (!(after - before > (spread > share ? spread : share))) {
        return;
    }
    struct inq_training_event *event = add(s, INQ_TRAINING_SLOWER, best, s->n - 1);
    if (event != NULL) {
        event->measured = after;
        event->expected = before;
        say(s, event,
            inq_arena_printf(s->arena, "steps take %.2f times as long as before", after / before));
    }
}

static int by_line(const void *a, const void *b)
{
    const struct inq_training_event *x = a;
    const struct inq_training_event *y = b;
    return x->line != y->line ? (x->line < y->line ? -1 : 1) : (int)x->kind - (int)y->kind;
}

int inq_run_training(const struct inq_trace *trace, const struct inq_analysis_options *options,
                     struct inq_report *report, struct inq_err *err)
{
    (void)options;
    const struct inq_log *log = longest_log(trace);
    if (log == NULL) {
        return INQ_OK;
    }
    struct inq_training *t = inq_arena_alloc(report->arena, sizeof *t);
    struct series s = {.arena = report->arena, .training = t};
    struct inq_arena scratch = {0};
    s.rows = inq_arena_alloc(&scratch, log->n_metrics * sizeof *s.rows);
    s.step = inq_arena_array(&scratch, log->n_metrics, sizeof *s.step);
    s.time = inq_arena_array(&scratch, log->n_metrics, sizeof *s.time);
    s.space = inq_arena_array(&scratch, log->n_metrics, sizeof *s.space);
    bool ok = t != NULL && s.rows != NULL && s.step != NULL && s.time != NULL && s.space != NULL;
    if (ok) {
        *t = (struct inq_training){.file = ""};
        t->events = inq_arena_array(report->arena, MAX_EVENTS, sizeof *t->events);
        ok = t->events != NULL;
    }
    if (ok) {
        t->file = trace->files[log->file].path;
        t->sampled = log->sampled;
        take_rows(&s, log);
        sum_up(&s);
        find_not_finite(&s);
        find_spikes(&s);
        find_slower(&s);
        qsort(t->events, t->n_events, sizeof *t->events, by_line);
        report->training = t;
    }
    inq_arena_release(&scratch);
    return ok ? INQ_OK : inq_err_set(err, INQ_NOMEM, "out of memory for the training output");
}
