/* SPDX-License-Identifier: Apache-2.0 */
/* A GPU does what was enqueued in order, more or less: what holds a rank is its oldest pending op
 * that others have not joined. */
#include "analysis/failure/state/solve.h"

#include "analysis/failure/state/match.h"
#include "base/hash.h"
#include "base/mem.h"

#include <string.h>

/* What the members of a group are to a collective: the same for all that wait in it. */
struct outlook {
    bool passed;        /* some member is past it */
    bool any_started;   /* some member that is in it has started it */
    uint32_t behind;    /* members that have not come to it: a list */
    uint32_t elsewhere; /* those that have enqueued it and do not come to it: a list */
};

struct drawing {
    const struct inq_state *model;
    struct inq_solution *waits;
    uint32_t rank; /* whose waits are drawn */
    size_t cap_others;
    struct inq_map known; /* hash of a collective -> its outlook */
    size_t n_outlooks, cap_outlooks;
    struct outlook *outlooks;
};

static int no_memory(struct inq_err *err)
{
    return inq_err_set(err, INQ_NOMEM, "no memory for who waits for whom");
}

/* ---- lists of ranks -------------------------------------------------------------------------- */

/* An empty list with room for n. */
static int add_list(struct drawing *d, size_t n, uint32_t *list, struct inq_err *err)
{
    struct inq_solution *waits = d->waits;
    if (waits->n_others == d->cap_others) {
        size_t cap = d->cap_others * 2 + 64;
        struct inq_state_others *more = inq_arena_array(d->model->arena, cap, sizeof *more);
        if (more == NULL) {
            return no_memory(err);
        }
        if (waits->n_others > 0) {
            memcpy(more, waits->others, waits->n_others * sizeof *more);
        }
        waits->others = more;
        d->cap_others = cap;
    }
    uint32_t *at = inq_arena_array(d->model->arena, n, sizeof *at);
    if (at == NULL) {
        return no_memory(err);
    }
    *list = (uint32_t)waits->n_others++;
    waits->others[*list] = (struct inq_state_others){.at = at, .longest = {INQ_NONE, INQ_NONE}};
    return INQ_OK;
}

static void put(struct drawing *d, uint32_t list, bool holds, uint32_t rank)
{
    struct inq_state_others *others = &d->waits->others[list];
    if (holds) {
        others->at[others->n++] = rank;
    }
}

/* The place in the list, from `from` on, of a rank that is neither marked nor the one that waits.
 */
static uint32_t next_of(const struct inq_state_others *others, uint32_t from, uint32_t rank,
                        const bool *marked)
{
    while (from < others->n &&
           (others->at[from] == rank || (marked != NULL && marked[others->at[from]]))) {
        from++;
    }
    return from;
}

static bool holds(const struct drawing *d, uint32_t list)
{
    const struct inq_state_others *others = &d->waits->others[list];
    return next_of(others, 0, d->rank, NULL) < others->n;
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

static int list_holders(struct drawing *d, struct outlook *o, const struct inq_state_op *op,
                        struct inq_err *err)
{
    const struct inq_state_group *team = &d->model->groups[op->team];
    int code = add_list(d, team->n_members, &o->behind, err);
    code = code == INQ_OK ? add_list(d, team->n_members, &o->elsewhere, err) : code;
    for (size_t i = 0; i < team->n_members && code == INQ_OK; i++) {
        const struct inq_state_place *place = &team->places[i];
        bool behind = place->certain && is_behind(place, op->entry->collective_seq);
        put(d, o->behind, behind, place->rank);
        put(d, o->elsewhere, is_elsewhere(d, place, op), place->rank);
    }
    return code;
}

static int look(struct drawing *d, const struct inq_state_op *op, uint32_t *index,
                struct inq_err *err)
{
    int64_t seq = op->entry->collective_seq;
    int64_t what[] = {op->team, seq, op->entry->state == INQ_FLIGHT_STARTED};
    uint64_t key = inq_hash_bytes(what, sizeof what);
    if (inq_map_get(&d->known, key, index)) {
        return INQ_OK;
    }
    int code = inq_mem_grow(&d->outlooks, &d->cap_outlooks, d->n_outlooks + 1, sizeof *d->outlooks,
                            INQ_NONE, err);
    if (code != INQ_OK) {
        return code;
    }
    struct outlook *o = &d->outlooks[d->n_outlooks];
    const struct inq_state_group *team = &d->model->groups[op->team];
    *o = (struct outlook){.behind = INQ_NONE, .elsewhere = INQ_NONE};
    for (size_t i = 0; i < team->n_members; i++) {
        const struct inq_state_place *place = &team->places[i];
        const struct inq_state_rank *member = &d->model->ranks[place->rank];
        o->passed = o->passed || (place->known && place->next_seq > seq);
        o->any_started = o->any_started || (member->n_pending > 0 && is_in(member, op) &&
                                            member->pending[0].entry->state == INQ_FLIGHT_STARTED);
    }
    *index = (uint32_t)d->n_outlooks++;
    code = o->passed ? INQ_OK : list_holders(d, o, op, err);
    return code == INQ_OK ? inq_map_put(&d->known, key, *index, err) : code;
}

/* Whether another member has started the op, and this one has not. */
static bool is_left_behind(struct drawing *d, const struct outlook *o,
                           const struct inq_state_op *op)
{
    bool behind = o->any_started && is_unstarted(&d->model->ranks[d->rank], op);
    d->waits->nodes[d->rank].unstarted = behind;
    return behind;
}

/* How the rank stands in the op, and for whom it waits. */
static int draw_collective(struct drawing *d, const struct inq_state_op *op,
                           enum inq_state_end *end, uint32_t *list, struct inq_err *err)
{
    uint32_t index = 0;
    int code = look(d, op, &index, err);
    if (code != INQ_OK) {
        return code;
    }
    const struct outlook *o = &d->outlooks[index];
    if (o->passed) {
        *end = INQ_END_ON_GPU;
    } else if (holds(d, o->behind) || holds(d, o->elsewhere)) {
        *end = INQ_END_WAITS;
        *list = holds(d, o->behind) ? o->behind : o->elsewhere;
    } else {
        bool alone = d->model->groups[op->team].n_members == 1;
        *end = alone || is_left_behind(d, o, op) ? INQ_END_ON_GPU : INQ_END_JOINED;
    }
    return INQ_OK;
}

/* ---- P2P ------------------------------------------------------------------------------------- */

/* The end of the unit that begins at pending op `first`: a batch, or a single op. */
static size_t unit_end(const struct inq_state_rank *rank, size_t first)
{
    const struct inq_state_op *op = &rank->pending[first];
    size_t end = first + 1;
    while (end < rank->n_pending && op->entry->is_p2p && op->entry->p2p_seq >= 0 &&
           rank->pending[end].team == op->team && rank->pending[end].entry->is_p2p &&
           rank->pending[end].entry->p2p_seq == op->entry->p2p_seq) {
        end++;
    }
    return end;
}

/* Whether the op belongs to what holds the rank now. */
static bool is_first(const struct inq_state_rank *rank, const struct inq_state_op *op)
{
    return (size_t)(op - rank->pending) < unit_end(rank, 0);
}

/* A batch is held by each of its members whose other side has not come. */
static int draw_transfers(struct drawing *d, size_t first, size_t last, enum inq_state_end *end,
                          uint32_t *list, struct inq_err *err)
{
    const struct inq_state_rank *rank = &d->model->ranks[d->rank];
    size_t n_there = 0;
    size_t n_left = 0;
    uint32_t own = INQ_NONE;
    int code = add_list(d, last - first, &own, err);
    for (size_t i = first; i < last && code == INQ_OK; i++) {
        struct inq_state_partner partner = inq_state_partner(d->model, d->rank, &rank->pending[i]);
        bool there = partner.stands == INQ_OTHER_THERE &&
                     is_first(&d->model->ranks[partner.peer], partner.op);
        n_there += there;
        n_left += partner.stands == INQ_OTHER_LEFT;
        bool missed = !there && partner.peer != INQ_NONE && partner.stands != INQ_OTHER_LEFT;
        put(d, own, missed, partner.peer);
    }
    if (code != INQ_OK) {
        return code;
    }
    *end = n_there > 0 ? INQ_END_JOINED : n_left > 0 ? INQ_END_ON_GPU : INQ_END_IDLE;
    if (holds(d, own)) {
        *end = INQ_END_WAITS;
        *list = own;
    }
    return INQ_OK;
}

/* ---- one rank -------------------------------------------------------------------------------- */

/* Whether rank a enqueued its op before rank b: what a rank misses first is what it was to do next.
 */
static bool waits_longer(const struct drawing *d, uint32_t a, uint32_t b)
{
    const struct inq_state_rank *ranks = d->model->ranks;
    int64_t a_ns = ranks[a].pending[d->waits->nodes[a].op].entry->created_ns;
    int64_t b_ns = ranks[b].pending[d->waits->nodes[b].op].entry->created_ns;
    return a_ns == b_ns ? a < b : a_ns != INQ_TIME_NONE && (b_ns == INQ_TIME_NONE || a_ns < b_ns);
}

/* Keeps the two that wait longest: one of them may be on the list itself. */
static void wait_for(struct drawing *d, uint32_t list)
{
    const struct inq_state_others *others = &d->waits->others[list];
    uint32_t *longest = d->waits->others[list].longest;
    d->waits->nodes[d->rank].others = list;
    d->waits->nodes[d->rank].first = others->at[next_of(others, 0, d->rank, NULL)];
    if (longest[0] == INQ_NONE || waits_longer(d, d->rank, longest[0])) {
        longest[1] = longest[0];
        longest[0] = d->rank;
    } else if (longest[1] == INQ_NONE || waits_longer(d, d->rank, longest[1])) {
        longest[1] = d->rank;
    }
}

/* What was pending in a dump that is older than the others' may be over. */
static int draw_rank(struct drawing *d, struct inq_err *err)
{
    const struct inq_state_rank *rank = &d->model->ranks[d->rank];
    struct inq_state_node *node = &d->waits->nodes[d->rank];
    int code = INQ_OK;
    if (rank->stale) {
        return INQ_OK;
    }
    for (size_t i = 0, next = 0; i < rank->n_pending && code == INQ_OK; i = next) {
        const struct inq_state_op *op = &rank->pending[i];
        enum inq_state_end end = INQ_END_IDLE;
        uint32_t list = INQ_NONE;
        next = unit_end(rank, i);
        if (op->entry->is_p2p) {
            code = draw_transfers(d, i, next, &end, &list, err);
        } else if (op->entry->collective_seq >= 0) {
            code = draw_collective(d, op, &end, &list, err);
        }
        if (end != INQ_END_IDLE) {
            node->end = end;
            node->op = (uint32_t)i;
            if (list != INQ_NONE) {
                wait_for(d, list);
            }
            return code;
        }
    }
    return code;
}

static void name_waiters(const struct drawing *d)
{
    for (size_t l = 0; l < d->waits->n_others; l++) {
        const struct inq_state_others *others = &d->waits->others[l];
        for (uint32_t i = 0; i < others->n; i++) {
            struct inq_state_node *to = &d->waits->nodes[others->at[i]];
            uint32_t waiter = others->longest[others->longest[0] == others->at[i]];
            bool sooner = waiter != INQ_NONE &&
                          (to->waiter == INQ_NONE || waits_longer(d, waiter, to->waiter));
            if (sooner) {
                to->waiter = waiter;
                to->waiter_op = d->waits->nodes[waiter].op;
            }
        }
    }
}

/* ---- ends of chains -------------------------------------------------------------------------- */

bool inq_state_is_blocked(const struct inq_state_node *node)
{
    return node->waiter != INQ_NONE && (node->end == INQ_END_ON_GPU || node->end == INQ_END_ON_CPU);
}

/* Lists with a marked rank; no less than were found before. */
static void mark_lists(const struct inq_solution *waits, const bool *marked, bool *found)
{
    for (size_t l = 0; l < waits->n_others; l++) {
        const struct inq_state_others *others = &waits->others[l];
        for (uint32_t i = 0; i < others->n && !found[l]; i++) {
            found[l] = marked[others->at[i]];
        }
    }
}

int inq_state_reach(const struct inq_state *model, const struct inq_solution *waits, bool *marked,
                    struct inq_err *err)
{
    bool *found = inq_mem_zalloc(waits->n_others + 1, sizeof *found);
    if (found == NULL) {
        return no_memory(err);
    }
    for (bool changed = true; changed;) {
        changed = false;
        mark_lists(waits, marked, found);
        for (size_t r = 0; r < model->n_ranks; r++) {
            uint32_t list = waits->nodes[r].others;
            bool reaches = list != INQ_NONE && found[list] && !marked[r];
            marked[r] = marked[r] || reaches;
            changed = changed || reaches;
        }
    }
    inq_mem_free(found);
    return INQ_OK;
}

static void name_ends(const struct inq_state *model, struct inq_solution *waits)
{
    for (size_t r = 0; r < model->n_ranks; r++) {
        struct inq_state_node *node = &waits->nodes[r];
        bool unplaced = model->ranks[r].n_unplaced > 0;
        bool joined = node->end == INQ_END_JOINED && !(unplaced && node->waiter != INQ_NONE);
        if (node->others != INQ_NONE || node->end == INQ_END_ON_GPU || joined) {
            continue;
        }
        if (!model->ranks[r].whole || unplaced) {
            node->end = node->waiter != INQ_NONE ? INQ_END_UNKNOWN : INQ_END_IDLE;
        } else if (node->waiter != INQ_NONE) {
            node->end = INQ_END_ON_CPU;
        }
    }
}

/* A rank waits for all that it waits for: it comes out only if each of them does. Those without a
 * whole dump may have arrived already, and hold nobody for certain. `past` gets the place in each
 * list up to which all do. */
static void find_ends(const struct inq_state *model, const struct inq_solution *waits, bool *ends,
                      uint32_t *past)
{
    memset(past, 0, waits->n_others * sizeof *past);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t r = 0; r < model->n_ranks; r++) {
            uint32_t list = waits->nodes[r].others;
            bool all = !ends[r];
            if (all && list != INQ_NONE) {
                const struct inq_state_others *others = &waits->others[list];
                past[list] = next_of(others, past[list], INQ_NONE, ends);
                all = next_of(others, past[list], r, ends) == others->n;
            }
            ends[r] = ends[r] || all;
            changed = changed || all;
        }
    }
}

/* The first for whom a rank waits that comes out of no circle either. */
static uint32_t next_inside(const struct inq_solution *waits, uint32_t rank, const bool *ends,
                            const uint32_t *past)
{
    uint32_t list = waits->nodes[rank].others;
    return waits->others[list].at[next_of(&waits->others[list], past[list], rank, ends)];
}

/* Follows these until they must have closed, then once around. */
static void mark_circle(const struct inq_state *model, struct inq_solution *waits, const bool *ends,
                        const uint32_t *past, uint32_t at)
{
    for (size_t step = 0; step < model->n_ranks; step++) {
        at = next_inside(waits, at, ends, past);
    }
    while (waits->nodes[at].end != INQ_END_CIRCLE) {
        waits->nodes[at].end = INQ_END_CIRCLE;
        at = next_inside(waits, at, ends, past);
    }
}

/* Whether nobody waited in a circle any more if this rank went on. */
static bool would_end(const struct inq_state *model, const struct inq_solution *waits, size_t rank,
                      const bool *ends, bool *scratch, uint32_t *past)
{
    memcpy(scratch, ends, model->n_ranks * sizeof *scratch);
    scratch[rank] = true;
    find_ends(model, waits, scratch, past);
    return memchr(scratch, 0, model->n_ranks * sizeof *scratch) == NULL;
}

/* Whether the rank is in a collective that none of at least two others is known to have entered. */
static bool stands_alone(const struct inq_state *model, const struct inq_solution *waits, size_t r)
{
    const struct inq_state_op *op = &model->ranks[r].pending[waits->nodes[r].op];
    const struct inq_state_group *team = &model->groups[op->team];
    size_t n_behind = 0;
    for (size_t i = 0; i < team->n_members && !op->entry->is_p2p; i++) {
        const struct inq_state_place *place = &team->places[i];
        bool behind = is_behind(place, op->entry->collective_seq);
        if (place->rank != r && place->known && !behind) {
            return false;
        }
        n_behind += behind && place->certain;
    }
    return n_behind > 1;
}

/* Where one rank stands against all others, it alone is the circle's cause: nobody would wait in it
 * any more if it went on. Where that is so of several, for want of dumps, it is the one that is
 * alone in what it entered. */
static void find_lone(const struct inq_state *model, struct inq_solution *waits, const bool *ends,
                      bool *scratch, uint32_t *past)
{
    enum { LONGEST = 8 };
    size_t n = 0;
    size_t n_lone = 0;
    size_t n_alone = 0;
    size_t lone = 0;
    size_t alone = 0;
    for (size_t r = 0; r < model->n_ranks; r++) {
        n += waits->nodes[r].end == INQ_END_CIRCLE;
    }
    for (size_t r = 0; r < model->n_ranks && n <= LONGEST; r++) {
        if (waits->nodes[r].end != INQ_END_CIRCLE ||
            !would_end(model, waits, r, ends, scratch, past)) {
            continue;
        }
        bool by_itself = stands_alone(model, waits, r);
        n_lone++;
        n_alone += by_itself;
        lone = r;
        alone = by_itself ? r : alone;
    }
    bool found = n_lone == 1 || n_alone == 1;
    lone = n_lone == 1 ? lone : alone;
    for (size_t r = 0; r < model->n_ranks && found; r++) {
        if (waits->nodes[r].end == INQ_END_CIRCLE && r != lone) {
            waits->nodes[r].end = INQ_END_WAITS;
        }
    }
}

static int find_circles(const struct inq_state *model, struct inq_solution *waits,
                        struct inq_err *err)
{
    bool *ends = inq_mem_zalloc(2 * (model->n_ranks + 1), sizeof *ends);
    uint32_t *past = inq_mem_zalloc(waits->n_others + 1, sizeof *past);
    if (ends == NULL || past == NULL) {
        inq_mem_free(ends);
        inq_mem_free(past);
        return no_memory(err);
    }
    for (size_t r = 0; r < model->n_ranks; r++) {
        ends[r] = !model->ranks[r].whole || model->ranks[r].n_unplaced > 0;
    }
    find_ends(model, waits, ends, past);
    uint32_t start = 0;
    while (start < model->n_ranks && ends[start]) {
        start++;
    }
    if (start < model->n_ranks) {
        mark_circle(model, waits, ends, past, start); /* one is enough to tell */
        find_lone(model, waits, ends, ends + model->n_ranks, past);
    }
    inq_mem_free(ends);
    inq_mem_free(past);
    return INQ_OK;
}

int inq_state_solve(const struct inq_state *model, struct inq_solution *waits, struct inq_err *err)
{
    struct drawing d = {.model = model, .waits = waits};
    *waits = (struct inq_solution){
        .nodes = inq_arena_array(model->arena, model->n_ranks, sizeof *waits->nodes)};
    if (waits->nodes == NULL) {
        return no_memory(err);
    }
    for (size_t r = 0; r < model->n_ranks; r++) {
        struct inq_state_node *node = &waits->nodes[r];
        node->op = node->first = node->others = node->waiter = node->waiter_op = INQ_NONE;
    }
    int code = INQ_OK;
    for (; d.rank < model->n_ranks && code == INQ_OK; d.rank++) {
        code = draw_rank(&d, err);
    }
    inq_map_release(&d.known);
    inq_mem_free(d.outlooks);
    if (code != INQ_OK) {
        return code;
    }
    name_waiters(&d);
    name_ends(model, waits);
    return find_circles(model, waits, err);
}
