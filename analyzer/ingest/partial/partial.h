/* SPDX-License-Identifier: Apache-2.0 */
/* The partial file, `.inq` (inquest-partial(5)): what one trace file gave, sealed, so that the work
 * of reading it is done once and anywhere. */
#ifndef INQ_INGEST_PARTIAL_PARTIAL_H
#define INQ_INGEST_PARTIAL_PARTIAL_H

#include "inquest/out.h"
#include "ingest/source/source.h"
#include "trace/build/build.h"

#define INQ_PARTIAL_SUFFIX ".inq"

/* Which content of an input a partial was made of: a file that is unchanged need not be read again.
 * All-zero: not known (a member of an archive). */
struct inq_partial_origin {
    uint64_t bytes;
    int64_t modified_ns;
    uint64_t ends;  /* hash of the first and last 64 KiB */
    uint64_t steps; /* that a reduced partial keeps whole; 0: it is a full one */
};

/* Whether the partial at `path` is there, complete by its beginning and made of this origin by this
 * version of the format. */
bool inq_partial_is_of(const char *path, const struct inq_partial_origin *origin);
/* Appends a sealed shard of a trace to `out`; or, where `source` is given, the bytes of a file that
 * is no trace (a log, a dump), which are read when the partial is. Fails with INQ_NOMEM, and as the
 * source does. */
int inq_partial_write(const struct inq_shard *shard, struct inq_source *source,
                      const struct inq_partial_origin *origin, struct inq_out *out,
                      struct inq_err *err);

#endif
