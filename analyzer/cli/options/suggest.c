/* SPDX-License-Identifier: Apache-2.0 */
/* What a mistyped word was probably meant to be. */
#include "cli/cli.h"

#include <string.h>

enum { MAX_WORD = 32 };

static size_t min3(size_t a, size_t b, size_t c)
{
    size_t least = a < b ? a : b;
    return least < c ? least : c;
}

/* Edits (insert, delete, replace, swap of neighbors) from a to b; both shorter than MAX_WORD. */
static size_t edit_distance(const char *a, size_t n, const char *b, size_t m)
{
    size_t cost[MAX_WORD + 1][MAX_WORD + 1];
    for (size_t i = 0; i <= n; i++) {
        cost[i][0] = i;
    }
    for (size_t j = 0; j <= m; j++) {
        cost[0][j] = j;
    }
    for (size_t i = 1; i <= n; i++) {
        for (size_t j = 1; j <= m; j++) {
            size_t differs = a[i - 1] != b[j - 1];
            cost[i][j] = min3(cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + differs);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                cost[i - 2][j - 2] + 1 < cost[i][j]) {
                cost[i][j] = cost[i - 2][j - 2] + 1;
            }
        }
    }
    return cost[n][m];
}

const char *inq_cli_nearest(const char *text, const char *const *words, size_t n)
{
    size_t len = strlen(text);
    const char *best = NULL;
    size_t best_cost = 1 + len / 3; /* one slip in a short word, more in a long one */
    size_t prefixed = 0;
    const char *by_prefix = NULL;
    if (len == 0 || len >= MAX_WORD) {
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        size_t word_len = strlen(words[i]);
        if (word_len >= MAX_WORD) {
            continue;
        }
        if (strncmp(text, words[i], len) == 0) {
            prefixed++;
            by_prefix = words[i];
        }
        size_t cost = edit_distance(text, len, words[i], word_len);
        if (cost < best_cost || (cost == best_cost && best == NULL)) {
            best_cost = cost;
            best = words[i];
        }
    }
    return best == NULL && prefixed == 1 ? by_prefix : best;
}
