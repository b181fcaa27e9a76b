/* SPDX-License-Identifier: Apache-2.0 */
/* The matcher of event shapes with AVX-512. */
#include "ingest/scan/shape.h"

#include "base/digits.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(                                                                      \
    __attribute__((target("avx512bw,avx512vl,avx2,bmi,bmi2,lzcnt,popcnt"))), apply_to = function)
#else
#pragma GCC target("avx512bw,avx512vl,avx2,bmi,bmi2,lzcnt,popcnt")
#endif

static inline bool literal_at(const char *p, const struct inq_shape_node *node)
{
    __m512i text = _mm512_loadu_si512(p);
    __m512i literal = _mm512_loadu_si512(node->literal);
    return _mm512_mask_cmpneq_epi8_mask(node->mask, text, literal) == 0;
}

static inline uint64_t mask_of(const char *p, char c)
{
    return _mm512_cmpeq_epi8_mask(_mm512_loadu_si512(p), _mm512_set1_epi8(c));
}

static inline uint32_t digits_at(const char *p)
{
    __m256i text;
    memcpy(&text, p, sizeof text);
    return _mm256_cmplt_epu8_mask(_mm256_sub_epi8(text, _mm256_set1_epi8('0')),
                                  _mm256_set1_epi8(10));
}

static inline __mmask64 outside(const char *p, const struct inq_shape_run *run, unsigned at)
{
    __m512i above = _mm512_sub_epi8(_mm512_loadu_si512(p + at), _mm512_load_si512(run->low + at));
    return _mm512_cmpgt_epu8_mask(above, _mm512_load_si512(run->span + at));
}

static inline bool run_at(const char *p, const struct inq_shape_node *node)
{
    const struct inq_shape_run *run = &node->run;
    return (outside(p, run, 0) | outside(p, run, 64) | outside(p, run, 128)) == 0;
}

#define MATCH inq_shape_match_avx512
#include "ingest/scan/match.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif

#else

const struct inq_shape_leaf *inq_shape_match_avx512(struct inq_shapes *shapes, const char **p,
                                                    const char *end, struct inq_scan_event *event,
                                                    const char **start, uint64_t *dropped)
{
    return inq_shape_match_plain(shapes, p, end, event, start, dropped);
}

#endif
