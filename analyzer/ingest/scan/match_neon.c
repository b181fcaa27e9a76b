/* SPDX-License-Identifier: Apache-2.0 */
/* The matcher of event shapes with NEON, which every 64-bit Arm host has (Grace among them). */
#include "ingest/scan/shape.h"

#include "base/digits.h"

#include <string.h>

#if defined(__aarch64__) && !defined(__AARCH64EB__)
#include "base/neon.h"

static inline uint8x16_t load(const void *p)
{
    return vld1q_u8(p);
}

/* Four bits for each byte that is different. */
static inline uint64_t different(const void *a, const void *b)
{
    uint16x8_t same = vreinterpretq_u16_u8(vceqq_u8(load(a), load(b)));
    return ~vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16(same, 4)), 0);
}

static inline bool literal_at(const char *p, const struct inq_shape_node *node)
{
    unsigned n = node->len;
    const unsigned char *literal = node->literal;
    for (; n > 16; n -= 16, p += 16, literal += 16) {
        if (different(p, literal) != 0) {
            return false;
        }
    }
    /* above the last byte's bits nothing counts; 0: no byte does */
    return n == 0 || different(p, literal) << (64 - 4 * n) == 0;
}

static inline uint64_t mask_of(const char *p, char c)
{
    uint8x16_t wanted = vdupq_n_u8((uint8_t)c);
    return inq_neon_bits(vceqq_u8(load(p), wanted), vceqq_u8(load(p + 16), wanted),
                         vceqq_u8(load(p + 32), wanted), vceqq_u8(load(p + 48), wanted));
}

static inline uint8x16_t are_digits(const char *p)
{
    return vcltq_u8(vsubq_u8(load(p), vdupq_n_u8('0')), vdupq_n_u8(10));
}

static inline uint32_t digits_at(const char *p)
{
    uint8x16_t none = vdupq_n_u8(0);
    return (uint32_t)inq_neon_bits(are_digits(p), are_digits(p + 16), none, none);
}

static inline bool run_at(const char *p, const struct inq_shape_run *run)
{
    uint8x16_t within = vdupq_n_u8(UINT8_MAX);
    for (unsigned i = 0; i <= run->len; i += 16) {
        uint8x16_t above = vsubq_u8(load(p + i), load(run->low + i));
        within = vandq_u8(within, vcleq_u8(above, load(run->span + i)));
    }
    return vminvq_u8(within) != 0;
}

static inline uint64_t value_of(const char *p, unsigned n)
{
    return inq_digits_value16(p, n);
}

#define MATCH inq_shape_match_neon
#include "ingest/scan/match.h"

#else

const struct inq_shape_leaf *inq_shape_match_neon(struct inq_shapes *shapes, const char **p,
                                                  const char *end, struct inq_scan_event *event,
                                                  const char **start, uint64_t *dropped)
{
    return inq_shape_match_plain(shapes, p, end, event, start, dropped);
}

#endif
