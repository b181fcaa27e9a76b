/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/pairing.h"

#include "base/mem.h"
#include "trace/classify.h"
#include "trace/clock/clock.h"

#include <string.h>

static uint64_t key_of(int32_t x, int32_t y)
{
    uint64_t low = (uint32_t)(x < y ? x : y);
    uint64_t high = (uint32_t)(x < y ? y : x);
    return high << 32 | low;
}

/* Of a group of some of the ranks: what all do together tells no two of them apart. */
static bool is_of_some(const struct inq_pairing *p, const struct inq_comm_rows *rows,
                       size_t channel)
{
    size_t sides = rows->first_side[channel + 1] - rows->first_side[channel];
    const struct inq_channel *c = &rows->channels[channel];
    return c->from < 0 && c->bare == 0 && sides >= 2 && sides < p->trace->n_ranks;
}

static int count_exchanges(struct inq_pairing *p, const struct inq_comm_rows *rows,
                           struct inq_err *err)
{
    int code = INQ_OK;
    for (size_t c = 0; code == INQ_OK && c < rows->n_channels; c++) {
        const struct inq_channel *channel = &rows->channels[c];
        bool named = channel->from >= 0;
        for (size_t s = rows->first_side[c]; s < rows->first_side[c + 1]; s++) {
            uint32_t rank = rows->sides[s].rank;
            p->exchanges[rank] += named || channel->bare != 0 ? rows->sides[s].n : 0;
            p->named[rank] = p->named[rank] || named;
            p->first[rank + 1] += is_of_some(p, rows, c);
        }
        code = named ? inq_map_put(&p->pairs, key_of(channel->from, channel->to), 1, err) : INQ_OK;
    }
    return code;
}

static void list_shares(struct inq_pairing *p, const struct inq_comm_rows *rows, size_t *next)
{
    for (size_t c = 0; c < rows->n_channels; c++) {
        for (size_t s = rows->first_side[c]; is_of_some(p, rows, c) && s < rows->first_side[c + 1];
             s++) {
            p->shares[next[rows->sides[s].rank]++] =
                (struct inq_peer_share){(uint32_t)c, rows->sides[s].n};
        }
    }
}

int inq_pairing_init(struct inq_pairing *p, const struct inq_trace *trace,
                     const struct inq_comm_rows *rows, struct inq_err *err)
{
    size_t n = trace->n_ranks;
    size_t *next = inq_mem_alloc((n + 1) * sizeof *next);
    *p = (struct inq_pairing){.trace = trace};
    p->first =
        inq_mem_zalloc(n + 1, 2 * sizeof *p->first + sizeof *p->first_lane + sizeof *p->named);
    int code = next != NULL && p->first != NULL
                   ? INQ_OK
                   : inq_err_set(err, INQ_NOMEM, "out of memory for %zu ranks", n);
    if (code == INQ_OK) {
        p->exchanges = p->first + n + 1;
        p->first_lane = (uint32_t *)(p->exchanges + n + 1);
        p->named = (bool *)(p->first_lane + n + 1);
        code = count_exchanges(p, rows, err);
    }
    for (size_t r = 0; code == INQ_OK && r < n; r++) {
        p->first[r + 1] += p->first[r];
        p->first_lane[r + 1] = p->first_lane[r] + (uint32_t)trace->ranks[r].n_lanes;
    }
    if (code == INQ_OK) {
        memcpy(next, p->first, (n + 1) * sizeof *next);
        p->shares = inq_mem_alloc((p->first[n] + 1) * sizeof *p->shares);
        code = p->shares != NULL ? INQ_OK : inq_err_set(err, INQ_NOMEM, "out of memory for groups");
    }
    if (code == INQ_OK) {
        list_shares(p, rows, next);
    }
    inq_mem_free(next);
    return code;
}

/* Collectives that two ranks had together. */
static size_t count_shared(const struct inq_pairing *p, uint32_t a, uint32_t b)
{
    size_t n = 0;
    for (size_t i = p->first[a], k = p->first[b]; i < p->first[a + 1] && k < p->first[b + 1];) {
        const struct inq_peer_share *x = &p->shares[i];
        const struct inq_peer_share *y = &p->shares[k];
        if (x->channel == y->channel) {
            n += x->n < y->n ? x->n : y->n;
        }
        i += x->channel <= y->channel;
        k += y->channel <= x->channel;
    }
    return n;
}

/* Whether two ranks (indexes) may have exchanged something that names no peer. Those that name
 * peers elsewhere have no others. Ranks that are in collectives together as often as they transfer
 * share a tensor: the neighbors of a pipeline meet once or twice a step. */
static bool may_pair(const struct inq_pairing *p, uint32_t a, uint32_t b)
{
    if (p->named[a] || p->named[b]) {
        uint32_t named = 0;
        uint64_t key = key_of(p->trace->ranks[a].rank, p->trace->ranks[b].rank);
        return inq_map_get(&p->pairs, key, &named);
    }
    size_t most = p->exchanges[a] > p->exchanges[b] ? p->exchanges[a] : p->exchanges[b];
    return count_shared(p, a, b) < most;
}

/* ---- which of them are one ------------------------------------------------------------------- */

/* Replicas of a stage start the same transfer tens of microseconds apart, which must not outweigh
 * that their ends are as far apart; who waits for another rank does so for much longer. */
enum { TRANSFER_PART = 8 };

static bool names_peer(const struct inq_trace *trace, const struct inq_open_row *open,
                       uint32_t peer)
{
    const struct inq_rank *rank = &trace->ranks[open->rank];
    const struct inq_comm *comm = &rank->comms[rank->events.comm[open->row->event]];
    int32_t number = trace->ranks[peer].rank;
    bool named = inq_coll_is_one_way(comm->kind) && comm->peer == number;
    for (uint32_t at = comm->batch; at != INQ_NONE && !named; at = rank->comms[at].batch) {
        named = inq_coll_is_one_way(rank->comms[at].kind) && rank->comms[at].peer == number;
    }
    return named;
}

/* A transfer takes its time from the arrival of the second end on: two ranks that both wait for a
 * third arrive long before. */
static int64_t speaks_against(const void *ctx, const struct inq_exchange *x,
                              const struct inq_exchange *y)
{
    const struct inq_open *p = ctx;
    const struct inq_open_row *a = &p->open[x->row];
    const struct inq_open_row *b = &p->open[y->row];
    if (a->rank == b->rank ||
        (a->left != NULL && (b->left != NULL || !names_peer(p->pairing->trace, a, b->rank))) ||
        (b->left != NULL && !names_peer(p->pairing->trace, b, a->rank)) ||
        !may_pair(p->pairing, a->rank, b->rank)) {
        return -1;
    }
    int64_t x_start_ns = x->end_ns - (a->row->end_ns - a->row->start_ns);
    int64_t y_start_ns = y->end_ns - (b->row->end_ns - b->row->start_ns);
    int64_t start_ns = x_start_ns > y_start_ns ? x_start_ns : y_start_ns;
    int64_t end_ns = x->end_ns > y->end_ns ? x->end_ns : y->end_ns;
    return end_ns > start_ns ? (end_ns - start_ns) / TRANSFER_PART : 0;
}

static int64_t common_end(const struct inq_open *p, uint32_t rank, const struct inq_comm_row *row)
{
    const struct inq_clock *clock = &p->clocks[p->pairing->trace->ranks[rank].clock.source];
    return inq_clock_common_ns(clock, row->start_ns) + (row->end_ns - row->start_ns);
}

/* Sides are lanes: those of two ranks that send and receive at once end both within microseconds,
 * but what one sends on a stream the other receives on one. */
static void open_row(struct inq_open *p, uint32_t rank, const struct inq_comm_row *row,
                     struct inq_leftover *left)
{
    uint32_t lane = p->pairing->trace->ranks[rank].events.lane[row->event];
    p->open[p->n] = (struct inq_open_row){rank, row, left};
    p->all[p->n] = (struct inq_exchange){
        common_end(p, rank, row), p->pairing->first_lane[rank] + lane, (uint32_t)p->n, INQ_NONE};
    p->n++;
}

static int open_all(struct inq_open *p, const struct inq_side *sides, size_t n_sides,
                    struct inq_leftover *left, size_t n_left, struct inq_err *err)
{
    size_t most = n_left + 1;
    for (size_t s = 0; s < n_sides; s++) {
        most += sides[s].n;
    }
    p->open = inq_mem_alloc(most * sizeof *p->open);
    p->all = inq_mem_alloc(most * sizeof *p->all);
    if (p->open == NULL || p->all == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu exchanges", most);
    }
    for (size_t s = 0; s < n_sides; s++) {
        for (size_t i = 0; i < sides[s].n; i++) {
            open_row(p, sides[s].rank, &sides[s].rows[i], NULL);
        }
    }
    for (size_t i = 0; i < n_left; i++) {
        if (!left[i].taken) {
            open_row(p, left[i].rank, left[i].row, &left[i]);
        }
    }
    return INQ_OK;
}

/* Where ranks were not recorded, their peers have nobody: each has two neighbors, and those a lane
 * of each direction with it. */
enum { LANES_OF_MISSING = 4 };

/* Marks the lanes none of whose rows has a partner, where missing ranks explain them. */
static void find_lonely(const struct inq_open *p, bool *lonely)
{
    const struct inq_trace *trace = p->pairing->trace;
    size_t n_lanes = p->pairing->first_lane[trace->n_ranks];
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++) {
        lonely[p->all[i].side] = true;
    }
    for (size_t i = 0; i < p->n; i++) {
        lonely[p->all[i].side] = lonely[p->all[i].side] && p->all[i].partner == INQ_NONE;
    }
    for (size_t k = 0; k < n_lanes; k++) {
        n += lonely[k];
    }
    if (n > trace->n_missing * LANES_OF_MISSING) {
        memset(lonely, 0, n_lanes * sizeof *lonely);
    }
}

/* Whether nearly all of the channel's rows have a partner, or all but those from before and after
 * all ranks were recorded; but for lonely ones. */
static bool convince(const struct inq_open *p, const struct inq_side *sides, size_t n_sides,
                     const bool *lonely)
{
    int64_t from_ns = INT64_MIN;
    int64_t to_ns = INT64_MAX;
    size_t n[2] = {0, 0}; /* of all, and meanwhile */
    size_t n_paired[2] = {0, 0};
    for (size_t s = 0; s < n_sides; s++) {
        const struct inq_side *side = &sides[s];
        int64_t first_ns = common_end(p, side->rank, &side->rows[0]);
        int64_t last_ns = common_end(p, side->rank, &side->rows[side->n - 1]);
        from_ns = first_ns > from_ns ? first_ns : from_ns;
        to_ns = last_ns < to_ns ? last_ns : to_ns;
    }
    for (size_t i = 0; i < p->n; i++) {
        bool own = p->open[p->all[i].row].left == NULL && !lonely[p->all[i].side];
        bool meanwhile = own && p->all[i].end_ns >= from_ns && p->all[i].end_ns <= to_ns;
        bool paired = p->all[i].partner != INQ_NONE;
        n[0] += own;
        n[1] += meanwhile;
        n_paired[0] += own && paired;
        n_paired[1] += meanwhile && paired;
    }
    return (n[0] > 0 && inq_is_nearly_all(n_paired[0], n[0])) ||
           (n[1] > 0 && inq_is_nearly_all(n_paired[1], n[1]));
}

int inq_open_pair(struct inq_open *open, const struct inq_side *sides, size_t n_sides,
                  struct inq_leftover *left, size_t n_left, struct inq_err *err)
{
    const struct inq_pairing *pairing = open->pairing;
    bool *lonely = inq_mem_zalloc(pairing->first_lane[pairing->trace->n_ranks] + 1, sizeof *lonely);
    int code = lonely != NULL ? open_all(open, sides, n_sides, left, n_left, err)
                              : inq_err_set(err, INQ_NOMEM, "out of memory for lanes");
    if (code == INQ_OK) {
        struct inq_partner_rules rules = {speaks_against, open};
        size_t n_paired;
        code = inq_partners_find(open->all, open->n, &rules, &n_paired, err);
    }
    if (code == INQ_OK) {
        find_lonely(open, lonely);
        open->convincing = convince(open, sides, n_sides, lonely);
    }
    inq_mem_free(lonely);
    return code;
}
