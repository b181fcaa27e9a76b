/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors of 64-bit Arm. */
#ifndef INQ_BASE_NEON_H
#define INQ_BASE_NEON_H

#include <arm_neon.h>

/* A bit for each byte of four vectors that is 0xff rather than 0: what is left of a byte is its own
 * bit of eight, and neighbors are added up three times. Of two vectors, given twice, the low half:
 * that costs no more than two. */
static inline uint64_t inq_neon_bits(uint8x16_t a, uint8x16_t b, uint8x16_t c, uint8x16_t d)
{
    const uint8x16_t own = vreinterpretq_u8_u64(vdupq_n_u64(UINT64_C(0x8040201008040201)));
    uint8x16_t low = vpaddq_u8(vandq_u8(a, own), vandq_u8(b, own));
    uint8x16_t high = vpaddq_u8(vandq_u8(c, own), vandq_u8(d, own));
    low = vpaddq_u8(low, high);
    return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(low, low)), 0);
}

#endif
