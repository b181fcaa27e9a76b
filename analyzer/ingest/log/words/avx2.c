/* SPDX-License-Identifier: Apache-2.0 */
/* The search for words with AVX2. */
#include "ingest/log/words/words.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,bmi,popcnt"))), apply_to = function)
#else
#pragma GCC target("avx2,bmi,popcnt")
#endif

#define FIND  inq_log_find_avx2
#define BLOCK 32

typedef __m256i vector;
typedef uint32_t bits;

static inline vector load(const void *p)
{
    vector bytes;
    memcpy(&bytes, p, sizeof bytes);
    return bytes;
}

static inline bits equal_to(vector bytes, char c)
{
    return (bits)_mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(c)));
}

/* By the halves of bytes. */
struct tables {
    vector low[2][INQ_LOG_DEPTH], high[2][INQ_LOG_DEPTH];
};

static inline vector twice(const uint8_t *sixteen)
{
    __m128i bytes;
    memcpy(&bytes, sixteen, sizeof bytes);
    return _mm256_broadcastsi128_si256(bytes);
}

static inline void prepare(struct tables *tables, const struct inq_log_scan *scan)
{
    for (int i = 0; i < INQ_LOG_DEPTH; i++) {
        for (int half = 0; half < 2; half++) {
            tables->low[half][i] = twice(scan->low[i][half]);
            tables->high[half][i] = twice(scan->high[i][half]);
        }
    }
}

static inline bits marked_at(const struct tables *tables, const char *p)
{
    vector groups[2] = {_mm256_set1_epi8(-1), _mm256_set1_epi8(-1)};
    for (int i = 0; i < INQ_LOG_DEPTH; i++) {
        vector bytes = load(p + i);
        vector l = _mm256_and_si256(bytes, _mm256_set1_epi8(15));
        vector h = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), _mm256_set1_epi8(15));
        for (int half = 0; half < 2; half++) {
            vector allowed = _mm256_and_si256(_mm256_shuffle_epi8(tables->low[half][i], l),
                                              _mm256_shuffle_epi8(tables->high[half][i], h));
            groups[half] = _mm256_and_si256(groups[half], allowed);
        }
    }
    return ~equal_to(_mm256_or_si256(groups[0], groups[1]), 0);
}

#include "ingest/log/words/simd.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
