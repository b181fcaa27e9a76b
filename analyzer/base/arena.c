/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>

/* A folder may hold 100,000 files, of which an arena each keeps no more than a path or a reason. */
enum { ALIGNMENT = 16, FIRST_BLOCK = 128, LARGEST_STEP = 1 << 20 };

struct inq_arena_block {
    struct inq_arena_block *next;
    size_t padding; /* keeps `data` 16-byte aligned */
    unsigned char data[];
};

static int add_block(struct inq_arena *arena, size_t need)
{
    size_t size = arena->size < FIRST_BLOCK / 2 ? FIRST_BLOCK : arena->size * 2;
    if (size > LARGEST_STEP) {
        size = LARGEST_STEP;
    }
    if (size < need) {
        size = need;
    }
    struct inq_arena_block *block = inq_mem_alloc(sizeof *block + size);
    if (block == NULL) {
        return INQ_NOMEM;
    }
    block->next = arena->head;
    block->padding = 0;
    arena->head = block;
    arena->used = 0;
    arena->size = size;
    arena->total += size;
    return INQ_OK;
}

void *inq_arena_alloc(struct inq_arena *arena, size_t size)
{
    if (size > SIZE_MAX / 2) {
        arena->failed = true;
        return NULL;
    }
    size_t need = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (need == 0) {
        need = ALIGNMENT;
    }
    if ((arena->head == NULL || arena->size - arena->used < need) &&
        add_block(arena, need) != INQ_OK) {
        arena->failed = true;
        return NULL;
    }
    void *result = arena->head->data + arena->used;
    arena->used += need;
    memset(result, 0, need);
    return result;
}

void *inq_arena_array(struct inq_arena *arena, size_t count, size_t size)
{
    bool fits = size == 0 || count <= SIZE_MAX / 2 / size;
    return inq_arena_alloc(arena, fits ? count * size : SIZE_MAX);
}

char *inq_arena_strndup(struct inq_arena *arena, const char *text, size_t len)
{
    char *copy = len == SIZE_MAX ? NULL : inq_arena_alloc(arena, len + 1);
    if (copy != NULL) {
        memcpy(copy, text, len);
    }
    return copy;
}

char *inq_arena_strdup(struct inq_arena *arena, const char *text)
{
    return inq_arena_strndup(arena, text, strlen(text));
}

__attribute__((format(printf, 2, 0))) static char *format(struct inq_arena *arena, const char *fmt,
                                                          va_list args)
{
    va_list again;
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, fmt, args);
    char *text = len < 0 ? NULL : inq_arena_alloc(arena, (size_t)len + 1);
    if (text != NULL) {
        (void)vsnprintf(text, (size_t)len + 1, fmt, again);
    }
    va_end(again);
    return text;
}

char *inq_arena_asprintf(struct inq_arena *arena, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    char *text = format(arena, fmt, args);
    va_end(args);
    return text;
}

const char *inq_arena_vprintf(struct inq_arena *arena, const char *fmt, va_list args)
{
    const char *text = format(arena, fmt, args);
    return text != NULL ? text : "";
}

const char *inq_arena_printf(struct inq_arena *arena, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const char *text = inq_arena_vprintf(arena, fmt, args);
    va_end(args);
    return text;
}

void inq_arena_release(struct inq_arena *arena)
{
    struct inq_arena_block *block = arena->head;
    while (block != NULL) {
        struct inq_arena_block *next = block->next;
        inq_mem_free(block);
        block = next;
    }
    *arena = (struct inq_arena){0};
}
