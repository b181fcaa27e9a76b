/* SPDX-License-Identifier: Apache-2.0 */
#include "base/any_case.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

/* Words looked for at once: a bit each. */
enum { AT_ONCE = 64 };

/* The low five bits of a letter are the same in both cases. */
static unsigned low_bits(char c)
{
    return (unsigned char)c & 31;
}

/* Whether one of at most AT_ONCE words is there: few places have the first two letters of one. */
static bool has_some(const char *const *words, size_t n, const char *text, size_t len)
{
    uint64_t first[32] = {0}; /* words whose first letter it is */
    uint64_t second[32] = {0};
    for (size_t k = 0; k < n; k++) {
        assert(words[k][0] != '\0' && words[k][1] != '\0');
        first[low_bits(words[k][0])] |= UINT64_C(1) << k;
        second[low_bits(words[k][1])] |= UINT64_C(1) << k;
    }
    for (size_t i = 0; i + 1 < len; i++) {
        uint64_t maybe = first[low_bits(text[i])] & second[low_bits(text[i + 1])];
        for (; maybe != 0; maybe &= maybe - 1) {
            const char *word = words[__builtin_ctzll(maybe)];
            size_t size = strlen(word);
            if (size <= len - i && strncasecmp(text + i, word, size) == 0) {
                return true;
            }
        }
    }
    return false;
}

bool inq_any_case_has(const char *const *words, size_t n, const char *text, size_t len)
{
    bool has = false;
    for (size_t from = 0; from < n && !has; from += AT_ONCE) {
        has = has_some(words + from, n - from < AT_ONCE ? n - from : AT_ONCE, text, len);
    }
    return has;
}
