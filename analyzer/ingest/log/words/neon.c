/* SPDX-License-Identifier: Apache-2.0 */
/* The search for words with NEON. */
#include "ingest/log/words/words.h"

#include <string.h>

#if defined(__aarch64__) && !defined(__AARCH64EB__)
#include "base/neon.h"

#define FIND  inq_log_find_neon
#define BLOCK 32

typedef struct {
    uint8x16_t half[2];
} vector;
typedef uint32_t bits;

static inline vector load(const char *p)
{
    const uint8_t *bytes = (const uint8_t *)p;
    return (vector){{vld1q_u8(bytes), vld1q_u8(bytes + 16)}};
}

static inline bits equal_to(vector bytes, char c)
{
    uint8x16_t wanted = vdupq_n_u8((uint8_t)c);
    uint8x16_t low = vceqq_u8(bytes.half[0], wanted);
    uint8x16_t high = vceqq_u8(bytes.half[1], wanted);
    return (bits)inq_neon_bits(low, high, low, high);
}

/* By the halves of bytes. */
struct tables {
    uint8x16_t low[2][INQ_LOG_DEPTH], high[2][INQ_LOG_DEPTH];
};

static inline void prepare(struct tables *tables, const struct inq_log_scan *scan)
{
    for (int i = 0; i < INQ_LOG_DEPTH; i++) {
        for (int half = 0; half < 2; half++) {
            tables->low[half][i] = vld1q_u8(scan->low[i][half]);
            tables->high[half][i] = vld1q_u8(scan->high[i][half]);
        }
    }
}

static inline bits marked_at(const struct tables *tables, const char *p)
{
    uint8x16_t found[2];
    for (int k = 0; k < 2; k++) {
        uint8x16_t groups[2] = {vdupq_n_u8(0xff), vdupq_n_u8(0xff)};
        for (int i = 0; i < INQ_LOG_DEPTH; i++) {
            uint8x16_t bytes = vld1q_u8((const uint8_t *)p + 16 * k + i);
            uint8x16_t l = vandq_u8(bytes, vdupq_n_u8(15));
            uint8x16_t h = vshrq_n_u8(bytes, 4);
            for (int half = 0; half < 2; half++) {
                groups[half] =
                    vandq_u8(groups[half], vandq_u8(vqtbl1q_u8(tables->low[half][i], l),
                                                    vqtbl1q_u8(tables->high[half][i], h)));
            }
        }
        found[k] = vorrq_u8(groups[0], groups[1]);
        found[k] = vtstq_u8(found[k], found[k]);
    }
    return (bits)inq_neon_bits(found[0], found[1], found[0], found[1]);
}

#include "ingest/log/words/simd.h"
#endif
