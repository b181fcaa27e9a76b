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

/* What a set of bytes that have the same low half lets through, by the set of their high halves. */
struct weights {
    uint32_t of[16][256];
    bool halves; /* a group's bytes are tried by their halves: any low with any high half passes */
};

static void weigh(struct weights *weights, enum inq_log_scan_level level)
{
    weights->halves = level != INQ_LOG_SCAN_AVX512;
    for (unsigned low = 0; low < 16; low++) {
        weights->of[low][0] = 0;
        for (unsigned set = 1; set < 256; set++) {
            unsigned c = (unsigned)__builtin_ctz(set) << 4 | low;
            uint32_t weight = c < 128 ? often(c) : 0;
            weights->of[low][set] = weights->of[low][set & (set - 1)] + weight;
        }
    }
}

/* What bytes the words of a group have at each place: by the low halves, a set of high halves. */
struct group {
    uint8_t has[INQ_LOG_DEPTH][16];
};

/* How often a place passes; 0 for an empty group. */
static uint64_t cost_of(const struct weights *weights, const struct group *group)
{
    uint64_t cost = 1;
    for (int i = 0; i < INQ_LOG_DEPTH; i++) {
        const uint8_t *has = group->has[i];
        uint32_t sum = 0;
        unsigned all = 0;
        for (int low = 0; low < 16 && weights->halves; low++) {
            all |= has[low];
        }
        for (int low = 0; low < 16; low++) {
            sum += weights->of[low][weights->halves && has[low] != 0 ? all : has[low]];
        }
        cost *= sum;
    }
    return cost;
}

/* Bytes beyond the word's end may be anything. */
static void add_word(struct group *group, const char *word)
{
    size_t len = strlen(word);
    for (size_t i = 0; i < INQ_LOG_DEPTH; i++) {
        unsigned c = i < len ? (unsigned char)word[i] & 127 : 0;
        if (i < len) {
            group->has[i][c & 15] |= (uint8_t)(1U << (c >> 4));
        } else {
            memset(group->has[i], 255, sizeof group->has[i]);
        }
    }
}

/* The group to which the word adds the least. */
static uint32_t best_group(const struct weights *weights, const struct group *groups,
                           const uint64_t *costs, const char *word)
{
    uint32_t best = 0;
    uint64_t least = UINT64_MAX;
    for (uint32_t g = 0; g < INQ_LOG_GROUPS; g++) {
        struct group more = groups[g];
        add_word(&more, word);
        uint64_t added = cost_of(weights, &more) - costs[g];
        if (added < least) {
            least = added;
            best = g;
        }
    }
    return best;
}

/* Puts words where they let the least through: each in turn, and then each once more, when it is
 * known what the others are (a third round gains next to nothing). */
static void place_words(const struct weights *weights, struct group *groups,
                        const struct inq_log_wanted *words, uint32_t n)
{
    uint32_t of[INQ_LOG_WORDS] = {0}; /* its group, by word */
    uint64_t costs[INQ_LOG_GROUPS] = {0};
    memset(groups, 0, INQ_LOG_GROUPS * sizeof *groups);
    for (uint32_t i = 0; i < 2 * n; i++) {
        uint32_t w = i % n;
        if (i >= n) { /* out of its group */
            uint32_t old = of[w];
            memset(&groups[old], 0, sizeof groups[old]);
            for (uint32_t k = 0; k < n; k++) {
                if (k != w && of[k] == old) {
                    add_word(&groups[old], words[k].text);
                }
            }
            costs[old] = cost_of(weights, &groups[old]);
        }
        of[w] = best_group(weights, groups, costs, words[w].text);
        add_word(&groups[of[w]], words[w].text);
        costs[of[w]] = cost_of(weights, &groups[of[w]]);
    }
}

static void note_groups(struct inq_log_scan *scan, const struct group *groups)
{
    for (uint32_t g = 0; g < INQ_LOG_GROUPS; g++) {
        uint8_t bit = (uint8_t)(1U << (g & 7));
        for (int i = 0; i < INQ_LOG_DEPTH; i++) {
            for (unsigned c = 0; c < 128; c++) {
                if ((groups[g].has[i][c & 15] >> (c >> 4) & 1) != 0) {
                    scan->low[i][g >> 3][c & 15] |= bit;
                    scan->high[i][g >> 3][c >> 4] |= bit;
                    scan->high[i][g >> 3][c >> 4 | 8] |= bit; /* the highest bit says nothing */
                    scan->seven[i][g >> 3][c] |= bit;
                }
            }
        }
    }
}

static struct inq_log_word pack(const struct inq_log_wanted *word)
{
    struct inq_log_word packed = {.len = (uint32_t)strnlen(word->text, INQ_LOG_WORD_BYTES),
                                  .closed = word->closed};
    for (uint32_t i = 0; i < packed.len; i++) {
        packed.bytes |= (uint64_t)(unsigned char)word->text[i] << (8 * i);
        packed.mask |= UINT64_C(255) << (8 * i);
    }
    return packed;
}

/* By the hash of their first bytes. */
static void note_words(struct inq_log_scan *scan, const struct inq_log_wanted *words, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        scan->first[inq_log_head(words[i].text) + 1]++;
    }
    for (uint32_t h = 0; h < INQ_LOG_HEADS; h++) {
        scan->first[h + 1] = (uint16_t)(scan->first[h + 1] + scan->first[h]);
    }
    uint16_t taken[INQ_LOG_HEADS] = {0};
    for (uint32_t i = 0; i < n; i++) {
        unsigned head = inq_log_head(words[i].text);
        scan->words[scan->first[head] + taken[head]++] = pack(&words[i]);
    }
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
    return INQ_LOG_SCAN_PLAIN;
#elif defined(__aarch64__) && !defined(__AARCH64EB__)
    return INQ_LOG_SCAN_NEON;
#else
    return INQ_LOG_SCAN_PLAIN;
#endif
}

static inq_log_finder *const finders[] = {
    [INQ_LOG_SCAN_PLAIN] = inq_log_find_plain,
#if defined(__x86_64__)
    [INQ_LOG_SCAN_NEON] = inq_log_find_plain,
    [INQ_LOG_SCAN_AVX2] = inq_log_find_avx2,
    [INQ_LOG_SCAN_AVX512] = inq_log_find_avx512,
#elif defined(__aarch64__) && !defined(__AARCH64EB__)
    [INQ_LOG_SCAN_NEON] = inq_log_find_neon,
#endif
};

void inq_log_scan_init(struct inq_log_scan *scan, const struct inq_log_wanted *words, uint32_t n,
                       enum inq_log_scan_level level)
{
    struct group groups[INQ_LOG_GROUPS];
    struct weights weights;
    n = n < INQ_LOG_WORDS ? n : INQ_LOG_WORDS;
    level = level < highest_level() ? level : highest_level();
    memset(scan, 0, sizeof *scan);
    if (level != INQ_LOG_SCAN_PLAIN) {
        weigh(&weights, level);
        place_words(&weights, groups, words, n);
        note_groups(scan, groups);
    }
    note_words(scan, words, n);
    scan->find = finders[level];
}

const char *inq_log_find_plain(const struct inq_log_scan *scan, const char *p, const char *end,
                               uint64_t *lines)
{
    for (; p < end; p++) {
        if (inq_log_word_at(scan, p, end)) {
            return p;
        }
        *lines += *p == '\n';
    }
    return NULL;
}
