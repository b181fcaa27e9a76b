/* SPDX-License-Identifier: Apache-2.0 */
/* What to call a file that no reader takes. */
#ifndef INQ_INGEST_UNRECOGNIZED_H
#define INQ_INGEST_UNRECOGNIZED_H

#include "base/arena.h"
#include "trace/build/build.h"

#include <stdbool.h>
#include <stddef.h>

/* Why a file with these first bytes is no trace, and what to do if something can be done; of binary
 * data also by the name of the file. A constant text, or one of the arena. */
const char *inq_unrecognized_reason(struct inq_arena *arena, const char *path, const char *head,
                                    size_t n);
/* Whether they are text in the main, with holes (runs of zeros, as a crash leaves them) or without.
 */
bool inq_unrecognized_is_text(const char *head, size_t n);
/* Compressed or packed in a way that this build cannot undo: a reader may see what it is for in
 * what was left as it was. */
bool inq_unrecognized_is_packed(const char *head, size_t n);
/* Whether they are text of no known form. */
bool inq_unrecognized_is_plain(const char *head, size_t n);

/* The file is not taken: drops what it gave and keeps only what it was and why: a constant text, or
 * one that lives as long as the walk. A folder may hold 100,000 such files, so it is not copied. */
void inq_unrecognized_set_aside(struct inq_shard *shard, const char *reason);

#endif
