/* SPDX-License-Identifier: Apache-2.0 */
/* States that the recorder leaves wrong. Of sends, receives and collectives issued as one batch it
 * follows only the batch, which has an entry of its own ("coalesced") behind its members; a member
 * stays "scheduled" for ever. And what an abort tears down after its timeout ends as "completed".
 */
#include "ingest/flight/states.h"

#include "base/mem.h"

#include <string.h>

struct batches {
    struct inq_flight_dump *dump;
    uint32_t *before;         /* [n_entries] the entry of the same group before it; INQ_NONE none */
    uint32_t *last;           /* [n_groups] the group's last entry */
    uint32_t *batched;        /* [n_groups] the group's last batch of transfers; INQ_NONE none */
    uint32_t *behind, *batch; /* [n_groups] see settle_the_rest */
    bool *shares;             /* [n_groups] transfers share a number: they are members of batches */
    bool *moves;              /* [n_groups] transfers are listed: counters may be of them */
};

static int64_t number_of(const struct inq_flight_entry *entry)
{
    return entry->is_p2p ? entry->p2p_seq : entry->collective_seq;
}

static void settle(struct inq_flight_entry *member, const struct inq_flight_entry *batch)
{
    member->state = batch->state;
    member->started_ns = batch->started_ns;
    member->completed_ns = batch->completed_ns;
}

/* The members right before a batch's own entry, by their common number. */
static void settle_members(struct batches *b, uint32_t at)
{
    const struct inq_flight_entry *batch = &b->dump->entries[at];
    for (uint32_t i = b->before[at]; i != INQ_NONE; i = b->before[i]) {
        struct inq_flight_entry *member = &b->dump->entries[i];
        if (member->kind == INQ_COLL_COALESCED || member->is_p2p != batch->is_p2p ||
            number_of(member) != number_of(batch)) {
            return;
        }
        if (member->state == INQ_FLIGHT_SCHEDULED) {
            settle(member, batch);
        }
    }
}

static void link_entries(struct batches *b)
{
    struct inq_flight_dump *dump = b->dump;
    for (uint32_t i = 0; i < dump->n_entries; i++) {
        const struct inq_flight_entry *entry = &dump->entries[i];
        if (entry->group == INQ_NONE) {
            continue;
        }
        uint32_t before = b->before[i] = b->last[entry->group];
        b->last[entry->group] = i;
        b->moves[entry->group] = b->moves[entry->group] || entry->is_p2p;
        if (entry->kind == INQ_COLL_COALESCED) {
            settle_members(b, i);
            b->batched[entry->group] = entry->is_p2p ? i : b->batched[entry->group];
        } else if (entry->is_p2p && before != INQ_NONE) {
            const struct inq_flight_entry *other = &dump->entries[before];
            b->shares[entry->group] =
                b->shares[entry->group] || (other->is_p2p && other->p2p_seq == entry->p2p_seq);
        }
    }
}

/* A dump of active entries only lacks the entries of finished batches, but not their members. */
static bool lists_active_only(const struct inq_flight_dump *dump)
{
    for (size_t i = 0; i < dump->n_entries; i++) {
        if (dump->entries[i].state == INQ_FLIGHT_COMPLETED) {
            return false;
        }
    }
    return true;
}

/* Whether a transfer is known to be finished though its batch is not listed: that of the batch
 * listed next behind it is a later one, or the group's last number that finished is no smaller.
 * That number is of a transfer only when the last that was enqueued is. */
static bool is_transfer_over(const struct batches *b, uint32_t at, uint32_t batch)
{
    const struct inq_flight_entry *entry = &b->dump->entries[at];
    const struct inq_flight_group *group = &b->dump->groups[entry->group];
    if (batch != INQ_NONE) {
        return b->dump->entries[batch].p2p_seq > entry->p2p_seq;
    }
    const struct inq_flight_entry *last = &b->dump->entries[b->last[entry->group]];
    bool of_transfers = last->is_p2p && last->p2p_seq == group->last_enqueued &&
                        last->collective_seq < group->last_completed;
    return b->shares[entry->group] && group->has_status && of_transfers &&
           entry->p2p_seq <= group->last_completed;
}

static bool same_batch(const struct batches *b, uint32_t i, uint32_t k)
{
    const struct inq_flight_entry *x = &b->dump->entries[i];
    const struct inq_flight_entry *y = k != INQ_NONE ? &b->dump->entries[k] : NULL;
    return y != NULL && !x->is_p2p && !y->is_p2p && x->collective_seq >= 0 &&
           x->collective_seq == y->collective_seq;
}

/* Whether a collective with nothing of its batch listed behind it is finished, by the group's
 * counters where these are of collectives; else when it is a batch's, whose own entry was left out
 * as finished. */
static bool is_collective_over(const struct batches *b, uint32_t at)
{
    const struct inq_flight_entry *entry = &b->dump->entries[at];
    const struct inq_flight_group *group = &b->dump->groups[entry->group];
    if (group->has_status && !b->moves[entry->group]) {
        return entry->collective_seq <= group->last_completed;
    }
    return same_batch(b, at, b->before[at]);
}

/* Collectives that share a number are members of a batch, as the last of them is known to be. */
static void settle_collective(const struct batches *b, uint32_t at, uint32_t behind)
{
    struct inq_flight_entry *entry = &b->dump->entries[at];
    if (same_batch(b, at, behind)) {
        entry->state = b->dump->entries[behind].state;
    } else if (is_collective_over(b, at)) {
        entry->state = INQ_FLIGHT_COMPLETED;
    }
}

/* From the last entry to the first: `behind` and `batch` are the next entry of the group, and the
 * next of a batch of transfers. */
static void settle_the_rest(struct batches *b)
{
    uint32_t *behind = b->behind;
    uint32_t *batch = b->batch;
    for (uint32_t i = (uint32_t)b->dump->n_entries; i-- > 0;) {
        struct inq_flight_entry *entry = &b->dump->entries[i];
        uint32_t g = entry->group;
        if (g == INQ_NONE) {
            continue;
        }
        bool closes = entry->kind == INQ_COLL_COALESCED;
        bool open = entry->state == INQ_FLIGHT_SCHEDULED && !closes;
        if (open && entry->is_p2p && entry->p2p_seq >= 0 && is_transfer_over(b, i, batch[g])) {
            entry->state = INQ_FLIGHT_COMPLETED;
        } else if (open && !entry->is_p2p && entry->collective_seq >= 0) {
            settle_collective(b, i, behind[g]);
        }
        behind[g] = i;
        batch[g] = closes && entry->is_p2p ? i : batch[g];
    }
}

/* Where a dump is cut inside a batch, or right behind its members, how that batch stood is lost. */
static void drop_cut_batch(const struct batches *b)
{
    struct inq_flight_dump *dump = b->dump;
    while (dump->n_entries > 0) {
        const struct inq_flight_entry *last = &dump->entries[dump->n_entries - 1];
        uint32_t batch = last->group != INQ_NONE ? b->batched[last->group] : INQ_NONE;
        bool member = last->is_p2p && last->state == INQ_FLIGHT_SCHEDULED &&
                      last->kind != INQ_COLL_COALESCED && batch != INQ_NONE &&
                      dump->n_entries - 1 > batch;
        if (!member) {
            return;
        }
        dump->n_entries--;
    }
}

/* What finished later than its timeout, when nothing was enqueued any more, did not finish. */
static void reopen_aborted(struct inq_flight_dump *dump)
{
    int64_t last_ns = INQ_TIME_NONE;
    for (size_t i = 0; i < dump->n_entries; i++) {
        int64_t created_ns = dump->entries[i].created_ns;
        last_ns = created_ns > last_ns ? created_ns : last_ns;
    }
    for (size_t i = 0; i < dump->n_entries; i++) {
        struct inq_flight_entry *entry = &dump->entries[i];
        bool timed = entry->timeout_ns > 0 && entry->created_ns != INQ_TIME_NONE &&
                     entry->completed_ns != INQ_TIME_NONE && entry->completed_ns > last_ns;
        if (timed && entry->completed_ns - entry->created_ns >= entry->timeout_ns) {
            entry->state =
                entry->started_ns != INQ_TIME_NONE ? INQ_FLIGHT_STARTED : INQ_FLIGHT_SCHEDULED;
            entry->completed_ns = INQ_TIME_NONE;
            entry->retired = true;
        }
    }
}

int inq_flight_settle_states(struct inq_flight_dump *dump, struct inq_err *err)
{
    size_t n_groups = dump->n_groups;
    uint32_t *numbers = inq_mem_alloc((dump->n_entries + 4 * n_groups + 1) * sizeof *numbers);
    bool *shares = inq_mem_zalloc(2 * n_groups + 1, sizeof *shares);
    int code = INQ_OK;
    if (numbers == NULL || shares == NULL) {
        code = inq_err_set(err, INQ_NOMEM, "out of memory for a dump");
    } else {
        reopen_aborted(dump);
        bool active_only = lists_active_only(dump);
        struct batches b = {
            .dump = dump, .before = numbers, .shares = shares, .moves = shares + n_groups};
        b.last = numbers + dump->n_entries;
        b.batched = b.last + n_groups;
        b.behind = b.batched + n_groups;
        b.batch = b.behind + n_groups;
        memset(b.last, 0xff, 4 * n_groups * sizeof *b.last); /* INQ_NONE */
        link_entries(&b);
        if (active_only) {
            settle_the_rest(&b);
        }
        if (dump->partial) {
            drop_cut_batch(&b);
        }
    }
    inq_mem_free(numbers);
    inq_mem_free(shares);
    return code;
}
