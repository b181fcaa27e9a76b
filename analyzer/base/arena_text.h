/* SPDX-License-Identifier: Apache-2.0 */
/* Sentences made in an arena. They are never NULL, so that they nest: when memory is out they are
 * "", and `arena->failed` is asked once at the end. */
#ifndef INQ_BASE_ARENA_TEXT_H
#define INQ_BASE_ARENA_TEXT_H

#include "base/arena.h"

#include <stdint.h>

/* A name from a trace inside a sentence: in quotes where it has spaces, so that it reads as one
 * ("# forward pass"; plain words, such as data loading, read as such), and its middle left out
 * where it is long. */
const char *inq_arena_name(struct inq_arena *arena, const char *name);
/* "0-7,12" of ascending numbers; of a long list the first ones and how many there are. */
const char *inq_arena_list(struct inq_arena *arena, const int32_t *numbers, size_t n);
/* "rank 3", "ranks 8-11,15"; with `capital` "Rank 3". */
const char *inq_arena_ranks(struct inq_arena *arena, const int32_t *ranks, size_t n, bool capital);
/* "2.48 ms". */
const char *inq_arena_time(struct inq_arena *arena, int64_t ns);

#endif
