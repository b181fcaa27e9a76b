/* SPDX-License-Identifier: Apache-2.0 */
/* tar and zip: what files they hold, and where. Nothing is unpacked here. */
#ifndef INQ_INGEST_ARCHIVE_ARCHIVE_H
#define INQ_INGEST_ARCHIVE_ARCHIVE_H

#include "base/arena.h"
#include "ingest/source/source.h"

struct inq_archive_member {
    const char *name; /* as in the archive, without "./" and "/" in front */
    struct inq_source_part part;
    const char *reason; /* why it cannot be read; NULL: read it */
};

/* Strings are the arena's, `members` is the caller's to free with inq_mem_free. */
struct inq_archive {
    size_t n, cap;
    struct inq_archive_member *members; /* in the order of the archive */
    bool cut;                           /* it ends too early */
    uint64_t skipped;                   /* bytes that made no sense */
    const char *reason;                 /* why none of its members is to be read; NULL: they are */
};

/* Whether the first bytes are an archive's. 512 are enough; with fewer, a tar is not recognized. */
bool inq_archive_recognize(const char *head, size_t n);
/* Lists the members of what `whole` says: an archive that is not compressed as a whole; at most
 * `most`. Damage costs what is damaged. Fails with INQ_NOMEM, INQ_IO, INQ_NOT_FOUND, INQ_LIMIT. */
int inq_archive_list(const struct inq_source_part *whole, size_t most, struct inq_arena *arena,
                     struct inq_archive *archive, struct inq_err *err);

#endif
