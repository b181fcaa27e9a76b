/* SPDX-License-Identifier: Apache-2.0 */
/* Multiply-fold hashing: two 64-bit words a round are multiplied to 128 bits and folded. */
#include "base/hash.h"

#include "base/mem.h"

#include <string.h>

__extension__ typedef unsigned __int128 wide;

static const uint64_t PRIME_A = UINT64_C(0x9e3779b97f4a7c15);
static const uint64_t PRIME_B = UINT64_C(0xd6e8feb86659fd93);

static uint64_t fold(uint64_t a, uint64_t b)
{
    wide product = (wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t load64(const unsigned char *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

uint64_t inq_hash_u64(uint64_t x)
{
    return fold(x ^ PRIME_A, PRIME_B);
}

uint64_t inq_hash_bytes(const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    uint64_t state = PRIME_A ^ n;
    size_t left = n;
    while (left > 16) {
        state = fold(load64(p) ^ PRIME_B, load64(p + 8) ^ state);
        p += 16;
        left -= 16;
    }
    unsigned char tail[16] = {0};
    if (left > 0) {
        memcpy(tail, p, left);
    }
    return fold(load64(tail) ^ PRIME_B, load64(tail + 8) ^ state) ^ state;
}

static size_t slot_of(const struct inq_map *map, uint64_t key)
{
    size_t mask = map->n_slots - 1;
    size_t slot = (size_t)inq_hash_u64(key) & mask;
    while (map->used[slot] && map->keys[slot] != key) {
        slot = (slot + 1) & mask;
    }
    return slot;
}

static int rehash(struct inq_map *map, struct inq_err *err)
{
    struct inq_map bigger = {.n = map->n, .n_slots = map->n_slots == 0 ? 32 : map->n_slots * 2};
    bigger.keys = inq_mem_zalloc(bigger.n_slots, sizeof *bigger.keys);
    bigger.values = inq_mem_zalloc(bigger.n_slots, sizeof *bigger.values);
    bigger.used = inq_mem_zalloc(bigger.n_slots, sizeof *bigger.used);
    if (bigger.keys == NULL || bigger.values == NULL || bigger.used == NULL) {
        inq_map_release(&bigger);
        return inq_err_set(err, INQ_NOMEM, "out of memory for a map of %zu", map->n);
    }
    for (size_t i = 0; i < map->n_slots; i++) {
        if (map->used[i]) {
            size_t slot = slot_of(&bigger, map->keys[i]);
            bigger.used[slot] = 1;
            bigger.keys[slot] = map->keys[i];
            bigger.values[slot] = map->values[i];
        }
    }
    inq_map_release(map);
    *map = bigger;
    return INQ_OK;
}

int inq_map_put(struct inq_map *map, uint64_t key, uint32_t value, struct inq_err *err)
{
    if (map->n + map->n / 2 >= map->n_slots) {
        int code = rehash(map, err);
        if (code != INQ_OK) {
            return code;
        }
    }
    size_t slot = slot_of(map, key);
    map->n += map->used[slot] ? 0 : 1;
    map->used[slot] = 1;
    map->keys[slot] = key;
    map->values[slot] = value;
    return INQ_OK;
}

bool inq_map_get(const struct inq_map *map, uint64_t key, uint32_t *value)
{
    if (map->n == 0) {
        return false;
    }
    size_t slot = slot_of(map, key);
    if (!map->used[slot]) {
        return false;
    }
    *value = map->values[slot];
    return true;
}

void inq_map_release(struct inq_map *map)
{
    inq_mem_free(map->keys);
    inq_mem_free(map->values);
    inq_mem_free(map->used);
    *map = (struct inq_map){0};
}
