/* SPDX-License-Identifier: Apache-2.0 */
/* Finding any of some dozens of words in text that holds next to none of them, as fast as memory is
 * read, counting lines on the way. Bytes are looked up by their halves: sixteen groups of words,
 * five bytes of each, are tried at every place at once; what passes is compared in full. */
#ifndef INQ_INGEST_LOG_WORDS_WORDS_H
#define INQ_INGEST_LOG_WORDS_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { INQ_LOG_WORDS = 1024, INQ_LOG_GROUPS = 16, INQ_LOG_DEPTH = 5 };

struct inq_log_word {
    uint64_t bytes, mask; /* the first 8 bytes, little-endian */
    uint32_t len;         /* of these, 4 to 8 */
};

struct inq_log_scan;
typedef const char *inq_log_finder(const struct inq_log_scan *scan, const char *p, const char *end,
                                   uint64_t *lines, uint32_t *word);

struct inq_log_scan {
    /* [byte][half of the groups][half a byte]: a bit for each group that allows it */
    uint8_t low[INQ_LOG_DEPTH][2][16], high[INQ_LOG_DEPTH][2][16];
    uint8_t six[INQ_LOG_DEPTH][2][64];        /* the same by the low six bits of a byte */
    struct inq_log_word words[INQ_LOG_WORDS]; /* by group */
    uint32_t first[INQ_LOG_GROUPS + 1];       /* where each group's words begin */
    uint32_t id[INQ_LOG_WORDS];               /* the caller's number of each word */
    uint8_t heads[8192];                      /* a bit for each hash of the first four bytes */
    inq_log_finder *find;
};

/* What machines can run; INQ_LOG_SCAN_PLAIN runs anywhere. */
enum inq_log_scan_level { INQ_LOG_SCAN_PLAIN, INQ_LOG_SCAN_AVX2, INQ_LOG_SCAN_AVX512 };

/* Prepares for the first 8 bytes of `words` (each at least 4 long; at most INQ_LOG_WORDS); equal
 * beginnings are one word, with the number of the first. Searches at `level`, or the highest that
 * this machine can. */
void inq_log_scan_init(struct inq_log_scan *scan, const char *const *words, uint32_t n,
                       enum inq_log_scan_level level);

/* The next place from p on, in front of end, where a word is; NULL when there is none. *word gets
 * its number; *lines grows by the line ends from p up to it (to end). 128 bytes behind end must be
 * readable. */
static inline const char *inq_log_find(const struct inq_log_scan *scan, const char *p,
                                       const char *end, uint64_t *lines, uint32_t *word)
{
    return scan->find(scan, p, end, lines, word);
}

/* Hash of the four bytes at p. */
static inline unsigned inq_log_head(const char *p)
{
    uint32_t bytes;
    __builtin_memcpy(&bytes, p, sizeof bytes);
    return (bytes * UINT32_C(0x9e3779b1)) >> 16;
}

/* Whether a word may stand at p; few of the other places pass. */
static inline bool inq_log_may_be(const struct inq_log_scan *scan, const char *p)
{
    unsigned head = inq_log_head(p);
    return (scan->heads[head >> 3] >> (head & 7) & 1) != 0;
}

/* The word of a group that stands at p, in front of end. */
static inline bool inq_log_word_at(const struct inq_log_scan *scan, uint32_t group, const char *p,
                                   const char *end, uint32_t *word)
{
    uint64_t bytes;
    __builtin_memcpy(&bytes, p, sizeof bytes);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    bytes = __builtin_bswap64(bytes);
#endif
    for (uint32_t i = scan->first[group]; i < scan->first[group + 1]; i++) {
        if ((bytes & scan->words[i].mask) == scan->words[i].bytes &&
            scan->words[i].len <= (size_t)(end - p)) {
            *word = scan->id[i];
            return true;
        }
    }
    return false;
}

inq_log_finder inq_log_find_plain;  /* ingest/log/words/words.c */
inq_log_finder inq_log_find_avx2;   /* ingest/log/words/avx2.c */
inq_log_finder inq_log_find_avx512; /* ingest/log/words/avx512.c */

#endif
