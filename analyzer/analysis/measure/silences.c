/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts that pause in most of their steps, each time at another place: the usual step of a rank,
 * and that of its peers, has a pause then, so that no step stands out. But a host runs the same
 * program in each step, and at each place of it nearly all steps go on without a pause. */
#include "analysis/measure/silences.h"

#include "base/mem.h"
#include "base/sort.h"
#include "base/stats.h"
#include "trace/trace.h"

#include <math.h>
#include <string.h>

/* A pause is this part of a step at least: less than a cause must cost to be told. */
#define PAUSE_SHARE 0.01
/* Hosts' times differ by factors. What is shorter than this, or than the stamps' unit, is not told
 * apart. */
#define LEAST_NS 1000.0
/* A silence between two stamps of a coarse unit is known to less than two of it. */
#define UNITS 2.0
/* Beyond chance: of 64 hosts and 50 steps, one run in a hundred has a silence at a place that is so
 * far from the usual (one-sided p = 3.4e-6). One pause is no finding. */
#define PAUSE_SIGMAS 4.5
/* Of fewer steps of a role, one pause is a third of what is usual at a place. */
enum { LEAST_STEPS = 4 };
/* Places compared at a time: of one step they are a few cache lines. */
enum { BLOCK = 64 };
/* Where this part of the ranks pauses in more than this part of their steps, the usual step has a
 * pause, and shows none. */
#define MOST_PART 0.5

struct search {
    const struct inq_trace *trace;
    const struct inq_step_stats *cells;
    const struct inq_peer_groups *roles;
    struct inq_silences *silences;
    size_t *from, *n; /* [n_ranks * n_steps] the calls of each step, by their first */
    size_t *order;    /* [n_ranks * n_steps] those with calls, by role and how many */
    size_t *cells_of; /* those looked at: of one role, with as many calls */
    size_t n_cells;
    int64_t unit_ns; /* of the stamps: the shortest silence */
    int64_t *block;  /* [BLOCK * n_ranks * n_steps] silences of some places, by place */
    int64_t *usual;  /* [most calls of a step] silence at each place */
    int64_t *space;  /* [n_ranks * n_steps] */
    double *off;     /* [all calls] logarithms of silences over the usual */
};

static size_t most_calls(const struct search *x)
{
    size_t most = 0;
    for (size_t k = 0; k < x->cells->n_ranks * x->cells->n_steps; k++) {
        most = x->n[k] > most ? x->n[k] : most;
    }
    return most;
}

/* When the rank is known to have begun its first step: its mark, if that comes before its calls. */
static int64_t begin_of_record(const struct search *x, uint32_t rank)
{
    int64_t call_ns = x->trace->ranks[rank].calls.start_ns[0];

    for (size_t s = 0; s < x->trace->n_steps; s++) {
        int64_t mark_ns = x->trace->steps[s].rank_start_ns[rank];
        if (mark_ns != INQ_TIME_NONE) {
            return mark_ns < call_ns ? mark_ns : call_ns;
        }
    }
    return call_ns;
}

/* How long the process made no call before each one. Time within a call is no silence: it may wait
 * for the GPU. */
static void measure_silences(const struct search *x, uint32_t rank)
{
    const struct inq_calls *calls = &x->trace->ranks[rank].calls;
    int64_t *silence = &x->silences->pause_ns[x->silences->first[rank]];
    int64_t reach_ns = calls->n > 0 ? begin_of_record(x, rank) : 0;

    for (size_t i = 0; i < calls->n; i++) {
        int64_t end_ns = calls->start_ns[i] + calls->dur_ns[i];
        silence[i] = calls->start_ns[i] > reach_ns ? calls->start_ns[i] - reach_ns : 0;
        reach_ns = end_ns > reach_ns ? end_ns : reach_ns;
    }
}

/* The shortest of some silences; 0: there is none. */
static int64_t shortest(const int64_t *silence, size_t n)
{
    int64_t least_ns = 0;
    for (size_t i = 0; i < n; i++) {
        if (silence[i] > 0 && (least_ns == 0 || silence[i] < least_ns)) {
            least_ns = silence[i];
        }
    }
    return least_ns;
}

/* With room for that of any rank. */
static int init_busy(struct inq_busy *work, const struct inq_trace *trace, struct inq_err *err)
{
    size_t most = 0;

    for (size_t r = 0; r < trace->n_ranks; r++) {
        most = trace->ranks[r].events.n > most ? trace->ranks[r].events.n : most;
    }
    work->starts = inq_mem_alloc((2 * most + 1) * sizeof *work->starts);
    work->ends = work->starts != NULL ? work->starts + most : NULL;
    return work->starts != NULL ? INQ_OK
                                : inq_err_set(err, INQ_NOMEM, "no memory for %zu events", most);
}

static void load_busy(struct inq_busy *work, const struct inq_events *events)
{
    work->n = 0;
    for (size_t i = 0; i < events->n; i++) {
        if (inq_row_is_work(events, i)) {
            work->starts[work->n] = events->start_ns[i];
            work->ends[work->n++] = events->start_ns[i] + events->dur_ns[i];
        }
    }
    inq_sort_i64(work->starts, work->n);
    inq_sort_i64(work->ends, work->n);
}

/* Waits for the GPU that no call says are no pauses. */
static int drop_waits(const struct search *x, struct inq_err *err)
{
    struct inq_busy work = {0};
    int code = init_busy(&work, x->trace, err);

    for (uint32_t r = 0; code == INQ_OK && r < x->cells->n_ranks; r++) {
        const struct inq_calls *calls = &x->trace->ranks[r].calls;
        int64_t *pause = &x->silences->pause_ns[x->silences->first[r]];
        bool loaded = false;
        for (size_t i = 0; i < calls->n; i++) {
            if (pause[i] > 0 && !loaded) {
                load_busy(&work, &x->trace->ranks[r].events);
                loaded = true;
            }
            bool wait = pause[i] > 0 && inq_busy_until(&work, calls->start_ns[i]) != INQ_TIME_NONE;
            pause[i] = wait ? 0 : pause[i];
        }
    }
    inq_mem_free(work.starts);
    return code;
}

/* The calls of the rank's judged steps, from the first to the last that launched work of it: hosts
 * that run ahead make those of later steps while GPUs are in this one. */
static void find_steps(const struct search *x, uint32_t rank)
{
    const struct inq_events *events = &x->trace->ranks[rank].events;
    size_t before = rank * x->cells->n_steps;

    for (size_t i = 0; i < events->n; i++) {
        uint32_t step = events->step[i];
        if (events->call[i] != INQ_NONE && step < x->cells->n_steps &&
            inq_step_stat_at(x->cells, rank, step)->valid) {
            size_t *from = &x->from[before + step];
            size_t *n = &x->n[before + step];
            size_t call = events->call[i];
            size_t end = *n > 0 && *from + *n > call ? *from + *n : call + 1;
            *from = *n == 0 || call < *from ? call : *from;
            *n = end - *from;
        }
    }
    size_t end = 0;
    for (size_t k = before; k < before + x->cells->n_steps; k++) {
        size_t own_end = x->from[k] + x->n[k]; /* a call belongs to one step */
        x->n[k] = x->from[k] >= end ? x->n[k] : 0;
        end = x->n[k] > 0 ? own_end : end;
    }
}

/* A host that waits for its GPU does so before a few of its calls: the middle one of the times from
 * each call to the next has none of that. */
static void measure_pace(const struct search *x, size_t k)
{
    const struct inq_calls *calls = &x->trace->ranks[k / x->cells->n_steps].calls;
    size_t n = x->n[k] > 0 ? x->n[k] - 1 : 0;

    for (size_t i = 0; i < n; i++) {
        size_t call = x->from[k] + i;
        x->usual[i] = calls->start_ns[call + 1] - calls->start_ns[call];
    }
    x->silences->pace_ns[k] = n > 0 ? (int64_t)n * inq_median_i64(x->usual, n) : 0;
}

static int by_program(const void *a, const void *b, void *ctx)
{
    const struct search *x = ctx;
    size_t k = *(const size_t *)a;
    size_t l = *(const size_t *)b;
    size_t role = x->roles->of[k / x->cells->n_steps];
    size_t other = x->roles->of[l / x->cells->n_steps];

    if (role != other) {
        return role < other ? -1 : 1;
    }
    return x->n[k] < x->n[l] ? -1 : x->n[k] > x->n[l];
}

static int64_t *silence_at(const struct search *x, size_t k, size_t place)
{
    return &x->silences->pause_ns[x->silences->first[k / x->cells->n_steps] + x->from[k] + place];
}

static double times(const struct search *x, size_t place, int64_t ns)
{
    double least_ns = fmax(LEAST_NS, (double)x->unit_ns);
    return log(((double)ns + least_ns) / ((double)x->usual[place] + least_ns));
}

/* Loads the silences at places [first, end) into the block: a place is one line of it, while in
 * memory the calls of a step are. */
static void load_block(const struct search *x, size_t first, size_t end)
{
    for (size_t c = 0; c < x->n_cells; c++) {
        const int64_t *ns = silence_at(x, x->cells_of[c], first);
        for (size_t i = first; i < end; i++) {
            x->block[(i - first) * x->n_cells + c] = ns[i - first];
        }
    }
}

/* The usual silence at each place, and how far all are from it, as logarithms. */
static void find_usual(const struct search *x, size_t first, size_t end)
{
    load_block(x, first, end);
    for (size_t i = first; i < end; i++) {
        const int64_t *line = &x->block[(i - first) * x->n_cells];
        memcpy(x->space, line, x->n_cells * sizeof *line);
        x->usual[i] = inq_lower_median_i64(x->space, x->n_cells);
        for (size_t c = 0; c < x->n_cells; c++) {
            x->off[i * x->n_cells + c] = times(x, i, line[c]);
        }
    }
}

/* What chance explains of silences, as a logarithm, from how `n` of them vary. */
static double limit_of(double *off, size_t n)
{
    return PAUSE_SIGMAS * INQ_MAD_SIGMA * inq_mad(off, n, 0.0);
}

/* Leaves of each silence what is a pause: beyond what those of all places vary by (`limit`), and of
 * this one, where the host does what varies more than launching. */
static void keep_pauses(const struct search *x, size_t first, size_t end, double limit,
                        double least_ns)
{
    load_block(x, first, end);
    for (size_t i = first; i < end; i++) {
        const int64_t *line = &x->block[(i - first) * x->n_cells];
        for (size_t c = 0; c < x->n_cells; c++) {
            x->off[c] = times(x, i, line[c]);
        }
        double here = fmax(limit, limit_of(x->off, x->n_cells));
        for (size_t c = 0; c < x->n_cells; c++) {
            bool pause =
                (double)(line[c] - x->usual[i]) >= least_ns && times(x, i, line[c]) >= here;
            *silence_at(x, x->cells_of[c], i) = pause ? line[c] - x->usual[i] : 0;
        }
    }
}

/* Leaves the pauses of steps of one program. */
static void compare_cells(struct search *x, double least_ns)
{
    size_t n_calls = x->n[x->cells_of[0]];
    bool known = x->n_cells >= LEAST_STEPS;

    for (size_t c = 0; c < x->n_cells; c++) {
        x->silences->step_known[x->cells_of[c]] = known;
        if (!known) {
            memset(silence_at(x, x->cells_of[c], 0), 0, n_calls * sizeof(int64_t));
        }
    }
    for (size_t i = 0; known && i < n_calls; i += BLOCK) {
        find_usual(x, i, n_calls - i < BLOCK ? n_calls : i + BLOCK);
    }
    double limit = known ? limit_of(x->off, n_calls * x->n_cells) : 0.0;
    for (size_t i = 0; known && i < n_calls; i += BLOCK) {
        keep_pauses(x, i, n_calls - i < BLOCK ? n_calls : i + BLOCK, limit, least_ns);
    }
}

/* Steps of one role with as many calls run the same program. A rank may make one call more in each
 * of its steps than others of its role. */
static int compare_programs(struct search *x, double least_ns, struct inq_err *err)
{
    size_t n = 0;
    size_t end = 0;

    for (size_t k = 0; k < x->cells->n_ranks * x->cells->n_steps; k++) {
        if (x->n[k] > 0) {
            x->order[n++] = k;
        }
    }
    int code = inq_sort(x->order, n, sizeof *x->order, by_program, x, err);
    for (size_t first = 0; code == INQ_OK && first < n; first = end) {
        for (end = first + 1; end < n && by_program(&x->order[first], &x->order[end], x) == 0;) {
            end++;
        }
        x->cells_of = &x->order[first];
        x->n_cells = end - first;
        compare_cells(x, least_ns);
    }
    return code;
}

/* Silences outside judged steps are no pauses. */
static void clear_outside(const struct search *x, uint32_t rank)
{
    int64_t *pause = &x->silences->pause_ns[x->silences->first[rank]];
    size_t done = 0;

    for (size_t s = 0; s < x->cells->n_steps; s++) {
        size_t k = rank * x->cells->n_steps + s;
        if (x->n[k] > 0) {
            memset(pause + done, 0, (x->from[k] - done) * sizeof *pause);
            done = x->from[k] + x->n[k];
        }
    }
    memset(pause + done, 0, (x->trace->ranks[rank].calls.n - done) * sizeof *pause);
}

static void sum_steps(const struct search *x)
{
    for (size_t k = 0; k < x->cells->n_ranks * x->cells->n_steps; k++) {
        x->silences->step_ns[k] = 0;
        x->silences->step_n[k] = 0;
        for (size_t i = 0; i < x->n[k]; i++) {
            int64_t ns = *silence_at(x, k, i);
            x->silences->step_ns[k] += ns;
            x->silences->step_n[k] += ns > 0;
        }
    }
}

static bool are_everywhere(const struct search *x)
{
    size_t ranks = 0;

    for (uint32_t r = 0; r < x->cells->n_ranks; r++) {
        size_t steps = 0;
        size_t with = 0;
        for (size_t s = x->cells->first_step; s < x->cells->n_steps; s++) {
            steps += inq_step_stat_at(x->cells, r, s)->valid;
            with += x->silences->step_n[r * x->cells->n_steps + s] > 0;
        }
        ranks += (double)with > MOST_PART * (double)steps;
    }
    return ranks > 0 && (double)ranks >= MOST_PART * (double)x->cells->n_ranks;
}

/* Whether some GPU idles for as long as pauses take that are told. */
static bool may_pause(const struct inq_step_stats *cells, double least_ns)
{
    for (size_t r = 0; r < cells->n_ranks; r++) {
        double idle_ns = 0.0;
        double n = 0.0;
        for (size_t s = cells->first_step; s < cells->n_steps; s++) {
            const struct inq_step_stat *cell = inq_step_stat_at(cells, r, s);
            idle_ns += cell->valid ? (double)inq_step_stat_idle_ns(cells, cell) : 0.0;
            n += cell->valid;
        }
        if (n > 0.0 && idle_ns >= least_ns * n) {
            return true;
        }
    }
    return false;
}

static int search(struct search *x, double least_ns, struct inq_err *err)
{
    size_t most = most_calls(x);
    size_t n_calls = x->silences->first[x->cells->n_ranks];

    x->usual = inq_mem_alloc((most + 1) * sizeof *x->usual);
    x->off = inq_mem_alloc((n_calls + 1) * sizeof *x->off);
    x->block =
        inq_mem_alloc((BLOCK * x->cells->n_ranks * x->cells->n_steps + 1) * sizeof *x->block);
    if (x->usual == NULL || x->off == NULL || x->block == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for the pauses of %zu calls", n_calls);
    }
    for (size_t k = 0; k < x->cells->n_ranks * x->cells->n_steps; k++) {
        measure_pace(x, k);
    }
    for (uint32_t r = 0; r < x->cells->n_ranks; r++) {
        measure_silences(x, r);
        clear_outside(x, r);
    }
    x->unit_ns = shortest(x->silences->pause_ns, n_calls);
    least_ns = fmax(least_ns, UNITS * (double)x->unit_ns);
    int code = compare_programs(x, least_ns, err);
    if (code == INQ_OK && shortest(x->silences->pause_ns, n_calls) > 0) {
        code = drop_waits(x, err);
    }
    sum_steps(x);
    x->silences->everywhere = code == INQ_OK && are_everywhere(x);
    return code;
}

int inq_silences_find(const struct inq_trace *trace, const struct inq_step_stats *cells,
                      const struct inq_peer_groups *roles, struct inq_silences *silences,
                      struct inq_err *err)
{
    size_t n_cells = cells->n_ranks * cells->n_steps;
    struct search x = {.trace = trace, .cells = cells, .roles = roles, .silences = silences};
    double least_ns = PAUSE_SHARE * inq_step_stats_mean_ns(cells);
    int code = INQ_OK;

    *silences = (struct inq_silences){0};
    silences->first = inq_mem_zalloc(cells->n_ranks + 1, sizeof *silences->first);
    for (size_t r = 0; silences->first != NULL && r < cells->n_ranks; r++) {
        silences->first[r + 1] = silences->first[r] + trace->ranks[r].calls.n;
    }
    silences->step_ns = inq_mem_zalloc(n_cells + 1, sizeof *silences->step_ns);
    silences->step_n = inq_mem_zalloc(n_cells + 1, sizeof *silences->step_n);
    silences->step_known = inq_mem_zalloc(n_cells + 1, sizeof *silences->step_known);
    silences->pace_ns = inq_mem_zalloc(n_cells + 1, sizeof *silences->pace_ns);
    x.from = inq_mem_zalloc(3 * n_cells + 1, sizeof *x.from);
    x.space = inq_mem_alloc((n_cells + 1) * sizeof *x.space);
    if (silences->first != NULL) {
        silences->pause_ns =
            inq_mem_zalloc(silences->first[cells->n_ranks] + 1, sizeof *silences->pause_ns);
    }
    if (silences->pause_ns == NULL || silences->step_ns == NULL || silences->step_n == NULL ||
        silences->step_known == NULL || silences->pace_ns == NULL || x.from == NULL ||
        x.space == NULL) {
        code = inq_err_set(err, INQ_NOMEM, "no memory for the pauses of %zu ranks", cells->n_ranks);
    } else if (!cells->one_step && may_pause(cells, least_ns)) {
        x.n = x.from + n_cells;
        x.order = x.n + n_cells;
        for (uint32_t r = 0; r < cells->n_ranks; r++) {
            find_steps(&x, r);
        }
        code = search(&x, least_ns, err);
    }
    inq_mem_free(x.from);
    inq_mem_free(x.space);
    inq_mem_free(x.usual);
    inq_mem_free(x.off);
    inq_mem_free(x.block);
    return code;
}
