/* SPDX-License-Identifier: Apache-2.0 */
/* Names: texts to ids, what a kernel's name says. Everything is worked out once per distinct text.
 */
#include "ingest/kineto/kineto.h"

#include "base/mem.h"

#include <string.h>

/* ---- interning ------------------------------------------------------------------------------- */

bool inq_kineto_is_plain_text(struct inq_text text)
{
    unsigned char bad = 0;
    for (uint32_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        bad |= (unsigned char)((c < 0x20) | (c >= 0x7f) | (c == '\\'));
    }
    return bad == 0 && text.n <= INQ_SCAN_MAX_STRING;
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

int inq_kineto_name_anew(struct inq_kineto *k, struct inq_text text, int64_t offset, uint32_t slot,
                         inq_str *id)
{
    *id = 0;
    if (text.n == 0) {
        return INQ_OK;
    }
    if (!inq_kineto_is_plain_text(text)) {
        return intern_decoded(k, text, offset, id);
    }
    int code = inq_strtab_add(&k->shard->names, text.p, text.n, id, k->err);
    k->memo[slot] = *id;
    return code;
}
