/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks of files that stand in a row: "profile_0.json" to "profile_7.json" say nothing one by one,
 * but together, recorded at the same time and different in one number, they are ranks 0 to 7. */
#include "ingest/loader.h"
#include "ingest/ingest.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/sort.h"

#include <string.h>
#include <strings.h>

/* A number longer than this is an id or a time. */
#define MAX_DIGITS 6

enum { NO_NUMBER = -2, AN_ID = -1 };

/* A file that does not know its rank, and the part of its path in which numbers may differ. */
struct candidate {
    struct inq_shard *shard;
    size_t from, to;
    uint64_t key; /* of the path but for these numbers */
};

/* All of a folder that differ in numbers only. */
struct row {
    const struct candidate *files;
    size_t n;
    int64_t *numbers; /* [n] */
};

/* ---- names ----------------------------------------------------------------------------------- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static size_t behind_slash(const char *path, size_t i)
{
    while (i > 0 && path[i - 1] != '/') {
        i--;
    }
    return i;
}

/* Looks at the file's own name, or at that of its folder. */
static void choose_part(struct candidate *c, bool folder)
{
    const char *path = c->shard->file.path;
    size_t len = strlen(path);
    c->to = len;
    c->from = behind_slash(path, len);
    if (folder) {
        c->to = c->from > 0 ? c->from - 1 : 0;
        c->from = behind_slash(path, c->to);
    }
    c->key =
        inq_hash_bytes(path, c->from) ^ inq_hash_u64(inq_hash_bytes(path + c->to, len - c->to));
    for (size_t i = c->from; i < c->to; i++) {
        bool goes_on = i > c->from && is_digit(path[i]) && is_digit(path[i - 1]);
        if (!goes_on) {
            char shown = is_digit(path[i]) ? '0' : path[i];
            c->key = inq_hash_u64(c->key + (uint64_t)(unsigned char)shown);
        }
    }
}

/* The number in that column of the part, and where it stands. */
static int64_t number_in(const struct candidate *c, size_t column, size_t *place)
{
    const char *path = c->shard->file.path;
    for (size_t i = c->from; i < c->to;) {
        size_t first = i;
        int64_t value = 0;
        for (; i < c->to && is_digit(path[i]); i++) {
            value = i - first < MAX_DIGITS ? value * 10 + (path[i] - '0') : AN_ID;
        }
        if (i == first) {
            i++;
        } else if (column-- == 0) {
            *place = first;
            return i - first > MAX_DIGITS ? AN_ID : value;
        }
    }
    return NO_NUMBER;
}

/* Whether the last word before a place in the path counts something else than ranks: "step_2",
 * "ip-10-0-0-2". */
static bool counts_otherwise(const char *path, size_t place)
{
    static const char *const words[] = {
        "step", "iter", "iteration", "epoch",   "cycle", "part",   "chunk", "run", "job",    "exp",
        "node", "host", "ip",        "attempt", "try",   "window", "stage", "v",   "version"};
    while (place > 0 && strchr("-_.= [(0123456789", path[place - 1]) != NULL) {
        place--;
    }
    size_t end = place;
    while (place > 0 && (path[place - 1] | 0x20) >= 'a' && (path[place - 1] | 0x20) <= 'z') {
        place--;
    }
    bool counts = false;
    for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
        size_t len = strlen(words[k]);
        counts = counts || (end - place == len && strncasecmp(path + place, words[k], len) == 0);
    }
    return counts;
}

/* The only column in which the files differ, and through *place where the first one has it. */
static bool find_column(const struct row *row, size_t *column, size_t *place)
{
    size_t found = 0;
    size_t at = 0;
    for (size_t c = 0; number_in(&row->files[0], c, &at) != NO_NUMBER; c++) {
        int64_t first = number_in(&row->files[0], c, place);
        bool differ = false;
        for (size_t i = 1; i < row->n; i++) {
            differ = differ || number_in(&row->files[i], c, &at) != first;
        }
        found += differ;
        *column = differ ? c : *column;
    }
    return found == 1 && number_in(&row->files[0], *column, place) >= 0;
}

/* Whether the numbers can be ranks: each once, from 0 on, and more of them there than missing. */
static bool are_ranks(const struct row *row)
{
    inq_sort_i64(row->numbers, row->n);
    bool distinct = true;
    for (size_t i = 1; i < row->n; i++) {
        distinct = distinct && row->numbers[i] != row->numbers[i - 1];
    }
    return distinct && row->numbers[0] == 0 && row->numbers[row->n - 1] < (int64_t)(2 * row->n);
}

/* ---- times ----------------------------------------------------------------------------------- */

struct span {
    int64_t from_ns, to_ns;
};

static struct span span_of(const struct inq_shard *shard)
{
    struct span span = {INT64_MAX, INT64_MIN};
    for (size_t r = 0; r < shard->n_ranks; r++) {
        const struct inq_rank *rank = &shard->ranks[r];
        if (rank->has_clock_epoch && rank->first_ns != INQ_TIME_NONE) {
            span.from_ns = rank->first_ns < span.from_ns ? rank->first_ns : span.from_ns;
            span.to_ns = rank->last_ns > span.to_ns ? rank->last_ns : span.to_ns;
        }
    }
    return span;
}

/* Whether the files of the row were recorded at one time, and no other was. */
static bool are_of_one_time(const struct row *row, const struct inq_shard *shards, size_t n)
{
    struct span common = {INT64_MIN, INT64_MAX};
    size_t there = 0;
    for (size_t i = 0; i < row->n; i++) {
        struct span own = span_of(row->files[i].shard);
        common.from_ns = own.from_ns > common.from_ns ? own.from_ns : common.from_ns;
        common.to_ns = own.to_ns < common.to_ns ? own.to_ns : common.to_ns;
    }
    for (size_t i = 0; i < n; i++) {
        struct span own = span_of(&shards[i]);
        there += own.from_ns <= common.to_ns && own.to_ns >= common.from_ns;
    }
    return common.from_ns <= common.to_ns && there == row->n;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void name_row(const struct row *row, const struct inq_shard *shards, size_t n)
{
    size_t column = 0;
    size_t place = 0;
    if (row->n < 2 || !find_column(row, &column, &place) ||
        counts_otherwise(row->files[0].shard->file.path, place)) {
        return;
    }
    for (size_t i = 0; i < row->n; i++) {
        row->numbers[i] = number_in(&row->files[i], column, &place);
    }
    if (!are_ranks(row) || !are_of_one_time(row, shards, n)) {
        return;
    }
    for (size_t i = 0; i < row->n; i++) {
        row->files[i].shard->ranks[0].rank = (int32_t)number_in(&row->files[i], column, &place);
    }
}

static int by_key(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    uint64_t x = ((const struct candidate *)a)->key;
    uint64_t y = ((const struct candidate *)b)->key;
    return (x > y) - (x < y);
}

static size_t list_candidates(struct inq_shard *shards, size_t n, bool folder,
                              struct candidate *candidates)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        struct inq_shard *shard = &shards[i];
        const char *host = NULL;
        bool of_host = inq_host_from_name(shard->file.path, &host) > 0; /* and a process */
        if (shard->file.read && shard->n_ranks == 1 && shard->ranks[0].rank < 0 && !of_host) {
            candidates[found].shard = shard;
            choose_part(&candidates[found++], folder);
        }
    }
    return found;
}

static int name_rows(struct inq_shard *shards, size_t n, bool folder, struct candidate *candidates,
                     int64_t *numbers, struct inq_err *err)
{
    size_t found = list_candidates(shards, n, folder, candidates);
    int code = inq_sort(candidates, found, sizeof *candidates, by_key, NULL, err);
    for (size_t lo = 0, hi; lo < found && code == INQ_OK; lo = hi) {
        hi = lo + 1;
        while (hi < found && candidates[hi].key == candidates[lo].key) {
            hi++;
        }
        struct row row = {candidates + lo, hi - lo, numbers};
        name_row(&row, shards, n);
    }
    return code;
}

static int say_who_has_none(struct inq_shard *shards, size_t n, struct inq_err *err)
{
    int code = INQ_OK;
    for (size_t i = 0; i < n && code == INQ_OK; i++) {
        struct inq_shard *shard = &shards[i];
        if (shard->file.read && shard->n_ranks == 1 && shard->ranks[0].rank < 0) {
            code = inq_intake_reason(shard, "no rank in the file or its name", true, err);
        }
    }
    return code;
}

/* ---- Ascend ---------------------------------------------------------------------------------- */

/* Bytes of the path of the folder that many levels above the file's own; 0: there is none. */
static size_t folder_above(const char *path, int levels)
{
    size_t end = strlen(path);
    for (int i = 0; i <= levels && end > 0; i++) {
        size_t at = behind_slash(path, end);
        end = at > 0 ? at - 1 : 0;
    }
    return end;
}

/* The rank in "profiler_info_3.json", which torch_npu puts into the folder of the process. */
static int64_t rank_of_info(const char *path)
{
    static const char prefix[] = "profiler_info_";
    const char *p = path + behind_slash(path, strlen(path));
    if (strncmp(p, prefix, sizeof prefix - 1) != 0) {
        return -1;
    }
    p += sizeof prefix - 1;
    size_t digits = strspn(p, "0123456789");
    int64_t rank = 0;
    for (size_t i = 0; i < digits && digits <= MAX_DIGITS; i++) {
        rank = rank * 10 + (p[i] - '0');
    }
    return digits > 0 && digits <= MAX_DIGITS && strcmp(p + digits, ".json") == 0 ? rank : -1;
}

/* "X_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json" is the rank of "X_ascend_pt/profiler_info_3.
 * json": all traces have the same name, their folders those of hosts and processes. */
static int name_ascend(struct inq_shard *shards, size_t n, size_t n_all, struct inq_err *err)
{
    struct inq_map ranks = {0};
    int code = INQ_OK;
    for (size_t i = 0; i < n_all && code == INQ_OK; i++) {
        const char *path = shards[i].file.path;
        int64_t rank = rank_of_info(path);
        if (rank >= 0) {
            code = inq_map_put(&ranks, inq_hash_bytes(path, folder_above(path, 0)), (uint32_t)rank,
                               err);
        }
    }
    for (size_t i = 0; i < n && code == INQ_OK; i++) {
        struct inq_shard *shard = &shards[i];
        uint32_t rank = 0;
        size_t above = folder_above(shard->file.path, 1);
        if (shard->file.read && shard->n_ranks == 1 && shard->ranks[0].rank < 0 &&
            inq_map_get(&ranks, inq_hash_bytes(shard->file.path, above), &rank)) {
            shard->ranks[0].rank = (int32_t)rank;
        }
    }
    inq_map_release(&ranks);
    return code;
}

int inq_intake_rows(struct inq_shard *shards, size_t n, size_t n_all, struct inq_err *err)
{
    struct candidate *candidates = inq_mem_alloc((n + 1) * sizeof *candidates);
    int64_t *numbers = inq_mem_alloc((n + 1) * sizeof *numbers);
    int code = candidates != NULL && numbers != NULL ? INQ_OK
                                                     : inq_err_set(err, INQ_NOMEM, "out of memory");
    if (code == INQ_OK) {
        code = name_ascend(shards, n, n_all, err);
    }
    for (int folder = 0; folder < 2 && code == INQ_OK; folder++) {
        code = name_rows(shards, n, folder != 0, candidates, numbers, err);
    }
    inq_mem_free(candidates);
    inq_mem_free(numbers);
    return code == INQ_OK ? say_who_has_none(shards, n, err) : code;
}
