/* SPDX-License-Identifier: Apache-2.0 */
/* The search for words with AVX-512. */
#include "ingest/log_scan.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512bw,avx512f,avx2,bmi,popcnt"))),          \
                             apply_to = function)
#else
#pragma GCC target("avx512bw,avx512f,avx2,bmi,popcnt")
#endif

#define FIND  inq_log_find_avx512
#define BLOCK 64

typedef __m512i vector;
typedef uint64_t bits;

static inline vector load(const void *p)
{
    vector bytes;
    memcpy(&bytes, p, sizeof bytes);
    return bytes;
}

static inline void store(void *p, vector bytes)
{
    memcpy(p, &bytes, sizeof bytes);
}

static inline vector table(const uint8_t *sixteen)
{
    __m128i bytes;
    memcpy(&bytes, sixteen, sizeof bytes);
    return _mm512_broadcast_i32x4(bytes);
}

static inline vector low_half(vector bytes)
{
    return _mm512_and_si512(bytes, _mm512_set1_epi8(15));
}

static inline vector high_half(vector bytes)
{
    return _mm512_and_si512(_mm512_srli_epi16(bytes, 4), _mm512_set1_epi8(15));
}

static inline vector look_up(vector in, vector halves)
{
    return _mm512_shuffle_epi8(in, halves);
}

static inline vector both(vector a, vector b)
{
    return _mm512_and_si512(a, b);
}

static inline vector either(vector a, vector b)
{
    return _mm512_or_si512(a, b);
}

static inline bits equal_to(vector bytes, char c)
{
    return _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(c));
}

static inline bits not_zero(vector bytes)
{
    return _mm512_test_epi8_mask(bytes, bytes);
}

#include "ingest/log_scan_simd.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
