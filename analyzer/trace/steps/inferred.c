/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that the profiler did not mark: a step ends with the optimizer's, where that is annotated;
 * else what the launches repeat is a step. */
#include "trace/steps/steps.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/sort.h"
#include "base/stats.h"
#include "base/strtab.h"

#include <string.h>
#include <strings.h>

/* ---- from optimizer annotations -------------------------------------------------------------- */

static bool is_optimizer_step(const struct inq_trace *trace, const struct inq_note *note)
{
    const char *name = inq_trace_str(trace, note->name);
    return note->kind == INQ_NOTE_OPTIMIZER && !note->on_gpu &&
           strncmp(name, "Optimizer.step", 14) == 0;
}

/* Of the annotations' names the one that is rarest: of several optimizers in a step, each name
 * occurs at least once in it. The last such before a pause ends the step. */
static int rarest_optimizer(const struct inq_trace *trace, const struct inq_rank *rank,
                            inq_str *rarest, uint32_t *times, struct inq_err *err)
{
    struct inq_map count = {0};
    int code = INQ_OK;
    for (size_t i = 0; i < rank->n_notes && code == INQ_OK; i++) {
        uint32_t n = 0;
        if (is_optimizer_step(trace, &rank->notes[i])) {
            (void)inq_map_get(&count, rank->notes[i].name, &n);
            code = inq_map_put(&count, rank->notes[i].name, n + 1, err);
        }
    }
    *times = 0;
    for (size_t i = 0; i < rank->n_notes && code == INQ_OK; i++) {
        uint32_t n;
        if (is_optimizer_step(trace, &rank->notes[i]) &&
            inq_map_get(&count, rank->notes[i].name, &n) && (*times == 0 || n <= *times)) {
            *times = n;
            *rarest = rank->notes[i].name;
        }
    }
    inq_map_release(&count);
    return code;
}

/* Launches in [from, to). */
static size_t launches_between(const struct inq_calls *calls, int64_t from_ns, int64_t to_ns)
{
    size_t n = 0;
    for (size_t i = 0; i < calls->n; i++) {
        n += calls->start_ns[i] >= from_ns && calls->start_ns[i] < to_ns;
    }
    return n;
}

/* A window before the first end and one after each; those at the edges only when they hold about
 * as many launches as the others. */
static int windows_between(const struct inq_rank *rank, const int64_t *end_ns, size_t n,
                           struct inq_windows *windows, struct inq_err *err)
{
    int64_t *sizes = inq_mem_alloc((n + 1) * sizeof *sizes);
    if (sizes == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for steps");
    }
    for (size_t i = 1; i < n; i++) {
        sizes[i - 1] = (int64_t)launches_between(&rank->calls, end_ns[i - 1], end_ns[i]);
    }
    int64_t usual = inq_median_i64(sizes, n - 1);
    inq_mem_free(sizes);
    int code = INQ_OK;
    int64_t head = (int64_t)launches_between(&rank->calls, INT64_MIN, end_ns[0]);
    int64_t tail = (int64_t)launches_between(&rank->calls, end_ns[n - 1], INT64_MAX);
    windows->time = INQ_WINDOW_HOST;
    if (head * 10 >= usual * 9 && head * 10 <= usual * 12) {
        code = inq_windows_add(windows, 0, rank->calls.start_ns[0], end_ns[0], err);
    }
    for (size_t i = 1; i < n && code == INQ_OK; i++) {
        code = inq_windows_add(windows, (int64_t)i, end_ns[i - 1], end_ns[i], err);
    }
    if (tail * 10 >= usual * 9 && tail * 10 <= usual * 12 && code == INQ_OK) {
        code = inq_windows_add(windows, (int64_t)n, end_ns[n - 1],
                               rank->calls.start_ns[rank->calls.n - 1] + 1, err);
    }
    return code;
}

static int infer_from_optimizer(const struct inq_trace *trace, const struct inq_rank *rank,
                                struct inq_windows *windows, struct inq_err *err)
{
    inq_str name = 0;
    uint32_t times = 0;
    int code = rarest_optimizer(trace, rank, &name, &times, err);
    if (code != INQ_OK || times < 2 || rank->calls.n == 0) {
        return code;
    }
    int64_t *end_ns = inq_mem_alloc(times * sizeof *end_ns);
    if (end_ns == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for steps");
    }
    size_t n = 0;
    for (size_t i = 0; i < rank->n_notes; i++) {
        const struct inq_note *note = &rank->notes[i];
        if (is_optimizer_step(trace, note) && note->name == name && n < times) {
            int64_t own_ns = note->start_ns + note->dur_ns;
            end_ns[n] = n > 0 && own_ns < end_ns[n - 1] ? end_ns[n - 1] : own_ns;
            n++;
        }
    }
    code = windows_between(rank, end_ns, n, windows, err);
    inq_mem_free(end_ns);
    return code;
}

/* ---- from repeated launches ------------------------------------------------------------------ */

/* `like`: how the ranks before this one repeat themselves. */
static int infer_from_repeats(const struct inq_trace *trace, size_t rank, struct inq_repeats *like,
                              struct inq_windows *windows, struct inq_err *err)
{
    struct inq_repeats repeats = {0};
    int code = inq_repeats_find(trace, rank, like, &repeats, err);
    windows->time = repeats.time;
    for (size_t i = 1; i < repeats.n && code == INQ_OK; i++) {
        code = inq_windows_add(windows, (int64_t)i - 1, repeats.begin_ns[i - 1],
                               repeats.begin_ns[i], err);
    }
    if (like->marker == 0) {
        *like = (struct inq_repeats){.marker = repeats.marker, .shift = repeats.shift};
    }
    inq_mem_free(repeats.begin_ns);
    return code;
}

/* ---- one numbering for all ranks ------------------------------------------------------------- */

static int64_t middle_of(const struct inq_window *window)
{
    return window->start_ns + (window->end_ns - window->start_ns) / 2;
}

/* Place of the window whose middle is nearest. */
static size_t nearest_window(const struct inq_windows *windows, int64_t time_ns)
{
    size_t low = 0;
    size_t high = windows->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (middle_of(&windows->rows[middle]) < time_ns) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == 0) {
        return 0;
    }
    bool before = low == windows->n || time_ns - middle_of(&windows->rows[low - 1]) <
                                           middle_of(&windows->rows[low]) - time_ns;
    return before ? low - 1 : low;
}

/* Windows of different ranks at the same time are the same step: each rank's numbers are moved, all
 * by the same, so that most agree with those of the rank that has the most. */
static int number_alike(struct inq_windows *windows, size_t n_ranks, struct inq_err *err)
{
    size_t best = 0;
    for (size_t r = 1; r < n_ranks; r++) {
        best = windows[r].n > windows[best].n ? r : best;
    }
    const struct inq_windows *reference = &windows[best];
    int64_t *moves = inq_mem_alloc((reference->n + 1) * sizeof *moves);
    if (moves == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for steps");
    }
    int64_t first = INT64_MAX;
    for (size_t r = 0; r < n_ranks; r++) {
        for (size_t w = 0; w < windows[r].n; w++) {
            size_t at = nearest_window(reference, middle_of(&windows[r].rows[w]));
            moves[w] = (int64_t)at - (int64_t)w;
        }
        int64_t move = windows[r].n > 0 ? inq_median_i64(moves, windows[r].n) : 0;
        for (size_t w = 0; w < windows[r].n; w++) {
            windows[r].rows[w].number = (int64_t)w + move;
            first = windows[r].rows[w].number < first ? windows[r].rows[w].number : first;
        }
    }
    for (size_t r = 0; r < n_ranks; r++) {
        for (size_t w = 0; w < windows[r].n; w++) {
            windows[r].rows[w].number -= first;
        }
    }
    inq_mem_free(moves);
    return INQ_OK;
}

/* ---- whether they can be steps ---------------------------------------------------------------
 *
 * What repeats may as well be the layers of one execution, the nodes of one CUDA graph, or the
 * requests of a server. */

/* Windows that must be as they should; the rest may be cut or disturbed. */
static const double MOST = 0.8;
/* Launches in a window may differ from the median by this part: evaluation, another batch. */
static const double ALIKE = 0.25;
/* Of the steps, this part must be there on all ranks: captures begin and end at different times. */
static const double SHARED = 0.5;
/* A pause between steps is longer than this part of the pauses within them. */
static const double PAUSE_QUANTILE = 0.95;

/* One rank's windows, looked at. */
struct look {
    const struct inq_trace *trace;
    const struct inq_rank *rank;
    const struct inq_windows *windows;
    int64_t *launches; /* [windows.n] */
    bool *ends;        /* [windows.n] something that ends a step is in it */
};

static bool is_launched(const struct inq_events *e, size_t i)
{
    return e->kind[i] == INQ_EVENT_KERNEL || e->kind[i] == INQ_EVENT_MEMCPY ||
           e->kind[i] == INQ_EVENT_MEMSET;
}

/* A result read by the host, or an optimizer's kernel. */
static bool ends_step(const struct inq_trace *trace, const struct inq_events *e, size_t i)
{
    const char *name = inq_trace_str(trace, e->name[i]);
    if (e->kind[i] == INQ_EVENT_MEMCPY) {
        return strstr(name, "DtoH") != NULL || strstr(name, "DeviceToHost") != NULL;
    }
    return strcasestr(name, "adam") != NULL || strcasestr(name, "multi_tensor") != NULL ||
           strcasestr(name, "optimizer") != NULL || strcasestr(name, "sgd") != NULL;
}

static void look_at_events(struct look *l)
{
    const struct inq_events *e = &l->rank->events;
    for (size_t i = 0; i < e->n; i++) {
        uint32_t w = is_launched(e, i) ? inq_windows_find(l->windows, l->rank, i) : INQ_NONE;
        if (w != INQ_NONE) {
            l->launches[w]++;
            l->ends[w] = l->ends[w] || ends_step(l->trace, e, i);
        }
    }
}

/* The host waits for the GPU. */
static void look_at_calls(struct look *l)
{
    const struct inq_calls *c = &l->rank->calls;
    size_t w = 0;
    for (size_t i = 0; i < c->n && l->windows->time == INQ_WINDOW_HOST; i++) {
        while (w < l->windows->n && l->windows->rows[w].end_ns <= c->start_ns[i]) {
            w++;
        }
        bool inside = w < l->windows->n && c->start_ns[i] >= l->windows->rows[w].start_ns;
        if (inside && strstr(inq_trace_str(l->trace, c->name[i]), "Synchronize") != NULL) {
            l->ends[w] = true;
        }
    }
}

/* Time before call `i` in which the host made none. */
static int64_t pause_before(const struct inq_calls *c, size_t i)
{
    return c->start_ns[i] - (c->start_ns[i - 1] + c->dur_ns[i - 1]);
}

/* Whether the host pauses before its steps longer than within them. */
static int pauses_between(const struct look *l, bool *pauses, struct inq_err *err)
{
    const struct inq_calls *c = &l->rank->calls;
    double *within = inq_mem_alloc((c->n + 1) * sizeof *within);
    double *between = inq_mem_alloc((l->windows->n + 1) * sizeof *between);
    size_t n_within = 0;
    size_t n_between = 0;
    if (within == NULL || between == NULL) {
        inq_mem_free(within);
        inq_mem_free(between);
        return inq_err_set(err, INQ_NOMEM, "out of memory for steps");
    }
    size_t w = 0;
    for (size_t i = 1; i < c->n; i++) {
        while (w < l->windows->n && l->windows->rows[w].start_ns < c->start_ns[i - 1] + 1) {
            w++;
        }
        bool first = w < l->windows->n && l->windows->rows[w].start_ns <= c->start_ns[i];
        if (first) {
            between[n_between++] = (double)pause_before(c, i);
        } else {
            within[n_within++] = (double)pause_before(c, i);
        }
    }
    double usual = inq_median(between, n_between);
    double most = inq_quantile(within, n_within, PAUSE_QUANTILE);
    *pauses = n_between > 0 && n_within > 0 && usual > most;
    inq_mem_free(within);
    inq_mem_free(between);
    return INQ_OK;
}

static size_t count_true(const bool *flags, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        count += flags[i];
    }
    return count;
}

/* Whether they have a length: launches of one CUDA graph all have its launch's time. */
static bool have_length(const struct inq_windows *windows)
{
    size_t n = 0;
    for (size_t w = 0; w < windows->n; w++) {
        n += windows->rows[w].end_ns > windows->rows[w].start_ns;
    }
    return (double)n >= MOST * (double)windows->n;
}

/* Reorders l->launches. */
static bool are_alike(struct look *l)
{
    size_t n = l->windows->n;
    double median = (double)inq_median_i64(l->launches, n);
    size_t alike = 0;
    for (size_t w = 0; w < n; w++) {
        double off = (double)l->launches[w] - median;
        alike += off <= ALIKE * median && off >= -ALIKE * median;
    }
    return median > 0.0 && (double)alike >= MOST * (double)n;
}

static int look_at_rank(struct look *l, bool marked, const char **why, struct inq_err *err)
{
    size_t n = l->windows->n;
    bool pauses = false;
    if (!have_length(l->windows)) {
        *why = "what repeats was launched at once (a CUDA graph holds several repetitions)";
        return INQ_OK;
    }
    look_at_events(l);
    look_at_calls(l);
    size_t ended = count_true(l->ends, n);
    if (!are_alike(l)) {
        *why = "what repeats does not have the same content each time";
        return INQ_OK;
    }
    int code = INQ_OK;
    if (!marked && (double)ended < MOST * (double)n) {
        code = pauses_between(l, &pauses, err);
        *why = pauses ? *why
                      : "nothing ends what repeats (no optimizer, no result read, no pause of the "
                        "host): it may be the layers of one execution";
    }
    return code;
}

/* Whether most steps are there on all ranks that have any. */
static bool ranks_agree(const struct inq_trace *trace, const struct inq_windows *windows)
{
    size_t with = 0;
    size_t without = 0; /* ranks that launched work, but nothing that repeats */
    size_t rows = 0;
    int64_t last = -1;
    for (size_t r = 0; r < trace->n_ranks; r++) {
        bool launched = trace->ranks[r].events.n > 0 && trace->ranks[r].calls.n > 0;
        without += windows[r].n == 0 && launched;
        with += windows[r].n > 0;
        rows += windows[r].n;
        for (size_t w = 0; w < windows[r].n; w++) {
            last = windows[r].rows[w].number > last ? windows[r].rows[w].number : last;
        }
    }
    /* numbers count from 0: as many rows as steps times ranks if all were everywhere */
    bool shared = (double)rows >= SHARED * (double)(last + 1) * (double)with;
    return with == 0 || (without == 0 && shared);
}

static int judge_windows(const struct inq_trace *trace, const struct inq_windows *windows,
                         bool marked, const char **why, struct inq_err *err)
{
    *why = NULL;
    int code = INQ_OK;
    if (!ranks_agree(trace, windows)) {
        *why = "the ranks do not agree on what repeats";
    }
    for (size_t r = 0; r < trace->n_ranks && code == INQ_OK && *why == NULL; r++) {
        size_t n = windows[r].n;
        struct look l = {trace, &trace->ranks[r], &windows[r],
                         inq_mem_zalloc(n + 1, sizeof *l.launches),
                         inq_mem_zalloc(n + 1, sizeof *l.ends)};
        if (l.launches == NULL || l.ends == NULL) {
            code = inq_err_set(err, INQ_NOMEM, "out of memory for steps");
        } else if (n > 0) {
            code = look_at_rank(&l, marked, why, err);
        }
        inq_mem_free(l.launches);
        inq_mem_free(l.ends);
    }
    return code;
}

int inq_steps_infer(const struct inq_trace *trace, struct inq_windows *windows, const char **why,
                    struct inq_err *err)
{
    int code = INQ_OK;
    bool marked = false;
    struct inq_repeats like = {0};
    *why = NULL;
    for (size_t r = 0; r < trace->n_ranks && code == INQ_OK; r++) {
        code = infer_from_optimizer(trace, &trace->ranks[r], &windows[r], err);
        marked = marked || windows[r].n > 0;
    }
    for (size_t r = 0; r < trace->n_ranks && code == INQ_OK && !marked; r++) {
        code = infer_from_repeats(trace, r, &like, &windows[r], err);
    }
    if (code == INQ_OK && trace->n_ranks > 0) {
        code = number_alike(windows, trace->n_ranks, err);
    }
    if (code == INQ_OK) {
        code = judge_windows(trace, windows, marked, why, err);
    }
    for (size_t r = 0; r < trace->n_ranks && *why != NULL; r++) {
        windows[r].n = 0;
    }
    return code;
}
