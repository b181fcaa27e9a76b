/* SPDX-License-Identifier: Apache-2.0 */
/* The search for words, as text that is compiled once for each kind of machine. The including file
 * defines FIND, the name of the function, BLOCK, the bytes of a vector, the types vector and bits
 * (a bit per byte), load, store, either (or), not_zero and equal_to; and struct tables with
 * `prepare`, which fills it, and `groups_at`: for each byte from p on the groups that allow the
 * DEPTH bytes there, a bit each, in two halves. */

/* The first of the marked places where a word of a group that passed there is; BLOCK: none. */
static unsigned check(const struct inq_log_scan *scan, const char *p, const char *end, bits marked,
                      const vector groups[2], uint32_t *word)
{
    uint8_t sets[2][BLOCK];
    store(sets[0], groups[0]);
    store(sets[1], groups[1]);
    for (; marked != 0; marked &= marked - 1) {
        unsigned at = (unsigned)__builtin_ctzll(marked);
        if (p + at >= end) {
            break;
        }
        if (!inq_log_may_be(scan, p + at)) {
            continue;
        }
        unsigned set = sets[0][at] | (unsigned)sets[1][at] << 8;
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
    struct tables tables;
    prepare(&tables, scan);
    for (; p < end; p += BLOCK) {
        vector groups[2];
        groups_at(&tables, p, groups);
        bits ends = equal_to(load(p), '\n');
        if ((size_t)(end - p) < BLOCK) {
            ends &= ((bits)1 << (end - p)) - 1;
        }
        bits marked = not_zero(either(groups[0], groups[1]));
        if (marked != 0) {
            unsigned at = check(scan, p, end, marked, groups, word);
            if (at < BLOCK) {
                *lines += (uint64_t)__builtin_popcountll(ends & (((bits)1 << at) - 1));
                return p + at;
            }
        }
        *lines += (uint64_t)__builtin_popcountll(ends);
    }
    return NULL;
}
