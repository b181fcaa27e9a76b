/* SPDX-License-Identifier: Apache-2.0 */
/* Finding any of some hundreds of words in text that holds next to none of them, as fast as memory
 * is read, counting lines on the way. Words are put in sixteen groups; a group allows a byte at a
 * place if one of its words has it there. The first five places of all groups are tried at once
 * for every byte of a vector; what passes is compared in full. */
#ifndef INQ_INGEST_LOG_WORDS_WORDS_H
#define INQ_INGEST_LOG_WORDS_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { INQ_LOG_WORDS = 1024, INQ_LOG_GROUPS = 16, INQ_LOG_DEPTH = 5, INQ_LOG_HEADS = 4096 };
/* Of a word: what is compared. */
enum { INQ_LOG_WORD_BYTES = 8 };

/* A word to look for. */
struct inq_log_wanted {
    const char *text;
    bool closed; /* it is one only where a blank, a control character or the end follows it */
};

struct inq_log_word {
    uint64_t bytes, mask; /* the first bytes, little-endian */
    uint32_t len;         /* of these, 4 to 8 */
    bool closed;
};

struct inq_log_scan;
typedef const char *inq_log_finder(const struct inq_log_scan *scan, const char *p, const char *end,
                                   uint64_t *lines);

struct inq_log_scan {
    /* [place][half of the groups]: a bit for each group that allows the byte, */
    uint8_t low[INQ_LOG_DEPTH][2][16], high[INQ_LOG_DEPTH][2][16]; /* by its halves */
    uint8_t seven[INQ_LOG_DEPTH][2][128];                          /* by its low seven bits */
    struct inq_log_word words[INQ_LOG_WORDS]; /* by the hash of the first four bytes */
    uint16_t first[INQ_LOG_HEADS + 1];        /* where each hash's words begin */
    inq_log_finder *find;
};

/* What machines can run; INQ_LOG_SCAN_PLAIN runs anywhere. */
enum inq_log_scan_level {
    INQ_LOG_SCAN_PLAIN,
    INQ_LOG_SCAN_NEON,
    INQ_LOG_SCAN_AVX2,
    INQ_LOG_SCAN_AVX512
};

/* Prepares for the first 8 bytes of `words` (each at least 4 long; at most INQ_LOG_WORDS). Searches
 * at `level`, or the highest that this machine can. */
void inq_log_scan_init(struct inq_log_scan *scan, const struct inq_log_wanted *words, uint32_t n,
                       enum inq_log_scan_level level);

/* The next place from p on, in front of end, where a word is; NULL when there is none. *lines grows
 * by the line ends from p up to it (to end). 128 bytes behind end must be readable. */
static inline const char *inq_log_find(const struct inq_log_scan *scan, const char *p,
                                       const char *end, uint64_t *lines)
{
    return scan->find(scan, p, end, lines);
}

/* What a search of one stretch of text found, so that whoever reads it later need not search. */
enum { INQ_LOG_HITS = 512 };
struct inq_log_hit {
    uint32_t at, lines; /* line ends in front of it */
    bool word;          /* else only how far the search was, to count lines from */
};
struct inq_log_hits {
    const struct inq_log_scan *scan; /* that searched it; NULL: none did */
    uint32_t size, covered;          /* its bytes; those in which the words are known that begin */
    uint32_t n;
    struct inq_log_hit list[INQ_LOG_HITS];
};

/* Searches the stretch [p, p + n), below 4 GB, as inq_log_find does. */
void inq_log_search(struct inq_log_hits *hits, const struct inq_log_scan *scan, const char *p,
                    size_t n);
/* The first word that begins in [from, to) of a stretch that was searched, as inq_log_find finds
 * it; to <= hits->covered. `p` is the text at `from`; 4 KB in front of it are read, as far as
 * the stretch goes. */
const char *inq_log_find_ahead(const struct inq_log_hits *hits, const char *p, size_t from,
                               size_t to, uint64_t *lines);

/* Hash of the four bytes at p. */
static inline unsigned inq_log_head(const char *p)
{
    uint32_t bytes;
    __builtin_memcpy(&bytes, p, sizeof bytes);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    bytes = __builtin_bswap32(bytes);
#endif
    return (bytes * UINT32_C(0x9e3779b1)) >> 20; /* INQ_LOG_HEADS of them */
}

/* Whether a word stands at p, in front of end. */
static inline bool inq_log_word_at(const struct inq_log_scan *scan, const char *p, const char *end)
{
    uint64_t bytes;
    unsigned head = inq_log_head(p);
    __builtin_memcpy(&bytes, p, sizeof bytes);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    bytes = __builtin_bswap64(bytes);
#endif
    for (uint32_t i = scan->first[head]; i < scan->first[head + 1]; i++) {
        const struct inq_log_word *word = &scan->words[i];
        size_t left = (size_t)(end - p);
        bool open = word->closed && word->len < left && (unsigned char)p[word->len] > ' ';
        if ((bytes & word->mask) == word->bytes && word->len <= left && !open) {
            return true;
        }
    }
    return false;
}

inq_log_finder inq_log_find_plain;  /* ingest/log/words/words.c */
inq_log_finder inq_log_find_neon;   /* ingest/log/words/neon.c */
inq_log_finder inq_log_find_avx2;   /* ingest/log/words/avx2.c */
inq_log_finder inq_log_find_avx512; /* ingest/log/words/avx512.c */

#endif
