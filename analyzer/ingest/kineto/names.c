/* SPDX-License-Identifier: Apache-2.0 */
/* Names: texts to ids, what a kernel's name says. Everything is worked out once per distinct text.
 */
#include "ingest/kineto/kineto.h"

#include "base/mem.h"

#include <string.h>

/* ---- interning ------------------------------------------------------------------------------- */

/* Cheap and only for the memo: length, both ends, and three places in between, which tell most
 * kernels of one template apart. */
static uint32_t memo_slot(struct inq_text text)
{
    uint64_t a = 0;
    uint64_t b = 0;
    if (text.n >= 8) {
        memcpy(&a, text.p, 8);
        memcpy(&b, text.p + text.n - 8, 8);
    } else {
        memcpy(&a, text.p, text.n);
    }
    for (uint32_t i = 1; text.n >= 32 && i <= 3; i++) {
        uint64_t inner;
        memcpy(&inner, text.p + text.n / 4 * i, 8);
        b = b * 31 + inner;
    }
    uint64_t h = (a ^ b * UINT64_C(0x9e3779b97f4a7c15)) + text.n;
    h *= UINT64_C(0xd6e8feb86659fd93);
    return (uint32_t)(h >> 32) % INQ_NAME_MEMO;
}

/* The id of a plain text, if it is known; else 0. */
static inq_str recall(struct inq_kineto *k, struct inq_text text, uint32_t *slot)
{
    if (text.p == k->named.p && text.n == k->named.n) {
        return k->named_id;
    }
    *slot = memo_slot(text);
    inq_str known = k->memo[*slot];
    const struct inq_strtab_row *row = known != 0 ? &k->shard->names.rows[known] : NULL;
    bool same = row != NULL && row->len == text.n && memcmp(row->text, text.p, text.n) == 0;
    if (same) {
        k->named = text;
        k->named_id = known;
    }
    return same ? known : 0;
}

static bool is_plain(struct inq_text text)
{
    unsigned char bad = 0;
    for (uint32_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        bad |= (unsigned char)((c < 0x20) | (c >= 0x7f) | (c == '\\'));
    }
    return bad == 0 && text.n <= INQ_SCAN_MAX_STRING;
}

bool inq_kineto_is_plain(struct inq_kineto *k, struct inq_text text)
{
    uint32_t slot;
    return recall(k, text, &slot) != 0 || is_plain(text);
}

static int intern_decoded(struct inq_kineto *k, struct inq_text text, int64_t offset, inq_str *id)
{
    if (k->scratch == NULL) {
        k->scratch = inq_mem_alloc(INQ_SCAN_MAX_STRING);
        if (k->scratch == NULL) {
            return inq_err_set(k->err, INQ_NOMEM, "out of memory for a name");
        }
    }
    struct inq_scan_decoded decoded = inq_scan_decode(text, k->scratch, INQ_SCAN_MAX_STRING);
    if (decoded.cut) {
        inq_kineto_damage(k, INQ_DAMAGE_LONG_STRING, 1, offset);
    }
    if (decoded.bad_utf8) {
        inq_kineto_damage(k, INQ_DAMAGE_BAD_UTF8, 1, offset);
    }
    return inq_strtab_add(&k->shard->names, k->scratch, decoded.n, id, k->err);
}

int inq_kineto_name(struct inq_kineto *k, struct inq_text text, int64_t offset, inq_str *id)
{
    struct inq_strtab *names = &k->shard->names;
    *id = 0;
    if (text.n == 0) {
        return INQ_OK;
    }
    uint32_t slot = 0;
    *id = recall(k, text, &slot);
    if (*id != 0) {
        return INQ_OK;
    }
    if (!is_plain(text)) {
        return intern_decoded(k, text, offset, id);
    }
    int code = inq_strtab_add(names, text.p, text.n, id, k->err);
    k->memo[slot] = *id;
    return code;
}
