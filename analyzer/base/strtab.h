/* SPDX-License-Identifier: Apache-2.0 */
/* Interned strings: equal strings get equal ids; id 0 is "". Ids are given in order of first use.
 */
#ifndef INQ_BASE_STRTAB_H
#define INQ_BASE_STRTAB_H

#include "base/arena.h"
#include "inquest/error.h"

struct inq_strtab_row {
    const char *text;
    uint64_t hash;
    uint32_t len;
};

/* All-zero is a valid table that holds only "". Not thread-safe. */
struct inq_strtab {
    struct inq_arena arena;
    struct inq_strtab_row *rows; /* [n] */
    size_t n, cap;
    uint32_t *slots; /* open addressing, id or 0 */
    size_t n_slots;
};

/* Interns `len` bytes (no NUL needed, none inside expected); *id gets the id.
 * Fails with INQ_NOMEM, or INQ_LIMIT past 2^31 strings. */
int inq_strtab_add(struct inq_strtab *tab, const char *text, size_t len, uint32_t *id,
                   struct inq_err *err);
/* Gives an id (not 0) another text, copied; adding the old text still finds the id.
 * Fails with INQ_NOMEM. */
int inq_strtab_rename(struct inq_strtab *tab, uint32_t id, const char *text, struct inq_err *err);
/* The text, NUL-terminated, valid until the release; "" for an id never given out. */
const char *inq_strtab_get(const struct inq_strtab *tab, uint32_t id);
size_t inq_strtab_len(const struct inq_strtab *tab, uint32_t id);
size_t inq_strtab_count(const struct inq_strtab *tab);
void inq_strtab_release(struct inq_strtab *tab);

#endif
