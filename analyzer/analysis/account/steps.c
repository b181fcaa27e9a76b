/* SPDX-License-Identifier: Apache-2.0 */
/* Cells from the ends of GPU work, and which of them can be judged. */
#include "analysis/account/steps.h"

#include "analysis/account/time_breakdown.h"
#include "analysis/measure/measure.h"
#include "base/arena.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/par.h"
#include "base/sort.h"
#include "base/stats.h"
#include "graph/optable/optable.h"
#include "trace/trace.h"

#include <math.h>

/* A cell whose number of pieces of work is off by more than this part of what the rank and the step
 * let expect has less than was recorded whole, or more than the others. */
static const double WHOLE_TOLERANCE = 0.1;
/* Ranks began a step together when it is equally long on all of them, but for this part. */
static const double TOGETHER = 0.01;
/* A rank counts when it has at least this part of the steps that the others have whole; else its
 * capture was cut, and what it lacks would set aside the steps of all. */
static const double RANK_LEAST_STEPS = 0.5;

/* A step of which nothing says when it began lacks what its host did before its first kernel, the
 * loading of data above all. It is set aside where so many others are left: of fewer it is more
 * than one in sixteen, and what comes only in some steps (a pause in two of eight) would lose more
 * by it than a mean does by what it lacks. */
enum { CLOSED_LEAST_STEPS = 15 };

static const char warm_up_why[] = "warm-up: far longer than the median step";

struct layout {
    struct inq_account *account;
    const struct inq_trace *trace;
    bool *open;             /* [n_ranks * n_steps] nothing says when the step began */
    int64_t from_ns, to_ns; /* one interval: what all ranks recorded */
};

static struct inq_account_cell *row_of(const struct layout *l, size_t rank)
{
    return &l->account->cells[rank * l->account->n_steps];
}

/* ---- where cells begin and end --------------------------------------------------------------- */

/* When the host began a rank's step; INQ_TIME_NONE: not recorded. */
static int64_t mark_of(const struct inq_trace *trace, size_t r, size_t s)
{
    const struct inq_step *step = &trace->steps[s];
    return step->rank_start_ns != NULL ? step->rank_start_ns[r] : INQ_TIME_NONE;
}

static void widen(struct inq_account_cell *cell, int64_t start_ns, int64_t end_ns)
{
    if (cell->start_ns == INQ_TIME_NONE || start_ns < cell->start_ns) {
        cell->start_ns = start_ns;
    }
    if (cell->end_ns == INQ_TIME_NONE || end_ns > cell->end_ns) {
        cell->end_ns = end_ns;
    }
}

/* First start and last end of the rank's work in each step, INQ_TIME_NONE where it has none, and
 * how much there is. `p2p`: those of the steps in which there is nothing else. */
static void find_ends(const struct inq_rank *rank, struct inq_account_cell *row, size_t n_steps,
                      bool p2p)
{
    const struct inq_events *events = &rank->events;
    for (size_t i = 0; i < events->n; i++) {
        if (events->step[i] >= n_steps || !inq_row_is_work(events, i)) {
            continue;
        }
        struct inq_account_cell *cell = &row[events->step[i]];
        cell->work += p2p;
        if (inq_row_is_p2p(rank, i) == p2p && (!p2p || !cell->whole)) {
            widen(cell, events->start_ns[i], events->start_ns[i] + events->dur_ns[i]);
        }
    }
    for (size_t s = 0; s < n_steps; s++) { /* for the second pass */
        row[s].whole = row[s].end_ns != INQ_TIME_NONE;
    }
}

/* Ends of GPU work of no step, ascending: of steps that were not marked, or launched before
 * recording began. */
static int list_unmarked(const struct inq_rank *rank, size_t n_steps, int64_t **ends, size_t *n,
                         struct inq_err *err)
{
    const struct inq_events *events = &rank->events;
    *n = 0;
    *ends = inq_mem_alloc((events->n + 1) * sizeof(**ends));
    if (*ends == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for %zu events", events->n);
    }
    for (size_t i = 0; i < events->n; i++) {
        if (events->step[i] >= n_steps && inq_row_is_work(events, i)) {
            (*ends)[(*n)++] = events->start_ns[i] + events->dur_ns[i];
        }
    }
    inq_sort_i64(*ends, *n);
    return INQ_OK;
}

/* Makes windows that follow each other. A step begins where the one before ended, if only a total
 * says when. Where that was not captured but the GPU was still at work when the host began the
 * step, it begins when that work was over; else with its own first work, and `open` says so. */
static int chain_windows(const struct layout *l, size_t r, struct inq_err *err)
{
    const struct inq_rank *rank = &l->trace->ranks[r];
    struct inq_account_cell *row = row_of(l, r);
    size_t n_steps = l->account->n_steps;
    int64_t before_ns = INQ_TIME_NONE;
    int64_t number = 0;
    int64_t *ends = NULL;
    size_t n = 0;
    int code = list_unmarked(rank, n_steps, &ends, &n, err);
    for (size_t s = 0; code == INQ_OK && s < n_steps; s++) {
        struct inq_account_cell *cell = &row[s];
        if (!cell->whole) {
            continue;
        }
        int64_t known_ns = inq_rank_step_before_ns(rank, l->trace->steps[s].number);
        bool follows = before_ns != INQ_TIME_NONE && l->trace->steps[s].number == number + 1;
        if (!follows && known_ns != INQ_TIME_NONE) {
            before_ns = known_ns;
            follows = true;
        }
        if (!follows) {
            size_t at = inq_first_from_i64(ends, 0, n, cell->start_ns + 1);
            int64_t busy_ns = at > 0 ? ends[at - 1] : INQ_TIME_NONE;
            int64_t mark_ns = mark_of(l->trace, r, s);
            bool busy = busy_ns != INQ_TIME_NONE && mark_ns != INQ_TIME_NONE && busy_ns >= mark_ns;
            cell->start_ns = busy ? busy_ns : cell->start_ns;
            l->open[r * n_steps + s] = !busy;
        }
        if (follows || (before_ns != INQ_TIME_NONE && cell->start_ns < before_ns)) {
            cell->start_ns = before_ns;
            l->open[r * n_steps + s] = false;
        }
        cell->whole = cell->end_ns > cell->start_ns;
        if (cell->whole) {
            before_ns = cell->end_ns;
            number = l->trace->steps[s].number;
        }
    }
    inq_mem_free(ends);
    return code;
}

/* Whether no earlier step of the rank ends after `ns`. */
static bool no_earlier_end(const struct layout *l, size_t r, size_t s, int64_t ns)
{
    for (size_t k = s; k > 0; k--) {
        const struct inq_account_cell *cell = &row_of(l, r)[k - 1];
        if (cell->whole) {
            return cell->end_ns <= ns;
        }
    }
    return true;
}

/* Where nothing says when a rank's step began, it began when the first of the ranks went to work
 * (but not before its own host did), so that a late start is seen. */
static void begin_together(const struct layout *l, size_t s)
{
    size_t n_steps = l->account->n_steps;
    int64_t earliest = INT64_MAX;
    for (size_t r = 0; r < l->account->n_ranks; r++) {
        const struct inq_account_cell *cell = &row_of(l, r)[s];
        bool counts = cell->whole && l->open[r * n_steps + s] && l->trace->ranks[r].clock.aligned;
        earliest = counts && cell->start_ns < earliest ? cell->start_ns : earliest;
    }
    for (size_t r = 0; r < l->account->n_ranks; r++) {
        struct inq_account_cell *cell = &row_of(l, r)[s];
        int64_t mark_ns = mark_of(l->trace, r, s);
        int64_t from_ns = mark_ns > earliest ? mark_ns : earliest;
        if (l->open[r * n_steps + s] && mark_ns != INQ_TIME_NONE && from_ns < cell->start_ns &&
            l->trace->ranks[r].clock.aligned && no_earlier_end(l, r, s, from_ns)) {
            cell->start_ns = from_ns;
        }
    }
}

/* Steps of an op table lie one after the other and are the same for all ranks. */
static void share_windows(const struct inq_trace *trace, struct inq_account_cell *row)
{
    int64_t before_ns = INQ_TIME_NONE;
    for (size_t s = 0; s < trace->n_steps; s++) {
        const struct inq_step *step = &trace->steps[s];
        bool apart = before_ns == INQ_TIME_NONE || step->start_ns >= before_ns;
        row[s].start_ns = step->start_ns;
        row[s].end_ns = step->end_ns;
        row[s].whole = row[s].whole && step->end_ns > step->start_ns && apart;
        before_ns = step->end_ns;
    }
}

/* A trace made in memory may say no more of its ops than when they ran. */
static bool knows_ops(const struct inq_rank *rank)
{
    const struct inq_events *e = &rank->events;
    return e->kind != NULL && e->cls != NULL && e->name != NULL && e->lane != NULL;
}

static int lay_rank(void *ctx, size_t r, struct inq_err *err)
{
    const struct layout *l = ctx;
    const struct inq_account *account = l->account;
    struct inq_account_cell *row = row_of(l, r);
    for (size_t s = 0; s < account->n_steps; s++) {
        row[s] = (struct inq_account_cell){.start_ns = INQ_TIME_NONE, .end_ns = INQ_TIME_NONE};
    }
    if (!knows_ops(&l->trace->ranks[r]) || l->trace->ranks[r].events.step == NULL) {
        return INQ_OK;
    }
    find_ends(&l->trace->ranks[r], row, account->n_steps, false);
    find_ends(&l->trace->ranks[r], row, account->n_steps, true);
    if (account->op_table) {
        share_windows(l->trace, row);
        return INQ_OK;
    }
    return chain_windows(l, r, err);
}

/* ---- one interval ---------------------------------------------------------------------------- */

static bool find_common_span(struct layout *l)
{
    struct inq_interval span;
    bool any = false;
    for (size_t r = 0; r < l->trace->n_ranks; r++) {
        if (!knows_ops(&l->trace->ranks[r]) || !inq_rank_work_span(&l->trace->ranks[r], &span)) {
            continue;
        }
        l->from_ns = !any || span.start > l->from_ns ? span.start : l->from_ns;
        l->to_ns = !any || span.end < l->to_ns ? span.end : l->to_ns;
        any = true;
    }
    return any && l->to_ns > l->from_ns;
}

/* All ranks' common time; each rank's own where they have none (clocks that are not aligned). */
static void lay_interval(struct layout *l)
{
    struct inq_account *account = l->account;
    bool common = find_common_span(l);
    for (size_t r = 0; r < account->n_ranks; r++) {
        struct inq_interval span = {0, 0};
        struct inq_account_cell *cell = row_of(l, r);
        bool any = knows_ops(&l->trace->ranks[r]) && inq_rank_work_span(&l->trace->ranks[r], &span);
        cell->start_ns = common ? l->from_ns : span.start;
        cell->end_ns = common ? l->to_ns : span.end;
        cell->whole = any && cell->end_ns > cell->start_ns;
        account->rank_judged[r] = cell->whole;
    }
    account->steps[0] = (struct inq_account_step){.judged = true, .why = "", .pause_in = ""};
}

/* ---- which are whole ------------------------------------------------------------------------- */

/* The higher of the middle two of an even count: what a cut capture lost makes it less, so of two
 * steps the one with more is whole. */
static double high_median(double *values, size_t n)
{
    inq_sort_double(values, n);
    return values[n / 2];
}

/* A rank's usual amount of work: median over its steps, of a reduced trace over all that it
 * recorded. */
static double usual_work(const struct inq_account *account, size_t r, double *scratch)
{
    const struct inq_rank *rank = &account->trace->ranks[r];
    size_t n = 0;
    for (size_t k = 0; k < rank->n_totals; k++) {
        if (rank->totals[k].last_start_ns != INQ_TIME_NONE) {
            scratch[n++] = (double)rank->totals[k].work;
        }
    }
    if (n > 0) {
        return high_median(scratch, n);
    }
    for (size_t s = 0; s < account->n_steps; s++) {
        const struct inq_account_cell *cell = inq_account_cell_at(account, r, s);
        if (cell->whole) {
            scratch[n++] = (double)cell->work;
        }
    }
    return n > 0 ? high_median(scratch, n) : 0.0;
}

/* How a step's amount of work differs from the usual, on the median rank: an evaluation step is
 * another step on all of them. Of the middle two, the one that differs less: of two ranks one has
 * more or lost some, and the other is as usual. */
static double usual_ratio(const struct inq_account *account, size_t s, const double *usual,
                          double *scratch)
{
    size_t n = 0;
    for (size_t r = 0; r < account->n_ranks; r++) {
        const struct inq_account_cell *cell = inq_account_cell_at(account, r, s);
        if (cell->whole && usual[r] > 0.0) {
            scratch[n++] = (double)cell->work / usual[r];
        }
    }
    inq_sort_double(scratch, n);
    double low = n > 0 ? scratch[(n - 1) / 2] : 1.0;
    double high = n > 0 ? scratch[n / 2] : 1.0;
    return fabs(low - 1.0) < fabs(high - 1.0) ? low : high;
}

/* What the amount of work lets say of a cell. */
enum extent { EXTENT_NONE, EXTENT_SHORT, EXTENT_USUAL, EXTENT_LONG };

static enum extent extent_of(const struct inq_account_cell *cell, double expected)
{
    double off = (double)cell->work - expected;
    if (!cell->whole) {
        return EXTENT_NONE;
    }
    return off < -WHOLE_TOLERANCE * expected  ? EXTENT_SHORT
           : off > WHOLE_TOLERANCE * expected ? EXTENT_LONG
                                              : EXTENT_USUAL;
}

/* Whether a step has its own work and no other's. More than the others have is the rank's (a longer
 * batch, one more micro-batch), unless the step beside it was lost or lacks as much: then its mark
 * was, or work was put to the wrong one. At the edges of the capture only marks tell that. */
static bool has_own_work(const struct inq_account *account, const enum extent *row, size_t s)
{
    bool before = s > 0 ? row[s - 1] > EXTENT_SHORT : !account->steps_inferred;
    bool after = s + 1 < account->n_steps ? row[s + 1] > EXTENT_SHORT : !account->steps_inferred;
    return row[s] == EXTENT_USUAL || (row[s] == EXTENT_LONG && before && after);
}

static void drop_cut_cells_of(struct inq_account *account, size_t r, double usual,
                              const double *ratios, enum extent *row)
{
    struct inq_account_cell *cells = &account->cells[r * account->n_steps];
    for (size_t s = 0; s < account->n_steps; s++) {
        row[s] = extent_of(&cells[s], usual * ratios[s]);
    }
    for (size_t s = 0; s < account->n_steps; s++) {
        cells[s].whole = has_own_work(account, row, s);
    }
}

static int drop_cut_cells(struct inq_account *account, struct inq_err *err)
{
    size_t most = account->n_ranks > account->n_steps ? account->n_ranks : account->n_steps;
    for (size_t r = 0; r < account->n_ranks; r++) {
        size_t n = account->trace->ranks[r].n_totals;
        most = n > most ? n : most;
    }
    double *usual = inq_mem_alloc((account->n_ranks + 1) * sizeof(*usual));
    double *ratios = inq_mem_alloc((account->n_steps + 1) * sizeof(*ratios));
    double *scratch = inq_mem_alloc((most + 1) * sizeof(*scratch));
    enum extent *row = inq_mem_alloc((account->n_steps + 1) * sizeof(*row));
    int code = usual != NULL && ratios != NULL && scratch != NULL && row != NULL
                   ? INQ_OK
                   : inq_err_set(err, INQ_NOMEM, "no memory for %zu ranks", account->n_ranks);
    for (size_t r = 0; code == INQ_OK && r < account->n_ranks; r++) {
        usual[r] = usual_work(account, r, scratch);
    }
    for (size_t s = 0; code == INQ_OK && s < account->n_steps; s++) {
        ratios[s] = usual_ratio(account, s, usual, scratch);
    }
    for (size_t r = 0; code == INQ_OK && r < account->n_ranks; r++) {
        drop_cut_cells_of(account, r, usual[r], ratios, row);
    }
    inq_mem_free(usual);
    inq_mem_free(ratios);
    inq_mem_free(scratch);
    inq_mem_free(row);
    return code;
}

/* ---- which are judged ------------------------------------------------------------------------ */

static int64_t length_of(const struct inq_account_cell *cell)
{
    return cell->end_ns - cell->start_ns;
}

/* How long it is from a rank's first step's beginning to the end of step `s`: of the rank for which
 * that is shortest, and longest. False: no rank has both. */
static bool from_first(const struct inq_account *account, size_t s, int64_t *shortest,
                       int64_t *longest)
{
    *shortest = INT64_MAX;
    *longest = INT64_MIN;
    for (size_t r = 0; r < account->n_ranks; r++) {
        const struct inq_account_cell *first = inq_account_cell_at(account, r, 0);
        const struct inq_account_cell *last = inq_account_cell_at(account, r, s);
        if (first->whole && last->whole) {
            int64_t length = last->end_ns - first->start_ns;
            *shortest = length < *shortest ? length : *shortest;
            *longest = length > *longest ? length : *longest;
        }
    }
    return *shortest <= *longest;
}

/* Whether the ranks began the first step at one moment: it is equally long on all of them, or its
 * beginning is equally far from the end of one of the next steps: a rank that is slow in the first
 * ends it later than the others, too. */
static bool first_begins_together(const struct inq_account *account, double usual_ns)
{
    enum { ENDS = 3 };
    for (size_t s = 0; s < ENDS && s < account->n_steps; s++) {
        int64_t shortest = 0;
        int64_t longest = 0;
        if (from_first(account, s, &shortest, &longest) &&
            (double)(longest - shortest) <= TOGETHER * usual_ns) {
            return true;
        }
    }
    return false;
}

/* Whether the first step is as long as the others, or as one of them, and began at one moment on
 * all ranks; else these began to record in the middle of it or at different moments, or it bears
 * the profiler's start. */
static int first_step_fits(const struct inq_account *account, bool *fits, struct inq_err *err)
{
    int64_t *lengths = inq_mem_alloc((account->n_ranks * account->n_steps + 1) * sizeof(*lengths));
    int64_t shortest = 0;
    int64_t longest = 0;
    size_t n = 0;
    if (lengths == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for %zu steps", account->n_steps);
    }
    for (size_t i = 0; i < account->n_ranks * account->n_steps; i++) {
        const struct inq_account_cell *cell = &account->cells[i];
        if (cell->whole && i % account->n_steps > 0) {
            lengths[n++] = length_of(cell);
        }
    }
    double usual = (double)inq_median_i64(lengths, n);
    *fits = from_first(account, 0, &shortest, &longest) && first_begins_together(account, usual) &&
            inq_is_near_any(lengths, n, longest, WHOLE_TOLERANCE * usual) &&
            (double)shortest >= (1.0 - WHOLE_TOLERANCE) * usual;
    inq_mem_free(lengths);
    return INQ_OK;
}

/* Mean length over the ranks that have the step whole; -1: none. */
static int64_t mean_length(const struct inq_account *account, size_t s)
{
    int64_t sum = 0;
    int64_t n = 0;
    for (size_t r = 0; r < account->n_ranks; r++) {
        const struct inq_account_cell *cell = inq_account_cell_at(account, r, s);
        if (cell->whole && account->rank_judged[r]) {
            sum += length_of(cell);
            n++;
        }
    }
    return n > 0 ? sum / n : -1;
}

static void set_aside(struct inq_account_step *step, const char *why)
{
    if (step->judged) {
        step->judged = false;
        step->why = why;
    }
}

static int drop_warm_up(struct inq_account *account, struct inq_err *err)
{
    int64_t *lengths = inq_mem_alloc((2 * account->n_steps + 1) * sizeof(*lengths));
    if (lengths == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for %zu steps", account->n_steps);
    }
    for (size_t s = 0; s < account->n_steps; s++) {
        lengths[s] = account->steps[s].length_ns > 0 ? account->steps[s].length_ns : -1;
    }
    size_t n = inq_warm_up_steps(lengths, account->n_steps, lengths + account->n_steps);
    for (size_t s = 0; s < n; s++) {
        if (lengths[s] >= 0) {
            set_aside(&account->steps[s], warm_up_why);
        }
    }
    inq_mem_free(lengths);
    return INQ_OK;
}

/* Judged steps that the rank has whole. */
static size_t whole_steps(const struct inq_account *account, size_t r)
{
    size_t n = 0;
    for (size_t s = 0; s < account->n_steps; s++) {
        n += account->steps[s].judged && inq_account_cell_at(account, r, s)->whole;
    }
    return n;
}

/* Ranks whose capture has too few whole steps do not count, unless only one would be left: then a
 * few steps of several ranks say more than many of one. */
static void choose_ranks(struct inq_account *account)
{
    size_t most = 0;
    size_t kept = 0;
    for (size_t r = 0; r < account->n_ranks; r++) {
        size_t n = whole_steps(account, r);
        most = n > most ? n : most;
    }
    for (int pass = 0; pass < 2 && kept < 2; pass++) {
        double least = pass == 0 ? RANK_LEAST_STEPS * (double)most : 1.0;
        kept = 0;
        for (size_t r = 0; r < account->n_ranks; r++) {
            size_t n = whole_steps(account, r);
            account->rank_judged[r] = n > 0 && (double)n >= least;
            kept += account->rank_judged[r];
        }
    }
}

static int say_missing(struct inq_account *account, size_t s, struct inq_arena *arena,
                       struct inq_err *err)
{
    size_t have = 0;
    size_t ranks = 0;
    for (size_t r = 0; r < account->n_ranks; r++) {
        ranks += account->rank_judged[r];
        have += account->rank_judged[r] && inq_account_cell_at(account, r, s)->whole;
    }
    if (have == ranks) {
        return INQ_OK;
    }
    const char *why =
        have == 0
            ? "not recorded whole"
            : inq_arena_asprintf(arena, "recorded whole on %zu of %zu ranks only", have, ranks);
    if (why == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for a step");
    }
    set_aside(&account->steps[s], why);
    return INQ_OK;
}

static size_t count_judged_steps(const struct inq_account *account)
{
    size_t n = 0;
    for (size_t s = 0; s < account->n_steps; s++) {
        n += account->steps[s].judged;
    }
    return n;
}

/* No step is whole on all ranks (captures cut at different moments): the one that most ranks have
 * is judged on those. */
static void take_best_step(struct inq_account *account)
{
    size_t best = 0;
    size_t most = 0;
    for (size_t s = 0; s < account->n_steps; s++) {
        size_t n = 0;
        for (size_t r = 0; r < account->n_ranks; r++) {
            n += inq_account_cell_at(account, r, s)->whole;
        }
        if (n > most) {
            most = n;
            best = s;
        }
    }
    for (size_t r = 0; r < account->n_ranks; r++) {
        account->rank_judged[r] = inq_account_cell_at(account, r, best)->whole;
    }
    account->steps[best].judged = most > 0;
    account->steps[best].why = most > 0 ? "" : account->steps[best].why;
}

/* Labeled ops: the op model says which steps are whole and which are warm-up. */
static int ask_model(struct inq_account *account, const struct inq_op_model *model,
                     struct inq_err *err)
{
    enum { KEPT, WARM, NEITHER };
    struct inq_map known = {0};
    int code = INQ_OK;
    for (size_t k = 0; code == INQ_OK && k < model->n_steps; k++) {
        code = inq_map_put(&known, (uint64_t)model->step[k], KEPT, err);
    }
    for (size_t k = 0; code == INQ_OK && k < model->n_warm_up; k++) {
        code = inq_map_put(&known, (uint64_t)model->warm_step[k], WARM, err);
    }
    for (size_t s = 0; code == INQ_OK && s < account->n_steps; s++) {
        uint32_t what = NEITHER;
        (void)inq_map_get(&known, (uint64_t)account->steps[s].number, &what);
        if (what != KEPT) {
            set_aside(&account->steps[s],
                      what == WARM ? warm_up_why : "its ops differ from the other steps'");
        }
    }
    inq_map_release(&known);
    return code;
}

/* Whether nothing says when a rank that counts began the step. */
static bool is_open(const struct layout *l, size_t s)
{
    const struct inq_account *account = l->account;
    for (size_t r = 0; r < account->n_ranks; r++) {
        if (account->rank_judged[r] && l->open[r * account->n_steps + s] &&
            inq_account_cell_at(account, r, s)->whole) {
            return true;
        }
    }
    return false;
}

/* The first recorded step, and each after a gap in the recording. */
static void drop_open(const struct layout *l)
{
    struct inq_account *account = l->account;
    size_t closed = 0;
    for (size_t s = 0; s < account->n_steps; s++) {
        closed += account->steps[s].judged && !is_open(l, s);
    }
    for (size_t s = 0; closed >= CLOSED_LEAST_STEPS && s < account->n_steps; s++) {
        if (is_open(l, s)) {
            set_aside(&account->steps[s], "nothing recorded says when it began");
        }
    }
}

static int choose_judged(const struct layout *l, const struct inq_op_model *model,
                         struct inq_arena *arena, struct inq_err *err)
{
    struct inq_account *account = l->account;
    bool fits = true;
    int code = INQ_OK;
    if (account->op_table) {
        code = model != NULL ? ask_model(account, model, err) : INQ_OK;
    } else {
        code = drop_cut_cells(account, err);
        if (code == INQ_OK && account->n_steps >= 3 && !inq_steps_left_out(l->trace, 0)) {
            code = first_step_fits(account, &fits, err);
        }
    }
    if (!fits) {
        set_aside(&account->steps[0], "first step: its beginning was not recorded on all ranks");
    }
    choose_ranks(account);
    for (size_t s = 0; code == INQ_OK && s < account->n_steps; s++) {
        account->steps[s].length_ns = mean_length(account, s);
        code = say_missing(account, s, arena, err);
    }
    if (code == INQ_OK && !account->op_table) {
        code = inq_steps_left_out(l->trace, 0) ? INQ_OK : drop_warm_up(account, err);
        drop_open(l);
    }
    if (code == INQ_OK && count_judged_steps(account) == 0) {
        take_best_step(account);
    }
    return code;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void close_cells(struct inq_account *account)
{
    for (size_t r = 0; r < account->n_ranks; r++) {
        account->ranks_judged += account->rank_judged[r];
        for (size_t s = 0; s < account->n_steps; s++) {
            struct inq_account_cell *cell = &account->cells[r * account->n_steps + s];
            cell->judged = cell->whole && account->rank_judged[r] && account->steps[s].judged;
        }
    }
    for (size_t s = 0; s < account->n_steps; s++) {
        account->steps[s].length_ns = mean_length(account, s);
    }
    account->steps_judged = count_judged_steps(account);
}

int inq_account_rebase_steps(struct inq_account *account, const struct inq_op_model *model,
                             int jobs, struct inq_arena *arena, struct inq_err *err)
{
    const struct inq_trace *trace = account->trace;
    struct layout l = {.account = account, .trace = trace};
    account->n_ranks = trace->n_ranks;
    account->one_interval = trace->n_steps == 0;
    account->one_interval_why = !account->one_interval        ? ""
                                : trace->no_steps_why != NULL ? trace->no_steps_why
                                                              : "no steps were marked";
    account->n_steps = account->one_interval ? 1 : trace->n_steps;
    account->op_table = inq_trace_has_labels(trace);
    account->steps_inferred = trace->steps_inferred;
    account->cells =
        inq_arena_array(arena, account->n_ranks * account->n_steps + 1, sizeof(*account->cells));
    account->steps = inq_arena_array(arena, account->n_steps, sizeof(*account->steps));
    account->rank_judged =
        inq_arena_array(arena, account->n_ranks + 1, sizeof(*account->rank_judged));
    if (account->cells == NULL || account->steps == NULL || account->rank_judged == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for %zu ranks in %zu steps", account->n_ranks,
                           account->n_steps);
    }
    if (account->one_interval) {
        lay_interval(&l);
        close_cells(account);
        return INQ_OK;
    }
    l.open = inq_mem_zalloc(account->n_ranks * account->n_steps + 1, sizeof(*l.open));
    int code = l.open != NULL
                   ? INQ_OK
                   : inq_err_set(err, INQ_NOMEM, "no memory for %zu steps", account->n_steps);
    if (code == INQ_OK) {
        for (size_t s = 0; s < account->n_steps; s++) {
            account->steps[s] =
                (struct inq_account_step){trace->steps[s].number, true, "", -1, 0, ""};
        }
        code = inq_par_for(account->n_ranks, jobs, lay_rank, &l, err);
    }
    for (size_t s = 0; code == INQ_OK && !account->op_table && s < account->n_steps; s++) {
        begin_together(&l, s);
    }
    if (code == INQ_OK) {
        code = choose_judged(&l, model, arena, err);
    }
    if (code == INQ_OK) {
        close_cells(account);
    }
    inq_mem_free(l.open);
    return code;
}
