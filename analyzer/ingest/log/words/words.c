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

/* How often each byte is met. */
struct weights {
    uint32_t of[128], all; /* all: of them together */
    bool halves; /* a group's bytes are tried by their halves: any low with any high half passes */
};

static void weigh(struct weights *weights, enum inq_log_scan_level level)
{
    weights->halves = level != INQ_LOG_SCAN_AVX512;
    weights->all = 0;
    for (unsigned c = 0; c < 128; c++) {
        weights->of[c] = often(c);
        weights->all += weights->of[c];
    }
}

/* One place of a group's words. What it lets through is kept, and what each half would add to it
 * with the other halves that are there: a group is tried for every word, and few words change it.
 */
struct place {
    uint16_t bytes[128], lows[16], highs[8]; /* words that have the byte, and each half */
    uint32_t with_low[16], with_high[8];
    uint32_t sum;
};

struct group {
    struct place at[INQ_LOG_DEPTH];
    uint64_t cost; /* how often a place of a text passes all of them; 0 for an empty group */
};

/* What passes once the byte is one of them. */
static uint32_t sum_with(const struct weights *weights, const struct place *place, unsigned c)
{
    uint32_t sum = place->sum;
    bool low = place->lows[c & 15] == 0;
    bool high = place->highs[c >> 4] == 0;
    if (!weights->halves) {
        return sum + (place->bytes[c] == 0 ? weights->of[c] : 0);
    }
    sum += low ? place->with_low[c & 15] : 0;
    sum += high ? place->with_high[c >> 4] : 0;
    return sum + (low && high ? weights->of[c] : 0);
}

static void put_byte(const struct weights *weights, struct place *place, unsigned c)
{
    place->sum = sum_with(weights, place, c);
    for (unsigned high = 0; high < 8 && place->lows[c & 15] == 0; high++) {
        place->with_high[high] += weights->of[high << 4 | (c & 15)];
    }
    for (unsigned low = 0; low < 16 && place->highs[c >> 4] == 0; low++) {
        place->with_low[low] += weights->of[(c & 0x70) | low];
    }
    place->bytes[c]++;
    place->lows[c & 15]++;
    place->highs[c >> 4]++;
}

static void take_byte(const struct weights *weights, struct place *place, unsigned c)
{
    place->bytes[c]--;
    place->lows[c & 15]--;
    place->highs[c >> 4]--;
    for (unsigned high = 0; high < 8 && place->lows[c & 15] == 0; high++) {
        place->with_high[high] -= weights->of[high << 4 | (c & 15)];
    }
    for (unsigned low = 0; low < 16 && place->highs[c >> 4] == 0; low++) {
        place->with_low[low] -= weights->of[(c & 0x70) | low];
    }
    place->sum -= sum_with(weights, place, c) - place->sum;
}

/* Bytes beyond the word's end may be anything. */
static void move_word(const struct weights *weights, struct group *group, const char *word,
                      void (*move)(const struct weights *, struct place *, unsigned))
{
    size_t len = strlen(word);
    for (size_t i = 0; i < INQ_LOG_DEPTH; i++) {
        if (i < len) {
            move(weights, &group->at[i], (unsigned char)word[i] & 127);
        }
        for (unsigned c = 0; c < 128 && i >= len; c++) {
            move(weights, &group->at[i], c);
        }
        group->cost = (i > 0 ? group->cost : 1) * group->at[i].sum;
    }
}

/* What the group costs once the word is in it. */
static uint64_t cost_with(const struct weights *weights, const struct group *group,
                          const char *word, size_t len)
{
    uint64_t cost = 1;
    for (size_t i = 0; i < INQ_LOG_DEPTH; i++) {
        unsigned c = i < len ? (unsigned char)word[i] & 127 : 0;
        cost *= i < len ? sum_with(weights, &group->at[i], c) : weights->all;
    }
    return cost;
}

/* The group to which the word adds the least. */
static uint32_t best_group(const struct weights *weights, const struct group *groups,
                           const char *word)
{
    uint32_t best = 0;
    uint64_t least = UINT64_MAX;
    size_t len = strlen(word);
    for (uint32_t g = 0; g < INQ_LOG_GROUPS && least > 0; g++) {
        uint64_t added = cost_with(weights, &groups[g], word, len) - groups[g].cost;
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
    memset(groups, 0, INQ_LOG_GROUPS * sizeof *groups);
    for (uint32_t i = 0; i < 2 * n; i++) {
        uint32_t w = i % n;
        if (i >= n) {
            move_word(weights, &groups[of[w]], words[w].text, take_byte);
        }
        of[w] = best_group(weights, groups, words[w].text);
        move_word(weights, &groups[of[w]], words[w].text, put_byte);
    }
}

static void note_groups(struct inq_log_scan *scan, const struct group *groups)
{
    for (uint32_t g = 0; g < INQ_LOG_GROUPS; g++) {
        uint8_t bit = (uint8_t)(1U << (g & 7));
        for (int i = 0; i < INQ_LOG_DEPTH; i++) {
            for (unsigned c = 0; c < 128; c++) {
                if (groups[g].at[i].bytes[c] != 0) {
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
