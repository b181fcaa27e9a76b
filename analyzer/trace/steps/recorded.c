/* SPDX-License-Identifier: Apache-2.0 */
/* Steps: from the profiler's marks, from labels, or inferred. */
#include "trace/steps/steps.h"

#include "base/arena.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/sort.h"
#include "trace/build/build.h"

/* More steps than this are no steps; what was of others is counted and belongs to none. */
enum { MAX_STEPS = 1 << 17 };

static int compare_windows(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    const struct inq_window *x = a;
    const struct inq_window *y = b;
    if (x->start_ns != y->start_ns) {
        return x->start_ns < y->start_ns ? -1 : 1;
    }
    return (x->number > y->number) - (x->number < y->number);
}

/* ---- recorded marks -------------------------------------------------------------------------- */

/* One mark; several of one number that overlap (of different threads) are one step, a later one of
 * the same number is not. */
static int add_mark(struct inq_windows *windows, struct inq_map *by_number,
                    const struct inq_note *note, struct inq_err *err)
{
    uint32_t found;
    int64_t end_ns = note->start_ns + note->dur_ns;
    if (inq_map_get(by_number, (uint64_t)note->number, &found)) {
        struct inq_window *window = &windows->rows[found];
        if (note->start_ns < window->end_ns && end_ns > window->end_ns) {
            window->end_ns = end_ns;
        }
        return INQ_OK;
    }
    int code = inq_map_put(by_number, (uint64_t)note->number, (uint32_t)windows->n, err);
    return code == INQ_OK ? inq_windows_add(windows, note->number, note->start_ns, end_ns, err)
                          : code;
}

static int collect_marks(const struct inq_rank *rank, bool on_gpu, struct inq_windows *windows,
                         struct inq_err *err)
{
    struct inq_map by_number = {0};
    int code = INQ_OK;
    for (size_t i = 0; i < rank->n_notes && code == INQ_OK; i++) {
        const struct inq_note *note = &rank->notes[i];
        bool ends = note->dur_ns > 0; /* a mark whose end was lost bounds nothing */
        if (note->kind != INQ_NOTE_STEP || note->number < 0 || note->on_gpu != on_gpu || !ends) {
            continue;
        }
        if (windows->n < MAX_STEPS) {
            code = add_mark(windows, &by_number, note, err);
        } else {
            windows->dropped++;
        }
    }
    inq_map_release(&by_number);
    return code;
}

static int find_on_host(const struct inq_windows *host, struct inq_windows *gpu,
                        struct inq_err *err)
{
    struct inq_map numbers = {0};
    int code = INQ_OK;
    for (size_t w = 0; w < host->n && gpu->n > 0 && code == INQ_OK; w++) {
        code = inq_map_put(&numbers, (uint64_t)host->rows[w].number, 0, err);
    }
    for (size_t w = 0; w < gpu->n; w++) {
        uint32_t any;
        gpu->rows[w].on_host = inq_map_get(&numbers, (uint64_t)gpu->rows[w].number, &any);
    }
    inq_map_release(&numbers);
    return code;
}

int inq_windows_recorded(const struct inq_rank *rank, struct inq_windows *windows,
                         struct inq_err *err)
{
    struct inq_windows gpu = {0};
    int code = collect_marks(rank, false, windows, err);
    windows->time = rank->calls.n > 0 ? INQ_WINDOW_HOST : INQ_WINDOW_GPU;
    if (code == INQ_OK) {
        code = collect_marks(rank, true, &gpu, err);
    }
    if (code == INQ_OK) {
        code = inq_sort(gpu.rows, gpu.n, sizeof *gpu.rows, compare_windows, NULL, err);
    }
    if (code == INQ_OK) {
        code = find_on_host(windows, &gpu, err);
    }
    if (windows->n == 0) {
        inq_windows_release(windows);
        *windows = gpu;
        windows->time = INQ_WINDOW_GPU;
    } else {
        windows->gpu = gpu.rows;
        windows->n_gpu = gpu.n;
    }
    return code;
}

/* ---- labels ---------------------------------------------------------------------------------- */

static int64_t labelled_step(const struct inq_rank *rank, size_t event)
{
    uint32_t label = rank->events.label != NULL ? rank->events.label[event] : INQ_NONE;
    return label != INQ_NONE ? rank->labels[label].step : -1;
}

/* From the first start to the last end of the ops of each step. */
static int collect_labels(const struct inq_rank *rank, struct inq_windows *windows,
                          struct inq_err *err)
{
    struct inq_map by_number = {0};
    int code = INQ_OK;
    for (size_t i = 0; i < rank->events.n && code == INQ_OK; i++) {
        int64_t number = labelled_step(rank, i);
        int64_t start_ns = rank->events.start_ns[i];
        int64_t end_ns = start_ns + rank->events.dur_ns[i];
        uint32_t found;
        if (number < 0) {
            continue;
        }
        if (!inq_map_get(&by_number, (uint64_t)number, &found)) {
            if (windows->n < MAX_STEPS) {
                code = inq_map_put(&by_number, (uint64_t)number, (uint32_t)windows->n, err);
                code =
                    code == INQ_OK ? inq_windows_add(windows, number, start_ns, end_ns, err) : code;
            } else {
                windows->dropped++;
            }
            continue;
        }
        struct inq_window *window = &windows->rows[found];
        window->start_ns = start_ns < window->start_ns ? start_ns : window->start_ns;
        window->end_ns = end_ns > window->end_ns ? end_ns : window->end_ns;
    }
    inq_map_release(&by_number);
    return code;
}

/* ---- the table of steps ---------------------------------------------------------------------- */

/* One of the windows in host time, then of those in GPU time. */
static const struct inq_window *window_of(const struct inq_windows *windows, size_t w)
{
    return w < windows->n ? &windows->rows[w] : &windows->gpu[w - windows->n];
}

static int list_numbers(struct inq_windows *windows, size_t n_ranks, struct inq_map *index,
                        int64_t **numbers, size_t *n, struct inq_err *err)
{
    size_t cap = 0;
    int code = INQ_OK;
    *numbers = NULL;
    *n = 0;
    for (size_t r = 0; r < n_ranks; r++) {
        for (size_t w = 0; w < windows[r].n + windows[r].n_gpu && code == INQ_OK; w++) {
            int64_t number = window_of(&windows[r], w)->number;
            uint32_t known;
            if (inq_map_get(index, (uint64_t)number, &known)) {
                continue;
            }
            if (*n == MAX_STEPS) { /* ranks that number their steps in ways of their own */
                windows[r].dropped++;
                continue;
            }
            code = inq_mem_grow(numbers, &cap, *n + 1, sizeof **numbers, MAX_STEPS, err);
            if (code == INQ_OK) {
                (*numbers)[(*n)++] = number;
                code = inq_map_put(index, (uint64_t)number, 0, err);
            }
        }
    }
    if (code == INQ_OK && *n > 0) {
        inq_sort_i64(*numbers, *n);
    }
    for (size_t i = 0; i < *n && code == INQ_OK; i++) {
        code = inq_map_put(index, (uint64_t)(*numbers)[i], (uint32_t)i, err);
    }
    return code;
}

static int make_steps(struct inq_trace *trace, const int64_t *numbers, size_t n,
                      struct inq_err *err)
{
    size_t cells = n * trace->n_ranks;
    int64_t *starts = inq_arena_array(trace->arena, cells, sizeof *starts);
    int64_t *ends = inq_arena_array(trace->arena, cells, sizeof *ends);
    trace->steps = inq_arena_array(trace->arena, n, sizeof *trace->steps);
    if (starts == NULL || ends == NULL || trace->steps == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu steps", n);
    }
    for (size_t i = 0; i < cells; i++) {
        starts[i] = INQ_TIME_NONE;
        ends[i] = INQ_TIME_NONE;
    }
    for (size_t s = 0; s < n; s++) {
        trace->steps[s] = (struct inq_step){.number = numbers[s],
                                            .start_ns = INT64_MAX,
                                            .end_ns = INT64_MIN,
                                            .rank_start_ns = starts + s * trace->n_ranks,
                                            .rank_end_ns = ends + s * trace->n_ranks};
    }
    trace->n_steps = n;
    return INQ_OK;
}

/* The marks on the host tell a rank's extent; those on the GPU that of a step which they lack. */
static void fill_steps(struct inq_trace *trace, const struct inq_windows *windows,
                       const struct inq_map *index)
{
    for (size_t r = 0; r < trace->n_ranks; r++) {
        for (size_t w = 0; w < windows[r].n + windows[r].n_gpu; w++) {
            const struct inq_window *window = window_of(&windows[r], w);
            uint32_t s;
            if (!inq_map_get(index, (uint64_t)window->number, &s)) {
                continue;
            }
            struct inq_step *step = &trace->steps[s];
            if (w >= windows[r].n && step->rank_start_ns[r] != INQ_TIME_NONE) {
                continue;
            }
            step->rank_start_ns[r] = window->start_ns;
            step->rank_end_ns[r] = window->end_ns;
            step->start_ns = window->start_ns < step->start_ns ? window->start_ns : step->start_ns;
            step->end_ns = window->end_ns > step->end_ns ? window->end_ns : step->end_ns;
        }
    }
}

/* ---- events to steps ------------------------------------------------------------------------- */

/* An event whose launch is not known belongs to the step that both its neighbours on the stream
 * belong to. */
static void bridge_gaps(struct inq_events *e)
{
    for (size_t i = 0; i < e->n; i++) {
        bool before = i > 0 && e->lane[i - 1] == e->lane[i];
        if (e->call[i] != INQ_NONE || !before || e->step[i - 1] == INQ_NONE) {
            continue;
        }
        size_t next = i + 1;
        while (next < e->n && e->lane[next] == e->lane[i] && e->call[next] == INQ_NONE) {
            next++;
        }
        bool same = next < e->n && e->lane[next] == e->lane[i] && e->step[next] == e->step[i - 1];
        for (size_t k = i; k < next && same; k++) {
            e->step[k] = e->step[i - 1];
        }
        i = next - 1;
    }
}

static void assign_events(struct inq_rank *rank, const struct inq_windows *windows,
                          const struct inq_map *index)
{
    struct inq_events *e = &rank->events;
    for (size_t i = 0; i < e->n; i++) {
        int64_t number = inq_windows_number(windows, rank, i);
        e->step[i] = INQ_NONE;
        if (number >= 0) {
            (void)inq_map_get(index, (uint64_t)number, &e->step[i]);
        }
    }
    if (windows->time == INQ_WINDOW_HOST) {
        bridge_gaps(e);
    }
}

static void assign_labelled(struct inq_rank *rank, const struct inq_map *index)
{
    for (size_t i = 0; i < rank->events.n; i++) {
        int64_t number = labelled_step(rank, i);
        rank->events.step[i] = INQ_NONE;
        if (number >= 0) {
            (void)inq_map_get(index, (uint64_t)number, &rank->events.step[i]);
        }
    }
}

/* ---- all ------------------------------------------------------------------------------------- */

static bool has_labels(const struct inq_rank *rank)
{
    return rank->events.label != NULL;
}

static int collect(struct inq_trace *trace, struct inq_windows *windows, struct inq_err *err)
{
    bool any = false;
    int code = INQ_OK;
    for (size_t r = 0; r < trace->n_ranks && code == INQ_OK; r++) {
        const struct inq_rank *rank = &trace->ranks[r];
        code = has_labels(rank) ? collect_labels(rank, &windows[r], err)
                                : inq_windows_recorded(rank, &windows[r], err);
        any = any || windows[r].n > 0;
    }
    if (code == INQ_OK && !any) {
        code = inq_steps_infer(trace, windows, &trace->no_steps_why, err);
        for (size_t r = 0; r < trace->n_ranks; r++) {
            trace->steps_inferred = trace->steps_inferred || windows[r].n > 0;
        }
    }
    for (size_t r = 0; r < trace->n_ranks && code == INQ_OK; r++) {
        code = inq_sort(windows[r].rows, windows[r].n, sizeof *windows[r].rows, compare_windows,
                        NULL, err);
    }
    return code;
}

/* Says in the account of its file what a rank lost to the most steps that are kept. */
static int count_dropped(struct inq_trace *trace, const struct inq_windows *windows,
                         struct inq_err *err)
{
    for (size_t r = 0; r < trace->n_ranks; r++) {
        if (windows[r].dropped == 0 || trace->ranks[r].file >= trace->n_files) {
            continue;
        }
        struct inq_file *file = &trace->files[trace->ranks[r].file];
        bool told = file->damage.count[INQ_DAMAGE_LIMIT] > 0 || file->reason[0] != '\0';
        inq_damage_add(&file->damage, INQ_DAMAGE_LIMIT, windows[r].dropped, 0);
        const char *reason =
            told ? file->reason
                 : inq_arena_printf(trace->arena, "steps after the first %d are left out",
                                    (int)MAX_STEPS);
        if (reason == NULL) {
            return inq_err_set(err, INQ_NOMEM, "out of memory for steps");
        }
        file->reason = reason;
    }
    return INQ_OK;
}

int inq_steps_assign(struct inq_trace *trace, struct inq_err *err)
{
    struct inq_map index = {0};
    int64_t *numbers = NULL;
    size_t n = 0;
    struct inq_windows *windows = inq_mem_zalloc(trace->n_ranks + 1, sizeof *windows);
    int code = windows != NULL ? collect(trace, windows, err)
                               : inq_err_set(err, INQ_NOMEM, "out of memory for steps");
    if (code == INQ_OK) {
        code = list_numbers(windows, trace->n_ranks, &index, &numbers, &n, err);
    }
    if (code == INQ_OK) {
        code = count_dropped(trace, windows, err);
    }
    if (code == INQ_OK) {
        code = make_steps(trace, numbers, n, err);
    }
    if (code == INQ_OK) {
        fill_steps(trace, windows, &index);
    }
    for (size_t r = 0; r < trace->n_ranks && code == INQ_OK; r++) {
        if (has_labels(&trace->ranks[r])) {
            assign_labelled(&trace->ranks[r], &index);
        } else {
            assign_events(&trace->ranks[r], &windows[r], &index);
        }
    }
    for (size_t r = 0; windows != NULL && r < trace->n_ranks; r++) {
        inq_windows_release(&windows[r]);
    }
    inq_mem_free(windows);
    inq_mem_free(numbers);
    inq_map_release(&index);
    return code;
}
