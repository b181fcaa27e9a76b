/* SPDX-License-Identifier: Apache-2.0 */
/* Names as strings of the shard. */
#ifndef INQ_INGEST_KINETO_NAMES_H
#define INQ_INGEST_KINETO_NAMES_H

#include "ingest/kineto/kineto.h"

#include <string.h>

/* Cheap and only for the memo: length, both ends, and three places in between, which tell most
 * kernels of one template apart. */
static inline uint32_t inq_kineto_memo_slot(struct inq_text text)
{
    uint64_t a = 0;
    uint64_t b = 0;
    if (text.n >= 8) {
        memcpy(&a, text.p, 8);
        memcpy(&b, text.p + text.n - 8, 8);
    } else {
        memcpy(&a, text.p, text.n);
    }
    for (size_t i = 1; text.n >= 32 && i <= 3; i++) {
        uint64_t inner;
        memcpy(&inner, text.p + i * (text.n / 4), 8);
        b = b * 31 + inner;
    }
    uint64_t h = (a ^ b * UINT64_C(0x9e3779b97f4a7c15)) + text.n;
    h *= UINT64_C(0xd6e8feb86659fd93);
    return (uint32_t)(h >> 32) % INQ_NAME_MEMO;
}

/* The id of a plain text, if it is known; else 0. */
static inline inq_str inq_kineto_recall(struct inq_kineto *k, struct inq_text text, uint32_t *slot)
{
    if (text.p == k->named.p && text.n == k->named.n) {
        return k->named_id;
    }
    *slot = inq_kineto_memo_slot(text);
    inq_str known = k->memo[*slot];
    const struct inq_strtab_row *row = known != 0 ? &k->shard->names.rows[known] : NULL;
    bool same = row != NULL && row->len == text.n && memcmp(row->text, text.p, text.n) == 0;
    if (same) {
        k->named = text;
        k->named_id = known;
    }
    return same ? known : 0;
}

/* Whether the text means itself: printable ASCII without escapes, not too long. */
bool inq_kineto_is_plain_text(struct inq_text text);
/* The same; of most names it is known. */
static inline bool inq_kineto_is_plain(struct inq_kineto *k, struct inq_text text)
{
    uint32_t slot;
    return inq_kineto_recall(k, text, &slot) != 0 || inq_kineto_is_plain_text(text);
}

/* Of a text that is not in the memo, where it belongs into `slot`. */
int inq_kineto_name_anew(struct inq_kineto *k, struct inq_text text, int64_t offset, uint32_t slot,
                         inq_str *id);
/* Interns a text as written; damage in it is counted at `offset`. */
static inline int inq_kineto_name(struct inq_kineto *k, struct inq_text text, int64_t offset,
                                  inq_str *id)
{
    uint32_t slot = 0;
    *id = inq_kineto_recall(k, text, &slot);
    return *id != 0 ? INQ_OK : inq_kineto_name_anew(k, text, offset, slot, id);
}

#endif
