/* SPDX-License-Identifier: Apache-2.0 */
/* Sends and receives: who the other side is, and whether both sides say the same. */
#include "analysis/failure/state/match.h"

#include <string.h>

static uint32_t peer_of(const struct inq_state *model, uint32_t rank, const struct inq_state_op *op)
{
    const struct inq_state_group *team = &model->groups[op->team];
    const struct inq_flight_entry *entry = op->entry;
    if (entry->src < 0 || entry->dst < 0 || (size_t)entry->src >= team->n_members ||
        (size_t)entry->dst >= team->n_members) {
        return INQ_NONE;
    }
    bool sends = team->members[entry->src] == model->ranks[rank].rank;
    return inq_state_find_rank(model, team->members[sends ? entry->dst : entry->src]);
}

size_t inq_state_unit_end(const struct inq_state_rank *rank, size_t first)
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

/* Whether the channel is all that holds the op's unit: then pending means not transferred. */
static bool is_single(const struct inq_state_rank *rank, const struct inq_state_op *op)
{
    size_t at = (size_t)(op - rank->pending);
    const struct inq_state_op *near[] = {at > 0 ? op - 1 : NULL,
                                         at + 1 < rank->n_pending ? op + 1 : NULL};
    for (size_t i = 0; i < 2; i++) {
        const struct inq_flight_entry *entry = near[i] != NULL ? near[i]->entry : NULL;
        if (entry != NULL && entry->is_p2p && near[i]->channel != INQ_NONE &&
            near[i]->team == op->team && entry->p2p_seq == op->entry->p2p_seq) {
            return false;
        }
    }
    return true;
}

/* In a group of two both sides number all transfers alike, unless they are batched: one whose
 * oldest pending number is higher has left this one behind. */
static bool left_by_number(const struct inq_state_group *team, uint32_t peer,
                           const struct inq_state_channel *theirs, const struct inq_state_op *op)
{
    int64_t oldest = inq_state_place(team, peer)->transfer;
    return oldest >= 0 ? oldest > op->entry->p2p_seq
                       : theirs != NULL && theirs->last_done >= op->entry->p2p_seq;
}

/* Of a rank that is no member of the group nothing is known. */
static bool is_unbatched(const struct inq_state_group *team, uint32_t rank)
{
    const struct inq_state_place *place = inq_state_place(team, rank);
    return place != NULL && !place->batched;
}

/* The n-th transfer of a channel on one side is the n-th on the other. Both count from the same one
 * where neither ring of entries has wrapped; else from the oldest pending one. */
struct inq_state_partner inq_state_partner(const struct inq_state *model, uint32_t rank,
                                           const struct inq_state_op *op)
{
    struct inq_state_partner partner = {.peer = peer_of(model, rank, op)};
    if (partner.peer == INQ_NONE || partner.peer == rank || op->channel == INQ_NONE) {
        partner.peer = INQ_NONE;
        return partner;
    }
    const struct inq_state_rank *own = &model->ranks[rank];
    const struct inq_state_rank *other = &model->ranks[partner.peer];
    const struct inq_state_channel *mine = &own->channels[op->channel];
    const struct inq_state_channel *theirs =
        inq_state_find_channel(other, op->team, mine->src, mine->dst);
    bool counted = own->from_start && other->from_start;
    int64_t nth = (int64_t)op->nth;
    nth += counted ? mine->n_done - (theirs != NULL ? theirs->n_done : 0) : 0;
    const struct inq_state_group *team = &model->groups[op->team];
    bool alike =
        team->n_members == 2 && is_unbatched(team, rank) && is_unbatched(team, partner.peer);
    partner.stands = INQ_OTHER_ABSENT;
    if (nth < 0 || (alike && !counted && left_by_number(team, partner.peer, theirs, op))) {
        partner.stands = INQ_OTHER_LEFT;
    } else if (theirs != NULL && nth < theirs->n_pending) {
        partner.stands = INQ_OTHER_THERE;
        partner.op = &other->pending[other->transfers[theirs->first + (size_t)nth]];
        partner.exact = counted || (alike && partner.op->entry->p2p_seq == op->entry->p2p_seq) ||
                        (is_single(own, op) && is_single(other, partner.op));
    }
    return partner;
}

/* What a side moves: recorded as input, output or both. */
static const struct inq_flight_tensors *moved(const struct inq_flight_entry *entry)
{
    return entry->in.elems >= 0 ? &entry->in : &entry->out;
}

static enum inq_match_state compare(const struct inq_flight_entry *a,
                                    const struct inq_flight_entry *b)
{
    const struct inq_flight_tensors *x = moved(a);
    const struct inq_flight_tensors *y = moved(b);
    bool dtypes = x->dtypes[0] != '\0' && y->dtypes[0] != '\0' && strcmp(x->dtypes, y->dtypes) != 0;
    if (x->elems >= 0 && y->elems >= 0 && x->elems != y->elems) {
        return INQ_MATCH_SIZE;
    }
    return dtypes ? INQ_MATCH_DTYPE : INQ_MATCH_MATCHED;
}

/* Whether the rank's op and the other side's differ: both are odd, neither is usual. */
static bool differs(const struct inq_state *model, uint32_t rank, const struct inq_state_op *op,
                    struct inq_state_verdict *verdict)
{
    struct inq_state_partner partner = inq_state_partner(model, rank, op);
    if (!partner.exact || partner.peer < rank) {
        return false;
    }
    verdict->state = compare(op->entry, partner.op->entry);
    if (verdict->state == INQ_MATCH_MATCHED) {
        return false;
    }
    verdict->seq = op->entry->p2p_seq;
    verdict->odd[verdict->n_odd++] = model->ranks[rank].rank;
    verdict->odd[verdict->n_odd++] = model->ranks[partner.peer].rank;
    verdict->usual = op->entry;
    verdict->other = partner.op->entry;
    verdict->tied = true;
    return true;
}

int inq_state_match_pairs(const struct inq_state *model, uint32_t *team,
                          struct inq_state_verdict *verdict, struct inq_err *err)
{
    *team = INQ_NONE;
    *verdict = (struct inq_state_verdict){.seq = -1};
    verdict->odd = inq_arena_array(model->arena, 2, sizeof *verdict->odd);
    if (verdict->odd == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory to compare sends and receives");
    }
    for (size_t r = 0; r < model->n_ranks; r++) {
        const struct inq_state_rank *rank = &model->ranks[r];
        for (size_t i = 0; i < rank->n_pending; i++) {
            const struct inq_state_op *op = &rank->pending[i];
            if (op->entry->is_p2p && differs(model, (uint32_t)r, op, verdict)) {
                *team = op->team;
                return INQ_OK;
            }
        }
    }
    return INQ_OK;
}
