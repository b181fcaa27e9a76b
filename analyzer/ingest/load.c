/* SPDX-License-Identifier: Apache-2.0 */
/* Paths in, a run out: lists the files, reads them in parallel, has them assembled. */
#include "base/arena.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/par.h"
#include "base/sort.h"
#include "ingest/ingest.h"
#include "ingest/loader.h"
#include "inquest/ingest.h"
#include "trace/build/build.h"
#include "trace/telemetry/telemetry.h"

#include <ctype.h>
#include <malloc.h>
#include <string.h>
#include <strings.h>

/* Ranks of files that stand in a row: "profile_0.json" to "profile_7.json" say nothing one by one,
 * but together, recorded at the same time and different in one number, they are ranks 0 to 7. */

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
            code = inq_loader_reason(shard, "no rank in the file or its name", true, err);
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

/* With all files read: ranks of those that only tell them together; says of which the
 * rank is not known. Fails with INQ_NOMEM. */
static int rank_rows(struct inq_shard *shards, size_t n, size_t n_all, struct inq_err *err)
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

/* How much a byte on disk may become in the model, gzip against plain: text packs about 8 to 1. */
#define GZIP_WEIGHT 8

/* The files from `first` on, largest first, so that no long one is left over at the end. */
static int plan_order(const struct inq_discovery *walk, size_t first, uint32_t *order,
                      struct inq_err *err)
{
    size_t n = walk->n - first;
    int64_t *keys = inq_mem_alloc((n + 1) * sizeof *keys);
    if (keys == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory");
    }
    for (size_t i = 0; i < n; i++) {
        keys[i] = -(int64_t)walk->files[first + i].size;
    }
    int code = inq_sort_order_i64(keys, n, order, err);
    for (size_t i = 0; i < n && code == INQ_OK; i++) {
        order[i] += (uint32_t)first;
    }
    inq_mem_free(keys);
    return code;
}

static void release_shards(struct inq_loader *loader)
{
    for (size_t i = 0; i < loader->walk->n; i++) {
        inq_shard_release(&loader->shards[i]);
    }
    memset(loader->shards, 0, loader->walk->n * sizeof *loader->shards);
}

/* A fixed part of the limit for each file, by the text in it. */
static void plan_shares(const struct inq_loader *loader, uint64_t *shares)
{
    size_t n = loader->walk->n;
    double total = 0;
    for (size_t i = 0; i < n; i++) {
        const struct inq_file *file = &loader->shards[i].file;
        shares[i] = (file->bytes + 1) * (file->compressed ? GZIP_WEIGHT : 1);
        total += (double)shares[i];
    }
    for (size_t i = 0; i < n; i++) {
        shares[i] = (uint64_t)((double)shares[i] / total * (double)loader->limit);
    }
}

/* Reads the files from `first` on. */
static int read_from(struct inq_loader *loader, size_t first, struct inq_err *err)
{
    const struct inq_discovery *walk = loader->walk;
    uint32_t *order = inq_mem_alloc((walk->n - first + 1) * sizeof *order);
    int code = order != NULL ? plan_order(walk, first, order, err)
                             : inq_err_set(err, INQ_NOMEM, "out of memory");
    if (code == INQ_OK) {
        loader->order = order;
        loader->n_order = walk->n - first;
        code = inq_par_for(loader->n_order, loader->jobs, inq_load_file, loader, err);
    }
    inq_mem_free(order);
    return code;
}

static int read_again(struct inq_loader *loader, uint64_t *shares, struct inq_err *err)
{
    plan_shares(loader, shares);
    release_shards(loader);
    loader->shares = shares;
    atomic_store(&loader->held, 0);
    atomic_store(&loader->events, 0);
    atomic_store(&loader->bytes_done, 0);
    atomic_store(&loader->files_done, 0);
    return read_from(loader, 0, err);
}

/* While an archive is decompressed. */
static int tick(void *ctx, struct inq_err *err)
{
    return inq_loader_report(ctx, err);
}

/* Room for the shards of the files that have come to the walk. */
static int grow_shards(struct inq_loader *loader, size_t before, struct inq_err *err)
{
    size_t n = loader->walk->n;
    struct inq_shard *shards = inq_mem_realloc(loader->shards, (n + 1) * sizeof *shards);
    if (shards == NULL) {
        loader->walk->n = before;
        return inq_err_set(err, INQ_NOMEM, "out of memory");
    }
    memset(shards + before, 0, (n + 1 - before) * sizeof *shards);
    loader->shards = shards;
    for (size_t i = before; i < n; i++) {
        loader->bytes_total += loader->walk->files[i].size;
    }
    return INQ_OK;
}

/* Opens the archives among the files from `first` on; their members come behind. What is said of
 * them is known only now. */
static int open_archives(struct inq_loader *loader, size_t first, struct inq_err *err)
{
    struct inq_discovery *walk = loader->walk;
    struct inq_source_options options = {.tick = tick, .tick_ctx = loader};
    size_t n = walk->n;
    int code = INQ_OK;
    for (size_t i = first; i < n && code == INQ_OK; i++) {
        if (walk->files[i].is_archive) {
            code = inq_discovery_open_archive(walk, i, loader->options->temp_dir, &options, err);
        }
        if (code == INQ_OK && walk->files[i].is_archive) {
            code = inq_loader_reason(&loader->shards[i], walk->files[i].reason, false, err);
        }
    }
    return code == INQ_OK ? grow_shards(loader, n, err) : code;
}

static int read_all(struct inq_loader *loader, struct inq_err *err)
{
    size_t first = 0;
    int code = read_from(loader, 0, err);
    while (code == INQ_OK && first < loader->walk->n) {
        size_t n = loader->walk->n;
        code = open_archives(loader, first, err);
        first = n;
        if (code == INQ_OK && first < loader->walk->n) {
            code = read_from(loader, first, err);
        }
    }
    size_t n = loader->walk->n;
    if (code == INQ_OK && atomic_load(&loader->over) && n > 1) {
        uint64_t *shares = inq_mem_alloc(n * sizeof *shares);
        code = shares != NULL ? read_again(loader, shares, err)
                              : inq_err_set(err, INQ_NOMEM, "out of memory");
        inq_mem_free(shares);
        loader->shares = NULL;
    }
    if (code == INQ_OK) {
        code = inq_loader_report(loader, err);
    }
    return code;
}

/* A copy of the text; the last one, where it says the same: many files are skipped for one reason.
 */
static const char *keep_text(struct inq_arena *arena, const char *last, const char *text)
{
    return last != NULL && strcmp(last, text) == 0 ? last : inq_arena_strdup(arena, text);
}

/* Copies a file's account into the run, which outlives the shard. */
static int keep_skipped(struct inq_run *run, const struct inq_file *file, struct inq_err *err)
{
    struct inq_file *kept = &run->skipped[run->n_skipped];
    struct inq_file last = run->n_skipped > 0 ? kept[-1] : (struct inq_file){.path = ""};
    *kept = *file;
    kept->path = inq_arena_strdup(run->arena, file->path);
    kept->format =
        keep_text(run->arena, last.format, file->format != NULL ? file->format : "unknown");
    kept->reason = keep_text(run->arena, last.reason, file->reason != NULL ? file->reason : "");
    if (kept->path == NULL || kept->format == NULL || kept->reason == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory");
    }
    run->n_skipped++;
    return INQ_OK;
}

/* ---- ranks whose file is there but could not be read -------------------------------------------
 */

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* Whether two names differ in nothing but numbers: "rank0.json" and "rank12.json". */
static bool are_alike(const char *a, const char *b)
{
    while (*a != '\0' && *b != '\0') {
        if (isdigit((unsigned char)*a) != 0 && isdigit((unsigned char)*b) != 0) {
            a += strspn(a, "0123456789");
            b += strspn(b, "0123456789");
        } else if (*a++ != *b++) {
            return false;
        }
    }
    return *a == *b;
}

static bool has_rank(const struct inq_trace *trace, int32_t rank)
{
    for (size_t r = 0; r < trace->n_ranks; r++) {
        if (trace->ranks[r].rank == rank) {
            return true;
        }
    }
    return false;
}

/* Whether the file is one of this job's, by its folder and its name. */
static bool is_of_job(const struct inq_trace *trace, const char *path)
{
    size_t folder = (size_t)(name_of(path) - path);
    for (size_t i = 0; i < trace->n_files; i++) {
        const char *other = trace->files[i].path;
        bool same = (size_t)(name_of(other) - other) == folder && memcmp(path, other, folder) == 0;
        if (same && are_alike(path + folder, other + folder)) {
            return true;
        }
    }
    return false;
}

/* A rank with a file is not missing. */
static void take_from_missing(struct inq_trace *trace, int32_t rank)
{
    size_t kept = 0;
    for (size_t i = 0; i < trace->n_missing; i++) {
        if (trace->missing[i] != rank) {
            trace->missing[kept++] = trace->missing[i];
        }
    }
    trace->n_missing = kept;
}

static int note(struct inq_trace *trace, const struct inq_file *file, int32_t rank, size_t most,
                struct inq_err *err)
{
    if (trace->unread == NULL) {
        trace->unread = inq_arena_array(trace->arena, most, sizeof *trace->unread);
    }
    struct inq_unread unread = {.rank = rank,
                                .path = inq_arena_strdup(trace->arena, file->path),
                                .reason = inq_arena_strdup(trace->arena, file->reason)};
    if (trace->unread == NULL || unread.path == NULL || unread.reason == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory");
    }
    trace->unread[trace->n_unread++] = unread;
    take_from_missing(trace, rank);
    return INQ_OK;
}

/* With all files assembled: lists, in each job, the ranks of skipped files that lie beside the
 * job's and are named as they are but for numbers; these ranks are no longer missing. Fails with
 * INQ_NOMEM. */
static int list_unread(struct inq_run *run, struct inq_err *err)
{
    int code = INQ_OK;
    for (size_t i = 0; i < run->n_skipped && code == INQ_OK; i++) {
        const struct inq_file *file = &run->skipped[i];
        int32_t rank = inq_rank_from_name(file->path);
        for (size_t t = 0; t < run->n_traces && rank >= 0 && code == INQ_OK; t++) {
            struct inq_trace *trace = run->traces[t];
            if (!has_rank(trace, rank) && is_of_job(trace, file->path)) {
                code = note(trace, file, rank, run->n_skipped, err);
            }
        }
    }
    return code;
}

/* ---- all together ------------------------------------------------------------------------------
 */

/* What becomes of a file: traces first, then dumps, logs, telemetry, and what was not read. */
enum { PART_TRACES, PART_DUMPS, PART_LOGS, PART_TELEMETRY, PART_OTHER, PARTS };

static int part_of(const struct inq_shard *shard)
{
    return !shard->file.read          ? PART_OTHER
           : shard->log != NULL       ? PART_LOGS
           : shard->dump != NULL      ? PART_DUMPS
           : shard->telemetry != NULL ? PART_TELEMETRY
                                      : PART_TRACES;
}

static int compare_shards(const void *a, const void *b, void *ctx)
{
    const struct inq_shard *shards = ctx;
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return strcmp(shards[x].file.path, shards[y].file.path);
}

/* Puts shards[order[i]] in place i; `order` is used up. Shards are large: of many small files they
 * are most of the memory, and are not copied. */
static void put_in_order(struct inq_shard *shards, uint32_t *order, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct inq_shard first = shards[i];
        size_t at = i;
        while (order[at] != i) {
            size_t from = order[at];
            shards[at] = shards[from];
            order[at] = (uint32_t)at;
            at = from;
        }
        shards[at] = first;
        order[at] = (uint32_t)at;
    }
}

/* Sorts the shards by path. */
static int sort_shards(struct inq_shard *shards, uint32_t *order, size_t n, struct inq_err *err)
{
    for (size_t i = 0; i < n; i++) {
        order[i] = (uint32_t)i;
    }
    int code = inq_sort(order, n, sizeof *order, compare_shards, shards, err);
    if (code == INQ_OK) {
        put_in_order(shards, order, n);
    }
    return code;
}

/* Sorts the shards by part, each in the order that it has; ends[k] is where part k ends. */
static void part(struct inq_shard *shards, uint32_t *order, size_t n, size_t ends[PARTS])
{
    size_t at = 0;
    for (int k = 0; k < PARTS; k++) {
        for (size_t i = 0; i < n; i++) {
            if (part_of(&shards[i]) == k) {
                order[at++] = (uint32_t)i;
            }
        }
        ends[k] = at;
    }
    put_in_order(shards, order, n);
}

/* The files [lo, hi): those that no trace takes are listed as not read. */
static int assemble_telemetry(const struct inq_loader *loader, size_t lo, size_t hi,
                              struct inq_run *run, struct inq_err *err)
{
    struct inq_telemetry_file *files = inq_mem_zalloc(hi - lo + 1, sizeof *files);
    int code = files != NULL ? INQ_OK : inq_err_set(err, INQ_NOMEM, "out of memory");
    for (size_t i = lo; i < hi && code == INQ_OK; i++) {
        struct inq_shard *shard = &loader->shards[i];
        files[i - lo] = (struct inq_telemetry_file){
            .telemetry = shard->telemetry, .names = &shard->names, .file = &shard->file};
    }
    code = code == INQ_OK ? inq_assemble_telemetry(run, files, hi - lo, err) : code;
    for (size_t i = lo; i < hi && code == INQ_OK; i++) {
        if (!files[i - lo].joined) {
            loader->shards[i].file.read = false;
            code = keep_skipped(run, &loader->shards[i].file, err);
        }
    }
    inq_mem_free(files);
    return code;
}

static int assemble(struct inq_loader *loader, struct inq_run **run, struct inq_err *err)
{
    size_t n = loader->walk->n;
    uint32_t *order = inq_mem_alloc((n + 1) * sizeof *order);
    if (order == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory");
    }
    size_t ends[PARTS];
    int code = sort_shards(loader->shards, order, n, err);
    if (code == INQ_OK) {
        code = inq_reader_xspace.join(loader->shards, n, err);
    }
    if (code == INQ_OK) {
        code = inq_reader_chakra.join(loader->shards, n, err);
    }
    if (code == INQ_OK) {
        code = inq_reader_inspector.join(loader->shards, n, err);
    }
    if (code == INQ_OK) {
        code = inq_reader_rocprof.join(loader->shards, n, err);
    }
    if (code == INQ_OK) {
        code = inq_reader_ascend.join(loader->shards, n, err);
    }
    part(loader->shards, order, n, ends);
    inq_mem_free(order);
    size_t n_read = ends[PART_LOGS];
    bool align = loader->options->align == INQ_ALIGN_AUTO;
    if (code == INQ_OK) {
        code = rank_rows(loader->shards, ends[PART_TRACES], n, err);
    }
    if (code != INQ_OK) {
        return code;
    }
    code = inq_assemble(loader->shards, ends[PART_TRACES], align, loader->jobs, run, err);
    if (code == INQ_OK) {
        code = inq_assemble_dumps(*run, loader->shards + ends[PART_TRACES],
                                  ends[PART_DUMPS] - ends[PART_TRACES], err);
    }
    if (code == INQ_OK) {
        code = inq_assemble_logs(*run, loader->shards + ends[PART_DUMPS],
                                 ends[PART_LOGS] - ends[PART_DUMPS], err);
    }
    if (code != INQ_OK) {
        return code;
    }
    (*run)->skipped = inq_arena_array((*run)->arena, n - n_read + 1, sizeof *(*run)->skipped);
    if ((*run)->skipped == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory");
    }
    code = assemble_telemetry(loader, ends[PART_LOGS], ends[PART_TELEMETRY], *run, err);
    for (size_t i = ends[PART_TELEMETRY]; i < n && code == INQ_OK; i++) {
        const struct inq_file *file = &loader->shards[i].file;
        if (file->reason == NULL || file->reason[0] != '\0') { /* else a sound archive */
            code = keep_skipped(*run, file, err);
        }
        inq_shard_release(&loader->shards[i]);
        memset(&loader->shards[i], 0, sizeof loader->shards[i]);
    }
    return code == INQ_OK ? list_unread(*run, err) : code;
}

/* What the model may take of the memory that is there. */
static uint64_t model_limit(void)
{
    return inq_mem_available() / 4 * 3;
}

/* With the files listed: reads them, and assembles them unless each was handed over. */
static int read_files(struct inq_loader *loader, struct inq_run **run, struct inq_err *err)
{
    const struct inq_ingest_options *options = loader->options;
    loader->jobs = inq_threads(options->jobs);
    loader->limit = options->memory_limit > 0 ? options->memory_limit : model_limit();
    loader->shards = inq_mem_zalloc(loader->walk->n + 1, sizeof *loader->shards);
    int code = INQ_OK;
    if (loader->shards == NULL) {
        code = inq_err_set(err, INQ_NOMEM, "out of memory");
        goto out;
    }
    for (size_t i = 0; i < loader->walk->n; i++) {
        loader->bytes_total += loader->walk->files[i].size;
    }
    code = read_all(loader, err);
    if (code == INQ_OK && loader->each == NULL) {
        code = assemble(loader, run, err);
    }
out:
    if (loader->shards != NULL) {
        release_shards(loader);
    }
    inq_mem_free(loader->shards);
    inq_strtab_release(&loader->lists.runs);
    inq_arena_release(&loader->lists.arena);
#ifdef __GLIBC__
    (void)malloc_trim(0); /* else it keeps what was freed: of 16,384 files 200 MB */
#endif
    (void)pthread_mutex_destroy(&loader->lists.adding);
    (void)pthread_mutex_destroy(&loader->report);
    return code;
}

static int ingest_files(struct inq_discovery *walk, const struct inq_ingest_options *options,
                        struct inq_run **run, struct inq_err *err)
{
    struct inq_loader loader = {.options = options,
                                .walk = walk,
                                .report = PTHREAD_MUTEX_INITIALIZER,
                                .lists.adding = PTHREAD_MUTEX_INITIALIZER};
    return read_files(&loader, run, err);
}

int inq_load_each(struct inq_discovery *walk, const struct inq_ingest_options *options,
                  const struct inq_load_each *each, struct inq_err *err)
{
    struct inq_loader loader = {.options = options,
                                .walk = walk,
                                .each = each,
                                .report = PTHREAD_MUTEX_INITIALIZER,
                                .lists.adding = PTHREAD_MUTEX_INITIALIZER};
    return read_files(&loader, NULL, err);
}

/* Reads what the walk lists, which `code` says has succeeded; releases the walk. */
static int ingest_walk(int code, struct inq_discovery *walk,
                       const struct inq_ingest_options *options, struct inq_run **run,
                       struct inq_err *err)
{
    static const struct inq_ingest_options defaults;
    if (code == INQ_OK) {
        code = ingest_files(walk, options != NULL ? options : &defaults, run, err);
    }
    if (code != INQ_OK) {
        inq_run_free(*run);
        *run = NULL;
    }
    inq_discovery_release(walk);
    return code;
}

int inq_ingest(const char *const *paths, size_t n_paths, const struct inq_ingest_options *options,
               struct inq_run **run, struct inq_err *err)
{
    struct inq_discovery walk = {.options = options};
    *run = NULL;
    return ingest_walk(inq_discover_paths(paths, n_paths, &walk, err), &walk, options, run, err);
}

static int compare_names(const void *a, const void *b, void *ctx)
{
    const struct inq_ingest_blob *one = a;
    const struct inq_ingest_blob *other = b;
    (void)ctx;
    return strcmp(one->name, other->name);
}

int inq_ingest_memory(const struct inq_ingest_blob *blobs, size_t n_blobs,
                      const struct inq_ingest_options *options, struct inq_run **run,
                      struct inq_err *err)
{
    struct inq_discovery walk = {0};
    *run = NULL;
    struct inq_ingest_blob *sorted = inq_mem_alloc((n_blobs + 1) * sizeof *sorted);
    if (sorted == NULL) {
        return inq_err_set(err, INQ_NOMEM, "out of memory");
    }
    if (n_blobs > 0) {
        memcpy(sorted, blobs, n_blobs * sizeof *sorted);
    }
    int code = inq_sort(sorted, n_blobs, sizeof *sorted, compare_names, NULL, err);
    for (size_t i = 0; i < n_blobs && code == INQ_OK; i++) {
        code = inq_discovery_add_memory(&walk, sorted[i].name, sorted[i].bytes, sorted[i].n, err);
    }
    inq_mem_free(sorted);
    return ingest_walk(code, &walk, options, run, err);
}
