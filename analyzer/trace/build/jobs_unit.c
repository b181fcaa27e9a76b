/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of a file, and piles of files being divided. */
#include "trace/build/jobs_unit.h"

#include "base/sort.h"

#include <string.h>

bool inq_unit_key(const struct inq_unit *unit, size_t index, uint64_t *key)
{
    const struct inq_rank *rank = &unit->shard->ranks[index];
    if (rank->rank >= 0) {
        *key = (uint64_t)rank->rank;
        return true;
    }
    const char *host = inq_strtab_get(&unit->shard->names, rank->host);
    if (rank->pid < 0 || host[0] == '\0') {
        return false;
    }
    uint64_t hash = inq_hash_bytes(host, strlen(host)) ^ inq_hash_u64((uint64_t)rank->pid);
    *key = hash | (uint64_t)1 << 63;
    return true;
}

/* ---- piles ----------------------------------------------------------------------------------- */

static int by_key(const void *a, const void *b, void *ctx)
{
    const int64_t *key = ctx;
    int64_t x = key[*(const uint32_t *)a];
    int64_t y = key[*(const uint32_t *)b];
    return (x > y) - (x < y);
}

int inq_by_part(const void *a, const void *b, void *ctx)
{
    const uint32_t *part = ctx;
    uint32_t x = part[*(const uint32_t *)a];
    uint32_t y = part[*(const uint32_t *)b];
    return (x > y) - (x < y);
}

int inq_pile_sort(struct inq_division *d, const struct inq_pile *pile, struct inq_err *err)
{
    return inq_sort(d->order + pile->lo, pile->hi - pile->lo, sizeof *d->order, by_key, d->key,
                    err);
}

/* Makes piles of the parts; *several tells whether there is more than one. */
int inq_pile_divide(struct inq_division *d, const struct inq_pile *pile, bool *several,
                    struct inq_err *err)
{
    int code = inq_sort(d->order + pile->lo, pile->hi - pile->lo, sizeof *d->order, inq_by_part,
                        d->part, err);
    size_t first = d->n_piles;
    for (size_t lo = pile->lo, hi; lo < pile->hi && code == INQ_OK; lo = hi) {
        hi = lo + 1;
        while (hi < pile->hi && d->part[d->order[hi]] == d->part[d->order[lo]]) {
            hi++;
        }
        code = inq_pile_push(d, lo, hi, pile->sifted, err);
    }
    *several = d->n_piles - first > 1;
    if (!*several) {
        d->n_piles = first;
    }
    return code;
}
