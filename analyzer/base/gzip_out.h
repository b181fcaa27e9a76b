/* SPDX-License-Identifier: Apache-2.0 */
/* The checksum of gzip, zip and partials. */
#ifndef INQ_BASE_GZIP_OUT_H
#define INQ_BASE_GZIP_OUT_H

#include <stddef.h>
#include <stdint.h>

/* CRC-32 of zlib, gzip and zip. */
uint32_t inq_crc32(const void *bytes, size_t n);

#endif
