/* SPDX-License-Identifier: Apache-2.0 */
/* The matcher of event shapes with AVX2. There is none with AVX-512: its vectors cross a line of
 * the cache wherever the text is, its masks take longer to come by, and on a Cascade Lake reading
 * took 6 to 10 % longer with either. */
#include "ingest/scan/shape.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,bmi,bmi2,lzcnt,popcnt"))),                \
                             apply_to = function)
#else
#pragma GCC target("avx2,bmi,bmi2,lzcnt,popcnt")
/* run_at takes twice the instructions with it: `low` and `span` are whole steps apart */
#pragma GCC optimize("no-predictive-commoning")
#endif

static inline __m256i load(const void *p)
{
    __m256i bytes;
    memcpy(&bytes, p, sizeof bytes);
    return bytes;
}

static inline uint32_t equal(__m256i a, __m256i b)
{
    return (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(a, b));
}

static inline bool literal_at(const char *p, const struct inq_shape_node *node)
{
    uint32_t low = ~equal(load(p), load(node->literal)) & (uint32_t)node->mask;
    if (low != 0 || node->len <= 32) {
        return low == 0;
    }
    return (~equal(load(p + 32), load(node->literal + 32)) & (uint32_t)(node->mask >> 32)) == 0;
}

static inline uint64_t mask_of(const char *p, char c)
{
    __m256i wanted = _mm256_set1_epi8(c);
    return equal(load(p), wanted) | (uint64_t)equal(load(p + 32), wanted) << 32;
}

static inline uint32_t digits_at(const char *p)
{
    __m256i value = _mm256_sub_epi8(load(p), _mm256_set1_epi8('0'));
    return equal(_mm256_min_epu8(value, _mm256_set1_epi8(9)), value);
}

static inline bool run_at(const char *p, const struct inq_shape_run *run)
{
    __m256i same = _mm256_set1_epi8(-1);
    for (unsigned i = 0; i <= run->len; i += 64) {
        __m256i a = _mm256_sub_epi8(load(p + i), load(run->low + i));
        __m256i b = _mm256_sub_epi8(load(p + i + 32), load(run->low + i + 32));
        a = _mm256_cmpeq_epi8(_mm256_min_epu8(a, load(run->span + i)), a);
        b = _mm256_cmpeq_epi8(_mm256_min_epu8(b, load(run->span + i + 32)), b);
        same = _mm256_and_si256(same, _mm256_and_si256(a, b));
    }
    return _mm256_movemask_epi8(same) == -1;
}

/* Of 1 to 16 digits: they are moved to the end of a vector, with zeros in front, and are added up
 * pairwise, all pairs at once. */
static inline uint64_t value_of(const char *p, unsigned n)
{
    /* from byte n on: where each byte of the vector comes from; 0x80: it becomes zero */
    static const uint8_t moves[32] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
                                      0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
                                      0,    1,    2,    3,    4,    5,    6,    7,
                                      8,    9,    10,   11,   12,   13,   14,   15};
    __m128i digits;
    __m128i move;
    memcpy(&digits, p, sizeof digits);
    memcpy(&move, moves + n, sizeof move);
    digits = _mm_shuffle_epi8(_mm_sub_epi8(digits, _mm_set1_epi8('0')), move);
    digits = _mm_maddubs_epi16(digits, _mm_set1_epi16(1 << 8 | 10));  /* to 99 in each */
    digits = _mm_madd_epi16(digits, _mm_set1_epi32(1 << 16 | 100));   /* to 9,999 */
    digits = _mm_packus_epi32(digits, digits);                        /* side by side again */
    digits = _mm_madd_epi16(digits, _mm_set1_epi32(1 << 16 | 10000)); /* to 99,999,999 */
    uint64_t halves = (uint64_t)_mm_cvtsi128_si64(digits);
    return (halves & UINT32_MAX) * 100000000 + (halves >> 32);
}

#define MATCH inq_shape_match_avx2
#include "ingest/scan/match.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif

#else

const struct inq_shape_leaf *inq_shape_match_avx2(struct inq_shapes *shapes, const char **p,
                                                  const char *end, struct inq_scan_event *event,
                                                  const char **start, uint64_t *dropped)
{
    return inq_shape_match_plain(shapes, p, end, event, start, dropped);
}

#endif
