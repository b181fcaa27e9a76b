/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/partners.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/sort.h"

#include <stdlib.h>

/* Ends of one transfer agree this well: both wait for the last byte, and clocks are fitted to a few
 * microseconds. */
static const int64_t SAME_END_NS = 50000;
/* No more transfers than this end together; more are not looked through. */
enum { MAX_TOGETHER = 64 };
/* Two sides that have several transfers at once pair the nearest first. */
enum { MAX_ROUNDS = 8 };
/* A side ends this part of its transfers with each of its partners: a stage has two, and either may
 * have other work more often. Replicas end theirs together by chance, more rarely. */
enum { PARTNER_PART = 4 };

static int compare_exchanges(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    const struct inq_exchange *x = a;
    const struct inq_exchange *y = b;
    if (x->end_ns != y->end_ns) {
        return x->end_ns < y->end_ns ? -1 : 1;
    }
    return x->side < y->side ? -1 : x->side > y->side;
}

static uint64_t pair_key(uint32_t a, uint32_t b)
{
    return a < b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a;
}

/* How often two sides ended together, with none in between: replicas in step end theirs soon
 * after. most[side]: with the one that it did so most often with. */
static int count_pairs(const struct inq_exchange *all, size_t n, struct inq_map *votes,
                       uint32_t *most, struct inq_err *err)
{
    int code = INQ_OK;
    for (size_t i = 0; code == INQ_OK && i + 1 < n; i++) {
        bool together = all[i + 1].end_ns - all[i].end_ns <= SAME_END_NS;
        if (together && all[i].side != all[i + 1].side) {
            uint64_t key = pair_key(all[i].side, all[i + 1].side);
            uint32_t seen = 0;
            (void)inq_map_get(votes, key, &seen);
            code = inq_map_put(votes, key, ++seen, err);
            most[all[i].side] = seen > most[all[i].side] ? seen : most[all[i].side];
            most[all[i + 1].side] = seen > most[all[i + 1].side] ? seen : most[all[i + 1].side];
        }
    }
    return code;
}

/* Of those that ended together with `i` and are free, the nearest of a side that does so often. */
static uint32_t likeliest(const struct inq_exchange *all, size_t n, size_t i,
                          const struct inq_map *votes, const uint32_t *most_of)
{
    uint32_t best = INQ_NONE;
    size_t from = i;
    while (from > 0 && i - from < MAX_TOGETHER &&
           all[i].end_ns - all[from - 1].end_ns <= SAME_END_NS) {
        from--;
    }
    for (size_t k = from; k < n && k < from + (size_t)2 * MAX_TOGETHER &&
                          all[k].end_ns <= all[i].end_ns + SAME_END_NS;
         k++) {
        uint32_t seen = 0;
        if (all[k].partner != INQ_NONE || all[k].side == all[i].side ||
            !inq_map_get(votes, pair_key(all[i].side, all[k].side), &seen) ||
            seen < most_of[all[i].side] / PARTNER_PART ||
            seen < most_of[all[k].side] / PARTNER_PART) {
            continue;
        }
        if (best == INQ_NONE ||
            llabs(all[k].end_ns - all[i].end_ns) < llabs(all[best].end_ns - all[i].end_ns)) {
            best = (uint32_t)k;
        }
    }
    return best;
}

/* Pairs those that are each other's likeliest; how many more are paired. */
static size_t pair_round(struct inq_exchange *all, size_t n, const struct inq_map *votes,
                         const uint32_t *most, uint32_t *wish)
{
    size_t paired = 0;
    for (size_t i = 0; i < n; i++) {
        wish[i] = all[i].partner == INQ_NONE ? likeliest(all, n, i, votes, most) : INQ_NONE;
    }
    for (size_t i = 0; i < n; i++) {
        if (wish[i] != INQ_NONE && wish[i] > i && wish[wish[i]] == i) {
            all[i].partner = wish[i];
            all[wish[i]].partner = (uint32_t)i;
            paired += 2;
        }
    }
    return paired;
}

int inq_partners_find(struct inq_exchange *all, size_t n, size_t *n_paired, struct inq_err *err)
{
    struct inq_map votes = {0};
    uint32_t n_sides = 0;
    for (size_t i = 0; i < n; i++) {
        all[i].partner = INQ_NONE;
        n_sides = all[i].side >= n_sides ? all[i].side + 1 : n_sides;
    }
    uint32_t *wish = inq_mem_alloc((n + 1) * sizeof *wish);
    uint32_t *most = inq_mem_zalloc((size_t)n_sides + 1, sizeof *most);
    *n_paired = 0;
    int code = wish != NULL && most != NULL
                   ? inq_sort(all, n, sizeof *all, compare_exchanges, NULL, err)
                   : inq_err_set(err, INQ_NOMEM, "out of memory for %zu exchanges", n);
    if (code == INQ_OK) {
        code = count_pairs(all, n, &votes, most, err);
    }
    bool more = code == INQ_OK;
    for (int round = 0; more && round < MAX_ROUNDS; round++) {
        size_t paired = pair_round(all, n, &votes, most, wish);
        more = paired > 0;
        *n_paired += paired;
    }
    inq_map_release(&votes);
    inq_mem_free(wish);
    inq_mem_free(most);
    return code;
}
