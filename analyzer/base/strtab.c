/* SPDX-License-Identifier: Apache-2.0 */
#include "base/strtab.h"

#include "base/hash.h"
#include "base/mem.h"

#include <string.h>

enum { FIRST_SLOTS = 256 };
static const size_t MAX_STRINGS = (size_t)1 << 31;

static size_t slot_of(const struct inq_strtab *tab, uint64_t hash, const char *text, size_t len)
{
    size_t mask = tab->n_slots - 1;
    size_t slot = (size_t)hash & mask;
    for (;;) {
        uint32_t id = tab->slots[slot];
        const struct inq_strtab_row *row = &tab->rows[id];
        if (id == 0 ||
            (row->hash == hash && row->len == len && memcmp(row->text, text, len) == 0)) {
            return slot;
        }
        slot = (slot + 1) & mask;
    }
}

static int grow_slots(struct inq_strtab *tab, struct inq_err *err)
{
    size_t n_slots = tab->n_slots == 0 ? FIRST_SLOTS : tab->n_slots * 2;
    uint32_t *slots = inq_mem_zalloc(n_slots, sizeof *slots);
    if (slots == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for %zu names", tab->n);
    }
    for (size_t id = 1; id < tab->n; id++) {
        size_t slot = (size_t)tab->rows[id].hash & (n_slots - 1);
        while (slots[slot] != 0) {
            slot = (slot + 1) & (n_slots - 1);
        }
        slots[slot] = (uint32_t)id;
    }
    inq_mem_free(tab->slots);
    tab->slots = slots;
    tab->n_slots = n_slots;
    return INQ_OK;
}

static int grow_rows(struct inq_strtab *tab, struct inq_err *err)
{
    size_t need = tab->n == 0 ? 2 : tab->n + 1;
    int code = inq_mem_grow(&tab->rows, &tab->cap, need, sizeof *tab->rows, MAX_STRINGS, err);
    if (code == INQ_OK && tab->n == 0) {
        tab->rows[0] = (struct inq_strtab_row){.text = ""};
        tab->n = 1;
    }
    return code;
}

static int append(struct inq_strtab *tab, const char *text, size_t len, uint64_t hash, size_t slot,
                  struct inq_err *err)
{
    const char *copy = inq_arena_strndup(&tab->arena, text, len);
    if (copy == NULL || len > UINT32_MAX) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for a name of %zu bytes", len);
    }
    tab->rows[tab->n] = (struct inq_strtab_row){copy, hash, (uint32_t)len};
    tab->slots[slot] = (uint32_t)tab->n;
    tab->n++;
    return INQ_OK;
}

int inq_strtab_add(struct inq_strtab *tab, const char *text, size_t len, uint32_t *id,
                   struct inq_err *err)
{
    *id = 0;
    if (len == 0) {
        return INQ_OK;
    }
    int code = INQ_OK;
    if (tab->n + tab->n / 2 >= tab->n_slots) {
        code = grow_slots(tab, err);
    }
    if (code == INQ_OK && (tab->n == 0 || tab->n == tab->cap)) {
        code = grow_rows(tab, err);
    }
    if (code != INQ_OK) {
        return code;
    }
    uint64_t hash = inq_hash_bytes(text, len);
    size_t slot = slot_of(tab, hash, text, len);
    if (tab->slots[slot] == 0) {
        code = append(tab, text, len, hash, slot, err);
    }
    *id = tab->slots[slot];
    return code;
}

int inq_strtab_rename(struct inq_strtab *tab, uint32_t id, const char *text, struct inq_err *err)
{
    size_t len = strlen(text);
    const char *copy = inq_arena_strndup(&tab->arena, text, len);
    if (copy == NULL || len > UINT32_MAX) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for a name of %zu bytes", len);
    }
    tab->rows[id].text = copy;
    tab->rows[id].len = (uint32_t)len;
    return INQ_OK;
}

const char *inq_strtab_get(const struct inq_strtab *tab, uint32_t id)
{
    return id < tab->n ? tab->rows[id].text : "";
}

size_t inq_strtab_len(const struct inq_strtab *tab, uint32_t id)
{
    return id < tab->n ? tab->rows[id].len : 0;
}

size_t inq_strtab_count(const struct inq_strtab *tab)
{
    return tab->n == 0 ? 1 : tab->n;
}

void inq_strtab_release(struct inq_strtab *tab)
{
    inq_arena_release(&tab->arena);
    inq_mem_free(tab->rows);
    inq_mem_free(tab->slots);
    *tab = (struct inq_strtab){0};
}
