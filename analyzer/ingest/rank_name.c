/* SPDX-License-Identifier: Apache-2.0 */
/* The global rank as a file's name tells it.
 *
 * Exporters name files freely, so only a number that stands right behind a word for a rank counts:
 * never the digits of a host, a process id or a time. Words in order of trust: rank (global_rank),
 * pp_rank (a pipeline dump has nothing else), worker, dump. A rank inside some smaller group
 * (local_rank, tp_rank, node_rank, ...) is no global rank. */
#include "ingest/ingest.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* A number longer than this is an id or a time. */
#define MAX_RANK_DIGITS 6

enum trust { TRUST_NONE, TRUST_DUMP, TRUST_WORKER, TRUST_PIPELINE, TRUST_RANK };

struct guess {
    enum trust trust;
    int32_t rank;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_alpha(char c)
{
    return isalpha((unsigned char)c) != 0;
}

/* A word starts at text[i] unless letters run into it; camelCase (traceRank3) is a start. */
static bool starts_word(const char *text, size_t i)
{
    if (i == 0 || !is_alpha(text[i - 1])) {
        return true;
    }
    return islower((unsigned char)text[i - 1]) != 0 && isupper((unsigned char)text[i]) != 0;
}

/* The number behind a word: "7", "-34", "_3", "=0", "[5"; *end is where it stops. -1: none. */
static int32_t number_after(const char *text, size_t i, size_t n, size_t *end)
{
    if (i < n && strchr("-_=.: [(", text[i]) != NULL) {
        i++;
    }
    int32_t value = 0;
    size_t first = i;
    while (i < n && is_digit(text[i])) {
        if (i - first == MAX_RANK_DIGITS) {
            return -1;
        }
        value = value * 10 + (text[i] - '0');
        i++;
    }
    /* "rank3b7" is part of some hash, but "rank3of8" is a rank */
    bool of = n - i > 2 && strncasecmp(text + i, "of", 2) == 0 && is_digit(text[i + 2]);
    if (i == first || (i < n && is_alpha(text[i]) && !of)) {
        return -1;
    }
    *end = i;
    return value;
}

/* What stands before "rank": "", "global", "pp", ... with separators cut off. */
static enum trust trust_of_rank(const char *text, size_t i)
{
    static const char *const parts[] = {"local", "node", "tp",  "dp", "cp",
                                        "ep",    "mp",   "etp", "edp"};
    while (i > 0 && strchr("-_. ", text[i - 1]) != NULL) {
        i--;
    }
    size_t end = i;
    while (i > 0 && is_alpha(text[i - 1])) {
        i--;
    }
    size_t len = end - i;
    if (len == 2 && strncasecmp(text + i, "pp", 2) == 0) {
        return TRUST_PIPELINE;
    }
    for (size_t k = 0; k < sizeof parts / sizeof parts[0]; k++) {
        if (len == strlen(parts[k]) && strncasecmp(text + i, parts[k], len) == 0) {
            return TRUST_NONE;
        }
    }
    return TRUST_RANK;
}

/* Whether the name may be "{host}_{pid}.{time}.pt.trace.json", as the profiler's handler gives it
 * when nobody chose one: a "worker-3" in it is a machine, shared by all its ranks, unless words
 * follow ("worker7_step_12"). */
static bool is_host_and_pid(const char *text, size_t n, size_t *host_len)
{
    static const char suffix[] = ".pt.trace.json";
    size_t len = sizeof suffix - 1;
    size_t i = 0;
    while (i + len <= n && strncmp(text + i, suffix, len) != 0) {
        i++;
    }
    if (i + len > n) {
        return false;
    }
    size_t end = i;
    while (i > 0 && is_digit(text[i - 1])) {
        i--;
    }
    if (end - i < 13 || i == 0 || text[i - 1] != '.') {
        return false;
    }
    end = --i;
    while (i > 0 && is_digit(text[i - 1])) {
        i--;
    }
    *host_len = i > 0 ? i - 1 : 0;
    return end > i && i > 0 && text[i - 1] == '_';
}

static void consider(const char *text, size_t n, size_t i, bool host_name, struct guess *best)
{
    static const struct {
        const char *word;
        enum trust trust;
    } words[] = {{"rank", TRUST_RANK}, {"worker", TRUST_WORKER}, {"dump", TRUST_DUMP}};
    for (size_t k = 0; k < sizeof words / sizeof words[0]; k++) {
        size_t len = strlen(words[k].word);
        size_t end = 0;
        if (n - i < len || strncasecmp(text + i, words[k].word, len) != 0 ||
            !starts_word(text, i)) {
            continue;
        }
        int32_t rank = number_after(text, i + len, n, &end);
        enum trust trust = words[k].trust;
        if (trust == TRUST_RANK) {
            trust = trust_of_rank(text, i);
        } else if (host_name && !(end + 1 < n && text[end] == '_' && is_alpha(text[end + 1]))) {
            trust = TRUST_NONE;
        }
        if (rank >= 0 && trust > best->trust) {
            best->trust = trust;
            best->rank = rank;
        }
    }
}

static int32_t rank_in(const char *text, size_t n)
{
    struct guess best = {.trust = TRUST_NONE, .rank = -1};
    size_t host_len;
    bool host_name = is_host_and_pid(text, n, &host_len);
    for (size_t i = 0; i < n; i++) {
        consider(text, n, i, host_name, &best);
    }
    return best.rank;
}

/* "r6.log", "p6.out": the letter and the number are all of the name. */
static int32_t rank_of_short_name(const char *text, size_t n)
{
    static const char *const endings[] = {".log", ".out", ".err", ".txt"};
    size_t end = 0;
    int32_t rank = n > 1 && (*text == 'r' || *text == 'p') && is_digit(text[1])
                       ? number_after(text, 1, n, &end)
                       : -1;
    bool ends = false;
    for (size_t i = 0; i < sizeof endings / sizeof *endings && rank >= 0; i++) {
        ends = ends || (n - end >= 4 && strncmp(text + end, endings[i], 4) == 0);
    }
    return ends ? rank : -1;
}

int32_t inq_rank_from_name(const char *path)
{
    size_t end = strlen(path);
    while (end > 0 && path[end - 1] == '/') {
        end--;
    }
    /* the file's own name, else that of its folder ("rank_3/trace.json") */
    for (int level = 0; level < 2 && end > 0; level++) {
        size_t start = end;
        while (start > 0 && path[start - 1] != '/') {
            start--;
        }
        int32_t rank = rank_in(path + start, end - start);
        rank = rank < 0 && level == 0 ? rank_of_short_name(path + start, end - start) : rank;
        if (rank >= 0) {
            return rank;
        }
        end = start > 0 ? start - 1 : 0;
    }
    return -1;
}

size_t inq_host_from_name(const char *path, const char **host)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    size_t len = 0;
    if (!is_host_and_pid(name, strlen(name), &len) || inq_rank_from_name(name) >= 0) {
        return 0;
    }
    *host = name;
    return len;
}
