/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/build/flight.h"

#include "base/arena.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/strtab.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

struct inq_flight_dump *inq_flight_new(void)
{
    struct inq_flight_dump *dump = inq_mem_zalloc(1, sizeof *dump);
    if (dump == NULL) {
        return NULL;
    }
    dump->rank = -1;
    dump->comm_version = "";
    dump->arena = inq_mem_zalloc(1, sizeof *dump->arena);
    dump->names = inq_mem_zalloc(1, sizeof *dump->names);
    if (dump->arena == NULL || dump->names == NULL) {
        inq_flight_free(dump);
        return NULL;
    }
    return dump;
}

void inq_flight_free(struct inq_flight_dump *dump)
{
    if (dump == NULL) {
        return;
    }
    if (dump->arena != NULL) {
        inq_arena_release(dump->arena);
        inq_mem_free(dump->arena);
    }
    if (dump->names != NULL) {
        inq_strtab_release(dump->names);
        inq_mem_free(dump->names);
    }
    inq_mem_free(dump);
}

/* The number at `start`, read to the end of its digits; -1: none, or too long for a rank (then it
 * is a time or an id). */
static int32_t number_at(const char *path, size_t start, size_t end)
{
    int64_t rank = 0;
    size_t i = start;
    for (; i < end && isdigit((unsigned char)path[i]) != 0 && i - start < 8; i++) {
        rank = rank * 10 + (path[i] - '0');
    }
    return i > start && i - start < 8 && rank < (int64_t)INQ_MAX_RANKS ? (int32_t)rank : -1;
}

/* Whether the text before `at` ends in the word, with or without a separator behind it. */
static bool follows(const char *path, size_t at, const char *word)
{
    size_t len = strlen(word);
    at -= at > 0 && strchr("_-.", path[at - 1]) != NULL;
    return at >= len && strncasecmp(path + at - len, word, len) == 0;
}

/* Where the number of "rank3", "rank_3" or "rank=3" starts in path[start, end), the last of such;
 * `end` if there is none. Ranks of nodes and within a node are others. */
static size_t find_word(const char *path, size_t start, size_t end)
{
    static const char word[] = "rank";
    const size_t len = sizeof word - 1;
    for (size_t at = end; at-- > start;) {
        size_t digits = at + len;
        digits += digits < end && strchr("_-=.", path[digits]) != NULL;
        if (digits < end && strncasecmp(path + at, word, len) == 0 &&
            isdigit((unsigned char)path[digits]) != 0 && !follows(path, at, "local") &&
            !follows(path, at, "node") && !follows(path, at, "group")) {
            return digits;
        }
    }
    return end;
}

static size_t base_of(const char *path, size_t end)
{
    while (end > 0 && path[end - 1] != '/') {
        end--;
    }
    return end;
}

static size_t cut_suffixes(const char *path)
{
    static const char *const suffixes[] = {".gz", ".json", ".pkl", ".pickle", ".bin", ".dump"};
    size_t end = strlen(path);
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0];) {
        size_t len = strlen(suffixes[i]);
        bool cut = end > len && strncmp(path + end - len, suffixes[i], len) == 0;
        end -= cut ? len : 0;
        i = cut ? 0 : i + 1; /* they may stack */
    }
    return end;
}

/* In a folder's name the word must end it: "rank_0-15" holds many. */
static int32_t rank_of_folder(const char *path, size_t base, size_t *digits)
{
    for (size_t end = base; end > 0;) {
        size_t start = base_of(path, end - 1);
        size_t at = find_word(path, start, end - 1);
        size_t stop = at + strspn(path + at, "0123456789");
        if (at < end - 1 && stop == end - 1) {
            *digits = at;
            return number_at(path, at, stop);
        }
        end = start;
    }
    return -1;
}

int32_t inq_flight_rank(const char *path, size_t *digits)
{
    size_t end = cut_suffixes(path);
    size_t base = base_of(path, end);
    *digits = find_word(path, base, end);
    if (*digits < end) {
        return number_at(path, *digits, end);
    }
    int32_t rank = rank_of_folder(path, base, digits);
    if (rank >= 0) {
        return rank;
    }
    *digits = end;
    while (*digits > base && isdigit((unsigned char)path[*digits - 1]) != 0) {
        (*digits)--;
    }
    return number_at(path, *digits, end);
}

bool inq_flight_needs_all(enum inq_coll_kind kind)
{
    return kind == INQ_COLL_ALLREDUCE || kind == INQ_COLL_ALLGATHER || kind == INQ_COLL_BARRIER ||
           kind == INQ_COLL_REDUCE_SCATTER || kind == INQ_COLL_ALLTOALL;
}

uint64_t inq_flight_group_key(const struct inq_flight_group *group)
{
    return inq_hash_u64(
        inq_hash_bytes(group->name, strlen(group->name)) +
        inq_hash_u64(inq_hash_bytes(group->ranks, group->n_ranks * sizeof *group->ranks)));
}
