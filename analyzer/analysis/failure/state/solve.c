/* SPDX-License-Identifier: Apache-2.0 */
/* A GPU does what was enqueued in order, more or less: what holds a rank is its oldest pending op
 * that others have not joined. */
#include "analysis/failure/state/solve.h"

#include "analysis/failure/state/match.h"
#include "base/mem.h"

#include <string.h>

/* More would tell nothing new. */
enum { MAX_EDGES = 4096 };

/* Members that hold a collective, in their order; one more than is kept, for a rank that is itself
 * among them does not wait for itself. */
struct holders {
    uint32_t at[MAX_EDGES + 1];
    uint32_t n;
};

/* What the members of a group are to a collective: the same for all that wait in it. */
struct outlook {
    bool known;
    uint32_t team;
    int64_t seq;
    bool started;             /* by the one that waits */
    bool passed;              /* some member is past it */
    bool any_started;         /* some member that is in it has started it */
    struct holders behind;    /* have not come to it */
    struct holders elsewhere; /* have enqueued it and do not come to it */
};

/* Outlooks that are remembered, by group: all ranks of a job may wait in one, or in a few. */
enum { OUTLOOKS = 64 };

struct drawing {
    const struct inq_state *model;
    struct inq_solution *waits;
    uint32_t rank; /* whose edges are drawn */
    uint32_t to[MAX_EDGES];
    uint32_t n;
    struct outlook outlooks[OUTLOOKS];
};

static void add(struct drawing *d, uint32_t to)
{
    if (d->n < MAX_EDGES && to != d->rank) {
        d->to[d->n++] = to;
    }
}

/* ---- collectives ----------------------------------------------------------------------------- */

/* Whether the member has not come to `seq`: it stands before it, or at it with nothing pending. */
static bool is_behind(const struct inq_state_place *place, int64_t seq)
{
    return place->known ? place->next_seq < seq || (place->next_seq == seq && !place->pending)
                        : place->whole;
}

/* Whether the rank's oldest op is that of the others, not just one behind which they are. */
static bool is_in(const struct inq_state_rank *rank, const struct inq_state_op *op)
{
    const struct inq_state_op *first = rank->n_pending > 0 ? &rank->pending[0] : NULL;
    return first != NULL && first->team == op->team && !first->entry->is_p2p &&
           first->entry->collective_seq == op->entry->collective_seq;
}

/* Whether the rank's dump tells that it has not started the op, which another has. */
static bool is_unstarted(const struct inq_state_rank *rank, const struct inq_state_op *op)
{
    return rank->timed && is_in(rank, op) && rank->pending[0].entry->state == INQ_FLIGHT_SCHEDULED;
}

/* Whether a member that has enqueued the op, as all others, may still not come to it. */
static bool is_elsewhere(const struct drawing *d, const struct inq_state_place *place,
                         const struct inq_state_op *op)
{
    const struct inq_state_rank *member = &d->model->ranks[place->rank];
    bool there = place->known && (place->next_seq > op->entry->collective_seq || place->pending);
    bool unsure = !place->certain && !there; /* it may have joined, or not */
    bool older = member->n_unplaced > 0 && member->n_pending > 0 &&
                 member->unplaced < member->pending[0].entry->record_id;
    bool late = op->entry->state == INQ_FLIGHT_STARTED && is_unstarted(member, op);
    return unsure || older || late || (member->n_pending > 0 && !is_in(member, op));
}

static void hold(struct holders *holders, bool holds, uint32_t rank)
{
    if (holds && holders->n <= MAX_EDGES) {
        holders->at[holders->n++] = rank;
    }
}

static const struct outlook *look(struct drawing *d, const struct inq_state_op *op)
{
    struct outlook *o = &d->outlooks[op->team % OUTLOOKS];
    int64_t seq = op->entry->collective_seq;
    bool started = op->entry->state == INQ_FLIGHT_STARTED;
    if (o->known && o->team == op->team && o->seq == seq && o->started == started) {
        return o;
    }
    const struct inq_state_group *team = &d->model->groups[op->team];
    o->known = true;
    o->team = op->team;
    o->seq = seq;
    o->started = started;
    o->passed = o->any_started = false;
    o->behind.n = o->elsewhere.n = 0;
    for (size_t i = 0; i < team->n_members; i++) {
        const struct inq_state_place *place = &team->places[i];
        const struct inq_state_rank *member = &d->model->ranks[place->rank];
        o->passed = o->passed || (place->known && place->next_seq > seq);
        o->any_started = o->any_started || (member->n_pending > 0 && is_in(member, op) &&
                                            member->pending[0].entry->state == INQ_FLIGHT_STARTED);
        hold(&o->behind, place->certain && is_behind(place, seq), place->rank);
        hold(&o->elsewhere, is_elsewhere(d, place, op), place->rank);
    }
    return o;
}

static void add_all(struct drawing *d, const struct holders *holders)
{
    for (uint32_t i = 0; i < holders->n; i++) {
        add(d, holders->at[i]);
    }
}

/* Whether another member has started the op, and this one has not. */
static bool is_left_behind(struct drawing *d, const struct outlook *o,
                           const struct inq_state_op *op)
{
    bool behind = o->any_started && is_unstarted(&d->model->ranks[d->rank], op);
    d->waits->nodes[d->rank].unstarted = behind;
    return behind;
}

static enum inq_state_end draw_collective(struct drawing *d, const struct inq_state_op *op)
{
    const struct outlook *o = look(d, op);
    if (o->passed) {
        return INQ_END_ON_GPU;
    }
    add_all(d, &o->behind);
    if (d->n == 0) {
        add_all(d, &o->elsewhere);
    }
    if (d->n > 0) {
        return INQ_END_WAITS;
    }
    bool alone = d->model->groups[op->team].n_members == 1;
    return alone || is_left_behind(d, o, op) ? INQ_END_ON_GPU : INQ_END_JOINED;
}

/* ---- P2P ------------------------------------------------------------------------------------- */

/* Whether the op belongs to what holds the rank now. */
static bool is_first(const struct inq_state_rank *rank, const struct inq_state_op *op)
{
    return (size_t)(op - rank->pending) < inq_state_unit_end(rank, 0);
}

/* A batch is held by each of its members whose other side has not come. */
static enum inq_state_end draw_transfers(struct drawing *d, size_t first, size_t end)
{
    const struct inq_state_rank *rank = &d->model->ranks[d->rank];
    size_t n_there = 0;
    size_t n_left = 0;
    for (size_t i = first; i < end; i++) {
        struct inq_state_partner partner = inq_state_partner(d->model, d->rank, &rank->pending[i]);
        bool there = partner.stands == INQ_OTHER_THERE &&
                     is_first(&d->model->ranks[partner.peer], partner.op);
        n_there += there;
        n_left += partner.stands == INQ_OTHER_LEFT;
        if (!there && partner.peer != INQ_NONE && partner.stands != INQ_OTHER_LEFT) {
            add(d, partner.peer);
        }
    }
    return d->n > 0      ? INQ_END_WAITS
           : n_there > 0 ? INQ_END_JOINED
           : n_left > 0  ? INQ_END_ON_GPU
                         : INQ_END_IDLE;
}

/* ---- one rank -------------------------------------------------------------------------------- */

/* Whether the op was enqueued before that of the waiter so far: what a rank misses first is what it
 * was to do next. */
static bool waits_longer(const struct drawing *d, uint32_t op, const struct inq_state_node *to)
{
    int64_t own_ns = d->model->ranks[d->rank].pending[op].entry->created_ns;
    int64_t its_ns = d->model->ranks[to->waiter].pending[to->waiter_op].entry->created_ns;
    return own_ns != INQ_TIME_NONE && its_ns != INQ_TIME_NONE && own_ns < its_ns;
}

static int keep_edges(struct drawing *d, uint32_t op, struct inq_err *err)
{
    struct inq_state_node *node = &d->waits->nodes[d->rank];
    node->edges = inq_arena_array(d->model->arena, d->n, sizeof *node->edges);
    if (node->edges == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for who waits for whom");
    }
    for (uint32_t i = 0; i < d->n; i++) {
        struct inq_state_node *to = &d->waits->nodes[d->to[i]];
        node->edges[node->n_edges++] = (struct inq_state_edge){d->to[i], op};
        if (to->n_waiters++ == 0 || waits_longer(d, op, to)) {
            to->waiter = d->rank;
            to->waiter_op = op;
        }
    }
    return INQ_OK;
}

/* What was pending in a dump that is older than the others' may be over. */
static int draw_rank(struct drawing *d, struct inq_err *err)
{
    const struct inq_state_rank *rank = &d->model->ranks[d->rank];
    struct inq_state_node *node = &d->waits->nodes[d->rank];
    if (rank->stale) {
        return INQ_OK;
    }
    for (size_t i = 0, next = 0; i < rank->n_pending; i = next) {
        const struct inq_state_op *op = &rank->pending[i];
        bool numbered = op->entry->collective_seq >= 0;
        d->n = 0;
        next = inq_state_unit_end(rank, i);
        enum inq_state_end end = op->entry->is_p2p ? draw_transfers(d, i, next)
                                 : numbered        ? draw_collective(d, op)
                                                   : INQ_END_IDLE;
        if (end != INQ_END_IDLE) {
            node->end = end;
            node->op = (uint32_t)i;
            return keep_edges(d, (uint32_t)i, err);
        }
    }
    return INQ_OK;
}

/* ---- ends of chains -------------------------------------------------------------------------- */

bool inq_state_is_stuck(const struct inq_state_node *node)
{
    return node->n_waiters > 0 && (node->end == INQ_END_ON_GPU || node->end == INQ_END_ON_CPU);
}

int inq_state_reach(const struct inq_state *model, const struct inq_solution *waits, bool *marked,
                    struct inq_err *err)
{
    (void)err;
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t r = 0; r < model->n_ranks; r++) {
            const struct inq_state_node *node = &waits->nodes[r];
            for (uint32_t e = 0; e < node->n_edges && !marked[r]; e++) {
                marked[r] = marked[node->edges[e].to];
                changed = changed || marked[r];
            }
        }
    }
    return INQ_OK;
}

static void name_ends(const struct inq_state *model, struct inq_solution *waits)
{
    for (size_t r = 0; r < model->n_ranks; r++) {
        struct inq_state_node *node = &waits->nodes[r];
        bool unplaced = model->ranks[r].n_unplaced > 0;
        bool joined = node->end == INQ_END_JOINED && !(unplaced && node->n_waiters > 0);
        if (node->n_edges > 0 || node->end == INQ_END_ON_GPU || joined) {
            continue;
        }
        if (!model->ranks[r].whole || unplaced) {
            node->end = node->n_waiters > 0 ? INQ_END_UNKNOWN : INQ_END_IDLE;
        } else if (node->n_waiters > 0) {
            node->end = INQ_END_ON_CPU;
        }
    }
}

/* The first edge to a rank that waits in a circle, or for one. */
static size_t next_inside(const struct inq_state_node *node, const bool *ends)
{
    uint32_t e = 0;
    while (e + 1 < node->n_edges && ends[node->edges[e].to]) {
        e++;
    }
    return node->edges[e].to;
}

/* A rank waits for all that it waits for: it comes out only if each of them does. Those without a
 * whole dump may have arrived already, and hold nobody for certain. */
static void find_ends(const struct inq_state *model, const struct inq_solution *waits, bool *ends)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t r = 0; r < model->n_ranks; r++) {
            const struct inq_state_node *node = &waits->nodes[r];
            bool all = !ends[r];
            for (uint32_t e = 0; e < node->n_edges && all; e++) {
                all = ends[node->edges[e].to];
            }
            ends[r] = ends[r] || all;
            changed = changed || all;
        }
    }
}

/* Follows such edges until they must have closed, then once around. */
static void mark_circle(const struct inq_state *model, struct inq_solution *waits, const bool *ends,
                        size_t at)
{
    for (size_t step = 0; step < model->n_ranks; step++) {
        at = next_inside(&waits->nodes[at], ends);
    }
    while (waits->nodes[at].end != INQ_END_CIRCLE) {
        waits->nodes[at].end = INQ_END_CIRCLE;
        at = next_inside(&waits->nodes[at], ends);
    }
}

/* Whether nobody waited in a circle any more if this rank went on. */
static bool would_end(const struct inq_state *model, const struct inq_solution *waits, size_t rank,
                      const bool *ends, bool *scratch)
{
    memcpy(scratch, ends, model->n_ranks * sizeof *scratch);
    scratch[rank] = true;
    find_ends(model, waits, scratch);
    return memchr(scratch, 0, model->n_ranks * sizeof *scratch) == NULL;
}

/* Where one rank stands against all others, it alone is the circle's cause. */
static void find_lone(const struct inq_state *model, struct inq_solution *waits, const bool *ends,
                      bool *scratch)
{
    enum { LONGEST = 8 };
    size_t n = 0;
    size_t n_lone = 0;
    size_t lone = 0;
    for (size_t r = 0; r < model->n_ranks; r++) {
        n += waits->nodes[r].end == INQ_END_CIRCLE;
    }
    for (size_t r = 0; r < model->n_ranks && n <= LONGEST; r++) {
        if (waits->nodes[r].end == INQ_END_CIRCLE && would_end(model, waits, r, ends, scratch)) {
            n_lone++;
            lone = r;
        }
    }
    for (size_t r = 0; r < model->n_ranks && n_lone == 1; r++) {
        if (waits->nodes[r].end == INQ_END_CIRCLE && r != lone) {
            waits->nodes[r].end = INQ_END_WAITS;
        }
    }
}

static int find_circles(const struct inq_state *model, struct inq_solution *waits,
                        struct inq_err *err)
{
    bool *ends = inq_mem_zalloc(2 * (model->n_ranks + 1), sizeof *ends);
    if (ends == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory for who waits for whom");
    }
    for (size_t r = 0; r < model->n_ranks; r++) {
        ends[r] = !model->ranks[r].whole || model->ranks[r].n_unplaced > 0;
    }
    find_ends(model, waits, ends);
    size_t start = 0;
    while (start < model->n_ranks && ends[start]) {
        start++;
    }
    if (start < model->n_ranks) {
        mark_circle(model, waits, ends, start); /* one is enough to tell */
        find_lone(model, waits, ends, ends + model->n_ranks);
    }
    inq_mem_free(ends);
    return INQ_OK;
}

int inq_state_solve(const struct inq_state *model, struct inq_solution *waits, struct inq_err *err)
{
    struct drawing *d = inq_mem_zalloc(1, sizeof *d);
    waits->nodes = inq_arena_array(model->arena, model->n_ranks, sizeof *waits->nodes);
    if (d == NULL || waits->nodes == NULL) {
        inq_mem_free(d);
        return inq_err_set(err, INQ_NOMEM, "no memory for who waits for whom");
    }
    d->model = model;
    d->waits = waits;
    for (size_t r = 0; r < model->n_ranks; r++) {
        waits->nodes[r].op = waits->nodes[r].waiter = waits->nodes[r].waiter_op = INQ_NONE;
    }
    int code = INQ_OK;
    for (size_t r = 0; r < model->n_ranks && code == INQ_OK; r++) {
        d->rank = (uint32_t)r;
        code = draw_rank(d, err);
    }
    inq_mem_free(d);
    name_ends(model, waits);
    return code == INQ_OK ? find_circles(model, waits, err) : code;
}
