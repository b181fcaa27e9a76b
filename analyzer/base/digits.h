/* SPDX-License-Identifier: Apache-2.0 */
/* Decimal digits, eight at a time. */
#ifndef INQ_BASE_DIGITS_H
#define INQ_BASE_DIGITS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Eight bytes, the first one lowest. */
static inline uint64_t inq_digits_load(const char *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

/* How many of the bytes are digits up to the first that is none. */
static inline unsigned inq_digits_count(uint64_t word)
{
    uint64_t digits = word ^ UINT64_C(0x3030303030303030);
    /* a carry is only from a byte that is none, to those after it */
    uint64_t others =
        ((digits + UINT64_C(0x7676767676767676)) | digits) & UINT64_C(0x8080808080808080);
    return others != 0 ? (unsigned)__builtin_ctzll(others) / 8 : 8;
}

/* How many of the bytes are '0' up to the first that is none. */
static inline unsigned inq_digits_zeros(uint64_t word)
{
    uint64_t others = word ^ UINT64_C(0x3030303030303030);
    return others != 0 ? (unsigned)__builtin_ctzll(others) / 8 : 8;
}

/* Value of the first 1 to 8 bytes, which are digits: all are put to work at once, pairwise. */
static inline uint64_t inq_digits_value(uint64_t word, unsigned n)
{
    unsigned shift = 64 - 8 * n;
    uint64_t digits = (word << shift) - (UINT64_C(0x3030303030303030) << shift);
    digits = digits * 10 + (digits >> 8);
    uint64_t low = (digits & UINT64_C(0x000000ff000000ff)) * UINT64_C(0x000f424000000064);
    uint64_t high = (digits >> 16 & UINT64_C(0x000000ff000000ff)) * UINT64_C(0x0000271000000001);
    return (low + high) >> 32;
}

/* Value of 1 to 16 digits; 16 bytes at p are readable. */
static inline uint64_t inq_digits_value16(const char *p, unsigned n)
{
    if (n <= 8) {
        return inq_digits_value(inq_digits_load(p), n);
    }
    return inq_digits_value(inq_digits_load(p), n - 8) * 100000000 +
           inq_digits_value(inq_digits_load(p + n - 8), 8);
}

/* Appends the digits at *p to *value, up to the first byte that is none; how many they are. More
 * than 19 may overflow. */
static inline size_t inq_digits_read(const char **p, const char *end, uint64_t *value)
{
    static const uint64_t tens[9] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    const char *from = *p;
    const char *at = from;
    unsigned n = 8;
    while (n == 8 && end - at >= 8) {
        uint64_t word = inq_digits_load(at);
        n = inq_digits_count(word);
        if (n > 0) {
            *value = *value * tens[n] + inq_digits_value(word, n);
        }
        at += n;
    }
    for (; n == 8 && at < end && *at >= '0' && *at <= '9'; at++) {
        *value = *value * 10 + (uint64_t)(*at - '0');
    }
    *p = at;
    return (size_t)(at - from);
}

#endif
