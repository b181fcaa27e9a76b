/* SPDX-License-Identifier: Apache-2.0 */
/* The search for words, as text that is compiled once for each kind of machine. The including file
 * defines FIND, the name of the function, BLOCK, the bytes of a vector, the types vector and bits
 * (a bit per byte), and load, table (16 bytes in every lane), low_half, high_half, look_up, both
 * (and), either (or), not_zero, equal_to and store. */

static inline vector pass(const vector *low, const vector *high, const vector *l, const vector *h)
{
    vector all = both(look_up(low[0], l[0]), look_up(high[0], h[0]));
    for (int i = 1; i < INQ_LOG_DEPTH; i++) {
        all = both(all, both(look_up(low[i], l[i]), look_up(high[i], h[i])));
    }
    return all;
}

/* The first of the marked places where a word of a group that passed there is; BLOCK: none. */
static unsigned check(const struct inq_log_scan *scan, const char *p, const char *end, bits marked,
                      vector first, vector second, uint32_t *word)
{
    uint8_t groups[2][BLOCK];
    store(groups[0], first);
    store(groups[1], second);
    for (; marked != 0; marked &= marked - 1) {
        unsigned at = (unsigned)__builtin_ctzll(marked);
        if (p + at >= end) {
            break;
        }
        unsigned set = groups[0][at] | (unsigned)groups[1][at] << 8;
        for (; set != 0; set &= set - 1) {
            if (inq_log_word_at(scan, (uint32_t)__builtin_ctz(set), p + at, end, word)) {
                return at;
            }
        }
    }
    return BLOCK;
}

const char *FIND(const struct inq_log_scan *scan, const char *p, const char *end, uint64_t *lines,
                 uint32_t *word)
{
    vector low[2][INQ_LOG_DEPTH];
    vector high[2][INQ_LOG_DEPTH];
    for (int i = 0; i < INQ_LOG_DEPTH; i++) {
        for (int half = 0; half < 2; half++) {
            low[half][i] = table(scan->low[i][half]);
            high[half][i] = table(scan->high[i][half]);
        }
    }
    for (; p < end; p += BLOCK) {
        vector l[INQ_LOG_DEPTH];
        vector h[INQ_LOG_DEPTH];
        for (int i = 0; i < INQ_LOG_DEPTH; i++) {
            vector bytes = load(p + i);
            l[i] = low_half(bytes);
            h[i] = high_half(bytes);
        }
        vector first = pass(low[0], high[0], l, h);
        vector second = pass(low[1], high[1], l, h);
        bits ends = equal_to(load(p), '\n');
        if ((size_t)(end - p) < BLOCK) {
            ends &= ((bits)1 << (end - p)) - 1;
        }
        bits marked = not_zero(either(first, second));
        if (marked != 0) {
            unsigned at = check(scan, p, end, marked, first, second, word);
            if (at < BLOCK) {
                *lines += (uint64_t)__builtin_popcountll(ends & (((bits)1 << at) - 1));
                return p + at;
            }
        }
        *lines += (uint64_t)__builtin_popcountll(ends);
    }
    return NULL;
}
