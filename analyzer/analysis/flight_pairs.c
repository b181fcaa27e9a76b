/* SPDX-License-Identifier: Apache-2.0 */
/* Sends and receives: who the other side is, and whether both sides say the same. */
#include "analysis/flight_match.h"

#include <string.h>

static uint32_t peer_of(const struct inq_flight_model *model, uint32_t rank,
                        const struct inq_flight_op *op)
{
    const struct inq_flight_team *team = &model->teams[op->team];
    const struct inq_flight_entry *entry = op->entry;
    if (entry->src < 0 || entry->dst < 0 || (size_t)entry->src >= team->n_members ||
        (size_t)entry->dst >= team->n_members) {
        return INQ_NONE;
    }
    bool sends = team->members[entry->src] == model->ranks[rank].rank;
    return inq_flight_find_rank(model, team->members[sends ? entry->dst : entry->src]);
}

static bool same_transfer(const struct inq_flight_op *a, const struct inq_flight_op *b)
{
    return a->team == b->team && a->entry->is_p2p && b->entry->is_p2p &&
           a->entry->src == b->entry->src && a->entry->dst == b->entry->dst;
}

/* In a group of two both sides number all transfers alike. */
static const struct inq_flight_op *by_number(const struct inq_flight_rank *other,
                                             const struct inq_flight_op *op)
{
    const struct inq_flight_op *partner = NULL;
    for (size_t i = 0; i < other->n_pending; i++) {
        const struct inq_flight_op *theirs = &other->pending[i];
        if (theirs->team == op->team && theirs->entry->is_p2p &&
            (partner == NULL || theirs->entry->p2p_seq < partner->entry->p2p_seq)) {
            partner = theirs;
        }
    }
    return partner;
}

/* In a larger one each member counts its own: the n-th pending from one rank to another is the n-th
 * on the other side. */
static const struct inq_flight_op *by_order(const struct inq_flight_rank *own,
                                            const struct inq_flight_rank *other,
                                            const struct inq_flight_op *op)
{
    size_t before = 0;
    for (const struct inq_flight_op *mine = own->pending; mine < op; mine++) {
        before += same_transfer(mine, op);
    }
    for (size_t i = 0; i < other->n_pending; i++) {
        if (same_transfer(&other->pending[i], op) && before-- == 0) {
            return &other->pending[i];
        }
    }
    return NULL;
}

const struct inq_flight_op *inq_flight_partner(const struct inq_flight_model *model, uint32_t rank,
                                               const struct inq_flight_op *op, uint32_t *peer)
{
    *peer = peer_of(model, rank, op);
    if (*peer == INQ_NONE || *peer == rank) {
        return NULL;
    }
    return model->teams[op->team].n_members == 2
               ? by_number(&model->ranks[*peer], op)
               : by_order(&model->ranks[rank], &model->ranks[*peer], op);
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
static bool differs(const struct inq_flight_model *model, uint32_t rank,
                    const struct inq_flight_op *op, struct inq_flight_verdict *verdict)
{
    uint32_t peer = INQ_NONE;
    const struct inq_flight_op *partner = inq_flight_partner(model, rank, op, &peer);
    bool two = model->teams[op->team].n_members == 2;
    if (partner == NULL || peer < rank || (two && partner->entry->p2p_seq != op->entry->p2p_seq)) {
        return false;
    }
    verdict->state = compare(op->entry, partner->entry);
    if (verdict->state == INQ_MATCH_MATCHED) {
        return false;
    }
    verdict->seq = op->entry->p2p_seq;
    verdict->odd[verdict->n_odd++] = model->ranks[rank].rank;
    verdict->odd[verdict->n_odd++] = model->ranks[peer].rank;
    verdict->usual = op->entry;
    verdict->other = partner->entry;
    verdict->tied = true;
    return true;
}

int inq_flight_match_pairs(const struct inq_flight_model *model, uint32_t *team,
                           struct inq_flight_verdict *verdict, struct inq_err *err)
{
    *team = INQ_NONE;
    *verdict = (struct inq_flight_verdict){.seq = -1};
    verdict->odd = inq_arena_array(model->arena, 2, sizeof *verdict->odd);
    if (verdict->odd == NULL) {
        return inq_err_set(err, INQ_NOMEM, "no memory to compare sends and receives");
    }
    for (size_t r = 0; r < model->n_ranks; r++) {
        const struct inq_flight_rank *rank = &model->ranks[r];
        for (size_t i = 0; i < rank->n_pending; i++) {
            const struct inq_flight_op *op = &rank->pending[i];
            if (op->entry->is_p2p && differs(model, (uint32_t)r, op, verdict)) {
                *team = op->team;
                return INQ_OK;
            }
        }
    }
    return INQ_OK;
}
