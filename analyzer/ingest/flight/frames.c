/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/flight/frames.h"

#include "base/mem.h"
#include "base/strtab.h"

#include <string.h>

enum { MAX_FRAMES = 64, MAX_KNOWN = 1 << 24 };

static int intern(struct inq_strtab *names, const struct inq_value *row, const char *key,
                  const char **kept, struct inq_err *err)
{
    uint32_t id = 0;
    const char *text = inq_value_text(inq_value_get(row, key), "");
    int code = inq_strtab_add(names, text, strlen(text), &id, err);
    *kept = inq_strtab_get(names, id);
    return code;
}

static int read_frame(struct inq_flight_stacks *stacks, const struct inq_value *row,
                      struct inq_flight_frame *frame, struct inq_err *err)
{
    uint64_t address = (uint64_t)(uintptr_t)row;
    uint32_t known = 0;
    if (inq_map_get(&stacks->by_value, address, &known)) {
        *frame = stacks->frames[known];
        return INQ_OK;
    }
    frame->line = inq_value_integer(row, "line", 0);
    int code = intern(stacks->dump->names, row, "name", &frame->name, err);
    code = code == INQ_OK ? intern(stacks->dump->names, row, "filename", &frame->file, err) : code;
    if (code == INQ_OK) {
        code = inq_mem_grow(&stacks->frames, &stacks->cap_frames, stacks->n_frames + 1,
                            sizeof *stacks->frames, MAX_KNOWN, err);
    }
    if (code == INQ_OK) {
        stacks->frames[stacks->n_frames] = *frame;
        code = inq_map_put(&stacks->by_value, address, (uint32_t)stacks->n_frames++, err);
    }
    return code;
}

int inq_flight_read_stack(struct inq_flight_stacks *stacks, const struct inq_value *list,
                          struct inq_flight_entry *entry, size_t index, struct inq_err *err)
{
    struct inq_flight_frame frames[MAX_FRAMES];
    size_t n = list != NULL && list->type == INQ_VALUE_LIST ? list->n : 0;
    n = n < MAX_FRAMES ? n : MAX_FRAMES;
    uint64_t hash = n;
    int code = INQ_OK;
    for (size_t i = 0; i < n && code == INQ_OK; i++) {
        code = read_frame(stacks, list->as.items[i], &frames[i], err);
        if (code == INQ_OK) { /* names are interned: equal ones have one address */
            hash = inq_hash_u64(hash + (uint64_t)(uintptr_t)frames[i].name);
            hash = inq_hash_u64(hash + (uint64_t)(uintptr_t)frames[i].file);
            hash = inq_hash_u64(hash + (uint64_t)frames[i].line);
        }
    }
    if (code != INQ_OK || n == 0) {
        return code;
    }
    uint32_t other = 0;
    entry->n_frames = (uint32_t)n;
    if (inq_map_get(&stacks->by_hash, hash, &other)) {
        const struct inq_flight_entry *like = &stacks->dump->entries[other];
        if (like->n_frames == n && memcmp(like->frames, frames, n * sizeof *frames) == 0) {
            entry->frames = like->frames;
            return INQ_OK;
        }
    }
    entry->frames = inq_arena_array(stacks->dump->arena, n, sizeof *frames);
    if (entry->frames == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory for a dump");
    }
    memcpy(entry->frames, frames, n * sizeof *frames);
    return inq_map_put(&stacks->by_hash, hash, (uint32_t)index, err);
}

void inq_flight_stacks_release(struct inq_flight_stacks *stacks)
{
    inq_map_release(&stacks->by_value);
    inq_map_release(&stacks->by_hash);
    inq_mem_free(stacks->frames);
}
