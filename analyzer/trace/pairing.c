/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/pairing.h"

#include "base/mem.h"

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

bool inq_may_pair(const struct inq_pairing *p, uint32_t a, uint32_t b)
{
    if (p->named[a] || p->named[b]) {
        uint32_t named = 0;
        uint64_t key = key_of(p->trace->ranks[a].rank, p->trace->ranks[b].rank);
        return inq_map_get(&p->pairs, key, &named);
    }
    size_t most = p->exchanges[a] > p->exchanges[b] ? p->exchanges[a] : p->exchanges[b];
    return count_shared(p, a, b) < most;
}
