/* SPDX-License-Identifier: Apache-2.0 */
/* Training output: where loss and speed went wrong. Rules: inquest-report(5). */
#include "analysis/training/series.h"

#include "analysis/analysis.h"
#include "base/say.h"
#include "base/stats.h"
#include "base/words.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { MOST_LOGS = 16 };

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

static int by_line(const void *a, const void *b)
{
    const struct inq_training_event *x = a;
    const struct inq_training_event *y = b;
    return x->line != y->line ? (x->line < y->line ? -1 : 1) : (int)x->kind - (int)y->kind;
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
        t->events = inq_arena_array(arena, INQ_TRAINING_MAX_EVENTS, sizeof *t->events);
        ok = t->events != NULL && inq_training_take(&s, log);
    }
    if (ok) {
        sum_up(&s, tells_times(log));
        inq_training_find_not_finite(&s);
        inq_training_find_losses(&s);
        inq_training_find_gradients(&s);
        inq_training_find_slower(&s);
        qsort(t->events, t->n_events, sizeof *t->events, by_line);
    }
    ok = ok && !scratch.failed && !arena->failed;
    inq_arena_release(&scratch);
    return ok ? t : NULL;
}

/* How much is wrong: what cost the run, what lasts, what passed. */
static int weight(const struct inq_training *t)
{
    int most = t == NULL ? -1 : 0;
    for (size_t i = 0; t != NULL && i < t->n_events; i++) {
        const struct inq_training_event *event = &t->events[i];
        bool lost =
            event->kind == INQ_TRAINING_NOT_FINITE || event->kind == INQ_TRAINING_DIVERGENCE;
        int own = !event->to_end ? 1 : lost ? 3 : 2;
        most = own > most ? own : most;
    }
    return most;
}

/* The log of the most rows that is not marked yet, the first of equals; n_logs: none. */
static size_t longest_log(const struct inq_trace *trace, const bool *done)
{
    size_t best = trace->n_logs;
    for (size_t i = 0; i < trace->n_logs; i++) {
        size_t n = trace->logs[i]->n_metrics;
        if (!done[i] && n > 0 && (best == trace->n_logs || n > trace->logs[best]->n_metrics)) {
            best = i;
        }
    }
    return best;
}

/* Of the longest logs (of ranks, or of attempts) the one in which most is wrong. */
int inq_run_training(const struct inq_trace *trace, const struct inq_analysis_options *options,
                     struct inq_report *report, struct inq_err *err)
{
    (void)options;
    bool *done = inq_arena_array(report->arena, trace->n_logs, sizeof *done);
    bool ok = done != NULL;
    for (int i = 0; i < MOST_LOGS && ok; i++) {
        size_t at = longest_log(trace, done);
        if (at == trace->n_logs) {
            break;
        }
        done[at] = true;
        struct inq_training *t = read_log(trace, trace->logs[at], report->arena);
        ok = t != NULL;
        if (weight(t) > weight(report->training)) {
            report->training = t;
        }
    }
    return ok ? INQ_OK : inq_err_set(err, INQ_NOMEM, "out of memory for the training output");
}
