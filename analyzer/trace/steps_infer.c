/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that the profiler did not mark: a step ends with the optimizer's, where that is annotated;
 * else what the launches repeat is a step. */
#include "trace/steps.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/stats.h"
#include "base/strtab.h"

#include <string.h>

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
    inq_repeats_release(&repeats);
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

int inq_steps_infer(const struct inq_trace *trace, struct inq_windows *windows, struct inq_err *err)
{
    int code = INQ_OK;
    bool any = false;
    struct inq_repeats like = {0};
    for (size_t r = 0; r < trace->n_ranks && code == INQ_OK; r++) {
        code = infer_from_optimizer(trace, &trace->ranks[r], &windows[r], err);
        any = any || windows[r].n > 0;
    }
    for (size_t r = 0; r < trace->n_ranks && code == INQ_OK && !any; r++) {
        code = infer_from_repeats(trace, r, &like, &windows[r], err);
    }
    return code == INQ_OK && trace->n_ranks > 0 ? number_alike(windows, trace->n_ranks, err) : code;
}
