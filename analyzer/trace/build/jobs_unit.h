/* SPDX-License-Identifier: Apache-2.0 */
/* Internal to jobs*.c: what is known of a file, and piles of files being divided. */
#ifndef INQ_TRACE_BUILD_JOBS_UNIT_H
#define INQ_TRACE_BUILD_JOBS_UNIT_H

#include "base/mem.h"
#include "base/hash.h"
#include "trace/build/jobs.h"

struct inq_unit {
    const struct inq_shard *shard;
    const char *path, *host, *job; /* "" unknown */
    uint64_t family;               /* of formats that may belong to one job */
    int64_t pid;                   /* -1 unknown */
    int64_t from_ns, to_ns;        /* when it was recorded, outliers aside; if timed */
    int32_t world;                 /* -1 unknown */
    bool timed;
    bool alone; /* says nothing that could tie it to another file */
};

/* What no two files of one job share: the rank, or the process where the rank is not known.
 * False: rank `index` of the unit has no such thing. */
bool inq_unit_key(const struct inq_unit *unit, size_t index, uint64_t *key);

/* Files order[lo .. hi). */
struct inq_pile {
    size_t lo, hi;
    bool sifted; /* by what always tells apart; only doubles are left to divide */
};

struct inq_division {
    size_t n;
    struct inq_unit *units;
    uint32_t *order; /* the piles, one behind the other */
    uint32_t *part;  /* of each unit: where it goes in the division at hand */
    int64_t *key;    /* of each unit: what it is sorted by just now */
    size_t n_piles, cap_piles;
    struct inq_pile *piles; /* still to look at; the last one is next */
    struct inq_jobs *jobs;
};

/* The i-th unit in the order of the piles. */
static inline struct inq_unit *inq_unit_at(const struct inq_division *d, size_t i)
{
    return &d->units[d->order[i]];
}

/* Adds order[lo .. hi) as the pile to look at next; an empty one is none. */
static inline int inq_pile_push(struct inq_division *d, size_t lo, size_t hi, bool sifted,
                                struct inq_err *err)
{
    int code = inq_mem_grow(&d->piles, &d->cap_piles, d->n_piles + 1, sizeof *d->piles,
                            SIZE_MAX / 64, err);
    if (code == INQ_OK && lo < hi) {
        d->piles[d->n_piles++] = (struct inq_pile){lo, hi, sifted};
    }
    return code;
}
/* Makes new piles of the parts (d->part) of a pile; *several tells whether there is more than one:
 * if not, none is made. */
int inq_pile_divide(struct inq_division *d, const struct inq_pile *pile, bool *several,
                    struct inq_err *err);
/* Sorts a pile by d->key, stably. */
int inq_pile_sort(struct inq_division *d, const struct inq_pile *pile, struct inq_err *err);

/* inq_compare: order of unit indices by their part (the context). */
int inq_by_part(const void *a, const void *b, void *ctx);

/* Divides a pile in which a rank is there twice; else closes the job that it is. */
int inq_pile_split_doubles(struct inq_division *d, struct inq_pile pile, struct inq_err *err);

#endif
