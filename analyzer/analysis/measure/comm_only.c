/* SPDX-License-Identifier: Apache-2.0 */
/* Own time between the operations of the communicator that a rank's work goes along with. */
#include "analysis/measure/comm_only.h"

#include "analysis/measure/arrivals.h"
#include "analysis/measure/row_merge.h"
#include "base/mem.h"
#include "base/sort.h"

#include <string.h>

/* Communicators of a rank beyond which it is left as it is: pairs are compared. */
enum { MOST_LANES = 16 };
/* Times as far as the ranks must lie apart by the one rule than by the other, squared, to go by the
 * other. */
static const double CHANCE = 4.0;
/* Ranks have this part of a communicator's operations in common at least: what is missing of some
 * is their end. */
static const double WHOLE = 0.9;

/* A communicator's operations on one rank: the rows of a lane, by start. */
struct lane {
    size_t from, to;
    uint32_t lane;
};

struct lanes {
    struct lane at[MOST_LANES]; /* of ranks that do the same in the same order */
    size_t n;
};

/* The first operation of a communicator. */
struct first {
    uint32_t group, kind;
    int32_t size;
    int64_t seq;
};

/* What the ranks of one role have in common. */
struct shape {
    size_t n;
    size_t ops[MOST_LANES];                  /* that all of them have, from the first on */
    uint64_t inside[MOST_LANES][MOST_LANES]; /* starts of the first's operations in the second's */
    struct first first[MOST_LANES];
    bool of_all[MOST_LANES];   /* one communicator has all these ranks */
    size_t main;               /* the one that their work goes along with */
    bool beside[MOST_LANES];   /* it begins operations during this one's */
    size_t *opens[MOST_LANES]; /* [ops] of these: which operation of the line waits for it, as far
                                * as any rank tells */
};

/* The line: one rank's operations of the main communicator. */
struct line {
    int64_t *start_ns;
    int64_t *end_ns;
    int64_t *other_ns; /* in others between the one before and this; not in those beside it */
    size_t n;
    uint8_t *lane; /* [n_lanes] of the rank: its place in struct lanes */
};

/* How far apart the ranks are in what they take for one operation of the line. */
struct spread {
    double n, mean_ns, squares; /* of the distances to the mean */
};

/* An operation of the line by two rules: others are waited for before it, or they are not. */
struct rules {
    struct spread waits, goes_on;
    bool never_goes_on; /* all ranks are in one of the others: they keep step whatever they do */
};

struct work {
    const struct inq_trace *trace;
    const struct inq_peer_groups *roles;
    struct inq_step_stats *cells;
    struct shape shape;
    struct line line;
    struct rules *rules; /* [line.n] */
    size_t *from, *to;   /* [n_steps] of the line */
    int64_t *own_ns;     /* [n_ranks * n_steps] */
};

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static const struct inq_events *events_of(const struct work *w, size_t rank)
{
    return &w->trace->ranks[rank].events;
}

/* ---- lanes ----------------------------------------------------------------------------------- */

static bool comes_before(const struct inq_events *e, const struct lane *a, const struct lane *b)
{
    size_t n = a->to - a->from;
    size_t other = b->to - b->from;
    return n != other ? n > other : e->start_ns[a->from] < e->start_ns[b->from];
}

/* Those with most operations first; false: they are too many. */
static bool list_lanes(const struct inq_events *e, struct lanes *lanes)
{
    lanes->n = 0;
    for (size_t i = 0; i < e->n;) {
        struct lane lane = {.from = i, .to = i, .lane = e->lane[i]};
        while (lane.to < e->n && e->lane[lane.to] == lane.lane) {
            lane.to++;
        }
        i = lane.to;
        if (lanes->n == MOST_LANES) {
            return false;
        }
        size_t at = lanes->n++;
        for (; at > 0 && comes_before(e, &lane, &lanes->at[at - 1]); at--) {
            lanes->at[at] = lanes->at[at - 1];
        }
        lanes->at[at] = lane;
    }
    return true;
}

/* Starts of `inner` in the operations of `outer`, where clocks and rounding do not put them. */
static uint64_t starts_inside(const struct inq_events *e, const struct lane *inner,
                              const struct lane *outer)
{
    uint64_t n = 0;

    for (size_t i = outer->from; i < outer->to; i++) {
        int64_t after_ns = e->start_ns[i] + INQ_REAL_WAIT_NS;
        int64_t before_ns = e->start_ns[i] + e->dur_ns[i] - INQ_REAL_WAIT_NS;
        if (before_ns > after_ns) {
            size_t first = inq_first_from_i64(e->start_ns, inner->from, inner->to, after_ns);
            n += inq_first_from_i64(e->start_ns, first, inner->to, before_ns) - first;
        }
    }
    return n;
}

static struct first first_of(const struct inq_rank *rank, size_t row)
{
    uint32_t c = rank->events.comm != NULL ? rank->events.comm[row] : INQ_NONE;
    if (c >= rank->n_comms) {
        return (struct first){.group = INQ_NONE, .size = -1, .seq = -1};
    }
    const struct inq_comm *comm = &rank->comms[c];
    return (struct first){comm->group, (uint32_t)comm->kind, comm->group_size, comm->seq};
}

/* Whether the lane is as that of the ranks before: it begins alike, and ends about where they do,
 * of whose ends a few operations may be missing. */
static bool add_lane(struct shape *shape, size_t l, const struct inq_rank *rank,
                     const struct lane *lane, bool first)
{
    struct first own = first_of(rank, lane->from);
    size_t ops = lane->to - lane->from;
    const struct first *like = &shape->first[l];

    if (first) {
        shape->ops[l] = ops;
        shape->first[l] = own;
        shape->of_all[l] = true;
        return true;
    }
    size_t least = ops < shape->ops[l] ? ops : shape->ops[l];
    size_t most = ops > shape->ops[l] ? ops : shape->ops[l];
    shape->ops[l] = least;
    shape->of_all[l] = shape->of_all[l] && like->group == own.group;
    return like->kind == own.kind && like->size == own.size && like->seq == own.seq &&
           (double)least >= WHOLE * (double)most;
}

/* Whether the rank does as its role does, as far as its operations tell. */
static bool add_rank(struct shape *shape, const struct inq_rank *rank)
{
    const struct inq_events *e = &rank->events;
    struct lanes lanes;
    bool first = shape->n == 0;

    if (!inq_knows_comm_only(e) || !list_lanes(e, &lanes) || (!first && lanes.n != shape->n)) {
        return false;
    }
    shape->n = lanes.n;
    bool same = true;
    for (size_t a = 0; a < lanes.n; a++) {
        same = add_lane(shape, a, rank, &lanes.at[a], first) && same;
        for (size_t b = 0; b < lanes.n; b++) {
            shape->inside[a][b] += a != b ? starts_inside(e, &lanes.at[a], &lanes.at[b]) : 0;
        }
    }
    return same;
}

static bool compare_ranks(struct work *w, size_t role)
{
    bool same = true;

    w->shape = (struct shape){0};
    for (size_t r = 0; same && r < w->cells->n_ranks; r++) {
        same = w->roles->of[r] != role || add_rank(&w->shape, &w->trace->ranks[r]);
    }
    return same;
}

/* The main communicator's operations begin in others' more often than others' in its own; without
 * such, it is the one with most. */
static void find_main(struct shape *shape)
{
    uint64_t most = 0;

    shape->main = 0;
    for (size_t a = 0; a < shape->n; a++) {
        uint64_t in = 0;
        uint64_t out = 0;
        for (size_t b = 0; b < shape->n; b++) {
            in += shape->inside[a][b];
            out += shape->inside[b][a];
        }
        if (in > out && in - out > most) {
            shape->main = a;
            most = in - out;
        }
    }
    for (size_t b = 0; b < shape->n; b++) {
        shape->beside[b] = shape->inside[shape->main][b] > 0;
    }
}

/* ---- the line of one rank -------------------------------------------------------------------- */

static int draw_line(struct work *w, size_t rank, const struct lanes *lanes, struct inq_err *err)
{
    const struct inq_events *e = events_of(w, rank);
    struct line *line = &w->line;
    struct inq_row_merge merge;
    uint32_t row;

    int64_t seen_ns = INT64_MIN; /* up to here nothing more is counted */
    int64_t other_ns = 0;

    for (size_t l = 0; l < lanes->n; l++) {
        line->lane[lanes->at[l].lane] = (uint8_t)l;
    }
    line->n = 0;
    int code = inq_row_merge_init(&merge, e, err);
    while (code == INQ_OK && inq_row_merge_next(&merge, &row)) {
        size_t l = line->lane[e->lane[row]];
        int64_t end_ns = e->start_ns[row] + e->dur_ns[row];
        if (row >= lanes->at[l].to) {
            continue;
        }
        if (l == w->shape.main) {
            line->start_ns[line->n] = e->start_ns[row];
            line->other_ns[line->n] = other_ns;
            line->end_ns[line->n++] = end_ns;
            other_ns = 0;
        } else if (!w->shape.beside[l]) {
            other_ns += later(0, end_ns - later(e->start_ns[row], seen_ns));
        }
        seen_ns = l == w->shape.main || !w->shape.beside[l] ? later(seen_ns, end_ns) : seen_ns;
    }
    inq_row_merge_release(&merge);
    return code;
}

/* An operation is waited for by the first one of the line that no rank begins before its end. */
static void see_opens(struct work *w, size_t rank, const struct lanes *lanes)
{
    const struct inq_events *e = events_of(w, rank);

    for (size_t l = 0; l < lanes->n; l++) {
        const struct lane *lane = &lanes->at[l];
        for (size_t i = lane->from; w->shape.beside[l] && i < lane->to; i++) {
            int64_t end_ns = e->start_ns[i] + e->dur_ns[i];
            size_t place = inq_first_from_i64(w->line.start_ns, 0, w->line.n, end_ns);
            size_t *opens = &w->shape.opens[l][i - lane->from];
            *opens = place > *opens ? place : *opens;
        }
    }
}

/* Where a step was inferred, ranks may begin and end it some operations apart: what is compared is
 * what all ranks have in it, the same operations on each. */
static void see_steps(struct work *w, size_t rank, const struct lanes *lanes)
{
    (void)lanes;
    for (size_t s = 0; s < w->cells->n_steps; s++) {
        const struct inq_step_stat *cell = inq_step_stat_at(w->cells, rank, s);
        const struct line *line = &w->line;
        if (cell->valid) {
            size_t from = inq_first_from_i64(line->start_ns, 0, line->n, cell->start_ns);
            size_t to = inq_first_from_i64(line->start_ns, from, line->n, cell->end_ns);
            w->from[s] = from > w->from[s] ? from : w->from[s];
            w->to[s] = to < w->to[s] ? to : w->to[s];
        }
    }
}

/* Where a rank is in its operations, along the line. */
struct walk {
    size_t next[MOST_LANES]; /* row of each lane beside it that is not yet waited for */
    int64_t line_ns;         /* the end of the line so far */
    int64_t beside_ns;       /* of what was beside it */
};

static struct walk walk_from(const struct lanes *lanes)
{
    struct walk walk = {.line_ns = INT64_MIN, .beside_ns = INT64_MIN};

    for (size_t l = 0; l < lanes->n; l++) {
        walk.next[l] = lanes->at[l].from;
    }
    return walk;
}

/* On to what may be waited for before the operation of the line at `place`. */
static void walk_to(const struct work *w, const struct inq_events *e, const struct lanes *lanes,
                    size_t place, struct walk *walk)
{
    for (size_t l = 0; l < lanes->n; l++) {
        const struct lane *lane = &lanes->at[l];
        const size_t *opens = w->shape.opens[l];
        size_t *i = &walk->next[l];
        for (; opens != NULL && *i < lane->to && opens[*i - lane->from] <= place; ++*i) {
            walk->beside_ns = later(walk->beside_ns, e->start_ns[*i] + e->dur_ns[*i]);
        }
    }
    walk->line_ns = place > 0 ? later(walk->line_ns, w->line.end_ns[place - 1]) : INT64_MIN;
}

static void add_to(struct spread *spread, int64_t ns)
{
    double off = (double)ns - spread->mean_ns;

    spread->n += 1.0;
    spread->mean_ns += off / spread->n;
    spread->squares += off * ((double)ns - spread->mean_ns);
}

/* What the rank took for itself before the operation, by either rule. */
static int64_t own_if_waits(const struct line *line, size_t place, const struct walk *walk)
{
    int64_t ns = line->start_ns[place] - later(walk->line_ns, walk->beside_ns);
    return later(0, ns - line->other_ns[place]);
}

static int64_t own_if_goes_on(const struct line *line, size_t place, const struct walk *walk)
{
    return later(0, line->start_ns[place] - walk->line_ns);
}

static void see_rules(struct work *w, size_t rank, const struct lanes *lanes)
{
    const struct inq_events *e = events_of(w, rank);
    struct walk walk = walk_from(lanes);

    for (size_t k = 1; k < w->line.n; k++) {
        walk_to(w, e, lanes, k, &walk);
        add_to(&w->rules[k].goes_on, own_if_goes_on(&w->line, k, &walk));
        add_to(&w->rules[k].waits, own_if_waits(&w->line, k, &walk));
    }
    for (size_t l = 0; l < lanes->n; l++) {
        for (size_t i = lanes->at[l].from; l != w->shape.main && i < lanes->at[l].to; i++) {
            size_t place =
                inq_first_from_i64(w->line.start_ns, 0, w->line.n, e->start_ns[i] + e->dur_ns[i]);
            place = w->shape.opens[l] != NULL ? w->shape.opens[l][i - lanes->at[l].from] : place;
            if (w->shape.of_all[l] && place < w->line.n) {
                w->rules[place].never_goes_on = true;
            }
        }
    }
}

/* What seems to be waited for may have been none of the rank's business: it computes beside it.
 * Then ranks agree in what they take from the main operation before, however long the others are;
 * if these are waited for, they agree in what they take beside them. One rank that is late is off
 * by both rules, and so are those in another communicator with it by the first, so that it takes
 * more than that to go by it. Where one has all ranks, all agree by the first rule in any case. */
static bool goes_on(const struct rules *rules)
{
    return !rules->never_goes_on && CHANCE * rules->goes_on.squares < rules->waits.squares;
}

static void take_own(struct work *w, size_t rank, const struct lanes *lanes)
{
    const struct inq_events *e = events_of(w, rank);
    struct walk walk = walk_from(lanes);
    size_t step = 0;

    for (size_t k = 1; k < w->line.n; k++) {
        walk_to(w, e, lanes, k, &walk);
        while (step < w->cells->n_steps && w->to[step] <= k) {
            step++;
        }
        if (step < w->cells->n_steps && w->from[step] <= k) {
            w->own_ns[rank * w->cells->n_steps + step] += goes_on(&w->rules[k])
                                                              ? own_if_goes_on(&w->line, k, &walk)
                                                              : own_if_waits(&w->line, k, &walk);
        }
    }
}

/* ---- roles ----------------------------------------------------------------------------------- */

static void trim(const struct shape *shape, struct lanes *lanes)
{
    for (size_t l = 0; l < lanes->n; l++) {
        lanes->at[l].to = lanes->at[l].from + shape->ops[l];
    }
}

/* Calls `visit` with the line of each rank of the role. */
static int each_rank(struct work *w, size_t role,
                     void (*visit)(struct work *w, size_t rank, const struct lanes *lanes),
                     struct inq_err *err)
{
    int code = INQ_OK;

    for (size_t r = 0; code == INQ_OK && r < w->cells->n_ranks; r++) {
        struct lanes lanes;
        if (w->roles->of[r] == role && list_lanes(events_of(w, r), &lanes)) {
            trim(&w->shape, &lanes);
            code = draw_line(w, r, &lanes, err);
            if (code == INQ_OK) {
                visit(w, r, &lanes);
            }
        }
    }
    return code;
}

/* All of a cell but its own time is communication: there is nothing else. */
static void set_cells(struct work *w, size_t role)
{
    for (size_t i = 0; i < w->cells->n_ranks * w->cells->n_steps; i++) {
        struct inq_step_stat *cell = &w->cells->at[i];
        if (w->roles->of[i / w->cells->n_steps] == role && cell->valid) {
            int64_t ns = cell->comm_ns + cell->other_ns;
            cell->other_ns = earlier(w->own_ns[i], ns);
            cell->comm_ns = ns - cell->other_ns;
        }
    }
}

static int measure_role(struct work *w, size_t role, struct inq_err *err)
{
    size_t n = 0;

    for (size_t l = 0; l < w->shape.n; l++) {
        n += w->shape.ops[l];
    }
    size_t *opens = inq_mem_zalloc(n + 1, sizeof(*opens));
    if (opens == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for %zu operations", n);
    }
    n = 0;
    for (size_t l = 0; l < w->shape.n; l++) {
        w->shape.opens[l] = w->shape.beside[l] ? opens + n : NULL;
        n += w->shape.ops[l];
    }
    int code = each_rank(w, role, see_opens, err);
    for (size_t s = 0; s < w->cells->n_steps; s++) {
        w->from[s] = 0;
        w->to[s] = SIZE_MAX;
    }
    if (code == INQ_OK) {
        code = each_rank(w, role, see_steps, err);
    }
    for (size_t s = 0; s < w->cells->n_steps; s++) {
        bool followed = s + 1 < w->cells->n_steps && w->to[s + 1] != SIZE_MAX;
        w->to[s] = w->to[s] == SIZE_MAX ? 0 : followed ? w->from[s + 1] : w->to[s];
    }
    memset(w->rules, 0, w->line.n * sizeof(*w->rules)); /* lines of ranks alike are as long */
    if (code == INQ_OK) {
        code = each_rank(w, role, see_rules, err);
    }
    if (code == INQ_OK) {
        code = each_rank(w, role, take_own, err);
    }
    if (code == INQ_OK) {
        set_cells(w, role);
    }
    inq_mem_free(opens);
    return code;
}

static int work_init(struct work *w, struct inq_err *err)
{
    size_t n = 0;
    size_t n_lanes = 0;

    for (size_t r = 0; r < w->cells->n_ranks; r++) {
        const struct inq_rank *rank = &w->trace->ranks[r];
        n = rank->events.n > n ? rank->events.n : n;
        n_lanes = rank->n_lanes > n_lanes ? rank->n_lanes : n_lanes;
    }
    w->line.start_ns = inq_mem_alloc((n + 1) * sizeof(*w->line.start_ns));
    w->line.end_ns = inq_mem_alloc((n + 1) * sizeof(*w->line.end_ns));
    w->line.other_ns = inq_mem_alloc((n + 1) * sizeof(*w->line.other_ns));
    w->line.lane = inq_mem_alloc(n_lanes + 1);
    w->rules = inq_mem_alloc((n + 1) * sizeof(*w->rules));
    w->from = inq_mem_alloc((w->cells->n_steps + 1) * sizeof(*w->from));
    w->to = inq_mem_alloc((w->cells->n_steps + 1) * sizeof(*w->to));
    w->own_ns = inq_mem_zalloc(w->cells->n_ranks * w->cells->n_steps + 1, sizeof(*w->own_ns));
    return w->line.start_ns != NULL && w->line.end_ns != NULL && w->line.other_ns != NULL &&
                   w->line.lane != NULL && w->rules != NULL && w->from != NULL && w->to != NULL &&
                   w->own_ns != NULL
               ? INQ_OK
               : inq_err_set(err, INQ_NOMEM, "no memory for %zu operations", n);
}

static void work_release(struct work *w)
{
    inq_mem_free(w->line.start_ns);
    inq_mem_free(w->line.end_ns);
    inq_mem_free(w->line.other_ns);
    inq_mem_free(w->line.lane);
    inq_mem_free(w->rules);
    inq_mem_free(w->from);
    inq_mem_free(w->to);
    inq_mem_free(w->own_ns);
}

int inq_comm_only_own(const struct inq_trace *trace, const struct inq_peer_groups *roles,
                      struct inq_step_stats *cells, struct inq_err *err)
{
    struct work w = {.trace = trace, .roles = roles, .cells = cells};
    bool any = false;

    for (size_t r = 0; r < cells->n_ranks; r++) {
        any = any || inq_knows_comm_only(&trace->ranks[r].events);
    }
    if (!any || cells->op_table || cells->one_step) {
        return INQ_OK;
    }
    int code = work_init(&w, err);
    cells->between_comm = true;
    for (size_t k = 0; code == INQ_OK && k < roles->n; k++) {
        bool same = compare_ranks(&w, k);
        cells->between_comm = cells->between_comm && same;
        if (same) {
            find_main(&w.shape);
            code = measure_role(&w, k, err);
        }
    }
    work_release(&w);
    return code;
}
