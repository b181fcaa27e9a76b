/* SPDX-License-Identifier: Apache-2.0 */
/* A rank's sends and receives by sender and receiver. */
#include "analysis/failure/state/model.h"

#include "base/mem.h"
#include "base/sort.h"

struct row {
    uint32_t team;
    uint32_t op; /* index into the rank's pending; INQ_NONE: finished */
    const struct inq_flight_entry *entry;
};

static int compare_channels(uint32_t team, int32_t src, int32_t dst,
                            const struct inq_state_channel *with)
{
    int order = (team > with->team) - (team < with->team);
    order = order != 0 ? order : (src > with->src) - (src < with->src);
    return order != 0 ? order : (dst > with->dst) - (dst < with->dst);
}

static int compare_rows(const void *a, const void *b, void *ctx)
{
    const struct row *x = a;
    const struct row *y = b;
    struct inq_state_channel with = {.team = y->team, .src = y->entry->src, .dst = y->entry->dst};
    (void)ctx;
    int order = compare_channels(x->team, x->entry->src, x->entry->dst, &with);
    return order != 0 ? order
                      : (x->entry->record_id > y->entry->record_id) -
                            (x->entry->record_id < y->entry->record_id);
}

static bool is_transfer(const struct inq_state_rank *rank, const struct inq_flight_entry *entry)
{
    return entry->is_p2p && entry->src >= 0 && entry->dst >= 0 && entry->group != INQ_NONE &&
           rank->team_of[entry->group] != INQ_NONE;
}

/* Finished transfers from the entries, pending ones from `pending`, sorted by channel. */
static size_t list_rows(const struct inq_state_rank *rank, struct row *rows)
{
    size_t n = 0;
    for (size_t i = 0; i < rank->dump->n_entries; i++) {
        const struct inq_flight_entry *entry = &rank->dump->entries[i];
        if (entry->state == INQ_FLIGHT_COMPLETED && is_transfer(rank, entry)) {
            rows[n++] = (struct row){rank->team_of[entry->group], INQ_NONE, entry};
        }
    }
    for (size_t p = 0; p < rank->n_pending; p++) {
        if (is_transfer(rank, rank->pending[p].entry)) {
            rows[n++] = (struct row){rank->pending[p].team, (uint32_t)p, rank->pending[p].entry};
        }
    }
    return n;
}

static void add_row(struct inq_state_rank *rank, const struct row *row, uint32_t *n_transfers)
{
    struct inq_state_channel *last =
        rank->n_channels > 0 ? &rank->channels[rank->n_channels - 1] : NULL;
    if (last == NULL || compare_channels(row->team, row->entry->src, row->entry->dst, last) != 0) {
        last = &rank->channels[rank->n_channels++];
        *last = (struct inq_state_channel){.team = row->team,
                                           .src = row->entry->src,
                                           .dst = row->entry->dst,
                                           .last_done = -1,
                                           .first = *n_transfers};
    }
    if (row->op == INQ_NONE) {
        bool later = row->entry->p2p_seq > last->last_done;
        last->last_done = later ? row->entry->p2p_seq : last->last_done;
        last->n_done++;
        return;
    }
    struct inq_state_op *op = &rank->pending[row->op];
    op->channel = (uint32_t)rank->n_channels - 1;
    op->nth = (uint32_t)last->n_pending++;
    rank->transfers[(*n_transfers)++] = row->op;
}

/* Whether the ring of entries never wrapped, and finished ones were not left out. */
static bool is_from_start(const struct inq_flight_dump *dump)
{
    size_t n = dump->n_entries;
    return n > 0 && !dump->partial && dump->entries[0].record_id == 0 &&
           dump->entries[n - 1].record_id == (int64_t)n - 1;
}

int inq_state_channels(const struct inq_state *model, struct inq_state_rank *rank,
                       struct inq_err *err)
{
    size_t most = 0;
    rank->from_start = is_from_start(rank->dump);
    for (size_t i = 0; i < rank->dump->n_entries; i++) {
        most += is_transfer(rank, &rank->dump->entries[i]);
    }
    struct row *rows = inq_mem_alloc((most + 1) * sizeof *rows);
    rank->channels = inq_arena_array(model->arena, most, sizeof *rank->channels);
    rank->transfers = inq_arena_array(model->arena, most, sizeof *rank->transfers);
    if (rows == NULL || rank->channels == NULL || rank->transfers == NULL) {
        inq_mem_free(rows);
        return inq_err_set(err, INQ_NOMEM, "no memory to join sends and receives");
    }
    size_t n = list_rows(rank, rows);
    int code = inq_sort(rows, n, sizeof *rows, compare_rows, NULL, err);
    uint32_t n_transfers = 0;
    for (size_t i = 0; i < n && code == INQ_OK; i++) {
        add_row(rank, &rows[i], &n_transfers);
    }
    inq_mem_free(rows);
    return code;
}

const struct inq_state_channel *inq_state_find_channel(const struct inq_state_rank *rank,
                                                       uint32_t team, int32_t src, int32_t dst)
{
    size_t lo = 0;
    size_t hi = rank->n_channels;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        int order = compare_channels(team, src, dst, &rank->channels[mid]);
        if (order == 0) {
            return &rank->channels[mid];
        }
        hi = order < 0 ? mid : hi;
        lo = order < 0 ? lo : mid + 1;
    }
    return NULL;
}
