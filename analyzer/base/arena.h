/* SPDX-License-Identifier: Apache-2.0 */
/* Bump allocation: many small things that die together. */
#ifndef INQ_BASE_ARENA_H
#define INQ_BASE_ARENA_H

#include "inquest/error.h"

#include <stdarg.h>
#include <stdbool.h>

struct inq_arena_block;

/* All-zero is a valid, empty arena. Not thread-safe. */
struct inq_arena {
    struct inq_arena_block *head;
    size_t used, size; /* of the head block */
    size_t total;      /* bytes held */
    bool failed;       /* an allocation failed since the release */
};

/* `size` bytes, 16-byte aligned, zeroed; NULL when memory is out. Lives until the release. */
void *inq_arena_alloc(struct inq_arena *arena, size_t size);
/* Zeroed array; NULL on overflow or when memory is out. count 0 gives a valid pointer. */
void *inq_arena_array(struct inq_arena *arena, size_t count, size_t size);
/* Copies; NULL when memory is out. */
char *inq_arena_strdup(struct inq_arena *arena, const char *text);
char *inq_arena_strndup(struct inq_arena *arena, const char *text, size_t len);
/* printf into the arena; NULL when memory is out. */
char *inq_arena_asprintf(struct inq_arena *arena, const char *fmt, ...) INQ_PRINTF(2, 3);
/* printf into the arena for sentences: never NULL, so that they nest; "" when memory is out, for
 * which `failed` is asked once at the end. */
const char *inq_arena_printf(struct inq_arena *arena, const char *fmt, ...) INQ_PRINTF(2, 3);
const char *inq_arena_vprintf(struct inq_arena *arena, const char *fmt, va_list args)
    INQ_PRINTF(2, 0);
void inq_arena_release(struct inq_arena *arena);

#endif
