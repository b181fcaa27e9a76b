/* SPDX-License-Identifier: Apache-2.0 */
/* Gzip as a stream of decompressed bytes: any number of members, damage counted, not fatal. */
#ifndef INQ_INGEST_SOURCE_GZIP_H
#define INQ_INGEST_SOURCE_GZIP_H

#include "inquest/trace.h"

struct inq_gzip;

/* Where compressed bytes come from. `read` gives bytes at `offset` (at most `cap`; *n == 0 at the
 * end) either in `buffer` or, by setting *bytes, from memory of its own. */
struct inq_gzip_input {
    int (*read)(void *ctx, uint64_t offset, unsigned char *buffer, size_t cap,
                const unsigned char **bytes, size_t *n, struct inq_err *err);
    void *ctx;
};

/* Whether the first bytes start a gzip member. */
bool inq_gzip_recognise(const unsigned char *bytes, size_t n);

/* `use_isal` asks for ISA-L, which is ignored where it is not built in. Fails with INQ_NOMEM. */
int inq_gzip_new(const struct inq_gzip_input *input, bool use_isal, struct inq_gzip **gzip,
                 struct inq_err *err);
/* Decompresses up to `cap` bytes; *n == 0 at the end. Fails with INQ_NOMEM and what `read` does. */
int inq_gzip_read(struct inq_gzip *gzip, unsigned char *out, size_t cap, size_t *n,
                  struct inq_err *err);
/* Compressed bytes read so far. */
uint64_t inq_gzip_consumed(const struct inq_gzip *gzip);
/* TRUNCATED_GZIP and CORRUPT_GZIP so far. */
const struct inq_damage *inq_gzip_damage(const struct inq_gzip *gzip);
void inq_gzip_free(struct inq_gzip *gzip);

#endif
