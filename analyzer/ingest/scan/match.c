/* SPDX-License-Identifier: Apache-2.0 */
/* The matcher of event shapes in portable C. */
#include "ingest/scan/shape.h"

#include "base/digits.h"

#include <string.h>

/* A bit for each byte of the word that is zero. */
static inline uint64_t zero_bytes(uint64_t word)
{
    const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f);
    uint64_t high = ~(((word & low) + low) | word | low); /* 0x80 where a byte is zero */
    return (high >> 7) * UINT64_C(0x0102040810204080) >> 56;
}

static inline bool literal_at(const char *p, const struct inq_shape_node *node)
{
    return memcmp(p, node->literal, node->len) == 0;
}

static inline uint64_t mask_of(const char *p, char c)
{
    uint64_t wanted = UINT64_C(0x0101010101010101) * (unsigned char)c;
    uint64_t mask = 0;
    for (unsigned i = 0; i < 8; i++) {
        mask |= zero_bytes(inq_digits_load(p + (size_t)8 * i) ^ wanted) << (8 * i);
    }
    return mask;
}

static inline uint32_t digits_at(const char *p)
{
    uint32_t mask = 0;
    for (unsigned i = 0; i < 32; i++) {
        mask |= (uint32_t)((unsigned char)p[i] - (unsigned)'0' <= 9) << i;
    }
    return mask;
}

static inline bool run_at(const char *p, const struct inq_shape_run *run)
{
    bool within = true;
    for (unsigned i = 0; i <= run->len && within; i++) {
        within = (unsigned char)((unsigned char)p[i] - run->low[i]) <= run->span[i];
    }
    return within;
}

static inline uint64_t value_of(const char *p, unsigned n)
{
    return inq_digits_value16(p, n);
}

#define MATCH inq_shape_match_plain
#include "ingest/scan/match.h"
