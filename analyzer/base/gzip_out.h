/* SPDX-License-Identifier: Apache-2.0 */
/* gzip compression of memory, reproducible: no time, no name, the same bytes every time. */
#ifndef INQ_BASE_GZIP_OUT_H
#define INQ_BASE_GZIP_OUT_H

#include "base/out.h"

/* Compresses `n` bytes as one gzip member and appends it to `out` (memory or sink). The bytes
 * depend on the version of zlib only. Fails with INQ_NOMEM or what `out` met. */
int inq_gzip_write(struct inq_out *out, const char *bytes, size_t n, int level,
                   struct inq_err *err);

/* CRC-32 of zlib, gzip and zip. */
uint32_t inq_crc32(const void *bytes, size_t n);

#endif
