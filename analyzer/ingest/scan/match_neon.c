/* SPDX-License-Identifier: Apache-2.0 */
/* The matcher of event shapes with NEON, which every 64-bit Arm host has (Grace among them). */
#include "ingest/scan/shape.h"

#include <string.h>

#if defined(__aarch64__) && !defined(__AARCH64EB__)
#include <arm_neon.h>

static inline uint8x16_t load(const void *p)
{
    return vld1q_u8(p);
}

/* A bit for each byte of four vectors that is 0xff rather than 0: what is left of a byte is its own
 * bit of eight, and neighbours are added up three times. */
static inline uint64_t bits_of(uint8x16_t a, uint8x16_t b, uint8x16_t c, uint8x16_t d)
{
    const uint8x16_t own = vreinterpretq_u8_u64(vdupq_n_u64(UINT64_C(0x8040201008040201)));
    uint8x16_t low = vpaddq_u8(vandq_u8(a, own), vandq_u8(b, own));
    uint8x16_t high = vpaddq_u8(vandq_u8(c, own), vandq_u8(d, own));
    low = vpaddq_u8(low, high);
    return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(low, low)), 0);
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
    return bits_of(vceqq_u8(load(p), wanted), vceqq_u8(load(p + 16), wanted),
                   vceqq_u8(load(p + 32), wanted), vceqq_u8(load(p + 48), wanted));
}

static inline uint8x16_t are_digits(const char *p)
{
    return vcltq_u8(vsubq_u8(load(p), vdupq_n_u8('0')), vdupq_n_u8(10));
}

static inline uint32_t digits_at(const char *p)
{
    uint8x16_t none = vdupq_n_u8(0);
    return (uint32_t)bits_of(are_digits(p), are_digits(p + 16), none, none);
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
