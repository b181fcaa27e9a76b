/* SPDX-License-Identifier: Apache-2.0 */
/* The search for words with AVX-512 VBMI. */
#include "ingest/log/words/words.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(                                                                      \
    __attribute__((target("avx512vbmi,avx512bw,avx512f,avx2,bmi,popcnt"))), apply_to = function)
#else
#pragma GCC target("avx512vbmi,avx512bw,avx512f,avx2,bmi,popcnt")
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

static inline bits equal_to(vector bytes, char c)
{
    return _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(c));
}

/* By the low seven bits of bytes, in two vectors. */
struct tables {
    vector bytes[2][INQ_LOG_DEPTH][2];
};

static inline void prepare(struct tables *tables, const struct inq_log_scan *scan)
{
    for (int i = 0; i < INQ_LOG_DEPTH; i++) {
        for (int half = 0; half < 2; half++) {
            tables->bytes[half][i][0] = load(scan->seven[i][half]);
            tables->bytes[half][i][1] = load(scan->seven[i][half] + BLOCK);
        }
    }
}

static inline bits marked_at(const struct tables *tables, const char *p)
{
    vector groups[2] = {_mm512_set1_epi8(-1), _mm512_set1_epi8(-1)};
    for (int i = 0; i < INQ_LOG_DEPTH; i++) {
        vector bytes = load(p + i);
        for (int half = 0; half < 2; half++) {
            const vector *table = tables->bytes[half][i];
            vector allowed = _mm512_permutex2var_epi8(table[0], bytes, table[1]);
            groups[half] = _mm512_and_si512(groups[half], allowed);
        }
    }
    vector any = _mm512_or_si512(groups[0], groups[1]);
    return _mm512_test_epi8_mask(any, any);
}

#include "ingest/log/words/simd.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
