/* SPDX-License-Identifier: Apache-2.0 */
/* Who exchanged with whom, where kernels say nothing but "send or receive": the two ends of one
 * transfer end at the same time, and ranks that talk with each other do so again and again. */
#ifndef INQ_TRACE_PARTNERS_H
#define INQ_TRACE_PARTNERS_H

#include "inquest/trace.h"

#include <stddef.h>
#include <stdint.h>

struct inq_exchange {
    int64_t end_ns;   /* in common time */
    uint32_t side;    /* who */
    uint32_t row;     /* the caller's */
    uint32_t partner; /* index of the other end, after sorting; INQ_NONE: not known */
};

/* What speaks against two exchanges being one transfer besides their ends, in ns that these would
 * have to be apart instead; negative: they cannot be. */
struct inq_partner_rules {
    int64_t (*against)(const void *ctx, const struct inq_exchange *x, const struct inq_exchange *y);
    const void *ctx;
};

/* Sorts `all` by end and side, and sets the partners; *n_paired: how many have one. rules: NULL
 * where nothing is known but the ends. Fails with INQ_NOMEM. */
int inq_partners_find(struct inq_exchange *all, size_t n, const struct inq_partner_rules *rules,
                      size_t *n_paired, struct inq_err *err);

#endif
