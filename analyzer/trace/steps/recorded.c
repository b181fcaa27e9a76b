/* SPDX-License-Identifier: Apache-2.0 */
/* Steps: from the profiler's marks, from labels, or inferred. */
#include "base/arena.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/sort.h"
#include "base/stats.h"
#include "base/strtab.h"
#include "trace/build/build.h"
#include "trace/steps/steps.h"
#include "trace/trace.h"

#include <string.h>
#include <strings.h>

/* Steps that the profiler did not mark: a step ends with the optimizer's, where that is annotated;
 * else what the launches repeat is a step. */

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

static int add_window(struct inq_windows *windows, int64_t number, int64_t start_ns, int64_t end_ns,
                      struct inq_err *err)
{
    int code = inq_mem_grow(&windows->rows, &windows->cap, windows->n + 1, sizeof *windows->rows,
                            SIZE_MAX / 64, err);
    if (code == INQ_OK) {
        windows->rows[windows->n++] = (struct inq_window){number, start_ns, end_ns, false};
    }
    return code;
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
        code = add_window(windows, 0, rank->calls.start_ns[0], end_ns[0], err);
    }
    for (size_t i = 1; i < n && code == INQ_OK; i++) {
        code = add_window(windows, (int64_t)i, end_ns[i - 1], end_ns[i], err);
    }
    if (tail * 10 >= usual * 9 && tail * 10 <= usual * 12 && code == INQ_OK) {
        code = add_window(windows, (int64_t)n, end_ns[n - 1],
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
        code =
            add_window(windows, (int64_t)i - 1, repeats.begin_ns[i - 1], repeats.begin_ns[i], err);
    }
    if (like->marker == 0) {
        *like = (struct inq_repeats){
            .marker = repeats.marker, .shift = repeats.shift, .by_update = repeats.by_update};
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

/* By how much a rank's numbers are to be moved, as most of its collectives have it. */
struct tally {
    bool known;
    int64_t move;
    size_t lead; /* votes for it that no other one has balanced */
};

static void add_vote(struct tally *tally, int64_t move)
{
    if (tally->lead > 0 && tally->move != move) {
        tally->lead--;
        return;
    }
    tally->move = move;
    tally->lead++;
}

/* The windows in which each member of a collective launched it are the same step, however far ahead
 * of its GPU a host runs. False: no further rank is known. */
static bool move_by_collectives(const struct inq_trace *trace, const struct inq_windows *windows,
                                struct tally *tallies)
{
    for (size_t c = 0; c < trace->n_collectives; c++) {
        const struct inq_member *m = &trace->members[trace->collectives[c].first_member];
        uint32_t n = trace->collectives[c].n_members;
        uint32_t from = INQ_NONE;
        int64_t number = 0;
        for (uint32_t i = 0; i < n && from == INQ_NONE; i++) {
            const struct tally *tally = &tallies[m[i].rank];
            from = tally->known
                       ? inq_windows_find(&windows[m[i].rank], &trace->ranks[m[i].rank], m[i].event)
                       : INQ_NONE;
            number = tally->move + from;
        }
        for (uint32_t i = 0; i < n && from != INQ_NONE; i++) {
            uint32_t r = m[i].rank;
            uint32_t w = tallies[r].known
                             ? INQ_NONE
                             : inq_windows_find(&windows[r], &trace->ranks[r], m[i].event);
            if (w != INQ_NONE) {
                add_vote(&tallies[r], number - w);
            }
        }
    }
    bool any = false;
    for (size_t r = 0; r < trace->n_ranks; r++) {
        any = any || (!tallies[r].known && tallies[r].lead > 0);
        tallies[r].known = tallies[r].known || tallies[r].lead > 0;
    }
    return any;
}

/* Where no collective tells: windows at the same time are the same step, as most have it. */
static void move_by_time(const struct inq_windows *windows, const struct inq_windows *reference,
                         int64_t *scratch, struct tally *tally)
{
    for (size_t w = 0; w < windows->n; w++) {
        size_t at = nearest_window(reference, middle_of(&windows->rows[w]));
        scratch[w] = (int64_t)at - (int64_t)w;
    }
    tally->move = windows->n > 0 ? inq_median_i64(scratch, windows->n) : 0;
}

/* Each rank's numbers are moved, all by the same, so that they agree with those of the rank that
 * has the most. */
static int number_alike(const struct inq_trace *trace, struct inq_windows *windows,
                        struct inq_err *err)
{
    size_t best = 0;
    for (size_t r = 1; r < trace->n_ranks; r++) {
        best = windows[r].n > windows[best].n ? r : best;
    }
    int64_t *scratch = inq_mem_alloc((windows[best].n + 1) * sizeof *scratch);
    struct tally *tallies = inq_mem_zalloc(trace->n_ranks + 1, sizeof *tallies);
    if (scratch == NULL || tallies == NULL) {
        inq_mem_free(scratch);
        inq_mem_free(tallies);
        return inq_err_set(err, INQ_NOMEM, "out of memory for steps");
    }
    tallies[best].known = true;
    while (windows[best].n > 0 && move_by_collectives(trace, windows, tallies)) {
    }
    int64_t first = INT64_MAX;
    for (size_t r = 0; r < trace->n_ranks; r++) {
        if (!tallies[r].known) {
            move_by_time(&windows[r], &windows[best], scratch, &tallies[r]);
        }
        first = windows[r].n > 0 && tallies[r].move < first ? tallies[r].move : first;
    }
    for (size_t r = 0; r < trace->n_ranks; r++) {
        for (size_t w = 0; w < windows[r].n; w++) {
            windows[r].rows[w].number = (int64_t)w + tallies[r].move - first;
        }
    }
    inq_mem_free(scratch);
    inq_mem_free(tallies);
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
    bool only_comm;    /* nothing but communication is recorded */
};

static bool is_launched(const struct inq_events *e, size_t i)
{
    return e->kind[i] == INQ_EVENT_KERNEL || e->kind[i] == INQ_EVENT_MEMCPY ||
           e->kind[i] == INQ_EVENT_MEMSET;
}

/* A number or two that all ranks sum up, the loss or the norm of the gradients, are of a step and
 * not of a layer: what layers exchange, such as the counts of tokens per expert, is more. */
enum { SUM_BYTES = 16 };

static bool sums_numbers(const struct inq_rank *rank, size_t i)
{
    uint32_t row = rank->events.comm[i];
    const struct inq_comm *comm = row != INQ_NONE ? &rank->comms[row] : NULL;
    return comm != NULL && comm->kind == INQ_COLL_ALLREDUCE && comm->in_elems > 0 &&
           comm->in_elems <= SUM_BYTES && comm->dtype_bytes > 0 &&
           comm->in_elems * comm->dtype_bytes <= SUM_BYTES;
}

static bool is_only_comm(const struct inq_rank *rank)
{
    for (size_t i = 0; i < rank->events.n; i++) {
        if (rank->events.cls[i] != INQ_CLASS_COMM) {
            return false;
        }
    }
    return rank->calls.n == 0;
}

/* A result read by the host, or an optimizer's kernel. */
static bool ends_step(const struct inq_trace *trace, const struct inq_events *e, size_t i)
{
    const char *name = inq_trace_str(trace, e->name[i]);
    if (e->kind[i] == INQ_EVENT_MEMCPY) {
        return strstr(name, "DtoH") != NULL || strstr(name, "DeviceToHost") != NULL;
    }
    return inq_kernel_updates_weights(name) || strcasestr(name, "multi_tensor") != NULL;
}

static void look_at_events(struct look *l)
{
    const struct inq_events *e = &l->rank->events;
    for (size_t i = 0; i < e->n; i++) {
        uint32_t w = is_launched(e, i) ? inq_windows_find(l->windows, l->rank, i) : INQ_NONE;
        if (w != INQ_NONE) {
            l->launches[w]++;
            l->ends[w] = l->ends[w] || ends_step(l->trace, e, i) ||
                         (l->only_comm && sums_numbers(l->rank, i));
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

/* Reorders l->launches. With more in it a window is as good where an update of the weights ends it:
 * every third step may be followed by an evaluation. */
static bool are_alike(struct look *l, bool by_update)
{
    size_t n = l->windows->n;
    double median = (double)inq_lower_median_i64(l->launches, n);
    size_t alike = 0;
    for (size_t w = 0; w < n; w++) {
        double off = (double)l->launches[w] - median;
        alike += (by_update || off <= ALIKE * median) && off >= -ALIKE * median;
    }
    return median > 0.0 && (double)alike >= MOST * (double)n;
}

/* What says that windows are steps. */
enum evidence { REPEATS, UPDATES, MARKS };

static int look_at_rank(struct look *l, enum evidence evidence, const char **why,
                        struct inq_err *err)
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
    if (!are_alike(l, evidence == UPDATES)) {
        *why = "what repeats does not have the same content each time";
        return INQ_OK;
    }
    int code = INQ_OK;
    if (evidence != MARKS && (double)ended < MOST * (double)n) {
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

static int check_windows(const struct inq_trace *trace, const struct inq_windows *windows,
                         enum evidence evidence, const char **why, struct inq_err *err)
{
    *why = NULL;
    int code = INQ_OK;
    if (!ranks_agree(trace, windows)) {
        *why = "the ranks do not agree on what repeats";
    }
    for (size_t r = 0; r < trace->n_ranks && code == INQ_OK && *why == NULL; r++) {
        size_t n = windows[r].n;
        struct look l = {trace,
                         &trace->ranks[r],
                         &windows[r],
                         inq_mem_zalloc(n + 1, sizeof *l.launches),
                         inq_mem_zalloc(n + 1, sizeof *l.ends),
                         is_only_comm(&trace->ranks[r])};
        if (l.launches == NULL || l.ends == NULL) {
            code = inq_err_set(err, INQ_NOMEM, "out of memory for steps");
        } else if (n > 0) {
            code = look_at_rank(&l, evidence, why, err);
        }
        inq_mem_free(l.launches);
        inq_mem_free(l.ends);
    }
    return code;
}

/* Infers the steps of every rank (windows[n_ranks], empty) from optimizer annotations, else from
 * launches that repeat; numbers them so that windows of different ranks at the same time get the
 * same number. Ranks without evidence of repetition stay empty, and all of them where what was
 * found is not plausible: then *why says so (else NULL). Fails with INQ_NOMEM. */
static int steps_infer(const struct inq_trace *trace, struct inq_windows *windows, const char **why,
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
        code = number_alike(trace, windows, err);
    }
    if (code == INQ_OK) {
        enum evidence evidence = marked ? MARKS : like.by_update ? UPDATES : REPEATS;
        code = check_windows(trace, windows, evidence, why, err);
    }
    for (size_t r = 0; r < trace->n_ranks && *why != NULL; r++) {
        windows[r].n = 0;
    }
    return code;
}

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
    return code == INQ_OK ? add_window(windows, note->number, note->start_ns, end_ns, err) : code;
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

static int64_t labeled_step(const struct inq_rank *rank, size_t event)
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
        int64_t number = labeled_step(rank, i);
        int64_t start_ns = rank->events.start_ns[i];
        int64_t end_ns = start_ns + rank->events.dur_ns[i];
        uint32_t found;
        if (number < 0) {
            continue;
        }
        if (!inq_map_get(&by_number, (uint64_t)number, &found)) {
            if (windows->n < MAX_STEPS) {
                code = inq_map_put(&by_number, (uint64_t)number, (uint32_t)windows->n, err);
                code = code == INQ_OK ? add_window(windows, number, start_ns, end_ns, err) : code;
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

/* An event whose launch is not known belongs to the step that both its neighbors on the stream
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

static void assign_labeled(struct inq_rank *rank, const struct inq_map *index)
{
    for (size_t i = 0; i < rank->events.n; i++) {
        int64_t number = labeled_step(rank, i);
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
        code = steps_infer(trace, windows, &trace->no_steps_why, err);
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
                 : inq_arena_asprintf(trace->arena, "steps after the first %d are left out",
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
            assign_labeled(&trace->ranks[r], &index);
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
