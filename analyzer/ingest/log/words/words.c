/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/log/words/words.h"

#include <string.h>

/* How often a byte is met in logs, roughly, of 256: what a group costs is what passes its bytes. */
static uint32_t often(unsigned c)
{
    if (c >= 'a' && c <= 'z') {
        return strchr("jqxzkvw", (int)c) != NULL ? 1 : strchr("etaoinsr", (int)c) != NULL ? 14 : 5;
    }
    if (c >= '0' && c <= '9') {
        return 6;
    }
    return c == ' ' ? 30 : c >= 'A' && c <= 'Z' ? 2 : c == '.' || c == ':' || c == '_' ? 5 : 1;
}

/* What bytes are as frequent as, by their halves. */
struct weights {
    uint32_t of[16][8]; /* [low half][high half] */
};

/* Of all bytes, the share that two sets of half bytes let through. */
static uint32_t lets_through(const struct weights *weights, uint32_t low, uint32_t high)
{
    uint32_t sum = 0;
    for (uint32_t l = low; l != 0; l &= l - 1) {
        const uint32_t *of = weights->of[__builtin_ctz(l)];
        for (uint32_t h = high & 255; h != 0; h &= h - 1) {
            sum += of[__builtin_ctz(h)];
        }
    }
    return sum;
}

struct group {
    uint32_t low[INQ_LOG_DEPTH], high[INQ_LOG_DEPTH];
    uint64_t cost; /* how often a place passes; 0 while empty */
};

/* The group with one more word, whose bytes beyond its end may be anything. */
static struct group with_word(const struct weights *weights, const struct group *group,
                              const char *word)
{
    struct group more = *group;
    size_t len = strlen(word);
    more.cost = 1;
    for (size_t i = 0; i < INQ_LOG_DEPTH; i++) {
        unsigned c = i < len ? (unsigned char)word[i] : 0;
        more.low[i] |= i < len ? 1U << (c & 15) : 0xffff;
        more.high[i] |= i < len ? 1U << (c >> 4) : 0xffff;
        more.cost *= lets_through(weights, more.low[i], more.high[i]);
    }
    return more;
}

/* Puts the word where it lets the least through. */
static uint32_t place(const struct weights *weights, struct group *groups, const char *word)
{
    uint32_t best = 0;
    struct group chosen = with_word(weights, &groups[0], word);
    for (uint32_t g = 1; g < INQ_LOG_GROUPS; g++) {
        struct group more = with_word(weights, &groups[g], word);
        if (more.cost - groups[g].cost < chosen.cost - groups[best].cost) {
            best = g;
            chosen = more;
        }
    }
    groups[best] = chosen;
    return best;
}

static void note_groups(struct inq_log_scan *scan, const struct group *groups)
{
    for (uint32_t g = 0; g < INQ_LOG_GROUPS; g++) {
        uint8_t bit = (uint8_t)(1U << (g & 7));
        for (int i = 0; i < INQ_LOG_DEPTH; i++) {
            for (uint32_t half = 0; half < 16; half++) {
                scan->low[i][g >> 3][half] |= (groups[g].low[i] >> half & 1) != 0 ? bit : 0;
                scan->high[i][g >> 3][half] |= (groups[g].high[i] >> half & 1) != 0 ? bit : 0;
            }
        }
    }
}

/* Bytes beyond the word's end may be anything. */
static void note_word(struct inq_log_scan *scan, uint32_t group, const char *word)
{
    uint8_t bit = (uint8_t)(1U << (group & 7));
    size_t len = strlen(word);
    for (size_t i = 0; i < INQ_LOG_DEPTH; i++) {
        uint8_t *six = scan->six[i][group >> 3];
        for (unsigned c = 0; c < 64; c++) {
            six[c] |= i >= len || ((unsigned char)word[i] & 63) == c ? bit : 0;
        }
    }
}

static struct inq_log_word pack(const char *word)
{
    struct inq_log_word packed = {.len = (uint32_t)strnlen(word, 8)};
    for (uint32_t i = 0; i < packed.len; i++) {
        packed.bytes |= (uint64_t)(unsigned char)word[i] << (8 * i);
        packed.mask |= UINT64_C(255) << (8 * i);
    }
    return packed;
}

/* The highest that this machine can. */
static enum inq_log_scan_level highest_level(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512bw")) {
        return INQ_LOG_SCAN_AVX512;
    }
    if (__builtin_cpu_supports("avx2")) {
        return INQ_LOG_SCAN_AVX2;
    }
#endif
    return INQ_LOG_SCAN_PLAIN;
}

static inq_log_finder *finder_of(enum inq_log_scan_level level)
{
#if defined(__x86_64__)
    level = level < highest_level() ? level : highest_level();
    return level == INQ_LOG_SCAN_AVX512 ? inq_log_find_avx512
           : level == INQ_LOG_SCAN_AVX2 ? inq_log_find_avx2
                                        : inq_log_find_plain;
#else
    (void)level;
    return inq_log_find_plain;
#endif
}

/* Words in order, so that those that begin alike come together. */
static uint32_t sort_words(const char *const *words, uint32_t n, uint32_t *order)
{
    uint32_t kept = 0;
    for (uint32_t w = 0; w < n; w++) {
        uint32_t at = kept;
        while (at > 0 && strncmp(words[order[at - 1]], words[w], 8) > 0) {
            at--;
        }
        if (at > 0 && strncmp(words[order[at - 1]], words[w], 8) == 0) {
            continue; /* there already */
        }
        memmove(order + at + 1, order + at, (kept - at) * sizeof *order);
        order[at] = w;
        kept++;
    }
    return kept;
}

void inq_log_scan_init(struct inq_log_scan *scan, const char *const *words, uint32_t n,
                       enum inq_log_scan_level level)
{
    struct group groups[INQ_LOG_GROUPS];
    struct weights weights;
    uint32_t order[INQ_LOG_WORDS + 1];
    uint32_t group_of[INQ_LOG_WORDS];
    memset(scan, 0, sizeof *scan);
    memset(groups, 0, sizeof groups);
    for (unsigned c = 0; c < 128; c++) {
        weights.of[c & 15][c >> 4] = often(c);
    }
    n = sort_words(words, n < INQ_LOG_WORDS ? n : INQ_LOG_WORDS, order);
    for (uint32_t i = 0; i < n; i++) {
        const char *word = words[order[i]];
        unsigned head = inq_log_head(word);
        scan->heads[head >> 3] |= (uint8_t)(1U << (head & 7));
        group_of[i] = place(&weights, groups, word);
    }
    note_groups(scan, groups);
    uint32_t at = 0;
    for (uint32_t g = 0; g < INQ_LOG_GROUPS; g++) {
        scan->first[g] = at;
        for (uint32_t i = 0; i < n; i++) {
            if (group_of[i] == g) {
                scan->words[at] = pack(words[order[i]]);
                note_word(scan, g, words[order[i]]);
                scan->id[at++] = order[i];
            }
        }
    }
    scan->first[INQ_LOG_GROUPS] = at;
    scan->find = finder_of(level);
}

const char *inq_log_find_plain(const struct inq_log_scan *scan, const char *p, const char *end,
                               uint64_t *lines, uint32_t *word)
{
    for (; p < end; p++) {
        if (inq_log_may_be(scan, p)) {
            for (uint32_t g = 0; g < INQ_LOG_GROUPS; g++) {
                if (inq_log_word_at(scan, g, p, end, word)) {
                    return p;
                }
            }
        }
        *lines += *p == '\n';
    }
    return NULL;
}
