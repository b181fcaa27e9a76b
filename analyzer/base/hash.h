/* SPDX-License-Identifier: Apache-2.0 */
/* A fast non-cryptographic 64-bit hash, and a map from 64-bit keys to 32-bit values. */
#ifndef INQ_BASE_HASH_H
#define INQ_BASE_HASH_H

#include "inquest/error.h"

#include <stdbool.h>

uint64_t inq_hash_bytes(const void *bytes, size_t n);
uint64_t inq_hash_u64(uint64_t x);

/* All-zero is a valid, empty map. */
struct inq_map {
    uint64_t *keys;
    uint32_t *values;
    uint8_t *used;
    size_t n, n_slots;
};

/* Inserts or overwrites. Fails with INQ_NOMEM. */
int inq_map_put(struct inq_map *map, uint64_t key, uint32_t value, struct inq_err *err);
/* True and *value set when the key is there. */
bool inq_map_get(const struct inq_map *map, uint64_t key, uint32_t *value);
void inq_map_release(struct inq_map *map);

/* CRC-32 of zlib, gzip and zip. */
uint32_t inq_crc32(const void *bytes, size_t n);

#endif
